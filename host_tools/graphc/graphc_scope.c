/* graphc_scope.c - numbers of the text to indexes of the model, when all of a text was read. Knows no tag. */
#include "host_tools/graphc/graphc_parse_priv.h"
#include <stdlib.h>

static uint32_t index_of(g_model_t *m, const g_pos_t *pos, const char *what, const uint32_t *table, uint32_t id)
{
    if (table[id] == G_NONE) {
        g_error(m, pos, "%s %u is not declared", what, id);
    }
    return table[id];
}

/* A format that is missing was reported: index 0 then stands for it. */
static uint32_t format_index(g_model_t *m, const g_pos_t *pos, uint32_t id)
{
    const uint32_t i = index_of(m, pos, "format", m->format_of, id);
    return i != G_NONE ? i : 0;
}

static void look_up_ios(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_ios; i++) {
        m->ios[i].format = (uint8_t)format_index(m, &m->ios[i].pos, m->ios[i].format);
    }
}

static void look_up_nodes(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *n = &m->nodes[i];
        if (n->script != G_NONE) {
            n->script = index_of(m, &n->script_pos, "script", m->script_of, n->script);
        }
    }
}

/* ---- arcs ----------------------------------------------------------------------- */

static bool declared(const g_model_t *m, const g_slice_t *type)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].type.n == type->n && memcmp(m->nodes[i].type.p, type->p, type->n) == 0) {
            return true;
        }
    }
    return false;
}

/* Type of the text's nodes nearest to the one an arc names, or NULL. */
static const char *nearest_node(const g_model_t *m, const g_slice_t *type, char *to, size_t size)
{
    enum { MOST = 64 };
    char names[MOST][64];
    const char *rows[MOST];
    size_t count = 0;
    for (uint32_t i = 0; i < m->n_nodes && count < MOST; i++) {
        const tw_tok_t tok = {.p = m->nodes[i].type.p, .n = m->nodes[i].type.n};
        rows[count] = names[count];
        count += tw_tok_copy(&tok, names[count], sizeof names[0]);
    }
    const tw_tok_t tok = {.p = type->p, .n = type->n};
    const char *near = tw_nearest(&tok, rows, count, sizeof rows[0]);
    if (near == NULL || strlen(near) >= size) {
        return NULL;
    }
    memcpy(to, near, strlen(near) + 1);
    return to;
}

static void look_up_end(g_model_t *m, g_end_t *e)
{
    e->node = g_find_node(m, e->type.p, e->type.n, e->inst);
    e->format = format_index(m, &e->pos, e->format);
    if (e->node == G_NONE) {
        char near[64];
        const bool known = declared(m, &e->type) || nearest_node(m, &e->type, near, sizeof near) == NULL;
        g_error(m, &e->pos, "node %.*s %u is not declared%s%s%s", (int)e->type.n, e->type.p, e->inst,
                known ? "" : ", did you mean '", known ? "" : near, known ? "" : "'?");
    }
}

static void look_up_arc(g_model_t *m, g_arc_t *a)
{
    g_end_t *edge = a->kind == G_ARC_IN ? &a->from : a->kind == G_ARC_OUT ? &a->to : NULL;
    if (edge != &a->from) {
        look_up_end(m, &a->from);
    }
    if (edge != &a->to) {
        look_up_end(m, &a->to);
    }
    /* no port receives and transmits: from a port to itself is the node's lock, by its name */
    a->lock = edge == NULL && a->from.node != G_NONE && a->from.node == a->to.node && a->from.port == a->to.port;
    if (edge != NULL) {
        a->io = index_of(m, &a->pos, "stream_io", m->io_of, a->io);
        edge->node = G_IO;
        edge->format = a->io != G_NONE ? m->ios[a->io].format : 0;
    }
    if (a->script != G_NONE) {
        a->script = index_of(m, &a->pos, "script", m->script_of, a->script);
    }
}

/* ---- scripts ----------------------------------------------------------------------- */

/* Shared scripts take the places their numbers say, since code calls them by number; nodes' own follow. */
static void order_scripts(g_model_t *m)
{
    uint32_t shared = 0;
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        shared += m->scripts[i].id != G_NONE;
        if (!m->scripts[i].has_code) {
            g_error(m, &m->scripts[i].pos, "script without script_code or script_assembler");
        }
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        if (s->id != G_NONE && s->id >= shared) {
            g_error(m, &s->pos, "script %u, but there are %u shared scripts: they are numbered from 0 without gaps",
                    s->id, shared);
            return;
        }
    }
    g_script_t *sorted = calloc(m->n_scripts > 0 ? m->n_scripts : 1, sizeof *sorted);
    if (sorted == NULL) {
        tw_diag(m->diags, false, NULL, 0, 0, "out of memory");
        return;
    }
    uint32_t own = shared;
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        const uint32_t to = s->id != G_NONE ? s->id : own++;
        sorted[to] = *s;
        if (s->id != G_NONE) {
            m->script_of[s->id] = to;
        } else {
            m->nodes[s->node].own_script = to;
        }
    }
    free(m->scripts);
    m->scripts = sorted;
    m->cap_scripts = m->n_scripts;
}

void g_end_scope(g_parser_t *p)
{
    g_model_t *m = p->m;
    order_scripts(m);
    look_up_ios(m);
    look_up_nodes(m);
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        look_up_arc(m, &m->arcs[i]);
    }
}
