/* handlers_probe.c - Probe: captures around a trigger, armed and disarmed. */
#include "server/server_priv.h"

void tw_on_probe_arm(tw_call_t *c, const void *request)
{
    const tunewire_v1_ProbeReq *q = request;
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c)) {
        return;
    }
    tw_engine_script_t script;
    const bool runs_code = q->trigger == tunewire_v1_ProbeReq_Trigger_SCRIPT;
    if (runs_code && c->ses->role < TW_ROLE_TUNE) {
        tw_fail(c, TW_E_DENIED, c->ses->role, "a script that fires needs role tune");
        return;
    }
    const char *text = NULL;
    uint32_t where = q->arc;
    tw_armed_t *a = NULL;
    tw_err_t err = runs_code ? tw_engine_script(c->s->e, q->script, &script) : TW_OK;
    if (err == TW_OK) {
        err = tw_armed_open(c, q, &a, &where, &text);
    }
    if (err != TW_OK) {
        tw_fail(c, err, err == TW_E_SCRIPT_NONE ? q->script : err == TW_E_NOMEM ? where : q->arc, text);
        return;
    }
    tw_reply_stream(c, a->stream, NULL, NULL);
    tw_armed_pump(c->s, tw_now(c->s));
}

static tw_armed_t *find(tw_call_t *c, uint32_t id)
{
    tw_armed_t *a = tw_armed_find(c->s, c->ses, id);
    if (a == NULL) {
        tw_fail(c, TW_E_SUB_NONE, id, "a probe's number is that of its stream");
    }
    return a;
}

void tw_on_probe_disarm(tw_call_t *c, const void *request)
{
    const tunewire_v1_ProbeRef *q = request;
    tw_armed_t *a = find(c, q->probe);
    if (a == NULL) {
        return;
    }
    tw_armed_close(a, TW_OK);
    tw_reply(c, NULL, NULL);
    tw_armed_pump(c->s, tw_now(c->s));
}

void tw_on_probe_fire(tw_call_t *c, const void *request)
{
    const tunewire_v1_ProbeRef *q = request;
    tw_armed_t *a = find(c, q->probe);
    if (a != NULL) {
        tw_capture_want(&a->capture);
        tw_reply(c, NULL, NULL);
    }
}

void tw_on_probe_state(tw_call_t *c, const void *request)
{
    const tunewire_v1_ProbeRef *q = request;
    tw_armed_t *a = find(c, q->probe);
    if (a == NULL) {
        return;
    }
    tunewire_v1_ProbeState rep = tunewire_v1_ProbeState_init_zero;
    rep.probe = a->stream;
    rep.arc = a->probe.arc;
    rep.state = atomic_load_explicit(&a->capture.state, memory_order_relaxed);
    rep.captures = atomic_load_explicit(&a->capture.captures, memory_order_relaxed);
    rep.missed = atomic_load_explicit(&a->capture.missed, memory_order_relaxed);
    rep.sent = a->sent;
    rep.segments = a->capture.n_segs;
    rep.bytes = a->capture.n_segs * tw_capture_need(&a->cfg);
    rep.script_error = atomic_load_explicit(&a->probe.script_error, memory_order_relaxed);
    tw_reply(c, tunewire_v1_ProbeState_fields, &rep);
}
