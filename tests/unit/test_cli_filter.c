/* test_cli_filter.c - designed filters do to sines what their names say, in doubles and in 16 bits. */
#include "engine/base/formats.h"
#include "host_tools/client/biquad_design.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define RATE 48000.0
#define SECTION 0.70710678118654752

/* The response measured, not computed: the filter's own difference equation on a long sine. */
static double measured_db(const tw_biquad_t *s, double f)
{
    double x1 = 0, x2 = 0, y1 = 0, y2 = 0, sum = 0;
    const int settle = 48000, n = 48000;
    for (int i = 0; i < settle + n; i++) {
        const double x = sin(2 * M_PI * f * i / RATE);
        const double y = s->b0 * x + s->b1 * x1 + s->b2 * x2 + s->a1 * y1 + s->a2 * y2;
        x2 = x1;
        x1 = x;
        y2 = y1;
        y1 = y;
        sum += i >= settle ? y * y : 0;
    }
    return 10 * log10(2 * sum / n + 1e-30);
}

static const struct {
    const char *why;
    tw_biquad_kind_t kind;
    double f, q, gain;
    double at, db, within; /* expected at this frequency; db below -100: at most -40 */
} points[] = {
    {"low-pass, corner", TW_BQ_LOWPASS, 1000, SECTION, 0, 1000, -3.01, 0.02},
    {"low-pass, passes", TW_BQ_LOWPASS, 1000, SECTION, 0, 100, 0, 0.02},
    {"low-pass, one octave up", TW_BQ_LOWPASS, 1000, SECTION, 0, 2000, -12.37, 0.15},
    {"low-pass, stops", TW_BQ_LOWPASS, 1000, SECTION, 0, 20000, -200, 0},
    {"low-pass, resonant", TW_BQ_LOWPASS, 1000, 4, 0, 1000, 12.04, 0.02},
    {"high-pass, corner", TW_BQ_HIGHPASS, 1000, SECTION, 0, 1000, -3.01, 0.02},
    {"high-pass, passes", TW_BQ_HIGHPASS, 1000, SECTION, 0, 10000, 0, 0.02},
    {"high-pass, stops", TW_BQ_HIGHPASS, 1000, SECTION, 0, 50, -200, 0},
    {"band-pass, centre", TW_BQ_BANDPASS, 3000, 5, 0, 3000, 0, 0.01},
    {"band-pass, below", TW_BQ_BANDPASS, 3000, 5, 0, 30, -200, 0},
    {"notch, centre", TW_BQ_NOTCH, 1000, 2, 0, 1000, -200, 0},
    {"notch, elsewhere", TW_BQ_NOTCH, 1000, 2, 0, 10000, 0, 0.05},
    {"peak, up", TW_BQ_PEAK, 2000, 1, 6, 2000, 6, 0.01},
    {"peak, down", TW_BQ_PEAK, 2000, 1, -9, 2000, -9, 0.01},
    {"peak, elsewhere", TW_BQ_PEAK, 2000, 3, 6, 50, 0, 0.02},
    {"bypass", TW_BQ_BYPASS, 0, 0, 0, 12345, 0, 0.001},
};

static void check(const char *why, size_t i, double db, double extra)
{
    const bool good = points[i].db < -100 ? db < -40 : fabs(db - points[i].db) <= points[i].within + extra;
    if (!good) {
        fail_msg("%s (%s): %.2f dB at %.0f Hz, expected %.2f", points[i].why, why, db, points[i].at, points[i].db);
    }
}

static void a_design_filters_as_its_name_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(points); i++) {
        tw_biquad_t s;
        assert_true(tw_biquad_design(points[i].kind, points[i].f, RATE, points[i].q, points[i].gain, &s));
        check("measured", i, measured_db(&s, points[i].at), 0);
        check("computed", i, 20 * log10(tw_biquad_gain(&s, points[i].at, RATE) + 1e-15), 0);
        assert_true(tw_biquad_radius(&s) < 1);
    }
}

static void sixteen_bits_keep_the_response_and_the_stability(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(points); i++) {
        tw_biquad_t s;
        int16_t q[1][5];
        int shift;
        assert_true(tw_biquad_design(points[i].kind, points[i].f, RATE, points[i].q, points[i].gain, &s));
        assert_true(tw_biquad_quantise(&s, 1, 3, q, &shift));
        const tw_biquad_t back = tw_biquad_from_q15(q[0], shift);
        assert_true(tw_biquad_radius(&back) < 1);
        assert_true(tw_biquad_distance(&s, &back, 1) < 0.02);
        check("16 bits", i, measured_db(&back, points[i].at), 0.2);
    }
}

static void the_shift_is_the_smallest_that_holds_every_coefficient(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        tw_biquad_t s;
        int shift_max, shift; /* -1: does not fit */
    } cases[] = {
        {"below one", {0.5, -0.5, 0.25, 0.9, -0.9}, 3, 0},
        {"exactly one is worth no bit", {1, 0, 0, 0, 0}, 3, 0},
        {"minus one fits", {-1, 0, 0, 0, 0}, 3, 0},
        {"below two", {0.5, 0, 0, 1.9, -0.95}, 3, 1},
        {"below four", {3.9, 0, 0, 0.5, 0}, 3, 2},
        {"too large", {9, 0, 0, 0.5, 0}, 3, -1},
        {"limit of the node", {0.5, 0, 0, 1.9, -0.95}, 0, -1},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        int16_t q[1][5];
        int shift = -1;
        const bool ok = tw_biquad_quantise(&cases[i].s, 1, cases[i].shift_max, q, &shift);
        if (ok != (cases[i].shift >= 0) || (ok && shift != cases[i].shift)) {
            fail_msg("%s: %d, shift %d", cases[i].why, ok, shift);
        }
    }
}

static void impossible_designs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        double f, rate, q, gain;
    } cases[] = {
        {"zero", 0, RATE, 1, 0},
        {"negative", -5, RATE, 1, 0},
        {"half the rate", 24000, RATE, 1, 0},
        {"no rate", 100, 0, 1, 0},
        {"q zero", 100, RATE, 0, 0},
        {"q infinite", 100, RATE, INFINITY, 0},
        {"f is no number", NAN, RATE, 1, 0},
        {"gain absurd", 100, RATE, 1, 500},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_biquad_t s;
        if (tw_biquad_design(TW_BQ_PEAK, cases[i].f, cases[i].rate, cases[i].q, cases[i].gain, &s)) {
            fail_msg("%s was designed", cases[i].why);
        }
    }
}

static void a_filter_too_low_for_sixteen_bits_is_seen_by_its_distance(void **state)
{
    (void)state;
    tw_biquad_t s;
    int16_t q[1][5];
    int shift;
    assert_true(tw_biquad_design(TW_BQ_LOWPASS, 20, RATE, SECTION, 0, &s));
    assert_true(tw_biquad_quantise(&s, 1, 3, q, &shift));
    const tw_biquad_t back = tw_biquad_from_q15(q[0], shift);
    assert_true(tw_biquad_distance(&s, &back, 1) > 0.12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_design_filters_as_its_name_says),
        cmocka_unit_test(sixteen_bits_keep_the_response_and_the_stability),
        cmocka_unit_test(the_shift_is_the_smallest_that_holds_every_coefficient),
        cmocka_unit_test(impossible_designs_are_refused),
        cmocka_unit_test(a_filter_too_low_for_sixteen_bits_is_seen_by_its_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
