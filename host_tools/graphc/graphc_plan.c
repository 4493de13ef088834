/* graphc_plan.c - addresses: which bytes where. Knows no word of the image.
 *
 * A bank as the device lays it out (offsets are what the image carries):
 *
 *   0                        b1                          b1 + b2
 *   | blocks, IO and arc buffers | working memory, overlaid |      b1 a multiple of 16 if b2 > 0
 *
 * Working memory is scratch during one run. Nodes of the same processor and
 * thread never run at the same time, so theirs begins at one base; each other
 * thread has a base of its own. A part split off with memory_mapping is laid
 * out the same way inside its range and counts as static bytes of its bank.
 */
#include "host_tools/graphc/graphc_middle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory --------------------------------------------------------------------- */

#define THREADS 32u /* processor 0..7 x rtos 0..3 */

/* A bank or a part of one, while it is being filled. Sizes are 64-bit so that sums cannot wrap. */
typedef struct region {
    const g_map_t *map; /* NULL: a whole bank */
    const tw_bank_manifest_t *bank;
    uint64_t base, limit, fixed, working;
    uint64_t thread[THREADS]; /* working bytes of each thread */
    uint64_t thread_base[THREADS];
} region_t;

typedef struct plan {
    g_model_t *m;
    region_t *regions;
    uint32_t n_regions;
    uint8_t of_vid[256]; /* VID to region + 1, 0 none */
} plan_t;

static bool add_region(plan_t *p, uint8_t vid, const region_t *r)
{
    if (p->of_vid[vid] != 0 || p->n_regions >= 255) {
        return false;
    }
    p->regions[p->n_regions++] = *r;
    p->of_vid[vid] = (uint8_t)p->n_regions;
    return true;
}

static bool open_regions(plan_t *p)
{
    g_model_t *m = p->m;
    const tw_platform_t *x = m->platform;
    p->regions = calloc(x->n_banks + m->n_maps + 1, sizeof *p->regions);
    if (p->regions == NULL) {
        return false;
    }
    for (unsigned i = 0; i < x->n_banks; i++) {
        (void)add_region(p, x->banks[i].vid, &(region_t){.bank = &x->banks[i], .limit = x->banks[i].bytes});
    }
    for (uint32_t i = 0; i < m->n_maps; i++) {
        const g_map_t *map = &m->maps[i];
        const uint8_t of = p->of_vid[map->orig];
        if (of == 0 || p->regions[of - 1].map != NULL) {
            g_error(m, &map->pos, "memory_mapping: the platform has no bank %u", map->orig);
            continue;
        }
        const tw_bank_manifest_t *bank = p->regions[of - 1].bank;
        if (!tw_inside(map->start, map->bytes, bank->bytes)) {
            g_error(m, &map->pos, "memory_mapping: bytes %u..%llu are not inside bank %u of %u bytes", map->start,
                    (unsigned long long)map->start + map->bytes, bank->vid, bank->bytes);
        } else if (!add_region(p, map->vid,
                               &(region_t){.map = map,
                                           .bank = bank,
                                           .base = tw_round_up(map->start, 16),
                                           .limit = (uint64_t)map->start + map->bytes})) {
            g_error(m, &map->pos, "memory_mapping: VID %u is in use", map->vid);
        }
    }
    return true;
}

static region_t *region(plan_t *p, const g_pos_t *pos, uint8_t vid)
{
    if (p->of_vid[vid] == 0) {
        g_error(p->m, pos, "the platform has no bank %u", vid);
        return NULL;
    }
    return &p->regions[p->of_vid[vid] - 1];
}

static uint64_t take_bytes(uint64_t *used, uint64_t base, uint64_t bytes, uint32_t align)
{
    const uint64_t at = (base + *used + align - 1) & ~(uint64_t)(align - 1);
    *used = at + bytes - base;
    return at;
}

static bool fits(plan_t *p, const g_pos_t *pos, const region_t *r, uint64_t used)
{
    if (r->base + used > r->limit) {
        g_error(p->m, pos, "bank %u is full: %llu of %llu bytes", r->map != NULL ? r->map->vid : r->bank->vid,
                (unsigned long long)used, (unsigned long long)(r->limit > r->base ? r->limit - r->base : 0));
    }
    return r->base + used <= r->limit;
}

/* Place bytes for good. The address is from the bank's start. */
static bool place_fixed(plan_t *p, const g_pos_t *pos, uint8_t vid, uint64_t bytes, uint32_t align, uint32_t *at,
                        uint8_t *bank)
{
    region_t *r = region(p, pos, vid);
    if (r == NULL) {
        return false;
    }
    const uint64_t got = take_bytes(&r->fixed, r->base, bytes, align);
    if (!fits(p, pos, r, r->fixed)) {
        return false;
    }
    *at = (uint32_t)got;
    *bank = r->bank->vid;
    return true;
}

/* Format at a port of the manifest; that of the first arc where the port is not in use. */
static const g_format_t *format_of_arc(const g_model_t *m, const g_node_t *n, unsigned port)
{
    const tw_node_manifest_t *x = n->manifest;
    uint32_t slot = port < (unsigned)(x->rx + x->tx) ? g_slot_of(x, port) : 0;
    const bool tx = slot >= x->rx;
    const uint32_t k = tx ? slot - x->rx : slot;
    slot = k < (tx ? n->tx : n->rx) ? k + (tx ? n->rx : 0) : 0;
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    return &m->formats[slot < n->rx ? a->to.format : a->from.format];
}

/* A + B channels + C rate + D frame + E, rounded up to the alignment. 0 = formula too large. */
static uint64_t block_bytes(const g_model_t *m, const g_node_t *n, const tw_node_mem_manifest_t *x, uint32_t e)
{
    const g_format_t *b = format_of_arc(m, n, x->b_arc), *c = format_of_arc(m, n, x->c_arc),
                     *d = format_of_arc(m, n, x->d_arc);
    const double sum = ceil(x->a + x->b * b->channels + x->c * c->rate + x->d * d->frame_bytes + e);
    return sum < 4294967040.0 ? tw_round_up((uint32_t)sum, x->align > 4 ? x->align : 4) : 0;
}

static uint32_t block_align(const tw_node_mem_manifest_t *x)
{
    return x->align > 8 ? x->align : 8;
}

/* Thread a node's scratch may be shared within, or THREADS when it could run anywhere at any time. */
static uint32_t thread_of(const g_model_t *m, const g_node_t *n)
{
    const uint32_t procs = m->control.processors;
    const bool one = (procs & (procs - 1)) == 0;
    return n->proc == 0 && !one ? THREADS : n->proc * 4u + n->rtos;
}

static void plan_blocks(plan_t *p, g_node_t *n)
{
    g_model_t *m = p->m;
    const uint32_t thread = thread_of(m, n);
    uint64_t scratch[256] = {0}; /* of this node, by region */
    uint32_t extra[TW_MAX_NODE_MEM], slot;
    (void)g_device_memory(m, n, extra, &slot); /* verified */
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        const tw_node_mem_manifest_t *x = &n->manifest->mem[i];
        const uint64_t bytes = block_bytes(m, n, x, n->e[i] > extra[i] ? n->e[i] : extra[i]);
        if (bytes == 0) {
            g_error(m, &n->pos, "memory block %u of %s has no size, or more than 4 GB", i, n->manifest->name);
            continue;
        }
        n->block_bytes[i] = (uint32_t)bytes;
        if (x->type != 1 || thread == THREADS) {
            (void)place_fixed(p, &n->pos, n->vid[i], bytes, block_align(x), &n->block_at[i], &n->block_vid[i]);
            continue;
        }
        region_t *r = region(p, &n->pos, n->vid[i]);
        if (r != NULL) {
            uint64_t *used = &scratch[r - p->regions];
            n->block_at[i] = (uint32_t)take_bytes(used, 0, bytes, block_align(x));
            n->block_vid[i] = r->bank->vid;
            r->thread[thread] = *used > r->thread[thread] ? *used : r->thread[thread];
        }
    }
}

static void plan_io(plan_t *p, g_io_t *io)
{
    const double frames = floor(io->manifest->buffer_allocation + 0.5);
    uint8_t bank;
    io->buffer_bytes = (uint32_t)frames * p->m->formats[io->format].frame_bytes;
    if (io->buffer_bytes > 0) {
        (void)place_fixed(p, &io->pos, 0, io->buffer_bytes, 8, &io->buffer_at, &bank);
    }
}

static void plan_arc(plan_t *p, g_arc_t *a)
{
    const uint32_t from = p->m->formats[a->from.format].frame_bytes, to = p->m->formats[a->to.format].frame_bytes;
    const uint32_t frame = tw_max_u32(from, to);
    const double size = ceil(a->jitter * frame);
    const double bytes = (size < frame ? frame : size) + (double)a->delay * from;
    if (bytes > 4e9) {
        g_error(p->m, &a->pos, "arc buffer of %g bytes", bytes);
        return;
    }
    a->bytes = a->lock ? 8 : tw_round_up((uint32_t)bytes, 4);
    a->fill_bytes = a->delay * from;
    if (place_fixed(p, &a->pos, a->vid, a->bytes, 8, &a->at, &a->bank) && a->fill_bytes > 0) {
        g_model_t *m = p->m;
        a->fill_at = tw_round_up(m->n_params, 8);
        while (m->cap_params < a->fill_at + a->fill_bytes) {
            if (a->fill_bytes > G_PARAMS_MAX || !g_grow(&m->params, m->cap_params, &m->cap_params, 1)) {
                g_error(m, &a->pos, "arc_delay of %u bytes is too long", a->fill_bytes);
                return;
            }
        }
        m->n_params = a->fill_at + a->fill_bytes;
        memset(m->params + a->fill_at, 0, a->fill_bytes);
    }
}

/* Bases of each thread's scratch, behind the static bytes. */
static void close_region(plan_t *p, region_t *r)
{
    uint64_t at = r->base + ((r->fixed + 15) & ~15ull);
    const uint64_t first = at;
    for (uint32_t t = 0; t < THREADS; t++) {
        r->thread_base[t] = at;
        at += (r->thread[t] + 15) & ~15ull;
    }
    r->working = at - first;
    const g_pos_t pos = r->map != NULL ? r->map->pos : (g_pos_t){p->m->names[0], 0, 0};
    if (r->working > 0) { /* static bytes alone were checked as they came */
        (void)fits(p, &pos, r, at - r->base);
    }
}

/* What a part holds lies inside its bank's static bytes; two parts may share bytes when both are scratch. */
static void close_parts(plan_t *p)
{
    for (uint32_t i = 0; i < p->n_regions; i++) {
        region_t *r = &p->regions[i];
        if (r->map == NULL) {
            continue;
        }
        region_t *bank = &p->regions[p->of_vid[r->map->orig] - 1];
        if (bank->fixed > r->map->start) {
            g_error(p->m, &r->map->pos, "bank %u itself needs %llu bytes, which reach into the part at %u",
                    bank->bank->vid, (unsigned long long)bank->fixed, r->map->start);
        }
        for (uint32_t k = 0; k < i; k++) {
            const region_t *o = &p->regions[k];
            if (o->map == NULL || o->bank != r->bank || o->base >= r->limit || r->base >= o->limit) {
                continue;
            }
            if (o->fixed > 0 || r->fixed > 0) {
                g_error(p->m, &r->map->pos, "parts %u and %u overlap, and not both hold working memory only",
                        o->map->vid, r->map->vid);
            }
        }
    }
}

static void move_scratch(plan_t *p, g_node_t *n)
{
    const uint32_t thread = thread_of(p->m, n);
    for (unsigned i = 0; i < n->manifest->n_mem && thread != THREADS; i++) {
        const uint8_t of = p->of_vid[n->vid[i]];
        if (n->manifest->mem[i].type == 1 && of != 0) {
            n->block_at[i] += (uint32_t)p->regions[of - 1].thread_base[thread];
        }
    }
}

static void keep_banks(plan_t *p)
{
    g_model_t *m = p->m;
    for (uint32_t i = 0; i < p->n_regions; i++) {
        const region_t *r = &p->regions[i];
        if (r->map == NULL && (r->fixed > 0 || r->working > 0 || r->bank->vid == 0)) {
            const uint64_t fixed = r->working > 0 ? (r->fixed + 15) & ~15ull : r->fixed;
            m->banks[m->n_banks++] = (g_bank_t){r->bank, (uint32_t)fixed, (uint32_t)r->working};
        }
    }
}

static void plan_memory(plan_t *p)
{
    g_model_t *m = p->m;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        plan_blocks(p, &m->nodes[m->order[i]]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        plan_io(p, &m->ios[i]);
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        plan_arc(p, &m->arcs[i]);
    }
    close_parts(p);
    for (uint32_t i = p->n_regions; i-- > 0;) { /* parts come after their banks, and are closed first */
        region_t *r = &p->regions[i];
        close_region(p, r);
        if (r->map != NULL && (r->fixed > 0 || r->working > 0)) {
            region_t *bank = &p->regions[p->of_vid[r->map->orig] - 1];
            const uint64_t end = r->base + (r->working > 0 ? ((r->fixed + 15) & ~15ull) + r->working : r->fixed);
            bank->fixed = bank->fixed > end ? bank->fixed : end;
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        move_scratch(p, &m->nodes[i]);
    }
    keep_banks(p);
    m->state_bytes = 20 + 16 * m->n_nodes + 16 * m->n_arcs;
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const g_bank_t *b = &m->banks[i];
        if (b->manifest->vid == 0 && (uint64_t)b->fixed + b->working + m->state_bytes > b->manifest->bytes) {
            tw_diag(m->diags, false, m->names[0], 0, 0, "bank 0 of %u bytes has no room for the %u bytes of state",
                    b->manifest->bytes, m->state_bytes);
        }
    }
}

bool g_plan(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    plan_t p = {.m = m};
    if (!g_schedule(m)) {
        return false;
    }
    if (open_regions(&p)) {
        plan_memory(&p);
    } else {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    }
    free(p.regions);
    return m->diags->errors == errors;
}
