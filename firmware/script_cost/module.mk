# What an instruction of a script costs on a Cortex-M4F, counted in QEMU; also the objects whose size `make size` states.
COST := build/script_cost
COST_CC := arm-none-eabi-gcc
COST_FLAGS := -std=c11 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -ffunction-sections \
	-fdata-sections -DTW_SCRIPT_FAST=0 $(WARN) -I. $(FREE)
# What -Os does for time alone is left out of all but the short way.
COST_SMALL = $(if $(filter %/script_short.c,$<),,-fno-gcse -fno-thread-jumps -fno-caller-saves -fno-schedule-insns2)
COST_ENGINE := $(addprefix engine/script/script_,vm.c short.c value.c op.c)

$(COST)/rows.c: firmware/script_cost/cost.py engine/script/script_opcodes.def
	@mkdir -p $(COST)
	@$(PYTHON) $< rows > $@
$(COST)/%.o: %.c $(COST)/rows.c
	@mkdir -p $(@D)
	@$(COST_CC) $(COST_FLAGS) $(COST_SMALL) -MMD -MP -c $< -o $@
$(COST)/rows.o: $(COST)/rows.c
	@$(COST_CC) $(COST_FLAGS) -c $< -o $@
COST_OBJECTS := $(patsubst %.c,$(COST)/%.o,$(COST_ENGINE) firmware/script_cost/cost_main.c) $(COST)/rows.o
$(COST)/cost.elf: $(COST_OBJECTS) firmware/script_cost/cost.ld
	@$(COST_CC) $(COST_FLAGS) -nostartfiles --specs=nosys.specs -Wl,--gc-sections -T firmware/script_cost/cost.ld $(COST_OBJECTS) -o $@

.PHONY: script-cost script-cost-update
script-cost: ## instructions of a Cortex-M4 for each instruction of a script, counted in QEMU
	@tools/setup.sh target
	@$(MAKE) $(COST)/cost.elf
	@$(PYTHON) firmware/script_cost/cost.py run $(COST)/cost.elf
script-cost-update: $(COST)/cost.elf
	@$(PYTHON) firmware/script_cost/cost.py update $<

-include $(shell find $(COST) -name '*.d' 2>/dev/null)
