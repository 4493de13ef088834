/* script_twin.c */
#include "tests/support/script_twin.h"
#include "engine/script/script_value_priv.h"
#include <stdio.h>

/* @return the first register (r0..) or stack entry (6..) that differs, or NULL */
static const char *other_value(const tw_script_ctx_t *a, const tw_script_ctx_t *b)
{
    static char text[80];
    for (unsigned i = 0; i < (unsigned)TW_SCRIPT_REGS + a->sp; i++) {
        const uint64_t x = tw_sv_bits((tw_sv_t){a->v[i], a->t[i]});
        const uint64_t y = tw_sv_bits((tw_sv_t){b->v[i], b->t[i]});
        const bool held_alike = tw_stype_is_float(a->t[i]) || a->v[i].u == b->v[i].u;
        if (a->t[i] != b->t[i] || x != y || !held_alike) {
            snprintf(text, sizeof text, "value %u (type %u %llx and type %u %llx)", i, a->t[i], (unsigned long long)x,
                     b->t[i], (unsigned long long)y);
            return text;
        }
    }
    return NULL;
}

static bool same_pointers(const tw_script_ctx_t *a, const tw_script_ctx_t *b)
{
    bool same = true;
    for (unsigned i = 0; i < TW_SCRIPT_PTRS; i++) {
        const tw_sptr_t *const p = &a->p[i];
        const tw_sptr_t *const q = &b->p[i];
        same &= p->base == q->base && p->size == q->size && p->offset == q->offset && p->space == q->space;
        same &= p->type == q->type;
    }
    return same;
}

static bool same_frames(const tw_script_ctx_t *a, const tw_script_ctx_t *b)
{
    bool same = a->depth == b->depth;
    for (unsigned i = 0; same && i < a->depth; i++) {
        const tw_script_frame_t *const f = &a->frames[i];
        const tw_script_frame_t *const g = &b->frames[i];
        same &= f->script->code == g->script->code && f->next == g->next && f->base == g->base;
        same &= f->callscript == g->callscript;
    }
    return same && a->script->code == b->script->code;
}

const char *script_twin_differs(const tw_script_ctx_t *a, const tw_script_ctx_t *b)
{
    return a->err != b->err         ? "result"
           : a->used != b->used     ? "instructions used"
           : a->pc != b->pc         ? "pc"
           : a->next != b->next     ? "next instruction"
           : a->sp != b->sp         ? "stack depth"
           : a->base != b->base     ? "base"
           : a->lc != b->lc         ? "lc"
           : a->flag != b->flag     ? "T"
           : a->done != b->done     ? "end"
           : a->held != b->held     ? "hold"
           : a->errors != b->errors ? "error bits"
           : !same_frames(a, b)     ? "frames"
           : !same_pointers(a, b)   ? "pointers"
                                    : other_value(a, b);
}

bool script_twin_second;

const char *script_twin_make(const tw_script_t *s, script_twin_t *twin)
{
    enum { ROOM = 40000 }; /* 8-byte words: more than the largest script takes */
    static uint64_t mem[16][ROOM];
    static unsigned turn;
    uint64_t *const to = mem[turn++ % 16];
    const uint32_t bytes = tw_script_fast_bytes(s);
    *twin = (script_twin_t){*s, *s};
    if (bytes == 0 || bytes + 8 > sizeof mem[0]) {
        return "no translation";
    }
    memset(to, 0xA5, bytes + 8);
    twin->fast.fast = tw_script_translate(s, to, bytes);
    if (twin->fast.fast == NULL) {
        return "translation needs more than it said";
    }
    return ((const uint8_t *)to)[bytes] != 0xA5            ? "translation wrote more than it said"
           : tw_script_translate(s, to, bytes - 1) != NULL ? "translation needs less than it said"
                                                           : NULL;
}

const char *script_twin_run(const script_twin_t *twin, const tw_script_host_t *host, tw_script_ctx_t c[2],
                            const int64_t *args, unsigned n_args, bool flag, uint32_t budget, const uint8_t *memory,
                            void (*first)(void))
{
    static uint8_t left[65536];
    uint8_t *const mem = twin->plain.mem;
    const uint32_t n = mem == NULL ? 0 : tw_min_u32(twin->plain.mem_bytes, sizeof left);
    for (unsigned i = 0; i < 2; i++) {
        script_twin_second = i == 1;
        if (n != 0) {
            memcpy(left, mem, n);
            memcpy(mem, memory, n);
        }
        if (first != NULL) {
            first();
        }
        (void)tw_script_run(i == 0 ? &twin->plain : &twin->fast, host, &c[i], args, n_args, flag, budget);
    }
    script_twin_second = false;
    const char *const what = script_twin_differs(&c[0], &c[1]);
    return what != NULL ? what : n != 0 && memcmp(left, mem, n) != 0 ? "memory" : NULL;
}
