/* script_explain.c - a refusal of the verifier in words: which instruction, and what is wrong with it. */
#include "engine/script/script_op_priv.h"

static const char *const reasons[] = {
    "",
#define TW_SREASON(NAME, ERROR, text) text,
#include "engine/script/script_reasons.def"
};

enum {
    NO_REASON,
#define TW_SREASON(NAME, ERROR, text) WHY_##NAME,
#include "engine/script/script_reasons.def"
};

static const char *const registers[16] = {"r0", "r1", "r2", "r3", "r4", "r5",   "p0", "p1",
                                          "p2", "p3", "p4", "p5", "lc", "zero", "s0", "s1"};

typedef struct out {
    char *text;
    size_t n, at;
} out_t;

static void put(out_t *o, const char *s)
{
    for (; *s != 0 && o->at + 1 < o->n; s++) {
        o->text[o->at++] = *s;
    }
}

static void put_number(out_t *o, uint32_t v)
{
    char digits[12];
    unsigned i = sizeof digits;
    digits[--i] = 0;
    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    put(o, digits + i);
}

/* %x and %y are operands of the instruction. */
static void put_reason(out_t *o, const char *reason, const tw_sinsn_t *in)
{
    char one[2] = {0};
    for (; *reason != 0; reason++) {
        if (reason[0] == '%' && (reason[1] == 'x' || reason[1] == 'y')) {
            put(o, registers[*++reason == 'x' ? in->x : in->y]);
        } else {
            one[0] = *reason;
            put(o, one);
        }
    }
}

/* How many instructions stand before the place. */
static uint32_t number_of(const uint8_t *code, uint32_t code_bytes, uint32_t place)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at < place && at + 2 <= code_bytes; n++) {
        at += 2 * tw_sop_halfwords(tw_get_le16(code + at));
    }
    return n;
}

const char *tw_script_explain(const uint8_t *code, uint32_t code_bytes, const tw_fault_t *fault, char *text, size_t n)
{
    out_t o = {text, n, 0};
    tw_sinsn_t in = {0};
    char words[48];
    if (tw_inside(fault->at, 2, code_bytes) && (fault->section == NO_REASON || fault->section > WHY_BUDGET_DECLARED)) {
        tw_sop_decode(tw_get_le16(code + fault->at), &in);
        (void)tw_script_disasm(code, code_bytes, fault->at, words, sizeof words);
        put(&o, "instruction ");
        put_number(&o, number_of(code, code_bytes, fault->at));
        put(&o, " (byte ");
        put_number(&o, fault->at);
        put(&o, ") `");
        put(&o, words);
        put(&o, "`: ");
    }
    put_reason(&o,
               fault->section < TW_COUNT(reasons) && fault->section != NO_REASON ? reasons[fault->section]
                                                                                 : tw_err_text(fault->err),
               &in);
    if (n != 0) {
        text[o.at] = 0;
    }
    return text;
}
