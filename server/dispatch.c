/* dispatch.c - from the bytes of a call to its handler.
 *
 * In this order: MAC, call id (a repeat is answered from the store), number of
 * calls outstanding, method, role, transaction, message. Each refusal names
 * what to do. Param.Set takes a short cut through the hot codec and the same
 * checks. Knows no method's meaning.
 */
#include "server/server_priv.h"

#define ROW_INDEX(id) (((id) >> 8) * 16u + ((id)&15u))
#define ROWS (16u * 16u)

/* Two lists meet in one table: methods.def says what a method is, handlers.def that we have it. */
static const tw_row_t rows[ROWS] = {
#define TW_METHOD(id, Service, Method, Req, Rep, stream, ROLE, is_txn)                                 \
    [ROW_INDEX(id)].request = tunewire_v1_##Req##_fields, [ROW_INDEX(id)].name = #Service "." #Method, \
    [ROW_INDEX(id)].role = TW_ROLE_##ROLE, [ROW_INDEX(id)].txn = (is_txn),
#include "protocol/methods.def"
#define TW_HANDLER(Service, Method, fn, ms) \
    [ROW_INDEX(TW_M_##Service##_##Method)].run = tw_on_##fn, [ROW_INDEX(TW_M_##Service##_##Method)].deadline_ms = (ms),
#include "server/handlers.def"
};

#define TW_METHOD(id, Service, Method, Req, Rep, stream, ROLE, is_txn) \
    _Static_assert(((id)&0xFFu) < 16u && ROW_INDEX(id) < ROWS, #Service "." #Method " does not fit the table");
#include "protocol/methods.def"

const tw_row_t *tw_row(uint32_t method)
{
    static const tw_row_t unknown = {.name = "?"};
    const bool fits = (method & 0xFFu) < 16u && method < 0x1000u;
    return fits && rows[ROW_INDEX(method)].name != NULL ? &rows[ROW_INDEX(method)] : &unknown;
}

static const char *role_name(unsigned role)
{
    return role == TW_ROLE_VIEW ? "view" : role == TW_ROLE_TUNE ? "tune" : "admin";
}

/* ---- admission ---------------------------------------------------------------- */

/* A slot for a new call; NULL when the call is a repeat or refused, which has been dealt with. */
static tw_slot_t *admit(tw_peer_t *p, uint32_t id)
{
    tw_session_t *ses = p->ses;
    tw_slot_t *slot = &ses->slots[id & p->s->slot_mask];
    if (id != 0 && slot->id == id && slot->state != TW_SLOT_FREE) {
        if (tw_may_hear(p)) {
            tw_reply_repeat(p, slot);
        } else { /* who shows a token has not shown the key */
            tw_refuse(p, id, TW_E_AUTH, "stored replies come after Session.Auth");
        }
        return NULL;
    }
    if (id == 0 || (id <= ses->last_id && ses->last_id - id > p->s->slot_mask)) {
        tw_refuse(p, id, TW_E_CALL_ID, "call ids count up from 1");
        return NULL;
    }
    const bool in_use = slot->state == TW_SLOT_RUNNING || slot->state == TW_SLOT_UNSENT;
    if (in_use || ses->outstanding >= ses->max_calls) {
        tw_count(p->s, TW_CNT_BUSY);
        tw_refuse(p, id, TW_E_TOO_MANY_CALLS, "wait for a reply, then send it again");
        return NULL;
    }
    slot->id = id;
    slot->state = TW_SLOT_RUNNING;
    ses->outstanding++;
    if (id > ses->last_id) {
        ses->last_id = id;
    }
    return slot;
}

/* ---- checks ---------------------------------------------------------------------- */

static bool may_before_auth(uint32_t method)
{
    return method == TW_M_Session_Auth || method == TW_M_Session_Ping || method == TW_M_Session_Schema ||
           method == TW_M_Session_Bye;
}

static void deny(tw_call_t *c, const tw_row_t *row)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, row->name);
    tw_text_str(&t, " needs role ");
    tw_text_str(&t, role_name(row->role));
    tw_text_str(&t, ", this session has ");
    tw_text_str(&t, role_name(c->ses->role));
    tw_count(c->s, TW_CNT_DENIED);
    tw_fail(c, TW_E_DENIED, c->ses->role, buf);
}

static bool allowed(tw_call_t *c, const tw_row_t *row)
{
    if (!tw_may_hear(c->peer) && !may_before_auth(c->method)) {
        tw_count(c->s, TW_CNT_DENIED);
        tw_fail(c, TW_E_AUTH, 0, "call Session.Auth first");
        return false;
    }
    if (c->ses->role < row->role) {
        deny(c, row);
        return false;
    }
    const bool manages_txn = c->method >> 8 == TW_M_Txn_Begin >> 8;
    if (c->txn != 0 && !row->txn && !manages_txn) {
        tw_fail(c, TW_E_TXN_METHOD, 0, row->name);
        return false;
    }
    return c->txn == 0 || manages_txn || tw_txn_check(c);
}

static void unknown_method(tw_call_t *c, const tw_row_t *row)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    if (row->request != NULL) {
        tw_text_str(&t, row->name);
        tw_text_str(&t, " is not served here");
    } else {
        tw_text_str(&t, "no method ");
        tw_text_hex(&t, c->method);
    }
    tw_fail(c, TW_E_METHOD, c->method, buf);
}

/* ---- calls -------------------------------------------------------------------------- */

/* A reply may take a frame; without that room the work would be done for nothing. Sets have small replies. */
static bool room_for_reply(tw_call_t *c)
{
    const uint32_t want = c->peer->conn.max_frame - TW_FRAME_HEADER;
    if (tw_conn_room(&c->peer->conn) >= want) {
        return true;
    }
    tw_fail(c, TW_E_BUSY, 0, "read replies, then repeat the call");
    return false;
}

static void run(tw_call_t *c, const tw_row_t *row, const uint8_t *request, uint32_t len)
{
    if (row->run == NULL) {
        unknown_method(c, row);
    } else if (allowed(c, row) && room_for_reply(c)) {
        if (tw_rpc_decode(request, len, row->request, &c->s->request) != TW_OK) {
            tw_fail(c, TW_E_MESSAGE, c->method, row->name);
        } else {
            row->run(c, &c->s->request);
        }
    }
}

static void general_call(tw_peer_t *p, const uint8_t *payload, uint32_t len)
{
    tunewire_v1_CallHeader h;
    const uint8_t *request;
    uint32_t request_len;
    if (tw_rpc_split_call(payload, len, &h, &request, &request_len) != TW_OK) {
        tw_refuse(p, 0, TW_E_MESSAGE, "call header");
        return;
    }
    if (!tw_auth_call(p, &h, h.mac.bytes, h.mac.size, request, request_len) || admit(p, h.call_id) == NULL) {
        return;
    }
    tw_call_t c = {
        .s = p->s,
        .peer = p,
        .ses = p->ses,
        .id = h.call_id,
        .deadline_ms = h.deadline_ms,
        .txn = h.txn,
        .stream = (uint16_t)h.stream,
        .method = (uint16_t)h.method,
    };
    if (h.method > UINT16_MAX) {
        tw_fail(&c, TW_E_METHOD, h.method, "method ids are 16 bits");
    } else if (h.stream > UINT16_MAX) {
        tw_fail(&c, TW_E_STREAM_ID, h.stream, "stream ids are 16 bits");
    } else {
        run(&c, tw_row(h.method), request, request_len);
    }
}

static void hot_call(tw_peer_t *p, const tw_hot_set_t *q)
{
    if (tw_auth_needed(p->s)) {
        const tunewire_v1_CallHeader h = {.call_id = q->call_id,
                                          .method = TW_M_Param_Set,
                                          .deadline_ms = q->deadline_ms,
                                          .txn = q->txn,
                                          .stream = q->stream};
        if (!tw_auth_call(p, &h, q->mac, q->mac != NULL ? 16 : 0, q->request, q->request_len)) {
            return;
        }
    }
    if (admit(p, q->call_id) == NULL) {
        return;
    }
    tw_call_t c = {
        .s = p->s,
        .peer = p,
        .ses = p->ses,
        .id = q->call_id,
        .deadline_ms = q->deadline_ms,
        .txn = q->txn,
        .stream = (uint16_t)q->stream,
        .method = TW_M_Param_Set,
    };
    if (allowed(&c, tw_row(TW_M_Param_Set))) {
        tw_param_set(&c, q);
    }
}

void tw_dispatch_call(tw_peer_t *p, const uint8_t *payload, uint32_t len)
{
    tw_count(p->s, TW_CNT_CALLS);
    tw_hot_set_t set;
    if (tw_hot_split_set(payload, len, &set)) {
        hot_call(p, &set);
    } else {
        general_call(p, payload, len);
    }
}

/* Its header is at the beginning, so the caller can be told which call it was. */
void tw_refuse_cut(tw_peer_t *p, const uint8_t *payload, uint32_t len)
{
    uint32_t call_id = 0;
    tunewire_v1_CallHeader h;
    if (len > 1 && payload[0] < 0x80 && payload[0] < len &&
        tw_rpc_decode(payload + 1, payload[0], tunewire_v1_CallHeader_fields, &h) == TW_OK) {
        call_id = h.call_id;
    }
    tw_count(p->s, TW_CNT_CALLS);
    tw_refuse(p, call_id, TW_E_MESSAGE, "call larger than this device accepts");
}

void tw_dispatch_cancel(tw_peer_t *p, uint32_t call_id)
{
    if (!tw_deferred_cancel(p->s, p->ses, call_id)) {
        (void)tw_sender_cancel(p, call_id);
    }
}
