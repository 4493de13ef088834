/* script_vm.c - the TWV-16 machine: fetch, dispatch, pointers, calls, budget.
 *
 * Runs verified code, and trusts it with nothing: program counter, stack and every
 * pointer are checked where they are used, so unverified code can only fail.
 * Arithmetic is script_value.c; the world is tw_script_host_t.
 */
#include "engine/script/script_fast_priv.h"
#include "engine/script/script_value_priv.h"

/* The first failure stands. */
static void fail(tw_script_ctx_t *c, tw_err_t err)
{
    if (c->err == TW_OK) {
        c->err = err;
    }
}

static void push(tw_script_ctx_t *c, tw_sv_t v)
{
    if (c->sp >= TW_SCRIPT_STACK_MAX) {
        fail(c, TW_E_SCR_STACK);
        return;
    }
    c->stack[c->sp] = v.v;
    c->stack_t[c->sp] = v.t;
    c->sp++;
}

static tw_sv_t pop(tw_script_ctx_t *c)
{
    if (c->sp <= c->base) {
        fail(c, TW_E_SCR_STACK);
        return (tw_sv_t){.t = TW_T_I32};
    }
    c->sp--;
    return (tw_sv_t){c->stack[c->sp], c->stack_t[c->sp]};
}

static bool s1_there(tw_script_ctx_t *c)
{
    if (c->s1 >= TW_SCRIPT_STACK_MAX || c->s1 < c->base) {
        fail(c, TW_E_SCR_STACK);
        return false;
    }
    return true;
}

static tw_sv_t get(tw_script_ctx_t *c, unsigned code)
{
    if (code < TW_SCRIPT_REGS) {
        return (tw_sv_t){c->r[code], c->rt[code]};
    }
    if (code == TW_RC_S0) {
        return pop(c);
    }
    if (code == TW_RC_S1 && s1_there(c)) {
        return (tw_sv_t){c->stack[c->s1], c->stack_t[c->s1]};
    }
    return tw_sv_int(code == TW_RC_LC ? TW_T_U16 : TW_T_I32, code == TW_RC_LC ? c->lc : 0);
}

/* Value and type; the stack takes both, lc converts, zero ignores. */
static void put(tw_script_ctx_t *c, unsigned code, tw_sv_t v)
{
    if (code < TW_SCRIPT_REGS) {
        c->r[code] = v.v;
        c->rt[code] = v.t;
    } else if (code == TW_RC_S0) {
        push(c, v);
    } else if (code == TW_RC_LC) {
        c->lc = (uint16_t)tw_sv_convert(v, TW_T_U16, &c->errors).v.u;
    } else if (code == TW_RC_S1 && s1_there(c)) {
        c->stack[c->s1] = v.v;
        c->stack_t[c->s1] = v.t;
    }
}

/* Type a destination imposes; a push and the zero register take what comes. */
static unsigned type_of(tw_script_ctx_t *c, unsigned code, unsigned otherwise)
{
    if (code < TW_SCRIPT_REGS) {
        return c->rt[code];
    }
    if (code == TW_RC_S1 && s1_there(c)) {
        return c->stack_t[c->s1];
    }
    return code == TW_RC_LC ? TW_T_U16 : otherwise;
}

static void put_kept(tw_script_ctx_t *c, unsigned code, tw_sv_t v)
{
    put(c, code, tw_sv_convert(v, type_of(c, code, v.t), &c->errors));
}

/* ---- pointers ---- */

static bool is_ptr(unsigned code)
{
    return code >= TW_RC_P0 && code < TW_RC_P0 + TW_SCRIPT_PTRS;
}

static tw_sptr_t *ptr(tw_script_ctx_t *c, unsigned code)
{
    if (!is_ptr(code)) {
        fail(c, TW_E_SCR_FAULT);
        code = TW_RC_P0;
    }
    return &c->p[code - TW_RC_P0];
}

static uint32_t elements(const tw_sptr_t *p)
{
    return p->size / tw_stype_bytes(p->type);
}

static uint8_t *element(tw_script_ctx_t *c, const tw_sptr_t *p, bool for_write)
{
    const uint64_t bytes = tw_stype_bytes(p->type);
    if (p->base == NULL || p->space == 0 || (for_write && p->space == 2) ||
        !tw_inside(p->offset * bytes, bytes, p->size)) {
        fail(c, TW_E_SCR_FAULT);
        return NULL;
    }
    return p->base + p->offset * bytes;
}

static void load(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    tw_sptr_t *const p = ptr(c, in->y);
    const uint8_t *const at = element(c, p, false);
    if (at == NULL) {
        return;
    }
    uint64_t bits = 0;
    for (unsigned i = 0; i < tw_stype_bytes(p->type); i++) {
        bits |= (uint64_t)at[i] << (8 * i);
    }
    put(c, in->x, tw_sv_from_bits(p->type, bits));
    p->offset += in->key == TW_SOP_LOADI;
}

static void store(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t v = get(c, in->y);
    tw_sptr_t *const p = ptr(c, in->x);
    uint8_t *const at = element(c, p, true);
    if (at == NULL || c->err != TW_OK) {
        return;
    }
    const uint64_t bits = tw_sv_bits(tw_sv_convert(v, p->type, &c->errors));
    for (unsigned i = 0; i < tw_stype_bytes(p->type); i++) {
        at[i] = (uint8_t)(bits >> (8 * i));
    }
    p->offset += in->key == TW_SOP_STOREI;
}

/* offset + by, wrapped into the window; an empty window leaves 0. */
static uint32_t wrapped(const tw_sptr_t *p, bool minus, int32_t by)
{
    const int64_t n = elements(p);
    if (n == 0) {
        return 0;
    }
    const int64_t r = ((int64_t)p->offset + (minus ? -(int64_t)by : by)) % n;
    return (uint32_t)(r < 0 ? r + n : r);
}

static void shrink(tw_sptr_t *p, int32_t n)
{
    if (n < (int64_t)elements(p)) {
        p->size = n <= 0 ? 0 : (uint32_t)n * tw_stype_bytes(p->type);
    }
}

/* Offsets and counts of pointers have 32 bits: integers wrap, floats saturate. */
static int32_t get_count(tw_script_ctx_t *c, unsigned code)
{
    return (int32_t)tw_sv_convert(get(c, code), TW_T_I32, &c->errors).v.i;
}

static void pointer_op(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    if (in->key == TW_SOP_PTYPE) {
        ptr(c, in->x)->type = in->y;
        return;
    }
    tw_sptr_t *const p = ptr(c, in->y);
    if (in->key == TW_SOP_PLEN) {
        const uint32_t n = elements(p);
        put_kept(c, in->x, tw_sv_int(TW_T_U32, p->offset < n ? n - p->offset : 0));
        return;
    }
    const int32_t r = get_count(c, in->x);
    switch (in->key) {
    case TW_SOP_PBASE:
        p->offset = (uint32_t)r;
        break;
    case TW_SOP_PSIZE:
        shrink(p, r);
        break;
    case TW_SOP_PADD:
        p->offset += (uint32_t)r;
        break;
    case TW_SOP_PMOD:
        p->offset = wrapped(p, false, r);
        break;
    }
}

/* A pointer on the stack is its pool label. */
static void pop_pointer(tw_script_ctx_t *c, unsigned code)
{
    const tw_sv_t v = pop(c);
    tw_spool_t pool;
    if (v.t != TW_T_PTR || !tw_spool_open(c->script, &pool) || !tw_spool_find(&pool, (uint32_t)v.v.u, ptr(c, code))) {
        fail(c, TW_E_SCR_FAULT);
    }
}

static void copy(tw_script_ctx_t *c, const tw_sinsn_t *in, bool enabled)
{
    if (is_ptr(in->x) && in->y == TW_RC_S0) {
        pop_pointer(c, in->x);
    } else if (is_ptr(in->x)) {
        const tw_sptr_t p = *ptr(c, in->y);
        *ptr(c, in->x) = enabled ? p : *ptr(c, in->x);
    } else {
        const tw_sv_t v = get(c, in->y);
        if (enabled && in->key == TW_SOP_COPYT) {
            put(c, in->x, v);
        } else if (enabled) {
            put_kept(c, in->x, v);
        }
    }
}

static void swap(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    if (is_ptr(in->x)) {
        tw_sptr_t *const a = ptr(c, in->x);
        tw_sptr_t *const b = ptr(c, in->y);
        const tw_sptr_t t = *a;
        *a = *b;
        *b = t;
        return;
    }
    const tw_sv_t x = get(c, in->x);
    const tw_sv_t y = get(c, in->y);
    put(c, in->x, y);
    put(c, in->y, x);
}

/* ---- calls ---- */

/* A script starts, or goes on after another, with its memory in its last pointer and no other. */
static void enter_script(tw_script_ctx_t *c, const tw_script_t *s)
{
    c->script = s;
    for (unsigned i = 0; i < TW_SCRIPT_PTRS; i++) {
        c->p[i] = (tw_sptr_t){.type = TW_T_I32};
    }
    if (s->mem != NULL && s->mem_bytes != 0 && s->ptrs != 0 && s->ptrs <= TW_SCRIPT_PTRS) {
        c->p[s->ptrs - 1] = (tw_sptr_t){.base = s->mem, .size = s->mem_bytes, .space = 1, .type = TW_T_I32};
    }
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) { /* fp8 stays inside the script that made it */
        c->rt[i] = tw_stype_is_fp8(c->rt[i]) ? TW_T_U8 : c->rt[i];
    }
    c->labels = s->labels;
    if (s->labels == NULL) {
        tw_script_index(s, c->own_labels);
        c->labels = c->own_labels;
    }
}

static bool push_frame(tw_script_ctx_t *c, bool callscript)
{
    if (c->depth >= TW_SCRIPT_CALL_DEPTH) {
        fail(c, TW_E_SCR_STACK);
        return false;
    }
    c->frames[c->depth++] = (tw_script_frame_t){c->script, c->labels, c->next, c->base, callscript};
    c->base = c->sp;
    return true;
}

static void jump(tw_script_ctx_t *c, unsigned label)
{
    if (c->labels[label] == TW_SCRIPT_NO_LABEL) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    c->next = c->labels[label];
}

static void call_script(tw_script_ctx_t *c, uint32_t k)
{
    const tw_script_t *const s = c->host->script == NULL ? NULL : c->host->script(c->host->ctx, k);
    if (s == NULL) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    if (c->sp + s->stack > TW_SCRIPT_STACK_MAX || !push_frame(c, true)) {
        fail(c, TW_E_SCR_STACK);
        return;
    }
    if (s->labels == NULL) {
        /* indexing is work too: a loop of calls must stay bounded */
        c->used = tw_min_u32(c->used + s->code_bytes / 32, c->budget);
    }
    enter_script(c, s);
    c->next = 0;
}

/* Return; between scripts only registers, lc and T carry over, so a result is dropped there. */
static void give_back(tw_script_ctx_t *c, bool with_result, tw_sv_t result)
{
    bool callscript = false;
    c->sp = c->base;
    if (c->depth == 0) {
        c->done = true;
    } else {
        const tw_script_frame_t *const f = &c->frames[--c->depth];
        callscript = f->callscript;
        c->next = f->next;
        c->base = f->base;
        if (callscript) {
            enter_script(c, f->script);
        }
    }
    if (with_result && !callscript) {
        push(c, result);
    }
}

static void call_host(tw_script_ctx_t *c, bool app, uint32_t k)
{
    const int pops = app ? 0 : tw_ssys_pops(k);
    const bool denied = pops < 0 || (!app && tw_ssys_privileged(k) && !c->host->privileged);
    uint32_t (*const fn)(void *, uint32_t, tw_script_ctx_t *) = app ? c->host->callapp : c->host->syscall;
    if (denied || c->sp - c->base < pops) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    const uint16_t sp = (uint16_t)(c->sp - pops); /* whatever the host pops, this is the depth that was verified */
    const uint32_t status = fn == NULL ? (uint32_t)-TW_E_UNSUPPORTED : fn(c->host->ctx, k, c);
    c->sp = sp;
    c->flag = status == 0;
    tw_script_set_int(c, 0, TW_T_I32, (int64_t)status);
}

static void mask_registers(tw_script_ctx_t *c, unsigned keep)
{
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        if ((keep >> i & 1) == 0) {
            put(c, i, tw_sv_int(TW_T_I32, 0));
        }
    }
}

/* ---- instructions ---- */

static bool condition(unsigned key, int order)
{
    switch (key) {
    case TW_SOP_EQU:
    case TW_SOP_EQK:
        return order == 0;
    case TW_SOP_NEQ:
        return order != 0;
    case TW_SOP_LTS:
    case TW_SOP_LTK:
        return order == -1;
    case TW_SOP_LTE:
        return order == -1 || order == 0;
    case TW_SOP_GTS:
    case TW_SOP_GTK:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

static bool nonzero(tw_sv_t v)
{
    return tw_sv_compare(v, tw_sv_int(TW_T_I32, 0)) != 0;
}

static void binary(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(c, in->x);
    const tw_sv_t b = get(c, in->y);
    put_kept(c, in->x, tw_sv_binary(in->key, a, b, &c->errors));
}

static void unary(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t y = get(c, in->y);
    const tw_sv_t a = in->key == TW_SOP_NORM ? y : tw_sv_convert(y, type_of(c, in->x, y.t), &c->errors);
    put_kept(c, in->x, tw_sv_unary(in->key, a));
}

/* inc, dec, addk: X += k. Not an add of a converted k: -1 has no unsigned form. */
static void add_constant(tw_script_ctx_t *c, unsigned code, int64_t k)
{
    const tw_sv_t a = get(c, code);
    if (tw_stype_is_float(a.t)) {
        put_kept(c, code, tw_sv_binary(TW_SOP_ADD, a, (tw_sv_t){.v.i = k, .t = TW_T_I64}, &c->errors));
    } else {
        put_kept(c, code, tw_sv_int(a.t, (int64_t)(a.v.u + (uint64_t)k)));
    }
}

static void wrap(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const bool minus = in->key == TW_SOP_SUBM;
    if (is_ptr(in->x)) {
        const int32_t by = get_count(c, in->y);
        tw_sptr_t *const p = ptr(c, in->x);
        p->offset = wrapped(p, minus, by);
        return;
    }
    const tw_sv_t a = get(c, in->x);
    const tw_sv_t b = get(c, in->y);
    put_kept(c, in->x, tw_sv_wrap(minus, a, b, pop(c), &c->errors));
}

static void blend(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(c, in->x);
    const tw_sv_t b = get(c, in->y);
    put_kept(c, in->x, tw_sv_lerp(a, b, pop(c), &c->errors));
}

static void compare(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(c, in->x);
    const tw_sv_t b = get(c, in->y);
    c->flag = condition(in->key, tw_sv_compare(a, b));
}

static void compare_constant(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t k = {.v.i = (int8_t)(in->word & 255), .t = TW_T_I64};
    c->flag = condition(in->key, tw_sv_compare(get(c, in->x), k));
}

static void test_bits(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(c, in->x);
    const tw_sv_t b = tw_sv_convert(get(c, in->y), a.t, &c->errors);
    c->flag = (tw_sv_bits(a) & tw_sv_bits(b)) != 0;
}

static void in_range(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(c, in->x);
    const int low = tw_sv_compare(a, get(c, in->y));
    const int high = tw_sv_compare(a, get(c, in->y + 1u));
    c->flag = (low == 0 || low == 1) && (high == 0 || high == -1);
}

static void test_bit(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const bool bit = (tw_sv_bits(get(c, in->x)) >> (in->word & 63) & 1) != 0;
    c->flag = bit == (in->key == TW_SOP_BIT1);
}

static void field(tw_script_ctx_t *c, const tw_sinsn_t *in, uint16_t where)
{
    const unsigned lsb = where & 63;
    const uint64_t mask = ~(uint64_t)0 >> (63 - (where >> 8 & 63));
    if (in->key == TW_SOP_BFX) {
        const uint64_t bits = tw_sv_bits(get(c, in->y)) >> lsb & mask;
        put_kept(c, in->x, (tw_sv_t){.v.u = bits, .t = TW_T_U64});
        return;
    }
    const tw_sv_t r = get(c, in->x);
    const uint64_t bits = tw_sv_bits(get(c, in->y)) & mask;
    put_kept(c, in->x, tw_sv_from_bits(r.t, (tw_sv_bits(r) & ~(mask << lsb)) | bits << lsb));
}

static void literal(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const uint8_t *const at = c->script->code + c->pc + 2;
    uint64_t bits = 0;
    for (unsigned i = 0; i < in->halfwords - 1u; i++) {
        bits |= (uint64_t)tw_get_le16(at + 2 * i) << (16 * i);
    }
    put(c, in->x, tw_sv_from_bits(in->y, bits));
}

static void reset(tw_script_ctx_t *c)
{
    mask_registers(c, 0);
    c->sp = c->base;
    c->lc = 0;
    c->flag = 0;
}

static void duplicate(tw_script_ctx_t *c)
{
    const tw_sv_t v = pop(c);
    push(c, v);
    push(c, v);
}

/* Words with a condition bit; skipped when it is set and T is not. */
static void transfer(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const unsigned k = in->word & 127;
    if ((in->word & 0x80) != 0 && !c->flag) {
        return;
    }
    switch (in->key) {
    case TW_SOP_JMP:
        jump(c, k);
        break;
    case TW_SOP_JMPR:
        c->next = (uint32_t)((int32_t)c->next + 2 * (k < 64 ? (int)k : (int)k - 128));
        break;
    case TW_SOP_CALL:
        if (push_frame(c, false)) {
            jump(c, k);
        }
        break;
    case TW_SOP_CALLSYS:
        call_host(c, false, k);
        break;
    case TW_SOP_CALLAPP:
        call_host(c, true, k & 63);
        break;
    case TW_SOP_CALLSCRIPT:
        call_script(c, k & 63);
        break;
    }
}

static void execute(tw_script_ctx_t *c, const tw_sinsn_t *in)
{
    const unsigned low = in->word & 255;
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_JMPR:
    case TW_SOP_CALL:
    case TW_SOP_CALLSYS:
    case TW_SOP_CALLAPP:
    case TW_SOP_CALLSCRIPT:
        transfer(c, in);
        break;
    case TW_SOP_LABL:
    case TW_SOP_NOP:
        break;
    case TW_SOP_BANZ:
        if (--c->lc != 0) {
            jump(c, low & 127);
        }
        break;
    case TW_SOP_RETK:
        mask_registers(c, low);
        give_back(c, false, (tw_sv_t){0});
        break;
    case TW_SOP_RET:
        give_back(c, false, (tw_sv_t){0});
        break;
    case TW_SOP_RETP:
        give_back(c, true, get(c, in->x));
        break;
    case TW_SOP_PSHA:
        push(c, (tw_sv_t){.v.u = low, .t = TW_T_PTR});
        break;
    case TW_SOP_BRK:
        c->held = c->host->brk != NULL && c->host->brk(c->host->ctx, low, c);
        break;
    case TW_SOP_COPY:
    case TW_SOP_COPYT:
        copy(c, in, true);
        break;
    case TW_SOP_CCOPY:
        copy(c, in, c->flag != 0);
        break;
    case TW_SOP_LOAD:
    case TW_SOP_LOADI:
        load(c, in);
        break;
    case TW_SOP_STORE:
    case TW_SOP_STOREI:
        store(c, in);
        break;
    case TW_SOP_MOVI:
        literal(c, in);
        break;
    case TW_SOP_PBASE:
    case TW_SOP_PSIZE:
    case TW_SOP_PTYPE:
    case TW_SOP_PADD:
    case TW_SOP_PMOD:
    case TW_SOP_PLEN:
        pointer_op(c, in);
        break;
    case TW_SOP_ADDK:
        add_constant(c, in->x, (int8_t)low);
        break;
    case TW_SOP_INC:
        add_constant(c, in->x, 1);
        break;
    case TW_SOP_DEC:
        add_constant(c, in->x, -1);
        break;
    case TW_SOP_EQK:
    case TW_SOP_GTK:
    case TW_SOP_LTK:
        compare_constant(c, in);
        break;
    case TW_SOP_SHL:
    case TW_SOP_SHR:
    case TW_SOP_ASR:
    case TW_SOP_ROT:
    case TW_SOP_BSET:
    case TW_SOP_BCLR:
        put_kept(c, in->x, tw_sv_bitop(in->key, get(c, in->x), low & 63));
        break;
    case TW_SOP_BIT0:
    case TW_SOP_BIT1:
        test_bit(c, in);
        break;
    case TW_SOP_BFX:
    case TW_SOP_BFI:
        field(c, in, tw_get_le16(c->script->code + c->pc + 2));
        break;
    case TW_SOP_PSHT:
        push(c, tw_sv_int(TW_T_U8, c->flag));
        break;
    case TW_SOP_RESET:
        reset(c);
        break;
    case TW_SOP_DUP:
        duplicate(c);
        break;
    case TW_SOP_SWAP:
        swap(c, in);
        break;
    case TW_SOP_CONV:
        put(c, in->x, tw_sv_convert(get(c, in->x), in->y, &c->errors));
        break;
    case TW_SOP_CAST:
        put(c, in->x, tw_sv_from_bits(in->y, tw_sv_bits(get(c, in->x))));
        break;
    case TW_SOP_NEG:
    case TW_SOP_NOT:
    case TW_SOP_ABS:
    case TW_SOP_NORM:
    case TW_SOP_SQRT:
        unary(c, in);
        break;
    case TW_SOP_NEGT:
        c->flag = !c->flag;
        break;
    case TW_SOP_ANDT:
        c->flag = nonzero(get(c, in->x)) && c->flag;
        break;
    case TW_SOP_ORT:
        c->flag = nonzero(get(c, in->x)) || c->flag;
        break;
    case TW_SOP_ADD:
    case TW_SOP_SUB:
    case TW_SOP_RSB:
    case TW_SOP_MUL:
    case TW_SOP_DIV:
    case TW_SOP_RDIV:
    case TW_SOP_MOD:
    case TW_SOP_ASHFT:
    case TW_SOP_OR:
    case TW_SOP_XOR:
    case TW_SOP_AND:
    case TW_SOP_NOR:
    case TW_SOP_MIN:
    case TW_SOP_MAX:
    case TW_SOP_SQRA:
    case TW_SOP_AMAX:
    case TW_SOP_AMIN:
        binary(c, in);
        break;
    case TW_SOP_ADDM:
    case TW_SOP_SUBM:
        wrap(c, in);
        break;
    case TW_SOP_LERP:
        blend(c, in);
        break;
    case TW_SOP_EQU:
    case TW_SOP_NEQ:
    case TW_SOP_LTS:
    case TW_SOP_LTE:
    case TW_SOP_GTS:
    case TW_SOP_GTE:
        compare(c, in);
        break;
    case TW_SOP_TST:
        test_bits(c, in);
        break;
    case TW_SOP_INR:
        in_range(c, in);
        break;
    default:
        fail(c, TW_E_SCR_FAULT);
        break;
    }
}

static void step(tw_script_ctx_t *c)
{
    const tw_script_t *const s = c->script;
    c->pc = c->next;
    if (c->used >= c->budget) {
        fail(c, TW_E_SCR_BUDGET);
        return;
    }
    if ((c->next & 1) != 0 || !tw_inside(c->next, 2, s->code_bytes)) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    tw_sinsn_t in;
    tw_sop_decode(tw_get_le16(s->code + c->next), &in);
    if (!tw_inside(c->next, 2u * in.halfwords, s->code_bytes)) {
        fail(c, TW_E_SCR_FAULT);
        return;
    }
    c->used++;
    c->next += 2u * in.halfwords;
    c->s1 = (uint16_t)(c->sp - 2); /* out of range when there is no second entry: s1_there() refuses it */
    execute(c, &in);
}

static uint32_t allowance(const tw_script_t *s, uint32_t asked)
{
    const uint32_t own = s->budget == 0 ? TW_SCRIPT_BUDGET : s->budget;
    return tw_min_u32(asked == 0 ? own : asked, TW_SCRIPT_BUDGET_MAX);
}

void tw_script_begin(tw_script_ctx_t *c, const tw_script_t *s, const tw_script_host_t *host, const int64_t *args,
                     unsigned n_args, bool flag, uint32_t budget)
{
    memset(&c->sp, 0,
           offsetof(tw_script_ctx_t, frames) - offsetof(tw_script_ctx_t, sp)); /* values and frames: unread */
    c->host = host;
    c->budget = allowance(s, budget);
    c->flag = flag;
    mask_registers(c, 0);
    for (unsigned i = 0; args != NULL && i < n_args && i < TW_SCRIPT_REGS; i++) {
        tw_script_set_int(c, i, TW_T_I64, args[i]);
    }
    enter_script(c, s);
}

tw_err_t tw_script_go(tw_script_ctx_t *c, uint32_t limit)
{
    const uint32_t until = limit == 0 ? UINT32_MAX : c->used + limit; /* `used` stays far below */
    c->held = false;
    while (!c->done && c->err == TW_OK && !c->held) {
#if TW_SCRIPT_FAST
        if (limit == 0 && c->script->fast != NULL) { /* as far as it goes; what it leaves is done below */
            tw_fast_run(c);
            if (c->done) {
                break;
            }
        }
#endif
        step(c);
        c->held |= c->used >= until;
    }
    if (c->done || c->err != TW_OK) {
        return c->err;
    }
    c->pc = c->next;
    return TW_E_SCR_HELD;
}

tw_err_t tw_script_run(const tw_script_t *s, const tw_script_host_t *host, tw_script_ctx_t *c, const int64_t *args,
                       unsigned n_args, bool flag, uint32_t budget)
{
    tw_script_begin(c, s, host, args, n_args, flag, budget);
    return tw_script_go(c, 0);
}

/* ---- for system calls ---- */

int64_t tw_script_reg_int(const tw_script_ctx_t *c, unsigned reg)
{
    uint8_t ignored = 0;
    return reg < TW_SCRIPT_REGS ? tw_sv_to_int((tw_sv_t){c->r[reg], c->rt[reg]}, &ignored) : 0;
}

void tw_script_set_int(tw_script_ctx_t *c, unsigned reg, tw_stype_t type, int64_t v)
{
    if (reg < TW_SCRIPT_REGS) {
        const tw_sv_t r = tw_sv_int(type, v);
        c->r[reg] = r.v;
        c->rt[reg] = r.t;
    }
}

bool tw_script_pop_int(tw_script_ctx_t *c, int64_t *v)
{
    uint8_t ignored = 0;
    if (c->sp == 0) {
        return false;
    }
    c->sp--;
    *v = tw_sv_to_int((tw_sv_t){c->stack[c->sp], c->stack_t[c->sp]}, &ignored);
    return true;
}

uint8_t *tw_script_window(const tw_script_ctx_t *c, unsigned ptr, uint32_t *bytes, bool for_write)
{
    *bytes = 0;
    if (ptr >= TW_SCRIPT_PTRS) {
        return NULL;
    }
    const tw_sptr_t *const p = &c->p[ptr];
    const uint64_t at = (uint64_t)p->offset * tw_stype_bytes(p->type);
    if (p->base == NULL || p->space == 0 || (for_write && p->space == 2) || at > p->size) {
        return NULL;
    }
    *bytes = p->size - (uint32_t)at;
    return p->base + at;
}
