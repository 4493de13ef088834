/* trace.c - what scripts did: the newest records of the engine's trace, and the streams that follow them.
 *
 * The engine's ring is emptied at every poll into the last cfg.trace_lines records, which any number of clients follow
 * as their credit allows; one that is too slow is told how many it missed. What nobody follows is not traced at all.
 */
#include "server/server_priv.h"

enum { QUIET_KINDS = 1u << TW_TRACE_INSTRUCTION | 1u << TW_TRACE_CALL };

static tw_trace_line_t *line_at(tw_server_t *s, uint64_t number)
{
    return &s->trace[number & (s->cfg.trace_lines - 1)];
}

static void drain(tw_server_t *s)
{
    const uint8_t *data;
    for (const tw_trace_t *t; (t = tw_engine_trace(s->e, &data)) != NULL; tw_engine_trace_done(s->e)) {
        if (s->cfg.trace_lines == 0) {
            continue;
        }
        tw_trace_line_t *line = line_at(s, s->trace_seq++);
        line->head = *t;
        line->t_us = tw_now(s);
        memcpy(line->data, data, t->bytes);
    }
}

/* ---- what is wanted ------------------------------------------------------------------- */

static void add_wish(const tw_sender_t *snd, tw_debug_cmd_t *q)
{
    q->a |= snd->level;
    for (uint32_t i = 0; i < TW_COUNT(q->mask) && snd->ref == TW_DEBUG_NOBODY; i++) {
        q->mask[i] = UINT64_MAX;
    }
    if (snd->ref < TW_DEBUG_SCRIPTS) {
        q->mask[snd->ref / 64] |= (uint64_t)1 << snd->ref % 64;
    }
}

static bool same(const tw_debug_cmd_t *a, const tw_debug_cmd_t *b)
{
    return a->a == b->a && memcmp(a->mask, b->mask, sizeof a->mask) == 0;
}

void tw_trace_pump(tw_server_t *s)
{
    tw_debug_cmd_t want = {.op = TW_DBG_TRACE};
    tw_engine_info_t info;
    drain(s);
    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        for (uint32_t k = 0; k < TW_SENDERS && s->peers[i].link != NULL; k++) {
            if (s->peers[i].senders[k].kind == TW_SEND_TRACE) {
                add_wish(&s->peers[i].senders[k], &want);
            }
        }
    }
    s->traces = want.a != 0;
    if (same(&want, &s->trace_put) && (want.a == 0 || s->trace_graph == s->graph_seen)) {
        return;
    }
    tw_engine_info(s->e, &info);
    if (info.state == TW_GRAPH_EMPTY || s->swap_token != 0 || info.generation != s->graph_seen) {
        return;
    }
    if (tw_engine_put_debug(s->e, 0, &want) == TW_OK) {
        (void)tw_engine_publish(s->e);
        s->trace_put = want;
        s->trace_graph = s->graph_seen;
    }
}

/* ---- going out ---------------------------------------------------------------------------- */

static bool passes(const tw_sender_t *snd, const tw_trace_t *t)
{
    return (snd->level >> t->kind & 1) != 0 && (snd->ref == TW_DEBUG_NOBODY || snd->ref == t->script);
}

static double number_of(const tw_trace_t *r)
{
    const uint32_t low = (uint32_t)(uint64_t)r->value;
    float f;
    double d;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &r->value, sizeof d);
    return r->type == TW_T_FP32 ? (double)f : d;
}

static void tell_register(tw_text_t *t, const tw_trace_t *r)
{
    if (r->number >> 1 != 0) {
        tw_text_str(t, "  r");
        tw_text_int(t, (r->number >> 1) - 1);
        tw_text_str(t, " = ");
        if (r->type == TW_T_FP32 || r->type == TW_T_FP64) {
            tw_text_num(t, number_of(r));
        } else {
            tw_text_int(t, r->value); /* fp16 as its bits */
        }
    }
    tw_text_str(t, (r->number & 1) != 0 ? "  T" : "");
}

static void fill_text(const tw_trace_line_t *line, char *text, size_t cap)
{
    tw_text_t t;
    tw_text_init(&t, text, cap);
    switch (line->head.kind) {
    case TW_TRACE_INSTRUCTION: {
        char words[64];
        (void)tw_script_disasm(line->data, line->head.bytes, 0, words, sizeof words);
        tw_text_str(&t, words);
        tell_register(&t, &line->head);
        break;
    }
    case TW_TRACE_STOP:
        tw_text_str(&t, tw_debug_stop_text((unsigned)line->head.value));
        break;
    case TW_EV_SCRIPT_FAULT:
        tw_text_str(&t, tw_err_text((tw_err_t) - (int32_t)line->head.number));
        break;
    default:
        break;
    }
}

static void fill(const tw_trace_line_t *line, tunewire_v1_Event *m)
{
    const tw_trace_t *r = &line->head;
    *m = (tunewire_v1_Event)tunewire_v1_Event_init_zero;
    m->seq = r->seq + 1;
    m->t_us = line->t_us;
    m->kind = r->kind;
    m->where = r->at;
    m->value = r->value;
    m->tick = r->tick;
    m->script = r->script;
    m->number = r->number;
    m->data.size = (pb_size_t)r->bytes;
    memcpy(m->data.bytes, line->data, r->bytes);
    fill_text(line, m->text, sizeof m->text);
}

bool tw_trace_next(tw_server_t *s, tw_sender_t *snd, tunewire_v1_Event *m)
{
    const uint64_t kept = s->cfg.trace_lines;
    if (s->trace_seq - snd->at > kept) {
        snd->end += s->trace_seq - kept - snd->at; /* overwritten before this client took them */
        snd->at = s->trace_seq - kept;
    }
    for (; snd->at < s->trace_seq; snd->at++) {
        const tw_trace_line_t *line = line_at(s, snd->at);
        if (passes(snd, &line->head)) {
            const uint32_t engine = (uint32_t)(line->head.seq - snd->at); /* it had no room for so many, ever */
            fill(line, m);
            m->lost = (uint32_t)snd->end + (engine > snd->limit ? engine - snd->limit : 0);
            return true;
        }
    }
    return false;
}

void tw_on_script_trace(tw_call_t *c, const void *request)
{
    const tunewire_v1_ScriptTrace *q = request;
    tw_server_t *s = c->s;
    tw_engine_script_t info;
    if (!tw_graph_ok(c, q->graph)) {
        return;
    }
    if (s->cfg.trace_lines == 0) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "this device keeps no trace");
        return;
    }
    const tw_err_t err = q->all ? TW_OK : tw_engine_script(s->e, q->index, &info);
    if (err != TW_OK) {
        tw_fail(c, err, q->index, "Script.List shows what there is; `all` takes every script");
        return;
    }
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_TRACE);
    if (snd == NULL) {
        return;
    }
    drain(s);
    snd->at = s->trace_seq;
    snd->limit = tw_engine_trace_lost(s->e);
    snd->level = q->kinds != 0 ? q->kinds : ~(uint32_t)QUIET_KINDS;
    snd->ref = q->all ? TW_DEBUG_NOBODY : q->index;
    tw_reply_stream(c, snd->stream, NULL, NULL);
    tw_trace_pump(s);
}
