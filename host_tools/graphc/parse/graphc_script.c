/* graphc_script.c - script blocks: byte code and assembler text to code and literal pool. Knows no opcode. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <stdio.h>
#include <stdlib.h>

#define SCRIPT_BYTES_MAX 65535u /* of code, and of literals: the image has 16 bits for each */

#define ASM_LINES_MAX (1u << 17)

#define FIRST_LABEL 64u /* of literal lines; code labels count from 0 */
#define LABELS_MAX 64u

/* Types of data lines as registers have them (tw_stype_t). Among the code, h16 is code. */
static const struct {
    const char *name;
    uint8_t type, bytes;
} literal_types[] = {
    {"i8", 0, 1},  {"s8", 0, 1},  {"u8", 1, 1},  {"h8", 1, 1},  {"i16", 2, 2},  {"s16", 2, 2},
    {"u16", 3, 2}, {"h16", 3, 2}, {"i32", 4, 4}, {"s32", 4, 4}, {"u32", 5, 4},  {"h32", 5, 4},
    {"i64", 7, 8}, {"s64", 7, 8}, {"u64", 8, 8}, {"h64", 8, 8}, {"f32", 12, 4}, {"f64", 13, 8},
};

void g_data_type(const char *name, uint8_t *type, uint8_t *bytes)
{
    for (size_t i = 0; i < TW_COUNT(literal_types); i++) {
        if (strcmp(literal_types[i].name, name) == 0) {
            *type = literal_types[i].type;
            *bytes = literal_types[i].bytes;
        }
    }
}

/* Name of a type of g_data_type() in the assembler. */
static const char *asm_type(uint8_t type)
{
    size_t i = 0;
    while (i + 1 < TW_COUNT(literal_types) && literal_types[i].type != type) {
        i++;
    }
    return literal_types[i].name;
}

/* The line's values go to the pool, aligned to their size, and its directory gets an entry. */
static bool literal_line(g_parser_t *p, const tw_tok_t *type)
{
    static const uint8_t zero[8];
    const uint32_t n = type->n > 0 && type->p[type->n - 1] == ':' ? type->n - 1 : type->n;
    if (p->has_pool) {
        tw_text_error(p->t, type, "a literal line, and the script has a script_pool");
        return false;
    }
    size_t i = 0;
    while (i < TW_COUNT(literal_types) &&
           (strlen(literal_types[i].name) != n || memcmp(literal_types[i].name, type->p, n) != 0)) {
        i++;
    }
    if (i < TW_COUNT(literal_types)) {
        const uint32_t at = tw_round_up(p->literal_bytes, literal_types[i].bytes);
        if (p->n_literals >= LABELS_MAX || at > SCRIPT_BYTES_MAX) {
            tw_text_error(p->t, type, "more than %u literal lines, or %u bytes of literals", LABELS_MAX,
                          SCRIPT_BYTES_MAX);
            return false;
        }
        if (!g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, zero, at - p->literal_bytes)) {
            return false;
        }
        uint8_t *entry = p->literal_dir[p->n_literals];
        entry[0] = (uint8_t)(FIRST_LABEL + p->n_literals++);
        entry[1] = literal_types[i].type;
        tw_put_le16(entry + 2, (uint16_t)at);
    }
    return g_take_data(p, &p->literals, &p->literal_bytes, &p->literal_cap) != NULL; /* names an unknown type */
}

bool g_pool_line(g_parser_t *p)
{
    return g_take_data(p, &p->literals, &p->literal_bytes, &p->literal_cap) != NULL;
}

bool g_code_line(g_parser_t *p)
{
    tw_text_t ahead = *p->t;
    tw_tok_t tok;
    ahead.canon = NULL;
    (void)tw_text_tok(&ahead, &tok);
    (void)tw_text_peek(&ahead, &tok);
    if (tok.n >= 3 && memcmp(tok.p, "h16", 3) == 0) {
        return g_take_data(p, &p->data, &p->data_bytes, &p->data_cap) != NULL;
    }
    return literal_line(p, &tok);
}

/* ---- one script of it all ------------------------------------------------------------- */

/* Code, padding and literals as the image has them. Takes nothing over. */
static bool store(g_parser_t *p, const uint8_t *code, uint32_t code_bytes, const uint8_t *literals,
                  uint32_t literal_bytes)
{
    g_script_t *s = &p->m->scripts[p->script];
    if (code_bytes == 0) {
        g_error(p->m, &p->code_at, "the script is empty");
        return false;
    }
    if (code_bytes > SCRIPT_BYTES_MAX || literal_bytes > SCRIPT_BYTES_MAX) {
        g_error(p->m, &p->code_at, "code of %u and literals of %u bytes, at most %u each", code_bytes, literal_bytes,
                SCRIPT_BYTES_MAX);
        return false;
    }
    const uint32_t padded = tw_round_up(code_bytes, 4);
    s->code = calloc(1, padded + literal_bytes);
    if (s->code == NULL) {
        g_error(p->m, &p->code_at, "out of memory");
        return false;
    }
    memcpy(s->code, code, code_bytes);
    if (literal_bytes > 0) {
        memcpy(s->code + padded, literals, literal_bytes);
    }
    s->code_bytes = code_bytes;
    s->literal_bytes = literal_bytes;
    s->has_code = true;
    return true;
}

/* As the assembler does it: the language's own example has no ret. */
static bool close_code(g_parser_t *p)
{
    static const uint8_t ret[2] = {0x00, 0xC0};
    if (p->data_bytes == 0 || tw_asm_ends(p->data, p->data_bytes)) {
        return true;
    }
    g_warn(p->m, &p->code_at, "no return at the end, ret (C000) appended");
    return g_append(p, &p->data, &p->data_bytes, &p->data_cap, ret, sizeof ret);
}

static bool is_number(const g_slice_t *label, int64_t *k)
{
    const tw_tok_t tok = {.p = label->p, .n = label->n};
    return label->n > 0 && tw_tok_int(&tok, k);
}

static bool label_taken(const g_parser_t *p, uint32_t k)
{
    for (uint32_t i = 0; i < p->n_literals; i++) {
        if (p->literal_dir[i][0] == k) {
            return true;
        }
    }
    for (uint32_t i = 0; i < p->n_script_data; i++) {
        int64_t number;
        if (is_number(&p->script_data[i].label, &number) && number == k) {
            return true;
        }
    }
    return false;
}

/* Number of a block's label: as written; of a name the highest that is free, as the assembler has it; of none the
 * one after the literal lines. */
static uint32_t label_number(const g_parser_t *p, const g_slice_t *label)
{
    int64_t number;
    if (is_number(label, &number)) {
        return (uint32_t)number;
    }
    uint32_t k = label->n > 0 ? LABELS_MAX + FIRST_LABEL - 1 : FIRST_LABEL + p->n_literals;
    while (label->n > 0 && k > 0 && label_taken(p, k)) {
        k--;
    }
    return k;
}

static bool pool_line(g_parser_t *p, const g_script_data_t *d, uint32_t size)
{
    static const uint8_t zero[8];
    const uint32_t at = tw_round_up(p->literal_bytes, size);
    if (!g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, zero, at - p->literal_bytes)) {
        return false;
    }
    if (d->first) {
        const uint32_t k = label_number(p, &d->label);
        for (uint32_t i = 0; i < p->n_literals; i++) {
            if (p->literal_dir[i][0] == k) {
                g_error(p->m, &d->pos, "label %u is that of a literal line already", k);
                return false;
            }
        }
        if (p->n_literals >= LABELS_MAX || at > SCRIPT_BYTES_MAX) {
            g_error(p->m, &d->pos, "more than %u literal lines and blocks, or %u bytes of them", LABELS_MAX,
                    SCRIPT_BYTES_MAX);
            return false;
        }
        uint8_t *entry = p->literal_dir[p->n_literals++];
        entry[0] = (uint8_t)k;
        entry[1] = d->type;
        tw_put_le16(entry + 2, (uint16_t)at);
    }
    return g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, p->script_bytes + d->at, d->bytes);
}

/* Blocks of data go behind the literal lines, and the pool ends with its directory: an entry per label, their number.
 */
static bool close_pool(g_parser_t *p)
{
    uint8_t count[2];
    for (uint32_t i = 0; i < p->n_script_data; i++) {
        if (!pool_line(p, &p->script_data[i], p->script_data[i].size)) {
            return false;
        }
    }
    tw_put_le16(count, (uint16_t)p->n_literals);
    return p->n_literals == 0 || p->has_pool ||
           (g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, p->literal_dir[0], 4 * p->n_literals) &&
            g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, count, sizeof count));
}

static bool finish_code(g_parser_t *p)
{
    if (p->has_pool && p->n_script_data > 0) {
        g_error(p->m, &p->script_data[0].pos, "data of a script that has a script_pool");
        return false;
    }
    return close_code(p) && close_pool(p) && store(p, p->data, p->data_bytes, p->literals, p->literal_bytes);
}

/* ---- assembler text ---------------------------------------------------------------------- */

static bool asm_put(g_parser_t *p, const char *text, uint32_t n)
{
    return g_append(p, &p->asm_text, &p->asm_bytes, &p->asm_cap, text, n);
}

/* One line for the assembler, and where a person finds it. */
static bool asm_put_line(g_parser_t *p, const g_pos_t *pos, const char *text, uint32_t n)
{
    if (p->asm_lines >= ASM_LINES_MAX) {
        if (p->code != CODE_REFUSED) {
            g_error(p->m, pos, "more than %u lines of assembler", ASM_LINES_MAX);
        }
        p->code = CODE_REFUSED;
        return false;
    }
    if (p->asm_lines >= p->cap_asm_pos && !g_grow(&p->asm_pos, p->asm_lines, &p->cap_asm_pos, sizeof *p->asm_pos)) {
        g_error(p->m, pos, "out of memory");
        return false;
    }
    p->asm_pos[p->asm_lines++] = *pos;
    return asm_put(p, text, n) && asm_put(p, "\n", 1);
}

bool g_asm_line(g_parser_t *p)
{
    const g_pos_t pos = g_here(p, NULL);
    const bool ok = asm_put_line(p, &pos, p->t->bol, (uint32_t)(p->t->eol - p->t->bol));
    tw_tok_t tok;
    while (tw_text_tok(p->t, &tok)) {
        /* taken for the canonical text only */
    }
    return ok;
}

/* "ID2:" or "labl #70", then "2 u8; 0x02 0x03": a hexadecimal number is its bits whatever the type. */
static bool asm_put_data(g_parser_t *p, const g_script_data_t *d)
{
    const uint32_t start = p->asm_bytes;
    char text[64];
    int64_t number;
    int n = 0;
    if (d->first && d->label.n > 0) {
        n = is_number(&d->label, &number) ? snprintf(text, sizeof text, "labl #%u", (unsigned)number)
                                          : snprintf(text, sizeof text, "%.*s:", (int)d->label.n, d->label.p);
        if (!asm_put_line(p, &d->pos, text, (uint32_t)n)) {
            return false;
        }
    }
    n = snprintf(text, sizeof text, "%u %s;", d->bytes / d->size, asm_type(d->type));
    bool ok = asm_put_line(p, &d->pos, text, (uint32_t)n);
    p->asm_bytes -= ok; /* the line goes on */
    for (uint32_t i = 0; ok && i < d->bytes; i += d->size) {
        uint64_t v = 0;
        for (uint32_t k = d->size; k-- > 0;) {
            v = v << 8 | p->script_bytes[d->at + i + k];
        }
        n = snprintf(text, sizeof text, " 0x%llx", (unsigned long long)v);
        ok = asm_put(p, text, (uint32_t)n);
    }
    return ok && p->asm_bytes > start && asm_put(p, "\n", 1);
}

static void asm_diags(g_parser_t *p, const tw_asm_out_t *out)
{
    for (unsigned i = 0; i < out->n_diags; i++) {
        const tw_asm_diag_t *d = &out->diags[i];
        const bool known = d->line > 0 && d->line <= p->asm_lines;
        const g_pos_t *pos = known ? &p->asm_pos[d->line - 1] : &p->code_at;
        tw_diag(p->m->diags, d->warning, pos->file, pos->line, pos->col > 0 || !known ? pos->col : d->col, "%s",
                d->text);
    }
}

static bool finish_asm(g_parser_t *p)
{
    tw_asm_out_t *out = calloc(1, sizeof *out);
    if (out == NULL) {
        g_error(p->m, &p->code_at, "out of memory");
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->n_script_data; i++) {
        ok = asm_put_data(p, &p->script_data[i]); /* says what is wrong */
    }
    if (!ok) {
        free(out);
        return false;
    }
    const bool assembled = tw_asm(p->asm_text != NULL ? (const char *)p->asm_text : "", p->asm_bytes, out);
    asm_diags(p, out);
    if (!assembled && out->n_diags == 0) {
        g_error(p->m, &p->code_at, "the assembler refused the text");
    }
    ok = assembled && store(p, out->code, out->code_bytes, out->pool, out->pool_bytes);
    free(out);
    return ok;
}

/* ---- statements: compiled when all names are known ------------------------------------------ */

static bool keep_source(g_parser_t *p)
{
    g_script_t *s = &p->m->scripts[p->script];
    if (p->n_script_data > 0 || p->has_pool || p->asm_bytes == 0) {
        g_error(p->m, &p->code_at,
                p->asm_bytes == 0 ? "the script is empty" : "constants of a script_source are tables in its text");
        return false;
    }
    s->source = malloc(p->asm_bytes);
    s->source_pos = malloc(p->asm_lines * sizeof *s->source_pos);
    if (s->source == NULL || s->source_pos == NULL) {
        g_error(p->m, &p->code_at, "out of memory");
        return false;
    }
    memcpy(s->source, p->asm_text, p->asm_bytes);
    memcpy(s->source_pos, p->asm_pos, p->asm_lines * sizeof *s->source_pos);
    s->source_bytes = p->asm_bytes;
    s->source_lines = p->asm_lines;
    s->has_code = true;
    return true;
}

bool g_script_end(g_parser_t *p)
{
    const g_code_t code = p->code;
    bool ok = true;
    if (p->script != G_NONE && !p->unread) {
        switch (code) {
        case CODE_NONE:
            break; /* looking up says so */
        case CODE_WORDS:
            ok = finish_code(p);
            break;
        case CODE_ASM:
            ok = finish_asm(p);
            break;
        case CODE_SOURCE:
            ok = keep_source(p);
            break;
        case CODE_REFUSED:
            p->m->scripts[p->script].has_code = true;
            break;
        }
    }
    p->code = CODE_NONE;
    p->data_bytes = p->literal_bytes = p->n_literals = p->asm_bytes = p->asm_lines = 0;
    p->n_script_data = p->script_data_bytes = 0;
    p->has_pool = p->unread = false;
    return ok;
}
