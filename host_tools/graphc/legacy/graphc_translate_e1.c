/* graphc_translate_e1.c - positional texts of Dec 2023 to Feb 2024: blocks of rows, closed by _end_ or by the next one.
 *
 *   top_header            location, script calls, processors
 *   paths, format, top_graph_interface    rows, after their number or not
 *   node                  name instance; preset and placement; VIDs; parameters
 *   arc                   formats and attributes, producer, consumer
 *
 * A row is as many numbers as its block knows; what follows is comment. graphc_translate_e1_node.c reads nodes. */
#include "host_tools/graphc/legacy/graphc_translate_e1.h"
#include <stdio.h>

bool g_e1_closes(const tw_tok_t *tok)
{
    static const char *const ends[] = {"top_header_end",          "path_end",      "paths_end", "format_end",
                                       "top_graph_interface_end", "arc_end",       "arcs_end",  "subgraph_end",
                                       "parameter_end",           "parameters_end"};
    return tw_tok_is_end(tok) || g_is_one_of(tok, ends, TW_COUNT(ends));
}

/* Ends of arcs also begin with graph_interface: then numbers follow. */
static bool opens(const tw_text_t *t, const tw_tok_t *tok)
{
    static const char *const words[] = {"graph",    "top_header", "paths", "path",  "format", "top_graph_interface",
                                        "subgraph", "node",       "arc",   "_END_", "END"};
    tw_text_t ahead = *t;
    tw_tok_t next;
    (void)tw_text_tok(&ahead, &next);
    return g_is_one_of(tok, words, TW_COUNT(words)) ||
           (tw_tok_is(tok, "graph_interface") && !tw_text_peek(&ahead, &next));
}

bool g_e1_row(g_e1_t *e, tw_tok_t *tok)
{
    if (!g_next_line(e->x)) {
        return false;
    }
    (void)tw_text_peek(&e->x->t, tok);
    e->again = opens(&e->x->t, tok);
    return !e->again && !g_e1_closes(tok);
}

unsigned g_e1_numbers(g_e1_t *e, double *v, unsigned least, unsigned most, const char *what)
{
    tw_tok_t tok;
    for (unsigned i = 0; i < most; i++) {
        v[i] = 0;
    }
    const unsigned n = g_numbers(e->x, v, most);
    if (n < least) {
        (void)tw_text_peek(&e->x->t, &tok);
        tw_text_error(&e->x->t, &tok, "expected %s: at least %u numbers, found %u", what, least, n);
        return 0;
    }
    return n;
}

static bool is_marked(const g_e1_t *e)
{
    tw_tok_t tok;
    return tw_text_peek(&e->x->t, &tok) && (tw_tok_is(&tok, "S") || tw_tok_is(&tok, "X"));
}

/* The number of rows before them: it has fewer numbers than a row, comment included, and is not needed. */
static bool is_count(const g_e1_t *e, unsigned row_numbers)
{
    tw_text_t ahead = e->x->t;
    tw_tok_t tok;
    double v;
    unsigned n = 0;
    while (tw_text_tok(&ahead, &tok) && tw_tok_num(&tok, &v)) {
        n++;
    }
    return !is_marked(e) && n > 0 && n < row_numbers;
}

/* ---- sections ----------------------------------------------------------------------------- */

static void header_rows(g_e1_t *e)
{
    double v[4];
    char rest[512];
    tw_tok_t tok;
    while (g_e1_row(e, &tok)) {
        const unsigned n = g_e1_numbers(e, v, 3, 4, "location, script calls and processors");
        if (n == 0) {
            return;
        }
        tw_text_t ahead = e->x->t;
        /* of four numbers the older texts had the flat bank second, and closed the block by its name */
        const bool flat =
            n == 4 && tw_text_line(&ahead) && tw_text_peek(&ahead, &tok) && tw_tok_is(&tok, "top_header_end");
        e->has_code_vid = n == 4 && !flat;
        e->has_set |= e->has_code_vid;
        g_put(e->x, "graph_location %.0f%s", v[0], g_rest(e->x, rest, sizeof rest));
        g_put(e->x, "debug_script_fields %.0f", v[flat ? 2 : 1]);
        g_put(e->x, "allowed_processors %.0f", v[flat ? 3 : 2] > 0 ? v[flat ? 3 : 2] : 1);
    }
}

static void path_rows(g_e1_t *e)
{
    char rest[512];
    unsigned i = 0;
    tw_tok_t tok;
    while (g_e1_row(e, &tok)) {
        double v;
        if (i == 0 && tw_tok_num(&tok, &v)) {
            continue;
        }
        (void)tw_text_tok(&e->x->t, &tok);
        g_put(e->x, "set_file_path %u %.*s%s", i++, (int)tok.n, tok.p, g_rest(e->x, rest, sizeof rest));
    }
}

static void format_row(g_e1_t *e)
{
    double v[8];
    char rest[512];
    const unsigned n = g_e1_numbers(e, v, 5, 8,
                                    "a format: index, frame, raw type, channels, rate, time stamp, "
                                    "interleaving, specific word");
    if (n == 0) {
        return;
    }
    g_put(e->x, "format %.0f%s", v[0], g_rest(e->x, rest, sizeof rest));
    g_put(e->x, "format_frame_length %.0f", v[1]);
    g_put(e->x, "format_raw_data %.0f", v[2]);
    if (v[3] > 1) {
        tw_text_warn(&e->x->t, NULL, "the frame of format %.0f is taken as the bytes of all %.0f channels", v[0], v[3]);
    }
    g_put(e->x, "format_nbchan %.0f", v[3] > 0 ? v[3] : 1);
    if (v[4] > 0) {
        g_put(e->x, "format_sampling_rate %.10g", v[4]);
    }
    if (v[5] > 0) {
        g_put(e->x, "format_time_stamp %.0f", v[5]);
    }
    if (v[6] > 0) {
        g_put(e->x, "format_interleaving %.0f", v[6]);
    }
    if (v[7] > 0) {
        tw_text_warn(&e->x->t, NULL, "the specific word %.0f of format %.0f has no counterpart, kept as a comment",
                     v[7], v[0]);
        g_put(e->x, "; specific word %.0f", v[7]);
    }
}

static void format_rows(g_e1_t *e)
{
    tw_tok_t tok;
    for (bool first = true; g_e1_row(e, &tok); first = false) {
        if (!first || !is_count(e, 5)) {
            format_row(e);
        }
    }
}

/* index, format, hwid, setting, VID; an S or X before them. */
static void interface_row(g_e1_t *e)
{
    double v[5];
    char rest[512];
    tw_tok_t tok;
    if (is_marked(e)) {
        (void)tw_text_tok(&e->x->t, &tok);
    }
    const unsigned n = g_e1_numbers(e, v, 2, 5, "an interface: index, format, IO of the platform, setting, VID");
    (void)g_rest(e->x, rest, sizeof rest);
    if (n == 0) {
        return;
    }
    if (e->is_sub) {
        g_put(e->x, "; interface %.0f has format %.0f%s", v[0] + 1, v[1], rest);
        return;
    }
    if (v[0] >= 0 && v[0] < 256 && (e->io_used[(unsigned)v[0] / 8] >> ((unsigned)v[0] % 8) & 1) == 0) {
        tw_text_warn(&e->x->t, NULL, "no arc connects interface %.0f with a node, it is kept as a comment", v[0]);
        g_put(e->x, "; interface %.0f, format %.0f, IO %.0f%s", v[0], v[1], v[2], rest);
        return;
    }
    g_put(e->x, "stream_io %.0f%s", v[0], rest);
    g_put(e->x, "stream_io_format %.0f", v[1]);
    g_put(e->x, "stream_io_hwid %.0f", v[2]);
    if (v[3] > 0) {
        g_put(e->x, "stream_io_setting1 %.0f", v[3]);
    }
    if (v[4] > 0) {
        tw_text_warn(&e->x->t, NULL, "bank %.0f of the buffer of interface %.0f has no counterpart", v[4], v[0]);
        g_put(e->x, "; buffer in VID %.0f", v[4]);
    }
}

static void interface_rows(g_e1_t *e)
{
    tw_tok_t tok;
    for (bool first = true; g_e1_row(e, &tok); first = false) {
        if (!first || is_marked(e)) { /* before rows without a mark stands their number */
            interface_row(e);
        }
    }
}

/* ---- sub-graphs ----------------------------------------------------------------------------- */

/* IOs at the ports of a sub-graph: the arcs tell them, which stand behind it. */
static unsigned sub_ports(const g_e1_t *e, const g_slice_t *name, uint32_t *io)
{
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_links; i++) {
        const g_e1_link_t *l = &e->links[i];
        if (l->name.n == name->n && memcmp(l->name.p, name->p, name->n) == 0 && l->port < G_E1_LINKS) {
            io[l->port] = l->io;
            n = tw_max_u32(n, l->port + 1);
        }
    }
    return n;
}

static void put_subgraph(g_e1_t *e, unsigned line, const g_slice_t *name, unsigned path, const g_slice_t *file)
{
    uint32_t io[G_E1_LINKS] = {0};
    char list[G_E1_LINKS * 8] = "";
    size_t used = 0;
    const unsigned n = sub_ports(e, name, io);
    for (unsigned i = 0; i < n; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, " %u", io[i] & 0xFFFFu);
    }
    g_put_at(e->x, line, "subgraph");
    g_put_at(e->x, line, "%.*s", (int)name->n, name->p);
    g_put_at(e->x, line, "%u %.*s", path, (int)file->n, file->p);
    if (n > 0) {
        g_put_at(e->x, line, "%u i16;%s", n, list);
    }
    g_put_at(e->x, line, "_end_");
}

static void subgraph(g_e1_t *e)
{
    const unsigned line = e->x->t.line;
    g_slice_t file = {0}, name = {0};
    unsigned path = 0;
    double v[4];
    tw_tok_t tok;
    while (g_e1_row(e, &tok)) {
        if (file.n == 0 && g_numbers(e->x, v, 1) == 1 && tw_text_tok(&e->x->t, &tok)) {
            path = v[0] >= 0 && v[0] < 16 ? (unsigned)v[0] : 0;
            file = (g_slice_t){tok.p, tok.n};
        } else if (file.n > 0 && name.n == 0 && !tw_tok_num(&tok, v)) {
            name = (g_slice_t){tok.p, tok.n};
        } else if (g_numbers(e->x, v, 4) > 0 && (v[0] > 0 || v[1] > 0)) {
            tw_text_warn(&e->x->t, NULL, "preset and placement of a sub-graph have no counterpart");
        }
    }
    if (name.n == 0 || file.n == 0) {
        tw_diag(e->x->t.diags, false, e->x->t.file, line, 0, "expected a sub-graph: path and file, then its name");
        return;
    }
    put_subgraph(e, line, &name, path, &file);
}

/* ---- arcs ------------------------------------------------------------------------------------- */

typedef struct arc {
    unsigned line;
    double format[2]; /* of the producer, of the consumer */
    double over, under, cmd, reg, flush, extend, vid, factor;
    char rest[512];
    g_slice_t row; /* as written */
} arc_t;

typedef struct end {
    g_slice_t name;
    double n[2]; /* instance and port; of an interface: index and set or copy */
    bool is_io;
} end_t;

/* Where the size factor stands tells the two orders apart; arcs with an index before them have eleven numbers. */
static bool take_attributes(g_e1_t *e, arc_t *a)
{
    double v[11];
    tw_tok_t tok;
    if (is_marked(e)) {
        (void)tw_text_tok(&e->x->t, &tok);
    }
    tw_text_t ahead = e->x->t;
    unsigned point = 0, i = 0;
    for (double x; tw_text_tok(&ahead, &tok) && tw_tok_num(&tok, &x); i++) {
        point = memchr(tok.p, '.', tok.n) != NULL ? i : point;
    }
    const unsigned n = g_e1_numbers(e, v, 2, 11, "an arc: format of the producer, of the consumer, attributes");
    const double *w = n == 11 ? v + 1 : v;
    const bool early = n >= 10 && point == (n == 11 ? 4u : 3u);
    *a = (arc_t){.line = e->x->t.line,
                 .format = {w[0], w[1]},
                 .factor = 1,
                 .row = {e->x->t.bol, (uint32_t)(e->x->t.p - e->x->t.bol)}};
    if (n >= 10) {
        const double *flow = early ? w + 4 : w + 2;
        a->over = flow[0];
        a->under = flow[1];
        a->cmd = flow[2];
        a->reg = flow[3];
        a->flush = flow[4];
        a->extend = flow[5];
        a->vid = early ? w[2] : w[8];
        a->factor = early ? w[3] : w[9];
    }
    return n > 0;
}

static bool take_end(g_e1_t *e, end_t *end)
{
    tw_tok_t tok;
    if (!g_e1_row(e, &tok)) {
        tw_text_error(&e->x->t, NULL, "expected the end of an arc: node, instance, port");
        return false;
    }
    (void)tw_text_tok(&e->x->t, &tok);
    end->name = (g_slice_t){tok.p, tok.n};
    end->is_io = tw_tok_is(&tok, "_graph_interface") || tw_tok_is(&tok, "graph_interface");
    return g_e1_numbers(e, end->n, 2, 2, "instance and port") == 2;
}

static bool is_sub(const g_e1_t *e, const end_t *end)
{
    for (unsigned i = 0; i < e->n_links; i++) {
        if (e->links[i].name.n == end->name.n && memcmp(e->links[i].name.p, end->name.p, end->name.n) == 0) {
            return true;
        }
    }
    return false;
}

static void put_attributes(g_e1_t *e, const arc_t *a)
{
    const struct {
        const char *tag;
        double v;
    } rows[] = {{"arc_debug_cmd", a->cmd},
                {"arc_debug_reg", a->reg},
                {"arc_flush", a->flush},
                {"arc_extend_addr", a->extend},
                {"arc_map_hwblock", a->vid}};
    if (a->under > 0 || a->over > 0) {
        g_put_at(e->x, a->line, "arc_flow_error %.0f %.0f", a->under, a->over);
    }
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (rows[i].v > 0) {
            g_put_at(e->x, a->line, "%s %.0f", rows[i].tag, rows[i].v);
        }
    }
    if (a->factor > 0 && a->factor != 1) {
        g_put_at(e->x, a->line, "arc_jitter_ctrl %.10g", a->factor);
    }
}

/* The end of a graph's interface, and the node's. `set` is what the interface says of its buffer. */
static void put_io_arc(g_e1_t *e, const arc_t *a, const end_t *io, const end_t *node, bool input)
{
    const double io_format = a->format[input ? 0 : 1], node_format = a->format[input ? 1 : 0];
    const bool set = io->n[1] == 0 && e->has_set;
    char other[64] = "";
    if (set || io_format != node_format) {
        (void)snprintf(other, sizeof other, " %d %.0f", !set, io_format);
    }
    g_put(e->x, "%s %.0f %.*s %.0f %.0f %.0f%s%s", input ? "arc_input" : "arc_output", io->n[0] + e->is_sub,
          (int)node->name.n, node->name.p, node->n[0], node->n[1], node_format, other, a->rest);
}

static void put_lost_arc(g_e1_t *e, const arc_t *a, const end_t *from, const end_t *to)
{
    const end_t *who = is_sub(e, from) || g_e1_is_script(&from->name) ? from : to;
    const bool sub_only = is_sub(e, who) && (from->is_io || to->is_io);
    if (!sub_only) { /* an arc between a sub-graph and an IO is in the sub-graph's list */
        tw_diag(e->x->t.diags, true, e->x->t.file, a->line, 0, "an arc of %.*s has no counterpart, kept as a comment",
                (int)who->name.n, who->name.p);
    }
    g_put_at(e->x, a->line, "; %.*s", (int)a->row.n, a->row.p);
    g_put(e->x, "; arc from %.*s %.0f %.0f to %.*s %.0f %.0f", (int)from->name.n, from->name.p, from->n[0], from->n[1],
          (int)to->name.n, to->name.p, to->n[0], to->n[1]);
}

static void put_arc(g_e1_t *e, const arc_t *a, const end_t *from, const end_t *to)
{
    const end_t *script = g_e1_is_script(&from->name) ? from : g_e1_is_script(&to->name) ? to : NULL;
    if (script != NULL || is_sub(e, from) || is_sub(e, to) || (from->is_io && to->is_io)) {
        put_lost_arc(e, a, from, to);
        return;
    }
    if (from->is_io || to->is_io) {
        put_io_arc(e, a, from->is_io ? from : to, from->is_io ? to : from, from->is_io);
    } else {
        g_put(e->x, "arc %.*s %.0f %.0f %.0f %.*s %.0f %.0f %.0f%s", (int)from->name.n, from->name.p, from->n[0],
              from->n[1], a->format[0], (int)to->name.n, to->name.p, to->n[0], to->n[1], a->format[1], a->rest);
    }
    put_attributes(e, a);
}

static void arc_rows(g_e1_t *e)
{
    tw_tok_t tok;
    for (bool first = true; g_e1_row(e, &tok); first = false) {
        arc_t a;
        end_t from, to;
        if (first && is_count(e, 10)) {
            continue;
        }
        if (!take_attributes(e, &a) || !take_end(e, &from)) {
            return;
        }
        (void)g_rest(e->x, a.rest, sizeof a.rest);
        if (!take_end(e, &to)) {
            return;
        }
        put_arc(e, &a, &from, &to);
    }
}

/* ---- the text ----------------------------------------------------------------------------------- */

/* A line of the look ahead: its first word and two numbers. */
typedef struct glance {
    tw_tok_t word;
    int64_t n[2];
    bool is_end; /* has both numbers, so it may be an end of an arc */
    bool is_io;
} glance_t;

static glance_t glance(tw_text_t *t)
{
    glance_t g = {0};
    tw_tok_t tok;
    double v;
    (void)tw_text_tok(t, &g.word);
    g.is_end = !tw_tok_num(&g.word, &v) && tw_text_tok(t, &tok) && tw_tok_int(&tok, &g.n[0]) && tw_text_tok(t, &tok) &&
               tw_tok_int(&tok, &g.n[1]) && g.n[0] >= 0 && g.n[0] < 256 && g.n[1] >= 0 && g.n[1] < G_E1_LINKS;
    g.is_io = g.is_end && (tw_tok_is(&g.word, "_graph_interface") || tw_tok_is(&g.word, "graph_interface"));
    return g;
}

static void link(g_e1_t *e, const glance_t *io, const glance_t *node)
{
    const g_slice_t name = {node->word.p, node->word.n};
    if (!io->is_io || !node->is_end || node->is_io || g_e1_is_script(&name)) {
        return;
    }
    e->io_used[io->n[0] / 8] |= (uint8_t)(1u << (io->n[0] % 8));
    if (e->n_links < G_E1_LINKS) {
        e->links[e->n_links++] = (g_e1_link_t){name, (uint32_t)node->n[1], (uint32_t)io->n[0]};
    }
}

/* Links of nodes that are no sub-graphs are not meant. */
static void keep_links_of(g_e1_t *e, const g_slice_t *subs, unsigned n)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < e->n_links; i++) {
        bool meant = false;
        for (unsigned k = 0; k < n; k++) {
            meant |= subs[k].n == e->links[i].name.n && memcmp(subs[k].p, e->links[i].name.p, subs[k].n) == 0;
        }
        if (meant) {
            e->links[kept++] = e->links[i];
        }
    }
    e->n_links = kept;
    for (unsigned k = 0; k < n && e->n_links < G_E1_LINKS; k++) {
        e->links[e->n_links++] = (g_e1_link_t){subs[k], G_E1_LINKS, 0}; /* so that the name is known without a link */
    }
}

/* What must be known before it is read: which IOs the ports of sub-graphs are, and whether this is one. */
static void look_ahead(g_e1_t *e)
{
    tw_text_t t = e->x->t;
    glance_t before = {0};
    g_slice_t subs[8];
    unsigned n_subs = 0;
    bool in_sub = false;
    while (tw_text_line(&t)) {
        const glance_t g = glance(&t);
        double v;
        e->is_sub |= tw_tok_is(&g.word, "graph_interface") && !g.is_end;
        e->has_set |= tw_tok_is(&g.word, "S") || tw_tok_is(&g.word, "X");
        if (in_sub && !tw_tok_num(&g.word, &v) && !g_e1_closes(&g.word) && n_subs < TW_COUNT(subs)) {
            subs[n_subs++] = (g_slice_t){g.word.p, g.word.n};
            in_sub = false;
        }
        in_sub = (in_sub || tw_tok_is(&g.word, "subgraph")) && !g_e1_closes(&g.word);
        link(e, &before, &g);
        link(e, &g, &before);
        before = g;
    }
    keep_links_of(e, subs, n_subs);
}

static void section(g_e1_t *e, const tw_tok_t *tok)
{
    if (tw_tok_is(tok, "top_header")) {
        header_rows(e);
    } else if (tw_tok_is(tok, "paths") || tw_tok_is(tok, "path")) {
        path_rows(e);
    } else if (tw_tok_is(tok, "format")) {
        format_rows(e);
    } else if (tw_tok_is(tok, "top_graph_interface") || tw_tok_is(tok, "graph_interface")) {
        interface_rows(e);
    } else if (tw_tok_is(tok, "subgraph")) {
        subgraph(e);
    } else if (tw_tok_is(tok, "node")) {
        g_e1_node(e);
    } else if (tw_tok_is(tok, "arc")) {
        arc_rows(e);
    } else if (!tw_tok_is(tok, "graph") && !g_e1_closes(tok)) {
        g_put_line(e->x); /* the reader of our language says what it thinks of it */
    }
}

bool g_translate_e1(g_trans_t *x)
{
    g_e1_t e = {.x = x};
    tw_tok_t tok;
    look_ahead(&e);
    while (e.again || g_next_line(x)) {
        e.again = false;
        (void)tw_text_peek(&x->t, &tok);
        if (tw_tok_is(&tok, "_END_") || tw_tok_is(&tok, "END")) {
            break;
        }
        section(&e, &tok);
    }
    g_e1_fill_scripts(&e);
    return true;
}
