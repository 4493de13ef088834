/* graph_sched.c - the scheduler: one block of a graph.
 *
 *   IOs in -> [ pass over the nodes in order, run each that is ready; IOs out ] until a pass moves nothing
 *
 * A pass looks at the nodes whose bit in `awake` is set. A block begins with all of them; a node found not ready
 * sleeps until somebody writes into its arcs or, when it waits for room, takes something out. So a graph of which
 * little moves costs little, and the order of runs is that of looking at every node in every pass.
 */
#include "engine/graph/graph_priv.h"
#include "engine/graph/graph_shadow.h"

void sched_debug_script(tw_graph_t *g, uint32_t bit, int32_t node)
{
    const int64_t args[2] = {bit, node};
    if ((g->debug_fields & bit) == 0 || g->n_scripts == 0) {
        return;
    }
    if (node >= 0) {
        (void)script_run_for(g, (uint32_t)node, 0, args, 2, true, NULL);
    } else {
        (void)tw_graph_run_script(g, 0, args, 2, true, 0, NULL);
    }
}

enum { KEYS = 48 };

/* ---- the schedule ------------------------------------------------------------- */

/* Data in a row, ready by the frame, and no driver that holds it. */
static bool ordinary(const tw_arc_t *a)
{
    return a->type < TW_ARC_MODULO && !a->pins && a->flush == 0 && a->in_ready == a->in_frame &&
           a->out_ready == a->out_frame;
}

static bool plain(const tw_graph_t *g, const tw_graph_node_t *n)
{
    bool all = true;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        all = all && n->refs[i].lock == 0 && ordinary(&g->arcs[n->refs[i].arc]);
    }
    return all && n->hqos == 0 && n->script < 0 && n->own_script < 0;
}

static bool has_shadow(const tw_graph_t *g, uint32_t node)
{
    const tw_shadow_t *s = g->shadows;
    while (s != NULL && s->node != node) {
        s = s->next;
    }
    return s != NULL;
}

/* Holds one frame of both ends: after each use it is as it was before. */
static bool holds_one(const tw_arc_t *a)
{
    return a->in_frame == a->cap && a->out_frame == a->cap;
}

/* Nodes that work in place make as much as they take, and touch nothing but their data. */
static void bind_line(tw_graph_t *g, uint32_t at)
{
    tw_graph_hot_t *h = &g->hot[at];
    const tw_graph_hot_t *next = h + 1;
    h->line = at + 1 < g->n_nodes && h->single && next->single && h->out == next->in && h->key == next->key &&
              g->nodes[h->node].desc->in_place != 0 && g->nodes[next->node].desc->in_place != 0 && holds_one(h->out);
}

void tw_graph_bind(tw_graph_t *g, uint32_t node)
{
    const tw_graph_node_t *n = &g->nodes[node];
    tw_graph_hot_t *h = &g->hot[n->pos];
    h->run = n->stage != NULL ? stage_call : n->desc->run;
    h->inst = n->stage != NULL ? (void *)n->stage : n->inst;
    h->plain = plain(g, n) && !has_shadow(g, node);
    h->single = h->plain && n->rx == 1 && n->tx == 1;
    h->in = h->single ? &g->arcs[n->refs[0].arc] : NULL;
    h->out = h->single ? &g->arcs[n->refs[1].arc] : NULL;
    control_bind(g, node);
    bind_line(g, n->pos);
    if (n->pos != 0) {
        bind_line(g, n->pos - 1u);
    }
}

/* Class and priority in one number, what runs first lowest. A node of any class is one of the middle. */
static uint8_t key_of(const tw_graph_t *g, const tw_graph_node_t *n)
{
    static const uint8_t rank[4] = {1, 0, 1, 2};
    const uint32_t rtos = tw_bits(tw_img_word(g->env.image.nodes, n->record, 0), TW_N0_RTOS);
    return (uint8_t)(16u * rank[rtos] + 15u - tw_bits(tw_img_word(g->env.image.nodes, n->record, 1), TW_N1_PRIORITY));
}

/* Places by key, then by number: counted, so the schedule of any graph is made in two looks at its nodes. */
static void place_nodes(tw_graph_t *g)
{
    uint32_t next[KEYS + 1] = {0};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        next[key_of(g, &g->nodes[i]) + 1]++;
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        next[k + 1] += next[k];
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].pos = (uint16_t)next[key_of(g, &g->nodes[i])]++;
    }
}

static uint32_t end_of_level(const tw_graph_t *g, uint32_t begin)
{
    uint32_t end = begin;
    while (end < g->n_nodes && g->hot[end].key == g->hot[begin].key) {
        end++;
    }
    return end;
}

void sched_init(tw_graph_t *g)
{
    place_nodes(g);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tw_graph_node_t *n = &g->nodes[i];
        g->hot[n->pos] = (tw_graph_hot_t){
            .node = (uint16_t)i, .command = TW_CMD_RUN | n->command, .reruns = n->reruns, .key = key_of(g, n)};
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        tw_graph_bind(g, i);
    }
    g->first_end = end_of_level(g, 0);
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        const tw_img_ends_t e = tw_img_ends(g->img, i);
        g->arcs[i].from = e.from == TW_IMG_IO ? (uint16_t)TW_ARC_NOBODY : g->nodes[e.from].pos;
        g->arcs[i].to = e.to == TW_IMG_IO ? (uint16_t)TW_ARC_NOBODY : g->nodes[e.to].pos;
    }
}

/* ---- statistics ----------------------------------------------------------------- */

static void took(tw_graph_hot_t *h, uint32_t cycles)
{
    const uint32_t avg16 = tw_gauge_get(&h->cycles_avg16), c = tw_min_u32(cycles, UINT32_MAX / 32);
    const uint32_t now16 = avg16 == 0 ? 16 * c : avg16 - avg16 / 16 + c;
    tw_gauge_set(&h->cycles_last, cycles);
    tw_gauge_max(&h->cycles_max, cycles);
    tw_gauge_set(&h->cycles_avg16, now16);
    h->load_cycles += h->timed ? cycles : TW_LOAD_BLOCKS * c;
}

static uint32_t call_timed(tw_graph_t *g, tw_graph_hot_t *h, tw_xdm_t *x, uint32_t *state)
{
    const tw_port_t *p = g->env.port;
    const uint32_t start = p->cycles(p->ctx);
    const uint32_t err = h->run(h->command, h->inst, x, state);
    took(h, p->cycles(p->ctx) - start);
    return err;
}

static inline uint32_t call(tw_graph_t *g, tw_graph_hot_t *h, tw_xdm_t *x, uint32_t *state)
{
    g->current = h->node;
    h->block_runs++;
    tw_gauge_add(&h->runs, 1);
    return g->timing || h->timed ? call_timed(g, h, x, state) : h->run(h->command, h->inst, x, state);
}

uint32_t sched_call(tw_graph_t *g, tw_graph_hot_t *h, tw_xdm_t *x, uint32_t *state)
{
    return call(g, h, x, state);
}

/* Each block tells the loads of a part of the nodes, so that no block pays for all. */
static void tell_loads(tw_graph_t *g)
{
    const uint64_t part = g->block % TW_LOAD_BLOCKS;
    const uint32_t to = (uint32_t)((part + 1) * g->n_nodes / TW_LOAD_BLOCKS);
    for (uint32_t i = (uint32_t)(part * g->n_nodes / TW_LOAD_BLOCKS); i < to; i++) {
        tw_graph_hot_t *h = &g->hot[i];
        tw_gauge_set(&g->nodes[h->node].load_cycles, h->load_cycles / TW_LOAD_BLOCKS);
        h->load_cycles = 0;
        h->timed = tw_gauge_get(&h->cycles_avg16) >= 16u * TW_TIMED_CYCLES;
    }
}

/* Smoothed over about 16 blocks: steady enough to read, quick enough to see a change. */
static void smooth(tw_gauge_t *load, uint32_t now)
{
    const uint32_t old = tw_gauge_get(load);
    tw_gauge_set(load, now >= old ? old + (now - old + 15) / 16 : old - (old - now + 15) / 16);
}

/* ---- the short path --------------------------------------------------------------- */

/* Transmit arcs first: making room may move the data of an arc that comes back to this node. */
static inline tw_xdm_t offer_room(tw_arc_t *a)
{
    uint8_t *room = tw_arc_room(a, a->in_frame);
    return (tw_xdm_t){room, tw_arc_whole(tw_arc_tail(a), a->in_frame)};
}

static inline tw_xdm_t offer_data(tw_arc_t *a)
{
    return (tw_xdm_t){a->buf + tw_gauge_get(&a->read), tw_arc_available(a)};
}

static inline bool has_data(const tw_arc_t *a)
{
    return tw_arc_fill(a) >= a->out_frame;
}

static inline bool has_room(tw_arc_t *a)
{
    const bool room = tw_arc_free(a) >= a->in_frame;
    a->blocked |= !room;
    return room;
}

static bool plain_ready(tw_graph_t *g, const tw_graph_hot_t *h)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    for (uint32_t i = 0; i < n->rx; i++) {
        if (!has_data(&g->arcs[n->refs[i].arc])) {
            return false;
        }
    }
    for (uint32_t i = n->rx; i < (uint32_t)n->rx + n->tx; i++) {
        if (!has_room(&g->arcs[n->refs[i].arc])) {
            return false;
        }
    }
    return h->block_runs < TW_MAX_BLOCK_RUNS;
}

/* What a node says it used is believed as far as it was offered. @return bytes moved */
static uint32_t run_plain(tw_graph_t *g, tw_graph_hot_t *h, uint32_t *state)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    const uint32_t rx = n->rx, all = rx + n->tx;
    tw_xdm_t x[TW_MAX_NODE_ARCS];
    uint32_t moved = 0, given[TW_MAX_NODE_ARCS];
    for (uint32_t i = rx; i < all; i++) {
        x[i] = offer_room(&g->arcs[n->refs[i].arc]);
        given[i] = x[i].bytes;
    }
    for (uint32_t i = 0; i < rx; i++) {
        x[i] = offer_data(&g->arcs[n->refs[i].arc]);
        given[i] = x[i].bytes;
    }
    const uint32_t err = call(g, h, x, state);
    if (err != 0) {
        node_error(g, h->node, err);
    }
    for (uint32_t i = 0; i < all; i++) {
        tw_arc_t *a = &g->arcs[n->refs[i].arc];
        const uint32_t bytes = tw_min_u32(x[i].bytes, given[i]);
        moved += bytes;
        if (i < rx) {
            tw_arc_consume(a, bytes);
            sched_consumed(g, a);
        } else {
            flow_wrote(g, a, a->buf + tw_gauge_get(&a->write), bytes);
        }
    }
    return moved;
}

/* ---- one arc in, one out: most nodes of most graphs --------------------------------- */

/* An empty buffer begins anew at its start: no data to move. */
static inline uint32_t make_room(tw_arc_t *a, uint32_t write)
{
    if (a->special) {
        return (uint32_t)(tw_arc_room(a, a->in_frame) - a->buf);
    }
    if (a->cap - write < a->in_frame) {
        tw_arc_realign(a);
        return tw_gauge_get(&a->write);
    }
    return write;
}

static inline void end_single(tw_graph_t *g, const tw_graph_hot_t *h, uint32_t used, uint32_t made)
{
    tw_arc_t *in = h->in, *out = h->out;
    tw_arc_consume(in, used);
    sched_consumed(g, in);
    if (out->taps != NULL || out->last != NULL || out->task != NULL) {
        flow_wrote(g, out, out->buf + tw_gauge_get(&out->write), made);
    } else if (made != 0) {
        tw_arc_advance(out, made);
        out->stamp_us = g->now_us;
        sched_wake_alone(g, out->to);
    }
}

/* The indexes are read once: they are atomic, so the compiler may not keep them. @return false: it was not ready */
static inline bool run_single(tw_graph_t *g, tw_graph_hot_t *h, uint32_t *moved, uint32_t *state)
{
    tw_arc_t *in = h->in, *out = h->out;
    const uint32_t read = tw_gauge_get(&in->read), fill = tw_gauge_get(&in->write) - read;
    const uint32_t full = tw_gauge_get(&out->write) - tw_gauge_get(&out->read);
    const uint32_t space = out->special ? tw_arc_free(out) : out->cap - full;
    if (fill < in->out_frame || h->block_runs >= TW_MAX_BLOCK_RUNS) {
        return false;
    }
    if (space < out->in_frame) {
        out->blocked = true;
        return false;
    }
    const uint32_t write = make_room(out, tw_gauge_get(&out->write));
    const uint32_t tail = out->special ? space : out->cap - write;
    const uint32_t data = tw_arc_whole(fill, in->out_frame), room = tw_arc_whole(tail, out->in_frame);
    /* an arc from the node to itself may just have moved its data */
    tw_xdm_t x[2] = {{in->buf + (in == out ? tw_gauge_get(&in->read) : read), data}, {out->buf + write, room}};
    const uint32_t err = call(g, h, x, state);
    if (err != 0) {
        node_error(g, h->node, err);
    }
    const uint32_t used = tw_min_u32(x[0].bytes, data), made = tw_min_u32(x[1].bytes, room);
    *moved += used + made;
    end_single(g, h, used, made);
    return true;
}

/* @return false: it is not ready any more, or was not; *moved grows by what it moved */
static inline bool serve_single(tw_graph_t *g, tw_graph_hot_t *h, uint32_t *moved)
{
    uint32_t state = TW_NODE_DONE;
    bool ran = run_single(g, h, moved, &state);
    for (uint32_t k = 0; ran && state == TW_NODE_RERUN && k < h->reruns; k++) {
        state = TW_NODE_DONE;
        ran = run_single(g, h, moved, &state);
    }
    return ran && tw_arc_fill(h->in) >= h->in->out_frame;
}

/* ---- nodes in a line ------------------------------------------------------------------ */

/* Empty, as a frame that went through leaves it, and nobody looks: a frame that goes through now changes nothing. */
static inline bool settled(const tw_arc_t *a)
{
    return tw_gauge_get(&a->read) == a->cap && tw_gauge_get(&a->write) == a->cap && !a->blocked && a->taps == NULL &&
           a->last == NULL && a->task == NULL && (a->shares == NULL || tw_arc_fill(a->shares) == 0);
}

/* What the indexes say while a frame is in such an arc. */
static void show_frame(tw_graph_t *g, tw_arc_t *a, uint32_t bytes)
{
    tw_index_set(&a->read, 0);
    tw_index_set(&a->write, bytes);
    if (bytes != 0) {
        sched_wake_alone(g, a->to);
    }
}

/* A node that did not take or make a whole frame, or wants to run again: its arcs say what it did. */
static void end_uneven(tw_graph_t *g, const tw_graph_hot_t *h, bool first, const tw_xdm_t *x)
{
    if (!first) {
        show_frame(g, h->in, h->in->cap);
    }
    tw_arc_consume(h->in, tw_min_u32(x[0].bytes, h->in->out_frame));
    sched_consumed(g, h->in);
    show_frame(g, h->out, tw_min_u32(x[1].bytes, h->out->cap));
}

/* One frame from node to node, as long as it goes through whole; the arcs between need no index moved. The node behind
 * the last of them runs by its own way. @return places that need no other look, 0: not here */
static uint32_t run_line(tw_graph_t *g, uint32_t at, uint32_t *moved)
{
    tw_graph_hot_t *h = &g->hot[at];
    tw_arc_t *source = h->in;
    const uint32_t frame = h->out->cap;
    if (g->timing || h->block_runs >= TW_MAX_BLOCK_RUNS || source->out_frame != frame || tw_arc_fill(source) != frame ||
        !settled(h->out)) {
        return 0;
    }
    uint8_t *data = source->buf + tw_gauge_get(&source->read);
    uint32_t n = 0;
    do {
        tw_arc_t *out = h->out;
        tw_xdm_t x[2] = {{data, frame}, {out->buf, frame}};
        uint32_t state = TW_NODE_DONE;
        const uint32_t err = call(g, h, x, &state);
        if (err != 0) {
            node_error(g, h->node, err);
        }
        out->stamp_us = g->now_us;
        tw_gauge_max(&out->max_fill, frame);
        *moved |= x[0].bytes | x[1].bytes;
        n++;
        if (state != TW_NODE_DONE || x[0].bytes != frame || x[1].bytes != frame) {
            end_uneven(g, h, n == 1, x);
            return n - 1; /* whether it is ready again, its own way knows */
        }
        if (n == 1) {
            tw_arc_consume(source, frame);
            sched_consumed(g, source);
        }
        data = out->buf;
        h++;
    } while (h->line && h->out->cap == frame && h->block_runs < TW_MAX_BLOCK_RUNS && settled(h->out));
    show_frame(g, h->in, frame);
    return n;
}

static bool serve_plain(tw_graph_t *g, tw_graph_hot_t *h, uint32_t *moved)
{
    for (uint32_t k = 0; plain_ready(g, h); k++) {
        uint32_t state = TW_NODE_DONE;
        *moved += run_plain(g, h, &state);
        if (state != TW_NODE_RERUN || k >= h->reruns) {
            return true;
        }
    }
    return false;
}

/* ---- a block ---------------------------------------------------------------------- */

/* @return false: it is not ready now */
static inline bool serve(tw_graph_t *g, tw_graph_hot_t *h, bool short_path, uint32_t *moved)
{
    if (short_path && h->single) {
        return serve_single(g, h, moved);
    }
    if (short_path && h->plain) {
        return serve_plain(g, h, moved);
    }
    if (!node_ready(g, h)) {
        return false;
    }
    *moved += node_run(g, h);
    return true;
}

static uint32_t awake_from(const tw_graph_t *g, uint32_t at, uint32_t end)
{
    for (uint32_t w = at / 32; 32 * w < end; w++) {
        uint32_t bits = tw_gauge_get(&g->awake[w]);
        bits &= w == at / 32 ? UINT32_MAX << at % 32 : UINT32_MAX;
        if (bits != 0) {
            return tw_min_u32(32 * w + tw_low_bit(bits), end);
        }
    }
    return end;
}

static void sleep_at(tw_graph_t *g, uint32_t pos)
{
    tw_gauge_t *w = &g->awake[pos / 32];
    tw_gauge_set(w, tw_gauge_get(w) & ~(1u << pos % 32));
}

static void sleep_from(tw_graph_t *g, uint32_t pos, uint32_t n)
{
    while (n != 0) {
        const uint32_t bit = pos % 32, here = tw_min_u32(n, 32 - bit);
        const uint32_t mask = here < 32 ? (1u << here) - 1u : UINT32_MAX;
        tw_gauge_t *w = &g->awake[pos / 32];
        tw_gauge_set(w, tw_gauge_get(w) & ~(mask << bit));
        pos += here;
        n -= here;
    }
}

/* From g->at to the end of the level. Bits that are set behind the place the pass has come to are of this pass, others
 * of the next. @return true: it was left early, g->at is where it goes on */
static bool pass(tw_graph_t *g, bool one_node)
{
    const bool short_path = (g->debug_fields & (DBG_BEFORE | DBG_AFTER)) == 0;
    const uint32_t begin = g->level, end = g->level_end;
    const bool lines = short_path && !one_node && begin == 0; /* others are left after any node */
    uint32_t all = 0;
    bool early = false;
    for (uint32_t at = awake_from(g, g->at, end); at < end && !early; at = awake_from(g, at + 1, end)) {
        uint32_t moved = 0;
        if (lines && g->hot[at].line) {
            const uint32_t n = run_line(g, at, &moved);
            sleep_from(g, at, n);
            at += n;
        }
        const bool again = serve(g, &g->hot[at], short_path, &moved);
        if (!again) {
            sleep_at(g, at);
        }
        all |= moved;
        g->at = at + 1;
        early = (one_node && (again || moved != 0)) || (begin != 0 && awake_from(g, 0, begin) < begin);
    }
    g->moved |= all != 0;
    return early;
}

/* The level that begins at this place: nodes of one key. */
static void enter_level(tw_graph_t *g, uint32_t begin)
{
    g->level = g->at = begin;
    g->level_end = begin == 0 ? g->first_end : end_of_level(g, begin);
    g->moved = false;
}

/* A pass has come to its end. Nodes of this level that ran and moved nothing have had their turn: those of later
 * levels are not to wait for them. @return false: nothing is ready any more */
static bool next_pass(tw_graph_t *g)
{
    /* after each pass: an output arc of one frame must not hold up a block of several */
    g->moved |= flow_ios_out(g);
    sched_debug_script(g, DBG_LOOP, NO_NODE);
    if (g->moved) {
        enter_level(g, 0);
        return true;
    }
    if (g->level_end == g->n_nodes) {
        return false;
    }
    for (uint32_t at = g->level; at < g->level_end; at++) {
        sleep_at(g, at);
    }
    enter_level(g, g->level_end);
    return true;
}

void sched_begin(tw_graph_t *g, uint64_t tick)
{
    g->block_start = g->env.port->cycles(g->env.port->ctx);
    g->tick = tick;
    g->now_us = g->env.port->now_us(g->env.port->ctx);
    g->block++;
    g->timing = g->block % TW_LOAD_BLOCKS == 1;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->hot[i].block_runs = 0;
    }
    for (uint32_t at = 0; at < g->n_nodes; at += 32) {
        const uint32_t n = g->n_nodes - at;
        tw_gauge_set(&g->awake[at / 32], n < 32 ? (1u << n) - 1 : UINT32_MAX);
    }
    g->asks.running = true;
    if (g->untold) {
        script_tell_faults(g);
    }
    timers_run(g);
    sched_debug_script(g, DBG_START, NO_NODE);
    task_block(g);
    flow_ios_in(g);
}

void sched_end(tw_graph_t *g)
{
    sched_debug_script(g, DBG_RETURN, NO_NODE);
    g->asks.running = false;
    control_end_block(g);
    tell_loads(g);
    smooth(&g->load_cycles, g->env.port->cycles(g->env.port->ctx) - g->block_start);
}

void tw_graph_begin(tw_graph_t *g, uint64_t tick)
{
    sched_begin(g, tick);
    enter_level(g, 0);
    g->in_block = true;
}

bool tw_graph_run(tw_graph_t *g, tw_run_how_t how)
{
    const tw_run_how_t when = how == TW_RUN_IMAGE ? (tw_run_how_t)g->how : how;
    while (g->in_block) {
        if (pass(g, when == TW_RUN_NODE)) {
            if (awake_from(g, 0, g->level) < g->level) {
                enter_level(g, 0);
            }
            if (when == TW_RUN_NODE) {
                return true;
            }
            continue;
        }
        g->in_block = next_pass(g);
        if (!g->in_block) {
            sched_end(g);
        } else if (when == TW_RUN_PARSE) {
            return true;
        }
    }
    return false;
}

void tw_graph_block(tw_graph_t *g, uint64_t tick)
{
    if (g->mp != NULL) {
        mp_block(g, tick);
        return;
    }
    tw_graph_begin(g, tick);
    (void)tw_graph_run(g, TW_RUN_STARVED);
}
