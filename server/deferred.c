/* deferred.c - calls that are answered later: by the engine, an upload, or a timer.
 *
 * Each waits under a token the engine's reply carries. A token is never used
 * twice, so the reply to a call that was cancelled or forgotten meanwhile finds
 * nobody and is dropped. Knows no method: what to answer is in the handlers.
 */
#include "server/server_priv.h"

#define NONE UINT16_MAX
#define INDEX_BITS 12u
#define INDEX_MASK ((1u << INDEX_BITS) - 1u)
#define SEQ_MASK 0x7FFFFu /* keeps clear of TW_TOKEN_SUB */

void tw_deferred_init(tw_server_t *s)
{
    for (uint32_t i = 0; i < s->n_deferred; i++) {
        s->deferred[i] = (tw_deferred_t){.next = (uint16_t)(i + 1 < s->n_deferred ? i + 1 : NONE)};
    }
    s->free_deferred = 0;
    s->first_deferred = NONE;
    s->next_due_us = TW_NEVER;
}

static uint64_t due_of(const tw_call_t *c)
{
    const uint32_t ms = c->deadline_ms != 0 ? c->deadline_ms : tw_row(c->method)->deadline_ms;
    return ms != 0 ? tw_now(c->s) + (uint64_t)ms * 1000 : TW_NEVER;
}

tw_deferred_t *tw_defer(tw_call_t *c, tw_wait_kind_t kind)
{
    tw_server_t *s = c->s;
    const uint16_t i = s->free_deferred;
    if (i == NONE) {
        tw_fail(c, TW_E_TOO_MANY_CALLS, 0, "too many calls wait for the engine");
        return NULL;
    }
    tw_deferred_t *d = &s->deferred[i];
    s->free_deferred = d->next;
    s->token_seq = (s->token_seq + 1) & SEQ_MASK;
    s->token_seq += s->token_seq == 0;
    *d = (tw_deferred_t){
        .token = s->token_seq << INDEX_BITS | i,
        .next = s->first_deferred,
        .prev = NONE,
        .kind = (uint8_t)kind,
        .method = c->method,
        .ses = c->ses,
        .call_id = c->id,
        .txn = c->txn,
        .op = c->op,
        .due_us = due_of(c),
    };
    if (s->first_deferred != NONE) {
        s->deferred[s->first_deferred].prev = i;
    }
    s->first_deferred = i;
    if (d->due_us < s->next_due_us) {
        s->next_due_us = d->due_us;
    }
    return d;
}

bool tw_hand_over(tw_call_t *c, tw_deferred_t *d, tw_err_t err)
{
    if (err == TW_OK) {
        (void)tw_engine_publish(c->s->e);
        return true;
    }
    tw_engine_drop(c->s->e);
    tw_undefer(c->s, d);
    tw_fail(c, err, 0, err == TW_E_QUEUE_FULL ? TW_TEXT_QUEUE_FULL : "nothing was changed");
    return false;
}

void tw_undefer(tw_server_t *s, tw_deferred_t *d)
{
    const uint16_t i = (uint16_t)(d - s->deferred);
    if (d->prev != NONE) {
        s->deferred[d->prev].next = d->next;
    } else {
        s->first_deferred = d->next;
    }
    if (d->next != NONE) {
        s->deferred[d->next].prev = d->prev;
    }
    if (d->token == s->upload_token) {
        s->upload_token = 0;
    }
    d->token = 0;
    d->next = s->free_deferred;
    s->free_deferred = i;
}

tw_deferred_t *tw_deferred_by_token(tw_server_t *s, uint32_t token)
{
    const uint32_t i = token & INDEX_MASK;
    return token != 0 && i < s->n_deferred && s->deferred[i].token == token ? &s->deferred[i] : NULL;
}

tw_call_t tw_deferred_call(tw_server_t *s, const tw_deferred_t *d)
{
    return (tw_call_t){
        .s = s,
        .peer = d->ses->peer,
        .ses = d->ses,
        .id = d->call_id,
        .txn = d->txn,
        .method = d->method,
        .op = s->txn.id == d->txn && s->txn.ses == d->ses ? d->op : 0,
    };
}

/* Take the call out first: answering it may start others. */
static tw_call_t release(tw_server_t *s, tw_deferred_t *d)
{
    const tw_call_t c = tw_deferred_call(s, d);
    tw_undefer(s, d);
    return c;
}

void tw_deferred_reply(tw_server_t *s, const tw_engine_reply_t *r)
{
    tw_deferred_t *at = tw_deferred_by_token(s, r->token);
    if (at == NULL) {
        return;
    }
    const tw_deferred_t d = *at;
    tw_call_t c = release(s, at);
    switch ((tw_wait_kind_t)d.kind) {
    case TW_WAIT_GET:
        tw_done_get(&c, &d, r);
        break;
    case TW_WAIT_READBACK:
        tw_done_readback(&c, &d, r);
        break;
    case TW_WAIT_LOAD:
        tw_done_load(&c, &d, r);
        break;
    case TW_WAIT_UNLOAD:
        tw_done_unload(&c, &d, r);
        break;
    case TW_WAIT_CONTROL:
        tw_done_control(&c, &d, r);
        break;
    case TW_WAIT_RUN:
        tw_done_run(&c, &d, r);
        break;
    case TW_WAIT_STOP:
        tw_done_stop(&c, &d, r);
        break;
    case TW_WAIT_SCRIPT:
        tw_done_script(&c, &d, r);
        break;
    case TW_WAIT_COMMIT:
        tw_done_commit(&c, &d, r);
        break;
    case TW_WAIT_CONFIRM:
    case TW_WAIT_REVERT:
        tw_done_confirm(&c, &d, r);
        break;
    case TW_WAIT_ROLLBACK:
        tw_done_rollback(&c, &d, r);
        break;
    case TW_WAIT_KEEP:
        tw_done_keep(&c, &d, r);
        break;
    case TW_WAIT_ARC_READ:
        tw_done_arc_read(&c, &d, r);
        break;
    case TW_WAIT_ARC_WRITE:
        tw_done_arc_write(&c, &d, r);
        break;
    case TW_WAIT_SHADOW:
        tw_done_shadow(&c, &d, r);
        break;
    case TW_WAIT_METRICS:
        tw_done_metrics(&c, &d, r);
        break;
    case TW_WAIT_IO:
        tw_done_io(&c, &d, r);
        break;
    case TW_WAIT_DEBUG:
        tw_done_debug(&c, &d, r);
        break;
    case TW_WAIT_HELD:
    case TW_WAIT_VALUE:
    case TW_WAIT_AUTH:
        break; /* the engine does not know these */
    }
}

/* What the engine has is past stopping: its own answer comes within a block. A commit that waits for its tick
 * can be taken back until that tick. */
static bool may_stop(tw_server_t *s, const tw_deferred_t *d)
{
    if (d->kind != TW_WAIT_COMMIT) {
        return !d->committed;
    }
    const bool back = tw_engine_withdraw(s->e, d->token);
    if (back) {
        tw_count(s, TW_CNT_TXN_DROPPED);
        if (s->pending.kind == TW_WAITS_VALUES && s->pending.id == d->a) {
            tw_pending_clear(s);
        }
    }
    return back;
}

static void expire_one(tw_server_t *s, tw_deferred_t *at)
{
    if (at->kind == TW_WAIT_COMMIT && !may_stop(s, at)) {
        at->due_us = TW_NEVER;
        return;
    }
    const tw_deferred_t d = *at;
    tw_call_t c = release(s, at);
    if (d.kind == TW_WAIT_AUTH) {
        tw_auth_answer(&c);
        return;
    }
    if (d.kind == TW_WAIT_HELD) {
        tw_debugger_ask(&c, &d);
        return;
    }
    if (d.kind == TW_WAIT_VALUE && c.peer != NULL) {
        tw_stream_end(c.peer, (uint16_t)d.d, TW_E_TIMEOUT, s->upload_used);
    }
    tw_count(s, TW_CNT_LATE);
    tw_fail(&c, TW_E_TIMEOUT, 0, d.committed ? "handed to the engine, it may still happen" : "nothing was changed");
}

void tw_deferred_expire(tw_server_t *s, uint64_t now)
{
    if (now < s->next_due_us) {
        return;
    }
    uint64_t due = TW_NEVER;
    for (uint16_t i = s->first_deferred; i != NONE;) {
        tw_deferred_t *d = &s->deferred[i];
        i = d->next;
        if (d->due_us <= now) {
            expire_one(s, d);
        } else if (d->due_us < due) {
            due = d->due_us;
        }
    }
    s->next_due_us = due;
}

bool tw_deferred_take(tw_server_t *s, tw_wait_kind_t kind, uint32_t b, tw_deferred_t *out)
{
    for (uint16_t i = s->first_deferred; i != NONE; i = s->deferred[i].next) {
        tw_deferred_t *d = &s->deferred[i];
        if (d->kind == (uint8_t)kind && d->b != b) {
            *out = *d;
            tw_undefer(s, d);
            return true;
        }
    }
    return false;
}

bool tw_deferred_urgent(const tw_server_t *s)
{
    for (uint16_t i = s->first_deferred; i != NONE; i = s->deferred[i].next) {
        if (s->deferred[i].kind != TW_WAIT_HELD) {
            return true;
        }
    }
    return false;
}

static void cancel_one(tw_server_t *s, tw_deferred_t *at)
{
    const tw_deferred_t d = *at;
    tw_call_t c = release(s, at);
    if (d.kind == TW_WAIT_VALUE && c.peer != NULL) {
        tw_sink_close(c.peer, (uint16_t)d.d);
    }
    tw_count(s, TW_CNT_CANCELLED);
    tw_fail(&c, TW_E_CANCELLED, 0, "nothing was changed");
}

bool tw_deferred_cancel(tw_server_t *s, tw_session_t *ses, uint32_t call_id)
{
    for (uint16_t i = s->first_deferred; i != NONE; i = s->deferred[i].next) {
        tw_deferred_t *d = &s->deferred[i];
        if (d->ses == ses && d->call_id == call_id && d->kind != TW_WAIT_AUTH && may_stop(s, d)) {
            cancel_one(s, d);
            return true;
        }
    }
    return false;
}

void tw_deferred_lost(tw_server_t *s, tw_session_t *ses)
{
    for (uint16_t i = s->first_deferred; i != NONE;) {
        tw_deferred_t *d = &s->deferred[i];
        i = d->next;
        if (d->ses == ses && may_stop(s, d)) {
            cancel_one(s, d);
        }
    }
}

void tw_deferred_forget(tw_server_t *s, tw_session_t *ses)
{
    for (uint16_t i = s->first_deferred; i != NONE;) {
        tw_deferred_t *d = &s->deferred[i];
        i = d->next;
        if (d->ses == ses) {
            tw_undefer(s, d);
        }
    }
}
