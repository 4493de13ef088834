/* script_short.c - the short way: what scripts do most, on values of one type of at most 32 bits.
 *
 * Executes instructions as long as they are jumps, copies, loads, stores, tests and arithmetic of operands that have
 * one type already: int8 to uint32, fp16 or fp32. Anything else, and whatever would fail, is left untouched for the
 * machine proper (script_vm.c), which does all of this too: same results, several times the work.
 */
#include "engine/script/script_vm_priv.h"

#if TW_SCRIPT_SHORT

enum { NOWHERE = 0xFF };
enum { NUMBER = 1, UNARY, PAIR }; /* operands of an ALU operation: X, Y into X, X and Y */
typedef enum { LEFT, TESTED, VALUE } did_t;

/* 0: never here */
static const uint8_t operands[0x30] = {
    [TW_ALU_INC] = NUMBER, [TW_ALU_DEC] = NUMBER, [TW_ALU_ANDT] = NUMBER, [TW_ALU_ORT] = NUMBER, [TW_ALU_NEG] = UNARY,
    [TW_ALU_NOT] = UNARY,  [TW_ALU_ABS] = UNARY,  [TW_ALU_ADD] = PAIR,    [TW_ALU_SUB] = PAIR,   [TW_ALU_RSB] = PAIR,
    [TW_ALU_MUL] = PAIR,   [TW_ALU_DIV] = PAIR,   [TW_ALU_RDIV] = PAIR,   [TW_ALU_MOD] = PAIR,   [TW_ALU_OR] = PAIR,
    [TW_ALU_XOR] = PAIR,   [TW_ALU_AND] = PAIR,   [TW_ALU_NOR] = PAIR,    [TW_ALU_MIN] = PAIR,   [TW_ALU_MAX] = PAIR,
    [TW_ALU_SQRA] = PAIR,  [TW_ALU_EQU] = PAIR,   [TW_ALU_NEQ] = PAIR,    [TW_ALU_LTS] = PAIR,   [TW_ALU_LTE] = PAIR,
    [TW_ALU_GTS] = PAIR,   [TW_ALU_GTE] = PAIR,   [TW_ALU_TST] = PAIR,
};

static float float_of(int32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static int32_t word_of(float f)
{
    int32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* ---- integers: types 0 to 5, odd ones without sign, two of each size ---- */

static unsigned spare_bits(unsigned t)
{
    return 32 - (8u << (t >> 1));
}

/* The low bits of v as a value of the type. */
static int32_t extended(unsigned t, uint32_t v)
{
    const unsigned up = spare_bits(t);
    v <<= up;
    return (t & 1) != 0 ? (int32_t)(v >> up) : (int32_t)v >> up;
}

static int32_t saturated(unsigned t, int32_t v)
{
    static const struct {
        int32_t low, high;
    } limits[4] = {{INT8_MIN, INT8_MAX}, {0, UINT8_MAX}, {INT16_MIN, INT16_MAX}, {0, UINT16_MAX}};
    return v < limits[t].low ? limits[t].low : v > limits[t].high ? limits[t].high : v;
}

static unsigned order(unsigned t, int32_t x, int32_t y)
{
    const uint32_t flip = t == TW_T_U32 ? 0x80000000u : 0;
    x = (int32_t)((uint32_t)x ^ flip);
    y = (int32_t)((uint32_t)y ^ flip);
    return x < y ? TW_ORD_LESS : x == y ? TW_ORD_EQUAL : TW_ORD_GREATER;
}

/* y is not 0; the one quotient that overflows wraps. */
static int32_t divided(unsigned t, int32_t x, int32_t y)
{
    if (t == TW_T_U32) {
        return (int32_t)((uint32_t)x / (uint32_t)y);
    }
    return y == -1 ? (int32_t)(0 - (uint32_t)x) : x / y;
}

static did_t integer(tw_script_ctx_t *c, unsigned op, unsigned t, int32_t *result, int32_t y)
{
    const int32_t x = *result;
    const uint32_t a = (uint32_t)x;
    const uint32_t b = (uint32_t)y;
    uint32_t r;
    switch (op) {
    case TW_ALU_NOT:
        r = ~b;
        goto bits;
    case TW_ALU_OR:
        r = a | b;
        goto bits;
    case TW_ALU_XOR:
        r = a ^ b;
        goto bits;
    case TW_ALU_AND:
        r = a & b;
        goto bits;
    case TW_ALU_NOR:
        r = ~(a | b);
        goto bits;
    case TW_ALU_SHL:
        r = b > 31 ? 0 : a << b;
        goto bits;
    case TW_ALU_BSET:
        r = a | (b > 31 ? 0 : 1u << b);
        goto bits;
    case TW_ALU_BCLR:
        r = a & ~(b > 31 ? 0 : 1u << b);
        goto bits;
    case TW_ALU_ASR:
        if ((t & 1) == 0) {
            r = (uint32_t)(x >> (b > 31 ? 31 : b));
            goto bits;
        } /* fall through */
    case TW_ALU_SHR:
    case TW_ALU_BIT0:
    case TW_ALU_BIT1:
        r = b > 31 ? 0 : a << spare_bits(t) >> spare_bits(t) >> b;
        if (op >= TW_ALU_BIT0) {
            c->flag = (uint8_t)((r ^ op ^ 1) & 1);
            return TESTED;
        }
        goto bits;
    case TW_ALU_TST:
        c->flag = (a & b) != 0;
        return TESTED;
    case TW_ALU_ANDT:
        c->flag &= a != 0;
        return TESTED;
    case TW_ALU_ORT:
        c->flag |= a != 0;
        return TESTED;
    case TW_ALU_ADD:
        r = a + b;
        break;
    case TW_ALU_INC:
        r = a + 1;
        break;
    case TW_ALU_DEC:
        r = a - 1;
        break;
    case TW_ALU_SUB:
        r = a - b;
        break;
    case TW_ALU_RSB:
        r = b - a;
        break;
    case TW_ALU_NEG:
        r = 0 - b;
        break;
    case TW_ALU_ABS:
        r = y < 0 && t != TW_T_U32 ? 0 - b : b;
        break;
    case TW_ALU_MIN:
        r = order(t, y, x) == TW_ORD_LESS ? b : a;
        break;
    case TW_ALU_MAX:
        r = order(t, y, x) == TW_ORD_GREATER ? b : a;
        break;
    case TW_ALU_SQRA:
    case TW_ALU_MUL:
        r = op == TW_ALU_MUL ? a * b : a + b * b;
        if (t == TW_T_U16 && (int32_t)r < 0) {
            r = INT32_MAX;
        }
        break;
    case TW_ALU_RDIV:
        if (x == 0) {
            return LEFT;
        }
        r = (uint32_t)divided(t, y, x);
        break;
    case TW_ALU_DIV:
    case TW_ALU_MOD:
        if (y == 0) {
            return LEFT;
        }
        r = (uint32_t)divided(t, x, y);
        if (op == TW_ALU_MOD) {
            r = a - r * b;
        }
        break;
    case TW_ALU_ROT:
        return LEFT;
    default: /* equ to gte */
        c->flag = (TW_ORDERS >> 4 * (op - TW_ALU_EQU) & order(t, x, y)) != 0;
        return TESTED;
    }
    *result = t < TW_T_I32 ? saturated(t, (int32_t)r) : (int32_t)r;
    return VALUE;
bits:
    *result = extended(t, r);
    return VALUE;
}

/* ---- floats ---- */

#if TW_SCRIPT_FLOAT
static did_t real(tw_script_ctx_t *c, unsigned op, unsigned t, int32_t *result, int32_t y_bits)
{
    tw_sv_t r;
    const float x = float_of(*result);
    const float y = float_of(y_bits);
    r.t = (uint8_t)t;
    switch (op) {
    case TW_ALU_ADD:
        r.v.s = x + y;
        break;
    case TW_ALU_INC:
        r.v.s = x + 1;
        break;
    case TW_ALU_DEC:
        r.v.s = x - 1;
        break;
    case TW_ALU_ANDT:
        c->flag &= x != 0;
        return TESTED;
    case TW_ALU_ORT:
        c->flag |= x != 0;
        return TESTED;
    case TW_ALU_SUB:
        r.v.s = x - y;
        break;
    case TW_ALU_RSB:
        r.v.s = y - x;
        break;
    case TW_ALU_MUL:
        r.v.s = x * y;
        break;
    case TW_ALU_RDIV:
        if (x == 0) {
            return LEFT;
        }
        r.v.s = y / x;
        break;
    case TW_ALU_DIV:
        if (y == 0) {
            return LEFT;
        }
        r.v.s = x / y;
        break;
    case TW_ALU_NEG:
        r.v.s = -y;
        break;
    case TW_ALU_ABS:
        r.v.s = __builtin_fabsf(y);
        break;
    case TW_ALU_MIN:
        r.v.s = y < x ? y : x;
        break;
    case TW_ALU_MAX:
        r.v.s = y > x ? y : x;
        break;
    case TW_ALU_EQU:
    case TW_ALU_NEQ:
    case TW_ALU_LTS:
    case TW_ALU_LTE:
    case TW_ALU_GTS:
    case TW_ALU_GTE: {
        const unsigned is = x < y ? TW_ORD_LESS : x > y ? TW_ORD_GREATER : x == y ? TW_ORD_EQUAL : TW_ORD_NONE;
        c->flag = (TW_ORDERS >> 4 * (op - TW_ALU_EQU) & is) != 0;
        return TESTED;
    }
    default:
        return LEFT;
    }
    if (t == TW_T_FP16) {
        tw_sv_fit(&r);
    }
    *result = word_of(r.v.s);
    return VALUE;
}
#else
#define real(c, op, t, result, y) LEFT
#endif

/* ---- places ---- */

static unsigned stacked(const tw_script_ctx_t *c, unsigned code, unsigned *sp)
{
    unsigned at = TW_SCRIPT_REGS + c->sp - 2u;
    if (code < TW_SCRIPT_REGS) {
        return code;
    }
    if (code == TW_RC_S0) {
        at = TW_SCRIPT_REGS + --*sp;
    } else if (code != TW_RC_S1) {
        return NOWHERE;
    }
    return at >= (unsigned)TW_SCRIPT_REGS + c->base ? at : NOWHERE;
}

/* Where X and then Y are read, as indices in c->v: that of X, and above it that of Y. Nothing is popped yet. */
static __attribute__((noinline)) unsigned places(const tw_script_ctx_t *c, unsigned x, unsigned y)
{
    unsigned sp = c->sp;
    const unsigned at_x = stacked(c, x, &sp);
    const unsigned at_y = stacked(c, y, &sp);
    return at_x == NOWHERE || at_y == NOWHERE ? NOWHERE : at_x | at_y << 8;
}

/* ---- memory ---- */

static tw_sptr_t *pointer(tw_script_ctx_t *c, unsigned code)
{
    return &c->p[code - TW_RC_P0 < TW_SCRIPT_PTRS ? code - TW_RC_P0 : 0];
}

static bool simple(unsigned t)
{
    return t <= TW_T_U32 || t == TW_T_FP32;
}

/* Element in a window, or NULL. */
static uint8_t *element(const tw_sptr_t *p, unsigned refused)
{
    const unsigned size = p->type == TW_T_FP32 ? 2 : p->type >> 1;
    const bool inside = simple(p->type) && p->offset < p->size >> size && p->space != refused;
    return inside ? p->base + (p->offset << size) : NULL;
}

static uint32_t bits_at(unsigned t, const uint8_t *at)
{
    return t < TW_T_I16 ? at[0] : t < TW_T_I32 ? tw_get_le16(at) : tw_get_le32(at);
}

static void set_bits(unsigned t, uint8_t *at, uint32_t bits)
{
    if (t < TW_T_I16) {
        at[0] = (uint8_t)bits;
    } else if (t < TW_T_I32) {
        tw_put_le16(at, (uint16_t)bits);
    } else {
        tw_put_le32(at, bits);
    }
}

/* ---- instructions ---- */

/* A jump to byte `to`, if that is in the code. */
static bool go(const tw_script_ctx_t *c, const uint8_t **pc, uint32_t to)
{
    if (to >= c->script->code_bytes) {
        return false;
    }
    *pc = c->script->code + to;
    return true;
}

/* Words 0x00.. to 0x0F... */
static bool control(tw_script_ctx_t *c, unsigned w, const uint8_t **pc)
{
    const unsigned k = w & 127;
    switch (w >> 8) {
    case TW_SOP_JMP:
        return ((w & 0x80) != 0 && c->flag == 0) || go(c, pc, c->labels[k]);
    case TW_SOP_JMPR:
        return ((w & 0x80) != 0 && c->flag == 0) ||
               go(c, pc, (uint32_t)(*pc - c->script->code) + 2 * k - (k < 64 ? 0u : 256u));
    case TW_SOP_LABL:
        return true;
    case TW_SOP_BANZ:
        if (c->lc != 1 && !go(c, pc, c->labels[k])) {
            return false;
        }
        c->lc--;
        return true;
    default:
        return false;
    }
}

static bool room(const tw_script_ctx_t *c, unsigned x)
{
    return x < TW_SCRIPT_REGS || (x == TW_RC_S0 && c->sp < TW_SCRIPT_STACK_MAX);
}

/* copy, copyt, store */
static bool move(tw_script_ctx_t *c, unsigned w)
{
    const unsigned x = w >> 4 & 15;
    const unsigned y = w & 15;
    unsigned at = y;
    unsigned to = x;
    if (y >= TW_SCRIPT_REGS) {
        at = places(c, 0, y) >> 8;
        if (at == 0) {
            return false;
        }
    }
    const unsigned t = c->t[at];
    if ((w & 0x300) != 0) {
        tw_sptr_t *const p = pointer(c, x);
        uint8_t *const into = element(p, 2);
        const int32_t bits = (int32_t)c->v[at].i;
        if (into == NULL || t != p->type || (t == TW_T_FP32 && float_of(bits) != float_of(bits))) {
            return false;
        }
        set_bits(t, into, (uint32_t)bits);
        p->offset += w >> 11 & 1;
        c->sp = (uint16_t)(c->sp - (y == TW_RC_S0));
        return true;
    }
    if (x < TW_SCRIPT_REGS) {
        if ((w & 0x400) == 0 && c->t[x] != t) {
            return false;
        }
    } else if (!room(c, x)) {
        return false;
    }
    if (y == TW_RC_S0) {
        c->sp--;
    }
    if (x >= TW_SCRIPT_REGS) {
        to = (unsigned)TW_SCRIPT_REGS + c->sp++;
    }
    c->v[to] = c->v[at];
    c->t[to] = (uint8_t)t;
    return true;
}

static bool put(tw_script_ctx_t *c, unsigned x, unsigned t, uint32_t bits)
{
    unsigned to = x;
    if (x >= TW_SCRIPT_REGS) {
        if (!room(c, x)) {
            return false;
        }
        to = (unsigned)TW_SCRIPT_REGS + c->sp++;
    }
    const int32_t v = t < TW_T_I32 ? extended(t, bits) : (int32_t)bits;
    c->v[to].i = t == TW_T_U32 ? (int64_t)(uint32_t)v : v;
    c->t[to] = (uint8_t)t;
    return true;
}

static bool load(tw_script_ctx_t *c, unsigned w)
{
    tw_sptr_t *const p = pointer(c, w & 15);
    const uint8_t *const from = element(p, 0);
    if (from == NULL || !put(c, w >> 4 & 15, p->type, bits_at(p->type, from))) {
        return false;
    }
    p->offset += w >> 11 & 1;
    return true;
}

static bool literal(tw_script_ctx_t *c, unsigned w, const uint8_t **pc)
{
    const unsigned t = w & 15;
    const unsigned bytes = t < TW_T_I32 ? 2 : 4;
    const uint8_t *const at = *pc;
    if (!simple(t) || at + bytes > c->script->code + c->script->code_bytes || !put(c, w >> 8 & 15, t, bits_at(t, at))) {
        return false;
    }
    *pc += bytes;
    return true;
}

enum { NO_NUMBER = 1000 };

/* X op Y in the type of both; number: instead of Y, which is X then. */
static bool compute(tw_script_ctx_t *c, unsigned op, unsigned x, unsigned y, int number)
{
    unsigned at = x;
    unsigned with = y;
    if (x >= TW_SCRIPT_REGS || y >= TW_SCRIPT_REGS) {
        at = places(c, x, number != NO_NUMBER ? 0 : y);
        if (at == NOWHERE) {
            return false;
        }
        with = number != NO_NUMBER ? at & 255 : at >> 8;
        at &= 255;
    }
    const unsigned t = c->t[at];
    int32_t r = (int32_t)c->v[at].i;
    int32_t k = number != NO_NUMBER ? number : (int32_t)c->v[with].i;
    did_t did;
    if (c->t[with] != t) {
        return false;
    }
    if (t <= TW_T_U32) {
        if (number != NO_NUMBER && k < 0 && t == TW_T_U32 && op != TW_ALU_ADD) {
            return false;
        }
        did = integer(c, op, t, &r, k);
    } else if (t == TW_T_FP32 || t == TW_T_FP16) {
        did = real(c, op, t, &r, number == NO_NUMBER ? k : word_of((float)k));
    } else {
        return false;
    }
    if (did == LEFT) {
        return false;
    }
    if (y == TW_RC_S0 && number == NO_NUMBER) {
        c->sp--;
        at = x == TW_RC_S0 ? with : at;
    }
    if (did == TESTED) {
        c->sp = (uint16_t)(c->sp - (x == TW_RC_S0));
        return true;
    }
    c->v[at].i = t == TW_T_U32 ? (int64_t)(uint32_t)r : r;
    c->t[at] = (uint8_t)t;
    return true;
}

static bool one(tw_script_ctx_t *c, unsigned w, const uint8_t **pc)
{
    /* of addk, eqk, gtk, ltk */
    const uint32_t with_constant = TW_ALU_ADD | TW_ALU_EQU << 8 | TW_ALU_GTS << 16 | (uint32_t)TW_ALU_LTS << 24;
    const unsigned class = w >> 12;
    unsigned op = w >> 8 & 63;
    unsigned x = w >> 8 & 15;
    unsigned y = x;
    int number = NO_NUMBER;
    switch (class) {
    case 0x0:
        return control(c, w, pc);
    case 0x1:
        return (op & 3) == 1 ? load(c, w) : move(c, w);
    case 0x2:
        return literal(c, w, pc);
    case 0x4:
    case 0x5:
    case 0x6:
    case 0x7:
        op = with_constant >> 8 * (class - 4) & 63;
        number = (int8_t)w;
        break;
    case 0x8:
    case 0x9:
        op = TW_ALU_SHL + 4 * (class - 8) + (w >> 6 & 3);
        number = w & 63;
        break;
    case 0xC:
    case 0xD:
    case 0xE:
        x = y = w >> 4 & 15;
        if (operands[op] == 0) {
            c->flag ^= op == TW_ALU_NEGT;
            return op == TW_ALU_NEGT || op == TW_ALU_NOP;
        }
        if (operands[op] == NUMBER) {
            number = 0;
        } else {
            y = w & 15;
            if (operands[op] == UNARY && x >= TW_SCRIPT_REGS) {
                return false;
            }
        }
        break;
    default:
        return false;
    }
    return compute(c, op, x, y, number);
}

void tw_short_run(tw_script_ctx_t *c, uint32_t n)
{
    const uint8_t *const end = c->script->code + c->script->code_bytes;
    const uint8_t *pc = c->script->code + c->next;
    if (c->next >= c->script->code_bytes) {
        return;
    }
    c->used += n;
    for (; n != 0 && pc < end; n--) {
        const uint8_t *next = pc + 2;
        if (!one(c, tw_get_le16(pc), &next)) {
            break;
        }
        pc = next;
    }
    c->used -= n;
    c->next = (uint32_t)(pc - c->script->code);
}

#endif
