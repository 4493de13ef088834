/* script_op.c - instruction words and the literal pool, taken apart. Knows nothing of values. */
#include "engine/script/script_op_priv.h"

static const uint8_t forms[256] = {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) [key] = TW_SF_##FORM,
#include "engine/script/script_opcodes.def"
};

static const uint8_t effects[256] = {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) [key] = TW_SX_##EFFECT,
#include "engine/script/script_opcodes.def"
};

#define KIND(code, bytes)                                                                                          \
    ((uint8_t)(((bytes) == 8   ? 3                                                                                 \
                : (bytes) == 4 ? 2                                                                                 \
                               : (bytes)-1) |                                                                      \
               ((code) == TW_T_I8 || (code) == TW_T_I16 || (code) == TW_T_I32 || (code) == TW_T_I64 ? TW_SK_SIGNED \
                                                                                                    : 0) |         \
               ((code) >= TW_T_FP16 && (code) <= TW_T_FP64 ? TW_SK_FLOAT : 0) |                                    \
               ((code) == TW_T_FP16 || (code) == TW_T_FP32 ? TW_SK_SINGLE : 0) |                                   \
               ((code) == TW_T_U64 || (code) == TW_T_PTR ? TW_SK_TOP : 0)))
const uint8_t tw_stype_kind[16] = {
#define TW_STYPE(code, NAME, name, bytes, data) [TW_T_##NAME] = KIND(code, bytes),
#include "engine/script/script_types.def"
};
#define TW_STYPE(code, NAME, name, bytes, data) _Static_assert(TW_T_##NAME == (code), "script_types.def");
#include "engine/script/script_types.def"

enum { POPS = 1, PRIVILEGED = 2, KNOWN = 4 };
static const uint8_t syscalls[] = {
#define TW_SYSCALL(k, NAME, name, pops, privileged, arguments) [k] = KNOWN | (pops) | (privileged) << 1,
#include "engine/script/script_syscalls.def"
};
#define TW_SYSCALL(k, NAME, name, pops, privileged, arguments) _Static_assert((pops) <= 1, "one bit");
#include "engine/script/script_syscalls.def"

void tw_sop_decode(uint16_t word, tw_sinsn_t *in)
{
    in->word = word;
    in->key = tw_sop_key(word);
    in->form = forms[in->key];
    in->effect = effects[in->key];
    in->y = word & 15;
    switch (in->form) {
    case TW_SF_LIT:
    case TW_SF_RS8:
    case TW_SF_RN6:
    case TW_SF_FIELD:
        in->x = word >> 8 & 15;
        break;
    case TW_SF_PR: /* the value read or written is X for the effects, the pointer is Y */
    case TW_SF_RP:
        in->x = word & 15;
        in->y = word >> 4 & 15;
        break;
    default:
        in->x = word >> 4 & 15;
        break;
    }
    in->halfwords = (uint8_t)tw_sop_halfwords(word);
}

/* Bits of the low byte that a form wants zero. */
static uint16_t zero_bits(unsigned form)
{
    switch (form) {
    case TW_SF_LABEL:
        return 0x80;
    case TW_SF_MASK:
        return 0xC0;
    case TW_SF_LIT:
        return 0xF0;
    case TW_SF_NONE:
        return 0xFF;
    case TW_SF_X:
        return 0x0F;
    default:
        return 0;
    }
}

/* Where a form wants a pointer, only the codes of pointers are instructions. */
static bool pointer_place_ok(const tw_sinsn_t *in)
{
    switch (in->form) {
    case TW_SF_LOAD:
    case TW_SF_LOADI:
    case TW_SF_PR:
    case TW_SF_RP:
        return in->y >= TW_RC_P0 && in->y < TW_RC_LC;
    case TW_SF_STORE:
    case TW_SF_STOREI:
    case TW_SF_PT:
        return in->x >= TW_RC_P0 && in->x < TW_RC_LC;
    default:
        return true;
    }
}

tw_err_t tw_sop_check(const tw_sinsn_t *in)
{
    if (in->key == 0xBF || in->word >= 0xF000) {
        return TW_E_SCR_RESERVED;
    }
    if (in->form == TW_SF_ILLEGAL || (in->word & zero_bits(in->form)) != 0 || !pointer_place_ok(in)) {
        return TW_E_SCR_BAD_OP;
    }
    return TW_OK;
}

bool tw_sop_field_ok(uint16_t w)
{
    return (w & 0xC0C0) == 0 && (w & 63) + (w >> 8 & 63) + 1 <= 64;
}

int tw_ssys_pops(uint32_t k)
{
    return k >= sizeof syscalls || syscalls[k] == 0 ? -1 : syscalls[k] & POPS;
}

bool tw_ssys_privileged(uint32_t k)
{
    return k < sizeof syscalls && (syscalls[k] & PRIVILEGED) != 0;
}

bool tw_spool_check(const tw_spool_t *pool)
{
    uint64_t seen[2] = {0, 0};
    for (uint32_t i = 0; i < pool->labels; i++) {
        const uint8_t *e = pool->dir + 4 * i;
        if (e[0] >= TW_SCRIPT_LABELS || e[1] > 15 || e[1] == TW_T_PTR || tw_stype_missing(e[1]) ||
            tw_get_le16(e + 2) > pool->data_bytes) {
            return false;
        }
        if (seen[e[0] >> 6] >> (e[0] & 63) & 1) {
            return false;
        }
        seen[e[0] >> 6] |= (uint64_t)1 << (e[0] & 63);
    }
    return true;
}

bool tw_spool_open(const tw_script_t *s, tw_spool_t *pool)
{
    *pool = (tw_spool_t){0};
    if (s->pool_bytes == 0) {
        return true;
    }
    const uint8_t *const at = s->code + tw_round_up(s->code_bytes, 4);
    const uint32_t n = s->pool_bytes < 2 ? 0 : tw_get_le16(at + s->pool_bytes - 2);
    if (s->pool_bytes < 2 || n * 4 + 2 > s->pool_bytes) {
        return false;
    }
    pool->data = at;
    pool->data_bytes = s->pool_bytes - 2 - 4 * n;
    pool->dir = at + pool->data_bytes;
    pool->labels = n;
    return true;
}

bool tw_spool_find(const tw_spool_t *pool, uint32_t k, tw_sptr_t *p)
{
    for (uint32_t i = 0; i < pool->labels; i++) {
        const uint8_t *e = pool->dir + 4 * i;
        const uint32_t at = tw_get_le16(e + 2);
        if (e[0] == k && at <= pool->data_bytes) {
            /* never written: every store checks the space first */
            *p = (tw_sptr_t){.base = (uint8_t *)(uintptr_t)(pool->data + at),
                             .size = pool->data_bytes - at,
                             .space = 2,
                             .type = e[1]};
            return true;
        }
    }
    return false;
}

uint64_t tw_script_calls(const tw_script_t *s)
{
    uint64_t calls = 0;
    for (uint32_t at = 0; at + 2 <= s->code_bytes;) {
        const uint16_t w = tw_get_le16(s->code + at);
        calls |= (w & 0xFF40) == 0x0440 ? (uint64_t)1 << (w & 63) : 0;
        at += 2 * tw_sop_halfwords(w);
    }
    return calls;
}

void tw_script_index(const tw_script_t *s, uint16_t labels[TW_SCRIPT_LABELS])
{
    memset(labels, 0xFF, TW_SCRIPT_LABELS * sizeof labels[0]);
    for (uint32_t at = 0; at + 2 <= s->code_bytes;) {
        const uint16_t w = tw_get_le16(s->code + at);
        if (w >> 8 == TW_SOP_LABL) {
            labels[w & 127] = (uint16_t)at;
        }
        at += 2 * tw_sop_halfwords(w);
    }
}
