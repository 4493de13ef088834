/* graphc_fmt_print.c - statements and comments to canonical lines: indentation, columns, blank lines.
 *
 * Lines without a blank line or a comment of their own between them make a run; inside a run columns and
 * trailing comments stand under one another, so nothing is printed before the run's end is known. */
#include "host_tools/graphc/graphc_fmt.h"
#include <stdio.h>
#include <stdlib.h>

#define INDENT 4u
#define CELLS_MAX 48u  /* columns aligned; what follows joins the last */
#define WIDE 64u       /* longer lines do not move the comments of the others */
#define COMMENT_GAP 2u /* blanks before a trailing comment */

typedef enum shape {
    SHAPE_TEXT, /* as it is */
    SHAPE_TAG,  /* tag, its arguments */
    SHAPE_DATA, /* count, type, values */
    SHAPE_ROW,  /* columns; numbers to the right */
    SHAPE_EVEN, /* the same, among lines of as many columns */
} shape_t;

/* Cells are in printer_t.cells, one after another. */
typedef struct line {
    shape_t shape;
    unsigned indent;
    uint32_t cell, n_cells; /* ends of the cells in printer_t.ends */
    uint32_t comment, n_comment;
    uint32_t width, column; /* without the comment; of the comment */
} line_t;

typedef enum record { IN_TOP, IN_FORMAT, IN_IO, IN_NODE, IN_SCRIPT, IN_ARC } record_t;
typedef enum block { BLOCK_TAGS, BLOCK_DATA, BLOCK_ROWS, BLOCK_ASM, BLOCK_HEADER, BLOCK_SUB } block_t;

typedef struct printer {
    g_buf_t *out;
    tw_manifest_kind_t kind;
    const g_taken_t *taken;
    uint32_t at; /* next word of taken */
    record_t in;
    block_t block;
    const g_fmt_row_t *header; /* its name stands on the next line: BLOCK_HEADER */
    bool later;                /* raw types by number are those of graph_dialect 2025 */
    g_slice_t sub[3];          /* name, path index, file of a sub-graph, as they come */
    uint32_t n_sub;
    bool failed;
    /* the run */
    line_t *lines;
    uint32_t n_lines, cap_lines;
    g_buf_t cells;
    uint32_t *ends;
    uint32_t n_ends, cap_ends;
    /* blank lines and comments whose indentation the next statement says */
    g_slice_t *waiting; /* n == 0: a blank line */
    uint32_t n_waiting, cap_waiting;
    bool blank_before; /* the output ends with a blank line, a comment, or nothing */
} printer_t;

/* ---- output of a run ------------------------------------------------------------------ */

static g_slice_t cell(const printer_t *f, const line_t *l, uint32_t i)
{
    const uint32_t from = l->cell + i > 0 ? f->ends[l->cell + i - 1] : 0;
    return (g_slice_t){f->cells.p + from, f->ends[l->cell + i] - from};
}

static bool is_number(const g_slice_t *w)
{
    const tw_tok_t tok = {w->p, w->n, 0};
    double v;
    return tw_tok_num(&tok, &v);
}

static bool aligned(const line_t *a, const line_t *b)
{
    return a->shape == b->shape && a->indent == b->indent && a->shape != SHAPE_TEXT &&
           (a->shape != SHAPE_EVEN || a->n_cells == b->n_cells) && (a->n_cells > 1) == (b->n_cells > 1);
}

typedef struct columns {
    uint32_t width[CELLS_MAX];
    bool right[CELLS_MAX];
} columns_t;

/* Widths of lines [from, to), which are aligned with one another. */
static void measure(const printer_t *f, uint32_t from, uint32_t to, columns_t *c)
{
    *c = (columns_t){0};
    for (uint32_t k = 0; k < CELLS_MAX; k++) {
        c->right[k] = f->lines[from].shape >= SHAPE_ROW || k < 2;
    }
    for (uint32_t i = from; i < to; i++) {
        for (uint32_t k = 0; k < f->lines[i].n_cells; k++) {
            const g_slice_t w = cell(f, &f->lines[i], k);
            c->width[k] = tw_max_u32(c->width[k], w.n);
            c->right[k] =
                c->right[k] && f->lines[i].shape != SHAPE_TAG && (f->lines[i].shape == SHAPE_DATA || is_number(&w));
        }
    }
}

static void put_cells(printer_t *f, const line_t *l, const columns_t *c)
{
    g_buf_pad(f->out, l->indent * INDENT);
    for (uint32_t k = 0; k < l->n_cells; k++) {
        const g_slice_t w = cell(f, l, k);
        const uint32_t gap = l->shape == SHAPE_TEXT || w.n > c->width[k] ? 0 : c->width[k] - w.n;
        g_buf_str(f->out, k > 0 ? " " : "");
        g_buf_pad(f->out, c->right[k] ? gap : 0);
        g_buf_add(f->out, w.p, w.n);
        g_buf_pad(f->out, !c->right[k] && k + 1 < l->n_cells ? gap : 0);
    }
}

static uint32_t line_width(const printer_t *f, const line_t *l, const columns_t *c)
{
    uint32_t width = l->indent * INDENT + l->n_cells - 1;
    for (uint32_t k = 0; k < l->n_cells; k++) {
        const g_slice_t w = cell(f, l, k);
        width += l->shape == SHAPE_TEXT || (k + 1 == l->n_cells && !c->right[k]) ? w.n : c->width[k];
    }
    return width;
}

/* First line after `from` that is not aligned with it. */
static uint32_t segment(const printer_t *f, uint32_t from)
{
    uint32_t to = from + 1;
    while (to < f->n_lines && aligned(&f->lines[from], &f->lines[to])) {
        to++;
    }
    return to;
}

/* Width of every line of the run as it will be printed, without its comment. */
static void measure_lines(printer_t *f)
{
    for (uint32_t from = 0, to; from < f->n_lines; from = to) {
        columns_t c;
        to = segment(f, from);
        measure(f, from, to, &c);
        for (uint32_t i = from; i < to; i++) {
            f->lines[i].width = line_width(f, &f->lines[i], &c);
        }
    }
}

/* Comments of lines that follow one another stand in a column; one without a comment ends it. */
static void place_comments(printer_t *f)
{
    for (uint32_t from = 0, to; from < f->n_lines; from = to) {
        uint32_t column = 0;
        for (to = from; to < f->n_lines && f->lines[to].n_comment > 0; to++) {
            column = f->lines[to].width <= WIDE ? tw_max_u32(column, f->lines[to].width) : column;
        }
        for (uint32_t i = from; i < to; i++) {
            f->lines[i].column = tw_max_u32(column, f->lines[i].width) + COMMENT_GAP;
        }
        to += to == from;
    }
}

static void put_line(printer_t *f, const line_t *l, const columns_t *c)
{
    put_cells(f, l, c);
    if (l->n_comment > 0) {
        g_buf_pad(f->out, l->column - l->width);
        g_buf_str(f->out, "; ");
        g_buf_add(f->out, f->cells.p + l->comment, l->n_comment);
    }
    g_buf_str(f->out, "\n");
}

static void flush(printer_t *f)
{
    measure_lines(f);
    place_comments(f);
    for (uint32_t from = 0, to; from < f->n_lines && !f->cells.failed; from = to) {
        columns_t c;
        to = segment(f, from);
        measure(f, from, to, &c);
        for (uint32_t i = from; i < to; i++) {
            put_line(f, &f->lines[i], &c);
        }
        f->blank_before = false;
    }
    f->failed |= f->cells.failed;
    f->n_lines = f->n_ends = 0;
    f->cells.n = 0;
}

/* ---- building a line -------------------------------------------------------------------- */

static line_t *add_line(printer_t *f, shape_t shape, unsigned indent)
{
    if (f->n_lines >= f->cap_lines && !g_grow(&f->lines, f->cap_lines, &f->cap_lines, sizeof *f->lines)) {
        f->failed = true;
        return NULL;
    }
    line_t *l = &f->lines[f->n_lines++];
    *l = (line_t){.shape = shape, .indent = indent, .cell = f->n_ends};
    return l;
}

/* What was added to f->cells since the last one is a cell. */
static void end_cell(printer_t *f)
{
    if (f->n_ends >= f->cap_ends && !g_grow(&f->ends, f->cap_ends, &f->cap_ends, sizeof *f->ends)) {
        f->failed = true;
        return;
    }
    f->ends[f->n_ends++] = (uint32_t)f->cells.n;
    f->lines[f->n_lines - 1].n_cells++;
}

/* Comments are one line of text; what is no text in them is dropped. */
static void add_clean(g_buf_t *b, const char *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const bool text = (unsigned char)p[i] >= ' ' && p[i] != 0x7F;
        g_buf_add(b, text ? &p[i] : " ", 1);
    }
}

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7F;
}

static g_slice_t trim(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) {
        p++;
    }
    while (end > p && is_blank(end[-1])) {
        end--;
    }
    return (g_slice_t){p, (uint32_t)(end - p)};
}

/* What stands after the words of a line: a comment with or without its ';'. */
static g_slice_t comment_of(const char *p, const char *eol)
{
    while (p < eol && (is_blank(*p) || *p == ',')) {
        p++;
    }
    return trim(p + (p < eol && *p == ';'), eol);
}

static void end_line(printer_t *f, const g_slice_t *comment)
{
    if (f->failed || f->n_lines == 0) {
        return;
    }
    line_t *l = &f->lines[f->n_lines - 1];
    l->comment = (uint32_t)f->cells.n;
    add_clean(&f->cells, comment->p, comment->n);
    l->n_comment = (uint32_t)f->cells.n - l->comment;
    if (l->n_comment > 0) {
        end_cell(f); /* the next cell begins behind it */
        l->n_cells--;
    }
}

static void text_line(printer_t *f, unsigned indent, const char *text, const g_slice_t *comment)
{
    if (add_line(f, SHAPE_TEXT, indent) != NULL) {
        g_buf_str(&f->cells, text);
        end_cell(f);
        end_line(f, comment);
    }
}

/* ---- comments and blank lines ------------------------------------------------------------- */

static void wait_for_statement(printer_t *f, const char *p, uint32_t n)
{
    if (f->n_waiting >= f->cap_waiting && !g_grow(&f->waiting, f->cap_waiting, &f->cap_waiting, sizeof *f->waiting)) {
        f->failed = true;
        return;
    }
    f->waiting[f->n_waiting++] = (g_slice_t){p, n};
}

static void put_comment(printer_t *f, const g_slice_t *w, unsigned indent)
{
    const uint32_t skip = w->p[0] == ';';
    const g_slice_t text = {w->p + skip, w->n - skip};
    const char first = text.n > 0 ? text.p[0] : ' ';
    g_buf_pad(f->out, indent * INDENT);
    g_buf_str(f->out, first == ' ' || first == '\t' || first == ';' || first == '-' || first == '=' ? ";" : "; ");
    add_clean(f->out, text.p, text.n);
    g_buf_str(f->out, "\n");
}

static void put_waiting(printer_t *f, unsigned indent)
{
    if (f->n_waiting == 0) {
        return;
    }
    flush(f);
    for (uint32_t i = 0; i < f->n_waiting; i++) {
        if (f->waiting[i].n > 0) {
            put_comment(f, &f->waiting[i], indent);
            f->blank_before = true;
        } else if (f->out->n > 0 && (i == 0 || f->waiting[i - 1].n > 0)) {
            g_buf_str(f->out, "\n");
            f->blank_before = true;
        }
    }
    f->n_waiting = 0;
}

/* ---- statements ----------------------------------------------------------------------------- */

static const g_slice_t no_comment;

/* Nodes and scripts are closed by _end_, whether the text does it or not. */
static void close_record(printer_t *f)
{
    if (f->in == IN_NODE || f->in == IN_SCRIPT) {
        text_line(f, 0, "_end_", &no_comment);
    }
    f->in = IN_TOP;
}

static unsigned depth(const printer_t *f, const g_fmt_row_t *row)
{
    if (f->kind != TW_KIND_GRAPH) {
        return 0;
    }
    const bool inside = f->in == IN_NODE || f->in == IN_SCRIPT;
    return row->where == G_AT_TOP ? 0 : row->where != G_AT_ANY ? 1 : f->block == BLOCK_DATA ? 2 : inside;
}

static void put_end(printer_t *f, const g_slice_t *comment)
{
    const bool record = f->block == BLOCK_TAGS;
    const unsigned indent = !record && (f->in == IN_NODE || f->in == IN_SCRIPT || f->in == IN_ARC);
    if (record && f->in != IN_NODE && f->in != IN_SCRIPT) {
        if (comment->n > 0) { /* an end of nothing says nothing, but its comment may */
            wait_for_statement(f, comment->p, comment->n);
        }
        return;
    }
    put_waiting(f, indent + 1);
    text_line(f, indent, "_end_", comment);
    f->in = record ? IN_TOP : f->in;
    f->block = BLOCK_TAGS;
}

static void put_row(printer_t *f, shape_t shape, unsigned indent, const g_slice_t *w, uint32_t n)
{
    if (add_line(f, shape, indent) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_fmt_word(&f->cells, &w[i], f->kind == TW_KIND_TOP ? G_VALUE_TEXT : G_VALUE_NUMBER);
        if (i + 1 == n || i + 1 < CELLS_MAX) {
            end_cell(f);
        } else {
            g_buf_str(&f->cells, " ");
        }
    }
}

/* An arc: its tag, and a column for each operand. */
static void put_arc(printer_t *f, const g_fmt_row_t *row, const g_slice_t *w, uint32_t n)
{
    if (add_line(f, SHAPE_EVEN, 0) == NULL) {
        return;
    }
    g_buf_str(&f->cells, row->canonical);
    end_cell(f);
    for (uint32_t i = 0; i < n && i + 1 < CELLS_MAX; i++) {
        g_fmt_word(&f->cells, &w[i], g_fmt_argument(row->args, i));
        end_cell(f);
    }
}

/* "N type; v .. v" */
static void put_data(printer_t *f, unsigned indent, const g_slice_t *w, uint32_t n)
{
    g_slice_t type = n > 1 ? w[1] : *w;
    if (add_line(f, SHAPE_DATA, indent) == NULL) {
        return;
    }
    type.n -= type.n > 0 && type.p[type.n - 1] == ':';
    g_fmt_word(&f->cells, w, G_VALUE_NUMBER);
    end_cell(f);
    g_buf_add(&f->cells, type.p, type.n);
    g_buf_str(&f->cells, ";");
    end_cell(f);
    for (uint32_t i = 2; i < n; i++) {
        g_buf_str(&f->cells, i > 2 ? " " : "");
        g_fmt_data(&f->cells, &w[i], &type);
    }
    end_cell(f);
}

static bool named(const g_fmt_row_t *row, const char *tag)
{
    return strcmp(row->canonical, tag) == 0;
}

static void put_tag(printer_t *f, const g_fmt_row_t *row, unsigned indent, bool opener, const g_slice_t *w, uint32_t n)
{
    if (add_line(f, opener ? SHAPE_TEXT : SHAPE_TAG, indent) == NULL) {
        return;
    }
    g_buf_str(&f->cells, row->canonical);
    const uint32_t begin = opener ? 0 : (uint32_t)f->cells.n + 1;
    if (!opener) {
        end_cell(f);
    }
    g_fmt_args(&f->cells, row->canonical, f->later && named(row, "format_raw_data") ? "code" : row->args, w, n);
    if (begin > 0 && f->cells.n >= begin) {
        /* a cell has no blank before it: that is the column's */
        memmove(f->cells.p + begin - 1, f->cells.p + begin, f->cells.n - begin);
        f->cells.n--;
    }
    if (opener || n > 0) {
        end_cell(f);
    }
}

/* What the tag opens. @return true when its line is not aligned with others */
static bool enter(printer_t *f, const g_fmt_row_t *row, uint32_t n_args)
{
    static const struct {
        const char *tag;
        record_t in;
        block_t block, alone; /* alone: without arguments */
    } openers[] = {
        {"format", IN_FORMAT, BLOCK_TAGS, BLOCK_ROWS},        {"stream_io", IN_IO, BLOCK_TAGS, BLOCK_TAGS},
        {"stream_io_graph", IN_IO, BLOCK_TAGS, BLOCK_TAGS},   {"top_graph_interface", IN_TOP, BLOCK_ROWS, BLOCK_ROWS},
        {"node", IN_NODE, BLOCK_TAGS, BLOCK_HEADER},          {"script", IN_SCRIPT, BLOCK_TAGS, BLOCK_TAGS},
        {"graph_trace_node", IN_TOP, BLOCK_TAGS, BLOCK_ROWS}, {"top_memory_mapping", IN_TOP, BLOCK_ROWS, BLOCK_ROWS},
    };
    for (size_t i = 0; i < TW_COUNT(openers); i++) {
        if (named(row, openers[i].tag)) {
            f->block = n_args > 0 ? openers[i].block : openers[i].alone;
            f->in = f->block == BLOCK_ROWS ? IN_TOP : openers[i].in;
            return f->block != BLOCK_TAGS || f->in != IN_TOP;
        }
    }
    if (named(row, "node_parameters") || named(row, "script_code") || named(row, "script_assembler") ||
        named(row, "script_pool") || named(row, "arc_parameters")) {
        f->block = named(row, "script_assembler") ? BLOCK_ASM : BLOCK_DATA;
        return true;
    }
    if (named(row, "subgraph")) {
        f->block = BLOCK_SUB;
        f->in = IN_TOP;
        f->header = row;
        f->n_sub = n_args;
        return true;
    }
    if (row->where == G_AT_TOP) {
        f->in = strncmp(row->canonical, "arc", 3) == 0 && !named(row, "arc_section") ? IN_ARC : IN_TOP;
    }
    return false;
}

static void graph_tag(printer_t *f, const g_fmt_row_t *row, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    if (row->where == G_AT_TOP) {
        close_record(f);
    }
    f->later |= named(row, "graph_dialect") && n > 0 && w->n == 4 && memcmp(w->p, "2025", 4) == 0;
    const unsigned indent = depth(f, row);
    const bool big = named(row, "node") || named(row, "script") || named(row, "subgraph");
    put_waiting(f, indent);
    if (big && f->n_lines > 0) {
        flush(f);
    }
    if (big && !f->blank_before) {
        g_buf_str(f->out, "\n");
        f->blank_before = true;
    }
    const bool opener = enter(f, row, n);
    if (f->block == BLOCK_HEADER || (f->block == BLOCK_SUB && n == 0)) {
        f->header = row;
        if (comment->n > 0) {
            wait_for_statement(f, comment->p, comment->n);
        }
        return;
    }
    if (named(row, "stream_io_graph") && n == 2) { /* in one line what is two */
        static const char *const tags[] = {"stream_io", "stream_io_hwid"};
        for (uint32_t i = 0; i < 2; i++) {
            const g_slice_t tag = {tags[i], (uint32_t)strlen(tags[i])};
            uint32_t used;
            put_tag(f, g_fmt_find(TW_KIND_GRAPH, &tag, 1, &used), i, i == 0, w + i, 1);
            end_line(f, i == 0 ? comment : &no_comment);
        }
        return;
    }
    if (f->in == IN_ARC && row->where == G_AT_TOP) {
        put_arc(f, row, w, n);
    } else {
        put_tag(f, row, indent, opener, w, n);
    }
    end_line(f, comment);
}

static void manifest_tag(printer_t *f, const g_fmt_row_t *row, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    const bool opener = named(row, "node_mem") || named(row, "node_arc");
    const bool mem = strncmp(row->canonical, "node_mem_", 9) == 0, arc = strncmp(row->canonical, "node_arc_", 9) == 0;
    const unsigned indent = (f->in == IN_FORMAT && mem) || (f->in == IN_ARC && arc);
    put_waiting(f, indent);
    f->in = named(row, "node_mem") ? IN_FORMAT : named(row, "node_arc") ? IN_ARC : indent > 0 ? f->in : IN_TOP;
    put_tag(f, row, indent, opener, w, n);
    end_line(f, comment);
}

/* The name of a node on a line of its own. */
static void put_header(printer_t *f, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    f->block = BLOCK_TAGS;
    put_waiting(f, 0);
    put_tag(f, f->header, 0, true, w, n);
    end_line(f, comment);
}

/* Interfaces or VIDs, their number before them or not. */
static void put_list(printer_t *f, const g_slice_t *w, uint32_t n)
{
    char text[16];
    if (n > 1 && !is_number(&w[1])) {
        put_data(f, 1, w, n);
        return;
    }
    if (add_line(f, SHAPE_DATA, 1) == NULL) {
        return;
    }
    (void)snprintf(text, sizeof text, "%u", n);
    g_buf_str(&f->cells, text);
    end_cell(f);
    g_buf_str(&f->cells, "i16;");
    end_cell(f);
    for (uint32_t i = 0; i < n; i++) {
        g_buf_str(&f->cells, i > 0 ? " " : "");
        g_fmt_word(&f->cells, &w[i], G_VALUE_NUMBER);
    }
    end_cell(f);
}

/* Name and file on lines of their own go to the first one; then its lists. */
static void sub_line(printer_t *f, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    if (f->n_sub >= TW_COUNT(f->sub)) {
        put_waiting(f, 1);
        put_list(f, w, n);
        end_line(f, comment);
        return;
    }
    for (uint32_t i = 0; i < n && f->n_sub < TW_COUNT(f->sub); i++) {
        f->sub[f->n_sub++] = w[i];
    }
    if (f->n_sub == TW_COUNT(f->sub)) {
        put_waiting(f, 0);
        put_tag(f, f->header, 0, true, f->sub, f->n_sub);
        end_line(f, comment);
    } else if (comment->n > 0) {
        wait_for_statement(f, comment->p, comment->n);
    }
}

static void put_words(printer_t *f, unsigned indent, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    if (add_line(f, SHAPE_TEXT, indent) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_buf_str(&f->cells, i > 0 ? " " : "");
        g_buf_add(&f->cells, w[i].p, w[i].n);
    }
    end_cell(f);
    end_line(f, comment);
}

/* A line of the assembler, whose words are its own affair: only blanks are ours. */
static void put_code(printer_t *f, const g_slice_t *text)
{
    if (add_line(f, SHAPE_TEXT, 2) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < text->n; i++) {
        const bool blank = is_blank(text->p[i]);
        if (!blank || !is_blank(text->p[i + 1])) {
            g_buf_add(&f->cells, blank ? " " : &text->p[i], 1);
        }
    }
    end_cell(f);
}

static bool is_end(const g_slice_t *w)
{
    const tw_tok_t tok = {w->p, w->n, 0};
    return tw_tok_is_end(&tok) || tw_tok_is(&tok, "_endgraph_");
}

static void statement(printer_t *f, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    const bool rows = f->kind == TW_KIND_TOP || f->kind == TW_KIND_PROCMAP;
    uint32_t used = 0;
    const g_fmt_row_t *row = f->block == BLOCK_HEADER ? NULL : g_fmt_find(f->kind, w, n, &used);
    if (f->block == BLOCK_SUB && f->n_sub >= TW_COUNT(f->sub) && row != NULL) {
        put_end(f, &no_comment); /* the older text has no end there */
    }
    if (!rows && is_end(w)) {
        put_end(f, comment);
    } else if (f->block == BLOCK_HEADER) {
        put_header(f, w, n, comment);
    } else if (f->block == BLOCK_SUB) {
        sub_line(f, w, n, comment);
    } else if (f->block == BLOCK_ASM) {
        const g_slice_t text = {w->p, (uint32_t)(w[n - 1].p + w[n - 1].n - w->p)};
        put_waiting(f, 2);
        put_code(f, &text);
        end_line(f, comment);
    } else if (f->block == BLOCK_DATA && is_number(w)) {
        put_waiting(f, 2);
        put_data(f, 2, w, n);
        end_line(f, comment);
    } else if (rows || f->block == BLOCK_ROWS) {
        put_waiting(f, !rows);
        put_row(f, rows ? SHAPE_EVEN : SHAPE_ROW, !rows, w, n);
        end_line(f, comment);
    } else if (row != NULL && f->kind == TW_KIND_GRAPH) {
        graph_tag(f, row, w + used, n - used, comment);
    } else if (row != NULL) {
        manifest_tag(f, row, w + used, n - used, comment);
    } else { /* names of a manifest, tags of back ends */
        put_waiting(f, 0);
        put_words(f, 0, w, n, comment);
        f->in = IN_TOP;
    }
}

/* ---- lines ------------------------------------------------------------------------------------ */

/* Words of a line that its reader does not take one by one. @return how many; free(*words) */
static uint32_t all_words(const char *bol, const char *eol, g_slice_t **words)
{
    tw_text_t t = {.bol = bol, .p = bol, .eol = eol, .end = eol};
    tw_tok_t tok;
    uint32_t n = 0, cap = 0;
    *words = NULL;
    while (tw_text_tok(&t, &tok) && (n < cap || g_grow(words, cap, &cap, sizeof **words))) {
        (*words)[n++] = (g_slice_t){tok.p, tok.n};
    }
    return n;
}

/* `w`: all words of the line. */
static bool takes_all(const printer_t *f, const g_slice_t *w, uint32_t n)
{
    uint32_t used;
    const g_fmt_row_t *row = f->block == BLOCK_TAGS && n > 0 ? g_fmt_find(f->kind, w, n, &used) : NULL;
    return row != NULL ? row->whole : f->kind == TW_KIND_IO && f->block == BLOCK_TAGS;
}

/* Taken words of the line, or all of them where the reader is not interested. */
static void print_line(printer_t *f, const char *bol, const char *eol)
{
    const g_slice_t *w = f->at < f->taken->n ? &f->taken->words[f->at] : NULL;
    uint32_t n = 0;
    while (f->at < f->taken->n && f->taken->words[f->at].p < eol) {
        f->at++;
        n++;
    }
    const g_slice_t whole = trim(bol, eol);
    if (whole.n == 0 || whole.p[0] == ';') {
        wait_for_statement(f, whole.p, whole.n);
        return;
    }
    g_slice_t *all = NULL;
    const uint32_t n_all = f->kind == TW_KIND_IO || f->kind == TW_KIND_GRAPH ? all_words(bol, eol, &all) : 0;
    if (takes_all(f, all, n_all)) {
        n = n_all;
        w = all;
    }
    if (n == 0) { /* headings and rules: comments without their ';' */
        wait_for_statement(f, whole.p, whole.n);
    } else {
        const g_slice_t comment = comment_of(w[n - 1].p + w[n - 1].n, eol);
        statement(f, w, n, &comment);
    }
    free(all);
}

static void print_all(printer_t *f, const char *text, const char *end)
{
    for (const char *bol = text; bol < end && !f->failed && !f->out->failed;) {
        const char *nl = memchr(bol, '\n', (size_t)(end - bol));
        const char *eol = nl != NULL ? nl : end;
        print_line(f, bol, eol);
        bol = eol + (nl != NULL);
    }
    if (f->kind == TW_KIND_GRAPH && f->block == BLOCK_SUB) {
        text_line(f, 0, "_end_", &no_comment);
    } else if (f->kind == TW_KIND_GRAPH && f->block == BLOCK_TAGS) {
        close_record(f);
    }
    while (f->n_waiting > 0 && f->waiting[f->n_waiting - 1].n == 0) {
        f->n_waiting--; /* no blank lines at the end */
    }
    put_waiting(f, 0);
    flush(f);
}

void g_fmt_print(g_buf_t *out, tw_manifest_kind_t kind, const char *text, size_t n, const g_taken_t *taken)
{
    printer_t f = {.out = out, .kind = kind, .taken = taken, .in = IN_TOP, .blank_before = true};
    const size_t mark = n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    print_all(&f, text + mark, text + n);
    out->failed |= f.failed;
    free(f.lines);
    free(f.cells.p);
    free(f.ends);
    free(f.waiting);
}
