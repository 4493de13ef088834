/* IOs moved by acknowledgements: a pretend driver that starts, acknowledges, refuses and stops as it is told.
 *
 * IO 0 -> amplifier at 0 dB -> IO 4, so the samples that leave are those that came.
 */
#include "engine/base/time_stamps.h"
#include "engine/graph/graph.h"
#include "tests/support/engine_rig.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { FRAME = RIG_FRAME, STAGED = 4 * RIG_FRAME, KEPT = 1 << 16 };

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static tw_graph_t g;
static uint64_t memory[1 << 15];

/* What the driver was told, and how it answers. */
static struct {
    tw_io_set_t set[RIG_IOS];
    uint32_t settings[RIG_IOS][3];
    uint32_t sets[RIG_IOS], starts[RIG_IOS], stops[RIG_IOS], buffers[RIG_IOS];
    uint32_t refuse; /* starts to come */
    bool at_once;    /* TX acknowledges inside START */
    const uint8_t *data;
    uint32_t bytes;
    uint8_t out[KEPT];
    uint32_t n_out;
    bool no_settings;
} drv;

static bool io_call(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    (void)ctx;
    switch (command) {
    case TW_IO_SET:
        memcpy(&drv.set[hwid], data, sizeof drv.set[hwid]);
        memcpy(drv.settings[hwid], drv.set[hwid].settings, sizeof drv.settings[hwid]);
        drv.sets[hwid]++;
        return !drv.no_settings;
    case TW_IO_SET_BUFFER:
        drv.buffers[hwid]++;
        return true;
    case TW_IO_STOP:
        drv.stops[hwid]++;
        return true;
    case TW_IO_START:
        drv.starts[hwid]++;
        if (drv.refuse > 0) {
            drv.refuse--;
            return false;
        }
        break;
    }
    if (hwid >= RIG_IOS / 2) {
        drv.data = data;
        drv.bytes = bytes;
        assert_true(drv.n_out + bytes <= KEPT);
        memcpy(drv.out + drv.n_out, data, bytes);
        drv.n_out += bytes;
        if (drv.at_once) {
            (void)drv.set[hwid].ack(drv.set[hwid].ctx, drv.set[hwid].io, NULL, bytes);
        }
    }
    return true;
}

/* Interrupts look at the clock too. */
static uint64_t no_time(void *ctx)
{
    (void)ctx;
    return 0;
}

typedef struct how {
    bool servant, in_graph, set_buffer; /* of both IOs */
    bool polled_out;
    uint32_t ts, ts_size;
} how_t;

static void load(const how_t *h)
{
    memset(&drv, 0, sizeof drv);
    drv.at_once = true;
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, 4 * FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, 4 * FRAME);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
    const uint32_t place = tw_round_up(ib.fixed, 16);
    ib.fixed = place + 2 * STAGED;
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = tw_image_section(img, TW_SEC_IOS) + 4 * TW_IO_WORDS * i;
        tw_image_poke(img, at, TW_I0_SERVANT, h->servant);
        tw_image_poke(img, at, TW_I0_COPY, !h->set_buffer);
        tw_image_poke(img, at + 8, 31, 0, 100 + i);
        tw_image_poke(img, at + 24, 31, 0, place + STAGED * i);
        tw_image_poke(img, at + 28, 31, 0, h->in_graph ? STAGED : 0);
    }
    tw_image_fix(img, bytes);
    rig_board(&rig);
    rig.ios[0].acks = 1;
    rig.ios[4].acks = !h->polled_out;
    rig.board.io = io_call;
    rig.port.now_us = no_time;
    const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
    tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0};
    tw_fault_t fault;
    const tw_err_t err = tw_graph_check(img, bytes, &rig.board, &arena, &fault);
    if (err != TW_OK) {
        fail_msg("%s in section %u at %u", tw_err_name(err), fault.section, fault.at);
    }
    assert_int_equal(tw_graph_load(&g, img, &env, &arena, &fault), TW_OK);
}

static void ramp(uint8_t *to, uint16_t first, uint32_t samples)
{
    for (uint32_t i = 0; i < samples; i++) {
        tw_put_le16(to + 2 * i, (uint16_t)(first + i));
    }
}

static void block(void)
{
    static uint64_t tick;
    tw_graph_block(&g, tick++);
}

static void expect_ramp(uint32_t samples)
{
    assert_int_equal(drv.n_out, 2 * samples);
    for (uint32_t i = 0; i < samples; i++) {
        assert_int_equal(tw_get_le16(drv.out + 2 * i), i);
    }
}

static tw_err_t ack(const void *data, uint32_t bytes)
{
    return tw_graph_io_ack(&g, 0, data, bytes);
}

static void every_kind_of_buffer_carries_the_same_samples(void **state)
{
    (void)state;
    static const how_t ways[] = {
        {.servant = true},
        {.servant = true, .in_graph = true},
        {.servant = true, .set_buffer = true},
        {.in_graph = true},
        {.set_buffer = true},
    };
    for (uint32_t w = 0; w < TW_COUNT(ways); w++) {
        static uint8_t ping_pong[2][FRAME];
        load(&ways[w]);
        for (uint32_t t = 0; t < 20; t++) {
            block();
            ramp(ping_pong[t & 1], (uint16_t)(t * RIG_SAMPLES), RIG_SAMPLES);
            assert_int_equal(ack(ping_pong[t & 1], FRAME), TW_OK);
        }
        block();
        expect_ramp(20 * RIG_SAMPLES);
        assert_int_equal(drv.sets[0], 1);
        assert_int_equal(drv.settings[0][0], 100);
        assert_int_equal(drv.buffers[0], ways[w].set_buffer ? 1 : 0);
        assert_int_equal(drv.starts[0], ways[w].servant ? 21 : 1); /* a commander is started once */
        assert_int_equal(tw_gauge_get(&g.ios[0].stats.moves), ways[w].set_buffer ? 20 : 0);
        assert_int_equal(tw_gauge_get(&g.ios[0].stats.acks), 20);
        assert_int_equal(tw_gauge_get(&g.ios[1].stats.frames), 20);
    }
}

/* S1:L450 says nothing of parts: they accumulate until there is a frame. */
static void test_S1_L450_parts_of_a_frame_accumulate(void **state)
{
    (void)state;
    for (uint32_t in_graph = 0; in_graph < 2; in_graph++) {
        uint8_t data[3 * FRAME];
        ramp(data, 0, 3 * RIG_SAMPLES);
        load(&(how_t){.in_graph = in_graph != 0});
        block();
        for (uint32_t at = 0, part = 2; at < sizeof data; at += part, part = part % 14 + 2) {
            part = tw_min_u32(part, (uint32_t)sizeof data - at);
            assert_int_equal(ack(data + at, part), TW_OK);
            block();
            assert_int_equal(drv.n_out, (at + part) / FRAME * FRAME);
        }
        expect_ramp(3 * RIG_SAMPLES);
    }
}

static void test_S0_L712_two_acknowledgements_before_a_scan_both_count(void **state)
{
    (void)state;
    uint8_t data[2][FRAME];
    load(&(how_t){0});
    block();
    for (uint32_t i = 0; i < 2; i++) {
        ramp(data[i], (uint16_t)(i * RIG_SAMPLES), RIG_SAMPLES);
        assert_int_equal(ack(data[i], FRAME), TW_OK);
    }
    block();
    expect_ramp(2 * RIG_SAMPLES);
}

static void test_S0_L712_more_than_can_wait_are_counted_as_lost(void **state)
{
    (void)state;
    uint8_t data[FRAME];
    ramp(data, 0, RIG_SAMPLES);
    load(&(how_t){0});
    block();
    for (uint32_t i = 0; i < TW_IO_ACKS; i++) {
        assert_int_equal(ack(data, FRAME), TW_OK);
    }
    assert_int_equal(ack(data, FRAME), TW_E_BUSY);
    block();
    assert_int_equal(tw_gauge_get(&g.ios[0].stats.lost), 1);
    assert_int_equal(ack(data, FRAME), TW_OK);
    /* of a buffer in the graph it is the bytes that are too many */
    load(&(how_t){.in_graph = true});
    block();
    for (uint32_t i = 0; i < STAGED / FRAME; i++) {
        assert_int_equal(ack(data, FRAME), TW_OK);
    }
    assert_int_equal(ack(data, FRAME), TW_E_BUSY);
}

static void test_S0_L712_an_acknowledgement_of_nothing_is_a_hole(void **state)
{
    (void)state;
    uint8_t data[FRAME];
    ramp(data, 1, RIG_SAMPLES);
    load(&(how_t){0});
    block();
    assert_int_equal(ack(data, FRAME), TW_OK);
    assert_int_equal(ack(NULL, 0), TW_OK);
    block();
    assert_int_equal(drv.n_out, 2 * FRAME);
    for (uint32_t i = 0; i < RIG_SAMPLES; i++) {
        assert_int_equal(tw_get_le16(drv.out + FRAME + 2 * i), 0);
    }
    assert_int_equal(tw_gauge_get(&g.ios[0].stats.holes), 1);
    assert_int_equal(tw_gauge_get(&g.arcs[0].underflows), 1);
}

static void test_S1_L450_a_stopped_io_counts_what_it_does_not_take(void **state)
{
    (void)state;
    uint8_t data[FRAME];
    ramp(data, 0, RIG_SAMPLES);
    load(&(how_t){0});
    assert_int_equal(ack(data, FRAME), TW_E_STATE); /* before the first block */
    block();
    assert_int_equal(ack(data, FRAME), TW_OK);
    tw_graph_ios_stop(&g);
    assert_int_equal(drv.stops[0], 1);
    assert_int_equal(drv.stops[4], 1);
    assert_int_equal(ack(data, FRAME), TW_E_STATE);
    assert_int_equal(ack(NULL, 0), TW_OK); /* the end of it */
    assert_int_equal(tw_gauge_get(&g.ios[0].stats.stray), 2);
    assert_int_equal(tw_graph_io_ack(&g, 2, data, FRAME), TW_E_NOT_FOUND);
    block(); /* starts again */
    assert_int_equal(drv.sets[0], 2);
    assert_int_equal(ack(data, FRAME), TW_OK);
}

static void test_S0_L712_a_start_that_is_refused_is_tried_less_and_less_often(void **state)
{
    (void)state;
    load(&(how_t){.servant = true});
    drv.refuse = 1000;
    for (uint32_t t = 0; t < 1 + 1 + 2 + 4 + 8 + 16; t++) {
        block();
    }
    assert_int_equal(drv.starts[0], 6); /* blocks 0, 1, 3, 7, 15, 31 */
    assert_int_equal(tw_gauge_get(&g.ios[0].stats.starts_refused), 6);
    drv.refuse = 0;
    for (uint32_t t = 0; t < 64; t++) {
        block();
    }
    assert_int_equal(drv.starts[0], 7); /* and one transfer is under way */
}

static void what_is_sent_stays_until_it_is_acknowledged(void **state)
{
    (void)state;
    uint8_t data[2 * FRAME];
    ramp(data, 0, 2 * RIG_SAMPLES);
    load(&(how_t){.servant = true, .set_buffer = true});
    drv.at_once = false;
    block();
    assert_int_equal(ack(data, FRAME), TW_OK);
    block();
    assert_int_equal(drv.bytes, FRAME);
    assert_ptr_equal(drv.data, g.arcs[1].buf);
    for (uint32_t t = 0; t < 10; t++) {
        (void)ack(data + FRAME, FRAME);
        block();
        assert_memory_equal(drv.data, data, FRAME); /* whatever comes behind it */
    }
    assert_int_equal(tw_graph_io_ack(&g, 1, NULL, FRAME / 2), TW_OK);
    block();
    assert_int_equal(drv.starts[4], 1);
    assert_int_equal(tw_graph_io_ack(&g, 1, NULL, FRAME / 2), TW_OK);
    block();
    assert_int_equal(drv.starts[4], 2);
    assert_int_equal(tw_gauge_get(&g.ios[1].stats.frames), 1);
}

static void settings_reach_the_driver_at_run_time_or_stay(void **state)
{
    (void)state;
    static const uint32_t now[3] = {7, 8, 9};
    load(&(how_t){0});
    block();
    assert_int_equal(tw_graph_set_io(&g, 0, now), TW_OK);
    assert_memory_equal(drv.settings[0], now, sizeof now);
    drv.no_settings = true;
    assert_int_equal(tw_graph_set_io(&g, 0, (uint32_t[]){1, 1, 1}), TW_E_UNSUPPORTED);
    assert_memory_equal(g.ios[0].settings, now, sizeof now);
    assert_int_equal(tw_graph_set_io(&g, 5, now), TW_E_NOT_FOUND);
}

/* An interrupt is a thread here: what it acknowledges arrives whole and in order, or is counted. */
enum { FROM_ISR = 20000 };

static void *isr(void *unused)
{
    (void)unused;
    uint8_t data[FRAME];
    for (uint32_t k = 0; k < FROM_ISR;) {
        ramp(data, (uint16_t)(k * RIG_SAMPLES), RIG_SAMPLES);
        k += ack(data, FRAME) == TW_OK;
    }
    return NULL;
}

static void acknowledgements_come_from_any_context(void **state)
{
    (void)state;
    load(&(how_t){.in_graph = true});
    block();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, isr, NULL), 0);
    uint16_t next = 0;
    for (uint32_t seen = 0; seen < FROM_ISR * RIG_SAMPLES;) {
        drv.n_out = 0;
        block();
        for (uint32_t i = 0; i < drv.n_out; i += 2) {
            assert_int_equal(tw_get_le16(drv.out + i), next++);
        }
        seen += drv.n_out / 2;
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_buffer_carries_the_same_samples),
        cmocka_unit_test(test_S1_L450_parts_of_a_frame_accumulate),
        cmocka_unit_test(test_S0_L712_two_acknowledgements_before_a_scan_both_count),
        cmocka_unit_test(test_S0_L712_more_than_can_wait_are_counted_as_lost),
        cmocka_unit_test(test_S0_L712_an_acknowledgement_of_nothing_is_a_hole),
        cmocka_unit_test(test_S1_L450_a_stopped_io_counts_what_it_does_not_take),
        cmocka_unit_test(test_S0_L712_a_start_that_is_refused_is_tried_less_and_less_often),
        cmocka_unit_test(what_is_sent_stays_until_it_is_acknowledged),
        cmocka_unit_test(settings_reach_the_driver_at_run_time_or_stay),
        cmocka_unit_test(acknowledgements_come_from_any_context),
    };
    return cmocka_run_group_tests_name("graph_io", tests, NULL, NULL);
}
