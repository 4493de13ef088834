/* Memory made ready for each call: brought to a bank that nodes share and taken back, cleared, protected.
 *
 * The fast bank is filled with rubbish between calls wherever that is possible: whoever counts on it is found out.
 */
#include "engine/graph/graph_carry.h"
#include "engine/graph/graph_priv.h"
#include "engine/graph/graph_shadow.h"
#include "engine/graph/graph_state.h"
#include "tests/support/engine_rig.h"
#include "tests/support/random_graph.h"
#include "tests/support/state_graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROOM = 1 << 19, RUBBISH = 0xA5 };

typedef struct side {
    rig_t rig;
    tw_graph_t g;
    uint64_t *memory;
    tw_arena_t arena;
    uint8_t img[32768];
} side_t;

static tw_ib_t ib;
static uint8_t img[32768];
static side_t plain, swapped;

static uint64_t now_us(void *ctx)
{
    (void)ctx;
    return 0;
}

static uint32_t cycles(void *ctx)
{
    (void)ctx;
    return 0;
}

static void load_on(side_t *s, const tw_board_t *board, const tw_board_t *kept)
{
    tw_fault_t fault = {0};
    memcpy(s->img, img, sizeof img);
    s->memory = calloc(ROOM / 8, 8);
    s->arena = (tw_arena_t){.base = (uint8_t *)s->memory, .size = ROOM};
    const tw_graph_env_t env = {.port = &s->rig.port, .board = board, .kept = kept};
    tw_err_t err = tw_graph_check(s->img, tw_img_word(img, 0, TW_W_TOTAL), board, &s->arena, &fault);
    err = err == TW_OK ? tw_graph_load(&s->g, s->img, &env, &s->arena, &fault) : err;
    if (err != TW_OK) {
        fail_msg("%s, section %u, at %u", tw_err_name(err), fault.section, fault.at);
    }
}

static void load(side_t *s)
{
    memset(s, 0, sizeof *s);
    rig_board(&s->rig);
    s->rig.port = (tw_port_t){NULL, now_us, cycles, 1};
    load_on(s, &s->rig.board, NULL);
}

static void unload(side_t *s)
{
    free(s->memory);
    s->memory = NULL;
}

/* All of the bank that is shared. */
static void spoil(side_t *s)
{
    const uint32_t bank = tw_image_section(s->img, TW_SEC_BANKS);
    memset(s->g.banks[0] + tw_img_word(s->img, bank, 1), RUBBISH, tw_img_word(s->img, bank, 2));
}

static void expect_same(const char *why)
{
    for (uint32_t i = 0; i < RIG_IOS; i++) {
        if (plain.rig.out_bytes[i] != swapped.rig.out_bytes[i] ||
            memcmp(plain.rig.out[i], swapped.rig.out[i], plain.rig.out_bytes[i]) != 0) {
            fail_msg("%s: output %u differs", why, i);
        }
    }
}

/* ---- swapped nodes sound the same ----------------------------------------------------------------------- */

static void make_pair(const rg_kind_t *kind, uint32_t seed)
{
    rg_kind_t k = *kind;
    uint32_t again = seed;
    (void)rg_make(&ib, img, sizeof img, &k, &seed);
    load(&plain);
    k.swap = TW_NB_IN_OUT;
    (void)rg_make(&ib, img, sizeof img, &k, &again);
    load(&swapped);
}

static void swapped_graphs_put_out_what_others_do(void **state)
{
    (void)state;
    enum { GRAPHS = 60, BLOCKS = 60 };
    uint32_t staged = 0;
    for (uint32_t seed = 1; seed <= GRAPHS; seed++) {
        const rg_kind_t kind = {.nodes = 20, .sizes = 1 + seed % RG_SIZES, .hqos = seed % 3 == 0, .scripts = true};
        make_pair(&kind, seed);
        for (uint32_t t = 0; t < BLOCKS; t++) {
            if (t == BLOCKS / 2) {
                tw_graph_reset(&plain.g, seed % 2 == 0);
                tw_graph_reset(&swapped.g, seed % 2 == 0);
            }
            tw_graph_block(&plain.g, t);
            spoil(&swapped);
            tw_graph_block(&swapped.g, t);
        }
        expect_same("swapped");
        for (uint32_t i = 0; i < swapped.g.n_nodes; i++) {
            staged += swapped.g.nodes[i].stage != NULL;
        }
        unload(&plain);
        unload(&swapped);
    }
    assert_true(staged > GRAPHS);
}

/* IO 0 -> filter -> amplifier -> filter -> IO 4, each with its memory brought to the same place. */
static void three(uint32_t swap)
{
    tw_ib_init(&ib);
    ib.swap = swap;
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, 16, 16000.0f);
    uint16_t arc[4];
    for (uint32_t i = 0; i < 4; i++) {
        arc[i] =
            (uint16_t)tw_ib_arc(&ib, i == 0 ? TW_IB_IO : i - 1, i == 0 ? 0 : 1, i == 3 ? TW_IB_IO : i, 0, f, f, 32);
    }
    tw_ib_io(&ib, 0, false, arc[0], f);
    tw_ib_io(&ib, 4, true, arc[3], f);
    for (uint32_t i = 0; i < 3; i++) {
        tw_ib_node(&ib, rig_type(i == 1 ? "ARM/arm_stream_amplifier" : "ARM/arm_stream_filter"), 1, 1, arc + i);
        tw_ib_symbol(&ib, TW_SYM_NODE, i, (const char *[]){"in", "gain", "out"}[i]);
    }
    assert_true(tw_ib_finish(&ib, img, sizeof img) != 0);
}

static void load_three(void)
{
    three(TW_NB_STAYS);
    load(&plain);
    three(TW_NB_IN_OUT);
    load(&swapped);
    for (uint32_t i = 0; i < 3; i++) {
        assert_non_null(swapped.g.nodes[i].stage);
        assert_null(plain.g.nodes[i].stage);
    }
    assert_ptr_equal(swapped.g.nodes[0].inst, swapped.g.nodes[1].inst); /* they share the place */
}

static void run_both(uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        tw_graph_block(&plain.g, t);
        spoil(&swapped);
        tw_graph_block(&swapped.g, t);
        spoil(&swapped);
    }
}

static void parameters_are_set_and_read_at_home(void **state)
{
    (void)state;
    static const uint8_t gain[2] = {0x05, 0x04};
    uint8_t a[256], b[256];
    load_three();
    run_both(0, 5);
    assert_int_equal(tw_graph_set_param(&plain.g, 1, 2, gain, 2), TW_OK);
    assert_int_equal(tw_graph_set_param(&swapped.g, 1, 2, gain, 2), TW_OK);
    run_both(5, 20);
    uint32_t n = sizeof a, m = sizeof b;
    assert_int_equal(tw_graph_get_param(&plain.g, 1, TW_TAG_ALL, a, &n), TW_OK);
    assert_int_equal(tw_graph_get_param(&swapped.g, 1, TW_TAG_ALL, b, &m), TW_OK);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    expect_same("a parameter");
    unload(&plain);
    unload(&swapped);
}

/* ---- calls inside calls -------------------------------------------------------------------------------------- */

static tw_services_t whole;
static tw_graph_t *busy;
static bool inside;

/* In the middle of the run of node 0 somebody sets node 1, which reads itself and the first again. */
static void meddling(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                     int16_t *out, uint32_t n)
{
    static const uint8_t gain[2] = {0x05, 0x07};
    uint8_t value[256];
    uint32_t bytes = sizeof value;
    if (!inside) {
        inside = true;
        assert_int_equal(tw_graph_set_param(busy, 1, 2, gain, 2), TW_OK);
        assert_int_equal(tw_graph_get_param(busy, 0, TW_TAG_ALL, value, &bytes), TW_OK);
        assert_int_equal(tw_graph_get_param(busy, 2, TW_TAG_ALL, value, &bytes), TW_OK);
        inside = false;
    }
    whole.biquad_q15(coef5, stages, post_shift, state, in, out, n);
}

static void a_call_inside_a_call_gives_the_stage_back(void **state)
{
    (void)state;
    load_three();
    whole = plain.g.svc;
    for (uint32_t t = 0; t < 20; t++) {
        plain.g.svc.biquad_q15 = swapped.g.svc.biquad_q15 = meddling;
        busy = &plain.g;
        tw_graph_block(&plain.g, t);
        busy = &swapped.g;
        spoil(&swapped);
        tw_graph_block(&swapped.g, t);
    }
    expect_same("calls inside calls");
    assert_true(plain.rig.out_bytes[4] == 20 * 32);
    unload(&plain);
    unload(&swapped);
}

/* ---- what lasts is at home --------------------------------------------------------------------------------------- */

static struct {
    uint8_t bytes[4096];
    uint32_t n;
} kept;

static uint32_t restore(void *ctx, void *data, uint32_t room)
{
    (void)ctx;
    const uint32_t n = kept.n < room ? kept.n : room;
    memcpy(data, kept.bytes, n);
    return n;
}

static void saved_state_and_a_warm_boot_see_the_home(void **state)
{
    (void)state;
    static uint8_t first[4096];
    for (uint32_t k = 0; k < 2; k++) { /* as others first, then swapped: the bytes are the same */
        side_t *s = &swapped;
        (void)state_graph_swapped(&ib, 1, 2, k == 0 ? TW_NB_STAYS : TW_NB_IN_OUT, img, sizeof img);
        load(s);
        for (uint32_t t = 0; t < 5; t++) {
            tw_graph_block(&s->g, t);
        }
        if (k == 1) {
            spoil(s);
        }
        kept.n = tw_graph_state_bytes(&s->g);
        assert_true(kept.n != 0 && kept.n <= sizeof kept.bytes);
        tw_graph_state_save(&s->g, 1, kept.bytes);
        if (k == 0) {
            memcpy(first, kept.bytes, kept.n);
        }
        unload(s);
    }
    assert_memory_equal(first, kept.bytes, kept.n);
    tw_board_t board = swapped.rig.board;
    board.restore = restore;
    load_on(&swapped, &board, &board);
    for (uint32_t i = 0, at = TW_STATE_HEAD; i < swapped.g.n_places; i++) {
        const tw_graph_place_t *p = &swapped.g.places[i];
        if ((p->flags & TW_PLACE_BACKUP) != 0) {
            assert_int_equal(p->flags, TW_PLACE_BACKUP | TW_PLACE_IN_OUT);
            assert_memory_equal(p->at, kept.bytes + at, p->bytes);
            at += tw_round_up(p->bytes, 4);
        }
    }
    unload(&swapped);
}

static void a_swap_that_carries_state_goes_on_from_home_to_home(void **state)
{
    (void)state;
    static side_t next;
    tw_graph_carry_t carry;
    tw_fault_t fault;
    load_three();
    run_both(0, 10);
    load(&next); /* swapped, too */
    assert_int_equal(tw_graph_carry_plan(&carry, &swapped.g, &next.g, &next.arena, &fault), TW_OK);
    assert_int_equal(carry.n_nodes, 3);
    tw_graph_carry(&carry, &swapped.g, &next.g, true);
    next.rig.next[0] = swapped.rig.next[0];
    const uint32_t before = plain.rig.out_bytes[4];
    for (uint32_t t = 10; t < 20; t++) {
        tw_graph_block(&plain.g, t);
        spoil(&next);
        tw_graph_block(&next.g, t);
    }
    assert_int_equal(next.rig.out_bytes[4], plain.rig.out_bytes[4] - before);
    assert_memory_equal(next.rig.out[4], plain.rig.out[4] + before, next.rig.out_bytes[4]);
    unload(&next);
    unload(&plain);
    unload(&swapped);
}

static void a_shadow_of_a_swapped_node_is_its_double(void **state)
{
    (void)state;
    static const uint8_t gain[2] = {0x05, 0x07};
    static uint64_t room[1024];
    tw_shadow_t s = {.node = 1, .mem = (uint8_t *)room};
    uint32_t need;
    load_three();
    run_both(0, 3);
    assert_int_equal(tw_shadow_need(&swapped.g, 1, &need), TW_OK);
    assert_true(need <= sizeof room);
    assert_int_equal(tw_shadow_start(&swapped.g, &s), TW_OK);
    run_both(3, 10);
    assert_int_equal(s.sums.runs, 7);
    assert_int_equal(s.sums.unequal, 0);
    assert_false(s.sums.diff_max > 0);
    assert_int_equal(tw_shadow_set(&swapped.g, &s, 2, gain, 2), TW_OK);
    run_both(10, 200);
    assert_true(s.sums.diff_max > 0);
    tw_shadow_stop(&swapped.g, &s);
    run_both(200, 210);
    expect_same("watched by a shadow");
    unload(&plain);
    unload(&swapped);
}

static void a_home_may_move_and_the_node_is_not_told(void **state)
{
    (void)state;
    static uint64_t other[256];
    load_three();
    run_both(0, 5);
    tw_graph_place_t *p = &swapped.g.places[swapped.g.nodes[0].place];
    assert_int_equal(tw_graph_relocate(&swapped.g, 0, p->block, other), TW_E_UNSUPPORTED);
    p->flags |= TW_PLACE_MOVES;
    uint8_t *old = p->at;
    assert_true(p->bytes <= sizeof other);
    assert_int_equal(tw_graph_relocate(&swapped.g, 0, p->block, other), TW_OK);
    memset(old, RUBBISH, p->bytes);
    run_both(5, 10);
    expect_same("moved");
    unload(&plain);
    unload(&swapped);
}

/* ---- what a node finds ------------------------------------------------------------------------------------------- */

static tw_node_desc_t probe_type;
static void (*on_call)(uint32_t cmd, void *inst, const tw_xdm_t *data);

static uint32_t probe(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    on_call(tw_bits(cmd, TW_CMD_COMMAND), inst, data);
    *state = TW_NODE_DONE;
    return 0;
}

/* Node 0 becomes one that looks. */
static void watch_node(tw_graph_t *g, void (*look)(uint32_t cmd, void *inst, const tw_xdm_t *data))
{
    probe_type = *g->nodes[0].desc;
    probe_type.run = probe;
    on_call = look;
    g->nodes[0].desc = &probe_type;
    tw_graph_bind(g, 0);
}

static uint32_t calls, first_word;

/* Each call changes the block: what of that is at home afterwards? */
static void change(uint32_t cmd, void *inst, const tw_xdm_t *data)
{
    (void)cmd, (void)data;
    uint32_t w;
    memcpy(&w, inst, sizeof w);
    first_word = w++;
    memcpy(inst, &w, sizeof w);
    calls++;
}

static uint32_t home_word(const tw_graph_t *g)
{
    return tw_get_le32(g->places[g->nodes[0].place].at);
}

static void test_S0_L324_a_copy_is_brought_in_and_a_swap_is_taken_back(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t swap;
        uint32_t run, set; /* words at home after a RUN and after a SET and a READ */
    } rows[] = {
        {"a swap is restored after each", TW_NB_IN_OUT, 8, 10},
        {"a constant only after what may change it", TW_NB_IN, 7, 8},
    };
    static const uint8_t value[2] = {0};
    uint8_t read[256];
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        three(rows[i].swap);
        load(&swapped);
        watch_node(&swapped.g, change);
        tw_put_le32(swapped.g.places[0].at, 7);
        spoil(&swapped);
        tw_graph_block(&swapped.g, 0);
        assert_int_equal(first_word, 7); /* it is in the fast bank during the run */
        if (home_word(&swapped.g) != rows[i].run) {
            fail_msg("%s: %u after a run", rows[i].why, home_word(&swapped.g));
        }
        uint32_t n = sizeof read;
        (void)tw_graph_set_param(&swapped.g, 0, 0, value, 2);
        (void)tw_graph_get_param(&swapped.g, 0, 0, read, &n);
        if (home_word(&swapped.g) != rows[i].set) {
            fail_msg("%s: %u after a SET", rows[i].why, home_word(&swapped.g));
        }
        unload(&swapped);
    }
}

/* ---- scratch that is cleared ------------------------------------------------------------------------------------- */

static const tw_graph_t *looked_at;
static bool was_zero;

static void look_at_scratch(uint32_t cmd, void *inst, const tw_xdm_t *data)
{
    (void)inst, (void)data;
    tw_node_reset_t r;
    node_memory(looked_at, 0, &r);
    const uint8_t *p = r.mem[1];
    was_zero = cmd == TW_CMD_RUN;
    for (uint32_t i = 0; i < r.mem_bytes[1]; i++) {
        was_zero &= p[i] == 0;
    }
    calls++;
}

static void test_S1_L571_scratch_is_cleared_before_a_run_where_the_image_asks(void **state)
{
    (void)state;
    enum { BLOCK_1 = 4 * (5 + TW_NODE_BLOCK_WORDS) };
    static const struct {
        const char *why;
        uint32_t at, bit;
        bool cleared;
    } rows[] = {
        {"nobody asks", 0, 24, false},
        {"the node's bit", 0, 23, true},
        {"the block's bit", BLOCK_1, 14, true},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        three(TW_NB_STAYS);
        tw_image_poke(img, tw_image_node(img, 0) + rows[i].at, rows[i].bit, rows[i].bit, 1);
        tw_image_fix(img, tw_img_word(img, 0, TW_W_TOTAL));
        load(&swapped);
        looked_at = &swapped.g;
        calls = 0;
        watch_node(&swapped.g, look_at_scratch);
        spoil(&swapped);
        tw_graph_block(&swapped.g, 0);
        assert_int_equal(calls, 1);
        if (was_zero != rows[i].cleared) {
            fail_msg("%s", rows[i].why);
        }
        unload(&swapped);
    }
}

/* ---- protection ----------------------------------------------------------------------------------------------------
 */

static struct {
    tw_region_t r[TW_MAX_NODE_MEM + TW_MAX_NODE_ARCS];
    uint32_t n, on, off;
    bool now;
} unit;

static void isolate(void *ctx, const tw_region_t *regions, uint32_t n)
{
    (void)ctx;
    assert_true(unit.now == (n == 0)); /* in pairs, never nested */
    unit.now = n != 0;
    unit.on += n != 0;
    unit.off += n == 0;
    if (n != 0) {
        memcpy(unit.r, regions, n * sizeof *regions);
        unit.n = n;
    }
}

static bool allowed(const void *at, uint32_t bytes, bool write)
{
    const uint8_t *p = at;
    for (uint32_t i = 0; i < unit.n; i++) {
        const uint8_t *from = unit.r[i].at;
        if (p >= from && p + bytes <= from + unit.r[i].bytes && (unit.r[i].writes || !write)) {
            return true;
        }
    }
    return false;
}

/* In a run the unit is on and allows what the node has, and nothing of its neighbour. */
static void look_at_unit(uint32_t cmd, void *inst, const tw_xdm_t *data)
{
    tw_node_reset_t r, other;
    calls++;
    if (cmd != TW_CMD_RUN) {
        assert_false(unit.now);
        return;
    }
    assert_true(unit.now);
    node_memory(looked_at, 0, &r);
    node_memory(looked_at, 2, &other);
    const bool staged = looked_at->places[0].fast != NULL;
    assert_true(allowed(inst, r.mem_bytes[0], true));
    assert_true(allowed(r.mem[1], r.mem_bytes[1], true));
    assert_true(allowed(data[0].ptr, data[0].bytes, false) && !allowed(data[0].ptr, data[0].bytes, true));
    assert_true(allowed(data[1].ptr, data[1].bytes, true));
    assert_false(allowed(other.mem[0], 1, false));
    assert_true(allowed(r.mem[0], 1, false) == !staged); /* its home is none of its business */
}

static void an_isolated_node_runs_behind_the_protection_unit(void **state)
{
    (void)state;
    tw_fault_t fault = {0};
    for (uint32_t swap = TW_NB_STAYS; swap <= TW_NB_IN_OUT; swap += TW_NB_IN_OUT) {
        three(swap);
        tw_image_poke(img, tw_image_node(img, 0), TW_N0_ISOLATE, 1);
        tw_image_fix(img, tw_img_word(img, 0, TW_W_TOTAL));
        memset(&unit, 0, sizeof unit);
        memset(&swapped, 0, sizeof swapped);
        rig_board(&swapped.rig);
        tw_board_t board = swapped.rig.board;
        tw_arena_t scratch = {.base = (uint8_t *)calloc(1, 4096), .size = 4096};
        assert_int_equal(tw_graph_check(img, tw_img_word(img, 0, TW_W_TOTAL), &board, &scratch, &fault),
                         TW_E_IMG_SERVICE);
        assert_int_equal(fault.at, tw_image_node(img, 0));
        free(scratch.base);
        board.isolate = isolate;
        load_on(&swapped, &board, NULL);
        looked_at = &swapped.g;
        calls = 0;
        watch_node(&swapped.g, look_at_unit);
        for (uint32_t t = 0; t < 3; t++) {
            tw_graph_block(&swapped.g, t);
        }
        tw_graph_reset_node(&swapped.g, 0, -1, true);
        assert_int_equal(calls, 3 + 1);
        assert_true(unit.on == 3 && unit.off == 3);
        unload(&swapped);
    }
}

/* ---- what is refused
 * -------------------------------------------------------------------------------------------------- */

static void each_mistake_of_a_swapped_block_has_its_code_and_place(void **state)
{
    (void)state;
    enum { NODE = 0, BLOCK = 20, HOME = BLOCK + 24, BANK = -1, HEADER = -2 };
    static const struct {
        const char *why;
        int what;
        uint32_t node, at; /* bytes from the record */
        unsigned hi, lo;
        uint32_t value;
        tw_err_t err;
        uint32_t fault; /* bytes from the record */
    } rows[] = {
        {"good", NODE, 0, BLOCK, 3, 0, 0, TW_OK, 0},
        {"a swap of another kind", NODE, 0, BLOCK, TW_NB_SWAP, 4, TW_E_IMG_MEM_SWAP, BLOCK},
        {"any of two processors may run it", HEADER, 0, 4 * TW_W_PROCESSORS, 31, 0, 3, TW_E_IMG_MEM_SWAP, BLOCK},
        {"scratch", NODE, 0, BLOCK + 12, TW_NB_SWAP, TW_NB_IN_OUT, TW_E_IMG_MEM_SWAP, BLOCK + 12},
        {"home in no bank", NODE, 0, BLOCK, TW_NB_HOME, 9, TW_E_IMG_MEM, HOME},
        {"home beyond its bank", NODE, 0, HOME, 31, 0, 0xFFFF00, TW_E_IMG_MEM, HOME},
        {"home misaligned", NODE, 0, HOME, 1, 0, 2, TW_E_IMG_MEM, HOME},
        {"fast place misaligned", NODE, 0, BLOCK + 4, 1, 0, 2, TW_E_IMG_MEM, BLOCK},
        {"fast place on its own home", NODE, 0, BLOCK + 4, 31, 0, 0, TW_E_IMG_MEM, HOME},
        {"two homes in one place", NODE, 2, HOME, 31, 0, 0, TW_E_IMG_MEM, HOME},
    };
    static uint8_t scratch[16384];
    rig_board(&swapped.rig);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault = {0};
        tw_arena_t arena = {.base = scratch, .size = sizeof scratch};
        three(TW_NB_IN_OUT);
        const uint32_t record = tw_image_node(img, rows[i].node);
        tw_image_poke(img, (rows[i].what == HEADER ? 0 : record) + rows[i].at, rows[i].hi, rows[i].lo, rows[i].value);
        if (rows[i].value == 0 && rows[i].at == HOME) { /* where node 0 is at home */
            tw_put_le32(img + record + HOME, tw_get_le32(img + tw_image_node(img, 0) + HOME));
        }
        tw_image_fix(img, tw_img_word(img, 0, TW_W_TOTAL));
        const tw_err_t err = tw_graph_check(img, tw_img_word(img, 0, TW_W_TOTAL), &swapped.rig.board, &arena, &fault);
        if (err != rows[i].err || (err != TW_OK && fault.at != record + rows[i].fault)) {
            fail_msg("%s: %s at %d", rows[i].why, tw_err_name(err), (int)(fault.at - record));
        }
    }
}

/* Nodes of one thread may lie on one another, the blocks of one node may not: a state on its own scratch. */
static void blocks_of_one_node_never_overlap(void **state)
{
    (void)state;
    enum { BLOCK = 20, SECOND = BLOCK + 12 };
    static uint8_t scratch[16384];
    tw_arena_t arena = {.base = scratch, .size = sizeof scratch};
    tw_fault_t fault = {0};
    three(TW_NB_IN_OUT);
    const uint32_t record = tw_image_node(img, 0);
    tw_put_le32(img + record + SECOND + 4, tw_get_le32(img + record + BLOCK + 4));
    tw_image_fix(img, tw_img_word(img, 0, TW_W_TOTAL));
    rig_board(&swapped.rig);
    assert_int_equal(tw_graph_check(img, tw_img_word(img, 0, TW_W_TOTAL), &swapped.rig.board, &arena, &fault),
                     TW_E_IMG_MEM);
    assert_int_equal(fault.at, record + SECOND);
}

/* Between its first run and its last others of its thread run, too. */
static void test_S1_L960_what_lasts_until_a_run_completes_is_laid_on_nothing(void **state)
{
    (void)state;
    enum { SECOND = 20 + 12 };
    static uint8_t scratch[16384];
    rig_board(&swapped.rig);
    for (uint32_t type = 1; type <= 2; type++) {
        tw_arena_t arena = {.base = scratch, .size = sizeof scratch};
        tw_fault_t fault = {0};
        three(TW_NB_STAYS);
        const uint32_t record = tw_image_node(img, 2);
        tw_image_poke(img, record + SECOND, TW_NB_TYPE, type);
        tw_image_fix(img, tw_img_word(img, 0, TW_W_TOTAL));
        const tw_err_t err = tw_graph_check(img, tw_img_word(img, 0, TW_W_TOTAL), &swapped.rig.board, &arena, &fault);
        assert_int_equal(err, type == 1 ? TW_OK : TW_E_IMG_MEM);
        assert_true(err == TW_OK || fault.at == record + SECOND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swapped_graphs_put_out_what_others_do),
        cmocka_unit_test(parameters_are_set_and_read_at_home),
        cmocka_unit_test(a_call_inside_a_call_gives_the_stage_back),
        cmocka_unit_test(saved_state_and_a_warm_boot_see_the_home),
        cmocka_unit_test(a_swap_that_carries_state_goes_on_from_home_to_home),
        cmocka_unit_test(a_shadow_of_a_swapped_node_is_its_double),
        cmocka_unit_test(a_home_may_move_and_the_node_is_not_told),
        cmocka_unit_test(test_S0_L324_a_copy_is_brought_in_and_a_swap_is_taken_back),
        cmocka_unit_test(test_S1_L571_scratch_is_cleared_before_a_run_where_the_image_asks),
        cmocka_unit_test(an_isolated_node_runs_behind_the_protection_unit),
        cmocka_unit_test(each_mistake_of_a_swapped_block_has_its_code_and_place),
        cmocka_unit_test(blocks_of_one_node_never_overlap),
        cmocka_unit_test(test_S1_L960_what_lasts_until_a_run_completes_is_laid_on_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
