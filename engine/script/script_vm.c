/* script_vm.c - the TWV-16 machine: fetch, dispatch, pointers, calls, budget.
 *
 * Runs verified code, and trusts it with nothing: program counter, stack and every
 * pointer are checked where they are used, so unverified code can only fail.
 * Arithmetic is script_value.c; the world is tw_script_host_t. Written to be small:
 * operands are found from the bits of a word, and one path serves all types. What is frequent goes a short way before.
 */
#include "engine/script/script_fast_priv.h"
#include "engine/script/script_vm_priv.h"

enum { NOWHERE = 0xFF, CONSTANT = 0x10 }; /* no place in c->v; Y is a number of the word */
enum { SAME_TYPE = 64 };                  /* Y becomes the type of X */

#define SAME(key, effect)                                                                       \
    (((effect) & (TW_SE_RY | TW_SE_MATH)) == (TW_SE_RY | TW_SE_MATH) && (key) != TW_SOP_NORM && \
     (key) != TW_SOP_ASHFT && (((effect)&TW_SE_WX) != 0 || (key) == TW_SOP_TST))
#define DOES(key, effect) \
    ((uint8_t)(((effect) & (TW_SE_RX | TW_SE_WX | TW_SE_POP)) | (SAME(key, effect) ? SAME_TYPE : 0)))

/* What each ALU operation does with its operands. Rows of other classes fall into the last place. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const uint8_t does[0x39] = {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) \
    [(key) >= 0xC0 || (key) >> 5 == 4 ? TW_ALU_##NAME : 0x38] = DOES(key, TW_SX_##EFFECT),
#include "engine/script/script_opcodes.def"
};
#pragma GCC diagnostic pop

/* The first failure stands. */
static void fail(tw_script_ctx_t *c, tw_err_t err)
{
    if (c->err == TW_OK) {
        c->err = err;
    }
    c->halt = true;
}

/* ---- operands ---- */

/* Index of a value in c->v: pops or pushes for s0. */
static unsigned place(tw_script_ctx_t *c, unsigned code, bool write)
{
    if (code < TW_SCRIPT_REGS) {
        return code;
    }
    if (code == TW_RC_S0) {
        if (!write && c->sp > c->base) {
            return TW_SCRIPT_REGS + --c->sp;
        }
        if (write && c->sp < TW_SCRIPT_STACK_MAX) {
            return TW_SCRIPT_REGS + c->sp++;
        }
    } else if (code != TW_RC_S1) {
        return NOWHERE;
    } else if (c->s1 < TW_SCRIPT_STACK_MAX && c->s1 >= c->base) {
        return TW_SCRIPT_REGS + c->s1;
    }
    fail(c, TW_E_SCR_STACK);
    return NOWHERE;
}

static void get_other(tw_script_ctx_t *c, unsigned code, tw_sv_t *v)
{
    const unsigned at = place(c, code, false);
    if (at != NOWHERE) {
        v->v = c->v[at];
        v->t = c->t[at];
    } else {
        v->v.i = code == TW_RC_LC ? c->lc : 0;
        v->t = code == TW_RC_LC ? TW_T_U16 : TW_T_I32;
    }
}

static inline void get(tw_script_ctx_t *c, unsigned code, tw_sv_t *v)
{
    if (code < TW_SCRIPT_REGS) {
        v->v = c->v[code];
        v->t = c->t[code];
    } else {
        get_other(c, code, v);
    }
}

/* keep: in the type of the destination; a push and the zero register take what comes. */
static void put(tw_script_ctx_t *c, unsigned code, tw_sv_t *v, bool keep)
{
    unsigned at = code;
    if (code == TW_RC_LC) {
        tw_sv_become(v, TW_T_U16, &c->errors);
        c->lc = (uint16_t)v->v.u;
        return;
    }
    if (code >= TW_SCRIPT_REGS) {
        at = place(c, code, true);
    }
    if (at == NOWHERE) {
        return;
    }
    if (keep && code != TW_RC_S0) {
        if (v->t != c->t[at]) {
            tw_sv_become(v, c->t[at], &c->errors);
        }
    }
    c->v[at] = v->v;
    c->t[at] = v->t;
}

/* Type a destination imposes. */
static unsigned type_of(tw_script_ctx_t *c, unsigned code, unsigned otherwise)
{
    const unsigned at = code == TW_RC_S0 ? NOWHERE : place(c, code, false);
    return at != NOWHERE ? c->t[at] : code == TW_RC_LC ? TW_T_U16 : otherwise;
}

/* The literals of an instruction, passed over; NULL when the script ends before they do. */
static const uint8_t *literals(tw_script_ctx_t *c, uint16_t w)
{
    const uint8_t *const at = c->script->code + c->next;
    c->next = c->pc + 2 * tw_sop_halfwords(w);
    if (c->next <= c->script->code_bytes) {
        return at;
    }
    fail(c, TW_E_SCR_FAULT);
    return NULL;
}

/* ---- tests ---- */

/* T of what compares; op of andt, ort, equ..inr, bit0, bit1. */
static bool passes(tw_script_ctx_t *c, unsigned op, const tw_sv_t *a, tw_sv_t *b, unsigned y)
{
    if (op >= TW_ALU_BIT0) {
        return (TW_SHR(tw_sv_image(a), (int)b->v.u) & 1) == (op & 1);
    }
    if (op == TW_ALU_TST) {
        return (tw_sv_image(a) & tw_sv_image(b)) != 0;
    }
    const unsigned order = tw_sv_order(a, b);
    if (op == TW_ALU_INR) {
        get(c, y + 1, b);
        return (order & (TW_ORD_EQUAL | TW_ORD_GREATER)) != 0 &&
               (tw_sv_order(a, b) & (TW_ORD_EQUAL | TW_ORD_LESS)) != 0;
    }
    if (op >= TW_ALU_EQU) {
        return (TW_ORDERS >> 4 * ((op - TW_ALU_EQU) & 7) & order) != 0;
    }
    const bool nonzero = order != TW_ORD_EQUAL;
    return op == TW_ALU_ANDT ? c->flag & nonzero : c->flag | nonzero;
}

/* ---- pointers ---- */

static bool is_ptr(unsigned code)
{
    return code - TW_RC_P0 < TW_SCRIPT_PTRS;
}

/* Verified words name pointers here; others get one all the same. */
static tw_sptr_t *ptr(tw_script_ctx_t *c, unsigned code)
{
    return &c->p[is_ptr(code) ? code - TW_RC_P0 : 0];
}

static unsigned log2_bytes(unsigned t)
{
    return tw_stype_kind[t & 15] & TW_SK_LOG2;
}

static uint32_t elements(const tw_sptr_t *p)
{
    return p->size >> log2_bytes(p->type);
}

/* The present element, or NULL. An unset pointer has a window of no elements. */
static uint8_t *element(tw_script_ctx_t *c, tw_sptr_t *p, unsigned read_only)
{
    if (p->offset >= elements(p) || p->space == read_only) {
        fail(c, TW_E_SCR_FAULT);
        return NULL;
    }
    return p->base + (p->offset << log2_bytes(p->type));
}

/* A value of type v->t from memory; alignment does not matter. */
static void read(tw_sv_t *v, const uint8_t *at)
{
    const unsigned size = log2_bytes(v->t);
    uint32_t low = at[0];
    uint32_t high = 0;
    if (size != 0) {
        low = tw_get_le16(at);
    }
    if (size >= 2) {
        low = tw_get_le32(at);
    }
    if (TW_SCRIPT_WIDE && size == 3) {
        high = tw_get_le32(at + 4);
    }
    tw_sv_set_image(v, (tw_simage_t)((uint64_t)high << 32 | low));
}

static void write(const tw_sv_t *v, uint8_t *at)
{
    tw_simage_t bits = tw_sv_image(v);
    for (unsigned i = tw_stype_bytes(v->t); i != 0; i--) {
        *at++ = (uint8_t)bits;
        bits >>= 8;
    }
}

/* offset + by or offset - by, wrapped into the window; an empty window leaves 0. */
static void move_round(tw_sptr_t *p, bool minus, int32_t by)
{
    const uint32_t n = elements(p);
    p->offset = n == 0 ? 0 : p->offset % n;
    if (n != 0) {
        const uint32_t size = (by < 0 ? 0 - (uint32_t)by : (uint32_t)by) % n;
        const uint32_t left = (by < 0) == minus ? n - size : size; /* to go until the end */
        p->offset = p->offset >= left ? p->offset - left : p->offset + (n - left);
    }
}

/* Words 0x30.. to 0x34.., but ptype. Offsets and counts have 32 bits: integers wrap, floats saturate. */
static void move_pointer(tw_sptr_t *p, unsigned op, int32_t by)
{
    switch (op) {
    case TW_SOP_PBASE & 15:
        p->offset = 0; /* fall through */
    case TW_SOP_PADD & 15:
        p->offset += (uint32_t)by;
        break;
    case TW_SOP_PSIZE & 15:
        if (by < 0) {
            p->size = 0;
        } else if ((uint32_t)by < elements(p)) {
            p->size = (uint32_t)by << log2_bytes(p->type);
        }
        break;
    case TW_SOP_PMOD & 15:
        move_round(p, false, by);
        break;
    }
}

/* A pointer on the stack is its pool label. */
static void take_pointer(tw_script_ctx_t *c, tw_sptr_t *p)
{
    tw_sv_t v;
    tw_spool_t pool;
    get(c, TW_RC_S0, &v);
    if (v.t != TW_T_PTR || !tw_spool_open(c->script, &pool) || !tw_spool_find(&pool, (uint32_t)v.v.u, p)) {
        fail(c, TW_E_SCR_FAULT);
    }
}

static void copy_pointer(tw_script_ctx_t *c, tw_sptr_t *p, unsigned y, bool enabled)
{
    if (y == TW_RC_S0) {
        take_pointer(c, p);
    } else if (enabled) {
        *p = *ptr(c, y);
    }
}

/* ---- calls ---- */

static void mask_registers(tw_script_ctx_t *c, unsigned keep)
{
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        if ((keep >> i & 1) == 0) {
            c->v[i].i = 0;
            c->t[i] = TW_T_I32;
        }
    }
}

/* A script starts, or goes on after another, with its memory in its last pointer and no other. */
static void enter_script(tw_script_ctx_t *c, const tw_script_t *s)
{
    c->script = s;
    memset(c->p, 0, sizeof c->p);
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        c->p[i].type = TW_T_I32;
        if (tw_stype_is_fp8(c->t[i])) { /* fp8 stays inside the script that made it */
            c->t[i] = TW_T_U8;
        }
    }
    if (s->mem != NULL && s->ptrs - 1u < TW_SCRIPT_PTRS) {
        tw_sptr_t *const p = &c->p[s->ptrs - 1];
        p->base = s->mem;
        p->size = s->mem_bytes;
        p->space = 1;
    }
    c->labels = s->labels;
    if (s->labels == NULL) {
        tw_script_index(s, c->own_labels);
        c->labels = c->own_labels;
    }
}

static void push_frame(tw_script_ctx_t *c, bool callscript)
{
    if (c->depth >= TW_SCRIPT_CALL_DEPTH) {
        fail(c, TW_E_SCR_STACK);
        return;
    }
    tw_script_frame_t *const f = &c->frames[c->depth++];
    f->script = c->script;
    f->labels = c->labels;
    f->next = c->next;
    f->base = c->base;
    f->callscript = callscript;
    c->base = c->sp;
}

static void call_script(tw_script_ctx_t *c, uint32_t k)
{
    const tw_script_t *const s = c->host->script == NULL ? NULL : c->host->script(c->host->ctx, k);
    if (s == NULL) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    if (c->sp + s->stack > TW_SCRIPT_STACK_MAX) {
        fail(c, TW_E_SCR_STACK);
        return;
    }
    push_frame(c, true);
    if (c->err != TW_OK) {
        return;
    }
    if (s->labels == NULL) {
        /* indexing is work too: a loop of calls must stay bounded */
        c->used = tw_min_u32(c->used + s->code_bytes / 32, c->budget);
    }
    enter_script(c, s);
    c->next = 0;
}

/* Return; between scripts only registers, lc and T carry over, so a result is dropped there. */
static void give_back(tw_script_ctx_t *c, tw_sv_t *result)
{
    bool callscript = false;
    c->sp = c->base;
    if (c->depth == 0) {
        c->done = c->halt = true;
    } else {
        const tw_script_frame_t *const f = &c->frames[--c->depth];
        callscript = f->callscript;
        c->next = f->next;
        c->base = f->base;
        if (callscript) {
            enter_script(c, f->script);
        }
    }
    if (result != NULL && !callscript) {
        put(c, TW_RC_S0, result, false);
    }
}

static void call_host(tw_script_ctx_t *c, bool app, uint32_t k)
{
    const tw_script_host_t *const h = c->host;
    const int pops = app ? 0 : tw_ssys_pops(k);
    const bool denied = pops < 0 || (!app && tw_ssys_privileged(k) && !h->privileged);
    uint32_t (*const fn)(void *, uint32_t, tw_script_ctx_t *) = app ? h->callapp : h->syscall;
    if (denied || c->sp - c->base < pops) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    const uint16_t sp = (uint16_t)(c->sp - pops); /* whatever the host pops, this is the depth that was verified */
    const uint32_t status = fn == NULL ? (uint32_t)-TW_E_UNSUPPORTED : fn(h->ctx, k, c);
    c->sp = sp;
    c->flag = status == 0;
    c->v[0].i = (int32_t)status;
    c->t[0] = TW_T_I32;
}

/* ---- instructions ---- */

enum { NOTHING, AS_IT_IS, KEEPING_TYPE }; /* how a result is put */

/* Words 0x00.. to 0x0F..; those up to 0x04 have a condition bit and are skipped when it is set and T is not. */
static void control(tw_script_ctx_t *c, uint16_t w)
{
    const unsigned high = w >> 8;
    const unsigned k = w & 127;
    if (high <= TW_SOP_CALLAPP && (w & 0x80) != 0 && !c->flag) {
        return;
    }
    switch (high) {
    case TW_SOP_BANZ:
        if (--c->lc == 0) {
            break;
        }
        c->next = c->labels[k];
        break;
    case TW_SOP_CALL:
        push_frame(c, false); /* fall through */
    case TW_SOP_JMP:
        c->next = c->labels[k]; /* none is outside any script */
        break;
    case TW_SOP_JMPR:
        c->next += 2 * k - (k < 64 ? 0u : 256u);
        break;
    case TW_SOP_CALLAPP:
        if (k >= 64) {
            call_script(c, k & 63);
            break;
        } /* fall through */
    case TW_SOP_CALLSYS:
        call_host(c, high == TW_SOP_CALLAPP, k);
        break;
    case TW_SOP_RETK:
        mask_registers(c, k);
        give_back(c, NULL);
        break;
    case TW_SOP_BRK:
        c->halt |= c->host->brk != NULL && c->host->brk(c->host->ctx, w & 255, c);
        break;
    }
}

/* Operand, operation, result: what is computed is the same for all words. */
static __attribute__((noinline)) void execute(tw_script_ctx_t *c, uint16_t w)
{
    /* of addk, eqk, gtk, ltk */
    const uint32_t with_constant = TW_ALU_ADD | TW_ALU_EQU << 8 | TW_ALU_GTS << 16 | (uint32_t)TW_ALU_LTS << 24;
    const unsigned class = w >> 12;
    unsigned x = w >> 4 & 15;
    unsigned y = w & 15;
    unsigned op = w >> 8 & 63;
    unsigned result = AS_IT_IS;
    tw_sptr_t *p;
    tw_sv_t a;
    tw_sv_t b;
    b.t = TW_T_I32;
    switch (class) {
    case 0x0:
        if (w >> 8 != TW_SOP_PSHA) {
            control(c, w);
            return;
        }
        a.v.u = w & 127;
        a.t = TW_T_PTR;
        x = TW_RC_S0;
        break;
    case 0x1:
        op &= 15;
        if ((op & 3) == 1) {
            p = ptr(c, y);
            a.t = p->type;
            const uint8_t *const from = element(c, p, 0);
            if (from == NULL) {
                return;
            }
            read(&a, from);
            p->offset += op >> 3;
            break;
        }
        if ((op & 3) == 2) {
            get(c, y, &a);
            p = ptr(c, x);
            uint8_t *const to = element(c, p, 2);
            if (to != NULL) {
                tw_sv_become(&a, p->type, &c->errors);
                write(&a, to);
                p->offset += op >> 3;
            }
            return;
        }
        result = op == 0 ? KEEPING_TYPE : AS_IT_IS;
        goto copy;
    case 0x2: {
        x = w >> 8 & 15;
        a.t = (uint8_t)y;
        const uint8_t *const at = literals(c, w);
        if (at == NULL) {
            return;
        }
        read(&a, at);
        break;
    }
    case 0x3:
        p = ptr(c, x);
        op &= 15;
        if (op == (TW_SOP_PTYPE & 15)) {
            p->type = (uint8_t)y;
            return;
        }
        if (op == (TW_SOP_PLEN & 15)) {
            const uint32_t n = elements(p);
            a.v.u = p->offset < n ? n - p->offset : 0;
            a.t = TW_T_U32;
            x = y;
            result = KEEPING_TYPE;
            break;
        }
    count:
        get(c, y, &a);
        tw_sv_become(&a, TW_T_I32, &c->errors);
        if (class == 3) {
            move_pointer(p, op, (int32_t)a.v.i);
        } else {
            move_round(p, op == TW_ALU_SUBM, (int32_t)a.v.i);
        }
        return;
    case 0x4:
    case 0x5:
    case 0x6:
    case 0x7:
        op = with_constant >> 8 * (class - 4) & 63;
        b.v.i = (int8_t)w;
        goto constant;
    case 0x8:
    case 0x9:
        op = TW_ALU_SHL + 4 * (class - 8) + (w >> 6 & 3);
        b.v.i = w & 63;
    constant:
        x = w >> 8 & 15;
        y = CONSTANT;
        goto compute;
    case 0xA: {
        const uint8_t *const at = literals(c, w);
        if (at == NULL) {
            return;
        }
        const uint16_t where = tw_get_le16(at);
        const int lsb = where & 63;
        tw_simage_t mask = TW_SHL((tw_simage_t)2, where >> 8 & 63) - 1;
        x = w >> 8 & 15;
        op = w & 0x10;
        a.t = TW_SCRIPT_WIDE ? TW_T_U64 : TW_T_U32;
        if (op != 0) {
            get(c, x, &a);
        }
        get(c, y, &b);
        tw_simage_t bits = tw_sv_image(&b);
        if (op != 0) {
            const tw_simage_t old = tw_sv_image(&a);
            mask = TW_SHL(mask, lsb);
            bits = old ^ ((old ^ TW_SHL(bits, lsb)) & mask);
        } else {
            bits = TW_SHR(bits, lsb) & mask;
        }
        tw_sv_set_image(&a, bits);
        result = KEEPING_TYPE;
        break;
    }
    default:
        if (op >= TW_ALU_SHL) {
            goto illegal;
        }
        switch (op) {
        case TW_ALU_RETP:
            get(c, x, &a);
            give_back(c, &a);
            return;
        case TW_ALU_RET:
            give_back(c, NULL);
            return;
        case TW_ALU_PSHT:
            a.v.u = c->flag;
            a.t = TW_T_U8;
            x = TW_RC_S0;
            break;
        case TW_ALU_RESET:
            mask_registers(c, 0);
            c->sp = c->base;
            c->lc = 0;
            c->flag = 0;
            return;
        case TW_ALU_DUP:
            x = y = TW_RC_S0;
            get(c, x, &a);
            put(c, x, &a, false);
            break;
        case TW_ALU_NOP:
            return;
        case TW_ALU_SWAP:
            if (is_ptr(x)) {
                const tw_sptr_t t = *ptr(c, x);
                *ptr(c, x) = *ptr(c, y);
                *ptr(c, y) = t;
                return;
            }
            get(c, x, &b);
            get(c, y, &a);
            put(c, x, &a, false);
            a = b;
            x = y;
            break;
        case TW_ALU_CCOPY:
            result = c->flag ? KEEPING_TYPE : NOTHING;
        copy:
            if (is_ptr(x)) {
                copy_pointer(c, ptr(c, x), y, result != NOTHING);
                return;
            }
            get(c, y, &a);
            break;
        case TW_ALU_CONV:
            get(c, x, &a);
            tw_sv_become(&a, y, &c->errors);
            break;
        case TW_ALU_CAST: {
            get(c, x, &a);
            const tw_simage_t bits = tw_sv_image(&a);
            a.t = (uint8_t)y;
            tw_sv_set_image(&a, bits);
            break;
        }
        case TW_ALU_NEGT:
            c->flag ^= 1;
            return;
        case TW_ALU_INC:
        case TW_ALU_DEC:
            b.v.i = op == TW_ALU_INC ? 1 : -1;
            op = TW_ALU_ADD;
            y = CONSTANT;
            goto compute;
        case TW_ALU_ANDT:
        case TW_ALU_ORT:
            b.v.i = 0;
            y = CONSTANT;
            goto compute;
        case TW_ALU_ADDM:
        case TW_ALU_SUBM:
            if (is_ptr(x)) {
                p = ptr(c, x);
                goto count;
            }
            goto compute;
        default:
        compute : {
            const unsigned todo = does[op];
            tw_sv_t third;
            if ((todo & TW_SE_RX) != 0) {
                get(c, x, &a);
            }
            if (y != CONSTANT) {
                get(c, y, &b);
            }
            if ((todo & TW_SE_RX) == 0) {
                a.t = (uint8_t)type_of(c, x, b.t);
            }
            /* a small constant has a float form, but -1 no unsigned one */
            if ((todo & SAME_TYPE) != 0 && a.t != b.t &&
                (y != CONSTANT || (TW_SCRIPT_FLOAT && tw_stype_is_float(a.t)))) {
                tw_sv_become(&b, a.t, &c->errors);
            }
            if ((todo & TW_SE_POP) != 0) {
                get(c, TW_RC_S0, &third);
            }
            if ((todo & TW_SE_WX) == 0) {
                c->flag = passes(c, op, &a, &b, y);
                return;
            }
            tw_sv_alu(op, &a, &b, &third, &c->errors);
            result = KEEPING_TYPE;
            break;
        }
        }
    }
    if (result != NOTHING) {
        put(c, x, &a, result == KEEPING_TYPE);
    }
    return;
illegal:
    fail(c, TW_E_SCR_FAULT);
}

static uint32_t allowance(const tw_script_t *s, uint32_t asked)
{
    const uint32_t own = s->budget == 0 ? TW_SCRIPT_BUDGET : s->budget;
    return tw_min_u32(asked == 0 ? own : asked, TW_SCRIPT_BUDGET_MAX);
}

void tw_script_begin(tw_script_ctx_t *c, const tw_script_t *s, const tw_script_host_t *host, const int64_t *args,
                     unsigned n_args, bool flag, uint32_t budget)
{
    memset(c, 0, offsetof(tw_script_ctx_t, v)); /* of what follows nothing is read that was not written */
    c->host = host;
    c->budget = allowance(s, budget);
    c->flag = flag;
    mask_registers(c, 0);
    for (unsigned i = 0; args != NULL && i < n_args && i < TW_SCRIPT_REGS; i++) {
        c->v[i].i = args[i];
        c->t[i] = TW_SCRIPT_WIDE ? TW_T_I64 : TW_T_I32;
    }
    enter_script(c, s);
}

tw_err_t tw_script_go(tw_script_ctx_t *c, uint32_t limit)
{
    const uint32_t until = limit == 0 ? UINT32_MAX : c->used + limit; /* `used` stays far below */
    const uint32_t stop = tw_min_u32(until, c->budget);
    c->halt = c->done || c->err != TW_OK;
    while (!c->halt) {
        /* as far as it goes; what it leaves is done below */
#if TW_SCRIPT_FAST
        if (limit == 0 && c->script->fast != NULL) {
            tw_fast_run(c);
            if (c->done) {
                break;
            }
        } else
#endif
            if (TW_SCRIPT_SHORT && c->used < stop) {
            tw_short_run(c, stop - c->used);
        }
        const uint32_t at = c->next;
        c->pc = at;
        if (c->used >= stop) {
            if (c->used < until) {
                fail(c, TW_E_SCR_BUDGET);
            }
            break;
        }
        if (at + 1 >= c->script->code_bytes) {
            fail(c, TW_E_SCR_FAULT);
            break;
        }
        c->used++;
        c->next = at + 2;
        c->s1 = (uint16_t)(c->sp - 2); /* out of range when there is no second entry: place() refuses it */
        execute(c, tw_get_le16(c->script->code + at));
    }
    c->held = !c->done && c->err == TW_OK;
    if (c->held) {
        c->pc = c->next;
        return TW_E_SCR_HELD;
    }
    return c->err;
}

tw_err_t tw_script_run(const tw_script_t *s, const tw_script_host_t *host, tw_script_ctx_t *c, const int64_t *args,
                       unsigned n_args, bool flag, uint32_t budget)
{
    tw_script_begin(c, s, host, args, n_args, flag, budget);
    return tw_script_go(c, 0);
}
