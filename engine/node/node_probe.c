/* node_probe.c - a tap: its stream goes on word for word, and is measured.
 *
 * Measures are those of the last whole window. They are in the numbers of the stream (S16 is -1 .. 1); a sample
 * that is none, or beyond 1e30 in size, is counted and left out. A type without a number is only passed on and counted.
 * With a lock as its transmit arc the node is a sink: it takes all there is.
 *
 *   index name        meaning
 *   1  window      [instants], 1..2^24
 *   2  channel     0 all of them together, 1..32 this one; beyond the stream's: nothing is measured
 *   3  trigger     0 off, 1 a rise through the level, 2 a fall through it, 3 a size above it
 *   4  level       of the trigger, in the stream's numbers
 *   5  arm         SET: forget that it triggered; 1 it stays triggered until armed again, 0 each event counts anew
 *   16 instants    seen since the cold RESET, modulo 2^32
 *   17 windows     measured since then, modulo 2^32
 *   18 rms_db      [dB, 0 = 1.0; -200 silence]
 *   19 peak_db     largest size of a sample
 *   20 min, 21 max, 22 mean    the mean is the direct current
 *   23 dc_db       size of the mean
 *   24 crest_db    peak over rms, 0 in silence
 *   25 bad         samples left out since the cold RESET, modulo 2^32
 *   26 triggered   1 the trigger has seen its event since it was armed
 *   27 triggers    events since the cold RESET, modulo 2^32; with arm 1 at most one each time it is armed
 *   28 trigger_at  `instants` when the last one came
 *
 * The trigger looks at the measured channels; each has its own last sample, a fresh one has none. Only preset 0.
 */
#include "engine/base/fixed.h"
#include "engine/node/convert.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { CHUNK = 64, WINDOW_DEFAULT = 1024, TAG_ARM = 5, CHANNELS = 32 };
enum { TRIGGER_OFF, TRIGGER_RISE, TRIGGER_FALL, TRIGGER_SIZE };
#define LARGEST (double)1e30f /* a float, so that the ends of the range can be SET */

typedef struct values {
    uint32_t window;
    float level;
    uint32_t instants, windows, bad, triggers, trigger_at;
    float rms_db, peak_db, min, max, mean, dc_db, crest_db;
    uint8_t channel, trigger, arm, triggered;
} values_t;

/* A window under way. */
typedef struct sums {
    uint32_t instants, samples;
    double sum, squares, min, max;
} sums_t;

typedef struct probe {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    bool number, sink;
    uint8_t parts; /* numbers a sample: 2 of a complex one, both measured */
    values_t v;
    sums_t now;
    uint32_t known; /* bit c: before[c] is a sample */
    float before[CHANNELS];
} probe_t;

/* ---- parameters -------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
#define COUNTER 0, 4294967295.0, 0
#define NUMBER -LARGEST, LARGEST, 0
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, 0, 1, 1 << 24, WINDOW_DEFAULT, "window", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, CHANNELS, 0, "channel", 1},
    {3, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, TRIGGER_SIZE, 0, "trigger", 1},
    {4, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, -LARGEST, LARGEST, 0.5, "level", 0},
    {TAG_ARM, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0, "arm", 1},
    {16, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "instants", 1},
    {17, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "windows", 1},
    {18, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "rms_db", 0},
    {19, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "peak_db", 0},
    {20, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, NUMBER, "min", 0},
    {21, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, NUMBER, "max", 0},
    {22, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, NUMBER, "mean", 0},
    {23, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "dc_db", 0},
    {24, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, 0, 1000, 0, "crest_db", 0},
    {25, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "bad", 1},
    {26, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "triggered", 1},
    {27, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "triggers", 1},
    {28, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "trigger_at", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, window),    offsetof(values_t, channel),  offsetof(values_t, trigger),
    offsetof(values_t, level),     offsetof(values_t, arm),      offsetof(values_t, instants),
    offsetof(values_t, windows),   offsetof(values_t, rms_db),   offsetof(values_t, peak_db),
    offsetof(values_t, min),       offsetof(values_t, max),      offsetof(values_t, mean),
    offsetof(values_t, dc_db),     offsetof(values_t, crest_db), offsetof(values_t, bad),
    offsetof(values_t, triggered), offsetof(values_t, triggers), offsetof(values_t, trigger_at),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* A changed channel or window begins a new window; measures stay until it is whole. */
static void put(probe_t *p, uint32_t tag, const tw_xdm_t *data)
{
    const uint32_t window = p->v.window;
    const uint8_t channel = p->v.channel, trigger = p->v.trigger;
    (void)tw_param_put(&store, &p->v, tag, data);
    if (p->v.window != window || p->v.channel != channel) {
        p->now = (sums_t){0};
    }
    if (p->v.trigger != trigger || p->v.channel != channel) {
        p->known = 0;
    }
    if (tag == TAG_ARM) {
        p->v.triggered = 0;
    }
}

/* ---- measuring ---------------------------------------------------------------- */

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

static void close_window(probe_t *p)
{
    const sums_t *s = &p->now;
    const double n = s->samples != 0 ? s->samples : 1, mean = s->sum / n;
    const double peak = magnitude(s->min) > magnitude(s->max) ? magnitude(s->min) : magnitude(s->max);
    /* relative to the peak, so that the square of a large number stays a float */
    const double part = peak > 0 ? s->squares / n / peak / peak : 0;
    const float root = tw_sqrtf((float)part), crest = root > 0.0f ? -tw_gain_to_db(root) : 0.0f;
    p->v.peak_db = tw_gain_to_db((float)peak);
    p->v.rms_db = tw_gain_to_db((float)peak * root);
    p->v.crest_db = crest > 0.0f ? crest : 0.0f;
    p->v.min = (float)s->min;
    p->v.max = (float)s->max;
    p->v.mean = (float)mean;
    p->v.dc_db = tw_gain_to_db((float)magnitude(mean));
    p->v.windows++;
    p->now = (sums_t){0};
}

static bool event(const probe_t *p, uint32_t c, double was, double is)
{
    const double level = (double)p->v.level;
    const bool known = (p->known >> c & 1u) != 0;
    switch (p->v.trigger) {
    case TRIGGER_RISE:
        return known && was < level && is >= level;
    case TRIGGER_FALL:
        return known && was > level && is <= level;
    case TRIGGER_SIZE:
        return magnitude(is) > level && !(known && magnitude(was) > level);
    default:
        return false;
    }
}

static void look_for_event(probe_t *p, uint32_t c, const double *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(magnitude(x[i]) <= LARGEST)) {
            continue;
        }
        const bool waits = p->v.arm == 0 || p->v.triggered == 0;
        if (event(p, c, (double)p->before[c], x[i]) && waits) {
            p->v.triggered = 1;
            p->v.triggers++;
            p->v.trigger_at = p->v.instants + i;
        }
        p->before[c] = (float)x[i];
        p->known |= 1u << c;
    }
}

static void add(probe_t *p, const double *x, uint32_t n)
{
    sums_t *s = &p->now;
    for (uint32_t i = 0; i < n; i++) {
        if (!(magnitude(x[i]) <= LARGEST)) {
            p->v.bad++;
            continue;
        }
        s->min = s->samples == 0 || x[i] < s->min ? x[i] : s->min;
        s->max = s->samples == 0 || x[i] > s->max ? x[i] : s->max;
        s->sum += x[i];
        s->squares += x[i] * x[i];
        s->samples++;
    }
}

static void one_channel(probe_t *p, const uint8_t *in, uint32_t c, uint32_t t, uint32_t n)
{
    double x[CHUNK];
    const uint32_t raw = p->shape.raw == TW_RAW_CQ15    ? TW_RAW_Q15
                         : p->shape.raw == TW_RAW_CFP32 ? TW_RAW_FP32
                                                        : p->shape.raw;
    for (uint32_t part = 0; part < p->parts; part++) {
        tw_convert_load(raw, in, tw_shape_at(&p->shape, t, c) * p->parts + part,
                        (size_t)tw_shape_step(&p->shape) * p->parts, n, x);
        add(p, x, n);
        if (part == 0 && p->v.trigger != TRIGGER_OFF) {
            look_for_event(p, c, x, n);
        }
    }
}

static void measure(probe_t *p, const uint8_t *in, uint32_t n)
{
    const uint32_t first = p->v.channel != 0 ? p->v.channel - 1u : 0;
    const uint32_t end = p->v.channel != 0 ? tw_min_u32(p->v.channel, p->shape.channels) : p->shape.channels;
    for (uint32_t t = 0, len = 0; t < n; t += len) {
        len = tw_min_u32(tw_min_u32(tw_shape_run(&p->shape, t, n), CHUNK), p->v.window - p->now.instants);
        for (uint32_t c = first; c < end && p->number; c++) {
            one_channel(p, in, c, t, len);
        }
        p->v.instants += len;
        p->now.instants += len;
        if (p->now.instants >= p->v.window) {
            close_window(p);
        }
    }
}

static void run(probe_t *p, tw_xdm_t *data)
{
    const uint32_t room = p->sink ? data[0].bytes : data[1].bytes;
    const uint32_t n = tw_shape_instants(&p->shape, tw_min_u32(data[0].bytes, room));
    const uint32_t bytes = tw_shape_bytes(&p->shape, n);
    measure(p, data[0].ptr, n);
    if (!p->sink && bytes != 0) {
        memmove(data[1].ptr, data[0].ptr, bytes); /* both may be one place */
    }
    data[0].bytes = bytes;
    data[1].bytes = p->sink ? 0 : bytes;
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx, (void)extra;
    return tw_shape_memreq(&tw_node_probe, fmt, arc);
}

/* A lock's format does not matter, but both are there. */
static tw_err_t look_at_arcs(const tw_node_reset_t *r, uint32_t cmd, bool sink, tw_shape_t *in)
{
    tw_shape_t out;
    if (sink) {
        TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
        TW_TRY(tw_node_probe.presets >> tw_bits(cmd, TW_CMD_PRESET) & 1 ? TW_OK : TW_E_PARAM_PRESET);
        return tw_shape_from(in, r->fmt[0], tw_node_probe.raw_mask);
    }
    TW_TRY(tw_shape_reset(&tw_node_probe, r, cmd, in, &out));
    return tw_shape_same(in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT;
}

static tw_err_t reset(probe_t *p, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    const bool sink = (r->lock >> 1 & 1u) != 0;
    TW_TRY(look_at_arcs(r, cmd, sink, &in));
    TW_TRY(r->mem_bytes[0] >= sizeof *p ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && p->magic == tw_node_probe.hash && tw_shape_same(&p->shape, &in) &&
                      p->shape.raw == in.raw;
    values_t kept = p->v;
    if (!warm) {
        *p = (probe_t){.magic = tw_node_probe.hash};
        kept = (values_t){.rms_db = -200.0f, .peak_db = -200.0f, .dc_db = -200.0f};
    }
    const bool pair = in.raw == TW_RAW_CQ15 || in.raw == TW_RAW_CFP32;
    p->shape = in;
    p->sink = sink;
    p->number = pair || tw_convert_numeric(in.raw);
    p->parts = pair ? 2 : 1;
    kept.window = WINDOW_DEFAULT;
    kept.level = 0.5f;
    kept.channel = kept.trigger = kept.arm = 0;
    p->now = p->v.window == WINDOW_DEFAULT && p->v.channel == 0 ? p->now : (sums_t){0};
    p->v = kept;
    return TW_OK;
}

static uint32_t probe(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    probe_t *p = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(p, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        put(p, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &p->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(p, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_probe = {
    .developer = "ARM",
    .name = "arm_stream_probe",
    .hash = 0xCD884578u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_BYTES,
    .n_mem = 1,
    .mem = {{.a = sizeof(probe_t), .align = 8}},
    .run = probe,
    .memreq = memreq,
    .params = params,
    .presets = 1,
};
