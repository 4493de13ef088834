/* graph_sys_signal.c - system calls about numbers: functions of windows, levels of arcs, debug registers. */
#include "engine/graph/graph_sys_priv.h"
#include "engine/node/convert.h"
#include "engine/node/services.h"

enum { LEVEL_PEAK = 0, LEVEL_RMS = 1, LEVEL_MEAN = 2 };
enum { LEVEL_SAMPLES = 4096, CHUNK = 32 }; /* newest ones that are looked at */
enum { REG_READ = 0, REG_WRITE = 1 };

/* ---- compute ---------------------------------------------------------------------- */

uint32_t sys_compute(tw_graph_t *g, tw_script_ctx_t *s)
{
    return sys_status(tw_script_compute(&g->compute, s));
}

void compute_init(tw_graph_t *g)
{
    const tw_library_t *l = g->svc.lib, *p = &tw_library_portable;
    g->compute.math = (tw_script_math_t){
        .sqrt = l->sqrt != NULL ? l->sqrt : p->sqrt,
        .log = l->log != NULL ? l->log : p->log,
        .exp = l->exp != NULL ? l->exp : p->exp,
        .sin = l->sin != NULL ? l->sin : p->sin,
        .cos = l->cos != NULL ? l->cos : p->cos,
        .atan2 = l->atan2 != NULL ? l->atan2 : p->atan2,
        .pow = l->pow != NULL ? l->pow : p->pow,
        .rand = l->rand != NULL ? l->rand : p->rand,
    };
}

/* ---- levels --------------------------------------------------------------------------- */

typedef struct sums {
    double peak, sum, squares;
    uint32_t n;
} sums_t;

static void add(sums_t *k, uint32_t raw, const uint8_t *data, uint32_t samples)
{
    double x[CHUNK];
    for (uint32_t at = 0; at < samples; at += CHUNK) {
        const uint32_t n = tw_min_u32(CHUNK, samples - at);
        tw_convert_load(raw, data, at, 1, n, x);
        for (uint32_t i = 0; i < n; i++) {
            const double size = x[i] < 0 ? -x[i] : x[i];
            k->peak = size > k->peak ? size : k->peak;
            k->sum += x[i];
            k->squares += x[i] * x[i];
        }
    }
    k->n += samples;
}

/* A complex sample is two numbers. */
static uint32_t number_type(const tw_format_t *f)
{
    return f->raw == TW_RAW_CQ15 ? (uint32_t)TW_RAW_Q15 : f->raw == TW_RAW_CFP32 ? (uint32_t)TW_RAW_FP32 : f->raw;
}

/* Bytes that lie before the write index: what waits or, when nothing does, the last frame that passed. */
static uint32_t newest(const tw_arc_t *a)
{
    const bool first = a->shares != NULL && !a->second;
    const uint32_t known = first ? tw_arc_fill(a) : a->type == TW_ARC_MODULO ? a->size : tw_gauge_get(&a->write);
    const uint32_t fill = tw_arc_fill(a);
    return tw_arc_whole(tw_min_u32(fill != 0 ? fill : a->in_frame, known), a->in_frame);
}

/* Frame by frame from the newest back: a stamp in front of each is no sample, and a ring folds between two. */
static tw_err_t look(const tw_graph_t *g, uint32_t arc, sums_t *k)
{
    const tw_arc_t *a = &g->arcs[arc];
    const tw_format_t *f = &g->formats[tw_graph_arc_format(g, arc, false)];
    const uint32_t raw = number_type(f), stamp = tw_format_stamp(f), bits = tw_raw_bits(raw);
    if (!tw_convert_numeric(raw) || stamp >= a->in_frame) {
        return TW_E_UNSUPPORTED;
    }
    const uint32_t each = (uint32_t)((uint64_t)(a->in_frame - stamp) * 8u / bits);
    uint32_t left = newest(a), end = tw_arc_write_at(a);
    for (; left != 0 && k->n < LEVEL_SAMPLES; left -= a->in_frame) {
        if (end < a->in_frame && end != 0) {
            return TW_E_UNSUPPORTED; /* a ring that is not of whole frames: no frame lies in a row there */
        }
        end = (end != 0 ? end : a->size) - a->in_frame;
        add(k, raw, a->buf + end + stamp, tw_min_u32(each, LEVEL_SAMPLES - k->n));
    }
    return TW_OK;
}

uint32_t sys_level(tw_graph_t *g, tw_script_ctx_t *s)
{
    const uint32_t arc = sys_below(tw_script_reg_int(s, 1), g->n_arcs);
    const int64_t what = tw_script_reg_int(s, 0);
    if (what < LEVEL_PEAK || what > LEVEL_MEAN || arc == UINT32_MAX) {
        return sys_status(arc == UINT32_MAX ? TW_E_ARC_NONE : TW_E_ARG);
    }
    sums_t k = {0};
    const uint32_t held = mp_hold(g, g->arcs[arc].from, false);
    if (held == MP_BUSY) {
        return sys_status(TW_E_BUSY);
    }
    const tw_err_t err = look(g, arc, &k);
    mp_drop(g, g->arcs[arc].from, held);
    if (err == TW_OK) {
        const double n = k.n != 0 ? k.n : 1;
        const double v = what == LEVEL_PEAK  ? k.peak
                         : what == LEVEL_RMS ? g->compute.math.sqrt(k.squares / n)
                                             : k.sum / n;
        tw_script_set_real(s, 1, TW_T_FP32, v);
    }
    return sys_status(err);
}

/* ---- debug registers --------------------------------------------------------------------- */

uint32_t sys_dbgreg(tw_graph_t *g, tw_script_ctx_t *s)
{
    const uint32_t reg = sys_below(tw_script_reg_int(s, 0), g->n_registers);
    const int64_t op = tw_script_reg_int(s, 2);
    uint64_t value = 0;
    if (op != REG_READ && op != REG_WRITE) {
        return sys_status(TW_E_ARG);
    }
    if (reg == UINT32_MAX) {
        return sys_status(TW_E_NOT_FOUND);
    }
    if (op == REG_WRITE) {
        task_register_put(g, reg, tw_script_reg_bits(s, 1));
        return 0;
    }
    (void)tw_graph_register(g, reg, &value);
    if (task_register_real(g, reg)) {
        double v;
        memcpy(&v, &value, sizeof v);
        tw_script_set_real(s, 1, TW_T_FP64, v);
    } else {
        tw_script_set_int(s, 1, TW_T_U64, (int64_t)value);
    }
    return 0;
}
