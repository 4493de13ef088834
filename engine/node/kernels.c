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

/* Signals seldom reach the rail, so the next sample need not wait for the comparison: it is a guess that comes true. */
static inline int32_t q15_saturate(int64_t v)
{
    return __builtin_expect(v != (int16_t)v, 0) ? tw_sat16(v) : (int32_t)v;
}

/* A product of two 16-bit numbers has 32 bits: one instruction on any core. Where the sizes of the coefficients sum up
 * to less than 65536 so does the whole sum (`narrow`), and a small core needs no carry. */
static inline int32_t q15_step(q15_stage_t *k, int32_t x, int shift, bool narrow)
{
    int32_t y;
    if (narrow) {
        const int32_t sum = k->b0 * x + k->b1 * k->x1 + k->b2 * k->x2 + k->a2 * k->y2 + k->a1 * k->y1;
        y = q15_saturate(sum >> shift);
    } else {
        int64_t sum = (int64_t)(k->b0 * x) + k->b1 * k->x1;
        sum += k->b2 * k->x2;
        sum += k->a2 * k->y2;
        sum += k->a1 * k->y1;
        y = q15_saturate(sum >> shift);
    }
    k->x2 = k->x1;
    k->x1 = x;
    k->y2 = k->y1;
    k->y1 = y;
    return y;
}

static bool q15_narrow(const int16_t *c)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 5; i++) {
        sum += (uint32_t)(c[i] < 0 ? -c[i] : c[i]);
    }
    return sum < 65536;
}

static inline void q15_pass_one(const int16_t *c, int shift, int16_t *state, const int16_t *in, int16_t *out,
                                uint32_t n, bool narrow)
{
    q15_stage_t k = q15_load(c, state);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int16_t)q15_step(&k, in[i], shift, narrow);
    }
    q15_save(&k, state);
}

static inline void q15_pass_two(const int16_t *c, int shift, int16_t *state, const int16_t *in, int16_t *out,
                                uint32_t n, bool narrow)
{
    q15_stage_t k = q15_load(c, state);
    q15_stage_t m = q15_load(c + 5, state + 4);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int16_t)q15_step(&m, q15_step(&k, in[i], shift, narrow), shift, narrow);
    }
    q15_save(&k, state);
    q15_save(&m, state + 4);
}

static void q15_one(const int16_t *c, int shift, int16_t *state, const int16_t *in, int16_t *out, uint32_t n)
{
    if (q15_narrow(c)) {
        q15_pass_one(c, shift, state, in, out, n, true);
    } else {
        q15_pass_one(c, shift, state, in, out, n, false);
    }
}

static void q15_two(const int16_t *c, int shift, int16_t *state, const int16_t *in, int16_t *out, uint32_t n)
{
    if (q15_narrow(c) && q15_narrow(c + 5)) {
        q15_pass_two(c, shift, state, in, out, n, true);
    } else {
        q15_pass_two(c, shift, state, in, out, n, false);
    }
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

/* ---- channels side by side ---------------------------------------------------------------------
 * A vector holds one sample of up to four interleaved channels; each lane does what f32_step does, in its order, so
 * the result is that of the channels one by one, to the bit. */

enum { LANES = 4 };
typedef float lanes_t __attribute__((vector_size(4 * LANES)));

typedef struct f32_lanes {
    lanes_t b0, b1, b2, a1, a2;
    lanes_t x1, x2, y1, y2;
} f32_lanes_t;

static inline lanes_t all(float v)
{
    return (lanes_t){v, v, v, v};
}

/* By way of arrays: a vector indexed by a variable would stay in memory for the whole pass. */
static inline f32_lanes_t lanes_load(const float *c, const float *s, size_t apart, uint32_t channels)
{
    float past[4][LANES] = {{0}};
    for (uint32_t i = 0; i < channels; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            past[j][i] = s[i * apart + j];
        }
    }
    f32_lanes_t k = {.b0 = all(c[0]), .b1 = all(c[1]), .b2 = all(c[2]), .a1 = all(c[3]), .a2 = all(c[4])};
    memcpy(&k.x1, past[0], sizeof k.x1);
    memcpy(&k.x2, past[1], sizeof k.x2);
    memcpy(&k.y1, past[2], sizeof k.y1);
    memcpy(&k.y2, past[3], sizeof k.y2);
    return k;
}

static inline void lanes_save(const f32_lanes_t *k, float *s, size_t apart, uint32_t channels)
{
    float past[4][LANES];
    memcpy(past[0], &k->x1, sizeof k->x1);
    memcpy(past[1], &k->x2, sizeof k->x2);
    memcpy(past[2], &k->y1, sizeof k->y1);
    memcpy(past[3], &k->y2, sizeof k->y2);
    for (uint32_t i = 0; i < channels; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            s[i * apart + j] = signal_or_zero(past[j][i]);
        }
    }
}

static inline lanes_t lanes_step(f32_lanes_t *k, lanes_t x)
{
    lanes_t y = k->b0 * x;
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

static inline lanes_t lanes_get(const float *x, uint32_t channels)
{
    switch (channels) {
    case 1:
        return (lanes_t){x[0]};
    case 2:
        return (lanes_t){x[0], x[1]};
    case 3:
        return (lanes_t){x[0], x[1], x[2]};
    default:
        return (lanes_t){x[0], x[1], x[2], x[3]};
    }
}

/* `channels` is a constant where this is inlined: a copy of two or four floats is one instruction. */
static inline void lanes_pass(const float *c, unsigned stages, float *state, size_t apart, const float *in, float *out,
                              uint32_t n, uint32_t step, uint32_t channels)
{
    f32_lanes_t k = lanes_load(c, state, apart, channels), m = k;
    if (stages == 2) {
        m = lanes_load(c + 5, state + 4, apart, channels);
    }
    for (uint32_t i = 0; i < n; i++) {
        lanes_t x = lanes_get(in + (size_t)i * step, channels);
        x = lanes_step(&k, x);
        if (stages == 2) {
            x = lanes_step(&m, x);
        }
        memcpy(out + (size_t)i * step, &x, channels * sizeof(float));
    }
    lanes_save(&k, state, apart, channels);
    if (stages == 2) {
        lanes_save(&m, state + 4, apart, channels);
    }
}

static void lanes_group(const float *c, unsigned stages, float *state, size_t apart, const float *in, float *out,
                        uint32_t n, uint32_t step, uint32_t channels)
{
    if (channels == 4 && stages == 2) {
        lanes_pass(c, 2, state, apart, in, out, n, step, 4);
    } else if (channels == 2 && stages == 2) {
        lanes_pass(c, 2, state, apart, in, out, n, step, 2);
    } else if (channels == 4) {
        lanes_pass(c, 1, state, apart, in, out, n, step, 4);
    } else if (channels == 2) {
        lanes_pass(c, 1, state, apart, in, out, n, step, 2);
    } else if (channels == 3) {
        lanes_pass(c, stages, state, apart, in, out, n, step, 3);
    } else {
        lanes_pass(c, stages, state, apart, in, out, n, step, 1);
    }
}

static void biquad_f32_channels(const float *coef5, unsigned stages, float *state, uint32_t apart, const float *in,
                                float *out, uint32_t n, uint32_t channels)
{
    for (unsigned s = 0; s < stages; s += 2) {
        for (uint32_t c = 0; c < channels; c += LANES) {
            lanes_group(coef5 + 5 * s, stages - s >= 2 ? 2 : 1, state + 4 * s + (size_t)c * apart, apart, in + c,
                        out + c, n, channels, tw_min_u32(channels - c, LANES));
        }
        in = out;
    }
}

void tw_services_default(tw_services_t *svc)
{
    svc->lib = tw_library();
    svc->mask |= TW_SVC_DSP | tw_library_groups(svc->lib);
    svc->biquad_q15 = biquad_q15;
    svc->biquad_f32 = biquad_f32;
    svc->biquad_f32_channels = biquad_f32_channels;
}
