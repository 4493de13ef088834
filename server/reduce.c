/* reduce.c - frames of an arc into the points a subscription asked for.
 *
 *   RAW     every decimate-th frame, as it is
 *   LAST    the last sample of each group, in the arc's own type
 *   MINMAX  smallest and largest of each group and channel, FP32 pairs
 *   RMS     root mean square of each group and channel, FP32
 *
 * A group is `decimate` samples of a channel, or one frame when 0; it may span
 * frames. Fractional types count as -1..1. Knows no stream and no rate.
 */
#include "engine/base/fixed.h"
#include "server/server_priv.h"

double tw_sample_value(uint32_t raw, const uint8_t *p)
{
    switch (raw) {
    case TW_RAW_S8:
        return (int8_t)p[0];
    case TW_RAW_U8:
        return p[0];
    case TW_RAW_Q7:
        return (int8_t)p[0] / 128.0;
    case TW_RAW_S16:
        return (int16_t)tw_get_le16(p);
    case TW_RAW_U16:
        return tw_get_le16(p);
    case TW_RAW_Q15:
        return (int16_t)tw_get_le16(p) / 32768.0;
    case TW_RAW_S32:
        return (int32_t)tw_get_le32(p);
    case TW_RAW_U32:
        return tw_get_le32(p);
    case TW_RAW_Q31:
        return (int32_t)tw_get_le32(p) / 2147483648.0;
    case TW_RAW_FP32:
        return (double)tw_get_f32(p);
    case TW_RAW_FP64: {
        const uint64_t u = tw_get_le64(p);
        double d;
        memcpy(&d, &u, sizeof d);
        return d;
    }
    default:
        return 0;
    }
}

void tw_reduce_reset(tw_sub_t *sub)
{
    sub->phase = 0;
    sub->skip = 0;
}

static uint32_t group_of(const tw_sub_t *sub)
{
    return sub->decimate != 0 ? sub->decimate : tw_max_u32(sub->fmt.samples, 1);
}

static uint32_t sample_bytes(const tw_sub_t *sub)
{
    return tw_raw_bits(sub->fmt.raw) / 8;
}

static uint32_t point_bytes(const tw_sub_t *sub)
{
    const uint32_t each = sub->mode == tunewire_v1_SubReq_Mode_MINMAX ? 8
                          : sub->mode == tunewire_v1_SubReq_Mode_RMS  ? 4
                                                                      : sample_bytes(sub);
    return each * sub->fmt.channels;
}

uint32_t tw_reduce_bound(const tw_sub_t *sub)
{
    if (sub->mode == tunewire_v1_SubReq_Mode_RAW) {
        return sub->fmt.frame_bytes;
    }
    return (sub->fmt.samples / group_of(sub) + 1) * point_bytes(sub);
}

static void start_group(tw_sub_t *sub, uint32_t ch, double v)
{
    sub->acc[ch] = sub->mode == tunewire_v1_SubReq_Mode_RMS ? v * v : v;
    sub->acc2[ch] = v;
}

static void add_sample(tw_sub_t *sub, uint32_t ch, double v)
{
    if (sub->phase == 0) {
        start_group(sub, ch, v);
    } else if (sub->mode == tunewire_v1_SubReq_Mode_RMS) {
        sub->acc[ch] += v * v;
    } else {
        sub->acc[ch] = v < sub->acc[ch] ? v : sub->acc[ch];
        sub->acc2[ch] = v > sub->acc2[ch] ? v : sub->acc2[ch];
    }
}

static void put_point(tw_sub_t *sub, uint32_t ch, const uint8_t *sample, uint32_t group)
{
    uint8_t *out = sub->block + sub->block_used;
    switch (sub->mode) {
    case tunewire_v1_SubReq_Mode_MINMAX:
        tw_put_f32(out, (float)sub->acc[ch]);
        tw_put_f32(out + 4, (float)sub->acc2[ch]);
        sub->block_used += 8;
        break;
    case tunewire_v1_SubReq_Mode_RMS:
        tw_put_f32(out, tw_sqrtf((float)(sub->acc[ch] / group)));
        sub->block_used += 4;
        break;
    default:
        memcpy(out, sample, sample_bytes(sub));
        sub->block_used += sample_bytes(sub);
        break;
    }
}

static void reduce(tw_sub_t *sub, const uint8_t *frame)
{
    const uint32_t bytes = sample_bytes(sub), channels = sub->fmt.channels, samples = sub->fmt.samples;
    const uint32_t group = group_of(sub);
    const uint32_t step = sub->fmt.interleave == 0 ? channels * bytes : bytes;
    const uint32_t apart = sub->fmt.interleave == 0 ? bytes : samples * bytes;
    for (uint32_t i = 0; i < samples; i++) {
        for (uint32_t ch = 0; ch < channels; ch++) {
            const uint8_t *p = frame + i * step + ch * apart;
            if (sub->mode != tunewire_v1_SubReq_Mode_LAST) {
                add_sample(sub, ch, tw_sample_value(sub->fmt.raw, p));
            }
            if (sub->phase + 1 == group) {
                put_point(sub, ch, p, group);
            }
        }
        sub->phase = sub->phase + 1 == group ? 0 : sub->phase + 1;
    }
}

void tw_reduce_frame(tw_sub_t *sub, const uint8_t *frame)
{
    if (sub->mode != tunewire_v1_SubReq_Mode_RAW) {
        reduce(sub, frame);
        return;
    }
    if (sub->skip == 0) {
        memcpy(sub->block + sub->block_used, frame, sub->fmt.frame_bytes);
        sub->block_used += sub->fmt.frame_bytes;
    }
    sub->skip = sub->skip + 1 >= sub->decimate ? 0 : sub->skip + 1;
}

uint32_t tw_reduce_format(const tw_sub_t *sub)
{
    const bool fp = sub->mode == tunewire_v1_SubReq_Mode_MINMAX || sub->mode == tunewire_v1_SubReq_Mode_RMS;
    return (fp ? (uint32_t)TW_RAW_FP32 : sub->fmt.raw) | (uint32_t)sub->fmt.channels << 8 | (uint32_t)sub->mode << 16;
}
