/* server_priv.h - what the files of the server share.
 *
 *     phy --bytes--> peer --calls--> session --commands--> engine
 *          <-------- (conn)  <------ (store)  <-replies---
 *
 * A *peer* is a connection: buffers, credits, streams. A *session* is what
 * outlives it: role, stored replies, blobs, subscriptions. A *deferred* call is
 * one the engine, an upload or a timer answers later. Everything lives in the
 * memory given at init; nothing here waits.
 */
#pragma once
#include "engine/base/crc.h"
#include "protocol/conn.h"
#include "protocol/rpc.h"
#include "server/server.h"
#include "server/server_text.h"

#ifndef TW_LOG_LINES
#define TW_LOG_LINES 256u /* power of two */
#endif
enum {
    TW_LOG_TEXT = 97,
    TW_REPLY_SLOT = 112,         /* bytes of a reply that are kept for a repeat */
    TW_SENDERS = 4,              /* finite streams and log followers of one connection */
    TW_ENDINGS = 16,             /* of streams, owed to a client that is behind */
    TW_UPLOAD_MAX = 4096,        /* a parameter value by stream [bytes] */
    TW_SCRATCH_MIN = 1280,       /* the largest single message: ParamAck with both values */
    TW_UPLOAD_US = 10 * 1000000, /* there is one buffer for such values: nobody may sit on it longer */
    TW_STALL_US = 10 * 1000000,  /* a client that takes nothing for this long is closed */
    TW_HELLO_US = 2 * 1000000,   /* silent this long, a connection yields to a new one */
    TW_AUTH_DELAY_US = 200000,
    TW_AUTH_TRIES = 3,
    TW_LEASE_MS = 5000,
    TW_LEASE_MAX_MS = 60000,
    TW_SUB_FLUSH_US = 20000, /* a block is not held back longer than this */
    TW_GRAPH_ID = 1,         /* the one graph; 0 means the same */
    TW_PIN_CHANGES = 64,     /* a watcher that is further behind misses the oldest; a power of two */
};
#define TW_NEVER UINT64_MAX

/* ---- counters ------------------------------------------------------------ */
enum {
#define TW_COUNTER(id, NAME, name) TW_CNT_##NAME,
#include "server/counters.def"
    TW_CNT_COUNT
};

/* ---- streams ---------------------------------------------------------------- */
typedef enum tw_send_kind {
    TW_SEND_NONE = 0,
    TW_SEND_BYTES, /* bytes that stay where they are (schema) */
    TW_SEND_BLOB,
    TW_SEND_MANIFEST, /* text made on the way */
    TW_SEND_LOG,      /* ends at `end` */
    TW_SEND_FOLLOW,   /* never ends */
    TW_SEND_PINS,     /* neither */
    TW_SEND_TRACE,    /* nor this */
} tw_send_kind_t;

/* A stream of ours that goes out as credit and room allow. */
typedef struct tw_sender {
    uint8_t kind;
    uint16_t stream;
    uint64_t at, end; /* byte offset, or log sequence number */
    uint32_t call_id; /* cancelling the call ends the stream */
    uint32_t ref;     /* blob handle */
    const uint8_t *bytes;
    const tw_node_desc_t *desc; /* of a manifest, with the format it is for */
    tw_format_t fmt;
    uint32_t level, src_mask, limit;
} tw_sender_t;

typedef enum tw_sink_kind { TW_SINK_NONE = 0, TW_SINK_BLOB, TW_SINK_VALUE } tw_sink_kind_t;
/* A stream of the client's. */
typedef struct tw_sink {
    uint8_t kind;
    uint16_t stream;
    uint32_t ref;  /* blob handle, or token of the deferred call */
    uint32_t owed; /* credit not granted yet */
} tw_sink_t;

/* How a stream ended, for a client that had no room to hear it. */
typedef struct tw_ending {
    uint16_t stream;
    tw_err_t err; /* TW_OK: it was complete */
    uint32_t where, credit;
} tw_ending_t;

/* ---- peers and sessions -------------------------------------------------------- */
typedef struct tw_session tw_session_t;
typedef struct tw_peer {
    tw_server_t *s;
    tw_phy_link_t *link; /* NULL: free */
    tw_session_t *ses;   /* NULL before hello */
    tw_conn_t conn;
    uint8_t *in, *out, *msg; /* the buffers `conn` works in */
    tw_sender_t senders[TW_SENDERS];
    tw_sink_t sinks[TW_MAX_BLOBS + 1];
    tw_ending_t endings[TW_ENDINGS];
    uint8_t n_endings;
    uint64_t progress_us; /* opened, said hello, or the client last took bytes, or nothing was waiting */
    uint8_t nonce[16], call_key[TW_SHA256_BYTES];
    uint8_t auth_failures;
    bool authenticated;
    bool bye;
    uint8_t next_sender; /* streams take turns */
    char name[33];
} tw_peer_t;

typedef enum tw_slot_state { TW_SLOT_FREE = 0, TW_SLOT_RUNNING, TW_SLOT_DONE, TW_SLOT_UNSENT } tw_slot_state_t;
typedef struct tw_slot {
    uint32_t id;
    uint16_t len;
    uint8_t state;
    uint8_t data[TW_REPLY_SLOT + 1]; /* reply payload as it went out */
} tw_slot_t;

struct tw_session {
    bool used;
    tw_peer_t *peer; /* NULL: lost, kept for resume */
    uint64_t lost_us;
    uint8_t token[16];
    uint8_t role;
    uint16_t index;
    uint32_t max_calls, last_id;
    uint32_t outstanding, unsent;
    tw_slot_t *slots; /* s->slot_mask + 1 of them, by call id */
};

/* ---- calls -------------------------------------------------------------------------- */
typedef struct tw_call {
    tw_server_t *s;
    tw_peer_t *peer;
    tw_session_t *ses;
    uint32_t id, deadline_ms, txn;
    uint16_t stream;
    uint16_t method;
    uint32_t op; /* its number in the open transaction, which fails with it; 0 = no part of one */
} tw_call_t;

typedef struct tw_row {
    void (*run)(tw_call_t *c, const void *request);
    const pb_msgdesc_t *request;
    const char *name;
    uint16_t deadline_ms;
    uint8_t role, txn;
} tw_row_t;

typedef union tw_any_request {
#define TW_METHOD(id, Service, Method, Req, Rep, stream, ROLE, txn) tunewire_v1_##Req m_##id;
#include "protocol/methods.def"
} tw_any_request_t;

#define TW_HANDLER(Service, Method, name, deadline_ms) void tw_on_##name(tw_call_t *c, const void *request);
#include "server/handlers.def"

typedef enum tw_wait_kind {
    TW_WAIT_GET,
    TW_WAIT_READBACK,
    TW_WAIT_LOAD,
    TW_WAIT_UNLOAD,
    TW_WAIT_CONTROL,
    TW_WAIT_RUN,
    TW_WAIT_STOP,
    TW_WAIT_SCRIPT,
    TW_WAIT_COMMIT,
    TW_WAIT_CONFIRM,
    TW_WAIT_REVERT,
    TW_WAIT_ROLLBACK,
    TW_WAIT_KEEP,
    TW_WAIT_ARC_READ,
    TW_WAIT_ARC_WRITE,
    TW_WAIT_SHADOW,
    TW_WAIT_METRICS,
    TW_WAIT_IO,
    TW_WAIT_DEBUG,
    TW_WAIT_HELD,  /* for a script to be held, see handlers_debug.c */
    TW_WAIT_VALUE, /* for the client's upload */
    TW_WAIT_AUTH,  /* for time to pass */
} tw_wait_kind_t;

typedef struct tw_deferred {
    uint32_t token; /* 0: free */
    uint16_t next, prev;
    uint8_t kind;
    bool committed; /* the engine has it: cancelling cannot undo it */
    uint16_t method;
    tw_session_t *ses;
    uint32_t call_id, txn, op;
    uint64_t due_us;
    uint64_t until_us; /* of a call that waits for a script to be held */
    uint32_t a, b, c, d, version;
} tw_deferred_t;

/* ---- blobs ----------------------------------------------------------------------------- */
typedef struct tw_blob {
    uint32_t id; /* 0: free */
    uint8_t token[16], sha256[TW_SHA256_BYTES];
    tw_session_t *owner; /* NULL: its session is gone, the token still works */
    tw_peer_t *peer;     /* of the open upload stream */
    uint16_t stream;
    bool has_sha, committed;
    uint32_t kind, at, size, received, crc, crc_want, ttl_ms;
    uint64_t touched_us;
    tw_sha256_t sha;
} tw_blob_t;

/* ---- transaction ------------------------------------------------------------------------- */
typedef struct tw_txn {
    uint32_t id; /* 0: none open */
    tw_session_t *ses;
    uint64_t lease_us;
    uint32_t lease_ms, generation, ops, used, at;
    uint64_t tick;
    uint8_t *area;
    uint32_t failed_op;
    tunewire_v1_Status first_error;
    uint32_t last_expired; /* id of the last one that ran out, for a better answer */
    uint32_t next_id;
    uint32_t confirm_ms; /* of the open one, 0 none */
    uint32_t blamed;     /* node whose values do not agree */
} tw_txn_t;

/* A change that was made and waits for somebody's word (pending.c). */
typedef struct tw_pending {
    uint8_t kind;      /* tw_waits_t */
    bool going_back;   /* nobody may confirm it any more; the engine is told as soon as it takes the command */
    bool told;         /* it was */
    tw_session_t *ses; /* whose loss takes it back */
    uint32_t id, ops;
    uint64_t due_us;  /* TW_NEVER: has not happened yet */
    uint32_t reverts; /* of the engine's guard, seen so far */
    const char *why;  /* it is going back */
    const char *last; /* why something went back last */
    uint64_t tick;    /* block before which it last went back */
    uint32_t count;   /* how often something went back by itself */
} tw_pending_t;

typedef enum tw_op_kind { TW_OP_SET, TW_OP_PRESET, TW_OP_SCRIPT, TW_OP_IO } tw_op_kind_t;
typedef struct tw_op {
    uint32_t kind, number, target, index, bytes, expect_version;
} tw_op_t;

/* ---- subscriptions -------------------------------------------------------------------------- */
typedef enum tw_probe_state { TW_PROBE_OUT = 0, TW_PROBE_IN, TW_PROBE_LEAVING } tw_probe_state_t;
typedef struct tw_sub {
    tw_probe_t probe;
    uint8_t *ring_mem, *block;
    tw_session_t *ses; /* NULL: free (once the probe is out) */
    uint16_t stream;
    uint8_t state, mode, drop;
    uint32_t arc, decimate, max_rate, max_block;
    char arc_name[32];
    tw_format_t fmt;
    uint32_t phase, skip;     /* samples in the running group; frames to skip */
    double acc[32], acc2[32]; /* per channel: smallest or sum of squares; largest */
    uint32_t block_used, block_frames;
    uint32_t rec_at; /* bytes of the oldest ring record that are done with */
    uint64_t block_us, seq, budget_us;
    int64_t budget;
    uint32_t lost;      /* frames not delivered because of block drops */
    uint32_t ring_lost; /* frames that did not fit earlier probes' rings */
} tw_sub_t;

/* ---- probes ---------------------------------------------------------------------------------- */
typedef struct tw_armed {
    tw_probe_t probe;
    tw_capture_t capture;
    tw_capture_cfg_t cfg;
    uint8_t *mem;
    tw_session_t *ses; /* NULL: free (once the probe is out) */
    uint16_t stream;
    uint8_t state; /* tw_probe_state_t */
    char arc_name[32];
    uint32_t max_rate, sent, at; /* captures sent whole; points of the next one that went out */
    int64_t budget;
    uint64_t budget_us;
} tw_armed_t;

/* ---- shadows --------------------------------------------------------------------------------- */
enum { TW_SHADOW_VALUES = 1024 }; /* candidate values of one shadow, with their heads [bytes] */
typedef struct tw_double {
    uint32_t id; /* 0: free */
    tw_session_t *ses;
    uint32_t shadow, node, bytes; /* engine's number */
    uint32_t used;
    uint8_t values[TW_SHADOW_VALUES]; /* u16 index, u16 bytes, value */
} tw_double_t;

/* ---- debugger ------------------------------------------------------------------------------ */
typedef struct tw_debugger {
    tw_session_t *ses; /* NULL: nobody debugs */
    uint64_t lease_us;
    uint32_t lease_ms;
    bool leaving; /* the engine is still to be told */
} tw_debugger_t;

typedef struct tw_trace_line {
    tw_trace_t head;
    uint64_t t_us;
    uint8_t data[TW_TRACE_DATA];
} tw_trace_line_t;

/* ---- log ------------------------------------------------------------------------------------- */
typedef struct tw_log_line {
    uint64_t t_us;
    uint8_t level, src;
    char text[TW_LOG_TEXT];
} tw_log_line_t;

/* ---- the server --------------------------------------------------------------------------------- */
struct tw_server {
    tw_server_cfg_t cfg;
    tw_engine_t *e;
    uint64_t start_us, now_us;
    uint64_t counters[TW_CNT_COUNT];
    uint64_t gone_frames[3]; /* in, out, bad of connections that are gone */
    uint32_t schema_crc;
    tw_peer_t *peers, porch;
    tw_session_t *sessions;
    uint32_t slot_mask;

    tw_deferred_t *deferred;
    uint32_t n_deferred;
    uint16_t free_deferred, first_deferred; /* UINT16_MAX: none */
    uint32_t token_seq;
    uint64_t next_due_us;
    uint32_t swap_token; /* != 0: a swap or unload is on its way */
    bool have_graph;
    uint32_t graph_seen; /* generation that probes, subscriptions and shadows are of */

    tw_txn_t txn;
    tw_pending_t pending;
    tw_blob_t blobs[TW_MAX_BLOBS];
    uint8_t *blob_mem;
    uint32_t next_blob;
    tw_sub_t *subs;
    uint32_t sub_block; /* bytes of a subscription's block buffer */
    uint32_t live_subs;
    tw_armed_t *armed;
    uint32_t live_probes;
    tw_double_t doubles[TW_MAX_SHADOWS];
    uint32_t next_double;

    tw_debugger_t debugger;
    tw_trace_line_t *trace; /* the newest of cfg.trace_lines */
    uint64_t trace_seq;     /* of the next */
    tw_debug_cmd_t trace_put;
    uint32_t trace_graph; /* generation it was put for */
    bool traces;          /* somebody follows */

    tw_log_line_t *log;
    uint64_t log_seq; /* of the next line; the first is 1 */
    uint8_t log_level[8];
    tw_gpio_change_t pins[TW_PIN_CHANGES];
    uint64_t pin_seq; /* changes so far */
    int32_t use_case; /* a script asked for it, -1 none */

    tw_any_request_t request;
    uint8_t *scratch, *list; /* reply being encoded; list inside it */
    uint32_t scratch_bytes;
    uint8_t *upload; /* a value by stream, one at a time */
    uint32_t upload_token, upload_used;
    uint64_t random_seq;
    uint8_t random_state[16];
};

/** Read the clock: once at every entry into the server, not once a call. */
static inline uint64_t tw_clock(tw_server_t *s)
{
    s->now_us = s->cfg.port->now_us(s->cfg.port->ctx);
    return s->now_us;
}

/** Time of this entry into the server [us]. */
static inline uint64_t tw_now(const tw_server_t *s)
{
    return s->now_us;
}

static inline void tw_count(tw_server_t *s, unsigned counter)
{
    s->counters[counter]++;
}

/** Frames of a connection that were damaged, unexpected or skipped over. */
static inline uint32_t tw_bad_frames(const tw_peer_t *p)
{
    return p->conn.bad_frames + p->conn.in.header_crc;
}

/** Room in the send buffer that streams leave to replies. */
static inline uint32_t tw_reserve(const tw_peer_t *p)
{
    return p->conn.max_frame / 2;
}

/* dispatch.c */
const tw_row_t *tw_row(uint32_t method);
void tw_dispatch_call(tw_peer_t *p, const uint8_t *payload, uint32_t len);
/** A call larger than msg_bytes: `payload` is its beginning. */
void tw_refuse_cut(tw_peer_t *p, const uint8_t *payload, uint32_t len);
void tw_dispatch_cancel(tw_peer_t *p, uint32_t call_id);

/* reply.c: every call ends in exactly one of these */
void tw_reply(tw_call_t *c, const pb_msgdesc_t *fields, const void *msg);
void tw_reply_stream(tw_call_t *c, uint16_t stream, const pb_msgdesc_t *fields, const void *msg);
void tw_reply_list(tw_call_t *c, const tw_rpc_list_t *l);
void tw_reply_status(tw_call_t *c, const tunewire_v1_Status *st, const pb_msgdesc_t *fields, const void *msg);
void tw_fail(tw_call_t *c, tw_err_t err, uint32_t where, const char *text);
/** Refuse a call that has no slot: nothing is stored. */
void tw_refuse(tw_peer_t *p, uint32_t call_id, tw_err_t err, const char *text);
/** A payload written in place was sent: keep it for a repeat. */
void tw_reply_sent(tw_call_t *c, const uint8_t *payload, uint32_t len);
void tw_reply_repeat(tw_peer_t *p, tw_slot_t *slot);
void tw_flush_unsent(tw_peer_t *p);
/** Bytes a list may take so that its reply fits one frame. */
void tw_list_begin(tw_call_t *c, tw_rpc_list_t *l);
/** As much as the send buffer takes now, for lists that cannot be read on. */
void tw_list_begin_long(tw_call_t *c, tw_rpc_list_t *l);
/** Append how many there are in all; there is always room for it. */
void tw_list_total(tw_rpc_list_t *l, uint32_t field, uint32_t total);

/* deferred.c */
void tw_deferred_init(tw_server_t *s);
/** NULL: none free; the call has been answered BUSY. */
tw_deferred_t *tw_defer(tw_call_t *c, tw_wait_kind_t kind);
/**
 * The commands of a deferred call are put, or not (`err`): publish them.
 * @return false: nothing is queued, the call was answered
 */
bool tw_hand_over(tw_call_t *c, tw_deferred_t *d, tw_err_t err);
#define TW_TEXT_QUEUE_FULL "it takes no more before its next block"
#define TW_TEXT_GRAPH_WENT "the graph changed before this was done"
/** Forget it without an answer. */
void tw_undefer(tw_server_t *s, tw_deferred_t *d);
tw_deferred_t *tw_deferred_by_token(tw_server_t *s, uint32_t token);
tw_call_t tw_deferred_call(tw_server_t *s, const tw_deferred_t *d);
void tw_deferred_reply(tw_server_t *s, const tw_engine_reply_t *r);
void tw_deferred_expire(tw_server_t *s, uint64_t now);
/** @return true when the call was waiting and could be cancelled. */
bool tw_deferred_cancel(tw_server_t *s, tw_session_t *ses, uint32_t call_id);
/** Take out a call of this kind whose `b` is another number. @return false: there is none */
bool tw_deferred_take(tw_server_t *s, tw_wait_kind_t kind, uint32_t b, tw_deferred_t *out);
/** True when a call waits for the engine, not for something to happen. */
bool tw_deferred_urgent(const tw_server_t *s);
/** The connection is gone: uploads and reads end, what the engine has goes on. */
void tw_deferred_lost(tw_server_t *s, tw_session_t *ses);
/** The session is gone: nobody wants the answers. */
void tw_deferred_forget(tw_server_t *s, tw_session_t *ses);

/* session.c */
void tw_session_hello(tw_peer_t *p, const uint8_t *data, uint32_t len);
/** The owner is back and proved: give it what was kept. */
void tw_session_back(tw_peer_t *p);
void tw_session_lost(tw_session_t *ses);
void tw_session_end(tw_server_t *s, tw_session_t *ses);
void tw_sessions_expire(tw_server_t *s, uint64_t now, uint64_t *next);
void tw_server_random(tw_server_t *s, uint8_t *out, size_t n);

/* auth.c */
bool tw_auth_needed(const tw_server_t *s);
/** Has the client shown the key, or is there none? Until then it gets no reply, stream or block of its session. */
static inline bool tw_may_hear(const tw_peer_t *p)
{
    return p->authenticated || !tw_auth_needed(p->s);
}
/** Check the MAC of a call; true when none is needed. */
bool tw_auth_call(tw_peer_t *p, const tunewire_v1_CallHeader *h, const uint8_t *mac, uint32_t mac_len,
                  const uint8_t *request, uint32_t request_len);
void tw_auth_answer(tw_call_t *c);

/* sender.c */
tw_sender_t *tw_sender_open(tw_call_t *c, tw_send_kind_t kind);
void tw_senders_pump(tw_peer_t *p);
bool tw_senders_idle(const tw_peer_t *p);
/** End the stream a call opened. @return false: there is none */
bool tw_sender_cancel(tw_peer_t *p, uint32_t call_id);
/** End a stream of either direction: complete (TW_OK, ours only) or with a status; told when there is room to. */
void tw_stream_end(tw_peer_t *p, uint16_t stream, tw_err_t err, uint32_t where);
/** Tell what could not be told before. */
void tw_endings_flush(tw_peer_t *p);

/* sink.c */
/** Open a stream of the client's, or (stream 0) one of ours for it to send on. NULL: id not usable, none free. */
tw_sink_t *tw_sink_open(tw_peer_t *p, uint16_t stream, tw_sink_kind_t kind, uint32_t ref);
void tw_sink_close(tw_peer_t *p, uint16_t stream);
void tw_sink_data(tw_peer_t *p, const tw_conn_event_t *ev);
void tw_sink_damaged(tw_peer_t *p, uint16_t stream);
void tw_sinks_grant(tw_peer_t *p);

/* manifest_text.c */
/** Text of a node type; writes [at, at + n) of it. @return its whole length */
uint32_t tw_manifest_text(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t at, uint8_t *out, uint32_t n);

/* blob.c */
tw_blob_t *tw_blob_by_id(tw_server_t *s, uint32_t id);
/** As a session may see it: its own by handle, any by token (with handle 0 or the right one). */
tw_blob_t *tw_blob_find(tw_server_t *s, const tw_session_t *ses, uint32_t id, const uint8_t *token, uint32_t token_len);
tw_err_t tw_blob_open(tw_call_t *c, const tunewire_v1_BlobOpen *q, tw_blob_t **out, char *text, size_t cap);
tw_err_t tw_blob_attach(tw_call_t *c, tw_blob_t *b, uint64_t resume_from);
uint32_t tw_blob_chunk(const tw_peer_t *p, uint32_t wanted);
tw_err_t tw_blob_commit(tw_server_t *s, tw_blob_t *b, char *text, size_t cap);
/** Next piece; *expected = the offset it should have had. */
tw_err_t tw_blob_data(tw_server_t *s, uint32_t id, uint64_t offset, const uint8_t *data, uint32_t n,
                      uint32_t *expected);
uint32_t tw_blob_expected(tw_server_t *s, uint32_t id);
void tw_blob_detach(tw_server_t *s, uint32_t id);
void tw_blob_free(tw_blob_t *b);
void tw_blobs_peer_gone(tw_server_t *s, const tw_peer_t *p);
void tw_blobs_session_gone(tw_server_t *s, const tw_session_t *ses);
void tw_blobs_expire(tw_server_t *s, uint64_t now, uint64_t *next);
static inline const uint8_t *tw_blob_bytes(const tw_server_t *s, const tw_blob_t *b)
{
    return s->blob_mem + b->at;
}

/* txn.c */
/** TW_OK, or PARAM_VERSION when the node's parameters changed meanwhile (handlers_param.c). */
tw_err_t tw_param_version_is(tw_server_t *s, uint32_t node, uint32_t version);
/** Is the call part of the open transaction? Renews the lease. false: the call was answered. */
bool tw_txn_check(tw_call_t *c);
/** Stage an operation that has passed its check. @return TXN_FULL */
tw_err_t tw_txn_stage(tw_call_t *c, const tw_op_t *op, const uint8_t *value);
/** A staged operation was refused: Commit will say so (tw_fail() does this). */
void tw_txn_note_failure(tw_call_t *c, const tunewire_v1_Status *st);
void tw_txn_drop(tw_server_t *s);
void tw_txn_expire(tw_server_t *s, uint64_t now, uint64_t *next);

/* pending.c */
/** A change was handed to the engine and waits to be confirmed. @param ms  0: from when tw_pending_begins() says so */
void tw_pending_set(tw_call_t *c, tw_waits_t kind, uint32_t id, uint32_t ops, uint32_t ms);
void tw_pending_begins(tw_server_t *s, uint32_t id, uint32_t ms);
/** It did not happen, or is confirmed, or its graph is gone. */
void tw_pending_clear(tw_server_t *s);
/** Does nothing wait? Otherwise the call was answered UNCONFIRMED. */
bool tw_pending_none(tw_call_t *c);
void tw_pending_lost(tw_server_t *s, const tw_session_t *ses);
void tw_pending_poll(tw_server_t *s, uint64_t now, uint64_t *next);
/** The engine's answer to taking back what nobody confirmed. */
void tw_pending_done(tw_server_t *s, const tw_engine_reply_t *r);
#define TW_TOKEN_PENDING (TW_TOKEN_BOOT | 1u)

/* subscribe.c */
tw_err_t tw_sub_open(tw_call_t *c, const tunewire_v1_SubReq *q, tw_sub_t **out, char *text, size_t cap);
tw_sub_t *tw_sub_find(tw_server_t *s, const tw_session_t *ses, uint32_t id);
/** End the stream, with a status unless TW_OK; the probe follows. */
void tw_sub_close(tw_sub_t *sub, tw_err_t err);
void tw_subs_pump(tw_server_t *s, uint64_t now);
/** The engine let go of a probe. */
void tw_sub_unprobed(tw_server_t *s, uint32_t index);
/** Another graph runs (or none): the engine holds no probe any more. */
void tw_subs_graph_changed(tw_server_t *s);
void tw_subs_session_gone(tw_server_t *s, const tw_session_t *ses);
void tw_subs_resume(tw_server_t *s, tw_session_t *ses);
#define TW_TOKEN_SUB 0x80000000u
#define TW_TOKEN_BOOT 0xC0000000u

/* A bucket of a quarter second, or of one message where that is more. */
bool tw_within_rate(uint32_t max_rate, int64_t *budget, uint64_t *budget_us, uint64_t now, uint32_t bytes);

/* probe.c; tokens are TW_TOKEN_SUB | max_subs + index */
tw_err_t tw_armed_open(tw_call_t *c, const tunewire_v1_ProbeReq *q, tw_armed_t **out, uint32_t *where,
                       const char **text);
tw_armed_t *tw_armed_find(tw_server_t *s, const tw_session_t *ses, uint32_t id);
void tw_armed_close(tw_armed_t *a, tw_err_t err);
void tw_armed_pump(tw_server_t *s, uint64_t now);
void tw_armed_out(tw_server_t *s, uint32_t index);
void tw_armed_graph_changed(tw_server_t *s);
void tw_armed_session_gone(tw_server_t *s, const tw_session_t *ses);

/* handlers_shadow.c */
/** Another graph runs: its shadows are gone. */
void tw_doubles_graph_changed(tw_server_t *s);
void tw_doubles_session_gone(tw_server_t *s, const tw_session_t *ses);

/* handlers_debug.c */
void tw_debugger_session_gone(tw_server_t *s, const tw_session_t *ses);
/** Another graph runs: nobody debugs it. */
void tw_debugger_graph_changed(tw_server_t *s);
void tw_debugger_pump(tw_server_t *s, uint64_t now, uint64_t *next);
/** A call that waited for a script to be held has waited long enough: tell it how things stand. */
void tw_debugger_ask(tw_call_t *c, const tw_deferred_t *was);

/* trace.c */
void tw_trace_pump(tw_server_t *s);
/** Next record for this stream, which snd->at then names. @return false: none yet */
bool tw_trace_next(tw_server_t *s, tw_sender_t *snd, tunewire_v1_Event *m);

/* reduce.c */
/** One sample as a number; 0 for types tw_raw_sampled() does not know. */
double tw_sample_value(uint32_t raw, const uint8_t *p);
void tw_reduce_reset(tw_sub_t *sub);
/** Bytes one frame may add to the block. */
uint32_t tw_reduce_bound(const tw_sub_t *sub);
void tw_reduce_frame(tw_sub_t *sub, const uint8_t *frame);
/** ArcBlock.format: [7:0] raw type of the data, [15:8] channels, [23:16] mode. */
uint32_t tw_reduce_format(const tw_sub_t *sub);

/* handlers_gpio.c */
/** Changes the board has made since, for those who watch. */
void tw_gpio_drain(tw_server_t *s);
/** State behind place `at` of a watcher, 0 to begin with. @return its next place; `at`: there is none yet */
uint64_t tw_gpio_next(tw_server_t *s, uint64_t at, tunewire_v1_GpioState *m);

/* log.c */
void tw_log_event(tw_server_t *s, const tw_engine_reply_t *r);
/** Next line at or after *seq that passes; advances *seq past it. NULL: none yet. */
const tw_log_line_t *tw_log_next(tw_server_t *s, uint64_t *seq, uint32_t level, uint32_t src_mask);

/* handlers_graph.c */
void tw_swap_done(tw_server_t *s, const tw_engine_reply_t *r);
/** The engine may have gone back by itself: before anything new is attached to the graph, what was attached to the one
 *  that left is taken for gone. Nothing happens while a swap is on its way. */
void tw_graph_look(tw_server_t *s);
/** Is this the one graph? false: the call was answered. */
bool tw_graph_ok(tw_call_t *c, uint32_t graph);
/** No swap on its way? false: the call was answered. */
bool tw_graph_settled(tw_call_t *c);
void tw_fill_graph(tw_server_t *s, tunewire_v1_GraphInfo *g);

/** A node type's parameters, NULL and 0 when it has none. */
static inline const tw_param_desc_t *tw_node_params(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t *n)
{
    *n = 0;
    return d->params != NULL ? d->params(fmt, n) : NULL;
}

/* param_text.c */
typedef struct tw_param_ref {
    uint32_t node, index;
    const uint8_t *value;
    uint32_t bytes;
} tw_param_ref_t;
void tw_param_text(tw_server_t *s, const tw_param_ref_t *q, const tw_fault_t *fault, char *buf, size_t cap);
/** Values of the open group, each fine alone, as they will be with their node's others. @return as *st says; *node */
tw_err_t tw_values_together(tw_server_t *s, uint32_t *node, tunewire_v1_Status *st);

/* handlers_param.c */
/** The node of that number; false: the call was answered. */
bool tw_node_ok(tw_call_t *c, uint32_t number, tw_engine_node_t *node);
void tw_param_set(tw_call_t *c, const tw_hot_set_t *q);
/** A value by stream: next piece, and the end of it. */
tw_err_t tw_value_data(tw_server_t *s, uint32_t token, uint64_t offset, const uint8_t *data, uint32_t n,
                       uint32_t *expected);
void tw_value_end(tw_server_t *s, uint32_t token, bool whole);

/* answers of the engine to calls that waited, by kind */
void tw_done_get(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_readback(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_load(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_unload(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_control(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_run(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_script(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_stop(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_commit(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_confirm(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_rollback(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_io(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_keep(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_arc_read(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_arc_write(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_shadow(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_debug(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
void tw_done_metrics(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r);
