/* node_filter.c - one or two biquads in cascade on every channel, behind a delay of 0..32 samples.
 *
 * S16/Q15 or FP32; parameters are common to all channels. The arithmetic is the service table's
 * (kernels.h). A SET changes the *wanted* set only: the next RUN takes it over as a whole when it is
 * stable, so a transaction may pass through any order of post_shift and coefficients, and puts it back
 * as a whole when it is not.
 *
 *   index name        meaning
 *   1  stages      biquads in use                                                 1..2
 *   2  post_shift  S16: coefficients mean value / 32768 * 2^post_shift            0..3; FP32: 0
 *   3  biquad0     {b0, b1, b2, a1, a2}, y = b0 x + b1 x1 + b2 x2 + a1 y1 + a2 y2  S16, or FP32 -8..8
 *   4  biquad1     the second stage
 *   5  delay       before the first stage [samples]; not in the index-256 block   0..32
 *
 * Presets: 0 and 1 bypass (S16: at post_shift 1), 2 low-pass at Fs/4, 3 constant removed, 11..42 bypass
 * with a delay of 1..32. Poles on or outside the unit circle: PARAM_UNSTABLE.
 */
#include "engine/node/kernels.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum {
    STAGES_MAX = 2,
    STATE = 4 * STAGES_MAX,                                 /* samples of biquad state a channel */
    HISTORY = TW_FILTER_DELAY,                              /* newest inputs a channel, for the delay; a ring */
    CHUNK = TW_MAX_CHANNELS == 1u && HISTORY == 0 ? 2 : 64, /* samples gathered at a time: none, of those that lie so */
    SAMPLE_MAX = TW_NODE_FP32 ? 4 : 2,                      /* [bytes] */
};

typedef struct filter_set {
    union {
        int16_t q15[STAGES_MAX][5];
#if TW_NODE_FP32
        float f32[STAGES_MAX][5];
#endif
    } coef;
    uint8_t stages;
    int8_t post_shift;
    uint8_t delay; /* [samples] */
} filter_set_t;

typedef struct filter {
    const tw_services_t *svc;
    uint8_t *work;  /* HISTORY + CHUNK samples */
    uint32_t magic; /* the node's hash once RESET */
    tw_shape_t shape;
    bool changed;   /* wanted was SET since the last RUN */
    bool mono;      /* one channel of FP32, no delay: the last RUN found so */
    uint8_t oldest; /* of HISTORY samples in the ring */
    filter_set_t wanted, live;
    uint64_t signal[]; /* a channel: STATE, then HISTORY samples */
} filter_t;

#define INSTANCE_BYTES ((uint32_t)sizeof(filter_t))
#define CHANNEL_BYTES(size) ((uint32_t)(STATE + HISTORY) * (size))
#define WORK_BYTES(size) ((uint32_t)(HISTORY + CHUNK) * (size))

/* ---- parameters ------------------------------------------------------------ */

/* Biquads default to the bypass {1, 0, 0, 0, 0}, which one number cannot say. */
static const tw_param_desc_t rows_q15[] = {
    TW_PARAM(1, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 1, STAGES_MAX, 1, "stages", 1),
    TW_PARAM(2, TW_RAW_S8, 1, TW_NODE_UNIT_ANY, 0, 0, 3, 1, "post_shift", 1),
    TW_PARAM(3, TW_RAW_S16, 5, TW_NODE_UNIT_ANY, 0, -32768, 32767, 0, "biquad0", 1),
    TW_PARAM(4, TW_RAW_S16, 5, TW_NODE_UNIT_ANY, 0, -32768, 32767, 0, "biquad1", 1),
    TW_PARAM(5, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, TW_PARAM_NOT_IN_ALL, 0, HISTORY, 0, "delay", 1),
};
#if TW_NODE_FP32
/* post_shift keeps its place so that both blocks have the same layout. */
static const tw_param_desc_t rows_f32[] = {
    TW_PARAM(1, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 1, STAGES_MAX, 1, "stages", 1),
    TW_PARAM(2, TW_RAW_S8, 1, TW_NODE_UNIT_ANY, 0, 0, 0, 0, "post_shift", 1),
    TW_PARAM(3, TW_RAW_FP32, 5, TW_NODE_UNIT_ANY, 0, -8, 8, 0, "biquad0", 0),
    TW_PARAM(4, TW_RAW_FP32, 5, TW_NODE_UNIT_ANY, 0, -8, 8, 0, "biquad1", 0),
    TW_PARAM(5, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, TW_PARAM_NOT_IN_ALL, 0, HISTORY, 0, "delay", 1),
};
#endif
enum { AT_STAGES = 0, AT_POST_SHIFT = 1, AT_BIQUADS = 2 }; /* bytes in the index-256 block */

static const uint16_t at_q15[] = {
    offsetof(filter_set_t, stages), offsetof(filter_set_t, post_shift),
    offsetof(filter_set_t, coef),   offsetof(filter_set_t, coef) + 5 * sizeof(int16_t),
    offsetof(filter_set_t, delay),
};
static const tw_param_store_t store_q15 = {rows_q15, at_q15, TW_COUNT(rows_q15)};
#if TW_NODE_FP32
static const uint16_t at_f32[] = {
    offsetof(filter_set_t, stages), offsetof(filter_set_t, post_shift),
    offsetof(filter_set_t, coef),   offsetof(filter_set_t, coef) + 5 * sizeof(float),
    offsetof(filter_set_t, delay),
};
static const tw_param_store_t store_f32 = {rows_f32, at_f32, TW_COUNT(rows_f32)};
#endif

static const tw_param_store_t *store_of(uint32_t raw)
{
#if TW_NODE_FP32
    return raw == TW_RAW_FP32 ? &store_f32 : &store_q15;
#else
    (void)raw;
    return &store_q15;
#endif
}

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    const tw_param_store_t *s = store_of(fmt->raw);
    *n = s->n;
    return s->rows;
}

/* Both poles of z^2 - a1 z - a2 inside the unit circle: a2 > -1 and |a1| < 1 - a2. Exact for S16, in units of the
 * coefficients; FP32 rounds towards refusing, and only for poles within 1e-16 of the circle. */
static bool stable_q15(const int16_t *c, int post_shift)
{
    const int32_t one = 32768 >> post_shift, a1 = c[3], a2 = c[4];
    return a2 > -one && (a1 < 0 ? -a1 : a1) < one - a2;
}

#if TW_NODE_FP32
static bool stable_f32(const float *c)
{
    const double a1 = (double)c[3], a2 = (double)c[4];
    return a2 > -1.0 && (a1 < 0 ? -a1 : a1) < 1.0 - a2;
}
#endif

static bool stable(uint32_t raw, const filter_set_t *set)
{
    (void)raw;
    bool ok = true;
    for (unsigned i = 0; i < set->stages && ok; i++) {
#if TW_NODE_FP32
        if (raw == TW_RAW_FP32) {
            ok = stable_f32(set->coef.f32[i]);
            continue;
        }
#endif
        ok = stable_q15(set->coef.q15[i], set->post_shift);
    }
    return ok;
}

/* As stable() for one biquad as it came over the wire. */
static bool wire_stable(uint32_t raw, const uint8_t *biquad, int post_shift)
{
    filter_set_t set = {.stages = 1, .post_shift = (int8_t)post_shift};
    const tw_xdm_t data = {(uint8_t *)(uintptr_t)biquad, TW_NODE_FP32 && raw == TW_RAW_FP32 ? 20 : 10};
    tw_param_put(store_of(raw), &set, 3, &data);
    return stable(raw, &set);
}

/* A biquad alone is judged at post_shift 0, where its poles are smallest: what is unstable there is
 * unstable everywhere. A block is judged at its own post_shift, as far as it reaches. */
static tw_err_t validate(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    const uint32_t biquad_bytes = TW_NODE_FP32 && fmt->raw == TW_RAW_FP32 ? 20 : 10;
    uint32_t bad = 0;
    if (tag == 3 || tag == 4) {
        bad = wire_stable(fmt->raw, value, 0) ? 0 : tag;
    } else if (tag == TW_TAG_ALL) {
        const uint32_t given = bytes < AT_BIQUADS ? 0 : (bytes - AT_BIQUADS) / biquad_bytes;
        for (uint32_t i = 0; i < tw_min_u32(given, value[AT_STAGES]) && bad == 0; i++) {
            const bool ok = wire_stable(fmt->raw, value + AT_BIQUADS + i * biquad_bytes, (int8_t)value[AT_POST_SHIFT]);
            bad = ok ? 0 : 3 + i;
        }
    }
    if (bad != 0) {
        *fault = (tw_fault_t){.err = TW_E_PARAM_UNSTABLE, .at = bad};
        return TW_E_PARAM_UNSTABLE;
    }
    return TW_OK;
}

/* ---- presets ---------------------------------------------------------------- */

enum { BYPASS = 1, LOW_PASS = 2, NO_DC = 3, DELAY_1 = 11, DELAY_32 = 42 };
#define PRESET_BITS (0xFull | ((((uint64_t)1 << HISTORY) - 1) << DELAY_1)) /* as far as the history reaches */

/* Low-pass: second-order Butterworth at a quarter of the sampling rate, gain at 0 Hz exactly 1.
 * No DC: zero at 1, pole at 1 - 1/128, so 3 dB down at Fs/804. A pole nearer to 1 would let Q15
 * truncation build up an offset of its own (half an LSB / distance of the pole from 1). */
static void set_preset(filter_set_t *set, uint32_t raw, uint32_t preset)
{
    static const struct {
        int8_t post_shift;
        int16_t q15[5];
    } designs[] = {
        [BYPASS] = {1, {16384, 0, 0, 0, 0}},
        [LOW_PASS] = {0, {9597, 19196, 9597, 0, -5622}},
        [NO_DC] = {0, {32640, -32640, 0, 32512, 0}},
    };
    const uint32_t k = preset == LOW_PASS || preset == NO_DC ? preset : BYPASS;
    *set =
        (filter_set_t){.stages = 1, .delay = (uint8_t)(HISTORY != 0 && preset >= DELAY_1 ? preset - DELAY_1 + 1 : 0)};
#if TW_NODE_FP32
    static const float designs_f32[][5] = {
        [BYPASS] = {1, 0, 0, 0, 0},
        [LOW_PASS] = {0.29289323f, 0.58578646f, 0.29289323f, 0, -0.17157287f},
        [NO_DC] = {0.99609375f, -0.99609375f, 0, 0.9921875f, 0},
    };
    if (raw == TW_RAW_FP32) {
        memcpy(set->coef.f32[0], designs_f32[k], sizeof designs_f32[k]);
        set->coef.f32[1][0] = 1.0f;
        return;
    }
#endif
    (void)raw;
    memcpy(set->coef.q15[0], designs[k].q15, sizeof designs[k].q15);
    set->post_shift = designs[k].post_shift;
    set->coef.q15[1][0] = (int16_t)tw_min_u32(32768u >> set->post_shift, 32767);
}

/* ---- signal ------------------------------------------------------------------ */

static uint8_t *state_of(filter_t *f, uint32_t channel)
{
    return (uint8_t *)f->signal + channel * CHANNEL_BYTES(f->shape.size);
}

static uint8_t *history_of(filter_t *f, uint32_t channel)
{
    return state_of(f, channel) + STATE * f->shape.size;
}

static void biquads(filter_t *f, uint32_t channel, const void *in, void *out, uint32_t n)
{
    void *state = state_of(f, channel);
#if TW_NODE_FP32
    if (f->shape.raw == TW_RAW_FP32) {
        f->svc->biquad_f32(&f->live.coef.f32[0][0], f->live.stages, state, in, out, n);
        return;
    }
#endif
    f->svc->biquad_q15(&f->live.coef.q15[0][0], f->live.stages, f->live.post_shift, state, in, out, n);
}

/* Copy n samples between strides [samples]. */
static void copy(void *to, uint32_t to_step, const void *from, uint32_t from_step, uint32_t n, uint32_t size)
{
    if (TW_NODE_FP32 && size == 4) {
        uint32_t *t = to;
        const uint32_t *s = from;
        for (uint32_t i = 0; i < n; i++) {
            t[(size_t)i * to_step] = s[(size_t)i * from_step];
        }
    } else {
        uint16_t *t = to;
        const uint16_t *s = from;
        for (uint32_t i = 0; i < n; i++) {
            t[(size_t)i * to_step] = s[(size_t)i * from_step];
        }
    }
}

/* A channel's history is a ring that begins at f->oldest: a short frame then replaces as many samples and moves none.
 * Samples are copied one by one, as the node before has just stored them: a wide load of what a processor still has
 * in its store queue waits for all of it. */
#define RING (HISTORY != 0 ? HISTORY : 1)
#if TW_NODE_FP32
static inline void remember_f32(float *history, uint32_t oldest, const float *in, uint32_t n)
{
    if (n >= RING) {
        memcpy(history, in + n - HISTORY, HISTORY * sizeof *in);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        history[(oldest + i) % RING] = in[i];
    }
}
#endif

static inline void remember_s16(int16_t *history, uint32_t oldest, const int16_t *in, uint32_t n)
{
    if (n >= RING) {
        memcpy(history, in + n - HISTORY, HISTORY * sizeof *in);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        history[(oldest + i) % RING] = in[i];
    }
}

static void remember(filter_t *f, uint32_t channel, const uint8_t *in, uint32_t n)
{
    if (HISTORY == 0) {
        return;
    }
#if TW_NODE_FP32
    if (f->shape.size == 4) {
        remember_f32((float *)(void *)history_of(f, channel), f->oldest, (const float *)(const void *)in, n);
        return;
    }
#endif
    remember_s16((int16_t *)(void *)history_of(f, channel), f->oldest, (const int16_t *)(const void *)in, n);
}

/* n samples of every channel were remembered. */
static inline void move_oldest(filter_t *f, uint32_t n)
{
    f->oldest = (uint8_t)(n >= RING ? 0 : (f->oldest + n) % RING);
}

/* At most CHUNK samples of one channel by way of the work block: [history][input]. */
static void through_work(filter_t *f, uint32_t channel, const uint8_t *in, uint8_t *out, uint32_t step, uint32_t n)
{
    const uint32_t size = f->shape.size, first = (HISTORY - f->oldest) * size;
    const uint8_t *history = history_of(f, channel);
    memcpy(f->work, history + f->oldest * size, first);
    memcpy(f->work + first, history, f->oldest * size);
    copy(f->work + HISTORY * size, 1, in, step, n, size);
    remember(f, channel, f->work + HISTORY * size, n);
    uint8_t *delayed = f->work + (HISTORY - f->live.delay) * size;
    biquads(f, channel, delayed, delayed, n);
    copy(out, step, delayed, 1, n, size);
}

/* Contiguous and not delayed: straight from arc to arc. In and out may be the same memory. */
static void direct(filter_t *f, uint32_t channel, const uint8_t *in, uint8_t *out, uint32_t n)
{
    remember(f, channel, in, n);
    biquads(f, channel, in, out, n);
}

/* A second stage that comes into play continues from what a bypass there would have seen. */
static void join_second_stage(filter_t *f)
{
    const size_t size = f->shape.size;
    for (uint32_t c = 0; c < tw_shape_channels(&f->shape); c++) {
        uint8_t *first_out = state_of(f, c) + 2 * size; /* y1, y2 */
        memcpy(first_out + 2 * size, first_out, 2 * size);
        memcpy(first_out + 4 * size, first_out, 2 * size);
    }
}

static uint32_t take_wanted(filter_t *f)
{
    f->changed = false;
    if (!stable(f->shape.raw, &f->wanted)) {
        f->wanted = f->live;
        return tw_node_error(TW_E_PARAM_UNSTABLE);
    }
    if (f->live.stages < f->wanted.stages) {
        join_second_stage(f);
    }
    f->live = f->wanted;
    return 0;
}

#if TW_NODE_FP32
/* Interleaved and not delayed: the kernel of channels side by side. Their state lies CHANNEL_BYTES apart. */
static void side_by_side(filter_t *f, const float *in, float *out, uint32_t n)
{
    const uint32_t channels = f->shape.channels, fresh = tw_min_u32(n, HISTORY);
    const uint32_t first = n >= HISTORY ? 0 : f->oldest;
    for (uint32_t c = 0; c < channels; c++) {
        float *history = (float *)(void *)history_of(f, c);
        for (uint32_t i = 0; i < fresh; i++) {
            history[(first + i) % HISTORY] = in[(size_t)(n - fresh + i) * channels + c];
        }
    }
    move_oldest(f, n);
    f->svc->biquad_f32_channels(&f->live.coef.f32[0][0], f->live.stages, (float *)(void *)state_of(f, 0),
                                CHANNEL_BYTES(4) / 4, in, out, n, channels);
}

/* One channel of FP32, not delayed, nothing new: the case that has to cost nothing beside its kernel. */
static inline void run_mono(filter_t *f, tw_xdm_t *data)
{
    const uint32_t n = tw_min_u32(data[0].bytes, data[1].bytes) / 4;
    float *state = (float *)f->signal;
    remember_f32(state + STATE, f->oldest, data[0].ptr, n);
    move_oldest(f, n);
    f->svc->biquad_f32(&f->live.coef.f32[0][0], f->live.stages, state, data[0].ptr, data[1].ptr, n);
    data[0].bytes = data[1].bytes = 4 * n;
}
#endif

static uint32_t run(filter_t *f, tw_xdm_t *data)
{
    const tw_shape_t *s = &f->shape;
    const uint32_t result = f->changed ? take_wanted(f) : 0;
    f->mono = TW_NODE_FP32 && s->channels == 1 && s->raw == TW_RAW_FP32 && f->live.delay == 0;
    const uint32_t n = tw_shape_instants(s, tw_min_u32(data[0].bytes, data[1].bytes));
    const uint32_t step = tw_shape_step(s);
    const bool straight = (HISTORY == 0 && TW_MAX_CHANNELS == 1u) || (step == 1 && f->live.delay == 0);
#if TW_NODE_FP32
    if (step > 1 && f->live.delay == 0 && s->raw == TW_RAW_FP32 && f->svc->biquad_f32_channels != NULL) {
        side_by_side(f, data[0].ptr, data[1].ptr, n);
        data[0].bytes = data[1].bytes = tw_shape_bytes(s, n);
        return result;
    }
#endif
    for (uint32_t t = 0, len = 0; t < n; t += len) {
        len = tw_shape_run(s, t, n);
        len = straight ? len : tw_min_u32(len, CHUNK);
        for (uint32_t c = 0; c < tw_shape_channels(s); c++) {
            const size_t where = tw_shape_at(s, t, c) * s->size;
            const uint8_t *in = (const uint8_t *)data[0].ptr + where;
            uint8_t *out = (uint8_t *)data[1].ptr + where;
            if (straight) {
                direct(f, c, in, out, len);
            } else {
                through_work(f, c, in, out, step, len);
            }
        }
        move_oldest(f, len);
    }
    data[0].bytes = data[1].bytes = tw_shape_bytes(s, n);
    return result;
}

/* ---- commands ------------------------------------------------------------------ */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    (void)rx, (void)tx, (void)extra;
    return tw_shape_memreq(&tw_node_filter, fmt, arc);
}

static tw_err_t reset(filter_t *f, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t in;
    tw_shape_t out;
    TW_TRY(tw_shape_reset(&tw_node_filter, r, cmd, &in, &out));
    TW_TRY(tw_shape_same(&in, &out) ? TW_OK : TW_E_IMG_ARC_FORMAT);
    const bool kernels = r->svc != NULL && r->svc->biquad_q15 != NULL && (!TW_NODE_FP32 || r->svc->biquad_f32 != NULL);
    TW_TRY(kernels ? TW_OK : TW_E_IMG_SERVICE);
    const uint32_t bytes = INSTANCE_BYTES + tw_shape_channels(&in) * CHANNEL_BYTES(in.size);
    TW_TRY(r->mem_bytes[0] >= bytes && r->mem_bytes[1] >= WORK_BYTES(in.size) ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && f->magic == tw_node_filter.hash && tw_shape_same(&f->shape, &in);
    if (!warm) {
        memset(f, 0, bytes);
    }
    f->svc = r->svc;
    f->work = r->mem[1];
    f->magic = tw_node_filter.hash;
    f->shape = in;
    set_preset(&f->wanted, in.raw, tw_bits(cmd, TW_CMD_PRESET));
    if (!warm) {
        f->live = f->wanted;
    }
    f->changed = true;
    f->mono = false;
    return TW_OK;
}

#if TW_NODE_FP32
#define TW_FILTER_APART __attribute__((noinline))
#else
#define TW_FILTER_APART
#endif
/* Apart, so that a RUN of run_mono() does not save the registers the others need. */
static TW_FILTER_APART uint32_t command(uint32_t cmd, filter_t *f, tw_xdm_t *data, uint32_t *state)
{
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(f, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        f->changed |= tw_param_put(store_of(f->shape.raw), &f->wanted, tag, data) != 0;
        return 0;
    case TW_CMD_READ_PARAMETER:
        return TW_NODE_READ ? tw_param_get(store_of(f->shape.raw), &f->wanted, tag, data)
                            : tw_node_error(TW_E_UNSUPPORTED);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        return run(f, data);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

static uint32_t filter(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    filter_t *f = inst;
#if TW_NODE_FP32
    if (tw_bits(cmd, TW_CMD_COMMAND) == TW_CMD_RUN && f->mono && !f->changed) {
        *state = TW_NODE_DONE;
        run_mono(f, data);
        return 0;
    }
#endif
    return command(cmd, f, data, state);
}

const tw_node_desc_t tw_node_filter = {
    TW_NODE_ID("ARM", "arm_stream_filter", 0x317E09B0u),
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_SIGNAL,
    .services = TW_SVC_DSP,
    .n_mem = 2,
    .mem =
        {
            {.a = INSTANCE_BYTES, .b = CHANNEL_BYTES(SAMPLE_MAX), .align = 8, .type = 0},
            {.a = WORK_BYTES(SAMPLE_MAX), .align = 4, .type = 1},
        },
    .run = filter,
    .memreq = memreq,
    .params = params,
    .validate = validate,
    .presets = PRESET_BITS,
    .in_place = 1,
};
