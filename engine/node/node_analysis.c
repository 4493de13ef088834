/* node_analysis.c - features of a signal: a frame of numbers for each block of samples.
 *
 * The preset says which; every channel has its own. A result is one output frame, or one of several in it:
 *
 *   preset  values                                                            as S16/Q15
 *   1  frequency     the strongest sine [Hz]                                  of half the rate
 *   2  energy        rms without the constant part, then the constant part    as it is
 *   3  tones         amplitude of the sines at three frequencies (Goertzel)   as it is
 *   4  spectrum      K bins from 0 Hz up, each the amplitude of a sine [dB],  dB / 256
 *                    K the samples of an output frame, 32 64 128 256 512;
 *                    the transform has 2K points, bins are rate / 2K apart
 *   5  drift         the mean while the signal is still (a gyroscope's zero)  as it is
 *   0  as 2
 *
 *   index name         meaning
 *   1  block       input samples a result; 0: a transform's length, elsewhere an input frame    0..65535
 *   2  method      of preset 1: 0 two-pole prediction (AR2), 1 counting periods                 0..1
 *   3  tones       of preset 3 [Hz]; above half the rate counts as there                        0..192000 x 3
 *   4  window      of preset 4: 0 none, 1 Hann, 2 Hamming, 3 Blackman                           0..3
 *   5  still       of preset 5: a block whose rms without its mean is below is still            0..1
 *   6  slope       of preset 5: 2^-slope of the way to a still block's mean, the first whole    0..15
 *   16 result      of the last block, first channel: up to three values                         read only
 *   17 peak_hz     of the last block, first channel: frequency of presets 1 and 4 [Hz]          read only
 *
 * S16/Q15 or FP32 on either side. A rate of 0 counts as 1 Hz: frequencies are cycles a sample. Blocks need not overlap
 * or touch: with a block shorter than the transform spectra overlap, with a longer one samples are left out.
 */
#include "engine/base/fixed.h"
#include "engine/dsp/dsp_math.h"
#include "engine/node/node_priv.h"
#include "engine/node/services.h"
#include <stddef.h>

enum { FREQUENCY = 1, ENERGY = 2, TONES = 3, SPECTRUM = 4, DRIFT = 5 };
enum { N_TONES = 3, BINS_MIN = 32, BINS_MAX = 512, CHUNK = 64 };

typedef struct values {
    float tones[N_TONES];
    float still;
    float result[N_TONES];
    float peak_hz;
    uint16_t block;
    uint8_t method, window, slope;
} values_t;

/* Sums over a block of one channel. x0 is a sample, x1 and x2 those before it. */
typedef struct channel {
    double sum, square;                                /* of all samples */
    double s0, s1, s2, s11, s12, s22, s01, s02, pairs; /* of what has two before it */
    double first, last;                                /* rising passes through the middle [samples of the block] */
    tw_goertzel_t tone[N_TONES];
    double middle, swing; /* mean and rms of the block before: what a period passes through, and how far it must go */
    float drift;
    float x1, x2;
    uint32_t passes, at;
    bool armed, settled; /* below the middle; drift has a value */
} channel_t;

typedef struct analysis {
    const tw_services_t *svc;
    float *work;    /* spectrum: 2K samples, then 2K + 2 of bins */
    void *plan;     /* spectrum, in block 0 */
    float *window;  /* spectrum: 2K */
    float *history; /* spectrum: 2K a channel, newest last */
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t in, out;
    values_t v;
    float rate, window_sum;
    uint32_t kind, bins, results; /* preset; K; values a result */
    uint32_t block, count;        /* [samples] */
    channel_t channel[];
} analysis_t;

/* ---- parameters ------------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
enum { UNIT_HZ = 9 };
/* Tones default to 500, 1000 and 2000 Hz, which one number cannot say. */
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, 0, 0, 65535, 0, "block", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0, "method", 1},
    {3, TW_RAW_FP32, N_TONES, UNIT_HZ, 0, 0, 192000, 1000, "tones", 0},
    {4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, TW_WINDOW_COUNT - 1, TW_WINDOW_HANN, "window", 1},
    {5, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0.01, "still", 0},
    {6, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, 4, "slope", 1},
    {16, TW_RAW_FP32, N_TONES, TW_NODE_UNIT_ANY, METER, -1e9, 1e9, 0, "result", 0},
    {17, TW_RAW_FP32, 1, UNIT_HZ, METER, 0, 1e9, 0, "peak_hz", 0},
};
static const uint16_t at[] = {
    offsetof(values_t, block), offsetof(values_t, method), offsetof(values_t, tones),  offsetof(values_t, window),
    offsetof(values_t, still), offsetof(values_t, slope),  offsetof(values_t, result), offsetof(values_t, peak_hz),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static void start_block(analysis_t *a, channel_t *k)
{
    const channel_t old = *k;
    *k = (channel_t){.middle = old.middle, .swing = old.swing, .drift = old.drift, .settled = old.settled};
    for (uint32_t i = 0; i < N_TONES && a->kind == TONES; i++) {
        const float turns = a->v.tones[i] / a->rate;
        a->svc->lib->goertzel_start(&k->tone[i], turns < 0.5f ? (double)turns : 0.5);
    }
}

/* Values as they are used; the block under way begins anew. */
static void derive(analysis_t *a, bool goes_on)
{
    const uint32_t natural = a->kind == SPECTRUM ? 2 * a->bins : tw_max_u32(a->in.samples, 1);
    const uint32_t block = a->v.block != 0 ? a->v.block : natural;
    const bool begun = goes_on && block == a->block;
    a->block = block;
    a->count = begun ? a->count : 0;
    for (uint32_t c = 0; c < a->in.channels && !begun; c++) {
        start_block(a, &a->channel[c]);
    }
    if (a->kind == SPECTRUM) {
        a->window_sum = a->svc->lib->window(a->v.window, a->window, 2 * a->bins);
    }
}

/* ---- sums --------------------------------------------------------------------------- */

static void add_prediction(channel_t *k, double x0)
{
    if (k->at >= 2) {
        const double x1 = (double)k->x1, x2 = (double)k->x2;
        k->s0 += x0;
        k->s1 += x1;
        k->s2 += x2;
        k->s11 += x1 * x1;
        k->s12 += x1 * x2;
        k->s22 += x2 * x2;
        k->s01 += x0 * x1;
        k->s02 += x0 * x2;
        k->pairs += 1;
    }
}

/* A rising pass counts once the signal was clearly below the middle. */
static void add_period(channel_t *k, double x0)
{
    const double below = (double)k->x1 - k->middle, above = x0 - k->middle;
    k->armed = k->armed || below < -0.25 * k->swing;
    if (k->armed && below < 0 && above >= 0) {
        const double when = (double)k->at - 1.0 + below / (below - above);
        k->first = k->passes == 0 ? when : k->first;
        k->last = when;
        k->passes++;
        k->armed = false;
    }
}

static void add(const analysis_t *a, channel_t *k, const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < N_TONES && a->kind == TONES; i++) {
        a->svc->lib->goertzel_add(&k->tone[i], x, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        const double x0 = (double)x[i];
        k->sum += x0;
        k->square += x0 * x0;
        if (a->kind == FREQUENCY) {
            add_prediction(k, x0);
            if (k->at >= 1) {
                add_period(k, x0);
            }
        }
        k->at++;
        k->x2 = k->x1;
        k->x1 = x[i];
    }
}

static void remember(analysis_t *a, uint32_t c, const float *x, uint32_t n)
{
    float *h = a->history + (size_t)c * 2 * a->bins;
    memmove(h, h + n, (2 * a->bins - n) * sizeof *h);
    memcpy(h + 2 * a->bins - n, x, n * sizeof *h);
}

/* ---- results -------------------------------------------------------------------------- */

/* x0 = p x1 + q x2 + constant, by least squares: exact for a sine beside a constant. Its poles turn at the frequency.
 * @return cycles a sample, 0 when there is none */
static double predicted(const channel_t *k)
{
    const double n = k->pairs;
    if (n < 3) {
        return 0;
    }
    const double c11 = k->s11 - k->s1 * k->s1 / n, c22 = k->s22 - k->s2 * k->s2 / n, c12 = k->s12 - k->s1 * k->s2 / n;
    const double c01 = k->s01 - k->s0 * k->s1 / n, c02 = k->s02 - k->s0 * k->s2 / n;
    const double det = c11 * c22 - c12 * c12;
    if (!(det > 1e-12 * c11 * c22)) {
        return 0;
    }
    const double p = (c01 * c22 - c02 * c12) / det, q = (c02 * c11 - c01 * c12) / det;
    const double radius = -q - p * p / 4; /* of the imaginary part, squared */
    return radius > 0 ? tw_atan2(tw_sqrt(radius), p / 2) / (2 * TW_PI) : 0;
}

static double counted(const channel_t *k)
{
    return k->passes >= 2 ? (double)(k->passes - 1) / (k->last - k->first) : 0;
}

static float rms(const channel_t *k, double n)
{
    const double mean = k->sum / n, power = k->square / n - mean * mean;
    return power > 0 ? (float)tw_sqrt(power) : 0.0f;
}

/* Into result[]; nothing here depends on another channel. */
static void conclude(analysis_t *a, channel_t *k, float *result)
{
    const double n = (double)a->block;
    const float mean = (float)(k->sum / n), swing = rms(k, n);
    switch (a->kind) {
    case FREQUENCY:
        result[0] = (float)(a->v.method == 0 ? predicted(k) : counted(k)) * a->rate;
        break;
    case TONES:
        for (uint32_t i = 0; i < N_TONES; i++) {
            const double amplitude = tw_sqrt(a->svc->lib->goertzel_power(&k->tone[i])) / n;
            const bool end = a->v.tones[i] <= 0 || a->v.tones[i] >= a->rate / 2;
            result[i] = (float)(end ? amplitude : 2 * amplitude);
        }
        break;
    case DRIFT:
        if (swing < a->v.still) {
            k->drift += (mean - k->drift) / (float)(k->settled ? 1u << a->v.slope : 1u);
            k->settled = true;
        }
        result[0] = k->drift;
        break;
    default:
        result[0] = swing;
        result[1] = mean;
    }
    k->middle = k->sum / n;
    k->swing = (double)swing;
}

static float bin_amplitude(const float *bins, uint32_t i, float scale)
{
    return tw_sqrtf(bins[2 * i] * bins[2 * i] + bins[2 * i + 1] * bins[2 * i + 1]) * (i == 0 ? scale / 2 : scale);
}

/* The top of a parabola through the highest bin and its neighbours, in dB. @return in bins */
static float peak_of(const float *db, uint32_t n)
{
    uint32_t top = 0;
    for (uint32_t i = 1; i < n; i++) {
        top = db[i] > db[top] ? i : top;
    }
    if (top == 0 || top + 1 == n) {
        return (float)top;
    }
    const float bend = db[top - 1] - 2 * db[top] + db[top + 1];
    const float off = bend < 0 ? (db[top - 1] - db[top + 1]) / (2 * bend) : 0.0f;
    return (float)top + (off > 0.5f ? 0.5f : off < -0.5f ? -0.5f : off);
}

/* K amplitudes in dB of a channel. @return them, in the work block */
static const float *spectrum(analysis_t *a, uint32_t c)
{
    const uint32_t n = 2 * a->bins;
    const float *h = a->history + (size_t)c * n, scale = a->window_sum > 0 ? 2.0f / a->window_sum : 0.0f;
    float *bins = a->work + n;
    for (uint32_t i = 0; i < n; i++) {
        a->work[i] = h[i] * a->window[i];
    }
    a->svc->lib->rfft(a->plan, a->work, bins);
    for (uint32_t i = 0; i < a->bins; i++) {
        a->work[i] = tw_gain_to_db(bin_amplitude(bins, i, scale));
    }
    return a->work;
}

/* What an integer output makes of a value. */
static float scaled(const analysis_t *a, float v)
{
    const bool integer = a->out.raw != TW_RAW_FP32;
    return !integer ? v : a->kind == FREQUENCY ? v / (a->rate / 2) : a->kind == SPECTRUM ? v / 256 : v;
}

static void keep_readings(analysis_t *a, const float *result)
{
    memcpy(a->v.result, result, tw_min_u32(a->results, N_TONES) * sizeof *result);
    a->v.peak_hz = a->kind == FREQUENCY  ? result[0]
                   : a->kind == SPECTRUM ? peak_of(result, a->bins) * a->rate / (float)(2 * a->bins)
                                         : 0.0f;
}

/* A block is complete: its values to output instants from `to` on. */
static void emit(analysis_t *a, void *out, uint32_t to)
{
    for (uint32_t c = 0; c < a->in.channels; c++) {
        channel_t *k = &a->channel[c];
        float few[N_TONES] = {0};
        const float *result = few;
        if (a->kind == SPECTRUM) {
            result = spectrum(a, c);
        } else {
            conclude(a, k, few);
        }
        for (uint32_t i = 0; i < a->results && out != NULL; i++) {
            tw_shape_store(&a->out, out, to + i, c, scaled(a, result[i]));
        }
        if (c == 0) {
            keep_readings(a, result);
        }
        start_block(a, k);
    }
    a->count = 0;
}

static void take(analysis_t *a, const void *in, uint32_t t, uint32_t n)
{
    float x[CHUNK];
    for (uint32_t done = 0, len = 0; done < n; done += len) {
        len = tw_min_u32(n - done, CHUNK);
        for (uint32_t c = 0; c < a->in.channels; c++) {
            tw_shape_load(&a->in, in, t + done, c, len, x);
            if (a->kind == SPECTRUM) {
                remember(a, c, x, tw_min_u32(len, 2 * a->bins));
            } else {
                add(a, &a->channel[c], x, len);
            }
        }
    }
    a->count += n;
}

/* Instants that may be taken before the next look at the room: up to the end of the block, a whole frame where channels
 * lie in blocks. */
static uint32_t piece_of(const analysis_t *a, uint32_t left)
{
    return a->in.blocks ? a->in.samples : tw_min_u32(left, a->block - a->count);
}

static void run(analysis_t *a, tw_xdm_t *data)
{
    const uint32_t n = tw_shape_instants(&a->in, data[0].bytes);
    const uint32_t room = tw_shape_instants(&a->out, data[1].bytes) / a->results * a->results;
    uint32_t t = 0, made = 0;
    while (t < n) {
        const uint32_t piece = piece_of(a, n - t);
        if (a->count + piece >= a->block && made == room) {
            break; /* the result would have no place */
        }
        for (uint32_t done = 0, len = 0; done < piece; done += len) {
            len = tw_min_u32(piece - done, a->block - a->count);
            take(a, data[0].ptr, t + done, len);
            if (a->count == a->block) {
                emit(a, made < room ? data[1].ptr : NULL, made);
                made += made < room ? a->results : 0;
            }
        }
        t += piece;
    }
    data[0].bytes = tw_shape_bytes(&a->in, t);
    data[1].bytes = tw_shape_bytes(&a->out, made);
}

/* ---- commands --------------------------------------------------------------------------- */

/* K when output frames could be spectra, else 0. */
static uint32_t bins_of(const tw_shape_t *out)
{
    const uint32_t k = out->samples;
    return k >= BINS_MIN && k <= BINS_MAX && (k & (k - 1)) == 0 ? k : 0;
}

static uint32_t round8(uint32_t bytes)
{
    return (bytes + 7u) & ~7u;
}

/* What a spectrum needs beyond the instance: in block 0, in block 1. */
static void spectrum_bytes(const tw_library_t *lib, uint32_t bins, uint32_t channels, uint32_t *fixed, uint32_t *work)
{
    const uint32_t n = 2 * bins, plan = bins != 0 && lib->rfft_bytes != NULL ? lib->rfft_bytes(n) : 0;
    *fixed = bins == 0 ? 0 : round8(plan) + 4 * n * (1 + channels);
    *work = bins == 0 ? 0 : 4 * (2 * n + 2);
}

/* One rate has no meaning here: results are rarer than samples. */
static tw_err_t shapes(const tw_format_t *const *fmt, uint32_t *arc, tw_shape_t *in, tw_shape_t *out)
{
    *arc = 0;
    TW_TRY(tw_shape_from(in, fmt[0], tw_node_analysis.raw_mask));
    *arc = 1;
    TW_TRY(tw_shape_from(out, fmt[1], tw_node_analysis.raw_mask));
    return in->channels == out->channels ? TW_OK : TW_E_IMG_ARC_FORMAT;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t in;
    tw_shape_t out;
    (void)rx, (void)tx;
    TW_TRY(shapes(fmt, arc, &in, &out));
    spectrum_bytes(tw_library(), bins_of(&out), in.channels, &extra[0], &extra[1]);
    return TW_OK;
}

/* Output frames hold whole results; one result a frame where channels lie in blocks. */
static tw_err_t results_fit(uint32_t kind, const tw_shape_t *out, uint32_t *results)
{
    static const uint8_t values[] = {2, 1, 2, 3, 0, 1};
    *results = kind == SPECTRUM ? bins_of(out) : values[kind];
    const bool whole = *results != 0 && out->samples != 0 && out->samples % *results == 0;
    return whole && (!out->blocks || out->samples == *results) ? TW_OK : TW_E_IMG_FORMAT;
}

static bool served(const tw_services_t *svc, uint32_t kind)
{
    const tw_library_t *l = svc != NULL ? svc->lib : NULL;
    return l != NULL && (kind != SPECTRUM || (l->rfft_bytes != NULL && l->rfft_plan != NULL && l->rfft != NULL)) &&
           (kind != SPECTRUM || l->window != NULL) &&
           (kind != TONES || (l->goertzel_start != NULL && l->goertzel_add != NULL && l->goertzel_power != NULL));
}

static tw_err_t reset(analysis_t *a, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    tw_shape_t out;
    uint32_t arc, results, fixed, work;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET), kind = preset == 0 ? ENERGY : preset;
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(shapes(r->fmt, &arc, &in, &out));
    TW_TRY(tw_node_analysis.presets >> preset & 1 ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(results_fit(kind, &out, &results));
    TW_TRY(served(r->svc, kind) ? TW_OK : TW_E_IMG_SERVICE);
    const uint32_t bins = kind == SPECTRUM ? results : 0;
    const uint32_t own = round8((uint32_t)(sizeof *a + in.channels * sizeof a->channel[0]));
    spectrum_bytes(r->svc->lib, bins, in.channels, &fixed, &work);
    TW_TRY(r->mem_bytes[0] >= own + fixed && r->mem_bytes[1] >= work ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && a->magic == tw_node_analysis.hash && tw_shape_same(&a->in, &in) &&
                      a->kind == kind && a->bins == bins;
    if (!warm) {
        memset(a, 0, own + fixed);
    }
    a->svc = r->svc;
    a->magic = tw_node_analysis.hash;
    a->in = in;
    a->out = out;
    a->kind = kind;
    a->bins = bins;
    a->results = results;
    a->rate = r->fmt[0]->rate_hz > 0 ? r->fmt[0]->rate_hz : 1.0f;
    a->v = (values_t){.tones = {500, 1000, 2000}, .still = 0.01f, .window = TW_WINDOW_HANN, .slope = 4};
    if (bins != 0) {
        const uint32_t plan = round8(r->svc->lib->rfft_bytes(2 * bins));
        a->work = r->mem[1];
        a->plan = (uint8_t *)a + own;
        a->window = (float *)(void *)((uint8_t *)a->plan + plan);
        a->history = a->window + 2 * bins;
        TW_TRY(r->svc->lib->rfft_plan(a->plan, plan, 2 * bins, false) ? TW_OK : TW_E_IMG_MEM);
    }
    derive(a, warm && tw_bits(cmd, TW_CMD_TAG) == TW_RESET_GOES_ON);
    return TW_OK;
}

static uint32_t analysis(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    analysis_t *a = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(a, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        if (tw_param_put(&store, &a->v, tag, data) != 0) {
            derive(a, false);
        }
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &a->v, tag, data);
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

const tw_node_desc_t tw_node_analysis = {
    .developer = "ARM",
    .name = "arm_stream_analysis",
    .hash = 0x93566BB4u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_SIGNAL,
    .services = TW_SVC_DSP,
    .n_mem = 2,
    .mem =
        {
            {.a = sizeof(analysis_t) + 8, .b = sizeof(channel_t), .align = 8},
            {.a = 0, .align = 8, .type = 1},
        },
    .run = analysis,
    .memreq = memreq,
    .params = params,
    .presets = 0x3F,
};
