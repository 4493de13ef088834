/* Pointers: their window, what they move by, and the faults at its ends. */
#include "tests/unit/machine_rig.h"

/* ---- pointers ---- */

static const struct {
    const char *why, *text;
    int64_t r0;
} pointer_rows[] = {
    {"memory is int32", "load r0 *p5", 0x03020100},
    {"element type", "ptype p5 uint8\nmovi int8 r1 9\npbase p5 r1\nload r0 *p5", 9},
    {"unaligned", "ptype p5 uint16\nload r0 *p5+\nload r0 *p5", 0x0302},
    {"sign", "movi int32 r1 -2\nstore *p5 r1\nptype p5 int8\nload r0 *p5", -2},
    {"store converts to the element", "ptype p5 int8\nmovi int32 r1 300\nstore *p5 r1\nload r0 *p5", 127},
    {"float element", "ptype p5 fp32\nmovi fp64 r1 2.5\nstore *p5 r1\nload r0 *p5\nadd r0 r0\nconv r0 int8", 5},
    {"half element", "ptype p5 fp16\nmovi fp64 r1 2.5\nstore *p5 r1\nptype p5 uint16\nload r0 *p5", 0x4100},
    {"padd back and forth", "movi int8 r1 -3\nmovi int8 r2 4\npadd p5 r1\npadd p5 r2\nload r0 *p5", 0x07060504},
    {"pmod wraps", "movi int8 r1 5\npmod p5 r1\nload r0 *p5", 0x07060504},
    {"pmod wraps below", "movi int8 r1 -1\npmod p5 r1\nplen p5 r0", 1},
    {"addm wraps a pointer", "movi int8 r1 6\naddm p5 r1\nplen p5 r0", 2},
    {"subm wraps a pointer", "movi int8 r1 1\nsubm p5 r1\nplen p5 r0", 1},
    {"plen", "plen p5 r0", 4},
    {"psize shrinks", "movi int8 r1 2\npsize p5 r1\nplen p5 r0", 2},
    {"psize below 0 leaves nothing",
     "ptype p5 uint8\nmovi int8 r1 1\npsize p5 r1\nptype p5 int32\nmovi int8 r1 -1\npsize p5 r1\nptype p5 uint8\nplen "
     "p5 r0",
     0},
    {"psize does not grow", "movi int32 r1 100\npsize p5 r1\nplen p5 r0", 4},
    {"pointer copies are apart", "copy p0 p5\nload r0 *p0+\nload r0 *p5", 0x03020100},
    {"pointer swap", "ptype p5 uint8\nswap p0 p5\nload r0 *p0+\nload r0 *p0", 1},
    {"constants", "psha #1\ncopy p0 s0\nload r0 *p0+\nload r1 *p0\nadd r0 r1\nret\nlabl #1\n2 i16; 1000 -1", 999},
    {"constants end", "psha #1\ncopy p0 s0\nplen p0 r0\nret\nlabl #1\n3 i16; 1 2 3\n", 3},
    {"addm consumes no stack for pointers", "pshc int8 9\nmovi int8 r1 1\naddm p5 r1\ncopy r0 s0", 9},
};

static void pointers_see_their_window(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(pointer_rows); i++) {
        uint8_t *const mem = malloc(16);
        fresh(mem, 16);
        const tw_err_t err = run_over(pointer_rows[i].text, true, mem, 16);
        free(mem);
        if (err != TW_OK || ctx.r[0].i != pointer_rows[i].r0) {
            fail_msg("%s: %s, r0 = %lld", pointer_rows[i].why, tw_err_name(err), (long long)ctx.r[0].i);
        }
    }
}

static const struct {
    const char *why, *text;
    tw_err_t err;
    uint32_t pc;
} faults[] = {
    {"one element beyond", "movi int8 r1 4\npbase p5 r1\nload r0 *p5", TW_E_SCR_FAULT, 6},
    {"element across the end", "ptype p5 int64\nmovi int8 r1 2\npbase p5 r1\nload r0 *p5", TW_E_SCR_FAULT, 8},
    {"before the start", "movi int8 r1 -1\npadd p5 r1\nstore *p5 r0", TW_E_SCR_FAULT, 6},
    {"negative base", "movi int8 r1 -1\npbase p5 r1\nstore *p5 r0", TW_E_SCR_FAULT, 6},
    {"offset times size beyond 32 bits", "movi uint32 r1 0x40000000\npbase p5 r1\nload r0 *p5", TW_E_SCR_FAULT, 8},
    {"shrunk to nothing", "psize p5 zero\nload r0 *p5", TW_E_SCR_FAULT, 2},
    {"runs past in a loop", "labl #1\nload r0 *p5+\njmp #1", TW_E_SCR_FAULT, 2},
    {"budget", "nop\nlabl #1\ninc r0\njmp #1", TW_E_SCR_BUDGET, 2},
    {"script that is not there", "nop\ncallscript 1", TW_E_SCR_FAULT, 2},
};

static void a_fault_names_its_instruction_and_touches_nothing_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(faults); i++) {
        uint8_t *const mem = malloc(16);
        fresh(mem, 16);
        const tw_err_t err = run_over(faults[i].text, true, mem, 16);
        for (unsigned k = 0; k < 16; k++) {
            assert_int_equal(mem[k], k);
        }
        free(mem);
        if (err != faults[i].err || ctx.pc != faults[i].pc) {
            fail_msg("%s: %s at %u", faults[i].why, tw_err_name(err), ctx.pc);
        }
    }
    assert_int_equal(run("movi int8 r0 3"), TW_OK); /* the context is as good as new */
    assert_int_equal(ctx.r[0].i, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_see_their_window),
        cmocka_unit_test(a_fault_names_its_instruction_and_touches_nothing_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
