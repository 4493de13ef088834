/* graph_compact_load.c - from a verified image to the state block of the compact core, and its RESETs. */
#include "engine/graph/graph_compact_priv.h"
#include "engine/graph/graph_priv.h"

uint8_t *compact_place(const tw_compact_t *c, uint32_t vid, uint32_t offset)
{
    return c->banks[img_bank(c->img, vid)] + offset;
}

compact_arc_t compact_arc(const tw_compact_t *c, uint32_t arc)
{
    const uint32_t at = tw_img_arc(c->img, arc), a0 = tw_img_word(c->img, at, 0);
    return (compact_arc_t){
        .buf = compact_place(c, tw_bits(a0, TW_A0_VID), tw_img_word(c->img, at, 1)),
        .state = tw_compact_arc_words(c, arc),
        .size = tw_img_word(c->img, at, 2),
        .in_frame = c->formats[tw_bits(a0, TW_A0_PRODUCER_FORMAT)].frame_bytes,
        .out_frame = c->formats[tw_bits(a0, TW_A0_CONSUMER_FORMAT)].frame_bytes,
    };
}

void compact_status(tw_compact_t *c, uint32_t node, tw_compact_node_t status)
{
    uint32_t *word = &tw_compact_node_words(c, node)[NODE_STATUS];
    *word = (*word & ~(7u << TW_LO(TW_SN0_STATUS))) | tw_put_bits((uint32_t)status, TW_LO(TW_SN0_STATUS));
}

/* Block 0 of a node: its instance. */
static void *block_of(const tw_compact_t *c, const tw_img_node_parts_t *p, uint32_t m)
{
    const uint32_t at = p->blocks_at + 4u * TW_NODE_BLOCK_WORDS * m;
    return compact_place(c, tw_bits(tw_img_word(c->img, at, 0), TW_NB_VID), tw_img_word(c->img, at, 1));
}

uint32_t compact_call(tw_compact_t *c, uint32_t node, uint32_t cmd, tw_xdm_t *data, uint32_t *state)
{
    const uint32_t record = tw_img_node(c->img, node);
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    const tw_node_desc_t *d = tw_node_find(tw_img_word(c->img, record, 2));
    const uint32_t trace = tw_bits(tw_img_word(c->img, record, 3), TW_N3_TRACE);
    const uint32_t err = d->run(cmd | tw_put_bits(trace, TW_LO(TW_CMD_TRACE)), block_of(c, &p, 0), data, state);
    if (err != 0) {
        tw_compact_node_words(c, node)[NODE_ERRORS]++;
        if (c->fault.err == TW_OK) {
            c->fault = (tw_fault_t){(tw_err_t)(-(int32_t)(err & 0xFFFFu)), SEC(NODES), record};
        }
    }
    return err;
}

/* ---- RESET ---------------------------------------------------------------------- */

static void boot_params(tw_compact_t *c, uint32_t node, const tw_img_node_parts_t *p)
{
    if (p->params_at != 0) {
        const uint32_t word = tw_img_word(c->img, p->params_at, 1);
        const uint8_t *value = c->img + tw_img_section(c->img, TW_SEC_PARAMS).at + tw_img_word(c->img, p->params_at, 0);
        /* nodes only read it; the ABI has one pointer for both directions */
        tw_xdm_t data = {(void *)(uintptr_t)value, tw_bits(word, TW_NP_BYTES)};
        uint32_t state = 0;
        (void)compact_call(c, node, TW_CMD_SET_PARAMETER | tw_put_bits(tw_bits(word, TW_NP_TAG), TW_LO(TW_CMD_TAG)),
                           &data, &state);
    }
}

static void reset_node(tw_compact_t *c, uint32_t node, bool warm)
{
    const uint32_t record = tw_img_node(c->img, node), n1 = tw_img_word(c->img, record, 1);
    const tw_img_node_parts_t p = tw_img_node_parts(c->img, record);
    tw_node_reset_t r = {.svc = c->svc, .rx = (uint8_t)p.rx, .tx = (uint8_t)p.tx, .script = -1};
    for (uint32_t i = 0; i < p.blocks; i++) {
        r.mem[i] = block_of(c, &p, i);
        r.mem_bytes[i] = tw_img_word(c->img, p.blocks_at, TW_NODE_BLOCK_WORDS * i + 2);
    }
    for (uint32_t i = 0; i < p.rx + p.tx; i++) {
        r.fmt[i] = &c->formats[img_ref_format(c->img, &p, i)];
    }
    tw_xdm_t data = {&r, sizeof r};
    uint32_t state = 0;
    const uint32_t cmd = TW_CMD_RESET | tw_put_bits(warm, TW_LO(TW_CMD_WARM)) |
                         tw_put_bits(tw_bits(n1, TW_N1_PRESET), TW_LO(TW_CMD_PRESET));
    if (compact_call(c, node, cmd, &data, &state) == 0) {
        boot_params(c, node, &p);
    }
    compact_status(c, node, TW_COMPACT_NODE_RESET);
}

/* Initial data: from PARAMS or zero; a delay is an arc that starts with zero frames. */
static void prefill(tw_compact_t *c, uint32_t arc)
{
    const uint32_t at = tw_img_arc(c->img, arc), fill = tw_img_word(c->img, at, 5);
    compact_arc_t a = compact_arc(c, arc);
    a.state[ARC_READ] = 0;
    a.state[ARC_WRITE] = fill;
    if (!TW_SMALL && tw_bits(tw_img_word(c->img, at, 0), TW_A0_PREFILL)) {
        memcpy(a.buf, c->img + tw_img_section(c->img, TW_SEC_PARAMS).at + tw_img_word(c->img, at, 6), fill);
    } else {
        memset(a.buf, 0, fill);
    }
}

/* The block is made anew, but for the count of RESETs. */
static void clear_state(tw_compact_t *c)
{
    const uint32_t generation = c->state[0] == TW_STATE_MAGIC ? c->state[2] + 1u : 1u;
    memset(c->state, 0, tw_compact_state_bytes(compact_nodes(c), compact_arcs(c)));
    c->state[0] = TW_STATE_MAGIC;
    c->state[1] = compact_header(c, TW_W_UID);
    c->state[2] = generation;
    c->state[4] = tw_put_bits(1, TW_LO(TW_S4_OWNER));
}

tw_err_t tw_compact_reset(tw_compact_t *c, bool warm)
{
    clear_state(c);
    c->fault = (tw_fault_t){0};
    for (uint32_t i = 0; i < compact_arcs(c); i++) {
        prefill(c, i);
    }
    for (uint32_t i = 0; i < compact_nodes(c); i++) {
        reset_node(c, i, warm);
    }
    c->state[3] = TW_COMPACT_READY;
    return c->fault.err;
}

void tw_compact_stop(tw_compact_t *c)
{
    for (uint32_t i = 0; i < compact_nodes(c); i++) {
        uint32_t state = 0;
        tw_xdm_t none = {0};
        (void)compact_call(c, i, TW_CMD_STOP, &none, &state);
        compact_status(c, i, TW_COMPACT_NODE_STOPPED);
    }
    c->state[3] = TW_COMPACT_STOPPED;
}

/* ---- load ------------------------------------------------------------------------ */

/* What a larger core takes and this one does not; in the small profile the verification has refused it. */
static tw_err_t refuse_arcs(const uint8_t *img, tw_fault_t *fault)
{
    for (uint32_t i = 0; !TW_SMALL && i < tw_bits(tw_img_word(img, 0, TW_W_COUNTS), TW_W12_ARCS); i++) {
        const uint32_t at = tw_img_arc(img, i), a4 = tw_img_word(img, at, 4);
        const uint32_t a0 = tw_img_word(img, at, 0);
        if (tw_bits(a0, TW_A0_TYPE) > 1 || tw_bits(a0, TW_A0_HQOS) || tw_bits(a4, TW_A4_ALIGN) << 9 != a4 ||
            img_shares(img, i) != i) {
            *fault = (tw_fault_t){TW_E_IMG_ARC, SEC(ARCS), at};
            return TW_E_IMG_ARC;
        }
    }
    return TW_OK;
}

/* Memory that is made ready for each call: brought from another bank, cleared, protected. */
static tw_err_t refuse_stages(const uint8_t *img, tw_fault_t *fault)
{
#if !TW_SMALL
    for (uint32_t i = 0; i < tw_img_counts(img).nodes; i++) {
        const uint32_t record = tw_img_node(img, i), n0 = tw_img_word(img, record, 0);
        const tw_img_node_parts_t p = tw_img_node_parts(img, record);
        bool needs = tw_bits(n0, TW_N0_ISOLATE) != 0 || tw_bits(n0, TW_N0_CLEAR) != 0;
        for (uint32_t m = 0; m < p.blocks; m++) {
            const uint32_t w = tw_img_word(img, p.blocks_at, TW_NODE_BLOCK_WORDS * m);
            needs |= tw_img_is_staged(w) || (tw_bits(w, TW_NB_CLEAR) != 0 && tw_bits(w, TW_NB_TYPE) == 1);
        }
        if (needs) {
            *fault = (tw_fault_t){TW_E_IMG_MEM_SWAP, SEC(NODES), record};
            return TW_E_IMG_MEM_SWAP;
        }
    }
#else
    (void)img, (void)fault;
#endif
    return TW_OK;
}

/* The credit each IO begins with; frames of one length need no more arithmetic than that. */
static tw_err_t rate_ios(tw_compact_t *c, tw_fault_t *fault)
{
    const tw_format_t *first = NULL;
    for (uint32_t i = 0; i < compact_ios(c); i++) {
        const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, i, TW_IO_WORDS);
        const tw_format_t *f = &c->formats[tw_bits(tw_img_word(c->img, at, 1), TW_I1_FORMAT)];
        const bool rated = img_rated(f);
        first = first == NULL && rated ? f : first;
        if (rated && (f->samples != first->samples || f->rate_hz != first->rate_hz)) {
            *fault = (tw_fault_t){TW_E_IMG_IO, SEC(IOS), at + 4};
            return TW_E_IMG_IO;
        }
        c->credit[i] = rated ? 0 : COMPACT_UNRATED;
    }
    return TW_OK;
}

/* Where memory is taken from, and by how much it is short. Later takes are tried too, so that the refusal can say how
 * much more a graph needs. */
typedef struct taker {
    tw_arena_t *arena;
    uint32_t missing;
} taker_t;

static void *take(taker_t *t, uint32_t bytes, uint32_t align)
{
    void *p = tw_arena_take(t->arena, bytes, align);
    t->missing += p == NULL ? bytes : 0;
    return p;
}

static void take_banks(tw_compact_t *c, taker_t *t)
{
    const uint32_t n = tw_bits(compact_header(c, TW_W_COUNTS2), TW_W13_BANKS);
    c->banks = take(t, n * (uint32_t)sizeof *c->banks, _Alignof(uint8_t *));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = tw_img_record(c->img, TW_SEC_BANKS, i, TW_BANK_WORDS);
        const uint32_t bytes = tw_img_word(c->img, at, 1) + tw_img_word(c->img, at, 2);
        uint8_t *p = take(t, bytes, tw_max_u32(1u << tw_bits(tw_img_word(c->img, at, 0), TW_B0_ALIGN), TW_BANK_ALIGN));
        if (t->missing == 0) {
            c->banks[i] = p;
            img_fill(p, bytes, tw_img_word(c->img, at, 3));
        }
    }
}

static uint32_t take_all(tw_compact_t *c, tw_arena_t *arena)
{
    const uint32_t formats = tw_bits(compact_header(c, TW_W_COUNTS2), TW_W13_FORMATS);
    taker_t t = {.arena = arena};
    c->state = take(&t, tw_compact_state_bytes(compact_nodes(c), compact_arcs(c)), 4);
    c->formats = take(&t, formats * (uint32_t)sizeof *c->formats, _Alignof(tw_format_t));
    c->credit = take(&t, compact_ios(c), 1);
    take_banks(c, &t);
    uint32_t largest = 0;
    for (uint32_t i = 0; i < formats && t.missing == 0; i++) {
        img_format(c->img, i, &c->formats[i]);
        largest = tw_max_u32(largest, c->formats[i].frame_bytes);
    }
    c->scratch = take(&t, largest, 4);
    return t.missing;
}

TW_OWN_FRAME static tw_err_t build(tw_compact_t *c, tw_arena_t *arena, tw_fault_t *fault)
{
    const uint32_t missing = take_all(c, arena);
    if (missing != 0) {
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = missing};
        return TW_E_NOMEM;
    }
    TW_TRY(rate_ios(c, fault));
    c->arcs = tw_compact_node_words(c, compact_nodes(c));
    c->state[0] = 0;
    return TW_OK;
}

tw_err_t tw_compact_load(tw_compact_t *c, const uint8_t *img, uint32_t bytes, const tw_board_t *board,
                         const tw_services_t *svc, tw_arena_t *arena, tw_fault_t *fault)
{
    const size_t mark = arena->used;
    TW_TRY(tw_graph_check(img, bytes, board, arena, fault));
    if (TW_SCRIPTS && tw_bits(tw_img_word(img, 0, TW_W_COUNTS2), TW_W13_SCRIPTS) != 0) {
        *fault = (tw_fault_t){TW_E_IMG_SCRIPT, 0, 4u * TW_W_COUNTS2};
        return TW_E_IMG_SCRIPT;
    }
    TW_TRY(refuse_arcs(img, fault));
    TW_TRY(refuse_stages(img, fault));
    memset(c, 0, sizeof *c);
    c->img = img;
    c->board = board;
    c->svc = svc;
    if (build(c, arena, fault) == TW_OK && tw_compact_reset(c, false) != TW_OK) {
        *fault = c->fault;
    }
    if (fault->err != TW_OK) {
        arena->used = mark;
    }
    return fault->err;
}
