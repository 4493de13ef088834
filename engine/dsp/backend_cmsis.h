/* backend_cmsis.h - CMSIS-DSP behind our own signatures, where a build has it (make CMSIS_DSP_DIR=...).
 *
 * Biquads: Q15 gives the bits of the portable kernel; FP32 sums in another order, within 1e-5 of the output's size for
 * stable filters. Transforms of 32, 64 .. 4096 real samples are its own, within 2e-6 of the largest bin; other lengths
 * go to fft.c. Signatures, layouts and scale are those of kernels.h and fft.h.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

void tw_cmsis_biquad_q15(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                         int16_t *out, uint32_t n);
void tw_cmsis_biquad_f32(const float *coef5, unsigned stages, float *state, const float *in, float *out, uint32_t n);

uint32_t tw_cmsis_rfft_bytes(uint32_t n);
bool tw_cmsis_rfft_plan(void *plan, uint32_t bytes, uint32_t n, bool back);
void tw_cmsis_rfft(void *plan, const float *samples, float *bins);
void tw_cmsis_rfft_back(void *plan, const float *bins, float *samples);
