/* Boot data the whole way: several blocks of a node, data of scripts, contents of arcs, debug scripts. */
#include "tests/unit/lang_rig.h"

static say_t got;

#define IOS "graph_name g\nformat 0\n format_frame_length 8\nstream_io 0\nstream_io 1\n stream_io_hwid 9\n"
#define AMP "node arm_stream_amplifier 0\n"
#define ARCS "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier 0 1 0\n"
#define ALL " node_parameters\n 1 u8; 0\n 1 u8; 3\n 1 u16; 0x805\n 1 u8; 0\n 2 u16; 10 20\n _end_\n"

static bool compile_text(const char *text, tw_graphc_out_t *out)
{
    const file_t files[] = {{"g.txt", text}, {NULL, NULL}};
    return compile_files(files, out);
}

static void test_S0_L378_further_blocks_go_over_the_first(void **state)
{
    (void)state;
    tw_graphc_out_t a, b;
    must("two blocks",
         compile_text(IOS AMP ALL
                      " node_parameters\n 1 u8; 2\n 1 u16; 0x7FF\n _end_\n node_parameters\n 1 u8; 5\n 1 u16; 99\n"
                      " _end_\n_end_\n" ARCS,
                      &a),
         &got);
    must("one block",
         compile_text(
             IOS AMP
             " node_parameters\n 1 u8; 0\n 1 u8; 3\n 1 u16; 0x7FF\n 1 u8; 0\n 2 u16; 10 99\n _end_\n_end_\n" ARCS,
             &b),
         &got);
    assert_int_equal(a.bytes, b.bytes);
    assert_memory_equal(a.image, b.image, a.bytes);
    tw_graphc_free(&a);
    tw_graphc_free(&b);

    static const struct {
        const char *why, *block, *error;
    } cases[] = {
        {"a parameter that is not there", " node_parameters\n 2 u8; 9 0\n _end_\n",
         "g.txt:15:2 error: arm_stream_amplifier has no parameter 9 in its block of all\n"},
        {"one that is not in the block of all", " node_parameters\n 1 u8; 6\n 1 f32; 0\n _end_\n",
         "has no parameter 6 in its block of all\n"},
        {"too short", " node_parameters\n 2 u8; 2 0\n _end_\n",
         "parameter 2 of arm_stream_amplifier takes 2 bytes, not 1\n"},
        {"all again", ALL, "each further one that of a single parameter\ng.txt:8:2 note: the first block is here\n"},
        {"a range", " node_parameters\n 1 u8; 2\n 1 u16; 0xFFFF\n _end_\n", "allowed 0..4095"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[900];
        snprintf(text, sizeof text, "%s%s%s%s_end_\n%s", IOS, AMP, ALL, cases[i].block, ARCS);
        assert_false(compile_text(text, &a));
        got.n = 0;
        say_diags(&got, &a.diags);
        want(cases[i].why, &got, cases[i].error);
        tw_graphc_free(&a);
    }
}

/* Code is h16; other words of 16 bits among it are data as those of 8 or 32 are. */
static void test_S0_L431_words_of_16_bits_are_code_only_as_h16(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "script_code\n 2 h16; 0840 C000\n_end_\nnode_parameters\n 2 i16; 513 -1\n_end_\n"
        "node_parameters\n 1 u16; 7\n_end_\n",
        "script_code\n 2 h16; 0840 C000\n 2 i16; 513 -1\n 1 u16: 7\n_end_\n",
        "script_code\n 1 h16; 0840\n 2 s16; 513, -1\n 1 h16; C000\n 1 u16; 0x7\n_end_\n",
    };
    tw_graphc_out_t first = {0}, out = {0};
    for (size_t i = 0; i < TW_COUNT(scripts); i++) {
        char text[900];
        snprintf(text, sizeof text, "%s%s_end_\nscript 0\nscript_stack 1\n%s_end_\n%s", IOS, AMP, scripts[i], ARCS);
        assert_true(compile_text(text, i == 0 ? &first : &out));
        if (i > 0) {
            assert_int_equal(out.bytes, first.bytes);
            assert_memory_equal(out.image, first.image, first.bytes);
            tw_graphc_free(&out);
        }
    }
    tw_graphc_free(&first);
}

/* The same pool, whether its lines stand in the code, behind it, or in the assembler. */
static void test_S0_L434_data_behind_the_code_are_literals(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "script_code\n 2 h16; 0840 C000\n 2 u8; 1 2\n_end_\n",
        "script_code\n 2 h16; 0840 C000\n_end_\nnode_parameters\n 2 u8; 1 2\n_end_\n",
        "script_code\n 2 h16; 0840 C000\n_end_\nnode_parameters 64\n 2 u8; 1 2\n_end_\n",
        "node_parameters #64\n 2 u8; 1 2\n_end_\nscript_code\n 2 h16; 0840 C000\n_end_\n",
        "script_assembler\n psha #64\n ret\n labl #64\n 2 u8; 1 2\n_end_\n",
        "script_assembler\n psha #64\n ret\n_end_\nnode_parameters 64\n 2 u8; 1 2\n_end_\n",
    };
    tw_graphc_out_t first = {0}, out;
    for (size_t i = 0; i < TW_COUNT(scripts); i++) {
        char text[900];
        snprintf(text, sizeof text, "%s%s_end_\nscript 0\nscript_stack 1\n%s_end_\n%s", IOS, AMP, scripts[i], ARCS);
        const bool ok = compile_text(text, i == 0 ? &first : &out);
        got.n = 0;
        say_diags(&got, i == 0 ? &first.diags : &out.diags);
        must(scripts[i], ok, &got);
        if (i > 0) {
            assert_int_equal(out.bytes, first.bytes);
            assert_memory_equal(out.image, first.image, first.bytes);
            tw_graphc_free(&out);
        }
    }
    tw_graphc_free(&first);
}

static void labels_of_script_data_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *why, *script, *error;
    } cases[] = {
        {"not defined", "script_assembler\n psha ID2\n ret\n_end_\n", "g.txt:3:7 error: label 'id2' is not defined\n"},
        {"defined twice, said at the data",
         "script_assembler\n ret\n a: 1 u8; 0\n_end_\nnode_parameters a\n 1 u8; 1\n_end_\n",
         "g.txt:7:2 error: label #127 a defined twice\n"},
        {"beyond 127", "script_code\n 1 h16; C000\n_end_\nnode_parameters 128\n 1 u8; 1\n_end_\n",
         "g.txt:5:17 error: labels are 0..127, or names\n"},
        {"no name", "script_code\n 1 h16; C000\n_end_\nnode_parameters a-b\n 1 u8; 1\n_end_\n",
         "error: a label is a number 0..127, or a name of 1..31 letters, digits and _\n"},
        {"without data", "script_code\n 1 h16; C000\n_end_\nnode_parameters\n_end_\n",
         "g.txt:5:1 error: parameters without data\n"},
        {"without code", "node_parameters\n 1 u8; 1\n_end_\n",
         "error: script without script_code, script_assembler or script_source\n"},
        {"code twice", "script_code\n 1 h16; C000\n_end_\nscript_assembler\n ret\n_end_\n",
         "g.txt:5:1 error: the script has code already\ng.txt:2:1 note: here\n"},
        {"a pool and data",
         "script_pool\n 2 h8; 00 00\n_end_\nscript_code\n 1 h16; C000\n_end_\nnode_parameters\n 1 u8; 1\n_end_\n",
         "g.txt:9:2 error: data of a script that has a script_pool\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[600];
        snprintf(text, sizeof text, "script 0\n%s_end_\n", cases[i].script);
        assert_false(parse_text(text, &got));
        want(cases[i].why, &got, cases[i].error);
    }
}

/* Contents reach the image, and come back out of it. */
static void test_S0_L474_contents_of_an_arc_are_in_the_image(void **state)
{
    (void)state;
    static tw_diags_t d;
    tw_graphc_out_t out, again;
    char *text = NULL;
    assert_true(compile_text(IOS AMP "_end_\n" ARCS "arc_delay 2\narc_parameters\n 4 i16; 1 2 3 4\n_end_\n", &out));
    const uint32_t arc = tw_img_word(out.image, 0, TW_W_DIRECTORY + 2 * TW_SEC_ARCS) + 4 * TW_ARC_WORDS;
    const uint32_t params = tw_img_word(out.image, 0, TW_W_DIRECTORY + 2 * TW_SEC_PARAMS);
    static const uint8_t held[16] = {1, 0, 2, 0, 3, 0, 4, 0};
    assert_int_equal(tw_img_word(out.image, arc, 5), 16);
    assert_memory_equal(out.image + params + tw_img_word(out.image, arc, 6), held, sizeof held);
    assert_true(tw_decompile(out.image, out.bytes, NULL, 0, &text, &d));
    must("the text it becomes", compile_text(text, &again), &got);
    assert_int_equal(out.bytes, again.bytes);
    assert_memory_equal(out.image, again.image, out.bytes);
    free(text);
    tw_graphc_free(&out);
    tw_graphc_free(&again);
}

static void contents_of_arcs_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *why, *tags, *error;
    } cases[] = {
        {"more than the delay", "arc_delay 1\narc_parameters\n 16 u8; 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n_end_\n",
         "g.txt:12:1 error: 2 frames, but arc_delay says 1\n"},
        {"twice", "arc_parameters\n 8 u8; 1 1 1 1 1 1 1 1\n_end_\narc_parameters\n 1 u8; 1\n_end_\n",
         "error: the contents of this arc are given already\ng.txt:11:1 note: here\n"},
        {"nothing", "arc_parameters\n_end_\n", "g.txt:11:1 error: arc_parameters without data\n"},
        {"no whole frame", "arc_parameters\n 9 u8; 1 1 1 1 1 1 1 1 1\n_end_\n",
         "g.txt:11:1 error: 9 bytes are no whole number of the producer's frames of 8 bytes\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[600];
        snprintf(text, sizeof text, "%s%s_end_\n%s%s", IOS, AMP, ARCS, cases[i].tags);
        assert_false(parse_text(text, &got));
        want(cases[i].why, &got, cases[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L378_further_blocks_go_over_the_first),
        cmocka_unit_test(test_S0_L431_words_of_16_bits_are_code_only_as_h16),
        cmocka_unit_test(test_S0_L434_data_behind_the_code_are_literals),
        cmocka_unit_test(labels_of_script_data_are_checked),
        cmocka_unit_test(test_S0_L474_contents_of_an_arc_are_in_the_image),
        cmocka_unit_test(contents_of_arcs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
