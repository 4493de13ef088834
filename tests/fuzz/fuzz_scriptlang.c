/* Text as a script in the readable language: nothing but a diagnosis or code comes of it, and code passes the verifier
 * with what it says it needs, stays in its stack and memory, and takes no more instructions than it was said to.
 *
 *   0      [1:0] registers (3..6), [4:2] pointers (2..6), [5] shared memory, [6] no graph
 *   1..    text                                                                                    */
#include "engine/base/formats.h"
#include "engine/script/script.h"
#include "host_tools/scriptlang/scriptlang.h"
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

enum { BUDGET = 3000 };

static tw_sl_out_t out;
static tw_script_ctx_t ctx;
static uint8_t whole[2 * TW_SL_CODE_MAX + 4], memory[4096];

static const tw_sl_param_t params[] = {
    {"gain_db", 1, TW_RAW_FP32, 45, 1, false, -100, 20},
    {"hold", 2, TW_RAW_U16, 68, 1, false, 0, 5000},
    {"biquad0", 3, TW_RAW_S16, 0, 5, false, -32768, 32767},
    {"active", 4, TW_RAW_U8, 0, 1, true, 0, 1},
    {"big", 5, TW_RAW_FP64, 0, 1, false, 0, 0},
};

static const char *name_of(void *c, tw_sl_kind_t kind, uint32_t i)
{
    static const char *const names[3][2] = {{"amp.0", "filter"}, {"mic", "in.io_platform_x-1"}, {"main", NULL}};
    (void)c;
    return names[kind][i];
}

static const tw_sl_param_t *params_of(void *c, uint32_t i, uint32_t *n)
{
    (void)c;
    (void)i;
    *n = TW_COUNT(params);
    return params;
}

static const tw_sl_world_t world = {.n = {2, 2, 2}, .name = name_of, .params = params_of};

static uint32_t on_call(void *c, uint32_t k, tw_script_ctx_t *s)
{
    int64_t v = 0;
    (void)c;
    if (k >= 32 && k <= 38) {
        REQUIRE(tw_script_pop_int(s, &v));
    }
    tw_script_set_int(s, 1, TW_T_I32, (int64_t)(k * 7 + s->used));
    return k & 1;
}

static uint32_t on_app(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)k;
    (void)s;
    return 0;
}

static void run(const tw_script_t *s, int64_t phase)
{
    const tw_script_host_t host = {.syscall = on_call, .callapp = on_app};
    const tw_err_t err = tw_script_run(s, &host, &ctx, &phase, 1, true, BUDGET);
    REQUIRE(err == TW_OK || err == TW_E_SCR_BUDGET || err == TW_E_SCR_FAULT);
    if (err == TW_E_SCR_FAULT) { /* only a script that is not there */
        REQUIRE((tw_get_le16(s->code + ctx.pc) & 0xFF40) == 0x0440);
    }
    if (err == TW_OK && out.bounded) {
        REQUIRE(ctx.used <= out.cost);
    }
}

static void check(bool shared)
{
    uint64_t calls;
    tw_fault_t fault;
    memset(whole, 0, sizeof whole);
    memset(memory, 0, sizeof memory);
    memcpy(whole, out.code, out.code_bytes);
    memcpy(whole + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    const tw_script_t s = {.code = whole,
                           .code_bytes = out.code_bytes,
                           .pool_bytes = out.pool_bytes,
                           .regs = out.regs,
                           .ptrs = out.ptrs,
                           .stack = out.stack,
                           .shared = shared,
                           .mem = out.mem_bytes != 0 ? memory : NULL,
                           .mem_bytes = out.mem_bytes};
    REQUIRE(out.mem_bytes <= sizeof memory);
    REQUIRE(tw_script_verify(&s, false, &calls, &fault) == TW_OK);
    for (int64_t phase = 0; phase < 4; phase++) {
        run(&s, phase);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    const tw_sl_opts_t opts = {.world = (data[0] & 64) != 0 ? NULL : &world,
                               .regs = (uint8_t)(3 + (data[0] & 3)),
                               .ptrs = (uint8_t)(2 + (data[0] >> 2 & 7) % 5),
                               .shared = (data[0] & 32) != 0};
    const bool ok = tw_script_compile((const char *)data + 1, size - 1, &opts, &out);
    REQUIRE(ok == (out.n_errors == 0));
    if (ok) {
        check(opts.shared);
    } else {
        REQUIRE(out.code_bytes == 0 && out.n_diags > 0);
        for (unsigned i = 0; i < out.n_diags; i++) { /* the verifier is never the one to find it */
            REQUIRE(strncmp(out.diags[i].text, "the machine would refuse", 24) != 0);
        }
    }
    return 0;
}
