/* The text itself: lines, numbers, data lines, ends of blocks, includes. Each ambiguity of the seed has its resolution.
 */
#include "tests/unit/lang_rig.h"

static say_t got;

static void params_of(const char *lines)
{
    char text[900];
    snprintf(text, sizeof text, "node amp 0\nnode_parameters\n 1 u8; 0\n%s\n_end_\n_end_\n", lines);
    (void)parse_text(text, &got);
}

/* ---- data lines ---------------------------------------------------------------------- */

static void test_S0_L133_every_type_has_its_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *line, *bytes;
    } cases[] = {
        {"2 i8; -128 127", "807f"},
        {"2 s8; -128 127", "807f"},
        {"2 u8; 0 255", "00ff"},
        {"2 h8; 0 fF", "00ff"},
        {"2 i16; -32768 32767", "0080ff7f"},
        {"2 s16; -32768 32767", "0080ff7f"},
        {"2 u16; 0 65535", "0000ffff"},
        {"2 h16; 2002 0001", "02200100"},
        {"2 i32; -2147483648 2147483647", "00000080ffffff7f"},
        {"2 s32; -2147483648 2147483647", "00000080ffffff7f"},
        {"1 u32; 4294967295", "ffffffff"},
        {"1 h32; DEADBEEF", "efbeadde"},
        {"1 i64; -9223372036854775808", "0000000000000080"},
        {"1 s64; 9223372036854775807", "ffffffffffffff7f"},
        {"1 u64; 18446744073709551615", "ffffffffffffffff"},
        {"1 h64; 0123456789ABCDEF", "efcdab8967452301"},
        {"2 f32; 1.5 -0.25f", "0000c03f000080be"},
        {"1 f64; 3.14159265359", "ea2e4454fb210940"},
        {"1 h16; 0xFFFF", "ffff"},
        {"1 i16; 0xFFFF", "ffff"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char part[64];
        params_of(cases[i].line);
        snprintf(part, sizeof part, " params=%s\n", cases[i].bytes);
        want(cases[i].line, &got, part);
    }
}

static void test_S0_L133_values_outside_their_type_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"1 i8; -129", "g.txt:4:7 error: -129 does not fit i8, allowed -128..127\n"},
        {"1 s8; 128", "128 does not fit s8, allowed -128..127\n"},
        {"1 u8; 256", "256 does not fit u8, allowed 0..255\n"},
        {"1 u8; -1", "-1 does not fit u8, allowed 0..255\n"},
        {"1 h8; 100", "'100' is no h8 value"},
        {"1 i16; 32768", "32768 does not fit i16, allowed -32768..32767\n"},
        {"1 u16; 65536", "65536 does not fit u16, allowed 0..65535\n"},
        {"1 h16; g000", "'g000' is no h16 value"},
        {"1 i32; 2147483648", "2147483648 does not fit i32"},
        {"1 u32; 4294967296", "4294967296 does not fit u32"},
        {"1 u64; -1", "'-1' is no u64 value"},
        {"1 i64; 9223372036854775808", "'9223372036854775808' is no i64 value"},
        {"1 f32; 1e39", "'1e39' is no f32 value"},
        {"1 f32; nan", "'nan' is no f32 value"},
        {"1 u8; 1.5", "'1.5' is no u8 value"},
        {"3 u8; 1 2", "g.txt:4:10 error: 3 values announced, 2 on the line\n"},
        {"0 u8; 1", "number of values is 0, allowed 1.."},
        {"1 u9; 1", "g.txt:4:3 error: unknown data type 'u9'\n"},
        {"1 u8 1", "g.txt:4:6 error: expected ';' after the type\n"},
        {"x", "expected a data line 'N type; values' or _end_, found 'x'\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        params_of(cases[i].line);
        want(cases[i].line, &got, cases[i].error);
    }
}

static void test_S0_L142_separators_and_comments_of_data_lines(void **state)
{
    (void)state;
    static const struct {
        const char *why, *line;
    } cases[] = {
        {"S0:L166 semicolon", "2 u8; 1 2"},
        {"S0:L301 colon", "2 u8: 1 2"},
        {"S0:L434 a blank before it", "2 u8 ; 1 2"},
        {"S0:L174 commas", "2 u8; 1, 2"},
        {"S0:L174 commas alone", "2 u8;1,2"},
        {"S0:L168 text after the values", "2 u8; 1 2 Two biquads"},
        {"S0:L98 comment after the values", "2 u8; 1 2 ; Two"},
        {"S0:L171 numbers after the values are text too", "2 u8; 1 2 3 4"},
        {"hexadecimal anywhere", "0x2 u8; 0x1 0X2"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        params_of(cases[i].line);
        want(cases[i].why, &got, " params=0102\n");
    }
}

/* ---- lines ------------------------------------------------------------------------------ */

static void test_S0_L146_ends_of_blocks(void **state)
{
    (void)state;
    static const char *const ends[] = {"_end_", "_end", "end", "_end______", "_end_ of the node", "_endgraph_"};
    for (size_t i = 0; i < TW_COUNT(ends); i++) {
        char text[200];
        snprintf(text, sizeof text, "node amp 0\n%s\nnode amp 1\n%s\n", ends[i], ends[i]);
        assert_true(parse_text(text, &got));
        want(ends[i], &got, "node 1: amp 1 ");
        want_not(ends[i], &got, "warning");
    }
    static const struct {
        const char *why, *text;
    } open[] = {{"at the next node", "node amp 0\nnode amp 1\n_end_\n"},
                {"at arc_section", "node amp 0\narc_section\n"},
                {"at an arc", "node amp 0\narc amp 0 1 0 amp 0 0 0\nformat 0\n"},
                {"at the end of the text", "node amp 0\n"}};
    for (size_t i = 0; i < TW_COUNT(open); i++) {
        assert_true(parse_text(open[i].text, &got));
        want(open[i].why, &got, "g.txt:1:6 warning: this node has no _end_");
    }
    assert_false(parse_text("node amp 0\nnode_parameters\n 1 u8; 0\n", &got));
    want("a block at the end of the text", &got, "g.txt:2:1 error: block without _end_\n");
}

static void test_S0_L98_numbers_and_cases(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text, *want;
    } cases[] = {
        {"0x is read everywhere", "format 0x3\n format_frame_length 0x10\n", "format 0: id=3 frame=16 "},
        {"tags are case-sensitive", "Format 3\n", "g.txt:1:1 error: unknown tag 'Format', did you mean 'format'?\n"},
        {"mnemonics are not", "script 0\n script_assembler\n MOVI int16 R0 1\n Ret\n _end_\n_end_\n",
         "code=0220010000c0 "},
        {"bars are drawing", "------\nformat 3\n======\n", "format 0: id=3 "},
        {"a decimal comma is none", "format 3\n format_sampling_rate 44,1\n",
         "error: format_sampling_rate takes one value, and decimals begin with a point\n"},
        {"what follows a value is comment", "format 3\n format_nbchan 2 channels\n", "channels=2 "},
        {"lines of another system", "format 3\r\n format_nbchan 2\r\n", "channels=2 "},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        (void)parse_text(cases[i].text, &got);
        want(cases[i].why, &got, cases[i].want);
    }
}

/* ---- includes ------------------------------------------------------------------------------ */

static void test_S0_L315_includes(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text, *want;
    } cases[] = {
        {"among the data", "node amp 0\nnode_parameters\n include 0 all.txt\n 1 u8; 9\n_end_\n_end_\n",
         "params=01020309\n"},
        {"among code", "script 0\nscript_code\n include 0 code.txt\n_end_\n_end_\n", "code=0220010000c0 "},
        {"among assembler lines", "script 0\nscript_assembler\n include 0 asm.txt\n ret\n_end_\n_end_\n",
         "code=0220010000c0 "},
        {"among rows of formats", "format\n include 0 rows.txt\n_end_\n", "format 1: id=5 frame=4 "},
        {"among rows of IOs", "format 0\ntop_graph_interface\n include 0 ios.txt\n_end_\n", "io 0: id=4 f0 hwid=9 "},
        {"itself", "include 0 g.txt\n", "g.txt:1:11 error: 'g.txt' includes itself\n"},
        {"in a circle", "include 0 a.txt\n",
         "g.txt:1:11 included here: b.txt:1:11 error: 'a.txt' is included by itself"},
        {"path not declared", "include 3 a.txt\n",
         "g.txt:1:11 error: path 3 is not declared: set_file_path 3 FOLDER\n"},
        {"up and out", "include 0 ../a.txt\n", "error: a file name stays inside the folder its index names\n"},
        {"absolute", "include 0 /etc/passwd\n", "error: a file name stays inside the folder its index names\n"},
        {"absolute path", "set_file_path 1 /etc\n", "error: a path is relative to the graph's folder\n"},
        {"not there", "include 0 none.txt\n", "g.txt:1:11 error: cannot read 'none.txt'\n"},
        {"9 deep", "include 0 d1.txt\n", "error: more than 8 includes inside one another\n"},
        {"8 deep", "include 0 d2.txt\n", "node 0: amp 0 "},
        {"the place of an error is in the assembler's own line",
         "script 0\nscript_assembler\n include 0 asm.txt\n bad r0\n_end_\n_end_\n", "g.txt:4:2 error: "},
        {"and in the included one", "script 0\nscript_assembler\n include 0 bad.txt\n ret\n_end_\n_end_\n",
         "bad.txt:2:2 error: "},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const file_t files[] = {{"g.txt", cases[i].text},
                                {"all.txt", "1 u8; 0\n3 u8; 1 2 3\n"},
                                {"code.txt", "2 h16; 2002 0001\n1 h16; C000\n"},
                                {"asm.txt", " movi int16 r0 1\n"},
                                {"bad.txt", " movi int16 r0 1\n nonsense\n"},
                                {"rows.txt", "4 4 17 1 0 0 0 0 0\n5 4 17 1 0 0 0 0 0\n"},
                                {"ios.txt", "4 0 9\n"},
                                {"a.txt", "include 0 b.txt\n"},
                                {"b.txt", "include 0 a.txt\n"},
                                {"d1.txt", "include 0 d2.txt\n"},
                                {"d2.txt", "include 0 d3.txt\n"},
                                {"d3.txt", "include 0 d4.txt\n"},
                                {"d4.txt", "include 0 d5.txt\n"},
                                {"d5.txt", "include 0 d6.txt\n"},
                                {"d6.txt", "include 0 d7.txt\n"},
                                {"d7.txt", "include 0 d8.txt\n"},
                                {"d8.txt", "include 0 d9.txt\n"},
                                {"d9.txt", "node amp 0\n_end_\n"},
                                {NULL, NULL}};
        (void)parse_files(files, &got);
        want(cases[i].why, &got, cases[i].want);
    }
}

static void files_that_multiply_are_bounded(void **state)
{
    (void)state;
    static char ten[7][400];
    file_t files[9] = {{0}};
    char names[8][8];
    for (unsigned k = 0; k < 7; k++) {
        size_t n = 0;
        for (unsigned i = 0; i < 10; i++) {
            n += (size_t)snprintf(ten[k] + n, sizeof ten[k] - n, "include 0 %u.txt\n", k + 1);
        }
    }
    for (unsigned k = 0; k < 8; k++) {
        snprintf(names[k], sizeof names[k], "%u.txt", k);
        files[k] = (file_t){names[k], k < 7 ? ten[k] : "; nothing\n"};
    }
    assert_false(parse_files(files, &got));
    want("ten to the power of seven", &got, "error: files are used 4097 times, ");
}

static void long_lists_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *head, *line, *tail, *error;
        unsigned count;
    } cases[] = {
        {"script 0\nscript_assembler\n", " nop\n", "_end_\n_end_\n", "error: more than 131072 lines of assembler\n",
         131073},
        {"script 0\nscript_code\n 1 h16; C000\n_end_\nnode_parameters\n", "1 u8; 0\n", "_end_\n_end_\n",
         "error: more than 65536 lines of data for a script\n", 65537},
        {"top_trace_node\n", "a 0\n", "_end_\n", "error: more than 65534 nodes to trace\n", 65535},
        {"top_memory_mapping\n", "1 2 0 4\n", "_end_\n", "error: more than 254 parts of banks\n", 255},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const size_t line = strlen(cases[i].line), size = strlen(cases[i].head) + cases[i].count * line + 100;
        char *text = malloc(size);
        assert_non_null(text);
        size_t n = (size_t)snprintf(text, size, "%s", cases[i].head);
        for (unsigned k = 0; k < cases[i].count; k++, n += line) {
            memcpy(text + n, cases[i].line, line);
        }
        snprintf(text + n, size - n, "%s", cases[i].tail);
        assert_false(parse_text(text, &got));
        want(cases[i].line, &got, cases[i].error);
        free(text);
    }
}

/* -I: folders in order, after the file's own. */
static void files_are_found_in_the_folders_given(void **state)
{
    (void)state;
    static const file_t files[] = {{"g.txt", "include 0 a.txt\ninclude 0 b.txt\n"},
                                   {"a.txt", "node own 0\n_end_\n"},
                                   {"one/a.txt", "node one 0\n_end_\n"},
                                   {"two/b.txt", "node two 0\n_end_\n"},
                                   {"one/deep/c.txt", "node deep 0\n_end_\n"},
                                   {NULL, NULL}};
    static const char *const dirs[] = {"one", "two"};
    static tw_diags_t d;
    const tw_text_source_t src = {(void *)(uintptr_t)files, read_memory};
    g_model_t m = {.diags = &d, .include_dirs = dirs, .n_include_dirs = 2};
    assert_true(g_parse(&m, "g.txt", &src));
    assert_int_equal(m.n_nodes, 2);
    assert_memory_equal(m.nodes[0].type.p, "own", 3);
    assert_memory_equal(m.nodes[1].type.p, "two", 3);
    g_model_free(&m);

    m = (g_model_t){.diags = &d, .include_dirs = dirs, .n_include_dirs = 1};
    assert_false(g_parse(&m, "g.txt", &src));
    got.n = 0;
    say_diags(&got, &d);
    want("all that was looked at", &got, "g.txt:2:11 error: cannot read 'b.txt'\none:0:0 note: nor in this folder\n");
    g_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L133_every_type_has_its_bytes),
        cmocka_unit_test(test_S0_L133_values_outside_their_type_are_refused),
        cmocka_unit_test(test_S0_L142_separators_and_comments_of_data_lines),
        cmocka_unit_test(test_S0_L146_ends_of_blocks),
        cmocka_unit_test(test_S0_L98_numbers_and_cases),
        cmocka_unit_test(test_S0_L315_includes),
        cmocka_unit_test(files_that_multiply_are_bounded),
        cmocka_unit_test(long_lists_are_bounded),
        cmocka_unit_test(files_are_found_in_the_folders_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
