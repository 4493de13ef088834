/* subscribe.c - taps on arcs: from the engine's ring to the client's stream.
 *
 *            wanted, arc known           not wanted
 *   OUT ---------------------> IN --------------------> LEAVING ----> OUT
 *    ^                          |   another graph                reply
 *    +--------------------------+
 *
 * The engine writes a probe's ring and never waits; what does not fit there is
 * counted there. Here frames become blocks, and a block without credit, room or
 * rate is dropped whole and counted. Wanted means: its session is connected and
 * its arc exists. A probe is never attached or taken away while a graph swap is
 * on its way, so the reply to the swap settles who owns it.
 */
#include "server/server_priv.h"

enum { BLOCK_HEADER = 48, FRAMES_PER_PUMP = 512 };

static bool is_free(const tw_sub_t *sub)
{
    return sub->ses == NULL && sub->state == TW_PROBE_OUT;
}

static uint32_t index_of(const tw_server_t *s, const tw_sub_t *sub)
{
    return (uint32_t)(sub - s->subs);
}

/* ---- open and close ---------------------------------------------------------- */

/* A block must fit a frame, the window, and an empty send buffer beside the part kept for replies. */
static uint32_t block_limit(const tw_server_t *s, const tw_peer_t *p, uint32_t wanted)
{
    const uint32_t frame = tw_min_u32(p->conn.max_frame - TW_FRAME_HEADER, p->conn.window);
    const uint32_t buffer = p->conn.out.cap - TW_CONN_GOAWAY_ROOM - 2 * TW_FRAME_HEADER - tw_reserve(p);
    const uint32_t most = tw_min_u32(tw_min_u32(frame, buffer) - BLOCK_HEADER, s->sub_block);
    return wanted != 0 ? tw_min_u32(wanted, most) : most;
}

static tw_err_t check_shape(const tw_sub_t *sub, tw_text_t *t)
{
    if (sub->mode != tunewire_v1_SubReq_Mode_RAW && !tw_raw_sampled(sub->fmt.raw)) {
        tw_text_str(t, "only RAW for samples of type ");
        const char *name = tw_raw_name(sub->fmt.raw);
        tw_text_str(t, name != NULL ? name : "?");
        return TW_E_UNSUPPORTED;
    }
    if (tw_reduce_bound(sub) > sub->max_block) {
        tw_text_str(t, "a block takes at least ");
        tw_text_int(t, tw_reduce_bound(sub));
        tw_text_str(t, " bytes, max_block allows ");
        tw_text_int(t, sub->max_block);
        return TW_E_RANGE;
    }
    return TW_OK;
}

static tw_err_t check_request(const tunewire_v1_SubReq *q, tw_text_t *t)
{
    if (q->trig_level != 0 || q->flags != 0) {
        tw_text_str(t, "no triggers on this device");
        return TW_E_UNSUPPORTED;
    }
    if (q->mode > tunewire_v1_SubReq_Mode_LAST || q->drop > tunewire_v1_SubReq_Drop_NEWEST) {
        tw_text_str(t, "mode 0..3, drop 0..1");
        return TW_E_ARG;
    }
    return TW_OK;
}

static tw_sub_t *take_free(tw_server_t *s)
{
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        if (is_free(&s->subs[i])) {
            return &s->subs[i];
        }
    }
    return NULL;
}

static void set_up(tw_sub_t *sub, tw_call_t *c, const tunewire_v1_SubReq *q, const tw_engine_arc_t *arc)
{
    sub->mode = (uint8_t)q->mode;
    sub->drop = (uint8_t)q->drop;
    sub->arc = q->arc;
    sub->decimate = q->decimate;
    sub->max_rate = q->max_bytes_per_s;
    sub->max_block = block_limit(c->s, c->peer, q->max_block);
    tw_copy_str(sub->arc_name, sizeof sub->arc_name, arc->name);
    sub->fmt = arc->fmt;
    sub->block_used = sub->block_frames = sub->lost = sub->ring_lost = sub->rec_at = 0;
    sub->seq = 0;
    sub->budget = q->max_bytes_per_s;
    sub->budget_us = tw_now(c->s);
    tw_reduce_reset(sub);
}

tw_err_t tw_sub_open(tw_call_t *c, const tunewire_v1_SubReq *q, tw_sub_t **out, char *text, size_t cap)
{
    tw_text_t t;
    tw_text_init(&t, text, cap);
    TW_TRY(check_request(q, &t));
    tw_engine_arc_t arc;
    TW_TRY(tw_engine_arc(c->s->e, q->arc, &arc));
    tw_sub_t *sub = take_free(c->s);
    if (sub == NULL) {
        tw_text_str(&t, "unsubscribe from another arc first");
        return TW_E_SUB_FULL;
    }
    set_up(sub, c, q, &arc);
    TW_TRY(check_shape(sub, &t));
    sub->stream = tw_conn_open(&c->peer->conn, 0, true);
    if (sub->stream == 0) {
        return TW_E_SUB_FULL;
    }
    sub->ses = c->ses;
    *out = sub;
    return TW_OK;
}

tw_sub_t *tw_sub_find(tw_server_t *s, const tw_session_t *ses, uint32_t id)
{
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        if (s->subs[i].ses == ses && s->subs[i].stream == id) {
            return &s->subs[i];
        }
    }
    return NULL;
}

void tw_sub_close(tw_sub_t *sub, tw_err_t err)
{
    tw_peer_t *p = sub->ses->peer;
    if (p != NULL) {
        tw_stream_end(p, sub->stream, err, sub->arc);
    }
    sub->ses = NULL;
}

void tw_subs_session_gone(tw_server_t *s, const tw_session_t *ses)
{
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        if (s->subs[i].ses == ses) {
            s->subs[i].ses = NULL;
        }
    }
}

/* The client is back and knows its subscriptions by their stream ids, so they keep them. */
void tw_subs_resume(tw_server_t *s, tw_session_t *ses)
{
    tw_conn_t *conn = &ses->peer->conn;
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        tw_sub_t *sub = &s->subs[i];
        if (sub->ses != ses) {
            continue;
        }
        conn->next_stream = sub->stream;
        sub->max_block = block_limit(s, ses->peer, sub->max_block);
        if (tw_conn_open(conn, 0, true) != sub->stream || tw_reduce_bound(sub) > sub->max_block) {
            tw_sub_close(sub, TW_E_RANGE);
        }
    }
}

/* ---- the probe ------------------------------------------------------------------- */

static void attach(tw_server_t *s, tw_sub_t *sub)
{
    tw_ring_init(&sub->probe.ring, sub->ring_mem, s->cfg.probe_bytes);
    atomic_store_explicit(&sub->probe.dropped, 0, memory_order_relaxed);
    sub->probe.arc = sub->arc;
    sub->probe.next = NULL;
    sub->rec_at = 0;
    if (tw_engine_put_probe(s->e, 0, &sub->probe) == TW_OK) {
        (void)tw_engine_publish(s->e);
        sub->state = TW_PROBE_IN;
    }
}

static void detach(tw_server_t *s, tw_sub_t *sub)
{
    if (tw_engine_put_unprobe(s->e, TW_TOKEN_SUB | index_of(s, sub), &sub->probe) == TW_OK) {
        (void)tw_engine_publish(s->e);
        sub->state = TW_PROBE_LEAVING;
    }
}

static void probe_out(tw_sub_t *sub)
{
    sub->ring_lost += atomic_load_explicit(&sub->probe.dropped, memory_order_relaxed);
    atomic_store_explicit(&sub->probe.dropped, 0, memory_order_relaxed);
    sub->state = TW_PROBE_OUT;
    sub->block_used = sub->block_frames = 0;
    tw_reduce_reset(sub);
}

void tw_sub_unprobed(tw_server_t *s, uint32_t index)
{
    if (index < s->cfg.max_subs && s->subs[index].state == TW_PROBE_LEAVING) {
        probe_out(&s->subs[index]);
    }
}

/* The arc of that name in the graph that runs now; unnamed arcs are named by their number. */
static bool find_again(tw_server_t *s, tw_sub_t *sub, uint32_t arcs)
{
    tw_engine_arc_t arc;
    for (uint32_t i = 0; i < arcs; i++) {
        if (tw_engine_arc(s->e, i, &arc) == TW_OK && strcmp(arc.name, sub->arc_name) == 0) {
            char text[TW_LOG_TEXT];
            tw_text_t t;
            tw_text_init(&t, text, sizeof text);
            sub->arc = i;
            sub->fmt = arc.fmt;
            return check_shape(sub, &t) == TW_OK;
        }
    }
    return false;
}

void tw_subs_graph_changed(tw_server_t *s)
{
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        tw_sub_t *sub = &s->subs[i];
        if (sub->state == TW_PROBE_IN) { /* LEAVING: the answer still comes */
            probe_out(sub);
        }
        if (sub->ses != NULL && info.state != TW_GRAPH_EMPTY && !find_again(s, sub, info.arcs)) {
            tw_sub_close(sub, TW_E_ARC_NONE);
        }
    }
}

/* ---- blocks ------------------------------------------------------------------------ */

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

/* ArcBlock, written in place: the data go straight into the send buffer. */
static uint32_t encode_block(tw_sub_t *sub, uint8_t *out)
{
    const uint32_t in_ring = atomic_load_explicit(&sub->probe.dropped, memory_order_relaxed);
    const uint32_t dropped = sub->lost + sub->ring_lost + in_ring;
    const uint64_t fields[] = {sub->stream, sub->seq, sub->block_us, dropped, tw_reduce_format(sub)};
    uint32_t n = 0;
    for (uint32_t i = 0; i < TW_COUNT(fields); i++) {
        out[n++] = (uint8_t)((i + 1) << 3);
        n += put_varint(out + n, fields[i]);
    }
    out[n++] = 6 << 3 | 2;
    n += put_varint(out + n, sub->block_used);
    memcpy(out + n, sub->block, sub->block_used);
    return n + sub->block_used;
}

bool tw_within_rate(uint32_t max_rate, int64_t *budget, uint64_t *budget_us, uint64_t now, uint32_t bytes)
{
    if (max_rate == 0) {
        return true;
    }
    const int64_t full = tw_max_u32(max_rate / 4, bytes);
    const uint64_t passed = now - *budget_us < 1000000 ? now - *budget_us : 1000000;
    const uint64_t earned = passed * max_rate / 1000000;
    *budget += (int64_t)earned;
    *budget = *budget < full ? *budget : full;
    *budget_us = earned != 0 ? now : *budget_us; /* looked at often, a slow rate earns in parts of a byte */
    return *budget >= bytes;
}

static bool may_send(const tw_peer_t *p, const tw_sub_t *sub)
{
    const uint32_t bytes = BLOCK_HEADER + sub->block_used;
    return bytes <= tw_conn_credit(&p->conn, sub->stream) && bytes + tw_reserve(p) <= tw_conn_room(&p->conn);
}

static void end_block(tw_sub_t *sub)
{
    sub->seq++;
    sub->block_used = sub->block_frames = 0;
}

static void drop_block(tw_server_t *s, tw_sub_t *sub)
{
    sub->lost += sub->block_frames;
    tw_count(s, TW_CNT_SUB_DROPPED);
    end_block(sub);
}

/* @return false: the block stays, its owner prefers old data over new */
static bool send_block(tw_server_t *s, tw_sub_t *sub, uint64_t now)
{
    tw_peer_t *p = sub->ses->peer;
    if (!tw_within_rate(sub->max_rate, &sub->budget, &sub->budget_us, now, BLOCK_HEADER + sub->block_used)) {
        drop_block(s, sub);
        return true;
    }
    if (!may_send(p, sub)) {
        if (sub->drop == tunewire_v1_SubReq_Drop_NEWEST) {
            return false;
        }
        drop_block(s, sub);
        return true;
    }
    uint8_t *out = tw_conn_begin(&p->conn, TW_FT_DATA, sub->stream, BLOCK_HEADER + sub->block_used);
    if (out == NULL) {
        drop_block(s, sub);
        return true;
    }
    const uint32_t n = encode_block(sub, out);
    tw_conn_end(&p->conn, n, 0);
    tw_conn_spend(&p->conn, sub->stream, n);
    sub->budget -= n;
    tw_count(s, TW_CNT_SUB_BLOCKS);
    end_block(sub);
    return true;
}

/* One frame of the record; what is left of a record whose length is no multiple of a frame is skipped.
 * @return false: no progress possible now */
static bool take_frame(tw_server_t *s, tw_sub_t *sub, const uint8_t *rec, uint32_t bytes, uint64_t now)
{
    const uint32_t frame = sub->fmt.frame_bytes;
    if (sub->rec_at < TW_PROBE_HEADER) {
        sub->rec_at = TW_PROBE_HEADER;
    }
    if (frame == 0 || bytes < sub->rec_at + frame) {
        tw_ring_pop(&sub->probe.ring);
        sub->rec_at = 0;
        return true;
    }
    if (sub->block_used + tw_reduce_bound(sub) > sub->max_block && !send_block(s, sub, now)) {
        return false;
    }
    if (sub->block_frames == 0) {
        sub->block_us = now;
    }
    tw_reduce_frame(sub, rec + sub->rec_at);
    sub->block_frames++;
    sub->rec_at += frame;
    return true;
}

static void drain(tw_server_t *s, tw_sub_t *sub, uint64_t now)
{
    for (unsigned i = 0; i < FRAMES_PER_PUMP; i++) {
        uint32_t bytes;
        const uint8_t *rec = tw_ring_peek(&sub->probe.ring, &bytes);
        if (rec == NULL || !take_frame(s, sub, rec, bytes, now)) {
            break;
        }
    }
    if (sub->block_used != 0 && now - sub->block_us >= TW_SUB_FLUSH_US) {
        (void)send_block(s, sub, now);
    }
}

void tw_subs_pump(tw_server_t *s, uint64_t now)
{
    tw_graph_look(s);
    s->live_subs = 0;
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        tw_sub_t *sub = &s->subs[i];
        const tw_peer_t *p = sub->ses != NULL ? sub->ses->peer : NULL;
        const bool wanted = p != NULL && tw_may_hear(p) && s->have_graph;
        if (wanted && sub->state == TW_PROBE_OUT && s->swap_token == 0) {
            attach(s, sub);
        } else if (!wanted && sub->state == TW_PROBE_IN && s->swap_token == 0) {
            detach(s, sub);
        }
        if (wanted && sub->state == TW_PROBE_IN) {
            drain(s, sub, now);
        }
        s->live_subs += sub->state != TW_PROBE_OUT || wanted;
    }
}
