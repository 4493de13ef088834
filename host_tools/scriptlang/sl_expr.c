/* sl_expr.c - expressions to the tree, by precedence. */
#include "host_tools/scriptlang/sl_priv.h"

static node_t *unary(compiler_t *c);

enum { NESTING_MAX = 60 };

/* Weakest first; operators of one row associate to the left. */
static const struct {
    uint8_t level;
    const char *text;
    op_t op;
} operators[] = {
    {0, "or", OP_EITHER}, {1, "and", OP_BOTH}, {3, "==", OP_EQ}, {3, "!=", OP_NE}, {3, "<=", OP_LE}, {3, ">=", OP_GE},
    {3, "<", OP_LT},      {3, ">", OP_GT},     {4, "|", OP_OR},  {5, "^", OP_XOR}, {6, "&", OP_AND}, {7, "<<", OP_SHL},
    {7, ">>", OP_SHR},    {8, "+", OP_ADD},    {8, "-", OP_SUB}, {9, "*", OP_MUL}, {9, "/", OP_DIV}, {9, "mod", OP_MOD},
};
enum { LEVEL_NOT = 2, LEVELS = 10 };

static node_t *two(compiler_t *c, op_t op, node_t *a, node_t *b, pos_t pos)
{
    node_t *n = sl_node(c, N_BINARY, pos);
    if (n == NULL || b == NULL) {
        return NULL;
    }
    n->op = (uint8_t)op;
    n->a = a;
    n->b = b;
    return sl_join(c, n) ? n : NULL;
}

static node_t *one(compiler_t *c, op_t op, node_t *a, pos_t pos)
{
    node_t *n = sl_node(c, N_UNARY, pos);
    if (n == NULL || a == NULL) {
        return NULL;
    }
    n->op = (uint8_t)op;
    n->a = a;
    return sl_join(c, n) ? n : NULL;
}

static bool take_operator(compiler_t *c, unsigned level, op_t *op)
{
    for (size_t i = 0; i < TW_COUNT(operators); i++) {
        if (operators[i].level == level && sl_accept(c, operators[i].text)) {
            *op = operators[i].op;
            return true;
        }
    }
    return false;
}

static node_t *binary(compiler_t *c, unsigned level)
{
    op_t op;
    if (level == LEVELS) {
        return unary(c);
    }
    if (level == LEVEL_NOT) {
        const pos_t pos = c->tok.pos;
        bool odd = false, any = false;
        while (sl_accept(c, "not")) {
            odd = !odd;
            any = true;
        }
        node_t *a = binary(c, level + 1);
        return !any ? a : one(c, OP_NOT, odd ? a : one(c, OP_NOT, a, pos), pos);
    }
    node_t *a = binary(c, level + 1);
    for (pos_t pos = c->tok.pos; a != NULL && take_operator(c, level, &op); pos = c->tok.pos) {
        if (sl_is(&c->tok, "=") && level == 3) {
            sl_expected(c, "a value");
            return NULL;
        }
        a = two(c, op, a, binary(c, level + 1), pos);
    }
    return a;
}

node_t *sl_expression(compiler_t *c)
{
    node_t *e = NULL;
    if (c->depth >= NESTING_MAX * 4) {
        return NULL;
    }
    c->depth += 4; /* blocks count one */
    if (c->depth >= NESTING_MAX * 4) {
        sl_error(c, c->tok.pos, "more than %d parentheses inside one another", NESTING_MAX);
        c->failed = true;
    } else {
        e = binary(c, 0);
    }
    c->depth -= 4;
    return e;
}

static node_t *arguments(compiler_t *c, node_t *call)
{
    node_t **tail = &call->list;
    for (unsigned n = 0; !sl_is(&c->tok, ")"); n++) {
        node_t *e = n < 8 ? sl_expression(c) : NULL;
        if (e == NULL) {
            if (n == 8) {
                sl_error(c, c->tok.pos, "more than 8 arguments");
            }
            return NULL;
        }
        *tail = e;
        tail = &e->next;
        if (!sl_accept(c, ",") && !sl_is(&c->tok, ")")) {
            sl_expected(c, "',' or ')'");
            return NULL;
        }
    }
    sl_next(c);
    return sl_join(c, call) ? call : NULL;
}

/* NAME, NAME(..), NAME[..] */
static node_t *name(compiler_t *c)
{
    node_t *n = sl_node(c, N_NAME, c->tok.pos);
    if (n == NULL) {
        return NULL;
    }
    n->text = c->tok.p;
    n->n = c->tok.n;
    n->depth = 1;
    sl_next(c);
    if (sl_accept(c, "(")) {
        n->kind = N_CALL;
        return arguments(c, n);
    }
    if (sl_accept(c, "[")) {
        n->kind = N_INDEX;
        n->a = sl_expression(c);
        return n->a != NULL && sl_expect(c, "]", " behind the index") && sl_join(c, n) ? n : NULL;
    }
    return n;
}

/* arc NAME | arc NUMBER */
static node_t *arc_name(compiler_t *c)
{
    sl_next(c);
    sl_widen_name(c);
    if (c->tok.kind != TK_NAME) {
        sl_expected(c, "the name or number of an arc");
        return NULL;
    }
    node_t *n = sl_node(c, N_ARC, c->tok.pos);
    if (n != NULL) {
        n->text = c->tok.p;
        n->n = c->tok.n;
        n->depth = 1;
        sl_next(c);
    }
    return n;
}

/* "node".param: a name that holds what a word does not */
static node_t *quoted(compiler_t *c)
{
    node_t *n = sl_node(c, N_TEXT, c->tok.pos);
    if (n != NULL) {
        n->text = c->tok.p;
        n->n = c->tok.n;
        n->depth = 1;
        sl_next(c);
    }
    return n;
}

static node_t *literal(compiler_t *c)
{
    node_t *n = sl_node(c, N_NUMBER, c->tok.pos);
    if (n != NULL) {
        n->value = c->tok.value;
        n->unit = (int16_t)c->tok.unit;
        n->type = c->tok.whole ? TYPE_INT : TYPE_FLOAT;
        n->depth = 1;
        sl_next(c);
    }
    return n;
}

static bool usable(const compiler_t *c)
{
    static const char *const values[] = {"on", "off", "true", "false", "gpio", "sys", "npu", "event", "timer"};
    for (size_t i = 0; i < TW_COUNT(values); i++) {
        if (sl_is(&c->tok, values[i])) {
            return true;
        }
    }
    return !sl_reserved(c->tok.p, c->tok.n);
}

static node_t *primary(compiler_t *c)
{
    switch (c->tok.kind) {
    case TK_NUMBER:
        return literal(c);
    case TK_STRING:
        return quoted(c);
    case TK_NAME:
        if (sl_is(&c->tok, "arc")) {
            return arc_name(c);
        }
        if (usable(c)) {
            return name(c);
        }
        break;
    default:
        if (sl_accept(c, "(")) {
            node_t *e = sl_expression(c);
            return e != NULL && sl_expect(c, ")", "") ? e : NULL;
        }
        break;
    }
    sl_expected(c, "a value");
    return NULL;
}

static node_t *unary(compiler_t *c)
{
    const pos_t pos = c->tok.pos;
    bool minus = false, inverse = false, any = false;
    if (sl_accept(c, "~")) {
        inverse = true;
    }
    while (sl_accept(c, "-")) {
        minus = !minus;
        any = true;
    }
    node_t *e = primary(c);
    if (any && e != NULL && e->kind == N_NUMBER) { /* so that a level of -20 dBFS is one number */
        e->value = minus ? -e->value : e->value;
        e->pos = pos;
    } else if (minus) {
        e = one(c, OP_NEG, e, pos);
    }
    return inverse ? one(c, OP_INV, e, pos) : e;
}
