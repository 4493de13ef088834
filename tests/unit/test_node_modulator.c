/* The generator: how pure, how steady, how free of aliases and clicks; noise that is noise; keyed and coded outputs. */
#include "engine/node/signal.h"
#include "engine/node/wave.h"
#include "tests/unit/node_rig.h"
#include <math.h>

enum { N = 1 << 15, FRAME = 64 };
enum { WAVE = 1, AMPLITUDE, OFFSET, FREQUENCY, PHASE, MODULATION, SOURCE, INDEX, MOD_FREQUENCY, DUTY, SEED, NOW = 16 };

static tw_format_t format(tw_raw_t raw, unsigned channels, uint32_t samples, float rate)
{
    tw_format_t f = rig_format(raw, channels, 0, samples);
    f.rate_hz = rate;
    return f;
}

/* A generator without an arc in. */
static void open_source(rig_t *g, tw_format_t out, uint32_t preset)
{
    rig_prepare(g, "modulator", out, out);
    g->reset.rx = 0;
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 9;
    assert_int_equal(g->d->memreq(g->reset.fmt, 0, 1, extra, &arc), TW_OK);
    assert_int_equal(extra[0], tw_round_up(out.frame_bytes, 4));
    assert_int_equal(rig_reset(g, false, preset), 0);
}

static void generate(rig_t *g, void *out, uint32_t bytes)
{
    tw_xdm_t data = {out, bytes};
    assert_int_equal(rig_command(g, TW_CMD_RUN, 0, &data), 0);
    assert_int_equal(data.bytes, bytes);
}

/* Signal over everything that is not the sine of this frequency, its amplitude and phase free. */
static double purity_db(const double *x, uint32_t n, double turns)
{
    double a[3][4] = {{0}}; /* normal equations of cos, sin, 1 */
    for (uint32_t i = 0; i < n; i++) {
        const double b[3] = {cos(2 * M_PI * turns * i), sin(2 * M_PI * turns * i), 1};
        for (unsigned r = 0; r < 3; r++) {
            for (unsigned c = 0; c < 3; c++) {
                a[r][c] += b[r] * b[c];
            }
            a[r][3] += b[r] * x[i];
        }
    }
    for (unsigned p = 0; p < 3; p++) {
        for (unsigned r = 0; r < 3; r++) {
            const double f = r == p ? 0 : a[r][p] / a[p][p];
            for (unsigned c = 0; c < 4; c++) {
                a[r][c] -= f * a[p][c];
            }
        }
    }
    double signal = 0, rest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double w = a[0][3] / a[0][0] * cos(2 * M_PI * turns * i) + a[1][3] / a[1][1] * sin(2 * M_PI * turns * i);
        const double e = x[i] - w;
        signal += w * w;
        rest += e * e;
    }
    return 10 * log10(signal / rest);
}

static void a_sine_is_as_pure_as_its_type(void **state)
{
    (void)state;
    static const struct {
        tw_raw_t raw;
        double db;
    } types[] = {{TW_RAW_FP32, 135}, {TW_RAW_Q31, 135}, {TW_RAW_S16, 97}};
    static const float hz[] = {20, 997, 1000, 12345.678f, 23000};
    static float buffer[N];
    static double x[N];
    double worst[3] = {1000, 1000, 1000};
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        for (size_t k = 0; k < TW_COUNT(hz); k++) {
            const tw_format_t f = format(types[i].raw, 1, FRAME, 48000);
            static float y[N];
            rig_t g;
            open_source(&g, f, 1);
            assert_int_equal(rig_set_f32(&g, FREQUENCY, hz[k]), TW_OK);
            generate(&g, buffer, N / FRAME * f.frame_bytes);
            tw_signal_load(types[i].raw, buffer, 0, 1, N, y);
            for (uint32_t t = 0; t < N; t++) {
                x[t] = (double)y[t];
                if (types[i].raw == TW_RAW_Q31) {
                    int32_t w;
                    memcpy(&w, buffer + t, 4);
                    x[t] = w / 2147483648.0;
                }
            }
            const double db = purity_db(x, N, (double)hz[k] / 48000);
            worst[i] = db < worst[i] ? db : worst[i];
            rig_close(&g);
        }
        assert_true(worst[i] >= types[i].db);
    }
    print_message("THD+N of a sine: FP32 %.1f, Q31 %.1f, S16 %.1f dB\n", -worst[0], -worst[1], -worst[2]);
}

/* Ten minutes at 48 kHz: not a sample early or late. */
static void a_frequency_stays_for_hours(void **state)
{
    (void)state;
    const float hz = 1234.5678f;
    static float x[48000];
    rig_t g;
    open_source(&g, format(TW_RAW_FP32, 1, 480, 48000), 1);
    assert_int_equal(rig_set_f32(&g, FREQUENCY, hz), TW_OK);
    for (unsigned s = 0; s < 60; s++) {
        generate(&g, x, sizeof x);
    }
    for (uint32_t i = 0; i < 48000; i += 997) {
        const double turns = fmod((double)hz * (59 + i / 48000.0), 1.0);
        assert_true(fabs((double)x[i] - sin(2 * M_PI * turns)) < 2e-6);
    }
    rig_close(&g);
}

/* ---- aliases ------------------------------------------------------------------------------ */

/* Energy at bins that are no harmonic below half the rate, against the fundamental [dB]. Wave of k periods in n. */
static double alias_db(const float *x, uint32_t n, uint32_t k)
{
    double alias = 0, first = 0;
    for (uint32_t bin = 1; bin < n / 2; bin++) {
        double re = 0, im = 0;
        const double w = 2 * M_PI * bin / n, c = 2 * cos(w);
        double s1 = 0, s2 = 0;
        for (uint32_t i = 0; i < n; i++) { /* Goertzel */
            const double s = (double)x[i] + c * s1 - s2;
            s2 = s1;
            s1 = s;
        }
        re = s1 - s2 * cos(w);
        im = s2 * sin(w);
        const double power = re * re + im * im;
        first += bin == k ? power : 0;
        alias += bin % k != 0 ? power : 0;
    }
    return 10 * log10(alias / first);
}

static void edges_alias_less(void **state)
{
    (void)state;
    enum { PERIOD = 2048, K = 53 }; /* 1242 Hz at 48 kHz */
    static const struct {
        const char *name;
        uint8_t wave;
        double at_most, gain; /* [dB] */
    } cases[] = {{"square", 2, -32, 15}, {"saw", 5, -28, 15}, {"triangle", 6, -58, 10}};
    static float x[PERIOD], naive[PERIOD];
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        open_source(&g, format(TW_RAW_FP32, 1, FRAME, 48000), cases[i].wave);
        assert_int_equal(rig_set_f32(&g, FREQUENCY, 48000.0f * K / PERIOD), TW_OK);
        assert_int_equal(rig_set_u16(&g, PHASE, 77), TW_OK);
        generate(&g, x, sizeof x);
        for (uint32_t t = 0; t < PERIOD; t++) {
            const double p = fmod((double)t * K / PERIOD + 77.0 / 65536, 1.0);
            naive[t] = (float)(cases[i].wave == 2   ? (p < 0.5 ? 1 : -1)
                               : cases[i].wave == 5 ? 2 * p - 1
                                                    : (p < 0.25   ? 4 * p
                                                       : p < 0.75 ? 2 - 4 * p
                                                                  : 4 * p - 4));
        }
        const double db = alias_db(x, PERIOD, K), was = alias_db(naive, PERIOD, K);
        print_message("aliases of a %s at 1.24 kHz: %.1f dB, %.1f without care\n", cases[i].name, db, was);
        assert_true(db <= cases[i].at_most && db <= was - cases[i].gain);
        rig_close(&g);
    }
}

/* ---- changes ---------------------------------------------------------------------------------- */

static void no_change_of_level_offset_or_frequency_clicks(void **state)
{
    (void)state;
    static float x[4096];
    rig_t g;
    open_source(&g, format(TW_RAW_FP32, 1, FRAME, 48000), 1);
    assert_int_equal(rig_set_f32(&g, FREQUENCY, 100), TW_OK);
    generate(&g, x, 1024 * 4);
    assert_int_equal(rig_set_u16(&g, AMPLITUDE, 6554), TW_OK);
    generate(&g, x + 1024, 1024 * 4);
    assert_int_equal(rig_set_u16(&g, OFFSET, 16384), TW_OK);
    generate(&g, x + 2048, 1024 * 4);
    assert_int_equal(rig_set_f32(&g, FREQUENCY, 300), TW_OK);
    generate(&g, x + 3072, 1024 * 4);
    for (uint32_t i = 1; i < 4096; i++) {
        assert_true(fabsf(x[i] - x[i - 1]) < 2 * 3.1416f * 300 / 48000 * 0.1f + 0.9f / 64 + 0.014f);
    }
    assert_true(fabsf(rig_get_f32(&g, NOW) - 300) < 0.01f);
    rig_close(&g);
}

static void values_set_before_the_first_run_are_heard_at_once(void **state)
{
    (void)state;
    float x[FRAME];
    rig_t g;
    open_source(&g, format(TW_RAW_FP32, 1, FRAME, 48000), 1);
    assert_int_equal(rig_set_f32(&g, FREQUENCY, 0), TW_OK); /* a level */
    assert_int_equal(rig_set_u16(&g, PHASE, 16384), TW_OK); /* a quarter turn: the top of a sine */
    assert_int_equal(rig_set_u16(&g, AMPLITUDE, 32768), TW_OK);
    generate(&g, x, sizeof x);
    for (uint32_t i = 0; i < FRAME; i++) {
        assert_true(fabsf(x[i] - 32768.0f / 65535) < 1e-6f);
    }
    rig_close(&g);
}

/* ---- noises -------------------------------------------------------------------------------------- */

static double band_power(const float *x, uint32_t n, double lo, double hi)
{
    double power = 0;
    unsigned bins = 0;
    for (double f = lo; f < hi; f *= 1.012, bins++) { /* Goertzel in blocks of 4096 */
        const double bin = floor(f * 4096) / 4096, c = 2 * cos(2 * M_PI * bin);
        for (uint32_t at = 0; at + 4096 <= n; at += 4096) {
            double s1 = 0, s2 = 0;
            for (uint32_t i = 0; i < 4096; i++) {
                const double w = 0.5 - 0.5 * cos(2 * M_PI * i / 4096), s = w * (double)x[at + i] + c * s1 - s2;
                s2 = s1;
                s1 = s;
            }
            power += s1 * s1 + s2 * s2 - c * s1 * s2;
        }
    }
    return power / bins;
}

static void white_is_flat_and_pink_falls_3_db_an_octave(void **state)
{
    (void)state;
    static float x[1 << 17];
    for (unsigned pink = 0; pink < 2; pink++) {
        double octave[5], mean = 0, square = 0;
        rig_t g;
        open_source(&g, format(TW_RAW_FP32, 1, FRAME, 48000), pink ? 4 : 3);
        generate(&g, x, sizeof x);
        for (uint32_t i = 0; i < TW_COUNT(x); i++) {
            assert_true(fabsf(x[i]) <= 1);
            mean += (double)x[i] / TW_COUNT(x);
            square += (double)x[i] * (double)x[i] / TW_COUNT(x);
        }
        assert_true(fabs(mean) < (pink ? 0.05 : 0.01));
        assert_true(fabs(sqrt(square) / (pink ? 0.25 : 0.57735) - 1) < (pink ? 0.1 : 0.01));
        for (unsigned k = 0; k < 5; k++) {
            octave[k] = 10 * log10(band_power(x, TW_COUNT(x) / 4, pow(2, k) / 100, pow(2, k + 1) / 100));
        }
        for (unsigned k = 1; k < 5; k++) {
            assert_true(fabs(octave[k] - octave[k - 1] + (pink ? 3.01 : 0)) < 0.7);
        }
        rig_close(&g);
    }
}

static void noise_is_the_same_for_the_same_seed(void **state)
{
    (void)state;
    float x[3][256];
    rig_t g;
    open_source(&g, format(TW_RAW_FP32, 1, FRAME, 48000), 3);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t wire[4];
        tw_put_le32(wire, i == 1 ? 5 : 9);
        assert_int_equal(rig_set(&g, SEED, wire, 4), TW_OK);
        generate(&g, x[i], sizeof x[i]);
    }
    assert_memory_equal(x[0], x[2], sizeof x[0]);
    assert_memory_not_equal(x[0], x[1], sizeof x[0]);
    rig_close(&g);
}

/* ---- levels of a port ------------------------------------------------------------------------------ */

static void bits_of_sigma_delta_and_pwm_have_the_mean_asked_for(void **state)
{
    (void)state;
    static int16_t x[64];
    static float y[64 * 256];
    for (unsigned wave = 9; wave <= 10; wave++) {
        for (int level = -24576; level <= 24576; level += 8192) {
            double mean = 0;
            rig_t g;
            for (unsigned i = 0; i < 64; i++) {
                x[i] = (int16_t)level;
            }
            rig_open(&g, "modulator", format(TW_RAW_Q15, 1, 64, 0), format(TW_RAW_FP32, 1, 64 * 256, 768000), wave);
            assert_int_equal(rig_set_f32(&g, MOD_FREQUENCY, 3000), TW_OK); /* each word for 256 bits */
            assert_int_equal(rig_set_f32(&g, FREQUENCY, 3000), TW_OK);
            assert_int_equal(rig_set_u8(&g, SOURCE, 2), TW_OK);
            rig_run(&g, x, sizeof x, y, sizeof y);
            for (uint32_t i = 0; i < TW_COUNT(y); i++) {
                assert_true(y[i] == 1.0f || y[i] == -1.0f);
                mean += (double)y[i] / TW_COUNT(y);
            }
            if (!(fabs(mean - level / 32768.0) < 0.0081)) { /* a sample of PWM is 2 / 256 */
                fail_msg("wave %u: mean %.4f, wanted %.4f", wave, mean, level / 32768.0);
            }
            rig_close(&g);
        }
    }
}

/* 1200 Hz, frequency by bits, index 8000h, 300 Hz: so the public node description has it. */
static void the_references_example_gives_900_and_1500_hz(void **state)
{
    (void)state;
    const uint8_t all[] = {1, 0xFF, 0xFF, 0, 0, 0, 0, 0x96, 0x44, 0, 0, 1, 1, 0, 0x80, 0, 0, 0, 0, 0x96, 0x43};
    for (uint8_t bit = 0; bit < 2; bit++) {
        int16_t y[160];
        rig_t g;
        rig_open(&g, "modulator", format(TW_RAW_U1, 1, 8, 0), format(TW_RAW_S16, 1, 160, 48000), 0);
        assert_int_equal(rig_set(&g, 256, all, sizeof all), TW_OK);
        uint8_t bits = bit ? 0xFF : 0;
        tw_xdm_t data[2] = {{&bits, 1}, {y, sizeof y}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        assert_int_equal(data[1].bytes, sizeof y);
        assert_true(fabsf(rig_get_f32(&g, NOW) - (bit ? 900.0f : 1500.0f)) < 0.01f);
        rig_close(&g);
    }
}

/* ---- streams ------------------------------------------------------------------------------------------ */

static void pieces_make_the_same_stream(void **state)
{
    (void)state;
    enum { BITS_N = 64, OUT = BITS_N * 37 };
    static uint8_t bits[BITS_N / 8];
    static int16_t whole[2 * OUT], parts[2 * OUT];
    uint32_t seed = 3;
    for (unsigned i = 0; i < sizeof bits; i++) {
        bits[i] = (uint8_t)rig_noise(&seed);
    }
    for (unsigned one = 0; one < 2; one++) {
        rig_t g;
        uint32_t used = 0, made = 0;
        rig_open(&g, "modulator", format(TW_RAW_U8, 1, 1, 0), format(TW_RAW_S16, 2, 37, 37000), 1);
        assert_int_equal(rig_set_f32(&g, MOD_FREQUENCY, 1000), TW_OK);
        assert_int_equal(rig_set_f32(&g, FREQUENCY, 4000), TW_OK);
        assert_int_equal(rig_set_u8(&g, MODULATION, 2), TW_OK);
        assert_int_equal(rig_set_u8(&g, SOURCE, 1), TW_OK);
        for (unsigned turn = 0; turn < 5000 && made < sizeof parts; turn++) {
            const uint32_t room = one ? 148 * (turn % 4) : sizeof whole, give = one ? turn % 3 : sizeof bits;
            tw_xdm_t data[2] = {{bits + used, tw_min_u32(give, sizeof bits - used)},
                                {(uint8_t *)(one ? parts : whole) + made, tw_min_u32(room, sizeof parts - made)}};
            assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
            assert_true(data[1].bytes % 148 == 0);
            used += data[0].bytes;
            made += data[1].bytes;
        }
        assert_int_equal(made, sizeof whole);
        rig_close(&g);
    }
    assert_memory_equal(whole, parts, sizeof whole);
    for (uint32_t i = 0; i < OUT; i++) { /* every channel alike */
        assert_int_equal(whole[2 * i], whole[2 * i + 1]);
    }
}

static void what_cannot_be_generated_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t in, out, in_channels;
        float rate;
        uint32_t preset;
        tw_err_t err;
    } cases[] = {
        {"words", TW_RAW_Q15, TW_RAW_S16, 1, 16000, 12, TW_OK},
        {"bits", TW_RAW_U1, TW_RAW_Q31, 1, 16000, 0, TW_OK},
        {"two channels", TW_RAW_U1, TW_RAW_Q31, 2, 16000, 0, TW_E_IMG_FORMAT},
        {"no rate", TW_RAW_U1, TW_RAW_Q31, 1, 0, 0, TW_E_IMG_FORMAT},
        {"bits out", TW_RAW_U1, TW_RAW_U1, 1, 16000, 0, TW_E_IMG_RAW},
        {"times in", TW_RAW_TIME16, TW_RAW_S16, 1, 16000, 0, TW_E_IMG_RAW},
        {"no such wave", TW_RAW_U1, TW_RAW_S16, 1, 16000, 13, TW_E_PARAM_PRESET},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        rig_prepare(&g, "modulator", format((tw_raw_t)cases[i].in, cases[i].in_channels, 8, 16000),
                    format((tw_raw_t)cases[i].out, 1, 8, cases[i].rate));
        if (rig_reset(&g, false, cases[i].preset) != (uint32_t)-cases[i].err) {
            fail_msg("%s", cases[i].why);
        }
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sine_is_as_pure_as_its_type),
        cmocka_unit_test(a_frequency_stays_for_hours),
        cmocka_unit_test(edges_alias_less),
        cmocka_unit_test(no_change_of_level_offset_or_frequency_clicks),
        cmocka_unit_test(values_set_before_the_first_run_are_heard_at_once),
        cmocka_unit_test(white_is_flat_and_pink_falls_3_db_an_octave),
        cmocka_unit_test(noise_is_the_same_for_the_same_seed),
        cmocka_unit_test(bits_of_sigma_delta_and_pwm_have_the_mean_asked_for),
        cmocka_unit_test(the_references_example_gives_900_and_1500_hz),
        cmocka_unit_test(pieces_make_the_same_stream),
        cmocka_unit_test(what_cannot_be_generated_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
