/* arena_small.c - arena.h in the small profile. */
#include "engine/base/arena.h"

#if TW_SMALL
void *tw_arena_take(tw_arena_t *a, size_t bytes, size_t align)
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
