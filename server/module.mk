LIBS += server
server.src := $(filter-out server/main_linux.c,$(wildcard server/*.c))
PROGRAMS += tunewired
tunewired.src := server/main_linux.c
tunewired.libs := server phy protocol board engine base hosted
