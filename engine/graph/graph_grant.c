/* graph_grant.c - memory that nodes ask for when their graph is loaded: STREAM_MEMREQ. */
#include "engine/graph/graph_priv.h"

#if TW_COMPACT_RECORDS
static void raise_end(const uint8_t *img, uint32_t *end, uint32_t vid, uint32_t at, uint32_t bytes)
{
    const int bank = img_bank(img, vid);
    if (bank >= 0 && bytes != 0) {
        const uint32_t fixed = tw_img_word(img, tw_img_record(img, TW_SEC_BANKS, (uint32_t)bank, TW_BANK_WORDS), 1);
        end[bank] = at < fixed ? tw_max_u32(end[bank], at + bytes) : end[bank];
    }
}

/* Behind what the image places in the static bytes of each bank. */
static void find_ends(const uint8_t *img, uint32_t *end)
{
    const tw_img_counts_t n = tw_img_counts(img);
    memset(end, 0, n.banks * sizeof *end);
    for (uint32_t i = 0; i < n.nodes; i++) {
        const tw_img_node_parts_t p = tw_img_node_parts(img, tw_img_node(img, i));
        for (uint32_t m = 0; m < p.blocks; m++) {
            const uint32_t at = p.blocks_at + 4u * TW_NODE_BLOCK_WORDS * m, w = tw_img_word(img, at, 0);
            raise_end(img, end, tw_bits(w, TW_NB_VID), tw_img_word(img, at, 1), tw_img_word(img, at, 2));
            if (tw_bits(w, TW_NB_SWAP) != 0) {
                raise_end(img, end, tw_bits(w, TW_NB_HOME), tw_img_word(img, at, 1), tw_img_word(img, at, 2));
            }
        }
    }
    for (uint32_t i = 0; i < n.arcs; i++) {
        const uint32_t at = tw_img_arc(img, i);
        raise_end(img, end, tw_bits(tw_img_word(img, at, 0), TW_A0_VID), tw_img_word(img, at, 1),
                  tw_img_word(img, at, 2));
    }
    for (uint32_t i = 0; i < n.ios; i++) {
        const uint32_t at = tw_img_record(img, TW_SEC_IOS, i, TW_IO_WORDS);
        raise_end(img, end, tw_bits(tw_img_word(img, at, 5), TW_I5_VID), tw_img_word(img, at, 6),
                  tw_img_word(img, at, 7));
    }
}

/* What the descriptor says, then what the type itself answers, if it does. */
static tw_err_t ask_node(const tw_node_desc_t *d, tw_node_memreq_t *q)
{
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0, state = 0;
    if (d->memreq != NULL) {
        TW_TRY(d->memreq(q->fmt, q->rx, q->tx, extra, &arc));
    }
    for (uint32_t m = 0; m < d->n_mem; m++) {
        const uint64_t bytes = img_mem_need(d, m, q->fmt, (uint32_t)q->rx + q->tx) + extra[m];
        q->ask[m].bytes = bytes < UINT32_MAX / 2 ? tw_max_u32((uint32_t)bytes, 4) : UINT32_MAX / 2;
        q->ask[m].align = tw_max_u32(d->mem[m].align, 8);
    }
    tw_xdm_t data = {.ptr = q, .bytes = sizeof *q};
    const uint32_t err = d->run(TW_CMD_MEMREQ, NULL, &data, &state);
    q->ask[TW_MAX_NODE_MEM].bytes = 0;
    return err == 0 || err == (uint32_t)-TW_E_UNSUPPORTED ? TW_OK : (tw_err_t)(-(int32_t)err);
}

/* First bank that is aligned enough and has room; without one, that where the least is missing goes on behind its end,
 * so that all that is missing adds up. @return bytes missing, 0: granted */
static uint32_t grant_one(const uint8_t *img, uint32_t *end, const tw_mem_ask_t *ask, grant_t *out)
{
    const uint32_t banks = tw_img_counts(img).banks;
    uint64_t least = UINT64_MAX, top = 0;
    uint32_t *where = NULL;
    for (uint32_t i = 0; i < banks; i++) {
        const uint32_t b = tw_img_record(img, TW_SEC_BANKS, i, TW_BANK_WORDS), fixed = tw_img_word(img, b, 1);
        const uint32_t aligned = tw_max_u32(TW_BANK_ALIGN, 1u << tw_bits(tw_img_word(img, b, 0), TW_B0_ALIGN));
        const uint64_t at = ((uint64_t)end[i] + ask->align - 1) & ~(uint64_t)(ask->align - 1), to = at + ask->bytes;
        const uint64_t beyond = to <= fixed ? 0 : to - tw_max_u32(fixed, end[i]);
        if (ask->align <= aligned && beyond < least) {
            *out = (grant_t){.bank = i, .at = (uint32_t)at, .bytes = ask->bytes};
            least = beyond;
            top = to;
            where = &end[i];
        }
    }
    if (where == NULL) {
        return ask->bytes;
    }
    *where = top < UINT32_MAX ? (uint32_t)top : UINT32_MAX;
    return (uint32_t)(least < UINT32_MAX ? least : UINT32_MAX);
}

static void formats_of(const uint8_t *img, uint32_t record, tw_format_t *fmt, tw_node_memreq_t *q)
{
    const tw_img_node_parts_t p = tw_img_node_parts(img, record);
    memset(q, 0, sizeof *q);
    q->rx = (uint8_t)p.rx;
    q->tx = (uint8_t)p.tx;
    for (uint32_t i = 0; i < p.rx + p.tx; i++) {
        img_format(img, img_ref_format(img, &p, i), &fmt[i]);
        q->fmt[i] = &fmt[i];
    }
}

static tw_err_t refuse(tw_fault_t *fault, tw_err_t err, uint32_t at)
{
    *fault = (tw_fault_t){.err = err, .section = SEC(NODES), .at = at};
    return err;
}

tw_err_t grants_make(const uint8_t *img, const tw_node_order_t *order, uint32_t *end, grant_t *out, uint32_t *n,
                     tw_fault_t *fault)
{
    const uint32_t nodes = tw_img_counts(img).nodes;
    uint64_t missing = 0;
    *n = 0;
    find_ends(img, end);
    for (uint32_t i = 0; i < nodes; i++) {
        const uint32_t record = tw_img_node(img, i);
        const tw_node_desc_t *d = tw_img_is_dynamic(img, record) ? img_type(img, order, record) : NULL;
        tw_format_t fmt[TW_MAX_NODE_ARCS];
        tw_node_memreq_t q;
        if (d == NULL) {
            continue;
        }
        formats_of(img, record, fmt, &q);
        const tw_err_t err = ask_node(d, &q);
        if (err != TW_OK) {
            return refuse(fault, err, record);
        }
        for (uint32_t m = 0; q.ask[m].bytes != 0; m++) {
            grant_t g = {0};
            missing += grant_one(img, end, &q.ask[m], &g);
            g.node = i;
            g.block = m;
            if (out != NULL) {
                out[*n] = g;
            }
            (*n)++;
        }
    }
    return missing == 0 ? TW_OK : refuse(fault, TW_E_NOMEM, (uint32_t)(missing < UINT32_MAX ? missing : UINT32_MAX));
}

tw_err_t check_grants(const check_t *c)
{
    const size_t mark = c->scratch->used;
    uint32_t *end = tw_arena_take(c->scratch, c->n.banks * sizeof *end, _Alignof(uint32_t)), n = 0;
    if (end == NULL) {
        return check_refuse(c, TW_E_NOMEM, 0, c->n.banks * (uint32_t)sizeof *end);
    }
    const tw_err_t err = c->board != NULL ? grants_make(c->img, c->order, end, NULL, &n, c->fault) : TW_OK;
    c->scratch->used = mark;
    return err;
}
#endif
