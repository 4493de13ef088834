/* graph_debug_cmd.c - what a debugger may ask: breakpoints, going on, looking and changing. See graph_debug.h. */
#include "engine/graph/graph_debug_priv.h"

const char *tw_debug_stop_text(unsigned why)
{
    switch ((tw_debug_stop_t)why) {
#define TW_DEBUG_STOP(code, NAME, holds, text) \
    case TW_STOP_##NAME:                       \
        return text;
#include "engine/graph/debug_stops.def"
    }
    return "?";
}

#if TW_SCRIPT_DEBUG

static void set_bit(uint64_t *mask, uint32_t script)
{
    mask[script / 64] |= (uint64_t)1 << script % 64;
}

/* Whoever may reach a script that is looked at is looked at: calls go to the first 64. */
void debug_settle(tw_graph_debug_t *d)
{
    const tw_graph_t *g = d->graph;
    memset(d->checked, 0, sizeof d->checked);
    d->n_breaks = 0;
    for (uint32_t i = 0; i < TW_DEBUG_BREAKS; i++) {
        const tw_debug_break_t *b = &d->breaks[i];
        d->n_breaks = b->kind != TW_BREAK_NONE ? i + 1 : d->n_breaks;
        if (b->kind != TW_BREAK_NONE && (b->flags & TW_BREAK_OFF) == 0) {
            set_bit(d->checked, b->script);
        }
    }
    for (uint32_t i = 0; i < TW_COUNT(d->checked) && (d->trace_kinds >> TW_TRACE_INSTRUCTION & 1) != 0; i++) {
        d->checked[i] |= d->traced[i];
    }
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < tw_min_u32(g->n_scripts, TW_DEBUG_SCRIPTS); i++) {
            if (!debug_bit(d->checked, (uint16_t)i) && (g->scripts[i].installed & d->checked[0]) != 0) {
                set_bit(d->checked, i);
                more = true;
            }
        }
    }
}

void debug_replaced(tw_graph_debug_t *d, uint16_t script)
{
    for (uint32_t i = 0; i < TW_DEBUG_BREAKS; i++) {
        tw_debug_break_t *b = &d->breaks[i];
        if (b->kind == TW_BREAK_PC && b->script == script &&
            !tw_script_starts(&d->graph->scripts[script].code, b->at)) {
            b->kind = TW_BREAK_NONE;
        }
    }
    debug_settle(d);
}

/* ---- attach and detach ------------------------------------------------------------- */

void tw_debug_init(tw_graph_debug_t *d)
{
    *d = (tw_graph_debug_t){.hold_next = TW_DEBUG_NOBODY, .entry = TW_DEBUG_NOBODY, .stops = 1};
    for (uint32_t i = 0; i < TW_DEBUG_BREAKS; i++) {
        d->breaks[i].number = (uint16_t)(i + 1);
    }
}

/* The graph looks at `d` while somebody debugs or traces. */
static void listen(tw_graph_debug_t *d, tw_graph_t *g)
{
    if (d->graph == NULL) {
        d->graph = g;
        d->home = g->script_ctx;
    }
    const bool on = d->attached || d->trace_kinds != 0;
    g->debug = on ? d : NULL;
    debug_listen(g, d->attached);
    debug_settle(d);
    if (!on) {
        g->script_ctx = d->home; /* no call needs the other one any more */
        d->graph = NULL;
    }
}

static void attach(tw_graph_debug_t *d, tw_graph_t *g, uint8_t flags)
{
    d->flags = flags;
    if (!d->attached) {
        d->attached = true;
        d->state = TW_DEBUG_FREE;
        d->why = TW_STOP_NONE;
        d->missed = d->passed = 0;
        listen(d, g);
    }
}

static void clear_breaks(tw_graph_debug_t *d)
{
    for (uint32_t i = 0; i < TW_DEBUG_BREAKS; i++) {
        d->breaks[i].kind = TW_BREAK_NONE;
    }
    d->hold_next = TW_DEBUG_NOBODY;
}

static void detach(tw_graph_debug_t *d, tw_graph_t *g)
{
    d->attached = d->wants_stop = d->held_graph = false;
    d->state = TW_DEBUG_OFF;
    d->entry = TW_DEBUG_NOBODY;
    clear_breaks(d);
    listen(d, g);
}

void tw_debug_leave(tw_graph_debug_t *d, tw_graph_t *g)
{
    if (d->graph == g) {
        d->trace_kinds = 0;
        detach(d, g);
        atomic_store_explicit(&d->stops, atomic_load_explicit(&d->stops, memory_order_relaxed) + 1,
                              memory_order_release);
    }
}

static void trace(tw_graph_debug_t *d, tw_graph_t *g, const tw_debug_cmd_t *q)
{
    d->trace_kinds = q->a;
    memcpy(d->traced, q->mask, sizeof d->traced);
    if (d->graph != NULL || q->a != 0) {
        listen(d, g);
    }
}

/* ---- breakpoints -------------------------------------------------------------------- */

static bool register_ok(unsigned what)
{
    return what < TW_SCRIPT_REGS || what == TW_LOOK_LC || (what >= TW_LOOK_S0 && what <= TW_LOOK_USED);
}

static tw_err_t break_ok(const tw_graph_t *g, const tw_debug_break_t *b)
{
    if (b->script >= g->n_scripts) {
        return TW_E_SCRIPT_NONE;
    }
    const tw_script_t *s = &g->scripts[b->script].code;
    const bool power = b->bytes == 1 || b->bytes == 2 || b->bytes == 4 || b->bytes == 8;
    if (b->if_op > TW_IF_GE || (b->flags & ~(TW_BREAK_ONCE | TW_BREAK_OFF)) != 0) {
        return TW_E_ARG;
    }
    if (b->if_op != TW_IF_ALWAYS && (!register_ok(b->if_what) || b->if_type > TW_T_CHAR)) {
        return b->if_type > TW_T_CHAR ? TW_E_SCR_BAD_TYPE : TW_E_SCR_BAD_REG;
    }
    switch (b->kind) {
    case TW_BREAK_PC:
        return tw_script_starts(s, b->at) ? TW_OK : TW_E_SCR_BAD_TARGET;
    case TW_BREAK_VALUE:
        return register_ok(b->what) && b->what != TW_LOOK_USED ? TW_OK : TW_E_SCR_BAD_REG;
    case TW_BREAK_MEMORY:
        return s->mem != NULL && power && tw_inside(b->at, b->bytes, s->mem_bytes) ? TW_OK : TW_E_SCR_BAD_PTR;
    default:
        return TW_E_ARG;
    }
}

static tw_debug_break_t *place_of(tw_graph_debug_t *d, uint32_t number)
{
    for (uint32_t i = 0; i < TW_DEBUG_BREAKS; i++) {
        tw_debug_break_t *b = &d->breaks[i];
        if (number == 0 ? b->kind == TW_BREAK_NONE : b->kind != TW_BREAK_NONE && b->number == number) {
            return b;
        }
    }
    return NULL;
}

/* A new one, or another condition for one that is there. Its hits count anew. */
static tw_err_t break_set(tw_graph_debug_t *d, const tw_debug_break_t *want, void *out, uint32_t *bytes)
{
    tw_debug_break_t *b = place_of(d, want->number);
    if (b == NULL) {
        return want->number == 0 ? TW_E_NOMEM : TW_E_NOT_FOUND;
    }
    TW_TRY(break_ok(d->graph, want));
    const uint16_t number = b->number;
    *b = *want;
    b->number = number;
    b->hits = 0;
    debug_settle(d);
    memcpy(out, b, sizeof *b);
    *bytes = sizeof *b;
    return TW_OK;
}

static tw_err_t break_clear(tw_graph_debug_t *d, uint32_t number)
{
    tw_debug_break_t *b = number != 0 ? place_of(d, number) : NULL;
    if (number != 0 && b == NULL) {
        return TW_E_NOT_FOUND;
    }
    if (b != NULL) {
        b->kind = TW_BREAK_NONE;
    } else {
        clear_breaks(d);
    }
    debug_settle(d);
    return TW_OK;
}

static void break_list(const tw_graph_debug_t *d, uint8_t *out, uint32_t *bytes)
{
    *bytes = 0;
    for (uint32_t i = 0; i < TW_DEBUG_BREAKS; i++) {
        if (d->breaks[i].kind != TW_BREAK_NONE) {
            memcpy(out + *bytes, &d->breaks[i], sizeof d->breaks[i]);
            *bytes += (uint32_t)sizeof d->breaks[i];
        }
    }
}

static bool has_call(const tw_graph_debug_t *d)
{
    return d->state >= TW_DEBUG_HELD;
}

/* ---- going on -------------------------------------------------------------------------- */

static tw_err_t hold(tw_graph_debug_t *d, uint16_t script)
{
    if (d->state == TW_DEBUG_GOING) {
        debug_stop(d, TW_DEBUG_HELD, TW_STOP_ASKED, 0);
    } else if (d->state != TW_DEBUG_HELD) {
        if (script != TW_DEBUG_NOBODY && script >= d->graph->n_scripts) {
            return TW_E_SCRIPT_NONE;
        }
        d->hold_next = script;
    }
    return TW_OK;
}

static tw_err_t go(tw_graph_debug_t *d, const tw_debug_cmd_t *q)
{
    const tw_graph_t *g = d->graph;
    if (q->b != 0 && q->b != atomic_load_explicit(&d->stops, memory_order_relaxed) && has_call(d)) {
        return TW_OK;
    }
    if (q->op == TW_DBG_CONTINUE && (d->state == TW_DEBUG_FREE || d->state == TW_DEBUG_DEAD)) {
        d->state = TW_DEBUG_FREE;
        d->entry = TW_DEBUG_NOBODY;
        return TW_OK;
    }
    if (d->state != TW_DEBUG_HELD) {
        return TW_E_STATE;
    }
    if (q->op == TW_DBG_UNTIL && q->script >= g->n_scripts) {
        return TW_E_SCRIPT_NONE;
    }
    if (q->op == TW_DBG_UNTIL && !tw_script_starts(&g->scripts[q->script].code, q->a)) {
        return TW_E_SCR_BAD_TARGET;
    }
    d->goal.op = q->op;
    d->goal.depth = d->ctx_held->depth;
    d->goal.n = tw_max_u32(q->a, 1);
    d->goal.script = q->script;
    d->goal.pc = q->a;
    d->fresh = false;
    d->missed = 0;
    d->state = TW_DEBUG_GOING;
    return TW_OK;
}

static tw_err_t drop(tw_graph_debug_t *d)
{
    if (d->state == TW_DEBUG_FREE) {
        return TW_E_STATE;
    }
    debug_stop(d, TW_DEBUG_FREE, TW_STOP_DROPPED, 0);
    return TW_OK;
}

/* ---- looking and changing ----------------------------------------------------------------- */

typedef struct span {
    const uint8_t *at;
    uint32_t bytes;
    bool writable;
} span_t;

static tw_err_t span_of(const tw_graph_debug_t *d, const tw_debug_cmd_t *q, span_t *out)
{
    const tw_graph_t *g = d->graph;
    *out = (span_t){NULL, 0, false};
    if (q->space == TW_SPACE_POINTER) {
        const tw_sptr_t *p = has_call(d) && q->script < TW_SCRIPT_PTRS ? &d->ctx_held->p[q->script] : NULL;
        if (p == NULL) {
            return has_call(d) ? TW_E_SCR_BAD_REG : TW_E_STATE;
        }
        *out = (span_t){p->space != 0 ? p->base : NULL, p->size, p->space != 2};
        return out->at != NULL ? TW_OK : TW_E_SCR_BAD_PTR;
    }
    if (q->script >= g->n_scripts) {
        return TW_E_SCRIPT_NONE;
    }
    const tw_script_t *s = &g->scripts[q->script].code;
    switch (q->space) {
    case TW_SPACE_MEMORY:
        *out = (span_t){s->mem, s->mem_bytes, true};
        return s->mem != NULL ? TW_OK : TW_E_SCR_BAD_PTR;
    case TW_SPACE_CODE:
        *out = (span_t){s->code, tw_script_bytes(s->code_bytes, s->pool_bytes), false};
        return TW_OK;
    default:
        return TW_E_ARG;
    }
}

enum { STACK_ENTRY = 9 };

static tw_err_t peek_stack(const tw_graph_debug_t *d, const tw_debug_cmd_t *q, uint8_t *out, uint32_t *bytes)
{
    *bytes = 0;
    if (!has_call(d)) {
        return TW_E_STATE;
    }
    tw_stype_t type;
    uint64_t bits;
    const uint32_t most = tw_min_u32(q->b, TW_DEBUG_PEEK_MAX / STACK_ENTRY);
    for (uint32_t i = q->a; i - q->a < most && tw_script_stack(d->ctx_held, i, &type, &bits); i++) {
        out[*bytes] = (uint8_t)type;
        tw_put_le64(out + *bytes + 1, bits);
        *bytes += STACK_ENTRY;
    }
    return TW_OK;
}

/* As many bytes as there are behind the first. */
static tw_err_t peek(const tw_graph_debug_t *d, const tw_debug_cmd_t *q, uint8_t *out, uint32_t *bytes)
{
    span_t s;
    if (q->space == TW_SPACE_STACK) {
        return peek_stack(d, q, out, bytes);
    }
    TW_TRY(span_of(d, q, &s));
    if (q->a > s.bytes) {
        return TW_E_RANGE;
    }
    *bytes = tw_min_u32(tw_min_u32(q->b, TW_DEBUG_PEEK_MAX), s.bytes - q->a);
    memcpy(out, s.at + q->a, *bytes);
    return TW_OK;
}

static tw_err_t poke(const tw_graph_debug_t *d, const tw_debug_cmd_t *q)
{
    span_t s;
    if (q->space == TW_SPACE_STACK) {
        return TW_E_SCR_BAD_PTR;
    }
    TW_TRY(span_of(d, q, &s));
    if (!s.writable) {
        return TW_E_SCR_BAD_PTR;
    }
    if (q->b > TW_DEBUG_DATA || !tw_inside(q->a, q->b, s.bytes)) {
        return TW_E_RANGE;
    }
    memcpy((uint8_t *)(uintptr_t)s.at + q->a, q->data, q->b); /* writable: the window is RAM */
    return TW_OK;
}

static tw_err_t set_value(tw_graph_debug_t *d, const tw_debug_cmd_t *q)
{
    if (d->state != TW_DEBUG_HELD) {
        return TW_E_STATE;
    }
    if (q->b > TW_T_CHAR) {
        return TW_E_SCR_BAD_TYPE;
    }
    return tw_script_change(d->ctx_held, q->a, (tw_stype_t)q->b, q->bits);
}

/* ---- the state ----------------------------------------------------------------------------- */

static void tell_call(const tw_graph_debug_t *d, tw_debug_state_t *out)
{
    const tw_graph_t *g = d->graph;
    const tw_script_ctx_t *c = d->ctx_held;
    tw_stype_t type = TW_T_I32;
    out->used = c->used;
    out->budget = c->budget;
    out->errors = c->errors;
    out->lc = c->lc;
    out->sp = c->sp;
    out->flag = c->flag != 0;
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        (void)tw_script_look(c, i, &type, &out->r[i].bits);
        out->r[i].type = (uint8_t)type;
    }
    for (unsigned i = 0; i < TW_DEBUG_TOP && i + c->base < c->sp; i++) {
        (void)tw_script_stack(c, c->sp - 1u - i, &type, &out->top[i].bits);
        out->top[i].type = (uint8_t)type;
        out->n_top++;
    }
    for (unsigned i = 0; i < TW_SCRIPT_PTRS; i++) {
        out->p[i].space = c->p[i].space;
        out->p[i].type = c->p[i].type;
        out->p[i].size = c->p[i].size;
        out->p[i].offset = c->p[i].offset;
    }
    out->frames[0] = (tw_debug_frame_t){.script = debug_script_of(g, c), .pc = c->pc};
    out->n_frames = 1;
    for (unsigned i = c->depth; i > 0; i--) {
        const tw_script_frame_t *f = &c->frames[i - 1];
        out->frames[out->n_frames - 1].callscript = f->callscript;
        out->frames[out->n_frames++] = (tw_debug_frame_t){.script = debug_script_at(g, f), .pc = f->next};
    }
}

static void tell(const tw_graph_debug_t *d, tw_debug_state_t *out)
{
    memset(out, 0, sizeof *out);
    out->state = d->state;
    out->flags = d->flags;
    out->why = d->why;
    out->number = d->number;
    out->held_graph = d->held_graph || d->wants_stop;
    out->stops = atomic_load_explicit(&d->stops, memory_order_relaxed);
    out->tick = d->stop_tick;
    out->entry = d->entry;
    out->missed = d->missed;
    out->passed = d->passed;
    if (has_call(d)) {
        tell_call(d, out);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

uint32_t tw_debug_reply_bytes(const tw_debug_cmd_t *q)
{
    switch (q->op) {
    case TW_DBG_BREAK_SET:
        return sizeof(tw_debug_break_t);
    case TW_DBG_BREAK_LIST:
        return TW_DEBUG_BREAKS * (uint32_t)sizeof(tw_debug_break_t);
    case TW_DBG_PEEK:
        return q->space == TW_SPACE_STACK ? TW_SCRIPT_STACK_MAX * STACK_ENTRY : tw_min_u32(q->b, TW_DEBUG_PEEK_MAX);
    default:
        return sizeof(tw_debug_state_t);
    }
}

static tw_err_t act(tw_graph_debug_t *d, tw_graph_t *g, const tw_debug_cmd_t *q)
{
    switch ((tw_debug_op_t)q->op) {
    case TW_DBG_DETACH:
        if (q->a == 0) {
            debug_let_go(d);
        }
        detach(d, g);
        return TW_OK;
    case TW_DBG_STATE:
        return TW_OK;
    case TW_DBG_BREAK_CLEAR:
        return break_clear(d, q->a);
    case TW_DBG_CONTINUE:
    case TW_DBG_STEP:
    case TW_DBG_NEXT:
    case TW_DBG_FINISH:
    case TW_DBG_UNTIL:
        return go(d, q);
    case TW_DBG_HOLD:
        return hold(d, q->script);
    case TW_DBG_DROP:
        return drop(d);
    case TW_DBG_POKE:
        return poke(d, q);
    case TW_DBG_SET:
        return set_value(d, q);
    case TW_DBG_ATTACH:
    case TW_DBG_TRACE:
    case TW_DBG_BREAK_SET:
    case TW_DBG_BREAK_LIST:
    case TW_DBG_PEEK:
        break;
    }
    return TW_E_ARG;
}

tw_err_t tw_debug_command(tw_graph_debug_t *d, tw_graph_t *g, const tw_debug_cmd_t *q, void *out, uint32_t *bytes)
{
    tw_err_t err = TW_OK;
    const uint32_t room = *bytes;
    *bytes = 0;
    if (room < tw_debug_reply_bytes(q)) {
        return TW_E_NOMEM;
    }
    if (q->op == TW_DBG_TRACE) {
        trace(d, g, q);
    } else if (q->op == TW_DBG_ATTACH) {
        attach(d, g, q->flags);
    } else if (!d->attached || d->graph != g) {
        return TW_E_STATE;
    } else if (q->op == TW_DBG_BREAK_SET) {
        return break_set(d, &q->brk, out, bytes);
    } else if (q->op == TW_DBG_BREAK_LIST) {
        break_list(d, out, bytes);
        return TW_OK;
    } else if (q->op == TW_DBG_PEEK) {
        return peek(d, q, out, bytes);
    } else {
        err = act(d, g, q);
    }
    if (err == TW_OK) {
        tell(d, out);
        *bytes = sizeof(tw_debug_state_t);
    }
    return err;
}

#endif
