/* wave.h - waves from phases: what generator and demodulator draw their oscillators from.
 *
 * A phase is 32 bits, 2^32 to the turn, so it wraps as the wave does and never loses precision. Loops are free of
 * branches and libraries. Values lie in -1 .. 1.
 *
 *   sine       a polynomial of degree 9 on a quarter of a turn: within 2.5e-7, harmonics below -135 dB
 *   saw        -1 to 1 in a turn, jumping back at phase 0
 *   square     1 for `duty` of the turn from phase 0 on, then -1
 *   triangle   0 at phase 0, 1 a quarter turn later: as a sine does
 *
 * The edges of the last three are band-limited: the two samples beside a jump (a corner of the triangle) are moved
 * to where a polynomial kernel two samples wide puts them (polyBLEP, polyBLAMP). dt, the turns a sample, says how wide
 * that is; 0 leaves the wave as it is. Knows no stream and no node.
 */
#pragma once
#include <stdint.h>

void tw_wave_sine(const uint32_t *phase, float *y, uint32_t n);
/** @param dt  0 .. 0.5 each */
void tw_wave_saw(const uint32_t *phase, const float *dt, float *y, uint32_t n);
/** @param duty  0 .. 1 */
void tw_wave_square(const uint32_t *phase, const float *dt, float duty, float *y, uint32_t n);
void tw_wave_triangle(const uint32_t *phase, const float *dt, float *y, uint32_t n);

/** White noise, even over -1 .. 1: the same for the same seed, repeats after 2^32 samples. */
void tw_wave_white(uint32_t *seed, float *y, uint32_t n);

#define TW_WAVE_PINK 6u /* sections */
typedef struct tw_wave_pink {
    float x[TW_WAVE_PINK], y[TW_WAVE_PINK]; /* the sample before, in and out of each section */
} tw_wave_pink_t;
/** White noise made pink in place: -3 dB an octave within 0.25 dB from 0.0002 to 0.48 of the rate, rms 0.25, held in -1
 * .. 1. */
void tw_wave_pink(tw_wave_pink_t *p, float *y, uint32_t n);
