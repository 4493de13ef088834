/* Graph locations: what of an image is copied to RAM, and that the copy alone is read from then on. */
#include "tests/support/engine_rig.h"
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t image[32768], flash[32768];
static uint32_t bytes;
static rig_t rig;

/* pshc int8 1; ret */
static const uint16_t script[] = {0x2E00, 0x0001, 0xC000};

/* Boot parameters, a script that runs with a node, names, a delay: something of every section. */
static void build(uint32_t location)
{
    static const uint8_t gain[4] = {0};
    rig_chain_open(&ib);
    ib.control = location;
    tw_ib_node_params(&ib, 1, 3, gain, 1);
    tw_ib_script(&ib, script, TW_COUNT(script), 2, 1, 2);
    tw_ib_node_script(&ib, 0, 0);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(&ib, TW_SYM_GRAPH, 0, "test");
    bytes = tw_ib_finish(&ib, image, sizeof image);
    assert_true(bytes != 0);
    memcpy(flash, image, bytes);
}

static void erase(uint32_t from, uint32_t to)
{
    for (uint32_t s = from; s < to; s++) {
        const tw_img_section_t sec = {tw_image_section(image, (tw_section_t)s),
                                      tw_img_word(image, 0, TW_W_DIRECTORY + 2 * s + 1)};
        memset(flash + sec.at, 0xFF, sec.bytes);
    }
}

/* Blocks, a RESET in the middle, values read and set: all that looks at an image after the load. */
static void use(void)
{
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    (void)tw_engine_publish(rig.engine);
    for (unsigned i = 0; i < 40; i++) {
        if (i == 20) {
            assert_int_equal(tw_engine_put_control(rig.engine, 1, TW_CTL_RESET, 0), TW_OK);
            assert_int_equal(tw_engine_put_read(rig.engine, 2, 0, 256), TW_OK);
            assert_int_equal(tw_engine_put_run(rig.engine, 3, 0, NULL, 0, 0), TW_OK);
            (void)tw_engine_publish(rig.engine);
        }
        assert_true(tw_engine_tick(rig.engine));
        (void)rig_events(&rig, TW_EV_FLOW, NULL);
    }
}

static uint32_t section_bytes(uint32_t from)
{
    uint32_t sum = TW_IMG_HEADER_BYTES;
    for (uint32_t s = from; s < TW_SEC_COUNT; s++) {
        sum += tw_round_up(tw_img_word(image, 0, TW_W_DIRECTORY + 2 * s + 1), TW_IMG_ALIGN);
    }
    return sum;
}

/* Copied parts are erased from flash once the graph is primed: whoever still reads them there is found out. */
static void test_S0_L208_each_location_copies_its_part_and_sounds_the_same(void **state)
{
    (void)state;
    static uint8_t expected[RIG_OUT_MAX];
    uint32_t n = 0, ram[4];
    for (uint32_t location = 0; location < 4; location++) {
        static const uint8_t first[] = {TW_SEC_BANKS, TW_SEC_NODES, TW_SEC_ARCS, TW_SEC_COUNT};
        tw_fault_t fault;
        tw_engine_info_t info;
        tw_engine_node_t node;
        rig_open(&rig, 4096, 8192);
        build(location);
        assert_int_equal(tw_engine_prime(rig.engine, flash, bytes, true, &fault), TW_OK);
        erase(first[location], TW_SEC_COUNT);
        if (location == 0) {
            memset(flash, 0xFF, bytes);
        }
        use();
        tw_engine_info(rig.engine, &info);
        assert_string_equal(info.name, "test");
        assert_int_equal(tw_engine_node(rig.engine, 0, &node), TW_OK);
        assert_string_equal(node.name, "eq");
        ram[location] = info.image_ram;
        assert_int_equal(ram[location], location == 0 ? bytes : location == 3 ? 0 : section_bytes(first[location]));
        if (location == 0) {
            n = rig.out_bytes[4];
            memcpy(expected, rig.out[4], n);
        }
        assert_true(n != 0 && rig.out_bytes[4] == n);
        assert_memory_equal(rig.out[4], expected, n);
        rig_close(&rig);
    }
    assert_true(ram[0] > ram[1] && ram[1] > ram[2] && ram[2] > ram[3]);
    print_message("image %u bytes; RAM of locations 0..3: %u %u %u %u\n", (unsigned)bytes, (unsigned)ram[0],
                  (unsigned)ram[1], (unsigned)ram[2], (unsigned)ram[3]);
}

/* Whatever its location says, an image that may go away is copied. */
static void an_image_that_does_not_stay_is_copied(void **state)
{
    (void)state;
    for (uint32_t location = 0; location < 4; location++) {
        tw_fault_t fault;
        tw_engine_info_t info;
        rig_open(&rig, 4096, 8192);
        build(location);
        assert_int_equal(tw_engine_prime(rig.engine, flash, bytes, false, &fault), TW_OK);
        memset(flash, 0xFF, bytes);
        use();
        tw_engine_info(rig.engine, &info);
        assert_int_equal(info.image_ram, bytes);
        assert_true(rig.out_bytes[4] != 0);
        rig_close(&rig);
    }
}

/* Sections may stand in any order: the copy finds them by the directory. */
static void parts_are_found_in_any_order(void **state)
{
    (void)state;
    for (uint32_t location = 1; location < 3; location++) {
        tw_fault_t fault;
        rig_open(&rig, 4096, 8192);
        build(location);
        /* a copy of the bank's record behind all others, and the directory there */
        const uint32_t bank = tw_image_section(image, TW_SEC_BANKS);
        memcpy(flash + bytes, image + bank, TW_IMG_ALIGN);
        tw_put_le32(flash + 4 * (TW_W_DIRECTORY + 2 * TW_SEC_BANKS), bytes);
        tw_put_le32(flash + 4 * TW_W_TOTAL, bytes + TW_IMG_ALIGN);
        tw_image_fix(flash, bytes + TW_IMG_ALIGN);
        assert_int_equal(tw_engine_prime(rig.engine, flash, bytes + TW_IMG_ALIGN, true, &fault), TW_OK);
        use();
        assert_true(rig.out_bytes[4] != 0);
        rig_close(&rig);
    }
}

static void a_copy_without_room_says_what_is_missing(void **state)
{
    (void)state;
    static _Alignas(16) uint8_t mem[32768];
    build(1);
    const uint32_t need = section_bytes(TW_SEC_NODES);
    for (uint32_t size = 0; size <= need; size += 16) {
        tw_arena_t arena = {.base = mem, .size = size};
        tw_graph_image_t parts;
        tw_fault_t fault = {0};
        const tw_err_t err = tw_graph_place(image, bytes, true, &arena, &parts, &fault);
        assert_int_equal(err, size < need ? TW_E_NOMEM : TW_OK);
        assert_int_equal(fault.at, need - size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L208_each_location_copies_its_part_and_sounds_the_same),
        cmocka_unit_test(an_image_that_does_not_stay_is_copied),
        cmocka_unit_test(parts_are_found_in_any_order),
        cmocka_unit_test(a_copy_without_room_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
