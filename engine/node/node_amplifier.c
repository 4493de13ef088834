/* node_amplifier.c - one gain on all channels, approached without clicks; mute; level meter.
 *
 * The applied gain is target + distance. After a change the distance shrinks by 1 - 2^-slope a sample
 * instant, slope 0 being at once; keeping the distance rather than the gain lets the slowest slopes
 * arrive instead of stalling where a float cannot add the small step. 90 % of the way takes
 * 0 3 8 17 36 73 146 294 588 1178 2357 4715 9430 18862 37724 75450 instants for slope 0..15.
 *
 *   index name         meaning
 *   1  slope        0..15, as above; 6 unless SET
 *   2  gain         FP_8m4e code (fixed.h), 0..0xFFF
 *   3  mute         1 heads for silence, 0 back to the gain, which may be SET meanwhile
 *   4  delay_up     from SET mute 0 to its effect [instants]
 *   5  delay_down   from SET mute 1 to its effect [instants]
 *   6  gain_db      the gain in dB, -100..36 (-100 is read for anything below)
 *   7  gain_linear  the gain as a factor, 0..64
 *   16 level_db     rms of what the last RUN put out [dB, 0 = rms of full scale 1.0; -200 silence]
 *   17 peak_db      largest sample of the last RUN
 *   18 clipped      samples beyond full scale since the cold RESET, modulo 2^32
 *
 * 6, 7 and up are not in the index-256 block. Presets: 0 and 1 0 dB, 2 muted.
 *
 * S16/Q15: y = x * gain rounded to nearest, saturated. FP32: y = x * gain, nothing saturated.
 */
#include "engine/base/fixed.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { CHUNK = 64, PRESET_MUTE = 2, SLOPE_DEFAULT = 6, GAIN_0DB = 0x0805 };
#define ARRIVED 1e-7f /* a distance of -140 dB is not heard */

/* As the wire sees it. gain_code, gain_db and gain_linear say the same gain; the one SET last is kept
 * to the bit, the others follow it. */
typedef struct values {
    float gain_db, gain_linear;
    float level_db, peak_db;
    uint32_t clipped;
    uint16_t gain_code, delay_up, delay_down;
    uint8_t slope, mute;
} values_t;

typedef struct amplifier {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    values_t v;
    float target, distance;
    float keep;        /* of the distance, a sample instant */
    uint32_t wait;     /* [instants] until v.mute takes effect */
    bool muted;        /* in effect */
    bool heard;        /* a RUN has happened since the cold RESET: from now on changes are ramps */
    float power, peak; /* of the last RUN, full scale = 1; power is the mean square */
} amplifier_t;

/* ---- parameters -------------------------------------------------------------- */

enum { SLOPE, GAIN, MUTE, DELAY_UP, DELAY_DOWN, GAIN_DB, GAIN_LINEAR, LEVEL_DB, PEAK_DB, CLIPPED }; /* rows */

#define LIVE (TW_PARAM_NOT_IN_ALL | TW_PARAM_SMOOTHED)
#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
static const tw_param_desc_t rows[] = {
    [SLOPE] = {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, SLOPE_DEFAULT, "slope", 1},
    [GAIN] = {2, TW_RAW_U16, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 0xFFF, GAIN_0DB, "gain", 1},
    [MUTE] = {3, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 1, 0, "mute", 1},
    [DELAY_UP] = {4, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, 0, 0, 0xFFFF, 0, "delay_up", 1},
    [DELAY_DOWN] = {5, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, 0, 0, 0xFFFF, 0, "delay_down", 1},
    [GAIN_DB] = {6, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, LIVE, -100, 36, 0, "gain_db", 0},
    [GAIN_LINEAR] = {7, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, LIVE, 0, 64, 1, "gain_linear", 0},
    [LEVEL_DB] = {16, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "level_db", 0},
    [PEAK_DB] = {17, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "peak_db", 0},
    [CLIPPED] = {18, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "clipped", 1},
};
static const uint16_t at[] = {
    [SLOPE] = offsetof(values_t, slope),
    [GAIN] = offsetof(values_t, gain_code),
    [MUTE] = offsetof(values_t, mute),
    [DELAY_UP] = offsetof(values_t, delay_up),
    [DELAY_DOWN] = offsetof(values_t, delay_down),
    [GAIN_DB] = offsetof(values_t, gain_db),
    [GAIN_LINEAR] = offsetof(values_t, gain_linear),
    [LEVEL_DB] = offsetof(values_t, level_db),
    [PEAK_DB] = offsetof(values_t, peak_db),
    [CLIPPED] = offsetof(values_t, clipped),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static bool given(uint32_t mask, uint32_t row)
{
    return (mask >> row & 1u) != 0;
}

/* Make the three ways to say a gain agree with the one just given. */
static void agree_on_gain(values_t *v, uint32_t mask)
{
    if (given(mask, GAIN)) {
        v->gain_linear = tw_fp8m4e_to_float(v->gain_code);
    } else if (given(mask, GAIN_DB)) {
        v->gain_linear = tw_db_to_gain(v->gain_db);
    }
    if (!given(mask, GAIN)) {
        v->gain_code = tw_fp8m4e_from_float(v->gain_linear);
    }
    if (!given(mask, GAIN_DB)) {
        const float db = tw_gain_to_db(v->gain_linear);
        v->gain_db = db < -100.0f ? -100.0f : db > 36.0f ? 36.0f : db; /* what is read can be SET */
    }
}

/* Head for the gain that is due; what is heard now becomes the distance to it. */
static void aim(amplifier_t *a)
{
    const float now = a->target + a->distance;
    a->target = a->muted ? 0.0f : a->v.gain_linear;
    a->distance = a->heard ? now - a->target : 0.0f;
}

static void set_mute(amplifier_t *a)
{
    const uint32_t delay = a->v.mute ? a->v.delay_down : a->v.delay_up;
    a->wait = a->heard ? delay : 0;
    if (a->wait == 0) {
        a->muted = a->v.mute != 0;
    }
}

static void apply(amplifier_t *a, uint32_t mask, uint8_t mute_before)
{
    if (given(mask, GAIN) || given(mask, GAIN_DB) || given(mask, GAIN_LINEAR)) {
        agree_on_gain(&a->v, mask);
    }
    if (a->v.mute != mute_before) {
        set_mute(a);
    }
    a->keep = 1.0f - 1.0f / (float)(1u << a->v.slope);
    aim(a);
}

static uint32_t read(amplifier_t *a, uint32_t tag, tw_xdm_t *data)
{
    a->v.level_db = tw_gain_to_db(tw_sqrtf(a->power));
    a->v.peak_db = tw_gain_to_db(a->peak);
    return tw_param_get(&store, &a->v, tag, data);
}

/* ---- signal ------------------------------------------------------------------- */

typedef struct meter {
    uint64_t squares; /* S16 */
    float power;      /* FP32 */
    float peak;       /* in the stream's own scale */
    uint32_t clipped;
} meter_t;

/* Gains of up to n coming instants. @return how many; *step 1: one each, 0: gain[0] for all */
static uint32_t next_gains(amplifier_t *a, uint32_t n, float *gain, uint32_t *step)
{
    const uint32_t len = a->wait > 0 ? tw_min_u32(n, a->wait) : n;
    *step = a->distance != 0.0f;
    for (uint32_t i = 0; i < (*step ? len : 1); i++) {
        a->distance *= a->keep;
        gain[i] = a->target + a->distance;
    }
    if (a->distance < ARRIVED && a->distance > -ARRIVED) {
        a->distance = 0.0f;
    }
    if (a->wait > 0 && (a->wait -= len) == 0) {
        a->muted = a->v.mute != 0;
        aim(a);
    }
    return len;
}

static void scale_s16(const int16_t *in, int16_t *out, uint32_t n, uint32_t step, const float *gain, uint32_t gain_step,
                      meter_t *m)
{
    int32_t peak = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float y = (float)in[(size_t)i * step] * gain[i * gain_step];
        const int32_t wide = (int32_t)(y + (y < 0 ? -0.5f : 0.5f));
        const int32_t q = tw_sat16(wide);
        out[(size_t)i * step] = (int16_t)q;
        m->clipped += q != wide;
        m->squares += (uint64_t)((int64_t)q * q);
        const int32_t size = q < 0 ? -q : q;
        peak = size > peak ? size : peak;
    }
    m->peak = (float)peak > m->peak ? (float)peak : m->peak;
}

static void scale_f32(const float *in, float *out, uint32_t n, uint32_t step, const float *gain, uint32_t gain_step,
                      meter_t *m)
{
    float power = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float y = in[(size_t)i * step] * gain[i * gain_step];
        out[(size_t)i * step] = y;
        const float size = y < 0 ? -y : y;
        m->clipped += size > 1.0f;
        m->peak = size > m->peak ? size : m->peak;
        power += y * y;
    }
    m->power += power; /* summed in chunks: float rounding stays below 0.001 dB */
}

static void scale(const amplifier_t *a, const tw_xdm_t *data, uint32_t t, uint32_t c, uint32_t n, const float *gain,
                  uint32_t gain_step, meter_t *m)
{
    const size_t where = tw_shape_at(&a->shape, t, c) * a->shape.size;
    const void *in = (const uint8_t *)data[0].ptr + where;
    void *out = (uint8_t *)data[1].ptr + where;
    if (a->shape.raw == TW_RAW_FP32) {
        scale_f32(in, out, n, tw_shape_step(&a->shape), gain, gain_step, m);
    } else {
        scale_s16(in, out, n, tw_shape_step(&a->shape), gain, gain_step, m);
    }
}

static void take_meter(amplifier_t *a, const meter_t *m, uint32_t samples)
{
    if (samples > 0) {
        const float full = a->shape.raw == TW_RAW_FP32 ? 1.0f : 32768.0f;
        a->power = (m->power + (float)m->squares / (full * full)) / (float)samples;
        a->peak = m->peak / full;
        a->v.clipped += m->clipped;
    }
}

static void run(amplifier_t *a, tw_xdm_t *data)
{
    const tw_shape_t *s = &a->shape;
    const uint32_t n = tw_shape_instants(s, tw_min_u32(data[0].bytes, data[1].bytes));
    meter_t m = {0};
    for (uint32_t t = 0, len = 0; t < n; t += len) {
        float gain[CHUNK];
        uint32_t gain_step;
        len = next_gains(a, tw_min_u32(tw_shape_run(s, t, n), CHUNK), gain, &gain_step);
        for (uint32_t c = 0; c < s->channels; c++) {
            scale(a, data, t, c, len, gain, gain_step, &m);
        }
    }
    take_meter(a, &m, n * s->channels);
    a->heard = a->heard || n > 0;
    data[0].bytes = data[1].bytes = tw_shape_bytes(s, n);
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx, (void)extra;
    return tw_shape_memreq(&tw_node_amplifier, fmt, arc);
}

static tw_err_t reset(amplifier_t *a, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    tw_shape_t out;
    TW_TRY(tw_shape_reset(&tw_node_amplifier, r, cmd, &in, &out));
    TW_TRY(tw_shape_same(&in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT);
    TW_TRY(r->mem_bytes[0] >= sizeof *a ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && a->magic == tw_node_amplifier.hash && tw_shape_same(&a->shape, &in);
    if (!warm) {
        *a = (amplifier_t){.magic = tw_node_amplifier.hash};
    }
    a->shape = in;
    const uint8_t mute_before = a->v.mute;
    a->v = (values_t){
        .gain_code = GAIN_0DB,
        .slope = SLOPE_DEFAULT,
        .mute = tw_bits(cmd, TW_CMD_PRESET) == PRESET_MUTE,
        .clipped = a->v.clipped,
    };
    apply(a, 1u << GAIN, mute_before);
    return TW_OK;
}

static uint32_t amplifier(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    amplifier_t *a = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(a, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER: {
        const uint8_t mute_before = a->v.mute;
        apply(a, tw_param_put(&store, &a->v, tag, data), mute_before);
        return 0;
    }
    case TW_CMD_READ_PARAMETER:
        return read(a, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(a, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_amplifier = {
    .developer = "ARM",
    .name = "arm_stream_amplifier",
    .hash = 0x853E62C1u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_SIGNAL,
    .n_mem = 1,
    .mem = {{.a = sizeof(amplifier_t), .align = 8}},
    .run = amplifier,
    .memreq = memreq,
    .params = params,
    .presets = 0x7, /* 0 = defaults, 1 = 0 dB, 2 = muted */
    .in_place = 1,
};
