/* bytes.h - little-endian access and bounded cursors over bytes from outside.
 *
 * Everything read from a wire or an image goes through here: never by casting,
 * so alignment and host byte order do not matter.
 */
#pragma once
#include "engine/base/err.h"
#include <stdbool.h>
#include <string.h>

static inline uint16_t tw_get_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)p[1] << 8);
}

static inline uint32_t tw_get_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t tw_get_le64(const uint8_t *p)
{
    return (uint64_t)tw_get_le32(p) | (uint64_t)tw_get_le32(p + 4) << 32;
}

static inline void tw_put_le16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void tw_put_le32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static inline void tw_put_le64(uint8_t *p, uint64_t v)
{
    tw_put_le32(p, (uint32_t)v);
    tw_put_le32(p + 4, (uint32_t)(v >> 32));
}

static inline float tw_get_f32(const uint8_t *p)
{
    const uint32_t u = tw_get_le32(p);
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline void tw_put_f32(uint8_t *p, float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    tw_put_le32(p, u);
}

/** Bits hi..lo (inclusive) of a word; 31 = MSB. */
static inline uint32_t tw_bits(uint32_t w, unsigned hi, unsigned lo)
{
    const uint32_t mask = hi - lo == 31 ? 0xFFFFFFFFu : (1u << (hi - lo + 1)) - 1u;
    return (w >> lo) & mask;
}

/** A value placed at bit lo; the caller has checked that it fits. */
static inline uint32_t tw_put_bits(uint32_t v, unsigned lo)
{
    return v << lo;
}

static inline uint32_t tw_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t tw_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/** Number of the lowest bit set; some bit is. */
static inline uint32_t tw_low_bit(uint32_t v)
{
    return (uint32_t)__builtin_ctz(v);
}

/** Round up to a power of two `to`; the caller has checked for overflow. */
static inline uint32_t tw_round_up(uint32_t v, uint32_t to)
{
    return (v + to - 1) & ~(to - 1);
}

/** True when [at, at + len) lies inside [0, size), without overflow. */
static inline bool tw_inside32(uint32_t at, uint32_t len, uint32_t size)
{
    return at <= size && len <= size - at;
}

/** The same for numbers that may be sums. */
static inline bool tw_inside(uint64_t at, uint64_t len, uint64_t size)
{
    return at <= size && len <= size - at;
}
