/* The verifier: one failing script per rule, with the code and the byte it must name. */
#include "engine/base/bytes.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static tw_asm_out_t out;
static uint8_t image[65536 + 4096];
static uint8_t memory[64];

enum { MEM = 1, SHARED = 2, CUT = 4 /* leave out the last word: the assembler supplies a missing ret */ };

typedef struct limits {
    uint8_t regs, ptrs, stack, flags;
} limits_t;

static tw_script_t script_of(const char *text, limits_t l)
{
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%s: %u:%u %s", text, out.diags[0].line, out.diags[0].col, out.diags[0].text);
    }
    memcpy(image, out.code, out.code_bytes);
    memcpy(image + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    tw_script_t s = {.code = image,
                     .code_bytes = out.code_bytes,
                     .pool_bytes = out.pool_bytes,
                     .regs = l.regs,
                     .ptrs = l.ptrs,
                     .stack = l.stack,
                     .shared = (l.flags & SHARED) != 0};
    if ((l.flags & CUT) != 0) {
        s.code_bytes -= 2;
    }
    if ((l.flags & MEM) != 0) {
        s.mem = memory;
        s.mem_bytes = sizeof memory;
    }
    return s;
}

static const struct {
    const char *why, *text;
    limits_t limits;
    tw_err_t err;
    uint32_t at;
} refused[] = {
    {"no such word", "nop\n.h16 0900\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 2},
    {"copy family, unlisted", ".h16 1300\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"reserved bit of ret", "nop\n.h16 C001", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 2},
    {"field beyond bit 63", ".h16 A001 013F\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"upper half of an 8-bit literal", ".h16 2000 0100\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"load through a value register", ".h16 1101\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"extension prefix", "nop\n.h16 B000\nret", {2, 2, 4, 0}, TW_E_SCR_RESERVED, 2},
    {"op 30", ".h16 F000\nret", {2, 2, 4, 0}, TW_E_SCR_RESERVED, 0},
    {"op 3F", ".h16 FF00\nret", {2, 2, 4, 0}, TW_E_SCR_RESERVED, 0},
    {"literal cut off", "nop\n.h16 200D C000", {2, 2, 4, 0}, TW_E_SCR_BOUNDS, 2},
    {"jump to no label", "nop\njmp #5\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 2},
    {"call of no label", "call #5\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"banz to no label", "banz #5\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"psha without constants", "psha #5\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"jump to a label of constants", "jmp #5\nlabl #5\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"label twice", ".h16 0501 0501 C000", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 2},
    {"into a literal", "jmpr 1\nmovi int16 r0 0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"before the start", "jmpr -2\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"behind the end", "jmpr 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"falls into its own routine", "call #1\nlabl #1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"runs off", "nop\nnop\nret", {2, 2, 4, CUT}, TW_E_SCR_FALL_OFF, 2},
    {"runs off when the jump is not taken", "labl #1\ncjmp #1\nret", {2, 2, 4, CUT}, TW_E_SCR_FALL_OFF, 2},
    {"register not declared", "nop\nadd r0 r2\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 2},
    {"destination not declared", "movi int8 r5 1\nret", {5, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"pointer not declared", "pbase p2 r0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"upper register of a range", "inr r0 r1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"pointer in arithmetic", "add r0 p0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 0},
    {"pop of nothing", "copy r0 s0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 0},
    {"s1 of one entry", "psht\nadd r0 s1\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 2},
    {"second pop of one", "psht\nadd s0 s0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 2},
    {"s1 popped before it is written", "psht\npsht\naddm s1 s0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 4},
    {"push beyond the declared", "psht\npsht\nret", {2, 2, 1, 0}, TW_E_SCR_STACK, 2},
    {"no stack declared", "psht\nret", {2, 2, 0, 0}, TW_E_SCR_STACK, 0},
    {"unequal at a join", "cjmp #1\npsht\nlabl #1\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 2},
    {"grows in a loop", "labl #1\npsht\njmp #1", {2, 2, 4, 0}, TW_E_SCR_STACK, 4},
    {"conditional push", "ccopy s0 r0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 0},
    {"conditional pop", "psht\nccals readparam\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 2},
    {"callers' entries stay theirs", "psht\ncall #1\nret\nlabl #1\ncopy r0 s0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 8},
    {"routine on top of its caller", "psht\ncall #1\nret\nlabl #1\npsht\nret", {2, 2, 1, 0}, TW_E_SCR_STACK, 8},
    {"two ways of returning",
     "call #1\nret\nlabl #1\ncjmp #2\nret\nlabl #2\nretp r0",
     {2, 2, 4, 0},
     TW_E_SCR_STACK,
     12},
    {"recursion", "call #1\nret\nlabl #1\ncall #1\nret", {2, 2, 4, 0}, TW_E_SCR_DEPTH, 6},
    {"recursion of two",
     "call #1\nret\nlabl #1\ncall #2\nret\nlabl #2\ncall #1\nret",
     {2, 2, 4, 0},
     TW_E_SCR_DEPTH,
     12},
    {"nine calls deep",
     "call #1\nret\nlabl #1\ncall #2\nret\nlabl #2\ncall #3\nret\nlabl #3\ncall #4\nret\nlabl #4\ncall #5\nret\n"
     "labl #5\ncall #6\nret\nlabl #6\ncall #7\nret\nlabl #7\ncall #8\nret\nlabl #8\ncall #9\nret\nlabl #9\nret",
     {2, 2, 4, 0},
     TW_E_SCR_DEPTH,
     48},
    {"scratch read first", "load r0 *p1\nret", {2, 2, 4, MEM | SHARED}, TW_E_SCR_UNDEF_READ, 0},
    {"scratch written on one path only",
     "cjmp #1\nstore *p1 r0\nlabl #1\nload r0 *p1\nret",
     {2, 2, 4, MEM | SHARED},
     TW_E_SCR_UNDEF_READ,
     6},
    {"scratch through a copy", "copy p0 p1\nload r0 *p0\nret", {2, 2, 4, MEM | SHARED}, TW_E_SCR_UNDEF_READ, 2},
    {"load through nothing", "load r0 *p0\nret", {2, 2, 4, MEM}, TW_E_SCR_BAD_PTR, 0},
    {"no memory, no pointer", "load r0 *p1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_PTR, 0},
    {"set on one path only", "cjmp #1\ncopy p0 p1\nlabl #1\nload r0 *p0\nret", {2, 2, 4, MEM}, TW_E_SCR_BAD_PTR, 6},
    {"set if T", "ccopy p0 p1\nload r0 *p0\nret", {2, 2, 4, MEM}, TW_E_SCR_BAD_PTR, 2},
    {"store to constants",
     "psha #1\ncopy p0 s0\nstore *p0 r0\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_PTR,
     4},
    {"store to what may be constants",
     "copy p0 p1\ncjmp #2\npsha #1\ncopy p0 s0\nlabl #2\nstore *p0 r0\nret\n"
     "labl #1\n1 i8; 0",
     {2, 2, 4, MEM},
     TW_E_SCR_BAD_PTR,
     10},
    {"a script call takes pointers away",
     "copy p0 p1\ncallscript 3\nload r0 *p0\nret",
     {2, 2, 4, MEM},
     TW_E_SCR_BAD_PTR,
     4},
    {"pointer from a number", "psht\ncopy p0 s0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"number from a pointer", "psha #1\ncopy r0 s0\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"pointer across a join", "psha #1\njmp #2\nlabl #2\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"forged pointer", "cast r0 ptr\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 0},
    {"pointer literal", ".h16 200E 0 0 0 0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 0},
    {"fp8 arithmetic", "movi fp8a r0 0x38\nadd r1 r0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 4},
    {"fp8 arithmetic on one path", "cjmp #1\ncast r0 fp8b\nlabl #1\ninc r0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 6},
    {"fp8 loaded", "ptype p1 fp8a\nload r0 *p1\nmul r0 r0\nret", {2, 2, 4, MEM}, TW_E_SCR_BAD_TYPE, 4},
    {"fp8 from a routine", "call #1\nadd r1 r0\nret\nlabl #1\nmovi fp8a r0 0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 on the stack", "movi fp8a r0 0\ncopy s0 r0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 4},
    {"conversion to fp8", "conv r0 fp8a\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 0},
    {"unknown system call", "nop\ncallsys 16\nret", {2, 2, 4, 0}, TW_E_SCR_PRIV, 2},
    {"privileged system call", "callsys low\nret", {2, 2, 4, 0}, TW_E_SCR_PRIV, 0},
};

static void each_rule_names_its_code_and_its_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(refused); i++) {
        const tw_script_t s = script_of(refused[i].text, refused[i].limits);
        tw_fault_t f = {.at = 9999};
        const tw_err_t err = tw_script_verify(&s, false, NULL, &f);
        if (err != refused[i].err || f.at != refused[i].at || f.err != err) {
            fail_msg("%s: %s at %u, not %s at %u", refused[i].why, tw_err_name(err), f.at, tw_err_name(refused[i].err),
                     refused[i].at);
        }
    }
}

static const struct {
    const char *text, *says;
    limits_t limits;
} explained[] = {
    {"nop\nload r0 *p1\nret", "instruction 1 (byte 2) `load r0 *p1`: p1 is not set on every path", {2, 2, 4, 0}},
    {"movi int32 r0 5\nstore *p0 r0\nret",
     "instruction 1 (byte 6) `store *p0 r0`: p0 is not set on every path, or shows constants",
     {2, 2, 4, 0}},
    {"copy r0 s0\nret",
     "instruction 0 (byte 0) `copy r0 s0`: takes from an empty stack, or what is its caller's",
     {2, 2, 4, 0}},
    {"add r0 r3\nret", "instruction 0 (byte 0) `add r0 r3`: a register beyond those declared", {2, 2, 4, 0}},
    {".h16 F000\nret", "instruction 0 (byte 0) `.h16 F000`: reserved for later", {2, 2, 4, 0}},
    {"ret", "more stack declared than there is", {2, 2, 65, 0}},
};

static void a_refusal_says_which_instruction_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(explained); i++) {
        const tw_script_t s = script_of(explained[i].text, explained[i].limits);
        tw_fault_t f = {0};
        char text[97];
        assert_int_not_equal(tw_script_verify(&s, false, NULL, &f), TW_OK);
        (void)tw_script_explain(s.code, s.code_bytes, &f, text, sizeof text);
        assert_string_equal(text, explained[i].says);
    }
}

static void a_fault_without_a_reason_gives_the_text_of_its_error(void **state)
{
    (void)state;
    const uint8_t ret[2] = {0, 0xC0};
    const tw_fault_t f = {.err = TW_E_SCR_DEPTH};
    char text[20];
    assert_string_equal(tw_script_explain(ret, 0, &f, text, sizeof text), "calls too deep or r");
}

static const struct {
    const char *why, *text;
    limits_t limits;
} accepted[] = {
    {"first seed example", "movi int16 r0 1\nequ r1 r0\nccallsys 1\nret", {2, 2, 12, 0}},
    {"second seed example", "pshc int8 1\ngtr\ncjmp #1\npshc int16\ncals readparam\nlabl #1\nret", {2, 2, 12, 0}},
    {"scratch written, then read", "store *p1 r0\nload r0 *p1\nret", {2, 2, 0, MEM | SHARED}},
    {"private memory is defined at entry", "load r0 *p1\nret", {2, 2, 0, MEM}},
    {"a loop", "copy lc r0\nlabl #1\ninc r1\nbanz #1\nret", {2, 2, 0, 0}},
    {"an endless loop is the budget's business", "labl #1\njmp #1", {2, 2, 0, 0}},
    {"eight calls deep",
     "call #1\nret\nlabl #1\ncall #2\nret\nlabl #2\ncall #3\nret\nlabl #3\ncall #4\nret\nlabl #4\ncall #5\nret\n"
     "labl #5\ncall #6\nret\nlabl #6\ncall #7\nret\nlabl #7\ncall #8\nret\nlabl #8\nret",
     {2, 2, 0, 0}},
    {"a result", "call #1\ncopy r0 s0\nret\nlabl #1\npsht\npsht\nretp r1", {2, 2, 2, 0}},
    {"one routine called at two depths", "call #1\npsht\ncall #1\nret\nlabl #1\npsht\nret", {2, 2, 2, 0}},
    {"constants", "psha #1\ncopy p0 s0\nload r0 *p0+\nret\nlabl #1\n2 i16; 1 2", {2, 2, 1, 0}},
    {"a pointer set by a routine", "call #1\nload r0 *p0\nret\nlabl #1\ncopy p0 p1\nret", {2, 2, 0, MEM}},
    {"fp8 may travel", "ptype p1 fp8a\nload r0 *p1\nstore *p1 r0\nret", {2, 2, 0, MEM}},
    {"relative jumps", "cjmpr 1\nnop\njmpr -2", {2, 2, 0, 0}},
    {"s1", "psht\npsht\nadd s1 s0\ncopy r0 s0\nret", {2, 2, 2, 0}},
};

static void what_keeps_the_rules_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(accepted); i++) {
        const tw_script_t s = script_of(accepted[i].text, accepted[i].limits);
        tw_fault_t f = {0};
        if (tw_script_verify(&s, false, NULL, &f) != TW_OK) {
            fail_msg("%s: %s at %u", accepted[i].why, tw_err_name(f.err), f.at);
        }
    }
}

static void limits_are_checked_before_code(void **state)
{
    (void)state;
    static const uint8_t ret[] = {0x00, 0xC0, 0, 0, 0, 0, 0, 0};
    const struct {
        tw_script_t s;
        tw_err_t err;
    } rows[] = {
        {{.code = ret, .code_bytes = 2, .regs = 7}, TW_E_SCR_BAD_REG},
        {{.code = ret, .code_bytes = 2, .ptrs = 7}, TW_E_SCR_BAD_REG},
        {{.code = ret, .code_bytes = 2, .stack = TW_SCRIPT_STACK_MAX + 1}, TW_E_SCR_STACK},
        {{.code = ret, .code_bytes = 2, .budget = TW_SCRIPT_BUDGET_MAX + 1}, TW_E_SCR_BUDGET},
        {{.code = ret, .code_bytes = 3}, TW_E_SCR_BOUNDS},
        {{.code = ret, .code_bytes = 0}, TW_E_SCR_FALL_OFF},
        {{.code = ret, .code_bytes = 2, .pool_bytes = 1}, TW_E_SCR_BOUNDS},
        {{.code = ret, .code_bytes = 2, .pool_bytes = 2}, TW_OK},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t f = {0};
        assert_int_equal(tw_script_verify(&rows[i].s, false, NULL, &f), rows[i].err);
    }
}

static void scripts_called_are_reported_for_the_cycle_check(void **state)
{
    (void)state;
    uint64_t calls = 0;
    tw_fault_t f;
    const tw_script_t s = script_of("callscript 3\nccallscript 63\nret", (limits_t){2, 2, 0, 0});
    assert_int_equal(tw_script_verify(&s, false, &calls, &f), TW_OK);
    assert_true(calls == ((uint64_t)1 << 3 | (uint64_t)1 << 63));
}

static void a_privileged_image_may_call_low(void **state)
{
    (void)state;
    tw_fault_t f;
    const tw_script_t s = script_of("callsys low\nret", (limits_t){2, 2, 0, 0});
    assert_int_equal(tw_script_verify(&s, true, NULL, &f), TW_OK);
}

static void the_largest_script_is_judged_and_one_more_word_refused(void **state)
{
    (void)state;
    tw_fault_t f;
    tw_script_t s = {.code = image, .code_bytes = 8192, .regs = 2};
    for (unsigned i = 0; i < 4096; i++) {
        tw_put_le16(image + 2 * i, 0xC500);
    }
    tw_put_le16(image + 8190, 0xC000);
    tw_put_le16(image + 8192, 0xC000);
    assert_int_equal(tw_script_verify(&s, false, NULL, &f), TW_OK);
    s.code_bytes += 2;
    assert_int_equal(tw_script_verify(&s, false, NULL, &f), TW_E_SCR_BOUNDS);
}

static void too_many_relative_targets_are_refused_not_overrun(void **state)
{
    (void)state;
    tw_fault_t f;
    const tw_script_t s = {.code = image, .code_bytes = 2002, .regs = 2};
    for (unsigned i = 0; i < 1000; i++) {
        tw_put_le16(image + 2 * i, 0x0180); /* cjmpr 0: a join after every word */
    }
    tw_put_le16(image + 2000, 0xC000);
    assert_int_equal(tw_script_verify(&s, false, NULL, &f), TW_E_SCR_BOUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_names_its_code_and_its_byte),
        cmocka_unit_test(a_refusal_says_which_instruction_and_why),
        cmocka_unit_test(a_fault_without_a_reason_gives_the_text_of_its_error),
        cmocka_unit_test(what_keeps_the_rules_is_accepted),
        cmocka_unit_test(limits_are_checked_before_code),
        cmocka_unit_test(scripts_called_are_reported_for_the_cycle_check),
        cmocka_unit_test(a_privileged_image_may_call_low),
        cmocka_unit_test(the_largest_script_is_judged_and_one_more_word_refused),
        cmocka_unit_test(too_many_relative_targets_are_refused_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
