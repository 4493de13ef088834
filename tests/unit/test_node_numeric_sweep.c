/* Numbers at the edge through every node type: full scale, NaN, infinities, denormals, in every accepted type, layout
 * and number of channels. Against a model in double precision where there is one, else against what must hold of any
 * node: the same input gives the same output, a RESET forgets what went wrong, finite sound stays finite, and what is
 * no number does not stay for ever. Built with the undefined-behaviour sanitizer, so a conversion that C leaves open
 * ends it. */
#include "tests/unit/node_rig.h"
#include <float.h>
#include <math.h>

enum { BLOCKS = 3, FRAME_MAX = 8192, RECOVER = 400 };

static const uint8_t raws[] = {TW_RAW_S8,     TW_RAW_U8,  TW_RAW_Q7,  TW_RAW_S16, TW_RAW_U16,  TW_RAW_Q15,
                               TW_RAW_Q23_32, TW_RAW_S32, TW_RAW_U32, TW_RAW_Q31, TW_RAW_FP32, TW_RAW_FP64};

/* ---- the model: numbers as docs/NODES.md has them -------------------------------------- */

static bool floating(uint32_t raw)
{
    return raw == TW_RAW_FP32 || raw == TW_RAW_FP64;
}

static bool has_sign(uint32_t raw)
{
    return raw != TW_RAW_U8 && raw != TW_RAW_U16 && raw != TW_RAW_U32;
}

/* Words of a number 1. */
static double unit_of(uint32_t raw)
{
    const uint32_t bits = raw == TW_RAW_Q23_32 ? 24 : tw_raw_bits(raw);
    return ldexp(1.0, (int)bits - (has_sign(raw) ? 1 : 0));
}

static double word_of(uint32_t raw, const uint8_t *p)
{
    const uint32_t bits = tw_raw_bits(raw);
    uint64_t w = 0;
    memcpy(&w, p, bits / 8);
    if (raw == TW_RAW_FP32) {
        return (double)tw_get_f32(p);
    }
    if (raw == TW_RAW_FP64) {
        double v;
        memcpy(&v, p, 8);
        return v;
    }
    const bool negative = has_sign(raw) && (w >> (bits - 1) & 1u) != 0;
    return negative ? (double)w - ldexp(1.0, (int)bits) : (double)w;
}

static double number_of(uint32_t raw, const uint8_t *p)
{
    return floating(raw) ? word_of(raw, p) : word_of(raw, p) / unit_of(raw);
}

static double lowest(uint32_t raw)
{
    return has_sign(raw) ? -unit_of(raw) : 0;
}

/* The nearest word, ties to even; the range's ends beyond; NaN is 0. */
static double nearest(uint32_t raw, double v)
{
    const double w = nearbyint(v * unit_of(raw));
    return isnan(v) ? 0 : fmin(fmax(w, lowest(raw)), unit_of(raw) - 1);
}

static double rounded(uint32_t raw, double v)
{
    if (raw == TW_RAW_FP64 || (raw == TW_RAW_FP32 && !isfinite(v))) {
        return v;
    }
    return raw == TW_RAW_FP32 ? (double)(float)fmin(fmax(v, -(double)FLT_MAX), (double)FLT_MAX) : nearest(raw, v);
}

/* ---- inputs -------------------------------------------------------------------------------- */

typedef enum pattern {
    SILENCE,
    NOISE,
    TOP,
    BOTTOM,
    SQUARE,
    DENORMAL,
    HUGE_VALUES,
    NO_NUMBER,
    INFINITE,
    MIXED,
    PATTERNS
} pattern_t;
static uint32_t seed;

static double real_sample(pattern_t p, uint32_t i)
{
    static const double mixed[] = {NAN, 1, -INFINITY, -1, 0.5, FLT_MAX, -0.0, INFINITY, FLT_MIN / 4, -FLT_MAX};
    switch (p) {
    case SILENCE:
        return i % 2 ? -0.0 : 0.0;
    case NOISE:
        return rig_noise(&seed) / 2147483648.0 - 1.0;
    case TOP:
        return 1;
    case BOTTOM:
        return -1;
    case SQUARE:
        return i % 3 ? 1 : -1;
    case DENORMAL:
        return (i % 2 ? -1 : 1) * (double)FLT_TRUE_MIN * (1 + i % 7);
    case HUGE_VALUES:
        return i % 2 ? -(double)FLT_MAX : (double)FLT_MAX;
    case NO_NUMBER:
        return NAN;
    case INFINITE:
        return i % 2 ? -INFINITY : INFINITY;
    case MIXED:
        return mixed[(i + rig_noise(&seed)) % TW_COUNT(mixed)];
    case PATTERNS:
        break;
    }
    return 0;
}

static bool poison(pattern_t p)
{
    return p >= HUGE_VALUES;
}

/* Words of other types: any, and the ends. */
static void fill(uint32_t raw, pattern_t p, uint8_t *to, uint32_t bytes)
{
    const uint32_t size = tw_raw_bits(raw) / 8;
    for (uint32_t i = 0; i * tw_max_u32(size, 1) < bytes; i++) {
        const double v = real_sample(p, i);
        if (raw == TW_RAW_FP32) {
            tw_put_f32(to + 4 * i, (float)v);
        } else if (raw == TW_RAW_FP64) {
            memcpy(to + 8 * i, &v, 8);
        } else if (size == 0 || !tw_raw_computable(raw)) {
            to[i] = p == NOISE || p == MIXED ? (uint8_t)rig_noise(&seed) : (uint8_t)(v > 0 ? 0xFF : 0);
        } else {
            const int64_t w = (int64_t)nearest(raw, v);
            memcpy(to + (size_t)size * i, &w, size);
        }
    }
}

/* ---- conversions, exactly ----------------------------------------------------------------- */

static void run_arcs(rig_t *g, uint8_t *const *at, uint32_t *bytes)
{
    tw_xdm_t data[TW_MAX_NODE_ARCS];
    for (uint32_t i = 0; i < (uint32_t)g->reset.rx + g->reset.tx; i++) {
        data[i] = (tw_xdm_t){at[i], bytes[i]};
    }
    const uint32_t err = rig_command(g, TW_CMD_RUN, 0, data);
    const int32_t code = -(int32_t)(err & 0xFFFFu ? err : 0);
    if (err != 0 && !(code <= 0 || err > 0xFFFF0000u)) {
        fail_msg("%s: RUN answers %u", g->d->name, (unsigned)err);
    }
    for (uint32_t i = 0; i < (uint32_t)g->reset.rx + g->reset.tx; i++) {
        assert_true(data[i].bytes <= bytes[i]);
        bytes[i] = data[i].bytes;
    }
}

static void check_conversion(uint32_t from, uint32_t to, uint32_t channels, uint32_t layout)
{
    enum { N = 24 };
    rig_t g;
    uint8_t in[N * 4 * 8], out[N * 4 * 8];
    const tw_format_t a = rig_format((tw_raw_t)from, channels, layout, N),
                      b = rig_format((tw_raw_t)to, channels, layout, N);
    rig_open(&g, "converter", a, b, 0);
    for (uint32_t p = 0; p < PATTERNS; p++) {
        fill(from, (pattern_t)p, in, a.frame_bytes);
        uint32_t bytes[2] = {a.frame_bytes, b.frame_bytes};
        run_arcs(&g, (uint8_t *[]){in, out}, bytes);
        assert_int_equal(bytes[1], b.frame_bytes);
        for (uint32_t i = 0; i < N * channels; i++) {
            const double v = number_of(from, in + i * (tw_raw_bits(from) / 8));
            const double want = rounded(to, v), got = word_of(to, out + i * (tw_raw_bits(to) / 8));
            const bool same = isnan(want) ? isnan(got) : !(want < got) && !(want > got);
            if (!same) {
                fail_msg("%s to %s, x%u: %.17g is %.17g, not %.17g", tw_raw_name((tw_raw_t)from),
                         tw_raw_name((tw_raw_t)to), (unsigned)channels, v, got, want);
            }
        }
    }
    rig_close(&g);
}

static void every_number_becomes_the_nearest_of_the_other_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(raws) * TW_COUNT(raws); i++) {
        for (uint32_t k = 0; k < 4; k++) {
            check_conversion(raws[i / TW_COUNT(raws)], raws[i % TW_COUNT(raws)], k < 2 ? 1 : 3, k & 1);
        }
    }
}

/* ---- gains ------------------------------------------------------------------------------------ */

static void check_level(const rig_t *g, uint32_t raw, const uint8_t *out, uint32_t i, double want)
{
    const double got = word_of(raw, out + i * (tw_raw_bits(raw) / 8));
    const double ideal = raw == TW_RAW_FP32 ? want : nearest(raw, want);
    const double slack = raw == TW_RAW_FP32 ? fabs(ideal) * 3e-7 + (double)FLT_TRUE_MIN : 1;
    const bool same = isnan(ideal)   ? isnan(got)
                      : isinf(ideal) ? !(got < ideal) && !(got > ideal)
                                     : fabs(got - ideal) <= slack || fabs(ideal) > (double)FLT_MAX;
    if (!same) {
        fail_msg("%s, %s: %.17g, not %.17g", g->d->name, tw_raw_name((tw_raw_t)raw), got, ideal);
    }
}

static void a_gain_saturates_words_and_scales_numbers(void **state)
{
    (void)state;
    enum { N = 32, LINEAR = 7, SLOPE = 1 };
    static const float gains[] = {0, 0.25f, 1, 1.5f, 3.98f, 63.9f};
    for (size_t k = 0; k < 3 * TW_COUNT(gains) * PATTERNS * 4; k++) {
        const uint32_t raw = (uint32_t[]){TW_RAW_S16, TW_RAW_Q15, TW_RAW_FP32}[k % 3];
        const float gain = gains[k / 3 % TW_COUNT(gains)];
        const pattern_t p = (pattern_t)(k / 3 / TW_COUNT(gains) % PATTERNS);
        const uint32_t way = (uint32_t)(k / 3 / TW_COUNT(gains) / PATTERNS), channels = way & 1 ? 5 : 1;
        uint8_t in[N * 5 * 4], out[N * 5 * 4];
        const tw_format_t f = rig_format((tw_raw_t)raw, channels, way >> 1, N);
        rig_t g;
        rig_open(&g, "amplifier", f, f, 0);
        assert_int_equal(rig_set_u8(&g, SLOPE, 0), TW_OK);
        assert_int_equal(rig_set_f32(&g, LINEAR, gain), TW_OK);
        uint8_t wire[4];
        assert_int_equal(rig_get(&g, LINEAR, wire, 4), 4);
        const double used = (double)tw_get_f32(wire); /* as near as its code comes */
        assert_true(fabs(used - (double)gain) <= 0.01 * (double)gain);
        fill(raw, p, in, f.frame_bytes);
        uint32_t bytes[2] = {f.frame_bytes, f.frame_bytes};
        run_arcs(&g, (uint8_t *[]){in, out}, bytes);
        assert_int_equal(bytes[1], f.frame_bytes);
        for (uint32_t i = 0; i < N * channels; i++) {
            check_level(&g, raw, out, i, number_of(raw, in + i * (tw_raw_bits(raw) / 8)) * used);
        }
        rig_close(&g);
    }
}

static void a_sum_saturates_and_does_not_wrap(void **state)
{
    (void)state;
    enum { N = 16, ARCS = 5 };
    for (size_t k = 0; k < 3 * 2 * PATTERNS; k++) {
        const uint32_t raw = (uint32_t[]){TW_RAW_S16, TW_RAW_Q15, TW_RAW_FP32}[k % 3];
        const pattern_t p = (pattern_t)(k / 6);
        uint8_t in[ARCS][N * 2 * 4], out[N * 2 * 4];
        const tw_format_t f = rig_format((tw_raw_t)raw, 2, (uint32_t)(k / 3 % 2), N);
        rig_t g;
        rig_prepare_arcs(&g, "mixer", f, f, ARCS, 1);
        assert_int_equal(rig_reset(&g, false, 0), 0);
        uint8_t *at[ARCS + 1];
        uint32_t bytes[ARCS + 1];
        for (uint32_t i = 0; i < ARCS; i++) {
            fill(raw, p, in[i], f.frame_bytes);
            at[i] = in[i];
            bytes[i] = f.frame_bytes;
        }
        at[ARCS] = out;
        bytes[ARCS] = f.frame_bytes;
        run_arcs(&g, at, bytes);
        assert_int_equal(bytes[ARCS], f.frame_bytes);
        for (uint32_t i = 0; i < 2 * N; i++) {
            double sum = 0, most = 0;
            for (uint32_t a = 0; a < ARCS; a++) {
                const double v = number_of(raw, in[a] + i * (tw_raw_bits(raw) / 8));
                sum += v;
                most = fmax(most, fabs(v));
            }
            if (raw != TW_RAW_FP32 || most <= 1) { /* beyond, single precision may lose what double keeps */
                const double got = word_of(raw, out + i * (tw_raw_bits(raw) / 8));
                const double ideal = raw == TW_RAW_FP32 ? sum : nearest(raw, sum);
                const double slack = raw == TW_RAW_FP32 ? 1e-6 : 2;
                if (fabs(got - ideal) > slack) {
                    fail_msg("mixer, %s: %.9g, not %.9g", tw_raw_name((tw_raw_t)raw), got, ideal);
                }
            }
        }
        rig_close(&g);
    }
}

/* ---- what holds of every node ------------------------------------------------------------------- */

typedef struct use {
    rig_t g;
    uint32_t in_raw, out_raw, preset;
    uint64_t sum; /* of all that came out */
    bool finite;  /* all of it, in the last block */
    uint32_t bytes_out;
} use_t;

static uint8_t buffers[TW_MAX_NODE_ARCS][FRAME_MAX];

static void one_block(use_t *u, pattern_t p)
{
    uint8_t *at[TW_MAX_NODE_ARCS];
    uint32_t bytes[TW_MAX_NODE_ARCS];
    const rig_t *g = &u->g;
    for (uint32_t i = 0; i < (uint32_t)g->reset.rx + g->reset.tx; i++) {
        at[i] = buffers[i];
        bytes[i] = g->fmt[i].frame_bytes * (i < g->reset.rx ? 1 : 2);
        if (i < g->reset.rx) {
            fill(g->fmt[i].raw, p, at[i], bytes[i]);
        }
    }
    run_arcs(&u->g, at, bytes);
    u->finite = true;
    for (uint32_t i = g->reset.rx; i < (uint32_t)g->reset.rx + g->reset.tx; i++) {
        for (uint32_t k = 0; k < bytes[i]; k++) {
            u->sum = (u->sum ^ at[i][k]) * 1099511628211u;
        }
        for (uint32_t k = 0; floating(g->fmt[i].raw) && k < bytes[i]; k += tw_raw_bits(g->fmt[i].raw) / 8) {
            u->finite = u->finite && isfinite(word_of(g->fmt[i].raw, at[i] + k));
        }
        u->bytes_out += bytes[i];
    }
}

static uint64_t play(use_t *u, pattern_t p)
{
    seed = 99;
    u->sum = 14695981039346656037u;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        one_block(u, p);
    }
    return u->sum;
}

static void complain(const use_t *u, pattern_t p, const char *what)
{
    const tw_format_t *in = &u->g.fmt[0], *out = &u->g.fmt[u->g.reset.rx];
    fail_msg("%s, %s x%u layout %u to %s, preset %u, pattern %d: %s", u->g.d->name, tw_raw_name((tw_raw_t)in->raw),
             in->channels, in->interleave, tw_raw_name((tw_raw_t)out->raw), (unsigned)u->preset, (int)p, what);
}

/* A filter may ring for long, a level decay slowly: but they end. */
static void recovers(use_t *u, pattern_t p)
{
    uint32_t left = RECOVER;
    do {
        one_block(u, SILENCE);
    } while (!u->finite && --left > 0);
    if (left == 0) {
        complain(u, p, "what is no number stays");
    }
}

static void sweep_patterns(use_t *u)
{
    assert_int_equal(rig_reset(&u->g, false, u->preset), 0);
    const uint64_t clean = play(u, NOISE);
    if (!u->finite) {
        complain(u, NOISE, "sound within full scale becomes what is no number");
    }
    for (uint32_t p = 0; p < PATTERNS; p++) {
        assert_int_equal(rig_reset(&u->g, false, u->preset), 0);
        const uint64_t first = play(u, (pattern_t)p);
        if (!u->finite && !poison((pattern_t)p)) {
            complain(u, (pattern_t)p, "sound within full scale becomes what is no number");
        }
        recovers(u, (pattern_t)p);
        assert_int_equal(rig_reset(&u->g, false, u->preset), 0);
        if (play(u, (pattern_t)p) != first) {
            complain(u, (pattern_t)p, "the same input gives another output");
        }
        assert_int_equal(rig_reset(&u->g, false, u->preset), 0);
        if (play(u, NOISE) != clean) {
            complain(u, (pattern_t)p, "a RESET does not forget it");
        }
    }
}

/* @return it took these formats */
static bool sweep_formats(const tw_node_desc_t *d, const tw_format_t *in, const tw_format_t *out)
{
    use_t u = {.in_raw = in->raw, .out_raw = out->raw};
    bool took = false;
    if (in->frame_bytes > FRAME_MAX / 2 || out->frame_bytes > FRAME_MAX / 2) {
        return false;
    }
    rig_prepare_arcs(&u.g, d->name + strlen("arm_stream_"), *in, *out, d->rx_min, (uint8_t)tw_max_u32(d->tx_min, 1));
    for (u.preset = 0; u.preset < 64; u.preset++) {
        if ((d->presets >> u.preset & 1u) != 0 && rig_reset(&u.g, false, u.preset) == 0) {
            sweep_patterns(&u);
            took = true;
        }
    }
    rig_close(&u.g);
    return took && u.bytes_out != 0;
}

static unsigned sweep_type(const tw_node_desc_t *d)
{
    static const struct {
        uint32_t channels, layout, samples, samples_out;
    } shapes[] = {{1, 0, 16, 16}, {2, 0, 16, 16}, {3, 1, 16, 16}, {8, 0, 16, 16}, {1, 0, 160, 13}, {1, 0, 64, 64}};
    unsigned took = 0;
    for (size_t i = 0; i < TW_COUNT(raws) * TW_COUNT(raws) * TW_COUNT(shapes); i++) {
        const size_t k = i % TW_COUNT(shapes), pair = i / TW_COUNT(shapes);
        const tw_raw_t a = (tw_raw_t)raws[pair / TW_COUNT(raws)], b = (tw_raw_t)raws[pair % TW_COUNT(raws)];
        const uint64_t mask = d->raw_mask != 0 ? d->raw_mask : UINT64_MAX;
        /* types that take nearly everything meet each pair in one shape */
        const bool seen = mask >> TW_RAW_FP64 != 0 && pair != 0 && k != pair % TW_COUNT(shapes);
        if ((mask >> a & 1u) == 0 || (mask >> b & 1u) == 0 || seen) {
            continue;
        }
        tw_format_t in = rig_format(a, shapes[k].channels, shapes[k].layout, shapes[k].samples);
        tw_format_t out = rig_format(b, shapes[k].channels, shapes[k].layout, shapes[k].samples_out);
        took += sweep_formats(d, &in, &out);
        in.domain = out.domain = 6; /* the same as a picture */
        in.mapping = out.mapping = (shapes[k].samples / 4) << 16 | 4u;
        took += sweep_formats(d, &in, &out);
    }
    return took;
}

static void every_node_survives_every_number(void **state)
{
    (void)state;
    static const char *const apart[] = {"arm_stream_script", "arm_stream_graph_control", "arm_stream_infer"};
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        bool skips = false;
        for (size_t k = 0; k < TW_COUNT(apart); k++) {
            skips = skips || strcmp(all[i]->name, apart[k]) == 0;
        }
        const unsigned took = skips ? 0 : sweep_type(all[i]);
        print_message("%s: %u pairs of formats\n", all[i]->name, took);
        assert_true(skips || took != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_becomes_the_nearest_of_the_other_type),
        cmocka_unit_test(a_gain_saturates_words_and_scales_numbers),
        cmocka_unit_test(a_sum_saturates_and_does_not_wrap),
        cmocka_unit_test(every_node_survives_every_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
