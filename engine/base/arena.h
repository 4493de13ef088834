/* arena.h - memory handed out once, front to back; nothing is freed alone.
 *
 * The caller owns the bytes. Rewinding `used` to an earlier value releases all
 * that came after; that is how a failed load leaves no trace.
 */
#pragma once
#include "engine/base/config.h"
#include <stddef.h>
#include <stdint.h>

typedef struct tw_arena {
    uint8_t *base;
    size_t size; /* [bytes] */
    size_t used; /* [bytes] */
} tw_arena_t;

/**
 * Take `bytes` aligned to `align` (a power of two). The memory is not cleared.
 * @return NULL when it does not fit; the arena is unchanged then.
 */
#if TW_SMALL
/* once, in arena_small.c, not in every file that uses it */
void *tw_arena_take(tw_arena_t *a, size_t bytes, size_t align);
#else
static inline void *tw_arena_take(tw_arena_t *a, size_t bytes, size_t align)
{
    const uintptr_t base = (uintptr_t)a->base;
    const size_t at = (size_t)(((base + a->used + align - 1) & ~(uintptr_t)(align - 1)) - base);
    if (at > a->size || bytes > a->size - at) {
        return NULL;
    }
    a->used = at + bytes;
    return a->base + at;
}
#endif
