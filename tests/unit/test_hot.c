/* The hot codec against nanopb: the same bytes, the same fields, the same refusals, and much faster. */
#include "protocol/rpc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static uint32_t seed = 1;

static uint32_t random_next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 4;
}

/* Numbers at the edges of varint lengths, and often zero: absent fields are half of the format. */
static uint32_t number(void)
{
    static const uint32_t edges[] = {0, 0, 0, 1, 127, 128, 256, 16383, 16384, 0x0FFFFFFF, 0x10000000, 0xFFFFFFFF};
    const uint32_t r = random_next();
    return r % 4 != 0 ? edges[(r >> 2) % TW_COUNT(edges)] : r;
}

static uint8_t value[512], mac[16];

static tw_hot_set_t random_set(void)
{
    tw_hot_set_t s = {
        .call_id = number(),
        .deadline_ms = number(),
        .txn = number(),
        .stream = number(),
        .graph = number(),
        .node = number(),
        .index = number(),
        .type = number(),
        .expect_version = number(),
        .value_stream = number(),
        .readback = random_next() & 1,
    };
    static const uint32_t lens[] = {0, 1, 2, 4, 8, 127, 128, 511, 512};
    s.value_len = random_next() % 2 != 0 ? lens[random_next() % TW_COUNT(lens)] : random_next() % 513;
    s.value = s.value_len != 0 ? value : NULL;
    s.mac = random_next() % 3 == 0 ? mac : NULL;
    for (uint32_t i = 0; i < s.value_len; i++) {
        value[i] = (uint8_t)random_next();
    }
    return s;
}

static tunewire_v1_CallHeader header_of(const tw_hot_set_t *s)
{
    tunewire_v1_CallHeader h = {.call_id = s->call_id,
                                .method = TW_M_Param_Set,
                                .deadline_ms = s->deadline_ms,
                                .txn = s->txn,
                                .stream = s->stream};
    if (s->mac != NULL) {
        h.mac.size = 16;
        memcpy(h.mac.bytes, s->mac, 16);
    }
    return h;
}

static tunewire_v1_ParamSet request_of(const tw_hot_set_t *s)
{
    tunewire_v1_ParamSet m = {.graph = s->graph,
                              .node = s->node,
                              .index = s->index,
                              .type = s->type,
                              .expect_version = s->expect_version,
                              .readback = s->readback,
                              .stream = s->value_stream};
    m.value.size = (pb_size_t)s->value_len;
    if (s->value_len != 0) {
        memcpy(m.value.bytes, s->value, s->value_len);
    }
    return m;
}

static void param_set_is_written_as_nanopb_writes_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t hot[700], slow[700];
        const tw_hot_set_t s = random_set();
        const tunewire_v1_CallHeader h = header_of(&s);
        const tunewire_v1_ParamSet m = request_of(&s);
        const uint32_t n = tw_rpc_put_call(slow, sizeof slow, &h, tunewire_v1_ParamSet_fields, &m);
        assert_int_equal(tw_hot_put_set(hot, n, &s), n);
        assert_memory_equal(hot, slow, n);
        assert_int_equal(tw_hot_put_set(hot, n - 1, &s), 0);
    }
}

static void param_set_is_read_back_field_by_field(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t p[700];
        const tw_hot_set_t s = random_set();
        const uint32_t n = tw_hot_put_set(p, sizeof p, &s);
        tw_hot_set_t r;
        assert_true(tw_hot_split_set(p, n, &r));
        assert_int_equal(r.call_id, s.call_id);
        assert_int_equal(r.deadline_ms, s.deadline_ms);
        assert_int_equal(r.txn, s.txn);
        assert_int_equal(r.stream, s.stream);
        assert_int_equal(r.graph, s.graph);
        assert_int_equal(r.node, s.node);
        assert_int_equal(r.index, s.index);
        assert_int_equal(r.type, s.type);
        assert_int_equal(r.expect_version, s.expect_version);
        assert_int_equal(r.value_stream, s.value_stream);
        assert_int_equal(r.readback, s.readback);
        assert_int_equal(r.value_len, s.value_len);
        assert_true(s.value_len == 0 || memcmp(r.value, s.value, s.value_len) == 0);
        assert_int_equal(r.mac != NULL, s.mac != NULL);
        assert_ptr_equal(r.request + r.request_len, p + n);
        for (uint32_t cut = 0; cut < n && i < 300; cut++) {
            assert_false(tw_hot_split_set(p, cut, &r));
        }
    }
}

static void an_ack_is_written_as_nanopb_writes_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t hot[TW_HOT_ACK_MAX], slow[64];
        const tunewire_v1_ReplyHeader h = {.call_id = number(), .t_us = (uint64_t)number() << (random_next() % 33)};
        const tunewire_v1_ParamAck ack = {.version = number(),
                                          .applied_tick = (uint64_t)number() << (random_next() % 33)};
        const uint32_t n = tw_rpc_put_reply(slow, sizeof slow, &h, tunewire_v1_ParamAck_fields, &ack);
        assert_int_equal(tw_hot_put_ack(hot, sizeof hot, h.call_id, h.t_us, ack.version, ack.applied_tick), n);
        assert_memory_equal(hot, slow, n);
        tunewire_v1_ReplyHeader got;
        const uint8_t *response;
        uint32_t len, version;
        uint64_t tick;
        assert_int_equal(tw_rpc_split_reply(hot, n, &got, &response, &len), TW_OK);
        assert_int_equal(got.call_id, h.call_id);
        assert_true(got.t_us == h.t_us);
        assert_true(tw_hot_split_ack(response, len, &version, &tick));
        assert_int_equal(version, ack.version);
        assert_true(tick == ack.applied_tick);
    }
    uint8_t p[TW_HOT_ACK_MAX];
    assert_int_equal(tw_hot_put_ack(p, sizeof p, UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT64_MAX), TW_HOT_ACK_MAX);
    assert_int_equal(tw_hot_put_ack(p, sizeof p - 1, 1, 1, 1, 1), 0);
}

/* Forms the hot path leaves to the general one; some of them are good calls, some are not. */
static const struct {
    const char *why;
    uint8_t bytes[32];
    uint32_t n;
} unusual[] = {
    {"nothing", {0}, 0},
    {"another method", {3, 0x10, 0x82, 6, 2, 8, 1}, 7},
    {"no method", {2, 8, 1, 2, 8, 1}, 6},
    {"header fields out of order", {5, 0x10, 0x81, 6, 8, 1, 2, 8, 1}, 9},
    {"a header field twice", {7, 8, 1, 8, 1, 0x10, 0x81, 6, 2, 8, 1}, 11},
    {"an unknown header field", {5, 0x10, 0x81, 6, 0x78, 1, 2, 8, 1}, 9},
    {"request fields out of order", {3, 0x10, 0x81, 6, 4, 0x10, 1, 8, 1}, 9},
    {"an unknown request field", {3, 0x10, 0x81, 6, 4, 8, 1, 0x48, 1}, 9},
    {"readback of 2", {3, 0x10, 0x81, 6, 2, 0x38, 2}, 7},
    {"graph over 32 bits", {3, 0x10, 0x81, 6, 6, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F}, 11},
    {"mac of two bytes", {7, 0x10, 0x81, 6, 0x32, 2, 1, 1, 0}, 9},
    {"an empty mac", {5, 0x10, 0x81, 6, 0x32, 0, 0}, 7},
    {"value past the end", {3, 0x10, 0x81, 6, 3, 0x2A, 2, 1}, 8},
    {"a byte behind", {3, 0x10, 0x81, 6, 2, 8, 1, 0}, 8},
};

static void an_unusual_form_is_left_to_the_general_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(unusual); i++) {
        uint8_t *exact = test_malloc(unusual[i].n + 1);
        memcpy(exact, unusual[i].bytes, unusual[i].n);
        tw_hot_set_t s;
        if (tw_hot_split_set(exact, unusual[i].n, &s)) {
            fail_msg("%s was taken", unusual[i].why);
        }
        test_free(exact);
    }
}

static void values_over_512_bytes_are_nobody_s(void **state)
{
    (void)state;
    static uint8_t p[800];
    const uint32_t len = 513;
    uint8_t *w = p;
    static const uint8_t front[] = {3, 0x10, 0x81, 6, 0x84, 4, 0x2A, 0x81, 4}; /* 516 bytes: tag, length, 513 */
    memcpy(w, front, sizeof front);
    tw_hot_set_t s = {.value = p, .value_len = len};
    uint8_t out[800];
    assert_int_equal(tw_hot_put_set(out, sizeof out, &s), 0);
    assert_false(tw_hot_split_set(p, (uint32_t)sizeof front + len, &s));
    tunewire_v1_CallHeader h;
    const uint8_t *request;
    uint32_t n;
    assert_int_equal(tw_rpc_split_call(p, (uint32_t)sizeof front + len, &h, &request, &n), TW_OK);
    static tunewire_v1_ParamSet m;
    assert_int_equal(tw_rpc_decode(request, n, tunewire_v1_ParamSet_fields, &m), TW_E_MESSAGE);
}

/* ---- speed ---------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { CALLS = 20000, ROUNDS = 5 };
static volatile uint32_t sink;

static void server_by_hand(const uint8_t *p, uint32_t n)
{
    uint8_t reply[64];
    tw_hot_set_t s;
    sink += tw_hot_split_set(p, n, &s);
    sink += tw_hot_put_ack(reply, sizeof reply, s.call_id, 123456789, 7, 4800);
}

static void server_by_nanopb(const uint8_t *p, uint32_t n)
{
    uint8_t reply[64];
    tunewire_v1_CallHeader h;
    static tunewire_v1_ParamSet m;
    sink += tw_rpc_decode(p + 1, p[0], tunewire_v1_CallHeader_fields, &h) == TW_OK;
    sink += tw_rpc_decode(p + p[0] + 2, n - p[0] - 2, tunewire_v1_ParamSet_fields, &m) == TW_OK;
    static tunewire_v1_ParamAck ack = {.version = 7, .applied_tick = 4800};
    const tunewire_v1_ReplyHeader r = {.call_id = h.call_id, .t_us = 123456789};
    sink += tw_rpc_put_reply(reply, sizeof reply, &r, tunewire_v1_ParamAck_fields, &ack);
}

static double best_ns(void (*run)(const uint8_t *, uint32_t), const uint8_t *p, uint32_t n)
{
    double best = 1e9;
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double t = now();
        for (unsigned i = 0; i < CALLS; i++) {
            run(p, n);
        }
        const double ns = (now() - t) * 1e9 / CALLS;
        best = ns < best ? ns : best;
    }
    return best;
}

static void a_param_set_by_hand_takes_an_eighth_of_nanopb_s_time(void **state)
{
    (void)state;
    uint8_t p[64];
    const tw_hot_set_t s = {
        .call_id = 70000, .graph = 1, .node = 5, .index = 3, .type = 27, .value = value, .value_len = 4};
    const uint32_t n = tw_hot_put_set(p, sizeof p, &s);
    const double hand = best_ns(server_by_hand, p, n), general = best_ns(server_by_nanopb, p, n);
    print_message("Param.Set decoded and acknowledged: %.0f ns by hand, %.0f ns by nanopb (%.1fx)\n", hand, general,
                  general / hand);
    assert_true(general >= 8 * hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(param_set_is_written_as_nanopb_writes_it),
        cmocka_unit_test(param_set_is_read_back_field_by_field),
        cmocka_unit_test(an_ack_is_written_as_nanopb_writes_it),
        cmocka_unit_test(an_unusual_form_is_left_to_the_general_path),
        cmocka_unit_test(values_over_512_bytes_are_nobody_s),
        cmocka_unit_test(a_param_set_by_hand_takes_an_eighth_of_nanopb_s_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
