/* node_mfcc.c - mel frequency cepstral coefficients, as networks that spot words take them.
 *
 *   frame of samples x window -> transform -> magnitude of bins -> triangles on the mel scale -> ln -> cosines
 *
 * The definition is the one common front ends for keyword spotting share: mel(f) = 1127 ln(1 + f / 700), triangles with
 * straight sides in mel between n_mel + 2 points equally far apart, bins by magnitude (not power), ln(e + 1e-6), then
 * c[k] = sqrt(2 / n_mel) sum_m ln_m cos(pi k (m + 1/2) / n_mel), k from 0.
 *
 * One input channel; one output frame a hop, of as many coefficients as it has samples (1..64).
 *
 *   index name      meaning
 *   1  n_fft    points of the transform: a power of two; up to 512 at 16 kHz, 1024 at 32 kHz, else 2048   64..
 *   2  frame    samples under the window, zeros follow them; 0 = n_fft; longer than n_fft = n_fft          0..2048
 *   3  hop      samples from one frame to the next; 0 = half a frame                                      0..16384
 *   4  n_mel    triangles; coefficients from this one on are 0                                            1..64
 *   5  f_low    where the first triangle begins [Hz]                                                      0..96000
 *   6  f_high   where the last one ends [Hz]; above half the rate counts as there                         0..96000
 *   7  window   0 none, 1 Hann, 2 Hamming, 3 Blackman                                                     0..3
 *   8  gain     of S8, S16 and Q15 output: full scale is 1 / gain; FP32 is not scaled                  1e-6..1
 *   16 energy   ln of the energy of the last frame                                                    read only
 *
 * Presets: 0 and 1 speech (30 ms, every 20 ms, 40 triangles 20..4000 Hz), 2 fine (25 ms, every 10 ms, 40 triangles
 * 20..7600 Hz), 3 small (32 ms, every 32 ms, 20 triangles 100..4000 Hz). A change of any of them is heard from the
 * next frame on; the samples heard so far stay.
 */
#include "engine/base/fixed.h"
#include "engine/dsp/dsp_math.h"
#include "engine/node/node_priv.h"
#include "engine/node/services.h"
#include <stddef.h>

enum { MEL_MAX = 64, COEF_MAX = 64, FFT_MIN = 64, FFT_MAX_POINTS = 2048, CHUNK = 64 };

typedef struct values {
    float f_low, f_high, gain, energy;
    uint16_t n_fft, frame, hop;
    uint8_t n_mel, window;
} values_t;

typedef struct mfcc {
    const tw_services_t *svc;
    float *work;    /* n_fft samples, then n_fft + 2 of bins: of this call only */
    float *history; /* newest last, n_max samples */
    float *window;  /* n_max */
    uint16_t *side; /* a bin: which triangle rises through it, 0 none; it falls through the one before */
    float *rise;    /* a bin: how far up that triangle it is, 0..1 */
    void *plan;
    uint32_t plan_bytes;
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t in, out;
    values_t v;
    float rate;
    uint32_t n_max;      /* largest transform there is memory for */
    uint32_t n_coef;     /* samples of an output frame */
    uint32_t planned;    /* points of the plan */
    uint32_t frame, hop; /* v as they are used [samples] */
    uint32_t count;      /* samples since the last frame */
    bool stale;          /* tables are to be made from v */
} mfcc_t;

/* ---- parameters -------------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
enum { UNIT_HZ = 9 };
#define ROWS(n_max)                                                                                      \
    {                                                                                                    \
        {1, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, 0, FFT_MIN, n_max, 512, "n_fft", 1},                      \
            {2, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, 0, 0, n_max, 0, "frame", 1},                          \
            {3, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, 0, 0, 16384, 0, "hop", 1},                            \
            {4, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 1, MEL_MAX, 40, "n_mel", 1},                        \
            {5, TW_RAW_FP32, 1, UNIT_HZ, 0, 0, 96000, 20, "f_low", 0},                                   \
            {6, TW_RAW_FP32, 1, UNIT_HZ, 0, 0, 96000, 4000, "f_high", 0},                                \
            {7, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, TW_WINDOW_COUNT - 1, TW_WINDOW_HANN, "window", 1}, \
            {8, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, 1e-6, 1, 1.0 / 64, "gain", 0},                      \
            {16, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, -200, 200, 0, "energy", 0},                    \
    }
static const tw_param_desc_t rows[3][9] = {ROWS(512), ROWS(1024), ROWS(2048)};
static const uint16_t at[] = {
    offsetof(values_t, n_fft),  offsetof(values_t, frame), offsetof(values_t, hop),
    offsetof(values_t, n_mel),  offsetof(values_t, f_low), offsetof(values_t, f_high),
    offsetof(values_t, window), offsetof(values_t, gain),  offsetof(values_t, energy),
};
static const tw_param_store_t stores[] = {
    {rows[0], at, TW_COUNT(rows[0])}, {rows[1], at, TW_COUNT(rows[0])}, {rows[2], at, TW_COUNT(rows[0])}};

/* 32 ms at the rates speech has: 0..2 */
static uint32_t size_class(float rate_hz)
{
    return rate_hz <= 16000.0f ? 0 : rate_hz <= 32000.0f ? 1 : 2;
}

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    *n = stores[0].n;
    return rows[size_class(fmt->rate_hz)];
}

static const tw_param_store_t *store_of(const mfcc_t *m)
{
    return &stores[size_class(m->rate)];
}

/* n_fft is a power of two, wherever in the value it stands: first in the block, or alone. */
static tw_err_t validate(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    (void)fmt, (void)bytes;
    if (tag == 1 || tag == TW_TAG_ALL) {
        const uint32_t n = tw_get_le16(value);
        if ((n & (n - 1)) != 0) {
            *fault = (tw_fault_t){.err = TW_E_PARAM_RANGE, .at = 1};
            return TW_E_PARAM_RANGE;
        }
    }
    return TW_OK;
}

static const values_t presets[] = {
    {.n_fft = 512, .n_mel = 40, .f_low = 20, .f_high = 4000, .frame = 30, .hop = 20},
    {.n_fft = 512, .n_mel = 40, .f_low = 20, .f_high = 4000, .frame = 30, .hop = 20},
    {.n_fft = 512, .n_mel = 40, .f_low = 20, .f_high = 7600, .frame = 25, .hop = 10},
    {.n_fft = 512, .n_mel = 20, .f_low = 100, .f_high = 4000, .frame = 32, .hop = 32},
};

/* Milliseconds of the table to samples of this rate; the transform is the smallest that holds a frame. */
static void set_preset(mfcc_t *m, uint32_t preset)
{
    const float per_ms = m->rate / 1000.0f;
    values_t v = presets[preset];
    v.frame = (uint16_t)tw_min_u32((uint32_t)((float)v.frame * per_ms + 0.5f), m->n_max);
    v.hop = (uint16_t)tw_min_u32((uint32_t)((float)v.hop * per_ms + 0.5f), 16384);
    v.n_fft = FFT_MIN;
    while (v.n_fft < v.frame) {
        v.n_fft = (uint16_t)(v.n_fft * 2);
    }
    v.window = TW_WINDOW_HANN;
    v.gain = 1.0f / 64;
    m->v = v;
    m->stale = true;
}

/* ---- tables --------------------------------------------------------------------------- */

static double mel(double hz)
{
    return 1127.0 * tw_log(1.0 + hz / 700.0);
}

/* Where each bin lies between the n_mel + 2 points: above point s - 1, r of the way to point s. */
static void make_triangles(mfcc_t *m)
{
    const double half = (double)m->rate / 2, high = (double)m->v.f_high < half ? (double)m->v.f_high : half;
    const double low = mel((double)m->v.f_low), step = (mel(high) - low) / (m->v.n_mel + 1);
    for (uint32_t i = 0; i <= m->v.n_fft / 2u; i++) {
        const double x = step > 0 ? (mel(i * (double)m->rate / m->v.n_fft) - low) / step : -1;
        const bool inside = x > 0 && x < m->v.n_mel + 1;
        m->side[i] = (uint16_t)(inside ? (uint32_t)x + 1 : 0);
        m->rise[i] = inside ? (float)(x - (double)(uint32_t)x) : 0.0f;
    }
}

static void make_tables(mfcc_t *m)
{
    m->frame = m->v.frame == 0 ? m->v.n_fft : tw_min_u32(m->v.frame, m->v.n_fft);
    m->hop = m->v.hop != 0 ? m->v.hop : m->frame / 2;
    if (m->planned != m->v.n_fft) {
        const bool planned = m->svc->lib->rfft_plan(m->plan, m->plan_bytes, m->v.n_fft, false);
        TW_ASSERT(planned); /* RESET asked for the largest */
        m->planned = m->v.n_fft;
    }
    m->svc->lib->window(m->v.window, m->window, m->frame);
    make_triangles(m);
    m->stale = false;
}

/* ---- signal ----------------------------------------------------------------------------- */

/* Energies of the triangles from magnitudes of the bins. A bin of side s rises in triangle s and falls in s - 1. */
static void to_mel(const mfcc_t *m, const float *bins, float *energy)
{
    memset(energy, 0, m->v.n_mel * sizeof *energy);
    for (uint32_t i = 0; i <= m->v.n_fft / 2u; i++) {
        const uint32_t s = m->side[i];
        if (s == 0) {
            continue;
        }
        const float size = tw_sqrtf(bins[2 * i] * bins[2 * i] + bins[2 * i + 1] * bins[2 * i + 1]);
        if (s <= m->v.n_mel) {
            energy[s - 1] += m->rise[i] * size;
        }
        if (s >= 2) {
            energy[s - 2] += (1.0f - m->rise[i]) * size;
        }
    }
}

static float coefficient(const mfcc_t *m, const float *ln, uint32_t k)
{
    const double turn = TW_PI * k / m->v.n_mel;
    const double twice = 2.0 * tw_cos(turn);
    double now = tw_cos(turn / 2), before = now, sum = 0; /* cos(turn (i + 1/2)), by recurrence: cos(-x) = cos(x) */
    for (uint32_t i = 0; i < m->v.n_mel; i++) {
        sum += (double)ln[i] * now;
        const double next = twice * now - before;
        before = now;
        now = next;
    }
    return (float)(sum * tw_sqrt(2.0 / m->v.n_mel));
}

static void emit(mfcc_t *m, void *out, uint32_t frame)
{
    const uint32_t n = m->v.n_fft;
    const float *x = m->history + m->n_max - m->frame;
    float *bins = m->work + n, energy[MEL_MAX];
    double power = 0;
    for (uint32_t i = 0; i < m->frame; i++) {
        power += (double)x[i] * (double)x[i];
        m->work[i] = x[i] * m->window[i];
    }
    memset(m->work + m->frame, 0, (n - m->frame) * sizeof *m->work);
    m->svc->lib->rfft(m->plan, m->work, bins);
    to_mel(m, bins, energy);
    for (uint32_t i = 0; i < m->v.n_mel; i++) {
        energy[i] = (float)tw_log((double)energy[i] + 1e-6);
    }
    const float scale = m->out.raw == TW_RAW_FP32 ? 1.0f : m->v.gain;
    for (uint32_t k = 0; k < m->n_coef; k++) {
        const float c = k < m->v.n_mel ? coefficient(m, energy, k) : 0.0f;
        tw_shape_store(&m->out, out, frame * m->n_coef + k, 0, c * scale);
    }
    m->v.energy = (float)tw_log(power + 1e-12);
}

static void take(mfcc_t *m, const void *in, uint32_t t, uint32_t n)
{
    for (uint32_t done = 0, len = 0; done < n; done += len) {
        len = tw_min_u32(n - done, CHUNK);
        memmove(m->history, m->history + len, (m->n_max - len) * sizeof *m->history);
        tw_shape_load(&m->in, in, t + done, 0, len, m->history + m->n_max - len);
    }
    m->count += n;
}

static void run(mfcc_t *m, tw_xdm_t *data)
{
    const uint32_t n = tw_shape_instants(&m->in, data[0].bytes);
    const uint32_t room = tw_shape_instants(&m->out, data[1].bytes) / m->n_coef;
    uint32_t t = 0, frames = 0;
    if (m->stale) {
        make_tables(m);
        m->count = tw_min_u32(m->count, m->hop - 1);
    }
    while (t < n) {
        const uint32_t len = tw_min_u32(n - t, m->hop - m->count);
        if (m->count + len == m->hop && frames == room) {
            break; /* the frame would have no place */
        }
        take(m, data[0].ptr, t, len);
        t += len;
        if (m->count == m->hop) {
            emit(m, data[1].ptr, frames++);
            m->count = 0;
        }
    }
    data[0].bytes = tw_shape_bytes(&m->in, t);
    data[1].bytes = tw_shape_bytes(&m->out, frames * m->n_coef);
}

/* ---- commands ------------------------------------------------------------------------------ */

#define RAW_OUT (TW_RAW_MASK_SIGNAL | TW_RAW_BIT(TW_RAW_S8))

static uint32_t round8(uint32_t bytes)
{
    return (bytes + 7u) & ~7u;
}

/* Behind the instance: plan, history, window, sides, rises. In block 1: samples and bins. */
static void table_bytes(const tw_library_t *lib, uint32_t n_max, uint32_t *fixed, uint32_t *work)
{
    const uint32_t plan = lib->rfft_bytes != NULL ? lib->rfft_bytes(n_max) : 0, bins = n_max / 2 + 1;
    *fixed = round8(plan) + 4 * n_max * 2 + round8(2 * bins) + 4 * bins;
    *work = 4 * (2 * n_max + 2);
}

static tw_err_t shapes(const tw_format_t *const *fmt, uint32_t *arc, tw_shape_t *in, tw_shape_t *out)
{
    *arc = 0;
    TW_TRY(tw_shape_from(in, fmt[0], TW_RAW_MASK_SIGNAL));
    TW_TRY(in->channels == 1 && fmt[0]->rate_hz > 0 ? TW_OK : TW_E_IMG_FORMAT);
    *arc = 1;
    TW_TRY(tw_shape_from(out, fmt[1], RAW_OUT));
    return out->channels == 1 && out->samples >= 1 && out->samples <= COEF_MAX ? TW_OK : TW_E_IMG_FORMAT;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t in;
    tw_shape_t out;
    (void)rx, (void)tx;
    TW_TRY(shapes(fmt, arc, &in, &out));
    table_bytes(tw_library(), 512u << size_class(fmt[0]->rate_hz), &extra[0], &extra[1]);
    return TW_OK;
}

/* Where each table lies behind the instance. */
static void place(mfcc_t *m, const tw_library_t *lib)
{
    uint8_t *next = (uint8_t *)m + round8(sizeof *m);
    m->plan_bytes = round8(lib->rfft_bytes(m->n_max));
    m->plan = next;
    next += m->plan_bytes;
    m->history = (float *)(void *)next;
    m->window = m->history + m->n_max;
    m->rise = m->window + m->n_max;
    m->side = (uint16_t *)(void *)(m->rise + m->n_max / 2 + 1);
}

static tw_err_t reset(mfcc_t *m, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    tw_shape_t out;
    uint32_t arc, fixed, work;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(shapes(r->fmt, &arc, &in, &out));
    TW_TRY(preset < TW_COUNT(presets) ? TW_OK : TW_E_PARAM_PRESET);
    const tw_library_t *lib = r->svc != NULL ? r->svc->lib : NULL;
    const bool served =
        lib != NULL && lib->rfft_bytes != NULL && lib->rfft_plan != NULL && lib->rfft != NULL && lib->window != NULL;
    TW_TRY(served ? TW_OK : TW_E_IMG_SERVICE);
    const uint32_t n_max = 512u << size_class(r->fmt[0]->rate_hz), own = round8(sizeof *m);
    table_bytes(lib, n_max, &fixed, &work);
    TW_TRY(r->mem_bytes[0] >= own + fixed && r->mem_bytes[1] >= work ? TW_OK : TW_E_IMG_MEM);

    const bool warm =
        tw_bits(cmd, TW_CMD_WARM) && m->magic == tw_node_mfcc.hash && tw_shape_same(&m->in, &in) && m->n_max == n_max;
    if (!warm) {
        memset(m, 0, own + fixed);
    }
    m->svc = r->svc;
    m->magic = tw_node_mfcc.hash;
    m->in = in;
    m->out = out;
    m->rate = r->fmt[0]->rate_hz;
    m->n_max = n_max;
    m->n_coef = out.samples;
    m->work = r->mem[1];
    m->planned = 0;
    place(m, lib);
    set_preset(m, preset);
    return TW_OK;
}

static uint32_t mfcc(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    mfcc_t *m = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(m, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        m->stale |= tw_param_put(store_of(m), &m->v, tag, data) != 0;
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(store_of(m), &m->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(m, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_mfcc = {
    .developer = "ARM",
    .name = "arm_stream_mfcc",
    .hash = 0xF8E9C7C3u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = RAW_OUT,
    .services = TW_SVC_DSP,
    .n_mem = 2,
    .mem =
        {
            {.a = sizeof(mfcc_t) + 8, .align = 8},
            {.a = 0, .align = 8, .type = 1},
        },
    .run = mfcc,
    .memreq = memreq,
    .params = params,
    .validate = validate,
    .presets = ((uint64_t)1 << TW_COUNT(presets)) - 1,
};
