/* The split: every output gets every frame, none before the others, none too many. */
#include "tests/unit/node_rig.h"

enum { ROOM = 4096 };

static tw_format_t with_stamp(tw_format_t f, unsigned ts_size, unsigned bytes)
{
    f.ts = 1;
    f.ts_size = (uint8_t)ts_size;
    f.frame_bytes += bytes;
    return f;
}

static void open_split(rig_t *g, tw_format_t f, uint8_t outputs)
{
    rig_prepare_n(g, "split", f, f, outputs);
    assert_int_equal(rig_reset(g, false, 0), 0);
}

/* RUN with `room` for each output; *given takes what the node says of each. @return bytes consumed */
static uint32_t run_split(rig_t *g, const uint8_t *in, uint32_t bytes, uint8_t out[][ROOM], const uint32_t *room,
                          uint32_t *given)
{
    tw_xdm_t data[TW_MAX_NODE_ARCS] = {{(void *)(uintptr_t)in, bytes}};
    for (uint32_t i = 0; i < g->reset.tx; i++) {
        memset(out[i], 0x5A, ROOM);
        data[1 + i] = (tw_xdm_t){out[i], room[i]};
    }
    assert_int_equal(rig_command(g, TW_CMD_RUN, 0, data), 0);
    for (uint32_t i = 0; i < g->reset.tx; i++) {
        given[i] = data[1 + i].bytes;
    }
    return data[0].bytes;
}

static void the_fullest_output_decides_for_all(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t outputs;
        uint32_t in, room[3], want;
    } cases[] = {
        {"room for all", 3, 96, {96, 96, 96}, 96},
        {"one has less", 3, 96, {96, 64, 96}, 64},
        {"the last has none", 3, 96, {96, 96, 0}, 0},
        {"less data than room", 2, 32, {96, 64, 0}, 32},
        {"no data", 2, 0, {96, 64, 0}, 0},
        {"a frame is not cut", 2, 96, {63, 96, 0}, 32},
        {"one output is a copy", 1, 96, {96, 0, 0}, 96},
    };
    static uint8_t in[96], out[3][ROOM];
    for (uint32_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        uint32_t given[3];
        open_split(&g, rig_format(TW_RAW_S16, 2, 0, 8), cases[i].outputs);
        const uint32_t used = run_split(&g, in, cases[i].in, out, cases[i].room, given);
        for (uint32_t k = 0; k < cases[i].outputs; k++) {
            if (used != cases[i].want || given[k] != used || memcmp(out[k], in, used) != 0 || out[k][used] != 0x5A) {
                fail_msg("%s: %u in, output %u got %u", cases[i].why, used, k, given[k]);
            }
        }
        rig_close(&g);
    }
}

static void frames_stay_whole_whatever_is_in_them(void **state)
{
    (void)state;
    const tw_format_t array = {.frame_bytes = 12, .samples = 0, .raw = TW_RAW_DATA_ARRAY, .channels = 1};
    const struct {
        const char *why;
        tw_format_t f;
        uint32_t room, want;
    } cases[] = {
        {"blocks", rig_format(TW_RAW_S16, 2, 1, 8), 63, 32},
        {"stamps", with_stamp(rig_format(TW_RAW_S16, 1, 0, 8), 1, 4), 39, 20},
        {"bits", rig_format(TW_RAW_U1, 1, 0, 32), 7, 4},
        {"array", array, 35, 24},
        {"samples alone", rig_format(TW_RAW_S16, 1, 0, 8), 63, 48},
        {"a type of three bytes", rig_format(TW_RAW_Q23, 2, 0, 8), 100, 96},
        {"a type of 32 bytes", rig_format(TW_RAW_FP256, 1, 0, 1), 100, 96},
    };
    static uint8_t in[128], out[2][ROOM];
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        uint32_t given[2];
        open_split(&g, cases[i].f, 2);
        const uint32_t used = run_split(&g, in, 128, out, (uint32_t[]){cases[i].room, 128}, given);
        if (used != cases[i].want) {
            fail_msg("%s: %u bytes", cases[i].why, used);
        }
        rig_close(&g);
    }
}

static void every_raw_type_and_all_15_outputs_work(void **state)
{
    (void)state;
    static uint8_t in[256], out[15][ROOM];
    uint32_t seed = 99, given[15], room[15];
    for (uint32_t i = 0; i < 15; i++) {
        room[i] = 256;
    }
    for (uint32_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)rig_noise(&seed);
    }
    for (unsigned raw = 1; raw < TW_RAW_COUNT; raw++) {
        const tw_format_t f = rig_format((tw_raw_t)raw, 1, 0, 8);
        rig_t g;
        open_split(&g, f, 15);
        const uint32_t bytes = f.frame_bytes;
        assert_int_equal(run_split(&g, in, bytes, out, room, given), bytes);
        for (unsigned k = 0; k < 15; k++) {
            assert_int_equal(given[k], bytes);
            assert_memory_equal(out[k], in, bytes);
        }
        rig_close(&g);
    }
}

static void outputs_of_another_kind_are_refused(void **state)
{
    (void)state;
    tw_format_t base = rig_format(TW_RAW_S16, 2, 0, 8);
    base.unit = 17; /* V */
    static const struct {
        const char *why;
        uint8_t raw, channels, interleave, ts, unit;
        uint32_t frame;
        tw_err_t err;
    } cases[] = {
        {"the same", TW_RAW_S16, 2, 0, 0, 17, 32, TW_OK},
        {"other frames", TW_RAW_S16, 2, 0, 0, 17, 64, TW_E_IMG_ARC_FORMAT},
        {"other raw type", TW_RAW_U16, 2, 0, 0, 17, 32, TW_E_IMG_ARC_FORMAT},
        {"other channels", TW_RAW_S16, 1, 0, 0, 17, 32, TW_E_IMG_ARC_FORMAT},
        {"blocks", TW_RAW_S16, 2, 1, 0, 17, 32, TW_E_IMG_ARC_FORMAT},
        {"stamps", TW_RAW_S16, 2, 0, 3, 17, 34, TW_E_IMG_ARC_FORMAT},
        {"other unit", TW_RAW_S16, 2, 0, 0, 5, 32, TW_E_IMG_ARC_FORMAT},
        {"any unit", TW_RAW_S16, 2, 0, 0, 0, 32, TW_OK},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        rig_prepare_n(&g, "split", base, base, 3);
        tw_format_t *f = &g.fmt[2];
        f->raw = cases[i].raw;
        f->channels = cases[i].channels;
        f->interleave = cases[i].interleave;
        f->ts = cases[i].ts;
        f->unit = cases[i].unit;
        f->frame_bytes = cases[i].frame;
        uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
        const tw_err_t foretold = g.d->memreq(g.reset.fmt, 1, 3, extra, &arc);
        const uint32_t reset = rig_reset(&g, false, 0);
        if (foretold != cases[i].err || reset != (uint32_t)-cases[i].err || (foretold != TW_OK && arc != 2)) {
            fail_msg("%s: foretold %d at arc %u, reset %u", cases[i].why, foretold, arc, reset);
        }
        rig_close(&g);
    }
}

/* Random rooms, again and again: each output sees the input's bytes in order, all of them. */
static void any_rooms_lose_nothing(void **state)
{
    (void)state;
    static uint8_t in[3000], out[4][ROOM], all[4][3000];
    uint32_t seed = 5;
    for (uint32_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)rig_noise(&seed);
    }
    rig_t g;
    open_split(&g, rig_format(TW_RAW_S32, 3, 0, 5), 4);
    uint32_t at = 0;
    for (unsigned turn = 0; turn < 10000 && at < sizeof in; turn++) {
        uint32_t room[4], given[4];
        for (unsigned k = 0; k < 4; k++) {
            room[k] = rig_noise(&seed) % 300;
        }
        const uint32_t used = run_split(&g, in + at, tw_min_u32(rig_noise(&seed) % 200, 3000 - at), out, room, given);
        for (unsigned k = 0; k < 4; k++) {
            memcpy(all[k] + at, out[k], given[k]);
        }
        at += used;
    }
    assert_int_equal(at, sizeof in);
    for (unsigned k = 0; k < 4; k++) {
        assert_memory_equal(all[k], in, sizeof in);
    }
    rig_close(&g);
}

static void it_has_no_parameters_and_one_preset(void **state)
{
    (void)state;
    rig_t g;
    open_split(&g, rig_format(TW_RAW_S16, 1, 0, 4), 2);
    uint8_t byte = 0;
    tw_xdm_t data = {&byte, 1};
    tw_fault_t fault = {0};
    assert_int_equal(tw_param_check(g.d, &g.fmt[0], 1, 0, &byte, 1, &fault), TW_E_PARAM_INDEX);
    assert_int_equal(rig_command(&g, TW_CMD_READ_PARAMETER, 1, &data), -TW_E_PARAM_INDEX);
    assert_int_equal(rig_reset(&g, false, 1), -TW_E_PARAM_PRESET);
    assert_int_equal(rig_command(&g, TW_CMD_STOP, 0, &data), 0);
    assert_int_equal(rig_command(&g, TW_CMD_MEMREQ, 0, &data), -TW_E_UNSUPPORTED);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fullest_output_decides_for_all),
        cmocka_unit_test(frames_stay_whole_whatever_is_in_them),
        cmocka_unit_test(every_raw_type_and_all_15_outputs_work),
        cmocka_unit_test(outputs_of_another_kind_are_refused),
        cmocka_unit_test(any_rooms_lose_nothing),
        cmocka_unit_test(it_has_no_parameters_and_one_preset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
