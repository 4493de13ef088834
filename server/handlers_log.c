/* handlers_log.c - Log: read back, follow, and how much is kept. */
#include "server/server_priv.h"

static void apply_filter(tw_sender_t *snd, const tunewire_v1_LogFilter *f)
{
    snd->level = f->min_level;
    for (pb_size_t i = 0; i < f->src_count; i++) {
        snd->src_mask |= f->src[i] < 32 ? 1u << f->src[i] : 0;
    }
}

void tw_on_log_read(tw_call_t *c, const void *request)
{
    const tunewire_v1_LogRead *q = request;
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_LOG);
    if (snd == NULL) {
        return;
    }
    snd->at = q->from_seq;
    snd->end = c->s->log_seq;
    snd->limit = q->limit != 0 ? q->limit : UINT32_MAX;
    if (q->has_filter) {
        apply_filter(snd, &q->filter);
    }
    tw_reply_stream(c, snd->stream, NULL, NULL);
    tw_senders_pump(c->peer);
}

void tw_on_log_follow(tw_call_t *c, const void *request)
{
    const tunewire_v1_LogFilter *q = request;
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_FOLLOW);
    if (snd == NULL) {
        return;
    }
    snd->at = c->s->log_seq;
    snd->end = UINT64_MAX;
    apply_filter(snd, q);
    tw_reply_stream(c, snd->stream, NULL, NULL);
}

void tw_on_log_level(tw_call_t *c, const void *request)
{
    const tunewire_v1_LogLevel *q = request;
    tw_server_t *s = c->s;
    if (q->level > TW_LOG_DEBUG || q->src >= sizeof s->log_level) {
        tw_fail(c, TW_E_RANGE, 0, "level 0 off, 1 error .. 4 debug; src 0 all, 1..6");
        return;
    }
    if (q->src == 0) {
        memset(s->log_level, (int)q->level, sizeof s->log_level);
    } else {
        s->log_level[q->src] = (uint8_t)q->level;
    }
    tw_reply(c, NULL, NULL);
}
