/* The script machine: arithmetic against an oracle, T, pointers, calls, faults, random verified programs. */
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

typedef __int128 wide_t;
typedef unsigned __int128 uwide_t;

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

static uint32_t on_syscall(void *c, uint32_t k, tw_script_ctx_t *s)
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

static uint32_t on_app(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)s;
    world.apps++;
    world.k = k;
    return 0;
}

static const tw_script_t *on_script(void *c, uint32_t k)
{
    (void)c;
    (void)k;
    return world.script;
}

static bool on_brk(void *c, uint32_t k, tw_script_ctx_t *s)
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

static void build(image_t *im, const char *text)
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

static void must_verify(const tw_script_t *s)
{
    tw_fault_t f;
    if (tw_script_verify(s, false, NULL, &f) != TW_OK) {
        fail_msg("refused: %s at %u", tw_err_name(f.err), f.at);
    }
}

static void reset_world(void)
{
    memset(&world, 0, sizeof world);
}

/* The fast machine leaves the same, at any budget. The memory is as before afterwards. */
static void must_be_the_same_translated(const tw_script_t *s, bool flag)
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
static tw_err_t run_over(const char *text, bool flag, uint8_t *mem, uint32_t mem_bytes)
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

static tw_err_t run(const char *text)
{
    return run_over(text, true, NULL, 0);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* ---- arithmetic ---- */

static const struct {
    unsigned bits;
    bool is_signed;
} int_types[16] = {
    [TW_T_I8] = {8, true},    [TW_T_U8] = {8, false},   [TW_T_I16] = {16, true},     [TW_T_U16] = {16, false},
    [TW_T_I32] = {32, true},  [TW_T_U32] = {32, false}, [TW_T_TIME32] = {32, false}, [TW_T_I64] = {64, true},
    [TW_T_U64] = {64, false}, [TW_T_CHAR] = {8, false},
};
static const uint8_t ints[] = {TW_T_I8,  TW_T_U8,     TW_T_I16, TW_T_U16, TW_T_I32,
                               TW_T_U32, TW_T_TIME32, TW_T_I64, TW_T_U64, TW_T_CHAR};

static wide_t modulo(unsigned t, wide_t v)
{
    const uwide_t mask = ((uwide_t)1 << int_types[t].bits) - 1;
    const uwide_t u = (uwide_t)v & mask;
    const bool negative = int_types[t].is_signed && (u >> (int_types[t].bits - 1)) != 0;
    return negative ? (wide_t)u - ((wide_t)1 << int_types[t].bits) : (wide_t)u;
}

/* Saturate at 8 and 16 bits, wrap at 32 and 64. */
static wide_t fitted(unsigned t, wide_t v)
{
    const wide_t top = ((wide_t)1 << (int_types[t].bits - int_types[t].is_signed)) - 1;
    const wide_t low = int_types[t].is_signed ? -top - 1 : 0;
    if (int_types[t].bits > 16) {
        return modulo(t, v);
    }
    return v > top ? top : v < low ? low : v;
}

static wide_t magnitude(wide_t v)
{
    return v < 0 ? -v : v;
}

static wide_t shifted(wide_t a, wide_t n)
{
    const int k = n > 63 ? 63 : n < -63 ? -63 : (int)n;
    return k < 0 ? a >> -k : (wide_t)((uwide_t)a << k);
}

/* The oracle: exact integers, then the type's rule. @return false when the error bit must be set. */
static bool oracle(const char *op, unsigned t, wide_t a, wide_t y, wide_t *r)
{
    const wide_t b = fitted(t, y);
    const bool divides = strstr(op, "div") != NULL || strcmp(op, "mod") == 0;
    const wide_t divisor = strcmp(op, "rdiv") == 0 ? a : b;
    if (divides && divisor == 0) {
        *r = 0;
        return false;
    }
    if (strcmp(op, "add") == 0)
        *r = fitted(t, a + b);
    if (strcmp(op, "sub") == 0)
        *r = fitted(t, a - b);
    if (strcmp(op, "rsb") == 0)
        *r = fitted(t, b - a);
    if (strcmp(op, "mul") == 0)
        *r = fitted(t, (wide_t)((uwide_t)a * (uwide_t)b));
    if (strcmp(op, "div") == 0)
        *r = fitted(t, a / b);
    if (strcmp(op, "rdiv") == 0)
        *r = fitted(t, b / a);
    if (strcmp(op, "mod") == 0)
        *r = fitted(t, a % b);
    if (strcmp(op, "sqra") == 0)
        *r = fitted(t, (wide_t)((uwide_t)a + (uwide_t)b * (uwide_t)b));
    if (strcmp(op, "min") == 0)
        *r = a < b ? a : b;
    if (strcmp(op, "max") == 0)
        *r = a > b ? a : b;
    if (strcmp(op, "amin") == 0)
        *r = fitted(t, magnitude(a) < magnitude(b) ? magnitude(a) : magnitude(b));
    if (strcmp(op, "amax") == 0)
        *r = fitted(t, magnitude(a) > magnitude(b) ? magnitude(a) : magnitude(b));
    if (strcmp(op, "and") == 0)
        *r = modulo(t, a & b);
    if (strcmp(op, "or") == 0)
        *r = modulo(t, a | b);
    if (strcmp(op, "xor") == 0)
        *r = modulo(t, a ^ b);
    if (strcmp(op, "nor") == 0)
        *r = modulo(t, ~(a | b));
    if (strcmp(op, "ashft") == 0)
        *r = fitted(t, shifted(a, y));
    if (strcmp(op, "neg") == 0)
        *r = fitted(t, -b);
    if (strcmp(op, "abs") == 0)
        *r = fitted(t, magnitude(b));
    if (strcmp(op, "not") == 0)
        *r = modulo(t, ~b);
    return true;
}

static const char *const int_ops[] = {"add",  "sub",  "rsb", "mul", "div", "rdiv", "mod",   "sqra", "min", "max",
                                      "amin", "amax", "and", "or",  "xor", "nor",  "ashft", "neg",  "abs", "not"};

static const int64_t corners[] = {0,     1,         -1,        2,          127,        128,       -128,
                                  -129,  255,       256,       32767,      32768,      -32768,    65535,
                                  65536, INT32_MAX, INT32_MIN, 4294967295, 4294967296, INT64_MAX, INT64_MIN};

static wide_t some_value(unsigned t, uint64_t *seed)
{
    const uint64_t r = next_random(seed);
    const int64_t v = (r & 3) != 0 ? corners[(r >> 8) % TW_COUNT(corners)] : (int64_t)(next_random(seed) >> (r >> 58));
    return modulo(t, v);
}

/* op words with X = r0, Y = r1, run on literal operands of the given types */
static void load_literals(image_t *im, uint16_t op, unsigned tx, uint64_t x, unsigned ty, uint64_t y)
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

static uint16_t op_word(const char *mnemonic)
{
    char text[32];
    snprintf(text, sizeof text, "%s r0 r1", mnemonic);
    assert_true(tw_asm(text, strlen(text), &out));
    return tw_get_le16(out.code);
}

static wide_t result_of(unsigned t)
{
    return int_types[t].is_signed ? (wide_t)ctx.r[0].i : (wide_t)ctx.r[0].u;
}

static void integers_saturate_or_wrap_as_their_type_says(void **state)
{
    (void)state;
    static image_t im;
    uint64_t seed = 88172645463325252u;
    for (size_t o = 0; o < TW_COUNT(int_ops); o++) {
        const uint16_t word = op_word(int_ops[o]);
        for (unsigned i = 0; i < 3000; i++) {
            const unsigned tx = ints[next_random(&seed) % TW_COUNT(ints)];
            const unsigned ty = ints[next_random(&seed) % TW_COUNT(ints)];
            const wide_t x = some_value(tx, &seed);
            const wide_t y = some_value(ty, &seed);
            wide_t want = 0;
            const bool clean = oracle(int_ops[o], tx, x, y, &want);
            load_literals(&im, word, tx, (uint64_t)x, ty, (uint64_t)y);
            must_verify(&im.s);
            assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
            if (ctx.rt[0] != tx || result_of(tx) != want || (ctx.errors & 1) == clean) {
                fail_msg("%s, types %u and %u: %lld, %lld gives %lld, not %lld", int_ops[o], tx, ty, (long long)x,
                         (long long)y, (long long)ctx.r[0].i, (long long)want);
            }
        }
    }
}

static void mixed_comparisons_are_exact(void **state)
{
    (void)state;
    static image_t im;
    static const char *const ops[] = {"equ", "neq", "lts", "lte", "gts", "gte"};
    uint64_t seed = 2463534242u;
    for (size_t o = 0; o < TW_COUNT(ops); o++) {
        const uint16_t word = op_word(ops[o]);
        for (unsigned i = 0; i < 2000; i++) {
            const unsigned tx = ints[next_random(&seed) % TW_COUNT(ints)];
            const unsigned ty = ints[next_random(&seed) % TW_COUNT(ints)];
            const wide_t x = some_value(tx, &seed);
            const wide_t y = some_value(ty, &seed);
            const bool want[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
            load_literals(&im, word, tx, (uint64_t)x, ty, (uint64_t)y);
            assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
            assert_int_equal(ctx.flag, want[o]);
        }
    }
}

static uint32_t float_word(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static void single_precision_is_the_machine_s_own(void **state)
{
    (void)state;
    static image_t im;
    uint64_t seed = 99;
    for (unsigned i = 0; i < 4000; i++) {
        const float x = ldexpf((float)(int32_t)next_random(&seed), (int)(next_random(&seed) % 40) - 40);
        const float y = ldexpf((float)(int32_t)next_random(&seed), (int)(next_random(&seed) % 40) - 40);
        const float want[] = {x + y, x - y, x * y, x / y, fminf(x, y), fmaxf(x, y), -y, fabsf(y)};
        static const char *const ops[] = {"add", "sub", "mul", "div", "min", "max", "neg", "abs"};
        load_literals(&im, op_word(ops[i % 8]), TW_T_FP32, float_word(x), TW_T_FP32, float_word(y));
        assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
        if (ctx.r[0].s != want[i % 8]) {
            fail_msg("%s of %a and %a: %a", ops[i % 8], (double)x, (double)y, (double)ctx.r[0].s);
        }
    }
}

static void square_roots_are_correctly_rounded(void **state)
{
    (void)state;
    static image_t im;
    static const double values[] = {2.0, 1e-310, 1e300, 4.0, 0.1, 1e-3, 12345678.9, 1.7e308};
    for (size_t i = 0; i < TW_COUNT(values); i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        load_literals(&im, op_word("sqrt"), TW_T_FP64, 0, TW_T_FP64, bits);
        assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
        if (ctx.r[0].f != sqrt(values[i])) {
            fail_msg("sqrt(%g) = %.17g", values[i], ctx.r[0].f);
        }
    }
}

static const struct {
    const char *why, *text;
    int64_t r0;
    uint8_t errors;
} int_rows[] = {
    {"float to int saturates", "movi fp32 r0 1e20\nconv r0 int32", INT32_MAX, 2},
    {"float to uint8 saturates low", "movi fp32 r0 -3\nconv r0 uint8", 0, 2},
    {"float to int64 saturates low", "movi fp64 r0 -1e30\nconv r0 int64", INT64_MIN, 2},
    {"truncated into the type is no error", "movi fp64 r0 -128.9\nconv r0 int8", -128, 0},
    {"and not for unsigned", "movi fp32 r0 -0.9\nconv r0 uint64", 0, 0},
    {"largest uint64 below 2^64", "movi fp64 r0 0x43EFFFFFFFFFFFFF\nconv r0 uint64", -2048, 0},
    {"2^64 is too much", "movi fp64 r0 0x43F0000000000000\nconv r0 uint64", -1, 2},
    {"least int64 fits", "movi fp64 r0 0xC3E0000000000000\nconv r0 int64", INT64_MIN, 0},
    {"to fp16 by way of fp32", "movi fp64 r0 0x3FF0020000000001\nconv r0 fp16\ncast r0 uint16", 0x3C00, 0},
    {"NaN has one image", "movi fp32 r0 0xFFC12345\ncast r0 uint32", 0x7FC00000, 0},
    {"NaN of fp64 too", "movi fp64 r0 0xFFF0000000000001\ncast r0 int64", 0x7FF8000000000000, 0},
    {"sqra rounds the product", "movi fp32 r0 -1\nmovi fp32 r1 0x3F800001\nsqra r0 r1\ncast r0 uint32", 0x34800000, 0},
    {"sqra of fp16 keeps the product in fp32",
     "movi fp16 r0 -1\nmovi fp16 r1 0x3C03\nsqra r0 r1\nconv r0 fp32\ncast r0 uint32", 0x3BC04000, 0},
    {"mod of a large quotient", "movi fp32 r0 1e20\nmovi fp32 r1 3\nmod r0 r1\ncast r0 uint32", 0, 0},
    {"mod by infinity", "movi fp32 r0 -2.5\nmovi fp32 r1 0x7F800000\nmod r0 r1\ncast r0 uint32", 0xC0200000, 0},
    {"addm stays below its modulus", "movi fp32 r0 -1e-20\nmovi fp32 r1 0\npshc fp32 1\naddm r0 r1\ncast r0 uint32", 0,
     0},
    {"NaN is 0", "movi fp32 r0 0x7FC00000\nconv r0 int16", 0, 2},
    {"towards zero", "movi fp64 r0 -2.9\nconv r0 int16", -2, 0},
    {"cast keeps bits", "movi fp32 r0 1\ncast r0 uint32", 0x3F800000, 0},
    {"half, largest", "movi fp64 r0 65504\nconv r0 fp16\ncast r0 uint16", 0x7BFF, 0},
    {"half, overflow", "movi fp64 r0 65520\nconv r0 fp16\ncast r0 uint16", 0x7C00, 0},
    {"half, ties to even down", "movi fp64 r0 2049\nconv r0 fp16\nconv r0 int32", 2048, 0},
    {"half, ties to even up", "movi fp64 r0 2051\nconv r0 fp16\nconv r0 int32", 2052, 0},
    {"half, smallest", "movi fp64 r0 0x3E70000000000000\nconv r0 fp16\ncast r0 uint16", 1, 0},
    {"half, below the smallest", "movi fp64 r0 0x3E60000000000000\nconv r0 fp16\ncast r0 uint16", 0, 0},
    {"half round trip", "movi fp16 r0 -0.333\ncast r0 uint16", 0xB554, 0},
    {"shl drops", "movi int8 r0 127\nshl r0 1", -2, 0},
    {"shr brings zeros", "movi int16 r0 -1\nshr r0 4", 0x0FFF, 0},
    {"asr brings the sign", "movi int16 r0 -16\nasr r0 2", -4, 0},
    {"asr beyond the width", "movi int8 r0 -16\nasr r0 63", -1, 0},
    {"rot in the width", "movi uint8 r0 0x81\nrot r0 9", 3, 0},
    {"rot 64", "movi uint64 r0 0x8000000000000001\nrot r0 4", 0x18, 0},
    {"bset", "movi uint8 r0 0\nbset r0 7", 128, 0},
    {"bset beyond the width", "movi uint8 r0 0\nbset r0 8", 0, 0},
    {"bclr", "movi int8 r0 -1\nbclr r0 0", -2, 0},
    {"bfx", "movi uint32 r1 0xABCD\nbfx r0 r1 4 8", 0xBC, 0},
    {"bfx of all", "movi int64 r1 -1\nmovi uint64 r0 0\nbfx r0 r1 0 64", -1, 0},
    {"bfi", "movi uint32 r0 0xFFFF\nmovi uint8 r1 0\nbfi r0 r1 4 8", 0xF00F, 0},
    {"addk on unsigned", "movi uint8 r0 3\naddk r0 -5", 0, 0},
    {"addk -128 on int8", "movi int8 r0 100\naddk r0 -128", -28, 0},
    {"inc saturates", "movi int8 r0 127\ninc r0", 127, 0},
    {"dec wraps", "movi uint32 r0 0\ndec r0", 4294967295, 0},
    {"norm of 1", "movi int16 r1 1\nnorm r0 r1", 14, 0},
    {"norm of -1", "movi int32 r1 -1\nnorm r0 r1", 31, 0},
    {"norm of unsigned", "movi uint8 r1 1\nnorm r0 r1", 7, 0},
    {"integer root", "movi int32 r1 99\nsqrt r0 r1", 9, 0},
    {"root of a negative", "movi int32 r1 -4\nsqrt r0 r1", 0, 0},
    {"addm", "movi int16 r0 7\nmovi int16 r1 5\npshc int16 10\naddm r0 r1", 2, 0},
    {"subm stays positive", "movi int16 r0 1\nmovi int16 r1 5\npshc int16 10\nsubm r0 r1", 6, 0},
    {"addm by 0", "movi int16 r0 1\npshc int16 0\naddm r0 r1", 0, 1},
    {"lerp q15", "movi int16 r0 100\nmovi int16 r1 200\npshc int16 16384\nlerp r0 r1", 150, 0},
    {"lerp float", "movi int16 r0 100\nmovi int16 r1 200\npshc fp32 0.25\nlerp r0 r1", 125, 0},
    {"convert to the destination", "movi int8 r0 0\nmovi int32 r1 1000\ncopy r0 r1", 127, 0},
    {"copyt brings the type", "movi int8 r0 0\nmovi int32 r1 1000\ncopyt r0 r1", 1000, 0},
    {"swap brings the type", "movi int8 r0 0\nmovi int32 r1 1000\nswap r0 r1", 1000, 0},
    {"zero reads 0", "movi int8 r0 5\ncopy r0 zero", 0, 0},
    {"lc saturates at 16 bits", "movi int32 r1 70000\ncopy lc r1\ncopy r0 lc", 65535, 0},
    {"stack, left operand first", "pshc int16 1\npshc int16 10\nsub s0 s0\ncopy r0 s0", 9, 0},
    {"s1 in place", "pshc int16 1\npshc int16 10\nsub s1 s0\ncopy r0 s0", -9, 0},
    {"s1 pushed", "pshc int16 3\npshc int16 4\ncopy s0 s1\ncopy r0 s0", 3, 0},
    {"dup", "pshc int16 3\ndup\nadd s0 s0\ncopy r0 s0", 6, 0},
    {"fp mod", "movi fp32 r0 7.5\nmovi fp32 r1 2\nmod r0 r1\nconv r0 int16", 1, 0},
    {"fp by 0", "movi fp32 r0 7.5\nmovi fp32 r1 0\ndiv r0 r1\nconv r0 int16", 0, 1},
    {"fp ashft", "movi fp32 r0 3\nmovi int8 r1 4\nashft r0 r1\nconv r0 int16", 48, 0},
    {"reset", "movi int16 r0 9\nreset", 0, 0},
    {"banz", "pshc int16 5\ncopy lc s0\nlabl #1\naddk r0 2\nbanz #1", 10, 0},
    {"retk", "movi int16 r0 9\nretk 62", 0, 0},
    {"retk keeps", "movi int16 r0 9\nretk 1", 9, 0},
};

static void integer_rows_give_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(int_rows); i++) {
        const tw_err_t err = run(int_rows[i].text);
        if (err != TW_OK || ctx.r[0].i != int_rows[i].r0 || ctx.errors != int_rows[i].errors) {
            fail_msg("%s: %s, r0 = %lld, errors %u", int_rows[i].why, tw_err_name(err), (long long)ctx.r[0].i,
                     ctx.errors);
        }
    }
}

static const struct {
    const char *text;
    bool flag;
} flag_rows[] = {
    {"movi fp32 r0 0x7FC00000\nequ r0 r0", false},
    {"movi fp32 r0 0x7FC00000\nneq r0 r0", true},
    {"movi fp32 r0 0x7FC00000\nlte r0 r1", false},
    {"movi int8 r0 -5\nltk r0 -4", true},
    {"movi uint8 r0 200\ngtk r0 127", true},
    {"movi fp32 r0 -128\neqk r0 -128", true},
    {"movi int8 r0 6\nbit0 r0 0", true},
    {"movi int8 r0 6\nbit1 r0 1", true},
    {"movi int8 r0 6\nbit1 r0 9", false},
    {"movi int8 r0 6\nmovi int8 r1 1\ntst r0 r1", false},
    {"movi int8 r0 3\nmovi int8 r1 1\nmovi int8 r2 3\ninr r0 r1", true},
    {"movi int8 r0 4\nmovi int8 r1 1\nmovi int8 r2 3\ninr r0 r1", false},
    {"negt", false},
    {"negt\nandt zero\nnegt", true},
    {"movi int8 r0 1\nnegt\nort r0", true},
    {"andt r0", false},
};

static void tests_set_t(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(flag_rows); i++) {
        assert_int_equal(run(flag_rows[i].text), TW_OK);
        if (ctx.flag != flag_rows[i].flag) {
            fail_msg("%s: T = %u", flag_rows[i].text, ctx.flag);
        }
    }
}

/* ---- T at entry ---- */

static const char *const conditional[] = {
    "cjmp #1\nret\nlabl #1\nmovi int8 r5 1",
    "cjmpr 1\nret\nmovi int8 r5 1",
    "ccall #1\nret\nlabl #1\nmovi int8 r5 1",
    "movi int8 r1 1\nccopy r5 r1",
};

static void conditional_forms_obey_t_at_entry(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(conditional); i++) {
        for (unsigned flag = 0; flag < 2; flag++) {
            assert_int_equal(run_over(conditional[i], flag != 0, NULL, 0), TW_OK);
            if (ctx.r[5].i != (int64_t)flag) {
                fail_msg("%s with T = %u", conditional[i], flag);
            }
        }
    }
    for (unsigned flag = 0; flag < 2; flag++) {
        assert_int_equal(run_over("ccallsys 1", flag != 0, NULL, 0), TW_OK);
        assert_int_equal(world.syscalls, flag);
        assert_int_equal(run_over("ccallapp 7", flag != 0, NULL, 0), TW_OK);
        assert_int_equal(world.apps, flag);
    }
}

static void cals_is_taken_whatever_t_is(void **state)
{
    (void)state;
    assert_int_equal(run_over("cals time", false, NULL, 0), TW_OK);
    assert_int_equal(world.syscalls, 1);
    assert_int_equal(world.k, 9);
    assert_int_equal(ctx.r[1].i, 77);
    assert_int_equal(ctx.flag, 1);
}

static void arguments_arrive_in_the_first_registers(void **state)
{
    (void)state;
    static image_t im;
    static const int64_t args[] = {-7, 1234567890123};
    build(&im, "ret");
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, args, 2, true, 0), TW_OK);
    assert_int_equal(tw_script_reg_int(&ctx, 0), -7);
    assert_true(ctx.r[1].i == 1234567890123);
    assert_int_equal(ctx.rt[1], TW_T_I64);
    assert_int_equal(ctx.rt[2], TW_T_I32);
    assert_int_equal(ctx.r[2].i, 0);
}

/* ---- system calls ---- */

static void seed_examples_run_with_two_registers_and_no_buffer(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "pshc int8 1\ngtr\ncjmp #1\npshc int16 5\ncals readparam\nlabl #1\nret");
    im.s.regs = im.s.ptrs = 2;
    im.s.stack = 12;
    must_verify(&im.s);
    memset(&world, 0, sizeof world);
    const int64_t phase = 2;
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, &phase, 1, true, 0), TW_OK);
    assert_int_equal(world.k, 32);
    assert_int_equal(world.popped, 5);
    assert_false(world.window);
    assert_int_equal(ctx.flag, 0);
    assert_int_equal(ctx.r[0].i, 4);
    assert_int_equal(ctx.sp, 0);
}

static uint32_t greedy_syscall(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)k;
    int64_t v;
    while (tw_script_pop_int(s, &v)) {}
    return 0;
}

static void a_host_that_pops_too_much_changes_no_depth(void **state)
{
    (void)state;
    static image_t im;
    static const tw_script_host_t greedy = {.syscall = greedy_syscall};
    build(&im, "pshc int8 7\ncallsys time\ncopy r1 s0\nret");
    must_verify(&im.s);
    assert_int_equal(tw_script_run(&im.s, &greedy, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.r[1].i, 7);
}

static void a_missing_callback_is_a_status_not_a_fault(void **state)
{
    (void)state;
    static image_t im;
    static const tw_script_host_t nothing = {0};
    build(&im, "callapp 1\nbrk 3\nret");
    assert_int_equal(tw_script_run(&im.s, &nothing, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.flag, 0);
    assert_true(ctx.r[0].i != 0);
}

static void brk_reaches_the_debugger(void **state)
{
    (void)state;
    assert_int_equal(run("brk 200"), TW_OK);
    assert_int_equal(world.breaks, 200);
}

/* ---- pointers ---- */

static const struct {
    const char *why, *text;
    int64_t r0;
} pointer_rows[] = {
    {"memory is int32", "load r0 *p5", 0x03020100},
    {"element type", "ptype p5 uint8\nmovi int8 r1 9\npbase p5 r1\nload r0 *p5", 9},
    {"unaligned", "ptype p5 uint16\nload r0 *p5+\nload r0 *p5", 0x0302},
    {"sign", "movi int32 r1 -2\nstore *p5 r1\nptype p5 int8\nload r0 *p5", -2},
    {"store converts to the element", "ptype p5 int8\nmovi int32 r1 300\nstore *p5 r1\nload r0 *p5", 127},
    {"float element", "ptype p5 fp32\nmovi fp64 r1 2.5\nstore *p5 r1\nload r0 *p5\nadd r0 r0\nconv r0 int8", 5},
    {"half element", "ptype p5 fp16\nmovi fp64 r1 2.5\nstore *p5 r1\nptype p5 uint16\nload r0 *p5", 0x4100},
    {"padd back and forth", "movi int8 r1 -3\nmovi int8 r2 4\npadd p5 r1\npadd p5 r2\nload r0 *p5", 0x07060504},
    {"pmod wraps", "movi int8 r1 5\npmod p5 r1\nload r0 *p5", 0x07060504},
    {"pmod wraps below", "movi int8 r1 -1\npmod p5 r1\nplen p5 r0", 1},
    {"addm wraps a pointer", "movi int8 r1 6\naddm p5 r1\nplen p5 r0", 2},
    {"subm wraps a pointer", "movi int8 r1 1\nsubm p5 r1\nplen p5 r0", 1},
    {"plen", "plen p5 r0", 4},
    {"psize shrinks", "movi int8 r1 2\npsize p5 r1\nplen p5 r0", 2},
    {"psize does not grow", "movi int32 r1 100\npsize p5 r1\nplen p5 r0", 4},
    {"pointer copies are apart", "copy p0 p5\nload r0 *p0+\nload r0 *p5", 0x03020100},
    {"pointer swap", "ptype p5 uint8\nswap p0 p5\nload r0 *p0+\nload r0 *p0", 1},
    {"constants", "psha #1\ncopy p0 s0\nload r0 *p0+\nload r1 *p0\nadd r0 r1\nret\nlabl #1\n2 i16; 1000 -1", 999},
    {"constants end", "psha #1\ncopy p0 s0\nplen p0 r0\nret\nlabl #1\n3 i16; 1 2 3\n", 3},
    {"addm consumes no stack for pointers", "pshc int8 9\nmovi int8 r1 1\naddm p5 r1\ncopy r0 s0", 9},
};

static void fresh(uint8_t *mem, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        mem[i] = (uint8_t)i;
    }
}

static void pointers_see_their_window(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(pointer_rows); i++) {
        uint8_t *const mem = malloc(16);
        fresh(mem, 16);
        const tw_err_t err = run_over(pointer_rows[i].text, true, mem, 16);
        free(mem);
        if (err != TW_OK || ctx.r[0].i != pointer_rows[i].r0) {
            fail_msg("%s: %s, r0 = %lld", pointer_rows[i].why, tw_err_name(err), (long long)ctx.r[0].i);
        }
    }
}

static const struct {
    const char *why, *text;
    tw_err_t err;
    uint32_t pc;
} faults[] = {
    {"one element beyond", "movi int8 r1 4\npbase p5 r1\nload r0 *p5", TW_E_SCR_FAULT, 6},
    {"element across the end", "ptype p5 int64\nmovi int8 r1 2\npbase p5 r1\nload r0 *p5", TW_E_SCR_FAULT, 8},
    {"before the start", "movi int8 r1 -1\npadd p5 r1\nstore *p5 r0", TW_E_SCR_FAULT, 6},
    {"negative base", "movi int8 r1 -1\npbase p5 r1\nstore *p5 r0", TW_E_SCR_FAULT, 6},
    {"offset times size beyond 32 bits", "movi uint32 r1 0x40000000\npbase p5 r1\nload r0 *p5", TW_E_SCR_FAULT, 8},
    {"shrunk to nothing", "psize p5 zero\nload r0 *p5", TW_E_SCR_FAULT, 2},
    {"runs past in a loop", "labl #1\nload r0 *p5+\njmp #1", TW_E_SCR_FAULT, 2},
    {"budget", "nop\nlabl #1\ninc r0\njmp #1", TW_E_SCR_BUDGET, 2},
    {"script that is not there", "nop\ncallscript 1", TW_E_SCR_FAULT, 2},
};

static void a_fault_names_its_instruction_and_touches_nothing_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(faults); i++) {
        uint8_t *const mem = malloc(16);
        fresh(mem, 16);
        const tw_err_t err = run_over(faults[i].text, true, mem, 16);
        for (unsigned k = 0; k < 16; k++) {
            assert_int_equal(mem[k], k);
        }
        free(mem);
        if (err != faults[i].err || ctx.pc != faults[i].pc) {
            fail_msg("%s: %s at %u", faults[i].why, tw_err_name(err), ctx.pc);
        }
    }
    assert_int_equal(run("movi int8 r0 3"), TW_OK); /* the context is as good as new */
    assert_int_equal(ctx.r[0].i, 3);
}

static void the_budget_is_the_number_of_instructions(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "labl #1\njmp #1");
    const struct {
        uint32_t own, asked, used;
    } rows[] = {{0, 0, TW_SCRIPT_BUDGET}, {512, 0, 512}, {512, 10, 10}, {0, 0xFFFFFFFF, TW_SCRIPT_BUDGET_MAX}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        im.s.budget = rows[i].own;
        assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, rows[i].asked), TW_E_SCR_BUDGET);
        assert_int_equal(ctx.used, rows[i].used);
    }
}

/* ---- calls ---- */

static void a_routine_returns_its_result_and_drops_the_rest(void **state)
{
    (void)state;
    assert_int_equal(
        run("pshc int8 1\ncall #1\nadd s0 s0\ncopy r0 s0\nret\nlabl #1\npshc int8 8\npshc int8 9\nretp s0"), TW_OK);
    assert_int_equal(ctx.r[0].i, 10);
    assert_int_equal(run("pshc int8 1\ncall #1\ncopy r0 s0\nret\nlabl #1\npshc int8 8\npshc int8 9\nret"), TW_OK);
    assert_int_equal(ctx.r[0].i, 1);
}

static void a_called_script_shares_registers_but_no_pointers(void **state)
{
    (void)state;
    static image_t caller;
    static image_t callee;
    uint8_t a[4] = {1, 0, 0, 0};
    uint8_t b[4] = {2, 0, 0, 0};
    build(&callee, "load r1 *p1\nadd r2 r1\npsht\nretp r1");
    callee.s.ptrs = 2;
    callee.s.mem = b;
    callee.s.mem_bytes = 4;
    build(&caller, "movi int8 r2 40\ncallscript 1\nload r0 *p5\nret");
    caller.s.mem = a;
    caller.s.mem_bytes = 4;
    must_verify(&callee.s);
    must_verify(&caller.s);
    world.script = &callee.s;
    assert_int_equal(tw_script_run(&caller.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.r[0].i, 1);
    assert_int_equal(ctx.r[1].i, 2);
    assert_int_equal(ctx.r[2].i, 42);
    assert_int_equal(ctx.sp, 0);
}

static void a_chain_of_scripts_ends_at_the_return_depth(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "inc r0\ncallscript 1\nret");
    world.script = &im.s; /* what the loader's cycle check would refuse */
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_E_SCR_STACK);
    assert_int_equal(ctx.r[0].i, TW_SCRIPT_CALL_DEPTH + 1);
}

static void an_index_given_serves_like_one_built(void **state)
{
    (void)state;
    static image_t im;
    uint16_t labels[TW_SCRIPT_LABELS];
    build(&im, "jmp #5\nmovi int8 r0 1\nret\nlabl #5\nmovi int8 r0 2\nret");
    tw_script_index(&im.s, labels);
    assert_int_equal(labels[5], 8);
    assert_int_equal(labels[4], TW_SCRIPT_NO_LABEL);
    im.s.labels = labels;
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.r[0].i, 2);
}

/* ---- random programs ---- */

static uint16_t random_operands(uint64_t *seed)
{
    static const uint8_t codes[] = {0, 1, 2, 3, 0, 1, 2, 3, 12, 13, 14, 15};
    return (uint16_t)(codes[next_random(seed) % TW_COUNT(codes)] << 4 | codes[next_random(seed) % TW_COUNT(codes)]);
}

static uint16_t random_word(uint64_t *seed)
{
    static const uint16_t stack[] = {0xC200, 0xC400, 0x10E0, 0x100E, 0xD1FE, 0x2E00, 0x106E, 0x0801, 0x0320};
    static const uint16_t control[] = {0x0001, 0x0081, 0x0002, 0x0082, 0x0602, 0x0203, 0x0283, 0x0181,
                                       0x0309, 0x0489, 0xC000, 0xC110, 0x0441, 0xCF00, 0x073F, 0xC300};
    static const uint16_t memory[] = {0x1107, 0x1907, 0x1270, 0x1A71, 0x1067, 0x1117, 0x1171, 0x11E7, 0x127E, 0xC667,
                                      0xC767, 0x3271, 0x3270, 0x3279, 0xE571, 0x1106, 0x1260, 0xC909, 0x1410};
    const uint64_t r = next_random(seed);
    switch (r % 10) {
    case 0:
        return stack[(r >> 8) % TW_COUNT(stack)];
    case 2:
        return control[(r >> 8) % TW_COUNT(control)];
    case 1:
        return memory[(r >> 8) % TW_COUNT(memory)];
    case 3:
        return (uint16_t)(0x1000 | ((r >> 8) % 2) << 10 | random_operands(seed));
    case 4:
        return (uint16_t)(0x3000 | ((r >> 8) % 6) << 8 | 0x60 | (r >> 16 & 0x13));
    case 5:
        return (uint16_t)(0x4000 + ((r >> 8) % 6) * 0x1000 + ((r >> 16) % 4) * 0x100 + (r >> 32 & 255));
    default:
        return (uint16_t)(0xC600 + ((r >> 8) % 0x2A) * 0x100 + random_operands(seed));
    }
}

/* Words, three labels somewhere, a ret; two constants with label 1 in the pool's place of label 4. */
static void random_program(image_t *im, uint64_t *seed)
{
    static const uint8_t pool[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, TW_T_I16, 0, 0, 1, 0};
    const unsigned n = 2 + (unsigned)(next_random(seed) % 20);
    uint8_t *p = im->bytes;
    const bool with_pool = next_random(seed) % 2 != 0;
    unsigned label = with_pool ? 2 : 1;
    for (unsigned i = 0; i < n; i++, p += 2) {
        if (label < 4 && next_random(seed) % 6 == 0) {
            tw_put_le16(p, (uint16_t)(0x0500 | label++));
            continue;
        }
        const uint16_t w = random_word(seed);
        tw_put_le16(p, w);
        if (w == 0x2E00) {
            p += 2;
            tw_put_le16(p, (uint16_t)(next_random(seed) & 255));
        }
    }
    for (; label < 4; label++, p += 2) {
        tw_put_le16(p, (uint16_t)(0x0500 | label));
    }
    tw_put_le16(p, 0xC000);
    const uint32_t bytes = (uint32_t)(p + 2 - im->bytes);
    memcpy(im->bytes + tw_round_up(bytes, 4), pool, sizeof pool);
    im->s = (tw_script_t){.code = im->bytes,
                          .code_bytes = bytes,
                          .pool_bytes = with_pool ? sizeof pool : 0,
                          .regs = 4,
                          .ptrs = 2,
                          .stack = 6};
}

/* A verified script may step out of a window that it has, and its callee may be absent; nothing else goes wrong. */
static bool excused(const image_t *im, tw_err_t err)
{
    const uint16_t w = tw_get_le16(im->bytes + ctx.pc);
    const unsigned high = w >> 8;
    const bool store = high == 0x12 || high == 0x1A;
    if (err != TW_E_SCR_FAULT) {
        return err == TW_OK || err == TW_E_SCR_BUDGET;
    }
    if (!store && high != 0x11 && high != 0x19) {
        return (w & 0xFF40) == 0x0440;
    }
    const tw_sptr_t *const p = &ctx.p[(store ? w >> 4 & 15 : w & 15) - 6];
    return p->space != 0 && !(store && p->space == 2);
}

/* Run an accepted program. One that calls another script may miss a window there as well. */
static tw_err_t run_accepted(const image_t *im, unsigned i, bool calls, int64_t r0)
{
    const int64_t args[2] = {r0, i % 7};
    const uint32_t budget = 100 + i % 300;
    const tw_err_t err = tw_script_run(&im->s, &host, &ctx, args, 2, i & 2, budget);
    const bool fine = calls ? err != TW_E_SCR_STACK : excused(im, err) && ctx.sp <= im->s.stack;
    if (!fine || ctx.used > budget || ctx.sp > 2 * im->s.stack) {
        fail_msg("program %u: %s at %u, %u used, depth %u", i, tw_err_name(err), ctx.pc, ctx.used, ctx.sp);
    }
    return err;
}

static void accepted_programs_never_fail_but_by_budget_or_window(void **state)
{
    (void)state;
    static image_t im;
    static image_t callee;
    static uint8_t callee_memory[24];
    uint64_t seed = 0x9E3779B97F4A7C15u;
    unsigned accepted = 0;
    unsigned completed = 0;
    for (unsigned i = 0; i < 1000000; i++) {
        tw_fault_t f;
        uint64_t calls = 0;
        random_program(&im, &seed);
        im.s.mem = malloc(24); /* exactly, so that the sanitizer sees one byte too far */
        im.s.mem_bytes = 24;
        memset(im.s.mem, 0, 24);
        im.s.shared = i & 1;
        if (tw_script_verify(&im.s, false, &calls, &f) == TW_OK) {
            accepted++;
            completed += run_accepted(&im, i, calls != 0, (int64_t)next_random(&seed)) == TW_OK;
            if (calls == 0) {
                callee = im;
                callee.s.code = callee.bytes;
                callee.s.mem = callee_memory;
                world.script = &callee.s;
            }
        }
        free(im.s.mem);
    }
    print_message("%u accepted, %u ran to their end\n", accepted, completed);
    assert_true(accepted > 10000);
    assert_true(completed > 5000);
}

/* The same call in portions, with a memory of its own. @return how it ended */
static tw_err_t run_in_portions(const image_t *im, tw_script_ctx_t *c, uint8_t mem[24], uint32_t portion)
{
    tw_script_t s = im->s;
    tw_err_t err = TW_E_SCR_HELD;
    s.mem = mem;
    tw_script_begin(c, &s, &host, NULL, 0, true, 300);
    while (err == TW_E_SCR_HELD) {
        const uint32_t before = c->used;
        err = tw_script_go(c, portion);
        assert_true(portion == 0 || c->used <= before + portion);
    }
    assert_int_equal(tw_script_go(c, 0), err); /* what ended stays ended */
    return err;
}

static void a_call_in_portions_ends_as_one_without(void **state)
{
    (void)state;
    static image_t im;
    static tw_script_ctx_t parts;
    uint64_t seed = 77;
    memset(&world, 0, sizeof world);
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t mem[2][24] = {{0}};
        tw_fault_t f;
        random_program(&im, &seed);
        im.s.mem_bytes = 24;
        if (tw_script_verify(&im.s, false, NULL, &f) != TW_OK) {
            continue;
        }
        const tw_err_t err = run_in_portions(&im, &ctx, mem[0], 0);
        assert_int_equal(run_in_portions(&im, &parts, mem[1], 1 + i % 3), err);
        assert_int_equal(parts.used, ctx.used);
        assert_int_equal(parts.sp, ctx.sp);
        assert_int_equal(parts.flag, ctx.flag);
        assert_memory_equal(parts.r, ctx.r, sizeof ctx.r);
        assert_memory_equal(parts.rt, ctx.rt, sizeof ctx.rt);
        assert_memory_equal(parts.stack, ctx.stack, ctx.sp * sizeof ctx.stack[0]);
        assert_memory_equal(mem[0], mem[1], sizeof mem[0]);
    }
}

static void brk_holds_when_the_debugger_says_so(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "movi int32 r1 1\nbrk 3\ninc r1\nret\n");
    must_verify(&im.s);
    memset(&world, 0, sizeof world);
    world.hold = true;
    tw_script_begin(&ctx, &im.s, &host, NULL, 0, true, 0);
    assert_int_equal(tw_script_go(&ctx, 0), TW_E_SCR_HELD);
    assert_int_equal(world.breaks, 3);
    assert_int_equal(ctx.pc, 8); /* the inc */
    assert_int_equal(tw_script_reg_int(&ctx, 1), 1);
    assert_int_equal(tw_script_go(&ctx, 0), TW_OK);
    assert_int_equal(tw_script_reg_int(&ctx, 1), 2);
}

static void even_unverified_bytes_only_fail(void **state)
{
    (void)state;
    uint64_t seed = 12345;
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t bytes = 2 + 2 * (uint32_t)(next_random(&seed) % 40);
        uint8_t *const code = malloc(bytes);
        uint8_t mem[8] = {0};
        for (unsigned k = 0; k < bytes; k++) {
            code[k] = (uint8_t)next_random(&seed);
        }
        const tw_script_t s = {
            .code = code, .code_bytes = bytes, .regs = 6, .ptrs = 6, .stack = 64, .mem = mem, .mem_bytes = sizeof mem};
        const tw_err_t err = tw_script_run(&s, &host, &ctx, NULL, 0, true, 500);
        assert_true(err == TW_OK || err == TW_E_SCR_BUDGET || err == TW_E_SCR_FAULT || err == TW_E_SCR_STACK);
        assert_true(ctx.used <= 500 && ctx.sp <= TW_SCRIPT_STACK_MAX);
        free(code);
    }
}

static int no_script(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_saturate_or_wrap_as_their_type_says),
        cmocka_unit_test(mixed_comparisons_are_exact),
        cmocka_unit_test(single_precision_is_the_machine_s_own),
        cmocka_unit_test(square_roots_are_correctly_rounded),
        cmocka_unit_test(integer_rows_give_what_they_say),
        cmocka_unit_test(tests_set_t),
        cmocka_unit_test(conditional_forms_obey_t_at_entry),
        cmocka_unit_test(cals_is_taken_whatever_t_is),
        cmocka_unit_test(arguments_arrive_in_the_first_registers),
        cmocka_unit_test(seed_examples_run_with_two_registers_and_no_buffer),
        cmocka_unit_test(a_host_that_pops_too_much_changes_no_depth),
        cmocka_unit_test(a_missing_callback_is_a_status_not_a_fault),
        cmocka_unit_test(brk_reaches_the_debugger),
        cmocka_unit_test(pointers_see_their_window),
        cmocka_unit_test(a_fault_names_its_instruction_and_touches_nothing_outside),
        cmocka_unit_test(the_budget_is_the_number_of_instructions),
        cmocka_unit_test(a_routine_returns_its_result_and_drops_the_rest),
        cmocka_unit_test(a_called_script_shares_registers_but_no_pointers),
        cmocka_unit_test(a_chain_of_scripts_ends_at_the_return_depth),
        cmocka_unit_test(an_index_given_serves_like_one_built),
        cmocka_unit_test_setup(accepted_programs_never_fail_but_by_budget_or_window, no_script),
        cmocka_unit_test_setup(a_call_in_portions_ends_as_one_without, no_script),
        cmocka_unit_test_setup(brk_holds_when_the_debugger_says_so, no_script),
        cmocka_unit_test_setup(even_unverified_bytes_only_fail, no_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
