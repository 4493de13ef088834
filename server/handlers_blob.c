/* handlers_blob.c - Blob: the calls around an upload; the blobs themselves are in blob.c. */
#include "server/server_priv.h"

static void reply_state(tw_call_t *c, const tw_blob_t *b, uint32_t chunk)
{
    tunewire_v1_BlobState m = tunewire_v1_BlobState_init_zero;
    m.blob = b->id;
    m.token.size = sizeof b->token;
    memcpy(m.token.bytes, b->token, sizeof b->token);
    m.next_offset = b->received;
    m.crc_so_far = b->crc;
    m.chunk = c->peer != NULL ? tw_blob_chunk(c->peer, chunk) : chunk;
    m.stream = b->peer == c->peer ? b->stream : 0;
    m.complete = b->received == b->size;
    tw_reply(c, tunewire_v1_BlobState_fields, &m);
}

static tw_blob_t *find(tw_call_t *c, uint32_t id, const uint8_t *token, uint32_t token_len)
{
    tw_blob_t *b = tw_blob_find(c->s, c->ses, id, token, token_len);
    if (b == NULL) {
        tw_fail(c, TW_E_BLOB_NONE, id, "expired, consumed, or another session's: show its token");
    }
    return b;
}

static void fail_stream(tw_call_t *c)
{
    tw_fail(c, TW_E_STREAM_ID, c->stream, "name an unused odd stream id, or 0 for one of ours");
}

void tw_on_blob_open(tw_call_t *c, const void *request)
{
    const tunewire_v1_BlobOpen *q = request;
    tw_blob_t *b;
    if (q->token.size != 0) {
        b = find(c, 0, q->token.bytes, q->token.size);
        if (b != NULL && tw_blob_attach(c, b, q->resume_from) != TW_OK) {
            fail_stream(c);
        } else if (b != NULL) {
            reply_state(c, b, q->chunk);
        }
        return;
    }
    char text[TW_LOG_TEXT] = "";
    const tw_err_t err = tw_blob_open(c, q, &b, text, sizeof text);
    if (err != TW_OK) {
        tw_fail(c, err, 0, text);
    } else if (tw_blob_attach(c, b, 0) != TW_OK) {
        tw_blob_free(b);
        fail_stream(c);
    } else {
        reply_state(c, b, q->chunk);
    }
}

void tw_on_blob_stat(tw_call_t *c, const void *request)
{
    const tunewire_v1_BlobRef *q = request;
    const tw_blob_t *b = find(c, q->blob, q->token.bytes, q->token.size);
    if (b != NULL) {
        reply_state(c, b, 0);
    }
}

void tw_on_blob_commit(tw_call_t *c, const void *request)
{
    const tunewire_v1_BlobRef *q = request;
    tw_blob_t *b = find(c, q->blob, q->token.bytes, q->token.size);
    if (b == NULL) {
        return;
    }
    char text[TW_LOG_TEXT] = "";
    const tw_err_t err = tw_blob_commit(c->s, b, text, sizeof text);
    if (err != TW_OK) {
        tw_fail(c, err, b->received, text[0] != '\0' ? text : NULL);
    } else {
        reply_state(c, b, 0);
    }
}

void tw_on_blob_abort(tw_call_t *c, const void *request)
{
    const tunewire_v1_BlobRef *q = request;
    tw_blob_t *b = find(c, q->blob, q->token.bytes, q->token.size);
    if (b != NULL) {
        tw_blob_free(b);
        tw_reply(c, NULL, NULL);
    }
}

void tw_on_blob_read(tw_call_t *c, const void *request)
{
    const tunewire_v1_BlobRead *q = request;
    const tw_blob_t *b = find(c, q->blob, NULL, 0);
    if (b == NULL) {
        return;
    }
    if (!b->committed) {
        tw_fail(c, TW_E_BLOB_INCOMPLETE, b->received, "commit it first");
        return;
    }
    if (!tw_inside(q->offset, q->length, b->size)) {
        tw_fail(c, TW_E_RANGE, b->size, "offset or length past the end (where = its size)");
        return;
    }
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_BLOB);
    if (snd != NULL) {
        snd->ref = b->id;
        snd->at = q->offset;
        snd->end = q->length != 0 ? q->offset + q->length : b->size;
        tw_reply_stream(c, snd->stream, NULL, NULL);
        tw_senders_pump(c->peer);
    }
}
