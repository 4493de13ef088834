/* Arithmetic of scripts against oracles of wide integers and of the machine the test runs on. */
#include "tests/unit/machine_rig.h"

typedef __int128 wide_t;
typedef unsigned __int128 uwide_t;

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
    {"ashft by a huge uint64", "movi fp32 r0 1\nmovi uint64 r1 0xFFFFFFFFFFFFFFFF\nashft r0 r1\ncast r0 uint32",
     0x5F000000, 0},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_saturate_or_wrap_as_their_type_says),
        cmocka_unit_test(mixed_comparisons_are_exact),
        cmocka_unit_test(single_precision_is_the_machine_s_own),
        cmocka_unit_test(square_roots_are_correctly_rounded),
        cmocka_unit_test(integer_rows_give_what_they_say),
        cmocka_unit_test(tests_set_t),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
