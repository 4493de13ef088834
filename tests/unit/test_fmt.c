/* Graph texts and manifests in canonical form: what it looks like, that it is a fixed point, what is refused. */
#include "host_tools/graphc/fmt/graphc_fmt.h"
#include "tests/support/meaning.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static tw_graph_fmt_t *format(const char *text, size_t n)
{
    tw_graph_fmt_t *out = calloc(1, sizeof *out);
    assert_non_null(out);
    (void)tw_graph_fmt("t.txt", text, n, out);
    return out;
}

static void drop(tw_graph_fmt_t *out)
{
    tw_graph_fmt_free(out);
    free(out);
}

/* ---- what it looks like ---------------------------------------------------------- */

static const struct {
    const char *why, *in, *out;
} looks[] = {
    {"nothing stays nothing", "", ""},
    {"blank lines at both ends go, between they fold", "\n\n; a\n\n\n\n; b\n\n", "; a\n\n; b\n"},
    {"a comment begins with ';' and a blank", ";a\n;  b\n;;c\n;----\n;\n", "; a\n;  b\n;;c\n;----\n;\n"},
    {"tags of a record are indented, their values in a column",
     "format 0\nformat_frame_length 96\n   format_nbchan 2\n",
     "format 0\n    format_frame_length 96\n    format_nbchan       2\n"},
    {"codes are names", "format 0\nformat_raw_data 17\nformat_sdomain 104\nformat_domain 1\n",
     "format 0\n    format_raw_data S16\n    format_sdomain  Vrms\n    format_domain   audio_in\n"},
    {"numbers are short", "format 007\nformat_sampling_rate +16000.00\nformat_frame_length 0x0ab\n",
     "format 7\n    format_sampling_rate 16000\n    format_frame_length  0x0AB\n"},
    {"an alias is the tag it stands for", "graph_file_path 1 ./x\n_include 1 a.txt\n",
     "set_file_path 1 ./x\ninclude       1 a.txt\n"},
    {"IO and its platform index in one line are two", "stream_io_graph 0 4 ; mic\n",
     "stream_io 0  ; mic\n    stream_io_hwid 4\n"},
    {"what follows a value is a comment", "graph_location 3 in RAM; yes\n", "graph_location 3  ; in RAM; yes\n"},
    {"comments of a run stand in a column", "graph_location 3 ; a\nscheduler_return 2 ;b\n",
     "graph_location   3  ; a\nscheduler_return 2  ; b\n"},
    {"a node is closed, and a blank line stands before it",
     "graph_location 3\nnode f 0\nnode_preset 1\narc f 0 1 0 f 0 0 0\n",
     "graph_location 3\n\nnode f 0\n    node_preset 1\n_end_\narc f 0 1 0 f 0 0 0\n"},
    {"a node's name on the next line", "node\n  f 0 name\n_end____\n", "node f 0  ; name\n_end_\n"},
    {"data lines: counts and types in columns, hexadecimal as wide as its type",
     "node f 0\nparameters\n 1 u8; 0 TAG\n2 h16: 1a, 2b\n10 s16; 1 2 3 4 5 6 7 8 9 -10 ten\nend\n_end_\n",
     "node f 0\n    node_parameters\n         1  u8; 0  ; TAG\n         2 h16; 001A 002B\n"
     "        10 s16; 1 2 3 4 5 6 7 8 9 -10  ; ten\n    _end_\n_end_\n"},
    {"floats are the shortest that mean the same, a zero keeps its sign",
     "node f 0\nnode_parameters\n1 u8; 0\n4 f32; 0.100 1.50f -0.0 1e3\n_end_\n_end_\n",
     "node f 0\n    node_parameters\n        1  u8; 0\n        4 f32; 0.1 1.5 -0.0 1000\n    _end_\n_end_\n"},
    {"comments stand with the statement they are before",
     "node f 0\n;in\nnode_preset 1\n; still in\n_end_\n;out\nnode g 0\n_end_\n",
     "node f 0\n    ; in\n    node_preset 1\n    ; still in\n_end_\n; out\nnode g 0\n_end_\n"},
    {"rules without ';' are comments", "----\ngraph_location 3\n=====\n", ";----\ngraph_location 3\n;=====\n"},
    {"assembler lines keep their words", "script 0\nscript_assembler\n  movi  int16   r0, 1 ; x\n ret\n_end_\n",
     "script 0\n    script_assembler\n        movi int16 r0, 1  ; x\n        ret\n    _end_\n_end_\n"},
    {"rows of the older form stand in columns, headings are comments",
     "format\n ID FRAME\n 0 8 17 1 0 0 0 0 0\n 1 16 17 1 0 0 0 10 0\n_end_\n",
     "format\n    ; ID FRAME\n    0  8 17 1 0 0 0  0 0\n    1 16 17 1 0 0 0 10 0\n_end_\n"},
    {"ends of nothing go", "graph_location 3\n_end_\nend\n", "graph_location 3\n"},
    {"a byte order mark and carriage returns go", "\xEF\xBB\xBFgraph_location 3\r\n; a\r\n", "graph_location 3\n; a\n"},
    {"arcs stand in columns", "arc a 0 1 0 long_name 0 0 0\narc long_name 0 1 0 a 10 0 0\n",
     "arc a         0 1 0 long_name  0 0 0\narc long_name 0 1 0 a         10 0 0\n"},
    {"a file that is named is not read", "include 5 nowhere.txt\n", "include 5 nowhere.txt\n"},
    {"what is declared elsewhere is no error", "stream_io 0\nstream_io_format 9\narc_input 4 there 0 0 3\n",
     "stream_io 0\n    stream_io_format 9\narc_input 4 there 0 0 3\n"},
    {"node manifest",
     "ARM\nfilter name\nnode_mem 0\nnode_mem_alloc 076\nnode_arc 0\nnode_arc_raw_format {1 17 FP32}\n"
     "node_arc_nb_channels 2\nnode_arc_sampling_rate {-2 8000 8000 24000 } Hz\n",
     "ARM\nfilter  ; name\nnode_mem 0\n    node_mem_alloc 76\nnode_arc 0\n    node_arc_raw_format    {1 S16 FP32}\n"
     "    node_arc_nb_channels   {1 2}\n    node_arc_sampling_rate {-2 8000 8000 24000}  ; Hz\n"},
    {"spellings of one tag become the first of them",
     "A\nn\nnode_mem 0\nnode_mem_alloc 4\nnode_mem_alignment 8\nnode_mem_data0prog1 1\n",
     "A\nn\nnode_mem 0\n    node_mem_alloc      4\n    node_mem_alignement 8\n    node_mem_dataOprog1 1\n"},
    {"IO manifest, tags of back ends kept",
     "mic ; name\naudio_in\nio_subtype_units 104\nio_file   a b.wav\n"
     "io_nb_channels 0 {1 1 2} ; c\n",
     "mic  ; name\naudio_in\nio_subtype_units Vrms\nio_file          a b.wav\nio_nb_channels   0 {1 1 2}  ; c\n"},
    {"processor map", "1 1 2 sizes\n0 0 1 0 0 0 0 95526 10 flat\n0 10 0 2 0 0 0 1024 524288\n1 1 15 main\n",
     "1 1 2                        ; sizes\n0  0 1 0 0 0 0 95526     10  ; flat\n0 10 0 2 0 0 0  1024 524288\n1 1 15  "
     "; main\n"},
    {"top manifest with processors, whose end goes",
     "1\n0 ./\n1 processors\n2\n0 8000 1 0 1 -1 all\n10 4000 1 0 1 -1\n1 1 1 0 15 1\n0 a.txt 1 mic\n0 n.txt 0 1 4\nend "
     "; x\n",
     "1\n0 ./\n1  ; processors\n2\n 0 8000 1 0  1 -1  ; all\n10 4000 1 0  1 -1\n 1    1 1 0 15  1\n0 a.txt 1  ; mic\n0 "
     "n.txt 0 1 4\n; x\n"},
    {"later names of a node manifest's tags",
     "A\nn\nnode_mem 0\nnode_mem_alloc 4\nnode_mem_type 1\nnode_arc 0\nnode_arc_frame_samples {-1 1 1 4}\n",
     "A\nn\nnode_mem 0\n    node_mem_alloc     4\n    node_mem_retention 1\nnode_arc 0\n"
     "    node_arc_frame_length {-1 1 1 4}\n"},
    {"top manifest", "2 paths\n./ local\n../nodes\n0 map.txt\n1\n0 mic.txt 4 1 0 mic\n1 nodes\n1 f.txt /* filter */\n",
     "2   ; paths\n./  ; local\n../nodes\n0 map.txt\n1\n0 mic.txt 4 1 0  ; mic\n1                ; nodes\n1 f.txt      "
     "    ; /* filter */\n"},
};

static void a_text_looks_as_a_person_would_write_it(void **state)
{
    (void)state;
    unsigned bad = 0;
    for (size_t i = 0; i < TW_COUNT(looks); i++) {
        tw_graph_fmt_t *out = format(looks[i].in, strlen(looks[i].in));
        if (out->text == NULL) {
            bad++;
            print_error("%s: %u: %s\n", looks[i].why, out->diags.rows[0].line, out->diags.rows[0].text);
        }
        if (out->text != NULL && strcmp(out->text, looks[i].out) != 0) {
            bad++;
            print_error("%s:\n%s\n", looks[i].why, out->text);
        }
        drop(out);
    }
    assert_int_equal(bad, 0);
}

static void canonical_text_is_a_fixed_point(void **state)
{
    (void)state;
    unsigned bad = 0;
    for (size_t i = 0; i < TW_COUNT(looks); i++) {
        tw_graph_fmt_t *out = format(looks[i].out, strlen(looks[i].out));
        if (out->text == NULL || strcmp(out->text, looks[i].out) != 0) {
            bad++;
            print_error("%s:\n%s\n", looks[i].why, out->text != NULL ? out->text : out->diags.rows[0].text);
        }
        drop(out);
    }
    assert_int_equal(bad, 0);
}

static void canonical_text_means_the_same(void **state)
{
    (void)state;
    unsigned compared = 0;
    for (size_t i = 0; i < TW_COUNT(looks); i++) {
        g_text_t before = {0}, after = {0};
        const bool was = meaning_of(&before, looks[i].in, strlen(looks[i].in));
        const bool is = meaning_of(&after, looks[i].out, strlen(looks[i].out));
        char *a = g_text_take(&before), *b = g_text_take(&after);
        if (was && (!is || strcmp(a, b) != 0)) {
            fail_msg("%s:\n%s\nbecomes\n%s", looks[i].why, a, b);
        }
        compared += was;
        free(a);
        free(b);
    }
    assert_true(compared >= TW_COUNT(looks) - 3);
}

/* ---- what is refused --------------------------------------------------------------- */

static const struct {
    const char *why, *in, *says;
    unsigned line, col;
} refused[] = {
    {"an unknown tag, with its nearest spelling", "graph_location 3\ngraf_name x\n", "graph_name", 2, 1},
    {"a bad value", "format 0\nformat_nbchan 99\n", "allowed 1..32", 2, 15},
    {"a data line short of values", "node f 0\nnode_parameters\n3 u8; 1 2\n_end_\n", "3 values announced", 3, 10},
    {"a block that is not closed", "node f 0\nnode_parameters\n1 u8; 0\n", "without _end_", 2, 1},
    {"a tag outside its record", "arc_flush 1\n", "belongs to an arc", 1, 1},
    {"a compiled listing", "0x00000091, // words\n0x00000000,\n", "decode-legacy", 0, 0},
    {"a numbered list", "1 this\n2 that\n3 and\n4 so\n", "list or explanation", 0, 0},
    {"an unknown tag of a node manifest", "ARM\nf\nnode_mem 0\nnode_mem_aloc 3\n", "node_mem_alloc", 4, 1},
    {"a domain that is none", "mic\nio_x 1\naudio\n", "unknown domain", 3, 1},
    {"a map that ends early", "1 1 2\n0 0 1 0 0 0 0 95526 10\n", "expected a memory bank", 3, 0},
    {"a top manifest that ends early", "1\n./\n0 map.txt\n2\n0 a.txt 1 1 0\n", "expected an IO manifest", 6, 0},
};

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    unsigned bad = 0;
    for (size_t i = 0; i < TW_COUNT(refused); i++) {
        tw_graph_fmt_t *out = format(refused[i].in, strlen(refused[i].in));
        bool told = out->text == NULL && out->diags.errors > 0;
        for (unsigned k = 0; told && k < out->diags.n && strstr(out->diags.rows[k].text, refused[i].says) == NULL;
             k++) {
            told = k + 1 < out->diags.n;
        }
        const tw_diag_t *row = &out->diags.rows[0];
        if (!told || row->line != refused[i].line || row->col != refused[i].col) {
            bad++;
            print_error("%s: %u:%u %s\n", refused[i].why, row->line, row->col, row->text);
        }
        drop(out);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_looks_as_a_person_would_write_it),
        cmocka_unit_test(canonical_text_is_a_fixed_point),
        cmocka_unit_test(canonical_text_means_the_same),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
