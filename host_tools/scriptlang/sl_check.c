/* sl_check.c - statements: what they declare, what they need, where they may stand. */
#include "engine/base/crc.h"
#include "host_tools/scriptlang/sl_check_priv.h"
#include <math.h>
#include <stdio.h>

static bool check_block(compiler_t *c, node_t *b);

enum { UNIT_MS = 68, MEMORY_MAX = 4096, LOCALS_MAX = 1000 };

/* ---- memory and locals ----------------------------------------------------------------------------- */

static void mark(compiler_t *c, const void *p, size_t n)
{
    c->mark_crc = tw_crc32c(c->mark_crc, p, (uint32_t)n);
}

/* Room for what lasts from call to call; the first of it goes behind the mark. */
static uint32_t take_memory(compiler_t *c, uint32_t bytes, pos_t pos)
{
    if (c->opts->shared && !c->has_vars) {
        sl_error(c, pos, "the script's memory is shared (script_mem_shared 1): nothing in it lasts to the next call");
    }
    c->var_bytes = c->has_vars ? c->var_bytes : 4;
    c->has_vars = true;
    const uint32_t at = c->var_bytes;
    c->var_bytes += tw_round_up(bytes, 4);
    if (c->var_bytes > MEMORY_MAX && !c->failed) {
        sl_error(c, pos, "variables need more than %d bytes", MEMORY_MAX);
        c->failed = true;
    }
    mark(c, &bytes, sizeof bytes);
    return at;
}

static uint16_t take_local(compiler_t *c, pos_t pos)
{
    const uint16_t at = c->locals++;
    uint16_t *most = c->function != NULL ? &c->function->locals : &c->main_locals;
    *most = (uint16_t)tw_max_u32(*most, c->locals);
    if (c->locals > LOCALS_MAX && !c->failed) {
        sl_error(c, pos, "more than %d local variables", LOCALS_MAX);
        c->failed = true;
    }
    return at;
}

/* ---- declarations ----------------------------------------------------------------------------------- */

static bool check_values(compiler_t *c, symbol_t *s, node_t *list)
{
    char what[100];
    uint32_t n = 0;
    (void)snprintf(what, sizeof what, "an element of '%.*s'", (int)s->n, s->name);
    for (node_t **at = &list->list; *at != NULL; at = &(*at)->next, n++) {
        node_t *next = (*at)->next;
        const bool wide = s->element == TW_T_FP32;
        static const double low[] = {-128, 0, -32768, 0, -2147483648.0},
                            high[] = {127, 255, 32767, 65535, 2147483647.0};
        if (!sl_check_expression(c, at) || (!wide && !sl_need_int(c, *at, what))) {
            return false;
        }
        if (!sl_is_number(*at)) {
            sl_error(c, (*at)->pos, "%s has to be a constant", what);
            return false;
        }
        if (!wide && ((*at)->value < low[s->element] || (*at)->value > high[s->element])) {
            sl_error(c, (*at)->pos, "%s is %.0f..%.0f, not %.0f", what, low[s->element], high[s->element],
                     (*at)->value);
            return false;
        }
        (*at)->type = wide ? TYPE_FLOAT : TYPE_INT;
        s->unit = n == 0 ? (*at)->unit : s->unit;
        (*at)->next = next;
    }
    s->length = s->kind == SYM_TABLE ? n : s->length;
    if (n == 0 || n > s->length) {
        sl_error(c, list->pos, n == 0 ? "an empty list" : "%u values for %u elements", n, s->length);
        return false;
    }
    s->values = list->list;
    return true;
}

/* "table t = [1, 2.5]": floats when one of them is. */
static uint8_t element_of(const node_t *n)
{
    if (n->k != 255) {
        return n->k;
    }
    for (const node_t *e = n->a != NULL && n->flag ? n->a->list : NULL; e != NULL; e = e->next) {
        const node_t *v = e->kind == N_UNARY ? e->a : e;
        if (v->type == TYPE_FLOAT || v->unit != UNIT_NONE) {
            return TW_T_FP32;
        }
    }
    return TW_T_I32;
}

static bool check_array(compiler_t *c, node_t *n)
{
    if (n->kind == N_VAR && !sl_need_constant(c, &n->b, "the length of an array", 1, MEMORY_MAX)) {
        return false;
    }
    symbol_t *s = sl_declare(c, n->kind == N_VAR ? SYM_VAR : SYM_TABLE, n);
    if (s == NULL) {
        return false;
    }
    s->array = true;
    s->element = element_of(n);
    s->type = s->element == TW_T_FP32 ? TYPE_FLOAT : TYPE_INT;
    s->length = n->kind == N_VAR ? (uint32_t)n->b->value : 0;
    s->fixed = n->kind == N_TABLE;
    n->sym = s;
    if (n->a != NULL && !check_values(c, s, n->a)) {
        return false;
    }
    if (n->kind == N_VAR) {
        mark(c, s->name, s->n);
        for (const node_t *e = s->values; e != NULL; e = e->next) {
            mark(c, &e->value, sizeof e->value);
        }
        s->at = take_memory(c, s->length * sl_stype_bytes(s->element), n->pos);
    }
    return true;
}

/* Type and value of a scalar from what it is given. */
static bool first_value(compiler_t *c, node_t *n)
{
    if (n->a == NULL) {
        n->type = n->type == TYPE_NONE ? TYPE_INT : n->type;
        return true;
    }
    if (!sl_check_expression(c, &n->a)) {
        return false;
    }
    if (n->type == TYPE_NONE) {
        if (n->a->type == TYPE_NONE) {
            sl_error(c, n->a->pos, "this has no value");
            return false;
        }
        n->type = n->a->type;
    }
    char what[100];
    (void)snprintf(what, sizeof what, "'%.*s'", (int)n->n, n->text);
    return sl_need_type(c, &n->a, (type_t)n->type, what);
}

static bool check_scalar(compiler_t *c, node_t *n)
{
    static const uint8_t kinds[] = {[N_VAR] = SYM_VAR, [N_LET] = SYM_LET, [N_CONST] = SYM_CONST};
    if (!first_value(c, n)) {
        return false;
    }
    if (n->kind != N_LET && n->a != NULL && !sl_is_number(n->a)) {
        sl_error(c, n->a->pos, "%s begins with a constant", n->kind == N_VAR ? "a variable that lasts" : "a constant");
        if (n->kind == N_VAR) {
            sl_note(c, n->a->pos, "let makes a variable of this call from any value");
        }
        return false;
    }
    symbol_t *s = sl_declare(c, (symbol_kind_t)kinds[n->kind], n);
    if (s == NULL) {
        return false;
    }
    n->sym = s;
    s->type = n->type;
    s->unit = n->a != NULL ? n->a->unit : UNIT_NONE;
    s->value = n->a != NULL && sl_is_number(n->a) ? n->a->value : 0;
    s->fixed = n->kind == N_CONST;
    if (n->kind == N_VAR) {
        mark(c, s->name, s->n);
        mark(c, &s->value, sizeof s->value);
        mark(c, &s->type, sizeof s->type);
        s->at = take_memory(c, 4, n->pos);
        n->flag = false;
    } else if (n->kind == N_LET) {
        s->at = take_local(c, n->pos);
    }
    return true;
}

/* ---- assignment --------------------------------------------------------------------------------------- */

static bool check_range(compiler_t *c, const node_t *target, const node_t *e)
{
    const tw_sl_param_t *p = target->param;
    if (!sl_is_number(e) || (p->min == 0 && p->max == 0) || (e->value >= p->min && e->value <= p->max)) {
        return true;
    }
    const char *unit = p->unit != 0 ? tw_unit_text(p->unit) : "";
    sl_error(c, e->pos, "'%.*s' takes %g..%g%s%s, not %g", (int)target->n, target->text, p->min, p->max,
             *unit != 0 ? " " : "", unit, e->value);
    return false;
}

/* node.parameter = value, or a table for all its elements */
static bool assign_parameter(compiler_t *c, node_t *n)
{
    node_t *target = n->a;
    char what[140];
    (void)snprintf(what, sizeof what, "'%.*s'", (int)tw_min_u32(target->n, 100), target->text);
    if (!sl_parameter(c, target)) {
        return false;
    }
    const tw_sl_param_t *p = target->param;
    const int stype = sl_stype_of_raw(p->raw);
    if (p->read_only || stype < 0) {
        sl_error(c, target->pos, "%s %s", what,
                 p->read_only ? "can only be read" : "has a type that scripts do not know");
        return false;
    }
    symbol_t *table = n->b->kind == N_NAME ? sl_lookup(c, n->b->text, n->b->n) : NULL;
    if (table != NULL && table->array) {
        if (table->length != p->count || table->element != stype) {
            sl_error(c, n->b->pos, "%s has %u elements of another type or number than '%.*s'", what, p->count,
                     (int)table->n, table->name);
            return false;
        }
        table->used = true;
        n->b->sym = table;
        target->buffer = table;
        return true;
    }
    if (p->count != 1) {
        sl_error(c, n->b->pos, "%s has %u elements: give it a table of as many", what, p->count);
        return false;
    }
    const type_t type = stype >= TW_T_FP16 && stype <= TW_T_FP64 ? TYPE_FLOAT : TYPE_INT;
    return sl_check_expression(c, &n->b) && sl_in_unit(c, &n->b, p->unit, what) && sl_need_type(c, &n->b, type, what) &&
           check_range(c, target, n->b);
}

static bool is_parameter(compiler_t *c, const node_t *n)
{
    return n->kind == N_NAME && sl_lookup(c, n->text, n->n) == NULL && memchr(n->text, '.', n->n) != NULL;
}

static bool may_assign(compiler_t *c, const node_t *target)
{
    if (target->kind != N_SYMBOL && target->kind != N_INDEX) {
        sl_error(c, target->pos, "this is not something that can be set");
        return false;
    }
    if (target->sym->fixed) {
        sl_error(c, target->pos, "'%.*s' does not change: it is %s", (int)target->sym->n, target->sym->name,
                 target->sym->ranged              ? "counted by its loop"
                 : target->sym->kind == SYM_TABLE ? "a table of constants"
                                                  : "a constant");
        return false;
    }
    return true;
}

/* x += y becomes x = x + y, of a copy of x. */
static bool spread(compiler_t *c, node_t *n)
{
    node_t *left = sl_node(c, N_NAME, n->pos);
    node_t *sum = sl_node(c, N_BINARY, n->pos);
    if (left == NULL || sum == NULL) {
        return false;
    }
    *left = *n->a;
    left->next = NULL;
    if (left->kind == N_INDEX && left->a != NULL && left->a->kind != N_NUMBER && left->a->kind != N_NAME) {
        sl_error(c, left->pos, "write this as an assignment: the index would be worked out twice");
        return false;
    }
    if (left->kind == N_INDEX) {
        node_t *index = sl_node(c, N_NAME, n->pos);
        if (index == NULL) {
            return false;
        }
        *index = *left->a;
        left->a = index;
    }
    sum->op = n->op;
    sum->a = left;
    sum->b = n->b;
    n->b = sum;
    n->op = 255;
    return sl_join(c, sum);
}

static bool check_assign(compiler_t *c, node_t *n)
{
    if (n->op != 255 && !spread(c, n)) {
        return false;
    }
    if (is_parameter(c, n->a)) {
        return assign_parameter(c, n);
    }
    if (n->a->kind == N_NAME && sl_lookup(c, n->a->text, n->a->n) == NULL) {
        sl_unknown(c, "name", n->a->text, n->a->n, n->a->pos, false);
        sl_note(c, n->a->pos, "a variable is declared with var (it lasts) or let (for this call)");
        return false;
    }
    const symbol_t *constant = n->a->kind == N_NAME ? sl_lookup(c, n->a->text, n->a->n) : NULL;
    if (constant != NULL && constant->kind == SYM_CONST) {
        sl_error(c, n->a->pos, "'%.*s' does not change: it is a constant", (int)n->a->n, n->a->text);
        return false;
    }
    char what[100];
    (void)snprintf(what, sizeof what, "'%.*s'", (int)tw_min_u32(n->a->n, NAME_CHARS), n->a->text);
    return sl_check_expression(c, &n->a) && may_assign(c, n->a) && sl_check_expression(c, &n->b) &&
           sl_meet(c, n->a, n->b, n->b->pos, what) && sl_need_type(c, &n->b, (type_t)n->a->type, what);
}

/* ---- control ------------------------------------------------------------------------------------------- */

static bool check_condition(compiler_t *c, node_t **e)
{
    if (!sl_check_expression(c, e)) {
        return false;
    }
    if ((*e)->type != TYPE_INT) {
        sl_error(c, (*e)->pos, "a condition is a comparison or a whole number%s",
                 (*e)->type == TYPE_FLOAT ? ", not a float" : "");
        return false;
    }
    return true;
}

static bool check_loop_body(compiler_t *c, node_t *body)
{
    c->loops++;
    const bool ok = check_block(c, body);
    c->loops--;
    return ok;
}

static bool check_for(compiler_t *c, node_t *n)
{
    if (!sl_check_expression(c, &n->a) || !sl_need_int(c, n->a, "the beginning of a range") ||
        !sl_check_expression(c, &n->b) || !sl_need_int(c, n->b, "the end of a range")) {
        return false;
    }
    n->value = 1;
    if (n->d != NULL) {
        if (!sl_need_constant(c, &n->d, "a step", -1000000, 1000000)) {
            return false;
        }
        n->value = n->d->value;
    }
    if (n->value == 0) {
        sl_error(c, n->d->pos, "a step of 0 never ends");
        return false;
    }
    symbol_t *outer = c->scope;
    const uint16_t locals = c->locals;
    symbol_t *s = sl_declare(c, SYM_LET, n);
    if (s == NULL) {
        return false;
    }
    s->type = TYPE_INT;
    s->fixed = true;
    s->at = take_local(c, n->pos);
    s->ranged = sl_is_number(n->a) && sl_is_number(n->b);
    s->low = n->value > 0 ? n->a->value : n->b->value;
    s->high = n->value > 0 ? n->b->value : n->a->value;
    n->sym = s;
    n->local = sl_is_number(n->b) ? 0 : take_local(c, n->pos);
    const bool ok = check_loop_body(c, n->c);
    c->scope = outer;
    c->locals = locals;
    return ok;
}

static bool check_repeat(compiler_t *c, node_t *n)
{
    if (!sl_check_expression(c, &n->a) || !sl_need_int(c, n->a, "a number of times")) {
        return false;
    }
    const uint16_t locals = c->locals;
    n->local = take_local(c, n->pos); /* for those that cannot use the machine's counter */
    const bool ok = check_loop_body(c, n->b);
    c->locals = locals;
    if (c->function != NULL) {
        c->function->loops = true;
    }
    return ok;
}

/* ---- machines ------------------------------------------------------------------------------------------- */

static node_t *state_of(node_t *machine, const char *p, uint32_t n, int *index)
{
    *index = 0;
    for (node_t *s = machine->list; s != NULL; s = s->next, (*index)++) {
        if (s->n == n && memcmp(s->text, p, n) == 0) {
            return s;
        }
    }
    return NULL;
}

static bool check_states(compiler_t *c, node_t *n)
{
    int index;
    bool ok = true;
    for (node_t *s = n->list; s != NULL; s = s->next) {
        mark(c, s->text, s->n);
        if (state_of(n, s->text, s->n, &index) != s) {
            sl_error(c, s->pos, "two states are named '%.*s'", (int)s->n, s->text);
            return false;
        }
        s->flag = s->a != NULL;
        n->flag |= s->flag;
        ok = (s->a == NULL || check_block(c, s->a)) && check_block(c, s->b) && ok;
    }
    return ok;
}

static bool check_machine(compiler_t *c, node_t *n)
{
    unsigned states = 0;
    for (const node_t *s = n->list; s != NULL; s = s->next) {
        states++;
    }
    if (states == 0 || states > 60) {
        sl_error(c, n->pos, "a machine has 1 to 60 states, this one %u", states);
        return false;
    }
    if (c->function != NULL) {
        sl_error(c, n->pos, "a machine stands in a section, not in a function");
        return false;
    }
    n->local = (uint16_t)take_memory(c, 4, n->pos);
    node_t *outer = c->machine;
    const unsigned loops = c->loops;
    c->machine = n;
    c->loops = 0; /* break and continue do not leave a state */
    const bool ok = check_states(c, n);
    c->machine = outer;
    c->loops = loops;
    return ok;
}

static bool check_goto(compiler_t *c, node_t *n)
{
    int index;
    if (c->machine == NULL) {
        sl_error(c, n->pos, "'goto' stands in a state of a machine");
        return false;
    }
    const node_t *s = state_of(c->machine, n->text, n->n, &index);
    if (s == NULL) {
        sl_error(c, n->pos, "the machine has no state '%.*s'", (int)n->n, n->text);
        sl_note(c, c->machine->pos, "the machine begins here");
        return false;
    }
    n->value = index;
    return true;
}

/* ---- actions ---------------------------------------------------------------------------------------------- */

static bool any_value(compiler_t *c, node_t **e)
{
    if (*e == NULL) {
        return true;
    }
    if (!sl_check_expression(c, e)) {
        return false;
    }
    if ((*e)->type == TYPE_NONE) {
        sl_error(c, (*e)->pos, "this has no value");
        return false;
    }
    return true;
}

static bool whole(compiler_t *c, node_t **e, const char *what)
{
    return *e == NULL || (any_value(c, e) && sl_need_int(c, *e, what));
}

static bool pin(compiler_t *c, node_t **e)
{
    if (!whole(c, e, "a pin")) {
        return false;
    }
    if (sl_is_number(*e) && ((*e)->value < 0 || (*e)->value > 31)) {
        sl_error(c, (*e)->pos, "pins are 0..31, not %.0f", (*e)->value);
        return false;
    }
    return true;
}

/* A time in whole milliseconds. */
static bool milliseconds(compiler_t *c, node_t **e, const char *what)
{
    if (!any_value(c, e) || !sl_in_unit(c, e, UNIT_MS, what)) {
        return false;
    }
    if (sl_is_number(*e)) {
        (*e)->value = floor((*e)->value + 0.5);
        (*e)->type = TYPE_INT;
    }
    return sl_need_int(c, *e, what);
}

static bool check_timer(compiler_t *c, node_t *n)
{
    return (n->b == NULL || milliseconds(c, &n->b, "a timer")) && whole(c, &n->c, "the number of a script");
}

static bool check_buffers(compiler_t *c, node_t *n, const char *what)
{
    return (n->d == NULL || sl_need_buffer(c, n->d, what, n->k == 11)) &&
           (n->list == NULL || sl_need_buffer(c, n->list, what, false));
}

static bool check_arc(compiler_t *c, node_t *n)
{
    const int64_t arc = sl_object(c, TW_SL_ARC, n->b->text, n->b->n, n->b->pos);
    n->b = NULL;
    n->tag = 1;
    n->index = (uint16_t)arc;
    return arc >= 0 && sl_need_buffer(c, n->d, "what is written to an arc", false);
}

static bool check_reset(compiler_t *c, node_t *n)
{
    const int64_t node = sl_object(c, TW_SL_NODE, n->d->text, n->d->n, n->d->pos);
    n->d = NULL;
    n->tag = 1;
    n->index = (uint16_t)node;
    return node >= 0;
}

static bool check_event(compiler_t *c, node_t *n)
{
    enum { EVENT_BYTES = 128 };
    if (n->b != NULL && n->b->kind == N_NAME && n->d == NULL) { /* "event 5, array" */
        const symbol_t *s = sl_lookup(c, n->b->text, n->b->n);
        n->d = s != NULL && s->array ? n->b : NULL;
        n->b = n->d != NULL ? NULL : n->b;
    }
    if (!whole(c, &n->a, "the tag of an event") || !whole(c, &n->b, "the value of an event") ||
        !check_buffers(c, n, "what an event carries")) {
        return false;
    }
    const uint32_t bytes = n->d == NULL           ? 0
                           : n->d->kind == N_TEXT ? n->d->n
                                                  : n->d->sym->length * sl_stype_bytes(n->d->sym->element);
    if (bytes > EVENT_BYTES) {
        sl_error(c, n->d->pos, "an event carries at most %d bytes, this has %u", EVENT_BYTES, bytes);
        return false;
    }
    return true;
}

static bool check_sys(compiler_t *c, node_t *n)
{
    switch (n->k) {
    case 5:
        return whole(c, &n->a, "the format of a trace") && any_value(c, &n->b) && any_value(c, &n->c);
    case 10:
        return whole(c, &n->b, "a model's slot") && check_buffers(c, n, "a tensor");
    case 11:
        return check_event(c, n);
    case 12:
        return whole(c, &n->a, "a use case");
    case 13:
        return check_timer(c, n);
    case 14:
        return pin(c, &n->b) && whole(c, &n->c, "the level of a pin");
    case 35:
        return check_arc(c, n);
    default:
        return check_reset(c, n);
    }
}

static bool check_run(compiler_t *c, node_t *n)
{
    char digits[16];
    if (n->a->kind == N_NAME) {
        const int64_t i = sl_object(c, TW_SL_SCRIPT, n->a->text, n->a->n, n->a->pos);
        n->value = (double)i;
        return i >= 0;
    }
    if (!sl_need_constant(c, &n->a, "the number of a script", 0, 63)) {
        return false;
    }
    n->value = n->a->value;
    const int k = snprintf(digits, sizeof digits, "%.0f", n->value);
    return sl_object(c, TW_SL_SCRIPT, digits, (uint32_t)k, n->a->pos) >= 0;
}

static bool check_return(compiler_t *c, node_t *n)
{
    const symbol_t *f = c->function;
    if (f == NULL) { /* of a call: what the flag T will be */
        return n->a == NULL || check_condition(c, &n->a);
    }
    if ((n->a == NULL) != (f->type == TYPE_NONE)) {
        sl_error(c, n->pos,
                 f->type == TYPE_NONE ? "'%.*s' gives no value; declare it as func %.*s(..): int or float"
                                      : "'%.*s' gives a value: return what? (func %.*s)",
                 (int)f->n, f->name, (int)f->n, f->name);
        return false;
    }
    return n->a == NULL || (any_value(c, &n->a) && sl_need_type(c, &n->a, (type_t)f->type, "the result"));
}

/* ---- functions and sections -------------------------------------------------------------------------------- */

static bool check_function(compiler_t *c, node_t *n)
{
    if (c->n_functions >= FUNCTIONS_MAX) {
        sl_error(c, n->pos, "more than %d functions", FUNCTIONS_MAX);
        return false;
    }
    symbol_t *f = sl_declare(c, SYM_FUNC, n);
    if (f == NULL) {
        return false;
    }
    f->type = n->type;
    f->level = 1;
    f->body = n->b;
    f->params = n->list;
    f->number = c->n_functions;
    c->functions[c->n_functions++] = f;
    n->sym = f;
    symbol_t *outer = c->scope;
    const uint16_t locals = c->locals;
    c->function = f;
    c->locals = 0;
    bool ok = true;
    for (node_t *p = n->list; p != NULL && ok; p = p->next) {
        p->sym = sl_declare(c, SYM_LET, p);
        ok = p->sym != NULL;
        if (ok) {
            p->sym->type = p->type == TYPE_NONE ? TYPE_INT : p->type;
            p->sym->at = take_local(c, p->pos);
        }
    }
    ok = ok && check_block(c, n->b);
    c->function = NULL;
    c->scope = outer;
    c->locals = locals;
    f->made = true;
    if (f->level > TW_SCRIPT_CALL_DEPTH) {
        sl_error(c, n->pos, "functions call one another %u deep, the machine has %d", f->level, TW_SCRIPT_CALL_DEPTH);
        ok = false;
    }
    return ok;
}

static bool check_section(compiler_t *c, node_t *n)
{
    if (n->a != NULL) {
        if (!sl_need_constant(c, &n->a, "a phase", 0, 127)) {
            return false;
        }
        n->value = n->a->value;
        n->a = NULL;
    }
    for (const node_t *s = c->program->list; s != n; s = s->next) {
        if (s->kind == N_SECTION && s->value == n->value) {
            sl_error(c, n->pos, "there is such a section already");
            sl_note(c, s->pos, "the first one is here");
            return false;
        }
    }
    c->in_section = true;
    const bool ok = check_block(c, n->b);
    c->in_section = false;
    return ok;
}

static bool check_every(compiler_t *c, node_t *n)
{
    if (!milliseconds(c, &n->a, "a period")) {
        return false;
    }
    if (!sl_is_number(n->a) || n->a->value < 1 || n->a->value > 2000000) {
        sl_error(c, n->a->pos, "a period is a constant of 1 ms .. 2000 s");
        return false;
    }
    n->local = (uint16_t)take_memory(c, 4, n->pos);
    mark(c, &n->a->value, sizeof n->a->value);
    return check_block(c, n->b);
}

static bool check_statement(compiler_t *c, node_t *n)
{
    switch ((node_kind_t)n->kind) {
    case N_BLOCK:
        return check_block(c, n);
    case N_VAR:
        return n->flag ? check_array(c, n) : check_scalar(c, n);
    case N_TABLE:
        return check_array(c, n);
    case N_LET:
    case N_CONST:
        return check_scalar(c, n);
    case N_ASSIGN:
        return check_assign(c, n);
    case N_EVAL:
        if (!sl_check_expression(c, &n->a)) {
            return false;
        }
        if (n->a->kind != N_CALL && n->a->kind != N_SYS && !(n->a->kind == N_BINARY && n->a->a->kind == N_SYS)) {
            sl_error(c, n->pos, "this has no effect; '=' sets a value, '==' compares");
            return false;
        }
        return true;
    case N_TOGGLE:
        return pin(c, &n->a);
    case N_IF:
        if (!check_condition(c, &n->a)) {
            return false;
        }
        return (int)check_block(c, n->b) &
               (int)(n->c == NULL || (n->c->kind == N_BLOCK ? check_block(c, n->c) : check_statement(c, n->c)));
    case N_WHILE:
        return check_condition(c, &n->a) && check_loop_body(c, n->b);
    case N_FOR:
        return check_for(c, n);
    case N_REPEAT:
        return check_repeat(c, n);
    case N_BREAK:
    case N_CONTINUE:
        if (c->loops == 0) {
            sl_error(c, n->pos, "'%s' stands in a loop", n->kind == N_BREAK ? "break" : "continue");
        }
        return c->loops > 0;
    case N_RETURN:
        return check_return(c, n);
    case N_SKIP:
        if (c->function != NULL) {
            sl_error(c, n->pos, "'skip' stands in a section, not in a function");
        }
        return c->function == NULL;
    case N_SECTION:
        return check_section(c, n);
    case N_EVERY:
        return check_every(c, n);
    case N_FUNC:
        return check_function(c, n);
    case N_MACHINE:
        return check_machine(c, n);
    case N_GOTO:
        return check_goto(c, n);
    case N_SYS:
        return check_sys(c, n);
    case N_RUN:
        return check_run(c, n);
    case N_APP:
        return sl_need_constant(c, &n->a, "the number of an application callback", 0, 63) &&
               whole(c, &n->b, "what the application gets");
    default:
        return false;
    }
}

static bool check_list(compiler_t *c, node_t *b)
{
    bool ok = true;
    for (node_t *n = b->list; n != NULL && !c->failed; n = n->next) {
        ok = check_statement(c, n) && ok;
    }
    return ok;
}

static bool check_block(compiler_t *c, node_t *b)
{
    symbol_t *outer = c->scope;
    const uint16_t locals = c->locals;
    const bool ok = check_list(c, b);
    c->scope = outer;
    c->locals = locals;
    return ok;
}

void sl_check(compiler_t *c)
{
    for (const node_t *n = c->program->list; n != NULL; n = n->next) {
        c->sections |= n->kind == N_SECTION;
    }
    (void)check_list(c, c->program);
}
