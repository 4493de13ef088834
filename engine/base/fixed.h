/* fixed.h - small number formats shared by nodes, tools and tests. */
#pragma once
#include <stdint.h>

static inline int16_t tw_sat16(int64_t v)
{
    return (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
}

/**
 * FP_8m4e gain: [11:4] mantissa m, [3:0] exponent e; gain = m/128 * 2^(5-e).
 * 0x0805 = 0 dB, 0x0803 = +12 dB, 0x0807 = -12 dB. Source: node library text, amplifier.
 */
float tw_fp8m4e_to_float(uint16_t code);
/** Nearest FP_8m4e code, saturating at both ends; gain >= 0. */
uint16_t tw_fp8m4e_from_float(float gain);

/** 10^(db/20), relative error below 1e-6 for |db| <= 200; no libm. */
float tw_db_to_gain(float db);
/** 20*log10(gain), absolute error below 1e-5 dB for gain >= 1e-10; smaller gives -200. */
float tw_gain_to_db(float gain);
/** Square root by Newton steps, relative error below 1e-6; x <= 0 gives 0. No libm. */
float tw_sqrtf(float x);
