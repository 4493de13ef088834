/* probe.c - armed probes: from the request to a capture on the engine, and from full segments to the client's stream.
 *
 *            armed                      not wanted, or all sent
 *   OUT ---------------------> IN --------------------> LEAVING ----> OUT
 *
 * The engine fills segments of memory it was lent and never waits. Here a full segment goes out in pieces as credit,
 * room and rate allow, and is then lent again; while all are full, triggers are missed and counted. A probe ends
 * with its connection.
 */
#include "server/server_priv.h"

enum { PIECE_HEADER = 128 }; /* the largest ProbeBlock without its data is 105 bytes */

static uint32_t index_of(const tw_server_t *s, const tw_armed_t *a)
{
    return (uint32_t)(a - s->armed);
}

/* ---- open and close --------------------------------------------------------------- */

static void shape(tw_capture_cfg_t *cfg, const tw_format_t *fmt)
{
    cfg->raw = fmt->raw;
    cfg->channels = fmt->channels;
    cfg->blocks = fmt->interleave != 0 && fmt->channels > 1;
    cfg->samples = fmt->samples;
    cfg->scale = fmt->full_scale;
    cfg->shift = fmt->offset;
}

static uint32_t points_of(uint32_t samples, uint32_t every)
{
    return every > 1 ? samples / every + (samples % every != 0) : samples;
}

static tw_capture_cfg_t wanted(const tunewire_v1_ProbeReq *q, const tw_format_t *fmt)
{
    tw_capture_cfg_t cfg = {
        .mode = (uint8_t)tw_min_u32((uint32_t)q->mode, UINT8_MAX),
        .cause = (uint8_t)tw_min_u32((uint32_t)q->trigger, UINT8_MAX),
        .edge = (uint8_t)tw_min_u32((uint32_t)q->edge, UINT8_MAX),
        .points = (uint8_t)tw_min_u32((uint32_t)q->points, UINT8_MAX),
        .channel = (uint8_t)tw_min_u32(q->channel, UINT8_MAX),
        .magnitude = q->magnitude,
        .flow_mask = (uint8_t)tw_min_u32(q->flow, UINT8_MAX),
        .low = q->low,
        .high = q->high,
        .hysteresis = q->hysteresis,
        .every = q->every,
        .pre = points_of(q->pre, q->every),
        .post = points_of(q->post, q->every),
        .hold_off = q->hold_off,
        .auto_after = q->auto_after,
        .tick = q->tick,
    };
    shape(&cfg, fmt);
    return cfg;
}

/* Of one message, with all the credit and an empty send buffer. */
static uint32_t most_bytes(const tw_peer_t *p)
{
    const uint32_t frame = tw_min_u32(p->conn.max_frame - TW_FRAME_HEADER, p->conn.window);
    return tw_min_u32(frame, p->conn.out.cap - TW_CONN_GOAWAY_ROOM - 2 * TW_FRAME_HEADER - tw_reserve(p));
}

static tw_armed_t *take_free(tw_server_t *s)
{
    for (uint32_t i = 0; i < s->cfg.max_probes; i++) {
        if (s->armed[i].ses == NULL && s->armed[i].state == TW_PROBE_OUT) {
            return &s->armed[i];
        }
    }
    return NULL;
}

static const char *why(tw_err_t err)
{
    switch (err) {
    case TW_E_ARG:
        return "a code that does not exist, or no such channel";
    case TW_E_UNSUPPORTED:
        return "samples of this type have no level or points: RAW and another trigger";
    case TW_E_RANGE:
        return "a number that is none, low above high, or every above 65536";
    case TW_E_NOMEM:
        return "capture less, or every n-th sample (where = bytes short)";
    default:
        return NULL;
    }
}

tw_err_t tw_armed_open(tw_call_t *c, const tunewire_v1_ProbeReq *q, tw_armed_t **out, uint32_t *where,
                       const char **text)
{
    tw_server_t *s = c->s;
    tw_engine_arc_t arc;
    TW_TRY(tw_engine_arc(s->e, q->arc, &arc));
    tw_armed_t *a = take_free(s);
    if (a == NULL) {
        *text = "disarm another probe first";
        return TW_E_SUB_FULL;
    }
    a->cfg = wanted(q, &arc.fmt);
    tw_err_t err =
        arc.fmt.ts != 0 ? TW_E_UNSUPPORTED : tw_capture_init(&a->capture, &a->cfg, a->mem, s->cfg.capture_bytes, where);
    *text = arc.fmt.ts != 0 ? "no captures of streams with time stamps" : why(err);
    TW_TRY(err);
    if (PIECE_HEADER + a->capture.point_bytes > most_bytes(c->peer)) {
        *text = "one point of all channels is more than a message or the window takes";
        return TW_E_RANGE;
    }
    a->stream = tw_conn_open(&c->peer->conn, 0, true);
    if (a->stream == 0) {
        return TW_E_SUB_FULL;
    }
    tw_copy_str(a->arc_name, sizeof a->arc_name, arc.name);
    a->probe.arc = q->arc;
    a->probe.script = q->script;
    a->max_rate = q->max_bytes_per_s;
    a->budget = q->max_bytes_per_s;
    a->budget_us = tw_now(s);
    a->sent = a->at = 0;
    a->ses = c->ses;
    *out = a;
    return TW_OK;
}

tw_armed_t *tw_armed_find(tw_server_t *s, const tw_session_t *ses, uint32_t id)
{
    for (uint32_t i = 0; i < s->cfg.max_probes; i++) {
        if (s->armed[i].ses == ses && s->armed[i].stream == id) {
            return &s->armed[i];
        }
    }
    return NULL;
}

void tw_armed_close(tw_armed_t *a, tw_err_t err)
{
    tw_peer_t *p = a->ses->peer;
    if (p != NULL) {
        tw_stream_end(p, a->stream, err, a->probe.arc);
    }
    a->ses = NULL;
}

void tw_armed_session_gone(tw_server_t *s, const tw_session_t *ses)
{
    for (uint32_t i = 0; i < s->cfg.max_probes; i++) {
        if (s->armed[i].ses == ses) {
            s->armed[i].ses = NULL;
        }
    }
}

/* ---- the engine's side of it --------------------------------------------------------- */

static void attach(tw_server_t *s, tw_armed_t *a)
{
    a->probe.capture = &a->capture;
    atomic_store_explicit(&a->probe.script_error, 0, memory_order_relaxed);
    const tw_err_t err = tw_engine_put_probe(s->e, 0, &a->probe);
    if (err == TW_OK) {
        (void)tw_engine_publish(s->e);
        a->state = TW_PROBE_IN;
    } else if (err != TW_E_QUEUE_FULL) {
        tw_armed_close(a, err);
    }
}

static void detach(tw_server_t *s, tw_armed_t *a)
{
    if (tw_engine_put_unprobe(s->e, TW_TOKEN_SUB | (s->cfg.max_subs + index_of(s, a)), &a->probe) == TW_OK) {
        (void)tw_engine_publish(s->e);
        a->state = TW_PROBE_LEAVING;
    }
}

void tw_armed_out(tw_server_t *s, uint32_t index)
{
    if (index < s->cfg.max_probes && s->armed[index].state == TW_PROBE_LEAVING) {
        s->armed[index].state = TW_PROBE_OUT;
    }
}

/* On the arc of that name in the graph that runs now, from the beginning; captures go on counting. */
static bool find_again(tw_server_t *s, tw_armed_t *a, uint32_t arcs)
{
    tw_engine_arc_t arc;
    uint32_t short_by;
    const uint32_t captures = atomic_load_explicit(&a->capture.captures, memory_order_relaxed);
    for (uint32_t i = 0; i < arcs; i++) {
        if (tw_engine_arc(s->e, i, &arc) == TW_OK && strcmp(arc.name, a->arc_name) == 0) {
            shape(&a->cfg, &arc.fmt);
            a->probe.arc = i;
            a->at = 0;
            if (tw_capture_init(&a->capture, &a->cfg, a->mem, s->cfg.capture_bytes, &short_by) != TW_OK) {
                return false;
            }
            atomic_store_explicit(&a->capture.captures, captures, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void tw_armed_graph_changed(tw_server_t *s)
{
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    for (uint32_t i = 0; i < s->cfg.max_probes; i++) {
        tw_armed_t *a = &s->armed[i];
        a->state = a->state == TW_PROBE_IN ? TW_PROBE_OUT : a->state; /* the answer to an unprobe still comes */
        if (a->ses != NULL && info.state != TW_GRAPH_EMPTY && !find_again(s, a, info.arcs)) {
            tw_armed_close(a, TW_E_ARC_NONE);
        }
    }
}

/* ---- captures going out ---------------------------------------------------------------- */

static uint32_t put_varint(uint8_t *p, uint64_t v)
{
    uint32_t n = 0;
    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

static uint32_t format_of(const tw_armed_t *a)
{
    const uint32_t raw = a->cfg.points == TW_POINTS_RAW ? a->cfg.raw : (uint32_t)TW_RAW_FP32;
    return raw | (uint32_t)a->cfg.channels << 8 | (uint32_t)a->cfg.points << 16;
}

/* ProbeBlock, written in place. */
static uint32_t encode(const tw_armed_t *a, const tw_capture_seg_t *seg, uint32_t n_points, uint64_t now, uint8_t *out)
{
    const uint64_t fields[] = {a->stream, seg->number, seg->points, seg->before, a->at,        seg->sample,
                               seg->tick, seg->offset, seg->cause,  seg->missed, format_of(a), a->capture.cfg.every,
                               now};
    uint32_t n = 0;
    for (uint32_t i = 0; i < TW_COUNT(fields); i++) {
        out[n++] = (uint8_t)((i + 1) << 3);
        n += put_varint(out + n, fields[i]);
    }
    out[n++] = 14 << 3 | 2;
    n += put_varint(out + n, n_points * a->capture.point_bytes);
    return n + tw_capture_copy(&a->capture, seg, a->at, n_points, out + n);
}

/* Points that may go now. */
static uint32_t piece_of(const tw_peer_t *p, const tw_armed_t *a, uint32_t left)
{
    const uint32_t frame = p->conn.max_frame - TW_FRAME_HEADER, room = tw_conn_room(&p->conn);
    const uint32_t keep = PIECE_HEADER + tw_reserve(p);
    const uint32_t most = tw_min_u32(frame, tw_conn_credit(&p->conn, a->stream));
    if (most <= PIECE_HEADER || room <= keep) {
        return 0;
    }
    return tw_min_u32(left, tw_min_u32(most - PIECE_HEADER, room - keep) / a->capture.point_bytes);
}

/* @return false: no progress possible now */
static bool send_piece(tw_armed_t *a, const tw_capture_seg_t *seg, uint64_t now)
{
    tw_peer_t *p = a->ses->peer;
    const uint32_t left = seg->points - a->at, n = piece_of(p, a, left);
    const uint32_t bytes = PIECE_HEADER + n * a->capture.point_bytes;
    /* crumbs of credit are not worth a message */
    if (n == 0 || (n < left && bytes - PIECE_HEADER < most_bytes(p) / 4) ||
        !tw_within_rate(a->max_rate, &a->budget, &a->budget_us, now, bytes)) {
        return false;
    }
    uint8_t *out = tw_conn_begin(&p->conn, TW_FT_DATA, a->stream, bytes);
    if (out == NULL) {
        return false;
    }
    const uint32_t used = encode(a, seg, n, now, out);
    tw_conn_end(&p->conn, used, 0);
    tw_conn_spend(&p->conn, a->stream, used);
    a->budget -= used;
    a->at += n;
    return true;
}

static void send_captures(tw_server_t *s, tw_armed_t *a, uint64_t now)
{
    const tw_capture_seg_t *seg;
    while ((seg = tw_capture_read(&a->capture)) != NULL) {
        while (a->at < seg->points) {
            if (!send_piece(a, seg, now)) {
                return;
            }
        }
        tw_capture_free(&a->capture);
        a->at = 0;
        a->sent++;
        tw_count(s, TW_CNT_CAPTURES);
    }
    if (atomic_load_explicit(&a->capture.state, memory_order_relaxed) == TW_CAPTURE_DONE &&
        tw_capture_read(&a->capture) == NULL && a->sent != 0) {
        tw_armed_close(a, TW_OK);
    }
}

void tw_armed_pump(tw_server_t *s, uint64_t now)
{
    tw_graph_look(s);
    s->live_probes = 0;
    for (uint32_t i = 0; i < s->cfg.max_probes; i++) {
        tw_armed_t *a = &s->armed[i];
        const tw_peer_t *p = a->ses != NULL ? a->ses->peer : NULL;
        if (a->ses != NULL && p == NULL) {
            tw_armed_close(a, TW_OK);
        }
        const bool hears = p != NULL && tw_may_hear(p) && s->have_graph;
        if (hears && a->state == TW_PROBE_OUT && s->swap_token == 0) {
            attach(s, a);
        } else if (a->ses == NULL && a->state == TW_PROBE_IN && s->swap_token == 0) {
            detach(s, a);
        }
        if (hears && a->ses != NULL && a->state == TW_PROBE_IN) {
            send_captures(s, a, now);
        }
        s->live_probes += a->state != TW_PROBE_OUT || a->ses != NULL;
    }
}
