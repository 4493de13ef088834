/* Texts of other eras: what they become, what is told of them and where. The texts are in tests/golden/eras. */
#include "tests/unit/lang_rig.h"
#include "host_tools/graphc/legacy/graphc_translate.h"

#define FOLDER "tests/golden/eras/"

static const struct {
    const char *name, *claim;
} texts[] = {
    {"e0", "comma-separated lines: IOs, formats, rings, nodes and their parameters"},
    {"e0_compact", "the same in letters; a node without a name is known by its type"},
    {"e0_broken", "every broken line of it is told"},
    {"e1", "positional blocks; 8-bit codes stay as comments and the script returns"},
    {"e1_sub", "arcs with an index before them; the ports of a sub-graph from its arcs"},
    {"e1_inner", "a sub-graph counts its interfaces from 1"},
    {"e1_broken", "a row short of numbers, a word for a row, an arc without an end"},
    {"e2a", "S and X rows, 16-bit code kept, a script number without gaps"},
    {"later", "renamed tags, operands in another order, statements for code"},
    {"later_2025", "raw codes of graph_dialect 2025 become names"},
    {"template", "placeholders are told and filled"},
    {"io_template", "prose between the tags of an IO manifest becomes comment"},
    {"node_e1", "positional node manifest, default index from 0"},
    {"node_x", "positional node manifest of May 2024"},
    {"files", "the list of files is a top manifest"},
    {"platform", "the platform manifest is a processor and memory map"},
};

static char *slurp(const char *name, const char *suffix, size_t *n)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "%s.%s", name, suffix);
    char *text = tw_text_files.read(NULL, path, n);
    if (text == NULL) {
        fail_msg("%s is missing", path);
    }
    return text;
}

static void say_rows(say_t *s, const tw_diags_t *d)
{
    s->n = 0;
    s->v[0] = 0;
    for (unsigned i = 0; i < d->n; i++) {
        char line[700];
        tw_diag_t row = d->rows[i];
        memcpy(row.file, "t", 2);
        tw_diag_line(&row, line, sizeof line);
        say(s, "%s\n", line + 2);
    }
}

static void a_text_of_another_era_becomes_ours_with_places_in_the_original(void **state)
{
    (void)state;
    static say_t says;
    unsigned bad = 0;
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        size_t n, n_out, n_says;
        char *in = slurp(texts[i].name, "in", &n), *out = slurp(texts[i].name, "out", &n_out),
             *want_says = slurp(texts[i].name, "says", &n_says);
        tw_graph_fmt_t *got = calloc(1, sizeof *got);
        (void)tw_graph_fmt("t", in, n, got);
        say_rows(&says, &got->diags);
        if (got->n != n_out || (n_out > 0 && memcmp(got->text, out, n_out) != 0)) {
            print_error("%s: %s\n%s\n", texts[i].name, texts[i].claim, got->text != NULL ? got->text : "refused");
            bad++;
        }
        if (says.n != n_says || memcmp(says.v, want_says, n_says) != 0) {
            print_error("%s says\n%s", texts[i].name, says.v);
            bad++;
        }
        tw_graph_fmt_free(got);
        free(got);
        free(in);
        free(out);
        free(want_says);
    }
    assert_int_equal(bad, 0);
}

static void what_a_translation_says_is_ours_and_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        size_t n;
        char *out = slurp(texts[i].name, "out", &n);
        tw_graph_fmt_t *got = calloc(1, sizeof *got);
        if (!tw_graph_fmt("t", out, n, got) || got->n != n || memcmp(got->text, out, n) != 0) {
            fail_msg("%s: printed anew it is\n%s", texts[i].name, got->text != NULL ? got->text : "refused");
        }
        tw_graph_fmt_free(got);
        free(got);
        free(out);
    }
}

/* ---- the compiler reads them through the same translation -------------------------- */

static void an_old_graph_compiles_when_its_nodes_exist(void **state)
{
    (void)state;
    static const char e1[] = "format\n 1\n 0 96 17 1 48000 0 0 0\n _end_\n"
                             "top_graph_interface\n 2\n 0 0 4 0 0\n 1 0 7 0 0\n _end_\n"
                             "node\n arm_stream_detector 0\n 1 0 0 0 0\n _end_\n"
                             "arc\n 2\n 0 0 0 0 0 0 0 0 0 1.0\n _graph_interface 0 1\n arm_stream_detector 0 0\n"
                             " 0 0 0 0 0 0 0 0 0 1.0\n arm_stream_detector 0 1\n _graph_interface 1 1\n _end_\n";
    const file_t files[] = {{"g.txt", e1}, {NULL, NULL}};
    tw_graphc_out_t *out = calloc(1, sizeof *out);
    static say_t s;
    if (!compile_files(files, out)) {
        s.n = 0;
        say_diags(&s, &out->diags);
        fail_msg("%s", s.v);
    }
    tw_graphc_free(out);
    free(out);
}

static void an_error_in_an_old_graph_points_into_it(void **state)
{
    (void)state;
    static const char e1[] = "format\n 1\n 0 96 17 1 48000 0 0 0\n _end_\n"
                             "node\n unknown_node 7\n 1 0 0 0 0\n _end_\n"
                             "arc\n 1\n\n S 0 0\n unknown_node 7 1\n gone 0 0\n _end_\n";
    const file_t files[] = {{"g.txt", e1}, {NULL, NULL}};
    static say_t s;
    (void)parse_files(files, &s);
    want("the line of the arc's end, whole: its words stand elsewhere in the translation", &s,
         "g.txt:14:0 error: node gone 0 is not declared");
}

static void a_line_kept_as_it_was_keeps_its_columns(void **state)
{
    (void)state;
    const file_t files[] = {{"g.txt", "format_index 0\n   format_nbchan   99\n"}, {NULL, NULL}};
    static say_t s;
    (void)parse_files(files, &s);
    want("column of the value in the user's line", &s, "g.txt:2:20 error: format_nbchan is 99, allowed 1..32");
}

/* script_heap is a word of the later texts and of ours; a number behind a script's node_parameters is a label. */
static void labels_of_script_data_are_no_tags_in_later_texts(void **state)
{
    (void)state;
    static const char text[] = "format 0\n format_frame_length 96\nstream_io_graph 0 0\nstream_io_graph 1 9\n"
                               "script 0\n script_stack 1\n script_heap 4\n script_assembler\n  psha #70\n  ret\n"
                               " _end_\n node_parameters 70\n  1 u8; 5\n _end_\n_end_\n"
                               "node arm_stream_amplifier 0\n node_parameters 7\n  1 f32; 0.5\n _end_\n_end_\n"
                               "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier 0 1 0\n";
    const file_t files[] = {{"g.txt", text}, {NULL, NULL}};
    tw_graphc_out_t *out = calloc(1, sizeof *out);
    static say_t s;
    if (!compile_files(files, out)) {
        s.n = 0;
        say_diags(&s, &out->diags);
        fail_msg("%s", s.v);
    }
    tw_graphc_free(out);
    free(out);
}

static void an_included_file_is_translated_too(void **state)
{
    (void)state;
    const file_t files[] = {{"g.txt", "include 0 more.txt\nstream_io 0\nstream_io_format 3\n"},
                            {"./more.txt", "format_index 3\nformat_frame_length 64\n"},
                            {"more.txt", "format_index 3\nformat_frame_length 64\n"},
                            {NULL, NULL}};
    static say_t s;
    if (!parse_files(files, &s)) {
        fail_msg("%s", s.v);
    }
    want("the format of the included file", &s, "id=3 frame=64");
}

static void a_raw_code_that_is_not_certain_is_refused(void **state)
{
    (void)state;
    const file_t files[] = {{"g.txt", "graph_dialect 2025\nformat_index 0\nformat_raw_data 17\n"}, {NULL, NULL}};
    static say_t s;
    (void)parse_files(files, &s);
    want("the code, where it stands", &s, "g.txt:3:17 error: raw type 17");
}

/* ---- eras --------------------------------------------------------------------------- */

static void the_era_of_a_text_is_told_by_its_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        g_dialect_t dialect;
    } cases[] = {
        {"", G_DIALECT_OURS},
        {"format 0\nnode f 0\n_end_\narc f 0 1 0 f 0 0 0\n", G_DIALECT_OURS},
        {"graph\ntop_header\ngraph_location 0\nnode\n f 0\n_end_\n", G_DIALECT_OURS},
        {"graph_dialect 2024\n", G_DIALECT_LATER},
        {"h, 2 in, 2 out\n", G_DIALECT_E0},
        {"h 2\n", G_DIALECT_OURS},
        {"; h,\nformat 0\n", G_DIALECT_OURS},
        {"paths\n ./\n_end_\n", G_DIALECT_E1},
        {"arc\n S 0 0\n", G_DIALECT_E1},
        {"arc_input 0 1 f 0 0 0\n", G_DIALECT_LATER},
        {"arc_input 0 f 0 0 0 1 1\n", G_DIALECT_OURS},
        {"format_index 0\n", G_DIALECT_LATER},
        {"node <name> 0\n", G_DIALECT_TEMPLATE},
        {"node f 0\n; <name>\n", G_DIALECT_OURS},
        {"..\n", G_DIALECT_TEMPLATE},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        if (g_dialect(cases[i].text, strlen(cases[i].text)) != cases[i].dialect) {
            fail_msg("case %zu: %s", i, cases[i].text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_of_another_era_becomes_ours_with_places_in_the_original),
        cmocka_unit_test(what_a_translation_says_is_ours_and_stays),
        cmocka_unit_test(an_old_graph_compiles_when_its_nodes_exist),
        cmocka_unit_test(an_error_in_an_old_graph_points_into_it),
        cmocka_unit_test(a_line_kept_as_it_was_keeps_its_columns),
        cmocka_unit_test(labels_of_script_data_are_no_tags_in_later_texts),
        cmocka_unit_test(an_included_file_is_translated_too),
        cmocka_unit_test(a_raw_code_that_is_not_certain_is_refused),
        cmocka_unit_test(the_era_of_a_text_is_told_by_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
