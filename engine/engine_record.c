/* engine_record.c - what a graph hears and says, written to a ring on the engine thread.
 *
 * Graphs see a port and a board that pass everything on and, while something is recorded, note it; nodes, IOs and
 * scripts know nothing of it. Recording begins where such a graph is swapped in, so that all its state is known, and
 * ends by itself when the ring is full: the graph is never delayed.
 */
#include "engine/base/crc.h"
#include "engine/base/record.h"
#include "engine/engine_priv.h"

static tw_recorder_state_t state_of(const tw_recorder_t *r)
{
    return (tw_recorder_state_t)atomic_load_explicit(&r->state, memory_order_relaxed);
}

static void end(tw_engine_t *e, tw_recorder_state_t why)
{
    atomic_store_explicit(&e->e.rec->state, (uint32_t)why, memory_order_release);
    e->e.rec = NULL;
}

/* Room for a record of `bytes`, or NULL: nothing is being recorded, or nothing any more. */
static uint8_t *begin(tw_engine_t *e, tw_record_kind_t kind, uint32_t bytes)
{
    tw_recorder_t *r = e->e.rec;
    if (r == NULL || state_of(r) != TW_RECORDER_ON) {
        return NULL;
    }
    uint8_t *p =
        bytes <= TW_RECORD_CHUNK_MAX - TW_RECORD_HEAD ? tw_ring_reserve(&r->ring, TW_RECORD_HEAD + bytes) : NULL;
    if (p == NULL) {
        end(e, TW_RECORDER_FULL);
        return NULL;
    }
    tw_put_le32(p, (uint32_t)kind);
    tw_put_le32(p + 4, bytes);
    return p + TW_RECORD_HEAD;
}

static void commit(tw_engine_t *e, uint32_t bytes)
{
    tw_ring_commit(&e->e.rec->ring, TW_RECORD_HEAD + bytes);
}

/* ---- what the graph sees of port and board ---------------------------------------------- */

static uint64_t now_us(void *ctx)
{
    tw_engine_t *e = ctx;
    const uint64_t us = e->cfg.port->now_us(e->cfg.port->ctx);
    uint8_t *p = begin(e, TW_REC_TIME, 8);
    if (p != NULL) {
        tw_put_le64(p, us);
        commit(e, 8);
    }
    return us;
}

static uint32_t cycles(void *ctx)
{
    const tw_engine_t *e = ctx;
    return e->cfg.port->cycles(e->cfg.port->ctx);
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    tw_engine_t *e = ctx;
    const tw_board_t *b = e->cfg.board;
    const uint32_t got = b->read != NULL ? tw_min_u32(b->read(b->ctx, hwid, tick, dst, bytes), bytes) : 0;
    uint8_t *p = begin(e, TW_REC_INPUT, 8 + got);
    if (p != NULL) {
        tw_put_le32(p, hwid);
        tw_put_le32(p + 4, bytes);
        memcpy(p + 8, dst, got);
        commit(e, 8 + got);
    }
    return got;
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    tw_engine_t *e = ctx;
    const tw_board_t *b = e->cfg.board;
    const uint32_t took = b->write != NULL ? b->write(b->ctx, hwid, tick, src, bytes) : 0;
    const uint32_t kept = e->e.rec != NULL && e->e.rec->outputs ? bytes : 0;
    uint8_t *p = begin(e, TW_REC_OUTPUT, 16 + kept);
    if (p != NULL) {
        tw_put_le32(p, hwid);
        tw_put_le32(p + 4, bytes);
        tw_put_le32(p + 8, took);
        tw_put_le32(p + 12, tw_crc32c(0, src, bytes));
        memcpy(p + 16, src, kept);
        commit(e, 16 + kept);
    }
    return took;
}

static bool transmits(const tw_board_t *b, uint32_t hwid)
{
    for (uint32_t i = 0; i < b->n_ios; i++) {
        if (b->ios[i].hwid == hwid) {
            return b->ios[i].direction != 0;
        }
    }
    return false;
}

static bool board_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    tw_engine_t *e = ctx;
    const tw_board_t *b = e->cfg.board;
    const bool out = command == TW_IO_START && data != NULL && transmits(b, hwid);
    /* before the driver has them: they may be gone, or overwritten, when it comes back */
    const uint32_t crc = out && e->e.rec != NULL ? tw_crc32c(0, data, bytes) : 0;
    const uint32_t kept = out && e->e.rec != NULL && e->e.rec->outputs ? bytes : 0;
    uint8_t *p = command == TW_IO_START ? begin(e, TW_REC_START, 16 + kept) : NULL;
    if (p != NULL && kept != 0) {
        memcpy(p + 16, data, kept);
    }
    const bool ok = b->io(b->ctx, hwid, command, data, bytes);
    if (p != NULL) {
        tw_put_le32(p, hwid);
        tw_put_le32(p + 4, bytes);
        tw_put_le32(p + 8, ok);
        tw_put_le32(p + 12, crc);
        commit(e, 16 + kept);
    }
    return ok;
}

static void board_look(void *ctx, uint32_t hwid, uint32_t look)
{
    const tw_board_t *b = ((tw_engine_t *)ctx)->cfg.board;
    b->look(b->ctx, hwid, look);
}

static void board_heard(void *ctx, uint32_t hwid, const tw_io_heard_t *ack)
{
    tw_engine_t *e = ctx;
    const tw_board_t *b = e->cfg.board;
    const uint32_t n = ack->part_bytes[0] + ack->part_bytes[1];
    uint8_t *p = begin(e, TW_REC_ACK, 24 + n);
    if (p != NULL) {
        tw_put_le32(p, hwid);
        tw_put_le32(p + 4, ack->look);
        tw_put_le64(p + 8, ack->stamp_us);
        tw_put_le32(p + 16, ack->bytes);
        tw_put_le32(p + 20,
                    (ack->aligned ? TW_RECORD_ACK_ALIGNED : 0u) | (ack->in_place ? TW_RECORD_ACK_IN_PLACE : 0u));
        for (uint32_t i = 0, at = 24; i < 2 && ack->part_bytes[i] != 0; at += ack->part_bytes[i++]) {
            memcpy(p + at, ack->part[i], ack->part_bytes[i]);
        }
        commit(e, 24 + n);
    }
    if (b->heard != NULL) {
        b->heard(b->ctx, hwid, ack);
    }
}

static void board_flush(void *ctx, const void *at, uint32_t bytes, bool wrote)
{
    const tw_board_t *b = ((tw_engine_t *)ctx)->cfg.board;
    b->flush(b->ctx, at, bytes, wrote);
}

void record_init(tw_engine_t *e)
{
    const tw_board_t *b = e->cfg.board;
    e->e.rec_port = *e->cfg.port;
    e->e.rec_port.ctx = e;
    e->e.rec_port.now_us = now_us;
    e->e.rec_port.cycles = cycles;
    e->e.rec_board = *b;
    e->e.rec_board.ctx = e;
    e->e.rec_board.read = board_read;
    e->e.rec_board.write = board_write;
    e->e.rec_board.io = b->io != NULL ? board_io : NULL;
    e->e.rec_board.look = b->look != NULL ? board_look : NULL;
    e->e.rec_board.heard = board_heard;
    e->e.rec_board.flush = b->flush != NULL ? board_flush : NULL;
    e->e.rec_board.accept = NULL; /* the engine asks the board itself */
    e->e.rec_board.adopt = NULL;
    e->e.rec_board.back = NULL;
}

/* ---- begin and end -------------------------------------------------------------------------- */

void record_look(tw_engine_t *e)
{
    tw_recorder_t *r = atomic_load_explicit(&e->recorder, memory_order_acquire);
    if (r == NULL) {
        return;
    }
    if (e->e.rec == NULL && state_of(r) == TW_RECORDER_WAITING) {
        e->e.rec = r;
    }
    if (e->e.rec != NULL && atomic_load_explicit(&r->stop, memory_order_relaxed) != 0) {
        end(e, TW_RECORDER_ENDED);
    }
}

/* ---- commands ----------------------------------------------------------------------------------- */

/* u64 tick, two words, the data. */
static void put(tw_engine_t *e, tw_record_kind_t kind, uint32_t a, uint32_t b, const void *data, uint32_t n)
{
    uint8_t *p = begin(e, kind, 16 + n);
    if (p != NULL) {
        tw_put_le64(p, e->e.tick);
        tw_put_le32(p + 8, a);
        tw_put_le32(p + 12, b);
        if (n != 0) {
            memcpy(p + 16, data, n);
        }
        commit(e, 16 + n);
    }
}

static void put_script(tw_engine_t *e, const cmd_t *c)
{
    uint8_t *p = begin(e, TW_REC_SCRIPT, 20 + c->n);
    if (p != NULL) {
        tw_put_le64(p, e->e.tick);
        tw_put_le32(p + 8, c->a);
        tw_put_le32(p + 12, c->b);
        tw_put_le32(p + 16, c->more);
        memcpy(p + 20, c + 1, c->n);
        commit(e, 20 + c->n);
    }
}

/* As control may ask for it again. */
static uint32_t fade_us(const tw_graph_t *g, uint32_t blocks)
{
    const double us = blocks * g->period_s * 1e6;
    return us < (double)UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static bool running(const tw_engine_t *e)
{
    return tw_gauge_get(&e->state) == TW_GRAPH_RUNNING;
}

/* The graph the engine keeps was there before the recording began. */
static bool kept_is_unknown(const tw_engine_t *e)
{
    const tw_recorder_t *r = e->e.rec;
    return state_of(r) == TW_RECORDER_ON && e->slots[e->e.kept].image < r->first_image;
}

void record_back(tw_engine_t *e)
{
    if (e->e.rec != NULL && kept_is_unknown(e)) {
        end(e, TW_RECORDER_ENDED);
    }
}

static void put_swap(tw_engine_t *e, const cmd_t *c)
{
    tw_recorder_t *r = e->e.rec;
    const slot_t *s = &e->slots[c->a];
    /* what is taken over from a graph that was not recorded, or is mixed with it, no replay could know */
    const bool alone =
        e->e.graph == NULL || (tw_bits(c->b, OP_SWAP_CARRY) == TW_CARRY_NONE && (c->more == 0 || !running(e)));
    if (state_of(r) == TW_RECORDER_WAITING && s->image >= r->first_image && alone) {
        r->first_image = s->image;
        atomic_store_explicit(&r->state, TW_RECORDER_ON, memory_order_relaxed);
    }
    uint8_t *p = begin(e, TW_REC_SWAP, 20);
    if (p != NULL) {
        tw_put_le64(p, e->e.tick);
        tw_put_le32(p + 8, s->image);
        tw_put_le32(p + 12, c->b);
        tw_put_le32(p + 16, fade_us(&s->graph, c->more));
        commit(e, 20);
    }
}

static void put_rollback(tw_engine_t *e, const cmd_t *c)
{
    if (c->generation != (uint16_t)e->e.generation || e->e.kept == NO_SLOT) {
        return; /* it will be refused */
    }
    if (c->op == OP_KEEP) {
        if (!kept_is_unknown(e)) {
            put(e, TW_REC_KEEP, 0, 0, NULL, 0);
        }
    } else if (!kept_is_unknown(e)) {
        put(e, TW_REC_ROLLBACK, fade_us(&e->slots[e->e.kept].graph, c->more), 0, NULL, 0);
    }
}

static void put_unload(tw_engine_t *e)
{
    uint8_t *p = begin(e, TW_REC_UNLOAD, 8);
    if (p != NULL) {
        tw_put_le64(p, e->e.tick);
        commit(e, 8);
    }
}

void record_command(tw_engine_t *e, const cmd_t *c)
{
    const void *data = c + 1;
    if (e->e.graph == NULL && c->op != OP_SWAP) {
        return;
    }
    switch ((tw_op_t)c->op) {
    case OP_SWAP:
        put_swap(e, c);
        break;
    case OP_UNLOAD:
        put_unload(e);
        break;
    case OP_PARAM:
        put(e, TW_REC_PARAM, c->a, c->b, data, c->n);
        break;
    case OP_PRESET:
        put(e, TW_REC_PRESET, c->a, c->b, NULL, 0);
        break;
    case OP_CONTROL:
        put(e, TW_REC_CONTROL, c->a, c->b, NULL, 0);
        break;
    case OP_SCRIPT:
        put_script(e, c);
        break;
    case OP_RUN:
        put(e, TW_REC_RUN, c->a, c->b, data, c->n);
        break;
    case OP_SCRIPT_OFF:
        put(e, TW_REC_SCRIPT_OFF, c->a, c->b, NULL, 0);
        break;
    case OP_ARC_WRITE:
        put(e, TW_REC_ARC_WRITE, c->a, c->b, data, c->n);
        break;
    case OP_ROLLBACK:
    case OP_KEEP:
        put_rollback(e, c);
        break;
    case OP_ARM:
        put(e, TW_REC_ARM, c->a, 0, NULL, 0);
        break;
    case OP_ARMED:
        put(e, TW_REC_ARMED, 0, 0, NULL, 0);
        break;
    case OP_CONFIRM:
        put(e, TW_REC_CONFIRM, c->a, 0, NULL, 0);
        break;
    case OP_REVERT:
        put(e, TW_REC_REVERT, c->a, 0, NULL, 0);
        break;
    case OP_IO:
        put(e, TW_REC_IO, c->a, 0, data, c->n);
        break;
    case OP_PAD:
    case OP_READ: /* reads leave the graph as it is */
    case OP_ARC_READ:
    case OP_PROBE:
    case OP_UNPROBE:
    case OP_SHADOW: /* nobody hears a shadow */
    case OP_SHADOW_SET:
    case OP_SHADOW_READ:
    case OP_SHADOW_DROP:
    case OP_DEBUG: /* nobody debugs while something is recorded */
        break;
    }
}

void record_answer(void *ctx, const tw_answer_t *a)
{
    tw_engine_t *e = ctx;
    uint8_t *p = begin(e, TW_REC_ANSWER, 16 + a->bytes);
    if (p != NULL) {
        tw_put_le32(p, a->from);
        tw_put_le32(p + 4, a->status);
        tw_put_le64(p + 8, (uint64_t)a->result);
        if (a->bytes != 0) {
            memcpy(p + 16, a->data, a->bytes);
        }
        commit(e, 16 + a->bytes);
    }
}

void record_run(tw_engine_t *e, uint32_t script, const int64_t *args, uint32_t n)
{
    put(e, TW_REC_RUN, script, 0, args, n * (uint32_t)sizeof *args);
}

void record_block(tw_engine_t *e)
{
    uint8_t *p = begin(e, TW_REC_BLOCK, 8);
    if (p != NULL) {
        tw_put_le64(p, e->e.tick);
        commit(e, 8);
    }
}

void record_overload(tw_engine_t *e, uint32_t permille)
{
    uint8_t *p = begin(e, TW_REC_OVERLOAD, 4);
    if (p != NULL) {
        tw_put_le32(p, permille);
        commit(e, 4);
    }
}

void record_block_end(tw_engine_t *e)
{
    if (begin(e, TW_REC_BLOCK_END, 0) != NULL) {
        commit(e, 0);
    }
}

/* ---- control side ------------------------------------------------------------------------------------ */

tw_err_t tw_engine_record(tw_engine_t *e, tw_recorder_t *r)
{
    const tw_recorder_t *old = atomic_load_explicit(&e->recorder, memory_order_relaxed);
    if (old != NULL && atomic_load_explicit(&old->state, memory_order_acquire) < TW_RECORDER_FULL) {
        return TW_E_BUSY;
    }
    if (r != NULL) {
        r->first_image = e->c.images + 1;
        atomic_store_explicit(&r->state, TW_RECORDER_WAITING, memory_order_relaxed);
        atomic_store_explicit(&r->stop, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&e->recorder, r, memory_order_release);
    return TW_OK;
}

void tw_engine_first_tick(tw_engine_t *e, uint64_t tick)
{
    e->word = tick << TW_WORD_POS_BITS;
}

void tw_engine_overload(tw_engine_t *e)
{
    e->c.overload = true;
}
