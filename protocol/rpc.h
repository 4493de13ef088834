/* rpc.h - calls and replies as messages: nanopb for all, a hot path for a few.
 *
 *   call  payload: varint n, CallHeader,  varint n, request
 *   reply payload: varint n, ReplyHeader, varint n, response
 *
 * The hot codec (Param.Set) writes the very bytes nanopb would; a test and a
 * fuzzer compare the two. No I/O, no state.
 */
#pragma once
#include "engine/base/bytes.h"
#include "protocol/frame.h"
#include "tunewire.pb.h"
#include <pb.h>

/* One row of methods.def. */
typedef struct tw_method {
    uint16_t id;
    uint8_t stream, role, txn; /* role: 0 view, 1 tune, 2 admin */
    const char *name;          /* "Param.Set" */
    const pb_msgdesc_t *request, *response;
    uint16_t request_size, response_size; /* of the C structs */
} tw_method_t;

enum {
#define TW_METHOD(id, Service, Method, Req, Rep, stream, ROLE, txn) TW_M_##Service##_##Method = (id),
#include "protocol/methods.def"
};
enum { TW_ROLE_VIEW = 0, TW_ROLE_TUNE = 1, TW_ROLE_ADMIN = 2 };

const tw_method_t *tw_method_find(uint32_t id);
const tw_method_t *tw_method_by_name(const char *name);
const tw_method_t *tw_method_table(uint32_t *n);

/**
 * Split a call payload; `request` points into it. Both parts must cover it exactly.
 * @return MESSAGE when malformed; `h` is then what its header said, if that much could be read (a refusal can
 *         name its call), else zero
 */
tw_err_t tw_rpc_split_call(const uint8_t *p, uint32_t n, tunewire_v1_CallHeader *h, const uint8_t **request,
                           uint32_t *request_len);
/** Split a reply payload; as tw_rpc_split_call(). */
tw_err_t tw_rpc_split_reply(const uint8_t *p, uint32_t n, tunewire_v1_ReplyHeader *h, const uint8_t **response,
                            uint32_t *response_len);

/** Decode a message whole; unknown fields are skipped. Callback fields of `msg` are kept: zero them or set them
 *  first. @return MESSAGE when malformed. */
tw_err_t tw_rpc_decode(const uint8_t *p, uint32_t n, const pb_msgdesc_t *fields, void *msg);
/** Encode. @return bytes, 0 with *err = NOMEM when it does not fit (an empty message is 0 with TW_OK). */
uint32_t tw_rpc_encode(uint8_t *p, uint32_t cap, const pb_msgdesc_t *fields, const void *msg, tw_err_t *err);

/** Write a call: header, then request already encoded or a message. @return payload bytes, 0 = does not fit. */
uint32_t tw_rpc_put_call(uint8_t *p, uint32_t cap, const tunewire_v1_CallHeader *h, const pb_msgdesc_t *fields,
                         const void *request);
/** Write a reply; fields NULL: empty response. @return payload bytes, 0 = does not fit. */
uint32_t tw_rpc_put_reply(uint8_t *p, uint32_t cap, const tunewire_v1_ReplyHeader *h, const pb_msgdesc_t *fields,
                          const void *response);

/** Status message for an error; text = its text plus `detail_text` (may be NULL), `where` = fault place. */
void tw_rpc_status(tunewire_v1_Status *s, tw_err_t err, uint32_t where, const char *detail_text);

/* ---- lists written in place ------------------------------------------------- */
/** Appends `field: submessage` entries to a response being built by hand. */
typedef struct tw_rpc_list {
    uint8_t *p;
    uint32_t cap, used;
    bool full; /* an item did not fit; nothing more is added */
} tw_rpc_list_t;
/** Append one sub-message as field number `field`. @return false (and `full`) when it does not fit. */
bool tw_rpc_list_add(tw_rpc_list_t *l, uint32_t field, const pb_msgdesc_t *fields, const void *msg);
/** Append a varint field. */
bool tw_rpc_list_varint(tw_rpc_list_t *l, uint32_t field, uint64_t v);
/** Write a reply whose response bytes are already encoded, anywhere: also inside `p`.
 *  @return payload bytes, 0 = does not fit. */
uint32_t tw_rpc_put_reply_raw(uint8_t *p, uint32_t cap, const tunewire_v1_ReplyHeader *h, const uint8_t *response,
                              uint32_t response_len);

/* ---- hot path: Param.Set ------------------------------------------------------ */
typedef struct tw_hot_set {
    uint32_t call_id, deadline_ms, txn, stream;
    uint32_t graph, node, index, type, expect_version, value_stream;
    bool readback;
    const uint8_t *value; /* into the payload */
    uint32_t value_len;
    const uint8_t *mac;     /* 16 bytes or NULL */
    const uint8_t *request; /* for the MAC */
    uint32_t request_len;
} tw_hot_set_t;
/** Decode a call payload if it is a Param.Set in ordinary form. @return false: use the general path. */
bool tw_hot_split_set(const uint8_t *p, uint32_t n, tw_hot_set_t *out);
enum { TW_HOT_ACK_MAX = 36 }; /* of any ack payload [bytes] */
/** Write an OK ParamAck{version, applied_tick} reply. @return payload bytes, 0 when cap < TW_HOT_ACK_MAX. */
uint32_t tw_hot_put_ack(uint8_t *p, uint32_t cap, uint32_t call_id, uint64_t t_us, uint32_t version, uint64_t tick);
/** Client side: write a Param.Set call (values up to 512 bytes). @return payload bytes, 0 = does not fit. */
uint32_t tw_hot_put_set(uint8_t *p, uint32_t cap, const tw_hot_set_t *s);
/** Client side: version and tick from a ParamAck response. @return false: use the general path. */
bool tw_hot_split_ack(const uint8_t *response, uint32_t n, uint32_t *version, uint64_t *tick);
