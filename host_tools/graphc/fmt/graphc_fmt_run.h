/* graphc_fmt_run.h - lines that stand together: columns, trailing comments, and the comments before them.
 *
 * Lines without a blank line or a comment of their own between them make a run; inside a run columns and
 * trailing comments stand under one another, so nothing is printed before the run's end is known. */
#pragma once
#include "host_tools/graphc/fmt/graphc_fmt.h"

#define G_CELLS_MAX 48u /* columns aligned; what follows joins the last */

typedef enum g_shape {
    G_SHAPE_TEXT, /* as it is */
    G_SHAPE_TAG,  /* tag, its arguments */
    G_SHAPE_DATA, /* count, type, values */
    G_SHAPE_ROW,  /* columns; numbers to the right */
    G_SHAPE_EVEN, /* the same, among lines of as many columns */
} g_shape_t;

/* Cells are in g_run_t.cells, one after another. */
typedef struct g_run_line {
    g_shape_t shape;
    unsigned indent;
    uint32_t cell, n_cells; /* ends of the cells in g_run_t.ends */
    uint32_t comment, n_comment;
    uint32_t width, column; /* without the comment; of the comment */
} g_run_line_t;

typedef struct g_run {
    g_text_t *out;
    g_run_line_t *lines;
    uint32_t n_lines, cap_lines;
    g_text_t cells; /* of the line being built too: add to it, then end the cell */
    uint32_t *ends;
    uint32_t n_ends, cap_ends;
    g_slice_t *waiting; /* blank lines (n == 0) and comments whose indentation the next statement says */
    uint32_t n_waiting, cap_waiting;
    bool blank_before; /* the output ends with a blank line, a comment, or nothing */
    bool failed;       /* memory is out */
} g_run_t;

/** Begin a line. @return false when memory is out */
bool g_run_line(g_run_t *r, g_shape_t shape, unsigned indent);
/** What was added to r->cells since the last one is a cell. */
void g_run_cell(g_run_t *r);
/** The line is whole; its trailing comment, or nothing. */
void g_run_end(g_run_t *r, const g_slice_t *comment);
/** A line of one cell. */
void g_run_text(g_run_t *r, unsigned indent, const char *text, const g_slice_t *comment);
/** A blank line (n == 0) or a comment before the next statement. */
void g_run_wait(g_run_t *r, const char *p, uint32_t n);
/** Print what waits, indented as the statement it is before. */
void g_run_waiting(g_run_t *r, unsigned indent);
/** Print the run. */
void g_run_flush(g_run_t *r);
void g_run_free(g_run_t *r);

bool g_fmt_blank(char c);
bool g_fmt_number(const g_slice_t *w);
g_slice_t g_fmt_trim(const char *p, const char *end);
