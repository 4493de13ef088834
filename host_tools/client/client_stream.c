/* client_stream.c - bytes on streams: sending by credit, downloads, subscriptions, the log. */
#include "host_tools/client/client_priv.h"
#include <pb_decode.h>
#include <stdlib.h>

enum { DOWNLOAD_MAX = 256 << 20 }; /* a device that never ends its stream fills no more memory than this */
enum { OFFSET = 8 };               /* u64 in front of the bytes of a data frame */

bool tw_bytes_add(tw_bytes_t *b, const void *data, size_t n)
{
    if (n > b->cap - b->n) {
        const size_t cap = (b->n + n) * 2;
        uint8_t *more = realloc(b->data, cap);
        if (!more) {
            return false;
        }
        b->data = more;
        b->cap = cap;
    }
    if (n) {
        memcpy(b->data + b->n, data, n);
    }
    b->n += n;
    return true;
}

/* ---- sending ------------------------------------------------------------------------ */

uint16_t tw_client_stream(tw_client_t *c)
{
    const uint16_t id = tw_client_alive(c) ? tw_conn_open(&c->conn, 0, true) : 0;
    c->refused = c->refused == id ? 0 : c->refused;
    if (id == 0) {
        (void)client_fail(c, TW_CLIENT_CLOSED, "connect again", "no stream can be opened");
    }
    return id;
}

/* Bytes one frame may carry now; 0 = wait. */
static uint32_t piece(tw_client_t *c, uint16_t stream, uint32_t chunk)
{
    if (tw_conn_room(&c->conn) < c->conn.max_frame) {
        (void)client_flush(c);
    }
    uint32_t n = tw_min_u32(tw_conn_credit(&c->conn, stream), c->conn.max_frame - TW_FRAME_HEADER);
    n = tw_min_u32(n, tw_conn_room(&c->conn));
    n = n > OFFSET ? n - OFFSET : 0;
    return chunk && chunk < n ? chunk : n;
}

static void send_piece(tw_client_t *c, uint16_t stream, const uint8_t *data, uint64_t at, uint32_t n, bool last)
{
    uint8_t *p = tw_conn_begin(&c->conn, TW_FT_DATA, stream, OFFSET + n);
    tw_put_le64(p, at);
    memcpy(p + OFFSET, data + at, n);
    tw_conn_spend(&c->conn, stream, OFFSET + n);
    tw_conn_end(&c->conn, OFFSET + n, last ? TW_FF_FIN : 0);
}

/* The device may end our stream at any time: it will never give credit again then. */
static bool refused(tw_client_t *c, uint16_t stream)
{
    if (c->refused != stream) {
        return false;
    }
    c->err = c->refusal;
    c->refused = 0;
    return true;
}

/* Until the device gives credit, takes bytes from us or says why not. */
static bool wait_credit(tw_client_t *c, uint64_t at, int64_t until)
{
    const pump_t r = client_pump(c, until);
    if (r == PUMP_TIMEOUT && client_now_ms() >= until) {
        return client_fail(c, TW_CLIENT_TIMEOUT, "see the device's log (tunewire log)",
                           "the device takes no more data at byte %llu", (unsigned long long)at);
    }
    return r != PUMP_LOST;
}

bool tw_client_stream_send(tw_client_t *c, uint16_t stream, const uint8_t *data, uint64_t from, uint64_t n,
                           uint32_t chunk, tw_progress_fn progress, void *ctx)
{
    int64_t until = client_now_ms() + c->timeout_ms;
    uint64_t at = from;
    bool fin = false;
    while (!fin) {
        if (refused(c, stream)) {
            return false;
        }
        const uint32_t can = piece(c, stream, chunk);
        const uint32_t len = n - at < can ? (uint32_t)(n - at) : can;
        if (len == 0 && at < n) {
            if (!wait_credit(c, at, until)) {
                return false;
            }
            continue;
        }
        fin = at + len == n;
        send_piece(c, stream, data, at, len, fin);
        at += len;
        until = client_now_ms() + c->timeout_ms;
        if (progress) {
            progress(ctx, at, n);
        }
    }
    (void)client_flush(c);
    tw_conn_close(&c->conn, stream);
    return true;
}

/* ---- downloads ------------------------------------------------------------------------ */

typedef struct download {
    tw_bytes_t *out;
    bool gap, memory;
} download_t;

static bool take_chunk(void *ctx, const uint8_t *p, uint32_t n)
{
    download_t *d = ctx;
    if (n < OFFSET || tw_get_le64(p) != d->out->n) {
        d->gap = true;
        return false;
    }
    d->memory = d->out->n + n > DOWNLOAD_MAX || !tw_bytes_add(d->out, p + OFFSET, n - OFFSET);
    return !d->memory;
}

bool tw_client_download(tw_client_t *c, uint32_t method, const void *request, tw_bytes_t *out)
{
    download_t d = {.out = out};
    tw_client_sink_t sink = {.data = take_chunk, .ctx = &d};
    *out = (tw_bytes_t){0};
    bool ok = tw_client_call(c, &(tw_client_call_t){.method = method, .request = request, .sink = &sink}) &&
              tw_client_wait(c, &sink, c->timeout_ms);
    if (d.gap) {
        ok = client_fail(c, TW_CLIENT_PROTOCOL, "read it again", "bytes are missing at offset %zu", out->n);
    } else if (d.memory) {
        ok = client_fail(c, TW_CLIENT_MEMORY, "", "out of memory");
    }
    if (!ok) {
        const tw_client_error_t why = c->err;
        tw_client_drop(c, &sink);
        c->err = why;
        free(out->data);
        *out = (tw_bytes_t){0};
    }
    return ok;
}

/* ---- subscriptions ------------------------------------------------------------------------ */

/* ArcBlock.data stays where it is: only its place is noted. */
static bool note_data(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    tw_block_t *b = *arg;
    b->data = in->state;
    b->n = (uint32_t)in->bytes_left;
    return pb_read(in, NULL, in->bytes_left);
}

static bool take_block(void *ctx, const uint8_t *p, uint32_t n)
{
    tw_watch_t *w = ctx;
    tw_block_t b = {0};
    tunewire_v1_ArcBlock m = {.data = {.funcs.decode = note_data, .arg = &b}};
    if (tw_rpc_decode(p, n, tunewire_v1_ArcBlock_fields, &m) != TW_OK) {
        return true; /* one block lost; seq of the next shows it */
    }
    w->sub = m.sub;
    b.sub = m.sub;
    b.dropped = m.dropped;
    b.format = m.format;
    b.seq = m.seq;
    b.t_us = m.t_us;
    return w->block(w->ctx, &b);
}

bool tw_client_watch(tw_client_t *c, const tunewire_v1_SubReq *req, tw_watch_t *w)
{
    w->sub = 0;
    w->sink = (tw_client_sink_t){.data = take_block, .ctx = w};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Arc_Subscribe, .request = req, .sink = &w->sink});
}

void tw_client_tidy(tw_client_t *c, uint32_t method, const void *request, tw_client_sink_t *sink)
{
    const volatile sig_atomic_t *stop = c->stop;
    const tw_client_error_t err = c->err;
    c->stop = NULL; /* tidying up is what Ctrl-C asks for, not what it stops */
    if (tw_client_alive(c) && (sink == NULL || (sink->stream && !sink->ended))) {
        (void)tw_client_call(c, &(tw_client_call_t){.method = method, .request = request, .deadline_ms = 500});
    }
    if (sink != NULL) {
        tw_client_drop(c, sink);
    }
    c->stop = stop;
    c->err = err;
}

void tw_client_unwatch(tw_client_t *c, tw_watch_t *w)
{
    /* Before the first block a subscription is known by its stream alone; their numbers are equal. */
    const tunewire_v1_SubRef ref = {.sub = w->sub ? w->sub : w->sink.stream};
    tw_client_tidy(c, TW_M_Arc_Unsubscribe, &ref, &w->sink);
}

/* ---- the log ----------------------------------------------------------------------------------- */

static bool take_line(void *ctx, const uint8_t *p, uint32_t n)
{
    tw_log_t *l = ctx;
    tunewire_v1_LogLine m = tunewire_v1_LogLine_init_zero;
    if (tw_rpc_decode(p, n, tunewire_v1_LogLine_fields, &m) != TW_OK) {
        return true; /* one line lost; seq of the next shows it */
    }
    client_clean(tunewire_v1_LogLine_fields, &m);
    return l->line(l->ctx, &m);
}

bool tw_client_log_read(tw_client_t *c, uint32_t level, uint32_t limit, tw_log_t *l)
{
    tunewire_v1_LogRead req = tunewire_v1_LogRead_init_zero;
    req.limit = limit;
    req.has_filter = true;
    req.filter.min_level = level;
    l->sink = (tw_client_sink_t){.data = take_line, .ctx = l};
    const tw_client_call_t call = {.method = TW_M_Log_Read, .request = &req, .sink = &l->sink};
    const bool ok = tw_client_call(c, &call) && tw_client_wait(c, &l->sink, c->timeout_ms);
    if (!ok) {
        const tw_client_error_t why = c->err;
        tw_client_drop(c, &l->sink);
        c->err = why;
    }
    return ok;
}

bool tw_client_log_follow(tw_client_t *c, uint32_t level, tw_log_t *l)
{
    tunewire_v1_LogFilter req = tunewire_v1_LogFilter_init_zero;
    req.min_level = level;
    l->sink = (tw_client_sink_t){.data = take_line, .ctx = l};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Log_Follow, .request = &req, .sink = &l->sink});
}

/* ---- pins --------------------------------------------------------------------------------------- */

static bool take_state(void *ctx, const uint8_t *p, uint32_t n)
{
    tw_pins_t *pins = ctx;
    tunewire_v1_GpioState m = tunewire_v1_GpioState_init_zero;
    return tw_rpc_decode(p, n, tunewire_v1_GpioState_fields, &m) != TW_OK || pins->state(pins->ctx, &m);
}

bool tw_client_pins_watch(tw_client_t *c, tw_pins_t *p)
{
    tunewire_v1_GpioRef req = tunewire_v1_GpioRef_init_zero;
    p->sink = (tw_client_sink_t){.data = take_state, .ctx = p};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Gpio_Watch, .request = &req, .sink = &p->sink});
}
