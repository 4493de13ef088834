/* wire_client.h - a client in memory for tests of the server: calls, replies, streams, and bad manners.
 *
 * It talks to the callbacks a transport would talk to, through the same
 * protocol code as any client. `turn` moves the other side on (poll, tick).
 */
#pragma once
#include "phy/phy.h"
#include "protocol/conn.h"
#include "protocol/rpc.h"
#include "server/crypto.h"

enum { WIRE_BUF = 1 << 17, WIRE_STREAMS = 24, WIRE_KEEP = 1 << 15, WIRE_TURNS = 400 };

typedef struct wire_stream {
    uint16_t id;
    uint32_t frames, bytes; /* data frames seen; bytes of `data` used */
    bool fin, err;
    uint8_t data[WIRE_KEEP];    /* payloads one after another */
    uint32_t last_at, last_len; /* of the last payload in `data` */
    bool chunks;                /* a byte stream: offsets are checked and left out of `data` */
    uint64_t next_offset;
    bool gap;
} wire_stream_t;

typedef struct wire_client {
    tw_phy_user_t user;
    void *conn; /* the server's handle, NULL: not connected */
    void (*turn)(void *ctx);
    void *turn_ctx;
    tw_conn_t c;
    uint8_t in[65536], out[WIRE_BUF], msg[65536];
    tunewire_v1_HelloRep hello;
    bool open, closed, goaway;
    tunewire_v1_Status goaway_status;
    /* header fields of the next calls */
    uint32_t next_id, txn, stream, deadline_ms;
    bool deaf;                 /* takes nothing from the server */
    bool no_credit;            /* grants none */
    const tw_crypto_t *crypto; /* set with call_key: calls carry a MAC */
    uint8_t call_key[32];
    /* the last reply of each call id, by id % 256 */
    struct {
        uint32_t id, count;
        tunewire_v1_ReplyHeader h;
        uint8_t body[4096];
        uint32_t len;
    } replies[256];
    uint32_t methods[256];
    wire_stream_t streams[WIRE_STREAMS];
} wire_client_t;

/** Connect. @return false: refused */
bool wire_connect(wire_client_t *w, const tw_phy_user_t *user, void (*turn)(void *), void *ctx);
/** Exchange hellos. `resume` may be NULL. @return false: goaway or no answer */
bool wire_hello(wire_client_t *w, uint32_t max_frame, uint32_t window, const uint8_t *resume);
/** The connection breaks. */
void wire_break(wire_client_t *w);
/** Bytes both ways, one turn of the other side. */
void wire_pump(wire_client_t *w);
/** Several. */
void wire_pump_n(wire_client_t *w, unsigned n);

/** Send a call. @return its id */
uint32_t wire_send(wire_client_t *w, uint32_t method, const pb_msgdesc_t *fields, const void *msg);
uint32_t wire_send_id(wire_client_t *w, uint32_t id, uint32_t method, const pb_msgdesc_t *fields, const void *msg);
/** Bytes as a frame of this type, whatever they are. */
bool wire_raw(wire_client_t *w, uint8_t type, uint16_t stream, uint8_t flags, const void *data, uint32_t n);
/** Bytes on the wire, not even a frame. */
void wire_bytes(wire_client_t *w, const void *data, size_t n);
/** Wait for the reply to a call. @return its status, or -1 when none came */
int wire_wait(wire_client_t *w, uint32_t id);
/** Its header. */
const tunewire_v1_ReplyHeader *wire_reply(wire_client_t *w, uint32_t id);
/** Send, wait, decode. @return status code, -1: no reply */
int wire_call(wire_client_t *w, uint32_t method, const pb_msgdesc_t *req_fields, const void *req,
              const pb_msgdesc_t *rep_fields, void *rep);
/** Status of the last wire_call() or wire_wait(). */
const tunewire_v1_Status *wire_status(wire_client_t *w);
/** Stream of the last reply. */
uint32_t wire_last_stream(wire_client_t *w);

/** A stream's data so far, NULL when it is unknown. */
wire_stream_t *wire_stream(wire_client_t *w, uint32_t id);
/** Open a stream of ours. */
uint16_t wire_open_stream(wire_client_t *w, uint16_t id);
/** Type-2 frame: offset and bytes. @return false: no credit left */
bool wire_data(wire_client_t *w, uint16_t stream, uint64_t offset, const void *data, uint32_t n, uint8_t flags);
/** Upload whole and commit. @return the blob, 0: failed */
uint32_t wire_blob(wire_client_t *w, const uint8_t *data, uint32_t n);
