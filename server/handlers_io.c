/* handlers_io.c - Graph.Ios, Graph.SetIo: what enters and leaves the graph, and the settings of its drivers.
 *
 * Settings are words a platform's manifest gives a meaning; the board says which it takes before anything is staged.
 */
#include "server/server_priv.h"

enum { WORDS = 3 };

/* ---- list ------------------------------------------------------------------------------- */

static void fill_state(const tw_engine_arc_t *arc, tunewire_v1_IoState *m)
{
    m->hwid = arc->io.hwid;
    m->frames = arc->io.frames;
    m->acks = arc->io.acks;
    m->holes = arc->io.holes;
    m->lost = arc->io.lost;
    m->stray = arc->io.stray;
    m->starts_refused = arc->io.starts_refused;
    m->stamp_errors = arc->io.stamp_errors;
    m->moves = arc->io.moves;
}

static void fill_io(tw_server_t *s, uint32_t number, const tw_engine_io_t *io, tunewire_v1_IoInfo *m)
{
    tw_engine_arc_t arc;
    *m = (tunewire_v1_IoInfo)tunewire_v1_IoInfo_init_zero;
    m->io = number;
    tw_copy_str(m->name, sizeof m->name, io->name);
    m->tx = io->tx;
    m->arc = io->arc;
    m->settings_count = WORDS;
    memcpy(m->settings, io->settings, sizeof io->settings);
    m->has_state = tw_engine_arc(s->e, io->arc, &arc) == TW_OK && arc.has_io;
    if (m->has_state) {
        fill_state(&arc, &m->state);
    }
}

void tw_on_graph_ios(tw_call_t *c, const void *request)
{
    const tunewire_v1_GraphRef *q = request;
    if (!tw_graph_ok(c, q->graph)) {
        return;
    }
    tw_engine_info_t info;
    tw_engine_info(c->s->e, &info);
    tw_rpc_list_t l;
    tw_list_begin(c, &l);
    tw_engine_io_t io;
    for (uint32_t i = q->first; !l.full && tw_engine_io(c->s->e, i, &io) == TW_OK; i++) {
        tunewire_v1_IoInfo m;
        fill_io(c->s, i, &io, &m);
        (void)tw_rpc_list_add(&l, tunewire_v1_IoList_ios_tag, tunewire_v1_IoInfo_fields, &m);
    }
    tw_list_total(&l, tunewire_v1_IoList_total_tag, info.ios);
    tw_reply_list(c, &l);
}

/* ---- set -------------------------------------------------------------------------------- */

static bool check(tw_call_t *c, const tunewire_v1_IoSet *q)
{
    if (q->settings_count != WORDS) {
        tw_fail(c, TW_E_ARG, q->settings_count, "settings: three words");
        return false;
    }
    const tw_err_t err = tw_engine_check_io(c->s->e, q->io, q->settings);
    if (err == TW_OK) {
        return true;
    }
    tw_fail(c, err, q->io,
            err == TW_E_NO_GRAPH      ? "load one with Graph.Load"
            : err == TW_E_NOT_FOUND   ? "no such IO: Graph.Ios lists those of the graph"
            : err == TW_E_UNSUPPORTED ? "not while it runs: the format of an IO is the graph's"
                                      : "no options of this IO make these words");
    return false;
}

static void stage(tw_call_t *c, const tunewire_v1_IoSet *q)
{
    uint8_t words[4 * WORDS];
    const tw_op_t op = {.kind = TW_OP_IO, .target = q->io, .bytes = sizeof words};
    for (uint32_t i = 0; i < WORDS; i++) {
        tw_put_le32(words + 4 * (size_t)i, q->settings[i]);
    }
    if (tw_txn_stage(c, &op, words) != TW_OK) {
        tw_fail(c, TW_E_TXN_FULL, c->s->cfg.txn_bytes, "where = bytes a transaction may stage");
        return;
    }
    const tunewire_v1_IoAck rep = tunewire_v1_IoAck_init_zero;
    tw_reply(c, tunewire_v1_IoAck_fields, &rep);
}

void tw_on_graph_set_io(tw_call_t *c, const void *request)
{
    const tunewire_v1_IoSet *q = request;
    if (!tw_graph_ok(c, q->graph) || !check(c, q)) {
        return;
    }
    if (c->op != 0) {
        stage(c, q);
        return;
    }
    tw_deferred_t *d = tw_defer(c, TW_WAIT_IO);
    if (d == NULL || !tw_hand_over(c, d, tw_engine_put_io(c->s->e, d->token, q->io, q->settings))) {
        return;
    }
    d->committed = true;
    d->a = q->io;
}

void tw_done_io(tw_call_t *c, const tw_deferred_t *d, const tw_engine_reply_t *r)
{
    if (r->err != TW_OK) {
        tw_fail(c, r->err, d->a,
                r->err == TW_E_UNSUPPORTED ? "its driver refuses; it goes on as before" : TW_TEXT_GRAPH_WENT);
        return;
    }
    const tunewire_v1_IoAck rep = {.applied_tick = r->tick};
    tw_reply(c, tunewire_v1_IoAck_fields, &rep);
}
