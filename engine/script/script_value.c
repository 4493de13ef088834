/* script_value.c - conversion and arithmetic of typed values; no libm, no trap, no undefined result.
 *
 * Written to be small: one path serves all types, a result is fitted to its type once, at the end. An operation is
 * exact in 64 bits for integers, and a chain of roundings to float or double otherwise.
 */
#include "engine/script/script_value_priv.h"

/* The unit of a Cortex-M4F: roots and halves take one instruction. The compiler knows no halves for it. */
#if defined(__ARM_ARCH_7EM__) && defined(__ARM_FP) && (__ARM_FP & 4)
#define SINGLE_UNIT 1
#else
#define SINGLE_UNIT 0
#endif

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

/* Without the wide types nothing has these properties, and the compiler drops what asks for them. */
#define TOP (TW_SCRIPT_WIDE ? TW_SK_TOP : 0)
#define FLOAT (TW_SCRIPT_FLOAT ? TW_SK_FLOAT : 0)
#define SINGLE (TW_SCRIPT_FLOAT ? TW_SK_SINGLE : 0)
#define IS_DOUBLE(k) (TW_SCRIPT_WIDE && ((k) & (FLOAT | SINGLE)) == TW_SK_FLOAT)

static unsigned kind(const tw_sv_t *a)
{
    return tw_stype_kind[a->t];
}

/* ---- fp16 ---- */

#if SINGLE_UNIT
static uint16_t half_of(float f)
{
    __asm__("vcvtb.f16.f32 %0, %0" : "+t"(f));
    return (uint16_t)word_of(f);
}

static float half_to(uint16_t u)
{
    float f = float_of(u);
    __asm__("vcvtb.f32.f16 %0, %0" : "+t"(f));
    return f;
}
#else
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
#endif

/* ---- types ---- */

/* Least or greatest integer of the kind. */
static int64_t limit(unsigned k, bool low)
{
    const unsigned is_signed = (k & TW_SK_SIGNED) != 0;
    const unsigned size = k & TW_SK_LOG2;
    uint64_t top = UINT32_MAX >> ((32 - (8u << size) + is_signed) & 31); /* size 3 is settled below */
    if (TW_SCRIPT_WIDE && size == 3) {
        top = UINT64_MAX >> is_signed;
    }
    return (int64_t)(!low ? top : is_signed ? ~top : 0);
}

/* The low bits of v as a value of the kind. */
static int64_t extended(unsigned k, int64_t v)
{
    const unsigned up = 32 - (8u << (k & TW_SK_LOG2));
    if ((k & TW_SK_LOG2) == 3) { /* also in a device without: its accessors speak int64 */
        return v;
    }
    const uint32_t low = (uint32_t)(uint64_t)v << up;
    return (k & TW_SK_SIGNED) != 0 ? (int32_t)low >> up : (int64_t)(low >> up);
}

void tw_sv_fit(tw_sv_t *a)
{
    const unsigned k = kind(a);
    if ((k & FLOAT) != 0) {
        if (a->t == TW_T_FP16) {
            a->v.s = half_to(half_of(a->v.s));
        }
        return;
    }
    const int64_t e = extended(k, a->v.i);
    if (e != a->v.i) {
        a->v.i = (k & TW_SK_LOG2) < 2 ? limit(k, a->v.i < 0) : e;
    }
}

tw_simage_t tw_sv_image(const tw_sv_t *a)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        const float s = a->v.s == a->v.s ? a->v.s : float_of(0x7FC00000u); /* a NaN has one image */
        return a->t == TW_T_FP16 ? half_of(s) : word_of(s);
    }
    if (IS_DOUBLE(k) && a->v.f != a->v.f) {
        return (tw_simage_t)0x7FF8000000000000u;
    }
    return (tw_simage_t)extended(k & ~(unsigned)TW_SK_SIGNED, a->v.i);
}

void tw_sv_set_image(tw_sv_t *a, tw_simage_t bits)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        a->v.s = a->t == TW_T_FP16 ? half_to((uint16_t)bits) : float_of((uint32_t)bits);
    } else {
        a->v.i = extended(k, (int64_t)bits);
    }
}

/* ---- conversion ---- */

static double as_double(const tw_sv_t *a)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        return (double)a->v.s;
    }
    if (IS_DOUBLE(k)) {
        return a->v.f;
    }
    return (k & TOP) != 0 ? (double)a->v.u : (double)a->v.i;
}

static float integer_as_float(const tw_sv_t *a)
{
    if ((kind(a) & TOP) != 0 && a->v.i < 0) {
        return (float)a->v.u;
    }
    if ((int32_t)a->v.i == a->v.i) { /* one instruction where there is a unit */
        return (float)(int32_t)a->v.i;
    }
    return (float)a->v.i;
}

/* Towards zero; what the type cannot hold becomes its nearest limit, NaN 0. */
static void float_to_integer(tw_sv_t *a, unsigned from, unsigned to, uint8_t *errors)
{
    uint64_t size = 0;
    bool below;
    bool none;
    if ((from & SINGLE) != 0 && (!TW_SCRIPT_WIDE || (word_of(a->v.s) << 1) < (127u + 32) << 24)) {
        const float s = float_of(word_of(a->v.s) & 0x7FFFFFFFu);
        below = word_of(a->v.s) >> 31 != 0;
        none = !(s < 4294967296.0f);
        if (!none) {
            size = (uint32_t)s;
        } else if (s != s) {
            to = 0;
            below = true;
        }
    } else {
        const uint64_t bits = bits_of(as_double(a));
        const double d = double_of(bits & UINT64_MAX >> 1);
        below = (int64_t)bits < 0;
        none = !(d < 18446744073709551616.0);
        if (!none) {
            size = (uint64_t)d;
        } else if (d != d) {
            to = 0; /* unsigned, and its least value is 0 */
            below = true;
        }
    }
    const uint64_t end = (uint64_t)limit(to, below);
    if (none || size > (below ? 0 - end : end)) {
        *errors |= TW_SERR_CONV;
        size = end;
        below = false;
    }
    a->v.u = below ? 0 - size : size;
}

void tw_sv_become(tw_sv_t *a, unsigned t, uint8_t *errors)
{
    const unsigned from = kind(a);
    const unsigned to = tw_stype_kind[t];
    if (a->t == t) {
        return;
    }
    if ((to & SINGLE) != 0) {
        if ((from & FLOAT) == 0) {
            a->v.s = integer_as_float(a);
        } else if (IS_DOUBLE(from)) {
            a->v.s = (float)a->v.f;
        }
    } else if (IS_DOUBLE(to)) {
        a->v.f = as_double(a);
    } else if ((from & FLOAT) != 0) {
        float_to_integer(a, from, to, errors);
    } else if ((from & TOP) != 0 && a->v.i < 0 && (to & TW_SK_LOG2) < 2) {
        a->v.i = INT64_MAX; /* too large for a signed number, saturates all the same */
    }
    a->t = (uint8_t)t;
    tw_sv_fit(a);
}

/* ---- comparison ---- */

/* The value as a float if that is exact. */
static bool single(const tw_sv_t *a, float *s)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        *s = a->v.s;
        return true;
    }
    const int32_t i = (int32_t)((uint32_t)a->v.u << 8) >> 8;
    *s = (float)i;
    return (k & FLOAT) == 0 && i == a->v.i && ((k & TOP) == 0 || i >= 0);
}

unsigned tw_sv_order(const tw_sv_t *a, const tw_sv_t *b)
{
    const unsigned k = kind(a) | kind(b);
    if ((k & FLOAT) != 0) {
        float x;
        float y;
        if (single(a, &x) && single(b, &y)) {
            return x < y ? TW_ORD_LESS : x > y ? TW_ORD_GREATER : x == y ? TW_ORD_EQUAL : TW_ORD_NONE;
        }
        const double d = as_double(a);
        const double e = as_double(b);
        return d < e ? TW_ORD_LESS : d > e ? TW_ORD_GREATER : d == e ? TW_ORD_EQUAL : TW_ORD_NONE;
    }
    int64_t x = a->v.i;
    int64_t y = b->v.i;
    if ((k & TOP) != 0) { /* a number of 2^63 and more is greater than any that is not */
        const bool big_x = (kind(a) & TOP) != 0 && x < 0;
        const bool big_y = (kind(b) & TOP) != 0 && y < 0;
        if (big_x != big_y) {
            return big_x ? TW_ORD_GREATER : TW_ORD_LESS;
        }
    }
    return x < y ? TW_ORD_LESS : x == y ? TW_ORD_EQUAL : TW_ORD_GREATER;
}

/* ---- arithmetic ---- */

static const tw_sv_t zero = {.t = TW_T_I32};

static void refuse_zero(tw_sv_t *a, uint8_t *errors)
{
    *errors |= TW_SERR_DIV0;
    a->v.u = 0;
}

/* Quotient or remainder, towards zero, of magnitudes: the one quotient that overflows wraps by itself. */
static void divide(tw_sv_t *a, const tw_sv_t *b, bool remainder, uint8_t *errors)
{
    const bool is_signed = (kind(a) & TOP) == 0;
    const bool minus_a = is_signed && a->v.i < 0;
    const bool minus_b = is_signed && b->v.i < 0;
    const uint64_t x = minus_a ? 0 - a->v.u : a->v.u;
    const uint64_t y = minus_b ? 0 - b->v.u : b->v.u;
    uint64_t q;
    if (y == 0) {
        refuse_zero(a, errors);
        return;
    }
    if (((x | y) >> 32) == 0) {
        q = (uint32_t)x / (uint32_t)y;
    } else {
        q = x / y;
    }
    q = remainder ? x - q * y : q;
    a->v.u = (remainder ? minus_a : minus_a != minus_b) ? 0 - q : q;
}

/* One step: a op b, op of add, sub, mul, div, rounded as it is held. */
static void arith(unsigned op, tw_sv_t *a, const tw_sv_t *b, uint8_t *errors)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        const float x = a->v.s;
        const float y = b->v.s;
        a->v.s = op == TW_ALU_ADD ? x + y : op == TW_ALU_SUB ? x - y : op == TW_ALU_MUL ? x * y : x / y;
    } else if (IS_DOUBLE(k)) {
        const double x = a->v.f;
        const double y = b->v.f;
        a->v.f = op == TW_ALU_ADD ? x + y : op == TW_ALU_SUB ? x - y : op == TW_ALU_MUL ? x * y : x / y;
    } else if (op == TW_ALU_DIV) {
        divide(a, b, false, errors);
    } else {
        const uint64_t x = a->v.u;
        const uint64_t y = b->v.u;
        a->v.u = op == TW_ALU_ADD ? x + y : op == TW_ALU_SUB ? x - y : x * y;
    }
}

static void quotient(bool remainder, tw_sv_t *a, const tw_sv_t *b, uint8_t *errors)
{
    if ((kind(a) & FLOAT) == 0) {
        divide(a, b, remainder, errors);
        return;
    }
    if (tw_sv_order(b, &zero) == TW_ORD_EQUAL) {
        refuse_zero(a, errors);
        return;
    }
    tw_sv_t q = *a;
    arith(TW_ALU_DIV, &q, b, errors);
    if (!remainder) {
        *a = q;
        return;
    }
    uint8_t lost = 0;
    tw_sv_become(&q, TW_T_I32, &lost);
    if (lost != 0) { /* so large a quotient leaves nothing meaningful */
        a->v.u = 0;
    } else if (q.v.i != 0) {
        tw_sv_become(&q, TW_SCRIPT_WIDE && a->t == TW_T_FP64 ? TW_T_FP64 : TW_T_FP32, errors);
        arith(TW_ALU_MUL, &q, b, errors);
        arith(TW_ALU_SUB, a, &q, errors);
    }
}

static void negate(tw_sv_t *a)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        a->v.s = -a->v.s;
    } else if (IS_DOUBLE(k)) {
        a->v.f = -a->v.f;
    } else {
        a->v.u = 0 - a->v.u;
    }
}

static void drop_sign(tw_sv_t *a)
{
    const unsigned k = kind(a);
    if ((k & SINGLE) != 0) {
        a->v.s = float_of(word_of(a->v.s) & 0x7FFFFFFFu);
    } else if (IS_DOUBLE(k)) {
        a->v.u &= UINT64_MAX >> 1;
    } else if ((k & TW_SK_SIGNED) != 0 && a->v.i < 0) {
        a->v.u = 0 - a->v.u;
    }
}

static void choose(unsigned op, tw_sv_t *a, tw_sv_t *b)
{
    const uint8_t t = a->t;
    if (op == TW_ALU_AMIN || op == TW_ALU_AMAX) {
        drop_sign(a);
        drop_sign(b);
        if ((kind(a) & FLOAT) == 0) { /* the magnitude of the least int64 has no sign */
            a->t = b->t = TW_T_U64;
        }
    }
    const unsigned better = op == TW_ALU_MIN || op == TW_ALU_AMIN ? TW_ORD_LESS : TW_ORD_GREATER;
    if (tw_sv_order(b, a) == better) {
        a->v = b->v;
    }
    a->t = t;
}

/* x * 2^y, or shifted right for y < 0. */
static void scale(tw_sv_t *a, tw_sv_t *b, uint8_t *errors)
{
    const unsigned k = kind(a);
    const bool huge = (kind(b) & TOP) != 0 && b->v.i < 0;
    tw_sv_become(b, TW_T_I64, errors);
    const int n = huge || b->v.i > 63 ? 63 : b->v.i < -63 ? -63 : (int)b->v.i;
    if ((k & SINGLE) != 0) {
        a->v.s *= float_of((uint32_t)(127 + n) << 23);
    } else if (IS_DOUBLE(k)) {
        a->v.f *= double_of((uint64_t)(uint32_t)((1023 + n) << 20) << 32);
    } else if (n >= 0) { /* 40 places take any 16 bits out of their type, and keep them inside 64 */
        a->v.u = TW_SHL64(a->v.u, n > 40 && (k & TW_SK_LOG2) < 2 ? 40 : n);
    } else if ((k & TOP) != 0) {
        a->v.u = TW_SHR(a->v.u, -n);
    } else {
        a->v.i = TW_ASR64(a->v.i, -n);
    }
}

static void blend(tw_sv_t *a, tw_sv_t *b, tw_sv_t *k, uint8_t *errors)
{
    const uint8_t t = a->t;
    if (((kind(a) | kind(k)) & FLOAT) == 0) {
        a->v.u += (uint64_t)((int64_t)((b->v.u - a->v.u) * k->v.u) >> 15);
        return;
    }
    const unsigned in = (kind(a) & FLOAT) != 0 ? t : TW_SCRIPT_WIDE && k->t == TW_T_FP64 ? TW_T_FP64 : TW_T_FP32;
    tw_sv_become(a, in, errors);
    tw_sv_become(b, in, errors);
    tw_sv_become(k, in, errors);
    arith(TW_ALU_SUB, b, a, errors);
    arith(TW_ALU_MUL, b, k, errors);
    arith(TW_ALU_ADD, a, b, errors);
    tw_sv_become(a, t, errors);
}

/* a modulo m, not negative and below m. */
static void wrap(tw_sv_t *a, tw_sv_t *m, uint8_t *errors)
{
    if (tw_sv_order(m, &zero) != TW_ORD_GREATER) {
        refuse_zero(a, errors);
        return;
    }
    quotient(true, a, m, errors);
    if (tw_sv_order(a, &zero) == TW_ORD_LESS) {
        arith(TW_ALU_ADD, a, m, errors);
    }
    tw_sv_fit(a);
    if (tw_sv_order(a, m) != TW_ORD_LESS) { /* a tiny negative rest plus m may round to m */
        a->v.u = 0;
    }
}

static int64_t redundant_sign_bits(const tw_sv_t *a)
{
    const unsigned k = kind(a);
    if ((k & FLOAT) != 0) {
        return 0;
    }
    const unsigned is_signed = (k & TW_SK_SIGNED) != 0;
    const uint64_t x = is_signed && a->v.i < 0 ? ~a->v.u : a->v.u;
    const int leading = x == 0 ? 64 : __builtin_clzll(x);
    return leading - (int)(64 - (8u << (k & TW_SK_LOG2)) + is_signed);
}

/* ---- square root ---- */

static uint64_t integer_root(uint64_t x)
{
#if SINGLE_UNIT
    if (!TW_SCRIPT_WIDE || (x >> 32) == 0) { /* the unit is at most one too high */
        float f = (float)(uint32_t)x;
        __asm__("vsqrt.f32 %0, %0" : "+t"(f));
        const uint32_t r = (uint32_t)f;
        return r - ((uint64_t)r * r > x);
    }
#endif
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

/* Bit by bit, hence exactly rounded. x > 0 */
static double root_of(double x)
{
    uint64_t m = bits_of(x);
    int e = (int)(m >> 52) - 1023;
    m &= UINT64_MAX >> 12;
    if (e == 1024) {
        return x;
    }
    if (e == -1023) { /* subnormal: the leading bit to its place */
        const int up = __builtin_clzll(m) - 11;
        m <<= up;
        e = -1022 - up;
    }
    m |= (uint64_t)1 << 52;
    m <<= e & 1;
    uint64_t sum = 0;                                       /* twice the root so far */
    for (uint64_t r = (uint64_t)1 << 53; r != 0; r >>= 1) { /* 53 bits of the root and one to round by */
        m <<= 1;
        if (sum + r <= m) {
            m -= sum + r;
            sum += 2 * r;
        }
    }
    /* 55 bits, the lowest 0 and the next one to round by: never half way when bits are left in m */
    sum += m != 0 ? sum & 2 : 0;
    return double_of((uint64_t)((e >> 1) + 1023 - 54) << 52) * (double)sum;
}

static void root(tw_sv_t *a)
{
    const unsigned k = kind(a);
    if (tw_sv_order(a, &zero) != TW_ORD_GREATER) {
        a->v.u = 0;
    } else if ((k & FLOAT) == 0) {
        a->v.u = integer_root(a->v.u);
    } else if (IS_DOUBLE(k)) {
        a->v.f = root_of(a->v.f);
    } else {
#if SINGLE_UNIT
        __asm__("vsqrt.f32 %0, %0" : "+t"(a->v.s));
#else
        a->v.s = (float)root_of((double)a->v.s);
#endif
    }
}

/* ---- bits ---- */

static tw_simage_t on_bits(unsigned op, const tw_sv_t *a, const tw_sv_t *b)
{
    const unsigned k = kind(a);
    const tw_simage_t x = tw_sv_image(a);
    if (op < TW_ALU_SHL) {
        const tw_simage_t y = tw_sv_image(b);
        switch (op) {
        case TW_ALU_AND:
            return x & y;
        case TW_ALU_XOR:
            return x ^ y;
        case TW_ALU_NOT:
            return ~y;
        default:
            return op == TW_ALU_OR ? x | y : ~(x | y);
        }
    }
    const int n = (int)b->v.u & 63;
    const tw_simage_t one = TW_SHL((tw_simage_t)1, n);
    switch (op) {
    case TW_ALU_BSET:
        return x | one;
    case TW_ALU_BCLR:
        return x & ~one;
    case TW_ALU_SHL:
        return TW_SHL(x, n);
    case TW_ALU_ASR:
        if ((k & TW_SK_SIGNED) != 0) {
            return (tw_simage_t)TW_ASR64(a->v.i, n);
        }
        break;
    case TW_ALU_ROT: {
        const int w = 8 << (k & TW_SK_LOG2);
        const int left = n & (w - 1);
        return TW_SHL(x, left) | TW_SHR(x, (w - left) & 63);
    }
    }
    return TW_SHR(x, n);
}

void tw_sv_alu(unsigned op, tw_sv_t *a, tw_sv_t *b, tw_sv_t *k, uint8_t *errors)
{
    switch (op) {
    case TW_ALU_NOT:
    case TW_ALU_OR:
    case TW_ALU_XOR:
    case TW_ALU_AND:
    case TW_ALU_NOR:
    case TW_ALU_SHL:
    case TW_ALU_SHR:
    case TW_ALU_ASR:
    case TW_ALU_ROT:
    case TW_ALU_BSET:
    case TW_ALU_BCLR:
        tw_sv_set_image(a, on_bits(op, a, b));
        return;
    case TW_ALU_NORM:
        a->v.i = redundant_sign_bits(b);
        a->t = TW_T_I32;
        break;
    case TW_ALU_NEG:
        a->v = b->v;
        negate(a);
        break;
    case TW_ALU_ABS:
        a->v = b->v;
        drop_sign(a);
        break;
    case TW_ALU_SQRT:
        a->v = b->v;
        root(a);
        break;
    case TW_ALU_RSB:
    case TW_ALU_RDIV: {
        const tw_sv_t x = *a;
        *a = *b;
        *b = x;
        if (op == TW_ALU_RSB) {
            arith(TW_ALU_SUB, a, b, errors);
            break;
        }
    } /* fall through */
    case TW_ALU_DIV:
    case TW_ALU_MOD:
        quotient(op == TW_ALU_MOD, a, b, errors);
        break;
    case TW_ALU_ASHFT:
        scale(a, b, errors);
        break;
    case TW_ALU_MIN:
    case TW_ALU_MAX:
    case TW_ALU_AMIN:
    case TW_ALU_AMAX:
        choose(op, a, b);
        break;
    case TW_ALU_SQRA:
        arith(TW_ALU_MUL, b, b, errors);
        arith(TW_ALU_ADD, a, b, errors);
        break;
    case TW_ALU_ADDM:
    case TW_ALU_SUBM:
        tw_sv_become(k, a->t, errors);
        arith(op == TW_ALU_ADDM ? TW_ALU_ADD : TW_ALU_SUB, a, b, errors);
        wrap(a, k, errors);
        break;
    case TW_ALU_LERP:
        blend(a, b, k, errors);
        break;
    default:
        arith(op, a, b, errors);
        break;
    }
    tw_sv_fit(a);
}
