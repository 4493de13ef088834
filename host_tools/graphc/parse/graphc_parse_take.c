/* graphc_parse_take.c - tokens of a graph line with their errors: numbers, words, symbols. Knows no tag. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

g_pos_t g_here(const g_parser_t *p, const tw_tok_t *tok)
{
    return (g_pos_t){p->t->file, p->t->line, tw_text_col(p->t, tok)};
}

/* At a token, or at the line's tag. */
bool g_fail(g_parser_t *p, const tw_tok_t *tok, const char *what)
{
    tw_text_error(p->t, tok != NULL ? tok : &p->tag, "%s", what);
    return false;
}

bool g_take_u32(g_parser_t *p, const char *what, int64_t lo, int64_t hi, uint32_t *v)
{
    int64_t got;
    if (!tw_take_int(p->t, what, lo, hi, &got)) {
        return false;
    }
    *v = (uint32_t)got;
    return true;
}

bool g_take_word(g_parser_t *p, const char *what, tw_tok_t *tok)
{
    if (!tw_text_tok(p->t, tok)) {
        tw_text_error(p->t, tok, "expected %s", what);
        return false;
    }
    return true;
}

/* Symbols travel in 31 bytes and are typed by people. */
bool g_take_symbol(g_parser_t *p, tw_tok_t *tok)
{
    if (!g_take_word(p, "a name", tok)) {
        return false;
    }
    for (uint32_t i = 0; i < tok->n; i++) {
        const char c = tok->p[i];
        const bool ok = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
                        c == '.' || c == '/' || c == '-';
        if (!ok) {
            tw_text_error(p->t, tok, "'%c' is in no name: those have A-Z a-z 0-9 _ . / -", c);
            return false;
        }
    }
    if (tok->n > TW_SYMBOL_MAX) {
        tw_text_error(p->t, tok, "a name of %u characters: they have at most %u", tok->n, TW_SYMBOL_MAX);
        return false;
    }
    return true;
}

bool g_more_number(const g_parser_t *p)
{
    tw_tok_t tok;
    double v;
    return tw_text_peek(p->t, &tok) && tw_tok_num(&tok, &v);
}

bool g_more(const g_parser_t *p)
{
    tw_tok_t tok;
    return tw_text_peek(p->t, &tok);
}

/* Bits of the image hold the id + 1 in 7 bits, so 127 of the seed text does not fit. */
bool g_take_script_id(g_parser_t *p, uint32_t *id)
{
    int64_t v;
    if (!tw_take_int(p->t, "script", -1, (int64_t)G_SCRIPTS_MAX - 1, &v)) {
        return false;
    }
    *id = v < 0 ? G_NONE : (uint32_t)v;
    return true;
}
