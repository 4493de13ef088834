#include "engine/node/signal.h"

static void load16(const int16_t *restrict x, size_t step, uint32_t n, float *restrict to)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (float)x[i * step] * (1.0f / 32768.0f);
    }
}

static void load32(const int32_t *restrict x, size_t step, uint32_t n, float *restrict to)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (float)x[i * step] * (1.0f / 2147483648.0f);
    }
}

static void load_f32(const float *restrict x, size_t step, uint32_t n, float *restrict to)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = x[i * step];
    }
}

/* Held in lo .. hi; NaN, which no comparison holds for, is 0. */
static float held(float v, float lo, float hi)
{
    const float x = v > hi ? hi : v;
    return x >= lo ? x : v < lo ? lo : 0.0f;
}

static void store16(int16_t *restrict y, size_t step, uint32_t n, const float *restrict from)
{
    for (uint32_t i = 0; i < n; i++) { /* 1.5 * 2^23 leaves no fraction */
        y[i * step] = (int16_t)((held(from[i] * 32768.0f, -32768.0f, 32767.0f) + 12582912.0f) - 12582912.0f);
    }
}

static void store32(int32_t *restrict y, size_t step, uint32_t n, const float *restrict from)
{
    for (uint32_t i = 0; i < n; i++) { /* single precision has no fraction left where rounding would matter */
        const float v = from[i] * 2147483648.0f;
        const float x = held(v, -2147483648.0f, 2147483520.0f);
        const float near = x > -4194304.0f && x < 4194304.0f ? (x + 12582912.0f) - 12582912.0f : x;
        y[i * step] = v >= 2147483648.0f ? INT32_MAX : (int32_t)near;
    }
}

static void store_f32(float *restrict y, size_t step, uint32_t n, const float *restrict from)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i * step] = from[i];
    }
}

void tw_signal_load(uint32_t raw, const void *data, size_t at, size_t step, uint32_t n, float *to)
{
    switch (raw) {
    case TW_RAW_FP32:
        load_f32((const float *)data + at, step, n, to);
        return;
    case TW_RAW_S32:
    case TW_RAW_Q31:
        load32((const int32_t *)data + at, step, n, to);
        return;
    default:
        load16((const int16_t *)data + at, step, n, to);
    }
}

void tw_signal_store(uint32_t raw, void *data, size_t at, size_t step, uint32_t n, const float *from)
{
    switch (raw) {
    case TW_RAW_FP32:
        store_f32((float *)data + at, step, n, from);
        return;
    case TW_RAW_S32:
    case TW_RAW_Q31:
        store32((int32_t *)data + at, step, n, from);
        return;
    default:
        store16((int16_t *)data + at, step, n, from);
    }
}
