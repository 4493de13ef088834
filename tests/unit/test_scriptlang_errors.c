/* test_scriptlang_errors.c - what is wrong with a text, word by word and with its place. */
#include "tests/support/scriptlang_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static sl_rig_t rig;

static const struct {
    const char *text, *diags;
} cases[] = {
    {"let a = 1 $ 2", "1:11: expected the end of the statement, found '$'\n"},
    {"let = 3", "1:5: expected a name, found '='\n"},
    {"let if = 3", "1:5: 'if' cannot be a name: it is a word of the language\n"},
    {"let a.b = 3", "1:5: 'a.b' cannot be a name: it has a point\n"},
    {"let a = 1\nlet a = 2", "2:5: 'a' is declared already\n1:5: note: first declared here\n"},
    {"x = 3", "1:1: unknown name 'x'\n1:1: note: a variable is declared with var (it lasts) or let (for this call)\n"},
    {"let a = lvel(mic)", "1:9: unknown function 'lvel', did you mean 'level'?\n"},
    {"let a = level(mik)", "1:15: unknown arc 'mik', did you mean 'mic'?\n"},
    {"let a = level(arc 7)", "1:19: the graph has no arc 7, it has 3\n"},
    {"filter.0.stags = 2", "1:10: unknown parameter 'stags', did you mean 'stages'?\n"},
    {"fliter.0.stages = 2", "1:1: unknown node 'fliter.0', did you mean 'filter.0'?\n"},
    {"amplifier.gain_db = 30 dB", "1:21: 'amplifier.gain_db' takes -100..20 dB, not 30\n"},
    {"amplifier.gain_db = -6 Hz", "1:21: 'amplifier.gain_db' is in dB, the value in Hz\n"},
    {"amplifier.gain_db = -6 quux", "1:24: 'quux' is no unit, such as dB, dBFS, Hz, kHz, ms, s, %\n"},
    {"filter.stages = 1.5", "1:17: 'filter.stages' is a whole number, not a float\n1:17: note: int() cuts a value, "
                            "round() takes the nearest\n"},
    {"filter.biquad0 = 3", "1:18: 'filter.biquad0' has 5 elements: give it a table of as many\n"},
    {"detector.active = 1", "1:1: 'detector.active' can only be read\n"},
    {"table t = [1, 2]\nfilter.biquad0 = t",
     "2:18: 'filter.biquad0' has 5 elements of another type or number than 't'\n"},
    {"if level(mic) > -20 dB then gpio 1 = on",
     "1:15: '>': a linear level and dB are different things\n1:15: note: a level is written in dBFS; dB is a gain\n"},
    {"if level(mic) then gpio 1 = on", "1:4: a condition is a comparison or a whole number, not a float\n"},
    {"if 1 > 2 gpio 1 = on", "1:10: expected 'then' after the condition, found 'gpio'\n"},
    {"if 1 > 2 then\ngpio 1 = on", "2:12: the 'if' of line 1 has no 'end'\n"},
    {"while 1 > 2\nbreak", "2:6: the 'while' of line 1 has no 'end'\n"},
    {"end", "1:1: 'end' without anything to end\n"},
    {"else", "1:1: 'else' without anything to go with\n"},
    {"break", "1:1: 'break' stands in a loop\n"},
    {"goto x", "1:6: 'goto' stands in a state of a machine\n"},
    {"machine\nstate a\ngoto b\nend\nend", "3:6: the machine has no state 'b'\n1:1: note: the machine begins here\n"},
    {"machine\nend", "1:1: a machine has 1 to 60 states, this one 0\n"},
    {"gpio 40 = on", "1:6: pins are 0..31, not 40\n"},
    {"gpio 1 on", "1:8: expected '=' and on, off, toggle or a value, found 'on'\n"},
    {"gpio 1.5 = on",
     "1:6: a pin is a whole number, not a float\n1:6: note: int() cuts a value, round() takes the nearest\n"},
    {"event 5, 1, 2", "1:13: what an event carries is an array or a text\n"},
    {"event 5, 1.5", "1:10: the value of an event is a whole number, not a float\n1:10: note: int() cuts a value, "
                     "round() takes the nearest\n"},
    {"var a[3] = [1, 2, 3, 4]", "1:12: 4 values for 3 elements\n"},
    {"var a[3]\na[3] = 1", "2:3: 'a' has elements 0..2, the index is 3\n"},
    {"var a[3]\na = 1", "2:1: 'a' has 3 elements: say which with [..]\n"},
    {"let x = 1\nx[0] = 2", "2:1: 'x' is no array\n"},
    {"const K = 3\nK = 4", "2:1: 'K' does not change: it is a constant\n"},
    {"for i in 0..3\ni = 2\nend", "2:1: 'i' does not change: it is counted by its loop\n"},
    {"let f = 1.5\nlet n = 2\nn = f",
     "3:5: 'n' is a whole number, not a float\n3:5: note: int() cuts a value, round() takes the nearest\n"},
    {"func f(a)\nreturn a\nend", "2:1: 'f' gives no value; declare it as func f(..): int or float\n"},
    {"func f(a): int\nreturn f(a)\nend", "2:8: 'f' calls itself; write a loop\n"},
    {"func f(a): int\nreturn a\nend\nlet x = f(1, 2)", "4:9: 'f' takes 1 argument\n"},
    {"func f()\nlet q = z\nend", "2:9: unknown name 'z'\n"},
    {"let z = 1\nfunc f(): int\nreturn z\nend", "3:8: 'z' belongs to another part of the script; declare it with var, "
                                                "or give it as an argument\n1:5: note: declared here\n"},
    {"let x = 1 / 0", "1:13: division by zero\n"},
    {"let x = 3000000000", "1:9: 3000000000 does not fit 32 bits; write it with a point\n"},
    {"on never\nend", "1:4: expected reset, before, after, timer, start, loop, return or 'call' and a number, found "
                      "'never'\n2:1: 'end' without anything to end\n"},
    {"on reset\nend\non reset\nend", "3:1: there is such a section already\n1:1: note: the first one is here\n"},
    {"if 1 > 0 then\non reset\nend\nend",
     "2:1: 'on' stands outside of other blocks; is an 'end' missing before it?\n4:1: 'end' without anything to end\n"},
    {"every 0 ms\nend", "1:7: a period is a constant of 1 ms .. 2000 s\n"},
    {"every 3 dB\nend", "1:7: a period is in ms, the value in dB\n"},
    {"timer 3 dB", "1:7: a timer is in ms, the value in dB\n"},
    {"let x = 3 dB + 2 Hz", "1:14: '+': dB and Hz are different things\n"},
    {"let x = 1 + 2 3", "1:15: expected the end of the statement, found '3'\n"},
    {"1 + 2", "1:1: this has no effect; '=' sets a value, '==' compares\n"},
    {"event 1, 2, \"open", "1:13: the text has no closing \"\n"},
    {"run 99", "1:5: the number of a script is 0..63, not 99\n"},
    {"run third", "1:5: unknown script 'third'\n"},
    {"skip 3", "1:6: expected the end of the statement, found '3'\n"},
    {"func f()\nskip\nend", "2:1: 'skip' stands in a section, not in a function\n"},
    {"let x = min(1)", "1:9: 'min' takes two values, or an array\n"},
    {"let x = min(1, 2, 3)", "1:9: 'min' takes 1 to 2 arguments\n"},
    {"let x = (1 + 2", "1:15: expected ')', the statement ends here\n"},
    {"trace 1,", "1:9: expected a value, the statement ends here\n"},
    {"return 2.5", "1:8: a condition is a comparison or a whole number, not a float\n"},
    {"npu submit 0", "1:13: expected ',' and the array it computes from, the statement ends here\n"},
    {"let x = 7 << 1.5", "1:14: each side of '<<' is a whole number, not a float\n1:14: note: int() cuts a value, "
                         "round() takes the nearest\n"},
    {"var v = time()", "1:9: a variable that lasts begins with a constant\n1:9: note: let makes a variable of this "
                       "call from any value\n"},
    {"const c = time()", "1:11: a constant begins with a constant\n"},
};

static void each_error_names_its_place(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&rig, 0, sizeof rig);
        rig.opts.world = &sl_rig_world;
        const bool ok = sl_rig_compile(&rig, cases[i].text);
        if (ok || strcmp(sl_rig_diags(&rig), cases[i].diags) != 0) {
            print_error("%s\n=> %s", cases[i].text, sl_rig_diags(&rig));
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void names_need_a_graph(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof rig);
    assert_true(sl_rig_compile(&rig, "trace 1, level(3), fill(4)"));
    assert_false(sl_rig_compile(&rig, "trace 1, level(mic), 0"));
    assert_string_equal(sl_rig_diags(&rig), "1:16: the name of an arc needs a graph: compile with --graph FILE or -t "
                                            "URI, or give its number\n");
    assert_false(sl_rig_compile(&rig, "a.b = 1"));
    assert_string_equal(sl_rig_diags(&rig), "1:1: 'a.b' needs a graph: compile with --graph FILE or -t URI\n");
}

static void what_does_not_fit_is_said_in_the_users_terms(void **state)
{
    (void)state;
    static char text[TW_SL_TEXT_MAX + 2];
    memset(&rig, 0, sizeof rig);
    rig.opts.shared = true;
    assert_false(sl_rig_compile(&rig, "var x = 1"));
    assert_string_equal(sl_rig_diags(&rig), "1:5: the script's memory is shared (script_mem_shared 1): nothing in it "
                                            "lasts to the next call\n");
    memset(&rig, 0, sizeof rig);
    rig.opts.mem_bytes = 64;
    assert_false(sl_rig_compile(&rig, "var x[40]\ntrace x[0], 0, 0"));
    assert_string_equal(sl_rig_diags(&rig),
                        "0:0: variables need 164 bytes of memory, the script has 64 (script_heap 41)\n");
    memset(&rig, 0, sizeof rig);
    rig.opts.code_bytes = 16;
    assert_false(sl_rig_compile(&rig, "trace 1000, 2000, 3000"));
    assert_string_equal(sl_rig_diags(&rig), "0:0: the script has 18 bytes, there is room for 16\n");
    memset(&rig, 0, sizeof rig);
    rig.opts.regs = 2;
    assert_false(sl_rig_compile(&rig, "trace 1, 2, 3"));
    assert_string_equal(sl_rig_diags(&rig),
                        "0:0: the script needs script_registers 3 and script_pointers 2 at least, it has 2 and 2\n");
    memset(&rig, 0, sizeof rig);
    memset(text, '(', 300);
    assert_false(sl_rig_compile(&rig, text));
    assert_non_null(strstr(sl_rig_diags(&rig), "parentheses inside one another"));
    memset(text, '\n', sizeof text - 1);
    assert_false(sl_rig_compile(&rig, text));
    assert_string_equal(sl_rig_diags(&rig), "0:0: the text has more than 65536 bytes\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_names_its_place),
        cmocka_unit_test(names_need_a_graph),
        cmocka_unit_test(what_does_not_fit_is_said_in_the_users_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
