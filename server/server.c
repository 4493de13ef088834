/* server.c - memory, the callbacks of the transports, and the poll that moves everything on.
 *
 * One thread. received() acts on calls as they come; poll() brings what comes
 * from elsewhere: the engine's replies, timers, streams.
 */
#include "engine/base/crc.h"
#include "protocol/schema.h"
#include "server/server_priv.h"

enum {
    MIN_STORE = 8,
    PORCH_BYTES = TW_MAX_FRAME_FLOOR + TW_CONN_GOAWAY_ROOM,
    REPLIES_PER_POLL = 512,
    POLL_WAITING_US = 100,    /* calls wait for the engine */
    POLL_STREAMING_US = 1000, /* probes fill */
    POLL_EVENTS_US = 20000,   /* a graph may raise events */
};

/* ---- memory ------------------------------------------------------------------- */

typedef struct layout {
    tw_server_t *server;
    tw_peer_t *peers;
    tw_session_t *sessions;
    tw_slot_t *slots;
    tw_deferred_t *deferred;
    tw_sub_t *subs;
    tw_armed_t *armed;
    tw_log_line_t *log;
    tw_trace_line_t *trace;
    uint8_t *in, *out, *msg, *porch, *probes, *captures, *blocks, *blobs, *txn, *scratch, *list, *upload;
    uint32_t n_slots, n_deferred, scratch_bytes, block_bytes;
    bool fits;
} layout_t;

static uint32_t store_slots(const tw_server_cfg_t *cfg)
{
    uint32_t n = MIN_STORE;
    while (n < cfg->max_calls) {
        n *= 2; /* a power of two: the slot of a call id is a mask away */
    }
    return n;
}

static void *take(tw_arena_t *a, layout_t *l, size_t count, size_t bytes, size_t align)
{
    void *p = tw_arena_take(a, count * bytes, align);
    l->fits = l->fits && p != NULL;
    return p;
}

#define TAKE(field, count) l.field = take(a, &l, (count), sizeof *l.field, _Alignof(max_align_t))
#define TAKE_LINES(field, count) l.field = take(a, &l, (count), sizeof *l.field, 64)

static layout_t lay_out(const tw_server_cfg_t *cfg, tw_arena_t *a)
{
    layout_t l = {
        .n_slots = store_slots(cfg),
        .n_deferred = tw_min_u32(cfg->max_sessions * cfg->max_calls, 4095),
        .scratch_bytes = tw_max_u32(cfg->max_frame, TW_SCRATCH_MIN),
        .block_bytes = cfg->max_frame,
        .fits = true,
    };
    TAKE_LINES(server, 1);
    TAKE(peers, cfg->max_sessions);
    TAKE(sessions, cfg->max_sessions);
    TAKE(slots, (size_t)cfg->max_sessions * l.n_slots);
    TAKE(deferred, l.n_deferred);
    TAKE_LINES(subs, cfg->max_subs);
    TAKE_LINES(armed, cfg->max_probes);
    TAKE(log, TW_LOG_LINES);
    TAKE(trace, cfg->trace_lines);
    TAKE(in, (size_t)cfg->max_sessions * cfg->max_frame);
    TAKE(out, (size_t)cfg->max_sessions * cfg->out_bytes);
    TAKE(msg, (size_t)cfg->max_sessions * cfg->msg_bytes);
    TAKE(porch, PORCH_BYTES);
    TAKE_LINES(probes, (size_t)cfg->max_subs * cfg->probe_bytes);
    TAKE_LINES(captures, (size_t)cfg->max_probes * cfg->capture_bytes);
    TAKE(blocks, (size_t)cfg->max_subs * l.block_bytes);
    TAKE(blobs, cfg->blob_bytes);
    TAKE(txn, cfg->txn_bytes);
    TAKE(scratch, l.scratch_bytes);
    TAKE(list, l.scratch_bytes);
    TAKE(upload, TW_UPLOAD_MAX);
    return l;
}

size_t tw_server_need(const tw_server_cfg_t *cfg)
{
    tw_arena_t a = {.base = (uint8_t *)64, .size = SIZE_MAX / 2};
    (void)lay_out(cfg, &a);
    return a.used + 64; /* whatever alignment the caller's memory has */
}

static bool cfg_ok(const tw_server_cfg_t *cfg)
{
    const bool probes =
        cfg->max_subs == 0 || (cfg->probe_bytes >= 256 && (cfg->probe_bytes & (cfg->probe_bytes - 1)) == 0);
    return cfg->port != NULL && cfg->engine != NULL && cfg->max_frame >= TW_MAX_FRAME_FLOOR &&
           cfg->max_frame <= 65536 && cfg->window >= TW_MAX_FRAME_FLOOR && cfg->max_calls >= 1 &&
           cfg->max_calls <= TW_MAX_CALLS && cfg->max_sessions >= 1 && cfg->max_sessions <= TW_MAX_SESSIONS &&
           cfg->out_bytes >= 2 * cfg->max_frame && cfg->msg_bytes >= cfg->max_frame && cfg->max_subs <= TW_MAX_SUBS &&
           probes && (cfg->trace_lines & (cfg->trace_lines - 1)) == 0 && cfg->max_probes <= TW_MAX_PROBES &&
           cfg->capture_bytes % 64 == 0 && (cfg->max_probes == 0 || cfg->capture_bytes != 0) &&
           cfg->open_role <= TW_ROLE_ADMIN && (cfg->key == NULL || cfg->crypto != NULL);
}

static void init_subs(tw_server_t *s, const layout_t *l)
{
    for (uint32_t i = 0; i < s->cfg.max_subs; i++) {
        s->subs[i] = (tw_sub_t){
            .ring_mem = l->probes + (size_t)i * s->cfg.probe_bytes,
            .block = l->blocks + (size_t)i * l->block_bytes,
        };
    }
}

static void init_probes(tw_server_t *s, const layout_t *l)
{
    for (uint32_t i = 0; i < s->cfg.max_probes; i++) {
        memset(&s->armed[i], 0, sizeof s->armed[i]);
        s->armed[i].mem = l->captures + (size_t)i * s->cfg.capture_bytes;
    }
}

static void init_sessions(tw_server_t *s, const layout_t *l)
{
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        s->sessions[i] = (tw_session_t){.slots = l->slots + (size_t)i * l->n_slots, .index = (uint16_t)i};
        s->peers[i].s = s;
        s->peers[i].link = NULL;
        s->peers[i].in = l->in + (size_t)i * s->cfg.max_frame;
        s->peers[i].out = l->out + (size_t)i * s->cfg.out_bytes;
        s->peers[i].msg = l->msg + (size_t)i * s->cfg.msg_bytes;
    }
    s->porch = (tw_peer_t){.s = s, .in = l->porch, .out = l->porch, .msg = l->porch};
}

tw_err_t tw_server_init(tw_server_t **out, const tw_server_cfg_t *cfg, void *mem, size_t bytes)
{
    if (!cfg_ok(cfg)) {
        return TW_E_ARG;
    }
    tw_arena_t a = {.base = mem, .size = bytes};
    const layout_t l = lay_out(cfg, &a);
    if (!l.fits) {
        return TW_E_NOMEM;
    }
    tw_server_t *s = l.server;
    memset(s, 0, sizeof *s);
    s->cfg = *cfg;
    s->cfg.resume_ms = cfg->resume_ms != 0 ? cfg->resume_ms : 30000;
    s->e = cfg->engine;
    s->peers = l.peers;
    s->sessions = l.sessions;
    s->slot_mask = l.n_slots - 1;
    s->deferred = l.deferred;
    s->n_deferred = l.n_deferred;
    s->subs = l.subs;
    s->sub_block = l.block_bytes;
    s->log = l.log;
    s->trace = l.trace;
    s->log_seq = 1;
    s->use_case = -1;
    s->blob_mem = l.blobs;
    s->txn.area = l.txn;
    s->scratch = l.scratch;
    s->list = l.list;
    s->scratch_bytes = l.scratch_bytes;
    s->upload = l.upload;
    s->start_us = tw_clock(s);
    s->random_seq = cfg->boot_id ^ s->start_us;
    s->schema_crc = tw_crc32c(0, tw_schema, tw_schema_bytes);
    memset(s->log_level, TW_LOG_INFO, sizeof s->log_level);
    tw_deferred_init(s);
    init_sessions(s, &l);
    init_subs(s, &l);
    s->armed = l.armed;
    init_probes(s, &l);
    *out = s;
    return TW_OK;
}

/* ---- what transports call ---------------------------------------------------------- */

static tw_peer_t *free_peer(tw_server_t *s)
{
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        if (s->peers[i].link == NULL) {
            return &s->peers[i];
        }
    }
    return NULL;
}

/* Connections that never say hello must not keep others out: the longest silent one is told to go. */
static void make_room(tw_server_t *s)
{
    tw_peer_t *oldest = NULL;
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        tw_peer_t *p = &s->peers[i];
        const bool silent = p->ses == NULL && tw_now(s) - p->progress_us > TW_HELLO_US;
        if (silent && (oldest == NULL || p->progress_us < oldest->progress_us)) {
            oldest = p;
        }
    }
    if (oldest != NULL) {
        tw_conn_goaway(&oldest->conn, TW_E_NO_HELLO);
    }
}

static void take_place(tw_peer_t *p, tw_phy_link_t *link, const char *name)
{
    tw_server_t *s = p->s;
    *p = (tw_peer_t){.s = s, .link = link, .in = p->in, .out = p->out, .msg = p->msg, .progress_us = tw_now(s)};
    tw_copy_str(p->name, sizeof p->name, name != NULL ? name : "?");
}

/* Nobody's place is free. One newcomer at a time stands in the porch, just long enough to hear why; it is dead from
 * the start, so its one small buffer is only ever sent from. While it is taken, others hear nothing. */
static void *refuse(tw_server_t *s, tw_phy_link_t *link, const char *name)
{
    tw_peer_t *p = &s->porch;
    tw_count(s, TW_CNT_REFUSED);
    make_room(s);
    if (p->link != NULL) {
        return NULL;
    }
    take_place(p, link, name);
    tw_conn_init(&p->conn, false, p->in, TW_MAX_FRAME_FLOOR, p->out, PORCH_BYTES, p->msg, 0);
    tw_conn_goaway(&p->conn, TW_E_SESSIONS);
    return p;
}

static void *opened(void *ctx, tw_phy_link_t *link, const char *name)
{
    tw_server_t *s = ctx;
    (void)tw_clock(s);
    tw_peer_t *p = free_peer(s);
    if (p == NULL) {
        return refuse(s, link, name);
    }
    take_place(p, link, name);
    tw_conn_init(&p->conn, false, p->in, s->cfg.max_frame, p->out, s->cfg.out_bytes, p->msg, s->cfg.msg_bytes);
    p->conn.window = s->cfg.window;
    tw_count(s, TW_CNT_CONNECTIONS);
    return p;
}

static void damaged(tw_peer_t *p, const tw_conn_event_t *ev)
{
    if (ev->type == TW_FT_DATA) {
        tw_sink_damaged(p, ev->stream);
    }
}

static void on_event(tw_peer_t *p, const tw_conn_event_t *ev)
{
    switch (ev->kind) {
    case TW_CE_HELLO:
        tw_session_hello(p, ev->data, ev->len);
        break;
    case TW_CE_CALL:
        if (ev->cut) {
            tw_refuse_cut(p, ev->data, ev->len);
        } else {
            tw_dispatch_call(p, ev->data, ev->len);
        }
        break;
    case TW_CE_DATA:
        tw_sink_data(p, ev);
        break;
    case TW_CE_CREDIT:
        tw_senders_pump(p);
        break;
    case TW_CE_CANCEL:
        tw_dispatch_cancel(p, ev->call_id);
        break;
    case TW_CE_BAD_CRC:
        damaged(p, ev);
        break;
    case TW_CE_FATAL:
        tw_count(p->s, TW_CNT_FATAL);
        break;
    case TW_CE_GOAWAY:
    case TW_CE_REPLY:
    case TW_CE_NONE:
        break;
    }
}

static void received(void *ctx, void *conn, const uint8_t *bytes, size_t n)
{
    (void)tw_clock(ctx);
    tw_peer_t *p = conn;
    size_t at = 0, used;
    tw_conn_event_t ev;
    do {
        tw_conn_feed(&p->conn, bytes + at, n - at, &used, &ev);
        at += used;
        if (ev.kind != TW_CE_NONE && !p->bye) {
            on_event(p, &ev);
        }
    } while (at < n || ev.kind != TW_CE_NONE);
}

static const uint8_t *pending(void *ctx, void *conn, size_t *n)
{
    tw_server_t *s = ctx;
    tw_peer_t *p = conn;
    *n = tw_out_pending(&p->conn.out);
    if (*n == 0) {
        p->progress_us = p->ses != NULL ? tw_now(s) : p->progress_us; /* before hello it tells how long it is silent */
        return NULL;
    }
    return p->conn.out.buf + p->conn.out.at;
}

/* Room again: first what was owed, then streams. */
static void refill(tw_peer_t *p)
{
    if (p->conn.state != TW_CONN_OPEN) {
        return;
    }
    if (p->ses != NULL && p->ses->unsent > 0 && tw_may_hear(p)) {
        tw_flush_unsent(p);
    }
    if (p->n_endings > 0) {
        tw_endings_flush(p);
    }
    tw_sinks_grant(p);
    tw_senders_pump(p);
}

static void drained(void *ctx, void *conn, size_t n)
{
    tw_server_t *s = ctx;
    tw_peer_t *p = conn;
    tw_out_drained(&p->conn.out, (uint32_t)n);
    if (n > 0) {
        p->progress_us = tw_now(s);
    }
    refill(p);
}

/* A whole reply must fit before more calls are read: a client that does not read is not read from. */
static bool ready(void *ctx, void *conn)
{
    (void)ctx;
    const tw_peer_t *p = conn;
    if (p->conn.state != TW_CONN_OPEN) {
        return p->conn.state == TW_CONN_WAIT_HELLO;
    }
    return !p->bye && (p->ses == NULL || p->ses->unsent == 0 || !tw_may_hear(p)) &&
           tw_conn_room(&p->conn) >= p->conn.max_frame - TW_FRAME_HEADER;
}

static bool closing(void *ctx, void *conn)
{
    (void)ctx;
    const tw_peer_t *p = conn;
    return p->bye || p->conn.state == TW_CONN_DEAD;
}

static void closed(void *ctx, void *conn, tw_err_t why)
{
    (void)why;
    tw_server_t *s = ctx;
    (void)tw_clock(s);
    tw_peer_t *p = conn;
    s->gone_frames[0] += p->conn.frames_in;
    s->gone_frames[1] += p->conn.frames_out;
    s->gone_frames[2] += tw_bad_frames(p);
    if (p->ses != NULL) {
        tw_session_t *ses = p->ses;
        tw_count(s, TW_CNT_VANISHED);
        tw_session_lost(ses);
        p->ses = NULL;
        tw_server_log(s, TW_LOG_INFO, TW_SRC_SESSION, "connection lost, session kept for resume");
    }
    p->link = NULL;
}

tw_phy_user_t tw_server_phy_user(tw_server_t *s)
{
    return (tw_phy_user_t){
        .ctx = s,
        .opened = opened,
        .received = received,
        .pending = pending,
        .drained = drained,
        .ready = ready,
        .closing = closing,
        .closed = closed,
    };
}

/* ---- poll ------------------------------------------------------------------------------ */

static void drain_engine(tw_server_t *s)
{
    tw_engine_reply_t r;
    for (unsigned i = 0; i < REPLIES_PER_POLL && tw_engine_reply(s->e, &r); i++) {
        if (r.kind == TW_REPLY_EVENT) {
            tw_log_event(s, &r);
            s->use_case = r.event == TW_EV_USE_CASE ? (int32_t)r.at : s->use_case;
        } else {
            if (r.token == s->swap_token) {
                tw_swap_done(s, &r);
            }
            if (r.token == TW_TOKEN_PENDING) {
                tw_pending_done(s, &r);
            } else if ((r.token & TW_TOKEN_BOOT) == TW_TOKEN_SUB) {
                tw_sub_unprobed(s, r.token & ~TW_TOKEN_SUB);
                tw_armed_out(s, (r.token & ~TW_TOKEN_SUB) - s->cfg.max_subs);
            } else {
                tw_deferred_reply(s, &r);
            }
        }
        tw_engine_reply_done(s->e);
    }
}

/* A client that takes nothing for long is let go; its bytes are dropped, or it would never close. */
static void watch_peer(tw_peer_t *p, uint64_t now)
{
    if (tw_out_pending(&p->conn.out) == 0 || now - p->progress_us < TW_STALL_US) {
        return;
    }
    tw_count(p->s, TW_CNT_STALLED);
    tw_server_log(p->s, TW_LOG_WARN, TW_SRC_SESSION, "connection closed: the client does not read");
    tw_conn_goaway(&p->conn, TW_E_TIMEOUT);
    tw_out_drained(&p->conn.out, tw_out_pending(&p->conn.out));
}

/* Before anything is written in this round: who had nothing to take has not been slow, however long nobody looked. */
static void excuse_idle(tw_server_t *s, uint64_t now)
{
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        tw_peer_t *p = &s->peers[i];
        if (p->link != NULL && p->ses != NULL && tw_out_pending(&p->conn.out) == 0) {
            p->progress_us = now;
        }
    }
}

static bool pump_peers(tw_server_t *s, uint64_t now)
{
    bool streaming = false;
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        tw_peer_t *p = &s->peers[i];
        if (p->link == NULL) {
            continue;
        }
        watch_peer(p, now);
        refill(p);
        streaming = streaming || !tw_senders_idle(p) || tw_out_pending(&p->conn.out) != 0;
    }
    return streaming;
}

static uint32_t until(const tw_server_t *s, uint64_t now, uint64_t next, bool streaming)
{
    uint64_t us = next == TW_NEVER ? UINT32_MAX : next > now ? next - now : 0;
    if (s->have_graph && us > POLL_EVENTS_US) {
        us = POLL_EVENTS_US;
    }
    if ((streaming || s->traces || s->first_deferred != UINT16_MAX || s->live_subs + s->live_probes > 0) &&
        us > POLL_STREAMING_US) {
        us = POLL_STREAMING_US;
    }
    if ((tw_deferred_urgent(s) || s->swap_token != 0) && us > POLL_WAITING_US) {
        us = POLL_WAITING_US;
    }
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

bool tw_server_waiting(const tw_server_t *s)
{
    return tw_deferred_urgent(s) || s->swap_token != 0 || s->live_subs + s->live_probes > 0;
}

static void serve_use_case(tw_server_t *s)
{
    if (s->use_case >= 0 &&
        (s->cfg.use_case == NULL || s->cfg.use_case(s->cfg.use_case_ctx, (uint32_t)s->use_case) != TW_E_BUSY)) {
        s->use_case = -1;
    }
}

uint32_t tw_server_poll(tw_server_t *s)
{
    const uint64_t now = tw_clock(s);
    excuse_idle(s, now);
    drain_engine(s);
    tw_gpio_drain(s);
    serve_use_case(s);
    uint64_t next = TW_NEVER;
    tw_deferred_expire(s, now);
    tw_txn_expire(s, now, &next);
    tw_pending_poll(s, now, &next);
    tw_sessions_expire(s, now, &next);
    tw_blobs_expire(s, now, &next);
    tw_subs_pump(s, now);
    tw_armed_pump(s, now);
    tw_debugger_pump(s, now, &next);
    tw_trace_pump(s);
    const bool streaming = pump_peers(s, now);
    return until(s, now, next < s->next_due_us ? next : s->next_due_us, streaming);
}
