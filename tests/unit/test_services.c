/* The functions offered to nodes, against the C library and against sums written out. */
#include "engine/node/kernels.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t seed = 88172645u;

static double between(const tw_library_t *lib, double lo, double hi)
{
    return lo + (hi - lo) * (lib->rand(&seed) / 4294967295.0);
}

static double worst(double have, double want, double scale, double so_far)
{
    const double e = fabs(have - want) / scale;
    return e > so_far ? e : so_far;
}

static void math_agrees_with_the_c_library(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    double e_exp = 0, e_log = 0, e_sqrt = 0, e_sin = 0, e_cos = 0, e_atan = 0, e_pow = 0;
    for (unsigned i = 0; i < 20000; i++) {
        const double x = between(lib, -700, 700), small = between(lib, -1e5, 1e5), y = between(lib, -3, 3);
        const double p = exp(between(lib, -300, 300)), q = exp(between(lib, -20, 20));
        e_exp = worst(lib->exp(x), exp(x), exp(x), e_exp);
        e_log = worst(lib->log(p), log(p), fabs(log(p)) > 1 ? fabs(log(p)) : 1, e_log);
        e_sqrt = worst(lib->sqrt(p), sqrt(p), sqrt(p), e_sqrt);
        e_sin = worst(lib->sin(small), sin(small), 1, e_sin);
        e_cos = worst(lib->cos(small), cos(small), 1, e_cos);
        e_atan = worst(lib->atan2(small, y * 1e4), atan2(small, y * 1e4), 1, e_atan);
        e_pow = worst(lib->pow(q, y), pow(q, y), pow(q, y), e_pow);
    }
    print_message("worst error: exp %.1e log %.1e sqrt %.1e sin %.1e cos %.1e atan2 %.1e pow %.1e\n", e_exp, e_log,
                  e_sqrt, e_sin, e_cos, e_atan, e_pow);
    assert_true(e_exp < 4e-16 && e_log < 4e-16 && e_sqrt < 3e-16 && e_atan < 1e-15 && e_pow < 1e-13);
    assert_true(e_sin < 1e-15 && e_cos < 1e-15);
}

static void math_answers_at_the_edges_without_a_trap(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    assert_true(isinf(lib->log(0)) && isnan(lib->log((double)NAN)) && isinf(lib->log((double)INFINITY)));
    assert_true(fabs(lib->log(4.9e-324) - log(4.9e-324)) < 1e-12);
    assert_true(lib->exp(-1e9) == 0 && isinf(lib->exp(1e9)) && isnan(lib->exp((double)NAN)));
    assert_true(lib->sqrt(-1) == 0 && isinf(lib->sqrt((double)INFINITY)) && lib->sqrt(4.9e-324) > 2.2e-162);
    assert_true(lib->sin(1e300) == 0 && lib->cos(1e300) == 1 && lib->sin((double)NAN) == 0);
    assert_true(lib->atan2(0, 0) == 0 && lib->atan2(0, -1) > 3.14159265 && lib->atan2(-1, 0) < -1.570796);
    assert_true(lib->pow(0, 2) == 0 && lib->pow(0, 0) == 1 && isnan(lib->pow(-1, 0.5)));
}

static void sort_is_ascending_with_nan_last(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    for (uint32_t n = 0; n < 70; n++) {
        float v[70];
        for (uint32_t i = 0; i < n; i++) {
            v[i] = i % 9 == 4 ? NAN : (float)(lib->rand(&seed) % 50);
        }
        lib->sort_f32(v, n);
        for (uint32_t i = 1; i < n; i++) {
            assert_true(v[i - 1] <= v[i] || isnan(v[i]));
        }
    }
}

/* ---- transforms ---------------------------------------------------------------------- */

enum { N_MAX = 1024 };

/* What the transform is, in double. */
static void plain_dft(const float *x, uint32_t n, uint32_t k, double *re, double *im)
{
    *re = *im = 0;
    for (uint32_t t = 0; t < n; t++) {
        const double a = -2.0 * 3.14159265358979323846 * k * t / n;
        *re += (double)x[t] * cos(a);
        *im += (double)x[t] * sin(a);
    }
}

static void a_real_transform_is_the_sum_it_is_defined_by(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    static const uint32_t sizes[] = {2, 6, 8, 30, 64, 160, 256, 480, 512, 960, 1024};
    for (unsigned s = 0; s < TW_COUNT(sizes); s++) {
        const uint32_t n = sizes[s], bytes = lib->rfft_bytes(n);
        static float x[N_MAX], bins[N_MAX + 2], y[N_MAX];
        void *forth = malloc(bytes), *back = malloc(bytes);
        assert_true(lib->rfft_plan(forth, bytes, n, false) && lib->rfft_plan(back, bytes, n, true));
        double power = 0;
        for (uint32_t t = 0; t < n; t++) {
            x[t] = (float)between(lib, -1, 1);
            power += (double)x[t] * (double)x[t];
        }
        lib->rfft(forth, x, bins);
        for (uint32_t k = 0; k <= n / 2; k += 1 + n / 64) {
            double re, im;
            plain_dft(x, n, k, &re, &im);
            assert_true(hypot((double)bins[2 * k] - re, (double)bins[2 * k + 1] - im) < 1e-6 * sqrt(power * n) + 1e-6);
        }
        lib->rfft_back(back, bins, y);
        for (uint32_t t = 0; t < n; t++) {
            assert_true(fabsf(y[t] / (float)n - x[t]) < 2e-6f);
        }
        free(forth);
        free(back);
    }
}

static void a_complex_transform_finds_its_rotation(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    enum { N = 48 };
    float x[2 * N], bins[2 * N];
    const uint32_t bytes = lib->cfft_bytes(N);
    void *plan = malloc(bytes);
    assert_true(lib->cfft_plan(plan, bytes, N, false));
    for (unsigned t = 0; t < N; t++) { /* backwards: bin -5, which is 43 */
        x[2 * t] = (float)cos(2 * 3.14159265358979 * 5 * t / N);
        x[2 * t + 1] = -(float)sin(2 * 3.14159265358979 * 5 * t / N);
    }
    lib->cfft(plan, x, bins);
    for (unsigned k = 0; k < N; k++) {
        assert_true(fabsf(bins[2 * k] - (k == 43 ? N : 0)) < 1e-4f && fabsf(bins[2 * k + 1]) < 1e-4f);
    }
    free(plan);
}

static void lengths_that_would_need_memory_are_refused(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    static const uint32_t bad[] = {0, 1, 7, 14, 22, 161, 1022, 9, TW_FFT_MAX * 2, 0x80000000u, 0xFFFFFFFFu};
    uint8_t mem[64];
    for (unsigned i = 0; i < TW_COUNT(bad); i++) {
        assert_int_equal(lib->rfft_bytes(bad[i]), 0);
        assert_false(lib->rfft_plan(mem, sizeof mem, bad[i], false));
    }
    assert_int_equal(lib->cfft_bytes(7), 0);
    assert_false(lib->rfft_plan(mem, lib->rfft_bytes(16) - 1, 16, false));
}

static void goertzel_is_one_bin_of_the_transform(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    float x[200];
    for (unsigned t = 0; t < 200; t++) {
        x[t] = (float)between(lib, -1, 1);
    }
    for (unsigned k = 0; k <= 100; k += 7) {
        double re, im;
        tw_goertzel_t g;
        plain_dft(x, 200, k, &re, &im);
        lib->goertzel_start(&g, k / 200.0);
        lib->goertzel_add(&g, x, 77);
        lib->goertzel_add(&g, x + 77, 123);
        assert_true(fabs(lib->goertzel_power(&g) - (re * re + im * im)) < 1e-6 * (1 + re * re + im * im));
    }
}

static void windows_sum_to_what_they_return(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    static const double mean[] = {1, 0.5, 0.54, 0.42};
    float w[64];
    for (uint32_t kind = 0; kind < TW_WINDOW_COUNT; kind++) {
        assert_true(fabs((double)lib->window(kind, w, 64) - 64 * mean[kind]) < 1e-5);
        assert_true(fabs((double)w[32] - 1) < 1e-6);
        assert_true(kind == 0 || fabsf(w[5] - w[59]) < 1e-6f);
    }
}

/* ---- the table ------------------------------------------------------------------------- */

static void every_function_of_the_table_is_there_and_has_a_number(void **state)
{
    (void)state;
    uint64_t all = 0;
#define TW_SERVICE(id, group, name, version, text) \
    assert_int_equal(all >> (id)&1, 0);            \
    all |= (uint64_t)1 << (id);
#include "engine/node/services.def"
    assert_true(tw_library_functions(&tw_library_portable) == all);
    assert_int_equal(tw_library_groups(&tw_library_portable),
                     TW_SVC_TIME | TW_SVC_CONVERSION | TW_SVC_STDLIB | TW_SVC_MATH | TW_SVC_DSP | TW_SVC_AUDIO);
    tw_library_t less = tw_library_portable;
    less.rfft = NULL;
    assert_true(tw_library_functions(&less) == (all & ~((uint64_t)1 << 34)));
    uint32_t version = 0;
    assert_string_equal(tw_service_name(34, &version), "rfft");
    assert_int_equal(version, 1);
    assert_null(tw_service_name(63, &version));
}

static void without_a_port_time_stands_still(void **state)
{
    (void)state;
    tw_services_t svc = {0};
    tw_services_default(&svc);
    assert_true(svc.lib->now_us(&svc) == 0 && svc.lib->cycles(&svc) == 0);
}

/* ---- noise suppression -------------------------------------------------------------------- */

/* A state of every frame length fits the bytes that were asked for: an allocation too many panics, and the address
 * sanitizer sees each byte beyond the block. */
static void every_frame_fits_its_memory(void **state)
{
    (void)state;
    const tw_library_t *lib = tw_library();
    static const uint32_t rates[] = {4000, 8000, 16000, 22050, 48000, 96000};
    unsigned made = 0;
    for (uint32_t frame = 1; frame <= TW_DENOISE_FRAME_MAX + 1; frame += frame < 320 ? 1 : 40) {
        const uint32_t rate = rates[frame % TW_COUNT(rates)], bytes = lib->denoise_bytes(frame, rate);
        if (bytes == 0) {
            assert_null(lib->denoise_make(NULL, 1u << 30, frame, rate));
            continue;
        }
        void *mem = aligned_alloc(16, (bytes + 15) / 16 * 16);
        int16_t samples[TW_DENOISE_FRAME_MAX];
        assert_null(lib->denoise_make(mem, bytes - 1, frame, rate));
        void *s = lib->denoise_make(mem, bytes, frame, rate);
        assert_non_null(s);
        lib->denoise_setup(s, &(tw_denoise_set_t){-20, true, 8000, 30, 35, 20});
        for (unsigned run = 0; run < 3; run++) {
            for (uint32_t i = 0; i < frame; i++) {
                samples[i] = (int16_t)lib->rand(&seed);
            }
            (void)lib->denoise_run(s, samples);
        }
        free(mem);
        made++;
    }
    assert_true(made > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(math_agrees_with_the_c_library),
        cmocka_unit_test(math_answers_at_the_edges_without_a_trap),
        cmocka_unit_test(sort_is_ascending_with_nan_last),
        cmocka_unit_test(a_real_transform_is_the_sum_it_is_defined_by),
        cmocka_unit_test(a_complex_transform_finds_its_rotation),
        cmocka_unit_test(lengths_that_would_need_memory_are_refused),
        cmocka_unit_test(goertzel_is_one_bin_of_the_transform),
        cmocka_unit_test(windows_sum_to_what_they_return),
        cmocka_unit_test(every_function_of_the_table_is_there_and_has_a_number),
        cmocka_unit_test(without_a_port_time_stands_still),
        cmocka_unit_test(every_frame_fits_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
