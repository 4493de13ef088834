/* graph_load.c - from a verified image to run-time state: everything decoded once.
 *
 * All memory is taken here, front to back, from one arena; the run needs none.
 * The image was verified, so only memory can be missing.
 */
#include "engine/graph/graph_carry.h"
#include "engine/graph/graph_debug.h"
#include "engine/graph/graph_priv.h"
#include "engine/graph/graph_state.h"
#include "engine/node/kernels.h"

/* Where memory is taken from, and by how much it is short. Later takes are tried too, so that the
 * refusal can say how much more a graph needs. */
typedef struct taker {
    tw_arena_t *arena;
    uint64_t missing;
} taker_t;

static void *take(taker_t *t, size_t count, size_t size, size_t align)
{
    void *p = tw_arena_take(t->arena, count * size, align);
    if (p == NULL) {
        t->missing += (uint64_t)count * size;
    }
    return p;
}
#define TAKE(t, type, count) ((type *)take((t), (count), sizeof(type), _Alignof(type)))

static uint32_t ref_count(const uint8_t *img, uint32_t nodes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        const tw_img_node_parts_t p = tw_img_node_parts(img, tw_img_node(img, i));
        n += p.rx + p.tx;
    }
    return n;
}

static bool take_tables(tw_graph_t *g, taker_t *t, tw_graph_ref_t **refs)
{
    g->formats = TAKE(t, tw_format_t, g->n_formats);
    g->nodes = TAKE(t, tw_graph_node_t, g->n_nodes);
    g->hot = take(t, g->n_nodes, sizeof(tw_graph_hot_t), TW_HOT_ALIGN);
    g->awake = TAKE(t, tw_gauge_t, sched_words(g->n_nodes));
    *refs = TAKE(t, tw_graph_ref_t, ref_count(g->env.image.nodes, g->n_nodes));
    g->arcs = TAKE(t, tw_arc_t, g->n_arcs);
    g->ios = TAKE(t, tw_graph_io_t, g->n_ios);
    g->scripts = TAKE(t, tw_graph_script_t, g->n_scripts);
    g->banks = TAKE(t, uint8_t *, g->n_banks);
    g->script_ctx = g->n_scripts != 0 ? TAKE(t, tw_script_ctx_t, 1) : NULL;
    return t->missing == 0;
}

static bool place_banks(tw_graph_t *g, taker_t *t)
{
    const uint8_t *img = g->env.image.whole;
    for (uint32_t i = 0; i < g->n_banks; i++) {
        const uint32_t at = tw_img_record(img, TW_SEC_BANKS, i, TW_BANK_WORDS);
        const uint32_t bytes = tw_img_word(img, at, 1) + tw_img_word(img, at, 2);
        const uint32_t align = 1u << tw_bits(tw_img_word(img, at, 0), TW_B0_ALIGN);
        g->banks[i] = take(t, bytes, 1, tw_max_u32(align, TW_BANK_ALIGN));
    }
    return t->missing == 0;
}

/* `pattern` from its first byte on. */
static void fill_bytes(uint8_t *to, uint32_t bytes, uint32_t word)
{
    uint8_t pattern[4];
    tw_put_le32(pattern, word);
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = pattern[i & 3u];
    }
}

static void fill_bank(const tw_graph_t *g, uint32_t bank)
{
    const uint8_t *img = g->env.image.whole;
    const uint32_t at = tw_img_record(img, TW_SEC_BANKS, bank, TW_BANK_WORDS);
    const uint32_t bytes = tw_img_word(img, at, 1) + tw_img_word(img, at, 2);
    fill_bytes(g->banks[bank], bytes, tw_img_word(img, at, 3));
}

static void apply_fills(const tw_graph_t *g)
{
    uint32_t bytes;
    const uint32_t payload = img_ext(g->img, TW_EXT_INIT, &bytes);
    for (uint32_t at = payload; at < payload + bytes; at += 4u * TW_INIT_WORDS) {
        const int bank = img_bank(g->env.image.whole, tw_bits(tw_img_word(g->img, at, 0), TW_INIT0_VID));
        fill_bytes(g->banks[bank] + tw_img_word(g->img, at, 1), tw_img_word(g->img, at, 2), tw_img_word(g->img, at, 3));
    }
}

/* What arc_crumbs says: 0..3 are a half to a sixteenth of the buffer; never less than a frame. */
static uint32_t crumb(uint32_t a4, uint32_t code, uint32_t size, uint32_t frame)
{
    return tw_bits(a4, TW_A4_CRUMBS) == 0 ? frame : tw_max_u32(frame, (size + (2u << code) - 1) / (2u << code));
}

static void decode_arc(tw_graph_t *g, uint32_t i)
{
    const uint32_t at = tw_img_record(g->img, TW_SEC_ARCS, i, TW_ARC_WORDS);
    const uint32_t a0 = tw_img_word(g->img, at, 0), a4 = tw_img_word(g->img, at, 4);
    tw_arc_t *a = &g->arcs[i];
    memset(a, 0, sizeof *a);
    a->type = (uint8_t)tw_bits(a0, TW_A0_TYPE);
    a->size = tw_img_word(g->img, at, 2);
    a->cap = a->type == TW_ARC_MODULO ? a->size - 1 : a->size;
    a->in_frame = g->formats[tw_bits(a0, TW_A0_PRODUCER_FORMAT)].frame_bytes;
    a->out_frame = g->formats[tw_bits(a0, TW_A0_CONSUMER_FORMAT)].frame_bytes;
    a->in_ready = crumb(a4, tw_bits(a4, TW_A4_CRUMB_OUT), a->size, a->in_frame);
    a->out_ready = crumb(a4, tw_bits(a4, TW_A4_CRUMB_IN), a->size, a->out_frame);
    a->underflow = (uint8_t)tw_bits(a4, TW_A4_UNDERFLOW);
    a->overflow = (uint8_t)tw_bits(a4, TW_A4_OVERFLOW);
    a->script = (int16_t)((int)tw_bits(a4, TW_A4_SCRIPT) - 1);
    a->flush = (uint8_t)(tw_bits(a0, TW_A0_FLUSH_DATA) | tw_bits(a0, TW_A0_FLUSH_DESC) << 1);
    if (a->type == TW_ARC_CONSTANT) {
        /* read where it is: nobody writes it */
        const uint8_t *data = g->img + tw_img_section(g->img, TW_SEC_PARAMS).at + tw_img_word(g->img, at, 6);
        a->buf = (uint8_t *)(uintptr_t)data;
        a->size = a->cap = tw_img_word(g->img, at, 5);
    } else {
        a->buf = g->banks[img_bank(g->env.image.whole, tw_bits(a0, TW_A0_VID))] + tw_img_word(g->img, at, 1);
    }
    const uint32_t second = img_shares(g->env.image.whole, i);
    if (second < i) { /* decoded both */
        tw_arc_t *b = &g->arcs[second];
        const bool is_second = tw_img_ends(g->img, second).to == tw_img_ends(g->img, i).from;
        a->shares = b;
        b->shares = a;
        a->second = is_second;
        b->second = !is_second;
        a->special = b->special = true;
    }
}

/* Initial data: from PARAMS or zero; a delay is an arc that starts with zero frames. */
static void prefill_arc(tw_graph_t *g, uint32_t i)
{
    const uint32_t at = tw_img_record(g->img, TW_SEC_ARCS, i, TW_ARC_WORDS), fill = tw_img_word(g->img, at, 5);
    tw_arc_t *a = &g->arcs[i];
    tw_gauge_set(&a->read, 0);
    if (a->type == TW_ARC_CONSTANT) {
        tw_gauge_set(&a->write, fill);
        return;
    }
    if (tw_bits(tw_img_word(g->img, at, 0), TW_A0_PREFILL)) {
        memcpy(a->buf, g->img + tw_img_section(g->img, TW_SEC_PARAMS).at + tw_img_word(g->img, at, 6), fill);
    } else {
        memset(a->buf, 0, fill);
    }
    tw_gauge_set(&a->write, fill);
}

static void decode_refs(tw_graph_t *g, tw_graph_node_t *n, tw_graph_ref_t *refs)
{
    const uint8_t *img = g->env.image.nodes;
    const tw_img_node_parts_t p = tw_img_node_parts(img, n->record);
    n->refs = refs;
    for (uint32_t i = 0; i < p.rx + p.tx; i++) {
        const tw_img_ref_t ref = tw_img_ref(img, &p, i);
        refs[i] = (tw_graph_ref_t){
            .arc = (uint16_t)ref.arc,
            .hqos = ref.hqos,
            .lock = ref.lock,
            .param = ref.param,
        };
        n->hqos |= refs[i].hqos;
    }
}

static void decode_node(tw_graph_t *g, uint32_t i, const tw_node_order_t *order, tw_graph_ref_t *refs)
{
    const uint8_t *img = g->env.image.nodes;
    const uint32_t record = tw_img_node(img, i);
    const uint32_t n1 = tw_img_word(img, record, 1), script = tw_bits(n1, TW_N1_SCRIPT);
    tw_graph_node_t *n = &g->nodes[i];
    memset(n, 0, sizeof *n);
    n->record = record;
    n->desc = img_type(img, order, record);
    n->rx = (uint8_t)tw_bits(n1, TW_N1_RX);
    n->tx = (uint8_t)tw_bits(n1, TW_N1_TX);
    const uint32_t reruns = tw_bits(n1, TW_N1_RERUNS);
    n->reruns = (uint8_t)(reruns != 0 && reruns < TW_MAX_RERUNS ? reruns : TW_MAX_RERUNS);
    n->command = tw_put_bits(tw_bits(tw_img_node_n3(img, record), TW_N3_TRACE), TW_LO(TW_CMD_TRACE));
    decode_refs(g, n, refs);
    const bool is_script = (n->desc->services & TW_SVC_SCRIPT) != 0;
    n->script = (int16_t)(is_script ? -1 : (int)script - 1);
    n->own_script = (int16_t)(is_script ? (int)script - 1 : -1);
    const tw_img_node_parts_t p = tw_img_node_parts(img, record);
    n->fmt = &g->formats[img_ref_format(img, &p, 0)];
}

static void decode_io(tw_graph_t *g, uint32_t i)
{
    const uint8_t *img = g->env.image.whole;
    const uint32_t at = tw_img_record(img, TW_SEC_IOS, i, TW_IO_WORDS);
    const uint32_t i0 = tw_img_word(img, at, 0), i1 = tw_img_word(img, at, 1);
    const tw_format_t *f = &g->formats[tw_bits(i1, TW_I1_FORMAT)];
    g->ios[i] = (tw_graph_io_t){
        .hwid = tw_bits(i0, TW_I0_HWID),
        .tx = tw_bits(i0, TW_I0_TX),
        .arc_index = tw_bits(i1, TW_I1_ARC),
        .arc = &g->arcs[tw_bits(i1, TW_I1_ARC)],
        .frame = f->frame_bytes,
        .rated = f->rate_hz > 0.0f && f->samples != 0,
        .copy = tw_bits(i0, TW_I0_COPY) != 0,
        .ts = f->ts,
        .ts_size = f->ts_size,
        .settings = {tw_img_word(img, at, 2), tw_img_word(img, at, 3), tw_img_word(img, at, 4)},
    };
}

static bool moved_by_acks(const tw_board_t *b, uint32_t hwid)
{
    for (uint32_t i = 0; i < b->n_ios; i++) {
        if (b->ios[i].hwid == hwid) {
            return b->ios[i].acks != 0 && b->io != NULL;
        }
    }
    return false;
}

/* State of the IOs that drivers move. */
static bool take_drivers(tw_graph_t *g, taker_t *t)
{
    const uint8_t *img = g->env.image.whole;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        tw_graph_io_t *io = &g->ios[i];
        io->driver = moved_by_acks(g->env.board, io->hwid) ? TAKE(t, tw_graph_driver_t, 1) : NULL;
        if (io->driver != NULL) {
            const uint32_t at = tw_img_record(img, TW_SEC_IOS, i, TW_IO_WORDS), bytes = tw_img_word(img, at, 7);
            memset(io->driver, 0, sizeof *io->driver);
            io->driver->home = io->arc->buf;
            io->arc->pins = io->tx && !io->copy;
            io->driver->servant = tw_bits(tw_img_word(img, at, 0), TW_I0_SERVANT) != 0;
            if (bytes >= io->frame) {
                const int bank = img_bank(img, tw_bits(tw_img_word(img, at, 5), TW_I5_VID));
                io->driver->buffer = g->banks[bank] + tw_img_word(img, at, 6);
                io->driver->bytes = bytes;
            }
        }
    }
    return t->missing == 0;
}

static const tw_format_t *io_format(const tw_graph_t *g, uint32_t i)
{
    const uint8_t *img = g->env.image.whole;
    const uint32_t at = tw_img_record(img, TW_SEC_IOS, i, TW_IO_WORDS);
    return &g->formats[tw_bits(tw_img_word(img, at, 1), TW_I1_FORMAT)];
}

/* The rated IO of this direction with the shortest frame; its frame is the block. */
static const tw_format_t *shortest(const tw_graph_t *g, bool tx)
{
    const tw_format_t *best = NULL;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        const tw_format_t *f = io_format(g, i);
        if (g->ios[i].rated && g->ios[i].tx == tx &&
            (best == NULL || (double)f->samples * (double)best->rate_hz < (double)best->samples * (double)f->rate_hz)) {
            best = f;
        }
    }
    return best;
}

/* Due in the first block, with all frames a block holds. */
static void set_periods(tw_graph_t *g)
{
    const tw_format_t *rx = shortest(g, false), *block = rx != NULL ? rx : shortest(g, true);
    g->period_s = block != NULL ? block->samples / (double)block->rate_hz : 0.001;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        const tw_format_t *f = io_format(g, i);
        g->ios[i].rated = g->ios[i].rated && block != NULL;
        if (g->ios[i].rated) {
            img_periods(block, f, &g->ios[i].step, &g->ios[i].period);
            const uint64_t step = g->ios[i].step, period = g->ios[i].period;
            g->ios[i].phase = period > step ? period - step : 0;
        }
    }
}

/* Shared memory is one block for all, as large as the largest asks. */
static void take_scratch(tw_graph_t *g, taker_t *t)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->n_scripts; i++) {
        tw_script_t s;
        img_script(g->img, i, &s);
        most = s.shared != 0 ? tw_max_u32(most, s.mem_bytes) : most;
    }
    g->script_scratch = most != 0 ? take(t, most, 1, 8) : NULL;
}

/* What a script keeps in RAM besides its code: memory, label index, room for a replacement. */
static bool take_script(tw_graph_t *g, taker_t *t, tw_graph_script_t *s)
{
    s->boot.mem = s->boot.shared != 0      ? g->script_scratch
                  : s->boot.mem_bytes != 0 ? take(t, s->boot.mem_bytes, 1, 8)
                                           : NULL;
    s->labels = TAKE(t, uint16_t, TW_SCRIPT_LABELS);
    s->live = TW_SCRIPT_LIVE_BYTES != 0u ? take(t, TW_SCRIPT_LIVE_BYTES, 1, 8) : NULL;
    if (t->missing != 0) {
        return false;
    }
    if (s->boot.mem != NULL) {
        memset(s->boot.mem, 0, s->boot.mem_bytes);
    }
    return true;
}

static bool take_scripts(tw_graph_t *g, taker_t *t)
{
    take_scratch(g, t);
    for (uint32_t i = 0; i < g->n_scripts; i++) {
        tw_graph_script_t *s = &g->scripts[i];
        memset(s, 0, sizeof *s);
        img_script(g->img, i, &s->boot);
        if (take_script(g, t, s)) {
            tw_fault_t unused;
            (void)tw_script_verify(&s->boot, s->boot.privileged != 0, &s->calls, &unused);
            script_install(s, &s->boot);
        }
    }
    return t->missing == 0;
}

/* Concealment by repeating needs the last frame after it was consumed; only arcs that can be
 * concealed and ask for it pay for the copy. */
static bool needs_last(const tw_graph_t *g, uint32_t arc)
{
    const tw_img_ends_t e = tw_img_ends(g->img, arc);
    const bool concealed = e.from == TW_IMG_IO || (e.to != TW_IMG_IO && g->nodes[e.to].hqos);
    return concealed && (g->arcs[arc].underflow == 1 || g->arcs[arc].underflow == 2);
}

static bool take_frames(tw_graph_t *g, taker_t *t)
{
    uint32_t scratch = 0;
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        tw_arc_t *a = &g->arcs[i];
        if (needs_last(g, i)) {
            a->last = take(t, a->in_frame, 1, 8);
        }
        if (a->last != NULL) {
            memset(a->last, 0, a->in_frame);
        }
        scratch = tw_max_u32(scratch, a->in_frame);
    }
    g->scratch = take(t, scratch, 1, 8);
    return t->missing == 0;
}

/* Room was checked, so that only the table itself can be missing. */
static bool take_grants(tw_graph_t *g, taker_t *t, const tw_node_order_t *order)
{
    const uint8_t *img = g->env.image.whole;
    bool any = false;
    for (uint32_t i = 0; !any && i < g->n_nodes; i++) {
        any = tw_img_is_dynamic(img, tw_img_node(img, i));
    }
    tw_fault_t unused;
    uint32_t *end = any ? TAKE(t, uint32_t, g->n_banks) : NULL;
    if (end != NULL) {
        (void)grants_make(img, order, end, NULL, &g->n_grants, &unused);
        g->grants = TAKE(t, grant_t, g->n_grants);
    }
    if (g->grants != NULL) {
        (void)grants_make(img, order, end, g->grants, &g->n_grants, &unused);
    }
    return t->missing == 0;
}

/* ---- blocks that are backed up or may move ------------------------------------- */

/* What the node's own words say of all its blocks. */
static uint32_t node_flags(const tw_graph_t *g, const tw_graph_node_t *n, bool scratch)
{
    const uint32_t n0 = tw_img_word(g->env.image.nodes, n->record, 0);
    return (tw_bits(n0, TW_N0_ISOLATE) != 0 ? TW_PLACE_SHOWN : 0u) |
           (scratch && tw_bits(n0, TW_N0_CLEAR) != 0 ? TW_PLACE_CLEAR : 0u);
}

/* A block that was granted at load has no words in the image. */
static uint32_t granted_flags(const tw_graph_t *g, const tw_graph_node_t *n, uint32_t block)
{
    const uint32_t type = n->desc->mem[block].type;
    return (type == 3 ? TW_PLACE_BACKUP : 0u) | node_flags(g, n, type == 1);
}

static uint32_t placed_flags(const tw_graph_t *g, const tw_graph_node_t *n, uint32_t w)
{
    static const uint8_t of_swap[8] = {[TW_NB_IN_OUT] = TW_PLACE_IN_OUT, [TW_NB_IN] = TW_PLACE_IN};
    const uint32_t type = tw_bits(w, TW_NB_TYPE);
    return (type == 3 ? TW_PLACE_BACKUP : 0u) | (tw_bits(w, TW_NB_RELOC) != 0 ? TW_PLACE_MOVES : 0u) |
           (type == 1 && tw_bits(w, TW_NB_CLEAR) != 0 ? TW_PLACE_CLEAR : 0u) | of_swap[tw_bits(w, TW_NB_SWAP)] |
           node_flags(g, n, type == 1);
}

static uint32_t place_flags(const tw_graph_t *g, const tw_graph_node_t *n, const tw_img_node_parts_t *p, uint32_t block)
{
    if (block < p->blocks) {
        return placed_flags(g, n, tw_img_word(g->env.image.nodes, p->blocks_at, TW_NODE_BLOCK_WORDS * block));
    }
    const bool granted = block < n->desc->n_mem && tw_img_is_dynamic(g->env.image.nodes, n->record);
    return granted ? granted_flags(g, n, block) : 0;
}

/* A staged block is at home between calls; what the image calls its place is where it is during them. */
static void send_home(const tw_graph_t *g, const tw_img_node_parts_t *p, tw_graph_place_t *to)
{
#if !TW_SMALL
    const uint8_t *img = g->env.image.nodes;
    const uint32_t w = tw_img_word(img, p->blocks_at, TW_NODE_BLOCK_WORDS * to->block);
    to->fast = to->at;
    to->at = g->banks[img_bank(g->env.image.whole, tw_bits(w, TW_NB_HOME))] +
             tw_img_word(img, tw_img_home_at(img, p, to->block), 0);
#else
    (void)g, (void)p, (void)to;
#endif
}

static uint32_t decode_places(const tw_graph_t *g, uint32_t node, tw_graph_place_t *to)
{
    const tw_graph_node_t *k = &g->nodes[node];
    const tw_img_node_parts_t p = tw_img_node_parts(g->env.image.nodes, k->record);
    uint32_t n = 0;
    tw_node_reset_t r;
    for (uint32_t m = 0; m < TW_MAX_NODE_MEM; m++) {
        const uint32_t flags = place_flags(g, k, &p, m);
        if (flags != 0 && to != NULL) {
            node_memory(g, node, &r);
            to[n] = (tw_graph_place_t){r.mem[m], NULL, r.mem_bytes[m], (uint16_t)node, (uint8_t)m, (uint8_t)flags};
            if ((flags & (TW_PLACE_IN_OUT | TW_PLACE_IN)) != 0) {
                send_home(g, &p, &to[n]);
            }
        }
        n += flags != 0;
    }
    return n;
}

static bool take_places(tw_graph_t *g, taker_t *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].place = n;
        n += decode_places(g, i, NULL);
    }
    g->places = n != 0 ? TAKE(t, tw_graph_place_t, n) : NULL;
    if (t->missing != 0) {
        return false;
    }
    for (uint32_t i = 0; i < g->n_nodes && n != 0; i++) {
        g->nodes[i].places = (uint8_t)decode_places(g, i, &g->places[g->nodes[i].place]);
    }
    g->n_places = n;
    return true;
}

/* A board that kept something gives it back: state of the same graph, or nothing. */
static bool fetch_state(tw_graph_t *g, tw_arena_t scratch)
{
    const tw_board_t *b = g->env.kept;
    const uint32_t bytes = tw_graph_state_bytes(g);
    tw_fault_t fault;
    if (b == NULL || b->restore == NULL || bytes == 0) {
        return false;
    }
    uint8_t *saved = tw_arena_take(&scratch, bytes, 8);
    return saved != NULL && tw_graph_state_restore(g, saved, b->restore(b->ctx, saved, bytes), &fault) == TW_OK;
}

static bool take_all(tw_graph_t *g, taker_t *t)
{
    tw_node_order_t order = {0};
    if (tw_img_word(g->img, 0, TW_W_CATALOGUE) != 0) {
        tw_node_order(&order);
    }
    tw_graph_ref_t *refs = NULL;
    const bool tables = take_tables(g, t, &refs), banks = tables && place_banks(g, t) && take_grants(g, t, &order);
    if (!banks) {
        return false;
    }
    for (uint32_t i = 0; i < g->n_formats; i++) {
        img_format(g->env.image.whole, i, &g->formats[i]);
    }
    for (uint32_t i = 0; i < g->n_banks; i++) {
        fill_bank(g, i);
    }
    apply_fills(g);
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        decode_arc(g, i);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        decode_node(g, i, &order, refs);
        refs += g->nodes[i].rx + g->nodes[i].tx;
    }
    for (uint32_t i = 0; i < g->n_ios; i++) {
        decode_io(g, i);
    }
    const bool taken = take_places(g, t) && stage_take(g, t->arena, &t->missing) && take_scripts(g, t) &&
                       take_frames(g, t) && take_drivers(g, t) && task_take(g, t->arena, &t->missing) &&
                       npu_take(g, t->arena, &t->missing);
    sched_init(g);
    if (taken) {
        script_speed_up(g, t->arena);
    }
    return taken;
}

/* ---- RESET ------------------------------------------------------------------ */

static void boot_params(tw_graph_t *g, tw_graph_node_t *n, const tw_img_node_parts_t *p)
{
    if (p->params_at == 0) {
        return;
    }
    const uint32_t word = tw_img_word(g->env.image.nodes, p->params_at, 1);
    const uint8_t *value =
        g->img + tw_img_section(g->img, TW_SEC_PARAMS).at + tw_img_word(g->env.image.nodes, p->params_at, 0);
    (void)tw_graph_set_param(g, (uint32_t)(n - g->nodes), tw_bits(word, TW_NP_TAG), value, tw_bits(word, TW_NP_BYTES));
}

/* Grants are in the order of the nodes. */
uint32_t first_grant(const tw_graph_t *g, uint32_t node)
{
    uint32_t low = 0, high = g->n_grants;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (g->grants[mid].node < node) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void fill_reset(const tw_graph_t *g, const tw_graph_node_t *n, const tw_img_node_parts_t *p, tw_node_reset_t *r)
{
    const uint8_t *img = g->env.image.nodes;
    *r = (tw_node_reset_t){.svc = &g->svc, .rx = n->rx, .tx = n->tx, .script = n->own_script};
    for (uint32_t i = 0; i < p->blocks; i++) {
        const uint32_t at = p->blocks_at + 4u * TW_NODE_BLOCK_WORDS * i;
        const int bank = img_bank(g->env.image.whole, tw_bits(tw_img_word(img, at, 0), TW_NB_VID));
        r->mem[i] = g->banks[bank] + tw_img_word(img, at, 1);
        r->mem_bytes[i] = tw_img_word(img, at, 2);
    }
    for (uint32_t i = first_grant(g, (uint32_t)(n - g->nodes)); i < g->n_grants; i++) {
        const grant_t *k = &g->grants[i];
        if (k->node != (uint32_t)(n - g->nodes)) {
            break;
        }
        r->mem[k->block] = g->banks[k->bank] + k->at;
        r->mem_bytes[k->block] = k->bytes;
    }
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        const tw_graph_place_t *k = &g->places[i];
        r->mem[k->block] = k->fast != NULL ? k->fast : k->at;
    }
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        r->fmt[i] = &g->formats[img_ref_format(img, p, i)];
        r->hqos |= (uint16_t)(n->refs[i].hqos << i);
        r->lock |= (uint16_t)(n->refs[i].lock << i);
    }
}

void node_memory(const tw_graph_t *g, uint32_t node, tw_node_reset_t *r)
{
    const tw_img_node_parts_t p = tw_img_node_parts(g->env.image.nodes, g->nodes[node].record);
    fill_reset(g, &g->nodes[node], &p, r);
    for (uint32_t i = 0; i < g->nodes[node].places; i++) {
        const tw_graph_place_t *k = &g->places[g->nodes[node].place + i];
        r->mem[k->block] = k->at;
    }
}

/* Nodes do not clear what is backed up. */
static void clear_backups(tw_graph_t *g, const tw_graph_node_t *n)
{
    for (uint32_t i = n->place; i < n->place + n->places; i++) {
        if ((g->places[i].flags & TW_PLACE_BACKUP) != 0) {
            memset(g->places[i].at, 0, g->places[i].bytes);
        }
    }
}

/* A preset chosen since the load may mean more than values of parameters: it stays until the graph is RESET. */
enum { PRESET_OF_IMAGE = -1, PRESET_AS_IT_IS = -2 };

static void reset_node(tw_graph_t *g, uint32_t node, int preset, bool warm, uint32_t goes_on)
{
    tw_graph_node_t *n = &g->nodes[node];
    if (!warm && !g->restored) {
        clear_backups(g, n);
    }
    const tw_img_node_parts_t p = tw_img_node_parts(g->env.image.nodes, n->record);
    const uint32_t image_preset = tw_bits(tw_img_word(g->env.image.nodes, n->record, 1), TW_N1_PRESET);
    n->preset = (uint8_t)(preset >= 0 ? (uint32_t)preset : preset == PRESET_OF_IMAGE ? image_preset : n->preset);
    tw_node_reset_t r;
    fill_reset(g, n, &p, &r);
    n->inst = r.mem[0];
    tw_graph_bind(g, node);
    tw_xdm_t data = {.ptr = &r, .bytes = sizeof r};
    const uint32_t cmd = TW_CMD_RESET | tw_put_bits(warm, TW_LO(TW_CMD_WARM)) | n->command |
                         tw_put_bits(goes_on, TW_LO(TW_CMD_TAG)) | tw_put_bits(n->preset, TW_LO(TW_CMD_PRESET));
    uint32_t state = 0;
    const uint32_t caller = g->current;
    g->current = node;
    const uint32_t err = call_node(n, cmd, &data, &state);
    g->current = caller;
    if (err != 0) {
        node_error(g, node, err);
    } else if (preset < 0 && n->preset == image_preset) {
        boot_params(g, n, &p);
    }
}

void tw_graph_reset_node(tw_graph_t *g, uint32_t node, int preset, bool warm)
{
    const tw_graph_node_t *n = &g->nodes[node];
    const int64_t args[2] = {PHASE_RESET, preset};
    reset_node(g, node, preset, warm, 0);
    if (n->script >= 0) { /* BUSY inside another script: who RESETs a node there knows that it did */
        (void)script_run_for(g, node, (uint32_t)n->script, args, 2, true, NULL);
    }
}

#if !TW_SMALL
void graph_reset_carried(tw_graph_t *g, uint32_t node, bool goes_on)
{
    reset_node(g, node, PRESET_AS_IT_IS, true, goes_on ? TW_RESET_GOES_ON : 0);
}
#endif

void tw_graph_restart(tw_graph_t *g, uint8_t *scratch, uint32_t value_bytes)
{
    asks_reset(g);
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        prefill_arc(g, i);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const uint32_t saved = tw_graph_save_params(g, i, scratch);
        reset_node(g, i, PRESET_AS_IT_IS, false, 0);
        tw_graph_restore_params(g, i, scratch, saved, scratch + value_bytes);
    }
}

void tw_graph_reset(tw_graph_t *g, bool warm)
{
    control_reset(g);
    asks_reset(g);
    debug_gone(g, 0, true, TW_STOP_RESET);
    g->use_case = warm ? g->use_case : 0;
    driver_reset(g);
    task_reset(g);
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        prefill_arc(g, i);
    }
    for (uint32_t i = 0; i < g->n_scripts; i++) {
        tw_graph_enable_script(g, i, true);
        if (!warm && g->scripts[i].boot.mem != NULL) {
            memset(g->scripts[i].boot.mem, 0, g->scripts[i].boot.mem_bytes);
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].failed = false;
        tw_graph_reset_node(g, i, -1, warm);
    }
}

void tw_graph_stop(tw_graph_t *g)
{
    tw_graph_ios_stop(g);
    npu_reset(g);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t state = 0;
        tw_xdm_t none = {0};
        g->current = i;
        (void)call_node(&g->nodes[i], TW_CMD_STOP | g->nodes[i].command, &none, &state);
    }
}

tw_err_t tw_graph_load(tw_graph_t *g, const uint8_t *img, const tw_graph_env_t *env, tw_arena_t *arena,
                       tw_fault_t *fault)
{
    const size_t mark = arena->used;
    const tw_img_counts_t n = tw_img_counts(img);
    memset(g, 0, sizeof *g);
    g->env = *env;
    if (env->image.whole == NULL) {
        g->env.image = (tw_graph_image_t){.whole = img, .nodes = img, .rest = img};
    }
    g->img = g->env.image.rest;
    g->n_nodes = n.nodes;
    g->n_arcs = n.arcs;
    g->n_ios = n.ios;
    g->n_scripts = n.scripts;
    g->n_formats = n.formats;
    g->n_banks = n.banks;
    g->how = (uint8_t)tw_bits(tw_img_word(img, 0, TW_W_CONTROL), TW_W7_RETURN);
    g->debug_fields = (uint8_t)tw_bits(tw_img_word(img, 0, TW_W_CONTROL), TW_W7_DEBUG_SCRIPT);
    taker_t t = {.arena = arena};
    if (!take_all(g, &t)) {
        arena->used = mark;
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = (uint32_t)(t.missing < UINT32_MAX ? t.missing : UINT32_MAX)};
        return TW_E_NOMEM;
    }
    set_periods(g);
    tw_services_default(&g->svc);
    g->svc.ctx = g;
    g->svc.port = env->port;
    g->svc.mask = env->board->services;
    g->svc.run_script = script_call_node;
    g->svc.infer = env->infer;
    g->svc.tick = &g->tick;
    control_init(g);
    script_init(g);
    g->restored = fetch_state(g, *arena);
    g->loading = true;
    tw_graph_reset(g, false);
    g->loading = g->restored = false;
    if (g->node_fault.err != TW_OK) {
        tw_graph_stop(g);
        arena->used = mark;
        *fault = g->node_fault;
    }
    return g->node_fault.err;
}
