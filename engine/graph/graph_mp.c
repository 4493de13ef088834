/* graph_mp.c - several instances on one graph. The protocol and why it holds: graph_mp.h, docs/DESIGN.md. */
#include "engine/graph/graph_mp.h"
#include "engine/graph/graph_priv.h"

struct tw_graph_mp {
    tw_crew_t *crew;
    _Atomic uint32_t *lock;            /* owner's id or 0, of each place; the last one: what consumes at IOs */
    uint32_t *may[TW_MAX_INSTANCES];   /* places each may run */
    uint32_t *mask[TW_MAX_INSTANCES];  /* and may run now: some are locked to main */
    uint32_t *alone;                   /* places that main runs while all others are out */
    uint32_t *waited;                  /* places a block does not end without */
    uint8_t *thread;                   /* of each place whose node shares memory with others; NO_THREAD */
    _Atomic uint32_t area[TW_THREADS]; /* owner's id or 0, of the memory nodes of a thread share */
    uint8_t *scratch[TW_MAX_INSTANCES];
};

enum { NO_THREAD = 255 };
/** Times main looks in vain before it sleeps; with a processor to each instance others are done by then. */
enum { SPINS = 64 };

/* Tells the processor that somebody else is awaited. */
#if defined(__x86_64__) || defined(__i386__)
#define TW_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__) || defined(__ARM_ARCH)
#define TW_PAUSE() __asm__ volatile("yield")
#else
#define TW_PAUSE() ((void)0)
#endif

static void relax(const tw_crew_t *c)
{
    if (c->relax != NULL) {
        c->relax(c->relax_ctx);
    } else {
        TW_PAUSE();
    }
}

typedef enum outcome { NOT_READY, LATER, RAN, DEPOSED } outcome_t;

/* ---- locks ------------------------------------------------------------------------- */

static bool owns(const _Atomic uint32_t *lock, uint32_t id)
{
    return atomic_load_explicit(lock, memory_order_relaxed) == id;
}

static bool take_lock(_Atomic uint32_t *lock, uint32_t id)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(lock, &nobody, id, memory_order_acquire, memory_order_relaxed);
}

/* Not when main has taken it away meanwhile. */
static void leave_lock(_Atomic uint32_t *lock, uint32_t id)
{
    uint32_t owner = id;
    (void)atomic_compare_exchange_strong_explicit(lock, &owner, 0, memory_order_release, memory_order_relaxed);
}

static _Atomic uint32_t *lock_of(const tw_graph_t *g, uint32_t pos)
{
    return &g->mp->lock[pos == TW_ARC_NOBODY ? g->n_nodes : pos];
}

static bool mine(const tw_graph_t *g, uint32_t pos, uint32_t id)
{
    return owns(lock_of(g, pos), id);
}

static bool try_lock(const tw_graph_t *g, uint32_t pos, uint32_t id)
{
    return take_lock(lock_of(g, pos), id);
}

static void unlock(const tw_graph_t *g, uint32_t pos, uint32_t id)
{
    leave_lock(lock_of(g, pos), id);
}

/* Memory that nodes of one thread share. They are one instance's, so nobody is in the way, except where main runs
 * one of them: those with scripts are main's whatever their thread, and scripts reach for any node. */
static _Atomic uint32_t *area_of(const tw_graph_t *g, uint32_t pos)
{
    const uint32_t thread = pos == TW_ARC_NOBODY ? NO_THREAD : g->mp->thread[pos];
    return thread == NO_THREAD ? NULL : &g->mp->area[thread];
}

/* A node to run or to speak to: its lock, and the memory it shares. @return MP_BUSY, or what leave_node() gives back */
static uint32_t take_node(const tw_graph_t *g, uint32_t pos, uint32_t id, bool memory)
{
    _Atomic uint32_t *area = memory ? area_of(g, pos) : NULL;
    const bool own = mine(g, pos, id);
    if (!own && !try_lock(g, pos, id)) {
        return MP_BUSY;
    }
    const bool own_area = area == NULL || owns(area, id);
    if (!own_area && !take_lock(area, id)) {
        if (!own) {
            unlock(g, pos, id);
        }
        return MP_BUSY;
    }
    return (own ? 0u : MP_LOCK) | (own_area ? 0u : MP_AREA);
}

static void leave_node(const tw_graph_t *g, uint32_t pos, uint32_t id, uint32_t held)
{
    if ((held & MP_AREA) != 0) {
        leave_lock(area_of(g, pos), id);
    }
    if ((held & MP_LOCK) != 0) {
        unlock(g, pos, id);
    }
}

uint32_t mp_hold(tw_graph_t *g, uint32_t pos, bool memory)
{
    return g->mp == NULL ? 0 : take_node(g, pos, MAIN_ID, memory);
}

void mp_drop(tw_graph_t *g, uint32_t pos, uint32_t held)
{
    if (g->mp != NULL && held != MP_BUSY) {
        leave_node(g, pos, MAIN_ID, held);
    }
}

/* ---- plain nodes ------------------------------------------------------------------------ */

/* Room for a frame at the end of the buffer. Moving data there changes the consumer's index. */
static outcome_t make_room(const tw_graph_t *g, tw_arc_t *a, uint32_t id)
{
    if (tw_arc_tail(a) >= a->in_frame) {
        return RAN;
    }
    const bool held = mine(g, a->to, id);
    if (!held && !try_lock(g, a->to, id)) {
        return LATER;
    }
    tw_arc_realign(a);
    if (!held) {
        unlock(g, a->to, id);
    }
    return RAN;
}

static outcome_t prepare(const tw_graph_t *g, const tw_graph_hot_t *h, uint32_t id)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    const uint32_t rx = n->rx, all = rx + n->tx;
    for (uint32_t i = 0; i < all; i++) {
        const tw_arc_t *a = &g->arcs[n->refs[i].arc];
        if (i < rx ? !tw_arc_readable(a) : !tw_arc_writable(a)) {
            return NOT_READY;
        }
    }
    if (h->block_runs >= TW_MAX_BLOCK_RUNS) {
        return NOT_READY;
    }
    outcome_t out = RAN;
    for (uint32_t i = rx; i < all && out == RAN; i++) {
        out = make_room(g, &g->arcs[n->refs[i].arc], id);
    }
    return out;
}

static void offer(const tw_graph_t *g, const tw_graph_node_t *n, tw_xdm_t *x, uint32_t *given)
{
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        tw_arc_t *a = &g->arcs[n->refs[i].arc];
        if (i < n->rx) {
            x[i] = (tw_xdm_t){a->buf + tw_index_get(&a->read), tw_arc_available(a)};
        } else {
            x[i] = (tw_xdm_t){a->buf + tw_index_get(&a->write), tw_arc_whole(tw_arc_tail(a), a->in_frame)};
        }
        given[i] = x[i].bytes;
    }
}

static void take(tw_graph_t *g, const tw_graph_node_t *n, const tw_xdm_t *x, const uint32_t *given)
{
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        tw_arc_t *a = &g->arcs[n->refs[i].arc];
        const uint32_t bytes = tw_min_u32(x[i].bytes, given[i]);
        if (i >= n->rx) {
            flow_wrote(g, a, a->buf + tw_index_get(&a->write), bytes);
        } else if (bytes != 0) {
            tw_arc_consume(a, bytes);
            sched_consumed(g, a);
        }
    }
}

/* Once; reruns are further turns. */
static outcome_t run_plain(tw_graph_t *g, tw_graph_hot_t *h, uint32_t pos, uint32_t id)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    tw_xdm_t x[TW_MAX_NODE_ARCS];
    uint32_t given[TW_MAX_NODE_ARCS], state = TW_NODE_DONE;
    const outcome_t ready = prepare(g, h, id);
    if (ready != RAN) {
        return ready;
    }
    offer(g, n, x, given);
    const uint32_t err = sched_call(g, h, x, &state);
    if (!mine(g, pos, id)) {
        return DEPOSED;
    }
    if (err != 0) {
        node_error(g, h->node, err);
    }
    take(g, n, x, given);
    return RAN;
}

/* ---- other nodes: alone with all they touch ------------------------------------------------ */

typedef struct holding {
    uint32_t pos[2 * TW_MAX_NODE_ARCS + 2], n;
} holding_t;

static bool hold(const tw_graph_t *g, uint32_t pos, uint32_t id, holding_t *h)
{
    if (mine(g, pos, id)) {
        return true;
    }
    const bool ok = try_lock(g, pos, id);
    if (ok) {
        h->pos[h->n++] = pos;
    }
    return ok;
}

/* The other ends of its arcs, and of arcs in the same buffers. */
static bool hold_neighbours(const tw_graph_t *g, const tw_graph_node_t *n, uint32_t id, holding_t *h)
{
    bool ok = true;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx && ok; i++) {
        const tw_arc_t *a = &g->arcs[n->refs[i].arc];
        ok = hold(g, i < n->rx ? a->from : a->to, id, h);
        ok = ok && (a->shares == NULL || hold(g, i < n->rx ? a->shares->from : a->shares->to, id, h));
    }
    return ok;
}

static outcome_t run_general(tw_graph_t *g, tw_graph_hot_t *h, uint32_t id)
{
    holding_t held = {.n = 0};
    outcome_t out = LATER;
    if (hold_neighbours(g, &g->nodes[h->node], id, &held)) {
        out = node_ready(g, h) ? RAN : NOT_READY;
        if (out == RAN && node_run(g, h) == 0) {
            out = NOT_READY; /* again when something changes */
        }
    }
    while (held.n > 0) {
        unlock(g, held.pos[--held.n], id);
    }
    return out;
}

bool mp_run_again(tw_graph_t *g, uint32_t pos)
{
    const uint32_t held = mp_may(g, pos) ? mp_hold(g, pos, true) : MP_BUSY;
    const bool ran = held != MP_BUSY && run_general(g, &g->hot[pos], MAIN_ID) == RAN;
    mp_drop(g, pos, held);
    return ran;
}

/* ---- one instance's way through the graph --------------------------------------------------- */

static void set_awake(tw_graph_t *g, uint32_t pos)
{
    sched_wake_shared(g, pos);
}

/* Two arcs in one buffer move each other's indexes. */
static bool mp_plain(const tw_graph_t *g, const tw_graph_hot_t *h)
{
    const tw_graph_node_t *n = &g->nodes[h->node];
    bool all = h->plain;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        all = all && g->arcs[n->refs[i].arc].shares == NULL;
    }
    return all;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/* Places that are awake; in one order with who sets them and then looks who is asleep. */
static uint32_t awake_now(const tw_graph_t *g, uint32_t word)
{
    return atomic_load_explicit(&g->awake[word], memory_order_seq_cst);
}

static bool has_work(const tw_graph_t *g, const uint32_t *mask)
{
    for (uint32_t w = 0; w < sched_words(g->n_nodes); w++) {
        if ((awake_now(g, w) & mask[w]) != 0) {
            return true;
        }
    }
    return false;
}

/* Work for k that `self` may not do, or more than the one place that `self` goes on with. */
static bool worth_waking(const tw_graph_t *g, uint32_t k, uint32_t self)
{
    uint32_t common = 0;
    for (uint32_t w = 0; w < sched_words(g->n_nodes); w++) {
        const uint32_t bits = awake_now(g, w) & g->mp->mask[k][w], mine_too = bits & g->mp->mask[self][w];
        if (bits != mine_too || (common != 0 && mine_too != 0) || (mine_too & (mine_too - 1)) != 0) {
            return true;
        }
        common |= mine_too;
    }
    return false;
}

static void wake(tw_crew_t *c, uint32_t k)
{
    const uint32_t bit = 1u << k;
    if ((atomic_fetch_and_explicit(&c->asleep, ~bit, memory_order_seq_cst) & bit) != 0) {
        c->wake(c->relax_ctx, k);
    }
}

/* Bits were set; who went to sleep before it could see them is woken: it says that it sleeps, then looks at the bits,
 * and we set the bits, then look who sleeps. */
static void rouse(const tw_graph_t *g, uint32_t self)
{
    tw_crew_t *c = g->mp->crew;
    uint32_t asleep = atomic_load_explicit(&c->asleep, memory_order_seq_cst);
    for (; asleep != 0; asleep &= asleep - 1) {
        const uint32_t k = tw_low_bit(asleep);
        if (k != self && worth_waking(g, k, self)) {
            wake(c, k);
        }
    }
}

/* The bit is cleared before the node is looked at: whoever changes something afterwards sets it again. */
static outcome_t serve(tw_graph_t *g, tw_instance_t *i, uint32_t pos)
{
    tw_graph_hot_t *h = &g->hot[pos];
    const uint32_t held = take_node(g, pos, i->id, true);
    if (held == MP_BUSY) {
        return LATER;
    }
    atomic_fetch_and_explicit(&g->awake[pos / 32], ~(1u << pos % 32), memory_order_acq_rel);
    tw_gauge_set(&i->current, h->node + 1u);
    const outcome_t out = mp_plain(g, h) ? run_plain(g, h, pos, i->id) : run_general(g, h, i->id);
    if (out == DEPOSED) {
        return out;
    }
    tw_gauge_set(&i->current, 0);
    tw_gauge_add(&i->runs, out == RAN);
    leave_node(g, pos, i->id, held);
    if (out != NOT_READY) {
        set_awake(g, pos); /* perhaps once more */
    }
    rouse(g, i->id - 1);
    return out;
}

/* Earlier levels first: after a level in which something ran they are asked again. @return something ran */
static bool scan(tw_graph_t *g, tw_instance_t *i, uint32_t k)
{
    const tw_graph_mp_t *mp = g->mp;
    bool any = false;
    uint8_t key = 0;
    for (uint32_t w = 0; w < sched_words(g->n_nodes); w++) {
        uint32_t bits = atomic_load_explicit(&g->awake[w], memory_order_relaxed) & mp->mask[k][w];
        for (; bits != 0; bits &= bits - 1) {
            const uint32_t pos = 32 * w + tw_low_bit(bits);
            if (k != 0 && atomic_load_explicit(&mp->crew->open, memory_order_seq_cst) == NULL) {
                return any; /* main waits for us to leave */
            }
            if (any && g->hot[pos].key != key) {
                return true;
            }
            key = g->hot[pos].key;
            tw_gauge_add(&i->beat, 1);
            const outcome_t out = serve(g, i, pos);
            any |= out == RAN;
            if (out == DEPOSED) {
                return any;
            }
        }
    }
    return any;
}

/* ---- helpers ------------------------------------------------------------------------------- */

/* Events wait until main has the graph alone: the host's ring has one writer. Those with data are scripts', which
 * only main runs. */
static void keep_event(void *ctx, const tw_graph_event_t *ev)
{
    tw_instance_t *i = ctx;
    if (i->n_events < TW_INSTANCE_EVENTS) {
        i->events[i->n_events++] = *ev;
    } else {
        i->lost_events++;
    }
}

/* An arc's taps are written by its producer, under the producer's lock. */
static void pass_tap(void *ctx, void *taps, const uint8_t *data, uint32_t bytes)
{
    const tw_instance_t *i = ctx;
    if (i->host.tap != NULL) {
        i->host.tap(i->host.ctx, taps, data, bytes);
    }
}

static void take_view(tw_instance_t *i, const tw_graph_t *g, uint32_t k)
{
    i->host = g->env.host;
    i->view.env = g->env;
    i->view.env.host = (tw_graph_host_t){.ctx = i, .event = keep_event, .tap = pass_tap};
    i->view.img = g->img;
    i->view.n_nodes = g->n_nodes;
    i->view.n_arcs = g->n_arcs;
    i->view.formats = g->formats;
    i->view.nodes = g->nodes;
    i->view.hot = g->hot;
    i->view.awake = g->awake;
    i->view.arcs = g->arcs;
    i->view.mp = g->mp;
    i->view.tick = g->tick;
    i->view.now_us = g->now_us;
    i->view.timing = g->timing;
    i->view.scratch = g->mp->scratch[k];
}

bool tw_graph_help(tw_crew_t *crew, uint32_t k)
{
    tw_instance_t *i = &crew->instances[k];
    tw_gauge_add(&i->beat, 1);
    if (!tw_crew_busy(crew) || atomic_load_explicit(&i->dead, memory_order_relaxed) != 0) {
        return false;
    }
    const uint32_t seq = atomic_load_explicit(&i->seq, memory_order_relaxed);
    /* Main closes, then looks at seq; we set seq, then look whether it is open. In one order of all four, one of us
     * sees the other. */
    atomic_store_explicit(&i->seq, seq + 1, memory_order_seq_cst);
    const tw_graph_t *g = atomic_load_explicit(&crew->open, memory_order_seq_cst);
    bool ran = false;
    if (g != NULL && has_work(g, g->mp->mask[k])) {
        const uint32_t work = atomic_load_explicit(&i->work, memory_order_relaxed);
        atomic_store_explicit(&i->work, work + 1, memory_order_release);
        take_view(i, g, k);
        ran = scan(&i->view, i, k);
        atomic_store_explicit(&i->work, work + 2, memory_order_seq_cst);
        if ((atomic_load_explicit(&crew->asleep, memory_order_seq_cst) & 1u) != 0) {
            wake(crew, 0); /* it may be us it waits for */
        }
    }
    atomic_store_explicit(&i->seq, seq + 2, memory_order_release);
    return ran;
}

void tw_graph_doze(tw_crew_t *crew, uint32_t k)
{
    tw_instance_t *i = &crew->instances[k];
    if (crew->wait == NULL || crew->wake == NULL) {
        relax(crew);
        return;
    }
    tw_gauge_add(&i->beat, 1);
    atomic_fetch_or_explicit(&crew->asleep, 1u << k, memory_order_seq_cst);
    const uint32_t seq = atomic_load_explicit(&i->seq, memory_order_relaxed);
    atomic_store_explicit(&i->seq, seq + 1, memory_order_seq_cst);
    const tw_graph_t *g = atomic_load_explicit(&crew->open, memory_order_seq_cst);
    const bool alive = atomic_load_explicit(&i->dead, memory_order_relaxed) == 0;
    const bool work = g != NULL && alive && has_work(g, g->mp->mask[k]);
    atomic_store_explicit(&i->seq, seq + 2, memory_order_release);
    if (work) {
        relax(crew); /* somebody has what it needs */
    } else {
        crew->wait(crew->relax_ctx, k);
    }
    atomic_fetch_and_explicit(&crew->asleep, ~(1u << k), memory_order_seq_cst);
}

/* ---- main ------------------------------------------------------------------------------------- */

/* Nobody works and nothing is left that is waited for. An instance that began and ended between our two looks at
 * `work` has changed it; one that set a bit in between is at work still, or has. */
static bool quiet(const tw_graph_t *g)
{
    const tw_crew_t *c = g->mp->crew;
    uint32_t seen[TW_MAX_INSTANCES] = {0};
    for (uint32_t k = 1; k < c->n; k++) {
        seen[k] = atomic_load_explicit(&c->instances[k].work, memory_order_acquire);
        if ((seen[k] & 1u) != 0 && atomic_load_explicit(&c->instances[k].dead, memory_order_relaxed) == 0) {
            return false;
        }
    }
    for (uint32_t w = 0; w < sched_words(g->n_nodes); w++) {
        if ((atomic_load_explicit(&g->awake[w], memory_order_acquire) & g->mp->waited[w]) != 0) {
            return false;
        }
    }
    for (uint32_t k = 1; k < c->n; k++) {
        if (atomic_load_explicit(&c->instances[k].work, memory_order_acquire) != seen[k]) {
            return false;
        }
    }
    return true;
}

static bool ios_out(tw_graph_t *g)
{
    if (!try_lock(g, TW_ARC_NOBODY, MAIN_ID)) {
        return false;
    }
    const bool moved = flow_ios_out(g);
    unlock(g, TW_ARC_NOBODY, MAIN_ID);
    return moved;
}

/* A block ends without what only the dead, or only those for the background, may run. */
static void find_waited(tw_graph_t *g)
{
    enum { BACKGROUND_ALONE = 1 << 3 };
    tw_graph_mp_t *mp = g->mp;
    for (uint32_t w = 0; w < sched_words(g->n_nodes); w++) {
        mp->waited[w] = 0;
        for (uint32_t k = 0; k < mp->crew->n; k++) {
            const tw_instance_t *i = &mp->crew->instances[k];
            const bool gone = atomic_load_explicit(&i->dead, memory_order_relaxed) != 0;
            mp->waited[w] |= gone || i->cfg.classes == BACKGROUND_ALONE ? 0 : mp->mask[k][w];
        }
    }
}

/* What it had begun is begun anew by who is left: the node forgets, its arcs were not moved. */
static void take_over(tw_graph_t *g, tw_instance_t *i)
{
    const uint32_t node = tw_gauge_get(&i->current);
    atomic_store_explicit(&i->dead, 1, memory_order_release);
    tw_gauge_add(&g->mp->crew->takeovers, 1);
    find_waited(g);
    if (node != 0) {
        node_error(g, node - 1, (uint32_t) - (int32_t)TW_E_TIMEOUT);
        tw_graph_reset_node(g, node - 1, -1, false);
        set_awake(g, g->nodes[node - 1].pos);
    }
    for (uint32_t pos = 0; pos <= g->n_nodes; pos++) {
        leave_lock(&g->mp->lock[pos], i->id);
    }
    for (uint32_t k = 0; k < TW_THREADS; k++) {
        leave_lock(&g->mp->area[k], i->id);
    }
}

/* Called while main waits. A helper that is not in the graph may sleep as long as nothing waits for it alone; that
 * is what the limit has to allow for. */
static void watch(tw_graph_t *g)
{
    tw_crew_t *c = g->mp->crew;
    const uint64_t now = c->watchdog_us != 0 ? g->env.port->now_us(g->env.port->ctx) : 0;
    for (uint32_t k = 1; k < c->n && c->watchdog_us != 0; k++) {
        tw_instance_t *i = &c->instances[k];
        const uint32_t beat = tw_gauge_get(&i->beat);
        if (beat != i->beat_seen || i->beat_us == 0) {
            i->beat_seen = beat;
            i->beat_us = now;
        } else if (now - i->beat_us > c->watchdog_us && atomic_load_explicit(&i->dead, memory_order_relaxed) == 0) {
            take_over(g, i);
        }
    }
    relax(c);
}

/* Nothing for main, but somebody is at work still: sleep until it is done or something is for main. */
static void main_dozes(tw_graph_t *g)
{
    tw_crew_t *c = g->mp->crew;
    if (c->wait == NULL || c->wake == NULL) {
        return;
    }
    atomic_fetch_or_explicit(&c->asleep, 1u, memory_order_seq_cst);
    if (!has_work(g, g->mp->mask[0]) && !quiet(g)) {
        c->wait(c->relax_ctx, 0);
    }
    atomic_fetch_and_explicit(&c->asleep, ~1u, memory_order_seq_cst);
}

static bool all_out(const tw_crew_t *c)
{
    for (uint32_t k = 1; k < c->n; k++) {
        const tw_instance_t *i = &c->instances[k];
        if ((atomic_load_explicit(&i->seq, memory_order_seq_cst) & 1u) != 0 &&
            atomic_load_explicit(&i->dead, memory_order_relaxed) == 0) {
            return false;
        }
    }
    return true;
}

static void tell_events(tw_graph_t *g)
{
    tw_crew_t *c = g->mp->crew;
    for (uint32_t k = 1; k < c->n; k++) {
        tw_instance_t *i = &c->instances[k];
        for (uint32_t e = 0; e < i->n_events && g->env.host.event != NULL; e++) {
            g->env.host.event(g->env.host.ctx, &i->events[e]);
        }
        i->n_events = 0;
        i->beat_us = 0; /* between blocks nobody is watched */
    }
}

/* All may run, until nothing is left but what main runs alone. */
static void open_graph(tw_graph_t *g)
{
    tw_crew_t *c = g->mp->crew;
    find_waited(g);
    atomic_store_explicit(&c->open, g, memory_order_seq_cst);
    rouse(g, 0);
    uint32_t idle = 0;
    for (bool more = true; more;) {
        bool ran = scan(g, &c->instances[0], 0);
        ran |= ios_out(g);
        idle = ran ? 0 : idle + 1;
        if (ran) {
            sched_debug_script(g, DBG_LOOP, NO_NODE);
        } else if (quiet(g)) {
            more = ios_out(g); /* what the last helper left there */
        } else {
            watch(g);
            if (idle > SPINS) {
                main_dozes(g);
            }
        }
    }
    atomic_store_explicit(&c->open, NULL, memory_order_seq_cst);
    while (!all_out(c)) {
        watch(g);
    }
}

/* Nodes that steer others change what the others are and who runs them. @return one of them ran */
static bool run_alone(tw_graph_t *g)
{
    bool ran = false;
    for (uint32_t w = 0; w < sched_words(g->n_nodes); w++) {
        uint32_t bits = atomic_load_explicit(&g->awake[w], memory_order_relaxed) & g->mp->alone[w];
        for (; bits != 0; bits &= bits - 1) {
            ran |= serve(g, &g->mp->crew->instances[0], 32 * w + tw_low_bit(bits)) == RAN;
        }
    }
    return ran;
}

/* Those that steer come first, so that their range is theirs from the first node on. */
void mp_block(tw_graph_t *g, uint64_t tick)
{
    sched_begin(g, tick);
    (void)run_alone(g);
    do {
        open_graph(g);
    } while (run_alone(g));
    tell_events(g);
    sched_end(g);
}

void mp_flow(tw_graph_t *g, uint32_t node)
{
    const tw_graph_node_t *n = &g->nodes[node];
    const uint32_t w = n->pos / 32u, bit = 1u << n->pos % 32u;
    const bool locked = (n->flow & 1u << TW_FLOW_LOCK) != 0 && mp_may(g, n->pos);
    for (uint32_t k = 1; g->mp != NULL && k < g->mp->crew->n; k++) {
        g->mp->mask[k][w] = (g->mp->mask[k][w] & ~bit) | (locked ? 0 : g->mp->may[k][w] & bit);
    }
}

bool mp_may(const tw_graph_t *g, uint32_t pos)
{
    return g->mp == NULL || ((g->mp->may[0][pos / 32] | g->mp->alone[pos / 32]) >> pos % 32 & 1u) != 0;
}

/* ---- set-up ---------------------------------------------------------------------------------------- */

tw_err_t tw_crew_init(tw_crew_t *c, const tw_instance_cfg_t *cfg, uint32_t n)
{
    if (n == 0 || n > TW_MAX_INSTANCES) {
        return TW_E_ARG;
    }
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = 0; b < a; b++) {
            const uint32_t x = cfg[a].classes != 0 ? cfg[a].classes : 15u,
                           y = cfg[b].classes != 0 ? cfg[b].classes : 15u;
            if ((cfg[a].processors & cfg[b].processors) != 0 && (x & y) != 0) {
                return TW_E_ARG;
            }
        }
    }
    memset(c, 0, sizeof *c);
    c->n = n;
    for (uint32_t k = 0; k < n; k++) {
        c->instances[k].cfg = cfg[k];
        c->instances[k].id = k + 1;
    }
    return TW_OK;
}

/* Scripts, debug registers, drivers and networks know one instance. */
static bool only_mains(const tw_graph_t *g, const tw_graph_node_t *n)
{
    bool only = n->script >= 0 || n->own_script >= 0 || (g->debug_fields & (DBG_BEFORE | DBG_AFTER)) != 0 ||
                node_has_effects(n->desc);
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        const tw_arc_t *a = &g->arcs[n->refs[i].arc];
        only |= a->task != NULL || a->script >= 0 || a->pins;
    }
    return only;
}

static bool may_run(const tw_graph_t *g, const tw_graph_node_t *n, const tw_instance_cfg_t *cfg, bool is_main)
{
    enum { ARCH_SCRIPT = 7 };
    const uint32_t n0 = tw_img_word(g->env.image.nodes, n->record, 0),
                   allowed = tw_img_word(g->img, 0, TW_W_PROCESSORS);
    const uint32_t proc = tw_bits(n0, TW_N0_PROC), arch = tw_bits(n0, TW_N0_ARCH), rtos = tw_bits(n0, TW_N0_RTOS);
    if (only_mains(g, n)) {
        return is_main;
    }
    return (cfg->processors & (proc != 0 ? 1u << (proc - 1) : allowed)) != 0 &&
           (arch == 0 || arch == ARCH_SCRIPT || cfg->arch == 0 || arch == cfg->arch) &&
           (cfg->classes == 0 || (cfg->classes >> rtos & 1u) != 0);
}

/* ---- what an instance reaches -------------------------------------------------------------------- */

static bool reaches_bank(const tw_instance_cfg_t *cfg, uint32_t vid)
{
    return cfg->banks == NULL || (cfg->banks[vid / 32] >> vid % 32 & 1u) != 0;
}

/* A block and, when it is brought in from there, its home. */
static bool reaches_block(const tw_instance_cfg_t *cfg, uint32_t word)
{
    return reaches_bank(cfg, tw_bits(word, TW_NB_VID)) &&
           (tw_bits(word, TW_NB_SWAP) == TW_NB_STAYS || reaches_bank(cfg, tw_bits(word, TW_NB_HOME)));
}

static bool reaches_arc(const tw_graph_t *g, const tw_instance_cfg_t *cfg, uint32_t arc)
{
    return g->arcs[arc].type == TW_ARC_CONSTANT ||
           reaches_bank(cfg, tw_bits(tw_img_word(g->img, tw_img_arc(g->img, arc), 0), TW_A0_VID));
}

static uint32_t vid_of_bank(const tw_graph_t *g, uint32_t bank)
{
    const uint8_t *img = g->env.image.whole;
    return tw_bits(tw_img_word(img, tw_img_record(img, TW_SEC_BANKS, bank, TW_BANK_WORDS), 0), TW_B0_VID);
}

static bool reaches_grants(const tw_graph_t *g, const tw_instance_cfg_t *cfg, uint32_t node)
{
    bool all = true;
    for (uint32_t i = first_grant(g, node); i < g->n_grants && g->grants[i].node == node; i++) {
        all = all && reaches_bank(cfg, vid_of_bank(g, g->grants[i].bank));
    }
    return all;
}

/* @return all it needs; else where the image asks for what is out of reach */
static bool reaches(const tw_graph_t *g, uint32_t node, const tw_instance_cfg_t *cfg, tw_fault_t *where)
{
    const tw_graph_node_t *n = &g->nodes[node];
    const tw_img_node_parts_t p = tw_img_node_parts(g->env.image.nodes, n->record);
    if (!reaches_grants(g, cfg, node)) {
        *where = (tw_fault_t){TW_E_IMG_REACH, SEC(NODES), n->record};
        return false;
    }
    for (uint32_t m = 0; m < p.blocks; m++) {
        const uint32_t at = p.blocks_at + 4u * TW_NODE_BLOCK_WORDS * m;
        if (!reaches_block(cfg, tw_img_word(g->env.image.nodes, at, 0))) {
            *where = (tw_fault_t){TW_E_IMG_REACH, SEC(NODES), at};
            return false;
        }
    }
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        if (!reaches_arc(g, cfg, n->refs[i].arc)) {
            *where = (tw_fault_t){TW_E_IMG_REACH, SEC(ARCS), tw_img_arc(g->env.image.whole, n->refs[i].arc)};
            return false;
        }
    }
    return true;
}

/* All IOs are moved by main: it is wired to them, and reaches their buffers. */
static tw_err_t check_ios(const tw_graph_t *g, const tw_instance_cfg_t *cfg, tw_fault_t *fault)
{
    const uint8_t *img = g->env.image.whole;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        const tw_graph_io_t *io = &g->ios[i];
        const uint32_t at = tw_img_record(img, TW_SEC_IOS, i, TW_IO_WORDS);
        const bool wired = cfg->ios == 0 || (io->hwid < 32 && (cfg->ios >> io->hwid & 1u) != 0);
        const bool buffer =
            tw_img_word(img, at, 7) == 0 || reaches_bank(cfg, tw_bits(tw_img_word(img, at, 5), TW_I5_VID));
        if (!wired || !buffer || !reaches_arc(g, cfg, io->arc_index)) {
            *fault = (tw_fault_t){TW_E_IMG_REACH, SEC(IOS), at};
            return TW_E_IMG_REACH;
        }
    }
    return TW_OK;
}

/* ---- its share of a graph --------------------------------------------------------------------------- */

static uint32_t largest_frame(const tw_graph_t *g)
{
    uint32_t frame = 4;
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        frame = tw_max_u32(frame, g->arcs[i].in_frame);
    }
    return frame;
}

static bool take_shares(const tw_graph_t *g, tw_graph_mp_t *mp, tw_arena_t *arena)
{
    const uint32_t words = sched_words(g->n_nodes) * (uint32_t)sizeof(uint32_t), frame = largest_frame(g);
    mp->lock = tw_arena_take(arena, (g->n_nodes + 1) * sizeof *mp->lock, TW_HOT_ALIGN);
    mp->waited = tw_arena_take(arena, words, TW_HOT_ALIGN);
    mp->alone = tw_arena_take(arena, words, 4);
    mp->thread = tw_arena_take(arena, g->n_nodes, 1);
    bool ok = mp->lock != NULL && mp->waited != NULL && mp->alone != NULL && mp->thread != NULL;
    for (uint32_t k = 0; k < mp->crew->n; k++) {
        mp->mask[k] = tw_arena_take(arena, words, TW_HOT_ALIGN);
        mp->may[k] = tw_arena_take(arena, words, 4);
        mp->scratch[k] = tw_arena_take(arena, frame, 8);
        ok &= mp->mask[k] != NULL && mp->may[k] != NULL && mp->scratch[k] != NULL;
    }
    return ok;
}

static uint32_t share_bytes(const tw_graph_t *g, const tw_crew_t *crew)
{
    return (uint32_t)sizeof(tw_graph_mp_t) + 5 * (g->n_nodes + 1) +
           (crew->n + 1) * (8 * sched_words(g->n_nodes) + TW_HOT_ALIGN + 4 + largest_frame(g));
}

/* Memory that others of its thread may have, too. */
static uint8_t shares_memory(const tw_graph_t *g, uint32_t node)
{
    const uint8_t *img = g->env.image.nodes;
    const uint32_t thread = img_thread(img, g->nodes[node].record);
    const tw_img_node_parts_t p = tw_img_node_parts(img, g->nodes[node].record);
    bool shares = false;
    for (uint32_t m = 0; m < p.blocks; m++) {
        const uint32_t w = tw_img_word(img, p.blocks_at, TW_NODE_BLOCK_WORDS * m), type = tw_bits(w, TW_NB_TYPE);
        shares |= type == 1 || tw_img_is_staged(w);
    }
    return shares && thread < TW_THREADS ? (uint8_t)thread : NO_THREAD;
}

/* Who may run a node. What nobody may is refused: with what was out of reach of those who otherwise might. */
static tw_err_t set_node(const tw_graph_t *g, tw_graph_mp_t *mp, uint32_t node, tw_fault_t *fault)
{
    const tw_graph_node_t *n = &g->nodes[node];
    const uint32_t w = n->pos / 32u, bit = 1u << n->pos % 32u;
    tw_fault_t why = {TW_E_IMG_NODE_ARCH, SEC(NODES), n->record};
    bool some = false;
    for (uint32_t k = 0; k < mp->crew->n; k++) {
        const tw_instance_cfg_t *cfg = &mp->crew->instances[k].cfg;
        const bool may = may_run(g, n, cfg, k == 0) && reaches(g, node, cfg, &why);
        mp->may[k][w] |= may && !control_steers(n->desc) ? bit : 0;
        some |= may;
    }
    mp->alone[w] |= control_steers(n->desc) ? bit : 0;
    mp->thread[n->pos] = shares_memory(g, node);
    if (!some) {
        *fault = why;
        return why.err;
    }
    return TW_OK;
}

static tw_err_t set_masks(const tw_graph_t *g, tw_graph_mp_t *mp, tw_fault_t *fault)
{
    const uint32_t words = sched_words(g->n_nodes) * (uint32_t)sizeof(uint32_t);
    memset(mp->alone, 0, words);
    for (uint32_t k = 0; k < mp->crew->n; k++) {
        memset(mp->may[k], 0, words);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        TW_TRY(set_node(g, mp, i, fault));
    }
    for (uint32_t k = 0; k < mp->crew->n; k++) {
        memcpy(mp->mask[k], mp->may[k], words);
    }
    return check_ios(g, &mp->crew->instances[0].cfg, fault);
}

/* Nobody has anything. */
static void open_locks(const tw_graph_t *g, tw_graph_mp_t *mp)
{
    for (uint32_t i = 0; i <= g->n_nodes; i++) {
        atomic_init(&mp->lock[i], 0);
    }
    for (uint32_t i = 0; i < TW_THREADS; i++) {
        atomic_init(&mp->area[i], 0);
    }
}

tw_err_t tw_graph_share(tw_graph_t *g, tw_crew_t *crew, tw_arena_t *arena, tw_fault_t *fault)
{
    const size_t mark = arena->used;
    if (crew->n < 2) {
        return TW_OK;
    }
    tw_graph_mp_t *mp = tw_arena_take(arena, sizeof *mp, _Alignof(tw_graph_mp_t));
    if (mp != NULL) {
        *mp = (tw_graph_mp_t){.crew = crew};
    }
    if (mp == NULL || !take_shares(g, mp, arena)) {
        arena->used = mark;
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = share_bytes(g, crew)};
        return TW_E_NOMEM;
    }
    open_locks(g, mp);
    const tw_err_t err = TW_MULTIPROCESSOR ? set_masks(g, mp, fault) : TW_E_IMG_MP;
    if (err != TW_OK) {
        if (err == TW_E_IMG_MP) {
            *fault = (tw_fault_t){.err = err, .at = 4 * TW_W_CONTROL};
        }
        arena->used = mark;
        return err;
    }
    g->mp = mp;
    return TW_OK;
}
