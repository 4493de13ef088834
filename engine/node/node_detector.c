/* node_detector.c - is something going on? A boolean stream from the signal to noise ratio.
 *
 *   x --> high-pass --> |.| --> loudest channel --> smoothing --e--+--> floor F (falls fast, rises slowly)
 *                                                                  +--> peak P (rises fast, falls slowly)
 *   P / F over the threshold --> active, held for 2^log2counter samples --> every channel of the output
 *
 * S16/Q15 (active = 0x7FFF) or FP32 (active = 1), input and output each their own. One output sample
 * an input instant. The state is small enough that nothing but first-order trackers fits: no spectrum,
 * no speech model.
 *
 *   index name             meaning
 *   1  log2counter     hold: active lasts 2^value samples beyond the last detection      0..20
 *   2  log2decfmask    floor and peak are updated, and compared, every 2^value samples   0..10
 *   3  hp_shift        high-pass, pole at 1 - 2^-value: Fs / (6.28 * 2^value) Hz; 0 = off 0..15
 *   4  lp_shift        smoothing of |x|, time constant 2^value samples; 0 = none         0..15
 *   5  floor_peak_shift  fast direction of both trackers, 2^value updates                0..15
 *   6  vad_rise        how fast the floor rises: rate an update                          0..255
 *   7  vad_fall        how fast the peak falls: rate an update                           0..255
 *   8  threshold       P / F that turns active on [dB]; off is 3 dB lower, or half way   1..60
 *                      to 0 dB when that is higher
 *
 * A rate is a 3-bit mantissa m [7:5] and a 5-bit exponent e [4:0]: m / 4 * 2^-e of the distance an
 * update, at most 1; 0x80 + e is 2^-e; m = 0 stands still.
 *
 * For 4 * 2^max(hp_shift, lp_shift) samples after a cold RESET the floor follows the signal both ways
 * and nothing is detected: the node hears its noise first.
 */
#include "engine/base/fixed.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

#define QUIET 3.1622777e-5f /* -90 dBFS: floor and peak never go below, so digital silence has no SNR */

typedef struct values {
    uint8_t log2counter, log2decfmask, hp_shift, lp_shift, floor_peak_shift, vad_rise, vad_fall, threshold;
#if TW_NODE_READ
    uint8_t active;
    float floor_db, peak_db, snr_db;
#endif
} values_t;

typedef struct detector {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t in, out;
    values_t v;
    float hp, lp, fast, rise, fall, on, off; /* v as factors */
    float envelope, floor, peak;
    uint32_t warm_up, hold, count; /* [samples] */
    bool over;                     /* P / F, with hysteresis */
    bool started;                  /* a RUN has happened since the cold RESET */
    bool reseed;                   /* the high-pass has no history */
    float mean[];                  /* a channel: what the high-pass subtracts */
} detector_t;

/* ---- parameters --------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
/* Defaults are preset 2. */
static const tw_param_desc_t rows[] = {
    TW_PARAM(1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 20, 10, "log2counter", 1),
    TW_PARAM(2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 10, 3, "log2decfmask", 1),
    TW_PARAM(3, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, 5, "hp_shift", 1),
    TW_PARAM(4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, 7, "lp_shift", 1),
    TW_PARAM(5, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, 1, "floor_peak_shift", 1),
    TW_PARAM(6, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 255, 0x80 | 13, "vad_rise", 1),
    TW_PARAM(7, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 255, 0x80 | 6, "vad_fall", 1),
    TW_PARAM(8, TW_RAW_U8, 1, TW_NODE_UNIT_DB, 0, 1, 60, 10, "threshold", 1),
#if TW_NODE_READ
    TW_PARAM(16, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -90, "floor_db", 0),
    TW_PARAM(17, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -90, "peak_db", 0),
    TW_PARAM(18, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, 0, "snr_db", 0),
    TW_PARAM(19, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "active", 1),
#endif
};
static const uint16_t at[] = {
    offsetof(values_t, log2counter), offsetof(values_t, log2decfmask),     offsetof(values_t, hp_shift),
    offsetof(values_t, lp_shift),    offsetof(values_t, floor_peak_shift), offsetof(values_t, vad_rise),
    offsetof(values_t, vad_fall),    offsetof(values_t, threshold),
#if TW_NODE_READ
    offsetof(values_t, floor_db),    offsetof(values_t, peak_db),          offsetof(values_t, snr_db),
    offsetof(values_t, active),
#endif
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

/* {log2counter, log2decfmask, hp, lp, floor_peak, rise, fall, threshold}. The less a preset smooths, the
 * slower its trackers: a floor that runs down to every dip of the noise would see peaks everywhere. None
 * of them is active on white noise alone. */
static const uint8_t presets[][8] = {
    {10, 3, 5, 7, 1, 0x80 | 13, 0x80 | 6, 10}, /* 0: as 2 */
    {5, 0, 0, 2, 3, 0x80 | 12, 0x80 | 3, 14},  /* 1: button, no high-pass, fast */
    {10, 3, 5, 7, 1, 0x80 | 13, 0x80 | 6, 10}, /* 2: voice at 10 kHz: hold 0.1 s, smoothing 13 ms, floor 6.5 s */
    {12, 5, 7, 9, 1, 0x80 | 13, 0x80 | 6, 10}, /* 3: voice at 44.1 kHz: the same times */
    {7, 0, 6, 5, 2, 0x80 | 11, 0x80 | 5, 9},   /* 4: motion at 100 Hz, slow */
    {4, 0, 3, 3, 4, 0x80 | 10, 0x80 | 4, 10},  /* 5: motion at 100 Hz, fast */
};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* 2^-k, k 0..31, put together from its bits: no division. */
static float shift(uint32_t k)
{
    const uint32_t bits = (127u - k) << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float rate(uint8_t code)
{
    const float r = (float)(code >> 5) * 0.25f * shift(code & 31u);
    return r > 1.0f ? 1.0f : r;
}

/* 10^(k / 40), k half decibels: a product of powers, so that no device needs a logarithm for it and all get the
 * same. k 0..127, relative error below 5e-7. */
static float half_db(uint32_t k)
{
    static const float power[] = {1.0592537f, 1.1220185f, 1.2589254f, 1.5848932f, 2.5118864f, 6.3095734f, 39.810717f};
    float gain = 1.0f;
    for (unsigned i = 0; i < TW_COUNT(power); i++) {
        gain = k >> i & 1u ? gain * power[i] : gain;
    }
    return gain;
}

static void derive(detector_t *d)
{
    const values_t *v = &d->v;
    d->hp = v->hp_shift == 0 ? 0.0f : shift(v->hp_shift);
    d->lp = shift(v->lp_shift);
    d->fast = shift(v->floor_peak_shift);
    d->rise = rate(v->vad_rise);
    d->fall = rate(v->vad_fall);
    d->on = half_db(2u * v->threshold);
    d->off = half_db(v->threshold > 6 ? 2u * v->threshold - 6u : v->threshold);
    if (v->hp_shift == 0) {
        memset(d->mean, 0, tw_shape_channels(&d->in) * sizeof d->mean[0]);
        d->reseed = true;
    }
    if (!d->started) {
        d->warm_up = 4u << tw_max_u32(v->hp_shift, v->lp_shift);
    }
}

static uint32_t read(detector_t *d, uint32_t tag, tw_xdm_t *data)
{
#if TW_NODE_READ
    d->v.floor_db = tw_gain_to_db(d->floor);
    d->v.peak_db = tw_gain_to_db(d->peak);
    d->v.snr_db = d->v.peak_db - d->v.floor_db;
    d->v.active = d->hold > 0;
    return tw_param_get(&store, &d->v, tag, data);
#else
    (void)d, (void)tag, (void)data;
    return tw_node_error(TW_E_UNSUPPORTED);
#endif
}

/* ---- signal --------------------------------------------------------------------- */

static float sample(const tw_shape_t *s, const void *data, size_t i)
{
    return TW_NODE_FP32 && s->raw == TW_RAW_FP32 ? ((const float *)data)[i]
                                                 : (float)((const int16_t *)data)[i] * (1.0f / 32768.0f);
}

/* What is not (NaN, beyond 1e6) counts as silence: it must not stay in the trackers. */
static bool number(float x)
{
    return !TW_NODE_FP32 || (x < 1e6f && x > -1e6f);
}

/* High-passed and rectified, the loudest channel. */
static float rectified(detector_t *d, const void *data, uint32_t t)
{
    float loudest = 0;
    for (uint32_t c = 0; c < tw_shape_channels(&d->in); c++) {
        const float x = sample(&d->in, data, tw_shape_at(&d->in, t, c));
        if (!number(x)) {
            continue;
        }
        d->mean[c] += (x - d->mean[c]) * d->hp;
        const float z = x - d->mean[c];
        const float size = z < 0 ? -z : z;
        loudest = size > loudest ? size : loudest;
    }
    return loudest;
}

/* A high-pass begins at the present offset, which is no edge. */
static void seed_high_pass(detector_t *d, const void *data)
{
    for (uint32_t c = 0; c < tw_shape_channels(&d->in); c++) {
        const float x = sample(&d->in, data, tw_shape_at(&d->in, 0, c));
        d->mean[c] = number(x) ? x : 0.0f;
    }
    d->reseed = false;
}

static void track(detector_t *d)
{
    const float e = d->envelope > QUIET ? d->envelope : QUIET;
    if (d->warm_up > 0) {
        d->floor = d->peak = e;
        return;
    }
    d->floor += (e - d->floor) * (e < d->floor ? d->fast : d->rise);
    d->peak += (e - d->peak) * (e > d->peak ? d->fast : d->fall);
    d->over = d->peak >= d->floor * (d->over ? d->off : d->on);
}

/* One instant. @return active */
static bool detect(detector_t *d, float loudest)
{
    d->envelope += (loudest - d->envelope) * d->lp;
    if ((d->count++ & (((uint32_t)1 << d->v.log2decfmask) - 1)) == 0) {
        track(d);
    }
    d->warm_up -= d->warm_up > 0;
    if (d->over) {
        d->hold = (uint32_t)1 << d->v.log2counter;
    } else if (d->hold > 0) {
        d->hold--;
    }
    return d->hold > 0;
}

static void emit(const tw_shape_t *s, void *data, uint32_t t, bool active)
{
    for (uint32_t c = 0; c < tw_shape_channels(s); c++) {
        const size_t i = tw_shape_at(s, t, c);
        if (TW_NODE_FP32 && s->raw == TW_RAW_FP32) {
            ((float *)data)[i] = active ? 1.0f : 0.0f;
        } else {
            ((int16_t *)data)[i] = active ? 0x7FFF : 0;
        }
    }
}

static void run(detector_t *d, tw_xdm_t *data)
{
    uint32_t n = tw_min_u32(tw_shape_instants(&d->in, data[0].bytes), tw_shape_instants(&d->out, data[1].bytes));
    if (TW_MAX_CHANNELS > 1u) {
        n -= n % (d->in.blocks ? d->in.samples : d->out.blocks ? d->out.samples : 1);
    }
    d->started = d->started || n > 0;
    if (d->reseed && d->hp > 0 && n > 0) {
        seed_high_pass(d, data[0].ptr);
    }
    for (uint32_t t = 0; t < n; t++) {
        emit(&d->out, data[1].ptr, t, detect(d, rectified(d, data[0].ptr, t)));
    }
    data[0].bytes = tw_shape_bytes(&d->in, n);
    data[1].bytes = tw_shape_bytes(&d->out, n);
}

/* ---- commands --------------------------------------------------------------------- */

/* Channels in blocks come in whole frames: a frame of the other arc must be enough for one. */
static bool frames_agree(const tw_shape_t *in, const tw_shape_t *out)
{
    return (!tw_shape_blocks(in) || out->samples >= in->samples) &&
           (!tw_shape_blocks(out) || in->samples >= out->samples);
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t in;
    tw_shape_t out;
    (void)rx, (void)tx, (void)extra;
    TW_TRY(tw_shape_pair(&tw_node_detector, fmt, arc, &in, &out));
    return frames_agree(&in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT;
}

static tw_err_t reset(detector_t *d, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    tw_shape_t out;
    TW_TRY(tw_shape_reset(&tw_node_detector, r, cmd, &in, &out));
    TW_TRY(frames_agree(&in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT);
    const uint32_t bytes = (uint32_t)(sizeof *d + tw_shape_channels(&in) * sizeof d->mean[0]);
    TW_TRY(r->mem_bytes[0] >= bytes ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && d->magic == tw_node_detector.hash && tw_shape_same(&d->in, &in);
    if (!warm) {
        memset(d, 0, bytes);
        d->magic = tw_node_detector.hash;
        d->floor = d->peak = QUIET;
        d->reseed = true;
    }
    d->in = in;
    d->out = out;
    memcpy(&d->v, presets[tw_bits(cmd, TW_CMD_PRESET)], sizeof presets[0]);
    derive(d);
    return TW_OK;
}

static void set(detector_t *d, uint32_t tag, const tw_xdm_t *data)
{
    tw_param_put(&store, &d->v, tag, data);
    derive(d);
}

static uint32_t detector(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    detector_t *d = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(d, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        set(d, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return read(d, tag, data);
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

const tw_node_desc_t tw_node_detector = {
    TW_NODE_ID("ARM", "arm_stream_detector", 0xA638E3B8u),
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_SIGNAL,
    .n_mem = 1,
    .mem = {{.a = sizeof(detector_t), .b = sizeof(float), .align = 8}},
    .run = detector,
    .memreq = memreq,
    .params = params,
    .presets = ((uint64_t)1 << TW_COUNT(presets)) - 1,
};
