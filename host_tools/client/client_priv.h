/* client_priv.h - the client's state, shared by client_*.c. */
#pragma once
#include "host_tools/client/client.h"
#include "protocol/conn.h"

enum {
    CLIENT_MAX_FRAME = 65536,
    CLIENT_WINDOW = 1 << 20, /* what a device may send ahead of us on one stream */
    CLIENT_OUT = 1 << 19,
    CLIENT_MSG = 1 << 20, /* largest reply accepted */
    CLIENT_CALLS = 64,
    CLIENT_GRACE_MS = 500, /* the device answers a missed deadline itself; wait that much longer */
};

typedef struct call {
    uint32_t id; /* 0 = free */
    uint32_t method;
    bool done, fast;
    uint16_t stream; /* of ours that it names, 0 = none */
    void *response;
    tw_client_sink_t *sink;
    int64_t until_ms;
    tw_client_error_t err;
} call_t;

struct tw_client {
    tw_uri_t uri;
    char peer[300], name[33];
    tw_key_t key;
    uint32_t timeout_ms;
    const volatile sig_atomic_t *stop;

    int fd; /* -1 = not connected */
    tw_conn_t conn;
    uint8_t *in, *out, *msg;
    bool hello_done;
    tunewire_v1_HelloRep hello;
    uint32_t role;
    bool keyed;
    uint8_t call_key[32];

    uint32_t last_call, in_flight, max_calls, fast_in_flight;
    bool fast_failed;
    call_t calls[CLIENT_CALLS];
    tw_client_sink_t *sinks[TW_CONN_STREAMS];
    uint16_t refused; /* stream of ours that the device ended or never took, 0 = none; `refusal` says why */
    tw_client_error_t refusal;
    tw_client_error_t err;
};

int64_t client_now_ms(void);

/* client_error.c */
/** Set the error; always returns false so that callers can return it. */
bool client_fail(tw_client_t *c, tw_client_kind_t kind, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void client_status_error(tw_client_error_t *e, const tunewire_v1_Status *s);

/* client_io.c */
typedef enum pump { PUMP_OK, PUMP_TIMEOUT, PUMP_LOST } pump_t;
/** One round: send what is queued, wait until `until_ms` for bytes, handle them. LOST leaves c->err set. */
pump_t client_pump(tw_client_t *c, int64_t until_ms);
/** Send what is queued without waiting. */
bool client_flush(tw_client_t *c);
/** The connection is gone: close the socket, fail calls in flight with c->err, end sinks. */
void client_lost(tw_client_t *c);

/* client_call.c */
void client_on_reply(tw_client_t *c, const uint8_t *p, uint32_t n);
void client_on_damaged_reply(tw_client_t *c);
void client_on_data(tw_client_t *c, const tw_conn_event_t *ev);
void client_end_sink(tw_client_t *c, tw_client_sink_t *s, const tw_client_error_t *why);

/* client_clean.c */
/** Control characters and broken UTF-8 of a text become '?'. */
void client_clean_text(char *text);
/** The same for every string of a decoded message. */
void client_clean(const pb_msgdesc_t *fields, void *msg);

/* client_auth.c */
/** Prove the key, check the device's proof, derive the call key. */
bool client_authenticate(tw_client_t *c);
void client_mac(const tw_client_t *c, const tunewire_v1_CallHeader *h, const uint8_t *request, uint32_t n,
                uint8_t mac[16]);
void client_sha256(const uint8_t *data, size_t n, uint8_t out[32]);
