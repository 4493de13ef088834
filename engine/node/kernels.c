#include "engine/node/kernels.h"
#include "engine/base/fixed.h"

/* Two stages in one pass halve the memory traffic, and the second stage computes while the first waits
 * for its feedback. Coefficients and state live in locals for the whole block. */

typedef struct q15_stage {
    int32_t b0, b1, b2, a1, a2;
    int32_t x1, x2, y1, y2;
} q15_stage_t;

static inline q15_stage_t q15_load(const int16_t *c, const int16_t *s)
{
    return (q15_stage_t){c[0], c[1], c[2], c[3], c[4], s[0], s[1], s[2], s[3]};
}

static inline void q15_save(const q15_stage_t *k, int16_t *s)
{
    s[0] = (int16_t)k->x1;
    s[1] = (int16_t)k->x2;
    s[2] = (int16_t)k->y1;
    s[3] = (int16_t)k->y2;
}

static inline int32_t q15_step(q15_stage_t *k, int32_t x, int shift)
{
    int64_t acc = (int64_t)k->b0 * x;
    acc += (int64_t)k->b1 * k->x1;
    acc += (int64_t)k->b2 * k->x2;
    acc += (int64_t)k->a2 * k->y2;
    acc += (int64_t)k->a1 * k->y1;
    const int32_t y = tw_sat16(acc >> shift);
    k->x2 = k->x1;
    k->x1 = x;
    k->y2 = k->y1;
    k->y1 = y;
    return y;
}

static void q15_one(const int16_t *c, int shift, int16_t *state, const int16_t *in, int16_t *out, uint32_t n)
{
    q15_stage_t k = q15_load(c, state);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int16_t)q15_step(&k, in[i], shift);
    }
    q15_save(&k, state);
}

static void q15_two(const int16_t *c, int shift, int16_t *state, const int16_t *in, int16_t *out, uint32_t n)
{
    q15_stage_t k = q15_load(c, state);
    q15_stage_t m = q15_load(c + 5, state + 4);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int16_t)q15_step(&m, q15_step(&k, in[i], shift), shift);
    }
    q15_save(&k, state);
    q15_save(&m, state + 4);
}

static void biquad_q15(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                       int16_t *out, uint32_t n)
{
    const int shift = 15 - post_shift;
    while (stages >= 2) {
        q15_two(coef5, shift, state, in, out, n);
        coef5 += 10;
        state += 8;
        stages -= 2;
        in = out;
    }
    if (stages == 1) {
        q15_one(coef5, shift, state, in, out, n);
    }
}

typedef struct f32_stage {
    float b0, b1, b2, a1, a2;
    float x1, x2, y1, y2;
} f32_stage_t;

static inline f32_stage_t f32_load(const float *c, const float *s)
{
    return (f32_stage_t){c[0], c[1], c[2], c[3], c[4], s[0], s[1], s[2], s[3]};
}

static inline float signal_or_zero(float v)
{
    const float size = v < 0 ? -v : v;
    return size > 1e-30f && size < 1e30f ? v : 0.0f;
}

static inline void f32_save(const f32_stage_t *k, float *s)
{
    s[0] = signal_or_zero(k->x1);
    s[1] = signal_or_zero(k->x2);
    s[2] = signal_or_zero(k->y1);
    s[3] = signal_or_zero(k->y2);
}

static inline float f32_step(f32_stage_t *k, float x)
{
    float y = k->b0 * x;
    y += k->b1 * k->x1;
    y += k->b2 * k->x2;
    y += k->a2 * k->y2;
    y += k->a1 * k->y1;
    k->x2 = k->x1;
    k->x1 = x;
    k->y2 = k->y1;
    k->y1 = y;
    return y;
}

static void f32_one(const float *c, float *state, const float *in, float *out, uint32_t n)
{
    f32_stage_t k = f32_load(c, state);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = f32_step(&k, in[i]);
    }
    f32_save(&k, state);
}

static void f32_two(const float *c, float *state, const float *in, float *out, uint32_t n)
{
    f32_stage_t k = f32_load(c, state);
    f32_stage_t m = f32_load(c + 5, state + 4);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = f32_step(&m, f32_step(&k, in[i]));
    }
    f32_save(&k, state);
    f32_save(&m, state + 4);
}

static void biquad_f32(const float *coef5, unsigned stages, float *state, const float *in, float *out, uint32_t n)
{
    while (stages >= 2) {
        f32_two(coef5, state, in, out, n);
        coef5 += 10;
        state += 8;
        stages -= 2;
        in = out;
    }
    if (stages == 1) {
        f32_one(coef5, state, in, out, n);
    }
}

void tw_services_default(tw_services_t *svc)
{
    svc->lib = tw_library();
    svc->mask |= TW_SVC_DSP | tw_library_groups(svc->lib);
    svc->biquad_q15 = biquad_q15;
    svc->biquad_f32 = biquad_f32;
}
