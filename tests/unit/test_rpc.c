/* Calls and replies: the document's bytes both ways, the method table, and what must not decode. */
#include "engine/base/crc.h"
#include "protocol/rpc.h"
#include "protocol/schema.h"
#include "tests/support/golden.h"
#include <pb_common.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define DOC "docs/WIRE_PROTOCOL.md"

/* Payload of a golden frame. */
static uint32_t payload(const char *name, uint8_t *out, size_t cap)
{
    uint8_t frame[256];
    const size_t n = tw_golden(DOC, "golden", name, frame, sizeof frame);
    assert_true(n > TW_FRAME_HEADER && n - TW_FRAME_HEADER <= cap);
    memcpy(out, frame + TW_FRAME_HEADER, n - TW_FRAME_HEADER);
    return (uint32_t)(n - TW_FRAME_HEADER);
}

static void the_document_s_hello_is_what_it_says(void **state)
{
    (void)state;
    uint8_t doc[64], ours[64];
    const uint32_t n = payload("hello", doc, sizeof doc);
    tunewire_v1_HelloReq h;
    assert_int_equal(tw_rpc_decode(doc, n, tunewire_v1_HelloReq_fields, &h), TW_OK);
    assert_int_equal(h.major, 1);
    assert_int_equal(h.max_frame, 1024);
    assert_int_equal(h.window, 4096);
    assert_string_equal(h.client, "tw");
    tw_err_t err;
    assert_int_equal(tw_rpc_encode(ours, sizeof ours, tunewire_v1_HelloReq_fields, &h, &err), n);
    assert_memory_equal(ours, doc, n);
}

static void the_document_s_ping_goes_both_ways(void **state)
{
    (void)state;
    uint8_t doc[64], ours[64];
    const uint32_t n = payload("ping", doc, sizeof doc);
    tunewire_v1_CallHeader h;
    const uint8_t *request;
    uint32_t len;
    assert_int_equal(tw_rpc_split_call(doc, n, &h, &request, &len), TW_OK);
    assert_int_equal(h.call_id, 1);
    assert_int_equal(h.method, TW_M_Session_Ping);
    tunewire_v1_PingReq ping;
    assert_int_equal(tw_rpc_decode(request, len, tunewire_v1_PingReq_fields, &ping), TW_OK);
    assert_int_equal(ping.payload.size, 2);
    assert_memory_equal(ping.payload.bytes, "hi", 2);
    assert_int_equal(tw_rpc_put_call(ours, n, &h, tunewire_v1_PingReq_fields, &ping), n);
    assert_memory_equal(ours, doc, n);
    assert_int_equal(tw_rpc_put_call(ours, n - 1, &h, tunewire_v1_PingReq_fields, &ping), 0);
}

static void the_document_s_replies_go_both_ways(void **state)
{
    (void)state;
    uint8_t doc[64], ours[64];
    uint32_t n = payload("pong", doc, sizeof doc), len;
    tunewire_v1_ReplyHeader h;
    const uint8_t *response;
    assert_int_equal(tw_rpc_split_reply(doc, n, &h, &response, &len), TW_OK);
    assert_int_equal(h.call_id, 1);
    assert_false(h.has_status);
    tunewire_v1_PingRep pong;
    assert_int_equal(tw_rpc_decode(response, len, tunewire_v1_PingRep_fields, &pong), TW_OK);
    assert_int_equal(pong.t_us, 1000);
    assert_int_equal(tw_rpc_put_reply(ours, sizeof ours, &h, tunewire_v1_PingRep_fields, &pong), n);
    assert_memory_equal(ours, doc, n);

    n = payload("unimplemented", doc, sizeof doc);
    assert_int_equal(tw_rpc_split_reply(doc, n, &h, &response, &len), TW_OK);
    assert_int_equal(h.call_id, 2);
    assert_true(h.has_status);
    assert_int_equal(h.status.code, tunewire_v1_Code_UNIMPLEMENTED);
    assert_int_equal(len, 0);
    assert_int_equal(tw_rpc_put_reply(ours, sizeof ours, &h, NULL, NULL), n);
    assert_memory_equal(ours, doc, n);
}

static void the_document_s_hello_reply_is_what_it_says(void **state)
{
    (void)state;
    uint8_t doc[256], ours[256], bytes[16];
    const uint32_t n = payload("hello-reply", doc, sizeof doc);
    tunewire_v1_HelloRep h;
    assert_int_equal(tw_rpc_decode(doc, n, tunewire_v1_HelloRep_fields, &h), TW_OK);
    assert_int_equal(h.major, 1);
    assert_int_equal(h.max_frame, 1024);
    assert_int_equal(h.window, 4096);
    assert_int_equal(h.features, 0xA2F);
    assert_int_equal(h.schema_crc, 0x01020304);
    for (uint8_t i = 0; i < 16; i++) {
        bytes[i] = (uint8_t)(0x10 + i);
    }
    assert_memory_equal(h.session.bytes, bytes, 16);
    assert_int_equal(h.nonce.bytes[15], 0x2F);
    assert_string_equal(h.server, "lab");
    assert_int_equal(h.boot_id, 9);
    assert_int_equal(h.max_calls, 8);
    tw_err_t err;
    assert_int_equal(tw_rpc_encode(ours, sizeof ours, tunewire_v1_HelloRep_fields, &h, &err), n);
    assert_memory_equal(ours, doc, n);
}

static void the_document_s_set_goes_both_ways_by_hand(void **state)
{
    (void)state;
    uint8_t doc[64], ours[64];
    uint32_t n = payload("set", doc, sizeof doc);
    tw_hot_set_t s;
    assert_true(tw_hot_split_set(doc, n, &s));
    assert_int_equal(s.call_id, 7);
    assert_int_equal(s.graph, 1);
    assert_int_equal(s.node, 5);
    assert_int_equal(s.index, 3);
    assert_int_equal(s.type, 27);
    assert_int_equal(s.value_len, 4);
    assert_true(tw_get_f32(s.value) == 1.0f);
    assert_int_equal(tw_hot_put_set(ours, sizeof ours, &s), n);
    assert_memory_equal(ours, doc, n);
    n = payload("set-ack", doc, sizeof doc);
    assert_int_equal(tw_hot_put_ack(ours, sizeof ours, 7, 2000000, 8, 4800), n);
    assert_memory_equal(ours, doc, n);
}

static void the_document_s_refusal_carries_everything(void **state)
{
    (void)state;
    uint8_t doc[64], ours[64];
    const uint32_t n = payload("set-refused", doc, sizeof doc);
    tunewire_v1_ReplyHeader h = {.call_id = 8, .has_status = true, .t_us = 2000500};
    tw_rpc_status(&h.status, TW_E_PARAM_RANGE, 3, NULL);
    assert_int_equal(tw_rpc_put_reply(ours, sizeof ours, &h, NULL, NULL), n);
    assert_memory_equal(ours, doc, n);
}

static void the_document_s_block_is_what_it_says(void **state)
{
    (void)state;
    uint8_t doc[64];
    const uint32_t n = payload("block", doc, sizeof doc);
    tunewire_v1_ArcBlock b = {0};
    assert_int_equal(tw_rpc_decode(doc, n, tunewire_v1_ArcBlock_fields, &b), TW_OK);
    assert_int_equal(b.sub, 2);
    assert_int_equal(b.seq, 1);
    assert_int_equal(b.t_us, 2001000);
    assert_memory_equal(doc + n - 6, "\x32\x04\x01\x00\xFF\xFF", 6);
}

static void methods_are_in_order_and_found_by_id_and_name(void **state)
{
    (void)state;
    uint32_t n;
    const tw_method_t *m = tw_method_table(&n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(i == 0 || m[i].id > m[i - 1].id);
        assert_ptr_equal(tw_method_find(m[i].id), &m[i]);
        assert_ptr_equal(tw_method_by_name(m[i].name), &m[i]);
        assert_true(m[i].role <= TW_ROLE_ADMIN);
    }
    static const uint32_t none[] = {0, 0x0100, 0x0107, 0x0305, 0x0CFF, 0x10301, UINT32_MAX};
    for (size_t i = 0; i < TW_COUNT(none); i++) {
        assert_null(tw_method_find(none[i]));
    }
    assert_null(tw_method_by_name("Param.Se"));
    assert_null(tw_method_by_name("Param.Sett"));
    assert_null(tw_method_by_name(""));
}

/* A call as the tests' raw bytes; `id` is what a refusal may name. */
static const struct {
    const char *why;
    uint8_t bytes[40];
    uint32_t n, id;
    tw_err_t err;
} calls[] = {
    {"nothing", {0}, 0, 0, TW_E_MESSAGE},
    {"two empty parts", {0, 0}, 2, 0, TW_OK},
    {"no second part", {2, 8, 7}, 3, 7, TW_E_MESSAGE},
    {"header cut", {5, 8, 7}, 3, 0, TW_E_MESSAGE},
    {"request cut", {2, 8, 7, 4, 1, 2, 3}, 7, 7, TW_E_MESSAGE},
    {"a byte behind the request", {2, 8, 7, 1, 1, 2}, 6, 7, TW_E_MESSAGE},
    {"length that never ends", {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, 6, 0, TW_E_MESSAGE},
    {"length over 32 bits", {0x80, 0x80, 0x80, 0x80, 0x10, 0}, 6, 0, TW_E_MESSAGE},
    {"unknown field in the header is skipped", {4, 8, 7, 0x78, 1, 0}, 6, 7, TW_OK},
    {"unknown long field in the header is skipped", {6, 8, 7, 0x7A, 2, 1, 2, 0}, 8, 7, TW_OK},
    {"fields out of order", {4, 0x10, 3, 8, 7, 0}, 6, 7, TW_OK},
    {"the last of a repeated field holds", {4, 8, 3, 8, 7, 0}, 6, 7, TW_OK},
    {"call id of the wrong wire type", {6, 0x0D, 1, 2, 3, 4, 5, 0}, 8, 0, TW_E_MESSAGE},
    {"call id over 32 bits", {8, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 8, 1, 0}, 10, 0, TW_E_MESSAGE},
    {"field number zero", {2, 0, 1, 0}, 4, 0, TW_E_MESSAGE},
    {"value cut", {2, 8, 0x80, 0}, 4, 0, TW_E_MESSAGE},
    {"mac of 17 bytes", {19, 0x32, 17, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, 21, 0, TW_E_MESSAGE},
    {"mac of 16 bytes", {20, 8, 7, 0x32, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, 22, 7, TW_OK},
};

static void a_call_splits_exactly_or_is_refused_by_its_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(calls); i++) {
        uint8_t *exact = test_malloc(calls[i].n + 1);
        memcpy(exact, calls[i].bytes, calls[i].n);
        tunewire_v1_CallHeader h;
        const uint8_t *request;
        uint32_t len;
        const tw_err_t err = tw_rpc_split_call(exact, calls[i].n, &h, &request, &len);
        if (err != calls[i].err || h.call_id != calls[i].id) {
            fail_msg("%s: %s, call id %u", calls[i].why, tw_err_name(err), (unsigned)h.call_id);
        }
        test_free(exact);
    }
}

static void a_message_longer_than_127_bytes_gets_a_longer_length(void **state)
{
    (void)state;
    uint8_t out[700];
    static tunewire_v1_ParamValue v, back;
    const tunewire_v1_ReplyHeader h = {.call_id = 9};
    for (uint32_t size = 0; size <= 512; size++) {
        v = (tunewire_v1_ParamValue){.index = 3, .value.size = (pb_size_t)size};
        memset(v.value.bytes, (int)size, size);
        const uint32_t n = tw_rpc_put_reply(out, sizeof out, &h, tunewire_v1_ParamValue_fields, &v);
        assert_int_equal(tw_rpc_put_reply(out, n - 1, &h, tunewire_v1_ParamValue_fields, &v), 0);
        assert_int_equal(tw_rpc_put_reply(out, n, &h, tunewire_v1_ParamValue_fields, &v), n);
        tunewire_v1_ReplyHeader got;
        const uint8_t *response;
        uint32_t len;
        assert_int_equal(tw_rpc_split_reply(out, n, &got, &response, &len), TW_OK);
        assert_int_equal(tw_rpc_decode(response, len, tunewire_v1_ParamValue_fields, &back), TW_OK);
        assert_int_equal(back.value.size, size);
        assert_memory_equal(back.value.bytes, v.value.bytes, size);
    }
}

static void a_status_carries_code_number_place_and_text(void **state)
{
    (void)state;
    tunewire_v1_Status s;
    tw_rpc_status(&s, TW_E_PARAM_RANGE, 7, "gain");
    assert_int_equal(s.code, tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(s.detail, 114);
    assert_int_equal(s.where, 7);
    assert_string_equal(s.text, "parameter out of range: gain");
    tw_rpc_status(&s, TW_E_PARAM_RANGE, 0, NULL);
    assert_string_equal(s.text, "parameter out of range");
    tw_rpc_status(&s, TW_OK, 0, "unused");
    assert_int_equal(s.code, 0);
    assert_string_equal(s.text, "");
}

static void a_long_text_is_cut_between_characters(void **state)
{
    (void)state;
    char text[128];
    for (size_t shift = 0; shift < 3; shift++) { /* three-byte characters, at every place of the cut */
        memset(text, 'x', sizeof text);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xE2\x82\xAC", 3);
        }
        text[sizeof text - 1] = 0;
        tunewire_v1_Status s;
        tw_rpc_status(&s, TW_E_BUSY, 0, text);
        const size_t len = strlen(s.text);
        assert_in_range(len, 94, 96);
        assert_true((uint8_t)s.text[len - 1] == 0xAC);
    }
}

static void every_wire_status_is_the_schema_s_code(void **state)
{
    (void)state;
#define TW_STATUS(code, NAME) assert_int_equal(tunewire_v1_Code_##NAME, code);
#include "engine/base/status.def"
    assert_int_equal(_tunewire_v1_Code_MAX, TW_ST_VERSION);
}

static void a_list_holds_what_fits_and_says_when_it_is_full(void **state)
{
    (void)state;
    uint8_t buf[600];
    for (uint32_t cap = 0; cap < sizeof buf; cap += 7) {
        tw_rpc_list_t l = {.p = buf, .cap = cap};
        tunewire_v1_Counter c = {.id = 1, .name = "frames", .value = 300};
        uint32_t items = 0;
        while (items < 20 && tw_rpc_list_add(&l, 3, tunewire_v1_Counter_fields, &c)) {
            items++;
        }
        assert_int_equal(l.full, items < 20);
        assert_int_equal(l.used, items * 15);
        assert_int_equal(tw_rpc_list_varint(&l, 1, 5), items == 20 && cap - l.used >= 2);
    }
}

static bool count_item(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    tunewire_v1_Counter c;
    unsigned *n = *arg;
    uint8_t bytes[64];
    const size_t len = in->bytes_left;
    *n += len <= sizeof bytes && pb_read(in, bytes, len) &&
          tw_rpc_decode(bytes, (uint32_t)len, tunewire_v1_Counter_fields, &c) == TW_OK && c.value == 300;
    return true;
}

static void a_list_built_in_place_is_a_reply(void **state)
{
    (void)state;
    uint8_t p[400];
    tw_rpc_list_t l = {.p = p, .cap = sizeof p}; /* where the header will go: put_reply_raw moves it */
    const tunewire_v1_Counter c = {.id = 1, .name = "frames", .value = 300};
    for (unsigned i = 0; i < 11; i++) {
        assert_true(tw_rpc_list_add(&l, 3, tunewire_v1_Counter_fields, &c));
    }
    assert_true(tw_rpc_list_varint(&l, 2, 77));
    const tunewire_v1_ReplyHeader h = {.call_id = 4, .t_us = 12345678};
    assert_int_equal(tw_rpc_put_reply_raw(p, l.used + 9, &h, p, l.used), 0);
    const uint32_t n = tw_rpc_put_reply_raw(p, sizeof p, &h, p, l.used);
    tunewire_v1_ReplyHeader got;
    const uint8_t *response;
    uint32_t len;
    assert_int_equal(tw_rpc_split_reply(p, n, &got, &response, &len), TW_OK);
    assert_int_equal(got.call_id, 4);
    assert_int_equal(got.t_us, 12345678);
    unsigned items = 0;
    tunewire_v1_StatsRep rep = {.counters = {.funcs.decode = count_item, .arg = &items}};
    assert_int_equal(tw_rpc_decode(response, len, tunewire_v1_StatsRep_fields, &rep), TW_OK);
    assert_int_equal(items, 11);
    assert_int_equal(rep.uptime_us, 77);
}

static void the_embedded_schema_names_the_package(void **state)
{
    (void)state;
    /* FileDescriptorSet.file (1) . FileDescriptorProto.name (1) = "tunewire.proto" */
    assert_true(tw_schema_bytes > 1000);
    assert_int_equal(tw_schema[0], 0x0A);
    const uint8_t *name = tw_schema + 1;
    while (*name++ & 0x80) {}
    assert_memory_equal(name, "\x0A\x0Etunewire.proto", 16);
    assert_int_not_equal(tw_crc32c(0, tw_schema, tw_schema_bytes), 0);
}

/* ---- every message against Google's encoder -------------------------------------------------- */

/* Lists and bulk data are callbacks in our structs: keep their bytes on the way in, give them on the way out. */
typedef struct kept {
    uint8_t bytes[512];
    uint32_t len[8], n, used;
} kept_t;

static bool keep(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    kept_t *k = *arg;
    const size_t n = in->bytes_left;
    if (k->n == TW_COUNT(k->len) || n > sizeof k->bytes - k->used || !pb_read(in, k->bytes + k->used, n)) {
        return false;
    }
    k->used += (uint32_t)n;
    k->len[k->n++] = (uint32_t)n;
    return true;
}

static bool give(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const kept_t *k = *arg;
    const uint8_t *at = k->bytes;
    for (uint32_t i = 0; i < k->n; at += k->len[i++]) {
        if (!pb_encode_tag(out, PB_WT_STRING, field->tag) || !pb_encode_string(out, at, k->len[i])) {
            return false;
        }
    }
    return true;
}

/* The callback fields of a message, each with its own keeper. @return false: more than there is room for */
static bool set_callbacks(const pb_msgdesc_t *fields, void *msg, kept_t *kept, size_t n, bool out)
{
    pb_field_iter_t it;
    if (!pb_field_iter_begin(&it, fields, msg)) {
        return true; /* an empty message */
    }
    size_t used = 0;
    do {
        if (PB_ATYPE(it.type) == PB_ATYPE_CALLBACK) {
            pb_callback_t *c = it.pField;
            if (used == n) {
                return false;
            }
            c->arg = &kept[used++];
            if (out) {
                c->funcs.encode = give;
            } else {
                c->funcs.decode = keep;
            }
        }
    } while (pb_field_iter_next(&it));
    return true;
}

static void same_bytes_both_ways(const char *name, const pb_msgdesc_t *fields, const uint8_t *bytes, uint32_t n)
{
    static _Alignas(8) uint8_t msg[8192];
    kept_t kept[2] = {0};
    uint8_t ours[2048];
    tw_err_t err;
    memset(msg, 0, sizeof msg);
    assert_true(set_callbacks(fields, msg, kept, TW_COUNT(kept), false));
    if (tw_rpc_decode(bytes, n, fields, msg) != TW_OK) {
        fail_msg("%s does not decode", name);
    }
    assert_true(set_callbacks(fields, msg, kept, TW_COUNT(kept), true));
    if (tw_rpc_encode(ours, sizeof ours, fields, msg, &err) != n || memcmp(ours, bytes, n) != 0) {
        fail_msg("%s: other bytes than protobuf's", name);
    }
}

/* Row "<name> <hex>" of the golden messages. @return bytes, -1 when there is none */
static int message(const char *name, uint8_t *out, size_t cap)
{
    char line[4096];
    int n = -1;
    const size_t len = strlen(name);
    FILE *f = fopen("tests/golden/wire/messages.txt", "r");
    while (f != NULL && n < 0 && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, name, len) == 0 && line[len] == ' ') {
            unsigned byte;
            for (n = 0; (size_t)n < cap && sscanf(line + len + 1 + 2 * n, "%2x", &byte) == 1; n++) {
                out[n] = (uint8_t)byte;
            }
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static void every_method_s_messages_are_the_bytes_of_protobuf(void **state)
{
    (void)state;
    uint32_t count;
    const tw_method_t *m = tw_method_table(&count);
    for (uint32_t i = 0; i < 2 * count; i++) {
        char name[64];
        uint8_t bytes[2048];
        const bool request = i % 2 == 0;
        snprintf(name, sizeof name, "%s.%s", m[i / 2].name, request ? "request" : "response");
        const int n = message(name, bytes, sizeof bytes);
        if (n < 0) {
            fail_msg("%s has no golden message: run tests/golden/wire/make_messages.py", name);
        }
        assert_true((request ? m[i / 2].request_size : m[i / 2].response_size) <= 8192);
        same_bytes_both_ways(name, request ? m[i / 2].request : m[i / 2].response, bytes, (uint32_t)n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_s_hello_is_what_it_says),
        cmocka_unit_test(the_document_s_ping_goes_both_ways),
        cmocka_unit_test(the_document_s_replies_go_both_ways),
        cmocka_unit_test(the_document_s_hello_reply_is_what_it_says),
        cmocka_unit_test(the_document_s_set_goes_both_ways_by_hand),
        cmocka_unit_test(the_document_s_refusal_carries_everything),
        cmocka_unit_test(the_document_s_block_is_what_it_says),
        cmocka_unit_test(methods_are_in_order_and_found_by_id_and_name),
        cmocka_unit_test(a_call_splits_exactly_or_is_refused_by_its_id),
        cmocka_unit_test(a_message_longer_than_127_bytes_gets_a_longer_length),
        cmocka_unit_test(a_status_carries_code_number_place_and_text),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(every_wire_status_is_the_schema_s_code),
        cmocka_unit_test(a_list_holds_what_fits_and_says_when_it_is_full),
        cmocka_unit_test(a_list_built_in_place_is_a_reply),
        cmocka_unit_test(the_embedded_schema_names_the_package),
        cmocka_unit_test(every_method_s_messages_are_the_bytes_of_protobuf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
