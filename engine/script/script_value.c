/* script_value.c - conversion and arithmetic of typed values; no libm, no trap, no undefined result. */
#include "engine/script/script_value_priv.h"

#define TWO_63 9223372036854775808.0

static bool is_u64(unsigned t)
{
    return t == TW_T_U64 || t == TW_T_PTR;
}

static bool is_signed(unsigned t)
{
    return t == TW_T_I8 || t == TW_T_I16 || t == TW_T_I32 || t == TW_T_I64;
}

static unsigned width(unsigned t)
{
    return 8 * tw_stype_bytes(t);
}

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t bits_of(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

/* ---- fp16 ---- */

static uint16_t half_of(double d)
{
    const uint64_t u = bits_of(d);
    const uint16_t sign = (uint16_t)(u >> 48 & 0x8000);
    const int e = (int)(u >> 52 & 0x7FF) - 1023;
    const uint64_t m = (u & mask_of(52)) | (uint64_t)1 << 52;
    if (e == 1024) {
        return (uint16_t)(sign | ((u & mask_of(52)) != 0 ? 0x7E00 : 0x7C00));
    }
    if (e < -25) {
        return sign;
    }
    if (e > 15) {
        return (uint16_t)(sign | 0x7C00);
    }
    const unsigned shift = e < -14 ? (unsigned)(42 - 14 - e) : 42u; /* 10 bits of mantissa stay, fewer below 2^-14 */
    const uint64_t rest = m & mask_of(shift);
    const uint64_t half = (uint64_t)1 << (shift - 1);
    uint32_t r = (uint32_t)(m >> shift);
    r += rest > half || (rest == half && (r & 1) != 0); /* ties to even; a carry moves into the exponent */
    return (uint16_t)(sign | (e < -14 ? r : ((uint32_t)(e + 14) << 10) + r));
}

static double half_to(uint16_t h)
{
    const int e = h >> 10 & 31;
    const uint32_t m = h & 0x3FF;
    double d;
    if (e == 31) {
        d = double_of(m != 0 ? 0x7FF8000000000000u : 0x7FF0000000000000u);
    } else if (e == 0) {
        d = m * (1.0 / 16777216.0);
    } else {
        d = (1024 + m) * double_of((uint64_t)(e - 25 + 1023) << 52);
    }
    return (h & 0x8000) != 0 ? -d : d;
}

/* ---- values ---- */

static tw_sv_t of_double(unsigned t, double d)
{
    if (t == TW_T_FP32) {
        d = (double)(float)d;
    } else if (t == TW_T_FP16) {
        d = half_to(half_of(d));
    }
    return (tw_sv_t){.v.f = d, .t = (uint8_t)t};
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t fit(unsigned t, int64_t v)
{
    switch (t) {
    case TW_T_I8:
        return clamp(v, -128, 127);
    case TW_T_U8:
    case TW_T_CHAR:
    case TW_T_FP8A:
    case TW_T_FP8B:
        return clamp(v, 0, 255);
    case TW_T_I16:
        return clamp(v, -32768, 32767);
    case TW_T_U16:
        return clamp(v, 0, 65535);
    case TW_T_I32:
        return (int32_t)(uint32_t)(uint64_t)v;
    case TW_T_U32:
    case TW_T_TIME32:
        return (int64_t)((uint64_t)v & 0xFFFFFFFFu);
    default:
        return v;
    }
}

tw_sv_t tw_sv_int(unsigned t, int64_t v)
{
    if (tw_stype_is_float(t)) {
        return of_double(t, (double)v);
    }
    return (tw_sv_t){.v.i = fit(t, v), .t = (uint8_t)t};
}

static double as_double(tw_sv_t a)
{
    if (tw_stype_is_float(a.t)) {
        return a.v.f;
    }
    return is_u64(a.t) ? (double)a.v.u : (double)a.v.i;
}

static tw_sv_t int_of_double(unsigned t, double d, uint8_t *errors)
{
    const bool s = is_signed(t);
    const double one = double_of((uint64_t)(1023 + width(t) - s) << 52); /* first value too large */
    const double low = s ? -one : 0.0;
    const uint64_t top = mask_of(width(t) - s);
    tw_sv_t r = {.v.u = 0, .t = (uint8_t)t};
    if (d >= one) {
        r.v.u = top;
    } else if (s && d <= low) {
        r.v.i = -(int64_t)top - 1;
    } else if (d > 0.0 && d >= TWO_63) {
        r.v.u = (uint64_t)d;
    } else if (d > low || d > 0.0) {
        r.v.i = (int64_t)d;
    }
    *errors |= (d >= one || d < low || d != d) ? TW_SERR_CONV : 0; /* d != d: NaN */
    return r;
}

tw_sv_t tw_sv_convert(tw_sv_t a, unsigned t, uint8_t *errors)
{
    if (a.t == t) {
        return a;
    }
    if (tw_stype_is_float(t)) {
        return of_double(t, as_double(a));
    }
    if (tw_stype_is_float(a.t)) {
        return int_of_double(t, a.v.f, errors);
    }
    if (is_u64(a.t) && a.v.i < 0 && width(t) <= 16) {
        a.v.i = INT64_MAX; /* too large for the signed path, saturates all the same */
    }
    return tw_sv_int(t, a.v.i);
}

int64_t tw_sv_to_int(tw_sv_t a, uint8_t *errors)
{
    return tw_sv_convert(a, TW_T_I64, errors).v.i;
}

uint64_t tw_sv_bits(tw_sv_t a)
{
    switch (a.t) {
    case TW_T_FP64:
        return bits_of(a.v.f);
    case TW_T_FP32: {
        const float f = (float)a.v.f;
        uint32_t u;
        memcpy(&u, &f, sizeof u);
        return u;
    }
    case TW_T_FP16:
        return half_of(a.v.f);
    default:
        return a.v.u & mask_of(width(a.t));
    }
}

tw_sv_t tw_sv_from_bits(unsigned t, uint64_t bits)
{
    tw_sv_t r = {.v.u = bits & mask_of(width(t)), .t = (uint8_t)t};
    if (t == TW_T_FP64) {
        r.v.f = double_of(bits);
    } else if (t == TW_T_FP32) {
        const uint32_t u = (uint32_t)bits;
        float f;
        memcpy(&f, &u, sizeof f);
        r.v.f = (double)f;
    } else if (t == TW_T_FP16) {
        r.v.f = half_to((uint16_t)bits);
    } else if (is_signed(t) && (r.v.u >> (width(t) - 1)) != 0) {
        r.v.u |= ~mask_of(width(t));
    }
    return r;
}

/* ---- arithmetic ---- */

int tw_sv_compare(tw_sv_t a, tw_sv_t b)
{
    if (tw_stype_is_float(a.t) || tw_stype_is_float(b.t)) {
        const double x = as_double(a);
        const double y = as_double(b);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : TW_CMP_UNORDERED;
    }
    const bool big_a = is_u64(a.t) && a.v.i < 0;
    const bool big_b = is_u64(b.t) && b.v.i < 0;
    if (big_a != big_b) {
        return big_a ? 1 : -1;
    }
    return a.v.i < b.v.i ? -1 : a.v.i > b.v.i;
}

static double fabs_of(double d)
{
    return double_of(bits_of(d) & mask_of(63));
}

/* Remainder with the quotient truncated; a quotient beyond 2^62 leaves nothing meaningful, hence 0. */
static double fmod_of(double x, double y)
{
    const double q = x / y;
    if (!(fabs_of(q) < TWO_63 / 2)) {
        return 0.0;
    }
    return x - (double)(int64_t)q * y;
}

/* Newton from a seed with the exponent halved; 0 for x <= 0 and NaN. */
static double sqrt_of(double x)
{
    if (!(x > 0.0)) {
        return 0.0;
    }
    if (bits_of(x) == 0x7FF0000000000000u) {
        return x;
    }
    if (x < 1e-300) { /* the seed needs a normal number */
        return sqrt_of(x * 0x1p200) * 0x1p-100;
    }
    double y = double_of((bits_of(x) >> 1) + 0x1FF7A3BEA91D9B1Bu);
    for (int i = 0; i < 5; i++) {
        y = 0.5 * (y + x / y);
    }
    return y;
}

static uint64_t isqrt(uint64_t x)
{
    uint64_t r = 0;
    for (uint64_t bit = (uint64_t)1 << 62; bit != 0; bit >>= 2) {
        const uint64_t trial = r + bit;
        r >>= 1;
        if (x >= trial) {
            x -= trial;
            r += bit;
        }
    }
    return r;
}

static double float_binary(unsigned key, double a, double b, uint8_t *errors)
{
    switch (key) {
    case TW_SOP_ADD:
        return a + b;
    case TW_SOP_SUB:
        return a - b;
    case TW_SOP_MUL:
        return a * b;
    case TW_SOP_SQRA:
        return a + b * b;
    case TW_SOP_MIN:
        return b < a ? b : a;
    case TW_SOP_MAX:
        return b > a ? b : a;
    case TW_SOP_AMIN:
        return fabs_of(b) < fabs_of(a) ? fabs_of(b) : fabs_of(a);
    case TW_SOP_AMAX:
        return fabs_of(b) > fabs_of(a) ? fabs_of(b) : fabs_of(a);
    case TW_SOP_DIV:
    case TW_SOP_MOD:
        if (b == 0.0) {
            *errors |= TW_SERR_DIV0;
            return 0.0;
        }
        return key == TW_SOP_DIV ? a / b : fmod_of(a, b);
    default:
        return 0.0;
    }
}

static int64_t divide(unsigned key, unsigned t, tw_sval_t a, tw_sval_t b, uint8_t *errors)
{
    if (b.u == 0) {
        *errors |= TW_SERR_DIV0;
        return 0;
    }
    if (is_u64(t)) {
        return (int64_t)(key == TW_SOP_DIV ? a.u / b.u : a.u % b.u);
    }
    if (b.i == -1) { /* the one quotient that overflows */
        return key == TW_SOP_DIV ? (int64_t)(0 - a.u) : 0;
    }
    return key == TW_SOP_DIV ? a.i / b.i : a.i % b.i;
}

static int64_t magnitude(unsigned t, tw_sval_t a)
{
    return is_signed(t) && a.i < 0 ? (int64_t)(0 - a.u) : a.i;
}

static bool int_less(unsigned t, int64_t a, int64_t b)
{
    return is_u64(t) ? (uint64_t)a < (uint64_t)b : a < b;
}

static tw_sv_t shift(tw_sv_t a, int64_t n)
{
    const bool unsigned64 = is_u64(a.t);
    if (n < 0) {
        const unsigned right = n < -63 ? 63u : (unsigned)-n;
        return tw_sv_int(a.t, unsigned64 ? (int64_t)(a.v.u >> right) : a.v.i >> right);
    }
    const unsigned left = n > 63 ? 63u : (unsigned)n;
    if (width(a.t) <= 16 && left > 40 && a.v.i != 0) {
        return tw_sv_int(a.t, a.v.i < 0 ? INT64_MIN : INT64_MAX); /* far beyond the type: saturates */
    }
    return tw_sv_int(a.t, (int64_t)(a.v.u << left));
}

static tw_sv_t int_binary(unsigned key, tw_sv_t a, tw_sv_t b, uint8_t *errors)
{
    const int64_t abs_a = magnitude(a.t, a.v);
    const int64_t abs_b = magnitude(a.t, b.v);
    switch (key) {
    case TW_SOP_ADD:
        return tw_sv_int(a.t, (int64_t)(a.v.u + b.v.u));
    case TW_SOP_SUB:
        return tw_sv_int(a.t, (int64_t)(a.v.u - b.v.u));
    case TW_SOP_MUL:
        return tw_sv_int(a.t, (int64_t)(a.v.u * b.v.u));
    case TW_SOP_SQRA:
        return tw_sv_int(a.t, (int64_t)(a.v.u + b.v.u * b.v.u));
    case TW_SOP_MIN:
        return int_less(a.t, b.v.i, a.v.i) ? b : a;
    case TW_SOP_MAX:
        return int_less(a.t, a.v.i, b.v.i) ? b : a;
    case TW_SOP_AMIN: /* magnitudes compare unsigned: |minimum| has no signed form */
        return tw_sv_int(a.t, (uint64_t)abs_b < (uint64_t)abs_a ? abs_b : abs_a);
    case TW_SOP_AMAX:
        return tw_sv_int(a.t, (uint64_t)abs_b > (uint64_t)abs_a ? abs_b : abs_a);
    case TW_SOP_DIV:
    case TW_SOP_MOD:
        return tw_sv_int(a.t, divide(key, a.t, a.v, b.v, errors));
    default:
        return a;
    }
}

tw_sv_t tw_sv_binary(unsigned key, tw_sv_t a, tw_sv_t b, uint8_t *errors)
{
    if (key == TW_SOP_ASHFT && !tw_stype_is_float(a.t)) {
        const bool huge = is_u64(b.t) && b.v.i < 0;
        return shift(a, huge ? INT64_MAX : tw_sv_to_int(b, errors)); /* the count keeps its own range */
    }
    b = tw_sv_convert(b, a.t, errors);
    switch (key) {
    case TW_SOP_RSB:
        return tw_sv_binary(TW_SOP_SUB, b, a, errors);
    case TW_SOP_RDIV:
        return tw_sv_binary(TW_SOP_DIV, b, a, errors);
    case TW_SOP_AND:
        return tw_sv_from_bits(a.t, tw_sv_bits(a) & tw_sv_bits(b));
    case TW_SOP_OR:
        return tw_sv_from_bits(a.t, tw_sv_bits(a) | tw_sv_bits(b));
    case TW_SOP_XOR:
        return tw_sv_from_bits(a.t, tw_sv_bits(a) ^ tw_sv_bits(b));
    case TW_SOP_NOR:
        return tw_sv_from_bits(a.t, ~(tw_sv_bits(a) | tw_sv_bits(b)));
    case TW_SOP_ASHFT: {
        const int64_t n = clamp(tw_sv_to_int(b, errors), -63, 63);
        return of_double(a.t, a.v.f * double_of((uint64_t)(1023 + n) << 52));
    }
    default:
        return tw_stype_is_float(a.t) ? of_double(a.t, float_binary(key, a.v.f, b.v.f, errors))
                                      : int_binary(key, a, b, errors);
    }
}

static int redundant_sign_bits(tw_sv_t a)
{
    if (tw_stype_is_float(a.t)) {
        return 0;
    }
    const unsigned w = width(a.t);
    const bool negative = is_signed(a.t) && a.v.i < 0;
    const uint64_t x = (negative ? ~a.v.u : a.v.u) & mask_of(w);
    const int leading = x == 0 ? (int)w : __builtin_clzll(x) - (int)(64 - w);
    return leading - is_signed(a.t);
}

tw_sv_t tw_sv_unary(unsigned key, tw_sv_t a)
{
    const bool flt = tw_stype_is_float(a.t);
    switch (key) {
    case TW_SOP_NEG:
        return flt ? of_double(a.t, -a.v.f) : tw_sv_int(a.t, (int64_t)(0 - a.v.u));
    case TW_SOP_NOT:
        return tw_sv_from_bits(a.t, ~tw_sv_bits(a));
    case TW_SOP_ABS:
        return flt ? of_double(a.t, fabs_of(a.v.f)) : tw_sv_int(a.t, magnitude(a.t, a.v));
    case TW_SOP_NORM:
        return tw_sv_int(TW_T_I32, redundant_sign_bits(a));
    case TW_SOP_SQRT:
        if (flt) {
            return of_double(a.t, sqrt_of(a.v.f));
        }
        return tw_sv_int(a.t, is_signed(a.t) && a.v.i < 0 ? 0 : (int64_t)isqrt(a.v.u));
    default:
        return a;
    }
}

static double float_wrap(double x, double m, uint8_t *errors)
{
    if (!(m > 0.0)) {
        *errors |= TW_SERR_DIV0;
        return 0.0;
    }
    const double r = fmod_of(x, m);
    return r < 0.0 ? r + m : r;
}

static int64_t int_wrap(unsigned t, int64_t x, int64_t m, uint8_t *errors)
{
    if (m == 0 || (m < 0 && !is_u64(t))) {
        *errors |= TW_SERR_DIV0;
        return 0;
    }
    if (is_u64(t)) {
        return (int64_t)((uint64_t)x % (uint64_t)m);
    }
    const int64_t r = x % m;
    return r < 0 ? r + m : r;
}

tw_sv_t tw_sv_wrap(bool minus, tw_sv_t a, tw_sv_t b, tw_sv_t m, uint8_t *errors)
{
    b = tw_sv_convert(b, a.t, errors);
    m = tw_sv_convert(m, a.t, errors);
    if (tw_stype_is_float(a.t)) {
        return of_double(a.t, float_wrap(minus ? a.v.f - b.v.f : a.v.f + b.v.f, m.v.f, errors));
    }
    const int64_t sum = (int64_t)(minus ? a.v.u - b.v.u : a.v.u + b.v.u);
    return tw_sv_int(a.t, int_wrap(a.t, sum, m.v.i, errors));
}

tw_sv_t tw_sv_lerp(tw_sv_t a, tw_sv_t b, tw_sv_t k, uint8_t *errors)
{
    b = tw_sv_convert(b, a.t, errors);
    if (tw_stype_is_float(a.t) || tw_stype_is_float(k.t)) {
        const double x = as_double(a);
        const tw_sv_t r = {.v.f = x + (as_double(b) - x) * as_double(k), .t = TW_T_FP64};
        return tw_sv_convert(r, a.t, errors);
    }
    const uint64_t step = (b.v.u - a.v.u) * k.v.u;
    return tw_sv_int(a.t, (int64_t)(a.v.u + (uint64_t)((int64_t)step >> 15)));
}

tw_sv_t tw_sv_bitop(unsigned key, tw_sv_t a, unsigned n)
{
    const unsigned w = width(a.t);
    const uint64_t bits = tw_sv_bits(a);
    const uint64_t one = n < w ? (uint64_t)1 << n : 0;
    const bool negative = is_signed(a.t) && (bits >> (w - 1)) != 0;
    switch (key) {
    case TW_SOP_SHL:
        return tw_sv_from_bits(a.t, n < w ? bits << n : 0);
    case TW_SOP_SHR:
        return tw_sv_from_bits(a.t, bits >> n);
    case TW_SOP_ASR:
        return tw_sv_from_bits(a.t, (negative ? bits | ~mask_of(w) : bits) >> n |
                                        (negative && n != 0 ? ~(uint64_t)0 << (64 - n) : 0));
    case TW_SOP_ROT:
        n %= w;
        return tw_sv_from_bits(a.t, n == 0 ? bits : bits << n | bits >> (w - n));
    case TW_SOP_BSET:
        return tw_sv_from_bits(a.t, bits | one);
    case TW_SOP_BCLR:
        return tw_sv_from_bits(a.t, bits & ~one);
    default:
        return a;
    }
}
