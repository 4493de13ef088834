#include "engine/node/ima_adpcm.h"
#include "engine/base/fixed.h"

static const int16_t steps[TW_IMA_INDEX_MAX + 1] = {
    7,    8,     9,     10,    11,    12,    13,    14,    16,    17,    19,    21,    23,    25,    28,
    31,   34,    37,    41,    45,    50,    55,    60,    66,    73,    80,    88,    97,    107,   118,
    130,  143,   157,   173,   190,   209,   230,   253,   279,   307,   337,   371,   408,   449,   494,
    544,  598,   658,   724,   796,   876,   963,   1060,  1166,  1282,  1411,  1552,  1707,  1878,  2066,
    2272, 2499,  2749,  3024,  3327,  3660,  4026,  4428,  4871,  5358,  5894,  6484,  7132,  7845,  8630,
    9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767,
};

static uint8_t next_index(uint32_t index, uint32_t code)
{
    const uint32_t size = code & 7u;
    if (size < 4) {
        return (uint8_t)(index - (index > 0));
    }
    const uint32_t up = index + 2 * (size - 3);
    return (uint8_t)(up < TW_IMA_INDEX_MAX ? up : TW_IMA_INDEX_MAX);
}

int16_t tw_ima_decode(tw_ima_t *s, uint32_t code)
{
    const int32_t step = steps[s->index];
    int32_t change = step >> 3;
    change += code & 4u ? step : 0;
    change += code & 2u ? step >> 1 : 0;
    change += code & 1u ? step >> 2 : 0;
    s->predictor = tw_sat16(code & 8u ? s->predictor - change : s->predictor + change);
    s->index = next_index(s->index, code);
    return s->predictor;
}

uint32_t tw_ima_encode(tw_ima_t *s, int32_t sample)
{
    const int32_t distance = sample - s->predictor;
    int32_t step = steps[s->index], rest = distance < 0 ? -distance : distance;
    uint32_t code = distance < 0 ? 8u : 0u;
    for (uint32_t bit = 4; bit != 0; bit >>= 1, step >>= 1) {
        if (rest >= step) {
            code |= bit;
            rest -= step;
        }
    }
    (void)tw_ima_decode(s, code);
    return code;
}
