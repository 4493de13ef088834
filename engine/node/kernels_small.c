/* kernels_small.c - the services of the small profile: the 16-bit biquad of kernels.h in as few instructions as it
 * takes, the same bits out. */
#include "engine/node/kernels.h"

#if TW_SMALL
static void one_stage(const int16_t *c, int shift, int16_t *s, const int16_t *in, int16_t *out, uint32_t n)
{
    while (n-- != 0) {
        const int16_t x = *in++;
        int64_t acc = c[0] * x;
        for (unsigned i = 0; i < 4; i++) {
            acc += c[i + 1] * s[i];
        }
        const int32_t sum = (int32_t)(acc >> shift); /* five products of 2^30, and shift is 12 or more */
        const int16_t y = (int16_t)(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
        s[1] = s[0];
        s[0] = x;
        s[3] = s[2];
        s[2] = y;
        *out++ = y;
    }
}

static void biquad_q15(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                       int16_t *out, uint32_t n)
{
    for (; stages != 0; stages--) {
        one_stage(coef5, 15 - post_shift, state, in, out, n);
        coef5 += 5;
        state += 4;
        in = out;
    }
}

const tw_services_t tw_services_small = {
    .mask = TW_SVC_DSP,
    .biquad_q15 = biquad_q15,
};
#endif
