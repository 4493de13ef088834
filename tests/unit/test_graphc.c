/* The compiler: wrong texts are refused at the right place, right ones become what they say. */
#include "host_tools/graphc/graphc_priv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"
#define GOLDEN "tests/golden/graph/errors.txt"

static tw_platform_t platform;

/* ---- texts in memory ------------------------------------------------------------ */

typedef struct file {
    const char *path, *text;
} file_t;

static char *read_memory(void *ctx, const char *path, size_t *n)
{
    for (const file_t *f = ctx; f->path != NULL; f++) {
        if (strcmp(f->path, path) == 0) {
            *n = strlen(f->text);
            char *copy = malloc(*n + 1); /* exact but for malloc(0) */
            memcpy(copy, f->text, *n);
            return copy;
        }
    }
    return NULL;
}

static bool compile_files(file_t *files, tw_graphc_out_t *out)
{
    const tw_text_source_t src = {files, read_memory};
    const tw_graphc_opts_t opts = {0};
    *out = (tw_graphc_out_t){0};
    return g_compile(files[0].path, &opts, &platform, &src, out);
}

static bool compile(const char *text, tw_graphc_out_t *out)
{
    file_t files[] = {{"g.txt", text}, {NULL, NULL}};
    return compile_files(files, out);
}

#define IO "format 0\n format_frame_length 8\nstream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 9\n"
#define NODE "node arm_stream_amplifier 0\n_end_\n"
#define ARCS "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier 0 1 0\n"

/* ---- golden errors ---------------------------------------------------------------- */

typedef struct text {
    char v[16384];
    size_t n;
} text_t;

static void add(text_t *t, const char *p, size_t n)
{
    assert_true(t->n + n < sizeof t->v);
    memcpy(t->v + t->n, p, n);
    t->n += n;
    t->v[t->n] = 0;
}

static void add_expanded(text_t *t, const char *line, size_t n)
{
    static const struct {
        const char *name, *text;
    } macros[] = {{"%io\n", IO}, {"%node\n", NODE}, {"%arcs\n", ARCS}};
    for (size_t i = 0; i < TW_COUNT(macros); i++) {
        if (n == strlen(macros[i].name) && memcmp(line, macros[i].name, n) == 0) {
            add(t, macros[i].text, strlen(macros[i].text));
            return;
        }
    }
    add(t, line, n);
}

static void diagnose(const char *text, text_t *got)
{
    tw_graphc_out_t out;
    const bool ok = compile(text, &out);
    assert_int_equal(ok, out.diags.errors == 0);
    assert_int_equal(ok, out.image != NULL);
    for (unsigned i = 0; i < out.diags.n; i++) {
        const tw_diag_t *d = &out.diags.rows[i];
        char line[400];
        const int n = snprintf(line, sizeof line, "==> %u:%u %s: %s\n", d->line, d->col, tw_diag_kind(d), d->text);
        add(got, line, (size_t)n);
    }
    if (ok) {
        add(got, "==> compiles\n", 13);
    }
    tw_graphc_free(&out);
}

/* Each case: "#### reason", the text, then "==>" lines with all that must be said. */
static void wrong_texts_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    size_t n = 0;
    char *golden = tw_text_files.read(NULL, GOLDEN, &n);
    assert_non_null(golden);
    FILE *write = getenv("TW_GOLDEN_WRITE") != NULL ? fopen(GOLDEN, "wb") : NULL;
    unsigned cases = 0, bad = 0;
    static text_t text, want, got, raw;
    char why[128] = "";
    for (const char *p = golden, *end = golden + n;;) {
        const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        const size_t len = nl != NULL ? (size_t)(nl - p) + 1 : 0;
        if (len == 0 || strncmp(p, "#### ", 5) == 0) {
            if (why[0] != 0) {
                got.n = 0;
                got.v[0] = 0;
                diagnose(text.v, &got);
                cases++;
                if (write != NULL) {
                    fprintf(write, "#### %s%s%s", why, raw.v, got.v);
                } else if (strcmp(want.v, got.v) != 0) {
                    bad++;
                    print_error("%swant:\n%sgot:\n%s\n", why, want.v, got.v);
                }
            } else if (write != NULL) {
                fprintf(write, "%s", text.v);
            }
            text = want = raw = (text_t){0};
            if (len == 0) {
                break;
            }
            snprintf(why, sizeof why, "%.*s", (int)(len - 5), p + 5);
        } else if (strncmp(p, "==> ", 4) == 0) {
            add(&want, p, len);
        } else {
            add_expanded(&text, p, len);
            add(&raw, p, len);
        }
        p += len;
    }
    if (write != NULL) {
        fclose(write);
    }
    free(golden);
    assert_true(cases >= 40);
    assert_int_equal(bad, 0);
}

/* ---- what right texts become ------------------------------------------------------- */

static void the_examples_compile_without_a_word(void **state)
{
    (void)state;
    static const char *const files[] = {"examples/seed_two_nodes.txt", "examples/voice_gate.txt",
                                        "examples/voice_gate_f32.txt"};
    for (size_t i = 0; i < TW_COUNT(files); i++) {
        tw_graphc_out_t out;
        const tw_graphc_opts_t strict = {.strict = true};
        if (!tw_graphc(files[i], &strict, &out)) {
            tw_diags_print(&out.diags, stderr, false);
            fail_msg("%s does not compile", files[i]);
        }
        assert_int_equal(out.diags.n, 0);
        assert_non_null(strstr(out.report, "bank"));
        assert_non_null(strstr(out.report_json, "\"arcs\":["));
        tw_graphc_free(&out);
    }
}

/* Texts that must give the same image as the base: spelling, comments, aliases, older forms. */
static void other_spellings_give_the_same_image(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text;
    } cases[] = {
        {"comments and blanks",
         "; head\n\n  format 0 ; zero\n\tformat_frame_length   8\r\nstream_io 0\n stream_io_hwid 0\nstream_io 1\n"
         " stream_io_hwid 9\n" NODE ARCS},
        {"bars without a semicolon", IO "------\n=====\n" NODE ARCS},
        {"older IO block", "format 0\n format_frame_length 8\ntop_graph_interface\n0 0 0\n1 0 9\n_end_\n" NODE ARCS},
        {"older format block",
         "format\n; ID FRAME RAW CH\n ID FRAMESIZE RAW\n 0 8 17 1 0 0 0 0 0\n_end_\nstream_io 0\n stream_io_hwid 0\n"
         "stream_io 1\n stream_io_hwid 9\n" NODE ARCS},
        {"name on the line after node", IO "node\n arm_stream_amplifier 0 ; instance\n_end_\n" ARCS},
        {"older arc names",
         IO NODE "input_arc 0 arm_stream_amplifier 0 0 0\noutput_arc 1 arm_stream_amplifier 0 1 0\n"},
        {"hexadecimal",
         "format 0x0\n format_frame_length 0x8\nstream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 9\n" NODE
             ARCS},
        {"long end", IO "node arm_stream_amplifier 0\n_end_____\n" ARCS},
        {"IO with hwid on its line",
         "format 0\n format_frame_length 8\nstream_io_graph 0 0\nstream_io_graph 1 9\n" NODE ARCS},
    };
    tw_graphc_out_t base;
    assert_true(compile(IO NODE ARCS, &base));
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_graphc_out_t out;
        if (!compile(cases[i].text, &out) || out.bytes != base.bytes) {
            tw_diags_print(&out.diags, stderr, false);
            fail_msg("%s", cases[i].why);
        }
        /* the identity too: it is of what the text says, not of its words */
        if (memcmp(out.image, base.image, base.bytes) != 0) {
            fail_msg("%s: another image", cases[i].why);
        }
        tw_graphc_free(&out);
    }
    tw_graphc_free(&base);
}

static void an_include_reads_as_if_it_stood_there(void **state)
{
    (void)state;
    file_t files[] = {
        {"dir/g.txt", IO
         "set_file_path 1 ../lib\nnode arm_stream_amplifier 0\nnode_parameters\n include 1 p.txt\n_end_\n_end_\n" ARCS},
        {"lib/p.txt", "1 u8; 2 gain\n1 u16; 2053"},
        {NULL, NULL},
    };
    tw_graphc_out_t a, b;
    assert_true(compile_files(files, &a));
    assert_true(
        compile(IO "node arm_stream_amplifier 0\nnode_parameters\n 1 u8; 2\n1 u16; 0x805\n_end_\n_end_\n" ARCS, &b));
    assert_int_equal(a.bytes, b.bytes);
    const uint32_t params = tw_img_word(a.image, 0, TW_W_DIRECTORY + 2 * TW_SEC_PARAMS);
    assert_int_equal(tw_get_le16(a.image + params), 2053);
    tw_graphc_free(&a);
    tw_graphc_free(&b);
}

static void an_error_in_an_include_names_the_include(void **state)
{
    (void)state;
    file_t files[] = {{"g.txt", "include 0 more.txt\n" IO NODE ARCS}, {"more.txt", "\nformt 3\n"}, {NULL, NULL}};
    tw_graphc_out_t out;
    assert_false(compile_files(files, &out));
    assert_string_equal(out.diags.rows[0].file, "more.txt");
    assert_int_equal(out.diags.rows[0].line, 2);
    assert_int_equal(out.diags.rows[0].col, 1);
    tw_graphc_free(&out);
}

static void strict_turns_warnings_into_errors(void **state)
{
    (void)state;
    file_t files[] = {{"g.txt", IO "node arm_stream_amplifier 0\n" ARCS}, {NULL, NULL}};
    const tw_text_source_t src = {files, read_memory};
    tw_graphc_out_t out = {0};
    assert_true(g_compile("g.txt", &(tw_graphc_opts_t){0}, &platform, &src, &out));
    assert_int_equal(out.diags.n, 1);
    tw_graphc_free(&out);
    assert_false(g_compile("g.txt", &(tw_graphc_opts_t){.strict = true}, &platform, &src, &out));
    assert_null(out.image);
    tw_graphc_free(&out);
}

/* 1500 amplifiers in a row, declared backwards: the order is found, and not in quadratic time. */
static void long_chains_are_scheduled_from_their_source(void **state)
{
    (void)state;
    enum { N = 1500 };
    char *text = malloc(N * 160), *p = text;
    p += sprintf(p, IO);
    for (int i = N; i-- > 0;) {
        p += sprintf(p, "node arm_stream_amplifier %d\n_end_\n", i);
    }
    p += sprintf(p, "arc_input 0 arm_stream_amplifier 0 0 0\narc_output 1 arm_stream_amplifier %d 1 0\n", N - 1);
    for (int i = 1; i < N; i++) {
        p += sprintf(p, "arc arm_stream_amplifier %d 1 0 arm_stream_amplifier %d 0 0\n", i - 1, i);
    }
    tw_graphc_out_t out;
    assert_true(compile(text, &out));
    const uint32_t arcs = tw_img_word(out.image, 0, TW_W_DIRECTORY + 2 * TW_SEC_ARCS);
    for (uint32_t i = 2; i < N + 1; i++) {
        const uint32_t a3 = tw_img_word(out.image, arcs + 32 * i, 3);
        assert_int_equal(tw_bits(a3, TW_A3_CONSUMER), tw_bits(a3, TW_A3_PRODUCER) + 1);
    }
    tw_graphc_free(&out);
    free(text);
}

static int read_platform(void **state)
{
    (void)state;
    tw_diags_t d = {0};
    const bool ok = tw_platform_read(&platform, PLATFORM, &d);
    tw_diags_print(&d, stderr, false);
    return ok ? 0 : -1;
}

static int free_platform(void **state)
{
    (void)state;
    tw_platform_free(&platform);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_texts_are_refused_where_they_are_wrong),
        cmocka_unit_test(the_examples_compile_without_a_word),
        cmocka_unit_test(other_spellings_give_the_same_image),
        cmocka_unit_test(an_include_reads_as_if_it_stood_there),
        cmocka_unit_test(an_error_in_an_include_names_the_include),
        cmocka_unit_test(strict_turns_warnings_into_errors),
        cmocka_unit_test(long_chains_are_scheduled_from_their_source),
    };
    return cmocka_run_group_tests(tests, read_platform, free_platform);
}
