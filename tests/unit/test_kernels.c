/* The fast kernels against the plainest way to write the same sum. */
#include "engine/node/kernels.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 257, STAGES = 5 };

/* One sample through one stage, as the header says it. */
static int16_t plain_q15(const int16_t *c, int post_shift, int16_t *s, int16_t x)
{
    const int64_t sum =
        (int64_t)c[0] * x + (int64_t)c[1] * s[0] + (int64_t)c[2] * s[1] + (int64_t)c[3] * s[2] + (int64_t)c[4] * s[3];
    const int64_t y = sum >> (15 - post_shift);
    s[1] = s[0];
    s[0] = x;
    s[3] = s[2];
    s[2] = (int16_t)(y > 32767 ? 32767 : y < -32768 ? -32768 : y);
    return s[2];
}

static float plain_f32(const float *c, float *s, float x)
{
    float y = c[0] * x;
    y = y + c[1] * s[0];
    y = y + c[2] * s[1];
    y = y + c[4] * s[3];
    y = y + c[3] * s[2];
    s[1] = s[0];
    s[0] = x;
    s[3] = s[2];
    s[2] = y;
    return y;
}

static uint32_t seed = 0x1234567u;

static uint32_t noise(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static void q15_equals_the_plain_sum_for_any_coefficients(void **state)
{
    (void)state;
    tw_services_t svc = {0};
    tw_services_default(&svc);
    for (unsigned round = 0; round < 200; round++) {
        const unsigned stages = 1 + round % STAGES;
        const int shift = (int)(round / STAGES % 4);
        int16_t coef[5 * STAGES], fast[4 * STAGES] = {0}, plain[4 * STAGES] = {0}, in[N], out[N];
        for (unsigned i = 0; i < TW_COUNT(coef); i++) {
            const int16_t any = (int16_t)noise();                /* unstable ones saturate: every rail is met */
            coef[i] = (int16_t)(round % 3 == 0 ? any / 3 : any); /* also those whose sums fit 32 bits */
        }
        for (unsigned i = 0; i < N; i++) {
            in[i] = (int16_t)noise();
        }
        const unsigned cut = noise() % N; /* state must carry over between calls */
        svc.biquad_q15(coef, stages, shift, fast, in, out, cut);
        svc.biquad_q15(coef, stages, shift, fast, in + cut, out + cut, N - cut);
        for (unsigned i = 0; i < N; i++) {
            int16_t x = in[i];
            for (unsigned k = 0; k < stages; k++) {
                x = plain_q15(coef + 5 * k, shift, plain + 4 * k, x);
            }
            if (x != out[i]) {
                fail_msg("%u stages, shift %d, sample %u: %d, plain %d", stages, shift, i, out[i], x);
            }
        }
        assert_memory_equal(fast, plain, 8 * stages);
    }
}

static void f32_equals_the_plain_sum_to_the_bit(void **state)
{
    (void)state;
    tw_services_t svc = {0};
    tw_services_default(&svc);
    for (unsigned round = 0; round < 200; round++) {
        const unsigned stages = 1 + round % STAGES;
        float coef[5 * STAGES], fast[4 * STAGES] = {0}, plain[4 * STAGES] = {0}, io[N], out[N];
        for (unsigned i = 0; i < TW_COUNT(coef); i++) { /* |a1| + |a2| < 1: stable */
            coef[i] = (float)(int32_t)noise() / 4.4e9f;
        }
        for (unsigned i = 0; i < N; i++) {
            io[i] = (float)(int32_t)noise() / 2147483648.0f;
            out[i] = io[i];
            for (unsigned k = 0; k < stages; k++) {
                out[i] = plain_f32(coef + 5 * k, plain + 4 * k, out[i]);
            }
        }
        const unsigned cut = noise() % N;
        svc.biquad_f32(coef, stages, fast, io, io, cut); /* in place */
        svc.biquad_f32(coef, stages, fast, io + cut, io + cut, N - cut);
        assert_memory_equal(io, out, sizeof io);
        assert_memory_equal(fast, plain, 16 * stages);
    }
}

/* Channels side by side are the channels one by one, to the bit, however many and however cut. */
static void channels_side_by_side_equal_each_alone(void **state)
{
    (void)state;
    enum { CHANNELS = 11, APART = 4 * STAGES + 3 };
    tw_services_t svc = {0};
    tw_services_default(&svc);
    for (unsigned round = 0; round < 110; round++) {
        const unsigned stages = 1 + round % STAGES, channels = 1 + round % CHANNELS;
        static float coef[5 * STAGES], together[CHANNELS * APART], alone[4 * STAGES], io[N * CHANNELS],
            in[N * CHANNELS];
        memset(together, 0, sizeof together);
        for (unsigned i = 0; i < TW_COUNT(coef); i++) {
            coef[i] = (float)(int32_t)noise() / 4.4e9f;
        }
        for (unsigned i = 0; i < N * channels; i++) {
            io[i] = in[i] = (float)(int32_t)noise() / 2147483648.0f;
        }
        const unsigned cut = noise() % N;
        svc.biquad_f32_channels(coef, stages, together, APART, io, io, cut, channels); /* in place */
        svc.biquad_f32_channels(coef, stages, together, APART, io + cut * channels, io + cut * channels, N - cut,
                                channels);
        for (unsigned c = 0; c < channels; c++) {
            float x[N];
            for (unsigned i = 0; i < N; i++) {
                x[i] = in[i * channels + c];
            }
            memset(alone, 0, sizeof alone);
            svc.biquad_f32(coef, stages, alone, x, x, N);
            for (unsigned i = 0; i < N; i++) {
                assert_memory_equal(&x[i], &io[i * channels + c], 4);
            }
            assert_memory_equal(alone, together + c * APART, 16 * stages);
        }
    }
}

static void a_bad_sample_does_not_silence_an_f32_filter(void **state)
{
    (void)state;
    tw_services_t svc = {0};
    tw_services_default(&svc);
    const float coef[10] = {1, 0, 0, 0.9f, 0, 1, 0, 0, 0.5f, 0};
    const uint32_t bad[] = {0x7FC00000u, 0x7F800000u, 0xFF800000u, 0x7F7FFFFFu}; /* NaN, +-Inf, FLT_MAX */
    for (unsigned i = 0; i < TW_COUNT(bad); i++) {
        float s[8] = {0}, x;
        memcpy(&x, &bad[i], 4);
        svc.biquad_f32(coef, 2, s, &x, &x, 1);
        float in[2] = {0.5f, 0}, out[2];
        svc.biquad_f32(coef, 2, s, in, out, 2);
        assert_true(out[0] == 0.5f);
        assert_true(out[1] > 0.699f && out[1] < 0.701f);
    }
}

static void f32_state_does_not_linger_in_denormals(void **state)
{
    (void)state;
    tw_services_t svc = {0};
    tw_services_default(&svc);
    const float coef[5] = {1, 0, 0, 0.5f, 0};
    float s[4] = {0}, x = 1;
    svc.biquad_f32(coef, 1, s, &x, &x, 1);
    for (unsigned i = 0; i < 10; i++) {
        float zeros[16] = {0};
        svc.biquad_f32(coef, 1, s, zeros, zeros, 16);
    }
    assert_true(s[2] == 0.0f && s[3] == 0.0f);
}

static void the_default_table_leaves_the_ports_entries_alone(void **state)
{
    (void)state;
    tw_services_t svc = {.ctx = &seed, .mask = 1u << 31};
    tw_services_default(&svc);
    assert_ptr_equal(svc.ctx, &seed);
    assert_int_equal(svc.mask, 1u << 31 | TW_SVC_DSP | tw_library_groups(tw_library()));
    assert_null(svc.run_script);
}

/* ---- public vectors, when they lie beside the tree ----------------------------- */

#define CORPUS "../shared/corpus/cmsis-dsp/"

/* Line 1 W or H, line 2 the count, then comment and hex word in turn. @return count, 0 no file */
static unsigned read_pattern(const char *path, uint32_t *v, unsigned max)
{
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        print_message("skipped: no %s\n", path);
        return 0;
    }
    char line[80];
    unsigned n = 0;
    for (unsigned i = 0; n < max && fgets(line, sizeof line, f) != NULL; i++) {
        if (i >= 2 && i % 2 == 1) {
            v[n++] = (uint32_t)strtoul(line, NULL, 16);
        }
    }
    fclose(f);
    return n;
}

static float as_float(uint32_t word)
{
    float f;
    memcpy(&f, &word, 4);
    return f;
}

static double snr_db(const double *want, const double *got, unsigned n)
{
    double s = 0, e = 0;
    for (unsigned i = 0; i < n; i++) {
        s += want[i] * want[i];
        e += (want[i] - got[i]) * (want[i] - got[i]);
    }
    return 10 * log10(s / e);
}

static void q15_public_vectors_hold_within_500_lsb_and_30_db(void **state)
{
    (void)state;
    uint32_t in[100], coef[18], ref[100];
    if (read_pattern(CORPUS "BIQUADQ15/BiquadInput1_q15.txt", in, 100) != 100 ||
        read_pattern(CORPUS "BIQUADQ15/BiquadCoefs1_q15.txt", coef, 18) != 18 ||
        read_pattern(CORPUS "BIQUADQ15/BiquadOutput1_q15.txt", ref, 100) != 100) {
        skip();
    }
    tw_services_t svc = {0};
    tw_services_default(&svc);
    int16_t c[15], x[100], s[12] = {0};
    double want[100], got[100];
    for (unsigned i = 0; i < 15; i++) { /* the files put a zero after b0 */
        c[i] = (int16_t)coef[i / 5 * 6 + (i % 5 == 0 ? 0 : i % 5 + 1)];
    }
    for (unsigned i = 0; i < 100; i++) {
        x[i] = (int16_t)in[i];
    }
    svc.biquad_q15(c, 3, 2, s, x, x, 50); /* two halves */
    svc.biquad_q15(c, 3, 2, s, x + 50, x + 50, 50);
    for (unsigned i = 0; i < 100; i++) {
        want[i] = (int16_t)ref[i];
        got[i] = x[i];
        assert_true(fabs(want[i] - got[i]) <= 500);
    }
    print_message("q15: %.1f dB\n", snr_db(want, got, 100));
    assert_true(snr_db(want, got, 100) >= 30);
}

static void f32_public_vectors_hold_within_94_db(void **state)
{
    (void)state;
    uint32_t in[100], coef[15], ref[100];
    if (read_pattern(CORPUS "BIQUADF32/BiquadInput1_f32.txt", in, 100) != 100 ||
        read_pattern(CORPUS "BIQUADF32/BiquadCoefs1_f32.txt", coef, 15) != 15 ||
        read_pattern(CORPUS "BIQUADF32/BiquadOutput1_f32.txt", ref, 100) != 100) {
        skip();
    }
    tw_services_t svc = {0};
    tw_services_default(&svc);
    float c[15], x[100], s[12] = {0};
    double want[100], got[100];
    for (unsigned i = 0; i < 15; i++) {
        c[i] = as_float(coef[i]);
    }
    for (unsigned i = 0; i < 100; i++) {
        x[i] = as_float(in[i]);
    }
    svc.biquad_f32(c, 3, s, x, x, 50);
    svc.biquad_f32(c, 3, s, x + 50, x + 50, 50);
    for (unsigned i = 0; i < 100; i++) {
        want[i] = (double)as_float(ref[i]);
        got[i] = (double)x[i];
        assert_true(fabs(want[i] - got[i]) <= 2.0e-4 * fabs(want[i]) + 1e-9);
    }
    print_message("f32: %.1f dB\n", snr_db(want, got, 100));
    assert_true(snr_db(want, got, 100) >= 94);
}

/* Nine cascades back to back, mono. */
static void f32_public_cascades_hold_within_94_db(void **state)
{
    (void)state;
    uint32_t cfg[18], coef[330], in[66], ref[66];
    if (read_pattern(CORPUS "BIQUADF32/AllBiquadConfigs2_s16.txt", cfg, 18) != 18 ||
        read_pattern(CORPUS "BIQUADF32/AllBiquadCoefs2_f32.txt", coef, 330) != 330 ||
        read_pattern(CORPUS "BIQUADF32/AllBiquadInputs2_f32.txt", in, 66) != 66 ||
        read_pattern(CORPUS "BIQUADF32/AllBiquadRefs2_f32.txt", ref, 66) != 66) {
        skip();
    }
    tw_services_t svc = {0};
    tw_services_default(&svc);
    for (unsigned k = 0, at = 0, c_at = 0; k < 9; k++) {
        const unsigned stages = cfg[2 * k], n = cfg[2 * k + 1];
        float c[5 * 16], s[4 * 16] = {0}, x[66];
        double want[66], got[66];
        assert_true(stages <= 16 && at + n <= 66 && c_at + 5 * stages <= 330);
        for (unsigned i = 0; i < 5 * stages; i++) {
            c[i] = as_float(coef[c_at + i]);
        }
        for (unsigned i = 0; i < n; i++) {
            x[i] = as_float(in[at + i]);
            want[i] = (double)as_float(ref[at + i]);
        }
        svc.biquad_f32(c, stages, s, x, x, n);
        for (unsigned i = 0; i < n; i++) {
            got[i] = (double)x[i];
        }
        if (snr_db(want, got, n) < 94) {
            fail_msg("case %u: %.1f dB", k, snr_db(want, got, n));
        }
        at += n;
        c_at += 5 * stages;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q15_equals_the_plain_sum_for_any_coefficients),
        cmocka_unit_test(f32_equals_the_plain_sum_to_the_bit),
        cmocka_unit_test(channels_side_by_side_equal_each_alone),
        cmocka_unit_test(a_bad_sample_does_not_silence_an_f32_filter),
        cmocka_unit_test(f32_state_does_not_linger_in_denormals),
        cmocka_unit_test(the_default_table_leaves_the_ports_entries_alone),
        cmocka_unit_test(q15_public_vectors_hold_within_500_lsb_and_30_db),
        cmocka_unit_test(f32_public_vectors_hold_within_94_db),
        cmocka_unit_test(f32_public_cascades_hold_within_94_db),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
