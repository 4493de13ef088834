/* node_compressor.c - 16-bit samples to IMA ADPCM, four bits a sample (ima_adpcm.h), or CVSD, one bit.
 *
 *   preset 0, 1   a stream of codes: instant by instant, channel by channel, the high half of a byte first. Its
 *                 state is the predictor and index of each channel, both 0 after a cold RESET; frames of any length
 *   preset 3      a stream of bits by CVSD (cvsd.h), in the same order, from the low end of a byte
 *   preset 16     blocks that stand alone: each frame of the coded arc is one. A lost one costs its own samples only
 *
 *   block of B bytes, C channels, k = (B - 4 C) / (4 C) whole groups:
 *     C x { s16 first sample, u8 index, u8 0 }      little endian
 *     k x C x { 4 bytes: 8 codes, the low half of a byte first }
 *     zeros to the end of the frame
 *   so 1 + 8 k instants. It is the block of a WAV file's IMA ADPCM, and of what players and tools write.
 *
 *   index name        meaning
 *   1     spare    4 numbers the reference sets aside for other coders: 0
 *   16    snr_db   the samples of the last RUN against what the decoder will make of them, -200..200
 *
 * 16 is not in the index-256 block. Presets of other coders (2 LPC, 4 LC3, 5 SBC, 6 mSBC, 7 MP3, 8 AAC,
 * 9 Opus CELT) are refused: PARAM_PRESET. Coded frames too short for a block at preset 16: IMG_FORMAT.
 */
#include "engine/base/fixed.h"
#include "engine/node/node_ima.h"
#include <stddef.h>

typedef struct values {
    int32_t spare[4];
    float snr_db;
} values_t;

typedef struct compressor {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    tw_frames_t f;
    uint32_t channel; /* of the next sample, in a stream of codes */
    bool blocks, cvsd;
    values_t v;
    double power, error; /* of the last RUN, in words */
    tw_coder_t *state;   /* one a channel */
} compressor_t;

enum { SPARE, SNR_DB }; /* rows */
static const tw_param_desc_t rows[] = {
    [SPARE] = {1, TW_RAW_S32, 4, TW_NODE_UNIT_ANY, 0, 0, 0, 0, "spare", 1},
    [SNR_DB] = {16, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY, -200, 200, 0, "snr_db",
                0},
};
static const uint16_t at[] = {[SPARE] = offsetof(values_t, spare), [SNR_DB] = offsetof(values_t, snr_db)};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static uint32_t read(compressor_t *c, uint32_t tag, tw_xdm_t *data)
{
    const float gain = c->error > 0 ? tw_sqrtf((float)(c->power / c->error)) : 1e10f;
    c->v.snr_db = c->power > 0 ? tw_gain_to_db(gain) : 0.0f;
    return tw_param_get(&store, &c->v, tag, data);
}

/* ---- signal ------------------------------------------------------------------- */

static uint32_t encode(compressor_t *c, uint32_t t, uint32_t channel)
{
    const int16_t *in = (const int16_t *)(const void *)c->f.in;
    const int32_t x = in[tw_shape_at(&c->shape, t, channel)];
    const uint32_t code = tw_ima_encode(&c->state[channel].ima, x);
    const double e = x - c->state[channel].ima.predictor;
    c->power += (double)x * x;
    c->error += e * e;
    return code;
}

static uint32_t encode_bit(compressor_t *c, uint32_t t, uint32_t channel)
{
    const int16_t *in = (const int16_t *)(const void *)c->f.in;
    tw_cvsd_t *s = &c->state[channel].cvsd;
    const int32_t x = in[tw_shape_at(&c->shape, t, channel)];
    const uint32_t bit = tw_cvsd_encode(s, x);
    const double e = x - s->estimate / 1024.0;
    c->power += (double)x * x;
    c->error += e * e;
    return bit;
}

/* Code k of the frame being made: halves of a byte from the high end, bits from the low end. */
static void put_code(compressor_t *c, uint32_t k, uint32_t t)
{
    uint8_t *to = c->f.stage;
    if (c->cvsd) {
        const uint32_t bit = encode_bit(c, t, c->channel) << k % 8;
        to[k / 8] = (uint8_t)(k % 8 == 0 ? bit : to[k / 8] | bit);
    } else {
        const uint32_t code = encode(c, t, c->channel);
        to[k / 2] = (uint8_t)(k % 2 == 0 ? code << 4 : to[k / 2] | code);
    }
}

/* @return false when there is nothing to read or no place to put it */
static bool step_stream(compressor_t *c)
{
    tw_frames_t *f = &c->f;
    const uint32_t channels = c->shape.channels, from = f->in_at;
    const uint32_t n = tw_min_u32(tw_frames_readable(f) * channels - (tw_frames_readable(f) != 0 ? c->channel : 0),
                                  tw_frames_writable(f));
    uint32_t t = from;
    for (uint32_t i = 0; i < n; i++) {
        put_code(c, f->out_at + i, t);
        c->channel = c->channel + 1 == channels ? 0 : c->channel + 1;
        t += c->channel == 0;
    }
    tw_frames_used(f, t - from);
    tw_frames_made(f, n);
    return n != 0;
}

static void begin_block(compressor_t *c)
{
    const int16_t *in = (const int16_t *)(const void *)c->f.in;
    memset(c->f.stage, 0, c->f.out_bytes);
    for (uint32_t ch = 0; ch < c->shape.channels; ch++) {
        tw_ima_t *s = &c->state[ch].ima;
        s->predictor = in[tw_shape_at(&c->shape, c->f.in_at, ch)];
        tw_put_le16(c->f.stage + 4u * ch, (uint16_t)s->predictor);
        c->f.stage[4u * ch + 2] = s->index;
        c->power += (double)s->predictor * s->predictor;
    }
}

static bool step_blocks(compressor_t *c)
{
    tw_frames_t *f = &c->f;
    const uint32_t n = tw_min_u32(tw_frames_readable(f), tw_frames_writable(f));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = f->out_at + i;
        if (k == 0) {
            begin_block(c);
            continue;
        }
        for (uint32_t ch = 0; ch < c->shape.channels; ch++) {
            const uint32_t code = encode(c, f->in_at + i, ch);
            f->stage[tw_ima_block_at(k, ch, c->shape.channels)] |= (uint8_t)(k % 2 == 1 ? code : code << 4);
        }
    }
    if (n != 0) {
        tw_frames_used(f, n);
        tw_frames_made(f, n);
    }
    return n != 0;
}

static void run(compressor_t *c, tw_xdm_t *data)
{
    c->power = c->error = 0;
    tw_frames_open(&c->f, &data[0], &data[1]);
    while (c->blocks ? step_blocks(c) : step_stream(c)) {}
    tw_frames_close(&c->f, &data[0], &data[1]);
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx;
    tw_shape_t pcm;
    TW_TRY(tw_ima_formats(fmt, 0, arc, &pcm));
    extra[0] = tw_round_up(fmt[1]->frame_bytes, 4);
    return TW_OK;
}

static tw_err_t reset(compressor_t *c, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t pcm;
    tw_frames_t f = {0};
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    const bool blocks = preset == TW_IMA_PRESET_BLOCKS, cvsd = tw_ima_is_cvsd(preset, 0);
    TW_TRY(tw_ima_reset(&tw_node_compressor, r, cmd, 0, &pcm, &f));
    const uint32_t at_stage = (uint32_t)(sizeof *c + sizeof(tw_coder_t) * pcm.channels);
    TW_TRY(r->mem_bytes[0] >= at_stage + tw_round_up(f.out_bytes, 4) ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && c->magic == tw_node_compressor.hash &&
                      tw_shape_same(&c->shape, &pcm) && c->blocks == blocks && c->cvsd == cvsd;
    tw_coder_t *state = (tw_coder_t *)(void *)((uint8_t *)r->mem[0] + sizeof *c);
    if (!warm) {
        memset(state, 0, sizeof *state * pcm.channels);
    } else {
        tw_frames_go_on(&f, &c->f, cmd);
    }
    f.stage = (uint8_t *)r->mem[0] + at_stage;
    *c = (compressor_t){
        .magic = tw_node_compressor.hash, .shape = pcm, .f = f, .blocks = blocks, .cvsd = cvsd, .state = state};
    return TW_OK;
}

static uint32_t compressor(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    compressor_t *c = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(c, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        (void)tw_param_put(&store, &c->v, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return read(c, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(c, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_compressor = {
    .developer = "ARM",
    .name = "arm_stream_compressor",
    .hash = 0x0F2EEDC3u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_IMA_RAW_MASK,
    .n_mem = 1,
    .mem = {{.a = sizeof(compressor_t), .b = sizeof(tw_coder_t), .align = 8}},
    .run = compressor,
    .memreq = memreq,
    .params = params,
    .presets = TW_IMA_PRESETS | (uint64_t)1 << TW_IMA_PRESET_CVSD,
};
