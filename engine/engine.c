/* engine.c - the engine's two graph slots and its tick. See engine.h for who calls what. */
#include "engine/engine_priv.h"

#define ALIGN 64u

static bool power_of_two(uint32_t v, uint32_t min, uint32_t max)
{
    return v >= min && v <= max && (v & (v - 1)) == 0;
}

static bool cfg_ok(const tw_engine_cfg_t *cfg)
{
    return cfg->port != NULL && cfg->board != NULL && power_of_two(cfg->queue_bytes, 256, TW_WORD_POS_MASK / 2 + 1) &&
           power_of_two(cfg->timed_bytes, 256, 1u << 30) && power_of_two(cfg->reply_bytes, 1024, 1u << 30) &&
           (cfg->trace_bytes == 0 || power_of_two(cfg->trace_bytes, 1024, 1u << 30)) && cfg->undo_bytes < 1u << 30 &&
           cfg->shadow_bytes < 1u << 30 && cfg->threads <= TW_MAX_INSTANCES &&
           (cfg->wait == NULL) == (cfg->wake == NULL) && cfg->graph_bytes >= 256 && cfg->graph_bytes < UINT32_MAX / 2;
}

static size_t up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static uint32_t undo_bytes(const tw_engine_cfg_t *cfg)
{
    return cfg->undo_bytes != 0 ? cfg->undo_bytes : cfg->timed_bytes;
}

size_t tw_engine_need(const tw_engine_cfg_t *cfg)
{
    return up(sizeof(tw_engine_t)) + up(cfg->queue_bytes) + up(cfg->timed_bytes) + up(cfg->reply_bytes) +
           up(undo_bytes(cfg)) + up(cfg->shadow_bytes) + up(cfg->trace_bytes) + 2 * up(cfg->graph_bytes);
}

/* Banks that are shared, and those of the processors an instance plays. */
static const uint32_t *reach_of(tw_engine_t *e, uint32_t k, uint32_t processors)
{
    const tw_board_t *b = e->cfg.board;
    for (uint32_t vid = 0; vid < 256; vid++) {
        const uint32_t proc = b->bank_proc != NULL && vid < b->n_banks ? b->bank_proc[vid] : 0;
        const bool reaches = proc == 0 || proc > 32 || (processors >> (proc - 1) & 1u) != 0;
        e->reach[k][vid / 32] |= reaches ? 1u << vid % 32 : 0;
    }
    return e->reach[k];
}

/* Processor p is played by instance (p - 1) mod threads; one that gets none has nothing to do. */
static void open_crew(tw_engine_t *e)
{
    tw_instance_cfg_t cfg[TW_MAX_INSTANCES] = {{0}};
    const uint32_t n = tw_max_u32(e->cfg.threads, 1);
    for (uint32_t p = 0; p < 32; p++) {
        cfg[p % n].processors |= tw_board_processors(e->cfg.board) & 1u << p;
    }
    for (uint32_t k = 0; k < n; k++) {
        cfg[k].banks = reach_of(e, k, cfg[k].processors);
    }
    (void)tw_crew_init(&e->crew, cfg, n); /* no processor twice, n in range: it does not fail */
    e->crew.wait = e->cfg.wait;
    e->crew.wake = e->cfg.wake;
    e->crew.relax_ctx = e->cfg.wait_ctx;
}

tw_err_t tw_engine_init(tw_engine_t **out, const tw_engine_cfg_t *cfg, void *mem, size_t bytes)
{
    if (!cfg_ok(cfg) || mem == NULL || (uintptr_t)mem % ALIGN != 0) {
        return TW_E_ARG;
    }
    if (bytes < tw_engine_need(cfg)) {
        return TW_E_NOMEM;
    }
    tw_arena_t arena = {.base = mem, .size = bytes};
    tw_engine_t *e = tw_arena_take(&arena, sizeof *e, ALIGN);
    memset(e, 0, sizeof *e);
    e->cfg = *cfg;
    e->queue = tw_arena_take(&arena, cfg->queue_bytes, ALIGN);
    e->queue_size = cfg->queue_bytes;
    e->timed.buf = tw_arena_take(&arena, cfg->timed_bytes, ALIGN);
    e->timed.size = cfg->timed_bytes;
    tw_ring_init(&e->replies, tw_arena_take(&arena, cfg->reply_bytes / 2, ALIGN), cfg->reply_bytes / 2);
    tw_ring_init(&e->events, tw_arena_take(&arena, cfg->reply_bytes / 2, 8), cfg->reply_bytes / 2);
    e->undo.size = undo_bytes(cfg);
    e->undo.buf = tw_arena_take(&arena, e->undo.size, ALIGN);
    e->shadow_pool = tw_arena_take(&arena, cfg->shadow_bytes, ALIGN);
    if (cfg->trace_bytes != 0) {
        tw_ring_init(&e->trace, tw_arena_take(&arena, cfg->trace_bytes, ALIGN), cfg->trace_bytes);
    }
    e->slots[0].mem = tw_arena_take(&arena, cfg->graph_bytes, ALIGN);
    e->slots[1].mem = tw_arena_take(&arena, cfg->graph_bytes, ALIGN);
    e->e.slot = e->e.kept = NO_SLOT;
    record_init(e);
    debug_init(e);
    open_crew(e);
    e->c.view = e->c.group_view = e->c.primed = e->c.group_primed = NO_SLOT;
    *out = e;
    return TW_OK;
}

/* ---- control side: slots -------------------------------------------------------- */

bool engine_settled(tw_engine_t *e)
{
    return atomic_load_explicit(&e->moves_done, memory_order_acquire) == e->c.moves;
}

static void leave_slot(slot_t *s)
{
    if (s->live) {
        s->graph.env.host = (tw_graph_host_t){0};
        tw_graph_stop(&s->graph);
        s->live = false;
    }
}

void engine_reclaim(tw_engine_t *e)
{
    engine_sync(e);
    if (!engine_settled(e)) {
        return;
    }
    /* Looked at once and after the last move: what the engine still takes back by itself stays among these two. */
    const uint32_t where = atomic_load_explicit(&e->where, memory_order_acquire);
    const int now = (int)tw_bits(where, WHERE_CURRENT) - 1;
    const int kept = e->c.kept_gone ? NO_SLOT : (int)tw_bits(where, WHERE_KEPT) - 1;
    if (tw_bits(where, WHERE_FADING) != 0) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        slot_t *s = &e->slots[i];
        if (s->live && i != now && i != kept && i != e->c.view && i != e->c.primed && i != e->c.group_primed) {
            leave_slot(s);
        }
    }
}

static uint32_t largest_value(const tw_graph_t *g)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        most = tw_max_u32(most, tw_graph_params_bytes(&g->nodes[i]));
    }
    return most;
}

/* What the two sides keep of each node beside the graph. */
static tw_err_t take_marks(slot_t *s, uint32_t nodes, tw_arena_t *arena, tw_fault_t *fault)
{
    uint32_t **const lists[] = {&s->versions, &s->asked, &s->noted};
    for (size_t i = 0; i < TW_COUNT(lists); i++) {
        *lists[i] = tw_arena_take(arena, nodes * sizeof(uint32_t), _Alignof(uint32_t));
        if (*lists[i] == NULL) {
            *fault =
                (tw_fault_t){.err = TW_E_NOMEM, .at = (uint32_t)((TW_COUNT(lists) - i) * nodes * sizeof(uint32_t))};
            return TW_E_NOMEM;
        }
        for (uint32_t k = 0; k < nodes; k++) {
            (*lists[i])[k] = i == 0; /* a version of 0 is what a client says that does not look */
        }
    }
    return TW_OK;
}

static tw_err_t share(tw_engine_t *e, slot_t *s, tw_arena_t *arena, tw_fault_t *fault)
{
    const tw_err_t err = tw_graph_share(&s->graph, &e->crew, arena, fault);
    if (err != TW_OK) {
        tw_graph_stop(&s->graph);
    }
    return err;
}

static tw_err_t build(tw_engine_t *e, slot_t *s, tw_arena_t arena, const uint8_t *image, uint32_t bytes, bool in_place,
                      tw_fault_t *fault)
{
    TW_TRY(tw_graph_check(image, bytes, e->cfg.board, &arena, fault));
    tw_graph_image_t parts;
    TW_TRY(tw_graph_place(image, bytes, in_place, &arena, &parts, fault));
    /* No callbacks while the control thread runs the nodes: the event ring is the engine's. */
    fade_init(&s->side, &e->e.rec_board);
    /* What a replay could not know must not come in. */
    const bool boot = e->c.moves == 0 && atomic_load_explicit(&e->recorder, memory_order_relaxed) == NULL;
    const tw_graph_env_t env = {.port = e->cfg.port,
                                .ack_port = e->cfg.port,
                                .board = &s->side.board,
                                .infer = e->cfg.infer,
                                .apps = e->cfg.apps,
                                .npu_bytes = e->cfg.npu_bytes,
                                .kept = boot ? e->cfg.board : NULL,
                                .image = parts};
    TW_TRY(take_marks(s, tw_bits(tw_img_word(image, 0, TW_W_COUNTS), TW_W12_NODES), &arena, fault));
    TW_TRY(tw_graph_load(&s->graph, parts.rest, &env, &arena, fault));
    TW_TRY(share(e, s, &arena, fault));
    s->value_bytes = largest_value(&s->graph);
    s->value = tw_arena_take(&arena, 2 * (size_t)s->value_bytes, 8);
    if (s->value == NULL) {
        tw_graph_stop(&s->graph);
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = 2 * s->value_bytes};
        return TW_E_NOMEM;
    }
    if (!state_take(e, s, &arena, fault)) {
        tw_graph_stop(&s->graph);
        return TW_E_NOMEM;
    }
    values_build(s, &arena);
    fade_prepare(&s->side, &s->graph, &arena);
    s->rest = arena;
    s->rest_mark = arena.used;
    s->plan = (tw_graph_carry_t){0};
    return TW_OK;
}

/* The spare slot may hold the graph one could go back to; a fade that runs, or a swap that may still be taken back,
 * needs it. */
static tw_err_t spare_is_free(tw_engine_t *e)
{
    if (e->c.group_primed != NO_SLOT || !engine_settled(e)) {
        return TW_E_BUSY;
    }
    const uint32_t where = atomic_load_explicit(&e->where, memory_order_acquire);
    if (tw_bits(where, WHERE_ARMED) == TW_WAITS_SWAP) {
        return TW_E_UNCONFIRMED;
    }
    return tw_bits(where, WHERE_FADING) != 0 ? TW_E_BUSY : TW_OK;
}

/* Bad input changes nothing: while the slot holds a graph to go back to, the new one is built behind that first. What
 * is refused there leaves both; what is not is then built in its place, where there is more room. */
static tw_err_t try_beside(tw_engine_t *e, const slot_t *kept, const uint8_t *image, uint32_t bytes, bool in_place,
                           const tw_swap_t *how, tw_fault_t *fault)
{
    uint32_t blocks;
    tw_arena_t arena = kept->rest;
    slot_t *trial = tw_arena_take(&arena, sizeof *trial, _Alignof(slot_t));
    *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = (uint32_t)sizeof *trial};
    tw_err_t err = TW_E_NOMEM;
    if (trial != NULL) {
        *trial = (slot_t){0};
        err = build(e, trial, arena, image, bytes, in_place, fault);
    }
    if (err == TW_OK) {
        err = swap_plan(e, trial, how, &blocks, fault);
        tw_graph_stop(&trial->graph);
    }
    if (err == TW_E_NOMEM) {
        *fault = (tw_fault_t){.err = TW_E_KEPT_ROOM, .at = fault->section == 0 ? fault->at : 0};
    }
    return err == TW_OK ? TW_OK : fault->err;
}

tw_err_t tw_engine_prime_for(tw_engine_t *e, const uint8_t *image, uint32_t bytes, bool in_place, const tw_swap_t *how,
                             tw_fault_t *fault)
{
    engine_sync(e);
    *fault = (tw_fault_t){.err = spare_is_free(e)};
    TW_TRY(fault->err);
    tw_engine_unprime(e);
    const int spare = e->c.view == 0 ? 1 : 0;
    slot_t *s = &e->slots[spare];
    if (engine_kept(e) == spare) {
        TW_TRY(try_beside(e, s, image, bytes, in_place, how, fault));
    }
    leave_slot(s);
    e->c.kept_gone = true;
    const tw_arena_t all = {.base = s->mem, .size = e->cfg.graph_bytes};
    const tw_err_t err = build(e, s, all, image, bytes, in_place, fault);
    if (err == TW_OK) {
        s->live = true;
        s->image = ++e->c.images;
        e->c.primed = spare;
        tw_recorder_t *r = atomic_load_explicit(&e->recorder, memory_order_relaxed);
        if (r != NULL) {
            r->image(r->ctx, s->image, image, bytes);
        }
    }
    return err;
}

tw_err_t tw_engine_prime(tw_engine_t *e, const uint8_t *image, uint32_t bytes, bool in_place, tw_fault_t *fault)
{
    static const tw_swap_t at_once;
    return tw_engine_prime_for(e, image, bytes, in_place, &at_once, fault);
}

void tw_engine_unprime(tw_engine_t *e)
{
    if (e->c.primed != NO_SLOT) {
        e->c.primed = NO_SLOT;
        engine_reclaim(e);
    }
}

/* ---- engine side ------------------------------------------------------------------ */

/* Apply what was published up to `end`; the space is free for the control side afterwards. */
static void apply_queue(tw_engine_t *e, uint32_t end)
{
    uint32_t pos = atomic_load_explicit(&e->taken, memory_order_relaxed);
    while (pos != end) {
        const cmd_t *c = cmd_at(e, pos);
        if (c->op != OP_PAD) {
            engine_apply(e, c, TW_OK);
        }
        pos = (pos + c->bytes) & TW_WORD_POS_MASK;
    }
    atomic_store_explicit(&e->taken, pos, memory_order_release);
}

/* Why a group for a named tick may not happen now: a graph swapped in meanwhile is not the one it was
 * checked against, and a control thread held up between its look at the tick and the hand-over may
 * have been overtaken. */
static tw_err_t timed_refusal(const tw_engine_t *e)
{
    if (e->timed.generation != e->e.generation) {
        return TW_E_GENERATION;
    }
    return e->timed.tick == e->e.tick ? TW_OK : TW_E_TXN_TICK;
}

static void apply_timed(tw_engine_t *e)
{
    timed_t *t = &e->timed;
    uint32_t seen = atomic_load_explicit(&t->state, memory_order_relaxed);
    if ((seen & TIMED_STATE) != TIMED_PENDING || (int32_t)(timed_pending(e->e.tick) - seen) < 0) {
        return;
    }
    if (!tw_word_move(&t->state, seen, TIMED_TAKEN)) {
        return; /* called back by the control side */
    }
    const tw_err_t refused = timed_refusal(e);
    for (uint32_t at = 0; at < t->bytes;) {
        const cmd_t *c = (const cmd_t *)(const void *)(t->buf + at);
        engine_apply(e, c, refused);
        at += c->bytes;
    }
    const cmd_t all = {.token = t->token, .room = t->room};
    /* before the answer: who hears it may hand over the next group at once */
    atomic_store_explicit(&t->state, TIMED_IDLE, memory_order_release);
    if (all.token != 0) {
        reply_send(e, reply_begin(e, &all, refused, 0));
    }
}

static bool running(tw_engine_t *e)
{
    return tw_gauge_get(&e->state) == TW_GRAPH_RUNNING;
}

/* A script of the graph asked for it; not those of a graph that is being faded out. */
static void take_stop(tw_engine_t *e)
{
    tw_graph_t *g = e->e.graph;
    if (g != NULL && g->asks.stop) {
        g->asks.stop = false;
        (void)engine_control(e, TW_CTL_STOP, 0);
    }
}

bool tw_engine_tick(tw_engine_t *e)
{
    const uint64_t w = tw_word_load(&e->word);
    e->e.tick = e->debug.tick = tw_word_tick(w);
    record_look(e);
    apply_queue(e, tw_word_pos(w));
    debug_before(e);
    if (!running(e)) {
        apply_timed(e);
    }
    if (!running(e)) {
        state_look(e, false);
        return false;
    }
    /* Publishing may go on until here; what came in between saw this tick and belongs before it. */
    const uint64_t before = tw_word_claim(&e->word);
    apply_queue(e, tw_word_pos(before));
    apply_timed(e);
    if (!running(e)) {
        tw_word_unclaim(&e->word, before);
        return false;
    }
    record_block(e);
    swap_run_block(e);
    record_block_end(e);
    if (e->e.watches != NULL) {
        probe_scripts(e);
    }
    debug_after(e);
    take_stop(e);
    if (e->e.steps != 0 && --e->e.steps == 0) {
        tw_gauge_set(&e->state, TW_GRAPH_STOPPED);
        state_due(e);
    }
    state_look(e, true);
    return true;
}

bool tw_engine_help(tw_engine_t *e, uint32_t k)
{
    return k != 0 && k < e->crew.n && tw_graph_help(&e->crew, k);
}

void tw_engine_doze(tw_engine_t *e, uint32_t k)
{
    if (k != 0 && k < e->crew.n) {
        tw_graph_doze(&e->crew, k);
    }
}

bool tw_engine_busy(const tw_engine_t *e)
{
    return tw_crew_busy(&e->crew);
}

uint32_t tw_engine_idle_ms(const tw_engine_t *e)
{
    return e->e.graph != NULL ? e->e.graph->asks.idle_ms : UINT32_MAX;
}

double tw_engine_period_s(const tw_engine_t *e)
{
    return e->e.graph != NULL ? e->e.graph->period_s : 0.001;
}

void tw_engine_late(tw_engine_t *e)
{
    tw_gauge_add(&e->late, 1);
}
