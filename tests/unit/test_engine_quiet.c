/* The engine thread asks the system for nothing: it runs where every call but read, write and exit kills it.
 *
 * That it takes no lock and no memory either is what tools/check_free.py shows from the libraries' symbols.
 */
#include "tests/support/engine_rig.h"
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { MUTE = 3, GROUPS = 1000, SWAP_EVERY = 50, SCRIPT = 0 };

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static atomic_bool stop, entered, left;

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
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        _exit(NO_SECCOMP);
    }
    atomic_store(&entered, true);
}

static _Noreturn void say_and_stay(void)
{
    atomic_store(&left, true);
    for (;;) {}
}

static void *run_engine(void *arg)
{
    (void)arg;
    become_strict();
    while (!atomic_load(&stop)) {
        (void)tw_engine_tick(rig.engine);
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
    NEED(tw_engine_put_swap(rig.engine, 0, true) == TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void put_group(uint32_t i)
{
    static const uint8_t code[] = {0x0B, 0x03, 0xFF, 0x40, 0x00, 0xC0}; /* cals event; addk r0 -1; ret */
    const uint8_t mute = (uint8_t)(i & 1u);
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

static void work(tw_probe_t *probe)
{
    uint32_t answers = 0, bytes;
    for (uint32_t i = 0; i < GROUPS; i++) {
        if (i % SWAP_EVERY == 0) {
            swap();
            NEED(tw_engine_put_probe(rig.engine, 0, probe) == TW_OK);
            (void)tw_engine_publish(rig.engine);
        }
        put_group(i);
        if (i % SWAP_EVERY == SWAP_EVERY - 1) {
            NEED(tw_engine_put_unprobe(rig.engine, 0, probe) == TW_OK);
            (void)tw_engine_publish(rig.engine);
        }
        tw_engine_reply_t x;
        for (; tw_engine_reply(rig.engine, &x); tw_engine_reply_done(rig.engine)) {
            answers += x.token != 0;
        }
        for (; tw_ring_peek(&probe->ring, &bytes) != NULL; tw_ring_pop(&probe->ring)) {}
        wait_ms(1);
    }
    NEED(answers > GROUPS);
}

static void thousand_groups_a_second(void)
{
    static _Alignas(64) uint8_t records[4096];
    static tw_probe_t probe = {.arc = 1};
    pthread_t thread;
    open_image();
    tw_ring_init(&probe.ring, records, sizeof records);
    NEED(pthread_create(&thread, NULL, run_engine, NULL) == 0);
    work(&probe);
    atomic_store(&stop, true);
    NEED(came_to_its_end());
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
