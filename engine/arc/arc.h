/* arc.h - a stream buffer: one producer, one consumer, always contiguous.
 *
 * Linear and realigned: data lie in [read, write); when the room behind `write`
 * is too short for a frame but the room in all is not, the data move to the
 * start. So a node gets one pointer to whole frames, and a buffer of exactly one
 * frame works: full means "free < producer frame", never "write - read == size - 1".
 *
 * Modulo ring: data wrap at the end of the buffer and full is "write - read ==
 * size - 1" (S0:L1641). `read` stays below `size`, `write` is at most size - 1
 * ahead of it. A frame that would straddle the end turns the ring in place, which
 * is counted as a realignment; with a size of whole frames it never happens.
 *
 * Constant: every byte is there at every run, reading takes nothing away.
 *
 * Shared: an arc and the next one, behind a node that works in place, are one
 * buffer. The second grows where the first was read, and the first takes data
 * only when both are empty.
 *
 * The producer moves `write`, the consumer `read`. With several instances they are
 * two threads: an index is stored with release and read with acquire, so what lies
 * before it is seen too, and each side has lines of its own. With one they are
 * atomic only because another thread may look at them, which needs no order.
 * Frames start aligned to min(4, sample size): the loader refuses others.
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/config.h"
#include <stdatomic.h>

/** Types of the image. */
enum { TW_ARC_LINEAR = 0, TW_ARC_REALIGNED = 1, TW_ARC_MODULO = 2, TW_ARC_CONSTANT = 3 };
/** A number one thread writes and any thread may look at. */
typedef _Atomic uint32_t tw_gauge_t;

static inline uint32_t tw_gauge_get(const tw_gauge_t *g)
{
    return atomic_load_explicit(g, memory_order_relaxed);
}

static inline void tw_gauge_set(tw_gauge_t *g, uint32_t v)
{
    atomic_store_explicit(g, v, memory_order_relaxed);
}

/** Owner only: one writer, so load and store instead of a locked add. */
static inline void tw_gauge_add(tw_gauge_t *g, uint32_t n)
{
    tw_gauge_set(g, tw_gauge_get(g) + n);
}

static inline void tw_gauge_max(tw_gauge_t *g, uint32_t v)
{
    if (v > tw_gauge_get(g)) {
        tw_gauge_set(g, v);
    }
}

/** Bits of tw_arc_t.flush. */
enum { TW_ARC_FLUSH_DATA = 1, TW_ARC_FLUSH_DESCRIPTOR = 2 };

struct tw_arc_task;

#if TW_MULTIPROCESSOR
#define TW_INDEX_LOAD memory_order_acquire
#define TW_INDEX_STORE memory_order_release
#define TW_ARC_LINE _Alignas(32)
#else
#define TW_INDEX_LOAD memory_order_relaxed
#define TW_INDEX_STORE memory_order_relaxed
#define TW_ARC_LINE
#endif

static inline uint32_t tw_index_get(const tw_gauge_t *g)
{
    return atomic_load_explicit(g, TW_INDEX_LOAD);
}

static inline void tw_index_set(tw_gauge_t *g, uint32_t v)
{
    atomic_store_explicit(g, v, TW_INDEX_STORE);
}

typedef struct tw_arc {
    uint8_t *buf;
    uint32_t size;      /* [bytes] >= both frames */
    uint32_t cap;       /* [bytes] that may be in use: size, of a modulo ring one less, of a driver's buffer its own */
    uint32_t in_frame;  /* producer's frame [bytes] */
    uint32_t out_frame; /* consumer's frame [bytes] */
    uint32_t in_ready;  /* the producer may run with this room: its frame, or what arc_crumbs asks for */
    uint32_t out_ready; /* the consumer may run with this fill */
    uint8_t *last;      /* copy of the newest producer frame, for concealment; NULL when not needed */
    void *taps;         /* probes of the host, NULL none */
    struct tw_arc *shares;       /* the other arc in this buffer, NULL none */
    struct tw_arc_task *task;    /* debug task of the image, NULL none */
    uint16_t from, to;           /* places of producer and consumer in the schedule, TW_ARC_NOBODY an IO */
    int16_t script;              /* of policy 3, -1 none */
    uint8_t type;                /* TW_ARC_* */
    bool second;                 /* of two that share: the one behind the node */
    bool special;                /* shares or is pinned: room has a rule of its own */
    bool pins;                   /* may be pinned while the graph runs */
    bool pinned;                 /* a driver is sending from it: nothing in it may move */
    uint8_t flush;               /* caches: 1 data, 2 descriptor */
    uint8_t underflow, overflow; /* policy codes of the image */
    /* the producer's */
    TW_ARC_LINE tw_gauge_t write;
    tw_gauge_t overflows, realigns, max_fill;
    uint64_t stamp_us;    /* device time of the last write */
    bool overflow_series; /* the last access failed too: no second event */
    bool blocked;         /* it waits for room: who consumes wakes it; one instance only */
    /* the consumer's */
    TW_ARC_LINE tw_gauge_t read;
    tw_gauge_t underflows;
    bool underflow_series;
} tw_arc_t;

enum { TW_ARC_NOBODY = 0xFFFF };

static inline uint32_t tw_arc_fill(const tw_arc_t *a)
{
    return tw_index_get(&a->write) - tw_index_get(&a->read);
}

/** Room in all. Of two arcs in one buffer the first has room when both are empty, the second where the first has data:
 *  what the node between them may write. */
static inline uint32_t tw_arc_free(const tw_arc_t *a)
{
    if (!a->special) {
        return a->cap - tw_arc_fill(a);
    }
    if (a->shares == NULL) {
        return a->cap - tw_index_get(&a->write);
    }
    if (a->second) {
        const bool follows = tw_index_get(&a->shares->read) == tw_index_get(&a->write);
        return follows || tw_arc_fill(a) == 0 ? tw_arc_fill(a->shares) : 0;
    }
    return tw_arc_fill(a) == 0 && tw_arc_fill(a->shares) == 0 ? a->cap : 0;
}

/** The producer may run. */
static inline bool tw_arc_writable(const tw_arc_t *a)
{
    return tw_arc_free(a) >= a->in_ready;
}

/** The consumer may run. */
static inline bool tw_arc_readable(const tw_arc_t *a)
{
    return tw_arc_fill(a) >= a->out_ready;
}

/** Where `write` is in the buffer; it may have run past the end of a ring. */
static inline uint32_t tw_arc_write_at(const tw_arc_t *a)
{
    const uint32_t write = tw_index_get(&a->write);
    return write < a->size || a->type != TW_ARC_MODULO ? write : write - a->size;
}

/** Contiguous bytes of data from the front. */
static inline uint32_t tw_arc_head(const tw_arc_t *a)
{
    const uint32_t fill = tw_arc_fill(a);
    return a->type != TW_ARC_MODULO ? fill : tw_min_u32(fill, a->size - tw_index_get(&a->read));
}

/** Contiguous bytes behind the data without moving them. */
static inline uint32_t tw_arc_tail(const tw_arc_t *a)
{
    if (a->shares != NULL) {
        return tw_arc_free(a);
    }
    const uint32_t write = tw_index_get(&a->write);
    if (a->type != TW_ARC_MODULO) {
        return a->cap - write;
    }
    return write < a->size ? tw_min_u32(a->size - write, tw_arc_free(a)) : tw_arc_free(a);
}

/** Turn a ring until its data start at 0. arc.c */
void tw_arc_turn(tw_arc_t *a);

static inline void tw_arc_realign(tw_arc_t *a)
{
    const uint32_t read = tw_index_get(&a->read), fill = tw_arc_fill(a);
    if (read == 0) {
        return;
    }
    if (fill != 0) {
        if (a->type == TW_ARC_MODULO) {
            tw_arc_turn(a);
        } else {
            memmove(a->buf, a->buf + read, fill);
        }
        tw_gauge_add(&a->realigns, 1);
    }
    tw_index_set(&a->read, 0);
    tw_index_set(&a->write, fill);
}

/** The whole frames in `bytes`. Mostly there is one or none, and a division costs as much as a small node. */
static inline uint32_t tw_arc_whole(uint32_t bytes, uint32_t frame)
{
    if (bytes < frame) {
        return 0;
    }
    return bytes - frame < frame ? frame : bytes - bytes % frame;
}

/** Bytes of whole consumer frames that lie in a row, at tw_arc_data() afterwards. At least a frame when there is one.
 */
static inline uint32_t tw_arc_available(tw_arc_t *a)
{
    uint32_t head = tw_arc_head(a);
    if (head < a->out_frame && tw_arc_fill(a) >= a->out_frame) {
        tw_arc_realign(a);
        head = tw_arc_head(a);
    }
    return tw_arc_whole(head, a->out_frame);
}

/** Contiguous room of at least `bytes` behind the data, or NULL when the arc is too full. */
static inline uint8_t *tw_arc_room(tw_arc_t *a, uint32_t bytes)
{
    if (tw_arc_free(a) < bytes) {
        return NULL;
    }
    if (a->shares != NULL) { /* the first: both are empty; the second: empty too, or it follows already */
        const uint32_t at = a->second ? tw_index_get(&a->shares->read) : 0;
        if (tw_arc_fill(a) == 0) {
            tw_index_set(&a->read, at);
            tw_index_set(&a->write, at);
        }
        if (!a->second) {
            tw_index_set(&a->shares->read, 0);
            tw_index_set(&a->shares->write, 0);
        }
    } else if (tw_arc_tail(a) < bytes ||
               (a->type == TW_ARC_MODULO && tw_arc_head(a) < a->out_frame && tw_arc_fill(a) >= a->out_frame)) {
        tw_arc_realign(a); /* of a ring also what is to be read: nothing moves between this and the run */
    }
    return a->buf + tw_arc_write_at(a);
}

static inline const uint8_t *tw_arc_data(const tw_arc_t *a)
{
    return a->buf + tw_index_get(&a->read);
}

/** `bytes` written at tw_arc_room() are data now, of an arc that keeps no copy. */
static inline void tw_arc_advance(tw_arc_t *a, uint32_t bytes)
{
    const uint32_t write = tw_index_get(&a->write) + bytes;
    tw_index_set(&a->write, write);
    tw_gauge_max(&a->max_fill, write - tw_index_get(&a->read));
}

/** `bytes` written at tw_arc_room() are data now. */
static inline void tw_arc_commit(tw_arc_t *a, uint32_t bytes)
{
    if (a->last != NULL && bytes >= a->in_frame) {
        memcpy(a->last, a->buf + tw_arc_write_at(a) + bytes - a->in_frame, a->in_frame);
    }
    tw_arc_advance(a, bytes);
}

/** Drop `bytes` (at most the fill) from the front; a constant keeps them. */
static inline void tw_arc_consume(tw_arc_t *a, uint32_t bytes)
{
    if (a->type < TW_ARC_MODULO) {
        tw_index_set(&a->read, tw_index_get(&a->read) + bytes);
        return;
    }
    const uint32_t read = tw_index_get(&a->read) + bytes, turn = read >= a->size ? a->size : 0;
    if (a->type == TW_ARC_MODULO) {
        tw_index_set(&a->write, tw_index_get(&a->write) - turn);
        tw_index_set(&a->read, read - turn);
    }
}

/** The newest bytes, consumed or not, at most `bytes`. @return how many; arc.c */
uint32_t tw_arc_newest(const tw_arc_t *a, uint8_t *to, uint32_t bytes);

/** Forget the data, keep the counters; a constant has none to forget. Of two in one buffer the second keeps its own. */
static inline void tw_arc_clear(tw_arc_t *a)
{
    if (a->shares != NULL) {
        tw_arc_consume(a, tw_arc_fill(a));
    } else if (a->type != TW_ARC_CONSTANT) {
        tw_index_set(&a->read, 0);
        tw_index_set(&a->write, 0);
    }
}
