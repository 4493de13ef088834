/* conn.c - the receiving half of a connection: hello first, fragments in order, data within credit.
 *
 * A frame is refused in one of three ways: dropped and counted (the link or a
 * late peer did it), answered upstairs (BAD_CRC, `cut`), or fatal (the peer
 * breaks the protocol, so nothing it says can be placed any more).
 */
#include "protocol/conn.h"
#include "engine/base/port.h"
#include "protocol/conn_priv.h"

#define FRAME_MAX 65536u

void tw_conn_init(tw_conn_t *c, bool client, void *in, uint32_t in_cap, void *out, uint32_t out_cap, void *msg,
                  uint32_t msg_cap)
{
    TW_ASSERT(out_cap >= TW_MAX_FRAME_FLOOR + TW_CONN_GOAWAY_ROOM);
    *c = (tw_conn_t){
        .client = client,
        .out = {.buf = out, .cap = out_cap},
        .msg = msg,
        .msg_cap = msg_cap,
        .max_frame = tw_min_u32(in_cap, FRAME_MAX),
        .window = TW_CONN_WINDOW,
        .next_stream = client ? 1 : 2,
        .begun = TW_CONN_NOT_BEGUN,
    };
    tw_deframer_init(&c->in, in, in_cap);
}

void tw_conn_agree(tw_conn_t *c, uint32_t peer_max_frame, uint32_t peer_window)
{
    TW_ASSERT(c->state == TW_CONN_WAIT_HELLO);
    const uint32_t ours = tw_min_u32(c->max_frame, c->in.cap);
    c->max_frame = tw_max_u32(tw_min_u32(ours, peer_max_frame), TW_MAX_FRAME_FLOOR);
    c->window = tw_min_u32(tw_max_u32(tw_min_u32(c->window, peer_window), TW_MAX_FRAME_FLOOR), TW_CONN_CREDIT_MAX);
    c->in.max_frame = c->max_frame;
    c->state = TW_CONN_OPEN;
}

static void die(tw_conn_t *c, tw_err_t err, tw_conn_event_t *ev)
{
    c->bad_frames++;
    tw_conn_goaway(c, err);
    ev->kind = TW_CE_FATAL;
}

static void set_event(tw_conn_event_t *ev, tw_conn_event_kind_t kind, const tw_frame_t *f)
{
    ev->kind = kind;
    ev->type = f->type;
    ev->stream = f->stream;
    ev->fin = (f->flags & TW_FF_FIN) != 0;
    ev->err = (f->flags & TW_FF_ERR) != 0;
}

static void set_payload(tw_conn_event_t *ev, tw_conn_event_kind_t kind, const tw_frame_t *f)
{
    set_event(ev, kind, f);
    ev->data = f->payload;
    ev->len = f->len;
}

/* ---- fragments ---------------------------------------------------------------- */

static bool may_be_split(uint8_t type)
{
    return type == TW_FT_CALL || type == TW_FT_REPLY || type == TW_FT_DATA;
}

static bool continues(const tw_conn_t *c, const tw_frame_t *f)
{
    return c->msg_open && c->msg_type == f->type && c->msg_stream == f->stream;
}

static void open_message(tw_conn_t *c, const tw_frame_t *f, bool bad)
{
    c->msg_open = true;
    c->msg_bad = bad;
    c->msg_cut = false;
    c->msg_used = 0;
    c->msg_type = f->type;
    c->msg_stream = f->stream;
}

/* One message is reassembled at a time: a second one may not begin, nor a whole one pass on the same stream. */
static bool in_order(tw_conn_t *c, const tw_frame_t *f)
{
    const bool more = (f->flags & TW_FF_MORE) != 0;
    if (more && ((f->flags & TW_FF_FIN) != 0 || !may_be_split(f->type))) {
        return false;
    }
    if (!c->msg_open || continues(c, f) || !may_be_split(f->type)) {
        return true;
    }
    if (!more && f->stream != c->msg_stream) {
        return true;
    }
    if (c->msg_bad) { /* its end was lost on the link: that costs the message, not the connection */
        c->msg_open = false;
        return true;
    }
    return false;
}

/* Take a frame of a message in. @return true when the event holds the whole message */
static bool assemble(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_kind_t kind, tw_conn_event_t *ev)
{
    const bool more = (f->flags & TW_FF_MORE) != 0;
    if (!continues(c, f)) {
        if (!more) {
            set_payload(ev, kind, f);
            return true;
        }
        open_message(c, f, false);
    }
    const uint32_t take = tw_min_u32(f->len, c->msg_cap - c->msg_used);
    if (take != 0) {
        memcpy(c->msg + c->msg_used, f->payload, take);
    }
    c->msg_used += take;
    c->msg_cut = c->msg_cut || take < f->len;
    if (more) {
        return false;
    }
    c->msg_open = false;
    if (c->msg_bad) {
        c->bad_frames++;
        set_event(ev, TW_CE_BAD_CRC, f);
        return false;
    }
    set_event(ev, kind, f);
    ev->data = c->msg;
    ev->len = c->msg_used;
    ev->cut = c->msg_cut;
    return true;
}

/* Bytes were skipped since the last frame: they may have been a piece of the open message. What follows must
 * then not be taken for the rest of it, or a hole would pass unseen. */
static void notice_skipped(tw_conn_t *c)
{
    if (c->in.skipped_bytes != c->skipped_seen) {
        c->skipped_seen = c->in.skipped_bytes;
        c->msg_bad = true;
    }
}

/* ---- frames by type ------------------------------------------------------------- */

static void on_hello(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    if (f->type != TW_FT_HELLO || f->stream != 0) {
        die(c, TW_E_NO_HELLO, ev);
        return;
    }
    set_payload(ev, TW_CE_HELLO, f);
}

static void on_goaway(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    c->state = TW_CONN_DEAD;
    c->fatal = TW_E_CLOSED;
    set_payload(ev, TW_CE_GOAWAY, f);
}

/* On a stream that we send on, the peer has one word: FIN and ERR, it will take no more, and why. */
static void on_refusal(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    if ((f->flags & TW_FF_ALL) != (TW_FF_FIN | TW_FF_ERR)) {
        c->bad_frames++;
        return;
    }
    set_payload(ev, TW_CE_DATA, f);
    tw_conn_close(c, f->stream);
}

static void on_data(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    tw_conn_stream_t *s = tw_conn_find(c, f->stream);
    if (s == NULL) {
        c->bad_frames++;
        return;
    }
    if (s->sending) {
        on_refusal(c, f, ev);
        return;
    }
    if (f->len > s->credit) {
        die(c, TW_E_NO_CREDIT, ev);
        return;
    }
    s->credit -= f->len;
    if (assemble(c, f, TW_CE_DATA, ev) && ev->fin) {
        tw_conn_close(c, f->stream);
    }
}

static void on_credit(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    tw_conn_stream_t *s = tw_conn_find(c, f->stream);
    if (s == NULL || !s->sending || f->len != 4) {
        c->bad_frames++;
        return;
    }
    const uint32_t more = tw_get_le32(f->payload);
    if (more > TW_CONN_CREDIT_MAX - s->credit) {
        die(c, TW_E_CREDIT_OVERFLOW, ev);
        return;
    }
    s->credit += more;
    set_event(ev, TW_CE_CREDIT, f);
    ev->credit = more;
}

static void on_cancel(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    if (c->client || f->len != 4) {
        c->bad_frames++;
        return;
    }
    set_event(ev, TW_CE_CANCEL, f);
    ev->call_id = tw_get_le32(f->payload);
}

/* Calls go to the server, replies to the client, both on stream 0. */
static bool misplaced(const tw_conn_t *c, const tw_frame_t *f)
{
    return f->stream != 0 || c->client != (f->type == TW_FT_REPLY);
}

static void on_open(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    switch (f->type) {
    case TW_FT_CALL:
    case TW_FT_REPLY:
        if (misplaced(c, f)) {
            c->bad_frames++;
        } else {
            (void)assemble(c, f, f->type == TW_FT_CALL ? TW_CE_CALL : TW_CE_REPLY, ev);
        }
        break;
    case TW_FT_DATA:
        on_data(c, f, ev);
        break;
    case TW_FT_CREDIT:
        on_credit(c, f, ev);
        break;
    case TW_FT_CANCEL:
        on_cancel(c, f, ev);
        break;
    case TW_FT_HELLO: /* the peer lost its state: only a new connection brings both together again */
        die(c, TW_E_FRAME_TYPE, ev);
        break;
    case TW_FT_GOAWAY:
        on_goaway(c, f, ev);
        break;
    default:
        c->bad_frames++;
        break;
    }
}

static void on_frame(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    c->frames_in++;
    notice_skipped(c);
    if (!in_order(c, f)) {
        die(c, TW_E_FRAME_ORDER, ev);
    } else if (c->state == TW_CONN_WAIT_HELLO && f->type != TW_FT_GOAWAY) {
        on_hello(c, f, ev);
    } else {
        on_open(c, f, ev);
    }
}

/* The header held, the payload did not: its bytes used up credit, and its message is lost. */
static void on_damaged(tw_conn_t *c, const tw_frame_t *f, tw_conn_event_t *ev)
{
    c->bad_frames++;
    notice_skipped(c);
    set_event(ev, TW_CE_BAD_CRC, f);
    if (c->state != TW_CONN_OPEN || !may_be_split(f->type)) {
        return;
    }
    tw_conn_stream_t *s = f->type == TW_FT_DATA ? tw_conn_find(c, f->stream) : NULL;
    if (s != NULL && !s->sending) {
        s->credit -= tw_min_u32(f->len, s->credit);
    }
    const bool more = (f->flags & TW_FF_MORE) != 0;
    if (continues(c, f)) {
        c->msg_bad = true;
        c->msg_open = more;
    } else if (more && !c->msg_open) {
        open_message(c, f, true);
    }
}

void tw_conn_feed(tw_conn_t *c, const uint8_t *in, size_t n, size_t *used, tw_conn_event_t *ev)
{
    *ev = (tw_conn_event_t){0};
    *used = 0;
    while (ev->kind == TW_CE_NONE && *used < n) {
        if (c->state == TW_CONN_DEAD) {
            *used = n;
            return;
        }
        tw_frame_t f;
        tw_err_t err;
        size_t took;
        const tw_deframe_result_t r = tw_deframe(&c->in, in + *used, n - *used, &took, &f, &err);
        *used += took;
        switch (r) {
        case TW_DEFRAME_MORE:
            break;
        case TW_DEFRAME_FRAME:
            on_frame(c, &f, ev);
            break;
        case TW_DEFRAME_BAD_CRC:
            on_damaged(c, &f, ev);
            break;
        case TW_DEFRAME_FATAL:
            die(c, err, ev);
            break;
        }
    }
}
