/* script_vm.c - the TWV-16 machine: fetch, dispatch, pointers, calls, budget.
 *
 * Runs verified code, and trusts it with nothing: program counter, stack and every
 * pointer are checked where they are used, so unverified code can only fail.
 * Arithmetic is script_value.c; the world is tw_script_host_t.
 */
#include "engine/script/script_value_priv.h"

typedef struct frame {
    const tw_script_t *script; /* where to return to */
    const uint16_t *labels;
    uint32_t pc;
    uint16_t base;
    bool callscript;
} frame_t;

typedef struct vm {
    const tw_script_t *script;
    const uint16_t *labels;
    const tw_script_host_t *host;
    tw_script_ctx_t *c;
    uint32_t pc; /* of the next instruction [bytes] */
    uint32_t budget;
    uint16_t base; /* stack entries below belong to the callers */
    uint16_t s1;   /* place of code 15, fixed when the instruction starts */
    uint8_t depth;
    bool done;
    tw_err_t err;
    frame_t frames[TW_SCRIPT_CALL_DEPTH];
} vm_t;

/* The first failure stands. */
static void fail(vm_t *m, tw_err_t err)
{
    if (m->err == TW_OK) {
        m->err = err;
    }
}

static void push(vm_t *m, tw_sv_t v)
{
    tw_script_ctx_t *const c = m->c;
    if (c->sp >= TW_SCRIPT_STACK_MAX) {
        fail(m, TW_E_SCR_STACK);
        return;
    }
    c->stack[c->sp] = v.v;
    c->stack_t[c->sp] = v.t;
    c->sp++;
}

static tw_sv_t pop(vm_t *m)
{
    tw_script_ctx_t *const c = m->c;
    if (c->sp <= m->base) {
        fail(m, TW_E_SCR_STACK);
        return (tw_sv_t){.t = TW_T_I32};
    }
    c->sp--;
    return (tw_sv_t){c->stack[c->sp], c->stack_t[c->sp]};
}

static bool s1_there(vm_t *m)
{
    if (m->s1 >= TW_SCRIPT_STACK_MAX || m->s1 < m->base) {
        fail(m, TW_E_SCR_STACK);
        return false;
    }
    return true;
}

static tw_sv_t get(vm_t *m, unsigned code)
{
    const tw_script_ctx_t *const c = m->c;
    if (code < TW_SCRIPT_REGS) {
        return (tw_sv_t){c->r[code], c->rt[code]};
    }
    if (code == TW_RC_S0) {
        return pop(m);
    }
    if (code == TW_RC_S1 && s1_there(m)) {
        return (tw_sv_t){c->stack[m->s1], c->stack_t[m->s1]};
    }
    return tw_sv_int(code == TW_RC_LC ? TW_T_U16 : TW_T_I32, code == TW_RC_LC ? c->lc : 0);
}

/* Value and type; the stack takes both, lc converts, zero ignores. */
static void put(vm_t *m, unsigned code, tw_sv_t v)
{
    tw_script_ctx_t *const c = m->c;
    if (code < TW_SCRIPT_REGS) {
        c->r[code] = v.v;
        c->rt[code] = v.t;
    } else if (code == TW_RC_S0) {
        push(m, v);
    } else if (code == TW_RC_LC) {
        c->lc = (uint16_t)tw_sv_convert(v, TW_T_U16, &c->errors).v.u;
    } else if (code == TW_RC_S1 && s1_there(m)) {
        c->stack[m->s1] = v.v;
        c->stack_t[m->s1] = v.t;
    }
}

/* Type a destination imposes; a push and the zero register take what comes. */
static unsigned type_of(vm_t *m, unsigned code, unsigned otherwise)
{
    const tw_script_ctx_t *const c = m->c;
    if (code < TW_SCRIPT_REGS) {
        return c->rt[code];
    }
    if (code == TW_RC_S1 && s1_there(m)) {
        return c->stack_t[m->s1];
    }
    return code == TW_RC_LC ? TW_T_U16 : otherwise;
}

static void put_kept(vm_t *m, unsigned code, tw_sv_t v)
{
    put(m, code, tw_sv_convert(v, type_of(m, code, v.t), &m->c->errors));
}

/* ---- pointers ---- */

static bool is_ptr(unsigned code)
{
    return code >= TW_RC_P0 && code < TW_RC_P0 + TW_SCRIPT_PTRS;
}

static tw_sptr_t *ptr(vm_t *m, unsigned code)
{
    if (!is_ptr(code)) {
        fail(m, TW_E_SCR_FAULT);
        code = TW_RC_P0;
    }
    return &m->c->p[code - TW_RC_P0];
}

static uint32_t elements(const tw_sptr_t *p)
{
    return p->size / tw_stype_bytes(p->type);
}

static uint8_t *element(vm_t *m, const tw_sptr_t *p, bool for_write)
{
    const uint64_t bytes = tw_stype_bytes(p->type);
    if (p->base == NULL || p->space == 0 || (for_write && p->space == 2) ||
        !tw_inside(p->offset * bytes, bytes, p->size)) {
        fail(m, TW_E_SCR_FAULT);
        return NULL;
    }
    return p->base + p->offset * bytes;
}

static void load(vm_t *m, const tw_sinsn_t *in)
{
    tw_sptr_t *const p = ptr(m, in->y);
    const uint8_t *const at = element(m, p, false);
    if (at == NULL) {
        return;
    }
    uint64_t bits = 0;
    for (unsigned i = 0; i < tw_stype_bytes(p->type); i++) {
        bits |= (uint64_t)at[i] << (8 * i);
    }
    put(m, in->x, tw_sv_from_bits(p->type, bits));
    p->offset += in->key == TW_SOP_LOADI;
}

static void store(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t v = get(m, in->y);
    tw_sptr_t *const p = ptr(m, in->x);
    uint8_t *const at = element(m, p, true);
    if (at == NULL || m->err != TW_OK) {
        return;
    }
    const uint64_t bits = tw_sv_bits(tw_sv_convert(v, p->type, &m->c->errors));
    for (unsigned i = 0; i < tw_stype_bytes(p->type); i++) {
        at[i] = (uint8_t)(bits >> (8 * i));
    }
    p->offset += in->key == TW_SOP_STOREI;
}

/* offset + by, wrapped into the window; an empty window leaves 0. */
static uint32_t wrapped(const tw_sptr_t *p, int64_t by)
{
    const int64_t n = elements(p);
    if (n == 0) {
        return 0;
    }
    const int64_t r = ((int64_t)p->offset % n + by % n) % n;
    return (uint32_t)(r < 0 ? r + n : r);
}

static void shrink(tw_sptr_t *p, int64_t n)
{
    if (n < (int64_t)elements(p)) {
        p->size = n <= 0 ? 0 : (uint32_t)n * tw_stype_bytes(p->type);
    }
}

static void pointer_op(vm_t *m, const tw_sinsn_t *in)
{
    if (in->key == TW_SOP_PTYPE) {
        ptr(m, in->x)->type = in->y;
        return;
    }
    tw_sptr_t *const p = ptr(m, in->y);
    if (in->key == TW_SOP_PLEN) {
        const uint32_t n = elements(p);
        put_kept(m, in->x, tw_sv_int(TW_T_U32, p->offset < n ? n - p->offset : 0));
        return;
    }
    const int64_t r = tw_sv_to_int(get(m, in->x), &m->c->errors);
    switch (in->key) {
    case TW_SOP_PBASE: /* a place that 32 bits cannot hold is outside any window */
        p->offset = r < 0 || r > UINT32_MAX ? UINT32_MAX : (uint32_t)r;
        break;
    case TW_SOP_PSIZE:
        shrink(p, r);
        break;
    case TW_SOP_PADD:
        p->offset += (uint32_t)(uint64_t)r;
        break;
    case TW_SOP_PMOD:
        p->offset = wrapped(p, r);
        break;
    }
}

/* A pointer on the stack is its pool label. */
static void pop_pointer(vm_t *m, unsigned code)
{
    const tw_sv_t v = pop(m);
    tw_spool_t pool;
    if (v.t != TW_T_PTR || !tw_spool_open(m->script, &pool) || !tw_spool_find(&pool, (uint32_t)v.v.u, ptr(m, code))) {
        fail(m, TW_E_SCR_FAULT);
    }
}

static void copy(vm_t *m, const tw_sinsn_t *in, bool enabled)
{
    if (is_ptr(in->x) && in->y == TW_RC_S0) {
        pop_pointer(m, in->x);
    } else if (is_ptr(in->x)) {
        const tw_sptr_t p = *ptr(m, in->y);
        *ptr(m, in->x) = enabled ? p : *ptr(m, in->x);
    } else {
        const tw_sv_t v = get(m, in->y);
        if (enabled && in->key == TW_SOP_COPYT) {
            put(m, in->x, v);
        } else if (enabled) {
            put_kept(m, in->x, v);
        }
    }
}

static void swap(vm_t *m, const tw_sinsn_t *in)
{
    if (is_ptr(in->x)) {
        tw_sptr_t *const a = ptr(m, in->x);
        tw_sptr_t *const b = ptr(m, in->y);
        const tw_sptr_t t = *a;
        *a = *b;
        *b = t;
        return;
    }
    const tw_sv_t x = get(m, in->x);
    const tw_sv_t y = get(m, in->y);
    put(m, in->x, y);
    put(m, in->y, x);
}

/* ---- calls ---- */

/* A script starts, or goes on after another, with its memory in its last pointer and no other. */
static void enter_script(vm_t *m, const tw_script_t *s)
{
    tw_script_ctx_t *const c = m->c;
    m->script = s;
    for (unsigned i = 0; i < TW_SCRIPT_PTRS; i++) {
        c->p[i] = (tw_sptr_t){.type = TW_T_I32};
    }
    if (s->mem != NULL && s->mem_bytes != 0 && s->ptrs != 0 && s->ptrs <= TW_SCRIPT_PTRS) {
        c->p[s->ptrs - 1] = (tw_sptr_t){.base = s->mem, .size = s->mem_bytes, .space = 1, .type = TW_T_I32};
    }
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) { /* fp8 stays inside the script that made it */
        c->rt[i] = tw_stype_is_fp8(c->rt[i]) ? TW_T_U8 : c->rt[i];
    }
    m->labels = s->labels;
    if (s->labels == NULL) {
        tw_script_index(s, c->labels);
        m->labels = c->labels;
    }
}

static bool push_frame(vm_t *m, bool callscript)
{
    if (m->depth >= TW_SCRIPT_CALL_DEPTH) {
        fail(m, TW_E_SCR_STACK);
        return false;
    }
    m->frames[m->depth++] = (frame_t){m->script, m->labels, m->pc, m->base, callscript};
    m->base = m->c->sp;
    return true;
}

static void jump(vm_t *m, unsigned label)
{
    if (m->labels[label] == TW_SCRIPT_NO_LABEL) {
        fail(m, TW_E_SCR_FAULT);
        return;
    }
    m->pc = m->labels[label];
}

static void call_script(vm_t *m, uint32_t k)
{
    const tw_script_t *const s = m->host->script == NULL ? NULL : m->host->script(m->host->ctx, k);
    if (s == NULL) {
        fail(m, TW_E_SCR_FAULT);
        return;
    }
    if (m->c->sp + s->stack > TW_SCRIPT_STACK_MAX || !push_frame(m, true)) {
        fail(m, TW_E_SCR_STACK);
        return;
    }
    if (s->labels == NULL) {
        /* indexing is work too: a loop of calls must stay bounded */
        m->c->used = tw_min_u32(m->c->used + s->code_bytes / 32, m->budget);
    }
    enter_script(m, s);
    m->pc = 0;
}

/* Return; between scripts only registers, lc and T carry over, so a result is dropped there. */
static void give_back(vm_t *m, bool with_result, tw_sv_t result)
{
    bool callscript = false;
    m->c->sp = m->base;
    if (m->depth == 0) {
        m->done = true;
    } else {
        const frame_t *const f = &m->frames[--m->depth];
        callscript = f->callscript;
        m->pc = f->pc;
        m->base = f->base;
        if (callscript) {
            enter_script(m, f->script);
        }
    }
    if (with_result && !callscript) {
        push(m, result);
    }
}

static void call_host(vm_t *m, bool app, uint32_t k)
{
    tw_script_ctx_t *const c = m->c;
    const int pops = app ? 0 : tw_ssys_pops(k);
    const bool denied = pops < 0 || (!app && tw_ssys_privileged(k) && !m->host->privileged);
    uint32_t (*const fn)(void *, uint32_t, tw_script_ctx_t *) = app ? m->host->callapp : m->host->syscall;
    if (denied || c->sp - m->base < pops) {
        fail(m, TW_E_SCR_FAULT);
        return;
    }
    const uint16_t sp = (uint16_t)(c->sp - pops); /* whatever the host pops, this is the depth that was verified */
    const uint32_t status = fn == NULL ? (uint32_t)-TW_E_UNSUPPORTED : fn(m->host->ctx, k, c);
    c->sp = sp;
    c->flag = status == 0;
    tw_script_set_int(c, 0, TW_T_I32, (int64_t)status);
}

static void mask_registers(vm_t *m, unsigned keep)
{
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        if ((keep >> i & 1) == 0) {
            put(m, i, tw_sv_int(TW_T_I32, 0));
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

static void binary(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(m, in->x);
    const tw_sv_t b = get(m, in->y);
    put_kept(m, in->x, tw_sv_binary(in->key, a, b, &m->c->errors));
}

static void unary(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t y = get(m, in->y);
    const tw_sv_t a = in->key == TW_SOP_NORM ? y : tw_sv_convert(y, type_of(m, in->x, y.t), &m->c->errors);
    put_kept(m, in->x, tw_sv_unary(in->key, a));
}

/* inc, dec, addk: X += k. Not an add of a converted k: -1 has no unsigned form. */
static void add_constant(vm_t *m, unsigned code, int64_t k)
{
    const tw_sv_t a = get(m, code);
    if (tw_stype_is_float(a.t)) {
        put_kept(m, code, tw_sv_binary(TW_SOP_ADD, a, (tw_sv_t){.v.i = k, .t = TW_T_I64}, &m->c->errors));
    } else {
        put_kept(m, code, tw_sv_int(a.t, (int64_t)(a.v.u + (uint64_t)k)));
    }
}

static void wrap(vm_t *m, const tw_sinsn_t *in)
{
    const bool minus = in->key == TW_SOP_SUBM;
    if (is_ptr(in->x)) {
        const int64_t by = tw_sv_to_int(get(m, in->y), &m->c->errors);
        tw_sptr_t *const p = ptr(m, in->x);
        p->offset = wrapped(p, minus ? (int64_t)(0 - (uint64_t)by) : by);
        return;
    }
    const tw_sv_t a = get(m, in->x);
    const tw_sv_t b = get(m, in->y);
    put_kept(m, in->x, tw_sv_wrap(minus, a, b, pop(m), &m->c->errors));
}

static void blend(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(m, in->x);
    const tw_sv_t b = get(m, in->y);
    put_kept(m, in->x, tw_sv_lerp(a, b, pop(m), &m->c->errors));
}

static void compare(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(m, in->x);
    const tw_sv_t b = get(m, in->y);
    m->c->flag = condition(in->key, tw_sv_compare(a, b));
}

static void compare_constant(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t k = {.v.i = (int8_t)(in->word & 255), .t = TW_T_I64};
    m->c->flag = condition(in->key, tw_sv_compare(get(m, in->x), k));
}

static void test_bits(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(m, in->x);
    const tw_sv_t b = tw_sv_convert(get(m, in->y), a.t, &m->c->errors);
    m->c->flag = (tw_sv_bits(a) & tw_sv_bits(b)) != 0;
}

static void in_range(vm_t *m, const tw_sinsn_t *in)
{
    const tw_sv_t a = get(m, in->x);
    const int low = tw_sv_compare(a, get(m, in->y));
    const int high = tw_sv_compare(a, get(m, in->y + 1u));
    m->c->flag = (low == 0 || low == 1) && (high == 0 || high == -1);
}

static void test_bit(vm_t *m, const tw_sinsn_t *in)
{
    const bool bit = (tw_sv_bits(get(m, in->x)) >> (in->word & 63) & 1) != 0;
    m->c->flag = bit == (in->key == TW_SOP_BIT1);
}

static void field(vm_t *m, const tw_sinsn_t *in, uint16_t where)
{
    const unsigned lsb = where & 63;
    const uint64_t mask = ~(uint64_t)0 >> (63 - (where >> 8 & 63));
    if (in->key == TW_SOP_BFX) {
        const uint64_t bits = tw_sv_bits(get(m, in->y)) >> lsb & mask;
        put_kept(m, in->x, (tw_sv_t){.v.u = bits, .t = TW_T_U64});
        return;
    }
    const tw_sv_t r = get(m, in->x);
    const uint64_t bits = tw_sv_bits(get(m, in->y)) & mask;
    put_kept(m, in->x, tw_sv_from_bits(r.t, (tw_sv_bits(r) & ~(mask << lsb)) | bits << lsb));
}

static void literal(vm_t *m, const tw_sinsn_t *in)
{
    const uint8_t *const at = m->script->code + m->c->pc + 2;
    uint64_t bits = 0;
    for (unsigned i = 0; i < in->halfwords - 1u; i++) {
        bits |= (uint64_t)tw_get_le16(at + 2 * i) << (16 * i);
    }
    put(m, in->x, tw_sv_from_bits(in->y, bits));
}

static void reset(vm_t *m)
{
    mask_registers(m, 0);
    m->c->sp = m->base;
    m->c->lc = 0;
    m->c->flag = 0;
}

static void duplicate(vm_t *m)
{
    const tw_sv_t v = pop(m);
    push(m, v);
    push(m, v);
}

/* Words with a condition bit; skipped when it is set and T is not. */
static void transfer(vm_t *m, const tw_sinsn_t *in)
{
    const unsigned k = in->word & 127;
    if ((in->word & 0x80) != 0 && !m->c->flag) {
        return;
    }
    switch (in->key) {
    case TW_SOP_JMP:
        jump(m, k);
        break;
    case TW_SOP_JMPR:
        m->pc = (uint32_t)((int32_t)m->pc + 2 * (k < 64 ? (int)k : (int)k - 128));
        break;
    case TW_SOP_CALL:
        if (push_frame(m, false)) {
            jump(m, k);
        }
        break;
    case TW_SOP_CALLSYS:
        call_host(m, false, k);
        break;
    case TW_SOP_CALLAPP:
        call_host(m, true, k & 63);
        break;
    case TW_SOP_CALLSCRIPT:
        call_script(m, k & 63);
        break;
    }
}

static void execute(vm_t *m, const tw_sinsn_t *in)
{
    tw_script_ctx_t *const c = m->c;
    const unsigned low = in->word & 255;
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_JMPR:
    case TW_SOP_CALL:
    case TW_SOP_CALLSYS:
    case TW_SOP_CALLAPP:
    case TW_SOP_CALLSCRIPT:
        transfer(m, in);
        break;
    case TW_SOP_LABL:
    case TW_SOP_NOP:
        break;
    case TW_SOP_BANZ:
        if (--c->lc != 0) {
            jump(m, low & 127);
        }
        break;
    case TW_SOP_RETK:
        mask_registers(m, low);
        give_back(m, false, (tw_sv_t){0});
        break;
    case TW_SOP_RET:
        give_back(m, false, (tw_sv_t){0});
        break;
    case TW_SOP_RETP:
        give_back(m, true, get(m, in->x));
        break;
    case TW_SOP_PSHA:
        push(m, (tw_sv_t){.v.u = low, .t = TW_T_PTR});
        break;
    case TW_SOP_BRK:
        if (m->host->brk != NULL) {
            m->host->brk(m->host->ctx, low, c);
        }
        break;
    case TW_SOP_COPY:
    case TW_SOP_COPYT:
        copy(m, in, true);
        break;
    case TW_SOP_CCOPY:
        copy(m, in, c->flag != 0);
        break;
    case TW_SOP_LOAD:
    case TW_SOP_LOADI:
        load(m, in);
        break;
    case TW_SOP_STORE:
    case TW_SOP_STOREI:
        store(m, in);
        break;
    case TW_SOP_MOVI:
        literal(m, in);
        break;
    case TW_SOP_PBASE:
    case TW_SOP_PSIZE:
    case TW_SOP_PTYPE:
    case TW_SOP_PADD:
    case TW_SOP_PMOD:
    case TW_SOP_PLEN:
        pointer_op(m, in);
        break;
    case TW_SOP_ADDK:
        add_constant(m, in->x, (int8_t)low);
        break;
    case TW_SOP_INC:
        add_constant(m, in->x, 1);
        break;
    case TW_SOP_DEC:
        add_constant(m, in->x, -1);
        break;
    case TW_SOP_EQK:
    case TW_SOP_GTK:
    case TW_SOP_LTK:
        compare_constant(m, in);
        break;
    case TW_SOP_SHL:
    case TW_SOP_SHR:
    case TW_SOP_ASR:
    case TW_SOP_ROT:
    case TW_SOP_BSET:
    case TW_SOP_BCLR:
        put_kept(m, in->x, tw_sv_bitop(in->key, get(m, in->x), low & 63));
        break;
    case TW_SOP_BIT0:
    case TW_SOP_BIT1:
        test_bit(m, in);
        break;
    case TW_SOP_BFX:
    case TW_SOP_BFI:
        field(m, in, tw_get_le16(m->script->code + c->pc + 2));
        break;
    case TW_SOP_PSHT:
        push(m, tw_sv_int(TW_T_U8, c->flag));
        break;
    case TW_SOP_RESET:
        reset(m);
        break;
    case TW_SOP_DUP:
        duplicate(m);
        break;
    case TW_SOP_SWAP:
        swap(m, in);
        break;
    case TW_SOP_CONV:
        put(m, in->x, tw_sv_convert(get(m, in->x), in->y, &c->errors));
        break;
    case TW_SOP_CAST:
        put(m, in->x, tw_sv_from_bits(in->y, tw_sv_bits(get(m, in->x))));
        break;
    case TW_SOP_NEG:
    case TW_SOP_NOT:
    case TW_SOP_ABS:
    case TW_SOP_NORM:
    case TW_SOP_SQRT:
        unary(m, in);
        break;
    case TW_SOP_NEGT:
        c->flag = !c->flag;
        break;
    case TW_SOP_ANDT:
        c->flag = nonzero(get(m, in->x)) && c->flag;
        break;
    case TW_SOP_ORT:
        c->flag = nonzero(get(m, in->x)) || c->flag;
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
        binary(m, in);
        break;
    case TW_SOP_ADDM:
    case TW_SOP_SUBM:
        wrap(m, in);
        break;
    case TW_SOP_LERP:
        blend(m, in);
        break;
    case TW_SOP_EQU:
    case TW_SOP_NEQ:
    case TW_SOP_LTS:
    case TW_SOP_LTE:
    case TW_SOP_GTS:
    case TW_SOP_GTE:
        compare(m, in);
        break;
    case TW_SOP_TST:
        test_bits(m, in);
        break;
    case TW_SOP_INR:
        in_range(m, in);
        break;
    default:
        fail(m, TW_E_SCR_FAULT);
        break;
    }
}

static void step(vm_t *m)
{
    tw_script_ctx_t *const c = m->c;
    const tw_script_t *const s = m->script;
    c->pc = m->pc;
    if (c->used >= m->budget) {
        fail(m, TW_E_SCR_BUDGET);
        return;
    }
    if ((m->pc & 1) != 0 || !tw_inside(m->pc, 2, s->code_bytes)) {
        fail(m, TW_E_SCR_FAULT);
        return;
    }
    tw_sinsn_t in;
    tw_sop_decode(tw_get_le16(s->code + m->pc), &in);
    if (!tw_inside(m->pc, 2u * in.halfwords, s->code_bytes)) {
        fail(m, TW_E_SCR_FAULT);
        return;
    }
    c->used++;
    m->pc += 2u * in.halfwords;
    m->s1 = (uint16_t)(c->sp - 2); /* out of range when there is no second entry: s1_there() refuses it */
    execute(m, &in);
}

static uint32_t allowance(const tw_script_t *s, uint32_t asked)
{
    const uint32_t own = s->budget == 0 ? TW_SCRIPT_BUDGET : s->budget;
    return tw_min_u32(asked == 0 ? own : asked, TW_SCRIPT_BUDGET_MAX);
}

static void begin(vm_t *m, const int64_t *args, unsigned n_args, bool flag)
{
    tw_script_ctx_t *const c = m->c;
    memset(c, 0, sizeof *c);
    c->flag = flag;
    mask_registers(m, 0);
    for (unsigned i = 0; args != NULL && i < n_args && i < TW_SCRIPT_REGS; i++) {
        tw_script_set_int(c, i, TW_T_I64, args[i]);
    }
    enter_script(m, m->script);
}

tw_err_t tw_script_run(const tw_script_t *s, const tw_script_host_t *host, tw_script_ctx_t *c, const int64_t *args,
                       unsigned n_args, bool flag, uint32_t budget)
{
    vm_t m = {.script = s, .host = host, .c = c, .budget = allowance(s, budget)};
    begin(&m, args, n_args, flag);
    while (!m.done && m.err == TW_OK) {
        step(&m);
    }
    return m.err;
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
