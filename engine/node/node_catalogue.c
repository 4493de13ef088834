/* node_catalogue.c - the installed node types, from nodes.def. */
#include "engine/base/crc.h"
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

#if TW_NODE_TEXTS
_Static_assert(TW_COUNT(catalogue) <= TW_NODE_TYPES_MAX, "more types than an order holds");

static int compare(const char *a, const char *b)
{
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return (uint8_t)*a - (uint8_t)*b;
}

static bool comes_before(const tw_node_desc_t *a, const tw_node_desc_t *b)
{
    const int c = compare(a->developer, b->developer);
    return c != 0 ? c < 0 : compare(a->name, b->name) < 0;
}

static uint32_t crc_text(uint32_t crc, const char *text)
{
    uint32_t n = 0;
    while (text[n] != 0) {
        n++;
    }
    return tw_crc32c(crc, text, n);
}

static uint32_t crc_type(uint32_t crc, const tw_node_desc_t *d)
{
    const unsigned major = d->version >> 8;
    const char digits[] = {(char)('0' + major / 100), (char)('0' + major / 10 % 10), (char)('0' + major % 10), '\n', 0};
    crc = crc_text(crc_text(crc, d->developer), "/");
    crc = crc_text(crc_text(crc, d->name), "/");
    return crc_text(crc, digits + (major < 10 ? 2 : major < 100 ? 1 : 0));
}

void tw_node_order(tw_node_order_t *order)
{
    *order = (tw_node_order_t){.n = TW_COUNT(catalogue)};
    for (uint32_t i = 0; i < order->n; i++) {
        uint32_t k = i;
        for (; k > 0 && comes_before(catalogue[i], catalogue[order->row[k - 1]]); k--) {
            order->row[k] = order->row[k - 1];
        }
        order->row[k] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < order->n; i++) {
        order->id = crc_type(order->id, catalogue[order->row[i]]);
    }
}

const tw_node_desc_t *tw_node_entry(const tw_node_order_t *order, uint32_t entry)
{
    return entry < order->n ? catalogue[order->row[entry]] : NULL;
}
#endif
