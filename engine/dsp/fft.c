#include "engine/dsp/fft.h"
#include "engine/dsp/dsp_math.h"
#include <kiss_fftr.h>

/* A length kissfft can do without memory of its own. */
static bool smooth(uint32_t n)
{
    static const uint32_t factors[] = {2, 3, 5};
    if (n < 1 || n > TW_FFT_MAX) {
        return false;
    }
    for (unsigned i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        while (n % factors[i] == 0) {
            n /= factors[i];
        }
    }
    return n == 1;
}

static bool real_length(uint32_t n)
{
    return n >= 2 && n % 2 == 0 && smooth(n);
}

uint32_t tw_rfft_bytes(uint32_t n)
{
    size_t bytes = 0;
    if (real_length(n)) {
        (void)kiss_fftr_alloc((int)n, 0, NULL, &bytes);
    }
    return (uint32_t)bytes;
}

bool tw_rfft_plan(void *plan, uint32_t bytes, uint32_t n, bool back)
{
    size_t room = bytes;
    return real_length(n) && bytes >= tw_rfft_bytes(n) && kiss_fftr_alloc((int)n, back, plan, &room) != NULL;
}

void tw_rfft(void *plan, const float *samples, float *bins)
{
    kiss_fftr(plan, samples, (kiss_fft_cpx *)(void *)bins);
}

void tw_rfft_back(void *plan, const float *bins, float *samples)
{
    kiss_fftri(plan, (const kiss_fft_cpx *)(const void *)bins, samples);
}

uint32_t tw_cfft_bytes(uint32_t n)
{
    size_t bytes = 0;
    if (n >= 2 && smooth(n)) {
        (void)kiss_fft_alloc((int)n, 0, NULL, &bytes);
    }
    return (uint32_t)bytes;
}

bool tw_cfft_plan(void *plan, uint32_t bytes, uint32_t n, bool back)
{
    size_t room = bytes;
    return n >= 2 && smooth(n) && bytes >= tw_cfft_bytes(n) && kiss_fft_alloc((int)n, back, plan, &room) != NULL;
}

void tw_cfft(void *plan, const float *from, float *to)
{
    kiss_fft(plan, (const kiss_fft_cpx *)(const void *)from, (kiss_fft_cpx *)(void *)to);
}

float tw_window(uint32_t kind, float *w, uint32_t n)
{
    static const double shapes[TW_WINDOW_COUNT][3] = {{1, 0, 0}, {0.5, -0.5, 0}, {0.54, -0.46, 0}, {0.42, -0.5, 0.08}};
    const double *a = shapes[kind < TW_WINDOW_COUNT ? kind : TW_WINDOW_NONE];
    double sum = 0;
    for (uint32_t t = 0; t < n; t++) {
        const double turn = 2.0 * TW_PI * t / n;
        w[t] = (float)(a[0] + a[1] * tw_cos(turn) + a[2] * tw_cos(2.0 * turn));
        sum += (double)w[t];
    }
    return (float)sum;
}

void tw_goertzel_start(tw_goertzel_t *g, double turns)
{
    *g = (tw_goertzel_t){.coefficient = 2.0 * tw_cos(2.0 * TW_PI * turns)};
}

void tw_goertzel_add(tw_goertzel_t *g, const float *x, uint32_t n)
{
    double s1 = g->s1, s2 = g->s2;
    for (uint32_t i = 0; i < n; i++) {
        const double s0 = (double)x[i] + g->coefficient * s1 - s2;
        s2 = s1;
        s1 = s0;
    }
    g->s1 = s1;
    g->s2 = s2;
}

double tw_goertzel_power(tw_goertzel_t *g)
{
    const double power = g->s1 * g->s1 + g->s2 * g->s2 - g->coefficient * g->s1 * g->s2;
    g->s1 = g->s2 = 0;
    return power > 0 ? power : 0;
}
