/* graph_state.c - see graph_state.h. */
#include "engine/graph/graph_state.h"
#include "engine/base/crc.h"
#include "engine/graph/graph_priv.h"

enum { AT_VERSION = 4, AT_HEAD = 6, AT_BYTES = 8, AT_UID = 12, AT_LAYOUT = 16, AT_NUMBER = 20, AT_TICK = 24, ROW = 12 };

static bool kept(const tw_graph_place_t *p)
{
    return (p->flags & TW_PLACE_BACKUP) != 0;
}

uint32_t tw_graph_state_bytes(const tw_graph_t *g)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < g->n_places; i++) {
        bytes += kept(&g->places[i]) ? tw_round_up(g->places[i].bytes, 4) : 0;
    }
    return bytes != 0 ? TW_STATE_HEAD + bytes + TW_STATE_TAIL : 0;
}

static uint32_t layout_of(const tw_graph_t *g)
{
    uint32_t crc = 0;
    for (uint32_t i = 0; i < g->n_places; i++) {
        const tw_graph_place_t *p = &g->places[i];
        uint8_t row[ROW];
        tw_put_le16(row, p->node);
        tw_put_le16(row + 2, p->block);
        tw_put_le32(row + 4, g->nodes[p->node].desc->hash);
        tw_put_le32(row + 8, p->bytes);
        crc = kept(p) ? tw_crc32c(crc, row, sizeof row) : crc;
    }
    return crc;
}

static uint32_t uid_of(const tw_graph_t *g)
{
    return tw_img_word(g->img, 0, TW_W_UID);
}

void tw_graph_state_save(const tw_graph_t *g, uint32_t number, uint8_t *to)
{
    uint32_t at = TW_STATE_HEAD;
    for (uint32_t i = 0; i < g->n_places; i++) {
        const tw_graph_place_t *p = &g->places[i];
        if (kept(p)) {
            memcpy(to + at, p->at, p->bytes);
            memset(to + at + p->bytes, 0, tw_round_up(p->bytes, 4) - p->bytes);
            at += tw_round_up(p->bytes, 4);
        }
    }
    tw_put_le32(to, TW_STATE_MAGIC);
    tw_put_le16(to + AT_VERSION, TW_STATE_VERSION);
    tw_put_le16(to + AT_HEAD, TW_STATE_HEAD);
    tw_put_le32(to + AT_BYTES, at + TW_STATE_TAIL);
    tw_put_le32(to + AT_UID, uid_of(g));
    tw_put_le32(to + AT_LAYOUT, layout_of(g));
    tw_put_le32(to + AT_NUMBER, number);
    tw_put_le64(to + AT_TICK, g->tick);
    tw_put_le32(to + at, tw_crc32c(0, to, at));
}

static tw_err_t refuse(tw_fault_t *fault, tw_err_t err, uint32_t at)
{
    *fault = (tw_fault_t){.err = err, .at = at};
    return err;
}

static tw_err_t check(const tw_graph_t *g, const uint8_t *from, uint32_t bytes, tw_fault_t *fault)
{
    if (bytes < TW_STATE_HEAD + TW_STATE_TAIL) {
        return refuse(fault, TW_E_TRUNCATED, bytes);
    }
    if (tw_get_le32(from) != TW_STATE_MAGIC) {
        return refuse(fault, TW_E_STATE_DATA, 0);
    }
    if (tw_get_le16(from + AT_VERSION) != TW_STATE_VERSION || tw_get_le16(from + AT_HEAD) != TW_STATE_HEAD) {
        return refuse(fault, TW_E_STATE_VERSION, AT_VERSION);
    }
    if (tw_get_le32(from + AT_BYTES) != bytes) {
        return refuse(fault, tw_get_le32(from + AT_BYTES) > bytes ? TW_E_TRUNCATED : TW_E_STATE_DATA, AT_BYTES);
    }
    if (tw_get_le32(from + bytes - TW_STATE_TAIL) != tw_crc32c(0, from, bytes - TW_STATE_TAIL)) {
        return refuse(fault, TW_E_STATE_DATA, bytes - TW_STATE_TAIL);
    }
    if (tw_get_le32(from + AT_UID) != uid_of(g)) {
        return refuse(fault, TW_E_STATE_GRAPH, AT_UID);
    }
    if (tw_get_le32(from + AT_LAYOUT) != layout_of(g) || bytes != tw_graph_state_bytes(g)) {
        return refuse(fault, TW_E_STATE_LAYOUT, AT_LAYOUT);
    }
    return TW_OK;
}

tw_err_t tw_graph_state_restore(tw_graph_t *g, const uint8_t *from, uint32_t bytes, tw_fault_t *fault)
{
    TW_TRY(check(g, from, bytes, fault));
    uint32_t at = TW_STATE_HEAD;
    for (uint32_t i = 0; i < g->n_places; i++) {
        const tw_graph_place_t *p = &g->places[i];
        if (kept(p)) {
            memcpy(p->at, from + at, p->bytes);
            at += tw_round_up(p->bytes, 4);
        }
    }
    return TW_OK;
}
