#include "engine/node/wave.h"

/* Half a turn is mirrored on a quarter, where sin(pi t), |t| <= 1/2, has few terms. */
static float quarter(uint32_t phase)
{
    const uint32_t back = 0u - ((phase ^ phase << 1) >> 31); /* all ones in the second and third quarter */
    const uint32_t near = (phase & ~back) | ((0x80000000u - phase) & back);
    return (float)(int32_t)near * (1.0f / 2147483648.0f);
}

void tw_wave_sine(const uint32_t *restrict phase, float *restrict y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const float t = quarter(phase[i]), s = t * t;
        y[i] = t * (3.14159258f + s * (-5.16770688f + s * (2.55003138f + s * (-0.598045173f + s * 0.0772201264f))));
    }
}

/* ---- band-limited edges ---------------------------------------------------------------- */

static float turns(uint32_t phase)
{
    return (float)(phase >> 8) * (1.0f / 16777216.0f);
}

/* How near a phase is to an edge at 0: 1 on it, 0 from one sample away on. */
static float nearness(uint32_t phase, float dt)
{
    const float s = (float)(int32_t)phase * (1.0f / 4294967296.0f), a = s < 0 ? -s : s;
    return a < dt ? 1.0f - a / dt : 0.0f;
}

/* What a jump by 2 at phase 0 lacks. */
static float jump(uint32_t phase, float dt)
{
    const float w = nearness(phase, dt);
    return phase < 0x80000000u ? w * w : -w * w;
}

void tw_wave_saw(const uint32_t *restrict phase, const float *restrict dt, float *restrict y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = 2.0f * turns(phase[i]) - 1.0f + jump(phase[i], dt[i]);
    }
}

void tw_wave_square(const uint32_t *restrict phase, const float *restrict dt, float duty, float *restrict y, uint32_t n)
{
    const uint32_t fall = duty < 1.0f ? (uint32_t)(duty * 4294967296.0f) : 0;
    if (fall == 0) { /* never, or always, up */
        for (uint32_t i = 0; i < n; i++) {
            y[i] = duty < 0.5f ? -1.0f : 1.0f;
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const float up = phase[i] < fall ? 1.0f : -1.0f;
        y[i] = up - jump(phase[i], dt[i]) + jump(phase[i] - fall, dt[i]);
    }
}

/* What a corner at phase 0 lacks, for a slope that changes by 8 a turn. */
static float corner(uint32_t phase, float dt)
{
    const float w = nearness(phase, dt);
    return dt * w * w * w * (4.0f / 3.0f);
}

void tw_wave_triangle(const uint32_t *restrict phase, const float *restrict dt, float *restrict y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const float t = 2.0f * quarter(phase[i]);
        y[i] = t - corner(phase[i] - 0x40000000u, dt[i]) + corner(phase[i] - 0xC0000000u, dt[i]);
    }
}

/* ---- noise ---------------------------------------------------------------------------------- */

void tw_wave_white(uint32_t *seed, float *y, uint32_t n)
{
    uint32_t s = *seed;
    for (uint32_t i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        y[i] = (float)(int32_t)(s & 0xFFFFFF00u) * (1.0f / 2147483648.0f);
    }
    *seed = s;
}

/* Poles and zeros by turns, found by a search for the least ripple. */
void tw_wave_pink(tw_wave_pink_t *p, float *y, uint32_t n)
{
    static const float pole[TW_WAVE_PINK] = {0.9990368f, 0.9951281f, 0.984259f, 0.8756103f, 0.175503f, 0.175539f};
    static const float zero[TW_WAVE_PINK] = {0.9975219f, 0.9921638f, 0.9568897f, 0.6647002f, 0.0f, 0.0f};
    for (uint32_t k = 0; k < TW_WAVE_PINK; k++) {
        float before = p->x[k], out = p->y[k];
        for (uint32_t i = 0; i < n; i++) {
            const float x = y[i];
            out = x - zero[k] * before + pole[k] * out;
            before = x;
            y[i] = out;
        }
        p->x[k] = before;
        p->y[k] = out;
    }
    for (uint32_t i = 0; i < n; i++) {
        const float v = y[i] * (0.25f / 1.0772f);
        y[i] = v > 1.0f ? 1.0f : v < -1.0f ? -1.0f : v;
    }
}
