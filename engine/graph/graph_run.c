/* graph_run.c - one node: when it is ready, how it is run, its parameters.
 *
 * A node is ready when each receive arc holds a consumer frame and each transmit arc has room for a
 * producer frame; it then gets all whole frames there are. A node with high QoS arcs waits for
 * those only: missing input is concealed, output without room follows the arc's policy. Lock arcs
 * carry nothing; a node with nothing but lock arcs runs once a block.
 */
#include "engine/graph/graph_priv.h"
#include "engine/graph/graph_shadow.h"

void node_error(tw_graph_t *g, uint32_t node, uint32_t err)
{
    tw_graph_node_t *n = &g->nodes[node];
    tw_gauge_add(&n->errors, 1);
    if (g->node_fault.err == TW_OK) {
        g->node_fault = (tw_fault_t){(tw_err_t)(-(int32_t)(err & 0xFFFFu)), SEC(NODES), n->record};
    }
    if (!n->failed) {
        n->failed = true;
        flow_event(g, TW_GEV_NODE_ERROR, node, err, (tw_err_t)(-(int32_t)(err & 0xFFFFu)));
    }
}

static bool waits_for(const tw_graph_node_t *n, const tw_graph_ref_t *r)
{
    return r->lock == 0 && (n->hqos == 0 || r->hqos != 0);
}

/* Who is not ready for want of room says so at the arc: using its data wakes the node. Other reasons end by a write,
 * which always wakes, or with the block. */
bool node_ready(tw_graph_t *g, const tw_graph_hot_t *h)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    if ((n->flow & 1u << TW_FLOW_SKIP) != 0) {
        return false;
    }
    bool carries = false;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        const tw_graph_ref_t *r = &n->refs[i];
        tw_arc_t *a = &g->arcs[r->arc];
        carries |= r->lock == 0 && a->type != TW_ARC_CONSTANT;
        if (!waits_for(n, r)) {
            continue;
        }
        if (!(i < n->rx ? tw_arc_readable(a) : tw_arc_writable(a))) {
            if (g->mp == NULL) {
                a->blocked |= i >= n->rx;
            }
            return false;
        }
    }
    return h->block_runs < (carries ? TW_MAX_BLOCK_RUNS : 1u);
}

/* Input a high QoS node does not wait for: bring it to one consumer frame. */
static void conceal_input(tw_graph_t *g, uint32_t arc)
{
    tw_arc_t *a = &g->arcs[arc];
    if (tw_arc_fill(a) >= a->out_frame) {
        a->underflow_series = false;
        return;
    }
    (void)flow_hole(g, arc); /* a script that has dealt with it has filled the arc */
    while (tw_arc_fill(a) < a->out_frame) {
        uint8_t *room = tw_arc_room(a, a->in_frame);
        if (room == NULL) { /* the last producer frame would reach beyond the buffer */
            room = tw_arc_room(a, a->out_frame - tw_arc_fill(a));
            if (room == NULL) {
                return; /* the second of two arcs in one buffer: it has no room of its own */
            }
            memset(room, 0, a->out_frame - tw_arc_fill(a));
            flow_wrote(g, a, room, a->out_frame - tw_arc_fill(a));
            return;
        }
        flow_conceal(g, arc, room, 0);
        flow_wrote(g, a, room, a->in_frame);
    }
}

/* Room for whole frames; what cannot be written goes where nobody reads it. */
static void give_output(tw_graph_t *g, tw_arc_t *a, tw_xdm_t *x)
{
    x->ptr = tw_arc_room(a, a->in_frame);
    x->bytes = x->ptr != NULL ? tw_arc_whole(tw_arc_tail(a), a->in_frame) : a->in_frame;
    x->ptr = x->ptr != NULL ? x->ptr : g->scratch;
}

/* Policies first: their scripts may move what arcs hold. Then transmit arcs: making room may move data, also of an arc
 * that comes back to this node. */
static void gather(tw_graph_t *g, const tw_graph_node_t *n, tw_xdm_t *x)
{
    for (uint32_t i = 0; n->hqos != 0 && i < (uint32_t)n->rx + n->tx; i++) {
        const tw_graph_ref_t *r = &n->refs[i];
        if (r->lock == 0 && !waits_for(n, r) && i < n->rx) {
            if (!n->desc->conceals) {
                conceal_input(g, r->arc);
            }
        } else if (r->lock == 0 && !waits_for(n, r)) {
            (void)flow_room(g, r->arc);
        }
    }
    for (uint32_t i = n->rx; i < (uint32_t)n->rx + n->tx; i++) {
        const tw_graph_ref_t *r = &n->refs[i];
        tw_arc_t *a = &g->arcs[r->arc];
        if (r->lock != 0) {
            x[i] = (tw_xdm_t){a->buf, 0};
        } else {
            give_output(g, a, &x[i]);
        }
    }
    for (uint32_t i = 0; i < n->rx; i++) {
        tw_arc_t *a = &g->arcs[n->refs[i].arc];
        x[i].bytes = n->refs[i].lock != 0 ? 0 : flow_open(g, a);
        x[i].ptr = a->buf + tw_gauge_get(&a->read);
    }
}

/* Move the indexes by what the node says it used, never by more than it got. @return bytes moved */
static uint32_t scatter(tw_graph_t *g, const tw_graph_node_t *n, const tw_xdm_t *given, const tw_xdm_t *x)
{
    uint32_t moved = 0;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        tw_arc_t *a = &g->arcs[n->refs[i].arc];
        const uint32_t bytes = tw_min_u32(x[i].bytes, given[i].bytes);
        if (i < n->rx) {
            tw_arc_consume(a, bytes);
            sched_consumed(g, a);
        } else if (given[i].ptr != g->scratch) {
            flow_wrote(g, a, given[i].ptr, bytes);
        }
        moved += bytes;
    }
    return moved;
}

static uint32_t run_once(tw_graph_t *g, tw_graph_hot_t *h, uint32_t *state)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    tw_xdm_t given[TW_MAX_NODE_ARCS], x[TW_MAX_NODE_ARCS];
    gather(g, n, given);
    memcpy(x, given, sizeof(tw_xdm_t) * ((size_t)n->rx + n->tx));
    g->current = h->node;
    if (g->shadows != NULL) {
        shadow_before(g, h->node, given);
    }
    const uint32_t err = sched_call(g, h, x, state);
    if (g->shadows != NULL) {
        shadow_after(g, h->node, x);
    }
    if (err != 0) {
        node_error(g, h->node, err);
    }
    return scatter(g, n, given, x);
}

static uint32_t run_reruns(tw_graph_t *g, tw_graph_hot_t *h)
{
    uint32_t moved = 0;
    for (uint32_t k = 0; k <= h->reruns; k++) {
        uint32_t state = TW_NODE_DONE;
        moved += run_once(g, h, &state);
        if (state != TW_NODE_RERUN || !node_ready(g, h)) {
            break;
        }
    }
    return moved;
}

static uint32_t turn(tw_graph_t *g, tw_graph_hot_t *h)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    int64_t phase = PHASE_BEFORE;
    sched_debug_script(g, DBG_BEFORE, h->node);
    if (n->script >= 0) {
        const tw_script_ctx_t *c = NULL;
        const tw_err_t err = script_run_for(g, h->node, (uint32_t)n->script, &phase, 1, true, &c);
        if (err == TW_OK && c->flag == 0) {
            h->block_runs = TW_MAX_BLOCK_RUNS; /* asked once a block */
            return 0;
        }
        if (!node_ready(g, h)) { /* the script took data away */
            return 0;
        }
    }
    const uint32_t moved = run_reruns(g, h);
    if (n->script >= 0) {
        phase = PHASE_AFTER;
        (void)script_run_for(g, h->node, (uint32_t)n->script, &phase, 1, false, NULL);
    }
    sched_debug_script(g, DBG_AFTER, h->node);
    return moved;
}

/* The script before the node decides with T at its end whether the node runs; a disabled or
 * faulting script leaves T = 1. */
uint32_t node_run(tw_graph_t *g, tw_graph_hot_t *h)
{
    const uint32_t moved = turn(g, h);
    if (g->asks.loop_times != 0) {
        control_take_loop(g);
    }
    return moved;
}

tw_err_t tw_graph_set_param(tw_graph_t *g, uint32_t node, uint32_t tag, const uint8_t *value, uint32_t bytes)
{
    tw_graph_node_t *n = &g->nodes[node];
    /* nodes only read it; the ABI has one pointer for both directions */
    tw_xdm_t data = {.ptr = (void *)(uintptr_t)value, .bytes = bytes};
    uint32_t state = 0;
    const uint32_t err =
        call_node(n, TW_CMD_SET_PARAMETER | tw_put_bits(tag, TW_LO(TW_CMD_TAG)) | n->command, &data, &state);
    if (err != 0) {
        node_error(g, node, err);
    }
    return (tw_err_t)(-(int32_t)(err & 0xFFFFu));
}

tw_err_t tw_graph_get_param(tw_graph_t *g, uint32_t node, uint32_t tag, uint8_t *value, uint32_t *bytes)
{
    const tw_graph_node_t *n = &g->nodes[node];
    tw_xdm_t data = {.ptr = value, .bytes = *bytes};
    uint32_t state = 0;
    const uint32_t err =
        call_node(n, TW_CMD_READ_PARAMETER | tw_put_bits(tag, TW_LO(TW_CMD_TAG)) | n->command, &data, &state);
    *bytes = err == 0 ? tw_min_u32(data.bytes, *bytes) : 0;
    return (tw_err_t)(-(int32_t)(err & 0xFFFFu));
}
