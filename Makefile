# Tunewire. `make help` lists the targets; each folder's module.mk says what it builds.
#
# Everything generated lives in build/: build/<profile> for objects and programs,
# build/gen for generated sources, build/src for unpacked Debian source packages.
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash
.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:

# host: optimised. debug: AddressSanitizer and UBSan; soak: both, optimised. tsan: ThreadSanitizer. fuzz: clang, libFuzzer.
PROFILE ?= host
# With CMSIS-DSP (see engine/module.mk) everything is built beside, never mixed.
B := build/$(PROFILE)$(if $(CMSIS_DSP_DIR),-cmsis)
GEN := build/gen
NANOPB := build/src/nanopb
KISSFFT := build/src/kissfft
SPEEXDSP := build/src/speexdsp
PYTHON := /usr/bin/python3

CC := gcc
AR := gcc-ar
CFLAGS_host := -O2 -g -flto=2 -ffat-lto-objects
CFLAGS_debug := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_soak := -O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS_host := -O2 -flto=2
LDFLAGS_debug := -fsanitize=address,undefined
LDFLAGS_soak := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
LDFLAGS_fuzz := -fsanitize=fuzzer,address,undefined
ifeq ($(PROFILE),fuzz)
CC := clang
AR := ar
endif

WARN := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wvla -Wundef -Werror
# -fbuiltin: a four-byte memcpy stays one instruction; the code still needs nothing but mem* functions.
FREE := -ffreestanding -fbuiltin
CFLAGS = -std=c11 $(WARN) $(CFLAGS_$(PROFILE)) $(CFLAGS_cmsis) -I. -I$(GEN) -isystem $(NANOPB) -MMD -MP
LDFLAGS = $(LDFLAGS_$(PROFILE))

# ---- what the fragments fill in ---------------------------------------------
# LIBS            names; <lib>.src its sources, <lib>.flags extra compiler flags, <lib>.free = 1 freestanding
# PROGRAMS        names; <prog>.src, <prog>.libs (in link order), <prog>.ld
LIBS :=
PROGRAMS :=
# Line editing of `script debug`, where the library is there; without it lines are read as they come.
EDIT_LIBS := $(if $(wildcard /usr/include/histedit.h),-ledit)
include $(wildcard engine/module.mk protocol/module.mk phy/module.mk server/module.mk host_tools/module.mk tests/module.mk)
include $(wildcard firmware/*/module.mk)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

define lib_rules
$(call obj,$($(1).src)): EXTRA := $($(1).flags) $(if $($(1).free),$(FREE),-D_GNU_SOURCE)
$(B)/lib$(1).a: $(call obj,$($(1).src))
	@rm -f $$@; $(AR) rcs $$@ $$^
endef
$(foreach l,$(LIBS),$(eval $(call lib_rules,$(l))))

# Whoever links the engine links what it computes with.
with_dsp = $(1) $(if $(filter engine,$(1)),dsp speexdsp kissfft $(if $(CMSIS_DSP_DIR),cmsisdsp))

define prog_rules
$(call obj,$($(1).src)): EXTRA := $($(1).flags) -D_GNU_SOURCE
$(B)/$(1): $(call obj,$($(1).src)) $(foreach l,$(call with_dsp,$($(1).libs)),$(B)/lib$(l).a)
	@mkdir -p $$(@D); echo "  LD    $$@"
	@$(CC) $(LDFLAGS) -o $$@ $(call obj,$($(1).src)) -Wl,--start-group $(foreach l,$(call with_dsp,$($(1).libs)),$(B)/lib$(l).a) -Wl,--end-group $($(1).ld) -lm -lpthread
endef
$(foreach p,$(PROGRAMS),$(eval $(call prog_rules,$(p))))

$(B)/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D); echo "  CC    $<"
	@$(CC) $(CFLAGS) $(EXTRA) -c $< -o $@
# Sources that are generated or unpacked at set-up are compiled, not judged.
$(B)/obj/build/%.o: build/%.c | $(GENERATED)
	@mkdir -p $(@D); echo "  CC    $<"
	@$(CC) $(CFLAGS) -Wno-conversion -Wno-undef $(EXTRA) -c $< -o $@

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- targets ------------------------------------------------------------------
MAIN_PROGRAMS := tunewired tunewire
.PHONY: all help setup run test check bench fuzz clean
all: setup ## build the server and the tools
	@$(MAKE) $(addprefix build/host/,$(MAIN_PROGRAMS)) PROFILE=host

help: ## this list
	@grep -hE '^[a-z_-]+:.*## ' Makefile tests/module.mk host_tools/module.mk firmware/*/module.mk 2>/dev/null | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## install what is missing (Debian packages, source packages)
	@tools/setup.sh build

run: ## the tour: load, tune, watch and reload a running graph on recorded speech
	@tools/setup.sh run
	@$(MAKE) -j2 PROFILE=host $(addprefix build/host/,$(MAIN_PROGRAMS))
	@$(PYTHON) examples/tour.py

clean: ## remove build/ except downloaded sources
	@find build -mindepth 1 -maxdepth 1 ! -name src ! -name apt -exec rm -rf {} + 2>/dev/null || true
