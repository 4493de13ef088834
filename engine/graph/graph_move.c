/* graph_move.c - memory blocks that change their place while the graph is loaded. Of a staged block it is the home that
 * moves, and the node, which never sees it, is not told. */
#include "engine/graph/graph_priv.h"

static tw_graph_place_t *find_place(tw_graph_t *g, uint32_t node, uint32_t block)
{
    const tw_graph_node_t *n = &g->nodes[node];
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        if (g->places[i].block == block) {
            return &g->places[i];
        }
    }
    return NULL;
}

static uint32_t move(tw_graph_t *g, uint32_t node, tw_graph_place_t *p, uint8_t *to)
{
    tw_graph_node_t *n = &g->nodes[node];
    tw_xdm_t data = {.ptr = to, .bytes = p->bytes};
    uint32_t state = 0;
    memmove(to, p->at, p->bytes);
    p->at = to;
    if (p->fast != NULL) {
        return 0;
    }
    n->inst = p->block == 0 ? to : n->inst;
    tw_graph_bind(g, node);
    return call_node(n, TW_CMD_UPDATE_RELOCATABLE | n->command | tw_put_bits(p->block, TW_LO(TW_CMD_TAG)), &data,
                     &state);
}

tw_err_t tw_graph_relocate(tw_graph_t *g, uint32_t node, uint32_t block, void *to)
{
    if (node >= g->n_nodes || block >= g->nodes[node].desc->n_mem) {
        return TW_E_NOT_FOUND;
    }
    tw_graph_place_t *p = find_place(g, node, block);
    const tw_node_desc_t *d = g->nodes[node].desc;
    if (p == NULL || (p->flags & TW_PLACE_MOVES) == 0 || block >= d->n_mem) {
        return TW_E_UNSUPPORTED;
    }
    if ((uintptr_t)to % tw_max_u32(d->mem[block].align, 4) != 0) {
        return TW_E_ALIGN;
    }
    uint8_t *from = p->at;
    const uint32_t err = move(g, node, p, to);
    if (err != 0) {
        (void)move(g, node, p, from);
    }
    return (tw_err_t)(-(int32_t)(err & 0xFFFFu));
}
