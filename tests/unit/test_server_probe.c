/* Probes over the wire: armed, captured, sent in pieces, within a rate; graphs, sessions and roles that change. */
#include "tests/unit/server_rig.h"
#include <pb_decode.h>

static bench_t b;
static wire_client_t *w;

static int open_bench(void **state)
{
    (void)state;
    bench_open(&b);
    w = bench_client(&b);
    bench_chain(w);
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_leave(w);
    bench_close(&b);
    return 0;
}

typedef struct piece {
    tunewire_v1_ProbeBlock m;
    const uint8_t *data;
    uint32_t n;
} piece_t;

static bool keep_data(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    piece_t *k = *arg;
    k->data = in->state;
    k->n = (uint32_t)in->bytes_left;
    return pb_read(in, NULL, in->bytes_left);
}

static piece_t decode(const uint8_t *p, uint32_t n)
{
    piece_t k = {0};
    k.m.data.funcs.decode = keep_data;
    k.m.data.arg = &k;
    pb_istream_t in = pb_istream_from_buffer(p, n);
    assert_true(pb_decode(&in, PB(ProbeBlock), &k.m));
    return k;
}

static wire_stream_t *arm(const tunewire_v1_ProbeReq *q)
{
    assert_int_equal(wire_call(w, TW_M_Probe_Arm, PB(ProbeReq), q, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    assert_non_null(s);
    return s;
}

static void pump_until(const wire_stream_t *s, uint32_t frames)
{
    for (unsigned i = 0; i < 4000 && s->frames < frames && !s->fin; i++) {
        wire_pump(w);
        b.rig.us += 900;
    }
}

static tunewire_v1_ProbeState state_of(uint32_t probe, int want)
{
    const tunewire_v1_ProbeRef q = {.probe = probe};
    tunewire_v1_ProbeState r = tunewire_v1_ProbeState_init_zero;
    assert_int_equal(wire_call(w, TW_M_Probe_State, PB(ProbeRef), &q, PB(ProbeState), &r), want);
    return r;
}

static tunewire_v1_ProbeReq level(void)
{
    tunewire_v1_ProbeReq q = tunewire_v1_ProbeReq_init_zero;
    q.trigger = tunewire_v1_ProbeReq_Trigger_LEVEL;
    q.low = 0.01f; /* 328 of the ramp */
    q.pre = 20;
    q.post = 40;
    return q;
}

static void a_single_capture_comes_whole_and_ends_the_stream(void **state)
{
    (void)state;
    b.rig.next[0] = (uint16_t)-500;
    const tunewire_v1_ProbeReq q = level();
    const wire_stream_t *s = arm(&q);
    pump_until(s, 100);
    assert_true(s->fin && !s->err);
    assert_int_equal(s->frames, 2); /* the capture, and the end */
    const piece_t k = decode(s->data, s->bytes);
    assert_int_equal(k.m.points, 60);
    assert_int_equal(k.m.before, 20);
    assert_int_equal(k.m.at, 0);
    assert_int_equal(k.m.cause, TW_CAUSE_LEVEL);
    assert_int_equal(k.m.format, TW_RAW_S16 | 1 << 8);
    assert_int_equal(k.n, 120);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal((int16_t)tw_get_le16(k.data + 2 * i), 308 + (int)i);
    }
    (void)state_of(s->id, tunewire_v1_Code_NOT_FOUND);
}

static void a_capture_larger_than_a_frame_comes_in_pieces(void **state)
{
    (void)state;
    tunewire_v1_ProbeReq q = level();
    b.rig.next[0] = (uint16_t)-1900;
    q.pre = 900;
    q.post = 1000;
    const wire_stream_t *s = arm(&q);
    pump_until(s, 100);
    assert_true(s->fin && !s->err);
    assert_true(s->frames > 4);
    int want = 328 - 900;
    uint32_t points = 0;
    for (uint32_t at = 0; at < s->bytes;) {
        /* messages follow one another in `data`; each is as long as its last field says */
        piece_t k = {0};
        uint32_t n = s->bytes - at;
        k.m.data.funcs.decode = keep_data;
        k.m.data.arg = &k;
        pb_istream_t in = pb_istream_from_buffer(s->data + at, n);
        while (in.bytes_left != 0 && k.n == 0) {
            pb_wire_type_t type;
            uint32_t tag;
            bool eof;
            uint64_t v;
            assert_true(pb_decode_tag(&in, &type, &tag, &eof));
            if (tag == 14) {
                assert_true(pb_decode_varint(&in, &v));
                k.data = in.state;
                k.n = (uint32_t)v;
            } else {
                assert_true(pb_decode_varint(&in, &v));
                k.m.at = tag == 5 ? (uint32_t)v : k.m.at;
            }
        }
        assert_int_equal(k.m.at, points);
        for (uint32_t i = 0; i < k.n / 2; i++) {
            assert_int_equal((int16_t)tw_get_le16(k.data + 2 * i), want);
            want++;
        }
        points += k.n / 2;
        at = (uint32_t)(k.data - s->data) + k.n;
    }
    assert_int_equal(points, 1900);
}

static void a_rate_holds_captures_back_and_triggers_are_counted(void **state)
{
    (void)state;
    tunewire_v1_ProbeReq q = level();
    q.trigger = tunewire_v1_ProbeReq_Trigger_NOW;
    q.mode = tunewire_v1_ProbeReq_Mode_REPEAT;
    q.pre = 10;
    q.post = 100;
    q.max_bytes_per_s = 1000;
    const wire_stream_t *s = arm(&q);
    const uint64_t from = b.rig.us;
    for (unsigned i = 0; i < 3000; i++) {
        wire_pump(w);
        b.rig.us += 900;
    }
    const double seconds = (double)(b.rig.us - from) / 1e6;
    assert_true(s->bytes > 500 && s->bytes < 1000 * seconds + 1500);
    const tunewire_v1_ProbeState st = state_of(s->id, 0);
    assert_true(st.captures >= st.sent && st.captures <= st.sent + 4);
    assert_int_equal(st.segments, 4);
}

static void what_does_not_fit_says_by_how_much(void **state)
{
    (void)state;
    tunewire_v1_ProbeReq q = level();
    q.post = 4096;
    assert_int_equal(wire_call(w, TW_M_Probe_Arm, PB(ProbeReq), &q, NULL, NULL), tunewire_v1_Code_RESOURCE_EXHAUSTED);
    assert_int_equal(wire_status(w)->where, (20 + 4096) * 2 - 4096);
    q = level();
    q.channel = 1;
    assert_int_equal(wire_call(w, TW_M_Probe_Arm, PB(ProbeReq), &q, NULL, NULL), tunewire_v1_Code_INVALID_ARGUMENT);
    q = level();
    q.arc = 9;
    assert_int_equal(wire_call(w, TW_M_Probe_Arm, PB(ProbeReq), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    q = level();
    q.trigger = tunewire_v1_ProbeReq_Trigger_SCRIPT;
    assert_int_equal(wire_call(w, TW_M_Probe_Arm, PB(ProbeReq), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
}

static void a_host_fires_and_disarms(void **state)
{
    (void)state;
    tunewire_v1_ProbeReq q = level();
    q.trigger = tunewire_v1_ProbeReq_Trigger_HOST;
    q.mode = tunewire_v1_ProbeReq_Mode_REPEAT;
    const wire_stream_t *s = arm(&q);
    pump_until(s, 0);
    wire_pump_n(w, 20);
    assert_int_equal(s->frames, 0);
    const tunewire_v1_ProbeRef ref = {.probe = s->id};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(wire_call(w, TW_M_Probe_Fire, PB(ProbeRef), &ref, NULL, NULL), 0);
        pump_until(s, i + 1);
        assert_int_equal(s->frames, i + 1);
        const piece_t k = decode(s->data + s->last_at, s->last_len);
        assert_int_equal(k.m.capture, i);
        assert_int_equal(k.m.cause, TW_CAUSE_HOST);
    }
    assert_int_equal(wire_call(w, TW_M_Probe_Disarm, PB(ProbeRef), &ref, NULL, NULL), 0);
    assert_int_equal(wire_call(w, TW_M_Probe_Disarm, PB(ProbeRef), &ref, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    wire_pump_n(w, 5);
    assert_true(s->fin);
    assert_int_equal(arm(&q) == NULL, 0); /* its place is free again */
}

static void another_graph_goes_on_with_the_arc_of_that_name(void **state)
{
    (void)state;
    tunewire_v1_ProbeReq q = level();
    q.arc = 1; /* "mid" */
    q.trigger = tunewire_v1_ProbeReq_Trigger_NOW;
    q.mode = tunewire_v1_ProbeReq_Mode_REPEAT;
    const wire_stream_t *s = arm(&q);
    pump_until(s, 2);
    bench_chain(w);
    const uint32_t seen = s->frames;
    pump_until(s, seen + 10);
    assert_true(s->frames >= seen + 10);
    assert_false(s->fin);
    static uint8_t img[32768];
    tunewire_v1_GraphInfo info;
    rig_chain_open(bench_ib());
    assert_int_equal(bench_load(w, img, tw_ib_finish(bench_ib(), img, sizeof img), &info), 0);
    wire_pump_n(w, 10);
    assert_true(s->fin && s->err); /* no arc of that name */
}

static void a_lost_connection_takes_its_probes_along(void **state)
{
    (void)state;
    tunewire_v1_ProbeReq q = level();
    q.mode = tunewire_v1_ProbeReq_Mode_REPEAT;
    (void)arm(&q);
    (void)arm(&q);
    assert_int_equal(wire_call(w, TW_M_Probe_Arm, PB(ProbeReq), &q, NULL, NULL), tunewire_v1_Code_RESOURCE_EXHAUSTED);
    wire_break(w);
    for (unsigned i = 0; i < 10; i++) {
        bench_later(&b, 1);
    }
    assert_false(tw_server_waiting(b.server));
    assert_true(wire_connect(w, &b.user, bench_turn, &b) && wire_hello(w, 1024, 4096, NULL));
    (void)arm(&q);
    (void)arm(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_BENCH(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
        WITH_BENCH(a_single_capture_comes_whole_and_ends_the_stream),
        WITH_BENCH(a_capture_larger_than_a_frame_comes_in_pieces),
        WITH_BENCH(a_rate_holds_captures_back_and_triggers_are_counted),
        WITH_BENCH(what_does_not_fit_says_by_how_much),
        WITH_BENCH(a_host_fires_and_disarms),
        WITH_BENCH(another_graph_goes_on_with_the_arc_of_that_name),
        WITH_BENCH(a_lost_connection_takes_its_probes_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
