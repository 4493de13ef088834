/* What an image says besides the graph: parameters' metadata and memory fills, written, read back, and refused when
 * they are wrong. */
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"
#define IO                                                                                              \
    "format 0\n format_frame_length 96\n format_sampling_rate 48000\nformat 1\n format_raw_data FP32\n" \
    " format_frame_length 192\n format_sampling_rate 48000\nstream_io 0\n stream_io_hwid 4\n"           \
    "stream_io 1\n stream_io_hwid 6\nstream_io 2\n stream_io_hwid 0\n stream_io_format 1\n"             \
    "stream_io 3\n stream_io_hwid 9\n stream_io_format 1\n"
/* two variants of one type, two nodes of one variant, and a type without parameters */
#define GRAPH                                                                                                   \
    IO "node arm_stream_filter 0\n_end_\nnode arm_stream_filter 1\n_end_\nnode arm_stream_amplifier 0\n_end_\n" \
       "node arm_stream_filter 2\n_end_\nnode arm_stream_script 0\n script_code\n1 h16; C000\n_end_\n_end_\n"   \
       "arc_input 0 arm_stream_filter 0 0 0\narc arm_stream_filter 0 1 0 arm_stream_filter 1 0 0\n"             \
       "arc_output 1 arm_stream_filter 1 1 0\n mem_fill_pattern 0x11223344\n"                                   \
       "arc_input 2 arm_stream_amplifier 0 0 1\n"                                                               \
       "arc arm_stream_amplifier 0 1 1 arm_stream_filter 2 0 1\n arc_jitter_ctrl 3\n mem_fill_pattern 5\n"      \
       "arc_output 3 arm_stream_filter 2 1 1\n"

static tw_platform_t platform;
static tw_graphc_out_t out;
static uint8_t bad[16384];

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n + 1);
    memcpy(copy, ctx, *n);
    return copy;
}

static int compile_graph(void **state)
{
    (void)state;
    static char text[] = "memory_fill 0xA5A5A5A5\n" GRAPH;
    const tw_text_source_t src = {text, read_text};
    tw_diags_t *d = calloc(1, sizeof *d);
    bool ok = tw_platform_read(&platform, PLATFORM, d);
    free(d);
    ok = ok && g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out);
    for (unsigned i = 0; i < out.diags.n; i++) {
        print_error("%u:%u %s\n", out.diags.rows[i].line, out.diags.rows[i].col, out.diags.rows[i].text);
    }
    return ok && out.bytes <= sizeof bad ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    tw_graphc_free(&out);
    tw_platform_free(&platform);
    return 0;
}

static uint32_t extension(const uint8_t *img, uint32_t type, uint32_t *bytes)
{
    const tw_img_section_t ext = tw_img_section(img, TW_SEC_EXT);
    uint32_t at = ext.at, found, payload;
    while (tw_img_next_ext(img, &at, ext.at + ext.bytes, &found, &payload, bytes)) {
        if (found == type) {
            return payload;
        }
    }
    fail_msg("no such extension");
    return 0;
}

/* Byte offset of table `number`, from 1. */
static uint32_t table_at(const uint8_t *img, uint32_t number)
{
    uint32_t bytes, at = extension(img, TW_EXT_META, &bytes) + 4;
    for (uint32_t i = 1; i < number; i++) {
        at += 4 * tw_bits(tw_img_word(img, at, 1), TW_MT_WORDS);
    }
    return at;
}

static double f64_at(const uint8_t *p)
{
    double v;
    const uint64_t bits = tw_get_le64(p);
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void expect_row(const uint8_t *row, const tw_param_desc_t *p)
{
    assert_int_equal(row[0], p->index);
    assert_int_equal(row[1], p->raw);
    assert_int_equal(row[2], p->unit);
    assert_int_equal(row[3], p->flags);
    assert_int_equal(tw_get_le16(row + 4), p->count);
    assert_int_equal(row[6], strlen(p->name));
    assert_memory_equal(row + 40, p->name, strlen(p->name));
    const double want[] = {p->min, p->max, p->dflt, p->step};
    for (unsigned i = 0; i < 4; i++) {
        assert_true(f64_at(row + 8 + 8 * i) == want[i]);
    }
}

static void tables_say_what_the_node_library_says(void **state)
{
    (void)state;
    static const uint8_t tables[] = {1, 1, 2, 3,
                                     0}; /* in schedule order: S16 filters, amplifier, FP32 filter, script */
    for (uint32_t node = 0; node < 5; node++) {
        const uint32_t record = tw_img_node(out.image, node);
        const uint32_t number = tw_bits(tw_img_word(out.image, record, 3), TW_N3_META);
        assert_int_equal(number, tables[node]);
        if (number == 0) {
            continue;
        }
        const uint32_t at = table_at(out.image, number);
        const tw_node_desc_t *d = tw_node_find(tw_img_word(out.image, record, 2));
        const tw_format_t f = {.raw = node < 2 ? TW_RAW_S16 : TW_RAW_FP32, .channels = 1};
        uint32_t n = 0;
        const tw_param_desc_t *rows = d->params(&f, &n);
        assert_int_equal(tw_img_word(out.image, at, 0), d->hash);
        assert_int_equal(tw_bits(tw_img_word(out.image, at, 1), TW_MT_ROWS), n);
        uint32_t row = at + 8;
        for (uint32_t i = 0; i < n; i++) {
            expect_row(out.image + row, &rows[i]);
            row += 40 + tw_round_up(out.image[row + 6], 4);
        }
        assert_int_equal(row, at + 4 * tw_bits(tw_img_word(out.image, at, 1), TW_MT_WORDS));
    }
}

static void whole_numbers_step_by_one_and_others_not_at_all(void **state)
{
    (void)state;
    uint32_t types;
    const tw_node_desc_t *const *library = tw_node_catalogue(&types);
    unsigned seen = 0;
    for (uint32_t t = 0; t < types; t++) {
        for (unsigned raw = 0; raw < 2 && library[t]->params != NULL; raw++) {
            const tw_format_t f = {.raw = raw ? TW_RAW_FP32 : TW_RAW_S16, .channels = 1};
            uint32_t n = 0;
            const tw_param_desc_t *rows = library[t]->params(&f, &n);
            for (uint32_t i = 0; rows != NULL && i < n; i++) {
                const bool whole = rows[i].raw != TW_RAW_FP32 && rows[i].raw != TW_RAW_FP64;
                assert_true(rows[i].step == (whole ? 1 : 0));
                seen++;
            }
        }
    }
    assert_true(seen > 30);
}

/* ---- fills ------------------------------------------------------------------------------- */

static void memory_holds_the_patterns_at_load(void **state)
{
    (void)state;
    static uint64_t memory[1 << 14], scratch[1 << 14];
    static rig_t rig;
    static tw_graph_t g;
    tw_fault_t fault;
    rig_open(&rig, 4096, 8192);
    tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0}, temp = {(uint8_t *)scratch, sizeof scratch, 0};
    assert_int_equal(tw_graph_check_structure(out.image, out.bytes, &temp, &fault), TW_OK);
    const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
    assert_int_equal(tw_graph_load(&g, out.image, &env, &arena, &fault), TW_OK);
    static const struct {
        uint32_t arc, word;
    } rows[] = {{0, 0xA5A5A5A5}, {2, 0x11223344}, {4, 5}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        for (uint32_t at = 0; at + 4 <= g.arcs[rows[i].arc].size; at += 4) {
            assert_int_equal(tw_get_le32(g.arcs[rows[i].arc].buf + at), rows[i].word);
        }
    }
    tw_graph_stop(&g);
    rig_close(&rig);
}

/* ---- refusals ----------------------------------------------------------------------------- */

typedef enum base { META, TABLE2, ROW, INIT, NODE } base_t;
static const struct {
    const char *why;
    base_t base;
    uint32_t word;
    unsigned hi, lo;
    uint32_t value;
    tw_err_t err;
    uint32_t place; /* in words from the base */
} rows[] = {
    {"bits beside the number of tables", META, 0, 31, 16, 1, TW_E_IMG_META, 0},
    {"fewer tables than there are", META, 0, 15, 0, 2, TW_E_IMG_META, 0},
    {"more tables than there are", META, 0, 15, 0, 4, TW_E_IMG_META, 0xFFFF},
    {"a table of one word", TABLE2, 1, 31, 16, 1, TW_E_IMG_META, 1},
    {"a table beyond the end", TABLE2, 1, 31, 16, 0xFFFF, TW_E_IMG_META, 1},
    {"more parameters than the table holds", TABLE2, 1, 15, 0, 0xFFFF, TW_E_IMG_META, 0xFFFF},
    {"fewer parameters than the table holds", TABLE2, 1, 15, 0, 1, TW_E_IMG_META, 1},
    {"raw type 52", ROW, 0, 15, 8, 52, TW_E_IMG_META, 0},
    {"unit 107", ROW, 0, 23, 16, 107, TW_E_IMG_META, 0},
    {"no elements", ROW, 1, 15, 0, 0, TW_E_IMG_META, 1},
    {"no name", ROW, 1, 23, 16, 0, TW_E_IMG_META, 1},
    {"name of 32 characters", ROW, 1, 23, 16, 32, TW_E_IMG_META, 1},
    {"bits beside the name", ROW, 1, 31, 24, 1, TW_E_IMG_META, 1},
    {"a minimum that is no number", ROW, 3, 31, 0, 0x7FF80000, TW_E_IMG_META, 2},
    {"a maximum that is infinite", ROW, 5, 31, 0, 0x7FF00000, TW_E_IMG_META, 4},
    {"a step that is no number", ROW, 9, 31, 0, 0xFFFFFFFF, TW_E_IMG_META, 8},
    {"a blank in a name", ROW, 10, 7, 0, ' ', TW_E_IMG_META, 10},
    {"a node of a table that is not there", NODE, 3, 7, 0, 9, TW_E_IMG_META, 3},
    {"a node of another type's table", NODE, 3, 7, 0, 2, TW_E_IMG_META, 3},
    {"bits beside the bank", INIT, 0, 31, 8, 1, TW_E_IMG_INIT, 0},
    {"no such bank", INIT, 0, 7, 0, 77, TW_E_IMG_INIT, 0},
    {"fill beyond its bank", INIT, 2, 31, 0, 0x7FFFFFFF, TW_E_IMG_INIT, 1},
    {"fill at the end of the world", INIT, 1, 31, 0, 0xFFFFFFFF, TW_E_IMG_INIT, 1},
};

static uint32_t base_at(base_t base)
{
    uint32_t bytes;
    switch (base) {
    case META:
        return extension(out.image, TW_EXT_META, &bytes);
    case TABLE2:
        return table_at(out.image, 2);
    case ROW:
        return table_at(out.image, 1) + 8;
    case INIT:
        return extension(out.image, TW_EXT_INIT, &bytes);
    case NODE:
        return tw_img_node(out.image, 0);
    }
    return 0;
}

static tw_err_t check(const uint8_t *img, tw_fault_t *fault)
{
    static uint64_t scratch[1 << 14];
    tw_arena_t arena = {(uint8_t *)scratch, sizeof scratch, 0};
    return tw_graph_check_structure(img, out.bytes, &arena, fault);
}

static void each_mistake_has_its_code_and_its_place(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault;
        const uint32_t at = base_at(rows[i].base);
        memcpy(bad, out.image, out.bytes);
        tw_image_poke(bad, at + 4 * rows[i].word, rows[i].hi, rows[i].lo, rows[i].value);
        tw_image_fix(bad, out.bytes);
        const tw_err_t err = check(bad, &fault);
        const uint32_t section = (rows[i].base == NODE ? TW_SEC_NODES : TW_SEC_EXT) + 1;
        const bool placed = rows[i].place == 0xFFFF || fault.at == at + 4 * rows[i].place;
        if (err != rows[i].err || fault.section != section || !placed) {
            fail_msg("%s: %s in section %u at %u, expected %s in %u at %u", rows[i].why, tw_err_name(err),
                     (unsigned)fault.section, (unsigned)fault.at, tw_err_name(rows[i].err), section,
                     at + 4 * rows[i].place);
        }
    }
}

/* Of two tables some readers would take the first and others the second. */
static void a_second_extension_of_a_kind_is_refused(void **state)
{
    (void)state;
    tw_fault_t fault;
    uint32_t bytes;
    memcpy(bad, out.image, out.bytes);
    const uint32_t at = extension(bad, TW_EXT_INIT, &bytes) - 8;
    tw_put_le32(bad + at, TW_EXT_SYMB);
    tw_image_fix(bad, out.bytes);
    assert_int_equal(check(bad, &fault), TW_E_IMG_EXT);
    assert_int_equal(fault.at, at);
    tw_put_le32(bad + at, 0x58585858); /* a stranger is skipped */
    tw_image_fix(bad, out.bytes);
    assert_int_equal(check(bad, &fault), TW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_say_what_the_node_library_says),
        cmocka_unit_test(whole_numbers_step_by_one_and_others_not_at_all),
        cmocka_unit_test(memory_holds_the_patterns_at_load),
        cmocka_unit_test(each_mistake_has_its_code_and_its_place),
        cmocka_unit_test(a_second_extension_of_a_kind_is_refused),
    };
    return cmocka_run_group_tests(tests, compile_graph, free_graph);
}
