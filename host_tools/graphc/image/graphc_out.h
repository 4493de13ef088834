/* graphc_out.h - bytes of an image while it is written. `failed` sticks, so writers need not look. */
#pragma once
#include "host_tools/graphc/graphc_priv.h"

#define G_IMAGE_MAX (64u << 20)

typedef struct g_out {
    uint8_t *v;
    uint32_t n, cap;
    bool failed;
} g_out_t;

static inline void g_out_put(g_out_t *o, const void *p, uint32_t n)
{
    while (!o->failed && o->cap < o->n + n) {
        o->failed = n > G_IMAGE_MAX || o->n + n > G_IMAGE_MAX || !g_grow(&o->v, o->cap, &o->cap, 1);
    }
    if (!o->failed && n > 0) {
        memcpy(o->v + o->n, p, n);
        o->n += n;
    }
}

static inline void g_out_word(g_out_t *o, uint32_t w)
{
    uint8_t b[4];
    tw_put_le32(b, w);
    g_out_put(o, b, sizeof b);
}

static inline void g_out_pad(g_out_t *o, uint32_t to)
{
    static const uint8_t zero[16];
    g_out_put(o, zero, tw_round_up(o->n, to) - o->n);
}

/** Replace the word at byte `at`, which was written. */
static inline void g_out_poke(const g_out_t *o, uint32_t at, uint32_t w)
{
    if (!o->failed) {
        tw_put_le32(o->v + at, w);
    }
}

/** Parameter tables of the graph's node types: EXT META and g_node.meta. */
void g_out_meta(g_out_t *o, g_model_t *m);
