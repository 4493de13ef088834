/* graphc_fmt_print.c - statements and comments to canonical lines: blocks, their indentation, what a tag opens. */
#include "host_tools/graphc/fmt/graphc_fmt_run.h"
#include <stdio.h>
#include <stdlib.h>

typedef enum record { IN_TOP, IN_FORMAT, IN_IO, IN_NODE, IN_SCRIPT, IN_ARC } record_t;
typedef enum block { BLOCK_TAGS, BLOCK_DATA, BLOCK_ROWS, BLOCK_ASM, BLOCK_SOURCE, BLOCK_HEADER, BLOCK_SUB } block_t;

typedef struct printer {
    g_run_t run;
    tw_manifest_kind_t kind;
    const g_taken_t *taken;
    uint32_t at; /* next word of taken */
    record_t in;
    block_t block;
    int source_indent;         /* blanks before the first line of script_source, -1: it is to come */
    const g_fmt_row_t *header; /* its name stands on the next line: BLOCK_HEADER */
    bool later;                /* raw types by number are those of graph_dialect 2025 */
    g_slice_t sub[3];          /* name, path index, file of a sub-graph, as they come */
    uint32_t n_sub;
} printer_t;

/* ---- statements ----------------------------------------------------------------------------- */

static const g_slice_t no_comment;

/* Nodes and scripts are closed by _end_, whether the text does it or not. */
static void close_record(printer_t *f)
{
    if (f->in == IN_NODE || f->in == IN_SCRIPT) {
        g_run_text(&f->run, 0, "_end_", &no_comment);
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
            g_run_wait(&f->run, comment->p, comment->n);
        }
        return;
    }
    g_run_waiting(&f->run, indent + 1);
    g_run_text(&f->run, indent, "_end_", comment);
    f->in = record ? IN_TOP : f->in;
    f->block = BLOCK_TAGS;
}

static void put_row(printer_t *f, g_shape_t shape, unsigned indent, const g_slice_t *w, uint32_t n)
{
    if (!g_run_line(&f->run, shape, indent)) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_fmt_word(&f->run.cells, &w[i],
                   f->kind == TW_KIND_TOP || f->kind == TW_KIND_TOP_PROCESSORS ? G_VALUE_TEXT : G_VALUE_NUMBER);
        if (i + 1 == n || i + 1 < G_CELLS_MAX) {
            g_run_cell(&f->run);
        } else {
            g_fmt_str(&f->run.cells, " ");
        }
    }
}

/* An arc: its tag, and a column for each operand. */
static void put_arc(printer_t *f, const g_fmt_row_t *row, const g_slice_t *w, uint32_t n)
{
    if (!g_run_line(&f->run, G_SHAPE_EVEN, 0)) {
        return;
    }
    g_fmt_str(&f->run.cells, row->canonical);
    g_run_cell(&f->run);
    for (uint32_t i = 0; i < n && i + 1 < G_CELLS_MAX; i++) {
        g_fmt_word(&f->run.cells, &w[i], g_fmt_argument(row->args, i));
        g_run_cell(&f->run);
    }
}

/* "N type; v .. v" */
static void put_data(printer_t *f, unsigned indent, const g_slice_t *w, uint32_t n)
{
    g_slice_t type = n > 1 ? w[1] : *w;
    if (!g_run_line(&f->run, G_SHAPE_DATA, indent)) {
        return;
    }
    type.n -= type.n > 0 && type.p[type.n - 1] == ':';
    g_fmt_word(&f->run.cells, w, G_VALUE_NUMBER);
    g_run_cell(&f->run);
    g_text_add(&f->run.cells, type.p, type.n);
    g_fmt_str(&f->run.cells, ";");
    g_run_cell(&f->run);
    for (uint32_t i = 2; i < n; i++) {
        g_fmt_str(&f->run.cells, i > 2 ? " " : "");
        g_fmt_data(&f->run.cells, &w[i], &type);
    }
    if (n > 2) {
        g_run_cell(&f->run);
    }
}

static bool named(const g_fmt_row_t *row, const char *tag)
{
    return strcmp(row->canonical, tag) == 0;
}

static void put_tag(printer_t *f, const g_fmt_row_t *row, unsigned indent, bool opener, const g_slice_t *w, uint32_t n)
{
    if (!g_run_line(&f->run, opener ? G_SHAPE_TEXT : G_SHAPE_TAG, indent)) {
        return;
    }
    g_fmt_str(&f->run.cells, row->canonical);
    const uint32_t begin = opener ? 0 : (uint32_t)f->run.cells.n + 1;
    if (!opener) {
        g_run_cell(&f->run);
    }
    g_fmt_args(&f->run.cells, row->canonical, f->later && named(row, "format_raw_data") ? "code" : row->args, w, n);
    if (begin > 0 && f->run.cells.n >= begin) {
        /* a cell has no blank before it: that is the column's */
        memmove(f->run.cells.v + begin - 1, f->run.cells.v + begin, f->run.cells.n - begin);
        f->run.cells.n--;
    }
    if (opener || n > 0) {
        g_run_cell(&f->run);
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
        named(row, "script_pool") || named(row, "script_source") || named(row, "arc_parameters")) {
        f->block = named(row, "script_assembler") ? BLOCK_ASM : named(row, "script_source") ? BLOCK_SOURCE : BLOCK_DATA;
        f->source_indent = -1;
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
    g_run_waiting(&f->run, indent);
    if (big && f->run.n_lines > 0) {
        g_run_flush(&f->run);
    }
    if (big && !f->run.blank_before) {
        g_fmt_str(f->run.out, "\n");
        f->run.blank_before = true;
    }
    const bool opener = enter(f, row, n);
    if (f->block == BLOCK_HEADER || (f->block == BLOCK_SUB && n == 0)) {
        f->header = row;
        if (comment->n > 0) {
            g_run_wait(&f->run, comment->p, comment->n);
        }
        return;
    }
    if (named(row, "stream_io_graph") && n == 2) { /* in one line what is two */
        static const char *const tags[] = {"stream_io", "stream_io_hwid"};
        for (uint32_t i = 0; i < 2; i++) {
            const g_slice_t tag = {tags[i], (uint32_t)strlen(tags[i])};
            uint32_t used;
            put_tag(f, g_fmt_find(TW_KIND_GRAPH, &tag, 1, &used), i, i == 0, w + i, 1);
            g_run_end(&f->run, i == 0 ? comment : &no_comment);
        }
        return;
    }
    if (f->in == IN_ARC && row->where == G_AT_TOP) {
        put_arc(f, row, w, n);
    } else {
        put_tag(f, row, indent, opener, w, n);
    }
    g_run_end(&f->run, comment);
}

static void manifest_tag(printer_t *f, const g_fmt_row_t *row, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    const bool opener = named(row, "node_mem") || named(row, "node_arc");
    const bool mem = strncmp(row->canonical, "node_mem_", 9) == 0, arc = strncmp(row->canonical, "node_arc_", 9) == 0;
    const unsigned indent = (f->in == IN_FORMAT && mem) || (f->in == IN_ARC && arc);
    g_run_waiting(&f->run, indent);
    f->in = named(row, "node_mem") ? IN_FORMAT : named(row, "node_arc") ? IN_ARC : indent > 0 ? f->in : IN_TOP;
    put_tag(f, row, indent, opener, w, n);
    g_run_end(&f->run, comment);
}

/* The name of a node on a line of its own. */
static void put_header(printer_t *f, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    f->block = BLOCK_TAGS;
    g_run_waiting(&f->run, 0);
    put_tag(f, f->header, 0, true, w, n);
    g_run_end(&f->run, comment);
}

/* Interfaces or VIDs, their number before them or not. */
static void put_list(printer_t *f, const g_slice_t *w, uint32_t n)
{
    char text[16];
    if (n > 1 && !g_fmt_number(&w[1])) {
        put_data(f, 1, w, n);
        return;
    }
    if (!g_run_line(&f->run, G_SHAPE_DATA, 1)) {
        return;
    }
    (void)snprintf(text, sizeof text, "%u", n);
    g_fmt_str(&f->run.cells, text);
    g_run_cell(&f->run);
    g_fmt_str(&f->run.cells, "i16;");
    g_run_cell(&f->run);
    for (uint32_t i = 0; i < n; i++) {
        g_fmt_str(&f->run.cells, i > 0 ? " " : "");
        g_fmt_word(&f->run.cells, &w[i], G_VALUE_NUMBER);
    }
    g_run_cell(&f->run);
}

/* Name and file on lines of their own go to the first one; then its lists. */
static void sub_line(printer_t *f, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    if (f->n_sub >= TW_COUNT(f->sub)) {
        g_run_waiting(&f->run, 1);
        put_list(f, w, n);
        g_run_end(&f->run, comment);
        return;
    }
    for (uint32_t i = 0; i < n && f->n_sub < TW_COUNT(f->sub); i++) {
        f->sub[f->n_sub++] = w[i];
    }
    if (f->n_sub == TW_COUNT(f->sub)) {
        g_run_waiting(&f->run, 0);
        put_tag(f, f->header, 0, true, f->sub, f->n_sub);
        g_run_end(&f->run, comment);
    } else if (comment->n > 0) {
        g_run_wait(&f->run, comment->p, comment->n);
    }
}

static void put_words(printer_t *f, unsigned indent, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    if (!g_run_line(&f->run, G_SHAPE_TEXT, indent)) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_fmt_str(&f->run.cells, i > 0 ? " " : "");
        g_text_add(&f->run.cells, w[i].p, w[i].n);
    }
    g_run_cell(&f->run);
    g_run_end(&f->run, comment);
}

/* A line of the assembler, whose words are its own affair: only blanks are ours. */
static void put_code(printer_t *f, const g_slice_t *text)
{
    if (!g_run_line(&f->run, G_SHAPE_TEXT, 2)) {
        return;
    }
    for (uint32_t i = 0; i < text->n; i++) {
        const bool blank = g_fmt_blank(text->p[i]);
        if (!blank || !g_fmt_blank(text->p[i + 1])) {
            g_text_add(&f->run.cells, blank ? " " : &text->p[i], 1);
        }
    }
    g_run_cell(&f->run);
}

static bool is_end(const g_slice_t *w)
{
    const tw_tok_t tok = {w->p, w->n, 0};
    return tw_tok_is_end(&tok) || tw_tok_is(&tok, "_endgraph_");
}

static void statement(printer_t *f, const g_slice_t *w, uint32_t n, const g_slice_t *comment)
{
    const bool processors = f->kind == TW_KIND_TOP_PROCESSORS;
    const bool rows = processors || f->kind == TW_KIND_TOP || f->kind == TW_KIND_PROCMAP;
    uint32_t used = 0;
    const g_fmt_row_t *row = f->block == BLOCK_HEADER ? NULL : g_fmt_find(f->kind, w, n, &used);
    if (f->block == BLOCK_SUB && f->n_sub >= TW_COUNT(f->sub) && row != NULL) {
        put_end(f, &no_comment); /* the older text has no end there */
    }
    if ((!rows || processors) && is_end(w)) {
        put_end(f, comment);
    } else if (f->block == BLOCK_HEADER) {
        put_header(f, w, n, comment);
    } else if (f->block == BLOCK_SUB) {
        sub_line(f, w, n, comment);
    } else if (f->block == BLOCK_ASM) {
        const g_slice_t text = {w->p, (uint32_t)(w[n - 1].p + w[n - 1].n - w->p)};
        g_run_waiting(&f->run, 2);
        put_code(f, &text);
        g_run_end(&f->run, comment);
    } else if (f->block == BLOCK_DATA && g_fmt_number(w)) {
        g_run_waiting(&f->run, 2);
        put_data(f, 2, w, n);
        g_run_end(&f->run, comment);
    } else if (rows || f->block == BLOCK_ROWS) {
        g_run_waiting(&f->run, !rows);
        put_row(f, rows ? G_SHAPE_EVEN : G_SHAPE_ROW, !rows, w, n);
        g_run_end(&f->run, comment);
    } else if (row != NULL && f->kind == TW_KIND_GRAPH) {
        graph_tag(f, row, w + used, n - used, comment);
    } else if (row != NULL) {
        manifest_tag(f, row, w + used, n - used, comment);
    } else { /* names of a manifest, tags of back ends */
        g_run_waiting(&f->run, 0);
        put_words(f, 0, w, n, comment);
        f->in = IN_TOP;
    }
}

/* ---- lines ------------------------------------------------------------------------------------ */

/* What stands after the words of a line: a comment with or without its ';'. */
static g_slice_t comment_of(const char *p, const char *eol)
{
    while (p < eol && (g_fmt_blank(*p) || *p == ',')) {
        p++;
    }
    return g_fmt_trim(p + (p < eol && *p == ';'), eol);
}

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

/* Of a data line without values the ';' behind the type is no comment's. */
static const char *end_of_words(const printer_t *f, const g_slice_t *w, uint32_t n, const char *eol)
{
    const char *p = w[n - 1].p + w[n - 1].n;
    const bool data = (f->block == BLOCK_SUB || f->block == BLOCK_DATA) && n == 2 && g_fmt_number(w);
    if (!data || g_fmt_number(&w[1]) || p[-1] == ':') {
        return p;
    }
    while (p < eol && g_fmt_blank(*p)) {
        p++;
    }
    return p + (p < eol && (*p == ';' || *p == ':'));
}

/* Statements stand as they are, moved as a block. */
static void source_line(printer_t *f, const char *bol, const g_slice_t *text)
{
    const int indent = (int)(text->p - bol);
    f->source_indent = f->source_indent < 0 ? indent : f->source_indent;
    g_run_waiting(&f->run, 2);
    if (g_run_line(&f->run, G_SHAPE_TEXT, 2)) {
        g_fmt_pad(&f->run.cells, (size_t)(indent > f->source_indent ? indent - f->source_indent : 0));
        g_text_add(&f->run.cells, text->p, text->n);
        g_run_cell(&f->run);
        g_run_end(&f->run, &no_comment);
    }
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
    const g_slice_t whole = g_fmt_trim(bol, eol);
    if (whole.n == 0 || whole.p[0] == ';') {
        g_run_wait(&f->run, whole.p, whole.n);
        return;
    }
    if (f->block == BLOCK_SOURCE && whole.p[0] != '_') {
        source_line(f, bol, &whole);
        return;
    }
    g_slice_t *all = NULL;
    const uint32_t n_all = f->kind == TW_KIND_IO || f->kind == TW_KIND_GRAPH ? all_words(bol, eol, &all) : 0;
    if (takes_all(f, all, n_all)) {
        n = n_all;
        w = all;
    }
    if (n == 0) { /* headings and rules: comments without their ';' */
        g_run_wait(&f->run, whole.p, whole.n);
    } else {
        const g_slice_t comment = comment_of(end_of_words(f, w, n, eol), eol);
        statement(f, w, n, &comment);
    }
    free(all);
}

static void print_all(printer_t *f, const char *text, const char *end)
{
    for (const char *bol = text; bol < end && !f->run.failed && !f->run.out->failed;) {
        const char *nl = memchr(bol, '\n', (size_t)(end - bol));
        const char *eol = nl != NULL ? nl : end;
        print_line(f, bol, eol);
        bol = eol + (nl != NULL);
    }
    if (f->kind == TW_KIND_GRAPH && f->block == BLOCK_SUB) {
        g_run_text(&f->run, 0, "_end_", &no_comment);
    } else if (f->kind == TW_KIND_GRAPH && f->block == BLOCK_TAGS) {
        close_record(f);
    }
    while (f->run.n_waiting > 0 && f->run.waiting[f->run.n_waiting - 1].n == 0) {
        f->run.n_waiting--; /* no blank lines at the end */
    }
    g_run_waiting(&f->run, 0);
    g_run_flush(&f->run);
}

void g_fmt_print(g_text_t *out, tw_manifest_kind_t kind, const char *text, size_t n, const g_taken_t *taken)
{
    printer_t f = {.run = {.out = out, .cells.max = G_FMT_MAX, .blank_before = true},
                   .kind = kind,
                   .taken = taken,
                   .in = IN_TOP,
                   .block = BLOCK_TAGS};
    const size_t mark = n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    print_all(&f, text + mark, text + n);
    out->failed |= f.run.failed;
    g_run_free(&f.run);
}
