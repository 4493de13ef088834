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

bool tw_shape_same(const tw_shape_t *a, const tw_shape_t *b)
{
    return (!TW_NODE_FP32 || (a->raw == TW_RAW_FP32) == (b->raw == TW_RAW_FP32)) && a->size == b->size &&
           a->channels == b->channels && a->blocks == b->blocks && (!tw_shape_blocks(a) || a->samples == b->samples);
}
