/* replay_file.h - a recording's bytes as records. Knows the format (docs/REPLAY.md) and no engine.
 *
 * The bytes may be anything: whatever is not a recording is refused with the place of what is wrong.
 */
#pragma once
#include "engine/base/record.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct tw_replay_file {
    const uint8_t *bytes; /* borrowed */
    size_t n;
    size_t verified; /* chunks before this offset have their checksums right */
    uint32_t flags, platform, services, graph_bytes, n_ios, n_banks;
    uint64_t started_us;
    char program[13];
    uint32_t header; /* [bytes] */
    const char *why; /* of the last refusal: what is wrong */
    size_t where;    /* ... and at which byte */
} tw_replay_file_t;

/** A place between two records; copy it to look ahead. */
typedef struct tw_replay_cursor {
    size_t at, chunk_end; /* next record; end of its chunk */
    uint32_t number;      /* of the next chunk */
} tw_replay_cursor_t;

typedef struct tw_replay_record {
    uint16_t kind;
    uint32_t n;
    const uint8_t *p;
    size_t at; /* in the file */
} tw_replay_record_t;

typedef enum tw_replay_step {
    TW_REPLAY_RECORD, /* *out is one */
    TW_REPLAY_END,    /* the file ends between two chunks */
    TW_REPLAY_CUT,    /* the file ends inside a chunk: what came before is good */
    TW_REPLAY_BAD,    /* damaged, see why and where */
} tw_replay_step_t;

/** Look at the header. @return false: see why and where */
bool tw_replay_open(tw_replay_file_t *f, const uint8_t *bytes, size_t n);
tw_replay_cursor_t tw_replay_begin(const tw_replay_file_t *f);
/** The record at the cursor, which moves past it. Kinds a reader may skip are skipped. */
tw_replay_step_t tw_replay_next(tw_replay_file_t *f, tw_replay_cursor_t *c, tw_replay_record_t *out);
/** Row of an IO (TW_RECORD_IO bytes), and size of a bank. */
const uint8_t *tw_replay_io(const tw_replay_file_t *f, uint32_t i);
uint32_t tw_replay_bank(const tw_replay_file_t *f, uint32_t i);
