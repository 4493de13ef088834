/* The script debugger in the engine: what holds a call, what the graph does meanwhile, and what ends it. */
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { AMP = 1, GAIN_DB = 6 };
static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;

/* 0: before the amplifier. 0000 movi, 0004 addk, 0006 call, 0008 ret; 000a labl, 000c addk, 000e ret */
static const char counts[] = "movi int16 r1 1\naddk r1 2\ncall #1\nret\nlabl #1\naddk r1 4\nret\n";
/* 1: calls script 2, which adds 10 to r1 */
static const char calls[] = "movi int32 r1 5\ncallscript 2\naddk r1 1\nret\n";
static const char adds[] = "addk r1 10\nret\n";
/* 3: counts in its memory: 0000 load, 0002 inc, 0004 pbase, 0006 store, 0008 ret */
static const char remembers[] = "movi int32 r1 0\npbase p0 r1\nload r1 *p0\ninc r1\nstore *p0 r1\nret\n";
/* 4: brk */
static const char breaks[] = "addk r0 1\nbrk 7\naddk r0 1\nret\n";
/* 5: for ever */
static const char forever[] = "labl #1\naddk r1 1\njmp #1\n";
/* 6: trace and event */
static const char tells[] =
    "movi int32 r0 9\nmovi int32 r1 5\nmovi int32 r2 0\ncals trace\nmovi int32 r0 3\ncals event\nret\n";

static uint32_t add(const char *text, uint32_t ptrs)
{
    static tw_asm_out_t out;
    uint16_t words[64];
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%u: %s", out.diags[0].line, out.diags[0].text);
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    return tw_ib_script(&ib, words, out.code_bytes / 2, 3, ptrs, 2);
}

static void build(int before_amp)
{
    rig_chain_open(&ib);
    (void)add(counts, 1);
    (void)add(calls, 1);
    (void)add(adds, 1);
    tw_ib_script_memory(&ib, add(remembers, 1), false);
    (void)add(breaks, 1);
    (void)add(forever, 1);
    (void)add(tells, 1);
    if (before_amp >= 0) {
        tw_ib_node_script(&ib, AMP, (uint32_t)before_amp);
    }
}

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
}

/* Script `before_amp` runs before and after the amplifier in every block. */
static void open_graph(int before_amp)
{
    build(before_amp);
    rig_open(&rig, 1 << 13, 1 << 15);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    ticks(2);
}

static uint8_t got[4096];
static uint32_t got_bytes;

static tw_err_t command(const tw_debug_cmd_t *q)
{
    tw_engine_reply_t x;
    const tw_err_t err = tw_engine_put_debug(rig.engine, 5, q);
    if (err != TW_OK) {
        tw_engine_drop(rig.engine);
        return err;
    }
    (void)tw_engine_publish(rig.engine);
    (void)tw_engine_tick(rig.engine);
    assert_true(rig_reply(&rig, 5, &x, got, sizeof got));
    got_bytes = x.bytes;
    return x.err;
}

static tw_err_t simple(tw_debug_op_t op, uint16_t script, uint32_t a)
{
    const tw_debug_cmd_t q = {.op = (uint8_t)op, .script = script, .a = a};
    return command(&q);
}

static tw_debug_state_t state_now(void)
{
    tw_debug_state_t s;
    assert_int_equal(simple(TW_DBG_STATE, 0, 0), TW_OK);
    assert_int_equal(got_bytes, sizeof s);
    memcpy(&s, got, sizeof s);
    return s;
}

static void attach(uint8_t flags)
{
    const tw_debug_cmd_t q = {.op = TW_DBG_ATTACH, .flags = flags};
    assert_int_equal(command(&q), TW_OK);
}

static uint32_t set_break(const tw_debug_break_t *b, tw_err_t want)
{
    const tw_debug_cmd_t q = {.op = TW_DBG_BREAK_SET, .brk = *b};
    tw_debug_break_t made = {0};
    assert_int_equal(command(&q), want);
    if (want == TW_OK) {
        memcpy(&made, got, sizeof made);
    }
    return made.number;
}

static uint32_t break_at(uint16_t script, uint32_t at)
{
    return set_break(&(tw_debug_break_t){.kind = TW_BREAK_PC, .script = script, .at = at}, TW_OK);
}

static tw_debug_break_t nth_break(uint32_t i)
{
    tw_debug_break_t b;
    assert_int_equal(simple(TW_DBG_BREAK_LIST, 0, 0), TW_OK);
    assert_true(got_bytes >= (i + 1) * sizeof b);
    memcpy(&b, got + i * sizeof b, sizeof b);
    return b;
}

static tw_debug_state_t held_at(uint16_t script, uint32_t pc, tw_debug_stop_t why)
{
    const tw_debug_state_t s = state_now();
    assert_int_equal(s.state, TW_DEBUG_HELD);
    assert_int_equal(s.why, why);
    assert_int_equal(s.frames[0].script, script);
    assert_int_equal(s.frames[0].pc, pc);
    return s;
}

static tw_err_t run(uint32_t script, int64_t r0)
{
    tw_engine_reply_t x;
    uint8_t data[64];
    assert_int_equal(tw_engine_put_run(rig.engine, 6, script, &r0, 1, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    (void)tw_engine_tick(rig.engine);
    assert_true(rig_reply(&rig, 6, &x, data, sizeof data));
    return x.err;
}

/* ---- holding ------------------------------------------------------------------------------- */

static void a_breakpoint_holds_the_call_and_the_graph_goes_on_without_it(void **state)
{
    (void)state;
    open_graph(0);
    attach(0);
    assert_int_equal(break_at(0, 4), 1);
    ticks(2);
    tw_debug_state_t s = held_at(0, 4, TW_STOP_BREAK);
    assert_int_equal(s.number, 1);
    assert_int_equal(s.entry, 0);
    assert_int_equal(s.r[0].bits, 1); /* phase before */
    assert_int_equal(s.r[1].bits, 1);
    assert_int_equal(s.r[1].type, TW_T_I16);
    assert_int_equal(s.flag, 1);
    assert_int_equal(s.used, 1);
    assert_int_equal(s.n_frames, 1);
    const uint32_t missed = s.missed, out = rig.out_bytes[4];
    ticks(10);
    s = state_now();                             /* its own block comes after the answer */
    assert_int_equal(s.missed - missed, 2 * 11); /* before and after, each block */
    assert_int_equal(rig.out_bytes[4] - out, 11 * RIG_FRAME);
    rig_close(&rig);
}

static void outputs_are_those_of_a_graph_without_the_script(void **state)
{
    (void)state;
    static uint8_t plain[RIG_OUT_MAX];
    for (int with = 0; with < 2; with++) {
        open_graph(with ? 0 : -1);
        if (with) {
            attach(0);
            (void)break_at(0, 0);
        } else {
            ticks(2);
        }
        ticks(100);
        if (with) {
            assert_int_equal(held_at(0, 0, TW_STOP_BREAK).state, TW_DEBUG_HELD);
            assert_memory_equal(plain, rig.out[4], 104 * RIG_FRAME);
        } else {
            memcpy(plain, rig.out[4], sizeof plain);
        }
        rig_close(&rig);
    }
}

static const struct {
    const char *why;
    tw_debug_op_t op;
    uint32_t from, a; /* breakpoint; argument */
    uint32_t to;
    int r1;
    unsigned frames;
} steps[] = {
    {"one instruction", TW_DBG_STEP, 0, 0, 4, 1, 1},
    {"two", TW_DBG_STEP, 0, 2, 6, 3, 1},
    {"into the routine", TW_DBG_STEP, 6, 1, 10, 3, 2},
    {"over the routine", TW_DBG_NEXT, 6, 0, 8, 7, 1},
    {"over what is no call", TW_DBG_NEXT, 4, 0, 6, 3, 1},
    {"out of the routine", TW_DBG_FINISH, 12, 0, 8, 7, 1},
    {"next at the end of a routine comes back", TW_DBG_NEXT, 14, 0, 8, 7, 1},
    {"to an address", TW_DBG_UNTIL, 0, 14, 14, 7, 2},
};

static void steps_go_where_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(steps); i++) {
        open_graph(-1);
        attach(0);
        (void)break_at(0, steps[i].from);
        assert_int_equal(run(0, 0), TW_E_SCR_HELD);
        (void)held_at(0, steps[i].from, TW_STOP_BREAK);
        assert_int_equal(simple(steps[i].op, 0, steps[i].a), TW_OK);
        ticks(1);
        const tw_debug_state_t s = state_now();
        if (s.state != TW_DEBUG_HELD || s.why != TW_STOP_STEP || s.frames[0].pc != steps[i].to ||
            (int)s.r[1].bits != steps[i].r1 || s.n_frames != steps[i].frames) {
            fail_msg("%s: state %u at %u, r1 %d", steps[i].why, s.state, (unsigned)s.frames[0].pc, (int)s.r[1].bits);
        }
        rig_close(&rig);
    }
}

static void a_step_onto_a_breakpoint_says_so(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    (void)break_at(0, 0);
    assert_int_equal(break_at(0, 4), 2);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD);
    assert_int_equal(simple(TW_DBG_STEP, 0, 1), TW_OK);
    ticks(1);
    assert_int_equal(held_at(0, 4, TW_STOP_BREAK).number, 2);
    rig_close(&rig);
}

static void a_call_goes_on_to_its_end(void **state)
{
    (void)state;
    tw_engine_script_t info;
    open_graph(-1);
    attach(0);
    (void)break_at(0, 12);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD); /* missed */
    const tw_debug_state_t before = state_now();
    assert_int_equal(before.missed, 1);
    assert_int_equal(before.frames[1].pc, 8);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK);
    ticks(1);
    const tw_debug_state_t s = state_now();
    assert_int_equal(s.state, TW_DEBUG_FREE);
    assert_int_equal(s.why, TW_STOP_ENDED);
    assert_int_equal(s.stops, before.stops + 1);
    assert_int_equal(s.entry, TW_DEBUG_NOBODY);
    assert_int_equal(tw_engine_script(rig.engine, 0, &info), TW_OK);
    assert_int_equal(info.runs, 1);
    assert_int_equal(info.faults, 0);
    assert_int_equal(simple(TW_DBG_STEP, 0, 1), TW_E_STATE);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD); /* and again */
    rig_close(&rig);
}

static void frames_of_other_scripts_are_shown_and_stepped_out_of(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    (void)break_at(2, 0);
    assert_int_equal(run(1, 0), TW_E_SCR_HELD);
    tw_debug_state_t s = held_at(2, 0, TW_STOP_BREAK);
    assert_int_equal(s.entry, 1);
    assert_int_equal(s.n_frames, 2);
    assert_int_equal(s.frames[0].callscript, 1);
    assert_int_equal(s.frames[1].script, 1);
    assert_int_equal(s.frames[1].pc, 8);
    assert_int_equal(run(2, 0), TW_E_SCR_HELD); /* part of the held call */
    assert_int_equal(simple(TW_DBG_FINISH, 0, 0), TW_OK);
    ticks(1);
    s = held_at(1, 8, TW_STOP_STEP);
    assert_int_equal(s.r[1].bits, 15);
    rig_close(&rig);
}

/* ---- breakpoints ------------------------------------------------------------------------------ */

static void conditions_counts_and_temporary_breakpoints(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    const tw_debug_break_t when = {.kind = TW_BREAK_PC,
                                   .script = 0,
                                   .at = 4,
                                   .if_op = TW_IF_GT,
                                   .if_type = TW_T_FP64,
                                   .if_bits = 0x4008000000000000u /* 3.0 */};
    assert_int_equal(set_break(&when, TW_OK), 1);
    assert_int_equal(run(0, 3), TW_OK);
    assert_int_equal(run(0, 4), TW_E_SCR_HELD);
    assert_int_equal(nth_break(0).hits, 1);
    assert_int_equal(simple(TW_DBG_DROP, 0, 0), TW_OK);
    assert_int_equal(state_now().why, TW_STOP_DROPPED);
    tw_debug_break_t third = {
        .kind = TW_BREAK_PC, .script = 0, .at = 4, .skip = 2, .number = 1, .flags = TW_BREAK_ONCE};
    assert_int_equal(set_break(&third, TW_OK), 1);
    assert_int_equal(run(0, 0), TW_OK);
    assert_int_equal(run(0, 0), TW_OK);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD);
    assert_int_equal(simple(TW_DBG_BREAK_LIST, 0, 0), TW_OK);
    assert_int_equal(got_bytes, 0);
    rig_close(&rig);
}

static void watches_hold_after_the_instruction_that_changed_the_value(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    const tw_debug_break_t reg = {.kind = TW_BREAK_VALUE,
                                  .script = 0,
                                  .what = 1,
                                  .if_what = 1,
                                  .if_op = TW_IF_GT,
                                  .if_type = TW_T_I64,
                                  .if_bits = 5};
    assert_int_equal(set_break(&reg, TW_OK), 1);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD);
    assert_int_equal(held_at(0, 14, TW_STOP_WATCH).r[1].bits, 7);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK);
    const tw_debug_break_t memory = {.kind = TW_BREAK_MEMORY, .script = 3, .at = 0, .bytes = 4};
    assert_int_equal(set_break(&memory, TW_OK), 2);
    assert_int_equal(run(3, 0), TW_E_SCR_HELD);
    assert_int_equal(held_at(3, 14, TW_STOP_WATCH).number, 2);
    rig_close(&rig);
}

static void what_cannot_be_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        tw_debug_break_t b;
        tw_err_t want;
    } rows[] = {
        {"no such script", {.kind = TW_BREAK_PC, .script = 99}, TW_E_SCRIPT_NONE},
        {"inside a literal", {.kind = TW_BREAK_PC, .at = 2}, TW_E_SCR_BAD_TARGET},
        {"odd", {.kind = TW_BREAK_PC, .at = 5}, TW_E_SCR_BAD_TARGET},
        {"behind the end", {.kind = TW_BREAK_PC, .at = 16}, TW_E_SCR_BAD_TARGET},
        {"far behind it", {.kind = TW_BREAK_PC, .at = 0xFFFFFFFE}, TW_E_SCR_BAD_TARGET},
        {"no such register", {.kind = TW_BREAK_VALUE, .what = 6}, TW_E_SCR_BAD_REG},
        {"no such register in a condition", {.kind = TW_BREAK_PC, .if_what = 18, .if_op = 1}, TW_E_SCR_BAD_REG},
        {"no such comparison", {.kind = TW_BREAK_PC, .if_op = 7}, TW_E_ARG},
        {"no such type", {.kind = TW_BREAK_PC, .if_op = 1, .if_type = 16}, TW_E_SCR_BAD_TYPE},
        {"no memory", {.kind = TW_BREAK_MEMORY, .bytes = 4}, TW_E_SCR_BAD_PTR},
        {"three bytes", {.kind = TW_BREAK_MEMORY, .script = 3, .bytes = 3}, TW_E_SCR_BAD_PTR},
        {"behind the memory", {.kind = TW_BREAK_MEMORY, .script = 3, .bytes = 4, .at = 0xFFFFFFFF}, TW_E_SCR_BAD_PTR},
        {"no such kind", {.kind = 9}, TW_E_ARG},
        {"no such flag", {.kind = TW_BREAK_PC, .flags = 8}, TW_E_ARG},
        {"no such number", {.kind = TW_BREAK_PC, .number = 3}, TW_E_NOT_FOUND},
    };
    open_graph(-1);
    assert_int_equal(simple(TW_DBG_STATE, 0, 0), TW_E_STATE); /* nobody is attached */
    attach(0);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const tw_debug_cmd_t q = {.op = TW_DBG_BREAK_SET, .brk = rows[i].b};
        const tw_err_t err = command(&q);
        if (err != rows[i].want) {
            fail_msg("%s: %s", rows[i].why, tw_err_name(err));
        }
    }
    assert_int_equal(simple(TW_DBG_BREAK_LIST, 0, 0), TW_OK);
    assert_int_equal(got_bytes, 0);
    for (unsigned i = 0; i < TW_DEBUG_BREAKS; i++) {
        assert_int_equal(break_at(0, 0), i + 1);
    }
    (void)set_break(&(tw_debug_break_t){.kind = TW_BREAK_PC}, TW_E_NOMEM);
    assert_int_equal(simple(TW_DBG_BREAK_CLEAR, 0, 17), TW_E_NOT_FOUND);
    assert_int_equal(simple(TW_DBG_BREAK_CLEAR, 0, 0), TW_OK);
    assert_int_equal(simple(TW_DBG_UNTIL, 0, 2), TW_E_STATE);
    assert_int_equal(simple(TW_DBG_DROP, 0, 0), TW_E_STATE);
    assert_int_equal(simple(TW_DBG_HOLD, 99, 0), TW_E_SCRIPT_NONE);
    assert_int_equal(simple((tw_debug_op_t)77, 0, 0), TW_E_ARG);
    rig_close(&rig);
}

static void brk_holds_while_somebody_is_attached(void **state)
{
    (void)state;
    open_graph(-1);
    assert_int_equal(run(4, 0), TW_OK);
    attach(0);
    assert_int_equal(run(4, 0), TW_E_SCR_HELD);
    assert_int_equal(held_at(4, 4, TW_STOP_BRK).number, 7);
    assert_int_equal(simple(TW_DBG_DETACH, 0, 0), TW_OK);
    assert_int_equal(run(4, 0), TW_OK);
    rig_close(&rig);
}

static void a_script_without_breakpoints_runs_at_full_speed(void **state)
{
    (void)state;
    open_graph(0);
    attach(0);
    (void)break_at(3, 0); /* nobody calls 3 */
    ticks(10);
    assert_int_equal(run(1, 0), TW_OK);
    /* A trace of instructions would show each that was run alone. */
    tw_debug_cmd_t q = {.op = TW_DBG_TRACE, .a = 1u << TW_TRACE_INSTRUCTION, .mask = {1u << 3}};
    const uint8_t *data;
    assert_int_equal(command(&q), TW_OK);
    ticks(5);
    assert_null(tw_engine_trace(rig.engine, &data));
    q.mask[0] = 1u << 2; /* 1 calls it */
    assert_int_equal(command(&q), TW_OK);
    assert_int_equal(run(1, 0), TW_OK);
    const tw_trace_t *t = tw_engine_trace(rig.engine, &data);
    assert_non_null(t);
    assert_int_equal(t->script, 2);
    assert_int_equal(t->value, 15);
    rig_close(&rig);
}

/* ---- looking and changing ------------------------------------------------------------------------ */

static void values_may_be_changed_while_held(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    (void)break_at(0, 4);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD);
    tw_debug_cmd_t q = {.op = TW_DBG_SET, .a = 1, .b = TW_T_I16, .bits = 100};
    assert_int_equal(command(&q), TW_OK);
    q = (tw_debug_cmd_t){.op = TW_DBG_SET, .a = TW_LOOK_T, .b = TW_T_U8, .bits = 0};
    assert_int_equal(command(&q), TW_OK);
    q = (tw_debug_cmd_t){.op = TW_DBG_SET, .a = TW_LOOK_LC, .b = TW_T_I32, .bits = 3};
    assert_int_equal(command(&q), TW_OK);
    q = (tw_debug_cmd_t){.op = TW_DBG_SET, .a = TW_LOOK_S0, .b = TW_T_I32};
    assert_int_equal(command(&q), TW_E_SCR_BAD_REG); /* the stack is empty */
    q = (tw_debug_cmd_t){.op = TW_DBG_SET, .a = TW_LOOK_USED, .b = TW_T_I32};
    assert_int_equal(command(&q), TW_E_SCR_BAD_REG);
    q = (tw_debug_cmd_t){.op = TW_DBG_SET, .a = 0, .b = TW_T_PTR};
    assert_int_equal(command(&q), TW_E_SCR_BAD_TYPE);
    q.b = 16;
    assert_int_equal(command(&q), TW_E_SCR_BAD_TYPE);
    assert_int_equal(simple(TW_DBG_NEXT, 0, 0), TW_OK);
    ticks(1);
    const tw_debug_state_t s = held_at(0, 6, TW_STOP_STEP);
    assert_int_equal(s.r[1].bits, 102);
    assert_int_equal(s.flag, 0);
    assert_int_equal(s.lc, 3);
    rig_close(&rig);
}

static void memory_is_read_and_written_inside_its_bounds(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    assert_int_equal(run(3, 0), TW_OK);
    tw_debug_cmd_t q = {.op = TW_DBG_PEEK, .space = TW_SPACE_MEMORY, .script = 3, .b = 4};
    assert_int_equal(command(&q), TW_OK);
    assert_int_equal(got_bytes, 4);
    assert_int_equal(tw_get_le32(got), 1);
    q = (tw_debug_cmd_t){.op = TW_DBG_POKE, .space = TW_SPACE_MEMORY, .script = 3, .b = 4, .data = {41}};
    assert_int_equal(command(&q), TW_OK);
    (void)break_at(3, 12);
    assert_int_equal(run(3, 0), TW_E_SCR_HELD);
    assert_int_equal(state_now().r[1].bits, 42);
    q = (tw_debug_cmd_t){.op = TW_DBG_PEEK, .space = TW_SPACE_POINTER, .script = 0, .b = 1000};
    assert_int_equal(command(&q), TW_OK);
    const uint32_t size = got_bytes;
    assert_true(size >= 4);
    assert_int_equal(state_now().p[0].size, size);
    q = (tw_debug_cmd_t){.op = TW_DBG_POKE, .space = TW_SPACE_POINTER, .a = size - 2, .b = 4};
    assert_int_equal(command(&q), TW_E_RANGE);
    q = (tw_debug_cmd_t){.op = TW_DBG_PEEK, .space = TW_SPACE_POINTER, .a = size + 1, .b = 4};
    assert_int_equal(command(&q), TW_E_RANGE);
    q = (tw_debug_cmd_t){.op = TW_DBG_PEEK, .space = TW_SPACE_POINTER, .script = 1, .b = 4};
    assert_int_equal(command(&q), TW_E_SCR_BAD_PTR); /* not set */
    q = (tw_debug_cmd_t){.op = TW_DBG_PEEK, .space = TW_SPACE_POINTER, .script = 6, .b = 4};
    assert_int_equal(command(&q), TW_E_SCR_BAD_REG);
    q = (tw_debug_cmd_t){.op = TW_DBG_PEEK, .space = TW_SPACE_CODE, .script = 0, .b = 100};
    assert_int_equal(command(&q), TW_OK);
    assert_int_equal(got_bytes, 16);
    q.op = TW_DBG_POKE;
    q.b = 2;
    assert_int_equal(command(&q), TW_E_SCR_BAD_PTR);
    q = (tw_debug_cmd_t){.op = TW_DBG_PEEK, .space = TW_SPACE_MEMORY, .script = 0, .b = 4};
    assert_int_equal(command(&q), TW_E_SCR_BAD_PTR); /* has none */
    rig_close(&rig);
}

/* ---- what ends a held call --------------------------------------------------------------------------- */

static void hold_script_zero(void)
{
    open_graph(0);
    attach(0);
    (void)break_at(0, 4);
    ticks(2);
    (void)held_at(0, 4, TW_STOP_BREAK);
}

static void a_replaced_script_lets_its_call_go(void **state)
{
    (void)state;
    static const uint8_t other[] = {0x05, 0x40, 0x00, 0xC5, 0x00, 0xC5, 0x00, 0xC0}; /* addk, nop, nop, ret */
    static const uint8_t literal[] = {0x04, 0x21, 0, 0, 0, 0, 0x00, 0xC0};           /* movi int32 r1 0; ret */
    hold_script_zero();
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, other, sizeof other, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    tw_debug_state_t s = held_at(0, 4, TW_STOP_BREAK); /* of the new code: the breakpoint stands */
    assert_int_equal(s.used, 2);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, literal, sizeof literal, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    s = state_now();
    assert_int_equal(s.state, TW_DEBUG_FREE);
    assert_int_equal(s.why, TW_STOP_REPLACED);
    assert_int_equal(simple(TW_DBG_BREAK_LIST, 0, 0), TW_OK);
    assert_int_equal(got_bytes, 0); /* inside a literal now */
    rig_close(&rig);
}

/* At once, and for a named tick: held until the block before, let go where the gain changes. */
static void a_replacement_and_a_parameter_take_effect_at_one_boundary_while_held(void **state)
{
    (void)state;
    static const uint8_t literal[] = {0x04, 0x21, 0, 0, 0, 0, 0x00, 0xC0};
    for (unsigned later = 0; later < 2; later++) {
        uint8_t v[4];
        tw_engine_info_t info;
        tw_engine_reply_t x;
        hold_script_zero();
        tw_put_f32(v, -6.0f);
        assert_int_equal(tw_engine_put_param(rig.engine, 0, AMP, GAIN_DB, v, 4), TW_OK);
        assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, literal, sizeof literal, 0), TW_OK);
        tw_engine_info(rig.engine, &info);
        const uint64_t at = info.tick + 10;
        const uint64_t tick = later ? at : tw_engine_publish(rig.engine);
        if (later) {
            assert_int_equal(tw_engine_publish_at(rig.engine, at, 0), TW_OK);
            ticks(9);
            (void)held_at(0, 4, TW_STOP_BREAK); /* the tenth tick: its boundary comes before `at` */
        }
        ticks(1);
        const tw_debug_state_t s = state_now();
        assert_int_equal(s.state, TW_DEBUG_FREE);
        assert_int_equal(s.why, TW_STOP_REPLACED);
        assert_int_equal(s.tick, tick);
        assert_int_equal(tw_engine_put_read(rig.engine, 7, AMP, GAIN_DB), TW_OK);
        (void)tw_engine_publish(rig.engine);
        ticks(1);
        assert_true(rig_reply(&rig, 7, &x, got, sizeof got));
        assert_true(tw_get_f32(got) < -5.9f && tw_get_f32(got) > -6.1f);
        rig_close(&rig);
    }
}

static void another_script_may_be_replaced_meanwhile(void **state)
{
    (void)state;
    static const uint8_t other[] = {0x05, 0x40, 0x00, 0xC0};
    hold_script_zero();
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 3, other, sizeof other, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    (void)held_at(0, 4, TW_STOP_BREAK);
    rig_close(&rig);
}

static void disable_reset_and_detach_let_it_go(void **state)
{
    (void)state;
    hold_script_zero();
    assert_int_equal(tw_engine_put_script_off(rig.engine, 0, 0, true), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_int_equal(state_now().why, TW_STOP_DISABLED);
    assert_int_equal(tw_engine_put_script_off(rig.engine, 0, 0, false), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    (void)held_at(0, 4, TW_STOP_BREAK);
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_RESET, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    tw_debug_state_t s = held_at(0, 4, TW_STOP_BREAK); /* the next call met it again */
    assert_true(s.stops >= 4);
    assert_int_equal(simple(TW_DBG_DETACH, 0, 0), TW_OK);
    tw_engine_script_t before, after;
    assert_int_equal(tw_engine_script(rig.engine, 0, &before), TW_OK);
    ticks(10);
    assert_int_equal(tw_engine_script(rig.engine, 0, &after), TW_OK);
    assert_int_equal(after.runs - before.runs, 20);
    assert_false(after.disabled);
    assert_int_equal(simple(TW_DBG_STATE, 0, 0), TW_E_STATE);
    rig_close(&rig);
}

static void a_swap_detaches_and_a_stopped_graph_still_steps(void **state)
{
    (void)state;
    hold_script_zero();
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STOP, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    assert_false(tw_engine_tick(rig.engine));
    assert_int_equal(simple(TW_DBG_STEP, 0, 1), TW_OK);
    (void)tw_engine_tick(rig.engine);
    (void)held_at(0, 6, TW_STOP_STEP);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    ticks(3);
    assert_int_equal(simple(TW_DBG_STATE, 0, 0), TW_E_STATE);
    attach(0);
    assert_int_equal(state_now().state, TW_DEBUG_FREE);
    assert_int_equal(tw_engine_put_unload(rig.engine, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    assert_false(tw_engine_tick(rig.engine));
    assert_int_equal(simple(TW_DBG_STATE, 0, 0), TW_E_NO_GRAPH);
    rig_close(&rig);
}

static void a_fault_is_kept_to_be_looked_at(void **state)
{
    (void)state;
    open_graph(-1);
    attach(TW_DEBUG_FAULTS);
    assert_int_equal(run(5, 0), TW_E_SCR_BUDGET);
    tw_debug_state_t s = state_now();
    assert_int_equal(s.state, TW_DEBUG_DEAD);
    assert_int_equal(s.why, TW_STOP_FAULT);
    assert_int_equal(s.number, -TW_E_SCR_BUDGET);
    assert_int_equal(s.entry, 5);
    assert_int_equal(s.used, 256);
    assert_int_equal(simple(TW_DBG_STEP, 0, 1), TW_E_STATE);
    assert_int_equal(run(0, 0), TW_OK);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK);
    assert_int_equal(state_now().state, TW_DEBUG_FREE);
    tw_engine_script_t info;
    assert_int_equal(tw_engine_script(rig.engine, 5, &info), TW_OK);
    assert_true(info.disabled);
    assert_int_equal(info.faults, 1);
    rig_close(&rig);
}

static void a_call_that_goes_on_faults_at_its_budget_and_not_before(void **state)
{
    (void)state;
    tw_engine_script_t info;
    open_graph(-1);
    attach(0);
    const uint32_t one = break_at(5, 2);
    assert_int_equal(run(5, 0), TW_E_SCR_HELD);
    assert_int_equal(simple(TW_DBG_BREAK_CLEAR, 0, one), TW_OK);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK);
    ticks(2);
    const tw_debug_state_t s = state_now();
    assert_int_equal(s.state, TW_DEBUG_DEAD);
    assert_int_equal(s.used, 256);
    assert_int_equal(tw_engine_script(rig.engine, 5, &info), TW_OK);
    assert_true(info.disabled);
    rig_close(&rig);
}

static void long_calls_go_on_in_portions(void **state)
{
    (void)state;
    tw_engine_reply_t x;
    open_graph(-1);
    attach(0);
    (void)break_at(5, 2);
    assert_int_equal(tw_engine_put_run(rig.engine, 6, 5, NULL, 0, 2000), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_true(rig_reply(&rig, 6, &x, got, sizeof got));
    assert_int_equal(x.err, TW_E_SCR_HELD);
    assert_int_equal(simple(TW_DBG_BREAK_CLEAR, 0, 1), TW_OK);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK); /* applied, then the first portion of the same tick */
    tw_debug_state_t s = state_now();
    assert_int_equal(s.state, TW_DEBUG_GOING);
    assert_true(s.used <= 1 + 2 * TW_DEBUG_PORTION);
    const uint32_t used = s.used;
    s = state_now();
    assert_int_equal(s.used - used, TW_DEBUG_PORTION);
    assert_int_equal(simple(TW_DBG_HOLD, 0, 0), TW_OK);
    s = state_now();
    assert_int_equal(s.state, TW_DEBUG_HELD);
    assert_int_equal(s.why, TW_STOP_ASKED);
    assert_true(s.used < 2000);
    rig_close(&rig);
}

static void hold_meets_the_next_call(void **state)
{
    (void)state;
    open_graph(0);
    attach(0);
    assert_int_equal(simple(TW_DBG_HOLD, 0, 0), TW_OK);
    ticks(1);
    assert_int_equal(held_at(0, 0, TW_STOP_ASKED).used, 0);
    rig_close(&rig);
}

static void one_call_is_held_and_others_pass(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    (void)break_at(0, 4);
    (void)break_at(3, 0);
    assert_int_equal(run(0, 0), TW_E_SCR_HELD);
    assert_int_equal(run(3, 0), TW_OK);
    assert_int_equal(run(4, 0), TW_OK); /* its brk */
    const tw_debug_state_t s = held_at(0, 4, TW_STOP_BREAK);
    assert_int_equal(s.passed, 2);
    rig_close(&rig);
}

static void the_graph_may_be_stopped_where_a_script_is_held(void **state)
{
    (void)state;
    tw_engine_info_t info;
    open_graph(0);
    attach(TW_DEBUG_STOPS_GRAPH);
    (void)break_at(0, 4); /* the block of the command meets it */
    assert_false(tw_engine_tick(rig.engine));
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.state, TW_GRAPH_STOPPED);
    tw_debug_state_t s = held_at(0, 4, TW_STOP_BREAK);
    assert_int_equal(s.held_graph, 1);
    assert_int_equal(simple(TW_DBG_STEP, 0, 1), TW_OK);
    assert_false(tw_engine_tick(rig.engine));
    (void)held_at(0, 6, TW_STOP_STEP);
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STEP, 2), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(2);
    assert_false(tw_engine_tick(rig.engine));
    assert_int_equal(held_at(0, 6, TW_STOP_STEP).missed, 4);
    assert_int_equal(simple(TW_DBG_BREAK_CLEAR, 0, 0), TW_OK);
    assert_int_equal(simple(TW_DBG_CONTINUE, 0, 0), TW_OK);
    ticks(2);
    s = state_now();
    assert_int_equal(s.state, TW_DEBUG_FREE);
    assert_int_equal(s.held_graph, 0);
    rig_close(&rig);
}

/* ---- trace ------------------------------------------------------------------------------------------- */

static void trace_tells_calls_instructions_events_and_stops(void **state)
{
    (void)state;
    open_graph(-1);
    attach(0);
    const tw_debug_cmd_t q = {.op = TW_DBG_TRACE, .a = UINT32_MAX, .mask = {UINT64_MAX}};
    assert_int_equal(command(&q), TW_OK);
    assert_int_equal(run(6, 0), TW_OK);
    unsigned kinds[32] = {0};
    uint64_t seq = 0;
    const uint8_t *data;
    for (const tw_trace_t *t; (t = tw_engine_trace(rig.engine, &data)) != NULL; tw_engine_trace_done(rig.engine)) {
        assert_int_equal(t->seq, seq++);
        assert_int_equal(t->script, 6);
        kinds[t->kind]++;
        if (t->kind == TW_GEV_TRACE) {
            assert_int_equal(t->at, 9);
            assert_int_equal(t->value, 5);
            assert_int_equal(t->bytes, 8);
        }
        if (t->kind == TW_TRACE_INSTRUCTION && t->at == 0) {
            assert_int_equal(t->number, 1 | 1 << 1); /* T, r0 */
            assert_int_equal(t->value, 9);
            assert_int_equal(t->bytes, 6);
            assert_int_equal(tw_get_le16(data + 2), 9);
        }
    }
    assert_int_equal(kinds[TW_TRACE_CALL], 1);
    assert_int_equal(kinds[TW_TRACE_INSTRUCTION], 7);
    assert_int_equal(kinds[TW_GEV_TRACE], 1);
    assert_int_equal(kinds[TW_GEV_SCRIPT_EVENT], 1);
    rig_close(&rig);
}

static void a_trace_nobody_reads_loses_and_counts(void **state)
{
    (void)state;
    open_graph(0);
    const tw_debug_cmd_t q = {.op = TW_DBG_TRACE, .a = 1u << TW_TRACE_INSTRUCTION, .mask = {1}};
    assert_int_equal(command(&q), TW_OK);
    ticks(200);
    const uint32_t lost = tw_engine_trace_lost(rig.engine);
    assert_true(lost > 0);
    uint64_t n = 0;
    const uint8_t *data;
    while (tw_engine_trace(rig.engine, &data) != NULL) {
        tw_engine_trace_done(rig.engine);
        n++;
    }
    assert_int_equal(n + lost, 7 * 2 * 201);
    ticks(1);
    assert_int_equal(tw_engine_trace(rig.engine, &data)->seq, n + lost); /* the hole shows */
    const tw_debug_cmd_t off = {.op = TW_DBG_TRACE};
    assert_int_equal(command(&off), TW_OK);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_breakpoint_holds_the_call_and_the_graph_goes_on_without_it),
        cmocka_unit_test(outputs_are_those_of_a_graph_without_the_script),
        cmocka_unit_test(steps_go_where_they_say),
        cmocka_unit_test(a_step_onto_a_breakpoint_says_so),
        cmocka_unit_test(a_call_goes_on_to_its_end),
        cmocka_unit_test(frames_of_other_scripts_are_shown_and_stepped_out_of),
        cmocka_unit_test(conditions_counts_and_temporary_breakpoints),
        cmocka_unit_test(watches_hold_after_the_instruction_that_changed_the_value),
        cmocka_unit_test(what_cannot_be_is_refused_and_changes_nothing),
        cmocka_unit_test(brk_holds_while_somebody_is_attached),
        cmocka_unit_test(a_script_without_breakpoints_runs_at_full_speed),
        cmocka_unit_test(values_may_be_changed_while_held),
        cmocka_unit_test(memory_is_read_and_written_inside_its_bounds),
        cmocka_unit_test(a_replaced_script_lets_its_call_go),
        cmocka_unit_test(a_replacement_and_a_parameter_take_effect_at_one_boundary_while_held),
        cmocka_unit_test(another_script_may_be_replaced_meanwhile),
        cmocka_unit_test(disable_reset_and_detach_let_it_go),
        cmocka_unit_test(a_swap_detaches_and_a_stopped_graph_still_steps),
        cmocka_unit_test(a_fault_is_kept_to_be_looked_at),
        cmocka_unit_test(a_call_that_goes_on_faults_at_its_budget_and_not_before),
        cmocka_unit_test(long_calls_go_on_in_portions),
        cmocka_unit_test(hold_meets_the_next_call),
        cmocka_unit_test(one_call_is_held_and_others_pass),
        cmocka_unit_test(the_graph_may_be_stopped_where_a_script_is_held),
        cmocka_unit_test(trace_tells_calls_instructions_events_and_stops),
        cmocka_unit_test(a_trace_nobody_reads_loses_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
