/* Coefficients against the definition, written out in double. */
#include "tests/unit/node_rig.h"
#include <math.h>

#define PI 3.14159265358979323846
enum { N_MAX = 8192 };

static uint32_t seed = 521288629u;
static float x[N_MAX];

static double mel(double hz)
{
    return 1127.0 * log(1.0 + hz / 700.0);
}

typedef struct front {
    uint32_t n_fft, frame, n_mel;
    double rate, low, high;
} front_t;

/* One vector of the frame that begins at s. */
static void plain(const front_t *f, const float *s, uint32_t n_coef, double *c)
{
    double ln[64], step = (mel(f->high) - mel(f->low)) / (f->n_mel + 1);
    for (uint32_t m = 0; m < f->n_mel; m++) {
        double e = 0;
        for (uint32_t k = 0; k <= f->n_fft / 2; k++) {
            const double at = (mel(k * f->rate / f->n_fft) - mel(f->low)) / step - (m + 1);
            const double weight = 1 - fabs(at);
            if (weight <= 0) {
                continue;
            }
            double re = 0, im = 0;
            for (uint32_t t = 0; t < f->frame; t++) {
                const double w = 0.5 - 0.5 * cos(2 * PI * t / f->frame);
                re += w * (double)s[t] * cos(2 * PI * k * t / f->n_fft);
                im += w * (double)s[t] * sin(2 * PI * k * t / f->n_fft);
            }
            e += weight * hypot(re, im);
        }
        ln[m] = log(e + 1e-6);
    }
    for (uint32_t k = 0; k < n_coef; k++) {
        c[k] = 0;
        for (uint32_t m = 0; m < f->n_mel && k < f->n_mel; m++) {
            c[k] += sqrt(2.0 / f->n_mel) * ln[m] * cos(PI * k * (m + 0.5) / f->n_mel);
        }
    }
}

static void make_signal(void)
{
    for (unsigned i = 0; i < N_MAX; i++) {
        const double n = (double)(int32_t)rig_noise(&seed) / 2147483648.0;
        x[i] = (float)(0.3 * sin(0.05 * i) + 0.1 * sin(0.4 * i) + 0.02 * n);
    }
}

static void each_vector_is_the_definition(void **state)
{
    (void)state;
    static const struct {
        front_t f;
        uint32_t preset, hop, coefs;
    } cases[] = {
        {{512, 480, 40, 16000, 20, 4000}, 1, 320, 10},  {{512, 400, 40, 16000, 20, 7600}, 2, 160, 13},
        {{512, 512, 20, 16000, 100, 4000}, 3, 512, 24}, /* more than there are: zeros */
        {{256, 240, 40, 8000, 20, 4000}, 0, 160, 40},   {{2048, 1440, 40, 48000, 20, 4000}, 1, 960, 12},
    };
    make_signal();
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        tw_format_t in = rig_format(TW_RAW_FP32, 1, 0, 160), out = rig_format(TW_RAW_FP32, 1, 0, cases[i].coefs);
        in.rate_hz = out.rate_hz = (float)cases[i].f.rate;
        rig_open(&g, "mfcc", in, out, cases[i].preset);
        float got[64];
        uint32_t used = 0, vectors = 0;
        while (vectors < 4) {
            tw_xdm_t data[2] = {{x + used, 160 * 4}, {got, cases[i].coefs * 4}};
            assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
            used += data[0].bytes / 4;
            if (data[1].bytes == 0) {
                continue;
            }
            double want[64];
            vectors++;
            const uint32_t end = vectors * cases[i].hop;
            if (end < cases[i].f.frame) {
                continue; /* partly before the signal */
            }
            plain(&cases[i].f, x + end - cases[i].f.frame, cases[i].coefs, want);
            for (uint32_t k = 0; k < cases[i].coefs; k++) {
                if (fabs(want[k] - (double)got[k]) > 2e-4) {
                    fail_msg("case %zu, vector %u, coefficient %u: %g, not %g", i, vectors, k, (double)got[k], want[k]);
                }
            }
        }
        rig_close(&g);
    }
}

static void integers_are_scaled_by_the_gain_and_saturate(void **state)
{
    (void)state;
    rig_t f, q, s;
    const tw_format_t in = rig_format(TW_RAW_FP32, 1, 0, 320);
    rig_open(&f, "mfcc", in, rig_format(TW_RAW_FP32, 1, 0, 10), 1);
    rig_open(&q, "mfcc", in, rig_format(TW_RAW_Q15, 1, 0, 10), 1);
    rig_open(&s, "mfcc", in, rig_format(TW_RAW_S8, 1, 0, 10), 1);
    assert_int_equal(rig_set_f32(&s, 8, 1.0f / 8), TW_OK);
    make_signal();
    for (unsigned i = 0; i < 4; i++) {
        float a[10];
        int16_t b[10];
        int8_t c[10];
        assert_int_equal(rig_run(&f, x + 320 * i, 1280, a, sizeof a), 0);
        assert_int_equal(rig_run(&q, x + 320 * i, 1280, b, sizeof b), 0);
        assert_int_equal(rig_run(&s, x + 320 * i, 1280, c, sizeof c), 0);
        for (unsigned k = 0; k < 10; k++) {
            assert_true(fabs((double)a[k] / 64 * 32768 - b[k]) <= 0.51);
            const double v = (double)a[k] / 8 * 128;
            assert_true(fabs((v > 127 ? 127 : v < -128 ? -128 : v) - c[k]) <= 0.51);
        }
    }
    rig_close(&f);
    rig_close(&q);
    rig_close(&s);
}

static void values_are_checked_where_they_come_in(void **state)
{
    (void)state;
    rig_t g;
    rig_open(&g, "mfcc", rig_format(TW_RAW_S16, 1, 0, 320), rig_format(TW_RAW_FP32, 1, 0, 10), 0);
    assert_int_equal(rig_set_u16(&g, 1, 500), TW_E_PARAM_RANGE);  /* no power of two */
    assert_int_equal(rig_set_u16(&g, 1, 1024), TW_E_PARAM_RANGE); /* no memory for it at 16 kHz */
    assert_int_equal(rig_set_u16(&g, 1, 32), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_u16(&g, 1, 128), TW_OK);
    assert_int_equal(rig_set_u8(&g, 4, 65), TW_E_PARAM_RANGE);
    assert_int_equal(rig_set_u8(&g, 16, 0), TW_E_PARAM_READ_ONLY);
    uint8_t back[2];
    assert_int_equal(rig_get(&g, 1, back, 2), 2);
    assert_int_equal(tw_get_le16(back), 128);
    rig_close(&g);
}

/* Any order of values runs: bands turned round, one band, frames longer than the transform. */
static void odd_values_give_finite_vectors(void **state)
{
    (void)state;
    rig_t g;
    rig_open(&g, "mfcc", rig_format(TW_RAW_FP32, 1, 0, 320), rig_format(TW_RAW_FP32, 1, 0, 64), 0);
    make_signal();
    for (unsigned round = 0; round < 200; round++) {
        (void)rig_set_u16(&g, 1, (uint16_t)(64u << rig_noise(&seed) % 4));
        (void)rig_set_u16(&g, 2, (uint16_t)(rig_noise(&seed) % 513));
        (void)rig_set_u16(&g, 3, (uint16_t)(rig_noise(&seed) % 400));
        (void)rig_set_u8(&g, 4, (uint8_t)(1 + rig_noise(&seed) % 64));
        (void)rig_set_f32(&g, 5, (float)(rig_noise(&seed) % 9000));
        (void)rig_set_f32(&g, 6, (float)(rig_noise(&seed) % 9000));
        float out[64 * 8];
        tw_xdm_t data[2] = {{x + rig_noise(&seed) % 4000, 900 * 4}, {out, sizeof out}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        for (uint32_t i = 0; i < data[1].bytes / 4; i++) {
            assert_true(isfinite(out[i]));
        }
    }
    rig_close(&g);
}

static void what_it_cannot_work_on_is_refused(void **state)
{
    (void)state;
    static const struct {
        tw_raw_t in, out;
        unsigned channels, coefs;
        float rate;
        tw_err_t want;
    } cases[] = {
        {TW_RAW_S16, TW_RAW_FP32, 2, 10, 16000, TW_E_IMG_FORMAT},
        {TW_RAW_S16, TW_RAW_FP32, 1, 65, 16000, TW_E_IMG_FORMAT},
        {TW_RAW_S16, TW_RAW_FP32, 1, 10, 0, TW_E_IMG_FORMAT},
        {TW_RAW_S8, TW_RAW_FP32, 1, 10, 16000, TW_E_IMG_RAW},
        {TW_RAW_S16, TW_RAW_U8, 1, 10, 16000, TW_E_IMG_RAW},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        tw_format_t in = rig_format(cases[i].in, cases[i].channels, 0, 160);
        in.rate_hz = cases[i].rate;
        rig_prepare(&g, "mfcc", in, rig_format(cases[i].out, 1, 0, cases[i].coefs));
        assert_int_equal(rig_reset(&g, false, 0), (uint32_t)-cases[i].want);
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_vector_is_the_definition),
        cmocka_unit_test(integers_are_scaled_by_the_gain_and_saturate),
        cmocka_unit_test(values_are_checked_where_they_come_in),
        cmocka_unit_test(odd_values_give_finite_vectors),
        cmocka_unit_test(what_it_cannot_work_on_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
