/* Small number formats: the bounds that fixed.h promises, against the C library as the oracle. */
#include "engine/base/fixed.h"
#include "engine/base/err.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void saturation_stops_at_both_ends(void **state)
{
    (void)state;
    static const struct {
        int64_t in;
        int16_t out;
    } cases[] = {{0, 0},           {-1, -1},         {32767, 32767},     {32768, 32767},
                 {-32768, -32768}, {-32769, -32768}, {INT64_MAX, 32767}, {INT64_MIN, -32768}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        assert_int_equal(tw_sat16(cases[i].in), cases[i].out);
    }
}

static void published_gain_codes_have_their_gains(void **state)
{
    (void)state;
    assert_true(tw_fp8m4e_to_float(0x0805) == 1.0f);
    assert_true(tw_fp8m4e_to_float(0x0803) == 4.0f);
    assert_true(tw_fp8m4e_to_float(0x0807) == 0.25f);
    assert_true(tw_fp8m4e_to_float(0x0FF0) == 255.0f / 128 * 32);
    assert_true(tw_fp8m4e_to_float(0x000F) == 0.0f);
}

static void every_gain_code_survives_the_way_back(void **state)
{
    (void)state;
    for (uint16_t code = 0; code < 0x1000; code++) {
        const float gain = tw_fp8m4e_to_float(code);
        const float back = tw_fp8m4e_to_float(tw_fp8m4e_from_float(gain));
        if (back != gain) {
            fail_msg("code %03X: %g became %g", code, (double)gain, (double)back);
        }
    }
}

static void the_nearest_gain_code_is_taken(void **state)
{
    (void)state;
    for (float gain = 0.0005f; gain < 60.0f; gain *= 1.0037f) {
        const float got = tw_fp8m4e_to_float(tw_fp8m4e_from_float(gain));
        float best = 1e9f;
        for (uint16_t code = 0; code < 0x1000; code++) {
            best = fminf(best, fabsf(tw_fp8m4e_to_float(code) - gain));
        }
        if (fabsf(got - gain) > best * 1.0001f) {
            fail_msg("%g became %g, %g is possible", (double)gain, (double)got, (double)best);
        }
    }
}

static void gains_that_do_not_fit_saturate(void **state)
{
    (void)state;
    assert_int_equal(tw_fp8m4e_from_float(1e9f), 0x0FF0);
    assert_int_equal(tw_fp8m4e_from_float(INFINITY), 0x0FF0);
    assert_true(tw_fp8m4e_to_float(tw_fp8m4e_from_float(0.0f)) == 0.0f);
    assert_true(tw_fp8m4e_to_float(tw_fp8m4e_from_float(-1.0f)) == 0.0f);
    assert_true(tw_fp8m4e_to_float(tw_fp8m4e_from_float(NAN)) == 0.0f);
    assert_true(tw_fp8m4e_to_float(tw_fp8m4e_from_float(1e-30f)) == 0.0f);
}

static void decibels_become_gain_within_a_millionth(void **state)
{
    (void)state;
    for (float db = -200.0f; db <= 200.0f; db += 0.0371f) {
        const double want = pow(10.0, (double)db / 20.0);
        const double got = (double)tw_db_to_gain(db);
        if (fabs(got - want) >= 1e-6 * want) {
            fail_msg("%g dB: %.9g, not %.9g", (double)db, got, want);
        }
    }
    assert_true(tw_db_to_gain(0.0f) == 1.0f);
    assert_true(tw_db_to_gain(-1e6f) == 0.0f);
    assert_true(tw_db_to_gain(NAN) == 0.0f);
    assert_true(isfinite(tw_db_to_gain(700.0f)));
}

static void gain_becomes_decibels_within_a_hundred_thousandth(void **state)
{
    (void)state;
    for (double gain = 1e-10; gain < 1e30; gain *= 1.00173) {
        const float g = (float)gain;
        if (g < 1e-10f) {
            continue;
        }
        const double want = 20.0 * log10((double)g);
        const double got = (double)tw_gain_to_db(g);
        /* a float near 200 dB cannot hold better than half its last place */
        const double bound = fmax(1e-5, 0.51 * (double)(nextafterf(fabsf((float)want), 1e9f) - fabsf((float)want)));
        if (fabs(got - want) > bound) {
            fail_msg("%.9g: %.9g dB, not %.9g", (double)g, got, want);
        }
    }
    assert_true(tw_gain_to_db(1.0f) == 0.0f);
    assert_true(tw_gain_to_db(0.0f) == -200.0f);
    assert_true(tw_gain_to_db(-3.0f) == -200.0f);
    assert_true(tw_gain_to_db(NAN) == -200.0f);
}

static void square_roots_are_within_a_millionth(void **state)
{
    (void)state;
    for (double x = 1e-37; x < 3e38; x *= 1.00391) {
        const double want = sqrt((double)(float)x), got = (double)tw_sqrtf((float)x);
        if (fabs(got - want) >= 1e-6 * want) {
            fail_msg("sqrt(%g): %.9g, not %.9g", x, got, want);
        }
    }
    assert_true(tw_sqrtf(4.0f) == 2.0f);
    assert_true(tw_sqrtf(0.0f) == 0.0f);
    assert_true(tw_sqrtf(-1.0f) == 0.0f);
    assert_true(tw_sqrtf(NAN) == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saturation_stops_at_both_ends),
        cmocka_unit_test(published_gain_codes_have_their_gains),
        cmocka_unit_test(every_gain_code_survives_the_way_back),
        cmocka_unit_test(the_nearest_gain_code_is_taken),
        cmocka_unit_test(gains_that_do_not_fit_saturate),
        cmocka_unit_test(decibels_become_gain_within_a_millionth),
        cmocka_unit_test(gain_becomes_decibels_within_a_hundred_thousandth),
        cmocka_unit_test(square_roots_are_within_a_millionth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
