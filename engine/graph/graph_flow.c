/* graph_flow.c - what happens to data at the arcs: concealment, overflow, taps, events.
 *
 * Nothing is lost silently: each hole and each frame that found no room is counted at its arc, and
 * the first of a series is an event. Which data is lost is the arc's policy.
 */
#include "engine/graph/graph_priv.h"

enum { UNDER_ZERO = 0, UNDER_REPEAT = 1, UNDER_HOLD = 2, UNDER_SCRIPT = 3 };
enum { OVER_NEWEST = 0, OVER_FADE = 1, OVER_OLDEST = 2, OVER_SCRIPT = 3 };

void flow_event(tw_graph_t *g, uint16_t kind, uint32_t at, int64_t value, tw_err_t err)
{
    const tw_graph_event_t ev = {.kind = kind, .err = err, .at = at, .value = value};
    if (g->env.host.event != NULL) {
        g->env.host.event(g->env.host.ctx, &ev);
    }
}

void flow_underflow(tw_graph_t *g, uint32_t arc)
{
    tw_arc_t *a = &g->arcs[arc];
    tw_gauge_add(&a->underflows, 1);
    if (!a->underflow_series) {
        a->underflow_series = true;
        flow_event(g, TW_GEV_FLOW, arc, 0, TW_OK);
    }
}

void flow_overflow(tw_graph_t *g, uint32_t arc)
{
    tw_arc_t *a = &g->arcs[arc];
    tw_gauge_add(&a->overflows, 1);
    if (!a->overflow_series) {
        a->overflow_series = true;
        flow_event(g, TW_GEV_FLOW, arc, 1, TW_OK);
    }
}

void flow_wrote(tw_graph_t *g, tw_arc_t *a, uint8_t *data, uint32_t bytes)
{
    if (bytes == 0) {
        return;
    }
    tw_arc_commit(a, bytes);
    sched_wake(g, a->to);
    a->stamp_us = g->now_us;
    if (a->taps != NULL && g->env.host.tap != NULL) {
        g->env.host.tap(g->env.host.ctx, a->taps, data, bytes);
    }
}

/* Bytes of one instant (a sample of every channel), 0 when instants are not bytes in a row. */
static uint32_t instant_bytes(const tw_graph_t *g, uint32_t arc)
{
    const tw_format_t *f = &g->formats[tw_graph_arc_format(g, arc, false)];
    const uint32_t bits = tw_raw_bits(f->raw);
    return bits % 8 != 0 || f->ts != 0 || (f->interleave != 0 && f->channels > 1) ? 0 : bits / 8 * f->channels;
}

/* Go on with the last instant there is: in this frame, else in the frame before. */
static void hold(const tw_graph_t *g, uint32_t arc, uint8_t *frame, uint32_t got)
{
    const tw_arc_t *a = &g->arcs[arc];
    const uint32_t n = instant_bytes(g, arc);
    if (n == 0) {
        memcpy(frame + got, a->last + got, a->in_frame - got);
        return;
    }
    got -= got % n;
    for (; got + n <= a->in_frame; got += n) {
        memcpy(frame + got, got >= n ? frame + got - n : a->last + a->in_frame - n, n);
    }
}

void flow_conceal(tw_graph_t *g, uint32_t arc, uint8_t *frame, uint32_t got)
{
    const tw_arc_t *a = &g->arcs[arc];
    if (a->last == NULL) {
        memset(frame + got, 0, a->in_frame - got);
        return;
    }
    switch (a->underflow) {
    case UNDER_HOLD:
        hold(g, arc, frame, got);
        break;
    case UNDER_REPEAT:
    case UNDER_SCRIPT:
        memcpy(frame + got, a->last + got, a->in_frame - got);
        break;
    default:
        memset(frame + got, 0, a->in_frame - got);
        break;
    }
}

static void drop_oldest(tw_arc_t *a, uint32_t need)
{
    while (tw_arc_free(a) < need) {
        tw_arc_consume(a, tw_min_u32(a->out_frame, tw_arc_fill(a)));
    }
}

/* Room for one producer frame, by the arc's overflow policy; NULL: there is none. */
uint8_t *flow_room(tw_graph_t *g, uint32_t arc)
{
    tw_arc_t *a = &g->arcs[arc];
    uint8_t *room = tw_arc_room(a, a->in_frame);
    if (room != NULL) {
        a->overflow_series = false;
        return room;
    }
    flow_overflow(g, arc);
    if (a->overflow != OVER_OLDEST) {
        return NULL;
    }
    drop_oldest(a, a->in_frame);
    sched_consumed(g, a);
    return tw_arc_room(a, a->in_frame);
}

uint32_t flow_write(tw_graph_t *g, uint32_t arc, const uint8_t *data, uint32_t bytes)
{
    tw_arc_t *a = &g->arcs[arc];
    uint32_t done = 0;
    for (; done + a->in_frame <= bytes; done += a->in_frame) {
        uint8_t *room = flow_room(g, arc);
        if (room == NULL) {
            break;
        }
        memcpy(room, data + done, a->in_frame);
        flow_wrote(g, a, room, a->in_frame);
    }
    return done;
}

uint32_t tw_graph_write_arc(tw_graph_t *g, uint32_t arc, const uint8_t *data, uint32_t bytes)
{
    tw_arc_t *a = &g->arcs[arc];
    uint32_t done = 0;
    while (bytes - done >= a->in_frame) {
        uint8_t *room = tw_arc_room(a, a->in_frame);
        if (room == NULL) {
            break;
        }
        memcpy(room, data + done, a->in_frame);
        flow_wrote(g, a, room, a->in_frame);
        done += a->in_frame;
    }
    return done;
}

/* The frame that found no room, faded into the newest one that did: a jump in time without a jump
 * in value. Other types than these are dropped as they are. */
void flow_fade_in(tw_graph_t *g, uint32_t arc, const uint8_t *frame)
{
    const tw_arc_t *a = &g->arcs[arc];
    const tw_format_t *f = &g->formats[tw_graph_arc_format(g, arc, false)];
    const uint32_t size = tw_raw_bits(f->raw) / 8, n = instant_bytes(g, arc) != 0 ? a->in_frame / size : 0;
    if (a->overflow != OVER_FADE || tw_gauge_get(&a->write) < a->in_frame || tw_arc_fill(a) < a->in_frame) {
        return;
    }
    uint8_t *newest = a->buf + tw_gauge_get(&a->write) - a->in_frame;
    for (uint32_t i = 0; i < n; i++) {
        const float w = (float)(i / f->channels + 1) / (float)(n / f->channels);
        if (f->raw == TW_RAW_FP32) {
            tw_put_f32(newest + 4 * i, (1.0f - w) * tw_get_f32(newest + 4 * i) + w * tw_get_f32(frame + 4 * i));
        } else if (f->raw == TW_RAW_S16 || f->raw == TW_RAW_Q15) {
            const float old = (int16_t)tw_get_le16(newest + 2 * i), now = (int16_t)tw_get_le16(frame + 2 * i);
            tw_put_le16(newest + 2 * i, (uint16_t)(int16_t)((1.0f - w) * old + w * now));
        }
    }
}

uint32_t tw_graph_arc_format(const tw_graph_t *g, uint32_t arc, bool consumer)
{
    return tw_img_arc_format(g->img, arc, consumer);
}

void tw_graph_arc_ends(const tw_graph_t *g, uint32_t arc, uint32_t *from, uint32_t *to)
{
    const tw_img_ends_t e = tw_img_ends(g->img, arc);
    const uint32_t io = tw_img_wide(g->img) ? TW_ARC_IO_WIDE : TW_ARC_IO;
    *from = e.from == TW_IMG_IO ? io : e.from;
    *to = e.to == TW_IMG_IO ? io : e.to;
}
