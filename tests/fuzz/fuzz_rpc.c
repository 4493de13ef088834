/* Messages: what is decoded by hand must be what nanopb decodes, and nothing may read past its bytes. */
#include "engine/base/port.h"
#include "protocol/rpc.h"
#include <pb_decode.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct part {
    const uint8_t *p;
    uint32_t n;
} part_t;

/* One length-delimited part by nanopb's own reader. */
static bool next_part(part_t *rest, part_t *out)
{
    pb_istream_t in = pb_istream_from_buffer(rest->p, rest->n);
    uint32_t n;
    if (!pb_decode_varint32(&in, &n) || n > in.bytes_left) {
        return false;
    }
    const uint8_t *at = rest->p + (rest->n - in.bytes_left);
    *out = (part_t){at, n};
    *rest = (part_t){at + n, (uint32_t)in.bytes_left - n};
    return true;
}

static bool two_parts(part_t all, part_t *head, part_t *body)
{
    return next_part(&all, head) && next_part(&all, body) && all.n == 0;
}

/* Lengths in more than five bytes are refused by hand and read by nanopb: the one form where they may differ. */
static bool plain_length(const uint8_t *p, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && i < 5 && p[i] >= 0x80) {
        i++;
    }
    return i < 4 || (i == 4 && i < n && p[4] < 0x10);
}

static bool plain_lengths(part_t all)
{
    part_t head;
    part_t rest = all;
    return plain_length(all.p, all.n) && next_part(&rest, &head) && plain_length(rest.p, rest.n);
}

static void fuzz_call(const uint8_t *p, uint32_t n)
{
    tunewire_v1_CallHeader h, want = {0};
    const uint8_t *request;
    uint32_t len;
    const tw_err_t err = tw_rpc_split_call(p, n, &h, &request, &len);
    part_t head, body;
    const bool ok = two_parts((part_t){p, n}, &head, &body) &&
                    tw_rpc_decode(head.p, head.n, tunewire_v1_CallHeader_fields, &want) == TW_OK;
    TW_ASSERT(!plain_lengths((part_t){p, n}) || ok == (err == TW_OK));
    if (err != TW_OK) {
        return;
    }
    TW_ASSERT(ok && request == body.p && len == body.n);
    TW_ASSERT(h.call_id == want.call_id && h.method == want.method && h.deadline_ms == want.deadline_ms);
    TW_ASSERT(h.txn == want.txn && h.stream == want.stream && h.mac.size == want.mac.size);
    TW_ASSERT(memcmp(h.mac.bytes, want.mac.bytes, h.mac.size) == 0);
}

static void fuzz_reply(const uint8_t *p, uint32_t n)
{
    tunewire_v1_ReplyHeader h, want = {0};
    const uint8_t *response;
    uint32_t len;
    const tw_err_t err = tw_rpc_split_reply(p, n, &h, &response, &len);
    part_t head, body;
    const bool ok = two_parts((part_t){p, n}, &head, &body) &&
                    tw_rpc_decode(head.p, head.n, tunewire_v1_ReplyHeader_fields, &want) == TW_OK;
    TW_ASSERT(!plain_lengths((part_t){p, n}) || ok == (err == TW_OK));
    if (err != TW_OK) {
        return;
    }
    TW_ASSERT(ok && response == body.p && len == body.n);
    TW_ASSERT(h.call_id == want.call_id && h.has_status == want.has_status && h.stream == want.stream);
    TW_ASSERT(h.t_us == want.t_us && h.status.code == want.status.code && h.status.detail == want.status.detail);
    TW_ASSERT(h.status.where == want.status.where);
    TW_ASSERT(strncmp(h.status.text, want.status.text, sizeof h.status.text) == 0);
    uint32_t version;
    uint64_t tick;
    static tunewire_v1_ParamAck ack;
    if (tw_hot_split_ack(response, len, &version, &tick)) {
        TW_ASSERT(tw_rpc_decode(response, len, tunewire_v1_ParamAck_fields, &ack) == TW_OK);
        TW_ASSERT(ack.version == version && ack.applied_tick == tick);
    }
}

static bool same_set(const tw_hot_set_t *s, const tunewire_v1_CallHeader *h, const tunewire_v1_ParamSet *m)
{
    return s->call_id == h->call_id && s->deadline_ms == h->deadline_ms && s->txn == h->txn && s->stream == h->stream &&
           h->method == TW_M_Param_Set && h->mac.size == (s->mac != NULL ? 16 : 0) &&
           (s->mac == NULL || memcmp(s->mac, h->mac.bytes, 16) == 0) && s->graph == m->graph && s->node == m->node &&
           s->index == m->index && s->type == m->type && s->expect_version == m->expect_version &&
           s->value_stream == m->stream && s->readback == m->readback && s->value_len == m->value.size &&
           (s->value_len == 0 || memcmp(s->value, m->value.bytes, s->value_len) == 0);
}

static void fuzz_hot(const uint8_t *p, uint32_t n)
{
    static tunewire_v1_ParamSet m;
    tunewire_v1_CallHeader h;
    tw_hot_set_t s;
    const uint8_t *request;
    uint32_t len;
    const bool hot = tw_hot_split_set(p, n, &s);
    const bool good = tw_rpc_split_call(p, n, &h, &request, &len) == TW_OK && h.method == TW_M_Param_Set &&
                      tw_rpc_decode(request, len, tunewire_v1_ParamSet_fields, &m) == TW_OK;
    if (hot) {
        TW_ASSERT(good && same_set(&s, &h, &m) && s.request == request && s.request_len == len);
    }
    if (good && (h.mac.size == 0 || h.mac.size == 16)) { /* what nanopb writes itself, the hot path must take */
        uint8_t again[1024];
        const uint32_t k = tw_rpc_put_call(again, sizeof again, &h, tunewire_v1_ParamSet_fields, &m);
        TW_ASSERT(k != 0 && tw_hot_split_set(again, k, &s) && same_set(&s, &h, &m));
        uint8_t by_hand[1024];
        TW_ASSERT(tw_hot_put_set(by_hand, sizeof by_hand, &s) == k && memcmp(by_hand, again, k) == 0);
        TW_ASSERT(k != n || memcmp(again, p, n) != 0 || hot);
    }
}

/* Decode, encode, decode again: the second pass must change nothing. */
static void round_trip(const pb_msgdesc_t *fields, uint16_t msg_size, const uint8_t *p, uint32_t n)
{
    enum { ROOM = 1 << 16 };
    static uint8_t once[ROOM], twice[ROOM];
    void *msg = calloc(1, msg_size);
    tw_err_t err;
    if (tw_rpc_decode(p, n, fields, msg) == TW_OK) {
        const uint32_t a = tw_rpc_encode(once, ROOM, fields, msg, &err);
        TW_ASSERT(err == TW_OK);
        memset(msg, 0, msg_size);
        TW_ASSERT(tw_rpc_decode(once, a, fields, msg) == TW_OK);
        TW_ASSERT(tw_rpc_encode(twice, ROOM, fields, msg, &err) == a && memcmp(once, twice, a) == 0);
    }
    free(msg);
}

static void fuzz_message(const uint8_t *p, uint32_t n, uint8_t which, bool request)
{
    uint32_t count;
    const tw_method_t *table = tw_method_table(&count), *m = &table[which % count];
    if (request) {
        round_trip(m->request, m->request_size, p, n);
    } else {
        round_trip(m->response, m->response_size, p, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 8192) {
        return 0;
    }
    const uint8_t *p = data + 2;
    const uint32_t n = (uint32_t)size - 2;
    switch (data[0] % 5) {
    case 0:
        fuzz_call(p, n);
        break;
    case 1:
        fuzz_reply(p, n);
        break;
    case 2:
        fuzz_hot(p, n);
        break;
    case 3:
        fuzz_message(p, n, data[1], true);
        break;
    case 4:
        fuzz_message(p, n, data[1], false);
        break;
    }
    return 0;
}
