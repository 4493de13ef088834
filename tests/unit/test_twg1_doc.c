/* docs/GRAPH_IMAGE.md: its example, compiled, is its hex listing byte for byte, and a device runs the listing. */
#include "host_tools/graphc/graphc_priv.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define DOC "docs/GRAPH_IMAGE.md"

typedef struct doc {
    char *text;
    size_t n;
} doc_t;

/* What stands between the line "```text path" and the next "```". */
static char *read_fence(void *ctx, const char *path, size_t *n)
{
    const doc_t *doc = ctx;
    char head[80];
    const int len = snprintf(head, sizeof head, "\n```%s%s\n", strcmp(path, "hex") == 0 ? "" : "text ", path);
    const char *at = strstr(doc->text, head);
    const char *end = at != NULL ? strstr(at + len - 1, "\n```") : NULL;
    if (end == NULL) {
        return NULL;
    }
    *n = (size_t)(end - at) + 1 - (size_t)len;
    char *copy = malloc(*n + 1);
    memcpy(copy, at + len, *n);
    copy[*n] = 0;
    return copy;
}

/* Lines "offset  bytes | comment". */
static uint32_t read_hex(const char *text, uint8_t *to, size_t size)
{
    uint32_t n = 0;
    for (const char *p = text; *p != 0;) {
        char *q;
        assert_int_equal(strtoul(p, &q, 16), n);
        for (p = q; *p == ' ';) {
            const unsigned long byte = strtoul(p, &q, 16);
            if (q == p) {
                break;
            }
            assert_true(n < size && byte < 256);
            to[n++] = (uint8_t)byte;
            p = q;
            while (p[0] == ' ' && p[1] == ' ') {
                p++;
            }
        }
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return n;
}

static void open_doc(doc_t *doc)
{
    char *raw = tw_text_files.read(NULL, DOC, &doc->n);
    assert_non_null(raw);
    doc->text = malloc(doc->n + 1);
    memcpy(doc->text, raw, doc->n);
    doc->text[doc->n] = 0;
    free(raw);
}

/* What somebody typed in from the page, without our compiler: 0x0803 is +12 dB, four times. */
static void the_listing_runs_on_a_device(void **state)
{
    (void)state;
    static _Alignas(16) uint8_t img[4096];
    static rig_t rig;
    doc_t doc;
    size_t n;
    open_doc(&doc);
    char *hex = read_fence(&doc, "hex", &n);
    assert_non_null(hex);
    const uint32_t bytes = read_hex(hex, img, sizeof img);
    free(hex);
    free(doc.text);
    rig_open(&rig, 4096, 8192);
    rig.ios[4].direction = 0;
    rig.board.platform_id = tw_img_word(img, 0, TW_W_PLATFORM);
    rig_load(&rig, img, bytes);
    assert_true(tw_engine_tick(rig.engine));
    assert_int_equal(rig.out_bytes[6], 96);
    for (unsigned i = 0; i < 48; i++) {
        assert_in_range(tw_get_le16(rig.out[6] + 2 * i), 4 * i - (i != 0), 4 * i + 1);
    }
    rig_close(&rig);
}

static void the_example_of_the_specification_is_what_the_compiler_writes(void **state)
{
    (void)state;
    doc_t doc;
    size_t n;
    open_doc(&doc);
    const tw_text_source_t src = {&doc, read_fence};
    tw_platform_t platform;
    tw_diags_t d = {0};
    assert_true(tw_platform_read_from(&platform, "top.txt", &src, &d));
    tw_graphc_out_t out = {0};
    assert_true(g_compile("gain.txt", &(tw_graphc_opts_t){.sequence = 1}, &platform, &src, &out));
    FILE *write = getenv("TW_GOLDEN_WRITE") != NULL ? fopen(getenv("TW_GOLDEN_WRITE"), "wb") : NULL;
    if (write != NULL) {
        fwrite(out.image, 1, out.bytes, write);
        fclose(write);
    }
    char *hex = read_fence(&doc, "hex", &n);
    assert_non_null(hex);
    static uint8_t want[4096];
    assert_int_equal(read_hex(hex, want, sizeof want), out.bytes);
    for (uint32_t i = 0; i < out.bytes; i++) {
        if (out.image[i] != want[i]) {
            fail_msg("byte %04x is %02x, the page says %02x", i, out.image[i], want[i]);
        }
    }
    free(hex);
    free(doc.text);
    tw_platform_free(&platform);
    tw_graphc_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_specification_is_what_the_compiler_writes),
        cmocka_unit_test(the_listing_runs_on_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
