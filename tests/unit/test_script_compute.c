/* Functions of `compute`: every row of script_compute.def against plain arithmetic, and every refusal. */
#include "tests/support/script_rig.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static script_rig_t r;

/* p0 = window of r3 elements of type `types[r4]` from byte 0, p1 the same from byte 512; r0, r1, r2 are the caller's.
 */
static const char *const call_i16 =
    "copy p0 p5\nptype p0 int16\ncopy p1 p5\nptype p1 int16\npbase p1 r3\ncallsys 6\nret\n";
static const char *const call_i64 =
    "copy p0 p5\nptype p0 int64\ncopy p1 p5\nptype p1 int64\npbase p1 r3\ncallsys 6\nret\n";
static const char *const call_f32 = "copy p0 p5\nptype p0 fp32\ncopy p1 p5\nptype p1 fp32\npbase p1 r3\nconv r1 fp32\n"
                                    "movi fp32 r4 1000\ndiv r1 r4\nconv r2 fp32\ncallsys 6\nret\n";
static const char *const call_mixed =
    "copy p0 p5\nptype p0 fp32\ncopy p1 p5\nptype p1 int16\npbase p1 r3\ncallsys 6\nret\n";
static const char *const call_ptr = "copy p0 p5\nptype p0 fp8a\ncallsys 6\nret\n";
static const char *const call_bare = "callsys 6\nret\n";
enum { I16, I64, F32, MIXED, FP8, BARE };

static void start(void)
{
    const char *const texts[] = {call_i16, call_i64, call_f32, call_mixed, call_ptr, call_bare, NULL};
    script_rig_start(&r, texts);
}

static const tw_script_ctx_t *call(uint32_t script, int64_t id, int64_t r1, int64_t r2, int64_t r3)
{
    const int64_t args[4] = {id, r1, r2, r3};
    const tw_script_ctx_t *c = script_rig_run(&r, script, args, 4);
    assert_non_null(c);
    return c;
}

static void put_i16(uint32_t script, uint32_t at, const int16_t *v, uint32_t n)
{
    memcpy(script_rig_memory(&r, script) + 2 * at, v, 2 * n);
}

static void put_f32(uint32_t script, uint32_t at, const float *v, uint32_t n)
{
    memcpy(script_rig_memory(&r, script) + 4 * at, v, 4 * n);
}

static void figures_of_integers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        int id;
        int64_t r1, n, want;
    } cases[] = {
        {"least", TW_COMPUTE_MIN, 0, 5, -32768},
        {"most", TW_COMPUTE_MAX, 0, 5, 32767},
        {"magnitude beyond the type", TW_COMPUTE_ABSMAX, 0, 5, 32768},
        {"sum", TW_COMPUTE_SUM, 0, 5, -1 + 3 + 3 - 1},
        {"place of the first of two", TW_COMPUTE_ARGMAX, 0, 5, 2},
        {"of a part", TW_COMPUTE_MAX, 0, 2, 3},
        {"dot", TW_COMPUTE_DOT, 0, 3, -1 * 2 + 3 * -3 + 32767 * 4},
        {"fir of every second", TW_COMPUTE_FIR, 2, 3, -1 * 2 + 32767 * -3 + 3 * 4},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        start();
        put_i16(I16, 0, (const int16_t[]){-1, 3, 32767, -32768, 3}, 5);
        put_i16(I16, 256, (const int16_t[]){2, -3, 4}, 3);
        const tw_script_ctx_t *c = call(I16, cases[i].id, cases[i].r1, cases[i].n, 256);
        if (tw_script_reg_int(c, 0) != 0 || c->flag == 0 || tw_script_reg_int(c, 1) != cases[i].want) {
            fail_msg("%s: status %d, %lld", cases[i].why, (int)tw_script_reg_int(c, 0),
                     (long long)tw_script_reg_int(c, 1));
        }
    }
}

static void long_integers_do_not_pass_through_a_double(void **state)
{
    (void)state;
    const int64_t v[3] = {INT64_MAX, INT64_MAX - 1, INT64_MIN + 1};
    start();
    memcpy(script_rig_memory(&r, I64), v, sizeof v);
    assert_true(tw_script_reg_int(call(I64, TW_COMPUTE_MAX, 0, 3, 64), 1) == INT64_MAX);
    assert_true(tw_script_reg_int(call(I64, TW_COMPUTE_MIN, 0, 2, 64), 1) == INT64_MAX - 1);
    assert_true(tw_script_reg_int(call(I64, TW_COMPUTE_ABSMAX, 0, 3, 64), 1) == INT64_MAX);
    assert_true(tw_script_reg_int(call(I64, TW_COMPUTE_SUM, 0, 3, 64), 1) == INT64_MAX - 1);
}

static void figures_of_floats_are_rounded_once(void **state)
{
    (void)state;
    static const float v[6] = {0.5f, -0.25f, NAN, 1e-8f, -3.0f, 2.0f};
    static const struct {
        const char *why;
        int id;
        int64_t n;
        double want;
    } cases[] = {
        {"NaN is passed over", TW_COMPUTE_MIN, 6, -3.0},
        {"most", TW_COMPUTE_MAX, 6, 2.0},
        {"magnitude", TW_COMPUTE_ABSMAX, 6, 3.0},
        {"place", TW_COMPUTE_ARGMAX, 6, 5},
        {"a sum keeps small terms", TW_COMPUTE_SUM, 2, (double)(float)0.25},
        {"mean", TW_COMPUTE_MEAN, 2, 0.125},
        {"rms", TW_COMPUTE_RMS, 2, (double)(float)0.39528470752104744},
        {"dot", TW_COMPUTE_DOT, 2, 0.5 * 4 + -0.25 * 8},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        start();
        put_f32(F32, 0, v, 6);
        put_f32(F32, 128, (const float[]){4, 8}, 2);
        const tw_script_ctx_t *c = call(F32, cases[i].id, 0, cases[i].n, 128);
        if (tw_script_reg_int(c, 0) != 0 || fabs(tw_script_reg_real(c, 1) - cases[i].want) > 0) {
            fail_msg("%s: %.9g, not %.9g", cases[i].why, tw_script_reg_real(c, 1), cases[i].want);
        }
    }
    put_f32(F32, 0, (const float[]){NAN, NAN}, 2);
    assert_true(isnan(tw_script_reg_real(call(F32, TW_COMPUTE_MAX, 0, 2, 128), 1)));
    assert_int_equal(tw_script_reg_int(call(F32, TW_COMPUTE_ARGMAX, 0, 2, 128), 1), -1);
}

static void a_sum_of_many_is_that_of_doubles(void **state)
{
    (void)state;
    float v[128];
    double sum = 0;
    for (unsigned i = 0; i < 128; i++) {
        v[i] = (float)sin(i) * 1000.0f;
        sum += (double)v[i];
    }
    start();
    put_f32(F32, 0, v, 128);
    assert_true(tw_script_reg_real(call(F32, TW_COMPUTE_SUM, 0, 128, 128), 1) == (double)(float)sum);
    assert_true(tw_script_reg_real(call(F32, TW_COMPUTE_MEAN, 0, 128, 128), 1) == (double)(float)(sum / 128));
}

static void crc_is_of_the_bytes_and_goes_on(void **state)
{
    (void)state;
    start();
    memcpy(script_rig_memory(&r, I16), "12345678", 8);
    const int64_t first = tw_script_reg_int(call(I16, TW_COMPUTE_CRC32C, 0, 2, 0), 1);
    memmove(script_rig_memory(&r, I16), "5678", 4);
    assert_int_equal(tw_script_reg_int(call(I16, TW_COMPUTE_CRC32C, first, 2, 0), 1), 0x6087809A);
}

static void moves_convert_as_the_machine_does(void **state)
{
    (void)state;
    int16_t to[4];
    start();
    put_f32(MIXED, 0, (const float[]){1.9f, -1.9f, 1e9f, NAN}, 4);
    assert_int_equal(tw_script_reg_int(call(MIXED, TW_COMPUTE_COPY, 0, 4, 256), 0), 0);
    memcpy(to, script_rig_memory(&r, MIXED) + 512, sizeof to);
    assert_true(to[0] == 1 && to[1] == -1 && to[2] == 32767 && to[3] == 0);
    assert_int_equal(tw_script_reg_int(call(MIXED, TW_COMPUTE_MIX, 3, 2, 256), 0), 0);
    memcpy(to, script_rig_memory(&r, MIXED) + 512, sizeof to);
    assert_true(to[0] == 6 && to[1] == -6); /* 1 + 1.9 * 3 = 6.7 */
    assert_int_equal(tw_script_reg_int(call(I16, TW_COMPUTE_FILL, 70000, 3, 0), 0), 0);
    assert_int_equal((int16_t)tw_get_le16(script_rig_memory(&r, I16) + 4), 32767);
    assert_int_equal(tw_get_le16(script_rig_memory(&r, I16) + 6), 0);
    put_i16(I16, 0, (const int16_t[]){5, -5}, 2);
    assert_int_equal(tw_script_reg_int(call(I16, TW_COMPUTE_SCALE, -3, 2, 0), 0), 0);
    assert_int_equal((int16_t)tw_get_le16(script_rig_memory(&r, I16) + 2), 15);
}

static int rising(const void *a, const void *b)
{
    return *(const int16_t *)a - *(const int16_t *)b;
}

static void sorting_equals_that_of_the_library(void **state)
{
    (void)state;
    uint32_t seed = 7;
    int16_t v[300], got[300];
    start();
    for (uint32_t n = 1; n <= 300; n += n < 20 ? 1 : 93) {
        for (uint32_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            v[i] = (int16_t)(seed >> 20);
        }
        put_i16(I16, 0, v, n);
        qsort(v, n, sizeof v[0], rising);
        assert_int_equal(tw_script_reg_int(call(I16, TW_COMPUTE_SORT, 0, n, 0), 0), 0);
        memcpy(got, script_rig_memory(&r, I16), 2 * n);
        assert_memory_equal(v, got, 2 * n);
    }
    put_f32(F32, 0, (const float[]){NAN, 2, NAN, -1, 1}, 5);
    assert_int_equal(tw_script_reg_int(call(F32, TW_COMPUTE_SORT, 0, 5, 0), 0), 0);
    float f[5];
    memcpy(f, script_rig_memory(&r, F32), sizeof f);
    assert_true(f[0] < -0.5f && f[1] > 0.5f && f[2] > 1.5f && isnan(f[3]) && isnan(f[4]));
}

/* r1 / 1000, r2 as they are, as fp32. */
static void numbers_equal_those_of_libm(void **state)
{
    (void)state;
    static const struct {
        int id;
        double x, y, want;
    } cases[] = {
        {TW_COMPUTE_LOG10, 1000, 0, 3},       {TW_COMPUTE_LOG10, 0.5, 0, -0.30102999566},
        {TW_COMPUTE_EXP10, 3, 0, 1000},       {TW_COMPUTE_EXP10, -2, 0, 0.01},
        {TW_COMPUTE_EXP10, 0.5, 0, 3.16228},  {TW_COMPUTE_DB, -0.1, 0, -20},
        {TW_COMPUTE_UNDB, -20, 0, 0.1},       {TW_COMPUTE_UNDB, 6, 0, 1.99526231497},
        {TW_COMPUTE_SIN, 0.5, 0, 0.4794255},  {TW_COMPUTE_COS, 0.5, 0, 0.8775826},
        {TW_COMPUTE_ATAN2, 1, -1, 2.3561945}, {TW_COMPUTE_SQRT, 2, 0, 1.41421356},
        {TW_COMPUTE_LOG, 10, 0, 2.302585},    {TW_COMPUTE_EXP, 1, 0, 2.7182818},
        {TW_COMPUTE_POW, 2, 10, 1024},
    };
    start();
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_script_ctx_t *c = call(F32, cases[i].id, lrint(cases[i].x * 1000), lrint(cases[i].y), 0);
        const double got = tw_script_reg_real(c, 1);
        if (tw_script_reg_int(c, 0) != 0 || fabs(got - cases[i].want) > 2e-6 * fabs(cases[i].want)) {
            fail_msg("function %d of %g: %.9g", cases[i].id, cases[i].x, got);
        }
        assert_int_equal(c->rt[1], TW_T_FP32);
    }
    assert_true(tw_script_reg_real(call(F32, TW_COMPUTE_DB, 0, 0, 0), 1) < -1e30);
    assert_true(isnan(tw_script_reg_real(call(F32, TW_COMPUTE_LOG10, -1000, 0, 0), 1)));
}

static void random_numbers_begin_anew_at_reset(void **state)
{
    (void)state;
    double first[4];
    start();
    for (unsigned i = 0; i < 4; i++) {
        first[i] = tw_script_reg_real(call(F32, TW_COMPUTE_RAND, 0, 0, 0), 1);
        assert_true(first[i] >= 0 && first[i] < 1 && (i == 0 || first[i] != first[i - 1]));
    }
    tw_graph_reset(&r.graph, true);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(tw_script_reg_real(call(F32, TW_COMPUTE_RAND, 0, 0, 0), 1) == first[i]);
    }
}

static void what_cannot_be_computed_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t script;
        int64_t id, r1, r2, r3;
        tw_err_t err;
    } cases[] = {
        {"no such function", I16, 0, 0, 1, 0, TW_E_ARG},
        {"no such function", I16, 999, 0, 1, 0, TW_E_ARG},
        {"no window", BARE, TW_COMPUTE_SUM, 0, 1, 0, TW_E_SCR_BAD_PTR},
        {"more than there is", I16, TW_COMPUTE_SUM, 0, 513, 0, TW_E_SCR_BAD_PTR},
        {"less than none", I16, TW_COMPUTE_SUM, 0, -1, 0, TW_E_SCR_BAD_PTR},
        {"a second window that is too short", I16, TW_COMPUTE_DOT, 0, 16, 500, TW_E_SCR_BAD_PTR},
        {"a stride that leaves the window", I16, TW_COMPUTE_FIR, 300, 4, 256, TW_E_SCR_BAD_PTR},
        {"no stride", I16, TW_COMPUTE_FIR, 0, 4, 256, TW_E_ARG},
        {"a copy that leaves the window", I16, TW_COMPUTE_COPY, 0, 16, 500, TW_E_SCR_BAD_PTR},
        {"fp8 is not computed with", FP8, TW_COMPUTE_SUM, 0, 4, 0, TW_E_SCR_BAD_TYPE},
    };
    start();
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_script_ctx_t *c = call(cases[i].script, cases[i].id, cases[i].r1, cases[i].r2, cases[i].r3);
        if (tw_script_reg_int(c, 0) != -cases[i].err || c->flag != 0) {
            fail_msg("%s: %d", cases[i].why, (int)tw_script_reg_int(c, 0));
        }
    }
}

/* 512 elements each time: the 32nd exhausts what one run may touch. */
static void a_run_may_touch_so_many_elements(void **state)
{
    (void)state;
    static const char *const loop = "copy p0 p5\nptype p0 int16\nmovi uint16 r3 40\ncopy lc r3\nlabl #1\n"
                                    "movi int32 r0 6\ncallsys 6\ncjmp #2\nret\nlabl #2\n"
                                    "inc r4\nbanz #1\nret\n";
    const char *const texts[] = {loop, NULL};
    script_rig_start(&r, texts);
    for (unsigned again = 0; again < 2; again++) {
        const tw_script_ctx_t *c = script_rig_run(&r, 0, NULL, 0);
        assert_non_null(c);
        assert_int_equal(tw_script_reg_int(c, 0), -TW_E_SCR_BUDGET);
        assert_int_equal(tw_script_reg_int(c, 4), TW_COMPUTE_BUDGET / 512);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_integers_are_exact),
        cmocka_unit_test(long_integers_do_not_pass_through_a_double),
        cmocka_unit_test(figures_of_floats_are_rounded_once),
        cmocka_unit_test(a_sum_of_many_is_that_of_doubles),
        cmocka_unit_test(crc_is_of_the_bytes_and_goes_on),
        cmocka_unit_test(moves_convert_as_the_machine_does),
        cmocka_unit_test(sorting_equals_that_of_the_library),
        cmocka_unit_test(numbers_equal_those_of_libm),
        cmocka_unit_test(random_numbers_begin_anew_at_reset),
        cmocka_unit_test(what_cannot_be_computed_says_why),
        cmocka_unit_test(a_run_may_touch_so_many_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
