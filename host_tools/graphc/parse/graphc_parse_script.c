/* graphc_parse_script.c - tags of scripts, shared or a node's own; their code is read by graphc_script.c. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

#define SCRIPT_DATA_MAX 65536u /* lines: the pool has no more bytes */

static g_script_t *add_script(g_parser_t *p, uint32_t id, uint32_t owner)
{
    g_model_t *m = p->m;
    if (m->n_scripts >= G_SCRIPTS_MAX) {
        tw_text_error(p->t, NULL, "more than %u scripts", G_SCRIPTS_MAX);
        return NULL;
    }
    if (m->n_scripts >= m->cap_scripts && !g_grow(&m->scripts, m->cap_scripts, &m->cap_scripts, sizeof *m->scripts)) {
        (void)g_fail(p, NULL, "out of memory");
        return NULL;
    }
    p->script = m->n_scripts;
    g_script_t *s = &m->scripts[m->n_scripts++];
    *s = (g_script_t){.pos = p->block, .id = id, .node = owner, .scope = p->scope, .regs = 2, .ptrs = 2};
    return s;
}

g_script_t *g_script_here(g_parser_t *p)
{
    if (p->in == IN_NODE && g_node_here(p)->own_script != G_NONE) {
        p->script = g_node_here(p)->own_script;
    }
    if (p->script != G_NONE) {
        return &p->m->scripts[p->script];
    }
    g_script_t *s = add_script(p, G_NONE, p->m->n_nodes - 1);
    if (s != NULL) {
        g_node_here(p)->own_script = p->script;
    }
    return s;
}

bool g_read_script(g_parser_t *p)
{
    uint32_t id;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    g_start(p, IN_TOP);
    p->lines = LINES_IGNORED;
    if (!g_take_u32(p, "script", 0, G_SCRIPTS_MAX - 1, &id)) {
        return false;
    }
    uint32_t *known = &g_local_here(p)->script_of[id];
    if (*known != G_NONE) {
        tw_text_error(p->t, &at, "script %u is declared twice", id);
        g_note(p->m, &p->m->scripts[*known].pos, "first declared here");
        return false;
    }
    if (add_script(p, id, G_NONE) == NULL) {
        return false;
    }
    *known = p->script;
    p->in = IN_SCRIPT;
    p->lines = LINES_TAGS;
    return true;
}

bool g_read_script_name(g_parser_t *p)
{
    g_script_t *s = g_script_here(p);
    tw_tok_t tok;
    if (s == NULL || !g_take_symbol(p, &tok)) {
        return false;
    }
    s->name = (g_slice_t){tok.p, tok.n};
    return true;
}

bool g_read_script_minimum(g_parser_t *p)
{
    g_script_t *s = g_script_here(p);
    uint32_t v;
    if (s == NULL || !g_take_u32(p, "script_minimum", 0, 1, &v)) {
        return false;
    }
    s->regs = v ? 2 : s->regs;
    s->ptrs = v ? 1 : s->ptrs;
    return true;
}

static bool open_code(g_parser_t *p, g_lines_t lines, g_code_t code)
{
    g_start(p, p->in);
    p->lines = lines;
    if (g_script_here(p) == NULL) {
        return false;
    }
    if (p->code != CODE_NONE) {
        p->lines = LINES_IGNORED;
        (void)g_fail(p, NULL, "the script has code already");
        g_note(p->m, &p->code_at, "here");
        return false;
    }
    p->code = code;
    p->code_at = p->block;
    return true;
}

/* The pool as the image has it, for code whose literals were not laid out by script_code. */
bool g_read_script_pool(g_parser_t *p)
{
    g_start(p, p->in);
    p->lines = LINES_POOL;
    p->literal_bytes = 0;
    p->has_pool = false;
    if (p->code != CODE_NONE) {
        p->lines = LINES_IGNORED;
        return g_fail(p, NULL, "script_pool stands before script_code");
    }
    return g_script_here(p) != NULL;
}

bool g_read_script_code(g_parser_t *p)
{
    return open_code(p, LINES_CODE, CODE_WORDS);
}

bool g_read_script_assembler(g_parser_t *p)
{
    return open_code(p, LINES_ASM, CODE_ASM);
}

bool g_read_script_source(g_parser_t *p)
{
    return open_code(p, LINES_SOURCE, CODE_SOURCE);
}

/* ---- node_parameters of a script ------------------------------------------------------- */

/* "<ID2>", "ID2", "#70", "70" */
static bool take_label(g_parser_t *p, g_slice_t *label)
{
    tw_tok_t tok;
    int64_t k;
    *label = (g_slice_t){0};
    if (!tw_text_tok(p->t, &tok)) {
        return true;
    }
    const bool angled = tok.n > 2 && tok.p[0] == '<' && tok.p[tok.n - 1] == '>';
    const bool hash = tok.n > 1 && tok.p[0] == '#';
    const tw_tok_t word = {.p = tok.p + (angled || hash), .n = tok.n - (angled ? 2 : hash), .col = tok.col};
    *label = (g_slice_t){word.p, word.n};
    if (tw_tok_int(&word, &k)) {
        return (k >= 0 && k <= 127) || g_fail(p, &tok, "labels are 0..127, or names");
    }
    for (uint32_t i = 0; i < word.n; i++) {
        const char c = word.p[i];
        const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if ((!letter && (i == 0 || c < '0' || c > '9')) || word.n > TW_SYMBOL_MAX) {
            return g_fail(p, &tok, "a label is a number 0..127, or a name of 1..31 letters, digits and _");
        }
    }
    return true;
}

bool g_script_data_open(g_parser_t *p)
{
    p->lines = LINES_SCRIPT;
    p->has_tag = false;
    if (g_script_here(p) == NULL || !take_label(p, &p->script_label)) {
        p->lines = LINES_IGNORED;
        return false;
    }
    return true;
}

/* A block of the label of the one before goes on with it: the language's own example has that. */
static bool begins_block(const g_parser_t *p)
{
    const g_slice_t *l = &p->script_label;
    const g_script_data_t *last = p->n_script_data > 0 ? &p->script_data[p->n_script_data - 1] : NULL;
    const bool same = last != NULL && l->n > 0 && l->n == last->label.n && memcmp(l->p, last->label.p, l->n) == 0;
    return !p->has_tag && !same;
}

bool g_script_data_line(g_parser_t *p)
{
    tw_tok_t tok;
    (void)tw_text_peek(p->t, &tok);
    g_script_data_t d = {
        .pos = g_here(p, &tok), .label = p->script_label, .first = begins_block(p), .at = p->script_data_bytes};
    p->has_tag = true;
    const char *type = g_take_data(p, &p->script_bytes, &p->script_data_bytes, &p->cap_script_bytes);
    if (type == NULL) {
        return false;
    }
    if (p->n_script_data >= SCRIPT_DATA_MAX) {
        tw_text_error(p->t, &tok, "more than %u lines of data for a script", SCRIPT_DATA_MAX);
        return false;
    }
    if (p->n_script_data >= p->cap_script_data &&
        !g_grow(&p->script_data, p->n_script_data, &p->cap_script_data, sizeof *p->script_data)) {
        return g_fail(p, &tok, "out of memory");
    }
    g_data_type(type, &d.type, &d.size);
    d.bytes = p->script_data_bytes - d.at;
    p->script_data[p->n_script_data++] = d;
    return true;
}

bool g_read_script_map(g_parser_t *p)
{
    g_script_t *s = g_script_here(p);
    return s != NULL && g_take_vid(p, "VID", &s->vid);
}
