/* cli_samples.h - samples of an arc on their way to a file: WAV, CSV or as they are. */
#pragma once
#include "host_tools/tunewire/cli.h"

typedef enum tw_sample_file_kind { SAMPLES_RAW, SAMPLES_CSV, SAMPLES_WAV } tw_sample_file_kind_t;

typedef struct tw_sample_file {
    FILE *f;
    tw_sample_file_kind_t kind;
    uint32_t raw, channels, rate_hz;
    uint64_t bytes; /* of samples, as given */
} tw_sample_file_t;

/** Kind by suffix; anything but .wav and .csv is raw. */
tw_sample_file_kind_t cli_samples_kind(const char *path);
/** True when a WAV file can hold the type. */
bool cli_wav_holds(uint32_t raw);
/** `f` seekable for WAV. Channels interleaved. @return false when the type cannot be written so */
bool cli_samples_start(tw_sample_file_t *s, FILE *f, tw_sample_file_kind_t kind, uint32_t raw, uint32_t channels,
                       uint32_t rate_hz);
/** Whole frames. */
bool cli_samples_add(tw_sample_file_t *s, const uint8_t *data, size_t n);
/** Finish the header; does not close `f`. */
bool cli_samples_end(tw_sample_file_t *s);
