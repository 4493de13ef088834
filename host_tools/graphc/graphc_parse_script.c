/* graphc_parse_script.c - tags of scripts, shared or a node's own; their code is read by graphc_script.c. */
#include "host_tools/graphc/graphc_parse_priv.h"

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

static bool open_code(g_parser_t *p, g_lines_t lines)
{
    g_start(p, p->in);
    p->lines = lines;
    p->data_bytes = p->n_literals = p->asm_bytes = p->asm_lines = 0;
    p->literal_bytes = p->has_pool ? p->literal_bytes : 0;
    return g_script_here(p) != NULL;
}

/* The pool as the image has it, for code whose literals were not laid out by script_code. */
bool g_read_script_pool(g_parser_t *p)
{
    p->has_pool = false;
    return open_code(p, LINES_POOL);
}

bool g_read_script_code(g_parser_t *p)
{
    return open_code(p, LINES_CODE);
}

bool g_read_script_assembler(g_parser_t *p)
{
    p->has_pool = false;
    return open_code(p, LINES_ASM);
}

bool g_read_script_map(g_parser_t *p)
{
    g_script_t *s = g_script_here(p);
    return s != NULL && g_take_vid(p, "VID", &s->vid);
}
