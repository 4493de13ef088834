/* record_file.h - a recording of a rig's engine in memory, written as the daemon writes one. */
#pragma once
#include "tests/support/engine_rig.h"

typedef struct record_file {
    tw_recorder_t recorder;
    uint8_t *ring, *bytes;
    uint32_t n, cap, number;
    uint32_t chunk_bytes; /* a chunk ends when it has this many */
    uint32_t chunk;       /* where the open one begins, 0 none */
} record_file_t;

/** Attach to the rig's engine; before its first graph. `ring` bytes, a power of two. */
void record_file_open(record_file_t *f, rig_t *r, uint32_t ring, uint32_t chunk_bytes, bool outputs);
/** What the engine has written so far into the file. */
void record_file_drain(record_file_t *f);
/** The END record, and the last chunk. */
void record_file_end(record_file_t *f, uint32_t why);
void record_file_free(record_file_t *f);
/** Make the checksums of header and chunks right, as far as `bytes` looks like a recording. */
void record_file_repair(uint8_t *bytes, uint32_t n);
