/* graph_compact_priv.h - an arc and a node record of the compact core, as its files read them. */
#pragma once
#include "engine/graph/graph_compact.h"

/* Words of an arc's state. */
enum { ARC_WRITE = 0, ARC_READ = 1, ARC_ERRORS = 2, ARC_LAST = 3 };
/* Credit of an IO without a rate. */
enum { COMPACT_UNRATED = 0xFF };
/* Words of a node's state. */
enum { NODE_STATUS = 0, NODE_RUNS = 1, NODE_CYCLES = 2, NODE_ERRORS = 3 };

/** An arc: what the image says, and where its state is. */
typedef struct compact_arc {
    uint8_t *buf;
    uint32_t *state;
    uint32_t size, in_frame, out_frame; /* [bytes] */
} compact_arc_t;

static inline uint32_t compact_header(const tw_compact_t *c, uint32_t word)
{
    return tw_img_word(c->img, 0, word);
}
static inline uint32_t compact_nodes(const tw_compact_t *c)
{
    return tw_bits(compact_header(c, TW_W_COUNTS), TW_W12_NODES);
}
static inline uint32_t compact_arcs(const tw_compact_t *c)
{
    return tw_bits(compact_header(c, TW_W_COUNTS), TW_W12_ARCS);
}
static inline uint32_t compact_ios(const tw_compact_t *c)
{
    return tw_bits(compact_header(c, TW_W_COUNTS2), TW_W13_IOS);
}

compact_arc_t compact_arc(const tw_compact_t *c, uint32_t arc);
/** Where bytes of a bank are. */
uint8_t *compact_place(const tw_compact_t *c, uint32_t vid, uint32_t offset);
/** Call a node. @return its answer, counted and kept when it is an error */
uint32_t compact_call(tw_compact_t *c, uint32_t node, uint32_t cmd, tw_xdm_t *data, uint32_t *state);
void compact_status(tw_compact_t *c, uint32_t node, tw_compact_node_t status);
