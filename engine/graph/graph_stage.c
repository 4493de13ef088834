/* graph_stage.c - nodes whose memory is made ready for each call: brought to fast memory and back, cleared, protected.
 *
 *   home bank   | A . . . . | B . . |          each block has bytes of its own here
 *                 |      ^    |   ^
 *   call of A     v      |    |   |
 *   fast bank   | A . . . . |     |            nodes of one thread share these; who is called is *on stage*
 *   call of B               | B . . |
 *
 * A staged node has this file's function and a tw_graph_stage_t in its hot record, so the way of all other nodes knows
 * nothing of it. Its pointers into a staged block are those of the fast bank, which hold during calls only; between
 * calls all that lasts is at home: saved state, a swap that carries state and shadows look there.
 *
 * What is called inside a call (a node that sets another's parameter) takes the stage and gives it back: the block of
 * who had it goes home for as long.
 */
#include "engine/graph/graph_priv.h"

#if !TW_SMALL
enum { STAGED = TW_PLACE_IN_OUT | TW_PLACE_IN };

struct tw_graph_stage {
    const tw_graph_t *g;
    uint32_t node;
    tw_graph_stage_t **top; /* who has the fast memory of its thread now */
    tw_graph_stage_t *own;  /* `top` of a node that shares none */
    bool protect;
};

/* ---- a call ------------------------------------------------------------------------- */

static void come(const tw_graph_stage_t *s)
{
    const tw_graph_node_t *n = &s->g->nodes[s->node];
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        const tw_graph_place_t *p = &s->g->places[i];
        if ((p->flags & STAGED) != 0) {
            memcpy(p->fast, p->at, p->bytes);
        }
    }
}

static void go(const tw_graph_stage_t *s, uint32_t flags)
{
    const tw_graph_node_t *n = &s->g->nodes[s->node];
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        const tw_graph_place_t *p = &s->g->places[i];
        if ((p->flags & flags) != 0) {
            memcpy(p->at, p->fast, p->bytes);
        }
    }
}

static void clear_scratch(const tw_graph_stage_t *s)
{
    const tw_graph_node_t *n = &s->g->nodes[s->node];
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        const tw_graph_place_t *p = &s->g->places[i];
        if ((p->flags & TW_PLACE_CLEAR) != 0) {
            memset(p->at, 0, p->bytes);
        }
    }
}

/* All the node may touch in this run: its blocks, its data. */
static void protect(const tw_graph_stage_t *s, const tw_xdm_t *data)
{
    const tw_graph_node_t *n = &s->g->nodes[s->node];
    tw_region_t r[TW_MAX_NODE_MEM + TW_MAX_NODE_ARCS];
    uint32_t k = 0;
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        const tw_graph_place_t *p = &s->g->places[i];
        r[k++] = (tw_region_t){(p->flags & STAGED) != 0 ? p->fast : p->at, p->bytes, true};
    }
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        r[k++] = (tw_region_t){data[i].ptr, data[i].bytes, i >= n->rx};
    }
    s->g->env.board->isolate(s->g->env.board->ctx, r, k);
}

static uint32_t run(const tw_graph_stage_t *s, uint32_t cmd, tw_xdm_t *data, uint32_t *state)
{
    const tw_graph_node_t *n = &s->g->nodes[s->node];
    if (!s->protect || tw_bits(cmd, TW_CMD_COMMAND) != TW_CMD_RUN) {
        return n->desc->run(cmd, n->inst, data, state);
    }
    protect(s, data);
    const uint32_t err = n->desc->run(cmd, n->inst, data, state);
    s->g->env.board->isolate(s->g->env.board->ctx, NULL, 0);
    return err;
}

/* Constants change in a RESET or a SET, never in a RUN or a READ. */
static uint32_t what_goes_home(uint32_t cmd)
{
    const uint32_t c = tw_bits(cmd, TW_CMD_COMMAND);
    return c == TW_CMD_RUN || c == TW_CMD_READ_PARAMETER ? TW_PLACE_IN_OUT : STAGED;
}

uint32_t stage_call(uint32_t cmd, void *stage, tw_xdm_t *data, uint32_t *state)
{
    tw_graph_stage_t *s = stage, *const before = *s->top;
    if (before == s) { /* a script of its own run looks at it */
        return run(s, cmd, data, state);
    }
    if (before != NULL) {
        go(before, STAGED);
    }
    come(s);
    *s->top = s;
    if (tw_bits(cmd, TW_CMD_COMMAND) == TW_CMD_RUN) {
        clear_scratch(s);
    }
    const uint32_t err = run(s, cmd, data, state);
    go(s, what_goes_home(cmd));
    *s->top = before;
    if (before != NULL) {
        come(before);
    }
    return err;
}

/* ---- load ------------------------------------------------------------------------------ */

static bool isolated(const tw_graph_t *g, const tw_graph_node_t *n)
{
    return tw_bits(tw_img_word(g->env.image.nodes, n->record, 0), TW_N0_ISOLATE) != 0;
}

static bool needs_stage(const tw_graph_t *g, const tw_graph_node_t *n)
{
    bool needs = isolated(g, n);
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        needs |= (g->places[i].flags & (STAGED | TW_PLACE_CLEAR)) != 0;
    }
    return needs;
}

static void set_stage(tw_graph_t *g, uint32_t node, tw_graph_stage_t *s, tw_graph_stage_t **tops)
{
    tw_graph_node_t *n = &g->nodes[node];
    const uint32_t thread = img_thread(g->env.image.whole, tw_img_node(g->env.image.whole, node));
    *s = (tw_graph_stage_t){.g = g, .node = node, .protect = isolated(g, n)};
    s->top = thread < TW_THREADS ? &tops[thread] : &s->own;
    n->stage = s;
}

bool stage_take(tw_graph_t *g, tw_arena_t *arena, uint64_t *missing)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += needs_stage(g, &g->nodes[i]);
    }
    if (n == 0) {
        return true;
    }
    tw_graph_stage_t *s = tw_arena_take(arena, n * sizeof *s, _Alignof(tw_graph_stage_t));
    tw_graph_stage_t **tops = tw_arena_take(arena, TW_THREADS * sizeof *tops, _Alignof(tw_graph_stage_t *));
    if (s == NULL || tops == NULL) {
        *missing += n * sizeof *s + TW_THREADS * sizeof *tops;
        return false;
    }
    memset((void *)tops, 0, TW_THREADS * sizeof *tops);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (needs_stage(g, &g->nodes[i])) {
            set_stage(g, i, s++, tops);
        }
    }
    return true;
}
#endif
