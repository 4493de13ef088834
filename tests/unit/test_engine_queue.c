/* Commands: groups take effect whole, at the tick publish() names; replies are never lost. */
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;

enum { GAIN_LINEAR = 7, MUTE = 3, SLOPE = 1 };

static void open_chain(uint32_t queue, uint32_t reply)
{
    static const uint8_t at_once[1] = {0};
    rig_chain_open(&ib);
    tw_ib_node_params(&ib, 1, SLOPE, at_once, 1);
    rig_open(&rig, queue, reply);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
}

static tw_err_t put_mute(uint32_t token, uint8_t on)
{
    return tw_engine_put_param(rig.engine, token, 1, MUTE, &on, 1);
}

static bool frame_is_silent(uint64_t tick)
{
    for (uint32_t i = 0; i < RIG_SAMPLES; i++) {
        if (tw_get_le16(rig.out[4] + (tick * RIG_SAMPLES + i) * 2) != 0) {
            return false;
        }
    }
    return true;
}

static void a_group_takes_effect_at_the_tick_publish_names(void **state)
{
    (void)state;
    open_chain(4096, 8192);
    rig.next[0] = 1;
    ticks(5);
    assert_int_equal(put_mute(77, 1), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 5);
    ticks(3);
    assert_false(frame_is_silent(4));
    assert_true(frame_is_silent(5));
    tw_engine_reply_t reply;
    assert_true(rig_reply(&rig, 77, &reply, NULL, 0));
    assert_int_equal(reply.err, TW_OK);
    assert_int_equal(reply.tick, 5);
    rig_close(&rig);
}

static void an_open_group_does_nothing_and_can_be_dropped(void **state)
{
    (void)state;
    open_chain(4096, 8192);
    rig.next[0] = 1;
    const uint32_t room = tw_engine_room(rig.engine);
    ticks(1);
    const uint32_t free_after = tw_engine_room(rig.engine);
    assert_true(free_after >= room);
    assert_int_equal(put_mute(1, 1), TW_OK);
    ticks(3);
    tw_engine_drop(rig.engine);
    assert_int_equal(tw_engine_room(rig.engine), free_after);
    (void)tw_engine_publish(rig.engine);
    ticks(3);
    for (uint64_t t = 0; t < 7; t++) {
        assert_false(frame_is_silent(t));
    }
    rig_close(&rig);
}

static void a_thousand_values_change_between_two_samples(void **state)
{
    (void)state;
    open_chain(1 << 17, 8192);
    rig.next[0] = 100;
    ticks(3);
    /* every value but the last would be heard */
    for (unsigned i = 0; i < 1000; i++) {
        uint8_t value[4];
        tw_put_f32(value, i == 999 ? 2.0f : (float)(i % 7));
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, GAIN_LINEAR, value, 4), TW_OK);
    }
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    ticks(2);
    for (uint32_t i = 0; i < 5 * RIG_SAMPLES; i++) {
        const int x = 100 + (int)i, y = (int16_t)tw_get_le16(rig.out[4] + 2 * i);
        assert_int_equal(y, i < 3 * RIG_SAMPLES ? x : 2 * x);
    }
    tw_engine_node_t n;
    assert_int_equal(tw_engine_node(rig.engine, 1, &n), TW_OK);
    assert_int_equal(n.version, 1001);
    rig_close(&rig);
}

static void a_swap_happens_between_two_samples(void **state)
{
    (void)state;
    static uint8_t other[32768];
    static const uint8_t mute[1] = {1};
    open_chain(4096, 8192);
    rig.next[0] = 1;
    ticks(10);
    rig_chain_open(&ib);
    tw_ib_node_params(&ib, 1, MUTE, mute, 1);
    const uint32_t bytes = tw_ib_finish(&ib, other, sizeof other);
    tw_fault_t fault;
    assert_int_equal(tw_engine_prime(rig.engine, other, bytes, false, &fault), TW_OK);
    ticks(1);
    assert_int_equal(tw_engine_put_swap(rig.engine, 3, true), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 11);
    /* the engine has not left the old slot yet */
    assert_int_equal(tw_engine_prime(rig.engine, other, bytes, false, &fault), TW_E_BUSY);
    ticks(4);
    assert_false(frame_is_silent(10));
    for (uint64_t t = 11; t < 15; t++) {
        assert_true(frame_is_silent(t));
    }
    assert_int_equal(rig.reads[0], 15); /* every block read its frame: nothing was skipped */
    tw_engine_reply_t reply;
    assert_true(rig_reply(&rig, 3, &reply, NULL, 0));
    assert_int_equal(reply.tick, 11);
    tw_engine_info_t info;
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.generation, 2);
    assert_int_equal(info.tick, 15);
    assert_int_equal(info.state, TW_GRAPH_RUNNING);
    assert_int_equal(tw_engine_prime(rig.engine, other, bytes, false, &fault), TW_OK);
    tw_engine_unprime(rig.engine);
    rig_close(&rig);
}

static void a_swap_and_its_values_are_one_group(void **state)
{
    (void)state;
    open_chain(4096, 8192);
    rig.next[0] = 1;
    ticks(2);
    tw_fault_t fault;
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    assert_int_equal(tw_engine_prime(rig.engine, img, bytes, false, &fault), TW_OK);
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    assert_int_equal(put_mute(0, 1), TW_OK);
    /* dropping gives the primed graph back */
    tw_engine_drop(rig.engine);
    ticks(1);
    assert_false(frame_is_silent(2));
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    assert_int_equal(put_mute(0, 1), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    ticks(2);
    assert_true(frame_is_silent(3));
    rig_close(&rig);
}

static void a_named_tick_is_kept_exactly(void **state)
{
    (void)state;
    open_chain(4096, 8192);
    rig.next[0] = 1;
    ticks(4);
    assert_int_equal(put_mute(5, 1), TW_OK);
    assert_int_equal(tw_engine_publish_at(rig.engine, 5, 9), TW_E_TXN_TICK);
    assert_int_equal(tw_engine_publish_at(rig.engine, 20, 9), TW_OK);
    /* one at a time; and the ordinary queue goes on beside it */
    assert_int_equal(put_mute(0, 0), TW_OK);
    assert_int_equal(tw_engine_publish_at(rig.engine, 30, 9), TW_E_BUSY);
    assert_int_equal(tw_engine_publish(rig.engine), 4);
    ticks(20);
    for (uint64_t t = 4; t < 24; t++) {
        assert_int_equal(frame_is_silent(t), t >= 20);
    }
    tw_engine_reply_t x;
    unsigned answers = 0;
    while (tw_engine_reply(rig.engine, &x)) {
        assert_int_equal(x.tick, 20);
        assert_true(x.token == 5 || x.token == 9);
        answers++;
        tw_engine_reply_done(rig.engine);
    }
    assert_int_equal(answers, 2);
    /* free again; only values may wait for a tick */
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STOP, 0), TW_OK);
    assert_int_equal(tw_engine_publish_at(rig.engine, 40, 0), TW_E_TXN_METHOD);
    tw_engine_drop(rig.engine);
    rig_close(&rig);
}

static void what_waits_for_its_tick_can_be_withdrawn(void **state)
{
    (void)state;
    open_chain(1 << 16, 4096);
    rig.next[0] = 1;
    ticks(1);
    for (unsigned round = 0; round < 100; round++) { /* the room promised for its replies comes back, too */
        assert_int_equal(put_mute(5, 1), TW_OK);
        assert_int_equal(tw_engine_publish_at(rig.engine, 300, 9), TW_OK);
        assert_false(tw_engine_withdraw(rig.engine, 8));
        assert_true(tw_engine_withdraw(rig.engine, 9));
        assert_false(tw_engine_withdraw(rig.engine, 9));
    }
    assert_int_equal(put_mute(5, 1), TW_OK);
    assert_int_equal(tw_engine_publish_at(rig.engine, UINT64_MAX, 9), TW_E_RANGE);
    assert_int_equal(tw_engine_publish_at(rig.engine, 2u + TW_TICK_AHEAD_MAX, 9), TW_E_RANGE);
    assert_int_equal(tw_engine_publish_at(rig.engine, 1u + TW_TICK_AHEAD_MAX, 9), TW_OK);
    ticks(320);
    tw_engine_reply_t x;
    assert_false(tw_engine_reply(rig.engine, &x));
    assert_false(frame_is_silent(310));
    assert_true(tw_engine_withdraw(rig.engine, 9));
    rig_close(&rig);
}

static void a_named_tick_of_a_graph_that_went_is_refused(void **state)
{
    (void)state;
    open_chain(4096, 8192);
    rig.next[0] = 1;
    ticks(1);
    assert_int_equal(put_mute(5, 1), TW_OK);
    assert_int_equal(tw_engine_publish_at(rig.engine, 10, 9), TW_OK);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    ticks(12);
    tw_engine_reply_t x;
    unsigned answers = 0;
    while (tw_engine_reply(rig.engine, &x)) {
        assert_int_equal(x.err, TW_E_GENERATION);
        answers++;
        tw_engine_reply_done(rig.engine);
    }
    assert_int_equal(answers, 2);
    assert_false(frame_is_silent(12));
    rig_close(&rig);
}

static void the_tick_stands_while_no_graph_runs(void **state)
{
    (void)state;
    open_chain(4096, 8192);
    ticks(3);
    assert_int_equal(tw_engine_put_control(rig.engine, 1, TW_CTL_STOP, 0), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    for (unsigned i = 0; i < 5; i++) {
        assert_false(tw_engine_tick(rig.engine));
    }
    tw_engine_info_t info;
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.state, TW_GRAPH_STOPPED);
    assert_int_equal(info.tick, 3);
    /* values are taken while stopped */
    assert_int_equal(put_mute(2, 1), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    assert_false(tw_engine_tick(rig.engine));
    assert_int_equal(tw_engine_put_control(rig.engine, 3, TW_CTL_STEP, 2), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    ticks(2);
    assert_false(tw_engine_tick(rig.engine));
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.tick, 5);
    assert_true(frame_is_silent(3) && frame_is_silent(4));
    assert_int_equal(tw_engine_put_unload(rig.engine, 4), TW_OK);
    assert_int_equal(put_mute(0, 1), TW_E_NO_GRAPH);
    (void)tw_engine_publish(rig.engine);
    assert_false(tw_engine_tick(rig.engine));
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.state, TW_GRAPH_EMPTY);
    assert_int_equal(info.nodes, 0);
    tw_engine_reply_t x;
    for (uint32_t token = 1; token <= 4; token++) {
        assert_true(tw_engine_reply(rig.engine, &x));
        assert_int_equal(x.token, token);
        assert_int_equal(x.err, TW_OK);
        tw_engine_reply_done(rig.engine);
    }
    /* start without a graph is answered, not ignored */
    assert_int_equal(tw_engine_put_control(rig.engine, 5, TW_CTL_START, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    assert_false(tw_engine_tick(rig.engine));
    assert_true(rig_reply(&rig, 5, &x, NULL, 0));
    assert_int_equal(x.err, TW_E_NO_GRAPH);
    rig_close(&rig);
}

static void a_full_queue_refuses_and_keeps_the_group(void **state)
{
    (void)state;
    open_chain(512, 8192);
    rig.next[0] = 1;
    ticks(2);
    unsigned n = 0;
    while (put_mute(0, 1) == TW_OK) {
        n++;
    }
    assert_in_range(n, 8, 16);
    assert_int_equal(put_mute(0, 0), TW_E_QUEUE_FULL);
    assert_int_equal(tw_engine_publish(rig.engine), 2);
    ticks(1);
    assert_true(frame_is_silent(2));
    /* round and round: records that meet the ring's end are placed whole */
    for (unsigned i = 0; i < 500; i++) {
        uint8_t value[22] = {1, 1};
        tw_put_le16(value + 2, 16384);
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 0, 256, value, 2 + 10u * (i % 3)), TW_OK);
        assert_int_equal(put_mute(0, i & 1), TW_OK);
        assert_int_equal(tw_engine_publish(rig.engine), 3 + i);
        ticks(1);
        assert_int_equal(frame_is_silent(3 + i), i & 1);
    }
    rig_close(&rig);
}

static void replies_are_promised_before_they_are_needed(void **state)
{
    (void)state;
    open_chain(1 << 16, 2048);
    ticks(1);
    for (unsigned round = 0; round < 50; round++) {
        unsigned n = 0;
        while (tw_engine_put_read(rig.engine, n + 1, 1, n % 2 == 0 ? 256 : 7) == TW_OK) {
            n++;
        }
        assert_in_range(n, 4, 100);
        (void)tw_engine_publish(rig.engine);
        ticks(3);
        assert_int_equal(tw_engine_put_read(rig.engine, 99, 1, 7), TW_E_QUEUE_FULL);
        tw_engine_reply_t x;
        unsigned got = 0;
        while (tw_engine_reply(rig.engine, &x)) {
            assert_int_equal(x.token, ++got);
            assert_int_equal(x.bytes, x.token % 2 == 1 ? 8 : 4);
            tw_engine_reply_done(rig.engine);
        }
        assert_int_equal(got, n);
    }
    rig_close(&rig);
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t mem[1 << 16];
    rig_board(&rig);
    const tw_engine_cfg_t ok = {.port = &rig.port,
                                .board = &rig.board,
                                .queue_bytes = 1024,
                                .timed_bytes = 1024,
                                .reply_bytes = 2048,
                                .graph_bytes = 4096};
    tw_engine_t *e = NULL;
    assert_int_equal(tw_engine_init(&e, &ok, mem, sizeof mem), TW_OK);
    assert_int_equal(tw_engine_init(&e, &ok, mem, tw_engine_need(&ok) - 1), TW_E_NOMEM);
    tw_engine_cfg_t bad = ok;
    bad.queue_bytes = 1000;
    assert_int_equal(tw_engine_init(&e, &bad, mem, sizeof mem), TW_E_ARG);
    bad = ok;
    bad.queue_bytes = 1u << 24;
    assert_int_equal(tw_engine_init(&e, &bad, mem, sizeof mem), TW_E_ARG);
    bad = ok;
    bad.board = NULL;
    assert_int_equal(tw_engine_init(&e, &bad, mem, sizeof mem), TW_E_ARG);
    assert_int_equal(tw_engine_init(&e, &ok, mem + 8, sizeof mem - 8), TW_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_takes_effect_at_the_tick_publish_names),
        cmocka_unit_test(an_open_group_does_nothing_and_can_be_dropped),
        cmocka_unit_test(a_thousand_values_change_between_two_samples),
        cmocka_unit_test(a_swap_happens_between_two_samples),
        cmocka_unit_test(a_swap_and_its_values_are_one_group),
        cmocka_unit_test(a_named_tick_is_kept_exactly),
        cmocka_unit_test(what_waits_for_its_tick_can_be_withdrawn),
        cmocka_unit_test(a_named_tick_of_a_graph_that_went_is_refused),
        cmocka_unit_test(the_tick_stands_while_no_graph_runs),
        cmocka_unit_test(a_full_queue_refuses_and_keeps_the_group),
        cmocka_unit_test(replies_are_promised_before_they_are_needed),
        cmocka_unit_test(bad_configurations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
