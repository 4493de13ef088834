/* dsp_math.h - elementary functions without a C library, the same bits on every machine.
 *
 * In double precision, because they serve tables and readings, not samples: coefficients at RESET, a logarithm a
 * band. Errors are against the exact value. Nothing here sets errno or raises anything.
 */
#pragma once
#include <stdint.h>

#define TW_PI 3.14159265358979323846

/** e^x, relative error below 4e-16; beyond double's normal range 0 or infinity. */
double tw_exp(double x);
/** Natural logarithm, relative error below 4e-16 (absolute near 1); x <= 0 gives -infinity, NaN NaN. */
double tw_log(double x);
/** e^(y ln x) for x > 0; x = 0 gives 0 for y > 0; x < 0 gives NaN. Relative error below 1e-13 for results in 1e+-30. */
double tw_pow(double x, double y);
/** Newton, relative error below 3e-16; x <= 0 gives 0. */
double tw_sqrt(double x);
/** Absolute error below 3e-16 for |x| <= 1e5, growing with |x|; beyond 2^30, and for NaN, the result is 0. */
double tw_sin(double x);
/** As tw_sin; beyond 2^30 the result is 1. */
double tw_cos(double x);
/** -pi/2 .. pi/2, absolute error below 4e-16. */
double tw_atan(double x);
/** -pi .. pi, the angle of the point (x, y); 0 at the origin. */
double tw_atan2(double y, double x);
/** Largest whole number that is not above x. */
double tw_floor(double x);

/** Next number of a sequence of period 2^32 - 1; *state is kept by the caller and must not be 0 (0 counts as 1). */
uint32_t tw_rand(uint32_t *state);
/** Into rising order, in place, n log n always; NaN goes to the end. */
void tw_sort_f32(float *v, uint32_t n);
