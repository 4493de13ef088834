/* Bytes as a script: limits, code, pool. What the verifier accepts must run as script_shadow.h foresees, do the same
 * translated, and survive disassembly and assembly.
 *
 *   0      regs [2:0], pointers [5:3], shared [6], privileged [7]
 *   1      stack words
 *   2      [5:0] bytes of memory, [6] T at entry
 *   3      bytes of pool, taken from the end
 *   4..    code                                                                                  */
#include "engine/base/bytes.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/script_shadow.h"
#include "tests/support/script_twin.h"
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(cond)                                          \
    do {                                                       \
        if (!(cond)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
            abort();                                           \
        }                                                      \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUDGET = 2000 };

static tw_asm_out_t out;
static shadow_t shadow;
static uint8_t *memory;
static uint32_t memory_bytes;
static const tw_script_t *running;

static void check_window(const tw_script_ctx_t *s, unsigned p)
{
    uint32_t n;
    uint8_t *const w = tw_script_window(s, p, &n, true);
    if (w != NULL) {
        REQUIRE(w >= memory && n <= memory_bytes && w + n <= memory + memory_bytes);
    }
    const uint8_t *const r = tw_script_window(s, p, &n, false);
    if (r != NULL && w == NULL) {
        const uint8_t *const pool = running->code + tw_round_up(running->code_bytes, 4);
        REQUIRE(r >= pool && r + n <= pool + running->pool_bytes);
    }
}

static uint32_t on_call(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    int64_t v = 0;
    REQUIRE(s->sp <= running->stack && s->pc < running->code_bytes);
    for (unsigned p = 0; p < TW_SCRIPT_PTRS; p++) {
        check_window(s, p);
    }
    if (k >= 32 && k <= 38) {
        REQUIRE(tw_script_pop_int(s, &v));
    }
    tw_script_set_int(s, 1, (tw_stype_t)(k % 9), v);
    return k & 1;
}

static uint32_t on_app(void *c, uint32_t k, tw_script_ctx_t *s)
{
    return on_call(c, k & 31, s); /* no implicit operand, whatever the number */
}

static void broken(const char *what)
{
    fprintf(stderr, "at %u: %s\n", shadow.ctx.pc, what);
    abort();
}

static void run(const tw_script_t *s, bool flag, bool privileged)
{
    const tw_script_host_t host = {.syscall = on_call, .callapp = on_app, .privileged = privileged};
    const int64_t args[2] = {1, -1};
    running = s;
    shadow.scripts = s;
    shadow.n_scripts = 1;
    shadow.host = &host;
    shadow.broken = broken;
    (void)shadow_run(&shadow, args, 2, flag, BUDGET);
}

/* The fast machine leaves the same, also where a budget of any size ends. */
static void run_translated(const tw_script_t *s, bool flag, bool privileged)
{
    static const uint8_t zeros[64];
    static tw_script_ctx_t both[2];
    const tw_script_host_t host = {.syscall = on_call, .callapp = on_app, .privileged = privileged};
    const int64_t args[2] = {1, -1};
    const uint32_t used = shadow.ctx.used;
    script_twin_t twin;
    const char *what = script_twin_make(s, &twin);
    running = s;
    for (uint32_t budget = used + 1; what == NULL && budget != 0; budget -= 1 + used / 16) {
        what = script_twin_run(&twin, &host, both, args, 2, flag, budget, zeros, NULL);
        budget = tw_max_u32(budget, 1 + used / 16);
    }
    if (what != NULL) {
        fprintf(stderr, "translated, other %s\n", what);
        abort();
    }
}

static void round_trip(const tw_script_t *s)
{
    static char text[65536 * 4];
    size_t used = 0;
    for (uint32_t at = 0; at < s->code_bytes;) {
        char line[80];
        at += tw_script_disasm(s->code, s->code_bytes, at, line, sizeof line);
        REQUIRE(line[0] != '.');
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", line);
        REQUIRE(used < sizeof text);
    }
    REQUIRE(tw_asm(text, used, &out));
    REQUIRE(out.code_bytes >= s->code_bytes && memcmp(out.code, s->code, s->code_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6 || size > 10000) {
        return 0;
    }
    const uint32_t pool = data[3] <= size - 4 ? data[3] : 0;
    const uint32_t code = (uint32_t)(size - 4) - pool;
    const uint32_t pool_at = tw_round_up(code, 4);
    uint8_t *const bytes = malloc(pool_at + pool);
    memory_bytes = data[2] & 63;
    memory = memory_bytes != 0 ? calloc(1, memory_bytes) : NULL;
    memset(bytes, 0, pool_at + pool);
    memcpy(bytes, data + 4, code);
    memcpy(bytes + pool_at, data + 4 + code, pool);
    const tw_script_t s = {.code = bytes,
                           .code_bytes = code,
                           .pool_bytes = pool,
                           .regs = data[0] & 7,
                           .ptrs = data[0] >> 3 & 7,
                           .stack = data[1],
                           .shared = data[0] >> 6 & 1,
                           .mem = memory,
                           .mem_bytes = memory_bytes};
    const bool privileged = data[0] >> 7 != 0;
    tw_fault_t fault = {0};
    const tw_err_t err = tw_script_verify(&s, privileged, NULL, &fault);
    if (err == TW_OK) {
        run(&s, (data[2] & 64) != 0, privileged);
        run_translated(&s, (data[2] & 64) != 0, privileged);
        round_trip(&s);
    } else {
        REQUIRE(fault.err == err && fault.at <= code);
    }
    free(memory);
    free(bytes);
    return 0;
}
