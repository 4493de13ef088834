/* client_call.c - calls in flight, their replies, and the streams they open. */
#include "host_tools/client/client_priv.h"
#include <stdio.h>
#include <stdlib.h>

enum { HEADER_ROOM = 64 };

static call_t *find_call(tw_client_t *c, uint32_t id)
{
    for (size_t i = 0; i < CLIENT_CALLS && id; i++) {
        if (c->calls[i].id == id) {
            return &c->calls[i];
        }
    }
    return NULL;
}

static call_t *free_call(tw_client_t *c)
{
    for (size_t i = 0; i < CLIENT_CALLS; i++) {
        if (!c->calls[i].id) {
            return &c->calls[i];
        }
    }
    return NULL;
}

/* ---- streams from the device ------------------------------------------------------- */

static tw_client_sink_t **sink_slot(tw_client_t *c, uint16_t stream)
{
    for (size_t i = 0; i < TW_COUNT(c->sinks); i++) {
        if (stream ? c->sinks[i] && c->sinks[i]->stream == stream : !c->sinks[i]) {
            return &c->sinks[i];
        }
    }
    return NULL;
}

void client_end_sink(tw_client_t *c, tw_client_sink_t *s, const tw_client_error_t *why)
{
    tw_client_sink_t **slot = s->stream ? sink_slot(c, s->stream) : NULL;
    if (slot) {
        *slot = NULL;
        tw_conn_close(&c->conn, s->stream);
    }
    s->stream = 0;
    s->ended = true;
    s->err = why ? *why : (tw_client_error_t){0};
}

void tw_client_drop(tw_client_t *c, tw_client_sink_t *sink)
{
    for (size_t i = 0; i < CLIENT_CALLS; i++) {
        if (c->calls[i].sink == sink) {
            c->calls[i].sink = NULL;
        }
    }
    if (!sink->ended) {
        client_end_sink(c, sink, NULL);
    }
}

/* Data may follow the reply in the same read, so the stream is open before the reply is handed on. */
static void open_sink(tw_client_t *c, tw_client_sink_t *s, uint32_t stream)
{
    tw_client_sink_t **slot = sink_slot(c, 0);
    if (stream == 0 || stream > UINT16_MAX || !slot || !tw_conn_open(&c->conn, (uint16_t)stream, false)) {
        (void)client_fail(c, TW_CLIENT_PROTOCOL, "watch fewer things at once", "the device's stream %u cannot be taken",
                          stream);
        client_end_sink(c, s, &c->err);
        return;
    }
    *slot = s;
    s->stream = (uint16_t)stream;
    s->owed = 0;
}

static tw_client_error_t why_ended(const tw_conn_event_t *ev)
{
    tunewire_v1_Status st = tunewire_v1_Status_init_zero;
    tw_client_error_t e = {0};
    if (ev->err && tw_rpc_decode(ev->data, ev->len, tunewire_v1_Status_fields, &st) == TW_OK) {
        client_status_error(&e, &st);
    } else if (ev->err) {
        e = (tw_client_error_t){.kind = TW_CLIENT_PROTOCOL, .text = "a stream failed without saying why"};
    }
    return e;
}

static void give_credit(tw_client_t *c, tw_client_sink_t *s, uint32_t n)
{
    s->owed += n;
    if (s->owed >= c->conn.window / 4 && tw_conn_grant(&c->conn, s->stream, s->owed)) {
        s->owed = 0;
    }
}

void client_on_data(tw_client_t *c, const tw_conn_event_t *ev)
{
    tw_client_sink_t **slot = ev->stream ? sink_slot(c, ev->stream) : NULL;
    tw_client_sink_t *s = slot ? *slot : NULL;
    if (!s) {
        if (ev->fin && ev->err) { /* of a stream that we send on: tw_client_stream_send() looks here */
            c->refused = ev->stream;
            c->refusal = why_ended(ev);
        }
        return;
    }
    if (!ev->err && ev->len && !s->data(s->ctx, ev->data, ev->len)) {
        if (!s->ended) {
            (void)client_fail(c, TW_CLIENT_STOPPED, "", "stopped");
            client_end_sink(c, s, &c->err);
        }
        return;
    }
    if (s->ended) {
        return; /* data() dropped it */
    }
    if (ev->fin) {
        const tw_client_error_t why = why_ended(ev);
        client_end_sink(c, s, &why);
    } else {
        give_credit(c, s, ev->len);
    }
}

bool tw_client_wait(tw_client_t *c, tw_client_sink_t *s, uint32_t ms)
{
    const int64_t until = client_now_ms() + ms;
    while (!s->ended) {
        const pump_t r = client_pump(c, until);
        if (r == PUMP_LOST && !s->ended) {
            return false;
        }
        if (r == PUMP_TIMEOUT) {
            return client_fail(c, TW_CLIENT_TIMEOUT, "give more time (--timeout MS)", "the stream did not end in time");
        }
    }
    if (s->err.kind != TW_CLIENT_OK) {
        c->err = s->err;
        return false;
    }
    return true;
}

/* ---- replies ------------------------------------------------------------------------ */

static void finish(tw_client_t *c, call_t *k)
{
    k->done = true;
    if (c->in_flight) {
        c->in_flight--;
    }
    if (k->fast) {
        c->fast_in_flight--;
        if (k->err.kind != TW_CLIENT_OK) {
            c->fast_failed = true;
            c->err = k->err;
        }
        *k = (call_t){0};
    }
}

static void protocol_error(call_t *k, const char *text)
{
    k->err = (tw_client_error_t){.kind = TW_CLIENT_PROTOCOL};
    (void)snprintf(k->err.text, sizeof k->err.text, "%s", text);
    (void)snprintf(k->err.hint, sizeof k->err.hint, "repeat the call");
}

static void take_response(tw_client_t *c, call_t *k, uint32_t stream, const uint8_t *rep, uint32_t rep_len)
{
    const tw_method_t *m = tw_method_find(k->method);
    if (k->response && m && !m->stream && tw_rpc_decode(rep, rep_len, m->response, k->response) != TW_OK) {
        protocol_error(k, "the reply does not decode");
    } else if (k->response && m && !m->stream) {
        client_clean(m->response, k->response);
    } else if (k->sink) {
        open_sink(c, k->sink, stream);
    }
}

void client_on_reply(tw_client_t *c, const uint8_t *p, uint32_t n)
{
    tunewire_v1_ReplyHeader h = tunewire_v1_ReplyHeader_init_zero;
    const uint8_t *rep;
    uint32_t rep_len;
    if (tw_rpc_split_reply(p, n, &h, &rep, &rep_len) != TW_OK) {
        return; /* whose reply it was cannot be known: its deadline acts */
    }
    call_t *k = find_call(c, h.call_id);
    if (!k || k->done) {
        return; /* given up before */
    }
    if (h.has_status && h.status.code != tunewire_v1_Code_OK) {
        client_status_error(&k->err, &h.status);
        if (rep_len && !k->sink) { /* of a commit that failed: what became of it */
            take_response(c, k, h.stream, rep, rep_len);
        }
        if (k->stream) { /* it was not taken, or is ended: there will be no credit for it */
            c->refused = k->stream;
            c->refusal = k->err;
        }
        if (k->sink) {
            client_end_sink(c, k->sink, &k->err);
        }
    } else {
        take_response(c, k, h.stream, rep, rep_len);
    }
    finish(c, k);
}

/* With one call in flight the damaged reply is its; otherwise deadlines act. */
void client_on_damaged_reply(tw_client_t *c)
{
    if (c->in_flight != 1) {
        return;
    }
    for (size_t i = 0; i < CLIENT_CALLS; i++) {
        call_t *k = &c->calls[i];
        if (k->id && !k->done) {
            protocol_error(k, "the reply was damaged on its way");
            finish(c, k);
            return;
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------- */

static uint32_t encode_call(tw_client_t *c, uint8_t *p, uint32_t cap, tunewire_v1_CallHeader *h,
                            const tw_client_call_t *call, const tw_method_t *m)
{
    if (!c->keyed || call->method == TW_M_Session_Auth) {
        return tw_rpc_put_call(p, cap, h, call->request ? m->request : NULL, call->request);
    }
    /* The MAC covers the request's bytes: encode them first, at the end of the room. */
    tw_err_t err = TW_OK;
    uint8_t *req = malloc(cap);
    uint32_t n = 0;
    if (req && call->request) {
        n = tw_rpc_encode(req, cap, m->request, call->request, &err);
    }
    if (req && err == TW_OK) {
        h->mac.size = 16;
        client_mac(c, h, req, n, h->mac.bytes);
    }
    free(req);
    return req && err == TW_OK ? tw_rpc_put_call(p, cap, h, call->request ? m->request : NULL, call->request) : 0;
}

/* Room in the send buffer and among the calls the device takes at once. */
static bool has_room(tw_client_t *c, uint32_t bytes)
{
    if (c->fd >= 0 && tw_conn_room(&c->conn) < bytes) {
        (void)client_flush(c);
    }
    return c->fd >= 0 && tw_conn_room(&c->conn) >= bytes && c->in_flight < c->max_calls && free_call(c);
}

static bool wait_room(tw_client_t *c, uint32_t bytes, int64_t until)
{
    while (!has_room(c, bytes)) {
        if (c->fd >= 0 && c->in_flight == 0 && !free_call(c)) {
            return client_fail(c, TW_CLIENT_USAGE, "", "too many calls begun and never ended");
        }
        const pump_t r = client_pump(c, until);
        if (r == PUMP_LOST) {
            return false;
        }
        if (r == PUMP_TIMEOUT) {
            return client_fail(c, TW_CLIENT_TIMEOUT, "give more time (--timeout MS)", "the device takes no more calls");
        }
    }
    return true;
}

uint32_t tw_client_begin(tw_client_t *c, const tw_client_call_t *call)
{
    const tw_method_t *m = tw_method_find(call->method);
    const uint32_t deadline = call->deadline_ms ? call->deadline_ms : c->timeout_ms;
    const int64_t until = client_now_ms() + deadline + CLIENT_GRACE_MS;
    if (!m) {
        (void)client_fail(c, TW_CLIENT_USAGE, "", "method %u unknown", call->method);
        return 0;
    }
    const uint32_t room = 2u * m->request_size + HEADER_ROOM;
    if (!wait_room(c, room, until)) {
        return 0;
    }
    call_t *k = free_call(c);
    *k = (call_t){.id = ++c->last_call,
                  .method = call->method,
                  .response = call->response,
                  .sink = call->sink,
                  .stream = call->stream,
                  .until_ms = until};
    if (call->sink) {
        call->sink->ended = false;
        call->sink->stream = 0;
        call->sink->err = (tw_client_error_t){0};
    }
    tunewire_v1_CallHeader h = {
        .call_id = k->id, .method = call->method, .deadline_ms = deadline, .txn = call->txn, .stream = call->stream};
    uint8_t *p = tw_conn_begin(&c->conn, TW_FT_CALL, 0, room);
    const uint32_t n = p ? encode_call(c, p, room, &h, call, m) : 0;
    if (n == 0) {
        *k = (call_t){0};
        (void)client_fail(c, TW_CLIENT_USAGE, "", "request too long for one message");
        return 0;
    }
    tw_conn_end(&c->conn, n, TW_FF_FIN);
    c->in_flight++;
    return k->id;
}

static void cancel(tw_client_t *c, const call_t *k)
{
    uint8_t id[4];
    tw_put_le32(id, k->id);
    if (c->fd >= 0 && tw_conn_send(&c->conn, TW_FT_CANCEL, 0, TW_FF_FIN, id, sizeof id)) {
        (void)client_flush(c);
    }
}

/* Nobody waits for it any more; a late reply is dropped. */
static bool give_up(tw_client_t *c, call_t *k)
{
    cancel(c, k);
    if (c->in_flight) {
        c->in_flight--;
    }
    *k = (call_t){0};
    return false;
}

bool tw_client_end(tw_client_t *c, uint32_t id)
{
    call_t *k = find_call(c, id);
    if (!k) {
        return false; /* begin failed and said why */
    }
    while (!k->done) {
        const pump_t r = client_pump(c, k->until_ms);
        if (r == PUMP_LOST && !k->done) {
            return give_up(c, k);
        }
        if (r == PUMP_TIMEOUT && client_now_ms() >= k->until_ms) {
            const tw_method_t *m = tw_method_find(k->method);
            (void)client_fail(c, TW_CLIENT_TIMEOUT,
                              "give more time (--timeout MS), or see whether the device is alive "
                              "(tunewire ping)",
                              "no answer to %s", m->name);
            return give_up(c, k);
        }
    }
    const tw_client_error_t err = k->err;
    *k = (call_t){0};
    if (err.kind != TW_CLIENT_OK) {
        c->err = err;
    }
    return err.kind == TW_CLIENT_OK;
}

bool tw_client_call(tw_client_t *c, const tw_client_call_t *call)
{
    return tw_client_end(c, tw_client_begin(c, call));
}

/* ---- hot path ---------------------------------------------------------------------------- */

uint32_t tw_client_set_fast_begin(tw_client_t *c, uint32_t node, uint32_t index, uint32_t type, const void *value,
                                  uint32_t n)
{
    if (n > TW_INLINE_VALUE_MAX || c->keyed) { /* a MAC needs the general path */
        (void)client_fail(c, TW_CLIENT_USAGE, "",
                          n > TW_INLINE_VALUE_MAX ? "value too long for the fast path"
                                                  : "the fast path does not sign calls");
        return 0;
    }
    const uint32_t room = n + HEADER_ROOM;
    const int64_t until = client_now_ms() + c->timeout_ms;
    if (!wait_room(c, room, until)) {
        return 0;
    }
    call_t *k = free_call(c);
    const uint32_t id = ++c->last_call;
    const tw_hot_set_t s = {.call_id = id, .node = node, .index = index, .type = type, .value = value, .value_len = n};
    uint8_t *p = tw_conn_begin(&c->conn, TW_FT_CALL, 0, room);
    const uint32_t bytes = p ? tw_hot_put_set(p, room, &s) : 0;
    if (bytes == 0) {
        (void)client_fail(c, TW_CLIENT_USAGE, "", "value does not fit");
        return 0;
    }
    k->id = id;
    k->method = TW_M_Param_Set;
    k->done = false;
    k->fast = true;
    k->response = NULL;
    k->sink = NULL;
    k->stream = 0;
    k->err.kind = TW_CLIENT_OK;
    tw_conn_end(&c->conn, bytes, TW_FF_FIN);
    c->in_flight++;
    c->fast_in_flight++;
    return id;
}

bool tw_client_set_fast_wait(tw_client_t *c, uint32_t in_flight)
{
    const int64_t until = client_now_ms() + c->timeout_ms + CLIENT_GRACE_MS;
    while (c->fast_in_flight > in_flight) {
        const pump_t r = client_pump(c, until);
        if (r == PUMP_LOST) {
            return false;
        }
        if (r == PUMP_TIMEOUT) {
            return client_fail(c, TW_CLIENT_TIMEOUT, "", "no answer to Param.Set");
        }
    }
    const bool ok = !c->fast_failed;
    c->fast_failed = false;
    return ok;
}

bool tw_client_set_fast(tw_client_t *c, uint32_t node, uint32_t index, uint32_t type, const void *value, uint32_t n)
{
    return tw_client_set_fast_begin(c, node, index, type, value, n) != 0 && tw_client_set_fast_wait(c, 0);
}
