/* graphc_scope.c - the graph and its sub-graphs: what is local to each one's text, its banks, names and formats. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <stdio.h>
#include <stdlib.h>

g_local_t *g_local_here(g_parser_t *p)
{
    return &p->locals[p->scope];
}

uint32_t g_add_scope(g_parser_t *p, uint32_t parent, uint32_t text, const g_pos_t *pos)
{
    g_model_t *m = p->m;
    const uint32_t n = m->n_scopes;
    if (n >= G_SCOPES_MAX) {
        g_error(m, pos, "more than %u sub-graphs in all, those of sub-graphs counted", G_SCOPES_MAX - 1);
        return G_NONE;
    }
    const size_t size = strlen(m->names[text]) + 1;
    char *file = malloc(size); /* one for each use, so that diagnostics tell them apart */
    if (file == NULL || (n >= m->cap_scopes && !g_grow(&m->scopes, n, &m->cap_scopes, sizeof *m->scopes)) ||
        (n >= p->cap_locals && !g_grow(&p->locals, n, &p->cap_locals, sizeof *p->locals))) {
        g_error(m, pos, "out of memory");
        free(file);
        return G_NONE;
    }
    memcpy(file, m->names[text], size);
    g_local_t *l = &p->locals[n];
    *l = (g_local_t){.text = text, .name = p->sub_name, .ios_pos = *pos, .vids_pos = *pos};
    memset(l->format_of, 0xFF, sizeof l->format_of);
    memset(l->io_of, 0xFF, sizeof l->io_of);
    memset(l->script_of, 0xFF, sizeof l->script_of);
    g_scope_t *s = &m->scopes[m->n_scopes++];
    *s = (g_scope_t){.pos = *pos, .parent = parent, .file = file};
    if (n > 0) {
        char name[TW_SYMBOL_MAX + 1];
        snprintf(name, sizeof name, "%.*s", (int)l->name.n, l->name.p);
        s->depth = m->scopes[parent].depth + 1;
        g_mangle(s->name, m->scopes[parent].name, name);
        tw_diag_origin(m->diags, file, pos->file, pos->line, pos->col, "in the sub-graph %s", s->name);
    }
    return n;
}

bool g_take_name_here(g_parser_t *p, char *to)
{
    tw_tok_t tok;
    char name[TW_SYMBOL_MAX + 1];
    if (!g_take_symbol(p, &tok) || !tw_tok_copy(&tok, name, sizeof name)) {
        return false;
    }
    g_mangle(to, p->m->scopes[p->scope].name, name);
    return true;
}

bool g_vid_here(g_parser_t *p, const tw_tok_t *at, uint32_t v, uint8_t *vid)
{
    const g_local_t *l = g_local_here(p);
    if (p->scope > 0 && v > l->n_vids) {
        tw_text_error(p->t, at, "VID %u, but sub-graph %s has %u", v, p->m->scopes[p->scope].name, l->n_vids);
        g_note(p->m, &l->vids_pos, "its list of VIDs is given here");
        return false;
    }
    *vid = p->scope > 0 && v > 0 ? l->vids[v - 1] : (uint8_t)v;
    return true;
}

bool g_take_vid(g_parser_t *p, const char *what, uint8_t *vid)
{
    tw_tok_t at;
    uint32_t v;
    (void)tw_text_peek(p->t, &at);
    return g_take_u32(p, what, 0, 254, &v) && g_vid_here(p, &at, v, vid);
}

/* ---- formats of a sub-graph that the model has already ---------------------------- */

static bool same_format(const g_format_t *a, const g_format_t *b)
{
    return a->frame_bytes == b->frame_bytes && a->mapping == b->mapping && a->border == b->border &&
           a->height == b->height && a->width == b->width && a->raw == b->raw && a->interleave == b->interleave &&
           a->channels == b->channels && a->ts == b->ts && a->ts_size == b->ts_size && a->unit == b->unit &&
           a->domain == b->domain && a->rate == b->rate;
}

/* The image has room for few formats, and a sub-graph used often brings the same ones each time. */
static void share_formats(g_model_t *m, g_local_t *l)
{
    uint32_t n = l->first_format;
    for (uint32_t i = l->first_format; i < m->n_formats; i++) {
        const g_format_t f = m->formats[i];
        uint32_t at = 0;
        while (at < n && !same_format(&m->formats[at], &f)) {
            at++;
        }
        if (at == n) {
            m->formats[n++] = f;
        }
        l->format_of[f.id] = at;
    }
    m->n_formats = n;
}

/* Of a text with later tags and no word on its numbering, every numeric raw type is doubtful. */
static void doubt_raw_codes(g_model_t *m, const g_local_t *l)
{
    for (uint32_t i = l->first_format; i < m->n_formats && l->later && l->dialect == 0; i++) {
        const g_format_t *f = &m->formats[i];
        if (f->raw_pos.line > 0) {
            g_warn(m, &f->raw_pos,
                   "raw type %u is taken as %s, but texts with graph_locations number otherwise: write the name, or "
                   "graph_dialect 2024 or 2025",
                   f->raw, tw_raw_name(f->raw));
        }
    }
}

void g_close_scope(g_parser_t *p)
{
    g_model_t *m = p->m;
    g_local_t *l = g_local_here(p);
    doubt_raw_codes(m, l);
    if (p->scope > 0) {
        share_formats(m, l);
    }
    if (m->n_formats > G_FORMATS_MAX) {
        g_error(m, &m->scopes[p->scope].pos, "more than %u formats in all", G_FORMATS_MAX);
    }
    l->end_node = m->n_nodes;
    l->end_arc = m->n_arcs;
    l->end_script = m->n_scripts;
}
