/* The rescaler: tables, their ends, their changes. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { POINTS = 40, FADE_MS = 41 };

static rig_t g;

static void open_rescaler(tw_raw_t raw)
{
    const tw_format_t f = rig_format(raw, 1, 0, 1);
    rig_open(&g, "rescaler", f, f, 0);
}

static tw_err_t set_points(const float *v, uint32_t n)
{
    uint8_t wire[256];
    for (uint32_t i = 0; i < 2 * n; i++) {
        tw_put_f32(wire + 4 * i, v[i]);
    }
    return rig_set(&g, TW_TAG_ALL, wire, 8 * n);
}

static float through(float x)
{
    float y;
    rig_run(&g, &x, 4, &y, 4);
    return y;
}

static void ends_hold_and_lines_are_straight(void **state)
{
    (void)state;
    static const float table[] = {-1, 1, 0, 0, 1, 1}; /* S0's example: the absolute value */
    static const float x[] = {-1e30f, -2, -1, -0.5f, 0, 0.25f, 1, 7, INFINITY, -INFINITY};
    static const float y[] = {1, 1, 1, 0.5f, 0, 0.25f, 1, 1, 1, 1};
    open_rescaler(TW_RAW_FP32);
    assert_int_equal(set_points(table, 3), TW_OK);
    for (size_t i = 0; i < TW_COUNT(x); i++) {
        assert_true(through(x[i]) == y[i]);
    }
    assert_true(through(NAN) == 1.0f);
    rig_close(&g);
}

static void inputs_that_do_not_rise_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        float v[8];
        uint32_t n, at;
    } cases[] = {
        {"equal", {0, 1, 0, 2}, 2, 2},
        {"falling at the end", {0, 1, 1, 2, 2, 0, 1.5f, 0}, 4, 4},
        {"falling at once", {0, 1, -1, 2, 2, 0}, 3, 2},
    };
    open_rescaler(TW_RAW_FP32);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t wire[32];
        for (uint32_t k = 0; k < 2 * cases[i].n; k++) {
            tw_put_f32(wire + 4 * k, cases[i].v[k]);
        }
        tw_fault_t fault = {0};
        const tw_err_t err = tw_param_check(g.d, &g.fmt[0], TW_TAG_ALL, 0, wire, 8 * cases[i].n, &fault);
        if (err != TW_E_PARAM_ORDER || fault.at != cases[i].at) {
            fail_msg("%s: %s at %u", cases[i].why, tw_err_name(err), fault.at);
        }
    }
    rig_close(&g);
}

static void single_points_are_judged_together(void **state)
{
    (void)state;
    open_rescaler(TW_RAW_FP32);
    uint8_t wire[8];
    static const float first[] = {0, 3, 1, 4};
    set_points(first, 2);
    assert_true(through(0.5f) == 3.5f);
    rig_set_f32(&g, FADE_MS, 0);
    tw_put_f32(wire, 5), tw_put_f32(wire + 4, 0); /* alone it would fall */
    rig_set(&g, 1, wire, 8);
    tw_put_f32(wire, 6);
    rig_set(&g, 2, wire, 8);
    assert_true(through(0.5f) == 0.0f);
    tw_put_f32(wire, 4);
    rig_set(&g, 2, wire, 8);
    float x = 0, y;
    tw_xdm_t data[2] = {{&x, 4}, {&y, 4}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), -TW_E_PARAM_ORDER);
    rig_get(&g, 2, wire, 8);
    assert_true(tw_get_f32(wire) == 6.0f); /* back to what was */
    rig_set_u8(&g, POINTS, 1);
    assert_true(through(9) == 0.0f);
    rig_set_u8(&g, POINTS, 0);
    assert_true(through(9) == 9.0f);
    rig_close(&g);
}

static void words_are_rounded_and_saturated(void **state)
{
    (void)state;
    static const float twice[] = {-1, -2, 1, 2};
    static const struct {
        int16_t x, y;
    } cases[] = {{16384, 32767}, {-16384, -32768}, {100, 200}, {-100, -200}, {32767, 32767}, {-32768, -32768}};
    open_rescaler(TW_RAW_S16);
    set_points(twice, 2);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        int16_t y;
        rig_run(&g, &cases[i].x, 2, &y, 2);
        assert_int_equal(y, cases[i].y);
    }
    rig_close(&g);
    open_rescaler(TW_RAW_Q31);
    set_points(twice, 2);
    const int32_t x[] = {123456789, INT32_MIN, INT32_MAX, -1}, want[] = {246913578, INT32_MIN, INT32_MAX, -2};
    int32_t y[4];
    rig_run(&g, x, sizeof x, y, sizeof y);
    assert_memory_equal(y, want, sizeof y);
    rig_close(&g);
}

static void a_change_never_steps_further_than_its_fade(void **state)
{
    (void)state;
    open_rescaler(TW_RAW_FP32);
    float last = through(0.5f);
    for (unsigned k = 0; k < 40; k++) {
        const float table[] = {0, k % 2 ? 1.0f : -1.0f};
        set_points(table, 1);
        for (unsigned i = 0; i < 37; i++) {
            const float y = through(0.5f);
            assert_true(fabsf(y - last) <= 2.0f / 80 + 1e-6f); /* 5 ms of 16 kHz */
            last = y;
        }
    }
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_hold_and_lines_are_straight),
        cmocka_unit_test(inputs_that_do_not_rise_are_refused_with_their_place),
        cmocka_unit_test(single_points_are_judged_together),
        cmocka_unit_test(words_are_rounded_and_saturated),
        cmocka_unit_test(a_change_never_steps_further_than_its_fade),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
