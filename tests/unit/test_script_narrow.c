/* A device built without wide types refuses them by name of the instruction and computes the others as every device. */
#define TW_SCRIPT_WIDE 0
#define TW_SCRIPT_FAST 0
#include "engine/script/script_access.c" /* as that device has them, in place of the library's */
#include "engine/script/script_op.c"
#include "engine/script/script_value.c"
/* names that the verifier and the machine both use, each for itself */
#define is_ptr verify_is_ptr
#define move_pointer verify_move_pointer
#define copy_pointer verify_copy_pointer
#define take_pointer verify_take_pointer
#define call_host verify_call_host
#define call_script verify_call_script
#define give_back verify_give_back
#include "engine/script/script_verify.c"
#undef is_ptr
#undef move_pointer
#undef copy_pointer
#undef take_pointer
#undef call_host
#undef call_script
#undef give_back
#include "engine/script/script_vm.c"
#include "host_tools/scriptasm/scriptasm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static tw_asm_out_t out;
static tw_script_ctx_t ctx;

static tw_script_t assembled(const char *text)
{
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%s: %s", text, out.diags[0].text);
    }
    return (tw_script_t){.code = out.code, .code_bytes = out.code_bytes, .regs = 6, .stack = 8};
}

static const struct {
    const char *text;
    uint32_t at;
} wide[] = {
    {"nop\nmovi int64 r0 1\nret", 2}, {"movi uint64 r0 1\nret", 0}, {"movi fp64 r0 1\nret", 0},
    {"nop\nconv r0 fp64\nret", 2},    {"cast r0 int64\nret", 0},
};

static void wide_types_are_refused_where_they_stand(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(wide); i++) {
        tw_fault_t f = {0};
        const tw_script_t s = assembled(wide[i].text);
        assert_int_equal(tw_script_verify(&s, false, NULL, &f), TW_E_SCR_BAD_TYPE);
        assert_int_equal(f.at, wide[i].at);
    }
}

static const struct {
    const char *text;
    int64_t r0;
} rows[] = {
    {"movi int32 r0 2147483647\ninc r0\nret", INT32_MIN},
    {"movi uint16 r0 65535\nmovi uint16 r1 65535\nmul r0 r1\nret", 65535},
    {"movi uint32 r0 4000000000\nmovi int32 r1 -1\nlts r0 r1\npsht\nconv r0 int8\ncopy r0 s0\nret", 0},
    {"movi fp32 r0 -2.75\nconv r0 int16\nret", -2},
    {"movi fp32 r0 3e9\nconv r0 uint32\nret", 3000000000},
    {"movi fp32 r0 5e9\nconv r0 uint32\nret", 4294967295},
    {"movi fp32 r0 0x7FC00000\nconv r0 int32\nret", 0},
    {"movi int32 r0 -16\nasr r0 40\nret", -1},
    {"movi uint32 r0 0x80000001\nrot r0 4\nret", 0x18},
    {"movi uint32 r1 0xABCD\nbfx r0 r1 4 60\nret", 0xABC},
    {"movi int32 r0 7\nmovi int32 r1 5\npshc int32 10\naddm r0 r1\nret", 2},
    {"movi fp32 r1 2.25\nsqrt r0 r1\nret", 1},
    {"movi int32 r1 2147395600\nsqrt r0 r1\nret", 46340},
};

static void the_other_types_give_the_same_results(void **state)
{
    (void)state;
    static const tw_script_host_t none = {0};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t f = {0};
        const tw_script_t s = assembled(rows[i].text);
        assert_int_equal(tw_script_verify(&s, false, NULL, &f), TW_OK);
        assert_int_equal(tw_script_run(&s, &none, &ctx, NULL, 0, true, 0), TW_OK);
        if (ctx.r[0].i != rows[i].r0) {
            fail_msg("%s: %lld", rows[i].text, (long long)ctx.r[0].i);
        }
    }
}

static void results_of_calls_arrive_in_the_nearest_type(void **state)
{
    (void)state;
    tw_script_set_int(&ctx, 0, TW_T_I64, -5);
    assert_int_equal(ctx.rt[0], TW_T_I32);
    assert_int_equal(tw_script_reg_int(&ctx, 0), -5);
    tw_script_set_real(&ctx, 1, TW_T_FP64, 2.5);
    assert_int_equal(ctx.rt[1], TW_T_FP32);
    assert_true(tw_script_reg_real(&ctx, 1) == 2.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_types_are_refused_where_they_stand),
        cmocka_unit_test(the_other_types_give_the_same_results),
        cmocka_unit_test(results_of_calls_arrive_in_the_nearest_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
