/* Instances of an engine: which banks they reach, and how they sleep while they wait for one another. */
#include "tests/support/engine_rig.h"
#include "engine/graph/twg1_read.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

enum { TICKS = 200 };

static tw_ib_t ib;
static uint8_t img[16384];
static uint32_t img_bytes;
static rig_t rig;
static atomic_bool stop;
static sem_t bed[2];
static atomic_uint slept, woken;

static uint64_t now_us(void *ctx)
{
    (void)ctx;
    return 0;
}

static uint32_t cycles(void *ctx)
{
    (void)ctx;
    return 0;
}

/* IO 0 -> filter -> amplifier of processor 2 -> IO 4. */
static void build(void)
{
    rig_chain_open(&ib);
    img_bytes = tw_ib_finish(&ib, img, sizeof img);
    tw_put_le32(img + 4 * TW_W_PROCESSORS, 3);
    for (uint32_t i = 0; i < 2; i++) {
        tw_image_poke(img, tw_image_node(img, i), TW_N0_PROC, i + 1);
    }
    tw_image_fix(img, img_bytes);
}

static void wait_asleep(void *ctx, uint32_t k)
{
    struct timespec t;
    (void)ctx;
    slept++;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    (void)sem_timedwait(&bed[k], &t);
}

static void wake_up(void *ctx, uint32_t k)
{
    (void)ctx;
    woken++;
    (void)sem_post(&bed[k]);
}

static tw_err_t open_two(const uint8_t *bank_proc, bool half)
{
    rig_board(&rig);
    rig.port = (tw_port_t){NULL, now_us, cycles, 1};
    rig.board.processors = 3;
    static uint32_t bank_bytes[256];
    for (uint32_t i = 0; i < TW_COUNT(bank_bytes); i++) {
        bank_bytes[i] = 1 << 20;
    }
    rig.board.bank_bytes = bank_bytes;
    rig.board.n_banks = 256;
    rig.board.bank_proc = bank_proc;
    const tw_engine_cfg_t cfg = {.port = &rig.port,
                                 .board = &rig.board,
                                 .queue_bytes = 4096,
                                 .timed_bytes = 4096,
                                 .reply_bytes = 8192,
                                 .graph_bytes = RIG_GRAPH_BYTES,
                                 .threads = 2,
                                 .wait = wait_asleep,
                                 .wake = half ? NULL : wake_up};
    const size_t need = (tw_engine_need(&cfg) + 63) & ~(size_t)63;
    rig.mem = aligned_alloc(64, need);
    return tw_engine_init(&rig.engine, &cfg, rig.mem, need);
}

static void a_private_bank_is_reached_by_its_processor_alone(void **state)
{
    (void)state;
    static const uint8_t of_one[256] = {1}, of_two[256] = {2}, shared[256] = {0};
    static const struct {
        const char *why;
        const uint8_t *bank_proc;
        tw_err_t err;
        uint32_t node; /* whose block is out of reach */
    } rows[] = {
        {"shared", shared, TW_OK, 0},
        {"nobody says", NULL, TW_OK, 0},
        {"of processor 1", of_one, TW_E_IMG_REACH, 1},
        {"of processor 2", of_two, TW_E_IMG_REACH, 0},
    };
    build();
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault = {0};
        assert_int_equal(open_two(rows[i].bank_proc, false), TW_OK);
        const tw_err_t err = tw_engine_prime(rig.engine, img, img_bytes, false, &fault);
        if (err != rows[i].err || (err != TW_OK && fault.at != tw_image_node(img, rows[i].node) + 20)) {
            fail_msg("%s: %s at %u", rows[i].why, tw_err_name(err), fault.at);
        }
        rig_close(&rig);
    }
}

static void who_can_be_put_to_sleep_can_be_woken(void **state)
{
    (void)state;
    assert_int_equal(open_two(NULL, true), TW_E_ARG);
    rig_close(&rig);
}

static void *help(void *arg)
{
    (void)arg;
    unsigned idle = 0;
    while (!atomic_load(&stop)) {
        idle = tw_engine_help(rig.engine, 1) ? 0 : idle + 1;
        if (idle > 10) {
            tw_engine_doze(rig.engine, 1);
        }
    }
    return NULL;
}

/* No block ends without processor 2, which sleeps between any two of them. */
static void instances_sleep_and_are_woken_for_each_other(void **state)
{
    (void)state;
    pthread_t helper;
    build();
    sem_init(&bed[0], 0, 0);
    sem_init(&bed[1], 0, 0);
    assert_int_equal(open_two(NULL, false), TW_OK);
    rig_load(&rig, img, img_bytes);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&helper, NULL, help, NULL), 0);
    for (uint32_t t = 0; t < TICKS; t++) {
        assert_true(tw_engine_tick(rig.engine));
        (void)rig_events(&rig, TW_EV_FLOW, NULL);
        while (atomic_load(&slept) <= t) { /* it is in bed before the next */
            sched_yield();
        }
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_int_equal(rig.out_bytes[4], TICKS * RIG_FRAME);
    assert_true(atomic_load(&woken) != 0);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_bank_is_reached_by_its_processor_alone),
        cmocka_unit_test(who_can_be_put_to_sleep_can_be_woken),
        cmocka_unit_test(instances_sleep_and_are_woken_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
