/* The resampler: sines through any two rates, what lies beyond its bands, two clocks that drift apart. */
#include "engine/node/resample.h"
#include "engine/node/signal.h"
#include "tests/unit/node_rig.h"
#include <math.h>

enum { STOP, UP, DOWN, DRIFT, AUTOMATIC, NOW = 16, FILL };
enum { IN_MAX = 12000, OUT_MAX = 150000 };

static tw_format_t format(tw_raw_t raw, unsigned channels, unsigned layout, uint32_t samples, float rate)
{
    tw_format_t f = rig_format(raw, channels, layout, samples);
    f.rate_hz = rate;
    return f;
}

static size_t place(const tw_format_t *f, uint32_t t, uint32_t c)
{
    const uint32_t k = t % f->samples;
    return (size_t)(t - k) * f->channels + (f->interleave ? (size_t)c * f->samples + k : (size_t)k * f->channels + c);
}

static uint32_t seed = 12;

/* All of x through the node in pieces of any whole frames. @return samples a channel made */
static uint32_t feed(rig_t *g, const uint8_t *x, uint32_t bytes, uint8_t *y, uint32_t room)
{
    const uint32_t in = g->fmt[0].frame_bytes, out = g->fmt[1].frame_bytes;
    uint32_t used = 0, made = 0;
    while (bytes - used >= in && room - made >= out) {
        const uint32_t give = tw_min_u32((1 + rig_noise(&seed) % 4) * in, bytes - used);
        const uint32_t take = tw_min_u32((1 + rig_noise(&seed) % 4) * out, room - made);
        tw_xdm_t data[2] = {{(void *)(uintptr_t)(x + used), give / in * in}, {y + made, take / out * out}};
        assert_int_equal(rig_command(g, TW_CMD_RUN, 0, data), 0);
        assert_true(data[0].bytes % in == 0 && data[1].bytes % out == 0);
        used += data[0].bytes;
        made += data[1].bytes;
    }
    return made / out * g->fmt[1].samples;
}

/* A sine through the node. @param ppm  its drift. @return signal to error [dB]; *gain_db: of the sine that is there */
static double sine_db(tw_format_t in, tw_format_t out, double hz, float ppm, double *gain_db)
{
    static int32_t x[IN_MAX], y[OUT_MAX];
    const double ratio = (double)out.rate_hz / (double)in.rate_hz / (1 + (double)ppm * 1e-6);
    const uint32_t n =
        tw_min_u32(IN_MAX / in.channels, (uint32_t)(OUT_MAX / ratio / in.channels / 1.2)) / in.samples * in.samples;
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t c = 0; c < in.channels; c++) {
            const float v = (float)(0.9 * sin(2 * M_PI * hz / (double)in.rate_hz * t + c));
            tw_signal_store(in.raw, x, place(&in, t, c), 1, 1, &v);
        }
    }
    rig_t g;
    rig_open(&g, "resampler", in, out, 0);
    assert_int_equal(rig_set_f32(&g, DRIFT, ppm), TW_OK);
    const uint32_t made = feed(&g, (const uint8_t *)x, n / in.samples * in.frame_bytes, (uint8_t *)y, sizeof y);
    rig_close(&g);
    assert_true(fabs(made - n * ratio) < 3 * (out.samples + in.samples * ratio) + 2);
    const double late = ceil(32 / (ratio < 1 ? (double)out.rate_hz / (double)in.rate_hz : 1));
    double signal = 0, error = 0, power = 0;
    for (uint32_t t = (uint32_t)(3 * late * ratio); t < made; t++) {
        for (uint32_t c = 0; c < out.channels; c++) {
            float v;
            tw_signal_load(out.raw, y, place(&out, t, c), 1, 1, &v);
            const double want = 0.9 * sin(2 * M_PI * hz / (double)in.rate_hz * (t / ratio - late) + c);
            signal += want * want;
            power += (double)v * (double)v;
            error += ((double)v - want) * ((double)v - want);
        }
    }
    *gain_db = 10 * log10(power / signal);
    return 10 * log10(signal / error);
}

static void a_sine_keeps_95_db_between_any_two_rates(void **state)
{
    (void)state;
    static const struct {
        float from, to, ppm;
    } rates[] = {
        {48000, 44100, 0},   {16000, 48000, 0},       {44100, 48000, 0},   {48000, 16000, 0},
        {8000, 44100, 0},    {48000, 47999, 0},       {48000, 48000, 100}, {48000, 48000, -731},
        {44100, 48000, 333}, {31415.9f, 27182.8f, 0}, {48000, 3000, 0},    {1000, 44100.5f, -10},
    };
    double worst = 1000, gain;
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        const double low = (double)fminf(rates[i].from, rates[i].to);
        const double hz = low > 4000 ? 1000 : 0.1 * low;
        const double db = sine_db(format(TW_RAW_FP32, 1, 0, 48, rates[i].from),
                                  format(TW_RAW_FP32, 1, 0, 40, rates[i].to), hz, rates[i].ppm, &gain);
        print_message("%g to %g Hz, %+g ppm: %.1f dB\n", (double)rates[i].from, (double)rates[i].to,
                      (double)rates[i].ppm, db);
        worst = db < worst ? db : worst;
    }
    assert_true(worst >= 95);
}

static void the_pass_band_is_flat_and_nothing_folds_back(void **state)
{
    (void)state;
    double gain, ripple = 0, folded = -1000;
    for (double f = 0.01; f <= 0.4; f += 0.03) {
        (void)sine_db(format(TW_RAW_FP32, 1, 0, 48, 48000), format(TW_RAW_FP32, 1, 0, 40, 44100), f * 44100, 0, &gain);
        ripple = fabs(gain) > ripple ? fabs(gain) : ripple;
    }
    for (double f = 0.505; f < 1.49; f += 0.07) { /* above half of 16 kHz */
        (void)sine_db(format(TW_RAW_FP32, 1, 0, 48, 48000), format(TW_RAW_FP32, 1, 0, 40, 16000), f * 16000, 0, &gain);
        folded = gain > folded ? gain : folded;
    }
    print_message("pass band +-%.5f dB, stop band %.1f dB\n", ripple, folded);
    assert_true(ripple < 0.001 && folded < -95);
}

static void any_types_layouts_and_channels(void **state)
{
    (void)state;
    static const tw_raw_t raws[] = {TW_RAW_S16, TW_RAW_Q15, TW_RAW_Q31, TW_RAW_FP32};
    for (unsigned round = 0; round < 16; round++) {
        const tw_raw_t a = raws[round % 4], b = raws[round / 4];
        const unsigned channels = 1 + rig_noise(&seed) % 5;
        const bool short_words = a == TW_RAW_S16 || a == TW_RAW_Q15 || b == TW_RAW_S16 || b == TW_RAW_Q15;
        double gain;
        const double db =
            sine_db(format(a, channels, rig_noise(&seed) % 2, 1 + rig_noise(&seed) % 50, 16000),
                    format(b, channels, rig_noise(&seed) % 2, 1 + rig_noise(&seed) % 50, 22050), 900, 0, &gain);
        if (!(db >= (short_words ? 90 : 95))) {
            fail_msg("%s to %s: %.1f dB", tw_raw_name(a), tw_raw_name(b), db);
        }
    }
}

/* The rows between are a cubic; the definition says what they should be. */
static void filters_between_the_rows_are_the_definition(void **state)
{
    (void)state;
    static const float rates[][2] = {{48000, 48000}, {48000, 20000}};
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        tw_drift_t d;
        assert_true(tw_drift_plan(&d, rates[i][0], rates[i][1]));
        float *table = malloc(sizeof(float) * tw_drift_table(&d)), *row = malloc(sizeof(float) * 2 * d.half);
        tw_drift_design(&d, table);
        for (unsigned k = 0; k < 200; k++) {
            const uint32_t phase = k == 0 ? 0 : k == 1 ? UINT32_MAX : rig_noise(&seed);
            double sum = 0, worst = 0;
            tw_drift_filter(&d, table, phase, row);
            for (uint32_t n = 0; n < 2 * d.half; n++) {
                sum += tw_resample_tap(2.0 * d.half - 1 - n + phase / 4294967296.0 - d.half, d.low, d.half);
            }
            for (uint32_t n = 0; n < 2 * d.half; n++) {
                const double u = 2.0 * d.half - 1 - n + phase / 4294967296.0 - d.half;
                worst = fmax(worst, fabs((double)row[n] - tw_resample_tap(u, d.low, d.half) / sum));
            }
            assert_true(worst < 1e-6);
        }
        free(table);
        free(row);
    }
}

static void sums_side_by_side_are_the_sum(void **state)
{
    (void)state;
    float a[70], b[70];
    for (uint32_t n = 0; n <= 70; n++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            a[i] = (float)(int32_t)rig_noise(&seed) / 2147483648.0f;
            b[i] = (float)(int32_t)rig_noise(&seed) / 2147483648.0f;
            sum += (double)a[i] * (double)b[i];
        }
        assert_true(fabs((double)tw_drift_dot(a, b, n) - sum) < 3e-6);
    }
}

/* An hour of 44.1 to 48 kHz: 160 for 147, to the sample. */
static void rates_of_one_clock_never_part(void **state)
{
    (void)state;
    tw_drift_t d;
    assert_true(tw_drift_plan(&d, 44100, 48000));
    const uint64_t steps = 48000ull * 3600;
    const unsigned __int128 sum = (unsigned __int128)d.step * steps + (unsigned __int128)d.rest * (steps / d.den);
    assert_true(steps % d.den == 0 && sum == (unsigned __int128)44100 * 3600 << 32);
}

/* ---- drift ------------------------------------------------------------------------------- */

static void drift_is_set_by_buttons_or_by_value(void **state)
{
    (void)state;
    static const struct {
        uint8_t button;
        float ppm;
    } turns[] = {{UP, 100}, {DOWN, -100}, {STOP, 0}, {UP, 100}};
    rig_t g;
    uint8_t v;
    rig_open(&g, "resampler", format(TW_RAW_S16, 1, 0, 8, 48000), format(TW_RAW_S16, 1, 0, 8, 48000), 1);
    for (size_t i = 0; i < TW_COUNT(turns); i++) {
        assert_int_equal(rig_set_u8(&g, turns[i].button, 0), TW_OK);
        assert_int_equal(rig_set_u8(&g, turns[i].button, 1), TW_OK);
        assert_true(rig_get_f32(&g, NOW) == turns[i].ppm);
        for (uint8_t b = STOP; b <= DOWN; b++) {
            assert_int_equal(rig_get(&g, b, &v, 1), 1);
            assert_int_equal(v, b == turns[i].button);
        }
        assert_int_equal(rig_get(&g, AUTOMATIC, &v, 1), 1);
        assert_int_equal(v, 0);
    }
    assert_int_equal(rig_set_f32(&g, DRIFT, -12.5f), TW_OK);
    assert_true(rig_get_f32(&g, NOW) == -12.5f);
    rig_close(&g);
}

/* As tw_arc_t counts: data are moved to the front only when a frame does not fit behind them. */
typedef struct line {
    uint32_t read, write, size;
} line_t;

static uint32_t tail(line_t *l, uint32_t frame)
{
    if (l->size - l->write < frame) {
        *l = (line_t){0, l->write - l->read, l->size};
    }
    return l->size - l->write;
}

/* Arcs of 80 ms: frames of 1/350 s in, of 20 ms out; the input's clock is wrong by `ppm`. What the node can see of it
 * is a frame in more or less now and then. @return ppm it found, over the last two minutes */
static double found_drift(float ppm, unsigned seconds, unsigned *lost)
{
    enum { F_IN = 21, F_OUT = 160, IN = 28 * F_IN, OUT = 4 * F_OUT };
    static int16_t in[IN], out[OUT];
    rig_t g;
    line_t a = {0, 0, IN}, b = {0, 0, OUT};
    double due = 0, sum = 0;
    rig_open(&g, "resampler", format(TW_RAW_S16, 1, 0, F_IN, 7350), format(TW_RAW_S16, 1, 0, F_OUT, 8000), 1);
    *lost = 0;
    for (unsigned tick = 0; tick < seconds * 50; tick++) {
        due += 7 + 7 * (double)ppm * 1e-6;
        for (; due >= 1; due -= 1) {
            const bool fits = tail(&a, F_IN) >= F_IN;
            *lost += !fits;
            a.write += fits ? F_IN : 0;
        }
        while (a.write - a.read >= F_IN && tail(&b, F_OUT) >= F_OUT) {
            tw_xdm_t data[2] = {{in, (a.write - a.read) / F_IN * F_IN * 2}, {out, tail(&b, F_OUT) / F_OUT * F_OUT * 2}};
            assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
            a.read += data[0].bytes / 2;
            b.write += data[1].bytes / 2;
            assert_true(data[0].bytes + data[1].bytes != 0);
        }
        const bool there = b.write - b.read >= F_OUT;
        *lost += !there && tick > 50 * 60; /* the first minute fills the arc */
        b.read += there ? F_OUT : 0;
        sum += tick >= (seconds - 120) * 50 ? (double)rig_get_f32(&g, NOW) / (120 * 50) : 0;
    }
    rig_close(&g);
    return sum;
}

static void two_clocks_apart_are_followed(void **state)
{
    (void)state;
    static const float ppm[] = {50, -120, 300};
    for (size_t i = 0; i < TW_COUNT(ppm); i++) {
        unsigned lost;
        const double found = found_drift(ppm[i], 400, &lost);
        print_message("clock %+g ppm: found %+.1f, %u frames lost\n", (double)ppm[i], found, lost);
        assert_int_equal(lost, 0);
        assert_true(fabs(found - (double)ppm[i]) < 25);
    }
}

static void what_cannot_be_resampled_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t raw, channels;
        float from, to;
        uint32_t preset;
        tw_err_t err;
    } cases[] = {
        {"any two", TW_RAW_Q31, 2, 44100, 47999.9f, 1, TW_OK},
        {"no rate", TW_RAW_Q31, 2, 0, 48000, 0, TW_E_IMG_FORMAT},
        {"more than 64 times", TW_RAW_S16, 2, 48000, 740, 0, TW_E_IMG_FORMAT},
        {"channels", TW_RAW_S16, 1, 48000, 8000, 0, TW_E_IMG_ARC_FORMAT},
        {"bytes", TW_RAW_S8, 2, 48000, 8000, 0, TW_E_IMG_RAW},
        {"no such preset", TW_RAW_S16, 2, 48000, 8000, 2, TW_E_PARAM_PRESET},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        rig_prepare(&g, "resampler", format((tw_raw_t)cases[i].raw, 2, 0, 8, cases[i].from),
                    format(TW_RAW_S16, cases[i].channels, 0, 8, cases[i].to));
        if (rig_reset(&g, false, cases[i].preset) != (uint32_t)-cases[i].err) {
            fail_msg("%s", cases[i].why);
        }
        if (cases[i].err == TW_OK) {
            g.reset.mem_bytes[0]--;
            assert_int_equal(rig_reset(&g, false, 0), -TW_E_IMG_MEM);
        }
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sine_keeps_95_db_between_any_two_rates),
        cmocka_unit_test(the_pass_band_is_flat_and_nothing_folds_back),
        cmocka_unit_test(any_types_layouts_and_channels),
        cmocka_unit_test(filters_between_the_rows_are_the_definition),
        cmocka_unit_test(sums_side_by_side_are_the_sum),
        cmocka_unit_test(rates_of_one_clock_never_part),
        cmocka_unit_test(drift_is_set_by_buttons_or_by_value),
        cmocka_unit_test(two_clocks_apart_are_followed),
        cmocka_unit_test(what_cannot_be_resampled_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
