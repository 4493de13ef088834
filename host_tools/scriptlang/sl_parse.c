/* sl_parse.c - statements and sections to the tree. Names stay text; the check looks them up.
 *
 * After an error the parser goes on behind the line, so one wrong line is one message.
 */
#include "host_tools/scriptlang/sl_priv.h"
#include <stdio.h>

static node_t *block(compiler_t *c, const char *const *stops);
static node_t *statement(compiler_t *c);

/* ---- what both parts use ---------------------------------------------------------------------- */

node_t *sl_node(compiler_t *c, node_kind_t kind, pos_t pos)
{
    node_t *n = sl_take(c, sizeof *n);
    if (n != NULL) {
        n->kind = (uint8_t)kind;
        n->pos = pos;
        n->unit = UNIT_NONE;
    }
    return n;
}

bool sl_join(compiler_t *c, node_t *n)
{
    const node_t *const parts[] = {n->a, n->b, n->c, n->d};
    uint32_t depth = 0;
    for (size_t i = 0; i < TW_COUNT(parts); i++) {
        depth = parts[i] != NULL ? tw_max_u32(depth, parts[i]->depth) : depth;
    }
    for (const node_t *p = n->list; p != NULL; p = p->next) {
        depth = tw_max_u32(depth, p->depth);
    }
    n->depth = (uint8_t)(depth + 1);
    if (n->depth < DEPTH_MAX) {
        return true;
    }
    if (!c->failed) {
        sl_error(c, n->pos, "more than %d levels inside one another; use a variable for a part of it", DEPTH_MAX);
    }
    c->failed = true;
    return false;
}

bool sl_accept(compiler_t *c, const char *text)
{
    if (!sl_is(&c->tok, text)) {
        return false;
    }
    sl_next(c);
    return true;
}

void sl_expected(compiler_t *c, const char *what)
{
    const token_t *t = &c->tok;
    if (t->kind == TK_END || t->kind == TK_NEWLINE || t->kind == TK_SEMI) {
        sl_error(c, t->pos, "expected %s, the statement ends here", what);
    } else {
        sl_error(c, t->pos, "expected %s, found '%.*s'", what, (int)tw_min_u32(t->n, 40), t->p);
    }
}

bool sl_expect(compiler_t *c, const char *text, const char *why)
{
    if (sl_accept(c, text)) {
        return true;
    }
    char what[100];
    (void)snprintf(what, sizeof what, "'%s'%s", text, why);
    sl_expected(c, what);
    return false;
}

bool sl_reserved(const char *p, uint32_t n)
{
    static const char *const words[] = {
        "if",    "then",  "else",    "elif",  "end",  "while",  "do",    "for",      "repeat", "on",      "every",
        "var",   "let",   "const",   "table", "func", "return", "break", "continue", "state",  "machine", "goto",
        "enter", "skip",  "and",     "or",    "not",  "mod",    "true",  "false",    "off",    "gpio",    "event",
        "trace", "timer", "usecase", "reset", "npu",  "app",    "run",   "arc",      "sys",    "write"};
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- lines --------------------------------------------------------------------------------------- */

static bool at_line_end(const compiler_t *c)
{
    return c->tok.kind == TK_NEWLINE || c->tok.kind == TK_END;
}

static bool at_end(const compiler_t *c)
{
    return at_line_end(c) || c->tok.kind == TK_SEMI;
}

static void skip_line(compiler_t *c)
{
    while (!at_end(c)) {
        sl_next(c);
    }
}

static void skip_empty(compiler_t *c)
{
    while (c->tok.kind == TK_NEWLINE || c->tok.kind == TK_SEMI) {
        sl_next(c);
    }
}

static bool is_one_of(const compiler_t *c, const char *const *stops)
{
    for (; *stops != NULL; stops++) {
        if (sl_is(&c->tok, *stops)) {
            return true;
        }
    }
    return false;
}

static void append(node_t ***tail, node_t *n)
{
    **tail = n;
    *tail = &n->next;
}

/* Statements up to one of the words, which is not taken; `line`: up to the end of the line, too. */
static node_t *statements(compiler_t *c, const char *const *stops, bool line)
{
    node_t *b = sl_node(c, N_BLOCK, c->tok.pos);
    if (b == NULL) {
        return NULL;
    }
    node_t **tail = &b->list;
    for (;;) {
        while (c->tok.kind == TK_SEMI || (!line && c->tok.kind == TK_NEWLINE)) {
            sl_next(c);
        }
        if (c->tok.kind == TK_END || is_one_of(c, stops) || (line && c->tok.kind == TK_NEWLINE) || c->failed) {
            break;
        }
        const unsigned errors = c->out->n_errors;
        node_t *s = statement(c);
        if (s != NULL) {
            append(&tail, s);
        }
        if (c->out->n_errors != errors) {
            skip_line(c);
        } else if (!at_end(c) && !is_one_of(c, stops)) {
            sl_expected(c, "the end of the statement");
            skip_line(c);
        }
    }
    return sl_join(c, b) ? b : NULL;
}

static const char *const ends[] = {"end", NULL};

static node_t *block(compiler_t *c, const char *const *stops)
{
    node_t *b = NULL;
    if (++c->depth > DEPTH_MAX / 2) {
        sl_error(c, c->tok.pos, "more than %d blocks inside one another", DEPTH_MAX / 2);
        c->failed = true;
    } else {
        b = statements(c, stops, false);
    }
    c->depth--;
    return b;
}

/* A block and its `end`; `what` opened it at `from`. */
static node_t *block_end(compiler_t *c, const char *what, pos_t from)
{
    node_t *b = block(c, ends);
    if (!c->failed && !sl_accept(c, "end")) {
        sl_error(c, c->tok.pos, "the '%s' of line %u has no 'end'", what, from.line);
    }
    return b;
}

/* The rest of the line. */
static node_t *one_line(compiler_t *c, const char *const *stops)
{
    node_t *b = NULL;
    if (++c->depth > DEPTH_MAX / 2) {
        sl_error(c, c->tok.pos, "more than %d blocks inside one another", DEPTH_MAX / 2);
        c->failed = true;
    } else {
        b = statements(c, stops, true);
    }
    c->depth--;
    return b;
}

/* "do" and the rest of the line, or lines and an `end`. */
static node_t *loop_body(compiler_t *c, const char *what, pos_t from)
{
    static const char *const stops[] = {"end", NULL};
    if (sl_accept(c, "do") && !at_line_end(c)) {
        node_t *b = one_line(c, stops);
        (void)sl_accept(c, "end");
        return b;
    }
    if (!at_end(c)) {
        sl_expected(c, "'do' or the end of the line");
        return NULL;
    }
    return block_end(c, what, from);
}

/* ---- names ---------------------------------------------------------------------------------------- */

static bool take_name(compiler_t *c, const char *what, node_t *n)
{
    const token_t t = c->tok;
    if (t.kind != TK_NAME) {
        sl_expected(c, what);
        return false;
    }
    if (sl_reserved(t.p, t.n) || memchr(t.p, '.', t.n) != NULL || t.n > NAME_CHARS) {
        sl_error(c, t.pos, "'%.*s' cannot be a name%s", (int)tw_min_u32(t.n, 40), t.p,
                 t.n > NAME_CHARS                ? ": it is too long"
                 : memchr(t.p, '.', t.n) != NULL ? ": it has a point"
                                                 : ": it is a word of the language");
        return false;
    }
    n->text = t.p;
    n->n = t.n;
    n->pos = t.pos;
    sl_next(c);
    return true;
}

static const struct {
    const char *name;
    uint8_t type;    /* of a scalar, TYPE_NONE: none has it */
    uint8_t element; /* in an array */
} type_names[] = {
    {"int", TYPE_INT, TW_T_I32},        {"float", TYPE_FLOAT, TW_T_FP32}, {"int32", TYPE_INT, TW_T_I32},
    {"float32", TYPE_FLOAT, TW_T_FP32}, {"int8", TYPE_NONE, TW_T_I8},     {"uint8", TYPE_NONE, TW_T_U8},
    {"int16", TYPE_NONE, TW_T_I16},     {"uint16", TYPE_NONE, TW_T_U16},  {"fp32", TYPE_FLOAT, TW_T_FP32},
};

/* ": int16": of arrays any, of scalars int and float; n->type and n->k (element), else TYPE_NONE and 255. */
static bool take_type(compiler_t *c, node_t *n, bool array)
{
    n->k = 255;
    if (!sl_accept(c, ":")) {
        return true;
    }
    for (size_t i = 0; i < TW_COUNT(type_names); i++) {
        if (sl_is(&c->tok, type_names[i].name) && (array || type_names[i].type != TYPE_NONE)) {
            n->type = type_names[i].element == TW_T_FP32 ? TYPE_FLOAT : TYPE_INT;
            n->k = type_names[i].element;
            sl_next(c);
            return true;
        }
    }
    sl_expected(c, array ? "int, float, int8, uint8, int16 or uint16" : "int or float");
    return false;
}

static node_t *list_of_values(compiler_t *c)
{
    node_t *n = sl_node(c, N_LIST, c->tok.pos);
    if (n == NULL || !sl_expect(c, "[", "")) {
        return NULL;
    }
    node_t **tail = &n->list;
    for (;;) {
        while (c->tok.kind == TK_NEWLINE) {
            sl_next(c);
        }
        if (sl_is(&c->tok, "]")) {
            break;
        }
        node_t *e = sl_expression(c);
        if (e == NULL) {
            return NULL;
        }
        append(&tail, e);
        while (c->tok.kind == TK_NEWLINE) {
            sl_next(c);
        }
        if (!sl_accept(c, ",") && !sl_is(&c->tok, "]")) {
            sl_expected(c, "',' or ']'");
            return NULL;
        }
    }
    sl_next(c);
    return sl_join(c, n) ? n : NULL;
}

/* var NAME [ "[" N "]" ] [":" type] ["=" value]; let, const and table likewise. */
static node_t *declaration(compiler_t *c, node_kind_t kind)
{
    node_t *n = sl_node(c, kind, c->tok.pos);
    sl_next(c);
    if (n == NULL || !take_name(c, "a name", n)) {
        return NULL;
    }
    bool array = kind == N_TABLE;
    if (kind == N_VAR && sl_accept(c, "[")) {
        array = true;
        if ((n->b = sl_expression(c)) == NULL || !sl_expect(c, "]", "")) {
            return NULL;
        }
    }
    n->flag = array;
    if (!take_type(c, n, array)) {
        return NULL;
    }
    if (!sl_accept(c, "=")) {
        if (kind != N_VAR) {
            sl_expected(c, "'=' and a value");
            return NULL;
        }
        return sl_join(c, n) ? n : NULL;
    }
    n->a = array ? list_of_values(c) : sl_expression(c);
    return n->a != NULL && sl_join(c, n) ? n : NULL;
}

/* ---- compound statements ------------------------------------------------------------------------------ */

/* The text behind `if` and `elif`. @param mine  the `end` belongs to this one */
static node_t *if_rest(compiler_t *c, pos_t from, bool mine)
{
    static const char *const line_stops[] = {"else", "elif", "end", NULL};
    static const char *const block_stops[] = {"else", "elif", "end", NULL};
    node_t *n = sl_node(c, N_IF, from);
    if (n == NULL || (n->a = sl_expression(c)) == NULL || !sl_expect(c, "then", " after the condition")) {
        return NULL;
    }
    const bool line = !at_line_end(c);
    n->b = line ? one_line(c, line_stops) : block(c, block_stops);
    const pos_t again = c->tok.pos;
    if (n->b == NULL) {
        return NULL;
    }
    if (sl_accept(c, "elif")) {
        if (++c->depth > DEPTH_MAX / 2) {
            sl_error(c, again, "more than %d 'elif'", DEPTH_MAX / 2);
            c->failed = true;
            return NULL;
        }
        n->c = if_rest(c, again, false);
        c->depth--;
        if (n->c == NULL) {
            return NULL;
        }
    } else if (sl_accept(c, "else")) {
        n->c = !at_line_end(c) ? one_line(c, ends) : block(c, ends);
        if (n->c == NULL) {
            return NULL;
        }
    }
    if (mine && !sl_accept(c, "end") && !(line && at_line_end(c)) && !c->failed) {
        sl_error(c, c->tok.pos, "the 'if' of line %u has no 'end'", from.line);
    }
    return sl_join(c, n) ? n : NULL;
}

static node_t *if_statement(compiler_t *c)
{
    const pos_t from = c->tok.pos;
    sl_next(c);
    return if_rest(c, from, true);
}

static node_t *while_statement(compiler_t *c)
{
    node_t *n = sl_node(c, N_WHILE, c->tok.pos);
    sl_next(c);
    if (n == NULL || (n->a = sl_expression(c)) == NULL) {
        return NULL;
    }
    n->b = loop_body(c, "while", n->pos);
    return n->b != NULL && sl_join(c, n) ? n : NULL;
}

static node_t *repeat_statement(compiler_t *c)
{
    node_t *n = sl_node(c, N_REPEAT, c->tok.pos);
    sl_next(c);
    if (n == NULL || (n->a = sl_expression(c)) == NULL) {
        return NULL;
    }
    n->b = loop_body(c, "repeat", n->pos);
    return n->b != NULL && sl_join(c, n) ? n : NULL;
}

static node_t *for_statement(compiler_t *c)
{
    const pos_t from = c->tok.pos;
    node_t *n = sl_node(c, N_FOR, from);
    sl_next(c);
    if (n == NULL || !take_name(c, "the name of a variable", n) || !sl_expect(c, "in", " and a range such as 0..7") ||
        (n->a = sl_expression(c)) == NULL || !sl_expect(c, "..", " between the ends of the range") ||
        (n->b = sl_expression(c)) == NULL || (sl_accept(c, "step") && (n->d = sl_expression(c)) == NULL)) {
        return NULL;
    }
    n->c = loop_body(c, "for", from);
    return n->c != NULL && sl_join(c, n) ? n : NULL;
}

/* ---- sections -------------------------------------------------------------------------------------------- */

static node_t *on_section(compiler_t *c)
{
    static const struct {
        const char *name;
        int phase;
    } phases[] = {{"reset", 0}, {"before", 1}, {"after", 2}, {"timer", 3}, {"loop", 4}, {"start", 8}, {"return", 16}};
    node_t *n = sl_node(c, N_SECTION, c->tok.pos);
    sl_next(c);
    if (n == NULL) {
        return NULL;
    }
    n->value = -1;
    for (size_t i = 0; i < TW_COUNT(phases); i++) {
        n->value = sl_is(&c->tok, phases[i].name) ? phases[i].phase : n->value;
    }
    if (n->value >= 0) {
        sl_next(c);
    } else if (sl_accept(c, "call")) {
        n->a = sl_expression(c);
    }
    if (n->value < 0 && n->a == NULL) {
        sl_expected(c, "reset, before, after, timer, start, loop, return or 'call' and a number");
        return NULL;
    }
    n->b = block_end(c, "on", n->pos);
    return n->b != NULL && sl_join(c, n) ? n : NULL;
}

static node_t *every_section(compiler_t *c)
{
    node_t *n = sl_node(c, N_EVERY, c->tok.pos);
    sl_next(c);
    if (n == NULL || (n->a = sl_expression(c)) == NULL) {
        return NULL;
    }
    n->b = loop_body(c, "every", n->pos);
    return n->b != NULL && sl_join(c, n) ? n : NULL;
}

static node_t *parameters(compiler_t *c, node_t *func)
{
    node_t **tail = &func->list;
    while (!sl_is(&c->tok, ")")) {
        node_t *p = sl_node(c, N_LET, c->tok.pos);
        if (p == NULL || !take_name(c, "the name of a parameter", p) || !take_type(c, p, false)) {
            return NULL;
        }
        append(&tail, p);
        if (!sl_accept(c, ",") && !sl_is(&c->tok, ")")) {
            sl_expected(c, "',' or ')'");
            return NULL;
        }
    }
    sl_next(c);
    return func;
}

static node_t *func_section(compiler_t *c)
{
    const pos_t from = c->tok.pos;
    node_t *n = sl_node(c, N_FUNC, from);
    sl_next(c);
    if (n == NULL || !take_name(c, "the name of the function", n) || !sl_expect(c, "(", "") || !parameters(c, n) ||
        !take_type(c, n, false)) {
        return NULL;
    }
    n->b = block_end(c, "func", from);
    return n->b != NULL && sl_join(c, n) ? n : NULL;
}

static node_t *one_state(compiler_t *c)
{
    const pos_t from = c->tok.pos;
    node_t *n = sl_node(c, N_STATE, from);
    if (n == NULL || !sl_expect(c, "state", " of the machine, or 'end'") || !take_name(c, "the name of the state", n)) {
        return NULL;
    }
    (void)sl_accept(c, ":");
    skip_empty(c);
    const pos_t enter = c->tok.pos;
    if (sl_accept(c, "enter")) {
        n->a = !at_line_end(c) ? one_line(c, ends) : block(c, ends);
        if (n->a == NULL || !sl_expect(c, "end", " of the 'enter' part")) {
            return NULL;
        }
        n->a->pos = enter;
    }
    n->b = block_end(c, "state", from);
    return n->b != NULL && sl_join(c, n) ? n : NULL;
}

static node_t *machine_statement(compiler_t *c)
{
    node_t *n = sl_node(c, N_MACHINE, c->tok.pos);
    sl_next(c);
    if (n == NULL || (c->tok.kind == TK_NAME && !take_name(c, "the name of the machine", n))) {
        return NULL;
    }
    node_t **tail = &n->list;
    for (skip_empty(c); c->tok.kind != TK_END && !sl_is(&c->tok, "end"); skip_empty(c)) {
        node_t *s = one_state(c);
        if (s == NULL) {
            return NULL;
        }
        append(&tail, s);
    }
    if (!sl_accept(c, "end")) {
        sl_error(c, c->tok.pos, "the 'machine' of line %u has no 'end'", n->pos.line);
    }
    return sl_join(c, n) ? n : NULL;
}

/* ---- actions ------------------------------------------------------------------------------------------------ */

/* An integer that the compiler supplies. */
static node_t *number(compiler_t *c, double value)
{
    node_t *n = sl_node(c, N_NUMBER, c->tok.pos);
    if (n != NULL) {
        n->value = value;
        n->type = TYPE_INT;
        n->depth = 1;
    }
    return n;
}

static node_t *sys_node(compiler_t *c, uint8_t k, pos_t pos)
{
    node_t *n = sl_node(c, N_SYS, pos);
    if (n != NULL) {
        n->k = k;
    }
    return n;
}

/* gpio PIN = value | toggle */
static node_t *gpio_statement(compiler_t *c)
{
    const pos_t pos = c->tok.pos;
    sl_next(c);
    node_t *pin = sl_expression(c);
    if (pin == NULL || !sl_expect(c, "=", " and on, off, toggle or a value")) {
        return NULL;
    }
    if (sl_accept(c, "toggle")) {
        node_t *t = sl_node(c, N_TOGGLE, pos);
        if (t == NULL) {
            return NULL;
        }
        t->a = pin;
        return sl_join(c, t) ? t : NULL;
    }
    node_t *n = sys_node(c, 14, pos);
    if (n == NULL || (n->c = sl_expression(c)) == NULL) {
        return NULL;
    }
    n->a = number(c, 1);
    n->b = pin;
    return n->a != NULL && sl_join(c, n) ? n : NULL;
}

/* event TAG [, value] [, "text" | array] */
static node_t *event_statement(compiler_t *c)
{
    node_t *n = sys_node(c, 11, c->tok.pos);
    sl_next(c);
    if (n == NULL || (n->a = sl_expression(c)) == NULL) {
        return NULL;
    }
    while (sl_accept(c, ",") || c->tok.kind == TK_STRING) {
        node_t **to = c->tok.kind == TK_STRING || n->b != NULL ? &n->d : &n->b;
        if (*to != NULL) {
            sl_expected(c, "the end of the statement");
            return NULL;
        }
        if ((*to = sl_expression(c)) == NULL) {
            return NULL;
        }
    }
    return sl_join(c, n) ? n : NULL;
}

/* WORD a [, b [, c]] as r0, r1, r2 of a system call */
static node_t *plain_call(compiler_t *c, uint8_t k, unsigned least, unsigned most)
{
    node_t *n = sys_node(c, k, c->tok.pos);
    sl_next(c);
    if (n == NULL) {
        return NULL;
    }
    node_t **const to[] = {&n->a, &n->b, &n->c};
    for (unsigned i = 0; i < most; i++) {
        if (i >= least && !sl_is(&c->tok, ",")) {
            break;
        }
        if ((i > 0 && !sl_expect(c, ",", "")) || (*to[i] = sl_expression(c)) == NULL) {
            return NULL;
        }
    }
    return sl_join(c, n) ? n : NULL;
}

/* timer TIME [, SCRIPT] | timer off */
static node_t *timer_statement(compiler_t *c)
{
    node_t *n = sys_node(c, 13, c->tok.pos);
    sl_next(c);
    if (n == NULL || (n->a = number(c, 1)) == NULL) {
        return NULL;
    }
    if (sl_accept(c, "off")) {
        n->a->value = 2;
    } else if ((n->b = sl_expression(c)) == NULL) {
        return NULL;
    }
    if (sl_accept(c, ",") && (n->c = sl_expression(c)) == NULL) {
        return NULL;
    }
    if (n->c == NULL && (n->c = number(c, c->opts->script)) == NULL) {
        return NULL;
    }
    return sl_join(c, n) ? n : NULL;
}

/* A node's or an arc's name, or its number. */
static node_t *object(compiler_t *c, node_kind_t kind, const char *what)
{
    node_t *n = sl_node(c, kind, c->tok.pos);
    if (c->tok.kind != TK_NAME && c->tok.kind != TK_NUMBER) {
        sl_expected(c, what);
        return NULL;
    }
    sl_widen_name(c);
    if (n != NULL) {
        n->text = c->tok.p;
        n->n = c->tok.n;
        n->depth = 1;
        sl_next(c);
    }
    return n;
}

/* reset NODE */
static node_t *reset_statement(compiler_t *c)
{
    node_t *n = sys_node(c, 38, c->tok.pos);
    sl_next(c);
    (void)sl_accept(c, "node");
    if (n == NULL || (n->d = object(c, N_NODE, "the node to reset")) == NULL) {
        return NULL;
    }
    return sl_join(c, n) ? n : NULL;
}

/* npu submit SLOT, IN */
static node_t *npu_statement(compiler_t *c)
{
    node_t *n = sys_node(c, 10, c->tok.pos);
    sl_next(c);
    if (n == NULL || !sl_expect(c, "submit", " and the number of a model") || (n->a = number(c, 1)) == NULL ||
        (n->b = sl_expression(c)) == NULL || !sl_expect(c, ",", " and the array it computes from") ||
        (n->d = sl_expression(c)) == NULL) {
        return NULL;
    }
    return sl_join(c, n) ? n : NULL;
}

/* write ARC, ARRAY: its elements into an arc */
static node_t *write_statement(compiler_t *c)
{
    node_t *n = sys_node(c, 35, c->tok.pos);
    sl_next(c);
    (void)sl_accept(c, "arc");
    if (n == NULL || (n->b = object(c, N_ARC, "an arc")) == NULL || !sl_expect(c, ",", " and an array") ||
        (n->d = sl_expression(c)) == NULL) {
        return NULL;
    }
    return sl_join(c, n) ? n : NULL;
}

/* WORD expression */
static node_t *with_one(compiler_t *c, node_kind_t kind, bool optional)
{
    node_t *n = sl_node(c, kind, c->tok.pos);
    sl_next(c);
    if (n == NULL || (optional && (at_end(c) || sl_is(&c->tok, "end") || sl_is(&c->tok, "else")))) {
        return n;
    }
    if ((n->a = sl_expression(c)) == NULL) {
        return NULL;
    }
    return sl_join(c, n) ? n : NULL;
}

static node_t *app_statement(compiler_t *c)
{
    node_t *n = with_one(c, N_APP, false);
    if (n == NULL || (sl_accept(c, ",") && (n->b = sl_expression(c)) == NULL)) {
        return NULL;
    }
    return sl_join(c, n) ? n : NULL;
}

static node_t *bare(compiler_t *c, node_kind_t kind)
{
    node_t *n = sl_node(c, kind, c->tok.pos);
    sl_next(c);
    return n;
}

static node_t *goto_statement(compiler_t *c)
{
    node_t *n = sl_node(c, N_GOTO, c->tok.pos);
    sl_next(c);
    return n != NULL && take_name(c, "the name of a state", n) ? n : NULL;
}

/* target = value, target op= value, or a call */
static node_t *assignment(compiler_t *c)
{
    static const struct {
        const char *text;
        int op;
    } ops[] = {{"=", -1}, {"+=", OP_ADD}, {"-=", OP_SUB}, {"*=", OP_MUL}, {"/=", OP_DIV}};
    const pos_t pos = c->tok.pos;
    node_t *target = sl_expression(c);
    if (target == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < TW_COUNT(ops); i++) {
        if (sl_accept(c, ops[i].text)) {
            node_t *n = sl_node(c, N_ASSIGN, pos);
            if (n == NULL) {
                return NULL;
            }
            n->a = target;
            n->op = (uint8_t)ops[i].op;
            n->b = sl_is(&c->tok, "[") ? list_of_values(c) : sl_expression(c);
            return n->b != NULL && sl_join(c, n) ? n : NULL;
        }
    }
    node_t *n = sl_node(c, N_EVAL, pos);
    if (n == NULL) {
        return NULL;
    }
    n->a = target;
    return sl_join(c, n) ? n : NULL;
}

typedef node_t *(*parse_fn)(compiler_t *c);

static node_t *var_statement(compiler_t *c)
{
    return declaration(c, N_VAR);
}

static node_t *let_statement(compiler_t *c)
{
    return declaration(c, N_LET);
}

static node_t *const_statement(compiler_t *c)
{
    return declaration(c, N_CONST);
}

static node_t *table_statement(compiler_t *c)
{
    return declaration(c, N_TABLE);
}

static node_t *trace_statement(compiler_t *c)
{
    return plain_call(c, 5, 1, 3);
}

static node_t *usecase_statement(compiler_t *c)
{
    return plain_call(c, 12, 1, 1);
}

static node_t *run_statement(compiler_t *c)
{
    return with_one(c, N_RUN, false);
}

static node_t *return_statement(compiler_t *c)
{
    return with_one(c, N_RETURN, true);
}

static node_t *break_statement(compiler_t *c)
{
    return bare(c, N_BREAK);
}

static node_t *continue_statement(compiler_t *c)
{
    return bare(c, N_CONTINUE);
}

static node_t *skip_statement(compiler_t *c)
{
    return bare(c, N_SKIP);
}

static const struct {
    const char *word;
    parse_fn parse;
    bool top; /* only outside of sections and blocks */
} table[] = {
    {"if", if_statement, false},       {"while", while_statement, false},
    {"for", for_statement, false},     {"repeat", repeat_statement, false},
    {"var", var_statement, false},     {"let", let_statement, false},
    {"const", const_statement, false}, {"table", table_statement, false},
    {"on", on_section, true},          {"every", every_section, true},
    {"func", func_section, true},      {"machine", machine_statement, false},
    {"goto", goto_statement, false},   {"gpio", gpio_statement, false},
    {"event", event_statement, false}, {"trace", trace_statement, false},
    {"timer", timer_statement, false}, {"usecase", usecase_statement, false},
    {"reset", reset_statement, false}, {"npu", npu_statement, false},
    {"write", write_statement, false}, {"run", run_statement, false},
    {"app", app_statement, false},     {"return", return_statement, false},
    {"break", break_statement, false}, {"continue", continue_statement, false},
    {"skip", skip_statement, false},
};

static node_t *statement(compiler_t *c)
{
    for (size_t i = 0; i < TW_COUNT(table); i++) {
        if (!sl_is(&c->tok, table[i].word)) {
            continue;
        }
        if (table[i].top && c->depth > 0) {
            sl_error(c, c->tok.pos, "'%s' stands outside of other blocks; is an 'end' missing before it?",
                     table[i].word);
            return NULL;
        }
        return table[i].parse(c);
    }
    if (sl_is(&c->tok, "end") || sl_is(&c->tok, "else") || sl_is(&c->tok, "elif")) {
        sl_error(c, c->tok.pos, "'%.*s' without anything to %s", (int)c->tok.n, c->tok.p,
                 sl_is(&c->tok, "end") ? "end" : "go with");
        sl_next(c);
        return NULL;
    }
    return assignment(c);
}

void sl_parse(compiler_t *c)
{
    static const char *const none[] = {NULL};
    sl_next(c);
    c->program = statements(c, none, false);
}
