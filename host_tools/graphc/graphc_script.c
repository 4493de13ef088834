/* graphc_script.c - script blocks: byte code and assembler text to code and literal pool. Knows no opcode. */
#include "host_tools/graphc/graphc_parse_priv.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <stdlib.h>

#define SCRIPT_BYTES_MAX 65535u /* of code, and of literals: the image has 16 bits for each */

#define FIRST_LABEL 64u /* of literal lines; code labels count from 0 */
#define LABELS_MAX 64u

/* Types of literals as registers have them (tw_stype_t); 16-bit types are code. */
static const struct {
    const char *name;
    uint8_t type, bytes;
} literal_types[] = {
    {"i8", 0, 1},  {"s8", 0, 1},  {"u8", 1, 1},  {"h8", 1, 1},  {"i32", 4, 4}, {"s32", 4, 4},  {"u32", 5, 4},
    {"h32", 5, 4}, {"i64", 7, 8}, {"s64", 7, 8}, {"u64", 8, 8}, {"h64", 8, 8}, {"f32", 12, 4}, {"f64", 13, 8},
};

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
    if (tok.n >= 3 && memcmp(tok.p + 1, "16", 2) == 0) {
        return g_take_data(p, &p->data, &p->data_bytes, &p->data_cap) != NULL;
    }
    return literal_line(p, &tok);
}

/* Code, padding and literals as the image has them. Takes nothing over. */
static bool store(g_parser_t *p, const uint8_t *code, uint32_t code_bytes, const uint8_t *literals,
                  uint32_t literal_bytes)
{
    g_script_t *s = g_script_here(p);
    if (s == NULL) {
        return false;
    }
    if (s->has_code) {
        g_error(p->m, &p->block, "the script has code already");
        return false;
    }
    if (code_bytes == 0) {
        g_error(p->m, &p->block, "the script is empty");
        return false;
    }
    if (code_bytes > SCRIPT_BYTES_MAX || literal_bytes > SCRIPT_BYTES_MAX) {
        g_error(p->m, &p->block, "code of %u and literals of %u bytes, at most %u each", code_bytes, literal_bytes,
                SCRIPT_BYTES_MAX);
        return false;
    }
    const uint32_t padded = tw_round_up(code_bytes, 4);
    s->code = calloc(1, padded + literal_bytes);
    if (s->code == NULL) {
        g_error(p->m, &p->block, "out of memory");
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

/* The pool ends with its directory: an entry per line, then their number. */
static bool close_pool(g_parser_t *p)
{
    uint8_t count[2];
    tw_put_le16(count, (uint16_t)p->n_literals);
    return p->n_literals == 0 || p->has_pool ||
           (g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, p->literal_dir[0], 4 * p->n_literals) &&
            g_append(p, &p->literals, &p->literal_bytes, &p->literal_cap, count, sizeof count));
}

/* As the assembler does it: the language's own example has no ret. */
static bool close_code(g_parser_t *p)
{
    static const uint8_t ret[2] = {0x00, 0xC0};
    if (p->data_bytes == 0 || tw_asm_ends(p->data, p->data_bytes)) {
        return true;
    }
    g_warn(p->m, &p->block, "no return at the end, ret (C000) appended");
    return g_append(p, &p->data, &p->data_bytes, &p->data_cap, ret, sizeof ret);
}

bool g_code_end(g_parser_t *p)
{
    const bool ok = close_code(p) && close_pool(p) && store(p, p->data, p->data_bytes, p->literals, p->literal_bytes);
    p->data_bytes = p->literal_bytes = p->n_literals = 0;
    p->has_pool = false;
    return ok;
}

static bool asm_put(g_parser_t *p, const char *text, uint32_t n)
{
    return g_append(p, &p->asm_text, &p->asm_bytes, &p->asm_cap, text, n);
}

/* Lines are kept as they are, blank ones too, so the assembler's places need only the line of the first. */
bool g_asm_line(g_parser_t *p)
{
    if (p->asm_lines == 0) {
        p->asm_at = g_here(p, NULL);
    }
    const unsigned want = p->t->file == p->asm_at.file ? p->t->line - p->asm_at.line : p->asm_lines;
    for (; p->asm_lines < want; p->asm_lines++) {
        if (!asm_put(p, "\n", 1)) {
            return false;
        }
    }
    p->asm_lines++;
    const bool ok = asm_put(p, p->t->bol, (uint32_t)(p->t->eol - p->t->bol)) && asm_put(p, "\n", 1);
    tw_tok_t tok;
    while (tw_text_tok(p->t, &tok)) {
        /* taken for the canonical text only */
    }
    return ok;
}

bool g_asm_end(g_parser_t *p)
{
    tw_asm_out_t *out = calloc(1, sizeof *out);
    if (out == NULL) {
        g_error(p->m, &p->block, "out of memory");
        return false;
    }
    const bool assembled = tw_asm(p->asm_text != NULL ? (const char *)p->asm_text : "", p->asm_bytes, out);
    for (unsigned i = 0; i < out->n_diags; i++) {
        const tw_asm_diag_t *d = &out->diags[i];
        tw_diag(p->m->diags, d->warning, p->asm_at.file, d->line > 0 ? p->asm_at.line + d->line - 1 : p->asm_at.line,
                d->col, "%s", d->text);
    }
    if (!assembled && out->n_diags == 0) {
        g_error(p->m, &p->block, "the assembler refused the text");
    }
    const bool ok = assembled && store(p, out->code, out->code_bytes, out->pool, out->pool_bytes);
    free(out);
    p->asm_bytes = p->asm_lines = 0;
    return ok;
}
