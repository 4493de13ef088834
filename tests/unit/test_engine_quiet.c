/* The engine thread asks the system for nothing: it runs where every call kills it.
 *
 * That holds for locks and memory too, as far as they ask the system; that it names no function of either is what
 * tools/check_free.py shows from the libraries' symbols. Whoever does all a client can, a thousand times a second,
 * on 64 arcs at once: the figures printed are of the blocks meanwhile, and of blocks left alone.
 */
#include "tests/support/engine_rig.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { MUTE = 3, GROUPS = 1000, SWAP_EVERY = 10, SCRIPT = 0, PROBES = 64, TIMES = 1 << 20 };

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static atomic_bool stop, entered, left;
static atomic_uint phase; /* 0 alone, 1 with a client */
static uint32_t times[2][TIMES];
static atomic_uint n_times[2];
static _Alignas(64) uint8_t records[PROBES][4096];
static tw_probe_t probes[PROBES];

/* All of it happens in a child process, which ends with its threads: one that may not even exit in
 * the library's way cannot be joined. */
enum { NO_SECCOMP = 77, DEADLINE_S = 60 };
#define NEED(cond) ((cond) ? (void)0 : give_up(#cond, __LINE__))

static void give_up(const char *what, int line)
{
    (void)fprintf(stderr, "child: %s, line %d\n", what, line);
    _exit(1);
}

static void become_strict(void)
{
    /* Not the strict mode: that takes the counter of the processor away, too. */
    static struct sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD)};
    static const struct sock_fprog program = {1, none};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(NO_SECCOMP);
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

static void *run_engine(void *arg)
{
    (void)arg;
    become_strict();
    while (!atomic_load(&stop)) {
        const unsigned k = atomic_load_explicit(&phase, memory_order_relaxed);
        const unsigned n = atomic_load_explicit(&n_times[k], memory_order_relaxed);
        const uint64_t from = ticks_now();
        (void)tw_engine_tick(rig.engine);
        const uint64_t took = ticks_now() - from;
        times[k][n % TIMES] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
        atomic_store_explicit(&n_times[k], n + 1, memory_order_relaxed);
    }
    say_and_stay();
}

static int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *name, unsigned k)
{
    const uint32_t n = tw_min_u32(atomic_load(&n_times[k]), TIMES);
    qsort(times[k], n, sizeof times[k][0], by_size);
    (void)fprintf(stderr, "block %s: n=%u p50=%u p99=%u p99.9=%u max=%u ticks\n", name, n, times[k][n / 2],
                  times[k][(uint64_t)n * 99 / 100], times[k][(uint64_t)n * 999 / 1000], times[k][n - 1]);
}

static void *break_the_rule(void *arg)
{
    (void)arg;
    become_strict();
    (void)syscall(SYS_getppid);
    say_and_stay();
}

static void wait_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* @return true when the thread came to its end */
static bool came_to_its_end(void)
{
    for (unsigned i = 0; i < 100 && !atomic_load(&left); i++) {
        wait_ms(atomic_load(&entered) ? 10 : 50);
    }
    return atomic_load(&left);
}

static int in_child(void (*body)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(DEADLINE_S);
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP) {
        print_message("skipped: this kernel has no seccomp\n");
        skip();
    }
    return status;
}

static void open_image(void)
{
    static const uint16_t event[] = {0x030B, 0xC000}; /* cals event; ret */
    rig_chain_open(&ib);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(&ib, TW_SYM_NODE, 1, "amp");
    tw_ib_node_script(&ib, 1, tw_ib_script(&ib, event, TW_COUNT(event), 2, 1, 0));
    rig_open(&rig, 1 << 15, 1 << 16);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

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

static void put_group(uint32_t i)
{
    static const uint8_t code[] = {0x0B, 0x03, 0xFF, 0x40, 0x00, 0xC0}; /* cals event; addk r0 -1; ret */
    const uint8_t mute = (uint8_t)(i & 1u);
    tw_engine_guard_t g;
    tw_engine_guard(rig.engine, &g);
    if (g.armed == TW_WAITS_VALUES) { /* every other one is taken back */
        const tw_err_t end =
            i % 2 == 0 ? tw_engine_put_confirm(rig.engine, 0, g.id) : tw_engine_put_revert(rig.engine, 0, g.id);
        NEED(end == TW_OK || end == TW_E_QUEUE_FULL);
    } else {
        const tw_err_t armed = tw_engine_put_arm(rig.engine, i + 1);
        NEED(armed == TW_OK || armed == TW_E_QUEUE_FULL || armed == TW_E_UNCONFIRMED);
        const tw_err_t value = tw_engine_put_param(rig.engine, 0, 1, MUTE, &mute, 1);
        NEED(value == TW_OK || value == TW_E_QUEUE_FULL);
        const tw_err_t end = armed == TW_OK ? tw_engine_put_armed(rig.engine) : TW_OK;
        NEED(end == TW_OK || end == TW_E_QUEUE_FULL);
    }
    const tw_err_t err[] = {
        tw_engine_put_param(rig.engine, 0, 1, MUTE, &mute, 1),
        tw_engine_put_preset(rig.engine, 0, 0, 0),
        tw_engine_put_script(rig.engine, 0, SCRIPT, code, sizeof code, 0),
        tw_engine_put_run(rig.engine, i + 1, SCRIPT, NULL, 0, 0),
        tw_engine_put_read(rig.engine, i + 1, 1, MUTE),
        tw_engine_put_arc_read(rig.engine, i + 1, 1, 64),
    };
    bool all = true;
    for (size_t k = 0; k < TW_COUNT(err); k++) {
        all = all && err[k] == TW_OK;
        NEED(err[k] == TW_OK || err[k] == TW_E_QUEUE_FULL);
    }
    if (all) {
        (void)tw_engine_publish(rig.engine);
    } else {
        tw_engine_drop(rig.engine);
    }
}

static void watch_all(bool on)
{
    for (unsigned i = 0; i < PROBES; i++) {
        probes[i].arc = i % 3;
        const tw_err_t err =
            on ? tw_engine_put_probe(rig.engine, 0, &probes[i]) : tw_engine_put_unprobe(rig.engine, 0, &probes[i]);
        NEED(err == TW_OK);
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
    for (unsigned i = 0; i < PROBES; i++) {
        for (; tw_ring_peek(&probes[i].ring, &bytes) != NULL; tw_ring_pop(&probes[i].ring)) {}
    }
    return answers;
}

static void work(void)
{
    uint32_t answers = 0;
    for (uint32_t i = 0; i < GROUPS; i++) {
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
    NEED(answers > GROUPS);
}

static void thousand_groups_a_second(void)
{
    pthread_t thread;
    open_image();
    for (unsigned i = 0; i < PROBES; i++) {
        tw_ring_init(&probes[i].ring, records[i], sizeof records[i]);
    }
    NEED(pthread_create(&thread, NULL, run_engine, NULL) == 0);
    wait_ms(200);
    atomic_store(&phase, 1);
    work();
    atomic_store(&stop, true);
    NEED(came_to_its_end());
    print_times("alone", 0);
    print_times("with 1000 groups/s, 100 swaps, 64 probes", 1);
}

static void one_call_too_many(void)
{
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, break_the_rule, NULL) == 0);
    const bool ended = came_to_its_end();
    NEED(atomic_load(&entered) && !ended);
}

static void a_thread_that_asks_is_seen(void **state)
{
    (void)state;
    assert_int_equal(in_child(one_call_too_many), 0);
}

static void a_block_asks_the_system_for_nothing(void **state)
{
    (void)state;
    assert_int_equal(in_child(thousand_groups_a_second), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_asks_is_seen),
        cmocka_unit_test(a_block_asks_the_system_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
