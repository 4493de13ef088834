/* Subscriptions and the log: blocks as asked for, drops counted, graphs and connections that change. */
#include "engine/base/crc.h"
#include "tests/unit/server_rig.h"
#include <math.h>
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

typedef struct block {
    tunewire_v1_ArcBlock m;
    const uint8_t *data;
    uint32_t n;
} block_t;

static bool keep_data(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    block_t *k = *arg;
    k->data = in->state;
    k->n = (uint32_t)in->bytes_left;
    return pb_read(in, NULL, in->bytes_left);
}

/* The last message of a stream. */
static block_t last_block(const wire_stream_t *s)
{
    block_t k = {0};
    k.m.data.funcs.decode = keep_data;
    k.m.data.arg = &k;
    pb_istream_t in = pb_istream_from_buffer(s->data + s->last_at, s->last_len);
    assert_true(s->last_len != 0 && pb_decode(&in, PB(ArcBlock), &k.m));
    return k;
}

static wire_stream_t *subscribe(wire_client_t *c, const tunewire_v1_SubReq *q)
{
    assert_int_equal(wire_call(c, TW_M_Arc_Subscribe, PB(SubReq), q, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(c, wire_last_stream(c));
    assert_non_null(s);
    return s;
}

/* Until the stream has seen n more frames. */
static void wait_frames(wire_client_t *c, const wire_stream_t *s, uint32_t n)
{
    const uint32_t want = s->frames + n;
    for (unsigned i = 0; i < 4000 && s->frames < want && !s->fin; i++) {
        wire_pump(c);
        b.rig.us += 900;
    }
}

/* Keep the buffer of the test from filling. */
static void forget(wire_stream_t *s)
{
    s->bytes = 0;
}

static void raw_blocks_hold_every_sample(void **state)
{
    (void)state;
    const tunewire_v1_SubReq q = {.arc = 1};
    wire_stream_t *s = subscribe(w, &q);
    int32_t next = -1;
    uint64_t seq = 0;
    for (unsigned i = 0; i < 20; i++) {
        forget(s);
        wait_frames(w, s, 1);
        const block_t k = last_block(s);
        assert_int_equal(k.m.sub, s->id);
        assert_int_equal(k.m.dropped, 0);
        assert_int_equal(k.m.format, TW_RAW_S16 | 1 << 8);
        assert_int_equal(k.m.seq, seq++);
        assert_true(k.n != 0 && k.n % RIG_FRAME == 0);
        for (uint32_t at = 0; at < k.n; at += 2) { /* the ramp goes on from block to block */
            const uint16_t v = tw_get_le16(k.data + at);
            assert_true(next < 0 || v == (uint16_t)next);
            next = (uint16_t)(v + 1);
        }
    }
    const tunewire_v1_SubRef ref = {.sub = s->id};
    assert_int_equal(wire_call(w, TW_M_Arc_Unsubscribe, PB(SubRef), &ref, NULL, NULL), 0);
    assert_true(s->fin && !s->err);
    assert_int_equal(wire_call(w, TW_M_Arc_Unsubscribe, PB(SubRef), &ref, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
}

static void reductions_are_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        tunewire_v1_SubReq_Mode mode;
        uint32_t decimate, point, format;
    } rows[] = {
        {"smallest and largest of a frame", tunewire_v1_SubReq_Mode_MINMAX, 0, 8, TW_RAW_FP32 | 1 << 8 | 1 << 16},
        {"of four samples", tunewire_v1_SubReq_Mode_MINMAX, 4, 8, TW_RAW_FP32 | 1 << 8 | 1 << 16},
        {"of 40, across frames", tunewire_v1_SubReq_Mode_MINMAX, 40, 8, TW_RAW_FP32 | 1 << 8 | 1 << 16},
        {"root mean square of 8", tunewire_v1_SubReq_Mode_RMS, 8, 4, TW_RAW_FP32 | 1 << 8 | 2 << 16},
        {"the last of 16", tunewire_v1_SubReq_Mode_LAST, 0, 2, TW_RAW_S16 | 1 << 8 | 3 << 16},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const tunewire_v1_SubReq q = {.arc = 1, .mode = rows[i].mode, .decimate = rows[i].decimate};
        b.rig.next[0] = 1000; /* away from the wrap of the ramp */
        wire_stream_t *s = subscribe(w, &q);
        wait_frames(w, s, 2);
        const block_t k = last_block(s);
        const uint32_t group = rows[i].decimate != 0 ? rows[i].decimate : RIG_SAMPLES;
        if (k.m.format != rows[i].format || k.n % rows[i].point != 0 || k.n < 2 * rows[i].point) {
            fail_msg("%s: format %x, %u bytes", rows[i].why, k.m.format, k.n);
        }
        const uint8_t *p = k.data, *next = k.data + rows[i].point;
        switch (rows[i].mode) {
        case tunewire_v1_SubReq_Mode_MINMAX:
            assert_true(tw_get_f32(p + 4) - tw_get_f32(p) == (float)(group - 1));
            assert_true(tw_get_f32(next) - tw_get_f32(p + 4) == 1.0f);
            break;
        case tunewire_v1_SubReq_Mode_RMS: {
            /* of a ramp a..a+n-1: sqrt(mean^2 + (n^2 - 1) / 12) */
            const double first = tw_get_f32(p), mean = sqrt(first * first - (group * group - 1) / 12.0);
            const double then = sqrt((mean + group) * (mean + group) + (group * group - 1) / 12.0);
            assert_true(fabs(tw_get_f32(next) - then) < 0.05);
            break;
        }
        default:
            assert_int_equal((uint16_t)(tw_get_le16(next) - tw_get_le16(p)), group);
            break;
        }
        const tunewire_v1_SubRef ref = {.sub = s->id};
        assert_int_equal(wire_call(w, TW_M_Arc_Unsubscribe, PB(SubRef), &ref, NULL, NULL), 0);
        wire_pump(w);
    }
}

static void requests_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        tunewire_v1_SubReq q;
        int code;
    } rows[] = {
        {"no such arc", {.arc = 9}, 5},
        {"a mode nobody knows", {.arc = 1, .mode = (tunewire_v1_SubReq_Mode)7}, 3},
        {"a trigger", {.arc = 1, .trig_level = 5}, 12},
        {"blocks smaller than a frame", {.arc = 1, .max_block = RIG_FRAME - 1}, 11},
        {"another graph", {.graph = 2, .arc = 1}, 5},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const int code = wire_call(w, TW_M_Arc_Subscribe, PB(SubReq), &rows[i].q, NULL, NULL);
        if (code != rows[i].code) {
            fail_msg("%s: %d", rows[i].why, code);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        const tunewire_v1_SubReq q = {.arc = 0};
        (void)subscribe(w, &q);
    }
    const tunewire_v1_SubReq q = {.arc = 0};
    assert_int_equal(wire_call(w, TW_M_Arc_Subscribe, PB(SubReq), &q, NULL, NULL), tunewire_v1_Code_RESOURCE_EXHAUSTED);
}

static void without_credit_blocks_are_dropped_and_counted(void **state)
{
    (void)state;
    const tunewire_v1_SubReq_Drop drops[] = {tunewire_v1_SubReq_Drop_OLDEST, tunewire_v1_SubReq_Drop_NEWEST};
    for (size_t i = 0; i < TW_COUNT(drops); i++) {
        w->no_credit = true;
        const tunewire_v1_SubReq q = {.arc = 1, .drop = drops[i]};
        wire_stream_t *s = subscribe(w, &q);
        const uint32_t ticks = b.ticks;
        for (unsigned k = 0; k < 1000; k++) {
            wire_pump(w);
            b.rig.us += 900;
        }
        assert_true(b.ticks - ticks >= 1000); /* the engine went on */
        assert_true(s->bytes <= 4096 && s->bytes > 2000);
        const uint32_t held = s->frames;
        w->no_credit = false;
        assert_true(tw_conn_grant(&w->c, s->id, 4096));
        forget(s);
        wait_frames(w, s, 3);
        const block_t k = last_block(s);
        assert_true(s->frames > held);
        assert_true(k.m.dropped > 500 && k.m.dropped < 1100);
        const tunewire_v1_SubRef ref = {.sub = s->id};
        assert_int_equal(wire_call(w, TW_M_Arc_Unsubscribe, PB(SubRef), &ref, NULL, NULL), 0);
        wire_pump(w);
    }
}

/* Replies of `other` come in the very round they were asked for, whatever `w` does. */
static void expect_prompt(wire_client_t *other, unsigned ms)
{
    for (unsigned i = 0; i < ms; i += 10) {
        const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -(float)(i % 90));
        const uint32_t id = wire_send(other, TW_M_Param_Set, PB(ParamSet), &q);
        wire_pump(other);
        assert_non_null(wire_reply(other, id));
        b.rig.us += 10000;
    }
}

static void a_watcher_of_everything_who_stops_reading_harms_nobody_and_is_cut(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    for (uint32_t arc = 0; arc < 3; arc++) {
        const tunewire_v1_SubReq q = {.arc = arc};
        (void)subscribe(w, &q);
    }
    w->deaf = true;
    expect_prompt(other, 9900);
    assert_false(w->user.closing(w->user.ctx, w->conn));
    size_t waiting;
    (void)w->user.pending(w->user.ctx, w->conn, &waiting);
    assert_in_range(waiting, 1, bench_cfg().out_bytes); /* what it holds up is bounded by its own send buffer */
    expect_prompt(other, 200);
    assert_true(w->user.closing(w->user.ctx, w->conn));
    w->deaf = false;
    wire_pump_n(w, 2);
    assert_true(w->closed);
    assert_int_equal(bench_counter(other, "connections_stalled"), 1);
    assert_true(bench_counter(other, "sub_dropped") > 100);
    expect_prompt(other, 100);
    bench_leave(other);
}

static void the_end_of_a_stream_reaches_a_client_that_was_behind(void **state)
{
    (void)state;
    static uint8_t img[32768];
    tunewire_v1_GraphInfo info;
    wire_client_t *other = bench_client(&b);
    wire_stream_t *watched[2];
    for (uint32_t i = 0; i < 2; i++) {
        const tunewire_v1_SubReq q = {.arc = 1};
        watched[i] = subscribe(w, &q);
    }
    const uint16_t upload = wire_open_stream(w, 0);
    w->stream = upload;
    const tunewire_v1_BlobOpen open = {.size = 100};
    assert_int_equal(wire_call(w, TW_M_Blob_Open, PB(BlobOpen), &open, NULL, NULL), 0);
    w->stream = 0;
    w->deaf = true;
    const tunewire_v1_PingReq ping = {.payload = {.size = 64}};
    for (unsigned i = 0; i < 300; i++) { /* in one read, so that nobody can say "not ready" in between */
        (void)wire_send(w, TW_M_Session_Ping, PB(PingReq), &ping);
    }
    assert_true(wire_data(w, upload, 50, "gap", 3, 0));
    wire_bytes(w, w->c.out.buf + w->c.out.at, tw_out_pending(&w->c.out));
    tw_out_drained(&w->c.out, tw_out_pending(&w->c.out));
    tw_ib_t *ib = bench_ib();
    rig_chain_open(ib); /* without a name for the arc */
    assert_int_equal(bench_load(other, img, tw_ib_finish(ib, img, sizeof img), &info), 0);
    w->deaf = false;
    wire_pump_n(w, 20);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(watched[i]->fin && watched[i]->err);
    }
    assert_int_equal(tw_conn_credit(&w->c, upload), 0); /* the refusal closed it */
    bench_leave(other);
}

static void the_rate_asked_for_is_not_exceeded(void **state)
{
    (void)state;
    const tunewire_v1_SubReq q = {.arc = 1, .max_bytes_per_s = 2000, .max_block = 300};
    wire_stream_t *s = subscribe(w, &q);
    const uint64_t start = b.rig.us;
    for (unsigned k = 0; k < 3000; k++) {
        wire_pump(w);
        b.rig.us += 900;
    }
    const double seconds = (double)(b.rig.us - start) / 1e6;
    assert_true(s->bytes <= 2000 * seconds + 2000 + 500);
    assert_true(s->bytes >= 1000 * seconds); /* 32000 a second would be there to send */
    assert_true(last_block(s).m.dropped > 0);
}

static void a_subscription_follows_its_arc_into_the_next_graph(void **state)
{
    (void)state;
    const tunewire_v1_SubReq q = {.arc = 1}; /* "mid" */
    const tunewire_v1_SubReq q2 = {.arc = 2};
    wire_stream_t *s = subscribe(w, &q), *gone = subscribe(w, &q2);
    wait_frames(w, s, 2);
    /* a graph of one amplifier whose output is called mid */
    static uint8_t img[32768];
    tw_ib_t *ib = bench_ib();
    tw_ib_init(ib);
    const uint32_t f = tw_ib_format(ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(ib, TW_IB_IO, 0, 0, 0, f, f, RIG_FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(ib, 0, 1, TW_IB_IO, 0, f, f, RIG_FRAME);
    tw_ib_io(ib, 0, false, in, f);
    tw_ib_io(ib, 4, true, out, f);
    tw_ib_node(ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
    tw_ib_symbol(ib, TW_SYM_ARC, 0, "mid");
    tunewire_v1_GraphInfo info;
    assert_int_equal(bench_load(w, img, tw_ib_finish(ib, img, sizeof img), &info), 0);
    forget(s);
    wait_frames(w, s, 3);
    assert_false(s->fin);
    assert_true(last_block(s).n % RIG_FRAME == 0);
    assert_true(gone->fin && gone->err); /* no arc.2 any more */

    const tunewire_v1_GraphRef ref = {.graph = 1};
    assert_int_equal(wire_call(w, TW_M_Graph_Unload, PB(GraphRef), &ref, NULL, NULL), 0);
    const uint32_t frames = s->frames;
    wire_pump_n(w, 50);
    assert_true(s->frames <= frames + 1 && !s->fin);
    bench_chain(w); /* and back again */
    forget(s);
    wait_frames(w, s, 2);
    assert_true(s->frames > frames + 1);
}

static void a_resumed_session_finds_its_subscriptions(void **state)
{
    (void)state;
    const tunewire_v1_SubReq q = {.arc = 1};
    const uint16_t id = subscribe(w, &q)->id;
    uint8_t token[16];
    memcpy(token, w->hello.session.bytes, 16);
    wire_break(w);
    bench_later(&b, 300);
    assert_true(wire_connect(w, &b.user, bench_turn, &b));
    assert_true(wire_hello(w, 1024, 4096, token));
    assert_int_equal(tw_conn_open(&w->c, id, false), id);
    w->streams[0].id = id;
    wait_frames(w, &w->streams[0], 3);
    assert_true(w->streams[0].frames >= 3);
    assert_int_equal(last_block(&w->streams[0]).m.sub, id);
}

static void subscriptions_of_the_gone_are_free_again(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        wire_client_t *c = bench_client(&b);
        for (unsigned i = 0; i < 4; i++) {
            const tunewire_v1_SubReq q = {.arc = i % 3};
            assert_int_equal(wire_call(c, TW_M_Arc_Subscribe, PB(SubReq), &q, NULL, NULL), 0);
        }
        wire_pump_n(c, 5);
        bench_leave(c);
        bench_later(&b, 1100);
        bench_turn(&b);
        bench_turn(&b);
    }
}

/* ---- log ---------------------------------------------------------------------------- */

static tunewire_v1_LogLine last_line(const wire_stream_t *s)
{
    tunewire_v1_LogLine m;
    assert_true(s->last_len != 0);
    assert_int_equal(tw_rpc_decode(s->data + s->last_at, s->last_len, PB(LogLine), &m), TW_OK);
    return m;
}

static void the_log_is_read_back_and_filtered(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        char text[32];
        snprintf(text, sizeof text, "line %u", i);
        tw_server_log(b.server, i % 3 == 0 ? TW_LOG_ERROR : TW_LOG_INFO, TW_SRC_IO, text);
    }
    static const struct {
        const char *why;
        tunewire_v1_LogRead q;
        uint32_t frames;
        const char *last;
    } rows[] = {
        {"all that are kept", {0}, 256, "line 299"},
        {"ten from the oldest", {.limit = 10}, 10, "line 53"},
        {"errors only", {.has_filter = true, .filter = {.min_level = 1}}, 85, "line 297"},
        {"of a source that is silent", {.has_filter = true, .filter = {.src_count = 1, .src = {TW_SRC_PHY}}}, 1, NULL},
        {"from beyond the end", {.from_seq = 100000}, 1, NULL},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        assert_int_equal(wire_call(w, TW_M_Log_Read, PB(LogRead), &rows[i].q, NULL, NULL), 0);
        wire_stream_t *s = wire_stream(w, wire_last_stream(w));
        for (unsigned k = 0; k < WIRE_TURNS && !s->fin; k++) {
            wire_pump(w);
        }
        const bool right = s->fin && !s->err && s->frames == rows[i].frames &&
                           (rows[i].last == NULL ? s->bytes == 0 : strcmp(last_line(s).text, rows[i].last) == 0);
        if (!right) {
            fail_msg("%s: %u frames, last '%s'", rows[i].why, s->frames, s->bytes != 0 ? last_line(s).text : "");
        }
        s->id = 0;
    }
}

static void a_follower_hears_new_lines_until_it_cancels(void **state)
{
    (void)state;
    const tunewire_v1_LogFilter q = {.min_level = TW_LOG_WARN};
    const uint32_t id = wire_send(w, TW_M_Log_Follow, PB(LogFilter), &q);
    assert_int_equal(wire_wait(w, id), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    tw_server_log(b.server, TW_LOG_INFO, TW_SRC_IO, "not this");
    tw_server_log(b.server, TW_LOG_WARN, TW_SRC_IO, "this");
    wire_pump_n(w, 3);
    assert_int_equal(s->frames, 1);
    assert_string_equal(last_line(s).text, "this");
    uint8_t call[4];
    tw_put_le32(call, id);
    assert_true(wire_raw(w, TW_FT_CANCEL, 0, TW_FF_FIN, call, 4));
    wire_pump_n(w, 2);
    assert_true(s->fin && s->err);
}

static void a_flood_of_lines_costs_a_slow_follower_the_oldest(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    const tunewire_v1_LogFilter q = tunewire_v1_LogFilter_init_zero;
    assert_int_equal(wire_call(w, TW_M_Log_Follow, PB(LogFilter), &q, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    w->no_credit = true;
    const uint32_t owed = tw_conn_credit(&w->c, 0) + w->c.window;
    for (unsigned i = 0; i < 5000; i++) {
        tw_server_log(b.server, TW_LOG_INFO, TW_SRC_IO, "one of very many");
        if (i % 10 == 0) {
            wire_pump(w);
            assert_int_equal(wire_call(other, TW_M_Session_Ping, NULL, NULL, NULL, NULL), 0);
        }
    }
    const uint32_t got = s->frames;
    assert_true(s->bytes <= owed && got > 10 && got < 500);
    const uint64_t held = last_line(s).seq;
    w->no_credit = false;
    (void)tw_conn_grant(&w->c, s->id, s->bytes);
    wire_pump_n(w, 40);
    assert_int_equal(s->frames - got, 256); /* those that are kept; the numbers show the hole */
    assert_int_equal(last_line(s).seq, held + 5000 - got);
    bench_leave(other);
}

static void levels_decide_what_is_kept(void **state)
{
    (void)state;
    const tunewire_v1_LogFilter all = tunewire_v1_LogFilter_init_zero;
    assert_int_equal(wire_call(w, TW_M_Log_Follow, PB(LogFilter), &all, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    tunewire_v1_LogLevel q = {.src = TW_SRC_IO, .level = TW_LOG_ERROR};
    assert_int_equal(wire_call(w, TW_M_Log_Level, PB(LogLevel), &q, NULL, NULL), 0);
    tw_server_log(b.server, TW_LOG_WARN, TW_SRC_IO, "quiet");
    tw_server_log(b.server, TW_LOG_WARN, TW_SRC_PHY, "heard");
    wire_pump_n(w, 2);
    assert_int_equal(s->frames, 1);
    q = (tunewire_v1_LogLevel){.src = 99, .level = 1};
    assert_int_equal(wire_call(w, TW_M_Log_Level, PB(LogLevel), &q, NULL, NULL), tunewire_v1_Code_OUT_OF_RANGE);
}

static void flow_errors_appear_once_a_series(void **state)
{
    (void)state;
    const tunewire_v1_LogFilter q = {.src_count = 1, .src = {TW_SRC_GRAPH}};
    assert_int_equal(wire_call(w, TW_M_Log_Follow, PB(LogFilter), &q, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    b.rig.hole_from = b.rig.reads[0];
    b.rig.hole_to = b.rig.hole_from + 20;
    wire_pump_n(w, 30);
    assert_true(s->frames >= 1 && s->frames <= 4);
    assert_non_null(strstr(last_line(s).text, "arc "));
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(raw_blocks_hold_every_sample),
        T(reductions_are_what_they_say),
        T(requests_that_make_no_sense_are_refused),
        T(without_credit_blocks_are_dropped_and_counted),
        T(a_watcher_of_everything_who_stops_reading_harms_nobody_and_is_cut),
        T(the_end_of_a_stream_reaches_a_client_that_was_behind),
        T(the_rate_asked_for_is_not_exceeded),
        T(a_subscription_follows_its_arc_into_the_next_graph),
        T(a_resumed_session_finds_its_subscriptions),
        T(subscriptions_of_the_gone_are_free_again),
        T(the_log_is_read_back_and_filtered),
        T(a_follower_hears_new_lines_until_it_cancels),
        T(a_flood_of_lines_costs_a_slow_follower_the_oldest),
        T(levels_decide_what_is_kept),
        T(flow_errors_appear_once_a_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
