/* graphc_lookup.c - numbers and names of the texts to indexes of the model, when all was read. Knows no tag. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <stdio.h>

/* "formats declared in it: 0, 1", the first of them. */
static void note_declared(g_model_t *m, const g_pos_t *pos, const char *what, const uint32_t *table)
{
    enum { FIRST = 128 }; /* every table has so many */
    char list[64] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < FIRST && n + 12 < sizeof list; i++) {
        n += table[i] != G_NONE ? (size_t)snprintf(list + n, sizeof list - n, "%s%u", n > 0 ? ", " : "", i) : 0;
    }
    const g_pos_t file = {.file = pos->file};
    if (n > 0) {
        g_note(m, &file, "%ss declared in it: %s%s", what, list, n + 12 < sizeof list ? "" : " ..");
    }
}

static uint32_t index_of(g_model_t *m, const g_pos_t *pos, const char *what, const uint32_t *table, uint32_t id)
{
    if (table[id] == G_NONE) {
        g_error(m, pos, "%s %u is not declared", what, id);
        note_declared(m, pos, what, table);
    }
    return table[id];
}

/* A format that is missing was reported: index 0 then stands for it. */
static uint32_t format_index(g_model_t *m, const g_local_t *l, const g_pos_t *pos, uint32_t id)
{
    const uint32_t i = index_of(m, pos, "format", l->format_of, id);
    return i != G_NONE ? i : 0;
}

static bool declared(const g_model_t *m, const g_local_t *l, const g_slice_t *type)
{
    for (uint32_t i = l->first_node; i < l->end_node; i++) {
        if (m->nodes[i].type.n == type->n && memcmp(m->nodes[i].type.p, type->p, type->n) == 0) {
            return true;
        }
    }
    return false;
}

/* What the scope has that is nearest to the node an arc names, a type or a sub-graph, or NULL. */
static const char *nearest_node(const g_parser_t *p, uint32_t scope, const g_slice_t *type, char *to, size_t size)
{
    enum { MOST = 64 };
    const g_model_t *m = p->m;
    const g_local_t *l = &p->locals[scope];
    char names[MOST][64];
    const char *rows[MOST];
    size_t count = 0;
    for (uint32_t i = scope + 1; i < m->n_scopes && count < MOST / 2; i++) {
        const tw_tok_t tok = {.p = p->locals[i].name.p, .n = p->locals[i].name.n};
        rows[count] = names[count];
        count += m->scopes[i].parent == scope && tw_tok_copy(&tok, names[count], sizeof names[0]);
    }
    for (uint32_t i = l->first_node; i < l->end_node && count < MOST; i++) {
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

uint32_t g_find_subgraph(const g_parser_t *p, uint32_t scope, const g_slice_t *name)
{
    for (uint32_t i = scope + 1; i < p->m->n_scopes; i++) {
        const g_slice_t *n = &p->locals[i].name;
        if (p->m->scopes[i].parent == scope && n->n == name->n && memcmp(n->p, name->p, n->n) == 0) {
            return i;
        }
    }
    return G_NONE;
}

/* The end is an interface of a sub-graph. */
static void look_up_interface(g_parser_t *p, g_end_t *e, uint32_t sub)
{
    g_model_t *m = p->m;
    const g_local_t *l = &p->locals[sub];
    if (e->inst != 0) {
        g_error(m, &e->pos, "%s is a sub-graph, its instance is 0", m->scopes[sub].name);
    } else if (e->port == 0 || e->port > l->n_ios) {
        g_error(m, &e->pos, "sub-graph %s has interfaces 1..%u, not %u", m->scopes[sub].name, l->n_ios, e->port);
    } else if (l->ios[e->port - 1] != G_NONE) {
        g_error(m, &e->pos, "interface %u of %s is number %u of this graph's IOs: its list says so, not -1", e->port,
                m->scopes[sub].name, l->ios[e->port - 1]);
    } else {
        e->node = G_SUB;
        e->slot = sub;
        return;
    }
    g_note(m, &l->ios_pos, "its list of interfaces is given here");
}

/* Another instance of the type, which is then no misspelling. */
static void note_instance(g_model_t *m, const g_local_t *l, const g_slice_t *type)
{
    for (uint32_t i = l->first_node; i < l->end_node; i++) {
        const g_node_t *n = &m->nodes[i];
        if (n->type.n == type->n && memcmp(n->type.p, type->p, type->n) == 0) {
            g_note(m, &n->pos, "%.*s %u is declared here", (int)type->n, type->p, n->inst);
            return;
        }
    }
}

/* Is that spelling a node of this instance whose type the platform lacks? Resolve reports it at its declaration. */
static bool misspelt_there(const g_model_t *m, const g_local_t *l, const char *near, uint32_t inst)
{
    const size_t n = strlen(near);
    if (m->platform == NULL || g_find_type(m, near, n) != NULL) {
        return false;
    }
    for (uint32_t i = l->first_node; i < l->end_node; i++) {
        const g_node_t *x = &m->nodes[i];
        if (x->inst == inst && x->type.n == n && memcmp(x->type.p, near, n) == 0) {
            return true;
        }
    }
    return false;
}

static void look_up_end(g_parser_t *p, uint32_t scope, g_end_t *e)
{
    g_model_t *m = p->m;
    const g_local_t *l = &p->locals[scope];
    e->format = format_index(m, l, &e->pos, e->format);
    e->node = g_find_node(m, scope, &e->type, e->inst);
    if (e->node != G_NONE) {
        return;
    }
    const uint32_t sub = g_find_subgraph(p, scope, &e->type);
    if (sub != G_NONE) {
        look_up_interface(p, e, sub);
        return;
    }
    char near[64];
    const bool shown = m->diags->n < TW_COUNT(m->diags->rows); /* else it is only counted */
    const bool known =
        !shown || declared(m, l, &e->type) || nearest_node(p, scope, &e->type, near, sizeof near) == NULL;
    if (!known && misspelt_there(m, l, near, e->inst)) {
        return;
    }
    g_error(m, &e->pos, "node %.*s %u is not declared%s%s%s", (int)e->type.n, e->type.p, e->inst,
            known ? "" : ", did you mean '", known ? "" : near, known ? "" : "'?");
    if (shown) {
        note_instance(m, l, &e->type);
    }
}

/* In a sub-graph the number is that of an interface, which joining the scopes replaces. */
static void look_up_io(g_parser_t *p, uint32_t scope, g_arc_t *a, g_end_t *edge)
{
    g_model_t *m = p->m;
    const g_local_t *l = &p->locals[scope];
    const bool said = edge->pos.line > 0;
    const uint32_t format = said ? format_index(m, l, &edge->pos, edge->format) : 0;
    edge->node = G_IO;
    edge->format = 0;
    if (scope == 0) {
        a->io = index_of(m, &a->pos, "stream_io", l->io_of, a->io);
        edge->format = a->io != G_NONE ? m->ios[a->io].format : 0;
        if (said && a->io != G_NONE && format != edge->format) {
            g_warn(m, &edge->pos, "the format of the IO's end is that of its stream_io_format, not this one");
            g_note(m, &m->ios[a->io].pos, "the IO is declared here");
        }
    } else if (a->io == 0 || a->io > l->n_ios) {
        g_error(m, &a->pos, "interface %u: those of sub-graph %s are 1..%u", a->io, m->scopes[scope].name, l->n_ios);
        g_note(m, &l->ios_pos, "its list of interfaces is given here");
    }
}

/* A pointer per channel is no stream that could be copied: only who sets a buffer hands them on. */
static void check_pointers(g_model_t *m, uint32_t scope, const g_arc_t *a)
{
    const g_end_t *const ends[] = {&a->from, &a->to};
    const bool edge = (a->kind == G_ARC_IN || a->kind == G_ARC_OUT) && (a->set_buffer || scope > 0);
    for (size_t i = 0; i < TW_COUNT(ends) && m->n_formats > 0; i++) {
        const g_end_t *e = ends[i];
        if (m->formats[e->format].interleave == 2 && !edge && e->node != G_SUB) {
            g_error(m, e->pos.line > 0 ? &e->pos : &a->pos,
                    "format_interleaving 2 is for IOs that set the buffer, and for sub-graphs");
        }
    }
}

static void look_up_arc(g_parser_t *p, uint32_t scope, g_arc_t *a)
{
    g_end_t *edge = a->kind == G_ARC_IN || a->kind == G_ARC_CONSTANT ? &a->from : a->kind == G_ARC_OUT ? &a->to : NULL;
    if (edge != &a->from) {
        look_up_end(p, scope, &a->from);
    }
    if (edge != &a->to) {
        look_up_end(p, scope, &a->to);
    }
    /* no port receives and transmits: from a port to itself is the node's lock, by its name */
    a->lock = edge == NULL && a->from.node != G_NONE && a->from.node == a->to.node && a->from.port == a->to.port;
    if (a->kind == G_ARC_CONSTANT) {
        a->from.format = a->to.format; /* as the text's number was found */
    } else if (edge != NULL) {
        look_up_io(p, scope, a, edge);
    }
    check_pointers(p->m, scope, a);
    if (a->script != G_NONE) {
        a->script = index_of(p->m, &a->pos, "script", p->locals[scope].script_of, a->script);
    }
}

/* Shared scripts take the places their numbers say, since code calls them by number. */
static void check_numbers(g_model_t *m, const g_local_t *l)
{
    uint32_t shared = 0;
    for (uint32_t i = l->first_script; i < l->end_script; i++) {
        shared += m->scripts[i].id != G_NONE;
        if (!m->scripts[i].has_code) {
            g_error(m, &m->scripts[i].pos, "script without script_code, script_assembler or script_source");
        }
    }
    for (uint32_t i = l->first_script; i < l->end_script; i++) {
        const g_script_t *s = &m->scripts[i];
        if (s->id != G_NONE && s->id >= shared) {
            g_error(m, &s->pos, "script %u, but the shared scripts are %u, numbered from 0 without gaps", s->id,
                    shared);
            break;
        }
    }
    m->n_shared += shared;
}

/* The list of a sub-graph names IOs of the graph, or interfaces of the sub-graph it stands in. */
static void look_up_list(g_parser_t *p, uint32_t sub)
{
    g_model_t *m = p->m;
    g_local_t *l = &p->locals[sub];
    const uint32_t parent = m->scopes[sub].parent;
    for (uint32_t i = 0; i < l->n_ios; i++) {
        uint32_t *io = &l->ios[i];
        if (*io == G_NONE) {
            continue;
        }
        if (parent == 0) {
            *io = index_of(m, &l->ios_pos, "stream_io", p->locals[0].io_of, *io);
        } else if (*io == 0 || *io > p->locals[parent].n_ios) {
            g_error(m, &l->ios_pos, "interface %u: those of sub-graph %s are 1..%u", *io, m->scopes[parent].name,
                    p->locals[parent].n_ios);
        }
    }
}

/* IO that a number of the scope's text means; an interface is followed up to it. */
static uint32_t trace_io(g_parser_t *p, uint32_t scope, const g_pos_t *pos, uint32_t io)
{
    g_model_t *m = p->m;
    for (; scope > 0; scope = m->scopes[scope].parent) {
        const g_local_t *l = &p->locals[scope];
        if (io == 0 || io > l->n_ios || l->ios[io - 1] == G_NONE) {
            g_error(m, pos, "interface %u of sub-graph %s is no IO of the graph", io, m->scopes[scope].name);
            return 0;
        }
        io = l->ios[io - 1];
        if (m->scopes[scope].parent == 0) {
            return io;
        }
    }
    const uint32_t i = io == 0 && m->n_ios == 0 ? 0 : index_of(m, pos, "stream_io", p->locals[0].io_of, io);
    return i != G_NONE ? i : 0;
}

static void look_up_node(g_parser_t *p, uint32_t scope, g_node_t *n)
{
    if (n->script != G_NONE) {
        n->script = index_of(p->m, &n->script_pos, "script", p->locals[scope].script_of, n->script);
    }
    if (n->trace_given) {
        n->trace = (uint8_t)trace_io(p, scope, &n->trace_pos, n->trace);
    }
}

static void look_up_scope(g_parser_t *p, uint32_t scope)
{
    g_model_t *m = p->m;
    const g_local_t *l = &p->locals[scope];
    check_numbers(m, l);
    for (uint32_t i = l->first_node; i < l->end_node; i++) {
        look_up_node(p, scope, &m->nodes[i]);
    }
    for (uint32_t i = l->first_arc; i < l->end_arc; i++) {
        look_up_arc(p, scope, &m->arcs[i]);
    }
}

void g_look_up(g_parser_t *p)
{
    g_model_t *m = p->m;
    for (uint32_t i = 0; i < m->n_ios; i++) {
        m->ios[i].format = (uint8_t)format_index(m, &p->locals[0], &m->ios[i].pos, m->ios[i].format);
    }
    if (m->control.trace_io != G_NONE) {
        m->control.trace_io = trace_io(p, 0, &m->scopes[0].pos, m->control.trace_io);
    }
    for (uint32_t i = 1; i < m->n_scopes; i++) {
        look_up_list(p, i);
    }
    for (uint32_t i = 0; i < m->n_scopes; i++) {
        look_up_scope(p, i);
    }
}
