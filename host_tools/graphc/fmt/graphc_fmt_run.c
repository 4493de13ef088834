/* graphc_fmt_run.c - runs of lines to text: widths of columns, places of comments. Knows no tag. */
#include "host_tools/graphc/fmt/graphc_fmt_run.h"
#include <stdlib.h>

#define INDENT 4u
#define WIDE 64u       /* longer lines do not move the comments of the others */
#define COMMENT_GAP 2u /* blanks before a trailing comment */

/* ---- output of a run ------------------------------------------------------------------ */

static g_slice_t cell(const g_run_t *r, const g_run_line_t *l, uint32_t i)
{
    const uint32_t from = l->cell + i > 0 ? r->ends[l->cell + i - 1] : 0;
    return (g_slice_t){r->cells.v + from, r->ends[l->cell + i] - from};
}

bool g_fmt_number(const g_slice_t *w)
{
    const tw_tok_t tok = {w->p, w->n, 0};
    double v;
    return tw_tok_num(&tok, &v);
}

static bool aligned(const g_run_line_t *a, const g_run_line_t *b)
{
    return a->shape == b->shape && a->indent == b->indent && a->shape != G_SHAPE_TEXT &&
           (a->shape != G_SHAPE_EVEN || a->n_cells == b->n_cells) && (a->n_cells > 1) == (b->n_cells > 1);
}

typedef struct columns {
    uint32_t width[G_CELLS_MAX];
    bool right[G_CELLS_MAX];
} columns_t;

/* Widths of lines [from, to), which are aligned with one another. */
static void measure(const g_run_t *r, uint32_t from, uint32_t to, columns_t *c)
{
    *c = (columns_t){0};
    for (uint32_t k = 0; k < G_CELLS_MAX; k++) {
        c->right[k] = r->lines[from].shape >= G_SHAPE_ROW || k < 2;
    }
    for (uint32_t i = from; i < to; i++) {
        for (uint32_t k = 0; k < r->lines[i].n_cells; k++) {
            const g_slice_t w = cell(r, &r->lines[i], k);
            c->width[k] = tw_max_u32(c->width[k], w.n);
            c->right[k] = c->right[k] && r->lines[i].shape != G_SHAPE_TAG &&
                          (r->lines[i].shape == G_SHAPE_DATA || g_fmt_number(&w));
        }
    }
}

static void put_cells(g_run_t *r, const g_run_line_t *l, const columns_t *c)
{
    g_fmt_pad(r->out, l->indent * INDENT);
    for (uint32_t k = 0; k < l->n_cells; k++) {
        const g_slice_t w = cell(r, l, k);
        const uint32_t gap = l->shape == G_SHAPE_TEXT || w.n > c->width[k] ? 0 : c->width[k] - w.n;
        g_fmt_str(r->out, k > 0 ? " " : "");
        g_fmt_pad(r->out, c->right[k] ? gap : 0);
        g_text_add(r->out, w.p, w.n);
        g_fmt_pad(r->out, !c->right[k] && k + 1 < l->n_cells ? gap : 0);
    }
}

static uint32_t line_width(const g_run_t *r, const g_run_line_t *l, const columns_t *c)
{
    uint32_t width = l->indent * INDENT + l->n_cells - 1;
    for (uint32_t k = 0; k < l->n_cells; k++) {
        const g_slice_t w = cell(r, l, k);
        width += l->shape == G_SHAPE_TEXT || (k + 1 == l->n_cells && !c->right[k]) ? w.n : c->width[k];
    }
    return width;
}

/* First line after `from` that is not aligned with it. */
static uint32_t segment(const g_run_t *r, uint32_t from)
{
    uint32_t to = from + 1;
    while (to < r->n_lines && aligned(&r->lines[from], &r->lines[to])) {
        to++;
    }
    return to;
}

/* Width of every line of the run as it will be printed, without its comment. */
static void measure_lines(g_run_t *r)
{
    for (uint32_t from = 0, to; from < r->n_lines; from = to) {
        columns_t c;
        to = segment(r, from);
        measure(r, from, to, &c);
        for (uint32_t i = from; i < to; i++) {
            r->lines[i].width = line_width(r, &r->lines[i], &c);
        }
    }
}

/* Comments of lines that follow one another stand in a column; one without a comment ends it, or deeper. */
static void place_comments(g_run_t *r)
{
    for (uint32_t from = 0, to; from < r->n_lines; from = to) {
        uint32_t column = 0;
        const unsigned indent = r->lines[from].indent;
        for (to = from; to < r->n_lines && r->lines[to].n_comment > 0 && r->lines[to].indent == indent; to++) {
            column = r->lines[to].width <= WIDE ? tw_max_u32(column, r->lines[to].width) : column;
        }
        for (uint32_t i = from; i < to; i++) {
            r->lines[i].column = tw_max_u32(column, r->lines[i].width) + COMMENT_GAP;
        }
        to += to == from;
    }
}

static void put_line(g_run_t *r, const g_run_line_t *l, const columns_t *c)
{
    put_cells(r, l, c);
    if (l->n_comment > 0) {
        g_fmt_pad(r->out, l->column - l->width);
        g_fmt_str(r->out, "; ");
        g_text_add(r->out, r->cells.v + l->comment, l->n_comment);
    }
    g_fmt_str(r->out, "\n");
}

void g_run_flush(g_run_t *r)
{
    measure_lines(r);
    place_comments(r);
    for (uint32_t from = 0, to; from < r->n_lines && !r->cells.failed; from = to) {
        columns_t c;
        to = segment(r, from);
        measure(r, from, to, &c);
        for (uint32_t i = from; i < to; i++) {
            put_line(r, &r->lines[i], &c);
        }
        r->blank_before = false;
    }
    r->failed |= r->cells.failed;
    r->n_lines = r->n_ends = 0;
    r->cells.n = 0;
}

/* ---- building a line -------------------------------------------------------------------- */

bool g_run_line(g_run_t *r, g_shape_t shape, unsigned indent)
{
    if (r->n_lines >= r->cap_lines && !g_grow(&r->lines, r->cap_lines, &r->cap_lines, sizeof *r->lines)) {
        r->failed = true;
        return false;
    }
    r->lines[r->n_lines++] = (g_run_line_t){.shape = shape, .indent = indent, .cell = r->n_ends};
    return true;
}

void g_run_cell(g_run_t *r)
{
    if (r->n_ends >= r->cap_ends && !g_grow(&r->ends, r->cap_ends, &r->cap_ends, sizeof *r->ends)) {
        r->failed = true;
        return;
    }
    r->ends[r->n_ends++] = (uint32_t)r->cells.n;
    r->lines[r->n_lines - 1].n_cells++;
}

/* Comments are one line of text; what is no text in them is dropped. */
static void add_clean(g_text_t *b, const char *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const bool text = (unsigned char)p[i] >= ' ' && p[i] != 0x7F;
        g_text_add(b, text ? &p[i] : " ", 1);
    }
}

bool g_fmt_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7F;
}

g_slice_t g_fmt_trim(const char *p, const char *end)
{
    while (p < end && g_fmt_blank(*p)) {
        p++;
    }
    while (end > p && g_fmt_blank(end[-1])) {
        end--;
    }
    return (g_slice_t){p, (uint32_t)(end - p)};
}

void g_run_end(g_run_t *r, const g_slice_t *comment)
{
    if (r->failed || r->n_lines == 0) {
        return;
    }
    g_run_line_t *l = &r->lines[r->n_lines - 1];
    l->comment = (uint32_t)r->cells.n;
    add_clean(&r->cells, comment->p, comment->n);
    l->n_comment = (uint32_t)r->cells.n - l->comment;
    if (l->n_comment > 0) {
        g_run_cell(r); /* the next cell begins behind it */
        l->n_cells--;
    }
}

void g_run_text(g_run_t *r, unsigned indent, const char *text, const g_slice_t *comment)
{
    if (g_run_line(r, G_SHAPE_TEXT, indent)) {
        g_fmt_str(&r->cells, text);
        g_run_cell(r);
        g_run_end(r, comment);
    }
}

/* ---- comments and blank lines ------------------------------------------------------------- */

void g_run_wait(g_run_t *r, const char *p, uint32_t n)
{
    if (r->n_waiting >= r->cap_waiting && !g_grow(&r->waiting, r->cap_waiting, &r->cap_waiting, sizeof *r->waiting)) {
        r->failed = true;
        return;
    }
    r->waiting[r->n_waiting++] = (g_slice_t){p, n};
}

static void put_comment(g_run_t *r, const g_slice_t *w, unsigned indent)
{
    const uint32_t skip = w->p[0] == ';';
    const g_slice_t text = {w->p + skip, w->n - skip};
    const char first = text.n > 0 ? text.p[0] : ' ';
    g_fmt_pad(r->out, indent * INDENT);
    g_fmt_str(r->out, first == ' ' || first == '\t' || first == ';' || first == '-' || first == '=' ? ";" : "; ");
    add_clean(r->out, text.p, text.n);
    g_fmt_str(r->out, "\n");
}

void g_run_waiting(g_run_t *r, unsigned indent)
{
    if (r->n_waiting == 0) {
        return;
    }
    g_run_flush(r);
    for (uint32_t i = 0; i < r->n_waiting; i++) {
        if (r->waiting[i].n > 0) {
            put_comment(r, &r->waiting[i], indent);
            r->blank_before = true;
        } else if (r->out->n > 0 && (i == 0 || r->waiting[i - 1].n > 0)) {
            g_fmt_str(r->out, "\n");
            r->blank_before = true;
        }
    }
    r->n_waiting = 0;
}

void g_run_free(g_run_t *r)
{
    free(r->lines);
    free(r->cells.v);
    free(r->ends);
    free(r->waiting);
}
