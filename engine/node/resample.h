/* resample.h - a sampling rate changed by a ratio of whole numbers: windowed sinc, one filter a phase.
 *
 *   y(q) = sum of x(i - j) * g(j + phase / up - half),  j = 0 .. 2 half - 1,  q = i * up + phase
 *
 * q counts 1/up of an input sample; outputs lie `down` apart. g is a sinc cut off at 0.45 of the lower of
 * the two rates, under a Kaiser window (beta 10.06) that is 32 of its samples wide on each side, and
 * scaled so that a constant passes unchanged in every phase:
 *
 *   flat to 0.4 of the lower rate (0.001 dB), 0.45 is 6 dB down, from 0.5 on 100 dB down
 *   delay: half input samples
 *
 * g is even, so the table holds its right side only, a row of `half` numbers for each phase 0 .. up. Single
 * precision; no allocation, no library of mathematics. Knows no stream and no node.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define TW_RESAMPLE_RATIO_MAX 2048u /* of up and of down, so of the table's rows and of half / 32 */

typedef struct tw_resample {
    uint32_t up, down; /* without common factor; equal rates: 1, 1 */
    uint32_t half;     /* taps on each side [input samples] */
} tw_resample_t;

/**
 * The ratio of two rates as the smallest whole numbers within the precision the rates have (2^-23).
 * @return false when it takes numbers above TW_RESAMPLE_RATIO_MAX, or a rate is not positive
 */
bool tw_resample_plan(tw_resample_t *r, float from_hz, float to_hz);

/** Numbers in the table. */
static inline uint32_t tw_resample_table(const tw_resample_t *r)
{
    return (r->up + 1u) * r->half;
}

/** Input samples before the newest that an output still needs. */
static inline uint32_t tw_resample_history(const tw_resample_t *r)
{
    return 2u * r->half - 1u;
}

void tw_resample_design(const tw_resample_t *r, float *table);

/**
 * n outputs.
 * @param x    tw_resample_history() earlier samples, then the sample that q = 0 falls on and those after it
 * @param pos  q of the first output; the last one needs x up to (pos + (n - 1) * down) / up
 */
void tw_resample_run(const tw_resample_t *r, const float *table, const float *x, uint32_t pos, double *y, uint32_t n);
