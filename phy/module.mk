LIBS += phy
phy.src := $(wildcard phy/*.c)
