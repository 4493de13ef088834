/* graphc_verify.c - the device's own verifier over every script: what a load would refuse, refused here by name. */
#include "engine/script/script.h"
#include "host_tools/graphc/graphc_priv.h"

static tw_script_t as_loaded(const g_script_t *s)
{
    return (tw_script_t){
        .code = s->code,
        .code_bytes = s->code_bytes,
        .pool_bytes = s->literal_bytes,
        .regs = s->regs,
        .ptrs = s->ptrs,
        .stack = s->stack,
        .shared = s->shared,
        .budget = tw_round_up(s->budget, 256),
        .mem_bytes = 4u * g_heap_words(s),
    };
}

/* What a declaration in the text can mend. */
static const char *advice(tw_err_t err)
{
    switch (err) {
    case TW_E_SCR_BAD_REG:
        return ": declare it with script_registers or script_pointers";
    case TW_E_SCR_STACK:
        return ": declare its depth with script_stack, and let all paths agree";
    case TW_E_SCR_FALL_OFF:
        return ": end it with ret (C000)";
    default:
        return "";
    }
}

static void check_calls(g_model_t *m, const g_script_t *s, uint64_t calls)
{
    for (uint32_t k = 0; k < 64; k++) {
        if ((calls >> k & 1u) != 0 && m->script_of[k] == G_NONE) {
            g_error(m, &s->pos, "%s calls script %u, which is not declared", s->symbol, k);
        }
    }
}

bool g_verify_scripts(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        const tw_script_t code = as_loaded(s);
        uint64_t calls = 0;
        tw_fault_t fault = {0};
        const tw_err_t err = tw_script_verify(&code, false, &calls, &fault);
        if (err == TW_OK) {
            check_calls(m, s, calls);
            continue;
        }
        char text[64] = "";
        if (fault.at < s->code_bytes) {
            (void)tw_script_disasm(s->code, s->code_bytes, fault.at, text, sizeof text);
        }
        g_error(m, &s->pos, "%s: %s at byte %u, '%s'%s", s->symbol, tw_err_text(err), fault.at, text, advice(err));
    }
    return m->diags->errors == errors;
}
