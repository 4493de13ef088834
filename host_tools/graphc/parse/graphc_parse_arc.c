/* graphc_parse_arc.c - tags of arcs. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

static bool take_end(g_parser_t *p, g_end_t *e)
{
    tw_tok_t tok;
    if (!g_take_word(p, "a node", &tok)) {
        return false;
    }
    e->pos = g_here(p, &tok);
    e->type = (g_slice_t){tok.p, tok.n};
    return g_take_u32(p, "instance", 0, 0xFFFF, &e->inst) && g_take_u32(p, "port", 0, G_INTERFACES_MAX, &e->port) &&
           g_take_u32(p, "format index", 0, 255, &e->format);
}

static bool take_quality(g_parser_t *p, g_arc_t *a)
{
    tw_tok_t tok;
    if (tw_text_peek(p->t, &tok) && tw_tok_is(&tok, "H")) {
        (void)tw_text_tok(p->t, &tok);
        a->hqos = true;
    }
    if (tw_text_peek(p->t, &tok)) {
        tw_text_warn(p->t, &tok, "'%.*s' after the arc is taken as a comment", (int)tok.n, tok.p);
    }
    return true;
}

static bool add_arc(g_parser_t *p, const g_arc_t *a)
{
    g_model_t *m = p->m;
    if (m->n_arcs >= G_ARCS_MAX) {
        tw_text_error(p->t, NULL, "more than %u arcs", G_ARCS_MAX);
        return false;
    }
    if (m->n_arcs >= m->cap_arcs && !g_grow(&m->arcs, m->cap_arcs, &m->cap_arcs, sizeof *m->arcs)) {
        return g_fail(p, NULL, "out of memory");
    }
    m->arcs[m->n_arcs++] = *a;
    p->in = IN_ARC;
    return true;
}

static g_arc_t new_arc(g_parser_t *p, g_arc_kind_t kind)
{
    p->in = IN_TOP;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    return (g_arc_t){
        .pos = g_here(p, &at), .kind = kind, .scope = p->scope, .jitter = 1.0, .script = G_NONE, .io = G_NONE};
}

/* io node instance port format [set0copy1 format-of-the-IO] [H] */
static bool take_io_arc(g_parser_t *p, g_arc_kind_t kind)
{
    g_arc_t a = new_arc(p, kind);
    tw_tok_t tok;
    int64_t test;
    uint32_t copy = 1;
    g_end_t *end = kind == G_ARC_IN ? &a.to : &a.from, *edge = kind == G_ARC_IN ? &a.from : &a.to;
    if (!g_take_u32(p, "IO index", 0, 255, &a.io) || !take_end(p, end)) {
        return false;
    }
    if (tw_text_peek(p->t, &tok) && tw_tok_int(&tok, &test)) {
        if (!g_take_u32(p, "set (0) or copy (1)", 0, 1, &copy)) {
            return false;
        }
        (void)tw_text_peek(p->t, &tok);
        edge->pos = g_here(p, &tok);
        if (!g_take_u32(p, "format index", 0, 255, &edge->format)) {
            return false;
        }
    }
    a.set_buffer = copy == 0;
    return take_quality(p, &a) && add_arc(p, &a);
}

bool g_read_arc_input(g_parser_t *p)
{
    return take_io_arc(p, G_ARC_IN);
}

bool g_read_arc_output(g_parser_t *p)
{
    return take_io_arc(p, G_ARC_OUT);
}

bool g_read_arc(g_parser_t *p)
{
    g_arc_t a = new_arc(p, G_ARC_NODES);
    return take_end(p, &a.from) && take_end(p, &a.to) && take_quality(p, &a) && add_arc(p, &a);
}

bool g_read_arc_constant(g_parser_t *p)
{
    g_arc_t a = new_arc(p, G_ARC_CONSTANT);
    if (!take_end(p, &a.to)) {
        return false;
    }
    a.from = (g_end_t){.pos = a.to.pos, .format = a.to.format, .node = G_IO};
    return take_quality(p, &a) && add_arc(p, &a);
}

g_arc_t *g_arc_here(g_parser_t *p)
{
    return &p->m->arcs[p->m->n_arcs - 1];
}

bool g_read_flow_error(g_parser_t *p)
{
    uint32_t u, o;
    if (!g_take_u32(p, "underflow", 0, 3, &u)) {
        return false;
    }
    g_arc_here(p)->by_domain = false;
    if (g_more_number(p)) {
        if (!g_take_u32(p, "overflow", 0, 3, &o)) {
            return false;
        }
        g_arc_here(p)->underflow = (uint8_t)u;
        g_arc_here(p)->overflow = (uint8_t)o;
        return true;
    }
    g_arc_here(p)->by_domain = u == 1;
    return u <= 1 || g_fail(p, NULL, "one value is 0 or 1 (by domain); two are underflow and overflow, 0..3");
}

bool g_read_crumbs(g_parser_t *p)
{
    uint32_t in, out;
    if (!g_take_u32(p, "crumb in", 0, 3, &in) || !g_take_u32(p, "crumb out", 0, 3, &out)) {
        return false;
    }
    g_arc_here(p)->crumb_in = (uint8_t)in;
    g_arc_here(p)->crumb_out = (uint8_t)out;
    g_arc_here(p)->crumbs = true;
    return true;
}

bool g_read_extend_addr(g_parser_t *p)
{
    uint32_t v;
    if (!g_take_u32(p, "arc_extend_addr", 0, 1, &v)) {
        return false;
    }
    tw_text_warn(p->t, &p->tag, "arc_extend_addr has no effect: sizes have 32 bits here");
    return true;
}

bool g_read_arc_script(g_parser_t *p)
{
    return g_take_script_id(p, &g_arc_here(p)->script);
}

bool g_read_arc_map(g_parser_t *p)
{
    g_arc_t *a = g_arc_here(p);
    a->vid_given = true;
    return g_take_vid(p, "VID", &a->vid);
}

bool g_read_no_convert(g_parser_t *p)
{
    g_arc_here(p)->no_convert = true;
    return true;
}
