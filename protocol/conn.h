/* conn.h - one connection: hello, frames, fragments, streams and their credits.
 *
 * A byte machine for both ends: bytes go in, events come out; frames to send
 * are written into a caller's buffer that a transport drains. No I/O, no clock,
 * no allocation; messages are not decoded here (rpc.h does that).
 *
 *            hello ok                 goaway sent / fatal
 *   WAIT_HELLO ------> OPEN ------------------------------> DEAD
 *       |                                                    ^
 *       +----------------------------------------------------+   anything but hello
 *
 * Specification: docs/WIRE_PROTOCOL.md "Hello and versions", "Streams", "Flow control".
 */
#pragma once
#include "protocol/frame.h"

enum { TW_CONN_STREAMS = 80 }; /* open at once, both directions: 64 subscriptions and room for uploads */

typedef struct tw_conn_stream {
    uint16_t id;     /* 0 = free slot */
    uint8_t sending; /* 1: we send data and need credit; 0: we receive and grant it */
    uint32_t credit; /* bytes we may still send / the peer may still send */
} tw_conn_stream_t;

/** Bytes waiting for the transport; linear: it drains from `at`; tw_conn_begin() moves the rest when it needs room. */
typedef struct tw_out {
    uint8_t *buf;
    uint32_t cap, at, used; /* valid bytes: [at, used) */
} tw_out_t;

typedef enum tw_conn_state { TW_CONN_WAIT_HELLO, TW_CONN_OPEN, TW_CONN_DEAD } tw_conn_state_t;

typedef struct tw_conn {
    tw_conn_state_t state;
    bool client; /* our role: the client sends odd stream ids, the server even ones */
    tw_deframer_t in;
    tw_out_t out;
    uint8_t *msg; /* reassembly of MORE fragments, `msg_cap` bytes */
    uint32_t msg_cap, msg_used;
    uint8_t msg_type;
    uint16_t msg_stream;
    bool msg_open;
    bool msg_bad, msg_cut;      /* a fragment of it was damaged or may be missing; it outgrew msg_cap */
    uint32_t skipped_seen;      /* in.skipped_bytes when the last frame came */
    uint32_t max_frame, window; /* ours before hello (set by init, the owner may lower them), effective after */
    uint16_t next_stream;
    tw_conn_stream_t streams[TW_CONN_STREAMS];
    tw_err_t fatal; /* why DEAD */
    uint32_t begun; /* tw_conn_begin() offset, UINT32_MAX = none */
    uint8_t begun_type;
    uint16_t begun_stream;
    uint32_t frames_in, frames_out, bad_frames;
} tw_conn_t;

enum {
    TW_CONN_GOAWAY_ROOM = 128, /* of the send buffer, kept free so that a goaway always fits */
    TW_CONN_WINDOW = 4096,     /* credit of a stream unless the owner says otherwise [bytes] */
};

/**
 * @param in/in_cap   receive buffer, >= max_frame wanted, >= 256
 * @param out/out_cap send buffer; bounds the largest reply; >= 256 + TW_CONN_GOAWAY_ROOM
 * @param msg/msg_cap reassembly buffer: the largest fragmented message accepted
 * `max_frame` starts as in_cap (at most 65536), `window` as TW_CONN_WINDOW.
 */
void tw_conn_init(tw_conn_t *c, bool client, void *in, uint32_t in_cap, void *out, uint32_t out_cap, void *msg,
                  uint32_t msg_cap);

typedef enum tw_conn_event_kind {
    TW_CE_NONE = 0,
    TW_CE_HELLO,   /* data = HelloReq or HelloRep; answer with tw_conn_agree() */
    TW_CE_CALL,    /* data = call payload, reassembled */
    TW_CE_REPLY,   /* data = reply payload, reassembled; `err` flag */
    TW_CE_DATA,    /* stream data: data = type-2 payload; err; fin: the stream is closed already. On a stream we
                      send on: the receiver ends it, fin and err set, data = Status */
    TW_CE_CREDIT,  /* `credit` bytes more may be sent on `stream` (already added) */
    TW_CE_CANCEL,  /* `call_id` */
    TW_CE_GOAWAY,  /* data = Status; the connection is DEAD */
    TW_CE_BAD_CRC, /* a frame of `type` on `stream` was damaged and dropped, or a message for want of it;
                      fin, err as in its header; a damaged fin does not close the stream */
    TW_CE_FATAL,   /* `c->fatal` says why; a goaway has been queued; the connection is DEAD */
} tw_conn_event_kind_t;

typedef struct tw_conn_event {
    tw_conn_event_kind_t kind;
    uint8_t type;
    uint16_t stream;
    bool fin, err;
    bool cut; /* the message outgrew msg_cap, data is its beginning: refuse it */
    uint32_t call_id, credit;
    const uint8_t *data;
    uint32_t len;
} tw_conn_event_t;

/**
 * Take bytes; call again with the rest until *used == n and the event is NONE.
 * Data on streams is checked against granted credit here (fatal NO_CREDIT), unknown streams are
 * dropped and counted. In state DEAD everything is swallowed. Event data is valid until the next call.
 */
void tw_conn_feed(tw_conn_t *c, const uint8_t *in, size_t n, size_t *used, tw_conn_event_t *ev);

/** Settle on the smaller of both sides' values (floor 256; 0 = not given counts as 256) and go OPEN. */
void tw_conn_agree(tw_conn_t *c, uint32_t peer_max_frame, uint32_t peer_window);

/**
 * Room for a payload of up to `want` bytes in the send buffer.
 * Nothing is queued before tw_conn_end(); a second begin forgets the first. Before OPEN only hello is let through.
 * @return where to write, or NULL when it does not fit now (drain and try again)
 */
uint8_t *tw_conn_begin(tw_conn_t *c, uint8_t type, uint16_t stream, uint32_t want);
/** Send the payload begun, `len` bytes, splitting into MORE fragments where longer than a frame. */
void tw_conn_end(tw_conn_t *c, uint32_t len, uint8_t flags);
/** begin, copy, end. @return false when it does not fit now. */
bool tw_conn_send(tw_conn_t *c, uint8_t type, uint16_t stream, uint8_t flags, const void *data, uint32_t len);
/** Largest payload tw_conn_begin() would grant now. */
uint32_t tw_conn_room(const tw_conn_t *c);
/** Queue a goaway with this Status (encoded) and go DEAD. */
void tw_conn_goaway(tw_conn_t *c, tw_err_t err);

/**
 * Open a stream we send on / receive on; credit starts at the negotiated window.
 * @param id  0: the next free id of our parity; else an id the peer named, which must be of its parity
 * @return id; 0 when no slot is free, or the id is open already or of the wrong parity
 */
uint16_t tw_conn_open(tw_conn_t *c, uint16_t id, bool sending);
void tw_conn_close(tw_conn_t *c, uint16_t id);
/** Credit left on a sending stream (type-2 payload bytes), 0 when unknown. */
uint32_t tw_conn_credit(const tw_conn_t *c, uint16_t id);
/** Account for bytes sent on a stream; they must not exceed its credit. */
void tw_conn_spend(tw_conn_t *c, uint16_t id, uint32_t bytes);
/** Grant the peer more credit on a receiving stream; queues the frame. @return false: no room now, nothing granted. */
bool tw_conn_grant(tw_conn_t *c, uint16_t id, uint32_t bytes);

static inline uint32_t tw_out_pending(const tw_out_t *o)
{
    return o->used - o->at;
}
/** The transport took n bytes from buf + at. */
void tw_out_drained(tw_out_t *o, uint32_t n);
