/* graphc_connect.c - ends of arcs to ports of nodes: direction, formats, fan-out, what may stay unconnected. */
#include "host_tools/graphc/middle/graphc_middle.h"
#include <stdio.h>

/* "arm_stream_filter 0", as the text has it. */
#define NODE_FMT "%.*s %u"
#define NODE_ARGS(n) (int)(n)->type.n, (n)->type.p, (n)->inst

uint32_t g_slot_of(const tw_node_manifest_t *x, uint32_t port)
{
    uint32_t before = 0, rx = 0;
    for (uint32_t i = 0; i < (uint32_t)(x->rx + x->tx); i++) {
        before += i < port && x->arcs[i].tx == x->arcs[port].tx;
        rx += !x->arcs[i].tx;
    }
    return before + (x->arcs[port].tx ? rx : 0);
}

uint32_t g_port_of(const tw_node_manifest_t *x, uint32_t slot)
{
    uint32_t port = 0;
    while (port + 1u < (uint32_t)(x->rx + x->tx) && g_slot_of(x, port) != slot) {
        port++;
    }
    return port;
}

/* ---- formats of a port ----------------------------------------------------------- */

static void raw_names(const tw_options_t *o, char *to, size_t size)
{
    size_t n = 0;
    to[0] = 0;
    for (unsigned i = 0; i < o->n && n < size; i++) {
        const char *name = tw_raw_name((uint32_t)o->v[i]);
        const int got = snprintf(to + n, size - n, "%s%s", i > 0 ? " " : "", name != NULL ? name : "?");
        n += got > 0 ? (size_t)got : 0;
    }
}

/* A refused format: where it was declared, and who said what the port takes. */
static bool refuse(g_model_t *m, const g_format_t *f, const tw_node_manifest_t *x)
{
    if (f->id != G_NONE) {
        g_note(m, &f->pos, "format %u is declared here", f->id);
    }
    g_note(m, &(g_pos_t){x->file, 0, 0}, "the node's manifest");
    return false;
}

static bool takes(g_model_t *m, const g_pos_t *pos, const char *who, const char *what, const tw_options_t *o, double v)
{
    char list[100];
    if (g_offers(o, v)) {
        return true;
    }
    g_options_text(o, list, sizeof list);
    g_error(m, pos, "%s takes %s %s, the format has %g", who, what, list, v);
    return false;
}

/* Rate and what follows from it. */
static bool takes_rate(g_model_t *m, const g_pos_t *pos, const char *who, const tw_node_arc_manifest_t *a,
                       const g_format_t *f)
{
    return takes(m, pos, who, "rates [Hz]", &a->rate_hz, f->rate) &&
           takes(m, pos, who, "frames of [ms]", &a->frame_duration_ms, 1000.0 * f->samples / f->rate) &&
           takes(m, pos, who, "periods [s]", &a->period_s, 1.0 / f->rate) &&
           takes(m, pos, who, "periods [day]", &a->period_day, 1.0 / (86400.0 * f->rate));
}

bool g_check_port(g_model_t *m, const g_pos_t *pos, const tw_node_manifest_t *x, uint32_t port, uint32_t format)
{
    const tw_node_arc_manifest_t *a = &x->arcs[port];
    const g_format_t *f = &m->formats[format];
    char who[96], list[200];
    snprintf(who, sizeof who, "%s arc %u", x->name, port);
    if (!g_offers(&a->raw, f->raw)) {
        raw_names(&a->raw, list, sizeof list);
        if (f->id != G_NONE) {
            g_error(m, pos, "%s takes %s, format %u is %s", who, list, f->id, tw_raw_name(f->raw));
        } else {
            g_error(m, pos, "%s takes %s, not %s", who, list, tw_raw_name(f->raw));
        }
        return refuse(m, f, x);
    }
    if (a->interleaving == 1 && f->interleave == 0 && f->channels > 1) {
        g_error(m, pos, "%s takes a block per channel, the format is interleaved", who);
        return refuse(m, f, x);
    }
    const bool ok = takes(m, pos, who, "channels", &a->channels, f->channels) &&
                    takes(m, pos, who, "frames of samples", &a->frame_length, f->samples) &&
                    (f->rate <= 0 || takes_rate(m, pos, who, a, f));
    return ok || refuse(m, f, x);
}

/* What the node computes in: a stream in another unit of the same quantity is rescaled in front of it. */
static uint32_t in_its_unit(g_model_t *m, const g_end_t *e, const tw_node_manifest_t *x)
{
    g_format_t f = m->formats[e->format];
    if (x->unit == 0 || f.unit == 0 || f.unit == x->unit) {
        return e->format;
    }
    f.unit = x->unit;
    const uint32_t format = g_format_like(m, &e->pos, &f);
    return format != G_NONE ? format : e->format;
}

/* ---- ends -------------------------------------------------------------------------- */

static void refuse_direction(g_model_t *m, const g_end_t *e, const tw_node_manifest_t *x, bool tx)
{
    g_error(m, &e->pos, "arc %u of %s is %s arc, here it %s", e->port, x->name, tx ? "a receive" : "a transmit",
            tx ? "would produce" : "would consume");
    for (uint32_t i = 0; i < (uint32_t)(x->rx + x->tx); i++) {
        if (x->arcs[i].tx == tx) {
            g_note(m, &e->pos, "%s arcs of %s begin at %u", tx ? "transmit" : "receive", x->name, i);
            return;
        }
    }
}

/* One port has one format, however many arcs begin there. */
static bool same_producer(g_model_t *m, const g_end_t *e, const g_arc_t *first)
{
    char why[96];
    const g_format_t *a = &m->formats[first->from.format], *b = &m->formats[e->format];
    const bool other = g_differ(a, b, why, sizeof why);
    if (!other && a->frame_bytes == b->frame_bytes) {
        return true;
    }
    g_error(m, &e->pos, "arc %u of %.*s %u produces format %u already (%s)", e->port, (int)e->type.n, e->type.p,
            e->inst, a->id, other ? why : "frames of another length");
    g_note(m, &first->from.pos, "first connected here: the formats of the consumers may differ, not the producer's");
    return false;
}

/* Connect one end. `tx` is the direction the node's port must have. */
static bool connect_end(g_model_t *m, uint32_t arc, g_end_t *e, bool tx)
{
    g_node_t *n = e->node != G_NONE ? &m->nodes[e->node] : NULL;
    const tw_node_manifest_t *x = n != NULL ? n->manifest : NULL;
    if (x == NULL || m->n_formats == 0) {
        return false;
    }
    const uint32_t ports = (uint32_t)(x->rx + x->tx);
    if (e->port >= ports) {
        g_error(m, &e->pos, "%s has %u arc%s, there is no arc %u", x->name, ports, ports == 1 ? "" : "s", e->port);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "the node's manifest");
        return false;
    }
    if (x->arcs[e->port].tx != tx) {
        refuse_direction(m, e, x, tx);
        return false;
    }
    e->slot = g_slot_of(x, e->port);
    const uint32_t first = n->arcs[e->slot];
    if (first != G_NONE && tx) {
        e->format = in_its_unit(m, e, x);
        return same_producer(m, e, &m->arcs[first]);
    }
    if (first != G_NONE) {
        const g_pos_t *pos = &m->arcs[first].to.pos;
        g_error(m, &e->pos, "arc %u of " NODE_FMT " is connected already: a receive arc has one producer", e->port,
                NODE_ARGS(n));
        g_note(m, pos, "first connected here");
        return false;
    }
    n->arcs[e->slot] = arc;
    const bool ok = g_check_port(m, &e->pos, x, e->port, e->format);
    e->format = ok ? in_its_unit(m, e, x) : e->format;
    return ok;
}

static void connect_io(g_model_t *m, uint32_t index, g_arc_t *a)
{
    const bool in = a->kind == G_ARC_IN;
    g_end_t *node = in ? &a->to : &a->from;
    (void)connect_end(m, index, node, !in);
    if (a->io == G_NONE) {
        return;
    }
    g_io_t *io = &m->ios[a->io];
    if (io->manifest != NULL && io->manifest->direction != !in) {
        g_error(m, &a->pos, "%s is an %s of the graph", io->manifest->name,
                io->manifest->direction ? "output" : "input");
        g_note(m, &(g_pos_t){io->manifest->file, 0, 0}, "the IO's manifest");
        return;
    }
    if (io->arc == G_NONE) {
        io->arc = index;
    } else if (!in) {
        g_error(m, &a->pos, "stream_io %u is connected already: an output has one producer", io->id);
        g_note(m, &m->arcs[io->arc].pos, "first connected here");
    }
}

/* ---- attributes ---------------------------------------------------------------------- */

static void flow_by_domain(const g_model_t *m, g_arc_t *a)
{
    const uint8_t domain = m->formats[a->from.format].domain;
    const bool audio = domain == 1 || domain == 2;
    a->underflow = audio ? 2 : 1;
    a->overflow = audio ? 1 : 2;
}

static void check_attributes(g_model_t *m, g_arc_t *a)
{
    if (a->by_domain && m->n_formats > 0) {
        flow_by_domain(m, a);
    }
    if (a->script == G_NONE && (a->underflow == 3 || a->overflow == 3)) {
        g_error(m, &a->pos, "flow error code 3 runs a script: arc_script is missing");
    }
    if (a->debug_page * 16u + a->debug_reg > 255) {
        g_error(m, &a->pos, "debug register %u of page %u is beyond 255", a->debug_reg, a->debug_page);
    }
}

/* It has no buffer, so nothing of a buffer can be said of it. */
static void check_constant(g_model_t *m, const g_arc_t *a)
{
    const uint32_t frame = m->n_formats > 0 ? m->formats[a->to.format].frame_bytes : 1;
    const bool plain = a->delay == 0 && !a->crumbs && a->ring == 0 && a->flush == 0 && a->fill_pattern == 0 &&
                       !a->hqos && !a->placed && a->jitter <= 1.0 && a->script == G_NONE && a->debug_cmd == 0 &&
                       a->underflow == 0 && a->overflow == 0 && !a->by_domain;
    if (!a->has_data || a->data_bytes == 0) {
        g_error(m, &a->pos, "arc_constant needs arc_parameters: the frames that are read");
    } else if (a->data_bytes % frame != 0) {
        g_error(m, &a->data_pos, "%u bytes are no whole number of the reader's frames of %u bytes", a->data_bytes,
                frame);
    }
    if (!plain) {
        g_error(m, &a->pos,
                "a constant has no buffer: arc_constant takes arc_name, arc_map_hwblock and arc_parameters");
    }
}

void g_connect(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        g_arc_t *a = &m->arcs[i];
        if (a->kind == G_ARC_CONSTANT) {
            (void)connect_end(m, i, &a->to, false);
            a->from.format = a->to.format;
            check_constant(m, a);
        } else if (a->kind != G_ARC_NODES) {
            connect_io(m, i, a);
        } else {
            (void)connect_end(m, i, &a->from, true);
            if (a->lock) { /* both ends are one port */
                a->to.slot = a->from.slot;
            } else {
                (void)connect_end(m, i, &a->to, false);
            }
        }
        check_attributes(m, a);
    }
}

/* ---- what must be connected ----------------------------------------------------------- */

/* A script node's one transmit arc is its lock, and that of a type whose one may stay away: the compiler makes it. */
bool g_has_lock(const g_node_t *n)
{
    return n->manifest->tx == 1 && (n->own_script != G_NONE || n->manifest->tx_min == 0);
}

/* Arcs of one kind in use. Only the last ones may stay away. */
static uint32_t used(g_model_t *m, const g_node_t *n, bool tx)
{
    const tw_node_manifest_t *x = n->manifest;
    const uint32_t first = tx ? x->rx : 0, count = tx ? x->tx : x->rx, least = tx ? x->tx_min : x->rx_min;
    uint32_t in_use = 0;
    for (uint32_t i = 0; i < count; i++) {
        in_use = n->arcs[first + i] != G_NONE ? i + 1 : in_use;
    }
    const uint32_t need = in_use > least ? in_use : least;
    for (uint32_t i = 0; i < need; i++) {
        if (n->arcs[first + i] == G_NONE) {
            const uint32_t port = g_port_of(x, first + i);
            g_error(m, &n->pos, "%s arc %u of " NODE_FMT " is not connected", tx ? "transmit" : "receive", port,
                    NODE_ARGS(n));
            if (i >= least) {
                g_note(m, &n->pos, "only the last arcs of a kind may stay away, and a later one is connected");
            }
        }
    }
    return need;
}

static void check_node_connected(g_model_t *m, g_node_t *n)
{
    const tw_node_manifest_t *x = n->manifest;
    n->rx = (uint8_t)used(m, n, false);
    if (g_has_lock(n) && n->arcs[x->rx] == G_NONE) {
        n->tx = 1;
        return;
    }
    n->tx = (uint8_t)used(m, n, true);
    if (n->tx == 0) {
        g_error(m, &n->pos, "no transmit arc of " NODE_FMT " is connected, and its lock is one", NODE_ARGS(n));
    }
}

void g_check_connected(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].manifest != NULL) {
            check_node_connected(m, &m->nodes[i]);
        }
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        if (m->ios[i].arc == G_NONE) {
            g_error(m, &m->ios[i].pos, "stream_io %u is not connected to a node", m->ios[i].id);
        }
    }
}
