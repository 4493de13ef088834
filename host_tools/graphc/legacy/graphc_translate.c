/* graphc_translate.c - which translator a text needs, and what they share: lines out, each with its place. */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_MAX_BYTES 4096

/* ---- text being made ----------------------------------------------------------------- */

static void add_bytes(g_trans_t *x, const char *p, size_t n, uint32_t place)
{
    x->failed |= x->n_map >= x->cap_map && !g_grow(&x->map, x->cap_map, &x->cap_map, sizeof *x->map);
    if (x->failed) {
        return;
    }
    g_text_add(&x->out, p, n);
    g_text_add(&x->out, "\n", 1);
    x->map[x->n_map++] = place;
    x->failed = x->out.failed;
}

static void put_va(g_trans_t *x, unsigned line, const char *fmt, va_list ap)
{
    char text[LINE_MAX_BYTES];
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    add_bytes(x, text, n < 0 ? 0 : tw_min_u32((uint32_t)n, sizeof text - 1), line);
}

void g_put(g_trans_t *x, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_va(x, x->t.line, fmt, ap);
    va_end(ap);
}

void g_put_at(g_trans_t *x, unsigned line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_va(x, line, fmt, ap);
    va_end(ap);
}

void g_put_line(g_trans_t *x)
{
    add_bytes(x, x->t.bol, (size_t)(x->t.eol - x->t.bol), x->t.line | TW_LINE_SAME);
}

void g_put_comment(g_trans_t *x)
{
    tw_tok_t tok = {x->t.bol, 0, 0};
    tw_text_t t = x->t;
    t.p = t.bol;
    (void)tw_text_peek(&t, &tok);
    g_put(x, "; %.*s", (int)(x->t.eol - tok.p), tok.p);
}

/* ---- text being read ------------------------------------------------------------------- */

/* Lines from `bol` to the line being read: blank or comment, so they go as they are. */
static void put_skipped(g_trans_t *x, const char *bol, unsigned line)
{
    while (bol < x->t.bol) {
        const char *eol = memchr(bol, '\n', (size_t)(x->t.bol - bol));
        eol = eol != NULL ? eol : x->t.bol;
        add_bytes(x, bol, (size_t)(eol - bol), line++ | TW_LINE_SAME);
        bol = eol + 1;
    }
}

bool g_next_line(g_trans_t *x)
{
    const bool first = x->t.row == 0;
    const char *bol = first ? x->t.bol : x->t.eol + (x->t.eol < x->t.end);
    const unsigned line = x->t.row + 1;
    const bool found = tw_text_line(&x->t);
    if (!found && bol < x->t.end) {
        x->t.bol = x->t.end; /* comments at the end */
    }
    put_skipped(x, bol, line);
    return found;
}

bool g_is_one_of(const tw_tok_t *tok, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tw_tok_is(tok, words[i])) {
            return true;
        }
    }
    return false;
}

unsigned g_numbers(g_trans_t *x, double *v, unsigned max)
{
    tw_tok_t tok;
    unsigned n = 0;
    while (n < max && tw_text_peek(&x->t, &tok) && tw_tok_num(&tok, &v[n])) {
        (void)tw_text_tok(&x->t, &tok);
        n++;
    }
    return n;
}

const char *g_rest(const g_trans_t *x, char *to, size_t size)
{
    const char *p = x->t.p, *end = x->t.eol;
    while (p < end && ((unsigned char)*p <= ' ' || *p == ';' || *p == ',')) {
        p++;
    }
    while (end > p && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    to[0] = 0;
    if (p < end) {
        (void)snprintf(to, size, " ; %.*s", (int)(end - p), p);
    }
    return to;
}

/* ---- which one --------------------------------------------------------------------------- */

typedef bool translator_fn(g_trans_t *x);

static translator_fn *translator(const char *text, size_t n)
{
    switch (tw_manifest_detect(text, n)) {
    case TW_KIND_UNKNOWN:
    case TW_KIND_GRAPH:
        switch (g_dialect(text, n)) {
        case G_DIALECT_E0:
            return g_translate_e0;
        case G_DIALECT_E1:
            return g_translate_e1;
        case G_DIALECT_LATER:
            return g_translate_later;
        case G_DIALECT_TEMPLATE:
            return g_translate_template;
        case G_DIALECT_OURS:
            return NULL;
        }
        return NULL;
    case TW_KIND_NODE_POSITIONAL:
        return g_translate_node;
    case TW_KIND_FILES:
        return g_translate_top;
    case TW_KIND_PLATFORM:
        return g_translate_procmap;
    case TW_KIND_EMPTY:
    case TW_KIND_NODE:
    case TW_KIND_IO:
        return g_is_template(text, n) ? g_translate_io_template : NULL;
    case TW_KIND_IO_POSITIONAL:
    case TW_KIND_TOP:
    case TW_KIND_TOP_PROCESSORS:
    case TW_KIND_PROCMAP:
    case TW_KIND_LISTING:
    case TW_KIND_DOCUMENT:
    case TW_KIND_COUNT:
        return NULL;
    }
    return NULL;
}

bool g_translate(const char *file, char **text, size_t *n, uint32_t **line_map, tw_diags_t *d)
{
    translator_fn *run = translator(*text, *n);
    g_trans_t x = {.out.max = TW_TEXT_MAX};
    *line_map = NULL;
    if (run == NULL) {
        return false;
    }
    tw_text_open(&x.t, file, *text, *n, d);
    if (!run(&x) && d->errors == 0) {
        tw_diag(d, false, file, 0, 0, "cannot be translated");
    }
    if (!x.failed) {
        add_bytes(&x, "", 0, x.t.row); /* a place for the end of the text too */
    }
    if (x.failed) {
        tw_diag(d, false, file, 0, 0, "out of memory, or a translation of more than %u bytes", TW_TEXT_MAX);
        free(x.out.v);
        free(x.map);
        return false;
    }
    free(*text);
    *text = x.out.v;
    *n = x.out.n - 1; /* the line of the end has no end itself */
    *line_map = x.map;
    return true;
}
