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
        cmocka_unit_test(manifests_say_what_the_nodes_need),
    };
    return cmocka_run_group_tests(tests, read_platform, free_platform);
}
