#include "engine/board/board_linux_samples.h"
#include "engine/base/bytes.h"

uint32_t tw_sample_bytes(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
        return 1;
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return 2;
    case TW_RAW_S32:
    case TW_RAW_Q31:
    case TW_RAW_FP32:
        return 4;
    default:
        return 0;
    }
}

/* Upper bits of a fraction, rounded: half a step up, and the one value that would overflow held. */
static int32_t narrowed(int32_t q31, unsigned bits)
{
    const unsigned drop = 32 - bits;
    const int64_t rounded = ((int64_t)q31 + ((int64_t)1 << (drop - 1))) >> drop;
    const int64_t max = ((int64_t)1 << (bits - 1)) - 1;
    return (int32_t)(rounded > max ? max : rounded);
}

void tw_sample_put(uint32_t raw, uint8_t *dst, int32_t q31)
{
    switch (tw_sample_bytes(raw)) {
    case 1:
        *dst = (uint8_t)narrowed(q31, 8);
        break;
    case 2:
        tw_put_le16(dst, (uint16_t)narrowed(q31, 16));
        break;
    case 4:
        if (raw == TW_RAW_FP32) {
            tw_put_f32(dst, (float)q31 * (1.0f / 2147483648.0f));
        } else {
            tw_put_le32(dst, (uint32_t)q31);
        }
        break;
    default:
        break;
    }
}

void tw_sample_put_float(uint32_t raw, uint8_t *dst, float v)
{
    if (raw == TW_RAW_FP32) {
        tw_put_f32(dst, v);
        return;
    }
    const double scaled = (double)v * 2147483648.0;
    const bool low = scaled <= -2147483648.0, high = scaled >= 2147483647.0, number = scaled == scaled;
    tw_sample_put(raw, dst, low ? INT32_MIN : high ? INT32_MAX : number ? (int32_t)scaled : 0);
}

bool tw_sample_is_level(uint32_t raw)
{
    return tw_sample_bytes(raw) != 0 || raw == TW_RAW_U1 || raw == TW_RAW_S1 || raw == TW_RAW_U8 || raw == TW_RAW_U16 ||
           raw == TW_RAW_U32;
}

static bool one_above_half(uint32_t raw, const uint8_t *p)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
        return (int8_t)*p > 0x40;
    case TW_RAW_U8:
        return *p > 0x80;
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return (int16_t)tw_get_le16(p) > 0x4000;
    case TW_RAW_U16:
        return tw_get_le16(p) > 0x8000;
    case TW_RAW_S32:
    case TW_RAW_Q31:
        return (int32_t)tw_get_le32(p) > 0x40000000;
    case TW_RAW_U32:
        return tw_get_le32(p) > 0x80000000u;
    case TW_RAW_FP32:
        return tw_get_f32(p) > 0.5f;
    default:
        return *p != 0;
    }
}

bool tw_samples_above_half(uint32_t raw, const uint8_t *src, uint32_t bytes)
{
    const uint32_t step = tw_max_u32(tw_raw_bits(raw) / 8, 1);
    for (uint32_t at = 0; at + step <= bytes; at += step) {
        if (one_above_half(raw, src + at)) {
            return true;
        }
    }
    return false;
}

void tw_samples_fill_level(uint32_t raw, uint8_t *dst, uint32_t bytes, bool level)
{
    const uint32_t step = tw_sample_bytes(raw);
    if (!level || step == 0) {
        memset(dst, level ? 0xFF : 0, bytes); /* the unsigned types: all bits set is full scale */
        return;
    }
    for (uint32_t at = 0; at + step <= bytes; at += step) {
        if (raw == TW_RAW_FP32) {
            tw_put_f32(dst + at, 1.0f);
        } else {
            tw_sample_put(raw, dst + at, INT32_MAX);
        }
    }
}
