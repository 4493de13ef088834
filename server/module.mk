LIBS += server
server.src := $(filter-out server/main_%.c,$(wildcard server/*.c))
PROGRAMS += tunewired
tunewired.src := $(wildcard server/main_*.c)
tunewired.libs := server phy protocol board engine base hosted
tunewired.ld := -lmbedcrypto
