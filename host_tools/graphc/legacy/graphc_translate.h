/* graphc_translate.h - texts of other eras: what a text is, and its meaning in the one tagged language.
 *
 *   E0    Feb 2023   lines of one letter or word: h, format, ring, arc, xtension, graph, param, script
 *   E1    Dec 2023   positional blocks closed by _end_, counted lists, 8-bit scripts
 *   E2a   Feb 2024   the same blocks with S and X rows, 16-bit scripts
 *   LATER Oct 2024   tags with other names and operand orders
 *
 * A translation is text again, so that the one reader stays the only one; a map of lines lets its
 * diagnostics point into the text that the user wrote. docs/GRAPH_LANGUAGE.md, "Texts of other eras".
 */
#pragma once
#include "engine/board/manifest_kind.h"
#include "host_tools/graphc/graphc_priv.h"
#include "host_tools/graphc/graphc_text.h"

typedef enum g_dialect {
    G_DIALECT_OURS,
    G_DIALECT_E0,
    G_DIALECT_E1, /* and E2a */
    G_DIALECT_LATER,
    G_DIALECT_TEMPLATE, /* ours, with placeholders */
} g_dialect_t;

/** Era of a graph text, from its content alone. */
g_dialect_t g_dialect(const char *text, size_t n);

/**
 * The text in our language, when it is of another era.
 * @param text      malloc'ed; replaced by another when true
 * @param line_map  malloc'ed; for tw_text_t.map
 * @param d         what has no counterpart (warnings) and what is broken (errors), placed in the original
 * @return true when *text was replaced
 */
bool g_translate(const char *file, char **text, size_t *n, uint32_t **line_map, tw_diags_t *d);

/* ---- shared by the translators --------------------------------------------------- */

/* Text being made, a line at a time; each line knows the line it came from. */
typedef struct g_trans {
    tw_text_t t;  /* the original */
    g_text_t out; /* the translation */
    uint32_t *map;
    uint32_t n_map, cap_map;
    bool failed; /* memory is out, or the text would be too long */
} g_trans_t;

/** Lines of a translation, ends with '\n' each; placed at the line being read. */
__attribute__((format(printf, 2, 3))) void g_put(g_trans_t *x, const char *fmt, ...);
/** The same, placed at another line of the original. */
__attribute__((format(printf, 3, 4))) void g_put_at(g_trans_t *x, unsigned line, const char *fmt, ...);
/** The line being read, word for word. */
void g_put_line(g_trans_t *x);
/** The same as a comment, without the blanks before it. */
void g_put_comment(g_trans_t *x);
/** Leading comment and blank lines up to the next statement, kept; then that line. @return false at the end */
bool g_next_line(g_trans_t *x);
/** Numbers at the start of what is left of the line, at most `max`; what follows is comment. @return how many */
unsigned g_numbers(g_trans_t *x, double *v, unsigned max);
/** What is left of the line as a comment " ; text", or "". */
const char *g_rest(const g_trans_t *x, char *to, size_t size);

bool g_is_one_of(const tw_tok_t *tok, const char *const *words, size_t n);

bool g_translate_e0(g_trans_t *x);
bool g_translate_e1(g_trans_t *x);
bool g_translate_later(g_trans_t *x);
bool g_translate_node(g_trans_t *x);
bool g_translate_top(g_trans_t *x);
bool g_translate_procmap(g_trans_t *x);
bool g_translate_template(g_trans_t *x);
bool g_translate_io_template(g_trans_t *x);
/** True for a text that says it is a template. */
bool g_is_template(const char *text, size_t n);
/** True for a line with <something> in it, or "..". */
bool g_has_placeholder(const tw_text_t *line);
