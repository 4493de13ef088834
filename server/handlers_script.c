/* handlers_script.c - Script: replace, run, stop, list. */
#include "server/server_priv.h"

static void fill_script(uint32_t index, const tw_engine_script_t *s, tunewire_v1_ScriptInfo *m)
{
    *m = (tunewire_v1_ScriptInfo)tunewire_v1_ScriptInfo_init_zero;
    m->graph = TW_GRAPH_ID;
    m->index = index;
    m->size = s->bytes;
    m->crc = s->crc;
    m->state = s->disabled ? 1 : 0;
    m->runs = s->runs;
    m->faults = s->faults;
    tw_copy_str(m->name, sizeof m->name, s->name);
    m->has_last_error = s->last_error != TW_OK;
    if (m->has_last_error) {
        tw_rpc_status(&m->last_error, s->last_error, s->last_pc, NULL);
    }
}

static bool script_ok(tw_call_t *c, uint32_t graph, uint32_t index, tw_engine_script_t *out)
{
    if (!tw_graph_ok(c, graph)) {
        return false;
    }
    const tw_err_t err = tw_engine_script(c->s->e, index, out);
    if (err != TW_OK) {
        tw_fail(c, err, index, "Script.List shows what there is");
    }
    return err == TW_OK;
}

/* ---- load -------------------------------------------------------------------------- */

typedef struct code {
    const uint8_t *bytes;
    uint32_t len;        /* code, zeros to a multiple of 4, literals */
    uint32_t code, pool; /* bytes of the code, of the literals */
} code_t;

/* Without code_bytes all is code. */
static bool split(tw_call_t *c, uint32_t code_bytes, code_t *code)
{
    code->code = code_bytes != 0 ? code_bytes : code->len;
    code->pool = 0;
    if (code->code < code->len) {
        const uint32_t pool_at = tw_round_up(code->code, 4);
        code->pool = pool_at < code->len ? code->len - pool_at : 0;
    }
    if (tw_script_bytes(code->code, code->pool) != code->len) {
        tw_fail(c, TW_E_SCR_BOUNDS, code_bytes, "code_bytes of code, zeros to a multiple of 4, then literals");
        return false;
    }
    return true;
}

static bool code_of(tw_call_t *c, const tunewire_v1_ScriptLoad *q, code_t *code)
{
    *code = (code_t){.bytes = q->code.bytes, .len = q->code.size};
    if (q->blob != 0) {
        const tw_blob_t *b = tw_blob_find(c->s, c->ses, q->blob, NULL, 0);
        if (b == NULL || !b->committed) {
            tw_fail(c, b == NULL ? TW_E_BLOB_NONE : TW_E_BLOB_INCOMPLETE, q->blob, "open, fill and commit it first");
            return false;
        }
        *code = (code_t){.bytes = tw_blob_bytes(c->s, b), .len = b->size};
    }
    if (q->crc != 0 && q->crc != tw_crc32c(0, code->bytes, code->len)) {
        tw_fail(c, TW_E_BLOB_CRC, 0, "crc is the CRC-32C of all bytes sent");
        return false;
    }
    return split(c, q->code_bytes, code);
}

static bool code_ok(tw_call_t *c, uint32_t script, const code_t *code)
{
    tw_fault_t fault = {0};
    const tw_err_t err = tw_engine_check_script(c->s->e, script, code->bytes, code->code, code->pool, &fault);
    if (err == TW_OK) {
        return true;
    }
    char text[97]; /* as Status.text */
    tw_fail(c, err, fault.at, tw_script_explain(code->bytes, code->code, &fault, text, sizeof text));
    return false;
}

static void stage(tw_call_t *c, uint32_t script, const code_t *code, const tw_engine_script_t *now)
{
    const tw_op_t op = {.kind = TW_OP_SCRIPT, .target = script, .index = code->code, .bytes = code->len};
    if (tw_txn_stage(c, &op, code->bytes) != TW_OK) {
        tw_fail(c, TW_E_TXN_FULL, c->s->cfg.txn_bytes, "where = bytes a transaction may stage");
        return;
    }
    tunewire_v1_ScriptInfo m;
    fill_script(script, now, &m);
    m.size = code->len;
    m.crc = tw_crc32c(0, code->bytes, code->len);
    tw_reply(c, tunewire_v1_ScriptInfo_fields, &m);
}

static void replace(tw_call_t *c, const tunewire_v1_ScriptLoad *q, const code_t *code)
{
    tw_deferred_t *d = tw_defer(c, TW_WAIT_SCRIPT);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_script(c->s->e, d->token, q->index, code->bytes, code->code, code->pool))) {
        return;
    }
    d->committed = true;
    d->a = q->index;
    d->b = q->blob;
}

void tw_on_script_load(tw_call_t *c, const void *request)
{
    const tunewire_v1_ScriptLoad *q = request;
    tw_engine_script_t now;
    code_t code;
    if (!script_ok(c, q->graph, q->index, &now)) {
        return;
    }
    if (q->persist) {
        tw_fail(c, TW_E_UNSUPPORTED, 0, "no flash on this device; compile it into the graph");
    } else if (code_of(c, q, &code) && code_ok(c, q->index, &code)) {
        if (c->op != 0) {
            stage(c, q->index, &code, &now);
        } else {
            replace(c, q, &code);
        }
    }
}

void tw_done_script(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    tw_engine_script_t now;
    const tw_err_t err = r->err != TW_OK ? r->err : tw_engine_script(c->s->e, d->a, &now);
    if (err != TW_OK) {
        tw_fail(c, err, d->a, TW_TEXT_GRAPH_WENT);
        return;
    }
    tw_blob_t *b = tw_blob_by_id(c->s, d->b);
    if (b != NULL) {
        tw_blob_free(b);
    }
    tunewire_v1_ScriptInfo m;
    fill_script(d->a, &now, &m);
    tw_reply(c, tunewire_v1_ScriptInfo_fields, &m);
}

/* ---- run, stop, list ------------------------------------------------------------------ */

void tw_on_script_run(tw_call_t *c, const void *request)
{
    const tunewire_v1_ScriptRun *q = request;
    tw_engine_script_t now;
    if (!script_ok(c, q->graph, q->index, &now)) {
        return;
    }
    if (q->args_count > TW_SCRIPT_REGS || q->budget > TW_SCRIPT_BUDGET_MAX) {
        tw_fail(c, TW_E_RANGE, q->budget, "at most 6 arguments and 65536 instructions");
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_RUN);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_run(c->s->e, d->token, q->index, q->args, q->args_count, q->budget))) {
        return;
    }
    d->committed = true;
    d->a = q->index;
}

/* The engine's replies are in this machine's own order, and not aligned. */
static int64_t reply_word(const uint8_t *data, unsigned i)
{
    int64_t v;
    memcpy(&v, data + sizeof v * i, sizeof v);
    return v;
}

/* A script that faults has run all the same: its registers say how far it came. */
void tw_done_run(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    enum { REGS = TW_SCRIPT_REGS + 1, WORDS = REGS + 1 };
    if (r->bytes < WORDS * sizeof(int64_t)) {
        tw_fail(c, r->err != TW_OK ? r->err : TW_E_INTERNAL, d->a, TW_TEXT_GRAPH_WENT);
        return;
    }
    tunewire_v1_ScriptResult rep = tunewire_v1_ScriptResult_init_zero;
    rep.has_status = r->err != TW_OK;
    if (rep.has_status) {
        tw_rpc_status(&rep.status, r->err, (uint32_t)r->value, NULL);
    }
    rep.regs_count = REGS;
    for (unsigned i = 0; i < REGS; i++) {
        rep.regs[i] = reply_word(r->data, i);
    }
    rep.used = (uint32_t)reply_word(r->data, REGS);
    tw_reply(c, tunewire_v1_ScriptResult_fields, &rep);
}

void tw_on_script_stop(tw_call_t *c, const void *request)
{
    const tunewire_v1_ScriptRef *q = request;
    tw_engine_script_t now;
    if (!script_ok(c, q->graph, q->index, &now)) {
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_STOP);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_script_off(c->s->e, d->token, q->index, true))) {
        return;
    }
    d->committed = true;
}

void tw_done_stop(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    (void)d;
    if (r->err != TW_OK) {
        tw_fail(c, r->err, 0, TW_TEXT_GRAPH_WENT);
    } else {
        tw_reply(c, NULL, NULL);
    }
}

void tw_on_script_list(tw_call_t *c, const void *request)
{
    (void)request;
    tw_rpc_list_t l;
    tw_list_begin_long(c, &l);
    tw_engine_script_t s;
    for (uint32_t i = 0; !l.full && tw_engine_script(c->s->e, i, &s) == TW_OK; i++) {
        tunewire_v1_ScriptInfo m;
        fill_script(i, &s, &m);
        (void)tw_rpc_list_add(&l, tunewire_v1_ScriptList_scripts_tag, tunewire_v1_ScriptInfo_fields, &m);
    }
    tw_reply_list(c, &l);
}
