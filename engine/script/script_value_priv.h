/* script_value_priv.h - typed 64-bit values of the script machine: conversion and arithmetic.
 *
 * Integers are held sign- or zero-extended, fp16 and fp32 as float rounded to
 * their type, fp64 as double. Everything is total: no trap, no undefined
 * result. Knows no registers. Results: docs/SCRIPT_ISA.md "Types".
 */
#pragma once
#include "engine/script/script_op_priv.h"

/** Bits of a value. */
#if TW_SCRIPT_WIDE
typedef uint64_t tw_simage_t;
#else
typedef uint32_t tw_simage_t;
#endif

/* Shifts of bits by 0..63. Of 64 bits they are a dozen instructions each time; ARM's run-time library has them once. */
#if !TW_SCRIPT_WIDE
#define TW_SHL(x, n) ((n) > 31 ? 0 : (uint32_t)(x) << (n))
#define TW_SHR(x, n) ((n) > 31 ? 0 : (uint32_t)(x) >> (n))
#elif defined(__ARM_EABI__)
extern uint64_t __aeabi_llsl(uint64_t x, int n);
extern uint64_t __aeabi_llsr(uint64_t x, int n);
#define TW_SHL __aeabi_llsl
#define TW_SHR __aeabi_llsr
#else
#define TW_SHL(x, n) ((uint64_t)(x) << (n))
#define TW_SHR(x, n) ((uint64_t)(x) >> (n))
#endif
/* The same of integers as they are held. */
#if defined(__ARM_EABI__)
extern uint64_t __aeabi_llsl(uint64_t x, int n);
extern int64_t __aeabi_lasr(int64_t x, int n);
#define TW_SHL64 __aeabi_llsl
#define TW_ASR64 __aeabi_lasr
#else
#define TW_SHL64(x, n) ((uint64_t)(x) << (n))
#define TW_ASR64(x, n) ((int64_t)(x) >> (n))
#endif

typedef struct tw_sv {
    tw_sval_t v;
    uint8_t t; /* tw_stype_t */
} tw_sv_t;

enum { TW_SERR_DIV0 = 1, TW_SERR_CONV = 2 }; /* bits of tw_script_ctx_t.errors */

/** How two values compare: one bit of four. */
enum { TW_ORD_LESS = 1, TW_ORD_EQUAL = 2, TW_ORD_GREATER = 4, TW_ORD_NONE = 8 };
unsigned tw_sv_order(const tw_sv_t *a, const tw_sv_t *b);

/** The same value in type t; float to integer truncates and saturates, NaN gives 0. */
void tw_sv_become(tw_sv_t *a, unsigned t, uint8_t *errors);
/** A result into its type: saturates at 8 and 16 bits, wraps at 32, rounds to fp16. */
void tw_sv_fit(tw_sv_t *a);

/** Memory image of the value, zero-extended. fp8 is moved, never understood. */
tw_simage_t tw_sv_image(const tw_sv_t *a);
/** The value of type a->t with that image; bits above the type's width are ignored. */
void tw_sv_set_image(tw_sv_t *a, tw_simage_t bits);

/**
 * a = a op b; operations on one value take b and give a of type a->t.
 * @param op TW_ALU_..
 * @param b in the type of a, but for ashft (any) and norm (its own type; a becomes int32); changed
 * @param k third operand of addm, subm and lerp, any type; changed
 */
void tw_sv_alu(unsigned op, tw_sv_t *a, tw_sv_t *b, tw_sv_t *k, uint8_t *errors);

/* ---- the same by value, for those who count no bytes ---- */

static inline tw_sv_t tw_sv_convert(tw_sv_t a, unsigned t, uint8_t *errors)
{
    tw_sv_become(&a, t, errors);
    return a;
}

/** An integer as a value of type t. */
static inline tw_sv_t tw_sv_int(unsigned t, int64_t v)
{
    uint8_t none = 0;
    return tw_sv_convert((tw_sv_t){.v.i = v, .t = TW_T_I64}, t, &none);
}

static inline int64_t tw_sv_to_int(tw_sv_t a, uint8_t *errors)
{
    return tw_sv_convert(a, TW_T_I64, errors).v.i;
}

static inline uint64_t tw_sv_bits(tw_sv_t a)
{
    return tw_sv_image(&a);
}

static inline tw_sv_t tw_sv_from_bits(unsigned t, uint64_t bits)
{
    tw_sv_t a = {.t = (uint8_t)t};
    tw_sv_set_image(&a, (tw_simage_t)bits);
    return a;
}

enum { TW_CMP_UNORDERED = 2 };

/** -1, 0, 1 or TW_CMP_UNORDERED. */
static inline int tw_sv_compare(tw_sv_t a, tw_sv_t b)
{
    const unsigned order = tw_sv_order(&a, &b);
    return order == TW_ORD_LESS ? -1 : order == TW_ORD_EQUAL ? 0 : order == TW_ORD_GREATER ? 1 : TW_CMP_UNORDERED;
}
