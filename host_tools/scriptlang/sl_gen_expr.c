/* sl_gen_expr.c - expressions to instructions: values in r1, comparisons in T. */
#include "host_tools/scriptlang/sl_gen_priv.h"
#include <math.h>

/* ---- where things are --------------------------------------------------------------------------- */

unsigned sl_local_register(const gen_t *g, const symbol_t *s)
{
    if (s->kind != SYM_LET) {
        return 0;
    }
    const uint32_t i = (s->function == g->function ? g->base : s->function->base) + s->at;
    return i < g->local_regs ? FIRST_LOCAL + i : 0;
}

uint32_t sl_address(gen_t *g, const symbol_t *s)
{
    if (s->kind == SYM_VAR) {
        return s->at;
    }
    const uint32_t base = s->function == g->function ? g->base : s->function->base;
    return g->frame_at + 4 * (base + s->at - g->local_regs);
}

void sl_point(gen_t *g, unsigned p, uint32_t byte, unsigned type, unsigned spare)
{
    const bool own = p == P0 + g->mem_ptr;
    place_t *at = own ? &g->mem : &g->arg;
    const int32_t elem = (int32_t)(byte / sl_stype_bytes(type));
    place_t fresh;
    if (!own && p != P0) { /* p1 is not followed: few use it */
        fresh = g->mem;
        at = &fresh;
        sl_xy(g, K_COPY, p, P0 + g->mem_ptr);
    } else if (!own && !at->memory) {
        sl_xy(g, K_COPY, p, P0 + g->mem_ptr);
        *at = g->mem;
    }
    at->memory = true;
    if (at->type != (int32_t)type) {
        sl_xy(g, K_PTYPE, p, type);
        at->type = (int32_t)type;
    }
    if (at->elem != elem && elem == 0) {
        sl_xy(g, K_PBASE, p, ZERO);
    } else if (at->elem != elem) {
        sl_small(g, spare, elem);
        sl_xy(g, K_PBASE, p, spare);
    }
    at->elem = elem;
}

static unsigned own_type(type_t type)
{
    return type == TYPE_FLOAT ? TW_T_FP32 : TW_T_I32;
}

static void load_symbol(gen_t *g, const symbol_t *s, unsigned r)
{
    const unsigned local = sl_local_register(g, s);
    if (local != 0) {
        sl_xy(g, K_COPYT, r, local);
        return;
    }
    sl_point(g, P0 + g->mem_ptr, sl_address(g, s), own_type((type_t)s->type), r);
    sl_xy(g, K_LOAD, r, P0 + g->mem_ptr);
}

/* r1 to a scalar. */
void sl_store(gen_t *g, const symbol_t *s)
{
    const unsigned local = sl_local_register(g, s);
    if (local != 0) {
        sl_xy(g, K_COPYT, local, R1);
        return;
    }
    sl_point(g, P0 + g->mem_ptr, sl_address(g, s), own_type((type_t)s->type), R2);
    sl_xy(g, K_STORE, P0 + g->mem_ptr, R1);
}

/* ---- simple operands ------------------------------------------------------------------------------ */

bool sl_is_simple(const node_t *e)
{
    return e->kind == N_NUMBER || e->kind == N_SYMBOL;
}

static void load_simple(gen_t *g, const node_t *e, unsigned r)
{
    if (e->kind == N_NUMBER) {
        sl_load_number(g, r, e->value, (type_t)e->type);
    } else {
        load_symbol(g, e->sym, r);
    }
}

/* The type of a right operand does not matter: the machine converts it. */
unsigned sl_operand(gen_t *g, const node_t *e, unsigned spare)
{
    if (e->kind == N_SYMBOL) {
        const unsigned local = sl_local_register(g, e->sym);
        if (local != 0) {
            return local;
        }
        load_symbol(g, e->sym, spare);
        return spare;
    }
    if (e->value == 0 && !signbit(e->value)) {
        return ZERO;
    }
    if (e->value == floor(e->value) && fabs(e->value) <= 32767) {
        sl_small(g, spare, (int32_t)e->value);
    } else {
        sl_load_number(g, spare, e->value, (type_t)e->type);
    }
    return spare;
}

void sl_value_in(gen_t *g, const node_t *e, unsigned r)
{
    if (sl_is_simple(e)) {
        load_simple(g, e, r);
        return;
    }
    sl_value(g, e);
    if (r != R1) {
        sl_xy(g, K_COPYT, r, R1);
    }
}

/* ---- arithmetic --------------------------------------------------------------------------------------- */

/* X op= Y, and with the operands the other way round; 0: there is none. */
static const struct {
    uint8_t forward, backward;
} alu[] = {
    [OP_ADD] = {K_ADD, K_ADD}, [OP_SUB] = {K_SUB, K_RSB}, [OP_MUL] = {K_MUL, K_MUL}, [OP_DIV] = {K_DIV, K_RDIV},
    [OP_MOD] = {K_MOD, 0},     [OP_AND] = {K_AND, K_AND}, [OP_OR] = {K_OR, K_OR},    [OP_XOR] = {K_XOR, K_XOR},
    [OP_SHL] = {K_ASHFT, 0},   [OP_SHR] = {K_ASHFT, 0},   [OP_MIN] = {K_MIN, K_MIN}, [OP_MAX] = {K_MAX, K_MAX},
};

static bool small_int(const node_t *e, int low, int high)
{
    return e->kind == N_NUMBER && e->value == floor(e->value) && e->value >= low && e->value <= high;
}

static bool shift_by_constant(gen_t *g, const node_t *n)
{
    if (n->b->kind != N_NUMBER || n->b->value < 0 || n->b->value > 31) {
        return false;
    }
    const unsigned k = (unsigned)n->b->value;
    sl_value(g, n->a);
    const unsigned key = n->op == OP_SHL ? K_SHL : K_ASR;
    sl_put(g, (key & 0xF0u) << 8 | (unsigned)R1 << 8 | (key & 3u) << 6 | k);
    return true;
}

/* r1 op= Y */
static void apply(gen_t *g, op_t op, unsigned y)
{
    if (op == OP_SHR) {
        sl_xy(g, K_COPYT, R2, ZERO);
        sl_xy(g, K_SUB, R2, y);
        y = R2;
    }
    sl_xy(g, alu[op].forward, R1, y);
}

static void simple_right(gen_t *g, const node_t *n)
{
    const op_t op = (op_t)n->op;
    sl_value(g, n->a);
    if (op == OP_ADD && small_int(n->b, -128, 127)) {
        sl_rs8(g, K_ADDK, R1, (int)n->b->value);
        return;
    }
    if (op == OP_SUB && small_int(n->b, -127, 128)) {
        sl_rs8(g, K_ADDK, R1, -(int)n->b->value);
        return;
    }
    unsigned y = sl_operand(g, n->b, op == OP_SHR ? R0 : R2);
    apply(g, op, y);
}

static void arithmetic(gen_t *g, const node_t *n)
{
    const op_t op = (op_t)n->op;
    if ((op == OP_SHL || op == OP_SHR) && shift_by_constant(g, n)) {
        return;
    }
    if (sl_is_simple(n->b)) {
        simple_right(g, n);
        return;
    }
    if (sl_is_simple(n->a) && alu[op].backward != 0 && n->b->type == n->type) {
        sl_value(g, n->b);
        sl_xy(g, alu[op].backward, R1, sl_operand(g, n->a, R2));
        return;
    }
    sl_value(g, n->a);
    sl_push(g, R1);
    sl_value(g, n->b);
    if (n->type == TYPE_FLOAT && n->b->type == TYPE_INT) {
        sl_xy(g, K_CONV, R1, TW_T_FP32);
    }
    if (alu[op].backward != 0) {
        sl_xy(g, alu[op].backward, R1, S0);
        sl_pushed(g, -1);
        return;
    }
    sl_xy(g, K_COPYT, R0, R1);
    sl_pop(g, R1);
    apply(g, op, R0);
}

/* r1 = the nearest whole number */
static void rounded(gen_t *g)
{
    const float half = 0.5F, minus = -0.5F;
    uint32_t bits;
    memcpy(&bits, &half, sizeof bits);
    sl_movi(g, TW_T_FP32, R2, bits);
    memcpy(&bits, &minus, sizeof bits);
    sl_movi(g, TW_T_FP32, R0, bits);
    sl_rs8(g, K_LTK, R1, 0);
    sl_xy(g, K_CCOPY, R2, R0);
    sl_xy(g, K_ADD, R1, R2);
    sl_xy(g, K_CONV, R1, TW_T_I32);
}

static void unary(gen_t *g, const node_t *n)
{
    sl_value(g, n->a);
    switch ((op_t)n->op) {
    case OP_NEG:
        sl_xy(g, K_NEG, R1, R1);
        break;
    case OP_INV:
        sl_xy(g, K_NOT, R1, R1);
        break;
    case OP_ABS:
        sl_xy(g, K_ABS, R1, R1);
        break;
    case OP_SQRT:
        sl_xy(g, K_SQRT, R1, R1);
        break;
    case OP_TO_FLOAT:
    case OP_TO_INT:
        if (n->a->type != n->type) {
            sl_xy(g, K_CONV, R1, own_type((type_t)n->type));
        }
        break;
    case OP_ROUND:
        if (n->a->type == TYPE_FLOAT) {
            rounded(g);
        }
        break;
    default:
        break;
    }
}

static void lerp(gen_t *g, const node_t *n)
{
    sl_value(g, n->c);
    sl_push(g, R1);
    if (sl_is_simple(n->b)) {
        sl_value(g, n->a);
        sl_xy(g, K_LERP, R1, sl_operand(g, n->b, R2));
    } else {
        sl_value(g, n->a);
        sl_push(g, R1);
        sl_value(g, n->b);
        sl_xy(g, K_COPYT, R2, R1);
        sl_pop(g, R1);
        sl_xy(g, K_LERP, R1, R2);
    }
    sl_pushed(g, -1);
}

/* ---- conditions ---------------------------------------------------------------------------------------------- */

static op_t inverse(op_t op)
{
    static const uint8_t of[] = {OP_NE, OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT};
    return (op_t)of[op - OP_EQ];
}

static op_t mirrored(op_t op)
{
    static const uint8_t of[] = {OP_EQ, OP_NE, OP_GT, OP_GE, OP_LT, OP_LE};
    return (op_t)of[op - OP_EQ];
}

static unsigned left_operand(gen_t *g, const node_t *e)
{
    const unsigned local = e->kind == N_SYMBOL ? sl_local_register(g, e->sym) : 0;
    if (local != 0) {
        return local;
    }
    sl_value(g, e);
    return R1;
}

/* With a small constant: one word. @return false: not of this kind */
static bool compare_constant(gen_t *g, op_t op, const node_t *a, const node_t *b)
{
    if (!small_int(b, -127, 126)) {
        return false;
    }
    const bool whole = a->type == TYPE_INT;
    if (!whole && (op == OP_GE || op == OP_LE)) {
        return false;
    }
    const unsigned x = left_operand(g, a);
    const int k = (int)b->value;
    switch (op) {
    case OP_EQ:
        sl_rs8(g, K_EQK, x, k);
        break;
    case OP_NE:
        sl_rs8(g, K_EQK, x, k);
        sl_put(g, (unsigned)K_NEGT << 8);
        break;
    case OP_GT:
    case OP_GE:
        sl_rs8(g, K_GTK, x, op == OP_GE ? k - 1 : k);
        break;
    default:
        sl_rs8(g, K_LTK, x, op == OP_LE ? k + 1 : k);
        break;
    }
    return true;
}

static void compare(gen_t *g, op_t op, const node_t *a, const node_t *b)
{
    static const uint8_t keys[] = {K_EQU, K_NEQ, K_LTS, K_LTE, K_GTS, K_GTE};
    if (compare_constant(g, op, a, b)) {
        return;
    }
    if (sl_is_simple(b)) {
        const unsigned x = left_operand(g, a);
        sl_xy(g, keys[op - OP_EQ], x, sl_operand(g, b, R2));
        return;
    }
    if (sl_is_simple(a)) {
        compare(g, mirrored(op), b, a);
        return;
    }
    sl_value(g, a);
    sl_push(g, R1);
    sl_value(g, b);
    sl_xy(g, keys[mirrored(op) - OP_EQ], R1, S0);
    sl_pushed(g, -1);
}

void sl_test(gen_t *g, const node_t *e, bool want)
{
    while (e->kind == N_UNARY && e->op == OP_NOT) {
        e = e->a;
        want = !want;
    }
    if (e->kind == N_BINARY && e->op >= OP_EQ && e->op <= OP_GE) {
        op_t op = (op_t)e->op;
        const bool whole = e->a->type == TYPE_INT && e->b->type == TYPE_INT;
        if (!want && (whole || op == OP_EQ || op == OP_NE)) { /* of floats, NaN is neither less nor not less */
            op = inverse(op);
            want = true;
        }
        compare(g, op, e->a, e->b);
        if (!want) {
            sl_put(g, (unsigned)K_NEGT << 8);
        }
        return;
    }
    const unsigned x = left_operand(g, e);
    if (want) {
        sl_xy(g, K_TST, x, x);
    } else {
        sl_rs8(g, K_EQK, x, 0);
    }
}

void sl_jump_if(gen_t *g, const node_t *e, uint32_t label, bool sense)
{
    if (e->kind == N_NUMBER) {
        if ((e->value != 0) == sense) {
            sl_jump(g, I_JUMP, label);
        }
        return;
    }
    if (e->kind == N_UNARY && e->op == OP_NOT) {
        sl_jump_if(g, e->a, label, !sense);
        return;
    }
    if (e->kind == N_BINARY && (e->op == OP_BOTH || e->op == OP_EITHER)) {
        if ((e->op == OP_EITHER) == sense) { /* either part decides */
            sl_jump_if(g, e->a, label, sense);
            sl_jump_if(g, e->b, label, sense);
            return;
        }
        const uint32_t past = sl_label(g);
        sl_jump_if(g, e->a, past, !sense);
        sl_jump_if(g, e->b, label, sense);
        sl_place(g, past, false);
        return;
    }
    sl_test(g, e, sense);
    sl_jump(g, I_CJUMP, label);
}

/* 0 or 1 in r1 */
static void truth(gen_t *g, const node_t *e)
{
    if (e->kind == N_BINARY && (e->op == OP_BOTH || e->op == OP_EITHER)) {
        const uint32_t no = sl_label(g), end = sl_label(g);
        sl_jump_if(g, e, no, false);
        sl_load_number(g, R1, 1, TYPE_INT);
        sl_jump(g, I_JUMP, end);
        sl_place(g, no, false);
        sl_load_number(g, R1, 0, TYPE_INT);
        sl_place(g, end, false);
        return;
    }
    sl_test(g, e, true);
    sl_put(g, (unsigned)K_PSHT << 8);
    sl_pushed(g, 1);
    sl_pop(g, R1);
    sl_xy(g, K_CONV, R1, TW_T_I32);
}

/* ---- elements of arrays ----------------------------------------------------------------------------------------- */

/* r = the index, within the array, plus where it begins; `spare` is another register. */
static void bounded_index(gen_t *g, const node_t *n, unsigned r, unsigned spare)
{
    const int32_t base = n->sym->kind == SYM_VAR ? (int32_t)(n->sym->at / sl_stype_bytes(n->sym->element)) : 0;
    if (n->flag) {
        sl_xy(g, K_MAX, r, ZERO);
        sl_small(g, spare, (int32_t)n->sym->length - 1);
        sl_xy(g, K_MIN, r, spare);
    }
    if (base > 127) {
        sl_small(g, spare, base);
        sl_xy(g, K_ADD, r, spare);
    } else if (base != 0) {
        sl_rs8(g, K_ADDK, r, base);
    }
}

static void point_at_index(gen_t *g, const symbol_t *s, unsigned r)
{
    const unsigned m = P0 + g->mem_ptr;
    if (g->mem.type != s->element) {
        sl_xy(g, K_PTYPE, m, s->element);
    }
    sl_xy(g, K_PBASE, m, r);
    g->mem = (place_t){true, -1, s->element};
}

static void widen_element(gen_t *g, const symbol_t *s)
{
    if (s->element != TW_T_I32 && s->element != TW_T_FP32) {
        sl_xy(g, K_CONV, R1, TW_T_I32);
    }
}

static unsigned pool_of_table(gen_t *g, const symbol_t *s)
{
    uint8_t bytes[TW_SL_CODE_MAX / 2];
    const uint32_t size = sl_stype_bytes(s->element);
    uint32_t n = 0;
    for (const node_t *e = s->values; e != NULL && n + size <= sizeof bytes; e = e->next, n += size) {
        const float f = (float)e->value;
        uint32_t bits = (uint32_t)(int32_t)(s->element == TW_T_FP32 ? 0 : e->value);
        if (s->element == TW_T_FP32) {
            memcpy(&bits, &f, sizeof bits);
        }
        for (uint32_t i = 0; i < size; i++) {
            bytes[n + i] = (uint8_t)(bits >> (8 * i));
        }
    }
    return sl_pool(g, bytes, n, s->element);
}

/* Pointer p to constants. */
static void point_at_pool(gen_t *g, unsigned p, unsigned label)
{
    sl_put(g, (unsigned)K_PSHA << 8 | label);
    sl_pushed(g, 1);
    sl_xy(g, K_COPY, p, S0);
    sl_pushed(g, -1);
    if (p == P0) {
        g->arg = (place_t){false, -1, -1};
    }
}

static void load_index(gen_t *g, const node_t *n)
{
    const symbol_t *s = n->sym;
    const unsigned m = P0 + g->mem_ptr;
    if (s->kind == SYM_TABLE) {
        sl_value(g, n->a);
        bounded_index(g, n, R1, R2);
        point_at_pool(g, P0, pool_of_table(g, s));
        sl_xy(g, K_PBASE, P0, R1);
        sl_xy(g, K_LOAD, R1, P0);
    } else if (n->a->kind == N_NUMBER) {
        sl_point(g, m, s->at + (uint32_t)n->a->value * sl_stype_bytes(s->element), s->element, R1);
        sl_xy(g, K_LOAD, R1, m);
    } else {
        sl_value(g, n->a);
        bounded_index(g, n, R1, R2);
        point_at_index(g, s, R1);
        sl_xy(g, K_LOAD, R1, m);
    }
    widen_element(g, s);
}

void sl_store_index(gen_t *g, const node_t *target, const node_t *value)
{
    const symbol_t *s = target->sym;
    const node_t *i = target->a;
    const unsigned m = P0 + g->mem_ptr;
    sl_value(g, value);
    if (i->kind == N_NUMBER) {
        sl_point(g, m, s->at + (uint32_t)i->value * sl_stype_bytes(s->element), s->element, R2);
        sl_xy(g, K_STORE, m, R1);
    } else if (sl_is_simple(i)) {
        load_simple(g, i, R2);
        bounded_index(g, target, R2, R0);
        point_at_index(g, s, R2);
        sl_xy(g, K_STORE, m, R1);
    } else {
        sl_push(g, R1);
        sl_value(g, i);
        bounded_index(g, target, R1, R2);
        point_at_index(g, s, R1);
        sl_xy(g, K_STORE, m, S0);
        sl_pushed(g, -1);
    }
}

/* ---- parameters
 * ------------------------------------------------------------------------------------------------------ */

static void push_number(gen_t *g, uint32_t v)
{
    sl_small(g, S0, (int32_t)v);
    sl_pushed(g, 1);
}

static void parameter_call(gen_t *g, unsigned k, const node_t *n, uint32_t bytes)
{
    sl_small(g, R0, n->tag);
    sl_small(g, R2, (int32_t)bytes);
    push_number(g, n->index);
    sl_callsys(g, k);
    sl_pushed(g, -1);
}

/* A read that fails gives 0. */
static void load_parameter(gen_t *g, const node_t *n)
{
    const unsigned stype = (unsigned)sl_stype_of_raw(n->param->raw);
    g->uses_scratch = true;
    sl_point(g, P0, g->scratch_at, stype, R2);
    sl_xy(g, K_STORE, P0, ZERO);
    parameter_call(g, SYS_READPARAM, n, sl_stype_bytes(stype));
    sl_xy(g, K_LOAD, R1, P0);
    if (stype != own_type((type_t)n->type)) {
        sl_xy(g, K_CONV, R1, own_type((type_t)n->type));
    }
}

static uint64_t bits_of(double v, unsigned stype)
{
    const float f = (float)v;
    uint32_t bits32;
    uint64_t bits64;
    switch (stype) {
    case TW_T_FP32:
        memcpy(&bits32, &f, sizeof bits32);
        return bits32;
    case TW_T_FP64:
        memcpy(&bits64, &v, sizeof bits64);
        return bits64;
    default:
        return (uint64_t)(int64_t)v;
    }
}

void sl_set_parameter(gen_t *g, const node_t *target, const node_t *value)
{
    const unsigned stype = (unsigned)sl_stype_of_raw(target->param->raw);
    const uint32_t bytes = sl_stype_bytes(stype) * target->param->count;
    uint8_t constant[8];
    if (target->buffer != NULL && target->buffer->kind == SYM_TABLE) {
        point_at_pool(g, P0, pool_of_table(g, target->buffer));
    } else if (target->buffer != NULL) {
        sl_point(g, P0, target->buffer->at, stype, R2);
    } else if (value->kind == N_NUMBER && stype != TW_T_FP16) {
        tw_put_le64(constant, bits_of(value->value, stype));
        point_at_pool(g, P0, sl_pool(g, constant, bytes, stype));
    } else {
        sl_value(g, value);
        g->uses_scratch = true;
        sl_point(g, P0, g->scratch_at, stype, R2);
        sl_xy(g, K_STORE, P0, R1);
    }
    parameter_call(g, SYS_SETPARAM, target, bytes);
}

/* ---- calls
 * ---------------------------------------------------------------------------------------------------------------- */

static void point_at_buffer(gen_t *g, unsigned p, const node_t *e)
{
    if (e->kind == N_TEXT) {
        point_at_pool(g, p, sl_pool(g, (const uint8_t *)e->text, e->n, TW_T_U8));
    } else if (e->sym->kind == SYM_TABLE) {
        point_at_pool(g, p, pool_of_table(g, e->sym));
    } else {
        sl_point(g, p, e->sym->at, e->sym->element, R2);
        if (p == P1) { /* results never go beyond the array */
            sl_small(g, R2, (int32_t)(e->sym->at / sl_stype_bytes(e->sym->element) + e->sym->length));
            sl_xy(g, K_PSIZE, p, R2);
        }
    }
}

static uint32_t buffer_bytes(const node_t *e)
{
    return e->kind == N_TEXT ? e->n : e->sym->length * sl_stype_bytes(e->sym->element);
}

/* Complex arguments one after the other, the last in r1, those before it on the stack. @return register it belongs in
 */
static unsigned complex_arguments(gen_t *g, const node_t *const args[3])
{
    unsigned last = 3;
    for (unsigned i = 0; i < 3; i++) {
        if (args[i] == NULL || sl_is_simple(args[i])) {
            continue;
        }
        if (last != 3) {
            sl_push(g, R1);
        }
        sl_value(g, args[i]);
        last = i;
    }
    return last;
}

static void place_arguments(gen_t *g, const node_t *const args[3], unsigned last)
{
    if (last != 3 && last != R1) {
        sl_xy(g, K_COPYT, last, R1);
    }
    for (unsigned i = last == 3 ? 0 : last; i-- > 0;) {
        if (args[i] != NULL && !sl_is_simple(args[i])) {
            sl_pop(g, i);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        if (args[i] == NULL || !sl_is_simple(args[i])) {
            continue;
        }
        if (args[i]->kind == N_NUMBER && args[i]->type == TYPE_INT) {
            sl_small(g, i, (int32_t)args[i]->value);
        } else {
            load_simple(g, args[i], i);
        }
    }
}

void sl_system_call(gen_t *g, const node_t *n, bool used)
{
    const node_t *const args[3] = {n->a, n->b, n->c};
    const unsigned last = complex_arguments(g, args);
    if (n->d != NULL) {
        point_at_buffer(g, P0, n->d);
    }
    if (n->list != NULL) {
        point_at_buffer(g, P1, n->list);
    }
    place_arguments(g, args, last);
    if (n->d != NULL && n->c == NULL) {
        sl_small(g, R2, (int32_t)buffer_bytes(n->d));
    }
    if (n->k == SYS_EVENT && n->d == NULL) {
        sl_xy(g, K_COPYT, R2, ZERO); /* nothing in it */
    }
    if (n->k == SYS_EVENT && n->b == NULL) {
        sl_xy(g, K_COPYT, R1, ZERO);
    }
    if (n->tag != 0) {
        push_number(g, n->index);
        sl_pushed(g, -1);
    }
    sl_callsys(g, n->k);
    if (n->k == SYS_NPU && n->list != NULL) { /* no result: 0 bytes of it */
        sl_put(g, (unsigned)K_NEGT << 8);
        sl_xy(g, K_CCOPY, R1, ZERO);
    }
    if (n->flag) { /* microseconds */
        sl_small(g, R2, 1000);
        sl_xy(g, K_DIV, R1, R2);
    }
    if (used && n->type == TYPE_INT) {
        sl_xy(g, K_CONV, R1, TW_T_I32);
    }
}

void sl_call_function(gen_t *g, const node_t *n)
{
    const symbol_t *f = n->sym;
    const node_t *params[ARGS_MAX * 8];
    unsigned count = 0;
    for (const node_t *p = f->params; p != NULL && count < TW_COUNT(params); p = p->next) {
        params[count++] = p;
    }
    for (const node_t *e = n->list; e != NULL; e = e->next) {
        sl_value(g, e);
        if (e->next != NULL) {
            sl_push(g, R1);
        }
    }
    for (unsigned i = count; i-- > 0;) {
        if (i + 1 < count) {
            sl_pop(g, R1);
        }
        sl_store(g, params[i]->sym);
    }
    sl_jump(g, I_CALL, f->label);
    g->most_depth = tw_max_u32(g->most_depth, g->depth + f->stack);
    g->cost += f->cost;
    g->bounded &= f->bounded;
    g->arg = (place_t){false, -1, -1};
    g->mem = (place_t){true, -1, -1};
}

void sl_value(gen_t *g, const node_t *e)
{
    switch ((node_kind_t)e->kind) {
    case N_NUMBER:
    case N_SYMBOL:
        load_simple(g, e, R1);
        break;
    case N_INDEX:
        load_index(g, e);
        break;
    case N_PARAM:
        load_parameter(g, e);
        break;
    case N_UNARY:
        if (e->op == OP_NOT) {
            truth(g, e);
        } else {
            unary(g, e);
        }
        break;
    case N_BINARY:
        if ((e->op >= OP_EQ && e->op <= OP_GE) || e->op == OP_BOTH || e->op == OP_EITHER) {
            truth(g, e);
        } else {
            arithmetic(g, e);
        }
        break;
    case N_LERP:
        lerp(g, e);
        break;
    case N_CALL:
        sl_call_function(g, e);
        break;
    case N_SYS:
        sl_system_call(g, e, true);
        break;
    default:
        break;
    }
}
