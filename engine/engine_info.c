/* engine_info.c - looking at the current graph: tables, counters, names, checks. Control side.
 *
 * Tables never change while a graph lives; counters are gauges the engine thread moves.
 */
#include "engine/engine_priv.h"
#include "engine/graph/twg1_read.h"
#include "engine/node/services.h"

/* "<text>.<n>", cut to `size`. */
static void numbered(char *out, uint32_t size, const char *text, uint32_t n)
{
    char digits[10];
    uint32_t k = 0, at = 0;
    do {
        digits[k++] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    while (text[at] != 0 && at + k + 2 < size) {
        out[at] = text[at];
        at++;
    }
    out[at++] = '.';
    while (k != 0) {
        out[at++] = digits[--k];
    }
    out[at] = 0;
}

static void name_of(const tw_graph_t *g, char out[32], uint32_t kind, uint32_t index, const char *otherwise)
{
    uint32_t n = 0;
    const char *symbol = tw_graph_symbol(g->img, kind, index, &n);
    if (symbol != NULL) {
        memcpy(out, symbol, n); /* at most TW_SYMBOL_MAX, verified */
        out[n] = 0;
    } else {
        numbered(out, 32, otherwise, index);
    }
}

static uint32_t permille(const tw_engine_t *e, const tw_graph_t *g, uint32_t cycles)
{
    const double block = g->period_s * 1e6 * e->cfg.port->cycles_per_us;
    const double load = block > 0 ? cycles * 1000.0 / block : 0;
    return load < 1e6 ? (uint32_t)(load + 0.5) : 1000000u;
}

void tw_engine_info(tw_engine_t *e, tw_engine_info_t *out)
{
    engine_sync(e);
    *out = (tw_engine_info_t){
        .state = (tw_graph_state_t)tw_gauge_get(&e->state),
        .generation = e->c.generation,
        .tick = tw_word_tick(tw_word_load(&e->word)),
        .late_blocks = tw_gauge_get(&e->late),
        .functions = tw_library_functions(tw_library()),
    };
    const tw_graph_t *g = engine_view(e);
    if (g == NULL) {
        return;
    }
    out->nodes = g->n_nodes;
    out->arcs = g->n_arcs;
    out->ios = g->n_ios;
    out->scripts = g->n_scripts;
    out->crc = tw_img_word(g->img, 0, TW_W_HEADER_CRC);
    out->uid = tw_img_word(g->img, 0, TW_W_UID);
    out->image_ram = g->env.image.ram;
    out->load_permille = permille(e, g, tw_gauge_get(&g->load_cycles));
    out->last_error = (tw_err_t) - (int32_t)tw_gauge_get(&g->last_error);
    uint32_t n = 0;
    const char *symbol = tw_graph_symbol(g->img, TW_SYM_GRAPH, 0, &n);
    memcpy(out->name, symbol != NULL ? symbol : "", n);
}

static uint32_t nanoseconds(const tw_engine_t *e, uint32_t cycles)
{
    const uint64_t ns = (uint64_t)cycles * 1000u / e->cfg.port->cycles_per_us;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

tw_err_t tw_engine_node(tw_engine_t *e, uint32_t node, tw_engine_node_t *out)
{
    const tw_graph_t *g = engine_view(e);
    if (g == NULL) {
        return TW_E_NO_GRAPH;
    }
    if (node >= g->n_nodes) {
        return TW_E_PARAM_NODE;
    }
    const tw_graph_node_t *n = &g->nodes[node];
    const tw_graph_hot_t *h = &g->hot[n->pos];
    *out = (tw_engine_node_t){
        .desc = n->desc,
        .fmt = n->fmt,
        .rx = n->rx,
        .tx = n->tx,
        .runs = tw_gauge_get(&h->runs),
        .errors = tw_gauge_get(&n->errors),
        .cycles_last = tw_gauge_get(&h->cycles_last),
        .cycles_max = tw_gauge_get(&h->cycles_max),
        .cycles_avg = tw_gauge_get(&h->cycles_avg16) / 16,
        .load_permille = permille(e, g, tw_gauge_get(&n->load_cycles)),
        .version = e->slots[e->c.group_view].versions[node],
        .script = n->script >= 0 ? n->script : n->own_script,
    };
    out->ns_last = nanoseconds(e, out->cycles_last);
    out->ns_max = nanoseconds(e, out->cycles_max);
    out->ns_avg = nanoseconds(e, out->cycles_avg);
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        out->arcs[i] = n->refs[i].arc;
    }
    name_of(g, out->name, TW_SYM_NODE, node, n->desc->name);
    return TW_OK;
}

/* The task of an arc is in the image, its figure in a register. */
static void debug_of(const tw_graph_t *g, uint32_t arc, tw_engine_arc_t *out)
{
    const uint32_t a4 = tw_img_word(g->img, tw_img_arc(g->img, arc), 4);
    out->debug_cmd = tw_bits(a4, TW_A4_DEBUG_CMD);
    out->debug_reg = tw_bits(a4, TW_A4_DEBUG_REG);
    (void)tw_graph_register(g, out->debug_reg, &out->debug_value);
}

static void io_of(const tw_graph_t *g, uint32_t arc, tw_engine_arc_t *out)
{
    const tw_img_ends_t e = tw_img_ends(g->img, arc);
    if ((e.from != TW_IMG_IO && e.to != TW_IMG_IO) || e.io >= g->n_ios || g->ios[e.io].arc_index != arc) {
        return; /* between nodes, or a constant */
    }
    const tw_graph_io_stats_t *s = &g->ios[e.io].stats;
    out->has_io = true;
    out->io.hwid = g->ios[e.io].hwid;
    out->io.frames = tw_gauge_get(&s->frames);
    out->io.acks = tw_gauge_get(&s->acks);
    out->io.holes = tw_gauge_get(&s->holes);
    out->io.lost = tw_gauge_get(&s->lost);
    out->io.stray = tw_gauge_get(&s->stray);
    out->io.starts_refused = tw_gauge_get(&s->starts_refused);
    out->io.stamp_errors = tw_gauge_get(&s->stamp_errors);
    out->io.moves = tw_gauge_get(&s->moves);
}

tw_err_t tw_engine_arc(tw_engine_t *e, uint32_t arc, tw_engine_arc_t *out)
{
    const tw_graph_t *g = engine_view(e);
    if (g == NULL) {
        return TW_E_NO_GRAPH;
    }
    if (arc >= g->n_arcs) {
        return TW_E_ARC_NONE;
    }
    const tw_arc_t *a = &g->arcs[arc];
    *out = (tw_engine_arc_t){
        .bytes = a->size,
        .read = tw_gauge_get(&a->read),
        .write = tw_gauge_get(&a->write),
        .overflows = tw_gauge_get(&a->overflows),
        .underflows = tw_gauge_get(&a->underflows),
        .max_fill = tw_gauge_get(&a->max_fill),
        .realigns = tw_gauge_get(&a->realigns),
        .fmt = g->formats[tw_graph_arc_format(g, arc, false)],
    };
    tw_graph_arc_ends(g, arc, &out->from_node, &out->to_node);
    debug_of(g, arc, out);
    io_of(g, arc, out);
    name_of(g, out->name, TW_SYM_ARC, arc, "arc");
    return TW_OK;
}

tw_err_t tw_engine_script(tw_engine_t *e, uint32_t script, tw_engine_script_t *out)
{
    const tw_graph_t *g = engine_view(e);
    if (g == NULL) {
        return TW_E_NO_GRAPH;
    }
    if (script >= g->n_scripts) {
        return TW_E_SCRIPT_NONE;
    }
    const tw_graph_script_t *s = &g->scripts[script];
    *out = (tw_engine_script_t){
        .bytes = tw_gauge_get(&s->bytes),
        .crc = tw_gauge_get(&s->crc),
        .disabled = tw_gauge_get(&s->disabled) != 0,
        .faults = tw_gauge_get(&s->faults),
        .runs = tw_gauge_get(&s->runs),
        .last_error = (tw_err_t) - (int32_t)tw_gauge_get(&s->last_error),
        .last_pc = tw_gauge_get(&s->last_pc),
    };
    name_of(g, out->name, TW_SYM_SCRIPT, script, "script");
    return TW_OK;
}

tw_err_t tw_engine_check_param(tw_engine_t *e, uint32_t node, uint32_t index, uint32_t type, const uint8_t *value,
                               uint32_t bytes, tw_fault_t *fault)
{
    const tw_graph_t *g = engine_view(e);
    *fault = (tw_fault_t){.at = node};
    if (g == NULL || node >= g->n_nodes) {
        fault->err = g == NULL ? TW_E_NO_GRAPH : TW_E_PARAM_NODE;
        return fault->err;
    }
    const tw_err_t err = tw_param_check(g->nodes[node].desc, g->nodes[node].fmt, index, type, value, bytes, fault);
    fault->err = err;
    return err;
}

/* Nothing that replaces a script, or may put an old one back, is under way: what is installed says all. */
static bool scripts_settled(tw_engine_t *e)
{
    return atomic_load_explicit(&e->scripts_done, memory_order_acquire) == e->c.scripts && e->c.put == e->c.start &&
           tw_bits(atomic_load_explicit(&e->where, memory_order_acquire), WHERE_ARMED) != TW_WAITS_VALUES;
}

tw_err_t tw_engine_check_script(tw_engine_t *e, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                                uint32_t pool_bytes, tw_fault_t *fault)
{
    tw_graph_t *g = engine_view(e);
    *fault = (tw_fault_t){.at = script};
    if (g == NULL || script >= g->n_scripts) {
        fault->err = g == NULL ? TW_E_NO_GRAPH : TW_E_SCRIPT_NONE;
        return fault->err;
    }
    if (scripts_settled(e)) {
        tw_graph_settle_calls(g);
    }
    return tw_graph_check_script(g, script, code, code_bytes, pool_bytes, fault);
}
