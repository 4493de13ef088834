/* script_op_priv.h - what verifier, machine and disassembler know of an instruction word.
 *
 * Expanded from script_opcodes.def. Splits words; gives them no meaning.
 */
#pragma once
#include "engine/script/script.h"

typedef enum tw_sop {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) TW_SOP_##NAME = (key),
#include "engine/script/script_opcodes.def"
} tw_sop_t;

/** Places of operands; 0 = no such instruction. */
typedef enum tw_sform {
    TW_SF_ILLEGAL,
    TW_SF_CLABEL,
    TW_SF_CREL,
    TW_SF_CSYS,
    TW_SF_CAPP,
    TW_SF_CSCR,
    TW_SF_LABEL,
    TW_SF_MASK,
    TW_SF_K8,
    TW_SF_XY,
    TW_SF_LOAD,
    TW_SF_LOADI,
    TW_SF_STORE,
    TW_SF_STOREI,
    TW_SF_LIT,
    TW_SF_PR,
    TW_SF_RP,
    TW_SF_PT,
    TW_SF_RS8,
    TW_SF_RN6,
    TW_SF_FIELD,
    TW_SF_NONE,
    TW_SF_X,
    TW_SF_XT,
    TW_SF_RANGE
} tw_sform_t;

/** What an instruction does with X and Y, as bits. */
enum {
    TW_SE_RX = 1,    /* reads X */
    TW_SE_RY = 2,    /* reads Y */
    TW_SE_WX = 4,    /* writes X */
    TW_SE_WY = 8,    /* writes Y */
    TW_SE_POP = 16,  /* pops s0 besides */
    TW_SE_MATH = 32, /* computes: fp8 refused */
};

/** EFFECT column: the combinations that occur; the high bits keep equal ones apart. */
typedef enum tw_seffect {
    TW_SX_NONE = 0,
    TW_SX_IN = TW_SE_RX | TW_SE_MATH,
    TW_SX_OUT = TW_SE_WX,
    TW_SX_TEST = TW_SE_RX | TW_SE_MATH,
    TW_SX_EDIT = TW_SE_RX | TW_SE_WX | TW_SE_MATH,
    TW_SX_RETAG = TW_SE_RX | TW_SE_WX,
    TW_SX_UNARY = TW_SE_RY | TW_SE_WX | TW_SE_MATH,
    TW_SX_BINARY = TW_SE_RX | TW_SE_RY | TW_SE_WX | TW_SE_MATH,
    TW_SX_CMP = TW_SE_RX | TW_SE_RY | TW_SE_MATH,
    TW_SX_BLEND = TW_SX_BINARY | TW_SE_POP,
    TW_SX_WRAP = TW_SX_BLEND | 64,
    TW_SX_MOVE = TW_SE_RY | TW_SE_WX | 64,
    TW_SX_CMOVE = TW_SE_RY | TW_SE_WX | 128,
    TW_SX_SWAP = TW_SE_RX | TW_SE_RY | TW_SE_WX | TW_SE_WY | 64,
    TW_SX_LOAD = TW_SE_WX | 64,
    TW_SX_STORE = TW_SE_RY | 64,
} tw_seffect_t;

/** Register codes of operands. */
enum { TW_RC_P0 = 6, TW_RC_LC = 12, TW_RC_ZERO = 13, TW_RC_S0 = 14, TW_RC_S1 = 15 };

typedef struct tw_sinsn {
    uint16_t word;
    uint8_t key, form, effect;
    uint8_t x, y;      /* register codes; y is the type code in forms LIT, PT and XT */
    uint8_t halfwords; /* with literals: 1..5 */
} tw_sinsn_t;

/** Dispatch key of a word: its high byte without operand bits. */
static inline uint8_t tw_sop_key(uint16_t w)
{
    switch (w >> 12) {
    case 0x0:
        return (w & 0xFF40) == 0x0440 ? (uint8_t)TW_SOP_CALLSCRIPT : (uint8_t)(w >> 8);
    case 0x2:
    case 0x4:
    case 0x5:
    case 0x6:
    case 0x7:
        return (uint8_t)(w >> 8 & 0xF0);
    case 0x8:
    case 0x9:
        return (uint8_t)((w >> 8 & 0xF0) | (w >> 6 & 3));
    case 0xA:
        return (uint8_t)(0xA0 | (w >> 4 & 15));
    case 0xB:
        return 0xBF; /* reserved; never the key of a row */
    default:
        return (uint8_t)(w >> 8);
    }
}

static inline bool tw_stype_is_float(unsigned t)
{
    return t >= TW_T_FP16 && t <= TW_T_FP64;
}

static inline bool tw_stype_is_fp8(unsigned t)
{
    return t == TW_T_FP8A || t == TW_T_FP8B;
}

/** What a type is, as bits. */
enum {
    TW_SK_LOG2 = 3,   /* logarithm of its bytes in memory */
    TW_SK_SIGNED = 4, /* integer with sign */
    TW_SK_FLOAT = 8,
    TW_SK_SINGLE = 16, /* held as float */
    TW_SK_TOP = 32,    /* integer without sign that fills 64 bits */
};
extern const uint8_t tw_stype_kind[16];

/** Bytes of a value of the type in memory. */
static inline unsigned tw_stype_bytes(unsigned t)
{
    return 1u << (tw_stype_kind[t & 15] & TW_SK_LOG2);
}

/** What this machine was built without: TW_SCRIPT_WIDE, TW_SCRIPT_FLOAT. */
static inline bool tw_stype_missing(unsigned t)
{
    const unsigned k = tw_stype_kind[t & 15];
    return (!TW_SCRIPT_WIDE && (k & TW_SK_LOG2) == 3) || (!TW_SCRIPT_FLOAT && (k & TW_SK_FLOAT) != 0);
}

/** Halfwords of the instruction, literals included. */
static inline unsigned tw_sop_halfwords(uint16_t w)
{
    const unsigned bytes = tw_stype_bytes(w);
    return w >> 12 == 0x2 ? 1 + (bytes + 1) / 2 : w >> 12 == 0xA ? 2 : 1;
}

/** Operations of two values: the low six bits of an ALU word; above them those of forms with a bit number. */
#define TW_ALU_OF(key) ((key) >= 0xC0 ? (key)-0xC0 : 0x30 | ((key) >> 4 == 9) << 2 | ((key)&3))
enum {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) TW_ALU_##NAME = TW_ALU_OF(key),
#include "engine/script/script_opcodes.def"
};

/** Split the word; halfwords counts literals whether they are there or not. */
void tw_sop_decode(uint16_t word, tw_sinsn_t *in);
/** @return TW_OK, SCR_RESERVED, SCR_BAD_OP (no such word or a bit that must be 0 is not). */
tw_err_t tw_sop_check(const tw_sinsn_t *in);
/** True when the second word of a FIELD instruction is legal. */
bool tw_sop_field_ok(uint16_t w);

/** Implicit pops of a system call, or -1 when there is no such call. */
int tw_ssys_pops(uint32_t k);
bool tw_ssys_privileged(uint32_t k);

/* The literal pool ends in a directory: n entries of {label u8, type u8, offset u16}, then n (u16);
 * the data lies before it. A pool of 0 bytes has none. */
typedef struct tw_spool {
    const uint8_t *data;
    const uint8_t *dir;
    uint32_t data_bytes;
    uint32_t labels;
} tw_spool_t;

/** @return false when the directory is not inside the pool. */
bool tw_spool_open(const tw_script_t *s, tw_spool_t *pool);
/** @return false when an entry of the directory makes no sense. */
bool tw_spool_check(const tw_spool_t *pool);
/** Pointer to the constants at label k. @return false: no such label. */
bool tw_spool_find(const tw_spool_t *pool, uint32_t k, tw_sptr_t *p);
