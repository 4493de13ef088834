/* One arc by itself: linear, ring, constant, and two in one buffer, against a plain queue of bytes. */
#include "engine/arc/arc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { SIZE_MAX_BYTES = 64, STEPS = 4000 };

static uint8_t memory[SIZE_MAX_BYTES];
static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * n >> 32);
}

static tw_arc_t make(uint8_t type, uint32_t size, uint32_t in, uint32_t out)
{
    return (tw_arc_t){.buf = memory,
                      .size = size,
                      .cap = size - (type == TW_ARC_MODULO),
                      .in_frame = in,
                      .out_frame = out,
                      .in_ready = in,
                      .out_ready = out,
                      .type = type};
}

static void write_frame(tw_arc_t *a, uint8_t *next)
{
    uint8_t *room = tw_arc_room(a, a->in_frame);
    assert_non_null(room);
    assert_true(room >= a->buf && room + a->in_frame <= a->buf + a->size);
    for (uint32_t i = 0; i < a->in_frame; i++) {
        room[i] = (*next)++;
    }
    tw_arc_commit(a, a->in_frame);
}

static void read_frames(tw_arc_t *a, uint8_t *next)
{
    const uint32_t bytes = tw_arc_available(a);
    const uint8_t *data = tw_arc_data(a);
    assert_true(bytes >= a->out_frame && bytes % a->out_frame == 0);
    assert_true(data + bytes <= a->buf + a->size);
    const uint32_t take = a->out_frame * (1 + below(bytes / a->out_frame));
    for (uint32_t i = 0; i < take; i++) {
        assert_int_equal(data[i], (*next)++);
    }
    tw_arc_consume(a, take);
}

static void what_goes_in_comes_out_in_order_whatever_the_buffer(void **state)
{
    (void)state;
    for (seed = 0; seed < 600;) {
        const uint32_t now = seed;
        const uint8_t type = below(2) != 0 ? TW_ARC_MODULO : TW_ARC_LINEAR;
        const uint32_t in = 1 + below(12), out = 1 + below(12), size = in + out + below(SIZE_MAX_BYTES - in - out);
        tw_arc_t a = make(type, size, in, out);
        uint8_t put = 0, got = 0;
        for (uint32_t k = 0; k < STEPS / 8; k++) {
            const bool writes = tw_arc_writable(&a), reads = tw_arc_readable(&a);
            assert_true(writes || reads); /* never stuck */
            if (writes && (!reads || below(2) != 0)) {
                write_frame(&a, &put);
            } else {
                read_frames(&a, &got);
            }
            assert_true(tw_arc_fill(&a) <= a.cap);
        }
        seed = now + 1;
    }
}

/* The seed's full rule holds where it can: in a ring one byte stays free. */
static void test_S0_L1641_full_of_a_modulo_ring_is_size_minus_one(void **state)
{
    (void)state;
    tw_arc_t ring = make(TW_ARC_MODULO, 16, 1, 1), line = make(TW_ARC_LINEAR, 16, 1, 1);
    uint8_t n = 0;
    while (tw_arc_writable(&ring)) {
        write_frame(&ring, &n);
    }
    assert_int_equal(tw_arc_fill(&ring), 15);
    for (n = 0; tw_arc_writable(&line);) {
        write_frame(&line, &n);
    }
    assert_int_equal(tw_arc_fill(&line), 16);
}

static void a_ring_of_whole_frames_never_moves_its_data(void **state)
{
    (void)state;
    tw_arc_t a = make(TW_ARC_MODULO, 24, 8, 8);
    uint8_t put = 0, got = 0;
    for (int i = 0; i < 100; i++) {
        write_frame(&a, &put);
        write_frame(&a, &put);
        assert_false(tw_arc_writable(&a)); /* the third frame would be the last byte too */
        while (tw_arc_readable(&a)) {
            read_frames(&a, &got);
        }
    }
    assert_int_equal(tw_gauge_get(&a.realigns), 0);
}

static void the_newest_bytes_of_a_ring_are_read_across_its_end(void **state)
{
    (void)state;
    tw_arc_t a = make(TW_ARC_MODULO, 12, 4, 4);
    uint8_t put = 0, got = 0, newest[12];
    for (int i = 0; i < 4; i++) { /* bytes 12..15 are the first of the buffer again */
        write_frame(&a, &put);
        read_frames(&a, &got);
    }
    assert_int_equal(tw_arc_newest(&a, newest, 8), 8);
    for (uint8_t i = 0; i < 8; i++) {
        assert_int_equal(newest[i], 8 + i);
    }
}

static void a_constant_is_there_at_every_read(void **state)
{
    (void)state;
    tw_arc_t a = make(TW_ARC_CONSTANT, 8, 4, 4);
    tw_gauge_set(&a.write, 8);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tw_arc_available(&a), 8);
        tw_arc_consume(&a, 8);
        tw_arc_clear(&a);
        assert_false(tw_arc_writable(&a));
    }
}

/* Producer -> [first] node [second] -> consumer, in one buffer: whoever may run does, at random. */
static void two_arcs_in_one_buffer_pass_everything(void **state)
{
    (void)state;
    for (seed = 1; seed < 200;) {
        const uint32_t now = seed, frame = 4, size = frame * (1 + below(4));
        tw_arc_t a = make(TW_ARC_LINEAR, size, frame, frame), b = a;
        a.shares = &b;
        b.shares = &a;
        b.second = a.special = b.special = true;
        uint8_t put = 0, got = 0;
        for (uint32_t k = 0; k < 1000; k++) {
            const bool producer = tw_arc_writable(&a), node = tw_arc_readable(&a) && tw_arc_writable(&b),
                       consumer = tw_arc_readable(&b);
            assert_true(producer || node || consumer);
            assert_false(producer && (node || consumer));
            if (producer) {
                write_frame(&a, &put);
            } else if (node && (!consumer || below(2) != 0)) {
                uint8_t *to = tw_arc_room(&b, frame);
                assert_true(tw_arc_available(&a) >= frame && tw_arc_tail(&b) == tw_arc_available(&a));
                assert_ptr_equal(to, tw_arc_data(&a));
                for (uint32_t i = 0; i < frame; i++) {
                    to[i] = (uint8_t)(to[i] + 1);
                }
                tw_arc_consume(&a, frame);
                tw_arc_commit(&b, frame);
            } else {
                uint8_t want = (uint8_t)(got + 1);
                const uint32_t before = tw_arc_fill(&b);
                read_frames(&b, &want);
                got = (uint8_t)(got + before - tw_arc_fill(&b));
            }
        }
        seed = now + 1;
    }
}

/* A host that takes data away from the first must not leave the node without room. */
static void what_is_taken_from_the_first_does_not_block_the_second(void **state)
{
    (void)state;
    tw_arc_t a = make(TW_ARC_LINEAR, 16, 4, 4), b = a;
    a.shares = &b;
    b.shares = &a;
    b.second = a.special = b.special = true;
    uint8_t put = 0;
    uint8_t *room = tw_arc_room(&a, 16);
    for (int i = 0; i < 16; i++) {
        room[i] = put++;
    }
    tw_arc_commit(&a, 16);
    tw_arc_consume(&a, 8);
    assert_true(tw_arc_writable(&b));
    assert_ptr_equal(tw_arc_room(&b, 4), tw_arc_data(&a));
    assert_int_equal(tw_arc_tail(&b), 8);
}

static void what_a_driver_sends_from_stays_where_it_is(void **state)
{
    (void)state;
    tw_arc_t a = make(TW_ARC_LINEAR, 16, 4, 4);
    uint8_t put = 0, got = 0;
    for (int i = 0; i < 3; i++) {
        write_frame(&a, &put);
    }
    tw_arc_consume(&a, 8);
    a.special = a.pinned = true;
    write_frame(&a, &put);
    assert_false(tw_arc_writable(&a)); /* only moving would make room */
    assert_null(tw_arc_room(&a, 4));
    a.special = a.pinned = false;
    got = 8;
    read_frames(&a, &got);
    assert_non_null(tw_arc_room(&a, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out_in_order_whatever_the_buffer),
        cmocka_unit_test(test_S0_L1641_full_of_a_modulo_ring_is_size_minus_one),
        cmocka_unit_test(a_ring_of_whole_frames_never_moves_its_data),
        cmocka_unit_test(the_newest_bytes_of_a_ring_are_read_across_its_end),
        cmocka_unit_test(a_constant_is_there_at_every_read),
        cmocka_unit_test(two_arcs_in_one_buffer_pass_everything),
        cmocka_unit_test(what_is_taken_from_the_first_does_not_block_the_second),
        cmocka_unit_test(what_a_driver_sends_from_stays_where_it_is),
    };
    return cmocka_run_group_tests_name("arc", tests, NULL, NULL);
}
