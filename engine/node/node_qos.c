/* node_qos.c - streams of clocks of their own, brought into step with one of high quality of service.
 *
 * Output k carries input k. In each RUN the reference, the first high QoS input (the first input where none is), gives
 * n instants, and every other stream gets n out of what it has: when it has fewer, what is missing is made; when it has
 * more than the reference and `slack` beyond, the oldest go. All in whole frames, as arcs count: a clock that is a
 * little slow or fast costs a frame now and then, counted here, and the reference is never held up. The scheduler
 * leaves the other inputs alone (tw_node_desc_t.conceals).
 *
 *   index name       meaning
 *   1  conceal     what a missing instant is: 0 zero, 1 the last one, 2 on the line from the last one to the next that
 *                  came: what is there is spread over the whole (types with a number; others as 1)
 *   2  slack       [instants] of the reference's rate a stream may have in store, as long as its arc has room
 *   16 made        4 ways to count: instants made up, of all streams since the cold RESET, modulo 2^32
 *   17 dropped     instants dropped
 *   18 made_of     8 numbers: of each stream
 *   19 dropped_of  8 numbers
 *   20 empty       RUNs in which some stream had nothing at all
 *
 * All arcs have one rate; type, channels and frame of an output are its input's. 16 and up are read only. Preset 0
 * alone.
 */
#include "engine/node/convert.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { STREAMS = 7, ROWS = 8, CHUNK = 64 };
enum { ZERO, HOLD, STRETCH };

typedef struct values {
    uint32_t slack, made, dropped, empty;
    uint32_t made_of[ROWS], dropped_of[ROWS];
    uint8_t conceal;
} values_t;

typedef struct qos {
    uint32_t magic; /* the node's hash once RESET */
    uint8_t streams, reference;
    values_t v;
    tw_shape_t shape[STREAMS];
    uint32_t at[STREAMS]; /* of each stream's last instant in `last` [bytes] */
    uint8_t last[];       /* one instant of each stream */
} qos_t;

/* ---- parameters -------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
#define COUNTER 0, 4294967295.0, 0
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, ZERO, STRETCH, HOLD, "conceal", 1},
    {2, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, 0, 0, 1 << 20, 0, "slack", 1},
    {16, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "made", 1},
    {17, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "dropped", 1},
    {18, TW_RAW_U32, ROWS, TW_NODE_UNIT_COUNT, METER, COUNTER, "made_of", 1},
    {19, TW_RAW_U32, ROWS, TW_NODE_UNIT_COUNT, METER, COUNTER, "dropped_of", 1},
    {20, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "empty", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, conceal), offsetof(values_t, slack),      offsetof(values_t, made),  offsetof(values_t, dropped),
    offsetof(values_t, made_of), offsetof(values_t, dropped_of), offsetof(values_t, empty),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* ---- one instant ---------------------------------------------------------------- */

/* Every channel of one instant, between a stream and the place its last one is kept. */
static void keep_instant(qos_t *q, uint32_t k, const uint8_t *from, uint32_t t)
{
    const tw_shape_t *s = &q->shape[k];
    for (uint32_t c = 0; c < s->channels; c++) {
        memcpy(q->last + q->at[k] + c * s->size, from + tw_shape_at(s, t, c) * s->size, s->size);
    }
}

static void put_last(const qos_t *q, uint32_t k, uint8_t *to, uint32_t t)
{
    const tw_shape_t *s = &q->shape[k];
    for (uint32_t c = 0; c < s->channels; c++) {
        uint8_t *at_c = to + tw_shape_at(s, t, c) * s->size;
        if (q->v.conceal == ZERO) {
            memset(at_c, 0, s->size);
        } else {
            memcpy(at_c, q->last + q->at[k] + c * s->size, s->size);
        }
    }
}

static void copy_instant(const qos_t *q, uint32_t k, uint8_t *to, uint32_t t, const uint8_t *from, uint32_t from_t)
{
    const tw_shape_t *s = &q->shape[k];
    for (uint32_t c = 0; c < s->channels; c++) {
        memcpy(to + tw_shape_at(s, t, c) * s->size, from + tw_shape_at(s, from_t, c) * s->size, s->size);
    }
}

/* Instant `t` of n, spread from `have`: between the instants around it, the one before the first being the last kept.
 */
static void put_between(const qos_t *q, uint32_t k, uint8_t *to, uint32_t t, uint32_t n, const uint8_t *from,
                        uint32_t have)
{
    const tw_shape_t *s = &q->shape[k];
    const uint64_t place = (uint64_t)(t + 1) * have; /* in 1/n of an instant behind the last kept */
    const uint32_t before = (uint32_t)(place / n);
    const double part = (double)(place % n) / (double)n;
    for (uint32_t c = 0; c < s->channels; c++) {
        double a, b;
        if (before == 0) {
            tw_convert_load(s->raw, q->last + q->at[k], c, 1, 1, &a);
        } else {
            tw_convert_load(s->raw, from, tw_shape_at(s, before - 1, c), 1, 1, &a);
        }
        tw_convert_load(s->raw, from, tw_shape_at(s, before < have ? before : have - 1, c), 1, 1, &b);
        const double y = a + (b - a) * part;
        tw_convert_store(s->raw, to, tw_shape_at(s, t, c), 1, 1, &y);
    }
}

/* ---- a stream -------------------------------------------------------------------- */

/* What a stream of `have` instants has too much beside a reference of `reference`. */
static uint32_t surplus(const qos_t *q, uint32_t k, uint32_t have, uint32_t reference)
{
    const uint64_t most = (uint64_t)reference + q->v.slack;
    uint32_t skip = have > most ? (uint32_t)(have - most) : 0;
    skip -= q->shape[k].samples != 0 ? skip % q->shape[k].samples : 0; /* frames go whole: arcs count in them */
    return skip;
}

/* n instants out of `have`, of which the first `skip` go. @return instants used up */
static uint32_t one_stream(qos_t *q, uint32_t k, const tw_xdm_t *data, uint32_t have, uint32_t skip, uint32_t n)
{
    const uint8_t *from = data[k].ptr;
    uint8_t *to = data[q->streams + k].ptr;
    const uint32_t left = have - skip, real = tw_min_u32(left, n);
    const bool stretch = q->v.conceal == STRETCH && real > 0 && real < n && tw_convert_numeric(q->shape[k].raw);
    for (uint32_t t = 0; t < n; t++) {
        if (stretch) {
            const uint8_t *first = from + tw_shape_bytes(&q->shape[k], skip);
            put_between(q, k, to, t, n, first, real);
        } else if (t < real) {
            copy_instant(q, k, to, t, from, skip + t);
        } else {
            if (t == real && real > 0) {
                keep_instant(q, k, from, skip + real - 1);
            }
            put_last(q, k, to, t);
        }
    }
    if (real > 0) {
        keep_instant(q, k, from, skip + real - 1);
    }
    q->v.made_of[k] += n - real;
    q->v.made += n - real;
    q->v.dropped_of[k] += skip;
    q->v.dropped += skip;
    return skip + real;
}

/* Of the reference: as many as it has, and every output has room for. */
static uint32_t instants(const qos_t *q, const tw_xdm_t *data)
{
    const uint32_t k = q->streams;
    uint32_t n = tw_shape_instants(&q->shape[q->reference], data[q->reference].bytes);
    for (uint32_t i = 0; i < k; i++) {
        n = tw_min_u32(n, tw_shape_instants(&q->shape[i], data[k + i].bytes));
    }
    const uint32_t samples = q->shape[0].samples;
    return samples != 0 ? n - n % samples : n;
}

static void run(qos_t *q, tw_xdm_t *data)
{
    const uint32_t k = q->streams, n = instants(q, data);
    const uint32_t reference = tw_shape_instants(&q->shape[q->reference], data[q->reference].bytes);
    bool empty = false;
    for (uint32_t i = 0; i < k; i++) {
        const uint32_t have = tw_shape_instants(&q->shape[i], data[i].bytes);
        empty |= have == 0 && n != 0;
        const uint32_t used = n != 0 ? one_stream(q, i, data, have, surplus(q, i, have, reference), n) : 0;
        data[i].bytes = tw_shape_bytes(&q->shape[i], used);
        data[k + i].bytes = tw_shape_bytes(&q->shape[i], n);
    }
    q->v.empty += empty;
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t look_at_arcs(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *arc, tw_shape_t *in)
{
    *arc = rx;
    TW_TRY(rx == tx && rx >= 1 && rx <= STREAMS ? TW_OK : TW_E_IMG_NODE);
    for (uint32_t i = 0; i < rx; i++) {
        tw_shape_t out;
        *arc = i;
        TW_TRY(tw_shape_from(&in[i], fmt[i], tw_node_qos.raw_mask));
        const bool one_rate = fmt[0]->rate_hz >= fmt[i]->rate_hz && fmt[0]->rate_hz <= fmt[i]->rate_hz;
        TW_TRY(one_rate && in[i].samples == in[0].samples ? TW_OK : TW_E_IMG_ARC_FORMAT);
        *arc = rx + i;
        TW_TRY(tw_shape_from(&out, fmt[rx + i], tw_node_qos.raw_mask));
        const bool same =
            tw_shape_same(&in[i], &out) && in[i].samples == out.samples && fmt[i]->raw == fmt[rx + i]->raw;
        TW_TRY(same ? TW_OK : TW_E_IMG_ARC_FORMAT);
    }
    return TW_OK;
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t shape[STREAMS];
    TW_TRY(look_at_arcs(fmt, rx, tx, arc, shape));
    for (uint32_t i = 0; i < rx; i++) {
        extra[0] += (tw_shape_bytes(&shape[i], 1) + 7u) & ~7u;
    }
    return TW_OK;
}

static uint8_t reference_of(const tw_node_reset_t *r)
{
    for (uint8_t i = 0; i < r->rx; i++) {
        if ((r->hqos >> i & 1u) != 0) {
            return i;
        }
    }
    return 0;
}

static tw_err_t reset(qos_t *q, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t shape[STREAMS];
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
    TW_TRY(look_at_arcs(r->fmt, r->rx, r->tx, &arc, shape));
    TW_TRY(memreq(r->fmt, r->rx, r->tx, extra, &arc));
    TW_TRY(tw_bits(cmd, TW_CMD_PRESET) == 0 ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(r->mem_bytes[0] >= sizeof *q + extra[0] ? TW_OK : TW_E_IMG_MEM);
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && q->magic == tw_node_qos.hash && q->streams == r->rx &&
                      memcmp(q->shape, shape, sizeof *shape * r->rx) == 0;
    if (!warm) {
        memset(q, 0, sizeof *q + extra[0]);
    }
    q->magic = tw_node_qos.hash;
    q->streams = r->rx;
    q->reference = reference_of(r);
    memcpy(q->shape, shape, sizeof *shape * r->rx);
    for (uint32_t i = 0, at_i = 0; i < r->rx; i++) {
        q->at[i] = at_i;
        at_i += (tw_shape_bytes(&shape[i], 1) + 7u) & ~7u;
    }
    q->v.conceal = HOLD;
    q->v.slack = 0;
    return TW_OK;
}

static uint32_t qos(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    qos_t *q = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(q, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        (void)tw_param_put(&store, &q->v, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &q->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(q, data);
        return 0;
    case TW_CMD_UPDATE_RELOCATABLE:
        return tw_node_moved(&tw_node_qos, tag);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_qos = {
    .developer = "ARM",
    .name = "arm_stream_qos",
    .hash = 0x86685517u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = STREAMS,
    .tx_min = 1,
    .tx_max = STREAMS,
    .raw_mask = TW_RAW_MASK_BYTES,
    .n_mem = 1,
    .mem = {{.a = sizeof(qos_t), .align = 8, .reloc = 1}},
    .run = qos,
    .memreq = memreq,
    .params = params,
    .presets = 1,
    .conceals = true,
};
