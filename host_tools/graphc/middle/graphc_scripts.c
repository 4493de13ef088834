/* graphc_scripts.c - script_source to code, when nodes and arcs have their names and numbers. */
#include "engine/node/node.h"
#include "engine/script/script.h"
#include "host_tools/graphc/middle/graphc_middle.h"
#include "host_tools/scriptlang/scriptlang.h"
#include <stdlib.h>

/* What the language asks of the model. */
typedef struct names {
    g_model_t *m;
    tw_sl_param_t **params; /* of each node, by its place in the schedule */
    uint32_t *n_params;
} names_t;

static const char *name_of(void *ctx, tw_sl_kind_t kind, uint32_t i)
{
    const names_t *x = ctx;
    switch (kind) {
    case TW_SL_NODE:
        return x->m->nodes[x->m->order[i]].name;
    case TW_SL_ARC:
        return x->m->arcs[i].name;
    case TW_SL_SCRIPT:
        break;
    }
    return x->m->scripts[i].symbol;
}

static tw_sl_param_t *read_params(const g_model_t *m, const g_node_t *n, uint32_t *count)
{
    const tw_node_desc_t *d = g_device_type(n);
    *count = 0;
    if (d == NULL || d->params == NULL || n->rx + n->tx == 0) {
        return NULL;
    }
    const g_arc_t *a = &m->arcs[n->arcs[0]];
    const tw_format_t f = g_device_format(&m->formats[n->rx != 0 ? a->to.format : a->from.format]);
    const tw_param_desc_t *rows = d->params(&f, count);
    tw_sl_param_t *p = rows != NULL ? calloc(*count + 1, sizeof *p) : NULL;
    *count = p != NULL ? *count : 0;
    for (uint32_t i = 0; i < *count; i++) {
        p[i] = (tw_sl_param_t){.name = rows[i].name,
                               .tag = rows[i].index,
                               .raw = rows[i].raw,
                               .unit = rows[i].unit,
                               .count = rows[i].count,
                               .read_only = (rows[i].flags & TW_PARAM_READ_ONLY) != 0,
                               .min = rows[i].min,
                               .max = rows[i].max};
    }
    return p;
}

static const tw_sl_param_t *params_of(void *ctx, uint32_t i, uint32_t *n)
{
    names_t *x = ctx;
    if (x->params[i] == NULL) {
        x->params[i] = read_params(x->m, &x->m->nodes[x->m->order[i]], &x->n_params[i]);
    }
    *n = x->n_params[i];
    return x->params[i];
}

/* Its number in the image: shared scripts first, then those of nodes as the schedule has them. */
static uint32_t number_of(const g_model_t *m, uint32_t script)
{
    const uint32_t node = m->scripts[script].node;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const uint32_t other = m->scripts[i].node;
        n += other == G_NONE ? node != G_NONE || i < script : node != G_NONE && m->place[other] < m->place[node];
    }
    return n;
}

static void tell(g_model_t *m, const g_script_t *s, const tw_sl_out_t *out)
{
    for (unsigned i = 0; i < out->n_diags; i++) {
        const tw_sl_diag_t *d = &out->diags[i];
        const bool known = d->line > 0 && d->line <= s->source_lines;
        const g_pos_t *pos = known ? &s->source_pos[d->line - 1] : &s->pos;
        const unsigned col = known ? d->col : pos->col;
        if (d->grade == TW_SL_NOTE) {
            tw_diag_note(m->diags, pos->file, pos->line, col, "%s", d->text);
        } else {
            tw_diag(m->diags, d->grade == TW_SL_WARNING, pos->file, pos->line, col, "%s", d->text);
        }
    }
}

/* What the text declares is the least; what the code needs is added to it. */
static bool declare(g_script_t *s, const tw_sl_out_t *out)
{
    const uint32_t padded = out->pool_bytes > 0 ? tw_round_up(out->code_bytes, 4) : out->code_bytes;
    const uint32_t words = (out->mem_bytes + 3) / 4;
    s->code = calloc(1, tw_round_up(out->code_bytes, 4) + out->pool_bytes);
    if (s->code == NULL) {
        return false;
    }
    memcpy(s->code, out->code, out->code_bytes);
    memcpy(s->code + padded, out->pool, out->pool_bytes);
    s->code_bytes = out->code_bytes;
    s->literal_bytes = out->pool_bytes;
    s->regs = (uint8_t)tw_max_u32(s->regs, out->regs);
    s->ptrs = out->ptrs;
    s->stack = (uint8_t)tw_max_u32(s->stack, out->stack);
    s->heap = (uint16_t)tw_max_u32(s->heap, words);
    if (s->budget == 0 && out->bounded && out->cost > TW_SCRIPT_BUDGET) {
        s->budget = (uint16_t)tw_min_u32(out->cost, 65535);
    }
    return true;
}

static bool compile(g_model_t *m, uint32_t i, const tw_sl_world_t *world, tw_sl_out_t *out)
{
    g_script_t *s = &m->scripts[i];
    const tw_sl_opts_t opts = {
        .world = world,
        .ptrs = s->ptrs > 2 ? s->ptrs : 0,
        .script = number_of(m, i),
        .shared = s->shared != 0,
    };
    const bool ok = tw_script_compile(s->source, s->source_bytes, &opts, out);
    tell(m, s, out);
    return ok && declare(s, out);
}

static bool any_source(const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        if (m->scripts[i].source != NULL) {
            return true;
        }
    }
    return false;
}

static void compile_all(names_t *x, tw_sl_out_t *out)
{
    g_model_t *m = x->m;
    const tw_sl_world_t world = {
        .ctx = x, .n = {m->n_nodes, m->n_arcs, m->n_scripts}, .name = name_of, .params = params_of};
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        if (m->scripts[i].source != NULL) {
            (void)compile(m, i, &world, out);
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        free(x->params[i]);
    }
}

bool g_compile_scripts(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    if (!any_source(m)) {
        return true;
    }
    if (!g_schedule(m)) {
        return false;
    }
    names_t x = {m, calloc(m->n_nodes + 1u, sizeof *x.params), calloc(m->n_nodes + 1u, sizeof *x.n_params)};
    tw_sl_out_t *out = malloc(sizeof *out);
    if (x.params != NULL && x.n_params != NULL && out != NULL) {
        compile_all(&x, out);
    } else {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    }
    free(x.params);
    free(x.n_params);
    free(out);
    return m->diags->errors == errors;
}
