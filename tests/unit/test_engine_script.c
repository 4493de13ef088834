/* Scripts and probes from the control side: replaced live, run on demand, arcs watched. */
#include "engine/base/crc.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;

/* addk r0 5; ret */
static const uint16_t add5[] = {0x4005, 0xC000};
static const uint8_t loop_code[] = {0x01, 0x05, 0x01, 0x00};  /* labl #1; jmp #1 */
static const uint8_t event_code[] = {0x0B, 0x03, 0x00, 0xC0}; /* cals event; ret */
static const uint8_t call1_code[] = {0x41, 0x04, 0x00, 0xC0}; /* callscript 1; ret */
static const uint8_t call0_code[] = {0x40, 0x04, 0x00, 0xC0};

static void open_scripts(void)
{
    rig_chain_open(&ib);
    tw_ib_script(&ib, add5, 2, 2, 1, 1);
    tw_ib_script(&ib, add5, 2, 2, 1, 1);
    rig_open(&rig, 8192, 1 << 15);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    assert_true(tw_engine_tick(rig.engine));
}

static tw_engine_reply_t published(uint32_t token, uint8_t *data, uint32_t cap)
{
    tw_engine_reply_t x = {0};
    (void)tw_engine_publish(rig.engine);
    assert_true(tw_engine_tick(rig.engine));
    assert_true(rig_reply(&rig, token, &x, data, cap));
    return x;
}

static void a_run_gives_registers_flag_and_cost(void **state)
{
    (void)state;
    uint8_t data[64];
    const int64_t args[2] = {37, -1};
    open_scripts();
    assert_int_equal(tw_engine_put_run(rig.engine, 4, 0, args, 2, 0), TW_OK);
    const tw_engine_reply_t x = published(4, data, sizeof data);
    assert_int_equal(x.err, TW_OK);
    assert_int_equal(x.bytes, 64);
    assert_int_equal(tw_get_le64(data), 42);
    assert_int_equal((int64_t)tw_get_le64(data + 8), -1);
    assert_int_equal(tw_get_le64(data + 56), 2);
    assert_int_equal(tw_engine_put_run(rig.engine, 4, 7, args, 2, 0), TW_E_SCRIPT_NONE);
    rig_close(&rig);
}

static void replaced_code_runs_from_its_tick_and_heals_a_fault(void **state)
{
    (void)state;
    tw_fault_t fault;
    uint8_t data[64];
    tw_engine_script_t s;
    open_scripts();
    assert_int_equal(tw_engine_check_script(rig.engine, 0, loop_code, 4, 0, &fault), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, loop_code, 4, 0), TW_OK);
    assert_int_equal(tw_engine_put_run(rig.engine, 1, 0, NULL, 0, 100), TW_OK);
    assert_int_equal(published(1, data, sizeof data).err, TW_E_SCR_BUDGET);
    assert_int_equal(tw_get_le64(data + 56), 100);
    assert_int_equal(tw_engine_put_run(rig.engine, 2, 0, NULL, 0, 100), TW_OK);
    assert_int_equal(published(2, data, sizeof data).err, TW_E_SCR_DISABLED);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, event_code, 4, 0), TW_OK);
    assert_int_equal(tw_engine_put_run(rig.engine, 3, 0, NULL, 0, 0), TW_OK);
    assert_int_equal(published(3, data, sizeof data).err, TW_OK);
    assert_int_equal(tw_engine_script(rig.engine, 0, &s), TW_OK);
    assert_false(s.disabled);
    assert_int_equal(s.bytes, 4);
    assert_int_equal(s.faults, 1);
    assert_string_equal(s.name, "script.0");
    rig_close(&rig);
}

static void code_that_does_not_verify_is_refused_with_its_place(void **state)
{
    (void)state;
    static const uint8_t bad[] = {0x05, 0x40, 0x00, 0xB0};
    static uint8_t big[TW_SCRIPT_LIVE_BYTES + 2];
    tw_fault_t fault;
    open_scripts();
    assert_int_equal(tw_engine_check_script(rig.engine, 0, bad, 4, 0, &fault), TW_E_SCR_RESERVED);
    assert_int_equal(fault.at, 2);
    assert_int_equal(tw_engine_check_script(rig.engine, 0, big, sizeof big, 0, &fault), TW_E_NOMEM);
    assert_int_equal(tw_engine_check_script(rig.engine, 9, bad, 4, 0, &fault), TW_E_SCRIPT_NONE);
    /* 0 calls 1; then 1 may not call 0 */
    assert_int_equal(tw_engine_check_script(rig.engine, 0, call0_code, 4, 0, &fault), TW_E_SCR_DEPTH);
    assert_int_equal(tw_engine_check_script(rig.engine, 0, call1_code, 4, 0, &fault), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, call1_code, 4, 0), TW_OK);
    assert_int_equal(tw_engine_check_script(rig.engine, 1, call0_code, 4, 0, &fault), TW_E_SCR_DEPTH);
    rig_close(&rig);
}

static tw_err_t check(uint32_t script, const uint8_t *code)
{
    tw_fault_t fault;
    return tw_engine_check_script(rig.engine, script, code, 4, 0, &fault);
}

static void install(uint32_t script, const uint8_t *code)
{
    assert_int_equal(check(script, code), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 1, script, code, 4, 0), TW_OK);
    assert_int_equal(published(1, NULL, 0).err, TW_OK);
}

static void only_installed_calls_stand_in_the_way(void **state)
{
    (void)state;
    open_scripts();
    for (unsigned round = 0; round < 3; round++) {
        install(0, call1_code);
        assert_int_equal(check(1, call0_code), TW_E_SCR_DEPTH);
        install(0, event_code);
        install(1, call0_code);
        assert_int_equal(check(0, call1_code), TW_E_SCR_DEPTH);
        install(1, event_code);
    }
    rig_close(&rig);
}

static void a_dropped_replacement_is_forgotten(void **state)
{
    (void)state;
    open_scripts();
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, call1_code, 4, 0), TW_OK);
    assert_int_equal(check(1, call0_code), TW_E_SCR_DEPTH); /* it may still be published */
    tw_engine_drop(rig.engine);
    assert_int_equal(check(1, call0_code), TW_OK);
    rig_close(&rig);
}

static void replacements_under_way_count_old_and_new(void **state)
{
    (void)state;
    open_scripts();
    install(0, call1_code);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, event_code, 4, 0), TW_OK);
    assert_int_equal(tw_engine_publish_at(rig.engine, 10, 0), TW_OK);
    assert_int_equal(check(1, call0_code), TW_E_SCR_DEPTH);
    while (tw_engine_tick(rig.engine)) {
        tw_engine_info_t info;
        tw_engine_info(rig.engine, &info);
        if (info.tick > 10) {
            break;
        }
    }
    assert_int_equal(check(1, call0_code), TW_OK);
    rig_close(&rig);
}

static void one_group_cannot_close_a_circle(void **state)
{
    (void)state;
    open_scripts();
    assert_int_equal(check(0, call1_code), TW_OK);
    assert_int_equal(check(1, call0_code), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, call1_code, 4, 0), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 1, call0_code, 4, 0), TW_E_SCR_DEPTH);
    tw_engine_drop(rig.engine);
    install(1, call0_code);
    rig_close(&rig);
}

static void a_replacement_brings_its_literals(void **state)
{
    (void)state;
    /* psha #7; copy p0 s0; load r0 *p0; ret; pool: int32 0x12345678 at label 7 */
    static const uint8_t code[] = {0x07, 0x08, 0x6E, 0x10, 0x06, 0x11, 0x00, 0xC0, 0x78,
                                   0x56, 0x34, 0x12, 0x07, 0x04, 0x00, 0x00, 0x01, 0x00};
    enum { CODE = 8, POOL = sizeof code - CODE };
    static uint8_t big[TW_SCRIPT_LIVE_BYTES];
    uint8_t data[64];
    tw_fault_t fault;
    tw_engine_script_t s;
    open_scripts();
    assert_int_equal(tw_engine_check_script(rig.engine, 0, code, CODE, 0, &fault), TW_E_SCR_BAD_TARGET);
    assert_int_equal(tw_engine_check_script(rig.engine, 0, code, CODE, POOL - 1, &fault), TW_E_SCR_BOUNDS);
    assert_int_equal(tw_engine_check_script(rig.engine, 0, big, 4, sizeof big - 3, &fault), TW_E_NOMEM);
    assert_int_equal(tw_engine_check_script(rig.engine, 0, big, UINT32_MAX, UINT32_MAX, &fault), TW_E_NOMEM);
    assert_int_equal(tw_engine_check_script(rig.engine, 0, code, CODE, POOL, &fault), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, code, CODE, POOL), TW_OK);
    assert_int_equal(tw_engine_put_run(rig.engine, 2, 0, NULL, 0, 0), TW_OK);
    assert_int_equal(published(2, data, sizeof data).err, TW_OK);
    assert_int_equal(tw_get_le64(data), 0x12345678);
    assert_int_equal(tw_engine_script(rig.engine, 0, &s), TW_OK);
    assert_int_equal(s.bytes, sizeof code);
    assert_int_equal(s.crc, tw_crc32c(0, code, sizeof code));
    rig_close(&rig);
}

static void records_of_a_probe_are_complete_and_in_order(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t buf[2][1024];
    static tw_probe_t probes[2];
    open_scripts();
    for (unsigned i = 0; i < 2; i++) {
        probes[i] = (tw_probe_t){.arc = 1};
        tw_ring_init(&probes[i].ring, buf[i], sizeof buf[i]);
        assert_int_equal(tw_engine_put_probe(rig.engine, i + 1, &probes[i]), TW_OK);
    }
    assert_int_equal(tw_engine_publish(rig.engine), 1);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    uint32_t bytes;
    for (uint64_t t = 1; t <= 10; t++) {
        const uint8_t *rec = tw_ring_peek(&probes[1].ring, &bytes);
        assert_non_null(rec);
        assert_int_equal(bytes, TW_PROBE_HEADER + RIG_FRAME);
        assert_int_equal(tw_get_le64(rec), t);
        assert_int_equal(tw_get_le16(rec + TW_PROBE_HEADER), t * RIG_SAMPLES);
        tw_ring_pop(&probes[1].ring);
    }
    /* the other ring was not read: 16 records of 56 bytes fit, and what does not is counted */
    for (unsigned i = 0; i < 20; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    assert_int_equal(atomic_load(&probes[0].dropped), 30 - 18);
    assert_int_equal(tw_engine_put_unprobe(rig.engine, 3, &probes[0]), TW_OK);
    (void)published(3, NULL, 0);
    assert_int_equal(atomic_load(&probes[0].dropped), 30 - 18);
    /* a probe of a graph that is gone can still be detached */
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    assert_int_equal(tw_engine_put_unprobe(rig.engine, 4, &probes[1]), TW_OK);
    assert_int_equal(published(4, NULL, 0).err, TW_OK);
    rig_close(&rig);
}

static void an_arc_shows_its_newest_frames_without_losing_them(void **state)
{
    (void)state;
    uint8_t data[256];
    open_scripts();
    assert_int_equal(tw_engine_put_arc_read(rig.engine, 1, 2, 100), TW_OK);
    const tw_engine_reply_t x = published(1, data, sizeof data);
    assert_int_equal(x.bytes, RIG_FRAME);
    assert_int_equal(tw_get_le16(data), 0); /* block 0 was the newest before block 1 */
    assert_int_equal(rig.out_bytes[4], 2 * RIG_FRAME);
    assert_int_equal(tw_engine_put_arc_read(rig.engine, 1, 3, 100), TW_E_ARC_NONE);
    rig_close(&rig);
}

static void events_that_nobody_takes_are_counted(void **state)
{
    (void)state;
    open_scripts();
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, event_code, 4, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    for (unsigned i = 0; i < 2000; i++) {
        if (tw_engine_put_run(rig.engine, 1, 0, NULL, 0, 0) == TW_OK) {
            (void)tw_engine_publish(rig.engine);
        }
        assert_true(tw_engine_tick(rig.engine));
        tw_engine_reply_t x;
        while (tw_engine_reply(rig.engine, &x) && x.kind == TW_REPLY_DONE) {
            tw_engine_reply_done(rig.engine);
        }
    }
    const uint32_t lost = tw_engine_events_lost(rig.engine), kept = rig_events(&rig, TW_EV_SCRIPT_EVENT, NULL);
    assert_int_equal(lost + kept, 2000);
    assert_true(lost > 0 && kept > 100);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_gives_registers_flag_and_cost),
        cmocka_unit_test(replaced_code_runs_from_its_tick_and_heals_a_fault),
        cmocka_unit_test(code_that_does_not_verify_is_refused_with_its_place),
        cmocka_unit_test(only_installed_calls_stand_in_the_way),
        cmocka_unit_test(a_dropped_replacement_is_forgotten),
        cmocka_unit_test(replacements_under_way_count_old_and_new),
        cmocka_unit_test(one_group_cannot_close_a_circle),
        cmocka_unit_test(a_replacement_brings_its_literals),
        cmocka_unit_test(records_of_a_probe_are_complete_and_in_order),
        cmocka_unit_test(an_arc_shows_its_newest_frames_without_losing_them),
        cmocka_unit_test(events_that_nobody_takes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
