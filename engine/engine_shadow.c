/* engine_shadow.c - shadows of nodes: pieces of one pool, begun and ended at boundaries.
 *
 *   free --put_shadow--> used --applied--> on the graph's list --drop, or the graph leaves--> gone --> free
 *
 * The control side hands out slots and memory; `gone` is the engine's word that it touches neither any more.
 */
#include "engine/engine_priv.h"

/* ---- control side ------------------------------------------------------------------ */

static bool in_use(shadow_slot_t *s)
{
    if (s->used && atomic_load_explicit(&s->gone, memory_order_acquire) != 0) {
        s->used = false;
    }
    return s->used;
}

/* First place after `from` where `bytes` fit in front of the next piece; cfg.shadow_bytes: none. *gap: room there. */
static uint32_t next_gap(tw_engine_t *e, uint32_t from, uint32_t *gap)
{
    uint32_t end = e->cfg.shadow_bytes;
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
            const shadow_slot_t *s = &e->shadows[i];
            if (s->used && s->at <= from && from < s->at + s->bytes) {
                from = s->at + s->bytes;
                moved = true;
            }
        }
    }
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        const shadow_slot_t *s = &e->shadows[i];
        end = s->used && s->at >= from ? tw_min_u32(end, s->at) : end;
    }
    *gap = end - from;
    return from;
}

/* The first gap that is large enough, else the largest. */
static uint32_t find_gap(tw_engine_t *e, uint32_t bytes, uint32_t *room)
{
    uint32_t at = 0, gap, best = 0;
    *room = 0;
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        (void)in_use(&e->shadows[i]);
    }
    do {
        at = next_gap(e, at, &gap);
        if (gap > *room) {
            *room = gap;
            best = at;
        }
        at += gap;
    } while (*room < bytes && at < e->cfg.shadow_bytes);
    return best;
}

uint32_t tw_engine_shadow_room(tw_engine_t *e)
{
    uint32_t room;
    (void)find_gap(e, UINT32_MAX, &room);
    return room;
}

static shadow_slot_t *slot_of(tw_engine_t *e, uint32_t shadow)
{
    shadow_slot_t *s = shadow < TW_MAX_SHADOWS ? &e->shadows[shadow] : NULL;
    return s != NULL && in_use(s) && !s->leaves ? s : NULL;
}

static tw_err_t take_slot(tw_engine_t *e, uint32_t need, uint32_t *shadow, uint32_t *bytes)
{
    uint32_t room, i = 0;
    const uint32_t at = find_gap(e, need, &room);
    while (i < TW_MAX_SHADOWS && e->shadows[i].used) {
        i++;
    }
    if (i == TW_MAX_SHADOWS) {
        return TW_E_SHADOW_NONE;
    }
    *bytes = need;
    if (need > room) {
        *bytes = need - room;
        return TW_E_NOMEM;
    }
    *shadow = i;
    e->shadows[i] = (shadow_slot_t){.at = at, .bytes = need};
    return TW_OK;
}

tw_err_t tw_engine_put_shadow(tw_engine_t *e, uint32_t token, uint32_t node, uint64_t skip, uint32_t *shadow,
                              uint32_t *bytes)
{
    const tw_graph_t *g = engine_view(e);
    uint32_t need;
    *bytes = 0;
    if (g == NULL || node >= g->n_nodes) {
        return g == NULL ? TW_E_NO_GRAPH : TW_E_PARAM_NODE;
    }
    TW_TRY(tw_shadow_need(g, node, &need));
    TW_TRY(take_slot(e, need, shadow, bytes));
    shadow_slot_t *s = &e->shadows[*shadow];
    s->shadow.node = node;
    s->shadow.mem = e->shadow_pool + s->at;
    s->shadow.skip = skip;
    const cmd_t c = {.op = OP_SHADOW, .token = token, .a = *shadow};
    TW_TRY(engine_put(e, &c, NULL, on_token(token)));
    s->used = true;
    return TW_OK;
}

tw_err_t tw_engine_put_shadow_param(tw_engine_t *e, uint32_t token, uint32_t shadow, uint32_t index,
                                    const uint8_t *value, uint32_t bytes)
{
    const cmd_t c = {.op = OP_SHADOW_SET, .token = token, .a = shadow, .b = index, .n = bytes};
    return slot_of(e, shadow) == NULL ? TW_E_SHADOW_NONE : engine_put(e, &c, value, on_token(token));
}

tw_err_t tw_engine_put_shadow_read(tw_engine_t *e, uint32_t token, uint32_t shadow, bool restart)
{
    const cmd_t c = {.op = OP_SHADOW_READ, .token = token, .a = shadow, .b = restart};
    return slot_of(e, shadow) == NULL ? TW_E_SHADOW_NONE : engine_put(e, &c, NULL, sizeof(tw_shadow_sums_t));
}

tw_err_t tw_engine_put_shadow_drop(tw_engine_t *e, uint32_t token, uint32_t shadow)
{
    const cmd_t c = {.op = OP_SHADOW_DROP, .token = token, .a = shadow};
    shadow_slot_t *s = slot_of(e, shadow);
    if (s == NULL) {
        return TW_E_SHADOW_NONE;
    }
    TW_TRY(engine_put(e, &c, NULL, on_token(token)));
    s->leaves = true; /* nothing that comes later may meet the next owner of its place */
    return TW_OK;
}

/* ---- engine side ----------------------------------------------------------------------- */

static void let_go(shadow_slot_t *s)
{
    atomic_store_explicit(&s->gone, 1, memory_order_release);
}

void shadow_refused(tw_engine_t *e, const cmd_t *c)
{
    let_go(&e->shadows[c->a]);
}

void shadow_leave(tw_engine_t *e, tw_graph_t *g)
{
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        shadow_slot_t *s = &e->shadows[i];
        for (const tw_shadow_t *k = g->shadows; k != NULL; k = k->next) {
            if (k == &s->shadow) {
                tw_shadow_stop(g, &s->shadow);
                let_go(s);
                break;
            }
        }
    }
}

static tw_err_t apply(tw_engine_t *e, const cmd_t *c, shadow_slot_t *s)
{
    tw_graph_t *g = e->e.graph;
    tw_err_t err = TW_OK;
    if (c->op == OP_SHADOW) {
        err = tw_shadow_start(g, &s->shadow);
        if (err != TW_OK) {
            let_go(s);
        }
    } else if (atomic_load_explicit(&s->gone, memory_order_relaxed) != 0) {
        err = TW_E_SHADOW_NONE;
    } else if (c->op == OP_SHADOW_SET) {
        err = tw_shadow_set(g, &s->shadow, c->b, (const uint8_t *)(c + 1), c->n);
    } else {
        tw_shadow_stop(g, &s->shadow);
        let_go(s);
    }
    return err;
}

void shadow_apply(tw_engine_t *e, const cmd_t *c)
{
    shadow_slot_t *s = &e->shadows[c->a];
    if (c->op == OP_SHADOW_READ) {
        const bool there = atomic_load_explicit(&s->gone, memory_order_relaxed) == 0;
        reply_t *r = reply_begin(e, c, there ? TW_OK : TW_E_SHADOW_NONE, there ? sizeof s->shadow.sums : 0);
        if (there) {
            memcpy(reply_data(r), &s->shadow.sums, sizeof s->shadow.sums);
        }
        if (there && c->b != 0) {
            memset(&s->shadow.sums, 0, sizeof s->shadow.sums);
        }
        reply_send(e, r);
        return;
    }
    const tw_err_t err = apply(e, c, s);
    if (c->room != 0) {
        reply_send(e, reply_begin(e, c, err, 0));
    }
}
