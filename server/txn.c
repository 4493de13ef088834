/* txn.c - the one open transaction: staged, then handed over as a single group.
 *
 *            op checked           commit: every op put, one publish
 *   OPEN ---------------> OPEN -------------------------------------> (none)
 *     |  op refused: noted, commit answers ABORTED
 *     +-- lease over, connection gone, rollback, another graph -----> (none), nothing applied
 *
 * With confirm_ms a commit is not the end (pending.c):
 *
 *   commit --> WAITS -- Confirm ----------------------------------------------> (none), new values
 *                +-- time over, connection gone, rollback, overload, NaN -----> (none), old values
 *
 * Values are checked when they are staged and stay valid as long as the graph
 * does; the generation proves that at commit.
 */
#include "server/server_priv.h"

enum { CONFIRM_MAX_MS = 600000 };

enum { OP_ALIGN = 4 };

static uint32_t op_room(const tw_op_t *op)
{
    return (uint32_t)sizeof *op + tw_round_up(op->bytes, OP_ALIGN);
}

void tw_txn_drop(tw_server_t *s)
{
    s->txn.id = 0;
    tw_count(s, TW_CNT_TXN_DROPPED);
}

void tw_txn_expire(tw_server_t *s, uint64_t now, uint64_t *next)
{
    tw_txn_t *t = &s->txn;
    if (t->id == 0) {
        return;
    }
    if (t->lease_us <= now) {
        t->last_expired = t->id;
        tw_txn_drop(s);
        tw_server_log(s, TW_LOG_WARN, TW_SRC_SESSION, "transaction rolled back: lease expired");
    } else if (t->lease_us < *next) {
        *next = t->lease_us;
    }
}

static bool is_open(tw_call_t *c, uint32_t id)
{
    tw_txn_t *t = &c->s->txn;
    uint64_t next = TW_NEVER;
    tw_txn_expire(c->s, tw_now(c->s), &next);
    if (t->id != 0 && t->id == id && t->ses == c->ses) {
        return true;
    }
    const bool expired = id != 0 && id == t->last_expired;
    tw_fail(c, expired ? TW_E_TXN_LEASE : TW_E_TXN_NONE, id, "begin again");
    return false;
}

static void renew(tw_server_t *s)
{
    s->txn.lease_us = tw_now(s) + (uint64_t)s->txn.lease_ms * 1000;
}

bool tw_txn_check(tw_call_t *c)
{
    if (!is_open(c, c->txn)) {
        return false;
    }
    renew(c->s);
    c->op = ++c->s->txn.ops;
    return true;
}

void tw_txn_note_failure(tw_call_t *c, const tunewire_v1_Status *st)
{
    tw_txn_t *t = &c->s->txn;
    if (t->failed_op == 0 || c->op < t->failed_op) {
        t->failed_op = c->op;
        t->first_error = *st;
    }
}

tw_err_t tw_txn_stage(tw_call_t *c, const tw_op_t *op, const uint8_t *value)
{
    tw_txn_t *t = &c->s->txn;
    if (op_room(op) > c->s->cfg.txn_bytes - t->used) {
        return TW_E_TXN_FULL;
    }
    tw_op_t numbered = *op;
    numbered.number = c->op;
    memcpy(t->area + t->used, &numbered, sizeof numbered);
    if (op->bytes != 0) {
        memcpy(t->area + t->used + sizeof *op, value, op->bytes);
    }
    t->used += op_room(op);
    return TW_OK;
}

/* ---- commit ------------------------------------------------------------------- */

static tw_err_t put_op(tw_server_t *s, const tw_op_t *op, const uint8_t *value)
{
    switch ((tw_op_kind_t)op->kind) {
    case TW_OP_SET:
        return tw_engine_put_param(s->e, 0, op->target, op->index, value, op->bytes);
    case TW_OP_PRESET:
        return tw_engine_put_preset(s->e, 0, op->target, op->index);
    case TW_OP_IO:
        return tw_engine_put_io(s->e, 0, op->target,
                                (const uint32_t[]){tw_get_le32(value), tw_get_le32(value + 4), tw_get_le32(value + 8)});
    case TW_OP_SCRIPT:
        return tw_engine_put_script(s->e, 0, op->target, value, op->index,
                                    op->bytes > op->index ? op->bytes - tw_round_up(op->index, 4) : 0);
    }
    return TW_E_INTERNAL;
}

typedef tw_err_t visit_fn(tw_server_t *s, const tw_op_t *op, const uint8_t *value);

static tw_err_t each_op(tw_server_t *s, visit_fn *visit)
{
    const tw_txn_t *t = &s->txn;
    for (uint32_t at = 0; at < t->used;) {
        tw_op_t op;
        memcpy(&op, t->area + at, sizeof op);
        TW_TRY(visit(s, &op, t->area + at + sizeof op));
        at += op_room(&op);
    }
    return TW_OK;
}

/* Somebody was faster: the operation fails now, though it was good when it was staged. */
static tw_err_t check_version(tw_server_t *s, const tw_op_t *op, const uint8_t *value)
{
    (void)value;
    const tw_err_t err = op->expect_version == 0 ? TW_OK : tw_param_version_is(s, op->target, op->expect_version);
    if (err != TW_OK) {
        s->txn.failed_op = op->number;
        tw_rpc_status(&s->txn.first_error, err, tw_engine_version(s->e, op->target), "where = version now");
    }
    return err;
}

static void reply_applied(tw_call_t *c, uint32_t id, uint32_t ops, uint64_t tick)
{
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    tunewire_v1_TxnRep rep = tunewire_v1_TxnRep_init_zero;
    rep.txn = id;
    rep.generation = info.generation;
    rep.applied_tick = tick;
    rep.ops = ops;
    tw_reply(c, tunewire_v1_TxnRep_fields, &rep);
}

/* The one failing reply with a response: it carries the operation's own error. */
static void reply_failed(tw_call_t *c, tw_err_t err)
{
    const tw_txn_t *t = &c->s->txn;
    char buf[TW_LOG_TEXT];
    tw_text_t x;
    tw_text_init(&x, buf, sizeof buf);
    tw_text_str(&x, "operation ");
    tw_text_int(&x, t->failed_op);
    tw_text_str(&x, ": ");
    tw_text_str(&x, t->first_error.text);
    tunewire_v1_Status st;
    tw_rpc_status(&st, err, t->failed_op, NULL);
    tw_copy_str(st.text, sizeof st.text, buf);
    tunewire_v1_TxnRep rep = tunewire_v1_TxnRep_init_zero;
    rep.txn = t->id;
    rep.ops = t->ops;
    rep.has_first_error = true;
    rep.first_error = t->first_error;
    tw_txn_drop(c->s);
    tw_reply_status(c, &st, tunewire_v1_TxnRep_fields, &rep);
}

static void refuse_tick(tw_call_t *c, tw_err_t err, uint64_t tick)
{
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, "tick ");
    tw_text_int(&t, tick < INT64_MAX ? (int64_t)tick : INT64_MAX);
    tw_text_str(&t, ": the next is ");
    tw_text_int(&t, (int64_t)info.tick);
    tw_text_str(&t, err == TW_E_TXN_TICK ? ", name one at least 2 ahead" : ", name one nearer to it");
    tw_txn_drop(c->s);
    tw_fail(c, err, 0, buf);
}

/* Hand the group over for its tick; the answer comes when that tick does. */
static void publish_at(tw_call_t *c)
{
    tw_txn_t *t = &c->s->txn;
    tw_deferred_t *d = tw_defer(c, TW_WAIT_COMMIT);
    if (d == NULL) {
        tw_engine_drop(c->s->e);
        return;
    }
    const tw_err_t err = tw_engine_publish_at(c->s->e, t->tick, d->token);
    if (err != TW_OK) {
        tw_undefer(c->s, d);
        tw_engine_drop(c->s->e);
        if (err == TW_E_TXN_TICK || err == TW_E_RANGE) {
            refuse_tick(c, err, t->tick);
        } else {
            tw_fail(c, err, 0,
                    err == TW_E_BUSY ? "another commit waits for its tick; commit again"
                                     : "too large to wait for a tick: use fewer operations, or NOW");
        }
        return;
    }
    d->a = t->id; /* not `committed`: it can be withdrawn until its tick */
    d->b = t->ops;
    d->c = t->confirm_ms;
    if (t->confirm_ms != 0) {
        tw_pending_set(c, TW_WAITS_VALUES, t->id, t->ops, 0);
    }
    t->id = 0;
}

void tw_done_commit(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err != TW_OK) {
        tw_count(c->s, TW_CNT_TXN_DROPPED);
        const tw_pending_t *p = &c->s->pending;
        if (p->kind == TW_WAITS_VALUES && p->id == d->a) { /* else its graph went first, and something newer waits */
            tw_pending_clear(c->s);
        }
        tw_fail(c, r->err, 0, "nothing was applied");
        return;
    }
    tw_count(c->s, TW_CNT_TXN_COMMITS);
    if (d->c != 0) {
        tw_pending_begins(c->s, d->a, d->c);
    }
    reply_applied(c, d->a, d->b, r->tick);
}

static bool same_graph(tw_call_t *c)
{
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    if (info.generation == c->s->txn.generation && c->s->swap_token == 0) {
        return true;
    }
    tw_txn_drop(c->s);
    tw_fail(c, TW_E_GENERATION, info.generation, "another graph was loaded meanwhile, nothing was applied");
    return false;
}

/* With confirm, the engine remembers what each operation replaces. */
static tw_err_t put_all(tw_server_t *s)
{
    if (s->txn.confirm_ms == 0) {
        return each_op(s, put_op);
    }
    TW_TRY(tw_engine_put_arm(s->e, s->txn.id));
    TW_TRY(each_op(s, put_op));
    return tw_engine_put_armed(s->e);
}

static tw_err_t blame(tw_server_t *s, const tw_op_t *op, const uint8_t *value)
{
    (void)value;
    if (op->kind <= TW_OP_PRESET && op->target == s->txn.blamed) {
        s->txn.failed_op = op->number;
    }
    return TW_OK;
}

/* Blamed is the last operation on a node whose values are wrong together. */
static tw_err_t check_together(tw_server_t *s)
{
    const tw_err_t err = tw_values_together(s, &s->txn.blamed, &s->txn.first_error);
    if (err != TW_OK) {
        (void)each_op(s, blame);
    }
    return err;
}

static void commit(tw_call_t *c)
{
    tw_server_t *s = c->s;
    const tw_err_t stale = each_op(s, check_version);
    if (stale != TW_OK) {
        reply_failed(c, stale);
        return;
    }
    const tw_err_t err = put_all(s);
    if (err == TW_E_TXN_FULL) {
        tw_engine_drop(s->e);
        tw_txn_drop(s);
        tw_fail(c, err, s->txn.ops, "the old values find no room: confirm fewer nodes at once, or none");
        return;
    }
    if (err != TW_OK) {
        tw_engine_drop(s->e);
        if (err != TW_E_QUEUE_FULL) {
            tw_txn_drop(s);
        }
        tw_fail(c, err, 0, err == TW_E_QUEUE_FULL ? "nothing was applied; commit again" : "nothing was applied");
        return;
    }
    const tw_err_t joint = check_together(s);
    if (joint != TW_OK) {
        tw_engine_drop(s->e);
        reply_failed(c, joint);
        return;
    }
    if (s->txn.at == tunewire_v1_TxnBegin_At_TICK) {
        publish_at(c);
        return;
    }
    const uint64_t tick = tw_engine_publish(s->e);
    const uint32_t id = s->txn.id, ops = s->txn.ops;
    s->txn.id = 0;
    if (s->txn.confirm_ms != 0) {
        tw_pending_set(c, TW_WAITS_VALUES, id, ops, s->txn.confirm_ms);
    }
    tw_count(s, TW_CNT_TXN_COMMITS);
    reply_applied(c, id, ops, tick);
}

/* A value that is still on its way belongs to the transaction as much as those that are here. */
static bool all_arrived(tw_call_t *c)
{
    const tw_deferred_t *d = tw_deferred_by_token(c->s, c->s->upload_token);
    if (d == NULL || d->txn != c->s->txn.id) {
        return true;
    }
    tw_fail(c, TW_E_STATE, d->op, "an operation's value is on its way (where): end its stream first");
    return false;
}

void tw_on_txn_commit(tw_call_t *c, const void *request)
{
    const tunewire_v1_TxnRef *q = request;
    if (!is_open(c, q->txn)) {
        return;
    }
    if (q->confirm_ms != 0) {
        c->s->txn.confirm_ms = tw_min_u32(q->confirm_ms, CONFIRM_MAX_MS);
    }
    if (c->s->txn.failed_op != 0) {
        reply_failed(c, TW_E_TXN_FAILED);
    } else if (all_arrived(c) && same_graph(c)) {
        commit(c);
    }
}

/* ---- after the commit: the last word --------------------------------------------- */

/* A committed transaction; 0 names whichever waits, for a client that did not begin it. */
static bool waits(const tw_server_t *s, uint32_t id)
{
    const tw_pending_t *p = &s->pending;
    return p->kind == TW_WAITS_VALUES && !p->going_back && (id == 0 || id == p->id);
}

static void end_pending(tw_call_t *c, tw_wait_kind_t kind)
{
    tw_pending_t *p = &c->s->pending;
    if (p->due_us == TW_NEVER) {
        tw_fail(c, TW_E_STATE, p->id, "it waits for its tick: cancel the commit instead");
        return;
    }
    tw_deferred_t *d = tw_defer(c, kind);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d,
                      kind == TW_WAIT_CONFIRM ? tw_engine_put_confirm(c->s->e, d->token, p->id)
                                              : tw_engine_put_revert(c->s->e, d->token, p->id))) {
        return;
    }
    d->committed = true;
    d->a = p->id;
    d->b = p->ops;
    p->kind = TW_WAITS_NOTHING;
}

void tw_done_confirm(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err != TW_OK) {
        tw_fail(c, TW_E_REVERTED, d->a, "too late (see the log): the old values are back");
        return;
    }
    tw_count(c->s, d->kind == TW_WAIT_CONFIRM ? TW_CNT_TXN_CONFIRMED : TW_CNT_TXN_REVERTED);
    reply_applied(c, d->a, d->b, r->tick);
}

void tw_on_txn_confirm(tw_call_t *c, const void *request)
{
    const tunewire_v1_TxnRef *q = request;
    if (waits(c->s, q->txn)) {
        end_pending(c, TW_WAIT_CONFIRM);
    } else {
        const tw_pending_t *p = &c->s->pending;
        const char *why = p->going_back ? p->why : p->count != 0 ? p->last : NULL;
        tw_fail(c, why != NULL ? TW_E_REVERTED : TW_E_TXN_NONE, q->txn,
                why != NULL ? why : "nothing waits to be confirmed");
    }
}

void tw_on_txn_rollback(tw_call_t *c, const void *request)
{
    const tunewire_v1_TxnRef *q = request;
    if (waits(c->s, q->txn)) {
        end_pending(c, TW_WAIT_REVERT);
        return;
    }
    if (!is_open(c, q->txn)) {
        return;
    }
    tunewire_v1_TxnRep rep = tunewire_v1_TxnRep_init_zero;
    rep.txn = q->txn;
    rep.generation = c->s->txn.generation;
    rep.ops = c->s->txn.ops;
    tw_txn_drop(c->s);
    tw_reply(c, tunewire_v1_TxnRep_fields, &rep);
}

/* ---- begin ---------------------------------------------------------------------- */

static void reply_busy(tw_call_t *c)
{
    tunewire_v1_Status st;
    tw_rpc_status(&st, TW_E_TXN_BUSY, 0, "detail = milliseconds its lease still has");
    st.detail = (uint32_t)((c->s->txn.lease_us - tw_now(c->s)) / 1000);
    tw_reply_status(c, &st, NULL, NULL);
}

static tw_err_t check_begin(tw_call_t *c, const tunewire_v1_TxnBegin *q, const tw_engine_info_t *info,
                            const char **text)
{
    *text = NULL;
    if (info->state == TW_GRAPH_EMPTY) {
        *text = "load a graph first";
        return TW_E_NO_GRAPH;
    }
    if (q->expect_generation != 0 && q->expect_generation != info->generation) {
        *text = "read Graph.Info and begin again";
        return TW_E_GENERATION;
    }
    if (q->at > tunewire_v1_TxnBegin_At_TICK) {
        *text = "at: 0 NOW, 1 FRAME, 2 TICK";
        return TW_E_ARG;
    }
    if (c->s->cfg.txn_bytes == 0) {
        *text = "no transactions on this device";
        return TW_E_UNSUPPORTED;
    }
    return TW_OK;
}

void tw_on_txn_begin(tw_call_t *c, const void *request)
{
    const tunewire_v1_TxnBegin *q = request;
    tw_txn_t *t = &c->s->txn;
    uint64_t next = TW_NEVER;
    tw_txn_expire(c->s, tw_now(c->s), &next);
    if (!tw_graph_ok(c, q->graph) || !tw_pending_none(c)) {
        return;
    }
    if (t->id != 0) {
        reply_busy(c);
        return;
    }
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    const char *text;
    const tw_err_t err = check_begin(c, q, &info, &text);
    if (err != TW_OK) {
        tw_fail(c, err, info.generation, text);
        return;
    }
    t->next_id += 1 + (t->next_id == UINT32_MAX);
    t->id = t->next_id;
    t->ses = c->ses;
    t->lease_ms = q->lease_ms == 0 ? TW_LEASE_MS : tw_min_u32(q->lease_ms, TW_LEASE_MAX_MS);
    t->generation = info.generation;
    t->at = (uint32_t)q->at;
    t->tick = q->tick;
    t->confirm_ms = tw_min_u32(q->confirm_ms, CONFIRM_MAX_MS);
    t->ops = t->used = t->failed_op = 0;
    renew(c->s);
    tunewire_v1_TxnRep rep = tunewire_v1_TxnRep_init_zero;
    rep.txn = t->id;
    rep.generation = info.generation;
    tw_reply(c, tunewire_v1_TxnRep_fields, &rep);
}
