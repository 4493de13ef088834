/* node_ima.h - what compressor and decompressor agree on: formats, presets, the place of a code. */
#pragma once
#include "engine/node/cvsd.h"
#include "engine/node/ima_adpcm.h"
#include "engine/node/node_frames.h"

/* The reference numbers CVSD differently for the two. */
enum { TW_IMA_PRESET_CVSD = 3, TW_IMA_PRESET_CVSD_BACK = 4, TW_IMA_PRESET_BLOCKS = 16 };
#define TW_IMA_PRESETS ((uint64_t)0x3 | (uint64_t)1 << TW_IMA_PRESET_BLOCKS)

/** Of one channel. */
typedef union tw_coder {
    tw_ima_t ima;
    tw_cvsd_t cvsd;
} tw_coder_t;

/** What preset `preset` of a node with its samples on arc `pcm` makes: a stream of bits by CVSD. */
static inline bool tw_ima_is_cvsd(uint32_t preset, uint32_t pcm)
{
    return preset == (pcm == 0 ? (uint32_t)TW_IMA_PRESET_CVSD : (uint32_t)TW_IMA_PRESET_CVSD_BACK);
}

#define TW_IMA_RAW_PCM (TW_RAW_BIT(TW_RAW_S16) | TW_RAW_BIT(TW_RAW_Q15))
#define TW_IMA_RAW_CODED                                                                             \
    (TW_RAW_BIT(TW_RAW_U8) | TW_RAW_BIT(TW_RAW_S8) | TW_RAW_BIT(TW_RAW_U4) | TW_RAW_BIT(TW_RAW_S4) | \
     TW_RAW_BIT(TW_RAW_HEXBINARY) | TW_RAW_BIT(TW_RAW_DATA_ARRAY))
#define TW_IMA_RAW_MASK (TW_IMA_RAW_PCM | TW_IMA_RAW_CODED)

/** Byte of a block that holds the code of instant k >= 1; odd k in its low half. */
static inline uint32_t tw_ima_block_at(uint32_t k, uint32_t channel, uint32_t channels)
{
    return 4u * (channels + (k - 1) / 8 * channels + channel) + (k - 1) % 8 / 2;
}

/** Instants in a block of `bytes`, 0 when it is too short for one group. */
static inline uint32_t tw_ima_block_instants(uint32_t bytes, uint32_t channels)
{
    const uint32_t groups = bytes / (4u * channels);
    return groups >= 2 ? 1 + 8 * (groups - 1) : 0;
}

/**
 * Both formats, samples on arc `pcm`, codes on the other.
 * @param arc  out: the arc to look at when refused
 * @return TW_OK, IMG_RAW, IMG_FORMAT
 */
static inline tw_err_t tw_ima_formats(const tw_format_t *const *fmt, uint32_t pcm, uint32_t *arc, tw_shape_t *s)
{
    const tw_format_t *coded = fmt[1 - pcm];
    *arc = pcm;
    TW_TRY(tw_shape_from(s, fmt[pcm], TW_IMA_RAW_PCM));
    TW_TRY(fmt[pcm]->samples != 0 ? TW_OK : TW_E_IMG_FORMAT);
    *arc = 1 - pcm;
    TW_TRY(coded->raw < TW_RAW_COUNT && TW_IMA_RAW_CODED >> coded->raw & 1 ? TW_OK : TW_E_IMG_RAW);
    return coded->frame_bytes != 0 && coded->frame_bytes < 1u << 30 && coded->ts == 0 ? TW_OK : TW_E_IMG_FORMAT;
}

/** What RESET of both checks, and the frames they go through; f->stage is the caller's to set. */
static inline tw_err_t tw_ima_reset(const tw_node_desc_t *d, const tw_node_reset_t *r, uint32_t cmd, uint32_t pcm,
                                    tw_shape_t *s, tw_frames_t *f)
{
    uint32_t arc;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(tw_ima_formats(r->fmt, pcm, &arc, s));
    TW_TRY(d->presets >> preset & 1 ? TW_OK : TW_E_PARAM_PRESET);
    const uint32_t bytes = r->fmt[1 - pcm]->frame_bytes;
    const uint32_t codes = preset == TW_IMA_PRESET_BLOCKS ? tw_ima_block_instants(bytes, s->channels)
                           : tw_ima_is_cvsd(preset, pcm)  ? 8 * bytes
                                                          : 2 * bytes;
    TW_TRY(codes != 0 ? TW_OK : TW_E_IMG_FORMAT);
    *f = (tw_frames_t){
        .in_bytes = r->fmt[0]->frame_bytes,
        .out_bytes = r->fmt[1]->frame_bytes,
        .in_units = pcm == 0 ? s->samples : codes,
        .out_units = pcm == 0 ? codes : s->samples,
    };
    return TW_OK;
}
