# Unit tests: every tests/unit/test_<x>.c is one CMocka program, linked with all libraries.
LIBS += support
support.src := $(wildcard tests/support/*.c)
ALL_LIBS := support server cli client graphc scriptasm phy protocol board engine base hosted
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
define unit_test
PROGRAMS += tests/$(1)
tests/$(1).src := tests/unit/$(1).c
tests/$(1).libs := $(ALL_LIBS)
tests/$(1).ld := -lcmocka -lmbedcrypto -ljansson
endef
$(foreach t,$(UNIT),$(eval $(call unit_test,$(t))))

# Fuzz targets: every tests/fuzz/fuzz_<x>.c has LLVMFuzzerTestOneInput; its seeds and regressions are
# tests/fuzz/corpus/<x>/. `make test` replays them; `make fuzz [ONLY=x] [SECONDS=300]` searches.
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
define fuzz_test
PROGRAMS += fuzz/$(1) replay/$(1)
fuzz/$(1).src := tests/fuzz/$(1).c
fuzz/$(1).libs := $(ALL_LIBS)
replay/$(1).src := tests/fuzz/$(1).c tests/fuzz/replay_main.c
replay/$(1).libs := $(ALL_LIBS)
endef
$(foreach t,$(FUZZ),$(eval $(call fuzz_test,$(t))))
