#include "tests/support/record_file.h"
#include "engine/base/crc.h"
#include "engine/base/record.h"
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(cond) ((cond) ? (void)0 : (fprintf(stderr, "record_file: %s, line %d\n", #cond, __LINE__), abort()))

static uint8_t *grow(record_file_t *f, uint32_t n)
{
    if (f->n + n > f->cap) {
        f->cap = (f->n + n) * 2;
        f->bytes = realloc(f->bytes, f->cap);
        REQUIRE(f->bytes != NULL);
    }
    uint8_t *p = f->bytes + f->n;
    memset(p, 0, n);
    f->n += n;
    return p;
}

static void close_chunk(record_file_t *f)
{
    if (f->chunk == 0) {
        return;
    }
    uint8_t *h = f->bytes + f->chunk;
    const uint32_t n = f->n - f->chunk - TW_RECORD_CHUNK_HEAD;
    tw_put_le32(h, TW_RECORD_CHUNK_MAGIC);
    tw_put_le32(h + 4, f->number++);
    tw_put_le32(h + 8, n);
    tw_put_le32(h + 12, tw_crc32c(tw_crc32c(0, h + 4, 8), h + TW_RECORD_CHUNK_HEAD, n));
    f->chunk = 0;
}

static void add(record_file_t *f, const void *rec, uint32_t n)
{
    if (f->chunk == 0) {
        f->chunk = f->n;
        (void)grow(f, TW_RECORD_CHUNK_HEAD);
    }
    uint8_t *p = grow(f, n);
    memcpy(p, rec, n);
    if (f->n - f->chunk >= f->chunk_bytes) {
        close_chunk(f);
    }
}

static void on_image(void *ctx, uint32_t id, const uint8_t *image, uint32_t bytes)
{
    static uint8_t rec[TW_RECORD_HEAD + 12 + 1000];
    record_file_t *f = ctx;
    record_file_drain(f);
    for (uint32_t at = 0; at < bytes; at += 1000) {
        const uint32_t n = tw_min_u32(bytes - at, 1000);
        tw_put_le32(rec, TW_REC_IMAGE);
        tw_put_le32(rec + 4, 12 + n);
        tw_put_le32(rec + 8, id);
        tw_put_le32(rec + 12, bytes);
        tw_put_le32(rec + 16, at);
        memcpy(rec + 20, image + at, n);
        add(f, rec, 20 + n);
    }
}

static void header(record_file_t *f, const rig_t *r)
{
    const uint32_t bytes = TW_RECORD_HEADER + RIG_IOS * TW_RECORD_IO;
    uint8_t *h = grow(f, bytes);
    memcpy(h, TW_RECORD_MAGIC, 8);
    tw_put_le16(h + TW_RH_VERSION, TW_RECORD_MAJOR);
    tw_put_le32(h + TW_RH_BYTES, bytes);
    tw_put_le32(h + TW_RH_FLAGS, f->recorder.outputs ? TW_RECORD_KEEPS_OUTPUTS : 0);
    tw_put_le32(h + TW_RH_PLATFORM, r->board.platform_id);
    tw_put_le32(h + TW_RH_SERVICES, r->board.services);
    tw_put_le32(h + TW_RH_GRAPH_BYTES, RIG_GRAPH_BYTES);
    tw_put_le32(h + TW_RH_IOS, RIG_IOS);
    memcpy(h + TW_RH_PROGRAM, "test", 4);
    for (uint32_t i = 0; i < RIG_IOS; i++) {
        uint8_t *row = h + TW_RECORD_HEADER + i * TW_RECORD_IO;
        tw_put_le16(row, r->ios[i].hwid);
        row[2] = r->ios[i].direction;
        row[6] = r->ios[i].acks;
        row[8] = 'i', row[9] = 'o', row[10] = (uint8_t)('0' + i);
    }
    tw_put_le32(h + TW_RH_CRC, tw_crc32c(0, h, bytes));
}

void record_file_open(record_file_t *f, rig_t *r, uint32_t ring, uint32_t chunk_bytes, bool outputs)
{
    memset(f, 0, sizeof *f);
    f->ring = aligned_alloc(64, ring);
    REQUIRE(f->ring != NULL);
    f->chunk_bytes = chunk_bytes;
    tw_ring_init(&f->recorder.ring, f->ring, ring);
    f->recorder.outputs = outputs;
    f->recorder.image = on_image;
    f->recorder.ctx = f;
    header(f, r);
    REQUIRE(tw_engine_record(r->engine, &f->recorder) == TW_OK);
}

void record_file_drain(record_file_t *f)
{
    uint32_t n;
    for (const void *p; (p = tw_ring_peek(&f->recorder.ring, &n)) != NULL;) {
        add(f, p, n);
        tw_ring_pop(&f->recorder.ring);
    }
}

void record_file_end(record_file_t *f, uint32_t why)
{
    uint8_t rec[TW_RECORD_HEAD + 4];
    record_file_drain(f);
    tw_put_le32(rec, TW_REC_END);
    tw_put_le32(rec + 4, 4);
    tw_put_le32(rec + 8, why);
    add(f, rec, sizeof rec);
    close_chunk(f);
}

void record_file_free(record_file_t *f)
{
    free(f->ring);
    free(f->bytes);
}

void record_file_repair(uint8_t *bytes, uint32_t n)
{
    if (n < TW_RECORD_HEADER) {
        return;
    }
    const uint32_t header_bytes = tw_get_le32(bytes + TW_RH_BYTES);
    if (header_bytes < TW_RECORD_HEADER || header_bytes > n) {
        return;
    }
    tw_put_le32(bytes + TW_RH_CRC, 0);
    tw_put_le32(bytes + TW_RH_CRC, tw_crc32c(0, bytes, header_bytes));
    for (uint32_t at = header_bytes; at + TW_RECORD_CHUNK_HEAD <= n;) {
        uint8_t *h = bytes + at;
        const uint32_t payload = tw_get_le32(h + 8);
        if (payload > n - at - TW_RECORD_CHUNK_HEAD) {
            return;
        }
        tw_put_le32(h + 12, tw_crc32c(tw_crc32c(0, h + 4, 8), h + TW_RECORD_CHUNK_HEAD, payload));
        at += TW_RECORD_CHUNK_HEAD + payload;
    }
}
