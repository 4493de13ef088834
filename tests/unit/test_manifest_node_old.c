/* Node manifests without tags: five shapes, each with texts of our own, then the public ones. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_node_manifest_t m;
static tw_diags_t d;

static bool parse(const char *text)
{
    tw_text_t t;
    d = (tw_diags_t){0};
    tw_text_open(&t, "node.txt", text, strlen(text), &d);
    return tw_node_manifest_parse(&m, &t);
}

static void must(const char *text)
{
    if (!parse(text)) {
        fail_msg("%u:%u %s", d.rows[0].line, d.rows[0].col, d.rows[0].text);
    }
}

static void the_short_form_names_the_arcs_only(void **state)
{
    (void)state;
    must("ACME\nacme_split\nS 1 3 ; receive, transmit\n");
    assert_string_equal(m.developer, "ACME");
    assert_string_equal(m.name, "acme_split");
    assert_true(m.rx == 1 && m.tx == 3 && m.rx_min == 1 && m.tx_min == 3);
    assert_true(m.n_mem == 0 && m.push_format == 1 && m.version == 1 << 8);
    assert_true(!m.arcs[0].tx && m.arcs[1].tx && m.arcs[3].tx && m.arcs[3].raw.v[0] == TW_RAW_S16);
}

#define X_ARC(tx, raw, channels, length, format, rates) \
#tx "\n" #raw " raw\n0 time stamp\n1 deinterleaved\n" channels "\n" #length "\n1 2 4\n" format "\n" rates "\n"

static void the_x_form_counts_defaults_from_one(void **state)
{
    (void)state;
    must("ACME\nacme_x\nX 1 1 2 1 0 15 2\n2\n4 2\n0 0\n203 001\n"
         "32 4 1.5 0.25 2 3 0 1 1 8 1 2 1 ; working, critical\n"
         "64 0 0 0 0 0 0 0 0 4 2 1 0\n" X_ARC(0, 19, "2 1 2", 1, "0 3", "-2 8000 8000 24000")
             X_ARC(1, 27, "0", 0, "1 0.5", "1 0.1 0.2") "0 in place\n_end_\n");
    assert_true(m.rx == 1 && m.tx == 1 && m.arc_parameters == 2 && m.same_rate == 1 && m.push_format == 0);
    assert_true(m.services == 15 && m.arch == 4 && m.fpu == 2 && m.version == (2 << 8 | 3) && m.stream_version == 0);
    assert_int_equal(m.n_mem, 2);
    const tw_node_mem_manifest_t *x = &m.mem[0];
    assert_true(x->a == 32 && x->b == 1.5 && x->c == 0.25 && x->d == 2 && x->e == 3 && x->c_arc == 1 && x->d_arc == 1);
    assert_true(x->align == 8 && x->type == 1 && x->speed == 3 && x->reloc == 1);
    assert_true(m.mem[1].type == 3 && m.mem[1].speed == 2 && m.mem[1].e == 1);
    const tw_node_arc_manifest_t *a = m.arcs;
    assert_true(a[0].raw.v[0] == TW_RAW_Q15 && a[0].interleaving == 1 && a[0].channels.def == 1);
    assert_true(a[0].frame_length.v[1] == 4 && a[0].accuracy == 3.0f && a[0].rate_hz.n == 3 && a[0].rate_hz.def == 1);
    assert_true(a[1].raw.v[0] == TW_RAW_FP32 && a[1].channels.any && a[1].frame_duration_ms.v[0] == 2);
    assert_true(a[1].period_s.n == 2 && a[1].rate_hz.any && a[1].frame_length.any);
    assert_true(a[0].in_place == 0 && a[1].in_place == 1);
}

#define E_ARC(own, tx, format) \
#own " own\n" #tx " rx0tx1\n6 raw\n0\n1 samples\n" format "3 percent\n0 0\n0 1\n2 1 2 4\n0\n"

static void the_eight_numbers_form_counts_defaults_from_zero(void **state)
{
    (void)state;
    must("ACME developer name\nacme_e node name\n1 1 0 1   3 1 0 31\n0 syntax\n1 options\n0 2\n0 1 versions\n1 bank\n"
         "76 0 6 0 0 0  0 0 0  4 0 3 0\n" E_ARC(0, 0, "0 Hz\n") E_ARC(2, 1, "2 days\n") "_END_\n");
    assert_true(m.same_rate == 1 && m.use_dtcm == 1 && m.push_format == 1 && m.services == 31 && m.fpu == 2);
    assert_true(m.mem[0].a == 76 && m.mem[0].b == 6 && m.mem[0].speed == 3);
    assert_true(m.arcs[0].raw.v[0] == TW_RAW_S16 && m.arcs[0].frame_length.def == 2 && m.arcs[0].rate_hz.any);
    assert_int_equal(m.arcs[1].in_place, 1); /* 2 = arc 0 + the number of arcs */
    assert_int_equal(d.errors, 0);
    assert_int_equal(d.n, 1);
    assert_string_equal(d.rows[0].text, "raw type 6 of this form is S16, not S4 as in tagged manifests");
}

static void the_name_may_follow_the_number_of_arcs(void **state)
{
    (void)state;
    must("ACME\n2 arcs\nACMETEN\n1 1 0\n1\n1\n0 0\n0 1 0 1 0 0 libraries\n2 5 version\n1 scheduler\n2\n"
         "38 6 0 0 1 0 0 0 4 0 0 0\n38 0 6 0 0 1 0 0 0 4 1 3 0\n1 0 flags\n" E_ARC(0, 0, "") E_ARC(1, 1, ""));
    assert_string_equal(m.name, "ACMETEN");
    assert_true(m.services == 10 && m.version == (2 << 8 | 5) && m.same_rate == 1 && m.push_format == 0);
    assert_true(m.mem[0].a == 38 && m.mem[0].b == 6 && m.mem[1].b == 6 && m.mem[1].type == 1 && m.mem[1].speed == 3);
}

static void data_lines_hold_hexadecimal_sizes(void **state)
{
    (void)state;
    must("1 c; ACME developer\n1 u8; 3 arcs\n1 c; ACMEDATA\n3 u8; 2 1 0\n5 u8; 0 1 2 3 4 sync\n2 u8; 0 1\n1 u8; 1\n"
         "6 u8; 0 0 0 0 0 0\n1 h32; 0010\n1 h32; 0010\n1 u8; 0\n1 u8; 1 bank\n5 h32; 38 6 0 0 1 A B C D E\n"
         "3 u8; 0 0 0\n1 u16; 4\n1 u8; 1\n1 u8; 3\n1 u8; 0\n1 c; data_stream_in\n1 i8; 1 rx0tx1\n"
         "0 rx0tx1; input\naudio_in domain\nint32 raw format; 0 time-stamp\n1 rx0tx1; output\nint16 raw format\nEND\n");
    assert_string_equal(m.developer, "ACME");
    assert_string_equal(m.name, "ACMEDATA");
    assert_true(m.rx == 2 && m.tx == 1 && m.mem[0].a == 0x38 && m.mem[0].type == 1 && m.mem[0].speed == 3);
    assert_true(m.arcs[0].raw.v[0] == TW_RAW_S32 && !m.arcs[1].set && m.arcs[2].tx && m.arcs[2].set);
}

static void wrong_rows_are_named_with_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line, col;
        const char *says;
    } cases[] = {
        {"A\nx\nS 1\n", 3, 1, "expected S and the numbers of receive and transmit arcs"},
        {"A\nx\nS 16 1\n", 3, 1, "number of receive arcs is 16, allowed 0..15"},
        {"A\nx\nS 15 15\n", 3, 1, "node has 30 arcs, allowed 1..16"},
        {"A\nx\nS 0 0\n", 3, 1, "node has 0 arcs, allowed 1..16"},
        {"A\nx\nX 1 1 0 1\n", 3, 1, "expected X and 7 numbers, found 4"},
        {"A\nx\nX 1 1 0 1 0 15 7\n", 3, 1, "memory blocks is 7, allowed 0..6"},
        {"A\nx\nX 1 1 0 1 0 15 1\n", 4, 0, "file ends, expected number of architectures"},
        {"A\nx\nX 1 1 0 1 0 15 1\n1\n0 2\n101 1\n32 4 0\n", 7, 7, "expected a memory block (12 numbers), found 3"},
        {"A\nx\nX 1 1 0 1 0 15 1\n1\n0 2\n101 1\n32 4 0 0 0 0 0 0 0 5 0 0 0\n", 7, 1,
         "alignment 5 is not a power of two up to 128"},
        {"A\nx\nX 1 1 0 1 0 15 1\n1\n0 2\n101 1\n32 4 0 0 0 0 0 0 0 4 0 4 0\n", 7, 1,
         "number 12 of the memory block is 4, allowed 0..3"},
        {"A\nx\nX 1 1 0 1 0 15 0\n1\n0 2\n101 1\n2\n", 7, 1, "direction is 2, allowed 0..1"},
        {"A\nx\nX 1 1 0 1 0 15 0\n1\n0 2\n101 1\n0\n19\n0\n0\n1 33\n", 11, 1, "channels option 33, allowed 1..32"},
        {"A\nx\n1 1 0\n", 3, 6, "expected arcs and flags of the node (8 numbers), found 3"},
        {"A\n2\nX\n1 1\n", 4, 4, "expected receive, transmit, parameter arcs (3 numbers), found 2"},
        {"1 c; A\n1 u8; 3\n1 c; X\n3 u8; 1 1\n", 4, 3,
         "expected receive, transmit, parameter arcs (3 numbers), found 2"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_diag_t *r = &d.rows[0];
        if (parse(cases[i].text) || r->line != cases[i].line || r->col != cases[i].col ||
            strcmp(r->text, cases[i].says) != 0) {
            fail_msg("case %zu: %u:%u %s", i, r->line, r->col, r->text);
        }
    }
}

/* ---- public manifests ----------------------------------------------------------------- */

#define E1 "../shared/corpus/graphs/GRAPH_INTERPRETER@31fd022_2023-12-16/stream_nodes/arm/"
#define E2 "../shared/corpus/graphs/GRAPH_INTERPRETER@cc81572_2024-05-23/"

static bool read_file(const char *path)
{
    tw_text_t t;
    size_t n = 0;
    char *text = tw_text_files.read(NULL, path, &n);
    d = (tw_diags_t){0};
    if (text == NULL) {
        return false;
    }
    tw_text_open(&t, path, text, n, &d);
    if (!tw_node_manifest_parse(&m, &t)) {
        fail_msg("%s:%u:%u %s", path, d.rows[0].line, d.rows[0].col, d.rows[0].text);
    }
    free(text);
    return true;
}

static void sixteen_manifests_of_the_first_generation_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *name;
        uint8_t rx, tx, mem;
        double a;
    } nodes[] = {
        {"amplifier", "FILTER", 1, 1, 2, 56},
        {"compressor", "FILTER", 1, 1, 2, 38},
        {"converter", "FILTER", 1, 1, 2, 56},
        {"decompressor", "FILTER", 1, 1, 2, 38},
        {"demodulator", "DEMODULATOR", 1, 1, 2, 56},
        {"detector", "arm_stream_detector", 1, 1, 1, 54},
        {"detector2D", "arm_stream_detector", 1, 1, 1, 54},
        {"filter", "arm_stream_filter", 1, 1, 2, 76},
        {"interpolator", "FILTER", 1, 1, 2, 56},
        {"mixer", "FILTER", 1, 1, 2, 38},
        {"modulator", "MODULATOR", 1, 1, 2, 38},
        {"rescaler", "RESCALER", 1, 1, 2, 38},
        {"router", "ROUTER", 1, 1, 2, 38},
        {"script", "SCRIPT", 1, 1, 2, 38},
        {"shared", "SHARED", 4, 1, 1, 68},
        {"synchro", "SYNCHRO", 4, 1, 1, 68},
    };
    for (size_t i = 0; i < TW_COUNT(nodes); i++) {
        char path[300];
        snprintf(path, sizeof path, E1 "%s/swc_manifest_%s.txt", nodes[i].folder, nodes[i].folder);
        if (!read_file(path)) {
            print_message("no %s here: public manifests not tried\n", path);
            skip();
        }
        if (strcmp(m.name, nodes[i].name) != 0 || m.rx != nodes[i].rx || m.tx != nodes[i].tx ||
            m.n_mem != nodes[i].mem || m.mem[0].a != nodes[i].a) {
            fail_msg("%s: %s %u %u, %u blocks, %g", path, m.name, m.rx, m.tx, m.n_mem, m.mem[0].a);
        }
    }
}

static void the_positional_split_and_the_template_are_read(void **state)
{
    (void)state;
    if (!read_file(E2 "stream_nodes/Basic/arm/split/swc_manifest_split.txt")) {
        print_message("no %s here: public manifests not tried\n", E2);
        skip();
    }
    assert_string_equal(m.name, "arm_stream_split");
    assert_true(m.n_mem == 1 && m.mem[0].a == 32 && m.arcs[1].raw.v[0] == TW_RAW_Q15 && m.arcs[1].in_place == 0);
    assert_true(m.arcs[0].rate_hz.n == 3 && m.arcs[0].rate_hz.def == 1 && m.arcs[0].accuracy == 3.0f);
    assert_true(read_file(E2 "stream_doc/NodeManifestTemplate.txt"));
    assert_true(m.n_mem == 2 && m.mem[1].e == 44 && m.arcs[0].period_day.n == 3 && m.use_dtcm);
    assert_true(m.arcs[1].in_place == 1 && m.arcs[0].frame_duration_ms.v[1] == 22.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_form_names_the_arcs_only),
        cmocka_unit_test(the_x_form_counts_defaults_from_one),
        cmocka_unit_test(the_eight_numbers_form_counts_defaults_from_zero),
        cmocka_unit_test(the_name_may_follow_the_number_of_arcs),
        cmocka_unit_test(data_lines_hold_hexadecimal_sizes),
        cmocka_unit_test(wrong_rows_are_named_with_what_was_expected),
        cmocka_unit_test(sixteen_manifests_of_the_first_generation_are_read),
        cmocka_unit_test(the_positional_split_and_the_template_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
