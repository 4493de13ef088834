/* handlers_graph.c - Graph: what runs, and putting another one in its place.
 *
 * A load primes the image beside the running graph, which goes on undisturbed;
 * the swap happens at a block boundary, and the reply says that it did.
 */
#include "engine/graph/twg1.h"
#include "server/server_priv.h"

enum { FADE_MAX_MS = 60000, CONFIRM_MAX_MS = 600000 };

bool tw_graph_ok(tw_call_t *c, uint32_t graph)
{
    if (graph <= TW_GRAPH_ID) {
        return true;
    }
    tw_fail(c, TW_E_NOT_FOUND, graph, "the one graph is number 1 (or 0)");
    return false;
}

bool tw_graph_settled(tw_call_t *c)
{
    tw_graph_look(c->s);
    if (c->s->swap_token == 0) {
        return true;
    }
    tw_fail(c, TW_E_BUSY, 0, "a graph is being swapped in, try again after it");
    return false;
}

/* ---- info ------------------------------------------------------------------------ */

/* The block is what an arc with a rate carries a frame of. */
static uint32_t block_ns(tw_server_t *s, uint32_t arcs)
{
    tw_engine_arc_t arc;
    for (uint32_t i = 0; i < arcs; i++) {
        if (tw_engine_arc(s->e, i, &arc) == TW_OK && arc.fmt.rate_hz > 0 && arc.fmt.samples > 0) {
            const double ns = 1e9 * arc.fmt.samples / (double)arc.fmt.rate_hz;
            return ns < (double)UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
        }
    }
    return 0;
}

/* What could be gone back to, what waits for a word, and what the engine did about it. */
static void fill_guard(tw_server_t *s, tunewire_v1_GraphInfo *g)
{
    const tw_pending_t *p = &s->pending;
    tw_engine_guard_t guard;
    tw_engine_guard(s->e, &guard);
    g->can_roll_back = guard.kept;
    g->fading = guard.fading;
    if (p->kind != TW_WAITS_NOTHING && p->due_us != TW_NEVER) {
        const uint64_t now = tw_now(s);
        g->confirm_ms = p->due_us > now && !p->going_back ? (uint32_t)((p->due_us - now) / 1000) + 1 : 1;
        g->confirm_txn = p->kind == TW_WAITS_VALUES ? p->id : 0;
    }
    g->reverts = p->count;
    g->revert_tick = p->tick;
    tw_copy_str(g->revert_text, sizeof g->revert_text, p->count != 0 ? p->last : "");
}

void tw_fill_graph(tw_server_t *s, tunewire_v1_GraphInfo *g)
{
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    *g = (tunewire_v1_GraphInfo)tunewire_v1_GraphInfo_init_zero;
    g->graph = TW_GRAPH_ID;
    tw_copy_str(g->name, sizeof g->name, info.name);
    g->generation = info.generation;
    g->state = info.state;
    g->nodes = info.nodes;
    g->arcs = info.arcs;
    g->scripts = info.scripts;
    g->crc = info.crc;
    g->ticks = info.tick;
    g->load_permille = info.load_permille;
    g->late_blocks = info.late_blocks;
    g->block_ns = block_ns(s, info.arcs);
    fill_guard(s, g);
    g->has_last_error = info.last_error != TW_OK;
    if (g->has_last_error) {
        tw_rpc_status(&g->last_error, info.last_error, 0, NULL);
    }
}

static void reply_info(tw_call_t *c)
{
    tunewire_v1_GraphInfo g;
    tw_fill_graph(c->s, &g);
    tw_reply(c, tunewire_v1_GraphInfo_fields, &g);
}

void tw_on_graph_info(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphRef *q = request;
    if (tw_graph_ok(c, q->graph)) {
        reply_info(c);
    }
}

void tw_on_graph_list(tw_call_t *c, const void *request)
{
    (void)request;
    tw_rpc_list_t l;
    tw_list_begin(c, &l);
    tunewire_v1_GraphInfo g;
    tw_fill_graph(c->s, &g);
    if (g.state != TW_GRAPH_EMPTY) {
        (void)tw_rpc_list_add(&l, tunewire_v1_GraphList_graphs_tag, tunewire_v1_GraphInfo_fields, &g);
    }
    tw_reply_list(c, &l);
}

/* ---- lists ------------------------------------------------------------------------- */

static uint32_t kind_of(const tw_node_desc_t *desc)
{
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        if (all[i] == desc) {
            return i;
        }
    }
    return n;
}

static void fill_node(uint32_t number, const tw_engine_node_t *node, tunewire_v1_NodeInfo *m)
{
    *m = (tunewire_v1_NodeInfo)tunewire_v1_NodeInfo_init_zero;
    m->node = number;
    m->kind = kind_of(node->desc);
    tw_copy_str(m->name, sizeof m->name, node->name);
    tw_copy_str(m->type, sizeof m->type, node->desc->name);
    (void)tw_node_params(node->desc, node->fmt, &m->params);
    m->load_permille = node->load_permille;
    m->runs = node->runs;
    m->errors = node->errors;
    m->run_ns_last = node->ns_last;
    m->run_ns_max = node->ns_max;
    m->run_ns_avg = node->ns_avg;
    for (uint32_t i = 0; i < (uint32_t)node->rx + node->tx && i < TW_MAX_NODE_ARCS; i++) {
        if (i < node->rx) {
            m->in_arcs[m->in_arcs_count++] = node->arcs[i];
        } else {
            m->out_arcs[m->out_arcs_count++] = node->arcs[i];
        }
    }
}

void tw_on_graph_nodes(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphRef *q = request;
    if (!tw_graph_ok(c, q->graph)) {
        return;
    }
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    tw_rpc_list_t l;
    tw_list_begin(c, &l);
    tw_engine_node_t node;
    for (uint32_t i = q->first; !l.full && i < info.nodes && tw_engine_node(c->s->e, i, &node) == TW_OK; i++) {
        tunewire_v1_NodeInfo m;
        fill_node(i, &node, &m);
        (void)tw_rpc_list_add(&l, tunewire_v1_NodeList_nodes_tag, tunewire_v1_NodeInfo_fields, &m);
    }
    tw_list_total(&l, tunewire_v1_NodeList_total_tag, info.nodes);
    tw_reply_list(c, &l);
}

static void fill_arc(uint32_t number, const tw_engine_arc_t *arc, tunewire_v1_ArcInfo *m)
{
    *m = (tunewire_v1_ArcInfo)tunewire_v1_ArcInfo_init_zero;
    m->arc = number;
    m->from_node = arc->from_node;
    m->to_node = arc->to_node;
    m->bytes = arc->bytes;
    m->raw = arc->fmt.raw;
    m->channels = arc->fmt.channels;
    m->rate = arc->fmt.rate_hz;
    m->frame_bytes = arc->fmt.frame_bytes;
    m->fill = arc->write - arc->read;
    m->max_fill = arc->max_fill;
    m->overflows = arc->overflows;
    m->underflows = arc->underflows;
    m->realigns = arc->realigns;
    tw_copy_str(m->name, sizeof m->name, arc->name);
}

void tw_on_graph_arcs(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphRef *q = request;
    if (!tw_graph_ok(c, q->graph)) {
        return;
    }
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    tw_rpc_list_t l;
    tw_list_begin(c, &l);
    tw_engine_arc_t arc;
    for (uint32_t i = q->first; !l.full && i < info.arcs && tw_engine_arc(c->s->e, i, &arc) == TW_OK; i++) {
        tunewire_v1_ArcInfo m;
        fill_arc(i, &arc, &m);
        (void)tw_rpc_list_add(&l, tunewire_v1_ArcList_arcs_tag, tunewire_v1_ArcInfo_fields, &m);
    }
    tw_list_total(&l, tunewire_v1_ArcList_total_tag, info.arcs);
    tw_reply_list(c, &l);
}

void tw_on_graph_manifest(tw_call_t *c, const void *request)
{
    const tunewire_v1_NodeRef *q = request;
    tw_engine_node_t node;
    if (!tw_graph_ok(c, q->graph) || !tw_node_ok(c, q->node, &node)) {
        return;
    }
    tw_sender_t *snd = tw_sender_open(c, TW_SEND_MANIFEST);
    if (snd != NULL) {
        snd->desc = node.desc;
        snd->fmt = *node.fmt;
        snd->end = tw_manifest_text(snd->desc, &snd->fmt, 0, NULL, 0);
        tw_reply_stream(c, snd->stream, NULL, NULL);
        tw_senders_pump(c->peer);
    }
}

/* ---- load and unload ------------------------------------------------------------------ */

static const char *section_name(uint32_t section)
{
    static const char *const names[] = {"header", "banks",   "formats", "IOs",       "nodes",
                                        "arcs",   "scripts", "params",  "extensions"};
    return section < TW_COUNT(names) ? names[section] : "?";
}

/* How much, and what to do about it. */
static void fail_memory(tw_call_t *c, uint32_t bytes)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, "short by ");
    tw_text_int(&t, bytes);
    tw_text_str(&t, " bytes: load a smaller graph, or without fade and carry");
    tw_fail(c, TW_E_NOMEM, bytes, buf);
}

static void fail_fade(tw_call_t *c, const tw_fault_t *fault)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    if (fault->at == UINT32_MAX) {
        tw_text_str(&t, "their blocks differ in length");
    } else {
        tw_text_str(&t, "IO ");
        tw_text_int(&t, fault->at);
        tw_text_str(&t, fault->err == TW_E_FADE_DRIVER
                            ? ": its driver is asked for less than a block, or otherwise than now"
                            : " has two formats");
    }
    tw_text_str(&t, ": load with fade_ms 0");
    tw_fail(c, fault->err, fault->at, buf);
}

/* The old graph stays: who wants the new one more says so. */
static void fail_kept(tw_call_t *c, uint32_t bytes)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, "short by ");
    tw_text_int(&t, bytes);
    tw_text_str(&t, " bytes: Graph.Keep gives up the graph before");
    tw_fail(c, TW_E_KEPT_ROOM, bytes, buf);
}

static void fail_image(tw_call_t *c, const tw_fault_t *fault)
{
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    if (fault->err == TW_E_FADE_FORMAT || fault->err == TW_E_FADE_DRIVER) {
        fail_fade(c, fault);
        return;
    }
    if (fault->err == TW_E_KEPT_ROOM) {
        fail_kept(c, fault->at);
        return;
    }
    if (fault->err == TW_E_NOMEM && fault->section == 0) {
        fail_memory(c, fault->at);
        return;
    }
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, "in ");
    tw_text_str(&t, section_name(fault->section));
    tw_text_str(&t, " at ");
    tw_text_int(&t, fault->at);
    tw_text_str(&t, " (");
    tw_text_hex(&t, fault->at);
    tw_text_str(&t, ")");
    tw_fail(c, fault->err, fault->at, buf);
}

static tw_err_t check_load(tw_call_t *c, const tunewire_v1_GraphLoad *q, const char **text)
{
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    if (q->flash_slot != 0) {
        *text = "no flash slots on this device, load from a blob";
        return TW_E_UNSUPPORTED;
    }
    if (q->expect_generation != 0 && q->expect_generation != info.generation) {
        *text = "read Graph.Info and decide again";
        return TW_E_GENERATION;
    }
    if (q->carry > tunewire_v1_GraphLoad_Carry_PARAMS || q->fade_ms > FADE_MAX_MS) {
        *text = "carry: 0 NONE, 1 STATE, 2 PARAMS; fade_ms: at most 60000";
        return TW_E_ARG;
    }
    if (info.state != TW_GRAPH_EMPTY && !q->replace) {
        *text = "a graph is loaded; set replace";
        return TW_E_EXISTS;
    }
    return TW_OK;
}

static tw_blob_t *image_blob(tw_call_t *c, uint32_t id)
{
    tw_blob_t *b = tw_blob_find(c->s, c->ses, id, NULL, 0);
    if (b == NULL) {
        tw_fail(c, TW_E_BLOB_NONE, id, "open, fill and commit a blob first");
    } else if (!b->committed) {
        tw_fail(c, TW_E_BLOB_INCOMPLETE, b->received, "Blob.Commit comes before Graph.Load");
        b = NULL;
    }
    return b;
}

static bool had_graph(tw_server_t *s)
{
    return s->have_graph; /* of the last swap that happened: there is something to go back to */
}

static tw_swap_t swap_of(const tunewire_v1_GraphLoad *q)
{
    return (tw_swap_t){
        .start = q->start,
        .confirm = q->confirm_ms != 0,
        .carry = (tw_carry_t)q->carry,
        .fade_us = q->fade_ms * 1000,
    };
}

static void publish_swap(tw_call_t *c, uint32_t blob, const tunewire_v1_GraphLoad *q)
{
    tw_server_t *s = c->s;
    tw_deferred_t *d = tw_defer(c, TW_WAIT_LOAD);
    if (d == NULL) {
        tw_engine_unprime(s->e);
        return;
    }
    tw_fault_t fault = {0};
    const tw_swap_t how = swap_of(q);
    const tw_err_t err = tw_engine_put_swap_to(s->e, d->token, &how, &fault);
    if (err == TW_E_FADE_FORMAT || err == TW_E_FADE_DRIVER || err == TW_E_NOMEM) {
        tw_undefer(s, d);
        tw_engine_unprime(s->e);
        fail_image(c, &fault);
        return;
    }
    if (!tw_hand_over(c, d, err)) {
        tw_engine_unprime(s->e);
        return;
    }
    d->committed = true;
    d->a = blob;
    if (q->confirm_ms != 0 && had_graph(s)) {
        tw_pending_set(c, TW_WAITS_SWAP, 0, 0, 0);
        d->b = tw_min_u32(q->confirm_ms, CONFIRM_MAX_MS);
    }
    s->swap_token = d->token;
}

void tw_on_graph_load(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphLoad *q = request;
    const char *text = NULL;
    if (!tw_graph_settled(c) || !tw_pending_none(c)) {
        return;
    }
    const tw_err_t err = check_load(c, q, &text);
    if (err != TW_OK) {
        tw_fail(c, err, 0, text);
        return;
    }
    const tw_blob_t *b = image_blob(c, q->blob);
    if (b == NULL) {
        return;
    }
    tw_fault_t fault = {0};
    const tw_swap_t how = swap_of(q);
    const tw_err_t refused = tw_engine_prime_for(c->s->e, tw_blob_bytes(c->s, b), b->size, false, &how, &fault);
    if (refused == TW_E_BUSY) {
        tw_fail(c, TW_E_BUSY, 0, "the last graph still fades out: wait for it, or Graph.Control STOP");
    } else if (refused != TW_OK) {
        fault.err = refused;
        fail_image(c, &fault);
    } else {
        publish_swap(c, b->id, q);
    }
}

static void log_swap(tw_server_t *s, const tw_engine_reply_t *r)
{
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    char buf[TW_LOG_TEXT];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    if (r->err != TW_OK) {
        tw_text_str(&t, "graph swap failed: ");
        tw_text_str(&t, tw_err_text(r->err));
    } else if (info.state == TW_GRAPH_EMPTY) {
        tw_text_str(&t, "graph unloaded");
    } else {
        tw_text_str(&t, "graph ");
        tw_text_str(&t, info.name);
        tw_text_str(&t, " loaded, generation ");
        tw_text_int(&t, info.generation);
    }
    tw_server_log(s, r->err != TW_OK ? TW_LOG_ERROR : TW_LOG_INFO, TW_SRC_GRAPH, buf);
}

void tw_swap_done(tw_server_t *s, const tw_engine_reply_t *r)
{
    s->swap_token = 0;
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    s->have_graph = info.state != TW_GRAPH_EMPTY;
    log_swap(s, r);
    tw_graph_look(s);
}

void tw_graph_look(tw_server_t *s)
{
    tw_engine_info_t info;
    if (s->swap_token != 0) {
        return;
    }
    tw_engine_info(s->e, &info);
    if (info.generation != s->graph_seen) {
        s->graph_seen = info.generation;
        tw_subs_graph_changed(s);
        tw_armed_graph_changed(s);
        tw_doubles_graph_changed(s);
        tw_debugger_graph_changed(s);
    }
}

void tw_done_load(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err == TW_OK && d->b != 0) {
        tw_pending_begins(c->s, 0, d->b);
    }
    if (r->err != TW_OK) {
        tw_fail(c, r->err, 0, NULL);
        return;
    }
    tw_count(c->s, TW_CNT_GRAPH_LOADS);
    tw_blob_t *b = tw_blob_by_id(c->s, d->a);
    if (b != NULL) {
        tw_blob_free(b);
    }
    reply_info(c);
}

tw_err_t tw_server_boot_graph(tw_server_t *s, const uint8_t *image, uint32_t bytes, tw_fault_t *fault)
{
    if (s->swap_token != 0) {
        return TW_E_BUSY;
    }
    TW_TRY(tw_engine_prime(s->e, image, bytes, false, fault));
    const tw_err_t err = tw_engine_put_swap(s->e, TW_TOKEN_BOOT, true);
    if (err != TW_OK) {
        tw_engine_unprime(s->e);
        return err;
    }
    (void)tw_engine_publish(s->e);
    s->swap_token = TW_TOKEN_BOOT;
    tw_count(s, TW_CNT_GRAPH_LOADS);
    return TW_OK;
}

static bool has_graph(tw_call_t *c)
{
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    if (info.state == TW_GRAPH_EMPTY) {
        tw_fail(c, TW_E_NO_GRAPH, 0, "load one with Graph.Load");
        return false;
    }
    return true;
}

void tw_on_graph_unload(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphRef *q = request;
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c) || !has_graph(c)) {
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_UNLOAD);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_unload(c->s->e, d->token))) {
        return;
    }
    d->committed = true;
    c->s->swap_token = d->token;
    tw_pending_clear(c->s);
}

/* ---- back, or not ------------------------------------------------------------------------ */

static void fail_back(tw_call_t *c, tw_deferred_t *d, tw_err_t err)
{
    tw_engine_drop(c->s->e);
    tw_undefer(c->s, d);
    tw_fail(c, err, 0,
            err == TW_E_NO_ROLLBACK  ? "there is one from a load until the next load, Graph.Keep or Graph.Unload"
            : err == TW_E_QUEUE_FULL ? TW_TEXT_QUEUE_FULL
                                     : "a graph is being swapped, try again after it");
}

void tw_on_graph_rollback(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphBack *q = request;
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c) || !has_graph(c)) {
        return;
    }
    if (q->fade_ms > FADE_MAX_MS) {
        tw_fail(c, TW_E_ARG, q->fade_ms, "fade_ms: at most 60000");
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_ROLLBACK);
    if (d == NULL) {
        return;
    }
    const tw_err_t err = tw_engine_put_rollback(c->s->e, d->token, q->fade_ms * 1000);
    if (err != TW_OK) {
        fail_back(c, d, err);
        return;
    }
    (void)tw_engine_publish(c->s->e);
    d->committed = true;
    c->s->swap_token = d->token;
    tw_pending_clear(c->s);
}

void tw_done_rollback(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    (void)d;
    if (r->err != TW_OK) { /* what was asked for is what happened */
        tw_server_log(c->s, TW_LOG_INFO, TW_SRC_GRAPH, "rollback: the engine went back by itself just before");
    }
    reply_info(c);
}

void tw_on_graph_keep(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphRef *q = request;
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c) || !has_graph(c)) {
        return;
    }
    if (c->s->pending.going_back) {
        tw_fail(c, TW_E_REVERTED, 0, c->s->pending.why);
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_KEEP);
    if (d == NULL) {
        return;
    }
    const tw_err_t err = tw_engine_put_keep(c->s->e, d->token);
    if (err != TW_OK) {
        fail_back(c, d, err);
        return;
    }
    (void)tw_engine_publish(c->s->e);
    d->committed = true;
    if (c->s->pending.kind == TW_WAITS_SWAP) {
        tw_pending_clear(c->s);
    }
}

void tw_done_keep(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    (void)d;
    if (r->err != TW_OK) {
        tw_fail(c, TW_E_REVERTED, 0, "too late (see the log): the old graph is back");
    } else {
        reply_info(c);
    }
}

void tw_done_unload(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    (void)d;
    if (r->err != TW_OK) {
        tw_fail(c, r->err, 0, NULL);
    } else {
        tw_reply(c, NULL, NULL);
    }
}

void tw_on_graph_control(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphCtl *q = request;
    if (!tw_graph_ok(c, q->graph) || !tw_graph_settled(c) || !has_graph(c)) {
        return;
    }
    if (q->op > tunewire_v1_GraphCtl_Op_WARM_RESET) {
        tw_fail(c, TW_E_ARG, (uint32_t)q->op, "op: 0 START, 1 STOP, 2 STEP, 3 RESET, 4 WARM_RESET");
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_CONTROL);
    if (d == NULL) {
        return;
    }
    if (!tw_hand_over(c, d, tw_engine_put_control(c->s->e, d->token, (tw_control_t)q->op, q->steps))) {
        return;
    }
    d->committed = true;
}

void tw_done_control(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    (void)d;
    if (r->err != TW_OK) {
        tw_fail(c, r->err, r->at, NULL);
    } else {
        reply_info(c);
    }
}
