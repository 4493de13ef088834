/* client_blob.c - uploads that survive a lost connection.
 *
 * The device says how much it holds and the checksum of it; we go on only where ours agrees.
 * Specification: docs/WIRE_PROTOCOL.md "Blobs".
 */
#include "host_tools/client/client_priv.h"
#include "engine/base/crc.h"
#include <stdio.h>
#include <unistd.h>

enum { RECONNECTS = 3, RECONNECT_PAUSE_MS = 200, BLOB_TTL_S = 60 };

typedef struct upload {
    tunewire_v1_BlobOpen open;
    tunewire_v1_BlobState state;
    const uint8_t *data;
    uint64_t n;
    tw_progress_fn progress;
    void *ctx;
} upload_t;

/* The stream is opened by us and named in the header; a device may answer with one of its own instead. */
static bool open_blob(tw_client_t *c, upload_t *u, uint16_t *stream)
{
    const uint16_t ours = tw_client_stream(c);
    if (!ours) {
        return false;
    }
    u->state = (tunewire_v1_BlobState){0};
    if (!tw_client_call(c, &(tw_client_call_t){
                               .method = TW_M_Blob_Open, .request = &u->open, .response = &u->state, .stream = ours})) {
        tw_conn_close(&c->conn, ours);
        return false;
    }
    *stream = ours;
    if (u->state.stream && u->state.stream != ours) {
        tw_conn_close(&c->conn, ours);
        *stream = tw_conn_open(&c->conn, (uint16_t)u->state.stream, true);
    }
    u->open.token.size = u->state.token.size;
    memcpy(u->open.token.bytes, u->state.token.bytes, u->state.token.size);
    return *stream ? true : client_fail(c, TW_CLIENT_PROTOCOL, "", "the device named no stream for the upload");
}

static bool held_is_ours(tw_client_t *c, const upload_t *u)
{
    const uint64_t held = u->state.next_offset;
    if (held > u->n || (held && tw_crc32c(0, u->data, (size_t)held) != u->state.crc_so_far)) {
        return client_fail(c, TW_CLIENT_PROTOCOL, "send it again", "the device holds other bytes than were sent");
    }
    return true;
}

static bool send_blob(tw_client_t *c, upload_t *u)
{
    uint16_t stream;
    if (!open_blob(c, u, &stream) || !held_is_ours(c, u)) {
        return false;
    }
    if (!u->state.complete &&
        !tw_client_stream_send(c, stream, u->data, u->state.next_offset, u->n, u->state.chunk, u->progress, u->ctx)) {
        return false;
    }
    tunewire_v1_BlobRef ref = {.blob = u->state.blob};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Blob_Commit, .request = &ref, .response = &u->state});
}

static void abort_blob(tw_client_t *c, const upload_t *u)
{
    const tw_client_error_t why = c->err;
    const volatile sig_atomic_t *stop = c->stop;
    if (u->state.blob && tw_client_alive(c)) {
        const tunewire_v1_BlobRef ref = {.blob = u->state.blob};
        c->stop = NULL;
        (void)tw_client_call(c, &(tw_client_call_t){.method = TW_M_Blob_Abort, .request = &ref, .deadline_ms = 1000});
        c->stop = stop;
    }
    c->err = why;
}

/* Connection lost, not refused: worth another try with the token the device gave. A device that has started
 * again does not know the token: from the beginning, then. */
static bool try_again(tw_client_t *c, upload_t *u, unsigned *left)
{
    if (c->err.detail == (uint32_t)-TW_E_BLOB_NONE && u->open.token.size && *left) {
        u->open.token.size = 0;
        (*left)--;
        return true;
    }
    while (c->err.kind == TW_CLIENT_CLOSED && *left) {
        (*left)--;
        if (tw_client_reconnect(c)) {
            return true;
        }
        if (c->err.kind == TW_CLIENT_REFUSED) {
            c->err.kind = TW_CLIENT_CLOSED;
        }
        (void)usleep(RECONNECT_PAUSE_MS * 1000);
    }
    return false;
}

bool tw_client_upload(tw_client_t *c, uint32_t kind, const char *name, const uint8_t *data, uint64_t n,
                      tw_progress_fn progress, void *ctx, uint32_t *blob)
{
    upload_t u = {.data = data, .n = n, .progress = progress, .ctx = ctx};
    u.open =
        (tunewire_v1_BlobOpen){.kind = kind, .size = n, .crc32c = tw_crc32c(0, data, (size_t)n), .ttl_s = BLOB_TTL_S};
    (void)snprintf(u.open.name, sizeof u.open.name, "%s", name);
    if (c->keyed) { /* data frames carry no MAC: the signed Open vouches for them */
        u.open.sha256.size = 32;
        client_sha256(data, (size_t)n, u.open.sha256.bytes);
    }
    unsigned left = RECONNECTS;
    bool ok;
    while (!(ok = send_blob(c, &u)) && try_again(c, &u, &left)) {}
    if (!ok) {
        abort_blob(c, &u);
        return false;
    }
    *blob = u.state.blob;
    return true;
}
