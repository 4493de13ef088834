/* graphc_join.c - the scopes become one graph: arcs that meet at the edge of a sub-graph, contents of arcs.
 *
 *     graph            arc mic .. eq 0 1 0        arc eq 0 2 0 .. out
 *                               |                      |
 *     sub-graph eq     arc_input 1 filter ..      arc_output 2 filter ..
 *
 * An arc that names an interface goes on as each of the arcs behind that interface, through as many edges as it
 * meets. What its tags leave at the default, those of the inner arc say.
 */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <stdlib.h>

enum { ROOT = 1, MET = 2 }; /* begins at an IO of the graph; is the inner part of another */

typedef struct join {
    g_parser_t *p;
    g_model_t *m;
    uint32_t *base; /* scope to its first interface */
    uint32_t *head; /* interface, 2 each: first arc out of it, into it; arc + 1, 0 none */
    uint32_t *next; /* arc to the next one of its interface */
    uint8_t *is;    /* of each arc: ROOT, MET */
    g_arc_t *out, *todo;
    uint32_t n_out, cap_out, n_todo, cap_todo;
} join_t;

/* ---- which arcs are behind an interface ----------------------------------------------- */

static uint32_t *interface_of(const join_t *j, uint32_t scope, uint32_t number, bool out)
{
    return &j->head[2 * (j->base[scope] + number - 1) + out];
}

/* Where the interface that the arc names ends: at an IO of the graph, or at arcs of a parent. */
static void follow(const join_t *j, uint32_t index)
{
    g_arc_t *a = &j->m->arcs[index];
    uint32_t scope = a->scope, number = a->io;
    while (scope > 0) {
        const uint32_t up = j->p->locals[scope].ios[number - 1];
        if (up == G_NONE) {
            uint32_t *head = interface_of(j, scope, number, a->kind == G_ARC_OUT);
            j->next[index] = *head;
            *head = index + 1;
            return;
        }
        number = up;
        scope = j->m->scopes[scope].parent;
    }
    a->io = number;
    (a->kind == G_ARC_IN ? &a->from : &a->to)->format = j->m->ios[number].format;
    j->is[index] = ROOT;
}

static bool is_inner(const g_arc_t *a)
{
    return a->scope > 0 && (a->kind == G_ARC_IN || a->kind == G_ARC_OUT);
}

static bool open_join(join_t *j)
{
    const g_model_t *m = j->m;
    uint32_t n = 0;
    j->base = calloc(m->n_scopes, sizeof *j->base);
    for (uint32_t i = 0; j->base != NULL && i < m->n_scopes; i++) {
        j->base[i] = n;
        n += j->p->locals[i].n_ios;
    }
    j->head = calloc(2 * (size_t)n + 1, sizeof *j->head);
    j->next = calloc((size_t)m->n_arcs + 1, sizeof *j->next);
    j->is = calloc((size_t)m->n_arcs + 1, sizeof *j->is);
    if (j->base == NULL || j->head == NULL || j->next == NULL || j->is == NULL) {
        return false;
    }
    for (uint32_t i = m->n_arcs; i-- > 0;) {
        if (is_inner(&m->arcs[i])) {
            follow(j, i);
        }
    }
    return true;
}

/* ---- one arc of the two ------------------------------------------------------------------ */

static void check_formats(const join_t *j, const g_end_t *outer, const g_end_t *inner)
{
    const g_format_t *a = &j->m->formats[outer->format], *b = &j->m->formats[inner->format];
    if (a->raw != b->raw || a->channels != b->channels || a->interleave != b->interleave || a->rate != b->rate ||
        a->frame_bytes != b->frame_bytes) {
        g_warn(j->m, &outer->pos, "the format of this interface is not the sub-graph's own, which counts");
        g_note(j->m, &inner->pos, "this one");
    }
}

/* What the inner arc's tags say where those of the outer are at the default. */
static void add_tags(g_arc_t *a, const g_arc_t *inner)
{
    if (!a->by_domain && a->underflow == 0 && a->overflow == 0) {
        a->by_domain = inner->by_domain;
        a->underflow = inner->underflow;
        a->overflow = inner->overflow;
        a->script = inner->script;
    }
    if (a->debug_cmd == 0) {
        a->debug_cmd = inner->debug_cmd;
        a->debug_reg = inner->debug_reg;
        a->debug_page = inner->debug_page;
    }
    if (!a->vid_given) {
        a->vid_given = inner->vid_given;
        a->vid = inner->vid;
    }
    if (!a->crumbs) {
        a->crumbs = inner->crumbs;
        a->crumb_in = inner->crumb_in;
        a->crumb_out = inner->crumb_out;
    }
    if (!a->has_data) {
        a->has_data = inner->has_data;
        a->data_pos = inner->data_pos;
        a->data_at = inner->data_at;
        a->data_bytes = inner->data_bytes;
    }
    if (a->name[0] == 0) {
        memcpy(a->name, inner->name, sizeof a->name);
    }
    a->fill_pattern = a->fill_pattern != 0 ? a->fill_pattern : inner->fill_pattern;
    a->flush = a->flush != 0 ? a->flush : inner->flush;
    a->ring = a->ring != 0 ? a->ring : inner->ring;
    a->delay = a->delay != 0 ? a->delay : inner->delay;
    a->jitter = a->jitter < 1.0 || a->jitter > 1.0 ? a->jitter : inner->jitter;
    a->hqos |= inner->hqos;
    a->no_convert |= inner->no_convert;
    a->set_buffer |= inner->set_buffer;
}

static bool push(g_arc_t **v, uint32_t *n, uint32_t *cap, const g_arc_t *a)
{
    if (*n >= *cap && !g_grow(v, *cap, cap, sizeof **v)) {
        return false;
    }
    (*v)[(*n)++] = *a;
    return true;
}

/* The arc, once for each inner arc behind the interface its end names. */
static bool pass_edge(join_t *j, const g_arc_t *a, bool from)
{
    const g_end_t *e = from ? &a->from : &a->to;
    uint32_t at = *interface_of(j, e->slot, e->port, from);
    if (at == 0) {
        g_error(j->m, &e->pos, "nothing inside sub-graph %s is an %s at its interface %u", j->m->scopes[e->slot].name,
                from ? "output" : "input", e->port);
        return j->m->diags->errors < TW_COUNT(j->m->diags->rows);
    }
    for (; at != 0; at = j->next[at - 1]) {
        const g_arc_t *inner = &j->m->arcs[at - 1];
        g_arc_t both = *a;
        j->is[at - 1] |= MET;
        *(from ? &both.from : &both.to) = from ? inner->from : inner->to;
        check_formats(j, e, from ? &inner->from : &inner->to);
        add_tags(&both, inner);
        if (!push(&j->todo, &j->n_todo, &j->cap_todo, &both)) {
            g_error(j->m, &a->pos, "out of memory");
            return false;
        }
    }
    return true;
}

/* Depth first, so the stack holds no more than the arcs of one interface for each edge passed. */
static bool pass_edges(join_t *j, const g_arc_t *root)
{
    const uint32_t first = j->n_out;
    bool ok = push(&j->todo, &j->n_todo, &j->cap_todo, root);
    while (ok && j->n_todo > 0) {
        const g_arc_t a = j->todo[--j->n_todo];
        if (a.from.node == G_SUB || a.to.node == G_SUB) {
            ok = pass_edge(j, &a, a.from.node == G_SUB);
        } else if (j->n_out >= G_ARCS_MAX) {
            g_error(j->m, &a.pos, "more than %u arcs", G_ARCS_MAX);
            return false;
        } else {
            ok = push(&j->out, &j->n_out, &j->cap_out, &a);
        }
    }
    j->n_todo = 0;
    for (uint32_t i = first, k = j->n_out; i + 1 < k; i++) { /* the stack gave them last first */
        const g_arc_t swap = j->out[i];
        j->out[i] = j->out[--k];
        j->out[k] = swap;
    }
    return ok;
}

static void check_met(const join_t *j)
{
    const g_model_t *m = j->m;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        if (is_inner(a) && j->is[i] == 0) {
            const uint32_t scope = a->scope;
            g_error(j->m, &m->scopes[scope].pos, "no arc names interface %u of sub-graph %s", a->io,
                    m->scopes[scope].name);
            g_note(j->m, &a->pos, "it is connected here");
        }
    }
}

static void join_arcs(join_t *j)
{
    g_model_t *m = j->m;
    const unsigned errors = m->diags->errors;
    bool ok = open_join(j);
    for (uint32_t i = 0; ok && i < m->n_arcs; i++) {
        if (!is_inner(&m->arcs[i]) || j->is[i] == ROOT) {
            ok = pass_edges(j, &m->arcs[i]);
        }
    }
    if (!ok && m->diags->errors == errors) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    }
    if (ok) {
        check_met(j);
        free(m->arcs);
        m->arcs = j->out;
        m->n_arcs = j->n_out;
        m->cap_arcs = j->cap_out;
        j->out = NULL;
    }
    free(j->base);
    free(j->head);
    free(j->next);
    free(j->is);
    free(j->out);
    free(j->todo);
}

/* ---- contents ------------------------------------------------------------------------------ */

static bool all_zero(const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Contents are frames that are there before the first is produced, so they are a delay. */
static void delay_by_contents(g_model_t *m, g_arc_t *a)
{
    const uint32_t frame = m->formats[a->from.format].frame_bytes;
    if (a->kind == G_ARC_CONSTANT) {
        return;
    }
    if (a->data_bytes % frame != 0) {
        g_error(m, &a->data_pos, "%u bytes are no whole number of the producer's frames of %u bytes", a->data_bytes,
                frame);
    } else if (a->delay == 0) {
        a->delay = a->data_bytes / frame;
    } else if (a->data_bytes / frame > a->delay) {
        g_error(m, &a->data_pos, "%u frames, but arc_delay says %u", a->data_bytes / frame, a->delay);
    }
    /* zeros are what a delay is without contents, and every image has one text */
    a->has_data = !all_zero(m->aside + a->data_at, a->data_bytes);
}

void g_join(g_parser_t *p)
{
    g_model_t *m = p->m;
    join_t j = {.p = p, .m = m};
    if (m->n_scopes > 1) { /* else what a flattened text says */
        m->control.subgraphs = m->n_scopes - 1;
        join_arcs(&j);
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        if (m->arcs[i].has_data) {
            delay_by_contents(m, &m->arcs[i]);
        }
    }
    g_join_scripts(p);
}
