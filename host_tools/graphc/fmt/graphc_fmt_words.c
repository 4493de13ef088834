/* graphc_fmt_words.c - words in canonical form: numbers, names of codes, option sets, values of data lines. */
#include "host_tools/graphc/fmt/graphc_fmt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void g_fmt_str(g_text_t *b, const char *s)
{
    g_text_add(b, s, strlen(s));
}

void g_fmt_pad(g_text_t *b, size_t blanks)
{
    static const char spaces[] = "                                ";
    for (; blanks > 0; blanks -= tw_min_u32((uint32_t)blanks, sizeof spaces - 1)) {
        g_text_add(b, spaces, tw_min_u32((uint32_t)blanks, sizeof spaces - 1));
    }
}

void g_taken_word(void *ctx, const char *p, size_t n)
{
    g_taken_t *t = ctx;
    t->separator = !t->separator;
    if (t->separator || t->failed) {
        return;
    }
    if (t->n >= t->cap && !g_grow(&t->words, t->cap, &t->cap, sizeof *t->words)) {
        t->failed = true;
        return;
    }
    t->words[t->n++] = (g_slice_t){p, (uint32_t)n};
}

/* ---- numbers ------------------------------------------------------------------------- */

static bool is_hex(const g_slice_t *w)
{
    return w->n > 2 && w->p[0] == '0' && (w->p[1] == 'x' || w->p[1] == 'X');
}

/* Digits of a hexadecimal number in upper case. */
static void add_hex(g_text_t *b, const char *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const char c = (char)(p[i] >= 'a' && p[i] <= 'f' ? p[i] - 'a' + 'A' : p[i]);
        g_text_add(b, &c, 1);
    }
}

/* The shortest decimal that reads back as the same number. */
static void add_real(g_text_t *b, double v)
{
    char text[64];
    if (v == 0) {
        g_fmt_str(b, signbit(v) ? "-0.0" : "0");
        return;
    }
    if (v == floor(v) && fabs(v) < 1e15) {
        (void)snprintf(text, sizeof text, "%.0f", v);
        g_fmt_str(b, text);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) {
            break;
        }
    }
    g_fmt_str(b, text);
}

static void add_number(g_text_t *b, const g_slice_t *w)
{
    const tw_tok_t tok = {w->p, w->n, 0};
    uint64_t u;
    double v;
    const uint32_t sign = w->n > 0 && (w->p[0] == '+' || w->p[0] == '-');
    tw_tok_t digits = {w->p + sign, w->n - sign, 0};
    const g_slice_t unsigned_part = {digits.p, digits.n};
    if (tw_tok_uint(&digits, &u)) {
        g_text_add(b, "-", sign && w->p[0] == '-' && u > 0);
        if (is_hex(&unsigned_part)) {
            g_fmt_str(b, "0x");
            add_hex(b, digits.p + 2, digits.n - 2);
            return;
        }
        for (; digits.n > 1 && digits.p[0] == '0'; digits.p++, digits.n--) {}
        g_text_add(b, digits.p, digits.n);
    } else if (tw_tok_num(&tok, &v)) {
        add_real(b, v);
    } else {
        g_text_add(b, w->p, w->n);
    }
}

/* ---- codes ----------------------------------------------------------------------------- */

static const char *name_of(g_value_t value, const g_slice_t *w)
{
    const tw_tok_t tok = {w->p, w->n, 0};
    int64_t code;
    const bool number = tw_tok_int(&tok, &code) && code >= 0 && code < 256;
    switch (value) {
    case G_VALUE_RAW:
        code = number ? code : tw_raw_find(w->p, w->n);
        return code < 0 ? NULL : tw_raw_name((uint32_t)code);
    case G_VALUE_UNIT:
        code = number ? code : tw_unit_find_name(w->p, w->n);
        return code < 0 ? NULL : tw_unit_text((uint32_t)code);
    case G_VALUE_DOMAIN:
        code = number ? code : tw_domain_find(w->p, w->n);
        return code < 0 ? NULL : tw_domain_text((uint32_t)code);
    case G_VALUE_TEXT:
    case G_VALUE_NUMBER:
        break;
    }
    return NULL;
}

void g_fmt_word(g_text_t *b, const g_slice_t *w, g_value_t value)
{
    const char *name = name_of(value, w);
    if (name != NULL) {
        g_fmt_str(b, name);
    } else if (value == G_VALUE_TEXT) {
        g_text_add(b, w->p, w->n);
    } else {
        add_number(b, w);
    }
}

void g_fmt_data(g_text_t *b, const g_slice_t *w, const g_slice_t *type)
{
    uint32_t width = type->n > 1 && type->p[0] == 'h' ? (uint32_t)strtoul(type->p + 1, NULL, 10) / 4 : 0;
    if (width == 0) {
        add_number(b, w);
        return;
    }
    const char *p = is_hex(w) ? w->p + 2 : w->p;
    uint32_t n = is_hex(w) ? w->n - 2 : w->n;
    for (; n > width && *p == '0'; p++, n--) {}
    for (; width > n; width--) {
        g_text_add(b, "0", 1);
    }
    add_hex(b, p, n);
}

/* ---- option sets ------------------------------------------------------------------------- */

static bool is(const g_slice_t *w, const char *text)
{
    return strlen(text) == w->n && memcmp(text, w->p, w->n) == 0;
}

void g_fmt_options(g_text_t *b, const g_slice_t *w, uint32_t n, g_value_t value)
{
    const bool open = n > 0 && is(w, "{");
    const bool close = n > 0 && is(&w[n - 1], "}");
    w += open;
    n -= (uint32_t)open + close;
    const tw_tok_t first = {n > 0 ? w->p : "", n > 0 ? w->n : 0, 0};
    double index = 0;
    const bool is_index = tw_tok_num(&first, &index);
    g_fmt_str(b, "{");
    if (n == 0 || (n == 1 && is_index && index == 0)) {
        g_fmt_str(b, "0");
        n = 0;
    } else if (n == 1) {
        g_fmt_str(b, "1 "); /* {X} stands for {1 X} */
        g_fmt_word(b, w, value);
        n = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_text_add(b, " ", i > 0);
        /* the index, and ranges, stay numbers */
        g_fmt_word(b, &w[i], i > 0 && is_index && index >= 0 ? value : G_VALUE_NUMBER);
    }
    g_fmt_str(b, "}");
}

/* ---- arguments ----------------------------------------------------------------------------- */

static bool one_of(const char *p, size_t n, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0) {
            return true;
        }
    }
    return false;
}

g_value_t g_fmt_argument(const char *args, uint32_t i)
{
    static const char *const texts[] = {"name", "path", "file",   "node", "label",        "type",
                                        "H",    "...",  "folder", "text", "sub-graph/..", "tag"};
    if (strchr(args, '|') != NULL || strstr(args, " or ") != NULL) {
        return G_VALUE_NUMBER; /* words among them are no numbers */
    }
    for (; *args != 0; i--) {
        args += strspn(args, " [");
        const size_t n = strcspn(args, " ]");
        if (i == 0 || strncmp(args, "...", 3) == 0) {
            return one_of(args, n, texts, TW_COUNT(texts))    ? G_VALUE_TEXT
                   : n == 3 && memcmp(args, "raw", 3) == 0    ? G_VALUE_RAW
                   : n == 4 && memcmp(args, "unit", 4) == 0   ? G_VALUE_UNIT
                   : n == 6 && memcmp(args, "domain", 6) == 0 ? G_VALUE_DOMAIN
                                                              : G_VALUE_NUMBER;
        }
        args += n + strspn(args + n, " ]");
    }
    return G_VALUE_TEXT;
}

static uint32_t find_brace(const g_slice_t *w, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && !is(&w[i], "{")) {
        i++;
    }
    return i;
}

/* "{unit ..}": braces without an index. */
static void add_list(g_text_t *b, const g_slice_t *w, uint32_t n)
{
    g_fmt_str(b, " {");
    for (uint32_t i = 0, k = 0; i < n; i++) {
        if (!is(&w[i], "{") && !is(&w[i], "}")) {
            g_fmt_str(b, k++ > 0 ? " " : "");
            g_fmt_word(b, &w[i], G_VALUE_UNIT);
        }
    }
    g_fmt_str(b, "}");
}

/* Words that may be a set and may be prose: as they are, braces close to what is in them. */
static void add_prose(g_text_t *b, const g_slice_t *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const bool close = is(&w[i], "}") || (i > 0 && is(&w[i - 1], "{"));
        g_fmt_str(b, close && i > 0 ? "" : " ");
        g_text_add(b, w[i].p, w[i].n);
    }
}

void g_fmt_args(g_text_t *b, const char *tag, const char *args, const g_slice_t *w, uint32_t n)
{
    if (args[0] == '{') {
        add_list(b, w, n);
        return;
    }
    if (strcmp(args, "options or text") == 0) {
        add_prose(b, w, n);
        return;
    }
    const bool options = strstr(args, "options") != NULL;
    const bool raw = strstr(tag, "raw_format") != NULL;
    const uint32_t brace = find_brace(w, n);
    const uint32_t before = !options ? n : brace < n ? brace : 0; /* all are options where there are no braces */
    for (uint32_t i = 0; i < before; i++) {
        g_fmt_str(b, " ");
        g_fmt_word(b, &w[i], options ? G_VALUE_TEXT : g_fmt_argument(args, i));
    }
    if (before < n) {
        g_fmt_str(b, " ");
        g_fmt_options(b, w + before, n - before, raw ? G_VALUE_RAW : G_VALUE_NUMBER);
    }
}
