/* Pictures: everything of the graph is in the Graphviz text, nothing breaks its quotes, long graphs go into rows. */
#include "engine/base/crc.h"
#include "host_tools/graphc/draw/graphc_draw.h"
#include "host_tools/graphc/graphc_priv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"

static tw_graphc_out_t out;

static const char *draw_text(const char *path)
{
    const tw_graphc_opts_t opts = {.platform = PLATFORM, .draw = true};
    if (!tw_graphc(path, &opts, &out)) {
        tw_diags_print(&out.diags, stderr, false);
        fail();
    }
    assert_non_null(out.dot);
    return out.dot;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p++) {
        n++;
    }
    return n;
}

static void a_graph_is_drawn_whole_and_without_its_locks(void **state)
{
    (void)state;
    const char *dot = draw_text("examples/voice_gate.txt");
    static const char *const words[] = {
        "digraph \"voice_gate\"",
        "rankdir=LR",
        "\"node filter.0\" [label=<<b>filter.0</b>",
        "arm_stream_filter",
        "22 B params",
        "\"input io_platform_audio_in_0\" [shape=cds",
        "audio_in, hwid 4",
        "\"node filter.0\" -> \"node amplifier.0\" [label=<S16 x1 48 kHz<br/>96 B frame, 144 B buffer>",
        "\"node amplifier.0\" -> \"output io_platform_line_out_0\"",
    };
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        if (strstr(dot, words[i]) == NULL) {
            fail_msg("no %s in\n%s", words[i], dot);
        }
    }
    assert_int_equal(count(dot, " -> "), 5);
    assert_int_equal(count(dot, "tooltip=\""), 1 + 3 + 4 + 2 * 5); /* graph, nodes, IOs, arcs with their labels */
    tw_graphc_free(&out);
}

/* A script node's one arc holds its lock. */
static char *read_script_graph(void *ctx, const char *path, size_t *n)
{
    static const char text[] = "format 0\n format_frame_length 8\nstream_io 0\n stream_io_hwid 0\n"
                               "stream_io 1\n stream_io_hwid 9\nnode arm_stream_amplifier 0\n_end_\n"
                               "node arm_stream_script 1\n script_code\n 1 h16; c000\n _end_\n_end_\n"
                               "arc_input 0 arm_stream_amplifier 0 0 0\n"
                               "arc_output 1 arm_stream_amplifier 0 1 0\n arc_delay 2\n";
    (void)ctx;
    char *copy = strcmp(path, "g.txt") == 0 ? malloc(sizeof text) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, sizeof text);
        *n = sizeof text - 1;
    }
    return copy;
}

static void locks_are_left_out_and_delays_are_dashed(void **state)
{
    (void)state;
    static tw_platform_t platform;
    const tw_text_source_t src = {NULL, read_script_graph};
    const tw_graphc_opts_t opts = {.draw = true};
    tw_diags_t d = {0};
    out = (tw_graphc_out_t){0};
    assert_true(tw_platform_read(&platform, PLATFORM, &d));
    assert_true(g_compile("g.txt", &opts, &platform, &src, &out));
    assert_non_null(strstr(out.report_json, "\"lock\":true"));
    assert_non_null(strstr(out.dot, "\"node script.1\" ["));
    assert_int_equal(count(out.dot, " -> "), 2);
    assert_int_equal(count(out.dot, "style=dashed"), 1);
    assert_int_equal(count(out.dot, "begins with 2 frames of zeros"), 2); /* at the arrow and at its label */
    tw_graphc_free(&out);
    tw_platform_free(&platform);
}

static void an_image_is_drawn_like_its_text(void **state)
{
    (void)state;
    (void)draw_text("examples/voice_gate.txt");
    tw_pic_t pic;
    assert_true(tw_pic_of_image(&pic, out.image, out.bytes));
    assert_string_equal(pic.name, "voice_gate");
    assert_int_equal(pic.n_nodes, 3);
    assert_int_equal(pic.n_arcs, 5);
    char *dot = tw_pic_dot(&pic);
    assert_non_null(strstr(dot, "\"node filter.0\" -> \"node amplifier.0\""));
    assert_non_null(strstr(dot, "arm_stream_filter"));
    assert_int_equal(count(dot, " -> "), 5);
    free(dot);
    tw_pic_close(&pic);
    tw_graphc_free(&out);
}

/* With its check sums put right, so that what is behind them is met. */
static void a_damaged_image_is_refused_or_drawn_never_worse(void **state)
{
    (void)state;
    static const uint8_t zero[4];
    (void)draw_text("examples/voice_gate.txt");
    unsigned drawn = 0;
    for (uint32_t at = 0; at < out.bytes; at += 4) {
        for (unsigned how = 0; how < 2; how++) {
            uint8_t *img = malloc(out.bytes);
            assert_non_null(img);
            memcpy(img, out.image, out.bytes);
            tw_put_le32(img + at, how == 0 ? 0xFFFFFFFF : tw_get_le32(img + at) ^ 0x00010101u);
            tw_put_le32(img + 16, tw_crc32c(0, img + 128, out.bytes - 128));
            uint32_t crc = tw_crc32c(0, img, 12);
            crc = tw_crc32c(crc, zero, 4);
            tw_put_le32(img + 12, tw_crc32c(crc, img + 16, 112));
            tw_pic_t pic;
            if (tw_pic_of_image(&pic, img, out.bytes)) {
                char *dot = tw_pic_dot(&pic);
                assert_non_null(dot);
                free(dot);
                tw_pic_close(&pic);
                drawn++;
            }
            free(img);
        }
    }
    assert_true(drawn > 0 && drawn < out.bytes / 2);
    tw_pic_t pic;
    assert_false(tw_pic_of_image(&pic, out.image, out.bytes - 4));
    assert_false(tw_pic_of_image(&pic, out.image, 0));
    tw_graphc_free(&out);
}

/* ---- pictures made by hand ---------------------------------------------------------- */

static void link_nodes(tw_pic_t *p, uint32_t arc, uint32_t from, uint32_t to)
{
    p->arcs[arc] = (tw_pic_arc_t){.from = from, .to = to};
    (void)snprintf(p->arcs[arc].format, sizeof p->arcs[arc].format, "S16 x1 16 kHz");
}

static void names_cannot_break_the_quotes(void **state)
{
    (void)state;
    tw_pic_t p;
    assert_true(tw_pic_open(&p, 2, 0, 1, 1));
    (void)snprintf(p.name, sizeof p.name, "\"];}\\");
    (void)snprintf(p.nodes[0].name, sizeof p.nodes[0].name, "a\"] b -> c [x=\"");
    (void)snprintf(p.nodes[0].type, sizeof p.nodes[0].type, "<b>&amp;</b>");
    (void)snprintf(p.nodes[0].tip, sizeof p.nodes[0].tip, "two\nlines\x01\xFF");
    (void)snprintf(p.nodes[1].name, sizeof p.nodes[1].name, "t\xC3\xA9");
    link_nodes(&p, 0, 0, 1);
    char *dot = tw_pic_dot(&p);
    assert_non_null(strstr(dot, "digraph \"\\\"];}\\\\\" {"));
    assert_non_null(strstr(dot, "\"node a\\\"] b -> c [x=\\\"\" [label=<<b>a&#34;] b -&#62; c [x=&#34;</b>"));
    assert_non_null(strstr(dot, "&#60;b&#62;&#38;amp;&#60;/b&#62;"));
    assert_non_null(strstr(dot, "tooltip=\"two\\nlines??\""));
    assert_non_null(strstr(dot, "\"node t\xC3\xA9\""));
    free(dot);
    tw_pic_close(&p);
}

static void sub_graphs_are_boxes_in_boxes(void **state)
{
    (void)state;
    tw_pic_t p;
    assert_true(tw_pic_open(&p, 3, 0, 2, 3));
    (void)snprintf(p.scopes[1].name, sizeof p.scopes[1].name, "front");
    (void)snprintf(p.scopes[2].name, sizeof p.scopes[2].name, "front.eq");
    p.scopes[2].parent = 1;
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(p.nodes[i].name, sizeof p.nodes[i].name, "%sn%u", i == 2 ? "front.eq." : "", i);
        p.nodes[i].scope = i;
    }
    p.nodes[2].inserted = true;
    link_nodes(&p, 0, 0, 1);
    link_nodes(&p, 1, 1, 2);
    p.arcs[1].delayed = true;
    char *dot = tw_pic_dot(&p);
    const char *outer = strstr(dot, "subgraph cluster_1"), *inner = strstr(dot, "subgraph cluster_2");
    assert_true(outer != NULL && inner != NULL && outer < inner);
    const char *n1 = strstr(dot, "\"node n1\" [label"), *n2 = strstr(dot, "\"node front.eq.n2\" [label=<<b>n2</b>");
    assert_true(outer < n1 && n1 < inner && inner < n2);
    assert_non_null(strstr(n2, "style=\"filled,rounded,dashed\"")); /* inserted */
    assert_non_null(strstr(dot, "style=dashed"));
    assert_int_equal(count(dot, "{"), count(dot, "}"));
    free(dot);
    tw_pic_close(&p);
}

static void scopes_deeper_than_any_graph_end_too(void **state)
{
    (void)state;
    tw_pic_t p;
    assert_true(tw_pic_open(&p, 1, 0, 0, 100));
    for (uint32_t i = 1; i < 100; i++) {
        p.scopes[i].parent = i - 1;
    }
    char *dot = tw_pic_dot(&p);
    assert_int_equal(count(dot, "{"), count(dot, "}"));
    free(dot);
    tw_pic_close(&p);
}

static void a_long_chain_goes_into_rows(void **state)
{
    (void)state;
    enum { N = 60 };
    tw_pic_t p;
    assert_true(tw_pic_open(&p, N, 0, N - 1, 1));
    for (uint32_t i = 0; i < N; i++) {
        (void)snprintf(p.nodes[i].name, sizeof p.nodes[i].name, "n%u", i);
    }
    for (uint32_t i = 0; i + 1 < N; i++) {
        link_nodes(&p, i, i, i + 1);
    }
    char *dot = tw_pic_dot(&p);
    assert_true(p.n_rows > 3 && p.n_rows < 20);
    for (uint32_t i = 0; i + 1 < N; i++) { /* rows follow each other, none goes back */
        assert_true(p.nodes[i + 1].row == p.nodes[i].row || p.nodes[i + 1].row == p.nodes[i].row + 1);
    }
    assert_int_equal(count(dot, "shape=circle"), 2 * (p.n_rows - 1));
    assert_int_equal(count(dot, "subgraph cluster_row_"), p.n_rows);
    free(dot);
    tw_pic_close(&p);
}

static void a_row_ends_where_few_arcs_go_on(void **state)
{
    (void)state;
    enum { BLOCKS = 12, WIDE = 6 }; /* one node, then six side by side */
    tw_pic_t p;
    assert_true(tw_pic_open(&p, BLOCKS * (WIDE + 1), 0, 2 * BLOCKS * WIDE, 1));
    uint32_t arcs = 0;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        const uint32_t head = b * (WIDE + 1);
        for (uint32_t i = 1; i <= WIDE; i++) {
            link_nodes(&p, arcs++, head, head + i);
            if (b + 1 < BLOCKS && i <= 2) { /* two of them go on */
                link_nodes(&p, arcs++, head + i, head + WIDE + 1);
            }
        }
    }
    p.n_arcs = arcs;
    free(tw_pic_dot(&p));
    assert_true(p.n_rows > 1);
    for (uint32_t i = 0; i < p.n_nodes; i++) {
        const uint32_t head = i - i % (WIDE + 1);
        assert_int_equal(p.nodes[i].row, p.nodes[head].row); /* a block stays together */
    }
    tw_pic_close(&p);
}

static void a_loop_without_delay_is_drawn_all_the_same(void **state)
{
    (void)state;
    tw_pic_t p;
    assert_true(tw_pic_open(&p, 2, 0, 2, 1));
    link_nodes(&p, 0, 0, 1);
    link_nodes(&p, 1, 1, 0);
    char *dot = tw_pic_dot(&p);
    assert_int_equal(count(dot, " -> "), 2);
    free(dot);
    tw_pic_close(&p);
}

static void rates_are_short(void **state)
{
    (void)state;
    static const struct {
        double hz;
        const char *want;
    } cases[] = {{0, "async"}, {0.5, "0.5 Hz"}, {100, "100 Hz"}, {44100, "44.1 kHz"}, {2.4e6, "2.4 MHz"}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[24];
        tw_pic_rate(text, sizeof text, cases[i].hz);
        assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_drawn_whole_and_without_its_locks),
        cmocka_unit_test(locks_are_left_out_and_delays_are_dashed),
        cmocka_unit_test(an_image_is_drawn_like_its_text),
        cmocka_unit_test(a_damaged_image_is_refused_or_drawn_never_worse),
        cmocka_unit_test(names_cannot_break_the_quotes),
        cmocka_unit_test(sub_graphs_are_boxes_in_boxes),
        cmocka_unit_test(scopes_deeper_than_any_graph_end_too),
        cmocka_unit_test(a_long_chain_goes_into_rows),
        cmocka_unit_test(a_row_ends_where_few_arcs_go_on),
        cmocka_unit_test(a_loop_without_delay_is_drawn_all_the_same),
        cmocka_unit_test(rates_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
