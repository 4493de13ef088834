/* node_rescaler.c - every sample through a table of up to 32 points, straight lines between them.
 *
 * Points are numbers of the stream (S16 is -1 .. 1, FP32 its own values); their inputs rise. Below the first point
 * the first output holds, above the last one the last. No point: what comes in goes out. One point: its output.
 *
 *   index name       meaning
 *   1..32 point_1..  {input, output}, any size up to 1e30; inputs rise strictly among the points in use
 *   40    points     how many of them are in use, from the first on
 *   41    fade_ms    a changed table takes over within this time [ms]
 *
 * An index-256 block is a whole table: it sets `points` to as many as it brings. Points of one such block that do
 * not rise are refused at once (PARAM_ORDER, at the point that does not); points SET one by one are looked at
 * together by the first RUN after the SETs, which puts all of them back. Only preset 0.
 *
 * S16, Q15, FP32 in single precision; Q31 in double. Back to words: to nearest, halves away from zero, saturated.
 * NaN takes the last point's output. While a change fades, y = old + (new - old) * k/n, k = 1..n.
 */
#include "engine/base/fixed.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { POINTS = 32, TAG_POINTS = 40 };
#define FADE_MS_DEFAULT 5.0f
#define Q31_ONE 2147483648.0
#define LARGEST (double)1e30f /* a float, so that the ends of the range can be SET */

typedef struct point {
    float in, out;
} point_t;

typedef struct values {
    point_t point[POINTS];
    float fade_ms;
    uint8_t points;
} values_t;

/* y = out + slope * (x - in) from a point to the next. */
typedef struct table {
    uint32_t n;
    point_t p[POINTS];
    float slope[POINTS];
} table_t;

typedef struct rescaler {
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    float rate_hz;
    bool changed; /* `wanted` was SET and not looked at */
    bool waiting; /* `good` is not yet `live`, a fade is under way */
    bool heard;   /* a RUN has happened since the cold RESET: changes fade */
    values_t wanted, good;
    table_t live, old;
    uint32_t fade, left; /* [instants] */
} rescaler_t;

/* ---- parameters -------------------------------------------------------------- */

#define POINT_ROW(k)                                                                                 \
    {                                                                                                \
        k, TW_RAW_FP32, 2, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, -LARGEST, LARGEST, 0, "point_" #k, 0 \
    }
#define POINT_AT(k) offsetof(values_t, point) + sizeof(point_t) * ((k)-1)
#define EIGHT(X, a, b, c, d, e, f, g, h) X(a), X(b), X(c), X(d), X(e), X(f), X(g), X(h)
#define ALONE (TW_PARAM_NOT_IN_ALL | TW_PARAM_SMOOTHED)
static const tw_param_desc_t rows[] = {
    EIGHT(POINT_ROW, 1, 2, 3, 4, 5, 6, 7, 8),
    EIGHT(POINT_ROW, 9, 10, 11, 12, 13, 14, 15, 16),
    EIGHT(POINT_ROW, 17, 18, 19, 20, 21, 22, 23, 24),
    EIGHT(POINT_ROW, 25, 26, 27, 28, 29, 30, 31, 32),
    {TAG_POINTS, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, ALONE, 0, POINTS, 0, "points", 1},
    {41, TW_RAW_FP32, 1, TW_NODE_UNIT_MS, TW_PARAM_NOT_IN_ALL, 0, 1000, (double)FADE_MS_DEFAULT, "fade_ms", 0},
};
static const uint16_t at[] = {
    EIGHT(POINT_AT, 1, 2, 3, 4, 5, 6, 7, 8),
    EIGHT(POINT_AT, 9, 10, 11, 12, 13, 14, 15, 16),
    EIGHT(POINT_AT, 17, 18, 19, 20, 21, 22, 23, 24),
    EIGHT(POINT_AT, 25, 26, 27, 28, 29, 30, 31, 32),
    offsetof(values_t, points),
    offsetof(values_t, fade_ms),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static tw_err_t validate(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    (void)fmt;
    for (uint32_t i = 1; tag == TW_TAG_ALL && i < bytes / sizeof(point_t); i++) {
        if (!(tw_get_f32(value + i * sizeof(point_t)) > tw_get_f32(value + (i - 1) * sizeof(point_t)))) {
            *fault = (tw_fault_t){.err = TW_E_PARAM_ORDER, .at = rows[i].index};
            return TW_E_PARAM_ORDER;
        }
    }
    return TW_OK;
}

static bool rises(const values_t *v)
{
    for (uint32_t i = 1; i < v->points; i++) {
        if (!(v->point[i].in > v->point[i - 1].in)) {
            return false;
        }
    }
    return true;
}

static void build(const values_t *v, table_t *t)
{
    t->n = v->points;
    for (uint32_t i = 0; i < t->n; i++) {
        t->p[i] = v->point[i];
        t->slope[i] = 0.0f;
        if (i > 0) { /* in double: two ends of the range are further apart than a float's precision likes */
            const double dx = (double)t->p[i].in - (double)t->p[i - 1].in;
            const double slope = ((double)t->p[i].out - (double)t->p[i - 1].out) / dx;
            t->slope[i - 1] = (float)(slope > 3e38 ? 3e38 : slope < -3e38 ? -3e38 : slope);
        }
    }
}

static void put(rescaler_t *r, uint32_t tag, const tw_xdm_t *data)
{
    if (tw_param_put(&store, &r->wanted, tag, data) != 0) {
        r->changed = true;
    }
    if (tag == TW_TAG_ALL) {
        r->wanted.points = (uint8_t)tw_min_u32(data->bytes / sizeof(point_t), POINTS);
    }
}

static uint32_t fade_of(const rescaler_t *r)
{
    const float rate = r->rate_hz > 0.0f ? r->rate_hz : 1000.0f;
    const float n = r->good.fade_ms * 0.001f * rate;
    return r->heard && n >= 1.0f ? (uint32_t)(n < 1e6f ? n : 1e6f) : 0;
}

static uint32_t look_at_wanted(rescaler_t *r)
{
    r->changed = false;
    if (!rises(&r->wanted)) {
        r->wanted = r->good;
        return tw_node_error(TW_E_PARAM_ORDER);
    }
    r->good = r->wanted;
    r->waiting = true;
    return 0;
}

static void take_good(rescaler_t *r)
{
    r->old = r->live;
    build(&r->good, &r->live);
    r->waiting = false;
    r->fade = r->left = fade_of(r);
}

/* ---- signal ------------------------------------------------------------------- */

/* The line `x` is on: found from where the last sample was, since signals seldom jump. n >= 2, x inside. */
static uint32_t line_of(const table_t *t, uint32_t line, double x)
{
    while (x < (double)t->p[line].in) {
        line--;
    }
    while (x >= (double)t->p[line + 1].in) {
        line++;
    }
    return line;
}

static bool outside(const table_t *t, double x, float *y)
{
    if (t->n != 0 && x > (double)t->p[0].in && x < (double)t->p[t->n - 1].in) {
        return false;
    }
    const bool low = t->n == 0 || x <= (double)t->p[0].in;
    *y = t->n == 0 ? (float)x : t->p[low ? 0 : t->n - 1].out;
    return true;
}

static float look_up_f32(const table_t *t, float x, uint32_t *line)
{
    float y;
    if (!outside(t, (double)x, &y)) {
        *line = line_of(t, *line, (double)x);
        y = t->p[*line].out + t->slope[*line] * (x - t->p[*line].in);
    }
    return y;
}

static double look_up_f64(const table_t *t, double x, uint32_t *line)
{
    float end;
    if (t->n == 0) {
        return x;
    }
    if (outside(t, x, &end)) {
        return (double)end;
    }
    *line = line_of(t, *line, x);
    const point_t *a = &t->p[*line], *b = a + 1;
    return (double)a->out + ((double)b->out - (double)a->out) * ((x - (double)a->in) / ((double)b->in - (double)a->in));
}

static float load_f32(const rescaler_t *r, const void *in, size_t i)
{
    return r->shape.raw == TW_RAW_FP32 ? ((const float *)in)[i] : (float)((const int16_t *)in)[i] * (1.0f / 32768.0f);
}

static void store_f32(const rescaler_t *r, void *out, size_t i, float y)
{
    if (r->shape.raw == TW_RAW_FP32) {
        ((float *)out)[i] = y;
        return;
    }
    const float v = y * 32768.0f;
    const float inside = v >= 32767.0f ? 32767.0f : v <= -32768.0f ? -32768.0f : v;
    ((int16_t *)out)[i] = (int16_t)(int32_t)(inside + (inside < 0 ? -0.5f : 0.5f));
}

static void chunk_f32(const rescaler_t *r, const void *in, void *out, uint32_t n, uint32_t step)
{
    uint32_t line = 0, old_line = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float x = load_f32(r, in, (size_t)i * step);
        float y = look_up_f32(&r->live, x, &line);
        if (r->left > 0) {
            const float was = look_up_f32(&r->old, x, &old_line);
            y = was + (y - was) * ((float)(r->fade - r->left + i + 1) / (float)r->fade);
        }
        store_f32(r, out, (size_t)i * step, y);
    }
}

static int32_t to_q31(double y)
{
    const double v = y * Q31_ONE;
    return v >= Q31_ONE - 1.0 ? INT32_MAX : v <= -Q31_ONE ? INT32_MIN : (int32_t)(int64_t)(v + (v < 0 ? -0.5 : 0.5));
}

static void chunk_q31(const rescaler_t *r, const int32_t *in, int32_t *out, uint32_t n, uint32_t step)
{
    uint32_t line = 0, old_line = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double x = (double)in[(size_t)i * step] / Q31_ONE;
        double y = look_up_f64(&r->live, x, &line);
        if (r->left > 0) {
            const double was = look_up_f64(&r->old, x, &old_line);
            y = was + (y - was) * ((double)(r->fade - r->left + i + 1) / (double)r->fade);
        }
        out[(size_t)i * step] = to_q31(y);
    }
}

static uint32_t run(rescaler_t *r, tw_xdm_t *data)
{
    const tw_shape_t *s = &r->shape;
    const uint32_t n = tw_shape_instants(s, tw_min_u32(data[0].bytes, data[1].bytes));
    const uint32_t result = r->changed ? look_at_wanted(r) : 0;
    for (uint32_t t = 0, len = 0; t < n; t += len) {
        if (r->waiting && r->left == 0) {
            take_good(r);
        }
        len = tw_shape_run(s, t, n);
        len = r->left > 0 ? tw_min_u32(len, r->left) : len;
        for (uint32_t c = 0; c < s->channels; c++) {
            const size_t where = tw_shape_at(s, t, c) * s->size;
            const void *in = (const uint8_t *)data[0].ptr + where;
            void *out = (uint8_t *)data[1].ptr + where;
            if (s->raw == TW_RAW_Q31) {
                chunk_q31(r, in, out, len, tw_shape_step(s));
            } else {
                chunk_f32(r, in, out, len, tw_shape_step(s));
            }
        }
        r->left -= tw_min_u32(r->left, len);
        r->heard = true;
    }
    data[0].bytes = data[1].bytes = tw_shape_bytes(s, n);
    return result;
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx, (void)extra;
    return tw_shape_memreq(&tw_node_rescaler, fmt, arc);
}

static tw_err_t reset(rescaler_t *r, const tw_node_reset_t *reset, uint32_t cmd)
{
    tw_shape_t in;
    tw_shape_t out;
    TW_TRY(tw_shape_reset(&tw_node_rescaler, reset, cmd, &in, &out));
    TW_TRY(tw_shape_same(&in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT);
    TW_TRY(reset->mem_bytes[0] >= sizeof *r ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && r->magic == tw_node_rescaler.hash && tw_shape_same(&r->shape, &in);
    if (!warm) {
        *r = (rescaler_t){.magic = tw_node_rescaler.hash};
    }
    r->shape = in;
    r->rate_hz = reset->fmt[0]->rate_hz;
    r->good = r->wanted = (values_t){.fade_ms = FADE_MS_DEFAULT};
    r->changed = true;
    return TW_OK;
}

static uint32_t rescaler(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    rescaler_t *r = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(r, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        put(r, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &r->wanted, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        return run(r, data);
    case TW_CMD_UPDATE_RELOCATABLE:
        return tw_node_moved(&tw_node_rescaler, tag);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_rescaler = {
    .developer = "ARM",
    .name = "arm_stream_rescaler",
    .hash = 0xAE587EA3u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_SIGNAL | TW_RAW_BIT(TW_RAW_Q31),
    .n_mem = 1,
    .mem = {{.a = sizeof(rescaler_t), .align = 8, .reloc = 1}},
    .run = rescaler,
    .memreq = memreq,
    .params = params,
    .validate = validate,
    .presets = 1,
};
