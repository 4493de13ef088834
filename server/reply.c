/* reply.c - how a call ends: the reply goes out, and is kept for a repeat of the call.
 *
 * A reply that finds no room in the send buffer waits in its slot of the store;
 * there is one for each call that may be outstanding, so nothing is lost and
 * nothing grows. Replies too large for a slot are kept as their status alone.
 */
#include "server/server_priv.h"

static tw_slot_t *slot_of(const tw_call_t *c)
{
    tw_slot_t *slot = &c->ses->slots[c->id & c->s->slot_mask];
    return slot->id == c->id && slot->state == TW_SLOT_RUNNING ? slot : NULL;
}

static void store(tw_call_t *c, tw_slot_t *slot, const uint8_t *payload, uint32_t len, bool sent)
{
    memcpy(slot->data, payload, len);
    slot->len = (uint16_t)len;
    slot->state = sent ? TW_SLOT_DONE : TW_SLOT_UNSENT;
    if (sent) {
        c->ses->outstanding--;
    } else {
        c->ses->unsent++;
    }
}

static tunewire_v1_ReplyHeader header_of(const tw_call_t *c)
{
    tunewire_v1_ReplyHeader h = tunewire_v1_ReplyHeader_init_zero;
    h.call_id = c->id;
    h.t_us = tw_now(c->s);
    return h;
}

/* What is left of a reply that does not fit: its status without text. */
static uint32_t cut_reply(tw_call_t *c, const tunewire_v1_ReplyHeader *full, bool sent, uint8_t *out, uint32_t cap)
{
    tunewire_v1_ReplyHeader h = *full;
    h.status.text[0] = '\0';
    if (!sent && !h.has_status) {
        tw_count(c->s, TW_CNT_CUT);
        tw_rpc_status(&h.status, TW_E_NOMEM, 0, "read replies");
        h.has_status = true;
    }
    return tw_rpc_put_reply(out, cap, &h, NULL, NULL);
}

static uint8_t flags_of(const tunewire_v1_ReplyHeader *h)
{
    return (uint8_t)(TW_FF_FIN | (h->has_status && h->status.code != tunewire_v1_Code_OK ? TW_FF_ERR : 0));
}

static void finish(tw_call_t *c, const tunewire_v1_ReplyHeader *h, uint32_t len)
{
    tw_slot_t *slot = slot_of(c);
    if (slot == NULL) {
        return;
    }
    tw_peer_t *p = c->ses->peer;
    const bool sent = p != NULL && tw_conn_send(&p->conn, TW_FT_REPLY, 0, flags_of(h), c->s->scratch, len);
    if (h->has_status && h->status.code != tunewire_v1_Code_OK) {
        tw_count(c->s, TW_CNT_FAILED);
    }
    if (len <= TW_REPLY_SLOT) {
        store(c, slot, c->s->scratch, len, sent);
        return;
    }
    uint8_t cut[TW_REPLY_SLOT];
    store(c, slot, cut, cut_reply(c, h, sent, cut, sizeof cut), sent);
}

static void finish_msg(tw_call_t *c, tunewire_v1_ReplyHeader *h, const pb_msgdesc_t *fields, const void *msg)
{
    uint32_t len = tw_rpc_put_reply(c->s->scratch, c->s->scratch_bytes, h, fields, msg);
    if (len == 0) {
        tw_count(c->s, TW_CNT_CUT);
        tw_rpc_status(&h->status, TW_E_NOMEM, 0, "the reply is larger than a message");
        h->has_status = true;
        len = tw_rpc_put_reply(c->s->scratch, c->s->scratch_bytes, h, NULL, NULL);
    }
    finish(c, h, len);
}

void tw_reply(tw_call_t *c, const pb_msgdesc_t *fields, const void *msg)
{
    tunewire_v1_ReplyHeader h = header_of(c);
    finish_msg(c, &h, fields, msg);
}

void tw_reply_stream(tw_call_t *c, uint16_t stream, const pb_msgdesc_t *fields, const void *msg)
{
    tunewire_v1_ReplyHeader h = header_of(c);
    h.stream = stream;
    finish_msg(c, &h, fields, msg);
}

void tw_reply_status(tw_call_t *c, const tunewire_v1_Status *st, const pb_msgdesc_t *fields, const void *msg)
{
    tunewire_v1_ReplyHeader h = header_of(c);
    h.has_status = true;
    h.status = *st;
    finish_msg(c, &h, fields, msg);
}

void tw_fail(tw_call_t *c, tw_err_t err, uint32_t where, const char *text)
{
    tunewire_v1_Status st;
    tw_rpc_status(&st, err, where, text);
    if (c->op != 0) {
        tw_txn_note_failure(c, &st);
    }
    tw_reply_status(c, &st, NULL, NULL);
}

void tw_reply_list(tw_call_t *c, const tw_rpc_list_t *l)
{
    const tunewire_v1_ReplyHeader h = header_of(c);
    finish(c, &h, tw_rpc_put_reply_raw(c->s->scratch, c->s->scratch_bytes, &h, l->p, l->used));
}

/* A frame holds its header, the reply header (id, stream, time: at most 28 bytes), two lengths and the list;
 * the list's total is appended after its last item. */
enum { LIST_OVERHEAD = 28 + 6, LIST_TOTAL = 6 };

void tw_list_begin(tw_call_t *c, tw_rpc_list_t *l)
{
    const uint32_t payload = c->peer->conn.max_frame - TW_FRAME_HEADER;
    *l = (tw_rpc_list_t){.p = c->s->list, .cap = payload - LIST_OVERHEAD - LIST_TOTAL};
}

void tw_list_begin_long(tw_call_t *c, tw_rpc_list_t *l)
{
    const uint32_t payload = tw_min_u32(tw_conn_room(&c->peer->conn), c->s->scratch_bytes);
    *l = (tw_rpc_list_t){.p = c->s->list, .cap = payload - LIST_OVERHEAD};
}

void tw_list_total(tw_rpc_list_t *l, uint32_t field, uint32_t total)
{
    l->cap += LIST_TOTAL;
    l->full = false;
    (void)tw_rpc_list_varint(l, field, total);
}

void tw_refuse(tw_peer_t *p, uint32_t call_id, tw_err_t err, const char *text)
{
    tunewire_v1_ReplyHeader h = tunewire_v1_ReplyHeader_init_zero;
    h.call_id = call_id;
    h.t_us = tw_now(p->s);
    h.has_status = true;
    tw_rpc_status(&h.status, err, 0, text);
    const uint32_t len = tw_rpc_put_reply(p->s->scratch, p->s->scratch_bytes, &h, NULL, NULL);
    tw_count(p->s, TW_CNT_FAILED);
    if (!tw_conn_send(&p->conn, TW_FT_REPLY, 0, TW_FF_FIN | TW_FF_ERR, p->s->scratch, len)) {
        tw_count(p->s, TW_CNT_CUT);
    }
}

void tw_reply_sent(tw_call_t *c, const uint8_t *payload, uint32_t len)
{
    tw_slot_t *slot = slot_of(c);
    if (slot != NULL && len <= TW_REPLY_SLOT) {
        store(c, slot, payload, len, true);
    }
}

/* The frame flag repeats what the stored status says. */
static uint8_t stored_flags(const tw_slot_t *slot)
{
    tunewire_v1_ReplyHeader h;
    const uint8_t *rest;
    uint32_t n;
    return tw_rpc_split_reply(slot->data, slot->len, &h, &rest, &n) == TW_OK ? flags_of(&h) : (uint8_t)TW_FF_FIN;
}

/* A call that still runs is answered when it is done, once. */
void tw_reply_repeat(tw_peer_t *p, tw_slot_t *slot)
{
    tw_count(p->s, TW_CNT_REPEATED);
    if (slot->state == TW_SLOT_DONE &&
        !tw_conn_send(&p->conn, TW_FT_REPLY, 0, stored_flags(slot), slot->data, slot->len)) {
        slot->state = TW_SLOT_UNSENT;
        p->ses->unsent++;
        p->ses->outstanding++;
    }
}

void tw_flush_unsent(tw_peer_t *p)
{
    tw_session_t *ses = p->ses;
    for (uint32_t i = 0; ses != NULL && ses->unsent > 0 && i <= p->s->slot_mask; i++) {
        tw_slot_t *slot = &ses->slots[i];
        if (slot->state != TW_SLOT_UNSENT) {
            continue;
        }
        if (!tw_conn_send(&p->conn, TW_FT_REPLY, 0, stored_flags(slot), slot->data, slot->len)) {
            return;
        }
        slot->state = TW_SLOT_DONE;
        ses->unsent--;
        ses->outstanding--;
    }
}
