/* graphc_figures.c - sums over the finished model, for both reports. Changes nothing. */
#include "host_tools/graphc/report/graphc_report.h"

/* ---- arcs ------------------------------------------------------------------------------- */

double g_arc_rate(const g_model_t *m, const g_arc_t *a)
{
    const g_format_t *f = &m->formats[a->from.format];
    return a->lock || f->samples == 0 ? 0 : f->rate * f->frame_bytes / f->samples;
}

/* Frames of different length meet again after their least common multiple: the size that never waits. */
uint64_t g_arc_lcm(const g_model_t *m, const g_arc_t *a)
{
    const uint64_t from = m->formats[a->from.format].frame_bytes, to = m->formats[a->to.format].frame_bytes;
    uint64_t x = from, y = to;
    while (y != 0) {
        const uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > 0 ? from / x * to : 0;
}

const char *g_arc_end_name(const g_model_t *m, const g_arc_t *a, bool to)
{
    const uint32_t node = to ? a->to.node : a->from.node;
    return node == G_IO ? (a->kind == G_ARC_CONSTANT ? "constant" : m->ios[a->io].symbol) : m->nodes[node].name;
}

/* ---- banks -------------------------------------------------------------------------------- */

static void use_of_nodes(const g_model_t *m, uint8_t vid, g_use_t *u)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        for (unsigned k = 0; k < n->manifest->n_mem; k++) {
            const bool copied = (n->copied >> k & 1u) != 0;
            const bool shared = n->manifest->mem[k].type == 1 && n->block_at[k] >= u->used;
            const bool staged = (n->staged >> k & 1u) != 0; /* its copy is in a thread's scratch */
            u->copies += copied && !staged && n->block_vid[k] == vid ? n->block_bytes[k] : 0;
            u->blocks += n->block_vid[k] == vid && !copied && !shared ? n->block_bytes[k] : 0;
            u->blocks += copied && n->block_home[k] == vid ? n->block_bytes[k] : 0;
        }
    }
}

g_use_t g_bank_use(const g_model_t *m, uint32_t i)
{
    const g_bank_t *b = &m->banks[i];
    const uint8_t vid = b->manifest->vid;
    g_use_t u = {.used = b->fixed}; /* what begins behind the static bytes is overlaid scratch */
    use_of_nodes(m, vid, &u);
    for (uint32_t k = 0; k < m->n_arcs; k++) {
        const g_arc_t *a = &m->arcs[k];
        u.arcs += a->bank == vid && a->shared == 0 ? a->bytes : 0;
        u.saved += a->bank == vid && a->shared != 0 ? a->bytes : 0;
        u.traffic += a->bank == vid ? 2 * g_arc_rate(m, a) : 0; /* written and read */
    }
    for (uint32_t k = 0; k < m->n_ios; k++) {
        const g_io_t *io = &m->ios[k];
        const bool here = io->buffer_bytes > 0 && io->buffer_vid == vid;
        u.ios += here ? io->buffer_bytes : 0;
        u.traffic += here ? 2 * g_arc_rate(m, &m->arcs[io->arc]) : 0; /* the copy between buffer and arc */
    }
    const uint64_t known = u.blocks + u.copies + u.arcs + u.ios;
    u.scratch = b->working;
    u.padding = b->fixed > known ? b->fixed - known : 0;
    u.state = vid == m->control.map_vid ? m->state_bytes : 0;
    u.used = (uint64_t)b->fixed + b->working + u.state;
    u.free = b->manifest->bytes > u.used ? b->manifest->bytes - u.used : 0;
    return u;
}

uint32_t g_scope_nodes(const g_model_t *m, uint32_t scope)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        n += m->nodes[i].scope == scope;
    }
    return n;
}
