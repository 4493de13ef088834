/* engine_reply.c - what comes back: replies that cannot be lost, events that may be.
 *
 * Two rings of half the bytes each. Room for a reply is promised when its command is put: at most
 * three quarters of the ring in all and a quarter each, so that a reply which has to start at the
 * ring's beginning still finds its place. Events take what is free in the other ring.
 */
#include "engine/engine_priv.h"

static uint32_t span(uint32_t data)
{
    return 8 + tw_round_up((uint32_t)sizeof(reply_t) + data, 8); /* ring header and record */
}

uint32_t reply_limit(const tw_engine_t *e)
{
    return e->replies.size / 4 - span(0);
}

bool reply_promise(tw_engine_t *e, uint32_t bytes, uint32_t *room)
{
    if (bytes > reply_limit(e) || e->c.promised + span(bytes) > e->replies.size / 4 * 3) {
        return false;
    }
    *room = span(bytes);
    e->c.promised += *room;
    e->c.group_promised += *room;
    return true;
}

reply_t *reply_begin(tw_engine_t *e, const cmd_t *c, tw_err_t err, uint32_t bytes)
{
    reply_t *r = tw_ring_reserve(&e->replies, (uint32_t)sizeof *r + bytes);
    TW_ASSERT(r != NULL && span(bytes) <= c->room);
    *r = (reply_t){
        .token = c->token, .kind = TW_REPLY_DONE, .err = err, .tick = e->e.tick, .room = c->room, .bytes = bytes};
    return r;
}

void reply_send(tw_engine_t *e, reply_t *r)
{
    tw_ring_commit(&e->replies, (uint32_t)sizeof *r + r->bytes);
}

_Static_assert((int)TW_GEV_SCRIPT_FAULT == (int)TW_EV_SCRIPT_FAULT && (int)TW_GEV_APP == (int)TW_EV_APP &&
                   (int)TW_GEV_FLOW == (int)TW_EV_FLOW && (int)TW_GEV_NODE_ERROR == (int)TW_EV_NODE_ERROR &&
                   (int)TW_GEV_SCRIPT_EVENT == (int)TW_EV_SCRIPT_EVENT && (int)TW_GEV_TRACE == (int)TW_EV_TRACE &&
                   (int)TW_GEV_IO == (int)TW_EV_IO && (int)TW_TRACE_STOP == (int)TW_EV_DEBUG &&
                   (int)TW_GEV_USE_CASE == (int)TW_EV_USE_CASE,
               "the graph core and engine.h number events alike");

static void on_event(void *ctx, const tw_graph_event_t *ev)
{
    tw_engine_t *e = ctx;
    if (ev->kind == TW_GEV_FLOW) {
        probe_flow(e, ev->at, ev->value);
    }
    debug_event(e, ev);
    reply_t *r = tw_ring_reserve(&e->events, (uint32_t)sizeof *r + ev->bytes);
    if (r == NULL) {
        tw_gauge_add(&e->events_lost, 1);
        return;
    }
    *r = (reply_t){.kind = TW_REPLY_EVENT,
                   .event = ev->kind,
                   .err = ev->err,
                   .at = ev->at,
                   .value = ev->value,
                   .tick = e->e.tick,
                   .bytes = ev->bytes};
    if (ev->bytes != 0) {
        memcpy(reply_data(r), ev->data, ev->bytes);
    }
    tw_ring_commit(&e->events, (uint32_t)sizeof *r + ev->bytes);
}

static bool on_recall(void *ctx, tw_answer_t *a)
{
    const tw_engine_t *e = ctx;
    return e->cfg.recall(e->cfg.recall_ctx, a);
}

tw_graph_host_t engine_host(tw_engine_t *e)
{
    return (tw_graph_host_t){.ctx = e,
                             .event = on_event,
                             .tap = probe_tap,
                             .answer = record_answer,
                             .recall = e->cfg.recall != NULL ? on_recall : NULL};
}

/* ---- control side -------------------------------------------------------------------- */

bool tw_engine_reply(tw_engine_t *e, tw_engine_reply_t *out)
{
    uint32_t bytes = 0;
    engine_reclaim(e);
    e->c.from_events = false;
    const reply_t *r = tw_ring_peek(&e->replies, &bytes);
    if (r == NULL) {
        r = tw_ring_peek(&e->events, &bytes);
        e->c.from_events = true;
    }
    if (r == NULL) {
        return false;
    }
    *out = (tw_engine_reply_t){
        .token = r->token,
        .kind = r->kind,
        .event = r->event,
        .err = (tw_err_t)r->err,
        .at = r->at,
        .value = r->value,
        .tick = r->tick,
        .data = (const uint8_t *)(r + 1),
        .bytes = r->bytes,
    };
    return true;
}

void tw_engine_reply_done(tw_engine_t *e)
{
    uint32_t bytes = 0;
    if (e->c.from_events) {
        tw_ring_pop(&e->events);
        return;
    }
    const reply_t *r = tw_ring_peek(&e->replies, &bytes);
    e->c.promised -= r->room;
    tw_ring_pop(&e->replies);
}

uint32_t tw_engine_events_lost(tw_engine_t *e)
{
    return tw_gauge_get(&e->events_lost);
}
