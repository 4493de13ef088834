/* The way back: what the decompiler prints compiles to the same image, and no image makes it read out of bounds. */
#include "engine/base/crc.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"

static tw_platform_t platform;

/* Used as a sub-graph by some texts. */
static const char sub[] = "format 0\n format_frame_length 96\n format_sampling_rate 48000\n"
                          "script 0\n script_code\n1 h16; C000\n_end_\n_end_\n"
                          "node arm_stream_filter 0\n node_map_hwblock 0 1\n node_script 0\n_end_\n"
                          "arc_input 1 arm_stream_filter 0 0 0\narc_output 2 arm_stream_filter 0 1 0\n";

static char *read_text(void *ctx, const char *path, size_t *n)
{
    const char *text = strcmp(path, "sub.txt") == 0 ? sub : ctx;
    *n = strlen(text);
    char *copy = malloc(*n + 1);
    memcpy(copy, text, *n);
    return copy;
}

static bool compile_text(char *text, const tw_graphc_opts_t *opts, tw_graphc_out_t *out)
{
    const tw_text_source_t src = {text, read_text};
    *out = (tw_graphc_out_t){0};
    return g_compile("g.txt", opts, &platform, &src, out);
}

static void show(const char *why, const tw_diags_t *d)
{
    for (unsigned i = 0; i < d->n; i++) {
        print_error("%s: %s:%u:%u %s\n", why, d->rows[i].file, d->rows[i].line, d->rows[i].col, d->rows[i].text);
    }
}

/* compile(decompile(image)) == image. */
static void comes_back(const char *why, const tw_graphc_out_t *first)
{
    static tw_diags_t d;
    char *text = NULL, *again = NULL;
    tw_graphc_out_t second;
    d = (tw_diags_t){0};
    if (!tw_decompile(first->image, first->bytes, &platform, 0, &text, &d) || d.n != 0) {
        show(why, &d);
        fail_msg("%s does not decompile", why);
    }
    const bool compact = tw_img_word(first->image, 0, TW_W_CATALOGUE) != 0;
    if (!compile_text(text, &(tw_graphc_opts_t){.compact = compact}, &second)) {
        show(why, &second.diags);
        fputs(text, stderr);
        fail_msg("%s does not compile again", why);
    }
    if (first->bytes != second.bytes || memcmp(first->image, second.image, first->bytes) != 0) {
        uint32_t at = 4 * TW_W_UID; /* checksums differ anyhow */
        while (at < tw_min_u32(first->bytes, second.bytes) && first->image[at] == second.image[at]) {
            at++;
        }
        fputs(text, stderr);
        fail_msg("%s: %u and %u bytes, other at %#x", why, first->bytes, second.bytes, at);
    }
    assert_true(tw_decompile(second.image, second.bytes, &platform, 0, &again, &d));
    assert_string_equal(text, again);
    free(text);
    free(again);
    tw_graphc_free(&second);
}

/* Those in `found` that the platform can take; the others are parts, script texts, or for another platform. */
static unsigned those_that_compile(const glob_t *found, const char *top)
{
    unsigned back = 0;
    tw_diags_t *d = calloc(1, sizeof *d);
    const tw_platform_t computer = platform;
    assert_true(tw_platform_read(&platform, top, d));
    for (size_t i = 0; i < 2 * found->gl_pathc; i++) {
        tw_graphc_out_t out;
        const tw_graphc_opts_t opts = {.sequence = 7 * (uint32_t)i, .platform = top, .compact = i % 2 != 0};
        if (tw_graphc(found->gl_pathv[i / 2], &opts, &out)) {
            comes_back(found->gl_pathv[i / 2], &out);
            back++;
        }
        tw_graphc_free(&out);
    }
    tw_platform_free(&platform);
    platform = computer;
    free(d);
    return back;
}

static void every_example_comes_back(void **state)
{
    (void)state;
    glob_t graphs, platforms;
    unsigned back = 0;
    assert_int_equal(glob("examples/*.txt", 0, NULL, &graphs), 0);
    assert_int_equal(glob("examples/platform*/top_manifest*.txt", 0, NULL, &platforms), 0);
    for (size_t i = 0; i < platforms.gl_pathc; i++) {
        back += those_that_compile(&graphs, platforms.gl_pathv[i]);
    }
    globfree(&graphs);
    globfree(&platforms);
    assert_true(back >= 6);
}

#define CORPUS "../shared/corpus/graphs/GRAPH_INTERPRETER@"

/* Texts of several years, on our platform: those whose nodes and IOs it has compile. */
static void public_graphs_that_compile_come_back(void **state)
{
    (void)state;
    static const char *const files[] = {
        CORPUS "31fd022_2023-12-16/stream_graph/graph_0.txt",
        CORPUS "31fd022_2023-12-16/stream_graph/graph_1.txt",
        CORPUS "31fd022_2023-12-16/stream_tools/graph_1.txt",
        CORPUS "f152d82_2024-02-25/stream_platform/windows/graph_0.txt",
        CORPUS "f152d82_2024-02-25/stream_platform/windows/graph_1.txt",
        CORPUS "cc81572_2024-05-23/stream_platform/windows/graph_0.txt",
        CORPUS "cc81572_2024-05-23/stream_platform/windows/graph_1.txt",
    };
    unsigned back = 0;
    FILE *f = fopen(files[0], "rb");
    if (f == NULL) {
        print_message("no public graphs beside this folder\n");
        skip();
    }
    (void)fclose(f);
    for (size_t i = 0; i < TW_COUNT(files); i++) {
        tw_graphc_out_t out;
        if (tw_graphc(files[i], &(tw_graphc_opts_t){.platform = PLATFORM}, &out)) {
            comes_back(files[i], &out);
            back++;
        }
        tw_graphc_free(&out);
    }
    assert_true(back > 0);
}

/* ---- whatever the language can say --------------------------------------------------- */

#define IO                                                             \
    "format 0\n format_frame_length 96\n format_sampling_rate 48000\n" \
    "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\n"
#define AMP "node arm_stream_amplifier 0\n_end_\n"
#define ENDS "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier 0 1 0\n"
#define TWO "node arm_stream_amplifier 0\n_end_\nnode arm_stream_filter 0\n_end_\n"
#define MIXER                                                              \
    "node arm_stream_mixer 0\n_end_\narc_input 0 arm_stream_mixer 0 0 0\n" \
    "arc_output 1 arm_stream_mixer 0 8 0\n"
#define EIGHT " 8 s16; 1 2 3 4 5 6 7 -8\n"
#define FRAME48 " arc_parameters\n" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "_end_\n"
#define ZEROS48                                                                   \
    " arc_parameters\n 24 s16; 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" \
    " 24 s16; 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n_end_\n"
#define CHAIN                                  \
    "arc_input 0 arm_stream_amplifier 0 0 0\n" \
    "arc arm_stream_amplifier 0 1 0 arm_stream_filter 0 0 0\narc_output 1 arm_stream_filter 0 1 0\n"

static const struct {
    const char *why, *text, *says; /* what the decompiled text must have, NULL anything */
} cases[] = {
    {"names",
     "graph_name G.1\n" IO "stream_io 2\n stream_io_hwid 0\n stream_io_name mic/1\n"
     "node arm_stream_amplifier 0\n node_name front\n_end_\nnode arm_stream_amplifier 1\n_end_\n" ENDS
     " arc_name last\narc_input 2 arm_stream_amplifier 1 0 0\nstream_io 3\n stream_io_hwid 9\n"
     "arc_output 3 arm_stream_amplifier 1 1 0\n",
     "    arc_name last\n"},
    {"two arcs of one name",
     IO "stream_io 2\n stream_io_hwid 0\nstream_io 3\n stream_io_hwid 9\n"
        "node arm_stream_amplifier 0\n node_name aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n_end_\n"
        "node arm_stream_amplifier 1\n node_name bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n_end_\n"
        "node arm_stream_amplifier 2\n node_name ccccccccccccccccccccccccccccccc\n_end_\n"
        "node arm_stream_amplifier 3\n node_name bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb2\n_end_\n"
        "arc_input 0 arm_stream_amplifier 0 0 0\narc arm_stream_amplifier 0 1 0 arm_stream_amplifier 1 0 0\n"
        "arc_output 1 arm_stream_amplifier 1 1 0\narc_input 2 arm_stream_amplifier 2 0 0\n"
        "arc arm_stream_amplifier 2 1 0 arm_stream_amplifier 3 0 0\narc_output 3 arm_stream_amplifier 3 1 0\n",
     NULL},
    {"control",
     "graph_location 3\nscheduler_return 2\ndebug_script_fields 21\nallowed_processors 3\n" IO
     "script 0\n script_code\n1 h16; C000\n_end_\n_end_\n" AMP ENDS,
     "debug_script_fields 21\n"},
    {"place of an IO without a buffer",
     "format 0\n format_frame_length 96\n format_sampling_rate 48000\nstream_io 0\n stream_io_hwid 4\n"
     " stream_io_map_at 0 8192\nstream_io 1\n stream_io_hwid 6\n" AMP ENDS,
     "    stream_io_map_at 0 8192\n"},
    {"sequence", "graph_sequence 4294967295\n" IO AMP ENDS, "graph_sequence 4294967295\n"},
    {"a flattened text", "graph_subgraphs 7\n" IO AMP ENDS, "graph_subgraphs 7\n"},
    {"format of everything",
     "format 0\n format_raw_data FP32\n format_frame_length 392\n format_nbchan 2\n format_interleaving 0\n"
     " format_time_stamp 2\n format_time_stamp_size 2\n format_sdomain dB\n format_domain audio_in\n"
     " format_sampling_rate 44100.5\n format_audio_mapping 3\nformat 1\n format_domain 2d_in\n format_2d_height 480\n"
     " format_2d_width 640\n format_2d_border 2\n format_frame_length 4\n format_nbchan 2\n format_interleaving "
     "1\nformat 2\n format_domain motion\n"
     " format_motion_mapping 5\n format_frame_length 2\n"
     "stream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 9\nnode arm_stream_split 0\n_end_\n"
     "arc_input 0 arm_stream_split 0 0 0\narc_output 1 arm_stream_split 0 1 0\n",
     "    format_sampling_rate 44100.5\n"},
    {"a period",
     "format 0\n format_frame_length 2\n format_sampling_period h 3\nstream_io 0\n stream_io_hwid 0\n"
     "stream_io 1\n stream_io_hwid 9\n" AMP ENDS,
     NULL},
    {"settings of an IO without options",
     "format 0\n format_frame_length 96\n format_sampling_rate 48000\nstream_io 0\n stream_io_hwid 4\n"
     "stream_io 1\n stream_io_hwid 9\n stream_io_setting1 1 2 0xFFFFFFFF\n" AMP ENDS,
     "stream_io_setting1 0x1 0x2 0xFFFFFFFF\n"},
    {"settings of an IO with options that are all the first", IO " stream_io_setting1 0\n" AMP ENDS,
     "stream_io_setting1 0x0\n"},
    {"settings of an IO with options", IO " stream_io_setting1 5\n" AMP ENDS, "stream_io_setting1 0x5\n"},
    {"set buffer", IO AMP "arc_input 0 arm_stream_amplifier 0 0 0 0 0 H\narc_output 1 arm_stream_amplifier 0 1 0\n",
     "arc_input 0 arm_stream_amplifier 0 0 0 0 0 H\n"},
    {"node tags",
     IO "node arm_stream_amplifier 0\n node_preset 2\n node_map_rtos 3\n node_map_verbose 1\n"
        " node_trace_id 1\n node_malloc_E 100 0\n_end_\n" ENDS,
     "    node_preset 2\n"},
    {"memory elsewhere",
     IO "node arm_stream_amplifier 0\n node_map_hwblock 0 1\n_end_\n" ENDS " arc_map_hwblock 1\n arc_jitter_ctrl 3.3\n",
     "node_map_at 0 1 0 "},
    {"parts of a bank",
     "memory_mapping 1 100 32768 16384\nmemory_mapping 1 101 49152 4096\n" IO
     "node arm_stream_filter 0\n node_map_hwblock 0 100\n node_map_hwblock 1 101\n_end_\n"
     "arc_input 0 arm_stream_filter 0 0 0\narc_output 1 arm_stream_filter 0 1 0\n arc_map_hwblock 100\n",
     NULL},
    {"one parameter", IO "node arm_stream_amplifier 0\nnode_parameters\n1 u8; 7\n1 f32; 0.1\n_end_\n_end_\n" ENDS,
     "        1 f32; 0.1    ; gain_linear\n"},
    {"all parameters",
     IO "node arm_stream_amplifier 0\nnode_parameters\n1 u8; 0\n1 u8; 3\n1 u16; 0x805\n_end_\n_end_\n" ENDS,
     "        1 u16; 2053    ; gain\n"},
    {"an unstable filter",
     IO "node arm_stream_filter 0\nnode_parameters\n1 u8; 0\n1 u8; 2\n1 i8; 1\n"
        "5 i16; 9315 14928 9315 25576 -11147\n5 i16; 9315 5736 9315 9328 -26591\n_end_\n_end_\n"
        "arc_input 0 arm_stream_filter 0 0 0\narc_output 1 arm_stream_filter 0 1 0\n",
     "; biquad1\n"},
    {"arc tags",
     IO AMP ENDS " arc_flow_error 2 1\n arc_debug_cmd 5\n arc_debug_reg 3\n arc_debug_page 2\n arc_flush 3\n"
                 " arc_crumbs 2 3\n mem_fill_pattern 0xDEADBEEF\n",
     "    mem_fill_pattern 0xDEADBEEF\n"},
    {"fill of everything", "memory_fill 0xA5A5A5A5\n" IO AMP ENDS, "memory_fill 0xA5A5A5A5\n"},
    {"flow error by domain", IO AMP ENDS " arc_flow_error 1\n", "    arc_flow_error "},
    {"a script for a flow error",
     IO "script 0\n script_code\n1 h16; C000\n_end_\n_end_\n" AMP ENDS " arc_flow_error 3 0\n arc_script 0\n",
     "    arc_script 0\n"},
    {"a loop",
     IO TWO "arc_input 0 arm_stream_amplifier 0 0 0\narc arm_stream_amplifier 0 1 0 arm_stream_filter 0 0 0\n"
            " arc_delay 3\narc_output 1 arm_stream_filter 0 1 0\n",
     "    arc_delay 3\n"},
    {"what a buffer holds",
     IO TWO CHAIN
     " arc_delay 2\n arc_parameters\n2 s16; 1 -1\n46 u16; 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
     "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 7\n_end_\n",
     "    arc_parameters\n        16 h8; 01 00 FF FF"},
    {"contents between delays",
     IO TWO
     "arc_input 0 arm_stream_amplifier 0 0 0\n arc_delay 1\narc arm_stream_amplifier 0 1 0 arm_stream_filter 0 0 0\n"
     " arc_delay 1\n arc_parameters\n48 u16; 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1\n_end_\narc_output 1 arm_stream_filter 0 1 0\n arc_delay 3\n",
     NULL},
    {"a sub-graph twice",
     IO "stream_io 2\n stream_io_hwid 0\nstream_io 3\n stream_io_hwid 9\n"
        "subgraph left 0 sub.txt\n 2 i16; 0 1\n 1 i16; 0\n_end_\nsubgraph right 0 sub.txt\n 2 i16; 2 3\n 1 i16; "
        "1\n_end_\n",
     "    node_name right.filter.0\n"},
    {"a traced node", IO "graph_trace_io 1\ngraph_trace_level 1\ngraph_trace_node arm_stream_amplifier 0\n" AMP ENDS,
     "    node_map_verbose 1\n    node_trace_id 1\n"},
    {"a debug script that is not the first",
     "debug_script_fields 4\ndebug_script 1\n" IO "script 0\n script_code\n1 h16; C000\n_end_\n_end_\n"
     "script 1\n script_code\n2 h16; C000 C000\n_end_\n_end_\n" AMP ENDS,
     NULL},
    {"parameters of a script",
     IO "script 0\n script_code\n1 h16; C000\n_end_\nnode_parameters 5\n3 u8; 1 2 3\n_end_\n_end_\n" AMP ENDS, NULL},
    {"delays share their zeros", IO TWO CHAIN " arc_delay 2\n", NULL},
    {"script tags",
     IO "script 0\n script_name go\n script_registers 4\n script_pointers 1\n script_stack 9\n"
        " script_mem_shared 1\n script_heap 40\n script_budget 65535\n script_code\n1 h16; C000\n_end_\n_end_\n"
        "node arm_stream_amplifier 0\n node_script 0\n_end_\n" ENDS,
     "    script_budget 65535\n"},
    {"literals",
     IO "script 0\n script_code\n1 h16; C000\n3 u8; 1 2 3\n1 f64; -2.5\n2 s32; -1 7\n1 f32; 1e-30\n_end_\n_end_\n" AMP
         ENDS,
     "        1 f64; -2.5    ; #65\n"},
    {"literals of the assembler", IO "script 0\n script_assembler\n movi int16 r0 1\n ret\n_end_\n_end_\n" AMP ENDS,
     NULL},
    {"a pool as it is",
     IO "script 0\n script_pool\n7 h8; 07 05 01 00 00 01 00\n_end_\n script_code\n1 h16; C000\n_end_\n_end_\n" AMP ENDS,
     "    script_pool\n        7 h8; 07 05 01 00 00 01 00\n"},
    {"script nodes out of order",
     IO TWO "node arm_stream_script 1\n script_code\n2 h16; C000 C000\n_end_\n_end_\n"
            "node arm_stream_script 0\n script_name own\n script_code\n1 h16; C000\n1 f32; 1\n_end_\n_end_\n" CHAIN,
     "arc arm_stream_script 0 0 1 arm_stream_script 0 0 1\n"},
    {"nodes declared backwards",
     IO "node arm_stream_filter 0\nnode_parameters\n1 u8; 1\n1 u8; 1\n_end_\n_end_\n"
        "node arm_stream_amplifier 0\nnode_parameters\n1 u8; 2\n1 u16; 5\n_end_\n_end_\n" CHAIN,
     NULL},
    {"a converter",
     IO "format 1\n format_raw_data FP32\n format_frame_length 128\n format_sampling_rate 16000\n" TWO
        "arc_input 0 arm_stream_amplifier 0 0 0\narc arm_stream_amplifier 0 1 0 arm_stream_filter 0 0 1\n"
        "arc_output 1 arm_stream_filter 0 1 1\n",
     "node arm_stream_converter 0\n"},
    {"a split", IO "stream_io 2\n stream_io_hwid 9\n" AMP ENDS "arc_output 2 arm_stream_amplifier 0 1 0\n",
     "node arm_stream_split 0\n"},
    {"constants", IO MIXER "arc_constant arm_stream_mixer 0 1 0\n" FRAME48,
     "arc_constant arm_stream_mixer 0 1 0\n    arc_map_hwblock 0\n    arc_parameters\n"},
    {"constants of zeros, and a name",
     IO MIXER "arc_constant arm_stream_mixer 0 1 0\n" ZEROS48
              "arc_constant arm_stream_mixer 0 2 0\n arc_name bias\n" FRAME48,
     "arc_name bias\n"},
};

static void a_constant_has_contents_and_no_buffer(void **state)
{
    (void)state;
#define CONSTANT "arc_constant arm_stream_mixer 0 1 0\n"
    static const struct {
        const char *text, *says;
    } rows[] = {
        {IO MIXER CONSTANT, "needs arc_parameters"},
        {IO MIXER CONSTANT " arc_parameters\n 3 s16; 5 6 7\n_end_\n",
         "6 bytes are no whole number of the reader's frames"},
        {IO MIXER CONSTANT FRAME48 " arc_delay 1\n", "has no buffer"},
        {IO MIXER CONSTANT FRAME48 " arc_ring 1\n", "has no buffer"},
        {IO MIXER CONSTANT FRAME48 " arc_jitter_ctrl 2\n", "has no buffer"},
        {IO MIXER CONSTANT FRAME48 " arc_map_at 0 0\n", "has no buffer"},
        {IO MIXER CONSTANT FRAME48 " arc_flow_error 1 1\n", "has no buffer"},
        {IO MIXER "arc_constant arm_stream_mixer 0 8 0\n" FRAME48, "here it would consume"},
        {IO MIXER "arc_constant arm_stream_mixer 0 0 0\n" FRAME48, "connected already"},
        {IO MIXER "arc_constant arm_stream_mixer 7 0 0\n" FRAME48, "arm_stream_mixer 7"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        static char text[4096];
        tw_graphc_out_t out;
        bool said = false;
        snprintf(text, sizeof text, "%s", rows[i].text);
        assert_false(compile_text(text, &(tw_graphc_opts_t){0}, &out));
        for (unsigned k = 0; k < out.diags.n; k++) {
            said = said || strstr(out.diags.rows[k].text, rows[i].says) != NULL;
        }
        if (!said) {
            show(rows[i].says, &out.diags);
            fail_msg("row %zu does not say '%s'", i, rows[i].says);
        }
        tw_graphc_free(&out);
    }
}

/* Columns are the formatter's: runs of blanks behind the indentation count as one. */
static char *squeeze(const char *text)
{
    char *to = malloc(strlen(text) + 1), *q = to;
    bool indent = true;
    for (const char *p = text; *p != 0; p++) {
        if (*p != ' ' || indent || p[-1] != ' ') {
            *q++ = *p;
        }
        indent = *p == '\n' || (indent && *p == ' ');
    }
    *q = 0;
    return to;
}

static void expect_text(const char *why, const char *back, const char *says)
{
    char *text = squeeze(back), *want = squeeze(says);
    if (strstr(text, want) == NULL) {
        fputs(back, stderr);
        fail_msg("%s: no '%s'", why, says);
    }
    free(text);
    free(want);
}

static void everything_the_language_says_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        static char text[8192];
        tw_graphc_out_t out;
        tw_diags_t *d = calloc(1, sizeof *d);
        char *back = NULL;
        snprintf(text, sizeof text, "%s", cases[i].text);
        if (!compile_text(text, &(tw_graphc_opts_t){0}, &out)) {
            show(cases[i].why, &out.diags);
            fail_msg("%s does not compile", cases[i].why);
        }
        comes_back(cases[i].why, &out);
        assert_true(tw_decompile(out.image, out.bytes, &platform, 0, &back, d));
        if (cases[i].says != NULL) {
            expect_text(cases[i].why, back, cases[i].says);
        }
        free(back);
        free(d);
        tw_graphc_free(&out);
    }
}

/* ---- random graphs --------------------------------------------------------------------- */

static uint32_t seed;

static uint32_t dice(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

typedef struct writer {
    char v[1 << 16];
    size_t n;
} writer_t;

__attribute__((format(printf, 2, 3))) static void say(writer_t *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(w->v + w->n, sizeof w->v - w->n, fmt, ap);
    va_end(ap);
    w->n += (size_t)n;
    assert_true(w->n < sizeof w->v);
}

static const char *const types[] = {"amplifier", "filter", "detector"};

static void say_formats(writer_t *w)
{
    static const unsigned frames[] = {96, 192, 48};
    for (unsigned i = 0; i < 4; i++) {
        const bool f32 = dice(3) == 0;
        say(w, "format %u\n format_raw_data %s\n format_frame_length %u\n format_sampling_rate %u\n", i,
            f32 ? "FP32" : "S16", frames[dice(3)] * (f32 ? 2 : 1), dice(4) == 0 ? 16000u : 48000u);
    }
}

static void say_node(writer_t *w, unsigned type, unsigned inst)
{
    say(w, "node arm_stream_%s %u\n", types[type], inst);
    if (dice(3) == 0) {
        say(w, " node_name n%u.%s\n", inst, types[type]);
    }
    if (dice(4) == 0) {
        say(w, " node_map_rtos %u\n", dice(4));
    }
    if (dice(4) == 0) {
        say(w, " node_malloc_E %u\n", dice(300));
    }
    if (dice(4) == 0) {
        say(w, " node_script %u\n", dice(2));
    }
    if (type == 0 && dice(2) == 0) {
        say(w, "node_parameters\n1 u8; 2\n1 u16; %u\n_end_\n", dice(4096));
    }
    if (type == 1 && dice(5) == 0) {
        say(w, " node_map_hwblock 0 1\n");
    }
    say(w, "_end_\n");
}

static void say_arc_tags(writer_t *w)
{
    if (dice(4) == 0) {
        say(w, " arc_jitter_ctrl %u.%u\n", 1 + dice(3), dice(100));
    }
    if (dice(6) == 0) {
        say(w, " arc_flow_error %u %u\n", dice(3), dice(3));
    }
    if (dice(6) == 0) {
        say(w, " arc_debug_cmd %u\n arc_debug_reg %u\n", dice(64), dice(200));
    }
    if (dice(6) == 0) {
        say(w, " arc_flush %u\n", dice(4));
    }
    if (dice(6) == 0) {
        say(w, " arc_ring %u\n", dice(3));
    }
    if (dice(6) == 0) {
        say(w, " arc_crumbs %u %u\n", dice(4), dice(4));
    }
    if (dice(8) == 0) {
        say(w, " mem_fill_pattern %u\n", dice(1 << 20));
    }
}

/* A chain of nodes declared in any order, with taps to other outputs, script nodes and shared scripts. */
static void say_graph(writer_t *w)
{
    enum { MOST = 10 };
    const unsigned n = 1 + dice(MOST);
    unsigned type[MOST], out[MOST], order[MOST];
    say_formats(w);
    say(w, "stream_io 3\n stream_io_hwid 0\n stream_io_format %u\n", dice(4));
    say(w, "stream_io 1\n stream_io_hwid 9\n stream_io_format %u\n", dice(4));
    say(w, "stream_io 2\n stream_io_hwid 7\n stream_io_format %u\n", dice(4));
    for (unsigned i = 0; i < n; i++) {
        type[i] = dice(3);
        out[i] = dice(4);
        order[i] = i;
    }
    for (unsigned i = n; i > 1; i--) {
        const unsigned k = dice(i), t = order[k];
        order[k] = order[i - 1];
        order[i - 1] = t;
    }
    for (unsigned i = 0; i < n; i++) {
        if (dice(6) == 0) {
            say(w, "node arm_stream_script %u\n script_code\n1 h16; C000\n", i);
            say(w, dice(2) ? "%u u8;%s\n_end_\n_end_\n" : "%u u32;%s\n_end_\n_end_\n", 2, " 7 9");
        }
        say_node(w, type[order[i]], order[i]);
    }
    say(w, "script 1\n script_stack 3\n script_code\n1 h16; C000\n_end_\n_end_\n");
    say(w, "script 0\n script_assembler\n movi int16 r0 1\n ret\n_end_\n_end_\n");
    say(w, "arc_output 1 arm_stream_%s %u 1 %u\n", types[type[n - 1]], n - 1, out[n - 1]);
    say_arc_tags(w);
    for (unsigned i = n; i-- > 1;) {
        say(w, "arc arm_stream_%s %u 1 %u arm_stream_%s %u 0 %u\n", types[type[i - 1]], i - 1, out[i - 1],
            types[type[i]], i, out[i]);
        say_arc_tags(w);
    }
    const unsigned tap = dice(n);
    say(w, "arc_output 2 arm_stream_%s %u 1 %u\n", types[type[tap]], tap, out[tap]);
    say(w, "arc_input 3 arm_stream_%s 0 0 %u\n", types[type[0]], out[0]);
    say_arc_tags(w);
}

static void random_graphs_come_back(void **state)
{
    (void)state;
    static writer_t w;
    unsigned compiled = 0;
    for (unsigned i = 0; i < 300; i++) {
        tw_graphc_out_t out;
        char why[32];
        seed = 12345 + i;
        w.n = 0;
        say_graph(&w);
        snprintf(why, sizeof why, "graph %u", i);
        if (compile_text(w.v, &(tw_graphc_opts_t){.sequence = i}, &out)) {
            compiled++;
            comes_back(why, &out);
        }
        tw_graphc_free(&out);
    }
    assert_true(compiled > 200);
}

/* ---- a platform of its own ---------------------------------------------------------------- */

static char *read_own(void *ctx, const char *path, size_t *n)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        {"top.txt", "1\n.\n0 map.txt\n2\n0 in.txt 3 1 0\n0 out.txt 5 1 0\n2\n0 mix.txt\n0 rom.txt\n"},
        {"map.txt", "1 1 3\n0 0 1 0 0 0 0 65536 0\n0 1 2 0 0 0 0 8192 0\n0 7 1 0 0 0 2 8192 0\n1 1 255\n"},
        {"in.txt", "in\ngeneral\nio_direction_rx0tx1 0\nio_buffer_allocation 2.1\n"},
        {"out.txt", "out\ngeneral\nio_direction_rx0tx1 1\n"},
        /* transmit ports stand between receive ports, and the last of each kind may stay away */
        {"mix.txt",
         "ME\nmix\nnode_nb_arcs 3 2\nnode_min_arcs 1 1\nnode_mem 0\nnode_mem_alloc 40\nnode_mem_frame_size 1 2\n"
         "node_arc 0\nnode_arc_rx0tx1 1\nnode_arc 1\nnode_arc_rx0tx1 0\nnode_arc 2\nnode_arc_rx0tx1 0\nnode_arc 3\n"
         "node_arc_rx0tx1 1\nnode_arc 4\nnode_arc_rx0tx1 0\n"},
        {"rom.txt", "ME\nrom\nnode_mem 0\nnode_mem_alloc 16\nnode_mem 1\nnode_mem_alloc 256\nnode_mem_dataOprog1 1\n"
                    "node_arc 0\nnode_arc 1\nnode_arc_rx0tx1 1\n"},
    };
    for (size_t i = 0; i < TW_COUNT(files); i++) {
        if (strcmp(files[i].path, path) == 0) {
            return read_text((void *)(uintptr_t)files[i].text, path, n);
        }
    }
    return read_text(ctx, path, n);
}

static void ports_copies_and_buffers_of_a_platform_come_back(void **state)
{
    (void)state;
    static char text[] =
        "format 0\n format_frame_length 64\n format_sampling_rate 8000\nstream_io 0\n stream_io_hwid 3\n"
        "stream_io 1\n stream_io_hwid 5\nnode mix 4\n_end_\n"
        "node rom 2\n node_map_hwblock 1 7\n node_map_copy 1 1\n node_map_swap 0 1\n_end_\nnode mix 1\n_end_\n"
        "arc_input 0 mix 4 1 0\narc mix 4 0 0 mix 1 1 0\narc mix 4 3 0 mix 1 2 0\narc mix 1 0 0 rom 2 0 0\n"
        "arc_output 1 rom 2 1 0\n";
    const tw_platform_t computer = platform;
    const tw_text_source_t src = {text, read_own};
    tw_diags_t *d = calloc(1, sizeof *d);
    tw_graphc_out_t out = {0};
    char *back = NULL;
    if (!tw_platform_read_from(&platform, "top.txt", &src, d) ||
        !g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out)) {
        show("platform", d);
        show("graph", &out.diags);
        fail_msg("no image");
    }
    comes_back("platform of its own", &out);
    assert_true(tw_decompile(out.image, out.bytes, &platform, 0, &back, d));
    expect_text("ports", back, "arc mix 0 3 0 mix 1 2 0\n");
    expect_text("a swap", back, "    node_map_swap 0 1 ");
    expect_text("a copy", back, "    node_map_copy 1 1 ");
    expect_text("its home", back, "    node_map_at 1 7 ");
    expect_text("a buffer", back, "    stream_io_map_at 0 ");
    free(back);
    free(d);
    tw_graphc_free(&out);
    tw_platform_free(&platform);
    platform = computer;
}

/* ---- large graphs ------------------------------------------------------------------------ */

/* `n` amplifiers between two outputs and an input: a split feeds both. */
static char *long_chain(unsigned n)
{
    const size_t size = 200 + (size_t)n * 160;
    char *text = malloc(size);
    int at = snprintf(text, size, "%sarc_input 0 arm_stream_amplifier 0 0 0\n", IO);
    for (unsigned i = 0; i < n; i++) {
        at += snprintf(text + at, size - (size_t)at, "node arm_stream_amplifier %u\n_end_\n", i);
    }
    for (unsigned i = 1; i < n; i++) {
        at += snprintf(text + at, size - (size_t)at, "arc arm_stream_amplifier %u 1 0 arm_stream_amplifier %u 0 0\n",
                       i - 1, i);
    }
    (void)snprintf(text + at, size - (size_t)at, "arc_output 1 arm_stream_amplifier %u 1 0\n", n - 1);
    return text;
}

static void a_graph_is_wide_exactly_when_12_bits_are_too_few(void **state)
{
    (void)state;
    static const struct {
        unsigned nodes;
        bool wide;
    } rows[] = {{4095, false}, {4096, true}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char *text = long_chain(rows[i].nodes);
        tw_graphc_out_t out;
        assert_true(compile_text(text, &(tw_graphc_opts_t){0}, &out));
        assert_int_equal(tw_img_wide(out.image), rows[i].wide);
        assert_int_equal(tw_img_counts(out.image).nodes, rows[i].nodes);
        comes_back("long chain", &out);
        free(text);
        tw_graphc_free(&out);
    }
}

/* ---- identity ---------------------------------------------------------------------------- */

static uint32_t uid_of(const char *text, uint32_t sequence)
{
    char copy[4096];
    tw_graphc_out_t out;
    snprintf(copy, sizeof copy, "%s", text);
    assert_true(compile_text(copy, &(tw_graphc_opts_t){.sequence = sequence}, &out));
    const uint32_t uid = tw_img_word(out.image, 0, TW_W_UID);
    tw_graphc_free(&out);
    return uid;
}

static void identity_is_of_what_the_text_says(void **state)
{
    (void)state;
    const uint32_t uid = uid_of(IO AMP ENDS, 0);
    assert_int_not_equal(uid, 0);
    assert_int_equal(uid, uid_of(IO "; comment\n" AMP "\n" ENDS, 0));
    assert_int_equal(uid, uid_of(AMP IO ENDS, 9)); /* order of records, build sequence */
    assert_int_not_equal(uid, uid_of(IO AMP ENDS " arc_jitter_ctrl 2\n", 0));
    assert_int_not_equal(uid, uid_of("graph_name other\n" IO AMP ENDS, 0));
}

/* ---- without places ------------------------------------------------------------------------ */

/* With the platform, and without it where nobody gave more memory than the types ask for. */
static void plans_again(char *text, const tw_platform_t *known)
{
    tw_graphc_out_t first, second;
    tw_diags_t *d = calloc(1, sizeof *d);
    char *plain = NULL;
    assert_true(compile_text(text, &(tw_graphc_opts_t){0}, &first));
    assert_true(tw_decompile(first.image, first.bytes, known, TW_DECOMPILE_PLAIN, &plain, d));
    assert_null(strstr(plain, "_at "));
    assert_null(strstr(plain, "memory_plan"));
    assert_true(compile_text(plain, &(tw_graphc_opts_t){0}, &second));
    assert_int_equal(first.bytes, second.bytes);
    assert_memory_equal(first.image + 128, second.image + 128, first.bytes - 128);
    free(plain);
    free(d);
    tw_graphc_free(&first);
    tw_graphc_free(&second);
}

#define CONVERTED              \
    IO " stream_io_format 1\n" \
       "format 1\n format_raw_data FP32\n format_frame_length 64\n format_sampling_rate 16000\n"

static void a_plain_text_plans_its_memory_again(void **state)
{
    (void)state;
    char usual[] = CONVERTED AMP ENDS " arc_jitter_ctrl 2.5\n";
    char more[] = CONVERTED "node arm_stream_amplifier 0\n node_malloc_E 20\n_end_\n" ENDS;
    char converter[] = CONVERTED "node arm_stream_converter 3\n node_malloc_E 30000\n_end_\n"
                                 "arc_input 0 arm_stream_converter 3 0 0\narc_output 1 arm_stream_converter 3 1 1\n";
    plans_again(usual, &platform);
    plans_again(usual, NULL);
    plans_again(more, &platform);
    plans_again(converter, &platform);
}

/* ---- images that are wrong ------------------------------------------------------------------- */

static void fix(uint8_t *img, uint32_t bytes)
{
    tw_put_le32(img + 4 * TW_W_PAYLOAD_CRC, tw_crc32c(0, img + TW_IMG_HEADER_BYTES, bytes - TW_IMG_HEADER_BYTES));
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, 0);
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, tw_crc32c(0, img, TW_IMG_HEADER_BYTES));
}

/* Text or an error with a place; with and without a platform. */
static bool survives(const uint8_t *img, uint32_t bytes)
{
    static tw_diags_t d;
    char *text = NULL;
    d.n = d.errors = d.warnings = 0;
    const bool ok = tw_decompile(img, bytes, bytes & 1 ? NULL : &platform, 0, &text, &d);
    assert_int_equal(ok, text != NULL);
    assert_int_equal(ok, d.errors == 0);
    assert_true(ok || strncmp(d.rows[d.n - 1].text, "byte 0x", 7) == 0 || strncmp(d.rows[0].text, "byte 0", 6) == 0);
    free(text);
    return ok;
}

static void hostile_images_are_refused_or_read_safely(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0x01, 0x80, 0xFF};
    static char text[] =
        IO "script 0\n script_code\n1 h16; C000\n1 f32; 2\n_end_\n_end_\n" TWO
           "node arm_stream_script 0\n script_code\n1 h16; C000\n_end_\n_end_\n" CHAIN " mem_fill_pattern 7\n";
    unsigned read = 0;
    tw_graphc_out_t out;
    assert_true(compile_text(text, &(tw_graphc_opts_t){0}, &out));
    for (uint32_t i = 0; i < out.bytes * TW_COUNT(flips); i++) {
        uint8_t *bad = malloc(out.bytes); /* exact, so that a read past the end is seen */
        memcpy(bad, out.image, out.bytes);
        bad[i / TW_COUNT(flips)] ^= flips[i % TW_COUNT(flips)];
        fix(bad, out.bytes);
        read += survives(bad, out.bytes);
        free(bad);
    }
    assert_true(read > 0 && read < out.bytes * TW_COUNT(flips));
    for (uint32_t n = 0; n < out.bytes; n += 1 + n / 16) {
        uint8_t *bad = malloc(n > 0 ? n : 1);
        memcpy(bad, out.image, n);
        assert_false(survives(bad, n));
        free(bad);
    }
    tw_graphc_free(&out);
}

static void what_no_text_can_say_is_told(void **state)
{
    (void)state;
    static char text[] = IO AMP ENDS;
    tw_graphc_out_t out;
    tw_diags_t *d = calloc(1, sizeof *d);
    char *back = NULL;
    assert_true(compile_text(text, &(tw_graphc_opts_t){0}, &out));
    const uint32_t node = tw_img_node(out.image, 0);
    tw_put_le32(out.image + node + 4, tw_img_word(out.image, node, 1) | 3u << 28); /* priority 3 */
    fix(out.image, out.bytes);
    assert_true(tw_decompile(out.image, out.bytes, NULL, 0, &back, d));
    assert_int_equal(d->n, 1);
    assert_true(d->rows[0].warning);
    assert_non_null(strstr(d->rows[0].text, "priority of node 0: the text does not say it"));
    free(back);
    tw_put_le32(out.image + node + 8, 0x12345678); /* a type of somebody else */
    fix(out.image, out.bytes);
    *d = (tw_diags_t){0};
    tw_put_le32(out.image + node + 12, tw_img_word(out.image, node, 3) & ~255u);
    fix(out.image, out.bytes);
    assert_false(tw_decompile(out.image, out.bytes, &platform, 0, &back, d));
    assert_non_null(strstr(d->rows[0].text, "node 0 amplifier.0 is of a type that neither"));
    free(d);
    tw_graphc_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_comes_back),
        cmocka_unit_test(public_graphs_that_compile_come_back),
        cmocka_unit_test(everything_the_language_says_comes_back),
        cmocka_unit_test(a_constant_has_contents_and_no_buffer),
        cmocka_unit_test(random_graphs_come_back),
        cmocka_unit_test(ports_copies_and_buffers_of_a_platform_come_back),
        cmocka_unit_test(a_graph_is_wide_exactly_when_12_bits_are_too_few),
        cmocka_unit_test(identity_is_of_what_the_text_says),
        cmocka_unit_test(a_plain_text_plans_its_memory_again),
        cmocka_unit_test(hostile_images_are_refused_or_read_safely),
        cmocka_unit_test(what_no_text_can_say_is_told),
    };
    tw_diags_t *d = calloc(1, sizeof *d);
    if (!tw_platform_read(&platform, PLATFORM, d)) {
        tw_diags_print(d, stderr, false);
        return 1;
    }
    free(d);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tw_platform_free(&platform);
    return failed;
}
