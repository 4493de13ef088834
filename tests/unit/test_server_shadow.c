/* Shadows over the wire: begun, set, measured, promoted or dropped; whose they are, and what ends them. */
#include "tests/unit/server_rig.h"

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

static tunewire_v1_ShadowInfo start(wire_client_t *c, uint32_t node, int want)
{
    const tunewire_v1_ShadowReq q = {.node = node};
    tunewire_v1_ShadowInfo info = tunewire_v1_ShadowInfo_init_zero;
    assert_int_equal(wire_call(c, TW_M_Shadow_Start, PB(ShadowReq), &q, PB(ShadowInfo), &info), want);
    return info;
}

static int set_gain(wire_client_t *c, uint32_t shadow, float db)
{
    tunewire_v1_ShadowSet q = tunewire_v1_ShadowSet_init_zero;
    q.shadow = shadow;
    q.index = GAIN_DB;
    q.value.size = 4;
    tw_put_f32(q.value.bytes, db);
    return wire_call(c, TW_M_Shadow_Set, PB(ShadowSet), &q, NULL, NULL);
}

static int refer(wire_client_t *c, uint32_t method, uint32_t shadow, uint32_t version)
{
    const tunewire_v1_ShadowRef q = {.shadow = shadow, .expect_version = version};
    return wire_call(c, method, PB(ShadowRef), &q, NULL, NULL);
}

static tunewire_v1_ShadowMetrics metrics(wire_client_t *c, uint32_t shadow)
{
    const tunewire_v1_ShadowRef q = {.shadow = shadow};
    tunewire_v1_ShadowMetrics m = tunewire_v1_ShadowMetrics_init_zero;
    assert_int_equal(wire_call(c, TW_M_Shadow_Metrics, PB(ShadowRef), &q, PB(ShadowMetrics), &m), 0);
    return m;
}

static void a_candidate_is_measured_and_promoted_at_once(void **state)
{
    (void)state;
    const tunewire_v1_ShadowInfo info = start(w, AMP, 0);
    assert_true(info.bytes > 0 && info.free + info.bytes <= RIG_SHADOW_BYTES);
    wire_pump_n(w, 20);
    assert_true(metrics(w, info.shadow).diff_rms <= 0);
    assert_int_equal(set_gain(w, info.shadow, -20), 0);
    assert_int_equal(set_gain(w, info.shadow, -6), 0);
    wire_pump_n(w, 60);
    const tunewire_v1_ShadowMetrics m = metrics(w, info.shadow);
    assert_true(m.samples > 500 && m.diff_rms > 0 && m.unequal == 0);
    assert_true(get_f32(w, AMP, GAIN_DB) > -1.0f);
    assert_int_equal(refer(w, TW_M_Shadow_Promote, info.shadow, info.version), 0);
    assert_true(get_f32(w, AMP, GAIN_DB) < -5.5f && get_f32(w, AMP, GAIN_DB) > -6.5f);
    assert_int_equal(refer(w, TW_M_Shadow_Drop, info.shadow, 0), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(start(w, AMP, 0).bytes, info.bytes);
}

static void a_node_that_was_changed_meanwhile_is_not_promoted(void **state)
{
    (void)state;
    const tunewire_v1_ShadowInfo info = start(w, AMP, 0);
    assert_int_equal(set_gain(w, info.shadow, -6), 0);
    const tunewire_v1_ParamSet other = set_f32(AMP, GAIN_DB, -3);
    assert_int_equal(param_set(w, &other, NULL), 0);
    assert_int_equal(refer(w, TW_M_Shadow_Promote, info.shadow, info.version), tunewire_v1_Code_ABORTED);
    assert_true(get_f32(w, AMP, GAIN_DB) > -3.5f);
    assert_int_equal(refer(w, TW_M_Shadow_Promote, info.shadow, 0), 0);
}

static void values_the_node_would_refuse_are_refused(void **state)
{
    (void)state;
    const tunewire_v1_ShadowInfo info = start(w, AMP, 0);
    assert_int_equal(set_gain(w, info.shadow, 1e9f), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(set_gain(w, info.shadow + 1, 0), tunewire_v1_Code_NOT_FOUND);
    (void)start(w, 99, tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(refer(w, TW_M_Shadow_Drop, info.shadow, 0), 0);
}

/* Poles at a radius of 0.78, or of 1.10 at post_shift 1: each value is fine alone. */
static void values_that_are_wrong_together_are_not_promoted(void **state)
{
    (void)state;
    const tunewire_v1_ShadowInfo info = start(w, 0, 0);
    tunewire_v1_ShadowSet sharp = {.shadow = info.shadow, .index = 3, .value = {.size = 10}};
    tw_put_le16(sharp.value.bytes, 100);
    tw_put_le16(sharp.value.bytes + 8, (uint16_t)-20000);
    const tunewire_v1_ShadowSet shift = {.shadow = info.shadow, .index = 2, .value = {1, {1}}};
    const tunewire_v1_ShadowSet back = {.shadow = info.shadow, .index = 2, .value = {1, {0}}};
    assert_int_equal(wire_call(w, TW_M_Shadow_Set, PB(ShadowSet), &sharp, NULL, NULL), 0);
    assert_int_equal(wire_call(w, TW_M_Shadow_Set, PB(ShadowSet), &shift, NULL, NULL), 0);
    assert_int_equal(refer(w, TW_M_Shadow_Promote, info.shadow, 0), tunewire_v1_Code_OUT_OF_RANGE);
    assert_non_null(strstr(wire_status(w)->text, "together"));
    assert_int_equal(wire_call(w, TW_M_Shadow_Set, PB(ShadowSet), &back, NULL, NULL), 0); /* it is still there */
    assert_int_equal(refer(w, TW_M_Shadow_Promote, info.shadow, 0), 0);
}

static void a_pool_that_is_full_says_what_is_missing(void **state)
{
    (void)state;
    const tunewire_v1_ShadowReq q = {.node = 0};
    int code = 0;
    unsigned n = 0;
    while (code == 0) {
        code = wire_call(w, TW_M_Shadow_Start, PB(ShadowReq), &q, NULL, NULL);
        assert_true(n++ <= TW_MAX_SHADOWS);
    }
    assert_true(code == tunewire_v1_Code_BUSY ||
                (code == tunewire_v1_Code_RESOURCE_EXHAUSTED && wire_status(w)->where > 0));
}

static void shadows_end_with_their_session_and_their_graph(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    const tunewire_v1_ShadowInfo info = start(other, AMP, 0);
    assert_true(metrics(w, info.shadow).runs >= 1); /* anybody may look */
    assert_int_equal(refer(w, TW_M_Shadow_Drop, info.shadow, 0), tunewire_v1_Code_NOT_FOUND);
    bench_leave(other);
    bench_later(&b, 1100);
    bench_later(&b, 1);
    const tunewire_v1_ShadowRef q = {.shadow = info.shadow};
    assert_int_equal(wire_call(w, TW_M_Shadow_Metrics, PB(ShadowRef), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    const tunewire_v1_ShadowInfo mine = start(w, AMP, 0);
    bench_chain(w);
    assert_int_equal(set_gain(w, mine.shadow, -6), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(start(w, AMP, 0).bytes, info.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_BENCH(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
        WITH_BENCH(a_candidate_is_measured_and_promoted_at_once),
        WITH_BENCH(a_node_that_was_changed_meanwhile_is_not_promoted),
        WITH_BENCH(values_the_node_would_refuse_are_refused),
        WITH_BENCH(values_that_are_wrong_together_are_not_promoted),
        WITH_BENCH(a_pool_that_is_full_says_what_is_missing),
        WITH_BENCH(shadows_end_with_their_session_and_their_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
