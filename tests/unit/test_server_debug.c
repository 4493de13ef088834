/* The script debugger over the wire: who has it, what is refused, waiting for a stop, and what a lost client leaves. */
#include "tests/unit/server_rig.h"

static bench_t b;
static wire_client_t *w;

/* movi int16 r1 1; addk r1 2; ret. Runs around the amplifier in every block. */
static const uint16_t counts[] = {0x2102, 0x0001, 0x4102, 0xC000};
static uint8_t img[32768];

static int open_bench(void **state)
{
    (void)state;
    static tw_ib_t ib;
    bench_open(&b);
    w = bench_client(&b);
    rig_chain_open(&ib);
    (void)tw_ib_script(&ib, counts, TW_COUNT(counts), 2, 1, 2);
    tw_ib_node_script(&ib, AMP, 0);
    tunewire_v1_GraphInfo info;
    assert_int_equal(bench_load(w, img, tw_ib_finish(&ib, img, sizeof img), &info), 0);
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_leave(w);
    bench_close(&b);
    return 0;
}

static tunewire_v1_DebugState last;

static int attach(wire_client_t *c, uint32_t lease_ms)
{
    const tunewire_v1_DebugAttach q = {.lease_ms = lease_ms};
    return wire_call(c, TW_M_Script_Attach, PB(DebugAttach), &q, PB(DebugState), &last);
}

static int go(wire_client_t *c, tunewire_v1_DebugGo_Op op, uint32_t wait_ms)
{
    const tunewire_v1_DebugGo q = {.op = op, .wait_ms = wait_ms};
    return wire_call(c, TW_M_Script_Go, PB(DebugGo), &q, PB(DebugState), &last);
}

static int look(wire_client_t *c)
{
    const tunewire_v1_DebugRef q = {0};
    return wire_call(c, TW_M_Script_State, PB(DebugRef), &q, PB(DebugState), &last);
}

static int break_at(wire_client_t *c, uint32_t script, uint32_t at)
{
    const tunewire_v1_DebugBreak q = {
        .op = tunewire_v1_DebugBreak_Op_SET,
        .has_breakpoint = true,
        .breakpoint = {.kind = tunewire_v1_DebugBreakpoint_Kind_PC, .script = script, .at = at}};
    return wire_call(c, TW_M_Script_Break, PB(DebugBreak), &q, NULL, NULL);
}

static void a_script_is_held_looked_at_changed_and_let_go(void **state)
{
    (void)state;
    assert_int_equal(attach(w, 0), 0);
    assert_int_equal(last.state, TW_DEBUG_FREE);
    assert_int_equal(break_at(w, 0, 4), 0);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_CONTINUE, 1000), 0);
    assert_int_equal(last.state, TW_DEBUG_HELD);
    assert_string_equal(last.text, "breakpoint");
    assert_int_equal(last.r_count, 6);
    assert_int_equal(last.r[1], 1);
    assert_int_equal(last.r_types.bytes[1], TW_T_I16);
    assert_int_equal(last.frames_count, 1);
    assert_int_equal(last.frames[0].pc, 4);
    const tunewire_v1_DebugPoke set = {.index = 1, .type = TW_T_I16, .bits = 40};
    assert_int_equal(wire_call(w, TW_M_Script_Poke, PB(DebugPoke), &set, PB(DebugState), &last), 0);
    assert_int_equal(last.r[1], 40);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_STEP, 1000), 0);
    assert_int_equal(last.r[1], 42);
    assert_int_equal(last.frames[0].pc, 6);
    const tunewire_v1_DebugPeek code = {.space = tunewire_v1_DebugPeek_Space_CODE, .bytes = 100};
    tunewire_v1_DebugData data = tunewire_v1_DebugData_init_zero;
    assert_int_equal(wire_call(w, TW_M_Script_Peek, PB(DebugPeek), &code, PB(DebugData), &data), 0);
    assert_int_equal(data.data.size, sizeof counts);
    const tunewire_v1_DebugBreak none = {.op = tunewire_v1_DebugBreak_Op_CLEAR}; /* or the next call meets it */
    assert_int_equal(wire_call(w, TW_M_Script_Break, PB(DebugBreak), &none, NULL, NULL), 0);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_FINISH, 1000), 0);
    assert_int_equal(last.state, TW_DEBUG_FREE);
    assert_int_equal(last.why, TW_STOP_ENDED);
    const tunewire_v1_DebugDetach detach = {0};
    assert_int_equal(wire_call(w, TW_M_Script_Detach, PB(DebugDetach), &detach, NULL, NULL), 0);
    assert_int_equal(look(w), tunewire_v1_Code_FAILED_PRECONDITION);
}

static void what_is_wrong_is_refused_where_it_is(void **state)
{
    (void)state;
    assert_int_equal(look(w), tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(attach(w, 600001), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(attach(w, 0), 0);
    assert_int_equal(break_at(w, 7, 0), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(break_at(w, 0x10000, 0), tunewire_v1_Code_NOT_FOUND);
    assert_int_equal(break_at(w, 0, 2), tunewire_v1_Code_INVALID_ARGUMENT); /* the literal */
    assert_int_equal(wire_status(w)->where, 2);
    assert_non_null(strstr(wire_status(w)->text, "literal"));
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_STEP, 0), tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(go(w, (tunewire_v1_DebugGo_Op)9, 0), tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_HOLD, 10001), tunewire_v1_Code_OUT_OF_RANGE);
    const tunewire_v1_DebugPoke set = {.index = 9, .type = TW_T_I16};
    assert_int_equal(wire_call(w, TW_M_Script_Poke, PB(DebugPoke), &set, NULL, NULL),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_HOLD, 1000), 0);
    assert_int_equal(last.why, TW_STOP_ASKED);
    assert_int_equal(wire_call(w, TW_M_Script_Poke, PB(DebugPoke), &set, NULL, NULL),
                     tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_equal(wire_status(w)->where, 9);
    const tunewire_v1_DebugPeek peek = {.space = (tunewire_v1_DebugPeek_Space)5};
    assert_int_equal(wire_call(w, TW_M_Script_Peek, PB(DebugPeek), &peek, NULL, NULL),
                     tunewire_v1_Code_INVALID_ARGUMENT);
}

static void one_client_debugs_and_others_hear_who(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    assert_int_equal(attach(w, 0), 0);
    assert_int_equal(attach(other, 0), tunewire_v1_Code_BUSY);
    assert_non_null(strstr(wire_status(other)->text, "debugged by"));
    assert_int_equal(look(other), tunewire_v1_Code_BUSY);
    assert_int_equal(break_at(w, 0, 0), 0);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_CONTINUE, 1000), 0);
    bench_leave(w); /* vanishes while it holds a script */
    wire_pump_n(other, 20);
    assert_int_equal(attach(other, 0), 0);
    assert_int_equal(last.state, TW_DEBUG_FREE);
    const tunewire_v1_DebugBreak list = {0};
    const uint32_t id = wire_send(other, TW_M_Script_Break, PB(DebugBreak), &list);
    assert_int_equal(wire_wait(other, id), 0);
    assert_int_equal(other->replies[id % 256].len, 0);
    tw_engine_script_t before, after;
    assert_int_equal(tw_engine_script(b.rig.engine, 0, &before), TW_OK);
    wire_pump_n(other, 20);
    assert_int_equal(tw_engine_script(b.rig.engine, 0, &after), TW_OK);
    assert_true(after.runs > before.runs + 10 && !after.disabled); /* nothing of the other's is left */
    w = other;
}

static void a_silent_debugger_is_detached_at_the_end_of_its_lease(void **state)
{
    (void)state;
    assert_int_equal(attach(w, 50), 0);
    assert_int_equal(break_at(w, 0, 4), 0);
    b.rig.us += 60000;
    wire_pump_n(w, 3);
    assert_int_equal(look(w), tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(attach(w, 0), 0);
    assert_int_equal(last.state, TW_DEBUG_FREE);
}

static void a_wait_ends_with_its_time_and_says_how_things_stand(void **state)
{
    (void)state;
    assert_int_equal(attach(w, 0), 0);
    assert_int_equal(go(w, tunewire_v1_DebugGo_Op_CONTINUE, 5), 0);
    assert_int_equal(last.state, TW_DEBUG_FREE);
}

static void a_swap_ends_the_wait_and_the_debugger(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    const tunewire_v1_DebugGo q = {.op = tunewire_v1_DebugGo_Op_CONTINUE, .wait_ms = 10000};
    assert_int_equal(attach(w, 0), 0);
    const uint32_t id = wire_send(w, TW_M_Script_Go, PB(DebugGo), &q);
    wire_pump_n(w, 5);
    bench_chain(other);
    assert_int_equal(wire_wait(w, id), tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(look(w), tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(attach(other, 0), 0);
    bench_leave(other);
}

/* ---- trace ----------------------------------------------------------------------------- */

static wire_stream_t *trace(wire_client_t *c, const tunewire_v1_ScriptTrace *q)
{
    assert_int_equal(wire_call(c, TW_M_Script_Trace, PB(ScriptTrace), q, NULL, NULL), 0);
    wire_stream_t *st = wire_stream(c, wire_last_stream(c));
    assert_non_null(st);
    return st;
}

static tunewire_v1_Event newest(const wire_stream_t *st)
{
    tunewire_v1_Event m = tunewire_v1_Event_init_zero;
    assert_int_equal(tw_rpc_decode(st->data + st->last_at, st->last_len, PB(Event), &m), TW_OK);
    return m;
}

static void instructions_and_stops_are_traced_for_who_follows(void **state)
{
    (void)state;
    const tunewire_v1_ScriptTrace every = {.index = 0, .kinds = 1u << TW_TRACE_INSTRUCTION};
    const tunewire_v1_ScriptTrace stops = {.all = true};
    wire_stream_t *instructions = trace(w, &every);
    wire_pump_n(w, 10);
    assert_true(instructions->frames >= 12);
    const tunewire_v1_Event m = newest(instructions);
    assert_int_equal(m.kind, TW_TRACE_INSTRUCTION);
    assert_int_equal(m.script, 0);
    assert_true(m.seq > 12 && m.tick > 3);
    assert_true(strstr(m.text, "ret") != NULL || strstr(m.text, "r1 = ") != NULL);
    wire_client_t *other = bench_client(&b);
    wire_stream_t *told = trace(other, &stops);
    wire_pump_n(other, 10);
    assert_int_equal(told->frames, 0);
    assert_int_equal(attach(w, 0), 0);
    assert_int_equal(break_at(w, 0, 4), 0);
    wire_pump_n(other, 10);
    assert_int_equal(told->frames, 1);
    assert_int_equal(newest(told).kind, TW_TRACE_STOP);
    assert_int_equal(newest(told).where, 4);
    assert_string_equal(newest(told).text, "breakpoint");
    bench_leave(other);
}

static void a_follower_without_credit_is_told_what_it_missed(void **state)
{
    (void)state;
    const tunewire_v1_ScriptTrace every = {.kinds = 1u << TW_TRACE_INSTRUCTION};
    w->no_credit = true;
    wire_stream_t *st = trace(w, &every);
    wire_pump_n(w, 200);
    const uint32_t frames = st->frames;
    assert_true(frames > 0 && frames < 200);
    assert_int_equal(newest(st).lost, 0);
    w->no_credit = false;
    assert_int_equal(
        wire_call(w, TW_M_Script_Trace, PB(ScriptTrace), &(tunewire_v1_ScriptTrace){.index = 5}, NULL, NULL),
        tunewire_v1_Code_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_script_is_held_looked_at_changed_and_let_go, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_refused_where_it_is, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(one_client_debugs_and_others_hear_who, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_silent_debugger_is_detached_at_the_end_of_its_lease, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_wait_ends_with_its_time_and_says_how_things_stand, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_swap_ends_the_wait_and_the_debugger, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(instructions_and_stops_are_traced_for_who_follows, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_follower_without_credit_is_told_what_it_missed, open_bench, close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
