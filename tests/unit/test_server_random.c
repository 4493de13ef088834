/* Three clients ask for graphs, transactions, probes and shadows in any order, sensible or not, and some vanish.
 * Every call is answered once, generations never go back, and when all have left nothing of them is left. */
#include "tests/support/random_graph.h"
#include "tests/unit/server_rig.h"

enum { CLIENTS = 3, RUNS = 40, STEPS = 260, CALLS = 4 };

static bench_t b;
static wire_client_t *w[CLIENTS];
static uint8_t img[3][32768];
static uint32_t img_bytes[3], seed, txn, generation;
static uint32_t owner, shadows[CLIENTS], probes[CLIENTS]; /* of the transaction; given last */
static struct {
    uint32_t id[CALLS], n;
} open_calls[CLIENTS];

static uint32_t dice(uint32_t n)
{
    return rg_below(&seed, n);
}

static void make_images(void)
{
    static const uint16_t add5[] = {0x4005, 0xC000};
    const rg_kind_t kind = {.nodes = 6, .sizes = 1, .least = 2};
    tw_ib_t *ib = bench_ib();
    img_bytes[0] = bench_image(img[0], sizeof img[0]);
    rig_chain_open(ib);
    (void)tw_ib_script(ib, add5, 2, 2, 1, 1);
    tw_ib_symbol(ib, TW_SYM_NODE, 1, "amp");
    img_bytes[1] = tw_ib_finish(ib, img[1], sizeof img[1]);
    img_bytes[2] = rg_make(ib, img[2], sizeof img[2], &kind, &seed);
}

static void note(uint32_t k, uint32_t id)
{
    open_calls[k].id[open_calls[k].n++] = id;
}

static void wait_all(uint32_t k)
{
    b.frozen = false;
    for (uint32_t i = 0; i < open_calls[k].n && !w[k]->closed; i++) {
        const uint32_t id = open_calls[k].id[i];
        if (wire_wait(w[k], id) == -1) { /* a commit for a tick that does not come waits for its deadline */
            bench_later(&b, 10000);
        }
        if (wire_wait(w[k], id) == -1 && !w[k]->closed) {
            fail_msg("client %u: call %u of method 0x%04x was never answered", k, id, w[k]->methods[id % 256]);
        }
        assert_true(w[k]->closed || w[k]->replies[id % 256].count == 1);
    }
    open_calls[k].n = 0;
}

static void make_room(uint32_t k)
{
    if (open_calls[k].n == CALLS) {
        wait_all(k);
    }
}

#define ASK(method, type, q) make_room(k), note(k, wire_send(w[k], TW_M_##method, PB(type), q))

static void ask_graph(uint32_t k)
{
    const tunewire_v1_GraphRef any = {.graph = dice(20) == 0};
    const tunewire_v1_GraphBack back = {.fade_ms = dice(3) == 0 ? dice(70000) : dice(12)};
    const tunewire_v1_GraphCtl ctl = {.op = (tunewire_v1_GraphCtl_Op)dice(6), .steps = dice(5)};
    switch (dice(7)) {
    case 0:
        if (dice(4) == 0) {
            ASK(Graph_Unload, GraphRef, &any);
        }
        break;
    case 1:
        ASK(Graph_Rollback, GraphBack, &back);
        break;
    case 2:
        ASK(Graph_Keep, GraphRef, &any);
        break;
    case 3:
        ASK(Graph_Control, GraphCtl, &ctl);
        break;
    default:
        ASK(Graph_Info, GraphRef, &any);
    }
}

static void ask_load(uint32_t k)
{
    static uint8_t spoilt[32768];
    const uint32_t i = dice(3);
    memcpy(spoilt, img[i], img_bytes[i]);
    if (dice(4) == 0) {
        spoilt[128 + dice(img_bytes[i] - 128)] ^= (uint8_t)(1u << dice(8));
        tw_image_fix(spoilt, img_bytes[i]);
    }
    wait_all(k);
    tunewire_v1_GraphLoad q = {.start = dice(4) != 0,
                               .replace = dice(8) != 0,
                               .fade_ms = dice(2) ? 0 : dice(20),
                               .carry = (tunewire_v1_GraphLoad_Carry)dice(4),
                               .confirm_ms = dice(3) == 0 ? 1 + dice(40) : 0};
    if (!w[k]->closed) {
        q.blob = wire_blob(w[k], spoilt, img_bytes[i]);
        ASK(Graph_Load, GraphLoad, &q);
    }
}

static void ask_txn(uint32_t k)
{
    const tunewire_v1_TxnBegin begin = {.at = (tunewire_v1_TxnBegin_At)dice(4),
                                        .tick = b.ticks + dice(30),
                                        .lease_ms = dice(3) == 0 ? 5 : 0,
                                        .confirm_ms = dice(2) ? dice(50) : 0};
    const tunewire_v1_TxnRef ref = {.txn = dice(4) != 0 ? txn : dice(txn + 2)};
    const tunewire_v1_ParamSet set = set_f32(dice(3), dice(3) != 0 ? GAIN_DB : dice(9), (float)dice(20) - 15);
    tunewire_v1_TxnRep rep;
    k = dice(8) != 0 ? owner : k;
    w[k]->deadline_ms = 5000; /* the graph may stand still before its tick comes */
    switch (dice(5)) {
    case 0:
        wait_all(k);
        if (wire_call(w[k], TW_M_Txn_Begin, PB(TxnBegin), &begin, PB(TxnRep), &rep) == 0) {
            txn = rep.txn;
            owner = k;
        }
        break;
    case 1:
        ASK(Txn_Commit, TxnRef, &ref);
        break;
    case 2:
        ASK(Txn_Rollback, TxnRef, &ref);
        break;
    case 3:
        ASK(Txn_Confirm, TxnRef, &ref);
        break;
    default:
        w[k]->txn = dice(3) != 0 ? txn : 0;
        ASK(Param_Set, ParamSet, &set);
        w[k]->txn = 0;
    }
}

static void ask_probe(uint32_t k)
{
    const tunewire_v1_ProbeReq arm = {.arc = dice(7),
                                      .trigger = (tunewire_v1_ProbeReq_Trigger)dice(7),
                                      .mode = (tunewire_v1_ProbeReq_Mode)dice(4),
                                      .edge = (tunewire_v1_ProbeReq_Edge)dice(4),
                                      .points = (tunewire_v1_ProbeReq_Points)dice(4),
                                      .channel = dice(8) == 0,
                                      .low = (float)dice(3) / 8,
                                      .high = 0.5f,
                                      .every = dice(5),
                                      .pre = dice(3) == 0 ? UINT32_MAX : dice(40),
                                      .post = dice(10) == 0 ? UINT32_MAX : dice(40),
                                      .auto_after = dice(100),
                                      .script = dice(2)};
    const tunewire_v1_ProbeRef ref = {.probe = dice(3) != 0 ? probes[k] : dice(20)};
    switch (dice(4)) {
    case 0:
        ASK(Probe_Disarm, ProbeRef, &ref);
        break;
    case 1:
        ASK(Probe_State, ProbeRef, &ref);
        break;
    case 2:
        ASK(Probe_Fire, ProbeRef, &ref);
        break;
    default:
        wait_all(k);
        if (wire_call(w[k], TW_M_Probe_Arm, PB(ProbeReq), &arm, NULL, NULL) == 0) {
            probes[k] = wire_last_stream(w[k]);
        }
    }
}

static void ask_shadow(uint32_t k)
{
    const tunewire_v1_ShadowReq start = {.node = dice(4), .skip = dice(3)};
    const tunewire_v1_ShadowRef ref = {
        .shadow = dice(4) != 0 ? shadows[k] : dice(12), .restart = dice(2) == 0, .expect_version = dice(6) == 0};
    tunewire_v1_ShadowSet set = {.shadow = dice(4) != 0 ? shadows[k] : dice(12),
                                 .index = dice(4) != 0 ? GAIN_DB : dice(9)};
    tunewire_v1_ShadowInfo info;
    set.value.size = 4;
    tw_put_f32(set.value.bytes, (float)dice(20) - 15);
    switch (dice(6)) {
    case 0:
        ASK(Shadow_Drop, ShadowRef, &ref);
        break;
    case 1:
        ASK(Shadow_Metrics, ShadowRef, &ref);
        break;
    case 2:
        ASK(Shadow_Promote, ShadowRef, &ref);
        break;
    case 3:
        ASK(Shadow_Set, ShadowSet, &set);
        break;
    default:
        wait_all(k);
        if (wire_call(w[k], TW_M_Shadow_Start, PB(ShadowReq), &start, PB(ShadowInfo), &info) == 0) {
            shadows[k] = info.shadow;
        }
    }
}

/* Gone with calls outstanding; sometimes it comes back to its session. */
static void vanish(uint32_t k)
{
    uint8_t token[16];
    memcpy(token, w[k]->hello.session.bytes, sizeof token);
    const uint32_t next_id = w[k]->next_id;
    const bool resume = dice(2) == 0;
    wire_break(w[k]);
    free(w[k]);
    open_calls[k].n = 0;
    w[k] = malloc(sizeof *w[k]);
    assert_true(wire_connect(w[k], &b.user, bench_turn, &b));
    if (!wire_hello(w[k], 1024, 4096, resume ? token : NULL)) {
        bench_later(&b, 2000);
        free(w[k]);
        w[k] = bench_client(&b);
    }
    w[k]->next_id += resume ? next_id : 0; /* a session that goes on knows the calls it had */
}

static void look(void)
{
    tw_engine_info_t info;
    tw_engine_info(b.rig.engine, &info);
    assert_true(info.generation >= generation);
    generation = info.generation;
    memset(b.rig.out_bytes, 0, sizeof b.rig.out_bytes);
}

static void anything(void)
{
    static void (*const all[])(uint32_t k) = {ask_graph, ask_load,  ask_txn,    ask_txn,   ask_txn,
                                              ask_probe, ask_probe, ask_shadow, ask_shadow};
    const uint32_t k = dice(CLIENTS);
    if (dice(40) == 0) {
        vanish(k);
    }
    if (dice(10) == 0) {
        bench_later(&b, dice(30));
    }
    b.rig.cycles_step = dice(15) == 0 ? 500000 : 0;
    b.frozen = dice(12) == 0;
    if (dice(12) == 0) { /* the engine is ahead of what the server has seen */
        for (uint32_t i = 0; i < 12; i++) {
            (void)tw_engine_tick(b.rig.engine);
        }
    }
    all[dice(TW_COUNT(all))](k);
    if (dice(2) != 0) {
        wire_pump(w[k]);
    }
    b.frozen = false;
    if (dice(3) == 0) {
        wait_all(k);
    }
    look();
}

static void nothing_is_left(void)
{
    for (uint32_t k = 0; k < CLIENTS; k++) {
        wait_all(k);
        bench_leave(w[k]);
    }
    for (unsigned i = 0; i < 20; i++) {
        bench_later(&b, 1000);
    }
    assert_int_equal(tw_engine_shadow_room(b.rig.engine), RIG_SHADOW_BYTES);
    tw_engine_guard_t g;
    tw_engine_guard(b.rig.engine, &g);
    assert_int_equal(g.armed, TW_WAITS_NOTHING);
    assert_false(tw_server_waiting(b.server));
    wire_client_t *last = bench_client(&b);
    const tunewire_v1_GraphCtl stop = {.op = tunewire_v1_GraphCtl_Op_STOP}; /* a fade may still run for a minute */
    (void)wire_call(last, TW_M_Graph_Control, PB(GraphCtl), &stop, NULL, NULL);
    bench_chain(last);
    assert_true(get_f32(last, AMP, GAIN_DB) == 0.0f);
    bench_leave(last);
}

static void three_clients_in_any_order_leave_a_server_that_works(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RUNS; r++) {
        seed = 4242 + r;
        generation = txn = owner = 0;
        memset(open_calls, 0, sizeof open_calls);
        make_images();
        bench_open(&b);
        for (uint32_t k = 0; k < CLIENTS; k++) {
            w[k] = bench_client(&b);
        }
        bench_chain(w[0]);
        for (uint32_t i = 0; i < STEPS; i++) {
            anything();
        }
        nothing_is_left();
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_clients_in_any_order_leave_a_server_that_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
