/* node_modulator.c - a wave, and what an arc may do to it: amplitude, frequency and shift keying, PWM, sigma-delta.
 *
 *   arc --> x, held 1/mod_frequency --> m = a x + b --+--> frequency --> phase --> wave --> * amplitude --> + offset
 * --> out
 *                                                     +---------------- amplitude, duty ----^
 *
 * One arc out, every channel alike; the arc in may stay away, then the room of the output sets the pace. x of a bit
 * (U1; U8 from the low end of the byte) is +1 or -1, of a word its value; `source` 1 takes its sign.
 *
 *   index name           meaning
 *   1  wave           1 sine, 2 square, 3 white noise, 4 pink noise, 5 saw, 6 triangle (wave.h), 7 pulse: a square from
 *                     0 to 1, 8 pattern: x itself, m with a source, 9 sigma-delta: bits of +-1 whose mean is m (second
 * order; without an arc: a sine), 10 PWM: +-1 whose mean over a period is m (b without an arc), 11 ramp: from 0 to 1
 *                     within a period, then 1, 12 step: 0 for a period, then 1. SET again, 11 and 12 begin anew
 *   2  amplitude      / 65535
 *   3  offset         / 32768, added
 *   4  frequency      [Hz]; 0: the wave stands at its phase
 *   5  phase          / 32768 half turns, at the start; a SET while it runs turns by the difference
 *   6  modulation     0 amplitude: the wave times m; 1 frequency: plus m times mod_frequency (times `frequency` when
 * that is 0); 2 shift keying: the same by the sign of x 7  source         0 none, 1 bits, 2 words 8  index_offset   a
 * and b, / 32768 9  mod_frequency  x a second [Hz]; 0, or more than the output's rate: one a sample 10 duty of waves 2
 * and 7 11 seed           of the noises 16 frequency_now  of the last sample [Hz]
 *
 * 10 and up are not in the index-256 block. Presets: 1..12 that wave at 1 kHz and full scale; 0 is 1.
 *
 * Frequencies are held within half the rate. A phase has 64 bits: 1/2^64 of the rate is one step of frequency, and
 * none is lost. After the first RUN amplitude, offset and frequency approach a new value by 1/64 of the rest a sample
 * (90 % in 146), the phase never jumps. PWM and sigma-delta are the levels of a port and keep their edges.
 */
#include "engine/node/node_frames.h"
#include "engine/node/signal.h"
#include "engine/node/wave.h"
#include <stddef.h>

enum { CHUNK = 64 };
enum { SINE = 1, SQUARE, WHITE, PINK, SAW, TRIANGLE, PULSE, PATTERN, SIGMA_DELTA, PWM, RAMP, STEP };
enum { BY_AMPLITUDE, BY_FREQUENCY, BY_SHIFT };
enum { NO_SOURCE, BITS, WORDS };
#define TURN 18446744073709551616.0 /* 2^64 */
#define KEEP (1.0f - 1.0f / 64.0f)
#define ARRIVED 1e-7f
#define MOST 0.49999997f /* turns a sample: the float below a half */
#define TW_NODE_UNIT_HZ 9

typedef struct values {
    float frequency, mod_frequency, duty, frequency_now;
    uint32_t seed;
    uint16_t amplitude;
    int16_t offset, phase, index_offset[2];
    uint8_t wave, modulation, source;
} values_t;

/* A value on its way: target + distance. */
typedef struct glide {
    float target, distance;
} glide_t;

typedef struct modulator {
    uint32_t magic; /* the node's hash once RESET */
    uint8_t raw, channels, in_raw, rx;
    bool blocks;
    bool heard; /* a RUN has happened since the cold RESET: from now on changes are ramps */
    bool over;  /* ramp and step: the period has passed */
    float rate_hz;
    tw_frames_t f;
    values_t v;
    glide_t amplitude, offset, step; /* step: turns a sample */
    uint64_t phase;                  /* 2^64 to the turn */
    uint64_t held;                   /* of the present x [2^-32 of its time]; full: the next is due */
    float x;
    uint32_t noise;
    tw_wave_pink_t pink;
    float sum[2]; /* sigma-delta */
} modulator_t;

/* ---- parameters -------------------------------------------------------------- */

enum { WAVE, LEVEL, OFFSET, FREQUENCY, PHASE, MODULATION, SOURCE, INDEX, MOD_FREQUENCY, DUTY, SEED, NOW }; /* rows */

#define OWN TW_PARAM_NOT_IN_ALL
static const tw_param_desc_t rows[] = {
    [WAVE] = {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 1, 12, SINE, "wave", 1},
    [LEVEL] = {2, TW_RAW_U16, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 65535, 65535, "amplitude", 1},
    [OFFSET] = {3, TW_RAW_Q15, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, -32768, 32767, 0, "offset", 1},
    [FREQUENCY] = {4, TW_RAW_FP32, 1, TW_NODE_UNIT_HZ, TW_PARAM_SMOOTHED, 0, 250000, 1000, "frequency", 0},
    [PHASE] = {5, TW_RAW_S16, 1, TW_NODE_UNIT_ANY, 0, -32768, 32767, 0, "phase", 1},
    [MODULATION] = {6, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, 0, "modulation", 1},
    [SOURCE] = {7, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, 0, "source", 1},
    [INDEX] = {8, TW_RAW_Q15, 2, TW_NODE_UNIT_ANY, 0, -32768, 32767, 0, "index_offset", 1},
    [MOD_FREQUENCY] = {9, TW_RAW_FP32, 1, TW_NODE_UNIT_HZ, 0, 0, 250000, 0, "mod_frequency", 0},
    [DUTY] = {10, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, OWN, 0, 1, 0.5, "duty", 0},
    [SEED] = {11, TW_RAW_U32, 1, TW_NODE_UNIT_ANY, OWN, 0, 4294967295.0, 1, "seed", 1},
    [NOW] = {16, TW_RAW_FP32, 1, TW_NODE_UNIT_HZ, OWN | TW_PARAM_READ_ONLY, -1e9, 1e9, 0, "frequency_now", 0},
};
static const uint16_t at[] = {
    [WAVE] = offsetof(values_t, wave),
    [LEVEL] = offsetof(values_t, amplitude),
    [OFFSET] = offsetof(values_t, offset),
    [FREQUENCY] = offsetof(values_t, frequency),
    [PHASE] = offsetof(values_t, phase),
    [MODULATION] = offsetof(values_t, modulation),
    [SOURCE] = offsetof(values_t, source),
    [INDEX] = offsetof(values_t, index_offset),
    [MOD_FREQUENCY] = offsetof(values_t, mod_frequency),
    [DUTY] = offsetof(values_t, duty),
    [SEED] = offsetof(values_t, seed),
    [NOW] = offsetof(values_t, frequency_now),
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

static float clamp(float v, float end)
{
    return v > end ? end : v < -end ? -end : v;
}

/* Head for a value; what is heard now becomes the distance to it. */
static void aim(const modulator_t *m, glide_t *g, float target)
{
    const float now = g->target + g->distance;
    *g = (glide_t){target, m->heard ? now - target : 0.0f};
}

static uint64_t start_phase(const values_t *v)
{
    return (uint64_t)(uint16_t)v->phase << 48; /* 2^15 is half a turn */
}

static void apply(modulator_t *m, uint32_t mask, const values_t *before)
{
    aim(m, &m->amplitude, (float)m->v.amplitude / 65535.0f);
    aim(m, &m->offset, (float)m->v.offset / 32768.0f);
    aim(m, &m->step, clamp(m->v.frequency / m->rate_hz, MOST));
    m->phase += start_phase(&m->v) - start_phase(before);
    if (given(mask, SEED)) {
        m->noise = m->v.seed;
    }
    if (given(mask, WAVE)) {
        m->over = false;
        m->phase = m->v.wave == RAMP || m->v.wave == STEP ? start_phase(&m->v) : m->phase;
    }
}

static uint32_t set(modulator_t *m, uint32_t tag, const tw_xdm_t *data)
{
    const values_t before = m->v;
    apply(m, tw_param_put(&store, &m->v, tag, data), &before);
    return 0;
}

/* ---- what comes from the arc --------------------------------------------------------- */

static bool listens(const modulator_t *m)
{
    return m->rx != 0 && (m->v.source != NO_SOURCE || m->v.wave == PATTERN || m->v.wave == SIGMA_DELTA);
}

static float next_x(modulator_t *m)
{
    const uint32_t k = m->f.in_at;
    float x;
    if (m->in_raw == TW_RAW_U1 || m->in_raw == TW_RAW_U8) {
        x = m->f.in[k / 8] >> k % 8 & 1 ? 1.0f : -1.0f;
    } else {
        tw_signal_load(m->in_raw, m->f.in, k, 1, 1, &x);
    }
    tw_frames_used(&m->f, 1);
    const bool sign = m->v.source == BITS || (m->v.source == WORDS && m->v.modulation == BY_SHIFT);
    return sign ? (x > 0.0f ? 1.0f : -1.0f) : clamp(x, 1.0f); /* also of NaN */
}

/* x of up to n samples to come. @return how many the arc has data for */
static uint32_t take(modulator_t *m, float *x, uint32_t n)
{
    const uint64_t full = (uint64_t)1 << 32;
    const float rate = m->v.mod_frequency / m->rate_hz;
    const uint64_t step = rate > 0.0f && rate < 1.0f ? (uint64_t)((double)rate * 4294967296.0) : full;
    for (uint32_t i = 0; i < n; i++) {
        if (m->held >= full) {
            if (tw_frames_readable(&m->f) == 0) {
                return i;
            }
            m->x = next_x(m);
            m->held -= full;
        }
        x[i] = m->x;
        m->held += step;
    }
    return n;
}

/* ---- signal ------------------------------------------------------------------------------ */

/* @return 1: a value each, 0: the first is for all */
static uint32_t glide(glide_t *g, float *to, uint32_t n)
{
    const uint32_t step = g->distance != 0.0f;
    for (uint32_t i = 0; i < (step ? n : 1); i++) {
        g->distance *= KEEP;
        to[i] = g->target + g->distance;
    }
    if (g->distance < ARRIVED && g->distance > -ARRIVED) {
        g->distance = 0.0f;
    }
    return step;
}

typedef struct chunk {
    float m[CHUNK], dt[CHUNK], y[CHUNK];
    uint32_t phase[CHUNK];
    uint32_t n;
} chunk_t;

static bool modulates(const modulator_t *m)
{
    return m->rx != 0 && m->v.source != NO_SOURCE;
}

/* Frequency of each sample, as turns. @return true when it is the one that was SET */
static bool draw_steps(modulator_t *m, chunk_t *k)
{
    const bool gliding = glide(&m->step, k->dt, k->n) != 0, swept = modulates(m) && m->v.modulation != BY_AMPLITUDE;
    for (uint32_t i = 1; i < k->n && !gliding; i++) {
        k->dt[i] = k->dt[0];
    }
    const float wide = (m->v.mod_frequency > 0.0f ? m->v.mod_frequency : m->v.frequency) / m->rate_hz;
    for (uint32_t i = 0; i < k->n && swept; i++) {
        k->dt[i] = clamp(k->dt[i] + wide * k->m[i], MOST);
    }
    m->v.frequency_now = k->dt[k->n - 1] * m->rate_hz;
    return !gliding && !swept;
}

/* Turns a sample as a phase's step: of the frequency that was SET in double precision. */
static uint64_t phase_step(const modulator_t *m, bool steady, float dt)
{
    const double exact = (double)m->v.frequency / (double)m->rate_hz;
    return (uint64_t)(int64_t)((steady && exact < (double)MOST ? exact : (double)dt) * TURN);
}

/* dt becomes what the edges need: its size. */
static void draw_phases(modulator_t *m, chunk_t *k, bool steady)
{
    uint64_t by = phase_step(m, steady, k->dt[0]);
    for (uint32_t i = 0; i < k->n; i++) {
        by = steady ? by : phase_step(m, false, k->dt[i]);
        k->phase[i] = (uint32_t)(m->phase >> 32);
        m->phase += by;
        m->over = m->over || (k->dt[i] > 0.0f && m->phase < by);
        k->dt[i] = k->dt[i] < 0.0f ? -k->dt[i] : k->dt[i];
    }
}

static void draw_sigma_delta(modulator_t *m, chunk_t *k)
{
    if (m->rx == 0) {
        tw_wave_sine(k->phase, k->m, k->n);
    }
    for (uint32_t i = 0; i < k->n; i++) {
        const float bit = m->sum[1] >= 0.0f ? 1.0f : -1.0f;
        m->sum[0] = clamp(m->sum[0] + clamp(k->m[i], 0.9f) - bit, 8.0f);
        m->sum[1] = clamp(m->sum[1] + m->sum[0] - bit, 16.0f);
        k->y[i] = bit;
    }
}

static void draw_pwm(const modulator_t *m, chunk_t *k)
{
    const float b = (float)m->v.index_offset[1] / 32768.0f;
    for (uint32_t i = 0; i < k->n; i++) {
        const float mean = modulates(m) ? k->m[i] : b;
        k->y[i] = (float)k->phase[i] < (1.0f + mean) * 2147483648.0f ? 1.0f : -1.0f;
    }
}

/* Once only. A period that ends within a chunk ends with the sample that passes it. */
static void draw_once(modulator_t *m, chunk_t *k, bool was_over)
{
    bool over = was_over;
    for (uint32_t i = 0; i < k->n; i++) {
        over = over || (i > 0 && k->phase[i] < k->phase[i - 1]);
        k->y[i] = over ? 1.0f : m->v.wave == STEP ? 0.0f : (float)(k->phase[i] >> 8) * (1.0f / 16777216.0f);
    }
}

static void draw(modulator_t *m, chunk_t *k, bool was_over)
{
    switch (m->v.wave) {
    case SINE:
        tw_wave_sine(k->phase, k->y, k->n);
        return;
    case SQUARE:
        tw_wave_square(k->phase, k->dt, m->v.duty, k->y, k->n);
        return;
    case WHITE:
        tw_wave_white(&m->noise, k->y, k->n);
        return;
    case PINK:
        tw_wave_white(&m->noise, k->y, k->n);
        tw_wave_pink(&m->pink, k->y, k->n);
        return;
    case SAW:
        tw_wave_saw(k->phase, k->dt, k->y, k->n);
        return;
    case TRIANGLE:
        tw_wave_triangle(k->phase, k->dt, k->y, k->n);
        return;
    case PULSE:
        tw_wave_square(k->phase, k->dt, m->v.duty, k->y, k->n);
        for (uint32_t i = 0; i < k->n; i++) {
            k->y[i] = 0.5f + 0.5f * k->y[i];
        }
        return;
    case PATTERN:
        memcpy(k->y, k->m, k->n * sizeof *k->y);
        return;
    case SIGMA_DELTA:
        draw_sigma_delta(m, k);
        return;
    case PWM:
        draw_pwm(m, k);
        return;
    default:
        draw_once(m, k, was_over);
    }
}

/* Times amplitude, times what modulates it, plus offset. */
static void level(modulator_t *m, chunk_t *k)
{
    float gain[CHUNK], offset[CHUNK];
    const uint32_t gain_step = glide(&m->amplitude, gain, k->n), offset_step = glide(&m->offset, offset, k->n);
    const bool keyed = modulates(m) && m->v.modulation == BY_AMPLITUDE && m->v.wave != SIGMA_DELTA &&
                       m->v.wave != PWM && m->v.wave != PATTERN;
    if (keyed) {
        for (uint32_t i = 0; i < k->n; i++) {
            k->y[i] *= k->m[i];
        }
    }
    for (uint32_t i = 0; i < k->n; i++) {
        k->y[i] = k->y[i] * gain[i * gain_step] + offset[i * offset_step];
    }
}

static void put(const modulator_t *m, const chunk_t *k)
{
    const tw_frames_t *f = &m->f;
    for (uint32_t c = 0; c < m->channels; c++) {
        const size_t first = m->blocks ? (size_t)c * f->out_units + f->out_at : (size_t)f->out_at * m->channels + c;
        tw_signal_store(m->raw, f->stage, first, m->blocks ? 1 : m->channels, k->n, k->y);
    }
}

/* @return false when the output is full or the input empty */
static bool step(modulator_t *m)
{
    chunk_t k = {.n = tw_min_u32(tw_frames_writable(&m->f), CHUNK)};
    if (listens(m)) {
        k.n = take(m, k.m, k.n);
        const float a = (float)m->v.index_offset[0] / 32768.0f, b = (float)m->v.index_offset[1] / 32768.0f;
        for (uint32_t i = 0; i < k.n && m->v.source != NO_SOURCE; i++) {
            k.m[i] = a * k.m[i] + b;
        }
    }
    if (k.n == 0) {
        return false;
    }
    const bool was_over = m->over;
    draw_phases(m, &k, draw_steps(m, &k));
    draw(m, &k, was_over);
    level(m, &k);
    put(m, &k);
    tw_frames_made(&m->f, k.n);
    return true;
}

static void run(modulator_t *m, tw_xdm_t *data)
{
    tw_xdm_t none = {0};
    tw_xdm_t *in = m->rx != 0 ? &data[0] : &none, *out = &data[m->rx];
    tw_frames_open(&m->f, in, out);
    m->heard = m->heard || out->bytes >= m->f.out_bytes;
    while (step(m)) {}
    while (!listens(m) && tw_frames_readable(&m->f) != 0) { /* nobody wants it */
        tw_frames_used(&m->f, tw_frames_readable(&m->f));
    }
    tw_frames_close(&m->f, in, out);
}

/* ---- commands -------------------------------------------------------------------- */

#define RAW_OUT (TW_RAW_MASK_SIGNAL | TW_RAW_BIT(TW_RAW_Q31))
#define RAW_IN (TW_RAW_BIT(TW_RAW_U1) | TW_RAW_BIT(TW_RAW_U8) | TW_RAW_MASK_SIGNAL | TW_RAW_BIT(TW_RAW_Q31))

static tw_err_t formats(const tw_format_t *const *fmt, uint32_t rx, uint32_t *arc, tw_shape_t *out)
{
    *arc = rx;
    TW_TRY(tw_shape_from(out, fmt[rx], RAW_OUT));
    TW_TRY(fmt[rx]->rate_hz > 0 && fmt[rx]->samples != 0 ? TW_OK : TW_E_IMG_FORMAT);
    *arc = 0;
    TW_TRY(rx == 0 || (fmt[0]->raw < TW_RAW_COUNT && RAW_IN >> fmt[0]->raw & 1) ? TW_OK : TW_E_IMG_RAW);
    const bool one = rx == 0 || (fmt[0]->channels == 1 && fmt[0]->ts == 0 && fmt[0]->samples != 0);
    return one ? TW_OK : TW_E_IMG_FORMAT;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t out;
    (void)tx;
    TW_TRY(formats(fmt, rx, arc, &out));
    extra[0] = tw_round_up(fmt[rx]->frame_bytes, 4);
    return TW_OK;
}

static void start(modulator_t *m, const tw_node_reset_t *r, const tw_shape_t *out, uint32_t preset, uint32_t cmd)
{
    const tw_format_t *to = r->fmt[r->rx];
    m->raw = out->raw;
    m->channels = out->channels;
    m->blocks = out->blocks != 0;
    m->rx = r->rx;
    m->in_raw = r->rx != 0 ? r->fmt[0]->raw : 0;
    m->rate_hz = to->rate_hz;
    const tw_frames_t begun = m->f;
    m->f = (tw_frames_t){
        .stage = (uint8_t *)r->mem[0] + sizeof *m,
        .in_bytes = r->rx != 0 ? r->fmt[0]->frame_bytes : 1,
        .in_units = r->rx == 0               ? 1
                    : m->in_raw == TW_RAW_U8 ? 8 * r->fmt[0]->samples
                                             : r->fmt[0]->samples,
        .out_bytes = to->frame_bytes,
        .out_units = to->samples,
    };
    tw_frames_go_on(&m->f, &begun, cmd);
    const values_t before = m->v;
    m->v = (values_t){
        .frequency = 1000,
        .duty = 0.5f,
        .seed = 1,
        .amplitude = 65535,
        .wave = (uint8_t)(preset == 0 ? SINE : preset),
        .index_offset = {32767, 0},
    };
    apply(m, m->v.wave != before.wave ? 1u << WAVE : 0, &before);
}

static tw_err_t reset(modulator_t *m, const tw_node_reset_t *r, uint32_t cmd)
{
    uint32_t arc;
    tw_shape_t out;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx <= 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(formats(r->fmt, r->rx, &arc, &out));
    TW_TRY(tw_node_modulator.presets >> preset & 1 ? TW_OK : TW_E_PARAM_PRESET);
    const uint32_t bytes = (uint32_t)sizeof *m + tw_round_up(r->fmt[r->rx]->frame_bytes, 4);
    TW_TRY(r->mem_bytes[0] >= bytes ? TW_OK : TW_E_IMG_MEM);
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && m->magic == tw_node_modulator.hash && m->raw == out.raw &&
                      m->channels == out.channels && m->rate_hz >= r->fmt[r->rx]->rate_hz &&
                      m->rate_hz <= r->fmt[r->rx]->rate_hz;
    if (!warm) {
        *m = (modulator_t){.magic = tw_node_modulator.hash, .held = (uint64_t)1 << 32, .noise = 1};
    }
    start(m, r, &out, preset, warm ? cmd : 0);
    return TW_OK;
}

static uint32_t modulator(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    modulator_t *m = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(m, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        return set(m, tag, data);
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &m->v, tag, data);
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

const tw_node_desc_t tw_node_modulator = {
    .developer = "ARM",
    .name = "arm_stream_modulator",
    .hash = 0x7EDC57DBu,
    .version = 1u << 8,
    .rx_min = 0,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = RAW_OUT | RAW_IN,
    .n_mem = 1,
    .mem = {{.a = sizeof(modulator_t), .align = 8}},
    .run = modulator,
    .memreq = memreq,
    .params = params,
    .presets = 0x1FFF, /* 0 = 1, else the wave */
};
