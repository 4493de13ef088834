/* cvsd.h - continuously variable slope delta modulation: one bit a sample, as radio links for speech carry it.
 *
 *   bit    = sample >= estimate: 1, else 0
 *   slope  + 10 where the last four bits are alike, at most 1280; else it decays by 1/1024, not below 10
 *   estimate = (estimate +- slope) held in 16 bits, less 1/32 of it
 *
 * Estimate and slope have ten bits behind the point, decays are rounded towards minus infinity. Encoder and decoder
 * follow the same estimate. Constants: Bluetooth Core Specification, "CVSD CODEC", for 64,000 samples a second; other
 * rates work, the better the higher they are above the speech. Knows no stream and no node.
 */
#pragma once
#include <stdint.h>

typedef struct tw_cvsd {
    int32_t estimate, slope; /* [1/1024 of a word]; slope 0 stands for the smallest */
    uint32_t bits;           /* the last four */
} tw_cvsd_t;

uint32_t tw_cvsd_encode(tw_cvsd_t *s, int32_t sample);
/** @param bit  0 or 1. @return the sample */
int16_t tw_cvsd_decode(tw_cvsd_t *s, uint32_t bit);
