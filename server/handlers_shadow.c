/* handlers_shadow.c - Shadow: other parameters tried beside a node, then promoted or dropped.
 *
 * The candidate values are kept here as they are set; promoting puts them to the node itself and drops the shadow, all
 * at one boundary. A shadow is its session's and ends with it, or with its graph.
 */
#include "engine/base/fixed.h"
#include "server/server_priv.h"

enum { HEAD = 4 };

static tw_double_t *find(tw_call_t *c, uint32_t id, bool own)
{
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        tw_double_t *d = &c->s->doubles[i];
        if (d->id == id && id != 0 && (!own || d->ses == c->ses)) {
            return d;
        }
    }
    tw_fail(c, TW_E_SHADOW_NONE, id, own ? "Shadow.Start gives numbers; another session's are not yours" : NULL);
    return NULL;
}

void tw_doubles_graph_changed(tw_server_t *s)
{
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        s->doubles[i].id = 0;
    }
}

static tw_err_t drop(tw_server_t *s, tw_double_t *d)
{
    const tw_err_t err = tw_engine_put_shadow_drop(s->e, 0, d->shadow);
    if (err != TW_E_QUEUE_FULL) {
        d->id = 0;
    }
    return err;
}

void tw_doubles_session_gone(tw_server_t *s, const tw_session_t *ses)
{
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        tw_double_t *d = &s->doubles[i];
        if (d->id == 0 || d->ses != ses) {
            continue;
        }
        d->ses = NULL; /* should the queue be full: nobody's, until there is room to drop it */
        if (drop(s, d) == TW_OK) {
            (void)tw_engine_publish(s->e);
        }
    }
}

static void reply_info(tw_call_t *c, const tw_double_t *d, uint64_t tick)
{
    tunewire_v1_ShadowInfo rep = tunewire_v1_ShadowInfo_init_zero;
    rep.shadow = d->id;
    rep.node = d->node;
    rep.bytes = d->bytes;
    rep.free = tw_engine_shadow_room(c->s->e);
    rep.version = tw_engine_version(c->s->e, d->node);
    rep.applied_tick = tick;
    tw_reply(c, tunewire_v1_ShadowInfo_fields, &rep);
}

/* ---- start ------------------------------------------------------------------------------- */

static tw_double_t *free_place(tw_server_t *s)
{
    for (uint32_t i = 0; i < TW_MAX_SHADOWS; i++) {
        if (s->doubles[i].id == 0) {
            return &s->doubles[i];
        }
    }
    return NULL;
}

static const char *why(tw_err_t err)
{
    return err == TW_E_NOMEM         ? "drop another shadow, or there is no room for one (where = bytes short)"
           : err == TW_E_UNSUPPORTED ? "no double of a node that runs scripts, acts on the graph or has no output"
           : err == TW_E_SHADOW_NONE ? "drop another shadow first"
                                     : NULL;
}

void tw_on_shadow_start(tw_call_t *c, const void *request)
{
    const tunewire_v1_ShadowReq *q = request;
    tw_server_t *s = c->s;
    tw_engine_node_t node;
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c) || !tw_node_ok(c, q->node, &node)) {
        return;
    }
    tw_doubles_session_gone(s, NULL);
    tw_double_t *place = free_place(s);
    if (place == NULL) {
        tw_fail(c, TW_E_BUSY, 0, "drop another shadow first");
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_SHADOW);
    if (d == NULL) {
        return;
    }
    uint32_t bytes;
    const tw_err_t err = tw_engine_put_shadow(s->e, d->token, q->node, q->skip, &place->shadow, &bytes);
    if (err != TW_OK) {
        tw_engine_drop(s->e);
        tw_undefer(s, d);
        tw_fail(c, err == TW_E_SHADOW_NONE ? TW_E_BUSY : err, err == TW_E_NOMEM ? bytes : q->node, why(err));
        return;
    }
    (void)tw_engine_publish(s->e);
    s->next_double += 1 + (s->next_double == UINT32_MAX);
    place->id = s->next_double;
    place->ses = c->ses;
    place->node = q->node;
    place->bytes = bytes;
    place->used = 0;
    d->committed = true;
    d->a = place->id;
}

void tw_done_shadow(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    tw_double_t *place = find(c, d->a, false);
    if (place == NULL) {
        return;
    }
    if (r->err != TW_OK) {
        place->id = 0;
        tw_fail(c, r->err, place->node, r->err == TW_E_GENERATION ? TW_TEXT_GRAPH_WENT : NULL);
        return;
    }
    reply_info(c, place, r->tick);
}

/* ---- candidate values ------------------------------------------------------------------------ */

static uint32_t room_of(const uint8_t *at)
{
    return HEAD + tw_round_up(tw_get_le16(at + 2), 4);
}

static void forget(tw_double_t *d, uint32_t index)
{
    for (uint32_t at = 0; at < d->used;) {
        const uint32_t n = room_of(d->values + at);
        if (tw_get_le16(d->values + at) == index) {
            memmove(d->values + at, d->values + at + n, d->used - at - n);
            d->used -= n;
        } else {
            at += n;
        }
    }
}

/* In the order they were set; the one before for the same index is of no use any more. @return false: no room */
static bool keep(tw_double_t *d, uint32_t index, const uint8_t *value, uint32_t n)
{
    const uint32_t room = HEAD + tw_round_up(n, 4);
    if (room > TW_SHADOW_VALUES - d->used) {
        return false;
    }
    forget(d, index);
    uint8_t *at = d->values + d->used;
    tw_put_le16(at, (uint16_t)index);
    tw_put_le16(at + 2, (uint16_t)n);
    memcpy(at + HEAD, value, n);
    d->used += room;
    return true;
}

void tw_on_shadow_set(tw_call_t *c, const void *request)
{
    const tunewire_v1_ShadowSet *q = request;
    tw_server_t *s = c->s;
    tw_fault_t fault;
    tw_double_t *d = find(c, q->shadow, true);
    if (d == NULL || !tw_graph_settled(c)) {
        return;
    }
    tw_err_t err = tw_engine_check_param(s->e, d->node, q->index, q->type, q->value.bytes, q->value.size, &fault);
    if (err != TW_OK) {
        char text[TW_LOG_TEXT];
        const tw_param_ref_t ref = {d->node, q->index, q->value.bytes, q->value.size};
        tw_param_text(s, &ref, &fault, text, sizeof text);
        tw_fail(c, err, fault.at, text);
        return;
    }
    err = tw_engine_put_shadow_param(s->e, 0, d->shadow, q->index, q->value.bytes, q->value.size);
    if (err == TW_OK && !keep(d, q->index, q->value.bytes, q->value.size)) {
        err = TW_E_TXN_FULL;
    }
    if (err != TW_OK) {
        tw_engine_drop(s->e);
        tw_fail(c, err, d->id, err == TW_E_QUEUE_FULL ? TW_TEXT_QUEUE_FULL : "nothing was changed");
        return;
    }
    reply_info(c, d, tw_engine_publish(s->e));
}

/* ---- metrics ------------------------------------------------------------------------------------ */

void tw_on_shadow_metrics(tw_call_t *c, const void *request)
{
    const tunewire_v1_ShadowRef *q = request;
    const tw_double_t *d = find(c, q->shadow, q->restart);
    if (d == NULL) {
        return;
    }
    tw_deferred_t *wait = tw_defer(c, TW_WAIT_METRICS);
    if (wait == NULL ||
        !tw_hand_over(c, wait, tw_engine_put_shadow_read(c->s->e, wait->token, d->shadow, q->restart))) {
        return;
    }
    wait->a = q->shadow;
}

static double root_mean(double sum, uint64_t n)
{
    return n != 0 ? (double)tw_sqrtf((float)(sum / (double)n)) : 0;
}

void tw_done_metrics(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    tw_shadow_sums_t m;
    if (r->err != TW_OK || r->bytes != sizeof m) {
        tw_fail(c, r->err != TW_OK ? r->err : TW_E_INTERNAL, d->a, TW_TEXT_GRAPH_WENT);
        return;
    }
    memcpy(&m, r->data, sizeof m);
    tunewire_v1_ShadowMetrics rep = tunewire_v1_ShadowMetrics_init_zero;
    rep.shadow = d->a;
    rep.samples = m.samples;
    rep.tick = r->tick;
    rep.diff_rms = root_mean(m.diff2, m.samples);
    rep.diff_max = m.diff_max;
    rep.node_rms = root_mean(m.node2, m.samples);
    rep.shadow_rms = root_mean(m.shadow2, m.samples);
    rep.node_peak = m.node_peak;
    rep.shadow_peak = m.shadow_peak;
    rep.correlation = tw_shadow_correlation(&m);
    rep.runs = m.runs;
    rep.unequal = m.unequal;
    rep.errors = m.errors;
    rep.not_numbers = m.not_numbers;
    tw_reply(c, tunewire_v1_ShadowMetrics_fields, &rep);
}

/* ---- promote and drop ------------------------------------------------------------------------------ */

static tw_err_t put_values(tw_server_t *s, const tw_double_t *d)
{
    for (uint32_t at = 0; at < d->used; at += room_of(d->values + at)) {
        const uint8_t *v = d->values + at;
        TW_TRY(tw_engine_put_param(s->e, 0, d->node, tw_get_le16(v), v + HEAD, tw_get_le16(v + 2)));
    }
    return tw_engine_put_shadow_drop(s->e, 0, d->shadow);
}

void tw_on_shadow_promote(tw_call_t *c, const void *request)
{
    const tunewire_v1_ShadowRef *q = request;
    tw_server_t *s = c->s;
    tw_double_t *d = find(c, q->shadow, true);
    if (d == NULL || !tw_graph_settled(c)) {
        return;
    }
    const tw_err_t stale = q->expect_version != 0 ? tw_param_version_is(s, d->node, q->expect_version) : TW_OK;
    if (stale != TW_OK) {
        tw_fail(c, stale, tw_engine_version(s->e, d->node), "where = version now; nothing was changed");
        return;
    }
    const tw_err_t err = put_values(s, d);
    if (err != TW_OK) {
        tw_engine_drop(s->e);
        tw_fail(c, err, d->id, err == TW_E_QUEUE_FULL ? TW_TEXT_QUEUE_FULL : "nothing was changed");
        return;
    }
    tunewire_v1_Status st;
    if (tw_values_together(s, &(uint32_t){0}, &st) != TW_OK) {
        tw_engine_drop(s->e);
        tw_reply_status(c, &st, NULL, NULL);
        return;
    }
    tunewire_v1_ParamAck rep = tunewire_v1_ParamAck_init_zero;
    rep.applied_tick = tw_engine_publish(s->e);
    rep.version = tw_engine_version(s->e, d->node);
    d->id = 0;
    tw_reply(c, tunewire_v1_ParamAck_fields, &rep);
}

void tw_on_shadow_drop(tw_call_t *c, const void *request)
{
    const tunewire_v1_ShadowRef *q = request;
    tw_double_t *d = find(c, q->shadow, true);
    if (d == NULL) {
        return;
    }
    const tw_err_t err = drop(c->s, d);
    if (err == TW_E_QUEUE_FULL) {
        tw_fail(c, err, q->shadow, TW_TEXT_QUEUE_FULL);
        return;
    }
    if (err == TW_OK) {
        (void)tw_engine_publish(c->s->e);
    }
    tw_reply(c, NULL, NULL);
}
