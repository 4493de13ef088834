LIBS += client graphc scriptasm
client.src := $(wildcard host_tools/client/*.c)
graphc.src := $(wildcard host_tools/graphc/*.c)
scriptasm.src := $(wildcard host_tools/scriptasm/*.c)
PROGRAMS += tunewire
tunewire.src := $(wildcard host_tools/tunewire/*.c)
tunewire.libs := client graphc scriptasm phy protocol board engine base hosted
# The graph identity is a SHA-256.
tunewire.ld := -lmbedcrypto
