#include "tests/support/wire_client.h"
#include "engine/base/crc.h"
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(cond) ((cond) ? (void)0 : (fprintf(stderr, "wire client: %s, line %d\n", #cond, __LINE__), abort()))

static uint32_t last_id;

bool wire_connect(wire_client_t *w, const tw_phy_user_t *user, void (*turn)(void *), void *ctx)
{
    memset(w, 0, sizeof *w);
    w->user = *user;
    w->turn = turn;
    w->turn_ctx = ctx;
    w->next_id = 1;
    tw_conn_init(&w->c, true, w->in, sizeof w->in, w->out, sizeof w->out, w->msg, sizeof w->msg);
    w->conn = user->opened(user->ctx, (tw_phy_link_t *)(void *)w, "test");
    return w->conn != NULL;
}

void wire_break(wire_client_t *w)
{
    if (w->conn != NULL) {
        w->user.closed(w->user.ctx, w->conn, TW_E_CLOSED);
        w->conn = NULL;
    }
}

/* ---- streams ------------------------------------------------------------------ */

wire_stream_t *wire_stream(wire_client_t *w, uint32_t id)
{
    for (unsigned i = 0; id != 0 && i < WIRE_STREAMS; i++) {
        if (w->streams[i].id == id) {
            return &w->streams[i];
        }
    }
    return NULL;
}

static wire_stream_t *track(wire_client_t *w, uint16_t id)
{
    wire_stream_t *s = wire_stream(w, id), *ended = NULL;
    for (unsigned i = 0; s == NULL && i < WIRE_STREAMS; i++) {
        if (w->streams[i].id == 0) {
            s = &w->streams[i];
        } else if (w->streams[i].fin) {
            ended = &w->streams[i];
        }
    }
    s = s != NULL ? s : ended;
    REQUIRE(s != NULL);
    memset(s, 0, sizeof *s);
    s->id = id;
    return s;
}

uint16_t wire_open_stream(wire_client_t *w, uint16_t id)
{
    return tw_conn_open(&w->c, id, true);
}

static void on_data(wire_client_t *w, const tw_conn_event_t *ev)
{
    wire_stream_t *s = wire_stream(w, ev->stream);
    if (s == NULL) {
        return;
    }
    s->frames++;
    s->fin = s->fin || ev->fin;
    s->err = s->err || ev->err;
    const uint8_t *data = ev->data;
    uint32_t len = ev->len;
    if (s->chunks && !ev->err && len >= 8) {
        s->gap = s->gap || tw_get_le64(data) != s->next_offset;
        data += 8;
        len -= 8;
        s->next_offset += len;
    }
    const uint32_t room = WIRE_KEEP - s->bytes, n = tw_min_u32(len, room);
    if (n != 0) {
        memcpy(s->data + s->bytes, data, n);
    }
    s->last_at = s->bytes;
    s->last_len = n;
    s->bytes += n;
    if (!w->no_credit) {
        (void)tw_conn_grant(&w->c, ev->stream, ev->len);
    }
}

bool wire_data(wire_client_t *w, uint16_t stream, uint64_t offset, const void *data, uint32_t n, uint8_t flags)
{
    if (tw_conn_credit(&w->c, stream) < 8 + n) {
        return false;
    }
    uint8_t *p = tw_conn_begin(&w->c, TW_FT_DATA, stream, 8 + n);
    REQUIRE(p != NULL);
    tw_put_le64(p, offset);
    if (n != 0) {
        memcpy(p + 8, data, n);
    }
    tw_conn_end(&w->c, 8 + n, flags);
    tw_conn_spend(&w->c, stream, 8 + n);
    return true;
}

/* ---- bytes both ways ------------------------------------------------------------- */

static void on_reply(wire_client_t *w, const tw_conn_event_t *ev)
{
    tunewire_v1_ReplyHeader h;
    const uint8_t *body;
    uint32_t n;
    REQUIRE(tw_rpc_split_reply(ev->data, ev->len, &h, &body, &n) == TW_OK && n <= sizeof w->replies[0].body);
    unsigned i = h.call_id % 256;
    w->replies[i].count = w->replies[i].id == h.call_id ? w->replies[i].count + 1 : 1;
    w->replies[i].id = h.call_id;
    w->replies[i].h = h;
    memcpy(w->replies[i].body, body, n);
    w->replies[i].len = n;
    if (h.stream != 0 && tw_conn_open(&w->c, (uint16_t)h.stream, false) != 0) {
        const tw_method_t *m = tw_method_find(w->methods[i]);
        track(w, (uint16_t)h.stream)->chunks = m != NULL && m->response == tunewire_v1_Chunk_fields;
    }
}

static void on_event(wire_client_t *w, const tw_conn_event_t *ev)
{
    switch (ev->kind) {
    case TW_CE_HELLO:
        REQUIRE(tw_rpc_decode(ev->data, ev->len, tunewire_v1_HelloRep_fields, &w->hello) == TW_OK);
        tw_conn_agree(&w->c, w->hello.max_frame, w->hello.window);
        w->open = true;
        break;
    case TW_CE_REPLY:
        on_reply(w, ev);
        break;
    case TW_CE_DATA:
        on_data(w, ev);
        break;
    case TW_CE_GOAWAY:
        w->goaway = true;
        (void)tw_rpc_decode(ev->data, ev->len, tunewire_v1_Status_fields, &w->goaway_status);
        break;
    case TW_CE_FATAL:
        fprintf(stderr, "wire client: the server broke the protocol: %s\n", tw_err_name(w->c.fatal));
        abort();
    default:
        break;
    }
}

static void feed(wire_client_t *w, const uint8_t *bytes, size_t n)
{
    size_t at = 0, used;
    tw_conn_event_t ev;
    do {
        tw_conn_feed(&w->c, bytes + at, n - at, &used, &ev);
        at += used;
        if (ev.kind != TW_CE_NONE) {
            on_event(w, &ev);
        }
    } while (at < n || ev.kind != TW_CE_NONE);
}

void wire_bytes(wire_client_t *w, const void *data, size_t n)
{
    if (w->conn != NULL) {
        w->user.received(w->user.ctx, w->conn, data, n);
    }
}

static void push(wire_client_t *w)
{
    while (w->conn != NULL && tw_out_pending(&w->c.out) != 0 && w->user.ready(w->user.ctx, w->conn)) {
        const uint32_t n = tw_min_u32(tw_out_pending(&w->c.out), 1500);
        w->user.received(w->user.ctx, w->conn, w->c.out.buf + w->c.out.at, n);
        tw_out_drained(&w->c.out, n);
    }
}

static void pull(wire_client_t *w)
{
    size_t n;
    const uint8_t *p;
    while (w->conn != NULL && !w->deaf && (p = w->user.pending(w->user.ctx, w->conn, &n)) != NULL && n != 0) {
        n = n < 1500 ? n : 1500;
        feed(w, p, n);
        w->user.drained(w->user.ctx, w->conn, n);
    }
}

void wire_pump(wire_client_t *w)
{
    push(w);
    pull(w);
    w->turn(w->turn_ctx);
    pull(w);
    size_t n = 0;
    if (w->conn != NULL && w->user.closing(w->user.ctx, w->conn) &&
        (w->user.pending(w->user.ctx, w->conn, &n) == NULL || n == 0)) {
        w->closed = true;
        wire_break(w);
    }
}

void wire_pump_n(wire_client_t *w, unsigned n)
{
    while (n-- > 0) {
        wire_pump(w);
    }
}

bool wire_hello(wire_client_t *w, uint32_t max_frame, uint32_t window, const uint8_t *resume)
{
    tunewire_v1_HelloReq q = tunewire_v1_HelloReq_init_zero;
    q.major = 1;
    q.max_frame = max_frame;
    q.window = window;
    tw_put_le32((uint8_t *)q.client, 0x00747374); /* "tst" */
    if (resume != NULL) {
        q.resume_token.size = 16;
        memcpy(q.resume_token.bytes, resume, 16);
    }
    uint8_t buf[200];
    tw_err_t err;
    const uint32_t n = tw_rpc_encode(buf, sizeof buf, tunewire_v1_HelloReq_fields, &q, &err);
    REQUIRE(n != 0);
    (void)wire_raw(w, TW_FT_HELLO, 0, TW_FF_FIN, buf, n);
    for (unsigned i = 0; i < WIRE_TURNS && !w->open && !w->closed; i++) {
        wire_pump(w);
    }
    return w->open;
}

/* ---- calls ------------------------------------------------------------------------ */

bool wire_raw(wire_client_t *w, uint8_t type, uint16_t stream, uint8_t flags, const void *data, uint32_t n)
{
    if (w->c.state == TW_CONN_OPEN || type == TW_FT_HELLO) {
        return tw_conn_send(&w->c, type, stream, flags, data, n);
    }
    uint8_t f[512];
    REQUIRE(n + TW_FRAME_HEADER <= sizeof f);
    memcpy(f + TW_FRAME_HEADER, data, n);
    tw_frame_header(f, type, flags, stream, f + TW_FRAME_HEADER, n);
    wire_bytes(w, f, TW_FRAME_HEADER + n);
    return true;
}

static void sign(wire_client_t *w, tunewire_v1_CallHeader *h, const pb_msgdesc_t *fields, const void *msg)
{
    uint8_t head[20], req[2048], mac[32];
    tw_err_t err;
    const uint32_t n = fields != NULL ? tw_rpc_encode(req, sizeof req, fields, msg, &err) : 0;
    tw_put_le32(head, h->call_id);
    tw_put_le32(head + 4, h->method);
    tw_put_le32(head + 8, h->deadline_ms);
    tw_put_le32(head + 12, h->txn);
    tw_put_le32(head + 16, h->stream);
    w->crypto->hmac(w->call_key, 32, head, 20, req, n, mac);
    h->mac.size = 16;
    memcpy(h->mac.bytes, mac, 16);
}

uint32_t wire_send_id(wire_client_t *w, uint32_t id, uint32_t method, const pb_msgdesc_t *fields, const void *msg)
{
    tunewire_v1_CallHeader h = tunewire_v1_CallHeader_init_zero;
    h.call_id = id;
    h.method = method;
    h.deadline_ms = w->deadline_ms;
    h.txn = w->txn;
    h.stream = w->stream;
    if (w->crypto != NULL) {
        sign(w, &h, fields, msg);
    }
    uint8_t buf[4096];
    const uint32_t n = tw_rpc_put_call(buf, sizeof buf, &h, fields, msg);
    REQUIRE(n != 0);
    if (w->c.state == TW_CONN_OPEN) {
        REQUIRE(tw_conn_send(&w->c, TW_FT_CALL, 0, TW_FF_FIN, buf, n));
    }
    last_id = id;
    w->methods[id % 256] = method;
    return id;
}

uint32_t wire_send(wire_client_t *w, uint32_t method, const pb_msgdesc_t *fields, const void *msg)
{
    return wire_send_id(w, w->next_id++, method, fields, msg);
}

const tunewire_v1_ReplyHeader *wire_reply(wire_client_t *w, uint32_t id)
{
    return w->replies[id % 256].id == id ? &w->replies[id % 256].h : NULL;
}

int wire_wait(wire_client_t *w, uint32_t id)
{
    for (unsigned i = 0; i < WIRE_TURNS && wire_reply(w, id) == NULL && w->conn != NULL; i++) {
        wire_pump(w);
    }
    last_id = id;
    const tunewire_v1_ReplyHeader *h = wire_reply(w, id);
    return h == NULL ? -1 : h->has_status ? (int)h->status.code : 0;
}

const tunewire_v1_Status *wire_status(wire_client_t *w)
{
    return &w->replies[last_id % 256].h.status;
}

uint32_t wire_last_stream(wire_client_t *w)
{
    return w->replies[last_id % 256].h.stream;
}

int wire_call(wire_client_t *w, uint32_t method, const pb_msgdesc_t *req_fields, const void *req,
              const pb_msgdesc_t *rep_fields, void *rep)
{
    const uint32_t id = wire_send(w, method, req_fields, req);
    const int code = wire_wait(w, id);
    if (code >= 0 && rep_fields != NULL) {
        REQUIRE(tw_rpc_decode(w->replies[id % 256].body, w->replies[id % 256].len, rep_fields, rep) == TW_OK);
    }
    return code;
}

uint32_t wire_blob(wire_client_t *w, const uint8_t *data, uint32_t n)
{
    tunewire_v1_BlobOpen q = tunewire_v1_BlobOpen_init_zero;
    q.size = n;
    q.crc32c = tw_crc32c(0, data, n);
    tunewire_v1_BlobState st = tunewire_v1_BlobState_init_zero;
    if (wire_call(w, TW_M_Blob_Open, tunewire_v1_BlobOpen_fields, &q, tunewire_v1_BlobState_fields, &st) != 0) {
        return 0;
    }
    const uint16_t stream = (uint16_t)st.stream;
    REQUIRE(tw_conn_open(&w->c, stream, true) == stream);
    unsigned stuck = 0;
    for (uint32_t at = 0; at < n && stuck < WIRE_TURNS;) {
        const uint32_t part = tw_min_u32(st.chunk, n - at);
        if (wire_data(w, stream, at, data + at, part, at + part == n ? TW_FF_FIN : 0)) {
            at += part;
            stuck = 0;
        } else {
            stuck++;
        }
        wire_pump(w);
    }
    tw_conn_close(&w->c, stream);
    const tunewire_v1_BlobRef ref = {.blob = st.blob};
    return wire_call(w, TW_M_Blob_Commit, tunewire_v1_BlobRef_fields, &ref, NULL, NULL) == 0 ? st.blob : 0;
}
