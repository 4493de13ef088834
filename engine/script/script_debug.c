/* script_debug.c - a held script's registers, stack and code, by number. */
#include "engine/script/script_debug.h"
#include "engine/script/script_value_priv.h"

static bool opaque(unsigned type)
{
    return type == TW_T_PTR || type > TW_T_CHAR || tw_stype_is_fp8(type);
}

/* Place of a register or stack entry; NULL when it is not one, or not there. */
static tw_sval_t *place(tw_script_ctx_t *c, unsigned what, uint8_t **type)
{
    if (what < TW_SCRIPT_REGS) {
        *type = &c->rt[what];
        return &c->r[what];
    }
    const unsigned below = what == TW_LOOK_S0 ? 1 : what == TW_LOOK_S1 ? 2 : 0;
    if (below == 0 || c->sp < c->base + below) {
        return NULL;
    }
    *type = &c->stack_t[c->sp - below];
    return &c->stack[c->sp - below];
}

static bool word_of(const tw_script_ctx_t *c, unsigned what, tw_stype_t *type, uint64_t *bits)
{
    switch (what) {
    case TW_LOOK_LC:
        *type = TW_T_U16;
        *bits = c->lc;
        return true;
    case TW_LOOK_T:
        *type = TW_T_U8;
        *bits = c->flag != 0;
        return true;
    case TW_LOOK_USED:
        *type = TW_T_U32;
        *bits = c->used;
        return true;
    default:
        return false;
    }
}

tw_err_t tw_script_look(const tw_script_ctx_t *c, unsigned what, tw_stype_t *type, uint64_t *bits)
{
    tw_script_ctx_t *const any = (tw_script_ctx_t *)(uintptr_t)c; /* one place() for both; only read here */
    uint8_t *t;
    const tw_sval_t *v = place(any, what, &t);
    if (v == NULL) {
        return word_of(c, what, type, bits) ? TW_OK : TW_E_SCR_BAD_REG;
    }
    *type = (tw_stype_t)*t;
    *bits = tw_sv_bits((tw_sv_t){*v, *t});
    return TW_OK;
}

tw_err_t tw_script_change(tw_script_ctx_t *c, unsigned what, tw_stype_t type, uint64_t bits)
{
    uint8_t *t, ignored = 0;
    if (opaque(type)) {
        return TW_E_SCR_BAD_TYPE;
    }
    const tw_sv_t v = tw_sv_from_bits(type, bits);
    if (what == TW_LOOK_LC) {
        c->lc = (uint16_t)tw_sv_bits(tw_sv_convert(v, TW_T_U16, &ignored));
        return TW_OK;
    }
    if (what == TW_LOOK_T) {
        c->flag = tw_sv_compare(v, tw_sv_int(TW_T_I32, 0)) != 0;
        return TW_OK;
    }
    tw_sval_t *to = place(c, what, &t);
    if (to == NULL) {
        return TW_E_SCR_BAD_REG;
    }
    if (opaque(*t)) {
        return TW_E_SCR_BAD_TYPE;
    }
    *to = v.v;
    *t = v.t;
    return TW_OK;
}

int tw_script_order(tw_stype_t a_type, uint64_t a, tw_stype_t b_type, uint64_t b)
{
    return tw_sv_compare(tw_sv_from_bits(a_type, a), tw_sv_from_bits(b_type, b));
}

bool tw_script_stack(const tw_script_ctx_t *c, unsigned at, tw_stype_t *type, uint64_t *bits)
{
    if (at >= c->sp) {
        return false;
    }
    *type = (tw_stype_t)c->stack_t[at];
    *bits = tw_sv_bits((tw_sv_t){c->stack[at], c->stack_t[at]});
    return true;
}

unsigned tw_script_type_bytes(tw_stype_t type)
{
    return tw_stype_bytes(type);
}

uint32_t tw_script_length(const tw_script_t *s, uint32_t at)
{
    tw_sinsn_t in;
    tw_sop_decode(tw_get_le16(s->code + at), &in);
    return 2u * in.halfwords;
}

/* Verified code is one row of instructions from its start. */
bool tw_script_starts(const tw_script_t *s, uint32_t at)
{
    uint32_t i = 0;
    while (i < at && tw_inside32(i, 2, s->code_bytes)) {
        i += tw_script_length(s, i);
    }
    return i == at && tw_inside32(at, 2, s->code_bytes);
}
