/* script_access.c - registers as real numbers, for system calls; values keep their representation to themselves. */
#include "engine/script/script_value_priv.h"

double tw_script_reg_real(const tw_script_ctx_t *c, unsigned reg)
{
    uint8_t ignored = 0;
    return reg < TW_SCRIPT_REGS ? tw_sv_convert((tw_sv_t){c->r[reg], c->rt[reg]}, TW_T_FP64, &ignored).v.f : 0.0;
}

void tw_script_set_real(tw_script_ctx_t *c, unsigned reg, tw_stype_t type, double v)
{
    uint8_t ignored = 0;
    if (reg < TW_SCRIPT_REGS) {
        const tw_sv_t r = tw_sv_convert((tw_sv_t){{.f = v}, TW_T_FP64}, type, &ignored);
        c->r[reg] = r.v;
        c->rt[reg] = r.t;
    }
}

uint64_t tw_script_reg_bits(const tw_script_ctx_t *c, unsigned reg)
{
    return reg < TW_SCRIPT_REGS ? tw_sv_bits((tw_sv_t){c->r[reg], c->rt[reg]}) : 0;
}
