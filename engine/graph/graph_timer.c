/* graph_timer.c - scripts that run later: at the first boundary of a block after their time.
 *
 * Time is that of the blocks, which recordings hold, so a replay runs every timer in the same block. A script has one
 * timer at most; setting it again begins anew.
 */
#include "engine/graph/graph_sys_priv.h"

enum { TIMER_SET = 1, TIMER_CANCEL = 2 };

static tw_graph_timer_t *timer_of(tw_graph_t *g, uint32_t script)
{
    for (uint32_t i = 0; i < TW_SCRIPT_TIMERS; i++) {
        if (g->asks.timers[i].on && g->asks.timers[i].script == script) {
            return &g->asks.timers[i];
        }
    }
    return NULL;
}

static tw_graph_timer_t *free_timer(tw_graph_t *g)
{
    for (uint32_t i = 0; i < TW_SCRIPT_TIMERS; i++) {
        if (!g->asks.timers[i].on) {
            g->asks.n_timers++;
            return &g->asks.timers[i];
        }
    }
    return NULL;
}

static tw_err_t set(tw_graph_t *g, uint32_t script, int64_t ms)
{
    if (ms < 0 || ms > INT32_MAX) {
        return TW_E_RANGE;
    }
    tw_graph_timer_t *t = timer_of(g, script);
    t = t != NULL ? t : free_timer(g);
    if (t == NULL) {
        return TW_E_NOMEM;
    }
    const uint64_t us = (uint64_t)ms * 1000u;
    *t = (tw_graph_timer_t){.due_us = g->asks.running ? g->now_us + us : us,
                            .order = g->asks.order++,
                            .script = (uint16_t)script,
                            .on = true,
                            .fresh = !g->asks.running};
    return TW_OK;
}

static tw_err_t cancel(tw_graph_t *g, uint32_t script)
{
    tw_graph_timer_t *t = timer_of(g, script);
    if (t == NULL) {
        return TW_E_NOT_FOUND;
    }
    t->on = false;
    g->asks.n_timers--;
    return TW_OK;
}

uint32_t sys_timer(tw_graph_t *g, tw_script_ctx_t *s)
{
    const int64_t op = tw_script_reg_int(s, 0);
    const uint32_t script = sys_below(tw_script_reg_int(s, 2), g->n_scripts);
    if (op != TIMER_SET && op != TIMER_CANCEL) {
        return sys_status(TW_E_ARG);
    }
    if (script == UINT32_MAX) {
        return sys_status(TW_E_SCRIPT_NONE);
    }
    return sys_status(op == TIMER_SET ? set(g, script, tw_script_reg_int(s, 1)) : cancel(g, script));
}

/* The first that is due, of those set before this boundary: a timer that sets itself waits for the next one. */
static tw_graph_timer_t *next_due(tw_graph_t *g, uint32_t end)
{
    tw_graph_timer_t *first = NULL;
    for (uint32_t i = 0; i < TW_SCRIPT_TIMERS; i++) {
        tw_graph_timer_t *t = &g->asks.timers[i];
        const bool due = t->on && (int32_t)(t->order - end) < 0 && t->due_us <= g->now_us;
        if (due && (first == NULL || t->due_us < first->due_us ||
                    (t->due_us == first->due_us && (int32_t)(t->order - first->order) < 0))) {
            first = t;
        }
    }
    return first;
}

void timers_run(tw_graph_t *g)
{
    const uint32_t end = g->asks.order;
    for (uint32_t i = 0; i < TW_SCRIPT_TIMERS; i++) {
        tw_graph_timer_t *t = &g->asks.timers[i];
        t->due_us += t->fresh ? g->now_us : 0;
        t->fresh = false;
    }
    for (tw_graph_timer_t *t = next_due(g, end); t != NULL; t = next_due(g, end)) {
        const int64_t phase = PHASE_TIMER;
        t->on = false;
        g->asks.n_timers--;
        (void)tw_graph_run_script(g, t->script, &phase, 1, true, 0, NULL);
    }
}
