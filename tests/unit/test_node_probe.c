/* The probe: nothing changes on the way, and what is measured is what a sheet of paper says. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { WINDOW = 1, CHANNEL, TRIGGER, LEVEL, ARM, INSTANTS = 16, WINDOWS, RMS, PEAK, MIN, MAX, MEAN, DC, CREST, BAD };
enum { TRIGGERED = 26, TRIGGERS, TRIGGER_AT, N = 480 };

static rig_t g;

static uint32_t get(uint32_t index)
{
    uint8_t wire[4] = {0};
    rig_get(&g, index, wire, 4);
    return tw_get_le32(wire);
}

static void set_window(uint32_t n)
{
    uint8_t wire[4];
    tw_put_le32(wire, n);
    assert_int_equal(rig_set(&g, WINDOW, wire, 4), TW_OK);
}

static void near(uint32_t index, double want, double within)
{
    const double v = (double)rig_get_f32(&g, index);
    if (!(fabs(v - want) <= within)) {
        fail_msg("parameter %u: %g, want %g", index, v, want);
    }
}

static void a_sine_on_a_level_is_measured(void **state)
{
    (void)state;
    const tw_raw_t raws[] = {TW_RAW_FP32, TW_RAW_S16, TW_RAW_Q31, TW_RAW_FP64};
    for (size_t k = 0; k < TW_COUNT(raws); k++) {
        const tw_format_t f = rig_format(raws[k], 1, 0, 1);
        rig_open(&g, "probe", f, f, 0);
        set_window(N);
        static uint8_t x[N * 8], y[N * 8];
        for (unsigned i = 0; i < N; i++) {
            const double v = 0.125 + 0.5 * sin(2 * M_PI * i / 48);
            const float s = (float)v;
            const int16_t q = (int16_t)lrint(v * 32768);
            const int32_t w = (int32_t)lrint(v * 2147483648.0);
            const void *p = k == 0 ? (const void *)&s : k == 1 ? (const void *)&q : k == 2 ? (const void *)&w : &v;
            memcpy(x + i * f.frame_bytes, p, f.frame_bytes);
        }
        for (unsigned at = 0; at < N; at += 96) { /* however the stream is cut */
            rig_run(&g, x + at * f.frame_bytes, 96 * f.frame_bytes, y + at * f.frame_bytes, 96 * f.frame_bytes);
        }
        assert_memory_equal(x, y, N * f.frame_bytes);
        const double rms = sqrt(0.125 + 0.125 * 0.125);
        near(RMS, 20 * log10(rms), 0.001);
        near(PEAK, 20 * log10(0.625), 0.001);
        near(MIN, -0.375, 1e-4);
        near(MAX, 0.625, 1e-4);
        near(MEAN, 0.125, 1e-4);
        near(DC, 20 * log10(0.125), 0.005);
        near(CREST, 20 * log10(0.625 / rms), 0.002);
        assert_int_equal(get(INSTANTS), N);
        assert_int_equal(get(WINDOWS), 1);
        rig_close(&g);
    }
}

static void one_channel_or_all_of_them(void **state)
{
    (void)state;
    for (unsigned blocks = 0; blocks < 2; blocks++) {
        const tw_format_t f = rig_format(TW_RAW_FP32, 2, blocks, 2);
        const float inter[4] = {1, -3, 2, -4}, block[4] = {1, 2, -3, -4};
        float y[4];
        static const struct {
            uint8_t channel;
            double min, max;
        } cases[] = {{0, -4, 2}, {1, 1, 2}, {2, -4, -3}, {3, 0, 0}};
        for (size_t i = 0; i < TW_COUNT(cases); i++) {
            rig_open(&g, "probe", f, f, 0);
            set_window(2);
            rig_set_u8(&g, CHANNEL, cases[i].channel);
            rig_run(&g, blocks ? block : inter, sizeof y, y, sizeof y);
            near(MIN, cases[i].min, 0);
            near(MAX, cases[i].max, 0);
            rig_close(&g);
        }
    }
}

static void no_number_is_counted_and_left_out(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_FP32, 1, 0, 1);
    const float x[6] = {NAN, 1, INFINITY, -1, 3e38f, -INFINITY};
    float y[6];
    rig_open(&g, "probe", f, f, 0);
    set_window(6);
    rig_run(&g, x, sizeof x, y, sizeof y);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(get(BAD), 4);
    near(RMS, 0, 1e-4);
    near(CREST, 0, 1e-4);
    rig_close(&g);
}

static void triggers_fire_on_their_event_only(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t trigger, arm;
        float level;
        uint32_t triggers, at;
    } cases[] = {
        {"off", 0, 0, 0.5f, 0, 0},
        {"each rise", 1, 0, 0.5f, 2, 7},
        {"the first rise", 1, 1, 0.5f, 1, 2},
        {"each fall", 2, 0, 0.5f, 2, 8},
        {"a size", 3, 0, 0.9f, 2, 7},
        {"never that high", 1, 0, 2, 0, 0},
        {"already above is no rise", 1, 0, -5, 0, 0},
    };
    const float x[10] = {0, 0.4f, 0.6f, 0.7f, 0.2f, -0.95f, 0, 1, 0.5f, 0.4f};
    float y[10];
    const tw_format_t f = rig_format(TW_RAW_FP32, 1, 0, 1);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_open(&g, "probe", f, f, 0);
        rig_set_u8(&g, TRIGGER, cases[i].trigger);
        rig_set_f32(&g, LEVEL, cases[i].level);
        rig_set_u8(&g, ARM, cases[i].arm);
        rig_run(&g, x, 12, y, 12);
        rig_run(&g, x + 3, 28, y, 28);
        if (get(TRIGGERS) != cases[i].triggers || get(TRIGGER_AT) != cases[i].at ||
            (get(TRIGGERED) & 255u) != (cases[i].triggers != 0)) {
            fail_msg("%s: %u at %u", cases[i].why, get(TRIGGERS), get(TRIGGER_AT));
        }
        rig_set_u8(&g, ARM, cases[i].arm);
        assert_int_equal(get(TRIGGERED) & 255u, 0);
        rig_close(&g);
    }
}

static void a_lock_makes_it_a_sink(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_S16, 1, 0, 4);
    rig_prepare(&g, "probe", f, rig_format(TW_RAW_U8, 1, 0, 8));
    g.reset.lock = 2;
    assert_int_equal(rig_reset(&g, false, 0), 0);
    int16_t x[8] = {1, 2, 3};
    tw_xdm_t data[2] = {{x, sizeof x}, {NULL, 0}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_int_equal(data[0].bytes, sizeof x);
    assert_int_equal(data[1].bytes, 0);
    assert_int_equal(get(INSTANTS), 8);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sine_on_a_level_is_measured),
        cmocka_unit_test(one_channel_or_all_of_them),
        cmocka_unit_test(no_number_is_counted_and_left_out),
        cmocka_unit_test(triggers_fire_on_their_event_only),
        cmocka_unit_test(a_lock_makes_it_a_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
