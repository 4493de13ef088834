/* Diagnostics: the line, the whole word underlined, the way a text came in; whatever bytes the text has. */
#include "host_tools/graphc/graphc_diag.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct memory {
    const char *path, *text;
    size_t n;
    unsigned reads;
} memory_t;

static char *read_memory(void *ctx, const char *path, size_t *n)
{
    for (memory_t *m = ctx; m->path != NULL; m++) {
        if (strcmp(m->path, path) == 0) {
            char *copy = malloc(m->n + 1);
            assert_non_null(copy);
            memcpy(copy, m->text, m->n);
            *n = m->n;
            m->reads++;
            return copy;
        }
    }
    return NULL;
}

static tw_diags_t diags;
static char printed[65536];

static const char *print(memory_t *texts, bool colour)
{
    const tw_text_source_t src = {texts, read_memory};
    FILE *f = fmemopen(printed, sizeof printed, "wb");
    assert_non_null(f);
    tw_diags_print_from(&diags, &src, f, colour);
    assert_int_equal(fclose(f), 0);
    return printed;
}

static const char *print_at(const char *text, size_t n, unsigned line, unsigned col, unsigned len)
{
    memory_t texts[] = {{"t", text, n, 0}, {NULL, NULL, 0, 0}};
    memset(&diags, 0, sizeof diags);
    tw_diag(&diags, false, "t", line, col, "wrong");
    diags.rows[0].len = len;
    return print(texts, false);
}

static void the_whole_word_is_underlined(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text;
        unsigned line, col, len;
        const char *want;
    } cases[] = {
        {"a word of known length", "node  amplifer 0", 1, 7, 8, "    1 | node  amplifer 0\n      |       ^~~~~~~~\n"},
        {"the word that stands there", "a b,c;d", 1, 3, 0, "    1 | a b,c;d\n      |   ^\n"},
        {"a brace stands alone", "x {1 2}", 1, 3, 0, "    1 | x {1 2}\n      |   ^\n"},
        {"tabs are spread", "\ta\tbb", 1, 4, 2, "    1 |         a       bb\n      |                 ^~\n"},
        {"behind the last word", "ab  \r\ncd", 1, 5, 0, "    1 | ab\n      |     ^\n"},
        {"far behind the line", "ab\ncd", 2, 99, 7, "    2 | cd\n      |   ^\n"},
        {"the length ends with the line", "ab\ncd", 1, 1, 999, "    1 | ab\n      | ^~\n"},
        {"the line alone", "ab\ncd", 2, 0, 0, "    2 | cd\n"},
        {"no such line", "ab", 7, 1, 0, ""},
        {"an empty text", "", 1, 1, 1, "    1 | \n      | ^\n"},
        {"an accent is one column", "; \xC3\xA9t\xC3\xA9 x", 1, 9, 1,
         "    1 | ; \xC3\xA9t\xC3\xA9 x\n      |       ^\n"},
        {"bytes that are no UTF-8", "\xFF\xC3 x", 1, 4, 1, "    1 | ?? x\n      |    ^\n"},
        {"what a terminal would obey", "\x1B[2J\x07 \xC2\x9B x", 1, 10, 1, "    1 | ?[2J? ?? x\n      |          ^\n"},
        {"a byte order mark is no text",
         "\xEF\xBB\xBF"
         "ab",
         1, 1, 2, "    1 | ab\n      | ^~\n"},
        {"carriage returns alone end no line", "a\rb\rc", 1, 3, 1, "    1 | a b c\n      |   ^\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *got = print_at(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].col, cases[i].len);
        const char *body = strchr(got, '\n') + 1;
        if (strcmp(body, cases[i].want) != 0) {
            fail_msg("%s: want\n%sgot\n%s", cases[i].why, cases[i].want, body);
        }
    }
}

static void a_nul_in_the_text_is_shown_not_obeyed(void **state)
{
    (void)state;
    static const char text[] = "a\0b c";
    assert_string_equal(strchr(print_at(text, sizeof text - 1, 1, 5, 1), '\n') + 1, "    1 | a?b c\n      |     ^\n");
}

static void long_lines_are_cut_around_the_word(void **state)
{
    (void)state;
    enum { N = 3 << 20 };
    char *text = malloc(N);
    assert_non_null(text);
    memset(text, 'x', N);
    static const unsigned cols[] = {1, 120, 5000, N / 2, N};
    for (size_t i = 0; i < TW_COUNT(cols); i++) {
        text[cols[i] - 1] = 'W';
        const char *line = strchr(print_at(text, N, 1, cols[i], 1), '|') + 2;
        const char *end = strchr(line, '\n'), *caret = strchr(strchr(end, '|'), '^');
        assert_true(end - line <= 166); /* 160 and the dots on both sides */
        assert_int_equal(line[caret - strchr(end, '|') - 2], 'W');
        text[cols[i] - 1] = 'x';
    }
    free(text);
}

static void a_text_is_read_once_for_all_that_is_said_of_it(void **state)
{
    (void)state;
    memory_t texts[] = {{"a", "one\ntwo\n", 8, 0}, {"b", "three\n", 6, 0}, {NULL, NULL, 0, 0}};
    memset(&diags, 0, sizeof diags);
    for (unsigned i = 0; i < 20; i++) {
        tw_diag(&diags, i % 2 != 0, i % 3 == 0 ? "b" : "a", 1 + i % 2, 1, "x");
        tw_diag_note(&diags, "gone", 1, 1, "no such text");
    }
    (void)print(texts, false);
    assert_int_equal(texts[0].reads, 1);
    assert_int_equal(texts[1].reads, 1);
}

static void the_way_a_text_came_in_is_told_after_its_errors(void **state)
{
    (void)state;
    static const char main_name[] = "main", inner_name[] = "inner", deep_name[] = "deep";
    memory_t texts[] = {
        {"main", "a\ninclude inner\n", 16, 0},
        {"inner", "include deep\nbad", 16, 0},
        {"deep", "bad", 3, 0},
        {NULL, NULL, 0, 0},
    };
    memset(&diags, 0, sizeof diags);
    tw_diag_origin(&diags, inner_name, main_name, 2, 9, "included here");
    tw_diag_origin(&diags, deep_name, inner_name, 1, 9, "included here");
    tw_diag(&diags, false, deep_name, 1, 1, "first");
    tw_diag(&diags, false, deep_name, 1, 2, "second");
    tw_diag(&diags, false, main_name, 1, 1, "third");
    tw_diag_origins_end(&diags);
    tw_diag(&diags, false, deep_name, 0, 0, "its name means nothing now");
    assert_string_equal(print(texts, false), "deep:1:1: error: first\n    1 | bad\n      | ^~~\n"
                                             "deep:1:2: error: second\n    1 | bad\n      |  ^~\n"
                                             "inner:1:9: note: included here\n"
                                             "    1 | include deep\n      |         ^~~~\n"
                                             "main:2:9: note: included here\n"
                                             "    2 | include inner\n      |         ^~~~~\n"
                                             "deep: error: its name means nothing now\n"
                                             "main:1:1: error: third\n    1 | a\n      | ^\n");
    assert_int_equal(texts[1].reads, 1);
}

static void colours_are_there_when_asked_for_and_only_then(void **state)
{
    (void)state;
    memory_t texts[] = {{NULL, NULL, 0, 0}};
    memset(&diags, 0, sizeof diags);
    tw_diag(&diags, true, "\x1B[31mf", 1, 1, "x");
    assert_string_equal(print(texts, false), "?[31mf:1:1: warning: x\n");
    assert_string_equal(print(texts, true), "\033[1m?[31mf:1:1: \033[1;35mwarning: \033[0mx\n");
}

static void an_error_takes_the_place_of_a_warning_when_all_are_taken(void **state)
{
    (void)state;
    memory_t texts[] = {{NULL, NULL, 0, 0}};
    memset(&diags, 0, sizeof diags);
    for (unsigned i = 0; i < 40; i++) {
        tw_diag(&diags, true, "f", i + 1, 0, "warned");
        tw_diag_note(&diags, "f", i + 1, 0, "more of it");
    }
    for (unsigned i = 0; i < 70; i++) {
        tw_diag(&diags, false, "f", 100 + i, 0, "wrong");
    }
    assert_int_equal(diags.n, TW_COUNT(diags.rows));
    assert_int_equal(diags.errors, 70);
    assert_int_equal(diags.warnings, 40);
    for (unsigned i = 0; i < diags.n; i++) {
        assert_false(diags.rows[i].warning || diags.rows[i].note);
    }
    char text[64];
    tw_diag_summary(&diags, text, sizeof text);
    assert_string_equal(text, "70 errors, 40 warnings");
    assert_non_null(strstr(print(texts, false), "and 6 more errors\n"));
}

static void what_is_said_follows_the_text(void **state)
{
    (void)state;
    memory_t texts[] = {{NULL, NULL, 0, 0}};
    static const struct {
        const char *file;
        unsigned line, col;
        bool note;
        const char *text;
    } rows[] = {{"g", 9, 2, false, "5"}, {"g", 0, 0, false, "7"}, {"g", 9, 1, false, "3"}, {"m", 1, 1, true, "4"},
                {"m", 3, 1, false, "8"}, {"g", 2, 7, false, "1"}, {"h", 1, 1, true, "2"},  {"g", 9, 2, false, "6"}};
    memset(&diags, 0, sizeof diags);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (rows[i].note) {
            tw_diag_note(&diags, rows[i].file, rows[i].line, rows[i].col, "%s", rows[i].text);
        } else {
            tw_diag(&diags, false, rows[i].file, rows[i].line, rows[i].col, "%s", rows[i].text);
        }
    }
    char seen[16];
    size_t n = 0;
    for (const char *p = print(texts, false); (p = strchr(p, '\n')) != NULL; p++) {
        seen[n++] = p[-1];
    }
    seen[n] = 0;
    assert_string_equal(seen, "12345678");
}

static void json_has_every_field_and_escapes(void **state)
{
    (void)state;
    memory_t texts[] = {{"a\"\\\xFF", "one two\n", 8, 0}, {NULL, NULL, 0, 0}};
    const tw_text_source_t src = {texts, read_memory};
    memset(&diags, 0, sizeof diags);
    tw_diag(&diags, false, "a\"\\\xFF", 1, 5, "say \"x\"");
    tw_diag_note(&diags, "a\"\\\xFF", 1, 1, "here");
    tw_diag(&diags, true, "g", 0, 0, "y");
    char *got = tw_diags_json(&diags, &src);
    assert_string_equal(got, "[{\"file\":\"a\\\"\\\\?\",\"line\":1,\"col\":5,\"end_col\":8,\"severity\":\"error\","
                             "\"text\":\"say \\\"x\\\"\",\"notes\":[{\"file\":\"a\\\"\\\\?\",\"line\":1,\"col\":1,"
                             "\"end_col\":4,\"text\":\"here\"}]},"
                             "{\"file\":\"g\",\"line\":0,\"col\":0,\"end_col\":0,\"severity\":\"warning\","
                             "\"text\":\"y\",\"notes\":[]}]");
    free(got);
}

static void nearest_takes_swapped_letters_and_case_for_slips(void **state)
{
    (void)state;
    static const char *const words[] = {"S16", "U16", "S64", "FP32", "Vrms", "m"};
    static const struct {
        const char *typed, *meant;
    } cases[] = {{"S61", "S16"}, {"vrms", "Vrms"}, {"VRMS", "Vrms"}, {"FP23", "FP32"},
                 {"M", "m"},     {"q", NULL},      {"zebra", NULL}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_tok_t tok = {.p = cases[i].typed, .n = (uint32_t)strlen(cases[i].typed)};
        const char *got = tw_nearest(&tok, words, TW_COUNT(words), sizeof words[0]);
        if (cases[i].meant == NULL) {
            assert_null(got);
        } else {
            assert_non_null(got);
            assert_string_equal(got, cases[i].meant);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_word_is_underlined),
        cmocka_unit_test(a_nul_in_the_text_is_shown_not_obeyed),
        cmocka_unit_test(long_lines_are_cut_around_the_word),
        cmocka_unit_test(a_text_is_read_once_for_all_that_is_said_of_it),
        cmocka_unit_test(the_way_a_text_came_in_is_told_after_its_errors),
        cmocka_unit_test(colours_are_there_when_asked_for_and_only_then),
        cmocka_unit_test(an_error_takes_the_place_of_a_warning_when_all_are_taken),
        cmocka_unit_test(what_is_said_follows_the_text),
        cmocka_unit_test(json_has_every_field_and_escapes),
        cmocka_unit_test(nearest_takes_swapped_letters_and_case_for_slips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
