/* script_access.c - registers, stack and pointers for system calls; values keep their representation to themselves. */
#include "engine/script/script_value_priv.h"

/* A device without some types gives results in the nearest it has. */
static unsigned type_here(unsigned t)
{
    if (!tw_stype_missing(t)) {
        return t;
    }
    return TW_SCRIPT_FLOAT && t == TW_T_FP64 ? TW_T_FP32 : t == TW_T_U64 ? TW_T_U32 : TW_T_I32;
}

double tw_script_reg_real(const tw_script_ctx_t *c, unsigned reg)
{
    uint8_t ignored = 0;
    if (reg >= TW_SCRIPT_REGS) {
        return 0.0;
    }
    const tw_sv_t v = {c->r[reg], c->rt[reg]};
    if (!TW_SCRIPT_FLOAT) {
        return (double)v.v.i;
    }
    return TW_SCRIPT_WIDE ? tw_sv_convert(v, TW_T_FP64, &ignored).v.f
                          : (double)tw_sv_convert(v, TW_T_FP32, &ignored).v.s;
}

static tw_sv_t value_of(double v)
{
    if (!TW_SCRIPT_FLOAT) {
        const double whole = v > 2147483647.0 ? 2147483647.0 : v > -2147483648.0 ? v : v == v ? -2147483648.0 : 0.0;
        return tw_sv_int(TW_T_I32, (int32_t)whole);
    }
    return TW_SCRIPT_WIDE ? (tw_sv_t){{.f = v}, TW_T_FP64} : (tw_sv_t){{.s = (float)v}, TW_T_FP32};
}

void tw_script_set_real(tw_script_ctx_t *c, unsigned reg, tw_stype_t type, double v)
{
    uint8_t ignored = 0;
    if (reg < TW_SCRIPT_REGS) {
        const tw_sv_t r = tw_sv_convert(value_of(v), type_here(type), &ignored);
        c->r[reg] = r.v;
        c->rt[reg] = r.t;
    }
}

uint64_t tw_script_reg_bits(const tw_script_ctx_t *c, unsigned reg)
{
    return reg < TW_SCRIPT_REGS ? tw_sv_bits((tw_sv_t){c->r[reg], c->rt[reg]}) : 0;
}

int64_t tw_script_reg_int(const tw_script_ctx_t *c, unsigned reg)
{
    uint8_t ignored = 0;
    return reg < TW_SCRIPT_REGS ? tw_sv_to_int((tw_sv_t){c->r[reg], c->rt[reg]}, &ignored) : 0;
}

void tw_script_set_int(tw_script_ctx_t *c, unsigned reg, tw_stype_t type, int64_t v)
{
    if (reg < TW_SCRIPT_REGS) {
        const tw_sv_t r = tw_sv_int(type_here(type), v);
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
