/* node_shape.c - from a stream format to what a RUN loop needs. */
#include "engine/node/node_priv.h"

tw_err_t tw_shape_from(tw_shape_t *s, const tw_format_t *fmt, uint64_t raw_mask)
{
    if (fmt->raw >= TW_RAW_COUNT || (raw_mask & TW_RAW_BIT(fmt->raw)) == 0) {
        return TW_E_IMG_RAW;
    }
    const bool blocks = fmt->interleave == 1 && fmt->channels > 1;
    if (fmt->channels < 1 || fmt->channels > TW_MAX_CHANNELS || fmt->interleave > 1 || fmt->ts != 0 ||
        (blocks && fmt->samples == 0)) {
        return TW_E_IMG_FORMAT;
    }
    *s = (tw_shape_t){
        .samples = fmt->samples,
        .raw = fmt->raw,
        .size = (uint8_t)(tw_raw_bits(fmt->raw) / 8),
        .channels = fmt->channels,
        .blocks = blocks,
    };
    return TW_OK;
}

tw_err_t tw_shape_pair(const tw_node_desc_t *d, const tw_format_t *const *fmt, uint32_t *arc, tw_shape_t *in,
                       tw_shape_t *out)
{
    *arc = 0;
    TW_TRY(tw_shape_from(in, fmt[0], d->raw_mask));
    *arc = 1;
    TW_TRY(tw_shape_from(out, fmt[1], d->raw_mask));
    const bool one_rate = fmt[0]->rate_hz >= fmt[1]->rate_hz && fmt[0]->rate_hz <= fmt[1]->rate_hz;
    return one_rate ? TW_OK : TW_E_IMG_ARC_FORMAT;
}

tw_err_t tw_shape_memreq(const tw_node_desc_t *d, const tw_format_t *const *fmt, uint32_t *arc)
{
    tw_shape_t in;
    tw_shape_t out;
    TW_TRY(tw_shape_pair(d, fmt, arc, &in, &out));
    return tw_shape_same(&in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT;
}

tw_err_t tw_shape_reset(const tw_node_desc_t *d, const tw_node_reset_t *r, uint32_t cmd, tw_shape_t *in,
                        tw_shape_t *out)
{
    uint32_t arc;
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(tw_shape_pair(d, r->fmt, &arc, in, out));
    return d->presets >> tw_bits(cmd, TW_CMD_PRESET) & 1 ? TW_OK : TW_E_PARAM_PRESET;
}

static bool one_type(const tw_format_t *a, const tw_format_t *b)
{
    const bool both16 =
        (a->raw == TW_RAW_S16 || a->raw == TW_RAW_Q15) && (b->raw == TW_RAW_S16 || b->raw == TW_RAW_Q15);
    return a->raw == b->raw || both16;
}

tw_err_t tw_shape_all(const tw_node_desc_t *d, const tw_format_t *const *fmt, uint32_t n, uint32_t *arc, tw_shape_t *s)
{
    for (uint32_t i = 0; i < n; i++) {
        *arc = i;
        TW_TRY(tw_shape_from(&s[i], fmt[i], d->raw_mask));
        const bool one_rate = fmt[0]->rate_hz >= fmt[i]->rate_hz && fmt[0]->rate_hz <= fmt[i]->rate_hz;
        const bool alike = one_rate && one_type(fmt[0], fmt[i]) && s[i].samples == s[0].samples;
        TW_TRY(alike ? TW_OK : TW_E_IMG_ARC_FORMAT);
    }
    return TW_OK;
}

uint32_t tw_shape_all_instants(const tw_shape_t *s, const tw_xdm_t *data, uint32_t n)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        least = tw_min_u32(least, tw_shape_instants(&s[i], data[i].bytes));
    }
    return s[0].samples != 0 ? least - least % s[0].samples : least;
}

uint32_t tw_shape_all_run(const tw_shape_t *s, uint32_t n, uint32_t t, uint32_t end)
{
    uint32_t len = end - t;
    for (uint32_t i = 0; i < n; i++) {
        len = tw_min_u32(len, tw_shape_run(&s[i], t, end));
    }
    return len;
}

bool tw_shape_same(const tw_shape_t *a, const tw_shape_t *b)
{
    return (!TW_NODE_FP32 || (a->raw == TW_RAW_FP32) == (b->raw == TW_RAW_FP32)) && a->size == b->size &&
           a->channels == b->channels && a->blocks == b->blocks && (!tw_shape_blocks(a) || a->samples == b->samples);
}

void tw_shape_load(const tw_shape_t *s, const void *data, uint32_t t, uint32_t c, uint32_t n, float *to)
{
    const uint32_t step = tw_shape_step(s);
    for (uint32_t done = 0, len = 0; done < n; done += len) {
        len = tw_shape_run(s, t + done, t + n);
        const size_t at = tw_shape_at(s, t + done, c);
        if (s->raw == TW_RAW_FP32) {
            const float *x = (const float *)data + at;
            for (uint32_t i = 0; i < len; i++) {
                const float v = x[(size_t)i * step];
                to[done + i] = v < 1e6f && v > -1e6f ? v : 0.0f;
            }
        } else {
            const int16_t *x = (const int16_t *)data + at;
            for (uint32_t i = 0; i < len; i++) {
                to[done + i] = (float)x[(size_t)i * step] * (1.0f / 32768.0f);
            }
        }
    }
}

/* v times 2^bits to the nearest integer inside +-2^bits */
static int32_t to_integer(float v, unsigned bits)
{
    const float unit = (float)(1u << bits), x = v * unit;
    if (!(x < unit - 1.0f)) {
        return x >= 0 ? (int32_t)unit - 1 : 0; /* NaN is 0 */
    }
    return x <= -unit ? -(int32_t)unit : (int32_t)(x + (x < 0 ? -0.5f : 0.5f));
}

void tw_shape_store(const tw_shape_t *s, void *data, uint32_t t, uint32_t c, float v)
{
    const size_t at = tw_shape_at(s, t, c);
    if (s->raw == TW_RAW_FP32) {
        ((float *)data)[at] = v;
    } else if (s->size == 1) {
        ((int8_t *)data)[at] = (int8_t)to_integer(v, 7);
    } else {
        ((int16_t *)data)[at] = (int16_t)to_integer(v, 15);
    }
}
