/* board_linux_samples.h - between 32-bit fractions and the raw sample types files and lines are joined to. */
#pragma once
#include "engine/base/formats.h"

/** Bytes of one sample, 0 = a raw type no back-end converts. */
uint32_t tw_sample_bytes(uint32_t raw);
/** Store a fraction (full scale 2^31) as `raw`; narrower types are rounded and saturated. */
void tw_sample_put(uint32_t raw, uint8_t *dst, int32_t q31);
/** As tw_sample_put() from a float (full scale 1.0); FP32 gets the very bits. */
void tw_sample_put_float(uint32_t raw, uint8_t *dst, float v);
/** Is any sample above half scale? Unsigned types count from 0, one-bit types by any bit set. */
bool tw_samples_above_half(uint32_t raw, const uint8_t *src, uint32_t bytes);
/** The level of a line as samples: full scale or zero in every one. */
void tw_samples_fill_level(uint32_t raw, uint8_t *dst, uint32_t bytes, bool level);
/** True for the types the last two know. */
bool tw_sample_is_level(uint32_t raw);
