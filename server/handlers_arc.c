/* handlers_arc.c - Arc: a look at the data between nodes, once or for as long as one likes. */
#include "server/server_priv.h"

static bool arc_ok(tw_call_t *c, uint32_t graph, uint32_t number, tw_engine_arc_t *arc)
{
    if (!tw_graph_ok(c, graph) || !tw_graph_settled(c)) {
        return false;
    }
    const tw_err_t err = tw_engine_arc(c->s->e, number, arc);
    if (err != TW_OK) {
        tw_fail(c, err, number, "Graph.Arcs lists them");
    }
    return err == TW_OK;
}

/* ---- read -------------------------------------------------------------------------- */

enum { OFFSET = 8, READ_MAX = 4096 };

/* The data are the engine's until its reply is done with, so they must fit what is free at once: the credit a
 * new stream has, and half the send buffer. */
static uint32_t read_limit(const tw_peer_t *p, uint32_t wanted)
{
    const uint32_t frame = p->conn.max_frame - TW_FRAME_HEADER;
    const uint32_t frames = tw_max_u32(p->s->cfg.out_bytes / 2 / p->conn.max_frame, 1);
    const uint32_t most = tw_min_u32(frames * (frame - OFFSET), p->conn.window - frames * OFFSET);
    return tw_min_u32(wanted != 0 ? wanted : READ_MAX, tw_min_u32(most, READ_MAX));
}

void tw_on_arc_read(tw_call_t *c, const void *request)
{
    const tunewire_v1_ArcRead *q = request;
    tw_engine_arc_t arc;
    if (!arc_ok(c, q->graph, q->arc, &arc)) {
        return;
    }
    if (q->consume) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "reading does not take data from the graph here");
        return;
    }
    const uint32_t limit = read_limit(c->peer, q->limit);
    if (arc.fmt.frame_bytes > limit) {
        tw_fail(c, TW_E_RANGE, arc.fmt.frame_bytes, "limit or window holds no whole frame (where = its bytes)");
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_ARC_READ);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_arc_read(c->s->e, d->token, q->arc, limit))) {
        return;
    }
    d->a = q->arc;
}

static bool room_for(const tw_conn_t *conn, uint32_t bytes)
{
    const uint32_t each = conn->max_frame - TW_FRAME_HEADER - OFFSET;
    const uint32_t frames = bytes / each + 1;
    return bytes + frames * (OFFSET + TW_FRAME_HEADER) + conn->max_frame / 4 <= tw_conn_room(conn);
}

static void send_all(tw_conn_t *conn, uint16_t stream, const uint8_t *data, uint32_t bytes)
{
    const uint32_t each = conn->max_frame - TW_FRAME_HEADER - OFFSET;
    uint32_t at = 0;
    do {
        const uint32_t n = tw_min_u32(each, bytes - at);
        uint8_t *out = tw_conn_begin(conn, TW_FT_DATA, stream, OFFSET + n);
        if (out == NULL) {
            break;
        }
        tw_put_le64(out, at);
        memcpy(out + OFFSET, data + at, n);
        at += n;
        tw_conn_end(conn, OFFSET + n, at == bytes ? TW_FF_FIN : 0);
        tw_conn_spend(conn, stream, OFFSET + n);
    } while (at < bytes);
}

void tw_done_arc_read(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err != TW_OK) {
        tw_fail(c, r->err, d->a, TW_TEXT_GRAPH_WENT);
        return;
    }
    if (c->peer == NULL || !room_for(&c->peer->conn, r->bytes)) {
        tw_fail(c, TW_E_BUSY, 0, "read what was sent, then call again");
        return;
    }
    tw_conn_t *conn = &c->peer->conn;
    const uint16_t stream = tw_conn_open(conn, 0, true);
    if (stream == 0) {
        tw_fail(c, TW_E_BUSY, 0, "too many streams open");
        return;
    }
    tw_reply_stream(c, stream, NULL, NULL);
    send_all(conn, stream, r->data, r->bytes);
    tw_conn_close(conn, stream);
}

/* ---- write ------------------------------------------------------------------------- */

static bool frames_ok(tw_call_t *c, const tunewire_v1_ArcWrite *q, const tw_engine_arc_t *arc)
{
    const uint32_t frame = arc->fmt.frame_bytes, n = q->data.size;
    if (q->stream != 0 || frame > sizeof q->data.bytes) {
        tw_fail(c, TW_E_UNSUPPORTED, frame, "frames come inline, 512 bytes a call (where = bytes of one)");
    } else if (n == 0 || n % frame != 0) {
        tw_fail(c, TW_E_RANGE, frame, "data takes whole frames (where = bytes of one)");
    } else if (n > arc->bytes && !q->partial) {
        tw_fail(c, TW_E_RANGE, arc->bytes, "the arc never has that much room (where = its size)");
    } else {
        return true;
    }
    return false;
}

void tw_on_arc_write(tw_call_t *c, const void *request)
{
    const tunewire_v1_ArcWrite *q = request;
    tw_engine_arc_t arc;
    if (!arc_ok(c, q->graph, q->arc, &arc) || !frames_ok(c, q, &arc)) {
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_ARC_WRITE);
    if (d == NULL ||
        !tw_hand_over(c, d,
                      tw_engine_put_arc_write(c->s->e, d->token, q->arc, q->data.bytes, q->data.size, q->partial))) {
        return;
    }
    d->committed = true;
    d->a = q->arc;
}

void tw_done_arc_write(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    const uint32_t room = (uint32_t)r->value;
    if (r->err != TW_OK) {
        const bool full = r->err == TW_E_BUSY;
        tw_fail(c, r->err, full ? room : d->a,
                full ? "no room for all of it (where = bytes free)" : TW_TEXT_GRAPH_WENT);
        return;
    }
    tunewire_v1_ArcAck rep = tunewire_v1_ArcAck_init_zero;
    rep.accepted = (uint32_t)((uint64_t)r->value >> 32);
    rep.free = room;
    rep.applied_tick = r->tick;
    tw_reply(c, tunewire_v1_ArcAck_fields, &rep);
}

/* ---- subscriptions ------------------------------------------------------------------- */

void tw_on_arc_subscribe(tw_call_t *c, const void *request)
{
    const tunewire_v1_SubReq *q = request;
    tw_engine_arc_t arc;
    if (!arc_ok(c, q->graph, q->arc, &arc)) {
        return;
    }
    char text[TW_LOG_TEXT] = "";
    tw_sub_t *sub;
    const tw_err_t err = tw_sub_open(c, q, &sub, text, sizeof text);
    if (err != TW_OK) {
        tw_fail(c, err, q->arc, text[0] != '\0' ? text : NULL);
        return;
    }
    tw_reply_stream(c, sub->stream, NULL, NULL);
    tw_subs_pump(c->s, tw_now(c->s));
}

void tw_on_arc_unsubscribe(tw_call_t *c, const void *request)
{
    const tunewire_v1_SubRef *q = request;
    tw_sub_t *sub = tw_sub_find(c->s, c->ses, q->sub);
    if (sub == NULL) {
        tw_fail(c, TW_E_SUB_NONE, q->sub, "a subscription's number is that of its stream");
        return;
    }
    tw_sub_close(sub, TW_OK);
    tw_reply(c, NULL, NULL);
    tw_subs_pump(c->s, tw_now(c->s));
}

static void put_io(const tw_engine_arc_t *arc, tunewire_v1_ArcState *rep)
{
    rep->has_io = arc->has_io;
    rep->io = (tunewire_v1_IoState){
        .hwid = arc->io.hwid,
        .frames = arc->io.frames,
        .acks = arc->io.acks,
        .holes = arc->io.holes,
        .lost = arc->io.lost,
        .stray = arc->io.stray,
        .starts_refused = arc->io.starts_refused,
        .stamp_errors = arc->io.stamp_errors,
        .moves = arc->io.moves,
    };
}

void tw_on_arc_state(tw_call_t *c, const void *request)
{
    const tunewire_v1_ArcRef *q = request;
    tw_engine_arc_t arc;
    if (!arc_ok(c, q->graph, q->arc, &arc)) {
        return;
    }
    tunewire_v1_ArcState rep = tunewire_v1_ArcState_init_zero;
    rep.size = arc.bytes;
    rep.read = arc.read;
    rep.write = arc.write;
    rep.overflow = arc.overflows;
    rep.underflow = arc.underflows;
    rep.raw = arc.fmt.raw;
    rep.channels = arc.fmt.channels;
    rep.rate = arc.fmt.rate_hz;
    rep.max_fill = arc.max_fill;
    rep.realigns = arc.realigns;
    rep.fill = arc.write - arc.read;
    rep.debug_cmd = arc.debug_cmd;
    rep.debug_reg = arc.debug_reg;
    rep.debug_value = arc.debug_value;
    put_io(&arc, &rep);
    tw_reply(c, tunewire_v1_ArcState_fields, &rep);
}
