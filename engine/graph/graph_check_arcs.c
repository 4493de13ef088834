/* graph_check_arcs.c - arcs against nodes and formats, loops, and scripts. */
#include "engine/base/crc.h"
#include "engine/graph/graph_priv.h"

/* A lock arc starts and ends at one transmit port: it is there for its descriptor, never for data. */
static bool is_lock(const check_t *c, uint32_t arc)
{
    const tw_img_ends_t e = tw_img_ends(c->img, arc);
    if (!tw_img_same_port(&e) || e.from >= c->n.nodes) {
        return false;
    }
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, tw_img_node(c->img, e.from));
    return e.from_port < p.rx + p.tx && tw_img_ref(c->img, &p, e.from_port).lock;
}

static inline bool plain_arc(uint32_t a0, uint32_t a4)
{
    const uint32_t more = 2u << TW_LO(TW_A0_TYPE) | 1u << TW_LO(TW_A0_HQOS) | 1u << TW_LO(TW_A0_PREFILL);
    return (a0 & more) == 0 && (a4 & ~(1u << TW_LO(TW_A4_ALIGN))) == 0;
}

static tw_err_t check_words(const check_t *c, uint32_t arc, uint32_t at)
{
    const uint32_t a0 = tw_img_word(c->img, at, 0), a4 = tw_img_word(c->img, at, 4);
    if (tw_bits(a0, TW_A0_ZERO) || tw_bits(a4, TW_A4_ZERO) || tw_img_arc_reserved(c->img, arc) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(ARCS), at);
    }
    /* The small profile knows plain arcs alone: no flow-error policies, crumbs, debug tasks, scripts, high QoS, data to
     * begin with other than zeros. */
    if (TW_SMALL && !plain_arc(a0, a4)) {
        return check_refuse(c, TW_E_IMG_ARC, SEC(ARCS), at);
    }
    /* Debug tasks write registers and nothing else. */
    const uint32_t registers = tw_bits(tw_img_word(c->img, 0, TW_W_COUNTS3), TW_W14_REGISTERS);
    const bool no_register =
        !TW_SMALL && tw_bits(a4, TW_A4_DEBUG_CMD) != 0 && tw_bits(a4, TW_A4_DEBUG_REG) >= registers;
    if (no_register || (!TW_SMALL && tw_bits(a4, TW_A4_SCRIPT) > c->n.scripts)) {
        return check_refuse(c, TW_E_IMG_ARC, SEC(ARCS), at);
    }
    if (tw_bits(a0, TW_A0_PRODUCER_FORMAT) >= c->n.formats || tw_bits(a0, TW_A0_CONSUMER_FORMAT) >= c->n.formats) {
        return check_refuse(c, TW_E_IMG_ARC_FORMAT, SEC(ARCS), at);
    }
    return TW_OK;
}

/* The node's record must name this arc at this port. */
static bool node_agrees(const check_t *c, uint32_t node, uint32_t port, uint32_t arc, bool tx)
{
    if (node >= c->n.nodes) {
        return false;
    }
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, tw_img_node(c->img, node));
    const bool side = tx ? port >= p.rx && port < p.rx + p.tx : port < p.rx;
    return side && tw_img_ref(c->img, &p, port).arc == arc;
}

/* The IO record must name this arc and have its direction. */
static bool io_agrees(const check_t *c, uint32_t io, uint32_t arc, bool tx)
{
    if (io >= c->n.ios) {
        return false;
    }
    const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, io, TW_IO_WORDS);
    return tw_bits(tw_img_word(c->img, at, 1), TW_I1_ARC) == arc &&
           tw_bits(tw_img_word(c->img, at, 0), TW_I0_TX) == (tx ? 1u : 0u);
}

static tw_err_t check_ends(const check_t *c, uint32_t arc, uint32_t at)
{
    const tw_img_ends_t e = tw_img_ends(c->img, arc);
    if (e.from == TW_IMG_IO && e.to == TW_IMG_IO) {
        return check_refuse(c, TW_E_IMG_ARC_ENDS, SEC(ARCS), at + 12);
    }
    const bool constant = !TW_SMALL && tw_bits(tw_img_word(c->img, at, 0), TW_A0_TYPE) == TW_ARC_CONSTANT;
    const uint32_t io = tw_img_arc_io(c->img, arc);
    const bool from_ok = constant              ? e.from == TW_IMG_IO
                         : e.from == TW_IMG_IO ? io_agrees(c, io, arc, false)
                                               : node_agrees(c, e.from, e.from_port, arc, true);
    const bool to_ok =
        e.to == TW_IMG_IO ? io_agrees(c, io, arc, true) : node_agrees(c, e.to, e.to_port, arc, is_lock(c, arc));
    if (!from_ok || !to_ok) {
        return check_refuse(c, TW_E_IMG_ARC_ENDS, SEC(ARCS), at + 12);
    }
    return TW_OK;
}

/* Frames may differ in length; anything else needs a converter node. Blocks of one channel each
 * cannot be cut differently either. */
static bool formats_match(const tw_format_t *a, const tw_format_t *b)
{
    const bool blocks = a->interleave == 1 && a->channels > 1;
    return a->raw == b->raw && a->channels == b->channels && (a->interleave == b->interleave || a->channels == 1) &&
           a->rate_hz == b->rate_hz && a->ts == b->ts && (a->ts == 0 || a->ts_size == b->ts_size) &&
           (a->frame_bytes == b->frame_bytes || (a->ts == 0 && !blocks));
}

#if !TW_SMALL
static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Samples by which a node moves data at one of its arcs: it may take and give whole frames of another, which are part
 * of a frame here. A converter puts frames together inside. */
static uint32_t step_of(const check_t *c, uint32_t node, uint32_t step)
{
    if (node == TW_IMG_IO) {
        return step;
    }
    const uint32_t record = tw_img_node(c->img, node);
    const tw_node_desc_t *d = tw_img_is_compact(c->img, record) ? img_type(c->img, c->order, record) : NULL;
    const uint32_t hash = d != NULL ? d->hash : tw_img_word(c->img, record, 2);
    if (hash == tw_fnv1a("ARM/arm_stream_converter")) {
        return step;
    }
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    for (uint32_t i = 0; i < p.rx + p.tx; i++) {
        const uint32_t format = img_ref_format(c->img, &p, i);
        const uint32_t at = tw_img_record(c->img, TW_SEC_FORMATS, format, TW_FORMAT_WORDS);
        step = common_divisor(step, tw_img_word(c->img, at, 7));
    }
    return step;
}

/* Bytes by which the fill of an arc moves at least. */
static uint32_t step_bytes(const check_t *c, uint32_t arc, const tw_format_t *from, const tw_format_t *to)
{
    const uint32_t step = common_divisor(from->frame_bytes, to->frame_bytes);
    if (from->samples == 0 || from->frame_bytes % from->samples != 0 || from->ts != 0) {
        return step;
    }
    const tw_img_ends_t e = tw_img_ends(c->img, arc);
    const uint32_t samples = step_of(c, e.to, step_of(c, e.from, from->samples));
    return common_divisor(step, samples * (from->frame_bytes / from->samples));
}

static uint32_t crumb(uint32_t a4, uint32_t code, uint32_t size, uint32_t frame)
{
    return tw_bits(a4, TW_A4_CRUMBS) == 0 ? frame : tw_max_u32(frame, (size + (2u << code) - 1) / (2u << code));
}

/* With the most that is too little for the consumer there must be room for the producer, or nothing would ever move
 * again. Frames need in + out - step bytes. */
static bool never_stuck(const check_t *c, uint32_t arc, uint32_t at, const tw_format_t *from, const tw_format_t *to)
{
    const uint32_t a4 = tw_img_word(c->img, at, 4), size = tw_img_word(c->img, at, 2);
    const bool modulo = tw_bits(tw_img_word(c->img, at, 0), TW_A0_TYPE) == TW_ARC_MODULO;
    const uint32_t cap = size - (modulo ? 1u : 0u), step = step_bytes(c, arc, from, to);
    const uint32_t in = crumb(a4, tw_bits(a4, TW_A4_CRUMB_OUT), size, from->frame_bytes),
                   out = crumb(a4, tw_bits(a4, TW_A4_CRUMB_IN), size, to->frame_bytes);
    const uint32_t rest = (out - 1) / step * step;
    return rest <= cap && in <= cap - rest;
}
#else
/* Without arithmetic: where there is one format everything moves in its frames, otherwise there is room for both. */
static bool never_stuck(const check_t *c, uint32_t arc, uint32_t at, const tw_format_t *from, const tw_format_t *to)
{
    (void)arc;
    return c->n.formats == 1 || tw_img_word(c->img, at, 2) - from->frame_bytes >= to->frame_bytes;
}
#endif

#if !TW_SMALL
/* Data in the image, whole frames, and no buffer. */
static tw_err_t check_constant(const check_t *c, uint32_t at, const tw_format_t *to)
{
    const uint32_t fill = tw_img_word(c->img, at, 5), data = tw_img_word(c->img, at, 6);
    if (tw_img_word(c->img, at, 1) != 0 || tw_img_word(c->img, at, 2) != 0) {
        return check_refuse(c, TW_E_IMG_ARC_BUFFER, SEC(ARCS), at + 4);
    }
    if (fill == 0 || fill % to->frame_bytes != 0) {
        return check_refuse(c, TW_E_IMG_ARC_BUFFER, SEC(ARCS), at + 20);
    }
    const bool inside = tw_inside(data, fill, tw_img_section(c->img, TW_SEC_PARAMS).bytes);
    if (!tw_bits(tw_img_word(c->img, at, 0), TW_A0_PREFILL) || !inside || data % 8 != 0) {
        return check_refuse(c, TW_E_IMG_ARC, SEC(ARCS), at + 24);
    }
    return TW_OK;
}
#endif

static tw_err_t check_buffer(const check_t *c, uint32_t arc, uint32_t at)
{
    const uint32_t a0 = tw_img_word(c->img, at, 0), size = tw_img_word(c->img, at, 2),
                   fill = tw_img_word(c->img, at, 5);
    const uint32_t type = tw_bits(a0, TW_A0_TYPE);
    tw_format_t from, to;
    img_format(c->img, tw_bits(a0, TW_A0_PRODUCER_FORMAT), &from);
    img_format(c->img, tw_bits(a0, TW_A0_CONSUMER_FORMAT), &to);
    if (!formats_match(&from, &to)) {
        return check_refuse(c, TW_E_IMG_ARC_FORMAT, SEC(ARCS), at);
    }
#if !TW_SMALL
    if (type == TW_ARC_CONSTANT) {
        return check_constant(c, at, &to);
    }
#endif
    if (size < tw_max_u32(from.frame_bytes, to.frame_bytes) || !never_stuck(c, arc, at, &from, &to)) {
        return check_refuse(c, TW_E_IMG_ARC_BUFFER, SEC(ARCS), at + 8);
    }
    if (fill > size - (!TW_SMALL && type == TW_ARC_MODULO) || fill % to.frame_bytes != 0) {
        return check_refuse(c, TW_E_IMG_ARC_BUFFER, SEC(ARCS), at + 20);
    }
    if (!TW_SMALL && tw_bits(a0, TW_A0_PREFILL) &&
        !tw_inside32(tw_img_word(c->img, at, 6), fill, tw_img_section(c->img, TW_SEC_PARAMS).bytes)) {
        return check_refuse(c, TW_E_IMG_ARC, SEC(ARCS), at + 24);
    }
    return TW_OK;
}

#if !TW_SMALL
/* One of two arcs in one buffer: plain, moved in whole frames that both ends agree on, and nothing else looks at it. */
static bool plain_share(const check_t *c, uint32_t arc, uint32_t frame)
{
    const uint32_t at = tw_img_arc(c->img, arc), a0 = tw_img_word(c->img, at, 0), a4 = tw_img_word(c->img, at, 4);
    const tw_img_ends_t e = tw_img_ends(c->img, arc);
    tw_format_t from, to;
    img_format(c->img, tw_img_arc_format(c->img, arc, false), &from);
    img_format(c->img, tw_img_arc_format(c->img, arc, true), &to);
    return tw_bits(a0, TW_A0_TYPE) < TW_ARC_MODULO && !tw_bits(a0, TW_A0_HQOS) && !tw_bits(a0, TW_A0_RUNTIME_BASE) &&
           !tw_bits(a4, TW_A4_CRUMBS) && !tw_bits(a4, TW_A4_DEBUG_CMD) && tw_img_word(c->img, at, 5) == 0 &&
           from.frame_bytes == frame && to.frame_bytes == frame && tw_img_word(c->img, at, 2) % frame == 0 &&
           step_bytes(c, arc, &from, &to) == frame && e.from != TW_IMG_IO && e.to != TW_IMG_IO && e.from != e.to;
}

/* The node between them must be one that works in place: one arc in, one out, each sample read before it is written. */
static tw_err_t check_share(const check_t *c, uint32_t arc)
{
    const uint32_t other = img_shares(c->img, arc);
    if (other >= arc) {
        return TW_OK; /* alone, or looked at with the later one */
    }
    const bool second = tw_img_ends(c->img, arc).from == tw_img_ends(c->img, other).to;
    const uint32_t node = second ? tw_img_ends(c->img, arc).from : tw_img_ends(c->img, arc).to;
    tw_format_t f;
    img_format(c->img, tw_img_arc_format(c->img, arc, false), &f);
    bool good = node < c->n.nodes && plain_share(c, arc, f.frame_bytes) && plain_share(c, other, f.frame_bytes);
    if (good) {
        const uint32_t record = tw_img_node(c->img, node);
        const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
        const tw_node_desc_t *d = check_type_of(c, record);
        good = p.rx == 1 && p.tx == 1 && !tw_img_ref(c->img, &p, 0).hqos && !tw_img_ref(c->img, &p, 1).hqos &&
               (d == NULL || d->in_place != 0);
    }
    return good ? TW_OK : check_refuse(c, TW_E_IMG_ARC_BUFFER, SEC(ARCS), tw_img_arc(c->img, arc) + 4);
}
#endif

/* The other direction: every entry of a node's list is an arc that names the node at this port.
 * With both directions checked each arc has exactly one producer and one consumer. */
static tw_err_t check_refs(const check_t *c, uint32_t node)
{
    const uint32_t record = tw_img_node(c->img, node);
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    for (uint32_t i = 0; i < p.rx + p.tx; i++) {
        const tw_img_ref_t ref = tw_img_ref(c->img, &p, i);
        const uint32_t at = tw_img_ref_at(&p, i);
        const bool tx = i >= p.rx;
        if (ref.reserved) {
            return check_refuse(c, TW_E_IMG_RESERVED, SEC(NODES), at);
        }
        if (ref.arc < c->n.arcs && ref.lock && !is_lock(c, ref.arc)) {
            return check_refuse(c, TW_E_IMG_ARC_ENDS, SEC(NODES), at);
        }
        if (ref.arc >= c->n.arcs || ref.tx != tx) {
            return check_refuse(c, TW_E_IMG_ARC_ENDS, SEC(NODES), at);
        }
        const tw_img_ends_t e = tw_img_ends(c->img, ref.arc);
        if ((tx ? e.from : e.to) != node || (tx ? e.from_port : e.to_port) != i) {
            return check_refuse(c, TW_E_IMG_ARC_ENDS, SEC(NODES), at);
        }
    }
    return TW_OK;
}

/* What the node type says about the formats of its arcs: computable raw types, formats together, memory sizes. */
static tw_err_t check_node_formats(const check_t *c, uint32_t node)
{
    const uint32_t record = tw_img_node(c->img, node);
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    const tw_node_desc_t *d = check_type_of(c, record);
    tw_format_t fmt[TW_MAX_NODE_ARCS];
    const tw_format_t *list[TW_MAX_NODE_ARCS];
    for (uint32_t i = 0; d != NULL && i < p.rx + p.tx; i++) {
        img_format(c->img, img_ref_format(c->img, &p, i), &fmt[i]);
        list[i] = &fmt[i];
        if (!tw_img_ref(c->img, &p, i).param && (d->raw_mask >> fmt[i].raw & 1u) == 0) {
            return check_refuse(c, TW_E_IMG_RAW, SEC(NODES), tw_img_ref_at(&p, i));
        }
    }
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
    const tw_err_t err = d != NULL && d->memreq != NULL ? d->memreq(list, p.rx, p.tx, extra, &arc) : TW_OK;
    if (err != TW_OK) {
        return check_refuse(c, err, SEC(NODES), tw_img_ref_at(&p, arc));
    }
    for (uint32_t m = 0; d != NULL && !tw_img_is_dynamic(c->img, record) && m < d->n_mem; m++) {
        const uint32_t at = p.blocks_at + 4u * TW_NODE_BLOCK_WORDS * m;
        if (tw_img_word(c->img, at, 2) < img_mem_need(d, m, list, p.rx + p.tx) + extra[m]) {
            return check_refuse(c, TW_E_IMG_MEM, SEC(NODES), at + 8);
        }
    }
    return TW_OK;
}

TW_OWN_FRAME tw_err_t check_arcs(const check_t *c)
{
    for (uint32_t i = 0; i < c->n.arcs; i++) {
        const uint32_t at = tw_img_arc(c->img, i);
        TW_TRY(check_words(c, i, at));
        TW_TRY(check_ends(c, i, at));
    }
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        TW_TRY(check_refs(c, i));
    }
    for (uint32_t i = 0; i < c->n.arcs; i++) {
        TW_TRY(check_buffer(c, i, tw_img_arc(c->img, i)));
#if !TW_SMALL
        TW_TRY(check_share(c, i));
#endif
    }
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        TW_TRY(check_node_formats(c, i));
    }
    return TW_OK;
}

/* ---- loops ---------------------------------------------------------------------- */

/* An arc that starts with a frame in it does not make its consumer wait. */
static bool arc_waits(const check_t *c, uint32_t arc)
{
    tw_format_t to;
    img_format(c->img, tw_img_arc_format(c->img, arc, true), &to);
    return tw_img_ends(c->img, arc).from != TW_IMG_IO &&
           tw_img_word(c->img, tw_img_arc(c->img, arc), 5) < to.frame_bytes;
}

#if !TW_SMALL
typedef struct order {
    uint16_t *waits; /* inputs of each node not yet delivered */
    uint16_t *ready; /* nodes whose inputs are, in the order found */
    uint32_t n_ready;
} order_t;

static void deliver(const check_t *c, order_t *o, uint32_t node)
{
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, tw_img_node(c->img, node));
    for (uint32_t i = p.rx; i < p.rx + p.tx; i++) {
        const uint32_t arc = tw_img_ref(c->img, &p, i).arc, to = tw_img_ends(c->img, arc).to;
        if (to != TW_IMG_IO && !is_lock(c, arc) && arc_waits(c, arc) && --o->waits[to] == 0) {
            o->ready[o->n_ready++] = (uint16_t)to;
        }
    }
}

TW_OWN_FRAME tw_err_t check_loops(const check_t *c)
{
    order_t o = {
        .waits = tw_arena_take(c->scratch, c->n.nodes * sizeof(uint16_t), 2),
        .ready = tw_arena_take(c->scratch, c->n.nodes * sizeof(uint16_t), 2),
    };
    if (o.waits == NULL || o.ready == NULL) {
        return check_refuse(c, TW_E_NOMEM, 0, (uint32_t)(c->n.nodes * 2u * sizeof(uint16_t)));
    }
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        const tw_img_node_parts_t p = tw_img_node_parts(c->img, tw_img_node(c->img, i));
        o.waits[i] = 0;
        for (uint32_t k = 0; k < p.rx; k++) {
            o.waits[i] = (uint16_t)(o.waits[i] + arc_waits(c, tw_img_ref(c->img, &p, k).arc));
        }
        if (o.waits[i] == 0) {
            o.ready[o.n_ready++] = (uint16_t)i;
        }
    }
    for (uint32_t k = 0; k < o.n_ready; k++) {
        deliver(c, &o, o.ready[k]);
    }
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        if (o.waits[i] != 0) {
            return check_refuse(c, TW_E_IMG_LOOP, SEC(NODES), tw_img_node(c->img, i));
        }
    }
    return TW_OK;
}
#else
/* Of few nodes: those whose inputs all come from nodes that were reached are reached, until none is added. */
static bool reached(const check_t *c, const uint8_t *done, uint32_t node)
{
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, tw_img_node(c->img, node));
    for (uint32_t k = 0; k < p.rx; k++) {
        const uint32_t arc = tw_img_ref(c->img, &p, k).arc;
        if (arc_waits(c, arc) && done[tw_img_ends(c->img, arc).from] == 0) {
            return false;
        }
    }
    return true;
}

TW_OWN_FRAME tw_err_t check_loops(const check_t *c)
{
    uint8_t *done = tw_arena_take(c->scratch, c->n.nodes, 1);
    if (done == NULL) {
        return check_refuse(c, TW_E_NOMEM, 0, c->n.nodes);
    }
    memset(done, 0, c->n.nodes);
    for (uint32_t pass = 0; pass < c->n.nodes; pass++) {
        for (uint32_t i = 0; i < c->n.nodes; i++) {
            done[i] |= reached(c, done, i);
        }
    }
    for (uint32_t i = 0; i < c->n.nodes; i++) {
        if (done[i] == 0) {
            return check_refuse(c, TW_E_IMG_LOOP, SEC(NODES), tw_img_node(c->img, i));
        }
    }
    return TW_OK;
}
#endif

#if TW_SCRIPTS
/* ---- scripts ---------------------------------------------------------------------- */

static tw_err_t check_script_entry(const check_t *c, uint32_t i)
{
    const tw_img_section_t sec = tw_img_section(c->img, TW_SEC_SCRIPTS);
    const uint32_t at = tw_img_record(c->img, TW_SEC_SCRIPTS, i, TW_SCRIPT_WORDS);
    const uint32_t code = tw_img_word(c->img, at, 0), s1 = tw_img_word(c->img, at, 1), s2 = tw_img_word(c->img, at, 2);
    const uint32_t code_bytes = tw_bits(s1, TW_S1_CODE), pool = tw_bits(s1, TW_S1_LITERALS);
    const uint32_t bytes = tw_script_bytes(code_bytes, pool);
    const bool memory = tw_bits(s2, TW_S2_SHARED) || tw_bits(s2, TW_S2_PRIVATE);
    if (!memory && tw_bits(s2, TW_S2_MEM) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(SCRIPTS), at + 8);
    }
    const bool placed = code % 4 == 0 && code >= sec.at && tw_inside(code, bytes, (uint64_t)sec.at + sec.bytes);
    if (!placed || code_bytes == 0 || code_bytes % 2 != 0) {
        return check_refuse(c, TW_E_IMG_SCRIPT, SEC(SCRIPTS), at);
    }
    if (tw_bits(s2, TW_S2_REGS) > TW_SCRIPT_REGS || tw_bits(s2, TW_S2_PTRS) > TW_SCRIPT_PTRS ||
        tw_bits(s2, TW_S2_STACK) > TW_SCRIPT_STACK_MAX) {
        return check_refuse(c, TW_E_IMG_SCRIPT, SEC(SCRIPTS), at + 8);
    }
    const uint32_t s3 = tw_img_word(c->img, at, 3);
    if (tw_bits(s3, TW_S3_CRC) != tw_crc16(TW_CRC16_INIT, c->img + code, bytes)) {
        return check_refuse(c, TW_E_IMG_SCRIPT, SEC(SCRIPTS), at + 12);
    }
    if (256u * tw_bits(s3, TW_S3_BUDGET) > TW_SCRIPT_BUDGET_MAX) {
        return check_refuse(c, TW_E_SCR_BUDGET, SEC(SCRIPTS), at + 12);
    }
    return TW_OK;
}

tw_err_t check_scripts(const check_t *c)
{
    uint64_t calls[64];
    for (uint32_t i = 0; i < c->n.scripts; i++) {
        TW_TRY(check_script_entry(c, i));
        tw_script_t s;
        img_script(c->img, i, &s);
        uint8_t somewhere = 0; /* the verifier asks whether there will be memory, not where */
        s.mem = s.mem_bytes != 0 ? &somewhere : NULL;
        uint64_t mask = 0;
        tw_fault_t inner = {0};
        /* both the image and the device have to say so */
        const bool privileged = s.privileged != 0 && (c->board == NULL || c->board->low != NULL);
        const tw_err_t err = tw_script_verify(&s, privileged, &mask, &inner);
        const uint32_t code = (uint32_t)(s.code - c->img);
        if (err != TW_OK) {
            return check_refuse(c, err, SEC(SCRIPTS), code + inner.at);
        }
        if (c->n.scripts < 64 && mask >> c->n.scripts != 0) {
            return check_refuse(c, TW_E_SCR_BAD_TARGET, SEC(SCRIPTS), code);
        }
        if (i < TW_COUNT(calls)) {
            calls[i] = mask;
        }
    }
    if (!graph_calls_acyclic(calls, tw_min_u32(c->n.scripts, TW_COUNT(calls)))) {
        return check_refuse(c, TW_E_SCR_DEPTH, SEC(SCRIPTS), tw_img_section(c->img, TW_SEC_SCRIPTS).at);
    }
    return TW_OK;
}

/* Take away scripts that call none of the remaining ones, until nothing changes. A script with an
 * id above 63 can be nobody's callee, so it cannot be part of a circle. */
bool graph_calls_acyclic(const uint64_t *calls, uint32_t n)
{
    uint64_t left = n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
    bool changed = true;
    while (left != 0 && changed) {
        changed = false;
        for (uint32_t i = 0; i < n; i++) {
            if ((left >> i & 1u) != 0 && (calls[i] & left) == 0) {
                left &= ~((uint64_t)1 << i);
                changed = true;
            }
        }
    }
    return left == 0;
}
#else
tw_err_t check_scripts(const check_t *c)
{
    return c->n.scripts == 0 ? TW_OK : check_refuse(c, TW_E_IMG_SCRIPT, 0, 4u * TW_W_COUNTS2);
}
#endif
