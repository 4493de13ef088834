/* node_router.c - channels moved and merged between up to 8 arcs.
 *
 * A move takes one channel of a receive arc to one channel of a transmit arc. Channels nobody writes are zero;
 * several moves to one channel add up, saturated at the type's ends. A lone move copies its words, so any type
 * of whole bytes goes through unchanged; adding needs a type with a number (convert.h), or a complex one.
 *
 *   index name       meaning
 *   1     n_in       receive arcs; 0 or exactly as many as the node has
 *   2     n_out      transmit arcs, likewise
 *   3..34 move_1..32 {source arc, its channel, destination arc, its channel}; a negative number: no move.
 *                    Receive arcs count from 0, transmit arcs from n_in (the number of receive arcs) on
 *   40    fade_ms    a changed table takes over within this time [ms]; types without a number at once
 *
 * An index-256 block is a whole table: moves behind its end go. Arcs and channels that are not there, and moves that
 * cannot be added, are refused by the first RUN after the SETs, which puts all of them back (PARAM_MATCH).
 * Presets: 0 no move, silence; 1 straight: channels in the order of arcs, as far as both sides reach.
 *
 * While a change fades, the output is old + (new - old) * k/n, computed in double precision and rounded to nearest, for
 * k = 1..n, n = fade_ms of the rate (of 1 kHz where the stream has none).
 */
#include "engine/node/convert.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { ARCS = 8, MOVES = 32, CHUNK = 64, FIRST_MOVE = 3, PRESET_STRAIGHT = 1 };
#define FADE_MS_DEFAULT 5.0f

typedef struct move {
    int16_t from, from_ch, to, to_ch;
} move_t;

typedef struct values {
    uint8_t n_in, n_out;
    move_t moves[MOVES];
    float fade_ms;
} values_t;

/* A table as RUN wants it: sorted by destination. `to` counts all arcs of the node. */
typedef struct route {
    uint8_t from, from_ch, to, to_ch;
} route_t;
typedef struct routes {
    uint32_t n;
    route_t r[MOVES];
} routes_t;

typedef struct router {
    uint32_t magic; /* the node's hash once RESET */
    uint8_t rx, tx;
    bool changed; /* `wanted` was SET and not looked at */
    bool waiting; /* `good` is not yet `live`, a fade is under way */
    bool heard;   /* a RUN has happened since the cold RESET: changes fade */
    bool number;  /* samples can be added */
    float rate_hz;
    tw_shape_t shape[ARCS];
    values_t wanted, good;
    routes_t live, old;
    uint32_t fade, left; /* [instants] */
} router_t;

/* ---- parameters -------------------------------------------------------------- */

#define MOVE_ROW(k)                                                                                         \
    {                                                                                                       \
        FIRST_MOVE - 1 + (k), TW_RAW_S16, 4, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, -1, 31, -1, "move_" #k, 1 \
    }
#define MOVE_AT(k) offsetof(values_t, moves) + sizeof(move_t) * ((k)-1)
#define EIGHT(X, a, b, c, d, e, f, g, h) X(a), X(b), X(c), X(d), X(e), X(f), X(g), X(h)
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 0, ARCS - 1, 0, "n_in", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 0, ARCS - 1, 0, "n_out", 1},
    EIGHT(MOVE_ROW, 1, 2, 3, 4, 5, 6, 7, 8),
    EIGHT(MOVE_ROW, 9, 10, 11, 12, 13, 14, 15, 16),
    EIGHT(MOVE_ROW, 17, 18, 19, 20, 21, 22, 23, 24),
    EIGHT(MOVE_ROW, 25, 26, 27, 28, 29, 30, 31, 32),
    {40, TW_RAW_FP32, 1, TW_NODE_UNIT_MS, TW_PARAM_NOT_IN_ALL, 0, 1000, (double)FADE_MS_DEFAULT, "fade_ms", 0},
};
static const uint16_t at[] = {
    offsetof(values_t, n_in),
    offsetof(values_t, n_out),
    EIGHT(MOVE_AT, 1, 2, 3, 4, 5, 6, 7, 8),
    EIGHT(MOVE_AT, 9, 10, 11, 12, 13, 14, 15, 16),
    EIGHT(MOVE_AT, 17, 18, 19, 20, 21, 22, 23, 24),
    EIGHT(MOVE_AT, 25, 26, 27, 28, 29, 30, 31, 32),
    offsetof(values_t, fade_ms),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static bool is_move(const move_t *m)
{
    return m->from >= 0 && m->from_ch >= 0 && m->to >= 0 && m->to_ch >= 0;
}

/* Insertion keeps moves to one channel in the order of the table. */
static void insert(routes_t *t, route_t r)
{
    uint32_t i = t->n++;
    for (; i > 0 && (t->r[i - 1].to > r.to || (t->r[i - 1].to == r.to && t->r[i - 1].to_ch > r.to_ch)); i--) {
        t->r[i] = t->r[i - 1];
    }
    t->r[i] = r;
}

static bool can_add(const router_t *r, const routes_t *t)
{
    for (uint32_t i = 1; i < t->n && !r->number; i++) {
        if (t->r[i].to == t->r[i - 1].to && t->r[i].to_ch == t->r[i - 1].to_ch) {
            return false;
        }
    }
    return true;
}

/* @return false when the moves name what is not there, or add what cannot be added */
static bool build(const router_t *r, const values_t *v, routes_t *t)
{
    t->n = 0;
    if ((v->n_in != 0 && v->n_in != r->rx) || (v->n_out != 0 && v->n_out != r->tx)) {
        return false;
    }
    for (uint32_t i = 0; i < MOVES; i++) {
        const move_t *m = &v->moves[i];
        if (!is_move(m)) {
            continue;
        }
        if (m->from >= r->rx || m->to < r->rx || m->to >= r->rx + r->tx || m->from_ch >= r->shape[m->from].channels ||
            m->to_ch >= r->shape[m->to].channels) {
            return false;
        }
        insert(t, (route_t){(uint8_t)m->from, (uint8_t)m->from_ch, (uint8_t)m->to, (uint8_t)m->to_ch});
    }
    return can_add(r, t);
}

static void put(router_t *r, uint32_t tag, const tw_xdm_t *data)
{
    if (tag == TW_TAG_ALL) {
        for (uint32_t i = tw_param_rows_given(&store, data->bytes); i < MOVES + FIRST_MOVE - 1; i++) {
            if (i >= FIRST_MOVE - 1) {
                r->wanted.moves[i - (FIRST_MOVE - 1)] = (move_t){-1, -1, -1, -1};
            }
        }
    }
    (void)tw_param_put(&store, &r->wanted, tag, data);
    r->changed = true;
}

static uint32_t fade_of(const router_t *r)
{
    const float rate = r->rate_hz > 0.0f ? r->rate_hz : 1000.0f;
    const float n = r->good.fade_ms * 0.001f * rate;
    return r->heard && r->number && n >= 1.0f ? (uint32_t)(n < 1e6f ? n : 1e6f) : 0;
}

/* What was SET, once per RUN: refused whole, or next in line. */
static uint32_t look_at_wanted(router_t *r)
{
    routes_t unused;
    r->changed = false;
    if (!build(r, &r->wanted, &unused)) {
        r->wanted = r->good;
        return tw_node_error(TW_E_PARAM_MATCH);
    }
    r->good = r->wanted;
    r->waiting = true;
    return 0;
}

static void take_good(router_t *r)
{
    r->old = r->live;
    (void)build(r, &r->good, &r->live);
    r->waiting = false;
    r->fade = r->left = fade_of(r);
}

/* ---- signal ------------------------------------------------------------------- */

static bool complex_type(uint32_t raw)
{
    return raw == TW_RAW_CQ15 || raw == TW_RAW_CFP32;
}

/* Words from stride to stride [samples]. */
static void move_words(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, uint32_t n, uint32_t size)
{
    for (uint32_t i = 0; i < n; i++, to += to_step * size, from += from_step * size) {
        switch (size) { /* constant sizes become plain loads and stores */
        case 1:
            *to = *from;
            break;
        case 2:
            memcpy(to, from, 2);
            break;
        case 4:
            memcpy(to, from, 4);
            break;
        default:
            memcpy(to, from, size);
        }
    }
}

static void clear_words(uint8_t *to, size_t step, uint32_t n, uint32_t size)
{
    for (uint32_t i = 0; i < n; i++, to += step * size) {
        memset(to, 0, size);
    }
}

/* The moves of one destination channel. */
typedef struct stretch {
    const route_t *r;
    uint32_t n;
} stretch_t;

static stretch_t moves_to(const routes_t *t, uint32_t to, uint32_t ch)
{
    uint32_t first = 0;
    while (first < t->n && (t->r[first].to < to || (t->r[first].to == to && t->r[first].to_ch < ch))) {
        first++;
    }
    uint32_t end = first;
    while (end < t->n && t->r[end].to == to && t->r[end].to_ch == ch) {
        end++;
    }
    return (stretch_t){t->r + first, end - first};
}

/* `part` of `parts` of each sample: complex ones are two numbers side by side. */
typedef struct part {
    uint32_t raw, part, parts;
} part_t;

static void sum(const router_t *r, const tw_xdm_t *data, stretch_t m, part_t p, uint32_t t, uint32_t n, double *acc)
{
    double one[CHUNK];
    for (uint32_t i = 0; i < n; i++) {
        acc[i] = 0;
    }
    for (uint32_t k = 0; k < m.n; k++) {
        const tw_shape_t *s = &r->shape[m.r[k].from];
        const size_t where = tw_shape_at(s, t, m.r[k].from_ch) * p.parts + p.part;
        tw_convert_load(p.raw, data[m.r[k].from].ptr, where, (size_t)tw_shape_step(s) * p.parts, n, one);
        for (uint32_t i = 0; i < n; i++) {
            acc[i] += one[i];
        }
    }
}

/* At most CHUNK instants of one channel by way of numbers. */
static void mix(const router_t *r, const tw_xdm_t *data, uint32_t to, uint32_t ch, uint32_t t, uint32_t n)
{
    const tw_shape_t *s = &r->shape[to];
    const bool pair = complex_type(s->raw);
    part_t p = {pair ? s->raw == TW_RAW_CQ15 ? TW_RAW_Q15 : TW_RAW_FP32 : s->raw, 0, pair ? 2 : 1};
    for (; p.part < p.parts; p.part++) {
        double now[CHUNK], was[CHUNK];
        sum(r, data, moves_to(&r->live, to, ch), p, t, n, now);
        if (r->left > 0) {
            sum(r, data, moves_to(&r->old, to, ch), p, t, n, was);
            for (uint32_t i = 0; i < n; i++) {
                now[i] = was[i] + (now[i] - was[i]) * ((double)(r->fade - r->left + i + 1) / r->fade);
            }
        }
        tw_convert_store(p.raw, data[to].ptr, tw_shape_at(s, t, ch) * p.parts + p.part,
                         (size_t)tw_shape_step(s) * p.parts, n, now);
    }
}

static bool same_moves(stretch_t a, stretch_t b)
{
    bool same = a.n == b.n;
    for (uint32_t i = 0; same && i < a.n; i++) {
        same = a.r[i].from == b.r[i].from && a.r[i].from_ch == b.r[i].from_ch;
    }
    return same;
}

static void one_channel(const router_t *r, const tw_xdm_t *data, uint32_t to, uint32_t ch, uint32_t t, uint32_t n)
{
    const tw_shape_t *s = &r->shape[to];
    const stretch_t m = moves_to(&r->live, to, ch);
    uint8_t *out = (uint8_t *)data[to].ptr + tw_shape_at(s, t, ch) * s->size;
    if (m.n > 1 || (r->left > 0 && !same_moves(m, moves_to(&r->old, to, ch)))) {
        mix(r, data, to, ch, t, n);
    } else if (m.n == 0) {
        clear_words(out, tw_shape_step(s), n, s->size);
    } else {
        const tw_shape_t *from = &r->shape[m.r->from];
        const uint8_t *in = (const uint8_t *)data[m.r->from].ptr + tw_shape_at(from, t, m.r->from_ch) * s->size;
        move_words(out, tw_shape_step(s), in, tw_shape_step(from), n, s->size);
    }
}

static uint32_t run(router_t *r, tw_xdm_t *data)
{
    const uint32_t arcs = (uint32_t)r->rx + r->tx, n = tw_shape_all_instants(r->shape, data, arcs);
    const uint32_t result = r->changed ? look_at_wanted(r) : 0;
    for (uint32_t t = 0, len = 0; t < n; t += len) {
        if (r->waiting && r->left == 0) {
            take_good(r);
        }
        len = tw_min_u32(tw_shape_all_run(r->shape, arcs, t, n), CHUNK);
        len = r->left > 0 ? tw_min_u32(len, r->left) : len;
        for (uint32_t to = r->rx; to < arcs; to++) {
            for (uint32_t c = 0; c < r->shape[to].channels; c++) {
                one_channel(r, data, to, c, t, len);
            }
        }
        r->left -= tw_min_u32(r->left, len);
        r->heard = true;
    }
    for (uint32_t i = 0; i < arcs; i++) {
        data[i].bytes = tw_shape_bytes(&r->shape[i], n);
    }
    return result;
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)extra;
    tw_shape_t shape[TW_MAX_NODE_ARCS];
    TW_TRY(tw_shape_all(&tw_node_router, fmt, rx + tx, arc, shape));
    *arc = ARCS;
    return rx + tx <= ARCS ? TW_OK : TW_E_IMG_NODE;
}

/* Channel after channel of all receive arcs to channel after channel of all transmit arcs. */
static void straight(const router_t *r, values_t *v)
{
    int16_t from = 0, from_ch = 0;
    uint32_t n = 0;
    for (int16_t to = r->rx; to < r->rx + r->tx; to++) {
        for (int16_t ch = 0; ch < r->shape[to].channels && from < r->rx && n < MOVES; ch++) {
            v->moves[n++] = (move_t){from, from_ch, to, ch};
            const bool last = ++from_ch == r->shape[from].channels;
            from = (int16_t)(from + last);
            from_ch = last ? 0 : from_ch;
        }
    }
}

static void preset(const router_t *r, uint32_t p, values_t *v)
{
    *v = (values_t){.fade_ms = FADE_MS_DEFAULT};
    for (uint32_t i = 0; i < MOVES; i++) {
        v->moves[i] = (move_t){-1, -1, -1, -1};
    }
    if (p == PRESET_STRAIGHT) {
        straight(r, v);
    }
}

static bool same_arcs(const router_t *r, const tw_node_reset_t *reset, const tw_shape_t *shape)
{
    bool same = r->rx == reset->rx && r->tx == reset->tx;
    for (uint32_t i = 0; same && i < (uint32_t)reset->rx + reset->tx; i++) {
        same = tw_shape_same(&r->shape[i], &shape[i]) && r->shape[i].raw == shape[i].raw;
    }
    return same;
}

static tw_err_t reset(router_t *r, const tw_node_reset_t *reset, uint32_t cmd)
{
    tw_shape_t shape[TW_MAX_NODE_ARCS];
    uint32_t arc = 0;
    const uint32_t arcs = (uint32_t)reset->rx + reset->tx;
    TW_TRY(reset->rx >= 1 && reset->tx >= 1 && arcs <= ARCS ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(tw_shape_all(&tw_node_router, reset->fmt, arcs, &arc, shape));
    TW_TRY(tw_node_router.presets >> tw_bits(cmd, TW_CMD_PRESET) & 1 ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(reset->mem_bytes[0] >= sizeof *r ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && r->magic == tw_node_router.hash && same_arcs(r, reset, shape);
    if (!warm) {
        *r = (router_t){.magic = tw_node_router.hash, .rx = reset->rx, .tx = reset->tx};
    }
    memcpy(r->shape, shape, sizeof(tw_shape_t) * arcs);
    r->number = tw_convert_numeric(shape[0].raw) || complex_type(shape[0].raw);
    r->rate_hz = reset->fmt[0]->rate_hz;
    preset(r, tw_bits(cmd, TW_CMD_PRESET), &r->wanted);
    r->good = r->wanted;
    r->changed = true;
    return TW_OK;
}

static uint32_t router(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    router_t *r = inst;
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
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_router = {
    .developer = "ARM",
    .name = "arm_stream_router",
    .hash = 0x47BC1567u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = ARCS - 1,
    .tx_min = 1,
    .tx_max = ARCS - 1,
    .raw_mask = TW_RAW_MASK_BYTES,
    .n_mem = 1,
    .mem = {{.a = sizeof(router_t), .align = 8}},
    .run = router,
    .memreq = memreq,
    .params = params,
    .presets = 0x3, /* 0 = silence, 1 = straight */
};
