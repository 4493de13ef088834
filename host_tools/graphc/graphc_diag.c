/* graphc_diag.c - diagnostics with their source lines, for people (text) and editors (JSON). */
#include "host_tools/graphc/graphc_diag.h"
#include "engine/base/bytes.h"
#include "host_tools/graphc/graphc.h"
#include "host_tools/graphc/graphc_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    WIDE = 160,   /* columns of a source line at most */
    BEFORE = 100, /* of them before the word, when it is cut on the left */
    TAB = 8,
    REACH = 4096, /* bytes looked at before the word, and from it on */
};

static char *read_regular(void *ctx, const char *path, size_t *n)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) ? tw_text_files.read(ctx, path, n) : NULL;
}

const tw_text_source_t tw_diag_files = {NULL, read_regular};

/* ---- texts, each read once --------------------------------------------------------- */

typedef struct held {
    const char *file;
    char *text;
    size_t n;
} held_t;

typedef struct texts {
    const tw_text_source_t *src;
    held_t held[TW_COUNT(((tw_diags_t *)0)->rows) + TW_COUNT(((tw_diags_t *)0)->origins)];
    size_t n;
} texts_t;

static const held_t *text_of(texts_t *t, const char *file)
{
    size_t i = 0;
    while (i < t->n && strcmp(t->held[i].file, file) != 0) {
        i++;
    }
    if (i == TW_COUNT(t->held)) {
        return NULL;
    }
    if (i == t->n) {
        held_t *h = &t->held[t->n++];
        *h = (held_t){.file = file};
        h->text = file[0] != 0 ? t->src->read(t->src->ctx, file, &h->n) : NULL;
    }
    return &t->held[i];
}

/* Line `line` as the reader of texts counts them: lines end at LF alone, and a byte order mark is no text. */
static bool find_line(texts_t *t, const char *file, unsigned line, const char **bol, const char **eol)
{
    const held_t *h = line > 0 ? text_of(t, file) : NULL;
    if (h == NULL || h->text == NULL) {
        return false;
    }
    const size_t mark = h->n >= 3 && memcmp(h->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    const char *p = h->text + mark, *end = h->text + h->n;
    for (unsigned at = 1; at < line; at++) {
        p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (p == NULL) {
            return false;
        }
        p++;
    }
    const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    *bol = p;
    *eol = nl != NULL ? nl : end;
    return true;
}

static void close_texts(texts_t *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->held[i].text);
    }
}

/* ---- one line and its underline ---------------------------------------------------- */

/* [bytes] of what is meant at `col`; 0 when it is not on the line. */
static uint32_t width_at(const char *bol, const char *eol, unsigned col, unsigned len)
{
    if (col == 0 || col - 1u >= (size_t)(eol - bol)) {
        return 0;
    }
    const char *p = bol + col - 1;
    const uint32_t left = (uint32_t)(eol - p);
    return tw_min_u32(len > 0 ? len : tw_word_length(p, eol), left);
}

/* A line spread over columns: `cell[i]` is what stands in column i. */
typedef struct cells {
    struct {
        char v[5];
    } cell[2 * REACH + TAB];
    unsigned n, from, to; /* the word is in columns [from, to) */
} cells_t;

static void put_cell(cells_t *c, const char *p, uint32_t n)
{
    if (c->n < TW_COUNT(c->cell)) {
        memcpy(c->cell[c->n].v, p, n);
        c->cell[c->n++].v[n] = 0;
    }
}

static void spread(cells_t *c, const char *p, const char *eol, const char *word, uint32_t width)
{
    while (p < eol && c->n < TW_COUNT(c->cell)) {
        if (p <= word) {
            c->from = c->n;
        }
        const uint32_t n = g_utf8(p, eol);
        if (n > 0) {
            put_cell(c, p, n);
        } else if (*p == '\t') {
            do {
                put_cell(c, " ", 1);
            } while (c->n % TAB != 0 && c->n < TW_COUNT(c->cell));
        } else {
            put_cell(c, *p == '\r' ? " " : "?", 1);
        }
        p += n > 0 ? n : 1;
        if (p <= word + width) {
            c->to = c->n;
        }
    }
    if (word >= p) { /* what is missing is missing behind the last word */
        c->from = c->n;
    }
}

static void print_cells(const cells_t *c, unsigned begin, unsigned end, FILE *f)
{
    while (end > begin && c->cell[end - 1].v[0] == ' ') {
        end--; /* blanks at a line's end say nothing */
    }
    for (unsigned i = begin; i < end; i++) {
        fputs(c->cell[i].v, f);
    }
}

static void print_source(texts_t *t, const tw_diag_t *row, const char *paint, const char *plain, FILE *f)
{
    const char *bol, *eol;
    if (!find_line(t, row->file, row->line, &bol, &eol)) {
        return;
    }
    const uint32_t width = width_at(bol, eol, row->col, row->len);
    const size_t at = row->col > 0 ? row->col - 1u : 0, length = (size_t)(eol - bol);
    const char *word = bol + (at < length ? at : length);
    const char *start = word - bol > REACH ? word - REACH : bol;
    eol = eol - word > REACH ? word + REACH : eol;
    cells_t *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return;
    }
    spread(c, start, eol, word, width);
    const bool fits = c->n <= WIDE && start == bol;
    const unsigned begin = fits || c->from < BEFORE ? 0 : c->from - BEFORE;
    const unsigned end = c->n - begin <= WIDE ? c->n : begin + WIDE;
    const char *left = begin > 0 || start > bol ? "..." : "", *right = end < c->n ? "..." : "";
    fprintf(f, "%5u | %s", row->line, left);
    print_cells(c, begin, end, f);
    fprintf(f, "%s\n", right);
    if (row->col > 0) {
        fprintf(f, "      | %*s%s^", (int)(c->from - begin + (left[0] != 0 ? 3 : 0)), "", paint);
        for (unsigned i = c->from + 1; i < c->to && i < end; i++) {
            fputc('~', f);
        }
        fprintf(f, "%s\n", plain);
    }
    free(c);
}

static void print_row(texts_t *t, const tw_diag_t *row, bool colour, FILE *f)
{
    const char *paint = !colour ? "" : row->note ? "\033[1;36m" : row->warning ? "\033[1;35m" : "\033[1;31m";
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    char line[sizeof row->file + sizeof row->text + 48];
    tw_diag_line(row, line, sizeof line);
    const size_t text = strlen(line) - strlen(row->text), kind = text - 2 - strlen(tw_diag_kind(row));
    for (size_t i = 0; i < kind; i++) { /* a file's name is the user's own */
        line[i] = (unsigned char)line[i] < ' ' || line[i] == 0x7F ? '?' : line[i];
    }
    fprintf(f, "%s%.*s%s%.*s%s%s\n", bold, (int)kind, line, paint, (int)(text - kind), line + kind, plain, row->text);
    print_source(t, row, paint, plain, f);
}

/* ---- how a text came in ---------------------------------------------------------------- */

static const tw_diag_origin_t *origin(const tw_diags_t *d, uint8_t of)
{
    return of > 0 && of <= d->n_origins ? &d->origins[of - 1] : NULL;
}

static tw_diag_t as_note(const tw_diag_origin_t *o)
{
    tw_diag_t row = {.line = o->line, .col = o->col, .note = true, .origin = o->origin};
    memcpy(row.file, o->file, sizeof row.file);
    memcpy(row.text, o->text, sizeof o->text);
    return row;
}

/* The next row that is no note. */
static unsigned next_main(const tw_diags_t *d, unsigned i)
{
    for (i++; i < d->n && d->rows[i].note;) {
        i++;
    }
    return i;
}

/* Rows that are no notes as a reader goes through the texts: file after file, each from its first line on. What
 * is said of a whole file comes behind what is said of its lines.
 */
typedef struct order {
    unsigned row[TW_COUNT(((tw_diags_t *)0)->rows)], n;
} order_t;

static unsigned first_of_file(const tw_diags_t *d, const order_t *o, unsigned row)
{
    unsigned i = 0;
    while (strcmp(d->rows[o->row[i]].file, d->rows[row].file) != 0) {
        i++;
    }
    return o->row[i];
}

static bool before(const tw_diags_t *d, unsigned file_a, unsigned a, unsigned file_b, unsigned b)
{
    const tw_diag_t *x = &d->rows[a], *y = &d->rows[b];
    if (file_a != file_b) {
        return file_a < file_b;
    }
    if (x->line != y->line) {
        return x->line - 1u < y->line - 1u; /* 0 becomes the last */
    }
    return x->col < y->col;
}

static void sort_rows(order_t *o, const tw_diags_t *d)
{
    unsigned file[TW_COUNT(o->row)];
    *o = (order_t){.n = 0};
    for (unsigned i = 0; i < d->n; i = next_main(d, i)) {
        o->row[o->n++] = i;
    }
    for (unsigned i = 0; i < o->n; i++) {
        file[i] = first_of_file(d, o, o->row[i]);
    }
    for (unsigned i = 1; i < o->n; i++) { /* stable, and there are few */
        const unsigned row = o->row[i], of = file[i];
        unsigned k = i;
        for (; k > 0 && before(d, of, row, file[k - 1], o->row[k - 1]); k--) {
            o->row[k] = o->row[k - 1];
            file[k] = file[k - 1];
        }
        o->row[k] = row;
        file[k] = of;
    }
}

/* Said once for neighbours: after the last of them. */
static bool tells_origin(const tw_diags_t *d, const order_t *o, unsigned i)
{
    return i + 1 >= o->n || d->rows[o->row[i + 1]].origin != d->rows[o->row[i]].origin;
}

void tw_diags_print_from(const tw_diags_t *d, const tw_text_source_t *src, void *file, bool colour)
{
    FILE *f = file;
    unsigned shown = 0;
    texts_t texts = {.src = src};
    order_t order;
    sort_rows(&order, d);
    for (unsigned i = 0; i < order.n; i++) {
        const unsigned row = order.row[i], next = next_main(d, row);
        shown += !d->rows[row].warning && !d->rows[row].note;
        for (unsigned k = row; k < next; k++) {
            print_row(&texts, &d->rows[k], colour, f);
        }
        const tw_diag_origin_t *o = tells_origin(d, &order, i) ? origin(d, d->rows[row].origin) : NULL;
        for (; o != NULL; o = origin(d, o->origin)) {
            const tw_diag_t note = as_note(o);
            (void)text_of(&texts, o->file); /* held under the name that lasts */
            print_row(&texts, &note, colour, f);
        }
    }
    close_texts(&texts);
    if (d->errors > shown) {
        fprintf(f, "and %u more error%s\n", d->errors - shown, d->errors - shown == 1 ? "" : "s");
    }
}

void tw_diags_print(const tw_diags_t *d, void *file, bool colour)
{
    tw_diags_print_from(d, &tw_diag_files, file, colour);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void say_place(g_text_t *out, texts_t *t, const tw_diag_t *row)
{
    const char *bol = "", *eol = bol;
    const bool found = find_line(t, row->file, row->line, &bol, &eol);
    const uint32_t width = found ? width_at(bol, eol, row->col, row->len) : row->len;
    g_say(out, "{\"file\":");
    g_say_json(out, row->file);
    g_say(out, ",\"line\":%u,\"col\":%u,\"end_col\":%u,", row->line, row->col, row->col > 0 ? row->col + width : 0);
}

static void say_note(g_text_t *out, texts_t *t, const tw_diag_t *row, bool first)
{
    g_say(out, "%s", first ? "" : ",");
    say_place(out, t, row);
    g_say(out, "\"text\":");
    g_say_json(out, row->text);
    g_say(out, "}");
}

char *tw_diags_json(const tw_diags_t *d, const tw_text_source_t *src)
{
    g_text_t out = {0};
    texts_t texts = {.src = src};
    order_t order;
    sort_rows(&order, d);
    g_say(&out, "[");
    for (unsigned i = 0; i < order.n; i++) {
        const unsigned row = order.row[i], next = next_main(d, row);
        g_say(&out, "%s", i > 0 ? "," : "");
        say_place(&out, &texts, &d->rows[row]);
        g_say(&out, "\"severity\":\"%s\",\"text\":", tw_diag_kind(&d->rows[row]));
        g_say_json(&out, d->rows[row].text);
        g_say(&out, ",\"notes\":[");
        bool first = true;
        for (unsigned k = row + 1; k < next; k++, first = false) {
            say_note(&out, &texts, &d->rows[k], first);
        }
        for (const tw_diag_origin_t *o = origin(d, d->rows[row].origin); o != NULL; o = origin(d, o->origin)) {
            const tw_diag_t note = as_note(o);
            (void)text_of(&texts, o->file);
            say_note(&out, &texts, &note, first);
            first = false;
        }
        g_say(&out, "]}");
    }
    g_say(&out, "]");
    close_texts(&texts);
    return g_text_take(&out);
}
