/* The fast kernels against the plainest way to write the same sum. */
#include "engine/node/kernels.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 257, STAGES = 5 };

/* One sample through one stage, as the header says it. */
static int16_t plain_q15(const int16_t *c, int post_shift, int16_t *s, int16_t x)
{
    const int64_t sum = (int64_t)c[0] * x + (int64_t)c[1] * s[0] + (int64_t)c[2] * s[1] + (int64_t)c[3] * s[2] +
                        (int64_t)c[4] * s[3];
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
            coef[i] = (int16_t)noise(); /* unstable ones saturate: every rail is met */
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
    assert_int_equal(svc.mask, 1u << 31 | TW_SVC_DSP);
    assert_null(svc.run_script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q15_equals_the_plain_sum_for_any_coefficients),
        cmocka_unit_test(f32_equals_the_plain_sum_to_the_bit),
        cmocka_unit_test(a_bad_sample_does_not_silence_an_f32_filter),
        cmocka_unit_test(f32_state_does_not_linger_in_denormals),
        cmocka_unit_test(the_default_table_leaves_the_ports_entries_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
