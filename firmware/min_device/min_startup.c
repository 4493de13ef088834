/* min_startup.c - from reset to main() on a Cortex-M0: paint the stack, set up .data and .bss. */
#include "firmware/min_device/min_device.h"

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];

/* Everything between .bss and the present stack pointer: what still has the colour later was never used. */
static void paint_stack(void)
{
    uint32_t *end;
    __asm volatile("mov %0, sp" : "=r"(end));
    for (uint32_t *p = bss_end; p < end; p++) {
        *p = MIN_STACK_COLOUR;
    }
}

uint32_t min_stack_used(void)
{
    const uint32_t *p = bss_end;
    while (p < stack_top && *p == MIN_STACK_COLOUR) {
        p++;
    }
    return (uint32_t)((uintptr_t)stack_top - (uintptr_t)p);
}

uint32_t min_static_ram(void)
{
    return (uint32_t)((uintptr_t)bss_end - (uintptr_t)data_start);
}

void reset_handler(void);
void reset_handler(void)
{
    for (uint32_t i = 0; data_start + i < data_end; i++) {
        data_start[i] = data_load[i];
    }
    for (uint32_t *p = bss_start; p < bss_end; p++) {
        *p = 0;
    }
    paint_stack();
    min_exit(min_main());
}

static void fault_handler(void)
{
    min_print("fault\n");
    min_exit(3);
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    [0] = (uintptr_t)stack_top,      [1] = (uintptr_t)reset_handler,  [2] = (uintptr_t)fault_handler,
    [3] = (uintptr_t)fault_handler,  [11] = (uintptr_t)fault_handler, [14] = (uintptr_t)fault_handler,
    [15] = (uintptr_t)fault_handler,
};
