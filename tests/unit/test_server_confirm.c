/* Changes that wait to be confirmed, and graphs one can go back from: over the wire. */
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

static tunewire_v1_GraphInfo graph_info(wire_client_t *c)
{
    const tunewire_v1_GraphRef q = {0};
    tunewire_v1_GraphInfo info;
    assert_int_equal(wire_call(c, TW_M_Graph_Info, PB(GraphRef), &q, PB(GraphInfo), &info), 0);
    return info;
}

/* One transaction of a gain and a preset, to be confirmed within ms. */
static uint32_t commit(wire_client_t *c, float db, uint32_t ms, tunewire_v1_TxnRep *rep)
{
    const tunewire_v1_TxnBegin q = {.confirm_ms = ms};
    assert_int_equal(wire_call(c, TW_M_Txn_Begin, PB(TxnBegin), &q, PB(TxnRep), rep), 0);
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, db);
    const uint32_t id = c->txn = rep->txn;
    assert_int_equal(param_set(c, &set, NULL), 0);
    c->txn = 0;
    const tunewire_v1_TxnRef ref = {.txn = id};
    assert_int_equal(wire_call(c, TW_M_Txn_Commit, PB(TxnRef), &ref, PB(TxnRep), rep), 0);
    return id;
}

static int end(wire_client_t *c, uint32_t method, uint32_t id, tunewire_v1_TxnRep *rep)
{
    const tunewire_v1_TxnRef ref = {.txn = id};
    return wire_call(c, method, PB(TxnRef), &ref, PB(TxnRep), rep);
}

static void what_is_confirmed_stays(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const uint32_t id = commit(w, -5, 500, &rep);
    assert_int_equal(graph_info(w).confirm_txn, id);
    const tunewire_v1_TxnBegin q = {0};
    assert_int_equal(wire_call(w, TW_M_Txn_Begin, PB(TxnBegin), &q, PB(TxnRep), &rep),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(wire_status(w)->detail, -TW_E_UNCONFIRMED);
    wire_client_t *other = bench_client(&b); /* whoever looks after it */
    assert_int_equal(end(other, TW_M_Txn_Confirm, 0, &rep), 0);
    assert_int_equal(rep.txn, id);
    bench_leave(other);
    bench_later(&b, 1000);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    assert_int_equal(graph_info(w).confirm_ms, 0);
    assert_int_equal(end(w, TW_M_Txn_Confirm, id, &rep), tunewire_v1_Code_NOT_FOUND);
}

static void what_nobody_confirms_goes_back(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const uint32_t id = commit(w, -5, 500, &rep);
    bench_later(&b, 400);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    bench_later(&b, 200);
    wire_pump_n(w, 3);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    const tunewire_v1_GraphInfo info = graph_info(w);
    assert_int_equal(info.reverts, 1);
    assert_true(info.revert_tick > rep.applied_tick);
    assert_string_equal(info.revert_text, "nobody confirmed in time");
    assert_int_equal(end(w, TW_M_Txn_Confirm, id, &rep), tunewire_v1_Code_ABORTED);
    assert_int_equal(wire_status(w)->detail, -TW_E_REVERTED);
    assert_int_equal(bench_counter(w, "txn_reverted"), 1);
}

static void who_asks_for_the_old_values_hears_when(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const uint32_t id = commit(w, -5, 500, &rep);
    const uint64_t applied = rep.applied_tick;
    assert_int_equal(end(w, TW_M_Txn_Rollback, id, &rep), 0);
    assert_true(rep.applied_tick > applied);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
}

static void a_lost_connection_takes_it_back(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    wire_client_t *other = bench_client(&b);
    (void)commit(other, -5, 60000, &rep);
    bench_leave(other);
    wire_pump_n(w, 3);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    assert_string_equal(graph_info(w).revert_text, "the connection was lost");
}

static void a_named_tick_may_wait_to_be_confirmed(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const uint64_t at = graph_info(w).ticks + 60;
    const tunewire_v1_TxnBegin q = {.at = tunewire_v1_TxnBegin_At_TICK, .tick = at, .confirm_ms = 300};
    assert_int_equal(wire_call(w, TW_M_Txn_Begin, PB(TxnBegin), &q, PB(TxnRep), &rep), 0);
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -9);
    const uint32_t id = w->txn = rep.txn;
    assert_int_equal(param_set(w, &set, NULL), 0);
    w->txn = 0;
    assert_int_equal(end(w, TW_M_Txn_Commit, id, &rep), 0);
    assert_int_equal(rep.applied_tick, at);
    assert_true(get_f32(w, AMP, GAIN_DB) == -9.0f);
    bench_later(&b, 400);
    wire_pump_n(w, 3);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
}

static uint32_t loud_image(uint8_t *img, uint32_t cap, float db)
{
    uint8_t value[4];
    tw_ib_t *ib = bench_ib();
    tw_put_f32(value, db);
    rig_chain_open(ib);
    tw_ib_symbol(ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(ib, TW_SYM_NODE, 1, "amp");
    tw_ib_node_params(ib, AMP, GAIN_DB, value, 4);
    return tw_ib_finish(ib, img, cap);
}

static int load(wire_client_t *c, float db, tunewire_v1_GraphLoad q, tunewire_v1_GraphInfo *info)
{
    static uint8_t img[32768];
    q.blob = wire_blob(c, img, loud_image(img, sizeof img, db));
    q.start = q.replace = true;
    return wire_call(c, TW_M_Graph_Load, PB(GraphLoad), &q, PB(GraphInfo), info);
}

static void a_load_says_what_it_carries_and_how_it_fades(void **state)
{
    (void)state;
    tunewire_v1_GraphInfo info;
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    assert_int_equal(param_set(w, &set, NULL), 0);
    b.frozen = false;
    assert_int_equal(load(w, -20, (tunewire_v1_GraphLoad){.fade_ms = 1000, .carry = 2}, &info), 0);
    assert_true(info.fading);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    assert_int_equal(load(w, -20, (tunewire_v1_GraphLoad){0}, &info), tunewire_v1_Code_BUSY);
    const tunewire_v1_GraphBack back = {.fade_ms = 0};
    assert_int_equal(wire_call(w, TW_M_Graph_Rollback, PB(GraphBack), &back, PB(GraphInfo), &info), 0);
    assert_false(info.fading);
    assert_int_equal(info.generation, 3);
    assert_int_equal(load(w, -20, (tunewire_v1_GraphLoad){.carry = 7}, &info), tunewire_v1_Code_INVALID_ARGUMENT);
    const tunewire_v1_GraphRef keep = {0};
    assert_int_equal(wire_call(w, TW_M_Graph_Keep, PB(GraphRef), &keep, PB(GraphInfo), &info), 0);
    assert_false(info.can_roll_back);
    assert_int_equal(wire_call(w, TW_M_Graph_Rollback, PB(GraphBack), &back, PB(GraphInfo), &info),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(wire_status(w)->detail, -TW_E_NO_ROLLBACK);
}

static void an_unconfirmed_graph_goes_away_again(void **state)
{
    (void)state;
    static const char *const whys[] = {"nobody confirmed in time", "the connection was lost"};
    for (unsigned lost = 0; lost < 2; lost++) {
        tunewire_v1_GraphInfo info;
        wire_client_t *other = bench_client(&b);
        assert_int_equal(load(other, -20, (tunewire_v1_GraphLoad){.confirm_ms = 500}, &info), 0);
        assert_true(get_f32(other, AMP, GAIN_DB) == -20.0f);
        assert_int_equal(load(w, -30, (tunewire_v1_GraphLoad){0}, &info), tunewire_v1_Code_FAILED_PRECONDITION);
        if (lost) {
            bench_leave(other);
        } else {
            bench_later(&b, 600);
        }
        wire_pump_n(w, 4);
        assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
        info = graph_info(w);
        assert_string_equal(info.revert_text, whys[lost]);
        assert_int_equal(info.generation, 3 + 2 * lost);
        if (!lost) {
            bench_leave(other);
        }
    }
}

static void a_graph_that_is_kept_stays(void **state)
{
    (void)state;
    tunewire_v1_GraphInfo info;
    assert_int_equal(load(w, -20, (tunewire_v1_GraphLoad){.confirm_ms = 500}, &info), 0);
    assert_true(graph_info(w).confirm_ms > 0);
    const tunewire_v1_GraphRef keep = {0};
    assert_int_equal(wire_call(w, TW_M_Graph_Keep, PB(GraphRef), &keep, PB(GraphInfo), &info), 0);
    bench_later(&b, 1000);
    assert_true(get_f32(w, AMP, GAIN_DB) == -20.0f);
    assert_int_equal(graph_info(w).confirm_ms, 0);
}

/* The first graph of a device has nothing to go back to: there is nothing to confirm. */
static void subscriptions_outlive_a_rollback(void **state)
{
    (void)state;
    tunewire_v1_GraphInfo info;
    const tunewire_v1_SubReq sub = {.arc = 2, .mode = tunewire_v1_SubReq_Mode_RAW};
    assert_int_equal(wire_call(w, TW_M_Arc_Subscribe, PB(SubReq), &sub, NULL, NULL), 0);
    const uint32_t stream = wire_last_stream(w);
    wire_pump_n(w, 20);
    assert_int_equal(load(w, -20, (tunewire_v1_GraphLoad){.fade_ms = 5, .carry = 1}, &info), 0);
    wire_pump_n(w, 30);
    const tunewire_v1_GraphBack back = {.fade_ms = 3};
    assert_int_equal(wire_call(w, TW_M_Graph_Rollback, PB(GraphBack), &back, PB(GraphInfo), &info), 0);
    const uint32_t frames = wire_stream(w, stream)->frames;
    bench_later(&b, 50);
    wire_pump_n(w, 60);
    assert_true(wire_stream(w, stream)->frames > frames);
    assert_false(wire_stream(w, stream)->fin);
}

/* The engine went back by itself, the server has not looked yet, and a client arms a probe on what it hears of. */
static void a_probe_armed_right_after_the_engine_went_back_is_attached_once(void **state)
{
    (void)state;
    static uint8_t img[32768];
    const tunewire_v1_GraphRef any = {0};
    tunewire_v1_GraphLoad q = {.start = true, .replace = true, .confirm_ms = 60000};
    q.blob = wire_blob(w, img, bench_image(img, sizeof img));
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &q, NULL, NULL), 0);
    b.frozen = true;
    b.rig.cycles_step = 1000000;
    for (unsigned i = 0; i < 10; i++) {
        (void)tw_engine_tick(b.rig.engine);
    }
    b.rig.cycles_step = 0;
    const tunewire_v1_ProbeReq arm = {.arc = 1, .mode = tunewire_v1_ProbeReq_Mode_REPEAT, .post = 8};
    (void)wire_send(w, TW_M_Graph_Info, PB(GraphRef), &any);
    const uint32_t id = wire_send(w, TW_M_Probe_Arm, PB(ProbeReq), &arm);
    wire_pump_n(w, 3);
    b.frozen = false;
    assert_int_equal(wire_wait(w, id), 0); /* twice on one list, the engine would go round for ever */
    wire_pump_n(w, 20);
    assert_int_equal(graph_info(w).reverts, 1);
    const wire_stream_t *s = wire_stream(w, wire_reply(w, id)->stream);
    assert_non_null(s);
    assert_true(s->frames > 0);
    const tunewire_v1_ProbeRef ref = {.probe = s->id};
    assert_int_equal(wire_call(w, TW_M_Probe_Disarm, PB(ProbeRef), &ref, NULL, NULL), 0);
}

static void a_commit_refused_at_its_tick_leaves_what_waits_since(void **state)
{
    (void)state;
    static uint8_t img[32768];
    tunewire_v1_TxnRep rep;
    const tunewire_v1_GraphRef any = {0};
    const tunewire_v1_TxnBegin q = {
        .at = tunewire_v1_TxnBegin_At_TICK, .tick = graph_info(w).ticks + 120, .confirm_ms = 300};
    wire_client_t *other = bench_client(&b);
    assert_int_equal(wire_call(other, TW_M_Txn_Begin, PB(TxnBegin), &q, PB(TxnRep), &rep), 0);
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    other->txn = rep.txn;
    assert_int_equal(param_set(other, &set, NULL), 0);
    other->txn = 0;
    const tunewire_v1_TxnRef ref = {.txn = rep.txn};
    const uint32_t waits = wire_send(other, TW_M_Txn_Commit, PB(TxnRef), &ref);
    wire_pump(other);
    assert_int_equal(wire_call(w, TW_M_Graph_Unload, PB(GraphRef), &any, NULL, NULL), 0);
    bench_chain(w);
    tunewire_v1_GraphLoad load = {.start = true, .replace = true, .confirm_ms = 500};
    load.blob = wire_blob(w, img, bench_image(img, sizeof img));
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &load, NULL, NULL), 0);
    assert_int_not_equal(graph_info(w).confirm_ms, 0);
    assert_int_not_equal(wire_wait(other, waits), 0);
    assert_int_not_equal(graph_info(w).confirm_ms, 0);
    bench_later(&b, 600);
    wire_pump_n(w, 4);
    assert_string_equal(graph_info(w).revert_text, "nobody confirmed in time");
    bench_leave(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_confirmed_stays),
        TEST(what_nobody_confirms_goes_back),
        TEST(who_asks_for_the_old_values_hears_when),
        TEST(a_lost_connection_takes_it_back),
        TEST(a_named_tick_may_wait_to_be_confirmed),
        TEST(a_load_says_what_it_carries_and_how_it_fades),
        TEST(an_unconfirmed_graph_goes_away_again),
        TEST(a_graph_that_is_kept_stays),
        TEST(subscriptions_outlive_a_rollback),
        TEST(a_probe_armed_right_after_the_engine_went_back_is_attached_once),
        TEST(a_commit_refused_at_its_tick_leaves_what_waits_since),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
