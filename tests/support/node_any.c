#include "tests/support/node_any.h"
#include "engine/node/kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 600 };

#define REQUIRE(n, cond, value)                                                                             \
    do {                                                                                                    \
        if (!(cond)) {                                                                                      \
            fprintf(stderr, "node_any.c:%d: %s: %s, %g\n", __LINE__, (n)->d->name, #cond, (double)(value)); \
            abort();                                                                                        \
        }                                                                                                   \
    } while (0)

typedef struct any {
    any_source_t *s;
    const tw_node_desc_t *d;
    tw_format_t fmt[TW_MAX_NODE_ARCS];
    tw_services_t svc;
    tw_infer_t infer;
    tw_infer_model_t model;
    tw_node_reset_t reset;
    uint64_t takes; /* presets its formats take */
} any_t;

static uint32_t byte(any_source_t *s)
{
    if (s->at < s->n) {
        return s->data[s->at++];
    }
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 17;
    s->seed ^= s->seed << 5;
    return s->seed >> 8 & 255u;
}

static uint32_t below(any_source_t *s, uint32_t n)
{
    const uint32_t word = byte(s) | byte(s) << 8;
    return word % n;
}

static uint32_t word(any_source_t *s)
{
    return byte(s) | byte(s) << 8 | byte(s) << 16 | byte(s) << 24;
}

static double between(any_source_t *s, double lo, double hi)
{
    switch (byte(s) & 7u) { /* the ends are met often */
    case 0:
        return lo;
    case 1:
        return hi;
    default:
        return lo + (hi - lo) * (word(s) / 4294967295.0);
    }
}

static bool more(const any_source_t *s)
{
    return s->at < s->n || s->seed != 0;
}

/* ---- services of a platform that does nothing ----------------------------------- */

static uint32_t run_script(void *ctx, uint32_t script, uint32_t phase)
{
    (void)ctx, (void)script, (void)phase;
    return 0;
}

static tw_err_t some_flow(void *ctx, uint32_t slot, tw_flow_t op, uint32_t first, uint32_t count)
{
    (void)ctx, (void)slot, (void)op;
    return first + count > 100 ? TW_E_PARAM_MATCH : TW_OK;
}

static tw_err_t some_loop(void *ctx, uint32_t count, uint32_t times)
{
    (void)ctx, (void)times;
    return count > 100 ? TW_E_PARAM_MATCH : TW_OK;
}

static uint32_t some_case(void *ctx, int32_t change)
{
    (void)ctx;
    return change > 0 ? (uint32_t)change : 0;
}

static tw_err_t some_set(void *ctx, const tw_steer_set_t *sets, uint32_t n, uint32_t *bad, tw_fault_t *fault)
{
    (void)ctx;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) { /* every byte is there */
        for (uint32_t k = 0; k < sets[i].bytes; k++) {
            sum += sets[i].value[k];
        }
    }
    *bad = 0;
    *fault = (tw_fault_t){.err = TW_E_PARAM_RANGE, .at = sum};
    return sum % 2 != 0 ? TW_E_PARAM_RANGE : TW_OK;
}

static tw_err_t some_get(void *ctx, uint32_t node, uint32_t tag, uint8_t *value, uint32_t *bytes)
{
    (void)ctx;
    *bytes = tw_min_u32(*bytes, tag);
    memset(value, (int)(node & 255u), *bytes);
    return TW_OK;
}

static void some_reload(void *ctx, uint32_t kind)
{
    (void)ctx, (void)kind;
}

static const tw_steer_t steer = {some_flow, some_loop, some_case, some_set, some_get, some_reload};

/* A network that fits the arcs, or not, and answers when it likes. */
static uint32_t some_models(void *ctx)
{
    (void)ctx;
    return 2;
}

static tw_infer_tensor_t some_tensor(any_t *n, const tw_format_t *f)
{
    static const uint8_t raws[] = {TW_RAW_S8, TW_RAW_U8, TW_RAW_S16, TW_RAW_FP32};
    const uint32_t elements = f->frame_bytes * 8u / tw_raw_bits(f->raw);
    const uint8_t raw = byte(n->s) % 2 ? f->raw : raws[byte(n->s) & 3u];
    return (tw_infer_tensor_t){elements * tw_raw_bits(raw) / 8, raw, (float)byte(n->s) / 64, (int32_t)byte(n->s) - 128};
}

static tw_err_t some_model(void *ctx, uint32_t slot, tw_infer_model_t *m)
{
    any_t *n = ctx;
    if (slot > 1) {
        return TW_E_PARAM_INDEX;
    }
    *m = (tw_infer_model_t){.n_in = n->reset.rx, .n_out = n->reset.tx, .arena_bytes = slot};
    for (uint32_t i = 0; i < n->reset.rx; i++) {
        m->in[i] = some_tensor(n, &n->fmt[i]);
    }
    for (uint32_t i = 0; i < n->reset.tx; i++) {
        m->out[i] = some_tensor(n, &n->fmt[n->reset.rx + i]);
    }
    n->model = *m;
    return TW_OK;
}

static tw_err_t some_start(void *ctx, const tw_infer_job_t *job, uint32_t *handle)
{
    any_t *n = ctx;
    *handle = 7;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n->model.n_in; i++) { /* all of it is there */
        for (uint32_t k = 0; k < n->model.in[i].bytes; k++) {
            sum += ((const uint8_t *)job->in[i])[k];
        }
    }
    for (uint32_t i = 0; i < n->model.n_out; i++) {
        memset(job->out[i], (int)(sum & 63u), n->model.out[i].bytes);
    }
    memset(job->arena, 0x77, job->arena_bytes);
    return byte(n->s) % 8 == 0 ? TW_E_BUSY : byte(n->s) % 8 == 0 ? TW_E_UNSUPPORTED : TW_OK;
}

static tw_infer_state_t some_poll(void *ctx, uint32_t handle)
{
    any_t *n = ctx;
    (void)handle;
    return (tw_infer_state_t)(byte(n->s) % 3);
}

static void some_cancel(void *ctx, uint32_t handle)
{
    (void)ctx, (void)handle;
}

/* ---- formats ------------------------------------------------------------------------ */

static uint32_t some_raw(any_source_t *s, uint64_t mask)
{
    uint32_t raw = below(s, TW_RAW_COUNT);
    while ((mask >> raw & 1u) == 0) {
        raw = (raw + 1) % TW_RAW_COUNT;
    }
    return raw;
}

static void measure(tw_format_t *f)
{
    const uint32_t bits = tw_raw_bits(f->raw);
    const uint32_t stamp = f->ts == 0 ? 0 : f->ts_size == 0 ? 2 : f->ts_size == 1 ? 4 : 8;
    f->frame_bytes = (f->samples * f->channels * (bits != 0 ? bits : 8u) + 7) / 8 + stamp;
}

static tw_format_t some_format(any_source_t *s, uint64_t mask)
{
    static const float rates[] = {0, 100, 8000, 16000, 44100, 48000};
    tw_format_t f = {
        .raw = (uint8_t)some_raw(s, mask),
        .channels = (uint8_t)(byte(s) % 8 == 7 ? 32 : 1 + below(s, 4)),
        .interleave = (uint8_t)(byte(s) & 1u),
        .samples = 1 + below(s, 20),
        .rate_hz = rates[byte(s) % 6],
    };
    if (byte(s) % 4 == 0) { /* an image */
        const uint32_t width = 1 + below(s, 12), height = 1 + below(s, 12);
        f.mapping = height << 16 | width;
        f.samples = width * height;
        f.domain = 6; /* 2d_in */
    }
    f.ts = byte(s) % 8 == 7 ? 1 : 0;
    f.ts_size = (uint8_t)(byte(s) % 3);
    if (byte(s) % 4 == 3) { /* a picture */
        const uint32_t width = 1 + below(s, 6), height = 1 + below(s, 6);
        f.domain = 6;
        f.mapping = height << 16 | width;
        f.samples = width * height;
    }
    measure(&f);
    return f;
}

/* Most types want arcs alike, some change one thing. */
static tw_format_t like(any_source_t *s, tw_format_t f, uint64_t mask)
{
    const tw_format_t other = some_format(s, mask);
    switch (byte(s) % 16) {
    case 0:
        f.raw = other.raw;
        break;
    case 1:
    case 2:
        f.channels = other.channels;
        break;
    case 3:
        f.samples = other.samples;
        break;
    case 4:
        f.interleave = other.interleave;
        break;
    case 5:
        f.rate_hz = other.rate_hz;
        break;
    case 6:
        f = other;
        break;
    default:
        break;
    }
    measure(&f);
    return f;
}

/* Types of these raw types alone work on pictures; one in eight frames is none. */
#define PICTURES (1ull << TW_RAW_U8 | 1ull << TW_RAW_S8 | 1ull << TW_RAW_U16 | 1ull << TW_RAW_S16)

static void make_picture(any_source_t *s, tw_format_t *f)
{
    const uint32_t width = 1 + below(s, 9), height = 1 + below(s, 7);
    f->domain = byte(s) % 8 == 7 ? 0 : 6;
    f->mapping = height << 16 | width;
    f->samples = width * height;
    f->ts = 0;
    measure(f);
}

static void draw_arcs(any_t *n)
{
    any_source_t *s = n->s;
    const tw_node_desc_t *d = n->d;
    uint32_t rx = d->rx_min + below(s, d->rx_max - d->rx_min + 1u);
    uint32_t tx = d->tx_min + below(s, d->tx_max - d->tx_min + 1u);
    while (rx + tx > TW_MAX_NODE_ARCS) {
        *(rx > tx ? &rx : &tx) -= 1;
    }
    n->reset =
        (tw_node_reset_t){.svc = &n->svc, .rx = (uint8_t)rx, .tx = (uint8_t)tx, .script = (int16_t)(byte(s) & 3u)};
    n->fmt[0] = some_format(s, d->raw_mask);
    for (uint32_t i = 0; i < rx + tx; i++) {
        n->fmt[i] = i == 0 ? n->fmt[0] : like(s, n->fmt[0], d->raw_mask);
        n->reset.fmt[i] = &n->fmt[i];
    }
    for (uint32_t i = 0; d->raw_mask == PICTURES && i < rx + tx; i++) {
        make_picture(s, &n->fmt[i]);
    }
    n->reset.hqos = (uint16_t)(byte(s) & ((1u << rx) - 1u));
    n->reset.lock = (uint16_t)(byte(s) % 8 == 7 ? 1u << rx : 0);
}

static bool grant(any_t *n)
{
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
    if (n->d->memreq != NULL && n->d->memreq(n->reset.fmt, n->reset.rx, n->reset.tx, extra, &arc) != TW_OK) {
        return false;
    }
    for (uint32_t i = 0; i < n->d->n_mem; i++) {
        const tw_mem_req_t *m = &n->d->mem[i];
        const uint32_t arcs = (uint32_t)n->reset.rx + n->reset.tx;
        double bytes = m->a + (double)extra[i];
        bytes += m->b_arc < arcs ? (double)m->b * n->fmt[m->b_arc].channels : 0;
        bytes += m->c_arc < arcs ? (double)m->c * (double)n->fmt[m->c_arc].rate_hz : 0;
        bytes += m->d_arc < arcs ? (double)m->d * n->fmt[m->d_arc].frame_bytes : 0;
        n->reset.mem_bytes[i] = (uint32_t)ceil(bytes);
        n->reset.mem[i] = malloc(n->reset.mem_bytes[i]);
        memset(n->reset.mem[i], 0xA5, n->reset.mem_bytes[i]);
    }
    return true;
}

/* ---- commands --------------------------------------------------------------------- */

static uint32_t command(any_t *n, uint32_t cmd, uint32_t tag, tw_xdm_t *data)
{
    uint32_t state = 0;
    return n->d->run(cmd | tag << 15, n->reset.mem[0], data, &state);
}

static uint32_t some_preset(any_t *n)
{
    uint32_t p = byte(n->s) & 63u;
    while ((n->d->presets >> p & 1u) == 0) {
        p = (p + 1) & 63u;
    }
    return p;
}

static uint32_t do_reset(any_t *n, bool warm, uint32_t preset)
{
    for (uint32_t i = 0; i < n->d->n_mem; i++) {
        if (n->d->mem[i].type == 3 && !warm && byte(n->s) % 2) { /* else anything, as from outside */
            memset(n->reset.mem[i], 0, n->reset.mem_bytes[i]);
        }
    }
    tw_xdm_t data = {.ptr = &n->reset, .bytes = sizeof n->reset};
    return command(n, TW_CMD_RESET | (uint32_t)warm << 8 | preset << 9, 0, &data);
}

static uint32_t element(any_source_t *s, const tw_param_desc_t *p, uint8_t *wire)
{
    const uint32_t size = tw_raw_bits(p->raw) / 8;
    const double v = between(s, p->min, p->max);
    if (byte(s) % 32 == 31) { /* anything: NaN too */
        tw_put_le32(wire, word(s));
    } else if (p->raw == TW_RAW_FP32) {
        tw_put_f32(wire, (float)v);
    } else {
        tw_put_le32(wire, (uint32_t)(int64_t)v);
    }
    return size;
}

static uint32_t some_value(any_t *n, const tw_param_desc_t *p, uint8_t *wire)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        at += element(n->s, p, wire + at);
    }
    return at;
}

/* What the check lets pass the node takes; what the check refuses it never sees. */
static void set(any_t *n, uint32_t tag, const uint8_t *wire, uint32_t bytes)
{
    tw_fault_t fault = {0};
    if (tw_param_check(n->d, &n->fmt[0], tag, 0, wire, bytes, &fault) == TW_OK) {
        uint8_t *copy = malloc(bytes + 1u);
        memcpy(copy, wire, bytes);
        tw_xdm_t data = {copy, bytes};
        const uint32_t err = command(n, TW_CMD_SET_PARAMETER, tag, &data);
        REQUIRE(n, err == 0, err);
        free(copy);
    } else {
        REQUIRE(n, fault.err != TW_OK, fault.at);
    }
}

static void set_one(any_t *n, const tw_param_desc_t *rows, uint32_t count)
{
    uint8_t wire[1024];
    const tw_param_desc_t *p = &rows[below(n->s, count)];
    set(n, p->index, wire, some_value(n, p, wire));
}

static void set_all(any_t *n, const tw_param_desc_t *rows, uint32_t count)
{
    static uint8_t wire[8192];
    uint32_t at = 0;
    const uint32_t end = 1 + below(n->s, count);
    for (uint32_t i = 0; i < end; i++) {
        if ((rows[i].flags & (TW_PARAM_READ_ONLY | TW_PARAM_NOT_IN_ALL)) == 0) {
            at += some_value(n, &rows[i], wire + at);
        }
    }
    set(n, TW_TAG_ALL, wire, at);
}

static void read_all(any_t *n, const tw_param_desc_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bytes = tw_param_bytes(n->d, &n->fmt[0], rows[i].index);
        uint8_t *wire = malloc(bytes);
        tw_xdm_t data = {wire, bytes};
        const uint32_t err = command(n, TW_CMD_READ_PARAMETER, rows[i].index, &data);
        REQUIRE(n, err == 0 && data.bytes == bytes, rows[i].index);
        for (uint32_t k = 0; rows[i].raw == TW_RAW_FP32 && k < bytes; k += 4) {
            const double v = (double)tw_get_f32(wire + k);
            REQUIRE(n, v >= rows[i].min && v <= rows[i].max, rows[i].index);
        }
        free(wire);
    }
}

/* Numbers where the type has them as floats, else words. */
static void fill(any_source_t *s, const tw_format_t *f, uint8_t *to, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i += 4) {
        uint8_t four[4];
        if (f->raw == TW_RAW_FP32 && byte(s) != 255) {
            const float v = (float)((double)(int32_t)word(s) / 1.5e9);
            memcpy(four, &v, 4);
        } else {
            tw_put_le32(four, word(s));
        }
        memcpy(to + i, four, tw_min_u32(4, bytes - i));
    }
}

/* Whole frames, as an arc has them, or any number of bytes. */
static uint32_t some_size(any_source_t *s, const tw_format_t *f)
{
    const uint32_t bytes = below(s, ROOM + f->frame_bytes);
    return byte(s) % 8 == 7 ? bytes : bytes - bytes % f->frame_bytes;
}

static void run(any_t *n)
{
    tw_xdm_t data[TW_MAX_NODE_ARCS] = {{0}}, given[TW_MAX_NODE_ARCS];
    const uint32_t arcs = (uint32_t)n->reset.rx + n->reset.tx;
    for (uint32_t i = 0; i < arcs; i++) {
        const bool lock = (n->reset.lock >> i & 1u) != 0;
        const uint32_t bytes = lock ? 0 : some_size(n->s, &n->fmt[i]);
        data[i] = (tw_xdm_t){malloc(bytes + 1u), bytes};
        given[i] = data[i];
        if (i < n->reset.rx) {
            fill(n->s, &n->fmt[i], data[i].ptr, bytes);
        }
    }
    const uint32_t err = command(n, TW_CMD_RUN, 0, data);
    const int code = -(int)(err & 0xFFFFu);
    const bool of_network = code <= TW_E_INFER_BACKEND && code >= TW_E_INFER_TENSORS;
    REQUIRE(n, code == TW_OK || of_network || (code <= TW_E_PARAM_NODE && code > TW_E_NO_GRAPH), code);
    for (uint32_t i = 0; i < arcs; i++) {
        REQUIRE(n, data[i].bytes <= given[i].bytes, data[i].bytes);
        free(given[i].ptr);
    }
}

/* @return false when a RESET refused its preset for these formats: the node is not used any more */
static bool turn(any_t *n)
{
    uint32_t count = 0;
    const tw_param_desc_t *rows = n->d->params != NULL ? n->d->params(&n->fmt[0], &count) : NULL;
    const uint32_t what = byte(n->s) & 15u;
    if (what == 0) {
        return do_reset(n, byte(n->s) % 4 != 0, some_preset(n)) == 0;
    } else if (what == 1 && count != 0) {
        read_all(n, rows, count);
    } else if (what <= 4 && count != 0) {
        set_one(n, rows, count);
    } else if (what == 5 && count != 0) {
        set_all(n, rows, count);
    } else {
        run(n);
    }
    return true;
}

/* @return false: the formats are refused, nothing was granted */
static bool draw(any_t *n, any_source_t *s, uint32_t type)
{
    uint32_t types;
    const tw_node_desc_t *const *all = tw_node_catalogue(&types);
    *n = (any_t){.s = s, .d = all[type % types]};
    tw_services_default(&n->svc);
    n->svc.run_script = run_script;
    n->svc.control = &steer;
    n->infer = (tw_infer_t){n, some_models, some_model, some_start, some_poll, some_cancel};
    n->svc.infer = byte(s) % 8 != 0 ? &n->infer : NULL;
    draw_arcs(n);
    return grant(n);
}

static void give_back(const any_t *n, bool granted)
{
    for (uint32_t i = 0; granted && i < n->d->n_mem; i++) {
        free(n->reset.mem[i]);
    }
}

bool any_node(any_source_t *s, uint32_t type, uint32_t turns)
{
    static any_t n;
    const bool granted = draw(&n, s, type), open = granted && do_reset(&n, false, some_preset(&n)) == 0;
    bool runs = open;
    for (uint32_t i = 0; runs && i < turns && more(s); i++) {
        runs = turn(&n);
    }
    if (runs) {
        tw_xdm_t none = {0};
        (void)command(&n, TW_CMD_STOP, 0, &none);
    }
    give_back(&n, granted);
    return open;
}

/* ---- the rules of the ABI ----------------------------------------------------------- */

enum { BLOCK_MAX = 8192 };
typedef struct block {
    uint8_t bytes[BLOCK_MAX];
    uint32_t n;
} block_t;

static uint32_t refusal(tw_err_t err)
{
    return (uint32_t) - (int32_t)err;
}

static bool meter(const tw_param_desc_t *p)
{
    return (p->flags & TW_PARAM_READ_ONLY) != 0;
}

/* Parameters that read what is in force: buttons of the resampler's drift, and the amplifier's gain on its way. */
static bool is_view(const any_t *n, const tw_param_desc_t *p)
{
    static const struct {
        const char *type;
        uint32_t from, to;
    } views[] = {{"arm_stream_resampler", 0, 2}, {"arm_stream_amplifier", 6, 7}};
    for (size_t i = 0; i < TW_COUNT(views); i++) {
        if (strcmp(n->d->name, views[i].type) == 0 && p->index >= views[i].from && p->index <= views[i].to) {
            return (p->flags & TW_PARAM_NOT_IN_ALL) != 0;
        }
    }
    return false;
}

/* Every parameter that can be SET, as the node has them. */
static void read_block(any_t *n, block_t *to)
{
    uint32_t count = 0;
    const tw_param_desc_t *rows = n->d->params != NULL ? n->d->params(&n->fmt[0], &count) : NULL;
    to->n = 0;
    for (uint32_t i = 0; i < count; i++) {
        tw_xdm_t data = {to->bytes + to->n, BLOCK_MAX - to->n};
        if (!meter(&rows[i]) && !is_view(n, &rows[i])) {
            const uint32_t err = command(n, TW_CMD_READ_PARAMETER, rows[i].index, &data);
            REQUIRE(n, err == 0, rows[i].index);
            to->n += data.bytes;
        }
    }
}

static void require_same(const any_t *n, const block_t *a, const block_t *b, uint32_t why)
{
    REQUIRE(n, a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0, why);
}

/* What no type knows is refused and changes nothing; so are tags of no parameter, and too little room. */
static void abi_unknown(any_t *n)
{
    static block_t before, after;
    uint8_t room[BLOCK_MAX];
    read_block(n, &before);
    for (uint32_t cmd = 0; cmd < 256; cmd++) {
        const bool known =
            (cmd >= TW_CMD_RESET && cmd <= TW_CMD_STOP) || cmd == TW_CMD_UPDATE_RELOCATABLE || cmd == TW_CMD_MEMREQ;
        for (uint32_t tag = 0; !known && tag < 512; tag += 1 + cmd % 64) {
            tw_xdm_t data[TW_MAX_NODE_ARCS] = {{room, sizeof room}};
            const uint32_t err = command(n, cmd, tag, data);
            REQUIRE(n, err == refusal(TW_E_UNSUPPORTED), cmd);
        }
    }
    for (uint32_t tag = 0; tag < 512; tag++) {
        const uint32_t bytes = tw_param_bytes(n->d, &n->fmt[0], tag);
        tw_xdm_t data = {room, bytes == 0 ? sizeof room : bytes - 1};
        const uint32_t err = command(n, TW_CMD_READ_PARAMETER, tag, &data);
        REQUIRE(n, bytes != 0 || err == refusal(TW_E_PARAM_INDEX) || (tag == TW_TAG_ALL && data.bytes == 0), tag);
        REQUIRE(n, bytes == 0 || err == refusal(TW_E_PARAM_SIZE), tag);
    }
    read_block(n, &after);
    require_same(n, &before, &after, TW_E_UNSUPPORTED);
}

/* READ gives what SET gave, and SET what READ gave. */
static void abi_values(any_t *n)
{
    static uint8_t wire[BLOCK_MAX], back[BLOCK_MAX];
    static block_t before, after;
    uint32_t count = 0;
    tw_fault_t fault;
    const tw_param_desc_t *rows = n->d->params != NULL ? n->d->params(&n->fmt[0], &count) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bytes = some_value(n, &rows[i], wire), tag = rows[i].index;
        const tw_err_t checked = tw_param_check(n->d, &n->fmt[0], tag, 0, wire, bytes, &fault);
        REQUIRE(n, (checked == TW_E_PARAM_READ_ONLY) == meter(&rows[i]) || checked != TW_OK, tag);
        if (checked == TW_OK) {
            tw_xdm_t in = {wire, bytes}, out = {back, bytes};
            const uint32_t set = command(n, TW_CMD_SET_PARAMETER, tag, &in);
            const uint32_t get = command(n, TW_CMD_READ_PARAMETER, tag, &out);
            REQUIRE(n, set == 0 && get == 0 && out.bytes == bytes, tag);
            REQUIRE(n, memcmp(wire, back, bytes) == 0 || is_view(n, &rows[i]), tag);
        }
    }
    tw_xdm_t all = {wire, sizeof wire};
    if (tw_param_bytes(n->d, &n->fmt[0], TW_TAG_ALL) != 0 && command(n, TW_CMD_READ_PARAMETER, TW_TAG_ALL, &all) == 0 &&
        tw_param_check(n->d, &n->fmt[0], TW_TAG_ALL, 0, wire, all.bytes, &fault) == TW_OK) {
        read_block(n, &before);
        tw_xdm_t in = {wire, all.bytes};
        const uint32_t err = command(n, TW_CMD_SET_PARAMETER, TW_TAG_ALL, &in);
        REQUIRE(n, err == 0, TW_TAG_ALL);
        read_block(n, &after);
        require_same(n, &before, &after, TW_TAG_ALL);
    }
}

/* A preset gives the same values cold, warm and after STOP; a number that is none is refused. */
static void abi_resets(any_t *n)
{
    static block_t cold, now;
    for (uint32_t p = 0; p < 64; p++) {
        const bool exists = (n->d->presets >> p & 1u) != 0, taken = do_reset(n, false, p) == 0;
        REQUIRE(n, exists || p == 0 || !taken, p);
        REQUIRE(n, exists ? (n->takes >> p & 1u) == taken : true, p);
        if (!taken) {
            continue;
        }
        read_block(n, &cold);
        run(n);
        uint32_t err = do_reset(n, true, p);
        REQUIRE(n, err == 0, p);
        read_block(n, &now);
        require_same(n, &cold, &now, p);
        tw_xdm_t none = {0};
        err = command(n, TW_CMD_STOP, 0, &none) | command(n, TW_CMD_STOP, 0, &none) | do_reset(n, false, p);
        REQUIRE(n, err == 0, p);
        read_block(n, &now);
        require_same(n, &cold, &now, p);
    }
}

/* A block that may move: its old place is gone, and nothing is lost. */
static void abi_moves(any_t *n)
{
    static block_t before, after;
    read_block(n, &before);
    for (uint32_t m = 0; m < TW_MAX_NODE_MEM; m++) {
        const bool may = m < n->d->n_mem && n->d->mem[m].reloc != 0;
        uint8_t *old = n->reset.mem[m], *to = may ? malloc(n->reset.mem_bytes[m] + 1u) : NULL;
        tw_xdm_t data = {to, n->reset.mem_bytes[m]};
        if (may) {
            memcpy(to, old, n->reset.mem_bytes[m]);
            memset(old, 0xEE, n->reset.mem_bytes[m]);
            free(old);
            n->reset.mem[m] = to;
        }
        const uint32_t err = command(n, TW_CMD_UPDATE_RELOCATABLE, m, &data);
        REQUIRE(n, err == (may ? 0 : refusal(TW_E_UNSUPPORTED)), m);
    }
    read_block(n, &after);
    require_same(n, &before, &after, TW_CMD_UPDATE_RELOCATABLE);
    run(n);
}

bool any_node_abi(any_source_t *s, uint32_t type)
{
    static any_t n;
    const bool granted = draw(&n, s, type), open = granted && do_reset(&n, false, some_preset(&n)) == 0;
    for (uint32_t p = 0; open && p < 64; p++) {
        n.takes |= (n.d->presets >> p & 1u) != 0 && do_reset(&n, false, p) == 0 ? (uint64_t)1 << p : 0;
    }
    for (uint32_t round = 0; open && round < 4; round++) {
        abi_resets(&n);
        const uint32_t err = do_reset(&n, false, (uint32_t)__builtin_ctzll(n.takes));
        REQUIRE(&n, err == 0, round);
        abi_values(&n);
        abi_unknown(&n);
        run(&n);
        abi_moves(&n);
        abi_values(&n);
    }
    give_back(&n, granted);
    return open;
}
