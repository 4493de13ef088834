/* Compiled graphs on the device: whatever the frames, types and fan-out, all that goes in comes out, in order.
 *
 * Random graphs over the installed node types, all transparent (0 dB, bypass, converters that lose nothing), so the
 * model is simple: each output plays the input's samples from the first on, and lags by no more than the buffers hold.
 * An arc in which nothing moves any more is a lag that grows.
 */
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"
#include "tests/support/image_builder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"
enum { BLOCKS = 1000, GRAPHS = 300, TEXT_MAX = 16384, SAMPLES_MAX = 1 << 16, IN = 4, OUTS = 2, NODES_MAX = 7 };
static const uint32_t out_hwid[OUTS] = {6, 9};

static tw_platform_t platform;
static tw_board_io_t ios[64];
static uint32_t bank_bytes[256];
static uint32_t seed;

/* What went through the pretend IOs, as 16-bit values of interleaved channels. */
static struct {
    tw_graph_t *graph;
    int16_t in[SAMPLES_MAX], out[OUTS][SAMPLES_MAX];
    uint32_t n_in, n_out[OUTS], half_in, half_out[OUTS]; /* half: after half of the blocks */
} seen;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * n >> 32);
}

static const tw_format_t *format_of_io(uint32_t hwid)
{
    for (uint32_t i = 0; i < seen.graph->n_ios; i++) {
        const tw_graph_io_t *io = &seen.graph->ios[i];
        if (io->hwid == hwid) {
            return &seen.graph->formats[tw_graph_arc_format(seen.graph, io->arc_index, io->tx)];
        }
    }
    fail_msg("IO %u is not in the graph", hwid);
    return NULL;
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)tick;
    const tw_format_t *f = format_of_io(hwid);
    for (uint32_t i = 0; i < f->samples * f->channels && seen.n_in < SAMPLES_MAX; i++) {
        const int16_t v = (int16_t)below(65536);
        seen.in[seen.n_in++] = v;
        if (f->raw == TW_RAW_FP32) {
            tw_put_f32((uint8_t *)dst + 4 * i, (float)v / 32768.0f);
        } else {
            tw_put_le16((uint8_t *)dst + 2 * i, (uint16_t)v);
        }
    }
    return bytes;
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)tick;
    const uint32_t o = hwid == out_hwid[0] ? 0 : 1;
    const tw_format_t *f = format_of_io(hwid);
    for (uint32_t i = 0; i < f->samples * f->channels && seen.n_out[o] < SAMPLES_MAX; i++) {
        const uint8_t *s = src;
        seen.out[o][seen.n_out[o]++] =
            f->raw == TW_RAW_FP32 ? (int16_t)(tw_get_f32(s + 4 * i) * 32768.0f) : (int16_t)tw_get_le16(s + 2 * i);
    }
    return bytes;
}

static uint64_t now_us(void *ctx)
{
    (void)ctx;
    return 0;
}

static uint32_t cycles(void *ctx)
{
    (void)ctx;
    return 0;
}

static const tw_port_t port = {NULL, now_us, cycles, 1};
static tw_board_t board = {
    .ios = ios, .bank_bytes = bank_bytes, .n_banks = 256, .read = board_read, .write = board_write};

static int read_platform(void **state)
{
    (void)state;
    static tw_diags_t d;
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
    board.platform_id = platform.id;
    board.services = platform.services;
    board.n_ios = platform.n_ios;
    return 0;
}

static int free_platform(void **state)
{
    (void)state;
    tw_platform_free(&platform);
    return 0;
}

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n + 1);
    memcpy(copy, ctx, *n);
    return copy;
}

/* ---- a random text ------------------------------------------------------------------------------- */

typedef struct maker {
    char text[TEXT_MAX], arcs[TEXT_MAX];
    uint32_t formats, channels;
    bool even; /* each IO has 48 samples a frame, all others a part of it */
    bool same; /* all have 48, in one type */
} maker_t;

__attribute__((format(printf, 2, 3))) static void put(char *to, const char *fmt, ...)
{
    const size_t at = strlen(to);
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(to + at, TEXT_MAX - at, fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && at + (size_t)n < TEXT_MAX);
}

typedef struct stream {
    uint32_t raw, blocks, samples;
} stream_t;

static stream_t any_stream(const maker_t *k)
{
    if (k->same) {
        return (stream_t){.raw = TW_RAW_S16, .samples = 48};
    }
    static const uint32_t samples[] = {2, 4, 6, 8, 12, 16, 24, 48, 10, 14, 20, 32, 46, 96}; /* the first divide 48 */
    return (stream_t){.raw = below(3) == 0 ? TW_RAW_FP32 : TW_RAW_S16,
                      .blocks = k->channels > 1 && below(4) == 0,
                      .samples = samples[below(k->even ? 8 : TW_COUNT(samples))]};
}

static uint32_t add_format(maker_t *k, stream_t s)
{
    put(k->text,
        "format %u\n format_raw_data %s\n format_nbchan %u\n format_interleaving %u\n format_frame_length %u\n"
        " format_sampling_rate 48000\n",
        k->formats, s.raw == TW_RAW_FP32 ? "FP32" : "S16", k->channels, s.blocks,
        s.samples * k->channels * (s.raw == TW_RAW_FP32 ? 4 : 2));
    return k->formats++;
}

/* A chain; from somewhere in it a second output is fed. */
static void make_text(maker_t *k, bool even, bool same)
{
    static const char *const types[] = {"arm_stream_amplifier", "arm_stream_filter"};
    const uint32_t n = 1 + below(NODES_MAX), tap = below(n);
    const char *before = NULL;
    *k = (maker_t){.channels = 1 + below(2), .even = even, .same = same};
    for (uint32_t i = 0; i < 1 + OUTS; i++) {
        stream_t x = any_stream(k);
        x.blocks = 0; /* the platform's IOs have none, its codec 16 bits */
        x.raw = i < OUTS ? TW_RAW_S16 : x.raw;
        x.samples = even ? 48 : x.samples;
        const uint32_t f = add_format(k, x);
        put(k->text, "stream_io %u\n stream_io_hwid %u\n stream_io_format %u\n", i, i == 0 ? IN : out_hwid[i - 1], f);
    }
    for (uint32_t i = 0, sent = 0; i < n; i++) {
        const char *type = types[below(2)];
        stream_t in = any_stream(k), out = in;
        out.samples = in.blocks || below(3) == 0 ? in.samples : any_stream(k).samples;
        const uint32_t from = add_format(k, in), to = add_format(k, out);
        put(k->text, "node %s %u\n_end_\n", type, i);
        if (i == 0) {
            put(k->arcs, "arc_input 0 %s 0 0 %u\n", type, from);
        } else {
            put(k->arcs, "arc %s %u 1 %u %s %u 0 %u\n", before, i - 1, sent, type, i, from);
        }
        if (i == tap) {
            put(k->arcs, "arc_output 2 %s %u 1 %u\n", type, i, to);
        }
        before = type;
        sent = to;
        if (i + 1 == n) {
            put(k->arcs, "arc_output 1 %s %u 1 %u\n", type, i, to);
        }
    }
    put(k->text, "arc_section\n%s", k->arcs);
}

/* ---- on the device ----------------------------------------------------------------------------------- */

static void show(const char *text)
{
    fputs(text, stderr); /* longer than a message may be */
}

static void run_graph(const char *text, const tw_graphc_out_t *image)
{
    static uint64_t memory[1 << 17];
    static tw_graph_t g;
    tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0};
    const tw_graph_env_t env = {.port = &port, .board = &board};
    tw_fault_t fault = {0};
    tw_err_t err = tw_graph_check(image->image, image->bytes, &board, &arena, &fault);
    if (err == TW_OK) {
        memset(&g, 0, sizeof g);
        err = tw_graph_load(&g, image->image, &env, &arena, &fault);
    }
    if (err != TW_OK) {
        show(text);
        fail_msg("%s, section %u, at %u", tw_err_name(err), fault.section, fault.at);
    }
    memset(&seen, 0, sizeof seen);
    seen.graph = &g;
    for (uint32_t t = 0; t < BLOCKS; t++) {
        if (t == BLOCKS / 2) {
            seen.half_in = seen.n_in;
            memcpy(seen.half_out, seen.n_out, sizeof seen.half_out);
        }
        tw_graph_block(&g, t);
    }
}

/* With little room the input may find none for a frame: it is counted then, and what comes after is not compared. */
static bool lost_some(const tw_graph_t *g)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        lost += tw_gauge_get(&g->arcs[i].overflows) + tw_gauge_get(&g->arcs[i].underflows);
    }
    return lost != 0;
}

static void check_output(const char *text, uint32_t o)
{
    const uint32_t in = seen.n_in - seen.half_in, out = seen.n_out[o] - seen.half_out[o];
    if (4 * out < in) {
        show(text);
        fail_msg("second half: %u samples in, %u at output %u", in, out, o);
    }
    for (uint32_t i = 0; i < seen.n_out[o] && !lost_some(seen.graph); i++) {
        if (seen.out[o][i] != seen.in[i]) {
            show(text);
            fail_msg("output %u, sample %u: %d, not %d", o, i, seen.out[o][i], seen.in[i]);
        }
    }
}

/* @return nothing was lost: all samples were compared */
static bool compile_and_run(char *text)
{
    const tw_text_source_t src = {text, read_text};
    tw_graphc_out_t out = {0};
    if (!g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out)) {
        tw_diags_print(&out.diags, stderr, false);
        show(text);
        fail_msg("it does not compile");
    }
    run_graph(text, &out);
    const bool compared = !lost_some(seen.graph);
    for (uint32_t o = 0; o < OUTS; o++) {
        check_output(text, o);
    }
    tw_graphc_free(&out);
    return compared;
}

static void frames_of_any_lengths_never_block_one_another_nor_lose_any(void **state)
{
    (void)state;
    static maker_t k;
    for (seed = 0; seed < GRAPHS;) {
        const uint32_t now = seed;
        make_text(&k, false, false);
        if (!compile_and_run(k.text)) {
            show(k.text);
            fail_msg("samples were lost");
        }
        seed = now + 1;
    }
}

static void frames_that_fit_a_block_lose_nothing(void **state)
{
    (void)state;
    static maker_t k;
    for (seed = 0; seed < GRAPHS;) {
        const uint32_t now = seed;
        make_text(&k, true, false);
        if (!compile_and_run(k.text)) {
            show(k.text);
            fail_msg("samples were lost");
        }
        seed = now + 1;
    }
}

/* An equaliser sets the frame of a mixer, a voice in two nodes that could share a buffer joins it; %s may stop it. */
#define MIXER                                                                                                        \
    "format 0\n format_raw_data S16\n format_frame_length 96\n format_sampling_rate 48000\n"                         \
    "stream_io 0\n stream_io_hwid 4\n stream_io 1\n stream_io_hwid 2\n stream_io 2\n stream_io_hwid 6\n"             \
    "script 0\n script_registers 4\n script_stack 2\n script_assembler\n eqk r0 9\n ret\n _end_\n_end_\n"            \
    "node arm_stream_filter 0\n_end_\nnode arm_stream_amplifier 0\n_end_\n"                                          \
    "node arm_stream_amplifier 1\n%s_end_\nnode arm_stream_mixer 0\n_end_\narc_section\n"                            \
    "arc_input 0 arm_stream_filter 0 0 0\narc_input 1 arm_stream_amplifier 0 0 0\n"                                  \
    "arc arm_stream_amplifier 0 1 0 arm_stream_amplifier 1 0 0\narc arm_stream_filter 0 1 0 arm_stream_mixer 0 0 0 " \
    "H\n"                                                                                                            \
    "arc arm_stream_amplifier 1 1 0 arm_stream_mixer 0 1 0\narc_output 2 arm_stream_mixer 0 8 0\n"

static void a_high_qos_arc_frees_who_reads_it_and_no_one_else(void **state)
{
    (void)state;
    static const struct {
        const char *why, *voice;
        bool holes;
    } rows[] = {{"all there", "", false}, {"the voice is stopped", " node_script 0\n", true}};
    for (uint32_t r = 0; r < TW_COUNT(rows); r++) {
        char text[2048];
        snprintf(text, sizeof text, MIXER, rows[r].voice);
        const tw_text_source_t src = {text, read_text};
        tw_graphc_out_t out = {0};
        if (!g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out)) {
            tw_diags_print(&out.diags, stderr, false);
            fail_msg("it does not compile");
        }
        run_graph(text, &out);
        const tw_graph_t *g = seen.graph;
        assert_int_equal(tw_gauge_get(&g->hot[g->nodes[0].pos].runs), BLOCKS); /* the filter waits for its input */
        assert_int_equal(tw_gauge_get(&g->hot[g->nodes[3].pos].runs), BLOCKS);
        assert_int_equal(seen.n_out[0], tw_min_u32(48 * BLOCKS, SAMPLES_MAX));
        uint32_t holes = 0;
        for (uint32_t i = 0; i < g->n_arcs; i++) {
            const bool mixed = tw_img_ends(g->img, i).to == 3;
            assert_true(mixed || tw_gauge_get(&g->arcs[i].underflows) == 0);
            holes += tw_gauge_get(&g->arcs[i].underflows);
        }
        if (holes != (rows[r].holes ? BLOCKS : 0)) {
            fail_msg("%s: %u holes", rows[r].why, (unsigned)holes);
        }
        tw_graphc_free(&out);
    }
}

/* Text of an image, compiled again. */
static void check_text_law(const tw_graphc_out_t *image)
{
    char *text = NULL;
    tw_diags_t diags = {0};
    tw_graphc_out_t again = {0};
    assert_true(tw_decompile(image->image, image->bytes, &platform, 0, &text, &diags));
    const tw_text_source_t src = {text, read_text};
    if (!g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &again)) {
        tw_diags_print(&again.diags, stderr, false);
        show(text);
        fail_msg("the decompiled text does not compile");
    }
    assert_int_equal(again.bytes, image->bytes);
    assert_memory_equal(again.image, image->image, image->bytes);
    tw_graphc_free(&again);
    free(text);
}

static uint32_t shared_arcs(const tw_graph_t *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        n += g->arcs[i].second;
    }
    return n;
}

static void working_in_place_changes_nothing_but_memory(void **state)
{
    (void)state;
    static maker_t k;
    static int16_t out[2][OUTS][SAMPLES_MAX];
    uint32_t shared = 0;
    for (uint32_t now = 0; now < GRAPHS / 3; now++) {
        uint32_t n[2][OUTS], bytes[2];
        seed = now;
        make_text(&k, true, true);
        const uint32_t input = seed;
        for (uint32_t own = 0; own < 2; own++) {
            const tw_text_source_t src = {k.text, read_text};
            tw_graphc_out_t image = {0};
            assert_true(g_compile("g.txt", &(tw_graphc_opts_t){.no_in_place = own}, &platform, &src, &image));
            seed = input;
            run_graph(k.text, &image);
            memcpy(n[own], seen.n_out, sizeof n[own]);
            memcpy(out[own], seen.out, sizeof out[own]);
            bytes[own] = tw_img_word(image.image, tw_img_section(image.image, TW_SEC_BANKS).at, 1);
            assert_true(own == 0 || shared_arcs(seen.graph) == 0);
            shared += shared_arcs(seen.graph);
            check_text_law(&image);
            tw_graphc_free(&image);
        }
        assert_true(bytes[0] <= bytes[1]);
        assert_memory_equal(n[0], n[1], sizeof n[0]);
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    }
    assert_true(shared > GRAPHS / 6); /* or nothing was looked at */
}

/* Each bit of arcs, nodes and IOs of an image whose nodes work in place, with checksums that hold: refused, or it runs.
 */
static void a_wrong_bit_is_refused_or_harmless(void **state)
{
    (void)state;
    static maker_t k;
    static uint64_t memory[1 << 15];
    static tw_graph_t g;
    static const tw_section_t sections[] = {TW_SEC_ARCS, TW_SEC_NODES, TW_SEC_IOS};
    const tw_graph_env_t env = {.port = &port, .board = &board};
    tw_graphc_out_t out = {0};
    for (seed = 3; out.image == NULL; seed++) {
        make_text(&k, true, true);
        const tw_text_source_t src = {k.text, read_text};
        assert_true(g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out));
    }
    uint32_t taken = 0;
    for (uint32_t s = 0; s < TW_COUNT(sections); s++) {
        const tw_img_section_t at = tw_img_section(out.image, sections[s]);
        for (uint32_t bit = 0; bit < 8 * at.bytes; bit++) {
            out.image[at.at + bit / 8] ^= (uint8_t)(1u << bit % 8);
            tw_image_fix(out.image, out.bytes);
            tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0};
            tw_fault_t fault;
            if (tw_graph_check(out.image, out.bytes, &board, &arena, &fault) == TW_OK &&
                tw_graph_load(&g, out.image, &env, &arena, &fault) == TW_OK) {
                memset(&seen, 0, sizeof seen);
                seen.graph = &g;
                for (uint32_t t = 0; t < 3; t++) {
                    tw_graph_block(&g, t);
                }
                taken++;
            }
            out.image[at.at + bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    assert_true(taken > 0);
    tw_graphc_free(&out);
}

/* Formats of one node's two arcs; the IOs have a format of their own, converters stand between. */
static void what_a_node_cannot_join_is_refused_by_the_compiler(void **state)
{
    (void)state;
    static const struct {
        const char *type, *in, *out;
        bool good;
    } rows[] = {
        {"filter", "S16\n format_frame_length 192", "S16\n format_frame_length 64", true},
        {"filter", "S16\n format_frame_length 192", "FP32\n format_frame_length 384", false},
        {"amplifier", "S16\n format_frame_length 192", "S16\n format_frame_length 192\n format_interleaving 1", false},
        {"amplifier", "S16\n format_frame_length 192", "S16\n format_frame_length 192\n format_sampling_rate 16000",
         false},
        {"detector", "S16\n format_frame_length 192", "FP32\n format_frame_length 128", true},
        {"detector", "S16\n format_frame_length 192\n format_interleaving 1", "S16\n format_frame_length 384", true},
        {"detector", "S16\n format_frame_length 192\n format_interleaving 1", "S16\n format_frame_length 96", false},
        {"detector", "S16\n format_frame_length 96", "S16\n format_frame_length 192\n format_interleaving 1", false},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "format 0\n format_frame_length 192\n format_nbchan 2\n format_sampling_rate 48000\n"
                 "format 1\n format_nbchan 2\n format_sampling_rate 48000\n format_raw_data %s\n"
                 "format 2\n format_nbchan 2\n format_sampling_rate 48000\n format_raw_data %s\n"
                 "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\nnode arm_stream_%s 0\n_end_\n"
                 "arc_input 0 arm_stream_%s 0 0 1\narc_output 1 arm_stream_%s 0 1 2\n",
                 rows[i].in, rows[i].out, rows[i].type, rows[i].type, rows[i].type);
        const tw_text_source_t src = {text, read_text};
        tw_graphc_out_t out = {0};
        const bool ok = g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out);
        if (ok != rows[i].good || (!ok && strstr(out.diags.rows[0].text, "does not convert") == NULL)) {
            tw_diags_print(&out.diags, stderr, false);
            fail_msg("row %u, %s", (unsigned)i, rows[i].type);
        }
        if (ok) {
            run_graph(text, &out);
            assert_true(seen.n_out[0] > BLOCKS * 48);
        }
        tw_graphc_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_any_lengths_never_block_one_another_nor_lose_any),
        cmocka_unit_test(frames_that_fit_a_block_lose_nothing),
        cmocka_unit_test(a_high_qos_arc_frees_who_reads_it_and_no_one_else),
        cmocka_unit_test(working_in_place_changes_nothing_but_memory),
        cmocka_unit_test(a_wrong_bit_is_refused_or_harmless),
        cmocka_unit_test(what_a_node_cannot_join_is_refused_by_the_compiler),
    };
    return cmocka_run_group_tests(tests, read_platform, free_platform);
}
