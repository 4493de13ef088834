/* engine_probe.c - taps on arcs, engine side: frames into a ring, or samples into a capture.
 *
 * A script that fires a probe runs between two blocks and not when the arc is written: a script may take data from
 * arcs, and a write happens while a node's arcs are being gathered.
 */
#include "engine/engine_priv.h"

void probe_attach(tw_engine_t *e, tw_probe_t *p)
{
    tw_arc_t *a = &e->e.graph->arcs[p->arc];
    p->next = a->taps;
    a->taps = p;
    p->fed = 0;
    if (p->capture != NULL && p->capture->cfg.cause == TW_CAUSE_SCRIPT) {
        p->next_watch = e->e.watches;
        e->e.watches = p;
    }
}

/* A probe of a graph that was swapped out is on no list of this one, perhaps on no arc of it. */
void probe_detach(tw_engine_t *e, tw_probe_t *p)
{
    for (tw_probe_t **w = &e->e.watches; *w != NULL; w = &(*w)->next_watch) {
        if (*w == p) {
            *w = p->next_watch;
            break;
        }
    }
    if (p->arc >= e->e.graph->n_arcs) {
        return;
    }
    tw_arc_t *a = &e->e.graph->arcs[p->arc];
    if (a->taps == p) {
        a->taps = p->next;
        return;
    }
    for (tw_probe_t *k = a->taps; k != NULL; k = k->next) {
        if (k->next == p) {
            k->next = p->next;
            return;
        }
    }
}

static void into_ring(const tw_engine_t *e, tw_probe_t *p, const uint8_t *data, uint32_t bytes)
{
    uint8_t *rec = tw_ring_reserve(&p->ring, TW_PROBE_HEADER + bytes);
    const uint32_t dropped = atomic_load_explicit(&p->dropped, memory_order_relaxed);
    if (rec == NULL) {
        atomic_store_explicit(&p->dropped, dropped + 1, memory_order_relaxed);
        return;
    }
    tw_put_le64(rec, e->e.tick);
    tw_put_le32(rec + 8, dropped);
    tw_put_le32(rec + 12, 0);
    memcpy(rec + TW_PROBE_HEADER, data, bytes);
    tw_ring_commit(&p->ring, TW_PROBE_HEADER + bytes);
}

void probe_tap(void *ctx, void *taps, const uint8_t *data, uint32_t bytes)
{
    const tw_engine_t *e = ctx;
    for (tw_probe_t *p = taps; p != NULL; p = p->next) {
        if (p->capture != NULL) {
            p->fed += bytes;
            tw_capture_feed(p->capture, e->e.tick, data, bytes);
        } else {
            into_ring(e, p, data, bytes);
        }
    }
}

void probe_flow(tw_engine_t *e, uint32_t arc, int64_t full)
{
    const tw_graph_t *g = e->e.graph;
    for (tw_probe_t *p = g != NULL && arc < g->n_arcs ? g->arcs[arc].taps : NULL; p != NULL; p = p->next) {
        if (p->capture != NULL) {
            tw_capture_flow(p->capture, full != 0 ? TW_CAPTURE_FLOW_FULL : TW_CAPTURE_FLOW_EMPTY);
        }
    }
}

void probe_scripts(tw_engine_t *e)
{
    for (tw_probe_t *p = e->e.watches; p != NULL; p = p->next_watch) {
        const int64_t args[] = {p->arc, p->fed};
        const tw_script_ctx_t *s = NULL;
        if (p->fed == 0) {
            continue;
        }
        p->fed = 0;
        record_run(e, p->script, args, TW_COUNT(args));
        const tw_err_t err = tw_graph_run_script(e->e.graph, p->script, args, TW_COUNT(args), true, 0, &s);
        tw_gauge_set(&p->script_error, (uint32_t) - (int32_t)err);
        if (err == TW_OK && s->flag != 0) {
            tw_capture_script(p->capture);
        }
    }
}
