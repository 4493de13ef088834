/* sl_builtin.c - functions of the language: opcodes, system calls and what `compute` offers. */
#include "host_tools/scriptlang/sl_check_priv.h"
#include <math.h>
#include <stdio.h>

enum {
#define TW_SYSCALL(k, NAME, ...) SYS_##NAME = (k),
#include "engine/script/script_syscalls.def"
};
enum {
#define TW_COMPUTE(id, NAME, name, FORM, meaning) COMPUTE_##NAME = (id),
#include "engine/script/script_compute.def"
};
enum { UNIT_DB = 45, UNIT_MS = 68 };

typedef struct builtin {
    const char *name;
    uint8_t least, most; /* arguments */
    bool (*make)(compiler_t *c, node_t **n, const struct builtin *b);
    uint8_t k, sub;
} builtin_t;

/* ---- parts ------------------------------------------------------------------------------------- */

static node_t *number(compiler_t *c, pos_t pos, double value)
{
    node_t *n = sl_node(c, N_NUMBER, pos);
    if (n != NULL) {
        n->value = value;
        n->type = TYPE_INT;
        n->depth = 1;
    }
    return n;
}

/* The call becomes a system call; arguments are where the caller puts them. */
static bool become_sys(compiler_t *c, node_t *n, const builtin_t *b, type_t type)
{
    n->kind = N_SYS;
    n->k = b->k;
    n->type = (uint8_t)type;
    n->list = NULL;
    return (n->a = number(c, n->pos, b->sub)) != NULL;
}

static node_t *argument(const node_t *n, unsigned i)
{
    node_t *e = n->list;
    for (; e != NULL && i > 0; i--) {
        e = e->next;
    }
    return e;
}

static bool is_array(compiler_t *c, const node_t *e)
{
    const symbol_t *s = e != NULL && e->kind == N_NAME ? sl_lookup(c, e->text, e->n) : NULL;
    return s != NULL && s->array;
}

static bool float_argument(compiler_t *c, node_t **e, const char *what)
{
    (*e)->next = NULL;
    return sl_check_expression(c, e) && sl_need_type(c, e, TYPE_FLOAT, what);
}

/* ---- opcodes --------------------------------------------------------------------------------------- */

static bool make_one(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at;
    n->kind = N_UNARY;
    n->op = b->sub;
    n->a = n->list;
    n->list = NULL;
    return sl_check_expression(c, at);
}

static node_t *pair(compiler_t *c, op_t op, node_t *a, node_t *b, pos_t pos)
{
    node_t *n = sl_node(c, N_BINARY, pos);
    if (n != NULL) {
        n->op = (uint8_t)op;
        n->a = a;
        n->b = b;
        a->next = b->next = NULL;
    }
    return n != NULL && sl_join(c, n) ? n : NULL;
}

static bool window(compiler_t *c, node_t **at, const builtin_t *b);

static bool make_least(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *x = argument(n, 0), *y = argument(n, 1);
    if (y == NULL) {
        if (!is_array(c, x)) {
            sl_error(c, n->pos, "'%s' takes two values, or an array", b->name);
            return false;
        }
        const builtin_t whole = {b->name, 1, 1, NULL, SYS_COMPUTE, b->sub == OP_MIN ? COMPUTE_MIN : COMPUTE_MAX};
        return window(c, at, &whole);
    }
    *at = pair(c, (op_t)b->sub, x, y, n->pos);
    return *at != NULL && sl_check_expression(c, at);
}

/* clamp(x, low, high) */
static bool make_clamp(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *x = argument(n, 0), *low = argument(n, 1), *high = argument(n, 2);
    (void)b;
    node_t *lower = pair(c, OP_MAX, x, low, n->pos);
    *at = lower != NULL ? pair(c, OP_MIN, lower, high, n->pos) : NULL;
    if (*at == NULL) {
        *at = n;
        return false;
    }
    return sl_check_expression(c, at);
}

static bool make_lerp(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at;
    (void)b;
    n->kind = N_LERP;
    n->a = argument(n, 0);
    n->b = argument(n, 1);
    n->c = argument(n, 2);
    n->a->next = n->b->next = NULL;
    n->list = NULL;
    return sl_check_expression(c, at);
}

/* ---- arcs -------------------------------------------------------------------------------------------- */

static int64_t arc_of(compiler_t *c, node_t *e)
{
    char digits[16];
    if (e->kind == N_NUMBER) {
        const int n = snprintf(digits, sizeof digits, "%.0f", e->value);
        return sl_object(c, TW_SL_ARC, digits, (uint32_t)n, e->pos);
    }
    if (e->kind != N_ARC && e->kind != N_NAME && e->kind != N_TEXT) {
        sl_error(c, e->pos, "expected an arc: its name or number");
        return -1;
    }
    return sl_object(c, TW_SL_ARC, e->text, e->n, e->pos);
}

static bool make_level(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *e = argument(n, 0);
    if (is_array(c, e) && (b->sub == 1 || b->sub == 2)) { /* rms, mean */
        const builtin_t whole = {b->name, 1, 1, NULL, SYS_COMPUTE, b->sub == 1 ? COMPUTE_RMS : COMPUTE_MEAN};
        return window(c, at, &whole);
    }
    const int64_t arc = arc_of(c, e);
    if (arc < 0 || !become_sys(c, n, b, TYPE_FLOAT) || (n->b = number(c, e->pos, (double)arc)) == NULL) {
        return false;
    }
    n->unit = UNIT_LEVEL;
    return true;
}

/* fill(arc), stamp(arc); fill(array, value) */
static bool make_arc_word(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *e = argument(n, 0), *value = argument(n, 1);
    if (value != NULL) {
        const builtin_t whole = {b->name, 2, 2, NULL, SYS_COMPUTE, COMPUTE_FILL};
        if (b->k != SYS_ARCFILL || !is_array(c, e)) {
            sl_error(c, n->pos, "'%s' takes an arc%s", b->name, b->k == SYS_ARCFILL ? ", or an array and a value" : "");
            return false;
        }
        return window(c, at, &whole);
    }
    const int64_t arc = arc_of(c, e);
    if (arc < 0 || !become_sys(c, n, b, TYPE_INT)) {
        return false;
    }
    n->a = NULL;
    n->tag = 1;
    n->index = (uint16_t)arc;
    return true;
}

/* read(arc, array): elements taken */
static bool make_read(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *e = argument(n, 0), *to = argument(n, 1);
    const int64_t arc = arc_of(c, e);
    if (arc < 0 || !sl_need_buffer(c, to, "what an arc is read into", false)) {
        return false;
    }
    if (to->sym->kind == SYM_TABLE) {
        sl_error(c, to->pos, "'%.*s' is a table of constants; declare it with var", (int)to->n, to->text);
        return false;
    }
    if (!become_sys(c, n, b, TYPE_INT)) {
        return false;
    }
    n->a = NULL;
    n->tag = 1;
    n->index = (uint16_t)arc;
    n->d = to;
    const uint32_t size = sl_stype_bytes(to->sym->element);
    if (size == 1) {
        return true;
    }
    node_t *by = number(c, n->pos, size / 2.0);
    node_t *count = by != NULL ? pair(c, OP_SHR, n, by, n->pos) : NULL;
    if (count == NULL) {
        return false;
    }
    count->type = TYPE_INT;
    *at = count;
    return true;
}

/* ---- time, pins, system calls as they are ---------------------------------------------------------- */

/* time(): milliseconds; ticks(): blocks */
static bool make_time(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at;
    if (!become_sys(c, n, b, TYPE_INT)) {
        return false;
    }
    if (b->sub == 2) {
        n->unit = UNIT_MS;
        n->flag = true; /* microseconds: the generator divides */
    }
    return true;
}

static bool make_gpio(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *pin = argument(n, 0);
    pin->next = NULL;
    if (!sl_check_expression(c, &pin) || !sl_need_int(c, pin, "a pin") || !become_sys(c, n, b, TYPE_INT)) {
        return false;
    }
    if (pin->kind == N_NUMBER && (pin->value < 0 || pin->value > 31)) {
        sl_error(c, pin->pos, "pins are 0..31, not %.0f", pin->value);
        return false;
    }
    n->b = pin;
    return true;
}

/* npu(slot): 1 when its result is there */
static bool make_npu(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *slot = argument(n, 0), *out = argument(n, 1);
    slot->next = NULL;
    if (!sl_check_expression(c, &slot) || !sl_need_int(c, slot, "a model's slot") ||
        (out != NULL && !sl_need_buffer(c, out, "what a result goes to", false)) || !become_sys(c, n, b, TYPE_INT)) {
        return false;
    }
    n->b = slot;
    if (out != NULL) {
        n->a->value = 3;
        n->list = out;
    }
    return true;
}

/* sys(k, a, b, c): r0, r1, r2 as they are; the value is r1 */
static bool make_sys(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *k = argument(n, 0), *rest = k->next;
    (void)b;
    k->next = NULL;
    if (!sl_need_constant(c, &k, "the number of a system call", 0, 127)) {
        return false;
    }
    node_t **const to[] = {&n->a, &n->b, &n->c};
    for (unsigned i = 0; i < TW_COUNT(to) && rest != NULL; i++) {
        *to[i] = rest;
        rest = rest->next;
        (*to[i])->next = NULL;
        if (!sl_check_expression(c, to[i])) {
            return false;
        }
    }
    n->kind = N_SYS;
    n->k = (uint8_t)k->value;
    n->list = NULL;
    n->type = TYPE_INT;
    const bool known =
#define TW_SYSCALL(k_, NAME, name_, pops, privileged, ...) (n->k == (k_) && (pops) == 0 && !(privileged)) ||
#include "engine/script/script_syscalls.def"
        false;
    if (!known) {
        sl_error(c, k->pos, "there is no system call %d, or it takes its object from the stack, or is privileged",
                 n->k);
    }
    return known;
}

/* ---- compute --------------------------------------------------------------------------------------- */

static double computed(unsigned id, double x, double y)
{
    switch (id) {
    case COMPUTE_LOG10:
        return log10(x);
    case COMPUTE_EXP10:
        return pow(10, x);
    case COMPUTE_DB:
        return 20 * log10(fabs(x));
    case COMPUTE_UNDB:
        return pow(10, x / 20);
    case COMPUTE_SIN:
        return sin(x);
    case COMPUTE_COS:
        return cos(x);
    case COMPUTE_ATAN2:
        return atan2(x, y);
    case COMPUTE_LOG:
        return log(x);
    case COMPUTE_EXP:
        return exp(x);
    case COMPUTE_POW:
        return pow(x, y);
    default:
        return NAN;
    }
}

static int unit_of(const builtin_t *b, const node_t *x)
{
    if (b->sub == COMPUTE_DB) {
        return x->unit == UNIT_LEVEL ? UNIT_DBFS : UNIT_DB;
    }
    return b->sub == COMPUTE_UNDB && x->unit == UNIT_DBFS ? UNIT_LEVEL : UNIT_NONE;
}

/* log10(x), atan2(y, x), rand() .. */
static bool make_compute(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *x = argument(n, 0), *y = argument(n, 1);
    if ((x != NULL && !float_argument(c, &x, b->name)) || (y != NULL && !float_argument(c, &y, b->name))) {
        return false;
    }
    n->unit = x != NULL ? (int16_t)unit_of(b, x) : UNIT_NONE;
    n->type = TYPE_FLOAT;
    const double v = x != NULL && sl_is_number(x) && (y == NULL || sl_is_number(y))
                         ? computed(b->sub, x->value, y != NULL ? y->value : 0)
                         : NAN;
    if (isfinite(v)) {
        n->kind = N_NUMBER;
        n->value = v;
        n->depth = 1;
        return true;
    }
    const int16_t unit = n->unit;
    if (!become_sys(c, n, b, TYPE_FLOAT)) {
        return false;
    }
    n->unit = unit;
    n->b = x;
    n->c = y;
    return true;
}

/* sum(a), dot(a, b), scale(a, k), fill(a, v) .. */
static bool window(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *x = argument(n, 0), *y = argument(n, 1), *z = argument(n, 2);
    const bool by_value = b->sub == COMPUTE_FILL || b->sub == COMPUTE_SCALE;
    const bool by_pair = b->sub == COMPUTE_DOT || b->sub == COMPUTE_COPY || b->sub == COMPUTE_MIX;
    const bool changes = by_value || b->sub == COMPUTE_SORT;
    const bool gives_float = b->sub == COMPUTE_MEAN || b->sub == COMPUTE_RMS;
    if (!sl_need_buffer(c, x, b->name, false) || (by_pair && !sl_need_buffer(c, y, b->name, false))) {
        return false;
    }
    const symbol_t *written = changes ? x->sym : b->sub == COMPUTE_COPY || b->sub == COMPUTE_MIX ? y->sym : NULL;
    if (written != NULL && written->kind == SYM_TABLE) {
        sl_error(c, n->pos, "'%.*s' is a table of constants; declare it with var", (int)written->n, written->name);
        return false;
    }
    const bool is_float = gives_float || x->sym->element == TW_T_FP32 || (by_pair && y->sym->element == TW_T_FP32);
    const bool value = written == NULL;
    if (!become_sys(c, n, b, !value ? TYPE_NONE : is_float && b->sub != COMPUTE_ARGMAX ? TYPE_FLOAT : TYPE_INT)) {
        return false;
    }
    node_t *factor = by_value ? y : b->sub == COMPUTE_MIX ? z : NULL;
    if (factor != NULL && !float_argument(c, &factor, b->name)) {
        return false;
    }
    n->unit = value && b->sub != COMPUTE_ARGMAX ? x->sym->unit : UNIT_NONE;
    n->b = factor;
    n->d = x;
    n->list = by_pair ? y : NULL;
    const uint32_t count = by_pair ? tw_min_u32(x->sym->length, y->sym->length) : x->sym->length;
    return (n->c = number(c, n->pos, count)) != NULL;
}

/* ---- len(array) -------------------------------------------------------------------------------------- */

static bool make_len(compiler_t *c, node_t **at, const builtin_t *b)
{
    node_t *n = *at, *x = argument(n, 0);
    if (!sl_need_buffer(c, x, b->name, false)) {
        return false;
    }
    n->kind = N_NUMBER;
    n->type = TYPE_INT;
    n->value = x->sym->length;
    n->depth = 1;
    return true;
}

static const builtin_t table[] = {
    {"abs", 1, 1, make_one, 0, OP_ABS},
    {"sqrt", 1, 1, make_one, 0, OP_SQRT},
    {"int", 1, 1, make_one, 0, OP_TO_INT},
    {"float", 1, 1, make_one, 0, OP_TO_FLOAT},
    {"round", 1, 1, make_one, 0, OP_ROUND},
    {"min", 1, 2, make_least, 0, OP_MIN},
    {"max", 1, 2, make_least, 0, OP_MAX},
    {"clamp", 3, 3, make_clamp, 0, 0},
    {"lerp", 3, 3, make_lerp, 0, 0},
    {"level", 1, 1, make_level, SYS_LEVEL, 0},
    {"peak", 1, 1, make_level, SYS_LEVEL, 0},
    {"rms", 1, 1, make_level, SYS_LEVEL, 1},
    {"mean", 1, 1, make_level, SYS_LEVEL, 2},
    {"fill", 1, 2, make_arc_word, SYS_ARCFILL, 0},
    {"stamp", 1, 1, make_arc_word, SYS_ARCTIME, 0},
    {"read", 2, 2, make_read, SYS_READARC, 0},
    {"time", 0, 0, make_time, SYS_TIME, 2},
    {"ticks", 0, 0, make_time, SYS_TIME, 1},
    {"gpio", 1, 1, make_gpio, SYS_GPIO, 0},
    {"npu", 1, 2, make_npu, SYS_NPU, 2},
    {"sys", 1, 4, make_sys, 0, 0},
    {"len", 1, 1, make_len, 0, 0},
    {"log10", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_LOG10},
    {"exp10", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_EXP10},
    {"log", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_LOG},
    {"exp", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_EXP},
    {"pow", 2, 2, make_compute, SYS_COMPUTE, COMPUTE_POW},
    {"db", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_DB},
    {"undb", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_UNDB},
    {"sin", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_SIN},
    {"cos", 1, 1, make_compute, SYS_COMPUTE, COMPUTE_COS},
    {"atan2", 2, 2, make_compute, SYS_COMPUTE, COMPUTE_ATAN2},
    {"rand", 0, 0, make_compute, SYS_COMPUTE, COMPUTE_RAND},
    {"sum", 1, 1, window, SYS_COMPUTE, COMPUTE_SUM},
    {"absmax", 1, 1, window, SYS_COMPUTE, COMPUTE_ABSMAX},
    {"argmax", 1, 1, window, SYS_COMPUTE, COMPUTE_ARGMAX},
    {"dot", 2, 2, window, SYS_COMPUTE, COMPUTE_DOT},
    {"copy", 2, 2, window, SYS_COMPUTE, COMPUTE_COPY},
    {"scale", 2, 2, window, SYS_COMPUTE, COMPUTE_SCALE},
    {"mix", 3, 3, window, SYS_COMPUTE, COMPUTE_MIX},
    {"sort", 1, 1, window, SYS_COMPUTE, COMPUTE_SORT},
};

const char *sl_builtin_name(size_t i)
{
    return i < TW_COUNT(table) ? table[i].name : NULL;
}

static bool count_fits(compiler_t *c, const node_t *n, const builtin_t *b)
{
    unsigned given = 0;
    for (const node_t *e = n->list; e != NULL; e = e->next) {
        given++;
    }
    if (given >= b->least && given <= b->most) {
        return true;
    }
    if (b->least == b->most) {
        sl_error(c, n->pos, "'%s' takes %u argument%s", b->name, b->least, b->least == 1 ? "" : "s");
    } else {
        sl_error(c, n->pos, "'%s' takes %u to %u arguments", b->name, b->least, b->most);
    }
    return false;
}

bool sl_builtin(compiler_t *c, node_t **at, bool *ok)
{
    const node_t *n = *at;
    for (size_t i = 0; i < TW_COUNT(table); i++) {
        if (strlen(table[i].name) == n->n && memcmp(table[i].name, n->text, n->n) == 0) {
            *ok = count_fits(c, n, &table[i]) && table[i].make(c, at, &table[i]);
            return true;
        }
    }
    return false;
}
