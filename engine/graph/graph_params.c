/* graph_params.c - the parameters of a node saved as bytes and put back.
 *
 *   record: u16 tag, u16 bytes, value, padded to 4; the index-256 block first, then what is not part of it
 *
 * A parameter outside the block may be another view of one inside it (a gain in decibels). So putting back SETs only
 * what reads differently by then: the second view is right already and is not rounded once more.
 */
#include "engine/graph/graph_carry.h"
#include "engine/graph/graph_priv.h"

enum { HEAD = 4 };

static const tw_param_desc_t *rows_of(const tw_graph_node_t *n, uint32_t *count)
{
    *count = 0;
    return n->desc->params != NULL ? n->desc->params(n->fmt, count) : NULL;
}

static bool stands_alone(const tw_param_desc_t *p)
{
    return (p->flags & TW_PARAM_READ_ONLY) == 0 && (p->flags & TW_PARAM_NOT_IN_ALL) != 0;
}

static uint32_t record_bytes(const tw_graph_node_t *n, uint32_t tag)
{
    const uint32_t bytes = tw_param_bytes(n->desc, n->fmt, tag);
    return bytes != 0 && bytes <= UINT16_MAX ? HEAD + tw_round_up(bytes, 4) : 0;
}

uint32_t tw_graph_params_bytes(const tw_graph_node_t *n)
{
    uint32_t count, bytes = record_bytes(n, TW_TAG_ALL);
    const tw_param_desc_t *rows = rows_of(n, &count);
    for (uint32_t i = 0; i < count; i++) {
        bytes += stands_alone(&rows[i]) ? record_bytes(n, rows[i].index) : 0;
    }
    return bytes;
}

/* @return bytes of the record, 0 when the node does not tell */
static uint32_t save_one(tw_graph_t *g, uint32_t node, uint32_t tag, uint8_t *to)
{
    const uint32_t record = record_bytes(&g->nodes[node], tag);
    uint32_t bytes = tw_param_bytes(g->nodes[node].desc, g->nodes[node].fmt, tag);
    if (record == 0 || tw_graph_get_param(g, node, tag, to + HEAD, &bytes) != TW_OK) {
        return 0;
    }
    tw_put_le16(to, (uint16_t)tag);
    tw_put_le16(to + 2, (uint16_t)bytes);
    return HEAD + tw_round_up(bytes, 4);
}

uint32_t tw_graph_save_params(tw_graph_t *g, uint32_t node, uint8_t *to)
{
    uint32_t count, used = save_one(g, node, TW_TAG_ALL, to);
    const tw_param_desc_t *rows = rows_of(&g->nodes[node], &count);
    for (uint32_t i = 0; i < count; i++) {
        used += stands_alone(&rows[i]) ? save_one(g, node, rows[i].index, to + used) : 0;
    }
    return used;
}

void tw_graph_restore_params(tw_graph_t *g, uint32_t node, const uint8_t *from, uint32_t bytes, uint8_t *scratch)
{
    for (uint32_t at = 0; at + HEAD <= bytes;) {
        const uint32_t tag = tw_get_le16(from + at), n = tw_get_le16(from + at + 2);
        uint32_t now = n;
        const bool same = tw_graph_get_param(g, node, tag, scratch, &now) == TW_OK && now == n &&
                          memcmp(scratch, from + at + HEAD, n) == 0;
        if (!same) {
            (void)tw_graph_set_param(g, node, tag, from + at + HEAD, n);
        }
        at += HEAD + tw_round_up(n, 4);
    }
}

/* ---- the index-256 block without the node ---------------------------------------- */

/* Where a row lies in the block, or `none`. */
static uint32_t place_in_block(const tw_graph_node_t *n, uint32_t tag, uint32_t none)
{
    uint32_t count, at = 0;
    const tw_param_desc_t *rows = rows_of(n, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bool inside = (rows[i].flags & (TW_PARAM_READ_ONLY | TW_PARAM_NOT_IN_ALL)) == 0;
        if (rows[i].index == tag) {
            return inside ? at : none;
        }
        at += inside ? tw_param_bytes(n->desc, n->fmt, rows[i].index) : 0;
    }
    return none;
}

void tw_graph_params_overlay(const tw_graph_node_t *n, uint32_t tag, const uint8_t *value, uint32_t bytes,
                             uint8_t *block)
{
    const uint32_t at = tag == TW_TAG_ALL ? 0 : place_in_block(n, tag, UINT32_MAX);
    if (at != UINT32_MAX) {
        memcpy(block + at, value, bytes);
    }
}

bool tw_graph_preset_block(tw_graph_t *g, uint32_t node, uint32_t preset, tw_arena_t scratch, uint8_t *block,
                           uint32_t bytes)
{
    const tw_graph_node_t *n = &g->nodes[node];
    tw_node_reset_t r;
    node_memory(g, node, &r);
    for (uint32_t i = 0; i < n->desc->n_mem; i++) {
        r.mem[i] = tw_arena_take(&scratch, r.mem_bytes[i], 64);
        if (r.mem[i] == NULL) {
            return false;
        }
        memset(r.mem[i], 0, r.mem_bytes[i]);
    }
    uint32_t state = 0;
    tw_xdm_t data = {.ptr = &r, .bytes = sizeof r};
    if (n->desc->run(TW_CMD_RESET | tw_put_bits(preset, TW_LO(TW_CMD_PRESET)), r.mem[0], &data, &state) != 0) {
        return false;
    }
    data = (tw_xdm_t){.ptr = block, .bytes = bytes};
    return n->desc->run(TW_CMD_READ_PARAMETER | tw_put_bits(TW_TAG_ALL, TW_LO(TW_CMD_TAG)), r.mem[0], &data, &state) ==
               0 &&
           data.bytes == bytes;
}
