/* Sessions and calls: hello, resume, repeats, limits, deadlines, cancel, clients that do not read. */
#include "engine/base/crc.h"
#include "protocol/schema.h"
#include "tests/unit/server_rig.h"

static bench_t b;
static wire_client_t *w;

static int open_bench(void **state)
{
    (void)state;
    bench_open(&b);
    w = bench_client(&b);
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_leave(w);
    bench_close(&b);
    return 0;
}

static uint64_t counter(const char *name)
{
    return bench_counter(w, name);
}

/* ---- hello ---------------------------------------------------------------------- */

static void hello_settles_versions_and_limits(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t major, minor, max_frame, window, max_calls;
        bool ok;
        uint32_t frame, credit, calls;
    } rows[] = {
        {"as the server has it", 1, 0, 1024, 4096, 8, true, 1024, 4096, 8},
        {"a newer minor is fine", 1, 9, 1024, 4096, 8, true, 1024, 4096, 8},
        {"another major is not", 2, 0, 1024, 4096, 8, false, 0, 0, 0},
        {"no major is not", 0, 0, 1024, 4096, 8, false, 0, 0, 0},
        {"the smaller frame holds", 1, 0, 512, 4096, 8, true, 512, 4096, 8},
        {"frames never fall below 256", 1, 0, 10, 4096, 8, true, 256, 4096, 8},
        {"a host's larger values are cut", 1, 0, 65536, 1 << 20, 64, true, 1024, 4096, 8},
        {"fewer calls if the client likes", 1, 0, 1024, 1000, 2, true, 1024, 1000, 2},
        {"0 calls = not given", 1, 0, 1024, 4096, 0, true, 1024, 4096, 8},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        wire_client_t *c = malloc(sizeof *c);
        assert_true(wire_connect(c, &b.user, bench_turn, &b));
        tunewire_v1_HelloReq q = {.major = rows[i].major,
                                  .minor = rows[i].minor,
                                  .max_frame = rows[i].max_frame,
                                  .window = rows[i].window,
                                  .max_calls = rows[i].max_calls};
        uint8_t buf[64];
        tw_err_t err;
        const uint32_t n = tw_rpc_encode(buf, sizeof buf, PB(HelloReq), &q, &err);
        (void)wire_raw(c, TW_FT_HELLO, 0, TW_FF_FIN, buf, n);
        wire_pump_n(c, 3);
        const bool right = rows[i].ok ? c->open && c->hello.max_frame == rows[i].frame &&
                                            c->hello.window == rows[i].credit && c->hello.max_calls == rows[i].calls
                                      : c->goaway && c->closed && c->goaway_status.code == tunewire_v1_Code_VERSION;
        if (!right) {
            fail_msg("%s: open %d goaway %d frame %u", rows[i].why, c->open, c->goaway, c->hello.max_frame);
        }
        bench_leave(c);
    }
}

static void hello_says_who_and_what_the_server_is(void **state)
{
    (void)state;
    assert_string_equal(w->hello.server, "bench");
    assert_int_equal(w->hello.boot_id, 42);
    assert_int_equal(w->hello.session.size, 16);
    assert_int_equal(w->hello.nonce.size, 16);
    assert_false(w->hello.auth_required);
    assert_int_equal(w->hello.schema_crc, tw_crc32c(0, tw_schema, tw_schema_bytes));
}

static void nothing_is_heard_before_hello(void **state)
{
    (void)state;
    wire_client_t *c = malloc(sizeof *c);
    assert_true(wire_connect(c, &b.user, bench_turn, &b));
    const uint8_t ping[] = {5, 8, 1, 16, 0x83, 2, 0};
    (void)wire_raw(c, TW_FT_CALL, 0, TW_FF_FIN, ping, sizeof ping);
    wire_pump_n(c, 3);
    assert_true(c->goaway && c->closed);
    assert_int_equal(c->goaway_status.detail, -TW_E_NO_HELLO);
    bench_leave(c);
}

static void the_golden_hello_and_ping_are_answered(void **state)
{
    (void)state;
    static const uint8_t hello[] = {0xa5, 0x01, 0x05, 0x01, 0x00, 0x00, 0x18, 0xbc, 0x0c, 0x00, 0x00, 0x00, 0xae, 0xab,
                                    0x5c, 0xa2, 0x08, 0x01, 0x18, 0x80, 0x08, 0x20, 0x80, 0x20, 0x2a, 0x02, 0x74, 0x77};
    static const uint8_t ping[] = {0xa5, 0x01, 0x00, 0x01, 0x00, 0x00, 0xb9, 0x35, 0x0b, 0x00, 0x00, 0x00, 0x88, 0x9e,
                                   0x3f, 0x29, 0x05, 0x08, 0x01, 0x10, 0x83, 0x02, 0x04, 0x0a, 0x02, 0x68, 0x69};
    wire_client_t *c = malloc(sizeof *c);
    assert_true(wire_connect(c, &b.user, bench_turn, &b));
    wire_bytes(c, hello, sizeof hello);
    wire_pump(c);
    assert_true(c->open);
    wire_bytes(c, ping, sizeof ping);
    assert_int_equal(wire_wait(c, 1), 0);
    tunewire_v1_PingRep rep;
    assert_int_equal(tw_rpc_decode(c->replies[1].body, c->replies[1].len, PB(PingRep), &rep), TW_OK);
    assert_memory_equal(rep.payload.bytes, "hi", 2);
    bench_leave(c);
}

static void a_crowd_is_refused_and_the_silent_make_room(void **state)
{
    (void)state;
    wire_client_t *c[4];
    for (unsigned i = 0; i < 4; i++) {
        c[i] = malloc(sizeof *c[i]);
        assert_true(wire_connect(c[i], &b.user, bench_turn, &b)); /* w is the first of four */
    }
    wire_client_t *sixth = malloc(sizeof *sixth);
    assert_false(wire_connect(sixth, &b.user, bench_turn, &b)); /* one at a time is told why */
    free(sixth);
    assert_false(wire_hello(c[3], 1024, 4096, NULL));
    assert_true(c[3]->goaway && c[3]->closed);
    assert_int_equal(c[3]->goaway_status.code, tunewire_v1_Code_RESOURCE_EXHAUSTED);
    assert_int_equal(c[3]->goaway_status.detail, -TW_E_SESSIONS);
    assert_non_null(strstr(c[3]->goaway_status.text, "close one or try again"));
    assert_int_equal(counter("connections_refused"), 2);
    for (unsigned i = 0; i < 3; i++) { /* a transport asks all the time whether there is anything to send */
        wire_pump(c[i]);
        bench_later(&b, 1000);
    }
    assert_true(wire_connect(c[3], &b.user, bench_turn, &b)); /* tells the longest silent one to go */
    wire_pump(c[3]);
    assert_true(c[3]->goaway && c[3]->closed);
    wire_pump(c[0]);
    assert_true(c[0]->closed);
    assert_true(wire_connect(c[3], &b.user, bench_turn, &b));
    assert_true(wire_hello(c[3], 1024, 4096, NULL));
    for (unsigned i = 0; i < 4; i++) {
        bench_leave(c[i]);
    }
}

/* ---- calls ------------------------------------------------------------------------- */

static int ping(uint32_t id)
{
    const tunewire_v1_PingReq q = tunewire_v1_PingReq_init_zero;
    (void)wire_send_id(w, id, TW_M_Session_Ping, PB(PingReq), &q);
    return wire_wait(w, id);
}

static void unknown_methods_and_malformed_requests_cost_one_call(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t payload[16], n;
        uint32_t id;
        int code;
        tw_err_t detail;
    } rows[] = {
        {"a service nobody has", {6, 8, 1, 16, 0x81, 0xFE, 1, 0}, 8, 1, 12, TW_E_METHOD},
        {"hello as a call", {5, 8, 2, 16, 0x81, 2, 0}, 7, 2, 12, TW_E_METHOD},
        {"a method not served here (Npu.Info)", {5, 8, 3, 16, 0x83, 12, 0}, 7, 3, 12, TW_E_METHOD},
        {"a request that does not decode", {5, 8, 4, 16, 0x83, 2, 2, 0x0a, 9}, 9, 4, 3, TW_E_MESSAGE},
        {"a header that does not decode", {5, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0}, 7, 0, 3, TW_E_MESSAGE},
        {"lengths past the end", {200, 1}, 2, 0, 3, TW_E_MESSAGE},
        {"an empty call", {0}, 0, 0, 3, TW_E_MESSAGE},
        {"a method id above 16 bits", {6, 8, 5, 16, 0x83, 0x82, 4, 0}, 8, 5, 12, TW_E_METHOD},
        {"call id 0", {5, 8, 0, 16, 0x83, 2, 0}, 7, 0, 11, TW_E_CALL_ID},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        w->replies[rows[i].id].id = UINT32_MAX;
        assert_true(wire_raw(w, TW_FT_CALL, 0, TW_FF_FIN, rows[i].payload, rows[i].n));
        wire_pump_n(w, 2);
        const tunewire_v1_ReplyHeader *h = wire_reply(w, rows[i].id);
        if (h == NULL || h->status.code != (tunewire_v1_Code)rows[i].code ||
            (int)h->status.detail != -(int)rows[i].detail) {
            fail_msg("%s: code %d detail %u", rows[i].why, h != NULL ? (int)h->status.code : -1,
                     h != NULL ? h->status.detail : 0);
        }
    }
    assert_int_equal(ping(20), 0);
}

static void a_call_larger_than_the_device_accepts_is_answered(void **state)
{
    (void)state;
    static uint8_t big[6000] = {3, 8, 7, 16, 0x83, 2};
    big[0] = 5;
    assert_true(wire_raw(w, TW_FT_CALL, 0, TW_FF_FIN, big, sizeof big));
    assert_int_equal(wire_wait(w, 7), tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_equal(ping(8), 0);
}

static void a_repeated_id_is_answered_without_acting_again(void **state)
{
    (void)state;
    bench_chain(w);
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -3.0f);
    const uint32_t id = wire_send(w, TW_M_Param_Set, PB(ParamSet), &q);
    assert_int_equal(wire_wait(w, id), 0);
    tunewire_v1_ParamAck first, again;
    const uint64_t t_us = wire_reply(w, id)->t_us;
    assert_int_equal(tw_rpc_decode(w->replies[id].body, w->replies[id].len, PB(ParamAck), &first), TW_OK);
    w->replies[id].id = 0;
    (void)wire_send_id(w, id, TW_M_Param_Set, PB(ParamSet), &q);
    assert_int_equal(wire_wait(w, id), 0);
    assert_int_equal(tw_rpc_decode(w->replies[id].body, w->replies[id].len, PB(ParamAck), &again), TW_OK);
    assert_int_equal(again.version, first.version);
    assert_int_equal(again.applied_tick, first.applied_tick);
    assert_true(wire_reply(w, id)->t_us == t_us);

    tunewire_v1_ParamAck next;
    assert_int_equal(param_set(w, &q, &next), 0);
    assert_int_equal(next.version, first.version + 1);
    assert_int_equal(counter("calls_repeated"), 1);
}

static void ids_older_than_the_store_are_refused_and_lost_ones_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t id;
        int code;
        tw_err_t detail;
    } rows[] = {
        {"a jump ahead", 100, 0, TW_OK},
        {"eight back: the store no longer tells", 92, 11, TW_E_CALL_ID},
        {"seven back, never seen: the link ate it", 93, 0, TW_OK},
        {"and once more: from the store", 93, 0, TW_OK},
        {"far back", 1, 11, TW_E_CALL_ID},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        w->replies[rows[i].id].id = 0;
        const int code = ping(rows[i].id);
        if (code != rows[i].code || (code != 0 && (int)wire_status(w)->detail != -(int)rows[i].detail)) {
            fail_msg("%s: %d", rows[i].why, code);
        }
    }
}

static void one_call_too_many_is_busy_at_once(void **state)
{
    (void)state;
    bench_chain(w);
    b.frozen = true;
    tunewire_v1_ParamGet q = tunewire_v1_ParamGet_init_zero;
    q.node = AMP;
    q.index = GAIN_DB;
    uint32_t ids[9];
    for (unsigned i = 0; i < 9; i++) {
        ids[i] = wire_send(w, TW_M_Param_Get, PB(ParamGet), &q);
    }
    assert_int_equal(wire_wait(w, ids[8]), tunewire_v1_Code_BUSY);
    assert_null(wire_reply(w, ids[7]));
    b.frozen = false;
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(wire_wait(w, ids[i]), 0);
    }
    w->replies[ids[8]].id = 0;
    assert_int_equal(ping(ids[8]), 0); /* refused calls are not stored: the same id may be sent again */
}

static void late_and_cancelled_calls_are_answered_once(void **state)
{
    (void)state;
    bench_chain(w);
    tunewire_v1_ParamGet q = tunewire_v1_ParamGet_init_zero;
    q.node = AMP;
    q.index = GAIN_DB;
    b.frozen = true;
    w->deadline_ms = 50;
    const uint32_t late = wire_send(w, TW_M_Param_Get, PB(ParamGet), &q);
    w->deadline_ms = 0;
    const uint32_t cancelled = wire_send(w, TW_M_Param_Get, PB(ParamGet), &q);
    wire_pump(w);
    assert_null(wire_reply(w, late));
    uint8_t id[4];
    tw_put_le32(id, cancelled);
    assert_true(wire_raw(w, TW_FT_CANCEL, 0, TW_FF_FIN, id, 4));
    assert_int_equal(wire_wait(w, cancelled), tunewire_v1_Code_CANCELLED);
    bench_later(&b, 100);
    assert_int_equal(wire_wait(w, late), tunewire_v1_Code_DEADLINE_EXCEEDED);
    assert_true(wire_raw(w, TW_FT_CANCEL, 0, TW_FF_FIN, id, 4)); /* after the end: nothing happens */
    b.frozen = false;
    wire_pump_n(w, 5);
    assert_int_equal(w->replies[late].count, 1);
    assert_int_equal(w->replies[cancelled].count, 1);
    assert_int_equal(counter("calls_late"), 1);
}

static void the_default_deadline_ends_a_call_nobody_answers(void **state)
{
    (void)state;
    bench_chain(w);
    b.frozen = true;
    tunewire_v1_ParamGet q = tunewire_v1_ParamGet_init_zero;
    q.node = AMP;
    q.index = GAIN_DB;
    const uint32_t id = wire_send(w, TW_M_Param_Get, PB(ParamGet), &q);
    wire_pump(w);
    bench_later(&b, 4900);
    wire_pump(w);
    assert_null(wire_reply(w, id));
    bench_later(&b, 200);
    assert_int_equal(wire_wait(w, id), tunewire_v1_Code_DEADLINE_EXCEEDED);
}

/* ---- resume ---------------------------------------------------------------------------- */

static void come_back(const uint8_t *token)
{
    assert_true(wire_connect(w, &b.user, bench_turn, &b));
    assert_true(wire_hello(w, 1024, 4096, token));
}

static void a_resumed_session_still_knows_what_it_answered(void **state)
{
    (void)state;
    bench_chain(w);
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -3.0f);
    const uint32_t id = wire_send(w, TW_M_Param_Set, PB(ParamSet), &q);
    assert_int_equal(wire_wait(w, id), 0);
    uint8_t token[16];
    memcpy(token, w->hello.session.bytes, 16);

    wire_break(w);
    bench_later(&b, 500);
    come_back(token);
    assert_memory_equal(w->hello.session.bytes, token, 16);
    (void)wire_send_id(w, id, TW_M_Param_Set, PB(ParamSet), &q);
    assert_int_equal(wire_wait(w, id), 0);
    tunewire_v1_ParamAck ack;
    assert_int_equal(tw_rpc_decode(w->replies[id].body, w->replies[id].len, PB(ParamAck), &ack), TW_OK);
    assert_int_equal(ack.version, 2);
    w->next_id = id + 1;
    assert_int_equal(counter("sessions_resumed"), 1);
    assert_int_equal(counter("sessions_vanished"), 1);
}

static void a_session_lost_for_too_long_comes_back_fresh(void **state)
{
    (void)state;
    assert_int_equal(ping(1), 0);
    uint8_t token[16];
    memcpy(token, w->hello.session.bytes, 16);
    wire_break(w);
    bench_later(&b, 1001);
    come_back(token);
    assert_memory_not_equal(w->hello.session.bytes, token, 16);
    w->next_id = 5;
    assert_int_equal(counter("sessions_expired"), 1);
}

static void the_owner_of_a_token_displaces_a_dead_connection(void **state)
{
    (void)state;
    wire_client_t *again = malloc(sizeof *again);
    assert_true(wire_connect(again, &b.user, bench_turn, &b));
    assert_true(wire_hello(again, 1024, 4096, w->hello.session.bytes));
    wire_pump_n(w, 2);
    assert_true(w->goaway && w->closed);
    const tunewire_v1_PingReq q = tunewire_v1_PingReq_init_zero;
    assert_int_equal(wire_call(again, TW_M_Session_Ping, PB(PingReq), &q, NULL, NULL), 0);
    bench_leave(again);
}

static void an_answer_of_the_engine_waits_for_the_client_to_come_back(void **state)
{
    (void)state;
    bench_chain(w);
    b.frozen = true;
    tunewire_v1_GraphCtl q = {.op = tunewire_v1_GraphCtl_Op_STOP};
    const uint32_t id = wire_send(w, TW_M_Graph_Control, PB(GraphCtl), &q);
    wire_pump(w);
    assert_null(wire_reply(w, id));
    uint8_t token[16];
    memcpy(token, w->hello.session.bytes, 16);
    wire_break(w);
    b.frozen = false;
    bench_turn(&b);
    bench_turn(&b);
    come_back(token);
    assert_int_equal(wire_wait(w, id), 0); /* without asking again */
}

static void bye_ends_the_session_for_good(void **state)
{
    (void)state;
    uint8_t token[16];
    memcpy(token, w->hello.session.bytes, 16);
    assert_int_equal(wire_call(w, TW_M_Session_Bye, NULL, NULL, NULL, NULL), 0);
    wire_pump_n(w, 2);
    assert_true(w->closed && !w->goaway);
    come_back(token);
    assert_memory_not_equal(w->hello.session.bytes, token, 16);
    assert_int_equal(counter("sessions_vanished"), 0);
}

/* ---- streams and bad manners ---------------------------------------------------------------- */

static void names_of_clients_are_harmless_in_the_log(void **state)
{
    (void)state;
    static const struct {
        const char *why, *name, *shown;
    } rows[] = {
        {"a terminal's escape sequence", "\x1b[31mred", "?[31mred"},
        {"a forged line", "x\ntunewired: error", "x?tunewired: error"},
        {"broken UTF-8", "a\xff\xc3", "a??"},
        {"UTF-8 as it should be", "caf\xc3\xa9", "caf\xc3\xa9"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        wire_client_t *c = malloc(sizeof *c);
        assert_true(wire_connect(c, &b.user, bench_turn, &b));
        uint8_t hello[64] = {8, 1, 5 << 3 | 2, (uint8_t)strlen(rows[i].name)};
        memcpy(hello + 4, rows[i].name, hello[3]);
        assert_true(wire_raw(c, TW_FT_HELLO, 0, TW_FF_FIN, hello, 4u + hello[3]));
        wire_pump_n(c, 2);
        assert_true(c->open);
        assert_int_equal(wire_call(w, TW_M_Log_Read, NULL, NULL, NULL, NULL), 0);
        wire_stream_t *s = wire_stream(w, wire_last_stream(w));
        wire_pump_n(w, 3);
        char want[64];
        snprintf(want, sizeof want, "session opened by %s at ", rows[i].shown);
        tunewire_v1_LogLine line;
        assert_int_equal(tw_rpc_decode(s->data + s->last_at, s->last_len, PB(LogLine), &line), TW_OK);
        if (strncmp(line.text, want, strlen(want)) != 0) {
            fail_msg("%s: '%s'", rows[i].why, line.text);
        }
        s->id = 0;
        bench_leave(c);
        bench_later(&b, 1500);
    }
}

static void the_server_describes_itself(void **state)
{
    (void)state;
    assert_int_equal(wire_call(w, TW_M_Session_Schema, NULL, NULL, NULL, NULL), 0);
    const uint32_t stream = wire_last_stream(w);
    assert_int_not_equal(stream, 0);
    assert_int_equal(stream & 1, 0);
    const wire_stream_t *s = wire_stream(w, stream);
    for (unsigned i = 0; i < WIRE_TURNS && !s->fin; i++) {
        wire_pump(w);
    }
    assert_true(s->fin && !s->err && !s->gap);
    assert_int_equal(s->bytes, tw_schema_bytes);
    assert_int_equal(tw_crc32c(0, s->data, s->bytes), w->hello.schema_crc);
}

static void a_client_that_does_not_read_is_not_read_from_and_in_the_end_closed(void **state)
{
    (void)state;
    bench_chain(w);
    w->deaf = true;
    unsigned sent = 0;
    for (; sent < 3000 && b.user.ready(b.user.ctx, w->conn); sent++) {
        const tunewire_v1_PingReq q = {.payload = {.size = 64}};
        (void)wire_send(w, TW_M_Session_Ping, PB(PingReq), &q);
        wire_pump(w);
    }
    assert_true(sent > 10 && sent < 500);
    wire_client_t *other = bench_client(&b); /* nobody else notices */
    tunewire_v1_ParamAck ack;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -1.0f);
    assert_int_equal(param_set(other, &q, &ack), 0);
    bench_later(&b, 9000);
    wire_pump(other);
    assert_false(w->closed);
    bench_later(&b, 2000);
    w->deaf = false;
    wire_pump_n(w, 3);
    assert_true(w->closed);
    bench_leave(w);
    w = other;
    assert_int_equal(counter("connections_stalled"), 1);
}

static void calls_beyond_the_send_buffer_are_answered_when_there_is_room(void **state)
{
    (void)state;
    bench_chain(w);
    w->deaf = true;
    /* everything in one read: the server cannot say "not ready" in between */
    uint32_t first = w->next_id;
    for (unsigned i = 0; i < 8; i++) {
        const tunewire_v1_GraphRef q = tunewire_v1_GraphRef_init_zero;
        (void)wire_send(w, TW_M_Graph_Arcs, PB(GraphRef), &q);
    }
    for (unsigned round = 0; round < 40; round++) {
        wire_bytes(w, w->c.out.buf + w->c.out.at, tw_out_pending(&w->c.out));
        tw_out_drained(&w->c.out, tw_out_pending(&w->c.out));
        const tunewire_v1_PingReq q = {.payload = {.size = 64}};
        (void)wire_send(w, TW_M_Session_Ping, PB(PingReq), &q);
    }
    w->deaf = false;
    wire_pump_n(w, 10);
    unsigned answered = 0;
    for (uint32_t id = first; id < w->next_id; id++) {
        answered += wire_reply(w, id) != NULL;
    }
    assert_true(answered >= 8);
    assert_int_equal(wire_call(w, TW_M_Session_Stats, NULL, NULL, NULL, NULL), 0);
}

static void damage_on_the_link_costs_a_frame(void **state)
{
    (void)state;
    uint8_t f[64];
    const uint8_t call[] = {5, 8, 1, 16, 0x83, 2, 0};
    memcpy(f + 16, call, sizeof call);
    tw_frame_header(f, TW_FT_CALL, TW_FF_FIN, 0, f + 16, sizeof call);
    f[18] ^= 0x40;
    wire_bytes(w, f, 16 + sizeof call);
    wire_bytes(w, "noise", 5);
    wire_pump(w);
    assert_null(wire_reply(w, 1));
    assert_int_equal(ping(1), 0);
    w->next_id = 2;
    assert_true(counter("frames_bad") >= 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(hello_settles_versions_and_limits),
        T(hello_says_who_and_what_the_server_is),
        T(nothing_is_heard_before_hello),
        T(the_golden_hello_and_ping_are_answered),
        T(a_crowd_is_refused_and_the_silent_make_room),
        T(unknown_methods_and_malformed_requests_cost_one_call),
        T(a_call_larger_than_the_device_accepts_is_answered),
        T(a_repeated_id_is_answered_without_acting_again),
        T(ids_older_than_the_store_are_refused_and_lost_ones_are_not),
        T(one_call_too_many_is_busy_at_once),
        T(late_and_cancelled_calls_are_answered_once),
        T(the_default_deadline_ends_a_call_nobody_answers),
        T(a_resumed_session_still_knows_what_it_answered),
        T(a_session_lost_for_too_long_comes_back_fresh),
        T(the_owner_of_a_token_displaces_a_dead_connection),
        T(an_answer_of_the_engine_waits_for_the_client_to_come_back),
        T(bye_ends_the_session_for_good),
        T(names_of_clients_are_harmless_in_the_log),
        T(the_server_describes_itself),
        T(a_client_that_does_not_read_is_not_read_from_and_in_the_end_closed),
        T(calls_beyond_the_send_buffer_are_answered_when_there_is_room),
        T(damage_on_the_link_costs_a_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
