/* engine_debug.c - the debugger of the scripts of the graph that runs: its commands, its turns, the ring of the trace.
 *
 * What is debugged cannot be replayed: while something is recorded nobody attaches, and a recording begins with a swap,
 * which detaches.
 */
#include "engine/engine_priv.h"

#if TW_SCRIPT_DEBUG

/* ---- control side ------------------------------------------------------------------ */

tw_err_t tw_engine_put_debug(tw_engine_t *e, uint32_t token, const tw_debug_cmd_t *q)
{
    const cmd_t c = {.op = OP_DEBUG, .token = token, .n = sizeof *q};
    if (engine_view(e) == NULL) {
        return TW_E_NO_GRAPH;
    }
    if (q->op == TW_DBG_TRACE && q->a != 0 && e->cfg.trace_bytes == 0) {
        return TW_E_UNSUPPORTED;
    }
    return engine_put(e, &c, q, token != 0 ? tw_debug_reply_bytes(q) : NO_REPLY);
}

uint32_t tw_engine_debug_stops(tw_engine_t *e)
{
    return atomic_load_explicit(&e->debug.stops, memory_order_acquire);
}

const tw_trace_t *tw_engine_trace(tw_engine_t *e, const uint8_t **data)
{
    uint32_t bytes;
    const tw_trace_t *t = e->cfg.trace_bytes != 0 ? tw_ring_peek(&e->trace, &bytes) : NULL;
    *data = (const uint8_t *)(t + (t != NULL));
    return t;
}

void tw_engine_trace_done(tw_engine_t *e)
{
    tw_ring_pop(&e->trace);
}

uint32_t tw_engine_trace_lost(tw_engine_t *e)
{
    return tw_gauge_get(&e->trace_lost);
}

/* ---- engine side --------------------------------------------------------------------- */

/* A stop is told in the log also when nobody traces. */
static void tell_stop(tw_engine_t *e)
{
    const tw_graph_debug_t *d = &e->debug;
    if (d->state == TW_DEBUG_HELD) {
        reply_t *r = tw_ring_reserve(&e->events, sizeof *r);
        if (r == NULL) {
            tw_gauge_add(&e->events_lost, 1);
            return;
        }
        *r = (reply_t){.kind = TW_REPLY_EVENT, .event = TW_EV_DEBUG, .at = d->entry, .tick = e->e.tick};
        r->value = d->ctx_held->pc;
        tw_ring_commit(&e->events, sizeof *r);
    }
}

static void on_trace(void *ctx, const tw_trace_t *t, const uint8_t *data)
{
    tw_engine_t *e = ctx;
    const uint32_t n = tw_min_u32(t->bytes, TW_TRACE_DATA);
    const uint64_t seq = e->trace_seq++;
    tw_trace_t *to = e->cfg.trace_bytes != 0 ? tw_ring_reserve(&e->trace, (uint32_t)sizeof *to + n) : NULL;
    if (to == NULL) {
        tw_gauge_add(&e->trace_lost, 1);
        return;
    }
    *to = *t;
    to->seq = seq;
    to->tick = e->e.tick;
    to->bytes = n;
    if (n != 0) {
        memcpy(to + 1, data, n);
    }
    tw_ring_commit(&e->trace, (uint32_t)sizeof *to + n);
}

void debug_init(tw_engine_t *e)
{
    tw_debug_init(&e->debug);
    e->debug.trace = on_trace;
    e->debug.ctx = e;
}

void debug_event(tw_engine_t *e, const tw_graph_event_t *ev)
{
    const tw_graph_debug_t *d = &e->debug;
    const bool of_script = ev->kind == TW_GEV_SCRIPT_FAULT || ev->kind == TW_GEV_SCRIPT_EVENT ||
                           ev->kind == TW_GEV_TRACE || ev->kind == TW_GEV_APP;
    if (d->graph == NULL || (d->trace_kinds >> ev->kind & 1) == 0 || !of_script) {
        return;
    }
    const bool fault = ev->kind == TW_GEV_SCRIPT_FAULT;
    const tw_trace_t t = {.kind = ev->kind,
                          .script = fault ? (uint16_t)ev->at : tw_debug_running(d->graph),
                          .at = fault ? (uint32_t)ev->value : ev->at,
                          .number = (uint32_t) - (int32_t)ev->err,
                          .value = ev->value,
                          .bytes = ev->bytes};
    on_trace(e, &t, ev->data);
}

/* The debugger holds a script and wants the graph to stand still, or lets both go on. */
static void stop_graph(tw_engine_t *e)
{
    tw_graph_debug_t *d = &e->debug;
    if (d->wants_stop) {
        d->wants_stop = false;
        d->held_graph |= tw_gauge_get(&e->state) == TW_GRAPH_RUNNING;
        (void)engine_control(e, TW_CTL_STOP, 0);
    }
}

static void start_graph(tw_engine_t *e)
{
    if (e->debug.held_graph) {
        e->debug.held_graph = false;
        (void)engine_control(e, TW_CTL_START, 0);
    }
}

void debug_after(tw_engine_t *e)
{
    if (e->debug.graph == NULL) {
        return;
    }
    const uint32_t stops = atomic_load_explicit(&e->debug.stops, memory_order_relaxed);
    if (e->debug.told != stops) {
        e->debug.told = stops;
        tell_stop(e);
    }
    stop_graph(e);
}

void debug_before(tw_engine_t *e)
{
    if (e->debug.state == TW_DEBUG_GOING) {
        tw_debug_turn(&e->debug);
        debug_after(e);
    }
}

void debug_apply(tw_engine_t *e, const cmd_t *c)
{
    tw_debug_cmd_t q;
    memcpy(&q, c + 1, sizeof q);
    uint32_t bytes = tw_debug_reply_bytes(&q);
    const bool replayed = e->e.rec != NULL && q.op == TW_DBG_ATTACH;
    uint8_t none[sizeof(tw_debug_state_t)];
    tw_err_t err = TW_E_BUSY;
    const bool news = q.b != 0 && q.b != tw_engine_debug_stops(e);
    if ((q.op == TW_DBG_CONTINUE && !news) || (q.op == TW_DBG_DETACH && e->debug.attached)) {
        start_graph(e);
    }
    if (c->room == 0) {
        if (!replayed && bytes <= sizeof none) {
            (void)tw_debug_command(&e->debug, e->e.graph, &q, none, &bytes);
        }
        return;
    }
    reply_t *r = reply_begin(e, c, TW_OK, bytes);
    if (!replayed) {
        err = tw_debug_command(&e->debug, e->e.graph, &q, reply_data(r), &bytes);
    }
    r->err = err;
    r->bytes = err == TW_OK ? bytes : 0;
    reply_send(e, r);
}

void debug_leaves(tw_engine_t *e, tw_graph_t *g)
{
    tw_debug_leave(&e->debug, g);
}

#else

tw_err_t tw_engine_put_debug(tw_engine_t *e, uint32_t token, const tw_debug_cmd_t *q)
{
    (void)e, (void)token, (void)q;
    return TW_E_UNSUPPORTED;
}

uint32_t tw_engine_debug_stops(tw_engine_t *e)
{
    (void)e;
    return 0;
}

const tw_trace_t *tw_engine_trace(tw_engine_t *e, const uint8_t **data)
{
    (void)e;
    *data = NULL;
    return NULL;
}

void tw_engine_trace_done(tw_engine_t *e)
{
    (void)e;
}

uint32_t tw_engine_trace_lost(tw_engine_t *e)
{
    (void)e;
    return 0;
}

void debug_init(tw_engine_t *e)
{
    (void)e;
}

void debug_event(tw_engine_t *e, const tw_graph_event_t *ev)
{
    (void)e, (void)ev;
}

void debug_apply(tw_engine_t *e, const cmd_t *c)
{
    (void)e, (void)c;
}

void debug_before(tw_engine_t *e)
{
    (void)e;
}

void debug_after(tw_engine_t *e)
{
    (void)e;
}

void debug_leaves(tw_engine_t *e, tw_graph_t *g)
{
    (void)e, (void)g;
}

#endif
