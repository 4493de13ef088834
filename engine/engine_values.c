/* engine_values.c - what the control side knows of parameters: the whole of a node's values, before anything is
 * applied.
 *
 * A value alone may be fine and wrong together with the others (a filter's post_shift and coefficients). Nodes whose
 * type looks at relations have their index-256 block here twice: as it will be once all that was published is applied,
 * and with the open group on top. Both follow what is put; the engine is never asked. What other hands change (a
 * script that sets a parameter) is not followed: such a node is *unknown*, and judged value by value as before.
 */
#include "engine/engine_priv.h"

typedef struct block {
    uint8_t *now, *draft;
    uint32_t bytes;
} block_t;

static bool has_block(const tw_graph_node_t *n)
{
    return n->desc->validate != NULL && n->own_script < 0 && tw_param_bytes(n->desc, n->fmt, TW_TAG_ALL) != 0;
}

static bool sets(const cmd_t *c)
{
    return c->op == OP_PARAM || c->op == OP_PRESET;
}

static block_t block_of(const slot_t *s, uint32_t node)
{
    const values_t *h = &s->values;
    if (h->at == NULL) {
        return (block_t){0};
    }
    const uint32_t bytes = h->at[node + 1] - h->at[node];
    return (block_t){h->now + h->at[node], h->draft + h->at[node], bytes};
}

static bool known(const slot_t *s, uint32_t node)
{
    return s->values.known[node] != 0 && tw_gauge_get(&s->graph.nodes[node].touched) == 0;
}

void values_build(slot_t *s, tw_arena_t *arena)
{
    tw_graph_t *g = &s->graph;
    const size_t mark = arena->used;
    values_t h = {.at = tw_arena_take(arena, (g->n_nodes + 1) * sizeof *h.at, _Alignof(uint32_t))};
    h.known = tw_arena_take(arena, g->n_nodes, 1);
    h.drafted = tw_arena_take(arena, g->n_nodes, 1);
    uint32_t bytes = 0;
    for (uint32_t i = 0; h.at != NULL && i < g->n_nodes; i++) {
        h.at[i] = bytes;
        bytes += has_block(&g->nodes[i]) ? tw_param_bytes(g->nodes[i].desc, g->nodes[i].fmt, TW_TAG_ALL) : 0;
        h.at[i + 1] = bytes;
    }
    h.now = tw_arena_take(arena, bytes, 8);
    h.draft = tw_arena_take(arena, bytes, 8);
    h.before = tw_arena_take(arena, bytes, 8);
    if (h.at == NULL || h.known == NULL || h.drafted == NULL || h.now == NULL || h.draft == NULL || h.before == NULL) {
        arena->used = mark; /* a small device does without */
        s->values = (values_t){0};
        return;
    }
    s->values = h;
    memset(h.drafted, 0, g->n_nodes);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t n = h.at[i + 1] - h.at[i];
        h.known[i] = n != 0 && tw_graph_get_param(g, i, TW_TAG_ALL, h.now + h.at[i], &n) == TW_OK;
    }
}

void values_carry(slot_t *s, const slot_t *old)
{
    for (uint32_t i = 0; s->plan.nodes != NULL && s->values.at != NULL && i < s->graph.n_nodes; i++) {
        const uint32_t f = s->plan.nodes[i];
        if (f == TW_CARRY_NEW || block_of(s, i).bytes == 0) {
            continue;
        }
        s->values.known[i] = old->values.at != NULL && known(old, f);
        if (s->values.known[i] != 0) {
            memcpy(block_of(s, i).now, block_of(old, f).now, block_of(s, i).bytes);
        }
    }
}

static bool agrees(const slot_t *s, uint32_t node, tw_fault_t *fault)
{
    const tw_graph_node_t *n = &s->graph.nodes[node];
    const block_t b = block_of(s, node);
    return n->desc->validate(n->fmt, TW_TAG_ALL, b.draft, b.bytes, fault) == TW_OK;
}

void values_put(tw_engine_t *e, const cmd_t *c, const uint8_t *value)
{
    slot_t *s = e->c.group_view != NO_SLOT ? &e->slots[e->c.group_view] : NULL;
    const block_t b = s != NULL && sets(c) ? block_of(s, c->a) : (block_t){0};
    if (b.bytes == 0) {
        return;
    }
    if (!s->values.drafted[c->a]) {
        memcpy(b.draft, b.now, b.bytes);
        s->values.drafted[c->a] = known(s, c->a) ? DRAFT_KNOWN : DRAFT_UNKNOWN;
    }
    if (c->op == OP_PARAM) {
        tw_graph_params_overlay(&s->graph.nodes[c->a], c->b, value, c->n, b.draft);
    } else {
        const bool told = tw_graph_preset_block(&s->graph, c->a, c->b, s->rest, b.draft, b.bytes);
        s->values.drafted[c->a] = told ? DRAFT_KNOWN : DRAFT_UNKNOWN;
    }
}

void values_settle(slot_t *s, const cmd_t *c, bool armed, bool keep)
{
    const block_t b = sets(c) ? block_of(s, c->a) : (block_t){0};
    tw_fault_t unused;
    if (b.bytes == 0 || !s->values.drafted[c->a]) {
        return;
    }
    if (keep && armed) {
        memcpy(s->values.before + (b.now - s->values.now), b.now, b.bytes);
    }
    if (keep) { /* the node puts back what does not agree, at a block nobody can name here */
        s->values.known[c->a] = s->values.drafted[c->a] == DRAFT_KNOWN && agrees(s, c->a, &unused);
        memcpy(b.now, b.draft, b.bytes);
    }
    s->values.drafted[c->a] = 0;
}

void values_forget(slot_t *s, const cmd_t *c)
{
    if (sets(c) && block_of(s, c->a).bytes != 0) {
        s->values.known[c->a] = 0;
    }
}

void values_revert(slot_t *s, uint32_t number)
{
    for (uint32_t i = 0; s->values.at != NULL && i < s->graph.n_nodes; i++) {
        const block_t b = block_of(s, i);
        if (b.bytes != 0 && s->asked[i] == number) {
            memcpy(b.now, s->values.before + (b.now - s->values.now), b.bytes);
        }
    }
}

tw_err_t tw_engine_check_group(tw_engine_t *e, uint32_t *node, tw_fault_t *fault)
{
    const slot_t *s = e->c.group_view != NO_SLOT ? &e->slots[e->c.group_view] : NULL;
    *fault = (tw_fault_t){0};
    for (uint32_t pos = e->c.start; s != NULL && pos != e->c.put;) {
        const cmd_t *c = cmd_at(e, pos);
        pos = (pos + c->bytes) & TW_WORD_POS_MASK;
        if (sets(c) && c->a < s->graph.n_nodes && block_of(s, c->a).bytes != 0 &&
            s->values.drafted[c->a] == DRAFT_KNOWN && !agrees(s, c->a, fault)) {
            *node = c->a;
            return fault->err;
        }
    }
    return TW_OK;
}
