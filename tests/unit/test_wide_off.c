/* A device built without wide images refuses one as such, before it reads what it cannot. */
#define TW_WIDE_IMAGES 0
#include "engine/graph/graph_check.c" /* as that device has it, in place of the library's */
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void a_wide_image_is_refused_as_such(void **state)
{
    (void)state;
    static tw_ib_t ib;
    static uint8_t img[32768];
    static rig_t rig;
    static uint64_t memory[1 << 12];
    tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0};
    tw_fault_t fault;
    rig_board(&rig);
    const uint32_t bytes = rig_chain(&ib, img, sizeof img);
    assert_int_equal(tw_graph_check(img, bytes, &rig.board, &arena, &fault), TW_OK);
    tw_image_poke(img, 4 * TW_W_CONTROL, 14, 14, 1);
    tw_image_fix(img, bytes);
    assert_int_equal(tw_graph_check(img, bytes, &rig.board, &arena, &fault), TW_E_IMG_WIDE);
    assert_int_equal(fault.section, 0);
    assert_int_equal(fault.at, 4 * TW_W_CONTROL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_wide_image_is_refused_as_such)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
