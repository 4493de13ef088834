/* handlers_session.c - Session: ping, counters, schema, goodbye. Hello is in session.c, Auth in auth.c. */
#include "protocol/schema.h"
#include "server/server_priv.h"

void tw_on_session_ping(tw_call_t *c, const void *request)
{
    const tunewire_v1_PingReq *q = request;
    tunewire_v1_PingRep rep = tunewire_v1_PingRep_init_zero;
    rep.payload.size = q->payload.size;
    memcpy(rep.payload.bytes, q->payload.bytes, q->payload.size);
    rep.t_us = tw_now(c->s);
    tw_reply(c, tunewire_v1_PingRep_fields, &rep);
}

static const struct {
    uint32_t id;
    const char *name;
} counter_rows[] = {
#define TW_COUNTER(id, NAME, name) {id, name},
#include "server/counters.def"
};

/* What others count is read when asked for. */
static void gather(tw_server_t *s)
{
    uint64_t in = s->gone_frames[0], out = s->gone_frames[1], bad = s->gone_frames[2];
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        const tw_peer_t *p = &s->peers[i];
        if (p->link != NULL) {
            in += p->conn.frames_in;
            out += p->conn.frames_out;
            bad += tw_bad_frames(p);
        }
    }
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    s->counters[TW_CNT_FRAMES_IN] = in;
    s->counters[TW_CNT_FRAMES_OUT] = out;
    s->counters[TW_CNT_BAD_FRAMES] = bad;
    s->counters[TW_CNT_LATE_BLOCKS] = info.late_blocks;
    s->counters[TW_CNT_EVENTS_LOST] = tw_engine_events_lost(s->e);
    s->counters[TW_CNT_FUNCTIONS] = info.functions;
}

static void add_counters(const tw_server_t *s, tw_rpc_list_t *l, bool zeros)
{
    for (uint32_t i = 0; i < TW_CNT_COUNT; i++) {
        if ((s->counters[i] == 0) != zeros) {
            continue;
        }
        tunewire_v1_Counter m = tunewire_v1_Counter_init_zero;
        m.id = counter_rows[i].id;
        tw_copy_str(m.name, sizeof m.name, counter_rows[i].name);
        m.value = s->counters[i];
        (void)tw_rpc_list_add(l, tunewire_v1_StatsRep_counters_tag, tunewire_v1_Counter_fields, &m);
    }
}

/* What has counted comes first, should the list be cut. */
void tw_on_session_stats(tw_call_t *c, const void *request)
{
    (void)request;
    tw_server_t *s = c->s;
    gather(s);
    tw_rpc_list_t l;
    tw_list_begin_long(c, &l);
    (void)tw_rpc_list_varint(&l, tunewire_v1_StatsRep_boot_id_tag, s->cfg.boot_id);
    (void)tw_rpc_list_varint(&l, tunewire_v1_StatsRep_uptime_us_tag, tw_now(s) - s->start_us);
    add_counters(s, &l, false);
    add_counters(s, &l, true);
    tw_reply_list(c, &l);
}

void tw_on_session_bye(tw_call_t *c, const void *request)
{
    (void)request;
    tw_peer_t *p = c->peer;
    tw_reply(c, NULL, NULL);
    tw_session_end(c->s, c->ses);
    p->bye = true;
}

void tw_on_session_schema(tw_call_t *c, const void *request)
{
    (void)request;
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_BYTES);
    if (snd != NULL) {
        snd->bytes = tw_schema;
        snd->end = tw_schema_bytes;
        tw_reply_stream(c, snd->stream, NULL, NULL);
        tw_senders_pump(c->peer);
    }
}
