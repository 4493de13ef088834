/* raw_bits.c - widths of raw types, apart from their names: a small device needs no names. */
#include "engine/base/formats.h"

/* A byte each; the one type of 256 bits has all bits set. */
static const uint8_t bits_of[] = {
#define TW_RAW(code, NAME, bits, computable) [code] = (uint8_t)((bits) > 255 ? 255 : (bits)),
#include "engine/base/raw_types.def"
};

unsigned tw_raw_bits(uint32_t raw)
{
    const unsigned bits = raw < TW_COUNT(bits_of) ? bits_of[raw] : 0;
    return bits + (bits == 255);
}
