/* graphc_model.c - the model's memory, its node table and its diagnostics. Knows no pass. */
#include "host_tools/graphc/graphc_priv.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool g_grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    const uint32_t more = n < 16 ? 16 : n * 2;
    void *now = realloc(old, more * size);
    if (now == NULL) {
        return false;
    }
    memcpy(array, &now, sizeof now);
    *cap = more;
    /* cppcheck-suppress memleak ; `array` holds it: a pointer of any type, hence the copy */
    return true;
}

static void report(g_model_t *m, bool warning, const g_pos_t *pos, const char *fmt, va_list ap)
{
    char text[sizeof m->diags->rows[0].text];
    vsnprintf(text, sizeof text, fmt, ap);
    tw_diag(m->diags, warning, pos->file, pos->line, pos->col, "%s", text);
}

void g_error(g_model_t *m, const g_pos_t *pos, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(m, false, pos, fmt, ap);
    va_end(ap);
}

void g_warn(g_model_t *m, const g_pos_t *pos, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(m, true, pos, fmt, ap);
    va_end(ap);
}

void g_note(g_model_t *m, const g_pos_t *pos, const char *fmt, ...)
{
    char text[sizeof m->diags->rows[0].text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tw_diag_note(m->diags, pos->file, pos->line, pos->col, "%s", text);
}

uint32_t g_add_arc(g_model_t *m, const g_arc_t *a)
{
    const bool full = m->n_arcs >= G_ARCS_MAX;
    if (full || (m->n_arcs >= m->cap_arcs && !g_grow(&m->arcs, m->cap_arcs, &m->cap_arcs, sizeof *m->arcs))) {
        g_error(m, &a->pos, full ? "more than %u arcs with those inserted" : "out of memory at %u arcs", m->n_arcs);
        return G_NONE;
    }
    m->arcs[m->n_arcs] = *a;
    return m->n_arcs++;
}

uint32_t g_add_node(g_model_t *m, const g_node_t *n)
{
    const bool full = m->n_nodes >= G_NODES_MAX;
    if (full || (m->n_nodes >= m->cap_nodes && !g_grow(&m->nodes, m->cap_nodes, &m->cap_nodes, sizeof *m->nodes))) {
        g_error(m, &n->pos, full ? "more than %u nodes with those inserted" : "out of memory at %u nodes", m->n_nodes);
        return G_NONE;
    }
    m->nodes[m->n_nodes] = *n;
    return m->n_nodes++;
}

/* ---- nodes by scope, type and instance ---------------------------------------------- */

static uint32_t hash(uint32_t scope, const g_slice_t *type, uint32_t inst)
{
    uint32_t h = 2166136261u ^ inst * 2654435761u ^ scope * 2246822519u;
    for (uint32_t i = 0; i < type->n; i++) {
        h = (h ^ (uint8_t)type->p[i]) * 16777619u;
    }
    return h;
}

static bool same(const g_node_t *node, uint32_t scope, const g_slice_t *type, uint32_t inst)
{
    return node->inst == inst && node->scope == scope && node->type.n == type->n &&
           memcmp(node->type.p, type->p, type->n) == 0;
}

uint32_t g_find_node(const g_model_t *m, uint32_t scope, const g_slice_t *type, uint32_t inst)
{
    if (m->hash_size == 0) {
        return G_NONE;
    }
    for (uint32_t at = hash(scope, type, inst);; at++) {
        const uint32_t entry = m->node_hash[at & (m->hash_size - 1)];
        if (entry == 0) {
            return G_NONE;
        }
        if (same(&m->nodes[entry - 1], scope, type, inst)) {
            return entry - 1;
        }
    }
}

static void put(g_model_t *m, uint32_t index)
{
    const g_node_t *n = &m->nodes[index];
    uint32_t at = hash(n->scope, &n->type, n->inst);
    while (m->node_hash[at & (m->hash_size - 1)] != 0) {
        at++;
    }
    m->node_hash[at & (m->hash_size - 1)] = index + 1;
}

bool g_enter_node(g_model_t *m, uint32_t index)
{
    /* never more than half full, so every search meets an empty entry */
    if ((index + 1) * 2 > m->hash_size) {
        const uint32_t size = m->hash_size == 0 ? 64 : m->hash_size * 2;
        uint32_t *table = calloc(size, sizeof *table);
        if (table == NULL) {
            return false;
        }
        free(m->node_hash);
        m->node_hash = table;
        m->hash_size = size;
        for (uint32_t i = 0; i < index; i++) {
            put(m, i);
        }
    }
    put(m, index);
    return true;
}

void g_mangle(char *to, const char *scope, const char *name)
{
    const int left = (int)TW_SYMBOL_MAX - 1 - (int)strlen(name);
    if (scope[0] == 0 || left <= 0) {
        snprintf(to, TW_SYMBOL_MAX + 1, "%s", name);
    } else {
        snprintf(to, TW_SYMBOL_MAX + 1, "%.*s.%s", left, scope, name);
    }
}

const tw_node_manifest_t *g_find_type(const g_model_t *m, const char *name, size_t n)
{
    const tw_platform_t *p = m->platform;
    for (unsigned i = 0; i < p->n_nodes; i++) {
        if (strlen(p->nodes[i].name) == n && memcmp(p->nodes[i].name, name, n) == 0) {
            return &p->nodes[i];
        }
    }
    return NULL;
}

void g_model_free(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_texts; i++) {
        free(m->texts[i]);
        free(m->names[i]);
        free(m->line_maps[i]);
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        free(m->scripts[i].code);
        free(m->scripts[i].source);
        free(m->scripts[i].source_pos);
    }
    free(m->texts);
    free(m->names);
    free(m->sizes);
    free(m->line_maps);
    free(m->formats);
    free(m->ios);
    free(m->nodes);
    free(m->arcs);
    free(m->scripts);
    free(m->maps);
    for (uint32_t i = 0; i < m->n_scopes; i++) {
        free(m->scopes[i].file);
    }
    free(m->scopes);
    free(m->insertions);
    free(m->plans);
    free(m->spills);
    free(m->meta);
    free(m->params);
    free(m->aside);
    free(m->sets);
    free(m->node_hash);
    free(m->order);
    free(m->place);
    *m = (g_model_t){0};
}
