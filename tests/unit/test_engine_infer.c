/* A platform's networks reach the node that runs them through the engine's configuration. */
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { BLOCKS = 4, MODELS = 21 };

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static unsigned runs;

/* One model, done at once: each sample negated. */
static uint32_t n_models(void *ctx)
{
    (void)ctx;
    return 1;
}

static tw_err_t describe(void *ctx, uint32_t slot, tw_infer_model_t *m)
{
    (void)ctx;
    const tw_infer_tensor_t t = {.bytes = RIG_FRAME, .raw = TW_RAW_S16, .scale = 0.5f};
    *m = (tw_infer_model_t){.n_in = 1, .n_out = 1, .in = {t}, .out = {t}};
    return slot == 0 ? TW_OK : TW_E_NOT_FOUND;
}

static tw_err_t start(void *ctx, const tw_infer_job_t *job, uint32_t *handle)
{
    (void)ctx;
    for (uint32_t i = 0; i < RIG_FRAME; i += 2) {
        const uint16_t v = tw_get_le16((const uint8_t *)job->in[0] + i);
        tw_put_le16((uint8_t *)job->out[0] + i, (uint16_t)(0u - v));
    }
    *handle = ++runs;
    return TW_OK;
}

static tw_infer_state_t poll(void *ctx, uint32_t handle)
{
    (void)ctx;
    return handle == runs ? TW_INFER_DONE : TW_INFER_FAILED;
}

static void cancel(void *ctx, uint32_t handle)
{
    (void)ctx, (void)handle;
}

static const tw_infer_t backend = {NULL, n_models, describe, start, poll, cancel};

static void open_rig(const tw_infer_t *infer)
{
    rig_board(&rig);
    const tw_engine_cfg_t cfg = {.port = &rig.port,
                                 .board = &rig.board,
                                 .queue_bytes = 4096,
                                 .timed_bytes = 4096,
                                 .reply_bytes = 4096,
                                 .graph_bytes = RIG_GRAPH_BYTES,
                                 .infer = infer};
    const size_t need = (tw_engine_need(&cfg) + 63) & ~(size_t)63;
    rig.mem = aligned_alloc(64, need);
    assert_int_equal(tw_engine_init(&rig.engine, &cfg, rig.mem, need), TW_OK);
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, RIG_FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, RIG_FRAME);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_infer"), 1, 1, (uint16_t[]){in, out});
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

static uint32_t models(void)
{
    uint8_t data[4] = {0};
    tw_engine_reply_t r;
    assert_int_equal(tw_engine_put_read(rig.engine, 7, 0, MODELS), TW_OK);
    (void)tw_engine_publish(rig.engine);
    (void)tw_engine_tick(rig.engine);
    assert_true(rig_reply(&rig, 7, &r, data, sizeof data));
    assert_int_equal(r.err, TW_OK);
    return tw_get_le32(data);
}

static void a_node_runs_the_network_of_its_platform(void **state)
{
    (void)state;
    runs = 0;
    open_rig(&backend);
    for (unsigned i = 0; i < BLOCKS; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    assert_int_equal(runs, BLOCKS);
    assert_int_equal(rig.out_bytes[4], BLOCKS * RIG_FRAME);
    for (uint32_t i = 0; i < BLOCKS * RIG_SAMPLES; i++) {
        assert_int_equal(tw_get_le16(rig.out[4] + 2 * i), (uint16_t)(0u - i));
    }
    assert_int_equal(models(), 1);
    rig_close(&rig);
}

static void without_networks_the_node_says_that_there_are_none(void **state)
{
    (void)state;
    open_rig(NULL);
    assert_true(tw_engine_tick(rig.engine));
    assert_int_equal(models(), 0);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_runs_the_network_of_its_platform),
        cmocka_unit_test(without_networks_the_node_says_that_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
