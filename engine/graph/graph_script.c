/* graph_script.c - the scripts of a graph: running, replacing, isolating those that fail.
 *
 * A script that faults is disabled, counted and told about; the graph goes on without it.
 */
#include "engine/base/crc.h"
#include "engine/graph/graph_carry.h"
#include "engine/graph/graph_debug.h"
#include "engine/graph/graph_priv.h"

static void translate(tw_graph_script_t *s)
{
#if TW_SCRIPT_FAST
    s->code.fast = tw_script_translate(&s->code, s->fast, s->fast_bytes);
#else
    (void)s;
#endif
}

/* For what the image has, and for a replacement of usual density. At most a quarter of what the arena has left: state
 * that is fetched, shadows and swaps want the rest. */
void script_speed_up(tw_graph_t *g, tw_arena_t *arena)
{
#if TW_SCRIPT_FAST
    for (uint32_t i = 0; i < g->n_scripts; i++) {
        tw_graph_script_t *const s = &g->scripts[i];
        const uint32_t bytes = tw_script_fast_bytes(&s->code);
        const uint32_t room = tw_max_u32(bytes, s->live != NULL ? TW_SCRIPT_FAST_LIVE : 0u);
        if (room > (arena->size - arena->used) / 4) {
            continue;
        }
        s->fast = tw_arena_take(arena, room, 8);
        s->fast_bytes = s->fast != NULL ? room : 0;
        translate(s);
    }
#else
    (void)g;
    (void)arena;
#endif
}

void script_install(tw_graph_script_t *s, const tw_script_t *code)
{
    const uint32_t bytes = tw_script_bytes(code->code_bytes, code->pool_bytes);
    s->code = *code;
    s->code.labels = s->labels;
    s->installed = tw_script_calls(code);
    tw_script_index(&s->code, s->labels);
    translate(s);
    tw_gauge_set(&s->bytes, bytes);
    tw_gauge_set(&s->crc, tw_crc32c(0, code->code, bytes));
}

void script_isolate(tw_graph_t *g, uint32_t script, tw_err_t err, uint32_t pc)
{
    tw_graph_script_t *s = &g->scripts[script];
    tw_gauge_set(&s->disabled, 1);
    tw_gauge_add(&s->faults, 1);
    tw_gauge_set(&s->last_error, (uint32_t) - (int32_t)err);
    tw_gauge_set(&s->last_pc, pc);
    tw_gauge_set(&g->last_error, (uint32_t) - (int32_t)err);
    g->untold = g->untold || g->env.host.event == NULL;
    flow_event(g, TW_GEV_SCRIPT_FAULT, script, pc, err);
}

void script_tell_faults(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_scripts && g->env.host.event != NULL; i++) {
        const tw_graph_script_t *s = &g->scripts[i];
        if (tw_gauge_get(&s->disabled) != 0 && tw_gauge_get(&s->faults) != 0) {
            flow_event(g, TW_GEV_SCRIPT_FAULT, i, tw_gauge_get(&s->last_pc),
                       (tw_err_t)(-(int32_t)tw_gauge_get(&s->last_error)));
        }
    }
    g->untold = false;
}

static tw_err_t run(tw_graph_t *g, uint32_t script, const tw_script_start_t *b, const tw_script_ctx_t **c)
{
#if TW_SCRIPT_DEBUG
    if (g->debug != NULL) {
        return debug_call(g, script, b, c);
    }
#endif
    *c = g->script_ctx;
    return tw_script_run(&g->scripts[script].code, &g->script_host, g->script_ctx, b->args, b->n_args, b->flag,
                         b->budget);
}

tw_err_t tw_graph_run_script(tw_graph_t *g, uint32_t script, const int64_t *args, unsigned n_args, bool flag,
                             uint32_t budget, const tw_script_ctx_t **ctx)
{
    tw_graph_script_t *s = &g->scripts[script];
    /* One context: a script that resets a script node would otherwise overwrite itself. */
    if (g->in_script) {
        return TW_E_BUSY;
    }
    if (tw_gauge_get(&s->disabled) != 0) {
        return TW_E_SCR_DISABLED;
    }
    const tw_script_start_t start = {args, n_args, flag, budget};
    const tw_script_ctx_t *c;
    g->in_script = true;
    g->compute.left = TW_COMPUTE_BUDGET;
    const tw_err_t err = run(g, script, &start, &c);
    g->in_script = false;
    tw_gauge_add(&s->runs, c != NULL);
    if (err != TW_OK && err != TW_E_SCR_HELD) {
        script_isolate(g, script, err, c->pc);
    }
    if (ctx != NULL) {
        *ctx = c;
    }
    return err;
}

tw_err_t script_run_for(tw_graph_t *g, uint32_t node, uint32_t script, const int64_t *args, unsigned n_args, bool flag,
                        const tw_script_ctx_t **ctx)
{
    const int32_t caller = g->asks.node;
    g->asks.node = (int32_t)node;
    const tw_err_t err = tw_graph_run_script(g, script, args, n_args, flag, 0, ctx);
    g->asks.node = caller;
    return err;
}

uint32_t script_call_node(void *ctx, uint32_t script, uint32_t phase)
{
    tw_graph_t *g = ctx;
    const int64_t r0 = phase;
    if (script >= g->n_scripts) {
        return (uint32_t) - (int32_t)TW_E_SCRIPT_NONE;
    }
    const tw_err_t err = script_run_for(g, g->current, script, &r0, 1, true, NULL);
    /* The fault was told as the script's; the node that carries it is not broken. */
    return err == TW_E_BUSY ? (uint32_t) - (int32_t)err : 0;
}

/* Code as a replacement for script `script`: the image's limits. */
static tw_script_t replacement(const tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                               uint32_t pool_bytes)
{
    tw_script_t s = g->scripts[script].boot;
    s.code = code;
    s.code_bytes = code_bytes;
    s.pool_bytes = pool_bytes;
    return s;
}

/* Scripts beyond the 64 that code can call are nobody's target, so they close no circle. */
static tw_err_t check_calls(const tw_graph_t *g, uint32_t script, uint64_t mask)
{
    uint64_t calls[64];
    const uint32_t n = tw_min_u32(g->n_scripts, TW_COUNT(calls));
    for (uint32_t i = 0; i < n; i++) {
        calls[i] = i == script ? mask : g->scripts[i].calls;
    }
    if (n < 64 && mask >> n != 0) {
        return TW_E_SCR_BAD_TARGET;
    }
    return graph_calls_acyclic(calls, n) ? TW_OK : TW_E_SCR_DEPTH;
}

tw_err_t tw_graph_check_script(const tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                               uint32_t pool_bytes, tw_fault_t *fault)
{
    const uint64_t bytes = (uint64_t)code_bytes + pool_bytes + 3u;
    if (bytes > UINT32_MAX || tw_script_bytes(code_bytes, pool_bytes) > TW_SCRIPT_LIVE_BYTES ||
        g->scripts[script].live == NULL) {
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = TW_SCRIPT_LIVE_BYTES};
        return fault->err;
    }
    const tw_script_t s = replacement(g, script, code, code_bytes, pool_bytes);
    uint64_t mask = 0;
    *fault = (tw_fault_t){0};
    const bool privileged = s.privileged != 0 && g->env.board->low != NULL;
    const tw_err_t err = tw_script_verify(&s, privileged, &mask, fault);
    fault->err = err != TW_OK ? err : check_calls(g, script, mask);
    return fault->err;
}

tw_err_t tw_graph_note_calls(tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes)
{
    const tw_script_t s = replacement(g, script, code, code_bytes, 0);
    const uint64_t calls = g->scripts[script].calls | tw_script_calls(&s);
    TW_TRY(check_calls(g, script, calls));
    g->scripts[script].calls = calls;
    return TW_OK;
}

void tw_graph_settle_calls(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_scripts; i++) {
        g->scripts[i].calls = g->scripts[i].installed;
    }
}

void tw_graph_set_script(tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes, uint32_t pool_bytes)
{
    tw_graph_script_t *s = &g->scripts[script];
    memcpy(s->live, code, tw_script_bytes(code_bytes, pool_bytes));
    const tw_script_t next = replacement(g, script, s->live, code_bytes, pool_bytes);
    script_install(s, &next);
    debug_gone(g, script, false, TW_STOP_REPLACED);
    tw_graph_enable_script(g, script, true);
}

/* u32 code bytes, pool bytes, disabled; then the code, unless it is the image's */
enum { SAVED_HEAD = 12 };

static bool is_boot(const tw_graph_script_t *s)
{
    return s->code.code == s->boot.code;
}

uint32_t tw_graph_script_saved(const tw_graph_t *g, uint32_t script)
{
    const tw_graph_script_t *s = &g->scripts[script];
    return SAVED_HEAD + (is_boot(s) ? 0 : tw_script_bytes(s->code.code_bytes, s->code.pool_bytes));
}

void tw_graph_save_script(const tw_graph_t *g, uint32_t script, uint8_t *to)
{
    const tw_graph_script_t *s = &g->scripts[script];
    tw_put_le32(to, s->code.code_bytes);
    tw_put_le32(to + 4, s->code.pool_bytes);
    tw_put_le32(to + 8, tw_gauge_get(&s->disabled));
    memcpy(to + SAVED_HEAD, s->code.code, tw_graph_script_saved(g, script) - SAVED_HEAD);
}

void tw_graph_restore_script(tw_graph_t *g, uint32_t script, const uint8_t *from, uint32_t bytes)
{
    if (bytes == SAVED_HEAD) {
        script_install(&g->scripts[script], &g->scripts[script].boot);
        debug_gone(g, script, false, TW_STOP_REPLACED);
    } else {
        tw_graph_set_script(g, script, from + SAVED_HEAD, tw_get_le32(from), tw_get_le32(from + 4));
    }
    tw_graph_enable_script(g, script, tw_get_le32(from + 8) == 0);
}

void tw_graph_enable_script(tw_graph_t *g, uint32_t script, bool on)
{
    tw_gauge_set(&g->scripts[script].disabled, on ? 0 : 1);
    if (!on) {
        debug_gone(g, script, false, TW_STOP_DISABLED);
    }
}
