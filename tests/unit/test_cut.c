/* A link that breaks at any byte of a load, a swap or a transaction leaves the old graph running, to the bit.
 *
 * What a client sends is recorded once, with the turns of the device in between; then it is sent again to a fresh
 * device as far as byte k, for every k, and the connection is gone.
 */
#include "tests/unit/server_rig.h"

enum { TAPE = 1 << 16, BLOCKS_FIRST = 4, TURNS_AFTER = 150, TAIL = 8, GAIN_B = -20 };

static bench_t b;
static struct {
    uint8_t bytes[TAPE];
    uint32_t n;
    uint32_t turn_at[4096]; /* bytes sent before each turn */
    uint32_t turns;
    uint32_t done_at;  /* bytes after which the change is complete */
    uint32_t final_at; /* and after which it stays */
} tape;
static uint8_t img[2][32768];
static uint32_t img_bytes[2];
static uint8_t reference[RIG_OUT_MAX];
static bool recording;

static uint32_t build(uint8_t *to, uint32_t cap, float db)
{
    uint8_t value[4];
    tw_ib_t *ib = bench_ib();
    tw_put_f32(value, db);
    rig_chain_open(ib);
    tw_ib_symbol(ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(ib, TW_SYM_NODE, 1, "amp");
    tw_ib_node_params(ib, AMP, GAIN_DB, value, 4);
    return tw_ib_finish(ib, to, cap);
}

/* The device with graph A, a few blocks old. */
static void fresh(void)
{
    tw_fault_t fault;
    bench_open(&b);
    assert_int_equal(tw_server_boot_graph(b.server, img[0], img_bytes[0], &fault), TW_OK);
    for (unsigned i = 0; i < BLOCKS_FIRST; i++) {
        bench_turn(&b);
    }
}

/* ---- recording ---------------------------------------------------------------------- */

static void record_received(void *ctx, void *conn, const uint8_t *bytes, size_t n)
{
    assert_true(tape.n + n <= TAPE);
    memcpy(tape.bytes + tape.n, bytes, n);
    tape.n += (uint32_t)n;
    b.user.received(ctx, conn, bytes, n);
}

static void record_turn(void *ctx)
{
    if (recording) {
        assert_true(tape.turns < TW_COUNT(tape.turn_at));
        tape.turn_at[tape.turns++] = tape.n;
    }
    bench_turn(ctx);
}

static void call(wire_client_t *w, uint32_t method, const pb_msgdesc_t *fields, const void *q)
{
    assert_int_equal(wire_call(w, method, fields, q, NULL, NULL), 0);
}

static void script_load(wire_client_t *w)
{
    tunewire_v1_GraphLoad q = {.blob = wire_blob(w, img[1], img_bytes[1]), .start = true, .replace = true};
    call(w, TW_M_Graph_Load, PB(GraphLoad), &q);
    tape.done_at = tape.final_at = tape.n;
}

static void script_swap(wire_client_t *w)
{
    tunewire_v1_GraphLoad q = {.blob = wire_blob(w, img[1], img_bytes[1]),
                               .start = true,
                               .replace = true,
                               .fade_ms = 3,
                               .carry = tunewire_v1_GraphLoad_Carry_STATE,
                               .confirm_ms = 60000};
    call(w, TW_M_Graph_Load, PB(GraphLoad), &q);
    tape.done_at = tape.n;
    wire_pump_n(w, 5);
    const tunewire_v1_GraphRef keep = {0};
    call(w, TW_M_Graph_Keep, PB(GraphRef), &keep);
    tape.final_at = tape.n;
}

static void script_transaction(wire_client_t *w)
{
    const tunewire_v1_TxnBegin begin = {.confirm_ms = 60000};
    const tunewire_v1_PresetReq preset = {.node = 0, .preset = 2};
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, GAIN_B);
    tunewire_v1_TxnRep rep;
    assert_int_equal(wire_call(w, TW_M_Txn_Begin, PB(TxnBegin), &begin, PB(TxnRep), &rep), 0);
    const tunewire_v1_TxnRef ref = {.txn = rep.txn};
    w->txn = rep.txn;
    call(w, TW_M_Param_Set, PB(ParamSet), &set);
    call(w, TW_M_Param_Preset, PB(PresetReq), &preset);
    w->txn = 0;
    call(w, TW_M_Txn_Commit, PB(TxnRef), &ref);
    tape.done_at = tape.n;
    wire_pump_n(w, 5);
    call(w, TW_M_Txn_Confirm, PB(TxnRef), &ref);
    tape.final_at = tape.n;
}

typedef void script_fn(wire_client_t *w);

static void record(script_fn *script)
{
    memset(&tape, 0, sizeof tape);
    fresh();
    wire_client_t *w = malloc(sizeof *w);
    tw_phy_user_t user = b.user;
    user.received = record_received;
    recording = true;
    assert_true(wire_connect(w, &user, record_turn, &b));
    assert_true(wire_hello(w, 1024, 4096, NULL));
    script(w);
    recording = false;
    free(w);
    bench_close(&b);
}

/* ---- playing as far as a byte ------------------------------------------------------------- */

static void drain(void *conn)
{
    size_t n = 0;
    while (b.user.pending(b.user.ctx, conn, &n) != NULL && n != 0) {
        b.user.drained(b.user.ctx, conn, n);
    }
}

static void play(uint32_t cut)
{
    static uint8_t link[64]; /* somebody's handle of the connection: never looked into */
    void *conn = b.user.opened(b.user.ctx, (tw_phy_link_t *)(void *)link, "cut");
    assert_non_null(conn);
    uint32_t sent = 0, turn = 0;
    for (; turn < tape.turns && tape.turn_at[turn] < cut; turn++) {
        b.user.received(b.user.ctx, conn, tape.bytes + sent, tape.turn_at[turn] - sent);
        sent = tape.turn_at[turn];
        drain(conn);
        bench_turn(&b);
        drain(conn);
    }
    b.user.received(b.user.ctx, conn, tape.bytes + sent, cut - sent);
    drain(conn);
    b.user.closed(b.user.ctx, conn, TW_E_CLOSED);
}

static void next_client_works(bool load)
{
    tunewire_v1_GraphInfo info;
    wire_client_t *w = bench_client(&b);
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -3);
    assert_int_equal(param_set(w, &set, NULL), 0);
    assert_true(get_f32(w, AMP, GAIN_DB) == -3.0f);
    if (load) {
        assert_int_equal(bench_load(w, img[1], img_bytes[1], &info), 0);
        assert_true(get_f32(w, AMP, GAIN_DB) == (float)GAIN_B);
    }
    bench_leave(w);
}

static float gain(void)
{
    tw_engine_reply_t r;
    uint8_t v[4] = {0};
    assert_int_equal(tw_engine_put_read(b.rig.engine, 7, AMP, GAIN_DB), TW_OK);
    (void)tw_engine_publish(b.rig.engine);
    (void)tw_engine_tick(b.rig.engine);
    assert_true(rig_reply(&b.rig, 7, &r, v, sizeof v));
    return tw_get_f32(v);
}

/* Blocks that ran before the bytes of the change were all there. */
static uint32_t blocks_before(uint32_t byte)
{
    uint32_t turn = 0;
    while (turn < tape.turns && tape.turn_at[turn] < byte) {
        turn++;
    }
    return BLOCKS_FIRST + turn;
}

static void check_cut(uint32_t cut)
{
    fresh();
    play(cut);
    for (unsigned i = 0; i < TURNS_AFTER; i++) {
        bench_turn(&b);
    }
    const uint32_t bytes = b.rig.out_bytes[4], tail = TAIL * RIG_FRAME;
    const bool done = cut >= tape.done_at, stays = cut >= tape.final_at;
    const uint32_t same = done ? blocks_before(tape.done_at) * RIG_FRAME : bytes;
    if (memcmp(reference, b.rig.out[4], same) != 0) {
        fail_msg("cut at %u of %u: the output changed", cut, tape.n);
    }
    if (!stays && memcmp(reference + bytes - tail, b.rig.out[4] + bytes - tail, tail) != 0) {
        fail_msg("cut at %u of %u: the old graph is not back", cut, tape.n);
    }
    const float want = stays ? (float)GAIN_B : 0.0f;
    if (gain() < want || gain() > want) {
        fail_msg("cut at %u of %u: gain %g", cut, tape.n, (double)gain());
    }
    next_client_works(cut % 64 == 0);
    bench_close(&b);
}

static void every_cut_of(script_fn *script)
{
    record(script);
    for (uint32_t cut = 0; cut <= tape.n; cut++) {
        check_cut(cut);
    }
    print_message("%u cuts, complete from byte %u, for good from %u\n", tape.n + 1, tape.done_at, tape.final_at);
}

static void make_reference(void)
{
    fresh();
    while (b.rig.out_bytes[4] + RIG_FRAME <= RIG_OUT_MAX) {
        bench_turn(&b);
    }
    memcpy(reference, b.rig.out[4], sizeof reference);
    bench_close(&b);
}

static int setup(void **state)
{
    (void)state;
    img_bytes[0] = build(img[0], sizeof img[0], 0);
    img_bytes[1] = build(img[1], sizeof img[1], GAIN_B);
    make_reference();
    return 0;
}

static void a_load_cut_anywhere_is_no_load(void **state)
{
    (void)state;
    every_cut_of(script_load);
}

static void a_swap_cut_before_it_is_kept_is_taken_back(void **state)
{
    (void)state;
    every_cut_of(script_swap);
}

static void a_transaction_cut_before_it_is_confirmed_is_taken_back(void **state)
{
    (void)state;
    every_cut_of(script_transaction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_cut_anywhere_is_no_load),
        cmocka_unit_test(a_swap_cut_before_it_is_kept_is_taken_back),
        cmocka_unit_test(a_transaction_cut_before_it_is_confirmed_is_taken_back),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
