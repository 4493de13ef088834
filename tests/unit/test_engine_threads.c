/* Two threads: the tick publish() names is the block that hears it, every time. Build with PROFILE=tsan. */
#include "engine/base/record.h"
#include "tests/support/engine_rig.h"
#include "tests/support/record_file.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static atomic_bool stop;

enum { SLOPE = 1, MUTE = 3, GROUPS = 3000, TICKS_MAX = 1 << 24 };
static uint8_t silent[TICKS_MAX]; /* of block t; engine thread until it ended */

/* A constant 1 goes in; whether it comes out says which value of mute the block heard. */
static uint32_t read_ones(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    for (uint32_t i = 0; i + 2 <= bytes; i += 2) {
        tw_put_le16((uint8_t *)dst + i, 1);
    }
    return bytes;
}

static uint32_t note_silence(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid;
    if (tick < TICKS_MAX) {
        silent[tick] = tw_get_le16(src) == 0;
    }
    return bytes;
}

static void *run_engine(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        (void)tw_engine_tick(rig.engine);
    }
    return NULL;
}

static void open_running(pthread_t *thread)
{
    static const uint8_t at_once[1] = {0};
    rig_chain_open(&ib);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(&ib, TW_SYM_NODE, 1, "amp");
    tw_ib_node_params(&ib, 1, SLOPE, at_once, 1);
    rig_open(&rig, 1 << 16, 1 << 16);
    rig.board.read = read_ones;
    rig.board.write = note_silence;
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(thread, NULL, run_engine, NULL), 0);
}

static void close_running(pthread_t thread)
{
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void await_tick(uint64_t tick)
{
    tw_engine_info_t info;
    for (tw_engine_info(rig.engine, &info); info.tick < tick; tw_engine_info(rig.engine, &info)) {
        sched_yield();
    }
}

static void the_named_tick_is_exact_whoever_is_faster(void **state)
{
    (void)state;
    static uint64_t named[GROUPS];
    pthread_t thread;
    open_running(&thread);
    uint32_t answered = 0, disagreed = 0;
    for (uint32_t i = 0; i < GROUPS;) {
        const uint8_t mute = (uint8_t)((i & 1u) == 0);
        if (tw_engine_put_param(rig.engine, i + 1, 1, MUTE, &mute, 1) == TW_OK) {
            named[i] = tw_engine_publish(rig.engine);
            if (i++ % 8 == 0) { /* now and then let blocks pass, however the machine shares its time */
                await_tick(named[i - 1] + 2);
            }
        }
        tw_engine_reply_t x;
        while (tw_engine_reply(rig.engine, &x)) {
            if (x.token != 0) {
                disagreed += x.tick != named[x.token - 1];
                answered++;
            }
            tw_engine_reply_done(rig.engine);
        }
    }
    while (answered < GROUPS) {
        tw_engine_reply_t x;
        if (tw_engine_reply(rig.engine, &x)) {
            answered += x.token != 0;
            tw_engine_reply_done(rig.engine);
        }
    }
    await_tick(named[GROUPS - 1] + 2);
    close_running(thread);
    assert_int_equal(disagreed, 0);
    uint32_t checked = 0;
    for (uint32_t i = 0; i + 1 < GROUPS && named[i + 1] < TICKS_MAX; i++) {
        assert_true(named[i] <= named[i + 1]);
        if (named[i] < named[i + 1]) { /* the last group of its tick is the one heard */
            assert_int_equal(silent[named[i]], (i & 1u) == 0);
            assert_int_equal(silent[named[i + 1] - 1], (i & 1u) == 0);
            checked++;
        }
    }
    assert_in_range(checked, GROUPS / 16, GROUPS);
    rig_close(&rig);
}

static void a_named_tick_is_met_or_refused_but_never_missed(void **state)
{
    (void)state;
    pthread_t thread;
    open_running(&thread);
    uint32_t met = 0, wrong = 0;
    uint64_t want = 0;
    bool waiting = false;
    while (met < 200) {
        tw_engine_reply_t x;
        while (tw_engine_reply(rig.engine, &x)) {
            if (x.token != 0) {
                wrong += x.err == TW_OK && x.tick != want;
                assert_true(x.err == TW_OK || x.err == TW_E_TXN_TICK);
                met++;
                waiting = false;
            }
            tw_engine_reply_done(rig.engine);
        }
        if (waiting) {
            continue;
        }
        const uint8_t mute = 0;
        tw_engine_info_t info;
        tw_engine_info(rig.engine, &info);
        want = info.tick + 2 + met % 5;
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, MUTE, &mute, 1), TW_OK);
        const tw_err_t err = tw_engine_publish_at(rig.engine, want, met + 1);
        waiting = err == TW_OK;
        assert_true(waiting || err == TW_E_TXN_TICK);
        if (!waiting) {
            tw_engine_drop(rig.engine);
        }
    }
    close_running(thread);
    assert_int_equal(wrong, 0);
    rig_close(&rig);
}

/* Handed over and called back again and again: each group is either withdrawn, unheard, or answered once. */
static void a_group_is_withdrawn_or_answered_never_both(void **state)
{
    (void)state;
    pthread_t thread;
    open_running(&thread);
    uint32_t withdrawn = 0, answered = 0;
    for (uint32_t i = 1; i <= 4000; i++) {
        const uint8_t mute = 0;
        tw_engine_info_t info;
        tw_engine_info(rig.engine, &info);
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, MUTE, &mute, 1), TW_OK);
        const uint64_t at = info.tick + (i % 10 == 0 ? 1u << 20 : 2 + i % 40); /* some far away, some waited for */
        if (tw_engine_publish_at(rig.engine, at, i) != TW_OK) {
            tw_engine_drop(rig.engine);
            continue;
        }
        for (uint32_t k = 0; k < i % 7; k++) {
            sched_yield();
        }
        if (i % 10 == 1) {
            await_tick(at + 1);
        }
        if (tw_engine_withdraw(rig.engine, i)) {
            withdrawn++;
            continue;
        }
        for (bool mine = false; !mine;) {
            tw_engine_reply_t x;
            if (tw_engine_reply(rig.engine, &x)) {
                assert_true(x.token == 0 || x.token == i);
                mine = x.token == i;
                tw_engine_reply_done(rig.engine);
            }
        }
        answered++;
    }
    assert_true(withdrawn > 0 && answered > 0);
    tw_engine_reply_t x;
    while (tw_engine_reply(rig.engine, &x)) {
        assert_int_equal(x.token, 0);
        tw_engine_reply_done(rig.engine);
    }
    close_running(thread);
    rig_close(&rig);
}

static void graphs_swap_under_load(void **state)
{
    (void)state;
    static uint8_t other[32768];
    pthread_t thread;
    open_running(&thread);
    const uint32_t bytes = tw_ib_finish(&ib, other, sizeof other);
    for (unsigned i = 0; i < 200;) {
        tw_fault_t fault;
        const tw_err_t err = tw_engine_prime(rig.engine, other, bytes, false, &fault);
        if (err == TW_OK) {
            const tw_swap_t how = {.start = true, .carry = (tw_carry_t)(i % 3), .fade_us = i % 2 * 3000};
            assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &how, &fault), TW_OK);
            (void)tw_engine_publish(rig.engine);
            i++;
            const tw_err_t back = i % 4 == 0 ? tw_engine_put_rollback(rig.engine, 0, 2000) : TW_E_BUSY;
            assert_true(back == TW_OK || back == TW_E_BUSY);
            (void)tw_engine_publish(rig.engine);
        } else {
            assert_int_equal(err, TW_E_BUSY);
        }
        tw_engine_node_t n;
        tw_engine_arc_t a;
        assert_int_equal(tw_engine_node(rig.engine, 0, &n), TW_OK);
        assert_int_equal(tw_engine_arc(rig.engine, 1, &a), TW_OK);
        (void)rig_events(&rig, TW_EV_FLOW, NULL);
    }
    close_running(thread);
    rig_close(&rig);
}

static void a_probe_misses_nothing_it_does_not_count(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t buf[4096];
    static tw_probe_t probe;
    pthread_t thread;
    open_running(&thread);
    tw_ring_init(&probe.ring, buf, sizeof buf);
    probe.arc = 1;
    assert_int_equal(tw_engine_put_probe(rig.engine, 0, &probe), TW_OK);
    const uint64_t from = tw_engine_publish(rig.engine);
    uint64_t next = from;
    for (unsigned n = 0; n < 5000;) {
        uint32_t bytes;
        const uint8_t *rec = tw_ring_peek(&probe.ring, &bytes);
        if (rec == NULL) {
            continue;
        }
        assert_int_equal(bytes, TW_PROBE_HEADER + RIG_FRAME);
        const uint64_t tick = tw_get_le64(rec);
        /* one record a block: what is not here was counted as dropped */
        assert_true(tick >= next);
        assert_int_equal(tick - from, n + tw_get_le32(rec + 8));
        next = tick + 1;
        n++;
        tw_ring_pop(&probe.ring);
    }
    assert_int_equal(tw_engine_put_unprobe(rig.engine, 8, &probe), TW_OK);
    (void)tw_engine_publish(rig.engine);
    tw_engine_reply_t x;
    while (!rig_reply(&rig, 8, &x, NULL, 0)) {}
    close_running(thread);
    rig_close(&rig);
}

static void swap_again(void)
{
    tw_fault_t fault;
    while (tw_engine_prime(rig.engine, img, tw_get_le32(img + 8), false, &fault) == TW_E_BUSY) {}
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void recorder_shadow_and_probe_stand_beside_a_running_thread(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t buf[4096];
    static tw_probe_t probe;
    static record_file_t file;
    enum { TURNS = 300 };
    pthread_t thread;
    uint32_t shadow, bytes, sums = 0;
    tw_engine_reply_t x;
    uint8_t data[256];
    open_running(&thread);
    record_file_open(&file, &rig, 1 << 20, 4096, true);
    swap_again();
    tw_ring_init(&probe.ring, buf, sizeof buf);
    probe.arc = 1;
    assert_int_equal(tw_engine_put_probe(rig.engine, 0, &probe), TW_OK);
    assert_int_equal(tw_engine_put_shadow(rig.engine, 0, 1, 0, &shadow, &bytes), TW_OK);
    (void)tw_engine_publish(rig.engine);
    for (uint32_t i = 0; i < TURNS; i++) {
        const uint8_t mute = i % 2 != 0;
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, MUTE, &mute, 1), TW_OK);
        assert_int_equal(tw_engine_put_shadow_param(rig.engine, 0, shadow, MUTE, &mute, 1), TW_OK);
        assert_int_equal(tw_engine_put_shadow_read(rig.engine, i + 1, shadow, false), TW_OK);
        (void)tw_engine_publish(rig.engine);
        while (!rig_reply(&rig, i + 1, &x, data, sizeof data)) {
            record_file_drain(&file);
        }
        sums += x.err == TW_OK && x.bytes != 0;
        for (; tw_ring_peek(&probe.ring, &bytes) != NULL; tw_ring_pop(&probe.ring)) {}
    }
    assert_int_equal(sums, TURNS);
    assert_int_equal(tw_engine_put_shadow_drop(rig.engine, 0, shadow), TW_OK);
    assert_int_equal(tw_engine_put_unprobe(rig.engine, TURNS + 1, &probe), TW_OK);
    (void)tw_engine_publish(rig.engine);
    while (!rig_reply(&rig, TURNS + 1, &x, NULL, 0)) {}
    close_running(thread);
    record_file_end(&file, TW_RECORD_STOPPED);
    assert_true(file.n > TW_RECORD_HEADER);
    record_file_free(&file);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_tick_is_exact_whoever_is_faster),
        cmocka_unit_test(a_named_tick_is_met_or_refused_but_never_missed),
        cmocka_unit_test(a_group_is_withdrawn_or_answered_never_both),
        cmocka_unit_test(graphs_swap_under_load),
        cmocka_unit_test(a_probe_misses_nothing_it_does_not_count),
        cmocka_unit_test(recorder_shadow_and_probe_stand_beside_a_running_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
