/* graph_shadow.h - a node's double: other parameters on the same input, its output compared and thrown away.
 *
 * A shadow is a second instance of a node with memory of its own. It begins as a copy of the node, state and
 * parameters, at a boundary. From then on it runs in front of the node, on the input the node is about to get, into
 * memory nobody reads; what the node then writes is compared with it. The graph's data are those of a graph without
 * shadow, bit by bit. Engine thread, but for the two questions marked "any thread".
 */
#pragma once
#include "engine/graph/graph.h"

/** What was counted so far; values in parts of full scale. */
typedef struct tw_shadow_sums {
    uint64_t samples;             /* compared, all channels */
    double diff2, node2, shadow2; /* sums of squares: of the difference, of each */
    double product, node, shadow; /* sums of products, of each */
    double diff_max, node_peak, shadow_peak;
    uint32_t runs, unequal, errors; /* unequal: runs in which the two did not use or make the same bytes */
    uint32_t not_numbers;           /* samples left out: NaN or infinite in either */
} tw_shadow_sums_t;

typedef struct tw_shadow {
    struct tw_shadow *next; /* of the graph's list */
    uint32_t node;
    void *inst;
    uint8_t *mem;  /* as much as tw_shadow_need() said, aligned to 64 */
    uint64_t skip; /* samples still not compared */
    tw_shadow_sums_t sums;
    tw_xdm_t x[TW_MAX_NODE_ARCS]; /* of the run that is going on */
    bool ran;
} tw_shadow_t;

/**
 * Bytes of memory a shadow of this node takes. Any thread.
 * @return TW_OK; UNSUPPORTED: a node that runs scripts, makes no output, or acts on the graph
 */
tw_err_t tw_shadow_need(const tw_graph_t *g, uint32_t node, uint32_t *bytes);
/** Begin, at a boundary; `node`, `mem` and `skip` are set. @return what the node's RESET refused, nothing changed */
tw_err_t tw_shadow_start(tw_graph_t *g, tw_shadow_t *s);
/** SET a checked value of the shadow, between two blocks. */
tw_err_t tw_shadow_set(tw_graph_t *g, tw_shadow_t *s, uint32_t tag, const uint8_t *value, uint32_t bytes);
/** End; its memory is free. Nothing when it is not of this graph. */
void tw_shadow_stop(tw_graph_t *g, tw_shadow_t *s);
/** Correlation of what was compared: 1 equal up to a gain, 0 unrelated or nothing there. Any thread, on a copy. */
double tw_shadow_correlation(const tw_shadow_sums_t *m);

/* graph_run.c calls these around the RUN of a node when the graph has shadows. */
void shadow_before(tw_graph_t *g, uint32_t node, const tw_xdm_t *given);
void shadow_after(tw_graph_t *g, uint32_t node, const tw_xdm_t *x);
