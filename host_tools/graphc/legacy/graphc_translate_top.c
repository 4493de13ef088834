/* graphc_translate_top.c - lists of files and platform manifests of Dec 2023: top manifest, processor and memory map.
 */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdio.h>

static bool need_line(g_trans_t *x, const char *what)
{
    if (!g_next_line(x)) {
        tw_diag(x->t.diags, false, x->t.file, x->t.line, 0, "file ends, expected %s", what);
        return false;
    }
    return true;
}

/* At least `least` numbers the line begins with. */
static bool need_numbers(g_trans_t *x, const char *what, double *v, unsigned least, unsigned most)
{
    tw_tok_t tok;
    const unsigned n = g_numbers(x, v, most);
    if (n < least) {
        (void)tw_text_peek(&x->t, &tok);
        tw_text_error(&x->t, &tok, "expected %s: %u numbers, found %u", what, least, n);
    }
    return n >= least;
}

static bool need_count(g_trans_t *x, const char *what, double most, unsigned *n)
{
    double v;
    char rest[512];
    if (!need_line(x, what) || !need_numbers(x, what, &v, 1, 1)) {
        return false;
    }
    if (v < 0 || v > most) {
        tw_text_error(&x->t, NULL, "%s is %g, allowed 0..%g", what, v, most);
        return false;
    }
    *n = (unsigned)v;
    g_put(x, "%u%s", *n, g_rest(x, rest, sizeof rest));
    return true;
}

/* ---- top manifest ---------------------------------------------------------------------- */

static bool paths(g_trans_t *x)
{
    unsigned n;
    tw_tok_t tok;
    char rest[512];
    if (!need_count(x, "number of paths", 64, &n)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!need_line(x, "a path")) {
            return false;
        }
        int64_t index;
        tw_tok_t next;
        (void)tw_text_tok(&x->t, &tok);
        if (tw_tok_int(&tok, &index) && tw_text_peek(&x->t, &next)) { /* of lists with indexes, in order */
            (void)tw_text_tok(&x->t, &tok);
            if (index != i) {
                tw_text_error(&x->t, &tok, "path %lld, expected %u: paths are numbered in order", (long long)index, i);
                return false;
            }
        }
        g_put(x, "%.*s%s", (int)tok.n, tok.p, g_rest(x, rest, sizeof rest));
    }
    return true;
}

/* "path file [index]": of an IO also the processor and the clock that were not said. */
static bool file_row(g_trans_t *x, const char *what, bool io)
{
    double path, index = 0;
    tw_tok_t tok;
    char rest[512];
    if (!need_line(x, what) || !need_numbers(x, what, &path, 1, 1)) {
        return false;
    }
    if (!tw_text_tok(&x->t, &tok)) {
        tw_text_error(&x->t, &tok, "expected the file of %s", what);
        return false;
    }
    const g_slice_t file = {tok.p, tok.n};
    if (io && !need_numbers(x, "the IO's index", &index, 1, 1)) {
        return false;
    }
    (void)g_rest(x, rest, sizeof rest);
    if (io) {
        g_put(x, "%.0f %.*s %.0f 1 0%s", path, (int)file.n, file.p, index, rest);
    } else {
        g_put(x, "%.0f %.*s%s", path, (int)file.n, file.p, rest);
    }
    return true;
}

static bool files(g_trans_t *x, const char *count, const char *what, bool io)
{
    unsigned n;
    if (!need_count(x, count, 1024, &n)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!file_row(x, what, io)) {
            return false;
        }
    }
    return true;
}

bool g_translate_top(g_trans_t *x)
{
    if (!paths(x) || !file_row(x, "the processor and memory map", false) ||
        !files(x, "number of IOs", "an IO manifest", true) || !files(x, "number of nodes", "a node manifest", false)) {
        return false;
    }
    while (g_next_line(x)) {
        tw_text_warn(&x->t, NULL, "the assignment of domains to IOs has no counterpart, kept as a comment");
        g_put(x, "; %.*s", (int)(x->t.eol - x->t.bol), x->t.bol);
    }
    return true;
}

/* ---- processor and memory map ------------------------------------------------------------ */

/* "ID [offsets.. threads] banks main" or "ID main offsets threads banks", then its services. */
typedef struct processor {
    double id, main, services;
    unsigned offsets, banks;
} processor_t;

static bool processor(g_trans_t *x, processor_t *p)
{
    double v[5], services;
    if (!need_line(x, "a processor")) {
        return false;
    }
    const unsigned n = g_numbers(x, v, 5);
    if (n < 4) {
        tw_text_error(&x->t, NULL, "expected a processor: 4 or 5 numbers, found %u", n);
        return false;
    }
    *p = n == 4 ? (processor_t){.id = v[0], .main = v[3], .offsets = (unsigned)v[1], .banks = (unsigned)v[2]}
                : (processor_t){.id = v[0], .main = v[1], .offsets = (unsigned)v[2], .banks = (unsigned)v[4]};
    if (p->offsets > 16 || p->banks > 16) {
        tw_text_error(&x->t, NULL, "%u offsets and %u banks, at most 16 each", p->offsets, p->banks);
        return false;
    }
    if (!need_line(x, "services") || !need_numbers(x, "services", &services, 1, 1)) {
        return false;
    }
    p->services = services;
    return true;
}

/* "ID h20000000": where an offset begins; for people only. */
static bool offsets(g_trans_t *x, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!need_line(x, "an offset")) {
            return false;
        }
        g_put(x, "; offset %.*s", (int)(x->t.eol - x->t.bol), x->t.bol);
    }
    return true;
}

/* Rows of banks to the end of the text: the number before them is not always theirs. */
static bool banks(g_trans_t *x, unsigned *n)
{
    double v[9];
    char rest[512];
    for (*n = 0; g_next_line(x); (*n)++) {
        if (!need_numbers(x, "a memory bank", v, 9, 9)) {
            return false;
        }
        g_put(x, "%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f%s", v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8],
              g_rest(x, rest, sizeof rest));
    }
    return true;
}

bool g_translate_procmap(g_trans_t *x)
{
    double v[2];
    processor_t p;
    unsigned n = 0;
    if (!need_line(x, "number of architectures and processors") ||
        !need_numbers(x, "number of architectures and processors", v, 2, 2)) {
        return false;
    }
    if (v[0] != 1 || v[1] != 1) {
        tw_text_error(&x->t, NULL, "%g architectures with %g processors: only maps of one processor are translated",
                      v[0], v[1]);
        return false;
    }
    const size_t head = x->out.n;
    const unsigned line = x->t.line;
    g_put(x, "1 1 00");
    if (!processor(x, &p) || !offsets(x, p.offsets) || !banks(x, &n)) {
        return false;
    }
    if (n != p.banks) {
        tw_diag(x->t.diags, true, x->t.file, line, 0, "%u memory banks announced, %u follow", p.banks, n);
    }
    if (!x->failed && n < 100) { /* the number of banks is known now */
        x->out.v[head + 4] = (char)('0' + n / 10);
        x->out.v[head + 5] = (char)('0' + n % 10);
    }
    g_put_at(x, line, "%.0f %.0f %.0f", p.id, p.main, p.services);
    return true;
}
