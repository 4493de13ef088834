/* Networks that scripts run: submit, poll, result, cancel against a backend that is as slow as the test wants. */
#include "tests/support/script_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SUBMIT = 1, POLL, RESULT, CANCEL, MODELS = 3, JOBS = 8 };

/* Model 0: two inputs of 4 and 2 bytes, output[k] = sum of all inputs + k, 3 bytes. 1: as 0, arena of 3000. 2: too
 * large. */
static struct backend {
    tw_infer_job_t job[JOBS];
    tw_infer_state_t state[JOBS];
    uint32_t n, cancelled;
    tw_err_t start;
} backend;

static uint32_t n_models(void *ctx)
{
    (void)ctx;
    return MODELS;
}

static tw_err_t describe(void *ctx, uint32_t slot, tw_infer_model_t *m)
{
    (void)ctx;
    *m = (tw_infer_model_t){.n_in = 2,
                            .n_out = 1,
                            .in = {{.bytes = 4, .raw = TW_RAW_U8}, {.bytes = 2, .raw = TW_RAW_U8}},
                            .out = {{.bytes = 3, .raw = TW_RAW_U8}},
                            .arena_bytes = slot == 0   ? 32
                                           : slot == 1 ? 3000
                                                       : 5000};
    return slot < MODELS ? TW_OK : TW_E_NOT_FOUND;
}

static tw_err_t start(void *ctx, const tw_infer_job_t *job, uint32_t *handle)
{
    (void)ctx;
    assert_int_equal((uintptr_t)job->arena % 16, 0);
    if (backend.start != TW_OK) {
        return backend.start;
    }
    backend.job[backend.n] = *job;
    backend.state[backend.n] = TW_INFER_RUNNING;
    memset(job->arena, 0xEE, job->arena_bytes);
    *handle = backend.n++;
    return TW_OK;
}

static tw_infer_state_t poll(void *ctx, uint32_t handle)
{
    (void)ctx;
    return backend.state[handle];
}

static void cancel(void *ctx, uint32_t handle)
{
    (void)ctx;
    backend.state[handle] = TW_INFER_FAILED;
    backend.cancelled++;
}

static const tw_infer_t infer = {
    .n_models = n_models, .describe = describe, .start = start, .poll = poll, .cancel = cancel};

static void finish(uint32_t job)
{
    const tw_infer_job_t *j = &backend.job[job];
    const uint8_t *a = j->in[0], *b = j->in[1];
    for (unsigned k = 0; k < 3; k++) {
        ((uint8_t *)j->out[0])[k] = (uint8_t)(a[0] + a[1] + a[2] + a[3] + b[0] + b[1] + (int)k);
    }
    backend.state[job] = TW_INFER_DONE;
}

static script_rig_t r;

/* p0 the script's memory, p1 the same from byte 16 on. */
static void open_rig(const tw_infer_t *k)
{
    const char *const texts[] = {"eqk r3 1\ncjmp #1\nret\nlabl #1\ncopy p0 p5\ncopy p1 p5\nptype p1 uint8\n"
                                 "movi int32 r4 16\npbase p1 r4\ncallsys 10\nret\n",
                                 "callsys 10\nret\n", NULL};
    memset(&backend, 0, sizeof backend);
    r.infer = k;
    script_rig_start(&r, texts);
    for (unsigned i = 0; i < 6; i++) {
        script_rig_memory(&r, 0)[i] = (uint8_t)(i + 1);
    }
}

static int64_t call(int64_t op, int64_t slot, int64_t bytes, int64_t *r1)
{
    const int64_t args[4] = {op, slot, bytes, 1};
    const tw_script_ctx_t *c = script_rig_run(&r, 0, args, 4);
    assert_non_null(c);
    *r1 = tw_script_reg_int(c, 1);
    assert_int_equal(c->flag, tw_script_reg_int(c, 0) == 0);
    return tw_script_reg_int(c, 0);
}

static void a_run_is_submitted_looked_at_and_its_result_taken(void **state)
{
    (void)state;
    int64_t r1;
    open_rig(&infer);
    assert_int_equal(call(POLL, 0, 0, &r1), 0);
    assert_int_equal(r1, TW_NPU_IDLE);
    assert_int_equal(call(SUBMIT, 0, 6, &r1), 0);
    memset(script_rig_memory(&r, 0), 0, 6); /* it was copied */
    assert_int_equal(call(POLL, 0, 0, &r1), 0);
    assert_int_equal(r1, TW_NPU_RUNNING);
    assert_int_equal(call(RESULT, 0, 0, &r1), -TW_E_BUSY);
    assert_int_equal(call(SUBMIT, 0, 0, &r1), -TW_E_BUSY);
    script_rig_blocks(&r, 3); /* nothing waits for it */
    finish(0);
    assert_int_equal(call(POLL, 0, 0, &r1), 0);
    assert_int_equal(r1, TW_NPU_DONE);
    assert_int_equal(call(RESULT, 0, 0, &r1), 0);
    assert_int_equal(r1, 3);
    assert_memory_equal(script_rig_memory(&r, 0) + 16, ((uint8_t[]){21, 22, 23}), 3);
    assert_int_equal(call(RESULT, 0, 0, &r1), -TW_E_STATE);
}

static void what_cannot_run_says_why(void **state)
{
    (void)state;
    int64_t r1;
    open_rig(&infer);
    static const struct {
        const char *why;
        int64_t op, slot, bytes;
        tw_err_t err;
    } cases[] = {
        {"no such operation", 5, 0, 6, TW_E_ARG},
        {"no such model", SUBMIT, 3, 6, TW_E_NOT_FOUND},
        {"no such model", SUBMIT, -1, 6, TW_E_NOT_FOUND},
        {"too few bytes", SUBMIT, 0, 5, TW_E_PARAM_SIZE},
        {"too many", SUBMIT, 0, 7, TW_E_PARAM_SIZE},
        {"less than none", SUBMIT, 0, -1, TW_E_PARAM_SIZE},
        {"an arena larger than the memory there is", SUBMIT, 2, 6, TW_E_NOMEM},
        {"no run", RESULT, 0, 0, TW_E_STATE},
        {"no run", CANCEL, 0, 0, TW_E_NOT_FOUND},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const int64_t got = call(cases[i].op, cases[i].slot, cases[i].bytes, &r1);
        if (got != -cases[i].err) {
            fail_msg("%s: %d", cases[i].why, (int)got);
        }
    }
    const int64_t bare[2] = {SUBMIT, 0};
    assert_int_equal(tw_script_reg_int(script_rig_run(&r, 1, bare, 2), 0), -TW_E_SCR_BAD_PTR);
    backend.start = TW_E_BUSY;
    assert_int_equal(call(SUBMIT, 0, 6, &r1), -TW_E_BUSY);
    assert_int_equal(call(POLL, 0, 0, &r1), 0);
    assert_int_equal(r1, TW_NPU_IDLE);
    open_rig(NULL);
    assert_int_equal(call(SUBMIT, 0, 6, &r1), -TW_E_UNSUPPORTED);
}

static void models_run_side_by_side_as_far_as_memory_goes(void **state)
{
    (void)state;
    int64_t r1;
    open_rig(&infer);
    assert_int_equal(call(SUBMIT, 1, 0, &r1), 0);
    assert_int_equal(call(SUBMIT, 0, 0, &r1), 0);
    assert_true((const uint8_t *)backend.job[1].in[0] >= (const uint8_t *)backend.job[0].arena + 3000);
    finish(1);
    assert_int_equal(call(RESULT, 0, 0, &r1), 0);
    assert_int_equal(call(POLL, 1, 0, &r1), 0);
    assert_int_equal(r1, TW_NPU_RUNNING);
    assert_int_equal(call(CANCEL, 1, 0, &r1), 0);
    assert_int_equal(backend.cancelled, 1);
    assert_int_equal(call(SUBMIT, 1, 0, &r1), 0); /* its place is free again */
}

static void a_failed_run_says_so_once(void **state)
{
    (void)state;
    int64_t r1;
    open_rig(&infer);
    assert_int_equal(call(SUBMIT, 0, 0, &r1), 0);
    backend.state[0] = TW_INFER_FAILED;
    assert_int_equal(call(POLL, 0, 0, &r1), 0);
    assert_int_equal(r1, TW_NPU_FAILED);
    assert_int_equal(call(RESULT, 0, 0, &r1), -TW_E_INTERNAL);
    assert_int_equal(call(RESULT, 0, 0, &r1), -TW_E_STATE);
}

static void reset_and_stop_cancel_what_runs(void **state)
{
    (void)state;
    int64_t r1;
    open_rig(&infer);
    assert_int_equal(call(SUBMIT, 0, 0, &r1), 0);
    tw_graph_reset(&r.graph, true);
    assert_int_equal(backend.cancelled, 1);
    assert_int_equal(call(SUBMIT, 0, 0, &r1), 0);
    tw_graph_stop(&r.graph);
    assert_int_equal(backend.cancelled, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_submitted_looked_at_and_its_result_taken),
        cmocka_unit_test(what_cannot_run_says_why),
        cmocka_unit_test(models_run_side_by_side_as_far_as_memory_goes),
        cmocka_unit_test(a_failed_run_says_so_once),
        cmocka_unit_test(reset_and_stop_cancel_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
