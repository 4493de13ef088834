/* graph_check_nodes.c - node records, their memory and their boot parameters. */
#include "engine/graph/graph_priv.h"

/* What our processors can execute (0: anything). */
#ifndef TW_ARCH
#define TW_ARCH 0u
#endif
#define ARCH_SCRIPT 7u

#if TW_SMALL
static bool parts_inside(const check_t *c, uint32_t at, uint32_t end)
{
    (void)c, (void)at, (void)end;
    return true;
}
#else
/* Arcs and blocks: what lies behind them depends on what the blocks say. */
static bool parts_inside(const check_t *c, uint32_t at, uint32_t end)
{
    const uint32_t n1 = tw_img_word(c->img, at, 1), arcs = tw_bits(n1, TW_N1_RX) + tw_bits(n1, TW_N1_TX);
    const uint32_t words = (tw_img_is_compact(c->img, at) ? 2u : 4u) + (tw_img_wide(c->img) ? arcs : (arcs + 1) / 2) +
                           TW_NODE_BLOCK_WORDS * tw_bits(n1, TW_N1_BLOCKS);
    return tw_inside32(at, 4 * words, end);
}
#endif

/* The record lies inside the section, also its parts of varying size. */
static tw_err_t check_record(const check_t *c, uint32_t node, uint32_t *record)
{
    const tw_img_section_t sec = tw_img_section(c->img, TW_SEC_NODES);
    const uint32_t entry = sec.at + 4u * node, at = tw_img_word(c->img, entry, 0);
    const uint32_t first = sec.at + 4u * c->n.nodes, end = sec.at + sec.bytes;
    const bool placed = at % 4 == 0 && at >= first && tw_inside32(at, TW_COMPACT_RECORDS ? 8 : 16, end);
    if (!placed || (!tw_img_is_compact(c->img, at) && !tw_inside32(at, 16, end))) {
        return check_refuse(c, TW_E_IMG_NODE, SEC(NODES), entry);
    }
    if (!parts_inside(c, at, end)) {
        return check_refuse(c, TW_E_IMG_NODE, SEC(NODES), at);
    }
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, at);
    if (p.end > end || p.blocks > TW_MAX_NODE_MEM || p.rx + p.tx > TW_MAX_NODE_ARCS) {
        return check_refuse(c, TW_E_IMG_NODE, SEC(NODES), at);
    }
    *record = at;
    return TW_OK;
}

const tw_node_desc_t *check_type_of(const check_t *c, uint32_t record)
{
#if TW_COMPACT_RECORDS
    return c->board != NULL ? img_type(c->img, c->order, record) : NULL;
#else
    return c->board != NULL ? tw_node_find(tw_img_word(c->img, record, 2)) : NULL;
#endif
}

/* What this device, or no device at all, has to say about the type and where it may run. */
static tw_err_t check_installed(const check_t *c, uint32_t at)
{
    const uint32_t n0 = tw_img_word(c->img, at, 0);
    const uint32_t proc = tw_bits(n0, TW_N0_PROC), arch = tw_bits(n0, TW_N0_ARCH);
    const tw_node_desc_t *d = check_type_of(c, at);
    if (d == NULL) {
        return check_refuse(c, TW_E_IMG_NODE_MISSING, SEC(NODES), tw_img_is_compact(c->img, at) ? at : at + 8);
    }
    const bool compact = tw_img_is_compact(c->img, at); /* the catalogue says which versions */
    const uint32_t version = compact ? d->version : tw_bits(tw_img_word(c->img, at, 3), TW_N3_VERSION);
    if (version >> 8 != d->version >> 8 || (version & 255u) > (d->version & 255u)) {
        return check_refuse(c, TW_E_IMG_NODE_VERSION, SEC(NODES), at + 12);
    }
    const bool arch_ok = arch == 0 || arch == ARCH_SCRIPT || TW_ARCH == 0u || arch == TW_ARCH;
    if ((proc != 0 && (tw_board_processors(c->board) >> (proc - 1) & 1u) == 0) || !arch_ok) {
        return check_refuse(c, TW_E_IMG_NODE_ARCH, SEC(NODES), at);
    }
#if !TW_SMALL
    if (tw_bits(n0, TW_N0_ISOLATE) && c->board->isolate == NULL) {
        return check_refuse(c, TW_E_IMG_SERVICE, SEC(NODES), at);
    }
#endif
    if ((d->services & ~c->board->services) != 0) {
        return check_refuse(c, TW_E_IMG_SERVICE, SEC(NODES), compact ? at : at + 8);
    }
    return TW_OK;
}

static tw_err_t check_type(const check_t *c, uint32_t at)
{
    const uint32_t n0 = tw_img_word(c->img, at, 0), n1 = tw_img_word(c->img, at, 1);
#if TW_COMPACT_RECORDS
    if (tw_bits(n0, TW_N0_COMPACT) && tw_img_word(c->img, 0, TW_W_CATALOGUE) == 0) {
        return check_refuse(c, TW_E_IMG_CATALOGUE, SEC(NODES), at);
    }
    /* there is no room for parameters in a compact record, and blocks are placed or asked for */
    if ((tw_bits(n0, TW_N0_COMPACT) && tw_bits(n0, TW_N0_PARAMS)) ||
        ((tw_bits(n0, TW_N0_COMPACT) || tw_bits(n1, TW_N1_DYNAMIC)) && tw_bits(n1, TW_N1_BLOCKS))) {
        return check_refuse(c, TW_E_IMG_NODE, SEC(NODES), at);
    }
#else
    if (tw_bits(n0, TW_N0_COMPACT) || tw_bits(n1, TW_N1_DYNAMIC)) {
        return check_refuse(c, TW_E_IMG_NODE, SEC(NODES), at);
    }
#endif
    if (tw_bits(n0, TW_N0_KEY)) {
        return check_refuse(c, TW_E_IMG_NODE_KEY, SEC(NODES), at);
    }
    return c->board != NULL ? check_installed(c, at) : TW_OK;
}

static tw_err_t check_shape(const check_t *c, uint32_t at)
{
    const tw_node_desc_t *d = check_type_of(c, at);
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, at);
    const uint32_t n1 = tw_img_word(c->img, at, 1), preset = tw_bits(n1, TW_N1_PRESET);
    if (p.tx == 0) {
        return check_refuse(c, TW_E_IMG_NO_TX, SEC(NODES), at + 4);
    }
    const bool fits = d == NULL || (p.rx >= d->rx_min && p.rx <= d->rx_max && p.tx >= d->tx_min && p.tx <= d->tx_max &&
                                    (p.blocks >= d->n_mem || tw_img_is_dynamic(c->img, at)));
    if (!fits || tw_bits(n1, TW_N1_SCRIPT) > c->n.scripts) {
        return check_refuse(c, TW_E_IMG_NODE, SEC(NODES), at + 4);
    }
    if (d != NULL && preset != 0 && (d->presets >> preset & 1u) == 0) {
        return check_refuse(c, TW_E_PARAM_PRESET, SEC(NODES), at + 4);
    }
    return TW_OK;
}

TW_OWN_FRAME tw_err_t check_nodes(const check_t *c)
{
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        uint32_t at = 0;
        TW_TRY(check_record(c, i, &at));
        TW_TRY(check_meta_of(c, at));
        TW_TRY(check_type(c, at));
        TW_TRY(check_shape(c, at));
    }
    return TW_OK;
}

/* ---- memory: every block inside its bank, none on another ------------------- */

typedef struct span {
    uint32_t bank, at, end;
    uint32_t thread; /* blocks of one thread never live at once */
    uint32_t record; /* but all of one node's do */
    uint32_t where;  /* image offset of the words that ask for it */
    uint32_t section;
    bool working;
} span_t;

typedef struct spans {
    span_t *v;
    uint32_t n;
    uint32_t backup; /* bytes that are backed up */
} spans_t;

static tw_err_t refuse_span(const check_t *c, const span_t *s)
{
    const tw_err_t err = s->section == SEC(ARCS)               ? TW_E_IMG_ARC_BUFFER
                         : !TW_SMALL && s->section == SEC(IOS) ? TW_E_IMG_IO
                                                               : TW_E_IMG_MEM;
    return check_refuse(c, err, s->section, s->where);
}

/* `span` so far has no bank and no end. */
static tw_err_t add_span(const check_t *c, spans_t *s, span_t *span, uint32_t vid, uint32_t bytes)
{
    const int bank = img_bank(c->img, vid);
    if (bank < 0) {
        return refuse_span(c, span);
    }
    const uint32_t at = tw_img_record(c->img, TW_SEC_BANKS, (uint32_t)bank, TW_BANK_WORDS);
    if (!tw_inside32(span->at, bytes, tw_img_word(c->img, at, 1) + tw_img_word(c->img, at, 2))) {
        return refuse_span(c, span);
    }
    span->bank = (uint32_t)bank;
    span->end = span->at + bytes;
    if (bytes != 0) {
        s->v[s->n++] = *span;
    }
    return TW_OK;
}

static uint32_t bank_align(const check_t *c, uint32_t vid)
{
    const int bank = img_bank(c->img, vid);
    if (bank < 0) {
        return 1;
    }
    const uint32_t at = tw_img_record(c->img, TW_SEC_BANKS, (uint32_t)bank, TW_BANK_WORDS);
    return tw_max_u32(TW_BANK_ALIGN, 1u << tw_bits(tw_img_word(c->img, at, 0), TW_B0_ALIGN));
}

/* A block that was moved lives in its fast bank from RESET on: all banks are there while the graph is. The place it
 * came from is kept free, at the same offset of its home bank. */
#define SWAP_MAX (TW_SMALL ? TW_NB_STAYS : TW_NB_IN)

#if TW_SMALL
static tw_err_t check_own(const check_t *c, const spans_t *s, uint32_t first)
{
    (void)c, (void)s, (void)first;
    return TW_OK;
}

static tw_err_t check_life(const check_t *c, spans_t *s, const tw_node_desc_t *d, uint32_t m, uint32_t at)
{
    (void)c, (void)s, (void)d, (void)m, (void)at;
    return TW_OK;
}
#else
/* Only what the type can be told may move. What is restored comes from outside: only types that look at it before they
 * use it. And not without end. */
static tw_err_t check_life(const check_t *c, spans_t *s, const tw_node_desc_t *d, uint32_t m, uint32_t at)
{
    const bool moves = tw_bits(tw_img_word(c->img, at, 0), TW_NB_RELOC) != 0;
    if (moves && d != NULL && (m >= d->n_mem || d->mem[m].reloc == 0)) {
        return check_refuse(c, TW_E_IMG_MEM, SEC(NODES), at);
    }
    if (tw_bits(tw_img_word(c->img, at, 0), TW_NB_TYPE) != 3) {
        return TW_OK;
    }
    const uint32_t bytes = tw_img_word(c->img, at, 2);
    const bool looks = d == NULL || (m < d->n_mem && d->mem[m].type == 3);
    if (!looks || bytes > TW_STATE_MAX - s->backup) {
        return check_refuse(c, TW_E_IMG_MEM, SEC(NODES), at);
    }
    s->backup += bytes;
    return TW_OK;
}

/* Who is brought in shares the place with others of its thread, and there is no one thread where any processor may
 * run the node. What must not last has nothing to take back; what changes in a run is no constant. */
static bool may_stage(const span_t *span, uint32_t word)
{
    const uint32_t type = tw_bits(word, TW_NB_TYPE);
    const bool lasts = type == 0 || (type == 3 && tw_bits(word, TW_NB_SWAP) == TW_NB_IN_OUT);
    return lasts && span->thread < TW_THREADS;
}

/* The home of a block: bytes of its own, as well aligned as where it runs. */
static tw_err_t add_home(const check_t *c, spans_t *s, const tw_img_node_parts_t *p, uint32_t m, span_t span)
{
    const uint32_t at = p->blocks_at + 4u * TW_NODE_BLOCK_WORDS * m, w = tw_img_word(c->img, at, 0);
    const uint32_t bytes = tw_img_word(c->img, at, 2), vid = tw_bits(w, TW_NB_HOME);
    const bool staged = tw_img_is_staged(w);
    if (staged) {
        span.where = tw_img_home_at(c->img, p, m);
        span.at = tw_img_word(c->img, span.where, 0);
        span.working = false;
    }
    const tw_node_desc_t *d = check_type_of(c, span.record);
    const uint32_t align = d != NULL && m < d->n_mem ? tw_max_u32(d->mem[m].align, 4) : 4;
    if (staged && (span.at % align != 0 || align > bank_align(c, vid))) {
        return check_refuse(c, TW_E_IMG_MEM, SEC(NODES), span.where);
    }
    return add_span(c, s, &span, vid, bytes);
}

/* Scratch may be laid over that of other nodes, not over another block of the same. */
static tw_err_t check_own(const check_t *c, const spans_t *s, uint32_t first)
{
    for (const span_t *p = s->v + first; p < s->v + s->n; p++) {
        for (const span_t *q = s->v + first; q < p; q++) {
            if (p->bank == q->bank && p->at < q->end && q->at < p->end) {
                return refuse_span(c, p);
            }
        }
    }
    return TW_OK;
}
#endif

static tw_err_t check_block(const check_t *c, spans_t *s, uint32_t record, uint32_t m)
{
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    const uint32_t at = p.blocks_at + 4u * TW_NODE_BLOCK_WORDS * m;
    const uint32_t w = tw_img_word(c->img, at, 0), offset = tw_img_word(c->img, at, 1),
                   bytes = tw_img_word(c->img, at, 2);
    const uint32_t type = tw_bits(w, TW_NB_TYPE), vid = tw_bits(w, TW_NB_VID), swap = tw_bits(w, TW_NB_SWAP);
    const tw_node_desc_t *d = check_type_of(c, record);
    if (tw_bits(w, TW_NB_ZERO) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(NODES), at);
    }
    if (swap > SWAP_MAX || (swap == TW_NB_STAYS && tw_bits(w, TW_NB_HOME) != 0)) {
        return check_refuse(c, swap > SWAP_MAX ? TW_E_IMG_MEM_SWAP : TW_E_IMG_RESERVED, SEC(NODES), at);
    }
    const bool working = type == 1 || type == 2;
    if (d != NULL && m < d->n_mem) {
        const uint32_t align = tw_max_u32(d->mem[m].align, 4);
        if (offset % align != 0 || align > bank_align(c, vid) || (working && d->mem[m].type == 0)) {
            return check_refuse(c, TW_E_IMG_MEM, SEC(NODES), at);
        }
    }
    span_t span = {.at = offset,
                   .where = at,
                   .section = SEC(NODES),
                   .working =
                       type == 1 || tw_img_is_staged(w), /* what lasts until the run completes is laid on nothing */
                   .thread = img_thread(c->img, record),
                   .record = record};
#if !TW_SMALL
    if (tw_img_is_staged(w) && !may_stage(&span, w)) {
        return check_refuse(c, TW_E_IMG_MEM_SWAP, SEC(NODES), at);
    }
#endif
    TW_TRY(add_span(c, s, &span, vid, bytes));
    TW_TRY(check_life(c, s, d, m, at));
#if !TW_SMALL
    return swap == TW_NB_STAYS ? TW_OK : add_home(c, s, &p, m, span);
#else
    return TW_OK;
#endif
}

/* A constant has no buffer. Two arcs that share one are one span; check_arcs() looks whether they may. */
static tw_err_t add_arc_span(const check_t *c, spans_t *s, uint32_t arc)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_ARCS, arc, TW_ARC_WORDS);
    if (tw_bits(tw_img_word(c->img, at, 0), TW_A0_TYPE) == TW_ARC_CONSTANT ||
        (!TW_SMALL && img_shares(c->img, arc) < arc)) {
        return TW_OK;
    }
    span_t span = {.at = tw_img_word(c->img, at, 1), .where = at + 4, .section = SEC(ARCS)};
    if (span.at % 4 != 0) {
        return check_refuse(c, TW_E_IMG_ARC_BUFFER, SEC(ARCS), at + 4);
    }
    return add_span(c, s, &span, tw_bits(tw_img_word(c->img, at, 0), TW_A0_VID), tw_img_word(c->img, at, 2));
}

#if !TW_SMALL
/* Where a driver puts or takes data; drivers of no copies have none. */
static tw_err_t add_io_span(const check_t *c, spans_t *s, uint32_t io)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, io, TW_IO_WORDS), bytes = tw_img_word(c->img, at, 7);
    span_t span = {.at = tw_img_word(c->img, at, 6), .where = at + 24, .section = SEC(IOS)};
    if (tw_bits(tw_img_word(c->img, at, 5), TW_I5_ZERO) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(IOS), at + 20);
    }
    if (bytes == 0) {
        return TW_OK;
    }
    if (span.at % 4 != 0) {
        return check_refuse(c, TW_E_IMG_IO, SEC(IOS), at + 24);
    }
    return add_span(c, s, &span, tw_bits(tw_img_word(c->img, at, 5), TW_I5_VID), bytes);
}
#else
/* No drivers with buffers of the graph there. */
static tw_err_t add_io_span(const check_t *c, spans_t *s, uint32_t io)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, io, TW_IO_WORDS);
    (void)s;
    return tw_img_word(c->img, at, 7) == 0 ? TW_OK : check_refuse(c, TW_E_IMG_IO, SEC(IOS), at + 28);
}
#endif

#if !TW_SMALL
static bool span_after(const span_t *a, const span_t *b)
{
    if (a->bank != b->bank) {
        return a->bank > b->bank;
    }
    return a->at != b->at ? a->at > b->at : a->where > b->where; /* the later record is the one refused */
}

static void sift_down(span_t *v, uint32_t root, uint32_t n)
{
    for (uint32_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && span_after(&v[child + 1], &v[child])) {
            child++;
        }
        if (!span_after(&v[child], &v[root])) {
            return;
        }
        const span_t t = v[root];
        v[root] = v[child];
        v[child] = t;
        root = child;
    }
}

/* Heap sort: in place, no recursion, and no input makes it slow. */
static void sort_spans(spans_t *s)
{
    for (uint32_t i = s->n / 2; i-- > 0;) {
        sift_down(s->v, i, s->n);
    }
    for (uint32_t n = s->n; n > 1; n--) {
        const span_t t = s->v[0];
        s->v[0] = s->v[n - 1];
        s->v[n - 1] = t;
        sift_down(s->v, 0, n - 1);
    }
}

/* Sweep in rising order, keeping the furthest end seen of static spans and of working spans, the
 * latter with its thread: overlays are legal only inside one thread. */
static tw_err_t sweep(const check_t *c, const spans_t *s)
{
    uint32_t bank = UINT32_MAX, static_end = 0, working_end = 0, thread = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const span_t *p = &s->v[i];
        if (p->bank != bank) {
            bank = p->bank;
            static_end = working_end = 0;
        }
        const bool on_working = p->at < working_end && (!p->working || p->thread != thread);
        if (p->at < static_end || on_working) {
            return refuse_span(c, p);
        }
        if (!p->working) {
            static_end = p->end;
        } else {
            working_end = tw_max_u32(working_end, p->end);
            thread = p->thread;
        }
    }
    return TW_OK;
}

static tw_err_t check_overlaps(const check_t *c, spans_t *s)
{
    sort_spans(s);
    return sweep(c, s);
}
#else
/* Of few spans every pair is looked at: a tenth of the code. The later one of a pair is the one refused. */
static tw_err_t check_overlaps(const check_t *c, const spans_t *s)
{
    for (const span_t *p = s->v; p < s->v + s->n; p++) {
        for (const span_t *q = s->v; q < p; q++) {
            const bool overlay = p->working && q->working && p->thread == q->thread;
            if (p->bank == q->bank && p->at < q->end && q->at < p->end && !overlay) {
                return refuse_span(c, p);
            }
        }
    }
    return TW_OK;
}
#endif

/* A buffer an arc and an IO, a block, and the home of a copied one. */
static uint32_t count_spans(const check_t *c)
{
    uint32_t n = c->n.arcs + c->n.ios;
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        const tw_img_node_parts_t p = tw_img_node_parts(c->img, tw_img_node(c->img, i));
        for (uint32_t m = 0; m < p.blocks; m++) {
            const uint32_t w = tw_img_word(c->img, p.blocks_at, TW_NODE_BLOCK_WORDS * m);
            n += !TW_SMALL && tw_bits(w, TW_NB_SWAP) != 0 ? 2 : 1;
        }
    }
    return n;
}

TW_OWN_FRAME tw_err_t check_memory(const check_t *c)
{
    const uint32_t n = count_spans(c);
    spans_t s = {.v = tw_arena_take(c->scratch, n * sizeof(span_t), _Alignof(span_t))};
    if (s.v == NULL) {
        return check_refuse(c, TW_E_NOMEM, 0, (uint32_t)(n * sizeof(span_t)));
    }
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        const uint32_t record = tw_img_node(c->img, i), blocks = tw_img_node_parts(c->img, record).blocks;
        const uint32_t first = s.n;
        for (uint32_t m = 0; m < blocks; m++) {
            TW_TRY(check_block(c, &s, record, m));
        }
        TW_TRY(check_own(c, &s, first));
    }
    for (uint32_t i = 0; i < c->n.arcs; i++) {
        TW_TRY(add_arc_span(c, &s, i));
    }
    for (uint32_t i = 0; i < c->n.ios; i++) {
        TW_TRY(add_io_span(c, &s, i));
    }
    return check_overlaps(c, &s);
}

/* ---- boot parameters ---------------------------------------------------------- */

static tw_err_t check_boot(const check_t *c, uint32_t record)
{
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    if (p.params_at == 0) {
        return TW_OK;
    }
    const tw_img_section_t sec = tw_img_section(c->img, TW_SEC_PARAMS);
    const uint32_t offset = tw_img_word(c->img, p.params_at, 0), word = tw_img_word(c->img, p.params_at, 1);
    const uint32_t bytes = tw_bits(word, TW_NP_BYTES), tag = tw_bits(word, TW_NP_TAG);
    if (!tw_inside32(offset, bytes, sec.bytes) || tag > TW_TAG_ALL) {
        return check_refuse(c, TW_E_IMG_PARAM, SEC(NODES), p.params_at);
    }
    tw_format_t f;
    img_format(c->img, img_ref_format(c->img, &p, 0), &f);
    tw_fault_t inner = {0};
    const tw_node_desc_t *d = check_type_of(c, record);
    const tw_err_t err = d == NULL ? TW_OK : tw_param_check(d, &f, tag, 0, c->img + sec.at + offset, bytes, &inner);
    return err == TW_OK ? TW_OK : check_refuse(c, err, SEC(PARAMS), sec.at + offset);
}

TW_OWN_FRAME tw_err_t check_boot_params(const check_t *c)
{
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        TW_TRY(check_boot(c, tw_img_node(c->img, i)));
    }
    return TW_OK;
}
