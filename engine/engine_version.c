/* engine_version.c - one number of a node, without the rest of tw_engine_node(). Control side.
 *
 * Every Param.Set answers with it, so it must not cost a search for the node's name.
 */
#include "engine/engine_priv.h"

uint32_t tw_engine_version(tw_engine_t *e, uint32_t node)
{
    const tw_graph_t *g = engine_view(e);
    return g != NULL && node < g->n_nodes ? e->slots[e->c.group_view].versions[node] : 0;
}
