/* conn_send.c - the sending half of a connection: frames into the buffer that a transport drains. */
#include "engine/base/port.h"
#include "protocol/conn_priv.h"
#include "protocol/rpc.h"

static uint32_t payload_max(const tw_conn_t *c)
{
    return (c->state == TW_CONN_OPEN ? c->max_frame : TW_MAX_FRAME_FLOOR) - TW_FRAME_HEADER;
}

static uint32_t frames_for(const tw_conn_t *c, uint32_t len)
{
    const uint32_t most = payload_max(c);
    return len <= most ? 1 : 1 + (len - 1) / most;
}

/* Bytes of the send buffer open to everything but a goaway. */
static uint32_t unused(const tw_conn_t *c)
{
    return c->out.cap - TW_CONN_GOAWAY_ROOM - tw_out_pending(&c->out);
}

uint32_t tw_conn_room(const tw_conn_t *c)
{
    if (c->state == TW_CONN_DEAD) {
        return 0;
    }
    const uint32_t whole = payload_max(c) + TW_FRAME_HEADER;
    const uint32_t rest = unused(c) % whole;
    return unused(c) / whole * payload_max(c) + (rest > TW_FRAME_HEADER ? rest - TW_FRAME_HEADER : 0);
}

static void compact(tw_out_t *o)
{
    memmove(o->buf, o->buf + o->at, o->used - o->at);
    o->used -= o->at;
    o->at = 0;
}

uint8_t *tw_conn_begin(tw_conn_t *c, uint8_t type, uint16_t stream, uint32_t want)
{
    c->begun = TW_CONN_NOT_BEGUN;
    const bool allowed = c->state == TW_CONN_OPEN || (c->state == TW_CONN_WAIT_HELLO && type == TW_FT_HELLO);
    if (!allowed || want > tw_conn_room(c) || unused(c) < TW_FRAME_HEADER) {
        return NULL;
    }
    const uint32_t need = want + TW_FRAME_HEADER * frames_for(c, want);
    if (need > c->out.cap - TW_CONN_GOAWAY_ROOM - c->out.used) {
        compact(&c->out);
    }
    c->begun = c->out.used;
    c->begun_type = type;
    c->begun_stream = stream;
    return c->out.buf + c->begun + TW_FRAME_HEADER;
}

static void put_frame(tw_conn_t *c, uint8_t flags, uint32_t len)
{
    uint8_t *f = c->out.buf + c->out.used;
    tw_frame_header(f, c->begun_type, flags, c->begun_stream, f + TW_FRAME_HEADER, len);
    c->out.used += TW_FRAME_HEADER + len;
    c->frames_out++;
}

/* The payload lies in one piece behind room for one header: spread it, last piece first, so that no byte is
 * overwritten before it has moved. */
static void spread(uint8_t *payload, uint32_t len, uint32_t most)
{
    for (uint32_t i = (len - 1) / most; i > 0; i--) {
        const uint32_t at = i * most;
        memmove(payload + at + i * TW_FRAME_HEADER, payload + at, tw_min_u32(len - at, most));
    }
}

void tw_conn_end(tw_conn_t *c, uint32_t len, uint8_t flags)
{
    const uint32_t frames = frames_for(c, len);
    TW_ASSERT(c->begun == c->out.used && (flags & TW_FF_MORE) == 0);
    TW_ASSERT(frames == 1 || c->begun_type <= TW_FT_DATA);
    TW_ASSERT(c->begun_type != TW_FT_HELLO || len <= TW_MAX_FRAME_FLOOR - TW_FRAME_HEADER);
    TW_ASSERT(len + frames * TW_FRAME_HEADER <= c->out.cap - TW_CONN_GOAWAY_ROOM - c->out.used);
    const uint32_t most = payload_max(c);
    if (frames > 1) {
        spread(c->out.buf + c->begun + TW_FRAME_HEADER, len, most);
    }
    uint32_t left = len;
    for (; left > most; left -= most) {
        put_frame(c, TW_FF_MORE, most);
    }
    put_frame(c, flags, left);
    c->begun = TW_CONN_NOT_BEGUN;
}

bool tw_conn_send(tw_conn_t *c, uint8_t type, uint16_t stream, uint8_t flags, const void *data, uint32_t len)
{
    uint8_t *p = tw_conn_begin(c, type, stream, len);
    if (p == NULL) {
        return false;
    }
    if (len != 0) {
        memcpy(p, data, len);
    }
    tw_conn_end(c, len, flags);
    return true;
}

void tw_conn_goaway(tw_conn_t *c, tw_err_t err)
{
    if (c->state == TW_CONN_DEAD) {
        return;
    }
    tunewire_v1_Status s;
    tw_err_t encoded;
    tw_rpc_status(&s, err, 0, NULL);
    compact(&c->out);
    uint8_t *f = c->out.buf + c->out.used;
    const uint32_t len = tw_rpc_encode(f + TW_FRAME_HEADER, TW_CONN_GOAWAY_ROOM - TW_FRAME_HEADER,
                                       tunewire_v1_Status_fields, &s, &encoded);
    c->begun_type = TW_FT_GOAWAY;
    c->begun_stream = 0;
    put_frame(c, TW_FF_FIN, len);
    c->begun = TW_CONN_NOT_BEGUN;
    c->fatal = err;
    c->state = TW_CONN_DEAD;
}

void tw_out_drained(tw_out_t *o, uint32_t n)
{
    TW_ASSERT(n <= tw_out_pending(o));
    o->at += n;
    if (o->at == o->used) {
        o->at = o->used = 0;
    }
}
