#include "tests/support/quiet.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MUTE = 3, SWAP_EVERY = 10, SCRIPT = 0, PROBE_BYTES = 4096 };

_Thread_local volatile bool quiet_thread;

static tw_ib_t ib;
static uint8_t img[65536];
static rig_t rig;
static atomic_bool stop, entered, left;
static uint64_t period; /* [ticks], 0 none */
static int thread_cpu;
static double ticks_per_us;
static uint32_t times[QUIET_TIMES];
static atomic_uint n_times;
static atomic_bool fresh; /* forget the times there are */
static _Alignas(64) uint8_t records[QUIET_PROBES][PROBE_BYTES];
static tw_probe_t probes[QUIET_PROBES];

#define NEED(cond) ((cond) ? (void)0 : give_up(#cond, __LINE__))

static void give_up(const char *what, int line)
{
    (void)fprintf(stderr, "quiet: %s, line %d\n", what, line);
    _exit(1);
}

static void wait_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- the thread ------------------------------------------------------------------------ */

static void become_strict(void)
{
    /* Not the strict mode: that takes the counter of the processor away, too. */
    static struct sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD)};
    static const struct sock_fprog program = {1, none};
    quiet_thread = true;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(QUIET_NO_SECCOMP);
    }
    atomic_store(&entered, true);
}

static _Noreturn void say_and_stay(void)
{
    atomic_store(&left, true);
    for (;;) {}
}

/* A counter that is no system call: of the processor, where it has one. */
static uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return 0;
#endif
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set); /* without it the figures are rougher, that is all */
}

static void one_block(void)
{
    const uint64_t from = ticks_now();
    (void)tw_engine_tick(rig.engine);
    const uint64_t took = ticks_now() - from;
    if (atomic_exchange_explicit(&fresh, false, memory_order_acquire)) {
        atomic_store_explicit(&n_times, 0, memory_order_relaxed);
    }
    const unsigned n = atomic_load_explicit(&n_times, memory_order_relaxed);
    if (n < QUIET_TIMES) {
        times[n] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
        atomic_store_explicit(&n_times, n + 1, memory_order_release);
    }
    while (period != 0 && ticks_now() - from < period) {}
}

static void *run_engine(void *arg)
{
    (void)arg;
    if (thread_cpu >= 0) {
        pin(thread_cpu);
    }
    become_strict();
    while (!atomic_load(&stop)) {
        one_block();
    }
    say_and_stay();
}

static void *break_the_rule(void *arg)
{
    (void)arg;
    become_strict();
    (void)syscall(SYS_getppid);
    say_and_stay();
}

/* @return true when the thread came to its end */
static bool came_to_its_end(void)
{
    for (unsigned i = 0; i < 100 && !atomic_load(&left); i++) {
        wait_ms(atomic_load(&entered) ? 10 : 50);
    }
    return atomic_load(&left);
}

bool quiet_break_the_rule(void)
{
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, break_the_rule, NULL) == 0);
    const bool ended = came_to_its_end();
    NEED(atomic_load(&entered));
    return ended;
}

/* ---- the client ------------------------------------------------------------------------ */

static void swap(void)
{
    tw_fault_t fault;
    tw_err_t err;
    while ((err = tw_engine_prime(rig.engine, img, tw_get_le32(img + 8), false, &fault)) == TW_E_BUSY) {
        sched_yield();
    }
    NEED(err == TW_OK);
    const tw_swap_t how = {.start = true, .carry = TW_CARRY_PARAMS, .fade_us = 3000};
    NEED(tw_engine_put_swap_to(rig.engine, 0, &how, &fault) == TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static bool put(tw_err_t err)
{
    NEED(err == TW_OK || err == TW_E_QUEUE_FULL || err == TW_E_UNCONFIRMED);
    return err == TW_OK;
}

/* Every other one that waits to be confirmed is taken back. */
static void put_armed(uint32_t i, const uint8_t *mute)
{
    tw_engine_guard_t g;
    tw_engine_guard(rig.engine, &g);
    if (g.armed == TW_WAITS_VALUES) {
        (void)put(i % 2 == 0 ? tw_engine_put_confirm(rig.engine, 0, g.id) : tw_engine_put_revert(rig.engine, 0, g.id));
        return;
    }
    const bool armed = put(tw_engine_put_arm(rig.engine, i + 1));
    (void)put(tw_engine_put_param(rig.engine, 0, 1, MUTE, mute, 1));
    (void)put(tw_engine_put_io(rig.engine, 0, 0, (const uint32_t[]){i, 0, 0}));
    if (armed) {
        (void)put(tw_engine_put_armed(rig.engine));
    }
}

static void put_group(uint32_t i)
{
    static const uint8_t code[] = {0x0B, 0x03, 0xFF, 0x40, 0x00, 0xC0}; /* cals event; addk r0 -1; ret */
    const uint8_t mute = (uint8_t)(i & 1u);
    put_armed(i, &mute);
    const bool all[] = {
        put(tw_engine_put_param(rig.engine, 0, 1, MUTE, &mute, 1)),
        put(tw_engine_put_preset(rig.engine, 0, 0, 0)),
        put(tw_engine_put_script(rig.engine, 0, SCRIPT, code, sizeof code, 0)),
        put(tw_engine_put_run(rig.engine, i + 1, SCRIPT, NULL, 0, 0)),
        put(tw_engine_put_read(rig.engine, i + 1, 1, MUTE)),
        put(tw_engine_put_arc_read(rig.engine, i + 1, 1, 64)),
    };
    bool whole = true;
    for (size_t k = 0; k < TW_COUNT(all); k++) {
        whole = whole && all[k];
    }
    if (whole) {
        (void)tw_engine_publish(rig.engine);
    } else {
        tw_engine_drop(rig.engine);
    }
}

static void watch_all(bool on)
{
    for (unsigned i = 0; i < QUIET_PROBES; i++) {
        probes[i].arc = i % 3;
        NEED((on ? tw_engine_put_probe(rig.engine, 0, &probes[i]) : tw_engine_put_unprobe(rig.engine, 0, &probes[i])) ==
             TW_OK);
    }
    (void)tw_engine_publish(rig.engine);
}

static uint32_t drain(void)
{
    uint32_t answers = 0, bytes;
    tw_engine_reply_t x;
    for (; tw_engine_reply(rig.engine, &x); tw_engine_reply_done(rig.engine)) {
        answers += x.token != 0;
    }
    for (unsigned i = 0; i < QUIET_PROBES; i++) {
        for (; tw_ring_peek(&probes[i].ring, &bytes) != NULL; tw_ring_pop(&probes[i].ring)) {}
    }
    return answers;
}

static void forget_times(void)
{
    atomic_store_explicit(&fresh, true, memory_order_release);
}

void quiet_alone(unsigned ms)
{
    forget_times();
    wait_ms((long)ms);
}

void quiet_load(unsigned groups)
{
    uint32_t answers = 0;
    forget_times();
    for (uint32_t i = 0; i < groups; i++) {
        if (i % SWAP_EVERY == 0) {
            swap();
            watch_all(true);
        }
        put_group(i);
        if (i % SWAP_EVERY == SWAP_EVERY - 1) {
            watch_all(false);
        }
        answers += drain();
        wait_ms(1);
    }
    NEED(answers > groups / 2);
}

/* ---- open, close, read ------------------------------------------------------------------- */

static void measure_ticks(void)
{
    struct timespec a, b;
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t from = ticks_now();
    wait_ms(20);
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    const double us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3;
    ticks_per_us = (double)(ticks_now() - from) / us;
}

/* In the order rig_chain_open() has: filter, amplifier; then the others. */
static void build_image(unsigned more)
{
    static const uint16_t event[] = {0x030B, 0xC000}; /* cals event; ret */
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f), nodes = 2 + more;
    uint16_t arcs[TW_IB_NODES_MAX + 1];
    for (uint32_t i = 0; i <= nodes; i++) {
        const uint32_t from = i != 0 ? i - 1 : TW_IB_IO, to = i != nodes ? i : TW_IB_IO;
        arcs[i] = (uint16_t)tw_ib_arc(&ib, from, i != 0, to, 0, f, f, RIG_FRAME);
    }
    tw_ib_io(&ib, 0, false, arcs[0], f);
    tw_ib_io(&ib, 4, true, arcs[nodes], f);
    for (uint32_t i = 0; i < nodes; i++) {
        const char *type = i == 1 ? "ARM/arm_stream_amplifier" : "ARM/arm_stream_filter";
        char name[] = {'n', (char)('a' + i / 26), (char)('a' + i % 26), '\0'};
        (void)tw_ib_node(&ib, rig_type(type), 1, 1, (uint16_t[]){arcs[i], arcs[i + 1]});
        tw_ib_symbol(&ib, TW_SYM_NODE, i, name);
    }
    tw_ib_node_script(&ib, 1, tw_ib_script(&ib, event, TW_COUNT(event), 2, 1, 0));
}

void quiet_open(unsigned more, uint32_t block_us, int cpu)
{
    pthread_t thread;
    measure_ticks();
    period = (uint64_t)(ticks_per_us * block_us);
    thread_cpu = cpu;
    build_image(more);
    rig_open(&rig, 1 << 15, 1 << 16);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    for (unsigned i = 0; i < QUIET_PROBES; i++) {
        tw_ring_init(&probes[i].ring, records[i], sizeof records[i]);
    }
    NEED(pthread_create(&thread, NULL, run_engine, NULL) == 0);
    for (unsigned i = 0; i < 1000 && !atomic_load(&entered); i++) {
        wait_ms(1);
    }
}

bool quiet_close(void)
{
    atomic_store(&stop, true);
    return came_to_its_end();
}

static int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t quiet_times(const uint32_t **ticks)
{
    static uint32_t sorted[QUIET_TIMES];
    const uint32_t n = atomic_load_explicit(&n_times, memory_order_acquire);
    memcpy(sorted, times, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    *ticks = sorted;
    return n;
}

double quiet_us(uint32_t ticks)
{
    return ticks_per_us > 0.0 ? ticks / ticks_per_us : 0.0;
}
