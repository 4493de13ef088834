/* graphc_canon.c - the order of the text taken out of the model, after the plan. Knows no word of the image.
 *
 * Nodes stand in the image in the order of the schedule. What belongs to a node (boot parameters, the code of a
 * script node) follows them here; what belongs to an arc follows the arcs. So two texts that say the same in
 * another order of nodes become one image, and a decompiled text has its own image again.
 */
#include "host_tools/graphc/graphc_priv.h"
#include <stdlib.h>

static void *failed(g_model_t *m)
{
    tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    return NULL;
}

/* ---- scripts: shared ones first, as they are numbered; nodes' own in the schedule's order ---- */

static bool order_scripts(g_model_t *m)
{
    g_script_t *sorted = calloc(m->n_scripts > 0 ? m->n_scripts : 1, sizeof *sorted);
    uint32_t n = 0;
    if (sorted == NULL) {
        return failed(m) != NULL;
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        if (m->scripts[i].node == G_NONE) {
            sorted[n++] = m->scripts[i];
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *node = &m->nodes[m->order[i]];
        if (node->own_script != G_NONE) {
            sorted[n] = m->scripts[node->own_script];
            node->own_script = n++;
        }
    }
    free(m->scripts);
    m->scripts = sorted;
    m->cap_scripts = m->n_scripts;
    return true;
}

/* ---- values: each from a multiple of 8 ----------------------------------------------------- */

typedef struct values {
    uint8_t *v;
    uint32_t n, cap;
} values_t;

static bool take_value(values_t *to, const uint8_t *from, uint32_t bytes, uint32_t *at)
{
    *at = tw_round_up(to->n, 8);
    while (to->cap < *at + bytes) {
        if (!g_grow(&to->v, to->cap, &to->cap, 1)) {
            return false;
        }
    }
    if (*at > to->n) {
        memset(to->v + to->n, 0, *at - to->n);
    }
    if (bytes > 0) {
        memcpy(to->v + *at, from, bytes);
    }
    to->n = *at + bytes;
    return true;
}

static bool take_values(const g_model_t *m, values_t *to)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *n = &m->nodes[m->order[i]];
        if (n->has_params && !take_value(to, m->params + n->params_at, n->params_bytes, &n->params_at)) {
            return false;
        }
    }
    return true;
}

/* One run of zeros serves all delays, as the plan has it; contents that the text gives follow. */
static bool take_fills(const g_model_t *m, values_t *to)
{
    uint32_t most = 0, at = 0, from = 0;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        if (!a->has_data && a->fill_bytes > most) {
            most = a->fill_bytes;
            from = a->fill_at;
        }
    }
    if (most > 0 && !take_value(to, m->params + from, most, &at)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        g_arc_t *a = &m->arcs[i];
        if (!a->has_data) {
            a->fill_at = a->fill_bytes > 0 ? at : 0;
        } else if (!take_value(to, m->params + a->fill_at, a->fill_bytes, &a->fill_at)) {
            return false;
        }
    }
    return true;
}

bool g_canon(g_model_t *m)
{
    values_t values = {0};
    if (!order_scripts(m)) {
        return false;
    }
    if (!take_values(m, &values) || !take_fills(m, &values)) {
        free(values.v);
        return failed(m) != NULL;
    }
    free(m->params);
    m->params = values.v;
    m->n_params = values.n;
    m->cap_params = values.cap;
    return true;
}
