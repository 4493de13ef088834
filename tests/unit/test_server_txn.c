/* Transactions: all or nothing, one tick, whatever becomes of the client. */
#include "engine/base/crc.h"
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

static int begin(wire_client_t *c, const tunewire_v1_TxnBegin *q, tunewire_v1_TxnRep *rep)
{
    static const tunewire_v1_TxnBegin plain = tunewire_v1_TxnBegin_init_zero;
    const int code = wire_call(c, TW_M_Txn_Begin, PB(TxnBegin), q != NULL ? q : &plain, PB(TxnRep), rep);
    c->txn = code == 0 ? rep->txn : 0;
    return code;
}

static int end(wire_client_t *c, uint32_t method, tunewire_v1_TxnRep *rep)
{
    const tunewire_v1_TxnRef q = {.txn = c->txn};
    c->txn = 0;
    return wire_call(c, method, PB(TxnRef), &q, PB(TxnRep), rep);
}

static void what_is_staged_takes_effect_at_commit(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    tunewire_v1_ParamAck ack;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -5), p = {.node = AMP, .index = SLOPE, .value = {1, {3}}};
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(rep.generation, 1);
    assert_int_equal(param_set(w, &q, &ack), 0);
    assert_int_equal(ack.applied_tick, 0);
    assert_int_equal(param_set(w, &p, &ack), 0);
    const uint32_t txn = w->txn;
    w->txn = 0;
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    w->txn = txn;
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
    assert_int_equal(rep.ops, 2);
    assert_true(rep.applied_tick > 0);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
}

static void a_thousand_sets_are_one_tick(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    assert_int_equal(begin(w, NULL, &rep), 0);
    for (unsigned i = 0; i < 1000; i++) {
        const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -(float)(i % 90));
        assert_int_equal(param_set(w, &q, NULL), 0);
    }
    b.frozen = true; /* the whole group must fit the queue before the engine takes anything */
    const tunewire_v1_TxnRef ref = {.txn = w->txn};
    w->txn = 0;
    const uint32_t id = wire_send(w, TW_M_Txn_Commit, PB(TxnRef), &ref);
    assert_int_equal(wire_wait(w, id), 0);
    tw_engine_info_t info;
    tw_engine_info(b.rig.engine, &info);
    assert_int_equal(tw_rpc_decode(w->replies[id % 256].body, w->replies[id % 256].len, PB(TxnRep), &rep), TW_OK);
    assert_int_equal(rep.ops, 1000);
    assert_int_equal(rep.applied_tick, info.tick);
    b.frozen = false;
    assert_true(get_f32(w, AMP, GAIN_DB) == -(float)(999 % 90));
    tunewire_v1_ParamAck ack;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, 0);
    assert_int_equal(param_set(w, &q, &ack), 0);
    assert_int_equal(ack.version, 1002);
}

static void a_failing_third_set_fails_the_whole(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    assert_int_equal(begin(w, NULL, &rep), 0);
    static const float values[] = {-1, -2, 99, -4};
    for (size_t i = 0; i < TW_COUNT(values); i++) {
        const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, values[i]);
        assert_int_equal(param_set(w, &q, NULL), i == 2 ? tunewire_v1_Code_OUT_OF_RANGE : 0);
    }
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_ABORTED);
    assert_int_equal(wire_status(w)->where, 3);
    assert_non_null(strstr(wire_status(w)->text, "operation 3: "));
    assert_true(rep.has_first_error);
    assert_int_equal(rep.first_error.code, tunewire_v1_Code_OUT_OF_RANGE);
    assert_non_null(strstr(rep.first_error.text, "gain_db: 99 is outside -100..36 dB"));
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
}

/* The band-pass is stable at post_shift 0 and 1, but the second set of poles only at 0. */
static tunewire_v1_ParamSet biquad0(int16_t a1, int16_t a2)
{
    tunewire_v1_ParamSet q = {.node = 0, .index = 3, .value = {.size = 10}};
    tw_put_le16(q.value.bytes, 100);
    tw_put_le16(q.value.bytes + 6, (uint16_t)a1);
    tw_put_le16(q.value.bytes + 8, (uint16_t)a2);
    return q;
}

static void values_that_are_wrong_together_are_refused_at_commit(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const tunewire_v1_ParamSet gain = set_f32(AMP, GAIN_DB, -5);
    const tunewire_v1_ParamSet shift1 = {.node = 0, .index = 2, .value = {1, {1}}};
    const tunewire_v1_ParamSet shift0 = {.node = 0, .index = 2, .value = {1, {0}}};
    const tunewire_v1_ParamSet sharp = biquad0(0, -20000); /* pole radius 0.78, or 1.10 at post_shift 1 */
    const tunewire_v1_PresetReq low_pass = {.node = 0, .preset = 2};
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(param_set(w, &gain, NULL), 0);
    assert_int_equal(param_set(w, &sharp, NULL), 0);
    assert_int_equal(param_set(w, &shift1, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(wire_status(w)->where, 3);
    assert_int_equal(rep.first_error.where, 3);
    assert_non_null(strstr(rep.first_error.text, "eq"));
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f); /* nothing was applied */
    assert_int_equal(begin(w, NULL, &rep), 0);     /* a preset's values are known: post_shift 0 */
    assert_int_equal(wire_call(w, TW_M_Param_Preset, PB(PresetReq), &low_pass, NULL, NULL), 0);
    assert_int_equal(param_set(w, &sharp, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
    assert_int_equal(begin(w, NULL, &rep), 0); /* and what was committed counts for the next */
    assert_int_equal(param_set(w, &shift1, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(param_set(w, &shift1, NULL), 0);
    assert_int_equal(param_set(w, &shift0, NULL), 0); /* only the end of it is judged */
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
}

static void a_lone_value_is_judged_beside_the_others(void **state)
{
    (void)state;
    tunewire_v1_ParamSet shift1 = {.node = 0, .index = 2, .value = {1, {1}}};
    const tunewire_v1_ParamSet sharp = biquad0(0, -20000), mild = biquad0(0, -10000);
    const tunewire_v1_PresetReq low_pass = {.node = 0, .preset = 2}; /* post_shift 0 */
    tunewire_v1_ParamAck was, now;
    assert_int_equal(wire_call(w, TW_M_Param_Preset, PB(PresetReq), &low_pass, NULL, NULL), 0);
    assert_int_equal(param_set(w, &sharp, &was), 0);
    for (unsigned readback = 0; readback < 2; readback++) { /* and nothing is left of it */
        shift1.readback = readback != 0;
        assert_int_equal(param_set(w, &shift1, NULL), tunewire_v1_Code_OUT_OF_RANGE);
        assert_int_equal(wire_status(w)->detail, -TW_E_PARAM_UNSTABLE);
        assert_int_equal(wire_status(w)->where, 3);
        assert_non_null(strstr(wire_status(w)->text, "eq: parameter 3, together with its others"));
    }
    assert_int_equal(param_set(w, &mild, &now), 0);
    assert_int_equal(now.version, was.version + 1);
    assert_int_equal(param_set(w, &shift1, NULL), 0);
    assert_int_equal(param_set(w, &sharp, NULL), tunewire_v1_Code_OUT_OF_RANGE);
}

static int set_io(uint32_t io, uint32_t word, tunewire_v1_IoAck *ack)
{
    const tunewire_v1_IoSet q = {.io = io, .settings_count = 3, .settings = {word, word + 1, word + 2}};
    return wire_call(w, TW_M_Graph_SetIo, PB(IoSet), &q, ack != NULL ? PB(IoAck) : NULL, ack);
}

static tw_engine_io_t io_now(uint32_t io)
{
    tw_engine_io_t now;
    assert_int_equal(tw_engine_io(b.rig.engine, io, &now), TW_OK);
    return now;
}

static void settings_of_an_io_reach_its_driver_at_a_named_block(void **state)
{
    (void)state;
    tunewire_v1_IoAck ack;
    const tunewire_v1_IoSet two = {.settings_count = 2};
    assert_int_equal(set_io(1, 7, &ack), 0);
    assert_true(ack.applied_tick > 0);
    assert_int_equal(b.rig.settings[4][2], 9);
    assert_int_equal(io_now(1).settings[0], 7);
    assert_int_equal(io_now(1).hwid, 4);
    assert_true(io_now(1).tx);
    assert_int_equal(set_io(2, 7, NULL), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(wire_call(w, TW_M_Graph_SetIo, PB(IoSet), &two, NULL, NULL), tunewire_v1_Code_INVALID_ARGUMENT);
    b.rig.io_refuses = true; /* after all */
    assert_int_equal(set_io(1, 20, NULL), tunewire_v1_Code_UNIMPLEMENTED);
    b.rig.refuse_settings = TW_E_RANGE;
    assert_int_equal(set_io(1, 20, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(io_now(1).settings[0], 7);
    assert_int_equal(b.rig.sets, 1);
}

static void settings_of_ios_are_part_of_a_transaction(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const tunewire_v1_ParamSet gain = set_f32(AMP, GAIN_DB, -5);
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(param_set(w, &gain, NULL), 0);
    assert_int_equal(set_io(0, 3, NULL), 0);
    assert_int_equal(b.rig.sets, 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
    assert_int_equal(rep.ops, 2);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    assert_int_equal(io_now(0).settings[2], 5);
    b.rig.refuse_settings = TW_E_UNSUPPORTED; /* known before anything is staged, and all of it fails */
    const tunewire_v1_ParamSet more = set_f32(AMP, GAIN_DB, -9);
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(param_set(w, &more, NULL), 0);
    assert_int_equal(set_io(0, 4, NULL), tunewire_v1_Code_UNIMPLEMENTED);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_ABORTED);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    assert_int_equal(b.rig.sets, 1);
}

static void settings_nobody_confirms_go_back(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    tw_engine_info_t info;
    assert_int_equal(set_io(0, 3, NULL), 0);
    for (unsigned timed = 0; timed < 2; timed++) {
        tw_engine_info(b.rig.engine, &info);
        const tunewire_v1_TxnBegin q = {.confirm_ms = 500,
                                        .at = timed != 0 ? tunewire_v1_TxnBegin_At_TICK : tunewire_v1_TxnBegin_At_NOW,
                                        .tick = info.tick + 60};
        assert_int_equal(begin(w, &q, &rep), 0);
        assert_int_equal(set_io(0, 11, NULL), 0);
        assert_int_equal(set_io(0, 12, NULL), 0); /* the first old words are those that come back */
        assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
        wire_pump_n(w, 3);
        assert_int_equal(b.rig.settings[0][0], 12);
        bench_later(&b, 600);
        wire_pump_n(w, 3);
        assert_int_equal(b.rig.settings[0][0], 3);
        assert_int_equal(io_now(0).settings[2], 5);
    }
}

static void what_cannot_be_staged_is_refused(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    assert_int_equal(begin(w, NULL, &rep), 0);
    const uint32_t txn = w->txn;
    const tunewire_v1_GraphCtl ctl = {.op = tunewire_v1_GraphCtl_Op_STOP};
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &ctl, NULL, NULL),
                     tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_equal(wire_status(w)->detail, -TW_E_TXN_METHOD);
    w->txn = txn + 1;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -1);
    assert_int_equal(param_set(w, &q, NULL), tunewire_v1_Code_NOT_FOUND);
    w->txn = txn;
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0); /* neither was an operation of it */
    assert_int_equal(rep.ops, 0);
}

static void a_lease_that_runs_out_drops_everything(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const tunewire_v1_TxnBegin q = {.lease_ms = 100};
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    assert_int_equal(begin(w, &q, &rep), 0);
    for (unsigned i = 0; i < 3; i++) { /* each operation renews it */
        bench_later(&b, 80);
        assert_int_equal(param_set(w, &set, NULL), 0);
    }
    bench_later(&b, 120);
    assert_int_equal(param_set(w, &set, NULL), tunewire_v1_Code_DEADLINE_EXCEEDED);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_DEADLINE_EXCEEDED);
    assert_int_equal(wire_status(w)->detail, -TW_E_TXN_LEASE);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    assert_int_equal(begin(w, NULL, &rep), 0);
}

static void one_client_at_a_time(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    tunewire_v1_TxnRep rep;
    const tunewire_v1_TxnBegin q = {.lease_ms = 3000};
    assert_int_equal(begin(w, &q, &rep), 0);
    assert_int_equal(begin(other, NULL, &rep), tunewire_v1_Code_BUSY);
    const uint32_t left = wire_status(other)->detail;
    assert_true(left > 2900 && left <= 3000);
    other->txn = w->txn; /* the number alone opens nothing */
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    assert_int_equal(param_set(other, &set, NULL), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(end(other, TW_M_Txn_Commit, &rep), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(end(w, TW_M_Txn_Rollback, &rep), 0);
    assert_int_equal(begin(other, NULL, &rep), 0);
    wire_break(other); /* the connection is gone, so is its transaction, at once */
    assert_int_equal(begin(w, NULL, &rep), 0);
    bench_leave(other);
}

static void another_graph_aborts(void **state)
{
    (void)state;
    static uint8_t img[32768];
    const uint32_t n = bench_image(img, sizeof img);
    wire_client_t *other = bench_client(&b);
    tunewire_v1_TxnRep rep;
    tunewire_v1_GraphInfo info;
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(param_set(w, &set, NULL), 0);
    assert_int_equal(bench_load(other, img, n, &info), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_ABORTED);
    assert_int_equal(wire_status(w)->detail, -TW_E_GENERATION);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    const tunewire_v1_TxnBegin old = {.expect_generation = 1}, now = {.expect_generation = 2};
    assert_int_equal(begin(w, &old, &rep), tunewire_v1_Code_ABORTED);
    assert_int_equal(begin(w, &now, &rep), 0);
    bench_leave(other);
}

static void a_version_that_moved_on_aborts(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    tunewire_v1_TxnRep rep;
    tunewire_v1_ParamAck ack;
    tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    assert_int_equal(param_set(w, &set, &ack), 0);
    assert_int_equal(begin(w, NULL, &rep), 0);
    const tunewire_v1_ParamSet first = {.node = AMP, .index = SLOPE, .value = {1, {3}}};
    assert_int_equal(param_set(w, &first, NULL), 0);
    set.expect_version = ack.version;
    assert_int_equal(param_set(w, &set, NULL), 0);
    set.expect_version = 0;
    assert_int_equal(param_set(other, &set, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_ABORTED);
    assert_int_equal(wire_status(w)->detail, -TW_E_PARAM_VERSION);
    assert_int_equal(wire_status(w)->where, 2); /* which operation, and what it met */
    assert_non_null(strstr(wire_status(w)->text, "operation 2: "));
    assert_true(rep.has_first_error);
    assert_int_equal(rep.first_error.where, ack.version + 1);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    bench_leave(other);
}

static void a_value_comes_with_the_version_it_had(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    tunewire_v1_ParamAck ack;
    tunewire_v1_ParamValue v;
    const tunewire_v1_ParamGet get = {.node = AMP, .index = GAIN_DB};
    tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    b.frozen = true; /* both wait for the same boundary, the reading first */
    const uint32_t id = wire_send(w, TW_M_Param_Get, PB(ParamGet), &get);
    wire_pump_n(w, 3);
    assert_int_equal(param_set(other, &set, &ack), 0);
    b.frozen = false;
    assert_int_equal(wire_wait(w, id), 0);
    assert_int_equal(tw_rpc_decode(w->replies[id % 256].body, w->replies[id % 256].len, PB(ParamValue), &v), TW_OK);
    assert_true(tw_get_f32(v.value.bytes) == 0.0f);
    assert_int_equal(v.version, ack.version - 1);
    assert_true(v.version != 0); /* 0 in a request would mean: do not look */
    set.expect_version = v.version;
    assert_int_equal(param_set(w, &set, NULL), tunewire_v1_Code_ABORTED);
    bench_leave(other);
}

static void a_full_queue_keeps_the_transaction_for_another_try(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -5), other = set_f32(AMP, GAIN_DB, -1);
    assert_int_equal(begin(w, NULL, &rep), 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(param_set(w, &q, NULL), 0);
    }
    const tunewire_v1_TxnRef ref = {.txn = w->txn};
    w->txn = 0;
    b.frozen = true;
    while (param_set(w, &other, NULL) == 0) {}
    assert_int_equal(wire_status(w)->detail, -TW_E_QUEUE_FULL);
    assert_non_null(strstr(wire_status(w)->text, "next block"));
    assert_int_equal(wire_call(w, TW_M_Txn_Commit, PB(TxnRef), &ref, PB(TxnRep), &rep), tunewire_v1_Code_BUSY);
    assert_int_equal(wire_status(w)->detail, -TW_E_QUEUE_FULL);
    b.frozen = false;
    assert_true(get_f32(w, AMP, GAIN_DB) == -1.0f);
    assert_int_equal(wire_call(w, TW_M_Txn_Commit, PB(TxnRef), &ref, PB(TxnRep), &rep), 0);
    assert_int_equal(rep.ops, 100);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
}

static void a_value_on_its_way_holds_the_commit(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    assert_int_equal(begin(w, NULL, &rep), 0);
    const uint16_t stream = wire_open_stream(w, 0);
    tunewire_v1_ParamSet by_stream = {.node = AMP, .index = GAIN_DB, .stream = stream};
    const uint32_t set = wire_send(w, TW_M_Param_Set, PB(ParamSet), &by_stream);
    const tunewire_v1_ParamSet bad = set_f32(AMP, GAIN_DB, 99);
    uint8_t value[4];
    tw_put_f32(value, -5);
    const tunewire_v1_TxnRef ref = {.txn = w->txn};
    w->txn = 0;
    assert_int_equal(wire_call(w, TW_M_Txn_Commit, PB(TxnRef), &ref, PB(TxnRep), &rep),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(wire_status(w)->where, 1);
    assert_true(wire_data(w, stream, 0, value, sizeof value, TW_FF_FIN));
    assert_int_equal(wire_wait(w, set), 0);
    assert_int_equal(wire_call(w, TW_M_Txn_Commit, PB(TxnRef), &ref, PB(TxnRep), &rep), 0);
    assert_int_equal(rep.ops, 1);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);

    assert_int_equal(begin(w, NULL, &rep), 0); /* the earlier operation is the one to name, whenever it failed */
    by_stream.stream = wire_open_stream(w, 0);
    const uint32_t broken = wire_send(w, TW_M_Param_Set, PB(ParamSet), &by_stream);
    assert_int_equal(param_set(w, &bad, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    assert_true(wire_data(w, (uint16_t)by_stream.stream, 3, value, sizeof value, 0));
    assert_int_equal(wire_wait(w, broken), tunewire_v1_Code_DATA_LOSS);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_ABORTED);
    assert_int_equal(wire_status(w)->where, 1);
    assert_int_equal(rep.first_error.code, tunewire_v1_Code_DATA_LOSS);
}

static void a_named_tick_is_kept_or_refused(void **state)
{
    (void)state;
    tw_engine_info_t info;
    tw_engine_info(b.rig.engine, &info);
    tunewire_v1_TxnRep rep;
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -5);
    tunewire_v1_TxnBegin q = {.at = tunewire_v1_TxnBegin_At_TICK, .tick = info.tick + 50};
    assert_int_equal(begin(w, &q, &rep), 0);
    assert_int_equal(param_set(w, &set, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0); /* answered when it happened */
    assert_int_equal(rep.applied_tick, q.tick);
    assert_int_equal(rep.ops, 1);
    tw_engine_info(b.rig.engine, &info);
    assert_true(info.tick > q.tick);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);

    q.tick = 3;
    assert_int_equal(begin(w, &q, &rep), 0);
    assert_int_equal(param_set(w, &set, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_OUT_OF_RANGE);
    assert_non_null(strstr(wire_status(w)->text, "tick 3: the next is "));
    q.at = (tunewire_v1_TxnBegin_At)5;
    assert_int_equal(begin(w, &q, &rep), tunewire_v1_Code_INVALID_ARGUMENT);
}

/* A transaction with one set, committed for a tick that is `ahead` of now. @return the id of the commit */
static uint32_t commit_ahead(wire_client_t *c, uint32_t ahead, float gain_db)
{
    tw_engine_info_t info;
    tw_engine_info(b.rig.engine, &info);
    tunewire_v1_TxnRep rep;
    const tunewire_v1_TxnBegin q = {.at = tunewire_v1_TxnBegin_At_TICK, .tick = info.tick + ahead};
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, gain_db);
    assert_int_equal(begin(c, &q, &rep), 0);
    assert_int_equal(param_set(c, &set, NULL), 0);
    const tunewire_v1_TxnRef ref = {.txn = c->txn};
    c->txn = 0;
    const uint32_t id = wire_send(c, TW_M_Txn_Commit, PB(TxnRef), &ref);
    wire_pump_n(c, 3);
    return id;
}

static void a_commit_that_waits_for_its_tick_can_be_stopped(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    wire_client_t *other = bench_client(&b);

    uint32_t id = commit_ahead(w, 300, -5); /* cancelled */
    assert_int_equal(wire_reply(w, id) != NULL, 0);
    uint8_t which[4];
    tw_put_le32(which, id);
    assert_true(wire_raw(w, TW_FT_CANCEL, 0, 0, which, sizeof which));
    assert_int_equal(wire_wait(w, id), tunewire_v1_Code_CANCELLED);

    w->deadline_ms = 50; /* late */
    id = commit_ahead(w, 300, -6);
    w->deadline_ms = 0;
    bench_later(&b, 60);
    assert_int_equal(wire_wait(w, id), tunewire_v1_Code_DEADLINE_EXCEEDED);
    assert_non_null(strstr(wire_status(w)->text, "nothing was changed"));

    (void)commit_ahead(other, 300, -7); /* its client gone: rolled back at once */
    bench_leave(other);

    id = commit_ahead(w, 5, -8); /* so nobody is in the way */
    assert_int_equal(wire_wait(w, id), 0);
    assert_int_equal(tw_rpc_decode(w->replies[id % 256].body, w->replies[id % 256].len, PB(TxnRep), &rep), TW_OK);
    for (unsigned i = 0; i < 400; i++) {
        bench_turn(&b);
    }
    assert_true(get_f32(w, AMP, GAIN_DB) == -8.0f);
}

static void a_tick_nobody_will_see_is_refused(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    const tunewire_v1_TxnBegin q = {.at = tunewire_v1_TxnBegin_At_TICK, .tick = UINT64_MAX};
    assert_int_equal(begin(w, &q, &rep), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(begin(w, NULL, &rep), 0);
}

static void a_transaction_larger_than_its_room_fails_whole(void **state)
{
    (void)state;
    tunewire_v1_TxnRep rep;
    assert_int_equal(begin(w, NULL, &rep), 0);
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -9);
    unsigned staged = 0;
    while (param_set(w, &q, NULL) == 0) {
        staged++;
    }
    assert_true(staged > 2000);
    assert_int_equal(wire_status(w)->detail, -TW_E_TXN_FULL);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_ABORTED);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
}

static void presets_and_scripts_are_staged_too(void **state)
{
    (void)state;
    static uint8_t img[32768];
    tw_ib_t *ib = bench_ib();
    rig_chain_open(ib);
    tw_ib_script(ib, (const uint16_t[]){0xC000}, 1, 2, 0, 4); /* ret */
    tunewire_v1_GraphInfo info;
    assert_int_equal(bench_load(w, img, tw_ib_finish(ib, img, sizeof img), &info), 0);
    tunewire_v1_TxnRep rep;
    tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -9);
    assert_int_equal(param_set(w, &set, NULL), 0);
    assert_int_equal(begin(w, NULL, &rep), 0);
    const tunewire_v1_PresetReq preset = {.node = AMP, .preset = 0};
    assert_int_equal(wire_call(w, TW_M_Param_Preset, PB(PresetReq), &preset, NULL, NULL), 0);
    const tunewire_v1_ScriptLoad script = {.code = {4, {0xFF, 0x40, 0x00, 0xC0}}}; /* addk r0 -1, ret */
    tunewire_v1_ScriptInfo staged;
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &script, PB(ScriptInfo), &staged), 0);
    assert_int_equal(staged.size, 4);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
    assert_int_equal(rep.ops, 2);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    const tunewire_v1_ScriptRun run = {.args_count = 1, .args = {5}};
    tunewire_v1_ScriptResult r;
    assert_int_equal(wire_call(w, TW_M_Script_Run, PB(ScriptRun), &run, PB(ScriptResult), &r), 0);
    assert_int_equal(r.regs[0], 4);
}

/* Each is right beside what runs; together they would call one another for ever. */
static void scripts_of_one_transaction_cannot_close_a_circle(void **state)
{
    (void)state;
    static uint8_t img[32768];
    tw_ib_t *ib = bench_ib();
    rig_chain_open(ib);
    tw_ib_script(ib, (const uint16_t[]){0xC000}, 1, 2, 0, 4);
    tw_ib_script(ib, (const uint16_t[]){0xC000}, 1, 2, 0, 4);
    tunewire_v1_GraphInfo info;
    assert_int_equal(bench_load(w, img, tw_ib_finish(ib, img, sizeof img), &info), 0);
    tunewire_v1_TxnRep rep;
    assert_int_equal(begin(w, NULL, &rep), 0);
    const tunewire_v1_ScriptLoad first = {.index = 0, .code = {4, {0x41, 0x04, 0x00, 0xC0}}}; /* callscript 1, ret */
    const tunewire_v1_ScriptLoad second = {.index = 1, .code = {4, {0x40, 0x04, 0x00, 0xC0}}};
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &first, NULL, NULL), 0);
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &second, NULL, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_equal(wire_status(w)->detail, -TW_E_SCR_DEPTH);
    /* nothing of it stays: the other way round is right, and a new transaction may begin */
    assert_int_equal(begin(w, NULL, &rep), 0);
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &second, NULL, NULL), 0);
    assert_int_equal(end(w, TW_M_Txn_Commit, &rep), 0);
}

/* The same ticks with and without a guest who breaks off in the middle of everything. */
static uint32_t output_after(bool disturbed)
{
    bench_t d;
    static uint8_t img[32768];
    const uint32_t n = bench_image(img, sizeof img);
    bench_open(&d);
    tw_fault_t fault;
    assert_int_equal(tw_server_boot_graph(d.server, img, n, &fault), TW_OK);
    for (unsigned round = 0; d.ticks < 300; round++) {
        if (disturbed && round % 10 == 5 && d.ticks < 250) {
            d.frozen = true; /* what the guest does takes no ticks of its own */
            wire_client_t *c = bench_client(&d);
            tunewire_v1_TxnRep rep;
            const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -30);
            assert_int_equal(begin(c, NULL, &rep), 0);
            assert_int_equal(param_set(c, &set, NULL), 0);
            const tunewire_v1_BlobOpen open = {.size = 3000};
            c->txn = 0;
            tunewire_v1_BlobState st;
            assert_int_equal(wire_call(c, TW_M_Blob_Open, PB(BlobOpen), &open, PB(BlobState), &st), 0);
            assert_int_equal(tw_conn_open(&c->c, (uint16_t)st.stream, true), st.stream);
            assert_true(wire_data(c, (uint16_t)st.stream, 0, img, 700, 0));
            const tunewire_v1_SubReq sub = {.arc = 1};
            assert_int_equal(wire_call(c, TW_M_Arc_Subscribe, PB(SubReq), &sub, NULL, NULL), 0);
            bench_leave(c);
            d.frozen = false;
            d.rig.us += 2000000; /* not kept for resume */
        }
        bench_turn(&d);
    }
    assert_int_equal(d.rig.out_bytes[4], 300 * RIG_FRAME);
    const uint32_t crc = tw_crc32c(0, d.rig.out[4], d.rig.out_bytes[4]);
    bench_close(&d);
    return crc;
}

static void a_guest_who_vanishes_in_the_middle_is_not_heard(void **state)
{
    (void)state;
    assert_int_equal(output_after(true), output_after(false));
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_staged_takes_effect_at_commit),
        T(a_thousand_sets_are_one_tick),
        T(a_failing_third_set_fails_the_whole),
        T(values_that_are_wrong_together_are_refused_at_commit),
        T(a_lone_value_is_judged_beside_the_others),
        T(settings_of_an_io_reach_its_driver_at_a_named_block),
        T(settings_of_ios_are_part_of_a_transaction),
        T(settings_nobody_confirms_go_back),
        T(what_cannot_be_staged_is_refused),
        T(a_lease_that_runs_out_drops_everything),
        T(one_client_at_a_time),
        T(another_graph_aborts),
        T(a_version_that_moved_on_aborts),
        T(a_value_comes_with_the_version_it_had),
        T(a_full_queue_keeps_the_transaction_for_another_try),
        T(a_value_on_its_way_holds_the_commit),
        T(a_named_tick_is_kept_or_refused),
        T(a_commit_that_waits_for_its_tick_can_be_stopped),
        T(a_tick_nobody_will_see_is_refused),
        T(a_transaction_larger_than_its_room_fails_whole),
        T(presets_and_scripts_are_staged_too),
        T(scripts_of_one_transaction_cannot_close_a_circle),
        cmocka_unit_test(a_guest_who_vanishes_in_the_middle_is_not_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
