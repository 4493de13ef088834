/* graphc_parse_trace.c - the debug trace: which nodes are traced, how much, and to which IO. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

bool g_read_trace_io(g_parser_t *p)
{
    return g_take_u32(p, "IO index", 0, G_IOS_MAX - 1, &p->m->control.trace_io);
}

bool g_read_trace_level(g_parser_t *p)
{
    p->has_level = true;
    return g_take_u32(p, "graph_trace_level", 0, 3, &p->m->control.trace_level);
}

/* path instance; the instance may have a '#' before it. */
bool g_trace_row(g_parser_t *p)
{
    tw_tok_t path, inst;
    int64_t v;
    if (!g_take_word(p, "a node", &path) || !g_take_word(p, "an instance", &inst)) {
        return false;
    }
    const bool hash = inst.p[0] == '#';
    const tw_tok_t number = {.p = inst.p + hash, .n = inst.n - hash, .col = inst.col + hash};
    if (!tw_tok_int(&number, &v) || v < 0 || v > 0xFFFF) {
        return g_fail(p, &inst, "expected an instance, 0..65535");
    }
    if (p->n_traces >= G_NODES_MAX) {
        tw_text_error(p->t, &path, "more than %u nodes to trace", G_NODES_MAX);
        return false;
    }
    if (p->n_traces >= p->cap_traces && !g_grow(&p->traces, p->n_traces, &p->cap_traces, sizeof *p->traces)) {
        return g_fail(p, &path, "out of memory");
    }
    p->traces[p->n_traces++] = (g_trace_t){.pos = g_here(p, &path), .path = {path.p, path.n}, .inst = (uint32_t)v};
    return true;
}

bool g_read_trace_node(g_parser_t *p)
{
    if (g_more(p)) {
        return g_trace_row(p);
    }
    g_start(p, IN_TOP);
    p->lines = LINES_TRACE;
    return true;
}

/* ---- what they mean -------------------------------------------------------------- */

/* "./front/eq/amplifier": sub-graphs one inside the other, then a type. */
static uint32_t find_traced(const g_parser_t *p, const g_trace_t *t)
{
    const char *at = t->path.p, *end = at + t->path.n;
    uint32_t scope = 0;
    for (;;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const g_slice_t part = {at, (uint32_t)((slash != NULL ? slash : end) - at)};
        if (slash == NULL) {
            return g_find_node(p->m, scope, &part, t->inst);
        }
        if (!(part.n == 1 && part.p[0] == '.')) {
            scope = g_find_subgraph(p, scope, &part);
        }
        if (scope == G_NONE) {
            return G_NONE;
        }
        at = slash + 1;
    }
}

static void trace(const g_parser_t *p, g_node_t *n)
{
    const g_control_t *c = &p->m->control;
    if (!n->trace_given && c->trace_io != G_NONE) {
        n->trace = (uint8_t)c->trace_io;
    }
    if (!n->verbose_given) {
        n->verbose = (uint8_t)c->trace_level;
    }
}

void g_apply_trace(g_parser_t *p)
{
    g_model_t *m = p->m;
    if (p->n_traces > 0 && !p->has_level) {
        m->control.trace_level = 1;
    }
    for (uint32_t i = 0; i < p->n_traces; i++) {
        const g_trace_t *t = &p->traces[i];
        const uint32_t node = find_traced(p, t);
        if (node == G_NONE) {
            g_error(m, &t->pos, "there is no node %.*s %u to trace", (int)t->path.n, t->path.p, t->inst);
            continue;
        }
        trace(p, &m->nodes[node]);
    }
    for (uint32_t i = 0; p->n_traces == 0 && i < m->n_nodes; i++) {
        trace(p, &m->nodes[i]);
    }
}
