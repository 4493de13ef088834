#include "engine/base/ring.h"
#include "engine/base/bytes.h"
#include "engine/base/port.h"

/* A record is one word of length, one word of padding, then the bytes. A length of SKIP says
 * that the rest of the buffer is unused because the next record did not fit before the end. */
enum { HEADER = 8 };
#define SKIP 0xFFFFFFFFu

static uint32_t span(uint32_t bytes)
{
    return HEADER + tw_round_up(bytes, 8);
}

static void put_length(tw_ring_t *r, uint32_t at, uint32_t length)
{
    memcpy(r->buf + (at & (r->size - 1)), &length, sizeof length);
}

static uint32_t length_at(const tw_ring_t *r, uint32_t at)
{
    uint32_t length;
    memcpy(&length, r->buf + (at & (r->size - 1)), sizeof length);
    return length;
}

void tw_ring_init(tw_ring_t *r, void *buf, uint32_t size)
{
    TW_ASSERT(size >= 64 && (size & (size - 1)) == 0 && ((uintptr_t)buf & 7) == 0);
    r->buf = buf;
    r->size = size;
    atomic_store_explicit(&r->head, 0, memory_order_relaxed);
    atomic_store_explicit(&r->tail, 0, memory_order_relaxed);
}

/* Where the record starts if placed now: at head, or at the buffer's start behind a SKIP. */
static uint32_t place(const tw_ring_t *r, uint32_t head, uint32_t need)
{
    const uint32_t left = r->size - (head & (r->size - 1));
    return need <= left ? head : head + left;
}

void *tw_ring_reserve(tw_ring_t *r, uint32_t bytes)
{
    if (bytes > r->size / 2 - HEADER) {
        return NULL;
    }
    const uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    const uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    const uint32_t at = place(r, head, span(bytes));
    if (at + span(bytes) - tail > r->size) {
        return NULL;
    }
    if (at != head) {
        put_length(r, head, SKIP);
    }
    put_length(r, at, bytes); /* kept so that commit finds the place again */
    return r->buf + (at & (r->size - 1)) + HEADER;
}

void tw_ring_commit(tw_ring_t *r, uint32_t bytes)
{
    const uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    const uint32_t left = r->size - (head & (r->size - 1));
    const uint32_t at = length_at(r, head) == SKIP ? head + left : head;
    TW_ASSERT(bytes <= length_at(r, at));
    put_length(r, at, bytes);
    atomic_store_explicit(&r->head, at + span(bytes), memory_order_release);
}

const void *tw_ring_peek(tw_ring_t *r, uint32_t *bytes)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail == atomic_load_explicit(&r->head, memory_order_acquire)) {
        return NULL;
    }
    if (length_at(r, tail) == SKIP) {
        tail += r->size - (tail & (r->size - 1));
        atomic_store_explicit(&r->tail, tail, memory_order_release);
    }
    *bytes = length_at(r, tail);
    return r->buf + (tail & (r->size - 1)) + HEADER;
}

void tw_ring_pop(tw_ring_t *r)
{
    const uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + span(length_at(r, tail)), memory_order_release);
}
