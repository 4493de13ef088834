/* T, calls of routines, scripts and the host, and the budget. */
#include "tests/unit/machine_rig.h"

/* ---- T at entry ---- */

static const char *const conditional[] = {
    "cjmp #1\nret\nlabl #1\nmovi int8 r5 1",
    "cjmpr 1\nret\nmovi int8 r5 1",
    "ccall #1\nret\nlabl #1\nmovi int8 r5 1",
    "movi int8 r1 1\nccopy r5 r1",
};

static void conditional_forms_obey_t_at_entry(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(conditional); i++) {
        for (unsigned flag = 0; flag < 2; flag++) {
            assert_int_equal(run_over(conditional[i], flag != 0, NULL, 0), TW_OK);
            if (ctx.r[5].i != (int64_t)flag) {
                fail_msg("%s with T = %u", conditional[i], flag);
            }
        }
    }
    for (unsigned flag = 0; flag < 2; flag++) {
        assert_int_equal(run_over("ccallsys 1", flag != 0, NULL, 0), TW_OK);
        assert_int_equal(world.syscalls, flag);
        assert_int_equal(run_over("ccallapp 7", flag != 0, NULL, 0), TW_OK);
        assert_int_equal(world.apps, flag);
    }
}

static void cals_is_taken_whatever_t_is(void **state)
{
    (void)state;
    assert_int_equal(run_over("cals time", false, NULL, 0), TW_OK);
    assert_int_equal(world.syscalls, 1);
    assert_int_equal(world.k, 9);
    assert_int_equal(ctx.r[1].i, 77);
    assert_int_equal(ctx.flag, 1);
}

static void arguments_arrive_in_the_first_registers(void **state)
{
    (void)state;
    static image_t im;
    static const int64_t args[] = {-7, 1234567890123};
    build(&im, "ret");
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, args, 2, true, 0), TW_OK);
    assert_int_equal(tw_script_reg_int(&ctx, 0), -7);
    assert_true(ctx.r[1].i == 1234567890123);
    assert_int_equal(ctx.rt[1], TW_T_I64);
    assert_int_equal(ctx.rt[2], TW_T_I32);
    assert_int_equal(ctx.r[2].i, 0);
}

/* ---- system calls ---- */

static void seed_examples_run_with_two_registers_and_no_buffer(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "pshc int8 1\ngtr\ncjmp #1\npshc int16 5\ncals readparam\nlabl #1\nret");
    im.s.regs = im.s.ptrs = 2;
    im.s.stack = 12;
    must_verify(&im.s);
    memset(&world, 0, sizeof world);
    const int64_t phase = 2;
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, &phase, 1, true, 0), TW_OK);
    assert_int_equal(world.k, 32);
    assert_int_equal(world.popped, 5);
    assert_false(world.window);
    assert_int_equal(ctx.flag, 0);
    assert_int_equal(ctx.r[0].i, 4);
    assert_int_equal(ctx.sp, 0);
}

static uint32_t greedy_syscall(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)k;
    int64_t v;
    while (tw_script_pop_int(s, &v)) {}
    return 0;
}

static void a_host_that_pops_too_much_changes_no_depth(void **state)
{
    (void)state;
    static image_t im;
    static const tw_script_host_t greedy = {.syscall = greedy_syscall};
    build(&im, "pshc int8 7\ncallsys time\ncopy r1 s0\nret");
    must_verify(&im.s);
    assert_int_equal(tw_script_run(&im.s, &greedy, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.r[1].i, 7);
}

static void a_missing_callback_is_a_status_not_a_fault(void **state)
{
    (void)state;
    static image_t im;
    static const tw_script_host_t nothing = {0};
    build(&im, "callapp 1\nbrk 3\nret");
    assert_int_equal(tw_script_run(&im.s, &nothing, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.flag, 0);
    assert_true(ctx.r[0].i != 0);
}

static void brk_reaches_the_debugger(void **state)
{
    (void)state;
    assert_int_equal(run("brk 200"), TW_OK);
    assert_int_equal(world.breaks, 200);
}

/* ---- budget ---- */

static void the_budget_is_the_number_of_instructions(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "labl #1\njmp #1");
    const struct {
        uint32_t own, asked, used;
    } rows[] = {{0, 0, TW_SCRIPT_BUDGET}, {512, 0, 512}, {512, 10, 10}, {0, 0xFFFFFFFF, TW_SCRIPT_BUDGET_MAX}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        im.s.budget = rows[i].own;
        assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, rows[i].asked), TW_E_SCR_BUDGET);
        assert_int_equal(ctx.used, rows[i].used);
    }
}

/* ---- calls ---- */

static void a_routine_returns_its_result_and_drops_the_rest(void **state)
{
    (void)state;
    assert_int_equal(
        run("pshc int8 1\ncall #1\nadd s0 s0\ncopy r0 s0\nret\nlabl #1\npshc int8 8\npshc int8 9\nretp s0"), TW_OK);
    assert_int_equal(ctx.r[0].i, 10);
    assert_int_equal(run("pshc int8 1\ncall #1\ncopy r0 s0\nret\nlabl #1\npshc int8 8\npshc int8 9\nret"), TW_OK);
    assert_int_equal(ctx.r[0].i, 1);
}

static void a_called_script_shares_registers_but_no_pointers(void **state)
{
    (void)state;
    static image_t caller;
    static image_t callee;
    uint8_t a[4] = {1, 0, 0, 0};
    uint8_t b[4] = {2, 0, 0, 0};
    build(&callee, "load r1 *p1\nadd r2 r1\npsht\nretp r1");
    callee.s.ptrs = 2;
    callee.s.mem = b;
    callee.s.mem_bytes = 4;
    build(&caller, "movi int8 r2 40\ncallscript 1\nload r0 *p5\nret");
    caller.s.mem = a;
    caller.s.mem_bytes = 4;
    must_verify(&callee.s);
    must_verify(&caller.s);
    world.script = &callee.s;
    assert_int_equal(tw_script_run(&caller.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.r[0].i, 1);
    assert_int_equal(ctx.r[1].i, 2);
    assert_int_equal(ctx.r[2].i, 42);
    assert_int_equal(ctx.sp, 0);
}

static void a_chain_of_scripts_ends_at_the_return_depth(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "inc r0\ncallscript 1\nret");
    world.script = &im.s; /* what the loader's cycle check would refuse */
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_E_SCR_STACK);
    assert_int_equal(ctx.r[0].i, TW_SCRIPT_CALL_DEPTH + 1);
}

static void an_index_given_serves_like_one_built(void **state)
{
    (void)state;
    static image_t im;
    uint16_t labels[TW_SCRIPT_LABELS];
    build(&im, "jmp #5\nmovi int8 r0 1\nret\nlabl #5\nmovi int8 r0 2\nret");
    tw_script_index(&im.s, labels);
    assert_int_equal(labels[5], 8);
    assert_int_equal(labels[4], TW_SCRIPT_NO_LABEL);
    im.s.labels = labels;
    assert_int_equal(tw_script_run(&im.s, &host, &ctx, NULL, 0, true, 0), TW_OK);
    assert_int_equal(ctx.r[0].i, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditional_forms_obey_t_at_entry),
        cmocka_unit_test(cals_is_taken_whatever_t_is),
        cmocka_unit_test(arguments_arrive_in_the_first_registers),
        cmocka_unit_test(seed_examples_run_with_two_registers_and_no_buffer),
        cmocka_unit_test(a_host_that_pops_too_much_changes_no_depth),
        cmocka_unit_test(a_missing_callback_is_a_status_not_a_fault),
        cmocka_unit_test(brk_reaches_the_debugger),
        cmocka_unit_test(the_budget_is_the_number_of_instructions),
        cmocka_unit_test(a_routine_returns_its_result_and_drops_the_rest),
        cmocka_unit_test(a_called_script_shares_registers_but_no_pointers),
        cmocka_unit_test(a_chain_of_scripts_ends_at_the_return_depth),
        cmocka_unit_test(an_index_given_serves_like_one_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
