/* engine_swap.c - one graph for another: cross-fade, going back, and going back by itself.
 *
 *              swap (fade 0)            rollback
 *   A alone -----------------> B alone <---------> A alone        the other graph is kept, it does not run
 *      |  swap (fade n)           ^  | keep, unload
 *      +---------> A and B -------+  +-----> nothing to go back to
 *                    | rollback: the mixture turns round
 *
 * An unconfirmed swap is watched: too many blocks that take too long, or NaN in an output, and the engine rolls back
 * at the next boundary without being asked. Commands carry the generation they were checked against, so those that
 * were under way to the graph that left are refused, never applied to the other.
 */
#include "engine/engine_priv.h"

enum { HOT_BLOCKS = 8, HOT_PERMILLE = 1000, OP_SWAP_START = 1, OP_SWAP_CONFIRM = 8 };

/* ---- control side ------------------------------------------------------------------- */

void engine_sync(tw_engine_t *e)
{
    if (!engine_settled(e) || e->c.put != e->c.start) {
        return;
    }
    /* First the generation: with an older one than that of the graph seen, commands are refused, not misunderstood. */
    const uint32_t generation = atomic_load_explicit(&e->generation, memory_order_acquire);
    const uint32_t where = atomic_load_explicit(&e->where, memory_order_acquire);
    e->c.generation = e->c.group_generation = generation;
    e->c.view = e->c.group_view = (int)tw_bits(where, WHERE_CURRENT) - 1;
}

int engine_kept(const tw_engine_t *e)
{
    const uint32_t where = atomic_load_explicit(&e->where, memory_order_acquire);
    return e->c.kept_gone ? NO_SLOT : (int)tw_bits(where, WHERE_KEPT) - 1;
}

/* The open group swaps or unloads: what it leaves behind is not known yet. */
static bool group_moves(const tw_engine_t *e)
{
    return e->c.group_generation != e->c.generation;
}

static uint32_t blocks_of(const tw_graph_t *g, uint32_t fade_us)
{
    const double blocks = g->period_s > 0 ? fade_us * 1e-6 / g->period_s - 1e-6 : 0; /* what is whole stays so */
    const uint32_t whole =
        blocks < (double)TW_FADE_BLOCKS_MAX ? (uint32_t)(blocks > 0 ? blocks : 0) : TW_FADE_BLOCKS_MAX;
    return whole + (whole < blocks);
}

tw_err_t swap_plan(tw_engine_t *e, slot_t *s, const tw_swap_t *how, uint32_t *blocks, tw_fault_t *fault)
{
    slot_t *old = e->c.group_view != NO_SLOT ? &e->slots[e->c.group_view] : NULL;
    s->rest.used = s->rest_mark;
    s->plan = (tw_graph_carry_t){0};
    *blocks = old != NULL && how->start ? blocks_of(&s->graph, how->fade_us) : 0;
    if (*blocks >= TW_FADE_BLOCKS_MAX) {
        fault->err = TW_E_RANGE;
        return TW_E_RANGE;
    }
    if (*blocks != 0) {
        TW_TRY(fade_check(&old->side, &old->graph, &s->side, &s->graph, fault));
    }
    return old != NULL && how->carry != TW_CARRY_NONE
               ? tw_graph_carry_plan(&s->plan, &old->graph, &s->graph, &s->rest, fault)
               : TW_OK;
}

tw_err_t tw_engine_put_swap_to(tw_engine_t *e, uint32_t token, const tw_swap_t *how, tw_fault_t *fault)
{
    uint32_t blocks = 0;
    *fault = (tw_fault_t){0};
    if (e->c.primed == NO_SLOT || e->c.group_primed != NO_SLOT) {
        fault->err = TW_E_STATE;
        return TW_E_STATE;
    }
    TW_TRY(swap_plan(e, &e->slots[e->c.primed], how, &blocks, fault));
    const cmd_t c = {.op = OP_SWAP,
                     .token = token,
                     .a = (uint32_t)e->c.primed,
                     .b = (how->start ? OP_SWAP_START : 0u) | (how->confirm ? OP_SWAP_CONFIRM : 0u) |
                          tw_put_bits((uint32_t)how->carry, TW_LO(OP_SWAP_CARRY)),
                     .more = blocks};
    TW_TRY(engine_put(e, &c, NULL, on_token(token)));
    e->c.group_primed = e->c.group_view = e->c.primed;
    e->c.group_generation++;
    e->c.primed = NO_SLOT;
    return TW_OK;
}

tw_err_t tw_engine_put_swap(tw_engine_t *e, uint32_t token, bool start)
{
    tw_fault_t unused;
    return tw_engine_put_swap_to(e, token, &(tw_swap_t){.start = start}, &unused);
}

tw_err_t tw_engine_put_rollback(tw_engine_t *e, uint32_t token, uint32_t fade_us)
{
    engine_sync(e);
    if (!engine_settled(e) || group_moves(e)) {
        return TW_E_BUSY;
    }
    const int kept = engine_kept(e);
    if (kept == NO_SLOT) {
        return TW_E_NO_ROLLBACK;
    }
    tw_fault_t fault;
    const slot_t *from = &e->slots[e->c.group_view], *to = &e->slots[kept];
    uint32_t blocks = blocks_of(&to->graph, fade_us);
    if (blocks != 0 && fade_check(&from->side, &from->graph, &to->side, &to->graph, &fault) != TW_OK) {
        blocks = 0; /* going back is never refused for the sake of its sound */
    }
    const cmd_t c = {.op = OP_ROLLBACK, .token = token, .more = blocks};
    TW_TRY(engine_put(e, &c, NULL, on_token(token)));
    io_accept_again(e, &to->graph);
    e->c.group_view = kept;
    e->c.group_generation++;
    return TW_OK;
}

tw_err_t tw_engine_put_keep(tw_engine_t *e, uint32_t token)
{
    engine_sync(e);
    if (!engine_settled(e) || group_moves(e)) {
        return TW_E_BUSY;
    }
    if (engine_kept(e) == NO_SLOT) {
        return TW_E_NO_ROLLBACK;
    }
    const cmd_t c = {.op = OP_KEEP, .token = token};
    return engine_put(e, &c, NULL, on_token(token));
}

/* Values the engine put back by itself. After a graph it took back nothing was armed in the one that runs now. */
static void follow_reverts(tw_engine_t *e, uint32_t reverts)
{
    if (reverts != e->c.reverts && e->c.view != NO_SLOT) {
        values_revert(&e->slots[e->c.view], e->c.arms);
    }
    e->c.reverts = reverts;
}

void tw_engine_guard(tw_engine_t *e, tw_engine_guard_t *out)
{
    engine_sync(e);
    const uint32_t reverts = atomic_load_explicit(&e->reverts, memory_order_acquire);
    follow_reverts(e, reverts);
    const uint32_t where = atomic_load_explicit(&e->where, memory_order_acquire);
    *out = (tw_engine_guard_t){
        .armed = (tw_waits_t)tw_bits(where, WHERE_ARMED),
        .id = tw_gauge_get(&e->armed_id),
        .fading = tw_bits(where, WHERE_FADING) != 0,
        .kept = engine_kept(e) != NO_SLOT,
        .reverts = reverts,
        .reason = (tw_revert_t)tw_gauge_get(&e->revert_reason),
        .at = tw_gauge_get(&e->revert_at),
        .tick = tw_gauge_get(&e->revert_tick[0]) | (uint64_t)tw_gauge_get(&e->revert_tick[1]) << 32,
    };
}

/* ---- engine side --------------------------------------------------------------------- */

void engine_tell_where(tw_engine_t *e)
{
    const uint32_t where = tw_put_bits((uint32_t)(e->e.slot + 1), TW_LO(WHERE_CURRENT)) |
                           tw_put_bits((uint32_t)(e->e.kept + 1), TW_LO(WHERE_KEPT)) |
                           tw_put_bits(e->e.fading, TW_LO(WHERE_FADING)) | tw_put_bits(e->e.armed, TW_LO(WHERE_ARMED));
    atomic_store_explicit(&e->where, where, memory_order_release);
    atomic_store_explicit(&e->generation, e->e.generation, memory_order_release);
}

static slot_t *current(tw_engine_t *e)
{
    return &e->slots[e->e.slot];
}

/* While a fade runs there is another graph, in the other slot, also when it may not be gone back to any more. */
static slot_t *other(tw_engine_t *e)
{
    return &e->slots[1 - e->e.slot];
}

void swap_disarm(tw_engine_t *e)
{
    e->e.armed = TW_WAITS_NOTHING;
    e->e.hot = 0;
    undo_forget(e);
    for (int i = 0; i < 2; i++) {
        e->slots[i].side.watch = e->slots[i].side.broken = false;
    }
}

/* Nobody hears a graph that left: its objects have other numbers than those of the one that runs. */
static void silence(tw_graph_t *g)
{
    g->env.host = (tw_graph_host_t){0};
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        g->arcs[i].taps = NULL;
    }
}

static void stop_fade(tw_engine_t *e)
{
    if (e->e.fading) {
        fade_end(&e->slots[0].side, &e->slots[1].side);
        e->e.fading = false;
        tw_graph_ios_stop(&other(e)->graph);
    }
}

void swap_end_fade(tw_engine_t *e)
{
    if (e->e.fading) {
        stop_fade(e);
        engine_tell_where(e);
    }
}

/* The board switches formats: to those accepted for the graph, or back to those it knows from before. */
static void tell_board(const tw_engine_t *e, bool asked)
{
    const tw_board_t *b = e->cfg.board;
    void (*const turn)(void *) = asked ? b->adopt : b->back;
    if (turn != NULL) {
        turn(b->ctx);
    }
}

/* Another graph is the current one from here on: control said so (and had it accepted), or the engine goes back. */
static void become(tw_engine_t *e, int slot, int kept, bool asked)
{
    if (e->e.graph != NULL) {
        shadow_leave(e, e->e.graph);
        debug_leaves(e, e->e.graph);
        silence(e->e.graph);
        if (!e->e.fading) {
            tw_graph_ios_stop(e->e.graph);
        }
    }
    e->e.slot = slot;
    e->e.kept = kept;
    e->e.graph = slot != NO_SLOT ? &e->slots[slot].graph : NULL;
    e->e.generation++;
    e->e.steps = 0;
    e->e.watches = NULL;
    if (e->e.graph != NULL) {
        e->e.graph->env.host = engine_host(e);
        e->e.graph->env.port = &e->e.rec_port; /* until now the control side's, who must not write to the recording */
        tell_board(e, asked);
    }
}

static bool runs(const tw_engine_t *e)
{
    return tw_gauge_get(&e->state) == TW_GRAPH_RUNNING;
}

static uint32_t swap(tw_engine_t *e, const cmd_t *c)
{
    slot_t *s = &e->slots[c->a];
    tw_graph_t *old = e->e.graph;
    const tw_carry_t carry = (tw_carry_t)tw_bits(c->b, OP_SWAP_CARRY);
    const uint32_t blocks = old != NULL && runs(e) ? c->more : 0;
    stop_fade(e);
    swap_disarm(e);
    if (old != NULL && carry != TW_CARRY_NONE) {
        tw_graph_carry(&s->plan, old, &s->graph, carry == TW_CARRY_PARAMS);
    }
    if (blocks != 0) {
        fade_begin(&current(e)->side, &s->side, blocks, s->graph.period_s);
    }
    e->e.fading = blocks != 0;
    become(e, (int)c->a, old != NULL ? 1 - (int)c->a : NO_SLOT, true);
    if (old != NULL && carry == TW_CARRY_PARAMS) {
        io_carry(e, old);
    }
    tw_gauge_set(&e->state, (c->b & OP_SWAP_START) != 0 ? TW_GRAPH_RUNNING : TW_GRAPH_STOPPED);
    if ((c->b & OP_SWAP_CONFIRM) != 0 && old != NULL) {
        e->e.armed = TW_WAITS_SWAP;
        s->side.watch = true;
    }
    return blocks;
}

/* The graph one goes back to stood still. For a fade, what the signal left in the one that runs goes with it, where
 * both are the same. Not at once: a gain would glide back. Not when the signal went wrong: then nothing of it may. */
static void refresh_kept(tw_engine_t *e, bool carry)
{
    slot_t *now = current(e), *kept = other(e);
    const bool back = now->plan.nodes != NULL;
    slot_t *planned = back ? now : kept;
    if (e->e.fading) {
        return;
    }
    if (carry && planned->plan.nodes != NULL) {
        tw_graph_carry_signal(&planned->plan, back ? &kept->graph : &now->graph, &planned->graph, back);
    } else {
        tw_graph_carry_phases(&now->graph, &kept->graph);
    }
}

/* Asked by control, or by itself because of a signal that went wrong. @return blocks it takes */
static uint32_t roll_back(tw_engine_t *e, uint32_t blocks, bool asked)
{
    const int to = e->e.kept, from = e->e.slot;
    slot_t *a = &e->slots[from], *b = &e->slots[to];
    record_back(e);
    swap_disarm(e);
    refresh_kept(e, asked && blocks != 0);
    blocks = e->e.fading && fade_driven(&a->side) ? 0 : blocks; /* its drivers go back at once */
    if (e->e.fading && blocks != 0) {
        fade_turn(&b->side, &a->side);
        blocks = b->side.blocks - b->side.done;
    } else if (blocks != 0 && runs(e)) {
        fade_begin(&a->side, &b->side, blocks, b->graph.period_s);
    } else {
        stop_fade(e);
        blocks = 0;
    }
    e->e.fading = blocks != 0;
    become(e, to, from, asked);
    io_back(e, &a->graph);
    return blocks;
}

static void keep(tw_engine_t *e)
{
    if (e->e.armed == TW_WAITS_SWAP) {
        swap_disarm(e);
    }
    e->e.kept = NO_SLOT;
}

static void unload(tw_engine_t *e)
{
    stop_fade(e);
    swap_disarm(e);
    (void)tw_engine_save_state(e);
    become(e, NO_SLOT, NO_SLOT, true);
    tw_gauge_set(&e->state, TW_GRAPH_EMPTY);
}

void swap_apply(tw_engine_t *e, const cmd_t *c)
{
    tw_err_t err = TW_OK;
    uint32_t blocks = 0;
    if (c->op == OP_SWAP) {
        blocks = swap(e, c);
    } else if (c->op == OP_UNLOAD) {
        unload(e);
    } else if (c->generation != (uint16_t)e->e.generation || e->e.kept == NO_SLOT) {
        err = TW_E_GENERATION; /* it went back by itself meanwhile */
    } else if (c->op == OP_ROLLBACK) {
        blocks = roll_back(e, c->more, true);
    } else {
        keep(e);
    }
    engine_tell_where(e);
    /* From here on the control side may touch the slot that was left. */
    const uint32_t moves = atomic_load_explicit(&e->moves_done, memory_order_relaxed);
    atomic_store_explicit(&e->moves_done, moves + 1, memory_order_release);
    if (c->room != 0) {
        reply_t *r = reply_begin(e, c, err, 0);
        r->value = blocks;
        reply_send(e, r);
    }
}

/* ---- blocks ------------------------------------------------------------------------------ */

static uint32_t permille_of(const tw_engine_t *e, uint32_t cycles)
{
    const double block = e->e.graph->period_s * 1e6 * e->cfg.port->cycles_per_us;
    const double load = block > 0 ? cycles * 1000.0 / block : 0;
    return load < 1e6 ? (uint32_t)load : 1000000u;
}

/* The change that waits to be confirmed is taken back before the next block. */
static void revert(tw_engine_t *e, tw_revert_t reason, uint32_t at)
{
    const uint64_t tick = e->e.tick + 1;
    if (e->e.armed == TW_WAITS_SWAP) {
        (void)roll_back(e, 0, false);
    } else {
        undo_revert(e);
        if (reason == TW_REVERT_NAN) {
            tw_graph_restart(e->e.graph, current(e)->value, current(e)->value_bytes);
        }
        swap_disarm(e);
    }
    tw_gauge_set(&e->revert_reason, (uint32_t)reason);
    tw_gauge_set(&e->revert_at, at);
    tw_gauge_set(&e->revert_tick[0], (uint32_t)tick);
    tw_gauge_set(&e->revert_tick[1], (uint32_t)(tick >> 32));
    engine_tell_where(e);
    atomic_fetch_add_explicit(&e->reverts, 1, memory_order_release);
}

static void watch(tw_engine_t *e, uint32_t cycles)
{
    const uint32_t load = permille_of(e, cycles);
    const fade_side_t *side = &current(e)->side;
    e->e.hot = load > HOT_PERMILLE ? e->e.hot + 1 : 0;
    if (side->broken) {
        revert(e, TW_REVERT_NAN, side->broken_hwid);
    } else if (e->e.hot >= HOT_BLOCKS || e->c.overload) {
        e->c.overload = false;
        record_overload(e, load);
        revert(e, TW_REVERT_OVERLOAD, load);
    }
}

void swap_run_block(tw_engine_t *e)
{
    if (e->e.fading) {
        tw_graph_block(&other(e)->graph, e->e.tick);
    }
    if (e->e.armed == TW_WAITS_NOTHING) {
        tw_graph_block(e->e.graph, e->e.tick);
    } else {
        const tw_port_t *port = e->cfg.port;
        const uint32_t start = port->cycles(port->ctx);
        tw_graph_block(e->e.graph, e->e.tick);
        watch(e, port->cycles(port->ctx) - start);
    }
    if (e->e.fading && !fade_block_done(&other(e)->side, &current(e)->side, e->e.tick)) {
        e->e.fading = false;
        tw_graph_ios_stop(&other(e)->graph);
        engine_tell_where(e);
    }
}
