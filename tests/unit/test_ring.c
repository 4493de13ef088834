/* The ring: whole records or none, whatever the sizes, one thread or two. */
#include "engine/base/ring.h"
#include "engine/base/err.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static _Alignas(8) uint8_t memory[4096];

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void an_empty_ring_gives_nothing(void **state)
{
    (void)state;
    tw_ring_t r;
    uint32_t n;
    tw_ring_init(&r, memory, 64);
    assert_null(tw_ring_peek(&r, &n));
    assert_int_equal(tw_ring_used(&r), 0);
}

static void a_record_is_seen_only_when_committed_and_stays_until_popped(void **state)
{
    (void)state;
    tw_ring_t r;
    uint32_t n;
    tw_ring_init(&r, memory, 256);
    void *p = tw_ring_reserve(&r, 12);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p & 7, 0);
    memcpy(p, "twelve bytes", 12);
    assert_null(tw_ring_peek(&r, &n));
    tw_ring_commit(&r, 6);
    for (unsigned i = 0; i < 2; i++) {
        const void *q = tw_ring_peek(&r, &n);
        assert_non_null(q);
        assert_int_equal(n, 6);
        assert_memory_equal(q, "twelve", 6);
    }
    tw_ring_pop(&r);
    assert_null(tw_ring_peek(&r, &n));
}

static void a_reservation_not_committed_leaves_no_trace(void **state)
{
    (void)state;
    tw_ring_t r;
    uint32_t n;
    tw_ring_init(&r, memory, 64);
    for (unsigned i = 0; i < 100; i++) {
        memset(tw_ring_reserve(&r, 24), 0xEE, 24);
        memset(tw_ring_reserve(&r, 8), (int)i, 8);
        tw_ring_commit(&r, 8);
        const uint8_t *p = tw_ring_peek(&r, &n);
        assert_int_equal(n, 8);
        assert_int_equal(p[7], (uint8_t)i);
        tw_ring_pop(&r);
    }
}

static void half_the_ring_fits_and_more_never_does(void **state)
{
    (void)state;
    tw_ring_t r;
    for (uint32_t size = 64; size <= sizeof memory; size *= 2) {
        tw_ring_init(&r, memory, size);
        assert_null(tw_ring_reserve(&r, size / 2 - 7));
        assert_null(tw_ring_reserve(&r, UINT32_MAX));
        assert_non_null(tw_ring_reserve(&r, size / 2 - 8));
    }
}

static void a_full_ring_refuses_and_takes_again_after_a_pop(void **state)
{
    (void)state;
    tw_ring_t r;
    uint32_t n;
    tw_ring_init(&r, memory, 256);
    unsigned held = 0;
    while (tw_ring_reserve(&r, 24) != NULL) {
        tw_ring_commit(&r, 24);
        held++;
    }
    assert_int_equal(held, 256 / 32);
    assert_int_equal(tw_ring_used(&r), 256);
    assert_non_null(tw_ring_peek(&r, &n));
    tw_ring_pop(&r);
    assert_non_null(tw_ring_reserve(&r, 24));
}

static void records_empty_of_bytes_are_records(void **state)
{
    (void)state;
    tw_ring_t r;
    uint32_t n = 7;
    tw_ring_init(&r, memory, 64);
    assert_non_null(tw_ring_reserve(&r, 0));
    tw_ring_commit(&r, 0);
    assert_non_null(tw_ring_peek(&r, &n));
    assert_int_equal(n, 0);
}

/* ---- a stream of records whose every byte tells its place ----------------------------- */

static void fill(uint8_t *p, uint32_t i, uint32_t len)
{
    for (uint32_t k = 0; k < len; k++) {
        p[k] = (uint8_t)(i * 31 + k);
    }
}

static bool holds(const uint8_t *p, uint32_t i, uint32_t len)
{
    for (uint32_t k = 0; k < len; k++) {
        if (p[k] != (uint8_t)(i * 31 + k)) {
            return false;
        }
    }
    return true;
}

static uint32_t length_of(uint32_t i)
{
    uint32_t seed = i;
    return next(&seed) % 100;
}

static void the_indices_may_wrap_at_2_to_the_32(void **state)
{
    (void)state;
    tw_ring_t r;
    tw_ring_init(&r, memory, 256);
    const uint32_t near_end = 0xFFFFF000u; /* a multiple of the size */
    atomic_store(&r.head, near_end);
    atomic_store(&r.tail, near_end);
    uint32_t put = 0, taken = 0, n;
    while (taken < 1000) {
        uint8_t *p = tw_ring_reserve(&r, length_of(put));
        if (p != NULL) {
            fill(p, put, length_of(put));
            tw_ring_commit(&r, length_of(put));
            put++;
        }
        if (p == NULL || put % 3 == 0) {
            const uint8_t *q = tw_ring_peek(&r, &n);
            assert_non_null(q);
            assert_int_equal(n, length_of(taken));
            assert_true(holds(q, taken, n));
            tw_ring_pop(&r);
            taken++;
        }
        assert_true(tw_ring_used(&r) <= 256);
    }
    assert_true(atomic_load(&r.head) < near_end);
}

enum { RECORDS = 100000 };

static void *produce(void *arg)
{
    tw_ring_t *r = arg;
    for (uint32_t i = 0; i < RECORDS;) {
        const uint32_t len = length_of(i);
        uint8_t *p = tw_ring_reserve(r, len + i % 5); /* sometimes more than is committed */
        if (p == NULL) {
            sched_yield();
            continue;
        }
        fill(p, i, len);
        tw_ring_commit(r, len);
        i++;
    }
    return NULL;
}

static void two_threads_pass_every_record_whole_and_in_order(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {256, 4096};
    for (size_t s = 0; s < TW_COUNT(sizes); s++) {
        tw_ring_t r;
        tw_ring_init(&r, memory, sizes[s]);
        pthread_t producer;
        assert_int_equal(pthread_create(&producer, NULL, produce, &r), 0);
        uint32_t wrong = 0, n;
        for (uint32_t i = 0; i < RECORDS;) {
            const uint8_t *p = tw_ring_peek(&r, &n);
            if (p == NULL) {
                sched_yield();
                continue;
            }
            wrong += n != length_of(i) || !holds(p, i, n);
            tw_ring_pop(&r);
            i++;
        }
        pthread_join(producer, NULL);
        assert_int_equal(wrong, 0);
        assert_null(tw_ring_peek(&r, &n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_ring_gives_nothing),
        cmocka_unit_test(a_record_is_seen_only_when_committed_and_stays_until_popped),
        cmocka_unit_test(a_reservation_not_committed_leaves_no_trace),
        cmocka_unit_test(half_the_ring_fits_and_more_never_does),
        cmocka_unit_test(a_full_ring_refuses_and_takes_again_after_a_pop),
        cmocka_unit_test(records_empty_of_bytes_are_records),
        cmocka_unit_test(the_indices_may_wrap_at_2_to_the_32),
        cmocka_unit_test(two_threads_pass_every_record_whole_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
