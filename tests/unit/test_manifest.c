/* Manifests: option sets, IO and node manifests, the platform and its identity. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define CORPUS "../shared/corpus/graphs/GRAPH_INTERPRETER@cc81572_2024-05-23/"

/* ---- option sets ----------------------------------------------------------------- */

static void option_sets_mean_what_the_language_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        tw_options_t o;
    } cases[] = {
        {"5", true, {.n = 1, .v = {5}}},
        {"{5}", true, {.n = 1, .v = {5}}},
        {"{1 5}", true, {.n = 1, .v = {5}}},
        {"{2 5 6 7}", true, {.n = 3, .def = 1, .v = {5, 6, 7}}},
        {"{1 5 6 7 }", true, {.n = 3, .v = {5, 6, 7}}},
        {"1 5 6 7", true, {.n = 3, .v = {5, 6, 7}}},
        {"0", true, {.any = 1}},
        {"{0}", true, {.any = 1}},
        {"{0 5 6}", true, {.n = 2, .any = 1, .v = {5, 6}}},
        {"{-1 2 2 6}", true, {.n = 3, .v = {2, 4, 6}}},
        {"{-4 2 2 6 10 5 20}", true, {.n = 6, .def = 3, .v = {2, 4, 6, 10, 15, 20}}},
        {"{4 5 6 7}", false, {0}},                               /* default beyond the list */
        {"{-7 2 2 6 10 5 20}", false, {0}},                      /* default beyond the ranges */
        {"{-1 2 2}", false, {0}},                                /* no triplet */
        {"{-1 2 0 6}", false, {0}},                              /* a step that never arrives */
        {"{-1 1 1 99}", true, {.any = 1, .n = 2, .v = {1, 99}}}, /* more than a set holds */
        {"{1 5 x}", false, {0}},
        {"{1 5 500}", false, {0}}, /* outside 0..100 */
        {"", false, {0}},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_diags_t d = {0};
        tw_text_t t;
        tw_options_t o = {0};
        tw_text_open(&t, "t", cases[i].text, strlen(cases[i].text), &d);
        (void)tw_text_line(&t);
        const bool ok = tw_take_options(&t, "thing", NULL, 0, 100, &o);
        const bool same = o.n == cases[i].o.n && o.def == cases[i].o.def && o.any == cases[i].o.any &&
                          memcmp(o.v, cases[i].o.v, sizeof o.v) == 0;
        if (ok != cases[i].ok || !same || (d.errors == 0) != ok) {
            fail_msg("%s: %s, n %u def %u any %u", cases[i].text, ok ? "taken" : "refused", o.n, o.def, o.any);
        }
    }
}

static void numbers_are_whole_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_int, is_num;
        double v;
    } cases[] = {
        {"0", true, true, 0},
        {"-12", true, true, -12},
        {"0x10", true, true, 16},
        {"1.5f", false, true, 1.5},
        {"-1e3", false, true, -1000},
        {"9223372036854775807", true, true, 9223372036854775807.0},
        {"-9223372036854775808", true, true, -9223372036854775808.0},
        {"9223372036854775808", false, true, 9223372036854775808.0},
        {"1x", false, false, 0},
        {"--1", false, false, 0},
        {"inf", false, false, 0},
        {"nan", false, false, 0},
        {"1e999", false, false, 0},
        {"0x", false, false, 0},
        {"-", false, false, 0},
        {"f", false, false, 0},
        {"0x1p3", false, false, 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_tok_t tok = {.p = cases[i].text, .n = (uint32_t)strlen(cases[i].text)};
        int64_t n;
        double v = 0;
        const bool is_num = tw_tok_num(&tok, &v);
        if (tw_tok_int(&tok, &n) != cases[i].is_int || is_num != cases[i].is_num || v != cases[i].v) {
            fail_msg("%s gives %g", cases[i].text, v);
        }
    }
}

static void paths_fold_and_stay(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *file, *want;
    } cases[] = {
        {"a/b", "c.txt", "a/b/c.txt"},
        {"a/b", "../c.txt", "a/c.txt"},
        {"a/b", "./../../c.txt", "c.txt"},
        {"a", "../../c", "../c"},
        {".", "c", "c"},
        {".", "../../c", "../../c"},
        {"/", "a", "/a"},
        {"/a", "..//b/", "/b"},
        {"x", "/abs", "/abs"},
        {".", ".", "."},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char out[64];
        assert_true(tw_path_join(out, sizeof out, cases[i].dir, cases[i].file));
        assert_string_equal(out, cases[i].want);
    }
    char small[8];
    assert_false(tw_path_join(small, sizeof small, "folder", "file"));
}

/* ---- one manifest ------------------------------------------------------------------ */

static bool parse_node(const char *text, tw_node_manifest_t *m, tw_diags_t *d)
{
    tw_text_t t;
    *d = (tw_diags_t){0};
    tw_text_open(&t, "node.txt", text, strlen(text), d);
    return tw_node_manifest_parse(m, &t);
}

static bool parse_io(const char *text, tw_io_manifest_t *m, tw_diags_t *d)
{
    tw_text_t t;
    *d = (tw_diags_t){0};
    tw_text_open(&t, "io.txt", text, strlen(text), d);
    return tw_io_manifest_parse(m, &t);
}

static void a_node_manifest_is_read_in_full(void **state)
{
    (void)state;
    tw_node_manifest_t m;
    tw_diags_t d;
    assert_true(
        parse_node("; head\nACME\nacme_node\nnode_nb_arcs 2 1\nnode_same_data_rate 1\nnode_node_version 203\n"
                   "node_mask_library 15\nnode_architecture armv8.1-m.main\nnode_use_arc_format 0\n"
                   "node_mem 0\nnode_mem_alloc 32\nnode_mem_nbchan 4 0\nnode_mem_sampling_rate 0.1 1\n"
                   "node_mem_frame_size 1 0\nnode_mem_alignement 16\nnode_mem_retention 2\nnode_mem_speed 2\n"
                   "node_mem_relocatable 1\nnode_mem_dataOprog1 1\nnode_mem 1\nnode_mem_alloc 8\nnode_mem_retention 1\n"
                   "node_arc 1\nnode_arc_rx0tx1 0\nnode_arc_raw_format {2 S16 FP32}\nnode_arc_nb_channels {1 1 2}\n"
                   "node_arc_sampling_rate {1 16000 44100}\n_end_\n",
                   &m, &d));
    assert_string_equal(m.developer, "ACME");
    assert_string_equal(m.name, "acme_node");
    assert_int_equal(m.rx, 2);
    assert_int_equal(m.version, 2 << 8 | 3);
    assert_int_equal(m.services, 15);
    assert_int_equal(m.arch, 5);
    assert_int_equal(m.push_format, 0);
    assert_int_equal(m.n_mem, 2);
    assert_true(m.mem[0].a == 32 && m.mem[0].b == 4 && m.mem[0].c == 0.1 && m.mem[0].c_arc == 1 && m.mem[0].d == 1);
    assert_int_equal(m.mem[0].align, 16);
    assert_int_equal(m.mem[0].type, 3);  /* kept over restart: 2 in text, 3 in images */
    assert_int_equal(m.mem[0].speed, 3); /* critical: 2 in text, 3 in images */
    assert_int_equal(m.mem[1].align, 4);
    assert_int_equal(m.mem[1].type, 1);
    assert_int_equal(m.arcs[1].raw.def, 1);
    assert_true(m.arcs[1].raw.v[1] == TW_RAW_FP32);
    assert_true(m.arcs[0].raw.v[0] == TW_RAW_S16 && m.arcs[0].rate_hz.any);
    assert_int_equal(m.arcs[2].tx, 1);
}

static void arcs_may_be_fewer_where_the_manifest_says_so(void **state)
{
    (void)state;
    tw_node_manifest_t m;
    tw_diags_t d;
    assert_true(parse_node("A\nb\nnode_nb_arcs 1 15\n", &m, &d));
    assert_true(m.rx_min == 1 && m.tx_min == 15);
    assert_true(parse_node("A\nb\nnode_min_arcs 1 2\nnode_nb_arcs 1 15\n", &m, &d)); /* in any order */
    assert_true(m.rx_min == 1 && m.tx_min == 2 && m.tx == 15);
    assert_false(parse_node("A\nb\nnode_nb_arcs 1 2\nnode_min_arcs 1 3\n", &m, &d));
    assert_false(parse_node("A\nb\nnode_nb_arcs 1 2\nnode_min_arcs 1\n", &m, &d));
}

static void the_older_node_manifest_is_read_too(void **state)
{
    (void)state;
    tw_node_manifest_t m;
    tw_diags_t d;
    assert_true(parse_node("ARM\narm_x\nnode_nb_mem_block 2\nnode_mem_alloc_detail 76 0 0 0.001 1 0 0 0 8 0 0 0\n"
                           "node_mem_alloc_detail 6 0 0 0.5 0 0 0 0 4 1 2 1\nnode_arc_channels 0 0 {1 1 2}\n"
                           "node_arc_raw_format 1 {1 S16 FP32}\n",
                           &m, &d));
    assert_int_equal(m.n_mem, 2);
    assert_true(m.mem[0].a == 76 && m.mem[0].c == 0.001 && m.mem[0].c_arc == 1 && m.mem[0].align == 8);
    assert_true(m.mem[1].type == 1 && m.mem[1].speed == 3 && m.mem[1].reloc == 1);
    assert_int_equal(m.arcs[0].channels.n, 2);
    assert_int_equal(m.arcs[1].raw.n, 2);
}

static void an_io_manifest_is_read_in_full(void **state)
{
    (void)state;
    tw_io_manifest_t m;
    tw_diags_t d;
    assert_true(
        parse_io("io_x\nanalog_in\nio_commander0_servant1 0\nio_buffer_allocation 2.1\nio_raw_format {1 17}\n"
                 "io_nb_channels 0 {1 1 2}\nio_frame_length 1 {1 2 16}\nio_subtype_units Vrms\nio_analogscale 0.55\n"
                 "io_rescale_factor 12.24 -44.3\nio_sampling_rate {2 16000 44100}\n",
                 &m, &d));
    assert_string_equal(m.name, "io_x");
    assert_int_equal(m.domain, 8);
    assert_int_equal(m.direction, 0);
    assert_int_equal(m.commander, 0);
    assert_true(m.buffer_allocation > 2.0f && m.buffer_allocation < 2.2f);
    assert_int_equal(m.raw, TW_RAW_S16);
    assert_int_equal(m.channels.n, 2);
    assert_int_equal(m.frame_length.n, 2);
    assert_int_equal(m.unit, 104);
    assert_int_equal(m.rate_hz.def, 1);
    assert_true(m.analog_scale == 0.55 && m.has_rescale && m.rescale == 12.24 && m.rescale_offset == -44.3);
    assert_int_equal(m.n_settings, 4); /* raw type, channels, length, rate */
    assert_null(tw_io_extra(&m, "io_none"));
}

static void outputs_are_known_by_their_domain(void **state)
{
    (void)state;
    tw_io_manifest_t m;
    tw_diags_t d;
    assert_true(parse_io("a\naudio_out\n", &m, &d) && m.direction == 1);
    assert_true(parse_io("a\ngpio_in\n", &m, &d) && m.direction == 0);
    assert_true(parse_io("a\ngeneral\nio_direction_rx0tx1 1\n", &m, &d) && m.direction == 1);
}

static void wrong_manifests_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool node;
        unsigned line, col;
        const char *says;
    } cases[] = {
        {"ARM\nx\nnode_nb_arc 1 1\n", true, 3, 1,
         "unknown node manifest tag 'node_nb_arc', did you mean 'node_nb_arcs'?"},
        {"ARM\n", true, 0, 0, "a node manifest begins with the developer's and the node's name"},
        {"ARM\nx\nX 1 1 0\n1 2 3\n", true, 3, 1, "expected X and 7 numbers, found 3"},
        {"ARM\nx\nnode_use_dtcm 1\n5 6\n", true, 4, 1, "expected a tag node_..., found '5'"},
        {"ARM\nx\nnode_mem 1\n", true, 3, 10, "memory block 1, expected 0: blocks are numbered 0..5 in order"},
        {"ARM\nx\nnode_mem_nbchan 1\n", true, 3, 0, "no memory block started: node_mem must come first"},
        {"ARM\nx\nnode_mem 0\nnode_mem_alignment 12\n", true, 4, 20, "alignment 12 is not a power of two"},
        {"ARM\nx\nnode_mem 0\nnode_mem_speed 4\n", true, 4, 16, "speed is 4, allowed 0..3"},
        {"ARM\nx\nnode_arc 16\n", true, 3, 10, "arc index is 16, allowed 0..15"},
        {"ARM\nx\nnode_arc 0\nnode_arc_raw_format {1 S99}\n", true, 4, 24, "'S99' is no value for raw type"},
        {"ARM\nx\nnode_nb_arcs 15 15\n", true, 0, 0, "node has 30 arcs, at most 16"},
        {"io_x\n", false, 0, 0, "an IO manifest begins with a name and a domain"},
        {"io_x\nradio\n", false, 2, 1, "unknown domain 'radio'"},
        {"io_x\naudio_in\nspeed 3\n", false, 3, 1, "expected a tag io_..., found 'speed'"},
        {"io_x\naudio_in\nio_direction_rx0tx1 2\n", false, 3, 21, "io_direction_rx0tx1 is 2, allowed 0..1"},
        {"io_x\naudio_in\nio_subtype_units furlong\n", false, 3, 18, "unknown unit 'furlong'"},
        {"io_x\naudio_in\nio_nb_channels {1 33}\n", false, 3, 16, "channels option 33, allowed 1..32"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_node_manifest_t n;
        tw_io_manifest_t io;
        tw_diags_t d;
        const bool ok = cases[i].node ? parse_node(cases[i].text, &n, &d) : parse_io(cases[i].text, &io, &d);
        const tw_diag_t *r = &d.rows[0];
        if (ok || d.n != 1 || r->line != cases[i].line || r->col != cases[i].col ||
            strcmp(r->text, cases[i].says) != 0) {
            fail_msg("case %zu: %u:%u %s", i, r->line, r->col, r->text);
        }
    }
}

/* ---- the platform --------------------------------------------------------------------- */

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

#define TOP "1\n./\n0 map.txt\n1\n0 io.txt 4 1 0\n1\n0 node.txt\n"
#define MAP "1 1 1\n0 0 1 0 0 0 0 65536 0\n1 1 15\n"
#define IO "io_x\naudio_in\nio_backend wav_in\nio_file a.wav\n"
#define NODE "ARM\narm_x\n"

static uint32_t platform_id(const char *top, const char *map, const char *io, const char *node)
{
    file_t files[] = {{"p/top.txt", top}, {"p/map.txt", map}, {"p/io.txt", io}, {"p/node.txt", node}, {NULL, NULL}};
    const tw_text_source_t src = {files, read_memory};
    tw_platform_t p;
    tw_diags_t d = {0};
    const bool ok = tw_platform_read_from(&p, "p/top.txt", &src, &d);
    const uint32_t id = ok ? p.id : 0;
    assert_int_equal(ok, d.errors == 0);
    assert_true(ok || (p.ios == NULL && p.nodes == NULL && p.n_ios == 0));
    tw_platform_free(&p);
    return id;
}

static void the_platform_id_is_of_what_images_depend_on(void **state)
{
    (void)state;
    const uint32_t id = platform_id(TOP, MAP, IO, NODE);
    assert_int_not_equal(id, 0);
    assert_int_equal(
        platform_id("; head\n 1 path\n./\n0  map.txt\n1\n0 io.txt 4  1 0 ; mic\n1\n0 node.txt\n", MAP, IO, NODE), id);
    assert_int_equal(platform_id(TOP, MAP, "io_x\n\naudio_in ; mic\nio_backend null\n", NODE), id);
    assert_int_equal(platform_id(TOP, MAP, IO, NODE "node_nb_arcs 2 2\n"), id);
    assert_int_not_equal(platform_id(TOP, "1 1 1\n0 0 1 0 0 0 0 65532 0\n1 1 15\n", IO, NODE), id);
    assert_int_not_equal(platform_id(TOP, MAP, "io_x\naudio_out\n", NODE), id);
    assert_int_not_equal(platform_id("1\n./\n0 map.txt\n1\n0 io.txt 5 1 0\n1\n0 node.txt\n", MAP, IO, NODE), id);
}

static void a_wrong_platform_leaves_nothing(void **state)
{
    (void)state;
    static const char *const tops[] = {
        "",
        "0\n",
        "1\n./\n",
        "1\n./\n1 map.txt\n",
        "1\n./\n0 none.txt\n",
        "1\n./\n0 map.txt\n2\n0 io.txt 4 1 0\n",
        "1\n./\n0 map.txt\n2\n0 io.txt 4 1 0\n0 io.txt 4 1 0\n0\n",
        "1\n./\n0 map.txt\n0\n1\n0 map.txt\n",
        "1\n./\n0 map.txt\n300\n",
    };
    for (size_t i = 0; i < TW_COUNT(tops); i++) {
        assert_int_equal(platform_id(tops[i], MAP, IO, NODE), 0);
    }
    static const char *const maps[] = {
        "1 1 1\n",
        "1 1 2\n0 0 1 0 0 0 0 1 0\n0 0 1 0 0 0 0 1 0\n1 1 15\n",
        "1 1 1\n0 255 1 0 0 0 0 1 0\n1 1 15\n",
        "1 1 0\n0 1 15\n",
        "1 1 17\n",
    };
    for (size_t i = 0; i < TW_COUNT(maps); i++) {
        assert_int_equal(platform_id(TOP, maps[i], IO, NODE), 0);
    }
}

static void the_computer_platform_has_what_the_examples_use(void **state)
{
    (void)state;
    tw_platform_t p;
    tw_diags_t d = {0};
    assert_true(tw_platform_read(&p, "examples/platform/top_manifest_computer.txt", &d));
    assert_int_equal(d.n, 0);
    assert_true(p.n_ios >= 7);
    assert_true(p.n_nodes >= 6);
    assert_int_equal(p.banks[0].bytes, 64u << 20);
    assert_int_equal(p.processors, 1);
    for (unsigned i = 0; i < p.n_ios; i++) {
        assert_non_null(tw_io_extra(&p.ios[i], "io_backend"));
    }
    tw_platform_free(&p);
}

/* ---- public manifests ------------------------------------------------------------------- */

/* Parse every manifest of a folder. @return how many; each must be right */
static unsigned parse_folder(const char *folder, const char *prefix, bool node)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[600];
        size_t n = 0;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        char *text = tw_text_files.read(NULL, path, &n);
        assert_non_null(text);
        tw_diags_t d = {0};
        tw_text_t t;
        tw_text_open(&t, path, text, n, &d);
        static tw_node_manifest_t nm;
        static tw_io_manifest_t im;
        const bool ok = node ? tw_node_manifest_parse(&nm, &t) : tw_io_manifest_parse(&im, &t);
        if (!ok) {
            fail_msg("%s:%u:%u %s", path, d.rows[0].line, d.rows[0].col, d.rows[0].text);
        }
        count += ok;
        free(text);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static void public_manifests_are_read(void **state)
{
    (void)state;
    static const char *const nodes[] = {
        "Audio/arm/compressor", "Audio/arm/decompressor", "Audio/arm/detector",    "Audio/arm/filter",
        "Basic/arm/amplifier",  "Basic/arm/converter",    "Basic/arm/demodulator", "Basic/arm/mixer",
        "Basic/arm/modulator",  "Basic/arm/qos",          "Basic/arm/resampler",   "Basic/arm/rescaler",
        "Basic/arm/router",     "Basic/arm/script",       "Basic/arm/split",       "Image/arm/detector2D",
        "Image/arm/filter2D",   "Image/elm/TJpgDec",
    };
    DIR *dir = opendir(CORPUS);
    if (dir == NULL) {
        print_message("no %s here: public manifests not tried\n", CORPUS);
        skip();
    }
    closedir(dir);
    unsigned count = 0;
    for (size_t i = 0; i < TW_COUNT(nodes); i++) {
        char folder[400];
        snprintf(folder, sizeof folder, CORPUS "stream_nodes/%s", nodes[i]);
        count += parse_folder(folder, "swc_manifest", true);
    }
    assert_int_equal(count, 18);
    assert_int_equal(parse_folder(CORPUS "stream_platform/windows/manifest", "io_platform", false), 14);
    size_t n = 0;
    char *text = tw_text_files.read(NULL, CORPUS "stream_platform/windows/manifest/procmap_manifest_computer.txt", &n);
    assert_non_null(text);
    tw_platform_t p = {0};
    tw_diags_t d = {0};
    tw_text_t t;
    tw_text_open(&t, "procmap", text, n, &d);
    assert_true(tw_procmap_parse(&p, &t));
    assert_int_equal(p.n_banks, 9);
    assert_int_equal(p.banks[0].bytes, 95526);
    assert_int_equal(p.services, 15);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option_sets_mean_what_the_language_says),
        cmocka_unit_test(numbers_are_whole_tokens),
        cmocka_unit_test(paths_fold_and_stay),
        cmocka_unit_test(a_node_manifest_is_read_in_full),
        cmocka_unit_test(arcs_may_be_fewer_where_the_manifest_says_so),
        cmocka_unit_test(the_older_node_manifest_is_read_too),
        cmocka_unit_test(an_io_manifest_is_read_in_full),
        cmocka_unit_test(outputs_are_known_by_their_domain),
        cmocka_unit_test(wrong_manifests_are_refused_where_they_are_wrong),
        cmocka_unit_test(the_platform_id_is_of_what_images_depend_on),
        cmocka_unit_test(a_wrong_platform_leaves_nothing),
        cmocka_unit_test(the_computer_platform_has_what_the_examples_use),
        cmocka_unit_test(public_manifests_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
