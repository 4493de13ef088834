/* graphc_draw_rows.c - which row of the picture a node stands in: by its distance from the graph's inputs. */
#include "host_tools/graphc/draw/graphc_draw.h"
#include <math.h>
#include <stdlib.h>

enum { LONG = 12 }; /* so many steps fit one row */

typedef struct steps {
    uint32_t *depth, *waits, *queue; /* per node: steps from an input; arcs not seen yet; ready ones in order */
    uint32_t *first, *next;          /* arcs by producer: arc + 1 */
    uint32_t n;                      /* longest way, in nodes */
} steps_t;

static bool between_nodes(const tw_pic_arc_t *a)
{
    return ((a->from | a->to) & TW_PIC_IO) == 0 && !a->delayed;
}

static bool open_steps(steps_t *s, const tw_pic_t *p)
{
    const size_t n = (size_t)p->n_nodes + 1;
    s->depth = calloc(n, sizeof(uint32_t));
    s->waits = calloc(n, sizeof(uint32_t));
    s->queue = calloc(n, sizeof(uint32_t));
    s->first = calloc(n, sizeof(uint32_t));
    s->next = calloc((size_t)p->n_arcs + 1, sizeof(uint32_t));
    return s->depth != NULL && s->waits != NULL && s->queue != NULL && s->first != NULL && s->next != NULL;
}

static void close_steps(steps_t *s)
{
    free(s->depth);
    free(s->waits);
    free(s->queue);
    free(s->first);
    free(s->next);
}

static void measure(steps_t *s, const tw_pic_t *p)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < p->n_arcs; i++) {
        if (between_nodes(&p->arcs[i])) {
            s->waits[p->arcs[i].to]++;
            s->next[i] = s->first[p->arcs[i].from];
            s->first[p->arcs[i].from] = i + 1;
        }
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        if (s->waits[i] == 0) {
            s->queue[tail++] = i;
        }
    }
    while (head < tail) {
        const uint32_t from = s->queue[head++];
        s->n = tw_max_u32(s->n, s->depth[from] + 1);
        for (uint32_t i = s->first[from]; i > 0; i = s->next[i - 1]) {
            const uint32_t to = p->arcs[i - 1].to;
            s->depth[to] = tw_max_u32(s->depth[to], s->depth[from] + 1);
            if (--s->waits[to] == 0) {
                s->queue[tail++] = to;
            }
        }
    }
}

/* Nodes side by side in the widest place. waits[] is free by now. */
static uint32_t widest(const steps_t *s, const tw_pic_t *p)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < s->n; i++) {
        s->waits[i] = 0;
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        most = tw_max_u32(most, ++s->waits[s->depth[i]]);
    }
    return most;
}

/* A step takes about three times the room along the row that a node takes across. */
static uint32_t steps_of_row(const steps_t *s, const tw_pic_t *p)
{
    const uint32_t fit = (uint32_t)lround(sqrt(0.6 * s->n * widest(s, p)));
    return tw_max_u32(fit, 6);
}

/* Arcs that go past each step, by counting where they begin and where they end; into queue[], free by now. */
static void count_crossings(steps_t *s, const tw_pic_t *p)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->queue[i] = 0;
    }
    for (uint32_t i = 0; i < p->n_arcs; i++) {
        if (between_nodes(&p->arcs[i])) {
            s->queue[s->depth[p->arcs[i].from]]++;
            s->queue[s->depth[p->arcs[i].to]]--; /* may wrap until summed up */
        }
    }
    for (uint32_t i = 1; i < s->n; i++) {
        s->queue[i] += s->queue[i - 1];
    }
}

/* Rows end where few arcs go on, as lines end between words; the row of each step goes into waits[]. */
static uint32_t cut_rows(steps_t *s, uint32_t steps)
{
    const uint32_t least = steps - steps / 4, most = steps + steps / 4;
    uint32_t row = 0;
    for (uint32_t at = 0; at < s->n; row++) {
        uint32_t end = s->n;
        if (s->n - at > most) {
            end = at + steps;
            for (uint32_t k = at + least; k <= at + most; k++) {
                end = s->queue[k - 1] < s->queue[end - 1] ? k : end;
            }
        }
        for (; at < end; at++) {
            s->waits[at] = row;
        }
    }
    return row;
}

static void fold(tw_pic_t *p, steps_t *s)
{
    const uint32_t steps = steps_of_row(s, p);
    count_crossings(s, p);
    p->n_rows = cut_rows(s, steps);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        p->nodes[i].row = s->waits[s->depth[i]];
    }
}

bool tw_pic_fold(tw_pic_t *p)
{
    steps_t s = {0};
    p->n_rows = 1;
    if (p->n_scopes > 1 || p->n_nodes == 0) {
        return true;
    }
    const bool ok = open_steps(&s, p);
    if (ok) {
        measure(&s, p);
    }
    if (ok && s.n > LONG) {
        fold(p, &s);
    }
    for (uint32_t i = 0; ok && i < p->n_arcs; i++) { /* an IO stands beside its node */
        const tw_pic_arc_t *a = &p->arcs[i];
        if ((a->from & TW_PIC_IO) != 0 && (a->to & TW_PIC_IO) == 0) {
            p->ios[a->from & ~TW_PIC_IO].row = p->nodes[a->to].row;
        } else if ((a->to & TW_PIC_IO) != 0 && (a->from & TW_PIC_IO) == 0) {
            p->ios[a->to & ~TW_PIC_IO].row = p->nodes[a->from].row;
        }
    }
    close_steps(&s);
    return ok;
}
