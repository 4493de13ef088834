/* Compiler and device together: what one makes the other accepts, and manifests say what nodes need. */
#include "engine/graph/graph.h"
#include "engine/node/node.h"
#include "host_tools/graphc/graphc_priv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"

static tw_platform_t platform;
static tw_board_io_t ios[64];
static uint32_t bank_bytes[256];
static tw_board_t board;

static int read_platform(void **state)
{
    (void)state;
    tw_diags_t d = {0};
    if (!tw_platform_read(&platform, PLATFORM, &d)) {
        tw_diags_print(&d, stderr, false);
        return -1;
    }
    for (unsigned i = 0; i < platform.n_ios; i++) {
        ios[i] = (tw_board_io_t){.hwid = (uint16_t)platform.ios[i].hwid, .direction = platform.ios[i].direction};
    }
    for (unsigned i = 0; i < platform.n_banks; i++) {
        bank_bytes[platform.banks[i].vid] = platform.banks[i].bytes;
    }
    board = (tw_board_t){.platform_id = platform.id,
                         .services = platform.services,
                         .ios = ios,
                         .n_ios = platform.n_ios,
                         .bank_bytes = bank_bytes,
                         .n_banks = 256};
    return 0;
}

static int free_platform(void **state)
{
    (void)state;
    tw_platform_free(&platform);
    return 0;
}

static void accept(const char *why, const tw_graphc_out_t *out)
{
    static uint64_t scratch[1 << 16];
    tw_arena_t arena = {(uint8_t *)scratch, sizeof scratch, 0};
    tw_fault_t fault = {0};
    const tw_err_t err = tw_graph_check(out->image, out->bytes, &board, &arena, &fault);
    if (err != TW_OK) {
        fail_msg("%s: %s, section %u, at %u", why, tw_err_name(err), fault.section, fault.at);
    }
}

static void the_device_accepts_the_examples(void **state)
{
    (void)state;
    static const char *const files[] = {"examples/seed_two_nodes.txt", "examples/voice_gate.txt",
                                        "examples/voice_gate_f32.txt"};
    for (size_t i = 0; i < TW_COUNT(files); i++) {
        tw_graphc_out_t out;
        assert_true(tw_graphc(files[i], NULL, &out));
        accept(files[i], &out);
        tw_graphc_free(&out);
    }
}

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n + 1);
    memcpy(copy, ctx, *n);
    return copy;
}

#define IO                                                                                                       \
    "format 0\n format_raw_data FP32\n format_frame_length 384\n format_nbchan 2\n format_sampling_rate 48000\n" \
    "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\n"
#define CHAIN                                                                                    \
    "arc_input 0 arm_stream_filter 0 0 0\narc arm_stream_filter 0 1 0 arm_stream_filter 1 0 0\n" \
    "arc_output 1 arm_stream_filter 1 1 0\n"

static void the_device_accepts_every_part_of_the_language(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text;
    } cases[] = {
        {"working memory laid over one another",
         IO "node arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\n" CHAIN},
        {"two threads with scratch of their own", IO "node arm_stream_filter 0\n node_map_rtos 1\n_end_\nnode "
                                                     "arm_stream_filter 1\n node_map_rtos 2\n_end_\n" CHAIN},
        {"two processors allowed: no overlay",
         "allowed_processors 3\n" IO "node arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\n" CHAIN},
        {"parts of a bank", "memory_mapping 1 100 32768 16384\nmemory_mapping 1 101 49152 4096\n" IO
                            "node arm_stream_filter 0\n node_map_hwblock 0 100\n node_map_hwblock 1 101\n_end_\n"
                            "node arm_stream_filter 1\n node_map_hwblock 1 101\n_end_\n" CHAIN " arc_map_hwblock 1\n"},
        {"everything in one small part",
         "memory_mapping 1 100 0 65536\n" IO "node arm_stream_filter 0\n node_map_hwblock 0 100\n"
         " node_map_hwblock 1 100\n_end_\nnode arm_stream_filter 1\n_end_\n" CHAIN " arc_map_hwblock 100\n"},
        {"swapped with one fast place", IO "node arm_stream_filter 0\n node_map_swap 0 5\n_end_\nnode "
                                           "arm_stream_filter 1\n node_map_swap 0 5\n_end_\n" CHAIN},
        {"swapped beside scratch of its own", IO "node arm_stream_filter 0\n node_map_swap 0 3\n node_map_hwblock 1 3\n"
                                                 "_end_\nnode arm_stream_filter 1\n node_map_swap 0 3\n"
                                                 " node_map_hwblock 1 3\n_end_\n" CHAIN},
        {"swapped with a part of a bank, at a place of the text, with parameters",
         "memory_mapping 1 100 32768 16384\n" IO "node arm_stream_filter 0\n node_map_swap 0 100\n_end_\n"
         "node arm_stream_filter 1\n node_map_swap 0 1 65536\n node_parameters\n 2 u8; 0 1\n 1 i8; 0\n"
         " 5 f32; 1 0 0 0 0\n _end_\n_end_\n" CHAIN},
        {"delay and jitter", IO "node arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\n" CHAIN
                                " arc_delay 3\n arc_jitter_ctrl 1.1\n"},
        {"script node and its lock", IO "node arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\n"
                                        "node arm_stream_script 0\n script_code\n 1 h16; C000\n _end_\n_end_\n" CHAIN},
        {"assembler", IO "script 0\n script_assembler\n ; comment\n\n movi int16 r0 1\n ret\n _end_\n_end_\n"
                         "node arm_stream_filter 0\n node_script 0\n_end_\nnode arm_stream_filter 1\n_end_\n" CHAIN},
        {"literals behind the code", IO "script 0\n script_code\n 1 h16; C000\n 1 f64; 2.5\n _end_\n_end_\n"
                                        "node arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\n" CHAIN},
        {"shorter frames downstream",
         IO "format 1\n format_raw_data FP32\n format_frame_length 128\n format_nbchan 2\n"
            " format_sampling_rate 48000\nnode arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\n"
            "arc_input 0 arm_stream_filter 0 0 0\narc arm_stream_filter 0 1 0 arm_stream_filter 1 0 1\n"
            "arc_output 1 arm_stream_filter 1 1 1\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s", cases[i].text);
        const tw_text_source_t src = {text, read_text};
        tw_graphc_out_t out = {0};
        if (!g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out)) {
            fail_msg("%s: %u:%u %s", cases[i].why, out.diags.rows[0].line, out.diags.rows[0].col,
                     out.diags.rows[0].text);
        }
        accept(cases[i].why, &out);
        tw_graphc_free(&out);
    }
}

static void an_assembler_error_is_reported_in_the_graph(void **state)
{
    (void)state;
    char text[] = "script 0\n script_assembler\n\n  movi int16 r0 1\n  jmupl 3\n  ret\n _end_\n_end_\n";
    const tw_text_source_t src = {text, read_text};
    tw_graphc_out_t out = {0};
    assert_false(g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out));
    assert_int_equal(out.diags.rows[0].line, 5);
    assert_int_equal(out.diags.rows[0].col, 3);
    tw_graphc_free(&out);
}

#define FORMAT(id, raw, bytes, rate, more) \
    "format " #id "\n format_raw_data " raw "\n format_frame_length " #bytes "\n format_sampling_rate " #rate "\n" more
#define FILTER "node arm_stream_filter 0\n_end_\n"

static void the_device_accepts_what_the_compiler_inserts(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text;
        unsigned nodes;
    } cases[] = {
        {"a converter",
         FORMAT(0, "S16", 96, 48000, "") FORMAT(1, "FP32", 192, 48000, "") FILTER
         "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\n stream_io_format 1\n"
         "arc_input 0 arm_stream_filter 0 0 1\narc_output 1 arm_stream_filter 0 1 1\n",
         2},
        {"a resampler: its filter is planned",
         FORMAT(0, "S16", 882, 44100, "") FORMAT(1, "FP32", 192, 48000, "") FILTER
         "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\n stream_io_format 1\n"
         "arc_input 0 arm_stream_filter 0 0 1\narc_output 1 arm_stream_filter 0 1 1\n",
         2},
        {"a split with a converter behind it",
         FORMAT(0, "S16", 96, 48000, "")
             FORMAT(1, "FP32", 160, 16000, " format_time_stamp 3\n format_time_stamp_size 1\n") FILTER
         "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\nstream_io 2\n"
         " stream_io_hwid 9\n stream_io_format 1\narc_input 0 arm_stream_filter 0 0 0\n"
         "arc_output 1 arm_stream_filter 0 1 0\narc_output 2 arm_stream_filter 0 1 0\n",
         3},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s", cases[i].text);
        const tw_text_source_t src = {text, read_text};
        tw_graphc_out_t out = {0};
        if (!g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out)) {
            fail_msg("%s: %u:%u %s", cases[i].why, out.diags.rows[0].line, out.diags.rows[0].col,
                     out.diags.rows[0].text);
        }
        assert_int_equal(out.diags.n, 0);
        assert_int_equal(tw_bits(tw_get_le32(out.image + 48), TW_W12_NODES), cases[i].nodes);
        accept(cases[i].why, &out);
        tw_graphc_free(&out);
    }
}

static void what_no_converter_takes_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out, *want;
    } cases[] = {
        {FORMAT(0, "FP32", 192, 48000, " format_sdomain V\n"), FORMAT(1, "FP32", 192, 48000, " format_sdomain A\n"),
         "V to A"},
        {FORMAT(0, "FP32", 192, 48000, ""), FORMAT(1, "FP32", 192, 47999, ""), "48000 to 47999 Hz"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s", cases[i].in, cases[i].out,
                 FILTER "stream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 9\n stream_io_format 1\n"
                        "arc_input 0 arm_stream_filter 0 0 1\narc_output 1 arm_stream_filter 0 1 1\n");
        const tw_text_source_t src = {text, read_text};
        tw_graphc_out_t out = {0};
        assert_false(g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out));
        if (out.diags.errors != 1 || out.diags.rows[0].line < 15 ||
            strstr(out.diags.rows[0].text, cases[i].want) == NULL) {
            fail_msg("%s: %u:%u %s", cases[i].want, out.diags.rows[0].line, out.diags.rows[0].col,
                     out.diags.rows[0].text);
        }
        tw_graphc_free(&out);
    }
}

static const tw_node_manifest_t *manifest_of(const char *name);

/* One arc of a node as the text of a format: the manifest's first choice of everything. */
static void arc_format(char *to, size_t size, unsigned id, const tw_node_arc_manifest_t *a)
{
    const uint32_t raw = a->raw.any ? TW_RAW_S16 : (uint32_t)a->raw.v[a->raw.def];
    const double rate = a->rate_hz.any || a->rate_hz.n == 0 ? 16000 : a->rate_hz.v[a->rate_hz.def];
    snprintf(to, size, "format %u\n format_raw_data %s\n format_frame_length 64\n format_sampling_rate %g\n", id,
             tw_raw_name(raw), rate);
}

static void described_text(char *text, size_t size, const tw_node_manifest_t *m)
{
    char in[160], out[160];
    const unsigned tx = m->rx;
    arc_format(in, sizeof in, 0, &m->arcs[0]);
    arc_format(out, sizeof out, 1, &m->arcs[tx]);
    const size_t n =
        (size_t)snprintf(text, size, "%s%snode %s 3\n_end_\nnode %s 4\n_end_\n", in, out, m->name, m->name);
    for (unsigned i = 0; i < 2; i++) { /* two of the type: still one warning */
        const size_t at = strlen(text);
        snprintf(text + at, size - at,
                 "stream_io %u\n stream_io_hwid %u\nstream_io %u\n stream_io_hwid %u\n stream_io_format 1\n", 2 * i,
                 i == 0 ? 0 : 4, 2 * i + 1, i == 0 ? 9 : 6);
    }
    assert_true(n < size);
    for (unsigned i = 0; i < 2; i++) {
        const size_t at = strlen(text);
        snprintf(text + at, size - at, "arc_input %u %s %u 0 0\narc_output %u %s %u %u 1\n", 2 * i, m->name, 3 + i,
                 2 * i + 1, m->name, 3 + i, tx);
    }
}

static void described_types_compile_with_one_warning_each(void **state)
{
    (void)state;
    static const char *const later[] = {
#define TW_NODE_LATER(id, name) "arm_stream_" #name,
#include "engine/node/nodes.def"
        NULL, /* the day all are installed */
    };
    for (size_t i = 0; later[i] != NULL; i++) {
        const tw_node_manifest_t *m = manifest_of(later[i]);
        if (m == NULL) {
            fail_msg("%s is not in %s", later[i], PLATFORM);
        }
        char text[2048];
        described_text(text, sizeof text, m);
        const tw_text_source_t src = {text, read_text};
        tw_graphc_out_t out = {0};
        const bool ok = g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out);
        const tw_diag_t *d = out.diags.rows;
        if (!ok || out.diags.n != 2 || !d[0].warning || !d[1].note || strstr(d[0].text, "is not installed") == NULL ||
            strstr(d[0].text, later[i]) == NULL) {
            tw_diags_print(&out.diags, stderr, false);
            fail_msg("%s: %s", later[i], ok ? "compiles" : "does not compile");
        }
        uint64_t scratch[4096];
        tw_arena_t arena = {(uint8_t *)scratch, sizeof scratch, 0};
        tw_fault_t fault = {0};
        assert_int_equal(tw_graph_check(out.image, out.bytes, &board, &arena, &fault), TW_E_IMG_NODE_MISSING);
        tw_graphc_free(&out);
    }
}

static void node_library_has_no_number_twice(void **state)
{
    (void)state;
    static const uint32_t ids[] = {
#define TW_NODE(id, name) id,
#define TW_NODE_LATER(id, name) id,
#include "engine/node/nodes.def"
    };
    for (size_t i = 0; i < TW_COUNT(ids); i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(ids[i], ids[k]);
        }
    }
    for (uint32_t id = 1; id <= 19; id++) { /* the seed's list without "none" */
        bool found = false;
        for (size_t k = 0; k < TW_COUNT(ids); k++) {
            found |= ids[k] == id;
        }
        assert_true(found);
    }
}

static const tw_node_manifest_t *manifest_of(const char *name)
{
    for (unsigned i = 0; i < platform.n_nodes; i++) {
        if (strcmp(platform.nodes[i].name, name) == 0) {
            return &platform.nodes[i];
        }
    }
    return NULL;
}

/* Both are written by hand, one for the compiler and one for the device: each sum must reach. */
static void manifests_say_what_the_nodes_need(void **state)
{
    (void)state;
    uint32_t n;
    const tw_node_desc_t *const *list = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        const tw_node_desc_t *d = list[i];
        const tw_node_manifest_t *m = manifest_of(d->name);
        if (m == NULL) {
            fail_msg("%s has no manifest", d->name);
        }
        assert_string_equal(m->developer, d->developer);
        assert_int_equal(m->version, d->version);
        assert_int_equal(m->services, d->services);
        assert_true(m->rx >= d->rx_min && m->rx <= d->rx_max && m->tx >= d->tx_min && m->tx <= d->tx_max);
        assert_int_equal(m->n_mem, d->n_mem);
        for (unsigned k = 0; k < d->n_mem; k++) {
            const tw_mem_req_t *q = &d->mem[k];
            const tw_node_mem_manifest_t *x = &m->mem[k];
            const bool enough = x->a >= q->a && x->b >= (double)q->b && x->c >= (double)q->c && x->d >= (double)q->d;
            if (!enough || x->align < q->align || x->type != q->type) {
                fail_msg("%s block %u: the node wants A %u B %g C %g D %g, aligned %u, type %u", d->name, k, q->a,
                         (double)q->b, (double)q->c, (double)q->d, q->align, q->type);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_accepts_the_examples),
        cmocka_unit_test(the_device_accepts_every_part_of_the_language),
        cmocka_unit_test(an_assembler_error_is_reported_in_the_graph),
        cmocka_unit_test(the_device_accepts_what_the_compiler_inserts),
        cmocka_unit_test(what_no_converter_takes_is_refused_with_its_place),
        cmocka_unit_test(described_types_compile_with_one_warning_each),
        cmocka_unit_test(node_library_has_no_number_twice),
        cmocka_unit_test(manifests_say_what_the_nodes_need),
    };
    return cmocka_run_group_tests(tests, read_platform, free_platform);
}
