/* sl_lex.c - text to tokens, one at a time; the arena and the list of diagnostics. */
#include "host_tools/scriptlang/sl_priv.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory ---------------------------------------------------------------------------------- */

enum { BLOCK_BYTES = 1 << 16, ARENA_MAX = 64 << 20 };

typedef struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t data[];
} arena_block_t;

void *sl_take(compiler_t *c, size_t bytes)
{
    arena_t *a = &c->arena;
    const size_t n = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (a->first == NULL || a->first->size - a->first->used < n) {
        const size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
        arena_block_t *b = a->used + size <= ARENA_MAX ? calloc(1, sizeof *b + size) : NULL;
        if (b == NULL) {
            if (!c->failed) {
                sl_error(c, c->tok.pos, "out of memory");
            }
            c->failed = true;
            return NULL;
        }
        *b = (arena_block_t){.next = a->first, .size = size};
        a->first = b;
        a->used += size;
    }
    void *p = (uint8_t *)a->first->data + a->first->used;
    a->first->used += n;
    return p;
}

void sl_arena_free(arena_t *a)
{
    for (arena_block_t *b = a->first; b != NULL;) {
        arena_block_t *next = b->next;
        free(b);
        b = next;
    }
    *a = (arena_t){0};
}

/* ---- diagnostics ------------------------------------------------------------------------------- */

static void say(compiler_t *c, tw_sl_grade_t grade, pos_t pos, const char *fmt, va_list args)
{
    tw_sl_out_t *out = c->out;
    out->n_errors += grade == TW_SL_ERROR;
    if (out->n_diags >= TW_SL_DIAGS_MAX) {
        return;
    }
    tw_sl_diag_t *d = &out->diags[out->n_diags++];
    *d = (tw_sl_diag_t){.line = pos.line, .col = pos.col, .grade = grade};
    (void)vsnprintf(d->text, sizeof d->text, fmt, args);
    for (char *p = d->text; *p != 0; p++) { /* what is quoted goes to a terminal */
        *p = *p < ' ' || *p > '~' ? '?' : *p;
    }
}

void sl_error(compiler_t *c, pos_t pos, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(c, TW_SL_ERROR, pos, fmt, args);
    va_end(args);
}

void sl_warn(compiler_t *c, pos_t pos, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(c, TW_SL_WARNING, pos, fmt, args);
    va_end(args);
}

void sl_note(compiler_t *c, pos_t pos, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (c->out->n_diags > 0) {
        say(c, TW_SL_NOTE, pos, fmt, args);
    }
    va_end(args);
}

/* ---- tokens ---------------------------------------------------------------------------------------- */

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_word(char ch)
{
    return is_digit(ch) || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static char ahead(const compiler_t *c, size_t i)
{
    return (size_t)(c->end - c->at) > i ? c->at[i] : '\0';
}

bool sl_is(const token_t *t, const char *text)
{
    return (t->kind == TK_NAME || t->kind == TK_OP) && strlen(text) == t->n && memcmp(t->p, text, t->n) == 0;
}

static void skip_blanks(compiler_t *c)
{
    for (;;) {
        const char ch = ahead(c, 0);
        if (c->at < c->end && ch != '\n' && (unsigned char)ch <= ' ') {
            c->at++;
        } else if (ch == '#') {
            while (c->at < c->end && *c->at != '\n') {
                c->at++;
            }
        } else {
            return;
        }
    }
}

static void lex_name(compiler_t *c, token_t *t)
{
    while (is_word(ahead(c, 0)) || (ahead(c, 0) == '.' && is_word(ahead(c, 1)))) {
        c->at++;
    }
    t->kind = TK_NAME;
    t->n = (uint32_t)(c->at - t->p);
}

void sl_widen_name(compiler_t *c)
{
    token_t *t = &c->tok;
    if (t->kind != TK_NAME && t->kind != TK_NUMBER) {
        return;
    }
    c->at = t->p;
    while (is_word(ahead(c, 0)) || ahead(c, 0) == '.' || ahead(c, 0) == '/' || ahead(c, 0) == '-') {
        c->at++;
    }
    t->kind = TK_NAME;
    t->n = (uint32_t)(c->at - t->p);
}

/* Words behind a number that are a unit of it; a blank may stand between. */
static void lex_unit(compiler_t *c, token_t *t)
{
    const char *start = c->at;
    while (start < c->end && (*start == ' ' || *start == '\t')) {
        start++;
    }
    const char *end = start;
    double scale = 1;
    if (end < c->end && *end == '%') {
        end++;
    }
    while (end < c->end && is_word(*end)) {
        end++;
    }
    while (end + 1 < c->end && *end == '/' && is_word(end[1])) { /* m/s: longest first, then without */
        const char *longer = end + 1;
        while (longer < c->end && is_word(*longer)) {
            longer++;
        }
        if (sl_unit_find(start, (uint32_t)(longer - start), &scale) == UNIT_NONE) {
            break;
        }
        end = longer;
    }
    const bool step = end - start == 4 && memcmp(start, "step", 4) == 0; /* of a range */
    if (end == start || is_digit(*start) || step || (is_word(*start) && sl_reserved(start, (uint32_t)(end - start)))) {
        return;
    }
    const int unit = sl_unit_find(start, (uint32_t)(end - start), &scale);
    if (unit == UNIT_NONE) {
        const pos_t pos = {c->line, (unsigned)(start - c->line_start) + 1};
        sl_error(c, pos, "'%.*s' is no unit, such as dB, dBFS, Hz, kHz, ms, s, %%", (int)(end - start), start);
    } else {
        t->value *= scale;
        t->whole = unit == 68 && t->value == floor(t->value); /* milliseconds count; the rest measures */
        t->unit = unit;
    }
    c->at = end;
}

static void lex_number(compiler_t *c, token_t *t)
{
    char text[64];
    char *stop;
    const bool hex = ahead(c, 0) == '0' && (ahead(c, 1) == 'x' || ahead(c, 1) == 'X');
    t->kind = TK_NUMBER;
    t->whole = true;
    if (hex) {
        c->at += 2;
        while (is_word(ahead(c, 0))) {
            c->at++;
        }
    } else {
        while (is_digit(ahead(c, 0))) {
            c->at++;
        }
        if (ahead(c, 0) == '.' && is_digit(ahead(c, 1))) {
            t->whole = false;
            c->at++;
            while (is_digit(ahead(c, 0))) {
                c->at++;
            }
        }
        const size_t sign = ahead(c, 1) == '-' || ahead(c, 1) == '+';
        if ((ahead(c, 0) == 'e' || ahead(c, 0) == 'E') && is_digit(ahead(c, 1 + sign))) {
            t->whole = false;
            c->at += 1 + sign;
            while (is_digit(ahead(c, 0))) {
                c->at++;
            }
        }
    }
    t->n = (uint32_t)(c->at - t->p);
    (void)snprintf(text, sizeof text, "%.*s", (int)tw_min_u32(t->n, sizeof text - 1), t->p);
    t->value = hex ? (double)strtoull(text, &stop, 16) : strtod(text, &stop);
    if (*stop != 0 || t->n >= sizeof text || !isfinite(t->value) || (hex && t->n == 2)) {
        sl_error(c, t->pos, "'%.*s' is no number", (int)t->n, t->p);
        t->value = 0;
    }
    if (t->whole && (hex ? t->value > 4294967295.0 : t->value > 2147483648.0)) {
        sl_error(c, t->pos, "%.*s does not fit 32 bits; write it with a point", (int)t->n, t->p);
        t->value = 0;
    }
    if (hex) {
        t->value = (double)(int32_t)(uint32_t)t->value;
    } else {
        lex_unit(c, t);
        t->n = (uint32_t)(c->at - t->p);
    }
}

static void lex_string(compiler_t *c, token_t *t)
{
    c->at++;
    while (c->at < c->end && *c->at != '"' && *c->at != '\n') {
        c->at++;
    }
    t->kind = TK_STRING;
    t->p++;
    t->n = (uint32_t)(c->at - t->p);
    if (ahead(c, 0) != '"') {
        sl_error(c, t->pos, "the text has no closing \"");
    } else {
        c->at++;
    }
}

static void lex_op(compiler_t *c, token_t *t)
{
    static const char *const two[] = {"==", "!=", "<=", ">=", "<<", ">>", "..", "+=", "-=", "*=", "/="};
    t->kind = TK_OP;
    t->n = 1;
    for (size_t i = 0; i < TW_COUNT(two); i++) {
        t->n = ahead(c, 0) == two[i][0] && ahead(c, 1) == two[i][1] ? 2 : t->n;
    }
    c->at += t->n;
}

void sl_next(compiler_t *c)
{
    token_t *t = &c->tok;
    skip_blanks(c);
    *t = (token_t){.p = c->at, .unit = UNIT_NONE, .pos = {c->line, (unsigned)(c->at - c->line_start) + 1}};
    if (c->at >= c->end || c->failed) {
        t->kind = TK_END;
    } else if (*c->at == '\n') {
        t->kind = TK_NEWLINE;
        c->line_start = ++c->at;
        c->line++;
    } else if (*c->at == ';') {
        t->kind = TK_SEMI;
        t->n = 1;
        c->at++;
    } else if (is_digit(*c->at)) {
        lex_number(c, t);
    } else if (is_word(*c->at)) {
        lex_name(c, t);
    } else if (*c->at == '"') {
        lex_string(c, t);
    } else {
        lex_op(c, t);
    }
}

/* ---- units ---------------------------------------------------------------------------------------------- */

enum { UNIT_S = 4, UNIT_MS = 68 };

/* A level and a time are kept in one unit each: full scale = 1, and milliseconds. */
static int own_unit(int code, double *scale)
{
    const tw_unit_scale_t *u = tw_unit_scale((uint32_t)code);
    if (u == NULL || code == 0) {
        return UNIT_NONE;
    }
    if (u->kind != TW_UNIT_EXACT || u->offset != 0) {
        *scale = 1;
        return code;
    }
    *scale = (double)u->num / u->den;
    if (u->primary == UNIT_S) {
        *scale *= 1000;
        return UNIT_MS;
    }
    return u->primary;
}

int sl_unit_find(const char *p, uint32_t n, double *scale)
{
    static const struct {
        char letter;
        double scale;
    } prefixes[] = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}};
    *scale = 1;
    if (n == 4 && memcmp(p, "dBFS", 4) == 0) {
        return UNIT_DBFS;
    }
    if (n == 6 && memcmp(p, "linear", 6) == 0) {
        return UNIT_LEVEL;
    }
    const int code = tw_unit_find(p, n);
    if (code >= 0) {
        return own_unit(code, scale);
    }
    for (size_t i = 0; n > 1 && i < TW_COUNT(prefixes); i++) {
        const int base = p[0] == prefixes[i].letter ? tw_unit_find(p + 1, n - 1) : -1;
        const tw_unit_scale_t *u = base > 0 ? tw_unit_scale((uint32_t)base) : NULL;
        if (u != NULL && u->kind == TW_UNIT_EXACT && u->primary == base && base != 50) {
            const int unit = own_unit(base, scale);
            *scale *= prefixes[i].scale;
            return unit;
        }
    }
    return UNIT_NONE;
}

const char *sl_unit_name(int unit)
{
    return unit == UNIT_LEVEL  ? "a linear level"
           : unit == UNIT_DBFS ? "dBFS"
           : unit == UNIT_NONE ? "no unit"
                               : tw_unit_text((uint32_t)unit);
}
