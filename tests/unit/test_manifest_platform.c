/* Top manifests of all layouts, processor and memory maps, the first generation's platform. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct file {
    const char *path, *text;
} file_t;

static char *read_memory(void *ctx, const char *path, size_t *n)
{
    for (const file_t *f = ctx; f->path != NULL; f++) {
        if (strcmp(f->path, path) == 0) {
            *n = strlen(f->text);
            char *copy = malloc(*n + 1);
            memcpy(copy, f->text, *n);
            return copy;
        }
    }
    return NULL;
}

#define MAP "1 1 1\n0 0 1 0 0 0 0 65536 0\n1 1 15\n"
static tw_platform_t p;
static tw_diags_t d;

/* A platform of one map, one IO and one node manifest, both named from the top manifest. */
static bool read_top(const char *top, const char *map)
{
    file_t files[] = {{"p/top.txt", top},
                      {"p/map.txt", map},
                      {"p/platform_manifest.txt", map},
                      {"p/in.txt", "mic\naudio_in\n"},
                      {"p/out.txt", "line\naudio_out\n"},
                      {"p/node.txt", "ACME\nacme_x\n"},
                      {"nodes/node2.txt", "ACME\nacme_y\n"},
                      {NULL, NULL}};
    const tw_text_source_t src = {files, read_memory};
    tw_platform_free(&p);
    d = (tw_diags_t){0};
    return tw_platform_read_from(&p, "p/top.txt", &src, &d);
}

static int free_platform(void **state)
{
    (void)state;
    tw_platform_free(&p);
    return 0;
}

static void must(const char *top, const char *map)
{
    if (!read_top(top, map)) {
        fail_msg("%s:%u:%u %s", d.rows[0].file, d.rows[0].line, d.rows[0].col, d.rows[0].text);
    }
}

/* ---- processors and memory ------------------------------------------------------------- */

static void test_S0_L598_a_map_has_banks_then_processors(void **state)
{
    (void)state;
    must("1\n./\n0 map.txt\n0\n0\n", "1 2 2\n0 0 1 0 0 0 0 95526 10 default\n2 5 3 1 1 1 2 1024 262144 TCM\n"
                                     "1 1 15 main\n2 0 4\n");
    assert_int_equal(p.n_banks, 2);
    const tw_bank_manifest_t *b = &p.banks[1];
    assert_true(b->id == 2 && b->vid == 5 && b->speed == 3 && b->type == 1 && b->is_private && b->dma && b->prog == 2);
    assert_true(b->bytes == 1024 && b->offset == 262144 && b->swap == 255);
    assert_true(p.n_procs == 2 && p.processors == 3 && p.services == 15 && p.procs[1].services == 4);
}

/* W 2 is kept over a restart: the image's type 3. */
static void test_S0_L602_retention_is_the_images_backup(void **state)
{
    (void)state;
    must("1\n./\n0 map.txt\n0\n0\n", "1 1 2\n0 0 1 0 0 0 0 100 0\n1 10 0 2 0 0 0 1024 0\n1 1 0\n");
    assert_int_equal(p.banks[1].type, 3);
}

/* "up to 8 IDs" there, 7 banks in S1 L258; here four bits, and a VID up to 254. */
static void test_S0_L554_bank_ids_have_four_bits(void **state)
{
    (void)state;
    must("1\n./\n0 map.txt\n0\n0\n", "1 1 1\n15 254 1 0 0 0 0 100 0\n1 1 0\n");
    assert_true(p.banks[0].id == 15 && p.banks[0].vid == 254);
    assert_false(read_top("1\n./\n0 map.txt\n0\n0\n", "1 1 1\n16 0 1 0 0 0 0 100 0\n1 1 0\n"));
    assert_string_equal(d.rows[0].text, "base offset ID is 16, allowed 0..15");
    assert_false(read_top("1\n./\n0 map.txt\n0\n0\n", "1 1 1\n0 255 1 0 0 0 0 100 0\n1 1 0\n"));
    assert_string_equal(d.rows[0].text, "VID is 255, allowed 0..254");
}

/* The nine banks, restored where the scan lost digits. The default one overlaps the others: what may not overlap
 * is what is allocated. */
static void test_S0_L612_banks_may_overlap(void **state)
{
    (void)state;
    static const struct {
        uint8_t id, vid, speed, type, is_private, prog;
        uint32_t bytes, offset;
    } banks[] = {
        {0, 0, 1, 0, 0, 0, 95526, 10},     {0, 1, 0, 0, 0, 0, 65526, 10},      {0, 2, 0, 0, 0, 0, 30000, 65536},
        {0, 3, 0, 1, 0, 0, 15000, 95536},  {0, 4, 0, 1, 0, 0, 256000, 262144}, {2, 5, 3, 1, 1, 0, 1024, 262144},
        {1, 10, 0, 3, 0, 0, 1024, 524288}, {3, 20, 0, 0, 0, 0, 200000, 10},    {2, 8, 3, 1, 1, 1, 16384, 0},
    };
    must("1\n./\n0 map.txt\n0\n0\n",
         "1 1 9\n0 0 1 0 0 0 0 95526 10\n0 1 0 0 0 0 0 65526 10\n0 2 0 0 0 0 0 30000 65536\n"
         "0 3 0 1 0 0 0 15000 95536\n0 4 0 1 0 0 0 256000 262144\n2 5 3 1 1 0 0 1024 262144\n"
         "1 10 0 2 0 0 0 1024 524288\n3 20 0 0 0 0 0 200000 10\n2 8 3 1 1 0 1 16384 0\n1 1 15\n");
    assert_int_equal(d.n, 0);
    assert_int_equal(p.n_banks, TW_COUNT(banks));
    for (size_t i = 0; i < TW_COUNT(banks); i++) {
        const tw_bank_manifest_t *b = &p.banks[i];
        if (b->id != banks[i].id || b->vid != banks[i].vid || b->speed != banks[i].speed || b->type != banks[i].type ||
            b->is_private != banks[i].is_private || b->prog != banks[i].prog || b->bytes != banks[i].bytes ||
            b->offset != banks[i].offset || b->dma != 0) {
            fail_msg("bank %zu: VID %u, %u bytes at %u", i, b->vid, b->bytes, b->offset);
        }
    }
}

/* The fifteen of the services are four bits: MATH, DSPML, AUDIO, IMAGE. */
static void test_S0_L641_services_are_a_bit_field(void **state)
{
    (void)state;
    must("1\n./\n0 map.txt\n0\n0\n", "1 2 0\n1 0 1\n2 1 15\n");
    assert_true(p.services == 15 && p.procs[0].services == 1 && p.procs[1].is_main);
}

static void base_addresses_may_follow_the_banks(void **state)
{
    (void)state;
    must("1\n./\n0 map.txt\n0\n0\n", "1 1 1 2\n0 0 1 0 0 0 0 540 0\n0 h20000000 RAM\n3 h08000000 flash\n1 1 0\n");
    assert_true(p.has_base == 9 && p.bases[0] == 0x20000000 && p.bases[3] == 0x08000000);
    must("1\n./\n0 map.txt\n0\n0\n", "2 1 1 1\n0 0 1 0 0 0 0 540 0\n1 1 0 2\n");
    assert_int_equal(p.procs[0].arch, 2);
    assert_string_equal(d.rows[0].text, "1 base addresses fewer than the first line says");
}

/* ---- layouts of the top manifest ---------------------------------------------------------- */

static void test_S0_L558_the_order_is_paths_map_ios_nodes(void **state)
{
    (void)state;
    must("2\n./\n../nodes/\n0 map.txt path index + file\n2\n;Path Manifest index ProcCtrl clock\n0 in.txt 4 1 0 mic\n"
         "0 out.txt 6 2 3\n2 nodes\n0 node.txt /* 1 */\n1 node2.txt\n",
         MAP);
    assert_true(p.n_ios == 2 && p.n_nodes == 2 && p.ios[1].hwid == 6 && p.ios[1].proc_mask == 2);
    assert_true(p.ios[1].clock_domain == 3 && p.ios[0].direction == 0 && p.ios[1].direction == 1);
    assert_string_equal(p.nodes[1].name, "acme_y");
}

/* The scan repeats audio_in with index 4: an index twice is an error that names the first. */
static void test_S0_L581_an_index_is_of_one_io(void **state)
{
    (void)state;
    assert_false(read_top("1\n./\n0 map.txt\n2\n0 in.txt 4 1 0\n0 in.txt 4 1 0\n0\n", MAP));
    assert_true(d.rows[0].line == 6 && d.rows[0].col == 10);
    assert_string_equal(d.rows[0].text, "IO index 4 is used by 'mic' already");
    assert_true(d.n == 2 && d.rows[1].note && d.rows[1].line == 5);
}

static void nodes_may_go_without_their_number(void **state)
{
    (void)state;
    must("2\n./\n../nodes/\n0 map.txt\n0\n0 node.txt /* 0 */\n1 node2.txt\nend\nmore words\n", MAP);
    assert_int_equal(p.n_nodes, 2);
}

#define PROCESSORS                                                                                          \
    "2 paths\n1 ../nodes/\n0 ./\n2 processors\n2 shared memories\n0 8000 1 0 0 -1 shared\n1 4000 3 1 2 7\n" \
    "1 1 1 1 15 1\n5 1000 0 2 1 -1 TCM\n0 in.txt 4 microphone\n"                                            \
    "2 1 0 0 3 1\n0 out.txt 6\n0 node.txt 0 1 12 everywhere\n1 node2.txt 2 1 13\nend ; of the manifest\n"

/* Processors, shared memory MEMID SIZE A S T, the IOs of each processor, nodes with PROC ARCH ID. */
static void the_layout_with_processors_is_read(void **state)
{
    (void)state;
    must(PROCESSORS, MAP);
    assert_int_equal(d.n, 0);
    assert_true(p.n_banks == 3 && p.n_procs == 2 && p.processors == 3 && p.services == 15);
    assert_true(p.banks[0].bytes == 8000 && p.banks[0].speed == 1 && p.banks[0].type == 0 && !p.banks[0].is_private);
    assert_true(p.banks[1].prog == 1 && p.banks[1].speed == 2 && p.banks[1].type == 1 && p.banks[1].swap == 7);
    assert_true(p.banks[2].is_private && p.banks[2].proc == 1 && p.banks[2].speed == 3 && p.banks[2].type == 3);
    assert_true(p.n_ios == 2 && p.ios[0].proc_mask == 1 && p.ios[1].proc_mask == 2 && p.ios[1].hwid == 6);
    assert_true(p.nodes[0].on_proc == 0 && p.nodes[0].on_arch == 1 && p.nodes[0].type_id == 12);
    assert_true(p.nodes[1].on_proc == 2 && strcmp(p.nodes[1].name, "acme_y") == 0);
    const uint32_t id = p.id;
    must("1\n./\n1\n1\n0 8000 1 0 0\n1 1 1 0 15 0\nend\n", MAP);
    assert_int_not_equal(p.id, id);
}

static void the_default_bank_is_never_only_backup(void **state)
{
    (void)state;
    must("1\n0 ./\n1\n1\n0 8000 1 0 1 -1\n1 1 1 0 15 0\n", MAP);
    assert_int_equal(p.banks[0].type, 0);
    assert_string_equal(d.rows[0].text, "bank 0 holds the graph: kept over a restart, it is used as static memory too");
}

#define E1_MAP "1 1\n1 1 2 1 2 processor\n31\n0 h20000000\n2 h08000000\n0 0 1 0 0 0 0 95526 10\n2 7 0 0 0 0 0 2000 10\n"

static void the_first_generations_list_of_files_is_read(void **state)
{
    (void)state;
    must("1\n./\n0 platform_manifest.txt\n2 IOs\n0 in.txt 3 audio in\n0 io_line_out_0.txt 5\n1 nodes\n0 node.txt\n"
         "1 5 3 0\n",
         E1_MAP);
    assert_true(p.n_banks == 2 && p.services == 31 && p.has_base == 5 && p.n_ios == 2 && p.n_nodes == 1);
    assert_true(p.ios[0].hwid == 3 && p.ios[1].hwid == 5 && p.ios[1].direction == 1 && p.ios[1].domain == 0);
    assert_string_equal(p.ios[1].name, "io_line_out_0");
    assert_true(p.io_of_domain[1] == 1 && p.io_of_domain[2] == 5 && p.io_of_domain[4] == 0);
    assert_true(d.errors == 0 && d.n == 2);
    assert_string_equal(d.rows[0].text, "cannot read 'p/io_line_out_0.txt'; nothing is known of this IO but its name");
}

static void the_older_head_has_four_numbers_and_rows_count_by_shape(void **state)
{
    (void)state;
    must("1\n./\n0 platform_manifest.txt\n0\n0\n", "1 1\n1 3 8 1 id\n31\n0 h20000000\n0 0 1 0 0 0 0 95526 10\n");
    assert_true(p.n_banks == 1 && p.procs[0].is_main && p.services == 31);
    assert_string_equal(d.rows[0].text, "3 base addresses and 8 banks announced, 1 and 1 listed");
}

static void paths_of_another_root_are_tried_above(void **state)
{
    (void)state;
    must("2\n./\n../../../nodes/\n0 map.txt\n0\n1\n1 node2.txt\n", MAP);
    assert_int_equal(p.n_nodes, 1);
    assert_string_equal(d.rows[0].text,
                        "paths do not begin at this file's folder: 'node2.txt' is read from 'nodes/node2.txt'");
}

static void wrong_platforms_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *top, *map;
        unsigned line, col;
        const char *says;
    } cases[] = {
        {"17\n", MAP, 1, 1, "number of paths is 17, allowed 0..16"},
        {"2\n./\n", MAP, 3, 0, "file ends, expected a path"},
        {"2\n0 ./\n0 ../\n", MAP, 3, 1, "path index 0, expected one of 0..1 that has no path yet"},
        {"2\n0 ./\n2 ../\n", MAP, 3, 1, "path index 2, expected one of 0..1 that has no path yet"},
        {"1\n./\n0 none.txt\n", MAP, 3, 3, "cannot read 'p/none.txt'"},
        {"1\n./\n0 map.txt\n1\n0 none.txt 1 1 0\n", MAP, 5, 3, "cannot read 'p/none.txt'"},
        {"1\n./\n0 map.txt\n0\n", MAP, 5, 0, "file ends, expected number of nodes"},
        {"1\n./\n0 map.txt\n", "1 1 2\n0 0 1 0 0 0 0 1 0\n0 0 1 0 0 0 0 1 0\n1 1 0\n", 3, 1, "VID 0 is declared twice"},
        {"1\n./\n0 map.txt\n", "1 2 0\n1 1 0\n1 0 0\n", 3, 1, "processor 1 of architecture 1 is declared twice"},
        {"1\n./\n0 map.txt\n", "1 1 0\n33 1 0\n", 2, 1, "processor ID is 33, allowed 1..32"},
        {"1\n./\n0 map.txt\n", "1 1 0 1\n0 hzz\n1 1 0\n", 2, 3, "expected an address as h20000000, found 'hzz'"},
        {"1\n./\n1\n1\n0 8000 5 0 0\n", MAP, 5, 8, "access A is 5, allowed 0..4"},
        {"1\n./\n1\n1\n0 8000 1 0\n", MAP, 5, 11, "expected a value for type T"}, /* once refused without a word */
        {"1\n./\n1\n0\n0 1 1 0 15 0\n", MAP, 5, 1, "processor ID is 0, allowed 1..32"},
        {"1\n./\n1\n0\n1 1 1 0 15 0\n0 node.txt 0 1\n", MAP, 6, 15, "expected a value for number of the node"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_diag_t *r = &d.rows[0];
        if (read_top(cases[i].top, cases[i].map) || r->line != cases[i].line || r->col != cases[i].col ||
            strcmp(r->text, cases[i].says) != 0) {
            fail_msg("case %zu: %u:%u %s", i, r->line, r->col, r->text);
        }
        assert_true(p.ios == NULL && p.nodes == NULL && p.n_banks == 0);
    }
}

/* ---- public platforms ------------------------------------------------------------------------ */

#define E1 "../shared/corpus/graphs/GRAPH_INTERPRETER@31fd022_2023-12-16/"
#define E2 "../shared/corpus/graphs/GRAPH_INTERPRETER@cc81572_2024-05-23/"

static bool here(const char *path)
{
    size_t n;
    char *text = tw_text_files.read(NULL, path, &n);
    free(text);
    if (text == NULL) {
        print_message("no %s here: public platforms not tried\n", path);
    }
    return text != NULL;
}

static void the_first_generations_platforms_are_read(void **state)
{
    (void)state;
    static const char *const tops[] = {
        "stream_al/platform_computer/files_manifests_computer.txt",
        "stream_al/platform_LPC55S69-DK/files_manifests_LPC55S69SDK.txt",
        "stream_al/platform_STM32C0116-DK/files_manifests_STM32C0116DK.txt",
        "stream_graph/files_manifests_computer.txt",
    };
    for (size_t i = 0; i < TW_COUNT(tops); i++) {
        char path[300];
        snprintf(path, sizeof path, E1 "%s", tops[i]);
        if (!here(path)) {
            skip();
        }
        tw_platform_free(&p);
        d = (tw_diags_t){0};
        if (!tw_platform_read(&p, path, &d)) {
            fail_msg("%s:%u:%u %s", d.rows[0].file, d.rows[0].line, d.rows[0].col, d.rows[0].text);
        }
        assert_true(p.n_ios == 10 && p.n_nodes == 2 && p.n_banks >= 8 && p.services == 31);
        assert_string_equal(p.nodes[0].name, "arm_stream_filter");
        assert_true(p.ios[4].hwid == 5 && strcmp(p.ios[4].name, "io_platform_line_out_0") == 0);
        assert_true(p.io_of_domain[1] == 1 && p.io_of_domain[16] == 6);
    }
}

static void a_node_manifest_that_is_not_there_is_a_node_less(void **state)
{
    (void)state;
    tw_platform_free(&p);
    assert_true(read_top("1\n./\n0 map.txt\n0\n2\n0 none.txt\n0 node.txt\n", MAP));
    assert_int_equal(p.n_nodes, 1);
    assert_true(d.rows[0].warning && d.rows[0].line == 6 && d.rows[0].col == 3);
    assert_string_equal(d.rows[0].text, "cannot read 'p/none.txt'; graphs cannot use this node");
}

/* It names 19 nodes; what is missing is said by name, and the others are there. */
static void the_second_generations_platform_says_what_is_missing(void **state)
{
    (void)state;
    if (!here(E2 "stream_platform/windows/manifest/top_manifest_computer.txt")) {
        skip();
    }
    static const char *const missing[] = {"swc_manifest_graph_control.txt", "swc_manifest_detector2D.txt",
                                          "swc_manifest_filter2D.txt", "swc_manifest_analysis.txt"};
    tw_platform_free(&p);
    d = (tw_diags_t){0};
    assert_true(tw_platform_read(&p, E2 "stream_platform/windows/manifest/top_manifest_computer.txt", &d));
    unsigned at = 0;
    for (unsigned i = 0; i < d.n; i++) {
        if (d.rows[i].warning && strstr(d.rows[i].text, "cannot read") != NULL) {
            assert_in_range(at, 0, TW_COUNT(missing) - 1);
            assert_non_null(strstr(d.rows[i].text, missing[at++]));
        }
    }
    assert_int_equal(at, TW_COUNT(missing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L598_a_map_has_banks_then_processors),
        cmocka_unit_test(test_S0_L602_retention_is_the_images_backup),
        cmocka_unit_test(test_S0_L554_bank_ids_have_four_bits),
        cmocka_unit_test(test_S0_L612_banks_may_overlap),
        cmocka_unit_test(test_S0_L641_services_are_a_bit_field),
        cmocka_unit_test(base_addresses_may_follow_the_banks),
        cmocka_unit_test(test_S0_L558_the_order_is_paths_map_ios_nodes),
        cmocka_unit_test(test_S0_L581_an_index_is_of_one_io),
        cmocka_unit_test(nodes_may_go_without_their_number),
        cmocka_unit_test(a_node_manifest_that_is_not_there_is_a_node_less),
        cmocka_unit_test(the_layout_with_processors_is_read),
        cmocka_unit_test(the_default_bank_is_never_only_backup),
        cmocka_unit_test(the_first_generations_list_of_files_is_read),
        cmocka_unit_test(the_older_head_has_four_numbers_and_rows_count_by_shape),
        cmocka_unit_test(paths_of_another_root_are_tried_above),
        cmocka_unit_test(wrong_platforms_are_refused_where_they_are_wrong),
        cmocka_unit_test(the_first_generations_platforms_are_read),
        cmocka_unit_test(the_second_generations_platform_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, free_platform);
}
