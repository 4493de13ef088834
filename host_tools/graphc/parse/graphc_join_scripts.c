/* graphc_join_scripts.c - the scripts of all scopes get their places in the image, and their code calls them there. */
#include "engine/script/script.h"
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <stdlib.h>

/* Code of a sub-graph calls its own script k: the word gets the number the script has in the image. */
static void renumber_calls(g_parser_t *p, const g_script_t *s, const uint32_t *place)
{
    const uint32_t *script_of = p->locals[s->scope].script_of;
    char text[64];
    for (uint32_t at = 0; at + 2 <= s->code_bytes;) {
        uint8_t *w = s->code + at;
        const uint32_t bytes = tw_script_disasm(s->code, s->code_bytes, at, text, sizeof text);
        const bool call = bytes == 2 && w[1] == 0x04 && (w[0] & 0x40u) != 0;
        const uint32_t k = w[0] & 0x3Fu;
        if (call && script_of[k] == G_NONE) {
            g_error(p->m, &s->pos, "the code calls script %u, which is not declared in its sub-graph", k);
        } else if (call && place[script_of[k]] > 0x3F) {
            g_error(p->m, &s->pos, "the code calls script %u, number %u of the whole graph: 63 is the last to call", k,
                    place[script_of[k]]);
        } else if (call) {
            w[0] = (uint8_t)((w[0] & 0xC0u) | place[script_of[k]]);
        }
        at += tw_max_u32(bytes, 2);
    }
}

/* Shared scripts first, the graph's own where their numbers say, then those of sub-graphs; nodes' own follow. */
static void number_scripts(g_parser_t *p, uint32_t *place)
{
    g_model_t *m = p->m;
    const uint32_t *own = p->locals[0].script_of, by = m->control.debug_by;
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->n_scopes; s++) {
        const uint32_t base = n;
        for (uint32_t i = p->locals[s].first_script; i < p->locals[s].end_script; i++) {
            if (m->scripts[i].id != G_NONE) {
                place[i] = base + m->scripts[i].id;
                n++;
            }
        }
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        if (m->scripts[i].id == G_NONE) {
            place[i] = n++;
        }
    }
    if (by > 0 && own[by] != G_NONE) { /* the device calls the first */
        place[own[0]] = by;
        place[own[by]] = 0;
    }
}

static void move_scripts(g_model_t *m, g_script_t *sorted, const uint32_t *place)
{
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        sorted[place[i]] = m->scripts[i];
        if (m->scripts[i].node != G_NONE) {
            m->nodes[m->scripts[i].node].own_script = place[i];
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        uint32_t *s = &m->nodes[i].script;
        *s = *s != G_NONE ? place[*s] : G_NONE;
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        uint32_t *s = &m->arcs[i].script;
        *s = *s != G_NONE ? place[*s] : G_NONE;
    }
    free(m->scripts);
    m->scripts = sorted;
    m->cap_scripts = m->n_scripts;
}

void g_join_scripts(g_parser_t *p)
{
    g_model_t *m = p->m;
    uint32_t place[G_SCRIPTS_MAX];
    const uint32_t by = m->control.debug_by;
    if (by > 0 && p->locals[0].script_of[by] == G_NONE) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "debug_script %u is not declared", by);
        return;
    }
    g_script_t *sorted = calloc(m->n_scripts + 1u, sizeof *sorted);
    if (sorted == NULL) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
        return;
    }
    number_scripts(p, place);
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        if (m->scripts[i].scope > 0 || m->control.debug_by > 0) {
            renumber_calls(p, &m->scripts[i], place);
        }
    }
    move_scripts(m, sorted, place);
}
