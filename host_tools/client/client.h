/* client.h - the host's side of a Tunewire connection, as a C library.
 *
 * Connects to a device by URI, says hello, proves a key where one is asked for,
 * and makes calls: one at a time, or many in flight. Blocking sockets and
 * poll(); no threads, no globals, no output. It knows messages and streams; it
 * knows nothing of command lines, terminals or files other than a key.
 *
 * Every function that can fail returns false and leaves the reason in
 * tw_client_error(). A failed call leaves the connection usable; a lost one is
 * made again with tw_client_reconnect(). Callbacks run inside a function of the
 * client and must not call it. Strings from a device hold neither control
 * characters nor broken UTF-8.
 *
 * Source of all meaning: docs/WIRE_PROTOCOL.md.
 */
#pragma once
#include "protocol/rpc.h"
#include <signal.h>

#define TW_CLIENT_DEFAULT_URI "tcp://127.0.0.1:5600"
#define TW_CLIENT_URI_ENV "TUNEWIRE_TARGET"

typedef struct tw_client tw_client_t;

/* ---- errors ------------------------------------------------------------------ */
typedef enum tw_client_kind {
    TW_CLIENT_OK = 0,
    TW_CLIENT_DEVICE,   /* the device answered with a failure: status, detail, where */
    TW_CLIENT_USAGE,    /* a URI, key or argument that cannot be used */
    TW_CLIENT_REFUSED,  /* no connection: nobody there, no hello, key not accepted */
    TW_CLIENT_TIMEOUT,  /* connected, but no answer in time */
    TW_CLIENT_CLOSED,   /* the connection ended under us */
    TW_CLIENT_PROTOCOL, /* the peer's bytes are not this protocol, or were damaged */
    TW_CLIENT_STOPPED,  /* the caller's stop flag was raised */
    TW_CLIENT_MEMORY,
} tw_client_kind_t;

typedef struct tw_client_error {
    tw_client_kind_t kind;
    uint32_t status; /* tw_status_t; DEVICE only */
    uint32_t detail; /* number of errors.def; 0 unknown */
    uint32_t where;  /* node, index or byte offset, as the error's family says */
    char text[192];  /* what happened */
    char hint[160];  /* what to do about it; may be empty */
} tw_client_error_t;

/** The reason of the last failure; never NULL. Valid until the next call. */
const tw_client_error_t *tw_client_error(const tw_client_t *c);
/** What to do about a device error, or "" (client_hints.def). */
const char *tw_client_hint(uint32_t status, uint32_t detail);

/* ---- URIs and keys -------------------------------------------------------------- */
typedef struct tw_uri {
    char host[256];
    uint16_t port;
} tw_uri_t;

/**
 * Read "tcp://HOST:PORT", "HOST:PORT", "HOST", "[v6]:PORT"; a missing port is 5600.
 * @return false with the reason in `why`
 */
bool tw_uri_parse(const char *text, tw_uri_t *out, char *why, size_t why_n);

typedef struct tw_key {
    char id[17];
    uint8_t bytes[64];
    uint32_t len; /* 0: no key */
} tw_key_t;

/**
 * Read a key text: "ID:HEX", or "HEX" with id "default"; blanks around it and lines that begin with '#'
 * are ignored. 16..64 bytes of key.
 * @return false with the reason in `why`
 */
bool tw_key_parse(const char *text, size_t n, tw_key_t *out, char *why, size_t why_n);
/** tw_key_parse() on a file. */
bool tw_key_read(const char *path, tw_key_t *out, char *why, size_t why_n);

/* ---- connection ------------------------------------------------------------------- */
typedef struct tw_client_cfg {
    const char *uri;                   /* NULL: TUNEWIRE_TARGET, else TW_CLIENT_DEFAULT_URI */
    const tw_key_t *key;               /* NULL: none; copied */
    const char *name;                  /* HelloReq.client; NULL: "tunewire" */
    uint32_t timeout_ms;               /* connect, and default deadline of a call; 0: 5000 */
    const volatile sig_atomic_t *stop; /* raised by a signal handler: calls return STOPPED; may be NULL */
} tw_client_cfg_t;

/**
 * Connect, say hello, authenticate. Always gives a handle (NULL only without memory): on failure it holds
 * the error and can be closed or reconnected.
 * @param ok  out
 */
tw_client_t *tw_client_open(const tw_client_cfg_t *cfg, bool *ok);
/** Say goodbye if still connected, and free everything. NULL is fine. */
void tw_client_close(tw_client_t *c);
/** Connect again and resume the session; calls in flight fail as CLOSED, sinks end. */
bool tw_client_reconnect(tw_client_t *c);
bool tw_client_alive(const tw_client_t *c);
/** What the device said in its hello; `role` granted by authentication. */
const tunewire_v1_HelloRep *tw_client_hello(const tw_client_t *c);
uint32_t tw_client_role(const tw_client_t *c);
/** "HOST:PORT" for messages. */
const char *tw_client_peer(const tw_client_t *c);

/* ---- calls ---------------------------------------------------------------------------- */
/**
 * Receiver of a stream the device opens (`stream` methods). Owned by the caller; it must stay until `ended`
 * or tw_client_drop(). Credit is given back as data() returns.
 */
typedef struct tw_client_sink {
    /** One type-2 payload: a message, or u64 offset and bytes. @return false: end with STOPPED. */
    bool (*data)(void *ctx, const uint8_t *p, uint32_t n);
    void *ctx;
    /* set by the client */
    uint16_t stream; /* 0 = not open */
    bool ended;
    uint32_t owed;         /* bytes taken, credit not yet returned */
    tw_client_error_t err; /* why it ended, kind OK when it was complete */
} tw_client_sink_t;

typedef struct tw_client_call {
    uint32_t method;        /* TW_M_<Service>_<Method> */
    const void *request;    /* nanopb struct of the method's request; NULL = empty */
    void *response;         /* nanopb struct to decode into when the reply comes; NULL = not wanted.
                               Callback fields must be set before. */
    uint32_t txn;           /* stage into this transaction; 0 none */
    uint16_t stream;        /* CallHeader.stream: a stream opened with tw_client_stream() */
    uint32_t deadline_ms;   /* 0: the configured timeout */
    tw_client_sink_t *sink; /* where the method's stream goes */
} tw_client_call_t;

/** Call and wait. */
bool tw_client_call(tw_client_t *c, const tw_client_call_t *call);
/** Send only; many may be in flight (waits while `max_calls` are). @return call id, 0 on failure */
uint32_t tw_client_begin(tw_client_t *c, const tw_client_call_t *call);
/** Wait for a call begun; each id once. */
bool tw_client_end(tw_client_t *c, uint32_t id);
/** Handle what arrives for up to `ms`. @return false when the connection is lost or STOPPED */
bool tw_client_pump(tw_client_t *c, uint32_t ms);
/** Wait until a sink ended. @return true when its stream was complete */
bool tw_client_wait(tw_client_t *c, tw_client_sink_t *sink, uint32_t ms);
/** Forget a sink; data still coming for it is dropped. */
void tw_client_drop(tw_client_t *c, tw_client_sink_t *sink);

/** Open a stream for sending bytes to the device; 0 on failure. */
uint16_t tw_client_stream(tw_client_t *c);

/** Told about an upload: bytes done of all. */
typedef void (*tw_progress_fn)(void *ctx, uint64_t done, uint64_t total);
/** Send bytes [from, n) on a stream as credit allows, FIN on the last. */
bool tw_client_stream_send(tw_client_t *c, uint16_t stream, const uint8_t *data, uint64_t from, uint64_t n,
                           uint32_t chunk, tw_progress_fn progress, void *ctx);

/** A growing block of bytes; free(data). */
typedef struct tw_bytes {
    uint8_t *data;
    size_t n, cap;
} tw_bytes_t;
/** Append. @return false without memory, the block as it was */
bool tw_bytes_add(tw_bytes_t *b, const void *data, size_t n);
/** Call a `stream Chunk` method and collect its bytes; offsets are checked. */
bool tw_client_download(tw_client_t *c, uint32_t method, const void *request, tw_bytes_t *out);

/* ---- typed helpers ------------------------------------------------------------------------ */
/* Lists, read to their end through `first`. Rows are malloc'ed: free(rows). */
typedef struct tw_nodes {
    tunewire_v1_NodeInfo *rows;
    uint32_t n;
} tw_nodes_t;
typedef struct tw_arcs {
    tunewire_v1_ArcInfo *rows;
    uint32_t n;
} tw_arcs_t;
typedef struct tw_ios {
    tunewire_v1_IoInfo *rows;
    uint32_t n;
} tw_ios_t;
typedef struct tw_params {
    tunewire_v1_ParamDesc *rows;
    uint32_t n;
} tw_params_t;
typedef struct tw_scripts {
    tunewire_v1_ScriptInfo *rows;
    uint32_t n;
} tw_scripts_t;
typedef struct tw_counters {
    tunewire_v1_Counter *rows;
    uint32_t n;
    uint64_t boot_id, uptime_us;
} tw_counters_t;
bool tw_client_nodes(tw_client_t *c, tw_nodes_t *out);
bool tw_client_arcs(tw_client_t *c, tw_arcs_t *out);
bool tw_client_ios(tw_client_t *c, tw_ios_t *out);
bool tw_client_params(tw_client_t *c, uint32_t node, tw_params_t *out);
bool tw_client_scripts(tw_client_t *c, tw_scripts_t *out);
bool tw_client_stats(tw_client_t *c, tw_counters_t *out);

enum { TW_BLOB_GRAPH = 1, TW_BLOB_MODEL = 2, TW_BLOB_PARAMS = 3, TW_BLOB_SCRIPT = 4, TW_BLOB_RAW = 8 };
/**
 * Upload and commit a blob. A lost connection is made again (three times) and the transfer goes on where the
 * device's checksum agrees with ours. On failure the device keeps nothing.
 * @param blob  out, handle for Graph.Load and others
 */
bool tw_client_upload(tw_client_t *c, uint32_t kind, const char *name, const uint8_t *data, uint64_t n,
                      tw_progress_fn progress, void *ctx, uint32_t *blob);
/**
 * Upload an image and make it the device's graph.
 * @param how  start, fade_ms, carry and confirm_ms count; a graph that runs is replaced
 */
bool tw_client_load_graph(tw_client_t *c, const char *name, const uint8_t *image, uint64_t n,
                          const tunewire_v1_GraphLoad *how, tw_progress_fn progress, void *ctx,
                          tunewire_v1_GraphInfo *out);
/** Go back to the graph before the last load. */
bool tw_client_rollback(tw_client_t *c, uint32_t fade_ms, tunewire_v1_GraphInfo *out);
/** The last word on what waits to be confirmed, whoever began it: keep it, or take it back. @param g  as
 * tw_client_graph_info() */
bool tw_client_confirm(tw_client_t *c, const tunewire_v1_GraphInfo *g, bool keep, uint64_t *tick);
bool tw_client_graph_info(tw_client_t *c, tunewire_v1_GraphInfo *out);
bool tw_client_control(tw_client_t *c, tunewire_v1_GraphCtl_Op op, uint32_t steps, tunewire_v1_GraphInfo *out);

#define TW_CLIENT_ALL 256u /* parameter index: the whole block */
/** Read a parameter whole, however long. @param type, version may be NULL */
bool tw_client_get(tw_client_t *c, uint32_t node, uint32_t index, tw_bytes_t *value, uint32_t *type, uint32_t *version);
/** Set a parameter (staged when txn != 0); long values go by stream. @param ack may be NULL */
bool tw_client_set(tw_client_t *c, uint32_t txn, uint32_t node, uint32_t index, uint32_t type, const uint8_t *value,
                   uint32_t n, tunewire_v1_ParamAck *ack);

/** One operation of tw_client_set_many(). */
typedef struct tw_set_op {
    uint32_t node, index, type, n;
    const uint8_t *value;
} tw_set_op_t;
/**
 * All or nothing, in one transaction; sets travel pipelined.
 * @param tick    0: the next block; else exactly this one
 * @param confirm_ms  0: for good; else tw_client_confirm() must come within so long, while connected
 * @param failed  out, index of the operation refused, `n` when none was; may be NULL
 */
bool tw_client_set_many(tw_client_t *c, const tw_set_op_t *ops, uint32_t n, uint64_t tick, uint32_t confirm_ms,
                        tunewire_v1_TxnRep *out, uint32_t *failed);

/**
 * Install code (inline or by blob as its size asks).
 * @param n           bytes in all: code, zeros to a multiple of 4, literals
 * @param code_bytes  of the code; 0: all of it is code
 */
bool tw_client_script_load(tw_client_t *c, uint32_t index, const uint8_t *code, uint32_t n, uint32_t code_bytes,
                           tunewire_v1_ScriptInfo *out);

/** One block of a watched arc. */
typedef struct tw_block {
    uint32_t sub, dropped, format;
    uint64_t seq, t_us;
    const uint8_t *data;
    uint32_t n;
} tw_block_t;
typedef struct tw_watch {
    /** @return false to stop */
    bool (*block)(void *ctx, const tw_block_t *b);
    void *ctx;
    uint32_t sub;
    tw_client_sink_t sink;
} tw_watch_t;
/** Subscribe; blocks come while the client pumps. `w` must stay until tw_client_unwatch(). */
bool tw_client_watch(tw_client_t *c, const tunewire_v1_SubReq *req, tw_watch_t *w);
/** A call that ends what was begun: also after the stop flag was raised, errors kept as they were. `sink` (or NULL) is
 *  dropped; nothing is called when its stream is over. */
void tw_client_tidy(tw_client_t *c, uint32_t method, const void *request, tw_client_sink_t *sink);
/** Unsubscribe; the stream is dropped even when the device does not answer. */
void tw_client_unwatch(tw_client_t *c, tw_watch_t *w);

typedef struct tw_log {
    bool (*line)(void *ctx, const tunewire_v1_LogLine *l);
    void *ctx;
    tw_client_sink_t sink;
} tw_log_t;
/** Read the log kept by the device, oldest first, to its end. */
bool tw_client_log_read(tw_client_t *c, uint32_t level, uint32_t limit, tw_log_t *l);
/** Lines come while the client pumps, until tw_client_drop(c, &l->sink). */
bool tw_client_log_follow(tw_client_t *c, uint32_t level, tw_log_t *l);

/* ---- pins ------------------------------------------------------------------------------------ */
typedef struct tw_pins {
    bool (*state)(void *ctx, const tunewire_v1_GpioState *s); /* @return false: enough */
    void *ctx;
    tw_client_sink_t sink;
} tw_pins_t;
/** The levels there are, then each change, while the client pumps, until tw_client_drop(c, &p->sink). */
bool tw_client_pins_watch(tw_client_t *c, tw_pins_t *p);

/* ---- hot path, for control loops and benchmarks ---------------------------------------------- */
/** Queue a Param.Set without looking at its reply; sent at the next flush. @return call id, 0: failed */
uint32_t tw_client_set_fast_begin(tw_client_t *c, uint32_t node, uint32_t index, uint32_t type, const void *value,
                                  uint32_t n);
/** Wait until no more than `in_flight` fast sets are unanswered. @return false when one was refused */
bool tw_client_set_fast_wait(tw_client_t *c, uint32_t in_flight);
/** One Param.Set and its reply, without a decoded message on the way. */
bool tw_client_set_fast(tw_client_t *c, uint32_t node, uint32_t index, uint32_t type, const void *value, uint32_t n);
