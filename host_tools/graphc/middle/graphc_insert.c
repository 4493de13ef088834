/* graphc_insert.c - nodes the text does not name: converters between formats, splits behind a port that feeds
 * several arcs. Each is an ordinary node with its reason kept for the report. Knows no address.
 *
 *   text      mic -----------> a        image     mic --.             .--> a
 *             mic -----------> b                        split ------------ > b
 *             mic -----------> c (S16)                  `--> converter --> c
 *
 * The arc of the text stays the part in front of its consumer, with all its attributes. What is new before it has
 * the same bank, flow errors and quality of service. A delay goes before the converter, where its frames are those
 * of the producer; where the new part begins at an IO it also takes what concerns the IO: jitter, crumbs and who
 * sets the buffer.
 */
#include "host_tools/graphc/middle/graphc_middle.h"
#include "engine/base/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CONVERTER "arm_stream_converter"
#define SPLIT "arm_stream_split"

/* Where data come from: a node's port or an IO, with the format they have. */
typedef struct source {
    g_end_t end;
    uint32_t io;   /* of an IO */
    uint32_t near; /* node of the text it follows in the schedule, G_NONE an IO */
    uint32_t like; /* node that runs where inserted ones should, G_NONE none */
} source_t;

typedef struct inserter {
    g_model_t *m;
    const tw_node_manifest_t *converter, *split; /* NULL: the platform has none */
    uint32_t next_converter, next_split;         /* instance numbers */
    uint32_t *next, *last;                       /* arcs of one source, chained from the first */
    uint32_t *chain, *items, *group;             /* room for the arcs of one source */
} inserter_t;

/* ---- new nodes and arcs -------------------------------------------------------------- */

/* Instances of the text keep their numbers: ours are above all of them. */
static uint32_t first_free(const g_model_t *m, const char *type)
{
    const size_t len = strlen(type);
    uint32_t free = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        if (n->type.n == len && memcmp(n->type.p, type, len) == 0 && n->inst >= free) {
            free = n->inst + 1;
        }
    }
    return free;
}

static void note_insertion(g_model_t *m, uint32_t node, uint32_t arc, const char *why)
{
    if (m->n_insertions >= m->cap_insertions &&
        !g_grow(&m->insertions, m->cap_insertions, &m->cap_insertions, sizeof *m->insertions)) {
        tw_diag(m->diags, false, NULL, 0, 0, "out of memory");
        return;
    }
    g_insertion_t *x = &m->insertions[m->n_insertions++];
    *x = (g_insertion_t){.node = node, .arc = arc};
    snprintf(x->why, sizeof x->why, "%s", why);
}

/* A node that serves `arc`; it runs where its neighbour runs, right behind the source. */
static uint32_t new_node(inserter_t *s, bool split, const source_t *from, uint32_t arc, const char *why)
{
    g_model_t *m = s->m;
    const tw_node_manifest_t *x = split ? s->split : s->converter;
    g_node_t n = {.pos = m->arcs[arc].pos,
                  .type = {x->name, (uint32_t)strlen(x->name)},
                  .inst = split ? s->next_split++ : s->next_converter++,
                  .scope = m->arcs[arc].scope,
                  .script = G_NONE,
                  .own_script = G_NONE,
                  .manifest = x,
                  .manifest_index = (uint32_t)(x - m->platform->nodes),
                  .rx = 1,
                  .tx = 1,
                  .inserted = true,
                  .near = from->near};
    if (from->like != G_NONE) {
        const g_node_t *like = &m->nodes[from->like];
        n.proc = like->proc;
        n.rtos = like->rtos;
    }
    for (unsigned i = 0; i < TW_COUNT(n.arcs); i++) {
        n.arcs[i] = G_NONE;
    }
    m->services |= x->services;
    const uint32_t index = g_add_node(m, &n);
    if (index != G_NONE) {
        note_insertion(m, index, arc, why);
    }
    return index;
}

/* Let an arc begin at the source. */
static void begin_at(g_model_t *m, uint32_t arc, const source_t *from)
{
    g_arc_t *a = &m->arcs[arc];
    a->from = from->end;
    if (from->end.node == G_IO) {
        a->kind = G_ARC_IN;
        a->io = from->io;
        m->ios[from->io].arc = arc;
        return;
    }
    if (a->kind == G_ARC_IN) {
        a->kind = G_ARC_NODES;
        a->io = G_NONE;
    }
    m->nodes[from->end.node].arcs[from->end.slot] = arc;
}

/* An arc into port 0 of a new node; what it is like otherwise, an arc of the text says. */
static uint32_t new_arc(g_model_t *m, uint32_t like, uint32_t node, uint32_t format)
{
    const g_arc_t *t = &m->arcs[like];
    const g_node_t *n = &m->nodes[node];
    const g_arc_t a = {.pos = t->pos,
                       .kind = G_ARC_NODES,
                       .io = G_NONE,
                       .to = {.pos = t->pos, .type = n->type, .inst = n->inst, .format = format, .node = node},
                       .vid = t->vid,
                       .vid_given = t->vid_given,
                       .underflow = t->underflow,
                       .overflow = t->overflow,
                       .hqos = t->hqos,
                       .scope = t->scope,
                       .script = t->script,
                       .jitter = 1.0};
    const uint32_t index = g_add_arc(m, &a);
    if (index != G_NONE) {
        m->nodes[node].arcs[0] = index;
    }
    return index;
}

/* Transmit port k of a new node. */
static source_t output_of(const g_model_t *m, const source_t *before, uint32_t node, uint32_t k, uint32_t format)
{
    const g_node_t *n = &m->nodes[node];
    const uint32_t slot = n->manifest->rx + k;
    return (source_t){.end = {.pos = n->pos,
                              .type = n->type,
                              .inst = n->inst,
                              .port = g_port_of(n->manifest, slot),
                              .format = format,
                              .node = node,
                              .slot = slot},
                      .near = before->near,
                      .like = node};
}

/* ---- converters ------------------------------------------------------------------------- */

static bool missing(g_model_t *m, const g_pos_t *pos, const char *type, const char *why)
{
    g_error(m, pos, "this needs %s (%s), and the platform has none", type, why);
    g_note(m, &(g_pos_t){m->platform->path, 0, 0}, "node types of the platform are listed in its top manifest");
    return false;
}

/* Units measure the same thing when they have the same primary unit. */
static bool same_quantity(uint8_t a, uint8_t b)
{
    const tw_unit_scale_t *x = tw_unit_scale(a), *y = tw_unit_scale(b);
    return a == b || a == 0 || b == 0 || (x != NULL && y != NULL && x->primary == y->primary);
}

/* What no converter can do. */
static bool can_convert(g_model_t *m, uint32_t arc, const g_format_t *a, const g_format_t *b, const char *why)
{
    const g_arc_t *x = &m->arcs[arc];
    const bool compute = a->raw != b->raw || (float)a->rate != (float)b->rate || a->unit != b->unit;
    if (x->no_convert) {
        g_error(m, &x->pos, "formats of the two ends differ: %s, and arc_no_convert forbids a converter", why);
    } else if (tw_raw_bits(a->raw) == 0 || tw_raw_bits(b->raw) == 0) {
        g_error(m, &x->pos, "formats of the two ends differ: %s, and self-describing arrays are not converted", why);
    } else if (compute && !(tw_raw_computable(a->raw) && tw_raw_computable(b->raw))) {
        g_error(m, &x->pos, "formats of the two ends differ: %s, and %s is carried but not computed on", why,
                tw_raw_name(tw_raw_computable(a->raw) ? b->raw : a->raw));
    } else if (!same_quantity(a->unit, b->unit)) {
        g_error(m, &x->pos, "formats of the two ends differ: %s, which are different quantities", why);
    } else {
        return true;
    }
    g_note(m, &a->pos, "format of the producer");
    g_note(m, &b->pos, "format of the consumer");
    return false;
}

/* A converter behind `from`, for consumers of format `to`: it cuts and joins frames itself, for an arc's buffer that
 * did could fill with less than a frame for either side. Makes the arc into it, which begins nowhere yet.
 * @return false after an error */
static bool convert(inserter_t *s, const source_t *from, uint32_t arc, uint32_t to, uint32_t *feed, source_t *out)
{
    g_model_t *m = s->m;
    const g_pos_t pos = m->arcs[arc].pos;
    const uint32_t in = from->end.format;
    char why[sizeof m->insertions->why];
    (void)g_differ(&m->formats[in], &m->formats[to], why, sizeof why);
    if (!can_convert(m, arc, &m->formats[in], &m->formats[to], why)) {
        return false;
    }
    if (s->converter == NULL) {
        return missing(m, &pos, CONVERTER, why);
    }
    if (!g_check_port(m, &pos, s->converter, 0, in) || !g_check_port(m, &pos, s->converter, 1, to)) {
        return false;
    }
    const uint32_t node = new_node(s, false, from, arc, why);
    *feed = node != G_NONE ? new_arc(m, arc, node, in) : G_NONE;
    if (*feed == G_NONE) {
        return false;
    }
    *out = output_of(m, from, node, 0, to);
    return true;
}

/* ---- splits ------------------------------------------------------------------------------- */

/* Arcs that wait for a source; they are taken from the front and splits of them are put at the end. */
typedef struct queue {
    uint32_t *v;
    uint32_t head, n;
} queue_t;

/* One split for the next `count` arcs of the queue; its own arc joins the queue. */
static bool split_some(inserter_t *s, const source_t *from, queue_t *q, uint32_t count)
{
    g_model_t *m = s->m;
    const uint32_t first = q->v[q->head], format = from->end.format;
    char why[sizeof m->insertions->why];
    bool hqos = false;
    snprintf(why, sizeof why, "one port feeds %u arcs", count);
    const uint32_t node = new_node(s, true, from, first, why);
    const uint32_t feed = node != G_NONE ? new_arc(m, first, node, format) : G_NONE;
    for (uint32_t k = 0; k < count && feed != G_NONE; k++) {
        const source_t port = output_of(m, from, node, k, format);
        hqos |= m->arcs[q->v[q->head]].hqos;
        begin_at(m, q->v[q->head++], &port);
    }
    if (feed != G_NONE) {
        m->nodes[node].tx = (uint8_t)count;
        m->arcs[feed].hqos = hqos;
        q->v[q->n++] = feed;
    }
    return feed != G_NONE;
}

/* Give every arc of the queue the source: itself when it is one, else through as few splits as will do. */
static bool spread(inserter_t *s, const source_t *from, queue_t *q)
{
    const uint32_t arity = s->split != NULL ? s->split->tx : 0;
    if (q->n - q->head > 1 && arity < 2) {
        return missing(s->m, &s->m->arcs[q->v[q->head + 1]].from.pos, SPLIT, "one port feeds several arcs");
    }
    while (q->n - q->head > 1) {
        const uint32_t left = q->n - q->head;
        /* a split takes `arity` arcs and leaves one: the odd rest goes first, so that all others are full */
        const uint32_t rest = (left - 1) % (arity - 1);
        if (!split_some(s, from, q, left <= arity ? left : rest > 0 ? rest + 1 : arity)) {
            return false;
        }
    }
    begin_at(s->m, q->v[q->head], from);
    return true;
}

/* ---- one source ------------------------------------------------------------------------------ */

static bool differs(const g_model_t *m, uint32_t a, uint32_t b)
{
    char why[8];
    return g_differ(&m->formats[a], &m->formats[b], why, sizeof why);
}

/* A delay and what it holds are frames of the producer. */
static void move_delay(g_model_t *m, uint32_t from, uint32_t to)
{
    g_arc_t *a = &m->arcs[from], *b = &m->arcs[to];
    b->delay = a->delay;
    b->has_data = a->has_data;
    b->data_pos = a->data_pos;
    b->data_at = a->data_at;
    b->data_bytes = a->data_bytes;
    a->delay = 0;
    a->has_data = false;
}

/* The arcs of the chain from i on that want the stream of i, which share a converter; a delayed one has its own. */
static bool convert_group(inserter_t *s, const source_t *from, uint32_t i, uint32_t n, queue_t *items)
{
    g_model_t *m = s->m;
    const uint32_t first = s->chain[i], to = m->arcs[first].to.format;
    queue_t group = {.v = s->group};
    uint32_t asks = first; /* who speaks for all: one that forbids it, if there is one */
    for (uint32_t k = i; k < n && (k == i || m->arcs[first].delay == 0); k++) {
        const uint32_t arc = s->chain[k];
        const bool joins = arc != G_NONE && m->arcs[arc].delay == 0 && !differs(m, to, m->arcs[arc].to.format);
        if (k == i || joins) {
            group.v[group.n++] = arc;
            asks = m->arcs[arc].no_convert && !m->arcs[asks].no_convert ? arc : asks;
            s->chain[k] = G_NONE;
        }
    }
    source_t out;
    uint32_t *feed = &items->v[items->n++];
    if (!convert(s, from, asks, to, feed, &out) || !spread(s, &out, &group)) {
        return false;
    }
    move_delay(m, first, *feed);
    return true;
}

/* What the text says of the IO goes to the arc that begins there now. */
static void attributes_of_io(inserter_t *s, uint32_t first, uint32_t feed)
{
    g_model_t *m = s->m;
    g_arc_t *f = &m->arcs[feed];
    for (uint32_t arc = first; arc != G_NONE; arc = s->next[arc]) {
        g_arc_t *a = &m->arcs[arc];
        if (arc == feed) {
            continue;
        }
        f->jitter = a->jitter > f->jitter ? a->jitter : f->jitter;
        a->jitter = 1.0;
        f->set_buffer |= a->set_buffer;
        a->set_buffer = false;
        if (a->crumbs && !f->crumbs) {
            f->crumbs = true;
            f->crumb_in = a->crumb_in;
            f->crumb_out = a->crumb_out;
        }
        const bool other = a->underflow != f->underflow || a->overflow != f->overflow;
        if (other && a->underflow + a->overflow > 0 && f->underflow + f->overflow > 0) {
            g_warn(m, &a->pos, "the IO's flow errors are those of its first arc");
            g_note(m, &m->arcs[first].pos, "which is this");
        }
    }
}

static source_t source_of(const g_model_t *m, uint32_t arc)
{
    const g_arc_t *a = &m->arcs[arc];
    const bool io = a->from.node == G_IO;
    return (source_t){.end = a->from,
                      .io = io ? a->io : G_NONE,
                      .near = io ? G_NONE : a->from.node,
                      .like = !io ? a->from.node : a->to.node};
}

/* All arcs of the source that `first` begins at. */
static void serve(inserter_t *s, uint32_t first)
{
    g_model_t *m = s->m;
    const source_t from = source_of(m, first);
    const bool io = from.end.node == G_IO;
    queue_t items = {.v = s->items};
    uint32_t n = 0;
    for (uint32_t arc = first; arc != G_NONE; arc = s->next[arc]) {
        s->chain[n++] = arc;
    }
    if (n == 1 && !differs(m, from.end.format, m->arcs[first].to.format)) {
        return;
    }
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t arc = s->chain[i];
        if (arc != G_NONE && !differs(m, from.end.format, m->arcs[arc].to.format)) {
            items.v[items.n++] = arc;
        } else if (arc != G_NONE) {
            ok &= convert_group(s, &from, i, n, &items);
        }
    }
    if (ok && spread(s, &from, &items) && io) {
        attributes_of_io(s, first, m->ios[from.io].arc);
    }
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static uint32_t first_of(const g_model_t *m, const g_arc_t *a)
{
    return a->from.node == G_IO ? m->ios[a->io].arc : m->nodes[a->from.node].arcs[a->from.slot];
}

static void serve_all(inserter_t *s)
{
    g_model_t *m = s->m;
    const uint32_t n = m->n_arcs;
    for (uint32_t i = 0; i < n; i++) {
        s->next[i] = G_NONE;
        s->last[i] = i;
        const uint32_t first = m->arcs[i].kind == G_ARC_CONSTANT ? i : first_of(m, &m->arcs[i]);
        if (first != i) {
            s->next[s->last[first]] = i;
            s->last[first] = i;
            s->last[i] = G_NONE;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s->last[i] != G_NONE) {
            serve(s, i);
        }
    }
}

/* A lock arc has a format like any other; it never carries data, so one small format serves all. A node with a receive
 * arc has that one's: what looks at all formats of a node sees them agree. */
static void add_lock_arc(g_model_t *m, uint32_t node)
{
    g_node_t *n = &m->nodes[node];
    const g_format_t plain = {.pos = n->pos, .frame_bytes = 8, .raw = TW_RAW_U8, .channels = 1, .samples = 8};
    const bool receives = n->rx > 0 && n->arcs[0] != G_NONE;
    const uint32_t format = receives ? m->arcs[n->arcs[0]].to.format : g_format_like(m, &n->pos, &plain);
    const uint32_t slot = n->manifest->rx;
    const g_end_t end = {.pos = n->pos, .type = n->type, .inst = n->inst, .format = format, .node = node, .slot = slot};
    const g_arc_t lock = {.pos = n->pos,
                          .kind = G_ARC_NODES,
                          .io = G_NONE,
                          .from = end,
                          .to = end,
                          .lock = true,
                          .vid = n->own_script != G_NONE ? m->scripts[n->own_script].vid : (uint8_t)0,
                          .scope = n->scope,
                          .jitter = 1.0,
                          .script = G_NONE};
    n->arcs[slot] = format != G_NONE ? g_add_arc(m, &lock) : G_NONE;
}

/* Arcs in use stand without gaps, receive first; slots of the others are gone. */
static void close_gaps(g_model_t *m, g_node_t *n)
{
    const uint32_t gap = n->manifest->rx - n->rx;
    for (uint32_t k = 0; k < n->tx && gap > 0; k++) {
        const uint32_t slot = n->rx + k, arc = n->arcs[slot + gap];
        n->arcs[slot] = arc;
        m->arcs[arc].from.slot = slot;
        m->arcs[arc].to.slot = m->arcs[arc].lock ? slot : m->arcs[arc].to.slot;
    }
}

/* Locks come last, so that a text that names every other node and arc gives the same numbers. */
static void finish(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *n = &m->nodes[i];
        if (g_has_lock(n) && n->arcs[n->manifest->rx] == G_NONE) {
            add_lock_arc(m, i);
        }
        close_gaps(m, n);
    }
}

bool g_insert(g_model_t *m)
{
    const size_t n = m->n_arcs + 1u;
    inserter_t s = {.m = m,
                    .converter = g_find_type(m, CONVERTER, strlen(CONVERTER)),
                    .split = g_find_type(m, SPLIT, strlen(SPLIT)),
                    .next_converter = first_free(m, CONVERTER),
                    .next_split = first_free(m, SPLIT),
                    .next = calloc(7 * n, sizeof *s.next)};
    if (s.next == NULL) {
        tw_diag(m->diags, false, NULL, 0, 0, "out of memory");
        return false;
    }
    s.last = s.next + n;
    s.chain = s.last + n;
    s.items = s.chain + n; /* as many splits as arcs can join them */
    s.group = s.items + 2 * n;
    serve_all(&s);
    free(s.next);
    if (m->diags->errors == 0) {
        finish(m);
    }
    return m->diags->errors == 0;
}
