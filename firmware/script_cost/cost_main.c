/* cost_main.c - how many instructions of a Cortex-M4 each instruction of a script takes.
 *
 * Every row is a script and the number of instructions that set its operands up. The same script is run that far and
 * one further, many times; the difference of the two counts is what the one instruction takes: fetch, dispatch, budget,
 * operation and all. QEMU gives each instruction the same time (-icount), so SysTick counts them.
 */
#include "engine/script/script.h"
#include "firmware/script_cost/cost_rows.h"

enum { RUNS = 50, TICKS_PER_5 = 4 }; /* 32 ns an instruction, 40 ns a tick */
enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, STOPPED_APPLICATION_EXIT = 0x20026 };

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define CPACR (*(volatile uint32_t *)0xE000ED88u)

extern uint32_t stack_top[];

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void print_number(const char *text, uint32_t v)
{
    char digits[12];
    unsigned i = sizeof digits;
    digits[--i] = 0;
    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    semihost(SYS_WRITE0, text);
    semihost(SYS_WRITE0, digits + i);
}

static _Noreturn void stop(int status)
{
    const uint32_t block[2] = {STOPPED_APPLICATION_EXIT, (uint32_t)status};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {}
}

/* ---- the world of the scripts ---- */

static uint32_t answer(void *ctx, uint32_t k, tw_script_ctx_t *c)
{
    (void)ctx;
    (void)c;
    return k & 1;
}

static uint16_t callee_labels[TW_SCRIPT_LABELS];
static const uint8_t ret[] = {0x00, 0xC0};
static const tw_script_t callee = {.code = ret, .code_bytes = 2, .stack = 1, .labels = callee_labels};

static const tw_script_t *other(void *ctx, uint32_t k)
{
    (void)ctx;
    (void)k;
    return &callee;
}

static const tw_script_host_t host = {.syscall = answer, .callapp = answer, .script = other};

/* ---- measuring ---- */

static tw_script_ctx_t context;
static uint8_t memory[64];
static uint16_t labels[TW_SCRIPT_LABELS];

/* Ticks of RUNS calls that execute `n` instructions each. */
static uint32_t ticks_of(const tw_script_t *s, uint32_t n)
{
    SYST_CVR = 0;
    const uint32_t start = SYST_CVR;
    for (unsigned i = 0; i < RUNS; i++) {
        tw_script_begin(&context, s, &host, NULL, 0, true, 0);
        tw_script_go(&context, n);
    }
    return (start - SYST_CVR) & 0xFFFFFF;
}

static void measure(const cost_row_t *row)
{
    tw_script_t s = {.code = row->code,
                     .code_bytes = row->code_bytes,
                     .pool_bytes = row->pool_bytes,
                     .regs = 6,
                     .ptrs = 6,
                     .stack = 16,
                     .mem = memory,
                     .mem_bytes = sizeof memory,
                     .labels = labels};
    tw_script_index(&s, labels);
    const uint32_t before = ticks_of(&s, row->setup);
    const uint32_t after = ticks_of(&s, row->setup + 1u);
    print_number(" ", ((after - before) * 5 / TICKS_PER_5 + RUNS / 2) / RUNS);
    if (context.err != TW_OK) {
        print_number(" error at ", context.pc);
        stop(1);
    }
}

void reset_handler(void);
void reset_handler(void)
{
    CPACR |= 0xF << 20; /* the floating-point unit */
    __asm volatile("dsb\n isb");
    SYST_RVR = 0xFFFFFF;
    SYST_CSR = 5;
    for (unsigned i = 0; i < cost_rows_n; i++) {
        print_number("\n", i);
        measure(&cost_rows[i]);
    }
    semihost(SYS_WRITE0, "\n");
    stop(0);
}

static void fault_handler(void)
{
    semihost(SYS_WRITE0, "fault\n");
    stop(3);
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    [0] = (uintptr_t)stack_top,     [1] = (uintptr_t)reset_handler, [2] = (uintptr_t)fault_handler,
    [3] = (uintptr_t)fault_handler, [4] = (uintptr_t)fault_handler, [5] = (uintptr_t)fault_handler,
    [6] = (uintptr_t)fault_handler,
};
