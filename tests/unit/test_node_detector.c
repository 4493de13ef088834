/* The detector: hears bursts in noise in time, is silent in the pauses, and says what it measures. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { COUNTER = 1, DECF, HP, LP, FLOOR_PEAK, RISE, FALL, THRESHOLD, FLOOR_DB = 16, PEAK_DB, SNR_DB, ACTIVE };

static void open_mono(rig_t *g, tw_raw_t in, tw_raw_t out, uint32_t preset)
{
    rig_open(g, "detector", rig_format(in, 1, 0, 64), rig_format(out, 1, 0, 64), preset);
}

static double gauss(uint32_t *seed)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += rig_noise(seed) / 4294967296.0;
    }
    return sum - 6;
}

/* Noise of `rms`, and from `from` to `to` tone bursts 20 dB above it, on a constant offset. */
static double burst(uint32_t i, uint32_t from, uint32_t to, double rms, double rate, uint32_t *seed)
{
    const double tone = i >= from && i < to ? 10 * rms * sqrt(2) * sin(2 * M_PI * 440 / rate * i) : 0;
    return 0.05 + rms * gauss(seed) + tone;
}

typedef struct spell {
    uint32_t on, off; /* first active sample, first inactive one after it */
    unsigned rises;
} spell_t;

/* Feed `n` samples in odd frames; log the first activity from `base` on. */
static spell_t feed(rig_t *g, uint32_t base, uint32_t n, uint32_t from, uint32_t to, double rms, double rate,
                    uint32_t *seed)
{
    spell_t s = {UINT32_MAX, UINT32_MAX, 0};
    static int before;
    before = base == 0 ? 0 : before;
    for (uint32_t at = 0; at < n; at += 97) {
        float x[97];
        int16_t q[97], y[97];
        for (uint32_t i = 0; i < 97; i++) {
            x[i] = (float)burst(base + at + i, from, to, rms, rate, seed);
            q[i] = (int16_t)lrintf(32768 * x[i]);
        }
        const bool f32 = g->fmt[0].raw == TW_RAW_FP32;
        rig_run(g, f32 ? (void *)x : (void *)q, f32 ? sizeof x : sizeof q, y, sizeof y);
        for (uint32_t i = 0; i < 97; i++) {
            assert_true(y[i] == 0 || y[i] == 0x7FFF);
            const int now = y[i] != 0;
            if (now && !before) {
                s.rises++;
                s.on = s.on == UINT32_MAX ? base + at + i : s.on;
            }
            if (!now && before && s.off == UINT32_MAX) {
                s.off = base + at + i;
            }
            before = now;
        }
    }
    return s;
}

/* Three bursts of half a second, one second apart, 20 dB above noise at -50 dBFS. */
static void bursts_20_db_above_noise_are_found_within_30_ms(void **state)
{
    (void)state;
    static const struct {
        uint32_t preset;
        double rate;
    } cases[] = {{2, 8000}, {2, 10000}, {2, 16000}, {3, 44100}, {3, 48000}};
    for (size_t i = 0; i < 2 * TW_COUNT(cases); i++) {
        const double rate = cases[i / 2].rate;
        const uint32_t second = (uint32_t)rate, half = second / 2;
        uint32_t seed = 7 + (uint32_t)i, base = 0;
        rig_t g;
        open_mono(&g, i % 2 ? TW_RAW_FP32 : TW_RAW_S16, TW_RAW_S16, cases[i / 2].preset);
        for (int k = 0; k < 3; k++) {
            const uint32_t from = base + second, to = from + half, n = (second + half + second) / 97 * 97;
            const spell_t s = feed(&g, base, n, from, to, 0.00316, rate, &seed);
            const double on_ms = 1000.0 * (s.on - (double)from) / rate, off_ms = 1000.0 * (s.off - (double)to) / rate;
            if (i % 2 == 0 && k == 0) {
                print_message("preset %u at %5.0f Hz: on after %.1f ms, off after %.0f ms\n", cases[i / 2].preset, rate,
                              on_ms, off_ms);
            }
            if (s.rises != 1 || on_ms < 0 || on_ms > 30 || off_ms < 0 || off_ms > 400) {
                fail_msg("preset %u at %g Hz, burst %d: %u rises, on %g ms, off %g ms", cases[i / 2].preset, rate, k,
                         s.rises, on_ms, off_ms);
            }
            base += n;
        }
        rig_close(&g);
    }
}

static void noise_alone_is_never_activity(void **state)
{
    (void)state;
    const double levels[] = {0, 1e-5, 0.001, 0.03, 0.2};
    for (uint32_t preset = 1; preset <= 5; preset++) {
        for (size_t i = 0; i < TW_COUNT(levels); i++) {
            uint32_t seed = 3;
            rig_t g;
            open_mono(&g, TW_RAW_FP32, TW_RAW_S16, preset);
            assert_int_equal(feed(&g, 0, 97 * 2000, UINT32_MAX, UINT32_MAX, levels[i], 16000, &seed).rises, 0);
            rig_close(&g);
        }
    }
}

static void meters_read_floor_peak_and_ratio(void **state)
{
    (void)state;
    uint32_t seed = 11;
    rig_t g;
    open_mono(&g, TW_RAW_FP32, TW_RAW_FP32, 2);
    float x[97], y[97];
    uint8_t active = 9;
    for (int k = 0; k < 400; k++) {
        for (int i = 0; i < 97; i++) {
            x[i] = (float)burst((uint32_t)(k * 97 + i), 300 * 97, UINT32_MAX, 0.00316, 10000, &seed);
        }
        rig_run(&g, x, sizeof x, y, sizeof y);
        if (k == 299) {
            /* mean of |noise| is 2 dB below its rms; the floor keeps to the low side */
            assert_true(fabsf(rig_get_f32(&g, FLOOR_DB) + 52.5f) < 1.5f);
            assert_true(rig_get_f32(&g, SNR_DB) < 4.0f);
            rig_get(&g, ACTIVE, &active, 1);
            assert_int_equal(active, 0);
        }
    }
    assert_true(fabsf(rig_get_f32(&g, PEAK_DB) + 31.0f) < 1.5f);
    assert_true(fabsf(rig_get_f32(&g, SNR_DB) - (rig_get_f32(&g, PEAK_DB) - rig_get_f32(&g, FLOOR_DB))) < 1e-4f);
    rig_get(&g, ACTIVE, &active, 1);
    assert_int_equal(active, 1);
    assert_true(y[96] == 1.0f);
    rig_close(&g);
}

static void a_button_preset_reacts_at_once_and_holds_32_samples(void **state)
{
    (void)state;
    rig_t g;
    open_mono(&g, TW_RAW_S16, TW_RAW_S16, 1);
    int16_t x[400] = {0}, y[400];
    for (int i = 200; i < 205; i++) { /* a contact that closes for five samples */
        x[i] = 20000;
    }
    rig_run(&g, x, sizeof x, y, sizeof y);
    int on = 0, last = 0;
    for (int i = 0; i < 400; i++) {
        on += y[i] != 0;
        last = y[i] != 0 ? i : last;
        assert_true(i >= 200 || y[i] == 0);
    }
    assert_true(y[200] == 0x7FFF);
    assert_true(on == last - 200 + 1); /* one stretch */
    assert_true(last >= 204 + 32 && last < 390);
    rig_close(&g);
}

/* With everything immediate the hold counter alone says how long. */
static void hold_lasts_exactly_2_to_the_counter(void **state)
{
    (void)state;
    for (uint8_t c = 0; c <= 8; c++) {
        rig_t g;
        open_mono(&g, TW_RAW_S16, TW_RAW_S16, 1);
        const uint8_t set[8] = {c, 0, 0, 0, 0, 0, 0x80, 20};
        assert_int_equal(rig_set(&g, TW_TAG_ALL, set, sizeof set), TW_OK);
        int16_t x[600], y[600];
        for (int i = 0; i < 600; i++) {
            x[i] = i >= 100 && i < 110 ? 10000 : 10;
        }
        rig_run(&g, x, sizeof x, y, sizeof y);
        for (int i = 0; i < 600; i++) {
            const bool want = i >= 100 && i < 109 + (1 << c);
            if ((y[i] != 0) != want) {
                fail_msg("counter %u: sample %d is %d", c, i, y[i]);
            }
        }
        rig_close(&g);
    }
}

static void threshold_is_in_db_with_hysteresis(void **state)
{
    (void)state;
    static const struct {
        uint8_t threshold;
        double step_db, then_db; /* above the floor */
        bool on, still;
    } cases[] = {
        {10, 9.8, 0, false, false},  {10, 10.2, 7.2, true, true},  {10, 10.2, 6.8, true, false},
        {40, 39.8, 0, false, false}, {40, 40.2, 37.2, true, true}, {40, 40.2, 36.8, true, false},
        {4, 4.2, 2.1, true, true},   {4, 4.2, 1.9, true, false},   {1, 0.9, 0, false, false},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        open_mono(&g, TW_RAW_FP32, TW_RAW_FP32, 1);
        const uint8_t set[8] = {0, 0, 0, 0, 0, 0, 0x80, cases[i].threshold}; /* floor stands, peak follows */
        assert_int_equal(rig_set(&g, TW_TAG_ALL, set, sizeof set), TW_OK);
        float x[30], y[30];
        for (int k = 0; k < 30; k++) {
            const double db = k < 10 ? 0 : k < 20 ? cases[i].step_db : cases[i].then_db;
            x[k] = (float)(0.001 * pow(10, db / 20));
        }
        rig_run(&g, x, sizeof x, y, sizeof y);
        if ((y[15] != 0) != cases[i].on || (y[25] != 0) != cases[i].still) {
            fail_msg("threshold %u: %g dB, then %g dB", cases[i].threshold, cases[i].step_db, cases[i].then_db);
        }
        rig_close(&g);
    }
}

/* m / 4 * 2^-e: after one update the peak has fallen by that part of the way. */
static void rates_are_mantissa_and_exponent(void **state)
{
    (void)state;
    static const struct {
        uint8_t code;
        float rate;
    } cases[] = {
        {0x80, 1.0f},  {0xE0, 1.0f}, {0x81, 0.5f},     {0x60, 0.75f},
        {0x20, 0.25f}, {0x00, 0.0f}, {0xE3, 0.21875f}, {0x9F, 4.65661287e-10f},
        {0x1F, 0.0f},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        open_mono(&g, TW_RAW_FP32, TW_RAW_FP32, 1);
        const uint8_t set[8] = {0, 0, 0, 0, 0, 0, cases[i].code, 60};
        assert_int_equal(rig_set(&g, TW_TAG_ALL, set, sizeof set), TW_OK);
        float x[10], y[10];
        for (int k = 0; k < 10; k++) {
            x[k] = k == 9 ? 0.1f : k == 8 ? 0.9f : 0.1f;
        }
        rig_run(&g, x, sizeof x, y, sizeof y);
        const double peak = pow(10, (double)rig_get_f32(&g, PEAK_DB) / 20);
        if (fabs(peak - (0.9 - 0.8 * (double)cases[i].rate)) > 1e-5) {
            fail_msg("code 0x%02X: peak %g", cases[i].code, peak);
        }
        rig_close(&g);
    }
}

static void presets_are_the_published_five(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t preset;
        bool high_pass;
    } cases[] = {
        {"button: no high-pass", 1, false}, {"voice at 10 kHz", 2, true}, {"voice at 44.1 kHz", 3, true},
        {"motion, slow", 4, true},          {"motion, fast", 5, true},
    };
    uint8_t v[5][8];
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        open_mono(&g, TW_RAW_S16, TW_RAW_S16, cases[i].preset);
        assert_int_equal(rig_get(&g, TW_TAG_ALL, v[i], 8), 8);
        tw_fault_t fault;
        assert_int_equal(tw_param_check(g.d, &g.fmt[0], TW_TAG_ALL, TW_RAW_U8, v[i], 8, &fault), TW_OK);
        if ((v[i][HP - 1] != 0) != cases[i].high_pass) {
            fail_msg("%s", cases[i].why);
        }
        rig_close(&g);
    }
    assert_true(v[3][COUNTER - 1] > v[4][COUNTER - 1] && v[3][LP - 1] > v[4][LP - 1]);
    assert_true(v[2][COUNTER - 1] == v[1][COUNTER - 1] + 2); /* four times the rate, the same time */
}

/* A step on one of three axes, in both layouts; the flag goes to both output channels. */
static void the_loudest_channel_decides(void **state)
{
    (void)state;
    enum { N = 128, FRAME = 32 };
    for (unsigned k = 0; k < 12; k++) {
        const unsigned axis = k % 3, in_blocks = k / 3 % 2, out_blocks = k / 6;
        rig_t g;
        const tw_format_t in_fmt = rig_format(TW_RAW_S16, 3, in_blocks, FRAME);
        rig_open(&g, "detector", in_fmt, rig_format(TW_RAW_FP32, 2, out_blocks, FRAME), 5);
        int16_t x[3 * N] = {0};
        float y[2 * N];
        for (unsigned i = 70; i < N; i++) {
            const unsigned in = i % FRAME;
            x[in_blocks ? (i - in) * 3 + axis * FRAME + in : i * 3 + axis] = -8000;
        }
        rig_run(&g, x, sizeof x, y, sizeof y);
        for (unsigned c = 0; c < 2; c++) {
            unsigned first = N;
            for (unsigned i = N; i-- > 0;) {
                const unsigned in = i % FRAME;
                const float v = y[out_blocks ? (i - in) * 2 + c * FRAME + in : i * 2 + c];
                first = v == 1.0f ? i : first;
            }
            if (first < 70 || first > 74) {
                fail_msg("axis %u, layouts %u %u: first at %u", axis, in_blocks, out_blocks, first);
            }
        }
        rig_close(&g);
    }
}

static void no_number_is_no_signal(void **state)
{
    (void)state;
    rig_t g;
    open_mono(&g, TW_RAW_FP32, TW_RAW_FP32, 1);
    float x[64], y[64];
    for (int i = 0; i < 64; i++) {
        x[i] = i == 30 ? NAN : i == 31 ? INFINITY : i == 32 ? -3e38f : 0.001f;
    }
    rig_run(&g, x, sizeof x, y, sizeof y);
    assert_true(isfinite(rig_get_f32(&g, FLOOR_DB)) && isfinite(rig_get_f32(&g, PEAK_DB)));
    for (int i = 0; i < 64; i++) {
        x[i] = i < 32 ? 0.001f : 0.5f;
    }
    rig_run(&g, x, sizeof x, y, sizeof y);
    assert_true(y[31] == 0.0f && y[33] == 1.0f);
    rig_close(&g);
}

static void a_constant_offset_is_no_edge_for_a_high_pass(void **state)
{
    (void)state;
    rig_t g;
    open_mono(&g, TW_RAW_FP32, TW_RAW_FP32, 2);
    float x[64], y[64];
    for (int turn = 0; turn < 400; turn++) {
        for (int i = 0; i < 64; i++) {
            x[i] = 0.5f;
        }
        rig_run(&g, x, sizeof x, y, sizeof y);
        if (turn == 99) {
            rig_set_u8(&g, HP, 0); /* an edge now: the offset is the signal */
        }
        if (turn == 199) {
            rig_set_u8(&g, HP, 5);
        }
        const bool settled = turn < 100 || turn > 320; /* peak and hold run out */
        assert_true(!settled || y[63] == 0.0f);
    }
    rig_close(&g);
}

static void warm_reset_keeps_the_floor(void **state)
{
    (void)state;
    uint32_t seed = 5;
    rig_t g;
    open_mono(&g, TW_RAW_S16, TW_RAW_S16, 2);
    feed(&g, 0, 97 * 300, UINT32_MAX, UINT32_MAX, 0.01, 10000, &seed);
    const float floor_db = rig_get_f32(&g, FLOOR_DB);
    assert_int_equal(rig_reset(&g, true, 2), 0);
    assert_true(rig_get_f32(&g, FLOOR_DB) == floor_db);
    assert_int_equal(rig_reset(&g, false, 2), 0);
    assert_true(fabsf(rig_get_f32(&g, FLOOR_DB) + 90.0f) < 1e-3f);
    rig_close(&g);
}

static void reset_refuses_what_it_cannot_run(void **state)
{
    (void)state;
    const tw_format_t ok = rig_format(TW_RAW_S16, 2, 1, 8);
    for (unsigned k = 0; k < 4; k++) {
        rig_t g;
        tw_err_t want = TW_E_IMG_ARC_FORMAT;
        uint32_t preset = 0;
        rig_prepare(&g, "detector", ok, ok);
        switch (k) {
        case 0:
            g.fmt[1].samples = 9;
            break;
        case 1:
            g.reset.mem_bytes[0]--, want = TW_E_IMG_MEM;
            break;
        case 2:
            g.fmt[1].raw = TW_RAW_U8, want = TW_E_IMG_RAW;
            break;
        case 3:
            preset = 6, want = TW_E_PARAM_PRESET;
            break;
        }
        const uint32_t err = rig_reset(&g, false, preset);
        if (err != (uint32_t)-want) {
            fail_msg("case %u: %s", k, tw_err_name((tw_err_t) - (int)err));
        }
        rig_close(&g);
    }
}

/* ---- speech, when the machine has some ------------------------------------------------- */

#define SPEECH "/usr/share/sounds/alsa/Front_Center.wav"

/* 48 kHz mono S16: noise at -60 dBFS before, under and after the words. */
static void spoken_words_are_found_and_the_silence_around_them_is_not(void **state)
{
    (void)state;
    FILE *f = fopen(SPEECH, "rb");
    if (f == NULL) {
        print_message("skipped: no %s\n", SPEECH);
        skip();
        return;
    }
    enum { PAD = 96000, MAX = 480000 };
    static int16_t x[MAX], y[MAX];
    uint8_t header[44];
    assert_int_equal(fread(header, 1, 44, f), 44);
    assert_int_equal(tw_get_le32(header + 24), 48000);
    const uint32_t words = (uint32_t)fread(x + PAD, 2, MAX - 2 * PAD, f);
    fclose(f);
    uint32_t seed = 21;
    const uint32_t n = words + 2 * PAD;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (int16_t)(x[i] + lrint(32.8 * gauss(&seed)));
    }
    rig_t g;
    open_mono(&g, TW_RAW_S16, TW_RAW_S16, 3);
    rig_run(&g, x, 2 * n, y, 2 * n);
    rig_close(&g);
    uint32_t loud = 0, heard = 0, before = 0, after = 0;
    for (uint32_t i = 0; i < n; i++) {
        before += i < PAD && y[i] != 0;
        after += i > PAD + words + 19200 && y[i] != 0;
        loud += abs(x[i]) > 1000; /* 30 dB above the noise */
        heard += abs(x[i]) > 1000 && y[i] != 0;
    }
    print_message("speech: %u of %u loud samples under an active flag\n", heard, loud);
    assert_int_equal(before, 0);
    assert_int_equal(after, 0);
    assert_true(loud > 1000 && heard > loud * 98 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_20_db_above_noise_are_found_within_30_ms),
        cmocka_unit_test(noise_alone_is_never_activity),
        cmocka_unit_test(meters_read_floor_peak_and_ratio),
        cmocka_unit_test(a_button_preset_reacts_at_once_and_holds_32_samples),
        cmocka_unit_test(hold_lasts_exactly_2_to_the_counter),
        cmocka_unit_test(threshold_is_in_db_with_hysteresis),
        cmocka_unit_test(rates_are_mantissa_and_exponent),
        cmocka_unit_test(presets_are_the_published_five),
        cmocka_unit_test(the_loudest_channel_decides),
        cmocka_unit_test(no_number_is_no_signal),
        cmocka_unit_test(a_constant_offset_is_no_edge_for_a_high_pass),
        cmocka_unit_test(warm_reset_keeps_the_floor),
        cmocka_unit_test(reset_refuses_what_it_cannot_run),
        cmocka_unit_test(spoken_words_are_found_and_the_silence_around_them_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
