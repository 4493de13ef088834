/* The network node against backends that answer at once, late, never, or not at all. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { MODEL = 1, BACKEND, DEADLINE, FALLBACK, MARKER_VALUE, IN_SCALE, IN_ZERO, OUT_SCALE, OUT_ZERO };
enum { STATUS = 16, RUNS, MISSES, FAILURES, LATENCY, MODELS, N = 8 };
enum { LAST, ZEROS, MARKER, NOTHING };

/* Output = input, a byte or element each; done after `delay` polls. */
typedef struct backend {
    uint32_t delay, polls, started, cancelled;
    bool fails, running;
    tw_err_t refuses;
    tw_infer_model_t model;
    tw_infer_job_t job;
} backend_t;

static rig_t g;
static backend_t b;
static uint64_t tick;
static tw_infer_t table;

static uint32_t n_models(void *ctx)
{
    (void)ctx;
    return 1;
}

static tw_err_t describe(void *ctx, uint32_t slot, tw_infer_model_t *m)
{
    *m = ((backend_t *)ctx)->model;
    return slot == 0 ? TW_OK : TW_E_PARAM_INDEX;
}

static tw_err_t start(void *ctx, const tw_infer_job_t *job, uint32_t *handle)
{
    backend_t *k = ctx;
    if (k->refuses != TW_OK) {
        return k->refuses;
    }
    assert_false(k->running);
    k->job = *job, k->running = true, k->polls = 0, k->started++;
    *handle = 5;
    return TW_OK;
}

static tw_infer_state_t poll(void *ctx, uint32_t handle)
{
    backend_t *k = ctx;
    assert_true(k->running && handle == 5);
    if (k->polls++ < k->delay) {
        return TW_INFER_RUNNING;
    }
    k->running = false;
    memcpy(k->job.out[0], k->job.in[0], tw_min_u32(k->model.in[0].bytes, k->model.out[0].bytes));
    return k->fails ? TW_INFER_FAILED : TW_INFER_DONE;
}

static void cancel(void *ctx, uint32_t handle)
{
    backend_t *k = ctx;
    assert_true(k->running && handle == 5);
    k->running = false, k->cancelled++;
}

static tw_infer_tensor_t tensor(tw_raw_t raw, float scale, int32_t zero)
{
    return (tw_infer_tensor_t){N * tw_raw_bits(raw) / 8, (uint8_t)raw, scale, zero};
}

static void open_infer(tw_raw_t arc, tw_infer_tensor_t in, tw_infer_tensor_t out)
{
    const tw_format_t f = rig_format(arc, 1, 0, N);
    rig_prepare_arcs(&g, "infer", f, f, 1, 1);
    b = (backend_t){.model = {.n_in = 1, .n_out = 1, .in = {in}, .out = {out}}};
    table = (tw_infer_t){&b, n_models, describe, start, poll, cancel};
    g.svc.infer = &table;
    g.svc.tick = &tick;
    tick = 100;
    assert_int_equal(rig_reset(&g, false, 0), 0);
}

static void open_s8(void)
{
    open_infer(TW_RAW_S8, tensor(TW_RAW_S8, 1, 0), tensor(TW_RAW_S8, 1, 0));
}

static uint32_t get(uint32_t index)
{
    uint8_t wire[4] = {0};
    rig_get(&g, index, wire, 4);
    return tw_get_le32(wire);
}

static void set_deadline(uint32_t blocks)
{
    uint8_t wire[4];
    tw_put_le32(wire, blocks);
    assert_int_equal(rig_set(&g, DEADLINE, wire, 4), TW_OK);
}

/* One block with these frames in and room for as many. @return frames out; *used frames in */
static uint32_t block(const int8_t *in, uint32_t frames, int8_t *out, uint32_t *used, uint32_t *err)
{
    tw_xdm_t data[2] = {{(void *)(uintptr_t)in, frames * N}, {out, frames * N}};
    *err = rig_command(&g, TW_CMD_RUN, 0, data);
    tick++;
    *used = data[0].bytes / N;
    return data[1].bytes / N;
}

static const int8_t x[3 * N] = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8, 9, 9, 9, 9, 9, 9, 9, 9};

static void a_backend_that_answers_at_once_keeps_the_pace(void **state)
{
    (void)state;
    int8_t y[3 * N];
    uint32_t used, err;
    open_s8();
    assert_int_equal(block(x, 3, y, &used, &err), 3);
    assert_true(used == 3 && err == 0 && memcmp(x, y, sizeof x) == 0);
    assert_true(get(RUNS) == 3 && get(LATENCY) == 0 && get(MISSES) == 0 && (get(MODELS) & 255u) == 1);
    rig_close(&g);
}

static void a_late_result_comes_with_its_latency_and_the_input_waits(void **state)
{
    (void)state;
    int8_t y[3 * N];
    uint32_t used, err;
    open_s8();
    b.delay = 3;
    for (unsigned k = 0; k < 3; k++) {
        assert_int_equal(block(x, 1, y, &used, &err), 0);
        assert_true(used == 0 && (get(STATUS) & 255u) == 1);
    }
    assert_int_equal(block(x, 1, y, &used, &err), 1);
    assert_true(used == 1 && memcmp(x, y, N) == 0 && get(LATENCY) == 3 && b.started == 1);
    rig_close(&g);
}

static void a_missed_deadline_falls_back_as_asked(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t fallback;
        uint32_t out;
        int8_t first;
    } cases[] = {{"the last result", LAST, 1, 1},
                 {"zeros", ZEROS, 1, 0},
                 {"the marker", MARKER, 1, -99},
                 {"nothing", NOTHING, 0, 77}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        int8_t y[N] = {77};
        uint32_t used, err;
        open_s8();
        block(x, 1, y, &used, &err);
        rig_set_u8(&g, FALLBACK, cases[i].fallback);
        rig_set_f32(&g, MARKER_VALUE, -99);
        set_deadline(2);
        b.delay = 1000;
        y[0] = 77;
        assert_int_equal(block(x + N, 1, y, &used, &err), 0);
        assert_int_equal(block(x + N, 1, y, &used, &err), 0);
        const uint32_t out = block(x + N, 1, y, &used, &err);
        if (out != cases[i].out || used != 1 || y[0] != cases[i].first || b.cancelled != 1 || get(MISSES) != 1) {
            fail_msg("%s: %u out, %u used, %d", cases[i].why, out, used, y[0]);
        }
        b.delay = 0; /* and it goes on */
        block(x + N, 1, y, &used, &err);
        assert_true(y[0] == -1 && get(RUNS) == 2);
        rig_close(&g);
    }
}

static void a_failure_falls_back_and_is_counted(void **state)
{
    (void)state;
    int8_t y[N];
    uint32_t used, err;
    open_s8();
    b.fails = true;
    assert_int_equal(block(x, 1, y, &used, &err), 1);
    assert_true(y[0] == 0 && get(FAILURES) == 1 && get(RUNS) == 0); /* no last result yet */
    b.fails = false, b.refuses = TW_E_UNSUPPORTED;
    assert_int_equal(block(x, 1, y, &used, &err), 1);
    assert_int_equal(get(FAILURES), 2);
    b.refuses = TW_E_BUSY;
    assert_int_equal(block(x, 1, y, &used, &err), 0);
    assert_true(used == 0 && get(FAILURES) == 2);
    rig_close(&g);
}

static void what_is_missing_is_said_once_and_bridged(void **state)
{
    (void)state;
    int8_t y[N];
    uint32_t used, err;
    open_s8();
    g.svc.infer = NULL;
    assert_true(block(x, 1, y, &used, &err) == 1 && err == (uint32_t)-TW_E_INFER_BACKEND && (get(STATUS) & 255u) == 2);
    assert_true(block(x, 1, y, &used, &err) == 1 && err == 0);
    g.svc.infer = &table;
    rig_set_u8(&g, MODEL, 1);
    assert_true(block(x, 1, y, &used, &err) == 1 && err == (uint32_t)-TW_E_INFER_MODEL && (get(STATUS) & 255u) == 3);
    rig_set_u8(&g, MODEL, 0);
    b.model.in[0].bytes--;
    assert_true(block(x, 1, y, &used, &err) == 1 && err == (uint32_t)-TW_E_INFER_TENSORS && (get(STATUS) & 255u) == 4);
    b.model.in[0].bytes++, b.model.arena_bytes = 1u << 20;
    block(x, 1, y, &used, &err);
    assert_int_equal(get(STATUS) & 255u, 4);
    b.model.arena_bytes = 16;
    assert_true(block(x, 1, y, &used, &err) == 1 && y[0] == 1 && (get(STATUS) & 255u) == 0);
    rig_close(&g);
}

static void numbers_are_quantised_there_and_back(void **state)
{
    (void)state;
    static const float real[N] = {0, 0.5f, -0.5f, 1, -1, 100, -100, NAN};
    static const int8_t words[N] = {3, 53, -47, 103, -97, 127, -128, -128};
    float y[N];
    open_infer(TW_RAW_FP32, tensor(TW_RAW_S8, 0.01f, 3), tensor(TW_RAW_S8, 0.5f, -1));
    rig_run(&g, real, sizeof real, y, sizeof y);
    assert_memory_equal(b.job.in[0], words, N);
    for (unsigned i = 0; i < N; i++) {
        assert_true(fabsf(y[i] - 0.5f * (float)(words[i] + 1)) < 1e-5f);
    }
    uint8_t wire[16] = {0};
    tw_put_f32(wire, 0.25f);
    assert_int_equal(rig_set(&g, OUT_SCALE, wire, 16), TW_OK); /* its own, with its own zero point */
    rig_run(&g, real, sizeof real, y, sizeof y);
    assert_true(y[0] == 0.75f);
    rig_close(&g);
}

static void several_tensors_are_one_run(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_S8, 1, 0, N);
    rig_prepare_arcs(&g, "infer", f, f, 2, 2);
    const tw_infer_tensor_t t = tensor(TW_RAW_S8, 1, 0);
    b = (backend_t){.model = {.n_in = 2, .n_out = 2, .in = {t, t}, .out = {t, t}}};
    table = (tw_infer_t){&b, n_models, describe, start, poll, cancel};
    g.svc.infer = &table;
    assert_int_equal(rig_reset(&g, false, 0), 0);
    int8_t y[2][N];
    tw_xdm_t data[4] = {{(void *)(uintptr_t)x, N}, {(void *)(uintptr_t)x, 0}, {y[0], N}, {y[1], N}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_true(data[0].bytes == 0 && b.started == 0); /* waits for both */
    data[0].bytes = data[1].bytes = data[2].bytes = data[3].bytes = N;
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_true(data[1].bytes == N && data[3].bytes == N && b.started == 1);
    rig_close(&g);
}

static void reset_and_stop_cancel_what_runs(void **state)
{
    (void)state;
    int8_t y[N];
    uint32_t used, err;
    open_s8();
    b.delay = 1000;
    block(x, 1, y, &used, &err);
    assert_int_equal(rig_reset(&g, true, 0), 0);
    assert_int_equal(b.cancelled, 1);
    block(x, 1, y, &used, &err);
    tw_xdm_t none = {0};
    assert_int_equal(rig_command(&g, TW_CMD_STOP, 0, &none), 0);
    assert_true(b.cancelled == 2 && !b.running);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_that_answers_at_once_keeps_the_pace),
        cmocka_unit_test(a_late_result_comes_with_its_latency_and_the_input_waits),
        cmocka_unit_test(a_missed_deadline_falls_back_as_asked),
        cmocka_unit_test(a_failure_falls_back_and_is_counted),
        cmocka_unit_test(what_is_missing_is_said_once_and_bridged),
        cmocka_unit_test(numbers_are_quantised_there_and_back),
        cmocka_unit_test(several_tensors_are_one_run),
        cmocka_unit_test(reset_and_stop_cancel_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
