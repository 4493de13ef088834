/* server.h - sessions, calls, transactions, blobs, subscriptions: the one place
 * where the protocol and the engine meet.
 *
 * One thread calls everything here (the engine's control side is this thread
 * too). No I/O and no allocation: bytes come and go through a phy's callbacks,
 * memory is given at init. Sized for 2 KB sessions on a device and for megabytes
 * on a host by tw_server_cfg_t alone.
 */
#pragma once
#include "engine/engine.h"
#include "phy/phy.h"
#include "server/crypto.h"

typedef struct tw_server tw_server_t;

/** What records into files, for a server that does no I/O itself; called from the server's thread. */
typedef enum tw_record_phase {
    TW_RECORD_NONE,
    TW_RECORD_WAITS, /* for the next graph that is loaded */
    TW_RECORD_RECORDS,
    TW_RECORD_ENDS, /* asked to: the last bytes are on their way */
    TW_RECORD_ENDED,
} tw_record_phase_t;
typedef struct tw_record_state {
    tw_record_phase_t phase;
    const char *name; /* of the file, without its folder */
    uint64_t bytes;
    const char *why; /* it ended before it was asked to; NULL: it did not */
} tw_record_state_t;
typedef struct tw_record_calls {
    void *ctx;
    /** @param name  letters, digits, ._- and no dot in front
     *  @return TW_OK; UNSUPPORTED: no folder was given; BUSY: one is under way; EXISTS; RECORD_FILE, then *why */
    tw_err_t (*start)(void *ctx, const char *name, bool outputs, const char **why);
    /** @return STATE: nothing is recorded */
    tw_err_t (*stop)(void *ctx);
    void (*state)(void *ctx, tw_record_state_t *out);
} tw_record_calls_t;

typedef struct tw_server_cfg {
    const tw_port_t *port;
    tw_engine_t *engine;
    const tw_crypto_t *crypto; /* NULL: no keys and no SHA-256 checks on this device */
    const char *name, *build;  /* HelloRep.server, .build; at most 32 bytes */
    uint64_t boot_id;          /* changes at every start */
    uint32_t max_frame;        /* 256..65536 */
    uint32_t window;           /* credit a stream starts with [bytes] */
    uint32_t max_calls;        /* 1..TW_MAX_CALLS */
    uint32_t max_sessions;     /* 1..TW_MAX_SESSIONS */
    uint32_t out_bytes;        /* send buffer of a session, >= 2 * max_frame */
    uint32_t msg_bytes;        /* largest message accepted, >= max_frame */
    uint32_t blob_bytes;       /* all blobs together */
    uint32_t probe_bytes;      /* ring of one subscription, power of two */
    uint32_t max_subs;
    uint32_t max_probes;    /* armed at a time, all sessions; at most TW_MAX_PROBES */
    uint32_t capture_bytes; /* memory of one armed probe, multiple of 64 */
    uint32_t trace_lines;   /* records of scripts' traces that are kept, power of two; 0: no traces */
    uint32_t txn_bytes;     /* operations one transaction may stage */
    uint32_t resume_ms;     /* a lost session is kept this long; default 30000 */
    const uint8_t *key;     /* pre-shared key, NULL: everyone has `open_role` */
    uint32_t key_len;
    const char *key_id;
    uint8_t open_role; /* TW_ROLE_* without a key */
    /** A log line was added (any level): the port may print it. May be NULL. */
    void (*log)(void *ctx, uint32_t level, uint32_t src, const char *text);
    void *log_ctx;
    /** A script asked for use case `id`: the graph has it already; a port may bring another graph for it, with
     *  tw_server_boot_graph(). @return BUSY: ask again with the next poll. May be NULL */
    tw_err_t (*use_case)(void *ctx, uint32_t id);
    void *use_case_ctx;
    const tw_record_calls_t *record; /* NULL: this device records nothing */
} tw_server_cfg_t;

size_t tw_server_need(const tw_server_cfg_t *cfg);
/** @return TW_E_NOMEM, TW_E_ARG (a limit out of range) */
tw_err_t tw_server_init(tw_server_t **out, const tw_server_cfg_t *cfg, void *mem, size_t bytes);

/** Callbacks for a transport; any number of transports may share a server. */
tw_phy_user_t tw_server_phy_user(tw_server_t *s);

/**
 * Drain the engine's replies and events, expire leases and deadlines, pump streams.
 * @return microseconds until the next call is due; 0 = soon; UINT32_MAX = when bytes come
 */
uint32_t tw_server_poll(tw_server_t *s);

/** True while a call waits for the engine or a subscription runs: poll again now, not at the time last given. */
bool tw_server_waiting(const tw_server_t *s);

/** Load and start a graph image as the device's own (boot graph). As Graph.Load. */
tw_err_t tw_server_boot_graph(tw_server_t *s, const uint8_t *image, uint32_t bytes, tw_fault_t *fault);

/* log levels and sources (LogLine.level, .src) */
enum { TW_LOG_ERROR = 1, TW_LOG_WARN = 2, TW_LOG_INFO = 3, TW_LOG_DEBUG = 4 };
enum { TW_SRC_SERVER = 1, TW_SRC_SESSION = 2, TW_SRC_GRAPH = 3, TW_SRC_SCRIPT = 4, TW_SRC_IO = 5, TW_SRC_PHY = 6 };
void tw_server_log(tw_server_t *s, uint32_t level, uint32_t src, const char *text);
