#include "engine/node/convert.h"
#include "engine/base/units.h"
#include <string.h>

typedef enum kind { NONE, BIT, UNSIGNED, SIGNED, HALF, SINGLE, DOUBLE, MILLI } kind_t;

/* One row a type: how a word is held, its value bits, its binary point. */
static const struct row {
    uint8_t kind, bytes, bits, point;
} rows[TW_RAW_COUNT] = {
    [TW_RAW_U1] = {BIT, 0, 1, 0},
    [TW_RAW_S8] = {SIGNED, 1, 8, 7},
    [TW_RAW_U8] = {UNSIGNED, 1, 8, 8},
    [TW_RAW_Q7] = {SIGNED, 1, 8, 7},
    [TW_RAW_CHAR] = {UNSIGNED, 1, 8, 8},
    [TW_RAW_S16] = {SIGNED, 2, 16, 15},
    [TW_RAW_U16] = {UNSIGNED, 2, 16, 16},
    [TW_RAW_Q15] = {SIGNED, 2, 16, 15},
    [TW_RAW_FP16] = {HALF, 2, 0, 0},
    [TW_RAW_Q23_32] = {SIGNED, 4, 24, 23},
    [TW_RAW_S32] = {SIGNED, 4, 32, 31},
    [TW_RAW_U32] = {UNSIGNED, 4, 32, 32},
    [TW_RAW_Q31] = {SIGNED, 4, 32, 31},
    [TW_RAW_FP32] = {SINGLE, 4, 0, 0},
    [TW_RAW_FP64] = {DOUBLE, 8, 0, 0},
    [TW_RAW_TIME16] = {UNSIGNED, 2, 16, 2},
    [TW_RAW_TIME16D] = {UNSIGNED, 2, 16, 15},
    [TW_RAW_TIME32] = {UNSIGNED, 4, 32, 4},
    [TW_RAW_TIME32D] = {UNSIGNED, 4, 32, 15},
    [TW_RAW_TIMESTMP] = {UNSIGNED, 4, 32, 12},
    [TW_RAW_TIME64] = {UNSIGNED, 8, 60, 28},
    [TW_RAW_TIME64MS] = {MILLI, 8, 42, 0},
};

bool tw_convert_numeric(uint32_t raw)
{
    return raw < TW_RAW_COUNT && rows[raw].kind != NONE;
}

static double pow2(unsigned e)
{
    return (double)((uint64_t)1 << e);
}

/* ---- words --------------------------------------------------------------------- */

static uint64_t get(const uint8_t *p, unsigned bytes)
{
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (bytes) {
    case 1:
        return *p;
    case 2:
        memcpy(&h, p, sizeof h);
        return h;
    case 4:
        memcpy(&w, p, sizeof w);
        return w;
    default:
        memcpy(&d, p, sizeof d);
        return d;
    }
}

static void put(uint8_t *p, unsigned bytes, uint64_t v)
{
    const uint16_t h = (uint16_t)v;
    const uint32_t w = (uint32_t)v;
    switch (bytes) {
    case 1:
        *p = (uint8_t)v;
        return;
    case 2:
        memcpy(p, &h, sizeof h);
        return;
    case 4:
        memcpy(p, &w, sizeof w);
        return;
    default:
        memcpy(p, &v, sizeof v);
    }
}

/* A double has 53 bits. What a longer word loses stays visible in the last one, so that a later rounding to
 * fewer bits comes out as if there had been no step in between. */
static double from_u64(uint64_t v)
{
    unsigned drop = 0;
    while (v >> drop >> 53 != 0) {
        drop++;
    }
    const bool odd = (v & (((uint64_t)1 << drop) - 1)) != 0;
    return (double)(v >> drop | odd) * pow2(drop);
}

/* Nearest integer, ties to even: next to 2^52 a double has no bit left for a fraction. IEEE arithmetic, which the
 * build does not relax. */
static double nearest(double v)
{
    const double big = v < 0 ? -4503599627370496.0 : 4503599627370496.0;
    return v > -4503599627370496.0 && v < 4503599627370496.0 ? (v + big) - big : v;
}

/* What a run of words needs to be made: the word of 1, the range. */
typedef struct range {
    double one, limit; /* limit: the first number too large */
    int64_t top, bottom;
} range_t;

static range_t range_of(const struct row *r)
{
    const unsigned bits = r->kind == SIGNED ? r->bits - 1u : r->bits;
    const int64_t top = (int64_t)(((uint64_t)1 << bits) - 1);
    return (range_t){.one = r->kind == MILLI ? 1000.0 : pow2(r->point),
                     .limit = pow2(bits),
                     .top = top,
                     .bottom = r->kind == SIGNED ? -top - 1 : 0};
}

static uint64_t to_word(const range_t *r, double v)
{
    const double y = nearest(v * r->one);
    if (!(y < r->limit)) {
        return v == v ? (uint64_t)r->top : 0; /* NaN is no number at all */
    }
    return (uint64_t)(y <= (double)r->bottom ? r->bottom : (int64_t)y);
}

/* ---- half precision -------------------------------------------------------------- */

static double scaled(double v, int e)
{
    return e < 0 ? v / pow2((unsigned)-e) : v * pow2((unsigned)e);
}

static uint32_t high_word(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return (uint32_t)(u >> 32);
}

static double from_half(uint32_t h)
{
    const int e = (int)(h >> 10 & 31u);
    const double m = (double)(h & 1023u), sign = h >> 15 & 1u ? -1.0 : 1.0;
    if (e == 31) {
        const uint32_t u = m != 0 ? 0x7FC00000u : 0x7F800000u;
        float f;
        memcpy(&f, &u, sizeof f);
        return sign * (double)f;
    }
    return sign * (e == 0 ? scaled(m, -24) : scaled(m + 1024, e - 25));
}

static uint32_t to_half(double v)
{
    const uint32_t high = high_word(v), sign = high >> 16 & 0x8000u;
    const double a = v < 0 ? -v : v;
    const int e = (int)(high >> 20 & 2047u) - 1023;
    if (v != v) {
        return sign | 0x7E00u;
    }
    if (e == 1024) {
        return sign | 0x7C00u;
    }
    if (a >= 65504.0) {
        return sign | 0x7BFFu;
    }
    if (e < -14) {
        return sign | (uint32_t)nearest(scaled(a, 24));
    }
    /* a mantissa that rounds up to 2048 carries into the exponent, as it should */
    return sign | (((uint32_t)(e + 14) << 10) + (uint32_t)nearest(scaled(a, 10 - e)));
}

static float to_single(double v)
{
    const double max = 3.4028234663852886e38;
    const bool finite = v - v == 0;
    return (float)(finite && v > max ? max : finite && v < -max ? -max : v);
}

/* ---- runs of samples --------------------------------------------------------------- */

/* `unit` is the number of the word 1, a power of two. */
static double load_one(const struct row *r, double unit, const uint8_t *p)
{
    const uint64_t w = get(p, r->bytes);
    float f;
    double d;
    switch ((kind_t)r->kind) {
    case SIGNED: {
        const unsigned up = 64u - r->bits;
        return (double)((int64_t)(w << up) / (int64_t)((uint64_t)1 << up)) * unit;
    }
    case UNSIGNED:
        return from_u64(w) * unit;
    case MILLI:
        return (double)(w & (((uint64_t)1 << r->bits) - 1)) / 1000.0;
    case HALF:
        return from_half((uint32_t)w);
    case SINGLE:
        memcpy(&f, p, sizeof f);
        return (double)f;
    case DOUBLE:
        memcpy(&d, p, sizeof d);
        return d;
    case NONE:
    case BIT:
        break;
    }
    return 0;
}

static void store_one(const struct row *r, const range_t *range, uint8_t *p, double v)
{
    float f;
    switch ((kind_t)r->kind) {
    case SIGNED:
    case UNSIGNED:
    case MILLI:
        put(p, r->bytes, to_word(range, v));
        return;
    case HALF:
        put(p, r->bytes, to_half(v));
        return;
    case SINGLE:
        f = to_single(v);
        memcpy(p, &f, sizeof f);
        return;
    case DOUBLE:
        memcpy(p, &v, sizeof v);
        return;
    case NONE:
    case BIT:
        return;
    }
}

static void load_bits(const uint8_t *data, size_t at, size_t step, uint32_t n, double *to)
{
    for (uint32_t i = 0; i < n; i++, at += step) {
        to[i] = (double)(data[at / 8] >> at % 8 & 1);
    }
}

static void store_bits(uint8_t *data, size_t at, size_t step, uint32_t n, const double *from)
{
    for (uint32_t i = 0; i < n; i++, at += step) {
        const uint8_t bit = (uint8_t)(1u << at % 8);
        data[at / 8] = (uint8_t)(from[i] > 0.5 ? data[at / 8] | bit : data[at / 8] & ~bit);
    }
}

void tw_convert_load_plain(uint32_t raw, const uint8_t *data, size_t at, size_t step, uint32_t n, double *to)
{
    const struct row *r = &rows[raw];
    if (r->kind == BIT) {
        load_bits(data, at, step, n, to);
        return;
    }
    const double unit = 1.0 / pow2(r->point);
    const uint8_t *p = data + at * r->bytes;
    for (uint32_t i = 0; i < n; i++, p += step * r->bytes) {
        to[i] = load_one(r, unit, p);
    }
}

void tw_convert_store_plain(uint32_t raw, uint8_t *data, size_t at, size_t step, uint32_t n, const double *from)
{
    const struct row *r = &rows[raw];
    if (r->kind == BIT) {
        store_bits(data, at, step, n, from);
        return;
    }
    const range_t range = range_of(r);
    uint8_t *p = data + at * r->bytes;
    for (uint32_t i = 0; i < n; i++, p += step * r->bytes) {
        store_one(r, &range, p, from[i]);
    }
}

/* ---- the types met most, without a branch in the loop ---------------------------------------
 * What they do is the plain loops' business; a step of 1 is told apart so that a vector unit may be used. */

static inline void load_s16(const uint8_t *restrict p, size_t step, uint32_t n, double *restrict to)
{
    for (uint32_t i = 0; i < n; i++) {
        int16_t w;
        memcpy(&w, p + i * step * sizeof w, sizeof w);
        to[i] = (double)w * (1.0 / 32768.0);
    }
}

static inline void load_s32(const uint8_t *restrict p, size_t step, uint32_t n, double *restrict to)
{
    for (uint32_t i = 0; i < n; i++) {
        int32_t w;
        memcpy(&w, p + i * step * sizeof w, sizeof w);
        to[i] = (double)w * (1.0 / 2147483648.0);
    }
}

static inline void load_f32(const uint8_t *restrict p, size_t step, uint32_t n, double *restrict to)
{
    for (uint32_t i = 0; i < n; i++) {
        float w;
        memcpy(&w, p + i * step * sizeof w, sizeof w);
        to[i] = (double)w;
    }
}

/* 1.5 * 2^52 leaves no fraction; NaN, which no comparison holds for, is 0. */
static inline double held(double y, double lo, double hi)
{
    const double up = y > lo ? y : lo, x = up < hi ? up : hi;
    return (y == y ? x : 0.0) + 6755399441055744.0 - 6755399441055744.0;
}

static inline void store_s16(uint8_t *restrict p, size_t step, uint32_t n, const double *restrict from)
{
    for (uint32_t i = 0; i < n; i++) {
        const int16_t w = (int16_t)(int32_t)held(from[i] * 32768.0, -32768.0, 32767.0);
        memcpy(p + i * step * sizeof w, &w, sizeof w);
    }
}

static inline void store_s32(uint8_t *restrict p, size_t step, uint32_t n, const double *restrict from)
{
    for (uint32_t i = 0; i < n; i++) {
        const int32_t w = (int32_t)held(from[i] * 2147483648.0, -2147483648.0, 2147483647.0);
        memcpy(p + i * step * sizeof w, &w, sizeof w);
    }
}

static inline void store_f32(uint8_t *restrict p, size_t step, uint32_t n, const double *restrict from)
{
    for (uint32_t i = 0; i < n; i++) {
        const float w = to_single(from[i]);
        memcpy(p + i * step * sizeof w, &w, sizeof w);
    }
}

static bool is_q15(uint32_t raw)
{
    return raw == TW_RAW_S16 || raw == TW_RAW_Q15;
}

static bool is_q31(uint32_t raw)
{
    return raw == TW_RAW_S32 || raw == TW_RAW_Q31;
}

void tw_convert_load(uint32_t raw, const uint8_t *data, size_t at, size_t step, uint32_t n, double *to)
{
    if (is_q15(raw)) {
        step == 1 ? load_s16(data + 2 * at, 1, n, to) : load_s16(data + 2 * at, step, n, to);
    } else if (is_q31(raw)) {
        step == 1 ? load_s32(data + 4 * at, 1, n, to) : load_s32(data + 4 * at, step, n, to);
    } else if (raw == TW_RAW_FP32) {
        step == 1 ? load_f32(data + 4 * at, 1, n, to) : load_f32(data + 4 * at, step, n, to);
    } else {
        tw_convert_load_plain(raw, data, at, step, n, to);
    }
}

void tw_convert_store(uint32_t raw, uint8_t *data, size_t at, size_t step, uint32_t n, const double *from)
{
    if (is_q15(raw)) {
        step == 1 ? store_s16(data + 2 * at, 1, n, from) : store_s16(data + 2 * at, step, n, from);
    } else if (is_q31(raw)) {
        step == 1 ? store_s32(data + 4 * at, 1, n, from) : store_s32(data + 4 * at, step, n, from);
    } else if (raw == TW_RAW_FP32) {
        step == 1 ? store_f32(data + 4 * at, 1, n, from) : store_f32(data + 4 * at, step, n, from);
    } else {
        tw_convert_store_plain(raw, data, at, step, n, from);
    }
}

/* ---- the shortest ways ----------------------------------------------------------------- */

/* Words that mean the same number. */
static bool same_words(const struct row *a, const struct row *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->bits == b->bits && a->point == b->point;
}

bool tw_convert_direct(uint32_t from, uint32_t to)
{
    const bool whole = tw_raw_bits(from) % 8 == 0 && tw_raw_bits(from) != 0;
    return (from == to && whole) || (whole && rows[from].kind != NONE && same_words(&rows[from], &rows[to])) ||
           (is_q15(from) && to == TW_RAW_FP32) || (from == TW_RAW_FP32 && is_q15(to));
}

/* As to_word(), in single precision, which has all the bits it takes. */
static int16_t to_q15(float v)
{
    const float y = v * 32768.0f;
    if (!(y < 32767.0f)) {
        return v == v ? 32767 : 0;
    }
    return y <= -32768.0f ? -32768 : (int16_t)((y + 12582912.0f) - 12582912.0f); /* 1.5 * 2^23 leaves no fraction */
}

static void copy_words(const uint8_t *src, size_t src_step, uint8_t *dst, size_t dst_step, uint32_t n, uint32_t bytes)
{
    if (bytes == 3 || bytes > 8) {
        for (uint32_t i = 0; i < n; i++, src += src_step * bytes, dst += dst_step * bytes) {
            memcpy(dst, src, bytes);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++, src += src_step * bytes, dst += dst_step * bytes) {
        put(dst, bytes, get(src, bytes));
    }
}

static void q15_to_single(const uint8_t *src, size_t src_step, uint8_t *dst, size_t dst_step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, src += 2 * src_step, dst += 4 * dst_step) {
        int16_t w;
        memcpy(&w, src, sizeof w);
        const float f = (float)w * (1.0f / 32768.0f);
        memcpy(dst, &f, sizeof f);
    }
}

static void single_to_q15(const uint8_t *src, size_t src_step, uint8_t *dst, size_t dst_step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, src += 4 * src_step, dst += 2 * dst_step) {
        float f;
        memcpy(&f, src, sizeof f);
        const int16_t w = to_q15(f);
        memcpy(dst, &w, sizeof w);
    }
}

void tw_convert_move(uint32_t from, const uint8_t *src, size_t src_step, uint32_t to, uint8_t *dst, size_t dst_step,
                     uint32_t n)
{
    if (tw_raw_bits(from) == tw_raw_bits(to)) {
        copy_words(src, src_step, dst, dst_step, n, tw_raw_bits(from) / 8);
    } else if (to == TW_RAW_FP32) {
        q15_to_single(src, src_step, dst, dst_step, n);
    } else {
        single_to_q15(src, src_step, dst, dst_step, n);
    }
}

/* ---- units --------------------------------------------------------------------------- */

bool tw_convert_units(uint32_t from, uint32_t to, tw_affine_t *a)
{
    const tw_unit_scale_t *f = tw_unit_scale(from), *t = tw_unit_scale(to);
    *a = (tw_affine_t){.gain = 1};
    if (from == to || from == 0 || to == 0) {
        return true;
    }
    if (f == NULL || t == NULL || f->primary != t->primary) {
        return false;
    }
    const double down = (double)t->den / t->num;
    a->gain = (double)f->num * t->den / ((double)f->den * t->num);
    a->bias = (f->offset - t->offset) * down;
    return true;
}
