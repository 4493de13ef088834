/* The compact core against the large one: the same images give the same bytes, and what it does not know is refused. */
#include "engine/graph/graph_compact.h"
#include "engine/graph/twg1_read.h"
#include "engine/node/kernels.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { IMAGE = 1 << 16, ARENA = 1 << 16, BLOCKS = 200 };

static uint8_t image[IMAGE], memory[ARENA];
static rig_t large, small;

static tw_err_t load(tw_compact_t *c, uint32_t bytes, size_t room, tw_fault_t *fault)
{
    static tw_services_t svc;
    tw_services_default(&svc);
    tw_arena_t arena = {.base = memory, .size = room};
    memset(memory, 0x5A, sizeof memory);
    rig_board(&small);
    const tw_err_t err = tw_compact_load(c, image, bytes, &small.board, &svc, &arena, fault);
    assert_true(err == TW_OK || arena.used == 0);
    return err;
}

/* IO 0 -> filter -> amplifier -> IO 4, the arc between of `frames` frames. */
static uint32_t chain(uint32_t frames)
{
    static tw_ib_t b;
    tw_ib_init(&b);
    const uint32_t f = tw_ib_format(&b, TW_RAW_S16, 1, RIG_SAMPLES, 16000);
    const uint32_t in = tw_ib_arc(&b, TW_IB_IO, 0, 0, 0, f, f, RIG_FRAME);
    const uint32_t between = tw_ib_arc(&b, 0, 1, 1, 0, f, f, frames * RIG_FRAME);
    const uint32_t out = tw_ib_arc(&b, 1, 1, TW_IB_IO, 0, f, f, RIG_FRAME);
    tw_ib_io(&b, 0, false, in, f);
    tw_ib_io(&b, 4, true, out, f);
    tw_ib_node(&b, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){(uint16_t)in, (uint16_t)between});
    tw_ib_node(&b, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){(uint16_t)between, (uint16_t)out});
    static const uint8_t gain[] = {0x06, 0x08};
    tw_ib_node_params(&b, 1, 2, gain, sizeof gain);
    return tw_ib_finish(&b, image, sizeof image);
}

static void the_compact_core_gives_the_bytes_of_the_large_one(void **state)
{
    (void)state;
    for (uint32_t frames = 1; frames <= 3; frames++) {
        const uint32_t bytes = chain(frames);
        tw_compact_t c;
        tw_fault_t fault = {0};
        assert_int_equal(load(&c, bytes, sizeof memory, &fault), TW_OK);
        rig_open(&large, 4096, 8192);
        rig_load(&large, image, bytes);
        small.hole_from = large.hole_from = 20; /* and what is missing is counted and heard alike */
        small.hole_to = large.hole_to = 25;
        for (uint64_t tick = 0; tick < BLOCKS; tick++) {
            tw_compact_block(&c, tick);
            assert_true(tw_engine_tick(large.engine));
        }
        assert_true(small.out_bytes[4] > BLOCKS / 2 * RIG_FRAME);
        assert_int_equal(small.out_bytes[4], large.out_bytes[4]);
        assert_memory_equal(small.out[4], large.out[4], small.out_bytes[4]);
        tw_engine_arc_t arc;
        assert_int_equal(tw_engine_arc(large.engine, 0, &arc), TW_OK);
        const uint32_t errors = tw_compact_arc_words(&c, 0)[2];
        assert_int_equal(tw_bits(errors, TW_SA2_UNDERFLOWS), arc.underflows);
        assert_int_equal(arc.underflows, 5);
        assert_int_equal(tw_bits(errors, TW_SA2_OVERFLOWS), arc.overflows);
        rig_close(&large);
    }
}

static void the_state_block_says_what_goes_on(void **state)
{
    (void)state;
    const uint32_t bytes = chain(1);
    tw_compact_t c;
    tw_fault_t fault = {0};
    assert_int_equal(load(&c, bytes, sizeof memory, &fault), TW_OK);
    assert_int_equal(c.state[0], TW_STATE_MAGIC);
    assert_int_equal(c.state[1], tw_img_word(image, 0, TW_W_UID));
    assert_int_equal(c.state[2], 1);
    assert_int_equal(c.state[3], TW_COMPACT_READY);
    for (uint64_t tick = 0; tick < 7; tick++) {
        tw_compact_block(&c, tick);
    }
    assert_int_equal(c.state[3], TW_COMPACT_RUNNING);
    assert_int_equal(tw_bits(c.state[4], TW_S4_HEARTBEAT), 7);
    assert_int_equal(tw_bits(c.state[4], TW_S4_OWNER), 1);
    assert_int_equal(tw_compact_node_words(&c, 0)[1], 7);
    assert_int_equal(tw_bits(tw_compact_node_words(&c, 0)[0], TW_SN0_STATUS), TW_COMPACT_NODE_IDLE);
    assert_int_equal(tw_compact_reset(&c, true), TW_OK);
    assert_int_equal(c.state[2], 2);
    assert_int_equal(tw_bits(c.state[4], TW_S4_HEARTBEAT), 0);
    tw_compact_stop(&c);
    assert_int_equal(c.state[3], TW_COMPACT_STOPPED);
    const uint32_t out = small.out_bytes[4];
    tw_compact_block(&c, 99);
    assert_int_equal(small.out_bytes[4], out);
}

static void memory_that_is_short_is_refused_with_the_bytes_missing(void **state)
{
    (void)state;
    const uint32_t bytes = chain(1);
    tw_compact_t c;
    tw_fault_t fault = {0};
    size_t room = sizeof memory;
    while (load(&c, bytes, room, &fault) == TW_OK) { /* the least that is enough */
        room -= 8;
    }
    assert_int_equal(fault.err, TW_E_NOMEM);
    assert_true(fault.at != 0 && fault.at <= room + 8);
}

static void what_the_compact_core_does_not_know_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t arc, word;
        unsigned hi, lo;
        uint32_t value;
        tw_err_t err;
        uint32_t section;
    } rows[] = {
        {"concealment by repeating", 0, 4, 1, 0, 1, TW_E_IMG_ARC, TW_SEC_ARCS + 1},
        {"drop the oldest", 1, 4, 3, 2, 2, TW_E_IMG_ARC, TW_SEC_ARCS + 1},
        {"high QoS", 2, 0, 26, 26, 1, TW_E_IMG_ARC, TW_SEC_ARCS + 1},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const uint32_t bytes = chain(1), at = tw_image_section(image, TW_SEC_ARCS) + 4 * TW_ARC_WORDS * rows[i].arc;
        tw_image_poke(image, at + 4 * rows[i].word, rows[i].hi, rows[i].lo, rows[i].value);
        tw_image_fix(image, bytes);
        tw_compact_t c;
        tw_fault_t fault = {0};
        if (load(&c, bytes, sizeof memory, &fault) != rows[i].err || fault.section != rows[i].section ||
            fault.at != at) {
            fail_msg("%s: error %d, section %u, at %u", rows[i].why, -fault.err, fault.section, fault.at);
        }
    }
}

/* Scratch cleared for each run, a block brought from elsewhere: of node 1, whose first block is word 5. */
static void memory_made_ready_for_each_call_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t word;
        unsigned hi, lo;
        uint32_t value;
    } rows[] = {{0, TW_N0_CLEAR, 1}, {5, TW_NB_SWAP, TW_NB_IN_OUT}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const uint32_t bytes = chain(1), record = tw_image_node(image, 1);
        const uint32_t was = tw_img_word(image, record, 6);
        tw_image_poke(image, record, TW_N0_PARAMS, 0); /* the home stands where they did */
        tw_image_poke(image, record + 4 * rows[i].word, rows[i].hi, rows[i].lo, rows[i].value);
        if (rows[i].word != 0) { /* it is at home where it was, and runs behind all else */
            const uint32_t bank = tw_image_section(image, TW_SEC_BANKS), end = tw_img_word(image, bank, 1);
            tw_put_le32(image + record + 4 * 8, was);
            tw_put_le32(image + record + 4 * 6, end + tw_img_word(image, bank, 2));
            tw_put_le32(image + bank + 8, tw_img_word(image, bank, 2) + 1024);
        }
        tw_image_fix(image, bytes);
        tw_compact_t c;
        tw_fault_t fault = {0};
        assert_int_equal(load(&c, bytes, sizeof memory, &fault), TW_E_IMG_MEM_SWAP);
        assert_int_equal(fault.section, TW_SEC_NODES + 1);
        assert_int_equal(fault.at, record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compact_core_gives_the_bytes_of_the_large_one),
        cmocka_unit_test(the_state_block_says_what_goes_on),
        cmocka_unit_test(memory_that_is_short_is_refused_with_the_bytes_missing),
        cmocka_unit_test(what_the_compact_core_does_not_know_is_refused),
        cmocka_unit_test(memory_made_ready_for_each_call_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
