/* wav.h - RIFF/WAVE files: read whole into memory, written as a stream. Hosted.
 *
 * Reads PCM of 8, 16, 24 and 32 bits and 32-bit float, plain or EXTENSIBLE, and
 * writes PCM 16, 32 and float. Knows no graph and no thread; does not resample
 * and does not mix. Files of 4 GB and more are refused: the format's sizes are
 * 32-bit. Source: Microsoft/IBM "Multimedia Programming Interface", RIFF WAVE;
 * WAVEFORMATEXTENSIBLE.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TW_WAV_WHY = 320 }; /* room for one sentence */

typedef struct tw_wav {
    uint32_t rate_hz;
    uint32_t channels; /* 1..32 */
    uint32_t bits;     /* of one sample: 8, 16, 24, 32 */
    bool is_float;
    uint64_t frames;     /* samples of each channel, >= 1 */
    const uint8_t *data; /* interleaved, little endian */
    void *file;          /* what tw_wav_free() frees; NULL when the bytes are borrowed */
} tw_wav_t;

/**
 * Understand a WAVE file in memory; `bytes` stays the caller's and must outlive `w`.
 * @param why  out: what is wrong and at which byte
 * @return false leaves *w empty
 */
bool tw_wav_parse(tw_wav_t *w, const uint8_t *bytes, size_t n, char why[TW_WAV_WHY]);
/** Read a file. @return false: `why` names the file; *w is empty. */
bool tw_wav_read(tw_wav_t *w, const char *path, char why[TW_WAV_WHY]);
void tw_wav_free(tw_wav_t *w);

/** Sample as a 32-bit fixed-point fraction, full scale 2^31; floats are rounded and saturated. */
int32_t tw_wav_q31(const tw_wav_t *w, uint64_t frame, uint32_t channel);
/** Sample as a float, full scale 1.0; float files give their very bits. */
float tw_wav_float(const tw_wav_t *w, uint64_t frame, uint32_t channel);

typedef struct tw_wav_writer tw_wav_writer_t;

/**
 * Create or empty a file and write a header for no samples.
 * @param bits  16 or 32; is_float needs 32
 * @return NULL: `why` names the file and the reason
 */
tw_wav_writer_t *tw_wav_create(const char *path, uint32_t rate_hz, uint32_t channels, uint32_t bits, bool is_float,
                               char why[TW_WAV_WHY]);
/**
 * Append bytes (whole frames, as the file's format has them).
 * @return false: disk full, or the file would reach 4 GB; nothing of this call counts then
 */
bool tw_wav_put(tw_wav_writer_t *w, const void *bytes, uint32_t n, char why[TW_WAV_WHY]);
/** Bring file and header up to date: a process killed now leaves a valid file. */
bool tw_wav_sync(tw_wav_writer_t *w, char why[TW_WAV_WHY]);
/** Frames put so far. */
uint64_t tw_wav_frames(const tw_wav_writer_t *w);
/** Sync and close. @return false when the last bytes did not reach the file. NULL is allowed. */
bool tw_wav_close(tw_wav_writer_t *w, char why[TW_WAV_WHY]);
