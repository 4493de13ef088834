#include "engine/base/fixed.h"
#include <string.h>

static float from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float pow2i(int e)
{
    return e < -126 ? 0.0f : e > 127 ? from_bits(0x7F800000u) : from_bits((uint32_t)(e + 127) << 23);
}

float tw_fp8m4e_to_float(uint16_t code)
{
    const float m = (float)((code >> 4) & 0xFF) / 128.0f;
    return m * pow2i(5 - (int)(code & 15));
}

uint16_t tw_fp8m4e_from_float(float gain)
{
    if (!(gain > 0.0f)) {
        return 0x000F;
    }
    for (int e = 15; e >= 0; e--) { /* largest exponent code first: finest mantissa step */
        const float m = gain * 128.0f / pow2i(5 - e) + 0.5f;
        if (m < 256.0f) {
            return (uint16_t)(((uint32_t)m << 4) | (uint32_t)e);
        }
    }
    return 0x0FF0;
}

/* 2^f on [-0.5, 0.5]: Taylor in f ln2 up to degree 7, error below 1e-8. */
static double exp2_frac(double f)
{
    const double x = f * 0.69314718055994531;
    return 1.0 + x * (1.0 + x / 2 * (1.0 + x / 3 * (1.0 + x / 4 * (1.0 + x / 5 * (1.0 + x / 6 * (1.0 + x / 7))))));
}

float tw_db_to_gain(float db)
{
    if (!(db > -700.0f)) {
        return 0.0f;
    }
    const double e = (double)(db > 700.0f ? 700.0f : db) * 0.16609640474436813; /* log2(10)/20 */
    const int i = (int)(e + (e < 0 ? -0.5 : 0.5));
    return (float)exp2_frac(e - i) * pow2i(i);
}

float tw_gain_to_db(float gain)
{
    if (!(gain >= 1e-10f)) {
        return -200.0f;
    }
    const uint32_t u = to_bits(gain);
    int e = (int)(u >> 23) - 127;
    double m = (double)from_bits((u & 0x007FFFFFu) | 0x3F800000u);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    /* ln(m) = 2 atanh((m-1)/(m+1)), |z| < 0.172 */
    const double z = (m - 1.0) / (m + 1.0);
    const double q = z * z;
    const double ln = 2.0 * z * (1.0 + q / 3 + q * q / 5 + q * q * q / 7 + q * q * q * q / 9);
    return (float)((e + ln * 1.4426950408889634) * 6.0205999132796239);
}

float tw_sqrtf(float x)
{
    if (!(x > 0.0f)) {
        return 0.0f;
    }
    float y = from_bits((to_bits(x) >> 1) + 0x1FBD1DF5u); /* halves the exponent: within 4 % */
    for (int i = 0; i < 3; i++) {
        y = 0.5f * (y + x / y);
    }
    return y;
}
