/* biquad_design.h - second-order filters from a few words, and their 16-bit form.
 *
 * Formulas: R. Bristow-Johnson, "Cookbook formulae for audio EQ biquad filter coefficients". Signs as the
 * filter node takes them: y = b0 x + b1 x1 + b2 x2 + a1 y1 + a2 y2, so the a's are the cookbook's negated.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum tw_biquad_kind {
    TW_BQ_BYPASS,
    TW_BQ_LOWPASS,
    TW_BQ_HIGHPASS,
    TW_BQ_BANDPASS, /* 0 dB at the centre */
    TW_BQ_NOTCH,
    TW_BQ_PEAK, /* gain_db at the centre */
} tw_biquad_kind_t;

typedef struct tw_biquad {
    double b0, b1, b2, a1, a2;
} tw_biquad_t;

/**
 * @param f_hz   corner or centre, 0 < f < rate / 2
 * @param q      > 0
 * @return false when a number is out of its range
 */
bool tw_biquad_design(tw_biquad_kind_t kind, double f_hz, double rate_hz, double q, double gain_db, tw_biquad_t *out);
/** |H| at a frequency, linear. */
double tw_biquad_gain(const tw_biquad_t *s, double f_hz, double rate_hz);
/** Largest pole radius; stable below 1. */
double tw_biquad_radius(const tw_biquad_t *s);

/**
 * Q15 coefficients of a cascade with one common post_shift: coefficient = q / 32768 * 2^post_shift. The
 * smallest shift that holds every coefficient keeps the most bits.
 * @return false when `shift_max` is not enough
 */
bool tw_biquad_quantise(const tw_biquad_t *s, unsigned stages, int shift_max, int16_t (*out)[5], int *post_shift);
/** Back from Q15. */
tw_biquad_t tw_biquad_from_q15(const int16_t q[5], int post_shift);
/**
 * Largest difference of |H| between two cascades from 0 to rate/2, as a part of the first one's largest
 * gain: 0.1 is about 1 dB at the top.
 */
double tw_biquad_distance(const tw_biquad_t *a, const tw_biquad_t *b, unsigned stages);
