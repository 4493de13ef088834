/* engine_word.h - the one word both threads of the engine read-modify-write.
 *
 *    63                       24 23                  0
 *   +---------------------------+--------------------+
 *   | tick of the next block    | published position |
 *   +---------------------------+--------------------+
 *
 * publish() adds to the position and learns the tick; the boundary adds one to the tick and learns
 * the position. One order of all these operations exists, so "my group was published when the next
 * tick was t" and "block t saw my group" are the same fact. The position wraps inside its bits.
 *
 * Without 64-bit atomics (Cortex-M) a port defines TW_ENGINE_ONE_CONTEXT and calls both sides from one
 * context. The engine then needs nothing but loads and stores of 32 bits to be atomic, no exchange, so
 * that cores without one (Cortex-M0+) run it.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TW_WORD_POS_BITS 24u
#define TW_WORD_POS_MASK ((1u << TW_WORD_POS_BITS) - 1u)

static inline uint64_t tw_word_tick(uint64_t w)
{
    return w >> TW_WORD_POS_BITS;
}

static inline uint32_t tw_word_pos(uint64_t w)
{
    return (uint32_t)w & TW_WORD_POS_MASK;
}

static inline uint64_t tw_word_advanced(uint64_t w, uint32_t bytes)
{
    return (w & ~(uint64_t)TW_WORD_POS_MASK) | ((w + bytes) & TW_WORD_POS_MASK);
}

#ifndef TW_ENGINE_ONE_CONTEXT
typedef _Atomic uint64_t tw_word_t;

static inline uint64_t tw_word_load(tw_word_t *w)
{
    return atomic_load_explicit(w, memory_order_acquire);
}

/** Boundary: take the tick. @return the word before */
static inline uint64_t tw_word_claim(tw_word_t *w)
{
    return atomic_fetch_add_explicit(w, (uint64_t)1 << TW_WORD_POS_BITS, memory_order_acq_rel);
}

/**
 * Boundary: give back the tick claimed from `before`, no block ran in it. Fails when something was published since:
 * that was told the next tick already, and the number stays without a block.
 */
static inline void tw_word_unclaim(tw_word_t *w, uint64_t before)
{
    uint64_t claimed = before + ((uint64_t)1 << TW_WORD_POS_BITS);
    (void)atomic_compare_exchange_strong_explicit(w, &claimed, before, memory_order_acq_rel, memory_order_relaxed);
}

/** Move a state both threads may move. @return false: the other one did */
static inline bool tw_word_move(_Atomic uint32_t *state, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(state, &from, to, memory_order_acquire, memory_order_relaxed);
}

/** Control: publish `bytes` more. @return the word before */
static inline uint64_t tw_word_publish(tw_word_t *w, uint32_t bytes)
{
    uint64_t old = atomic_load_explicit(w, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(w, &old, tw_word_advanced(old, bytes), memory_order_acq_rel,
                                                  memory_order_relaxed)) {}
    return old;
}
#else
typedef uint64_t tw_word_t;

static inline uint64_t tw_word_load(tw_word_t *w)
{
    return *w;
}

static inline uint64_t tw_word_claim(tw_word_t *w)
{
    const uint64_t old = *w;
    *w = old + ((uint64_t)1 << TW_WORD_POS_BITS);
    return old;
}

static inline void tw_word_unclaim(tw_word_t *w, uint64_t before)
{
    *w = *w == before + ((uint64_t)1 << TW_WORD_POS_BITS) ? before : *w;
}

static inline bool tw_word_move(_Atomic uint32_t *state, uint32_t from, uint32_t to)
{
    const bool ours = atomic_load_explicit(state, memory_order_relaxed) == from;
    if (ours) {
        atomic_store_explicit(state, to, memory_order_relaxed);
    }
    return ours;
}

static inline uint64_t tw_word_publish(tw_word_t *w, uint32_t bytes)
{
    const uint64_t old = *w;
    *w = tw_word_advanced(old, bytes);
    return old;
}
#endif
