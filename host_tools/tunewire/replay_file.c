/* replay_file.c - see replay_file.h. */
#include "host_tools/tunewire/replay_file.h"
#include "engine/base/crc.h"

static bool refuse(tw_replay_file_t *f, const char *why, size_t where)
{
    f->why = why;
    f->where = where;
    return false;
}

static bool crc_right(const uint8_t *h, uint32_t bytes)
{
    static const uint8_t none[4];
    uint32_t crc = tw_crc32c(0, h, TW_RH_CRC);
    crc = tw_crc32c(crc, none, sizeof none);
    crc = tw_crc32c(crc, h + TW_RECORD_HEADER, bytes - TW_RECORD_HEADER);
    return crc == tw_get_le32(h + TW_RH_CRC);
}

static bool tables_fit(tw_replay_file_t *f)
{
    if (f->n_ios > TW_RECORD_IOS_MAX) {
        return refuse(f, "more IOs than a recording has", TW_RH_IOS);
    }
    if (f->n_banks > TW_RECORD_BANKS_MAX) {
        return refuse(f, "more memory banks than a recording has", TW_RH_BANKS);
    }
    if (f->header != TW_RECORD_HEADER + f->n_ios * TW_RECORD_IO + 4 * f->n_banks || f->header > f->n) {
        return refuse(f, "the header's size is not that of its tables, or the file ends in it", TW_RH_BYTES);
    }
    return true;
}

bool tw_replay_open(tw_replay_file_t *f, const uint8_t *bytes, size_t n)
{
    memset(f, 0, sizeof *f);
    f->bytes = bytes;
    f->n = n;
    if (n < TW_RECORD_HEADER || memcmp(bytes, TW_RECORD_MAGIC, 8) != 0) {
        return refuse(f, "not a recording", 0);
    }
    if (tw_get_le16(bytes + TW_RH_VERSION) != TW_RECORD_MAJOR) {
        return refuse(f, "a recording of another major version", TW_RH_VERSION);
    }
    f->header = tw_get_le32(bytes + TW_RH_BYTES);
    f->flags = tw_get_le32(bytes + TW_RH_FLAGS);
    f->platform = tw_get_le32(bytes + TW_RH_PLATFORM);
    f->services = tw_get_le32(bytes + TW_RH_SERVICES);
    f->graph_bytes = tw_get_le32(bytes + TW_RH_GRAPH_BYTES);
    f->n_ios = tw_get_le32(bytes + TW_RH_IOS);
    f->n_banks = tw_get_le32(bytes + TW_RH_BANKS);
    f->started_us = tw_get_le64(bytes + TW_RH_STARTED);
    memcpy(f->program, bytes + TW_RH_PROGRAM, 12);
    if (!tables_fit(f)) {
        return false;
    }
    if (!crc_right(bytes, f->header)) {
        return refuse(f, "the header's checksum is wrong", TW_RH_CRC);
    }
    f->verified = f->header;
    return true;
}

tw_replay_cursor_t tw_replay_begin(const tw_replay_file_t *f)
{
    return (tw_replay_cursor_t){.at = f->header, .chunk_end = f->header};
}

static tw_replay_step_t bad(tw_replay_file_t *f, const char *why, size_t where)
{
    (void)refuse(f, why, where);
    return TW_REPLAY_BAD;
}

static tw_replay_step_t next_chunk(tw_replay_file_t *f, tw_replay_cursor_t *c)
{
    const size_t at = c->chunk_end, left = f->n - at;
    const uint8_t *h = f->bytes + at;
    if (left == 0) {
        return TW_REPLAY_END;
    }
    if (left < TW_RECORD_CHUNK_HEAD) {
        return TW_REPLAY_CUT;
    }
    const uint32_t bytes = tw_get_le32(h + 8);
    if (tw_get_le32(h) != TW_RECORD_CHUNK_MAGIC || bytes == 0 || bytes > TW_RECORD_CHUNK_MAX + TW_RECORD_HEAD) {
        return bad(f, "no chunk begins here", at);
    }
    if (tw_get_le32(h + 4) != c->number) {
        return bad(f, "a chunk is missing or out of order", at);
    }
    if (left - TW_RECORD_CHUNK_HEAD < bytes) {
        return TW_REPLAY_CUT;
    }
    if (at >= f->verified) {
        if (tw_crc32c(tw_crc32c(0, h + 4, 8), h + TW_RECORD_CHUNK_HEAD, bytes) != tw_get_le32(h + 12)) {
            return bad(f, "a chunk's checksum is wrong", at);
        }
        f->verified = at + TW_RECORD_CHUNK_HEAD + bytes;
    }
    c->number++;
    c->at = at + TW_RECORD_CHUNK_HEAD;
    c->chunk_end = c->at + bytes;
    return TW_REPLAY_RECORD;
}

/* @return the least payload, or UINT32_MAX: a kind this program does not know */
static uint32_t least_of(uint32_t kind)
{
    switch (kind) {
#define TW_RECORD(code, NAME, least, text) \
    case TW_REC_##NAME:                    \
        return (least);
#include "engine/base/record_kinds.def"
    default:
        return UINT32_MAX;
    }
}

tw_replay_step_t tw_replay_next(tw_replay_file_t *f, tw_replay_cursor_t *c, tw_replay_record_t *out)
{
    for (;;) {
        while (c->at == c->chunk_end) {
            const tw_replay_step_t step = next_chunk(f, c);
            if (step != TW_REPLAY_RECORD) {
                return step;
            }
        }
        const size_t left = c->chunk_end - c->at;
        const uint8_t *h = f->bytes + c->at;
        if (left < TW_RECORD_HEAD || tw_get_le32(h + 4) > left - TW_RECORD_HEAD) {
            return bad(f, "a record reaches beyond its chunk", c->at);
        }
        *out = (tw_replay_record_t){tw_get_le16(h), tw_get_le32(h + 4), h + TW_RECORD_HEAD, c->at};
        const uint32_t least = least_of(out->kind);
        if (least == UINT32_MAX && out->kind < 0x8000) {
            return bad(f, "a record of a kind this program does not know: use a newer one", c->at);
        }
        if (least != UINT32_MAX && out->n < least) {
            return bad(f, "a record is too short for its kind", c->at);
        }
        c->at += TW_RECORD_HEAD + out->n;
        if (least != UINT32_MAX) {
            return TW_REPLAY_RECORD;
        }
    }
}

const uint8_t *tw_replay_io(const tw_replay_file_t *f, uint32_t i)
{
    return f->bytes + TW_RECORD_HEADER + (size_t)i * TW_RECORD_IO;
}

uint32_t tw_replay_bank(const tw_replay_file_t *f, uint32_t i)
{
    return tw_get_le32(f->bytes + TW_RECORD_HEADER + (size_t)f->n_ios * TW_RECORD_IO + 4 * (size_t)i);
}
