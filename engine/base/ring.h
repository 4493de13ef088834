/* ring.h - lock-free records from one producer thread to one consumer thread.
 *
 * Records are contiguous, 8-byte aligned, at most half the ring. A record
 * becomes visible whole or not at all. Neither side ever waits: a full ring
 * refuses, an empty one gives NULL. Both indices run freely (they wrap at 2^32),
 * so `size` must be a power of two of at most 2^30.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_ring {
    uint8_t *buf;  /* borrowed, 8-byte aligned */
    uint32_t size; /* [bytes] */
    /* On lines of their own: the two threads would otherwise fight for one cache line. */
    _Alignas(64) _Atomic uint32_t head; /* producer writes */
    _Alignas(64) _Atomic uint32_t tail; /* consumer writes */
} tw_ring_t;

/** Empty ring over `size` bytes (power of two, >= 64). */
void tw_ring_init(tw_ring_t *r, void *buf, uint32_t size);

/** Producer: room for a record of `bytes`, or NULL when it does not fit now. Not visible yet. */
void *tw_ring_reserve(tw_ring_t *r, uint32_t bytes);
/** Producer: make the reserved record visible. `bytes` may be smaller than reserved. */
void tw_ring_commit(tw_ring_t *r, uint32_t bytes);

/** Consumer: oldest record, or NULL when empty. Stays valid until tw_ring_pop(). */
const void *tw_ring_peek(tw_ring_t *r, uint32_t *bytes);
/** Consumer: drop the record last peeked. */
void tw_ring_pop(tw_ring_t *r);

/** Bytes in use, headers included; exact for neither side, an upper bound for the consumer. */
static inline uint32_t tw_ring_used(tw_ring_t *r)
{
    return atomic_load_explicit(&r->head, memory_order_acquire) - atomic_load_explicit(&r->tail, memory_order_acquire);
}
