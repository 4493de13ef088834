/* engine_undo.c - old values of a change that waits to be confirmed.
 *
 *   record: u32 kind, u32 target, u32 bytes, u32 preset of a node, data padded to 8
 *
 * A node is saved once, whole, before the first command that touches it: a preset changes everything, and a value may
 * be seen through two parameters. So are a script and an IO. Room was counted by the control side before the group was
 * published.
 */
#include "engine/engine_priv.h"

enum { UNDO_NODE = 1, UNDO_SCRIPT = 2, UNDO_IO = 3, HEAD = 16, IO_BYTES = 12 };

static uint32_t record(uint32_t bytes)
{
    return HEAD + tw_round_up(bytes, 8);
}

/* ---- control side ---------------------------------------------------------------------- */

tw_err_t tw_engine_put_arm(tw_engine_t *e, uint32_t id)
{
    engine_sync(e);
    if (tw_bits(atomic_load_explicit(&e->where, memory_order_acquire), WHERE_ARMED) != TW_WAITS_NOTHING ||
        e->c.arm_number != 0) {
        return TW_E_UNCONFIRMED;
    }
    if (engine_view(e) == NULL) {
        return TW_E_NO_GRAPH;
    }
    const uint32_t number = e->c.arms + 1 + (e->c.arms == UINT32_MAX);
    const cmd_t c = {.op = OP_ARM, .a = id, .b = number};
    TW_TRY(engine_put(e, &c, NULL, NO_REPLY));
    e->c.arms = e->c.arm_number = number;
    e->c.arm_need = 0;
    return TW_OK;
}

tw_err_t tw_engine_put_armed(tw_engine_t *e)
{
    const cmd_t c = {.op = OP_ARMED};
    return engine_put(e, &c, NULL, NO_REPLY);
}

static tw_err_t put_end(tw_engine_t *e, tw_op_t op, uint32_t token, uint32_t id)
{
    const cmd_t c = {.op = (uint16_t)op, .token = token, .a = id};
    return engine_put(e, &c, NULL, on_token(token));
}

tw_err_t tw_engine_put_confirm(tw_engine_t *e, uint32_t token, uint32_t id)
{
    return put_end(e, OP_CONFIRM, token, id);
}

tw_err_t tw_engine_put_revert(tw_engine_t *e, uint32_t token, uint32_t id)
{
    return put_end(e, OP_REVERT, token, id);
}

uint32_t undo_need(tw_engine_t *e, const cmd_t *c)
{
    if (e->c.arm_number == 0 || e->c.group_view == NO_SLOT) {
        return 0;
    }
    slot_t *s = &e->slots[e->c.group_view];
    if (c->op == OP_SCRIPT) {
        return record(TW_GRAPH_SCRIPT_SAVED_MAX);
    }
    if (c->op == OP_IO) {
        return record(IO_BYTES);
    }
    if ((c->op != OP_PARAM && c->op != OP_PRESET) || s->asked[c->a] == e->c.arm_number) {
        return 0;
    }
    return record(tw_graph_params_bytes(&s->graph.nodes[c->a]));
}

void undo_count(tw_engine_t *e, const cmd_t *c, uint32_t need)
{
    e->c.arm_need += need;
    if (need != 0 && c->op != OP_SCRIPT) {
        e->slots[e->c.group_view].asked[c->a] = e->c.arm_number;
    }
}

/* ---- engine side ------------------------------------------------------------------------- */

void undo_forget(tw_engine_t *e)
{
    e->undo.used = 0;
    e->undo.recording = false;
}

void undo_arm(tw_engine_t *e, const cmd_t *c)
{
    undo_forget(e);
    e->undo.number = c->b;
    e->undo.recording = true;
    tw_gauge_set(&e->armed_id, c->a);
    e->e.armed = TW_WAITS_VALUES;
    e->e.hot = 0;
    e->slots[e->e.slot].side.watch = true;
    e->slots[e->e.slot].side.broken = false;
    engine_tell_where(e);
}

void undo_armed(tw_engine_t *e)
{
    e->undo.recording = false;
}

static uint8_t *begin_record(undo_t *u, uint32_t kind, uint32_t target, uint32_t bytes)
{
    uint8_t *at = u->buf + u->used;
    TW_ASSERT(u->used + record(bytes) <= u->size);
    tw_put_le32(at, kind);
    tw_put_le32(at + 4, target);
    tw_put_le32(at + 8, bytes);
    u->used += record(bytes);
    return at + HEAD;
}

static void note_node(tw_engine_t *e, uint32_t node)
{
    slot_t *s = &e->slots[e->e.slot];
    if (s->noted[node] == e->undo.number) {
        return;
    }
    s->noted[node] = e->undo.number;
    const uint32_t most = tw_graph_params_bytes(&s->graph.nodes[node]), at = e->undo.used;
    uint8_t *data = begin_record(&e->undo, UNDO_NODE, node, most);
    const uint32_t bytes = tw_graph_save_params(&s->graph, node, data);
    tw_put_le32(e->undo.buf + at + 8, bytes);
    tw_put_le32(e->undo.buf + at + 12, s->graph.nodes[node].preset);
    e->undo.used = at + record(bytes);
}

/* Scripts and IOs are few: no mark, a look at what is there. */
static bool has(const undo_t *u, uint32_t kind, uint32_t target)
{
    for (uint32_t at = 0; at < u->used; at += record(tw_get_le32(u->buf + at + 8))) {
        if (tw_get_le32(u->buf + at) == kind && tw_get_le32(u->buf + at + 4) == target) {
            return true;
        }
    }
    return false;
}

void undo_note(tw_engine_t *e, const cmd_t *c)
{
    if (!e->undo.recording) {
        return;
    }
    if (c->op == OP_PARAM || c->op == OP_PRESET) {
        note_node(e, c->a);
    } else if (c->op == OP_SCRIPT && !has(&e->undo, UNDO_SCRIPT, c->a)) {
        const uint32_t bytes = tw_graph_script_saved(e->e.graph, c->a);
        tw_graph_save_script(e->e.graph, c->a, begin_record(&e->undo, UNDO_SCRIPT, c->a, bytes));
    } else if (c->op == OP_IO && !has(&e->undo, UNDO_IO, c->a)) {
        io_save(e->e.graph, c->a, begin_record(&e->undo, UNDO_IO, c->a, IO_BYTES));
    }
}

static void put_back(tw_engine_t *e, const uint8_t *rec)
{
    tw_graph_t *g = e->e.graph;
    const uint32_t target = tw_get_le32(rec + 4), bytes = tw_get_le32(rec + 8);
    if (tw_get_le32(rec) == UNDO_NODE) {
        if (g->nodes[target].preset != tw_get_le32(rec + 12)) { /* it may mean more than its values */
            tw_graph_reset_node(g, target, (int)tw_get_le32(rec + 12), true);
        }
        tw_graph_restore_params(g, target, rec + HEAD, bytes, e->slots[e->e.slot].value);
    } else if (tw_get_le32(rec) == UNDO_IO) {
        (void)io_apply(e, target, rec + HEAD);
    } else {
        tw_graph_restore_script(g, target, rec + HEAD, bytes);
    }
}

void undo_revert(tw_engine_t *e)
{
    const undo_t *u = &e->undo;
    for (uint32_t at = 0; at < u->used; at += record(tw_get_le32(u->buf + at + 8))) {
        put_back(e, u->buf + at);
    }
    undo_forget(e);
}
