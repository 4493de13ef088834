/* denoise.h - noise taken off speech, automatic gain, voice activity: the preprocessor of speexdsp in a block of
 * memory.
 *
 * Frames of N samples, 2N with the factors 2, 3 and 5 only; the output lags one frame behind. All memory is taken when
 * the state is made; speexdsp has no other. A state holds addresses of itself: it may not be moved. One frame costs
 * two transforms of 2N samples.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { TW_DENOISE_FRAME_MIN = 16, TW_DENOISE_FRAME_MAX = 2048, TW_DENOISE_ALIGN = 16 };

/** What may be changed between two frames. */
typedef struct tw_denoise_set {
    int32_t suppress_db;   /* -60..0: how far noise is turned down, 0 not at all */
    bool gain_on;          /* automatic gain */
    int32_t gain_level;    /* 1..32768: loudness it aims at, as the level of a sine */
    int32_t gain_max_db;   /* 0..60 */
    int32_t start_percent; /* probability that begins speech */
    int32_t keep_percent;  /* probability that goes on with it */
} tw_denoise_set_t;

/** Bytes of a state, 0: no such frame (rate 4000..96000 Hz). */
uint32_t tw_denoise_bytes(uint32_t frame, uint32_t rate_hz);
/** @param mem  aligned to TW_DENOISE_ALIGN @return the state, in mem; NULL: no such frame, or not enough bytes */
void *tw_denoise_make(void *mem, uint32_t bytes, uint32_t frame, uint32_t rate_hz);
void tw_denoise_setup(void *state, const tw_denoise_set_t *set);
/** One frame, in place. @return true: speech */
bool tw_denoise_run(void *state, int16_t *frame);
/** Probability of speech in the last frame [percent], gain in use [dB]. */
void tw_denoise_read(void *state, int32_t *percent, int32_t *gain_db);
