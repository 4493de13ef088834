/* graphc_resolve.c - names and indexes of the text to records; every rule that needs a manifest. Knows no address. */
#include "host_tools/graphc/graphc_priv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- formats --------------------------------------------------------------------- */

static void check_format(g_model_t *m, g_format_t *f)
{
    static const uint8_t ts_bytes[] = {2, 4, 8, 8};
    const uint32_t stamp = f->ts != 0 ? ts_bytes[f->ts_size] : 0;
    const uint32_t bits = tw_raw_bits(f->raw) * f->channels;
    if (stamp >= f->frame_bytes && stamp > 0) {
        g_error(m, &f->pos, "format %u: a frame of %u bytes has no room after its %u-byte time stamp", f->id,
                f->frame_bytes, stamp);
        return;
    }
    const uint64_t payload = (uint64_t)(f->frame_bytes - stamp) * 8;
    if (bits == 0) {
        f->samples = f->frame_bytes - stamp; /* self-describing array: counted in bytes */
        return;
    }
    if (payload % bits != 0) {
        g_error(m, &f->pos, "format %u: %u frame bytes are no whole number of samples of %u channels %s (%u bits)",
                f->id, f->frame_bytes - stamp, f->channels, tw_raw_name(f->raw), bits);
        return;
    }
    const uint32_t raw_bits = tw_raw_bits(f->raw), align = raw_bits % 32 == 0 ? 4 : raw_bits == 16 ? 2 : 1;
    if (f->frame_bytes % align != 0) {
        g_error(m, &f->pos, "format %u: frames of %u bytes would not keep %s samples aligned to %u", f->id,
                f->frame_bytes, tw_raw_name(f->raw), align);
    }
    f->samples = (uint32_t)(payload / bits);
}

/* ---- IOs ---------------------------------------------------------------------------- */

static bool offers(const tw_options_t *o, double v)
{
    for (unsigned i = 0; i < o->n; i++) {
        if (fabs(o->v[i] - v) <= 1e-6 * fabs(v)) {
            return true;
        }
    }
    return o->any;
}

static void options_text(const tw_options_t *o, char *to, size_t size)
{
    size_t n = 0;
    to[0] = 0;
    for (unsigned i = 0; i < o->n && n < size; i++) {
        const int got = snprintf(to + n, size - n, "%s%g", i > 0 ? " " : "", o->v[i]);
        n += got > 0 ? (size_t)got : 0;
    }
}

static void expect(g_model_t *m, const g_pos_t *pos, const char *who, const char *what, const tw_options_t *o, double v)
{
    if (!offers(o, v)) {
        char list[100];
        options_text(o, list, sizeof list);
        g_error(m, pos, "%s takes %s %s, the format has %g", who, what, list, v);
    }
}

static void check_io(g_model_t *m, g_io_t *io)
{
    const tw_platform_t *p = m->platform;
    for (unsigned i = 0; i < p->n_ios && io->manifest == NULL; i++) {
        if (p->ios[i].hwid == io->hwid) {
            io->manifest = &p->ios[i];
        }
    }
    if (io->manifest == NULL) {
        g_error(m, &io->pos, "stream_io %u: the platform has no IO with hwid %u", io->id, io->hwid);
        return;
    }
    if (m->n_formats == 0) {
        return;
    }
    const g_format_t *f = &m->formats[io->format];
    const tw_io_manifest_t *x = io->manifest;
    if (x->raw != 0 && x->raw != f->raw) {
        g_error(m, &io->pos, "%s carries %s, format %u is %s", x->name, tw_raw_name(x->raw), f->id,
                tw_raw_name(f->raw));
    }
    expect(m, &io->pos, x->name, "channels", &x->channels, f->channels);
    expect(m, &io->pos, x->name, "frames of samples", &x->frame_length, f->samples);
    if (f->rate > 0) {
        expect(m, &io->pos, x->name, "rates [Hz]", &x->rate_hz, f->rate);
    }
}

/* ---- nodes ----------------------------------------------------------------------------- */

/* "amplifier" of "arm_stream_amplifier", or NULL. */
static const char *named_in_full(const tw_tok_t *tok, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(names[i]);
        if (n > tok->n && names[i][n - tok->n - 1] == '_' && memcmp(names[i] + n - tok->n, tok->p, tok->n) == 0) {
            return names[i];
        }
    }
    return NULL;
}

static const tw_node_manifest_t *find_type(const g_model_t *m, const g_slice_t *type)
{
    const tw_platform_t *p = m->platform;
    for (unsigned i = 0; i < p->n_nodes; i++) {
        if (strlen(p->nodes[i].name) == type->n && memcmp(p->nodes[i].name, type->p, type->n) == 0) {
            return &p->nodes[i];
        }
    }
    return NULL;
}

/* What a type that the platform has not was meant to be, or NULL. */
static const char *nearest_type(const g_model_t *m, const g_slice_t *type)
{
    const tw_platform_t *p = m->platform;
    const char *names[256];
    size_t count = 0;
    for (; count < p->n_nodes && count < TW_COUNT(names); count++) {
        names[count] = p->nodes[count].name;
    }
    const tw_tok_t tok = {.p = type->p, .n = type->n};
    const char *near = named_in_full(&tok, names, count);
    return near != NULL ? near : tw_nearest(&tok, names, count, sizeof names[0]);
}

static const tw_node_manifest_t *find_manifest(g_model_t *m, g_node_t *n)
{
    const tw_node_manifest_t *x = find_type(m, &n->type);
    if (x != NULL) {
        n->manifest_index = (uint32_t)(x - m->platform->nodes);
        return x;
    }
    const char *near = nearest_type(m, &n->type);
    g_error(m, &n->pos, "the platform has no node '%.*s'%s%s%s", (int)n->type.n, n->type.p,
            near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return NULL;
}

static void check_node(g_model_t *m, g_node_t *n)
{
    n->manifest = find_manifest(m, n);
    const tw_node_manifest_t *x = n->manifest;
    if (x == NULL) {
        return;
    }
    n->rx = x->rx;
    n->tx = x->tx;
    m->services |= x->services;
    if (x->use_key) {
        g_error(m, &n->pos, "%s wants a key exchange, which is refused", x->name);
    }
    if ((x->services & ~m->platform->services) != 0) {
        g_error(m, &n->pos, "%s needs services %#x, the platform has %#x", x->name, x->services, m->platform->services);
    }
    if (n->blocks_named > x->n_mem) {
        g_error(m, &n->blocks_pos, "%s has %u memory block%s, this speaks of block %u", x->name, x->n_mem,
                x->n_mem == 1 ? "" : "s", n->blocks_named - 1);
    }
    if (n->own_script != G_NONE && x->rx > 0) {
        g_error(m, &n->pos, "%s is no script node: a shared script is declared with 'script n'", x->name);
    }
    if (n->own_script != G_NONE && n->has_params) {
        g_error(m, &n->pos, "parameters of a script node: write them as literals of its script");
    }
    if (n->own_script == G_NONE && strcmp(x->name, "arm_stream_script") == 0) {
        g_error(m, &n->pos, "a script node needs script_code or script_assembler");
    }
}

/* ---- arcs ------------------------------------------------------------------------------------- */

/* Position of a port among the node's arcs: receive arcs first, each kind in port order. */
static uint32_t slot_of(const tw_node_manifest_t *x, uint32_t port)
{
    uint32_t before = 0, rx = 0;
    for (uint32_t i = 0; i < (uint32_t)(x->rx + x->tx); i++) {
        before += i < port && x->arcs[i].tx == x->arcs[port].tx;
        rx += !x->arcs[i].tx;
    }
    return before + (x->arcs[port].tx ? rx : 0);
}

static void check_formats_of_node(g_model_t *m, const g_end_t *e, const tw_node_manifest_t *x)
{
    const tw_node_arc_manifest_t *a = &x->arcs[e->port];
    const g_format_t *f = &m->formats[e->format];
    char who[96];
    snprintf(who, sizeof who, "%s arc %u", x->name, e->port);
    if (!offers(&a->raw, f->raw)) {
        char list[100] = "";
        for (unsigned i = 0; i < a->raw.n; i++) {
            const size_t n = strlen(list);
            snprintf(list + n, sizeof list - n, " %s", tw_raw_name((uint32_t)a->raw.v[i]));
        }
        g_error(m, &e->pos, "%s takes%s, format %u is %s", who, list, f->id, tw_raw_name(f->raw));
    }
    expect(m, &e->pos, who, "channels", &a->channels, f->channels);
    expect(m, &e->pos, who, "frames of samples", &a->frame_length, f->samples);
    if (f->rate > 0) {
        expect(m, &e->pos, who, "rates [Hz]", &a->rate_hz, f->rate);
    }
}

/* Connect one end. `tx` is the direction the node's port must have. */
static bool connect_end(g_model_t *m, uint32_t arc, g_end_t *e, bool tx)
{
    if (e->node == G_NONE) {
        return false;
    }
    g_node_t *n = &m->nodes[e->node];
    const tw_node_manifest_t *x = n->manifest;
    if (x == NULL || m->n_formats == 0) {
        return false;
    }
    if (e->port >= (uint32_t)(x->rx + x->tx)) {
        g_error(m, &e->pos, "%s has %d arcs, there is no arc %u", x->name, x->rx + x->tx, e->port);
        return false;
    }
    if (x->arcs[e->port].tx != tx) {
        g_error(m, &e->pos, "arc %u of %s is %s arc, here it %s", e->port, x->name, tx ? "a receive" : "a transmit",
                tx ? "would produce" : "would consume");
        return false;
    }
    e->slot = slot_of(x, e->port);
    if (n->arcs[e->slot] != G_NONE) {
        g_error(m, &e->pos, "arc %u of %.*s %u is connected already, in line %u%s", e->port, (int)e->type.n, e->type.p,
                e->inst, m->arcs[n->arcs[e->slot]].pos.line, tx ? " (fan-out needs a split node)" : "");
        return false;
    }
    n->arcs[e->slot] = arc;
    check_formats_of_node(m, e, x);
    return true;
}

static void same_stream(g_model_t *m, const g_pos_t *pos, const g_format_t *a, const g_format_t *b)
{
    if (a->raw == b->raw && a->channels == b->channels && a->interleave == b->interleave && a->rate == b->rate) {
        const bool cut = a->frame_bytes != b->frame_bytes;
        if (a->ts != b->ts || (a->ts != 0 && a->ts_size != b->ts_size)) {
            g_error(m, pos, "formats of the two ends differ in their time stamps: %u and %u", a->id, b->id);
        } else if (cut && (a->ts != 0 || (a->interleave == 1 && a->channels > 1))) {
            g_error(m, pos, "frames of %u and %u bytes: frames with time stamps or a block per channel cannot be cut",
                    a->frame_bytes, b->frame_bytes);
        }
        return;
    }
    g_error(m, pos,
            "formats of the two ends differ: %u is %s, %u channels, interleaving %u, %g Hz; %u is %s, %u channels, "
            "interleaving %u, %g Hz (converters are not inserted yet)",
            a->id, tw_raw_name(a->raw), a->channels, a->interleave, a->rate, b->id, tw_raw_name(b->raw), b->channels,
            b->interleave, b->rate);
}

static void connect_io(g_model_t *m, uint32_t index, g_arc_t *a)
{
    const bool in = a->kind == G_ARC_IN;
    g_end_t *node = in ? &a->to : &a->from;
    const bool connected = connect_end(m, index, node, !in);
    if (a->io == G_NONE) {
        return;
    }
    g_io_t *io = &m->ios[a->io];
    if (io->arc != G_NONE) {
        g_error(m, &a->pos, "stream_io %u is connected already, in line %u", io->id, m->arcs[io->arc].pos.line);
        return;
    }
    io->arc = index;
    if (io->manifest != NULL && io->manifest->direction != !in) {
        g_error(m, &a->pos, "%s is an %s of the graph", io->manifest->name,
                io->manifest->direction ? "output" : "input");
    }
    if (connected) {
        same_stream(m, &a->pos, &m->formats[a->from.format], &m->formats[a->to.format]);
    }
}

static void flow_by_domain(const g_model_t *m, g_arc_t *a)
{
    const uint8_t domain = m->formats[a->from.format].domain;
    const bool audio = domain == 1 || domain == 2;
    a->underflow = audio ? 2 : 1;
    a->overflow = audio ? 1 : 2;
}

static void connect_arc(g_model_t *m, uint32_t index)
{
    g_arc_t *a = &m->arcs[index];
    if (a->kind != G_ARC_NODES) {
        connect_io(m, index, a);
    } else {
        const bool from = connect_end(m, index, &a->from, true);
        const bool to = !a->lock && connect_end(m, index, &a->to, false);
        a->to.slot = a->lock ? a->from.slot : a->to.slot;
        if (from && to) {
            same_stream(m, &a->pos, &m->formats[a->from.format], &m->formats[a->to.format]);
        }
    }
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

/* A lock arc has a format like any other; it never carries data, so one small format serves all. */
static uint32_t lock_format(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_formats; i++) {
        const g_format_t *f = &m->formats[i];
        if (f->raw == TW_RAW_U8 && f->channels == 1 && f->frame_bytes == 8 && f->rate == 0 && f->ts == 0 &&
            f->domain == 0) {
            return i;
        }
    }
    if (m->n_formats >= m->cap_formats && !g_grow(&m->formats, m->cap_formats, &m->cap_formats, sizeof *m->formats)) {
        tw_diag(m->diags, false, NULL, 0, 0, "out of memory");
        return 0;
    }
    m->formats[m->n_formats] =
        (g_format_t){.id = G_NONE, .frame_bytes = 8, .raw = TW_RAW_U8, .channels = 1, .samples = 8};
    return m->n_formats++;
}

static void add_lock_arc(g_model_t *m, uint32_t node)
{
    g_node_t *n = &m->nodes[node];
    if (m->n_arcs >= G_ARCS_MAX ||
        (m->n_arcs >= m->cap_arcs && !g_grow(&m->arcs, m->cap_arcs, &m->cap_arcs, sizeof *m->arcs))) {
        g_error(m, &n->pos, "no room for the node's lock arc");
        return;
    }
    const uint32_t format = lock_format(m);
    const g_end_t end = {.pos = n->pos, .type = n->type, .inst = n->inst, .format = format, .node = node};
    n->arcs[0] = m->n_arcs;
    m->arcs[m->n_arcs++] = (g_arc_t){.pos = n->pos,
                                     .kind = G_ARC_NODES,
                                     .io = G_NONE,
                                     .from = end,
                                     .to = end,
                                     .lock = true,
                                     .vid = m->scripts[n->own_script].vid,
                                     .jitter = 1.0,
                                     .script = G_NONE};
}

static void check_connected(g_model_t *m, uint32_t node)
{
    g_node_t *n = &m->nodes[node];
    const tw_node_manifest_t *x = n->manifest;
    if (x == NULL) {
        return;
    }
    if (n->own_script != G_NONE && x->tx == 1 && n->arcs[0] == G_NONE) {
        add_lock_arc(m, node);
    }
    for (uint32_t port = 0; port < (uint32_t)(x->rx + x->tx); port++) {
        if (n->arcs[slot_of(x, port)] == G_NONE) {
            g_error(m, &n->pos, "%s arc %u of %.*s %u is not connected", x->arcs[port].tx ? "transmit" : "receive",
                    port, (int)n->type.n, n->type.p, n->inst);
        }
    }
}

static void check_manifest_arcs(g_model_t *m, const tw_node_manifest_t *x)
{
    int tx = 0;
    for (int i = 0; i < x->rx + x->tx; i++) {
        tx += x->arcs[i].tx;
    }
    if (tx != x->tx || x->tx == 0) {
        tw_diag(m->diags, false, x->file, 0, 0,
                x->tx == 0 ? "%s has no transmit arc, which every node needs for its lock"
                           : "%s: node_nb_arcs and the directions of the arcs disagree",
                x->name);
    }
}

bool g_resolve(g_model_t *m)
{
    for (unsigned i = 0; i < m->platform->n_nodes; i++) {
        check_manifest_arcs(m, &m->platform->nodes[i]);
    }
    for (uint32_t i = 0; i < m->n_formats; i++) {
        check_format(m, &m->formats[i]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        check_io(m, &m->ios[i]);
        for (uint32_t k = 0; k < i && m->ios[i].manifest != NULL; k++) {
            if (m->ios[k].hwid == m->ios[i].hwid) {
                g_error(m, &m->ios[i].pos, "hwid %u is used by stream_io %u already", m->ios[i].hwid, m->ios[k].id);
            }
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        check_node(m, &m->nodes[i]);
    }
    if (m->control.debug_script != 0 && m->script_of[0] == G_NONE) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "debug_script_fields calls script 0, which is not declared");
    }
    if (m->n_nodes == 0) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "the graph has no node");
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        connect_arc(m, i);
    }
    if (m->diags->errors > 0) {
        return false; /* what follows would only repeat it */
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        check_connected(m, i);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        if (m->ios[i].arc == G_NONE) {
            g_error(m, &m->ios[i].pos, "stream_io %u is not connected to a node", m->ios[i].id);
        }
    }
    return m->diags->errors == 0;
}
