#include "engine/base/config.h"
#if TW_CMSIS_DSP
#include "engine/dsp/backend_cmsis.h"
#include "engine/dsp/fft.h"
#include <arm_math.h>
#include <string.h>

/* ---- biquads ---------------------------------------------------------------------- */

/* A stage at a time: its table has a zero more a stage than ours, and stages pass whole blocks on anyway. */
void tw_cmsis_biquad_q15(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                         int16_t *out, uint32_t n)
{
    for (unsigned s = 0; s < stages; s++, coef5 += 5, state += 4, in = out) {
        _Alignas(4) const q15_t coef6[6] = {coef5[0], 0, coef5[1], coef5[2], coef5[3], coef5[4]};
        _Alignas(4) q15_t past[4];
        memcpy(past, state, sizeof past);
        const arm_biquad_casd_df1_inst_q15 f = {
            .numStages = 1,
            .pState = past,
            .pCoeffs = coef6,
            .postShift = (int8_t)post_shift,
        };
        arm_biquad_cascade_df1_q15(&f, in, out, n);
        memcpy(state, past, sizeof past);
    }
}

/* As the portable kernel: what is no signal any more does not stay in the state. */
static float signal_or_zero(float v)
{
    const float size = v < 0 ? -v : v;
    return size > 1e-30f && size < 1e30f ? v : 0.0f;
}

void tw_cmsis_biquad_f32(const float *coef5, unsigned stages, float *state, const float *in, float *out, uint32_t n)
{
    const arm_biquad_casd_df1_inst_f32 f = {.numStages = stages, .pState = state, .pCoeffs = coef5};
    arm_biquad_cascade_df1_f32(&f, in, out, n);
    for (unsigned i = 0; i < 4 * stages; i++) {
        state[i] = signal_or_zero(state[i]);
    }
}

/* ---- transforms: theirs packs the last bin into the first, and destroys its input ------- */

typedef struct plan {
    arm_rfft_fast_instance_f32 theirs;
    uint32_t n; /* 0: the plan behind is one of fft.c */
    float work[];
} plan_t;

enum { OURS = (sizeof(plan_t) + 7u) / 8u * 8u };

static bool served(uint32_t n)
{
    return n >= 32 && n <= 4096 && (n & (n - 1)) == 0;
}

uint32_t tw_cmsis_rfft_bytes(uint32_t n)
{
    const uint32_t ours = tw_rfft_bytes(n);
    return served(n) ? (uint32_t)sizeof(plan_t) + 4 * n : ours != 0 ? OURS + ours : 0;
}

bool tw_cmsis_rfft_plan(void *plan, uint32_t bytes, uint32_t n, bool back)
{
    plan_t *p = plan;
    const uint32_t need = tw_cmsis_rfft_bytes(n);
    if (need == 0 || bytes < need) {
        return false;
    }
    p->n = served(n) ? n : 0;
    return p->n != 0 ? arm_rfft_fast_init_f32(&p->theirs, (uint16_t)n) == ARM_MATH_SUCCESS
                     : tw_rfft_plan((uint8_t *)plan + OURS, bytes - OURS, n, back);
}

void tw_cmsis_rfft(void *plan, const float *samples, float *bins)
{
    plan_t *p = plan;
    if (p->n == 0) {
        tw_rfft((uint8_t *)plan + OURS, samples, bins);
        return;
    }
    memcpy(p->work, samples, p->n * sizeof *samples);
    arm_rfft_fast_f32(&p->theirs, p->work, bins, 0);
    bins[p->n] = bins[1];
    bins[p->n + 1] = bins[1] = 0;
}

void tw_cmsis_rfft_back(void *plan, const float *bins, float *samples)
{
    plan_t *p = plan;
    if (p->n == 0) {
        tw_rfft_back((uint8_t *)plan + OURS, bins, samples);
        return;
    }
    memcpy(p->work, bins, p->n * sizeof *bins);
    p->work[1] = bins[p->n];
    arm_rfft_fast_f32(&p->theirs, p->work, samples, 1);
    for (uint32_t i = 0; i < p->n; i++) {
        samples[i] *= (float)p->n; /* theirs divides */
    }
}
#endif
