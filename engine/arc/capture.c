/* capture.c - see capture.h. One pass over the samples fed; the trigger first, then the point it belongs to. */
#include "engine/arc/capture.h"
#include "engine/base/bytes.h"
#include "engine/base/fixed.h"
#include "engine/base/formats.h"

/* The scale of all nodes (docs/NODES.md): signed -1..1, unsigned 0..1. */
static float fraction(uint32_t raw, const uint8_t *p)
{
    double d;
    uint64_t u;
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
        return (float)(int8_t)p[0] / 128.0f;
    case TW_RAW_U8:
        return (float)p[0] / 256.0f;
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return (float)(int16_t)tw_get_le16(p) / 32768.0f;
    case TW_RAW_U16:
        return (float)tw_get_le16(p) / 65536.0f;
    case TW_RAW_S32:
    case TW_RAW_Q31:
        return (float)(int32_t)tw_get_le32(p) / 2147483648.0f;
    case TW_RAW_U32:
        return (float)tw_get_le32(p) / 4294967296.0f;
    case TW_RAW_FP32:
        return tw_get_f32(p);
    case TW_RAW_FP64:
        u = tw_get_le64(p);
        memcpy(&d, &u, sizeof d);
        return (float)d;
    default:
        return 0;
    }
}

static float value_of(const tw_capture_cfg_t *c, const uint8_t *p)
{
    return fraction(c->raw, p) * c->scale + c->shift;
}

/* ---- setting up --------------------------------------------------------------------- */

static uint32_t bytes_of_point(const tw_capture_cfg_t *cfg)
{
    const uint32_t each = cfg->points == TW_POINTS_RAW      ? tw_raw_bits(cfg->raw) / 8
                          : cfg->points == TW_POINTS_MINMAX ? 8
                                                            : 4;
    return each * cfg->channels;
}

static uint32_t post_of(const tw_capture_cfg_t *cfg)
{
    return cfg->post != 0 ? cfg->post : 1;
}

uint32_t tw_capture_need(const tw_capture_cfg_t *cfg)
{
    const uint64_t n = ((uint64_t)cfg->pre + post_of(cfg)) * bytes_of_point(cfg);
    return n > INT32_MAX ? 0 : (uint32_t)((n + 7) & ~(uint64_t)7);
}

static bool number(float f)
{
    return f - f == 0; /* neither NaN nor infinite */
}

static tw_err_t check(const tw_capture_cfg_t *cfg)
{
    const bool codes = cfg->mode <= TW_CAPTURE_AUTO && cfg->cause <= TW_CAUSE_HOST && cfg->edge <= TW_EDGE_LEAVE &&
                       cfg->points <= TW_POINTS_RMS && cfg->flow_mask <= 3;
    if (!codes || cfg->channels == 0 || cfg->channels > TW_CAPTURE_CHANNELS || cfg->channel >= cfg->channels ||
        (cfg->blocks && cfg->samples == 0)) {
        return TW_E_ARG;
    }
    const uint32_t bits = tw_raw_bits(cfg->raw);
    const bool values = cfg->cause == TW_CAUSE_LEVEL || cfg->points != TW_POINTS_RAW;
    if (bits == 0 || bits % 8 != 0 || (values && !tw_raw_sampled(cfg->raw))) {
        return TW_E_UNSUPPORTED;
    }
    const bool window = cfg->edge == TW_EDGE_ENTER || cfg->edge == TW_EDGE_LEAVE;
    const bool numbers = number(cfg->scale) && number(cfg->shift) && number(cfg->low) && number(cfg->high) &&
                         number(cfg->hysteresis) && cfg->hysteresis >= 0;
    return !numbers || (window && cfg->low > cfg->high) || cfg->every > TW_CAPTURE_EVERY_MAX ? TW_E_RANGE : TW_OK;
}

static void take_segment(tw_capture_t *c)
{
    tw_capture_seg_t *s = &c->segs[c->next];
    if (atomic_load_explicit(&s->full, memory_order_acquire) != 0) {
        return;
    }
    c->seg = s;
    c->next = (c->next + 1) % c->n_segs;
    c->at = c->have = 0;
}

static void set_state(tw_capture_t *c, tw_capture_state_t s)
{
    atomic_store_explicit(&c->state, (uint32_t)s, memory_order_relaxed);
}

static tw_capture_state_t state_of(const tw_capture_t *c)
{
    return (tw_capture_state_t)atomic_load_explicit(&c->state, memory_order_relaxed);
}

static void count(_Atomic uint32_t *n)
{
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

tw_err_t tw_capture_init(tw_capture_t *c, const tw_capture_cfg_t *cfg, void *mem, uint32_t bytes, uint32_t *short_by)
{
    *short_by = 0;
    TW_TRY(check(cfg));
    const uint32_t need = tw_capture_need(cfg);
    if (need == 0 || need > bytes) {
        const uint64_t points = (uint64_t)cfg->pre + post_of(cfg), want = points * bytes_of_point(cfg) - bytes;
        *short_by = want > UINT32_MAX ? UINT32_MAX : (uint32_t)want;
        return TW_E_NOMEM;
    }
    const uint32_t fit = tw_min_u32(bytes / need, TW_CAPTURE_SEGMENTS);
    memset(c, 0, sizeof *c);
    c->cfg = *cfg;
    c->cfg.every = cfg->every != 0 ? cfg->every : 1;
    c->cfg.scale = cfg->scale < 0 || cfg->scale > 0 ? cfg->scale : 1;
    c->cfg.flow_mask = cfg->flow_mask != 0 ? cfg->flow_mask : TW_CAPTURE_FLOW_EMPTY | TW_CAPTURE_FLOW_FULL;
    c->size = cfg->pre + post_of(cfg);
    c->point_bytes = bytes_of_point(cfg);
    c->sample_bytes = tw_raw_bits(cfg->raw) / 8;
    c->n_segs = cfg->mode == TW_CAPTURE_SINGLE ? 1 : fit;
    for (uint32_t i = 0; i < c->n_segs; i++) {
        c->segs[i].mem = (uint8_t *)mem + (size_t)i * need;
    }
    c->pending = cfg->cause == TW_CAUSE_NOW || cfg->cause == TW_CAUSE_TICK ? cfg->cause : -1;
    take_segment(c);
    return TW_OK;
}

/* ---- the trigger ----------------------------------------------------------------------- */

/* 1: where the edge leads to; -1: where it must come from; 0: between, or no number. */
static int side_of(const tw_capture_cfg_t *c, float v)
{
    const float h = c->hysteresis;
    switch (c->edge) {
    case TW_EDGE_RISING:
        return v > c->low ? 1 : v <= c->low - h ? -1 : 0;
    case TW_EDGE_FALLING:
        return v < c->low ? 1 : v >= c->low + h ? -1 : 0;
    case TW_EDGE_ENTER:
        return v >= c->low && v <= c->high ? 1 : v < c->low - h || v > c->high + h ? -1 : 0;
    default:
        return v < c->low || v > c->high ? 1 : v >= c->low + h && v <= c->high - h ? -1 : 0;
    }
}

static bool level_fires(tw_capture_t *c, const uint8_t *p)
{
    float v = value_of(&c->cfg, p);
    v = c->cfg.magnitude && v < 0 ? -v : v;
    const int side = side_of(&c->cfg, v);
    const bool fires = side > 0 && c->armed;
    c->armed = side < 0 || (side == 0 && c->armed);
    return fires;
}

/* What fires at this sample, or -1. */
static int cause_now(tw_capture_t *c, const uint8_t *at_channel)
{
    const bool level = c->cfg.cause == TW_CAUSE_LEVEL && level_fires(c, at_channel);
    if (atomic_load_explicit(&c->wanted, memory_order_relaxed) != 0) {
        return TW_CAUSE_HOST;
    }
    if (c->pending >= 0 && (c->pending != TW_CAUSE_TICK || c->block_tick >= c->cfg.tick)) {
        return c->pending;
    }
    if (c->cfg.mode == TW_CAPTURE_AUTO && c->cfg.auto_after != 0 && c->waited >= c->cfg.auto_after) {
        return TW_CAUSE_AUTO;
    }
    return level ? TW_CAUSE_LEVEL : -1;
}

/* Triggers that mark a moment are gone when they cannot be taken; wishes wait for it. */
static bool waits(int cause)
{
    return cause == TW_CAUSE_NOW || cause == TW_CAUSE_HOST || cause == TW_CAUSE_AUTO;
}

static bool takes_what_there_is(int cause)
{
    return cause == TW_CAUSE_FLOW || cause == TW_CAUSE_TICK;
}

static void forget(tw_capture_t *c, int cause)
{
    if (cause == TW_CAUSE_HOST) {
        atomic_store_explicit(&c->wanted, 0, memory_order_relaxed);
    } else if (cause == c->pending) {
        /* in repeat, NOW means again at once */
        c->pending = cause == TW_CAUSE_NOW && c->cfg.mode != TW_CAPTURE_SINGLE ? cause : -1;
    }
}

static void fire(tw_capture_t *c, int cause)
{
    tw_capture_seg_t *s = c->seg;
    forget(c, cause);
    s->before = tw_min_u32(c->have, c->cfg.pre);
    s->sample = c->sample;
    s->tick = c->block_tick;
    s->offset = (uint32_t)(c->sample - c->block_sample);
    s->cause = (uint8_t)cause;
    c->post_left = post_of(&c->cfg);
    c->hold_left = c->cfg.hold_off;
    c->waited = 0;
    set_state(c, TW_CAPTURE_POST);
}

static void trigger(tw_capture_t *c, const uint8_t *at_channel)
{
    const int cause = cause_now(c, at_channel);
    if (cause < 0 || state_of(c) == TW_CAPTURE_POST) {
        if (cause >= 0 && !waits(cause)) {
            forget(c, cause); /* during a capture it is part of that one */
        }
        return;
    }
    const bool ripe = c->seg != NULL && (c->have >= c->cfg.pre || takes_what_there_is(cause));
    if (c->hold_left == 0 && ripe) {
        fire(c, cause);
    } else if (!waits(cause)) {
        forget(c, cause);
        if (c->seg == NULL && c->hold_left == 0) {
            count(&c->missed);
        }
    }
}

/* ---- points --------------------------------------------------------------------------------- */

static void hand_over(tw_capture_t *c)
{
    tw_capture_seg_t *s = c->seg;
    s->points = s->before + post_of(&c->cfg);
    s->first = (c->at + c->size - s->points) % c->size;
    s->number = atomic_load_explicit(&c->captures, memory_order_relaxed);
    s->missed = atomic_load_explicit(&c->missed, memory_order_relaxed);
    count(&c->captures);
    c->seg = NULL;
    set_state(c, c->cfg.mode == TW_CAPTURE_SINGLE ? TW_CAPTURE_DONE : TW_CAPTURE_FILLING);
    atomic_store_explicit(&s->full, 1, memory_order_release);
}

static void point_done(tw_capture_t *c)
{
    c->at = c->at + 1 == c->size ? 0 : c->at + 1;
    c->have += c->have < c->size;
    if (state_of(c) == TW_CAPTURE_POST) {
        if (--c->post_left == 0) {
            hand_over(c);
        }
    } else {
        set_state(c, c->have >= c->cfg.pre ? TW_CAPTURE_WAITING : TW_CAPTURE_FILLING);
    }
}

static void reduce(tw_capture_t *c, uint32_t ch, float v)
{
    if (c->phase == 0) {
        c->acc[ch] = c->top[ch] = v;
        c->sum[ch] = 0;
    }
    c->acc[ch] = v < c->acc[ch] ? v : c->acc[ch];
    c->top[ch] = v > c->top[ch] ? v : c->top[ch];
    c->sum[ch] += (double)v * (double)v;
}

static void put_reduced(const tw_capture_t *c, uint8_t *out)
{
    for (uint32_t ch = 0; ch < c->cfg.channels; ch++) {
        if (c->cfg.points == TW_POINTS_MINMAX) {
            tw_put_f32(out + 8 * ch, c->acc[ch]);
            tw_put_f32(out + 8 * ch + 4, c->top[ch]);
        } else {
            tw_put_f32(out + 4 * ch, tw_sqrtf((float)(c->sum[ch] / c->cfg.every)));
        }
    }
}

static void store(tw_capture_t *c, const uint8_t *p, uint32_t apart)
{
    uint8_t *out = c->seg != NULL ? c->seg->mem + (size_t)c->at * c->point_bytes : NULL;
    if (c->cfg.points != TW_POINTS_RAW) {
        for (uint32_t ch = 0; ch < c->cfg.channels; ch++) {
            reduce(c, ch, value_of(&c->cfg, p + (size_t)ch * apart));
        }
    } else if (c->phase == 0 && out != NULL) {
        for (uint32_t ch = 0; ch < c->cfg.channels; ch++) {
            memcpy(out + (size_t)ch * c->sample_bytes, p + (size_t)ch * apart, c->sample_bytes);
        }
    }
    if (++c->phase < c->cfg.every) {
        return;
    }
    c->phase = 0;
    if (out != NULL) {
        if (c->cfg.points != TW_POINTS_RAW) {
            put_reduced(c, out);
        }
        point_done(c);
    }
}

void tw_capture_feed(tw_capture_t *c, uint64_t tick, const uint8_t *data, uint32_t n)
{
    const uint32_t size = c->sample_bytes, step = c->cfg.blocks ? size : size * c->cfg.channels;
    const uint32_t apart = c->cfg.blocks ? c->cfg.samples * size : size;
    const uint32_t run = c->cfg.blocks ? c->cfg.samples : 1, run_bytes = run * size * c->cfg.channels;
    const uint32_t samples = n / run_bytes * run;
    if (tick != c->block_tick) {
        c->block_tick = tick;
        c->block_sample = c->sample;
    }
    for (uint32_t i = 0; i < samples && state_of(c) != TW_CAPTURE_DONE; i++) {
        const uint8_t *p = data + (size_t)(i / run) * run_bytes + (size_t)(i % run) * step;
        if (c->seg == NULL && c->phase == 0) {
            take_segment(c);
        }
        trigger(c, p + (size_t)c->cfg.channel * apart);
        store(c, p, apart);
        c->sample++;
        c->hold_left -= c->hold_left != 0;
        c->waited += state_of(c) == TW_CAPTURE_WAITING && c->hold_left == 0;
    }
}

void tw_capture_flow(tw_capture_t *c, uint32_t kind)
{
    if (c->cfg.cause == TW_CAUSE_FLOW && (c->cfg.flow_mask & kind) != 0) {
        c->pending = TW_CAUSE_FLOW;
    }
}

void tw_capture_script(tw_capture_t *c)
{
    if (c->cfg.cause == TW_CAUSE_SCRIPT) {
        c->pending = TW_CAUSE_SCRIPT;
    }
}

void tw_capture_want(tw_capture_t *c)
{
    atomic_store_explicit(&c->wanted, 1, memory_order_relaxed);
}

/* ---- the reader ---------------------------------------------------------------------------------- */

const tw_capture_seg_t *tw_capture_read(tw_capture_t *c)
{
    const tw_capture_seg_t *s = &c->segs[c->reading];
    return atomic_load_explicit(&s->full, memory_order_acquire) != 0 ? s : NULL;
}

void tw_capture_free(tw_capture_t *c)
{
    tw_capture_seg_t *s = &c->segs[c->reading];
    c->reading = (c->reading + 1) % c->n_segs;
    atomic_store_explicit(&s->full, 0, memory_order_release);
}

uint32_t tw_capture_copy(const tw_capture_t *c, const tw_capture_seg_t *s, uint32_t at, uint32_t n, uint8_t *out)
{
    const uint32_t most = at < s->points ? tw_min_u32(n, s->points - at) : 0;
    uint32_t done = 0;
    while (done < most) {
        const uint32_t from = (s->first + at + done) % c->size, run = tw_min_u32(most - done, c->size - from);
        memcpy(out + (size_t)done * c->point_bytes, s->mem + (size_t)from * c->point_bytes,
               (size_t)run * c->point_bytes);
        done += run;
    }
    return most * c->point_bytes;
}
