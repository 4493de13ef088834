#include "server/main_engine.h"
#include "server/main_log.h"
#include "server/main_port.h"
#include "server/server.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static void sleep_ns(int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&t, NULL);
}

static void sleep_until(int64_t at_ns)
{
    const struct timespec t = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

static bool stopping(engine_thread_t *t)
{
    return atomic_load_explicit(&t->stop, memory_order_relaxed);
}

/* Count a block. @return false when it was the last one asked for. */
static bool count_block(engine_thread_t *t)
{
    const uint64_t n = atomic_load_explicit(&t->blocks, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->blocks, n, memory_order_relaxed);
    return t->max_blocks == 0 || n < t->max_blocks;
}

static void count_late(engine_thread_t *t, double late_s)
{
    const uint32_t us = late_s < 4000 ? (uint32_t)(late_s * 1e6) : UINT32_MAX;
    if (us > atomic_load_explicit(&t->worst_late_us, memory_order_relaxed)) {
        atomic_store_explicit(&t->worst_late_us, us, memory_order_relaxed); /* others only ever put 0 there */
    }
    tw_engine_late(t->engine);
}

/* Deadlines are a sum of periods, so a block's length that is no whole number of nanoseconds does not
 * drift. A block whose time has passed runs at once, and the next too, until time is caught up:
 * skipping one would lose its samples. Time starts anew when a graph starts. */
static void run_on_time(engine_thread_t *t)
{
    const int64_t base_ns = port_now_ns();
    double due_s = 0;
    bool ran = false, more = true;
    while (more && !stopping(t)) {
        sleep_until(base_ns + (int64_t)llround(due_s * 1e9));
        const double now_s = (double)(port_now_ns() - base_ns) * 1e-9;
        if (ran && now_s - due_s > tw_engine_period_s(t->engine)) {
            count_late(t, now_s - due_s);
        }
        const bool runs = tw_engine_tick(t->engine);
        due_s = (runs && ran ? due_s : now_s) + tw_engine_period_s(t->engine);
        ran = runs;
        more = !runs || count_block(t);
    }
}

/* Nothing may be lost for speed: the disk is waited for, and an idle engine leaves the processor to others. */
static void run_fast(engine_thread_t *t)
{
    bool more = true;
    while (more && !stopping(t)) {
        if (tw_board_linux_behind(t->board)) {
            sleep_ns(100000);
        } else if (tw_engine_tick(t->engine)) {
            more = count_block(t);
        } else {
            sleep_ns(200000);
        }
    }
}

static void *run(void *arg)
{
    engine_thread_t *t = arg;
    prctl(PR_SET_TIMERSLACK, 1000ul); /* [ns]; the default of 50 us would be added to every block */
    if (t->fast) {
        run_fast(t);
    } else {
        run_on_time(t);
    }
    if (!stopping(t)) {
        t->done(t->done_ctx);
    }
    return NULL;
}

static void raise_priority(const engine_thread_t *t, pthread_t thread)
{
    const struct sched_param p = {.sched_priority = t->priority};
    const int err = pthread_setschedparam(thread, SCHED_FIFO, &p);
    if (err != 0) {
        log_text(TW_LOG_WARN,
                 "priority %d refused (%s): run as root, give the program CAP_SYS_NICE, or raise "
                 "'ulimit -r'; going on without",
                 t->priority, strerror(err));
    } else {
        log_text(TW_LOG_INFO, "engine runs with SCHED_FIFO priority %d", t->priority);
    }
}

void engine_beds(engine_thread_t *t)
{
    for (size_t k = 0; k < TW_COUNT(t->bed); k++) {
        sem_init(&t->bed[k], 0, 0);
    }
}

void engine_wait(void *ctx, uint32_t k)
{
    enum { SLEEP_NS = 1000000, SECOND_NS = 1000000000 };
    engine_thread_t *t = ctx;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += SLEEP_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    (void)sem_clockwait(&t->bed[k], CLOCK_MONOTONIC, &until);
}

void engine_wake(void *ctx, uint32_t k)
{
    engine_thread_t *t = ctx;
    (void)sem_post(&t->bed[k]);
}

/* While a block is open somebody may need us within a microsecond: spin a little, then sleep until we are woken. */
static void *help(void *arg)
{
    enum { SPINS = 200 };
    const engine_helper_t *h = arg;
    unsigned idle = 0;
    prctl(PR_SET_TIMERSLACK, 1000ul);
    /* not t->stop: the block that runs may wait for us */
    while (!atomic_load_explicit(&h->of->alone, memory_order_relaxed)) {
        if (tw_engine_help(h->of->engine, h->k)) {
            idle = 0;
        } else if (!tw_engine_busy(h->of->engine) || idle++ > SPINS) {
            tw_engine_doze(h->of->engine, h->k);
            idle = 0;
        }
    }
    return NULL;
}

static bool start_helpers(engine_thread_t *t)
{
    for (uint32_t k = 1; k <= t->helpers; k++) {
        engine_helper_t *h = &t->helper[k - 1];
        *h = (engine_helper_t){.of = t, .k = k};
        if (pthread_create(&h->thread, NULL, help, h) != 0) {
            return false;
        }
        t->helping = k;
        if (t->priority > 0) {
            raise_priority(t, h->thread);
        }
    }
    return true;
}

static void join_helpers(engine_thread_t *t)
{
    atomic_store_explicit(&t->alone, true, memory_order_relaxed);
    for (uint32_t k = 0; k < t->helping; k++) {
        pthread_join(t->helper[k].thread, NULL);
    }
    t->helping = 0;
}

bool engine_thread_start(engine_thread_t *t)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* inherited: signals are the other thread's business */
    const bool ok = start_helpers(t) && pthread_create(&t->thread, NULL, run, t) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!ok) {
        join_helpers(t);
    } else if (t->priority > 0) {
        raise_priority(t, t->thread);
    }
    return ok;
}

void engine_thread_stop(engine_thread_t *t)
{
    atomic_store_explicit(&t->stop, true, memory_order_relaxed);
    pthread_join(t->thread, NULL);
    join_helpers(t);
}
