/* graph_sys_flow.c - system calls that steer: nodes behind the script's own, the graph, its use case.
 *
 * Nothing of it happens while the script runs. A loop runs when the node has had its turn; ranges, stop and use case
 * take effect behind the block where other instances are at work in it, ranges at once where there are none.
 */
#include "engine/graph/graph_sys_priv.h"

enum { SCHED_LOCK = 1, SCHED_SKIP = 2, SCHED_LOOP = 3, SCHED_STOP = 4 };
enum { SLOT_LOCK = 2, SLOT_SKIP = 3 }; /* slots 0 and 1 are the graph_control node's own */
enum { LOOPS_MAX = 64 };

/* The next `count` nodes of the one whose script runs. */
static tw_err_t range(tw_graph_t *g, uint32_t slot, tw_flow_t op, int64_t count)
{
    if (g->asks.node < 0) {
        return TW_E_STATE;
    }
    if (count < 0 || count > g->n_nodes) {
        return TW_E_PARAM_MATCH;
    }
    return control_put(g, &(tw_graph_flow_t){.owner = (uint16_t)g->asks.node,
                                             .first = (uint16_t)(g->asks.node + 1),
                                             .count = (uint16_t)count,
                                             .slot = (uint8_t)slot,
                                             .op = (uint8_t)op});
}

/* From node r1 to the script's own, or from the one behind it to r1. */
static tw_err_t loop(tw_graph_t *g, int64_t to, int64_t times)
{
    if (g->asks.node < 0) {
        return TW_E_STATE;
    }
    if (to < 0 || to >= g->n_nodes || times < 0 || times > LOOPS_MAX) {
        return TW_E_PARAM_MATCH;
    }
    if (g->looping) {
        return TW_E_BUSY;
    }
    const uint32_t own = (uint32_t)g->asks.node, node = (uint32_t)to;
    g->asks.loop_first = (uint16_t)(node <= own ? node : own + 1u);
    g->asks.loop_last = (uint16_t)(node <= own ? own : node);
    g->asks.loop_times = (uint8_t)(times != 0 ? times : 1);
    return TW_OK;
}

uint32_t sys_sched(tw_graph_t *g, tw_script_ctx_t *s)
{
    const int64_t r1 = tw_script_reg_int(s, 1);
    switch (tw_script_reg_int(s, 0)) {
    case SCHED_LOCK:
        return sys_status(range(g, SLOT_LOCK, TW_FLOW_LOCK, r1));
    case SCHED_SKIP:
        return sys_status(range(g, SLOT_SKIP, TW_FLOW_SKIP, r1));
    case SCHED_LOOP:
        return sys_status(loop(g, r1, tw_script_reg_int(s, 2)));
    case SCHED_STOP:
        g->asks.stop = g->asks.stop || !g->loading;
        return g->loading ? sys_status(TW_E_STATE) : 0;
    default:
        return sys_status(TW_E_ARG);
    }
}

uint32_t sys_usecase(tw_graph_t *g, tw_script_ctx_t *s)
{
    const uint32_t id = sys_below(tw_script_reg_int(s, 0), TW_USE_CASES);
    if (id == UINT32_MAX) {
        return sys_status(TW_E_RANGE);
    }
    if (g->loading) {
        return sys_status(TW_E_STATE);
    }
    g->asks.use_case = (int8_t)id;
    tw_script_set_int(s, 1, TW_T_U32, g->use_case);
    return 0;
}

/* The longest pause everybody who asked in this block can bear. */
uint32_t sys_idle(tw_graph_t *g, tw_script_ctx_t *s)
{
    const int64_t ms = tw_script_reg_int(s, 0);
    if (ms < 0 || ms > INT32_MAX) {
        return sys_status(TW_E_RANGE);
    }
    g->asks.idle_next_ms = tw_min_u32(g->asks.idle_next_ms, (uint32_t)ms);
    return 0;
}

/* A stop is the engine's to take: it outlives a RESET asked for in the same block. */
void asks_reset(tw_graph_t *g)
{
    const bool stop = g->asks.stop, running = g->asks.running;
    memset(&g->asks, 0, sizeof g->asks);
    g->asks.stop = stop;
    g->asks.running = running;
    g->asks.node = -1;
    g->asks.use_case = -1;
    g->asks.idle_ms = g->asks.idle_next_ms = UINT32_MAX;
    g->compute.random = 1;
    npu_reset(g);
}
