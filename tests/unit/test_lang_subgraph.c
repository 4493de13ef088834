/* Sub-graphs: a file used as a part of a graph, once or often, with numbers and names of its own. */
#include "tests/unit/lang_rig.h"

static say_t got;

/* An amplifier and a filter behind interface 1, out at interface 2. */
#define STRIP                                 \
    "format 0\n format_frame_length 16\n"     \
    "node amp 0\n_end_\nnode filt 0\n_end_\n" \
    "arc_input 1 amp 0 0 0\narc_output 2 filt 0 1 0\narc amp 0 1 0 filt 0 0 0\n"
#define TWO_IOS "format 0\n format_frame_length 8\nstream_io 0\nstream_io 1\n stream_io_hwid 9\n"

/* ---- shapes of the block ------------------------------------------------------------ */

static void test_S0_L293_both_shapes_are_one_sub_graph(void **state)
{
    (void)state;
    static const struct {
        const char *why, *block;
    } cases[] = {
        {"S0:L297 name and file on lines of their own",
         "subgraph\n sub1 ; mangling\n 0 sub.txt\n 2 i16: 0 1\n 1 i16: 3\n"},
        {"closed by _endgraph_", "subgraph\n sub1\n 0 sub.txt\n 2 i16; 0 1\n 1 i16; 3\n_endgraph_\n"},
        {"closed by _end_", "subgraph\n sub1\n 0 sub.txt\n 2 i16; 0 1\n 1 i16; 3\n_end_\n"},
        {"one line", "subgraph sub1 0 sub.txt\n 2 i16; 0 1\n 1 i16; 3\n_end_\n"},
        {"bare numbers, as the template of 2024 has them", "subgraph\n sub1\n 0 sub.txt\n 0 1\n 3\n_endgraph_\n"},
        {"text after the values", "subgraph sub1 0 sub.txt\n 0 1 the two ends\n 1 u8; 3 slow\n_end_\n"},
        {"no end before the next tag", "subgraph sub1 0 sub.txt\n 2 i16; 0 1\n 3\narc_section\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[600];
        snprintf(text, sizeof text, "%s%s", TWO_IOS, cases[i].block);
        const file_t files[] = {{"g.txt", text}, {"sub.txt", STRIP "arc_map_hwblock 1\n"}, {NULL, NULL}};
        must(cases[i].why, parse_files(files, &got), &got);
        want(cases[i].why, &got, "subgraphs=1 ");
        want(cases[i].why, &got, "node 0: amp 0 scope=sub1 ");
        want(cases[i].why, &got, "arc 0: io0 f0 > node0.0 f1 ");
        want(cases[i].why, &got, "arc 1: node1.1 f1 > io1 f0 ");
        want(cases[i].why, &got, "arc 2: node0.1 f1 > node1.0 f1 flow=0/0 debug=0:0/0 flush=0 vid=3! ");
    }
}

/* ---- numbers are local ------------------------------------------------------------------ */

static void test_S0_L295_formats_scripts_and_parameters_are_local(void **state)
{
    (void)state;
    static const file_t files[] = {
        {"g.txt", "format 0\n format_frame_length 8\nformat 7\n format_frame_length 16\nstream_io 0\nstream_io 1\n"
                  "script 0\n script_code\n 1 h16; C000\n _end_\n_end_\n"
                  "node amp 0\n node_script 0\n node_parameters\n 2 u8; 0 11\n _end_\n_end_\n"
                  "subgraph eq 0 sub.txt\n 0 1\n_end_\n"},
        {"sub.txt", "format 0\n format_frame_length 16\nformat 1\n format_frame_length 24\n"
                    "script 0\n script_code\n 2 h16; 0441 C000\n _end_\n_end_\n"
                    "script 1\n script_code\n 1 h16; C000\n _end_\n_end_\n"
                    "node amp 0\n node_script 1\n node_parameters\n 2 u8; 0 22\n _end_\n_end_\n"
                    "arc_input 1 amp 0 0 0\narc_output 2 amp 0 1 1\narc_script 0\narc_flow_error 3 3\n"},
        {NULL, NULL}};
    assert_true(parse_files(files, &got));
    want("format 0 of the sub-graph is the graph's format 7", &got, "arc 0: io0 f0 > node1.0 f1 ");
    want("its format 1 is new", &got, "format 2: id=1 frame=24 ");
    want("its format 1 is new", &got, "arc 1: node1.1 f2 > io1 f0 ");
    want_not("its format 0 is not there twice", &got, "format 3:");
    want("two nodes amp 0, told apart by their scopes", &got, "node 1: amp 0 scope=eq ");
    want("the parameters of each", &got, "tag=256 params=0b");
    want("the parameters of each", &got, "tag=256 params=16");
    want("node_script 0 of the graph", &got, "verbose=0 trace=0 script=0 own=-1 tag=256 params=0b");
    want("node_script 1 of the sub-graph", &got, "verbose=0 trace=0 script=2 own=-1 tag=256 params=16");
    want("arc_script 0 of the sub-graph", &got, "script=1 crumbs");
    want("callscript 1 of the sub-graph calls script 2 of the image", &got,
         "script 1: id=0 node=-1 scope=eq name= regs=2"
         " ptrs=2 stack=0 shared=0 vid=0 budget=0 heap=0 code=420400c0");
}

static void test_S0_L443_interfaces_count_from_1(void **state)
{
    (void)state;
    static const struct {
        const char *why, *sub, *error;
    } cases[] = {
        {"interface 0", "node amp 0\n_end_\narc_input 0 amp 0 0 0\narc_output 2 amp 0 1 0\n",
         "g.txt:6:10 in the sub-graph eq: sub.txt:5:11 error: interface 0: those of sub-graph eq are 1..2\n"
         "g.txt:7:2 note: its list of interfaces is given here\n"},
        {"one too many", "node amp 0\n_end_\narc_input 1 amp 0 0 0\narc_output 3 amp 0 1 0\n",
         "sub.txt:6:12 error: interface 3: those of sub-graph eq are 1..2\n"},
        {"an IO of its own", "stream_io 0\n",
         "sub.txt:3:11 error: a sub-graph has no IOs of its own: its interfaces 1, 2, .. are given where it is used\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char sub[300];
        snprintf(sub, sizeof sub, "format 0\n format_frame_length 8\n%s", cases[i].sub);
        const file_t files[] = {
            {"g.txt", TWO_IOS "subgraph eq 0 sub.txt 0 1\n 0 1\n_end_\n"}, {"sub.txt", sub}, {NULL, NULL}};
        assert_false(parse_files(files, &got));
        want(cases[i].why, &got, cases[i].error);
    }
}

static void test_S0_L303_vids_count_from_1_and_0_is_the_default(void **state)
{
    (void)state;
    static const file_t files[] = {
        {"g.txt", TWO_IOS "subgraph front 0 mid.txt\n 2 i16; 0 1\n 2 i16; 20 8\n_end_\n"},
        {"mid.txt",
         "format 0\n format_frame_length 8\nnode amp 1\n node_map_hwblock 0 1\n node_map_hwblock 1 0\n_end_\n"
         "subgraph eq 0 sub.txt\n 2 i16; 1 2\n 1 i16; 2\n_end_\n"},
        {"sub.txt", "format 0\n format_frame_length 8\nnode amp 0\n node_map_hwblock 0 1\n_end_\n"
                    "node arm_stream_script 0\n script_mem_map 1\n script_code\n 1 h16; C000\n _end_\n_end_\n"
                    "arc_input 1 amp 0 0 0\narc_map_hwblock 1\narc_output 2 amp 0 1 0\narc_map_hwblock 0\n"},
        {NULL, NULL}};
    assert_true(parse_files(files, &got));
    want("VID 1 of front is bank 20, 0 stays 0", &got, "own=-1 block0=E0@20 block1=E0@0\n");
    want("VID 1 of eq is 2 of front is bank 8", &got, "own=-1 block0=E0@8\n");
    want("a script's memory too", &got, "shared=0 vid=8 ");
    want("an arc's too", &got, "flush=0 vid=8! ");
    want("0 is the default bank everywhere", &got, "flush=0 vid=0! ");

    static const file_t wrong[] = {{"g.txt", TWO_IOS "subgraph eq 0 sub.txt\n 2 i16; 0 1\n 1 i16; 20\n_end_\n"},
                                   {"sub.txt", "node amp 0\n node_map_hwblock 0 2\n_end_\n"},
                                   {NULL, NULL}};
    assert_false(parse_files(wrong, &got));
    want("VID beyond the list", &got, "sub.txt:2:21 error: VID 2, but sub-graph eq has 1\n");
}

/* ---- names ---------------------------------------------------------------------------------- */

static void test_S0_L297_names_are_mangled(void **state)
{
    (void)state;
    static const file_t files[] = {
        {"g.txt", "format 0\n format_frame_length 8\nstream_io 0\nstream_io 1\n stream_io_hwid 9\n"
                  "subgraph the_left_channel 0 mid.txt\n 0 1\n_end_\n"},
        {"mid.txt", "subgraph equaliser_one 0 sub.txt\n 1 2\n_end_\n"},
        {"sub.txt",
         "format 0\n format_frame_length 8\nnode arm_stream_amplifier 0\n node_name gain\n_end_\n"
         "node arm_stream_amplifier 1\n_end_\n"
         "script 0\n script_code\n 1 h16; C000\n _end_\n_end_\n"
         "arc_input 1 arm_stream_amplifier 0 0 0\narc arm_stream_amplifier 0 1 0 arm_stream_amplifier 1 0 0\n"
         "arc_output 2 arm_stream_amplifier 1 1 0\n"},
        {NULL, NULL}};
    tw_graphc_out_t out;
    const bool ok = compile_files(files, &out);
    say_t *s = &got;
    s->n = 0;
    say_diags(s, &out.diags);
    must("it compiles", ok, s);
    const char *names[] = {"the_left_channel.equaliser.gain", "the_left_channel.eq.amplifier.1",
                           "the_left_channel.equal.script.0"};
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        bool found = false;
        for (uint32_t at = 0; at + strlen(names[i]) <= out.bytes; at++) {
            found |= memcmp(out.image + at, names[i], strlen(names[i])) == 0;
        }
        must(names[i], found, s);
    }
    assert_int_equal(tw_img_word(out.image, 0, TW_W_COUNTS3) & 0xFFFF, 2);
    tw_graphc_free(&out);
}

/* ---- nesting ---------------------------------------------------------------------------------- */

static void test_S0_L295_five_deep_and_no_deeper(void **state)
{
    (void)state;
    file_t files[] = {{"g.txt", TWO_IOS "subgraph a 0 1.txt\n 0 1\n_end_\n"},
                      {"1.txt", "subgraph b 0 2.txt\n 1 2\n_end_\n"},
                      {"2.txt", "subgraph c 0 3.txt\n 1 2\n_end_\n"},
                      {"3.txt", "subgraph d 0 4.txt\n 1 2\n_end_\n"},
                      {"4.txt", "subgraph e 0 5.txt\n 1 2\n_end_\n"},
                      {"5.txt", STRIP},
                      {"6.txt", STRIP},
                      {NULL, NULL}};
    assert_true(parse_files(files, &got));
    want("five", &got, "node 0: amp 0 scope=a.b.c.d.e ");
    want("five", &got, "arc 0: io0 f0 > node0.0 f1 ");
    files[5].text = "subgraph f 0 6.txt\n 1 2\n_end_\n";
    assert_false(parse_files(files, &got));
    want("six", &got, "5.txt:1:14 error: more than 5 sub-graphs inside one another\n");
}

static void test_S0_L295_a_sub_graph_of_itself_is_shown_as_a_chain(void **state)
{
    (void)state;
    static const file_t files[] = {{"g.txt", TWO_IOS "subgraph a 0 1.txt\n 0 1\n_end_\n"},
                                   {"1.txt", "subgraph b 0 2.txt\n 1 2\n_end_\n"},
                                   {"2.txt", "subgraph c 0 1.txt\n 1 2\n_end_\n"},
                                   {NULL, NULL}};
    assert_false(parse_files(files, &got));
    assert_string_equal(got.v, "1.txt:1:10 in the sub-graph a.b: g.txt:6:10 in the sub-graph a: 2.txt:1:14 error: "
                               "'1.txt' would be a sub-graph of itself\n"
                               "1.txt:1:10 note: '2.txt' is used here, as a.b\n");
    static const file_t self[] = {{"g.txt", "subgraph a 0 g.txt\n"}, {NULL, NULL}};
    assert_false(parse_files(self, &got));
    assert_string_equal(got.v, "g.txt:1:14 error: 'g.txt' would be a sub-graph of itself\n");
}

static void a_multiplying_sub_graph_is_refused(void **state)
{
    (void)state;
    static char level[5][1200];
    for (unsigned k = 0; k < 5; k++) {
        size_t n = 0;
        for (unsigned i = 0; i < 20; i++) {
            n += (size_t)snprintf(level[k] + n, sizeof level[k] - n, "subgraph s%u 0 %u.txt\n_end_\n", i, k + 1);
        }
    }
    const file_t files[] = {{"0.txt", level[0]}, {"1.txt", level[1]}, {"2.txt", level[2]},
                            {"3.txt", level[3]}, {"4.txt", level[4]}, {"5.txt", "node amp 0\n_end_\n"},
                            {NULL, NULL}};
    assert_false(parse_files(files, &got));
    want("20 to the power of 5", &got, "error: more than 256 sub-graphs in all, those of sub-graphs counted\n");
}

/* ---- reuse ---------------------------------------------------------------------------------------- */

static void two_of_one_file_are_joined_by_arcs_of_the_parent(void **state)
{
    (void)state;
    static const file_t files[] = {
        {"g.txt", TWO_IOS "node gen 0\n_end_\nsubgraph left 0 sub.txt\n -1 -1\n_end_\n"
                          "subgraph right 0 sub.txt\n 2 i16; -1 1\n_end_\n"
                          "arc_input 0 gen 0 0 0\n"
                          "arc gen 0 1 0 left 0 1 0 H\narc_jitter_ctrl 2\n"
                          "arc left 0 2 0 right 0 1 0\n"},
        {"sub.txt",
         "format 0\n format_frame_length 8\nnode amp 0\n_end_\nnode filt 0\n_end_\n"
         "arc_input 1 amp 0 0 0\narc_flush 2\narc_output 2 filt 0 1 0\narc_delay 1\narc amp 0 1 0 filt 0 0 0\n"},
        {NULL, NULL}};
    assert_true(parse_files(files, &got));
    want("gen to left", &got,
         "node0.1 f0 > node1.0 f0 flow=0/0 debug=0:0/0 flush=2 vid=0 jitter=2 delay=0 script=-1"
         " crumbs=0:0/0 hqos\n");
    want("left to right: flush of one, delay of the other", &got,
         "node2.1 f0 > node3.0 f0 flow=0/0 debug=0:0/0 flush=2 vid=0 jitter=1 delay=1 ");
    want("right to the IO", &got, "node4.1 f0 > io1 f0 ");
    want("inside right", &got, "node3.1 f0 > node4.0 f0 ");
    want_not("six arcs", &got, "arc 6:");
    want("six arcs", &got, "arc 5:");
}

static void one_interface_feeds_several_nodes(void **state)
{
    (void)state;
    static const file_t files[] = {
        {"g.txt", TWO_IOS "node gen 0\n_end_\nsubgraph s 0 mid.txt\n -1\n_end_\narc gen 0 1 0 s 0 1 0\n"},
        {"mid.txt", "format 0\n format_frame_length 8\nsubgraph t 0 sub.txt\n -1\n_end_\nnode amp 9\n_end_\n"
                    "arc_input 1 t 0 1 0\narc_input 1 amp 9 0 0\n"},
        {"sub.txt", "format 0\n format_frame_length 8\nnode amp 0\n_end_\nnode amp 1\n_end_\n"
                    "arc_input 1 amp 0 0 0\narc_input 1 amp 1 0 0\n"},
        {NULL, NULL}};
    assert_true(parse_files(files, &got));
    want("through two edges", &got, "arc 0: node0.1 f0 > node2.0 f0 ");
    want("through two edges", &got, "arc 1: node0.1 f0 > node3.0 f0 ");
    want("through one", &got, "arc 2: node0.1 f0 > node1.0 f0 ");
}

static void wrong_edges_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why, *use, *error;
    } cases[] = {
        {"interface beyond the list", "subgraph eq 0 sub.txt\n -1 1\n_end_\narc gen 0 1 0 eq 0 3 0\n",
         "g.txt:11:15 error: sub-graph eq has interfaces 1..2, not 3\ng.txt:9:2 note: its list of interfaces is given"},
        {"instance", "subgraph eq 0 sub.txt\n -1 1\n_end_\narc gen 0 1 0 eq 1 1 0\n",
         "g.txt:11:15 error: eq is a sub-graph, its instance is 0\n"},
        {"interface given to an IO", "subgraph eq 0 sub.txt\n 0 1\n_end_\narc gen 0 1 0 eq 0 1 0\n",
         "error: interface 1 of eq is number 0 of this graph's IOs: its list says so, not -1\n"},
        {"no arc for it", "subgraph eq 0 sub.txt\n -1 1\n_end_\n",
         "g.txt:8:10 error: no arc names interface 1 of sub-graph eq\nsub.txt:7:11 note: it is connected here\n"},
        {"the wrong way", "subgraph eq 0 sub.txt\n -1 1\n_end_\narc eq 0 1 0 gen 0 0 0\n",
         "g.txt:11:5 error: nothing inside sub-graph eq is an output at its interface 1\n"},
        {"misspelled", "subgraph left_eq 0 sub.txt\n -1 1\n_end_\narc gen 0 1 0 left_ek 0 1 0\n",
         "g.txt:11:15 error: node left_ek 0 is not declared, did you mean 'left_eq'?"},
        {"IO that is not there", "subgraph eq 0 sub.txt\n 5 1\n_end_\n",
         "g.txt:9:2 error: stream_io 5 is not declared\n"},
        {"named twice", "subgraph eq 0 sub.txt\n 0 1\n_end_\nsubgraph eq 0 sub.txt\n 0 1\n_end_\n",
         "g.txt:11:10 error: sub-graph eq is declared twice\ng.txt:8:10 note: first declared here\n"},
        {"no file", "subgraph eq 0 none.txt\n 0 1\n_end_\n", "g.txt:8:15 error: cannot read 'none.txt'\n"},
        {"no name", "subgraph\n_end_\n", "g.txt:8:1 error: a sub-graph has a name, then a path index and a file\n"},
        {"a third list", "subgraph eq 0 sub.txt\n 0 1\n 0\n 0\n_end_\n",
         "g.txt:11:2 error: expected _end_, found '0'\n"},
        {"a fraction in a list", "subgraph eq 0 sub.txt\n 2 f32; 0 1\n_end_\n",
         "g.txt:9:2 error: numbers of a list are whole, not f32\n"},
        {"other formats at the edge",
         "format 1\n format_frame_length 4\nsubgraph eq 0 sub.txt\n -1 1\n_end_\n"
         "arc gen 0 1 0 eq 0 1 1\n",
         "g.txt:13:15 warning: the format of this interface is not the sub-graph's own, which"
         " counts\nsub.txt:7:13 note: this one\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[600];
        snprintf(text, sizeof text, "%snode gen 0\n_end_\n%s", TWO_IOS, cases[i].use);
        const file_t files[] = {{"g.txt", text}, {"sub.txt", STRIP}, {NULL, NULL}};
        (void)parse_files(files, &got);
        want(cases[i].why, &got, cases[i].error);
    }
}

/* ---- the whole way ------------------------------------------------------------------------------------- */

static void a_graph_of_sub_graphs_is_the_graph_written_out(void **state)
{
    (void)state;
    static const file_t nested[] = {
        {"g.txt", "graph_name same\nformat 0\n format_frame_length 8\nstream_io 0\nstream_io 1\n stream_io_hwid 9\n"
                  "subgraph a 0 sub.txt\n 0 -1\n_end_\nsubgraph b 0 sub.txt\n -1 1\n_end_\narc a 0 2 0 b 0 1 0\n"},
        {"sub.txt", "format 3\n format_frame_length 8\nnode arm_stream_amplifier 0\n_end_\n"
                    "arc_input 1 arm_stream_amplifier 0 0 3\narc_output 2 arm_stream_amplifier 0 1 3\n"},
        {NULL, NULL}};
    static const file_t flat[] = {
        {"g.txt", "graph_name same\nformat 0\n format_frame_length 8\nstream_io 0\nstream_io 1\n stream_io_hwid 9\n"
                  "node arm_stream_amplifier 0\n node_name a.amplifier.0\n_end_\n"
                  "node arm_stream_amplifier 1\n node_name b.amplifier.0\n_end_\n"
                  "arc arm_stream_amplifier 0 1 0 arm_stream_amplifier 1 0 0\n"
                  "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier 1 1 0\n"},
        {NULL, NULL}};
    tw_graphc_out_t a, b;
    assert_true(compile_files(nested, &a));
    assert_true(compile_files(flat, &b));
    assert_int_equal(a.bytes, b.bytes);
    assert_memory_equal(a.image + TW_IMG_HEADER_BYTES, b.image + TW_IMG_HEADER_BYTES, a.bytes - TW_IMG_HEADER_BYTES);
    tw_graphc_free(&a);
    tw_graphc_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L293_both_shapes_are_one_sub_graph),
        cmocka_unit_test(test_S0_L295_formats_scripts_and_parameters_are_local),
        cmocka_unit_test(test_S0_L443_interfaces_count_from_1),
        cmocka_unit_test(test_S0_L303_vids_count_from_1_and_0_is_the_default),
        cmocka_unit_test(test_S0_L297_names_are_mangled),
        cmocka_unit_test(test_S0_L295_five_deep_and_no_deeper),
        cmocka_unit_test(test_S0_L295_a_sub_graph_of_itself_is_shown_as_a_chain),
        cmocka_unit_test(a_multiplying_sub_graph_is_refused),
        cmocka_unit_test(two_of_one_file_are_joined_by_arcs_of_the_parent),
        cmocka_unit_test(one_interface_feeds_several_nodes),
        cmocka_unit_test(wrong_edges_are_refused),
        cmocka_unit_test(a_graph_of_sub_graphs_is_the_graph_written_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
