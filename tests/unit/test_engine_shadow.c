/* Shadows: a double that is equal at first and measured when it is not; the graph hears none of it; a bounded pool. */
#include "tests/support/engine_rig.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { AMP = 1, SLOPE = 1, GAIN_DB = 6 };
static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;

static void open_chain(void)
{
    static const uint8_t at_once[1] = {0};
    rig_chain_open(&ib);
    tw_ib_node_params(&ib, AMP, SLOPE, at_once, 1);
    rig_open(&rig, 1 << 13, 1 << 13);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
}

static uint32_t start(uint32_t node)
{
    uint32_t shadow, bytes;
    tw_engine_reply_t x;
    assert_int_equal(tw_engine_put_shadow(rig.engine, 9, node, 0, &shadow, &bytes), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_true(rig_reply(&rig, 9, &x, NULL, 0));
    assert_int_equal(x.err, TW_OK);
    return shadow;
}

static tw_shadow_sums_t sums(uint32_t shadow, bool restart)
{
    tw_shadow_sums_t m;
    tw_engine_reply_t x;
    assert_int_equal(tw_engine_put_shadow_read(rig.engine, 8, shadow, restart), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_true(rig_reply(&rig, 8, &x, (uint8_t *)&m, sizeof m));
    assert_int_equal(x.err, TW_OK);
    return m;
}

static void gain(uint32_t shadow, float db)
{
    uint8_t v[4];
    tw_put_f32(v, db);
    assert_int_equal(shadow == UINT32_MAX ? tw_engine_put_param(rig.engine, 0, AMP, GAIN_DB, v, 4)
                                          : tw_engine_put_shadow_param(rig.engine, 0, shadow, GAIN_DB, v, 4),
                     TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void a_shadow_with_the_same_parameters_is_equal_from_its_first_sample(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < 2; node++) {
        open_chain();
        gain(UINT32_MAX, -3);
        ticks(7);
        const uint32_t shadow = start(node);
        ticks(20);
        const tw_shadow_sums_t m = sums(shadow, false);
        assert_int_equal(m.samples, 21 * RIG_SAMPLES);
        assert_int_equal(m.runs, 21);
        assert_int_equal(m.unequal, 0);
        assert_int_equal(m.errors, 0);
        assert_true(m.diff2 == 0 && m.diff_max == 0 && m.node2 > 0);
        assert_true(fabs(tw_shadow_correlation(&m) - 1) < 1e-5);
        rig_close(&rig);
    }
}

static void a_candidate_is_measured_against_what_runs(void **state)
{
    (void)state;
    open_chain();
    ticks(5);
    const uint32_t shadow = start(AMP);
    gain(shadow, -6.0206f);
    ticks(3);
    (void)sums(shadow, true);
    ticks(30);
    const tw_shadow_sums_t m = sums(shadow, false);
    assert_int_equal(m.samples, 31 * RIG_SAMPLES);
    assert_true(fabs(sqrt(m.diff2 / m.node2) - 0.5) < 0.01);
    assert_true(fabs(sqrt(m.shadow2 / m.node2) - 0.5) < 0.01);
    assert_true(fabs(m.diff_max - m.node_peak / 2) < 1e-3);
    assert_true(tw_shadow_correlation(&m) > 0.9999);
    rig_close(&rig);
}

static void outputs_are_bit_identical_with_and_without_shadows(void **state)
{
    (void)state;
    static uint8_t plain[RIG_OUT_MAX];
    for (unsigned with = 0; with < 2; with++) {
        open_chain();
        uint32_t shadow = UINT32_MAX;
        for (unsigned i = 0; i < 100; i++) {
            if (with && i == 10) {
                (void)start(0);
                shadow = start(AMP);
                i += 2;
            }
            if (with && i == 20) {
                gain(shadow, -20);
            }
            if (i == 30) {
                gain(UINT32_MAX, -1);
            }
            if (with && i == 60) {
                assert_int_equal(tw_engine_put_shadow_drop(rig.engine, 0, shadow), TW_OK);
                (void)tw_engine_publish(rig.engine);
            }
            ticks(1);
        }
        if (with) {
            assert_memory_equal(plain, rig.out[4], 100 * RIG_FRAME);
        } else {
            memcpy(plain, rig.out[4], sizeof plain);
        }
        rig_close(&rig);
    }
}

static void the_pool_is_bounded_and_says_by_how_much(void **state)
{
    (void)state;
    uint32_t shadow[TW_MAX_SHADOWS + 1], bytes, n = 0;
    tw_err_t err;
    open_chain();
    ticks(1);
    const uint32_t all = tw_engine_shadow_room(rig.engine);
    assert_int_equal(all, RIG_SHADOW_BYTES);
    while ((err = tw_engine_put_shadow(rig.engine, 0, 0, 0, &shadow[n], &bytes)) == TW_OK) {
        (void)tw_engine_publish(rig.engine);
        ticks(1);
        n++;
        assert_true(n <= TW_MAX_SHADOWS);
    }
    assert_true(err == TW_E_SHADOW_NONE || (err == TW_E_NOMEM && bytes > 0));
    assert_true(n >= 1);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(tw_engine_put_shadow_drop(rig.engine, 0, shadow[i]), TW_OK);
    }
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_int_equal(tw_engine_shadow_room(rig.engine), all);
    assert_int_equal(tw_engine_put_shadow_drop(rig.engine, 0, shadow[0]), TW_E_SHADOW_NONE);
    assert_int_equal(tw_engine_put_shadow(rig.engine, 0, 77, 0, shadow, &bytes), TW_E_PARAM_NODE);
    rig_close(&rig);
}

static void a_swap_ends_the_shadows_of_the_graph_that_left(void **state)
{
    (void)state;
    open_chain();
    ticks(2);
    const uint32_t shadow = start(0);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    ticks(2);
    assert_int_equal(tw_engine_shadow_room(rig.engine), RIG_SHADOW_BYTES);
    assert_int_equal(tw_engine_put_shadow_read(rig.engine, 1, shadow, false), TW_E_SHADOW_NONE);
    (void)start(AMP);
    rig_close(&rig);
}

static void a_shadow_is_dropped_once(void **state)
{
    (void)state;
    open_chain();
    const uint32_t shadow = start(AMP);
    assert_int_equal(tw_engine_put_shadow_drop(rig.engine, 0, shadow), TW_OK);
    assert_int_equal(tw_engine_put_shadow_drop(rig.engine, 0, shadow), TW_E_SHADOW_NONE);
    assert_int_equal(tw_engine_put_shadow_read(rig.engine, 8, shadow, false), TW_E_SHADOW_NONE);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_int_equal(tw_engine_shadow_room(rig.engine), RIG_SHADOW_BYTES);
    assert_int_equal(start(AMP), shadow);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shadow_is_dropped_once),
        cmocka_unit_test(a_shadow_with_the_same_parameters_is_equal_from_its_first_sample),
        cmocka_unit_test(a_candidate_is_measured_against_what_runs),
        cmocka_unit_test(outputs_are_bit_identical_with_and_without_shadows),
        cmocka_unit_test(the_pool_is_bounded_and_says_by_how_much),
        cmocka_unit_test(a_swap_ends_the_shadows_of_the_graph_that_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
