/* sl_emit.c - instructions in order, jumps made short, the literal pool, and the verdict of the verifier.
 *
 * A jump is relative when its target is near: that needs no label, which would cost an instruction. Those that do not
 * reach make their target a label; labels only lengthen the code, so the search for them ends.
 */
#include "host_tools/scriptlang/sl_gen_priv.h"
#include <stdio.h>

/* ---- items -------------------------------------------------------------------------------------- */

static item_t *add(gen_t *g, item_kind_t kind)
{
    if (!g->reach || g->n_items >= ITEMS_MAX) {
        if (g->reach && !g->full) {
            sl_error(g->c, (pos_t){g->line, 0}, "the script is too long");
            g->full = true;
        }
        return NULL;
    }
    item_t *it = &g->items[g->n_items++];
    *it = (item_t){.kind = (uint8_t)kind, .line = (uint16_t)tw_min_u32(g->line, 65535), .label = NO_LABEL};
    g->cost++;
    return it;
}

void sl_put(gen_t *g, uint32_t word)
{
    item_t *it = add(g, I_CODE);
    if (it != NULL) {
        it->words[0] = (uint16_t)word;
        it->n = 1;
    }
}

void sl_xy(gen_t *g, unsigned key, unsigned x, unsigned y)
{
    sl_put(g, key << 8 | x << 4 | y);
}

void sl_rs8(gen_t *g, unsigned key, unsigned r, int k)
{
    sl_put(g, key << 8 | r << 8 | ((unsigned)k & 255u));
}

void sl_movi(gen_t *g, unsigned type, unsigned r, uint64_t bits)
{
    item_t *it = add(g, I_CODE);
    const unsigned bytes = sl_stype_bytes(type);
    if (it == NULL) {
        return;
    }
    it->words[0] = (uint16_t)((unsigned)K_MOVI << 8 | r << 8 | type);
    it->n = (uint8_t)(1 + (bytes + 1) / 2);
    for (unsigned i = 1; i < it->n; i++) {
        it->words[i] = (uint16_t)(bits >> (16 * (i - 1)));
    }
    it->words[1] = (uint16_t)(it->words[1] & (bytes == 1 ? 0xFFu : 0xFFFFu));
}

void sl_small(gen_t *g, unsigned r, int32_t v)
{
    if (v == 0) {
        sl_xy(g, K_COPYT, r, ZERO);
    } else if (v >= -128 && v <= 127) {
        sl_movi(g, TW_T_I8, r, (uint8_t)v);
    } else if (v >= -32768 && v <= 32767) {
        sl_movi(g, TW_T_I16, r, (uint16_t)v);
    } else {
        sl_movi(g, TW_T_I32, r, (uint32_t)v);
    }
}

void sl_load_number(gen_t *g, unsigned r, double v, type_t type)
{
    if (type == TYPE_FLOAT) {
        const float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        sl_movi(g, TW_T_FP32, r, bits);
    } else if (v == 0) {
        sl_xy(g, K_COPYT, r, ZERO);
    } else {
        sl_movi(g, TW_T_I32, r, (uint32_t)(int32_t)v);
    }
}

/* ---- stack ------------------------------------------------------------------------------------------ */

void sl_pushed(gen_t *g, int entries)
{
    g->depth = (unsigned)((int)g->depth + entries);
    g->most_depth = tw_max_u32(g->most_depth, g->depth);
}

void sl_push(gen_t *g, unsigned r)
{
    sl_xy(g, K_COPYT, S0, r);
    sl_pushed(g, 1);
}

void sl_pop(gen_t *g, unsigned r)
{
    sl_xy(g, K_COPYT, r, S0);
    sl_pushed(g, -1);
}

void sl_callsys(gen_t *g, unsigned k)
{
    sl_put(g, (unsigned)K_CALLSYS << 8 | k);
}

/* ---- labels ------------------------------------------------------------------------------------------- */

uint32_t sl_label(gen_t *g)
{
    if (g->n_labels >= LABELS_MAX) {
        if (!g->full) {
            sl_error(g->c, (pos_t){g->line, 0}, "the script has too many branches");
        }
        g->full = true;
        return 0;
    }
    g->labels[g->n_labels] = (label_t){0};
    return g->n_labels++;
}

static void join_place(place_t *into, const place_t *from)
{
    into->memory &= from->memory;
    into->elem = into->elem == from->elem ? into->elem : -1;
    into->type = into->type == from->type ? into->type : -1;
}

void sl_place(gen_t *g, uint32_t label, bool backward)
{
    label_t *l = &g->labels[label];
    if (!g->reach && !l->reached) {
        return;
    }
    if (!g->reach) {
        g->arg = l->arg;
        g->mem = l->mem;
    } else if (l->reached) {
        join_place(&g->arg, &l->arg);
        join_place(&g->mem, &l->mem);
    }
    g->reach = true;
    if (backward) {
        g->arg = (place_t){false, -1, -1};
        g->mem = (place_t){true, -1, -1};
    }
    l->placed = true;
    l->item = g->n_items;
    item_t *it = add(g, I_LABEL);
    if (it != NULL) {
        it->label = (uint16_t)label;
    }
}

void sl_jump(gen_t *g, item_kind_t kind, uint32_t label)
{
    label_t *l = &g->labels[label];
    item_t *it = add(g, kind);
    if (it == NULL) {
        return;
    }
    it->label = (uint16_t)label;
    it->n = 1;
    if (kind == I_BANZ || kind == I_CALL || kind == I_CCALL) {
        l->absolute = true;
    }
    if (!l->reached) {
        l->arg = g->arg;
        l->mem = g->mem;
    } else {
        join_place(&l->arg, &g->arg);
        join_place(&l->mem, &g->mem);
    }
    l->reached = true;
    g->reach = kind != I_JUMP;
}

/* ---- the pool -------------------------------------------------------------------------------------------- */

unsigned sl_pool(gen_t *g, const uint8_t *p, uint32_t n, unsigned type)
{
    for (unsigned i = 0; i < g->n_dir; i++) {
        const uint32_t at = tw_get_le16(g->dir[i] + 2);
        if (g->entry_bytes[i] == n && g->dir[i][1] == type && memcmp(g->pool + at, p, n) == 0) {
            return 127 - i;
        }
    }
    const uint32_t at = tw_round_up(g->pool_bytes, tw_min_u32(sl_stype_bytes(type), 4));
    if (g->n_dir >= POOL_LABELS_MAX || at + n + 4 * POOL_LABELS_MAX + 2 > sizeof g->pool) {
        if (!g->full) {
            sl_error(g->c, (pos_t){g->line, 0}, "the script has too many constants");
        }
        g->full = true;
        return 127;
    }
    for (; g->pool_bytes < at; g->pool_bytes++) { /* nop halfwords, as the assembler has them */
        g->pool[g->pool_bytes] = (g->pool_bytes & 1) != 0 ? 0xC5 : 0x00;
    }
    memcpy(g->pool + at, p, n);
    g->pool_bytes = at + n;
    g->entry_bytes[g->n_dir] = n;
    uint8_t *e = g->dir[g->n_dir];
    e[0] = (uint8_t)(127 - g->n_dir);
    e[1] = (uint8_t)type;
    tw_put_le16(e + 2, (uint16_t)at);
    return 127 - g->n_dir++;
}

static void write_pool(gen_t *g)
{
    tw_sl_out_t *out = g->c->out;
    if (g->n_dir == 0) {
        return;
    }
    memcpy(out->pool, g->pool, g->pool_bytes);
    memcpy(out->pool + g->pool_bytes, g->dir, 4 * g->n_dir);
    tw_put_le16(out->pool + g->pool_bytes + 4 * g->n_dir, (uint16_t)g->n_dir);
    out->pool_bytes = g->pool_bytes + 4 * g->n_dir + 2;
}

/* ---- layout ------------------------------------------------------------------------------------------------ */

/* The main part stands first, for a call begins at 0. */
static item_t *in_order(gen_t *g, uint32_t i)
{
    const uint32_t main_items = g->n_items - g->main_item;
    return i < main_items ? &g->items[g->main_item + i] : &g->items[i - main_items];
}

static uint32_t lay_out(gen_t *g)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->n_items; i++) {
        item_t *it = in_order(g, i);
        it->at = at;
        it->n = it->kind == I_LABEL ? g->labels[it->label].absolute : it->n;
        at += it->n;
    }
    return at;
}

static int32_t distance(const gen_t *g, const item_t *it)
{
    return (int32_t)g->items[g->labels[it->label].item].at - (int32_t)it->at - 1;
}

/* @return true when a label was added */
static bool widen(gen_t *g)
{
    bool changed = false;
    for (uint32_t i = 0; i < g->n_items; i++) {
        const item_t *it = &g->items[i];
        if (it->kind != I_JUMP && it->kind != I_CJUMP) {
            continue;
        }
        const int32_t d = distance(g, it);
        label_t *l = &g->labels[it->label];
        if (!l->absolute && (d < -64 || d > 63)) {
            l->absolute = true;
            changed = true;
        }
    }
    return changed;
}

static bool number_labels(gen_t *g)
{
    unsigned next = 0;
    for (uint32_t i = 0; i < g->n_labels; i++) {
        if (g->labels[i].absolute && g->labels[i].placed) {
            g->labels[i].number = (uint8_t)next++;
        }
    }
    if (next + g->n_dir <= TW_SCRIPT_LABELS) {
        return true;
    }
    sl_error(g->c, (pos_t){0, 0}, "the script needs %u labels for far jumps, functions and constants, there are %d",
             next + g->n_dir, TW_SCRIPT_LABELS);
    return false;
}

static uint16_t word_of(const gen_t *g, const item_t *it)
{
    const label_t *l = &g->labels[it->label];
    const int32_t d = distance(g, it);
    const bool near = d >= -64 && d <= 63;
    const unsigned c = it->kind == I_CJUMP || it->kind == I_CCALL ? 0x80 : 0;
    switch ((item_kind_t)it->kind) {
    case I_BANZ:
        return (uint16_t)((unsigned)K_BANZ << 8 | l->number);
    case I_CALL:
    case I_CCALL:
        return (uint16_t)((unsigned)K_CALL << 8 | c | l->number);
    case I_LABEL:
        return (uint16_t)((unsigned)K_LABL << 8 | l->number);
    default:
        return near ? (uint16_t)((unsigned)K_JMPR << 8 | c | ((unsigned)d & 127u))
                    : (uint16_t)((unsigned)K_JMP << 8 | c | l->number);
    }
}

static void write_line(tw_sl_out_t *out, const item_t *it)
{
    if (it->n > 0 && out->n_lines < TW_SL_LINES_MAX &&
        (out->n_lines == 0 || out->lines[out->n_lines - 1].line != it->line)) {
        out->lines[out->n_lines++] = (tw_sl_line_t){.pc = (uint16_t)(2 * it->at), .line = it->line};
    }
}

static void write_code(gen_t *g, uint32_t halfwords)
{
    tw_sl_out_t *out = g->c->out;
    for (uint32_t i = 0; i < g->n_items; i++) {
        const item_t *it = in_order(g, i);
        write_line(out, it);
        for (unsigned k = 0; k < it->n; k++) {
            tw_put_le16(out->code + 2 * (it->at + k), it->kind == I_CODE ? it->words[k] : word_of(g, it));
        }
    }
    out->code_bytes = 2 * halfwords;
}

/* ---- the verdict ---------------------------------------------------------------------------------------------- */

static void check_limits(gen_t *g)
{
    const tw_sl_opts_t *o = g->c->opts;
    const tw_sl_out_t *out = g->c->out;
    const pos_t all = {0, 0};
    const uint32_t bytes = tw_script_bytes(out->code_bytes, out->pool_bytes);
    const uint32_t stack = o->stack != 0 ? o->stack : TW_SCRIPT_STACK_MAX;
    const uint32_t memory = o->mem_bytes != 0 ? o->mem_bytes : 4096;
    if (o->code_bytes != 0 && bytes > o->code_bytes) {
        sl_error(g->c, all, "the script has %u bytes, there is room for %u", bytes, o->code_bytes);
    }
    if (out->stack > stack) {
        sl_error(g->c, all, "expressions and calls need a stack of %u, there are %u: use variables for parts of them",
                 out->stack, stack);
    }
    if (out->mem_bytes > memory) {
        sl_error(g->c, all, "variables need %u bytes of memory, the script has %u (script_heap %u)", out->mem_bytes,
                 memory, (out->mem_bytes + 3) / 4);
    }
}

static unsigned line_of(const tw_sl_out_t *out, uint32_t pc)
{
    unsigned line = 0;
    for (uint32_t i = 0; i < out->n_lines && out->lines[i].pc <= pc; i++) {
        line = out->lines[i].line;
    }
    return line;
}

static void verify(gen_t *g)
{
    tw_sl_out_t *out = g->c->out;
    static uint8_t memory[4];
    uint8_t whole[2 * TW_SL_CODE_MAX + 4];
    memset(whole, 0, sizeof whole);
    memcpy(whole, out->code, out->code_bytes);
    memcpy(whole + tw_round_up(out->code_bytes, 4), out->pool, out->pool_bytes);
    const tw_script_t s = {.code = whole,
                           .code_bytes = out->code_bytes,
                           .pool_bytes = out->pool_bytes,
                           .regs = out->regs,
                           .ptrs = out->ptrs,
                           .stack = out->stack,
                           .shared = g->c->opts->shared,
                           .mem = out->mem_bytes != 0 ? memory : NULL,
                           .mem_bytes = out->mem_bytes};
    uint64_t calls;
    tw_fault_t fault = {0};
    const tw_err_t err = tw_script_verify(&s, false, &calls, &fault);
    if (err == TW_OK) {
        return;
    }
    const pos_t pos = {line_of(out, fault.at), 0};
    if (err == TW_E_SCR_BOUNDS) {
        sl_error(g->c, pos, "the script is too large for the machine: %u bytes of code, too many branches or functions",
                 out->code_bytes);
    } else {
        char text[200];
        sl_error(g->c, pos, "the machine would refuse this: %s",
                 tw_script_explain(out->code, out->code_bytes, &fault, text, sizeof text));
    }
}

void sl_finish(gen_t *g)
{
    tw_sl_out_t *out = g->c->out;
    uint32_t halfwords = lay_out(g);
    if (g->full) {
        return;
    }
    while (widen(g)) {
        halfwords = lay_out(g);
    }
    if (halfwords > TW_SL_CODE_MAX / 2) {
        sl_error(g->c, (pos_t){0, 0}, "the script has %u bytes of code, at most %d", 2 * halfwords, TW_SL_CODE_MAX);
        return;
    }
    if (!number_labels(g)) {
        return;
    }
    write_code(g, halfwords);
    write_pool(g);
    check_limits(g);
    if (out->n_errors == 0) {
        verify(g);
    }
}
