/* graph_syscall.c - what a script may ask of its graph (docs/SCRIPT_ISA.md "System calls"): who does what, and the
 * calls about nodes, arcs, time and the host. Others are in graph_sys_*.c and graph_timer.c.
 *
 * Every call checks its arguments as if they came from outside: a verified script may still hold
 * any number. Status is 0 or the positive number of a tw_err_t; r1 carries results.
 */
#include "engine/graph/graph_sys_priv.h"

typedef enum sys {
#define TW_SYSCALL(k, NAME, name, pops, privileged, arguments) SYS_##NAME = (k),
#include "engine/script/script_syscalls.def"
} sys_t;
enum { ARC_READ = 1, ARC_WRITE = 2, ARC_FILL = 3, ARC_CLEAR = 4, ARC_TIME = 5 };
enum { CLOCK_US = 0, CLOCK_TICK = 1, CLOCK_BLOCK_US = 2 };
enum { EVENT_BYTES_MAX = 128 };

uint8_t *sys_buffer(const tw_script_ctx_t *s, unsigned ptr, uint32_t *bytes, bool for_write)
{
    uint8_t *p = tw_script_window(s, ptr, bytes, for_write);
    const int64_t want = tw_script_reg_int(s, 2);
    if (p == NULL || want < 0 || want > *bytes) {
        return NULL;
    }
    *bytes = want != 0 ? (uint32_t)want : *bytes;
    return p;
}

uint32_t sys_tell(tw_graph_t *g, const tw_graph_event_t *ev)
{
    if (g->env.host.event == NULL) {
        return sys_status(TW_E_UNSUPPORTED);
    }
    g->env.host.event(g->env.host.ctx, ev);
    return 0;
}

static uint32_t read_param(tw_graph_t *g, uint32_t node, uint32_t tag, tw_script_ctx_t *s)
{
    uint32_t bytes = 0;
    uint8_t *p = sys_buffer(s, 0, &bytes, true);
    if (p == NULL) {
        return sys_status(TW_E_SCR_BAD_PTR);
    }
    const tw_err_t err = tw_graph_get_param(g, node, tag, p, &bytes);
    tw_script_set_int(s, 1, TW_T_U32, bytes);
    return sys_status(err);
}

static uint32_t set_param(tw_graph_t *g, uint32_t node, uint32_t tag, tw_script_ctx_t *s)
{
    uint32_t bytes = 0;
    const uint8_t *p = sys_buffer(s, 0, &bytes, false);
    if (p == NULL) {
        return sys_status(TW_E_SCR_BAD_PTR);
    }
    tw_fault_t unused = {0};
    tw_graph_node_t *n = &g->nodes[node];
    tw_gauge_set(&n->touched, 1);
    const tw_err_t err = tw_param_check(n->desc, n->fmt, tag, 0, p, bytes, &unused);
    return sys_status(err != TW_OK ? err : tw_graph_set_param(g, node, tag, p, bytes));
}

static uint32_t reset_node(tw_graph_t *g, uint32_t node, int preset, bool warm)
{
    tw_gauge_set(&g->nodes[node].touched, 1);
    if (preset > 0 && (g->nodes[node].desc->presets >> preset & 1u) == 0) {
        return sys_status(TW_E_PARAM_PRESET);
    }
    tw_graph_reset_node(g, node, preset, warm);
    return 0;
}

/* Commands that belong to the scheduler (RUN, STOP) are not a script's. */
static uint32_t node_held(tw_graph_t *g, uint32_t cmd, uint32_t node, tw_script_ctx_t *s)
{
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return reset_node(g, node, (int)tw_bits(cmd, TW_CMD_PRESET), tw_bits(cmd, TW_CMD_WARM));
    case TW_CMD_SET_PARAMETER:
        return set_param(g, node, tw_bits(cmd, TW_CMD_TAG), s);
    case TW_CMD_READ_PARAMETER:
        return read_param(g, node, tw_bits(cmd, TW_CMD_TAG), s);
    default:
        return sys_status(TW_E_UNSUPPORTED);
    }
}

/* BUSY: another instance runs the node just now. */
static uint32_t node_call(tw_graph_t *g, uint32_t cmd, uint32_t node, tw_script_ctx_t *s)
{
    const uint32_t held = mp_hold(g, g->nodes[node].pos, true);
    if (held == MP_BUSY) {
        return sys_status(TW_E_BUSY);
    }
    const uint32_t result = node_held(g, cmd, node, s);
    mp_drop(g, g->nodes[node].pos, held);
    return result;
}

static uint32_t sys_node(tw_graph_t *g, tw_script_ctx_t *s)
{
    const uint32_t cmd = (uint32_t)tw_script_reg_int(s, 0), node = sys_below(tw_script_reg_int(s, 1), g->n_nodes);
    return node == UINT32_MAX ? sys_status(TW_E_PARAM_NODE) : node_call(g, cmd, node, s);
}

static uint32_t read_arc(const tw_arc_t *a, tw_script_ctx_t *s)
{
    uint32_t bytes = 0;
    uint8_t *p = sys_buffer(s, 0, &bytes, true);
    if (p == NULL) {
        return sys_status(TW_E_SCR_BAD_PTR);
    }
    const uint32_t head = tw_arc_head(a);
    bytes = tw_min_u32(bytes, tw_arc_fill(a));
    memcpy(p, tw_arc_data(a), tw_min_u32(bytes, head));
    memcpy(p + tw_min_u32(bytes, head), a->buf, bytes - tw_min_u32(bytes, head)); /* where a ring folds */
    tw_script_set_int(s, 1, TW_T_U32, bytes);
    return 0;
}

static uint32_t write_arc(tw_graph_t *g, uint32_t arc, tw_script_ctx_t *s)
{
    uint32_t bytes = 0;
    const uint8_t *p = sys_buffer(s, 0, &bytes, false);
    if (p == NULL) {
        return sys_status(TW_E_SCR_BAD_PTR);
    }
    const uint32_t done = flow_write(g, arc, p, bytes);
    tw_script_set_int(s, 1, TW_T_U32, done);
    return done != 0 ? 0 : sys_status(TW_E_BUSY);
}

static uint32_t arc_held(tw_graph_t *g, int64_t op, uint32_t arc, tw_script_ctx_t *s)
{
    switch (op) {
    case ARC_READ:
        return read_arc(&g->arcs[arc], s);
    case ARC_WRITE:
        return write_arc(g, arc, s);
    case ARC_FILL:
        tw_script_set_int(s, 1, TW_T_U32, tw_arc_fill(&g->arcs[arc]));
        return 0;
    case ARC_CLEAR:
        tw_arc_clear(&g->arcs[arc]);
        sched_consumed(g, &g->arcs[arc]);
        return 0;
    case ARC_TIME:
        tw_script_set_int(s, 1, TW_T_U64, (int64_t)g->arcs[arc].stamp_us);
        return 0;
    default:
        return sys_status(TW_E_ARG);
    }
}

/* Both ends stand still meanwhile. */
static uint32_t arc_call(tw_graph_t *g, int64_t op, int64_t index, tw_script_ctx_t *s)
{
    const uint32_t arc = sys_below(index, g->n_arcs);
    if (arc == UINT32_MAX) {
        return sys_status(TW_E_ARC_NONE);
    }
    const tw_arc_t *a = &g->arcs[arc];
    const uint32_t from = mp_hold(g, a->from, false), to = from != MP_BUSY ? mp_hold(g, a->to, false) : MP_BUSY;
    const uint32_t result = to != MP_BUSY ? arc_held(g, op, arc, s) : sys_status(TW_E_BUSY);
    mp_drop(g, a->to, to);
    mp_drop(g, a->from, from);
    return result;
}

static uint32_t sys_time(tw_graph_t *g, tw_script_ctx_t *s)
{
    uint64_t t = 0;
    switch (tw_script_reg_int(s, 0)) {
    case CLOCK_US:
        t = g->env.port->now_us(g->env.port->ctx);
        break;
    case CLOCK_TICK:
        t = g->tick;
        break;
    case CLOCK_BLOCK_US:
        t = g->now_us;
        break;
    default:
        return sys_status(TW_E_ARG);
    }
    tw_script_set_int(s, 1, TW_T_U64, (int64_t)t);
    return 0;
}

static uint32_t sys_event(tw_graph_t *g, tw_script_ctx_t *s)
{
    uint32_t bytes = 0;
    const bool carries = tw_script_reg_int(s, 2) != 0;
    const uint8_t *p = carries ? sys_buffer(s, 0, &bytes, false) : NULL;
    if (carries && (p == NULL || bytes > EVENT_BYTES_MAX)) {
        return sys_status(TW_E_SCR_BAD_PTR);
    }
    const tw_graph_event_t ev = {.kind = TW_GEV_SCRIPT_EVENT,
                                 .at = (uint32_t)tw_script_reg_int(s, 0),
                                 .value = tw_script_reg_int(s, 1),
                                 .data = p,
                                 .bytes = bytes};
    return sys_tell(g, &ev);
}

static uint32_t sys_trace(tw_graph_t *g, const tw_script_ctx_t *s)
{
    uint8_t r2[8];
    tw_put_le64(r2, (uint64_t)tw_script_reg_int(s, 2));
    const tw_graph_event_t ev = {.kind = TW_GEV_TRACE,
                                 .at = (uint32_t)tw_script_reg_int(s, 0),
                                 .value = tw_script_reg_int(s, 1),
                                 .data = r2,
                                 .bytes = sizeof r2};
    return sys_tell(g, &ev);
}

/* Calls 32..38 take the object's id from the stack. */
static uint32_t sys_popped(tw_graph_t *g, uint32_t k, tw_script_ctx_t *s)
{
    int64_t id = 0;
    if (!tw_script_pop_int(s, &id)) {
        return sys_status(TW_E_SCR_STACK);
    }
    const uint32_t node = sys_below(id, g->n_nodes), tag = (uint32_t)tw_script_reg_int(s, 0);
    switch (k) {
    case SYS_READARC:
        return arc_call(g, ARC_READ, id, s);
    case SYS_WRITEARC:
        return arc_call(g, ARC_WRITE, id, s);
    case SYS_ARCFILL:
        return arc_call(g, ARC_FILL, id, s);
    case SYS_ARCTIME:
        return arc_call(g, ARC_TIME, id, s);
    default:
        break;
    }
    if (node == UINT32_MAX) {
        return sys_status(TW_E_PARAM_NODE);
    }
    if (k == SYS_RESETNODE) {
        const uint32_t held = mp_hold(g, g->nodes[node].pos, true);
        const uint32_t result = held != MP_BUSY ? reset_node(g, node, -1, false) : sys_status(TW_E_BUSY);
        mp_drop(g, g->nodes[node].pos, held);
        return result;
    }
    if (tag > TW_TAG_ALL) {
        return sys_status(TW_E_PARAM_INDEX);
    }
    const uint32_t cmd = k == SYS_READPARAM ? TW_CMD_READ_PARAMETER : TW_CMD_SET_PARAMETER;
    return node_call(g, cmd | tw_put_bits(tag, TW_LO(TW_CMD_TAG)), node, s);
}

static uint32_t on_syscall(void *ctx, uint32_t k, tw_script_ctx_t *s)
{
    tw_graph_t *g = ctx;
    switch ((sys_t)k) {
    case SYS_SCHED:
        return sys_sched(g, s);
    case SYS_NODE:
        return sys_node(g, s);
    case SYS_ARC:
        return arc_call(g, tw_script_reg_int(s, 0), tw_script_reg_int(s, 1), s);
    case SYS_APP:
        return sys_app(g, s);
    case SYS_IO:
        return sys_io(g, s);
    case SYS_TRACE:
        return sys_trace(g, s);
    case SYS_COMPUTE:
        return sys_compute(g, s);
    case SYS_LOW:
        return sys_low(g, s);
    case SYS_IDLE:
        return sys_idle(g, s);
    case SYS_TIME:
        return sys_time(g, s);
    case SYS_NPU:
        return sys_npu(g, s);
    case SYS_EVENT:
        return sys_event(g, s);
    case SYS_USECASE:
        return sys_usecase(g, s);
    case SYS_TIMER:
        return sys_timer(g, s);
    case SYS_GPIO:
        return sys_gpio(g, s);
    case SYS_LEVEL:
        return sys_level(g, s);
    case SYS_READPARAM:
    case SYS_SETPARAM:
    case SYS_READARC:
    case SYS_WRITEARC:
    case SYS_ARCFILL:
    case SYS_ARCTIME:
    case SYS_RESETNODE:
        return sys_popped(g, k, s);
    case SYS_DBGREG:
        return sys_dbgreg(g, s);
    }
    return sys_status(TW_E_UNSUPPORTED);
}

static uint32_t on_callapp(void *ctx, uint32_t k, tw_script_ctx_t *s)
{
    return sys_callapp(ctx, k, s);
}

static const tw_script_t *on_script(void *ctx, uint32_t k)
{
    const tw_graph_t *g = ctx;
    return k < g->n_scripts && tw_gauge_get(&g->scripts[k].disabled) == 0 ? &g->scripts[k].code : NULL;
}

void script_init(tw_graph_t *g)
{
    g->script_host = (tw_script_host_t){.ctx = g,
                                        .syscall = on_syscall,
                                        .callapp = on_callapp,
                                        .script = on_script,
                                        .privileged = g->env.board->low != NULL};
    compute_init(g);
}
