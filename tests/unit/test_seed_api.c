/* A graph that is run through the seeds' entry points alone, by both of their generations of names. */
#include "engine/compat/tw_seed_api.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static uint64_t memory[1 << 14];
static arm_stream_instance_t inst;
static tw_graph_env_t env;
static bool second; /* generation */

static bool on_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)command, (void)data, (void)bytes;
    return true;
}

static void prepare(uint8_t acks)
{
    rig_chain_open(&ib);
    rig_board(&rig);
    rig.ios[0].acks = acks;
    rig.board.io = on_io;
    env = (tw_graph_env_t){.port = &rig.port, .board = &rig.board};
    inst = (arm_stream_instance_t){.graph = img,
                                   .graph_bytes = tw_ib_finish(&ib, img, sizeof img),
                                   .env = &env,
                                   .memory = (uint8_t *)memory,
                                   .memory_bytes = sizeof memory};
}

static tw_err_t call(uint32_t command, void *data, uint32_t size)
{
    if (second) {
        arm_stream(command, (PTR_INT)&inst, (PTR_INT)data, size);
    } else {
        arm_graph_interpreter(command, &inst, data, size);
    }
    return inst.err;
}

static void a_graph_lives_by_these_calls_alone(void **state)
{
    (void)state;
    for (uint32_t gen = 0; gen < 2; gen++) {
        second = gen != 0;
        prepare(0);
        assert_int_equal(call(STREAM_RUN, NULL, 0), TW_E_STATE);
        assert_int_equal(call(STREAM_RESET, NULL, 0), TW_OK);
        for (uint32_t t = 0; t < 10; t++) {
            assert_int_equal(call(STREAM_RUN, NULL, 0), TW_OK);
        }
        assert_int_equal(rig.out_bytes[4], 10 * RIG_FRAME);
        for (uint32_t i = 0; i < 10 * RIG_SAMPLES; i++) {
            assert_int_equal(tw_get_le16(rig.out[4] + 2 * i), i);
        }
        /* after each node: filter, amplifier, and the end of the block */
        uint8_t how = TW_RUN_NODE, calls = 0;
        do {
            assert_int_equal(call(STREAM_RUN, &how, 1), TW_OK);
            calls++;
        } while (inst.goes_on);
        assert_in_range(calls, 2, 4);
        assert_int_equal(rig.out_bytes[4], 11 * RIG_FRAME);
        how = 4;
        assert_int_equal(call(STREAM_RUN, &how, 1), TW_E_ARG);
        /* mute of the amplifier, node 1 */
        uint8_t set[5] = {1, 0, 0, 0, 1}, read[8] = {1};
        assert_int_equal(call(STREAM_SET_PARAMETER | 3u << 15, set, sizeof set), TW_OK);
        assert_int_equal(call(STREAM_READ_PARAMETER | 3u << 15, read, sizeof read), TW_OK);
        assert_int_equal(inst.bytes, 1);
        assert_int_equal(read[4], 1);
        set[4] = 9;
        assert_int_equal(call(STREAM_SET_PARAMETER | 3u << 15, set, sizeof set), TW_E_PARAM_RANGE);
        uint8_t status[16];
        assert_int_equal(call(STREAM_FIFO_STATUS, status, sizeof status), TW_OK);
        assert_int_equal(tw_get_le32(status), 0);
        assert_int_equal(tw_get_le32(status + 4), RIG_FRAME);
        assert_int_equal(call(STREAM_FIFO_STATUS, status, 15), TW_E_ARG);
        assert_int_equal(call(STREAM_RESET | 1u << 8, NULL, 0), TW_OK);
        assert_int_equal(call(STREAM_END, NULL, 0), TW_OK);
        assert_int_equal(call(STREAM_RUN, NULL, 0), TW_E_STATE);
        assert_int_equal(call(STREAM_RESET, NULL, 0), TW_OK); /* loads again */
        assert_int_equal(call(STREAM_STOP, NULL, 0), TW_OK);
    }
}

static void drivers_acknowledge_by_the_number_of_their_io(void **state)
{
    (void)state;
    for (uint32_t gen = 0; gen < 2; gen++) {
        second = gen != 0;
        prepare(1);
        uint8_t data[RIG_FRAME];
        for (uint32_t i = 0; i < RIG_SAMPLES; i++) {
            tw_put_le16(data + 2 * i, (uint16_t)(500 + i));
        }
        arm_stream_io(0, data, sizeof data); /* nobody has it */
        assert_int_equal(call(STREAM_RESET, NULL, 0), TW_OK);
        assert_int_equal(call(STREAM_RUN, NULL, 0), TW_OK);
        assert_int_equal(rig.out_bytes[4], 0);
        if (second) {
            arm_stream_io(0, data, sizeof data);
        } else {
            arm_graph_interpreter_io_ack(0, data, sizeof data);
        }
        assert_int_equal(call(STREAM_RUN, NULL, 0), TW_OK);
        assert_int_equal(rig.out_bytes[4], RIG_FRAME);
        assert_int_equal(tw_get_le16(rig.out[4]), 500);
        assert_int_equal(call(STREAM_STOP, NULL, 0), TW_OK);
    }
}

static void memory_is_asked_for_first_and_refusals_have_a_place(void **state)
{
    (void)state;
    prepare(0);
    uint8_t need[4];
    assert_int_equal(call(STREAM_MEMREQ, need, sizeof need), TW_OK);
    const uint32_t bytes = tw_get_le32(need);
    assert_in_range(bytes, 256, sizeof memory);
    inst.memory_bytes = bytes;
    assert_int_equal(call(STREAM_RESET, NULL, 0), TW_OK);
    assert_int_equal(call(STREAM_STOP, NULL, 0), TW_OK);
    inst.memory_bytes = bytes - 1;
    assert_int_equal(call(STREAM_RESET, NULL, 0), TW_E_NOMEM);
    assert_int_equal(call(STREAM_MEMREQ, need, sizeof need), TW_E_NOMEM);
    assert_true(tw_get_le32(need) >= bytes);
    inst.memory_bytes = sizeof memory;
    img[200] ^= 1;
    assert_int_equal(call(STREAM_RESET, NULL, 0), TW_E_IMG_PAYLOAD_CRC);
    assert_int_equal(inst.fault.err, TW_E_IMG_PAYLOAD_CRC);
    assert_int_equal(call(99, NULL, 0), TW_E_STATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_lives_by_these_calls_alone),
        cmocka_unit_test(drivers_acknowledge_by_the_number_of_their_io),
        cmocka_unit_test(memory_is_asked_for_first_and_refusals_have_a_place),
    };
    return cmocka_run_group_tests_name("seed_api", tests, NULL, NULL);
}
