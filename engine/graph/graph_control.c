/* graph_control.c - nodes that steer others: what tw_steer_t promises, done with the scheduler's own tables.
 *
 * A range of nodes under control is a row of g->flows; what the rows say of a node together is its `flow`. A skipped
 * node is never ready. A bypassed one has another function in its hot record, so the way of a plain RUN stays as it
 * is. With several instances main runs the nodes that steer while all others are out of the graph, and runs what they
 * LOCK; one instance alone runs nodes one after the other anyway.
 */
#include "engine/graph/graph_priv.h"

#define FLOW_BIT(op) (uint8_t)(1u << (op))

/* Stands in for a bypassed node. Both arcs have one frame, so what is taken is whole frames. */
static uint32_t pass_on(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    (void)cmd, (void)inst;
    const uint32_t n = tw_min_u32(data[0].bytes, data[1].bytes);
    *state = TW_NODE_DONE;
    if (n != 0) {
        memmove(data[1].ptr, data[0].ptr, n);
    }
    data[0].bytes = data[1].bytes = n;
    return 0;
}

bool control_steers(const tw_node_desc_t *d)
{
    return node_is(d, "arm_stream_graph_control");
}

static const tw_format_t *format_of(const tw_graph_t *g, const tw_graph_node_t *n, uint32_t arc)
{
    return &g->formats[tw_graph_arc_format(g, n->refs[arc].arc, arc < n->rx)];
}

static bool can_pass(const tw_graph_t *g, const tw_graph_node_t *n)
{
    if (n->rx != 1 || n->tx != 1 || n->refs[0].lock != 0 || n->refs[1].lock != 0) {
        return false;
    }
    const tw_format_t *in = format_of(g, n, 0), *out = format_of(g, n, 1);
    return in->frame_bytes == out->frame_bytes && in->raw == out->raw && in->channels == out->channels &&
           in->interleave == out->interleave && in->ts == out->ts && in->ts_size == out->ts_size;
}

void control_bind(tw_graph_t *g, uint32_t node)
{
    const tw_graph_node_t *n = &g->nodes[node];
    tw_graph_hot_t *h = &g->hot[n->pos];
    if ((n->flow & FLOW_BIT(TW_FLOW_BYPASS)) != 0) {
        h->run = pass_on;
    }
    if ((n->flow & FLOW_BIT(TW_FLOW_SKIP)) != 0) {
        h->plain = h->single = false; /* the short ways do not ask whether it may run */
    }
}

/* What all rows say of each node of a range. */
static void look_again(tw_graph_t *g, uint32_t first, uint32_t count)
{
    for (uint32_t node = first; node < first + count; node++) {
        uint8_t flow = 0;
        for (uint32_t i = 0; i < g->n_flows; i++) {
            const tw_graph_flow_t *f = &g->flows[i];
            flow = (uint8_t)(flow | (node - f->first < f->count ? FLOW_BIT(f->op) : 0));
        }
        tw_graph_node_t *n = &g->nodes[node];
        if ((flow & FLOW_BIT(TW_FLOW_BYPASS)) != 0 && !can_pass(g, n)) {
            flow |= FLOW_BIT(TW_FLOW_SKIP);
        }
        if (n->flow != flow) {
            n->flow = flow;
            tw_graph_bind(g, node);
            mp_flow(g, node);
            sched_wake(g, n->pos);
        }
    }
}

static tw_graph_flow_t *row_of(tw_graph_t *g, uint32_t owner, uint32_t slot)
{
    for (uint32_t i = 0; i < g->n_flows; i++) {
        if (g->flows[i].owner == owner && g->flows[i].slot == slot) {
            return &g->flows[i];
        }
    }
    return NULL;
}

static bool fits(const tw_graph_t *g, uint32_t first, uint32_t count)
{
    return (uint64_t)first + count <= g->n_nodes;
}

static void take_back(tw_graph_t *g, tw_graph_flow_t *row)
{
    const tw_graph_flow_t old = *row;
    *row = g->flows[--g->n_flows];
    look_again(g, old.first, old.count);
}

static tw_err_t put(tw_graph_t *g, const tw_graph_flow_t *want)
{
    tw_graph_flow_t *row = row_of(g, want->owner, want->slot);
    const bool on = want->op != TW_FLOW_NONE && want->count != 0;
    if (on && row != NULL && row->op == want->op && row->first == want->first && row->count == want->count) {
        return TW_OK; /* asked anew each block */
    }
    if (on && row == NULL && g->n_flows == TW_MAX_FLOWS) {
        return TW_E_BUSY;
    }
    if (row != NULL) {
        take_back(g, row);
    }
    if (on) {
        g->flows[g->n_flows++] = *want;
        look_again(g, want->first, want->count);
    }
    return TW_OK;
}

/* Other instances may be at the nodes just now: behind the block they are not. */
tw_err_t control_put(tw_graph_t *g, const tw_graph_flow_t *want)
{
    if (!fits(g, want->first, want->count)) {
        return TW_E_PARAM_MATCH;
    }
    if (g->mp == NULL) {
        return put(g, want);
    }
    if (g->asks.n_late == TW_LATE_FLOWS) {
        return TW_E_BUSY;
    }
    g->asks.late[g->asks.n_late++] = *want;
    return TW_OK;
}

static tw_err_t control_flow(void *ctx, uint32_t slot, tw_flow_t op, uint32_t first, uint32_t count)
{
    tw_graph_t *g = ctx;
    const bool on = op != TW_FLOW_NONE && count != 0;
    if (on && (first < 1 || !fits(g, g->current + first, count))) {
        return TW_E_PARAM_MATCH;
    }
    return put(g, &(tw_graph_flow_t){.owner = (uint16_t)g->current,
                                     .first = (uint16_t)(g->current + first),
                                     .count = (uint16_t)count,
                                     .slot = (uint8_t)slot,
                                     .op = (uint8_t)op});
}

static tw_err_t control_loop(void *ctx, uint32_t count, uint32_t times)
{
    tw_graph_t *g = ctx;
    const uint32_t caller = g->current;
    if (count != 0 && !fits(g, caller + 1, count)) {
        return TW_E_PARAM_MATCH;
    }
    if (g->looping) {
        return TW_E_BUSY;
    }
    g->looping = true;
    bool moved = true;
    for (uint32_t k = 0; k < times && moved; k++) {
        moved = false;
        for (uint32_t node = caller + 1; node <= caller + count; node++) {
            tw_graph_hot_t *h = &g->hot[g->nodes[node].pos];
            if (mp_may(g, g->nodes[node].pos) && node_ready(g, h)) {
                moved |= node_run(g, h) != 0;
            }
        }
    }
    g->looping = false;
    g->current = caller;
    return TW_OK;
}

static uint32_t control_use_case(void *ctx, int32_t change)
{
    tw_graph_t *g = ctx;
    if (change >= 0 && change < TW_USE_CASES) {
        g->use_case = (uint8_t)change;
    }
    return g->use_case;
}

static tw_err_t check_set(const tw_graph_t *g, const tw_steer_set_t *s, tw_fault_t *fault)
{
    if (s->node >= g->n_nodes) {
        *fault = (tw_fault_t){.err = TW_E_PARAM_NODE, .at = s->node};
        return TW_E_PARAM_NODE;
    }
    const tw_graph_node_t *n = &g->nodes[s->node];
    return tw_param_check(n->desc, n->fmt, s->tag, 0, s->value, s->bytes, fault);
}

static tw_err_t control_set(void *ctx, const tw_steer_set_t *sets, uint32_t n, uint32_t *bad, tw_fault_t *fault)
{
    tw_graph_t *g = ctx;
    for (uint32_t i = 0; i < n; i++) {
        *bad = i;
        TW_TRY(check_set(g, &sets[i], fault));
    }
    for (uint32_t i = 0; i < n; i++) {
        (void)tw_graph_set_param(g, sets[i].node, sets[i].tag, sets[i].value, sets[i].bytes);
    }
    return TW_OK;
}

static tw_err_t control_get(void *ctx, uint32_t node, uint32_t tag, uint8_t *value, uint32_t *bytes)
{
    tw_graph_t *g = ctx;
    return node < g->n_nodes ? tw_graph_get_param(g, node, tag, value, bytes) : TW_E_PARAM_NODE;
}

static void control_reload(void *ctx, uint32_t kind)
{
    tw_graph_t *g = ctx;
    if (kind < 2) {
        g->reload = (uint8_t)(1 + kind);
    } else {
        flow_event(g, TW_GEV_APP, g->current, kind, TW_OK);
    }
}

static const tw_steer_t control = {
    .flow = control_flow,
    .loop = control_loop,
    .use_case = control_use_case,
    .set = control_set,
    .get = control_get,
    .reload = control_reload,
};

void control_init(tw_graph_t *g)
{
    g->svc.control = &control;
}

void control_reset(tw_graph_t *g)
{
    g->reload = 0;
    while (g->n_flows != 0) {
        take_back(g, &g->flows[0]);
    }
}

/* Nodes first..last, each that is ready. @return something moved */
static bool once_more(tw_graph_t *g, uint32_t first, uint32_t last)
{
    bool moved = false;
    for (uint32_t node = first; node <= last; node++) {
        tw_graph_hot_t *h = &g->hot[g->nodes[node].pos];
        if (g->mp != NULL) {
            moved |= mp_run_again(g, g->nodes[node].pos);
        } else if (node_ready(g, h)) {
            moved |= node_run(g, h) != 0;
        }
    }
    return moved;
}

void control_take_loop(tw_graph_t *g)
{
    const uint32_t caller = g->current, times = g->asks.loop_times;
    if (times == 0 || g->looping) {
        return;
    }
    g->looping = true;
    g->asks.loop_times = 0;
    for (uint32_t k = 0; k < times && once_more(g, g->asks.loop_first, g->asks.loop_last); k++) {}
    g->looping = false;
    g->current = caller;
}

static void take_use_case(tw_graph_t *g)
{
    const tw_graph_event_t ev = {.kind = TW_GEV_USE_CASE, .at = (uint32_t)g->asks.use_case, .value = g->use_case};
    g->use_case = (uint8_t)g->asks.use_case;
    g->asks.use_case = -1;
    if (g->env.host.event != NULL) {
        g->env.host.event(g->env.host.ctx, &ev);
    }
}

void control_end_block(tw_graph_t *g)
{
    tw_graph_asks_t *a = &g->asks;
    for (uint32_t i = 0; i < a->n_late; i++) {
        (void)put(g, &a->late[i]);
    }
    a->n_late = 0;
    a->idle_ms = a->idle_next_ms;
    a->idle_next_ms = UINT32_MAX;
    if (a->ios) {
        a->ios = false;
        io_take_asks(g);
    }
    if (a->use_case >= 0) {
        take_use_case(g);
    }
    if (g->reload != 0) {
        tw_graph_reset(g, g->reload == 1);
    }
}
