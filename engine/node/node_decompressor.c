/* node_decompressor.c - IMA ADPCM (ima_adpcm.h) or CVSD (cvsd.h) back to 16-bit samples.
 *
 *   preset 0, 1   a stream of codes, preset 4 a stream of CVSD's bits, preset 16 blocks that stand alone: as
 *                 node_compressor.c writes them
 *
 * Any byte is a code and any state is legal, so hostile bytes are a noise and nothing worse. An index above 88 in a
 * block is taken as 88 and counted.
 *
 *   index name        meaning
 *   1     state    1 on, 0 off: zeros, while the input is followed all the same; the change is a straight ramp of
 *                  256 instants
 *   2     spare    4 numbers the reference sets aside for other decoders: 0
 *   16    repaired block headers with an index above 88 since the cold RESET, modulo 2^32
 *
 * 16 is not in the index-256 block. Presets of other decoders are refused: PARAM_PRESET. Coded frames too short for
 * a block at preset 16: IMG_FORMAT.
 */
#include "engine/node/node_ima.h"
#include <stddef.h>

enum { RAMP = 256 }; /* [instants] */

typedef struct values {
    int32_t spare[4];
    uint32_t repaired;
    uint8_t state;
} values_t;

typedef struct decompressor {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    tw_frames_t f;
    uint32_t channel; /* of the next code, in a stream of codes */
    uint32_t gain;    /* 0..RAMP, of the next instant */
    bool blocks, cvsd;
    bool heard; /* a RUN has happened since the cold RESET: from now on changes are ramps */
    values_t v;
    tw_coder_t *state; /* one a channel */
} decompressor_t;

enum { STATE, SPARE, REPAIRED }; /* rows */
static const tw_param_desc_t rows[] = {
    [STATE] = {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 1, 1, "state", 1},
    [SPARE] = {2, TW_RAW_S32, 4, TW_NODE_UNIT_ANY, 0, 0, 0, 0, "spare", 1},
    [REPAIRED] = {16, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY, 0, 4294967295.0, 0,
                  "repaired", 1},
};
static const uint16_t at[] = {
    [STATE] = offsetof(values_t, state),
    [SPARE] = offsetof(values_t, spare),
    [REPAIRED] = offsetof(values_t, repaired),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static void apply(decompressor_t *d)
{
    if (!d->heard) {
        d->gain = d->v.state != 0 ? RAMP : 0;
    }
}

/* ---- signal ------------------------------------------------------------------- */

/* The gain goes on after the last channel of an instant. */
static void write(decompressor_t *d, uint32_t t, uint32_t channel, int32_t x)
{
    int16_t *out = (int16_t *)(void *)d->f.stage;
    out[tw_shape_at(&d->shape, t, channel)] = (int16_t)(x * (int32_t)d->gain / RAMP);
    if (channel + 1u == d->shape.channels) {
        d->gain = d->v.state != 0 ? d->gain + (d->gain < RAMP) : d->gain - (d->gain > 0);
    }
}

/* Code k of the input frame: halves of a byte from the high end, bits from the low end. */
static int16_t take_code(decompressor_t *d, uint32_t k)
{
    tw_coder_t *s = &d->state[d->channel];
    if (d->cvsd) {
        return tw_cvsd_decode(&s->cvsd, d->f.in[k / 8] >> k % 8 & 1u);
    }
    return tw_ima_decode(&s->ima, k % 2 == 0 ? d->f.in[k / 2] >> 4 : d->f.in[k / 2]);
}

/* @return false when there is nothing to read or no place to put it */
static bool step_stream(decompressor_t *d)
{
    tw_frames_t *f = &d->f;
    const uint32_t channels = d->shape.channels, room = tw_frames_writable(f) * channels;
    const uint32_t n = tw_min_u32(tw_frames_readable(f), room != 0 ? room - d->channel : 0);
    uint32_t t = f->out_at;
    for (uint32_t i = 0; i < n; i++) {
        write(d, t, d->channel, take_code(d, f->in_at + i));
        d->channel = d->channel + 1 == channels ? 0 : d->channel + 1;
        t += d->channel == 0;
    }
    tw_frames_made(f, t - f->out_at);
    tw_frames_used(f, n);
    return n != 0;
}

static int16_t begin_block(decompressor_t *d, uint32_t channel)
{
    const uint8_t *head = d->f.in + 4u * channel;
    const uint8_t index = head[2];
    const bool legal = index <= TW_IMA_INDEX_MAX;
    d->v.repaired += !legal;
    d->state[channel].ima =
        (tw_ima_t){.predictor = (int16_t)tw_get_le16(head), .index = legal ? index : TW_IMA_INDEX_MAX};
    return d->state[channel].ima.predictor;
}

static bool step_blocks(decompressor_t *d)
{
    tw_frames_t *f = &d->f;
    const uint32_t n = tw_min_u32(tw_frames_writable(f), tw_frames_readable(f));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = f->in_at + i;
        for (uint32_t ch = 0; ch < d->shape.channels; ch++) {
            const uint32_t byte = k == 0 ? 0 : f->in[tw_ima_block_at(k, ch, d->shape.channels)];
            const int16_t x =
                k == 0 ? begin_block(d, ch) : tw_ima_decode(&d->state[ch].ima, k % 2 == 1 ? byte : byte >> 4);
            write(d, f->out_at + i, ch, x);
        }
    }
    if (n != 0) {
        tw_frames_made(f, n);
        tw_frames_used(f, n);
    }
    return n != 0;
}

static void run(decompressor_t *d, tw_xdm_t *data)
{
    d->heard = d->heard || data[0].bytes != 0;
    tw_frames_open(&d->f, &data[0], &data[1]);
    while (d->blocks ? step_blocks(d) : step_stream(d)) {}
    tw_frames_close(&d->f, &data[0], &data[1]);
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx;
    tw_shape_t pcm;
    TW_TRY(tw_ima_formats(fmt, 1, arc, &pcm));
    extra[0] = tw_round_up(fmt[1]->frame_bytes, 4);
    return TW_OK;
}

static tw_err_t reset(decompressor_t *d, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t pcm;
    tw_frames_t f = {0};
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    const bool blocks = preset == TW_IMA_PRESET_BLOCKS, cvsd = tw_ima_is_cvsd(preset, 1);
    TW_TRY(tw_ima_reset(&tw_node_decompressor, r, cmd, 1, &pcm, &f));
    const uint32_t at_stage = (uint32_t)(sizeof *d + sizeof(tw_coder_t) * pcm.channels);
    TW_TRY(r->mem_bytes[0] >= at_stage + tw_round_up(f.out_bytes, 4) ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && d->magic == tw_node_decompressor.hash &&
                      tw_shape_same(&d->shape, &pcm) && d->blocks == blocks && d->cvsd == cvsd;
    tw_coder_t *state = (tw_coder_t *)(void *)((uint8_t *)r->mem[0] + sizeof *d);
    if (!warm) {
        *d = (decompressor_t){.magic = tw_node_decompressor.hash};
        memset(state, 0, sizeof *state * pcm.channels);
    }
    tw_frames_go_on(&f, &d->f, warm ? cmd : 0);
    f.stage = (uint8_t *)r->mem[0] + at_stage;
    d->shape = pcm;
    d->f = f;
    d->channel = warm && tw_bits(cmd, TW_CMD_TAG) == TW_RESET_GOES_ON ? d->channel : 0;
    d->blocks = blocks;
    d->cvsd = cvsd;
    d->state = state;
    d->v = (values_t){.state = 1, .repaired = d->v.repaired};
    apply(d);
    return TW_OK;
}

static uint32_t decompressor(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    decompressor_t *d = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(d, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        (void)tw_param_put(&store, &d->v, tag, data);
        apply(d);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &d->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(d, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_decompressor = {
    .developer = "ARM",
    .name = "arm_stream_decompressor",
    .hash = 0x5A83F8D0u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_IMA_RAW_MASK,
    .n_mem = 1,
    .mem = {{.a = sizeof(decompressor_t), .b = sizeof(tw_coder_t), .b_arc = 1, .align = 8}},
    .run = decompressor,
    .memreq = memreq,
    .params = params,
    .presets = TW_IMA_PRESETS | (uint64_t)1 << TW_IMA_PRESET_CVSD_BACK,
};
