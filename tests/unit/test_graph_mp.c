/* Several instances on one graph: what goes out is what one thread puts out, whoever ran what, and whoever died.
 *
 * Runs under ThreadSanitizer too. TW_MP_RUNS sets how many node runs the long test makes.
 */
#include "engine/graph/graph_mp.h"
#include "engine/graph/graph_priv.h"
#include "tests/support/engine_rig.h"
#include "tests/support/random_graph.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { THREADS = 8, ROOM = 1 << 19, RUNS = 100000, PINNED_RUNS = 1000, GRAPHS = 12 };

static tw_ib_t ib;
static uint8_t img[65536];

/* ---- a board whose outputs are kept as sums, so that a long run needs no memory --------------------------- */

typedef struct side {
    rig_t rig;
    tw_graph_t g;
    uint8_t *memory;
    uint64_t sum[RIG_IOS], bytes[RIG_IOS];
} side_t;

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    side_t *s = ctx;
    const uint8_t *p = src;
    (void)tick;
    for (uint32_t i = 0; i < bytes; i++) {
        s->sum[hwid] = (s->sum[hwid] ^ p[i]) * 0x100000001B3u;
    }
    s->bytes[hwid] += bytes;
    return bytes;
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    side_t *s = ctx;
    uint8_t *p = dst;
    (void)tick;
    for (uint32_t i = 0; i + 2 <= bytes; i += 2) {
        tw_put_le16(p + i, s->rig.next[hwid]++);
    }
    return bytes;
}

static uint64_t now_us(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static uint32_t cycles(void *ctx)
{
    (void)ctx;
    return 0;
}

static void load(side_t *s, uint32_t bytes, tw_crew_t *crew)
{
    memset(s, 0, sizeof *s);
    rig_board(&s->rig);
    s->rig.port = (tw_port_t){NULL, now_us, cycles, 1}; /* the rig's own counts, for one thread */
    s->rig.board.ctx = s;
    s->rig.board.read = board_read;
    s->rig.board.write = board_write;
    s->rig.board.accept = NULL;
    s->rig.board.processors = 0xFF;
    s->memory = aligned_alloc(64, ROOM);
    tw_arena_t arena = {.base = s->memory, .size = ROOM};
    const tw_graph_env_t env = {.port = &s->rig.port, .board = &s->rig.board};
    tw_fault_t fault = {0};
    tw_err_t err = tw_graph_check(img, bytes, &s->rig.board, &arena, &fault);
    err = err == TW_OK ? tw_graph_load(&s->g, img, &env, &arena, &fault) : err;
    err = err == TW_OK && crew != NULL ? tw_graph_share(&s->g, crew, &arena, &fault) : err;
    if (err != TW_OK) {
        fail_msg("%s, section %u, at %u", tw_err_name(err), fault.section, fault.at);
    }
}

/* With `pinned` a part of the nodes is one processor's, so that main cannot do without the others. Working memory
 * apart, as the compiler places it where several processors may run a node: the builder lays it over. */
static uint32_t tree(uint32_t *seed, uint32_t least, bool pinned)
{
    const rg_kind_t kind = {.nodes = RG_NODES_MAX, .least = least, .sizes = 1, .apart = true, .scripts = true};
    const uint32_t bytes = rg_make(&ib, img, sizeof img, &kind, seed);
    tw_put_le32(img + 4 * TW_W_PROCESSORS, 0xFF);
    for (uint32_t i = 0; i < ib.n_nodes && pinned; i++) {
        const uint32_t proc = rg_below(seed, 3 * THREADS);
        tw_image_poke(img, tw_image_node(img, i), TW_N0_PROC, proc < THREADS ? proc + 1 : 0);
    }
    tw_image_fix(img, bytes);
    return bytes;
}

static uint64_t all_runs(const tw_graph_t *g)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += tw_gauge_get(&g->hot[i].runs);
    }
    return n;
}

static void expect_same(const side_t *a, const side_t *b)
{
    for (uint32_t i = 0; i < RIG_IOS; i++) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        assert_true(a->sum[i] == b->sum[i]);
    }
}

/* ---- helpers ------------------------------------------------------------------------------------------------ */

static tw_crew_t crew;
static _Atomic bool stop;

static _Atomic bool died;

/* Looking at `died` tells the thread sanitizer what a watchdog has to take for granted: the dead do nothing more. */
static void relax(void *ctx)
{
    (void)ctx;
    (void)died;
    sched_yield();
}

static sem_t beds[THREADS];

static void wait_asleep(void *ctx, uint32_t k)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    (void)sem_timedwait(&beds[k], &t);
}

static void wake_up(void *ctx, uint32_t k)
{
    (void)ctx;
    sem_post(&beds[k]);
}

static void *help(void *arg)
{
    enum { IN_VAIN = 20 };
    const uint32_t k = (uint32_t)(uintptr_t)arg;
    unsigned idle = 0;
    while (!stop) {
        idle = tw_graph_help(&crew, k) ? 0 : idle + 1;
        if (idle > IN_VAIN) {
            tw_graph_doze(&crew, k);
            idle = 0;
        }
    }
    return NULL;
}

static pthread_t threads[THREADS];

static void open_crew(const tw_instance_cfg_t *cfg, uint32_t n)
{
    assert_int_equal(tw_crew_init(&crew, cfg, n), TW_OK);
    crew.relax = relax;
    crew.wait = wait_asleep;
    crew.wake = wake_up;
    stop = false;
    for (uint32_t k = 0; k < THREADS; k++) {
        sem_init(&beds[k], 0, 0);
    }
}

static void start_helpers(uint32_t n)
{
    for (uintptr_t k = 1; k < n; k++) {
        assert_int_equal(pthread_create(&threads[k], NULL, help, (void *)k), 0);
    }
}

static void join_helpers(uint32_t n)
{
    stop = true;
    for (uint32_t k = 1; k < n; k++) {
        pthread_join(threads[k], NULL);
    }
}

static void open_eight(void)
{
    tw_instance_cfg_t cfg[THREADS];
    for (uint32_t k = 0; k < THREADS; k++) {
        cfg[k] = (tw_instance_cfg_t){.processors = 1u << k};
    }
    open_crew(cfg, THREADS);
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static void eight_threads_put_out_what_one_does(void **state)
{
    (void)state;
    static side_t one, eight;
    const char *wanted = getenv("TW_MP_RUNS");
    const uint64_t runs = wanted != NULL ? strtoull(wanted, NULL, 10) : RUNS;
    const uint64_t pinned_runs = wanted != NULL ? runs / (GRAPHS - 1) : PINNED_RUNS;
    uint64_t ran = 0, helped = 0;
    uint32_t seed = 1;
    for (uint32_t graph = 0; graph < GRAPHS; graph++) {
        const bool pinned = graph == 0;
        const uint32_t bytes = tree(&seed, 20, pinned);
        open_eight();
        load(&one, bytes, NULL);
        load(&eight, bytes, &crew);
        start_helpers(THREADS);
        uint64_t here = 0;
        for (uint32_t t = 0; here < (pinned ? pinned_runs : runs / (GRAPHS - 1)); t++) {
            tw_graph_block(&eight.g, t);
            tw_graph_block(&one.g, t);
            here += eight.g.n_nodes;
        }
        join_helpers(THREADS);
        expect_same(&one, &eight);
        assert_true(all_runs(&one.g) == all_runs(&eight.g));
        ran += all_runs(&eight.g);
        for (uint32_t k = 1; k < THREADS; k++) {
            helped += tw_gauge_get(&crew.instances[k].runs);
        }
        free(one.memory);
        free(eight.memory);
    }
    printf("%llu node runs, %llu by helpers\n", (unsigned long long)ran, (unsigned long long)helped);
    assert_true(helped != 0);
}

/* ---- a helper that dies ----------------------------------------------------------------------------------------- */

static tw_services_t whole;
static _Thread_local bool doomed;
static _Atomic int runs_left; /* of the doomed */
/* In the middle of a run: the node is locked, its state half changed. */
static void deadly(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                   int16_t *out, uint32_t n)
{
    if (doomed && runs_left-- <= 0) {
        died = true;
        pthread_exit(NULL);
    }
    whole.biquad_q15(coef5, stages, post_shift, state, in, out, n);
    if (!doomed) {
        sched_yield();
    }
}

static void *help_and_die(void *arg)
{
    doomed = true;
    return help(arg);
}

/* IO 0 -> filter, proc 1 -> filter -> filter, proc 1 -> IO 4. */
static uint32_t arc_bank; /* of its own for arcs */

static uint32_t three_filters(uint32_t proc_of_the_middle)
{
    tw_ib_init(&ib);
    ib.arc_bank = arc_bank;
    ib.apart = true;
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, 16, 16000.0f);
    uint16_t arc[4];
    for (uint32_t i = 0; i < 4; i++) {
        arc[i] =
            (uint16_t)tw_ib_arc(&ib, i == 0 ? TW_IB_IO : i - 1, i == 0 ? 0 : 1, i == 3 ? TW_IB_IO : i, 0, f, f, 32);
    }
    tw_ib_io(&ib, 0, false, arc[0], f);
    tw_ib_io(&ib, 4, true, arc[3], f);
    for (uint32_t i = 0; i < 3; i++) {
        tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, arc + i);
    }
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    tw_put_le32(img + 4 * TW_W_PROCESSORS, 3);
    for (uint32_t i = 0; i < 3; i++) {
        tw_image_poke(img, tw_image_node(img, i), TW_N0_PROC, i == 1 ? proc_of_the_middle : 1);
    }
    tw_image_fix(img, bytes);
    return bytes;
}

static void a_helper_that_dies_in_a_node_is_replaced_or_done_without(void **state)
{
    (void)state;
    enum { MORE = 100 };
    static const struct {
        const char *why;
        uint32_t proc;
        bool replaced;
    } rows[] = {
        {"main may run the node too", 0, true},
        {"nobody else may", 2, false},
    };
    static side_t s;
    static const tw_instance_cfg_t cfg[2] = {{.processors = 1}, {.processors = 2}};
    for (size_t r = 0; r < TW_COUNT(rows); r++) {
        const uint32_t bytes = three_filters(rows[r].proc);
        open_crew(cfg, 2);
        crew.watchdog_us = 300000;
        load(&s, bytes, &crew);
        whole = s.g.svc;
        s.g.svc.biquad_q15 = deadly;
        runs_left = 5;
        died = false;
        assert_int_equal(pthread_create(&threads[1], NULL, help_and_die, (void *)(uintptr_t)1), 0);
        uint32_t t = 0;
        while (tw_gauge_get(&crew.takeovers) == 0) {
            tw_graph_block(&s.g, t++);
        }
        assert_true(died);
        const uint64_t before = s.bytes[4];
        for (uint32_t i = 0; i < MORE; i++) {
            tw_graph_block(&s.g, t++);
        }
        if (s.bytes[4] - before != (rows[r].replaced ? MORE * 32u : 0)) {
            fail_msg("%s: %u bytes", rows[r].why, (unsigned)(s.bytes[4] - before));
        }
        assert_int_equal(tw_gauge_get(&crew.takeovers), 1);
        assert_true(tw_gauge_get(&s.g.nodes[1].errors) <= 1);
        join_helpers(2);
        free(s.memory);
    }
}

static void crews_and_graphs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const tw_instance_cfg_t good[3] = {
        {.processors = 1, .classes = 7}, {.processors = 2}, {.processors = 5, .classes = 8}};
    static const tw_instance_cfg_t same[2] = {{.processors = 3}, {.processors = 2}};
    static side_t s;
    tw_fault_t fault = {0};
    assert_int_equal(tw_crew_init(&crew, good, 0), TW_E_ARG);
    assert_int_equal(tw_crew_init(&crew, good, TW_MAX_INSTANCES + 1), TW_E_ARG);
    assert_int_equal(tw_crew_init(&crew, same, 2), TW_E_ARG);
    assert_int_equal(tw_crew_init(&crew, good, 3), TW_OK);
    const uint32_t bytes = three_filters(4);
    tw_arena_t none = {.base = NULL, .size = 0}, some;
    uint8_t room[4096];
    load(&s, bytes, NULL);
    assert_int_equal(tw_graph_share(&s.g, &crew, &none, &fault), TW_E_NOMEM);
    assert_true(fault.at > 12 && none.used == 0);
    some = (tw_arena_t){.base = room, .size = sizeof room};
    assert_int_equal(tw_graph_share(&s.g, &crew, &some, &fault), TW_E_IMG_NODE_ARCH);
    assert_int_equal(fault.section, TW_SEC_NODES + 1);
    assert_int_equal(fault.at, tw_image_node(img, 1));
    assert_int_equal(some.used, 0);
    tw_graph_block(&s.g, 0);
    assert_int_equal(s.bytes[4], 32); /* it runs as before */
    free(s.memory);
}

/* ---- memory that nodes share ---------------------------------------------------------------------------------------
 */

enum { CHAINS = 4 };

/* IO c -> filter 2c + 1 -> filter 2c + 2 -> IO 4 + c, all of processor `proc`, behind a node 0 that steers them and has
 * a lock alone. The first filter of each chain has a script, when there is one. */
static uint32_t chains(uint32_t proc, uint32_t swap, bool scripts, const uint8_t *steering, uint32_t steering_bytes)
{
    static const uint16_t ret[] = {0x2E00, 0x0001, 0xC000};
    tw_ib_init(&ib);
    ib.swap = swap;
    ib.apart = proc == 0;
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, 16, 16000.0f), u8 = tw_ib_format(&ib, TW_RAW_U8, 1, 8, 0);
    const uint16_t lock = (uint16_t)tw_ib_arc(&ib, 0, 0, 0, 0, u8, u8, 8);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_graph_control"), 0, 1, (uint16_t[]){(uint16_t)(lock | 1u << 15)});
    tw_ib_node_params(&ib, 0, TW_TAG_ALL, steering, steering_bytes);
    const uint32_t script = scripts ? tw_ib_script(&ib, ret, TW_COUNT(ret), 2, 1, 2) : 0;
    for (uint32_t c = 0; c < CHAINS; c++) {
        const uint32_t first = 2 * c + 1;
        uint16_t arc[3];
        for (uint32_t i = 0; i < 3; i++) {
            arc[i] = (uint16_t)tw_ib_arc(&ib, i == 0 ? TW_IB_IO : first + i - 1, i == 0 ? 0 : 1,
                                         i == 2 ? TW_IB_IO : first + i, 0, f, f, 128);
        }
        tw_ib_io(&ib, c, false, arc[0], f);
        tw_ib_io(&ib, 4 + c, true, arc[2], f);
        for (uint32_t i = 0; i < 2; i++) {
            tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, arc + i);
        }
        if (scripts) {
            tw_ib_node_script(&ib, first, script);
        }
    }
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    tw_put_le32(img + 4 * TW_W_PROCESSORS, 3);
    for (uint32_t i = 0; i < ib.n_nodes; i++) {
        tw_image_poke(img, tw_image_node(img, i), TW_N0_PROC, proc);
    }
    tw_image_fix(img, bytes);
    return bytes;
}

/* A node whose runs are looked at from outside. */
static tw_node_desc_t guarded;
static tw_node_fn inner;
static const tw_graph_t *guarded_graph;
static pthread_t main_thread;
static _Atomic uint32_t broken, elsewhere[2 * CHAINS + 1]; /* runs whose scratch another wrote; runs of helpers */

static uint32_t node_of(const tw_graph_t *g, const uint8_t *data)
{
    for (uint32_t i = 1; i < g->n_nodes; i++) {
        const tw_arc_t *a = &g->arcs[g->nodes[i].refs[0].arc];
        if (data >= a->buf && data < a->buf + a->size) {
            return i;
        }
    }
    fail_msg("whose data?");
    return 0;
}

/* Its scratch is its own from here to there, whoever else would like to run. */
static uint32_t guard(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    if (tw_bits(cmd, TW_CMD_COMMAND) != TW_CMD_RUN) {
        return inner(cmd, inst, data, state);
    }
    const uint32_t node = node_of(guarded_graph, data[0].ptr);
    tw_node_reset_t r;
    node_memory(guarded_graph, node, &r);
    uint8_t *scratch = r.mem[1];
    memset(scratch, (int)node, r.mem_bytes[1]);
    sched_yield();
    sched_yield();
    bool whole_block = true;
    for (uint32_t i = 0; i < r.mem_bytes[1]; i++) {
        whole_block &= scratch[i] == node;
    }
    broken += !whole_block;
    elsewhere[node] += pthread_equal(pthread_self(), main_thread) == 0;
    return inner(cmd, inst, data, state);
}

static void guard_nodes(tw_graph_t *g)
{
    broken = 0;
    memset((void *)elsewhere, 0, sizeof elsewhere);
    main_thread = pthread_self();
    guarded_graph = g;
    guarded = *g->nodes[1].desc;
    inner = guarded.run;
    guarded.run = guard;
    for (uint32_t i = 1; i < g->n_nodes; i++) {
        g->nodes[i].desc = &guarded;
        tw_graph_bind(g, i);
    }
}

static const tw_instance_cfg_t two[2] = {{.processors = 1}, {.processors = 2}};

/* The filters of one processor lie on one another. Those with scripts are main's, the others the helper's, so both
 * would be at the same bytes but for the lock of that memory. */
static void memory_of_a_thread_is_one_nodes_at_a_time(void **state)
{
    (void)state;
    enum { TICKS = 300 };
    static side_t one, both;
    static const uint8_t nothing[2] = {0};
    for (uint32_t swap = TW_NB_STAYS; swap <= TW_NB_IN_OUT; swap += TW_NB_IN_OUT) {
        const uint32_t bytes = chains(2, swap, true, nothing, sizeof nothing);
        open_crew(two, 2);
        load(&one, bytes, NULL);
        load(&both, bytes, &crew);
        tw_node_reset_t a, b;
        node_memory(&both.g, 1, &a);
        node_memory(&both.g, 8, &b);
        assert_ptr_equal(a.mem[1], b.mem[1]); /* there is something to quarrel about */
        guard_nodes(&both.g);
        start_helpers(2);
        for (uint32_t t = 0; t < TICKS; t++) {
            tw_graph_block(&both.g, t);
            tw_graph_block(&one.g, t);
        }
        join_helpers(2);
        assert_int_equal(broken, 0);
        expect_same(&one, &both);
        for (uint32_t i = 1; i < both.g.n_nodes; i++) {
            assert_true((elsewhere[i] != 0) == (i % 2 == 0)); /* main ran those with scripts */
        }
        free(one.memory);
        free(both.memory);
    }
}

/* ---- nodes that steer
 * ------------------------------------------------------------------------------------------------ */

static void set_use_case(side_t *s, uint8_t u)
{
    assert_int_equal(tw_graph_set_param(&s->g, 0, 6, &u, 1), TW_OK);
}

/* Lock, skip, bypass and loop do what they do with one instance, from the block on in which they are asked for. */
static void what_nodes_are_steered_to_do_they_do_on_any_processor(void **state)
{
    (void)state;
    enum { ACT_LOCK = 1, ACT_BYPASS, ACT_LOOP, ACT_IF, TICKS = 120, TURN = 10 };
    static side_t one, both;
    static const struct {
        const char *why;
        uint8_t steering[8]; /* action, nodes, otherwise, times, u32 use cases in which it acts */
        uint32_t proc;
        bool locked; /* what is locked is main's, if main may run it */
    } rows[] = {
        {"lock", {ACT_LOCK, 6, 0, 1, 2}, 0, true},
        {"lock of what main may not run", {ACT_LOCK, 6, 0, 1, 2}, 2, false},
        {"bypass", {ACT_BYPASS, 5, 0, 1, 2}, 0, false},
        {"bypass on a processor", {ACT_BYPASS, 5, 0, 1, 2}, 2, false},
        {"loop", {ACT_LOOP, 8, 0, 3, 2}, 0, false},
        {"loop of what main may not run", {ACT_LOOP, 8, 0, 3, 2}, 2, false},
        {"if", {ACT_IF, 2, 4, 1, 2}, 0, false},
        {"if on a processor", {ACT_IF, 2, 4, 1, 2}, 2, false},
    };
    for (size_t r = 0; r < TW_COUNT(rows); r++) {
        const uint32_t bytes = chains(rows[r].proc, TW_NB_STAYS, false, rows[r].steering, sizeof rows[r].steering);
        open_crew(two, 2);
        load(&one, bytes, NULL);
        load(&both, bytes, &crew);
        guard_nodes(&both.g);
        start_helpers(2);
        for (uint32_t t = 0; t < TICKS; t++) {
            if (t % TURN == 0) {
                set_use_case(&one, t / TURN % 2);
                set_use_case(&both, t / TURN % 2);
                memset((void *)elsewhere, 0, sizeof elsewhere);
            }
            tw_graph_block(&both.g, t);
            tw_graph_block(&one.g, t);
            for (uint32_t i = 1; rows[r].locked && t / TURN % 2 == 1 && i <= 6; i++) {
                if (elsewhere[i] != 0) {
                    fail_msg("%s: block %u, node %u ran elsewhere", rows[r].why, t, i);
                }
            }
        }
        join_helpers(2);
        for (uint32_t i = 0; i < RIG_IOS; i++) {
            if (one.bytes[i] != both.bytes[i] || one.sum[i] != both.sum[i]) {
                fail_msg("%s: output %u", rows[r].why, i);
            }
        }
        assert_int_equal(broken, 0);
        free(one.memory);
        free(both.memory);
    }
}

/* ---- what an instance reaches
 * ------------------------------------------------------------------------------------------ */

static void memory_and_ios_out_of_reach_are_refused_with_their_place(void **state)
{
    (void)state;
    enum { ARCS = 5, OF_BANKS = 1, OF_ARCS = 2 };
    static const uint32_t all[8] = {OF_BANKS | 1u << ARCS}, no_arcs[8] = {OF_BANKS}, no_blocks[8] = {1u << ARCS};
    static const struct {
        const char *why;
        const uint32_t *banks[2];
        uint32_t ios, proc; /* of the node in the middle */
        tw_err_t err;
        uint32_t section, index, at; /* what of the section, bytes from there */
    } rows[] = {
        {"all reach all", {all, all}, 0x11, 2, TW_OK, 0, 0, 0},
        {"no masks", {NULL, NULL}, 0, 2, TW_OK, 0, 0, 0},
        {"the helper's memory", {all, no_blocks}, 0, 2, TW_E_IMG_REACH, TW_SEC_NODES, 1, 20},
        {"the helper's arcs", {all, no_arcs}, 0, 2, TW_E_IMG_REACH, TW_SEC_ARCS, 1, 0},
        {"main can do without it", {all, no_blocks}, 0, 1, TW_OK, 0, 0, 0},
        {"main's memory", {no_blocks, all}, 0, 2, TW_E_IMG_REACH, TW_SEC_NODES, 0, 20},
        {"an input", {all, all}, 0x10, 2, TW_E_IMG_REACH, TW_SEC_IOS, 0, 0},
        {"an output", {all, all}, 0x0F, 2, TW_E_IMG_REACH, TW_SEC_IOS, 1, 0},
    };
    for (size_t r = 0; r < TW_COUNT(rows); r++) {
        static side_t s;
        static uint64_t room[1024];
        tw_arena_t arena = {.base = (uint8_t *)room, .size = sizeof room};
        tw_fault_t fault = {0};
        const tw_instance_cfg_t cfg[2] = {{.processors = 1, .banks = rows[r].banks[0], .ios = rows[r].ios},
                                          {.processors = 2, .banks = rows[r].banks[1]}};
        arc_bank = ARCS;
        const uint32_t bytes = three_filters(rows[r].proc);
        arc_bank = 0;
        open_crew(cfg, 2);
        load(&s, bytes, NULL);
        const tw_err_t err = tw_graph_share(&s.g, &crew, &arena, &fault);
        const uint32_t at = rows[r].section == TW_SEC_NODES  ? tw_image_node(img, rows[r].index)
                            : rows[r].section == TW_SEC_ARCS ? tw_img_arc(img, rows[r].index)
                                                             : tw_img_record(img, TW_SEC_IOS, rows[r].index, 8);
        if (err != rows[r].err || (err != TW_OK && (fault.section != rows[r].section + 1 || fault.err != err ||
                                                    fault.at != at + rows[r].at || arena.used != 0))) {
            fail_msg("%s: %s, section %u at %u", rows[r].why, tw_err_name(err), fault.section, fault.at);
        }
        if (err == TW_OK) { /* and runs within its bounds */
            start_helpers(2);
            for (uint32_t t = 0; t < 20; t++) {
                tw_graph_block(&s.g, t);
            }
            join_helpers(2);
            assert_int_equal(s.bytes[4], 20 * 32);
            assert_true((tw_gauge_get(&crew.instances[1].runs) != 0) == (rows[r].proc == 2));
        }
        free(s.memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crews_and_graphs_that_do_not_fit_are_refused),
        cmocka_unit_test(a_helper_that_dies_in_a_node_is_replaced_or_done_without),
        cmocka_unit_test(memory_and_ios_out_of_reach_are_refused_with_their_place),
        cmocka_unit_test(memory_of_a_thread_is_one_nodes_at_a_time),
        cmocka_unit_test(what_nodes_are_steered_to_do_they_do_on_any_processor),
        cmocka_unit_test(eight_threads_put_out_what_one_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
