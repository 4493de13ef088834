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

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t word_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* ---- fp16 ---- */

static uint16_t half_of(float f)
{
    const uint32_t u = word_of(f);
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    const int e = (int)(u >> 23 & 0xFF) - 127;
    const uint32_t m = (u & 0x7FFFFF) | 0x800000;
    if (f != f) {
        return 0x7E00;
    }
    if (e < -25) {
        return sign;
    }
    if (e > 15) {
        return (uint16_t)(sign | 0x7C00);
    }
    const unsigned shift = e < -14 ? (unsigned)(13 - 14 - e) : 13u; /* 10 bits of mantissa stay, fewer below 2^-14 */
    const uint32_t rest = m & (((uint32_t)1 << shift) - 1);
    const uint32_t half = (uint32_t)1 << (shift - 1);
    uint32_t r = m >> shift;
    r += rest > half || (rest == half && (r & 1) != 0); /* ties to even; a carry moves into the exponent */
    return (uint16_t)(sign | (e < -14 ? r : ((uint32_t)(e + 14) << 10) + r));
}

static float half_to(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t e = h >> 10 & 31;
    const uint32_t m = h & 0x3FF;
    if (e == 0) {
        const float f = (float)m * (1.0f / 16777216.0f);
        return sign != 0 ? -f : f;
    }
    return float_of(sign | (e == 31 ? 0xFFu : e + 112) << 23 | m << 13);
}

/* ---- values ---- */

static bool is_single(unsigned t)
{
    return t == TW_T_FP16 || t == TW_T_FP32;
}

static tw_sv_t of_single(unsigned t, float s)
{
    return (tw_sv_t){.v.s = t == TW_T_FP16 ? half_to(half_of(s)) : s, .t = (uint8_t)t};
}

/* To fp16 by way of fp32, as everywhere. */
static tw_sv_t of_double(unsigned t, double d)
{
    return is_single(t) ? of_single(t, (float)d) : (tw_sv_t){.v.f = d, .t = (uint8_t)t};
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
        return is_single(t) ? of_single(t, (float)v) : of_double(t, (double)v);
    }
    return (tw_sv_t){.v.i = fit(t, v), .t = (uint8_t)t};
}

static double as_double(tw_sv_t a)
{
    if (is_single(a.t)) {
        return (double)a.v.s;
    }
    if (a.t == TW_T_FP64) {
        return a.v.f;
    }
    return is_u64(a.t) ? (double)a.v.u : (double)a.v.i;
}

/* Towards zero; what the type cannot hold becomes its nearest limit, NaN 0. */
static tw_sv_t int_of_double(unsigned t, double d, uint8_t *errors)
{
    const bool s = is_signed(t);
    const double one = double_of((uint64_t)(1023 + width(t) - s) << 52); /* first value too large */
    const uint64_t top = mask_of(width(t) - s);
    tw_sv_t r = {.v.u = 0, .t = (uint8_t)t};
    bool fits = true;
    if (d >= one) {
        r.v.u = top;
        fits = false;
    } else if (d >= TWO_63) {
        r.v.u = (uint64_t)d;
    } else if (s ? d < -one : d <= -1.0) {
        /* below the least, or truncated to it */
        fits = s && width(t) < 64 && d > -one - 1.0;
        r.v.i = s ? -(int64_t)top - 1 : 0;
    } else if (d == d) {
        r.v.i = (int64_t)d;
    } else {
        fits = false;
    }
    *errors |= fits ? 0 : TW_SERR_CONV;
    return r;
}

tw_sv_t tw_sv_convert(tw_sv_t a, unsigned t, uint8_t *errors)
{
    if (a.t == t) {
        return a;
    }
    if (is_single(t) && is_single(a.t)) {
        return of_single(t, a.v.s);
    }
    if (is_single(t) && !tw_stype_is_float(a.t)) {
        return of_single(t, is_u64(a.t) ? (float)a.v.u : (float)a.v.i);
    }
    if (tw_stype_is_float(t)) {
        return of_double(t, as_double(a));
    }
    if (tw_stype_is_float(a.t)) {
        return int_of_double(t, as_double(a), errors);
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

/* A NaN has one image, whatever machine made it. */
uint64_t tw_sv_bits(tw_sv_t a)
{
    switch (a.t) {
    case TW_T_FP64:
        return a.v.f == a.v.f ? a.v.u : 0x7FF8000000000000u;
    case TW_T_FP32:
        return a.v.s == a.v.s ? word_of(a.v.s) : 0x7FC00000u;
    case TW_T_FP16:
        return half_of(a.v.s);
    default:
        return a.v.u & mask_of(width(a.t));
    }
}

tw_sv_t tw_sv_from_bits(unsigned t, uint64_t bits)
{
    tw_sv_t r = {.v.u = bits & mask_of(width(t)), .t = (uint8_t)t};
    if (t == TW_T_FP32) {
        r.v.s = float_of((uint32_t)bits);
    } else if (t == TW_T_FP16) {
        r.v.s = half_to((uint16_t)bits);
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

/* Bit by bit, hence exactly rounded; 0 for x <= 0 and NaN. */
static double sqrt_of(double x)
{
    if (!(x > 0.0) || bits_of(x) == 0x7FF0000000000000u) {
        return x > 0.0 ? x : 0.0;
    }
    int e = (int)(bits_of(x) >> 52) - 1023;
    uint64_t m = bits_of(x) & mask_of(52);
    if (e == -1023) {
        const int up = __builtin_clzll(m) - 11;
        m <<= up;
        e = -1022 - up;
    } else {
        m |= (uint64_t)1 << 52;
    }
    m <<= e & 1;
    uint64_t q = 0;
    uint64_t sum = 0;
    for (uint64_t r = (uint64_t)1 << 53; r != 0; r >>= 1) { /* 53 bits of the root and one to round by */
        m <<= 1;
        if (sum + r <= m) {
            m -= sum + r;
            sum += 2 * r;
            q += r;
        }
    }
    q += m != 0 ? q & 1 : 0;
    return double_of((uint64_t)((e >> 1) + 1023) << 52) * ((double)q * (1.0 / 9007199254740992.0));
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

/* The four operations, rounded to the holder: float for fp16 and fp32, double for fp64. */
static tw_sv_t step(unsigned key, tw_sv_t a, tw_sv_t b)
{
    const bool one = is_single(a.t);
    switch (key) {
    case TW_SOP_ADD:
        one ? (a.v.s += b.v.s) : (a.v.f += b.v.f);
        break;
    case TW_SOP_SUB:
        one ? (a.v.s -= b.v.s) : (a.v.f -= b.v.f);
        break;
    case TW_SOP_MUL:
        one ? (a.v.s *= b.v.s) : (a.v.f *= b.v.f);
        break;
    case TW_SOP_DIV:
        one ? (a.v.s /= b.v.s) : (a.v.f /= b.v.f);
        break;
    }
    return a;
}

static tw_sv_t with_sign(tw_sv_t a, bool flip)
{
    if (is_single(a.t)) {
        a.v.s = float_of(flip ? word_of(a.v.s) ^ 0x80000000u : word_of(a.v.s) & 0x7FFFFFFFu);
    } else {
        a.v.u = flip ? a.v.u ^ ~mask_of(63) : a.v.u & mask_of(63);
    }
    return a;
}

/* Remainder with the quotient truncated; a quotient of 2^31 and beyond leaves nothing meaningful, hence 0. */
static tw_sv_t remainder_of(tw_sv_t a, tw_sv_t b)
{
    tw_sv_t q = step(TW_SOP_DIV, a, b);
    const double d = as_double(q);
    if (!(d < 2147483648.0 && d > -2147483648.0)) {
        return of_double(a.t, 0.0);
    }
    if ((int32_t)d == 0) {
        return a;
    }
    q = of_double(a.t == TW_T_FP64 ? TW_T_FP64 : TW_T_FP32, (double)(int32_t)d);
    return step(TW_SOP_SUB, a, step(TW_SOP_MUL, q, b));
}

/* The last rounding: fp16 is computed as fp32 until here. */
static tw_sv_t rounded(tw_sv_t a)
{
    return is_single(a.t) ? of_single(a.t, a.v.s) : a;
}

static tw_sv_t float_binary(unsigned key, tw_sv_t a, tw_sv_t b, uint8_t *errors)
{
    switch (key) {
    case TW_SOP_ADD:
    case TW_SOP_SUB:
    case TW_SOP_MUL:
        return step(key, a, b);
    case TW_SOP_SQRA:
        return step(TW_SOP_ADD, a, step(TW_SOP_MUL, b, b));
    case TW_SOP_MIN:
        return tw_sv_compare(b, a) == -1 ? b : a;
    case TW_SOP_MAX:
        return tw_sv_compare(b, a) == 1 ? b : a;
    case TW_SOP_AMIN:
        return float_binary(TW_SOP_MIN, with_sign(a, false), with_sign(b, false), errors);
    case TW_SOP_AMAX:
        return float_binary(TW_SOP_MAX, with_sign(a, false), with_sign(b, false), errors);
    default:
        if (as_double(b) == 0.0) {
            *errors |= TW_SERR_DIV0;
            return of_double(a.t, 0.0);
        }
        return key == TW_SOP_DIV ? step(key, a, b) : remainder_of(a, b);
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
    if (key == TW_SOP_ASHFT) {
        const tw_sv_t count = tw_sv_int(TW_T_I64, clamp(tw_sv_to_int(b, errors), -63, 63));
        const double power = double_of((uint64_t)(1023 + count.v.i) << 52);
        return rounded(step(TW_SOP_MUL, a, of_double(a.t == TW_T_FP64 ? TW_T_FP64 : TW_T_FP32, power)));
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
    default:
        return tw_stype_is_float(a.t) ? rounded(float_binary(key, a, b, errors)) : int_binary(key, a, b, errors);
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
        return flt ? with_sign(a, true) : tw_sv_int(a.t, (int64_t)(0 - a.v.u));
    case TW_SOP_NOT:
        return tw_sv_from_bits(a.t, ~tw_sv_bits(a));
    case TW_SOP_ABS:
        return flt ? with_sign(a, false) : tw_sv_int(a.t, magnitude(a.t, a.v));
    case TW_SOP_NORM:
        return tw_sv_int(TW_T_I32, redundant_sign_bits(a));
    case TW_SOP_SQRT:
        if (flt) {
            return of_double(a.t, sqrt_of(as_double(a)));
        }
        return tw_sv_int(a.t, is_signed(a.t) && a.v.i < 0 ? 0 : (int64_t)isqrt(a.v.u));
    default:
        return a;
    }
}

static tw_sv_t float_wrap(tw_sv_t x, tw_sv_t m, uint8_t *errors)
{
    const tw_sv_t zero = of_double(x.t, 0.0);
    if (tw_sv_compare(m, zero) != 1) {
        *errors |= TW_SERR_DIV0;
        return zero;
    }
    tw_sv_t r = remainder_of(x, m);
    if (tw_sv_compare(r, zero) == -1) {
        r = step(TW_SOP_ADD, r, m);
    }
    r = rounded(r);
    return tw_sv_compare(r, m) == -1 ? r : zero; /* a tiny negative rest plus m may round to m */
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
        return float_wrap(step(minus ? TW_SOP_SUB : TW_SOP_ADD, a, b), m, errors);
    }
    const int64_t sum = (int64_t)(minus ? a.v.u - b.v.u : a.v.u + b.v.u);
    return tw_sv_int(a.t, int_wrap(a.t, sum, m.v.i, errors));
}

tw_sv_t tw_sv_lerp(tw_sv_t a, tw_sv_t b, tw_sv_t k, uint8_t *errors)
{
    const unsigned t = a.t;
    b = tw_sv_convert(b, t, errors);
    if (tw_stype_is_float(t) || tw_stype_is_float(k.t)) {
        const unsigned in = tw_stype_is_float(t) ? t : k.t == TW_T_FP64 ? TW_T_FP64 : TW_T_FP32;
        a = tw_sv_convert(a, in, errors);
        const tw_sv_t part =
            step(TW_SOP_MUL, step(TW_SOP_SUB, tw_sv_convert(b, in, errors), a), tw_sv_convert(k, in, errors));
        return tw_sv_convert(rounded(step(TW_SOP_ADD, a, part)), t, errors);
    }
    const uint64_t part = (b.v.u - a.v.u) * k.v.u;
    return tw_sv_int(a.t, (int64_t)(a.v.u + (uint64_t)((int64_t)part >> 15)));
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
