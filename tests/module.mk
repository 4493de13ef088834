# Unit tests: every tests/unit/test_<x>.c is one CMocka program, linked with all libraries.
LIBS += support
support.src := $(wildcard tests/support/*.c)
ALL_LIBS := support server cli client graphc scriptasm scriptlang phy protocol board engine dsp speexdsp kissfft $(if $(CMSIS_DSP_DIR),cmsisdsp) base hosted
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
define unit_test
PROGRAMS += tests/$(1)
tests/$(1).src := tests/unit/$(1).c
tests/$(1).libs := $(ALL_LIBS)
tests/$(1).ld := -lcmocka -lmbedcrypto -ljansson $(EDIT_LIBS)
endef
$(foreach t,$(UNIT),$(eval $(call unit_test,$(t))))

# Allocations of the whole program go through the test's own functions.
tests/test_engine_quiet.ld += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

# Fuzz targets: every tests/fuzz/fuzz_<x>.c has LLVMFuzzerTestOneInput; its seeds and regressions are
# tests/fuzz/corpus/<x>/. `make test` replays them; `make fuzz [ONLY=x] [SECONDS=300]` searches.
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
define fuzz_test
PROGRAMS += fuzz/$(1) replay/$(1)
fuzz/$(1).src := tests/fuzz/$(1).c
fuzz/$(1).libs := $(ALL_LIBS)
fuzz/$(1).ld := -lmbedcrypto -ljansson $(EDIT_LIBS)
replay/$(1).src := tests/fuzz/$(1).c tests/fuzz/replay_main.c
replay/$(1).libs := $(ALL_LIBS)
replay/$(1).ld := -lmbedcrypto -ljansson $(EDIT_LIBS)
endef
$(foreach t,$(FUZZ),$(eval $(call fuzz_test,$(t))))

# The engine as a core without 64-bit atomics has it: both sides in one context, so only the queue's own test fits.
ONE_CONTEXT := $(patsubst %.c,$(B)/obj/one_context/%.o,$(wildcard engine/*.c) tests/unit/test_engine_queue.c)
$(B)/obj/one_context/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D); echo "  CC    $< (one context)"
	@$(CC) $(CFLAGS) -D_GNU_SOURCE -DTW_ENGINE_ONE_CONTEXT -c $< -o $@
$(B)/tests/test_engine_one_context: $(ONE_CONTEXT) $(foreach l,$(ALL_LIBS),$(B)/lib$(l).a)
	@mkdir -p $(@D); echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $(ONE_CONTEXT) -Wl,--start-group $(foreach l,$(ALL_LIBS),$(B)/lib$(l).a) -Wl,--end-group \
		-lcmocka -lmbedcrypto -ljansson $(EDIT_LIBS) -lm -lpthread

# What runs under ThreadSanitizer too: whatever two threads share.
TSAN_TESTS := $(filter test_graph_io test_graph_mp test_ring test_engine_threads test_phy_tcp,$(UNIT))

.PHONY: cmsis oracles soak-mp soak-script soak-script-verify unit-programs tsan-programs fuzz-programs python docs
unit-programs: $(foreach t,$(UNIT),$(B)/tests/$(t)) $(B)/tests/test_engine_one_context $(B)/script_soak \
	$(foreach f,$(FUZZ),$(B)/replay/$(f))
tsan-programs: $(foreach t,$(TSAN_TESTS),$(B)/tests/$(t))
fuzz-programs: $(foreach f,$(FUZZ),$(B)/fuzz/$(f))

test: ## set up, check, then every test (unit, corpus replay, threads, end to end)
	@tools/setup.sh test
	@$(MAKE) check
	@$(MAKE) -j2 PROFILE=debug unit-programs
	@$(MAKE) -j2 PROFILE=tsan tsan-programs
	@$(MAKE) -j2 PROFILE=host $(addprefix build/host/,$(MAIN_PROGRAMS) oracle script_batch)
	@$(PYTHON) tests/run_tests.py $(if $(ONLY),--only $(ONLY))

docs: ## bring the tables of docs/ up to the .def files they are made from
	@$(MAKE) PROFILE=host build/host/tunewire
	@for t in tools/gen_docs*.py; do $(PYTHON) $$t || exit 1; done
	@$(PYTHON) tools/write_cli.py build/host/tunewire

python: ## the Python package with the newest protobuf of PyPI, typed, and as a wheel (needs the network)
	@$(MAKE) PROFILE=host build/host/tunewired
	@tools/check_python.sh

FREE_LIBS := $(patsubst %,build/host/lib%.a,base engine protocol dsp speexdsp kissfft)
# Kernels and nodes for tests in other languages (tests/e2e/test_oracles.py).
PROGRAMS += oracle
oracle.src := tests/oracle/oracle.c
oracle.libs := engine base hosted

ORACLE_VENV := build/venv-oracles
oracles: ## kernels and nodes against SciPy and the CMSIS-DSP wheel of PyPI (needs the network once)
	@tools/setup.sh test
	@$(MAKE) -j2 PROFILE=host build/host/oracle
	@test -x $(ORACLE_VENV)/bin/pip || $(PYTHON) -m venv --system-site-packages $(ORACLE_VENV) || \
		{ echo "No venv: apt-get install python3-venv" >&2; exit 1; }
	@$(ORACLE_VENV)/bin/pip -q install --only-binary :all: --no-deps cmsisdsp==1.10.1
	@$(ORACLE_VENV)/bin/python -m pytest -q -p no:cacheprovider tests/e2e/test_oracles.py

CMSIS_TESTS := test_backend test_kernels test_services test_node_golden test_node_filter test_node_analysis test_node_mfcc
cmsis: ## the same results with CMSIS-DSP as backend, from PyPI (needs the network once)
	@$(MAKE) -j2 PROFILE=debug CMSIS_DSP_DIR=$(or $(CMSIS_DSP_DIR),pypi) $(CMSIS_TESTS:%=build/debug-cmsis/tests/%)
	@for t in $(CMSIS_TESTS); do build/debug-cmsis/tests/$$t || exit 1; done

check: ## format, layers, freestanding symbols, tables against docs, static analysis
	@tools/setup.sh test
	@$(PYTHON) tools/check_layers.py
	@tools/check_format.sh
	@$(MAKE) -j2 PROFILE=host $(FREE_LIBS)
	@$(PYTHON) tools/check_free.py $(FREE_LIBS)
	@for t in tools/gen_docs*.py; do $(PYTHON) $$t --check || exit 1; done
	@tools/check_static.sh

# Targets whose input is a text: they know its words, and begin with every text there is, samples beside the tree too.
TEXT_FUZZ := $(filter fuzz_graphc fuzz_manifest fuzz_fmt fuzz_translate fuzz_legacy,$(FUZZ))
TEXT_SEEDS := examples engine/node/manifests tests/golden/graph tests/golden/eras $(wildcard ../shared/corpus/graphs)
$(GEN)/graph.dict: tests/fuzz/make_dict.py $(wildcard engine/*/*.def host_tools/graphc/*.def)
	@mkdir -p $(GEN)
	@$(PYTHON) $< > $@

# A time per target; findings land in build/fuzz/<target>/ and make the run fail.
SECONDS_EACH ?= 300
fuzz: ## search with libFuzzer: make fuzz [ONLY=frame] [SECONDS_EACH=300]
	@tools/setup.sh test
	@$(MAKE) -j2 PROFILE=fuzz fuzz-programs $(GEN)/graph.dict
	@for f in $(filter %$(ONLY),$(FUZZ)); do \
		mkdir -p build/fuzz/work/$$f; echo "fuzz $$f $(SECONDS_EACH) s"; \
		case " $(TEXT_FUZZ) " in *" $$f "*) more="-max_len=8192 -dict=$(GEN)/graph.dict $(TEXT_SEEDS)";; *) more=;; esac; \
		build/fuzz/fuzz/$$f -max_total_time=$(SECONDS_EACH) -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=256 \
			-print_final_stats=1 \
			-artifact_prefix=build/fuzz/work/$$f/ build/fuzz/work/$$f tests/fuzz/corpus/$${f#fuzz_} $$more \
			>build/fuzz/work/$$f.log 2>&1 || { tail -n 30 build/fuzz/work/$$f.log; exit 1; }; \
		grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' build/fuzz/work/$$f.log; \
	done

# Random verified scripts through the machines of C and through tests/oracle/twv16.py (tests/e2e/test_script_reference.py).
PROGRAMS += script_batch
script_batch.src := tests/oracle/script_batch.c tests/oracle/script_gen.c
script_batch.libs := engine base hosted

# The same programs instruction by instruction under a shadow of the machine.
PROGRAMS += script_soak
script_soak.src := tests/oracle/script_soak.c tests/oracle/script_gen.c
script_soak.libs := support scriptasm engine base hosted

SCRIPT_PROGRAMS ?= 1000000
soak-script: ## SCRIPT_PROGRAMS random verified scripts, the whole state compared with the reference interpreter
	@tools/setup.sh test
	@$(MAKE) -j2 PROFILE=host build/host/script_batch
	@$(PYTHON) tests/oracle/script_diff.py build/host/script_batch --programs $(SCRIPT_PROGRAMS) --coverage

RUNS ?= 100000000
soak-script-verify: ## RUNS scripts that the verifier accepted, under sanitizers and a shadow of the machine; two processes
	@tools/setup.sh test
	@$(MAKE) -j2 PROFILE=soak build/soak/script_soak
	@nice -n 10 build/soak/script_soak $$(($(RUNS) / 2)) $(SEED)1 & one=$$!; \
		nice -n 10 build/soak/script_soak $$(($(RUNS) - $(RUNS) / 2)) $(SEED)2; two=$$?; wait $$one && exit $$two

MP_RUNS ?= 10000000
soak-mp: ## eight threads on one graph for MP_RUNS node runs, against one thread; then under ThreadSanitizer
	@tools/setup.sh test
	@$(MAKE) -j2 PROFILE=host build/host/tests/test_graph_mp
	@$(MAKE) -j2 PROFILE=tsan build/tsan/tests/test_graph_mp
	@TW_MP_RUNS=$(MP_RUNS) build/host/tests/test_graph_mp
	@TW_MP_RUNS=$(MP_RUNS) build/tsan/tests/test_graph_mp

PROGRAMS += bench_rpc bench_compile bench_engine bench_kernels bench_client bench_script
bench_script.src := tests/bench/bench_script.c
bench_script.flags := -isystem /usr/include/lua5.4
bench_script.libs := scriptasm engine base hosted
bench_script.ld := -llua5.4
bench_client.src := tests/bench/bench_client.c
bench_client.libs := support engine dsp speexdsp kissfft base hosted
bench_kernels.src := tests/bench/bench_kernels.c
bench_kernels.libs := engine base hosted
bench_rpc.src := $(addprefix tests/bench/,bench_rpc.c bench_arcs.c bench_link.c)
bench_rpc.libs := protocol board base hosted
bench_compile.src := tests/bench/bench_compile.c
bench_compile.libs := graphc scriptlang scriptasm board engine base hosted
bench_compile.ld := -lmbedcrypto
bench_engine.src := tests/bench/bench_engine.c
bench_engine.libs := graphc scriptlang scriptasm board engine base hosted
bench_engine.ld := -lmbedcrypto
bench: ## ratios against named peers: make bench [ONLY=rpc_setparam]; also in build/bench.json
	@tools/setup.sh bench
	@$(MAKE) -j2 PROFILE=host $(addprefix build/host/,$(MAIN_PROGRAMS) bench_rpc bench_compile bench_engine bench_kernels bench_client bench_script)
	@$(if $(filter kernels,$(ONLY)),,$(PYTHON) tests/bench/run_bench.py $(if $(ONLY),--only $(ONLY)))
	@$(if $(filter-out kernels,$(ONLY)),,build/host/bench_kernels)
