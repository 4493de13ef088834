/* handlers_record.c - Record: recordings (docs/REPLAY.md) begun and ended by a host.
 *
 * A host names a file and nothing more: where it lies was said by who started the server. So names have no path in
 * them, and a file that is there already is not written over.
 */
#include "server/server_priv.h"

static bool plain_name(const char *name)
{
    for (const char *p = name; *p != '\0'; p++) {
        const bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!letter && strchr("._-", *p) == NULL) {
            return false;
        }
    }
    return name[0] != '\0' && name[0] != '.';
}

static bool can_record(tw_call_t *c)
{
    if (c->s->cfg.record == NULL) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "this device records nothing");
    }
    return c->s->cfg.record != NULL;
}

static void reply_state(tw_call_t *c)
{
    const tw_record_calls_t *r = c->s->cfg.record;
    tw_record_state_t now = {0};
    tunewire_v1_RecordState m = tunewire_v1_RecordState_init_zero;
    r->state(r->ctx, &now);
    m.phase = (tunewire_v1_RecordState_Phase)now.phase;
    m.bytes = now.bytes;
    m.complete = now.phase == TW_RECORD_ENDED && now.why == NULL;
    tw_copy_str(m.name, sizeof m.name, now.name != NULL ? now.name : "");
    tw_copy_str(m.text, sizeof m.text, now.why != NULL ? now.why : "");
    tw_reply(c, tunewire_v1_RecordState_fields, &m);
}

void tw_on_record_start(tw_call_t *c, const void *request)
{
    const tunewire_v1_RecordReq *q = request;
    const char *why = NULL;
    if (!can_record(c)) {
        return;
    }
    if (!plain_name(q->name)) {
        tw_fail(c, TW_E_ARG, 0, "name: of a file, without a folder: letters, digits, . _ -");
        return;
    }
    const tw_err_t err = c->s->cfg.record->start(c->s->cfg.record->ctx, q->name, q->outputs, &why);
    if (err != TW_OK) {
        tw_fail(c, err, 0,
                err == TW_E_BUSY          ? "one is under way: Record.Stop ends it"
                : err == TW_E_EXISTS      ? "a file of this name is there already, choose another"
                : err == TW_E_UNSUPPORTED ? "start the server with --record-dir DIR"
                                          : why);
        return;
    }
    reply_state(c);
}

void tw_on_record_stop(tw_call_t *c, const void *request)
{
    (void)request;
    if (!can_record(c)) {
        return;
    }
    if (c->s->cfg.record->stop(c->s->cfg.record->ctx) != TW_OK) {
        tw_fail(c, TW_E_STATE, 0, "nothing is being recorded: Record.Start begins");
        return;
    }
    reply_state(c);
}

void tw_on_record_state(tw_call_t *c, const void *request)
{
    (void)request;
    if (can_record(c)) {
        reply_state(c);
    }
}
