/* main_engine.h - the engine's thread: one tick a block, on time or as fast as it goes. */
#pragma once
#include "engine/board/board_linux.h"
#include "engine/engine.h"
#include <pthread.h>
#include <semaphore.h>

enum { ENGINE_HELPERS_MAX = 7 };
typedef struct engine_helper {
    struct engine_thread *of;
    uint32_t k; /* from 1 */
    pthread_t thread;
} engine_helper_t;

typedef struct engine_thread {
    tw_engine_t *engine;
    tw_board_linux_t *board;
    bool fast;
    uint64_t max_blocks;     /* 0: no end */
    int priority;            /* SCHED_FIFO, 0: none */
    uint32_t helpers;        /* further threads that run the graph, at most ENGINE_HELPERS_MAX */
    void (*done)(void *ctx); /* engine thread, when max_blocks have run */
    void *done_ctx;
    /* own */
    pthread_t thread;
    engine_helper_t helper[ENGINE_HELPERS_MAX];
    sem_t bed[ENGINE_HELPERS_MAX + 1]; /* where an instance sleeps that waits for others */
    uint32_t helping;                  /* started */
    _Atomic bool alone;                /* the engine's thread has ended: helpers too */
    _Atomic bool stop;
    _Atomic uint64_t blocks;        /* run so far */
    _Atomic uint32_t worst_late_us; /* since somebody last took it */
} engine_thread_t;

/** Before the engine is made, of which these two are `wait` and `wake` with `t`: instances sleep a millisecond at most.
 */
void engine_beds(engine_thread_t *t);
void engine_wait(void *t, uint32_t k);
void engine_wake(void *t, uint32_t k);
/** Start it; the fields above "own" are set. @return false when the system gives no thread. */
bool engine_thread_start(engine_thread_t *t);
/** End it after the block that runs and wait for it. */
void engine_thread_stop(engine_thread_t *t);
