/* blob.c - uploads that survive a broken connection: reserve, fill, check, use.
 *
 *   open ---> filling ---------------> committed ---> consumed by a load
 *              |    ^ stream lost,         |
 *              |    | opened again         |
 *              +----+-------- abort, time to live, owner ended ----> (free)
 *
 * The memory is reserved whole at open, so the last byte of an upload cannot be
 * the one that fails. CRC and SHA-256 run along with the data; commit only
 * compares. A blob belongs to its session; its token opens it to any other.
 */
#include "server/server_priv.h"

enum { CHUNK_OVERHEAD = TW_FRAME_HEADER + 8 };

tw_blob_t *tw_blob_by_id(tw_server_t *s, uint32_t id)
{
    for (uint32_t i = 0; id != 0 && i < TW_MAX_BLOBS; i++) {
        if (s->blobs[i].id == id) {
            return &s->blobs[i];
        }
    }
    return NULL;
}

static bool token_fits(const tw_blob_t *b, const uint8_t *token, uint32_t len)
{
    return len == sizeof b->token && memcmp(b->token, token, len) == 0;
}

tw_blob_t *tw_blob_find(tw_server_t *s, const tw_session_t *ses, uint32_t id, const uint8_t *token, uint32_t token_len)
{
    for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
        tw_blob_t *b = &s->blobs[i];
        if (b->id == 0 || (id != 0 && b->id != id)) {
            continue;
        }
        const bool named = id != 0 && token_len == 0 && b->owner == ses;
        if (named || token_fits(b, token, token_len)) {
            b->touched_us = tw_now(s);
            return b;
        }
    }
    return NULL;
}

/* ---- memory ------------------------------------------------------------------- */

/* The next place at or after `at` where `size` bytes are free; blobs in the way push it up. */
static bool place(const tw_server_t *s, uint32_t size, uint32_t *at)
{
    *at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
            const tw_blob_t *b = &s->blobs[i];
            const bool overlaps = b->id != 0 && *at < b->at + b->size && b->at < *at + size;
            if (overlaps) {
                *at = tw_round_up(b->at + b->size, 16);
                moved = true;
            }
        }
        if (*at > s->cfg.blob_bytes || size > s->cfg.blob_bytes - *at) {
            return false;
        }
    }
    return true;
}

static void describe_room(const tw_server_t *s, uint64_t size, char *text, size_t cap)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
        used += s->blobs[i].id != 0 ? s->blobs[i].size : 0;
    }
    tw_text_t t;
    tw_text_init(&t, text, cap);
    tw_text_int(&t, (int64_t)size);
    tw_text_str(&t, " bytes asked, ");
    tw_text_int(&t, s->cfg.blob_bytes - used);
    tw_text_str(&t, " of ");
    tw_text_int(&t, s->cfg.blob_bytes);
    tw_text_str(&t, " free");
}

static tw_blob_t *free_blob(tw_server_t *s)
{
    for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
        if (s->blobs[i].id == 0) {
            return &s->blobs[i];
        }
    }
    return NULL;
}

/* ---- open and resume ------------------------------------------------------------- */

static tw_err_t check_open(const tw_call_t *c, const tunewire_v1_BlobOpen *q, char *text, size_t cap)
{
    const tw_server_t *s = c->s;
    if (q->size == 0) {
        tw_copy_str(text, cap, "size 0");
        return TW_E_ARG;
    }
    if (q->size > s->cfg.blob_bytes) {
        describe_room(s, q->size, text, cap);
        return TW_E_BLOB_SIZE;
    }
    if (q->sha256.size != 0 && (q->sha256.size != TW_SHA256_BYTES || s->cfg.crypto == NULL)) {
        tw_copy_str(text, cap, s->cfg.crypto == NULL ? "no SHA-256 on this device" : "sha256 takes 32 bytes");
        return s->cfg.crypto == NULL ? TW_E_UNSUPPORTED : TW_E_ARG;
    }
    if (tw_auth_needed(s) && q->sha256.size == 0) {
        tw_copy_str(text, cap, "sha256 is mandatory with a key: stream frames carry no MAC");
        return TW_E_ARG;
    }
    return TW_OK;
}

static void restart_sums(tw_server_t *s, tw_blob_t *b)
{
    b->crc = tw_crc32c(0, tw_blob_bytes(s, b), b->received);
    if (b->has_sha) {
        s->cfg.crypto->sha256_start(&b->sha);
        s->cfg.crypto->sha256_add(&b->sha, tw_blob_bytes(s, b), b->received);
    }
}

tw_err_t tw_blob_open(tw_call_t *c, const tunewire_v1_BlobOpen *q, tw_blob_t **out, char *text, size_t cap)
{
    tw_server_t *s = c->s;
    TW_TRY(check_open(c, q, text, cap));
    tw_blob_t *b = free_blob(s);
    uint32_t at;
    if (b == NULL || !place(s, (uint32_t)q->size, &at)) {
        describe_room(s, q->size, text, cap);
        return TW_E_NOMEM;
    }
    *b = (tw_blob_t){
        .id = ++s->next_blob,
        .owner = c->ses,
        .has_sha = q->sha256.size != 0,
        .kind = q->kind,
        .at = at,
        .size = (uint32_t)q->size,
        .crc_want = q->crc32c,
        .ttl_ms = tw_min_u32(q->ttl_s, UINT32_MAX / 1000) * 1000,
        .touched_us = tw_now(s),
    };
    memcpy(b->sha256, q->sha256.bytes, sizeof b->sha256);
    tw_server_random(s, b->token, sizeof b->token);
    restart_sums(s, b);
    *out = b;
    return TW_OK;
}

void tw_blob_detach(tw_server_t *s, uint32_t id)
{
    tw_blob_t *b = tw_blob_by_id(s, id);
    if (b != NULL) {
        b->peer = NULL;
        b->stream = 0;
    }
}

static void close_upload(tw_blob_t *b)
{
    if (b->peer != NULL) {
        tw_sink_close(b->peer, b->stream);
    }
    b->peer = NULL;
    b->stream = 0;
}

/* Give the blob an upload stream of this connection; an older one ends. */
tw_err_t tw_blob_attach(tw_call_t *c, tw_blob_t *b, uint64_t resume_from)
{
    close_upload(b);
    b->owner = c->ses;
    if (b->committed) {
        return TW_OK;
    }
    if (resume_from != 0 && resume_from < b->received) {
        b->received = (uint32_t)resume_from;
        restart_sums(c->s, b);
    }
    const tw_sink_t *sink = tw_sink_open(c->peer, c->stream, TW_SINK_BLOB, b->id);
    if (sink == NULL) {
        return TW_E_STREAM_ID;
    }
    b->peer = c->peer;
    b->stream = sink->stream;
    return TW_OK;
}

uint32_t tw_blob_chunk(const tw_peer_t *p, uint32_t wanted)
{
    const uint32_t most = tw_min_u32(p->conn.max_frame - CHUNK_OVERHEAD, p->conn.window / 2 - 8);
    return wanted != 0 ? tw_min_u32(wanted, most) : most;
}

/* ---- data --------------------------------------------------------------------------- */

uint32_t tw_blob_expected(tw_server_t *s, uint32_t id)
{
    const tw_blob_t *b = tw_blob_by_id(s, id);
    return b != NULL ? b->received : 0;
}

tw_err_t tw_blob_data(tw_server_t *s, uint32_t id, uint64_t offset, const uint8_t *data, uint32_t n, uint32_t *expected)
{
    tw_blob_t *b = tw_blob_by_id(s, id);
    if (b == NULL) {
        return TW_E_BLOB_NONE;
    }
    *expected = b->received;
    if (offset != b->received) {
        return TW_E_STREAM_OFFSET;
    }
    if (n > b->size - b->received) {
        return TW_E_BLOB_SIZE;
    }
    memcpy(s->blob_mem + b->at + b->received, data, n);
    b->crc = tw_crc32c(b->crc, data, n);
    if (b->has_sha) {
        s->cfg.crypto->sha256_add(&b->sha, data, n);
    }
    b->received += n;
    b->touched_us = tw_now(s);
    return TW_OK;
}

static tw_err_t check_sums(tw_server_t *s, tw_blob_t *b, char *text, size_t cap)
{
    tw_text_t t;
    tw_text_init(&t, text, cap);
    if (b->received < b->size) {
        tw_text_int(&t, b->received);
        tw_text_str(&t, " of ");
        tw_text_int(&t, b->size);
        tw_text_str(&t, " bytes are here");
        return TW_E_BLOB_INCOMPLETE;
    }
    if (b->crc != b->crc_want) {
        tw_text_str(&t, "CRC-32C of the data is ");
        tw_text_hex(&t, b->crc);
        tw_text_str(&t, ", open named ");
        tw_text_hex(&t, b->crc_want);
        return TW_E_BLOB_CRC;
    }
    if (b->has_sha) {
        uint8_t sha[TW_SHA256_BYTES];
        tw_sha256_t copy = b->sha;
        s->cfg.crypto->sha256_end(&copy, sha);
        return memcmp(sha, b->sha256, sizeof sha) == 0 ? TW_OK : TW_E_BLOB_SHA;
    }
    return TW_OK;
}

tw_err_t tw_blob_commit(tw_server_t *s, tw_blob_t *b, char *text, size_t cap)
{
    if (b->committed) {
        return TW_OK;
    }
    TW_TRY(check_sums(s, b, text, cap));
    close_upload(b);
    b->committed = true;
    tw_count(s, TW_CNT_BLOBS);
    return TW_OK;
}

/* ---- end ------------------------------------------------------------------------------- */

void tw_blob_free(tw_blob_t *b)
{
    close_upload(b);
    b->id = 0;
}

void tw_blobs_peer_gone(tw_server_t *s, const tw_peer_t *p)
{
    for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
        if (s->blobs[i].id != 0 && s->blobs[i].peer == p) {
            close_upload(&s->blobs[i]);
        }
    }
}

/* A blob with a time to live outlasts its session; its token still opens it. */
void tw_blobs_session_gone(tw_server_t *s, const tw_session_t *ses)
{
    for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
        tw_blob_t *b = &s->blobs[i];
        if (b->id == 0 || b->owner != ses) {
            continue;
        }
        b->owner = NULL;
        if (b->ttl_ms == 0) {
            tw_blob_free(b);
        }
    }
}

void tw_blobs_expire(tw_server_t *s, uint64_t now, uint64_t *next)
{
    for (uint32_t i = 0; i < TW_MAX_BLOBS; i++) {
        tw_blob_t *b = &s->blobs[i];
        if (b->id == 0 || b->ttl_ms == 0) {
            continue;
        }
        const uint64_t end = b->touched_us + (uint64_t)b->ttl_ms * 1000;
        if (end <= now) {
            tw_blob_free(b);
        } else if (end < *next) {
            *next = end;
        }
    }
}
