/* machine_rig.h - what the tests of the script machine share: a world that records, and programs from text or words. */
#pragma once
#include "engine/base/bytes.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/script_twin.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_asm_out_t out;
static tw_script_ctx_t ctx;

/* ---- a world that records what is asked of it ---- */

static struct {
    unsigned syscalls, apps, breaks;
    bool hold; /* at brk */
    uint32_t k;
    int64_t popped;
    bool window;
    const tw_script_t *script;
} world;

static inline uint32_t on_syscall(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    uint32_t bytes;
    world.syscalls++;
    world.k = k;
    if (k == 32) {
        assert_true(tw_script_pop_int(s, &world.popped));
        world.window = tw_script_window(s, 0, &bytes, true) != NULL;
        return world.window ? 0 : 4; /* no buffer */
    }
    if (k == 9) {
        tw_script_set_int(s, 1, TW_T_TIME32, 77);
    }
    return k == 10 ? 3 : 0;
}

static inline uint32_t on_app(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)s;
    world.apps++;
    world.k = k;
    return 0;
}

static inline const tw_script_t *on_script(void *c, uint32_t k)
{
    (void)c;
    (void)k;
    return world.script;
}

static inline bool on_brk(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)s;
    world.breaks += k;
    return world.hold;
}

static const tw_script_host_t host = {.syscall = on_syscall, .callapp = on_app, .script = on_script, .brk = on_brk};

/* ---- helpers ---- */

typedef struct image {
    uint8_t bytes[1024];
    tw_script_t s;
} image_t;

static inline void build(image_t *im, const char *text)
{
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%s: %u:%u %s", text, out.diags[0].line, out.diags[0].col, out.diags[0].text);
    }
    memcpy(im->bytes, out.code, out.code_bytes);
    memcpy(im->bytes + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    im->s = (tw_script_t){.code = im->bytes,
                          .code_bytes = out.code_bytes,
                          .pool_bytes = out.pool_bytes,
                          .regs = 6,
                          .ptrs = 6,
                          .stack = 16};
}

static inline void must_verify(const tw_script_t *s)
{
    tw_fault_t f;
    if (tw_script_verify(s, false, NULL, &f) != TW_OK) {
        fail_msg("refused: %s at %u", tw_err_name(f.err), f.at);
    }
}

static inline void reset_world(void)
{
    memset(&world, 0, sizeof world);
}

/* The fast machine leaves the same, at any budget. The memory is as before afterwards. */
static inline void must_be_the_same_translated(const tw_script_t *s, bool flag)
{
    static tw_script_ctx_t both[2];
    static uint8_t before[1024];
    script_twin_t twin;
    const char *what = script_twin_make(s, &twin);
    assert_true(s->mem == NULL || s->mem_bytes <= sizeof before);
    if (s->mem != NULL) {
        memcpy(before, s->mem, s->mem_bytes);
    }
    for (uint32_t budget = 40; what == NULL && budget != UINT32_MAX; budget--) { /* ends with the script's own: 0 */
        what = script_twin_run(&twin, &host, both, NULL, 0, flag, budget, before, reset_world);
    }
    if (s->mem != NULL) {
        memcpy(s->mem, before, s->mem_bytes);
    }
    if (what != NULL) {
        fail_msg("translated, other %s", what);
    }
}

/* Assemble, verify, run over `mem`. */
static inline tw_err_t run_over(const char *text, bool flag, uint8_t *mem, uint32_t mem_bytes)
{
    static image_t im;
    build(&im, text);
    im.s.mem = mem;
    im.s.mem_bytes = mem_bytes;
    must_verify(&im.s);
    must_be_the_same_translated(&im.s, flag);
    memset(&world, 0, sizeof world);
    return tw_script_run(&im.s, &host, &ctx, NULL, 0, flag, 0);
}

static inline tw_err_t run(const char *text)
{
    return run_over(text, true, NULL, 0);
}

static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* op words with X = r0, Y = r1, run on literal operands of the given types */
static inline void load_literals(image_t *im, uint16_t op, unsigned tx, uint64_t x, unsigned ty, uint64_t y)
{
    uint8_t *p = im->bytes;
    const unsigned types[2] = {tx, ty};
    const uint64_t values[2] = {x, y};
    for (unsigned i = 0; i < 2; i++) {
        static const uint8_t bytes[16] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 1, 1, 2, 4, 8, 8, 1};
        const unsigned n = bytes[types[i]];
        tw_put_le16(p, (uint16_t)(0x2000 | i << 8 | types[i]));
        p += 2;
        for (unsigned k = 0; k < (n + 1) / 2; k++, p += 2) {
            tw_put_le16(p, (uint16_t)((n == 1 ? values[i] & 255 : values[i]) >> (16 * k)));
        }
    }
    tw_put_le16(p, op);
    tw_put_le16(p + 2, 0xC000);
    im->s = (tw_script_t){.code = im->bytes, .code_bytes = (uint32_t)(p + 4 - im->bytes), .regs = 2};
}

static inline uint16_t op_word(const char *mnemonic)
{
    char text[32];
    snprintf(text, sizeof text, "%s r0 r1", mnemonic);
    assert_true(tw_asm(text, strlen(text), &out));
    return tw_get_le16(out.code);
}

static inline void fresh(uint8_t *mem, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        mem[i] = (uint8_t)i;
    }
}
