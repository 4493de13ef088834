/* graphc_script.c - script blocks: byte code and assembler text to code and literal pool. Knows no opcode. */
#include "host_tools/graphc/graphc_priv.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <stdlib.h>

#define SCRIPT_BYTES_MAX 65535u /* of code, and of literals: the image has 16 bits for each */

static bool is_code(const char *type)
{
    return strcmp(type + 1, "16") == 0; /* h16 u16 i16 s16 */
}

bool g_code_line(g_parser_t *p)
{
    tw_text_t ahead = *p->t;
    tw_tok_t tok;
    ahead.canon = NULL;
    (void)tw_text_tok(&ahead, &tok);
    (void)tw_text_peek(&ahead, &tok);
    const bool code = tok.n >= 3 && memcmp(tok.p + 1, "16", 2) == 0;
    const char *type = code ? g_take_data(p, &p->data, &p->data_bytes, &p->data_cap)
                            : g_take_data(p, &p->literals, &p->literal_bytes, &p->literal_cap);
    return type != NULL && is_code(type) == code;
}

/* Code, padding and literals as the image has them. Takes nothing over. */
static bool store(g_parser_t *p, const uint8_t *code, uint32_t code_bytes, const uint8_t *literals, uint32_t literal_bytes)
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

bool g_code_end(g_parser_t *p)
{
    const bool ok = store(p, p->data, p->data_bytes, p->literals, p->literal_bytes);
    p->data_bytes = p->literal_bytes = 0;
    return ok;
}

static bool asm_put(g_parser_t *p, const char *text, uint32_t n)
{
    while (p->asm_cap < p->asm_bytes + n) {
        if (p->asm_bytes + n > G_PARAMS_MAX || !g_grow(&p->asm_text, p->asm_cap, &p->asm_cap, 1)) {
            tw_text_error(p->t, NULL, "assembler text too long");
            return false;
        }
    }
    memcpy(p->asm_text + p->asm_bytes, text, n);
    p->asm_bytes += n;
    return true;
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
    const bool assembled = tw_asm(p->asm_text != NULL ? p->asm_text : "", p->asm_bytes, out);
    for (unsigned i = 0; i < out->n_diags; i++) {
        const tw_asm_diag_t *d = &out->diags[i];
        tw_diag(p->m->diags, d->warning, p->asm_at.file, d->line > 0 ? p->asm_at.line + d->line - 1 : p->asm_at.line, d->col,
                "%s", d->text);
    }
    if (!assembled && out->n_diags == 0) {
        g_error(p->m, &p->block, "the assembler refused the text");
    }
    const bool ok = assembled && store(p, out->code, out->code_bytes, out->pool, out->pool_bytes);
    free(out);
    p->asm_bytes = p->asm_lines = 0;
    return ok;
}
