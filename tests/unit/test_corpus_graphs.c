/* Published texts of four eras, where they are: each is printed in canonical form or refused for what it is; the
 * print is a fixed point and means the same; those whose nodes exist compile, the others name what is missing. */
#include "host_tools/graphc/fmt/graphc_fmt.h"
#include "tests/support/meaning.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define CORPUS "../shared/corpus/graphs"
#define OURS "examples/platform/top_manifest_computer.txt"
#define E0 "/EndpointAI@4155ec9_2023-02-21/Kernels/Research/CMSIS-Stream/"
#define E1 "/GRAPH_INTERPRETER@31fd022_2023-12-16/"
#define E2A "/GRAPH_INTERPRETER@f152d82_2024-02-25/stream_platform/windows/"
#define E2B "/GRAPH_INTERPRETER@cc81572_2024-05-23/"

typedef struct tally {
    unsigned printed, refused, bad;
} tally_t;

static bool here(void)
{
    DIR *dir = opendir(CORPUS);
    if (dir == NULL) {
        print_message("no %s here: published texts not tried\n", CORPUS);
        return false;
    }
    closedir(dir);
    return true;
}

/* ---- canonical form ---------------------------------------------------------------- */

static bool is_no_text(const char *name)
{
    static const char *const parts[] = {"_bin", "_listing", "graph_example", "list_enum", "NodesDescription"};
    for (size_t i = 0; i < TW_COUNT(parts); i++) {
        if (strstr(name, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_refused_well(const tw_graph_fmt_t *out)
{
    return out->text == NULL && out->diags.errors == 1 &&
           (strstr(out->diags.rows[0].text, "decode-legacy") != NULL ||
            strstr(out->diags.rows[0].text, "list or explanation") != NULL);
}

/* Templates and lists of files have no reader but the translation, so nothing to compare with. */
static bool means_the_same(const char *path, const char *text, size_t n, const tw_graph_fmt_t *out)
{
    g_text_t before = {0}, after = {0};
    const bool was = meaning_of(&before, text, n);
    const bool is = !was || meaning_of(&after, out->text, out->n);
    char *a = g_text_take(&before), *b = g_text_take(&after);
    const bool same = is && (!was || strcmp(a, b) == 0);
    if (!same && b != NULL) {
        size_t k = 0, line = 0;
        for (; a[k] != 0 && a[k] == b[k]; k++) {
            line = a[k] == '\n' ? k + 1 : line;
        }
        print_error("%s means\n    %.*s\nand printed\n    %.*s\n", path, (int)strcspn(a + line, "\n"), a + line,
                    (int)strcspn(b + line, "\n"), b + line);
    }
    free(a);
    free(b);
    return same;
}

static bool is_fixed(const char *path, const tw_graph_fmt_t *out)
{
    tw_graph_fmt_t *again = calloc(1, sizeof *again);
    const bool same = tw_graph_fmt(path, out->text, out->n, again) && again->n == out->n &&
                      memcmp(again->text, out->text, out->n) == 0 && again->diags.errors == 0;
    if (!same) {
        print_error("%s: printed again it differs\n", path);
    }
    tw_graph_fmt_free(again);
    free(again);
    return same;
}

static void try_file(const char *path, const char *name, tally_t *tally)
{
    size_t n = 0;
    char *text = tw_text_files.read(NULL, path, &n);
    tw_graph_fmt_t *out = calloc(1, sizeof *out);
    assert_non_null(text);
    const bool ok = tw_graph_fmt(path, text, n, out);
    if (is_no_text(name)) {
        tally->refused++;
        tally->bad += !is_refused_well(out);
    } else if (!ok) {
        print_error("%s: %s\n", path, out->diags.rows[0].text);
        tally->bad++;
    } else {
        tally->printed++;
        tally->bad += !is_fixed(path, out) + !means_the_same(path, text, n, out);
    }
    tw_graph_fmt_free(out);
    free(out);
    free(text);
}

/* Folders are few and shallow: the depth bounds the walk. */
static void try_folder(const char *folder, unsigned depth, tally_t *tally)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && depth > 0 && (e = readdir(dir)) != NULL;) {
        char path[700];
        const size_t len = strlen(e->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.') {
            continue;
        }
        if (len > 4 && strcmp(e->d_name + len - 4, ".txt") == 0) {
            try_file(path, e->d_name, tally);
        } else {
            try_folder(path, depth - 1, tally);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void every_text_is_printed_the_same_again_and_means_the_same(void **state)
{
    (void)state;
    tally_t tally = {0};
    if (!here()) {
        skip();
    }
    try_folder(CORPUS, 10, &tally);
    assert_int_equal(tally.bad, 0);
    assert_int_equal(tally.refused, 11);
    assert_int_equal(tally.printed, 71);
}

/* ---- compiled ------------------------------------------------------------------------- */

/* `errors` of the samples as published, the first of them naming `says`; 0 and NULL: it compiles. */
static const struct {
    const char *graph, *platform;
    unsigned errors;
    const char *says;
} compiled[] = {
    {E1 "stream_graph/graph_0.txt", NULL, 0, NULL},
    {E1 "stream_graph/graph_0.txt", E1 "stream_graph/files_manifests_computer.txt", 3,
     "arm_stream_filter arc 1 takes rates [Hz] 101 202 404, the format has 16000"},
    {E1 "stream_graph/graph_1.txt", NULL, 1, "graph_sub1.txt'"},
    {E1 "stream_tools/graph_1.txt", NULL, 1, "graph_sub1.txt'"},
    {E1 "stream_graph/graph_1_sub.txt", NULL, 2, "stream_io 1 is not declared"},
    {E2A "graph_0.txt", NULL, 13, "node arm_stream_decompressor 0 is not declared"},
    {E2A "graph_1.txt", NULL, 1, "arc 0 of arm_stream_detector 0 is connected already"},
    {E2B "stream_platform/windows/graph_0.txt", NULL, 3, "node arm_stream_decompressor 0 is not declared"},
    {E2B "stream_platform/windows/graph_1.txt", NULL, 1, "arc 0 of arm_stream_detector 0 is connected already"},
    {E0 "graph.txt", NULL, 6, "format 0 is not declared"},
};

static bool is_as_expected(size_t i, const tw_graphc_out_t *out)
{
    const tw_diag_t *first = NULL;
    for (unsigned k = 0; k < out->diags.n && first == NULL; k++) {
        first = out->diags.rows[k].warning || out->diags.rows[k].note ? NULL : &out->diags.rows[k];
    }
    const bool compiles = out->image != NULL && out->diags.errors == 0;
    return compiled[i].says == NULL
               ? compiles
               : !compiles && out->diags.errors >= compiled[i].errors && strstr(first->text, compiled[i].says) != NULL;
}

static void graphs_compile_or_name_what_is_missing(void **state)
{
    (void)state;
    unsigned bad = 0;
    if (!here()) {
        skip();
    }
    for (size_t i = 0; i < TW_COUNT(compiled); i++) {
        char path[256], platform[256];
        tw_graphc_out_t *out = calloc(1, sizeof *out);
        snprintf(path, sizeof path, CORPUS "%s", compiled[i].graph);
        snprintf(platform, sizeof platform, CORPUS "%s", compiled[i].platform != NULL ? compiled[i].platform : "");
        const tw_graphc_opts_t opts = {.platform = compiled[i].platform != NULL ? platform : OURS};
        (void)tw_graphc(path, &opts, out);
        if (!is_as_expected(i, out)) {
            print_error("%s: %u errors, expected %u, %s\n", compiled[i].graph, out->diags.errors, compiled[i].errors,
                        compiled[i].says != NULL ? compiled[i].says : "compiles");
            for (unsigned k = 0; k < out->diags.n; k++) {
                if (!out->diags.rows[k].warning) {
                    print_error("    %u: %s\n", out->diags.rows[k].line, out->diags.rows[k].text);
                }
            }
            bad++;
        }
        tw_graphc_free(out);
        free(out);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_is_printed_the_same_again_and_means_the_same),
        cmocka_unit_test(graphs_compile_or_name_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
