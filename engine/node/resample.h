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

/** g at u input samples from its centre, but for the scale. @param low  lower rate over the input's, 0..1 */
double tw_resample_tap(double u, double low, uint32_t half);

/* ---- any ratio, even one that moves -----------------------------------------------------------
 * The same g, in rows 1/32 of an input sample apart; between them the row wanted is a cubic (Lagrange) through the
 * four around it, which leaves less than 1e-6 of full scale. Positions have 32 bits behind the point, and what a
 * step of whole numbers loses is carried, so that two rates of one clock never part. */

enum { TW_DRIFT_PHASES_LOG2 = 5, TW_DRIFT_PHASES = 1 << TW_DRIFT_PHASES_LOG2, TW_DRIFT_ROWS = TW_DRIFT_PHASES + 3 };
#define TW_DRIFT_RATIO_MAX 64.0f

typedef struct tw_drift {
    uint64_t step;      /* from output to output [2^-32 input samples], */
    uint32_t rest, den; /* plus rest / den of that unit */
    uint32_t half;      /* taps on each side [input samples] */
    double low;         /* lower rate over the input's */
} tw_drift_t;

/** @return false when a rate is not positive, or one is more than 64 times the other */
bool tw_drift_plan(tw_drift_t *d, float from_hz, float to_hz);

/** Numbers in the table. */
static inline uint32_t tw_drift_table(const tw_drift_t *d)
{
    return TW_DRIFT_ROWS * 2u * d->half;
}

void tw_drift_design(const tw_drift_t *d, float *table);
/** The 2 half taps for an output `phase` / 2^32 behind an input sample; the last is for the newest one. */
void tw_drift_filter(const tw_drift_t *d, const float *table, uint32_t phase, float *row);
/** Sum of products. */
float tw_drift_dot(const float *row, const float *x, uint32_t n);
