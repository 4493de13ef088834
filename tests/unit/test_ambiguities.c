/* What the seed texts leave open, and how the compiler takes it: one test a question, named after the line that asks
 * it. docs/GRAPH_AMBIGUITIES.md has the list; questions that other programs prove are named there too. */
#include "host_tools/graphc/graphc_priv.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"
#define IO "format 0\n format_frame_length 8\nstream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 9\n"
#define NODE "node arm_stream_amplifier 0\n_end_\n"
#define ARCS "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier 0 1 0\n"

static tw_platform_t platform;
static tw_diags_t diags;
static g_model_t model;

static char *read_text(void *ctx, const char *path, size_t *n)
{
    if (strcmp(path, "g.txt") != 0) {
        return NULL;
    }
    *n = strlen(ctx);
    char *copy = malloc(*n + 1); /* exact but for malloc(0) */
    memcpy(copy, ctx, *n);
    return copy;
}

/* The text's model, valid until the next call. */
static bool parse(const char *text)
{
    const tw_text_source_t src = {(void *)text, read_text};
    g_model_free(&model);
    model = (g_model_t){.diags = &diags, .platform = &platform};
    diags = (tw_diags_t){0};
    return g_parse(&model, "g.txt", &src);
}

static void parse_ok(const char *text)
{
    if (!parse(text)) {
        fail_msg("%s\n%u:%u: %s", text, diags.rows[0].line, diags.rows[0].col, diags.rows[0].text);
    }
}

/* Some diagnostic of the last text says that. */
static bool said(const char *words)
{
    for (unsigned i = 0; i < diags.n; i++) {
        if (strstr(diags.rows[i].text, words) != NULL) {
            return true;
        }
    }
    return false;
}

static bool compile(const char *text, tw_graphc_out_t *out)
{
    const tw_text_source_t src = {(void *)text, read_text};
    *out = (tw_graphc_out_t){0};
    const bool ok = g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, out);
    diags = out->diags;
    return ok;
}

static const uint8_t *section(const tw_graphc_out_t *out, unsigned s)
{
    return out->image + tw_img_word(out->image, 0, TW_W_DIRECTORY + 2 * s);
}

/* ---- data lines ------------------------------------------------------------------------ */

typedef struct data_row {
    const char *seed, *lines;
    uint8_t n, bytes[40];
} data_row_t;

static void data_is(const data_row_t *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[400];
        (void)snprintf(text, sizeof text, "node arm_stream_filter 0\nnode_parameters\n1 u8; 0\n%s\n_end_\n_end_\n",
                       rows[i].lines);
        parse_ok(text);
        const g_node_t *node = &model.nodes[0];
        if (node->params_bytes != rows[i].n || memcmp(model.params + node->params_at, rows[i].bytes, rows[i].n) != 0) {
            fail_msg("%s: %s", rows[i].seed, rows[i].lines);
        }
    }
}

static void test_S0_L174_values_are_counted_and_the_rest_of_the_line_is_comment(void **state)
{
    (void)state;
    static const data_row_t rows[] = {
        {"L165 words behind the value", "1 u8;  7  TAG = \"all parameters\"", 1, {7}},
        {"L170", "1 u8; 2  Two biquads", 1, {2}},
        {"L174 commas, and one too many", "5 s16; 1, 2, 3, 4, -5,", 10, {1, 0, 2, 0, 3, 0, 4, 0, 0xFB, 0xFF}},
        {"L174 blanks", "2 s16; 1 2", 4, {1, 0, 2, 0}},
        {"L174 both, and numbers after the count", "2 s16; 1 ,2  3 4", 4, {1, 0, 2, 0}},
        {"L314 comment with its mark", "7 i8; 2 3 4 5 6 7 8 ; parameters", 7, {2, 3, 4, 5, 6, 7, 8}},
    };
    data_is(rows, TW_COUNT(rows));
}

static void test_S0_L303_a_colon_separates_like_a_semicolon(void **state)
{
    (void)state;
    static const data_row_t rows[] = {
        {"L142 as printed", "1 h16: C000", 2, {0, 0xC0}},
        {"L303", "2 i16: 0 1", 4, {0, 0, 1, 0}},
        {"L435 a blank before it", "2 i8 ; 2 3", 2, {2, 3}},
        {"a blank before the colon", "2 i8 : 2 3", 2, {2, 3}},
    };
    data_is(rows, TW_COUNT(rows));
}

static void test_S0_L355_types_of_data_lines(void **state)
{
    (void)state;
    static const data_row_t rows[] = {
        {"i8 and s8 are one type", "2 i8; -128 127\n2 s8; -128 127", 4, {0x80, 0x7F, 0x80, 0x7F}},
        {"u8, and its values in base 16", "2 u8; 255 0xFF", 2, {0xFF, 0xFF}},
        {"h8 is bare hexadecimal", "2 h8; ff 0x10", 2, {0xFF, 0x10}},
        {"L355 h16", "2 h16; 2002 0001", 4, {0x02, 0x20, 0x01, 0x00}},
        {"16 bits", "1 i16; -2\n1 s16; -2\n1 u16; 65534", 6, {0xFE, 0xFF, 0xFE, 0xFF, 0xFE, 0xFF}},
        {"32 bits",
         "1 i32; -2\n1 s32; -2\n1 u32; 4294967294",
         12,
         {0xFE, 0xFF, 0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF}},
        {"h32", "1 h32; 12345678", 4, {0x78, 0x56, 0x34, 0x12}},
        {"64 bits",
         "1 i64; -1\n1 u64; 0x8000000000000000",
         16,
         {255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0x80}},
        {"f32", "2 f32; 1.0 -0.5", 8, {0, 0, 0x80, 0x3F, 0, 0, 0, 0xBF}},
        {"L432 f64", "1 f64; 3.14159265359", 8, {0xEA, 0x2E, 0x44, 0x54, 0xFB, 0x21, 0x09, 0x40}},
    };
    data_is(rows, TW_COUNT(rows));
}

static void test_S0_L174_a_value_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "1 i8; 128", "1 u8; -1",    "1 u8; 256", "1 h8; 100", "1 s16; 9e9",
        "2 u8; 1",   "1 f32; 1e39", "1 x8; 0",   "1 u8 0",    "1 s64; 99999999999999999999"};
    for (size_t i = 0; i < TW_COUNT(lines); i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "node a 0\nnode_parameters\n1 u8; 0\n%s\n_end_\n_end_\n", lines[i]);
        if (parse(text)) {
            fail_msg("%s: taken", lines[i]);
        }
        assert_int_equal(diags.rows[0].line, 4);
    }
}

/* ---- blocks ------------------------------------------------------------------------------ */

static void test_S0_L146_a_block_ends_in_any_spelling_of_end(void **state)
{
    (void)state;
    static const char *const ends[] = {"_end_", "_end", "end", "end_", "_end_______", "____end____"};
    for (size_t i = 0; i < TW_COUNT(ends); i++) {
        char text[300];
        (void)snprintf(text, sizeof text, "node a 0\nnode_parameters\n1 u8; 0\n1 u8; 1\n%s\n%s\nnode b 0\n%s\n",
                       ends[i], ends[i], ends[i]);
        parse_ok(text);
        assert_int_equal(model.n_nodes, 2);
        assert_int_equal(diags.n, 0);
    }
}

/* L178-184 closes the first node with "= =" and begins the second. */
static void test_S0_L180_a_node_without_end_is_closed_by_the_next_record(void **state)
{
    (void)state;
    parse_ok("node a 0\nnode_preset 3\nnode b 1\nnode_preset 4\narc_section\n");
    assert_int_equal(model.n_nodes, 2);
    assert_int_equal(model.nodes[0].preset, 3);
    assert_int_equal(model.nodes[1].preset, 4);
    assert_int_equal(diags.n, 2);
    assert_true(diags.rows[0].warning && diags.rows[0].line == 1 && diags.rows[1].line == 3);
    assert_true(said("has no _end_"));
}

static void test_S0_L148_rules_of_dashes_and_equal_signs_are_drawing(void **state)
{
    (void)state;
    parse_ok("-----\n;-----\n= =\nnode a 0\n=====\n_end_\n----\n");
    assert_int_equal(model.n_nodes, 1);
    assert_int_equal(diags.n, 0);
}

static void test_S0_L204_tags_are_case_sensitive(void **state)
{
    (void)state;
    assert_false(parse("Graph_Location 0\n"));
    assert_true(said("graph_location"));
}

/* ---- control --------------------------------------------------------------------------- */

static void test_S0_L204_defaults_of_the_scheduler(void **state)
{
    (void)state;
    parse_ok(";\n");
    assert_int_equal(model.control.location, 0);     /* L208: all in RAM */
    assert_int_equal(model.control.debug_script, 0); /* L218 */
    assert_int_equal(model.control.sched_return, 3); /* L221 */
    assert_int_equal(model.control.processors, 1);   /* L222 */
    assert_int_equal(model.control.map_vid, 0);      /* L223 */
}

static void test_S0_L208_location_of_the_graph(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int location;
    } rows[] = {
        {"graph_location 0\n", 0},
        {"graph_location 1\n", 1},
        {"graph_location 2\n", 2},
        {"graph_location 3\n", 3},
        {"graph_locations -1 -1 -1 -1 -1 -1 -1\n", 3},
        {"graph_locations 0 0 0 0 0 0 0\n", 0},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        parse_ok(rows[i].text);
        assert_int_equal(model.control.location, rows[i].location);
    }
    assert_false(parse("graph_location 4\n"));
    parse_ok("graph_locations 0 -1 -1 -1 -1 -1 -1\n");
    assert_true(diags.n == 1 && diags.rows[0].warning); /* it cannot be told per section */
}

/* ---- formats ----------------------------------------------------------------------------- */

static void test_S0_L231_defaults_of_a_format(void **state)
{
    (void)state;
    parse_ok("format 0\n");
    const g_format_t *f = &model.formats[0];
    assert_int_equal(f->raw, 17);        /* L231: S16 */
    assert_int_equal(f->frame_bytes, 1); /* L232; the check of whole samples comes when it is used */
    assert_int_equal(f->interleave, 0);  /* L233 */
    assert_int_equal(f->channels, 1);    /* L234 */
    assert_int_equal(f->ts, 0);          /* L235 */
    assert_int_equal(f->ts_size, 0);     /* L236 */
    assert_int_equal(f->unit, 0);        /* L237 */
    assert_int_equal(f->domain, 0);      /* L254 */
    assert_true(f->rate == 0);           /* L255 */
    assert_int_equal(f->mapping, 0);     /* L256 */
}

static void test_S0_L231_a_raw_type_is_a_code_or_a_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned code;
    } rows[] = {{"17", 17}, {"S16", 17}, {"27", 27}, {"FP32", 27}, {"0", 0}, {"51", 51}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char text[80];
        (void)snprintf(text, sizeof text, "format 0\nformat_raw_data %s\n", rows[i].name);
        parse_ok(text);
        assert_int_equal(model.formats[0].raw, rows[i].code);
    }
    assert_false(parse("format 0\nformat_raw_data 52\n"));
}

/* The table has "float" beside the domain and "int" beside the rate: the columns are exchanged. */
static void test_S0_L254_the_domain_is_a_name_or_code_and_the_rate_a_number(void **state)
{
    (void)state;
    parse_ok("format 0\nformat_domain audio_in\nformat_sampling_rate 44100.5\n");
    assert_int_equal(model.formats[0].domain, 1);
    assert_true(model.formats[0].rate == 44100.5);
    parse_ok("format 0\nformat_domain 8\n");
    assert_int_equal(model.formats[0].domain, 8);
    assert_false(parse("format 0\nformat_domain 1.5\n"));
    assert_false(parse("format 0\nformat_domain 16\n"));
}

/* Two channels of 24 samples of 16 bits and a time stamp of 32 bits are 100 bytes, not 48. */
static void test_S0_L232_a_frame_is_all_channels_and_the_time_stamp(void **state)
{
    (void)state;
    static const char text[] =
        "format 0\nformat_nbchan 2\nformat_time_stamp 1\nformat_time_stamp_size 1\n"
        "format_frame_length 100\nformat_sampling_rate 48000\n"
        "stream_io 0\nstream_io_hwid 0\nstream_io 1\nstream_io_hwid 9\nnode arm_stream_split 0\n_end_\n"
        "arc_input 0 arm_stream_split 0 0 0\narc_output 1 arm_stream_split 0 1 0\n";
    tw_graphc_out_t out;
    if (!compile(text, &out)) {
        fail_msg("%s", diags.rows[0].text);
    }
    const uint8_t *f = section(&out, 1);
    assert_int_equal(tw_get_le32(f), 100);
    assert_int_equal(tw_get_le32(f + 28), 24); /* samples a channel */
    assert_non_null(strstr(out.report, "100"));
    tw_graphc_free(&out);
}

static void test_S0_L235_time_stamps_have_the_codes_of_the_text(void **state)
{
    (void)state;
    for (unsigned ts = 0; ts < 4; ts++) {
        for (unsigned size = 0; size < 4; size++) {
            char text[120];
            (void)snprintf(text, sizeof text, "format 0\nformat_time_stamp %u\nformat_time_stamp_size %u\n", ts, size);
            parse_ok(text);
            assert_int_equal(model.formats[0].ts, ts);
            assert_int_equal(model.formats[0].ts_size, size);
        }
    }
    assert_false(parse("format 0\nformat_time_stamp 4\n"));
    assert_false(parse("format 0\nformat_time_stamp_size 4\n")); /* L735 has four sizes, 3 is 64 bits too */
}

static void test_S0_L256_the_audio_mapping_is_18_loudspeaker_bits(void **state)
{
    (void)state;
    parse_ok("format 0\nformat_audio_mapping 0x3FFFF\n"); /* L756-774: FL is bit 0, TBR bit 17 */
    assert_int_equal(model.formats[0].mapping, 0x3FFFF);
    assert_false(parse("format 0\nformat_audio_mapping 0x40000\n"));
    parse_ok("format 0\nformat_motion_mapping 7\n"); /* L257 */
    assert_int_equal(model.formats[0].mapping, 7);
}

static void test_S0_L255_a_period_is_a_rate(void **state)
{
    (void)state;
    static const struct {
        const char *period;
        double rate;
    } rows[] = {{"s 0.5", 2}, {"ms 10", 100}, {"min 1", 1 / 60.0}, {"h 1", 1 / 3600.0}, {"day 7", 1 / 604800.0}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char text[80];
        (void)snprintf(text, sizeof text, "format 0\nformat_sampling_period %s\n", rows[i].period);
        parse_ok(text);
        assert_true(fabs(model.formats[0].rate - rows[i].rate) <= rows[i].rate * 1e-9);
    }
}

/* ---- IOs ----------------------------------------------------------------------------------- */

/* L267 and L271 list stream_io twice; that is one tag. */
static void test_S0_L267_stream_io_starts_a_record_with_defaults(void **state)
{
    (void)state;
    parse_ok("format 0\nstream_io 3\nstream_io 4\nstream_io_hwid 7\nstream_io_setting1 0x12 3\n");
    assert_int_equal(model.n_ios, 2);
    assert_int_equal(model.ios[0].id, 3);
    assert_int_equal(model.ios[0].format, 0);
    assert_int_equal(model.ios[1].hwid, 7);
    assert_int_equal(model.ios[1].setting[0], 0x12);
    assert_int_equal(model.ios[1].setting[1], 3);
    assert_int_equal(model.ios[1].setting[2], 0);
}

static void test_S0_L269_an_io_the_platform_does_not_have_is_refused(void **state)
{
    (void)state;
    tw_graphc_out_t out;
    assert_false(compile("format 0\n format_frame_length 8\nstream_io 0\n stream_io_hwid 55\n"
                         "stream_io 1\n stream_io_hwid 9\n" NODE ARCS,
                         &out));
    assert_true(said("55"));
    tw_graphc_free(&out);
}

/* ---- nodes ------------------------------------------------------------------------------- */

static void test_S0_L321_defaults_of_a_node(void **state)
{
    (void)state;
    parse_ok("node a 0\n_end_\n");
    const g_node_t *n = &model.nodes[0];
    assert_int_equal(n->preset, 0); /* L321: the 1 is an example */
    assert_int_equal(n->e[0], 0);   /* L322 */
    assert_int_equal(n->vid[0], 0); /* L323 */
    assert_int_equal(n->vid_given, 0);
    assert_int_equal(n->trace, 0); /* L328 */
    assert_int_equal(n->proc, 0);
    assert_int_equal(n->arch, 0);
    assert_int_equal(n->rtos, 0);
    assert_int_equal(n->verbose, 0);
    assert_int_equal(n->script, G_NONE); /* L333 */
    assert_false(n->has_params);         /* L308 */
    assert_false(parse("node a 0\nnode_preset 64\n_end_\n"));
}

static void test_S0_L322_E_goes_to_block_0_unless_told(void **state)
{
    (void)state;
    parse_ok("node a 0\nnode_malloc_E 12\n_end_\nnode a 1\nnode_malloc_E 12 2\n_end_\n");
    assert_int_equal(model.nodes[0].e[0], 12);
    assert_int_equal(model.nodes[1].e[0], 0);
    assert_int_equal(model.nodes[1].e[2], 12);
}

/* 0 is a script and none is none: the image holds the number plus one in 7 bits. */
static void test_S0_L333_scripts_of_nodes_are_0_to_126(void **state)
{
    (void)state;
    parse_ok("script 0\nscript_code\n1 h16; C000\n_end_\n_end_\nnode a 0\nnode_script 0\n_end_\n"
             "node a 1\nnode_script -1\n_end_\n");
    assert_int_equal(model.nodes[0].script, 0);
    assert_int_equal(model.nodes[1].script, G_NONE);
    assert_false(parse("node a 0\nnode_script 127\n_end_\n"));
    assert_true(said("126"));
}

/* The first byte is the TAG (L312, L379); 0 means all and is 256 for the node. */
static void test_S0_L379_the_first_byte_of_parameters_is_the_tag(void **state)
{
    (void)state;
    parse_ok("node a 0\nnode_parameters\n1 u8; 0\n1 u8; 9\n_end_\n_end_\n"
             "node a 1\nnode_parameters\n1 i8; 5\n2 i8; 7 8\n_end_\n_end_\n"
             "node a 2\nnode_parameters\n8 i8; 0 2 3 4 5 6 7 8\n_end_\n_end_\n");
    assert_int_equal(model.nodes[0].tag, 256);
    assert_int_equal(model.nodes[0].params_bytes, 1);
    assert_int_equal(model.nodes[1].tag, 5);
    assert_int_equal(model.nodes[1].params_bytes, 2);
    assert_int_equal(model.nodes[2].params_bytes, 7);
    assert_int_equal(model.nodes[1].params_at % 4, 0); /* L309: on addresses of 32 bits */
    assert_int_equal(model.nodes[2].params_at % 4, 0);
}

/* ---- arcs ----------------------------------------------------------------------------------- */

/* "node1 1 2 0  node2 3 4 1": instance, port, format, of the producer and then of the consumer. */
static void test_S0_L451_numbers_of_an_arc_are_instance_port_format(void **state)
{
    (void)state;
    parse_ok("format 0\nformat 1\nnode node1 1\n_end_\nnode node2 3\n_end_\narc node1 1 2 0 node2 3 4 1\n");
    const g_arc_t *a = &model.arcs[0];
    assert_int_equal(a->from.inst, 1);
    assert_int_equal(a->from.port, 2);
    assert_int_equal(a->from.format, 0);
    assert_int_equal(a->to.inst, 3);
    assert_int_equal(a->to.port, 4);
    assert_int_equal(a->to.format, 1);
}

static void test_S0_L453_defaults_of_an_arc(void **state)
{
    (void)state;
    parse_ok("format 0\nnode a 0\n_end_\nnode b 0\n_end_\narc a 0 1 0 b 0 0 0\n");
    const g_arc_t *a = &model.arcs[0];
    assert_int_equal(a->underflow, 0);
    assert_int_equal(a->overflow, 0);
    assert_false(a->by_domain);
    assert_int_equal(a->debug_cmd, 0);
    assert_int_equal(a->debug_reg, 0);
    assert_int_equal(a->debug_page, 0);
    assert_int_equal(a->flush, 0);
    assert_int_equal(a->vid, 0);
    assert_true(a->jitter == 1.0); /* L460 */
    assert_int_equal(a->delay, 0);
    assert_false(a->crumbs);
}

/* One 1 is "something depending on domain"; two numbers are the codes of 2 + 2 bits. */
static void test_S0_L453_a_flow_error_of_1_follows_the_domain(void **state)
{
    (void)state;
    static const struct {
        const char *domain, *line;
        uint32_t underflow, overflow;
    } rows[] = {
        {"audio_in", "arc_flow_error 1", 2, 1},   {"audio_out", "arc_flow_error 1", 2, 1},
        {"general", "arc_flow_error 1", 1, 2},    {"gpio_out", "arc_flow_error 1", 1, 2},
        {"audio_in", "arc_flow_error 3 2", 3, 2}, {"general", "arc_flow_error 0", 0, 0},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       "format 0\nformat_frame_length 8\nformat_domain %s\nstream_io 0\nstream_io_hwid 0\nstream_io 1\n"
                       "stream_io_hwid 9\nscript 0\nscript_code\n1 h16; C000\n_end_\n_end_\n" NODE
                       "arc_input 0 arm_stream_amplifier 0 0 0\n%s\n%s"
                       "arc_output 1 arm_stream_amplifier 0 1 0\n",
                       rows[i].domain, rows[i].line, rows[i].underflow == 3 ? "arc_script 0\n" : "");
        tw_graphc_out_t out;
        if (!compile(text, &out)) {
            fail_msg("%s: %s", rows[i].line, diags.rows[0].text);
        }
        const uint32_t a4 = tw_get_le32(section(&out, 4) + 16);
        assert_int_equal(a4 & 3, rows[i].underflow);
        assert_int_equal(a4 >> 2 & 3, rows[i].overflow);
        tw_graphc_free(&out);
    }
}

static void test_S0_L456_page_and_register_make_one_index(void **state)
{
    (void)state;
    tw_graphc_out_t out;
    assert_true(compile(IO NODE "arc_input 0 arm_stream_amplifier 0 0 0\narc_debug_cmd 1\narc_debug_reg 3\n"
                                "arc_debug_page 2\narc_output 1 arm_stream_amplifier 0 1 0\n",
                        &out));
    const uint32_t a4 = tw_get_le32(section(&out, 4) + 16);
    assert_int_equal(a4 >> 10 & 63, 1);
    assert_int_equal(a4 >> 16 & 255, 2 * 16 + 3);
    tw_graphc_free(&out);
}

static void test_S0_L458_extended_addresses_are_taken_and_ignored(void **state)
{
    (void)state;
    parse_ok(IO NODE ARCS "arc_extend_addr 1\n");
    assert_true(diags.n == 1 && diags.rows[0].warning);
}

/* Frames of 8 bytes: the factor is rounded up to bytes, those up to a multiple of 4, and it is never under a frame. */
static void test_S0_L460_a_buffer_is_the_factor_of_the_larger_frame(void **state)
{
    (void)state;
    static const struct {
        const char *jitter;
        uint32_t bytes;
    } rows[] = {{"1.0", 8}, {"1.5", 12}, {"1.51", 16}, {"2", 16}, {"0.1", 8}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       IO NODE "arc_input 0 arm_stream_amplifier 0 0 0\narc_jitter_ctrl %s\n"
                               "arc_output 1 arm_stream_amplifier 0 1 0\n",
                       rows[i].jitter);
        tw_graphc_out_t out;
        assert_true(compile(text, &out));
        assert_int_equal(tw_get_le32(section(&out, 4) + 8), rows[i].bytes);
        tw_graphc_free(&out);
    }
}

/* The node's only transmit arc "is always empty" (L341): one that begins and ends at it, which nobody declares. */
static void test_S0_L341_a_script_node_has_a_lock_arc(void **state)
{
    (void)state;
    tw_graphc_out_t out;
    if (!compile(IO NODE ARCS "node arm_stream_script 1\nscript_code\n1 h16; C000\n_end_\n_end_\n", &out)) {
        fail_msg("%s", diags.rows[0].text);
    }
    assert_int_equal(tw_img_word(out.image, 0, 12), 2u << 16 | 3);
    const uint8_t *lock = section(&out, 4) + 2 * 32;
    assert_int_equal(tw_get_le32(lock + 8), 8);
    const uint32_t a3 = tw_get_le32(lock + 12);
    assert_int_equal(a3 & 0xFFF, a3 >> 12 & 0xFFF);
    tw_graphc_free(&out);
}

/* Nothing is said of loops: they need an arc that holds frames at reset. */
static void test_S0_L447_a_loop_needs_a_delay(void **state)
{
    (void)state;
    tw_graphc_out_t out;
    assert_false(compile(
        "format 0\nformat_frame_length 8\nnode arm_stream_amplifier 0\n_end_\nnode arm_stream_amplifier 1\n_end_\n"
        "arc arm_stream_amplifier 0 1 0 arm_stream_amplifier 1 0 0\n"
        "arc arm_stream_amplifier 1 1 0 arm_stream_amplifier 0 0 0\n",
        &out));
    assert_true(said("arc_delay"));
    tw_graphc_free(&out);
}

static int set_up(void **state)
{
    (void)state;
    tw_diags_t d = {0};
    return tw_platform_read(&platform, PLATFORM, &d) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    g_model_free(&model);
    tw_platform_free(&platform);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L174_values_are_counted_and_the_rest_of_the_line_is_comment),
        cmocka_unit_test(test_S0_L303_a_colon_separates_like_a_semicolon),
        cmocka_unit_test(test_S0_L355_types_of_data_lines),
        cmocka_unit_test(test_S0_L174_a_value_that_does_not_fit_is_refused),
        cmocka_unit_test(test_S0_L146_a_block_ends_in_any_spelling_of_end),
        cmocka_unit_test(test_S0_L180_a_node_without_end_is_closed_by_the_next_record),
        cmocka_unit_test(test_S0_L148_rules_of_dashes_and_equal_signs_are_drawing),
        cmocka_unit_test(test_S0_L204_tags_are_case_sensitive),
        cmocka_unit_test(test_S0_L204_defaults_of_the_scheduler),
        cmocka_unit_test(test_S0_L208_location_of_the_graph),
        cmocka_unit_test(test_S0_L231_defaults_of_a_format),
        cmocka_unit_test(test_S0_L231_a_raw_type_is_a_code_or_a_name),
        cmocka_unit_test(test_S0_L254_the_domain_is_a_name_or_code_and_the_rate_a_number),
        cmocka_unit_test(test_S0_L232_a_frame_is_all_channels_and_the_time_stamp),
        cmocka_unit_test(test_S0_L235_time_stamps_have_the_codes_of_the_text),
        cmocka_unit_test(test_S0_L256_the_audio_mapping_is_18_loudspeaker_bits),
        cmocka_unit_test(test_S0_L255_a_period_is_a_rate),
        cmocka_unit_test(test_S0_L267_stream_io_starts_a_record_with_defaults),
        cmocka_unit_test(test_S0_L269_an_io_the_platform_does_not_have_is_refused),
        cmocka_unit_test(test_S0_L321_defaults_of_a_node),
        cmocka_unit_test(test_S0_L322_E_goes_to_block_0_unless_told),
        cmocka_unit_test(test_S0_L333_scripts_of_nodes_are_0_to_126),
        cmocka_unit_test(test_S0_L379_the_first_byte_of_parameters_is_the_tag),
        cmocka_unit_test(test_S0_L451_numbers_of_an_arc_are_instance_port_format),
        cmocka_unit_test(test_S0_L453_defaults_of_an_arc),
        cmocka_unit_test(test_S0_L453_a_flow_error_of_1_follows_the_domain),
        cmocka_unit_test(test_S0_L456_page_and_register_make_one_index),
        cmocka_unit_test(test_S0_L458_extended_addresses_are_taken_and_ignored),
        cmocka_unit_test(test_S0_L460_a_buffer_is_the_factor_of_the_larger_frame),
        cmocka_unit_test(test_S0_L341_a_script_node_has_a_lock_arc),
        cmocka_unit_test(test_S0_L447_a_loop_needs_a_delay),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
