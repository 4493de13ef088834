/* Features of signals that are known: sines, constants, noise. */
#include "tests/unit/node_rig.h"
#include <math.h>

#define PI 3.14159265358979323846
enum { N = 2048, RATE = 16000 };

static uint32_t seed = 362436069u;
static float x[N], y[N];

static double noise(void)
{
    return (double)(int32_t)rig_noise(&seed) / 2147483648.0;
}

static void sine(double hz, double amplitude, double constant)
{
    for (unsigned i = 0; i < N; i++) {
        x[i] = (float)(constant + amplitude * sin(2 * PI * hz * i / RATE + 0.3));
    }
}

static void open_f32(rig_t *g, uint32_t results, uint32_t preset)
{
    rig_open(g, "analysis", rig_format(TW_RAW_FP32, 1, 0, 64), rig_format(TW_RAW_FP32, 1, 0, results), preset);
}

/* As many blocks as fit the signal; the last result is in y[0..]. @return results written */
static uint32_t feed(rig_t *g, uint32_t results)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at < N; at += 64) {
        float out[512];
        tw_xdm_t data[2] = {{x + at, 64 * 4}, {out, sizeof out}};
        assert_int_equal(rig_command(g, TW_CMD_RUN, 0, data), 0);
        assert_int_equal(data[0].bytes, 64 * 4);
        assert_int_equal(data[1].bytes % (4 * results), 0);
        if (data[1].bytes != 0) {
            memcpy(y, out, data[1].bytes);
            n += data[1].bytes / (4 * results);
        }
    }
    return n;
}

static void a_sine_has_its_frequency_by_both_methods(void **state)
{
    (void)state;
    static const double hz[] = {50, 440, 1000, 3999, 7000};
    for (unsigned i = 0; i < TW_COUNT(hz); i++) {
        for (uint8_t method = 0; method < 2; method++) {
            rig_t g;
            open_f32(&g, 1, 1);
            assert_int_equal(rig_set_u16(&g, 1, 1024), TW_OK);
            assert_int_equal(rig_set_u8(&g, 2, method), TW_OK);
            sine(hz[i], 0.3, 0.2);
            assert_int_equal(feed(&g, 1), 2);
            if (fabs((double)y[0] - hz[i]) > (method == 0 ? 0.2 : 3.0)) {
                fail_msg("%g Hz, method %u: %g", hz[i], method, (double)y[0]);
            }
            assert_true(rig_get_f32(&g, 17) == y[0]);
            rig_close(&g);
        }
    }
}

static void silence_and_constants_have_no_frequency(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g, 1, 1);
    sine(0, 0, 0.5);
    feed(&g, 1);
    assert_true(y[0] == 0.0f);
    rig_close(&g);
}

static void energy_is_the_rms_beside_the_constant_part(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g, 2, 2);
    assert_int_equal(rig_set_u16(&g, 1, 1600), TW_OK);
    sine(100, 0.5, -0.25);
    assert_int_equal(feed(&g, 2), 1);
    assert_true(fabs((double)y[0] - 0.5 / sqrt(2)) < 1e-6 && fabs((double)y[1] + 0.25) < 1e-6);
    rig_close(&g);
}

static void tones_have_their_amplitudes(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g, 3, 3);
    assert_int_equal(rig_set_u16(&g, 1, 1600), TW_OK);
    uint8_t wire[12];
    const float hz[] = {700, 1210, 0};
    for (unsigned i = 0; i < 3; i++) {
        tw_put_f32(wire + 4 * i, hz[i]);
    }
    assert_int_equal(rig_set(&g, 3, wire, 12), TW_OK);
    for (unsigned i = 0; i < N; i++) {
        x[i] = (float)(0.1 + 0.4 * sin(2 * PI * 700 * i / RATE) + 0.02 * sin(2 * PI * 1210 * i / RATE));
    }
    assert_int_equal(feed(&g, 3), 1);
    assert_true(fabs((double)y[0] - 0.4) < 1e-5 && fabs((double)y[1] - 0.02) < 1e-5 && fabs((double)y[2] - 0.1) < 1e-5);
    rig_close(&g);
}

/* 0 dB is a sine of full scale; the oracle is the sum itself. */
static void a_spectrum_is_the_windowed_transform_in_db(void **state)
{
    (void)state;
    static const uint32_t bins[] = {32, 64, 128, 256, 512};
    for (unsigned s = 0; s < TW_COUNT(bins); s++) {
        const uint32_t k_max = bins[s], n = 2 * k_max;
        rig_t g;
        open_f32(&g, k_max, 4);
        sine(RATE * 10.0 / n, 0.5, 0.05);
        for (unsigned i = 0; i < N; i++) {
            x[i] += (float)(0.01 * noise());
        }
        assert_int_equal(feed(&g, k_max), N / n);
        double sum = 0;
        for (uint32_t t = 0; t < n; t++) {
            sum += 0.5 - 0.5 * cos(2 * PI * t / n);
        }
        for (uint32_t k = 0; k < k_max; k++) {
            double re = 0, im = 0;
            for (uint32_t t = 0; t < n; t++) {
                const double w = (0.5 - 0.5 * cos(2 * PI * t / n)) * (double)x[N - n + t];
                re += w * cos(2 * PI * k * t / n);
                im += w * sin(2 * PI * k * t / n);
            }
            const double want = 20 * log10((k == 0 ? 1 : 2) * hypot(re, im) / sum);
            if (fabs(want - (double)y[k]) > 0.01) {
                fail_msg("%u bins, bin %u: %g dB, sum %g dB", k_max, k, (double)y[k], want);
            }
        }
        assert_true(fabs((double)y[10] + 6.02) < 0.1);
        assert_true(fabs((double)rig_get_f32(&g, 17) - RATE * 10.0 / n) < 0.02 * RATE / n);
        rig_close(&g);
    }
}

static void an_integer_spectrum_counts_256_db_to_full_scale(void **state)
{
    (void)state;
    rig_t g;
    rig_open(&g, "analysis", rig_format(TW_RAW_S16, 1, 0, 128), rig_format(TW_RAW_S16, 1, 0, 64), 4);
    int16_t in[128], out[64];
    for (unsigned i = 0; i < 128; i++) {
        in[i] = (int16_t)lrint(16384 * sin(2 * PI * 8 * i / 128));
    }
    assert_int_equal(rig_run(&g, in, sizeof in, out, sizeof out), 0);
    assert_in_range(-out[8], 768, 773); /* -6.02 dB x 128 */
    assert_true(out[40] < -80 * 128);
    rig_close(&g);
}

static void drift_is_learnt_while_still_only(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g, 1, 5);
    sine(0, 0, 0.03);
    feed(&g, 1);
    assert_true(fabs((double)y[0] - 0.03) < 1e-6);
    sine(500, 0.5, 0.4); /* moving */
    feed(&g, 1);
    assert_true(fabs((double)y[0] - 0.03) < 1e-6);
    sine(0, 0, 0.05); /* half way back, block by block */
    assert_int_equal(rig_set_u8(&g, 6, 1), TW_OK);
    feed(&g, 1);
    assert_true(fabs((double)y[0] - 0.05) < 1e-5);
    assert_int_equal(rig_reset(&g, true, 5), 0);
    sine(500, 0.5, 0.4);
    feed(&g, 1);
    assert_true(fabs((double)y[0] - 0.05) < 1e-5); /* a warm RESET keeps it */
    rig_close(&g);
}

/* However the stream is cut, and however channels lie, each channel's results are those it has alone. */
static void cuts_and_layouts_change_nothing(void **state)
{
    (void)state;
    static const uint32_t preset_results[] = {0, 1, 2, 3, 32, 1};
    enum { CH = 3, FRAME = 24, LEN = 960 };
    static float in[LEN * CH], whole[LEN * CH], cut[LEN * CH];
    for (unsigned i = 0; i < LEN * CH; i++) {
        in[i] = (float)noise();
    }
    for (uint32_t preset = 1; preset <= 5; preset++) {
        const uint32_t results = preset_results[preset];
        const tw_format_t out = rig_format(TW_RAW_FP32, CH, 0, results);
        rig_t a, b;
        rig_open(&a, "analysis", rig_format(TW_RAW_FP32, CH, 0, FRAME), out, preset);
        rig_open(&b, "analysis", rig_format(TW_RAW_FP32, CH, 0, FRAME), out, preset);
        assert_int_equal(rig_set_u16(&a, 1, 48), TW_OK);
        assert_int_equal(rig_set_u16(&b, 1, 48), TW_OK);
        tw_xdm_t all[2] = {{in, sizeof in}, {whole, LEN / 48 * results * CH * 4}};
        assert_int_equal(rig_command(&a, TW_CMD_RUN, 0, all), 0);
        assert_int_equal(all[0].bytes, sizeof in);
        assert_int_equal(all[1].bytes, LEN / 48 * results * CH * 4);
        uint32_t used = 0, made = 0;
        while (used < sizeof in) {
            const uint32_t len = tw_min_u32((1 + rig_noise(&seed) % 70) * CH * 4, sizeof in - used);
            tw_xdm_t part[2] = {{(uint8_t *)in + used, len}, {(uint8_t *)cut + made, sizeof cut - made}};
            assert_int_equal(rig_command(&b, TW_CMD_RUN, 0, part), 0);
            assert_int_equal(part[0].bytes, len);
            used += len;
            made += part[1].bytes;
        }
        assert_int_equal(made, all[1].bytes);
        assert_memory_equal(whole, cut, made);
        rig_close(&a);
        rig_close(&b);
    }
}

static void without_room_it_waits_and_loses_nothing(void **state)
{
    (void)state;
    rig_t g;
    open_f32(&g, 2, 2);
    sine(100, 0.5, 0);
    float out[2];
    tw_xdm_t data[2] = {{x, 64 * 4}, {out, 4}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_true(data[0].bytes == 0 && data[1].bytes == 0);
    data[0].bytes = 100 * 4;
    data[1].bytes = 8;
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_true(data[0].bytes == 100 * 4 && data[1].bytes == 8);
    rig_close(&g);
}

static void what_does_not_fit_is_refused_at_reset(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        tw_raw_t raw;
        unsigned channels, blocks, samples, preset;
        tw_err_t want;
    } cases[] = {
        {"a spectrum of 48 bins", TW_RAW_FP32, 1, 0, 48, 4, TW_E_IMG_FORMAT},
        {"a spectrum of 1024 bins", TW_RAW_FP32, 1, 0, 1024, 4, TW_E_IMG_FORMAT},
        {"two values in frames of three", TW_RAW_FP32, 1, 0, 3, 2, TW_E_IMG_FORMAT},
        {"two channels to one", TW_RAW_FP32, 2, 0, 2, 2, TW_E_IMG_ARC_FORMAT},
        {"another raw type", TW_RAW_S32, 1, 0, 2, 2, TW_E_IMG_RAW},
        {"no such preset", TW_RAW_FP32, 1, 0, 2, 6, TW_E_PARAM_PRESET},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        rig_prepare(&g, "analysis", rig_format(TW_RAW_FP32, 1, 0, 64),
                    rig_format(cases[i].raw, cases[i].channels, cases[i].blocks, cases[i].samples));
        const uint32_t err = rig_reset(&g, false, cases[i].preset);
        if (err != (uint32_t)-cases[i].want) {
            fail_msg("%s: %u", cases[i].why, err);
        }
        rig_close(&g);
    }
    rig_t g;
    rig_prepare(&g, "analysis", rig_format(TW_RAW_FP32, 1, 0, 64), rig_format(TW_RAW_FP32, 1, 0, 64));
    tw_library_t less = *g.svc.lib;
    less.rfft = NULL;
    g.svc.lib = &less;
    assert_int_equal(rig_reset(&g, false, 4), (uint32_t)-TW_E_IMG_SERVICE);
    assert_int_equal(rig_reset(&g, false, 2), 0); /* needs none */
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sine_has_its_frequency_by_both_methods),
        cmocka_unit_test(silence_and_constants_have_no_frequency),
        cmocka_unit_test(energy_is_the_rms_beside_the_constant_part),
        cmocka_unit_test(tones_have_their_amplitudes),
        cmocka_unit_test(a_spectrum_is_the_windowed_transform_in_db),
        cmocka_unit_test(an_integer_spectrum_counts_256_db_to_full_scale),
        cmocka_unit_test(drift_is_learnt_while_still_only),
        cmocka_unit_test(cuts_and_layouts_change_nothing),
        cmocka_unit_test(without_room_it_waits_and_loses_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused_at_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
