/* graphc_fmt_top.c - the layout of top manifests, without the files they name.
 *
 *   files        paths n, n x path; "path map"; IOs n, n x "path file index processors clock"; nodes n, n x "path file"
 *   processors   paths n, n x "index path"; processors n; memories n, n x row of 6; per processor a row of 6, its
 *                memories, its IOs "path file index"; then node rows "path file processor architecture id" to the end
 */
#include "host_tools/graphc/fmt/graphc_fmt.h"

#define COUNT_MAX 4096

static bool next_row(tw_text_t *t, const char *what)
{
    tw_tok_t tok;
    if (!tw_text_line(t)) {
        tw_diag(t->diags, false, t->file, t->line, 0, "file ends, expected %s", what);
        return false;
    }
    return tw_text_peek(t, &tok);
}

static bool take_count(tw_text_t *t, const char *what, int64_t *n)
{
    return next_row(t, what) && tw_take_int(t, what, 0, COUNT_MAX, n);
}

/* 'i' integers, 't' words; after '|' they may be missing. */
static bool take_row(tw_text_t *t, const char *what, const char *shape)
{
    tw_tok_t tok;
    int64_t v;
    bool needed = true;
    for (; *shape != 0; shape++) {
        if (*shape == '|') {
            needed = false;
            continue;
        }
        const bool more = tw_text_peek(t, &tok);
        if (!needed && (!more || (*shape == 'i' && !tw_tok_int(&tok, &v)))) {
            return true;
        }
        if (*shape == 'i' && !tw_take_int(t, what, INT32_MIN, UINT32_MAX, &v)) {
            return false;
        }
        if (*shape == 't' && !tw_text_tok(t, &tok)) {
            tw_text_error(t, &tok, "expected %s", what);
            return false;
        }
    }
    return true;
}

static bool take_rows(tw_text_t *t, const char *what, const char *shape, int64_t n)
{
    for (; n > 0; n--) {
        if (!next_row(t, what) || !take_row(t, what, shape)) {
            return false;
        }
    }
    return true;
}

static bool is_number(const tw_text_t *t)
{
    tw_tok_t tok;
    int64_t v;
    return tw_text_peek(t, &tok) && tw_tok_int(&tok, &v);
}

static bool take_files(tw_text_t *t)
{
    int64_t n;
    return take_row(t, "the file of the processor and memory map", "it") && take_count(t, "number of IOs", &n) &&
           take_rows(t, "an IO manifest", "it|iii", n) && take_count(t, "number of nodes", &n) &&
           take_rows(t, "a node manifest", "it|iii", n);
}

static bool take_processor(tw_text_t *t)
{
    double v[6];
    for (size_t i = 0; i < TW_COUNT(v); i++) {
        if (!tw_take_num(t, "row of a processor: ID, architecture, main, memories, services, IOs", 0, UINT32_MAX,
                         &v[i])) {
            return false;
        }
    }
    return v[3] <= COUNT_MAX && v[5] <= COUNT_MAX && take_rows(t, "a memory", "iiiii|i", (int64_t)v[3]) &&
           take_rows(t, "an IO manifest", "it|i", (int64_t)v[5]);
}

static bool take_processors(tw_text_t *t)
{
    int64_t processors, memories;
    if (!tw_take_int(t, "number of processors", 1, 64, &processors) ||
        !take_count(t, "number of shared memories", &memories) ||
        !take_rows(t, "a shared memory", "iiiii|i", memories)) {
        return false;
    }
    for (; processors > 0; processors--) {
        if (!next_row(t, "a processor") || !take_processor(t)) {
            return false;
        }
    }
    return true;
}

/* Node rows to the end; an _end_ may close them. */
static bool take_nodes(tw_text_t *t)
{
    tw_tok_t tok;
    while (tw_text_line(t)) {
        if (!is_number(t)) {
            (void)tw_text_tok(t, &tok);
            if (!tw_tok_is_end(&tok)) {
                tw_text_error(t, &tok, "expected a node manifest, found '%.*s'", (int)tok.n, tok.p);
                return false;
            }
        } else if (!take_row(t, "a node manifest", "it|iii")) {
            return false;
        }
    }
    return true;
}

bool g_fmt_take_top(tw_text_t *t)
{
    int64_t n;
    tw_tok_t tok;
    if (!take_count(t, "number of paths", &n) || !next_row(t, "a path")) {
        return false;
    }
    const bool indexed = is_number(t);
    const char *const shape = indexed ? "it" : "t";
    if (n == 0 || !take_row(t, "a path", shape) || !take_rows(t, "a path", shape, n - 1) ||
        !next_row(t, "the file of the processor and memory map, or the number of processors")) {
        return false;
    }
    tw_text_t ahead = *t;
    ahead.canon = NULL;
    (void)tw_text_tok(&ahead, &tok);
    const bool file = tw_text_peek(&ahead, &tok) && memchr(tok.p, '.', tok.n) != NULL;
    return (file ? take_files(t) : take_processors(t)) && take_nodes(t);
}
