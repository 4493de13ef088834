/* replay_run.h - a recording played through an engine of our own, and compared with what it holds.
 *
 * No clock, no device: every input, time and command comes from the recording, so the outputs are those of the device
 * bit for bit, on any machine. Knows no command line.
 */
#pragma once
#include "engine/engine.h"
#include "host_tools/tunewire/replay_file.h"

typedef struct tw_replay tw_replay_t;

typedef struct tw_replay_user {
    void *ctx;
    /** An IO got its format: before its first frame. May be NULL. */
    void (*format)(void *ctx, uint32_t io, uint32_t raw, uint32_t channels, float rate_hz);
    /** A frame the replay wrote to IO row `io` of the recording. @return false to stop. May be NULL. */
    bool (*output)(void *ctx, uint32_t io, const void *data, uint32_t bytes);
    /** Bytes of the file done; @return false to stop. May be NULL. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t all);
} tw_replay_user_t;

typedef enum tw_replay_end {
    TW_REPLAY_WHOLE,    /* to its end */
    TW_REPLAY_TO_CUT,   /* as far as the file goes: it was cut off */
    TW_REPLAY_STOPPED,  /* the user said so */
    TW_REPLAY_REFUSED,  /* text says why */
    TW_REPLAY_DIVERGED, /* the engine did what the recording does not say: text */
} tw_replay_end_t;

typedef struct tw_replay_result {
    tw_replay_end_t end;
    uint32_t recorded_end; /* tw_record_end_t; UINT32_MAX: the recording has none */
    uint64_t first_tick, blocks, commands, inputs, outputs, output_bytes;
    uint64_t different; /* output frames that are not those of the recording */
    /* the first of them */
    uint64_t diff_tick, diff_frame;
    uint32_t diff_io, diff_byte; /* row; byte in the frame, UINT32_MAX when outputs were not kept */
    uint32_t want_crc, got_crc;
    size_t where; /* byte of the file that text is about */
    char text[200];
} tw_replay_result_t;

enum { TW_REPLAY_GRAPH_MAX = 1 << 28 }; /* more graph memory than this is not taken */

/** Play it. Never crashes or hangs on what is no recording. */
void tw_replay_play(const uint8_t *bytes, size_t n, const tw_replay_user_t *user, tw_replay_result_t *out);
