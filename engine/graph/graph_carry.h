/* graph_carry.h - one graph going on where another stops: state of nodes and arcs that are the same in both.
 *
 * A node is *the same* when both images give it the same name (symbol), type, formats and sizes of its lasting memory;
 * nodes without a name and script nodes never are. An arc is the same when it joins the same nodes (or IOs) at the
 * same ports with the same formats and size. Planning looks at tables that never change and may happen while `from`
 * runs on another thread; carrying happens between two blocks of it. Knows no threads and no slots.
 */
#pragma once
#include "engine/graph/graph.h"

enum { TW_CARRY_NEW = 0xFFFFFFFF }; /* not the same as anything: starts as RESET left it */

typedef struct tw_graph_carry {
    uint32_t *nodes, *arcs; /* of `to`: index in `from`, or TW_CARRY_NEW */
    uint8_t *value;         /* two parameter values of the largest kind */
    uint32_t value_bytes;   /* of one */
    uint32_t n_nodes;       /* nodes that are the same */
} tw_graph_carry_t;

/**
 * Find out what is the same. Takes 4 bytes a node and arc of `to` from `arena`, and while it works 16 a node of `from`.
 * @return TW_OK, or NOMEM with fault->at = bytes it is short of; the arena is as it was then
 */
tw_err_t tw_graph_carry_plan(tw_graph_carry_t *c, const tw_graph_t *from, const tw_graph_t *to, tw_arena_t *arena,
                             tw_fault_t *fault);
/**
 * Carry it over: lasting memory of the same nodes, then a warm RESET of each with the preset and boot parameters of
 * `to`, then what lies in the same arcs, then where the IOs' rates stand.
 * @param params  also preset and parameters as they are now in `from`, which then win over those of the image
 */
void tw_graph_carry(const tw_graph_carry_t *c, tw_graph_t *from, tw_graph_t *to, bool params);
/** Both describe the same bytes and the same signal. */
bool tw_format_same(const tw_format_t *a, const tw_format_t *b);

/**
 * Only what the signal left behind, between graphs that were planned before; parameters stay those of the graph it is
 * carried into.
 * @param back  from the plan's `to` into its `from`
 */
void tw_graph_carry_signal(const tw_graph_carry_t *c, tw_graph_t *from, tw_graph_t *to, bool back);
/** Only where the IOs' rates stand, so that both graphs read and write the same IOs in the same blocks. */
void tw_graph_carry_phases(const tw_graph_t *from, tw_graph_t *to);

/* ---- parameters of one node as bytes ---- */

/** Bytes tw_graph_save_params() writes for a node at most. */
uint32_t tw_graph_params_bytes(const tw_graph_node_t *n);
/** Every parameter that can be SET, the index-256 block first; each preceded by its tag and length (2 x u16). */
uint32_t tw_graph_save_params(tw_graph_t *g, uint32_t node, uint8_t *to);
/** SET what was saved, where it differs. @param scratch  room for the node's largest value */
void tw_graph_restore_params(tw_graph_t *g, uint32_t node, const uint8_t *from, uint32_t bytes, uint8_t *scratch);
/** Put a SET into a block as index 256 has it; nothing when the parameter is not part of it. */
void tw_graph_params_overlay(const tw_graph_node_t *n, uint32_t tag, const uint8_t *value, uint32_t bytes,
                             uint8_t *block);
/**
 * The block of a preset, from an instance of the node's own made in `scratch`: nothing that runs is touched.
 * @return false: no memory for one, or the node does not tell
 */
bool tw_graph_preset_block(tw_graph_t *g, uint32_t node, uint32_t preset, tw_arena_t scratch, uint8_t *block,
                           uint32_t bytes);

/** Cold RESET of every node and arcs as at load, parameters as they are now: what a signal spoiled is gone.
 *  @param scratch  2 * `value_bytes`, of at least tw_graph_params_bytes() of every node */
void tw_graph_restart(tw_graph_t *g, uint8_t *scratch, uint32_t value_bytes);

/* ---- a script as bytes ---- */

#define TW_GRAPH_SCRIPT_SAVED_MAX (12u + TW_SCRIPT_LIVE_BYTES)
/** Bytes tw_graph_save_script() writes. */
uint32_t tw_graph_script_saved(const tw_graph_t *g, uint32_t script);
/** The code that is installed now, and whether it is disabled; its memory is not part of it. */
void tw_graph_save_script(const tw_graph_t *g, uint32_t script, uint8_t *to);
void tw_graph_restore_script(tw_graph_t *g, uint32_t script, const uint8_t *from, uint32_t bytes);
