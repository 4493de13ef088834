/* session.c - hello, and what outlives a connection.
 *
 *             hello                 connection gone             resume_ms passed, Bye,
 *   (none) ---------> CONNECTED ----------------------> LOST ------ record needed -------> (none)
 *                         ^      token shown in hello     |
 *                         +-------------------------------+
 *
 * A lost session keeps its stored replies, blobs and subscriptions. Its
 * transaction is rolled back and its uploads end at once: half of something is
 * never kept for somebody who may not come back.
 */
#include "protocol/schema.h"
#include "server/server_priv.h"

enum {
    /* graph param script arc blob txn resume */
    FEATURES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 9 | 1 << 11,
    FEATURE_GPIO = 1 << 7,
    FEATURE_AUTH = 1 << 10,
    MAJOR = 1,
    MINOR = 0,
};

/* Without a random source a token is only unlikely to repeat; such a device has no keys to protect either. */
void tw_server_random(tw_server_t *s, uint8_t *out, size_t n)
{
    if (s->cfg.crypto != NULL && s->cfg.crypto->random(out, n) == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t x = s->random_seq += 0x9E3779B97F4A7C15u;
        x ^= tw_now(s) ^ s->cfg.boot_id << 1;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        out[i] = (uint8_t)(x >> 56);
    }
}

static tw_session_t *by_token(tw_server_t *s, const uint8_t *token, uint32_t len)
{
    for (uint32_t i = 0; len == sizeof s->sessions[0].token && i < s->cfg.max_sessions; i++) {
        tw_session_t *ses = &s->sessions[i];
        if (ses->used && memcmp(ses->token, token, len) == 0) {
            return ses;
        }
    }
    return NULL;
}

/* There are as many records as connections, so when none is free one of them is lost: the oldest makes room. */
static tw_session_t *free_record(tw_server_t *s)
{
    tw_session_t *oldest = NULL;
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        tw_session_t *ses = &s->sessions[i];
        if (!ses->used) {
            return ses;
        }
        if (ses->peer == NULL && (oldest == NULL || ses->lost_us < oldest->lost_us)) {
            oldest = ses;
        }
    }
    tw_count(s, TW_CNT_EXPIRED);
    tw_session_end(s, oldest);
    return oldest;
}

static tw_session_t *fresh(tw_server_t *s)
{
    tw_session_t *ses = free_record(s);
    tw_slot_t *slots = ses->slots;
    const uint16_t index = ses->index;
    *ses = (tw_session_t){.used = true, .slots = slots, .index = index};
    for (uint32_t i = 0; i <= s->slot_mask; i++) {
        slots[i].state = TW_SLOT_FREE;
        slots[i].id = 0;
    }
    tw_server_random(s, ses->token, sizeof ses->token);
    return ses;
}

/* The owner of the token is back, perhaps before we noticed that the old connection is dead. */
static tw_session_t *resume(tw_peer_t *p, tw_session_t *ses)
{
    if (ses->peer != NULL) {
        tw_peer_t *old = ses->peer;
        tw_session_lost(ses);
        old->ses = NULL;
        tw_conn_goaway(&old->conn, TW_E_CLOSED);
    }
    tw_count(p->s, TW_CNT_RESUMED);
    return ses;
}

static void start(tw_peer_t *p, tw_session_t *ses, uint32_t max_calls)
{
    tw_server_t *s = p->s;
    p->ses = ses;
    p->progress_us = tw_now(s);
    ses->peer = p;
    ses->max_calls = max_calls != 0 ? tw_min_u32(max_calls, s->cfg.max_calls) : s->cfg.max_calls;
    ses->role = tw_auth_needed(s) ? (uint8_t)TW_ROLE_VIEW : s->cfg.open_role;
    tw_server_random(s, p->nonce, sizeof p->nonce);
}

static void fill_hello(const tw_peer_t *p, tunewire_v1_HelloRep *rep)
{
    const tw_server_t *s = p->s;
    rep->major = MAJOR;
    rep->minor = MINOR;
    rep->max_frame = p->conn.max_frame;
    rep->window = p->conn.window;
    rep->features =
        FEATURES | (tw_auth_needed(s) ? FEATURE_AUTH : 0) | (tw_engine_gpio(s->e) != NULL ? FEATURE_GPIO : 0);
    rep->schema_crc = s->schema_crc;
    rep->session.size = sizeof p->ses->token;
    memcpy(rep->session.bytes, p->ses->token, sizeof p->ses->token);
    rep->nonce.size = sizeof p->nonce;
    memcpy(rep->nonce.bytes, p->nonce, sizeof p->nonce);
    rep->auth_required = tw_auth_needed(s);
    tw_copy_str(rep->server, sizeof rep->server, s->cfg.name != NULL ? s->cfg.name : "tunewire");
    tw_copy_str(rep->build, sizeof rep->build, s->cfg.build != NULL ? s->cfg.build : "");
    rep->boot_id = s->cfg.boot_id;
    rep->max_calls = p->ses->max_calls;
}

static void log_hello(tw_peer_t *p, const char *client, bool resumed)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, resumed ? "session resumed by " : "session opened by ");
    tw_text_str(&t, client[0] != '\0' ? client : "a client");
    tw_text_str(&t, " at ");
    tw_text_str(&t, p->name);
    tw_server_log(p->s, TW_LOG_INFO, TW_SRC_SESSION, buf);
}

void tw_session_hello(tw_peer_t *p, const uint8_t *data, uint32_t len)
{
    tunewire_v1_HelloReq q;
    if (tw_rpc_decode(data, len, tunewire_v1_HelloReq_fields, &q) != TW_OK) {
        tw_conn_goaway(&p->conn, TW_E_MESSAGE);
        return;
    }
    if (q.major != MAJOR) {
        tw_conn_goaway(&p->conn, TW_E_VERSION);
        return;
    }
    tw_session_t *known = by_token(p->s, q.resume_token.bytes, q.resume_token.size);
    start(p, known != NULL ? resume(p, known) : fresh(p->s), q.max_calls);
    tw_conn_agree(&p->conn, q.max_frame, q.window);

    tunewire_v1_HelloRep rep = tunewire_v1_HelloRep_init_zero;
    fill_hello(p, &rep);
    tw_err_t err;
    const uint32_t n = tw_rpc_encode(p->s->scratch, p->s->scratch_bytes, tunewire_v1_HelloRep_fields, &rep, &err);
    /* the send buffer is empty and larger than any HelloRep */
    (void)tw_conn_send(&p->conn, TW_FT_HELLO, 0, TW_FF_FIN, p->s->scratch, n);
    log_hello(p, q.client, known != NULL);
    if (known != NULL && tw_may_hear(p)) {
        tw_session_back(p);
    }
}

void tw_session_back(tw_peer_t *p)
{
    tw_flush_unsent(p);
    tw_subs_resume(p->s, p->ses);
}

void tw_session_lost(tw_session_t *ses)
{
    tw_peer_t *p = ses->peer;
    tw_server_t *s = p->s;
    if (s->txn.id != 0 && s->txn.ses == ses) {
        tw_txn_drop(s);
    }
    tw_blobs_peer_gone(s, p);
    for (size_t i = 0; i < TW_COUNT(p->sinks); i++) {
        p->sinks[i].kind = TW_SINK_NONE;
    }
    ses->peer = NULL;
    ses->lost_us = tw_now(s);
    ses->role = TW_ROLE_VIEW;
    tw_deferred_lost(s, ses);
    tw_pending_lost(s, ses);
    tw_debugger_session_gone(s, ses);
}

void tw_session_end(tw_server_t *s, tw_session_t *ses)
{
    if (ses->peer != NULL) {
        ses->peer->ses = NULL;
        tw_session_lost(ses);
    }
    tw_deferred_forget(s, ses);
    tw_subs_session_gone(s, ses);
    tw_armed_session_gone(s, ses);
    tw_doubles_session_gone(s, ses);
    tw_blobs_session_gone(s, ses);
    ses->used = false;
}

void tw_sessions_expire(tw_server_t *s, uint64_t now, uint64_t *next)
{
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        tw_session_t *ses = &s->sessions[i];
        if (!ses->used || ses->peer != NULL) {
            continue;
        }
        const uint64_t end = ses->lost_us + (uint64_t)s->cfg.resume_ms * 1000;
        if (end <= now) {
            tw_count(s, TW_CNT_EXPIRED);
            tw_session_end(s, ses);
        } else if (end < *next) {
            *next = end;
        }
    }
}
