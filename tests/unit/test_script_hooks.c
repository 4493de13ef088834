/* Where scripts are called from: when, in which order, with which arguments, and what becomes of one that faults. */
#include "tests/support/script_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static script_rig_t r;

/* Tells its arguments and T: an event with tag r0, value 4 r1 + T, and ends with T = 1. */
static const char *const tell = "psht\ncopyt r3 s0\nadd r1 r1\nadd r1 r1\nadd r1 r3\ncals event\nret\n";
/* Never ends. */
static const char *const endless = "labl #1\njmp #1\n";
static const char *const nothing = "movi int32 r1 1\neqk r1 1\nret\n";

typedef struct call {
    int64_t r0, r1;
    int flag;
} call_t;

/* The events since the last look are these calls, in order. */
static void expect(const call_t *calls, uint32_t n, const char *why)
{
    for (uint32_t i = 0; i < n || i < r.n_events; i++) {
        const tw_graph_event_t *e = &r.events[i].ev;
        const bool same = i < n && i < r.n_events && e->kind == TW_GEV_SCRIPT_EVENT && e->at == (uint32_t)calls[i].r0 &&
                          e->value == 4 * calls[i].r1 + calls[i].flag;
        if (!same) {
            fail_msg("%s: call %u of %u: r0 %d, 4 r1 + T %lld", why, i, r.n_events, (int)e->at, (long long)e->value);
        }
    }
    r.n_events = 0;
}

static void load(void)
{
    tw_fault_t fault = {0};
    if (script_rig_load(&r, &fault) != TW_OK) {
        fail_msg("%s at %u", tw_err_name(fault.err), fault.at);
    }
}

static void a_node_has_its_script_called_at_reset_before_and_after(void **state)
{
    (void)state;
    script_rig_open(&r);
    (void)script_rig_add(&r, nothing);
    tw_ib_node_script(&r.ib, 1, script_rig_add(&r, tell));
    load();
    expect((const call_t[]){{0, -1, 1}}, 1, "load: RESET with the image's preset");
    script_rig_blocks(&r, 1);
    expect((const call_t[]){{1, 0, 1}, {2, 0, 0}}, 2, "before and after");
    tw_graph_reset_node(&r.graph, 1, 0, true);
    expect((const call_t[]){{0, 0, 1}}, 1, "a preset of the host");
    tw_graph_reset(&r.graph, false);
    expect((const call_t[]){{0, -1, 1}}, 1, "RESET of the graph");
}

static void a_script_node_is_called_at_reset_and_once_a_block(void **state)
{
    (void)state;
    const char *const texts[] = {tell, NULL};
    script_rig_start(&r, texts);
    expect((const call_t[]){{0, 0, 1}}, 1, "load");
    script_rig_blocks(&r, 2);
    expect((const call_t[]){{1, 0, 1}, {1, 0, 1}}, 2, "two blocks");
}

static void the_debug_script_has_five_hook_points(void **state)
{
    (void)state;
    enum { BEFORE = 1, AFTER = 2, LOOP = 4, START = 8, RETURN = 16 };
    static const struct {
        const char *why;
        uint32_t fields;
        call_t calls[8];
        uint32_t n;
    } cases[] = {
        {"before each node", BEFORE, {{1, 0, 1}, {1, 1, 1}, {1, 2, 1}}, 3},
        {"after each node", AFTER, {{2, 0, 1}, {2, 1, 1}, {2, 2, 1}}, 3},
        {"around each node", BEFORE | AFTER, {{1, 0, 1}, {2, 0, 1}, {1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}}, 6},
        {"end of each pass", LOOP, {{4, -1, 1}, {4, -1, 1}}, 2},
        {"begin and end of the block", START | RETURN, {{8, -1, 1}, {16, -1, 1}}, 2},
        {"start, end of the passes, return",
         START | LOOP | RETURN,
         {{8, -1, 1}, {4, -1, 1}, {4, -1, 1}, {16, -1, 1}},
         4},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        script_rig_open(&r);
        (void)script_rig_add(&r, tell);
        r.own = script_rig_add(&r, nothing);
        r.ib.control = tw_put_bits(cases[i].fields, TW_LO(TW_W7_DEBUG_SCRIPT));
        load();
        r.n_events = 0;
        script_rig_blocks(&r, 1);
        expect(cases[i].calls, cases[i].n, cases[i].why);
    }
}

/* Script 0 is the debug script: its timer runs before it is told of the block's begin. */
static void timers_run_before_the_block_begins(void **state)
{
    (void)state;
    script_rig_open(&r);
    (void)script_rig_add(&r, tell);
    r.own = script_rig_add(&r, nothing);
    const uint32_t set = script_rig_add(&r, "callsys 13\nret\n");
    r.ib.control = tw_put_bits(8, TW_LO(TW_W7_DEBUG_SCRIPT));
    load();
    assert_non_null(script_rig_run(&r, set, (const int64_t[]){1, 0, 0}, 3));
    r.n_events = 0;
    script_rig_blocks(&r, 1);
    expect((const call_t[]){{3, 0, 1}, {8, -1, 1}}, 2, "timer, then begin");
}

/* Policy 3 of an arc, and its script. */
static void arc_script(uint32_t arc, uint32_t script)
{
    tw_ib_arc_policy(&r.ib, arc, 3, 3);
    const uint32_t at = arc * 32 + 16;
    tw_put_le32(r.ib.sec[TW_SEC_ARCS] + at, tw_get_le32(r.ib.sec[TW_SEC_ARCS] + at) | (script + 1) << 24);
}

static void an_arc_asks_its_script_when_it_runs_dry_or_over(void **state)
{
    (void)state;
    script_rig_open(&r);
    (void)script_rig_add(&r, nothing);
    arc_script(1, script_rig_add(&r, tell));
    load();
    r.rig.hole_from = 1, r.rig.hole_to = 2;
    script_rig_blocks(&r, 1);
    expect(NULL, 0, "data came");
    script_rig_blocks(&r, 1);
    assert_true(r.n_events == 2 && r.events[0].ev.kind == TW_GEV_FLOW && r.events[0].ev.value == 0);
    r.events[0] = r.events[1], r.n_events = 1;
    expect((const call_t[]){{1, 0, 0}}, 1, "a hole: r0 arc, r1 0 = dry, T = 0");
    r.graph.nodes[1].flow = 1u << TW_FLOW_SKIP; /* nobody takes anything: the arc of two frames fills */
    tw_graph_bind(&r.graph, 1);
    script_rig_blocks(&r, 3);
    assert_true(r.n_events >= 2 && r.events[0].ev.kind == TW_GEV_FLOW && r.events[0].ev.value == 1);
    assert_true(r.events[1].ev.at == 1 && r.events[1].ev.value == 4);
}

/* ---- faults ------------------------------------------------------------------------------- */

typedef enum hook { ON_NODE, AS_NODE, ON_ARC, BY_TIMER, BY_HOST, BEFORE, AFTER, LOOP, START, RETURN, HOOKS } hook_t;
static const char *const hook_names[HOOKS] = {"before a node", "as a node",    "on an arc",   "by a timer",
                                              "by a host",     "debug before", "debug after", "debug loop",
                                              "debug start",   "debug return"};

static uint32_t build(hook_t hook)
{
    script_rig_open(&r);
    const bool debug = hook >= BEFORE;
    const uint32_t first = script_rig_add(&r, debug || hook == AS_NODE ? endless : nothing);
    const uint32_t bad = debug || hook == AS_NODE ? first : script_rig_add(&r, endless);
    if (debug) {
        r.own = script_rig_add(&r, nothing);
        r.ib.control = tw_put_bits(1u << (hook - BEFORE), TW_LO(TW_W7_DEBUG_SCRIPT));
    }
    const uint32_t set = script_rig_add(&r, "callsys 13\nret\n");
    if (hook == ON_NODE) {
        tw_ib_node_script(&r.ib, 1, bad);
    }
    if (hook == ON_ARC) {
        arc_script(1, bad);
        r.rig.hole_from = 1, r.rig.hole_to = 1000;
    }
    load();
    r.rig.hole_from = r.rig.hole_to = 0;
    if (hook == BY_TIMER) {
        assert_non_null(script_rig_run(&r, set, (const int64_t[]){1, 0, bad}, 3));
    }
    return bad;
}

static void fault_once(hook_t hook, uint32_t bad)
{
    if (hook == ON_ARC) {
        r.rig.hole_from = r.rig.reads[0], r.rig.hole_to = r.rig.reads[0] + 1;
    }
    if (hook == BY_HOST) {
        assert_null(script_rig_run(&r, bad, NULL, 0));
    }
    script_rig_blocks(&r, 4);
}

/* Wherever it is called from: disabled, counted, told once; the graph goes on as if it were absent, T = 1. */
static void a_script_that_faults_is_isolated_wherever_it_is_called(void **state)
{
    (void)state;
    for (hook_t hook = ON_NODE; hook < HOOKS; hook++) {
        const uint32_t bad = build(hook);
        const tw_graph_script_t *s = &r.graph.scripts[bad];
        const bool at_load = hook == ON_NODE || hook == AS_NODE; /* phase 0 */
        assert_int_equal(tw_gauge_get(&s->faults), at_load);
        fault_once(hook, bad);
        const script_rig_event_t *e = NULL;
        const uint32_t told = script_rig_count(&r, TW_GEV_SCRIPT_FAULT, &e);
        if (told != 1 || tw_gauge_get(&s->faults) != 1 || tw_gauge_get(&s->disabled) == 0 || e->ev.at != bad ||
            e->ev.err != TW_E_SCR_BUDGET || r.rig.out_bytes[4] != 4 * RIG_FRAME) {
            fail_msg("%s: told %u, faults %u, %u bytes out", hook_names[hook], told, tw_gauge_get(&s->faults),
                     r.rig.out_bytes[4]);
        }
        if (hook == BY_TIMER) {
            continue; /* it has fired */
        }
        tw_graph_enable_script(&r.graph, bad, true);
        fault_once(hook, bad);
        assert_int_equal(tw_gauge_get(&s->faults), 2);
        tw_graph_reset(&r.graph, false);
        assert_int_equal(tw_gauge_get(&s->disabled), at_load); /* enabled by RESET, and those of phase 0 fault there */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_has_its_script_called_at_reset_before_and_after),
        cmocka_unit_test(a_script_node_is_called_at_reset_and_once_a_block),
        cmocka_unit_test(the_debug_script_has_five_hook_points),
        cmocka_unit_test(timers_run_before_the_block_begins),
        cmocka_unit_test(an_arc_asks_its_script_when_it_runs_dry_or_over),
        cmocka_unit_test(a_script_that_faults_is_isolated_wherever_it_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
