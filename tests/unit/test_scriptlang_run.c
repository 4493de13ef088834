/* test_scriptlang_run.c - what statements do: each script is compiled, verified and run. */
#include "tests/support/scriptlang_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static sl_rig_t rig;

static void fresh(void)
{
    memset(&rig, 0, sizeof rig);
    rig.opts.world = &sl_rig_world;
}

static const struct {
    const char *why, *text, *log;
} cases[] = {
    {"a number", "trace 1, 2, 3", "1 2 3; "},
    {"int arithmetic", "trace 0, 7 / 2 + 7 mod 4, -7 / 2", "0 6 -3; "},
    {"the same of variables", "let a = 7\nlet b = 2\ntrace a / b, a mod b, a - b * 3", "3 1 1; "},
    {"float wins", "let a = 7\ntrace 0, a / 2.0, 0.5 * a", "0 3.5 3.5; "},
    {"left is converted", "let a = 3\nlet b = 0.5\ntrace 0, a + b, b - a", "0 3.5 -2.5; "},
    {"nested both sides", "let a = 2\nlet b = 3\ntrace 0, (a + b) * (a - b), (a - b) / (b - a)", "0 -5 -1; "},
    {"nested mod and shift", "let a = 100\nlet b = 7\ntrace 0, (a + b) mod (b + 3), (a + 1) >> (b - 5)", "0 7 25; "},
    {"bits", "let a = 12\ntrace a & 10, a | 3, a ^ 5", "8 15 9; "},
    {"shifts of constants", "trace -5 >> 1, 1 << 31, 7 >> 40", "-3 -2.14748e+09 0; "},
    {"bits of a complement", "let a = 12\ntrace 0, ~a, a << 3", "0 -13 96; "},
    {"int and round", "let f = -2.5\ntrace int(f), round(f), round(f + 5.2)", "-2 -3 3; "},
    {"functions of numbers", "let a = -5\ntrace abs(a), min(a, 2), max(a, 2)", "5 -5 2; "},
    {"clamp", "let a = 50\ntrace clamp(a, 0, 10), clamp(a, 60, 70), clamp(a, 0, 99)", "10 60 50; "},
    {"lerp and sqrt", "let a = 10.0\ntrace 0, lerp(a, 20, 0.25), sqrt(a * 10)", "0 12.5 10; "},
    {"lerp of expressions", "let a = 10.0\ntrace 0, lerp(a + 2, a * 2, a / 40), 0", "0 14 0; "},
    {"a comparison is 0 or 1", "let a = 3\nlet b = a > 2\ntrace b, a < 2, not b", "1 0 0; "},
    {"and, or as values", "let a = 3\ntrace a > 2 and a < 5, a < 2 or a == 3, a == 1 or a == 2", "1 1 0; "},
    {"if", "let a = 3\nif a > 2 then trace 1, 0, 0 end\nif a > 3 then trace 2, 0, 0", "1 0 0; "},
    {"else", "let a = 3\nif a == 4 then\ntrace 1,0,0\nelse\ntrace 2,0,0\nend", "2 0 0; "},
    {"elif",
     "let a = 3\nif a == 1 then\ntrace 1,0,0\nelif a == 3 then\ntrace 3,0,0\nelse\ntrace 9,0,0\nend\ntrace 4,0,0",
     "3 0 0; 4 0 0; "},
    {"one-line else", "let a = 3\nif a == 4 then trace 1,0,0 else trace 2,0,0", "2 0 0; "},
    {"one-line elif", "let a = 3\nif a == 4 then trace 1,0,0 elif a == 3 then trace 5,0,0 else trace 2,0,0", "5 0 0; "},
    {"and, or, not in conditions",
     "let a = 3\nif not (a == 4 or a == 5) and a != 0 then trace 1,0,0\nif (a == 3 or a == 4) and not a > 3 then trace "
     "2,0,0",
     "1 0 0; 2 0 0; "},
    {"while", "let i = 0\nwhile i < 3\ntrace i,0,0\ni += 1\nend", "0 0 0; 1 0 0; 2 0 0; "},
    {"while that never begins", "let i = 9\nwhile i < 3 do i += 1\ntrace i,0,0", "9 0 0; "},
    {"while true, break, continue",
     "let i = 0\nwhile true\ni += 1\nif i == 2 then continue\nif i > 3 then break\ntrace i,0,0\nend", "1 0 0; 3 0 0; "},
    {"for goes to the end", "for i in 0..3 do trace i,0,0", "0 0 0; 1 0 0; 2 0 0; 3 0 0; "},
    {"for with a step", "for i in 6..0 step -3 do trace i,0,0", "6 0 0; 3 0 0; 0 0 0; "},
    {"for over nothing", "for i in 3..2 do trace i,0,0\ntrace 9,0,0", "9 0 0; "},
    {"for to a variable", "let n = 2\nfor i in n..n + 1 do trace i,0,0", "2 0 0; 3 0 0; "},
    {"for to less", "let n = 2\nfor i in n..1 do trace i,0,0\ntrace 7,0,0", "7 0 0; "},
    {"repeat", "let n = 0\nrepeat 5 do n += 2\ntrace n,0,0", "10 0 0; "},
    {"repeat none", "let n = 0\nlet k = -1\nrepeat k do n += 2\ntrace n,0,0", "0 0 0; "},
    {"repeat in repeat", "let n = 0\nrepeat 3\nrepeat 4 do n += 1\nend\ntrace n,0,0", "12 0 0; "},
    {"repeat left early", "let n = 0\nrepeat 30\nn += 1\nif n == 7 then break\nend\ntrace n,0,0", "7 0 0; "},
    {"many locals",
     "let a=1\nlet b=2\nlet c=3\nlet d=4\nlet e=5\nlet f=6.5\nd += a\nf = f * 2\ntrace a+b+c+d+e, f, d*e",
     "16 13 25; "},
    {"a function", "func twice(x: float): float\nreturn x * 2\nend\ntrace 0, twice(3), twice(twice(1.5))", "0 6 6; "},
    {"two arguments",
     "func sub2(a, b): int\nreturn a - b\nend\nlet x = 9\ntrace sub2(x, 4), sub2(sub2(x, 1), sub2(5, 2)), x",
     "5 5 9; "},
    {"functions call functions",
     "func f(a): int\nlet b = a + 1\nreturn b\nend\nfunc g(a): int\nlet c = f(a)\nlet d = f(c)\nreturn c * 100 + "
     "d\nend\n"
     "let q = 5\nlet z = g(q)\ntrace z, q, 0",
     "607 5 0; "},
    {"a conditional call", "func go()\ntrace 1,0,0\nend\nlet a = 3\nif a > 2 then go()\nif a > 3 then go()", "1 0 0; "},
    {"an array", "var a[4] = [1, 2, 3, 4]\na[1] += 10\nlet i = 2\na[i] = a[i] * a[i - 1]\ntrace a[1], a[2], a[3]",
     "12 36 4; "},
    {"a bad index is the nearest", "var a[3] = [1, 2, 3]\nlet i = 99\ntrace a[i], a[-i], 0", "3 1 0; "},
    {"narrow elements", "var a: int\nvar b[5]: int16 = [-1, 2, -3, 4, -5]\nlet i = 4\ntrace b[i], b[0], b[2]",
     "-5 -1 -3; "},
    {"narrow elements saturate", "var b[2]: uint8\nb[1] = 300\ntrace b[0], b[1], len(b)", "0 255 2; "},
    {"float elements", "var a[3] = [1.5, 2, 3]\nlet i = 1\na[i + 1] = 0.25\ntrace 0, a[0] + a[i], a[2]",
     "0 3.5 0.25; "},
    {"a table", "table t = [3, 1, 4, 1, 5]\nlet i = 2\ntrace t[i], t[0], t[i + 99]", "4 3 5; "},
    {"a table of floats", "table t = [0.5, 2]\nfor i in 0..1 do trace i, t[i], 0", "0 0.5 0; 1 2 0; "},
    {"constants", "const K = 3\nconst G = K * 2.5\ntrace K, G, 0", "3 7.5 0; "},
    {"levels", "if level(mic) > -20 dBFS then gpio 1 = on\nif level(arc 1) > -20 dBFS then gpio 2 = on", "gpio 1=1; "},
    {"levels compare in dB too", "if db(peak(mic)) > -7 dBFS then trace 1,0,0\nif rms(mic) < 50 % then trace 2,0,0",
     "1 0 0; 2 0 0; "},
    {"gpio", "gpio 3 = toggle\ngpio 3 = toggle\ngpio 4 = gpio(3) == 0\nlet p = 5\ngpio p + 1 = toggle",
     "gpio 3=1; gpio 3=0; gpio 4=1; gpio 6=1; "},
    {"events", "event 5\nevent 6, 42\nevent 7, 1 + 1, \"loud\"\nevent 8 \"x\"",
     "event 5 0; event 6 42; event 7 2 \"loud\"; event 8 0 \"x\"; "},
    {"a parameter set", "amplifier.0.gain_db = -6 dB\namplifier.mute = on\namplifier.ramp = 250 ms",
     "set 1.gain_db=-6; set 1.mute=1; set 1.ramp=0.25; "},
    {"units of parameters", "amplifier.mix = 40 %\namplifier.hold = 1.5 s\nfilter.0.corner = 2 kHz\namplifier.big = 3",
     "set 1.mix=40; set 1.hold=1500; set 0.corner=2000; set 1.big=3; "},
    {"a parameter worked out", "let g = -12 dB\nfor i in 0..1\namplifier.gain_db = g + i * 3\nend",
     "set 1.gain_db=-12; set 1.gain_db=-9; "},
    {"a time worked out", "let t = 20 ms\namplifier.ramp = t * 2\namplifier.hold = t",
     "set 1.ramp=0.04; set 1.hold=20; "},
    {"a parameter read", "let t = detector.threshold\ntrace t, amplifier.gain_db, amplifier.big", "13 -3.5 7; "},
    {"a time read is in ms", "trace 0, amplifier.ramp, 0", "0 500 0; "},
    {"read and set", "amplifier.gain_db += 1 dB\namplifier.gain_db = amplifier.gain_db - 0.5",
     "set 1.gain_db=-2.5; set 1.gain_db=-3; "},
    {"a table set", "table b: int16 = [1, -2, 3, -4, 5]\nfilter.biquad0 = b", "set 0.biquad0=1,-2,3,-4,5; "},
    {"an array set", "var b[5]: int16 = [1, -2, 3, -4, 5]\nb[4] = 7\nfilter.biquad0 = b",
     "set 0.biquad0=1,-2,3,-4,7; "},
    {"arcs", "trace fill(mic), fill(arc amp-out), 0", "96 32 0; "},
    {"read an arc", "var b[8]: int16\nlet n = read(mic, b)\ntrace n, b[0] + b[7], sum(b)", "read 0 16; 8 9 36; "},
    {"write an arc", "var b[8]: int16\nwrite arc amp-out, b", "write 2 16; "},
    {"dot product", "table w = [1.0, 2, 3]\nvar x[3] = [1.0, 1, 0.5]\ntrace 0, dot(x, w), 0", "0 4.5 0; "},
    {"time", "trace time(), ticks(), 0", "5000 77 0; "},
    {"timer", "timer 500 ms\ntimer 2 s, 1\ntimer off", "call 13 1 500 0; call 13 1 2000 1; call 13 2 2000 0; "},
    {"use case, reset", "usecase 2\nreset filter.0", "call 12 2 0 0; call 38 0; "},
    {"npu", "var in[3]: int8 = [1, -2, 3]\nvar out[2]: int8\nvar x\nnpu submit 1, in\ntrace npu(1), npu(1, out), x",
     "submit 1 1 -2 3; 0 0 0; "},
    {"other scripts, the application", "run 1\nrun second\napp 4, 7", "run 1; run 1; app 4 7; "},
    {"any system call", "let x = sys(8, 20, 1)\ntrace x, 0, 0", "call 8 20 1 0; 1 0 0; "},
    {"hexadecimal and pi", "trace 0x10, 0xFF & 15, int(pi * 100)", "16 15 314; "},
    {"comments and semicolons", "let a = 1; let b = 2 # both\n# none\ntrace a; trace b, 1", "1 0 0; 2 1 0; "},
};

/* What the cases find. */
static void world(void)
{
    rig.level[0][0] = 0.5F;
    rig.level[0][1] = 0.3F;
    rig.level[1][0] = 0.05F;
    rig.fill[0] = 96;
    rig.fill[2] = 32;
    rig.us = 5000000;
    rig.tick = 77;
    rig.param[2][8] = 13;
    rig.param[1][1] = -3.5;
    rig.param[1][6] = 7;
    rig.param[1][3] = 0.5;
}

static void statements_do_what_they_say(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fresh();
        world();
        if (!sl_rig_compile(&rig, cases[i].text)) {
            print_error("%s: %s", cases[i].why, sl_rig_diags(&rig));
            wrong++;
            continue;
        }
        sl_rig_call(&rig, 1, true);
        if (strcmp(rig.log, cases[i].log) != 0) {
            print_error("%s: '%s' instead of '%s'\n", cases[i].why, rig.log, cases[i].log);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

typedef struct call {
    int phase;
    const char *log;
    int flag; /* T at the end, -1 any */
} call_t;

static void run_calls(const char *text, const call_t *calls, size_t n)
{
    if (!sl_rig_compile(&rig, text)) {
        fail_msg("%s", sl_rig_diags(&rig));
    }
    for (size_t i = 0; i < n; i++) {
        sl_rig_call(&rig, calls[i].phase, true);
        if (strcmp(rig.log, calls[i].log) != 0) {
            fail_msg("call %zu: '%s' instead of '%s'", i, rig.log, calls[i].log);
        }
        if (calls[i].flag >= 0) {
            assert_int_equal(rig.ctx.flag != 0, calls[i].flag);
        }
    }
}

static void sections_run_in_their_phase(void **state)
{
    (void)state;
    static const call_t calls[] = {{0, "9 0 0; 0 0 0; ", -1}, {1, "9 0 0; 1 1 0; ", 1}, {2, "9 0 0; 2 0 0; ", -1},
                                   {3, "9 0 0; 3 0 0; ", -1}, {5, "9 0 0; ", -1},       {7, "9 0 0; 7 0 0; ", -1}};
    fresh();
    run_calls("on reset\ntrace 0,0,0\nend\non before\nlet a = 1\ntrace 1,a,0\nend\non after\ntrace 2,0,0\nend\n"
              "on timer\ntrace 3,0,0\nend\non call 7\ntrace 7,0,0\nend\ntrace 9,0,0",
              calls, TW_COUNT(calls));
}

static void variables_last_until_reset(void **state)
{
    (void)state;
    static const call_t calls[] = {{1, "5 1.5 30; ", -1}, {1, "6 2 30; ", -1}, {0, "", -1}, {1, "5 1.5 30; ", -1}};
    fresh();
    run_calls("var x = 5\nvar y = 1.5\nvar z\nvar a[3] = [10, 20]\non before\ntrace x, y, a[0] + a[1] + a[2]\n"
              "x += 1\ny += 0.5\nz = 1\nend",
              calls, TW_COUNT(calls));
}

static void variables_last_where_there_is_no_reset(void **state)
{
    (void)state;
    static const call_t calls[] = {{0, "5 0 0; ", 1}, {0, "6 0 0; ", 1}, {1, "7 0 0; ", 1}};
    fresh();
    run_calls("var x = 5\ntrace x, 0, 0\nx += 1", calls, TW_COUNT(calls));
}

/* As when a script is replaced while the graph runs: its memory holds what the old one left. */
static void variables_of_another_script_are_not_taken_over(void **state)
{
    (void)state;
    static const call_t first[] = {{1, "5 0 0; ", 1}, {1, "6 0 0; ", 1}}, second[] = {{1, "7 0 0; ", 1}};
    fresh();
    run_calls("var x = 5\ntrace x, 0, 0\nx += 1", first, TW_COUNT(first));
    uint8_t memory[SL_RIG_MEM];
    memcpy(memory, rig.mem, sizeof memory);
    assert_true(sl_rig_compile(&rig, "var x = 7\ntrace x, 0, 0"));
    memcpy(rig.mem, memory, sizeof memory);
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, second[0].log);
}

static void the_flag_says_whether_a_node_runs(void **state)
{
    (void)state;
    static const call_t calls[] = {{1, "", 0}, {1, "", 1}, {2, "", -1}};
    fresh();
    run_calls("var n = 0\non before\nn += 1\nif n == 1 then skip\nend", calls, 2);
    fresh();
    rig.level[0][0] = 0.5F;
    run_calls("return level(mic) > -20 dBFS", &calls[1], 1);
    fresh();
    run_calls("return level(mic) > -20 dBFS or level(out) > 10 %", &calls[0], 1);
    fresh();
    run_calls("return not false", &calls[1], 1);
}

static void a_machine_goes_from_state_to_state(void **state)
{
    (void)state;
    static const call_t calls[] = {{1, "1 0 0; ", -1},        {1, "1 0 0; ", -1}, {1, "20 0 0; 2 0 0; ", -1},
                                   {1, "2 0 0; 4 0 0; ", -1}, {1, "3 0 0; ", -1}, {1, "3 0 0; ", -1}};
    fresh();
    run_calls("var n\nmachine demo\nstate a:\nn += 1\ntrace 1,0,0\nif n == 2 then goto b\nend\n"
              "state b\nenter\ntrace 20,0,0\nend\ntrace 2,0,0\nn += 1\nif n > 3 then trace 4,0,0; goto c\nend\n"
              "state c\ntrace 3,0,0\nend\nend",
              calls, TW_COUNT(calls));
}

static void a_state_entered_first_runs_its_enter_part(void **state)
{
    (void)state;
    static const call_t calls[] = {{1, "1 0 0; 2 0 0; ", -1}, {1, "2 0 0; ", -1}};
    fresh();
    run_calls("machine\nstate only\nenter\ntrace 1,0,0\nend\ntrace 2,0,0\nend\nend", calls, TW_COUNT(calls));
}

static void every_keeps_its_period(void **state)
{
    (void)state;
    static const struct {
        uint64_t us;
        const char *log;
    } steps[] = {{1000, ""},          {40000, ""},         {51000, "1 0 0; "}, {52000, ""},
                 {101000, "1 0 0; "}, {400000, "1 0 0; "}, {401000, ""},       {450000, "1 0 0; "}};
    fresh();
    assert_true(sl_rig_compile(&rig, "every 50 ms\ntrace 1,0,0\nend"));
    for (size_t i = 0; i < TW_COUNT(steps); i++) {
        rig.us = steps[i].us + 0xFFFF0000u; /* over the turn of 32 bits, too */
        sl_rig_call(&rig, 1, true);
        if (strcmp(rig.log, steps[i].log) != 0) {
            fail_msg("at %u us: '%s' instead of '%s'", (unsigned)steps[i].us, rig.log, steps[i].log);
        }
    }
}

static void a_failed_read_gives_zero(void **state)
{
    (void)state;
    static const call_t calls[] = {{1, "0 0 0; ", -1}};
    fresh();
    rig.param[2][8] = 13;
    rig.status = 5;
    run_calls("trace detector.threshold, 0, 0", calls, 1);
}

/* Fewer registers, and memory in another pointer: the same results. */
static void limits_of_a_script_are_kept(void **state)
{
    (void)state;
    for (unsigned regs = 3; regs <= 6; regs++) {
        for (unsigned ptrs = 2; ptrs <= 6; ptrs++) {
            static const call_t calls[] = {{1, "10 26 3; ", -1}, {1, "11 26 3; ", -1}};
            fresh();
            rig.opts.regs = (uint8_t)regs;
            rig.opts.ptrs = (uint8_t)ptrs;
            run_calls(
                "var n = 10\nfunc f(a, b): int\nlet c = a * b\nreturn c + a\nend\nlet x = 1\nlet y = 2\nlet z = 3\n"
                "trace n, f(x + y, z * 2) + f(y, x) + x, z\nn += 1",
                calls, TW_COUNT(calls));
            assert_int_equal(rig.out.regs, regs);
            assert_int_equal(rig.out.ptrs, ptrs);
        }
    }
}

static void a_long_script_reaches_its_far_ends(void **state)
{
    (void)state;
    static char text[20000];
    fresh();
    size_t n = (size_t)snprintf(text, sizeof text, "let a = 0\nlet b = 1\nwhile a < 3\nif b == 2 then\n");
    for (unsigned i = 0; i < 100; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "trace %u, a, b\n", i + 1000);
    }
    (void)snprintf(text + n, sizeof text - n, "end\na += 1\nend\ntrace a, 0, 0\n");
    if (!sl_rig_compile(&rig, text)) {
        fail_msg("%s", sl_rig_diags(&rig));
    }
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "3 0 0; ");
}

static void lines_and_cost_are_told(void **state)
{
    (void)state;
    fresh();
    assert_true(sl_rig_compile(&rig, "let a = 1\n\ntrace a, 2, 3\nif a > 0 then\ntrace 4, 5, 6\nend"));
    assert_true(rig.out.bounded);
    assert_int_equal(rig.out.lines[0].pc, 0);
    assert_int_equal(rig.out.lines[0].line, 1);
    assert_int_equal(rig.out.lines[1].line, 3);
    assert_int_equal(rig.out.lines[2].line, 4);
    assert_int_equal(rig.out.lines[3].line, 5);
    assert_true(sl_rig_compile(&rig, "let a = 1\nwhile a < 5\na += 1\nend"));
    assert_false(rig.out.bounded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_do_what_they_say),
        cmocka_unit_test(sections_run_in_their_phase),
        cmocka_unit_test(variables_last_until_reset),
        cmocka_unit_test(variables_last_where_there_is_no_reset),
        cmocka_unit_test(variables_of_another_script_are_not_taken_over),
        cmocka_unit_test(the_flag_says_whether_a_node_runs),
        cmocka_unit_test(a_machine_goes_from_state_to_state),
        cmocka_unit_test(a_state_entered_first_runs_its_enter_part),
        cmocka_unit_test(every_keeps_its_period),
        cmocka_unit_test(a_failed_read_gives_zero),
        cmocka_unit_test(limits_of_a_script_are_kept),
        cmocka_unit_test(a_long_script_reaches_its_far_ends),
        cmocka_unit_test(lines_and_cost_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
