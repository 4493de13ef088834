/* script_fast_emit.c - verified code becomes operations of the fast machine.
 *
 * One pass in the order of the code, with the types found before. Runs twice: once to count what it needs, once to
 * write it. An instruction whose types, operands or effects are not of the common kind becomes EXIT, or an operation
 * that looks at types when it runs; so this file only ever has to know the cases that are worth their speed.
 */
#include "engine/script/script_fast_priv.h"

typedef enum kind { K_I32, K_U32, K_W64, K_SAT, K_F32, K_F64, K_OTHER } kind_t;

typedef struct maker {
    const tw_flows_t *f;
    tw_uop_t *uops; /* NULL: only count */
    tw_uop_info_t *info;
    tw_fast_head_t *heads;
    uint16_t *map;
    uint32_t n_uops, n_heads;
    tw_uop_t last; /* not yet written */
    tw_uop_info_t last_info;
    tw_flow_t st;   /* before the instruction */
    uint32_t at;    /* [halfwords] */
    uint32_t block; /* its CHARGE */
    uint16_t count; /* instructions of the block so far */
    uint8_t covers; /* instructions under way: 2 with a constant pushed just before */
    bool open;      /* in a block */
    bool alone;     /* nothing may be joined to `last` */
    tw_sv_t konst;  /* of the constant pushed just before */
} maker_t;

/* ---- blocks ---- */

static void flush(maker_t *m)
{
    if (m->uops != NULL && m->n_uops != 0) {
        m->uops[m->n_uops - 1] = m->last;
        m->info[m->n_uops - 1] = m->last_info;
    }
}

static void emit(maker_t *m, tw_uop_t u)
{
    flush(m);
    m->last = u;
    m->last_info =
        (tw_uop_info_t){.pc = (uint16_t)(2 * m->at), .rest = m->count, .depth = m->st.depth, .covers = m->covers};
    m->n_uops++;
    m->alone = false;
}

/* `u` does what `last` did and the instruction at hand, and what in between needed no operation. */
static void join(maker_t *m, tw_uop_t u)
{
    m->last = u;
    m->last_info.covers = (uint8_t)(m->count + m->covers - m->last_info.rest);
}

static void open_block(maker_t *m)
{
    if (m->heads != NULL) {
        tw_fast_head_t *const h = &m->heads[m->n_heads];
        *h = (tw_fast_head_t){
            .pc = (uint16_t)(2 * m->at), .uop = (uint16_t)m->n_uops, .depth = m->st.depth, .base = m->st.base};
        for (unsigned i = 0; i < TW_FAST_TYPES; i++) { /* bytes in the order they have in memory */
            ((uint8_t *)h->mask)[i] = m->st.t[i] == TW_FAST_ANY ? 0 : 0xFF;
            ((uint8_t *)h->want)[i] = m->st.t[i] == TW_FAST_ANY ? 0 : m->st.t[i];
        }
        memcpy(h->p, m->st.p, sizeof h->p);
        m->map[m->at] = (uint16_t)m->n_heads;
    }
    m->n_heads++;
    m->block = m->n_uops;
    m->count = 0;
    m->open = true;
    emit(m, (tw_uop_t){.op = TW_U_CHARGE});
    m->alone = true;
}

static void close_block(maker_t *m)
{
    m->open = false;
    if (m->uops == NULL) {
        return;
    }
    flush(m);
    m->uops[m->block].n = (int16_t)m->count;
    for (uint32_t i = m->block + 1; i < m->n_uops; i++) {
        m->info[i].rest = (uint16_t)(m->count - m->info[i].rest);
    }
    m->last = m->uops[m->n_uops - 1];
    m->last_info = m->info[m->n_uops - 1];
}

static bool is_jump(unsigned op)
{
    return op == TW_U_JMP || op == TW_U_BT || op == TW_U_BANZ || op == TW_U_CALL ||
           (op >= TW_U_B_EQ_INT && op <= TW_U_B_INR_F32);
}

/* Jumps wrote down halfwords; the block they reach is paid by them, so they land behind its CHARGE. */
static void resolve_jumps(maker_t *m)
{
    for (uint32_t i = 0; i < m->n_uops; i++) {
        tw_uop_t *const u = &m->uops[i];
        if (is_jump(u->op)) {
            const uint32_t charge = m->heads[m->map[u->to]].uop;
            u->n = (int16_t)(m->info[i].rest - m->info[i].covers - m->uops[charge].n);
            u->to = (int32_t)(charge + 1 - i);
        }
    }
}

/* ---- pairs ---- */

enum { CHAIN_N, CHAIN_A, CHAIN_B, CHAIN_P };

static bool is_chained(unsigned chain, const tw_uop_t *one, const tw_uop_t *two)
{
    return chain == CHAIN_N || (chain == CHAIN_P   ? two->b == one->b
                                : chain == CHAIN_A ? two->a == one->d
                                                   : two->b == one->d);
}

static const struct {
    uint16_t first, second, both;
    uint8_t chain;
} pairs[] = {
#define TW_PAIR(FIRST, SECOND, CHAIN) {TW_U_##FIRST, TW_U_##SECOND, TW_U_P_##FIRST##_##SECOND, CHAIN_##CHAIN},
#include "engine/script/script_fast_pairs.def"
};

static unsigned pair_of(const tw_uop_t *u)
{
    for (unsigned i = 0; i < TW_COUNT(pairs); i++) {
        if (pairs[i].first == u[0].op && pairs[i].second == u[1].op && is_chained(pairs[i].chain, &u[0], &u[1])) {
            return pairs[i].both;
        }
    }
    return 0;
}

/* Jumps land behind a CHARGE, never between the two. */
static void join_pairs(maker_t *m)
{
    for (uint32_t i = 0; i + 1 < m->n_uops; i++) {
        const unsigned both = pair_of(&m->uops[i]);
        if (both != 0) {
            m->uops[i].op = (uint16_t)both;
            i++;
        }
    }
}

/* ---- types ---- */

static kind_t kind_of(unsigned t)
{
    switch (t) {
    case TW_T_I32:
        return K_I32;
    case TW_T_U32:
    case TW_T_TIME32:
        return K_U32;
    case TW_T_I64:
    case TW_T_U64:
        return K_W64;
    case TW_T_I8:
    case TW_T_U8:
    case TW_T_I16:
    case TW_T_U16:
    case TW_T_CHAR:
        return K_SAT;
    case TW_T_FP32:
        return K_F32;
    case TW_T_FP64:
        return K_F64;
    default:
        return K_OTHER;
    }
}

static bool is_integer(unsigned t)
{
    return kind_of(t) <= K_SAT;
}

/* int64_t holds it and compares it */
static bool is_int(unsigned t)
{
    return is_integer(t) && t != TW_T_U64;
}

static bool is_signed(unsigned t)
{
    return t == TW_T_I8 || t == TW_T_I16 || t == TW_T_I32 || t == TW_T_I64;
}

static unsigned width(unsigned t)
{
    return 8 * tw_stype_bytes(t);
}

/* Every value of `from` is one of `to`, and held alike. */
static bool fits(unsigned from, unsigned to)
{
    if (from == to) {
        return from != TW_FAST_ANY;
    }
    if (!is_integer(from) || !is_integer(to)) {
        return false;
    }
    if (is_signed(from)) {
        return is_signed(to) && width(to) >= width(from);
    }
    return width(to) - is_signed(to) >= width(from);
}

static int32_t low_of(unsigned t)
{
    return is_signed(t) ? -(1 << (width(t) - 1)) : 0;
}

static int32_t high_of(unsigned t)
{
    return (1 << (width(t) - is_signed(t))) - 1;
}

/* ---- operands ---- */

typedef struct operand {
    enum { NOWHERE, SLOT, CONSTANT, COUNTER } is;
    uint8_t slot, t;
    tw_sv_t k;
} operand_t;

/* The stack while an instruction takes from it. */
typedef struct stack {
    int depth, top;
    int constant; /* entry that is not there but known, or -1 */
} stack_t;

static stack_t stack_of(const maker_t *m)
{
    const bool pair = m->covers == 2;
    const int depth = m->st.depth + pair;
    return (stack_t){depth, depth, pair ? m->st.depth : -1};
}

static operand_t entry(const maker_t *m, const stack_t *s, int depth)
{
    if (depth >= 0 && depth == s->constant) {
        return (operand_t){CONSTANT, 0, m->konst.t, m->konst};
    }
    const unsigned slot = tw_flow_slot(&m->st, depth);
    if (slot == TW_FAST_ANY) {
        return (operand_t){.is = NOWHERE, .t = TW_FAST_ANY};
    }
    return (operand_t){.is = SLOT, .slot = (uint8_t)slot, .t = m->st.t[slot]};
}

static operand_t read(const maker_t *m, stack_t *s, unsigned code)
{
    if (code < TW_RC_P0) {
        return (operand_t){.is = SLOT, .slot = (uint8_t)code, .t = m->st.t[code]};
    }
    switch (code) {
    case TW_RC_S0:
        s->depth--;
        return entry(m, s, s->depth);
    case TW_RC_S1:
        return entry(m, s, s->top - 2);
    case TW_RC_ZERO:
        return (operand_t){CONSTANT, 0, TW_T_I32, {.t = TW_T_I32}};
    case TW_RC_LC:
        return (operand_t){.is = COUNTER, .t = TW_T_U16};
    default:
        return (operand_t){.is = NOWHERE, .t = TW_FAST_ANY};
    }
}

/* Where a value goes to; t is the type that is there now. Nobody knows what stands above the top. */
static operand_t place(const maker_t *m, const stack_t *s, unsigned code)
{
    stack_t after = *s;
    after.depth++;
    after.constant = -1;
    operand_t d = {.is = NOWHERE};
    if (code != TW_RC_ZERO) {
        d = read(m, &after, code);
    }
    if (code == TW_RC_S0) {
        d.t = s->depth < s->top && d.is == SLOT ? m->st.t[d.slot] : TW_FAST_ANY;
    }
    return d;
}

/* A constant in type t, if that loses nothing. */
static bool constant_as(const operand_t *y, unsigned t, tw_sv_t *k)
{
    uint8_t errors = 0;
    *k = tw_sv_convert(y->k, t, &errors);
    return errors == 0;
}

static uint8_t pointer_at(unsigned code)
{
    _Static_assert(offsetof(tw_script_ctx_t, p) % 8 == 0 &&
                       offsetof(tw_script_ctx_t, p) + 8 * (TW_SCRIPT_PTRS * sizeof(tw_sptr_t) / 8) < 8 * 256,
                   "places of pointers are bytes");
    return (uint8_t)((offsetof(tw_script_ctx_t, p) + (code - TW_RC_P0) * sizeof(tw_sptr_t)) / 8);
}

static bool is_ptr(unsigned code)
{
    return code >= TW_RC_P0 && code < TW_RC_LC;
}

/* ---- values ---- */

/* The type a place gets, where it had another or an unknown one. Never before an operation that may give up. */
static void set_type(maker_t *m, const operand_t *d, unsigned t)
{
    if (d->t != t) {
        emit(m, (tw_uop_t){.op = TW_U_SETT, .d = d->slot, .e = (uint8_t)t});
    }
}

/* A move and an operation on what was moved are one operation with three operands. */
static void emit_on(maker_t *m, tw_uop_t u)
{
    if (!m->alone && m->last.op == TW_U_MOV && u.a == m->last.d && u.d == m->last.d) {
        u.a = m->last.a;
        u.b = u.b == m->last.d ? m->last.a : u.b;
        join(m, u);
        return;
    }
    emit(m, u);
}

static void set_constant(tw_uop_t *u, kind_t kind, tw_sv_t k)
{
    if (kind == K_SAT) {
        u->n = (int16_t)k.v.i;
    } else if (kind == K_F32) {
        u->s = k.v.s;
    } else {
        u->u = k.v.u;
    }
}

/* First operation of a row for the kind, 0: none. */
static unsigned binary_op(unsigned key, kind_t kind)
{
    switch (key) {
    case TW_SOP_ADD:
        return TW_U_ADD_I32 + 2u * kind;
    case TW_SOP_SUB:
        return TW_U_SUB_I32 + 2u * kind;
    case TW_SOP_RSB:
        return TW_U_RSB_I32 + 2u * kind;
    case TW_SOP_MUL:
        return TW_U_MUL_I32 + 2u * kind;
    case TW_SOP_AND:
        return kind <= K_SAT ? TW_U_AND_I32 + 2u * tw_min_u32(kind, K_W64) : 0;
    case TW_SOP_OR:
        return kind <= K_SAT ? TW_U_OR_I32 + 2u * tw_min_u32(kind, K_W64) : 0;
    case TW_SOP_XOR:
        return kind <= K_SAT ? TW_U_XOR_I32 + 2u * tw_min_u32(kind, K_W64) : 0;
    case TW_SOP_MIN:
        return kind <= K_SAT ? TW_U_MIN_INT : TW_U_MIN_F32 + 2u * (kind - K_F32);
    case TW_SOP_MAX:
        return kind <= K_SAT ? TW_U_MAX_INT : TW_U_MAX_F32 + 2u * (kind - K_F32);
    case TW_SOP_DIV:
        return kind == K_F32   ? TW_U_DIV_F32
               : kind == K_F64 ? TW_U_DIV_F64
               : kind == K_I32 ? TW_U_DIV_I32
               : kind == K_U32 ? TW_U_DIV_U32
                               : 0;
    case TW_SOP_MOD:
        return kind == K_I32 ? TW_U_MOD_I32 : kind == K_U32 ? TW_U_MOD_U32 : 0;
    case TW_SOP_SQRA:
        return kind == K_I32 ? TW_U_SQRA_I32 : kind == K_F32 ? TW_U_SQRA_F32 : 0;
    default:
        return 0;
    }
}

/* Only the low bits count, so an operand of any width will do. */
static bool is_modular(unsigned key, kind_t kind)
{
    switch (key) {
    case TW_SOP_ADD:
    case TW_SOP_SUB:
    case TW_SOP_RSB:
    case TW_SOP_MUL:
    case TW_SOP_AND:
    case TW_SOP_OR:
    case TW_SOP_XOR:
    case TW_SOP_SQRA:
        return kind <= K_W64;
    default:
        return false;
    }
}

static bool typed_binary(unsigned key, const operand_t *x, const operand_t *y, tw_uop_t *u)
{
    const kind_t kind = kind_of(x->t);
    const bool order = key == TW_SOP_MIN || key == TW_SOP_MAX;
    const unsigned op = kind == K_OTHER || (order && x->t == TW_T_U64) ? 0 : binary_op(key, kind);
    if (op == 0) {
        return false;
    }
    *u = (tw_uop_t){.op = (uint16_t)op, .a = x->slot};
    if (kind == K_SAT && key != TW_SOP_AND && key != TW_SOP_OR && key != TW_SOP_XOR && !order) {
        u->lo = low_of(x->t);
        u->hi = high_of(x->t);
    }
    if (y->is == SLOT) {
        u->b = y->slot;
        return fits(y->t, x->t) || (is_modular(key, kind) && is_integer(y->t));
    }
    tw_sv_t k;
    if (y->is != CONSTANT || key == TW_SOP_SQRA || !constant_as(y, x->t, &k)) {
        return false;
    }
    const bool bounded = u->lo != 0 || u->hi != 0;
    u->op++;
    set_constant(u, bounded ? K_SAT : kind == K_SAT ? K_W64 : kind, k);
    return !bounded || k.v.i <= INT16_MAX;
}

static bool binary_with(maker_t *m, const tw_sinsn_t *in, const operand_t *x, const operand_t *y, const operand_t *d)
{
    tw_uop_t u;
    if (typed_binary(in->key, x, y, &u)) {
        u.d = d->slot;
        emit_on(m, u);
        set_type(m, d, x->t);
        return true;
    }
    if (y->is == SLOT) {
        emit(m, (tw_uop_t){.op = TW_U_ANY_BINARY, .d = d->slot, .a = x->slot, .b = y->slot, .n = TW_ALU_OF(in->key)});
        return true;
    }
    return false;
}

static bool binary(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    const operand_t y = read(m, &s, in->y);
    const operand_t d = place(m, &s, in->x);
    return x.is == SLOT && d.is == SLOT && binary_with(m, in, &x, &y, &d);
}

static bool add_constant(maker_t *m, unsigned code, int k)
{
    stack_t s = stack_of(m);
    const tw_sinsn_t add = {.key = TW_SOP_ADD};
    const operand_t x = read(m, &s, code);
    const operand_t y = {CONSTANT, 0, TW_T_I64, {.v.i = k, .t = TW_T_I64}};
    const operand_t d = place(m, &s, code);
    tw_uop_t u;
    if (x.is != SLOT || d.is != SLOT) {
        return false;
    }
    if (kind_of(x.t) == K_SAT) { /* k itself may have no form in the type */
        emit_on(m, (tw_uop_t){.op = TW_U_ADD_SAT_K,
                              .d = d.slot,
                              .a = x.slot,
                              .n = (int16_t)k,
                              .lo = low_of(x.t),
                              .hi = high_of(x.t)});
        return true;
    }
    if (typed_binary(add.key, &x, &y, &u)) {
        u.d = d.slot;
        emit_on(m, u);
    } else {
        emit(m, (tw_uop_t){.op = TW_U_ANY_SMALL, .d = d.slot, .a = x.slot, .n = TW_ALU_ADD, .i = k});
    }
    return true;
}

static unsigned unary_op(unsigned key, unsigned t, bool same)
{
    const kind_t kind = kind_of(t);
    switch (key) {
    case TW_SOP_NEG:
        return kind == K_F32   ? same ? TW_U_NEG_F32 : 0u
               : kind == K_F64 ? same ? TW_U_NEG_F64 : 0u
               : kind <= K_W64 ? TW_U_RSB_I32_K + 2u * kind
               : kind == K_SAT ? same ? (unsigned)TW_U_RSB_SAT_K : 0u
                               : 0u;
    case TW_SOP_NOT:
        return kind <= K_W64 ? TW_U_XOR_I32_K + 2u * kind : 0;
    case TW_SOP_ABS:
        return !same           ? 0u
               : kind == K_I32 ? TW_U_ABS_I32
               : kind == K_SAT ? TW_U_ABS_SAT
               : kind == K_F32 ? TW_U_ABS_F32
               : kind == K_F64 ? (unsigned)TW_U_ABS_F64
                               : 0u;
    default:
        return 0;
    }
}

static bool unary(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t y = read(m, &s, in->y);
    const operand_t d = place(m, &s, in->x);
    const bool pushes = in->x == TW_RC_S0;
    const unsigned t = pushes ? y.t : d.t;
    if (y.is != SLOT || d.is != SLOT) {
        return false;
    }
    const bool same = fits(y.t, t);
    const unsigned op = same || is_integer(y.t) ? unary_op(in->key, t, same) : 0;
    if (op == 0) {
        emit(m, (tw_uop_t){.op = TW_U_ANY_UNARY, .d = d.slot, .a = y.slot, .b = pushes, .n = TW_ALU_OF(in->key)});
        return true;
    }
    tw_uop_t u = {.op = (uint16_t)op, .d = d.slot, .a = y.slot};
    if (op == TW_U_RSB_SAT_K || op == TW_U_ABS_SAT) {
        u.lo = low_of(t);
        u.hi = high_of(t);
    } else if (in->key == TW_SOP_NOT) {
        u.i = -1;
    }
    emit_on(m, u);
    set_type(m, &d, t);
    return true;
}

/* An operation that brings a value of type `from` into type `to`; 0: a plain move, TW_U_COUNT: none. */
static unsigned conversion(unsigned from, unsigned to)
{
    if (fits(from, to)) {
        return 0;
    }
    const kind_t kind = kind_of(to);
    if (is_integer(from)) {
        switch (kind) {
        case K_I32:
            return TW_U_CVT_I32;
        case K_U32:
            return TW_U_CVT_U32;
        case K_W64:
            return 0;
        case K_SAT:
            return from == TW_T_U64 ? (unsigned)TW_U_COUNT : (unsigned)TW_U_CVT_SAT;
        case K_F32:
            return from == TW_T_U64 ? (unsigned)TW_U_COUNT : (unsigned)TW_U_CVT_F32_INT;
        case K_F64:
            return from == TW_T_U64 ? (unsigned)TW_U_COUNT : (unsigned)TW_U_CVT_F64_INT;
        default:
            return TW_U_COUNT;
        }
    }
    if (from == TW_T_FP32) {
        return kind == K_I32 ? TW_U_CVT_I32_F32 : kind == K_F64 ? (unsigned)TW_U_CVT_F64_F32 : (unsigned)TW_U_COUNT;
    }
    return from == TW_T_FP64 && kind == K_F32 ? (unsigned)TW_U_CVT_F32_F64 : (unsigned)TW_U_COUNT;
}

/* d = a as type t; what stands in d may be of another type until then. */
static void convert(maker_t *m, const operand_t *d, const operand_t *a, unsigned t)
{
    const unsigned op = conversion(a->t, t);
    if (op == TW_U_COUNT) {
        emit(m, (tw_uop_t){.op = TW_U_ANY_CONV, .d = d->slot, .a = a->slot, .e = (uint8_t)t});
        return;
    }
    set_type(m, d, t);
    if (op == 0 && d->slot == a->slot) {
        return;
    }
    tw_uop_t u = {.op = (uint16_t)(op == 0 ? TW_U_MOV : op), .d = d->slot, .a = a->slot};
    if (op == TW_U_CVT_SAT) {
        u.lo = low_of(t);
        u.hi = high_of(t);
    }
    emit(m, u);
}

static void move_constant(maker_t *m, const operand_t *d, tw_sv_t k)
{
    emit(m, (tw_uop_t){.op = d->t == k.t ? TW_U_MOVK : TW_U_MOVKT, .d = d->slot, .e = k.t, .u = k.v.u});
}

/* lc = y. @return false: not here, a constant that sets the error bit among them */
static bool to_counter(maker_t *m, const operand_t *y)
{
    tw_sv_t k;
    if (y->is == SLOT) {
        emit(m, (tw_uop_t){.op = is_int(y->t) ? TW_U_LC_INT : TW_U_LC_ANY, .a = y->slot});
        return true;
    }
    if (y->is != CONSTANT || !constant_as(y, TW_T_U16, &k)) {
        return false;
    }
    emit(m, (tw_uop_t){.op = TW_U_LC_K, .u = k.v.u});
    return true;
}

static bool copy_value(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t y = read(m, &s, in->y);
    if (in->x == TW_RC_LC) {
        return to_counter(m, &y);
    }
    const operand_t d = place(m, &s, in->x);
    const bool takes_type = in->key == TW_SOP_COPYT || in->x == TW_RC_S0;
    if (d.is != SLOT || y.is == NOWHERE) {
        return false;
    }
    if (y.is == COUNTER) {
        const unsigned t = takes_type ? (unsigned)TW_T_U16 : d.t;
        if (conversion(TW_T_U16, t) != 0) {
            return false;
        }
        set_type(m, &d, t);
        emit(m, (tw_uop_t){.op = TW_U_OF_LC, .d = d.slot});
        return true;
    }
    if (y.is == CONSTANT) {
        tw_sv_t k;
        if (!takes_type && (d.t == TW_FAST_ANY || !constant_as(&y, d.t, &k))) {
            return false;
        }
        move_constant(m, &d, takes_type ? y.k : k);
        return true;
    }
    if (!takes_type && d.t == TW_FAST_ANY) {
        emit(m, (tw_uop_t){.op = TW_U_ANY_COPY, .d = d.slot, .a = y.slot});
    } else if (takes_type && y.t == TW_FAST_ANY) {
        emit(m, (tw_uop_t){.op = TW_U_MOVT, .d = d.slot, .a = y.slot});
    } else {
        convert(m, &d, &y, takes_type ? y.t : d.t);
    }
    return true;
}

static bool copy_pointer(maker_t *m, const tw_sinsn_t *in)
{
    tw_sptr_t p;
    if (in->y != TW_RC_S0) {
        emit(m, (tw_uop_t){.op = TW_U_PCOPY, .d = pointer_at(in->x), .a = pointer_at(in->y)});
        return true;
    }
    if (m->covers != 2 || m->konst.t != TW_T_PTR || !tw_spool_find(&m->f->pool, (uint32_t)m->konst.v.u, &p)) {
        return false;
    }
    emit(m, (tw_uop_t){
                .op = TW_U_PCONST, .d = pointer_at(in->x), .e = p.type, .n = (int16_t)(uint16_t)p.size, .at = p.base});
    return true;
}

static bool conditional_copy(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    if (is_ptr(in->x)) {
        return false;
    }
    const operand_t y = read(m, &s, in->y);
    const operand_t d = place(m, &s, in->x);
    if (y.is != SLOT || d.is != SLOT || !fits(y.t, d.t)) {
        return false;
    }
    emit(m, (tw_uop_t){.op = TW_U_CMOV, .d = d.slot, .a = y.slot});
    return true;
}

static bool swap(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    if (is_ptr(in->x) || (in->x == TW_RC_S0 && in->y == TW_RC_S0)) {
        return false;
    }
    const operand_t x = read(m, &s, in->x);
    const operand_t y = read(m, &s, in->y);
    if (x.is != SLOT || y.is != SLOT) {
        return false;
    }
    emit(m, (tw_uop_t){.op = TW_U_SWAP, .d = x.slot, .a = y.slot});
    return true;
}

static bool literal(maker_t *m, const tw_sinsn_t *in, tw_sv_t k)
{
    stack_t s = stack_of(m);
    const operand_t d = place(m, &s, in->x);
    if (in->x == TW_RC_LC || d.is != SLOT) {
        return false;
    }
    move_constant(m, &d, k);
    return true;
}

static bool retype(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    const operand_t d = place(m, &s, in->x);
    if (x.is != SLOT || d.is != SLOT) {
        return false;
    }
    if (in->key == TW_SOP_CAST) {
        emit(m, (tw_uop_t){.op = TW_U_ANY_CAST, .d = d.slot, .a = x.slot, .e = in->y});
    } else {
        convert(m, &d, &x, in->y);
    }
    return true;
}

static unsigned bit_op(unsigned key, unsigned t, unsigned n)
{
    const kind_t kind = kind_of(t);
    if (n >= width(t)) {
        return 0;
    }
    switch (key) {
    case TW_SOP_SHL:
        return kind <= K_W64 ? TW_U_SHL_I32 + kind : 0;
    case TW_SOP_SHR:
        return kind == K_I32 ? TW_U_SHR_I32 : is_integer(t) && !is_signed(t) ? (unsigned)TW_U_SHR_UNS : 0;
    case TW_SOP_ASR:
        return is_integer(t) ? is_signed(t) ? TW_U_ASR_SGN : TW_U_SHR_UNS : 0;
    case TW_SOP_ROT:
        return kind == K_I32 ? TW_U_ROT_I32 : kind == K_U32 ? (unsigned)TW_U_ROT_U32 : 0;
    case TW_SOP_BSET:
        return kind <= K_W64 ? TW_U_OR_I32_K + 2u * kind : 0;
    case TW_SOP_BCLR:
        return kind <= K_W64 ? TW_U_AND_I32_K + 2u * kind : 0;
    default:
        return 0;
    }
}

static bool change_bits(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const unsigned n = in->word & 63;
    const operand_t x = read(m, &s, in->x);
    const operand_t d = place(m, &s, in->x);
    if (x.is != SLOT || d.is != SLOT) {
        return false;
    }
    tw_uop_t u = {.d = d.slot, .a = x.slot, .n = (int16_t)n};
    const unsigned op = x.t == TW_FAST_ANY ? 0 : bit_op(in->key, x.t, n);
    if (op == 0) {
        u.op = TW_U_ANY_SMALL;
        u.n = TW_ALU_OF(in->key);
        u.i = (int64_t)n;
        emit(m, u);
        return true;
    }
    u.op = (uint16_t)op;
    if (in->key == TW_SOP_BSET) {
        u.u = (uint64_t)1 << n;
    } else if (in->key == TW_SOP_BCLR) {
        u.u = ~((uint64_t)1 << n);
    }
    emit_on(m, u);
    return true;
}

static bool field(maker_t *m, const tw_sinsn_t *in, uint16_t where)
{
    stack_t s = stack_of(m);
    const unsigned lsb = where & 63;
    const unsigned len = (where >> 8 & 63u) + 1;
    const bool out = in->key == TW_SOP_BFX;
    if (!out && in->x >= TW_RC_P0) {
        return false;
    }
    const operand_t y = read(m, &s, in->y);
    const operand_t d = place(m, &s, in->x);
    if (y.is != SLOT || d.is != SLOT || !is_integer(y.t) || !is_integer(d.t) || in->x == TW_RC_S0) {
        return false;
    }
    tw_uop_t u = {.op = TW_U_BFX, .d = d.slot, .a = y.slot, .n = (int16_t)lsb, .u = ~(uint64_t)0 >> (64 - len)};
    if (out) {
        const bool inside = lsb + len <= width(y.t) && len <= width(d.t) - is_signed(d.t);
        if (inside) {
            emit(m, u);
        }
        return inside;
    }
    const kind_t kind = kind_of(d.t);
    if (kind > K_W64 || len > width(y.t) || lsb + len > width(d.t)) {
        return false;
    }
    u.op = (uint16_t)(TW_U_BFI_I32 + kind);
    emit(m, u);
    return true;
}

static bool blend(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    const operand_t y = read(m, &s, in->y);
    const operand_t k = read(m, &s, TW_RC_S0);
    const operand_t d = place(m, &s, in->x);
    if (x.is != SLOT || y.is != SLOT || d.is != SLOT || k.is == NOWHERE) {
        return false;
    }
    const bool minus = in->key == TW_SOP_SUBM;
    tw_uop_t u = {.d = d.slot, .a = x.slot, .b = y.slot, .e = k.slot};
    tw_sv_t modulus;
    if (in->key == TW_SOP_LERP) {
        const bool typed = x.t == TW_T_FP32 && y.t == TW_T_FP32 && k.t == TW_T_FP32 && k.is == SLOT;
        u.op = typed ? TW_U_LERP_F32 : TW_U_ANY_BLEND;
        u.n = TW_ALU_LERP;
    } else if (!is_int(x.t) || !fits(y.t, x.t) || (k.is == SLOT && !fits(k.t, x.t))) {
        u.op = TW_U_ANY_BLEND;
        u.n = minus ? TW_ALU_SUBM : TW_ALU_ADDM;
    } else if (k.is == SLOT) {
        u.op = minus ? TW_U_SUBM_INT : TW_U_ADDM_INT;
    } else if (constant_as(&k, x.t, &modulus)) {
        u.op = minus ? TW_U_SUBM_INT_K : TW_U_ADDM_INT_K;
        u.i = modulus.v.i;
    }
    if (u.op == 0 || (k.is == CONSTANT && u.op != TW_U_SUBM_INT_K && u.op != TW_U_ADDM_INT_K)) {
        return false;
    }
    emit(m, u);
    if (u.op != TW_U_ANY_BLEND) {
        set_type(m, &d, x.t);
    }
    return true;
}

/* ---- T ---- */

static unsigned order_of(unsigned key)
{
    switch (key) {
    case TW_SOP_EQU:
    case TW_SOP_EQK:
        return TW_U_T_EQ_INT;
    case TW_SOP_NEQ:
        return TW_U_T_NE_INT;
    case TW_SOP_LTS:
    case TW_SOP_LTK:
        return TW_U_T_LT_INT;
    case TW_SOP_LTE:
        return TW_U_T_LE_INT;
    case TW_SOP_GTS:
    case TW_SOP_GTK:
        return TW_U_T_GT_INT;
    default:
        return TW_U_T_GE_INT;
    }
}

/* The test with its operands exchanged. */
static unsigned mirrored(unsigned op)
{
    switch (op) {
    case TW_U_T_LT_INT:
        return TW_U_T_GT_INT;
    case TW_U_T_LE_INT:
        return TW_U_T_GE_INT;
    case TW_U_T_GT_INT:
        return TW_U_T_LT_INT;
    case TW_U_T_GE_INT:
        return TW_U_T_LE_INT;
    default:
        return op;
    }
}

/* x against a constant: an integer of 32 bits, or a float that has the constant's value. */
static bool compare_constant(maker_t *m, unsigned op, const operand_t *x, const operand_t *y)
{
    tw_uop_t u = {.op = (uint16_t)(op + 1), .a = x->slot};
    if (is_int(x->t) && is_int(y->t) && y->k.v.i >= INT32_MIN && y->k.v.i <= INT32_MAX) {
        u.k = (int32_t)y->k.v.i;
    } else if (x->t == TW_T_FP32 && y->t == TW_T_FP32) {
        u.op = (uint16_t)(op + 3);
        u.s = y->k.v.s;
    } else if (x->t == TW_T_FP32 && is_int(y->t) && y->k.v.i >= -32768 && y->k.v.i <= 65535) {
        u.op = (uint16_t)(op + 3);
        u.s = (float)y->k.v.i;
    } else if (x->t == TW_T_FP64 && is_int(y->t) && y->k.v.i >= -32768 && y->k.v.i <= 65535) {
        u.op = (uint16_t)(op + 5);
        u.s = (float)y->k.v.i;
    } else {
        return false;
    }
    emit(m, u);
    return true;
}

static bool compare(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const unsigned op = order_of(in->key);
    const operand_t x = read(m, &s, in->x);
    const operand_t y = read(m, &s, in->y);
    if (x.is == CONSTANT && y.is == SLOT) {
        return compare_constant(m, mirrored(op), &y, &x);
    }
    if (x.is == SLOT && y.is == CONSTANT) {
        return compare_constant(m, op, &x, &y);
    }
    if (x.is != SLOT || y.is != SLOT) {
        return false;
    }
    tw_uop_t u = {.op = TW_U_ANY_COMPARE, .a = x.slot, .b = y.slot, .n = in->key};
    if (is_int(x.t) && is_int(y.t)) {
        u.op = (uint16_t)op;
    } else if (x.t == y.t && kind_of(x.t) >= K_F32 && kind_of(x.t) <= K_F64) {
        u.op = (uint16_t)(op + 2u * (kind_of(x.t) - K_F32 + 1u));
    }
    emit(m, u);
    return true;
}

static bool compare_literal(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    const int8_t k = (int8_t)(in->word & 255);
    const operand_t y = {CONSTANT, 0, TW_T_I64, {.v.i = k, .t = TW_T_I64}};
    if (x.is != SLOT) {
        return false;
    }
    if (!compare_constant(m, order_of(in->key), &x, &y)) {
        emit(m, (tw_uop_t){.op = TW_U_ANY_COMPARE_K, .a = x.slot, .n = in->key, .i = k});
    }
    return true;
}

static bool test_bits(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    const operand_t y = read(m, &s, in->y);
    tw_sv_t k;
    if (x.is != SLOT || !is_integer(x.t)) {
        return false;
    }
    if (y.is == SLOT && fits(y.t, x.t)) {
        emit(m, (tw_uop_t){.op = TW_U_T_TST, .a = x.slot, .b = y.slot});
        return true;
    }
    if (y.is != CONSTANT || !constant_as(&y, x.t, &k) || k.v.i < 0 || k.v.i > INT32_MAX) {
        return false;
    }
    emit(m, (tw_uop_t){.op = TW_U_T_TST_K, .a = x.slot, .k = (int32_t)k.v.i});
    return true;
}

static bool test_bit(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const unsigned n = in->word & 63;
    const operand_t x = read(m, &s, in->x);
    if (x.is != SLOT || !is_integer(x.t) || n >= width(x.t)) {
        return false;
    }
    emit(m, (tw_uop_t){.op = in->key == TW_SOP_BIT1 ? TW_U_T_BIT1 : TW_U_T_BIT0, .a = x.slot, .b = (uint8_t)n});
    return true;
}

static bool in_range(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    const uint8_t low = m->st.t[in->y];
    const uint8_t high = m->st.t[in->y + 1];
    const bool ints = is_int(x.t) && is_int(low) && is_int(high);
    const bool floats = x.t == TW_T_FP32 && low == TW_T_FP32 && high == TW_T_FP32;
    if (x.is != SLOT || (!ints && !floats)) {
        return false;
    }
    emit(m,
         (tw_uop_t){.op = ints ? TW_U_T_INR_INT : TW_U_T_INR_F32, .a = x.slot, .b = in->y, .e = (uint8_t)(in->y + 1u)});
    return true;
}

static bool combine_flag(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t x = read(m, &s, in->x);
    if (x.is != SLOT || !is_integer(x.t)) {
        return false;
    }
    emit(m, (tw_uop_t){.op = in->key == TW_SOP_ANDT ? TW_U_ANDT_INT : TW_U_ORT_INT, .a = x.slot});
    return true;
}

static bool push_flag(maker_t *m)
{
    const stack_t s = stack_of(m);
    const operand_t d = place(m, &s, TW_RC_S0);
    if (d.is == SLOT) {
        emit(m, (tw_uop_t){.op = TW_U_PSHT, .d = d.slot});
    }
    return d.is == SLOT;
}

static bool duplicate(maker_t *m)
{
    const stack_t s = stack_of(m);
    const operand_t top = entry(m, &s, s.depth - 1);
    const operand_t d = place(m, &s, TW_RC_S0);
    if (top.is != SLOT || d.is != SLOT) {
        return false;
    }
    emit(m, (tw_uop_t){.op = TW_U_MOVT, .d = d.slot, .a = top.slot});
    return true;
}

/* ---- pointers ---- */

/* Position of a type in the rows of loads, 8: none. */
static unsigned load_of(unsigned t)
{
    switch (t) {
    case TW_T_I8:
        return 0;
    case TW_T_U8:
    case TW_T_CHAR:
        return 1;
    case TW_T_I16:
        return 2;
    case TW_T_U16:
        return 3;
    case TW_T_I32:
        return 4;
    case TW_T_U32:
    case TW_T_TIME32:
        return 5;
    case TW_T_I64:
    case TW_T_U64:
    case TW_T_FP64:
        return 6;
    case TW_T_FP32:
        return 7;
    default:
        return 8;
    }
}

static bool load(maker_t *m, const tw_sinsn_t *in)
{
    const stack_t s = stack_of(m);
    const operand_t d = place(m, &s, in->x);
    const unsigned t = m->st.p[in->y - TW_RC_P0];
    const unsigned row = load_of(t);
    if (d.is != SLOT) {
        return false;
    }
    tw_uop_t u = {.d = d.slot, .b = pointer_at(in->y), .e = (uint8_t)t, .n = in->key == TW_SOP_LOADI};
    u.op = (uint16_t)(row == 8 ? TW_U_LD_ANY : (d.t == t ? TW_U_LD_I8 : TW_U_LDT_I8) + row);
    emit(m, u);
    return true;
}

static unsigned store_of(unsigned from, unsigned to)
{
    const kind_t kind = kind_of(to);
    if (kind >= K_F32) {
        return from != to ? TW_U_ST_ANY : kind == K_F32 ? TW_U_ST_F32 : kind == K_F64 ? TW_U_ST_F64 : TW_U_ST_ANY;
    }
    if (!is_int(from)) {
        return TW_U_ST_ANY;
    }
    if (kind != K_SAT) {
        return kind == K_W64 ? TW_U_ST_64 : TW_U_ST_32;
    }
    if (fits(from, to)) {
        return width(to) == 8 ? TW_U_ST_8 : TW_U_ST_16;
    }
    return width(to) == 8 ? TW_U_ST_S8 : TW_U_ST_S16;
}

static bool store(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    const operand_t y = read(m, &s, in->y);
    const unsigned t = m->st.p[in->x - TW_RC_P0];
    if (y.is != SLOT) {
        return false;
    }
    tw_uop_t u = {.op = TW_U_ST_ANY, .a = y.slot, .b = pointer_at(in->x), .n = in->key == TW_SOP_STOREI};
    if (t != TW_FAST_ANY && y.t != TW_FAST_ANY) {
        u.op = (uint16_t)store_of(y.t, t);
    }
    if (u.op == TW_U_ST_S8 || u.op == TW_U_ST_S16) {
        u.lo = low_of(t);
        u.hi = high_of(t);
    }
    emit(m, u);
    return true;
}

static bool move_pointer(maker_t *m, unsigned key, unsigned pointer, unsigned by)
{
    stack_t s = stack_of(m);
    const operand_t y = read(m, &s, by);
    const unsigned op = key == TW_SOP_PBASE ? TW_U_PBASE : key == TW_SOP_PADD ? TW_U_PADD : TW_U_PMOD;
    tw_uop_t u = {.op = (uint16_t)op, .a = y.slot, .b = pointer_at(pointer), .n = key == TW_SOP_SUBM};
    if (y.is == CONSTANT && is_integer(y.t)) {
        u.op++;
        u.k = (int32_t)(uint32_t)y.k.v.u;
    } else if (y.is != SLOT || !is_integer(y.t)) {
        return false;
    }
    emit(m, u);
    return true;
}

static bool left_of_pointer(maker_t *m, const tw_sinsn_t *in)
{
    const stack_t s = stack_of(m);
    const operand_t d = place(m, &s, in->x);
    if (in->x >= TW_RC_P0 || kind_of(d.t) > K_W64) {
        return false;
    }
    emit(m, (tw_uop_t){.op = TW_U_PLEN, .d = d.slot, .b = pointer_at(in->y)});
    if (d.t == TW_T_I32) {
        emit(m, (tw_uop_t){.op = TW_U_CVT_I32, .d = d.slot, .a = d.slot});
    }
    return true;
}

static bool pointer_type(maker_t *m, const tw_sinsn_t *in)
{
    if (m->st.p[in->x - TW_RC_P0] != in->y) {
        emit(m, (tw_uop_t){.op = TW_U_PTYPE, .b = pointer_at(in->x), .e = in->y});
    }
    return true;
}

/* ---- control ---- */

static void jump(maker_t *m, const tw_sinsn_t *in)
{
    const int32_t to = (int32_t)tw_flow_target(m->f, m->at, in);
    const bool conditional = in->key != TW_SOP_BANZ && (in->word & 0x80) != 0;
    if (conditional && !m->alone && m->last.op >= TW_U_T_EQ_INT && m->last.op <= TW_U_T_INR_F32) {
        tw_uop_t u = m->last;
        u.op = (uint16_t)(u.op + (TW_U_B_EQ_INT - TW_U_T_EQ_INT));
        u.to = to;
        join(m, u);
        return;
    }
    emit(m, (tw_uop_t){.op = in->key == TW_SOP_BANZ ? TW_U_BANZ : conditional ? TW_U_BT : TW_U_JMP, .to = to});
}

static bool give_back(maker_t *m, const tw_sinsn_t *in)
{
    stack_t s = stack_of(m);
    if (in->key != TW_SOP_RETP) {
        emit(m, (tw_uop_t){.op = in->key == TW_SOP_RET ? TW_U_RET : TW_U_RETK, .n = (int16_t)(in->word & 63)});
        return true;
    }
    const operand_t x = read(m, &s, in->x);
    if (x.is == SLOT) {
        emit(m, (tw_uop_t){.op = TW_U_RETP, .a = x.slot});
    }
    return x.is == SLOT;
}

/* ---- an instruction ---- */

static bool translate_control(maker_t *m, const tw_sinsn_t *in)
{
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_JMPR:
    case TW_SOP_BANZ:
        jump(m, in);
        return true;
    case TW_SOP_CALL:
        emit(m, (tw_uop_t){.op = TW_U_CALL,
                           .d = m->st.depth,
                           .e = (in->word & 0x80) != 0,
                           .to = (int32_t)tw_flow_target(m->f, m->at, in)});
        return true;
    default:
        return give_back(m, in);
    }
}

static bool translate_pointer(maker_t *m, const tw_sinsn_t *in)
{
    switch (in->key) {
    case TW_SOP_PBASE:
    case TW_SOP_PADD:
    case TW_SOP_PMOD:
        return move_pointer(m, in->key, in->y, in->x);
    case TW_SOP_PTYPE:
        return pointer_type(m, in);
    case TW_SOP_PLEN:
        return left_of_pointer(m, in);
    default:
        return false;
    }
}

static bool translate(maker_t *m, const tw_sinsn_t *in)
{
    const uint8_t *const code = m->f->s->code + 2 * m->at;
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_JMPR:
    case TW_SOP_BANZ:
    case TW_SOP_CALL:
    case TW_SOP_RET:
    case TW_SOP_RETK:
    case TW_SOP_RETP:
        return translate_control(m, in);
    case TW_SOP_LABL:
    case TW_SOP_NOP:
        return true;
    case TW_SOP_COPY:
    case TW_SOP_COPYT:
        return is_ptr(in->x) ? copy_pointer(m, in) : copy_value(m, in);
    case TW_SOP_CCOPY:
        return conditional_copy(m, in);
    case TW_SOP_SWAP:
        return swap(m, in);
    case TW_SOP_LOAD:
    case TW_SOP_LOADI:
        return load(m, in);
    case TW_SOP_STORE:
    case TW_SOP_STOREI:
        return store(m, in);
    case TW_SOP_PBASE:
    case TW_SOP_PADD:
    case TW_SOP_PMOD:
    case TW_SOP_PTYPE:
    case TW_SOP_PLEN:
        return translate_pointer(m, in);
    case TW_SOP_ADDK:
        return add_constant(m, in->x, (int8_t)(in->word & 255));
    case TW_SOP_INC:
        return add_constant(m, in->x, 1);
    case TW_SOP_DEC:
        return add_constant(m, in->x, -1);
    case TW_SOP_EQK:
    case TW_SOP_GTK:
    case TW_SOP_LTK:
        return compare_literal(m, in);
    case TW_SOP_SHL:
    case TW_SOP_SHR:
    case TW_SOP_ASR:
    case TW_SOP_ROT:
    case TW_SOP_BSET:
    case TW_SOP_BCLR:
        return change_bits(m, in);
    case TW_SOP_BIT0:
    case TW_SOP_BIT1:
        return test_bit(m, in);
    case TW_SOP_BFX:
    case TW_SOP_BFI:
        return field(m, in, m->covers == 1 ? tw_get_le16(code + 2) : 0);
    case TW_SOP_PSHT:
        return push_flag(m);
    case TW_SOP_DUP:
        return duplicate(m);
    case TW_SOP_CONV:
    case TW_SOP_CAST:
        return retype(m, in);
    case TW_SOP_NEG:
    case TW_SOP_NOT:
    case TW_SOP_ABS:
    case TW_SOP_NORM:
    case TW_SOP_SQRT:
        return unary(m, in);
    case TW_SOP_NEGT:
        emit(m, (tw_uop_t){.op = TW_U_NEGT});
        return true;
    case TW_SOP_ANDT:
    case TW_SOP_ORT:
        return combine_flag(m, in);
    case TW_SOP_ADDM:
    case TW_SOP_SUBM:
        return is_ptr(in->x) ? move_pointer(m, in->key, in->x, in->y) : blend(m, in);
    case TW_SOP_LERP:
        return blend(m, in);
    case TW_SOP_EQU:
    case TW_SOP_NEQ:
    case TW_SOP_LTS:
    case TW_SOP_LTE:
    case TW_SOP_GTS:
    case TW_SOP_GTE:
        return compare(m, in);
    case TW_SOP_TST:
        return test_bits(m, in);
    case TW_SOP_INR:
        return in_range(m, in);
    default:
        return (in->effect == TW_SX_BINARY) && in->form == TW_SF_XY && binary(m, in);
    }
}

/* ---- the whole ---- */

static void decode(const maker_t *m, uint32_t at, tw_sinsn_t *in)
{
    tw_sop_decode(tw_get_le16(m->f->s->code + 2 * at), in);
}

static tw_sv_t literal_at(const maker_t *m, uint32_t at, const tw_sinsn_t *in)
{
    const uint8_t *const code = m->f->s->code + 2 * at + 2;
    uint64_t bits = 0;
    for (unsigned i = 0; i < in->halfwords - 1u; i++) {
        bits |= (uint64_t)tw_get_le16(code + 2 * i) << (16 * i);
    }
    return tw_sv_from_bits(in->y, bits);
}

/* Instructions that pop what was pushed, and are worth more with a constant. */
static bool takes_constant(const tw_sinsn_t *in)
{
    const bool x = in->x == TW_RC_S0;
    const bool y = in->y == TW_RC_S0;
    switch (in->key) {
    case TW_SOP_COPY:
    case TW_SOP_COPYT:
        return y;
    case TW_SOP_ADDM:
    case TW_SOP_SUBM:
        return is_ptr(in->x) ? y : !x && !y;
    case TW_SOP_PBASE:
    case TW_SOP_PADD:
    case TW_SOP_PMOD:
        return x;
    default:
        return in->form == TW_SF_XY && (in->effect == TW_SX_BINARY || in->effect == TW_SX_CMP) && (x || y);
    }
}

/* A constant pushed and taken by the next instruction never gets onto the stack. @return true: both are done */
static bool pair(maker_t *m, const tw_sinsn_t *in)
{
    tw_sinsn_t next;
    const uint32_t then = m->at + in->halfwords;
    const bool pushes = in->key == TW_SOP_PSHA || (in->key == TW_SOP_MOVI && in->x == TW_RC_S0);
    if (!pushes || then >= m->f->n || tw_flows_is_target(m->f, then)) {
        return false;
    }
    decode(m, then, &next);
    if (!takes_constant(&next)) {
        return false;
    }
    m->konst = in->key == TW_SOP_PSHA ? (tw_sv_t){.v.u = in->word & 127u, .t = TW_T_PTR} : literal_at(m, m->at, in);
    m->covers = 2;
    const bool done = translate(m, &next);
    m->covers = done ? 2 : 1;
    return done;
}

/* Over the instruction at m->at. @return false: the next one is not reached */
static bool go_over(maker_t *m)
{
    tw_sinsn_t in;
    decode(m, m->at, &in);
    if (in.key == TW_SOP_CALL) {
        return tw_flow_call(m->f, &m->st, &in);
    }
    return tw_flow_step(m->f, &m->st, &in);
}

/* One instruction or a pair. @return false: the next one is not reached */
static bool instruction(maker_t *m)
{
    tw_sinsn_t in;
    decode(m, m->at, &in);
    m->covers = 1;
    bool done = pair(m, &in);
    if (!done) {
        done = in.key == TW_SOP_MOVI ? literal(m, &in, literal_at(m, m->at, &in)) : translate(m, &in);
    }
    if (!done) {
        emit(m, (tw_uop_t){.op = TW_U_EXIT});
        close_block(m);
    } else {
        m->count = (uint16_t)(m->count + m->covers);
    }
    bool reached = true;
    for (unsigned n = m->covers; n != 0; n--) {
        decode(m, m->at, &in);
        reached = go_over(m);
        m->at += in.halfwords;
    }
    if (m->open && (!reached || in.key == TW_SOP_CALL)) {
        close_block(m);
    }
    return reached;
}

static void make(maker_t *m)
{
    tw_sinsn_t in;
    bool reached = false;
    while (m->at < m->f->n) {
        if (tw_flows_is_target(m->f, m->at)) {
            if (m->open) {
                close_block(m);
            }
            reached = tw_flows_at(m->f, m->at, &m->st);
        }
        if (!reached) {
            decode(m, m->at, &in);
            m->at += in.halfwords;
            continue;
        }
        if (!m->open) {
            open_block(m);
        }
        reached = instruction(m);
    }
}

typedef struct layout {
    uint32_t uops, info, heads, map, bytes; /* offsets */
} layout_t;

static layout_t layout_of(const maker_t *m)
{
    layout_t l;
    l.uops = tw_round_up(sizeof(tw_fast_t), 16);
    l.info = l.uops + m->n_uops * (uint32_t)sizeof(tw_uop_t);
    l.heads = tw_round_up(l.info + m->n_uops * (uint32_t)sizeof(tw_uop_info_t), 8);
    l.map = l.heads + m->n_heads * (uint32_t)sizeof(tw_fast_head_t);
    l.bytes = l.map + m->f->n * 2;
    return l;
}

uint32_t tw_script_fast_bytes(const tw_script_t *s)
{
    tw_flows_t f;
    maker_t m = {.f = &f};
    if (!tw_flows_find(&f, s)) {
        return 0;
    }
    make(&m);
    return m.n_uops <= UINT16_MAX ? layout_of(&m).bytes : 0;
}

const void *tw_script_translate(const tw_script_t *s, void *mem, uint32_t bytes)
{
    tw_flows_t f;
    maker_t m = {.f = &f};
    if (mem == NULL || !tw_flows_find(&f, s)) {
        return NULL;
    }
    make(&m);
    const layout_t l = layout_of(&m);
    if (m.n_uops > UINT16_MAX || l.bytes > bytes) {
        return NULL;
    }
    uint8_t *const to = mem;
    m = (maker_t){.f = &f,
                  .uops = (tw_uop_t *)(void *)(to + l.uops),
                  .info = (tw_uop_info_t *)(void *)(to + l.info),
                  .heads = (tw_fast_head_t *)(void *)(to + l.heads),
                  .map = (uint16_t *)(void *)(to + l.map)};
    memset(m.map, 0xFF, 2 * f.n);
    make(&m);
    flush(&m);
    resolve_jumps(&m);
    join_pairs(&m);
    tw_fast_t *const fast = mem;
    *fast = (tw_fast_t){m.uops, m.info, m.heads, m.map, s->code_bytes};
    return fast;
}
