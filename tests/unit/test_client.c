/* test_client.c - the client library against a device in a thread, well-behaved and not. */
#include "engine/base/crc.h"
#include "engine/base/formats.h"
#include "host_tools/client/client.h"
#include "tests/support/fake_device.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static tw_client_t *connect_to(const fake_device_t *d, uint32_t timeout_ms, bool *ok)
{
    return tw_client_open(&(tw_client_cfg_t){.uri = d->uri, .timeout_ms = timeout_ms}, ok);
}

static bool ping(tw_client_t *c)
{
    tunewire_v1_PingReq q = {.payload = {.size = 2, .bytes = "hi"}};
    tunewire_v1_PingRep r = tunewire_v1_PingRep_init_zero;
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Session_Ping, .request = &q, .response = &r}) &&
           r.payload.size == 2 && memcmp(r.payload.bytes, "hi", 2) == 0;
}

/* ---- text ------------------------------------------------------------------------- */

static void uris_are_read_or_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text, *host;
        unsigned port; /* 0: refused */
    } cases[] = {
        {"whole", "tcp://device:1234", "device", 1234},
        {"no port", "tcp://device", "device", 5600},
        {"trailing slash", "tcp://device:1/", "device", 1},
        {"no scheme", "device:99", "device", 99},
        {"host alone", "10.0.0.1", "10.0.0.1", 5600},
        {"v6", "tcp://[::1]:70", "::1", 70},
        {"v6 bare", "::1", "::1", 5600},
        {"v6 without port", "[fe80::1]", "fe80::1", 5600},
        {"other scheme", "http://device", "", 0},
        {"longer scheme", "tcpx://device", "", 0},
        {"port 0", "device:0", "", 0},
        {"port too large", "device:65536", "", 0},
        {"port no number", "device:x", "", 0},
        {"port negative", "device:-1", "", 0},
        {"port empty", "device:", "", 0},
        {"nothing", "", "", 0},
        {"scheme alone", "tcp://", "", 0},
        {"blank in it", "tcp://my device:5", "", 0},
        {"user", "tcp://me@device:5", "", 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_uri_t u;
        char why[200] = "";
        const bool ok = tw_uri_parse(cases[i].text, &u, why, sizeof why);
        if (ok != (cases[i].port != 0) || (ok && (strcmp(u.host, cases[i].host) != 0 || u.port != cases[i].port)) ||
            (!ok && !why[0])) {
            fail_msg("%s: %d %s %u '%s'", cases[i].why, ok, u.host, u.port, why);
        }
    }
}

static void keys_are_read_or_refused_with_a_reason(void **state)
{
    (void)state;
#define HEX32 "000102030405060708090a0b0c0d0e0f"
    static const struct {
        const char *why, *text, *id;
        unsigned len; /* 0: refused */
    } cases[] = {
        {"hex alone", HEX32 "\n", "default", 16},
        {"with id", "lab:" HEX32 HEX32, "lab", 32},
        {"comment before", "# the lab's\n\n  lab:" HEX32 "  \n", "lab", 16},
        {"no newline", HEX32, "default", 16},
        {"too short", "lab:0001", "", 0},
        {"odd", HEX32 "0", "", 0},
        {"no hex", "lab:zz0102030405060708090a0b0c0d0e0f", "", 0},
        {"too long", HEX32 HEX32 HEX32 HEX32 "00", "", 0},
        {"empty id", ":" HEX32, "", 0},
        {"long id", "12345678901234567:" HEX32, "", 0},
        {"only comments", "# nothing\n", "", 0},
        {"nothing", "", "", 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_key_t k;
        char why[200] = "";
        const bool ok = tw_key_parse(cases[i].text, strlen(cases[i].text), &k, why, sizeof why);
        if (ok != (cases[i].len != 0) || (ok && (strcmp(k.id, cases[i].id) != 0 || k.len != cases[i].len)) ||
            (!ok && !why[0])) {
            fail_msg("%s: %d '%s' %u '%s'", cases[i].why, ok, k.id, k.len, why);
        }
    }
}

/* ---- bad peers ------------------------------------------------------------------------ */

static void a_hostile_peer_costs_an_error_that_says_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        fake_fault_t fault;
        bool connects;
        tw_client_kind_t kind;
        bool usable_after;
    } cases[] = {
        {"says nothing", FAKE_NO_HELLO, false, TW_CLIENT_REFUSED, false},
        {"speaks another protocol", FAKE_GARBAGE, false, TW_CLIENT_REFUSED, false},
        {"another major version", FAKE_OLD_MAJOR, false, TW_CLIENT_REFUSED, false},
        {"damaged replies", FAKE_WRONG_CRC, true, TW_CLIENT_PROTOCOL, true},
        {"never answers", FAKE_NO_ANSWER, true, TW_CLIENT_TIMEOUT, true},
        {"goes away", FAKE_GOAWAY, true, TW_CLIENT_CLOSED, false},
        {"hangs up", FAKE_HANG_UP, true, TW_CLIENT_CLOSED, false},
        {"reply does not decode", FAKE_BAD_REPLY, true, TW_CLIENT_PROTOCOL, true},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        fake_device_t d = {.fault = cases[i].fault};
        bool ok;
        fake_start(&d);
        tw_client_t *c = connect_to(&d, 300, &ok);
        const bool answered = ok && ping(c);
        const tw_client_error_t e = *tw_client_error(c);
        if (ok != cases[i].connects || answered || e.kind != cases[i].kind || !e.text[0] || !e.hint[0] ||
            tw_client_alive(c) != cases[i].usable_after) {
            fail_msg("%s: connected %d, answered %d, kind %d, '%s', '%s', alive %d", cases[i].why, ok, answered, e.kind,
                     e.text, e.hint, tw_client_alive(c));
        }
        tw_client_close(c);
        fake_stop(&d);
        if (cases[i].fault == FAKE_NO_ANSWER) {
            assert_int_equal(d.cancels, 1);
        }
    }
}

static void nobody_there_is_refused_and_said_so(void **state)
{
    (void)state;
    bool ok;
    fake_device_t d = {0};
    fake_start(&d);
    fake_stop(&d); /* its port is free now */
    tw_client_t *c = connect_to(&d, 500, &ok);
    assert_false(ok);
    assert_int_equal(tw_client_error(c)->kind, TW_CLIENT_REFUSED);
    assert_non_null(strstr(tw_client_error(c)->hint, "tunewired"));
    tw_client_close(c);
    c = tw_client_open(&(tw_client_cfg_t){.uri = "usb://x"}, &ok);
    assert_false(ok);
    assert_int_equal(tw_client_error(c)->kind, TW_CLIENT_USAGE);
    assert_false(tw_client_reconnect(c));
    tw_client_close(c);
}

static void a_stop_flag_ends_a_call_at_once(void **state)
{
    (void)state;
    static volatile sig_atomic_t stop;
    fake_device_t d = {.fault = FAKE_NO_ANSWER};
    bool ok;
    stop = 0;
    fake_start(&d);
    tw_client_t *c = tw_client_open(&(tw_client_cfg_t){.uri = d.uri, .timeout_ms = 60000, .stop = &stop}, &ok);
    assert_true(ok);
    stop = 1;
    assert_false(ping(c));
    assert_int_equal(tw_client_error(c)->kind, TW_CLIENT_STOPPED);
    tw_client_close(c);
    fake_stop(&d);
}

/* ---- good peers --------------------------------------------------------------------------- */

static void calls_in_flight_stay_within_what_the_device_takes(void **state)
{
    (void)state;
    fake_device_t d = {.max_calls = 4};
    uint32_t ids[40];
    tunewire_v1_PingRep rep[40];
    bool ok;
    fake_start(&d);
    tw_client_t *c = connect_to(&d, 2000, &ok);
    assert_true(ok);
    for (unsigned i = 0; i < 40; i++) {
        tunewire_v1_PingReq q = {.payload = {.size = 1, .bytes = {(uint8_t)i}}};
        const tw_client_call_t call = {.method = TW_M_Session_Ping, .request = &q, .response = &rep[i]};
        ids[i] = tw_client_begin(c, &call);
        assert_true(ids[i] != 0);
    }
    for (unsigned i = 40; i-- > 0;) { /* collected in any order */
        assert_true(tw_client_end(c, ids[i]));
        assert_int_equal(rep[i].payload.bytes[0], i);
        assert_false(tw_client_end(c, ids[i]));
    }
    tw_client_close(c);
    fake_stop(&d);
    assert_in_range(d.max_in_flight, 1, 4);
}

static void lists_are_read_to_their_end(void **state)
{
    (void)state;
    fake_device_t d = {0};
    tw_nodes_t nodes;
    tw_params_t params;
    bool ok;
    fake_start(&d);
    tw_client_t *c = connect_to(&d, 2000, &ok);
    assert_true(ok && tw_client_nodes(c, &nodes));
    assert_int_equal(nodes.n, 2); /* the device gives one a page */
    assert_string_equal(nodes.rows[1].name, "amplifier.0");
    assert_true(tw_client_params(c, 0, &params));
    assert_int_equal(params.n, 4);
    assert_string_equal(params.rows[3].name, "biquad1");
    free(nodes.rows);
    free(params.rows);
    tw_client_close(c);
    fake_stop(&d);
}

static void a_value_comes_back_as_it_was_set(void **state)
{
    (void)state;
    fake_device_t d = {0};
    const uint8_t value[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    tunewire_v1_ParamAck ack;
    tw_bytes_t got;
    uint32_t type, version;
    bool ok;
    fake_start(&d);
    tw_client_t *c = connect_to(&d, 2000, &ok);
    assert_true(ok && tw_client_set(c, 0, 0, 3, TW_RAW_S16, value, sizeof value, &ack));
    assert_int_equal(ack.applied_tick, 7);
    assert_true(tw_client_get(c, 0, 3, &got, &type, &version));
    assert_int_equal(got.n, sizeof value);
    assert_memory_equal(got.data, value, sizeof value);
    assert_int_equal(type, TW_RAW_S16);
    free(got.data);
    assert_false(tw_client_get(c, 0, 99, &got, NULL, NULL));
    assert_int_equal(tw_client_error(c)->kind, TW_CLIENT_DEVICE);
    assert_int_equal(tw_client_error(c)->detail, -TW_E_PARAM_INDEX);
    assert_int_equal(tw_client_error(c)->where, 99);
    tw_client_close(c);
    fake_stop(&d);
}

static void many_sets_are_one_transaction_or_none(void **state)
{
    (void)state;
    static const uint8_t one = 1;
    tw_set_op_t ops[20];
    for (unsigned i = 0; i < TW_COUNT(ops); i++) {
        ops[i] = (tw_set_op_t){1, i == 13 ? 200 : 3, TW_RAW_U8, 1, &one};
    }
    static const struct {
        const char *why;
        uint32_t n, failed, commits, rollbacks;
    } cases[] = {{"all good", 13, 13, 1, 0}, {"the fourteenth is refused", 20, 13, 0, 1}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        fake_device_t d = {0};
        tunewire_v1_TxnRep rep;
        uint32_t failed;
        bool ok;
        fake_start(&d);
        tw_client_t *c = connect_to(&d, 2000, &ok);
        const bool done = ok && tw_client_set_many(c, ops, cases[i].n, 0, 0, &rep, &failed);
        const tw_client_error_t e = *tw_client_error(c);
        tw_client_close(c);
        fake_stop(&d);
        if (done != (cases[i].commits == 1) || failed != cases[i].failed || d.commits != cases[i].commits ||
            d.rollbacks != cases[i].rollbacks || (!done && e.detail != (uint32_t)-TW_E_PARAM_INDEX)) {
            fail_msg("%s: %d, failed %u, %u commits, %u rollbacks, detail %u", cases[i].why, done, failed, d.commits,
                     d.rollbacks, e.detail);
        }
    }
}

static void fast_sets_are_the_same_calls(void **state)
{
    (void)state;
    fake_device_t d = {0};
    const uint8_t on = 1;
    tw_bytes_t got;
    bool ok;
    fake_start(&d);
    tw_client_t *c = connect_to(&d, 2000, &ok);
    assert_true(ok);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(tw_client_set_fast_begin(c, 1, 3, TW_RAW_U8, &on, 1) != 0);
    }
    assert_true(tw_client_set_fast_wait(c, 0));
    assert_true(tw_client_get(c, 1, 3, &got, NULL, NULL));
    assert_int_equal(got.data[0], 1);
    free(got.data);
    assert_false(tw_client_set_fast(c, 1, 200, TW_RAW_U8, &on, 1));
    assert_int_equal(tw_client_error(c)->detail, -TW_E_PARAM_INDEX);
    assert_true(tw_client_set_fast(c, 1, 3, TW_RAW_U8, &on, 1));
    tw_client_close(c);
    fake_stop(&d);
}

/* ---- streams ---------------------------------------------------------------------------- */

static void count_progress(void *ctx, uint64_t done, uint64_t total)
{
    uint64_t *last = ctx;
    assert_true(done > *last && done <= total);
    *last = done;
}

static void an_upload_arrives_whole_even_when_the_connection_breaks(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        fake_fault_t fault;
        uint32_t n, connections;
    } cases[] = {
        {"less than a chunk", FAKE_GOOD, 100, 1},
        {"many windows", FAKE_GOOD, 100000, 1},
        {"broken in the middle", FAKE_CUT_UPLOAD, 100000, 2},
        {"broken and forgotten", FAKE_FORGET_UPLOAD, 100000, 2},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        fake_device_t d = {.fault = cases[i].fault};
        uint8_t *data = malloc(cases[i].n);
        uint32_t blob = 0;
        uint64_t last = 0;
        bool ok;
        assert_non_null(data);
        for (uint32_t k = 0; k < cases[i].n; k++) {
            data[k] = (uint8_t)(k * 7 + k / 256);
        }
        fake_start(&d);
        tw_client_t *c = connect_to(&d, 2000, &ok);
        const bool done = ok && tw_client_upload(c, TW_BLOB_GRAPH, "x", data, cases[i].n,
                                                 cases[i].fault ? NULL : count_progress, &last, &blob);
        const tw_client_error_t e = *tw_client_error(c);
        tw_client_close(c);
        fake_stop(&d);
        if (!done || blob != 9 || d.blob_bytes != cases[i].n || d.blob_crc != tw_crc32c(0, data, cases[i].n) ||
            d.connections != cases[i].connections || (cases[i].fault == FAKE_CUT_UPLOAD) != (d.resumed_at > 0)) {
            fail_msg("%s: %d '%s', %u bytes, %u connections, resumed at %u", cases[i].why, done, e.text, d.blob_bytes,
                     d.connections, d.resumed_at);
        }
        free(data);
    }
}

static void an_upload_the_device_ends_fails_at_once_with_its_reason(void **state)
{
    (void)state;
    fake_device_t d = {.fault = FAKE_REFUSE_UPLOAD};
    static uint8_t data[100000];
    uint32_t blob = 0;
    bool ok;
    fake_start(&d);
    tw_client_t *c = connect_to(&d, 20000, &ok);
    const time_t start = time(NULL);
    assert_true(ok);
    assert_false(tw_client_upload(c, TW_BLOB_GRAPH, "x", data, sizeof data, NULL, NULL, &blob));
    assert_int_equal(tw_client_error(c)->kind, TW_CLIENT_DEVICE);
    assert_int_equal(tw_client_error(c)->detail, -TW_E_STREAM_OFFSET);
    assert_true(tw_client_error(c)->where > 0);
    assert_true(time(NULL) - start < 5);
    assert_true(tw_client_alive(c) && ping(c));
    tw_client_close(c);
    fake_stop(&d);
}

static void a_download_is_complete_or_refused(void **state)
{
    (void)state;
    for (int hole = 0; hole < 2; hole++) {
        fake_device_t d = {.fault = hole ? FAKE_LOSE_CHUNK : FAKE_GOOD};
        tw_bytes_t b;
        bool ok;
        fake_start(&d);
        tw_client_t *c = connect_to(&d, 2000, &ok);
        assert_true(ok);
        assert_int_equal(tw_client_download(c, TW_M_Session_Schema, NULL, &b), !hole);
        if (hole) {
            assert_null(b.data);
            assert_int_equal(tw_client_error(c)->kind, TW_CLIENT_PROTOCOL);
            assert_true(tw_client_alive(c));
        } else {
            assert_int_equal(tw_crc32c(0, b.data, b.n), tw_client_hello(c)->schema_crc);
        }
        free(b.data);
        tw_client_close(c);
        fake_stop(&d);
    }
}

typedef struct counted {
    unsigned blocks, limit;
    uint32_t bytes;
} counted_t;

static bool count_block(void *ctx, const tw_block_t *b)
{
    counted_t *n = ctx;
    n->blocks++;
    n->bytes = b->n;
    return n->blocks < n->limit;
}

static void a_watch_gives_blocks_beyond_its_first_window_and_is_ended_at_the_device(void **state)
{
    (void)state;
    fake_device_t d = {0};
    counted_t n = {.limit = 60}; /* 60 blocks of 207 bytes: more than the window of 4096 */
    tw_watch_t w = {.block = count_block, .ctx = &n};
    bool ok;
    fake_start(&d);
    tw_client_t *c = connect_to(&d, 2000, &ok);
    assert_true(ok && tw_client_watch(c, &(tunewire_v1_SubReq){.arc = 1}, &w));
    while (!w.sink.ended && tw_client_pump(c, 100)) {}
    assert_int_equal(n.blocks, 60);
    assert_int_equal(n.bytes, 200);
    tw_client_unwatch(c, &w);
    assert_true(ping(c));
    n = (counted_t){.limit = 1000};
    assert_true(tw_client_watch(c, &(tunewire_v1_SubReq){.arc = 1}, &w));
    assert_true(tw_client_pump(c, 50));
    tw_client_unwatch(c, &w);
    const unsigned then = n.blocks;
    assert_true(tw_client_pump(c, 50));
    assert_int_equal(n.blocks, then);
    tw_client_close(c);
    fake_stop(&d);
    assert_int_equal(d.unsubscribes, 1);
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void a_key_signs_every_call_and_is_proved_both_ways(void **state)
{
    (void)state;
    static const uint8_t bytes[32] = "0123456789abcdef0123456789abcde";
    static const struct {
        const char *why;
        fake_fault_t fault;
        int spoil; /* byte of our key that is wrong, -1 none */
        bool with_key, connects;
    } cases[] = {
        {"right key", FAKE_GOOD, -1, true, true},
        {"wrong key", FAKE_GOOD, 5, true, false},
        {"no key", FAKE_GOOD, -1, false, false},
        {"device without the key", FAKE_WRONG_PROOF, -1, true, false},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        fake_device_t d = {.key = bytes, .fault = cases[i].fault};
        tw_key_t key = {.id = "lab", .len = 32};
        bool ok;
        memcpy(key.bytes, bytes, 32);
        if (cases[i].spoil >= 0) {
            key.bytes[cases[i].spoil] ^= 1;
        }
        fake_start(&d);
        tw_client_t *c = tw_client_open(
            &(tw_client_cfg_t){.uri = d.uri, .timeout_ms = 2000, .key = cases[i].with_key ? &key : NULL}, &ok);
        const uint32_t role = tw_client_role(c);
        const bool answered = ok && ping(c);
        const tw_client_kind_t kind = tw_client_error(c)->kind;
        tw_client_close(c);
        fake_stop(&d);
        if (ok != cases[i].connects || answered != ok || d.bad_macs || (ok && role != TW_ROLE_TUNE) ||
            (!ok && kind != TW_CLIENT_REFUSED)) {
            fail_msg("%s: %d, role %u, %u bad MACs, kind %d", cases[i].why, ok, role, d.bad_macs, kind);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uris_are_read_or_refused_with_a_reason),
        cmocka_unit_test(keys_are_read_or_refused_with_a_reason),
        cmocka_unit_test(a_hostile_peer_costs_an_error_that_says_what_to_do),
        cmocka_unit_test(nobody_there_is_refused_and_said_so),
        cmocka_unit_test(a_stop_flag_ends_a_call_at_once),
        cmocka_unit_test(calls_in_flight_stay_within_what_the_device_takes),
        cmocka_unit_test(lists_are_read_to_their_end),
        cmocka_unit_test(a_value_comes_back_as_it_was_set),
        cmocka_unit_test(many_sets_are_one_transaction_or_none),
        cmocka_unit_test(fast_sets_are_the_same_calls),
        cmocka_unit_test(an_upload_arrives_whole_even_when_the_connection_breaks),
        cmocka_unit_test(an_upload_the_device_ends_fails_at_once_with_its_reason),
        cmocka_unit_test(a_download_is_complete_or_refused),
        cmocka_unit_test(a_watch_gives_blocks_beyond_its_first_window_and_is_ended_at_the_device),
        cmocka_unit_test(a_key_signs_every_call_and_is_proved_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
