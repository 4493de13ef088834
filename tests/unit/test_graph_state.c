/* Memory that outlives a loss of power: as bytes, over a boot, and however little of it was written. */
#include "engine/base/crc.h"
#include "engine/board/state_slots.h"
#include "engine/graph/graph_state.h"
#include "tests/support/state_graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { PERIOD_BLOCKS = 15000, ROOM = 4096 };

static tw_ib_t ib;
static uint8_t img[16384];
static uint32_t img_bytes;
static rig_t rig;

static void build(uint32_t uid, unsigned detectors)
{
    img_bytes = state_graph_image(&ib, uid, detectors, img, sizeof img);
    assert_true(img_bytes != 0);
}

/* ---- the graph core ---------------------------------------------------------------------------------- */

static tw_graph_t graph;
static uint64_t memory[8192];

/* `kept` is what the board gives back. */
static struct {
    uint8_t bytes[ROOM];
    uint32_t n, stores, refuse;
} kept;

static bool store(void *ctx, const void *data, uint32_t bytes)
{
    (void)ctx;
    assert_true(bytes <= ROOM);
    if (kept.refuse != 0) {
        kept.refuse--;
        return false;
    }
    memcpy(kept.bytes, data, bytes);
    kept.n = bytes;
    kept.stores++;
    return true;
}

static uint32_t restore(void *ctx, void *data, uint32_t room)
{
    (void)ctx;
    const uint32_t n = kept.n < room ? kept.n : room;
    memcpy(data, kept.bytes, n);
    return n;
}

static void load(bool warm)
{
    static tw_board_t board;
    tw_arena_t arena = {.base = (uint8_t *)memory, .size = sizeof memory};
    tw_fault_t fault = {0};
    rig_board(&rig);
    board = rig.board;
    board.restore = restore;
    const tw_graph_env_t env = {.port = &rig.port, .board = &board, .kept = warm ? &board : NULL};
    assert_int_equal(tw_graph_check(img, img_bytes, &board, &arena, &fault), TW_OK);
    assert_int_equal(tw_graph_load(&graph, img, &env, &arena, &fault), TW_OK);
}

static void run(unsigned blocks)
{
    for (unsigned i = 0; i < blocks; i++) {
        tw_graph_block(&graph, i);
    }
}

static const tw_graph_place_t *past(uint32_t i)
{
    assert_true(i < graph.n_places);
    return &graph.places[i];
}

static bool all_zero(const uint8_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (at[i] != 0) {
            return false;
        }
    }
    return true;
}

static void a_cold_RESET_clears_what_is_backed_up_and_a_warm_one_leaves_it(void **state)
{
    (void)state;
    uint8_t before[STATE_PAST];
    build(1, 2);
    load(false);
    assert_int_equal(graph.n_places, 2);
    assert_int_equal(past(1)->bytes, sizeof before);
    assert_true(all_zero(past(0)->at, sizeof before));
    run(3);
    assert_false(all_zero(past(0)->at, sizeof before));
    memcpy(before, past(1)->at, sizeof before);
    tw_graph_reset(&graph, true);
    assert_memory_equal(past(1)->at, before, sizeof before);
    tw_graph_reset_node(&graph, 0, -1, false);
    assert_true(all_zero(past(0)->at, sizeof before));
    assert_memory_equal(past(1)->at, before, sizeof before);
    tw_graph_reset(&graph, false);
    assert_true(all_zero(past(1)->at, sizeof before));
}

static void what_was_saved_is_there_before_the_first_RESET_of_a_warm_boot(void **state)
{
    (void)state;
    uint8_t before[2][STATE_PAST];
    build(1, 2);
    load(false);
    run(5);
    kept.n = tw_graph_state_bytes(&graph);
    tw_graph_state_save(&graph, 9, kept.bytes);
    memcpy(before[0], past(0)->at, sizeof before[0]);
    memcpy(before[1], past(1)->at, sizeof before[1]);
    load(false);
    assert_true(all_zero(past(0)->at, sizeof before[0]));
    load(true);
    assert_memory_equal(past(0)->at, before[0], sizeof before[0]);
    assert_memory_equal(past(1)->at, before[1], sizeof before[1]);
    run(1);
    assert_int_equal(tw_gauge_get(&graph.nodes[0].errors), 0);
}

static void saved_bytes_are_refused_each_with_its_code_and_change_nothing(void **state)
{
    (void)state;
    uint8_t good[ROOM], bad[ROOM], before[STATE_PAST];
    tw_fault_t fault;
    build(1, 2);
    load(false);
    run(5);
    const uint32_t n = tw_graph_state_bytes(&graph);
    tw_graph_state_save(&graph, 9, good);
    run(5);
    memcpy(before, past(0)->at, sizeof before);
    for (uint32_t cut = 0; cut < n; cut++) {
        assert_int_not_equal(tw_graph_state_restore(&graph, good, cut, &fault), TW_OK);
    }
    for (uint32_t bit = 0; bit < 8 * n; bit++) {
        memcpy(bad, good, n);
        bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(tw_graph_state_restore(&graph, bad, n, &fault), TW_OK);
        assert_true(fault.err != TW_OK && fault.at <= n);
    }
    static const struct {
        uint32_t at, value;
        tw_err_t err;
    } rows[] = {
        {0, 0, TW_E_STATE_DATA},
        {4, 2 | 32 << 16, TW_E_STATE_VERSION},
        {4, 1 | 36 << 16, TW_E_STATE_VERSION},
        {8, 1 << 20, TW_E_TRUNCATED},
        {8, 40, TW_E_STATE_DATA},
        {12, 2, TW_E_STATE_GRAPH},
        {16, 0, TW_E_STATE_LAYOUT},
        {40, 7, TW_OK},
    };
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        memcpy(bad, good, n);
        tw_put_le32(bad + rows[i].at, rows[i].value);
        tw_put_le32(bad + n - 4, tw_crc32c(0, bad, n - 4));
        if (rows[i].err != TW_OK) {
            assert_int_equal(tw_graph_state_restore(&graph, bad, n, &fault), rows[i].err);
            assert_memory_equal(past(0)->at, before, sizeof before);
        } else {
            assert_int_equal(tw_graph_state_restore(&graph, bad, n, &fault), TW_OK);
        }
    }
}

static void a_state_of_another_graph_is_a_cold_start(void **state)
{
    (void)state;
    build(1, 2);
    load(false);
    run(5);
    kept.n = tw_graph_state_bytes(&graph);
    tw_graph_state_save(&graph, 9, kept.bytes);
    build(2, 2);
    load(true);
    assert_true(all_zero(past(0)->at, past(0)->bytes));
    build(1, 1);
    load(true);
    assert_true(all_zero(past(0)->at, past(0)->bytes));
}

static void only_types_that_look_may_be_backed_up_and_not_without_end(void **state)
{
    (void)state;
    static const struct {
        uint32_t block, bytes;
        tw_err_t err;
    } rows[] = {
        {1, STATE_PAST, TW_OK}, {0, 0, TW_E_IMG_MEM}, {1, TW_STATE_MAX, TW_OK}, {1, TW_STATE_MAX + 4, TW_E_IMG_MEM}};
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_arena_t arena = {.base = (uint8_t *)memory, .size = sizeof memory};
        tw_fault_t fault = {0};
        build(1, 1);
        rig_board(&rig);
        if (rows[i].bytes > STATE_PAST) {
            tw_ib_node_block(&ib, 0, 1, rows[i].bytes);
            img_bytes = tw_ib_finish(&ib, img, sizeof img);
        }
        enum { FIRST_BLOCK = 5 };
        const uint32_t at = tw_image_node(img, 0) + 4 * (FIRST_BLOCK + TW_NODE_BLOCK_WORDS * rows[i].block);
        tw_image_poke(img, at, TW_NB_TYPE, 3);
        tw_image_fix(img, img_bytes);
        assert_int_equal(tw_graph_check(img, img_bytes, &rig.board, &arena, &fault), rows[i].err);
        assert_true(rows[i].err == TW_OK || fault.at == at);
    }
}

/* ---- the engine ------------------------------------------------------------------------------------------ */

static void open_engine(void)
{
    rig_open(&rig, 4096, 8192);
    rig.board.store = store;
    rig.board.restore = restore;
    kept.stores = kept.refuse = 0;
}

static void control(tw_control_t op)
{
    assert_int_equal(tw_engine_put_control(rig.engine, 0, op, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    (void)tw_engine_tick(rig.engine);
}

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        (void)tw_engine_tick(rig.engine);
        rig.out_bytes[4] = rig.out_bytes[5] = 0;
    }
}

static void the_engine_saves_every_15_s_of_block_time_and_at_STOP_and_unload(void **state)
{
    (void)state;
    kept.n = 0;
    build(1, 1);
    open_engine();
    rig_load(&rig, img, img_bytes);
    ticks(PERIOD_BLOCKS - 1);
    assert_int_equal(kept.stores, 0);
    ticks(1);
    assert_int_equal(kept.stores, 1);
    kept.refuse = 3; /* the board has no room yet */
    ticks(PERIOD_BLOCKS + 2);
    assert_int_equal(kept.stores, 1);
    ticks(1);
    assert_int_equal(kept.stores, 2);
    control(TW_CTL_STOP);
    assert_int_equal(kept.stores, 3);
    ticks(10);
    assert_int_equal(kept.stores, 3);
    control(TW_CTL_START);
    assert_int_equal(tw_engine_put_unload(rig.engine, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_int_equal(kept.stores, 4);
    assert_false(tw_engine_save_state(rig.engine));
    rig_close(&rig);
}

static void a_warm_boot_goes_on_where_the_last_run_was_and_later_loads_do_not(void **state)
{
    (void)state;
    build(1, 1);
    kept.n = 0;
    open_engine();
    rig_load(&rig, img, img_bytes);
    ticks(20);
    assert_true(tw_engine_save_state(rig.engine));
    rig_close(&rig);
    uint8_t saved[ROOM];
    memcpy(saved, kept.bytes, kept.n);

    open_engine();
    rig_load(&rig, img, img_bytes);
    control(TW_CTL_STOP); /* before its first block */
    assert_int_equal(kept.stores, 1);
    assert_memory_equal(kept.bytes + TW_STATE_HEAD, saved + TW_STATE_HEAD, kept.n - TW_STATE_HEAD - TW_STATE_TAIL);
    control(TW_CTL_WARM);
    assert_true(tw_engine_save_state(rig.engine));
    assert_memory_equal(kept.bytes + TW_STATE_HEAD, saved + TW_STATE_HEAD, kept.n - TW_STATE_HEAD - TW_STATE_TAIL);
    control(TW_CTL_RESET);
    assert_true(tw_engine_save_state(rig.engine));
    assert_true(all_zero(kept.bytes + TW_STATE_HEAD, kept.n - TW_STATE_HEAD - TW_STATE_TAIL));
    memcpy(kept.bytes, saved, kept.n);
    rig_load(&rig, img, img_bytes);
    control(TW_CTL_STOP);
    assert_true(all_zero(kept.bytes + TW_STATE_HEAD, kept.n - TW_STATE_HEAD - TW_STATE_TAIL));
    rig_close(&rig);
}

/* ---- slots: a cut at every byte ----------------------------------------------------------------------------- */

enum { SLOT = 256 };
static struct {
    uint8_t bytes[TW_STATE_SLOTS * SLOT];
    uint32_t left; /* bytes until the power goes */
} flash;

static bool flash_read(void *ctx, uint32_t at, void *to, uint32_t n)
{
    (void)ctx;
    assert_true(at + n <= sizeof flash.bytes);
    memcpy(to, flash.bytes + at, n);
    return true;
}

static bool flash_write(void *ctx, uint32_t at, const void *from, uint32_t n)
{
    (void)ctx;
    assert_true(at + n <= sizeof flash.bytes);
    const uint32_t k = n < flash.left ? n : flash.left;
    memcpy(flash.bytes + at, from, k);
    if (k < n) {
        flash.bytes[at + k] = (uint8_t)(flash.bytes[at + k] ^ 0x5A); /* the byte under way: anything */
    }
    flash.left -= k;
    return k == n;
}

static const tw_state_device_t device = {NULL, SLOT, flash_read, flash_write};

static void content(uint8_t *to, uint32_t n, uint32_t version)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (uint8_t)(version * 37 + i * 11);
    }
}

static void expect(uint32_t version, uint32_t n)
{
    uint8_t want[SLOT], got[SLOT];
    tw_state_slots_t s;
    content(want, n, version);
    tw_state_slots_open(&s, &device);
    assert_int_equal(tw_state_slots_get(&s, got, sizeof got), n);
    assert_memory_equal(got, want, n);
}

/* `sizes` of two that were put, the third is cut, a fourth is put after the restart. */
static void every_cut(const uint32_t sizes[4])
{
    uint8_t data[SLOT];
    for (uint32_t cut = 0; cut <= sizes[2] + TW_STATE_SLOT_HEAD; cut++) {
        tw_state_slots_t s;
        memset(flash.bytes, 0xFF, sizeof flash.bytes);
        flash.left = UINT32_MAX;
        tw_state_slots_open(&s, &device);
        assert_int_equal(tw_state_slots_get(&s, data, sizeof data), 0);
        for (uint32_t v = 0; v < 2; v++) {
            content(data, sizes[v], v);
            assert_true(tw_state_slots_put(&s, data, sizes[v]));
        }
        flash.left = cut;
        content(data, sizes[2], 2);
        const bool whole = cut == sizes[2] + TW_STATE_SLOT_HEAD;
        assert_int_equal(tw_state_slots_put(&s, data, sizes[2]), whole);
        expect(whole ? 2 : 1, sizes[whole ? 2 : 1]);
        flash.left = UINT32_MAX;
        tw_state_slots_open(&s, &device);
        content(data, sizes[3], 3);
        assert_true(tw_state_slots_put(&s, data, sizes[3]));
        expect(3, sizes[3]);
    }
}

static void a_cut_at_any_byte_leaves_what_was_kept_before(void **state)
{
    (void)state;
    static const uint32_t sizes[][4] = {{100, 100, 100, 100}, {1, 240, 17, 33}, {240, 3, 240, 1}, {64, 64, 5, 240}};
    for (uint32_t i = 0; i < TW_COUNT(sizes); i++) {
        every_cut(sizes[i]);
    }
}

static void slots_refuse_what_does_not_fit_and_numbers_may_wrap(void **state)
{
    (void)state;
    uint8_t data[SLOT] = {0};
    tw_state_slots_t s;
    memset(flash.bytes, 0, sizeof flash.bytes);
    flash.left = UINT32_MAX;
    tw_state_slots_open(&s, &device);
    assert_false(tw_state_slots_put(&s, data, 0));
    assert_false(tw_state_slots_put(&s, data, SLOT - TW_STATE_SLOT_HEAD + 1));
    s.number = UINT32_MAX - 2;
    for (uint32_t v = 0; v < 6; v++) {
        content(data, 50, v);
        assert_true(tw_state_slots_put(&s, data, 50));
        expect(v, 50);
    }
    assert_int_equal(tw_state_slots_get(&s, data, 49), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_RESET_clears_what_is_backed_up_and_a_warm_one_leaves_it),
        cmocka_unit_test(what_was_saved_is_there_before_the_first_RESET_of_a_warm_boot),
        cmocka_unit_test(saved_bytes_are_refused_each_with_its_code_and_change_nothing),
        cmocka_unit_test(a_state_of_another_graph_is_a_cold_start),
        cmocka_unit_test(only_types_that_look_may_be_backed_up_and_not_without_end),
        cmocka_unit_test(the_engine_saves_every_15_s_of_block_time_and_at_STOP_and_unload),
        cmocka_unit_test(a_warm_boot_goes_on_where_the_last_run_was_and_later_loads_do_not),
        cmocka_unit_test(a_cut_at_any_byte_leaves_what_was_kept_before),
        cmocka_unit_test(slots_refuse_what_does_not_fit_and_numbers_may_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
