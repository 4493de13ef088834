/* soft_float.c - FP32 add, multiply, compare and conversion for cores without an FPU, where size counts more than
 * speed.
 *
 * The compiler's own (libgcc) take 2.7 KB on ARMv6-M; these take a fifth of it, give the same bits (round to nearest,
 * ties to even, subnormals kept; every NaN is the quiet one) and are two to three times as slow. Only what the small
 * profile's nodes call is here: the linker names whatever else a node comes to need.
 */
#include <stdint.h>

/* The compiler's names of its helpers: "run-time ABI for the Arm architecture". */
uint32_t __aeabi_fadd(uint32_t a, uint32_t b);
uint32_t __aeabi_fsub(uint32_t a, uint32_t b);
uint32_t __aeabi_fmul(uint32_t a, uint32_t b);
uint32_t __aeabi_i2f(int32_t v);
int __aeabi_fcmpeq(uint32_t a, uint32_t b);
int __aeabi_fcmplt(uint32_t a, uint32_t b);
int __aeabi_fcmple(uint32_t a, uint32_t b);
int __aeabi_fcmpgt(uint32_t a, uint32_t b);
int __aeabi_fcmpge(uint32_t a, uint32_t b);

#define SIGN 0x80000000u
#define INFINITE 0x7F800000u
#define NOT_A_NUMBER 0x7FC00000u
enum { GUARD = 6 }; /* bits kept below the last of a result, the lowest sticky */

/* value = significand * 2^(exponent - 150 - GUARD), the significand normal at bit 23 + GUARD or anywhere below. */
static uint32_t pack(uint32_t sign, int32_t exponent, uint32_t significand)
{
    if (significand == 0) {
        return sign;
    }
    while (significand >> (24 + GUARD) != 0) {
        significand = significand >> 1 | (significand & 1u);
        exponent++;
    }
    while (exponent > 1 && significand >> (23 + GUARD) == 0) {
        significand <<= 1;
        exponent--;
    }
    for (; exponent < 1; exponent++) {
        significand = significand >> 1 | (significand & 1u);
    }
    const uint32_t half = 1u << (GUARD - 1), rest = significand & (2 * half - 1);
    significand >>= GUARD;
    significand += rest > half || (rest == half && (significand & 1u) != 0);
    /* a subnormal has exponent 1 and no bit 23; a carry out of the significand belongs to the exponent */
    const uint32_t bits = ((uint32_t)(exponent - 1) << 23) + significand;
    return sign | (exponent >= 255 || bits >= INFINITE ? INFINITE : bits);
}

static int32_t exponent_of(uint32_t a)
{
    const int32_t e = (int32_t)(a >> 23 & 0xFFu);
    return e != 0 ? e : 1;
}

static uint32_t significand_of(uint32_t a)
{
    return (a & 0x7FFFFFu) | ((a & INFINITE) != 0 ? 0x800000u : 0);
}

uint32_t __aeabi_fadd(uint32_t a, uint32_t b)
{
    if ((a & ~SIGN) < (b & ~SIGN)) {
        const uint32_t t = a;
        a = b;
        b = t;
    }
    if ((a & ~SIGN) >= INFINITE) {
        return (a & ~SIGN) > INFINITE || (b ^ SIGN) == a ? NOT_A_NUMBER : a;
    }
    const int32_t exponent = exponent_of(a);
    const uint32_t larger = significand_of(a) << GUARD;
    uint32_t smaller = significand_of(b) << GUARD;
    for (int32_t k = exponent - exponent_of(b); k > 0 && smaller > 1; k--) {
        smaller = smaller >> 1 | (smaller & 1u);
    }
    const uint32_t sum = (a ^ b) & SIGN ? larger - smaller : larger + smaller;
    return pack(sum != 0 || a == b ? a & SIGN : 0, exponent, sum);
}

uint32_t __aeabi_fsub(uint32_t a, uint32_t b)
{
    return __aeabi_fadd(a, b ^ SIGN);
}

uint32_t __aeabi_fmul(uint32_t a, uint32_t b)
{
    const uint32_t sign = (a ^ b) & SIGN;
    a &= ~SIGN;
    b &= ~SIGN;
    if (a >= INFINITE || b >= INFINITE) {
        return a > INFINITE || b > INFINITE || a == 0 || b == 0 ? NOT_A_NUMBER : sign | INFINITE;
    }
    /* 8 and 16 bits of each: 48 bits become 31, what falls off stays as the sticky bit */
    const uint32_t x = significand_of(a), y = significand_of(b), low = (x & 0xFFFFu) * (y & 0xFFFFu);
    const uint32_t middle = (x >> 16) * (y & 0xFFFFu) + (x & 0xFFFFu) * (y >> 16) + (low >> 16);
    const uint32_t sticky = (middle & 1u) | (low & 0xFFFFu);
    const uint32_t top = ((x >> 16) * (y >> 16) << 15) + (middle >> 1);
    return pack(sign, exponent_of(a) + exponent_of(b) - 127 - 23 + 17 + GUARD, top | (sticky != 0));
}

uint32_t __aeabi_i2f(int32_t v)
{
    const uint32_t size = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
    return pack((uint32_t)v & SIGN, 150 + GUARD, size);
}

/* Numbers in the order of their values as signed integers; both zeros are 0. */
static int32_t rank(uint32_t a)
{
    const int32_t size = (int32_t)(a & ~SIGN);
    return a & SIGN ? -size : size;
}

/* -1, 0, 1 as a is less, equal, greater; 2: one of them is no number. */
static int compare(uint32_t a, uint32_t b)
{
    const int32_t x = rank(a), y = rank(b), most = INFINITE;
    if (x > most || x < -most || y > most || y < -most) {
        return 2;
    }
    return (x > y) - (x < y);
}

int __aeabi_fcmpeq(uint32_t a, uint32_t b)
{
    return compare(a, b) == 0;
}

int __aeabi_fcmplt(uint32_t a, uint32_t b)
{
    return compare(a, b) < 0;
}

int __aeabi_fcmple(uint32_t a, uint32_t b)
{
    return compare(a, b) <= 0;
}

int __aeabi_fcmpgt(uint32_t a, uint32_t b)
{
    return compare(a, b) == 1;
}

int __aeabi_fcmpge(uint32_t a, uint32_t b)
{
    return (compare(a, b) | 1) == 1;
}
