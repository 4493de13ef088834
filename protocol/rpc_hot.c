/* rpc_hot.c - Param.Set and its acknowledgement by hand: the very bytes nanopb would write.
 *
 * A slider moved on a host becomes one of these every few milliseconds, and the
 * round trip is mostly codec. Only the ordinary form is spoken: known fields,
 * ascending, each once. Anything else is left to the general path, so the two
 * can never disagree; test_hot and fuzz_rpc compare them.
 */
#include "protocol/rpc.h"
#include "protocol/varint_priv.h"

enum { MAC_BYTES = 16 };

/* The field with this tag if it comes next; absent leaves *v as it is. */
static inline bool next_u32(tw_span_t *s, uint8_t tag, uint32_t *v)
{
    if (s->p == s->end || *s->p != tag) {
        return true;
    }
    s->p++;
    return tw_span_u32(s, v);
}

static inline bool next_bytes(tw_span_t *s, uint8_t tag, const uint8_t **p, uint32_t *len)
{
    if (s->p == s->end || *s->p != tag) {
        return true;
    }
    s->p++;
    tw_span_t part;
    if (!tw_span_take(s, &part)) {
        return false;
    }
    *p = part.p;
    *len = (uint32_t)(part.end - part.p);
    return true;
}

static bool take_header(tw_span_t s, tw_hot_set_t *out)
{
    uint32_t method = 0, mac_len = MAC_BYTES;
    return next_u32(&s, TW_TAG(1, 0), &out->call_id) && next_u32(&s, TW_TAG(2, 0), &method) &&
           next_u32(&s, TW_TAG(3, 0), &out->deadline_ms) && next_u32(&s, TW_TAG(4, 0), &out->txn) &&
           next_u32(&s, TW_TAG(5, 0), &out->stream) && next_bytes(&s, TW_TAG(6, 2), &out->mac, &mac_len) &&
           s.p == s.end && method == TW_M_Param_Set && mac_len == MAC_BYTES;
}

static bool take_request(tw_span_t s, tw_hot_set_t *out)
{
    uint32_t readback = 0;
    out->request = s.p;
    out->request_len = (uint32_t)(s.end - s.p);
    const bool ok = next_u32(&s, TW_TAG(1, 0), &out->graph) && next_u32(&s, TW_TAG(2, 0), &out->node) &&
                    next_u32(&s, TW_TAG(3, 0), &out->index) && next_u32(&s, TW_TAG(4, 0), &out->type) &&
                    next_bytes(&s, TW_TAG(5, 2), &out->value, &out->value_len) &&
                    next_u32(&s, TW_TAG(6, 0), &out->expect_version) && next_u32(&s, TW_TAG(7, 0), &readback) &&
                    next_u32(&s, TW_TAG(8, 0), &out->value_stream);
    out->readback = readback == 1;
    return ok && s.p == s.end && readback <= 1 && out->value_len <= TW_INLINE_VALUE_MAX;
}

bool tw_hot_split_set(const uint8_t *p, uint32_t n, tw_hot_set_t *out)
{
    tw_span_t all = {p, p + n}, head, body;
    *out = (tw_hot_set_t){0};
    return tw_span_take(&all, &head) && tw_span_take(&all, &body) && all.p == all.end && take_header(head, out) &&
           take_request(body, out);
}

/* ---- writing -------------------------------------------------------------------- */

/* Zero is not written, as proto3 has it. */
static inline uint8_t *put_field(uint8_t *p, uint8_t tag, uint64_t v)
{
    if (v == 0) {
        return p;
    }
    *p++ = tag;
    return p + tw_put_varint(p, v);
}

static inline uint8_t *put_bytes(uint8_t *p, uint8_t tag, const uint8_t *bytes, uint32_t len)
{
    if (len == 0) {
        return p;
    }
    *p++ = tag;
    p += tw_put_varint(p, len);
    memcpy(p, bytes, len);
    return p + len;
}

uint32_t tw_hot_put_ack(uint8_t *p, uint32_t cap, uint32_t call_id, uint64_t t_us, uint32_t version, uint64_t tick)
{
    if (cap < TW_HOT_ACK_MAX) {
        return 0;
    }
    uint8_t *w = put_field(p + 1, TW_TAG(1, 0), call_id);
    w = put_field(w, TW_TAG(4, 0), t_us);
    p[0] = (uint8_t)(w - p - 1);
    uint8_t *const body = w++;
    w = put_field(w, TW_TAG(1, 0), version);
    w = put_field(w, TW_TAG(2, 0), tick);
    *body = (uint8_t)(w - body - 1);
    return (uint32_t)(w - p);
}

bool tw_hot_split_ack(const uint8_t *response, uint32_t n, uint32_t *version, uint64_t *tick)
{
    tw_span_t s = {response, response + n};
    *version = 0;
    *tick = 0;
    if (!next_u32(&s, TW_TAG(1, 0), version)) {
        return false;
    }
    if (s.p < s.end && *s.p == TW_TAG(2, 0)) {
        s.p++;
        if (!tw_span_u64(&s, tick)) {
            return false;
        }
    }
    return s.p == s.end;
}

static uint32_t field_size(uint32_t v)
{
    return v != 0 ? 1 + tw_varint_size(v) : 0;
}

static uint32_t bytes_size(uint32_t len)
{
    return len != 0 ? 1 + tw_varint_size(len) + len : 0;
}

static uint32_t header_size(const tw_hot_set_t *s)
{
    return field_size(s->call_id) + field_size(TW_M_Param_Set) + field_size(s->deadline_ms) + field_size(s->txn) +
           field_size(s->stream) + bytes_size(s->mac != NULL ? MAC_BYTES : 0);
}

static uint32_t request_size(const tw_hot_set_t *s)
{
    return field_size(s->graph) + field_size(s->node) + field_size(s->index) + field_size(s->type) +
           bytes_size(s->value_len) + field_size(s->expect_version) + field_size(s->readback) +
           field_size(s->value_stream);
}

uint32_t tw_hot_put_set(uint8_t *p, uint32_t cap, const tw_hot_set_t *s)
{
    if (s->value_len > TW_INLINE_VALUE_MAX) {
        return 0;
    }
    const uint32_t head = header_size(s), body = request_size(s);
    if (1 + head + tw_varint_size(body) + body > cap) {
        return 0;
    }
    uint8_t *w = p;
    *w++ = (uint8_t)head; /* at most 46 */
    w = put_field(w, TW_TAG(1, 0), s->call_id);
    w = put_field(w, TW_TAG(2, 0), TW_M_Param_Set);
    w = put_field(w, TW_TAG(3, 0), s->deadline_ms);
    w = put_field(w, TW_TAG(4, 0), s->txn);
    w = put_field(w, TW_TAG(5, 0), s->stream);
    w = put_bytes(w, TW_TAG(6, 2), s->mac, s->mac != NULL ? MAC_BYTES : 0);
    w += tw_put_varint(w, body);
    w = put_field(w, TW_TAG(1, 0), s->graph);
    w = put_field(w, TW_TAG(2, 0), s->node);
    w = put_field(w, TW_TAG(3, 0), s->index);
    w = put_field(w, TW_TAG(4, 0), s->type);
    w = put_bytes(w, TW_TAG(5, 2), s->value, s->value_len);
    w = put_field(w, TW_TAG(6, 0), s->expect_version);
    w = put_field(w, TW_TAG(7, 0), s->readback);
    w = put_field(w, TW_TAG(8, 0), s->value_stream);
    return (uint32_t)(w - p);
}
