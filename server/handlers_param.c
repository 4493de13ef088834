/* handlers_param.c - Param: set, get, presets, descriptions.
 *
 * Set is the call that must be fast: check, put, publish, and the answer names
 * the block that runs with it, without waiting for the engine.
 */
#include "server/server_priv.h"

bool tw_node_ok(tw_call_t *c, uint32_t number, tw_engine_node_t *node)
{
    const tw_err_t err = tw_engine_node(c->s->e, number, node);
    if (err == TW_OK) {
        return true;
    }
    char text[TW_LOG_TEXT];
    const tw_fault_t fault = {.err = err, .at = number};
    tw_param_text(c->s, &(tw_param_ref_t){.node = number}, &fault, text, sizeof text);
    tw_fail(c, err, number, text);
    return false;
}

tw_err_t tw_param_version_is(tw_server_t *s, uint32_t node, uint32_t version)
{
    return tw_engine_version(s->e, node) == version ? TW_OK : TW_E_PARAM_VERSION;
}

/* ---- set ------------------------------------------------------------------------- */

static bool check(tw_call_t *c, const tw_hot_set_t *q)
{
    tw_fault_t fault = {0};
    const tw_err_t err = tw_engine_check_param(c->s->e, q->node, q->index, q->type, q->value, q->value_len, &fault);
    if (err != TW_OK) {
        char text[TW_LOG_TEXT];
        fault.err = err;
        const tw_param_ref_t ref = {q->node, q->index, q->value, q->value_len};
        tw_param_text(c->s, &ref, &fault, text, sizeof text);
        tw_fail(c, err, fault.at, text[0] != '\0' ? text : NULL);
        return false;
    }
    if (q->expect_version != 0 && tw_engine_version(c->s->e, q->node) != q->expect_version) {
        tw_fail(c, TW_E_PARAM_VERSION, tw_engine_version(c->s->e, q->node), "read it again (where = version now)");
        return false;
    }
    return true;
}

static void ack(tw_call_t *c, uint32_t version, uint64_t tick)
{
    enum { ACK_ROOM = 64 };
    tw_conn_t *conn = &c->peer->conn;
    uint8_t *out = tw_conn_begin(conn, TW_FT_REPLY, 0, ACK_ROOM);
    const uint32_t n = out != NULL ? tw_hot_put_ack(out, ACK_ROOM, c->id, tw_now(c->s), version, tick) : 0;
    if (n != 0) {
        tw_reply_sent(c, out, n);
        tw_conn_end(conn, n, TW_FF_FIN);
        return;
    }
    tunewire_v1_ParamAck rep = tunewire_v1_ParamAck_init_zero;
    rep.version = version;
    rep.applied_tick = tick;
    tw_reply(c, tunewire_v1_ParamAck_fields, &rep);
}

static void stage(tw_call_t *c, const tw_hot_set_t *q)
{
    const tw_op_t op = {
        .kind = TW_OP_SET,
        .target = q->node,
        .index = q->index,
        .bytes = q->value_len,
        .expect_version = q->expect_version,
    };
    if (q->readback) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "no readback before the commit");
    } else if (tw_txn_stage(c, &op, q->value) != TW_OK) {
        tw_fail(c, TW_E_TXN_FULL, c->s->cfg.txn_bytes, "where = bytes a transaction may stage");
    } else {
        ack(c, tw_engine_version(c->s->e, q->node), 0);
    }
}

/* Fine alone: a filter's coefficients may still not go with its post_shift. Judged as a commit of this one value. */
static bool agrees(tw_call_t *c)
{
    tunewire_v1_Status st;
    uint32_t node;
    if (tw_values_together(c->s, &node, &st) == TW_OK) {
        return true;
    }
    tw_engine_drop(c->s->e);
    tw_reply_status(c, &st, NULL, NULL);
    return false;
}

/* Set and read in one group: what comes back is what the node made of the value at that boundary. */
static void set_and_read(tw_call_t *c, const tw_hot_set_t *q)
{
    tw_server_t *s = c->s;
    tw_deferred_t *d = tw_defer(c, TW_WAIT_READBACK);
    if (d == NULL) {
        return;
    }
    tw_err_t err = tw_engine_put_param(s->e, 0, q->node, q->index, q->value, q->value_len);
    if (err == TW_OK) {
        err = tw_engine_put_read(s->e, d->token, q->node, q->index);
    }
    if (err == TW_OK && !agrees(c)) {
        tw_undefer(s, d);
        return;
    }
    if (!tw_hand_over(c, d, err)) {
        return;
    }
    d->committed = true;
    d->a = q->node;
    d->version = tw_engine_version(s->e, q->node);
}

static void set_now(tw_call_t *c, const tw_hot_set_t *q)
{
    tw_server_t *s = c->s;
    const tw_err_t err = tw_engine_put_param(s->e, 0, q->node, q->index, q->value, q->value_len);
    if (err != TW_OK) {
        tw_fail(c, err, 0, TW_TEXT_QUEUE_FULL);
        return;
    }
    if (!agrees(c)) {
        return;
    }
    const uint64_t tick = tw_engine_publish(s->e);
    ack(c, tw_engine_version(s->e, q->node), tick);
}

static void apply(tw_call_t *c, const tw_hot_set_t *q)
{
    if (!check(c, q)) {
        return;
    }
    if (c->op != 0) {
        stage(c, q);
    } else if (q->readback) {
        set_and_read(c, q);
    } else {
        set_now(c, q);
    }
}

/* ---- values by stream -------------------------------------------------------------- */

enum { READBACK = 1u << 31, TYPE_SHIFT = 16, INDEX_MASK = 0xFFFF, TYPE_MASK = 0xFF };

/* The call waits for its bytes; node, index, type and the rest wait with it. */
static void expect_value(tw_call_t *c, const tw_hot_set_t *q)
{
    tw_server_t *s = c->s;
    if (tw_auth_needed(s)) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "stream frames carry no MAC: with a key, send the value inline");
        return;
    }
    if (s->upload_token != 0) {
        tw_fail(c, TW_E_BUSY, 0, "another value is on its stream, try again");
        return;
    }
    if (q->value_stream > UINT16_MAX || (q->value_stream & 1) == 0 || q->index > TW_TAG_ALL || q->type > TYPE_MASK) {
        tw_fail(c, TW_E_STREAM_ID, q->value_stream, "name an unused odd stream id");
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_VALUE);
    if (d == NULL) {
        return;
    }
    if (tw_sink_open(c->peer, (uint16_t)q->value_stream, TW_SINK_VALUE, d->token) == NULL) {
        tw_undefer(s, d);
        tw_fail(c, TW_E_STREAM_ID, q->value_stream, "in use, or too many streams open");
        return;
    }
    if (d->due_us > tw_now(s) + TW_UPLOAD_US) {
        d->due_us = tw_now(s) + TW_UPLOAD_US;
        s->next_due_us = s->next_due_us < d->due_us ? s->next_due_us : d->due_us;
    }
    d->a = q->node;
    d->b = q->index | q->type << TYPE_SHIFT | (q->readback ? READBACK : 0);
    d->c = q->expect_version;
    d->d = q->value_stream;
    s->upload_token = d->token;
    s->upload_used = 0;
}

tw_err_t tw_value_data(tw_server_t *s, uint32_t token, uint64_t offset, const uint8_t *data, uint32_t n,
                       uint32_t *expected)
{
    if (s->upload_token != token) {
        return TW_E_STREAM_ID;
    }
    *expected = s->upload_used;
    if (offset != s->upload_used) {
        return TW_E_STREAM_OFFSET;
    }
    if (n > TW_UPLOAD_MAX - s->upload_used) {
        return TW_E_PARAM_SIZE;
    }
    memcpy(s->upload + s->upload_used, data, n);
    s->upload_used += n;
    return TW_OK;
}

void tw_value_end(tw_server_t *s, uint32_t token, bool whole)
{
    tw_deferred_t *at = tw_deferred_by_token(s, token);
    if (at == NULL) {
        return;
    }
    const tw_deferred_t d = *at;
    tw_call_t c = tw_deferred_call(s, at);
    tw_undefer(s, at);
    if (!whole) {
        tw_fail(&c, TW_E_STREAM_OFFSET, s->upload_used, "the value did not arrive whole (where = bytes held)");
        return;
    }
    if (d.txn != 0 && c.op == 0) {
        tw_fail(&c, TW_E_TXN_LEASE, d.txn, "begin again");
        return;
    }
    const tw_hot_set_t q = {
        .node = d.a,
        .index = d.b & INDEX_MASK,
        .type = d.b >> TYPE_SHIFT & TYPE_MASK,
        .expect_version = d.c,
        .readback = (d.b & READBACK) != 0,
        .value = s->upload,
        .value_len = s->upload_used,
    };
    apply(&c, &q);
}

void tw_param_set(tw_call_t *c, const tw_hot_set_t *q)
{
    if (!tw_graph_ok(c, q->graph)) {
        return;
    }
    if (q->value_stream != 0) {
        expect_value(c, q);
    } else {
        apply(c, q);
    }
}

void tw_on_param_set(tw_call_t *c, const void *request)
{
    const tunewire_v1_ParamSet *m = request;
    const tw_hot_set_t q = {
        .graph = m->graph,
        .node = m->node,
        .index = m->index,
        .type = m->type,
        .expect_version = m->expect_version,
        .value_stream = m->stream,
        .readback = m->readback,
        .value = m->value.bytes,
        .value_len = m->value.size,
    };
    tw_param_set(c, &q);
}

void tw_done_readback(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err != TW_OK) {
        tw_fail(c, r->err, d->a, TW_TEXT_GRAPH_WENT);
        return;
    }
    tunewire_v1_ParamAck rep = tunewire_v1_ParamAck_init_zero;
    rep.version = d->version;
    rep.applied_tick = r->tick;
    rep.readback.size = (pb_size_t)tw_min_u32(r->bytes, sizeof rep.readback.bytes);
    memcpy(rep.readback.bytes, r->data, rep.readback.size);
    tw_reply(c, tunewire_v1_ParamAck_fields, &rep);
}

/* ---- get ---------------------------------------------------------------------------- */

static uint32_t type_of(const tw_engine_node_t *node, uint32_t index)
{
    uint32_t n;
    const tw_param_desc_t *p = tw_node_params(node->desc, node->fmt, &n);
    for (uint32_t i = 0; p != NULL && i < n; i++) {
        if (p[i].index == index) {
            return p[i].raw;
        }
    }
    return 0;
}

void tw_on_param_get(tw_call_t *c, const void *request)
{
    const tunewire_v1_ParamGet *q = request;
    tw_engine_node_t node;
    if (!tw_graph_ok(c, q->graph) || !tw_node_ok(c, q->node, &node)) {
        return;
    }
    const uint32_t total = tw_param_bytes(node.desc, node.fmt, q->index);
    if (total == 0 || q->offset >= total) {
        const tw_err_t err = total == 0 ? TW_E_PARAM_INDEX : TW_E_RANGE;
        const tw_fault_t fault = {.err = TW_E_PARAM_INDEX, .at = q->index};
        char text[TW_LOG_TEXT] = "offset past the end (where = its bytes)";
        if (total == 0) {
            tw_param_text(c->s, &(tw_param_ref_t){q->node, q->index, NULL, 0}, &fault, text, sizeof text);
        }
        tw_fail(c, err, total == 0 ? q->index : total, text);
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_GET);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_read(c->s->e, d->token, q->node, q->index))) {
        return;
    }
    d->version = tw_engine_version(c->s->e, q->node); /* of the value that will be read: later sets queue behind it */
    d->a = q->node;
    d->b = q->index | type_of(&node, q->index) << TYPE_SHIFT;
    d->c = q->offset;
    d->d = q->limit;
}

void tw_done_get(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err != TW_OK || d->c > r->bytes) {
        tw_fail(c, r->err != TW_OK ? r->err : TW_E_RANGE, d->a, TW_TEXT_GRAPH_WENT);
        return;
    }
    tunewire_v1_ParamValue rep = tunewire_v1_ParamValue_init_zero;
    const uint32_t left = tw_min_u32(r->bytes - d->c, sizeof rep.value.bytes);
    rep.index = d->b & INDEX_MASK;
    rep.type = d->b >> TYPE_SHIFT & TYPE_MASK;
    rep.version = d->version;
    rep.total = r->bytes;
    rep.crc = tw_crc32c(0, r->data, r->bytes);
    rep.value.size = (pb_size_t)(d->d != 0 ? tw_min_u32(left, d->d) : left);
    memcpy(rep.value.bytes, r->data + d->c, rep.value.size);
    tw_reply(c, tunewire_v1_ParamValue_fields, &rep);
}

/* ---- presets and descriptions ----------------------------------------------------------- */

static bool preset_ok(tw_call_t *c, const tunewire_v1_PresetReq *q)
{
    tw_engine_node_t node;
    if (!tw_graph_ok(c, q->graph) || !tw_node_ok(c, q->node, &node)) {
        return false;
    }
    if (q->preset == 0 || (q->preset < 64 && (node.desc->presets >> q->preset & 1u) != 0)) {
        return true;
    }
    tw_fail(c, TW_E_PARAM_PRESET, q->preset, "Graph.Manifest lists them");
    return false;
}

void tw_on_param_preset(tw_call_t *c, const void *request)
{
    const tunewire_v1_PresetReq *q = request;
    if (!preset_ok(c, q)) {
        return;
    }
    if (c->op != 0) {
        const tw_op_t op = {.kind = TW_OP_PRESET, .target = q->node, .index = q->preset};
        if (tw_txn_stage(c, &op, NULL) != TW_OK) {
            tw_fail(c, TW_E_TXN_FULL, c->s->cfg.txn_bytes, "where = bytes a transaction may stage");
        } else {
            ack(c, tw_engine_version(c->s->e, q->node), 0);
        }
        return;
    }
    const tw_err_t err = tw_engine_put_preset(c->s->e, 0, q->node, q->preset);
    if (err != TW_OK) {
        tw_fail(c, err, 0, TW_TEXT_QUEUE_FULL);
        return;
    }
    const uint64_t tick = tw_engine_publish(c->s->e);
    ack(c, tw_engine_version(c->s->e, q->node), tick);
}

static void fill_desc(const tw_param_desc_t *p, tunewire_v1_ParamDesc *m)
{
    *m = (tunewire_v1_ParamDesc)tunewire_v1_ParamDesc_init_zero;
    m->index = p->index;
    tw_copy_str(m->name, sizeof m->name, p->name);
    m->type = p->raw;
    m->count = p->count;
    m->min = p->min;
    m->max = p->max;
    m->default_value = p->dflt;
    const char *unit = tw_unit_text(p->unit);
    tw_copy_str(m->unit, sizeof m->unit, p->unit != 0 && unit != NULL ? unit : "");
    m->flags = p->flags;
}

void tw_on_param_describe(tw_call_t *c, const void *request)
{
    const tunewire_v1_NodeRef *q = request;
    tw_engine_node_t node;
    if (!tw_graph_ok(c, q->graph) || !tw_node_ok(c, q->node, &node)) {
        return;
    }
    uint32_t n = 0;
    const tw_param_desc_t *p = tw_node_params(node.desc, node.fmt, &n);
    tw_rpc_list_t l;
    tw_list_begin(c, &l);
    for (uint32_t i = q->first; p != NULL && !l.full && i < n; i++) {
        tunewire_v1_ParamDesc m;
        fill_desc(&p[i], &m);
        (void)tw_rpc_list_add(&l, tunewire_v1_ParamDescList_params_tag, tunewire_v1_ParamDesc_fields, &m);
    }
    tw_list_total(&l, tunewire_v1_ParamDescList_total_tag, n);
    tw_reply_list(c, &l);
}
