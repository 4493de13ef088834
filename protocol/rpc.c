/* rpc.c - calls and replies by nanopb, and the table of methods. */
#include "protocol/rpc.h"
#include "protocol/varint_priv.h"
#include <pb_decode.h>
#include <pb_encode.h>

static const tw_method_t methods[] = {
#define TW_METHOD(id_, Service, Method, Req, Rep, stream_, ROLE, txn_) \
    {.id = (id_),                                                      \
     .stream = (stream_),                                              \
     .role = TW_ROLE_##ROLE,                                           \
     .txn = (txn_),                                                    \
     .name = #Service "." #Method,                                     \
     .request = tunewire_v1_##Req##_fields,                            \
     .response = tunewire_v1_##Rep##_fields,                           \
     .request_size = sizeof(tunewire_v1_##Req),                        \
     .response_size = sizeof(tunewire_v1_##Rep)},
#include "protocol/methods.def"
};

const tw_method_t *tw_method_table(uint32_t *n)
{
    *n = (uint32_t)TW_COUNT(methods);
    return methods;
}

const tw_method_t *tw_method_find(uint32_t id)
{
    size_t lo = 0, hi = TW_COUNT(methods); /* rows are in order of their id; test_rpc holds methods.def to it */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (methods[mid].id == id) {
            return &methods[mid];
        }
        if (methods[mid].id < id) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

static bool same(const char *a, const char *b)
{
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const tw_method_t *tw_method_by_name(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(methods); i++) {
        if (same(methods[i].name, name)) {
            return &methods[i];
        }
    }
    return NULL;
}

tw_err_t tw_rpc_decode(const uint8_t *p, uint32_t n, const pb_msgdesc_t *fields, void *msg)
{
    pb_istream_t in = pb_istream_from_buffer(p, n);
    return pb_decode(&in, fields, msg) ? TW_OK : TW_E_MESSAGE;
}

uint32_t tw_rpc_encode(uint8_t *p, uint32_t cap, const pb_msgdesc_t *fields, const void *msg, tw_err_t *err)
{
    pb_ostream_t out = pb_ostream_from_buffer(p, cap);
    *err = pb_encode(&out, fields, msg) ? TW_OK : TW_E_NOMEM;
    return *err == TW_OK ? (uint32_t)out.bytes_written : 0;
}

/* ---- splitting ---------------------------------------------------------------- */

/* Both length-delimited parts must cover the payload exactly: a lost or cut fragment never passes. */
static bool two_parts(const uint8_t *p, uint32_t n, tw_span_t *head, tw_span_t *body)
{
    tw_span_t all = {p, p + n};
    return tw_span_take(&all, head) && tw_span_take(&all, body) && all.p == all.end;
}

/* The header alone, from a payload whose parts do not fit: so that a refusal can name its call. */
static bool first_part(const uint8_t *p, uint32_t n, tw_span_t *head)
{
    tw_span_t all = {p, p + n};
    return tw_span_take(&all, head);
}

/* The forms every client sends: one-byte tags, values in five bytes. Everything else is nanopb's to judge. */
static bool call_header_by_hand(tw_span_t s, tunewire_v1_CallHeader *h)
{
    memset(h, 0, sizeof *h);
    while (s.p < s.end) {
        const uint8_t tag = *s.p++;
        if (tag == TW_TAG(6, 2)) {
            tw_span_t mac;
            if (!tw_span_take(&s, &mac) || mac.end - mac.p > (ptrdiff_t)sizeof h->mac.bytes) {
                return false;
            }
            h->mac.size = (pb_size_t)(mac.end - mac.p);
            memcpy(h->mac.bytes, mac.p, h->mac.size);
            continue;
        }
        uint32_t v;
        if (!tw_span_u32(&s, &v)) {
            return false;
        }
        switch (tag) {
        case TW_TAG(1, 0):
            h->call_id = v;
            break;
        case TW_TAG(2, 0):
            h->method = v;
            break;
        case TW_TAG(3, 0):
            h->deadline_ms = v;
            break;
        case TW_TAG(4, 0):
            h->txn = v;
            break;
        case TW_TAG(5, 0):
            h->stream = v;
            break;
        default:
            return false;
        }
    }
    return true;
}

static tw_err_t call_header(tw_span_t s, tunewire_v1_CallHeader *h)
{
    if (call_header_by_hand(s, h)) {
        return TW_OK;
    }
    const tw_err_t err = tw_rpc_decode(s.p, (uint32_t)(s.end - s.p), tunewire_v1_CallHeader_fields, h);
    if (err != TW_OK) {
        memset(h, 0, sizeof *h);
    }
    return err;
}

tw_err_t tw_rpc_split_call(const uint8_t *p, uint32_t n, tunewire_v1_CallHeader *h, const uint8_t **request,
                           uint32_t *request_len)
{
    tw_span_t head, body;
    const bool whole = two_parts(p, n, &head, &body);
    if (!whole && !first_part(p, n, &head)) {
        memset(h, 0, sizeof *h);
        return TW_E_MESSAGE;
    }
    TW_TRY(call_header(head, h));
    if (!whole) {
        return TW_E_MESSAGE;
    }
    *request = body.p;
    *request_len = (uint32_t)(body.end - body.p);
    return TW_OK;
}

/* A reply of success: no status. */
static bool reply_header_by_hand(tw_span_t s, tunewire_v1_ReplyHeader *h)
{
    h->call_id = h->stream = 0;
    h->t_us = 0;
    h->has_status = false;
    while (s.p < s.end) {
        const uint8_t tag = *s.p++;
        uint64_t v;
        if (!tw_span_u64(&s, &v) || (tag != TW_TAG(4, 0) && v > UINT32_MAX)) {
            return false;
        }
        switch (tag) {
        case TW_TAG(1, 0):
            h->call_id = (uint32_t)v;
            break;
        case TW_TAG(3, 0):
            h->stream = (uint32_t)v;
            break;
        case TW_TAG(4, 0):
            h->t_us = v;
            break;
        default:
            return false;
        }
    }
    memset(&h->status, 0, sizeof h->status);
    return true;
}

tw_err_t tw_rpc_split_reply(const uint8_t *p, uint32_t n, tunewire_v1_ReplyHeader *h, const uint8_t **response,
                            uint32_t *response_len)
{
    tw_span_t head, body;
    const bool whole = two_parts(p, n, &head, &body);
    if (!whole && !first_part(p, n, &head)) {
        memset(h, 0, sizeof *h);
        return TW_E_MESSAGE;
    }
    if (!reply_header_by_hand(head, h)) {
        memset(h, 0, sizeof *h);
        TW_TRY(tw_rpc_decode(head.p, (uint32_t)(head.end - head.p), tunewire_v1_ReplyHeader_fields, h));
    }
    if (!whole) {
        return TW_E_MESSAGE;
    }
    *response = body.p;
    *response_len = (uint32_t)(body.end - body.p);
    return TW_OK;
}

/* ---- building ------------------------------------------------------------------- */

/* Length, then message. Most are shorter than 128 bytes, so one byte is kept for the length and the rest of it
 * made room for afterwards: cheaper than encoding twice to learn the size. @return bytes, 0 = does not fit */
static uint32_t put_delimited(uint8_t *p, uint32_t cap, const pb_msgdesc_t *fields, const void *msg)
{
    if (cap == 0) {
        return 0;
    }
    tw_err_t err = TW_OK;
    const uint32_t len = fields != NULL ? tw_rpc_encode(p + 1, cap - 1, fields, msg, &err) : 0;
    const uint32_t prefix = tw_varint_size(len);
    if (err != TW_OK || prefix + len > cap) {
        return 0;
    }
    if (prefix > 1) {
        memmove(p + prefix, p + 1, len);
    }
    tw_put_varint(p, len);
    return prefix + len;
}

static uint32_t put_both(uint8_t *p, uint32_t cap, const pb_msgdesc_t *head_fields, const void *head,
                         const pb_msgdesc_t *fields, const void *body)
{
    const uint32_t n = put_delimited(p, cap, head_fields, head);
    const uint32_t m = n != 0 ? put_delimited(p + n, cap - n, fields, body) : 0;
    return m != 0 ? n + m : 0;
}

uint32_t tw_rpc_put_call(uint8_t *p, uint32_t cap, const tunewire_v1_CallHeader *h, const pb_msgdesc_t *fields,
                         const void *request)
{
    return put_both(p, cap, tunewire_v1_CallHeader_fields, h, fields, request);
}

uint32_t tw_rpc_put_reply(uint8_t *p, uint32_t cap, const tunewire_v1_ReplyHeader *h, const pb_msgdesc_t *fields,
                          const void *response)
{
    return put_both(p, cap, tunewire_v1_ReplyHeader_fields, h, fields, response);
}

uint32_t tw_rpc_put_reply_raw(uint8_t *p, uint32_t cap, const tunewire_v1_ReplyHeader *h, const uint8_t *response,
                              uint32_t response_len)
{
    uint8_t head[tunewire_v1_ReplyHeader_size + 2 * TW_VARINT_MAX];
    const uint32_t n = put_delimited(head, sizeof head, tunewire_v1_ReplyHeader_fields, h);
    const uint32_t front = n + tw_put_varint(head + n, response_len);
    if (n == 0 || cap < front || response_len > cap - front) {
        return 0;
    }
    if (response_len != 0) { /* may lie in `p` already: it moves before the header is written over it */
        memmove(p + front, response, response_len);
    }
    memcpy(p, head, front);
    return front + response_len;
}

/* ---- status ----------------------------------------------------------------------- */

/* Append as much of `text` as fits, never half a UTF-8 character. */
static size_t append(char *to, size_t at, size_t cap, const char *text)
{
    size_t n = 0;
    while (text[n] != 0 && at + n + 1 < cap) {
        n++;
    }
    while (text[n] != 0 && n > 0 && ((uint8_t)text[n] & 0xC0) == 0x80) {
        n--;
    }
    memcpy(to + at, text, n);
    to[at + n] = 0;
    return at + n;
}

void tw_rpc_status(tunewire_v1_Status *s, tw_err_t err, uint32_t where, const char *detail_text)
{
    *s = (tunewire_v1_Status){
        .code = (tunewire_v1_Code)tw_err_status(err), .detail = (uint32_t) - (int32_t)err, .where = where};
    if (err == TW_OK) {
        return;
    }
    size_t at = append(s->text, 0, sizeof s->text, tw_err_text(err));
    if (detail_text != NULL && detail_text[0] != 0) {
        at = append(s->text, at, sizeof s->text, ": ");
        (void)append(s->text, at, sizeof s->text, detail_text);
    }
}

/* ---- lists -------------------------------------------------------------------------- */

bool tw_rpc_list_add(tw_rpc_list_t *l, uint32_t field, const pb_msgdesc_t *fields, const void *msg)
{
    const uint32_t tag = TW_TAG(field, 2), size = tw_varint_size(tag);
    if (l->full || size >= l->cap - l->used) {
        l->full = true;
        return false;
    }
    const uint32_t n = put_delimited(l->p + l->used + size, l->cap - l->used - size, fields, msg);
    if (n == 0) {
        l->full = true;
        return false;
    }
    tw_put_varint(l->p + l->used, tag);
    l->used += size + n;
    return true;
}

bool tw_rpc_list_varint(tw_rpc_list_t *l, uint32_t field, uint64_t v)
{
    const uint32_t tag = TW_TAG(field, 0), size = tw_varint_size(tag) + tw_varint_size(v);
    if (l->full || size > l->cap - l->used) {
        l->full = true;
        return false;
    }
    l->used += tw_put_varint(l->p + l->used, tag);
    l->used += tw_put_varint(l->p + l->used, v);
    return true;
}
