/* Probes on a running graph: exact ticks and samples, flow errors, scripts that fire, a graph that is not disturbed. */
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static uint8_t mem[4096];
static tw_capture_t cap;
static tw_probe_t probe;

/* r2 = limit; T = r1 > r2: two instructions and a return, see docs/SCRIPT_ISA.md */
static void open_chain(void)
{
    rig_chain_open(&ib);
    rig_open(&rig, 4096, 8192);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

static tw_capture_cfg_t request(void)
{
    return (tw_capture_cfg_t){
        .raw = TW_RAW_S16, .channels = 1, .samples = RIG_SAMPLES, .cause = TW_CAUSE_LEVEL, .pre = 8, .post = 8};
}

static void arm(const tw_capture_cfg_t *q, uint32_t arc)
{
    uint32_t missing;
    assert_int_equal(tw_capture_init(&cap, q, mem, sizeof mem, &missing), TW_OK);
    memset(&probe, 0, sizeof probe);
    probe.arc = arc;
    probe.capture = &cap;
    assert_int_equal(tw_engine_put_probe(rig.engine, 5, &probe), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
}

static void a_level_is_found_at_the_tick_and_sample_it_was_written(void **state)
{
    (void)state;
    open_chain();
    tw_capture_cfg_t q = request();
    q.low = 163.5f / 32768;
    arm(&q, 0);
    ticks(20); /* the input is a ramp: sample value = its number */
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_non_null(s);
    assert_int_equal(s->sample, 164);
    assert_int_equal(s->tick, 164 / RIG_SAMPLES);
    assert_int_equal(s->offset, 164 % RIG_SAMPLES);
    rig_close(&rig);
}

static void a_flow_error_fires_at_the_first_sample_that_was_made_up(void **state)
{
    (void)state;
    open_chain();
    tw_capture_cfg_t q = request();
    q.cause = TW_CAUSE_FLOW;
    arm(&q, 0);
    rig.next[0] = 1;
    rig.hole_from = 7;
    rig.hole_to = 8;
    ticks(12);
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_non_null(s);
    assert_int_equal(s->tick, 7);
    assert_int_equal(s->offset, 0);
    uint8_t out[32];
    assert_int_equal(tw_capture_copy(&cap, s, 0, 16, out), 32);
    assert_int_equal(tw_get_le16(out + 14), 7 * RIG_SAMPLES); /* the last true sample */
    assert_int_equal(tw_get_le16(out + 16), 0);               /* the hole */
    rig_close(&rig);
}

static void outputs_are_the_same_with_probes_on_every_arc(void **state)
{
    (void)state;
    static uint8_t plain[RIG_OUT_MAX];
    open_chain();
    ticks(50);
    memcpy(plain, rig.out[4], 50 * RIG_FRAME);
    rig_close(&rig);
    open_chain();
    tw_capture_cfg_t q = request();
    q.mode = TW_CAPTURE_REPEAT;
    q.points = TW_POINTS_MINMAX;
    q.every = 3;
    arm(&q, 1);
    ticks(50);
    assert_memory_equal(plain, rig.out[4], 50 * RIG_FRAME);
    rig_close(&rig);
}

static void a_detached_probe_is_fed_no_more_and_a_swap_forgets_it(void **state)
{
    (void)state;
    open_chain();
    tw_capture_cfg_t q = request();
    arm(&q, 1);
    ticks(3);
    const uint64_t seen = cap.sample;
    assert_int_equal(seen, 3 * RIG_SAMPLES);
    assert_int_equal(tw_engine_put_unprobe(rig.engine, 6, &probe), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(3);
    assert_int_equal(cap.sample, seen);
    arm(&q, 1);
    ticks(1);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    ticks(5);
    assert_int_equal(cap.sample, RIG_SAMPLES);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_is_found_at_the_tick_and_sample_it_was_written),
        cmocka_unit_test(a_flow_error_fires_at_the_first_sample_that_was_made_up),
        cmocka_unit_test(outputs_are_the_same_with_probes_on_every_arc),
        cmocka_unit_test(a_detached_probe_is_fed_no_more_and_a_swap_forgets_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
