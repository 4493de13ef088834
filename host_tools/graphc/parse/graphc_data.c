/* graphc_data.c - data lines "N type; v1 .. vN": numbers of the text to little-endian bytes. Knows no tag. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <math.h>
#include <stdlib.h>

typedef enum kind { SIGNED, UNSIGNED, HEX, FLOAT } kind_t;
static const struct type {
    const char *name;
    kind_t kind;
    uint8_t bytes;
} types[] = {
    {"i8", SIGNED, 1},    {"s8", SIGNED, 1},    {"u8", UNSIGNED, 1}, {"h8", HEX, 1},     {"i16", SIGNED, 2},
    {"s16", SIGNED, 2},   {"u16", UNSIGNED, 2}, {"h16", HEX, 2},     {"i32", SIGNED, 4}, {"s32", SIGNED, 4},
    {"u32", UNSIGNED, 4}, {"h32", HEX, 4},      {"i64", SIGNED, 8},  {"s64", SIGNED, 8}, {"u64", UNSIGNED, 8},
    {"h64", HEX, 8},      {"f32", FLOAT, 4},    {"f64", FLOAT, 8},
};

static const struct type *find_type(const tw_tok_t *tok)
{
    /* "u8:" is also written */
    const uint32_t n = tok->n > 0 && tok->p[tok->n - 1] == ':' ? tok->n - 1 : tok->n;
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        if (strlen(types[i].name) == n && memcmp(types[i].name, tok->p, n) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

bool g_is_data(const tw_text_t *t)
{
    tw_text_t ahead = *t;
    tw_tok_t tok;
    int64_t v;
    ahead.canon = NULL;
    return tw_text_tok(&ahead, &tok) && tw_tok_int(&tok, &v);
}

/* The separator after the type is ';' or ':', possibly after blanks. */
static bool take_separator(tw_text_t *t, const tw_tok_t *type)
{
    if (type->p[type->n - 1] == ':') {
        return true;
    }
    const char *p = t->p;
    while (p < t->eol && (*p == ' ' || *p == '\t')) {
        p++;
    }
    if (p == t->eol || (*p != ';' && *p != ':')) {
        return false;
    }
    t->p = p + 1;
    return true;
}

static bool whole(const tw_tok_t *tok, const struct type *type, uint64_t *v)
{
    const unsigned bits = type->bytes * 8u;
    const uint64_t top = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    int64_t s;
    if (type->kind == HEX) {
        return tw_tok_hex(tok, v) && *v <= top;
    }
    if (type->kind == UNSIGNED) {
        return tw_tok_uint(tok, v) && *v <= top;
    }
    if (!tw_tok_int(tok, &s)) {
        return false;
    }
    *v = (uint64_t)s;
    const bool written_hex = tok->n > 2 && tok->p[1] == 'x';
    return (s >= -(int64_t)(top / 2) - 1 && s <= (int64_t)(top / 2)) || (written_hex && *v <= top);
}

static bool encode(const tw_tok_t *tok, const struct type *type, uint8_t *to)
{
    uint64_t v = 0;
    if (type->kind == FLOAT) {
        double d;
        if (!tw_tok_num(tok, &d) || (type->bytes == 4 && fabs(d) > 3.4028235677973366e38)) {
            return false;
        }
        if (type->bytes == 4) {
            tw_put_f32(to, (float)d);
            return true;
        }
        memcpy(&v, &d, sizeof v);
    } else if (!whole(tok, type, &v)) {
        return false;
    }
    for (unsigned i = 0; i < type->bytes; i++) {
        to[i] = (uint8_t)(v >> 8 * i);
    }
    return true;
}

static bool room(g_parser_t *p, uint8_t **data, uint32_t n, uint32_t *cap, uint32_t more)
{
    while (*cap < n + more) {
        if (n + more > G_PARAMS_MAX || !g_grow(data, *cap, cap, 1)) {
            tw_text_error(p->t, NULL, "a block of more than %u bytes", G_PARAMS_MAX);
            return false;
        }
    }
    return true;
}

bool g_append(g_parser_t *p, uint8_t **data, uint32_t *n, uint32_t *cap, const void *bytes, uint32_t count)
{
    if (!room(p, data, *n, cap, count)) {
        return false;
    }
    if (count > 0) {
        memcpy(*data + *n, bytes, count);
    }
    *n += count;
    return true;
}

static void refuse_value(g_parser_t *p, const tw_tok_t *tok, const struct type *type)
{
    int64_t v;
    const int64_t top = (int64_t)(UINT64_MAX >> (64 - 8 * type->bytes) >> (type->kind == SIGNED));
    if (type->kind == FLOAT || type->kind == HEX || type->bytes == 8 || !tw_tok_int(tok, &v)) {
        const char *want = type->kind == FLOAT ? "a number in its range"
                           : type->kind == HEX ? "hexadecimal digits that fit it"
                                               : "a whole number";
        tw_text_error(p->t, tok, "'%.*s' is no %s value: expected %s", (int)tok->n, tok->p, type->name, want);
    } else {
        tw_text_error(p->t, tok, "%.*s does not fit %s, allowed %lld..%lld", (int)tok->n, tok->p, type->name,
                      (long long)(type->kind == SIGNED ? -top - 1 : 0), (long long)top);
    }
}

/* "N type;" */
static const struct type *take_head(g_parser_t *p, int64_t lo, int64_t hi, int64_t *count)
{
    tw_tok_t tok;
    if (!tw_take_int(p->t, "number of values", lo, hi, count)) {
        return NULL;
    }
    if (!tw_text_tok(p->t, &tok)) {
        tw_text_error(p->t, &tok, "expected a type");
        return NULL;
    }
    const struct type *type = find_type(&tok);
    if (type == NULL) {
        const char *near = tw_nearest(&tok, types, TW_COUNT(types), sizeof types[0]);
        tw_text_error(p->t, &tok, "unknown data type '%.*s'%s%s%s", (int)tok.n, tok.p, near ? ", did you mean '" : "",
                      near ? near : "", near ? "'?" : "");
        return NULL;
    }
    if (!take_separator(p->t, &tok)) {
        (void)tw_text_peek(p->t, &tok);
        tw_text_error(p->t, &tok, "expected ';' after the type");
        return NULL;
    }
    return type;
}

bool g_take_count(g_parser_t *p, uint32_t most, uint32_t *count)
{
    tw_tok_t at;
    int64_t n = 0;
    (void)tw_text_peek(p->t, &at);
    const struct type *type = take_head(p, 0, most, &n);
    if (type != NULL && type->kind == FLOAT) {
        tw_text_error(p->t, &at, "numbers of a list are whole, not %s", type->name);
        type = NULL;
    }
    *count = (uint32_t)n;
    return type != NULL;
}

const char *g_take_data(g_parser_t *p, uint8_t **data, uint32_t *n, uint32_t *cap)
{
    int64_t count;
    tw_tok_t tok;
    const struct type *type = take_head(p, 1, G_PARAMS_MAX / 8, &count);
    if (type == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!tw_text_tok(p->t, &tok)) {
            tw_text_error(p->t, &tok, "%lld value%s announced, %lld on the line", (long long)count,
                          count == 1 ? "" : "s", (long long)i);
            return NULL;
        }
        if (!room(p, data, *n, cap, type->bytes)) {
            return NULL;
        }
        if (!encode(&tok, type, *data + *n)) {
            refuse_value(p, &tok, type);
            return NULL;
        }
        *n += type->bytes;
    }
    tw_text_skip(p->t); /* what follows the values is comment */
    return type->name;
}
