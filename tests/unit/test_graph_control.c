/* Nodes that steer others, in a graph: skipped, bypassed, looped, by use case; RESET at the end of a block. */
#include "engine/graph/graph.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ACTION = 1, NODES, OTHERWISE, TIMES, WHEN, USE_CASE, ACTIVE = 19, LOCK = 1, BYPASS, LOOP, IF };

static rig_t r;
static tw_ib_t ib;
static tw_graph_t graph;
static uint8_t img[16384], memory[1 << 17];
static tw_arena_t arena;
static uint64_t tick;

/* control.0 [lock]; IO 0 -> amplifier.1 -> amplifier.2 -> IO 4. Gains 1/2 and 1/4. */
static void load(const uint8_t *boot, uint32_t bytes)
{
    rig_board(&r);
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint32_t u8 = tw_ib_format(&ib, TW_RAW_U8, 1, 8, 0);
    const uint16_t lock = (uint16_t)tw_ib_arc(&ib, 0, 0, 0, 0, u8, u8, 8);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 1, 0, f, f, 2 * RIG_FRAME);
    const uint16_t mid = (uint16_t)tw_ib_arc(&ib, 1, 1, 2, 0, f, f, 2 * RIG_FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 2, 1, TW_IB_IO, 0, f, f, 2 * RIG_FRAME);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_graph_control"), 0, 1,
               (uint16_t[]){(uint16_t)(lock | 1u << 15 | 1u << 12)});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, mid});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){mid, out});
    tw_ib_node_params(&ib, 0, TW_TAG_ALL, boot, bytes);
    tw_ib_node_params(&ib, 1, TW_TAG_ALL, (const uint8_t[]){0, 0x06, 0x08}, 3);
    tw_ib_node_params(&ib, 2, TW_TAG_ALL, (const uint8_t[]){0, 0x07, 0x08}, 3);
    const uint32_t n = tw_ib_finish(&ib, img, sizeof img);
    tw_fault_t fault = {0};
    arena = (tw_arena_t){memory, sizeof memory, 0};
    assert_int_equal(tw_graph_check(img, n, &r.board, &arena, &fault), TW_OK);
    const tw_graph_env_t env = {.port = &r.port, .board = &r.board};
    assert_int_equal(tw_graph_load(&graph, img, &env, &arena, &fault), TW_OK);
    tick = 0;
}

static void block(void)
{
    tw_graph_block(&graph, tick++);
}

static uint32_t runs(uint32_t node)
{
    return tw_gauge_get(&graph.hot[graph.nodes[node].pos].runs);
}

/* What a ramp became in the last frame: its slope tells the gain in 1/8. */
static int slope(void)
{
    const uint8_t *last = r.out[4] + r.out_bytes[4] - RIG_FRAME;
    return ((int16_t)tw_get_le16(last + RIG_FRAME - 2) - (int16_t)tw_get_le16(last + RIG_FRAME - 18));
}

static void set(uint32_t tag, uint8_t v)
{
    assert_int_equal(tw_graph_set_param(&graph, 0, tag, &v, 1), TW_OK);
}

static uint8_t get(uint32_t tag)
{
    uint8_t v[4] = {0};
    uint32_t n = sizeof v;
    assert_int_equal(tw_graph_get_param(&graph, 0, tag, v, &n), TW_OK);
    return v[0];
}

static void bypassed_nodes_let_their_data_through(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t action, nodes;
        int slope; /* of 8 samples */
        bool first, second;
    } cases[] = {
        {"nothing", 0, 2, 1, true, true},
        {"the first", BYPASS, 1, 2, false, true},
        {"both", BYPASS, 2, 8, false, false},
        {"none", BYPASS, 0, 1, true, true},
        {"a lock alone changes nothing", LOCK, 2, 1, true, true},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        load((const uint8_t[]){cases[i].action, cases[i].nodes}, 2);
        for (unsigned k = 0; k < 8; k++) {
            block();
        }
        if (slope() != cases[i].slope) {
            fail_msg("%s: %d", cases[i].why, slope());
        }
        assert_int_equal(r.out_bytes[4], 8 * RIG_FRAME);
    }
}

static void if_runs_one_or_the_other(void **state)
{
    (void)state;
    load((const uint8_t[]){IF, 1, 1, 1, 2, 0, 0, 0}, 8); /* node 1 in use case 1, else node 2 */
    block();
    assert_true(runs(1) == 0 && runs(2) == 0 && get(ACTIVE) == 0); /* node 2 may, but has no data */
    assert_int_equal(graph.nodes[1].flow, 1u << TW_FLOW_SKIP);
    set(USE_CASE, 1);
    block();
    assert_true(runs(1) == 1 && get(ACTIVE) == 1); /* the frame that waited and this one in one go */
    assert_true(runs(2) == 0 && graph.nodes[2].flow == 1u << TW_FLOW_SKIP && graph.nodes[1].flow == 0);
    set(USE_CASE, 0);
    block();
    assert_true(runs(1) == 1 && runs(2) == 1);
    assert_int_equal(get(USE_CASE), 0);
}

static void a_loop_runs_its_nodes_before_the_rest(void **state)
{
    (void)state;
    load((const uint8_t[]){LOOP, 2, 0, 5}, 4);
    for (unsigned k = 0; k < 6; k++) {
        block();
    }
    assert_int_equal(runs(1), 6); /* what is not ready does not run, however often it is asked */
    assert_int_equal(runs(2), 6);
    assert_int_equal(runs(0), 6);
    assert_int_equal(slope(), 1);
    assert_false(graph.looping);
}

static void a_range_beyond_the_list_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    load((const uint8_t[]){BYPASS, 3}, 2);
    for (unsigned k = 0; k < 3; k++) {
        block();
    }
    assert_int_equal(tw_gauge_get(&graph.nodes[0].errors), 3);
    assert_int_equal(graph.node_fault.err, TW_E_PARAM_MATCH);
    assert_true(graph.n_flows == 0 && slope() == 1);
    set(NODES, 1);
    block();
    assert_int_equal(tw_gauge_get(&graph.nodes[0].errors), 3);
    block();
    assert_int_equal(slope(), 2);
}

static void a_reset_frees_all_nodes(void **state)
{
    (void)state;
    load((const uint8_t[]){BYPASS, 2}, 2);
    block();
    assert_int_equal(graph.n_flows, 1);
    tw_graph_reset(&graph, false);
    assert_true(graph.n_flows == 0 && graph.nodes[1].flow == 0);
    set(ACTION, 0);
    block();
    block();
    assert_int_equal(slope(), 1);
}

static void a_reload_comes_behind_the_block(void **state)
{
    (void)state;
    load((const uint8_t[]){IF, 2, 0, 1, 1, 0, 0, 0}, 8);
    set(USE_CASE, 3); /* both are skipped */
    block();
    assert_true(graph.use_case == 3 && graph.n_flows == 1);
    graph.svc.control->reload(&graph, 0);
    assert_int_equal(graph.n_flows, 1);
    block();
    assert_true(graph.reload == 0 && graph.n_flows == 0 && graph.use_case == 3); /* warm: the use case stays */
    graph.svc.control->reload(&graph, 1);
    block();
    assert_true(graph.use_case == 0);
    block();
    assert_int_equal(runs(1) > 0, true);
}

static void sets_are_all_or_none(void **state)
{
    (void)state;
    load((const uint8_t[]){0}, 1);
    const uint8_t slope_9 = 9, mute_7 = 7;
    tw_steer_set_t sets[2] = {{1, 1, 1, &slope_9}, {2, 3, 1, &mute_7}};
    uint32_t bad = 99;
    tw_fault_t fault = {0};
    assert_int_equal(graph.svc.control->set(&graph, sets, 2, &bad, &fault), TW_E_PARAM_RANGE);
    assert_true(bad == 1 && fault.at == 3);
    uint8_t v = 0;
    uint32_t n = 1;
    assert_int_equal(graph.svc.control->get(&graph, 1, 1, &v, &n), TW_OK);
    assert_int_equal(v, 0);
    sets[1].node = 3;
    assert_int_equal(graph.svc.control->set(&graph, sets, 2, &bad, &fault), TW_E_PARAM_NODE);
    assert_int_equal(graph.svc.control->set(&graph, sets, 1, &bad, &fault), TW_OK);
    assert_int_equal(graph.svc.control->get(&graph, 1, 1, &v, &n), TW_OK);
    assert_int_equal(v, 9);
    assert_int_equal(graph.svc.control->get(&graph, 3, 1, &v, &n), TW_E_PARAM_NODE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bypassed_nodes_let_their_data_through),
        cmocka_unit_test(if_runs_one_or_the_other),
        cmocka_unit_test(a_loop_runs_its_nodes_before_the_rest),
        cmocka_unit_test(a_range_beyond_the_list_is_refused_and_changes_nothing),
        cmocka_unit_test(a_reset_frees_all_nodes),
        cmocka_unit_test(a_reload_comes_behind_the_block),
        cmocka_unit_test(sets_are_all_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
