/* The backend of this build against the portable kernels: the same table, the same results within stated bounds.
 * Without another backend both are one, and the bounds are zero. */
#include "engine/node/kernels.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 400, STAGES = 6 };

static uint32_t seed = 2166136261u;
static tw_services_t portable, here;

static int set_up(void **state)
{
    (void)state;
    tw_services_portable(&portable);
    tw_services_default(&here);
    print_message("backend: %s\n", here.lib == portable.lib ? "portable" : "CMSIS-DSP");
    return 0;
}

static double between(double lo, double hi)
{
    return lo + (hi - lo) * (here.lib->rand(&seed) / 4294967295.0);
}

static void q15_is_exact_whatever_the_coefficients(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        const unsigned stages = 1 + round % STAGES, cut = here.lib->rand(&seed) % N;
        const int shift = (int)(round / STAGES % 4);
        int16_t coef[5 * STAGES], a[4 * STAGES] = {0}, b[4 * STAGES] = {0}, in[N], x[N], y[N];
        for (unsigned i = 0; i < TW_COUNT(coef); i++) {
            coef[i] = (int16_t)here.lib->rand(&seed);
        }
        for (unsigned i = 0; i < N; i++) {
            in[i] = (int16_t)here.lib->rand(&seed);
        }
        portable.biquad_q15(coef, stages, shift, a, in, x, N);
        here.biquad_q15(coef, stages, shift, b, in, y, cut);
        here.biquad_q15(coef, stages, shift, b, in + cut, y + cut, N - cut);
        assert_memory_equal(x, y, sizeof x);
        assert_memory_equal(a, b, 8 * stages);
    }
}

static void f32_is_within_1e_5_of_the_output(void **state)
{
    (void)state;
    double worst = 0;
    for (unsigned round = 0; round < 300; round++) {
        const unsigned stages = 1 + round % STAGES;
        float coef[5 * STAGES], a[4 * STAGES] = {0}, b[4 * STAGES] = {0}, in[N], x[N], y[N];
        for (unsigned i = 0; i < stages; i++) { /* poles at most 0.95 from the middle */
            const double r = between(0.1, 0.95), w = between(0.1, 3.0);
            const double k[5] = {between(-1, 1), between(-1, 1), between(-1, 1), 2 * r * cos(w), -r * r};
            for (unsigned j = 0; j < 5; j++) {
                coef[5 * i + j] = (float)k[j];
            }
        }
        for (unsigned i = 0; i < N; i++) {
            in[i] = (float)between(-1, 1);
        }
        portable.biquad_f32(coef, stages, a, in, x, N);
        here.biquad_f32(coef, stages, b, in, y, N / 3);
        here.biquad_f32(coef, stages, b, in + N / 3, y + N / 3, N - N / 3);
        double largest = 0, off = 0;
        for (unsigned i = 0; i < N; i++) {
            largest = fmax(largest, fabs((double)x[i]));
            off = fmax(off, fabs((double)x[i] - (double)y[i]));
        }
        worst = fmax(worst, off / largest);
    }
    print_message("FP32 biquads: %.1e of the largest output\n", worst);
    assert_true(here.biquad_f32 == portable.biquad_f32 ? !(worst > 0) : worst < 1e-5);
}

static void transforms_are_within_2e_6_of_the_largest_bin(void **state)
{
    (void)state;
    double worst = 0;
    static const uint32_t sizes[] = {16, 32, 60, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
    for (unsigned s = 0; s < TW_COUNT(sizes); s++) {
        const uint32_t n = sizes[s], bytes[2] = {portable.lib->rfft_bytes(n), here.lib->rfft_bytes(n)};
        void *plan[4];
        static float in[8192], bins[2][8192 + 2], back[2][8192];
        for (unsigned i = 0; i < 4; i++) {
            plan[i] = malloc(bytes[i / 2]);
            const tw_library_t *lib = i < 2 ? portable.lib : here.lib;
            assert_true(lib->rfft_plan(plan[i], bytes[i / 2], n, i % 2 != 0));
        }
        for (uint32_t t = 0; t < n; t++) {
            in[t] = (float)(between(-0.1, 0.1) + sin(0.3 * t));
        }
        portable.lib->rfft(plan[0], in, bins[0]);
        here.lib->rfft(plan[2], in, bins[1]);
        portable.lib->rfft_back(plan[1], bins[0], back[0]);
        here.lib->rfft_back(plan[3], bins[0], back[1]);
        double largest = 0, off = 0;
        for (uint32_t k = 0; k < n + 2; k++) {
            largest = fmax(largest, fabs((double)bins[0][k]));
            off = fmax(off, fabs((double)bins[0][k] - (double)bins[1][k]));
        }
        worst = fmax(worst, off / largest);
        for (uint32_t t = 0; t < n; t++) {
            assert_true(fabs((double)back[0][t] - (double)back[1][t]) <= 4e-6 * n);
        }
        for (unsigned i = 0; i < 4; i++) {
            free(plan[i]);
        }
    }
    print_message("transforms: %.1e of the largest bin\n", worst);
    assert_true(here.lib == portable.lib ? !(worst > 0) : worst < 2e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q15_is_exact_whatever_the_coefficients),
        cmocka_unit_test(f32_is_within_1e_5_of_the_output),
        cmocka_unit_test(transforms_are_within_2e_6_of_the_largest_bin),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
