/* Noise goes down, speech-like sounds stay, and the readings say so. */
#include "tests/unit/node_rig.h"
#include <math.h>

#define PI 3.14159265358979323846
enum { RATE = 16000, FRAME = 320, SECONDS = 3, N = RATE * SECONDS };

static uint32_t seed = 2463534242u;
static int16_t in[N], out[N];

/* Half a second of tones, half a second of noise alone, and so on: syllables over a steady hiss. */
static void make_signal(void)
{
    for (unsigned i = 0; i < N; i++) {
        const double hiss = 300 * (double)(int32_t)rig_noise(&seed) / 2147483648.0;
        const double swell = sin(PI * 4 * i / RATE);
        const bool speaking = i % RATE < RATE / 2;
        double tone = 0;
        for (unsigned h = 1; h < 12; h++) {
            tone += 600 * sin(2 * PI * 180 * h * i / RATE + h * h);
        }
        in[i] = (int16_t)(hiss + (speaking ? swell * swell * tone : 0));
    }
}

static double level_db(const int16_t *x, unsigned from, unsigned to)
{
    double sum = 0;
    for (unsigned i = from; i < to; i++) {
        sum += (double)x[i] * x[i];
    }
    return 10 * log10(sum / (to - from) + 1e-9);
}

static void play(rig_t *g)
{
    for (unsigned at = 0; at < N; at += FRAME) {
        assert_int_equal(rig_run(g, in + at, FRAME * 2, out + at, FRAME * 2), 0);
    }
}

/* Levels of the last pause and of the last tones, against those of the input a frame earlier. */
static void levels(double *pause, double *speech)
{
    const unsigned p = 2 * RATE + RATE * 6 / 10, q = 3 * RATE - FRAME, s = 2 * RATE + RATE / 10,
                   e = 2 * RATE + RATE * 4 / 10;
    *pause = level_db(out, p, q) - level_db(in, p - FRAME, q - FRAME);
    *speech = level_db(out, s, e) - level_db(in, s - FRAME, e - FRAME);
}

static void pauses_go_down_and_speech_stays(void **state)
{
    (void)state;
    make_signal();
    static const struct {
        uint32_t preset;
        double most; /* of the pause [dB] */
    } cases[] = {{1, -9}, {2, -3}, {3, -15}};
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        double pause, speech;
        rig_open(&g, "noise_suppression", rig_format(TW_RAW_S16, 1, 0, FRAME), rig_format(TW_RAW_S16, 1, 0, FRAME),
                 cases[i].preset);
        play(&g);
        levels(&pause, &speech);
        print_message("preset %u: pause %.1f dB, speech %.1f dB\n", cases[i].preset, pause, speech);
        assert_true(pause < cases[i].most && speech > -3 && speech < 3);
        rig_close(&g);
    }
}

static void zero_db_passes_the_signal_one_frame_later(void **state)
{
    (void)state;
    rig_t g;
    make_signal();
    rig_open(&g, "noise_suppression", rig_format(TW_RAW_S16, 1, 0, FRAME), rig_format(TW_RAW_S16, 1, 0, FRAME), 1);
    assert_int_equal(rig_set_u8(&g, 1, 0), TW_OK);
    play(&g);
    for (unsigned i = 2 * FRAME; i < N; i++) {
        assert_true(abs(out[i] - in[i - FRAME]) <= 2);
    }
    rig_close(&g);
}

static void speech_and_gain_can_be_read(void **state)
{
    (void)state;
    rig_t g;
    unsigned talking = 0, silent = 0;
    make_signal();
    rig_open(&g, "noise_suppression", rig_format(TW_RAW_S16, 1, 0, FRAME), rig_format(TW_RAW_S16, 1, 0, FRAME), 4);
    assert_int_equal(rig_set_u8(&g, 5, 90), TW_OK);
    assert_int_equal(rig_set_u8(&g, 6, 80), TW_OK); /* it falls slowly */
    for (unsigned at = 0; at < N; at += FRAME) {
        uint8_t v;
        assert_int_equal(rig_run(&g, in + at, FRAME * 2, out + at, FRAME * 2), 0);
        assert_int_equal(rig_get(&g, 17, &v, 1), 1);
        const unsigned phase = at % RATE;
        talking += v != 0 && at >= RATE && phase > RATE / 10 && phase < RATE * 4 / 10;
        silent += v == 0 && at >= RATE && phase > RATE * 8 / 10;
    }
    print_message("%u of 30 frames of tones, %u of 18 frames of pauses told apart\n", talking, silent);
    assert_true(talking >= 20 && silent >= 15);
    int8_t gain;
    assert_int_equal(rig_get(&g, 18, &gain, 1), 1);
    assert_true(gain >= -20 && gain <= 30);
    rig_close(&g);
}

static void a_warm_reset_keeps_what_it_learnt(void **state)
{
    (void)state;
    rig_t g;
    make_signal();
    rig_open(&g, "noise_suppression", rig_format(TW_RAW_S16, 1, 0, FRAME), rig_format(TW_RAW_S16, 1, 0, FRAME), 3);
    play(&g);
    assert_int_equal(rig_reset(&g, true, 3), 0);
    const unsigned p = RATE * 6 / 10;
    for (unsigned at = p / FRAME * FRAME; at < RATE - FRAME; at += FRAME) {
        assert_int_equal(rig_run(&g, in + at, FRAME * 2, out + at, FRAME * 2), 0);
    }
    assert_true(level_db(out, RATE - 3 * FRAME, RATE - FRAME) - level_db(in, RATE - 3 * FRAME, RATE - FRAME) < -12);
    rig_close(&g);
}

static void frames_it_cannot_transform_are_refused(void **state)
{
    (void)state;
    static const struct {
        tw_raw_t raw;
        unsigned channels, samples;
        float rate;
        tw_err_t want;
    } cases[] = {
        {TW_RAW_S16, 1, 161, 16000, TW_E_IMG_FORMAT}, {TW_RAW_S16, 2, 160, 16000, TW_E_IMG_FORMAT},
        {TW_RAW_S16, 1, 160, 1000, TW_E_IMG_FORMAT},  {TW_RAW_S16, 1, 8, 16000, TW_E_IMG_FORMAT},
        {TW_RAW_FP32, 1, 160, 16000, TW_E_IMG_RAW},   {TW_RAW_S16, 1, 160, 1e9f, TW_E_IMG_FORMAT},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        tw_format_t f = rig_format(cases[i].raw, cases[i].channels, 0, cases[i].samples);
        f.rate_hz = cases[i].rate;
        rig_prepare(&g, "noise_suppression", f, f);
        assert_int_equal(rig_reset(&g, false, 0), (uint32_t)-cases[i].want);
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_go_down_and_speech_stays),
        cmocka_unit_test(zero_db_passes_the_signal_one_frame_later),
        cmocka_unit_test(speech_and_gain_can_be_read),
        cmocka_unit_test(a_warm_reset_keeps_what_it_learnt),
        cmocka_unit_test(frames_it_cannot_transform_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
