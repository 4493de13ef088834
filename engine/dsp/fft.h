/* fft.h - discrete Fourier transforms of single precision, windows, and one frequency at a time.
 *
 * A transform has a plan: tables and room to work, in memory of the caller, made once at RESET. Nothing is allocated
 * and no C library is needed: kissfft computes, its tables come from our own sine. Lengths have the factors 2, 3 and 5
 * only (others would need memory while they run) and lie within 2..TW_FFT_MAX; those of real transforms are even.
 * Sums are not scaled: forth and back again multiplies by n.
 *
 * A plan holds addresses of itself: it may not be moved.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define TW_FFT_MAX 16384u
#define TW_FFT_ALIGN 8u /* [bytes] of a plan */

/** Bytes of the plan of a real transform of n samples, either way; 0: no such length. */
uint32_t tw_rfft_bytes(uint32_t n);
/** Make a plan. @param back  false: samples to bins, true: bins to samples @return false: no such length, or not
 *  enough bytes; nothing written then */
bool tw_rfft_plan(void *plan, uint32_t bytes, uint32_t n, bool back);
/** n samples to n / 2 + 1 bins, each real then imaginary part: bin k = sum of x[t] e^(-2 pi i k t / n).
 *  @param bins  n + 2 values, not the samples' memory */
void tw_rfft(void *plan, const float *samples, float *bins);
/** The other way, with a plan made for it. The imaginary parts of the first and the last bin are not looked at. */
void tw_rfft_back(void *plan, const float *bins, float *samples);

/** As above for n complex samples, n / 2 of them where tw_rfft counts n. */
uint32_t tw_cfft_bytes(uint32_t n);
bool tw_cfft_plan(void *plan, uint32_t bytes, uint32_t n, bool back);
/** @param from, to  n pairs of real and imaginary part, not the same memory */
void tw_cfft(void *plan, const float *from, float *to);

/** Windows for spectra: periodic, so w[0] is the smallest and w[n] would be w[0] again. */
typedef enum tw_window {
    TW_WINDOW_NONE = 0,
    TW_WINDOW_HANN = 1,     /* 0.5 - 0.5 c, c = cos(2 pi t / n) */
    TW_WINDOW_HAMMING = 2,  /* 0.54 - 0.46 c */
    TW_WINDOW_BLACKMAN = 3, /* 0.42 - 0.5 c + 0.08 cos(4 pi t / n) */
    TW_WINDOW_COUNT
} tw_window_t;
/** @return the sum of w; an unknown kind counts as none */
float tw_window(uint32_t kind, float *w, uint32_t n);

/** One frequency of a signal, sample by sample (Goertzel): {coefficient, s1, s2}. */
typedef struct tw_goertzel {
    double coefficient, s1, s2;
} tw_goertzel_t;
/** @param turns  cycles a sample, 0..0.5 */
void tw_goertzel_start(tw_goertzel_t *g, double turns);
void tw_goertzel_add(tw_goertzel_t *g, const float *x, uint32_t n);
/** |sum of x[t] e^(-2 pi i turns t)|^2 over all that was added; the sums begin anew. */
double tw_goertzel_power(tw_goertzel_t *g);
