/* graphc_compact.c - which nodes have compact records: those of which a device that has their type knows the rest. */
#include "host_tools/graphc/middle/graphc_middle.h"

enum { STATIC, WORKING, FAST = 2 }; /* of blocks */

/* Memory the loader can find by itself: in the default bank, of no special kind, of the size the type asks for. */
static bool plain_memory(const g_node_t *n)
{
    const tw_node_manifest_t *x = n->manifest;
    bool plain = n->vid_given == 0 && n->placed == 0 && n->sized == 0 && n->copied == 0;
    for (unsigned i = 0; i < x->n_mem; i++) {
        plain &= n->vid[i] == 0 && n->e[i] == 0 && x->mem[i].type <= WORKING && x->mem[i].prog == 0 &&
                 x->mem[i].speed < FAST;
    }
    return plain;
}

static int entry_of(const tw_node_order_t *order, const tw_node_desc_t *d)
{
    for (uint32_t i = 0; d != NULL && i < order->n; i++) {
        if (tw_node_entry(order, i) == d) {
            return (int)i;
        }
    }
    return -1;
}

static bool same_type(const tw_node_manifest_t *x, const tw_node_desc_t *d)
{
    return d != NULL && d->n_mem == x->n_mem && (x->version == 0 || x->version >> 8 == d->version >> 8) &&
           (x->version & 255u) <= (d->version & 255u);
}

void g_choose_compact(g_model_t *m)
{
    tw_node_order_t order;
    if (!m->want_compact || m->n_maps != 0) {
        return;
    }
    tw_node_order(&order);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *n = &m->nodes[i];
        const tw_node_desc_t *d = tw_node_find(g_node_hash(n->manifest));
        const int entry = entry_of(&order, d);
        n->compact = entry >= 0 && same_type(n->manifest, d) && !n->has_params && n->trace == 0 && plain_memory(n);
        n->entry = n->compact ? (uint8_t)entry : 0;
        m->catalogue = n->compact ? order.id : m->catalogue;
    }
}
