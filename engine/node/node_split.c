/* node_split.c - one stream to 1..15 consumers: each frame goes to every output.
 *
 * It runs as far as the output with the least room allows, so nothing is lost and no output comes first: a
 * slow consumer holds up the others, and its arc's policy decides what happens upstream. Samples are not looked
 * at: any raw type, any layout, time stamps included. All arcs must have the same frames; consumers that want
 * others have them cut on their arcs, or a converter behind it. No parameters.
 */
#include "engine/node/node_priv.h"

typedef struct split {
    uint32_t frame; /* [bytes] */
    uint32_t outputs;
} split_t;

static bool same_stream(const tw_format_t *a, const tw_format_t *b)
{
    return a->frame_bytes == b->frame_bytes && a->raw == b->raw && a->channels == b->channels &&
           (a->interleave == b->interleave || a->channels == 1) && a->rate_hz == b->rate_hz &&
           (a->unit == b->unit || a->unit == 0 || b->unit == 0) && a->ts == b->ts &&
           (a->ts == 0 || a->ts_size == b->ts_size);
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)extra;
    for (uint32_t i = rx; i < rx + tx; i++) {
        *arc = i;
        if (!same_stream(fmt[0], fmt[i])) {
            return TW_E_IMG_ARC_FORMAT;
        }
    }
    return TW_OK;
}

static tw_err_t reset(split_t *s, const tw_node_reset_t *r, uint32_t cmd)
{
    uint32_t arc = 0;
    TW_TRY(r->rx == 1 && r->tx >= 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(memreq(r->fmt, r->rx, r->tx, NULL, &arc));
    TW_TRY(r->mem_bytes[0] >= sizeof *s ? TW_OK : TW_E_IMG_MEM);
    TW_TRY(tw_bits(cmd, TW_CMD_PRESET) == 0 ? TW_OK : TW_E_PARAM_PRESET);
    *s = (split_t){r->fmt[0]->frame_bytes, r->tx};
    return TW_OK;
}

static void run(const split_t *s, tw_xdm_t *data)
{
    uint32_t n = data[0].bytes;
    for (uint32_t i = 1; i <= s->outputs; i++) {
        n = tw_min_u32(n, data[i].bytes);
    }
    n -= n % s->frame;
    for (uint32_t i = 1; i <= s->outputs; i++) {
        memmove(data[i].ptr, data[0].ptr, n); /* an arc that comes back may share its buffer */
        data[i].bytes = n;
    }
    data[0].bytes = n;
}

static uint32_t split(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(inst, data[0].ptr, cmd));
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(inst, data);
        return 0;
    case TW_CMD_SET_PARAMETER:
    case TW_CMD_READ_PARAMETER:
        return tw_node_error(TW_E_PARAM_INDEX);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_split = {
    .developer = "ARM",
    .name = "arm_stream_split",
    .hash = 0x7A89451Eu,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = TW_MAX_NODE_ARCS - 1,
    .raw_mask = ((uint64_t)1 << TW_RAW_COUNT) - 1,
    .n_mem = 1,
    .mem = {{.a = sizeof(split_t), .align = 8}},
    .run = split,
    .memreq = memreq,
    .presets = 1,
};
