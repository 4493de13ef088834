/* System calls of scripts: each does what docs/SCRIPT_ISA.md says, from where it says, and refuses the rest. */
#include "engine/graph/graph_mp.h"
#include "tests/support/script_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static script_rig_t r;

static void start(const char *text)
{
    const char *const texts[] = {text, NULL};
    script_rig_start(&r, texts);
}

static int64_t status(const tw_script_ctx_t *c)
{
    assert_non_null(c);
    assert_int_equal(c->flag, tw_script_reg_int(c, 0) == 0);
    return tw_script_reg_int(c, 0);
}

static uint32_t runs(uint32_t node)
{
    return tw_gauge_get(&r.graph.hot[r.graph.nodes[node].pos].runs);
}

/* ---- refusals of all calls ------------------------------------------------------------- */

/* A host runs the script: r0, r1, r2 are the arguments, there is no window. */
static void arguments_are_looked_at(void **state)
{
    (void)state;
    enum { BARE, WITH_MEMORY };
    static const struct {
        const char *why;
        unsigned k;
        int64_t r0, r1, r2;
        tw_err_t err;
    } cases[] = {
        {"sched: no such operation", 0, 5, 0, 0, TW_E_ARG},
        {"sched: no node's script", 0, 1, 1, 0, TW_E_STATE},
        {"sched: no node's script", 0, 2, 1, 0, TW_E_STATE},
        {"sched: no node's script", 0, 3, 1, 0, TW_E_STATE},
        {"node: no such node", 1, 4, 3, 0, TW_E_PARAM_NODE},
        {"node: RUN is the scheduler's", 1, TW_CMD_RUN, 1, 0, TW_E_UNSUPPORTED},
        {"node: no buffer", 1, TW_CMD_READ_PARAMETER, 1, 0, TW_E_SCR_BAD_PTR},
        {"arc: no such arc", 2, 3, 4, 0, TW_E_ARC_NONE},
        {"arc: no such operation", 2, 9, 1, 0, TW_E_ARG},
        {"arc: no buffer", 2, 1, 1, 4, TW_E_SCR_BAD_PTR},
        {"app: no code", 3, -1, 0, 0, TW_E_RANGE},
        {"app: no buffer", 3, 1, 0, 4, TW_E_SCR_BAD_PTR},
        {"io: no such operation", 4, 0, 0, 0, TW_E_ARG},
        {"io: no such IO", 4, 2, 2, 0, TW_E_NOT_FOUND},
        {"io: no settings", 4, 1, 0, 0, TW_E_SCR_BAD_PTR},
        {"compute: no such function", 6, 0, 0, 0, TW_E_ARG},
        {"idle: before now", 8, -1, 0, 0, TW_E_RANGE},
        {"idle: later than any", 8, (int64_t)1 << 31, 0, 0, TW_E_RANGE},
        {"time: no such clock", 9, 3, 0, 0, TW_E_ARG},
        {"npu: no backend", 10, 1, 0, 0, TW_E_UNSUPPORTED},
        {"event: no buffer", 11, 1, 0, 4, TW_E_SCR_BAD_PTR},
        {"usecase: no such", 12, 32, 0, 0, TW_E_RANGE},
        {"usecase: no such", 12, -1, 0, 0, TW_E_RANGE},
        {"timer: no such operation", 13, 0, 1, 0, TW_E_ARG},
        {"timer: no such script", 13, 1, 1, 99, TW_E_SCRIPT_NONE},
        {"timer: no such script", 13, 1, 1, -1, TW_E_SCRIPT_NONE},
        {"timer: before now", 13, 1, -1, 0, TW_E_RANGE},
        {"timer: too late", 13, 1, (int64_t)1 << 31, 0, TW_E_RANGE},
        {"timer: none to cancel", 13, 2, 0, 0, TW_E_NOT_FOUND},
        {"gpio: no such operation", 14, 3, 0, 0, TW_E_ARG},
        {"gpio: no such pin", 14, 0, 8, 0, TW_E_RANGE},
        {"gpio: no such pin", 14, 0, 32, 0, TW_E_RANGE},
        {"gpio: no such pin", 14, 0, -1, 0, TW_E_RANGE},
        {"gpio: not for scripts", 14, 1, 4, 1, TW_E_DENIED},
        {"level: no such figure", 15, 3, 1, 0, TW_E_ARG},
        {"level: no such arc", 15, 0, 4, 0, TW_E_ARC_NONE},
        {"dbgreg: no such register", 39, 0, 0, 0, TW_E_NOT_FOUND},
        {"dbgreg: no such operation", 39, 0, 0, 2, TW_E_ARG},
    };
    static char text[48];
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        (void)snprintf(text, sizeof text, "callsys %u\nret\n", cases[i].k);
        start(text);
        const uint32_t levels = r.levels;
        const int64_t args[3] = {cases[i].r0, cases[i].r1, cases[i].r2};
        const int64_t got = status(script_rig_run(&r, 0, args, 3));
        if (got != -cases[i].err || r.levels != levels) {
            fail_msg("%s: %d, not %d", cases[i].why, (int)got, -cases[i].err);
        }
    }
}

/* ---- sched ------------------------------------------------------------------------------- */

/* The script node skips the first amplifier in every second block. */
static void a_script_node_skips_the_nodes_behind_it(void **state)
{
    (void)state;
    start("load r3 *p5\ninc r3\nstore *p5 r3\nmovi int32 r0 2\nmovi int32 r1 1\nbit0 r3 0\nccopy r1 zero\n"
          "callsys 0\nret\n");
    script_rig_blocks(&r, 10); /* the RESET was the first run */
    assert_int_equal(runs(0), 10);
    assert_int_equal(r.graph.n_flows, 1);
    assert_true(runs(1) >= 5 && runs(1) < 10);
    tw_graph_reset(&r.graph, false);
    assert_int_equal(r.graph.n_flows, 1); /* its phase 0 asks again */
    const char *const texts[] = {"movi int32 r0 2\nmovi int32 r1 3\ncallsys 0\nret\n", NULL};
    script_rig_start(&r, texts);
    script_rig_blocks(&r, 1);
    assert_int_equal(r.graph.n_flows, 0); /* more nodes than there are: PARAM_MATCH */
}

static void locks_and_skips_are_ranges_of_their_own(void **state)
{
    (void)state;
    start("movi int32 r0 1\nmovi int32 r1 2\ncallsys 0\nmovi int32 r0 2\nmovi int32 r1 1\ncallsys 0\nret\n");
    script_rig_blocks(&r, 3);
    assert_int_equal(r.graph.n_flows, 2);
    assert_int_equal(r.graph.nodes[1].flow, 1u << TW_FLOW_LOCK | 1u << TW_FLOW_SKIP);
    assert_int_equal(r.graph.nodes[2].flow, 1u << TW_FLOW_LOCK);
    assert_true(runs(1) == 0 && r.rig.out_bytes[4] == 0);
}

/* The script after node 1 loops over node 2, which so has its turn at once and finds nothing in its own. */
static void a_loop_runs_the_nodes_again(void **state)
{
    (void)state;
    static const char *const loop = "eqk r0 1\ncjmp #1\nmovi int32 r0 3\nmovi int32 r1 2\n"
                                    "movi int32 r2 4\ncallsys 0\nstore *p5 r0\nlabl #1\nret\n";
    const char *const texts[] = {"ret\n", loop, NULL};
    script_rig_open(&r);
    (void)script_rig_add(&r, texts[0]);
    tw_ib_node_script(&r.ib, 1, script_rig_add(&r, texts[1]));
    tw_fault_t fault;
    assert_int_equal(script_rig_load(&r, &fault), TW_OK);
    script_rig_blocks(&r, 4);
    assert_int_equal(tw_get_le32(script_rig_memory(&r, 1)), 0);
    assert_int_equal(runs(1), 4);
    assert_int_equal(runs(2), 4);
    assert_int_equal(r.rig.out_bytes[4], 4 * RIG_FRAME);
    assert_int_equal(r.graph.asks.loop_times, 0);
    assert_false(r.graph.looping);
}

static void a_loop_has_a_range_and_an_end(void **state)
{
    (void)state;
    static const struct {
        int64_t node, times;
        tw_err_t err;
    } cases[] = {
        {0, 1, TW_OK}, {2, 64, TW_OK}, {3, 1, TW_E_PARAM_MATCH}, {0, 65, TW_E_PARAM_MATCH}, {-1, 1, TW_E_PARAM_MATCH}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "movi int32 r0 3\nmovi int32 r1 %d\nmovi int32 r2 %d\ncallsys 0\nstore *p5 r0\nret\n",
                       (int)cases[i].node, (int)cases[i].times);
        start(text);
        script_rig_blocks(&r, 2);
        assert_int_equal((int32_t)tw_get_le32(script_rig_memory(&r, 0)), -cases[i].err);
        assert_int_equal(r.rig.out_bytes[4], 2 * RIG_FRAME);
    }
}

static void stop_is_told_to_who_runs_the_blocks(void **state)
{
    (void)state;
    start("eqk r0 1\ncjmp #1\nret\nlabl #1\nmovi int32 r0 4\ncallsys 0\nret\n");
    assert_false(r.graph.asks.stop);
    script_rig_blocks(&r, 1);
    assert_true(r.graph.asks.stop);
    assert_int_equal(r.rig.out_bytes[4], RIG_FRAME); /* the block ended as any other */
}

/* ---- use case, idle ------------------------------------------------------------------------- */

static void a_use_case_is_taken_behind_the_block_and_told(void **state)
{
    (void)state;
    start("eqk r0 1\ncjmp #1\nret\nlabl #1\nmovi int32 r0 7\ncallsys 12\nstore *p5 r1\nret\n");
    const script_rig_event_t *e = NULL;
    script_rig_blocks(&r, 1);
    assert_int_equal(r.graph.use_case, 7);
    assert_int_equal(script_rig_count(&r, TW_GEV_USE_CASE, &e), 1);
    assert_true(e->ev.at == 7 && e->ev.value == 0);
    script_rig_blocks(&r, 1);
    assert_int_equal(tw_get_le32(script_rig_memory(&r, 0)), 7); /* the one before */
    tw_graph_reset(&r.graph, false);
    assert_int_equal(r.graph.use_case, 0);
}

static void the_shortest_pause_of_a_block_counts(void **state)
{
    (void)state;
    start("movi int32 r0 30\ncallsys 8\nmovi int32 r0 20\ncallsys 8\nmovi int32 r0 40\ncallsys 8\nret\n");
    assert_true(r.graph.asks.idle_ms == UINT32_MAX);
    script_rig_blocks(&r, 1);
    assert_int_equal(r.graph.asks.idle_ms, 20);
    tw_graph_enable_script(&r.graph, 0, false);
    script_rig_blocks(&r, 1);
    assert_true(r.graph.asks.idle_ms == UINT32_MAX);
}

/* ---- timers ------------------------------------------------------------------------------------ */

/* Script 1 counts in its memory and tells its phase; script 0, which its node runs too, waits for r3 = 1. */
static const char *const set_timer = "eqk r3 1\ncjmp #1\nret\nlabl #1\ncallsys 13\nret\n";
static const char *const on_timer = "copyt r1 r0\nload r3 *p5\ninc r3\nstore *p5 r3\ncals event\nret\n";

static uint32_t fired(uint32_t script)
{
    return tw_get_le32(script_rig_memory(&r, script));
}

static int64_t timer(int64_t op, int64_t ms, int64_t script)
{
    const int64_t args[4] = {op, ms, script, 1};
    return status(script_rig_run(&r, 0, args, 4));
}

static void a_timer_runs_once_at_the_first_boundary_after_its_time(void **state)
{
    (void)state;
    const char *const texts[] = {set_timer, on_timer, NULL};
    script_rig_start(&r, texts);
    script_rig_blocks(&r, 1);
    assert_int_equal(timer(1, 3, 1), 0);
    script_rig_blocks(&r, 1); /* set between two blocks: its time begins with this one */
    const uint64_t begin = r.graph.now_us;
    while (r.graph.now_us < begin + 3000) {
        assert_int_equal(fired(1), 0);
        r.rig.us += 500;
        script_rig_blocks(&r, 1);
    }
    assert_int_equal(fired(1), 1);
    const script_rig_event_t *e = NULL;
    assert_int_equal(script_rig_count(&r, TW_GEV_SCRIPT_EVENT, &e), 1);
    assert_true(e->ev.at == 3 && e->ev.value == 3); /* r0 = 3: the phase */
    r.rig.us += 1000000;
    script_rig_blocks(&r, 3);
    assert_int_equal(fired(1), 1);
}

static void a_timer_set_again_begins_anew_and_can_be_cancelled(void **state)
{
    (void)state;
    const char *const texts[] = {set_timer, on_timer, NULL};
    script_rig_start(&r, texts);
    assert_int_equal(timer(1, 0, 1), 0);
    assert_int_equal(timer(1, 1000, 1), 0);
    assert_int_equal(r.graph.asks.n_timers, 1);
    script_rig_blocks(&r, 3);
    assert_int_equal(fired(1), 0);
    assert_int_equal(timer(2, 0, 1), 0);
    assert_int_equal(timer(2, 0, 1), -TW_E_NOT_FOUND);
    r.rig.us += 2000000;
    script_rig_blocks(&r, 3);
    assert_int_equal(fired(1), 0);
}

/* Each block once, not for ever in one. */
static void a_timer_that_sets_itself_waits_for_the_next_block(void **state)
{
    (void)state;
    const char *const texts[] = {set_timer,
                                 "load r3 *p5\ninc r3\nstore *p5 r3\nmovi int32 r0 1\nmovi int32 r1 0\n"
                                 "movi int32 r2 1\ncallsys 13\nret\n",
                                 NULL};
    script_rig_start(&r, texts);
    assert_int_equal(timer(1, 0, 1), 0);
    script_rig_blocks(&r, 5);
    assert_int_equal(fired(1), 5);
}

static void timers_due_at_once_run_in_the_order_of_their_times(void **state)
{
    (void)state;
    const char *const texts[] = {set_timer, "movi int32 r0 1\ncals event\nret\n", "movi int32 r0 2\ncals event\nret\n",
                                 "movi int32 r0 3\ncals event\nret\n", NULL};
    script_rig_start(&r, texts);
    assert_int_equal(timer(1, 2, 3), 0);
    assert_int_equal(timer(1, 1, 2), 0);
    assert_int_equal(timer(1, 2, 1), 0);
    script_rig_blocks(&r, 1);
    r.rig.us += 10000;
    script_rig_blocks(&r, 1);
    assert_int_equal(script_rig_count(&r, TW_GEV_SCRIPT_EVENT, NULL), 3);
    assert_true(r.events[0].ev.at == 2 && r.events[1].ev.at == 3 && r.events[2].ev.at == 1);
}

static void timers_are_as_many_as_there_are_and_reset_forgets_them(void **state)
{
    (void)state;
    const char *texts[TW_SCRIPT_TIMERS + 3] = {set_timer};
    for (uint32_t i = 1; i < TW_COUNT(texts) - 1; i++) {
        texts[i] = on_timer;
    }
    script_rig_start(&r, texts);
    for (uint32_t i = 1; i <= TW_SCRIPT_TIMERS; i++) {
        assert_int_equal(timer(1, 1, i), 0);
    }
    assert_int_equal(timer(1, 1, TW_SCRIPT_TIMERS + 1), -TW_E_NOMEM);
    tw_graph_reset(&r.graph, true);
    r.rig.us += 10000;
    script_rig_blocks(&r, 2);
    assert_int_equal(r.graph.asks.n_timers, 0);
    for (uint32_t i = 1; i <= TW_SCRIPT_TIMERS; i++) {
        assert_int_equal(fired(i), 0);
    }
}

/* ---- pins, levels, registers ---------------------------------------------------------------------- */

static void pins_are_read_and_written(void **state)
{
    (void)state;
    start("callsys 14\nret\n");
    const int64_t write[3] = {1, 2, 5}, read[2] = {0, 2}, port[1] = {2}, off[3] = {1, 2, 0};
    assert_int_equal(status(script_rig_run(&r, 0, write, 3)), 0);
    assert_int_equal(r.levels, 4);
    assert_int_equal(r.outputs, 4);
    assert_int_equal(tw_script_reg_int(script_rig_run(&r, 0, read, 2), 1), 1);
    r.levels |= 0x180; /* pin 8 is none */
    assert_int_equal(tw_script_reg_int(script_rig_run(&r, 0, port, 1), 1), 0x84);
    assert_int_equal(status(script_rig_run(&r, 0, off, 3)), 0);
    assert_int_equal(r.levels, 0x180);
    r.gpio_fails = TW_E_IO;
    assert_int_equal(status(script_rig_run(&r, 0, write, 3)), -TW_E_IO);
    r.rig.board.gpio = NULL;
    assert_int_equal(status(script_rig_run(&r, 0, read, 2)), -TW_E_UNSUPPORTED);
}

static double level(int64_t what, int64_t arc)
{
    const int64_t args[2] = {what, arc};
    const tw_script_ctx_t *c = script_rig_run(&r, 0, args, 2);
    assert_int_equal(status(c), 0);
    assert_int_equal(c->rt[1], TW_T_FP32);
    return tw_script_reg_real(c, 1);
}

static void levels_are_of_what_waits_or_of_the_last_frame(void **state)
{
    (void)state;
    int16_t frame[RIG_SAMPLES] = {16384, -8192};
    start("callsys 15\nret\n");
    assert_true(level(0, 1) == 0.0 && level(1, 1) == 0.0); /* nothing has passed */
    assert_int_equal(tw_graph_write_arc(&r.graph, 2, (const uint8_t *)frame, RIG_FRAME), RIG_FRAME);
    assert_true(level(0, 2) == 0.5);
    assert_true(level(2, 2) == 0.015625);                        /* 8192 / 32768 / 16 */
    assert_true(level(1, 2) > 0.13975 && level(1, 2) < 0.13976); /* sqrt(0.3125 / 16) */
    frame[3] = -32768;
    assert_int_equal(tw_graph_write_arc(&r.graph, 2, (const uint8_t *)frame, RIG_FRAME), RIG_FRAME);
    assert_true(level(0, 2) == 1.0); /* of both frames */
    tw_arc_t *a = &r.graph.arcs[2];
    tw_arc_consume(a, 2 * RIG_FRAME);
    assert_true(level(0, 2) == 1.0); /* the last frame that passed */
    assert_true(level(2, 2) == (double)(float)((16384 - 8192 - 32768) / 32768.0 / 16));
}

static void debug_registers_are_read_and_written_page_by_page(void **state)
{
    (void)state;
    enum { COUNT = 17, PEAK = 3, FREE = 20 };
    script_rig_open(&r);
    (void)script_rig_add(&r, "callsys 39\nret\n");
    tw_fault_t fault;
    tw_ib_t *b = &r.ib;
    tw_ib_node_script(b, 0, 0);
    const uint32_t n = tw_ib_finish(b, r.img, sizeof r.img);
    const uint32_t arcs = tw_image_section(r.img, TW_SEC_ARCS);
    /* arc 1 counts into register 1 of page 1, arc 3 has its peak in register 3 */
    tw_image_poke(r.img, arcs + 1 * 32 + 16, 15, 10, 1);
    tw_image_poke(r.img, arcs + 1 * 32 + 16, 23, 16, COUNT);
    tw_image_poke(r.img, arcs + 3 * 32 + 16, 15, 10, 10);
    tw_image_poke(r.img, arcs + 3 * 32 + 16, 23, 16, PEAK);
    tw_image_poke(r.img, 14 * 4, 31, 16, 32);
    tw_image_fix(r.img, n);
    r.arena = (tw_arena_t){r.memory, sizeof r.memory, 0};
    const tw_graph_env_t env = {.port = &r.rig.port, .board = &r.rig.board};
    assert_int_equal(tw_graph_check(r.img, n, &r.rig.board, &r.arena, &fault), TW_OK);
    assert_int_equal(tw_graph_load(&r.graph, r.img, &env, &r.arena, &fault), TW_OK);
    script_rig_blocks(&r, 4);
    const tw_script_ctx_t *c = script_rig_run(&r, 0, (const int64_t[]){COUNT, 0, 0}, 3);
    assert_int_equal(status(c), 0);
    assert_int_equal(c->rt[1], TW_T_U64);
    assert_int_equal(tw_script_reg_int(c, 1), 4 * RIG_SAMPLES);
    c = script_rig_run(&r, 0, (const int64_t[]){PEAK, 0, 0}, 3);
    assert_int_equal(c->rt[1], TW_T_FP64);
    assert_true(tw_script_reg_real(c, 1) > 0.0 && tw_script_reg_real(c, 1) < 0.01);
    assert_int_equal(status(script_rig_run(&r, 0, (const int64_t[]){FREE, -5, 1}, 3)), 0);
    uint64_t value = 0;
    assert_true(tw_graph_register(&r.graph, FREE, &value));
    assert_int_equal((int64_t)value, -5);
}

/* ---- the application, the board ------------------------------------------------------------------------ */

static tw_err_t doubles(void *ctx, tw_app_call_t *call)
{
    assert_ptr_equal(ctx, &r);
    call->result = 2 * call->value;
    for (uint32_t i = 0; call->out != NULL && i < call->bytes; i++) {
        call->out[i] = (uint8_t)(call->data[i] + 1);
    }
    return call->code == 9 ? TW_E_BUSY : TW_OK;
}

static void callbacks_of_the_application_are_called(void **state)
{
    (void)state;
    const char *const texts[] = {"copy p0 p5\ncallapp 5\nret\n", "copy p0 p5\ncallsys 3\nret\n", NULL};
    script_rig_start(&r, texts);
    r.apps = (tw_apps_t){.ctx = &r, .fn = {[5] = doubles}};
    const int64_t args[3] = {21, 0, 4}, by_sys[2] = {5, -3}, other[3] = {6, 1, 4};
    script_rig_memory(&r, 0)[3] = 7;
    const tw_script_ctx_t *c = script_rig_run(&r, 0, args, 3);
    assert_int_equal(status(c), 0);
    assert_int_equal(tw_script_reg_int(c, 1), 42);
    assert_int_equal(tw_get_le32(script_rig_memory(&r, 0)), 0x08010101);
    assert_int_equal(tw_script_reg_int(script_rig_run(&r, 1, by_sys, 2), 1), -6);
    assert_int_equal(r.n_events, 0);
    const script_rig_event_t *e = NULL;
    assert_int_equal(status(script_rig_run(&r, 1, other, 3)), 0); /* no callback: an event */
    assert_int_equal(script_rig_count(&r, TW_GEV_APP, &e), 1);
    assert_true(e->ev.at == 6 && e->ev.value == 1 && e->ev.bytes == 4);
    r.apps.any = doubles;
    assert_int_equal(status(script_rig_run(&r, 1, (const int64_t[]){9, 1}, 2)), -TW_E_BUSY);
    assert_int_equal(r.n_events, 1);
    assert_int_equal(r.n_answers, 4);
    assert_true(r.answers[0].from == TW_FROM_APP && r.answers[0].result == 42 && r.answers[0].bytes == 4);
}

static tw_err_t low(void *ctx, uint32_t op, uint64_t address, int64_t *value)
{
    assert_ptr_equal(ctx, &r.rig);
    *value += (int64_t)address;
    return op == 3 ? TW_OK : TW_E_RANGE;
}

/* The image and the device have to say so, both; live replacement keeps to it. */
static void privileged_calls_need_the_image_and_the_device(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        const bool image = (k & 1) != 0, device = (k & 2) != 0;
        tw_fault_t fault = {0};
        script_rig_open(&r);
        const uint32_t script = script_rig_add(&r, "callsys 7\nret\n");
        r.rig.board.low = device ? low : NULL;
        tw_put_le32(r.ib.sec[TW_SEC_SCRIPTS] + 8,
                    tw_get_le32(r.ib.sec[TW_SEC_SCRIPTS] + 8) | tw_put_bits(image, TW_LO(TW_S2_PRIVILEGED)));
        assert_int_equal(script_rig_load(&r, &fault), image && device ? TW_OK : TW_E_SCR_PRIV);
        if (image && device) {
            const tw_script_ctx_t *c = script_rig_run(&r, script, (const int64_t[]){3, 40, 2}, 3);
            assert_int_equal(status(c), 0);
            assert_int_equal(tw_script_reg_int(c, 1), 42);
            assert_int_equal(status(script_rig_run(&r, script, (const int64_t[]){4, 0, 0}, 3)), -TW_E_RANGE);
            assert_int_equal(
                tw_graph_check_script(&r.graph, script, (const uint8_t[]){0x07, 0x03, 0x00, 0xC0}, 4, 0, &fault),
                TW_OK);
            assert_true(r.n_answers == 2 && r.answers[0].from == TW_FROM_LOW);
        }
    }
}

static void settings_of_ios_reach_the_driver_behind_the_block(void **state)
{
    (void)state;
    start("eqk r0 1\ncjmp #1\nret\nlabl #1\nmovi int32 r3 77\ncopy p0 p5\nstore *p5 r3\nmovi int32 r0 1\n"
          "movi int32 r1 1\ncallsys 4\nstore *p5 r0\nret\n");
    script_rig_blocks(&r, 1);
    assert_int_equal(r.rig.sets, 1);
    assert_int_equal(r.rig.settings[4][0], 77);
    assert_int_equal(tw_gauge_get(&r.graph.ios[1].settings[0]), 77);
    r.rig.refuse_settings = TW_E_RANGE;
    script_rig_blocks(&r, 1);
    assert_int_equal((int32_t)tw_get_le32(script_rig_memory(&r, 0)), -TW_E_RANGE);
    r.rig.refuse_settings = TW_OK;
    r.rig.io_refuses = true;
    script_rig_blocks(&r, 1); /* the driver after all: told as an event */
    const script_rig_event_t *e = NULL;
    assert_int_equal(script_rig_count(&r, TW_GEV_IO, &e), 1);
    assert_true(e->ev.at == 4 && e->ev.err == TW_E_UNSUPPORTED);
}

static void a_stopped_io_moves_nothing_until_it_is_started(void **state)
{
    (void)state;
    start("callsys 4\nret\n");
    const int64_t stop[2] = {3, 0}, go[2] = {2, 0}, stop_out[2] = {3, 1};
    script_rig_blocks(&r, 2);
    assert_int_equal(status(script_rig_run(&r, 0, stop, 2)), 0);
    script_rig_blocks(&r, 1); /* taken behind this one */
    const uint32_t reads = r.rig.reads[0];
    script_rig_blocks(&r, 5);
    assert_true(r.graph.ios[0].halted && r.rig.reads[0] == reads);
    assert_int_equal(r.rig.out_bytes[4], 3 * RIG_FRAME);
    assert_int_equal(status(script_rig_run(&r, 0, go, 2)), 0);
    script_rig_blocks(&r, 4);
    assert_int_equal(r.rig.reads[0], reads + 3);
    assert_int_equal(r.rig.out_bytes[4], 6 * RIG_FRAME); /* no burst of what was missed */
    assert_int_equal(status(script_rig_run(&r, 0, stop_out, 2)), 0);
    script_rig_blocks(&r, 3);
    assert_int_equal(r.rig.out_bytes[4], 7 * RIG_FRAME);
    tw_graph_reset(&r.graph, false);
    assert_false(r.graph.ios[1].halted);
}

/* ---- where calls come from --------------------------------------------------------------------------- */

/* While a graph is loaded its script nodes run their phase 0: they reach nothing outside, nothing changes there. */
static void nothing_outside_is_reached_while_a_graph_loads(void **state)
{
    (void)state;
    static const struct {
        unsigned k;
        int64_t r0, r1, r2;
    } cases[] = {{0, 4, 0, 0}, {3, 1, 0, 0}, {4, 3, 0, 0}, {12, 1, 0, 0}, {14, 1, 1, 1}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "movi int32 r0 %d\nmovi int32 r1 %d\nmovi int32 r2 %d\ncallsys %u\nstore *p5 r0\nret\n",
                       (int)cases[i].r0, (int)cases[i].r1, (int)cases[i].r2, cases[i].k);
        start(text);
        assert_int_equal(tw_get_le32(script_rig_memory(&r, 0)), -TW_E_STATE);
        assert_true(r.levels == 0 && r.n_events == 0 && r.n_answers == 0 && !r.graph.asks.stop);
        script_rig_blocks(&r, 1);
        assert_int_equal(tw_get_le32(script_rig_memory(&r, 0)), 0);
    }
}

static bool recalled(void *ctx, tw_answer_t *a)
{
    uint32_t *asked = ctx;
    (*asked)++;
    a->result = 1;
    a->status = 0;
    a->bytes = 0;
    return a->from == TW_FROM_GPIO;
}

/* A replay: the pins are not asked. */
static void an_answer_that_is_recalled_is_not_asked_for(void **state)
{
    (void)state;
    uint32_t asked = 0;
    start("callsys 14\nret\n");
    r.graph.env.host = (tw_graph_host_t){.ctx = &asked, .recall = recalled};
    const int64_t read[2] = {0, 2}, write[3] = {1, 2, 1};
    assert_int_equal(tw_script_reg_int(script_rig_run(&r, 0, read, 2), 1), 1);
    assert_int_equal(status(script_rig_run(&r, 0, write, 3)), 0);
    assert_true(asked == 2 && r.levels == 0);
}

/* Ranges of nodes that other instances may be at are changed behind the block. */
static void with_several_instances_ranges_change_behind_the_block(void **state)
{
    (void)state;
    static tw_crew_t crew;
    const tw_instance_cfg_t cfg[2] = {{.processors = 1}, {.processors = 2}};
    tw_fault_t fault;
    script_rig_open(&r);
    (void)script_rig_add(&r, "eqk r0 1\ncjmp #1\nret\nlabl #1\nmovi int32 r0 2\nmovi int32 r1 1\ncallsys 0\nret\n");
    assert_int_equal(script_rig_load(&r, &fault), TW_OK);
    assert_int_equal(tw_crew_init(&crew, cfg, 2), TW_OK);
    assert_int_equal(tw_graph_share(&r.graph, &crew, &r.arena, &fault), TW_OK);
    crew.instances[1].dead = 1;
    script_rig_blocks(&r, 3);
    assert_int_equal(r.rig.out_bytes[4], RIG_FRAME); /* of the first block */
    assert_int_equal(r.graph.n_flows, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_looked_at),
        cmocka_unit_test(a_script_node_skips_the_nodes_behind_it),
        cmocka_unit_test(locks_and_skips_are_ranges_of_their_own),
        cmocka_unit_test(a_loop_runs_the_nodes_again),
        cmocka_unit_test(a_loop_has_a_range_and_an_end),
        cmocka_unit_test(stop_is_told_to_who_runs_the_blocks),
        cmocka_unit_test(a_use_case_is_taken_behind_the_block_and_told),
        cmocka_unit_test(the_shortest_pause_of_a_block_counts),
        cmocka_unit_test(a_timer_runs_once_at_the_first_boundary_after_its_time),
        cmocka_unit_test(a_timer_set_again_begins_anew_and_can_be_cancelled),
        cmocka_unit_test(a_timer_that_sets_itself_waits_for_the_next_block),
        cmocka_unit_test(timers_due_at_once_run_in_the_order_of_their_times),
        cmocka_unit_test(timers_are_as_many_as_there_are_and_reset_forgets_them),
        cmocka_unit_test(pins_are_read_and_written),
        cmocka_unit_test(levels_are_of_what_waits_or_of_the_last_frame),
        cmocka_unit_test(debug_registers_are_read_and_written_page_by_page),
        cmocka_unit_test(callbacks_of_the_application_are_called),
        cmocka_unit_test(privileged_calls_need_the_image_and_the_device),
        cmocka_unit_test(settings_of_ios_reach_the_driver_behind_the_block),
        cmocka_unit_test(a_stopped_io_moves_nothing_until_it_is_started),
        cmocka_unit_test(nothing_outside_is_reached_while_a_graph_loads),
        cmocka_unit_test(an_answer_that_is_recalled_is_not_asked_for),
        cmocka_unit_test(with_several_instances_ranges_change_behind_the_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
