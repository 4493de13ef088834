/* manifest_lex.c - lines, words, numbers and option sets of graph texts and manifests. Knows no tag. */
#include "engine/board/manifest_lex.h"
#include "engine/base/bytes.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *read_file(void *ctx, const char *path, size_t *n)
{
    (void)ctx;
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    size_t room = 1u << 16, used = 0;
    char *text = malloc(room);
    while (text != NULL) {
        const size_t got = fread(text + used, 1, room - used, f);
        used += got;
        if (got == 0 || used > TW_TEXT_MAX) {
            break;
        }
        if (used == room) {
            char *more = realloc(text, room *= 2);
            if (more == NULL) {
                free(text);
            }
            text = more;
        }
    }
    if (text != NULL && (ferror(f) || used > TW_TEXT_MAX)) {
        free(text);
        text = NULL;
    }
    fclose(f);
    *n = used;
    return text;
}

const tw_text_source_t tw_text_files = {NULL, read_file};

/* ---- lines and tokens ------------------------------------------------------ */

void tw_text_open(tw_text_t *t, const char *file, const char *text, size_t n, tw_diags_t *diags)
{
    /* an editor's byte order mark is no text */
    const size_t mark = n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    text += mark;
    n -= mark;
    if (diags != NULL && n > 1 && memchr(text, '\n', n) == NULL && memchr(text, '\r', n - 1) != NULL) {
        tw_diag(diags, false, file, 0, 0, "all of it is one line: lines end in CR alone; save it with LF or CR LF");
    }
    *t = (tw_text_t){.file = file, .bol = text, .p = text, .eol = text, .end = text + n, .diags = diags};
}

static bool is_blank(char c)
{
    /* any control character separates, so binary junk cannot hide inside a word */
    return (unsigned char)c <= ' ' || c == ',' || c == 0x7F;
}

static const char *skip_blanks(const char *p, const char *eol)
{
    while (p < eol && is_blank(*p)) {
        p++;
    }
    return p;
}

bool tw_text_line(tw_text_t *t)
{
    for (;;) {
        if (t->row > 0) {
            if (t->eol == t->end) {
                return false;
            }
            t->bol = t->eol + 1;
        }
        t->row++;
        t->line = t->map != NULL ? t->map[t->row - 1] & ~TW_LINE_SAME : t->row;
        t->p = t->bol;
        const char *nl = t->bol < t->end ? memchr(t->bol, '\n', (size_t)(t->end - t->bol)) : NULL;
        t->eol = nl != NULL ? nl : t->end;
        tw_tok_t tok;
        t->fresh = true;
        if (tw_text_peek(t, &tok)) {
            return true;
        }
    }
}

uint32_t tw_word_length(const char *p, const char *end)
{
    const char *q = p + 1;
    if (p < end && *p != '{' && *p != '}') {
        while (q < end && !is_blank(*q) && *q != ';' && *q != '{' && *q != '}') {
            q++;
        }
    }
    return (uint32_t)(q - p);
}

bool tw_text_peek(const tw_text_t *t, tw_tok_t *tok)
{
    const char *p = skip_blanks(t->p, t->eol);
    *tok = (tw_tok_t){.p = p, .n = 0, .col = (unsigned)(p - t->bol) + 1};
    if (p == t->eol || *p == ';') {
        return false;
    }
    tok->n = tw_word_length(p, t->eol);
    return true;
}

bool tw_text_tok(tw_text_t *t, tw_tok_t *tok)
{
    if (!tw_text_peek(t, tok)) {
        return false;
    }
    t->p = tok->p + tok->n;
    if (t->canon != NULL) {
        t->canon(t->canon_ctx, t->fresh ? "\n" : " ", 1);
        t->canon(t->canon_ctx, tok->p, tok->n);
    }
    t->fresh = false;
    return true;
}

void tw_text_skip(tw_text_t *t)
{
    t->p = t->eol;
}

bool tw_tok_is(const tw_tok_t *tok, const char *word)
{
    return strlen(word) == tok->n && memcmp(tok->p, word, tok->n) == 0;
}

bool tw_tok_copy(const tw_tok_t *tok, char *to, size_t size)
{
    const size_t n = tok->n < size ? tok->n : size - 1;
    memcpy(to, tok->p, n);
    to[n] = 0;
    return n == tok->n;
}

bool tw_tok_is_end(const tw_tok_t *tok)
{
    uint32_t at = 0;
    while (at < tok->n && tok->p[at] == '_') {
        at++;
    }
    if (tok->n - at < 3 || memcmp(tok->p + at, "end", 3) != 0) {
        return false;
    }
    for (at += 3; at < tok->n; at++) {
        if (tok->p[at] != '_') {
            return false;
        }
    }
    return true;
}

/* ---- numbers --------------------------------------------------------------- */

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

static bool digits(const char *p, uint32_t n, unsigned base, uint64_t *v)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int d = digit(p[i]);
        if (d >= (int)base || sum > (UINT64_MAX - (unsigned)d) / base) {
            return false;
        }
        sum = sum * base + (unsigned)d;
    }
    *v = sum;
    return n > 0;
}

static bool has_0x(const char *p, uint32_t n)
{
    return n > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
}

bool tw_tok_hex(const tw_tok_t *tok, uint64_t *v)
{
    const uint32_t skip = has_0x(tok->p, tok->n) ? 2 : 0;
    return digits(tok->p + skip, tok->n - skip, 16, v);
}

bool tw_tok_uint(const tw_tok_t *tok, uint64_t *v)
{
    return has_0x(tok->p, tok->n) ? digits(tok->p + 2, tok->n - 2, 16, v) : digits(tok->p, tok->n, 10, v);
}

bool tw_tok_int(const tw_tok_t *tok, int64_t *v)
{
    if (tok->n == 0) {
        return false; /* its p may be NULL */
    }
    const bool minus = tok->p[0] == '-';
    const uint32_t sign = minus || tok->p[0] == '+';
    const char *p = tok->p + sign;
    const uint32_t n = tok->n - sign;
    uint64_t u;
    if (!(has_0x(p, n) ? digits(p + 2, n - 2, 16, &u) : digits(p, n, 10, &u))) {
        return false;
    }
    if (u > (uint64_t)INT64_MAX + (minus ? 1 : 0)) {
        return false;
    }
    *v = minus ? (int64_t)(0 - u) : (int64_t)u;
    return true;
}

bool tw_tok_num(const tw_tok_t *tok, double *v)
{
    int64_t whole;
    if (tw_tok_int(tok, &whole)) {
        *v = (double)whole;
        return true;
    }
    char text[64];
    if (tok->n == 0 || !tw_tok_copy(tok, text, sizeof text)) {
        return false;
    }
    /* strtod also reads names ("inf", "nan") and hexadecimal floats: none of these are numbers here */
    for (uint32_t i = 0; i < tok->n; i++) {
        if (strchr("0123456789+-.eEfF", text[i]) == NULL) {
            return false;
        }
    }
    char *end;
    const double d = strtod(text, &end);
    if (end != text && (*end == 'f' || *end == 'F')) {
        end++;
    }
    if (end == text || *end != 0 || !isfinite(d)) {
        return false;
    }
    *v = d;
    return true;
}

/* ---- diagnostics ----------------------------------------------------------- */

/* What is quoted comes from outside: keep the message one printable line. */
static void make_printable(char *text, size_t size)
{
    bool foreign = false;
    for (char *p = text; *p != 0; p++) {
        foreign |= (unsigned char)*p > '~';
        if ((unsigned char)*p < ' ' || (unsigned char)*p > '~') {
            *p = '?';
        }
    }
    const size_t used = strlen(text);
    if (foreign) {
        snprintf(text + used, size - used, " (? is not ASCII)");
    }
}

/* An error finds room: the last warning goes, with its notes. */
static void make_room(tw_diags_t *d)
{
    for (unsigned i = d->n; i-- > 0;) {
        if (d->rows[i].warning) {
            unsigned end = i + 1;
            while (end < d->n && d->rows[end].note) {
                end++;
            }
            memmove(&d->rows[i], &d->rows[end], (d->n - end) * sizeof d->rows[0]);
            d->n -= end - i;
            return;
        }
    }
}

/* 1 + row of the newest origin of that text, or 0. */
static uint8_t origin_of(const tw_diags_t *d, const char *file)
{
    unsigned i = d->n_origins;
    while (i > 0 && (file == NULL || d->origins[i - 1].key != file)) {
        i--;
    }
    return (uint8_t)i;
}

static void put_text(char *to, size_t size, const char *fmt, va_list ap)
{
    const int n = vsnprintf(to, size, fmt, ap);
    make_printable(to, size);
    if (n >= (int)size) {
        memcpy(to + size - 4, "...", 4);
    }
}

static void put_row(tw_diags_t *d, tw_diag_t start, const char *file, const char *fmt, va_list ap)
{
    if (d->n >= TW_COUNT(d->rows) && !start.warning && !start.note) {
        make_room(d);
    }
    if (d->n >= TW_COUNT(d->rows)) {
        return;
    }
    tw_diag_t *row = &d->rows[d->n++];
    *row = start;
    row->origin = origin_of(d, file);
    snprintf(row->file, sizeof row->file, "%s", file != NULL ? file : "");
    put_text(row->text, sizeof row->text, fmt, ap);
}

static void add(tw_diags_t *d, tw_diag_t start, const char *file, const char *fmt, va_list ap)
{
    d->errors += !start.warning;
    d->warnings += start.warning;
    put_row(d, start, file, fmt, ap);
}

void tw_diag_note(tw_diags_t *d, const char *file, unsigned line, unsigned col, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_row(d, (tw_diag_t){.line = line, .col = col, .note = true}, file, fmt, ap);
    va_end(ap);
}

void tw_diag(tw_diags_t *d, bool warning, const char *file, unsigned line, unsigned col, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (tw_diag_t){.line = line, .col = col, .warning = warning}, file, fmt, ap);
    va_end(ap);
}

unsigned tw_text_col(const tw_text_t *t, const tw_tok_t *tok)
{
    const bool moved = t->map != NULL && t->row > 0 && (t->map[t->row - 1] & TW_LINE_SAME) == 0;
    return tok == NULL || moved ? 0 : tok->col;
}

static tw_diag_t at_token(const tw_text_t *t, const tw_tok_t *tok, bool warning)
{
    const unsigned col = tw_text_col(t, tok);
    return (tw_diag_t){.line = t->line, .col = col, .len = col == 0 ? 0 : tok->n, .warning = warning};
}

void tw_text_error(tw_text_t *t, const tw_tok_t *tok, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(t->diags, at_token(t, tok, false), t->file, fmt, ap);
    va_end(ap);
}

void tw_text_warn(tw_text_t *t, const tw_tok_t *tok, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(t->diags, at_token(t, tok, true), t->file, fmt, ap);
    va_end(ap);
}

void tw_diag_origin(tw_diags_t *d, const char *file, const char *from, unsigned line, unsigned col, const char *fmt,
                    ...)
{
    if (d->n_origins >= TW_COUNT(d->origins)) {
        return;
    }
    tw_diag_origin_t *o = &d->origins[d->n_origins];
    *o = (tw_diag_origin_t){.key = file, .line = line, .col = col, .origin = origin_of(d, from)};
    d->n_origins++;
    snprintf(o->file, sizeof o->file, "%s", from);
    va_list ap;
    va_start(ap, fmt);
    put_text(o->text, sizeof o->text, fmt, ap);
    va_end(ap);
}

void tw_diag_origins_end(tw_diags_t *d)
{
    for (unsigned i = 0; i < d->n_origins; i++) {
        d->origins[i].key = NULL;
    }
}

const char *tw_diag_kind(const tw_diag_t *row)
{
    return row->note ? "note" : row->warning ? "warning" : "error";
}

void tw_diag_line(const tw_diag_t *row, char *out, size_t size)
{
    char place[32] = "";
    if (row->line > 0) {
        snprintf(place, sizeof place, row->col > 0 ? ":%u:%u" : ":%u", row->line, row->col);
    }
    snprintf(out, size, "%s%s%s%s: %s", row->file, place, row->file[0] != 0 ? ": " : "", tw_diag_kind(row), row->text);
}

void tw_diag_summary(const tw_diags_t *d, char *out, size_t size)
{
    char errors[24] = "no errors", warnings[32] = "";
    if (d->errors > 0) {
        snprintf(errors, sizeof errors, "%u error%s", d->errors, d->errors == 1 ? "" : "s");
    }
    if (d->warnings > 0) {
        snprintf(warnings, sizeof warnings, ", %u warning%s", d->warnings, d->warnings == 1 ? "" : "s");
    }
    snprintf(out, size, "%s%s", errors, warnings);
}

/* Edits between a token and a word, both at most WORD_MAX long, whatever their case; two letters in each
 * other's place are one edit. Three rows of the usual table, by turns.
 */
#define WORD_MAX 40u
TW_UNTRACED static unsigned edits(const tw_tok_t *tok, const char *word, size_t n)
{
    unsigned rows[3][WORD_MAX + 1];
    for (unsigned j = 0; j <= n; j++) {
        rows[0][j] = j;
    }
    for (unsigned i = 1; i <= tok->n; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        const int a = tolower((unsigned char)tok->p[i - 1]), a1 = i > 1 ? tolower((unsigned char)tok->p[i - 2]) : 0;
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            const int b = tolower((unsigned char)word[j - 1]);
            row[j] = tw_min_u32(above[j - 1] + (a != b), tw_min_u32(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a1 == b && a == tolower((unsigned char)word[j - 2])) {
                row[j] = tw_min_u32(row[j], before[j - 2] + 1);
            }
        }
    }
    return rows[tok->n % 3][n];
}

/* More are another word. What both words begin with, as far as an underscore, tells nothing: families of names. */
static unsigned edits_of_a_slip(const tw_tok_t *tok, const char *word)
{
    uint32_t same = 0, family = 0;
    while (same < tok->n && tok->p[same] == word[same]) {
        same++;
        family = tok->p[same - 1] == '_' ? same : family;
    }
    return tok->n < 3 ? 0 : (tok->n - family) / 4 + (family > 0 ? 2 : 1);
}

const char *tw_nearest(const tw_tok_t *tok, const void *words, size_t count, size_t stride)
{
    const char *best = NULL;
    unsigned best_edits = 0;
    if (tok->n > WORD_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const char *word;
        memcpy(&word, (const char *)words + i * stride, sizeof word);
        const size_t n = strlen(word);
        const unsigned most = edits_of_a_slip(tok, word);
        if (n > WORD_MAX || n + most < tok->n || tok->n + most < n) {
            continue;
        }
        const unsigned e = edits(tok, word, n);
        const bool better = best != NULL && n == tok->n && strlen(best) != n; /* a letter replaced, none lost */
        if (e <= most && (best == NULL || e < best_edits || (e == best_edits && better))) {
            best_edits = e;
            best = word;
        }
    }
    return best;
}

/* ---- taking typed values --------------------------------------------------- */

static bool take(tw_text_t *t, const char *what, tw_tok_t *tok)
{
    if (!tw_text_tok(t, tok)) {
        tw_text_error(t, tok, "expected a value for %s", what);
        return false;
    }
    return true;
}

bool tw_take_int(tw_text_t *t, const char *what, int64_t lo, int64_t hi, int64_t *v)
{
    tw_tok_t tok;
    int64_t got;
    if (!take(t, what, &tok)) {
        return false;
    }
    if (!tw_tok_int(&tok, &got)) {
        tw_text_error(t, &tok, "expected %s (integer), found '%.*s'", what, (int)tok.n, tok.p);
        return false;
    }
    if (got < lo || got > hi) {
        tw_text_error(t, &tok, "%s is %.*s, allowed %lld..%lld", what, (int)tok.n, tok.p, (long long)lo, (long long)hi);
        return false;
    }
    *v = got;
    return true;
}

bool tw_take_u8(tw_text_t *t, const char *what, uint8_t lo, uint8_t hi, uint8_t *v)
{
    int64_t got;
    if (!tw_take_int(t, what, lo, hi, &got)) {
        return false;
    }
    *v = (uint8_t)got;
    return true;
}

bool tw_take_num(tw_text_t *t, const char *what, double lo, double hi, double *v)
{
    tw_tok_t tok;
    double got;
    if (!take(t, what, &tok)) {
        return false;
    }
    if (!tw_tok_num(&tok, &got)) {
        tw_text_error(t, &tok, "expected %s (number), found '%.*s'", what, (int)tok.n, tok.p);
        return false;
    }
    if (got < lo || got > hi) {
        tw_text_error(t, &tok, "%s is %.*s, allowed %g..%g", what, (int)tok.n, tok.p, lo, hi);
        return false;
    }
    *v = got;
    return true;
}

bool tw_take_field(tw_text_t *t, const char *what, tw_field_kind_t kind, double lo, double hi, void *at)
{
    int64_t i = 0;
    double d = 0;
    if (kind == TW_FIELD_F32 || kind == TW_FIELD_F64) {
        if (!tw_take_num(t, what, lo, hi, &d)) {
            return false;
        }
    } else if (!tw_take_int(t, what, (int64_t)lo, (int64_t)hi, &i)) {
        return false;
    }
    switch (kind) {
    case TW_FIELD_U8:
        *(uint8_t *)at = (uint8_t)i;
        break;
    case TW_FIELD_U16:
        *(uint16_t *)at = (uint16_t)i;
        break;
    case TW_FIELD_U32:
        *(uint32_t *)at = (uint32_t)i;
        break;
    case TW_FIELD_I32:
        *(int32_t *)at = (int32_t)i;
        break;
    case TW_FIELD_F32:
        *(float *)at = (float)d;
        break;
    case TW_FIELD_F64:
        *(double *)at = d;
        break;
    }
    return true;
}

static bool code_of(const tw_tok_t *tok, tw_name_fn names, double *v)
{
    if (tw_tok_num(tok, v)) {
        return true;
    }
    const int code = names != NULL ? names(tok->p, tok->n) : -1;
    *v = code;
    return code >= 0;
}

/* A name in the other case, or NULL. */
static const char *other_case(const tw_tok_t *tok, tw_name_fn names, char *text, size_t size)
{
    if (names == NULL || tok->n >= size) {
        return NULL;
    }
    for (int upper = 0; upper < 2; upper++) {
        for (uint32_t i = 0; i < tok->n; i++) {
            const int c = (unsigned char)tok->p[i];
            text[i] = (char)(upper ? toupper(c) : tolower(c));
        }
        text[tok->n] = 0;
        if (names(text, tok->n) >= 0) {
            return text;
        }
    }
    return NULL;
}

const char *tw_near_code(const tw_tok_t *tok, tw_name_fn names, char *text, size_t size)
{
    const char *list[TW_UNIT_COUNT];
    const bool raw = names == tw_raw_find, unit = names == tw_unit_find || names == tw_unit_find_name,
               domain = names == tw_domain_find;
    const uint32_t n = raw ? TW_RAW_COUNT : unit ? TW_UNIT_COUNT : domain ? TW_DOMAIN_COUNT : 0;
    for (uint32_t i = 0; i < n; i++) {
        list[i] = raw ? tw_raw_name(i) : unit ? tw_unit_text(i) : tw_domain_text(i);
    }
    const char *same = other_case(tok, names, text, size);
    return same != NULL ? same : tw_nearest(tok, list, n, sizeof list[0]);
}

bool tw_take_code(tw_text_t *t, const char *what, tw_name_fn names, int64_t hi, int64_t *v)
{
    tw_tok_t tok;
    double d;
    if (!take(t, what, &tok)) {
        return false;
    }
    if (!code_of(&tok, names, &d)) {
        char text[32];
        const char *near = tw_near_code(&tok, names, text, sizeof text);
        tw_text_error(t, &tok, "unknown %s '%.*s'%s%s%s", what, (int)tok.n, tok.p, near ? ", did you mean '" : "",
                      near ? near : "", near ? "'?" : "");
        return false;
    }
    if (d < 0 || d > (double)hi || d != floor(d)) {
        tw_text_error(t, &tok, "%s is %.*s, allowed 0..%lld", what, (int)tok.n, tok.p, (long long)hi);
        return false;
    }
    *v = (int64_t)d;
    return true;
}

static bool push_option(tw_text_t *t, const tw_tok_t *at, const char *what, double v, tw_options_t *o)
{
    if (o->n >= TW_COUNT(o->v)) {
        tw_text_error(t, at, "more than %zu options for %s", TW_COUNT(o->v), what);
        return false;
    }
    o->v[o->n++] = v;
    return true;
}

/* Triplets first, step, last: the default index counts across all of them. */
static bool expand(tw_text_t *t, const tw_tok_t *at, const char *what, const double *v, unsigned n, tw_options_t *o)
{
    if (n == 0 || n % 3 != 0) {
        tw_text_error(t, at, "a negative index of %s is followed by triplets: first step last", what);
        return false;
    }
    for (unsigned i = 0; i < n; i += 3) {
        if (!(v[i + 1] > 0) || v[i + 2] < v[i]) {
            tw_text_error(t, at, "range %g step %g to %g of %s never ends", v[i], v[i + 1], v[i + 2], what);
            return false;
        }
        if ((v[i + 2] - v[i]) / v[i + 1] >= (double)TW_COUNT(o->v)) {
            tw_text_warn(t, at, "a range of more than %zu options for %s is taken as any", TW_COUNT(o->v), what);
            *o = (tw_options_t){.any = 1, .n = 2, .v = {v[i], v[i + 2]}};
            return true;
        }
        for (unsigned k = 0;; k++) {
            const double x = v[i] + k * v[i + 1];
            if (x > v[i + 2] + v[i + 1] * 1e-9) {
                break; /* the last value is meant although 0.1 + 0.1 + 0.1 > 0.3 */
            }
            if (!push_option(t, at, what, x, o)) {
                return false;
            }
        }
    }
    return true;
}

bool tw_set_options(tw_text_t *t, const tw_tok_t *at, const char *what, const double *v, unsigned n, tw_options_t *o)
{
    *o = (tw_options_t){0};
    if (n == 1) {
        o->any = v[0] == 0;
        return o->any || push_option(t, at, what, v[0], o);
    }
    const double idx = v[0];
    if (idx != floor(idx) || fabs(idx) > (double)TW_COUNT(o->v)) {
        tw_text_error(t, at, "index of the default entry of %s is %g", what, idx);
        return false;
    }
    if (idx < 0) {
        if (!expand(t, at, what, v + 1, n - 1, o)) {
            return false;
        }
        if (o->any) {
            return true; /* too many to list */
        }
    } else {
        for (unsigned i = 1; i < n; i++) {
            if (!push_option(t, at, what, v[i], o)) {
                return false;
            }
        }
    }
    o->any = idx == 0;
    const unsigned def = (unsigned)fabs(idx);
    if (def > o->n) {
        tw_text_error(t, at, "default entry %u of %s, but there are %u", def, what, o->n);
        return false;
    }
    o->def = (uint8_t)(def > 0 ? def - 1 : 0);
    return true;
}

bool tw_take_options(tw_text_t *t, const char *what, tw_name_fn names, double lo, double hi, tw_options_t *o)
{
    double v[TW_OPTIONS_MAX + 1];
    unsigned n = 0;
    tw_tok_t tok, first;
    if (!tw_text_peek(t, &first)) {
        tw_text_error(t, &first, "expected options for %s", what);
        return false;
    }
    const bool braces = tw_tok_is(&first, "{");
    bool closed = !braces;
    if (braces) {
        (void)tw_text_tok(t, &tok);
    }
    while (tw_text_tok(t, &tok)) {
        if (tw_tok_is(&tok, "}")) {
            if (!braces) {
                tw_text_warn(t, &tok, "'}' without '{'");
            }
            closed = true;
            break;
        }
        if (n >= TW_COUNT(v)) {
            tw_text_error(t, &tok, "more than %zu options for %s", TW_COUNT(o->v), what);
            return false;
        }
        if (!code_of(&tok, names, &v[n])) {
            char text[32];
            const char *near = tw_near_code(&tok, names, text, sizeof text);
            tw_text_error(t, &tok, "'%.*s' is no value for %s%s%s%s", (int)tok.n, tok.p, what,
                          near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
            return false;
        }
        n++;
    }
    if (!closed) {
        tw_text_warn(t, &first, "'{' without '}'");
    }
    if (n == 0) {
        *o = (tw_options_t){.any = 1};
        return true;
    }
    tw_options_t got;
    if (!tw_set_options(t, &first, what, v, n, &got)) {
        return false;
    }
    for (unsigned i = 0; i < got.n; i++) {
        if (got.v[i] < lo || got.v[i] > hi) {
            tw_text_error(t, &first, "%s option %g, allowed %g..%g", what, got.v[i], lo, hi);
            return false;
        }
    }
    *o = got;
    return true;
}

/* ---- paths ----------------------------------------------------------------- */

/* Drop the last folder of out[0..n), unless it is itself "..". @return false when there is none */
static bool drop_folder(char *out, size_t *n)
{
    size_t at = *n;
    while (at > 0 && out[at - 1] != '/') {
        at--;
    }
    if (*n == at || (*n - at == 2 && memcmp(out + at, "..", 2) == 0)) {
        return false;
    }
    *n = at > 1 ? at - 1 : at;
    return true;
}

bool tw_path_join(char *out, size_t size, const char *dir, const char *file)
{
    char both[1024];
    const bool absolute = file[0] == '/';
    const int len = snprintf(both, sizeof both, "%s/%s", absolute ? "" : dir, file + absolute);
    if (len < 0 || (size_t)len >= sizeof both || (size_t)len >= size || size < 3) {
        return false;
    }
    size_t n = 0;
    const bool root = both[0] == '/';
    if (root) {
        out[n++] = '/';
    }
    for (const char *p = both; *p != 0;) {
        const size_t part = strcspn(p, "/");
        const bool up = part == 2 && memcmp(p, "..", 2) == 0;
        if (part > 0 && !(part == 1 && *p == '.') && !(up && drop_folder(out, &n))) {
            if (n > 0 && out[n - 1] != '/') {
                out[n++] = '/';
            }
            memcpy(out + n, p, part);
            n += part;
        }
        p += part + (p[part] == '/');
    }
    if (n == 0) {
        out[n++] = '.';
    }
    out[n] = 0;
    return true;
}

void tw_path_dir(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const int n = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    snprintf(out, size, "%.*s", n, slash == NULL ? "." : path);
}
