/* graphc_emit.c - the model as words of the image. Decides nothing: every number is in the model. */
#include "engine/base/crc.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/image/graphc_out.h"
#include <stdlib.h>

static uint32_t f32(double v)
{
    uint8_t b[4];
    tw_put_f32(b, (float)v);
    return tw_get_le32(b);
}

/* The field arrives as its two numbers, hi and lo. */
#define BITS(value, ...) tw_put_bits((value), TW_LO_(__VA_ARGS__))

/* ---- records ------------------------------------------------------------------- */

static void banks(g_out_t *o, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const tw_bank_manifest_t *x = m->banks[i].manifest;
        g_out_word(o, BITS(x->vid, TW_B0_VID) | BITS((uint32_t)m->banks[i].log2_align, TW_B0_ALIGN) |
                          BITS(x->speed, TW_B0_SPEED) | BITS(x->type, TW_B0_TYPE) | BITS(x->is_private, TW_B0_PRIVATE) |
                          BITS(x->dma, TW_B0_DMA) | BITS(x->prog > 0, TW_B0_PROGRAM));
        g_out_word(o, m->banks[i].fixed);
        g_out_word(o, m->banks[i].working);
        g_out_word(o, m->control.fill);
    }
}

static void formats(g_out_t *o, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_formats; i++) {
        const g_format_t *f = &m->formats[i];
        g_out_word(o, f->frame_bytes);
        g_out_word(o, BITS(f->channels - 1u, TW_F1_CHANNELS) | BITS(f->interleave, TW_F1_INTERLEAVE) |
                          BITS(f->ts, TW_F1_TS) | BITS(f->ts_size, TW_F1_TS_SIZE) | BITS(f->raw, TW_F1_RAW) |
                          BITS(f->domain, TW_F1_DOMAIN) | BITS(f->unit, TW_F1_UNIT));
        g_out_word(o, f32(f->rate));
        g_out_word(o, g_format_mapping(f));
        g_out_word(o, f32(1.0));
        g_out_word(o, f32(0.0));
        g_out_word(o, f->border);
        g_out_word(o, f->samples);
    }
}

static uint32_t lowest_bit(uint32_t mask)
{
    uint32_t i = 0;
    while (mask != 0 && (mask >> i & 1u) == 0) {
        i++;
    }
    return i;
}

static void ios(g_out_t *o, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_ios; i++) {
        const g_io_t *io = &m->ios[i];
        const tw_io_manifest_t *x = io->manifest;
        const uint32_t owner = x->proc_mask != 0 ? lowest_bit(x->proc_mask) + 1 : 0;
        g_out_word(o, BITS((uint32_t)io->hwid, TW_I0_HWID) | BITS(x->direction, TW_I0_TX) |
                          BITS(x->commander, TW_I0_SERVANT) | BITS(!m->arcs[io->arc].set_buffer, TW_I0_COPY) |
                          BITS(io->buffer_bytes > 0, TW_I0_BUFFER) | BITS(owner, TW_I0_OWNER) |
                          BITS(x->clock_domain, TW_I0_CLOCK));
        g_out_word(o, BITS(io->arc, TW_I1_ARC) | BITS((uint32_t)io->format, TW_I1_FORMAT));
        for (unsigned k = 0; k < 3; k++) {
            g_out_word(o, io->setting[k]);
        }
        g_out_word(o, io->buffer_bytes > 0 ? io->buffer_vid : 0);
        g_out_word(o, io->buffer_at);
        g_out_word(o, io->buffer_bytes);
    }
}

/* Only what 12 bits cannot number makes an image wide: all else stays readable to devices without. */
static bool wide(const g_model_t *m)
{
    return m->n_nodes > TW_IMG_NARROW_NODES || m->n_arcs > TW_IMG_NARROW_ARCS;
}

bool g_slot_hqos(const g_model_t *m, const g_node_t *n, uint32_t slot)
{
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    return a->hqos && (slot < n->rx || a->to.node == G_IO);
}

static uint32_t node_arc_wide(const g_model_t *m, const g_node_t *n, unsigned slot)
{
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    return BITS(n->arcs[slot], TW_NAW_ARC) | BITS(slot >= n->rx, TW_NAW_TX) |
           BITS(g_slot_hqos(m, n, slot), TW_NAW_HQOS) | BITS(a->lock, TW_NAW_LOCK);
}

static uint32_t node_arc(const g_model_t *m, const g_node_t *n, unsigned slot)
{
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    return BITS(n->arcs[slot], TW_NA_ARC) | BITS(slot >= n->rx, TW_NA_TX) | BITS(g_slot_hqos(m, n, slot), TW_NA_HQOS) |
           BITS(a->lock, TW_NA_LOCK);
}

uint32_t g_node_hash(const tw_node_manifest_t *x)
{
    char full[sizeof x->developer + sizeof x->name];
    const size_t dev = strlen(x->developer), name = strlen(x->name);
    memcpy(full, x->developer, dev);
    full[dev] = '/';
    memcpy(full + dev + 1, x->name, name + 1);
    return tw_fnv1a(full);
}

static void node_words(g_out_t *o, const g_node_t *n)
{
    const tw_node_manifest_t *x = n->manifest;
    const uint32_t script = n->own_script != G_NONE ? n->own_script + 1 : n->script != G_NONE ? n->script + 1 : 0;
    g_out_word(o, BITS(n->compact ? n->entry : n->manifest_index, TW_N0_ENTRY) | BITS(n->compact, TW_N0_COMPACT) |
                      BITS(n->proc, TW_N0_PROC) | BITS((uint32_t)(n->arch != 0 ? n->arch : x->arch), TW_N0_ARCH) |
                      BITS(n->rtos, TW_N0_RTOS) | BITS(n->verbose > 0, TW_N0_VERBOSE) |
                      BITS(n->has_params, TW_N0_PARAMS) | BITS(!n->compact, TW_N0_NO_MEMREQ) |
                      BITS(x->push_format, TW_N0_PUSH_FORMAT) | BITS((uint32_t)x->same_rate, TW_N0_SAME_RATE));
    g_out_word(o, BITS(n->rx, TW_N1_RX) | BITS(n->tx, TW_N1_TX) | BITS(n->compact ? 0u : x->n_mem, TW_N1_BLOCKS) |
                      BITS(n->compact, TW_N1_DYNAMIC) | BITS(script, TW_N1_SCRIPT) | BITS(n->preset, TW_N1_PRESET) |
                      BITS(4u, TW_N1_RERUNS));
    if (n->compact) {
        return;
    }
    g_out_word(o, g_node_hash(x));
    g_out_word(o, BITS((uint32_t)x->version, TW_N3_VERSION) | BITS(n->trace, TW_N3_TRACE) |
                      BITS((uint32_t)n->meta, TW_N3_META));
}

static void node(g_out_t *o, const g_model_t *m, const g_node_t *n)
{
    const tw_node_manifest_t *x = n->manifest;
    const unsigned arcs = n->rx + n->tx;
    node_words(o, n);
    for (unsigned i = 0; wide(m) && i < arcs; i++) {
        g_out_word(o, node_arc_wide(m, n, i));
    }
    for (unsigned i = 0; !wide(m) && i < arcs; i += 2) {
        g_out_word(o, node_arc(m, n, i) | (i + 1 < arcs ? node_arc(m, n, i + 1) << 16 : 0));
    }
    for (unsigned i = 0; !n->compact && i < x->n_mem; i++) {
        const tw_node_mem_manifest_t *b = &x->mem[i];
        const bool copied = (n->copied >> i & 1u) != 0;
        const uint32_t swap = (n->swapped >> i & 1u) != 0  ? TW_NB_IN_OUT
                              : (n->staged >> i & 1u) != 0 ? TW_NB_IN
                              : copied                     ? TW_NB_MOVED
                                                           : TW_NB_STAYS;
        g_out_word(o, BITS(n->block_vid[i], TW_NB_VID) | BITS(b->speed, TW_NB_SPEED) | BITS(b->type, TW_NB_TYPE) |
                          BITS(b->reloc, TW_NB_RELOC) | BITS(b->prog, TW_NB_PROG) | BITS(swap, TW_NB_SWAP) |
                          BITS(copied ? n->block_home[i] : 0u, TW_NB_HOME));
        g_out_word(o, n->block_at[i]);
        g_out_word(o, n->block_bytes[i]);
    }
    for (unsigned i = 0; !n->compact && i < x->n_mem; i++) {
        if ((n->staged >> i & 1u) != 0) {
            g_out_word(o, n->home_at[i]);
        }
    }
    if (n->has_params) {
        g_out_word(o, n->params_at);
        g_out_word(o, BITS(n->tag, TW_NP_TAG) | BITS(n->params_bytes, TW_NP_BYTES));
    }
}

static void nodes(g_out_t *o, const g_model_t *m)
{
    const uint32_t table = o->n;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_out_word(o, 0);
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const uint32_t at = o->n;
        node(o, m, &m->nodes[m->order[i]]);
        if (!o->failed) {
            tw_put_le32(o->v + table + 4 * i, at);
        }
    }
}

static uint32_t place(const g_model_t *m, const g_end_t *e)
{
    return e->node != G_IO ? m->place[e->node] : wide(m) ? TW_ARC_IO_WIDE : TW_ARC_IO;
}

static uint32_t ends(const g_model_t *m, const g_arc_t *a)
{
    if (wide(m)) {
        return BITS(place(m, &a->from), TW_A3W_PRODUCER) | BITS(place(m, &a->to), TW_A3W_CONSUMER);
    }
    return BITS(place(m, &a->from), TW_A3_PRODUCER) | BITS(place(m, &a->to), TW_A3_CONSUMER) |
           BITS(a->from.slot, TW_A3_PRODUCER_PORT) | BITS(a->to.slot, TW_A3_CONSUMER_PORT);
}

static uint32_t last_word(const g_model_t *m, const g_arc_t *a)
{
    const uint32_t io = a->kind == G_ARC_IN || a->kind == G_ARC_OUT ? BITS(a->io, TW_A7_IO) : 0;
    return !wide(m) ? io : io | BITS(a->from.slot, TW_A7W_PRODUCER_PORT) | BITS(a->to.slot, TW_A7W_CONSUMER_PORT);
}

static void arcs(g_out_t *o, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        const bool prefill = a->fill_bytes > 0;
        g_out_word(o, BITS(a->bank, TW_A0_VID) | BITS(a->from.format, TW_A0_PRODUCER_FORMAT) |
                          BITS(a->to.format, TW_A0_CONSUMER_FORMAT) | BITS(a->hqos, TW_A0_HQOS) |
                          BITS(a->kind == G_ARC_CONSTANT ? 3u : a->ring, TW_A0_TYPE) |
                          BITS((uint32_t)(a->flush & 1), TW_A0_FLUSH_DATA) |
                          BITS((uint32_t)(a->flush >> 1), TW_A0_FLUSH_DESC) | BITS(prefill, TW_A0_PREFILL) |
                          BITS(a->set_buffer, TW_A0_RUNTIME_BASE));
        g_out_word(o, a->at);
        g_out_word(o, a->bytes);
        g_out_word(o, ends(m, a));
        g_out_word(o, BITS(a->underflow, TW_A4_UNDERFLOW) | BITS(a->overflow, TW_A4_OVERFLOW) |
                          BITS(a->crumb_in, TW_A4_CRUMB_IN) | BITS(a->crumb_out, TW_A4_CRUMB_OUT) |
                          BITS(a->crumbs, TW_A4_CRUMBS) | BITS(a->debug_cmd, TW_A4_DEBUG_CMD) |
                          BITS(a->debug_page * 16u + a->debug_reg, TW_A4_DEBUG_REG) |
                          BITS(a->script != G_NONE ? a->script + 1 : 0, TW_A4_SCRIPT));
        g_out_word(o, a->fill_bytes);
        g_out_word(o, a->fill_at);
        g_out_word(o, last_word(m, a));
    }
}

static void scripts(g_out_t *o, const g_model_t *m)
{
    uint32_t at = o->n + 4 * TW_SCRIPT_WORDS * m->n_scripts;
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        const uint32_t bytes = s->literal_bytes > 0 ? tw_round_up(s->code_bytes, 4) + s->literal_bytes : s->code_bytes;
        const uint32_t units = 4u * g_heap_words(s) / TW_SCRIPT_MEM_UNIT;
        g_out_word(o, at);
        g_out_word(o, BITS(s->code_bytes, TW_S1_CODE) | BITS(s->literal_bytes, TW_S1_LITERALS));
        g_out_word(o, BITS(s->regs, TW_S2_REGS) | BITS(s->privileged, TW_S2_PRIVILEGED) | BITS(s->ptrs, TW_S2_PTRS) |
                          BITS(s->stack, TW_S2_STACK) | BITS(s->shared, TW_S2_SHARED) |
                          BITS((uint32_t)!s->shared, TW_S2_PRIVATE) | BITS(units - 1u, TW_S2_MEM) |
                          BITS((uint32_t)s->vid, TW_S2_VID));
        g_out_word(o, BITS((uint32_t)tw_crc16(TW_CRC16_INIT, s->code, bytes), TW_S3_CRC) |
                          BITS((s->budget + 255u) / 256u, TW_S3_BUDGET));
        at += tw_round_up(bytes, 4);
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        g_out_put(o, s->code, tw_round_up(s->code_bytes, 4) + s->literal_bytes);
        g_out_pad(o, 4);
    }
}

/* ---- symbols -------------------------------------------------------------------- */

static void symbol(g_out_t *o, uint32_t kind, uint32_t index, const char *name)
{
    const uint8_t n = (uint8_t)strlen(name);
    const uint8_t head[4] = {(uint8_t)kind, n, (uint8_t)index, (uint8_t)(index >> 8)};
    g_out_put(o, head, sizeof head);
    g_out_put(o, name, n);
}

static void symbols(g_out_t *o, const g_model_t *m)
{
    const uint32_t at = o->n;
    g_out_word(o, TW_EXT_SYMB);
    g_out_word(o, 0);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        symbol(o, TW_SYM_NODE, i, m->nodes[m->order[i]].name);
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        symbol(o, TW_SYM_ARC, i, m->arcs[i].name);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        symbol(o, TW_SYM_IO, i, m->ios[i].symbol);
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        symbol(o, TW_SYM_SCRIPT, i, m->scripts[i].symbol);
    }
    symbol(o, TW_SYM_GRAPH, 0, m->control.name);
    if (!o->failed) {
        tw_put_le32(o->v + at + 4, BITS(o->n - at - 8, TW_EXT_BYTES));
    }
    g_out_pad(o, 4);
}

/* What buffers hold at load; what they hold at reset is in PARAMS. */
static void fills(g_out_t *o, const g_model_t *m)
{
    const uint32_t at = o->n;
    g_out_word(o, TW_EXT_INIT);
    g_out_word(o, 0);
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        if (a->fill_pattern != 0) {
            g_out_word(o, BITS((uint32_t)a->bank, TW_INIT0_VID));
            g_out_word(o, a->at);
            g_out_word(o, a->bytes);
            g_out_word(o, a->fill_pattern);
        }
    }
    if (!o->failed && o->n == at + 8) {
        o->n = at; /* none */
    } else {
        g_out_poke(o, at + 4, BITS(o->n - at - 8, TW_EXT_BYTES));
    }
}

static void ext(g_out_t *o, const g_model_t *m)
{
    symbols(o, m);
    fills(o, m);
    g_out_put(o, m->meta, m->n_meta);
}

static void params(g_out_t *o, const g_model_t *m)
{
    g_out_put(o, m->params, m->n_params);
}

/* ---- the whole ------------------------------------------------------------------ */

static uint32_t registers(const g_model_t *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        n = a->debug_cmd != 0 ? tw_max_u32(n, a->debug_page * 16u + a->debug_reg + 1u) : n;
    }
    return n;
}

static void header(g_out_t *o, const g_model_t *m, uint32_t sequence)
{
    uint8_t *h = o->v;
    const g_control_t *c = &m->control;
    const uint32_t w[] = {
        [TW_W_MAGIC] = TW_IMG_MAGIC,
        [TW_W_VERSION] =
            BITS(TW_IMG_MAJOR, TW_W1_MAJOR) | BITS(TW_IMG_MINOR, TW_W1_MINOR) | BITS(TW_IMG_HEADER_BYTES, TW_W1_HEADER),
        [TW_W_TOTAL] = o->n,
        [TW_W_PAYLOAD_CRC] = tw_crc32c(0, h + TW_IMG_HEADER_BYTES, o->n - TW_IMG_HEADER_BYTES),
        [TW_W_SEQUENCE] = sequence,
        [TW_W_CONTROL] = BITS(c->location, TW_W7_LOCATION) | BITS((uint32_t)c->debug_script, TW_W7_DEBUG_SCRIPT) |
                         BITS((uint32_t)c->sched_return, TW_W7_RETURN) | BITS(1u, TW_W7_SYMBOLS) |
                         BITS((uint32_t)wide(m), TW_W7_WIDE),
        [TW_W_PROCESSORS] = c->processors,
        [TW_W_SERVICES] = m->services,
        [TW_W_PLATFORM] = m->platform->id,
        [TW_W_CATALOGUE] = m->catalogue,
        [TW_W_COUNTS] = BITS(m->n_nodes, TW_W12_NODES) | BITS(m->n_arcs, TW_W12_ARCS),
        [TW_W_COUNTS2] = BITS(m->n_formats, TW_W13_FORMATS) | BITS(m->n_ios, TW_W13_IOS) |
                         BITS(m->n_scripts, TW_W13_SCRIPTS) | BITS(m->n_banks, TW_W13_BANKS),
        [TW_W_COUNTS3] = BITS(registers(m), TW_W14_REGISTERS) | BITS(m->control.subgraphs, TW_W14_SUBGRAPHS),
        [TW_W_STATE_BYTES] = m->state_bytes,
    };
    for (uint32_t i = 0; i < TW_COUNT(w); i++) {
        tw_put_le32(h + 4 * i, w[i]);
    }
    tw_put_le32(h + 4 * TW_W_HEADER_CRC, tw_crc32c(0, h, TW_IMG_HEADER_BYTES));
}

uint8_t *g_emit(g_model_t *m, uint32_t sequence, uint32_t *bytes)
{
    static void (*const writers[TW_SEC_COUNT])(g_out_t *, const g_model_t *) = {
        [TW_SEC_BANKS] = banks, [TW_SEC_FORMATS] = formats, [TW_SEC_IOS] = ios,       [TW_SEC_NODES] = nodes,
        [TW_SEC_ARCS] = arcs,   [TW_SEC_SCRIPTS] = scripts, [TW_SEC_PARAMS] = params, [TW_SEC_EXT] = ext,
    };
    static const uint8_t zero[TW_IMG_HEADER_BYTES];
    g_out_t o = {0}, meta = {0};
    g_out_meta(&meta, m);
    m->meta = meta.v;
    m->n_meta = meta.n;
    o.failed = meta.failed;
    g_out_put(&o, zero, sizeof zero);
    for (uint32_t s = 0; s < TW_SEC_COUNT && !o.failed; s++) {
        const uint32_t at = o.n;
        writers[s](&o, m);
        if (!o.failed) {
            tw_put_le32(o.v + 4 * (TW_W_DIRECTORY + 2 * s), o.n > at ? at : 0);
            tw_put_le32(o.v + 4 * (TW_W_DIRECTORY + 2 * s) + 4, o.n - at);
        }
        g_out_pad(&o, TW_IMG_ALIGN);
    }
    if (o.failed) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "the image would be larger than %u bytes, or memory is out",
                G_IMAGE_MAX);
        free(o.v);
        return NULL;
    }
    header(&o, m, sequence);
    *bytes = o.n;
    return o.v;
}
