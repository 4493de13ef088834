/* graphc_plan.c - addresses: which bytes in which bank. Knows no word of the image.
 *
 * First what the text places, then what it maps to a bank and what asks for nothing, in the order of the schedule;
 * then the blocks whose manifests ask for more than the default bank: those kept over a restart, program memory,
 * critical and fast memory, each spilled to the next slower bank when its own is full.
 */
#include "host_tools/graphc/middle/graphc_memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATIC, WORKING, PSEUDO, KEPT };      /* of a block and of a bank */
enum { ANY, NORMAL, FAST, CRITICAL, EVERY }; /* speed of a block and of a bank; of no matter which banks */

typedef struct plan {
    g_model_t *m;
    mem_t mem;
    uint8_t (*vid)[6];  /* of each block, as the text speaks of it: a bank or a part */
    uint8_t owner[256]; /* processor that uses a private bank, 0 none yet */
} plan_t;

/* ---- sizes --------------------------------------------------------------------------------- */

/* Format at a port of the manifest; that of the first arc where the port is not in use. */
static const g_format_t *format_of_port(const g_model_t *m, const g_node_t *n, unsigned port)
{
    const tw_node_manifest_t *x = n->manifest;
    uint32_t slot = port < (unsigned)(x->rx + x->tx) ? g_slot_of(x, port) : 0;
    const bool tx = slot >= x->rx;
    const uint32_t k = tx ? slot - x->rx : slot;
    slot = k < (tx ? n->tx : n->rx) ? k + (tx ? n->rx : 0u) : 0;
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    return &m->formats[slot < n->rx ? a->to.format : a->from.format];
}

/* A + B channels + C rate + D frame + E, rounded up to the alignment. 0 = formula too large. */
static uint32_t block_bytes(const g_model_t *m, const g_node_t *n, const tw_node_mem_manifest_t *x, double e)
{
    const g_format_t *b = format_of_port(m, n, x->b_arc), *c = format_of_port(m, n, x->c_arc),
                     *d = format_of_port(m, n, x->d_arc);
    const double sum = ceil(x->a + x->b * b->channels + x->c * c->rate + x->d * d->frame_bytes + e);
    return sum < 4294967040.0 ? tw_round_up((uint32_t)sum, x->align > 4 ? x->align : 4) : 0;
}

/* Blocks start on 8 at least, so that any value can stand first in them. */
static uint32_t block_align(const tw_node_mem_manifest_t *x)
{
    return x->align > 8 ? x->align : 8;
}

static void size_blocks(g_model_t *m, g_node_t *n)
{
    uint32_t extra[TW_MAX_NODE_MEM], slot;
    (void)g_device_memory(m, n, extra, &slot); /* verified */
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        if ((n->sized >> i & 1u) == 0) {
            n->block_bytes[i] = block_bytes(m, n, &n->manifest->mem[i], tw_max_u32(n->e[i], extra[i]));
        }
        if (n->block_bytes[i] == 0) {
            g_error(m, &n->pos, "memory block %u of %s has no size, or more than 4 GB", i, n->manifest->name);
        }
    }
}

/* Buffers that caches are told to write back share no line with others. */
static uint32_t arc_align(const g_arc_t *a)
{
    return (a->flush & 1u) != 0 ? 32 : 8;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Samples by which an end of an arc moves data: a node that goes sample by sample takes and gives whole frames of
 * one of its arcs, which may be part of a frame of another. A converter puts frames together inside. */
static uint32_t step_of(const g_model_t *m, uint32_t node, uint32_t step)
{
    const g_node_t *n = node < m->n_nodes ? &m->nodes[node] : NULL;
    if (n == NULL || strcmp(n->manifest->name, "arm_stream_converter") == 0) {
        return step;
    }
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        const g_arc_t *a = &m->arcs[n->arcs[i]];
        step = common_divisor(step, m->formats[i < n->rx ? a->to.format : a->from.format].samples);
    }
    return step;
}

uint32_t g_arc_step(const g_model_t *m, const g_arc_t *arc)
{
    const g_format_t *from = &m->formats[arc->from.format], *to = &m->formats[arc->to.format];
    uint32_t step = common_divisor(from->frame_bytes, to->frame_bytes);
    if (from->samples != 0 && from->frame_bytes % from->samples == 0 && from->ts == 0) {
        const uint32_t instant = from->frame_bytes / from->samples;
        const uint32_t samples = step_of(m, arc->to.node, step_of(m, arc->from.node, from->samples));
        step = common_divisor(step, samples * instant);
    }
    return step;
}

/* A ring has one byte less than its size, and with whole frames nothing in it ever moves. */
static double ring_bytes(const g_model_t *m, const g_arc_t *a)
{
    return a->ring == 2 ? fmax(m->formats[a->from.format].frame_bytes, m->formats[a->to.format].frame_bytes) : 0;
}

/* The smallest buffer in which frames of both sizes never block one another: with less, the producer would find no
 * room for its frame beside what is too little for the consumer's. One frame where all of it moves at once. */
static double flow_bytes(const g_model_t *m, const g_arc_t *a)
{
    const double from = m->formats[a->from.format].frame_bytes, to = m->formats[a->to.format].frame_bytes;
    return from + to - g_arc_step(m, a) + ring_bytes(m, a);
}

/* Crumbs ask for parts of the whole buffer, delay included, at most a half at each end: two frames keep them apart. */
static double crumb_bytes(const g_model_t *m, const g_arc_t *a)
{
    const double from = m->formats[a->from.format].frame_bytes, to = m->formats[a->to.format].frame_bytes;
    return a->crumbs ? 2 * fmax(from, to) + ring_bytes(m, a) : 0;
}

static double duration_of(const g_format_t *f)
{
    return f->rate > 0 ? f->samples / f->rate : 0;
}

/* An input goes on while the outputs of the graph wait for longer frames to fill, or for their time to come: as much as
 * the longest of the graph's frames holds, and a frame more for each end that does not meet the block. With all frames
 * of one duration nothing waits. */
static double input_waits(const g_model_t *m, const g_arc_t *a)
{
    const g_format_t *f = &m->formats[a->from.format];
    const double own = duration_of(f);
    double longest = 0;
    for (uint32_t i = 0; i < m->n_ios && a->kind == G_ARC_IN && own > 0; i++) {
        const double other = duration_of(&m->formats[m->ios[i].format]);
        const bool differs = fabs(other - own) > 1e-9 * own;
        longest = differs && other > 0 ? fmax(longest, fmax(other, own)) : longest;
    }
    return longest > 0 ? (ceil(longest / own - 1e-9) + 2) * f->frame_bytes : 0;
}

static void size_arc(g_model_t *m, g_arc_t *a)
{
    if (a->kind == G_ARC_CONSTANT) { /* it is read where the image is */
        a->fill_bytes = a->data_bytes;
        return;
    }
    const uint32_t from = m->formats[a->from.format].frame_bytes, to = m->formats[a->to.format].frame_bytes;
    const uint32_t frame = tw_max_u32(from, to);
    const double flows = flow_bytes(m, a), crumbs = crumb_bytes(m, a), waits = input_waits(m, a);
    const double size = ceil(a->jitter * frame), fill = (double)a->delay * from;
    const double bytes = fmax(fmax(size, flows + waits) + fill, crumbs + waits);
    if (bytes > 4e9 || fill > G_PARAMS_MAX) {
        g_error(m, &a->pos, "arc buffer of %g bytes", bytes);
        return;
    }
    const uint32_t least = tw_round_up((uint32_t)fmax(fmax(flows, crumbs), fmax(frame, fill)), 4);
    if (a->sized && a->bytes < least) {
        g_error(m, &a->pos, "arc_map_at: a buffer of %u bytes, it needs %u", a->bytes, least);
    }
    a->bytes = a->sized ? a->bytes : tw_round_up((uint32_t)bytes, arc_align(a) > 8 ? arc_align(a) : 4);
    a->fill_bytes = a->delay * from;
    if (a->fill_bytes % to != 0) {
        g_error(m, &a->pos, "arc_delay %u: %u bytes are no whole number of the consumer's frames of %u bytes", a->delay,
                a->fill_bytes, to);
    }
}

static void size_io(const g_model_t *m, g_io_t *io)
{
    const double frames = floor(io->manifest->buffer_allocation + 0.5);
    io->buffer_bytes = (uint32_t)frames * m->formats[io->format].frame_bytes;
}

/* Zeros behind the boot parameters. */
static bool add_zeros(g_model_t *m, uint32_t bytes, uint32_t *at)
{
    *at = tw_round_up(m->n_params, 8);
    while (m->cap_params < *at + bytes) {
        if (*at + bytes > G_PARAMS_MAX || !g_grow(&m->params, m->cap_params, &m->cap_params, 1)) {
            tw_diag(m->diags, false, m->names[0], 0, 0, "boot parameters and delays have more than %u bytes",
                    G_PARAMS_MAX);
            return false;
        }
    }
    memset(m->params + m->n_params, 0, *at + bytes - m->n_params);
    m->n_params = *at + bytes;
    return true;
}

/* Delays are zeros, and one run of them serves all arcs but those whose contents the text gives. */
static void fill_delays(g_model_t *m)
{
    uint32_t most = 0, at = 0;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        most = tw_max_u32(most, m->arcs[i].has_data ? 0 : m->arcs[i].fill_bytes);
    }
    if (most > 0 && !add_zeros(m, most, &at)) {
        return;
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        g_arc_t *a = &m->arcs[i];
        a->fill_at = a->fill_bytes > 0 ? at : 0;
        if (a->has_data && a->fill_bytes >= a->data_bytes) {
            if (!add_zeros(m, a->fill_bytes, &a->fill_at)) {
                return;
            }
            memcpy(m->params + a->fill_at, m->aside + a->data_at, a->data_bytes);
        }
    }
}

/* ---- who may use what ------------------------------------------------------------------------ */

/* Processor the node is bound to, by itself or because only one may run the graph; 0 none. */
static uint32_t processor_of(const g_model_t *m, const g_node_t *n)
{
    const uint32_t procs = m->control.processors;
    uint32_t only = 0;
    while ((procs & (procs - 1)) == 0 && procs >> only > 1) {
        only++;
    }
    return n->proc != 0 ? n->proc : (procs & (procs - 1)) == 0 ? only + 1 : 0;
}

/* Thread a node's scratch may be shared within. */
static uint32_t thread_of(const g_model_t *m, const g_node_t *n)
{
    return processor_of(m, n) == 0 ? MEM_ALONE : n->proc * 4u + n->rtos;
}

/* A private bank is one processor's: the manifest's, else the first that uses it. */
static uint32_t owner_of(const plan_t *p, const tw_bank_manifest_t *bank)
{
    return bank->proc != 0 ? bank->proc : p->owner[bank->vid];
}

static bool may_use(const plan_t *p, const g_node_t *n, const tw_bank_manifest_t *bank)
{
    const uint32_t proc = processor_of(p->m, n), owner = owner_of(p, bank);
    return !bank->is_private || (proc != 0 && (owner == 0 || owner == proc));
}

static bool check_private(plan_t *p, const g_node_t *n, unsigned i, const tw_bank_manifest_t *bank)
{
    if (may_use(p, n, bank)) {
        p->owner[bank->vid] = bank->is_private ? (uint8_t)processor_of(p->m, n) : 0;
        return true;
    }
    const g_pos_t *pos = i + 1 == n->blocks_named ? &n->blocks_pos : &n->pos;
    if (processor_of(p->m, n) == 0) {
        g_error(p->m, pos, "bank %u is private to a processor, and %s may run on any: bind it with node_map_proc",
                bank->vid, n->name);
    } else {
        g_error(p->m, pos, "bank %u is private to processor %u, and %s runs on %u", bank->vid, owner_of(p, bank),
                n->name, processor_of(p->m, n));
    }
    return false;
}

static bool is_given(const g_node_t *n, unsigned i)
{
    return (n->vid_given >> i & 1u) != 0 || n->vid[i] != 0;
}

/* Does the manifest ask for more than the default bank? */
static bool asks(const g_node_t *n, unsigned i)
{
    const tw_node_mem_manifest_t *x = &n->manifest->mem[i];
    return !is_given(n, i) && (x->type == KEPT || x->prog != 0 || x->speed >= FAST);
}

static bool is_placed(const g_node_t *n, unsigned i)
{
    return (n->placed >> i & 1u) != 0;
}

static bool is_copied(const g_node_t *n, unsigned i)
{
    return (n->copied >> i & 1u) != 0;
}

static bool is_swapped(const g_node_t *n, unsigned i)
{
    return (n->swapped >> i & 1u) != 0;
}

static bool has_copy_place(const g_node_t *n, unsigned i)
{
    return (n->copy_placed >> i & 1u) != 0;
}

/* Does it share the place of its copy with others of its thread? A copy for whoever may run the node shares nothing,
 * and one of a block the text placed has that block's offset. */
static bool is_staged(const plan_t *p, const g_node_t *n, unsigned i)
{
    const bool planned = !is_placed(n, i) && thread_of(p->m, n) != MEM_ALONE;
    return is_swapped(n, i) || (is_copied(n, i) && (has_copy_place(n, i) || planned));
}

static bool is_scratch(const plan_t *p, const g_node_t *n, unsigned i)
{
    return n->manifest->mem[i].type == WORKING && thread_of(p->m, n) != MEM_ALONE;
}

/* ---- places of the text ------------------------------------------------------------------------ */

static void place_copy(plan_t *p, g_node_t *n, unsigned i, mem_span_t span)
{
    const uint32_t align = n->manifest->mem[i].align;
    mem_region_t *copy = mem_region(&p->mem, &n->pos, n->copy_vid[i]);
    if (copy != NULL && check_private(p, n, i, copy->bank)) {
        span.vid = n->copy_vid[i];
        snprintf(span.what, sizeof span.what, "copy of block %u of %s", i, n->name);
        (void)mem_place(&p->mem, &span, align > 4 ? align : 4);
        n->block_vid[i] = copy->bank->vid;
    }
}

static void place_node(plan_t *p, g_node_t *n)
{
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        const tw_node_mem_manifest_t *x = &n->manifest->mem[i];
        mem_region_t *r = is_placed(n, i) ? mem_region(&p->mem, &n->pos, n->vid[i]) : NULL;
        if (r == NULL || !check_private(p, n, i, r->bank)) {
            continue;
        }
        mem_span_t span = {.pos = n->pos,
                           .at = n->block_at[i],
                           .end = (uint64_t)n->block_at[i] + n->block_bytes[i],
                           .vid = n->vid[i],
                           .thread = is_scratch(p, n, i) ? thread_of(p->m, n) : MEM_ALONE};
        snprintf(span.what, sizeof span.what, "block %u of %s", i, n->name);
        (void)mem_place(&p->mem, &span, x->align > 4 ? x->align : 4);
        n->block_vid[i] = n->block_home[i] = r->bank->vid;
        n->home_at[i] = n->block_at[i];
        if (is_copied(n, i) && !is_staged(p, n, i)) {
            place_copy(p, n, i, span);
        }
    }
}

/* The place of a copy that the text gives: others of the thread may have it too. */
static void place_staged(plan_t *p, g_node_t *n)
{
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        if (has_copy_place(n, i) && is_copied(n, i)) {
            const mem_span_t span = {.pos = n->blocks_pos,
                                     .at = n->copy_at[i],
                                     .end = (uint64_t)n->copy_at[i] + n->block_bytes[i],
                                     .vid = n->copy_vid[i],
                                     .thread = thread_of(p->m, n)};
            n->block_at[i] = n->copy_at[i];
            place_copy(p, n, i, span);
        }
    }
}

static bool place_bytes(plan_t *p, const g_pos_t *pos, const char *what, const char *name, uint8_t vid, uint32_t at,
                        uint32_t bytes, uint32_t align, uint8_t *bank)
{
    mem_region_t *r = mem_region(&p->mem, pos, vid);
    mem_span_t span = {.pos = *pos, .at = at, .end = (uint64_t)at + bytes, .vid = vid, .thread = MEM_ALONE};
    snprintf(span.what, sizeof span.what, "%s %s", what, name);
    *bank = r != NULL ? r->bank->vid : vid;
    return r != NULL && mem_place(&p->mem, &span, align);
}

static void place_all(plan_t *p)
{
    g_model_t *m = p->m;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].placed != 0) {
            place_node(p, &m->nodes[i]);
        }
        if (m->nodes[i].copy_placed != 0) {
            place_staged(p, &m->nodes[i]);
        }
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        g_io_t *io = &m->ios[i];
        if (io->placed && io->buffer_bytes > 0) {
            (void)place_bytes(p, &io->pos, "buffer of", io->symbol, io->buffer_vid, io->buffer_at, io->buffer_bytes, 4,
                              &io->buffer_vid);
        }
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        g_arc_t *a = &m->arcs[i];
        if (a->placed && a->shared == 0) {
            const uint32_t align = arc_align(a) > 8 ? arc_align(a) : 4;
            (void)place_bytes(p, &a->pos, "arc", a->name, a->vid, a->at, a->bytes, align, &a->bank);
        }
    }
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

/* Does the compiler place it, or its copy, in a thread's scratch? */
static bool in_scratch(const plan_t *p, const g_node_t *n, unsigned i)
{
    return is_staged(p, n, i) ? !has_copy_place(n, i) : !is_placed(n, i) && is_scratch(p, n, i);
}

/* Bytes of a region's scratch that the node's other blocks use already. */
static uint64_t scratch_used(const plan_t *p, uint32_t node, const mem_region_t *r)
{
    const g_node_t *n = &p->m->nodes[node];
    uint64_t used = 0;
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        const bool staged = in_scratch(p, n, i) && is_staged(p, n, i);
        const uint8_t of = p->mem.of_vid[staged ? n->copy_vid[i] : p->vid[node][i]];
        const bool there = n->block_bytes[i] > 0 && in_scratch(p, n, i) && n->block_vid[i] != 255;
        if (there && of != 0 && &p->mem.regions[of - 1] == r) {
            const uint64_t end = (uint64_t)n->block_at[i] + n->block_bytes[i];
            used = end > used ? end : used;
        }
    }
    return used;
}

static bool fits(const plan_t *p, uint32_t node, unsigned i, const mem_region_t *r)
{
    const g_node_t *n = &p->m->nodes[node];
    const uint32_t align = block_align(&n->manifest->mem[i]);
    if (!is_scratch(p, n, i)) {
        return mem_fits_fixed(r, n->block_bytes[i], align);
    }
    return mem_fits_working(r, thread_of(p->m, n), scratch_used(p, node, r), n->block_bytes[i], align);
}

/* The original and the copy have one offset, for which the image has one word. */
static void put_copied(plan_t *p, g_node_t *n, unsigned i, mem_region_t *home)
{
    mem_region_t *fast = mem_region(&p->mem, &n->blocks_pos, n->copy_vid[i]);
    if (fast == NULL || !check_private(p, n, i, fast->bank)) {
        return;
    }
    if (fast->bank == home->bank) {
        g_error(p->m, &n->blocks_pos, "node_map_copy: block %u of %s is in bank %u already", i, n->name,
                home->bank->vid);
        return;
    }
    n->block_at[i] = mem_fixed_both(home, fast, &n->pos, n->block_bytes[i], block_align(&n->manifest->mem[i]));
    n->block_vid[i] = fast->bank->vid;
}

/* Where the block is brought to: among the scratch of its thread. */
static void put_staged(plan_t *p, uint32_t node, unsigned i, const mem_region_t *home)
{
    g_node_t *n = &p->m->nodes[node];
    mem_region_t *fast = mem_region(&p->mem, &n->blocks_pos, n->copy_vid[i]);
    if (fast == NULL || !check_private(p, n, i, fast->bank) || thread_of(p->m, n) == MEM_ALONE) {
        return; /* the last was said by check_swap() */
    }
    if (fast->bank == home->bank) {
        g_error(p->m, &n->blocks_pos, "%s: block %u of %s is in bank %u already",
                is_swapped(n, i) ? "node_map_swap" : "node_map_copy", i, n->name, home->bank->vid);
        return;
    }
    uint64_t used = scratch_used(p, node, fast);
    n->block_at[i] =
        mem_working(fast, &n->pos, thread_of(p->m, n), &used, n->block_bytes[i], block_align(&n->manifest->mem[i]));
    n->block_vid[i] = fast->bank->vid;
}

static void put_block(plan_t *p, uint32_t node, unsigned i, uint8_t vid)
{
    g_node_t *n = &p->m->nodes[node];
    const uint32_t align = block_align(&n->manifest->mem[i]);
    mem_region_t *r = mem_region(&p->mem, i + 1 == n->blocks_named ? &n->blocks_pos : &n->pos, vid);
    if (r == NULL || !check_private(p, n, i, r->bank)) {
        return;
    }
    p->vid[node][i] = vid;
    n->block_home[i] = r->bank->vid;
    if (is_staged(p, n, i)) {
        n->home_at[i] = mem_fixed(r, &n->pos, n->block_bytes[i], align);
        if (!has_copy_place(n, i)) {
            put_staged(p, node, i, r);
        }
        return;
    }
    if (is_copied(n, i)) {
        put_copied(p, n, i, r);
        return;
    }
    if (is_scratch(p, n, i)) {
        uint64_t used = scratch_used(p, node, r);
        n->block_at[i] = mem_working(r, &n->pos, thread_of(p->m, n), &used, n->block_bytes[i], align);
    } else {
        n->block_at[i] = mem_fixed(r, &n->pos, n->block_bytes[i], align);
    }
    n->block_vid[i] = r->bank->vid;
}

/* ---- banks for what asks ------------------------------------------------------------------------------ */

static void spill(g_model_t *m, uint32_t node, unsigned i, uint8_t vid, const char *why)
{
    if (m->n_spills >= m->cap_spills && !g_grow(&m->spills, m->cap_spills, &m->cap_spills, sizeof *m->spills)) {
        tw_diag(m->diags, false, NULL, 0, 0, "out of memory");
        return;
    }
    g_spill_t *s = &m->spills[m->n_spills++];
    *s = (g_spill_t){.node = node, .block = (uint8_t)i, .vid = vid};
    snprintf(s->why, sizeof s->why, "%s", why);
}

/* How well a bank suits a block, less is better; -1 not at all. */
static int suits(const plan_t *p, const g_node_t *n, unsigned i, const tw_bank_manifest_t *b)
{
    const tw_node_mem_manifest_t *x = &n->manifest->mem[i];
    const bool data = x->prog == 0;
    if (!may_use(p, n, b) || (data ? b->prog == 1 : b->prog == 0)) {
        return -1;
    }
    if (x->type == KEPT) {
        return b->type == KEPT ? 0 : -1;
    }
    if (b->type == KEPT || (b->type == WORKING && x->type == STATIC)) {
        return -1;
    }
    /* scratch likes banks made for it; the others leave them free */
    const int kind = x->type == WORKING ? b->type == STATIC : b->type == WORKING;
    return kind + (!data && b->prog == 2 ? 2 : 0);
}

/* Best bank of a speed with room for the block, or NULL. */
static const tw_bank_manifest_t *best(const plan_t *p, uint32_t node, unsigned i, uint32_t speed, bool *exists)
{
    const tw_platform_t *x = p->m->platform;
    const tw_bank_manifest_t *found = NULL;
    int least = 0;
    for (unsigned k = 0; k < x->n_banks; k++) {
        const tw_bank_manifest_t *b = &x->banks[k];
        const int how = b->speed == speed || speed == EVERY ? suits(p, &p->m->nodes[node], i, b) : -1;
        if (how < 0) {
            continue;
        }
        *exists = true;
        if ((found == NULL || how < least) && fits(p, node, i, &p->mem.regions[p->mem.of_vid[b->vid] - 1])) {
            found = b;
            least = how;
        }
    }
    return found;
}

/* From the speed asked for downwards; where the platform has none of it, the next faster counts as it. */
static const tw_bank_manifest_t *find_bank(const plan_t *p, uint32_t node, unsigned i, bool *exists)
{
    const tw_node_mem_manifest_t *x = &p->m->nodes[node].manifest->mem[i];
    if (x->type == KEPT || (x->prog != 0 && x->speed == ANY)) {
        return best(p, node, i, EVERY, exists);
    }
    const tw_bank_manifest_t *b = NULL;
    for (uint32_t speed = x->speed; speed <= CRITICAL && b == NULL && !*exists; speed++) {
        b = best(p, node, i, speed, exists);
    }
    for (uint32_t speed = x->speed; b == NULL && speed-- > NORMAL;) {
        bool there = false;
        b = best(p, node, i, speed, &there);
    }
    return b;
}

static void put_where_asked(plan_t *p, uint32_t node, unsigned i)
{
    static const char *const names[] = {"any", "normal", "fast", "critical"};
    g_model_t *m = p->m;
    const g_node_t *n = &m->nodes[node];
    const tw_node_mem_manifest_t *x = &n->manifest->mem[i];
    bool exists = false;
    char why[60];
    const tw_bank_manifest_t *b = find_bank(p, node, i, &exists);
    put_block(p, node, i, b != NULL ? b->vid : 0);
    const uint8_t vid = n->block_vid[i];
    const mem_region_t *r = &p->mem.regions[p->mem.of_vid[vid] - 1];
    const char *const missing = exists ? "no room in %s memory" : "the platform has no %s memory for it";
    if (b == NULL && x->type == KEPT) {
        snprintf(why, sizeof why, "%s",
                 exists ? "no room in banks kept over a restart" : "no bank is kept over a restart");
        g_warn(m, &n->pos, "block %u of %s will not be kept over a restart: %s", i, n->name,
               exists ? "the banks that are have no room" : "the platform has no bank that is");
    } else if (b == NULL && x->prog != 0) {
        snprintf(why, sizeof why, missing, "program");
    } else if (r->bank->speed < x->speed) {
        snprintf(why, sizeof why, missing, names[x->speed & 3u]);
    } else {
        return;
    }
    spill(m, node, i, vid, why);
}

/* ---- all blocks, IOs, arcs ------------------------------------------------------------------------------ */

/* What is restored is one node's at a time, and worth it. */
static void check_swap(g_model_t *m, const g_node_t *n, unsigned i)
{
    const uint32_t type = n->manifest->mem[i].type;
    if (type != STATIC && type != KEPT) {
        g_error(m, &n->blocks_pos, "node_map_swap: block %u of %s is scratch, which nobody restores", i, n->name);
    } else if (thread_of(m, n) == MEM_ALONE) {
        g_error(m, &n->blocks_pos, "node_map_swap: several processors may run %s: bind it with node_map_proc", n->name);
    }
}

/* Constants may be copied: what a node writes would be lost, and scratch has nothing to copy. */
static void check_copy(g_model_t *m, const g_node_t *n, unsigned i)
{
    const bool constant = n->manifest->mem[i].prog != 0;
    if (is_swapped(n, i)) {
        check_swap(m, n, i);
    } else if (is_copied(n, i) && !constant) {
        g_error(m, &n->blocks_pos, "node_map_copy: %s writes its block %u, and a copy would be lost", n->name, i);
        g_note(m, &(g_pos_t){n->manifest->file, 0, 0}, "only blocks with node_mem_dataOprog1 1 are constant");
    }
}

static void plan_plain(plan_t *p, uint32_t node)
{
    g_node_t *n = &p->m->nodes[node];
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        if ((!is_placed(n, i) || is_staged(p, n, i)) && !has_copy_place(n, i)) {
            n->block_vid[i] = 255; /* nowhere yet */
        }
    }
    for (unsigned i = 0; !n->compact && i < n->manifest->n_mem; i++) {
        check_copy(p->m, n, i);
        n->staged |= (uint8_t)(is_staged(p, n, i) << i);
        const bool kept = n->manifest->mem[i].type == KEPT; /* where a bank is kept, if the text does not say */
        if (!is_placed(n, i) && (!asks(n, i) || (is_copied(n, i) && !kept))) {
            put_block(p, node, i, n->vid[i]);
        } else if (is_placed(n, i) && is_staged(p, n, i) && !has_copy_place(n, i)) {
            put_staged(p, node, i, &p->mem.regions[p->mem.of_vid[n->block_home[i]] - 1]);
        }
    }
}

/* One round for each thing that can be asked, scarce ones first. */
static void plan_asked(plan_t *p)
{
    const g_model_t *m = p->m;
    for (int round = 0; round < 4; round++) {
        for (uint32_t k = 0; k < m->n_nodes; k++) {
            const uint32_t node = m->order[k];
            const g_node_t *n = &m->nodes[node];
            for (unsigned i = 0; i < n->manifest->n_mem; i++) {
                const tw_node_mem_manifest_t *x = &n->manifest->mem[i];
                const int when = x->type == KEPT ? 0 : x->prog != 0 ? 1 : x->speed == CRITICAL ? 2 : 3;
                const bool nowhere =
                    n->block_vid[i] == 255 || (has_copy_place(n, i) && !is_placed(n, i) && x->type == KEPT);
                if (nowhere && !n->compact && asks(n, i) && when == round) {
                    put_where_asked(p, node, i);
                }
            }
        }
    }
}

/* A buffer that a peripheral fills by itself lies where it can: the default bank, else the first that will do. */
static void plan_io(plan_t *p, g_io_t *io)
{
    const tw_platform_t *x = p->m->platform;
    uint8_t vid = p->m->control.map_vid;
    mem_region_t *r = mem_region(&p->mem, &io->pos, vid);
    for (unsigned i = 0; r != NULL && r->map == NULL && !r->bank->dma && i < x->n_banks; i++) {
        const tw_bank_manifest_t *b = &x->banks[i];
        mem_region_t *other = &p->mem.regions[p->mem.of_vid[b->vid] - 1];
        if (b->dma && !b->is_private && b->type == STATIC && b->prog == 0 &&
            mem_fits_fixed(other, io->buffer_bytes, 8)) {
            r = other;
        }
    }
    if (r != NULL) {
        io->buffer_at = mem_fixed(r, &io->pos, io->buffer_bytes, 8);
        io->buffer_vid = r->bank->vid;
    }
}

static void plan_arc(plan_t *p, g_arc_t *a)
{
    const bool given = a->vid_given || a->vid != 0;
    mem_region_t *r = mem_region(&p->mem, &a->pos, given ? a->vid : p->m->control.map_vid);
    if (r != NULL) {
        a->at = a->kind != G_ARC_CONSTANT ? mem_fixed(r, &a->pos, a->bytes, arc_align(a)) : 0;
        a->bank = r->bank->vid;
    }
}

/* Room for nodes that ask at load, behind all else of the default bank's static bytes, in the order they are asked. */
static void plan_compact(plan_t *p)
{
    g_model_t *m = p->m;
    mem_region_t *r = m->catalogue != 0 ? mem_region(&p->mem, &m->nodes[0].pos, 0) : NULL;
    if (r == NULL) {
        return;
    }
    mem_behind(r);
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        g_node_t *n = &m->nodes[m->order[k]];
        for (unsigned i = 0; n->compact && i < n->manifest->n_mem; i++) {
            n->block_at[i] = mem_fixed(r, &n->pos, n->block_bytes[i], block_align(&n->manifest->mem[i]));
            n->block_vid[i] = n->block_home[i] = r->bank->vid;
        }
    }
}

static void plan_memory(plan_t *p)
{
    g_model_t *m = p->m;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        plan_plain(p, m->order[i]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        if (m->ios[i].buffer_bytes > 0 && !m->ios[i].placed) {
            plan_io(p, &m->ios[i]);
        }
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        if (!m->arcs[i].placed && m->arcs[i].shared == 0) {
            plan_arc(p, &m->arcs[i]);
        }
    }
    plan_asked(p);
    plan_compact(p);
}

/* Where the buffer is that they share. */
static void follow_shares(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        g_arc_t *a = &m->arcs[i];
        if (a->shared != 0) {
            a->at = m->arcs[a->shared - 1].at;
            a->bank = m->arcs[a->shared - 1].bank;
        }
    }
}

/* ---- the end --------------------------------------------------------------------------------------------- */

static void move_scratch(plan_t *p, uint32_t node)
{
    g_node_t *n = &p->m->nodes[node];
    for (unsigned i = 0; i < n->manifest->n_mem; i++) {
        const uint8_t of = p->mem.of_vid[is_staged(p, n, i) ? n->copy_vid[i] : p->vid[node][i]];
        if (!n->compact && in_scratch(p, n, i) && of != 0) {
            n->block_at[i] += (uint32_t)p->mem.regions[of - 1].thread_base[thread_of(p->m, n)];
        }
    }
}

/* The graph's state lies behind what was planned in its bank. */
static void check_state(g_model_t *m)
{
    m->state_bytes = 20 + 16 * m->n_nodes + 16 * m->n_arcs;
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const g_bank_t *b = &m->banks[i];
        const uint64_t need = (uint64_t)b->fixed + b->working + m->state_bytes;
        if (b->manifest->vid == m->control.map_vid && need > b->manifest->bytes) {
            tw_diag(m->diags, false, m->names[0], 0, 0, "bank %u of %u bytes has no room for the %u bytes of state",
                    b->manifest->vid, b->manifest->bytes, m->state_bytes);
        }
    }
}

static void plan_all(plan_t *p)
{
    g_model_t *m = p->m;
    const unsigned errors = m->diags->errors;
    g_choose_compact(m);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        size_blocks(m, &m->nodes[m->order[i]]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        size_io(m, &m->ios[i]);
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        size_arc(m, &m->arcs[i]);
    }
    fill_delays(m);
    g_share_arcs(m);
    place_all(p);
    if (!mem_settle(&p->mem) || m->diags->errors != errors) {
        return;
    }
    plan_memory(p);
    if (m->diags->errors != errors) {
        return;
    }
    mem_close(&p->mem);
    follow_shares(m);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        move_scratch(p, i);
    }
    check_state(m);
}

bool g_plan(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    if (!g_schedule(m)) {
        return false;
    }
    plan_t p = {.m = m, .mem = {.m = m}, .vid = calloc(m->n_nodes + 1u, sizeof *p.vid)};
    if (p.vid != NULL && mem_open(&p.mem)) {
        plan_all(&p);
    } else {
        tw_diag(m->diags, false, m->names[0], 0, 0, "out of memory");
    }
    mem_free(&p.mem);
    free(p.vid);
    return m->diags->errors == errors;
}
