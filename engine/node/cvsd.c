#include "engine/node/cvsd.h"

enum { ONE = 1024, SLOPE_MIN = 10 * ONE, SLOPE_MAX = 1280 * ONE, TOP = 32767 * ONE };

static int32_t held(int32_t v, int32_t lo, int32_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* v / 2^bits towards minus infinity, whatever >> does to a negative number */
static int32_t part(int32_t v, unsigned bits)
{
    return v >= 0 ? v >> bits : -((-v + (1 << bits) - 1) >> bits);
}

int16_t tw_cvsd_decode(tw_cvsd_t *s, uint32_t bit)
{
    s->bits = (s->bits << 1 | bit) & 15u;
    const int32_t slope = s->slope < SLOPE_MIN ? SLOPE_MIN : s->slope;
    const int32_t next = s->bits == 0 || s->bits == 15u ? slope + SLOPE_MIN : slope - part(slope, 10);
    s->slope = held(next, SLOPE_MIN, SLOPE_MAX);
    const int32_t y = held(bit != 0 ? s->estimate + s->slope : s->estimate - s->slope, -TOP, TOP);
    s->estimate = y - part(y, 5);
    return (int16_t)part(s->estimate + ONE / 2, 10);
}

uint32_t tw_cvsd_encode(tw_cvsd_t *s, int32_t sample)
{
    const uint32_t bit = sample * ONE >= s->estimate;
    (void)tw_cvsd_decode(s, bit);
    return bit;
}
