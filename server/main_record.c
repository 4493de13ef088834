#include "server/main_record.h"
#include "engine/base/crc.h"
#include "engine/base/record.h"
#include "engine/base/version.h"
#include "server/main_log.h"
#include "server/server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RING_BYTES = 16 << 20, CHUNK = 1 << 18, NAP_NS = 5000000, FLUSH_NAPS = 20 };

static void write_bytes(recording_t *r, const void *data, size_t n)
{
    if (r->error == 0 && fwrite(data, 1, n, r->file) != n) {
        r->error = errno != 0 ? errno : EIO;
        log_text(TW_LOG_ERROR, "recording %s ends here: %s", r->path, strerror(r->error));
        atomic_store_explicit(&r->recorder.stop, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&r->bytes, n, memory_order_relaxed);
}

static void flush_chunk(recording_t *r)
{
    uint8_t *head = r->chunk;
    if (r->used == 0) {
        return;
    }
    tw_put_le32(head, TW_RECORD_CHUNK_MAGIC);
    tw_put_le32(head + 4, r->number++);
    tw_put_le32(head + 8, r->used);
    tw_put_le32(head + 12, tw_crc32c(tw_crc32c(0, head + 4, 8), head + TW_RECORD_CHUNK_HEAD, r->used));
    write_bytes(r, head, TW_RECORD_CHUNK_HEAD + r->used);
    if (r->error == 0) {
        (void)fflush(r->file);
    }
    r->used = 0;
}

/* A record of `a` and `b` together, which never lies across chunks. */
static void add(recording_t *r, const void *a, uint32_t na, const void *b, uint32_t nb)
{
    const uint32_t n = na + nb;
    if (r->used + n > CHUNK) {
        flush_chunk(r);
    }
    uint8_t *at = r->chunk + TW_RECORD_CHUNK_HEAD + r->used;
    memcpy(at, a, na);
    if (nb != 0) {
        memcpy(at + na, b, nb);
    }
    r->used += n;
    if (r->used > CHUNK) {
        flush_chunk(r); /* one record larger than the usual chunk */
    }
}

static void add_image(recording_t *r, const record_image_t *m)
{
    for (uint32_t at = 0; at < m->bytes; at += TW_RECORD_IMAGE_PIECE) {
        const uint32_t n = tw_min_u32(m->bytes - at, TW_RECORD_IMAGE_PIECE);
        uint8_t head[TW_RECORD_HEAD + 12];
        tw_put_le32(head, TW_REC_IMAGE);
        tw_put_le32(head + 4, 12 + n);
        tw_put_le32(head + 8, m->id);
        tw_put_le32(head + 12, m->bytes);
        tw_put_le32(head + 16, at);
        add(r, head, sizeof head, m->data + at, n);
    }
}

static void add_images_below(recording_t *r, record_image_t *m)
{
    record_image_t *oldest_first = NULL;
    while (m != NULL) {
        record_image_t *next = m->next;
        m->next = oldest_first;
        oldest_first = m;
        m = next;
    }
    while (oldest_first != NULL) {
        record_image_t *next = oldest_first->next;
        add_image(r, oldest_first);
        free(oldest_first);
        oldest_first = next;
    }
}

static void add_images(recording_t *r)
{
    pthread_mutex_lock(&r->lock);
    record_image_t *m = r->images;
    r->images = NULL;
    pthread_mutex_unlock(&r->lock);
    add_images_below(r, m);
}

/* An image is queued before its swap is published, so it is here when the swap is. */
static bool drain(recording_t *r)
{
    uint32_t n;
    bool any = false;
    for (const uint8_t *p; (p = tw_ring_peek(&r->recorder.ring, &n)) != NULL; any = true) {
        if (tw_get_le16(p) == TW_REC_SWAP) {
            add_images(r);
        }
        add(r, p, n, NULL, 0);
        tw_ring_pop(&r->recorder.ring);
    }
    return any;
}

static void add_end(recording_t *r, tw_record_end_t why)
{
    uint8_t rec[TW_RECORD_HEAD + 4];
    tw_put_le32(rec, TW_REC_END);
    tw_put_le32(rec + 4, 4);
    tw_put_le32(rec + 8, (uint32_t)why);
    add(r, rec, sizeof rec, NULL, 0);
    flush_chunk(r);
}

static void *run(void *arg)
{
    recording_t *r = arg;
    const struct timespec nap = {.tv_nsec = NAP_NS};
    unsigned naps = 0;
    bool full = false;
    while (!atomic_load_explicit(&r->finish, memory_order_acquire) && !full) {
        full = atomic_load_explicit(&r->recorder.state, memory_order_acquire) == TW_RECORDER_FULL;
        if (!drain(r)) {
            nanosleep(&nap, NULL);
        }
        if (++naps >= FLUSH_NAPS) {
            flush_chunk(r);
            naps = 0;
        }
    }
    (void)drain(r);
    add_end(r, r->error != 0 ? TW_RECORD_DISK : full ? TW_RECORD_FULL : TW_RECORD_STOPPED);
    if (full) {
        log_text(TW_LOG_ERROR, "recording %s is not complete: the disk could not follow", r->path);
    }
    return NULL;
}

static void on_image(void *ctx, uint32_t id, const uint8_t *image, uint32_t bytes)
{
    recording_t *r = ctx;
    record_image_t *m = malloc(sizeof *m + bytes);
    if (m == NULL) {
        atomic_store_explicit(&r->recorder.stop, 1, memory_order_relaxed);
        return;
    }
    m->id = id;
    m->bytes = bytes;
    memcpy(m->data, image, bytes);
    pthread_mutex_lock(&r->lock);
    m->next = r->images;
    r->images = m;
    pthread_mutex_unlock(&r->lock);
}

static bool write_header(recording_t *r, const tw_board_t *board, uint32_t graph_bytes)
{
    const uint32_t n_banks = board->bank_bytes != NULL ? board->n_banks : 0;
    const size_t bytes = TW_RECORD_HEADER + (size_t)board->n_ios * TW_RECORD_IO + 4 * (size_t)n_banks;
    uint8_t *h = calloc(1, bytes);
    struct timespec now = {0};
    if (h == NULL) {
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(h, TW_RECORD_MAGIC, 8);
    tw_put_le16(h + TW_RH_VERSION, TW_RECORD_MAJOR);
    tw_put_le16(h + TW_RH_VERSION + 2, TW_RECORD_MINOR);
    tw_put_le32(h + TW_RH_BYTES, (uint32_t)bytes);
    tw_put_le32(h + TW_RH_FLAGS, r->recorder.outputs ? TW_RECORD_KEEPS_OUTPUTS : 0);
    tw_put_le32(h + TW_RH_PLATFORM, board->platform_id);
    tw_put_le32(h + TW_RH_SERVICES, board->services);
    tw_put_le32(h + TW_RH_GRAPH_BYTES, graph_bytes);
    tw_put_le32(h + TW_RH_IOS, board->n_ios);
    tw_put_le32(h + TW_RH_BANKS, n_banks);
    tw_put_le64(h + TW_RH_STARTED, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    memcpy(h + TW_RH_PROGRAM, TW_VERSION, tw_min_u32((uint32_t)strlen(TW_VERSION), 11));
    for (uint32_t i = 0; i < board->n_ios; i++) {
        const tw_board_io_t *io = &board->ios[i];
        uint8_t *row = h + TW_RECORD_HEADER + (size_t)i * TW_RECORD_IO;
        tw_put_le16(row, io->hwid);
        row[2] = io->direction;
        row[3] = io->domain;
        row[4] = io->servant;
        row[5] = io->clock_domain;
        row[6] = io->acks;
        memcpy(row + 8, io->name, sizeof io->name);
    }
    for (uint32_t i = 0; i < n_banks; i++) {
        tw_put_le32(h + TW_RECORD_HEADER + (size_t)board->n_ios * TW_RECORD_IO + 4 * (size_t)i, board->bank_bytes[i]);
    }
    tw_put_le32(h + TW_RH_CRC, tw_crc32c(0, h, bytes));
    write_bytes(r, h, bytes);
    free(h);
    return r->error == 0;
}

/* As a last run left it, but for what was opened with it. */
static void begin_anew(recording_t *r, const char *path)
{
    snprintf(r->path, sizeof r->path, "%s", path);
    r->recorder = (tw_recorder_t){.image = on_image, .ctx = r};
    r->used = r->number = 0;
    r->error = 0;
    r->why = NULL;
    r->stopping = false;
    atomic_store_explicit(&r->finish, false, memory_order_relaxed);
    atomic_store_explicit(&r->bytes, 0, memory_order_relaxed);
}

static bool attach(recording_t *r, char why[160])
{
    memset(r->ring_mem, 0, RING_BYTES); /* touched now, so that the engine's thread need not fault it in */
    tw_ring_init(&r->recorder.ring, r->ring_mem, RING_BYTES);
    r->running = tw_engine_record(r->engine, &r->recorder) == TW_OK && pthread_create(&r->thread, NULL, run, r) == 0;
    if (!r->running) {
        snprintf(why, 160, "no thread for the recording");
    }
    return r->running;
}

bool record_start(recording_t *r, const char *path, bool outputs, bool fresh, char why[160])
{
    begin_anew(r, path);
    r->file = fopen(path, fresh ? "wbx" : "wb");
    if (r->file == NULL) {
        snprintf(why, 160, "cannot write %.100s: %s", path, strerror(errno));
        return false;
    }
    r->ring_mem = aligned_alloc(64, RING_BYTES);
    r->chunk = malloc(TW_RECORD_CHUNK_HEAD + CHUNK + TW_RECORD_CHUNK_MAX);
    r->recorder.outputs = outputs;
    r->begun = true;
    const bool ready = r->ring_mem != NULL && r->chunk != NULL && write_header(r, r->board, r->graph_bytes);
    if (!ready) {
        snprintf(why, 160, "cannot write %.100s: %s", path, strerror(r->error != 0 ? r->error : ENOMEM));
    }
    if (!ready || !attach(r, why)) {
        record_finish(r);
        return false;
    }
    return true;
}

void record_finish(recording_t *r)
{
    if (r->running) {
        atomic_store_explicit(&r->finish, true, memory_order_release);
        pthread_join(r->thread, NULL);
        r->running = false;
        r->why = r->error != 0 ? strerror(r->error) : r->why;
        log_text(TW_LOG_INFO, "recorded %.1f MB to %s", (double)atomic_load(&r->bytes) / 1e6, r->path);
    }
    if (r->file != NULL) {
        (void)fclose(r->file);
        r->file = NULL;
    }
    while (r->images != NULL) {
        record_image_t *m = r->images;
        r->images = m->next;
        free(m);
    }
    free(r->ring_mem);
    free(r->chunk);
    r->ring_mem = r->chunk = NULL;
}

/* ---- by hosts ------------------------------------------------------------------------- */

void record_service(recording_t *r)
{
    const uint32_t state = atomic_load_explicit(&r->recorder.state, memory_order_acquire);
    if (!r->running || state < TW_RECORDER_FULL) {
        return;
    }
    if (state == TW_RECORDER_FULL) {
        r->why = "the disk could not follow";
    } else if (!r->stopping && r->error == 0) {
        r->why = "the device went back to a graph of before the recording";
    }
    (void)tw_engine_record(r->engine, NULL); /* it is done with the recorder: this does not fail */
    record_finish(r);
}

static tw_err_t on_start(void *ctx, const char *name, bool outputs, const char **why)
{
    static char text[160]; /* the server's thread alone comes here, and copies it */
    recording_t *r = ctx;
    char path[sizeof r->path];
    record_service(r);
    if (r->dir == NULL || r->running) {
        return r->dir == NULL ? TW_E_UNSUPPORTED : TW_E_BUSY;
    }
    const int n = snprintf(path, sizeof path, "%s/%s", r->dir, name);
    if (n < 0 || (size_t)n >= sizeof path) {
        *why = "the folder's path is too long";
        return TW_E_RECORD_FILE;
    }
    if (access(path, F_OK) == 0) {
        return TW_E_EXISTS;
    }
    if (!record_start(r, path, outputs, true, text)) {
        *why = text;
        r->why = "it could not begin";
        return TW_E_RECORD_FILE;
    }
    log_text(TW_LOG_INFO, "recording to %s from the next graph on", path);
    return TW_OK;
}

static tw_err_t on_stop(void *ctx)
{
    recording_t *r = ctx;
    if (!r->running) {
        return TW_E_STATE;
    }
    r->stopping = true;
    atomic_store_explicit(&r->recorder.stop, 1, memory_order_relaxed);
    return TW_OK;
}

static void on_state(void *ctx, tw_record_state_t *out)
{
    recording_t *r = ctx;
    record_service(r);
    const char *slash = strrchr(r->path, '/');
    const uint32_t state = atomic_load_explicit(&r->recorder.state, memory_order_acquire);
    *out = (tw_record_state_t){.name = slash != NULL ? slash + 1 : r->path,
                               .bytes = atomic_load_explicit(&r->bytes, memory_order_relaxed),
                               .why = r->why};
    out->phase = !r->begun                      ? TW_RECORD_NONE
                 : !r->running                  ? TW_RECORD_ENDED
                 : r->stopping                  ? TW_RECORD_ENDS
                 : state == TW_RECORDER_WAITING ? TW_RECORD_WAITS
                                                : TW_RECORD_RECORDS;
}

void record_open(recording_t *r, tw_engine_t *e, const tw_board_t *board, uint32_t graph_bytes, const char *dir)
{
    *r = (recording_t){.dir = dir, .engine = e, .board = board, .graph_bytes = graph_bytes};
    r->calls = (tw_record_calls_t){.ctx = r, .start = on_start, .stop = on_stop, .state = on_state};
    pthread_mutex_init(&r->lock, NULL);
}
