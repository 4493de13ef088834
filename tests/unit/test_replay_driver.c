/* Recordings of graphs whose IOs are moved by acknowledgements: outputs again bit by bit, whatever the driver did. */
#include "host_tools/tunewire/replay_run.h"
#include "tests/support/record_file.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FRAME = RIG_FRAME, STAGED = 4 * FRAME, RING = 1 << 20, BUFFERS = 16, GAIN_DB = 6, BLOCKS = 150 };

static rig_t rig;
static tw_ib_t ib;
static uint8_t img[32768];
static record_file_t file;

typedef struct how {
    bool servant, in_graph, set_buffer, parts, polled_out, thread;
    const char *why;
} how_t;

/* A driver of chance: what it does depends on nothing a replay knows. */
static struct {
    how_t how;
    tw_io_set_t set[RIG_IOS];
    bool on[RIG_IOS];
    bool in_place; /* fills the buffer the graph proposed, one transfer at a time */
    bool fades;
    uint32_t first, seed, next, flight;
    _Alignas(4) uint8_t buffer[BUFFERS][4 * FRAME + 4];
    uint32_t n_buffer;
    uint8_t out[1 << 16];
    uint32_t n_out;
} drv;

static uint32_t dice(uint32_t n)
{
    drv.seed = drv.seed * 1664525u + 1013904223u;
    return (drv.seed >> 16) % n;
}

static bool io_call(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    (void)ctx;
    switch (command) {
    case TW_IO_SET:
        drv.set[hwid] = *(const tw_io_set_t *)data;
        drv.on[hwid] = true;
        return true;
    case TW_IO_STOP:
        drv.flight = hwid == 4 && drv.set[hwid].ctx == data ? 0 : drv.flight;
        drv.on[hwid] = drv.on[hwid] && drv.set[hwid].ctx != data;
        return true;
    case TW_IO_SET_BUFFER:
        return true;
    case TW_IO_START:
        break;
    }
    if (!drv.how.thread && dice(5) == 0) {
        return false;
    }
    if (hwid == 4) {
        assert_true(drv.n_out + bytes <= sizeof drv.out);
        memcpy(drv.out + drv.n_out, data, bytes);
        drv.n_out += bytes;
        drv.flight = bytes;
        if (drv.how.thread || dice(2) == 0) {
            drv.flight = 0;
            (void)drv.set[4].ack(drv.set[4].ctx, drv.set[4].io, NULL, bytes);
        }
    }
    return true;
}

static void receive(void)
{
    const tw_io_set_t *s = &drv.set[0];
    const uint32_t most = drv.how.parts ? FRAME / 2 : 2 * (FRAME / 2), n = drv.how.parts ? 2 * (1 + dice(most)) : FRAME;
    const bool hole = dice(12) == 0, proposed = s->buffer != NULL && drv.in_place;
    uint8_t *to = proposed ? s->buffer : drv.buffer[drv.n_buffer % BUFFERS] + (dice(4) == 0 ? 2 : 0);
    for (uint32_t i = 0; i < n; i += 2) {
        tw_put_le16(to + i, (uint16_t)(drv.next++ * 37));
    }
    /* what the graph did not take may be filled again at once; the others stay for as long as they may wait */
    drv.n_buffer += s->ack(s->ctx, s->io, hole ? NULL : to, hole ? 0 : n) == TW_OK;
}

/* Between two blocks, as an interrupt might. */
static void drive(void)
{
    for (uint32_t n = drv.in_place ? dice(2) : dice(4); drv.on[0] && n > 0; n--) {
        receive();
    }
    if (drv.on[4] && drv.flight != 0 && dice(3) != 0) {
        const uint32_t part = dice(2) == 0 ? drv.flight : 1 + dice(drv.flight);
        drv.flight -= part;
        (void)drv.set[4].ack(drv.set[4].ctx, drv.set[4].io, NULL, dice(9) == 0 ? 0 : part);
    }
}

static uint32_t build(const how_t *h, float gain)
{
    uint8_t value[4];
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, 4 * FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, 4 * FRAME);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
    tw_put_f32(value, gain);
    tw_ib_node_params(&ib, 0, GAIN_DB, value, 4);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "amp");
    const uint32_t place = tw_round_up(ib.fixed, 16);
    ib.fixed = place + 2 * STAGED;
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = tw_image_section(img, TW_SEC_IOS) + 4 * TW_IO_WORDS * i;
        tw_image_poke(img, at, TW_I0_SERVANT, h->servant);
        tw_image_poke(img, at, TW_I0_COPY, !h->set_buffer);
        tw_image_poke(img, at + 24, 31, 0, place + STAGED * i);
        tw_image_poke(img, at + 28, 31, 0, h->in_graph ? STAGED : 0);
    }
    tw_image_fix(img, bytes);
    return bytes;
}

static void open_driven(const how_t *h, uint32_t seed)
{
    memset(&drv, 0, sizeof drv);
    drv.how = *h;
    drv.first = drv.seed = seed;
    drv.in_place = !h->thread && seed % 3 == 0;
    rig_open(&rig, 1 << 14, 1 << 14);
    rig.ios[0].acks = 1;
    rig.ios[4].acks = !h->polled_out;
    rig.board.io = io_call;
    record_file_open(&file, &rig, RING, 4096, (seed & 1) != 0);
}

static void tick(void)
{
    (void)tw_engine_tick(rig.engine);
    tw_engine_reply_t x;
    while (tw_engine_reply(rig.engine, &x)) {
        tw_engine_reply_done(rig.engine);
    }
    record_file_drain(&file);
}

/* A RESET, a STOP, a swap that carries state, a way back: what waits at the driver meets all of them. */
static void disturb(uint32_t block, const how_t *h)
{
    tw_fault_t fault;
    const uint32_t fade_us = drv.fades ? 1000 * (1 + drv.first % 20) : 0; /* blocks are 1 ms */
    const tw_swap_t how = {.start = true, .carry = TW_CARRY_PARAMS, .fade_us = fade_us};
    switch (block) {
    case 30:
        assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_RESET, 0), TW_OK);
        break;
    case 50:
        assert_int_equal(tw_engine_prime(rig.engine, img, build(h, -6), false, &fault), TW_OK);
        assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &how, &fault), TW_OK);
        break;
    case 60: /* forth and back before the fade is over, or without a fade */
    case 62:
        if (!drv.fades || drv.first % 3 != 0) {
            return;
        }
        assert_int_equal(tw_engine_put_rollback(rig.engine, 0, fade_us), TW_OK);
        break;
    case 80:
        assert_int_equal(tw_engine_put_rollback(rig.engine, 0, fade_us), TW_OK);
        break;
    case 100:
        assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STOP, 0), TW_OK);
        break;
    case 103:
        assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_START, 0), TW_OK);
        break;
    default:
        return;
    }
    (void)tw_engine_publish(rig.engine);
}

typedef struct heard {
    uint8_t bytes[1 << 16];
    uint32_t n;
} heard_t;

static bool hear(void *ctx, uint32_t io, const void *data, uint32_t bytes)
{
    heard_t *h = ctx;
    assert_int_equal(io, 4);
    memcpy(h->bytes + h->n, data, bytes);
    h->n += bytes;
    return true;
}

static void compare_replay(const char *why, uint32_t seed)
{
    static heard_t h;
    const tw_replay_user_t user = {.ctx = &h, .output = hear};
    tw_replay_result_t res;
    h.n = 0;
    record_file_end(&file, TW_RECORD_STOPPED);
    tw_replay_play(file.bytes, file.n, &user, &res);
    const uint8_t *out = drv.how.polled_out ? rig.out[4] : drv.out;
    const uint32_t n = drv.how.polled_out ? rig.out_bytes[4] : drv.n_out;
    if (res.end != TW_REPLAY_WHOLE || res.different != 0 || h.n != n || memcmp(h.bytes, out, n) != 0) {
        fail_msg("%s, seed %u: end %d, %s; %u of %u bytes, %u differ", why, seed, (int)res.end, res.text, h.n, n,
                 (unsigned)res.different);
    }
    if (n <= 10 * FRAME) {
        fail_msg("%s, seed %u: %u bytes", why, seed, n);
    }
    record_file_free(&file);
    rig_close(&rig);
}

static const how_t ways[] = {
    {.servant = true, .why = "servant"},
    {.servant = true, .in_graph = true, .why = "servant, buffer in the graph"},
    {.servant = true, .set_buffer = true, .why = "servant, no copies"},
    {.why = "commander"},
    {.in_graph = true, .why = "commander, buffer in the graph"},
    {.set_buffer = true, .why = "commander, no copies"},
    {.in_graph = true, .parts = true, .why = "parts of frames, buffer in the graph"},
    {.parts = true, .set_buffer = true, .why = "parts of frames, no copies"},
    {.polled_out = true, .parts = true, .why = "polled output"},
};

static void play_all(bool fades)
{
    for (uint32_t w = 0; w < TW_COUNT(ways); w++) {
        for (uint32_t seed = 1; seed <= 16; seed++) {
            open_driven(&ways[w], seed);
            drv.fades = fades;
            rig_load(&rig, img, build(&ways[w], -3));
            for (uint32_t i = 0; i < BLOCKS; i++) {
                disturb(i, &ways[w]);
                drive();
                tick();
            }
            compare_replay(ways[w].why, seed);
        }
    }
}

static void whatever_a_driver_does_replays_bit_by_bit(void **state)
{
    (void)state;
    play_all(false);
}

static void whatever_a_driver_does_while_two_graphs_fade_replays_bit_by_bit(void **state)
{
    (void)state;
    play_all(true);
}

static _Atomic bool leave;

static void *interrupts(void *arg)
{
    static uint8_t frames[BUFFERS][FRAME];
    (void)arg;
    for (uint32_t n = 0; !atomic_load(&leave); n++) {
        memset(frames[n % BUFFERS], (int)(n & 0xFF), FRAME);
        while (drv.set[0].ack(drv.set[0].ctx, drv.set[0].io, frames[n % BUFFERS], FRAME) != TW_OK) {
            if (atomic_load(&leave)) {
                return NULL;
            }
        }
    }
    return NULL;
}

/* The clock of acknowledgements is not the one that writes to the recording. */
static void acknowledgements_of_another_thread_replay_where_they_were_found(void **state)
{
    (void)state;
    const how_t h = {.in_graph = true, .thread = true};
    pthread_t thread;
    open_driven(&h, 1);
    rig_load(&rig, img, build(&h, -3));
    tick();
    leave = false;
    assert_int_equal(pthread_create(&thread, NULL, interrupts, NULL), 0);
    while (drv.n_out < 400 * FRAME) {
        tick();
    }
    atomic_store(&leave, true);
    pthread_join(thread, NULL);
    compare_replay("thread", 1);
}

static uint8_t *find(uint16_t kind, unsigned n)
{
    tw_replay_file_t f;
    tw_replay_record_t rec;
    assert_true(tw_replay_open(&f, file.bytes, file.n));
    tw_replay_cursor_t c = tw_replay_begin(&f);
    while (tw_replay_next(&f, &c, &rec) == TW_REPLAY_RECORD) {
        if (rec.kind == kind && n-- == 0) {
            return file.bytes + rec.at + TW_RECORD_HEAD;
        }
    }
    fail();
    return NULL;
}

static void acknowledgements_no_driver_gave_are_told(void **state)
{
    (void)state;
    static const struct {
        uint16_t kind;
        uint32_t at, value;
        const char *why;
    } rows[] = {
        {TW_REC_ACK, 0, 3, "of another IO"},
        {TW_REC_ACK, 4, 9999, "in a look there was not"},
        {TW_REC_ACK, 16, 1 << 20, "more bytes than the record has"},
        {TW_REC_ACK, 20, TW_RECORD_ACK_IN_PLACE, "in a buffer the graph does not have"},
        {TW_REC_START, 0, 3, "a start of another IO"},
        {TW_REC_START, 4, 1, "a start of another length"},
    };
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_replay_result_t res;
        const how_t h = {.servant = true};
        open_driven(&h, 2);
        rig_load(&rig, img, build(&h, -3));
        for (uint32_t k = 0; k < 20; k++) {
            drive();
            tick();
        }
        record_file_end(&file, TW_RECORD_STOPPED);
        tw_put_le32(find(rows[i].kind, 0) + rows[i].at, rows[i].value);
        record_file_repair(file.bytes, file.n);
        tw_replay_play(file.bytes, file.n, NULL, &res);
        if (res.end != TW_REPLAY_DIVERGED || res.text[0] == '\0') {
            fail_msg("%s: end %d", rows[i].why, (int)res.end);
        }
        record_file_free(&file);
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_a_driver_does_replays_bit_by_bit),
        cmocka_unit_test(whatever_a_driver_does_while_two_graphs_fade_replays_bit_by_bit),
        cmocka_unit_test(acknowledgements_of_another_thread_replay_where_they_were_found),
        cmocka_unit_test(acknowledgements_no_driver_gave_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
