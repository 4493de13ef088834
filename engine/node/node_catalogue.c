/* node_catalogue.c - the installed node types, from nodes.def. */
#include "engine/node/node_priv.h"

/* nodes.def, or the rows of it that the build chose: see config.h */
static const tw_node_desc_t *const catalogue[] = {
#ifdef TW_NODES
#define TW_NODE_ROW(name) &tw_node_##name,
    TW_NODES
#else
#define TW_NODE(id, name) &tw_node_##name,
#include "engine/node/nodes.def"
#endif
};

const tw_node_desc_t *const *tw_node_catalogue(uint32_t *n)
{
    *n = TW_COUNT(catalogue);
    return catalogue;
}

const tw_node_desc_t *tw_node_find(uint32_t hash)
{
    for (size_t i = 0; i < TW_COUNT(catalogue); i++) {
        if (catalogue[i]->hash == hash) {
            return catalogue[i];
        }
    }
    return NULL;
}
