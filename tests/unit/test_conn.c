/* Two ends of a connection: hello, fragments, streams and credit, and what each breach costs. */
#include "engine/base/crc.h"
#include "protocol/conn.h"
#include "protocol/rpc.h"
#include "tests/support/golden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { IN = 1024, OUT = 4096, MSG = 2048, KEPT = 4096 };

typedef struct end {
    tw_conn_t c;
    uint8_t in[IN], out[OUT], msg[MSG];
} end_t;

static end_t client, server;

static void fresh(void)
{
    tw_conn_init(&client.c, true, client.in, IN, client.out, OUT, client.msg, MSG);
    tw_conn_init(&server.c, false, server.in, IN, server.out, OUT, server.msg, MSG);
}

/* Both OPEN without a word on the wire. */
static void open_both(uint32_t max_frame, uint32_t window)
{
    fresh();
    tw_conn_agree(&client.c, max_frame, window);
    tw_conn_agree(&server.c, max_frame, window);
}

/* ---- frames by hand, and what an end makes of them --------------------------------- */

static uint8_t wire[8192];
static size_t wire_n;

static void say(uint8_t type, uint8_t flags, uint16_t stream, const void *payload, uint32_t len)
{
    uint8_t *f = wire + wire_n;
    if (len != 0) {
        memcpy(f + TW_FRAME_HEADER, payload, len);
    }
    tw_frame_header(f, type, flags, stream, f + TW_FRAME_HEADER, len);
    wire_n += TW_FRAME_HEADER + len;
}

typedef struct events {
    tw_conn_event_t ev[64];
    uint8_t data[KEPT];
    size_t n, kept;
} events_t;

static events_t got;

static void take(tw_conn_t *c, const uint8_t *bytes, size_t n, size_t step)
{
    got.n = got.kept = 0;
    size_t used;
    tw_conn_event_t ev;
    for (size_t at = 0; at < n; at += step) {
        const size_t part = n - at < step ? n - at : step;
        for (size_t done = 0;;) {
            tw_conn_feed(c, bytes + at + done, part - done, &used, &ev);
            done += used;
            assert_true(done <= part);
            if (ev.kind == TW_CE_NONE) {
                assert_int_equal(done, part);
                break;
            }
            assert_true(got.n < TW_COUNT(got.ev) && got.kept + ev.len <= KEPT);
            if (ev.len != 0) {
                memcpy(got.data + got.kept, ev.data, ev.len);
                ev.data = got.data + got.kept;
                got.kept += ev.len;
            }
            got.ev[got.n++] = ev;
        }
    }
}

static void hear(end_t *e)
{
    take(&e->c, wire, wire_n, sizeof wire);
    wire_n = 0;
}

/* Move what `from` has queued to `to`. */
static void pass(end_t *from, end_t *to, size_t step)
{
    take(&to->c, from->c.out.buf + from->c.out.at, tw_out_pending(&from->c.out), step);
    tw_out_drained(&from->c.out, tw_out_pending(&from->c.out));
}

static uint32_t goaway_detail(end_t *from, end_t *to)
{
    pass(from, to, 4096);
    assert_true(got.n > 0);
    const tw_conn_event_t *last = &got.ev[got.n - 1];
    assert_int_equal(last->kind, TW_CE_GOAWAY);
    tunewire_v1_Status s;
    assert_int_equal(tw_rpc_decode(last->data, last->len, tunewire_v1_Status_fields, &s), TW_OK);
    assert_int_equal(to->c.state, TW_CONN_DEAD);
    return s.detail;
}

/* ---- hello ------------------------------------------------------------------------------ */

static void the_document_s_hello_opens_both_ends(void **state)
{
    (void)state;
    fresh();
    uint8_t frame[64];
    const size_t n = tw_golden("docs/WIRE_PROTOCOL.md", "golden", "hello", frame, sizeof frame);
    assert_true(
        tw_conn_send(&client.c, TW_FT_HELLO, 0, TW_FF_FIN, frame + TW_FRAME_HEADER, (uint32_t)n - TW_FRAME_HEADER));
    assert_int_equal(tw_out_pending(&client.c.out), n);
    assert_memory_equal(client.c.out.buf, frame, n);
    pass(&client, &server, 5);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.ev[0].kind, TW_CE_HELLO);
    tw_conn_agree(&server.c, 512, 3000);
    assert_true(tw_conn_send(&server.c, TW_FT_HELLO, 0, TW_FF_FIN, "x", 1));
    pass(&server, &client, 4096);
    assert_int_equal(got.ev[0].kind, TW_CE_HELLO);
    tw_conn_agree(&client.c, 1024, 4096);
    assert_int_equal(server.c.state, TW_CONN_OPEN);
    assert_int_equal(server.c.max_frame, 512);
    assert_int_equal(server.c.window, 3000);
}

static void the_smaller_frame_and_window_hold_but_not_under_256(void **state)
{
    (void)state;
    static const struct {
        uint32_t ours, peer, agreed;
    } cases[] = {
        {1024, 1024, 1024}, {1024, 300, 300}, {300, 1024, 300},         {1024, 256, 256},
        {1024, 100, 256},   {1024, 0, 256},   {1024, 65536, 1024},      {256, 0xFFFFFFFF, 256},
        {65536, 512, 512},  {100, 100, 256},  {1024, 0x80000000, 1024},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        fresh();
        client.c.max_frame = cases[i].ours;
        client.c.window = cases[i].ours;
        tw_conn_agree(&client.c, cases[i].peer, cases[i].peer);
        assert_int_equal(client.c.max_frame, cases[i].agreed);
        assert_int_equal(client.c.in.max_frame, cases[i].agreed);
        assert_int_equal(client.c.window, cases[i].agreed);
    }
}

static void only_hello_passes_before_hello(void **state)
{
    (void)state;
    for (uint8_t type = 0; type < 9; type++) {
        for (unsigned role = 0; role < 2; role++) {
            fresh();
            end_t *e = role ? &client : &server;
            say(type, type == TW_FT_CREDIT ? 0 : TW_FF_FIN, 0, "\1\0\0\0", 4);
            hear(e);
            assert_int_equal(got.n, 1);
            assert_int_equal(got.ev[0].kind, type == TW_FT_HELLO    ? TW_CE_HELLO
                                             : type == TW_FT_GOAWAY ? TW_CE_GOAWAY
                                                                    : TW_CE_FATAL);
            assert_int_equal(e->c.state, type == TW_FT_HELLO ? TW_CONN_WAIT_HELLO : TW_CONN_DEAD);
            if (got.ev[0].kind == TW_CE_FATAL) {
                assert_int_equal(e->c.fatal, TW_E_NO_HELLO);
                assert_int_equal(goaway_detail(e, role ? &server : &client), 31);
            }
            assert_null(tw_conn_begin(&e->c, TW_FT_CALL, 0, 4));
        }
    }
}

static void before_hello_a_frame_of_257_bytes_is_too_long(void **state)
{
    (void)state;
    static const uint8_t zeros[300];
    fresh();
    say(TW_FT_HELLO, TW_FF_FIN, 0, zeros, 240);
    hear(&server);
    assert_int_equal(got.ev[0].kind, TW_CE_HELLO);
    say(TW_FT_HELLO, TW_FF_FIN, 0, zeros, 241);
    hear(&server);
    assert_int_equal(got.ev[0].kind, TW_CE_FATAL);
    assert_int_equal(server.c.fatal, TW_E_FRAME_TOO_LONG);
    assert_null(tw_conn_begin(&client.c, TW_FT_HELLO, 0, OUT));
}

/* ---- fatal and not fatal ---------------------------------------------------------------------- */

/* One row = frames said to an open server with receiving stream 1 (window 300) and sending stream 2. */
typedef struct said {
    uint8_t type, flags;
    uint16_t stream;
    uint32_t len;
    uint32_t value; /* first four payload bytes */
} said_t;

static const struct {
    const char *why;
    said_t frames[4];
    tw_err_t fatal;
    uint32_t bad, events;
} breaches[] = {
    {"a call", {{TW_FT_CALL, TW_FF_FIN, 0, 4, 0}}, TW_OK, 0, 1},
    {"a call without FIN is whole too", {{TW_FT_CALL, 0, 0, 4, 0}}, TW_OK, 0, 1},
    {"an empty call", {{TW_FT_CALL, TW_FF_FIN, 0, 0, 0}}, TW_OK, 0, 1},
    {"a call on a stream", {{TW_FT_CALL, TW_FF_FIN, 1, 4, 0}}, TW_OK, 1, 0},
    {"a reply to a server", {{TW_FT_REPLY, TW_FF_FIN, 0, 4, 0}}, TW_OK, 1, 0},
    {"an unknown type", {{7, TW_FF_FIN, 0, 4, 0}}, TW_OK, 1, 0},
    {"the highest type", {{255, TW_FF_FIN, 0, 4, 0}}, TW_OK, 1, 0},
    {"a second hello", {{TW_FT_HELLO, TW_FF_FIN, 0, 4, 0}}, TW_E_FRAME_TYPE, 1, 1},
    {"cancel", {{TW_FT_CANCEL, 0, 0, 4, 9}}, TW_OK, 0, 1},
    {"cancel of three bytes", {{TW_FT_CANCEL, 0, 0, 3, 9}}, TW_OK, 1, 0},
    {"all of the credit", {{TW_FT_DATA, 0, 1, 300, 0}}, TW_OK, 0, 1},
    {"one byte above credit", {{TW_FT_DATA, 0, 1, 301, 0}}, TW_E_NO_CREDIT, 1, 1},
    {"above credit in two", {{TW_FT_DATA, 0, 1, 200, 0}, {TW_FT_DATA, 0, 1, 101, 0}}, TW_E_NO_CREDIT, 1, 2},
    {"data on an unknown stream", {{TW_FT_DATA, 0, 3, 900, 0}}, TW_OK, 1, 0},
    {"data on stream 0", {{TW_FT_DATA, 0, 0, 4, 0}}, TW_OK, 1, 0},
    {"data on a stream we send on", {{TW_FT_DATA, 0, 2, 4, 0}}, TW_OK, 1, 0},
    {"a stream we send on ended without a reason", {{TW_FT_DATA, TW_FF_FIN, 2, 4, 0}}, TW_OK, 1, 0},
    {"a stream we send on refused by its receiver", {{TW_FT_DATA, TW_FF_FIN | TW_FF_ERR, 2, 4, 0}}, TW_OK, 0, 1},
    {"a refusal needs no credit", {{TW_FT_DATA, TW_FF_FIN | TW_FF_ERR, 2, 600, 0}}, TW_OK, 0, 1},
    {"a stream is refused once",
     {{TW_FT_DATA, TW_FF_FIN | TW_FF_ERR, 2, 4, 0}, {TW_FT_DATA, TW_FF_FIN | TW_FF_ERR, 2, 4, 0}},
     TW_OK,
     1,
     1},
    {"data after FIN", {{TW_FT_DATA, TW_FF_FIN, 1, 4, 0}, {TW_FT_DATA, 0, 1, 4, 0}}, TW_OK, 1, 1},
    {"credit", {{TW_FT_CREDIT, 0, 2, 4, 1000}}, TW_OK, 0, 1},
    {"credit up to 2^31 - 1", {{TW_FT_CREDIT, 0, 2, 4, 0x7FFFFFFF - 300}}, TW_OK, 0, 1},
    {"credit over 2^31 - 1", {{TW_FT_CREDIT, 0, 2, 4, 0x80000000 - 300}}, TW_E_CREDIT_OVERFLOW, 1, 1},
    {"credit over 2^32", {{TW_FT_CREDIT, 0, 2, 4, 0xFFFFFFFF}}, TW_E_CREDIT_OVERFLOW, 1, 1},
    {"credit for an unknown stream", {{TW_FT_CREDIT, 0, 8, 4, 0xFFFFFFFF}}, TW_OK, 1, 0},
    {"credit for a stream we receive", {{TW_FT_CREDIT, 0, 1, 4, 0xFFFFFFFF}}, TW_OK, 1, 0},
    {"credit of five bytes", {{TW_FT_CREDIT, 0, 2, 5, 1}}, TW_OK, 1, 0},
    {"a call in two", {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0}, {TW_FT_CALL, TW_FF_FIN, 0, 4, 0}}, TW_OK, 0, 1},
    {"a call in four, one empty",
     {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0},
      {TW_FT_CALL, TW_FF_MORE, 0, 0, 0},
      {TW_FT_CALL, TW_FF_MORE, 0, 4, 0},
      {TW_FT_CALL, TW_FF_FIN, 0, 4, 0}},
     TW_OK,
     0,
     1},
    {"MORE and FIN at once", {{TW_FT_CALL, TW_FF_MORE | TW_FF_FIN, 0, 4, 0}}, TW_E_FRAME_ORDER, 1, 1},
    {"MORE on a credit", {{TW_FT_CREDIT, TW_FF_MORE, 2, 4, 1}}, TW_E_FRAME_ORDER, 1, 1},
    {"MORE on a cancel", {{TW_FT_CANCEL, TW_FF_MORE, 0, 4, 1}}, TW_E_FRAME_ORDER, 1, 1},
    {"MORE on a type unknown", {{9, TW_FF_MORE, 0, 4, 1}}, TW_E_FRAME_ORDER, 1, 1},
    {"data of another stream between the pieces",
     {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0}, {TW_FT_DATA, 0, 1, 4, 0}, {TW_FT_CALL, TW_FF_FIN, 0, 4, 0}},
     TW_OK,
     0,
     2},
    {"credit between the pieces",
     {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0}, {TW_FT_CREDIT, 0, 2, 4, 1}, {TW_FT_CALL, TW_FF_FIN, 0, 4, 0}},
     TW_OK,
     0,
     2},
    {"cancel between the pieces",
     {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0}, {TW_FT_CANCEL, 0, 0, 4, 1}, {TW_FT_CALL, TW_FF_FIN, 0, 4, 0}},
     TW_OK,
     0,
     2},
    {"a second message begun before the first ended",
     {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0}, {TW_FT_DATA, TW_FF_MORE, 1, 4, 0}},
     TW_E_FRAME_ORDER,
     1,
     1},
    {"another type on the same stream between the pieces",
     {{TW_FT_CALL, TW_FF_MORE, 0, 4, 0}, {TW_FT_REPLY, TW_FF_FIN, 0, 4, 0}},
     TW_E_FRAME_ORDER,
     1,
     1},
};

static void each_breach_costs_what_it_must_and_no_more(void **state)
{
    (void)state;
    static uint8_t payload[1024];
    for (size_t i = 0; i < TW_COUNT(breaches); i++) {
        open_both(1024, 300);
        assert_int_equal(tw_conn_open(&server.c, 1, false), 1);
        assert_int_equal(tw_conn_open(&server.c, 0, true), 2);
        for (size_t k = 0; k < 4 && (k == 0 || breaches[i].frames[k].len != 0 || breaches[i].frames[k].flags != 0);
             k++) {
            const said_t *f = &breaches[i].frames[k];
            tw_put_le32(payload, f->value);
            say(f->type, f->flags, f->stream, payload, f->len);
        }
        hear(&server);
        if (server.c.fatal != breaches[i].fatal || server.c.bad_frames != breaches[i].bad ||
            got.n != breaches[i].events) {
            fail_msg("%s: %s, %u bad, %zu events", breaches[i].why, tw_err_name(server.c.fatal),
                     (unsigned)server.c.bad_frames, got.n);
        }
        if (breaches[i].fatal != TW_OK) {
            assert_int_equal(got.ev[got.n - 1].kind, TW_CE_FATAL);
            assert_int_equal(goaway_detail(&server, &client), (uint32_t)-breaches[i].fatal);
        } else {
            assert_int_equal(server.c.state, TW_CONN_OPEN);
        }
    }
}

static void the_dead_swallow_everything_and_say_nothing(void **state)
{
    (void)state;
    open_both(256, 300);
    tw_conn_goaway(&server.c, TW_E_VERSION);
    const uint32_t said = tw_out_pending(&server.c.out);
    assert_true(said > TW_FRAME_HEADER);
    tw_conn_goaway(&server.c, TW_E_BUSY);
    assert_int_equal(server.c.fatal, TW_E_VERSION);
    say(TW_FT_CALL, TW_FF_FIN, 0, "call", 4);
    hear(&server);
    assert_int_equal(got.n, 0);
    assert_false(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, "x", 1));
    assert_int_equal(tw_conn_room(&server.c), 0);
    assert_int_equal(tw_out_pending(&server.c.out), said);
    assert_int_equal(goaway_detail(&server, &client), 30);
}

static void a_goaway_fits_behind_a_full_buffer(void **state)
{
    (void)state;
    open_both(256, 300);
    uint8_t *p = tw_conn_begin(&server.c, TW_FT_REPLY, 0, tw_conn_room(&server.c));
    assert_non_null(p);
    const uint32_t all = tw_conn_room(&server.c);
    memset(p, 7, all);
    tw_conn_end(&server.c, all, TW_FF_FIN);
    assert_false(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, "x", 1));
    tw_conn_goaway(&server.c, TW_E_CREDIT_OVERFLOW);
    assert_true(tw_out_pending(&server.c.out) <= OUT);
    assert_int_equal(goaway_detail(&server, &client), 29);
}

/* ---- long messages ---------------------------------------------------------------------------- */

static void long_replies_are_split_and_come_whole(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 239, 240, 241, 480, 481, 1000, MSG};
    static uint8_t payload[MSG];
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)(i * 31 >> 3);
    }
    for (size_t i = 0; i < TW_COUNT(sizes); i++) {
        for (size_t step = 1; step < 700; step += 37) {
            open_both(256, 300);
            assert_true(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, payload, sizes[i]));
            assert_int_equal(server.c.frames_out, sizes[i] == 0 ? 1 : (sizes[i] + 239) / 240);
            pass(&server, &client, step);
            assert_int_equal(got.n, 1);
            assert_int_equal(got.ev[0].kind, TW_CE_REPLY);
            assert_int_equal(got.ev[0].len, sizes[i]);
            assert_memory_equal(got.data, payload, sizes[i]);
            assert_false(got.ev[0].cut);
        }
    }
}

static void replies_keep_their_order_however_the_transport_drains(void **state)
{
    (void)state;
    static uint8_t payload[1500];
    uint32_t seed = 7, sent = 0, received = 0;
    open_both(256, 300);
    while (received < 500) {
        seed = seed * 1664525u + 1013904223u;
        const uint32_t len = 4 + (seed >> 8) % (sizeof payload - 4);
        memset(payload, (uint8_t)sent, len);
        tw_put_le32(payload, sent);
        sent += tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, payload, len);
        const uint32_t part = tw_min_u32(tw_out_pending(&server.c.out), (seed >> 20) % 1900);
        take(&client.c, server.c.out.buf + server.c.out.at, part, 4096);
        tw_out_drained(&server.c.out, part);
        for (size_t i = 0; i < got.n; i++) {
            assert_int_equal(got.ev[i].kind, TW_CE_REPLY);
            assert_int_equal(tw_get_le32(got.ev[i].data), received);
            assert_int_equal(got.ev[i].data[got.ev[i].len - 1], got.ev[i].len > 4 ? (uint8_t)received : 0);
            received++;
        }
    }
}

static void a_message_longer_than_the_buffer_is_marked_and_only_its_beginning_kept(void **state)
{
    (void)state;
    static uint8_t payload[MSG + 1];
    open_both(256, 300);
    payload[0] = 42;
    assert_true(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, payload, sizeof payload));
    assert_true(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, payload, 3));
    pass(&server, &client, 100);
    assert_int_equal(got.n, 2);
    assert_true(got.ev[0].cut);
    assert_int_equal(got.ev[0].len, MSG);
    assert_int_equal(got.data[0], 42);
    assert_false(got.ev[1].cut);
    assert_int_equal(got.ev[1].len, 3);
}

/* Four pieces of one reply, then two whole replies; one piece is damaged. What arrives, as lengths of replies. */
static const struct {
    const char *why;
    size_t piece;
    bool header;
    uint32_t replies[4];
} holes[] = {
    {"payload of the first", 0, false, {3, 4}},
    {"payload of the second", 1, false, {3, 4}},
    {"payload of the third", 2, false, {3, 4}},
    {"payload of the last", 3, false, {3, 4}},
    /* Nothing tells the second piece from a first one: only the lengths inside the message do. */
    {"header of the first", 0, true, {560, 3, 4}},
    {"header of the second", 1, true, {3, 4}},
    {"header of the third", 2, true, {3, 4}},
    /* The next message may be the lost end, so it is dropped with the rest. */
    {"header of the last", 3, true, {4}},
};

static void a_hole_in_a_message_costs_that_message_only(void **state)
{
    (void)state;
    static uint8_t payload[800];
    for (size_t i = 0; i < TW_COUNT(holes); i++) {
        open_both(256, 300);
        assert_true(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, payload, sizeof payload));
        server.c.out.buf[holes[i].piece * 256 + (holes[i].header ? 9 : TW_FRAME_HEADER)] ^= 0x10;
        assert_true(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, "one", 3));
        assert_true(tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, "two!", 4));
        pass(&server, &client, 4096);
        assert_int_equal(client.c.state, TW_CONN_OPEN);
        size_t replies = 0;
        for (size_t k = 0; k < got.n; k++) {
            const tw_conn_event_t *ev = &got.ev[k];
            assert_true(ev->kind == TW_CE_REPLY || ev->kind == TW_CE_BAD_CRC);
            if (ev->kind == TW_CE_REPLY && (replies == 4 || ev->len != holes[i].replies[replies++])) {
                fail_msg("%s: a reply of %u bytes", holes[i].why, (unsigned)ev->len);
            }
        }
        if (replies == 4 || holes[i].replies[replies] != 0) {
            fail_msg("%s: %zu replies", holes[i].why, replies);
        }
    }
}

static void a_message_whose_end_was_lost_does_not_forbid_the_next(void **state)
{
    (void)state;
    open_both(256, 300);
    assert_int_equal(tw_conn_open(&client.c, 2, false), 2);
    assert_int_equal(tw_conn_open(&client.c, 4, false), 4);
    say(TW_FT_DATA, TW_FF_MORE, 2, "ab", 2);
    const size_t lost = wire_n;
    say(TW_FT_DATA, 0, 2, "cd", 2);
    wire[lost + 2] ^= 1;
    say(TW_FT_DATA, TW_FF_MORE, 4, "ef", 2);
    say(TW_FT_DATA, 0, 4, "gh", 2);
    hear(&client);
    assert_int_equal(client.c.state, TW_CONN_OPEN);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.ev[0].stream, 4);
    assert_memory_equal(got.data, "efgh", 4);
}

/* ---- streams ------------------------------------------------------------------------------------- */

static void stream_ids_are_odd_from_the_client_and_even_from_the_server(void **state)
{
    (void)state;
    open_both(256, 300);
    assert_int_equal(tw_conn_open(&client.c, 0, true), 1);
    assert_int_equal(tw_conn_open(&client.c, 0, true), 3);
    assert_int_equal(tw_conn_open(&server.c, 0, true), 2);
    assert_int_equal(tw_conn_open(&server.c, 0, true), 4);
    assert_int_equal(tw_conn_open(&client.c, 5, false), 0);
    assert_int_equal(tw_conn_open(&client.c, 6, false), 6);
    assert_int_equal(tw_conn_open(&client.c, 6, false), 0);
    assert_int_equal(tw_conn_open(&server.c, 6, false), 0);
    assert_int_equal(tw_conn_open(&server.c, 7, false), 7);
}

static void streams_run_out_and_ids_wrap_past_those_in_use(void **state)
{
    (void)state;
    open_both(256, 300);
    for (unsigned i = 0; i < TW_CONN_STREAMS; i++) {
        assert_int_equal(tw_conn_open(&server.c, 0, true), 2 + 2 * i);
    }
    assert_int_equal(tw_conn_open(&server.c, 0, true), 0);
    assert_int_equal(tw_conn_open(&server.c, 1, false), 0);
    tw_conn_close(&server.c, 6);
    assert_int_equal(tw_conn_open(&server.c, 0, true), 2 + 2 * TW_CONN_STREAMS);
    tw_conn_close(&server.c, 8);
    server.c.next_stream = 65534;
    assert_int_equal(tw_conn_open(&server.c, 0, true), 65534);
    tw_conn_close(&server.c, 10);
    assert_int_equal(tw_conn_open(&server.c, 0, true), 6); /* not 0, not 2, not 4 */
}

static void credit_is_spent_and_granted_in_step_at_both_ends(void **state)
{
    (void)state;
    static const uint8_t data[200];
    open_both(256, 500);
    const uint16_t id = tw_conn_open(&client.c, 0, true);
    assert_int_equal(tw_conn_open(&server.c, id, false), id);
    assert_int_equal(tw_conn_credit(&client.c, id), 500);
    assert_int_equal(tw_conn_credit(&server.c, id), 0); /* not ours to spend */
    for (unsigned i = 0; i < 2; i++) {
        tw_conn_spend(&client.c, id, sizeof data);
        assert_true(tw_conn_send(&client.c, TW_FT_DATA, id, 0, data, sizeof data));
    }
    pass(&client, &server, 4096);
    assert_int_equal(got.n, 2);
    assert_int_equal(tw_conn_credit(&client.c, id), 100);
    assert_true(tw_conn_grant(&server.c, id, 400));
    pass(&server, &client, 3);
    assert_int_equal(got.ev[0].kind, TW_CE_CREDIT);
    assert_int_equal(got.ev[0].stream, id);
    assert_int_equal(got.ev[0].credit, 400);
    assert_int_equal(tw_conn_credit(&client.c, id), 500);

    assert_true(tw_conn_grant(&server.c, id, 0xFFFFFFFF)); /* clamped: never an overflow at the peer */
    pass(&server, &client, 4096);
    assert_int_equal(client.c.state, TW_CONN_OPEN);
    assert_int_equal(tw_conn_credit(&client.c, id), 0x7FFFFFFF);
    assert_true(tw_conn_grant(&server.c, id, 1));
    assert_int_equal(tw_out_pending(&server.c.out), 0);
}

static void the_document_s_credit_and_data_mean_what_it_says(void **state)
{
    (void)state;
    uint8_t doc[64];
    open_both(1024, 4096);
    assert_int_equal(tw_conn_open(&client.c, 4, true), 4);
    size_t n = tw_golden("docs/WIRE_PROTOCOL.md", "golden", "credit", doc, sizeof doc);
    take(&client.c, doc, n, n);
    assert_int_equal(tw_conn_credit(&client.c, 4), 8192);
    tw_conn_close(&client.c, 4);
    assert_int_equal(tw_conn_open(&client.c, 4, false), 4);
    n = tw_golden("docs/WIRE_PROTOCOL.md", "golden", "data", doc, sizeof doc);
    take(&client.c, doc, n, n);
    assert_int_equal(got.ev[0].kind, TW_CE_DATA);
    assert_true(got.ev[0].fin && !got.ev[0].err);
    assert_int_equal(tw_get_le64(got.data), 512);
    assert_memory_equal(got.data + 8, "\1\2\3", 3);
    take(&client.c, doc, n, n); /* FIN closed it */
    assert_int_equal(got.n, 0);
    assert_int_equal(client.c.bad_frames, 1);
}

static size_t golden(const char *name, uint8_t *out)
{
    return tw_golden("docs/WIRE_PROTOCOL.md", "golden", name, out, 256);
}

static void the_document_s_two_pieces_are_one_ping(void **state)
{
    (void)state;
    uint8_t doc[256];
    size_t n = golden("piece-1", doc);
    n += golden("piece-2", doc + n);
    for (size_t step = 1; step <= n; step++) {
        open_both(1024, 300);
        take(&server.c, doc, n, step);
        assert_int_equal(got.n, 1);
        assert_int_equal(got.ev[0].kind, TW_CE_CALL);
        assert_int_equal(got.ev[0].len, 14);
        assert_memory_equal(got.data + got.ev[0].len - 5, "split", 5);
    }
}

static void the_document_s_cancel_names_its_call(void **state)
{
    (void)state;
    uint8_t doc[256], id[4] = {7};
    open_both(1024, 300);
    const size_t n = golden("cancel", doc);
    take(&server.c, doc, n, n);
    assert_int_equal(got.ev[0].kind, TW_CE_CANCEL);
    assert_int_equal(got.ev[0].call_id, 7);
    assert_true(tw_conn_send(&client.c, TW_FT_CANCEL, 0, 0, id, 4));
    assert_memory_equal(client.c.out.buf, doc, n);
}

static void the_document_s_goaway_is_what_a_breach_of_credit_earns(void **state)
{
    (void)state;
    uint8_t doc[256];
    open_both(1024, 300);
    const size_t n = golden("goaway", doc);
    tw_conn_goaway(&server.c, TW_E_NO_CREDIT);
    assert_int_equal(tw_out_pending(&server.c.out), n);
    assert_memory_equal(server.c.out.buf, doc, n);
    assert_int_equal(goaway_detail(&server, &client), 28);
}

static void the_document_s_streams_end_well_and_badly(void **state)
{
    (void)state;
    uint8_t doc[256];
    open_both(1024, 300);
    assert_int_equal(tw_conn_open(&client.c, 2, false), 2);
    assert_int_equal(tw_conn_open(&client.c, 0, true), 1);
    size_t n = golden("stream-end", doc);
    take(&client.c, doc, n, n);
    assert_true(got.ev[0].kind == TW_CE_DATA && got.ev[0].fin && !got.ev[0].err && got.ev[0].len == 0);
    n = golden("stream-refused", doc);
    take(&client.c, doc, n, n);
    assert_true(got.ev[0].kind == TW_CE_DATA && got.ev[0].fin && got.ev[0].err && got.ev[0].stream == 1);
    tunewire_v1_Status s;
    assert_int_equal(tw_rpc_decode(got.data, got.ev[0].len, tunewire_v1_Status_fields, &s), TW_OK);
    assert_int_equal(s.detail, (uint32_t)-TW_E_STREAM_OFFSET);
    assert_int_equal(s.where, 512);
    assert_int_equal(tw_conn_credit(&client.c, 1), 0); /* closed: nothing more may be sent */
}

static void damaged_data_uses_up_its_credit(void **state)
{
    (void)state;
    static const uint8_t data[200];
    open_both(256, 300);
    assert_int_equal(tw_conn_open(&server.c, 1, false), 1);
    say(TW_FT_DATA, 0, 1, data, 200);
    wire[TW_FRAME_HEADER] ^= 1;
    say(TW_FT_DATA, 0, 1, data, 100);
    hear(&server);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.ev[0].kind, TW_CE_BAD_CRC);
    assert_int_equal(got.ev[0].stream, 1);
    assert_int_equal(got.ev[1].kind, TW_CE_DATA);
    say(TW_FT_DATA, 0, 1, data, 1);
    hear(&server);
    assert_int_equal(server.c.fatal, TW_E_NO_CREDIT);
}

static void closing_a_stream_inside_a_message_leaves_no_message_open(void **state)
{
    (void)state;
    open_both(256, 300);
    assert_int_equal(tw_conn_open(&client.c, 2, false), 2);
    assert_int_equal(tw_conn_open(&client.c, 4, false), 4);
    say(TW_FT_DATA, TW_FF_MORE, 2, "ab", 2);
    hear(&client);
    tw_conn_close(&client.c, 2);
    say(TW_FT_DATA, 0, 2, "cd", 2);
    say(TW_FT_DATA, TW_FF_MORE, 4, "ef", 2);
    say(TW_FT_DATA, 0, 4, "gh", 2);
    hear(&client);
    assert_int_equal(client.c.state, TW_CONN_OPEN);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.ev[0].stream, 4);
    assert_memory_equal(got.data, "efgh", 4);
}

static void a_grant_without_room_grants_nothing(void **state)
{
    (void)state;
    open_both(256, 300);
    assert_int_equal(tw_conn_open(&server.c, 1, false), 1);
    while (tw_conn_send(&server.c, TW_FT_REPLY, 0, TW_FF_FIN, "x", 1)) {}
    assert_false(tw_conn_grant(&server.c, 1, 100));
    static const uint8_t data[301];
    say(TW_FT_DATA, 0, 1, data, 240);
    say(TW_FT_DATA, 0, 1, data, 61);
    hear(&server);
    assert_int_equal(server.c.fatal, TW_E_NO_CREDIT);
    assert_true(tw_conn_grant(&server.c, 77, 1)); /* over and done with: nobody needs it */
}

static void room_is_what_begin_grants(void **state)
{
    (void)state;
    open_both(256, 300);
    while (tw_conn_room(&server.c) > 0) {
        const uint32_t room = tw_conn_room(&server.c);
        assert_null(tw_conn_begin(&server.c, TW_FT_REPLY, 0, room + 1));
        assert_non_null(tw_conn_begin(&server.c, TW_FT_REPLY, 0, room));
        uint8_t *p = tw_conn_begin(&server.c, TW_FT_REPLY, 0, tw_min_u32(room, 77));
        memset(p, 1, tw_min_u32(room, 77));
        tw_conn_end(&server.c, tw_min_u32(room, 77), TW_FF_FIN);
        assert_true(server.c.out.used <= OUT - TW_CONN_GOAWAY_ROOM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_s_hello_opens_both_ends),
        cmocka_unit_test(the_smaller_frame_and_window_hold_but_not_under_256),
        cmocka_unit_test(only_hello_passes_before_hello),
        cmocka_unit_test(before_hello_a_frame_of_257_bytes_is_too_long),
        cmocka_unit_test(each_breach_costs_what_it_must_and_no_more),
        cmocka_unit_test(the_dead_swallow_everything_and_say_nothing),
        cmocka_unit_test(a_goaway_fits_behind_a_full_buffer),
        cmocka_unit_test(long_replies_are_split_and_come_whole),
        cmocka_unit_test(replies_keep_their_order_however_the_transport_drains),
        cmocka_unit_test(a_message_longer_than_the_buffer_is_marked_and_only_its_beginning_kept),
        cmocka_unit_test(a_hole_in_a_message_costs_that_message_only),
        cmocka_unit_test(a_message_whose_end_was_lost_does_not_forbid_the_next),
        cmocka_unit_test(stream_ids_are_odd_from_the_client_and_even_from_the_server),
        cmocka_unit_test(streams_run_out_and_ids_wrap_past_those_in_use),
        cmocka_unit_test(credit_is_spent_and_granted_in_step_at_both_ends),
        cmocka_unit_test(the_document_s_credit_and_data_mean_what_it_says),
        cmocka_unit_test(the_document_s_two_pieces_are_one_ping),
        cmocka_unit_test(the_document_s_cancel_names_its_call),
        cmocka_unit_test(the_document_s_goaway_is_what_a_breach_of_credit_earns),
        cmocka_unit_test(the_document_s_streams_end_well_and_badly),
        cmocka_unit_test(damaged_data_uses_up_its_credit),
        cmocka_unit_test(closing_a_stream_inside_a_message_leaves_no_message_open),
        cmocka_unit_test(a_grant_without_room_grants_nothing),
        cmocka_unit_test(room_is_what_begin_grants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
