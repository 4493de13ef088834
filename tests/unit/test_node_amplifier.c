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
    static const uint32_t table[16] = {0, 3, 8, 17, 36, 73, 146, 294, 588, 1178, 2357, 4715, 9430, 18862, 37724, 75450};
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

static void the_gain_code_means_mantissa_and_exponent(void **state)
{
    (void)state;
    static const struct {
        uint16_t code;
        float gain, db;
    } cases[] = {
        {0x0805, 1.0f, 0},
        {0x0803, 4.0f, 12.0412f},
        {0x0807, 0.25f, -12.0412f},
        {0x0C05, 1.5f, 3.5218f},
        {0x080F, 0.0009765625f, -60.206f},
        {0x0FF0, 63.75f, 36},
        {0x0000, 0, -100},
        {0x0404, 1.0f, 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        open_f32(&g);
        rig_set_u16(&g, GAIN, cases[i].code);
        float a[1];
        gains(&g, a, 1);
        assert_true(a[0] == cases[i].gain);
        assert_true(rig_get_f32(&g, GAIN_LINEAR) == cases[i].gain);
        assert_true(fabsf(rig_get_f32(&g, GAIN_DB) - cases[i].db) < 1e-3f);
        uint8_t wire[2];
        rig_get(&g, GAIN, wire, 2);
        assert_int_equal(tw_get_le16(wire), cases[i].code); /* as it was SET, also when another code says the same */
        rig_close(&g);
    }
}

static void three_ways_to_say_a_gain_agree(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    uint8_t wire[2];
    rig_set_f32(&g, GAIN_DB, -6.0206f);
    assert_true(fabsf(rig_get_f32(&g, GAIN_LINEAR) - 0.5f) < 1e-6f);
    assert_true(rig_get_f32(&g, GAIN_DB) == -6.0206f);
    rig_get(&g, GAIN, wire, 2);
    assert_int_equal(tw_get_le16(wire), 0x0806);
    rig_set_f32(&g, GAIN_LINEAR, 2.0f);
    rig_get(&g, GAIN, wire, 2);
    assert_int_equal(tw_get_le16(wire), 0x0804);
    assert_true(fabsf(rig_get_f32(&g, GAIN_DB) - 6.0206f) < 1e-4f);
    rig_close(&g);
}

static void values_out_of_range_change_nothing(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    assert_int_equal(rig_set_f32(&g, GAIN_DB, 36.1f), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_f32(&g, GAIN_DB, -100.1f), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_f32(&g, GAIN_LINEAR, -0.1f), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_f32(&g, GAIN_LINEAR, NAN), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_u16(&g, GAIN, 0x1000), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_u8(&g, SLOPE, 16), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_u8(&g, MUTE, 2), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_f32(&g, LEVEL_DB, 0), TW_E_PARAM_READ_ONLY);
    float a[2];
    gains(&g, a, 2);
    assert_true(a[1] == 1.0f);
    rig_close(&g);
}

static void q15_is_rounded_saturated_and_counted(void **state)
{
    (void)state;
    rig_t g;
    const tw_format_t fmt = rig_format(TW_RAW_S16, 1, 0, 8);
    rig_open(&g, "amplifier", fmt, fmt, 0);
    rig_set_u8(&g, SLOPE, 0);
    rig_set_u16(&g, GAIN, 0x0803); /* x 4 */
    const int16_t in[6] = {8191, 8192, -8192, -8193, 32767, -32768};
    const int16_t want[6] = {32764, 32767, -32768, -32768, 32767, -32768};
    int16_t out[6];
    rig_run(&g, in, sizeof in, out, sizeof out);
    assert_memory_equal(out, want, sizeof want);
    assert_int_equal(clipped(&g), 4);
    rig_set_f32(&g, GAIN_LINEAR, 0.5f);
    const int16_t odd[6] = {1, -1, 3, -3, 2, -2};
    const int16_t half[6] = {1, -1, 2, -2, 1, -1}; /* halves go away from zero, both signs alike */
    rig_run(&g, odd, sizeof odd, out, sizeof out);
    assert_memory_equal(out, half, sizeof half);
    rig_set_f32(&g, GAIN_LINEAR, 64.0f);
    rig_run(&g, in, sizeof in, out, sizeof out);
    assert_int_equal(out[4], 32767);
    assert_int_equal(clipped(&g), 10);
    rig_close(&g);
}

static void f32_beyond_full_scale_is_counted_but_not_cut(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    float x[4] = {1.0f, -1.0f, 1.5f, -2.0f};
    rig_run(&g, x, sizeof x, x, sizeof x);
    assert_true(x[2] == 1.5f && x[3] == -2.0f);
    assert_int_equal(clipped(&g), 2);
    rig_close(&g);
}

static void mute_stores_the_gain_and_unmute_restores_it(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    float a[4];
    gains(&g, a, 1);
    rig_set_u8(&g, SLOPE, 0);
    rig_set_f32(&g, GAIN_LINEAR, 0.7f);
    rig_set_u8(&g, MUTE, 1);
    gains(&g, a, 4);
    assert_true(a[0] == 0.0f && a[3] == 0.0f);
    assert_true(rig_get_f32(&g, GAIN_LINEAR) == 0.7f);
    rig_set_u8(&g, MUTE, 0);
    gains(&g, a, 4);
    assert_true(a[0] == 0.7f);
    rig_set_u8(&g, MUTE, 1);
    gains(&g, a, 4);
    rig_set_f32(&g, GAIN_LINEAR, 0.2f); /* heard when mute ends */
    gains(&g, a, 4);
    assert_true(a[0] == 0.0f);
    rig_set_u8(&g, MUTE, 0);
    gains(&g, a, 4);
    assert_true(a[0] == 0.2f);
    rig_close(&g);
}

/* First sample whose gain is `gain`, in pieces of `piece`. */
static uint32_t first(rig_t *g, float gain, uint32_t piece)
{
    float a[200];
    for (uint32_t n = 0; n < 5000; n += piece) {
        gains(g, a, piece);
        for (uint32_t i = 0; i < piece; i++) {
            if (a[i] == gain) {
                return n + i;
            }
        }
    }
    return UINT32_MAX;
}

static void delays_count_samples_however_the_stream_is_cut(void **state)
{
    (void)state;
    for (uint32_t piece = 1; piece < 200; piece += 33) {
        rig_t g;
        open_f32(&g);
        float a[1];
        gains(&g, a, 1);
        rig_set_u8(&g, SLOPE, 0);
        rig_set_u16(&g, DELAY_UP, 1000);
        rig_set_u16(&g, DELAY_DOWN, 77);
        rig_set_u8(&g, MUTE, 1);
        assert_int_equal(first(&g, 0.0f, piece), 77);
        rig_set_u8(&g, MUTE, 0);
        assert_int_equal(first(&g, 1.0f, piece), 1000);
        rig_set_f32(&g, GAIN_LINEAR, 0.5f); /* a gain is not delayed */
        assert_int_equal(first(&g, 0.5f, piece), 0);
        rig_close(&g);
    }
}

static void unmute_during_the_delay_cancels_the_mute(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    float a[200];
    gains(&g, a, 1);
    rig_set_u8(&g, SLOPE, 0);
    rig_set_u16(&g, DELAY_DOWN, 50);
    rig_set_u8(&g, MUTE, 1);
    gains(&g, a, 20);
    rig_set_u8(&g, MUTE, 0);
    gains(&g, a, 200);
    for (int i = 0; i < 200; i++) {
        assert_true(a[i] == 1.0f);
    }
    rig_close(&g);
}

static void boot_values_are_heard_from_the_first_sample(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    const uint8_t boot[8] = {15, 0x06, 0x08, 0, 0xFF, 0xFF, 0xFF, 0xFF}; /* slowest slope, -6 dB, long delays */
    assert_int_equal(rig_set(&g, TW_TAG_ALL, boot, sizeof boot), TW_OK);
    float a[2];
    gains(&g, a, 2);
    assert_true(a[0] == 0.5f && a[1] == 0.5f);
    rig_close(&g);
    rig_open(&g, "amplifier", g.fmt[0], g.fmt[1], 2);
    gains(&g, a, 2);
    assert_true(a[0] == 0.0f);
    rig_close(&g);
}

static void a_change_in_the_stream_never_jumps(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g);
    float a[100], last = 1.0f;
    gains(&g, a, 1);
    const float targets[] = {0.1f, 4.0f, 0.0f, 1.0f};
    for (unsigned k = 0; k < 40; k++) { /* new targets while the ramp still runs */
        if (k % 4 == 3) {
            rig_reset(&g, true, k % 8 == 3 ? 2 : 1); /* presets ramp, too */
        } else {
            rig_set_f32(&g, GAIN_LINEAR, targets[k % TW_COUNT(targets)]);
        }
        gains(&g, a, 100);
        for (unsigned i = 0; i < 100; i++) {
            assert_true(fabsf(a[i] - last) <= 4.0f / 64 + 1e-6f); /* slope 6: 1/64 of the way a sample */
            last = a[i];
        }
    }
    rig_close(&g);
}

static void all_channels_of_all_layouts_share_one_ramp(void **state)
{
    (void)state;
    enum { FRAME = 13, FRAMES = 12 };
    float want[FRAME * FRAMES];
    rig_t g;
    open_f32(&g);
    gains(&g, want, 1);
    rig_set_f32(&g, GAIN_LINEAR, 3.0f);
    rig_set_u8(&g, SLOPE, 4);
    gains(&g, want, FRAME * FRAMES);
    rig_close(&g);
    const unsigned channels[] = {1, 2, 3, 32};
    for (unsigned k = 0; k < 8; k++) {
        const unsigned nch = channels[k / 2], blocks = k % 2;
        static float x[FRAME * FRAMES * 32];
        const tw_format_t fmt = rig_format(TW_RAW_FP32, nch, blocks, FRAME);
        rig_open(&g, "amplifier", fmt, fmt, 0);
        for (uint32_t i = 0; i < FRAME * FRAMES * nch; i++) {
            x[i] = 1.0f;
        }
        float one[32 * FRAME] = {0};
        rig_run(&g, one, fmt.frame_bytes, one, fmt.frame_bytes);
        rig_set_f32(&g, GAIN_LINEAR, 3.0f);
        rig_set_u8(&g, SLOPE, 4);
        rig_run(&g, x, fmt.frame_bytes * FRAMES, x, fmt.frame_bytes * FRAMES);
        for (uint32_t i = 0; i < FRAME * FRAMES; i++) {
            for (uint32_t c = 0; c < nch; c++) {
                const uint32_t in = i % FRAME;
                assert_true(x[blocks ? (i - in) * nch + c * FRAME + in : i * nch + c] == want[i]);
            }
        }
        rig_close(&g);
    }
}

static void the_meter_reads_what_goes_out(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const tw_format_t fmt = rig_format(k ? TW_RAW_FP32 : TW_RAW_S16, 1, 0, 480);
        rig_t g;
        rig_open(&g, "amplifier", fmt, fmt, 0);
        assert_true(rig_get_f32(&g, LEVEL_DB) == -200.0f);
        rig_set_f32(&g, GAIN_LINEAR, 0.5f);
        float f[480];
        int16_t q[480];
        for (int i = 0; i < 480; i++) { /* whole periods, full scale */
            f[i] = (float)sin(2 * M_PI * i / 48 + 0.1);
            q[i] = (int16_t)lrintf(32767 * f[i]);
        }
        if (k) {
            rig_run(&g, f, sizeof f, f, sizeof f);
        } else {
            rig_run(&g, q, sizeof q, q, sizeof q);
        }
        assert_true(fabsf(rig_get_f32(&g, LEVEL_DB) + 9.0309f) < 0.01f);
        assert_true(fabsf(rig_get_f32(&g, PEAK_DB) + 6.0206f) < 0.02f);
        const float level = rig_get_f32(&g, LEVEL_DB);
        rig_run(&g, f, 0, f, 0); /* an empty RUN is no frame */
        assert_true(rig_get_f32(&g, LEVEL_DB) == level);
        memset(f, 0, sizeof f);
        rig_run(&g, f, fmt.frame_bytes, f, fmt.frame_bytes);
        assert_true(rig_get_f32(&g, LEVEL_DB) == -200.0f);
        rig_close(&g);
    }
}

static void reset_refuses_what_it_cannot_run(void **state)
{
    (void)state;
    const tw_format_t ok = rig_format(TW_RAW_S16, 2, 0, 8);
    for (unsigned k = 0; k < 4; k++) {
        rig_t g;
        tw_err_t want = TW_E_IMG_ARC_FORMAT;
        uint32_t preset = 0;
        rig_prepare(&g, "amplifier", ok, ok);
        switch (k) {
        case 0:
            g.fmt[1].channels = 1;
            break;
        case 1:
            g.reset.mem_bytes[0]--, want = TW_E_IMG_MEM;
            break;
        case 2:
            g.fmt[0].raw = TW_RAW_U16, want = TW_E_IMG_RAW;
            break;
        case 3:
            preset = 3, want = TW_E_PARAM_PRESET;
            break;
        }
        const uint32_t err = rig_reset(&g, false, preset);
        if (err != (uint32_t)-want) {
            fail_msg("case %u: %s", k, tw_err_name((tw_err_t) - (int)err));
        }
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_db_is_bit_exact_also_at_the_rails),
        cmocka_unit_test(slope_0_takes_effect_in_the_first_sample_exactly),
        cmocka_unit_test(each_slope_covers_90_percent_in_the_tabled_time),
        cmocka_unit_test(the_gain_code_means_mantissa_and_exponent),
        cmocka_unit_test(three_ways_to_say_a_gain_agree),
        cmocka_unit_test(values_out_of_range_change_nothing),
        cmocka_unit_test(q15_is_rounded_saturated_and_counted),
        cmocka_unit_test(f32_beyond_full_scale_is_counted_but_not_cut),
        cmocka_unit_test(mute_stores_the_gain_and_unmute_restores_it),
        cmocka_unit_test(delays_count_samples_however_the_stream_is_cut),
        cmocka_unit_test(unmute_during_the_delay_cancels_the_mute),
        cmocka_unit_test(boot_values_are_heard_from_the_first_sample),
        cmocka_unit_test(a_change_in_the_stream_never_jumps),
        cmocka_unit_test(all_channels_of_all_layouts_share_one_ramp),
        cmocka_unit_test(the_meter_reads_what_goes_out),
        cmocka_unit_test(reset_refuses_what_it_cannot_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
