/* node_noise_suppression.c - noise taken off speech, automatic gain, voice activity.
 *
 * One channel of S16/Q15 in, the same out, one frame later. A frame is the input format's; 10 to 20 ms are best, and
 * twice its samples must have the factors 2, 3 and 5 only (80, 128, 160, 240, 256, 320, 480, 512, 960 do). The noise is
 * learnt all the time; the first half second of a stream is not yet cleaned.
 *
 *   index name            meaning
 *   1  suppression    how far noise is turned down [dB]; 0 leaves it                        -60..0
 *   2  agc            automatic gain on                                                    0..1
 *   3  agc_level      loudness it aims at, 32768 = full scale                              1..32767
 *   4  agc_max        gain it never exceeds [dB]                                           0..60
 *   5  start          probability that begins speech [%]                                   0..100
 *   6  keep           probability that goes on with it [%]                                 0..100
 *   16 speech         probability of speech in the last frame [%]                       read only
 *   17 voice          last frame counted as speech                                      read only
 *   18 agc_gain       gain in use [dB]                                                  read only
 *
 * Presets: 0 and 1 -15 dB, 2 light -6 dB, 3 strong -30 dB, 4 as 1 with automatic gain. Suppression and gain move from
 * frame to frame over overlapping windows, so a SET makes no step.
 */
#include "engine/node/node_priv.h"
#include "engine/node/services.h"
#include <stddef.h>

typedef struct values {
    int8_t suppression;
    uint8_t agc, agc_max, start, keep;
    uint16_t agc_level;
    uint8_t speech, voice;
    int8_t agc_gain;
} values_t;

typedef struct suppressor {
    const tw_services_t *svc;
    void *state;    /* behind this struct */
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    uint32_t frame, rate; /* [samples], [Hz] */
    values_t v;
    bool changed; /* v was SET since the last frame */
} suppressor_t;

/* ---- parameters --------------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
enum { UNIT_PERCENT = 50 };
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_S8, 1, TW_NODE_UNIT_DB, TW_PARAM_SMOOTHED, -60, 0, -15, "suppression", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 1, 0, "agc", 1},
    {3, TW_RAW_U16, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 1, 32767, 8000, "agc_level", 1},
    {4, TW_RAW_U8, 1, TW_NODE_UNIT_DB, TW_PARAM_SMOOTHED, 0, 60, 30, "agc_max", 1},
    {5, TW_RAW_U8, 1, UNIT_PERCENT, 0, 0, 100, 35, "start", 1},
    {6, TW_RAW_U8, 1, UNIT_PERCENT, 0, 0, 100, 20, "keep", 1},
    {16, TW_RAW_U8, 1, UNIT_PERCENT, METER, 0, 100, 0, "speech", 1},
    {17, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "voice", 1},
    {18, TW_RAW_S8, 1, TW_NODE_UNIT_DB, METER, -120, 60, 0, "agc_gain", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, suppression), offsetof(values_t, agc),   offsetof(values_t, agc_level),
    offsetof(values_t, agc_max),     offsetof(values_t, start), offsetof(values_t, keep),
    offsetof(values_t, speech),      offsetof(values_t, voice), offsetof(values_t, agc_gain),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static void set_preset(values_t *v, uint32_t preset)
{
    static const int8_t db[] = {-15, -15, -6, -30, -15};
    *v = (values_t){
        .suppression = db[preset], .agc = preset == 4, .agc_level = 8000, .agc_max = 30, .start = 35, .keep = 20};
}

static void apply(suppressor_t *d)
{
    const tw_denoise_set_t set = {
        .suppress_db = d->v.suppression,
        .gain_on = d->v.agc != 0,
        .gain_level = d->v.agc_level,
        .gain_max_db = d->v.agc_max,
        .start_percent = d->v.start,
        .keep_percent = d->v.keep,
    };
    d->svc->lib->denoise_setup(d->state, &set);
    d->changed = false;
}

/* ---- signal ---------------------------------------------------------------------------- */

static int32_t within(int32_t v, int32_t lo, int32_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void read_state(suppressor_t *d, bool voice)
{
    int32_t percent = 0, gain = 0;
    d->svc->lib->denoise_read(d->state, &percent, &gain);
    d->v.speech = (uint8_t)within(percent, 0, 100);
    d->v.agc_gain = (int8_t)within(gain, -120, 60);
    d->v.voice = voice;
}

static void run(suppressor_t *d, tw_xdm_t *data)
{
    const uint32_t frames = tw_shape_instants(&d->shape, tw_min_u32(data[0].bytes, data[1].bytes)) / d->frame;
    const uint32_t bytes = tw_shape_bytes(&d->shape, frames * d->frame);
    if (d->changed) {
        apply(d);
    }
    if (data[1].ptr != data[0].ptr) {
        memcpy(data[1].ptr, data[0].ptr, bytes);
    }
    for (uint32_t i = 0; i < frames; i++) {
        read_state(d, d->svc->lib->denoise_run(d->state, (int16_t *)data[1].ptr + i * d->frame));
    }
    data[0].bytes = data[1].bytes = bytes;
}

/* ---- commands ----------------------------------------------------------------------------- */

#define INSTANCE_BYTES ((uint32_t)((sizeof(suppressor_t) + TW_DENOISE_ALIGN - 1) / TW_DENOISE_ALIGN * TW_DENOISE_ALIGN))

static uint32_t rate_of(const tw_format_t *f)
{
    return f->rate_hz > 0 && f->rate_hz < 1e6f ? (uint32_t)(f->rate_hz + 0.5f) : 0;
}

/* One channel, and frames it can work on. @param bytes  out: of the state */
static tw_err_t check(const tw_library_t *lib, const tw_format_t *const *fmt, uint32_t *arc, tw_shape_t *in,
                      uint32_t *bytes)
{
    tw_shape_t out;
    TW_TRY(tw_shape_pair(&tw_node_noise_suppression, fmt, arc, in, &out));
    TW_TRY(tw_shape_same(in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT);
    *arc = 0;
    TW_TRY(lib->denoise_bytes != NULL ? TW_OK : TW_E_IMG_SERVICE);
    *bytes = in->channels == 1 ? lib->denoise_bytes(in->samples, rate_of(fmt[0])) : 0;
    return *bytes != 0 ? TW_OK : TW_E_IMG_FORMAT;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t in;
    (void)rx, (void)tx;
    return check(tw_library(), fmt, arc, &in, &extra[0]);
}

static tw_err_t reset(suppressor_t *d, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    uint32_t arc, bytes = 0;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    const tw_library_t *lib = r->svc != NULL ? r->svc->lib : NULL;
    const bool served = lib != NULL && lib->denoise_make != NULL && lib->denoise_setup != NULL &&
                        lib->denoise_run != NULL && lib->denoise_read != NULL;
    TW_TRY(served ? TW_OK : TW_E_IMG_SERVICE);
    TW_TRY(check(lib, r->fmt, &arc, &in, &bytes));
    TW_TRY(tw_node_noise_suppression.presets >> preset & 1 ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(r->mem_bytes[0] >= INSTANCE_BYTES + bytes ? TW_OK : TW_E_IMG_MEM);

    const uint32_t rate = rate_of(r->fmt[0]);
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && d->magic == tw_node_noise_suppression.hash &&
                      tw_shape_same(&d->shape, &in) && d->frame == in.samples && d->rate == rate;
    if (!warm) {
        memset(d, 0, sizeof *d);
        d->state = lib->denoise_make((uint8_t *)d + INSTANCE_BYTES, bytes, in.samples, rate);
        TW_TRY(d->state != NULL ? TW_OK : TW_E_IMG_MEM);
    }
    d->svc = r->svc;
    d->magic = tw_node_noise_suppression.hash;
    d->shape = in;
    d->frame = in.samples;
    d->rate = rate;
    set_preset(&d->v, preset);
    d->changed = true;
    return TW_OK;
}

static uint32_t noise_suppression(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    suppressor_t *d = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(d, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        d->changed |= tw_param_put(&store, &d->v, tag, data) != 0;
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

const tw_node_desc_t tw_node_noise_suppression = {
    .developer = "ARM",
    .name = "arm_stream_noise_suppression",
    .hash = 0xBA0FA210u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_BIT(TW_RAW_S16) | TW_RAW_BIT(TW_RAW_Q15),
    .services = TW_SVC_DSP | TW_SVC_AUDIO,
    .n_mem = 1,
    .mem = {{.a = INSTANCE_BYTES, .align = TW_DENOISE_ALIGN}},
    .run = noise_suppression,
    .memreq = memreq,
    .params = params,
    .presets = 0x1F,
};
