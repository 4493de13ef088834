/* script_shadow.c - what each instruction of a verified script may do, said before it runs. */
#include "tests/support/script_shadow.h"
#include <string.h>

#define REQUIRE(cond, what)    \
    do {                       \
        if (!(cond)) {         \
            s->broken((what)); \
        }                      \
    } while (0)

static unsigned bytes_of(unsigned t)
{
    static const uint8_t bytes[16] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 1, 1, 2, 4, 8, 8, 1};
    return bytes[t & 15];
}

static void find_starts(shadow_t *s, unsigned i)
{
    const tw_script_t *const script = &s->scripts[i];
    memset(s->starts[i], 0, sizeof s->starts[i]);
    for (uint32_t at = 0; at < script->code_bytes / 2;) {
        const unsigned w = tw_get_le16(script->code + 2 * at);
        s->starts[i][at / 32] |= 1u << at % 32;
        at += w >> 12 == 2 ? 1 + (bytes_of(w) < 4 ? 1 : bytes_of(w) / 2) : w >> 12 == 10 ? 2 : 1;
    }
}

static unsigned number(const shadow_t *s)
{
    for (unsigned i = 0; i < s->n_scripts; i++) {
        if (s->ctx.script == &s->scripts[i]) {
            return i;
        }
    }
    s->broken("a script that is none");
    return 0;
}

/* Scratch memory holds nothing before the script has stored, or a call of the host has been given the chance to. */
static void note_scratch(shadow_t *s, unsigned op, unsigned code)
{
    const tw_sptr_t *const p = &s->ctx.p[code - 6];
    const bool scratch = s->ctx.script->shared && p->space == 1;
    REQUIRE(op != 0x11 || !scratch || s->written[s->ctx.depth], "scratch memory is read before it is written");
    s->written[s->ctx.depth] |= op == 0x12 && scratch;
}

/* @return false: the element lies outside, the instruction must fault. */
static bool window(const shadow_t *s, unsigned code, bool for_write)
{
    const tw_sptr_t *const p = &s->ctx.p[code - 6];
    const unsigned i = number(s);
    const tw_script_t *const script = &s->scripts[i];
    REQUIRE(p->space == 1 || p->space == 2, "an element of a pointer that is not set");
    REQUIRE(p->base != NULL, "a pointer without memory");
    REQUIRE(!(for_write && p->space == 2), "a store to constants");
    const uint8_t *const low = p->space == 1 ? script->mem : script->code + tw_round_up(script->code_bytes, 4);
    const uint32_t size = p->space == 1 ? script->mem_bytes : script->pool_bytes;
    REQUIRE(p->base >= low && p->base + p->size <= low + size, "a window that is not the script's");
    return ((uint64_t)p->offset + 1) * bytes_of(p->type) <= p->size;
}

static void must_be_number(const shadow_t *s, unsigned code, unsigned s0)
{
    unsigned t = TW_T_I32;
    if (code < TW_SCRIPT_REGS) {
        t = s->ctx.rt[code];
    } else if (code >= 14) {
        const unsigned down = code == 14 ? s0 + 1 : 2;
        REQUIRE(s->ctx.sp >= down + s->ctx.base, "an operand of the stack that is not there");
        t = s->ctx.stack_t[s->ctx.sp - down];
    }
    REQUIRE(t != TW_T_FP8A && t != TW_T_FP8B && t != TW_T_PTR, "computing with fp8 or a pointer");
}

/* Operands of what computes; s0 counts the pops of the instruction so far. */
static void check_numbers(const shadow_t *s, unsigned w)
{
    const unsigned x = w >> 4 & 15;
    const unsigned y = w & 15;
    const unsigned op = w >> 8;
    const unsigned class = w >> 12;
    if ((class >= 4 && class <= 9) || (op >= 0x30 && op <= 0x34 && op != 0x32)) {
        must_be_number(s, class == 3 ? y : op & 15, 0);
    } else if (class == 10) {
        const bool insert = (w & 0x10) != 0;
        if (insert) {
            must_be_number(s, op & 15, 0);
        }
        must_be_number(s, y, insert && (op & 15) == 14);
    } else if (op >= 0xCA && op <= 0xCE) {
        must_be_number(s, y, 0);
    } else if (op == 0xC8 || op == 0xD0 || op == 0xDD || op == 0xE1 || op == 0xE2) {
        must_be_number(s, x, 0);
    } else if ((op >= 0xD1 && op <= 0xEE) && (x < 6 || x >= 12)) {
        must_be_number(s, x, 0);
        must_be_number(s, y, x == 14);
        if (op >= 0xE5 && op <= 0xE7) {
            must_be_number(s, 14, (x == 14) + (y == 14));
        }
    } else if (op == 0xE5 || op == 0xE6) { /* moves a pointer */
        must_be_number(s, y, 0);
    } else if ((op == 0x10 || op == 0x14) && x >= 6 && x < 12 && y == 14) {
        REQUIRE(s->ctx.sp > s->ctx.base && s->ctx.stack_t[s->ctx.sp - 1] == TW_T_PTR, "no pointer on the stack");
    } else if (op == 0xEF) {
        must_be_number(s, x, 0);
        must_be_number(s, y, 0);
        must_be_number(s, y + 1, 0);
    }
}

/* What the next instruction must answer: TW_OK or the fault. */
static tw_err_t expected(shadow_t *s)
{
    const unsigned i = number(s);
    const uint32_t at = s->ctx.next;
    REQUIRE((at & 1) == 0 && at + 2 <= s->ctx.script->code_bytes, "a place outside the code");
    REQUIRE((s->starts[i][at / 64] >> (at / 2 % 32) & 1) != 0, "a place inside an instruction");
    if (s->ctx.used == s->budget) {
        return TW_E_SCR_BUDGET;
    }
    const unsigned w = tw_get_le16(s->ctx.script->code + at);
    const bool skipped = (w & 0x80) != 0 && !s->ctx.flag;
    check_numbers(s, w);
    switch (w >> 8) {
    case 0x11:
    case 0x19:
        note_scratch(s, 0x11, w & 15);
        return window(s, w & 15, false) ? TW_OK : TW_E_SCR_FAULT;
    case 0x12:
    case 0x1A:
        note_scratch(s, 0x12, w >> 4 & 15);
        return window(s, w >> 4 & 15, true) ? TW_OK : TW_E_SCR_FAULT;
    case 0x02:
        return !skipped && s->ctx.depth == TW_SCRIPT_CALL_DEPTH ? TW_E_SCR_STACK : TW_OK;
    case 0x03:
        s->written[s->ctx.depth] |= !skipped;
        return TW_OK;
    case 0x04: {
        if ((w & 0x40) == 0 || skipped) {
            s->written[s->ctx.depth] |= !skipped;
            return TW_OK;
        }
        const tw_script_t *const callee = s->host->script == NULL ? NULL : s->host->script(s->host->ctx, w & 63);
        if (callee == NULL) {
            return TW_E_SCR_FAULT;
        }
        return s->ctx.depth == TW_SCRIPT_CALL_DEPTH || s->ctx.sp + callee->stack > TW_SCRIPT_STACK_MAX ? TW_E_SCR_STACK
                                                                                                       : TW_OK;
    }
    default:
        return TW_OK;
    }
}

static void check_stack(shadow_t *s, unsigned depth)
{
    REQUIRE(s->ctx.depth <= TW_SCRIPT_CALL_DEPTH, "more return addresses than there is room for");
    if (s->ctx.depth > depth) {
        s->floor[s->ctx.depth] = s->ctx.frames[depth].callscript ? s->ctx.sp : s->floor[depth];
        s->written[s->ctx.depth] = !s->ctx.frames[depth].callscript && s->written[depth];
    } else if (s->ctx.depth < depth && !s->ctx.frames[s->ctx.depth].callscript) {
        s->written[s->ctx.depth] |= s->written[depth];
    }
    const unsigned floor = s->floor[s->ctx.depth];
    REQUIRE(s->ctx.base >= floor && s->ctx.sp >= s->ctx.base, "the stack below what belongs to the routine");
    REQUIRE(s->ctx.sp - floor <= s->ctx.script->stack || s->ctx.done, "the stack above the declared depth");
}

tw_err_t shadow_run(shadow_t *s, const int64_t *args, unsigned n_args, bool flag, uint32_t budget)
{
    tw_err_t err = TW_E_SCR_HELD;
    for (unsigned i = 0; i < s->n_scripts; i++) {
        find_starts(s, i);
    }
    memset(&s->ctx, 0xA7, sizeof s->ctx);
    tw_script_begin(&s->ctx, &s->scripts[0], s->host, args, n_args, flag, budget);
    s->budget = budget;
    s->floor[0] = 0;
    s->written[0] = false;
    while (err == TW_E_SCR_HELD) {
        const tw_err_t must = expected(s);
        const unsigned depth = s->ctx.depth;
        s->word = tw_get_le16(s->ctx.script->code + s->ctx.next);
        err = tw_script_go(&s->ctx, 1);
        REQUIRE(must == TW_OK ? err == TW_OK || err == TW_E_SCR_HELD : err == must, tw_err_name(err));
        REQUIRE(s->ctx.used <= budget, "more instructions than the budget has");
        if (must == TW_OK) {
            check_stack(s, depth);
        }
    }
    return err;
}
