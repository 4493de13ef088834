/* graphc_verify.c - the device's own checks of scripts and boot parameters: what a load would refuse, refused here
 * by name. Of node types this tool does not have, or has in another version, it says nothing.
 */
#include "engine/node/node.h"
#include "engine/script/script.h"
#include "host_tools/graphc/middle/graphc_middle.h"
#include <stdio.h>

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
        if ((calls >> k & 1u) != 0 && k >= m->n_shared) {
            g_error(m, &s->pos, "%s calls script %u, which is not declared", s->symbol, k);
        }
    }
}

static void verify_scripts(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        const tw_script_t code = as_loaded(s);
        uint64_t calls = 0;
        tw_fault_t fault = {0};
        const tw_err_t err = tw_script_verify(&code, s->privileged != 0, &calls, &fault);
        if (err == TW_OK) {
            check_calls(m, s, calls);
            continue;
        }
        char text[200];
        (void)tw_script_explain(s->code, s->code_bytes, &fault, text, sizeof text);
        g_error(m, &s->pos, "%s: %s%s", s->symbol, text, advice(err));
    }
}

/* ---- boot parameters ---- */

static const tw_param_desc_t *find_param(const tw_node_desc_t *d, const tw_format_t *f, uint32_t index)
{
    uint32_t n = 0;
    const tw_param_desc_t *p = d->params != NULL ? d->params(f, &n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].index == index) {
            return &p[i];
        }
    }
    return NULL;
}

/* The sizes and ranges a person needs to put it right. */
static void explain(const tw_node_desc_t *d, const tw_format_t *f, const g_node_t *n, const tw_fault_t *fault,
                    char *text, size_t size)
{
    const tw_param_desc_t *p = find_param(d, f, fault->at);
    const uint32_t want = tw_param_bytes(d, f, n->tag);
    text[0] = '\0';
    if (fault->err == TW_E_PARAM_SIZE) {
        (void)snprintf(text, size, ": %u bytes after the TAG, it takes %u", n->params_bytes, want);
    } else if (fault->err == TW_E_PARAM_INDEX) {
        (void)snprintf(text, size, ": TAG %u", n->tag);
    } else if (fault->err == TW_E_PARAM_RANGE && p != NULL) {
        (void)snprintf(text, size, ": %s, allowed %g..%g", p->name, p->min, p->max);
    }
}

/* An unstable filter is the one refusal that depends on the values' meaning alone, and texts in print
 * have it: they compile, with the device's answer foretold. */
static void verify_params(g_model_t *m, const g_node_t *n, const tw_node_desc_t *d)
{
    const g_arc_t *a = &m->arcs[n->arcs[0]];
    const tw_format_t f = g_device_format(&m->formats[n->rx != 0 ? a->to.format : a->from.format]);
    tw_fault_t fault = {0};
    fault.err = tw_param_check(d, &f, n->tag, 0, m->params + n->params_at, n->params_bytes, &fault);
    if (fault.err == TW_OK) {
        return;
    }
    char text[96];
    explain(d, &f, n, &fault, text, sizeof text);
    if (fault.err == TW_E_PARAM_UNSTABLE) {
        g_warn(m, &n->params_pos, "boot parameters of %s: %s; a device will refuse to load it", n->name,
               tw_err_text(fault.err));
    } else {
        g_error(m, &n->params_pos, "boot parameters of %s: %s%s", n->name, tw_err_text(fault.err), text);
    }
}

static void verify_node(g_model_t *m, const g_node_t *n)
{
    const tw_node_desc_t *d = g_device_type(n);
    if (d == NULL) {
        return;
    }
    g_verify_formats(m, n);
    if (n->preset != 0 && (d->presets >> n->preset & 1u) == 0) {
        g_error(m, &n->pos, "%s has no preset %u", n->manifest->name, n->preset);
    }
    if (n->has_params) {
        verify_params(m, n, d);
    }
}

bool g_verify(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    verify_scripts(m);
    g_verify_installed(m);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        verify_node(m, &m->nodes[i]);
    }
    return m->diags->errors == errors;
}
