/* graphc_schedule.c - which node when: producers before consumers, otherwise as the text has them. Knows no byte.
 *
 * A text that names producers first keeps its order, so a decompiled one gives the same image. Nodes
 * the compiler inserted run right behind what feeds them.
 */
#include "host_tools/graphc/middle/graphc_middle.h"
#include <stdlib.h>

/* Nodes that wait for nothing any more, least rank on top. */
typedef struct heap {
    const g_model_t *m;
    uint32_t *v;
    uint32_t n;
} heap_t;

/* Where the text wants a node. */
static uint64_t rank(const g_model_t *m, uint32_t node)
{
    const g_node_t *n = &m->nodes[node];
    const uint64_t place = !n->inserted ? 2ull * node + 2u : n->near == G_NONE ? 0 : 2ull * n->near + 3u;
    return place << 32 | node;
}

static bool before(const heap_t *h, uint32_t a, uint32_t b)
{
    return rank(h->m, a) < rank(h->m, b);
}

static void push(heap_t *h, uint32_t x)
{
    uint32_t at = h->n++;
    for (; at > 0 && before(h, x, h->v[(at - 1) / 2]); at = (at - 1) / 2) {
        h->v[at] = h->v[(at - 1) / 2];
    }
    h->v[at] = x;
}

static uint32_t pop(heap_t *h)
{
    const uint32_t least = h->v[0], x = h->v[--h->n];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= h->n) {
            break;
        }
        child += child + 1 < h->n && before(h, h->v[child + 1], h->v[child]);
        if (!before(h, h->v[child], x)) {
            break;
        }
        h->v[at] = h->v[child];
        at = child;
    }
    h->v[at] = x;
    return least;
}

/* Does the consumer have to wait for this arc's producer within a pass? */
static bool orders(const g_arc_t *a)
{
    return !a->lock && a->delay == 0 && a->from.node != G_IO && a->to.node != G_IO;
}

/* An arc by which an unscheduled node waits for an unscheduled producer. */
static const g_arc_t *awaited(const g_model_t *m, uint32_t node, const uint32_t *waits)
{
    const g_node_t *n = &m->nodes[node];
    for (uint32_t i = 0; i < n->rx; i++) {
        const g_arc_t *a = &m->arcs[n->arcs[i]];
        if (orders(a) && waits[a->from.node] > 0) {
            return a;
        }
    }
    return NULL;
}

/* Walk back along unscheduled producers: after as many steps as there are nodes, we are on a loop. Name its arcs. */
static void report_loop(g_model_t *m, const uint32_t *waits)
{
    enum { NOTES = 6 };
    uint32_t at = 0;
    while (waits[at] == 0) {
        at++;
    }
    for (uint32_t step = 0; step < m->n_nodes; step++) {
        at = awaited(m, at, waits)->from.node;
    }
    const uint32_t first = at;
    g_error(m, &m->nodes[at].pos, "node %s is in a loop: one of its arcs needs arc_delay", m->nodes[at].name);
    for (unsigned i = 0; i < NOTES && (i == 0 || at != first); i++) {
        const g_arc_t *a = awaited(m, at, waits);
        g_note(m, &a->pos, "%s waits for %s here", m->nodes[at].name, m->nodes[a->from.node].name);
        at = a->from.node;
    }
}

static uint32_t run_all(g_model_t *m, uint32_t *waits, heap_t *ready)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        if (orders(&m->arcs[i])) {
            waits[m->arcs[i].to.node]++;
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (waits[i] == 0) {
            push(ready, i);
        }
    }
    while (ready->n > 0) {
        const uint32_t i = pop(ready);
        const g_node_t *n = &m->nodes[i];
        m->place[i] = done;
        m->order[done++] = i;
        for (uint32_t k = n->rx; k < (uint32_t)(n->rx + n->tx); k++) {
            const g_arc_t *a = &m->arcs[n->arcs[k]];
            if (orders(a) && --waits[a->to.node] == 0) {
                push(ready, a->to.node);
            }
        }
    }
    return done;
}

bool g_schedule(g_model_t *m)
{
    if (m->order != NULL) { /* scripts asked for it already */
        return true;
    }
    uint32_t *waits = calloc(m->n_nodes, sizeof *waits);
    heap_t ready = {.m = m, .v = calloc(m->n_nodes, sizeof(uint32_t))};
    m->order = calloc(m->n_nodes, sizeof *m->order);
    m->place = calloc(m->n_nodes, sizeof *m->place);
    bool ok = waits != NULL && ready.v != NULL && m->order != NULL && m->place != NULL;
    if (!ok) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    } else if (run_all(m, waits, &ready) < m->n_nodes) {
        report_loop(m, waits);
        ok = false;
    }
    free(waits);
    free(ready.v);
    return ok;
}
