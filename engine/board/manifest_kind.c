/* manifest_kind.c - tells graphs and manifests of all generations apart by their first lines.
 *
 * Tags name their text. Positional texts are told by shape: how many numbers a line begins with, and
 * whether the second line is a domain, a path or a number.
 */
#include "engine/board/manifest_kind.h"
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"

#define LINES 48u /* enough for the longest list of paths before the first telling line */
#define TOKS 10u

typedef struct head {
    tw_tok_t tok[LINES][TOKS];
    unsigned toks[LINES];
    unsigned n;
    const char *end; /* of the text */
} head_t;

static void read_head(head_t *h, const char *text, size_t n)
{
    tw_text_t t;
    h->end = text + n;
    tw_text_open(&t, "", text, n, NULL);
    for (h->n = 0; h->n < LINES && tw_text_line(&t); h->n++) {
        unsigned *count = &h->toks[h->n];
        for (*count = 0; *count < TOKS && tw_text_tok(&t, &h->tok[h->n][*count]);) {
            (*count)++;
        }
    }
}

static const tw_tok_t *first(const head_t *h, unsigned line)
{
    static const tw_tok_t none = {"", 0, 0};
    return line < h->n ? &h->tok[line][0] : &none;
}

static bool begins(const tw_tok_t *tok, const char *with)
{
    const size_t n = strlen(with);
    return tok->n >= n && memcmp(tok->p, with, n) == 0;
}

static bool has(const tw_tok_t *tok, const char *part)
{
    return memmem(tok->p, tok->n, part, strlen(part)) != NULL;
}

static bool is_number(const tw_tok_t *tok)
{
    double v;
    return tw_tok_num(tok, &v);
}

/* Numbers the line begins with. */
static unsigned numbers(const head_t *h, unsigned line)
{
    unsigned n = 0;
    while (line < h->n && n < h->toks[line] && is_number(&h->tok[line][n])) {
        n++;
    }
    return n;
}

/* First words of graphs; one that ends in '_' stands for all that begin so. */
static bool is_graph_word(const tw_tok_t *tok)
{
    static const char *const words[] = {
        "graph",      "graph_",     "top_",     "h",         "format",     "format_",       "stream_io",
        "stream_io_", "node",       "script",   "script_",   "subgraph",   "include",       "_include",
        "memory_",    "arc",        "arc_",     "input_arc", "output_arc", "set_file_path", "debug_script",
        "debug_",     "scheduler_", "allowed_", "paths",
    };
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        const bool all = words[i][strlen(words[i]) - 1] == '_';
        if (all ? begins(tok, words[i]) : tw_tok_is(tok, words[i])) {
            return true;
        }
    }
    return false;
}

static bool is_domain(const tw_tok_t *tok)
{
    return tw_domain_find(tok->p, tok->n) >= 0;
}

/* ---- texts that begin with a number ------------------------------------------ */

static bool is_path(const tw_tok_t *tok)
{
    return tok->n > 0 && (has(tok, "/") || tok->p[0] == '.');
}

/* A list of n paths, with or without their indexes. @return the line after it, 0 when it is none */
static unsigned after_paths(const head_t *h)
{
    int64_t n;
    if (!tw_tok_int(first(h, 0), &n) || n < 1 || n + 1 >= (int64_t)h->n) {
        return 0;
    }
    for (unsigned i = 1; i <= (unsigned)n; i++) {
        if (!is_path(first(h, i)) && !(h->toks[i] > 1 && numbers(h, i) == 1 && is_path(&h->tok[i][1]))) {
            return 0;
        }
    }
    return (unsigned)n + 1;
}

static tw_manifest_kind_t kind_of_list(const head_t *h, unsigned at)
{
    if (numbers(h, at) == 1 && numbers(h, at + 1) == 1 && (h->toks[at] < 2 || !has(&h->tok[at][1], "."))) {
        return TW_KIND_TOP_PROCESSORS; /* "3 processors", "6 shared memories" */
    }
    const tw_tok_t *file = h->toks[at] > 1 ? &h->tok[at][1] : first(h, at);
    /* rows of IOs: "path file index processors clock" here, "path file index" in the lists of files */
    const unsigned row = at + 2;
    const bool is_row = row < h->n && h->toks[row] > 2 && numbers(h, row) == 1 && is_number(&h->tok[row][2]);
    const bool is_short = is_row && (h->toks[row] < 5 || !is_number(&h->tok[row][3]) || !is_number(&h->tok[row][4]));
    if (has(file, "platform_manifest")) {
        return is_row && !is_short ? TW_KIND_TOP : TW_KIND_FILES;
    }
    return is_short && !has(file, "procmap") ? TW_KIND_FILES : TW_KIND_TOP;
}

/* "1 this", "2 that", "3 ..": an explanation of something. */
static bool is_numbered_list(const head_t *h)
{
    int64_t begin, v;
    if (h->n < 4 || !tw_tok_int(first(h, 0), &begin) || begin < 0 || begin > 1) {
        return false;
    }
    for (unsigned i = 1; i < 4; i++) {
        if (!tw_tok_int(first(h, i), &v) || v != begin + i || numbers(h, i) > 1) {
            return false;
        }
    }
    return true;
}

/* "1 c; ..\x\": the list of files of 2023. What follows the ';' is no word to the reader of lines. */
static bool is_folder_row(const head_t *h)
{
    const char *p = h->tok[0][1].p;
    while (p < h->end && *p != '\n' && *p != '\\') {
        p++;
    }
    return p < h->end && *p == '\\';
}

static tw_manifest_kind_t kind_of_numbers(const head_t *h)
{
    const unsigned paths = after_paths(h);
    if (paths > 0) {
        return kind_of_list(h, paths);
    }
    const unsigned a = numbers(h, 0), b = numbers(h, 1);
    if (h->toks[0] > 1 && tw_tok_is(&h->tok[0][1], "c")) {
        return is_folder_row(h) ? TW_KIND_OLDER : TW_KIND_NODE_POSITIONAL; /* "1 c; ARM" */
    }
    if (a == 2 && (b == 4 || b == 5) && numbers(h, 2) >= 1) {
        return TW_KIND_PLATFORM;
    }
    if (is_numbered_list(h)) {
        return TW_KIND_DOCUMENT;
    }
    if ((a == 3 || a == 4) && (b >= 9 || (b == 3 && tw_tok_is(&h->tok[0][2], "0")))) {
        return TW_KIND_PROCMAP;
    }
    return TW_KIND_UNKNOWN;
}

/* Where arcs and memory went: "ARC0 @= 0 0", "memory bank(0) address= 444". */
static bool is_memory_listing(const head_t *h)
{
    return begins(first(h, 0), "ARC") && h->toks[0] > 1 && tw_tok_is(&h->tok[0][1], "@=");
}

/* A picture between C comments, then words of eight hexadecimal digits. */
static bool is_drawn_listing(const head_t *h)
{
    for (unsigned i = 1; i < h->n && tw_tok_is(first(h, 0), "/*"); i++) {
        if (begins(first(h, i), "0x") && first(h, i)->n == 10) {
            return true;
        }
    }
    return false;
}

/* Lines "c text" are comments and a letter opens each section; or every line is data, also where names stand:
 * "1 c; NAME" then "1 i8; 0"; or mnemonics of the script machine of 2023. */
static bool is_older(const head_t *h)
{
    const bool letters = tw_tok_is(first(h, 0), "c") && tw_tok_is(first(h, 1), "c");
    const bool sheet = begins(first(h, 0), "IO_stream_manifest");
    const bool assembly = tw_tok_is(first(h, 0), "LITN") || tw_tok_is(first(h, 0), "PSHL");
    return letters || sheet || assembly;
}

/* ---- texts that begin with a name --------------------------------------------- */

static tw_manifest_kind_t kind_of_names(const head_t *h)
{
    const tw_tok_t *third = first(h, 2);
    if (is_domain(first(h, 1))) {
        return is_number(third) ? TW_KIND_IO_POSITIONAL : TW_KIND_IO;
    }
    if (is_number(first(h, 1)) || is_number(third) || tw_tok_is(third, "X") || tw_tok_is(third, "S")) {
        return TW_KIND_NODE_POSITIONAL;
    }
    for (unsigned i = 1; i < h->n; i++) {
        if (i < 4 && is_graph_word(first(h, i))) {
            return TW_KIND_GRAPH; /* whose first tag is misspelt */
        }
        if (begins(first(h, i), "node_")) {
            return TW_KIND_NODE;
        }
        if (begins(first(h, i), "io_")) {
            return TW_KIND_IO;
        }
    }
    return h->n == 2 ? TW_KIND_NODE : TW_KIND_UNKNOWN;
}

tw_manifest_kind_t tw_manifest_detect(const char *text, size_t n)
{
    head_t h;
    read_head(&h, text, n);
    const tw_tok_t *tok = first(&h, 0);
    if (h.n == 0) {
        return TW_KIND_EMPTY;
    }
    if (begins(tok, "//") || (begins(tok, "0x") && tok->n == 10) || is_memory_listing(&h) || is_drawn_listing(&h)) {
        return TW_KIND_LISTING;
    }
    if (is_older(&h)) {
        return TW_KIND_OLDER;
    }
    if (is_graph_word(tok)) {
        return TW_KIND_GRAPH;
    }
    if (begins(tok, "node_")) {
        return TW_KIND_NODE;
    }
    return is_number(tok) ? kind_of_numbers(&h) : kind_of_names(&h);
}

const char *tw_manifest_kind_text(tw_manifest_kind_t kind)
{
    static const char *const texts[] = {
#define TW_KIND(NAME, text) text,
#include "engine/board/manifest_kinds.def"
    };
    return (unsigned)kind < TW_COUNT(texts) ? texts[kind] : texts[TW_KIND_UNKNOWN];
}
