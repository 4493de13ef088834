/* client_graph.c - graphs, parameters, transactions and scripts as plain calls. */
#include "host_tools/client/client_priv.h"
#include <stdio.h>
#include <stdlib.h>

enum { INLINE_ROOM = 64, TXN_LEASE_MS = 5000, GET_LIMIT_MAX = 1 << 20 };

bool tw_client_load_graph(tw_client_t *c, const char *name, const uint8_t *image, uint64_t n,
                          const tunewire_v1_GraphLoad *how, tw_progress_fn progress, void *ctx,
                          tunewire_v1_GraphInfo *out)
{
    tunewire_v1_GraphLoad req = *how;
    req.replace = true;
    (void)snprintf(req.name, sizeof req.name, "%s", name);
    *out = (tunewire_v1_GraphInfo){0};
    return tw_client_upload(c, TW_BLOB_GRAPH, name, image, n, progress, ctx, &req.blob) &&
           tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Load, .request = &req, .response = out});
}

bool tw_client_rollback(tw_client_t *c, uint32_t fade_ms, tunewire_v1_GraphInfo *out)
{
    const tunewire_v1_GraphBack req = {.fade_ms = fade_ms};
    *out = (tunewire_v1_GraphInfo){0};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Rollback, .request = &req, .response = out});
}

bool tw_client_confirm(tw_client_t *c, const tunewire_v1_GraphInfo *g, bool keep, uint64_t *tick)
{
    const tunewire_v1_TxnRef txn = {.txn = g->confirm_txn};
    const tunewire_v1_GraphRef graph = {0};
    tunewire_v1_TxnRep rep = {0};
    tunewire_v1_GraphInfo info = {0};
    bool ok;
    if (g->confirm_txn) {
        ok = tw_client_call(c, &(tw_client_call_t){.method = keep ? TW_M_Txn_Confirm : TW_M_Txn_Rollback,
                                                   .request = &txn,
                                                   .response = &rep});
    } else if (keep) {
        ok = tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Keep, .request = &graph, .response = &info});
    } else {
        ok = tw_client_rollback(c, 0, &info);
    }
    *tick = g->confirm_txn ? rep.applied_tick : info.ticks;
    return ok;
}

bool tw_client_graph_info(tw_client_t *c, tunewire_v1_GraphInfo *out)
{
    const tunewire_v1_GraphRef ref = {0};
    *out = (tunewire_v1_GraphInfo){0};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Info, .request = &ref, .response = out});
}

bool tw_client_control(tw_client_t *c, tunewire_v1_GraphCtl_Op op, uint32_t steps, tunewire_v1_GraphInfo *out)
{
    const tunewire_v1_GraphCtl req = {.op = op, .steps = steps};
    *out = (tunewire_v1_GraphInfo){0};
    return tw_client_call(c, &(tw_client_call_t){.method = TW_M_Graph_Control, .request = &req, .response = out});
}

/* ---- parameters ------------------------------------------------------------------------ */

bool tw_client_get(tw_client_t *c, uint32_t node, uint32_t index, tw_bytes_t *value, uint32_t *type, uint32_t *version)
{
    tunewire_v1_ParamValue *v = malloc(sizeof *v);
    tunewire_v1_ParamGet req = {.node = node, .index = index};
    bool ok = v != NULL;
    *value = (tw_bytes_t){0};
    do {
        req.offset = (uint32_t)value->n;
        if (ok) {
            *v = (tunewire_v1_ParamValue){0};
            ok = tw_client_call(c, &(tw_client_call_t){.method = TW_M_Param_Get, .request = &req, .response = v}) &&
                 tw_bytes_add(value, v->value.bytes, v->value.size);
        }
    } while (ok && v->value.size && value->n < v->total && value->n < GET_LIMIT_MAX);
    if (ok && type) {
        *type = v->type;
    }
    if (ok && version) {
        *version = v->version;
    }
    free(v);
    if (!ok) {
        free(value->data);
        *value = (tw_bytes_t){0};
    }
    return ok;
}

/* A call id that may be waited for later; the value of a long one follows on its stream. */
static uint32_t begin_set(tw_client_t *c, uint32_t txn, const tw_set_op_t *op, tunewire_v1_ParamAck *ack)
{
    tunewire_v1_ParamSet *req = calloc(1, sizeof *req);
    if (!req) {
        (void)client_fail(c, TW_CLIENT_MEMORY, "", "out of memory");
        return 0;
    }
    req->node = op->node;
    req->index = op->index;
    req->type = op->type;
    const bool fits = op->n <= TW_INLINE_VALUE_MAX && op->n + INLINE_ROOM <= c->conn.max_frame;
    if (fits) {
        req->value.size = (pb_size_t)op->n;
        memcpy(req->value.bytes, op->value, op->n);
    } else {
        req->stream = tw_client_stream(c);
    }
    uint32_t id = 0;
    if (fits || req->stream) {
        id = tw_client_begin(c, &(tw_client_call_t){.method = TW_M_Param_Set,
                                                    .request = req,
                                                    .response = ack,
                                                    .txn = txn,
                                                    .stream = (uint16_t)req->stream});
    }
    if (id && !fits) { /* if the device ends the stream, its answer to the call says why */
        (void)tw_client_stream_send(c, (uint16_t)req->stream, op->value, 0, op->n, 0, NULL, NULL);
    }
    free(req);
    return id;
}

bool tw_client_set(tw_client_t *c, uint32_t txn, uint32_t node, uint32_t index, uint32_t type, const uint8_t *value,
                   uint32_t n, tunewire_v1_ParamAck *ack)
{
    const tw_set_op_t op = {node, index, type, n, value};
    if (ack) {
        *ack = (tunewire_v1_ParamAck){0};
    }
    return tw_client_end(c, begin_set(c, txn, &op, ack));
}

/* Everything is sent before the first answer is waited for; every answer is taken in any case. */
static bool stage_all(tw_client_t *c, uint32_t txn, const tw_set_op_t *ops, uint32_t n, uint32_t *failed)
{
    uint32_t *ids = calloc(n, sizeof *ids);
    tw_client_error_t first = {0};
    *failed = n;
    if (!ids) {
        return client_fail(c, TW_CLIENT_MEMORY, "", "out of memory");
    }
    for (uint32_t from = 0; from < n && *failed == n; from += c->max_calls) {
        const uint32_t to = tw_min_u32(n, from + c->max_calls);
        for (uint32_t i = from; i < to; i++) {
            ids[i] = begin_set(c, txn, &ops[i], NULL);
            if (!ids[i] && *failed == n) {
                first = c->err;
                *failed = i;
            }
        }
        for (uint32_t i = from; i < to; i++) {
            if (ids[i] && !tw_client_end(c, ids[i]) && *failed > i) {
                first = c->err;
                *failed = i;
            }
        }
    }
    free(ids);
    if (*failed < n) {
        c->err = first;
    }
    return *failed == n;
}

static void roll_back(tw_client_t *c, uint32_t txn)
{
    const tw_client_error_t why = c->err;
    const volatile sig_atomic_t *stop = c->stop;
    const tunewire_v1_TxnRef ref = {.txn = txn};
    c->stop = NULL;
    if (tw_client_alive(c)) {
        (void)tw_client_call(c, &(tw_client_call_t){.method = TW_M_Txn_Rollback, .request = &ref, .deadline_ms = 1000});
    }
    c->stop = stop;
    c->err = why;
}

bool tw_client_set_many(tw_client_t *c, const tw_set_op_t *ops, uint32_t n, uint64_t tick, uint32_t confirm_ms,
                        tunewire_v1_TxnRep *out, uint32_t *failed)
{
    uint32_t none = n;
    failed = failed ? failed : &none;
    *failed = n;
    *out = (tunewire_v1_TxnRep){0};
    tunewire_v1_TxnBegin req = {.lease_ms = TXN_LEASE_MS, .confirm_ms = confirm_ms};
    if (tick) {
        req.at = tunewire_v1_TxnBegin_At_TICK;
        req.tick = tick;
    }
    if (!tw_client_call(c, &(tw_client_call_t){.method = TW_M_Txn_Begin, .request = &req, .response = out})) {
        return false;
    }
    const tunewire_v1_TxnRef ref = {.txn = out->txn};
    if (!stage_all(c, ref.txn, ops, n, failed)) {
        roll_back(c, ref.txn);
        return false;
    }
    *out = (tunewire_v1_TxnRep){0};
    return tw_client_call(
        c, &(tw_client_call_t){
               .method = TW_M_Txn_Commit, .request = &ref, .response = out, .deadline_ms = tick ? c->timeout_ms : 0});
}

/* ---- scripts ------------------------------------------------------------------------------ */

bool tw_client_script_load(tw_client_t *c, uint32_t index, const uint8_t *code, uint32_t n, uint32_t code_bytes,
                           tunewire_v1_ScriptInfo *out)
{
    tunewire_v1_ScriptLoad *req = calloc(1, sizeof *req);
    if (!req) {
        return client_fail(c, TW_CLIENT_MEMORY, "", "out of memory");
    }
    *out = (tunewire_v1_ScriptInfo){0};
    req->index = index;
    req->code_bytes = code_bytes;
    bool ok = true;
    if (n <= sizeof req->code.bytes && n + INLINE_ROOM <= c->conn.max_frame) {
        req->code.size = (pb_size_t)n;
        memcpy(req->code.bytes, code, n);
    } else {
        ok = tw_client_upload(c, TW_BLOB_SCRIPT, "script", code, n, NULL, NULL, &req->blob);
    }
    ok = ok && tw_client_call(c, &(tw_client_call_t){.method = TW_M_Script_Load, .request = req, .response = out});
    free(req);
    return ok;
}
