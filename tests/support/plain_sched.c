#include "tests/support/plain_sched.h"
#include "engine/graph/graph_priv.h"

void plain_block(tw_graph_t *g, uint64_t tick)
{
    g->tick = tick;
    g->now_us = g->env.port->now_us(g->env.port->ctx);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->hot[i].block_runs = 0;
    }
    sched_debug_script(g, DBG_START, NO_NODE);
    flow_ios_in(g);
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            tw_graph_hot_t *h = &g->hot[g->nodes[i].pos];
            moved |= node_ready(g, h) && node_run(g, h) != 0;
        }
        moved |= flow_ios_out(g);
        sched_debug_script(g, DBG_LOOP, NO_NODE);
    }
    sched_debug_script(g, DBG_RETURN, NO_NODE);
}
