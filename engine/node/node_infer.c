/* node_infer.c - a neural network as a node: a frame of each receive arc in, a frame of each transmit arc out.
 *
 * The network itself is behind tw_infer_t: the node collects the tensors, starts a run, looks once a RUN whether it
 * is done, and gives the result. The input frame stays in its arc until then, so the arc's length is the queue and its
 * flow errors say what becomes of what comes meanwhile. Whatever happens, each input frame has an output frame
 * (but with fallback 3), so a graph keeps its pace without a backend too.
 *
 *   index name        meaning
 *   1  model       slot; a run under way keeps its own
 *   2  backend     0 the fastest there is, 1 a processor, 2 an accelerator
 *   3  deadline    [blocks] a run may take, 0 no limit
 *   4  fallback    what goes out when there is no result: 0 the last one, 1 zeros, 2 the marker, 3 nothing
 *   5  marker      number each element then has
 *   6  in_scale    4 numbers, of each input tensor; 0 is the model's
 *   7  in_zero     4 zero points, used where in_scale is not 0
 *   8  out_scale, 9 out_zero    the same of the outputs
 *   16 status      0 idle, 1 a run is under way, 2 no backend, 3 no such model, 4 the model's tensors are not the arcs'
 *   17 runs        results since the cold RESET, modulo 2^32
 *   18 misses      deadlines missed
 *   19 failures    runs that failed or could not begin
 *   20 latency     [blocks] of the last result, 0: within the block
 *   21 models      slots the backend has
 *
 * 6 and up are not in the index-256 block. Only preset 0. A tensor is the frame: of the same type it is copied;
 * FP32 against S8, U8 or S16 is q = real / scale + zero, to nearest, saturated, and back. The first RUN that finds
 * status 2, 3 or 4 returns the error (INFER_BACKEND, INFER_MODEL, INFER_TENSORS), the following ones fall back in
 * silence.
 *
 * Block 1 holds a copy of each input and output frame and the last result; the rest is the backend's arena.
 */
#include "engine/node/convert.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { TENSORS = TW_INFER_TENSORS, ALIGN = 16, CHUNK = 64 };
enum { LAST, ZEROS, MARKER, NOTHING };
enum { IDLE, BUSY, NO_BACKEND, NO_MODEL, NO_FIT };

typedef struct values {
    uint32_t deadline, runs, misses, failures, latency;
    float marker, in_scale[TENSORS], out_scale[TENSORS];
    int32_t in_zero[TENSORS], out_zero[TENSORS];
    uint8_t model, backend, fallback, status, models;
} values_t;

/* One arc and its tensor. */
typedef struct port {
    uint32_t frame;    /* [bytes] of the arc */
    uint32_t elements; /* in it */
    uint8_t *tensor;   /* what the backend sees */
    uint8_t *last;     /* transmit: the last result, as it went out */
    uint8_t raw;
} port_t;

typedef struct infer {
    uint32_t magic; /* the node's hash once RESET */
    const tw_services_t *svc;
    uint8_t rx, tx;
    bool told; /* the status was returned as an error */
    port_t port[2 * TENSORS];
    uint8_t *arena;
    uint32_t arena_bytes;
    tw_infer_model_t model; /* of the run under way */
    uint32_t handle, waited;
    uint64_t tick;
    values_t v;
} infer_t;

/* ---- parameters -------------------------------------------------------------- */

#define ALONE TW_PARAM_NOT_IN_ALL
#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
#define COUNTER 0, 4294967295.0, 0
#define LARGEST (double)1e30f
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 255, 0, "model", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, 0, "backend", 1},
    {3, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, 0, 0, 65535, 0, "deadline", 1},
    {4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, LAST, NOTHING, LAST, "fallback", 1},
    {5, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, -LARGEST, LARGEST, -1, "marker", 0},
    {6, TW_RAW_FP32, TENSORS, TW_NODE_UNIT_ANY, ALONE, 0, LARGEST, 0, "in_scale", 0},
    {7, TW_RAW_S32, TENSORS, TW_NODE_UNIT_ANY, ALONE, -65536, 65536, 0, "in_zero", 1},
    {8, TW_RAW_FP32, TENSORS, TW_NODE_UNIT_ANY, ALONE, 0, LARGEST, 0, "out_scale", 0},
    {9, TW_RAW_S32, TENSORS, TW_NODE_UNIT_ANY, ALONE, -65536, 65536, 0, "out_zero", 1},
    {16, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, METER, IDLE, NO_FIT, IDLE, "status", 1},
    {17, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "runs", 1},
    {18, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "misses", 1},
    {19, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "failures", 1},
    {20, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, COUNTER, "latency", 1},
    {21, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, METER, 0, 255, 0, "models", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, model),    offsetof(values_t, backend),   offsetof(values_t, deadline),
    offsetof(values_t, fallback), offsetof(values_t, marker),    offsetof(values_t, in_scale),
    offsetof(values_t, in_zero),  offsetof(values_t, out_scale), offsetof(values_t, out_zero),
    offsetof(values_t, status),   offsetof(values_t, runs),      offsetof(values_t, misses),
    offsetof(values_t, failures), offsetof(values_t, latency),   offsetof(values_t, models),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* ---- tensors -------------------------------------------------------------------- */

typedef struct quant {
    double scale, zero;
} quant_t;

static quant_t quant_of(const tw_infer_tensor_t *t, float scale, int32_t zero)
{
    return scale > 0.0f ? (quant_t){(double)scale, zero} : (quant_t){t->scale > 0.0f ? (double)t->scale : 1.0, t->zero};
}

static double lowest(uint32_t raw)
{
    return raw == TW_RAW_U8 ? 0.0 : raw == TW_RAW_S8 ? -128.0 : -32768.0;
}

static double highest(uint32_t raw)
{
    return raw == TW_RAW_U8 ? 255.0 : raw == TW_RAW_S8 ? 127.0 : 32767.0;
}

static void put_word(uint8_t *to, uint32_t raw, uint32_t i, double real, const quant_t *k)
{
    const double q = real / k->scale + k->zero;
    const double inside = !(q > lowest(raw)) ? lowest(raw) : q > highest(raw) ? highest(raw) : q;
    const int32_t word = (int32_t)(inside + (inside < 0 ? -0.5 : 0.5));
    if (raw == TW_RAW_S16) {
        const int16_t half = (int16_t)word;
        memcpy(to + 2 * (size_t)i, &half, 2);
    } else {
        to[i] = (uint8_t)word;
    }
}

static double get_word(const uint8_t *from, uint32_t raw, uint32_t i)
{
    int16_t half;
    if (raw == TW_RAW_S16) {
        memcpy(&half, from + 2 * (size_t)i, 2);
        return half;
    }
    return raw == TW_RAW_U8 ? (double)from[i] : (double)(int8_t)from[i];
}

/* From one type to another, either of which is FP32; or the same words. */
static void move(uint8_t *to, uint32_t to_raw, const uint8_t *from, uint32_t from_raw, uint32_t n, const quant_t *k)
{
    if (to_raw == from_raw) {
        memcpy(to, from, (size_t)n * tw_raw_bits(to_raw) / 8);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        float single;
        if (from_raw == TW_RAW_FP32) {
            memcpy(&single, from + 4 * (size_t)i, 4);
            put_word(to, to_raw, i, (double)single, k);
        } else {
            const double real = (get_word(from, from_raw, i) - k->zero) * k->scale;
            single = (float)(real > LARGEST ? LARGEST : real < -LARGEST ? -LARGEST : real);
            memcpy(to + 4 * (size_t)i, &single, 4);
        }
    }
}

static bool known(uint32_t raw)
{
    return raw == TW_RAW_S8 || raw == TW_RAW_U8 || raw == TW_RAW_S16 || raw == TW_RAW_FP32;
}

static bool tensor_fits(const port_t *p, const tw_infer_tensor_t *t)
{
    const bool types = known(t->raw) && (t->raw == p->raw || t->raw == TW_RAW_FP32 || p->raw == TW_RAW_FP32);
    /* in words of 8 and 16 bits a tensor is never larger than its frame; one of FP32 behind words would be */
    return types && t->bytes / (tw_raw_bits(t->raw) / 8) == p->elements &&
           t->bytes == p->elements * tw_raw_bits(t->raw) / 8;
}

static bool model_fits(const infer_t *n, const tw_infer_model_t *m)
{
    bool fits = m->n_in == n->rx && m->n_out == n->tx && m->arena_bytes <= n->arena_bytes;
    for (uint32_t i = 0; fits && i < n->rx; i++) {
        fits = tensor_fits(&n->port[i], &m->in[i]);
    }
    for (uint32_t i = 0; fits && i < n->tx; i++) {
        fits = tensor_fits(&n->port[n->rx + i], &m->out[i]);
    }
    return fits;
}

/* ---- a run ---------------------------------------------------------------------- */

/* What a RUN offers, and how much of it has been used. */
typedef struct offer {
    const tw_xdm_t *data;
    uint32_t in, out; /* frames used so far, of each kind */
} offer_t;

static bool more(const infer_t *n, const offer_t *o)
{
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        const uint32_t used = i < n->rx ? o->in : o->out;
        if (o->data[i].bytes / n->port[i].frame <= used) {
            return false;
        }
    }
    return true;
}

static uint8_t *frame_of(const infer_t *n, const offer_t *o, uint32_t i)
{
    return (uint8_t *)o->data[i].ptr + (size_t)(i < n->rx ? o->in : o->out) * n->port[i].frame;
}

static uint8_t look_for_model(infer_t *n)
{
    const tw_infer_t *k = n->svc != NULL ? n->svc->infer : NULL;
    if (k == NULL) {
        return NO_BACKEND;
    }
    n->v.models = (uint8_t)tw_min_u32(k->n_models(k->ctx), 255);
    if (k->describe(k->ctx, n->v.model, &n->model) != TW_OK) {
        return NO_MODEL;
    }
    return model_fits(n, &n->model) ? IDLE : NO_FIT;
}

static tw_err_t begin(infer_t *n, const offer_t *o)
{
    const tw_infer_t *k = n->svc->infer;
    tw_infer_job_t job = {
        .slot = n->v.model, .backend = n->v.backend, .arena = n->arena, .arena_bytes = n->arena_bytes};
    for (uint32_t i = 0; i < n->rx; i++) {
        const port_t *p = &n->port[i];
        const quant_t q = quant_of(&n->model.in[i], n->v.in_scale[i], n->v.in_zero[i]);
        move(p->tensor, n->model.in[i].raw, frame_of(n, o, i), p->raw, p->elements, &q);
        job.in[i] = p->tensor;
    }
    for (uint32_t i = 0; i < n->tx; i++) {
        job.out[i] = n->port[n->rx + i].tensor;
    }
    return k->start(k->ctx, &job, &n->handle);
}

static void put_result(infer_t *n, offer_t *o)
{
    for (uint32_t i = 0; i < n->tx; i++) {
        const port_t *p = &n->port[n->rx + i];
        const quant_t q = quant_of(&n->model.out[i], n->v.out_scale[i], n->v.out_zero[i]);
        move(p->last, p->raw, p->tensor, n->model.out[i].raw, p->elements, &q);
        memcpy(frame_of(n, o, n->rx + i), p->last, p->frame);
    }
    o->in++, o->out++;
}

static void put_fallback(infer_t *n, offer_t *o)
{
    for (uint32_t i = 0; i < n->tx && n->v.fallback != NOTHING; i++) {
        const port_t *p = &n->port[n->rx + i];
        uint8_t *to = frame_of(n, o, n->rx + i);
        if (n->v.fallback == LAST) {
            memcpy(to, p->last, p->frame);
            continue;
        }
        memset(to, 0, p->frame);
        for (uint32_t e = 0; e < p->elements && n->v.fallback == MARKER; e++) {
            const quant_t plain = {1.0, 0.0};
            if (p->raw == TW_RAW_FP32) {
                memcpy(to + 4 * (size_t)e, &n->v.marker, 4);
            } else {
                put_word(to, p->raw, e, (double)n->v.marker, &plain);
            }
        }
    }
    o->in++;
    o->out += n->v.fallback != NOTHING;
}

static void count_block(infer_t *n)
{
    const uint64_t now = n->svc->tick != NULL ? *n->svc->tick : n->tick + 1;
    n->waited += now != n->tick;
    n->tick = now;
}

/* @return false: it is not done, and may still be */
static bool finish(infer_t *n, offer_t *o)
{
    const tw_infer_t *k = n->svc->infer;
    const tw_infer_state_t state = k->poll(k->ctx, n->handle);
    const bool late = state == TW_INFER_RUNNING && n->v.deadline != 0 && n->waited >= n->v.deadline;
    if (state == TW_INFER_RUNNING && !late) {
        return false;
    }
    n->v.status = IDLE;
    if (state == TW_INFER_DONE) {
        n->v.runs++;
        n->v.latency = n->waited;
        put_result(n, o);
        return true;
    }
    if (late) {
        k->cancel(k->ctx, n->handle);
    }
    n->v.misses += late;
    n->v.failures += !late;
    put_fallback(n, o);
    return true;
}

/* One frame further. @return false: this one has to wait */
static bool advance(infer_t *n, offer_t *o)
{
    if (n->v.status == BUSY) {
        return finish(n, o);
    }
    n->v.status = look_for_model(n);
    if (n->v.status != IDLE) {
        put_fallback(n, o);
        return true;
    }
    const tw_err_t err = begin(n, o);
    if (err == TW_E_BUSY) {
        return false;
    }
    if (err != TW_OK) {
        n->v.failures++;
        put_fallback(n, o);
        return true;
    }
    n->v.status = BUSY;
    n->waited = 0;
    n->tick = n->svc->tick != NULL ? *n->svc->tick : n->tick;
    return finish(n, o);
}

static tw_err_t told(infer_t *n)
{
    const tw_err_t err = n->v.status == NO_BACKEND ? TW_E_INFER_BACKEND
                         : n->v.status == NO_MODEL ? TW_E_INFER_MODEL
                         : n->v.status == NO_FIT   ? TW_E_INFER_TENSORS
                                                   : TW_OK;
    const bool again = n->told;
    n->told = err != TW_OK;
    return again ? TW_OK : err;
}

static tw_err_t run(infer_t *n, tw_xdm_t *data)
{
    offer_t o = {.data = data};
    if (n->v.status == BUSY) {
        count_block(n);
    }
    while (more(n, &o) && advance(n, &o)) {}
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        data[i].bytes = (i < n->rx ? o.in : o.out) * n->port[i].frame;
    }
    return told(n);
}

static void cancel(infer_t *n)
{
    if (n->v.status == BUSY) {
        n->svc->infer->cancel(n->svc->infer->ctx, n->handle);
        n->v.status = IDLE;
    }
}

/* ---- commands -------------------------------------------------------------------- */

static uint32_t room_of(const tw_format_t *f)
{
    const uint32_t elements = f->frame_bytes / (tw_raw_bits(f->raw) / 8u);
    return (elements * 4u + ALIGN - 1u) & ~(ALIGN - 1u); /* a tensor of FP32 is the largest */
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    for (uint32_t i = 0; i < rx + tx; i++) {
        *arc = i;
        TW_TRY(known(fmt[i]->raw) ? TW_OK : TW_E_IMG_RAW);
        const bool plain = fmt[i]->ts == 0 && fmt[i]->frame_bytes != 0 && fmt[i]->frame_bytes <= 1u << 24 &&
                           fmt[i]->frame_bytes % (tw_raw_bits(fmt[i]->raw) / 8) == 0;
        TW_TRY(plain ? TW_OK : TW_E_IMG_FORMAT);
        extra[1] += (i < rx ? 1u : 2u) * room_of(fmt[i]);
    }
    return TW_OK;
}

static void lay_out(infer_t *n, const tw_node_reset_t *r, uint32_t used)
{
    uint8_t *p = r->mem[1];
    for (uint32_t i = 0; i < (uint32_t)r->rx + r->tx; i++) {
        const tw_format_t *f = r->fmt[i];
        n->port[i] = (port_t){f->frame_bytes, f->frame_bytes / (tw_raw_bits(f->raw) / 8), p, NULL, f->raw};
        p += room_of(f);
        if (i >= r->rx) {
            n->port[i].last = p;
            p += room_of(f);
        }
    }
    n->arena = p;
    n->arena_bytes = r->mem_bytes[1] - used;
}

static tw_err_t reset(infer_t *n, const tw_node_reset_t *r, uint32_t cmd)
{
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
    TW_TRY(r->rx >= 1 && r->rx <= TENSORS && r->tx >= 1 && r->tx <= TENSORS ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(memreq(r->fmt, r->rx, r->tx, extra, &arc));
    TW_TRY(tw_bits(cmd, TW_CMD_PRESET) == 0 ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(r->mem_bytes[0] >= sizeof *n && r->mem_bytes[1] >= extra[1] ? TW_OK : TW_E_IMG_MEM);
    const bool same = n->magic == tw_node_infer.hash;
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && same && n->rx == r->rx && n->tx == r->tx;
    if (same) {
        cancel(n);
    }
    const values_t kept = warm ? n->v : (values_t){0};
    *n = (infer_t){.magic = tw_node_infer.hash, .svc = r->svc, .rx = r->rx, .tx = r->tx};
    lay_out(n, r, extra[1]);
    if (!warm) {
        memset(r->mem[1], 0, extra[1]);
    }
    n->v = (values_t){
        .marker = -1.0f,
        .runs = kept.runs,
        .misses = kept.misses,
        .failures = kept.failures,
        .latency = kept.latency,
    };
    return TW_OK;
}

static uint32_t infer(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    infer_t *n = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(n, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        (void)tw_param_put(&store, &n->v, tag, data);
        n->told = false;
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &n->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        return tw_node_error(run(n, data));
    case TW_CMD_STOP:
        cancel(n);
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_infer = {
    .developer = "ARM",
    .name = "arm_stream_infer",
    .hash = 0xF85F841Eu,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = TENSORS,
    .tx_min = 1,
    .tx_max = TENSORS,
    .raw_mask = TW_RAW_BIT(TW_RAW_S8) | TW_RAW_BIT(TW_RAW_U8) | TW_RAW_BIT(TW_RAW_S16) | TW_RAW_BIT(TW_RAW_FP32),
    .n_mem = 2,
    .mem = {{.a = sizeof(infer_t), .align = 8}, {.a = ALIGN, .align = ALIGN}},
    .run = infer,
    .memreq = memreq,
    .params = params,
    .presets = 1,
};
