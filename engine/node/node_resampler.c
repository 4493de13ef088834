/* node_resampler.c - from one sampling rate to any other, and between clocks that drift apart.
 *
 *   in --> single precision --> the last 2 half samples a channel --> filter at the position (resample.h) --> out
 *                                     position += (in rate / out rate) * (1 + drift)
 *
 *   index name         meaning
 *   0     drift_stop   SET to 1: no drift any more; reads 1 when there is none
 *   1     drift_up     SET to 1: +100 ppm
 *   2     drift_down   SET to 1: -100 ppm
 *   3     drift        -1000..1000 [ppm]: so much more input a second is taken
 *   4     automatic    1: drift follows the fill of the arc out, see below; a SET of 0..3 ends it
 *   16    drift_now    [ppm]
 *   17    fill         of the arc out: 0 empty, 1 as full as can be
 *
 * A SET of 0 to 0..2 does nothing. Only 3 and 4 are in the index-256 block. Presets: 0 no drift, 1 automatic.
 *
 * Automatic: the node fills the arc out as far as the input goes, so what is in it, and what is on the way to it, is
 * the time by which the two clocks are apart. A controller (PI, critically damped, 0.05 rad/s, fed twice a second with
 * the least since) keeps it half full; the largest room ever seen is taken for its size. Drift stays within +-500 ppm,
 * and a change of clocks is followed within about 100 s.
 *
 * Types on both sides are free, layouts too; channels are the same. Delay: half input samples. Refused: no rate, or
 * one more than 64 times the other (IMG_FORMAT), other channels (IMG_ARC_FORMAT).
 */
#include "engine/node/node_frames.h"
#include "engine/node/resample.h"
#include "engine/node/signal.h"
#include <stddef.h>

enum { CHUNK = 64, PRESET_AUTOMATIC = 1 };
#define MOST_PPM 500.0f
#define PROPORTIONAL 1e5f /* [ppm / s] */
#define INTEGRAL 2500.0f  /* [ppm / s^2] */
#define WINDOW_S 0.5f
#define RAW_MASK (TW_RAW_MASK_SIGNAL | TW_RAW_BIT(TW_RAW_Q31))
#define TW_NODE_UNIT_PPM 93

typedef struct values {
    float drift, drift_now, fill;
    uint8_t stop, up, down, automatic;
} values_t;

typedef struct resampler {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t in, out;
    tw_frames_t f;
    tw_drift_t d;
    float rate_out_hz;
    uint64_t pos;   /* of the next output, from the next input [2^-32 samples] */
    uint32_t carry; /* of the step's rest */
    int64_t extra;  /* of a step, by the drift */
    values_t v;
    bool seen;                 /* the arc out, once */
    float integral;            /* [ppm] */
    uint32_t size;             /* of the arc out, as far as seen [instants] */
    uint32_t least, since;     /* in it, since so many instants */
    float *table, *row, *past; /* past: lane after lane, each 2 half - 1 samples and a chunk */
} resampler_t;

/* ---- parameters -------------------------------------------------------------- */

enum { STOP, UP, DOWN, DRIFT, AUTOMATIC, NOW, FILL }; /* rows */

#define OWN TW_PARAM_NOT_IN_ALL
#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
static const tw_param_desc_t rows[] = {
    [STOP] = {0, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, OWN, 0, 1, 1, "drift_stop", 1},
    [UP] = {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, OWN, 0, 1, 0, "drift_up", 1},
    [DOWN] = {2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, OWN, 0, 1, 0, "drift_down", 1},
    [DRIFT] = {3, TW_RAW_FP32, 1, TW_NODE_UNIT_PPM, TW_PARAM_SMOOTHED, -1000, 1000, 0, "drift", 0},
    [AUTOMATIC] = {4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0, "automatic", 1},
    [NOW] = {16, TW_RAW_FP32, 1, TW_NODE_UNIT_PPM, METER, -1000, 1000, 0, "drift_now", 0},
    [FILL] = {17, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "fill", 0},
};
static const uint16_t at[] = {
    [STOP] = offsetof(values_t, stop),           [UP] = offsetof(values_t, up),
    [DOWN] = offsetof(values_t, down),           [DRIFT] = offsetof(values_t, drift),
    [AUTOMATIC] = offsetof(values_t, automatic), [NOW] = offsetof(values_t, drift_now),
    [FILL] = offsetof(values_t, fill),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static void use_drift(resampler_t *r, float ppm)
{
    r->v.drift_now = ppm;
    r->extra = (int64_t)((double)r->d.step * (double)ppm * 1e-6);
}

static uint32_t set(resampler_t *r, uint32_t tag, const tw_xdm_t *data)
{
    values_t v = r->v;
    v.stop = v.up = v.down = 0;
    const uint32_t mask = tw_param_put(&store, &v, tag, data);
    const bool button = v.stop != 0 || v.up != 0 || v.down != 0;
    if (button) {
        v.drift = v.up != 0 ? 100.0f : v.down != 0 ? -100.0f : 0.0f;
    }
    if (button || (mask >> DRIFT & 1 && (mask >> AUTOMATIC & 1) == 0)) {
        v.automatic = 0;
    }
    if (v.automatic == 0) {
        r->integral = v.drift;
    }
    r->v = v;
    use_drift(r, v.automatic != 0 ? v.drift_now : v.drift);
    return 0;
}

static uint32_t read(resampler_t *r, uint32_t tag, tw_xdm_t *data)
{
    const bool manual = r->v.automatic == 0;
    r->v.stop = manual && r->v.drift_now >= 0.0f && r->v.drift_now <= 0.0f;
    r->v.up = manual && r->v.drift_now >= 100.0f && r->v.drift_now <= 100.0f;
    r->v.down = manual && r->v.drift_now >= -100.0f && r->v.drift_now <= -100.0f;
    return tw_param_get(&store, &r->v, tag, data);
}

/* ---- clocks ------------------------------------------------------------------------- */

/* A second's least is what counts: an arc's room is only seen whole just after its data have been moved to its
 * front, and looks smaller until then. */
static void control(resampler_t *r, float seconds)
{
    const float size_s = (float)r->size / r->rate_out_hz, late = (r->v.fill - 0.5f) * size_s;
    const float want = PROPORTIONAL * late + r->integral;
    const float ppm = want > MOST_PPM ? MOST_PPM : want < -MOST_PPM ? -MOST_PPM : want;
    if (want <= MOST_PPM && want >= -MOST_PPM) { /* else it would wind up */
        r->integral += INTEGRAL * late * seconds;
    }
    use_drift(r, ppm);
}

/* One look at the arc out. @param room, made  instants it had room for, and got; @param waits  unread input, as output
 */
static void follow(resampler_t *r, uint32_t room, uint32_t made, uint32_t waits)
{
    r->size = room > r->size ? room : r->size;
    const uint32_t fill = r->size - room + made + r->f.out_at + waits;
    r->least = r->since == 0 || fill < r->least ? fill : r->least;
    r->since += made != 0 ? made : 1;
    if ((float)r->since >= r->rate_out_hz * WINDOW_S) {
        const float part = (float)r->least / (float)r->size, now = part < 1.0f ? part : 1.0f;
        r->v.fill = r->seen ? r->v.fill + 0.5f * (now - r->v.fill) : now;
        r->seen = true;
        if (r->v.automatic != 0) {
            control(r, (float)r->since / r->rate_out_hz);
        }
        r->since = 0;
    }
}

static void advance(resampler_t *r)
{
    r->pos += r->d.step + (uint64_t)r->extra;
    r->carry += r->d.rest;
    if (r->carry >= r->d.den) {
        r->carry -= r->d.den;
        r->pos++;
    }
}

/* ---- signal --------------------------------------------------------------------------- */

static uint32_t lane_floats(const tw_drift_t *d)
{
    return 2 * d->half - 1 + CHUNK;
}

static size_t place(const tw_shape_t *s, uint32_t t, uint32_t c)
{
    return s->blocks ? (size_t)c * s->samples + t : (size_t)t * s->channels + c;
}

static void load(resampler_t *r, uint32_t n)
{
    for (uint32_t c = 0; c < r->in.channels; c++) {
        float *to = r->past + (size_t)c * lane_floats(&r->d) + 2 * r->d.half - 1;
        tw_signal_load(r->in.raw, r->f.in, place(&r->in, r->f.in_at, c), tw_shape_step(&r->in), n, to);
    }
}

/* Outputs the n loaded samples and the room allow. @return how many */
static uint32_t produce(resampler_t *r, uint32_t n, uint32_t room)
{
    uint32_t m = 0;
    for (; m < room && r->pos >> 32 < n; m++) {
        tw_drift_filter(&r->d, r->table, (uint32_t)r->pos, r->row);
        for (uint32_t c = 0; c < r->in.channels; c++) {
            const float *x = r->past + (size_t)c * lane_floats(&r->d) + (uint32_t)(r->pos >> 32);
            const float y = tw_drift_dot(r->row, x, 2 * r->d.half);
            tw_signal_store(r->out.raw, r->f.stage, place(&r->out, r->f.out_at + m, c), 1, 1, &y);
        }
        advance(r);
    }
    return m;
}

static void forget(resampler_t *r, uint32_t used)
{
    for (uint32_t c = 0; c < r->in.channels; c++) {
        float *lane = r->past + (size_t)c * lane_floats(&r->d);
        memmove(lane, lane + used, (2 * r->d.half - 1) * sizeof *lane);
    }
    r->pos -= (uint64_t)used << 32;
}

/* @return outputs and inputs, 0 when it cannot go on */
static uint32_t step(resampler_t *r, uint32_t *made)
{
    const uint32_t room = tw_frames_writable(&r->f), n = tw_min_u32(tw_frames_readable(&r->f), CHUNK);
    if (n == 0) {
        return 0;
    }
    load(r, n);
    const uint32_t m = produce(r, n, room);
    const uint32_t used = r->pos >> 32 < n ? (uint32_t)(r->pos >> 32) : n;
    forget(r, used);
    tw_frames_used(&r->f, used);
    tw_frames_made(&r->f, m);
    *made += m;
    return m + used;
}

static void run(resampler_t *r, tw_xdm_t *data)
{
    uint32_t made = 0;
    const uint32_t room = tw_shape_instants(&r->out, data[1].bytes);
    tw_frames_open(&r->f, &data[0], &data[1]);
    while (step(r, &made) != 0) {}
    tw_frames_close(&r->f, &data[0], &data[1]);
    if (room != 0) {
        const float unread = (float)tw_shape_instants(&r->in, r->f.in_left) - (float)r->f.in_at;
        const uint32_t waits = (uint32_t)((unread > 0 ? unread : 0) * 4294967296.0f / (float)r->d.step);
        follow(r, room, tw_shape_instants(&r->out, data[1].bytes), waits);
    }
}

/* ---- commands -------------------------------------------------------------------- */

typedef struct plan {
    tw_shape_t in, out;
    tw_drift_t d;
    uint32_t stage, table, row, past; /* [bytes] */
} plan_t;

static tw_err_t plan_from(plan_t *p, const tw_format_t *const *fmt, uint32_t *arc)
{
    *arc = 0;
    TW_TRY(tw_shape_from(&p->in, fmt[0], RAW_MASK));
    *arc = 1;
    TW_TRY(tw_shape_from(&p->out, fmt[1], RAW_MASK));
    TW_TRY(fmt[0]->samples != 0 && fmt[1]->samples != 0 ? TW_OK : TW_E_IMG_FORMAT);
    TW_TRY(p->in.channels == p->out.channels ? TW_OK : TW_E_IMG_ARC_FORMAT);
    TW_TRY(tw_drift_plan(&p->d, fmt[0]->rate_hz, fmt[1]->rate_hz) ? TW_OK : TW_E_IMG_FORMAT);
    p->stage = tw_round_up(fmt[1]->frame_bytes, 8);
    p->table = (uint32_t)sizeof(float) * tw_drift_table(&p->d);
    p->row = (uint32_t)sizeof(float) * 2 * p->d.half;
    p->past = (uint32_t)sizeof(float) * lane_floats(&p->d) * p->in.channels;
    return TW_OK;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    plan_t p;
    (void)rx, (void)tx;
    TW_TRY(plan_from(&p, fmt, arc));
    extra[0] = p.stage + p.table + p.row + p.past;
    return TW_OK;
}

static bool same_plan(const resampler_t *r, const plan_t *p)
{
    return r->in.channels == p->in.channels && r->d.step == p->d.step && r->d.rest == p->d.rest &&
           r->d.den == p->d.den && r->d.half == p->d.half && tw_round_up(r->f.out_bytes, 8) == p->stage;
}

static void start(resampler_t *r, const plan_t *p, const tw_node_reset_t *to, bool warm, uint32_t cmd)
{
    uint8_t *mem = (uint8_t *)to->mem[0] + tw_round_up(sizeof *r, 8);
    if (!warm) {
        *r = (resampler_t){.magic = tw_node_resampler.hash, .d = p->d};
    }
    r->in = p->in;
    r->out = p->out;
    r->rate_out_hz = to->fmt[1]->rate_hz;
    r->table = (float *)(void *)(mem + p->stage);
    r->row = r->table + p->table / sizeof(float);
    r->past = r->row + p->row / sizeof(float);
    const tw_frames_t begun = r->f;
    r->f = (tw_frames_t){
        .stage = mem,
        .in_bytes = to->fmt[0]->frame_bytes,
        .out_bytes = to->fmt[1]->frame_bytes,
        .in_units = p->in.samples,
        .out_units = p->out.samples,
    };
    tw_frames_go_on(&r->f, &begun, warm ? cmd : 0);
    if (!warm) {
        tw_drift_design(&r->d, r->table);
        memset(r->past, 0, p->past);
    }
}

static tw_err_t reset(resampler_t *r, const tw_node_reset_t *to, uint32_t cmd)
{
    plan_t p;
    uint32_t arc;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(to->rx == 1 && to->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(plan_from(&p, to->fmt, &arc));
    TW_TRY(tw_node_resampler.presets >> preset & 1 ? TW_OK : TW_E_PARAM_PRESET);
    const uint32_t bytes = tw_round_up(sizeof *r, 8) + p.stage + p.table + p.row + p.past;
    TW_TRY(to->mem_bytes[0] >= bytes ? TW_OK : TW_E_IMG_MEM);
    start(r, &p, to, tw_bits(cmd, TW_CMD_WARM) && r->magic == tw_node_resampler.hash && same_plan(r, &p), cmd);
    r->v = (values_t){.automatic = preset == PRESET_AUTOMATIC, .fill = r->v.fill, .drift_now = r->v.drift_now};
    if (r->v.automatic == 0) {
        r->integral = 0;
        use_drift(r, 0);
    }
    return TW_OK;
}

static uint32_t resampler(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    resampler_t *r = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(r, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        return set(r, tag, data);
    case TW_CMD_READ_PARAMETER:
        return read(r, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(r, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_resampler = {
    .developer = "ARM",
    .name = "arm_stream_resampler",
    .hash = 0xCE8A5409u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = RAW_MASK,
    .n_mem = 1,
    .mem = {{.a = (sizeof(resampler_t) + 7) & ~7u, .align = 8}},
    .run = resampler,
    .memreq = memreq,
    .params = params,
    .presets = 0x3, /* 0 = no drift, 1 = automatic */
};
