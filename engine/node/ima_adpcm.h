/* ima_adpcm.h - the codec of IMA ADPCM: one 16-bit sample, one code of four bits.
 *
 *   step   = steps[index]                     89 steps, each about 1.1 times the one before
 *   code   = sign, then |sample - predictor| in units of step / 4, cut off at 7
 *   change = step/8 + bit 2 * step + bit 1 * step/2 + bit 0 * step/4, each division truncated
 *   predictor += or -= change, held in 16 bits;  index += -1 -1 -1 -1 2 4 6 8 by the lower three bits, held in 0..88
 *
 * Encoder and decoder follow the same predictor, so the state is all that either keeps of the past.
 * Source: IMA, "Recommended Practices for Enhancing Digital Audio Compatibility", 1992. Knows no stream and no node.
 */
#pragma once
#include <stdint.h>

#define TW_IMA_INDEX_MAX 88u

typedef struct tw_ima {
    int16_t predictor; /* the sample last coded, as the decoder has it */
    uint8_t index;     /* 0..88 */
    uint8_t unused;    /* 0 */
} tw_ima_t;

/** @return the code, 0..15; the state is the decoder's afterwards */
uint32_t tw_ima_encode(tw_ima_t *s, int32_t sample);
/** @param code  any number; its low four bits count. @return the sample */
int16_t tw_ima_decode(tw_ima_t *s, uint32_t code);
