/* auth.c - who may call: the challenge of Session.Auth and the MAC of each call.
 *
 * The ciphers are in the table given at init. A failed attempt is answered
 * late, on purpose, and the third closes the connection.
 */
#include "server/server_priv.h"

enum { NONCE = 16, MAC = 16 };

bool tw_auth_needed(const tw_server_t *s)
{
    return s->cfg.key != NULL && s->cfg.crypto != NULL;
}

/* No early exit: the time tells nothing about where two values differ. */
static bool same(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint8_t diff = 0;
    for (size_t i = 0; i < n; i++) {
        diff |= (uint8_t)(a[i] ^ b[i]);
    }
    return diff == 0;
}

/* HMAC(key, label | x | y | role) */
static void prove(const tw_server_t *s, const char label[4], const uint8_t *x, const uint8_t *y, uint8_t role,
                  uint8_t out[TW_SHA256_BYTES])
{
    uint8_t head[4 + NONCE], tail[NONCE + 1];
    memcpy(head, label, 4);
    memcpy(head + 4, x, NONCE);
    memcpy(tail, y, NONCE);
    tail[NONCE] = role;
    s->cfg.crypto->hmac(s->cfg.key, s->cfg.key_len, head, sizeof head, tail, sizeof tail, out);
}

static bool proof_holds(tw_call_t *c, const tunewire_v1_AuthReq *q)
{
    const tw_server_t *s = c->s;
    if (q->client_nonce.size != NONCE || q->proof.size != TW_SHA256_BYTES || q->role > TW_ROLE_ADMIN) {
        return false;
    }
    if (s->cfg.key_id != NULL && strcmp(q->key_id, s->cfg.key_id) != 0) {
        return false;
    }
    uint8_t want[TW_SHA256_BYTES];
    prove(s, "auth", c->peer->nonce, q->client_nonce.bytes, (uint8_t)q->role, want);
    return same(want, q->proof.bytes, sizeof want);
}

static void failed(tw_call_t *c)
{
    tw_count(c->s, TW_CNT_AUTH_FAILED);
    tw_server_log(c->s, TW_LOG_WARN, TW_SRC_SESSION, "authentication failed");
    c->peer->auth_failures++;
    c->deadline_ms = 0;
    tw_deferred_t *d = tw_defer(c, TW_WAIT_AUTH);
    if (d != NULL) {
        d->due_us = tw_now(c->s) + TW_AUTH_DELAY_US;
        c->s->next_due_us = 0;
    }
}

/* The delay of a failed attempt is over. */
void tw_auth_answer(tw_call_t *c)
{
    tw_fail(c, TW_E_AUTH, 0, "key, key_id or role wrong");
    if (c->peer != NULL && c->peer->auth_failures >= TW_AUTH_TRIES) {
        tw_count(c->s, TW_CNT_FATAL);
        tw_conn_goaway(&c->peer->conn, TW_E_AUTH);
    }
}

void tw_on_session_auth(tw_call_t *c, const void *request)
{
    const tunewire_v1_AuthReq *q = request;
    tw_peer_t *p = c->peer;
    if (!tw_auth_needed(c->s)) {
        tw_fail(c, TW_E_STATE, 0, "no key is configured here, calls need none");
        return;
    }
    if (p->auth_failures >= TW_AUTH_TRIES || !proof_holds(c, q)) {
        failed(c);
        return;
    }
    const uint8_t role = (uint8_t)q->role;
    tunewire_v1_AuthRep rep = tunewire_v1_AuthRep_init_zero;
    rep.role = role;
    rep.proof.size = TW_SHA256_BYTES;
    prove(c->s, "serv", q->client_nonce.bytes, p->nonce, role, rep.proof.bytes);
    prove(c->s, "call", p->nonce, q->client_nonce.bytes, role, p->call_key);
    const bool first = !p->authenticated;
    p->authenticated = true;
    p->auth_failures = 0;
    c->ses->role = role;
    tw_reply(c, tunewire_v1_AuthRep_fields, &rep);
    if (first) {
        tw_session_back(p);
    }
}

bool tw_auth_call(tw_peer_t *p, const tunewire_v1_CallHeader *h, const uint8_t *mac, uint32_t mac_len,
                  const uint8_t *request, uint32_t request_len)
{
    if (!tw_auth_needed(p->s) || !p->authenticated || h->method == TW_M_Session_Auth) {
        return true;
    }
    uint8_t head[20], want[TW_SHA256_BYTES];
    tw_put_le32(head, h->call_id);
    tw_put_le32(head + 4, h->method);
    tw_put_le32(head + 8, h->deadline_ms);
    tw_put_le32(head + 12, h->txn);
    tw_put_le32(head + 16, h->stream);
    p->s->cfg.crypto->hmac(p->call_key, sizeof p->call_key, head, sizeof head, request, request_len, want);
    if (mac_len == MAC && same(want, mac, MAC)) {
        return true;
    }
    tw_count(p->s, TW_CNT_MAC_FAILED);
    tw_refuse(p, h->call_id, TW_E_MAC, "CallHeader.mac missing or wrong");
    if (++p->auth_failures >= TW_AUTH_TRIES) {
        tw_count(p->s, TW_CNT_FATAL);
        tw_conn_goaway(&p->conn, TW_E_MAC);
    }
    return false;
}
