/* bench_kernels.c - the biquad kernels alone: ns a sample and stage, fast kernel and plain loop, in one run.
 *
 * Frames of 64 samples, as graphs have; the best of many rounds, so that a busy machine does not count.
 */
#include "engine/node/kernels.h"
#include <stdio.h>
#include <time.h>

enum { FRAME = 64, STAGES_MAX = 20, CHANNELS_MAX = 8, ROUNDS = 400, CALLS = 200 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What the header says, written as one would say it. */
static void plain_q15(const int16_t *c, unsigned stages, int shift, int16_t *s, const int16_t *in, int16_t *out,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        int16_t x = in[i];
        for (unsigned k = 0; k < stages; k++) {
            const int16_t *b = c + 5 * k;
            int16_t *h = s + 4 * k;
            const int64_t sum = (int64_t)b[0] * x + (int64_t)b[1] * h[0] + (int64_t)b[2] * h[1] + (int64_t)b[3] * h[2] +
                                (int64_t)b[4] * h[3];
            const int64_t y = sum >> (15 - shift);
            h[1] = h[0];
            h[0] = x;
            h[3] = h[2];
            h[2] = x = (int16_t)(y > 32767 ? 32767 : y < -32768 ? -32768 : y);
        }
        out[i] = x;
    }
}

static void plain_f32(const float *c, unsigned stages, float *s, const float *in, float *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        float x = in[i];
        for (unsigned k = 0; k < stages; k++) {
            const float *b = c + 5 * k;
            float *h = s + 4 * k, y = b[0] * x;
            y += b[1] * h[0];
            y += b[2] * h[1];
            y += b[4] * h[3];
            y += b[3] * h[2];
            h[1] = h[0];
            h[0] = x;
            h[3] = h[2];
            h[2] = x = y;
        }
        out[i] = x;
    }
}

static int16_t q15_coef[5 * STAGES_MAX], q15_state[4 * STAGES_MAX * CHANNELS_MAX], q15_io[FRAME * CHANNELS_MAX];
static float f32_coef[5 * STAGES_MAX], f32_state[4 * STAGES_MAX * CHANNELS_MAX], f32_io[FRAME * CHANNELS_MAX];

static void prepare(void)
{
    static const int16_t q15[5] = {681, 422, 681, 23853, -15161};
    for (unsigned i = 0; i < 5 * STAGES_MAX; i++) {
        q15_coef[i] = q15[i % 5];
        f32_coef[i] = (float)q15[i % 5] / 16384.0f;
    }
    for (unsigned i = 0; i < FRAME * CHANNELS_MAX; i++) {
        q15_io[i] = (int16_t)(i * 7919);
        f32_io[i] = (float)q15_io[i] / 32768.0f;
    }
}

static tw_services_t table;

static void once(unsigned kind, unsigned stages, unsigned channels)
{
    int16_t q[FRAME * CHANNELS_MAX];
    float f[FRAME * CHANNELS_MAX];
    switch (kind) {
    case 0:
        plain_q15(q15_coef, stages, 1, q15_state, q15_io, q, FRAME);
        break;
    case 1:
        table.biquad_q15(q15_coef, stages, 1, q15_state, q15_io, q, FRAME);
        break;
    case 2:
        plain_f32(f32_coef, stages, f32_state, f32_io, f, FRAME);
        break;
    case 3:
        table.biquad_f32(f32_coef, stages, f32_state, f32_io, f, FRAME);
        break;
    default:
        table.biquad_f32_channels(f32_coef, stages, f32_state, 4 * stages, f32_io, f, FRAME, channels);
        break;
    }
    __asm__ volatile("" ::"r"(q), "r"(f), "r"(channels) : "memory");
}

static double best(unsigned kind, unsigned stages, unsigned channels)
{
    double least = 1e30;
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double t = now_ns();
        for (unsigned i = 0; i < CALLS; i++) {
            once(kind, stages, channels);
        }
        const double took = now_ns() - t;
        least = took < least ? took : least;
    }
    return least / ((double)CALLS * FRAME * stages * channels);
}

int main(void)
{
    static const char *const names[] = {"q15 plain", "q15", "f32 plain", "f32"};
    static const unsigned stages[] = {1, 2, 4, 20};
    tw_services_default(&table);
    prepare();
    for (unsigned kind = 0; kind < 4; kind++) {
        for (unsigned s = 0; s < TW_COUNT(stages); s++) {
            printf("kernel %-10s stages=%-2u channels=1 %.3f ns/sample/stage\n", names[kind], stages[s],
                   best(kind, stages[s], 1));
        }
    }
    static const unsigned channels[] = {2, 4, 6, 8};
    for (unsigned c = 0; c < TW_COUNT(channels); c++) {
        printf("kernel f32        stages=2  channels=%u %.3f ns/sample/stage\n", channels[c], best(4, 2, channels[c]));
    }
    return 0;
}
