/* arc.h - a stream buffer: one producer, one consumer, always contiguous.
 *
 * Linear and realigned: data lie in [read, write); when the room behind `write`
 * is too short for a frame but the room in all is not, the data move to the
 * start. So a node gets one pointer to whole frames, and a buffer of exactly one
 * frame works: full means "free < producer frame", never "write - read == size - 1".
 *
 * The producer moves `write`, the consumer `read`. With several instances they are two threads: an index is
 * stored with release and read with acquire, so what lies before it is seen too, and each side has lines of
 * its own. With one, they are atomic only because another thread may look at them, which needs no order.
 * Frames start aligned to min(4, sample size): the loader refuses others.
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/config.h"
#include <stdatomic.h>

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
    uint32_t size;               /* [bytes] >= both frames */
    uint32_t in_frame;           /* producer's frame [bytes] */
    uint32_t out_frame;          /* consumer's frame [bytes] */
    uint16_t from, to;           /* places of producer and consumer in the schedule, TW_ARC_NOBODY an IO */
    uint8_t *last;               /* copy of the newest producer frame, for concealment; NULL when not needed */
    void *taps;                  /* probes of the host, NULL none */
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

static inline uint32_t tw_arc_free(const tw_arc_t *a)
{
    return a->size - tw_arc_fill(a);
}

/** The whole frames in `bytes`. Mostly there is one or none, and a division costs as much as a small node. */
static inline uint32_t tw_arc_whole(uint32_t bytes, uint32_t frame)
{
    if (bytes < frame) {
        return 0;
    }
    return bytes - frame < frame ? frame : bytes - bytes % frame;
}

/** Bytes of whole consumer frames. */
static inline uint32_t tw_arc_available(const tw_arc_t *a)
{
    return tw_arc_whole(tw_arc_fill(a), a->out_frame);
}

static inline void tw_arc_realign(tw_arc_t *a)
{
    const uint32_t read = tw_index_get(&a->read), fill = tw_arc_fill(a);
    if (read == 0) {
        return;
    }
    if (fill != 0) {
        memmove(a->buf, a->buf + read, fill);
        tw_gauge_add(&a->realigns, 1);
    }
    tw_index_set(&a->read, 0);
    tw_index_set(&a->write, fill);
}

/** Contiguous room of at least `bytes` behind the data, or NULL when the arc is too full. */
static inline uint8_t *tw_arc_room(tw_arc_t *a, uint32_t bytes)
{
    if (tw_arc_free(a) < bytes) {
        return NULL;
    }
    if (a->size - tw_index_get(&a->write) < bytes) {
        tw_arc_realign(a);
    }
    return a->buf + tw_index_get(&a->write);
}

/** Contiguous bytes behind the data without moving them. */
static inline uint32_t tw_arc_tail(const tw_arc_t *a)
{
    return a->size - tw_index_get(&a->write);
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
        memcpy(a->last, a->buf + tw_index_get(&a->write) + bytes - a->in_frame, a->in_frame);
    }
    tw_arc_advance(a, bytes);
}

/** Drop `bytes` (at most the fill) from the front. */
static inline void tw_arc_consume(tw_arc_t *a, uint32_t bytes)
{
    tw_index_set(&a->read, tw_index_get(&a->read) + bytes);
}

/** Forget the data, keep the counters. */
static inline void tw_arc_clear(tw_arc_t *a)
{
    tw_index_set(&a->read, 0);
    tw_index_set(&a->write, 0);
}
