/* graphc_names.c - symbols: what a person calls the nodes, arcs, IOs and scripts of the image. */
#include "host_tools/graphc/graphc_priv.h"
#include <stdio.h>
#include <stdlib.h>

/* Names given so far, and the number to try next when a name is wanted again: hundreds of long ones are one
 * when they are cut, and each search from the beginning would take longer than the last.
 */
typedef struct given {
    const char *name; /* NULL: free */
    uint32_t next;
} given_t;
typedef struct taken {
    given_t *slots;
    uint32_t size;
} taken_t;

static bool taken_open(taken_t *t, uint32_t n)
{
    for (t->size = 64; t->size < 2 * n; t->size *= 2) {}
    t->slots = calloc(t->size, sizeof *t->slots);
    return t->slots != NULL;
}

/* Where the name is, or would be. */
static given_t *taken_find(const taken_t *t, const char *name)
{
    uint32_t at = 2166136261u;
    for (const char *p = name; *p != 0; p++) {
        at = (at ^ (uint8_t)*p) * 16777619u;
    }
    for (;; at++) {
        given_t *slot = &t->slots[at & (t->size - 1)];
        if (slot->name == NULL || strcmp(slot->name, name) == 0) {
            return slot;
        }
    }
}

/* Enter a name; false when it is there already. */
static bool taken_add(taken_t *t, const char *name)
{
    given_t *slot = taken_find(t, name);
    if (slot->name != NULL) {
        return false;
    }
    *slot = (given_t){name, 2};
    return true;
}

/* Shorten to what a symbol holds, and number it when another has the same name. */
static void settle(taken_t *t, char *name, const char *wanted)
{
    snprintf(name, TW_SYMBOL_MAX + 1, "%.*s", (int)TW_SYMBOL_MAX, wanted);
    given_t *first = taken_find(t, name);
    while (!taken_add(t, name)) {
        char suffix[12];
        const int n = snprintf(suffix, sizeof suffix, ".%u", first->next++);
        snprintf(name, TW_SYMBOL_MAX + 1, "%.*s%s", (int)TW_SYMBOL_MAX - n, wanted, suffix);
    }
}

/* The same for what stands in a sub-graph. */
static void settle_in(taken_t *t, char *name, const char *scope, const char *wanted)
{
    char mangled[TW_SYMBOL_MAX + 1];
    if (scope[0] != 0 && strlen(wanted) <= TW_SYMBOL_MAX) {
        g_mangle(mangled, scope, wanted);
        wanted = mangled;
    }
    settle(t, name, wanted);
}

static void replace_others(char *text)
{
    for (char *p = text; *p != 0; p++) {
        const bool ok = (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || *p == '_' ||
                        *p == '.' || *p == '/' || *p == '-';
        *p = ok ? *p : '_';
    }
}

static bool name_nodes(g_model_t *m)
{
    static const char prefix[] = "arm_stream_";
    taken_t t;
    if (!taken_open(&t, m->n_nodes)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        if (n->name[0] != 0 && !taken_add(&t, n->name)) {
            g_error(m, &n->pos, "two nodes are named '%s'", n->name);
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *n = &m->nodes[i];
        char wanted[128];
        if (n->name[0] == 0) {
            const bool ours = n->type.n > sizeof prefix - 1 && memcmp(n->type.p, prefix, sizeof prefix - 1) == 0;
            const uint32_t skip = ours ? sizeof prefix - 1 : 0;
            snprintf(wanted, sizeof wanted, "%.*s.%u", (int)(n->type.n - skip), n->type.p + skip, n->inst);
            replace_others(wanted);
            settle_in(&t, n->name, m->scopes[n->scope].name, wanted);
        }
    }
    free(t.slots);
    return true;
}

static bool name_arcs(g_model_t *m)
{
    taken_t t;
    if (!taken_open(&t, m->n_arcs)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        if (a->name[0] != 0 && !taken_add(&t, a->name)) {
            g_error(m, &a->pos, "two arcs are named '%s'", a->name);
        }
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        g_arc_t *a = &m->arcs[i];
        char wanted[160];
        if (a->name[0] != 0) {
            continue;
        }
        if (a->lock) {
            snprintf(wanted, sizeof wanted, "lock.%s", m->nodes[a->from.node].name);
        } else if (a->kind == G_ARC_CONSTANT) {
            snprintf(wanted, sizeof wanted, "const.%s", m->nodes[a->to.node].name);
        } else if (a->kind == G_ARC_NODES) {
            snprintf(wanted, sizeof wanted, "%s-%s", m->nodes[a->from.node].name, m->nodes[a->to.node].name);
        } else {
            snprintf(wanted, sizeof wanted, "%s.%s", a->kind == G_ARC_IN ? "in" : "out", m->ios[a->io].symbol);
        }
        replace_others(wanted);
        settle(&t, a->name, wanted);
    }
    free(t.slots);
    return true;
}

static bool name_ios(g_model_t *m)
{
    taken_t t;
    if (!taken_open(&t, m->n_ios)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        const g_io_t *io = &m->ios[i];
        if (io->symbol[0] != 0 && !taken_add(&t, io->symbol)) {
            g_error(m, &io->pos, "two IOs are named '%s'", io->symbol);
        }
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        char wanted[64];
        if (m->ios[i].symbol[0] != 0) {
            continue;
        }
        snprintf(wanted, sizeof wanted, "%s", m->ios[i].manifest->name);
        replace_others(wanted);
        settle(&t, m->ios[i].symbol, wanted);
    }
    free(t.slots);
    return true;
}

/* Shared scripts by their number, a node's own after the node. */
static bool name_scripts(g_model_t *m)
{
    taken_t t;
    if (!taken_open(&t, m->n_scripts)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        g_script_t *s = &m->scripts[i];
        const char *scope = s->node == G_NONE ? m->scopes[s->scope].name : ""; /* its node's symbol has it */
        char wanted[64];
        if (s->name.n > 0) {
            scope = m->scopes[s->scope].name;
            snprintf(wanted, sizeof wanted, "%.*s", (int)s->name.n, s->name.p);
        } else if (s->node != G_NONE) {
            snprintf(wanted, sizeof wanted, "node.%s", m->nodes[s->node].name);
        } else {
            snprintf(wanted, sizeof wanted, "script.%u", s->id);
        }
        settle_in(&t, s->symbol, scope, wanted);
    }
    free(t.slots);
    return true;
}

static void name_graph(g_model_t *m)
{
    char *name = m->control.name;
    if (name[0] != 0) {
        return;
    }
    const char *file = strrchr(m->names[0], '/');
    snprintf(name, sizeof m->control.name, "%s", file != NULL ? file + 1 : m->names[0]);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = 0;
    }
    replace_others(name);
}

bool g_names(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    name_graph(m);
    if (!name_nodes(m) || !name_ios(m) || !name_arcs(m) || !name_scripts(m)) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    }
    return m->diags->errors == errors;
}
