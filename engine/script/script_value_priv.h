/* script_value_priv.h - typed 64-bit values of the script machine: conversion and arithmetic.
 *
 * Integers are held sign- or zero-extended, fp16 and fp32 as float rounded to
 * their type, fp64 as double. Everything is total: no trap, no undefined result. Knows no registers.
 */
#pragma once
#include "engine/script/script_op_priv.h"

typedef struct tw_sv {
    tw_sval_t v;
    uint8_t t; /* tw_stype_t */
} tw_sv_t;

enum { TW_SERR_DIV0 = 1, TW_SERR_CONV = 2 }; /* bits of tw_script_ctx_t.errors */
enum { TW_CMP_UNORDERED = 2 };

/** An integer as a value of type t: saturates at 8 and 16 bits, wraps at 32, rounds in floats. */
tw_sv_t tw_sv_int(unsigned t, int64_t v);
/** Same value in type t; float to integer saturates, NaN gives 0. */
tw_sv_t tw_sv_convert(tw_sv_t a, unsigned t, uint8_t *errors);
/** As an integer of 64 bits. */
int64_t tw_sv_to_int(tw_sv_t a, uint8_t *errors);
/** Memory image of the value, zero-extended. fp8 is moved, never understood. */
uint64_t tw_sv_bits(tw_sv_t a);
/** Value of type t with that image; bits above the type's width are ignored. */
tw_sv_t tw_sv_from_bits(unsigned t, uint64_t bits);

/** -1, 0, 1 or TW_CMP_UNORDERED; exact for mixed integers, double if either is float. */
int tw_sv_compare(tw_sv_t a, tw_sv_t b);
/** Two-operand instruction `key` in a's type; b is converted first. */
tw_sv_t tw_sv_binary(unsigned key, tw_sv_t a, tw_sv_t b, uint8_t *errors);
/** neg, not, abs, sqrt in a's type; norm gives int32. */
tw_sv_t tw_sv_unary(unsigned key, tw_sv_t a);
/** (a + b) or (a - b) mod m in a's type, 0 <= result < m; m <= 0 gives 0 and the error bit. */
tw_sv_t tw_sv_wrap(bool minus, tw_sv_t a, tw_sv_t b, tw_sv_t m, uint8_t *errors);
/** a + (b - a) * k in a's type; k is Q15 when neither a nor k is float. */
tw_sv_t tw_sv_lerp(tw_sv_t a, tw_sv_t b, tw_sv_t k, uint8_t *errors);
/** shl, shr, asr, rot, bset, bclr on the bits of a. */
tw_sv_t tw_sv_bitop(unsigned key, tw_sv_t a, unsigned n);
