/* convert.h - samples of every arithmetic raw type as numbers, and back.
 *
 * One scale for all types, the one the nodes share (S16 is Q15, FP32 has full scale 1):
 *
 *   S8 S16 S32, Q7 Q15 Q31     word / 2^(bits - 1)     -1 .. 1
 *   Q23_32                     word / 2^23, sign extended to 32 bits
 *   U8 CHAR U16 U32            word / 2^bits           0 .. 1
 *   U1                         0 or 1; bits fill a byte from its low end
 *   FP16 FP32 FP64             the number
 *   TIME16 TIME16D TIME32 TIME32D TIMESTMP TIME64      seconds: word / 2^(2, 15, 4, 15, 12, 28)
 *   TIME64MS                   seconds: [41:0] / 1000
 *
 * Back: to the nearest word, ties to even; beyond the type's range to its end (floating types: to the largest
 * number, while infinities stay); NaN is 0 in integers and stays NaN in floating types. Two steps round at most
 * once: every word of 53 bits or fewer is exact in between, longer ones go there rounded to odd.
 * CQ15 and CFP32 are two samples each, Q15 or FP32; the caller addresses them. Nothing here knows a stream.
 */
#pragma once
#include "engine/base/formats.h"
#include <stddef.h>

/**
 * Samples at, at + step, .. (n of them, counted in samples of `raw`) as numbers.
 * @param data  any alignment, the machine's byte order
 */
void tw_convert_load(uint32_t raw, const uint8_t *data, size_t at, size_t step, uint32_t n, double *to);
/** The other way. */
void tw_convert_store(uint32_t raw, uint8_t *data, size_t at, size_t step, uint32_t n, const double *from);
/** The same two, sample by sample: what the quick loops are compared with, and the way of types met seldom. */
void tw_convert_load_plain(uint32_t raw, const uint8_t *data, size_t at, size_t step, uint32_t n, double *to);
void tw_convert_store_plain(uint32_t raw, uint8_t *data, size_t at, size_t step, uint32_t n, const double *from);
/** True where tw_convert_move() can go straight from one to the other: any type of whole bytes to itself, and the pairs
 * met most. */
bool tw_convert_direct(uint32_t from, uint32_t to);
/** The result of load and store, or the very word where both types mean the same. */
void tw_convert_move(uint32_t from, const uint8_t *src, size_t src_step, uint32_t to, uint8_t *dst, size_t dst_step,
                     uint32_t n);
/** False for what has no number: transport types, complex types (as a whole), TIME64ISO. */
bool tw_convert_numeric(uint32_t raw);

/** y = gain * x + bias */
typedef struct tw_affine {
    double gain, bias;
} tw_affine_t;
/** From a number in one unit to one in another. "any" agrees with all. @return false: they measure different things */
bool tw_convert_units(uint32_t from, uint32_t to, tw_affine_t *a);
