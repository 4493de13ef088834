/* sender.c - finite streams and log followers: out as far as credit and room allow.
 *
 * A stream never takes the last of the send buffer: that is for replies.
 * A client that grants no credit gets nothing and costs nothing.
 */
#include "server/server_priv.h"

enum { OFFSET = 8, BURST = 16 };

tw_sender_t *tw_sender_open(tw_call_t *c, tw_send_kind_t kind)
{
    for (unsigned i = 0; i < TW_SENDERS; i++) {
        tw_sender_t *snd = &c->peer->senders[i];
        if (snd->kind != TW_SEND_NONE) {
            continue;
        }
        const uint16_t id = tw_conn_open(&c->peer->conn, 0, true);
        if (id == 0) {
            break;
        }
        *snd = (tw_sender_t){.kind = (uint8_t)kind, .stream = id, .call_id = c->id};
        return snd;
    }
    tw_fail(c, TW_E_BUSY, TW_SENDERS, "too many streams open, read one to its end");
    return NULL;
}

static void close_sender(tw_peer_t *p, tw_sender_t *snd)
{
    tw_conn_close(&p->conn, snd->stream);
    snd->kind = TW_SEND_NONE;
}

/* The last frame of a stream. A Status costs credit as all data does; without it the flags alone must do. */
static bool send_end(tw_peer_t *p, const tw_ending_t *e)
{
    tunewire_v1_Status st;
    tw_err_t err;
    uint32_t n = 0;
    if (e->err != TW_OK) {
        tw_rpc_status(&st, e->err, e->where, NULL);
        n = tw_rpc_encode(p->s->scratch, p->s->scratch_bytes, tunewire_v1_Status_fields, &st, &err);
    }
    const uint8_t flags = e->err != TW_OK ? TW_FF_FIN | TW_FF_ERR : TW_FF_FIN;
    return tw_conn_send(&p->conn, TW_FT_DATA, e->stream, flags, p->s->scratch, n <= e->credit ? n : 0);
}

void tw_stream_end(tw_peer_t *p, uint16_t stream, tw_err_t err, uint32_t where)
{
    const bool theirs = (stream & 1) != 0; /* a refusal, which needs no credit */
    const tw_ending_t e = {
        .stream = stream,
        .err = err,
        .where = where,
        .credit = theirs ? UINT32_MAX : tw_conn_credit(&p->conn, stream),
    };
    tw_sink_close(p, stream);
    tw_conn_close(&p->conn, stream);
    if (send_end(p, &e)) {
        return;
    }
    if (p->n_endings < TW_ENDINGS) {
        p->endings[p->n_endings++] = e;
    } else { /* it could not know any more which of its streams live */
        tw_conn_goaway(&p->conn, TW_E_TIMEOUT);
    }
}

void tw_endings_flush(tw_peer_t *p)
{
    uint32_t done = 0;
    while (done < p->n_endings && send_end(p, &p->endings[done])) {
        done++;
    }
    p->n_endings = (uint8_t)(p->n_endings - done);
    memmove(p->endings, p->endings + done, p->n_endings * sizeof p->endings[0]);
}

bool tw_sender_cancel(tw_peer_t *p, uint32_t call_id)
{
    for (unsigned i = 0; i < TW_SENDERS; i++) {
        tw_sender_t *snd = &p->senders[i];
        if (snd->kind != TW_SEND_NONE && snd->call_id == call_id) {
            tw_stream_end(p, snd->stream, TW_E_CANCELLED, 0);
            snd->kind = TW_SEND_NONE;
            return true;
        }
    }
    return false;
}

/* ---- byte streams ---------------------------------------------------------------- */

/* Bytes of a byte stream: n of them at snd->at into out. @return false: the source is gone */
static bool fill(tw_server_t *s, const tw_sender_t *snd, uint8_t *out, uint32_t n)
{
    const tw_blob_t *b = NULL;
    switch ((tw_send_kind_t)snd->kind) {
    case TW_SEND_BYTES:
        memcpy(out, snd->bytes + snd->at, n);
        return true;
    case TW_SEND_BLOB:
        b = tw_blob_by_id(s, snd->ref);
        if (b != NULL) {
            memcpy(out, tw_blob_bytes(s, b) + snd->at, n);
        }
        return b != NULL;
    case TW_SEND_MANIFEST:
        (void)tw_manifest_text(snd->desc, &snd->fmt, (uint32_t)snd->at, out, n);
        return true;
    case TW_SEND_LOG:
    case TW_SEND_FOLLOW:
    case TW_SEND_PINS:
    case TW_SEND_TRACE:
    case TW_SEND_NONE:
        break;
    }
    return false;
}

/* Largest payload a stream may send now. */
static uint32_t allowance(const tw_peer_t *p, uint16_t stream)
{
    const tw_conn_t *c = &p->conn;
    const uint32_t room = tw_conn_room(c), credit = tw_conn_credit(c, stream);
    const uint32_t spare = room > tw_reserve(p) ? room - tw_reserve(p) : 0;
    return tw_min_u32(tw_min_u32(spare, credit), c->max_frame - TW_FRAME_HEADER);
}

/* @return true when a frame went out and there is more to send */
static bool send_bytes(tw_peer_t *p, tw_sender_t *snd)
{
    const uint32_t most = allowance(p, snd->stream);
    const uint64_t left = snd->end - snd->at;
    if (most < OFFSET || (most == OFFSET && left > 0)) {
        return false;
    }
    const uint32_t n = left < most - OFFSET ? (uint32_t)left : most - OFFSET;
    uint8_t *out = tw_conn_begin(&p->conn, TW_FT_DATA, snd->stream, OFFSET + n);
    if (out == NULL) {
        return false;
    }
    tw_put_le64(out, snd->at);
    if (!fill(p->s, snd, out + OFFSET, n)) {
        tw_stream_end(p, snd->stream, TW_E_BLOB_NONE, (uint32_t)snd->at);
        snd->kind = TW_SEND_NONE;
        return false;
    }
    snd->at += n;
    const bool last = snd->at == snd->end;
    tw_conn_end(&p->conn, OFFSET + n, last ? TW_FF_FIN : 0);
    tw_conn_spend(&p->conn, snd->stream, OFFSET + n);
    if (last) {
        close_sender(p, snd);
    }
    return !last;
}

/* ---- log streams -------------------------------------------------------------------- */

static const tw_log_line_t *next_line(tw_server_t *s, const tw_sender_t *snd, uint64_t *seq)
{
    const tw_log_line_t *line = tw_log_next(s, seq, snd->level, snd->src_mask);
    return line != NULL && *seq <= snd->end ? line : NULL;
}

static bool more_lines(tw_server_t *s, const tw_sender_t *snd, uint64_t seq)
{
    return snd->limit > 1 && next_line(s, snd, &seq) != NULL;
}

static uint32_t encode_line(tw_server_t *s, const tw_log_line_t *line, uint64_t seq)
{
    tunewire_v1_LogLine m = tunewire_v1_LogLine_init_zero;
    m.seq = seq;
    m.t_us = line->t_us;
    m.level = line->level;
    m.src = line->src;
    tw_copy_str(m.text, sizeof m.text, line->text);
    tw_err_t err;
    return tw_rpc_encode(s->scratch, s->scratch_bytes, tunewire_v1_LogLine_fields, &m, &err);
}

static bool send_line(tw_peer_t *p, tw_sender_t *snd)
{
    tw_server_t *s = p->s;
    uint64_t seq = snd->at;
    const tw_log_line_t *line = next_line(s, snd, &seq);
    const bool follow = snd->kind == TW_SEND_FOLLOW;
    if (line == NULL) {
        if (!follow && tw_conn_send(&p->conn, TW_FT_DATA, snd->stream, TW_FF_FIN, NULL, 0)) {
            close_sender(p, snd);
        }
        return false;
    }
    const uint32_t n = encode_line(s, line, seq - 1);
    const bool last = !follow && !more_lines(s, snd, seq);
    if (n > allowance(p, snd->stream) ||
        !tw_conn_send(&p->conn, TW_FT_DATA, snd->stream, last ? TW_FF_FIN : 0, s->scratch, n)) {
        return false;
    }
    tw_conn_spend(&p->conn, snd->stream, n);
    snd->at = seq;
    snd->limit -= follow ? 0 : 1;
    if (last) {
        close_sender(p, snd);
    }
    return !last;
}

static bool send_event(tw_peer_t *p, tw_sender_t *snd)
{
    tw_server_t *s = p->s;
    tunewire_v1_Event m;
    tw_err_t err;
    if (!tw_trace_next(s, snd, &m)) {
        return false;
    }
    const uint32_t n = tw_rpc_encode(s->scratch, s->scratch_bytes, tunewire_v1_Event_fields, &m, &err);
    if (n > allowance(p, snd->stream) || !tw_conn_send(&p->conn, TW_FT_DATA, snd->stream, 0, s->scratch, n)) {
        return false;
    }
    tw_conn_spend(&p->conn, snd->stream, n);
    snd->at++;
    return true;
}

/* ---- pins ------------------------------------------------------------------------------ */

/* One change, or the levels there were when the stream began. */
static bool send_pins(tw_peer_t *p, tw_sender_t *snd)
{
    tw_server_t *s = p->s;
    tunewire_v1_GpioState m;
    const uint64_t at = tw_gpio_next(s, snd->at, &m);
    if (at == snd->at) {
        return false;
    }
    tw_err_t err;
    const uint32_t n = tw_rpc_encode(s->scratch, s->scratch_bytes, tunewire_v1_GpioState_fields, &m, &err);
    if (n > allowance(p, snd->stream) || !tw_conn_send(&p->conn, TW_FT_DATA, snd->stream, 0, s->scratch, n)) {
        return false;
    }
    tw_conn_spend(&p->conn, snd->stream, n);
    snd->at = at;
    return true;
}

static bool step(tw_peer_t *p, tw_sender_t *snd)
{
    switch ((tw_send_kind_t)snd->kind) {
    case TW_SEND_BYTES:
    case TW_SEND_BLOB:
    case TW_SEND_MANIFEST:
        return send_bytes(p, snd);
    case TW_SEND_LOG:
    case TW_SEND_FOLLOW:
        return send_line(p, snd);
    case TW_SEND_PINS:
        return send_pins(p, snd);
    case TW_SEND_TRACE:
        return send_event(p, snd);
    case TW_SEND_NONE:
        break;
    }
    return false;
}

/* Streams take turns, a frame each, so that a long one does not starve the others. */
void tw_senders_pump(tw_peer_t *p)
{
    unsigned idle = 0;
    for (unsigned i = 0; i < BURST * TW_SENDERS && idle < TW_SENDERS; i++) {
        idle = step(p, &p->senders[p->next_sender]) ? 0 : idle + 1;
        p->next_sender = (uint8_t)((p->next_sender + 1) % TW_SENDERS);
    }
}

bool tw_senders_idle(const tw_peer_t *p)
{
    for (unsigned i = 0; i < TW_SENDERS; i++) {
        if (p->senders[i].kind != TW_SEND_NONE) {
            return false;
        }
    }
    return true;
}
