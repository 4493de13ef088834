/* Wide images: what 12 bits cannot number. They load and run like others, and their own fields are checked. */
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t narrow[32768], good[32768], bad[32768];
static uint32_t narrow_bytes, good_bytes;
static rig_t rig;

static uint32_t put_refs(const uint8_t *from, const tw_img_node_parts_t *p, uint8_t *to)
{
    for (uint32_t i = 0; i < p->rx + p->tx; i++) {
        const tw_img_ref_t r = tw_img_ref(from, p, i);
        tw_put_le32(to + 4 * i, tw_put_bits(r.arc, TW_LO(TW_NAW_ARC)) | tw_put_bits(r.tx, TW_LO(TW_NAW_TX)) |
                                    tw_put_bits(r.hqos, TW_LO(TW_NAW_HQOS)) | tw_put_bits(r.lock, TW_LO(TW_NAW_LOCK)));
    }
    return 4 * (p->rx + p->tx);
}

/* NODES of a narrow image with words for arcs. @return bytes */
static uint32_t widen_nodes(const uint8_t *from, uint8_t *to, uint32_t at)
{
    const uint32_t n = tw_img_counts(from).nodes;
    uint32_t used = 4 * n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t record = tw_img_node(from, i);
        const tw_img_node_parts_t p = tw_img_node_parts(from, record);
        tw_put_le32(to + 4 * i, at + used);
        memcpy(to + used, from + record, 16);
        used += 16;
        used += put_refs(from, &p, to + used);
        memcpy(to + used, from + p.blocks_at, p.end - p.blocks_at);
        used += p.end - p.blocks_at;
    }
    return used;
}

static void widen_arcs(const uint8_t *from, uint8_t *to)
{
    for (uint32_t i = 0; i < tw_img_counts(from).arcs; i++) {
        const tw_img_ends_t e = tw_img_ends(from, i);
        uint8_t *arc = to + 4 * TW_ARC_WORDS * i;
        tw_put_le32(arc + 12, e.from | e.to << 16);
        tw_put_le32(arc + 28, e.io | e.from_port << 16 | e.to_port << 20);
    }
}

/* The same graph with wide records: sections are copied, NODES and ARCS rewritten. Scripts stay out of it, because
 * their code is addressed from the image's start. */
static uint32_t widen(const uint8_t *from, uint8_t *to, size_t size)
{
    uint32_t at = TW_IMG_HEADER_BYTES;
    memset(to, 0, size);
    memcpy(to, from, TW_IMG_HEADER_BYTES);
    for (uint32_t s = 0; s < TW_SEC_COUNT; s++) {
        const tw_img_section_t sec = tw_img_section(from, (tw_section_t)s);
        uint32_t bytes = sec.bytes;
        memcpy(to + at, from + sec.at, sec.bytes);
        if (s == TW_SEC_NODES) {
            bytes = widen_nodes(from, to + at, at);
        } else if (s == TW_SEC_ARCS) {
            widen_arcs(from, to + at);
        }
        tw_put_le32(to + 4 * (TW_W_DIRECTORY + 2 * s), bytes != 0 ? at : 0);
        tw_put_le32(to + 4 * (TW_W_DIRECTORY + 2 * s) + 4, bytes);
        at = tw_round_up(at + bytes, TW_IMG_ALIGN);
        assert_true(at < size);
    }
    tw_image_poke(to, 4 * TW_W_CONTROL, 14, 14, 1);
    tw_put_le32(to + 4 * TW_W_TOTAL, at);
    tw_image_fix(to, at);
    return at;
}

static void build(void)
{
    static const uint8_t gain[2] = {0x05, 0x08};
    rig_chain_open(&ib);
    ib.platform = 77;
    tw_ib_node_params(&ib, 1, 2, gain, 2);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    narrow_bytes = tw_ib_finish(&ib, narrow, sizeof narrow);
    assert_true(narrow_bytes != 0);
    good_bytes = widen(narrow, good, sizeof good);
}

/* Blocks of audio through the graph of `img`; what came out is in `out`. */
static uint32_t run(const uint8_t *img, uint32_t bytes, uint8_t *out, size_t size)
{
    uint32_t n = 0;
    rig_open(&rig, 4096, 8192);
    rig_load(&rig, img, bytes);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    for (unsigned io = 0; io < TW_COUNT(rig.out_bytes); io++) {
        const uint32_t got = rig.out_bytes[io];
        assert_true(n + got <= size);
        memcpy(out + n, rig.out[io], got);
        n += got;
    }
    rig_close(&rig);
    return n;
}

static void a_wide_image_runs_like_the_same_one_that_is_not(void **state)
{
    (void)state;
    static uint8_t a[65536], b[65536];
    build();
    const uint32_t n = run(narrow, narrow_bytes, a, sizeof a);
    assert_true(n > 0);
    assert_int_equal(run(good, good_bytes, b, sizeof b), n);
    assert_memory_equal(a, b, n);
}

static void ends_are_told_as_the_wire_knows_them(void **state)
{
    (void)state;
    build();
    rig_open(&rig, 4096, 8192);
    rig_load(&rig, good, good_bytes);
    tw_engine_arc_t arc;
    assert_int_equal(tw_engine_arc(rig.engine, 0, &arc), TW_OK);
    assert_int_equal(arc.from_node, 0xFFFF);
    assert_int_equal(arc.to_node, 0);
    rig_close(&rig);
}

typedef enum base { HEADER, NODE, ARC } base_t;
static const struct {
    const char *why;
    base_t base;
    uint32_t index, word;
    unsigned hi, lo;
    uint32_t value;
    tw_err_t err;
    uint32_t section, place; /* in words from the record */
} rows[] = {
    {"bits beside an arc of a node", NODE, 0, 4, 31, 20, 1, TW_E_IMG_RESERVED, TW_SEC_NODES, 4},
    {"an arc that is not there", NODE, 0, 4, 15, 0, 4096, TW_E_IMG_ARC_ENDS, TW_SEC_ARCS, 3},
    {"receive arc marked transmit", NODE, 0, 4, 16, 16, 1, TW_E_IMG_ARC_ENDS, TW_SEC_NODES, 4},
    {"lock on an arc with data", NODE, 0, 5, 19, 19, 1, TW_E_IMG_ARC_ENDS, TW_SEC_NODES, 5},
    {"bits beside the ports", ARC, 1, 7, 31, 24, 1, TW_E_IMG_RESERVED, TW_SEC_ARCS, 0},
    {"producer is another node", ARC, 1, 3, 15, 0, 1, TW_E_IMG_ARC_ENDS, TW_SEC_ARCS, 3},
    {"consumer beyond 12 bits is no node", ARC, 1, 3, 31, 16, 0x1001, TW_E_IMG_ARC_ENDS, TW_SEC_ARCS, 3},
    {"FFF is a node number like any other", ARC, 0, 3, 15, 0, 0xFFF, TW_E_IMG_IO, TW_SEC_IOS, 1},
    {"producer port", ARC, 1, 7, 19, 16, 0, TW_E_IMG_ARC_ENDS, TW_SEC_ARCS, 3},
    {"consumer port", ARC, 1, 7, 23, 20, 1, TW_E_IMG_ARC_ENDS, TW_SEC_ARCS, 3},
    {"both ends the IO", ARC, 1, 3, 31, 0, 0xFFFFFFFF, TW_E_IMG_ARC_ENDS, TW_SEC_ARCS, 3},
    {"not wide after all", HEADER, 0, 7, 14, 14, 0, TW_E_IMG_NODE, TW_SEC_NODES, 0},
};

static uint32_t base_at(base_t base, uint32_t index)
{
    return base == HEADER ? 0 : base == NODE ? tw_image_node(good, index) : tw_img_arc(good, index);
}

static uint32_t place_of(uint32_t i)
{
    if (rows[i].section == TW_SEC_ARCS && rows[i].base == NODE) {
        return tw_img_arc(good, rows[i].index) + 4 * rows[i].place; /* the arc is looked at first */
    }
    if (rows[i].section == TW_SEC_IOS) {
        return tw_image_section(good, TW_SEC_IOS) + 4 * rows[i].place;
    }
    return base_at(rows[i].base, rows[i].index) + 4 * rows[i].place;
}

static void each_mistake_has_its_code_and_its_place(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    build();
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault;
        memcpy(bad, good, good_bytes);
        tw_image_poke(bad, base_at(rows[i].base, rows[i].index) + 4 * rows[i].word, rows[i].hi, rows[i].lo,
                      rows[i].value);
        tw_image_fix(bad, good_bytes);
        const tw_err_t err = tw_engine_prime(rig.engine, bad, good_bytes, false, &fault);
        const bool placed = rows[i].base == HEADER || (fault.section == rows[i].section + 1 && fault.at == place_of(i));
        if (rows[i].base == HEADER ? err == TW_OK : err != rows[i].err || !placed) {
            fail_msg("%s: %s in section %u at %u, expected %s in %u at %u", rows[i].why, tw_err_name(err),
                     (unsigned)fault.section, (unsigned)fault.at, tw_err_name(rows[i].err), rows[i].section + 1,
                     place_of(i));
        }
        if (err == TW_OK) {
            tw_engine_unprime(rig.engine);
        }
    }
    rig_close(&rig);
}

static void structure_is_checked_without_a_device(void **state)
{
    (void)state;
    static uint64_t memory[1 << 14];
    tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0};
    tw_fault_t fault;
    build();
    assert_int_equal(tw_graph_check_structure(good, good_bytes, &arena, &fault), TW_OK);
    assert_int_equal(arena.used, 0);
    /* a type nobody has is no matter of structure */
    memcpy(bad, good, good_bytes);
    tw_image_poke(bad, tw_image_node(bad, 0) + 8, 31, 0, 0x12345678);
    tw_image_fix(bad, good_bytes);
    assert_int_equal(tw_graph_check_structure(bad, good_bytes, &arena, &fault), TW_OK);
    tw_image_poke(bad, tw_img_arc(bad, 1) + 12, 15, 0, 9);
    tw_image_fix(bad, good_bytes);
    assert_int_equal(tw_graph_check_structure(bad, good_bytes, &arena, &fault), TW_E_IMG_ARC_ENDS);
    assert_int_equal(fault.at, tw_img_arc(good, 1) + 12);
}

/* ---- as large as the compiler makes them ------------------------------------------------------ */

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n + 1);
    memcpy(copy, ctx, *n);
    return copy;
}

/* `n` amplifiers at 0 dB one after the other: what comes out is what went in. */
static char *chain_text(unsigned n)
{
    const size_t size = 300 + (size_t)n * 160;
    char *text = malloc(size);
    int at = snprintf(text, size,
                      "format 0\n format_frame_length 32\n format_sampling_rate 16000\nstream_io 0\n"
                      " stream_io_hwid 0\nstream_io 1\n stream_io_hwid 6\n"
                      "arc_input 0 arm_stream_amplifier 0 0 0\n");
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

static tw_graphc_out_t *compile_chain(unsigned n)
{
    static tw_platform_t platform;
    tw_graphc_out_t *out = calloc(1, sizeof *out);
    char *text = chain_text(n);
    const tw_text_source_t src = {text, read_text};
    assert_true(tw_platform_read(&platform, "examples/platform/top_manifest_computer.txt", &out->diags));
    assert_true(g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, out));
    tw_platform_free(&platform);
    free(text);
    return out;
}

static void ten_thousand_nodes_load_and_run(void **state)
{
    (void)state;
    enum { NODES = 10000, BYTES = 16 << 20 };
    static tw_graph_t g;
    tw_fault_t fault;
    tw_graphc_out_t *out = compile_chain(NODES);
    assert_true(tw_img_wide(out->image));
    rig_board(&rig);
    rig.ios[4].direction = 0;
    rig.board.platform_id = tw_img_word(out->image, 0, TW_W_PLATFORM);
    tw_arena_t arena = {malloc(BYTES), BYTES, 0};
    assert_int_equal(tw_graph_check(out->image, out->bytes, &rig.board, &arena, &fault), TW_OK);
    const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
    assert_int_equal(tw_graph_load(&g, out->image, &env, &arena, &fault), TW_OK);
    assert_int_equal(g.n_nodes, NODES);
    assert_int_equal(g.nodes[NODES - 1].refs[1].arc, NODES);
    tw_graph_block(&g, 0);
    assert_int_equal(rig.out_bytes[6], 32);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(tw_get_le16(rig.out[6] + 2 * i), i);
    }
    uint32_t n = 0;
    const char *name = tw_graph_symbol(out->image, TW_SYM_NODE, 9999, &n);
    assert_int_equal(n, strlen("amplifier.9999"));
    assert_memory_equal(name, "amplifier.9999", n);
    tw_graph_stop(&g);
    free(arena.base);
    tw_graphc_free(out);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_image_runs_like_the_same_one_that_is_not),
        cmocka_unit_test(ends_are_told_as_the_wire_knows_them),
        cmocka_unit_test(each_mistake_has_its_code_and_its_place),
        cmocka_unit_test(structure_is_checked_without_a_device),
        cmocka_unit_test(ten_thousand_nodes_load_and_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
