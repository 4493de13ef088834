/* graphc_fmt.h - shared inside the formatter.
 *
 *   text --kind--> reader of that kind, noting the words it took --> printer --> canonical text
 *
 * The printer has no grammar: the readers say which words of a line they took, so what is left of a line
 * is comment whether a ';' stands before it or not. It knows the tables of tags, for blocks and kinds of
 * values. Nothing here follows a file that a text names.
 */
#pragma once
#include "host_tools/graphc/graphc_text.h"
#include "host_tools/graphc/legacy/graphc_translate.h"

#define G_FMT_MAX (64u << 20) /* [bytes] of output */

void g_fmt_str(g_text_t *b, const char *s);
void g_fmt_pad(g_text_t *b, size_t blanks);

/* Words of one text that its reader took, in order. */
typedef struct g_taken {
    g_slice_t *words;
    uint32_t n, cap;
    bool separator; /* of the two calls for a word, the first came last */
    bool failed;
} g_taken_t;

/** As tw_text_t.canon. */
void g_taken_word(void *ctx, const char *p, size_t n);

/* What a word is. */
typedef enum g_value { G_VALUE_TEXT, G_VALUE_NUMBER, G_VALUE_RAW, G_VALUE_UNIT, G_VALUE_DOMAIN } g_value_t;

/** A word in canonical form; hexadecimal numbers stay hexadecimal. */
void g_fmt_word(g_text_t *b, const g_slice_t *w, g_value_t value);
/** Words of an option set, braces or not, as "{i v v}". */
void g_fmt_options(g_text_t *b, const g_slice_t *w, uint32_t n, g_value_t value);
/** What the i-th argument is as a table's text describes it: "io node instance port format [H]". */
g_value_t g_fmt_argument(const char *args, uint32_t i);
/** Arguments of a tag, a blank before each. */
void g_fmt_args(g_text_t *b, const char *tag, const char *args, const g_slice_t *w, uint32_t n);
/** A value of a data line of that type. */
void g_fmt_data(g_text_t *b, const g_slice_t *w, const g_slice_t *type);

/* A row of a table of tags. */
typedef struct g_fmt_row {
    const char *tag, *canonical; /* the same, or what an alias stands for */
    const char *args;
    const char *reader; /* rows with the same one are spellings of the first of them; NULL: of none */
    uint8_t where;
    bool whole; /* all words of the line belong to it, whatever its reader takes */
} g_fmt_row_t;
enum { G_AT_TOP, G_AT_FORMAT, G_AT_IO, G_AT_NODE, G_AT_CODE, G_AT_ARC, G_AT_ANY };

/** Row of the tag that a line of `n` words begins with, or NULL; *used: how many of them it is. */
const g_fmt_row_t *g_fmt_find(tw_manifest_kind_t kind, const g_slice_t *w, uint32_t n, uint32_t *used);

/** Print the text of that kind; `taken` as its reader left it. */
void g_fmt_print(g_text_t *out, tw_manifest_kind_t kind, const char *text, size_t n, const g_taken_t *taken);

/** The words of a top manifest that carry meaning; errors where its layout is broken. */
bool g_fmt_take_top(tw_text_t *t);
