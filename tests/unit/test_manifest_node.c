/* Every tag of node manifests: its default, a value, a wrong value; a row of the table without a case fails. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_node_manifest_t node;
static tw_diags_t d;

static bool parse(const char *text)
{
    tw_text_t t;
    d = (tw_diags_t){0};
    tw_text_open(&t, "node.txt", text, strlen(text), &d);
    return tw_node_manifest_parse(&node, &t);
}

static bool is(const tw_options_t *o, unsigned n, unsigned def, double first)
{
    return !o->any && o->n == n && o->def == def && o->v[0] == first;
}

#define MEM "node_mem 0\n"
#define ARC "node_arc 1\n"

/* X(id, line, tag, lines before, value, holds by default, holds with the value, wrong value, what is said)
 * line: of seed 000, or of seed 001 where the id begins with s1_; 0: Tunewire's own or a later spelling. */
#define CASES(X)                                                                                                       \
    X(developer, 467, "node_developer_name", "", "ACME2", EQ(m->developer, "ACME"), EQ(m->developer, "ACME2"), "",     \
      "expected developer name")                                                                                       \
    X(name, 468, "node_name", "", "acme_y", EQ(m->name, "acme_x"), EQ(m->name, "acme_y"), "", "expected node name")    \
    X(nb_arcs, 473, "node_nb_arcs", "", "2 3", m->rx == 1 && m->tx == 1, m->rx == 2 && m->tx == 3 && m->arcs[2].tx,    \
      "16 1", "number of receive arcs is 16, allowed 0..15")                                                           \
    X(min_arcs, 0, "node_min_arcs", "node_nb_arcs 2 3\n", "1 2", m->rx_min == 2 && m->tx_min == 3,                     \
      m->rx_min == 1 && m->tx_min == 2, "3 3", "node_min_arcs 3 3 is more than node_nb_arcs 2 3")                      \
    X(arc_parameter, 474, "node_arc_parameter", "", "3", m->arc_parameters == 0, m->arc_parameters == 3, "16",         \
      "node_arc_parameter is 16, allowed 0..15")                                                                       \
    X(steady, 475, "node_steady_stream", "", "0", m->steady == 1, m->steady == 0, "2",                                 \
      "node_steady_stream is 2, allowed 0..1")                                                                         \
    X(same_rate, 476, "node_same_data_rate", "", "1", m->same_rate == 0, m->same_rate == 1, "x",                       \
      "expected node_same_data_rate (integer), found 'x'")                                                             \
    X(dtcm, 477, "node_use_dtcm", "", "1", m->use_dtcm == 0, m->use_dtcm == 1, "",                                     \
      "expected a value for node_use_dtcm")                                                                            \
    X(arc_format, 478, "node_use_arc_format", "", "0", m->push_format == 1, m->push_format == 0, "-1",                 \
      "node_use_arc_format is -1, allowed 0..1")                                                                       \
    X(arc_format2, 0, "node_using_arc_format", "", "0", m->push_format == 1, m->push_format == 0, "-1",                \
      "node_using_arc_format is -1, allowed 0..1")                                                                     \
    X(variable, 0, "node_variable_rxtx_data_rate", "", "1", m->steady == 1, m->steady == 0, "2",                       \
      "variable data rate is 2, allowed 0..1")                                                                         \
    X(library, 479, "node_mask_library", "", "15", m->services == 0, m->services == 15, "4294967296",                  \
      "node_mask_library is 4294967296, allowed 0..4294967295")                                                        \
    X(units, 480, "node_subtype_units", "", "VRMS", m->unit == 0, m->unit == 104, "FURLONG", "unknown unit 'FURLONG'") \
    X(arch, 481, "node_architecture", "", "armv8.1-m.main", m->arch == 0, m->arch == 5, "8",                           \
      "architecture is 8, allowed 0..7")                                                                               \
    X(fpu, 482, "node_fpu_used", "", "2", m->fpu == 0, m->fpu == 2, "16", "node_fpu_used is 16, allowed 0..15")        \
    X(key, 483, "node_use_unlock_key", "", "1", m->use_key == 0, m->use_key == 1, "2",                                 \
      "node_use_unlock_key is 2, allowed 0..1")                                                                        \
    X(version, 484, "node_node_version", "", "101", m->version == 0x100, m->version == 0x101, "25600",                 \
      "version is 25600, allowed 0..25599")                                                                            \
    X(stream, 485, "node_stream_version", "", "001", m->stream_version == 0x100, m->stream_version == 1, "200",        \
      "made for a scheduler of version 2, this one is 1")                                                              \
    X(s1_short, 414, "node_short_name", "", "ACMX", EQ(m->short_name, ""), EQ(m->short_name, "ACMX"), "ACMEX",         \
      "short name is longer than 4 characters")                                                                        \
    X(s1_developer, 407, "node_developer_id", "", "2097151", m->developer_id == 0, m->developer_id == 2097151,         \
      "2097152", "node_developer_id is 2097152, allowed 0..2097151")                                                   \
    X(s1_presets, 434, "node_presets", "", "64", m->presets == 0, m->presets == 64, "65",                              \
      "node_presets is 65, allowed 0..64")                                                                             \
    X(s1_preset_size, 440, "node_preset_size", "", "262143", m->preset_bytes == 0, m->preset_bytes == 262143,          \
      "262144", "node_preset_size is 262144, allowed 0..262143")                                                       \
    X(s1_reset, 437, "node_reset_after_load", "", "1", m->reset_after_load == 0, m->reset_after_load == 1, "2",        \
      "node_reset_after_load is 2, allowed 0..1")                                                                      \
    X(s1_pic, 416, "node_position_independent", "", "1", m->position_independent == 0, m->position_independent == 1,   \
      "2", "node_position_independent is 2, allowed 0..1")                                                             \
    X(nb_mem, 0, "node_nb_mem_block", "", "1\nnode_mem_alloc 32", m->n_mem == 0, m->n_mem == 1 && d.n == 0, "7",       \
      "number of memory blocks is 7, allowed 0..6")                                                                    \
    X(mem, 504, "node_mem", MEM, "1", m->n_mem == 1 && m->mem[0].align == 4, m->n_mem == 2, "2",                       \
      "memory block 2, expected 1: blocks are numbered 0..5 in order")                                                 \
    X(alloc, 505, "node_mem_alloc", MEM, "32", m->mem[0].a == 0, m->mem[0].a == 32, "-1",                              \
      "bytes is -1, allowed 0..4.29497e+09")                                                                           \
    X(detail, 0, "node_mem_alloc_detail", "", "32 4 0 0.1 1 2 0 44 8 1 1 1 1", m->n_mem == 0,                          \
      m->mem[0].b == 4 && m->mem[0].c_arc == 1 && m->mem[0].e == 44 && m->mem[0].align == 8 && m->mem[0].prog, "32 4", \
      "expected a value for C")                                                                                        \
    X(nbchan, 506, "node_mem_nbchan", MEM, "4 1", m->mem[0].b == 0 && m->mem[0].b_arc == 0,                            \
      m->mem[0].b == 4 && m->mem[0].b_arc == 1, "4 16", "arc index is 16, allowed 0..15")                              \
    X(rate, 507, "node_mem_sampling_rate", MEM, "0.1 1", m->mem[0].c == 0, m->mem[0].c == 0.1 && m->mem[0].c_arc == 1, \
      "x 1", "expected bytes per Hz (number), found 'x'")                                                              \
    X(frame, 508, "node_mem_frame_size", MEM, "1 0", m->mem[0].d == 0, m->mem[0].d == 1 && m->mem[0].d_arc == 0, "",   \
      "expected a value for bytes per frame byte")                                                                     \
    X(alignement, 509, "node_mem_alignement", MEM, "16", m->mem[0].align == 4, m->mem[0].align == 16, "24",            \
      "alignment 24 is not a power of two")                                                                            \
    X(alignment, 0, "node_mem_alignment", MEM, "128", m->mem[0].align == 4, m->mem[0].align == 128, "256",             \
      "alignment is 256, allowed 1..128")                                                                              \
    X(retention, 510, "node_mem_retention", MEM, "1", m->mem[0].type == 0, m->mem[0].type == 1, "4",                   \
      "retention is 4, allowed 0..3")                                                                                  \
    X(type, 0, "node_mem_type", MEM, "1", m->mem[0].type == 0, m->mem[0].type == 1, "4",                               \
      "retention is 4, allowed 0..3")                                                                                  \
    X(speed, 511, "node_mem_speed", MEM, "2", m->mem[0].speed == 0, m->mem[0].speed == 3, "4",                         \
      "speed is 4, allowed 0..3")                                                                                      \
    X(relocatable, 512, "node_mem_relocatable", MEM, "1", m->mem[0].reloc == 0, m->mem[0].reloc == 1, "2",             \
      "relocatable is 2, allowed 0..1")                                                                                \
    X(prog, 513, "node_mem_dataOprog1", MEM, "1", m->mem[0].prog == 0, m->mem[0].prog == 1, "2",                       \
      "program memory is 2, allowed 0..1")                                                                             \
    X(prog0, 0, "node_mem_data0prog1", MEM, "1", m->mem[0].prog == 0, m->mem[0].prog == 1, "2",                        \
      "program memory is 2, allowed 0..1")                                                                             \
    X(arc, 534, "node_arc", "", "1", m->arcs[1].set == 0, m->arcs[1].set == 1, "16", "arc index is 16, allowed 0..15") \
    X(direction, 535, "node_arc_rx0tx1", ARC, "0\nnode_arc 0\nnode_arc_rx0tx1 1",                                      \
      m->arcs[0].tx == 0 && m->arcs[1].tx == 1, m->arcs[0].tx == 1 && m->arcs[1].tx == 0, "0",                         \
      "node_arc_rx0tx1 makes 2 receive and 0 transmit arcs, node_nb_arcs says 1 and 1")                                \
    X(arc_rate, 536, "node_arc_sampling_rate", ARC, "{2 16000 44100}", m->arcs[1].rate_hz.any,                         \
      is(&m->arcs[1].rate_hz, 2, 1, 16000), "{1 16000 x}", "'x' is no value for sampling rate")                        \
    X(interleaving, 537, "node_arc_interleaving", ARC, "1", m->arcs[1].interleaving == 0,                              \
      m->arcs[1].interleaving == 1, "3", "interleaving is 3, allowed 0..2")                                            \
    X(channels, 538, "node_arc_nb_channels", ARC, "{1 1 2}", is(&m->arcs[1].channels, 1, 0, 1),                        \
      is(&m->arcs[1].channels, 2, 0, 1), "{1 0 2}", "channels option 0, allowed 1..32")                                \
    X(channels2, 0, "node_arc_channels", "", "1 1 {2 1 2}", is(&m->arcs[1].channels, 1, 0, 1),                         \
      m->arcs[1].interleaving == 1 && is(&m->arcs[1].channels, 2, 1, 1), "16 0 {1}", "arc index is 16, allowed 0..15") \
    X(raw, 539, "node_arc_raw_format", ARC, "{2 17 FP32}", is(&m->arcs[1].raw, 1, 0, TW_RAW_S16),                      \
      is(&m->arcs[1].raw, 2, 1, TW_RAW_S16), "{1 52}", "raw type option 52, allowed 0..51")                            \
    X(length, 540, "node_arc_frame_length", ARC, "{1 1 2 16}", m->arcs[1].frame_length.any,                            \
      is(&m->arcs[1].frame_length, 3, 0, 1), "{4 1 2 16}", "default entry 4 of frame length, but there are 3")         \
    X(samples, 0, "node_arc_frame_samples", ARC, "{-1 1 1 4}", m->arcs[1].frame_length.any,                            \
      is(&m->arcs[1].frame_length, 4, 0, 1), "{4 1 2 16}", "default entry 4 of frame length, but there are 3")         \
    X(duration, 541, "node_arc_frame_duration", ARC, "{1 10 22.5}", m->arcs[1].frame_duration_ms.any,                  \
      is(&m->arcs[1].frame_duration_ms, 2, 0, 10), "", "expected options for frame duration")                          \
    X(period_s, 543, "node_arc_sampling_period_s", ARC, "{1 0.1 0.2 0.4}", m->arcs[1].period_s.any,                    \
      is(&m->arcs[1].period_s, 3, 0, 0.1), "{1 -1 2}", "sampling period option -1, allowed 0..1e+09")                  \
    X(period_day, 544, "node_arc_sampling_period_day", ARC, "{1 0.25 1 7}", m->arcs[1].period_day.any,                 \
      is(&m->arcs[1].period_day, 3, 0, 0.25), "{-1 1 2}",                                                              \
      "a negative index of sampling period is followed by triplets: first step last")                                  \
    X(accuracy, 545, "node_arc_sampling_accuracy", ARC, "0.8", m->arcs[1].accuracy == 0, m->arcs[1].accuracy == 0.8f,  \
      "101", "accuracy is 101, allowed 0..100")                                                                        \
    X(in_place, 546, "node_arc_inPlaceProcessing", "", "1 0", m->arcs[1].in_place == 0,                                \
      m->arcs[1].in_place == 1 && m->arcs[0].in_place == 0, "1 1", "arc 1 cannot share a buffer with itself")          \
    X(in_place_old, 0, "node_arc_inplace_buffer", "", "0 1", m->arcs[1].in_place == 0, m->arcs[1].in_place == 1, "1",  \
      "expected a value for arc index")

#define EQ(a, b) (strcmp(a, b) == 0)
#define X(id, line, tag, before, value, is_default, is_set, bad, says) \
    static bool default_##id(const tw_node_manifest_t *m)              \
    {                                                                  \
        return is_default;                                             \
    }                                                                  \
    static bool set_##id(const tw_node_manifest_t *m)                  \
    {                                                                  \
        return is_set;                                                 \
    }
CASES(X)
#undef X

static const struct {
    const char *id, *tag, *before, *value, *bad, *says;
    unsigned line;
    bool (*is_default)(const tw_node_manifest_t *m), (*is_set)(const tw_node_manifest_t *m);
} cases[] = {
#define X(id, line, tag, before, value, is_default, is_set, bad, says) \
    {#id, tag, before, value, bad, says, line, default_##id, set_##id},
    CASES(X)
#undef X
};

static bool parse_case(size_t i, const char *value)
{
    char text[400];
    if (value == NULL) {
        snprintf(text, sizeof text, "ACME\nacme_x\n%s", cases[i].before);
    } else {
        snprintf(text, sizeof text, "ACME\nacme_x\n%s%s %s\n", cases[i].before, cases[i].tag, value);
    }
    return parse(text);
}

static void every_tag_has_its_default_takes_its_value_and_refuses_a_wrong_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        if (!parse_case(i, NULL) || !cases[i].is_default(&node)) {
            fail_msg("L%u %s: not the default: %s", cases[i].line, cases[i].tag, d.rows[0].text);
        }
        if (!parse_case(i, cases[i].value) || !cases[i].is_set(&node)) {
            fail_msg("L%u %s: not the value: %s", cases[i].line, cases[i].tag, d.rows[0].text);
        }
        if (parse_case(i, cases[i].bad) || strncmp(d.rows[0].text, cases[i].says, strlen(cases[i].says)) != 0) {
            fail_msg("L%u %s: %s", cases[i].line, cases[i].tag, d.rows[0].text);
        }
    }
}

static void no_row_of_the_table_is_without_a_case(void **state)
{
    (void)state;
    static const char *const tags[] = {
#define TW_NODE_FIELD(tag, field, lo, hi, dflt, text) #tag,
#define TW_NODE_CALL(tag, reader, args, dflt, text) #tag,
#include "engine/board/manifest_tags.def"
    };
    for (size_t i = 0; i < TW_COUNT(tags); i++) {
        bool found = false;
        for (size_t k = 0; k < TW_COUNT(cases); k++) {
            found |= strcmp(tags[i], cases[k].tag) == 0;
        }
        if (!found) {
            fail_msg("%s has no case", tags[i]);
        }
    }
    assert_int_equal(TW_COUNT(tags), TW_COUNT(cases));
}

/* ---- what the seeds leave open ---------------------------------------------------------- */

/* The block index counts from 0 and block 0 is the instance; the seed's example begins at 2 of a longer text. */
static void test_S0_L504_blocks_are_numbered_in_order(void **state)
{
    (void)state;
    assert_false(parse("ACME\nx\nnode_mem 2\n"));
    assert_false(parse("ACME\nx\nnode_mem 0\nnode_mem 0\n"));
    assert_true(parse("ACME\nx\nnode_mem 0\nnode_mem 1\nnode_mem 2\nnode_mem 3\nnode_mem 4\nnode_mem 5\n"));
    assert_false(
        parse("ACME\nx\nnode_mem 0\nnode_mem 1\nnode_mem 2\nnode_mem 3\nnode_mem 4\nnode_mem 5\nnode_mem 6\n"));
}

static void a_range_too_wide_to_list_is_any(void **state)
{
    (void)state;
    assert_true(parse("ACME\nx\nnode_arc 0\nnode_arc_frame_length {-1 1 1 512}\n"));
    assert_true(node.arcs[0].frame_length.any && node.arcs[0].frame_length.v[1] == 512);
    assert_false(parse("ACME\nx\nnode_arc 0\nnode_arc_frame_length {-1 -4 1 512}\n"));
    assert_true(parse("ACME\nx\nnode_arc 0\nnode_arc_frame_length {-1 1 1 64}\n"));
    assert_true(!node.arcs[0].frame_length.any && node.arcs[0].frame_length.n == 64);
}

/* "E x parameter from the graph": the factor is 1 unless the one-line form gives another. */
static void test_S0_L500_e_counts_bytes_unless_scaled(void **state)
{
    (void)state;
    assert_true(parse("ACME\nx\nnode_mem 0\n") && node.mem[0].e == 1);
    assert_true(parse("ACME\nx\nnode_mem_alloc_detail 76 0 0 0.001 1 0 0 0 8 0 0 0\n") && node.mem[0].e == 1);
    assert_true(parse("ACME\nx\nnode_mem_alloc_detail 32 4 0 0.1 1 0 0 44 4 0 1 0 0\n") && node.mem[0].e == 44);
}

/* Retention 2 and speed 2 are the last of three; the image numbers four of each. */
static void test_S0_L510_retention_and_speed_become_the_images_codes(void **state)
{
    (void)state;
    static const struct {
        unsigned text, type, speed;
    } codes[] = {{0, 0, 0}, {1, 1, 2}, {2, 3, 3}, {3, 2, 3}};
    for (size_t i = 0; i < TW_COUNT(codes); i++) {
        char text[100];
        snprintf(text, sizeof text, "A\nx\nnode_mem 0\nnode_mem_retention %u\nnode_mem_speed %u\n", codes[i].text,
                 codes[i].text);
        assert_true(parse(text));
        assert_int_equal(node.mem[0].type, codes[i].type);
        assert_int_equal(node.mem[0].speed, codes[i].speed);
    }
}

/* "S, N" of the one-line forms stand in the order retention, speed. */
static void test_S0_L505_the_short_block_is_size_retention_speed(void **state)
{
    (void)state;
    assert_true(parse("A\nx\nnode_mem_alloc 32 0 1\nnode_mem_alloc 64 1 2\n"));
    assert_true(node.n_mem == 2 && node.mem[0].a == 32 && node.mem[0].type == 0 && node.mem[0].speed == 2);
    assert_true(node.mem[1].type == 1 && node.mem[1].speed == 3);
}

/* Receive arcs come first unless a manifest says otherwise, "default = 0 0 and 1 1". */
static void test_S0_L535_arcs_receive_first(void **state)
{
    (void)state;
    assert_true(parse("A\nx\nnode_nb_arcs 2 1\n"));
    assert_true(!node.arcs[0].tx && !node.arcs[1].tx && node.arcs[2].tx);
    assert_true(parse("A\nx\nnode_nb_arcs 1 2\nnode_arc 0\nnode_arc_rx0tx1 1\nnode_arc 2\nnode_arc_rx0tx1 0\n"));
    assert_true(node.arcs[0].tx && node.arcs[1].tx && !node.arcs[2].tx);
}

/* The pair is written output first in the seed, input first elsewhere: the directions tell. */
static void test_S0_L546_a_shared_buffer_is_of_an_input_and_an_output(void **state)
{
    (void)state;
    assert_true(parse("A\nx\nnode_arc_inPlaceProcessing 1 0\n") && node.arcs[1].in_place == 1);
    assert_true(parse("A\nx\nnode_arc_inPlaceProcessing 0 1\n") && node.arcs[1].in_place == 1);
    assert_false(parse("A\nx\nnode_nb_arcs 2 1\nnode_arc_inPlaceProcessing 1 0\n"));
    assert_string_equal(d.rows[0].text, "arcs 0 and 1 share a buffer, but both receive");
}

/* "001" of every public manifest names no scheduler in particular. */
static void test_S0_L485_a_major_version_of_zero_asks_for_none(void **state)
{
    (void)state;
    assert_true(parse("A\nx\nnode_stream_version 001\n") && node.stream_version >> 8 == 0);
    assert_true(parse("A\nx\nnode_stream_version 199\n") && node.stream_version == 0x163);
    assert_false(parse("A\nx\nnode_stream_version 200\n"));
}

static void the_named_form_needs_no_bare_lines(void **state)
{
    (void)state;
    assert_true(parse("node_developer_name ACME\nnode_name acme_z\nnode_mem 0\nnode_mem_alloc 32\nend\n"));
    assert_string_equal(node.developer, "ACME");
    assert_string_equal(node.name, "acme_z");
}

static void what_contradicts_itself_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        bool warning;
        const char *says;
    } cases_[] = {
        {"A\nx\nnode_mem 0\nnode_mem_nbchan 4 2\n", 0, false,
         "memory block 0 depends on arc 2, but the node has 2 arcs"},
        {"A\nx\nnode_arc 2\n", 0, true, "arc 2 is described, but the node has 2 arcs"},
        {"A\nx\nnode_nb_mem_block 2\nnode_mem_alloc 4\n", 3, true,
         "node_nb_mem_block says 2, there are 1 memory blocks"},
        {"A\nx\nnode_arc_rx0tx1 1 0\n", 3, false,
         "node_arc_rx0tx1 makes 2 receive and 0 transmit arcs, node_nb_arcs says 1 and 1"},
        {"A\nx\nnode_nb_arcs 1 1\nnode_min_arcs 2 1\n", 0, false, "node_min_arcs 2 1 is more than node_nb_arcs 1 1"},
    };
    for (size_t i = 0; i < TW_COUNT(cases_); i++) {
        const bool ok = parse(cases_[i].text);
        if (ok != cases_[i].warning || d.n != 1 || d.rows[0].line != cases_[i].line ||
            strcmp(d.rows[0].text, cases_[i].says) != 0) {
            fail_msg("case %zu: %u %s", i, d.rows[0].line, d.rows[0].text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tag_has_its_default_takes_its_value_and_refuses_a_wrong_one),
        cmocka_unit_test(no_row_of_the_table_is_without_a_case),
        cmocka_unit_test(test_S0_L504_blocks_are_numbered_in_order),
        cmocka_unit_test(a_range_too_wide_to_list_is_any),
        cmocka_unit_test(test_S0_L500_e_counts_bytes_unless_scaled),
        cmocka_unit_test(test_S0_L510_retention_and_speed_become_the_images_codes),
        cmocka_unit_test(test_S0_L505_the_short_block_is_size_retention_speed),
        cmocka_unit_test(test_S0_L535_arcs_receive_first),
        cmocka_unit_test(test_S0_L546_a_shared_buffer_is_of_an_input_and_an_output),
        cmocka_unit_test(test_S0_L485_a_major_version_of_zero_asks_for_none),
        cmocka_unit_test(the_named_form_needs_no_bare_lines),
        cmocka_unit_test(what_contradicts_itself_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
