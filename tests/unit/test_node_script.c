/* The script node: one call of its script a RUN, nothing on its lock arc. */
#include "tests/unit/node_rig.h"

static struct {
    uint32_t script[8], phase[8], n, answer;
} calls;

static uint32_t run_script(void *ctx, uint32_t script, uint32_t phase)
{
    assert_ptr_equal(ctx, &calls);
    assert_true(calls.n < 8);
    calls.script[calls.n] = script;
    calls.phase[calls.n++] = phase;
    return calls.answer;
}

static void prepare(rig_t *g, int16_t script)
{
    calls.n = calls.answer = 0;
    rig_prepare(g, "script", (tw_format_t){0}, (tw_format_t){0});
    g->svc.ctx = &calls;
    g->svc.run_script = run_script;
    g->reset.rx = 0;
    g->reset.script = script;
}

static void reset_is_phase_0_and_each_run_one_call_of_phase_1(void **state)
{
    (void)state;
    rig_t g;
    prepare(&g, 5);
    assert_int_equal(rig_reset(&g, false, 0), 0);
    for (uint32_t i = 1; i < 4; i++) {
        uint8_t lock[4] = {0};
        tw_xdm_t data = {lock, 4};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, &data), 0);
        assert_int_equal(data.bytes, 0);
        assert_int_equal(calls.n, i + 1);
    }
    for (uint32_t i = 0; i < calls.n; i++) {
        assert_int_equal(calls.script[i], 5);
        assert_int_equal(calls.phase[i], i > 0);
    }
    rig_close(&g);
}

static void what_the_script_answers_is_the_nodes_answer(void **state)
{
    (void)state;
    rig_t g;
    prepare(&g, 0);
    assert_int_equal(rig_reset(&g, false, 0), 0);
    calls.answer = (uint32_t)-TW_E_SCR_BUDGET;
    tw_xdm_t data = {&g, 4};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, &data), -TW_E_SCR_BUDGET);
    assert_int_equal(data.bytes, 0);
    rig_close(&g);
}

static void reset_refuses_what_it_cannot_run(void **state)
{
    (void)state;
    static const tw_err_t want[] = {TW_E_IMG_SCRIPT, TW_E_IMG_SERVICE, TW_E_IMG_MEM, TW_E_IMG_SERVICE};
    for (unsigned k = 0; k < TW_COUNT(want); k++) {
        rig_t g;
        prepare(&g, k == 0 ? -1 : 3);
        g.svc.run_script = k == 1 ? NULL : run_script;
        g.reset.mem_bytes[0] -= k == 2;
        g.reset.svc = k == 3 ? NULL : &g.svc;
        assert_int_equal(rig_reset(&g, false, 0), -want[k]);
        assert_int_equal(calls.n, 0);
        rig_close(&g);
    }
}

static void it_has_no_parameters(void **state)
{
    (void)state;
    rig_t g;
    prepare(&g, 1);
    assert_int_equal(rig_reset(&g, false, 0), 0);
    uint8_t v[4] = {0};
    tw_fault_t fault;
    tw_xdm_t data = {v, 4};
    assert_int_equal(tw_param_check(g.d, &g.fmt[0], 1, 0, v, 1, &fault), TW_E_PARAM_INDEX);
    assert_int_equal(rig_command(&g, TW_CMD_READ_PARAMETER, 1, &data), -TW_E_PARAM_INDEX);
    assert_int_equal(rig_command(&g, TW_CMD_SET_PARAMETER, 1, &data), -TW_E_PARAM_INDEX);
    assert_int_equal(rig_command(&g, TW_CMD_STOP, 0, &data), 0);
    assert_int_equal(rig_command(&g, TW_CMD_MEMREQ, 0, &data), -TW_E_UNSUPPORTED);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_is_phase_0_and_each_run_one_call_of_phase_1),
        cmocka_unit_test(what_the_script_answers_is_the_nodes_answer),
        cmocka_unit_test(reset_refuses_what_it_cannot_run),
        cmocka_unit_test(it_has_no_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
