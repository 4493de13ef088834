/* The amplifier: exact at rest, punctual when it changes, honest about its level. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { SLOPE = 1, GAIN, MUTE, DELAY_UP, DELAY_DOWN, GAIN_DB, GAIN_LINEAR, LEVEL_DB = 16, PEAK_DB, CLIPPED };

static void open_f32(rig_t *g)
{
    const tw_format_t fmt = rig_format(TW_RAW_FP32, 1, 0, 16);
    rig_open(g, "amplifier", fmt, fmt, 0);
}

/* Gains the node applies to the next n samples. */
static void gains(rig_t *g, float *gain, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        gain[i] = 1.0f;
    }
    assert_int_equal(rig_run(g, gain, 4 * n, gain, 4 * n), 0);
}

static uint32_t clipped(rig_t *g)
{
    uint8_t wire[4];
    rig_get(g, CLIPPED, wire, 4);
    return tw_get_le32(wire);
}

static void zero_db_is_bit_exact_also_at_the_rails(void **state)
{
    (void)state;
    rig_t g;
    const tw_format_t fmt = rig_format(TW_RAW_S16, 1, 0, 5);
    rig_open(&g, "amplifier", fmt, fmt, 1);
    const int16_t in[5] = {-32768, 32767, 0, -1, 12345};
    int16_t out[5];
    assert_int_equal(rig_run(&g, in, sizeof in, out, sizeof out), 0);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(clipped(&g), 0);
    rig_close(&g);
}

static void slope_0_takes_effect_in_the_first_sample_exactly(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    float a[4];
    gains(&g, a, 4);
    assert_true(a[3] == 1.0f);
    assert_int_equal(rig_set_u8(&g, SLOPE, 0), TW_OK);
    assert_int_equal(rig_set_f32(&g, GAIN_LINEAR, 0.3f), TW_OK);
    gains(&g, a, 4);
    assert_true(a[0] == 0.3f && a[3] == 0.3f);
    const float in[3] = {0.1f, -0.7f, 3.3e-5f};
    float out[3];
    rig_run(&g, in, sizeof in, out, sizeof out);
    for (int i = 0; i < 3; i++) {
        assert_true(out[i] == in[i] * 0.3f);
    }
    rig_close(&g);
}

static void each_slope_covers_90_percent_in_the_tabled_time(void **state)
{
    (void)state;
    static const uint32_t table[16] = {0,   3,    8,    17,   36,   73,    146,   294,
                                       588, 1178, 2357, 4715, 9430, 18862, 37724, 75450};
    for (uint8_t slope = 0; slope < 16; slope++) {
        rig_t g;
        open_f32(&g);
        float a[64];
        gains(&g, a, 1);
        rig_set_u8(&g, SLOPE, slope);
        rig_set_f32(&g, GAIN_LINEAR, 0.0f);
        uint32_t n = 0; /* samples until 10 % of the way is left */
        do {
            gains(&g, a, 64);
            for (uint32_t i = 0; i < 64 && a[i] > 0.1f; i++) {
                n++;
            }
        } while (a[63] > 0.1f);
        const double off = (double)n - table[slope];
        if (fabs(off) > 1.0 + table[slope] * 0.0005) {
            fail_msg("slope %u: %u samples, table %u", slope, n, table[slope]);
        }
        for (int k = 0; k < 20000 && a[63] != 0.0f; k++) {
            gains(&g, a, 64);
        }
        assert_true(a[63] == 0.0f); /* it arrives, also the slowest */
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_db_is_bit_exact_also_at_the_rails),
        cmocka_unit_test(slope_0_takes_effect_in_the_first_sample_exactly),
        cmocka_unit_test(each_slope_covers_90_percent_in_the_tabled_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
