/* test_cli_verbs.c - the command line as a whole, against a device in a thread. */
#include "host_tools/tunewire/cli.h"
#include "tests/support/fake_device.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { WORDS = 24, TEXT = 1 << 16 };

typedef struct result {
    int code;
    char out[TEXT], err[TEXT];
} result_t;

static void read_back(FILE *f, char *text)
{
    rewind(f);
    text[fread(text, 1, TEXT - 1, f)] = '\0';
    (void)fclose(f);
}

/* Run a command line; words are separated by blanks, '~' in a word stands for a blank. */
static result_t *run(const fake_device_t *d, const char *line)
{
    static result_t r;
    char text[400], *save = NULL, *argv[WORDS] = {"tunewire"};
    int argc = 1;
    FILE *out = tmpfile(), *err = tmpfile();
    assert_true(out && err);
    if (d) {
        argv[argc++] = "-t";
        argv[argc++] = (char *)(uintptr_t)d->uri;
    }
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok_r(text, " ", &save); w && argc < WORDS; w = strtok_r(NULL, " ", &save)) {
        for (char *c = w; *c; c++) {
            *c = *c == '~' ? ' ' : *c;
        }
        argv[argc++] = w;
    }
    r.code = tw_cli_main(argc, argv, out, err, NULL);
    read_back(out, r.out);
    read_back(err, r.err);
    return &r;
}

/* Every line is a JSON object. @return how many, -1 when one is not */
static int json_lines(const char *text)
{
    int n = 0;
    while (*text) {
        const char *nl = strchr(text, '\n');
        const size_t len = nl ? (size_t)(nl - text) : strlen(text);
        json_t *doc = json_loadb(text, len, JSON_DECODE_ANY, NULL);
        const bool good = json_is_object(doc);
        json_decref(doc);
        if (!good) {
            return -1;
        }
        n++;
        text += len + (nl != NULL);
    }
    return n;
}

static const struct {
    const char *line;
    int code;
    const char *out, *err; /* must occur */
} cases[] = {
    {"info", 0, "fake", ""},
    {"nodes", 0, "amplifier.0", ""},
    {"arcs", 0, "48000", ""},
    {"arc list", 0, "mic", ""},
    {"params", 0, "gain_db", ""},
    {"params filter.0", 0, "biquad1", ""},
    {"params filter", 0, "biquad1", ""},
    {"params 1", 0, "mute", ""},
    {"params fliter.0", 2, "", "did you mean 'filter.0'"},
    {"get filter.0", 0, "stages", ""},
    {"get amplifier.0.mute filter.0.biquad0", 0, "mute", ""},
    {"get amplifier.0.3", 0, "mute", ""},
    {"get amplifier.0.mutt", 2, "", "did you mean 'mute'"},
    {"set amplifier.0.mute=on", 0, "", ""},
    {"set amplifier.0 mute off", 0, "", ""},
    {"set amplifier.0.gain_db=-6~dB amplifier.0.corner=1~kHz", 0, "99", ""},
    {"set amplifier.0 gain_db -6 dB", 0, "-6", ""},
    {"set amplifier.0.gain_db=-6~Hz", 2, "", "is not one of dB"},
    {"set amplifier.0.slope=16", 2, "", "0..15"},
    {"set amplifier.0.slope", 2, "", "NODE.PARAM=VALUE"},
    {"set amplifier.0=3", 2, "", "which parameter"},
    {"set amplifier.0.mute=on --at 5000", 0, "99", ""},
    {"set filter.0.all=hex:0x", 2, "", "hex:"},
    {"set filter.0 --lowpass 1000 --q 0.707", 0, "post_shift", ""},
    {"set filter.0 --peak 2kHz -6 --q 2 --highpass 300", 0, "2", ""},
    {"set filter.0 --bypass", 0, "stage", ""},
    {"set filter.0 --lowpass 30000", 2, "", "24000 Hz"},
    {"set filter.0 --lowpass 1kg", 2, "", "number in Hz"},
    {"set filter.0 --lowpass 20", 2, "", "too coarse"},
    {"set filter.0 --lowpass 1000 --lowpass 1000 --lowpass 1000", 2, "", "3 stages"},
    {"set amplifier.0 --lowpass 1000", 2, "", "not a filter"},
    {"preset filter.0 2", 0, "tick", ""},
    {"start", 0, "running", ""},
    {"stop", 0, "", ""},
    {"step 3", 0, "", ""},
    {"step x", 2, "", "number"},
    {"reset", 0, "", ""},
    {"unload", 0, "", ""},
    {"arc read mic", 0, "3", ""},
    {"arc read nosuch", 2, "", "no such arc"},
    {"arc scope mic --mode raw --seconds 0.2", 0, "", ""},
    {"arc scope mic --mode raw --once", 0, "mic", ""},
    {"arc scope mic --mode fft", 2, "", "minmax"},
    {"arc record mic build/tw_cli_test.wav --seconds 0.01", 0, "0.01", ""},
    {"arc record mic /proc/none/x.wav --seconds 1", 4, "", "cannot write"},
    {"script list", 0, "ramp", ""},
    {"script run 0 1 -2", 0, "", ""},
    {"script run 0 x", 2, "", "whole numbers"},
    {"script stop 0", 0, "disabled", ""},
    {"script load 0 /nonexistent.bin", 4, "", "cannot read"},
    {"load /nonexistent.twg", 4, "", "cannot read"},
    {"load /dev/null", 4, "", "not a graph image"},
    {"log", 0, "quoted", ""},
    {"log --level warn", 0, "line", ""},
    {"log --level wran", 2, "", "did you mean 'warn'"},
    {"ping -c 2 -i 1", 0, "", ""},
    {"stats", 0, "calls", ""},
    {"schema", 0, "", ""},
    {"completion bash", 0, "__complete", ""},
    {"completion fish", 2, "", "bash or zsh"},
    {"nods", 2, "", "did you mean 'nodes'"},
    {"arc", 2, "", "read, scope"},
    {"arc scoop mic", 2, "", "did you mean 'arc scope'"},
    {"nodes --lowpass 3", 2, "", "unknown option"},
    {"set filter.0 --lowpas 3", 2, "", "did you mean --lowpass"},
    {"set", 2, "", "usage: tunewire set"},
    {"nodes extra", 2, "", "usage: tunewire nodes"},
    {"ping --count", 2, "", "N is missing"},
    {"info --key /nonexistent", 4, "", "key not readable"},
    {"info --timeout soon", 2, "", "--timeout"},
};

static void every_verb_answers_with_the_code_and_the_words_it_should(void **state)
{
    (void)state;
    fake_device_t d = {0};
    fake_start(&d);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const result_t *r = run(&d, cases[i].line);
        const bool form = r->code == 0 || strncmp(r->err, "tunewire: ", 10) == 0;
        if (r->code != cases[i].code || !strstr(r->out, cases[i].out) || !strstr(r->err, cases[i].err) || !form) {
            fail_msg("%s: exit %d\nout: %s\nerr: %s", cases[i].line, r->code, r->out, r->err);
        }
    }
    fake_stop(&d);
    (void)unlink("build/tw_cli_test.wav");
}

static void json_is_json_whatever_happens(void **state)
{
    (void)state;
    fake_device_t d = {0};
    fake_start(&d);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char line[400];
        (void)snprintf(line, sizeof line, "--json %s", cases[i].line);
        const result_t *r = run(&d, line);
        if (r->code != cases[i].code || json_lines(r->out) < 1 || (r->code && !strstr(r->out, "\"error\""))) {
            fail_msg("%s: exit %d, %d lines\n%s", line, r->code, json_lines(r->out), r->out);
        }
    }
    fake_stop(&d);
    (void)unlink("build/tw_cli_test.wav");
}

static void names_from_a_device_cannot_command_the_terminal_or_break_the_json(void **state)
{
    (void)state;
    fake_device_t d = {.fault = FAKE_RUDE_NAMES};
    fake_start(&d);
    assert_non_null(strstr(run(&d, "nodes")->out, "a?[2Jb\xC3\xA9???  filter"));
    json_t *doc = json_loads(run(&d, "--json nodes")->out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(doc, "nodes")), 2);
    json_decref(doc);
    fake_stop(&d);
}

static void values_set_are_values_read(void **state)
{
    (void)state;
    fake_device_t d = {0};
    fake_start(&d);
    assert_int_equal(run(&d, "set filter.0.biquad0=1,-2,3,-4,32767 amplifier.0.gain_db=-6~dB")->code, 0);
    assert_non_null(strstr(run(&d, "get filter.0.biquad0")->out, "filter.0.biquad0 = 1,-2,3,-4,32767\n"));
    json_t *doc = json_loads(run(&d, "--json get amplifier.0.gain_db")->out, 0, NULL);
    const json_t *row = json_array_get(json_object_get(doc, "params"), 0);
    assert_true(json_real_value(json_object_get(row, "value")) == -6.0);
    assert_string_equal(json_string_value(json_object_get(row, "unit")), "dB");
    json_decref(doc);
    assert_int_equal(run(&d, "set filter.0 --lowpass 1000")->code, 0);
    assert_non_null(strstr(run(&d, "get filter.0")->out, "biquad0 = 64,128,64,29743,-13615\n"));
    assert_non_null(strstr(run(&d, "get filter.0")->out, "biquad1 = 16384,0,0,0,0\n"));
    fake_stop(&d);
}

static void a_device_that_fails_gives_its_own_exit_code(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        fake_fault_t fault;
        const char *line;
        int code;
    } bad[] = {
        {"refuses", FAKE_REFUSE_SET, "set amplifier.0.mute=on", 1},
        {"refuses one of two", FAKE_REFUSE_SET, "set amplifier.0.mute=on filter.0.stages=1", 1},
        {"hangs up", FAKE_HANG_UP, "nodes", 1},
        {"never answers", FAKE_NO_ANSWER, "--timeout 100 nodes", 1},
        {"says nothing", FAKE_NO_HELLO, "--timeout 100 nodes", 3},
        {"another protocol", FAKE_GARBAGE, "nodes", 3},
        {"damaged schema", FAKE_LOSE_CHUNK, "schema", 1},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        fake_device_t d = {.fault = bad[i].fault};
        fake_start(&d);
        const result_t *r = run(&d, bad[i].line);
        fake_stop(&d);
        if (r->code != bad[i].code || strncmp(r->err, "tunewire: ", 10) != 0) {
            fail_msg("%s: exit %d, %s", bad[i].why, r->code, r->err);
        }
    }
    fake_device_t gone = {0};
    fake_start(&gone);
    fake_stop(&gone);
    assert_int_equal(run(&gone, "info")->code, 3);
    assert_int_equal(run(NULL, "-t usb://x info")->code, 2);
}

/* ---- tables ----------------------------------------------------------------------------- */

static void every_verb_has_help_whose_examples_are_understood(void **state)
{
    (void)state;
    size_t n, n_options;
    const tw_verb_t *v = cli_verbs(&n);
    const tw_option_t *o = cli_options(&n_options);
    for (size_t i = 0; i < n; i++) {
        char line[400];
        if (!v[i].summary[0]) {
            continue;
        }
        (void)snprintf(line, sizeof line, "%s --help", v[i].name);
        const result_t *r = run(NULL, line);
        if (r->code != 0 || !strstr(r->out, v[i].summary) || !strstr(r->out, "examples:")) {
            fail_msg("help of %s: %s", v[i].name, r->out);
        }
        for (const char *at = v[i].examples; at && *at;) {
            const char *nl = strchr(at, '\n');
            tw_cli_t cli = {.out = stdout, .err = stderr};
            char *argv[WORDS] = {"tunewire"}, *save = NULL;
            int argc = 1;
            (void)snprintf(line, sizeof line, "%.*s", nl ? (int)(nl - at) : (int)strlen(at), at);
            for (char *w = strtok_r(line, " ", &save); w && *w != '>'; w = strtok_r(NULL, " ", &save)) {
                argv[argc++] = w;
            }
            if (!cli_parse(&cli, argc, argv) || cli.verb != &v[i] || cli.n_args < v[i].min ||
                (v[i].max >= 0 && cli.n_args > v[i].max)) {
                fail_msg("example of %s: %.60s", v[i].name, at);
            }
            at = nl ? nl + 1 : NULL;
        }
    }
    for (size_t i = 0; i < n_options; i++) {
        int used;
        if (o[i].verb[0]) {
            const char *words[2] = {o[i].verb, ""};
            char first[32], second[32] = "";
            (void)sscanf(o[i].verb, "%31s %31s", first, second);
            words[0] = first;
            words[1] = second;
            const tw_verb_t *verb = cli_find_verb(words, second[0] ? 2 : 1, &used);
            if (!verb || strcmp(verb->name, o[i].verb) != 0) {
                fail_msg("option %s names the verb '%s'", o[i].name, o[i].verb);
            }
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(o[k].verb, o[i].verb) == 0 && strcmp(o[k].name, o[i].name) == 0) {
                fail_msg("option %s of '%s' stands twice", o[i].name, o[i].verb);
            }
        }
    }
}

static void the_manual_holds_what_the_tables_say(void **state)
{
    (void)state;
    static char manual[TEXT];
    FILE *f = fopen("docs/CLI.md", "rb");
    assert_non_null(f);
    manual[fread(manual, 1, sizeof manual - 1, f)] = '\0';
    (void)fclose(f);
    if (!strstr(manual, run(NULL, "__docs")->out)) {
        fail_msg("docs/CLI.md: replace \"Verbs\" by the output of: tunewire __docs");
    }
}

/* The text between a type's marker and its end. */
static bool marked(const char *manual, const char *type, const char **from, const char **to)
{
    char marker[80];
    (void)snprintf(marker, sizeof marker, "<!-- params %s -->", type + strlen("arm_stream_"));
    *from = strstr(manual, marker);
    *to = *from ? strstr(*from, "<!-- end -->") : NULL;
    return *to != NULL;
}

static void the_tables_of_parameters_are_those_of_the_nodes(void **state)
{
    (void)state;
    static char manual[TEXT], rows[TEXT];
    unsigned seen = 0;
    FILE *f = fopen("docs/NODES.md", "rb");
    assert_non_null(f);
    manual[fread(manual, 1, sizeof manual - 1, f)] = '\0';
    (void)fclose(f);
    (void)snprintf(rows, sizeof rows, "%s", run(NULL, "__params")->out);
    for (char *line = strtok(rows, "\n"); line; line = strtok(NULL, "\n")) {
        char type[64], index[8], name[64], kind[64], limits[64], dflt[64] = "", want[400];
        const char *from, *to;
        assert_true(
            sscanf(line, "%63[^|]|%7[^|]|%63[^|]|%63[^|]|%63[^|]|%63[^|]", type, index, name, kind, limits, dflt) >= 5);
        if (!marked(manual, type, &from, &to)) {
            continue;
        }
        (void)snprintf(want, sizeof want, "| %s | `%s` | %s | %s | %s | ", index, name, kind, limits, dflt);
        const char *row = strstr(from, want);
        if (!row || row > to) {
            fail_msg("docs/NODES.md has not '%s' of %s: run tools/gen_docs_nodes.py", want, type);
        }
        seen++;
    }
    assert_true(seen >= 50);
}

static void completion_offers_what_may_come_next(void **state)
{
    (void)state;
    static const struct {
        const char *line, *words; /* in order, separated by '\n' */
    } lines[] = {
        {"tunewire nod", "nodes\n"},
        {"tunewire arc ", "list\nread\nscope\nrecord\n"},
        {"tunewire arc sc", "scope\n"},
        {"tunewire -t URI set ampl", "amplifier.0.\n"},
        {"tunewire -t URI set amplifier.0.m", "amplifier.0.mute=\n"},
        {"tunewire -t URI get filter.0.bi", "filter.0.biquad0\nfilter.0.biquad1\n"},
        {"tunewire -t URI get filter.0.stages ampl", "amplifier.0.\n"},
        {"tunewire -t URI preset ", "filter.0\namplifier.0\n"},
        {"tunewire -t URI preset filter.0 ", ""},
        {"tunewire -t URI arc scope ", "mic\narc.1\nout\n"},
        {"tunewire -t URI arc scope mic o", "out\n"},
        {"tunewire -t URI script run ", "0\n"},
        {"tunewire set --lo", "--lowpass\n"},
        {"tunewire log --level ", "error\nwarn\ninfo\ndebug\n"},
        {"tunewire completion ", "bash\nzsh\n"},
        {"tunewire -t tcp://127.0.0.1:1 nodes ", ""},
        {"tunewire -t tcp://127.0.0.1:1 preset ", ""},
        {"tunewire ", NULL},
        {"", NULL},
    };
    fake_device_t d = {0};
    fake_start(&d);
    for (size_t i = 0; i < TW_COUNT(lines); i++) {
        char line[200], *argv[] = {"tunewire", "__complete", line};
        const char *uri = strstr(lines[i].line, "URI");
        (void)snprintf(line, sizeof line, "%.*s%s%s", uri ? (int)(uri - lines[i].line) : (int)strlen(lines[i].line),
                       lines[i].line, uri ? d.uri : "", uri ? uri + 3 : "");
        FILE *out = tmpfile(), *err = tmpfile();
        static char said[TEXT], blamed[TEXT];
        assert_int_equal(tw_cli_main(3, argv, out, err, NULL), 0);
        read_back(out, said);
        read_back(err, blamed);
        if (blamed[0] || (lines[i].words ? strcmp(said, lines[i].words) != 0 : !strstr(said, "nodes\n"))) {
            fail_msg("'%s' offers:\n%s(%s)", line, said, blamed);
        }
    }
    fake_stop(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_answers_with_the_code_and_the_words_it_should),
        cmocka_unit_test(json_is_json_whatever_happens),
        cmocka_unit_test(names_from_a_device_cannot_command_the_terminal_or_break_the_json),
        cmocka_unit_test(values_set_are_values_read),
        cmocka_unit_test(a_device_that_fails_gives_its_own_exit_code),
        cmocka_unit_test(every_verb_has_help_whose_examples_are_understood),
        cmocka_unit_test(the_manual_holds_what_the_tables_say),
        cmocka_unit_test(the_tables_of_parameters_are_those_of_the_nodes),
        cmocka_unit_test(completion_offers_what_may_come_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
