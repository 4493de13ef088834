/* graph_debug_priv.h - what graph_debug.c and graph_debug_cmd.c share. */
#pragma once
#include "engine/graph/graph_debug.h"
#include "engine/graph/graph_priv.h"

static inline bool debug_bit(const uint64_t *mask, uint16_t script)
{
    return script < TW_DEBUG_SCRIPTS && (mask[script / 64] >> script % 64 & 1) != 0;
}

/* graph_debug.c */
void debug_trace(tw_graph_debug_t *d, tw_trace_t *t, const uint8_t *data);
void debug_stop(tw_graph_debug_t *d, tw_debug_state_code_t state, tw_debug_stop_t why, uint32_t number);
/** brk instructions hold, or are nothing. */
void debug_listen(tw_graph_t *g, bool on);
void debug_let_go(tw_graph_debug_t *d);
uint16_t debug_script_of(const tw_graph_t *g, const tw_script_ctx_t *c);
uint16_t debug_script_at(const tw_graph_t *g, const tw_script_frame_t *f);

/* graph_debug_cmd.c */
/** Breakpoints changed, or what scripts call: which of them run instruction by instruction. */
void debug_settle(tw_graph_debug_t *d);
/** Breakpoints of a script whose code is another one now. */
void debug_replaced(tw_graph_debug_t *d, uint16_t script);
