LIBS += client graphc scriptasm scriptlang cli
client.src := $(wildcard host_tools/client/*.c)
graphc.src := $(wildcard host_tools/graphc/*.c host_tools/graphc/*/*.c)
scriptasm.src := $(wildcard host_tools/scriptasm/*.c)
scriptlang.src := $(wildcard host_tools/scriptlang/*.c)
# The command line is a library beside its main(), so that its parts are tested like any other.
cli.src := $(filter-out host_tools/tunewire/tunewire_main.c,$(wildcard host_tools/tunewire/*.c))
PROGRAMS += tunewire
tunewire.src := host_tools/tunewire/tunewire_main.c
tunewire.libs := cli client graphc scriptasm scriptlang phy protocol board engine base hosted
# mbedTLS: HMAC and SHA-256 (keys, the graph's identity).
tunewire.ld := -lmbedcrypto -ljansson $(EDIT_LIBS)
cli.flags := $(if $(EDIT_LIBS),-DTW_LIBEDIT)
# The shells' scripts travel inside the program.
cli.src += $(GEN)/tw_completion_bash.c $(GEN)/tw_completion_zsh.c
GENERATED += $(GEN)/tw_completion_bash.c $(GEN)/tw_completion_zsh.c
$(GEN)/tw_completion_%.c: host_tools/completion/tunewire.% tools/embed.py
	@mkdir -p $(GEN)
	@$(PYTHON) tools/embed.py $< tw_completion_$* host_tools/tunewire/completion.h > $@
