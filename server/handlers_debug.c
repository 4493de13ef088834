/* handlers_debug.c - Script: the debugger. One session has it; it is let go when that session goes or is silent.
 *
 * Everything happens on the engine's side (graph_debug.h). A call that waits for a script to be held is answered by the
 * engine at once and, while nothing has happened, waits here for its count of stops to change:
 *
 *   call -> command -> answer: held -> reply
 *              ^          | not yet
 *              +---- parked: stops changed, or time over
 */
#include "server/server_priv.h"

enum { LEASE_MS = 30000, LEASE_MAX_MS = 600000, WAIT_MAX_MS = 10000 };
enum { WANT_STOP = 1, WANT_END = 2 }; /* tw_deferred_t.a: answer when held, also when the call has ended */
#define TEXT_ATTACH "attach first: Script.Attach"

/* ---- who has it ------------------------------------------------------------------------ */

static void renew(tw_server_t *s)
{
    s->debugger.lease_us = tw_now(s) + (uint64_t)s->debugger.lease_ms * 1000;
}

static bool taken(tw_call_t *c)
{
    const tw_session_t *ses = c->s->debugger.ses;
    if (ses == NULL || ses == c->ses) {
        return false;
    }
    char text[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, text, sizeof text);
    tw_text_str(&t, "scripts are debugged by ");
    tw_text_str(&t, ses->peer != NULL ? ses->peer->name : "a client that was lost");
    tw_fail(c, TW_E_BUSY, ses->index, text);
    return true;
}

static bool mine(tw_call_t *c, uint32_t graph)
{
    if (!tw_graph_ok(c, graph) || taken(c)) {
        return false;
    }
    tw_graph_look(c->s);
    if (c->s->debugger.ses == NULL) {
        tw_fail(c, TW_E_STATE, 0, TEXT_ATTACH);
        return false;
    }
    renew(c->s);
    return true;
}

void tw_debugger_session_gone(tw_server_t *s, const tw_session_t *ses)
{
    if (s->debugger.ses == ses) {
        s->debugger.ses = NULL;
        s->debugger.leaving = true;
    }
}

void tw_debugger_graph_changed(tw_server_t *s)
{
    s->debugger.ses = NULL;
    s->debugger.leaving = false;
}

/* What its calls for nobody wait: nothing needs an answer, only room in the queue. */
static void leave(tw_server_t *s)
{
    const tw_debug_cmd_t q = {.op = TW_DBG_DETACH};
    const tw_err_t err = tw_engine_put_debug(s->e, 0, &q);
    if (err == TW_OK) {
        (void)tw_engine_publish(s->e);
    }
    s->debugger.leaving = err == TW_E_QUEUE_FULL;
}

/* ---- commands and answers ---------------------------------------------------------------- */

static tw_deferred_t *command(tw_call_t *c, const tw_debug_cmd_t *q)
{
    tw_deferred_t *d = tw_defer(c, TW_WAIT_DEBUG);
    if (d == NULL || !tw_hand_over(c, d, tw_engine_put_debug(c->s->e, d->token, q))) {
        return NULL;
    }
    d->committed = true;
    d->c = q->op;
    return d;
}

static const char *hint(tw_err_t err)
{
    switch (err) {
    case TW_E_STATE:
        return "no call is held, or the graph changed and you are not attached";
    case TW_E_SCR_BAD_TARGET:
        return "no instruction begins there: not inside one or its literal";
    case TW_E_SCR_BAD_REG:
        return "r0-r5 0-5, lc 12, s0 14, s1 15, T 16; s0, s1 as deep as the stack";
    case TW_E_SCR_BAD_TYPE:
        return "neither ptr nor fp8";
    case TW_E_SCR_BAD_PTR:
        return "no memory there, it ends before, or it is read only";
    case TW_E_NOMEM:
        return "16 breakpoints at most: clear another";
    case TW_E_BUSY:
        return "a recording runs: what is debugged could not be replayed";
    default:
        return NULL;
    }
}

static void fill_call(const tw_debug_state_t *x, tunewire_v1_DebugState *m)
{
    m->r_count = TW_SCRIPT_REGS;
    m->r_types.size = TW_SCRIPT_REGS;
    m->p_count = TW_SCRIPT_PTRS;
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        m->r[i] = x->r[i].bits;
        m->r_types.bytes[i] = x->r[i].type;
        m->p[i] = (tunewire_v1_DebugPointer){
            .space = x->p[i].space, .type = x->p[i].type, .size = x->p[i].size, .offset = x->p[i].offset};
    }
    m->top_count = x->n_top;
    m->top_types.size = x->n_top;
    for (unsigned i = 0; i < x->n_top; i++) {
        m->top[i] = x->top[i].bits;
        m->top_types.bytes[i] = x->top[i].type;
    }
    m->frames_count = x->n_frames;
    for (unsigned i = 0; i < x->n_frames; i++) {
        m->frames[i] = (tunewire_v1_DebugFrame){
            .script = x->frames[i].script, .pc = x->frames[i].pc, .callscript = x->frames[i].callscript != 0};
    }
}

static void reply_state(tw_call_t *c, const tw_debug_state_t *x)
{
    tunewire_v1_DebugState m = tunewire_v1_DebugState_init_zero;
    m.state = x->state;
    m.why = x->why;
    m.number = x->number;
    tw_copy_str(m.text, sizeof m.text, tw_debug_stop_text(x->why));
    m.stops = x->stops;
    m.tick = x->tick;
    m.script = x->entry;
    m.missed = x->missed;
    m.passed = x->passed;
    m.stop_graph = (x->flags & TW_DEBUG_STOPS_GRAPH) != 0;
    m.faults = (x->flags & TW_DEBUG_FAULTS) != 0;
    m.graph_held = x->held_graph != 0;
    m.used = x->used;
    m.budget = x->budget;
    m.errors = x->errors;
    m.lc = x->lc;
    m.sp = x->sp;
    m.t = x->flag != 0;
    if (x->n_frames != 0) {
        fill_call(x, &m);
    }
    tw_reply(c, tunewire_v1_DebugState_fields, &m);
}

static void reply_breaks(tw_call_t *c, const tw_engine_reply_t *r)
{
    tw_rpc_list_t l;
    tw_list_begin_long(c, &l);
    for (uint32_t at = 0; at + sizeof(tw_debug_break_t) <= r->bytes; at += (uint32_t)sizeof(tw_debug_break_t)) {
        tw_debug_break_t b;
        memcpy(&b, r->data + at, sizeof b);
        const tunewire_v1_DebugBreakpoint m = {
            .number = b.number,
            .kind = (tunewire_v1_DebugBreakpoint_Kind)b.kind,
            .script = b.script,
            .at = b.at,
            .what = b.what,
            .bytes = b.bytes,
            .once = (b.flags & TW_BREAK_ONCE) != 0,
            .off = (b.flags & TW_BREAK_OFF) != 0,
            .if_op = (tunewire_v1_DebugBreakpoint_Op)b.if_op,
            .if_what = b.if_what,
            .if_type = b.if_type,
            .if_bits = b.if_bits,
            .skip = b.skip,
            .hits = b.hits,
        };
        (void)tw_rpc_list_add(&l, tunewire_v1_DebugBreakList_breakpoints_tag, tunewire_v1_DebugBreakpoint_fields, &m);
    }
    tw_reply_list(c, &l);
}

static void reply_data(tw_call_t *c, const tw_engine_reply_t *r)
{
    tunewire_v1_DebugData m = tunewire_v1_DebugData_init_zero;
    m.data.size = (pb_size_t)tw_min_u32(r->bytes, sizeof m.data.bytes);
    memcpy(m.data.bytes, r->data, m.data.size);
    tw_reply(c, tunewire_v1_DebugData_fields, &m);
}

static bool over(const tw_debug_state_t *x, uint32_t want)
{
    return x->state == TW_DEBUG_HELD || x->state == TW_DEBUG_DEAD ||
           (x->state == TW_DEBUG_FREE && (want & WANT_END) != 0);
}

/* Wait for the engine's count of stops to be another one. @return false: the call was answered */
static bool park(tw_call_t *c, const tw_deferred_t *was, uint32_t stops)
{
    tw_deferred_t *d = tw_defer(c, TW_WAIT_HELD);
    if (d != NULL) {
        d->a = was->a;
        d->b = stops;
        d->due_us = was->until_us;
        d->until_us = was->until_us;
        c->s->next_due_us = d->due_us < c->s->next_due_us ? d->due_us : c->s->next_due_us;
    }
    return d != NULL;
}

void tw_done_debug(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    tw_debug_state_t x;
    tw_server_t *s = c->s;
    if (r->err != TW_OK) {
        if (d->c == TW_DBG_ATTACH && s->debugger.ses == c->ses) {
            s->debugger.ses = NULL;
        }
        tw_fail(c, r->err, d->d, r->err == TW_E_GENERATION ? TW_TEXT_GRAPH_WENT : hint(r->err));
        return;
    }
    if (d->c == TW_DBG_BREAK_SET || d->c == TW_DBG_BREAK_LIST) {
        reply_breaks(c, r);
    } else if (d->c == TW_DBG_PEEK) {
        reply_data(c, r);
    } else if (d->c == TW_DBG_BREAK_CLEAR || d->c == TW_DBG_DETACH) {
        tw_reply(c, NULL, NULL);
    } else {
        memcpy(&x, r->data, sizeof x);
        if (d->a == 0 || over(&x, d->a) || d->until_us <= tw_now(s)) {
            reply_state(c, &x);
        } else {
            (void)park(c, d, x.stops);
        }
    }
}

void tw_debugger_ask(tw_call_t *c, const tw_deferred_t *was)
{
    const tw_debug_cmd_t q = {.op = TW_DBG_STATE};
    tw_deferred_t *d = command(c, &q);
    if (d != NULL) {
        d->a = was->a;
        d->until_us = was->until_us;
    }
}

void tw_debugger_pump(tw_server_t *s, uint64_t now, uint64_t *next)
{
    tw_deferred_t was;
    tw_graph_look(s);
    while (tw_deferred_take(s, TW_WAIT_HELD, tw_engine_debug_stops(s->e), &was)) {
        tw_call_t c = tw_deferred_call(s, &was);
        tw_debugger_ask(&c, &was);
    }
    if (s->debugger.ses != NULL && s->debugger.lease_us <= now) {
        tw_server_log(s, TW_LOG_WARN, TW_SRC_SCRIPT, "debugger detached: not heard of for its lease");
        tw_debugger_session_gone(s, s->debugger.ses);
    }
    if (s->debugger.leaving) {
        leave(s);
    }
    if (s->debugger.ses != NULL && s->debugger.lease_us < *next) {
        *next = s->debugger.lease_us;
    }
}

/* ---- the calls ------------------------------------------------------------------------------ */

void tw_on_script_attach(tw_call_t *c, const void *request)
{
    const tunewire_v1_DebugAttach *q = request;
    tw_server_t *s = c->s;
    tw_debug_cmd_t cmd = {.op = TW_DBG_ATTACH};
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c) || taken(c)) {
        return;
    }
    if (q->lease_ms > LEASE_MAX_MS) {
        tw_fail(c, TW_E_RANGE, q->lease_ms, "lease_ms up to 600000, 0 = 30000");
        return;
    }
    tw_graph_look(s);
    if (s->debugger.leaving) {
        leave(s);
    }
    if (s->debugger.leaving) {
        tw_fail(c, TW_E_QUEUE_FULL, 0, TW_TEXT_QUEUE_FULL);
        return;
    }
    cmd.flags = (uint8_t)((q->stop_graph ? TW_DEBUG_STOPS_GRAPH : 0) | (q->faults ? TW_DEBUG_FAULTS : 0));
    if (command(c, &cmd) != NULL) {
        s->debugger.ses = c->ses;
        s->debugger.lease_ms = q->lease_ms != 0 ? q->lease_ms : LEASE_MS;
        renew(s);
    }
}

void tw_on_script_detach(tw_call_t *c, const void *request)
{
    const tunewire_v1_DebugDetach *q = request;
    const tw_debug_cmd_t cmd = {.op = TW_DBG_DETACH, .a = q->drop};
    if (mine(c, q->graph) && command(c, &cmd) != NULL) {
        c->s->debugger.ses = NULL;
    }
}

static bool to_break(tw_call_t *c, const tunewire_v1_DebugBreakpoint *m, tw_debug_break_t *b)
{
    const bool fits = m->kind <= tunewire_v1_DebugBreakpoint_Kind_MEMORY && m->what < 256 && m->bytes < 256 &&
                      m->if_what < 256 && m->if_type < 256 && m->number <= TW_DEBUG_BREAKS && m->script < UINT16_MAX &&
                      m->if_op <= tunewire_v1_DebugBreakpoint_Op_GE;
    *b = (tw_debug_break_t){
        .kind = (uint8_t)m->kind,
        .flags = (uint8_t)((m->once ? TW_BREAK_ONCE : 0) | (m->off ? TW_BREAK_OFF : 0)),
        .what = (uint8_t)m->what,
        .bytes = (uint8_t)m->bytes,
        .if_what = (uint8_t)m->if_what,
        .if_op = (uint8_t)m->if_op,
        .if_type = (uint8_t)m->if_type,
        .script = (uint16_t)m->script,
        .number = (uint16_t)m->number,
        .at = m->at,
        .skip = m->skip,
        .if_bits = m->if_bits,
    };
    if (!fits) {
        tw_fail(c, m->script >= UINT16_MAX ? TW_E_SCRIPT_NONE : TW_E_RANGE, 0, "a number that is none of a breakpoint");
    }
    return fits;
}

void tw_on_script_break(tw_call_t *c, const void *request)
{
    const tunewire_v1_DebugBreak *q = request;
    tw_debug_cmd_t cmd = {.op = TW_DBG_BREAK_LIST};
    if (!mine(c, q->graph)) {
        return;
    }
    switch (q->op) {
    case tunewire_v1_DebugBreak_Op_LIST:
        break;
    case tunewire_v1_DebugBreak_Op_SET:
        cmd.op = TW_DBG_BREAK_SET;
        if (!to_break(c, &q->breakpoint, &cmd.brk)) {
            return;
        }
        break;
    case tunewire_v1_DebugBreak_Op_CLEAR:
        cmd.op = TW_DBG_BREAK_CLEAR;
        cmd.a = q->breakpoint.number;
        break;
    default:
        tw_fail(c, TW_E_ARG, (uint32_t)q->op, "list, set or clear");
        return;
    }
    tw_deferred_t *d = command(c, &cmd);
    if (d != NULL) {
        d->d = cmd.op == TW_DBG_BREAK_SET ? q->breakpoint.at : q->breakpoint.number;
    }
}

static void wait_for(tw_call_t *c, tw_deferred_t *d, uint32_t wait_ms, uint32_t want)
{
    if (d != NULL && wait_ms != 0) {
        d->a = want;
        d->until_us = tw_now(c->s) + (uint64_t)wait_ms * 1000;
    }
}

static bool wait_ok(tw_call_t *c, uint32_t wait_ms)
{
    if (wait_ms > WAIT_MAX_MS) {
        tw_fail(c, TW_E_RANGE, wait_ms, "wait_ms up to 10000; ask again");
    }
    return wait_ms <= WAIT_MAX_MS;
}

void tw_on_script_go(tw_call_t *c, const void *request)
{
    static const uint8_t ops[] = {TW_DBG_CONTINUE, TW_DBG_STEP, TW_DBG_NEXT, TW_DBG_FINISH,
                                  TW_DBG_UNTIL,    TW_DBG_HOLD, TW_DBG_DROP};
    const tunewire_v1_DebugGo *q = request;
    if (!mine(c, q->graph) || !wait_ok(c, q->wait_ms)) {
        return;
    }
    if ((uint32_t)q->op >= TW_COUNT(ops) || q->count > TW_SCRIPT_BUDGET_MAX || q->script > UINT16_MAX) {
        tw_fail(c, (uint32_t)q->op >= TW_COUNT(ops) ? TW_E_ARG : TW_E_RANGE, (uint32_t)q->op,
                "op 0..6, count to 65536");
        return;
    }
    const tw_debug_cmd_t cmd = {
        .op = ops[q->op],
        .script = (uint16_t)q->script,
        .a = q->op == tunewire_v1_DebugGo_Op_STEP ? q->count : q->pc,
        .b = q->stops,
    };
    tw_deferred_t *d = command(c, &cmd);
    const bool to_stop = q->op == tunewire_v1_DebugGo_Op_CONTINUE || q->op == tunewire_v1_DebugGo_Op_HOLD;
    if (d != NULL) {
        d->d = q->op == tunewire_v1_DebugGo_Op_UNTIL ? q->pc : 0;
    }
    wait_for(c, d, q->op == tunewire_v1_DebugGo_Op_DROP ? 0 : q->wait_ms, to_stop ? WANT_STOP : WANT_STOP | WANT_END);
}

void tw_on_script_state(tw_call_t *c, const void *request)
{
    const tunewire_v1_DebugRef *q = request;
    const tw_debug_cmd_t cmd = {.op = TW_DBG_STATE};
    if (mine(c, q->graph) && wait_ok(c, q->wait_ms)) {
        wait_for(c, command(c, &cmd), q->wait_ms, WANT_STOP);
    }
}

static bool space_ok(tw_call_t *c, uint32_t space, uint32_t index)
{
    const bool ok = space <= tunewire_v1_DebugPeek_Space_STACK && index < UINT16_MAX;
    if (!ok) {
        tw_fail(c, space > tunewire_v1_DebugPeek_Space_STACK ? TW_E_ARG : TW_E_RANGE, index, "spaces 0..4");
    }
    return ok;
}

void tw_on_script_peek(tw_call_t *c, const void *request)
{
    const tunewire_v1_DebugPeek *q = request;
    if (!mine(c, q->graph) || !space_ok(c, (uint32_t)q->space, q->index)) {
        return;
    }
    const tw_debug_cmd_t cmd = {
        .op = TW_DBG_PEEK, .space = (uint8_t)q->space, .script = (uint16_t)q->index, .a = q->at, .b = q->bytes};
    tw_deferred_t *d = command(c, &cmd);
    if (d != NULL) {
        d->d = q->at;
    }
}

void tw_on_script_poke(tw_call_t *c, const void *request)
{
    const tunewire_v1_DebugPoke *q = request;
    tw_debug_cmd_t cmd = {.op = TW_DBG_POKE, .space = (uint8_t)q->space, .script = (uint16_t)q->index, .a = q->at};
    if (!mine(c, q->graph) || !space_ok(c, (uint32_t)q->space, q->index)) {
        return;
    }
    if (q->space == tunewire_v1_DebugPeek_Space_REGISTER) {
        cmd = (tw_debug_cmd_t){.op = TW_DBG_SET, .a = q->index, .b = q->type, .bits = q->bits};
    } else {
        cmd.b = q->data.size;
        memcpy(cmd.data, q->data.bytes, q->data.size);
    }
    tw_deferred_t *d = command(c, &cmd);
    if (d != NULL) {
        d->d = q->space == tunewire_v1_DebugPeek_Space_REGISTER ? q->index : q->at;
    }
}
