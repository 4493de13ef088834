/* graph_carry.c - see graph_carry.h. Near-linear in nodes and arcs: names are found through a hash table. */
#include "engine/graph/graph_carry.h"
#include "engine/graph/graph_priv.h"

bool tw_format_same(const tw_format_t *a, const tw_format_t *b)
{
    const bool raw = a->raw == b->raw ||
                     ((a->raw == TW_RAW_S16 || a->raw == TW_RAW_Q15) && (b->raw == TW_RAW_S16 || b->raw == TW_RAW_Q15));
    const float dr = a->rate_hz - b->rate_hz;
    return raw && a->frame_bytes == b->frame_bytes && a->samples == b->samples && !(dr < 0.0f) && !(dr > 0.0f) &&
           a->channels == b->channels && a->interleave == b->interleave && a->ts == b->ts && a->ts_size == b->ts_size;
}

/* ---- names ------------------------------------------------------------------------ */

/* Entries of the symbol table that name nodes, in rising order of the node. */
typedef struct names {
    const uint8_t *at, *end;
} names_t;

static names_t names_of(const tw_graph_t *g)
{
    uint32_t bytes;
    const uint32_t payload = img_ext(g->img, TW_EXT_SYMB, &bytes);
    return (names_t){g->img + payload, g->img + payload + bytes};
}

/* @return the entry {kind, length, u16 node, text}, NULL after the last */
static const uint8_t *next_name(names_t *s)
{
    while (s->at < s->end) {
        const uint8_t *entry = s->at;
        s->at += 4u + entry[1];
        if (entry[0] == TW_SYM_NODE) {
            return entry;
        }
    }
    return NULL;
}

static uint32_t hash_of(const uint8_t *entry)
{
    uint32_t h = 0x811C9DC5u;
    for (uint32_t i = 0; i < entry[1]; i++) {
        h = (h ^ entry[4 + i]) * 0x01000193u;
    }
    return h;
}

static bool same_name(const uint8_t *a, const uint8_t *b)
{
    return a[1] == b[1] && memcmp(a + 4, b + 4, a[1]) == 0;
}

static void fill_table(const uint8_t **table, uint32_t mask, const tw_graph_t *from)
{
    names_t s = names_of(from);
    memset((void *)table, 0, (mask + 1u) * sizeof *table);
    for (const uint8_t *e = next_name(&s); e != NULL; e = next_name(&s)) {
        uint32_t k = hash_of(e) & mask;
        while (table[k] != NULL) {
            k = (k + 1) & mask;
        }
        table[k] = e;
    }
}

static uint32_t find_name(const uint8_t *const *table, uint32_t mask, const uint8_t *entry)
{
    for (uint32_t k = hash_of(entry) & mask; table[k] != NULL; k = (k + 1) & mask) {
        if (same_name(table[k], entry)) {
            return tw_get_le16(table[k] + 2);
        }
    }
    return TW_CARRY_NEW;
}

/* ---- what is the same ---------------------------------------------------------------- */

/* Static memory and memory that is backed up live on; working memory holds nothing between two runs. */
static bool lasting(const tw_node_desc_t *d, uint32_t block)
{
    return d->mem[block].type == 0 || d->mem[block].type == 3;
}

static bool same_node(const tw_graph_t *from, uint32_t f, const tw_graph_t *to, uint32_t t)
{
    const tw_graph_node_t *a = &from->nodes[f], *b = &to->nodes[t];
    if (a->desc != b->desc || a->rx != b->rx || a->tx != b->tx || b->own_script >= 0) {
        return false;
    }
    tw_node_reset_t old, now;
    node_memory(from, f, &old);
    node_memory(to, t, &now);
    for (uint32_t i = 0; i < (uint32_t)b->rx + b->tx; i++) {
        if (!tw_format_same(old.fmt[i], now.fmt[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < b->desc->n_mem; i++) {
        if (lasting(b->desc, i) && old.mem_bytes[i] != now.mem_bytes[i]) {
            return false;
        }
    }
    return true;
}

static void match_nodes(tw_graph_carry_t *c, const tw_graph_t *from, const tw_graph_t *to, const uint8_t **table,
                        uint32_t mask)
{
    fill_table(table, mask, from);
    memset(c->nodes, 0xFF, to->n_nodes * sizeof *c->nodes);
    names_t s = names_of(to);
    for (const uint8_t *e = next_name(&s); e != NULL; e = next_name(&s)) {
        const uint32_t t = tw_get_le16(e + 2), f = find_name(table, mask, e);
        if (f != TW_CARRY_NEW && same_node(from, f, to, t)) {
            c->nodes[t] = f;
            c->n_nodes++;
        }
    }
}

static const tw_graph_io_t *io_of(const tw_graph_t *g, uint32_t hwid, bool tx)
{
    for (uint32_t i = 0; i < g->n_ios; i++) {
        if (g->ios[i].hwid == hwid && g->ios[i].tx == tx) {
            return &g->ios[i];
        }
    }
    return NULL;
}

/* The arc of `from` at the port, or the IO, where this end of an arc of `to` is. */
static uint32_t arc_at(const tw_graph_carry_t *c, const tw_graph_t *from, const tw_graph_t *to, uint32_t node,
                       uint32_t port, const tw_graph_io_t *io)
{
    if (node == TW_IMG_IO) {
        const tw_graph_io_t *same = io != NULL ? io_of(from, io->hwid, io->tx) : NULL;
        return same != NULL ? same->arc_index : TW_CARRY_NEW;
    }
    const uint32_t f = c->nodes[node];
    return f != TW_CARRY_NEW && port < (uint32_t)to->nodes[node].rx + to->nodes[node].tx ? from->nodes[f].refs[port].arc
                                                                                         : TW_CARRY_NEW;
}

static uint32_t same_arc(const tw_graph_carry_t *c, const tw_graph_t *from, const tw_graph_t *to, uint32_t t)
{
    const tw_img_ends_t e = tw_img_ends(to->img, t);
    const uint32_t at_io = tw_img_arc_io(to->img, t);
    const tw_graph_io_t *io = at_io < to->n_ios && to->ios[at_io].arc_index == t ? &to->ios[at_io] : NULL;
    const uint32_t f = arc_at(c, from, to, e.from, e.from_port, io);
    if (f == TW_CARRY_NEW || f != arc_at(c, from, to, e.to, e.to_port, io)) {
        return TW_CARRY_NEW;
    }
    const tw_arc_t *a = &from->arcs[f], *b = &to->arcs[t];
    if (a->type != b->type || a->type == TW_ARC_CONSTANT || a->shares != NULL || b->shares != NULL) {
        return TW_CARRY_NEW; /* constants are the image's; two arcs in one buffer are empty between blocks */
    }
    const bool same = a->size == b->size &&
                      tw_format_same(&from->formats[tw_graph_arc_format(from, f, false)],
                                     &to->formats[tw_graph_arc_format(to, t, false)]) &&
                      tw_format_same(&from->formats[tw_graph_arc_format(from, f, true)],
                                     &to->formats[tw_graph_arc_format(to, t, true)]);
    return same ? f : TW_CARRY_NEW;
}

static uint32_t largest_value(const tw_graph_t *g)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        most = tw_max_u32(most, tw_graph_params_bytes(&g->nodes[i]));
    }
    return most;
}

static uint32_t table_size(uint32_t nodes)
{
    uint32_t n = 4;
    while (n < 2 * nodes) {
        n *= 2;
    }
    return n;
}

tw_err_t tw_graph_carry_plan(tw_graph_carry_t *c, const tw_graph_t *from, const tw_graph_t *to, tw_arena_t *arena,
                             tw_fault_t *fault)
{
    const size_t mark = arena->used;
    const uint32_t slots = table_size(from->n_nodes), value = largest_value(to);
    *c = (tw_graph_carry_t){.value_bytes = value};
    c->nodes = tw_arena_take(arena, to->n_nodes * sizeof *c->nodes, _Alignof(uint32_t));
    c->arcs = tw_arena_take(arena, to->n_arcs * sizeof *c->arcs, _Alignof(uint32_t));
    c->value = tw_arena_take(arena, 2 * (size_t)value, _Alignof(uint64_t));
    const size_t kept = arena->used;
    const uint8_t **table = tw_arena_take(arena, slots * sizeof *table, _Alignof(const uint8_t *));
    if (c->nodes == NULL || c->arcs == NULL || c->value == NULL || table == NULL) {
        const size_t need = (to->n_nodes + to->n_arcs) * sizeof(uint32_t) + 2 * (size_t)value + slots * sizeof *table;
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = (uint32_t)(need - (arena->size - mark) + 64)};
        arena->used = mark;
        return TW_E_NOMEM;
    }
    match_nodes(c, from, to, table, slots - 1);
    arena->used = kept;
    for (uint32_t i = 0; i < to->n_arcs; i++) {
        c->arcs[i] = same_arc(c, from, to, i);
    }
    return TW_OK;
}

/* ---- at the boundary ------------------------------------------------------------------- */

static void carry_memory(const tw_graph_t *from, uint32_t f, tw_graph_t *to, uint32_t t)
{
    tw_node_reset_t old, now;
    node_memory(from, f, &old);
    node_memory(to, t, &now);
    for (uint32_t i = 0; i < to->nodes[t].desc->n_mem; i++) {
        if (lasting(to->nodes[t].desc, i)) {
            memcpy(now.mem[i], old.mem[i], now.mem_bytes[i]);
        }
    }
}

static void carry_arc(const tw_arc_t *from, tw_arc_t *to)
{
    const uint32_t read = tw_gauge_get(&from->read), write = tw_gauge_get(&from->write);
    if (from->special || to->special || from->cap != to->cap) {
        return; /* a driver holds it, or lends its buffer */
    }
    memcpy(to->buf, from->buf, from->size);
    tw_gauge_set(&to->read, read);
    tw_gauge_set(&to->write, write);
    to->stamp_us = from->stamp_us;
    if (to->last != NULL && from->last != NULL) {
        memcpy(to->last, from->last, to->in_frame);
    }
}

static void carry_phase(const tw_graph_t *from, tw_graph_io_t *io)
{
    const tw_graph_io_t *old = io_of(from, io->hwid, io->tx);
    if (old != NULL && old->step == io->step && old->period == io->period) {
        io->phase = old->phase;
    }
}

/* All that a node of the new graph reads and writes comes along, so that a place in a frame keeps its meaning. */
static bool goes_on(const tw_graph_carry_t *c, const tw_graph_t *to, uint32_t t)
{
    const tw_graph_node_t *n = &to->nodes[t];
    for (uint32_t p = 0; p < (uint32_t)n->rx + n->tx; p++) {
        if (c->arcs == NULL || c->arcs[n->refs[p].arc] == TW_CARRY_NEW || to->arcs[n->refs[p].arc].special) {
            return false;
        }
    }
    return true;
}

static void carry_signal_of(const tw_graph_carry_t *c, const tw_graph_t *from, uint32_t f, tw_graph_t *to, uint32_t t,
                            bool on)
{
    const uint32_t saved = tw_graph_save_params(to, t, c->value);
    carry_memory(from, f, to, t);
    graph_reset_carried(to, t, on);
    tw_graph_restore_params(to, t, c->value, saved, c->value + c->value_bytes);
}

void tw_graph_carry_signal(const tw_graph_carry_t *c, tw_graph_t *from, tw_graph_t *to, bool back)
{
    for (uint32_t i = 0; i < to->n_nodes && c->nodes != NULL; i++) {
        const uint32_t f = c->nodes[i];
        if (f != TW_CARRY_NEW && back) {
            carry_signal_of(c, to, i, from, f, goes_on(c, to, i));
        } else if (f != TW_CARRY_NEW) {
            carry_signal_of(c, from, f, to, i, goes_on(c, to, i));
        }
    }
    for (uint32_t i = 0; i < to->n_arcs && c->arcs != NULL; i++) {
        tw_arc_t *a = c->arcs[i] != TW_CARRY_NEW ? &from->arcs[c->arcs[i]] : NULL;
        if (a != NULL) {
            carry_arc(back ? &to->arcs[i] : a, back ? a : &to->arcs[i]);
        }
    }
    tw_graph_carry_phases(back ? to : from, back ? from : to);
}

void tw_graph_carry_phases(const tw_graph_t *from, tw_graph_t *to)
{
    for (uint32_t i = 0; i < to->n_ios; i++) {
        carry_phase(from, &to->ios[i]);
    }
}

void tw_graph_carry(const tw_graph_carry_t *c, tw_graph_t *from, tw_graph_t *to, bool params)
{
    for (uint32_t i = 0; i < to->n_nodes; i++) {
        const uint32_t f = c->nodes[i];
        if (f == TW_CARRY_NEW) {
            continue;
        }
        carry_memory(from, f, to, i);
        const uint32_t saved = params ? tw_graph_save_params(from, f, c->value) : 0;
        to->nodes[i].preset = params ? from->nodes[f].preset : to->nodes[i].preset;
        graph_reset_carried(to, i, goes_on(c, to, i));
        tw_graph_restore_params(to, i, c->value, saved, c->value + c->value_bytes);
    }
    for (uint32_t i = 0; i < to->n_arcs; i++) {
        if (c->arcs[i] != TW_CARRY_NEW) {
            carry_arc(&from->arcs[c->arcs[i]], &to->arcs[i]);
        }
    }
    tw_graph_carry_phases(from, to);
}
