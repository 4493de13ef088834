/* signal.h - samples of the types signals have, as single precision, and back.
 *
 *   S16 Q15   word / 2^15      S32 Q31   word / 2^31 (of which single precision keeps 24 bits)      FP32   the number
 *
 * Back: to the nearest word, ties to even, beyond the range to its end; NaN becomes 0. FP32 stays as it is. For all
 * types and full precision see convert.h. Knows no stream and no node.
 */
#pragma once
#include "engine/base/formats.h"
#include <stddef.h>

/** Samples at, at + step, .. (n of them) of an array aligned to its type. */
void tw_signal_load(uint32_t raw, const void *data, size_t at, size_t step, uint32_t n, float *to);
/** The other way. */
void tw_signal_store(uint32_t raw, void *data, size_t at, size_t step, uint32_t n, const float *from);
