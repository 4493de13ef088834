/* arc.c - what a modulo ring needs where a frame straddles its end. */
#include "engine/arc/arc.h"

static void reverse(uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n - i; i++) {
        const uint8_t t = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = t;
    }
}

/* Three reversals: no second buffer, and every byte moves twice. */
void tw_arc_turn(tw_arc_t *a)
{
    const uint32_t read = tw_gauge_get(&a->read);
    reverse(a->buf, read);
    reverse(a->buf + read, a->size - read);
    reverse(a->buf, a->size);
}

uint32_t tw_arc_newest(const tw_arc_t *a, uint8_t *to, uint32_t bytes)
{
    const uint32_t write = tw_arc_write_at(a);
    const bool ring = a->type == TW_ARC_MODULO;
    /* what a node working in place has taken from the first of two is overwritten */
    const uint32_t known = a->shares != NULL && !a->second ? tw_arc_fill(a) : ring ? a->size : write;
    const uint32_t n = tw_min_u32(bytes, known), folded = n > write ? n - write : 0;
    memcpy(to, a->buf + a->size - folded, folded);
    memcpy(to + folded, a->buf + write - (n - folded), n - folded);
    return n;
}
