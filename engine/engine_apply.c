/* engine_apply.c - commands taking effect at a frame boundary, on the engine thread.
 *
 * Everything was checked before it was put, so nothing here refuses for the wire's sake: a command
 * that finds its graph gone answers so, and a node that still says no is counted as a node error.
 */
#include "engine/engine_priv.h"

static const uint8_t *data_of(const cmd_t *c)
{
    return (const uint8_t *)(c + 1);
}

static void answer(tw_engine_t *e, const cmd_t *c, tw_err_t err)
{
    if (c->room != 0) {
        reply_send(e, reply_begin(e, c, err, 0));
    }
}

tw_err_t engine_control(tw_engine_t *e, tw_control_t op, uint32_t steps)
{
    switch (op) {
    case TW_CTL_START:
        e->e.steps = 0;
        tw_gauge_set(&e->state, TW_GRAPH_RUNNING);
        return TW_OK;
    case TW_CTL_STOP:
        swap_end_fade(e);
        tw_gauge_set(&e->state, TW_GRAPH_STOPPED);
        state_due(e);
        return TW_OK;
    case TW_CTL_STEP:
        e->e.steps = steps;
        tw_gauge_set(&e->state, steps != 0 ? TW_GRAPH_RUNNING : TW_GRAPH_STOPPED);
        return TW_OK;
    case TW_CTL_RESET:
    case TW_CTL_WARM:
        tw_graph_reset(e->e.graph, op == TW_CTL_WARM);
        return TW_OK;
    }
    return TW_E_ARG;
}

static void read_param(tw_engine_t *e, const cmd_t *c)
{
    reply_t *r = reply_begin(e, c, TW_OK, c->more);
    r->err = tw_graph_get_param(e->e.graph, c->a, c->b, reply_data(r), &r->bytes);
    reply_send(e, r);
}

static void run_script(tw_engine_t *e, const cmd_t *c)
{
    enum { VALUES = 8 };
    const tw_script_ctx_t *s = NULL;
    reply_t *r = reply_begin(e, c, TW_OK, VALUES * sizeof(int64_t));
    int64_t args[TW_SCRIPT_REGS];
    memcpy(args, data_of(c), c->n);
    r->err = tw_graph_run_script(e->e.graph, c->a, args, c->n / (uint32_t)sizeof args[0], true, c->b, &s);
    memset(reply_data(r), 0, VALUES * sizeof(int64_t));
    for (uint32_t i = 0; s != NULL && i < VALUES; i++) {
        const int64_t v = i < TW_SCRIPT_REGS    ? tw_script_reg_int(s, i)
                          : i == TW_SCRIPT_REGS ? s->flag
                                                : (int64_t)s->used;
        memcpy(reply_data(r) + i * sizeof v, &v, sizeof v);
    }
    reply_send(e, r);
}

/* The bytes before `write` are the newest ones also when they were consumed: realigning moves
 * them together and never leaves a gap. */
static void read_arc(tw_engine_t *e, const cmd_t *c)
{
    const tw_arc_t *a = &e->e.graph->arcs[c->a];
    const uint32_t known = a->shares != NULL && !a->second ? tw_arc_fill(a)
                           : a->type == TW_ARC_MODULO      ? a->size
                                                           : tw_gauge_get(&a->write);
    uint32_t n = tw_min_u32(c->b, known);
    n -= n % a->in_frame;
    reply_t *r = reply_begin(e, c, TW_OK, n);
    (void)tw_arc_newest(a, reply_data(r), n);
    reply_send(e, r);
}

/* All of it or, if that is wanted, as much as there is room for. The reply's value: bytes taken and free. */
static void write_arc(tw_engine_t *e, const cmd_t *c)
{
    const tw_arc_t *a = &e->e.graph->arcs[c->a];
    const bool fits = c->n <= tw_arc_free(a);
    const uint32_t took = fits || c->b != 0 ? tw_graph_write_arc(e->e.graph, c->a, data_of(c), c->n) : 0;
    reply_t *r = reply_begin(e, c, fits || c->b != 0 ? TW_OK : TW_E_BUSY, 0);
    r->value = (int64_t)((uint64_t)took << 32 | tw_arc_free(a));
    reply_send(e, r);
}

static tw_probe_t *probe_of(const cmd_t *c)
{
    tw_probe_t *p;
    memcpy(&p, data_of(c), sizeof p);
    return p;
}

/* Counted also when it is refused, and before it is answered: a client may send the next at once. */
static void replace_script(tw_engine_t *e, const cmd_t *c, tw_err_t refused)
{
    if (refused == TW_OK) {
        undo_note(e, c);
        tw_graph_set_script(e->e.graph, c->a, data_of(c), c->b, c->more);
    }
    const uint32_t done = atomic_load_explicit(&e->scripts_done, memory_order_relaxed);
    atomic_store_explicit(&e->scripts_done, done + 1, memory_order_release);
    answer(e, c, refused);
}

/* The last word on values that wait to be confirmed; they may be gone already. */
static tw_err_t end_armed(tw_engine_t *e, const cmd_t *c)
{
    if (e->e.armed != TW_WAITS_VALUES || tw_gauge_get(&e->armed_id) != c->a) {
        return TW_E_REVERTED;
    }
    if (c->op == OP_REVERT) {
        undo_revert(e);
    }
    swap_disarm(e);
    engine_tell_where(e);
    return TW_OK;
}

/* Commands that only make sense with a graph. */
static void apply_to_graph(tw_engine_t *e, const cmd_t *c)
{
    tw_graph_t *g = e->e.graph;
    switch ((tw_op_t)c->op) {
    case OP_PARAM:
        (void)tw_graph_set_param(g, c->a, c->b, data_of(c), c->n);
        break;
    case OP_PRESET:
        tw_graph_reset_node(g, c->a, (int)c->b, true);
        break;
    case OP_READ:
        read_param(e, c);
        return;
    case OP_CONTROL:
        e->debug.held_graph &= c->a != TW_CTL_START && c->a != TW_CTL_STOP; /* somebody else decides */
        answer(e, c, engine_control(e, (tw_control_t)c->a, c->b));
        return;
    case OP_RUN:
        run_script(e, c);
        return;
    case OP_SCRIPT_OFF:
        tw_graph_enable_script(g, c->a, c->b == 0);
        break;
    case OP_ARC_READ:
        read_arc(e, c);
        return;
    case OP_ARC_WRITE:
        write_arc(e, c);
        return;
    case OP_PROBE:
        probe_attach(e, probe_of(c));
        break;
    case OP_UNPROBE:
        break;
    case OP_ARM:
        undo_arm(e, c);
        break;
    case OP_ARMED:
        undo_armed(e);
        break;
    case OP_CONFIRM:
    case OP_REVERT:
        answer(e, c, end_armed(e, c));
        return;
    case OP_IO:
        answer(e, c, io_apply(e, c->a, data_of(c)));
        return;
    case OP_SHADOW:
    case OP_SHADOW_SET:
    case OP_SHADOW_READ:
    case OP_SHADOW_DROP:
        shadow_apply(e, c);
        return;
    case OP_DEBUG:
        debug_apply(e, c);
        return;
    case OP_PAD:
    case OP_SCRIPT:
    case OP_SWAP:
    case OP_UNLOAD:
    case OP_ROLLBACK:
    case OP_KEEP:
        break;
    }
    answer(e, c, TW_OK);
}

static bool moves(uint16_t op)
{
    return op == OP_SWAP || op == OP_UNLOAD || op == OP_ROLLBACK || op == OP_KEEP;
}

/* Checked against the graph that runs? It may have gone by itself while the command was on its way. */
static tw_err_t refusal(const tw_engine_t *e, const cmd_t *c)
{
    return e->e.graph == NULL ? TW_E_NO_GRAPH : c->generation != (uint16_t)e->e.generation ? TW_E_GENERATION : TW_OK;
}

void engine_apply(tw_engine_t *e, const cmd_t *c, tw_err_t refused)
{
    if (refused == TW_OK && !moves(c->op)) {
        refused = refusal(e, c);
    }
    if (e->e.rec != NULL && refused == TW_OK) {
        record_command(e, c);
    }
    if (c->op == OP_SHADOW && refused != TW_OK) {
        shadow_refused(e, c);
    }
    if (c->op == OP_UNPROBE) { /* of a graph that left, or never attached: it is free in any case */
        if (refused == TW_OK) {
            probe_detach(e, probe_of(c));
        }
        answer(e, c, TW_OK);
    } else if (c->op == OP_SCRIPT) {
        replace_script(e, c, refused);
    } else if (refused != TW_OK) {
        answer(e, c, refused);
    } else if (moves(c->op)) {
        swap_apply(e, c);
    } else {
        undo_note(e, c);
        apply_to_graph(e, c);
    }
}
