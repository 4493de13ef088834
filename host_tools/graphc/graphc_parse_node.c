/* graphc_parse_node.c - tags of nodes, their memory and their boot parameters. */
#include "host_tools/graphc/graphc_parse_priv.h"
#include <stdlib.h>

static bool read_node_header(g_parser_t *p)
{
    g_model_t *m = p->m;
    tw_tok_t tok;
    uint32_t inst;
    if (!g_take_word(p, "a node type", &tok)) {
        return false;
    }
    const g_pos_t pos = g_here(p, &tok);
    if (!g_take_u32(p, "instance", 0, 0xFFFF, &inst)) {
        return false;
    }
    const g_slice_t type = {tok.p, tok.n};
    const uint32_t old = g_find_node(m, p->scope, &type, inst);
    if (old != G_NONE) {
        tw_text_error(p->t, &tok, "node %.*s %u is declared twice", (int)tok.n, tok.p, inst);
        g_note(m, &m->nodes[old].pos, "first declared here");
        return false;
    }
    if (m->n_nodes >= G_NODES_MAX) {
        tw_text_error(p->t, &tok, "more than %u nodes", G_NODES_MAX);
        return false;
    }
    if (m->n_nodes >= m->cap_nodes && !g_grow(&m->nodes, m->cap_nodes, &m->cap_nodes, sizeof *m->nodes)) {
        return g_fail(p, &tok, "out of memory");
    }
    g_node_t *n = &m->nodes[m->n_nodes++];
    *n = (g_node_t){.pos = pos, .type = type, .inst = inst, .scope = p->scope, .script = G_NONE, .own_script = G_NONE};
    for (unsigned i = 0; i < TW_COUNT(n->arcs); i++) {
        n->arcs[i] = G_NONE;
    }
    return g_enter_node(m, m->n_nodes - 1) || g_fail(p, &tok, "out of memory");
}

bool g_open_node(g_parser_t *p)
{
    const uint32_t before = p->m->n_nodes;
    const bool ok = read_node_header(p);
    p->lines = LINES_TAGS;
    p->in = p->m->n_nodes > before ? IN_NODE : IN_TOP;
    if (p->in == IN_TOP) {
        p->lines = LINES_IGNORED; /* its tags would only repeat the error */
    }
    return ok;
}

bool g_read_node(g_parser_t *p)
{
    g_start(p, IN_NODE);
    p->script = G_NONE;
    if (!g_more(p)) {
        p->in = IN_TOP;
        p->lines = LINES_NODE_NAME;
        return true;
    }
    return g_open_node(p);
}

g_node_t *g_node_here(g_parser_t *p)
{
    return &p->m->nodes[p->m->n_nodes - 1];
}

bool g_read_node_name(g_parser_t *p)
{
    tw_tok_t tok;
    char name[TW_SYMBOL_MAX + 1];
    if (!g_take_symbol(p, &tok) || !tw_tok_copy(&tok, name, sizeof name)) {
        return false;
    }
    g_mangle(g_node_here(p)->name, p->m->scopes[p->scope].name, name);
    return true;
}

static bool take_block(g_parser_t *p, uint32_t *block)
{
    g_node_t *n = g_node_here(p);
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    if (!g_take_u32(p, "memory block", 0, (int64_t)TW_COUNT(n->vid) - 1, block)) {
        return false;
    }
    if (*block + 1 > n->blocks_named) {
        n->blocks_named = *block + 1;
        n->blocks_pos = g_here(p, &at);
    }
    return true;
}

bool g_read_malloc_e(g_parser_t *p)
{
    uint32_t e, block = 0;
    if (!g_take_u32(p, "bytes", 0, 0x7FFFFFFF, &e) || (g_more(p) && !take_block(p, &block))) {
        return false;
    }
    g_node_here(p)->e[block] = e;
    return true;
}

bool g_read_map_hwblock(g_parser_t *p)
{
    uint32_t block;
    uint8_t vid;
    if (!take_block(p, &block) || !g_take_vid(p, "VID", &vid)) {
        return false;
    }
    g_node_here(p)->vid[block] = vid;
    g_node_here(p)->vid_given |= (uint8_t)(1u << block);
    return true;
}

bool g_read_map_refused(g_parser_t *p)
{
    return g_fail(p, NULL,
                  "copied and swapped memory is refused in this version: place the block with node_map_hwblock");
}

bool g_read_node_script(g_parser_t *p)
{
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    g_node_here(p)->script_pos = g_here(p, &at);
    return g_take_script_id(p, &g_node_here(p)->script);
}

bool g_read_parameters(g_parser_t *p)
{
    g_start(p, p->in);
    p->lines = LINES_DATA;
    p->has_tag = false;
    if (p->in == IN_SCRIPT) {
        p->lines = LINES_IGNORED;
        return g_fail(p, NULL, "parameters of a script: write them as literals of script_code or of the assembler");
    }
    g_node_t *n = g_node_here(p);
    if (n->has_params) {
        p->lines = LINES_IGNORED;
        return g_fail(p, NULL, "a node has one block of boot parameters");
    }
    n->has_params = true;
    n->params_pos = p->block;
    n->params_at = p->m->n_params = tw_round_up(p->m->n_params, 8);
    return true;
}

bool g_data_line(g_parser_t *p)
{
    g_model_t *m = p->m;
    g_node_t *n = g_node_here(p);
    uint32_t used = n->params_at + n->params_bytes;
    if (!p->has_tag) {
        uint8_t *first = NULL;
        uint32_t bytes = 0, cap = 0;
        const bool ok = g_take_data(p, &first, &bytes, &cap) != NULL;
        /* the TAG byte selects the parameter and is not part of its value */
        n->tag = ok && first[0] != 0 ? first[0] : 256;
        p->has_tag = true;
        while (ok && m->cap_params < used + bytes) {
            if (!g_grow(&m->params, m->cap_params, &m->cap_params, 1)) {
                break;
            }
        }
        if (ok && m->cap_params >= used + bytes && bytes > 1) {
            memcpy(m->params + used, first + 1, bytes - 1);
            used += bytes - 1;
        }
        free(first);
        n->params_bytes = used - n->params_at;
        m->n_params = used;
        return ok;
    }
    const bool ok = g_take_data(p, &m->params, &used, &m->cap_params) != NULL;
    n->params_bytes = used - n->params_at;
    m->n_params = used;
    return ok;
}
