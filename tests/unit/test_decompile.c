/* The way back: what the decompiler prints compiles to the same image, and no image makes it read out of bounds. */
#include "engine/base/crc.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"

static tw_platform_t platform;

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n + 1);
    memcpy(copy, ctx, *n);
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
    if (!compile_text(text, &(tw_graphc_opts_t){0}, &second)) {
        show(why, &second.diags);
        fail_msg("%s does not compile again:\n%s", why, text);
    }
    for (uint32_t i = 0; i < first->bytes || i < second.bytes; i++) {
        if (first->bytes != second.bytes || first->image[i] != second.image[i]) {
            fail_msg("%s: %u and %u bytes, other at %#x\n%s", why, first->bytes, second.bytes, i, text);
        }
    }
    assert_true(tw_decompile(second.image, second.bytes, &platform, 0, &again, &d));
    assert_string_equal(text, again);
    free(text);
    free(again);
    tw_graphc_free(&second);
}

static void every_example_comes_back(void **state)
{
    (void)state;
    static const char *const files[] = {"examples/seed_two_nodes.txt", "examples/voice_gate.txt",
                                        "examples/voice_gate_f32.txt"};
    for (size_t i = 0; i < TW_COUNT(files); i++) {
        tw_graphc_out_t out;
        assert_true(tw_graphc(files[i], &(tw_graphc_opts_t){.sequence = 7 * (uint32_t)i}, &out));
        comes_back(files[i], &out);
        tw_graphc_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_comes_back),
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
