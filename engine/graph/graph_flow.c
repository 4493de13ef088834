/* graph_flow.c - what happens to data at the arcs: concealment, overflow, taps, events.
 *
 * Nothing is lost silently: each hole and each frame that found no room is counted at its arc, and
 * the first of a series is an event. Which data is lost is the arc's policy; the numbers are in graph_conceal.c.
 */
#include "engine/graph/graph_priv.h"

enum { UNDER_ZERO = 0, UNDER_REPEAT = 1, UNDER_EXTRAPOLATE = 2, UNDER_SCRIPT = 3 };
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

/* Caches of other processors: what was written goes to memory, what is to be read comes from there. */
static void flush(const tw_graph_t *g, const tw_arc_t *a, const uint8_t *data, uint32_t bytes, bool wrote)
{
    const tw_board_t *b = g->env.board;
    if (b->flush != NULL && (a->flush & TW_ARC_FLUSH_DATA) != 0 && bytes != 0) {
        b->flush(b->ctx, data, bytes, wrote);
    }
    if (b->flush != NULL && (a->flush & TW_ARC_FLUSH_DESCRIPTOR) != 0) {
        b->flush(b->ctx, a, sizeof *a, wrote);
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
    if (a->task != NULL) {
        task_wrote(g, a, data, bytes);
    }
    if (a->flush != 0) {
        flush(g, a, data, bytes, true);
    }
    if (a->taps != NULL && g->env.host.tap != NULL) {
        g->env.host.tap(g->env.host.ctx, a->taps, data, bytes);
    }
}

uint32_t flow_open(tw_graph_t *g, tw_arc_t *a)
{
    if (a->flush != 0) {
        flush(g, a, NULL, 0, false);
    }
    const uint32_t bytes = tw_arc_available(a);
    if (a->flush != 0) {
        flush(g, a, tw_arc_data(a), bytes, false);
    }
    return bytes;
}

/* The arc's script decides what happens; it acts by its system calls. @return T: it has */
static bool script_did(tw_graph_t *g, uint32_t arc, bool over)
{
    const tw_arc_t *a = &g->arcs[arc];
    const int64_t args[2] = {arc, over};
    const tw_script_ctx_t *c = NULL;
    /* a script that overflows an arc itself is not asked about it */
    return a->script >= 0 && !g->in_script &&
           tw_graph_run_script(g, (uint32_t)a->script, args, 2, false, 0, &c) == TW_OK && c->flag != 0;
}

bool flow_hole(tw_graph_t *g, uint32_t arc)
{
    flow_underflow(g, arc);
    return g->arcs[arc].underflow == UNDER_SCRIPT && script_did(g, arc, false);
}

void flow_conceal(tw_graph_t *g, uint32_t arc, uint8_t *frame, uint32_t got)
{
    const tw_arc_t *a = &g->arcs[arc];
    if (a->last != NULL && a->underflow == UNDER_EXTRAPOLATE) {
        conceal_extrapolate(&g->formats[tw_graph_arc_format(g, arc, false)], a->last, frame, got);
    } else if (a->last != NULL && a->underflow == UNDER_REPEAT) {
        memcpy(frame + got, a->last + got, a->in_frame - got);
    } else {
        memset(frame + got, 0, a->in_frame - got);
    }
}

static void drop_oldest(tw_arc_t *a, uint32_t need)
{
    while (tw_arc_free(a) < need && tw_arc_fill(a) != 0) {
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
    if (a->overflow == OVER_OLDEST) {
        drop_oldest(a, a->in_frame);
        sched_consumed(g, a);
    } else if (a->overflow != OVER_SCRIPT || !script_did(g, arc, true)) {
        return NULL;
    }
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
 * in value. What is no number is dropped as it is. */
void flow_fade_in(tw_graph_t *g, uint32_t arc, const uint8_t *frame)
{
    const tw_arc_t *a = &g->arcs[arc];
    const uint32_t end = tw_arc_write_at(a) != 0 ? tw_arc_write_at(a) : a->size; /* a ring may have just folded */
    if (a->overflow == OVER_FADE && a->shares == NULL && end >= a->in_frame && tw_arc_fill(a) >= a->in_frame) {
        (void)conceal_fade(&g->formats[tw_graph_arc_format(g, arc, false)], a->buf + end - a->in_frame, frame);
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
