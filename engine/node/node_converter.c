/* node_converter.c - from one stream format to another; the two formats are all it is told.
 *
 *   in --> channels in common --> unit --> resampler --> samples of the other type --> frames --> out
 *
 *   raw type       any of convert.h, on the scale given there; complex to real keeps the real part, real to
 *                  complex has imaginary part 0. Types without numbers keep their words: what is around them changes
 *   channels       1 to N: copies; N to 1: the mean; audio whose both formats name loudspeaker places: each place to
 *                  itself, and zeros in those nobody feeds; else the first ones, and zeros in what is left
 *   layout         interleaved, or a block a channel
 *   unit           the factor (and the offset of dBm) of units.def when both formats name one of the same
 *                  primary unit; full scale and offset of the formats likewise
 *   time stamps    at the start of a frame, little endian. The same kind on both sides: carried over frame by frame
 *                  when frames keep their length, an absolute one else from the frame the first sample
 *                  stood in. Otherwise a counter counts this node's frames from 0, and the rest is 0
 *   frame length   any; the output waits in this node's memory until a frame is whole
 *   sampling rate  resample.h, single precision; a rate of 0 (asynchronous) agrees with every other
 *
 * It takes whole frames and gives whole frames, for an arc may hold no more than one: of a frame used in part the
 * place is remembered, of one made in part the samples are. At equal rates each sample in is one out. Refused: units of
 * different primary (IMG_FORMAT), rates without a ratio (IMG_FORMAT), computing on types without numbers (IMG_RAW). No
 * parameters.
 */
#include "engine/node/convert.h"
#include "engine/node/node_priv.h"
#include "engine/node/resample.h"

enum { CHUNK = 64 }; /* samples of a channel converted at a time */

/* One end. A *lane* is one channel, or one of the two parts of a complex one. */
typedef struct side {
    uint8_t raw;   /* of one part */
    uint8_t parts; /* 2: complex */
    uint8_t channels;
    bool blocks;
    uint8_t ts, stamp_bytes; /* 0 none */
    uint32_t samples, bytes; /* of a frame */
} side_t;

typedef struct plan {
    side_t in, out;
    tw_affine_t map;
    tw_resample_t rate;
    uint32_t lanes;           /* channels that are in both */
    uint32_t in_map, out_map; /* loudspeaker places, bit k the k-th channel's; 0: channels go by their order */
    bool direct;              /* no number in between: words are moved */
    bool staged;              /* frames of the output are put together in memory */
} plan_t;

typedef struct converter {
    plan_t p;
    uint32_t magic;         /* the node's hash once RESET */
    uint32_t pos;           /* of the next output, from the next input [1 / up samples] */
    uint32_t in_at, out_at; /* samples of the present frame already used, made */
    uint64_t stamp;         /* of the frame being made */
    uint64_t frames;        /* made since RESET */
    double *work;           /* CHUNK in, CHUNK out */
    uint8_t *stage;
    float *table, *history;
} converter_t;

/* ---- what the two formats ask for -------------------------------------------------- */

static void side_from(side_t *s, const tw_format_t *f)
{
    static const uint8_t stamp[4] = {2, 4, 8, 8};
    const bool complex = f->raw == TW_RAW_CQ15 || f->raw == TW_RAW_CFP32;
    *s = (side_t){
        .raw = f->raw == TW_RAW_CQ15    ? TW_RAW_Q15
               : f->raw == TW_RAW_CFP32 ? TW_RAW_FP32
                                        : f->raw,
        .parts = complex ? 2 : 1,
        .channels = f->channels,
        .blocks = f->interleave == 1 && f->channels > 1,
        .ts = f->ts,
        .stamp_bytes = f->ts != 0 ? stamp[f->ts_size & 3] : 0,
        .samples = f->samples,
        .bytes = f->frame_bytes,
    };
}

static double full_scale(const tw_format_t *f)
{
    return f->full_scale > 0.0f ? (double)f->full_scale : 1.0;
}

/* Number to unit of the one, to unit of the other, to number. */
static bool map_from(tw_affine_t *a, const tw_format_t *in, const tw_format_t *out)
{
    const bool ok = tw_convert_units(in->unit, out->unit, a);
    a->bias = (a->gain * (double)in->offset + a->bias - (double)out->offset) / full_scale(out);
    a->gain = a->gain * full_scale(in) / full_scale(out);
    return ok;
}

static uint32_t count_bits(uint32_t v)
{
    uint32_t n = 0;
    for (; v != 0; v &= v - 1) {
        n++;
    }
    return n;
}

/* Places of the channels in rising order, 0 when the format does not name one for each. */
static uint32_t places(const tw_format_t *f)
{
    const uint32_t map = f->mapping & ((1u << TW_CHANNEL_BITS) - 1);
    const bool audio = f->domain == 1 || f->domain == 2; /* audio_in, audio_out */
    return audio && count_bits(map) == f->channels ? map : 0;
}

/* By place where both sides have some in common and neither is mono. */
static void map_channels(plan_t *p, const tw_format_t *in, const tw_format_t *out)
{
    const uint32_t from = places(in), to = places(out);
    const bool by_place = from != to && (from & to) != 0 && in->channels > 1 && out->channels > 1;
    p->in_map = by_place ? from : 0;
    p->out_map = by_place ? to : 0;
    p->lanes = by_place ? count_bits(from & to) : tw_min_u32(in->channels, out->channels);
}

/* The channel of a lane in the side whose places are `map`. */
static uint32_t channel_of(const plan_t *p, uint32_t map, uint32_t lane)
{
    if (map == 0) {
        return lane;
    }
    uint32_t left = p->in_map & p->out_map;
    for (; lane > 0; lane--) {
        left &= left - 1;
    }
    return count_bits(map & ((left & (0u - left)) - 1));
}

/* Nobody feeds this channel of the output. */
static bool is_silent(const plan_t *p, uint32_t channel)
{
    uint32_t map = p->out_map;
    if (map == 0) {
        return p->in.channels > 1 && channel >= p->lanes;
    }
    for (; channel > 0; channel--) {
        map &= map - 1;
    }
    return (map & (0u - map) & p->in_map) == 0;
}

static tw_err_t plan_from(plan_t *p, const tw_format_t *in, const tw_format_t *out)
{
    TW_TRY(in->interleave <= 1 && out->interleave <= 1 && in->samples != 0 && out->samples != 0 ? TW_OK
                                                                                                : TW_E_IMG_FORMAT);
    side_from(&p->in, in);
    side_from(&p->out, out);
    TW_TRY(map_from(&p->map, in, out) ? TW_OK : TW_E_IMG_FORMAT);
    p->rate = (tw_resample_t){1, 1, 0};
    if (in->rate_hz > 0 && out->rate_hz > 0) {
        TW_TRY(tw_resample_plan(&p->rate, in->rate_hz, out->rate_hz) ? TW_OK : TW_E_IMG_FORMAT);
    }
    const bool mixed = out->channels == 1 && in->channels > 1, moved = p->rate.up == p->rate.down;
    map_channels(p, in, out);
    p->direct = moved && !mixed && p->map.gain == 1.0 && p->map.bias == 0.0 && tw_convert_direct(p->in.raw, p->out.raw);
    p->staged = !moved || p->in.samples != p->out.samples;
    const bool numbers = tw_convert_numeric(p->in.raw) && tw_convert_numeric(p->out.raw);
    return numbers || p->direct ? TW_OK : TW_E_IMG_RAW;
}

static bool resamples(const plan_t *p)
{
    return p->rate.up != p->rate.down;
}

static uint32_t stage_bytes(const plan_t *p)
{
    return p->staged ? tw_round_up(p->out.bytes, 8) : 0;
}

static uint32_t table_bytes(const plan_t *p)
{
    return resamples(p) ? (uint32_t)sizeof(float) * tw_resample_table(&p->rate) : 0;
}

/* What one lane keeps: the past, and room for a chunk behind it. */
static uint32_t lane_floats(const plan_t *p)
{
    return resamples(p) ? tw_resample_history(&p->rate) + CHUNK : 0;
}

static uint32_t history_bytes(const plan_t *p)
{
    return (uint32_t)sizeof(float) * lane_floats(p) * p->lanes * tw_min_u32(p->in.parts, p->out.parts);
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx;
    (void)tx;
    plan_t p;
    *arc = 1;
    TW_TRY(plan_from(&p, fmt[0], fmt[1]));
    extra[0] = stage_bytes(&p) + table_bytes(&p) + history_bytes(&p);
    return TW_OK;
}

/* ---- samples in and out -------------------------------------------------------------- */

/* Where sample t of a lane is in a frame, and how far the next one [parts]. */
static size_t lane_at(const side_t *s, uint32_t t, uint32_t channel, uint32_t part)
{
    const size_t sample = s->blocks ? (size_t)channel * s->samples + t : (size_t)t * s->channels + channel;
    return sample * s->parts + part;
}

static size_t lane_step(const side_t *s)
{
    return (s->blocks ? 1u : (size_t)s->channels) * s->parts;
}

static void load(const plan_t *p, const uint8_t *frame, uint32_t t, uint32_t channel, uint32_t part, uint32_t n,
                 double *to)
{
    const side_t *s = &p->in;
    tw_convert_load(s->raw, frame + s->stamp_bytes, lane_at(s, t, channel, part), lane_step(s), n, to);
}

static void store(const plan_t *p, uint8_t *frame, uint32_t t, uint32_t channel, uint32_t part, uint32_t n,
                  const double *from)
{
    const side_t *s = &p->out;
    tw_convert_store(s->raw, frame + s->stamp_bytes, lane_at(s, t, channel, part), lane_step(s), n, from);
}

/* One lane of the input in the unit of the output; N channels to one: their mean. work: CHUNK for it, CHUNK more */
static void load_lane(const plan_t *p, const uint8_t *frame, uint32_t t, uint32_t lane, uint32_t part, uint32_t n,
                      double *work)
{
    const uint32_t mixed = p->out.channels == 1 ? p->in.channels : 1;
    double *x = work, *other = work + CHUNK;
    load(p, frame, t, channel_of(p, p->in_map, lane), part, n, x);
    for (uint32_t c = 1; c < mixed; c++) {
        load(p, frame, t, c, part, n, other);
        for (uint32_t i = 0; i < n; i++) {
            x[i] += other[i];
        }
    }
    if (mixed == 1 && p->map.gain == 1.0 && p->map.bias == 0.0) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        x[i] = x[i] / mixed * p->map.gain + (part == 0 ? p->map.bias : 0.0); /* a bias is real */
    }
}

/* One channel to all of the output, or to its own place. */
static void store_lane(const plan_t *p, uint8_t *frame, uint32_t t, uint32_t lane, uint32_t part, uint32_t n,
                       const double *y)
{
    const uint32_t copies = p->in.channels == 1 ? p->out.channels : 1;
    for (uint32_t c = 0; c < copies; c++) {
        store(p, frame, t, channel_of(p, p->out_map, lane) + c, part, n, y);
    }
}

/* Channels that nobody has: all bits 0, which is 0 in any type. */
static void store_silence(const plan_t *p, uint8_t *frame, uint32_t t, uint32_t n)
{
    const side_t *s = &p->out;
    const uint32_t bits = tw_raw_bits(s->raw);
    for (uint32_t c = 0; c < s->channels; c++) {
        for (uint32_t i = 0; i < n * s->parts && is_silent(p, c); i++) {
            const size_t at = lane_at(s, t + i / s->parts, c, i % s->parts) * bits;
            uint8_t *to = frame + s->stamp_bytes + at / 8;
            if (bits < 8) {
                *to = (uint8_t)(*to & ~(1u << at % 8));
            } else {
                memset(to, 0, bits / 8);
            }
        }
    }
}

/* ---- a chunk ---------------------------------------------------------------------------- */

/* Where the next samples come from and go to. */
typedef struct window {
    const uint8_t *from;
    uint8_t *to;
    uint32_t from_at, to_at; /* in their frames */
    uint32_t n, m;           /* samples looked at, samples made */
    uint32_t used;           /* samples of the n that are done with */
} window_t;

/* What no sum could hold (NaN, infinities, beyond 1e30) counts as silence: it must not stay in the past. */
static float kept(double v)
{
    return v > -1e30 && v < 1e30 ? (float)v : 0.0f;
}

/* The past of a lane, then the chunk: what a chunk leaves of it is the next one's past. */
static void resample_lane(const converter_t *v, const window_t *w, uint32_t index)
{
    const plan_t *p = &v->p;
    const uint32_t past = tw_resample_history(&p->rate);
    float *x = v->history + (size_t)index * lane_floats(p);
    for (uint32_t i = 0; i < w->n; i++) {
        x[past + i] = kept(v->work[i]);
    }
    tw_resample_run(&p->rate, v->table, x, v->pos, v->work + CHUNK, w->m);
    memmove(x, x + w->used, past * sizeof *x);
}

/* Word by word, to every channel that gets them. */
static void move_words(const plan_t *p, const window_t *w, uint32_t lane, uint32_t part)
{
    const uint32_t copies = p->in.channels == 1 ? p->out.channels : 1;
    const uint32_t first = channel_of(p, p->out_map, lane);
    const size_t from =
        lane_at(&p->in, w->from_at, channel_of(p, p->in_map, lane), part) * (tw_raw_bits(p->in.raw) / 8);
    for (uint32_t c = 0; c < copies; c++) {
        const size_t to = lane_at(&p->out, w->to_at, first + c, part) * (tw_raw_bits(p->out.raw) / 8);
        tw_convert_move(p->in.raw, w->from + p->in.stamp_bytes + from, lane_step(&p->in), p->out.raw,
                        w->to + p->out.stamp_bytes + to, lane_step(&p->out), w->n);
    }
}

static void move_lane(const converter_t *v, const window_t *w, uint32_t lane, uint32_t part)
{
    const plan_t *p = &v->p;
    double *made = v->work;
    if (p->direct && part < p->in.parts) {
        move_words(p, w, lane, part);
        return;
    }
    if (part >= p->in.parts) {
        memset(made, 0, CHUNK * sizeof *made);
    } else {
        load_lane(p, w->from, w->from_at, lane, part, w->n, v->work);
        if (resamples(p)) {
            resample_lane(v, w, lane * tw_min_u32(p->in.parts, p->out.parts) + part);
            made = v->work + CHUNK;
        }
    }
    store_lane(p, w->to, w->to_at, lane, part, w->m, made);
}

static void move(const converter_t *v, const window_t *w)
{
    for (uint32_t lane = 0; lane < v->p.lanes; lane++) {
        for (uint32_t part = 0; part < v->p.out.parts; part++) {
            move_lane(v, w, lane, part);
        }
    }
    store_silence(&v->p, w->to, w->to_at, w->m);
}

/* How many samples of `n` there are make how many of the `room` wanted. */
static void count(const converter_t *v, window_t *w, uint32_t n, uint32_t room)
{
    const tw_resample_t *r = &v->p.rate;
    w->n = tw_min_u32(n, CHUNK);
    w->m = tw_min_u32(room, CHUNK);
    if (!resamples(&v->p)) {
        w->n = w->m = w->used = tw_min_u32(w->n, w->m);
        return;
    }
    const uint32_t end = w->n * r->up;
    w->m = tw_min_u32(w->m, end > v->pos ? (end - v->pos + r->down - 1) / r->down : 0);
    w->used = tw_min_u32(w->n, (v->pos + w->m * r->down) / r->up);
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Where a RUN stands in what it was given. */
typedef struct walk {
    const uint8_t *in;
    uint8_t *out;
    uint32_t in_left, out_left; /* [bytes] */
} walk_t;

static uint64_t read_stamp(const side_t *s, const uint8_t *frame)
{
    uint64_t v = 0;
    for (uint32_t i = s->stamp_bytes; i-- > 0;) {
        v = v << 8 | frame[i];
    }
    return v;
}

static void begin_frame(converter_t *v, const uint8_t *in_frame)
{
    const plan_t *p = &v->p;
    const bool carried = p->in.ts == p->out.ts && (!p->staged || p->out.ts == 1);
    v->stamp = carried ? read_stamp(&p->in, in_frame) : p->out.ts == 3 ? v->frames : 0;
}

static void begin_payload(const converter_t *v, uint8_t *frame)
{
    const side_t *s = &v->p.out;
    for (uint32_t i = 0; i < s->stamp_bytes; i++) {
        frame[i] = (uint8_t)(v->stamp >> 8 * i);
    }
    if (tw_raw_bits(s->raw) % 8 != 0) {
        frame[s->bytes - 1] = 0; /* bits behind the last sample */
    }
}

/* Samples of the present input frame that are left. */
static uint32_t readable(const converter_t *v, const walk_t *k)
{
    return k->in_left >= v->p.in.bytes ? v->p.in.samples - v->in_at : 0;
}

static uint32_t writable(const converter_t *v, const walk_t *k)
{
    return v->p.staged || k->out_left >= v->p.out.bytes ? v->p.out.samples - v->out_at : 0;
}

static void skip_input(converter_t *v, walk_t *k, uint32_t samples)
{
    v->in_at += samples;
    if (v->in_at == v->p.in.samples) {
        k->in += v->p.in.bytes;
        k->in_left -= v->p.in.bytes;
        v->in_at = 0;
    }
}

static void skip_output(converter_t *v, walk_t *k, uint32_t samples)
{
    v->out_at += samples;
    if (!v->p.staged && v->out_at == v->p.out.samples) {
        k->out += v->p.out.bytes;
        k->out_left -= v->p.out.bytes;
        v->out_at = 0;
    }
}

/* A frame put together goes out as soon as there is room. */
static void flush(converter_t *v, walk_t *k)
{
    const side_t *s = &v->p.out;
    if (v->p.staged && v->out_at == s->samples && k->out_left >= s->bytes) {
        memcpy(k->out, v->stage, s->bytes);
        k->out += s->bytes;
        k->out_left -= s->bytes;
        v->out_at = 0;
    }
}

static bool step(converter_t *v, walk_t *k)
{
    flush(v, k);
    window_t w = {.from = k->in, .to = v->p.staged ? v->stage : k->out, .from_at = v->in_at, .to_at = v->out_at};
    count(v, &w, readable(v, k), writable(v, k));
    if (w.m != 0 && v->out_at == 0) {
        begin_frame(v, k->in);
        begin_payload(v, w.to);
        v->frames++;
    }
    if (w.n != 0) {
        move(v, &w);
    }
    v->pos += w.m * v->p.rate.down - w.used * v->p.rate.up;
    skip_input(v, k, w.used);
    skip_output(v, k, w.m);
    return w.used != 0 || w.m != 0;
}

static void run(converter_t *v, tw_xdm_t *data)
{
    walk_t k = {data[0].ptr, data[1].ptr, data[0].bytes, data[1].bytes};
    while (step(v, &k)) {}
    data[0].bytes -= k.in_left;
    data[1].bytes -= k.out_left;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool same_plan(const plan_t *a, const plan_t *b)
{
    return a->lanes == b->lanes && a->in_map == b->in_map && a->out_map == b->out_map && a->rate.up == b->rate.up &&
           a->rate.down == b->rate.down && a->in.raw == b->in.raw && a->in.parts == b->in.parts &&
           a->out.parts == b->out.parts;
}

/* The frames begun are forgotten, for RESET empties the arcs, unless those go on too. */
static void start(converter_t *v, const plan_t *p, const tw_node_reset_t *r, bool warm, bool goes_on)
{
    const converter_t old = goes_on ? *v : (converter_t){.pos = warm ? v->pos : 0};
    *v = (converter_t){.p = *p,
                       .magic = tw_node_converter.hash,
                       .pos = old.pos,
                       .in_at = old.in_at,
                       .out_at = old.out_at,
                       .stamp = old.stamp,
                       .frames = old.frames,
                       .work = r->mem[1]};
    v->stage = (uint8_t *)r->mem[0] + tw_round_up(sizeof *v, 8);
    v->table = (float *)(void *)(v->stage + stage_bytes(p));
    v->history = v->table + table_bytes(p) / sizeof(float);
    if (resamples(p) && !warm) {
        tw_resample_design(&p->rate, v->table);
        memset(v->history, 0, history_bytes(p));
    }
}

static tw_err_t reset(converter_t *v, const tw_node_reset_t *r, uint32_t cmd)
{
    plan_t p;
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(tw_bits(cmd, TW_CMD_PRESET) == 0 ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(plan_from(&p, r->fmt[0], r->fmt[1]));
    const uint32_t bytes = tw_round_up(sizeof *v, 8) + stage_bytes(&p) + table_bytes(&p) + history_bytes(&p);
    TW_TRY(r->mem_bytes[0] >= bytes && r->mem_bytes[1] >= 2 * CHUNK * sizeof(double) ? TW_OK : TW_E_IMG_MEM);
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && v->magic == tw_node_converter.hash && same_plan(&v->p, &p) &&
                      stage_bytes(&v->p) == stage_bytes(&p);
    start(v, &p, r, warm, warm && tw_bits(cmd, TW_CMD_TAG) == TW_RESET_GOES_ON);
    return TW_OK;
}

static uint32_t converter(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(inst, data[0].ptr, cmd));
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(inst, data);
        return 0;
    case TW_CMD_SET_PARAMETER:
    case TW_CMD_READ_PARAMETER:
        return tw_node_error(TW_E_PARAM_INDEX);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

/* U1, and whatever fills whole bytes. */
#define TW_RAW(code, NAME, bits, computable) | (uint64_t)((bits) % 8 == 0 ? (bits) != 0 : (computable)) << (code)
const tw_node_desc_t tw_node_converter = {
    .developer = "ARM",
    .name = "arm_stream_converter",
    .hash = 0xA0EA4226u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = 0
#include "engine/base/raw_types.def"
    ,
    .n_mem = 2,
    .mem = {{.a = (sizeof(converter_t) + 7) & ~7u, .align = 8},
            {.a = 2 * CHUNK * sizeof(double), .align = 8, .type = 1}},
    .run = converter,
    .memreq = memreq,
    .presets = 1,
};
