/* sl_gen.c - statements and sections to instructions; the frame around them.
 *
 *   main part:  keep the phase, values of variables when they are new, the statements outside of sections,
 *               then the section of the phase. Functions follow.
 */
#include "host_tools/scriptlang/sl_gen_priv.h"
#include <stdlib.h>

static void block(gen_t *g, const node_t *b);
static void statement(gen_t *g, const node_t *n);

enum { PHASE_BEFORE = 1, NOWHERE = 0xFFFFFFFF };

static void set_t(gen_t *g, bool value)
{
    sl_rs8(g, K_EQK, ZERO, value ? 0 : 1);
}

static void leave(gen_t *g)
{
    sl_put(g, (unsigned)K_RET << 8);
    g->reach = false;
}

/* The longer of two ways: `before` at the fork, `first` at the end of the one. */
static void longer(gen_t *g, uint32_t first)
{
    g->cost = tw_max_u32(g->cost, first);
}

/* ---- values ------------------------------------------------------------------------------------------ */

/* x = x op y, in the register of x */
static bool in_place(gen_t *g, const symbol_t *s, const node_t *e)
{
    static const uint8_t keys[] = {[OP_ADD] = K_ADD, [OP_SUB] = K_SUB, [OP_MUL] = K_MUL, [OP_DIV] = K_DIV,
                                   [OP_MOD] = K_MOD, [OP_AND] = K_AND, [OP_OR] = K_OR,   [OP_XOR] = K_XOR};
    const unsigned x = sl_local_register(g, s);
    if (x == 0 || e->kind != N_BINARY || e->op > OP_XOR || e->a->kind != N_SYMBOL || e->a->sym != s) {
        return false;
    }
    const bool small = e->b->kind == N_NUMBER && e->b->value == (int)e->b->value;
    if (small && e->op == OP_ADD && e->b->value >= -128 && e->b->value <= 127) {
        sl_rs8(g, K_ADDK, x, (int)e->b->value);
        return true;
    }
    if (small && e->op == OP_SUB && e->b->value >= -127 && e->b->value <= 128) {
        sl_rs8(g, K_ADDK, x, -(int)e->b->value);
        return true;
    }
    unsigned y = R1;
    if (sl_is_simple(e->b)) {
        y = sl_operand(g, e->b, R2);
    } else {
        sl_value(g, e->b);
    }
    sl_xy(g, keys[e->op], x, y);
    return true;
}

static void assign_symbol(gen_t *g, const symbol_t *s, const node_t *e)
{
    const unsigned local = sl_local_register(g, s);
    if (in_place(g, s, e)) {
        return;
    }
    if (local != 0) {
        sl_value_in(g, e, local);
        return;
    }
    sl_value(g, e);
    sl_store(g, s);
}

static void assign(gen_t *g, const node_t *n)
{
    switch (n->a->kind) {
    case N_SYMBOL:
        assign_symbol(g, n->a->sym, n->b);
        break;
    case N_INDEX:
        sl_store_index(g, n->a, n->b);
        break;
    default:
        sl_set_parameter(g, n->a, n->b);
        break;
    }
}

static void evaluate(gen_t *g, const node_t *e)
{
    if (e->kind == N_SYS) {
        sl_system_call(g, e, false);
    } else {
        sl_value(g, e);
    }
}

/* A pin becomes what it is not. */
static void toggle(gen_t *g, const node_t *n)
{
    const bool simple = sl_is_simple(n->a);
    sl_value(g, n->a);
    if (!simple) {
        sl_push(g, R1);
    }
    sl_small(g, R0, 0);
    sl_callsys(g, SYS_GPIO);
    sl_small(g, R2, 1);
    sl_xy(g, K_SUB, R2, R1);
    if (simple) {
        sl_value(g, n->a);
    } else {
        sl_pop(g, R1);
    }
    sl_small(g, R0, 1);
    sl_callsys(g, SYS_GPIO);
}

/* ---- branches and loops -------------------------------------------------------------------------------- */

static bool is_plain_test(const node_t *e)
{
    while (e->kind == N_UNARY && e->op == OP_NOT) {
        e = e->a;
    }
    return e->kind != N_NUMBER && (e->kind != N_BINARY || (e->op != OP_BOTH && e->op != OP_EITHER));
}

/* "if .. then f()": one conditional call instead of a jump around it. */
static bool conditional_call(gen_t *g, const node_t *n)
{
    const node_t *s = n->b->list;
    if (n->c != NULL || s == NULL || s->next != NULL || !is_plain_test(n->a)) {
        return false;
    }
    if (s->kind == N_RUN) {
        sl_test(g, n->a, true);
        g->line = s->pos.line;
        sl_put(g, (unsigned)K_CALLAPP << 8 | 0x80u | 0x40u | (unsigned)s->value);
        g->bounded = false;
    } else if (s->kind == N_EVAL && s->a->kind == N_CALL && s->a->list == NULL) {
        const symbol_t *f = s->a->sym;
        sl_test(g, n->a, true);
        g->line = s->pos.line;
        sl_jump(g, I_CCALL, f->label);
        g->most_depth = tw_max_u32(g->most_depth, g->depth + f->stack);
        g->cost += f->cost;
        g->bounded &= f->bounded;
    } else {
        return false;
    }
    g->arg = (place_t){false, -1, -1};
    g->mem = (place_t){true, -1, -1};
    return true;
}

static void if_statement(gen_t *g, const node_t *n)
{
    if (conditional_call(g, n)) {
        return;
    }
    const uint32_t other = sl_label(g), end = sl_label(g);
    sl_jump_if(g, n->a, other, false);
    const uint32_t fork = g->cost;
    block(g, n->b);
    const uint32_t first = g->cost + 1;
    if (n->c != NULL) {
        sl_jump(g, I_JUMP, end);
    }
    g->cost = fork;
    sl_place(g, other, false);
    if (n->c != NULL) {
        if (n->c->kind == N_BLOCK) {
            block(g, n->c);
        } else {
            statement(g, n->c);
        }
        sl_place(g, end, false);
    }
    longer(g, first + 1);
}

typedef struct loop {
    uint32_t break_to, continue_to, cost;
} loop_t;

static loop_t open_loop(gen_t *g)
{
    const loop_t outer = {g->break_to, g->continue_to, g->cost};
    g->break_to = sl_label(g);
    g->continue_to = sl_label(g);
    return outer;
}

/* @param times  most turns, 0 not known */
static void close_loop(gen_t *g, const loop_t *outer, uint32_t head, double times)
{
    const double cost = head + times * (g->cost - head);
    sl_place(g, g->break_to, false);
    g->cost = cost > 1e9 ? 1000000000u : (uint32_t)cost + 1;
    g->bounded &= times > 0;
    g->break_to = outer->break_to;
    g->continue_to = outer->continue_to;
}

static void while_statement(gen_t *g, const node_t *n)
{
    const loop_t outer = open_loop(g);
    const uint32_t top = sl_label(g);
    const bool forever = n->a->kind == N_NUMBER && n->a->value != 0;
    const uint32_t head = g->cost;
    if (!forever) {
        sl_jump(g, I_JUMP, g->continue_to);
        g->labels[top].reached = true; /* the jump back is still to come */
        g->labels[top].arg = g->labels[top].mem = (place_t){false, -1, -1};
        g->labels[top].mem.memory = true;
    }
    sl_place(g, top, true);
    block(g, n->b);
    g->line = n->pos.line;
    sl_place(g, g->continue_to, true);
    if (forever) {
        sl_jump(g, I_JUMP, top);
    } else {
        sl_jump_if(g, n->a, top, true);
    }
    close_loop(g, &outer, head, 0);
}

/* Does the body leave the machine's loop counter alone? */
static bool spares_counter(const node_t *n)
{
    for (; n != NULL; n = n->next) {
        if (n->kind == N_REPEAT || n->kind == N_RUN || (n->kind == N_CALL && n->sym != NULL && n->sym->loops)) {
            return false;
        }
        if (!spares_counter(n->a) || !spares_counter(n->b) || !spares_counter(n->c) || !spares_counter(n->d) ||
            !spares_counter(n->list)) {
            return false;
        }
    }
    return true;
}

/* In lc, which counts at most 65535. */
static void counted(gen_t *g, const node_t *n, double times)
{
    const loop_t outer = open_loop(g);
    const uint32_t top = sl_label(g);
    if (times > 0) {
        sl_movi(g, TW_T_U16, LC, (uint16_t)times);
    } else {
        sl_value(g, n->a);
        sl_rs8(g, K_GTK, R1, 0);
        sl_put(g, (unsigned)K_NEGT << 8);
        sl_jump(g, I_CJUMP, g->break_to);
        sl_movi(g, TW_T_I32, R2, 65535);
        sl_xy(g, K_MIN, R1, R2);
        sl_xy(g, K_COPY, LC, R1);
    }
    const uint32_t head = g->cost;
    sl_place(g, top, true);
    block(g, n->b);
    g->line = n->pos.line;
    sl_place(g, g->continue_to, false);
    sl_jump(g, I_BANZ, top);
    close_loop(g, &outer, head, times);
}

static symbol_t hidden(const gen_t *g, uint32_t local)
{
    return (symbol_t){.kind = SYM_LET, .type = TYPE_INT, .at = local, .function = g->function};
}

/* In a local, down to 0. */
static void counted_in_local(gen_t *g, const node_t *n, double times)
{
    const symbol_t count = hidden(g, n->local);
    const node_t left = {.kind = N_SYMBOL, .type = TYPE_INT, .sym = (symbol_t *)(uintptr_t)&count};
    const node_t one = {.kind = N_NUMBER, .type = TYPE_INT, .value = 1};
    const node_t less = {.kind = N_BINARY,
                         .op = OP_SUB,
                         .type = TYPE_INT,
                         .a = (node_t *)(uintptr_t)&left,
                         .b = (node_t *)(uintptr_t)&one};
    const node_t more = {.kind = N_BINARY,
                         .op = OP_GE,
                         .type = TYPE_INT,
                         .a = (node_t *)(uintptr_t)&left,
                         .b = (node_t *)(uintptr_t)&one};
    const loop_t outer = open_loop(g);
    const uint32_t top = sl_label(g);
    assign_symbol(g, &count, n->a);
    sl_jump_if(g, &more, g->break_to, false);
    const uint32_t head = g->cost;
    sl_place(g, top, true);
    block(g, n->b);
    g->line = n->pos.line;
    sl_place(g, g->continue_to, false);
    assign_symbol(g, &count, &less);
    sl_jump_if(g, &more, top, true);
    close_loop(g, &outer, head, times);
}

static void repeat_statement(gen_t *g, const node_t *n)
{
    const double times = n->a->kind == N_NUMBER ? n->a->value : 0;
    if (n->a->kind == N_NUMBER && times <= 0) {
        return;
    }
    if (times <= 65535 && spares_counter(n->b)) {
        counted(g, n, times);
    } else {
        counted_in_local(g, n, times);
    }
}

static void for_statement(gen_t *g, const node_t *n)
{
    const symbol_t last = hidden(g, n->local);
    const bool known = n->b->kind == N_NUMBER, both = known && n->a->kind == N_NUMBER;
    const node_t i = {.kind = N_SYMBOL, .type = TYPE_INT, .sym = n->sym};
    const node_t end = {.kind = N_SYMBOL, .type = TYPE_INT, .sym = (symbol_t *)(uintptr_t)&last};
    const node_t step = {.kind = N_NUMBER, .type = TYPE_INT, .value = n->value};
    const node_t next = {.kind = N_BINARY,
                         .op = OP_ADD,
                         .type = TYPE_INT,
                         .a = (node_t *)(uintptr_t)&i,
                         .b = (node_t *)(uintptr_t)&step};
    const node_t inside = {.kind = N_BINARY,
                           .op = n->value > 0 ? OP_LE : OP_GE,
                           .type = TYPE_INT,
                           .a = (node_t *)(uintptr_t)&i,
                           .b = known ? n->b : (node_t *)(uintptr_t)&end};
    const double span = both ? (n->b->value - n->a->value) / n->value : 0;
    if (both && span < 0) {
        return;
    }
    const loop_t outer = open_loop(g);
    const uint32_t top = sl_label(g);
    if (!known) {
        assign_symbol(g, &last, n->b);
    }
    assign_symbol(g, n->sym, n->a);
    if (!both) {
        sl_jump_if(g, &inside, g->break_to, false);
    }
    const uint32_t head = g->cost;
    sl_place(g, top, true);
    block(g, n->c);
    g->line = n->pos.line;
    sl_place(g, g->continue_to, false);
    assign_symbol(g, n->sym, &next);
    sl_jump_if(g, &inside, top, true);
    close_loop(g, &outer, head, both ? (double)(uint32_t)span + 1 : 0);
}

/* ---- machines ---------------------------------------------------------------------------------------------- */

/* The memory word of a machine or an `every`. */
static symbol_t word_at(uint32_t byte)
{
    return (symbol_t){.kind = SYM_VAR, .type = TYPE_INT, .at = byte};
}

static const node_t *state_number(const node_t *machine, int index)
{
    const node_t *s = machine->list;
    for (; index > 0; index--) {
        s = s->next;
    }
    return s;
}

/* With parts run at entry, a state is 2 n, and 2 n + 1 when it was just entered. */
static int state_value(const node_t *machine, int index, bool entered)
{
    return machine->flag ? 2 * index + (entered && state_number(machine, index)->flag) : index;
}

static void goto_statement(gen_t *g, const node_t *n)
{
    const symbol_t word = word_at(g->machine->local);
    sl_load_number(g, R1, state_value(g->machine, (int)n->value, true), TYPE_INT);
    sl_store(g, &word);
    sl_jump(g, I_JUMP, g->machine_end);
}

static void one_state(gen_t *g, const node_t *machine, const node_t *s, int index)
{
    const symbol_t word = word_at(machine->local);
    g->line = s->pos.line;
    if (s->flag) {
        const uint32_t body = sl_label(g);
        sl_rs8(g, K_EQK, R1, state_value(machine, index, false));
        sl_jump(g, I_CJUMP, body);
        sl_load_number(g, R1, state_value(machine, index, false), TYPE_INT);
        sl_store(g, &word);
        block(g, s->a);
        sl_place(g, body, false);
    }
    block(g, s->b);
    sl_jump(g, I_JUMP, g->machine_end);
}

static void machine_statement(gen_t *g, const node_t *n)
{
    const symbol_t word = word_at(n->local);
    const node_t load = {.kind = N_SYMBOL, .type = TYPE_INT, .sym = (symbol_t *)(uintptr_t)&word};
    const node_t *const outer = g->machine;
    const uint32_t outer_end = g->machine_end;
    uint32_t most = 0;
    g->machine = n;
    g->machine_end = sl_label(g);
    sl_value(g, &load);
    int index = 0;
    for (const node_t *s = n->list; s != NULL; s = s->next, index++) {
        const uint32_t other = sl_label(g);
        const int first = state_value(n, index, false);
        if (s->next != NULL) { /* states before it were asked already */
            sl_rs8(g, K_GTK, R1, n->flag ? first + 1 : first);
            sl_jump(g, I_CJUMP, other);
        }
        const uint32_t fork = g->cost;
        one_state(g, n, s, index);
        most = tw_max_u32(most, g->cost);
        g->cost = fork;
        sl_place(g, other, false);
    }
    g->cost = most;
    sl_place(g, g->machine_end, false);
    g->machine = outer;
    g->machine_end = outer_end;
}

/* ---- the rest -------------------------------------------------------------------------------------------------- */

static void return_statement(gen_t *g, const node_t *n)
{
    if (g->function != NULL) {
        if (n->a != NULL) {
            sl_value(g, n->a);
        }
    } else if (n->a == NULL || n->a->kind == N_NUMBER) {
        set_t(g, n->a == NULL || n->a->value != 0);
    } else if (is_plain_test(n->a)) {
        sl_test(g, n->a, true);
    } else {
        const uint32_t no = sl_label(g);
        sl_jump_if(g, n->a, no, false);
        set_t(g, true);
        leave(g);
        sl_place(g, no, false);
        set_t(g, false);
    }
    leave(g);
}

static void run_script(gen_t *g, const node_t *n)
{
    sl_put(g, (unsigned)K_CALLAPP << 8 | 0x40u | (unsigned)n->value);
    g->bounded = false;
    g->arg = (place_t){false, -1, -1};
    g->mem = (place_t){true, -1, -1};
}

static void call_application(gen_t *g, const node_t *n)
{
    if (n->b != NULL) {
        sl_value_in(g, n->b, R0);
    } else {
        sl_xy(g, K_COPYT, R0, ZERO);
    }
    sl_put(g, (unsigned)K_CALLAPP << 8 | (unsigned)n->a->value);
}

static void statement(gen_t *g, const node_t *n)
{
    g->line = n->pos.line;
    switch ((node_kind_t)n->kind) {
    case N_LET:
        assign_symbol(g, n->sym, n->a);
        break;
    case N_ASSIGN:
        assign(g, n);
        break;
    case N_EVAL:
        evaluate(g, n->a);
        break;
    case N_TOGGLE:
        toggle(g, n);
        break;
    case N_IF:
        if_statement(g, n);
        break;
    case N_WHILE:
        while_statement(g, n);
        break;
    case N_FOR:
        for_statement(g, n);
        break;
    case N_REPEAT:
        repeat_statement(g, n);
        break;
    case N_BREAK:
        sl_jump(g, I_JUMP, g->break_to);
        break;
    case N_CONTINUE:
        sl_jump(g, I_JUMP, g->continue_to);
        break;
    case N_RETURN:
        return_statement(g, n);
        break;
    case N_SKIP:
        set_t(g, false);
        leave(g);
        break;
    case N_MACHINE:
        machine_statement(g, n);
        break;
    case N_GOTO:
        goto_statement(g, n);
        break;
    case N_SYS:
        sl_system_call(g, n, false);
        break;
    case N_RUN:
        run_script(g, n);
        break;
    case N_APP:
        call_application(g, n);
        break;
    case N_BLOCK:
        block(g, n);
        break;
    default:
        break; /* declarations without code; sections and functions have their own place */
    }
}

static void block(gen_t *g, const node_t *b)
{
    for (const node_t *n = b->list; n != NULL && !g->full; n = n->next) {
        statement(g, n);
    }
}

/* ---- variables when they are new --------------------------------------------------------------------------------- */

typedef struct image {
    uint32_t words[1024];
    uint32_t n;
} image_t;

static uint32_t bits_of(double v, type_t type)
{
    const float f = (float)v;
    uint32_t bits = (uint32_t)(int32_t)(type == TYPE_FLOAT ? 0 : v);
    if (type == TYPE_FLOAT) {
        memcpy(&bits, &f, sizeof bits);
    }
    return bits;
}

static void array_image(image_t *im, const symbol_t *s)
{
    const uint32_t size = sl_stype_bytes(s->element);
    uint32_t at = s->at;
    for (const node_t *e = s->values; e != NULL; e = e->next, at += size) {
        const uint32_t bits = bits_of(e->value, s->element == TW_T_FP32 ? TYPE_FLOAT : TYPE_INT);
        const uint32_t mask = size == 4 ? 0xFFFFFFFFu : (1u << 8 * size) - 1;
        im->words[at / 4] |= (bits & mask) << 8 * (at % 4);
    }
}

static void collect(image_t *im, const node_t *n)
{
    for (; n != NULL; n = n->next) {
        if (n->kind == N_VAR && n->sym != NULL) {
            if (n->sym->array) {
                array_image(im, n->sym);
            } else {
                im->words[n->sym->at / 4] = bits_of(n->sym->value, (type_t)n->sym->type);
            }
        } else if (n->kind == N_MACHINE) {
            im->words[n->local / 4] = (uint32_t)state_value(n, 0, true);
        }
        collect(im, n->a);
        collect(im, n->b);
        collect(im, n->c);
        collect(im, n->list);
    }
}

static void store_words(gen_t *g, const image_t *im, uint32_t from)
{
    const unsigned m = P0 + g->mem_ptr;
    uint32_t held = 0;
    bool holds = false;
    for (uint32_t i = from; i < im->n;) {
        uint32_t run = 1;
        while (i + run < im->n && im->words[i + run] == im->words[i]) {
            run++;
        }
        if (im->words[i] != 0 && (!holds || held != im->words[i])) {
            sl_movi(g, TW_T_I32, R1, im->words[i]);
            held = im->words[i];
            holds = true;
        }
        const unsigned r = im->words[i] != 0 ? R1 : ZERO;
        if (run > 4) {
            const uint32_t top = sl_label(g);
            const uint32_t head = g->cost;
            sl_movi(g, TW_T_U16, LC, run);
            sl_place(g, top, true);
            sl_xy(g, K_STOREI, m, r);
            sl_jump(g, I_BANZ, top);
            g->cost = head + 1 + run * (g->cost - head);
        } else {
            for (uint32_t k = 0; k < run; k++) {
                sl_xy(g, K_STOREI, m, r);
            }
        }
        i += run;
    }
    g->mem = (place_t){true, (int32_t)im->n, TW_T_I32};
}

/* The first turn of each `every` is one period from now. */
static void first_turns(gen_t *g, const node_t *n)
{
    bool asked = false;
    for (; n != NULL; n = n->next) {
        if (n->kind != N_EVERY) {
            continue;
        }
        if (!asked) {
            sl_small(g, R0, 2);
            sl_callsys(g, SYS_TIME);
            sl_xy(g, K_CONV, R1, TW_T_I32);
            sl_xy(g, K_COPYT, R0, R1);
            asked = true;
        }
        const symbol_t word = word_at(n->local);
        sl_movi(g, TW_T_I32, R1, (uint32_t)(n->a->value * 1000));
        sl_xy(g, K_ADD, R1, R0);
        sl_store(g, &word);
    }
}

/* r0 is the phase still, or saved. */
static void initial_values(gen_t *g, bool phase_in_r0)
{
    const compiler_t *c = g->c;
    const unsigned m = P0 + g->mem_ptr;
    const uint32_t known = sl_label(g);
    image_t *im = calloc(1, sizeof *im);
    if (im == NULL) {
        return;
    }
    im->n = c->var_bytes / 4;
    collect(im, c->program->list);
    im->words[0] = c->mark_crc | 1u;
    sl_xy(g, K_LOAD, R1, m);
    sl_movi(g, TW_T_I32, R2, im->words[0]);
    sl_xy(g, K_EQU, R1, R2);
    if (c->sections && phase_in_r0) {
        sl_put(g, (unsigned)K_ANDT << 8 | R0 << 4);
    }
    sl_jump(g, I_CJUMP, known);
    if (phase_in_r0) {
        sl_push(g, R0);
    }
    sl_xy(g, K_STOREI, m, R2);
    store_words(g, im, 1);
    first_turns(g, c->program->list);
    if (phase_in_r0) {
        sl_pop(g, R0);
    }
    sl_place(g, known, false);
    free(im);
}

/* ---- sections
 * -------------------------------------------------------------------------------------------------------- */

static void every(gen_t *g, const node_t *n)
{
    const symbol_t word = word_at(n->local);
    const node_t due = {.kind = N_SYMBOL, .type = TYPE_INT, .sym = (symbol_t *)(uintptr_t)&word};
    const uint32_t later = sl_label(g);
    const loop_t outer = open_loop(g); /* gives `break` a place; the check refuses it */
    g->line = n->pos.line;
    sl_small(g, R0, 2);
    sl_callsys(g, SYS_TIME);
    sl_xy(g, K_CONV, R1, TW_T_I32);
    sl_value_in(g, &due, R2);
    sl_xy(g, K_SUB, R2, R1);
    sl_rs8(g, K_GTK, R2, 0);
    sl_jump(g, I_CJUMP, later);
    sl_movi(g, TW_T_I32, R0, (uint32_t)(n->a->value * 1000));
    sl_xy(g, K_ADD, R2, R0);
    sl_rs8(g, K_LTK, R2, 1); /* turns were missed: begin anew */
    sl_xy(g, K_CCOPY, R2, R0);
    sl_xy(g, K_ADD, R1, R2);
    sl_store(g, &word);
    block(g, n->b);
    sl_place(g, later, false);
    g->break_to = outer.break_to;
    g->continue_to = outer.continue_to;
}

/* Compare the phase with each section's, then their code. */
static void sections(gen_t *g, bool saved)
{
    const symbol_t phase = {.kind = SYM_LET, .type = TYPE_INT, .at = 0, .function = NULL};
    const node_t load = {.kind = N_SYMBOL, .type = TYPE_INT, .sym = (symbol_t *)(uintptr_t)&phase};
    const uint32_t base = g->base;
    unsigned x = R0;
    if (saved) {
        g->base = 0;
        x = sl_operand(g, &load, R1);
        g->base = base;
    }
    uint32_t most = 0;
    for (const node_t *n = g->c->program->list; n != NULL; n = n->next) {
        if (n->kind != N_SECTION) {
            continue;
        }
        const uint32_t other = sl_label(g);
        g->line = n->pos.line;
        sl_rs8(g, K_EQK, x, (int)n->value);
        sl_put(g, (unsigned)K_NEGT << 8);
        sl_jump(g, I_CJUMP, other);
        const uint32_t fork = g->cost;
        block(g, n->b);
        if (n->value == PHASE_BEFORE) {
            set_t(g, true);
        }
        leave(g);
        most = tw_max_u32(most, g->cost + 1);
        g->cost = fork;
        sl_place(g, other, false);
    }
    g->cost = tw_max_u32(g->cost, most);
}

static bool is_code(const node_t *n)
{
    switch ((node_kind_t)n->kind) {
    case N_SECTION:
    case N_FUNC:
    case N_VAR:
    case N_CONST:
    case N_TABLE:
        return false;
    default:
        return true;
    }
}

static void open_routine(gen_t *g, symbol_t *function, uint32_t base)
{
    g->function = function;
    g->base = base;
    g->depth = g->most_depth = 0;
    g->cost = 0;
    g->bounded = g->reach = true;
    g->break_to = g->continue_to = g->machine_end = 0;
    g->machine = NULL;
    g->arg = (place_t){false, -1, -1};
    g->mem = function != NULL ? (place_t){true, -1, -1} : (place_t){true, 0, TW_T_I32};
}

/* At its call the machine is on the reset phase or another, its memory new or not. */
static void main_part(gen_t *g, bool saved)
{
    const symbol_t phase = {.kind = SYM_LET, .type = TYPE_INT, .at = 0, .function = NULL};
    open_routine(g, NULL, saved ? 1 : 0);
    g->line = 1;
    if (g->c->has_vars) {
        initial_values(g, g->c->sections);
    }
    if (saved) {
        const uint32_t base = g->base;
        g->base = 0;
        sl_xy(g, K_COPYT, R1, R0);
        sl_store(g, &phase);
        g->base = base;
    }
    for (const node_t *n = g->c->program->list; n != NULL && !g->full; n = n->next) {
        if (n->kind == N_EVERY) {
            every(g, n);
        } else if (is_code(n)) {
            statement(g, n);
        }
    }
    if (g->c->sections) {
        sections(g, saved);
    }
    set_t(g, true);
    leave(g);
}

static void functions(gen_t *g)
{
    const compiler_t *c = g->c;
    for (unsigned i = 0; i < c->n_functions; i++) {
        symbol_t *f = c->functions[i];
        f->label = (uint16_t)sl_label(g);
        if (!f->used) {
            continue;
        }
        open_routine(g, f, f->base);
        g->line = f->pos.line;
        sl_place(g, f->label, true);
        block(g, f->body);
        leave(g);
        f->stack = (uint8_t)tw_min_u32(g->most_depth, 255);
        f->cost = g->cost;
        f->bounded = g->bounded;
    }
}

/* Locals of a routine lie above those of all that may call it. */
static uint32_t place_locals(gen_t *g, uint32_t main_locals)
{
    const compiler_t *c = g->c;
    uint32_t most = main_locals;
    for (unsigned i = c->n_functions; i-- > 0;) {
        symbol_t *f = c->functions[i];
        uint32_t base = main_locals;
        for (unsigned k = i + 1; k < c->n_functions; k++) {
            const symbol_t *caller = c->functions[k];
            if ((caller->calls >> i & 1u) != 0) {
                base = tw_max_u32(base, (uint32_t)caller->base + caller->locals);
            }
        }
        f->base = (uint16_t)base;
        most = tw_max_u32(most, base + f->locals);
    }
    return most;
}

/* ---- what it was declared with
 * --------------------------------------------------------------------------------------- */

static bool uses_second(const node_t *n)
{
    for (; n != NULL; n = n->next) {
        if ((n->kind == N_SYS && n->list != NULL) || uses_second(n->a) || uses_second(n->b) || uses_second(n->c) ||
            (n->kind != N_SYS && uses_second(n->list))) {
            return true;
        }
    }
    return false;
}

static bool set_up(gen_t *g)
{
    compiler_t *c = g->c;
    const tw_sl_opts_t *o = c->opts;
    const bool pair = uses_second(c->program->list);
    const unsigned ptrs = o->ptrs != 0 ? o->ptrs : pair ? 3 : 2;
    g->regs = o->regs != 0 ? o->regs : TW_SCRIPT_REGS;
    if (g->regs < 3 || ptrs < (pair ? 3u : 2u)) {
        sl_error(c, (pos_t){0, 0},
                 "the script needs script_registers 3 and script_pointers %d at least, it has %u and %u", pair ? 3 : 2,
                 g->regs, ptrs);
        return false;
    }
    g->local_regs = g->regs - FIRST_LOCAL;
    g->mem_ptr = ptrs - 1;
    c->out->ptrs = (uint8_t)ptrs;
    return true;
}

static void declare(gen_t *g, uint32_t locals, unsigned stack)
{
    tw_sl_out_t *out = g->c->out;
    const uint32_t in_registers = tw_min_u32(locals, g->local_regs);
    out->regs = (uint8_t)(g->c->opts->regs != 0 ? g->c->opts->regs : FIRST_LOCAL + in_registers);
    out->stack = (uint8_t)tw_min_u32(stack, 255);
    out->mem_bytes = g->uses_scratch ? g->scratch_at + 8 : g->frame_at + 4 * (locals - in_registers);
    out->cost = g->cost;
    out->bounded = g->bounded;
}

static void generate(gen_t *g)
{
    const compiler_t *c = g->c;
    bool saved = false;
    for (const node_t *n = c->program->list; n != NULL; n = n->next) {
        saved |= c->sections && is_code(n);
    }
    const uint32_t locals = place_locals(g, c->main_locals + (saved ? 1u : 0u));
    const uint32_t in_memory = locals > g->local_regs ? locals - g->local_regs : 0;
    g->frame_at = c->var_bytes;
    g->scratch_at = tw_round_up(c->var_bytes + 4 * in_memory, 8);
    functions(g);
    g->main_item = g->n_items;
    main_part(g, saved);
    declare(g, locals, g->most_depth);
    sl_finish(g);
}

void sl_generate(compiler_t *c)
{
    gen_t *g = sl_take(c, sizeof *g);
    if (g == NULL || (g->items = sl_take(c, ITEMS_MAX * sizeof *g->items)) == NULL ||
        (g->labels = sl_take(c, LABELS_MAX * sizeof *g->labels)) == NULL) {
        return;
    }
    g->c = c;
    if (set_up(g)) {
        generate(g);
    }
}
