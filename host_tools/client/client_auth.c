/* client_auth.c - proving a pre-shared key and signing calls with it.
 *
 * HMAC-SHA256 from mbedTLS; no cipher is written here.
 * Specification: docs/WIRE_PROTOCOL.md "Authentication and roles".
 */
#include "host_tools/client/client_priv.h"
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <sys/random.h>

enum { NONCE = 16, PROOF = 32 };

void client_sha256(const uint8_t *data, size_t n, uint8_t out[32])
{
    (void)mbedtls_sha256_ret(data, n, out, 0);
}

/* HMAC(key, tag | first | second | role), the form of all three derivations. */
static void derive(const tw_key_t *key, const char *tag, const uint8_t *first, const uint8_t *second, uint8_t role,
                   uint8_t out[PROOF])
{
    uint8_t text[4 + 2 * NONCE + 1];
    memcpy(text, tag, 4);
    memcpy(text + 4, first, NONCE);
    memcpy(text + 4 + NONCE, second, NONCE);
    text[4 + 2 * NONCE] = role;
    (void)mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key->bytes, key->len, text, sizeof text, out);
}

static bool same(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint8_t diff = 0;
    for (size_t i = 0; i < n; i++) {
        diff |= (uint8_t)(a[i] ^ b[i]);
    }
    return diff == 0;
}

static bool ask_role(tw_client_t *c, uint8_t role)
{
    tunewire_v1_AuthReq req = {.role = role};
    (void)snprintf(req.key_id, sizeof req.key_id, "%s", c->key.id);
    req.client_nonce.size = NONCE;
    if (getrandom(req.client_nonce.bytes, NONCE, 0) != NONCE) {
        return client_fail(c, TW_CLIENT_REFUSED, "check the system's random source", "no random bytes");
    }
    const uint8_t *ns = c->hello.nonce.bytes, *nc = req.client_nonce.bytes;
    derive(&c->key, "auth", ns, nc, role, req.proof.bytes);
    req.proof.size = PROOF;
    tunewire_v1_AuthRep rep = {0};
    if (!tw_client_call(c, &(tw_client_call_t){.method = TW_M_Session_Auth, .request = &req, .response = &rep})) {
        return false;
    }
    uint8_t want[PROOF];
    derive(&c->key, "serv", nc, ns, role, want);
    if (rep.proof.size != PROOF || !same(rep.proof.bytes, want, PROOF)) {
        return client_fail(c, TW_CLIENT_REFUSED, "this is not the device the key belongs to",
                           "the device could not prove the key");
    }
    derive(&c->key, "call", ns, nc, role, c->call_key);
    c->role = rep.role;
    c->keyed = true;
    return true;
}

bool client_authenticate(tw_client_t *c)
{
    c->keyed = false;
    if (c->hello.nonce.size != NONCE) {
        return client_fail(c, TW_CLIENT_REFUSED, "leave --key out", "the device does not know keys");
    }
    /* The highest role the key has is not known here: ask from the top down. */
    for (int role = TW_ROLE_ADMIN; role >= TW_ROLE_VIEW; role--) {
        if (ask_role(c, (uint8_t)role)) {
            return true;
        }
        if (c->err.kind != TW_CLIENT_DEVICE || c->err.status != TW_ST_PERMISSION_DENIED) {
            break;
        }
    }
    if (c->err.kind == TW_CLIENT_DEVICE) {
        c->err.kind = TW_CLIENT_REFUSED;
    }
    return false;
}

void client_mac(const tw_client_t *c, const tunewire_v1_CallHeader *h, const uint8_t *request, uint32_t n,
                uint8_t mac[16])
{
    const uint32_t words[5] = {h->call_id, h->method, h->deadline_ms, h->txn, h->stream};
    uint8_t head[20], full[32];
    for (unsigned i = 0; i < 5; i++) {
        tw_put_le32(head + 4 * i, words[i]);
    }
    mbedtls_md_context_t md;
    mbedtls_md_init(&md);
    (void)mbedtls_md_setup(&md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1);
    (void)mbedtls_md_hmac_starts(&md, c->call_key, sizeof c->call_key);
    (void)mbedtls_md_hmac_update(&md, head, sizeof head);
    (void)mbedtls_md_hmac_update(&md, request, n);
    (void)mbedtls_md_hmac_finish(&md, full);
    mbedtls_md_free(&md);
    memcpy(mac, full, 16);
}
