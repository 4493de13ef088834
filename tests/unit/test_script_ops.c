/* Each operation on floats, for each of their types, against the steps docs/SCRIPT_ISA.md gives, written down in C. */
#include "tests/unit/machine_rig.h"

typedef enum op {
    ADD,
    SUB,
    RSB,
    MUL,
    DIV,
    RDIV,
    MOD,
    MIN,
    MAX,
    AMIN,
    AMAX,
    SQRA,
    ASHFT,
    NEG,
    ABS,
    SQRT,
    NORM,
    ADDM,
    SUBM,
    LERP,
    OPS
} op_t;
static const char *const names[OPS] = {"add",  "sub",  "rsb",   "mul", "div", "rdiv", "mod",  "min",  "max",  "amin",
                                       "amax", "sqra", "ashft", "neg", "abs", "sqrt", "norm", "addm", "subm", "lerp"};

/* The page's table, once for float and once for double; `narrow` is the last rounding of addm and subm. */
#define ORACLE(F, name, abs_of, sqrt_of, scaled)                                      \
    static F name##_mod(F x, F y)                                                     \
    {                                                                                 \
        const F q = x / y;                                                            \
        if (!(q < (F)2147483648.0) || (double)q <= -2147483649.0) {                   \
            return 0;                                                                 \
        }                                                                             \
        const volatile F product = (F)(int32_t)q * y;                                 \
        return (int32_t)q == 0 ? x : x - product;                                     \
    }                                                                                 \
    static F name##_wrap(F t, F m, F (*narrow)(F), bool *bad)                         \
    {                                                                                 \
        *bad = !(m > 0);                                                              \
        F r = *bad ? 0 : name##_mod(t, m);                                            \
        r = narrow(r < 0 ? r + m : r);                                                \
        return !*bad && r < m ? r : 0;                                                \
    }                                                                                 \
    static F name(op_t op, F x, F y, F k, F (*narrow)(F), bool *bad)                  \
    {                                                                                 \
        volatile F part;                                                              \
        switch (op) {                                                                 \
        case ADD:                                                                     \
            return x + y;                                                             \
        case SUB:                                                                     \
            return x - y;                                                             \
        case RSB:                                                                     \
            return y - x;                                                             \
        case MUL:                                                                     \
            return x * y;                                                             \
        case DIV:                                                                     \
            *bad = y == 0;                                                            \
            return *bad ? 0 : x / y;                                                  \
        case RDIV:                                                                    \
            *bad = x == 0;                                                            \
            return *bad ? 0 : y / x;                                                  \
        case MOD:                                                                     \
            *bad = y == 0;                                                            \
            return *bad ? 0 : name##_mod(x, y);                                       \
        case MIN:                                                                     \
            return y < x ? y : x;                                                     \
        case MAX:                                                                     \
            return y > x ? y : x;                                                     \
        case AMIN:                                                                    \
            return abs_of(y) < abs_of(x) ? abs_of(y) : abs_of(x);                     \
        case AMAX:                                                                    \
            return abs_of(y) > abs_of(x) ? abs_of(y) : abs_of(x);                     \
        case SQRA:                                                                    \
            part = y * y;                                                             \
            return x + part;                                                          \
        case ASHFT:                                                                   \
            return scaled(x, !(y < 63) ? (y != y ? 0 : 63) : y > -63 ? (int)y : -63); \
        case NEG:                                                                     \
            return -y;                                                                \
        case ABS:                                                                     \
            return abs_of(y);                                                         \
        case SQRT:                                                                    \
            return y > 0 ? sqrt_of(y) : 0;                                            \
        case ADDM:                                                                    \
            return name##_wrap(x + y, k, narrow, bad);                                \
        case SUBM:                                                                    \
            return name##_wrap(x - y, k, narrow, bad);                                \
        case LERP:                                                                    \
            part = y - x;                                                             \
            part = part * k;                                                          \
            return x + part;                                                          \
        default:                                                                      \
            return 0;                                                                 \
        }                                                                             \
    }
ORACLE(float, in_single, fabsf, sqrtf, ldexpf)
ORACLE(double, in_double, fabs, sqrt, ldexp)

static float same_single(float x)
{
    return x;
}

static double same_double(double x)
{
    return x;
}

/* To the nearest half, ties to even, by the spacing of halves at x. */
static float to_half(float x)
{
    if (!(fabsf(x) < 65520.0f)) {
        return x != x ? x : copysignf(HUGE_VALF, x);
    }
    int e = 0;
    (void)frexpf(x, &e);
    const int unit = e < -13 ? -24 : e - 11;
    return copysignf(ldexpf(nearbyintf(ldexpf(x, -unit)), unit), x);
}

static float half_value(uint16_t h)
{
    const int e = h >> 10 & 31;
    const float m = (float)(h & 1023);
    const float size = e == 31 ? (m != 0.0f ? NAN : HUGE_VALF) : e == 0 ? ldexpf(m, -24) : ldexpf(1024.0f + m, e - 25);
    return copysignf(size, (h & 0x8000) != 0 ? -1.0f : 1.0f);
}

static const uint16_t halves[] = {0x0000, 0x8000, 0x3C00, 0xBC00, 0x3C01, 0x4248, 0xC500, 0x0001, 0x83FF,
                                  0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x2E66, 0x5640, 0x3800};
static const float singles[] = {0.0f,   -0.0f,      1.0f,  -1.0f,  1.0000001f, 3.14159f,    -5.0f,
                                1e-45f, 1e-38f,     3e38f, -3e38f, HUGE_VALF,  -HUGE_VALF,  NAN,
                                0.1f,   16777216.f, 1e10f, 0.5f,   2e-20f,     2147483648.f};
static const double doubles[] = {0.0,    -0.0,  1.0,    -1.0,        1.0000000000000002, 3.14159, -5.0, 5e-324,
                                 1e-308, 1e308, -1e308, HUGE_VAL,    -HUGE_VAL,          NAN,     0.1,  1e17,
                                 1e10,   0.5,   2e-200, 4294967296.0};

static uint64_t image_of(unsigned t, unsigned i)
{
    uint64_t u = 0;
    if (t == TW_T_FP16) {
        return halves[i % TW_COUNT(halves)];
    }
    if (t == TW_T_FP32) {
        memcpy(&u, &singles[i % TW_COUNT(singles)], 4);
    } else {
        memcpy(&u, &doubles[i % TW_COUNT(doubles)], 8);
    }
    return u;
}

static float single_of(unsigned t, uint64_t u)
{
    const uint32_t w = (uint32_t)u;
    float f;
    memcpy(&f, &w, sizeof f);
    return t == TW_T_FP16 ? half_value((uint16_t)u) : f;
}

/* pshc k, then the program of the rig: its literals, the operation, ret. */
static void run_op(op_t op, unsigned t, uint64_t x, uint64_t y, uint64_t k)
{
    static image_t im;
    static image_t whole;
    char text[64];
    snprintf(text, sizeof text, "pshc %s 0x%llx",
             t == TW_T_FP16   ? "fp16"
             : t == TW_T_FP32 ? "fp32"
                              : "fp64",
             (unsigned long long)k);
    load_literals(&im, op_word(names[op]), t, x, t, y);
    build(&whole, text);
    const uint32_t head = whole.s.code_bytes - 2; /* without the ret the assembler adds */
    memcpy(whole.bytes + head, im.bytes, im.s.code_bytes);
    whole.s.code_bytes = head + im.s.code_bytes;
    must_verify(&whole.s);
    assert_int_equal(tw_script_run(&whole.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
}

static void check(op_t op, unsigned t, uint64_t x, uint64_t y, uint64_t k)
{
    bool bad = false;
    bool right;
    double got;
    double want;
    run_op(op, t, x, y, k);
    if (t == TW_T_FP64) {
        double v[3];
        memcpy(&v[0], &x, 8);
        memcpy(&v[1], &y, 8);
        memcpy(&v[2], &k, 8);
        want = in_double(op, v[0], v[1], v[2], same_double, &bad);
        got = ctx.r[0].f;
    } else {
        const bool half = t == TW_T_FP16;
        const float r =
            in_single(op, single_of(t, x), single_of(t, y), single_of(t, k), half ? to_half : same_single, &bad);
        want = (double)(half ? to_half(r) : r);
        got = (double)ctx.r[0].s;
    }
    right = (want != want && got != got) || (want == got && signbit(want) == signbit(got));
    if (ctx.rt[0] != t || !right || (ctx.errors & 1) != bad) {
        fail_msg("%s, type %u: %llx %llx %llx gives %a, not %a; errors %u", names[op], t, (unsigned long long)x,
                 (unsigned long long)y, (unsigned long long)k, got, want, ctx.errors);
    }
}

static void each_operation_rounds_as_the_page_says_in_each_float_type(void **state)
{
    (void)state;
    for (op_t op = 0; op < OPS; op++) {
        for (unsigned t = TW_T_FP16; t <= TW_T_FP64; t++) {
            const unsigned n = t == TW_T_FP16 ? TW_COUNT(halves) : TW_COUNT(singles);
            for (unsigned i = 0; i < n * n; i++) {
                check(op, t, image_of(t, i / n), image_of(t, i % n), image_of(t, i / 3 + 2));
            }
        }
    }
}

static void random_floats_agree_as_well(void **state)
{
    (void)state;
    uint64_t seed = 424242;
    for (unsigned i = 0; i < 30000; i++) {
        const unsigned t = TW_T_FP16 + i % 3;
        const uint64_t mask = t == TW_T_FP64 ? UINT64_MAX : t == TW_T_FP32 ? 0xFFFFFFFFu : 0xFFFFu;
        const uint64_t near = t == TW_T_FP64 ? 0x3FF0000000000000u : t == TW_T_FP32 ? 0x3F800000u : 0x3C00u;
        const uint64_t small = mask >> (t == TW_T_FP64 ? 9 : t == TW_T_FP32 ? 6 : 4);
        uint64_t v[3];
        for (unsigned j = 0; j < 3; j++) {
            const uint64_t r = next_random(&seed);
            v[j] = r % 4 == 0 ? r >> 8 & mask : near + (r >> 8 & small);
        }
        check((op_t)(i / 3 % OPS), t, v[0], v[1], v[2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_rounds_as_the_page_says_in_each_float_type),
        cmocka_unit_test(random_floats_agree_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
