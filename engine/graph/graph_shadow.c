/* graph_shadow.c - see graph_shadow.h.
 *
 *   memory of a shadow: the node's blocks, then a place for each transmit arc as large as the arc's buffer,
 *                       then saved parameters and the largest value
 */
#include "engine/graph/graph_shadow.h"
#include "engine/base/fixed.h"
#include "engine/graph/graph_carry.h"
#include "engine/graph/graph_priv.h"

enum { PLACE = 64 };

static uint32_t up(uint32_t bytes)
{
    return tw_round_up(bytes, PLACE);
}

bool node_has_effects(const tw_node_desc_t *d)
{
    return node_is(d, "arm_stream_script") || node_is(d, "arm_stream_infer") || control_steers(d);
}

tw_err_t tw_shadow_need(const tw_graph_t *g, uint32_t node, uint32_t *bytes)
{
    const tw_graph_node_t *n = &g->nodes[node];
    tw_node_reset_t r;
    uint64_t need = 0;
    *bytes = 0;
    if (n->own_script >= 0 || n->tx == 0 || node_has_effects(n->desc)) {
        return TW_E_UNSUPPORTED;
    }
    node_memory(g, node, &r);
    for (uint32_t i = 0; i < TW_MAX_NODE_MEM; i++) {
        need += up(r.mem_bytes[i]);
    }
    for (uint32_t i = n->rx; i < (uint32_t)n->rx + n->tx; i++) {
        need += up(g->arcs[n->refs[i].arc].size);
    }
    need += 2 * (uint64_t)up(tw_graph_params_bytes(n));
    *bytes = need < UINT32_MAX ? (uint32_t)need : UINT32_MAX;
    return TW_OK;
}

/* ---- begin and end --------------------------------------------------------------------- */

typedef struct lent {
    void *inst;
    struct tw_graph_stage *stage;
} lent_t;

/* Parameter functions speak to the node's instance: let that be the shadow's for a moment. */
static lent_t lend(tw_graph_t *g, const tw_shadow_t *s)
{
    tw_graph_node_t *n = &g->nodes[s->node];
    const lent_t own = {n->inst, n->stage};
    n->inst = s->inst;
    n->stage = NULL;
    return own;
}

static void give_back(tw_graph_t *g, const tw_shadow_t *s, lent_t own)
{
    g->nodes[s->node].inst = own.inst;
    g->nodes[s->node].stage = own.stage;
}

/* The blocks as they are, then a warm RESET: pointers between them are the shadow's, what the signal left stays. */
static tw_err_t copy_instance(tw_graph_t *g, tw_shadow_t *s, uint32_t *used)
{
    const tw_graph_node_t *n = &g->nodes[s->node];
    tw_node_reset_t r;
    uint32_t at = 0, state = 0;
    node_memory(g, s->node, &r);
    for (uint32_t i = 0; i < TW_MAX_NODE_MEM; i++) {
        if (r.mem_bytes[i] != 0) {
            memcpy(s->mem + at, r.mem[i], r.mem_bytes[i]);
        }
        r.mem[i] = r.mem[i] != NULL ? s->mem + at : NULL;
        at += up(r.mem_bytes[i]);
    }
    s->inst = r.mem[0];
    tw_xdm_t data = {.ptr = &r, .bytes = sizeof r};
    const uint32_t cmd =
        TW_CMD_RESET | tw_put_bits(1, TW_LO(TW_CMD_WARM)) | tw_put_bits(n->preset, TW_LO(TW_CMD_PRESET)) | n->command;
    const uint32_t err = n->desc->run(cmd, s->inst, &data, &state);
    *used = at;
    return (tw_err_t)(-(int32_t)(err & 0xFFFFu));
}

static void place_outputs(const tw_graph_t *g, tw_shadow_t *s, uint32_t *at)
{
    const tw_graph_node_t *n = &g->nodes[s->node];
    for (uint32_t i = n->rx; i < (uint32_t)n->rx + n->tx; i++) {
        s->x[i].ptr = s->mem + *at;
        *at += up(g->arcs[n->refs[i].arc].size);
    }
}

tw_err_t tw_shadow_start(tw_graph_t *g, tw_shadow_t *s)
{
    uint32_t at;
    TW_TRY(copy_instance(g, s, &at));
    place_outputs(g, s, &at);
    const uint32_t room = up(tw_graph_params_bytes(&g->nodes[s->node]));
    const uint32_t bytes = tw_graph_save_params(g, s->node, s->mem + at);
    const lent_t own = lend(g, s);
    tw_graph_restore_params(g, s->node, s->mem + at, bytes, s->mem + at + room);
    give_back(g, s, own);
    memset(&s->sums, 0, sizeof s->sums);
    s->ran = false;
    s->next = g->shadows;
    g->shadows = s;
    tw_graph_bind(g, s->node);
    return TW_OK;
}

tw_err_t tw_shadow_set(tw_graph_t *g, tw_shadow_t *s, uint32_t tag, const uint8_t *value, uint32_t bytes)
{
    const lent_t own = lend(g, s);
    const tw_err_t err = tw_graph_set_param(g, s->node, tag, value, bytes);
    give_back(g, s, own);
    return err;
}

void tw_shadow_stop(tw_graph_t *g, tw_shadow_t *s)
{
    for (tw_shadow_t **at = &g->shadows; *at != NULL; at = &(*at)->next) {
        if (*at == s) {
            const tw_graph_node_t *n = &g->nodes[s->node];
            uint32_t state = 0;
            tw_xdm_t none = {0};
            *at = s->next;
            (void)n->desc->run(TW_CMD_STOP | n->command, s->inst, &none, &state);
            tw_graph_bind(g, s->node);
            return;
        }
    }
}

/* ---- around the RUN ----------------------------------------------------------------------- */

static void run_shadow(tw_graph_t *g, tw_shadow_t *s, const tw_xdm_t *given)
{
    const tw_graph_node_t *n = &g->nodes[s->node];
    uint32_t state = TW_NODE_DONE;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        void *own = s->x[i].ptr;
        s->x[i] = given[i];
        s->x[i].ptr = i < n->rx ? given[i].ptr : own;
    }
    s->ran = true;
    s->sums.errors += n->desc->run(TW_CMD_RUN | n->command, s->inst, s->x, &state) != 0;
}

void shadow_before(tw_graph_t *g, uint32_t node, const tw_xdm_t *given)
{
    for (tw_shadow_t *s = g->shadows; s != NULL; s = s->next) {
        if (s->node == node) {
            run_shadow(g, s, given);
        }
    }
}

/* ---- comparing ------------------------------------------------------------------------------ */

static double sample(uint32_t raw, const uint8_t *p)
{
    double d;
    uint64_t u;
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
        return (int8_t)p[0] / 128.0;
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return (int16_t)tw_get_le16(p) / 32768.0;
    case TW_RAW_S32:
    case TW_RAW_Q31:
        return (int32_t)tw_get_le32(p) / 2147483648.0;
    case TW_RAW_FP32:
        return (double)tw_get_f32(p);
    case TW_RAW_FP64:
        u = tw_get_le64(p);
        memcpy(&d, &u, sizeof d);
        return d;
    default: /* bytes of anything else are at least the same or not */
        return p[0] / 256.0;
    }
}

static uint32_t step_of(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return 2;
    case TW_RAW_S32:
    case TW_RAW_Q31:
    case TW_RAW_FP32:
        return 4;
    case TW_RAW_FP64:
        return 8;
    default:
        return 1;
    }
}

static double larger(double most, double v)
{
    const double a = v < 0 ? -v : v;
    return a > most ? a : most;
}

static void add(tw_shadow_sums_t *m, double a, double b)
{
    const double d = b - a;
    if (d - d != 0) { /* NaN or infinite in either */
        m->not_numbers++;
        return;
    }
    m->samples++;
    m->diff2 += d * d;
    m->node2 += a * a;
    m->shadow2 += b * b;
    m->product += a * b;
    m->node += a;
    m->shadow += b;
    m->diff_max = larger(m->diff_max, d);
    m->node_peak = larger(m->node_peak, a);
    m->shadow_peak = larger(m->shadow_peak, b);
}

static void compare(tw_shadow_t *s, uint32_t raw, const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
    const uint32_t step = step_of(raw);
    for (uint32_t at = 0; at + step <= bytes; at += step) {
        if (s->skip != 0) {
            s->skip--;
        } else {
            add(&s->sums, sample(raw, a + at), sample(raw, b + at));
        }
    }
}

static void compare_run(const tw_graph_t *g, tw_shadow_t *s, const tw_xdm_t *x)
{
    const tw_graph_node_t *n = &g->nodes[s->node];
    bool equal = true;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        equal &= n->refs[i].lock != 0 || x[i].bytes == s->x[i].bytes;
        if (i >= n->rx && n->refs[i].lock == 0) {
            const tw_format_t *f = &g->formats[tw_graph_arc_format(g, n->refs[i].arc, false)];
            compare(s, f->raw, x[i].ptr, s->x[i].ptr, tw_min_u32(x[i].bytes, s->x[i].bytes));
        }
    }
    s->ran = false;
    s->sums.runs++;
    s->sums.unequal += !equal;
}

void shadow_after(tw_graph_t *g, uint32_t node, const tw_xdm_t *x)
{
    for (tw_shadow_t *s = g->shadows; s != NULL; s = s->next) {
        if (s->node == node && s->ran) {
            compare_run(g, s, x);
        }
    }
}

double tw_shadow_correlation(const tw_shadow_sums_t *m)
{
    const double n = (double)m->samples;
    const double aa = n * m->node2 - m->node * m->node, bb = n * m->shadow2 - m->shadow * m->shadow;
    if (!(aa > 0) || !(bb > 0)) {
        return 0;
    }
    const double root = (double)tw_sqrtf((float)(aa / n / n)) * (double)tw_sqrtf((float)(bb / n / n));
    const double c = root > 0 ? (n * m->product - m->node * m->shadow) / n / n / root : 0;
    return c > 1 ? 1 : c < -1 ? -1 : c;
}
