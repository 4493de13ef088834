/* graphc_draw.c - a planned model as a picture: the words at its boxes and arrows. Changes nothing. */
#include "host_tools/graphc/draw/graphc_draw.h"
#include "host_tools/graphc/graphc_priv.h"
#include <stdarg.h>
#include <stdio.h>

/* Add to a text of `size` bytes, as far as it goes. */
__attribute__((format(printf, 3, 4))) static void more(char *to, size_t size, const char *fmt, ...)
{
    const size_t used = strlen(to);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(to + used, size - used, fmt, ap);
    va_end(ap);
}

void tw_pic_rate(char *to, size_t size, double hz)
{
    if (hz <= 0) {
        (void)snprintf(to, size, "async");
    } else if (hz >= 1e6) {
        (void)snprintf(to, size, "%g MHz", hz / 1e6);
    } else if (hz >= 1e3) {
        (void)snprintf(to, size, "%g kHz", hz / 1e3);
    } else {
        (void)snprintf(to, size, "%g Hz", hz);
    }
}

static void say_format(char *to, size_t size, const tw_pic_format_t *f)
{
    char rate[24];
    const char *raw = tw_raw_name(f->raw), *domain = tw_domain_text(f->domain), *unit = tw_unit_text(f->unit);
    tw_pic_rate(rate, sizeof rate, f->rate_hz);
    more(to, size, "%s x%u, %s, %s, frame of %u bytes", raw != NULL ? raw : "?", f->channels,
         f->channels == 1 ? "one channel"
         : f->interleave  ? "a block per channel"
                          : "interleaved",
         rate, f->frame_bytes);
    if (f->domain != 0) {
        more(to, size, ", %s", domain != NULL ? domain : "?");
    }
    if (f->unit != 0) {
        more(to, size, ", in %s", unit != NULL ? unit : "?");
    }
}

void tw_pic_arc_words(tw_pic_arc_t *a, const tw_pic_format_t *from, const tw_pic_format_t *to, uint32_t bytes)
{
    char rate[24];
    const char *raw = tw_raw_name(from->raw);
    tw_pic_rate(rate, sizeof rate, from->rate_hz);
    (void)snprintf(a->format, sizeof a->format, "%s x%u %s", raw != NULL ? raw : "?", from->channels, rate);
    a->from_bytes = from->frame_bytes;
    a->to_bytes = to->frame_bytes;
    a->bytes = bytes;
    more(a->tip, sizeof a->tip, "\nproducer: ");
    say_format(a->tip, sizeof a->tip, from);
    more(a->tip, sizeof a->tip, "\nconsumer: ");
    say_format(a->tip, sizeof a->tip, to);
}

static tw_pic_format_t format_of(const g_model_t *m, uint32_t index)
{
    const g_format_t *f = &m->formats[index];
    return (tw_pic_format_t){.frame_bytes = f->frame_bytes,
                             .raw = f->raw,
                             .channels = f->channels,
                             .interleave = f->interleave,
                             .domain = f->domain,
                             .unit = f->unit,
                             .rate_hz = f->rate};
}

/* ---- nodes ------------------------------------------------------------------------------ */

static const char *why_inserted(const g_model_t *m, uint32_t node)
{
    for (uint32_t i = 0; i < m->n_insertions; i++) {
        if (m->insertions[i].node == node) {
            return m->insertions[i].why;
        }
    }
    return "";
}

static void words_of_node(const g_model_t *m, uint32_t i, tw_pic_node_t *to)
{
    const g_node_t *n = &m->nodes[i];
    const char *gap = "";
    if (n->inserted) {
        more(to->words, sizeof to->words, "%s", why_inserted(m, i));
        return;
    }
    if (n->preset != 0) {
        more(to->words, sizeof to->words, "preset %u", n->preset);
        gap = ", ";
    }
    if (n->has_params) {
        more(to->words, sizeof to->words, "%s%u B params", gap, n->params_bytes);
        gap = ", ";
    }
    if (n->own_script != G_NONE || n->script != G_NONE) {
        more(to->words, sizeof to->words, "%s%s", gap, n->own_script != G_NONE ? "own script" : "script");
        gap = ", ";
    }
    if (n->proc != 0) {
        more(to->words, sizeof to->words, "%sprocessor %u", gap, n->proc);
    }
}

static void tip_of_node(const g_model_t *m, const g_node_t *n, tw_pic_node_t *to)
{
    more(to->tip, sizeof to->tip, "%s: %s/%s %u%s", to->name, n->manifest->developer, n->manifest->name, n->inst,
         n->inserted ? ", inserted by the compiler" : "");
    if (to->words[0] != 0) {
        more(to->tip, sizeof to->tip, "\n%s", to->words);
    }
    if (n->script != G_NONE) {
        more(to->tip, sizeof to->tip, "\nscript %s before and after each run", m->scripts[n->script].symbol);
    }
    for (unsigned k = 0; k < n->manifest->n_mem; k++) {
        more(to->tip, sizeof to->tip, "\nblock %u: %u bytes in bank %u at %u", k, n->block_bytes[k], n->block_vid[k],
             n->block_at[k]);
    }
}

static void draw_node(const g_model_t *m, uint32_t i, tw_pic_node_t *to)
{
    const g_node_t *n = &m->nodes[i];
    (void)snprintf(to->name, sizeof to->name, "%s", n->name);
    (void)snprintf(to->type, sizeof to->type, "%s", n->manifest->name);
    to->scope = n->scope;
    to->inserted = n->inserted;
    to->rx = n->rx;
    to->tx = n->tx;
    words_of_node(m, i, to);
    tip_of_node(m, n, to);
}

/* ---- IOs and arcs --------------------------------------------------------------------------- */

static void draw_io(const g_model_t *m, const g_io_t *io, tw_pic_io_t *to)
{
    const tw_pic_format_t f = format_of(m, io->format);
    const char *domain = tw_domain_text(io->manifest->domain);
    (void)snprintf(to->name, sizeof to->name, "%s", io->symbol);
    to->out = io->manifest->direction != 0;
    (void)snprintf(to->words, sizeof to->words, "%s, hwid %u", domain != NULL ? domain : "?", io->hwid);
    more(to->tip, sizeof to->tip, "%s: %s of the graph, %s, %s\n", io->symbol, to->out ? "output" : "input", to->words,
         io->manifest->commander ? "waits to be asked" : "comes by itself");
    say_format(to->tip, sizeof to->tip, &f);
}

static uint32_t end_of(const g_arc_t *a, const g_end_t *e)
{
    return e->node == G_IO ? TW_PIC_IO + a->io : e->node;
}

static const char *name_of(const g_model_t *m, const g_arc_t *a, const g_end_t *e)
{
    return e->node == G_IO ? m->ios[a->io].symbol : m->nodes[e->node].name;
}

static void draw_arc(const g_model_t *m, const g_arc_t *a, tw_pic_arc_t *to)
{
    const tw_pic_format_t from = format_of(m, a->from.format), until = format_of(m, a->to.format);
    to->from = end_of(a, &a->from);
    to->to = end_of(a, &a->to);
    to->from_port = (uint8_t)a->from.port;
    to->to_port = (uint8_t)a->to.port;
    to->delayed = a->delay > 0;
    more(to->tip, sizeof to->tip, "%s: %s to %s\nbuffer of %u bytes in bank %u at %u", a->name, name_of(m, a, &a->from),
         name_of(m, a, &a->to), a->bytes, a->bank, a->at);
    if (a->delay > 0) {
        more(to->tip, sizeof to->tip, ", begins with %u frame%s of zeros", a->delay, a->delay == 1 ? "" : "s");
    }
    tw_pic_arc_words(to, &from, &until, a->bytes);
}

char *g_draw(const g_model_t *m)
{
    tw_pic_t pic;
    char *dot = NULL;
    if (!tw_pic_open(&pic, m->n_nodes, m->n_ios, m->n_arcs, m->n_scopes)) {
        return NULL;
    }
    (void)snprintf(pic.name, sizeof pic.name, "%s", m->control.name);
    for (uint32_t i = 0; i < m->n_scopes; i++) {
        (void)snprintf(pic.scopes[i].name, sizeof pic.scopes[i].name, "%s", m->scopes[i].name);
        pic.scopes[i].parent = m->scopes[i].parent;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        draw_node(m, i, &pic.nodes[i]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        draw_io(m, &m->ios[i], &pic.ios[i]);
    }
    pic.n_arcs = 0;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        if (!m->arcs[i].lock && m->arcs[i].kind != G_ARC_CONSTANT) { /* neither carries a stream */
            draw_arc(m, &m->arcs[i], &pic.arcs[pic.n_arcs++]);
        }
    }
    dot = tw_pic_dot(&pic);
    tw_pic_close(&pic);
    return dot;
}
