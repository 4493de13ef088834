/* pending.c - changes that were made and wait for somebody's word: a committed transaction, a swapped graph.
 *
 *             confirmed                                 asked, time over, connection gone
 *   (none) <------------- WAITS ----------------------------------------> GOING BACK --engine has it--> (none)
 *                           | overload, NaN: the engine went back by itself
 *                           +-------------------------------------------------------------------------> (none)
 *
 * There is one at a time. The engine remembers the old values, or holds the old graph; time and connections are
 * looked at here. When the engine's queue is full, going back is tried again at the next poll: it is never given up.
 */
#include "server/server_priv.h"

void tw_pending_set(tw_call_t *c, tw_waits_t kind, uint32_t id, uint32_t ops, uint32_t ms)
{
    tw_pending_t *p = &c->s->pending;
    p->kind = (uint8_t)kind;
    p->going_back = p->told = false;
    p->ses = c->ses;
    p->id = id;
    p->ops = ops;
    p->due_us = ms != 0 ? tw_now(c->s) + (uint64_t)ms * 1000 : TW_NEVER;
}

void tw_pending_begins(tw_server_t *s, uint32_t id, uint32_t ms)
{
    if (s->pending.kind != TW_WAITS_NOTHING && s->pending.id == id && s->pending.due_us == TW_NEVER) {
        s->pending.due_us = tw_now(s) + (uint64_t)ms * 1000;
    }
}

void tw_pending_clear(tw_server_t *s)
{
    s->pending.kind = TW_WAITS_NOTHING;
    s->pending.going_back = s->pending.told = false;
}

bool tw_pending_none(tw_call_t *c)
{
    const tw_pending_t *p = &c->s->pending;
    if (p->kind == TW_WAITS_NOTHING) {
        return true;
    }
    tw_fail(c, TW_E_UNCONFIRMED, p->id,
            p->kind == TW_WAITS_SWAP ? "the graph that was loaded last: Graph.Keep or Graph.Rollback first"
                                     : "a transaction (where): Txn.Confirm or Txn.Rollback first");
    return false;
}

static void go_back(tw_server_t *s, const char *why)
{
    s->pending.going_back = true;
    s->pending.why = why;
}

void tw_pending_lost(tw_server_t *s, const tw_session_t *ses)
{
    if (s->pending.kind != TW_WAITS_NOTHING && s->pending.ses == ses) {
        go_back(s, "the connection was lost");
        s->pending.ses = NULL;
    }
}

static void went_back(tw_server_t *s, tw_waits_t kind, uint64_t tick)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, kind == TW_WAITS_SWAP ? "the old graph is back, tick " : "the old values are back, tick ");
    tw_text_int(&t, (int64_t)tick);
    tw_text_str(&t, ": ");
    tw_text_str(&t, s->pending.why);
    tw_server_log(s, TW_LOG_WARN, TW_SRC_GRAPH, buf);
    tw_count(s, TW_CNT_TXN_REVERTED);
    s->pending.tick = tick;
    s->pending.last = s->pending.why;
    s->pending.count++;
}

void tw_pending_done(tw_server_t *s, const tw_engine_reply_t *r)
{
    const tw_waits_t kind = (tw_waits_t)s->pending.kind;
    tw_pending_clear(s);
    if (r->err == TW_OK) {
        went_back(s, kind, r->tick);
    } /* otherwise the engine was faster, and its guard says so */
}

/* The engine did not wait for anybody. */
static void look_at_guard(tw_server_t *s)
{
    tw_engine_guard_t g;
    tw_engine_guard(s->e, &g);
    if (g.reverts == s->pending.reverts) {
        return;
    }
    s->pending.reverts = g.reverts;
    const tw_waits_t kind = (tw_waits_t)s->pending.kind;
    s->pending.why = g.reason == TW_REVERT_NAN ? "NaN in an output" : "too much load";
    if (!s->pending.told) {
        tw_pending_clear(s);
    }
    went_back(s, kind, g.tick);
}

static void tell_engine(tw_server_t *s)
{
    tw_pending_t *p = &s->pending;
    tw_err_t err = TW_E_BUSY;
    if (p->kind == TW_WAITS_VALUES) {
        err = tw_engine_put_revert(s->e, TW_TOKEN_PENDING, p->id);
    } else if (s->swap_token == 0) {
        err = tw_engine_put_rollback(s->e, TW_TOKEN_PENDING, 0);
        s->swap_token = err == TW_OK ? TW_TOKEN_PENDING : 0;
    }
    if (err == TW_OK) {
        (void)tw_engine_publish(s->e);
        p->told = true;
    } else if (err == TW_E_NO_ROLLBACK || err == TW_E_NO_GRAPH) {
        tw_pending_clear(s);
    }
}

void tw_pending_poll(tw_server_t *s, uint64_t now, uint64_t *next)
{
    enum { AGAIN_US = 1000 };
    tw_pending_t *p = &s->pending;
    look_at_guard(s);
    if (p->kind == TW_WAITS_NOTHING || p->told) {
        return;
    }
    if (!p->going_back && p->due_us <= now) {
        go_back(s, "nobody confirmed in time");
    }
    if (p->going_back) {
        tell_engine(s);
    }
    const uint64_t due = p->going_back ? now + AGAIN_US : p->due_us;
    *next = due < *next ? due : *next;
}
