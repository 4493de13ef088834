/* The formatter against any bytes: no crash, no hang, bounded memory; what it accepts it prints in a form
 * that it prints again the same, and that means the same. */
#include "host_tools/graphc/fmt/graphc_fmt.h"
#include "tests/support/meaning.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Shows the first line where they part. */
static void refuse(const char *what, const char *a, const char *b)
{
    size_t i = 0, line = 0;
    for (; a[i] != 0 && a[i] == b[i]; i++) {
        line = a[i] == '\n' ? i + 1 : line;
    }
    (void)fprintf(stderr, "%s\n---- first\n%.*s\n---- then\n%.*s\n", what, (int)strcspn(a + line, "\n"), a + line,
                  (int)strcspn(b + line, "\n"), b + line);
    abort();
}

static void check_meaning(const char *text, size_t n, const tw_graph_fmt_t *out)
{
    g_text_t before = {0}, after = {0};
    const bool was = meaning_of(&before, text, n), is = meaning_of(&after, out->text, out->n);
    char *a = g_text_take(&before), *b = g_text_take(&after);
    if (was && (!is || (a != NULL && b != NULL && strcmp(a, b) != 0))) {
        refuse("the canonical text means something else", a != NULL ? a : "", b != NULL ? b : "refused");
    }
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tw_graph_fmt_t out, again;
    const char *text = (const char *)data;
    if (size > 1u << 15) {
        return 0;
    }
    if (tw_graph_fmt("f.txt", text != NULL ? text : "", size, &out)) {
        const bool same = tw_graph_fmt("f.txt", out.text, out.n, &again) && again.n == out.n &&
                          memcmp(again.text, out.text, out.n) == 0;
        if (!same) {
            refuse("printed again it differs", out.text, again.text != NULL ? again.text : again.diags.rows[0].text);
        }
        check_meaning(text != NULL ? text : "", size, &out);
        tw_graph_fmt_free(&again);
    } else if (out.text != NULL || out.diags.errors == 0) {
        abort();
    }
    tw_graph_fmt_free(&out);
    return 0;
}
