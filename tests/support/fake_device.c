/* fake_device.c - see fake_device.h. */
#include "tests/support/fake_device.h"
#include "engine/base/crc.h"
#include "engine/base/formats.h"
#include "protocol/schema.h"
#include "server/crypto.h"
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

enum { BUF = 1 << 17, PARAMS = 4, VALUE = 64, BLOB_MAX = 1 << 20, PAGE = 1 };

typedef struct param {
    tunewire_v1_ParamDesc desc;
    uint8_t value[VALUE];
    uint32_t n;
} param_t;

typedef struct fake_state {
    tw_conn_t conn;
    uint8_t in[BUF], out[BUF], msg[BUF];
    int fd;
    volatile bool stop;
    bool dead, cut_done;
    param_t params[2][PARAMS];
    uint8_t *blob;
    uint64_t blob_size;
    uint16_t blob_stream, sub_stream;
    uint32_t sub_blocks;
    uint8_t call_key[32];
} fake_state_t;

static const uint8_t nonce[16] = "fake nonce 16 by";

static void add_param(param_t *p, uint32_t index, const char *name, uint32_t type, uint32_t count, double min,
                      double max, const char *unit)
{
    *p = (param_t){.desc = {.index = index, .type = type, .count = count, .min = min, .max = max},
                   .n = tw_raw_bits(type) / 8 * count};
    (void)snprintf(p->desc.name, sizeof p->desc.name, "%s", name);
    (void)snprintf(p->desc.unit, sizeof p->desc.unit, "%s", unit);
}

static void set_up(fake_state_t *s)
{
    add_param(&s->params[0][0], 1, "stages", TW_RAW_U8, 1, 1, 2, "count");
    add_param(&s->params[0][1], 2, "post_shift", TW_RAW_S8, 1, 0, 3, "any");
    add_param(&s->params[0][2], 3, "biquad0", TW_RAW_S16, 5, -32768, 32767, "any");
    add_param(&s->params[0][3], 4, "biquad1", TW_RAW_S16, 5, -32768, 32767, "any");
    add_param(&s->params[1][0], 1, "slope", TW_RAW_U8, 1, 0, 15, "any");
    add_param(&s->params[1][1], 3, "mute", TW_RAW_U8, 1, 0, 1, "any");
    add_param(&s->params[1][2], 6, "gain_db", TW_RAW_FP32, 1, -100, 36, "dB");
    add_param(&s->params[1][3], 7, "corner", TW_RAW_FP32, 1, 0, 24000, "Hz");
}

/* ---- replies --------------------------------------------------------------------- */

static void send_reply(fake_state_t *s, const tunewire_v1_ReplyHeader *h, const pb_msgdesc_t *fields, const void *msg)
{
    uint8_t *p = tw_conn_begin(&s->conn, TW_FT_REPLY, 0, 4096);
    assert(p);
    const uint32_t n = tw_rpc_put_reply(p, 4096, h, fields, msg);
    tw_conn_end(&s->conn, n, TW_FF_FIN);
}

static void ok(fake_state_t *s, const tunewire_v1_CallHeader *call, const pb_msgdesc_t *fields, const void *msg)
{
    const tunewire_v1_ReplyHeader h = {.call_id = call->call_id};
    send_reply(s, &h, fields, msg);
}

static void refuse(fake_state_t *s, const tunewire_v1_CallHeader *call, tw_err_t err, uint32_t where)
{
    tunewire_v1_ReplyHeader h = {.call_id = call->call_id, .has_status = true};
    tw_rpc_status(&h.status, err, where, NULL);
    send_reply(s, &h, NULL, NULL);
}

static void list_reply(fake_state_t *s, const tunewire_v1_CallHeader *call, const tw_rpc_list_t *l)
{
    const tunewire_v1_ReplyHeader h = {.call_id = call->call_id};
    uint8_t *p = tw_conn_begin(&s->conn, TW_FT_REPLY, 0, 4096);
    assert(p);
    tw_conn_end(&s->conn, tw_rpc_put_reply_raw(p, 4096, &h, l->p, l->used), TW_FF_FIN);
}

/* A stream opened by us; its data follow the reply at once. */
static uint16_t open_stream(fake_state_t *s, const tunewire_v1_CallHeader *call)
{
    const tunewire_v1_ReplyHeader h = {.call_id = call->call_id, .stream = tw_conn_open(&s->conn, 0, true)};
    send_reply(s, &h, NULL, NULL);
    return (uint16_t)h.stream;
}

static void send_bytes(fake_state_t *s, uint16_t stream, const uint8_t *data, uint32_t n, bool hole)
{
    uint8_t frame[8 + 100];
    for (uint32_t at = 0; at < n; at += 100) {
        const uint32_t len = tw_min_u32(100, n - at);
        tw_put_le64(frame, at);
        memcpy(frame + 8, data + at, len);
        if (!hole || at != 100) {
            (void)tw_conn_send(&s->conn, TW_FT_DATA, stream, at + len == n ? TW_FF_FIN : 0, frame, 8 + len);
        }
    }
}

/* ---- methods ---------------------------------------------------------------------- */

static void nodes(fake_state_t *s, const tunewire_v1_CallHeader *call, const tunewire_v1_GraphRef *q, bool rude)
{
    static const char *const names[] = {"filter.0", "amplifier.0"}, *const types[] = {"filter", "amplifier"};
    uint8_t buf[1024];
    tw_rpc_list_t l = {.p = buf, .cap = sizeof buf};
    for (uint32_t i = q->first; i < 2 && i < q->first + PAGE; i++) {
        tunewire_v1_NodeInfo n = {
            .node = i, .params = PARAMS, .in_arcs_count = 1, .in_arcs = {i}, .out_arcs_count = 1, .out_arcs = {i + 1}};
        (void)snprintf(n.name, sizeof n.name, "%s", rude ? "a\033[2Jb\xC3\xA9\xFF\xE2\x82" : names[i]);
        (void)snprintf(n.type, sizeof n.type, "%s", types[i]);
        (void)tw_rpc_list_add(&l, 1, tunewire_v1_NodeInfo_fields, &n);
    }
    (void)tw_rpc_list_varint(&l, 2, 2);
    list_reply(s, call, &l);
}

static void arcs(fake_state_t *s, const tunewire_v1_CallHeader *call, const tunewire_v1_GraphRef *q)
{
    static const char *const names[] = {"mic", "arc.1", "out"};
    uint8_t buf[1024];
    tw_rpc_list_t l = {.p = buf, .cap = sizeof buf};
    for (uint32_t i = q->first; i < 3; i++) {
        tunewire_v1_ArcInfo a = {.arc = i,
                                 .from_node = i ? i - 1 : 0xFFF,
                                 .to_node = i < 2 ? i : 0xFFF,
                                 .bytes = 192,
                                 .raw = TW_RAW_S16,
                                 .channels = 1,
                                 .rate = 48000,
                                 .frame_bytes = 96};
        (void)snprintf(a.name, sizeof a.name, "%s", names[i]);
        (void)tw_rpc_list_add(&l, 1, tunewire_v1_ArcInfo_fields, &a);
    }
    (void)tw_rpc_list_varint(&l, 2, 3);
    list_reply(s, call, &l);
}

static void describe(fake_state_t *s, const tunewire_v1_CallHeader *call, const tunewire_v1_NodeRef *q)
{
    uint8_t buf[2048];
    tw_rpc_list_t l = {.p = buf, .cap = sizeof buf};
    for (uint32_t i = q->first; i < PARAMS && q->node < 2; i++) {
        (void)tw_rpc_list_add(&l, 1, tunewire_v1_ParamDesc_fields, &s->params[q->node][i].desc);
    }
    (void)tw_rpc_list_varint(&l, 2, PARAMS);
    list_reply(s, call, &l);
}

static param_t *find_param(fake_state_t *s, uint32_t node, uint32_t index)
{
    for (uint32_t i = 0; i < PARAMS && node < 2; i++) {
        if (s->params[node][i].desc.index == index) {
            return &s->params[node][i];
        }
    }
    return NULL;
}

static void set(fake_device_t *d, const tunewire_v1_CallHeader *call, const tunewire_v1_ParamSet *q)
{
    fake_state_t *s = d->state;
    param_t *p = find_param(s, q->node, q->index);
    const tunewire_v1_ParamAck ack = {.version = 1, .applied_tick = 7};
    if (d->fault == FAKE_REFUSE_SET) {
        refuse(s, call, TW_E_PARAM_RANGE, q->index);
    } else if (q->index == 256) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < PARAMS; i++) {
            p = &s->params[q->node][i];
            memcpy(p->value, q->value.bytes + at, p->n);
            at += p->n;
        }
        ok(s, call, tunewire_v1_ParamAck_fields, &ack);
    } else if (!p || q->value.size != p->n) {
        refuse(s, call, p ? TW_E_PARAM_SIZE : TW_E_PARAM_INDEX, q->index);
    } else {
        memcpy(p->value, q->value.bytes, p->n);
        ok(s, call, tunewire_v1_ParamAck_fields, &ack);
    }
}

/* Values come two bytes at a time, so that clients read on. */
static void get(fake_state_t *s, const tunewire_v1_CallHeader *call, const tunewire_v1_ParamGet *q)
{
    const param_t *p = find_param(s, q->node, q->index);
    if (!p || q->offset > p->n) {
        refuse(s, call, TW_E_PARAM_INDEX, q->index);
        return;
    }
    tunewire_v1_ParamValue v = {.index = q->index, .type = p->desc.type, .version = 3, .total = p->n};
    v.value.size = (pb_size_t)tw_min_u32(2, p->n - q->offset);
    memcpy(v.value.bytes, p->value + q->offset, v.value.size);
    ok(s, call, tunewire_v1_ParamValue_fields, &v);
}

static void blob_open(fake_device_t *d, const tunewire_v1_CallHeader *call, const tunewire_v1_BlobOpen *q)
{
    fake_state_t *s = d->state;
    if (q->token.size && d->fault == FAKE_FORGET_UPLOAD) {
        refuse(s, call, TW_E_BLOB_NONE, 0);
        return;
    }
    if (q->token.size == 0) {
        d->blob_bytes = 0;
        s->blob_size = q->size;
    } else {
        d->resumed_at = d->blob_bytes;
    }
    assert(s->blob_size <= BLOB_MAX && (call->stream & 1));
    s->blob_stream = tw_conn_open(&s->conn, (uint16_t)call->stream, false);
    tunewire_v1_BlobState st = {.blob = 9,
                                .next_offset = d->blob_bytes,
                                .chunk = 512,
                                .stream = call->stream,
                                .crc_so_far = tw_crc32c(0, s->blob, d->blob_bytes)};
    st.token.size = 16;
    ok(s, call, tunewire_v1_BlobState_fields, &st);
}

static void refuse_stream(fake_state_t *s, uint16_t stream, uint32_t expected)
{
    tunewire_v1_Status st;
    uint8_t buf[tunewire_v1_Status_size];
    tw_err_t err = TW_OK;
    tw_rpc_status(&st, TW_E_STREAM_OFFSET, expected, NULL);
    const uint32_t n = tw_rpc_encode(buf, sizeof buf, tunewire_v1_Status_fields, &st, &err);
    (void)tw_conn_send(&s->conn, TW_FT_DATA, stream, TW_FF_FIN | TW_FF_ERR, buf, n);
    tw_conn_close(&s->conn, stream);
}

static void blob_data(fake_device_t *d, const tw_conn_event_t *ev)
{
    fake_state_t *s = d->state;
    assert(ev->len >= 8 && tw_get_le64(ev->data) == d->blob_bytes);
    memcpy(s->blob + d->blob_bytes, ev->data + 8, ev->len - 8);
    d->blob_bytes += ev->len - 8;
    if (d->fault == FAKE_REFUSE_UPLOAD) {
        refuse_stream(s, ev->stream, d->blob_bytes);
        return;
    }
    if (!ev->fin) {
        (void)tw_conn_grant(&s->conn, ev->stream, ev->len);
    }
    const bool cuts = d->fault == FAKE_CUT_UPLOAD || d->fault == FAKE_FORGET_UPLOAD;
    if (cuts && !s->cut_done && d->blob_bytes > s->blob_size / 2) {
        s->cut_done = true;
        s->dead = true;
    }
}

static void commit(fake_device_t *d, const tunewire_v1_CallHeader *call)
{
    const tunewire_v1_BlobState st = {.blob = 9, .complete = true, .next_offset = d->blob_bytes};
    d->blob_crc = tw_crc32c(0, d->state->blob, d->blob_bytes);
    ok(d->state, call, tunewire_v1_BlobState_fields, &st);
}

static void log_lines(fake_state_t *s, const tunewire_v1_CallHeader *call)
{
    const uint16_t stream = open_stream(s, call);
    uint8_t buf[256];
    for (unsigned i = 1; i <= 3; i++) {
        tw_err_t err = TW_OK;
        tunewire_v1_LogLine l = {.seq = i, .t_us = i * 1000, .level = i, .src = 1};
        (void)snprintf(l.text, sizeof l.text, "line %u \"quoted\"", i);
        const uint32_t n = tw_rpc_encode(buf, sizeof buf, tunewire_v1_LogLine_fields, &l, &err);
        (void)tw_conn_send(&s->conn, TW_FT_DATA, stream, i == 3 ? TW_FF_FIN : 0, buf, n);
    }
}

static void send_block(fake_state_t *s)
{
    uint8_t m[64 + 200] = {1 << 3, (uint8_t)s->sub_stream, 2 << 3, (uint8_t)(s->sub_blocks & 127), 6 << 3 | 2, 0xC8, 1};
    for (unsigned i = 0; i < 100; i++) { /* a square wave at half scale: as FP32 min and max it is just numbers */
        tw_put_le16(m + 7 + 2 * i, i % 50 < 25 ? 0x4000 : 0xC000);
    }
    if (tw_conn_credit(&s->conn, s->sub_stream) > 207 && tw_conn_send(&s->conn, TW_FT_DATA, s->sub_stream, 0, m, 207)) {
        tw_conn_spend(&s->conn, s->sub_stream, 207);
        s->sub_blocks++;
    }
}

static const uint8_t *mac_text(const tunewire_v1_CallHeader *h, uint8_t out[20])
{
    const uint32_t words[5] = {h->call_id, h->method, h->deadline_ms, h->txn, h->stream};
    for (unsigned i = 0; i < 5; i++) {
        tw_put_le32(out + 4 * i, words[i]);
    }
    return out;
}

static void auth(fake_device_t *d, const tunewire_v1_CallHeader *call, const tunewire_v1_AuthReq *q)
{
    uint8_t text[37], want[32];
    const uint8_t role = (uint8_t)q->role;
    memcpy(text, "auth", 4);
    memcpy(text + 4, nonce, 16);
    memcpy(text + 20, q->client_nonce.bytes, 16);
    text[36] = role;
    tw_crypto_mbedtls.hmac(d->key, 32, text, sizeof text, NULL, 0, want);
    if (role == TW_ROLE_ADMIN) { /* the key is a tuner's */
        refuse(d->state, call, TW_E_DENIED, 0);
        return;
    }
    if (q->proof.size != 32 || memcmp(q->proof.bytes, want, 32) != 0) {
        refuse(d->state, call, TW_E_AUTH, 0);
        return;
    }
    memcpy(text, "call", 4);
    tw_crypto_mbedtls.hmac(d->key, 32, text, sizeof text, NULL, 0, d->state->call_key);
    memcpy(text, "serv", 4);
    memcpy(text + 4, q->client_nonce.bytes, 16);
    memcpy(text + 20, nonce, 16);
    tunewire_v1_AuthRep rep = {.role = role, .proof = {.size = 32}};
    tw_crypto_mbedtls.hmac(d->key, 32, text, sizeof text, NULL, 0, rep.proof.bytes);
    rep.proof.bytes[0] ^= d->fault == FAKE_WRONG_PROOF ? 1 : 0;
    ok(d->state, call, tunewire_v1_AuthRep_fields, &rep);
}

static void graph(fake_state_t *s, const tunewire_v1_CallHeader *call)
{
    const tunewire_v1_GraphInfo g = {.graph = 1,
                                     .name = "fake",
                                     .generation = 4,
                                     .state = 2,
                                     .nodes = 2,
                                     .arcs = 3,
                                     .ticks = 1234,
                                     .block_ns = 1000000,
                                     .scripts = 1};
    ok(s, call, tunewire_v1_GraphInfo_fields, &g);
}

static void scripts(fake_state_t *s, const tunewire_v1_CallHeader *call)
{
    uint8_t buf[256];
    tw_rpc_list_t l = {.p = buf, .cap = sizeof buf};
    const tunewire_v1_ScriptInfo info = {.index = 0, .size = 12, .name = "ramp", .runs = 5};
    (void)tw_rpc_list_add(&l, 1, tunewire_v1_ScriptInfo_fields, &info);
    list_reply(s, call, &l);
}

static void stats(fake_state_t *s, const tunewire_v1_CallHeader *call)
{
    uint8_t buf[256];
    tw_rpc_list_t l = {.p = buf, .cap = sizeof buf};
    const tunewire_v1_Counter c = {.id = 1, .name = "calls", .value = 42};
    (void)tw_rpc_list_varint(&l, 1, 77);
    (void)tw_rpc_list_varint(&l, 2, 5000000);
    (void)tw_rpc_list_add(&l, 3, tunewire_v1_Counter_fields, &c);
    list_reply(s, call, &l);
}

static void answer(fake_device_t *d, const tunewire_v1_CallHeader *h, const void *q)
{
    fake_state_t *s = d->state;
    const tunewire_v1_TxnRep txn = {.txn = 3, .generation = 4, .applied_tick = 99};
    const tunewire_v1_ParamAck ack = {.applied_tick = 8};
    const tunewire_v1_ScriptInfo info = {.index = 0, .size = 4};
    const tunewire_v1_ScriptResult result = {.regs_count = 8, .regs = {1, -2, 3}, .used = 10};
    switch (h->method) {
    case TW_M_Session_Auth:
        auth(d, h, q);
        break;
    case TW_M_Session_Ping: {
        tunewire_v1_PingRep rep = {.t_us = 1000};
        memcpy(&rep.payload, &((const tunewire_v1_PingReq *)q)->payload, sizeof rep.payload);
        ok(s, h, tunewire_v1_PingRep_fields, &rep);
        break;
    }
    case TW_M_Session_Stats:
        stats(s, h);
        break;
    case TW_M_Session_Schema:
        send_bytes(s, open_stream(s, h), tw_schema, tw_schema_bytes, d->fault == FAKE_LOSE_CHUNK);
        break;
    case TW_M_Graph_Load:
    case TW_M_Graph_Control:
    case TW_M_Graph_Info:
        graph(s, h);
        break;
    case TW_M_Graph_Nodes:
        nodes(s, h, q, d->fault == FAKE_RUDE_NAMES);
        break;
    case TW_M_Graph_Arcs:
        arcs(s, h, q);
        break;
    case TW_M_Param_Describe:
        describe(s, h, q);
        break;
    case TW_M_Param_Set:
        set(d, h, q);
        break;
    case TW_M_Param_Get:
        get(s, h, q);
        break;
    case TW_M_Param_Preset:
        ok(s, h, tunewire_v1_ParamAck_fields, &ack);
        break;
    case TW_M_Script_List:
        scripts(s, h);
        break;
    case TW_M_Script_Load:
        ok(s, h, tunewire_v1_ScriptInfo_fields, &info);
        break;
    case TW_M_Script_Run:
        ok(s, h, tunewire_v1_ScriptResult_fields, &result);
        break;
    case TW_M_Arc_Read:
        send_bytes(s, open_stream(s, h), (const uint8_t *)"\1\0\2\0\3\0\4\0", 8, false);
        break;
    case TW_M_Arc_Subscribe:
        s->sub_stream = open_stream(s, h);
        break;
    case TW_M_Arc_Unsubscribe:
        d->unsubscribes++;
        (void)tw_conn_send(&s->conn, TW_FT_DATA, s->sub_stream, TW_FF_FIN, NULL, 0);
        tw_conn_close(&s->conn, s->sub_stream);
        s->sub_stream = 0;
        ok(s, h, NULL, NULL);
        break;
    case TW_M_Blob_Open:
        blob_open(d, h, q);
        break;
    case TW_M_Blob_Commit:
        commit(d, h);
        break;
    case TW_M_Blob_Abort:
        d->aborts++;
        ok(s, h, NULL, NULL);
        break;
    case TW_M_Log_Read:
    case TW_M_Log_Follow:
        log_lines(s, h);
        break;
    case TW_M_Txn_Begin:
        ok(s, h, tunewire_v1_TxnRep_fields, &txn);
        break;
    case TW_M_Txn_Commit:
        d->commits++;
        ok(s, h, tunewire_v1_TxnRep_fields, &txn);
        break;
    case TW_M_Txn_Rollback:
        d->rollbacks++;
        ok(s, h, tunewire_v1_TxnRep_fields, &txn);
        break;
    case TW_M_Graph_Unload:
    case TW_M_Script_Stop:
    case TW_M_Session_Bye:
        ok(s, h, NULL, NULL);
        break;
    default:
        refuse(s, h, TW_E_METHOD, h->method);
        break;
    }
}

/* ---- frames ---------------------------------------------------------------------------- */

static void on_hello(fake_device_t *d, const tw_conn_event_t *ev)
{
    fake_state_t *s = d->state;
    tunewire_v1_HelloReq q = tunewire_v1_HelloReq_init_zero;
    assert(tw_rpc_decode(ev->data, ev->len, tunewire_v1_HelloReq_fields, &q) == TW_OK);
    if (d->fault == FAKE_NO_HELLO) {
        return;
    }
    if (d->fault == FAKE_GARBAGE) {
        static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
        (void)!write(s->fd, text, sizeof text);
        s->dead = true;
        return;
    }
    tunewire_v1_HelloRep r = {.major = d->fault == FAKE_OLD_MAJOR ? 2 : 1,
                              .max_frame = d->max_frame,
                              .window = 4096,
                              .max_calls = d->max_calls,
                              .auth_required = d->key != NULL,
                              .server = "fake",
                              .schema_crc = tw_crc32c(0, tw_schema, tw_schema_bytes)};
    r.session.size = 16;
    memset(r.session.bytes, 0x55, 16);
    r.nonce.size = 16;
    memcpy(r.nonce.bytes, nonce, 16);
    uint8_t buf[240];
    tw_err_t err = TW_OK;
    const uint32_t n = tw_rpc_encode(buf, sizeof buf, tunewire_v1_HelloRep_fields, &r, &err);
    (void)tw_conn_send(&s->conn, TW_FT_HELLO, 0, TW_FF_FIN, buf, n);
    tw_conn_agree(&s->conn, q.max_frame, q.window);
}

static void check_mac(fake_device_t *d, const tunewire_v1_CallHeader *h, const uint8_t *req, uint32_t n)
{
    uint8_t text[20], want[32];
    if (d->key && h->method != TW_M_Session_Auth) {
        tw_crypto_mbedtls.hmac(d->state->call_key, 32, mac_text(h, text), sizeof text, req, n, want);
        d->bad_macs += h->mac.size != 16 || memcmp(h->mac.bytes, want, 16) != 0;
    }
}

static void on_call(fake_device_t *d, const tw_conn_event_t *ev)
{
    fake_state_t *s = d->state;
    tunewire_v1_CallHeader h = tunewire_v1_CallHeader_init_zero;
    const uint8_t *req;
    uint32_t n;
    assert(tw_rpc_split_call(ev->data, ev->len, &h, &req, &n) == TW_OK);
    const tw_method_t *m = tw_method_find(h.method);
    void *q = calloc(1, m->request_size);
    assert(q && tw_rpc_decode(req, n, m->request, q) == TW_OK);
    d->calls++;
    check_mac(d, &h, req, n);
    const uint32_t before = s->conn.out.used;
    switch (d->fault) {
    case FAKE_NO_ANSWER:
        break;
    case FAKE_GOAWAY:
        tw_conn_goaway(&s->conn, TW_E_BUSY);
        break;
    case FAKE_HANG_UP:
        s->dead = true;
        break;
    case FAKE_BAD_REPLY: { /* a reply header, then a response cut in the middle of a field */
        const uint8_t bad[] = {2, 8, (uint8_t)h.call_id, 2, 0x0A, 0x50};
        (void)tw_conn_send(&s->conn, TW_FT_REPLY, 0, TW_FF_FIN, bad, sizeof bad);
        break;
    }
    default:
        answer(d, &h, q);
        break;
    }
    if (d->fault == FAKE_WRONG_CRC && s->conn.out.used > before) {
        s->conn.out.buf[s->conn.out.used - 1] ^= 0xFF;
    }
    free(q);
}

static void on_bytes(fake_device_t *d, const uint8_t *p, size_t n)
{
    fake_state_t *s = d->state;
    tw_conn_event_t ev;
    uint32_t calls = 0;
    do {
        size_t used = 0;
        tw_conn_feed(&s->conn, p, n, &used, &ev);
        p += used;
        n -= used;
        if (ev.kind == TW_CE_HELLO) {
            on_hello(d, &ev);
        } else if (ev.kind == TW_CE_CALL) {
            calls++;
            on_call(d, &ev);
        } else if (ev.kind == TW_CE_DATA && ev.stream == s->blob_stream) {
            blob_data(d, &ev);
        } else if (ev.kind == TW_CE_CANCEL) {
            d->cancels++;
        }
    } while (!s->dead && (n || ev.kind != TW_CE_NONE));
    d->max_in_flight = tw_max_u32(d->max_in_flight, calls);
}

static void serve(fake_device_t *d)
{
    fake_state_t *s = d->state;
    uint8_t buf[4096];
    tw_conn_init(&s->conn, false, s->in, BUF, s->out, BUF, s->msg, BUF);
    s->dead = false;
    s->sub_stream = 0;
    while (!s->stop && !s->dead) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        if (s->sub_stream) {
            send_block(s);
        }
        const int got = poll(&p, 1, 5);
        if (got > 0) {
            const ssize_t n = recv(s->fd, buf, sizeof buf, 0);
            if (n <= 0) {
                break;
            }
            on_bytes(d, buf, (size_t)n);
        }
        while (tw_out_pending(&s->conn.out)) {
            const ssize_t n = send(s->fd, s->conn.out.buf + s->conn.out.at, tw_out_pending(&s->conn.out), MSG_NOSIGNAL);
            if (n <= 0) {
                s->dead = true;
                break;
            }
            tw_out_drained(&s->conn.out, (uint32_t)n);
        }
        s->dead = s->dead || s->conn.state == TW_CONN_DEAD;
    }
}

static void *run(void *arg)
{
    fake_device_t *d = arg;
    while (!d->state->stop) {
        struct pollfd p = {.fd = d->listener, .events = POLLIN};
        if (poll(&p, 1, 10) > 0) {
            d->state->fd = accept(d->listener, NULL, NULL);
            d->connections++;
            serve(d);
            (void)close(d->state->fd);
        }
    }
    return NULL;
}

void fake_start(fake_device_t *d)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    d->max_frame = d->max_frame ? d->max_frame : 1024;
    d->max_calls = d->max_calls ? d->max_calls : 8;
    d->state = calloc(1, sizeof *d->state);
    d->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(d->state && d->listener >= 0);
    d->state->blob = calloc(1, BLOB_MAX);
    set_up(d->state);
    assert(d->state->blob && bind(d->listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(d->listener, 4) == 0);
    assert(getsockname(d->listener, (struct sockaddr *)&a, &len) == 0);
    d->port = ntohs(a.sin_port);
    (void)snprintf(d->uri, sizeof d->uri, "tcp://127.0.0.1:%u", d->port);
    assert(pthread_create(&d->thread, NULL, run, d) == 0);
}

void fake_stop(fake_device_t *d)
{
    d->state->stop = true;
    (void)pthread_join(d->thread, NULL);
    (void)close(d->listener);
    free(d->state->blob);
    free(d->state);
    d->state = NULL;
}
