/* node_demodulator.c - bits out of an analog signal: a UART over an ADC, keyed carriers (infrared), shifted ones
 * (modems).
 *
 *   in --> tone or mean over 1/8 bit --> sum of the last 8 --> soft bit D, -1 .. 1 --> edges --> bits --> bytes --> out
 *
 * The sum over a whole bit is its matched filter: at the right moment nothing of the signal is lost and no noise from
 * beside the bit comes in. An edge shows as D falling through 0 half a bit later, known to 1/8 bit.
 *
 *   mode 0 level    D = (mean - threshold) / amplitude
 *        1 keyed    D = 2 (carrier / its largest of late) - 1
 *        2 shifted  D = (upper - lower) / (upper + lower), tones at carrier +- deviation
 *   Tones are measured as a Goertzel filter does: the correlation with a sine and a cosine of that frequency.
 *
 *   framing 0 bits     a clock starts with the first edge, three more to one side move it by 1/8 bit; after 16 bits
 * without an edge it stops, and so do the bits. What comes before the first edge is lost: send a preamble 1 bytes start
 * bit 0, eight bits from the low end, parity, stop bit 1; one with a wrong parity or stop is counted and dropped
 *
 *   index name         meaning
 *   1  amplitude    read: of the signal, full scale = 1
 *   2  snr          read: of the soft bits, mean over deviation, of about 32 bits [dB], 0..100
 *   3  mode         4  framing       5  parity  0 none, 1 even, 2 odd       6  invert  1: 0 and 1 change places
 *   7  baud         bits a second [Hz], at most 1/8 of the sampling rate
 *   8  carrier      9  deviation     [Hz]
 *   10 squelch      smallest amplitude that is a signal
 *   11 hysteresis   of D, between two edges
 *   12 threshold    of mode 0
 *   16 received     bits or bytes since the cold RESET, modulo 2^32
 *   17 errors       bytes dropped, modulo 2^32
 *
 * Out: U8 a byte each, or bits as 0 and 1; U1 bits, those of bytes from the low end; S16 bytes as words, or soft bits
 * times 32767. A frame goes out when it is full, so frames of one sample are the quickest.
 * Presets: 0 and 1 UART, 9600 8N1; 2 infrared, 38 kHz, bits of 560 us; 3 Bell 202; 4 V.21, answering side.
 */
#include "engine/base/fixed.h"
#include "engine/node/node_frames.h"
#include "engine/node/signal.h"
#include "engine/node/wave.h"
#include <stddef.h>

enum {
    CHUNK = 64,
    TICKS = 8,
    EDGE = 5,
    LEAN = 3,
    QUIET_BITS = 16
}; /* EDGE: ticks from an edge to its being seen, mean */
enum { LEVEL, KEYED, SHIFTED };
enum { BIT_FRAMES, BYTE_FRAMES };
#define TW_NODE_UNIT_HZ 9
#define RAW_IN (TW_RAW_MASK_SIGNAL | TW_RAW_BIT(TW_RAW_Q31))
#define RAW_OUT (TW_RAW_BIT(TW_RAW_U8) | TW_RAW_BIT(TW_RAW_U1) | TW_RAW_BIT(TW_RAW_S16))

typedef struct values {
    float amplitude, snr;
    float baud, carrier, deviation, squelch, hysteresis, threshold;
    uint32_t received, errors;
    uint8_t mode, framing, parity, invert;
} values_t;

/* Sums over an eighth of a bit, or over all of one. */
typedef struct tick {
    float re[2], im[2]; /* of the lower tone, the upper one; mode 0: re[0] is the sum; mode 1: the first tone is it */
    float n;            /* samples */
} tick_t;

typedef struct demodulator {
    uint32_t magic; /* the node's hash once RESET */
    uint8_t in_raw, out_raw;
    float rate_hz;
    tw_frames_t f;
    values_t v;
    uint32_t phase[2], turn[2]; /* of the tones; 2^32 to the turn, and a sample */
    uint32_t clock, beat;       /* of the ticks, likewise */
    tick_t now, past[TICKS];
    uint32_t next;         /* of past to be replaced */
    float top;             /* largest carrier, or level, of late */
    bool high;             /* D, with hysteresis */
    uint32_t wait;         /* ticks until the next bit ends; 0: no clock */
    uint32_t bits, word;   /* of the byte: got, and their values from the low end */
    int32_t lean;          /* edges late, less those early, since the clock was moved */
    uint32_t quiet;        /* bits since the last edge */
    float mean, deviation; /* of the size of soft bits; deviation squared */
    uint16_t queue[TICKS]; /* units that wait for room, low end first */
    uint32_t queued;
} demodulator_t;

/* ---- parameters -------------------------------------------------------------- */

enum {
    AMPLITUDE,
    SNR,
    MODE,
    FRAMING,
    PARITY,
    INVERT,
    BAUD,
    CARRIER,
    DEVIATION,
    SQUELCH,
    HYSTERESIS,
    THRESHOLD,
    RECEIVED,
    ERRORS
}; /* rows */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
static const tw_param_desc_t rows[] = {
    [AMPLITUDE] = {1, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, 0, 1e30, 0, "amplitude", 0},
    [SNR] = {2, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, 0, 100, 0, "snr", 0},
    [MODE] = {3, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, LEVEL, "mode", 1},
    [FRAMING] = {4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, BYTE_FRAMES, "framing", 1},
    [PARITY] = {5, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, 0, "parity", 1},
    [INVERT] = {6, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0, "invert", 1},
    [BAUD] = {7, TW_RAW_FP32, 1, TW_NODE_UNIT_HZ, 0, 0.1, 1000000, 9600, "baud", 0},
    [CARRIER] = {8, TW_RAW_FP32, 1, TW_NODE_UNIT_HZ, 0, 0, 1000000, 38000, "carrier", 0},
    [DEVIATION] = {9, TW_RAW_FP32, 1, TW_NODE_UNIT_HZ, 0, 0, 1000000, 500, "deviation", 0},
    [SQUELCH] = {10, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0.01, "squelch", 0},
    [HYSTERESIS] = {11, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, 0, 0.9, 0.1, "hysteresis", 0},
    [THRESHOLD] = {12, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, -1, 1, 0, "threshold", 0},
    [RECEIVED] = {16, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "received", 1},
    [ERRORS] = {17, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "errors", 1},
};
static const uint16_t at[] = {
    [AMPLITUDE] = offsetof(values_t, amplitude),
    [SNR] = offsetof(values_t, snr),
    [MODE] = offsetof(values_t, mode),
    [FRAMING] = offsetof(values_t, framing),
    [PARITY] = offsetof(values_t, parity),
    [INVERT] = offsetof(values_t, invert),
    [BAUD] = offsetof(values_t, baud),
    [CARRIER] = offsetof(values_t, carrier),
    [DEVIATION] = offsetof(values_t, deviation),
    [SQUELCH] = offsetof(values_t, squelch),
    [HYSTERESIS] = offsetof(values_t, hysteresis),
    [THRESHOLD] = offsetof(values_t, threshold),
    [RECEIVED] = offsetof(values_t, received),
    [ERRORS] = offsetof(values_t, errors),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};
enum { BAUD_IN_ALL = 4 }; /* [bytes] */

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* A bit needs eight samples. */
static tw_err_t validate(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    const uint32_t from = tag == TW_TAG_ALL ? BAUD_IN_ALL : 0;
    const bool baud = (tag == rows[BAUD].index || tag == TW_TAG_ALL) && bytes >= from + 4;
    if (!baud || tw_get_f32(value + from) <= fmt->rate_hz / TICKS) {
        return TW_OK;
    }
    *fault = (tw_fault_t){.err = TW_E_PARAM_RANGE, .at = rows[BAUD].index};
    return TW_E_PARAM_RANGE;
}

static uint32_t turn_of(const demodulator_t *d, float hz)
{
    const float part = hz / d->rate_hz;
    return part > 0.0f && part < 0.5f ? (uint32_t)(part * 4294967296.0f) : 0;
}

static void start_over(demodulator_t *d)
{
    d->now = (tick_t){0};
    memset(d->past, 0, sizeof d->past);
    d->next = d->wait = d->bits = d->quiet = d->clock = 0;
    d->high = d->v.mode != KEYED || d->v.invert != 0; /* a line at rest */
    d->top = 0;
}

static void apply(demodulator_t *d)
{
    const float most = d->rate_hz / TICKS, baud = d->v.baud < most ? d->v.baud : most;
    const double beat = (double)baud * TICKS / (double)d->rate_hz * 4294967296.0;
    d->beat = beat < 4294967295.0 ? (uint32_t)beat : UINT32_MAX;
    d->turn[0] = turn_of(d, d->v.mode == SHIFTED ? d->v.carrier - d->v.deviation : d->v.carrier);
    d->turn[1] = turn_of(d, d->v.carrier + d->v.deviation);
}

static uint32_t read(demodulator_t *d, uint32_t tag, tw_xdm_t *data)
{
    const float ratio = d->deviation > 0.0f ? d->mean / tw_sqrtf(d->deviation) : 0.0f;
    const float db = tw_gain_to_db(ratio);
    d->v.snr = db < 0.0f ? 0.0f : db > 100.0f ? 100.0f : db;
    return tw_param_get(&store, &d->v, tag, data);
}

/* ---- sums ---------------------------------------------------------------------- */

static float sum(const float *x, uint32_t n)
{
    float s = 0;
    for (uint32_t i = 0; i < n; i++) {
        s += x[i];
    }
    return s;
}

static float dot(const float *restrict x, const float *restrict y, uint32_t n)
{
    float s = 0;
    for (uint32_t i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

static void correlate(demodulator_t *d, const float *x, uint32_t n, uint32_t tone)
{
    uint32_t phase[CHUNK] = {0};
    float wave[CHUNK];
    for (uint32_t i = 0; i < n; i++) {
        phase[i] = d->phase[tone] + i * d->turn[tone];
    }
    tw_wave_sine(phase, wave, n);
    d->now.im[tone] += dot(x, wave, n);
    for (uint32_t i = 0; i < n; i++) {
        phase[i] += 0x40000000u;
    }
    tw_wave_sine(phase, wave, n);
    d->now.re[tone] += dot(x, wave, n);
    d->phase[tone] += n * d->turn[tone];
}

/* n samples of one tick. */
static void measure(demodulator_t *d, uint32_t n)
{
    float x[CHUNK];
    tw_signal_load(d->in_raw, d->f.in, d->f.in_at, 1, n, x);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = x[i] > -1e6f && x[i] < 1e6f ? x[i] : 0.0f; /* no NaN, nothing that drowns the rest */
    }
    if (d->v.mode == LEVEL) {
        d->now.re[0] += sum(x, n);
    } else {
        correlate(d, x, n, 0);
        if (d->v.mode == SHIFTED) {
            correlate(d, x, n, 1);
        }
    }
    d->now.n += (float)n;
}

/* ---- a soft bit ------------------------------------------------------------------ */

static tick_t last_bit(const demodulator_t *d)
{
    tick_t all = {0};
    for (uint32_t k = 0; k < TICKS; k++) {
        for (uint32_t tone = 0; tone < 2; tone++) {
            all.re[tone] += d->past[k].re[tone];
            all.im[tone] += d->past[k].im[tone];
        }
        all.n += d->past[k].n;
    }
    return all;
}

static float tone_size(const tick_t *t, uint32_t tone)
{
    return 2.0f * tw_sqrtf(t->re[tone] * t->re[tone] + t->im[tone] * t->im[tone]) / t->n;
}

/* What stands out of a memory of some hundred bits. */
static void follow_top(demodulator_t *d, float size)
{
    d->top = size > d->top ? size : d->top * (1.0f - 1.0f / 2048.0f);
    d->v.amplitude = d->top;
}

/* D; 0 while there is no signal, which changes nothing */
static float soft_bit(demodulator_t *d)
{
    const tick_t t = last_bit(d);
    float soft;
    if (d->v.mode == LEVEL) {
        const float v = t.re[0] / t.n - d->v.threshold;
        follow_top(d, v < 0 ? -v : v);
        soft = v / (d->top + 1e-20f);
    } else if (d->v.mode == KEYED) {
        const float v = tone_size(&t, 0);
        follow_top(d, v);
        soft = 2.0f * v / (d->top + 1e-20f) - 1.0f;
    } else {
        const float lower = tone_size(&t, 0), upper = tone_size(&t, 1);
        follow_top(d, lower > upper ? lower : upper);
        soft = (upper - lower) / (upper + lower + 1e-20f);
    }
    if (d->top < d->v.squelch) {
        return 0.0f;
    }
    return d->v.invert != 0 ? -soft : soft;
}

/* ---- bits and bytes ---------------------------------------------------------------- */

static void emit(demodulator_t *d, uint32_t value, uint32_t units)
{
    d->v.received++;
    for (uint32_t i = 0; i < units; i++) {
        d->queue[d->queued++] = (uint16_t)(units == 1 ? value : value >> i & 1u);
    }
}

static void judge(demodulator_t *d, float soft)
{
    const float size = soft < 0 ? -soft : soft, away = size - d->mean;
    d->mean += away / 32.0f;
    d->deviation += (away * away - d->deviation) / 32.0f;
}

static bool parity_holds(const demodulator_t *d)
{
    uint32_t ones = 0;
    for (uint32_t w = d->word; w != 0; w &= w - 1) {
        ones++;
    }
    return d->v.parity == 0 || ones % 2 == (d->v.parity == 2);
}

/* The start bit is bit 0, the stop bit the last. */
static void byte_bit(demodulator_t *d, float soft)
{
    const uint32_t bit = soft > 0.0f, last = 9u + (d->v.parity != 0);
    if (d->bits == 0 && bit != 0) { /* a glitch, not a start */
        d->wait = 0;
        return;
    }
    if (d->bits >= last) { /* more: a RESET took the parity away in between */
        if (bit != 0 && parity_holds(d)) {
            emit(d, d->word >> 1 & 0xFFu, d->out_raw == TW_RAW_U1 ? 8 : 1);
        } else {
            d->v.errors++;
        }
        d->wait = 0;
        return;
    }
    d->word |= bit << d->bits++;
}

static void plain_bit(demodulator_t *d, float soft)
{
    const float held = soft > 1.0f ? 1.0f : soft < -1.0f ? -1.0f : soft;
    emit(d, d->out_raw == TW_RAW_S16 ? (uint32_t)(int32_t)(held * 32767.0f) & 0xFFFFu : soft > 0.0f, 1);
    d->wait = ++d->quiet >= QUIET_BITS ? 0 : d->wait;
}

/* `ticks` ago by the mean. `wait` is about to count this tick. */
static void edge(demodulator_t *d, uint32_t ticks)
{
    d->quiet = 0;
    if (d->wait == 0 && (d->v.framing == BIT_FRAMES || !d->high)) {
        d->wait = TICKS - ticks + 1;
        d->bits = d->word = 0;
        d->lean = 0;
    } else if (d->wait != 0 && d->v.framing == BIT_FRAMES) {
        const uint32_t passed = TICKS - d->wait + 1; /* since a bit's end */
        d->lean += passed > ticks ? 1 : passed < ticks ? -1 : 0;
        if (d->lean >= LEAN || d->lean <= -LEAN) { /* one edge alone may be noise */
            d->wait += d->lean > 0 ? 1 : d->wait > 1 ? -1 : 0;
            d->lean = 0;
        }
    }
}

static void tick(demodulator_t *d)
{
    d->past[d->next] = d->now;
    d->next = (d->next + 1) % TICKS;
    d->now = (tick_t){0};
    const bool was = d->high, signal = d->top >= d->v.squelch;
    const float soft = soft_bit(d);
    d->high = d->high ? soft >= -d->v.hysteresis : soft > d->v.hysteresis;
    if (d->high != was) {
        edge(d, signal ? EDGE : 1); /* the first of a signal is seen at once: there is nothing to measure it by */
    }
    if (d->wait != 0 && --d->wait == 0) {
        d->wait = TICKS;
        judge(d, soft);
        if (d->v.framing == BYTE_FRAMES) {
            byte_bit(d, soft);
        } else {
            plain_bit(d, soft);
        }
    }
}

/* ---- streams -------------------------------------------------------------------------- */

static void put(demodulator_t *d, uint16_t unit)
{
    const uint32_t k = d->f.out_at;
    if (d->out_raw == TW_RAW_U1) {
        const uint8_t bit = (uint8_t)(1u << k % 8);
        d->f.stage[k / 8] = (uint8_t)(unit != 0 ? d->f.stage[k / 8] | bit : d->f.stage[k / 8] & ~bit);
    } else if (d->out_raw == TW_RAW_U8) {
        d->f.stage[k] = (uint8_t)unit;
    } else {
        memcpy(d->f.stage + 2u * k, &unit, sizeof unit);
    }
    tw_frames_made(&d->f, 1);
}

/* @return true when nothing waits any more */
static bool drain(demodulator_t *d)
{
    uint32_t k = 0;
    while (k < d->queued && tw_frames_writable(&d->f) != 0) {
        put(d, d->queue[k++]);
    }
    d->queued -= k;
    memmove(d->queue, d->queue + k, d->queued * sizeof *d->queue);
    return d->queued == 0;
}

/* Samples up to the end of the present tick. */
static uint32_t to_tick(const demodulator_t *d)
{
    const uint64_t rest = ((uint64_t)1 << 32) - d->clock;
    return (uint32_t)((rest + d->beat - 1) / d->beat);
}

static bool step(demodulator_t *d)
{
    if (!drain(d)) {
        return false;
    }
    const uint32_t left = to_tick(d), n = tw_min_u32(tw_min_u32(tw_frames_readable(&d->f), left), CHUNK);
    if (n == 0) {
        return false;
    }
    measure(d, n);
    tw_frames_used(&d->f, n);
    d->clock += n * d->beat; /* wraps at the tick */
    if (n == left) {
        tick(d);
    }
    return true;
}

static void run(demodulator_t *d, tw_xdm_t *data)
{
    tw_frames_open(&d->f, &data[0], &data[1]);
    while (step(d)) {}
    tw_frames_close(&d->f, &data[0], &data[1]);
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t formats(const tw_format_t *const *fmt, uint32_t *arc)
{
    tw_shape_t s;
    *arc = 0;
    TW_TRY(tw_shape_from(&s, fmt[0], RAW_IN));
    TW_TRY(fmt[0]->channels == 1 && fmt[0]->rate_hz > 0 && fmt[0]->samples != 0 ? TW_OK : TW_E_IMG_FORMAT);
    *arc = 1;
    TW_TRY(tw_shape_from(&s, fmt[1], RAW_OUT));
    return fmt[1]->channels == 1 && fmt[1]->samples != 0 ? TW_OK : TW_E_IMG_FORMAT;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx;
    TW_TRY(formats(fmt, arc));
    extra[0] = tw_round_up(fmt[1]->frame_bytes, 4);
    return TW_OK;
}

static values_t preset_values(uint32_t preset)
{
    values_t v = {
        .baud = 9600, .carrier = 38000, .deviation = 500, .squelch = 0.01f, .hysteresis = 0.1f, .framing = BYTE_FRAMES};
    switch (preset) {
    case 2:
        v.mode = KEYED;
        v.framing = BIT_FRAMES;
        v.baud = 1e6f / 560;
        break;
    case 3: /* the lower tone is 1 */
        v.mode = SHIFTED;
        v.invert = 1;
        v.baud = 1200;
        v.carrier = 1700;
        break;
    case 4:
        v.mode = SHIFTED;
        v.invert = 1;
        v.baud = 300;
        v.carrier = 1750;
        v.deviation = 100;
        break;
    default:
        break;
    }
    return v;
}

static tw_err_t reset(demodulator_t *d, const tw_node_reset_t *r, uint32_t cmd)
{
    uint32_t arc;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(formats(r->fmt, &arc));
    TW_TRY(tw_node_demodulator.presets >> preset & 1 ? TW_OK : TW_E_PARAM_PRESET);
    const uint32_t stage = tw_round_up(r->fmt[1]->frame_bytes, 4);
    TW_TRY(r->mem_bytes[0] >= sizeof *d + stage ? TW_OK : TW_E_IMG_MEM);
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && d->magic == tw_node_demodulator.hash &&
                      d->rate_hz >= r->fmt[0]->rate_hz && d->rate_hz <= r->fmt[0]->rate_hz;
    if (!warm) {
        *d = (demodulator_t){.magic = tw_node_demodulator.hash};
    }
    const values_t before = d->v;
    d->in_raw = r->fmt[0]->raw;
    d->out_raw = r->fmt[1]->raw;
    d->rate_hz = r->fmt[0]->rate_hz;
    const bool goes_on = warm && tw_bits(cmd, TW_CMD_TAG) == TW_RESET_GOES_ON;
    const tw_frames_t begun = d->f;
    d->queued = goes_on ? d->queued : 0;
    d->f = (tw_frames_t){
        .stage = (uint8_t *)r->mem[0] + sizeof *d,
        .in_bytes = r->fmt[0]->frame_bytes,
        .out_bytes = r->fmt[1]->frame_bytes,
        .in_units = r->fmt[0]->samples,
        .out_units = r->fmt[1]->samples,
    };
    if (goes_on) {
        tw_frames_go_on(&d->f, &begun, cmd);
    } else {
        memset(d->f.stage, 0, stage);
    }
    d->v = preset_values(preset);
    d->v.received = before.received;
    d->v.errors = before.errors;
    apply(d);
    if (!warm) {
        start_over(d);
    }
    return TW_OK;
}

static uint32_t demodulator(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    demodulator_t *d = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(d, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        (void)tw_param_put(&store, &d->v, tag, data);
        apply(d);
        start_over(d);
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

const tw_node_desc_t tw_node_demodulator = {
    .developer = "ARM",
    .name = "arm_stream_demodulator",
    .hash = 0x1AF5E55Au,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = RAW_IN | RAW_OUT,
    .n_mem = 1,
    .mem = {{.a = sizeof(demodulator_t), .align = 8}},
    .run = demodulator,
    .memreq = memreq,
    .params = params,
    .validate = validate,
    .presets = 0x1F, /* 0 = 1 UART, 2 infrared, 3 Bell 202, 4 V.21 */
};
