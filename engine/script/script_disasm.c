/* script_disasm.c - one instruction to text that the assembler turns into the same words.
 *
 * Floating literals are printed as their bits (0x...), which is exact and needs no printf.
 */
#include "engine/script/script_op_priv.h"

static const char *const mnemonics[256] = {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) [key] = mnemonic,
#include "engine/script/script_opcodes.def"
};

static const char *const types[16] = {
#define TW_STYPE(code, NAME, name, bytes, data) [code] = name,
#include "engine/script/script_types.def"
};

static const char *const registers[16] = {"r0", "r1", "r2", "r3", "r4", "r5",   "p0", "p1",
                                          "p2", "p3", "p4", "p5", "lc", "zero", "s0", "s1"};

typedef struct out {
    char *text;
    size_t n, at;
} out_t;

static void put(out_t *o, const char *s)
{
    for (; *s; s++) {
        if (o->at + 1 < o->n) {
            o->text[o->at++] = *s;
        }
    }
}

static void put_unsigned(out_t *o, uint64_t v, unsigned base, unsigned digits)
{
    char buf[24];
    unsigned i = sizeof buf;
    buf[--i] = 0;
    do {
        buf[--i] = "0123456789ABCDEF"[v % base];
        v /= base;
    } while (i > 0 && (v != 0 || sizeof buf - 1 - i < digits));
    put(o, buf + i);
}

static void put_int(out_t *o, int64_t v)
{
    if (v < 0) {
        put(o, "-");
    }
    put_unsigned(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, 1);
}

static void put_two(out_t *o, const char *a, const char *between, const char *b)
{
    put(o, a);
    put(o, between);
    put(o, b);
}

static void put_literal(out_t *o, unsigned type, const uint8_t *at)
{
    const unsigned bytes = tw_stype_bytes(type);
    uint64_t bits = 0;
    for (unsigned i = 0; i < bytes; i++) {
        bits |= (uint64_t)at[i] << (8 * i);
    }
    if (tw_stype_is_float(type) || tw_stype_is_fp8(type)) {
        put(o, "0x");
        put_unsigned(o, bits, 16, 2 * bytes);
    } else if (type == TW_T_I8 || type == TW_T_I16 || type == TW_T_I32 || type == TW_T_I64) {
        const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
        put_int(o, (int64_t)((bits ^ sign) - sign));
    } else {
        put_unsigned(o, bits, 10, 1);
    }
}

static void put_syscall(out_t *o, uint32_t k)
{
    switch (k) {
#define TW_SYSCALL(n, NAME, name, pops, privileged, arguments) \
    case (n):                                                  \
        put(o, name);                                          \
        break;
#include "engine/script/script_syscalls.def"
    }
}

/* System calls with an operand on the stack are known by name, the general ones by number. */
static void put_call(out_t *o, uint32_t k)
{
    if (tw_ssys_pops(k) > 0) {
        put(o, "cals ");
        put_syscall(o, k);
    } else {
        put(o, "callsys ");
        put_unsigned(o, k, 10, 1);
    }
}

static void put_operands(out_t *o, const tw_sinsn_t *in, const uint8_t *at)
{
    const unsigned low = in->word & 255;
    const char *const x = registers[in->x];
    const char *const y = registers[in->y];
    switch (in->form) {
    case TW_SF_CLABEL:
    case TW_SF_LABEL:
        put(o, "#");
        put_unsigned(o, low & 127, 10, 1);
        break;
    case TW_SF_CREL:
        put_int(o, (low & 127) < 64 ? (int)(low & 127) : (int)(low & 127) - 128);
        break;
    case TW_SF_CAPP:
    case TW_SF_CSCR:
    case TW_SF_MASK:
        put_unsigned(o, low & 63, 10, 1);
        break;
    case TW_SF_K8:
        put_unsigned(o, low, 10, 1);
        break;
    case TW_SF_XY:
    case TW_SF_RANGE:
        put_two(o, x, " ", y);
        break;
    case TW_SF_LOAD:
    case TW_SF_LOADI:
        put_two(o, x, " *", y);
        put(o, in->form == TW_SF_LOADI ? "+" : "");
        break;
    case TW_SF_STORE:
    case TW_SF_STOREI:
        put_two(o, "*", x, in->form == TW_SF_STOREI ? "+ " : " ");
        put(o, y);
        break;
    case TW_SF_LIT:
        put_two(o, types[in->y], " ", in->x == TW_RC_S0 ? "" : x);
        put(o, in->x == TW_RC_S0 ? "" : " ");
        put_literal(o, in->y, at + 2);
        break;
    case TW_SF_PR:
    case TW_SF_RP:
        put_two(o, y, " ", x);
        break;
    case TW_SF_PT:
    case TW_SF_XT:
        put_two(o, x, " ", types[in->y]);
        break;
    case TW_SF_RS8:
        put_two(o, x, " ", "");
        put_int(o, (int8_t)low);
        break;
    case TW_SF_RN6:
        put_two(o, x, " ", "");
        put_unsigned(o, low & 63, 10, 1);
        break;
    case TW_SF_FIELD:
        put_two(o, x, " ", y);
        put(o, " ");
        put_unsigned(o, at[2] & 63, 10, 1);
        put(o, " ");
        put_unsigned(o, (at[3] & 63u) + 1u, 10, 1);
        break;
    case TW_SF_X:
        put(o, x);
        break;
    default:
        break;
    }
}

/* Text exists only for words with one reading: all literals there, unused halves of literals zero. */
static bool resolves(const tw_sinsn_t *in, const uint8_t *at, uint32_t left)
{
    if (tw_sop_check(in) != TW_OK || 2u * in->halfwords > left) {
        return false;
    }
    if (in->form == TW_SF_LIT) {
        return in->y != TW_T_PTR && (tw_stype_bytes(in->y) != 1 || at[3] == 0);
    }
    return in->form != TW_SF_FIELD || tw_sop_field_ok(tw_get_le16(at + 2));
}

static void put_instruction(out_t *o, const tw_sinsn_t *in, const uint8_t *at)
{
    const bool has_condition = in->form >= TW_SF_CLABEL && in->form <= TW_SF_CSCR;
    if (has_condition && (in->word & 0x80) != 0) {
        put(o, "c");
    }
    if (in->form == TW_SF_CSYS) {
        put_call(o, in->word & 127);
        return;
    }
    put(o, in->key == TW_SOP_MOVI && in->x == TW_RC_S0 ? "pshc" : mnemonics[in->key]);
    put(o, in->form == TW_SF_NONE ? "" : " ");
    put_operands(o, in, at);
}

uint32_t tw_script_disasm(const uint8_t *code, uint32_t code_bytes, uint32_t at, char *text, size_t n)
{
    out_t o = {text, n, 0};
    uint32_t used = 2;
    tw_sinsn_t in;
    if (tw_inside(at, 2, code_bytes)) {
        tw_sop_decode(tw_get_le16(code + at), &in);
        if (resolves(&in, code + at, code_bytes - at)) {
            put_instruction(&o, &in, code + at);
            used = 2u * in.halfwords;
        } else {
            put(&o, ".h16 ");
            put_unsigned(&o, in.word, 16, 4);
        }
    }
    if (n != 0) {
        text[o.at] = 0;
    }
    return used;
}
