/* engine_queue.c - commands: put into the open group, published whole. Control side.
 *
 * Records lie in a byte ring, each contiguous; positions are those of engine_word.h. The reply a
 * command will cause is promised room when it is put, so the engine can always answer.
 */
#include "engine/engine_priv.h"

static uint32_t queue_free(tw_engine_t *e)
{
    return e->queue_size - cmd_distance(atomic_load_explicit(&e->taken, memory_order_acquire), e->c.put);
}

uint32_t tw_engine_room(tw_engine_t *e)
{
    return queue_free(e);
}

/* Pad to the start of the buffer when a record would not be contiguous. @return NULL: queue full */
static cmd_t *place(tw_engine_t *e, uint32_t bytes)
{
    const uint32_t left = e->queue_size - (e->c.put & (e->queue_size - 1));
    const uint32_t pad = bytes <= left ? 0 : left;
    if (bytes > e->queue_size || pad + bytes > queue_free(e)) {
        return NULL;
    }
    if (pad != 0) {
        cmd_t *p = cmd_at(e, e->c.put);
        p->bytes = pad; /* a pad may be as short as 8 bytes: only these two fields are there */
        p->op = OP_PAD;
        e->c.put = (e->c.put + pad) & TW_WORD_POS_MASK;
    }
    cmd_t *c = cmd_at(e, e->c.put);
    e->c.put = (e->c.put + bytes) & TW_WORD_POS_MASK;
    return c;
}

tw_err_t engine_put(tw_engine_t *e, const cmd_t *head, const void *data, uint32_t reply)
{
    if (head->n > e->queue_size) {
        return TW_E_QUEUE_FULL;
    }
    const uint32_t need = undo_need(e, head);
    if (need > e->undo.size - e->c.arm_need) {
        return TW_E_TXN_FULL;
    }
    const uint32_t before = e->c.put, bytes = tw_round_up((uint32_t)sizeof *head + head->n, 8);
    uint32_t room = 0;
    cmd_t *c = place(e, bytes);
    if (c == NULL) {
        return TW_E_QUEUE_FULL;
    }
    if (reply != NO_REPLY && !reply_promise(e, reply, &room)) {
        e->c.put = before;
        return TW_E_QUEUE_FULL;
    }
    *c = *head;
    c->bytes = bytes;
    c->room = room;
    c->generation = (uint16_t)e->c.group_generation;
    undo_count(e, head, need);
    values_put(e, head, data);
    if (head->n != 0 && data != NULL) {
        memcpy(c + 1, data, head->n);
    }
    return TW_OK;
}

static tw_err_t node_of_view(tw_engine_t *e, uint32_t node)
{
    const tw_graph_t *g = engine_view(e);
    return g == NULL ? TW_E_NO_GRAPH : node >= g->n_nodes ? TW_E_PARAM_NODE : TW_OK;
}

static tw_err_t script_of_view(tw_engine_t *e, uint32_t script)
{
    const tw_graph_t *g = engine_view(e);
    return g == NULL ? TW_E_NO_GRAPH : script >= g->n_scripts ? TW_E_SCRIPT_NONE : TW_OK;
}

static tw_err_t arc_of_view(tw_engine_t *e, uint32_t arc)
{
    const tw_graph_t *g = engine_view(e);
    return g == NULL ? TW_E_NO_GRAPH : arc >= g->n_arcs ? TW_E_ARC_NONE : TW_OK;
}

tw_err_t tw_engine_put_param(tw_engine_t *e, uint32_t token, uint32_t node, uint32_t index, const uint8_t *value,
                             uint32_t bytes)
{
    TW_TRY(node_of_view(e, node));
    const cmd_t c = {.op = OP_PARAM, .token = token, .a = node, .b = index, .n = bytes};
    return engine_put(e, &c, value, on_token(token));
}

tw_err_t tw_engine_put_preset(tw_engine_t *e, uint32_t token, uint32_t node, uint32_t preset)
{
    TW_TRY(node_of_view(e, node));
    if (preset > 63 || (preset != 0 && (engine_view(e)->nodes[node].desc->presets >> preset & 1u) == 0)) {
        return TW_E_PARAM_PRESET;
    }
    const cmd_t c = {.op = OP_PRESET, .token = token, .a = node, .b = preset};
    return engine_put(e, &c, NULL, on_token(token));
}

tw_err_t tw_engine_put_read(tw_engine_t *e, uint32_t token, uint32_t node, uint32_t index)
{
    TW_TRY(node_of_view(e, node));
    const tw_graph_node_t *n = &engine_view(e)->nodes[node];
    const uint32_t bytes = tw_param_bytes(n->desc, n->fmt, index);
    if (bytes == 0) {
        return TW_E_PARAM_INDEX;
    }
    const cmd_t c = {.op = OP_READ, .token = token, .a = node, .b = index, .more = bytes};
    return engine_put(e, &c, NULL, bytes);
}

tw_err_t tw_engine_put_unload(tw_engine_t *e, uint32_t token)
{
    const cmd_t c = {.op = OP_UNLOAD, .token = token};
    TW_TRY(engine_put(e, &c, NULL, on_token(token)));
    e->c.group_view = NO_SLOT;
    e->c.group_generation++;
    return TW_OK;
}

tw_err_t tw_engine_put_control(tw_engine_t *e, uint32_t token, tw_control_t op, uint32_t steps)
{
    const cmd_t c = {.op = OP_CONTROL, .token = token, .a = (uint32_t)op, .b = steps};
    return engine_put(e, &c, NULL, on_token(token));
}

tw_err_t tw_engine_put_script(tw_engine_t *e, uint32_t token, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                              uint32_t pool_bytes)
{
    TW_TRY(script_of_view(e, script));
    tw_graph_t *g = engine_view(e);
    const uint32_t bytes = tw_script_bytes(code_bytes, pool_bytes);
    if (bytes > TW_SCRIPT_LIVE_BYTES || g->scripts[script].live == NULL) {
        return TW_E_NOMEM;
    }
    const uint64_t calls = g->scripts[script].calls;
    TW_TRY(tw_graph_note_calls(g, script, code, code_bytes));
    const cmd_t c = {.op = OP_SCRIPT, .token = token, .a = script, .b = code_bytes, .more = pool_bytes, .n = bytes};
    const tw_err_t err = engine_put(e, &c, code, on_token(token));
    if (err != TW_OK) {
        g->scripts[script].calls = calls;
    }
    return err;
}

tw_err_t tw_engine_put_run(tw_engine_t *e, uint32_t token, uint32_t script, const int64_t *args, unsigned n_args,
                           uint32_t budget)
{
    TW_TRY(script_of_view(e, script));
    if (n_args > TW_SCRIPT_REGS || budget > TW_SCRIPT_BUDGET_MAX) {
        return TW_E_ARG;
    }
    const cmd_t c = {.op = OP_RUN, .token = token, .a = script, .b = budget, .n = n_args * (uint32_t)sizeof *args};
    return engine_put(e, &c, args, 8 * sizeof(int64_t));
}

tw_err_t tw_engine_put_script_off(tw_engine_t *e, uint32_t token, uint32_t script, bool off)
{
    TW_TRY(script_of_view(e, script));
    const cmd_t c = {.op = OP_SCRIPT_OFF, .token = token, .a = script, .b = off};
    return engine_put(e, &c, NULL, on_token(token));
}

tw_err_t tw_engine_put_arc_read(tw_engine_t *e, uint32_t token, uint32_t arc, uint32_t limit)
{
    TW_TRY(arc_of_view(e, arc));
    const uint32_t most = tw_min_u32(tw_min_u32(limit, TW_ARC_READ_MAX), reply_limit(e));
    const uint32_t bytes = tw_min_u32(most, engine_view(e)->arcs[arc].size);
    const cmd_t c = {.op = OP_ARC_READ, .token = token, .a = arc, .b = bytes};
    return engine_put(e, &c, NULL, bytes);
}

tw_err_t tw_engine_put_arc_write(tw_engine_t *e, uint32_t token, uint32_t arc, const uint8_t *data, uint32_t bytes,
                                 bool partial)
{
    TW_TRY(arc_of_view(e, arc));
    if (bytes == 0 || bytes % engine_view(e)->arcs[arc].in_frame != 0) {
        return TW_E_RANGE;
    }
    const cmd_t c = {.op = OP_ARC_WRITE, .token = token, .a = arc, .b = partial, .n = bytes};
    return engine_put(e, &c, data, 0);
}

tw_err_t tw_engine_put_probe(tw_engine_t *e, uint32_t token, tw_probe_t *probe)
{
    TW_TRY(arc_of_view(e, probe->arc));
    if (probe->capture != NULL && probe->capture->cfg.cause == TW_CAUSE_SCRIPT) {
        TW_TRY(script_of_view(e, probe->script));
    }
    const cmd_t c = {.op = OP_PROBE, .token = token, .n = sizeof probe};
    return engine_put(e, &c, &probe, on_token(token));
}

/* Also after its graph went: the reply then says that the probe is free. */
tw_err_t tw_engine_put_unprobe(tw_engine_t *e, uint32_t token, tw_probe_t *probe)
{
    const cmd_t c = {.op = OP_UNPROBE, .token = token, .n = sizeof probe};
    return engine_put(e, &c, &probe, on_token(token));
}

/* ---- publishing ------------------------------------------------------------------- */

static void bump(uint32_t *versions, const cmd_t *c)
{
    if (versions != NULL && (c->op == OP_PARAM || c->op == OP_PRESET)) {
        versions[c->a] += 1 + (versions[c->a] == UINT32_MAX);
    }
}

/* What the control side knows changes with the group: versions, generation, the current slot. */
static void account_group(tw_engine_t *e)
{
    int view = e->c.view;
    const bool armed = e->c.arm_number != 0;
    e->c.arm_number = e->c.arm_need = 0;
    for (uint32_t pos = e->c.start; pos != e->c.put;) {
        const cmd_t *c = cmd_at(e, pos);
        if (view != NO_SLOT) {
            values_settle(&e->slots[view], c, armed, true);
        }
        if (c->op == OP_REVERT && view != NO_SLOT) {
            values_revert(&e->slots[view], e->c.arms);
        }
        if (c->op == OP_SWAP && view != NO_SLOT && tw_bits(c->b, OP_SWAP_CARRY) == TW_CARRY_PARAMS) {
            values_carry(&e->slots[c->a], &e->slots[view]);
        }
        if (c->op == OP_SWAP || c->op == OP_UNLOAD || c->op == OP_ROLLBACK) {
            view = c->op == OP_SWAP ? (int)c->a : c->op == OP_UNLOAD ? NO_SLOT : 1 - view;
            e->c.generation++;
            e->c.moves++;
            e->c.kept_gone = e->c.kept_gone && c->op != OP_SWAP;
        } else if (c->op == OP_KEEP) {
            e->c.moves++;
        } else if (c->op == OP_SCRIPT) {
            e->c.scripts++;
        } else if (c->op != OP_PAD) {
            bump(view != NO_SLOT ? e->slots[view].versions : NULL, c);
        }
        pos = (pos + c->bytes) & TW_WORD_POS_MASK;
    }
    e->c.view = e->c.group_view = view;
    e->c.group_generation = e->c.generation;
    e->c.group_primed = NO_SLOT;
    e->c.group_promised = 0;
}

uint64_t tw_engine_publish(tw_engine_t *e)
{
    const uint32_t bytes = cmd_distance(e->c.start, e->c.put);
    account_group(e);
    e->c.start = e->c.put;
    return tw_word_tick(tw_word_publish(&e->word, bytes));
}

static bool may_wait(uint16_t op)
{
    return op == OP_PARAM || op == OP_PRESET || op == OP_SCRIPT || op == OP_IO || op == OP_ARM || op == OP_ARMED;
}

/* Copy the open group without pads. @return bytes, or UINT32_MAX when it does not fit or holds a
 * command that has no named tick */
static uint32_t copy_group(tw_engine_t *e, tw_err_t *err)
{
    uint32_t used = 0;
    for (uint32_t pos = e->c.start; pos != e->c.put;) {
        const cmd_t *c = cmd_at(e, pos);
        pos = (pos + c->bytes) & TW_WORD_POS_MASK;
        if (c->op == OP_PAD) {
            continue;
        }
        if (!may_wait(c->op)) {
            *err = TW_E_TXN_METHOD;
            return UINT32_MAX;
        }
        if (c->bytes > e->timed.size - used) {
            *err = TW_E_QUEUE_FULL;
            return UINT32_MAX;
        }
        memcpy(e->timed.buf + used, c, c->bytes);
        used += c->bytes;
    }
    return used;
}

static bool call_back(tw_engine_t *e)
{
    return tw_word_move(&e->timed.state, timed_pending(e->timed.tick), TIMED_IDLE);
}

/* The engine must see the group before it claims `tick`. An exchange on the word after handing over
 * tells: if the tick is not claimed yet, claiming it comes later and sees the group. Otherwise the
 * group is called back; when the engine has taken it already, its replies say what became of it. */
static tw_err_t hand_over_timed(tw_engine_t *e, uint64_t tick)
{
    atomic_store_explicit(&e->timed.state, timed_pending(tick), memory_order_release);
    if (tw_word_tick(tw_word_publish(&e->word, 0)) <= tick) {
        return TW_OK;
    }
    return call_back(e) ? TW_E_TXN_TICK : TW_OK;
}

tw_err_t tw_engine_publish_at(tw_engine_t *e, uint64_t tick, uint32_t token)
{
    timed_t *t = &e->timed;
    if (atomic_load_explicit(&t->state, memory_order_acquire) != TIMED_IDLE) {
        return TW_E_BUSY;
    }
    const uint64_t next = tw_word_tick(tw_word_load(&e->word));
    if (tick < next + 2) {
        return TW_E_TXN_TICK;
    }
    if (tick - next > TW_TICK_AHEAD_MAX) {
        return TW_E_RANGE;
    }
    tw_err_t err = TW_OK;
    const uint32_t bytes = copy_group(e, &err), promised = e->c.group_promised;
    if (err != TW_OK) {
        return err;
    }
    uint32_t room = 0;
    if (token != 0 && !reply_promise(e, 0, &room)) {
        return TW_E_QUEUE_FULL;
    }
    t->bytes = bytes;
    t->token = token;
    t->room = room;
    t->promised = e->c.group_promised;
    t->generation = e->c.generation;
    t->tick = tick;
    err = hand_over_timed(e, tick);
    if (err != TW_OK) {
        e->c.promised -= room;
        e->c.group_promised = promised;
        return err;
    }
    account_group(e);
    e->c.put = e->c.start; /* it lives in the timed buffer now */
    return TW_OK;
}

bool tw_engine_withdraw(tw_engine_t *e, uint32_t token)
{
    timed_t *t = &e->timed;
    const bool waits = atomic_load_explicit(&t->state, memory_order_acquire) != TIMED_IDLE && t->token == token;
    if (!waits || !call_back(e)) {
        return false;
    }
    e->c.promised -= t->promised;
    for (uint32_t at = 0; at < t->bytes; at += ((const cmd_t *)(const void *)(t->buf + at))->bytes) {
        if (t->generation == e->c.generation && e->c.view != NO_SLOT) {
            values_forget(&e->slots[e->c.view], (const cmd_t *)(const void *)(t->buf + at));
        }
    }
    return true;
}

/* Drafts of what was put go with it; a group may go over two graphs. */
static void drop_drafts(tw_engine_t *e)
{
    for (uint32_t pos = e->c.start; pos != e->c.put;) {
        const cmd_t *c = cmd_at(e, pos);
        pos = (pos + c->bytes) & TW_WORD_POS_MASK;
        for (size_t i = 0; i < TW_COUNT(e->slots); i++) {
            slot_t *s = &e->slots[i];
            if (s->live && (c->op == OP_PARAM || c->op == OP_PRESET) && c->a < s->graph.n_nodes) {
                values_settle(s, c, false, false);
            }
        }
    }
}

void tw_engine_drop(tw_engine_t *e)
{
    drop_drafts(e);
    e->c.put = e->c.start;
    e->c.promised -= e->c.group_promised;
    e->c.group_promised = 0;
    e->c.group_view = e->c.view;
    e->c.group_generation = e->c.generation;
    e->c.arm_number = e->c.arm_need = 0;
    if (e->c.group_primed != NO_SLOT) {
        e->c.primed = e->c.group_primed;
        e->c.group_primed = NO_SLOT;
    }
}
