/* graph_task.c - debug tasks of arcs: figures about what passes, in 64-bit registers of 16 a page (S0:L1629).
 *
 * A task runs when data are written to its arc and costs what it looks at: the counting ones a few instructions, those
 * of samples one conversion a sample. What passes is never changed; registers are all they write.
 */
#include "engine/graph/graph_priv.h"
#include "engine/node/convert.h"

enum {
    TASK_COUNT = 1,
    TASK_CLEAR = 2,
    TASK_SET = 3,
    TASK_INCREMENT = 4,
    TASK_NONE = 5,
    TASK_CALL = 6,
    TASK_CALL_FRAME = 7,
    TASK_RATE = 8,
    TASK_TIME = 9,
    TASK_PEAK = 10,
    TASK_MEAN = 11,
    TASK_MIN = 12,
    TASK_ABS_MIN = 13,
    TASK_ABS_MEAN = 14,
    TASK_REWIND = 15,
};
#define RATE_WINDOW_US 100000u

struct tw_arc_task {
    uint8_t cmd, forget; /* of what was: 1/2^(4 forget) at each write, 0 nothing; of codes 2 and 3: the bit */
    bool fresh;
    uint32_t reg;
    uint64_t since_us;
    uint32_t bytes; /* since then */
    double value;
};

/* ---- registers --------------------------------------------------------------------- */

static void put(tw_graph_t *g, uint32_t reg, uint64_t v)
{
    tw_graph_register_t *r = &g->registers[reg];
    const uint32_t seq = tw_gauge_get(&r->seq);
    tw_gauge_set(&r->seq, seq + 1);
    atomic_store_explicit(&r->lo, (uint32_t)v, memory_order_release);
    atomic_store_explicit(&r->hi, (uint32_t)(v >> 32), memory_order_release);
    atomic_store_explicit(&r->seq, seq + 2, memory_order_release);
}

static uint64_t get(const tw_graph_t *g, uint32_t reg)
{
    return (uint64_t)tw_gauge_get(&g->registers[reg].hi) << 32 | tw_gauge_get(&g->registers[reg].lo);
}

bool tw_graph_register(const tw_graph_t *g, uint32_t reg, uint64_t *value)
{
    if (reg >= g->n_registers) {
        return false;
    }
    const tw_graph_register_t *r = &g->registers[reg];
    for (uint32_t tries = 0; tries < 8; tries++) {
        const uint32_t seq = atomic_load_explicit(&r->seq, memory_order_acquire);
        const uint32_t lo = atomic_load_explicit(&r->lo, memory_order_acquire),
                       hi = atomic_load_explicit(&r->hi, memory_order_acquire);
        *value = (uint64_t)hi << 32 | lo;
        if (seq % 2 == 0 && tw_gauge_get(&r->seq) == seq) {
            break; /* else it changes all the time: the last look is as good as any */
        }
    }
    return true;
}

void task_register_put(tw_graph_t *g, uint32_t reg, uint64_t value)
{
    put(g, reg, value);
}

bool task_register_real(const tw_graph_t *g, uint32_t reg)
{
    bool real = false;
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        const struct tw_arc_task *t = g->arcs[i].task;
        real = real || (t != NULL && t->reg == reg && t->cmd >= TASK_PEAK && t->cmd <= TASK_ABS_MEAN);
    }
    return real;
}

static void put_number(tw_graph_t *g, uint32_t reg, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(g, reg, bits);
}

/* ---- samples ----------------------------------------------------------------------- */

/* A complex sample is two numbers. */
static uint32_t number_type(const tw_format_t *f)
{
    return f->raw == TW_RAW_CQ15 ? (uint32_t)TW_RAW_Q15 : f->raw == TW_RAW_CFP32 ? (uint32_t)TW_RAW_FP32 : f->raw;
}

typedef struct figures {
    double peak, min, abs_min, sum, abs_sum;
    uint32_t n;
} figures_t;

static figures_t look(uint32_t raw, const uint8_t *data, uint32_t bytes)
{
    figures_t s = {0};
    const uint32_t n = (uint32_t)((uint64_t)bytes * 8 / tw_raw_bits(raw));
    for (uint32_t k = 0; k < n; k++) {
        double v = 0;
        tw_convert_load(raw, data, k, 1, 1, &v);
        const double size = v < 0 ? -v : v;
        s.peak = s.n == 0 || size > s.peak ? size : s.peak;
        s.min = s.n == 0 || v < s.min ? v : s.min;
        s.abs_min = s.n == 0 || size < s.abs_min ? size : s.abs_min;
        s.sum += v;
        s.abs_sum += size;
        s.n++;
    }
    return s;
}

/* Old and new: an extreme stays until it is forgotten or passed, a mean is of this write or glides. */
static double joined(const struct tw_arc_task *t, const figures_t *s)
{
    const double keep = t->forget == 0 ? 0 : 1.0 / (double)(1u << 4u * t->forget), old = t->value;
    const double now = t->cmd == TASK_MEAN       ? s->sum / s->n
                       : t->cmd == TASK_ABS_MEAN ? s->abs_sum / s->n
                       : t->cmd == TASK_PEAK     ? s->peak
                       : t->cmd == TASK_MIN      ? s->min
                                                 : s->abs_min;
    if (t->fresh) {
        return now;
    }
    if (t->cmd == TASK_MEAN || t->cmd == TASK_ABS_MEAN) {
        return t->forget == 0 ? now : old + (now - old) * keep;
    }
    const bool further = t->cmd == TASK_PEAK ? now > old : now < old;
    return further ? now : old + (now - old) * keep;
}

static void samples_task(tw_graph_t *g, const tw_format_t *f, struct tw_arc_task *t, const uint8_t *data,
                         uint32_t bytes)
{
    const uint32_t stamp = tw_format_stamp(f);
    if (!tw_convert_numeric(number_type(f)) || bytes <= stamp) {
        return;
    }
    const figures_t s = look(number_type(f), data + stamp, bytes - stamp);
    if (s.n != 0) {
        t->value = joined(t, &s);
        t->fresh = false;
        put_number(g, t->reg, t->value);
    }
}

/* ---- what is told and counted --------------------------------------------------------- */

static void rate_task(tw_graph_t *g, struct tw_arc_task *t, uint32_t bytes)
{
    if (t->fresh || g->now_us < t->since_us) {
        t->since_us = g->now_us;
        t->bytes = 0;
        t->fresh = false;
    }
    t->bytes += bytes;
    const uint64_t us = g->now_us - t->since_us;
    if (us >= RATE_WINDOW_US) {
        put(g, t->reg, (uint64_t)t->bytes * 1000000u / us);
        t->since_us = g->now_us;
        t->bytes = 0;
    }
}

static void tell(tw_graph_t *g, const tw_arc_t *a, const struct tw_arc_task *t, const uint8_t *data, uint32_t bytes)
{
    const uint32_t arc = (uint32_t)(a - g->arcs);
    const tw_graph_event_t ev = {.kind = TW_GEV_APP,
                                 .at = arc,
                                 .value = (int64_t)get(g, t->reg),
                                 .data = t->cmd == TASK_CALL_FRAME ? data : NULL,
                                 .bytes = t->cmd == TASK_CALL_FRAME ? tw_min_u32(bytes, 128) : 0};
    if (g->env.host.event != NULL) {
        g->env.host.event(g->env.host.ctx, &ev);
    }
}

static uint32_t samples_in(const tw_format_t *f, uint32_t bytes)
{
    return f->frame_bytes == 0 ? 0 : (uint32_t)((uint64_t)bytes * f->samples / f->frame_bytes);
}

void task_wrote(tw_graph_t *g, tw_arc_t *a, const uint8_t *data, uint32_t bytes)
{
    struct tw_arc_task *t = a->task;
    const tw_format_t *f = &g->formats[tw_graph_arc_format(g, (uint32_t)(a - g->arcs), false)];
    const uint64_t now = get(g, t->reg);
    switch (t->cmd) {
    case TASK_COUNT:
        put(g, t->reg, now + samples_in(f, bytes));
        break;
    case TASK_CLEAR:
        put(g, t->reg, now & ~((uint64_t)1 << t->forget));
        break;
    case TASK_SET:
        put(g, t->reg, now | (uint64_t)1 << t->forget);
        break;
    case TASK_INCREMENT:
        put(g, t->reg, now + 1);
        break;
    case TASK_CALL:
    case TASK_CALL_FRAME:
        put(g, t->reg, now + 1);
        tell(g, a, t, data, bytes);
        break;
    case TASK_RATE:
        rate_task(g, t, bytes);
        break;
    case TASK_TIME:
        put(g, t->reg, g->now_us);
        break;
    case TASK_NONE:
    case TASK_REWIND: /* task_block() */
        break;
    default:
        samples_task(g, f, t, data, bytes);
        break;
    }
}

/* What was read to its end is there again, once a block: an arc as a loop of what it held at RESET. */
void task_block(tw_graph_t *g)
{
    for (uint32_t i = 0; g->rewinds != 0 && i < g->n_arcs; i++) {
        tw_arc_t *a = &g->arcs[i];
        const bool ends = a->task != NULL && a->task->cmd == TASK_REWIND && tw_arc_fill(a) == 0;
        if (ends && a->type < TW_ARC_MODULO && a->shares == NULL && tw_gauge_get(&a->read) != 0) {
            tw_gauge_set(&a->read, 0);
            put(g, a->task->reg, get(g, a->task->reg) + 1);
        }
    }
}

/* ---- at load --------------------------------------------------------------------------- */

static uint32_t cmd_of(const tw_graph_t *g, uint32_t arc)
{
    return tw_bits(tw_img_word(g->img, tw_img_arc(g->img, arc), 4), TW_A4_DEBUG_CMD);
}

bool task_take(tw_graph_t *g, tw_arena_t *arena, uint64_t *missing)
{
    uint32_t tasks = 0;
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        tasks += cmd_of(g, i) != 0;
    }
    g->n_registers = tw_bits(tw_img_word(g->img, 0, TW_W_COUNTS3), TW_W14_REGISTERS);
    const size_t bytes = g->n_registers * sizeof(tw_graph_register_t), more = tasks * sizeof(struct tw_arc_task);
    g->registers = tw_arena_take(arena, bytes, _Alignof(tw_graph_register_t));
    struct tw_arc_task *t = tw_arena_take(arena, more, _Alignof(struct tw_arc_task));
    *missing += (g->registers == NULL ? bytes : 0) + (t == NULL ? more : 0);
    if (g->registers == NULL || t == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        const uint32_t cmd = cmd_of(g, i), at = tw_img_arc(g->img, i);
        const uint32_t reg = tw_bits(tw_img_word(g->img, at, 4), TW_A4_DEBUG_REG);
        if (cmd != 0 && reg < g->n_registers) { /* checked; a figure without a register is none */
            *t = (struct tw_arc_task){.cmd = cmd & 15u, .forget = (uint8_t)(cmd >> 4), .reg = reg};
            if (t->cmd == TASK_REWIND) { /* what it held stays where it is, and nothing is written over it */
                g->rewinds++;
                g->arcs[i].pins = g->arcs[i].pinned = g->arcs[i].special = true;
            }
            g->arcs[i].task = t++;
        }
    }
    return true;
}

void task_reset(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_registers; i++) {
        put(g, i, 0);
    }
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        if (g->arcs[i].task != NULL) {
            g->arcs[i].task->fresh = true;
        }
    }
}
