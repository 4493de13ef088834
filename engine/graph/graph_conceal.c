/* graph_conceal.c - what fills a hole in a stream, and what joins two sides of a gap.
 *
 * Works on numbers: any arithmetic raw type, any number of channels, interleaved or in blocks. What is no number is
 * repeated. A frame's time stamp is left alone.
 */
#include "engine/graph/graph_priv.h"
#include "engine/node/convert.h"

/* A slope is believed less with every sample: the whole run adds no more than 7 times the last step. */
#define SLOPE_DECAY 0.875

/* A frame as channels of numbers. A complex sample is two channels. */
typedef struct lanes {
    uint32_t raw, channels, samples, stamp, bytes; /* bytes of a sample */
    bool blocks;
} lanes_t;

/* @return false: not numbers of whole bytes */
static bool lanes_of(const tw_format_t *f, lanes_t *l)
{
    const bool cq15 = f->raw == TW_RAW_CQ15, complex = cq15 || f->raw == TW_RAW_CFP32;
    const uint32_t raw = !complex ? f->raw : cq15 ? (uint32_t)TW_RAW_Q15 : (uint32_t)TW_RAW_FP32;
    *l = (lanes_t){.raw = raw,
                   .channels = f->channels * (complex ? 2u : 1u),
                   .samples = f->samples,
                   .stamp = tw_format_stamp(f),
                   .bytes = tw_raw_bits(raw) / 8,
                   .blocks = f->interleave != 0 && !complex};
    const bool split = f->interleave != 0 && complex && f->channels > 1;
    return tw_raw_bits(raw) % 8 == 0 && tw_convert_numeric(raw) && f->samples != 0 && !split;
}

static size_t place(const lanes_t *l, uint32_t channel, uint32_t k)
{
    return l->blocks ? (size_t)channel * l->samples + k : (size_t)k * l->channels + channel;
}

static double get(const lanes_t *l, const uint8_t *frame, uint32_t channel, uint32_t k)
{
    double v = 0;
    tw_convert_load(l->raw, frame + l->stamp, place(l, channel, k), 1, 1, &v);
    return v;
}

static void put(const lanes_t *l, uint8_t *frame, uint32_t channel, uint32_t k, double v)
{
    tw_convert_store(l->raw, frame + l->stamp, place(l, channel, k), 1, 1, &v);
}

/* Samples of a channel that are whole in the first `got` bytes. */
static uint32_t whole(const lanes_t *l, uint32_t channel, uint32_t got)
{
    const uint32_t data = got > l->stamp ? (got - l->stamp) / l->bytes : 0;
    const uint32_t mine = l->blocks                      ? data - tw_min_u32(data, channel * l->samples)
                          : data % l->channels > channel ? data / l->channels + 1
                                                         : data / l->channels;
    return tw_min_u32(mine, l->samples);
}

/* Sample `k` of a channel before the hole; negative ones are in the frame before. */
static double before(const lanes_t *l, const uint8_t *frame, const uint8_t *last, uint32_t channel, int64_t k)
{
    k += k < 0 && -k > (int64_t)l->samples ? 1 : 0; /* a frame of one sample has no slope */
    return k >= 0 ? get(l, frame, channel, (uint32_t)k) : get(l, last, channel, (uint32_t)(k + l->samples));
}

void conceal_extrapolate(const tw_format_t *f, const uint8_t *last, uint8_t *frame, uint32_t got)
{
    lanes_t l;
    if (!lanes_of(f, &l)) {
        memcpy(frame + got, last + got, f->frame_bytes - got);
        return;
    }
    if (got < l.stamp) {
        memcpy(frame + got, last + got, l.stamp - got);
    }
    for (uint32_t c = 0; c < l.channels; c++) {
        const uint32_t from = whole(&l, c, got);
        double v = before(&l, frame, last, c, (int64_t)from - 1);
        double slope = v - before(&l, frame, last, c, (int64_t)from - 2);
        slope = slope - slope == 0 ? slope : 0; /* an infinity goes on as it is */
        for (uint32_t k = from; k < l.samples; k++) {
            slope *= SLOPE_DECAY;
            v += slope;
            put(&l, frame, c, k, v);
        }
    }
}

bool conceal_fade(const tw_format_t *f, uint8_t *newest, const uint8_t *frame)
{
    lanes_t l;
    if (!lanes_of(f, &l)) {
        return false;
    }
    for (uint32_t k = 0; k < l.samples; k++) {
        const double w = (double)(k + 1) / l.samples;
        for (uint32_t c = 0; c < l.channels; c++) {
            put(&l, newest, c, k, (1 - w) * get(&l, newest, c, k) + w * get(&l, frame, c, k));
        }
    }
    return true;
}
