/* varint_priv.h - protobuf's variable-length numbers by hand, bounded by a span.
 *
 * Stricter than nanopb on purpose: what is refused here is decoded there, so a
 * rare form is slow, never wrong.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TW_VARINT_MAX = 10 };
#define TW_TAG(field, wire) ((field) << 3 | (wire))

typedef struct tw_span {
    const uint8_t *p, *end;
} tw_span_t;

/** @return false: runs past the end or over 32 bits */
static inline bool tw_span_u32(tw_span_t *s, uint32_t *v)
{
    if (s->p < s->end && *s->p < 0x80) {
        *v = *s->p++;
        return true;
    }
    uint32_t r = 0;
    for (unsigned shift = 0; shift < 35 && s->p < s->end; shift += 7) {
        const uint32_t b = *s->p++;
        if (shift == 28 && b > 0x0F) {
            return false;
        }
        r |= (b & 0x7F) << shift;
        if (b < 0x80) {
            *v = r;
            return true;
        }
    }
    return false;
}

/** @return false: runs past the end or over 64 bits */
static inline bool tw_span_u64(tw_span_t *s, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned shift = 0; shift < 70 && s->p < s->end; shift += 7) {
        const uint64_t b = *s->p++;
        if (shift == 63 && b > 1) {
            return false;
        }
        r |= (b & 0x7F) << shift;
        if (b < 0x80) {
            *v = r;
            return true;
        }
    }
    return false;
}

/** A length and that many bytes. @return false: they run past the end */
static inline bool tw_span_take(tw_span_t *s, tw_span_t *part)
{
    uint32_t n;
    if (!tw_span_u32(s, &n) || n > (size_t)(s->end - s->p)) {
        return false;
    }
    *part = (tw_span_t){s->p, s->p + n};
    s->p += n;
    return true;
}

static inline uint32_t tw_varint_size(uint64_t v)
{
    uint32_t n = 1;
    for (; v >= 0x80; v >>= 7) {
        n++;
    }
    return n;
}

/** @return bytes written, at most TW_VARINT_MAX */
static inline uint32_t tw_put_varint(uint8_t *p, uint64_t v)
{
    uint32_t n = 0;
    for (; v >= 0x80; v >>= 7) {
        p[n++] = (uint8_t)(v | 0x80);
    }
    p[n++] = (uint8_t)v;
    return n;
}
