# The smallest device (Cortex-M0+, 1 KB of RAM): `make size` builds it, runs it in QEMU and prints what it takes.
MIN := build/min_device
MIN_CC := arm-none-eabi-gcc
# Options that make code smaller on this core than -Os alone; link-time optimisation sees the whole engine.
MIN_FLAGS := -std=c11 -mcpu=cortex-m0plus -mthumb -Os -fno-ivopts -fno-move-loop-invariants -fno-jump-tables \
	-fno-tree-loop-im -fno-tree-slsr -ffunction-sections -fdata-sections $(WARN) -I. -DTW_SMALL=1 -DTW_MAX_NODE_ARCS=2 \
	'-DTW_NODES=TW_NODE_ROW(filter) TW_NODE_ROW(detector)'
# What of the engine the device links; the linker drops the rest.
MIN_ENGINE := $(wildcard engine/graph/graph_check*.c) engine/graph/graph_compact.c engine/graph/graph_compact_load.c \
	engine/graph/graph_image.c $(addprefix engine/node/node_,filter.c detector.c param.c shape.c catalogue.c) \
	engine/node/kernels_small.c $(addprefix engine/base/,crc.c raw_bits.c arena_small.c)
# Helpers the compiler calls by name: never optimised into calls of themselves, and out of reach of the optimiser.
MIN_HELPERS := $(wildcard firmware/small/*.c)
MIN_BOARD := $(addprefix firmware/min_device/min_,main.c startup.c report.c)

$(MIN)/graph.twg: firmware/min_device/graph.txt $(wildcard firmware/min_device/platform/*.txt) build/host/tunewire
	@mkdir -p $(MIN)
	@build/host/tunewire compile $< --platform firmware/min_device/platform/top_manifest_min.txt -o $@ >/dev/null
$(MIN)/min_image.c: $(MIN)/graph.twg firmware/min_device/gen_image.py
	@$(PYTHON) firmware/min_device/gen_image.py $< $(MIN)/platform.h > $@

$(MIN)/engine/%.o: %.c
	@mkdir -p $(@D)
	@$(MIN_CC) $(MIN_FLAGS) $(FREE) -flto -MMD -MP -c $< -o $@
$(MIN)/board/%.o: %.c $(MIN)/min_image.c
	@mkdir -p $(@D)
	@$(MIN_CC) $(MIN_FLAGS) $(FREE) -fno-tree-loop-distribute-patterns -include $(MIN)/platform.h -MMD -MP -c $< -o $@
MIN_OBJECTS := $(patsubst %.c,$(MIN)/engine/%.o,$(MIN_ENGINE)) $(patsubst %.c,$(MIN)/board/%.o,$(MIN_HELPERS) $(MIN_BOARD)) \
	$(MIN)/board/$(MIN)/min_image.o
$(MIN)/min_device.elf: $(MIN_OBJECTS) firmware/min_device/min_device.ld
	@$(MIN_CC) $(MIN_FLAGS) -flto -nostdlib -Wl,--gc-sections -T firmware/min_device/min_device.ld $(MIN_OBJECTS) -lgcc -o $@

# The same device on the host, the small profile under the sanitizers: it must print the same checksum.
MIN_HOST_FLAGS := -std=c11 $(WARN) $(CFLAGS_debug) -I. -DTW_SMALL=1 -DMIN_ARENA_BYTES=2048 \
	'-DTW_NODES=TW_NODE_ROW(filter) TW_NODE_ROW(detector)'
$(MIN)/min_host: $(MIN_ENGINE) $(MIN)/min_image.c firmware/min_device/min_main.c firmware/min_device/min_host.c
	@$(CC) $(MIN_HOST_FLAGS) -include $(MIN)/platform.h -o $@ $(filter %.c,$^)
# Every bit of the image turned over, checksums set right again: no image makes the small profile fault.
$(MIN)/min_flips: $(MIN_ENGINE) $(MIN)/min_image.c tests/small/min_flips.c
	@$(CC) $(MIN_HOST_FLAGS) -o $@ $(filter %.c,$^)

.PHONY: size min-device
min-device: $(MIN)/min_device.elf $(MIN)/min_host $(MIN)/min_flips
size: ## text and RAM of the smallest device, measured in QEMU
	@tools/setup.sh target
	@$(MAKE) -j2 PROFILE=host min-device
	@$(PYTHON) firmware/min_device/size.py

-include $(shell find $(MIN) -name '*.d' 2>/dev/null)
