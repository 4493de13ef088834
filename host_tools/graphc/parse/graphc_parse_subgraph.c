/* graphc_parse_subgraph.c - the `subgraph` block: name, file, and what its interfaces and banks are to the parent.
 *
 *     subgraph eq_left 0 eq.txt        subgraph
 *         2 i16; 0 -1                      eq_left
 *         1 i16; 3                         0 eq.txt
 *     _end_                                0 -1
 *                                          3
 *                                      _endgraph_
 */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

/* ---- its line, or its first two ------------------------------------------------ */

static bool same_name(const g_slice_t *a, const g_slice_t *b)
{
    return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

static bool take_name(g_parser_t *p)
{
    tw_tok_t tok;
    if (!g_take_symbol(p, &tok)) {
        return false;
    }
    p->sub_name = (g_slice_t){tok.p, tok.n};
    p->sub_pos = g_here(p, &tok);
    for (uint32_t i = p->scope + 1; i < p->m->n_scopes; i++) {
        if (p->m->scopes[i].parent == p->scope && same_name(&p->locals[i].name, &p->sub_name)) {
            tw_text_error(p->t, &tok, "sub-graph %.*s is declared twice", (int)tok.n, tok.p);
            g_note(p->m, &p->m->scopes[i].pos, "first declared here");
            return false;
        }
    }
    return true;
}

/* Who uses whom, from the file that would be used again to the one that uses it. */
static void note_chain(g_parser_t *p, uint32_t text)
{
    const g_model_t *m = p->m;
    for (uint32_t s = p->scope; p->locals[s].text != text; s = m->scopes[s].parent) {
        g_note(p->m, &m->scopes[s].pos, "'%s' is used here, as %s", m->scopes[s].file, m->scopes[s].name);
    }
}

static bool uses_itself(g_parser_t *p, uint32_t text, const tw_tok_t *tok)
{
    for (uint32_t s = p->scope;; s = p->m->scopes[s].parent) {
        if (p->locals[s].text == text) {
            tw_text_error(p->t, tok, "'%s' would be a sub-graph of itself", p->m->names[text]);
            note_chain(p, text);
            return true;
        }
        if (s == 0) {
            return false;
        }
    }
}

static bool take_file(g_parser_t *p)
{
    tw_tok_t tok;
    const uint32_t text = g_take_file(p, &tok);
    if (text == G_NONE || (!p->m->syntax_only && uses_itself(p, text, &tok))) {
        return false;
    }
    if (p->m->scopes[p->scope].depth >= G_SCOPE_DEPTH) {
        tw_text_error(p->t, &tok, "more than %u sub-graphs inside one another", G_SCOPE_DEPTH);
        return false;
    }
    p->sub = g_add_scope(p, p->scope, text, &p->sub_pos);
    return p->sub != G_NONE;
}

bool g_read_subgraph(g_parser_t *p)
{
    g_start(p, IN_TOP);
    p->lines = LINES_IGNORED;
    p->sub = G_NONE;
    p->sub_lines = 0;
    if (g_more(p)) {
        p->sub_lines = 2;
        if (!take_name(p) || !take_file(p)) {
            return false;
        }
    }
    p->lines = LINES_SUBGRAPH;
    return true;
}

/* ---- its lists ------------------------------------------------------------------- */

/* "N type;" before the values, or nothing and all numbers of the line count. */
static bool take_count(g_parser_t *p, uint32_t *count, bool *counted)
{
    tw_text_t ahead = *p->t;
    tw_tok_t tok;
    int64_t v;
    ahead.canon = NULL;
    (void)tw_text_tok(&ahead, &tok);
    *counted = tw_text_peek(&ahead, &tok) && !tw_tok_int(&tok, &v);
    *count = G_INTERFACES_MAX;
    return !*counted || g_take_count(p, G_INTERFACES_MAX, count);
}

static bool take_interface(g_parser_t *p, g_local_t *l)
{
    int64_t v;
    if (!tw_take_int(p->t, "interface", -1, G_IOS_MAX, &v)) {
        return false;
    }
    l->ios[l->n_ios++] = v < 0 ? G_NONE : (uint32_t)v;
    return true;
}

static bool take_bank(g_parser_t *p, g_local_t *l)
{
    uint8_t vid;
    if (!g_take_vid(p, "VID", &vid)) {
        return false;
    }
    l->vids[l->n_vids++] = vid;
    return true;
}

static bool take_list(g_parser_t *p, bool banks)
{
    g_local_t *l = &p->locals[p->sub];
    uint32_t count;
    bool counted;
    tw_tok_t tok;
    int64_t v;
    if (!take_count(p, &count, &counted)) {
        return false;
    }
    (void)tw_text_peek(p->t, &tok);
    *(banks ? &l->vids_pos : &l->ios_pos) = g_here(p, &tok);
    for (uint32_t i = 0; i < count; i++) {
        if (!counted && !(tw_text_peek(p->t, &tok) && tw_tok_int(&tok, &v))) {
            break;
        }
        if (banks ? !take_bank(p, l) : !take_interface(p, l)) {
            return false;
        }
    }
    tw_text_skip(p->t);
    return true;
}

bool g_subgraph_line(g_parser_t *p)
{
    tw_tok_t tok;
    int64_t v;
    (void)tw_text_peek(p->t, &tok);
    if (p->sub_lines < 2) {
        const bool ok = p->sub_lines == 0 ? take_name(p) : take_file(p);
        p->sub_lines++;
        p->lines = ok ? LINES_SUBGRAPH : LINES_IGNORED;
        return ok;
    }
    if (p->sub_lines < 4 && tw_tok_int(&tok, &v)) {
        return take_list(p, p->sub_lines++ == 3);
    }
    tw_text_error(p->t, &tok, "expected %s, found '%.*s'",
                  p->sub_lines == 2   ? "the list of interfaces or _end_"
                  : p->sub_lines == 3 ? "the list of VIDs or _end_"
                                      : "_end_",
                  (int)tok.n, tok.p);
    return false;
}

bool g_subgraph_end(g_parser_t *p)
{
    p->lines = LINES_TAGS;
    if (p->sub == G_NONE) {
        g_error(p->m, &p->block, "a sub-graph has a name, then a path index and a file");
    }
    return p->sub != G_NONE;
}
