/* graph_debug.c - running scripts under a debugger: holding a call, and going on with it. See graph_debug.h.
 *
 * Scripts that may meet a breakpoint run one instruction at a time; all others as without a debugger.
 */
#include "engine/graph/graph_debug_priv.h"

#if TW_SCRIPT_DEBUG

/* A held call goes on in the machine that can stop: never to its end at once (limit 0). */
enum { TO_THE_END = TW_SCRIPT_BUDGET_MAX + 1 };

static uint16_t index_of(const tw_graph_t *g, const tw_script_t *s)
{
    _Static_assert(offsetof(tw_graph_script_t, code) == 0, "a script's code tells which script it is");
    return (uint16_t)((const tw_graph_script_t *)(const void *)s - g->scripts);
}

uint16_t debug_script_of(const tw_graph_t *g, const tw_script_ctx_t *c)
{
    return index_of(g, c->script);
}

uint16_t debug_script_at(const tw_graph_t *g, const tw_script_frame_t *f)
{
    return index_of(g, f->script);
}

uint16_t tw_debug_running(const tw_graph_t *g)
{
    if (!g->in_script) {
        return TW_DEBUG_NOBODY;
    }
    const tw_graph_debug_t *d = g->debug;
    return index_of(g, (d != NULL && d->turning ? d->ctx_held : g->script_ctx)->script);
}

/* ---- trace ------------------------------------------------------------------------- */

void debug_trace(tw_graph_debug_t *d, tw_trace_t *t, const uint8_t *data)
{
    if (d->trace != NULL && (d->trace_kinds >> t->kind & 1) != 0) {
        t->tick = d->tick;
        d->trace(d->ctx, t, data);
    }
}

static bool traces(const tw_graph_debug_t *d, uint16_t script, unsigned kind)
{
    return (d->trace_kinds >> kind & 1) != 0 && debug_bit(d->traced, script);
}

typedef struct before {
    const tw_script_t *script;
    uint32_t at, used;
    uint64_t r[TW_SCRIPT_REGS];
    tw_stype_t type[TW_SCRIPT_REGS];
} before_t;

static before_t look_before(const tw_script_ctx_t *c)
{
    before_t b = {.script = c->script, .at = c->next, .used = c->used};
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        (void)tw_script_look(c, i, &b.type[i], &b.r[i]);
    }
    return b;
}

/* What an instruction did: its words, and the first register it changed. */
static void trace_instruction(tw_graph_debug_t *d, const before_t *before, const tw_script_ctx_t *c)
{
    const tw_script_t *s = before->script;
    tw_trace_t t = {.kind = TW_TRACE_INSTRUCTION, .script = index_of(d->graph, s), .at = before->at};
    t.number = c->flag != 0;
    t.bytes = tw_min_u32(tw_script_length(s, before->at), s->code_bytes - before->at);
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        tw_stype_t type;
        uint64_t bits;
        (void)tw_script_look(c, i, &type, &bits);
        if (bits != before->r[i] || type != before->type[i]) {
            t.number |= (i + 1) << 1;
            t.type = type;
            t.value = (int64_t)bits;
            break;
        }
    }
    debug_trace(d, &t, s->code + before->at);
}

/* ---- stops --------------------------------------------------------------------------- */

void debug_stop(tw_graph_debug_t *d, tw_debug_state_code_t state, tw_debug_stop_t why, uint32_t number)
{
    tw_graph_t *g = d->graph;
    const tw_script_ctx_t *c = d->ctx_held;
    d->state = (uint8_t)state;
    d->why = (uint8_t)why;
    d->number = number;
    d->stop_tick = d->tick;
    tw_trace_t t = {.kind = TW_TRACE_STOP, .script = d->entry, .number = number, .value = (int64_t)why};
    if (state == TW_DEBUG_HELD || state == TW_DEBUG_DEAD) {
        t.script = index_of(g, c->script);
        t.at = c->pc;
        d->wants_stop = d->wants_stop || ((d->flags & TW_DEBUG_STOPS_GRAPH) != 0 && state == TW_DEBUG_HELD);
    }
    debug_trace(d, &t, NULL);
    if (state == TW_DEBUG_FREE) {
        d->entry = TW_DEBUG_NOBODY;
    }
    /* last: whoever sees the number sees the rest by asking this thread */
    atomic_store_explicit(&d->stops, atomic_load_explicit(&d->stops, memory_order_relaxed) + 1, memory_order_release);
}

/* The machine that was running is kept, the graph goes on with the other. */
static void keep(tw_graph_debug_t *d, uint16_t entry, tw_debug_state_code_t state, tw_debug_stop_t why, uint32_t number)
{
    tw_graph_t *g = d->graph;
    d->ctx_held = g->script_ctx;
    g->script_ctx = d->ctx_held == d->home ? &d->spare : d->home;
    d->entry = entry;
    d->missed = 0;
    debug_stop(d, state, why, number);
}

static bool holds_call(const tw_graph_debug_t *d)
{
    return d->state == TW_DEBUG_HELD || d->state == TW_DEBUG_GOING;
}

/* Is the script part of the call that is kept? */
static bool part_of(const tw_graph_debug_t *d, uint16_t script)
{
    const tw_script_ctx_t *c = d->ctx_held;
    for (unsigned i = 0; i < c->depth; i++) {
        if (index_of(d->graph, c->frames[i].script) == script) {
            return true;
        }
    }
    return index_of(d->graph, c->script) == script;
}

static bool holds(const tw_graph_debug_t *d, uint16_t script)
{
    return holds_call(d) && part_of(d, script);
}

void debug_gone(tw_graph_t *g, uint32_t script, bool all, unsigned why)
{
    tw_graph_debug_t *d = g->debug;
    if (d == NULL) {
        return;
    }
    const bool dead = d->state == TW_DEBUG_DEAD && why != TW_STOP_DISABLED;
    if ((dead || holds_call(d)) && (all || part_of(d, (uint16_t)script))) {
        debug_stop(d, TW_DEBUG_FREE, (tw_debug_stop_t)why, 0);
    }
    if (why == TW_STOP_REPLACED) {
        debug_replaced(d, (uint16_t)script);
    }
}

/* ---- breakpoints ------------------------------------------------------------------------ */

static bool condition(const tw_debug_break_t *b, const tw_script_ctx_t *c)
{
    tw_stype_t type;
    uint64_t bits;
    if (b->if_op == TW_IF_ALWAYS) {
        return true;
    }
    if (tw_script_look(c, b->if_what, &type, &bits) != TW_OK) {
        return false;
    }
    const int order = tw_script_order(type, bits, (tw_stype_t)b->if_type, b->if_bits);
    switch ((tw_break_op_t)b->if_op) {
    case TW_IF_EQ:
        return order == 0;
    case TW_IF_NE:
        return order != 0;
    case TW_IF_LT:
        return order == -1;
    case TW_IF_LE:
        return order == -1 || order == 0;
    case TW_IF_GT:
        return order == 1;
    case TW_IF_GE:
        return order == 1 || order == 0;
    case TW_IF_ALWAYS:
        break;
    }
    return true;
}

/* It was met: count, and say whether it holds. One that holds once is gone then. */
static bool met(tw_graph_debug_t *d, tw_debug_break_t *b, const tw_script_ctx_t *c)
{
    if (!condition(b, c)) {
        return false;
    }
    b->hits++;
    if (b->hits <= b->skip) {
        return false;
    }
    if (holds_call(d) && c != d->ctx_held) {
        d->passed++;
        return false;
    }
    if ((b->flags & TW_BREAK_ONCE) != 0) {
        b->kind = TW_BREAK_NONE;
        debug_settle(d);
    }
    return true;
}

/* Number of the breakpoint before the next instruction that holds, 0 none. */
static uint32_t break_at(tw_graph_debug_t *d, const tw_script_ctx_t *c)
{
    const uint16_t script = index_of(d->graph, c->script);
    for (uint32_t i = 0; i < d->n_breaks; i++) {
        tw_debug_break_t *b = &d->breaks[i];
        if (b->kind == TW_BREAK_PC && b->at == c->next && b->script == script && (b->flags & TW_BREAK_OFF) == 0 &&
            met(d, b, c)) {
            return i + 1;
        }
    }
    return 0;
}

static bool watched(const tw_graph_debug_t *d, const tw_debug_break_t *b, const tw_script_ctx_t *c, tw_stype_t *type,
                    uint64_t *bits)
{
    *type = TW_T_U64;
    *bits = 0;
    if (b->kind == TW_BREAK_VALUE) {
        return index_of(d->graph, c->script) == b->script && tw_script_look(c, b->what, type, bits) == TW_OK;
    }
    if (b->kind != TW_BREAK_MEMORY) {
        return false;
    }
    const uint8_t *at = d->graph->scripts[b->script].code.mem + b->at;
    for (unsigned i = 0; i < b->bytes; i++) {
        *bits |= (uint64_t)at[i] << (8 * i);
    }
    return true;
}

static void look_at_watches(tw_graph_debug_t *d, const tw_script_ctx_t *c)
{
    for (uint32_t i = 0; i < d->n_breaks; i++) {
        tw_stype_t type;
        uint64_t bits;
        if (d->breaks[i].kind > TW_BREAK_PC && watched(d, &d->breaks[i], c, &type, &bits)) {
            d->breaks[i].old = bits;
            d->breaks[i].old_type = (uint8_t)type;
        }
    }
}

/* Number of the watch whose value the last instruction changed, 0 none. */
static uint32_t changed(tw_graph_debug_t *d, const tw_script_ctx_t *c)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < d->n_breaks; i++) {
        tw_debug_break_t *b = &d->breaks[i];
        tw_stype_t type;
        uint64_t bits;
        if (b->kind <= TW_BREAK_PC || !watched(d, b, c, &type, &bits) || (bits == b->old && type == b->old_type)) {
            continue;
        }
        b->old = bits;
        b->old_type = (uint8_t)type;
        first = (b->flags & TW_BREAK_OFF) == 0 && first == 0 && met(d, b, c) ? i + 1 : first;
    }
    return first;
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct stop {
    tw_debug_stop_t why;
    uint32_t number;
} stop_t;

static bool reached(tw_graph_debug_t *d, const tw_script_ctx_t *c)
{
    switch ((tw_debug_op_t)d->goal.op) {
    case TW_DBG_STEP:
        return --d->goal.n == 0;
    case TW_DBG_NEXT:
        return c->depth <= d->goal.depth;
    case TW_DBG_FINISH:
        return c->depth < d->goal.depth;
    case TW_DBG_UNTIL:
        return c->next == d->goal.pc && index_of(d->graph, c->script) == d->goal.script;
    default:
        return false;
    }
}

static tw_err_t one(tw_graph_debug_t *d, tw_script_ctx_t *c)
{
    const uint16_t script = index_of(d->graph, c->script);
    d->slow++;
    if (!traces(d, script, TW_TRACE_INSTRUCTION)) {
        return tw_script_go(c, 1);
    }
    const before_t before = look_before(c);
    const tw_err_t err = tw_script_go(c, 1);
    if (c->used != before.used) {
        trace_instruction(d, &before, c);
    }
    return err;
}

/**
 * Up to `limit` instructions, one by one.
 * @param fresh  the first one was not looked at for breakpoints yet
 * @param going  the goal counts
 * @return as tw_script_go(); SCR_HELD with out->why NONE: the limit
 */
static tw_err_t run_slowly(tw_graph_debug_t *d, tw_script_ctx_t *c, uint32_t limit, bool fresh, bool going, stop_t *out)
{
    *out = (stop_t){TW_STOP_NONE, 0};
    look_at_watches(d, c);
    for (uint32_t n = 0; n < limit; n++) {
        if (fresh && (out->number = break_at(d, c)) != 0) {
            out->why = TW_STOP_BREAK;
            return TW_E_SCR_HELD;
        }
        fresh = true;
        d->broke = false;
        const tw_err_t err = one(d, c);
        if (err != TW_E_SCR_HELD) {
            return err;
        }
        if (d->broke) {
            *out = (stop_t){TW_STOP_BRK, d->number};
        } else if ((out->number = changed(d, c)) != 0) {
            out->why = TW_STOP_WATCH;
        } else if (going && reached(d, c)) {
            out->number = break_at(d, c);
            out->why = out->number != 0 ? TW_STOP_BREAK : TW_STOP_STEP;
        }
        if (out->why != TW_STOP_NONE) {
            return err;
        }
    }
    return TW_E_SCR_HELD;
}

static bool on_brk(void *ctx, uint32_t k, tw_script_ctx_t *c)
{
    tw_graph_t *g = ctx;
    tw_graph_debug_t *d = g->debug;
    if (holds_call(d) && c != d->ctx_held) {
        d->passed++;
        return false;
    }
    d->broke = true;
    d->number = k;
    return true;
}

void debug_listen(tw_graph_t *g, bool on)
{
    g->script_host.brk = on ? on_brk : NULL;
}

/* A call that cannot go on: kept where the debugger wants to see such. */
static void died(tw_graph_debug_t *d, uint16_t entry, tw_err_t err)
{
    const uint32_t number = (uint32_t) - (int32_t)err;
    if (d->attached && (d->flags & TW_DEBUG_FAULTS) != 0 && !holds_call(d)) {
        keep(d, entry, TW_DEBUG_DEAD, TW_STOP_FAULT, number);
    }
}

tw_err_t debug_call(tw_graph_t *g, uint32_t script, const tw_script_start_t *start, const tw_script_ctx_t **ctx)
{
    tw_graph_debug_t *d = g->debug;
    tw_script_ctx_t *const c = g->script_ctx;
    stop_t stop = {TW_STOP_NONE, 0};
    *ctx = NULL;
    if (holds(d, (uint16_t)script)) {
        d->missed++;
        return TW_E_SCR_HELD;
    }
    tw_script_begin(c, &g->scripts[script].code, &g->script_host, start->args, start->n_args, start->flag,
                    start->budget);
    *ctx = c;
    tw_trace_t t = {.kind = TW_TRACE_CALL, .script = (uint16_t)script, .value = start->n_args ? start->args[0] : 0};
    if (traces(d, (uint16_t)script, TW_TRACE_CALL)) {
        debug_trace(d, &t, NULL);
    }
    tw_err_t err = TW_E_SCR_HELD;
    d->broke = false;
    if (d->hold_next == script && !holds_call(d)) {
        d->hold_next = TW_DEBUG_NOBODY;
        stop.why = TW_STOP_ASKED;
    } else if (debug_bit(d->checked, (uint16_t)script)) {
        err = run_slowly(d, c, TO_THE_END, true, false, &stop);
    } else {
        err = tw_script_go(c, 0);
        stop = (stop_t){TW_STOP_BRK, d->number};
    }
    if (err == TW_E_SCR_HELD) {
        keep(d, (uint16_t)script, TW_DEBUG_HELD, stop.why, stop.number);
    } else if (err != TW_OK) {
        died(d, (uint16_t)script, err);
    }
    return err;
}

/* ---- going on ---------------------------------------------------------------------------------- */

/* The held call is over. */
static void ended(tw_graph_debug_t *d, tw_err_t err)
{
    tw_graph_t *g = d->graph;
    if (err == TW_OK) {
        debug_stop(d, TW_DEBUG_FREE, TW_STOP_ENDED, 0);
        return;
    }
    script_isolate(g, d->entry, err, d->ctx_held->pc);
    debug_stop(d, TW_DEBUG_DEAD, TW_STOP_FAULT, (uint32_t) - (int32_t)err);
}

void tw_debug_turn(tw_graph_debug_t *d)
{
    stop_t stop;
    if (d->state != TW_DEBUG_GOING || d->graph->in_script) {
        return;
    }
    d->graph->in_script = d->turning = true;
    const tw_err_t err = run_slowly(d, d->ctx_held, TW_DEBUG_PORTION, d->fresh, true, &stop);
    d->graph->in_script = d->turning = false;
    d->fresh = true;
    if (err != TW_E_SCR_HELD) {
        ended(d, err);
    } else if (stop.why != TW_STOP_NONE) {
        debug_stop(d, TW_DEBUG_HELD, stop.why, stop.number);
    }
}

/* To its end, whatever stands in the way: nobody is there to be told. */
void debug_let_go(tw_graph_debug_t *d)
{
    tw_graph_t *g = d->graph;
    if (!holds_call(d)) {
        return;
    }
    debug_listen(g, false);
    g->in_script = d->turning = true;
    const tw_err_t err = tw_script_go(d->ctx_held, TO_THE_END);
    g->in_script = d->turning = false;
    if (err != TW_OK) {
        script_isolate(g, d->entry, err, d->ctx_held->pc);
    }
    debug_stop(d, TW_DEBUG_FREE, TW_STOP_ENDED, 0);
}

#endif
