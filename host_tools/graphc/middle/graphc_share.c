/* graphc_share.c - which arcs share a buffer with the arc in front of them, because the node between works in place.
 *
 * Only where nobody can tell: the same frames at all four ends, moved whole; plain arcs between nodes, which nothing
 * delays, probes or places elsewhere. In the order of the schedule, each arc at most once, so the result is one for a
 * text.
 */
#include "host_tools/graphc/middle/graphc_middle.h"

uint32_t g_in_place(const g_model_t *m, const g_node_t *n, uint32_t slot)
{
    const tw_node_manifest_t *x = n->manifest;
    if (slot < n->rx || slot >= (uint32_t)(n->rx + n->tx) || m->arcs[n->arcs[slot]].lock) {
        return G_NONE;
    }
    const tw_node_arc_manifest_t *a = &x->arcs[g_port_of(x, slot - n->rx + x->rx)];
    if (a->in_place == 0 || a->in_place > x->rx + x->tx) {
        return G_NONE;
    }
    const uint32_t in = g_slot_of(x, a->in_place - 1u);
    return in < n->rx ? n->arcs[in] : G_NONE;
}

static bool plain(const g_model_t *m, const g_arc_t *a, uint32_t frame)
{
    return a->kind == G_ARC_NODES && !a->lock && !a->hqos && !a->crumbs && !a->set_buffer && a->flush == 0 &&
           a->ring < 2 && a->debug_cmd == 0 && a->fill_pattern == 0 && a->fill_bytes == 0 && a->jitter <= 1.0 &&
           a->shared == 0 && !a->shares && m->formats[a->from.format].frame_bytes == frame &&
           m->formats[a->to.format].frame_bytes == frame && a->bytes % frame == 0 && g_arc_step(m, a) == frame &&
           a->from.node != a->to.node;
}

/* Both where the planner likes, or both by the text at one place. */
static bool together(const g_arc_t *a, const g_arc_t *b)
{
    return a->bytes == b->bytes && a->placed == b->placed && a->vid == b->vid && a->vid_given == b->vid_given &&
           (!a->placed || a->at == b->at);
}

/* With high QoS arcs the others are filled up or make room by themselves, which needs a buffer of their own. */
static bool waits_for_all(const g_model_t *m, uint32_t node)
{
    const g_node_t *n = &m->nodes[node];
    bool hqos = false;
    for (uint32_t i = 0; i < (uint32_t)(n->rx + n->tx); i++) {
        hqos |= g_slot_hqos(m, n, i);
    }
    return !hqos;
}

void g_share_arcs(g_model_t *m)
{
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        const g_node_t *n = &m->nodes[m->order[k]];
        const tw_node_desc_t *d = g_device_type(n);
        if (n->rx != 1 || n->tx != 1 || d == NULL || !d->in_place || g_in_place(m, n, 1) != n->arcs[0]) {
            continue;
        }
        g_arc_t *in = &m->arcs[n->arcs[0]], *out = &m->arcs[n->arcs[1]];
        const uint32_t frame = m->formats[in->from.format].frame_bytes;
        /* what the text places is shared only where the text says so */
        if ((!m->no_in_place || in->placed) && plain(m, in, frame) && plain(m, out, frame) && together(in, out) &&
            waits_for_all(m, in->from.node) && waits_for_all(m, out->to.node)) {
            in->shares = true;
            out->shared = n->arcs[0] + 1;
        }
    }
}
