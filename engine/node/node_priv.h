/* node_priv.h - what the node types share: the shape of a stream, the storage of parameters.
 *
 * Private to engine/node. Nothing here knows what a node computes.
 */
#pragma once
#include "engine/base/port.h"
#include "engine/node/node.h"

#define TW_NODE(id, name) extern const tw_node_desc_t tw_node_##name;
#include "engine/node/nodes.def"

/* Codes of units.def that parameter tables use. */
enum { TW_NODE_UNIT_ANY = 0, TW_NODE_UNIT_DB = 45, TW_NODE_UNIT_COUNT = 48, TW_NODE_UNIT_MS = 68 };

#define TW_RAW_BIT(raw) ((uint64_t)1 << (raw))
/** Every type whose samples fill whole bytes: they can be moved one by one. */
#define TW_RAW_MASK_BYTES (TW_RAW_BIT(TW_RAW_COUNT) - TW_RAW_BIT(TW_RAW_S8))
#define TW_RAW_MASK_SIGNAL \
    (TW_RAW_BIT(TW_RAW_S16) | TW_RAW_BIT(TW_RAW_Q15) | (TW_NODE_FP32 ? TW_RAW_BIT(TW_RAW_FP32) : 0))

/** The number a node returns for an error. */
static inline uint32_t tw_node_error(tw_err_t err)
{
    return (uint32_t) - (int32_t)err;
}

#if !TW_SMALL
/** Answer to UPDATE_RELOCATABLE of a type that keeps no address inside its blocks. */
static inline uint32_t tw_node_moved(const tw_node_desc_t *d, uint32_t block)
{
    return tw_node_error(block < d->n_mem && d->mem[block].reloc != 0 ? TW_OK : TW_E_UNSUPPORTED);
}
#endif

/* ---- streams --------------------------------------------------------------
 * An *instant* is one sample of every channel. A *run* is a stretch of instants in which each
 * channel's samples lie a constant step apart: everything when interleaved, one frame when not. */
typedef struct tw_shape {
    uint32_t samples;  /* per frame and channel */
    uint8_t raw, size; /* size [bytes] of a sample */
    uint8_t channels;
    uint8_t blocks; /* 1: each frame holds channel after channel */
} tw_shape_t;

/** @return TW_OK, IMG_RAW (type not in `raw_mask`), IMG_FORMAT (channels, layout or time stamps not handled) */
tw_err_t tw_shape_from(tw_shape_t *s, const tw_format_t *fmt, uint64_t raw_mask);
/**
 * Both arcs of a node with one in and one out that goes sample by sample: their rates are one.
 * @param arc  out: the arc to look at when refused
 * @return TW_OK, IMG_RAW, IMG_FORMAT, IMG_ARC_FORMAT (two rates)
 */
tw_err_t tw_shape_pair(const tw_node_desc_t *d, const tw_format_t *const *fmt, uint32_t *arc, tw_shape_t *in,
                       tw_shape_t *out);
/** tw_node_desc_t.memreq of a node whose samples go out as they came in: also IMG_ARC_FORMAT where shapes differ. */
tw_err_t tw_shape_memreq(const tw_node_desc_t *d, const tw_format_t *const *fmt, uint32_t *arc);
/**
 * What RESET of a node with one arc in and one out checks first: arc counts, both formats, preset.
 * @return TW_OK, IMG_NODE, IMG_RAW, IMG_FORMAT, IMG_ARC_FORMAT, PARAM_PRESET
 */
tw_err_t tw_shape_reset(const tw_node_desc_t *d, const tw_node_reset_t *r, uint32_t cmd, tw_shape_t *in,
                        tw_shape_t *out);
/**
 * All arcs of a node with several that goes sample by sample: one kind of sample, one rate, frames of one length, so
 * that what an arc keeps back is a whole frame and no arc waits for another's rest.
 * @param fmt  n of them
 * @param arc  out: the arc to look at when refused
 * @param s    out: n shapes
 * @return TW_OK, IMG_RAW, IMG_FORMAT, IMG_ARC_FORMAT (types, rates or frames differ)
 */
tw_err_t tw_shape_all(const tw_node_desc_t *d, const tw_format_t *const *fmt, uint32_t n, uint32_t *arc, tw_shape_t *s);
/** Instants that n arcs all have, data or room: whole frames. */
uint32_t tw_shape_all_instants(const tw_shape_t *s, const tw_xdm_t *data, uint32_t n);
/** The shortest run of n arcs from `t` on, `end` instants in all. */
uint32_t tw_shape_all_run(const tw_shape_t *s, uint32_t n, uint32_t t, uint32_t end);
/** True when the same bytes mean the same samples in both; S16 and Q15 are one type. */
bool tw_shape_same(const tw_shape_t *a, const tw_shape_t *b);

/** Channels lie one after the other in each frame. */
static inline bool tw_shape_blocks(const tw_shape_t *s)
{
    return TW_MAX_CHANNELS > 1u && s->blocks;
}

static inline uint32_t tw_shape_channels(const tw_shape_t *s)
{
    return TW_MAX_CHANNELS > 1u ? s->channels : 1u;
}

/** Whole instants in `bytes`; whole frames when channels lie in blocks. */
static inline uint32_t tw_shape_instants(const tw_shape_t *s, uint32_t bytes)
{
    const uint32_t n = bytes / ((uint32_t)s->size * tw_shape_channels(s));
    return tw_shape_blocks(s) ? n - n % s->samples : n;
}

/** Bytes of `n` instants. */
static inline uint32_t tw_shape_bytes(const tw_shape_t *s, uint32_t n)
{
    return n * s->size * tw_shape_channels(s);
}

/** Instants from `t` on in the same run, `n` in all. */
static inline uint32_t tw_shape_run(const tw_shape_t *s, uint32_t t, uint32_t n)
{
    return tw_shape_blocks(s) ? tw_min_u32(n - t, s->samples - t % s->samples) : n - t;
}

/** Where channel `c` of instant `t` is [samples from the start]. */
static inline size_t tw_shape_at(const tw_shape_t *s, uint32_t t, uint32_t c)
{
    if (!tw_shape_blocks(s)) {
        return (size_t)t * tw_shape_channels(s) + c;
    }
    const uint32_t in_frame = t % s->samples;
    return (size_t)(t - in_frame) * s->channels + (size_t)c * s->samples + in_frame;
}

/** From one sample of a channel to the next inside a run [samples]. */
static inline uint32_t tw_shape_step(const tw_shape_t *s)
{
    return tw_shape_blocks(s) ? 1u : tw_shape_channels(s);
}

/** `n` samples of channel `c` from instant `t` on as numbers (S16/Q15: word / 32768; FP32). What is no number, or
 * beyond 1e6, counts as 0: one bad sample does not spoil a sum. */
void tw_shape_load(const tw_shape_t *s, const void *data, uint32_t t, uint32_t c, uint32_t n, float *to);
/** One sample, saturated where the type is an integer. */
void tw_shape_store(const tw_shape_t *s, void *data, uint32_t t, uint32_t c, float v);

/* ---- parameters ----------------------------------------------------------- */

/** Values kept in a struct: row i of the table lives at byte at[i]. At most TW_PARAM_ROWS_MAX rows. */
enum { TW_PARAM_ROWS_MAX = 64 };
typedef struct tw_param_store {
    const tw_param_desc_t *rows;
    const uint16_t *at;
    uint32_t n;
} tw_param_store_t;

/** Take a checked SET into `values`. @return bit i: row i was given; bit 31 stands for row 31 and all behind it */
uint32_t tw_param_put(const tw_param_store_t *s, void *values, uint32_t tag, const tw_xdm_t *data);
/** Answer a READ. @return 0, or PARAM_INDEX, PARAM_SIZE (room too small; data untouched) */
uint32_t tw_param_get(const tw_param_store_t *s, const void *values, uint32_t tag, tw_xdm_t *data);

/** Rows a checked SET of index 256 with `bytes` gives: what follows them is not part of it. */
uint32_t tw_param_rows_given(const tw_param_store_t *s, uint32_t bytes);

/** Row of an index in a table, or `n`. */
uint32_t tw_param_row(const tw_param_desc_t *rows, uint32_t n, uint32_t index);
/** True when the row belongs to the index-256 block. */
static inline bool tw_param_in_all(const tw_param_desc_t *p)
{
    return (p->flags & (TW_PARAM_READ_ONLY | TW_PARAM_NOT_IN_ALL)) == 0;
}
