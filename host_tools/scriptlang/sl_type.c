/* sl_type.c - expressions: names looked up, types and units settled, constants folded. */
#include "host_tools/scriptlang/sl_check_priv.h"
#include <math.h>
#include <stdio.h>

bool sl_is_number(const node_t *e)
{
    return e->kind == N_NUMBER;
}

/* ---- what a place needs ---------------------------------------------------------------------------- */

node_t *sl_convert(compiler_t *c, node_t *e, type_t type)
{
    if (e->type == type) {
        return e;
    }
    if (sl_is_number(e)) {
        e->type = (uint8_t)type;
        return e;
    }
    node_t *n = sl_node(c, N_UNARY, e->pos);
    if (n == NULL) {
        return NULL;
    }
    n->op = type == TYPE_FLOAT ? OP_TO_FLOAT : OP_TO_INT;
    n->a = e;
    n->type = (uint8_t)type;
    n->unit = e->unit;
    return sl_join(c, n) ? n : NULL;
}

bool sl_need_int(compiler_t *c, node_t *e, const char *what)
{
    if (e->type == TYPE_INT) {
        return true;
    }
    if (sl_is_number(e) && e->value == floor(e->value) && fabs(e->value) <= 2147483647.0) {
        e->type = TYPE_INT;
        return true;
    }
    sl_error(c, e->pos, "%s is a whole number, not %s", what, e->type == TYPE_FLOAT ? "a float" : "nothing");
    if (e->type == TYPE_FLOAT) {
        sl_note(c, e->pos, "int() cuts a value, round() takes the nearest");
    }
    return false;
}

bool sl_need_constant(compiler_t *c, node_t **e, const char *what, double low, double high)
{
    if (!sl_check_expression(c, e) || !sl_need_int(c, *e, what)) {
        return false;
    }
    if (!sl_is_number(*e)) {
        sl_error(c, (*e)->pos, "%s has to be a constant", what);
        return false;
    }
    if ((*e)->value < low || (*e)->value > high) {
        sl_error(c, (*e)->pos, "%s is %.0f..%.0f, not %.0f", what, low, high, (*e)->value);
        return false;
    }
    return true;
}

bool sl_need_type(compiler_t *c, node_t **e, type_t type, const char *what)
{
    if (type == TYPE_INT) {
        return sl_need_int(c, *e, what);
    }
    if ((*e)->type == TYPE_NONE) {
        sl_error(c, (*e)->pos, "%s needs a value, and this has none", what);
        return false;
    }
    return (*e = sl_convert(c, *e, type)) != NULL;
}

static bool has_value(compiler_t *c, const node_t *e)
{
    if (e->type != TYPE_NONE) {
        return true;
    }
    sl_error(c, e->pos, e->kind == N_TEXT ? "a text has no value" : "this has no value");
    return false;
}

/* ---- constants -------------------------------------------------------------------------------------- */

static int32_t wrap(double v)
{
    return (int32_t)(uint32_t)(int64_t)v;
}

static double shifted(int32_t a, int32_t by)
{
    if (by >= 0) {
        return by > 31 ? 0 : (int32_t)((uint32_t)a << by);
    }
    return floor(ldexp(a, by < -31 ? -31 : by));
}

static double fold_int(op_t op, double x, double y)
{
    const int32_t a = wrap(x), b = wrap(y);
    switch (op) {
    case OP_ADD:
        return wrap((double)((int64_t)a + b));
    case OP_SUB:
        return wrap((double)((int64_t)a - b));
    case OP_MUL:
        return (int32_t)(uint32_t)((uint64_t)((int64_t)a * b));
    case OP_DIV:
        return b == 0 ? 0 : wrap((double)((int64_t)a / b));
    case OP_MOD:
        return b == 0 ? 0 : (double)((int64_t)a % b);
    case OP_AND:
        return a & b;
    case OP_OR:
        return a | b;
    case OP_XOR:
        return a ^ b;
    case OP_SHL:
        return shifted(a, b);
    case OP_SHR:
        return shifted(a, b < -31 ? 31 : -b);
    default:
        return 0;
    }
}

static double fold_float(op_t op, double a, double b)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return b == 0 ? 0 : a / b;
    case OP_MOD:
        return b == 0 ? 0 : fmod(a, b);
    default:
        return 0;
    }
}

static bool compare(op_t op, double a, double b)
{
    switch (op) {
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_LT:
        return a < b;
    case OP_LE:
        return a <= b;
    case OP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static void fold(node_t *n)
{
    const op_t op = (op_t)n->op;
    const double a = n->a->value, b = n->b != NULL ? n->b->value : 0;
    double v = 0;
    if (op >= OP_EQ && op <= OP_GE) {
        v = compare(op, a, b);
    } else if (op == OP_BOTH || op == OP_EITHER) {
        v = op == OP_BOTH ? a != 0 && b != 0 : a != 0 || b != 0;
    } else if (op == OP_MIN || op == OP_MAX) {
        v = op == OP_MIN ? fmin(a, b) : fmax(a, b);
    } else if (n->type == TYPE_INT) {
        v = fold_int(op, a, b);
    } else {
        v = (double)(float)fold_float(op, a, b);
    }
    n->kind = N_NUMBER;
    n->value = v;
    n->depth = 1;
}

static double clamp_int(double v)
{
    return v < -2147483648.0 ? -2147483648.0 : v > 2147483647.0 ? 2147483647.0 : v;
}

static void fold_one(node_t *n)
{
    const double a = n->a->value;
    double v = 0;
    switch (n->op) {
    case OP_NEG:
        v = n->type == TYPE_INT ? wrap(-a) : -a;
        break;
    case OP_INV:
        v = ~wrap(a);
        break;
    case OP_NOT:
        v = a == 0;
        break;
    case OP_ABS:
        v = n->type == TYPE_INT ? wrap(fabs(a)) : fabs(a);
        break;
    case OP_SQRT:
        v = a > 0 ? sqrt(a) : 0;
        break;
    case OP_TO_INT:
        v = clamp_int(trunc(a));
        break;
    case OP_ROUND:
        v = clamp_int(a < 0 ? trunc(a - 0.5) : trunc(a + 0.5));
        break;
    default:
        v = a;
        break;
    }
    n->kind = N_NUMBER;
    n->value = v;
    n->depth = 1;
}

/* ---- operators ------------------------------------------------------------------------------------------ */

static const char *op_name(op_t op)
{
    static const char *const names[] = {"+",  "-",  "*",  "/", "mod", "&", "|",  "^",   "<<",
                                        ">>", "==", "!=", "<", "<=",  ">", ">=", "and", "or"};
    return op < TW_COUNT(names) ? names[op] : "";
}

static bool both_int(compiler_t *c, node_t *n)
{
    char what[40];
    (void)snprintf(what, sizeof what, "each side of '%s'", op_name((op_t)n->op));
    n->type = TYPE_INT;
    return sl_need_int(c, n->a, what) && sl_need_int(c, n->b, what);
}

static bool condition(compiler_t *c, const node_t *e)
{
    if (e->type == TYPE_INT) {
        return true;
    }
    sl_error(c, e->pos, "a condition is a comparison or a whole number, not a float");
    return false;
}

/* One type for both: the left one is converted here, the right one by the machine. */
static bool one_type(compiler_t *c, node_t *n)
{
    n->type = n->a->type == TYPE_FLOAT || n->b->type == TYPE_FLOAT ? TYPE_FLOAT : TYPE_INT;
    if (n->type == TYPE_FLOAT && n->a->type == TYPE_INT) {
        n->a = sl_convert(c, n->a, TYPE_FLOAT);
    }
    if (n->a != NULL && n->type == TYPE_FLOAT && sl_is_number(n->b)) {
        n->b->type = TYPE_FLOAT;
    }
    return n->a != NULL;
}

static bool ratio(compiler_t *c, node_t *n)
{
    node_t *a = n->a, *b = n->b;
    for (unsigned i = 0; i < 2; i++) { /* "x * 50 %" */
        node_t *e = i == 0 ? a : b;
        if (sl_is_number(e) && e->unit == 50) {
            e->value /= 100;
            e->unit = UNIT_NONE;
            e->type = TYPE_FLOAT;
        }
    }
    if (n->op == OP_DIV) {
        n->unit = a->unit == b->unit ? UNIT_NONE : a->unit;
    } else {
        n->unit = a->unit == UNIT_NONE ? b->unit : b->unit == UNIT_NONE ? a->unit : UNIT_NONE;
    }
    return one_type(c, n);
}

static bool check_binary(compiler_t *c, node_t *n)
{
    char how[40];
    (void)snprintf(how, sizeof how, "'%s'", op_name((op_t)n->op));
    if (!sl_check_expression(c, &n->a) || !sl_check_expression(c, &n->b) || !has_value(c, n->a) ||
        !has_value(c, n->b)) {
        return false;
    }
    bool ok = true;
    switch ((op_t)n->op) {
    case OP_BOTH:
    case OP_EITHER:
        n->type = TYPE_INT;
        ok = condition(c, n->a) && condition(c, n->b);
        break;
    case OP_MUL:
    case OP_DIV:
        ok = ratio(c, n);
        break;
    case OP_ADD:
    case OP_SUB:
    case OP_MOD:
    case OP_MIN:
    case OP_MAX:
        ok = sl_meet(c, n->a, n->b, n->pos, n->op == OP_MIN ? "min" : n->op == OP_MAX ? "max" : how) && one_type(c, n);
        n->unit = n->a->unit;
        break;
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
        ok = both_int(c, n);
        break;
    default:
        ok = sl_meet(c, n->a, n->b, n->pos, how) && one_type(c, n);
        n->type = TYPE_INT;
        n->unit = UNIT_NONE;
        break;
    }
    if (ok && (n->op == OP_DIV || n->op == OP_MOD) && sl_is_number(n->b) && n->b->value == 0) {
        sl_error(c, n->b->pos, "division by zero");
        return false;
    }
    if (ok && sl_is_number(n->a) && sl_is_number(n->b)) {
        fold(n);
    }
    return ok;
}

static bool check_unary(compiler_t *c, node_t *n)
{
    if (!sl_check_expression(c, &n->a) || !has_value(c, n->a)) {
        return false;
    }
    n->unit = n->a->unit;
    n->type = n->a->type;
    switch (n->op) {
    case OP_NOT:
        n->type = TYPE_INT;
        n->unit = UNIT_NONE;
        if (!condition(c, n->a)) {
            return false;
        }
        break;
    case OP_INV:
        if (!sl_need_int(c, n->a, "the operand of '~'")) {
            return false;
        }
        n->type = TYPE_INT;
        break;
    case OP_SQRT:
        n->type = TYPE_FLOAT;
        if ((n->a = sl_convert(c, n->a, TYPE_FLOAT)) == NULL) {
            return false;
        }
        break;
    case OP_TO_FLOAT:
        n->type = TYPE_FLOAT;
        break;
    case OP_TO_INT:
    case OP_ROUND:
        n->type = TYPE_INT;
        break;
    default:
        break;
    }
    if (sl_is_number(n->a)) {
        fold_one(n);
    }
    return true;
}

/* a + (b - a) * t: all of them floats */
static bool check_lerp(compiler_t *c, node_t *n)
{
    node_t **const parts[] = {&n->a, &n->b, &n->c};
    for (size_t i = 0; i < TW_COUNT(parts); i++) {
        if (!sl_check_expression(c, parts[i]) || !has_value(c, *parts[i])) {
            return false;
        }
    }
    if (!sl_meet(c, n->a, n->b, n->pos, "lerp") || !sl_need_type(c, &n->a, TYPE_FLOAT, "lerp") ||
        !sl_need_type(c, &n->b, TYPE_FLOAT, "lerp") || !sl_need_type(c, &n->c, TYPE_FLOAT, "lerp")) {
        return false;
    }
    n->type = TYPE_FLOAT;
    n->unit = n->a->unit;
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static bool is_value(const node_t *n, node_t *out)
{
    static const struct {
        const char *name;
        double value;
        uint8_t type;
    } values[] = {{"on", 1, TYPE_INT},
                  {"off", 0, TYPE_INT},
                  {"true", 1, TYPE_INT},
                  {"false", 0, TYPE_INT},
                  {"pi", 3.14159265358979, TYPE_FLOAT}};
    for (size_t i = 0; i < TW_COUNT(values); i++) {
        if (strlen(values[i].name) == n->n && memcmp(values[i].name, n->text, n->n) == 0) {
            out->kind = N_NUMBER;
            out->value = values[i].value;
            out->type = values[i].type;
            return true;
        }
    }
    return false;
}

/* May this routine see the symbol? A local is a register of the routine that declared it. */
static bool visible(compiler_t *c, const symbol_t *s, const node_t *n)
{
    if (s->kind != SYM_LET || s->function == c->function) {
        return true;
    }
    sl_error(c, n->pos, "'%.*s' belongs to another part of the script; declare it with var, or give it as an argument",
             (int)n->n, n->text);
    sl_note(c, s->pos, "declared here");
    return false;
}

static bool use_symbol(compiler_t *c, node_t *n, symbol_t *s)
{
    if (!visible(c, s, n)) {
        return false;
    }
    if (s->kind == SYM_FUNC) {
        sl_error(c, n->pos, "'%.*s' is a function: call it with ()", (int)n->n, n->text);
        return false;
    }
    if (s->array) {
        sl_error(c, n->pos, "'%.*s' has %u elements: say which with [..]", (int)n->n, n->text, s->length);
        return false;
    }
    n->type = s->type;
    n->unit = s->unit;
    n->sym = s;
    s->used = true;
    n->kind = s->kind == SYM_CONST ? N_NUMBER : N_SYMBOL;
    n->value = s->value;
    return true;
}

static bool check_name(compiler_t *c, node_t **at)
{
    node_t *n = *at;
    symbol_t *s = sl_lookup(c, n->text, n->n);
    if (s != NULL) {
        return use_symbol(c, n, s);
    }
    if (is_value(n, n)) {
        return true;
    }
    if (memchr(n->text, '.', n->n) == NULL) {
        sl_unknown(c, "name", n->text, n->n, n->pos, false);
        return false;
    }
    if (!sl_parameter(c, n)) {
        return false;
    }
    const int stype = sl_stype_of_raw(n->param->raw);
    if (n->param->count != 1 || stype < 0) {
        sl_error(c, n->pos, "'%.*s' %s; it can be set from a table", (int)n->n, n->text,
                 stype < 0 ? "has a type that scripts do not know" : "has several elements");
        return false;
    }
    n->type = stype >= TW_T_FP16 && stype <= TW_T_FP64 ? TYPE_FLOAT : TYPE_INT;
    return sl_from_unit(c, at, n->param->unit);
}

/* Does the index lie in low..high whatever happens? */
static bool index_range(const node_t *e, double *low, double *high)
{
    double l, h;
    if (sl_is_number(e)) {
        *low = *high = e->value;
        return true;
    }
    if (e->kind == N_SYMBOL && e->sym->ranged) {
        *low = e->sym->low;
        *high = e->sym->high;
        return true;
    }
    if (e->kind == N_BINARY && (e->op == OP_ADD || e->op == OP_SUB) && sl_is_number(e->b) &&
        index_range(e->a, &l, &h)) {
        const double k = e->op == OP_ADD ? e->b->value : -e->b->value;
        *low = l + k;
        *high = h + k;
        return true;
    }
    if (e->kind == N_BINARY && e->op == OP_AND && sl_is_number(e->b) && e->b->value >= 0) {
        *low = 0;
        *high = e->b->value;
        return true;
    }
    return false;
}

static bool check_index(compiler_t *c, node_t *n)
{
    symbol_t *s = sl_lookup(c, n->text, n->n);
    double low, high;
    if (s == NULL) {
        sl_unknown(c, "name", n->text, n->n, n->pos, false);
        return false;
    }
    if (!s->array) {
        sl_error(c, n->pos, "'%.*s' is no array", (int)n->n, n->text);
        return false;
    }
    if (!sl_check_expression(c, &n->a) || !sl_need_int(c, n->a, "an index")) {
        return false;
    }
    n->flag = !index_range(n->a, &low, &high);
    if (!n->flag && (low < 0 || high >= s->length)) {
        sl_error(c, n->a->pos, "'%.*s' has elements 0..%u, the index is %s%.0f", (int)n->n, n->text, s->length - 1,
                 low == high ? "" : "up to ", low < 0 ? low : high);
        return false;
    }
    n->sym = s;
    n->type = s->element == TW_T_FP32 ? TYPE_FLOAT : TYPE_INT;
    n->unit = s->unit;
    if (s->kind == SYM_TABLE && sl_is_number(n->a)) {
        const node_t *v = s->values;
        for (uint32_t i = 0; i < (uint32_t)n->a->value && v != NULL; i++) {
            v = v->next;
        }
        n->kind = N_NUMBER;
        n->value = v != NULL ? v->value : 0;
    }
    return true;
}

bool sl_need_buffer(compiler_t *c, node_t *e, const char *what, bool text)
{
    symbol_t *s = e->kind == N_NAME ? sl_lookup(c, e->text, e->n) : NULL;
    if (e->kind == N_TEXT && text) {
        return true;
    }
    if (s == NULL && e->kind == N_NAME && memchr(e->text, '.', e->n) == NULL) {
        sl_unknown(c, "name", e->text, e->n, e->pos, false);
        return false;
    }
    if (s == NULL || !s->array) {
        sl_error(c, e->pos, "%s is an array%s", what, text ? " or a text" : "");
        return false;
    }
    s->used = true;
    e->sym = s;
    return true;
}

/* ---- calls of functions ---------------------------------------------------------------------------------------- */

static bool check_arguments(compiler_t *c, node_t *n, const symbol_t *f)
{
    const node_t *p = f->params;
    char what[100];
    for (node_t **at = &n->list; *at != NULL || p != NULL; at = &(*at)->next, p = p->next) {
        if (*at == NULL || p == NULL) {
            unsigned want = 0;
            for (const node_t *q = f->params; q != NULL; q = q->next) {
                want++;
            }
            sl_error(c, n->pos, "'%.*s' takes %u argument%s", (int)f->n, f->name, want, want == 1 ? "" : "s");
            return false;
        }
        node_t *next = (*at)->next;
        (void)snprintf(what, sizeof what, "'%.*s' of '%.*s'", (int)p->n, p->text, (int)tw_min_u32(f->n, 30), f->name);
        if (!sl_check_expression(c, at) || !has_value(c, *at) || !sl_need_type(c, at, (type_t)p->sym->type, what)) {
            return false;
        }
        (*at)->next = next;
    }
    return true;
}

static bool check_call(compiler_t *c, node_t **at)
{
    node_t *n = *at;
    bool ok = true;
    symbol_t *f = sl_lookup(c, n->text, n->n);
    if (f == NULL) {
        if (sl_builtin(c, at, &ok)) {
            return ok;
        }
        sl_unknown(c, "function", n->text, n->n, n->pos, true);
        return false;
    }
    if (f->kind != SYM_FUNC) {
        sl_error(c, n->pos, "'%.*s' is no function", (int)n->n, n->text);
        return false;
    }
    if (!f->made) {
        sl_error(c, n->pos, "'%.*s' calls itself; write a loop", (int)n->n, n->text);
        return false;
    }
    n->sym = f;
    n->type = f->type;
    n->unit = f->unit;
    f->used = true;
    if (c->function != NULL) {
        c->function->calls |= (uint64_t)1 << f->number;
        c->function->level = (uint8_t)tw_max_u32(c->function->level, f->level + 1u);
        c->function->loops |= f->loops;
    }
    return check_arguments(c, n, f);
}

bool sl_check_expression(compiler_t *c, node_t **at)
{
    node_t *n = *at;
    node_t *next = n->next;
    bool ok = true;
    switch ((node_kind_t)n->kind) {
    case N_NUMBER:
        if (n->type == TYPE_INT && (n->value > 2147483647.0 || n->value < -2147483648.0)) {
            sl_error(c, n->pos, "%.0f does not fit 32 bits; write it with a point", n->value);
            ok = false;
        }
        break;
    case N_NAME:
        ok = check_name(c, at);
        break;
    case N_INDEX:
        ok = check_index(c, n);
        break;
    case N_UNARY:
        ok = check_unary(c, n);
        break;
    case N_BINARY:
        ok = check_binary(c, n);
        break;
    case N_LERP:
        ok = check_lerp(c, n);
        break;
    case N_CALL:
        ok = check_call(c, at);
        break;
    case N_ARC:
        sl_error(c, n->pos, "an arc has no value: level(arc ..), fill(arc ..) and others ask for one");
        ok = false;
        break;
    case N_LIST:
        sl_error(c, n->pos, "a list stands behind a table or an array only");
        ok = false;
        break;
    default:
        break;
    }
    (*at)->next = next;
    return ok;
}

int sl_stype_of_raw(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
        return TW_T_I8;
    case TW_RAW_U8:
        return TW_T_U8;
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return TW_T_I16;
    case TW_RAW_U16:
        return TW_T_U16;
    case TW_RAW_S32:
    case TW_RAW_Q31:
        return TW_T_I32;
    case TW_RAW_U32:
        return TW_T_U32;
    case TW_RAW_FP16:
        return TW_T_FP16;
    case TW_RAW_FP32:
        return TW_T_FP32;
    case TW_RAW_FP64:
        return TW_T_FP64;
    case TW_RAW_S64:
        return TW_T_I64;
    case TW_RAW_U64:
        return TW_T_U64;
    default:
        return -1;
    }
}

uint32_t sl_stype_bytes(unsigned stype)
{
    static const uint8_t bytes[16] = {
#define TW_STYPE(code, NAME, name, bytes, data) [code] = (bytes),
#include "engine/script/script_types.def"
    };
    return bytes[stype & 15];
}
