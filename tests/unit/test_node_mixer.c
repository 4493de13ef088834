/* The mixer: paths, gains, ramps, meters. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { SLOPE_UP = 1, SLOPE_DOWN, GAIN, INPUTS = 60, LEVEL_DB = 64, PEAK_DB, CLIPPED, N = 100, MUTE = 1 << 16 };

static rig_t g;
static float in[8][N * 2], out[N * 2];

static void open_mixer(unsigned rx, unsigned ch_in, unsigned ch_out, uint32_t preset)
{
    const tw_format_t a = rig_format(TW_RAW_FP32, ch_in, 0, 1), b = rig_format(TW_RAW_FP32, ch_out, 0, 1);
    rig_prepare_arcs(&g, "mixer", a, b, (uint8_t)rx, 1);
    assert_int_equal(rig_reset(&g, false, preset), 0);
    for (unsigned k = 0; k < 8; k++) {
        for (unsigned i = 0; i < N * 2; i++) {
            in[k][i] = (float)(1u << k);
        }
    }
}

static uint32_t run(unsigned n)
{
    tw_xdm_t data[TW_MAX_NODE_ARCS];
    for (unsigned i = 0; i < g.reset.rx; i++) {
        data[i] = (tw_xdm_t){in[i], n * g.fmt[i].frame_bytes};
    }
    const uint32_t bytes = n * g.fmt[g.reset.rx].frame_bytes;
    data[g.reset.rx] = (tw_xdm_t){out, bytes};
    const uint32_t err = rig_command(&g, TW_CMD_RUN, 0, data);
    assert_int_equal(data[g.reset.rx].bytes, bytes);
    return err;
}

static tw_err_t set_path(unsigned k, int from, int from_ch, int to_ch)
{
    uint8_t wire[6];
    tw_put_le16(wire, (uint16_t)from), tw_put_le16(wire + 2, (uint16_t)from_ch), tw_put_le16(wire + 4, (uint16_t)to_ch);
    return rig_set(&g, 2 + 2 * k, wire, 6);
}

static tw_err_t set_gain(unsigned index, uint32_t word)
{
    uint8_t wire[4];
    tw_put_le32(wire, word);
    return rig_set(&g, index, wire, 4);
}

static void without_paths_all_inputs_go_straight(void **state)
{
    (void)state;
    open_mixer(3, 2, 2, 0);
    run(2);
    assert_true(out[0] == 7.0f && out[1] == 7.0f && out[3] == 7.0f);
    rig_close(&g);
    open_mixer(3, 1, 2, 0); /* mono to both */
    run(1);
    assert_true(out[0] == 7.0f && out[1] == 7.0f);
    rig_close(&g);
    open_mixer(8, 1, 1, 5); /* preset 5: five of them */
    run(1);
    assert_true(out[0] == 31.0f);
    uint8_t v;
    rig_get(&g, INPUTS, &v, 1);
    assert_int_equal(v, 5);
    rig_close(&g);
}

static void paths_add_mute_and_share_the_output_gain(void **state)
{
    (void)state;
    open_mixer(3, 2, 2, 0);
    set_path(1, 0, 0, 0);
    set_path(2, 1, 1, 0);
    set_gain(7, 0x806); /* half */
    set_path(3, 2, 0, 1);
    set_gain(9, 0x805 | MUTE);
    set_path(4, 0, 1, 1);
    set_path(5, 0, 1, 1); /* the same way twice: gains add */
    run(1);
    assert_true(out[0] == 1.0f + 1.0f && out[1] == 2.0f);
    set_gain(GAIN, 0x804); /* twice */
    rig_set_u8(&g, SLOPE_UP, 0);
    run(1);
    assert_true(out[0] == 4.0f && out[1] == 4.0f);
    set_gain(9, 0x805); /* unmuted with the gain it had */
    run(1);
    assert_true(out[1] == 12.0f);
    rig_close(&g);
}

static void each_direction_has_its_slope(void **state)
{
    (void)state;
    open_mixer(1, 1, 1, 0);
    run(1);
    rig_set_u8(&g, SLOPE_UP, 2);
    rig_set_u8(&g, SLOPE_DOWN, 4);
    set_gain(GAIN, 0x806);
    run(2);
    assert_true(fabsf(out[0] - (0.5f + 0.5f * 15 / 16)) < 1e-6f);
    run(N);
    run(N);
    set_gain(GAIN, 0x805);
    run(2);
    assert_true(fabsf(out[0] - (1.0f - 0.5f * 3 / 4)) < 1e-5f);
    rig_close(&g);
}

static void a_changed_way_leaves_and_comes_on_ramps(void **state)
{
    (void)state;
    open_mixer(2, 1, 1, 0);
    set_path(1, 0, 0, 0);
    run(1);
    rig_set_u8(&g, SLOPE_UP, 5);
    rig_set_u8(&g, SLOPE_DOWN, 5);
    float last = out[0];
    assert_true(last == 1.0f);
    for (unsigned k = 0; k < 60; k++) { /* from way to way before the last one has left */
        if (k < 50) {
            set_path(1, k % 3 == 0 ? 1 : k % 3 == 1 ? -1 : 0, 0, 0);
        }
        run(20);
        for (unsigned i = 0; i < 20; i++) {
            assert_true(fabsf(out[i] - last) <= 3.0f / 32 + 1e-6f); /* 1/32 of the way of each of the two */
            last = out[i];
        }
    }
    for (unsigned k = 0; k < 20; k++) {
        run(N);
    }
    assert_true(out[N - 1] == 2.0f || out[N - 1] == 1.0f || out[N - 1] == 3.0f);
    rig_close(&g);
}

static void what_does_not_fit_is_put_back_whole(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        int path[3];
    } cases[] = {{"no such arc", {2, 0, 0}}, {"no such channel", {0, 1, 0}}, {"no such output", {0, 0, 1}}};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        open_mixer(2, 1, 1, 0);
        run(1);
        set_path(1, cases[i].path[0], cases[i].path[1], cases[i].path[2]);
        if (run(1) != (uint32_t)-TW_E_PARAM_MATCH || out[0] != 3.0f) {
            fail_msg("%s: %g", cases[i].why, (double)out[0]);
        }
        assert_int_equal(run(1), 0);
        rig_close(&g);
    }
    open_mixer(2, 1, 1, 0);
    rig_set_u8(&g, INPUTS, 3);
    assert_int_equal(run(1), -TW_E_PARAM_MATCH);
    assert_int_equal(set_gain(5, 0x1000), TW_E_PARAM_RANGE); /* between code and mute bit */
    assert_int_equal(set_gain(5, 0x10805), TW_OK);
    rig_close(&g);
}

static void thirty_two_channels_of_eight_inputs_have_room(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_FP32, 32, 1, 1);
    rig_prepare_arcs(&g, "mixer", f, f, 8, 1);
    assert_int_equal(rig_reset(&g, false, 0), 0);
    float x[8][32], y[32];
    tw_xdm_t data[9];
    for (unsigned turn = 0; turn < 4; turn++) {
        for (unsigned k = 0; k < 8; k++) {
            for (unsigned c = 0; c < 32; c++) {
                x[k][c] = (float)(k * 32 + c);
            }
            data[k] = (tw_xdm_t){x[k], sizeof x[k]};
        }
        data[8] = (tw_xdm_t){y, sizeof y};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        for (unsigned c = 0; c < 32 && turn == 0; c++) {
            assert_true(y[c] == 896.0f + 8.0f * (float)c);
        }
        set_path(turn + 1, (int)turn, 31, 31);
    }
    rig_close(&g);
}

static void the_meter_reads_what_goes_out(void **state)
{
    (void)state;
    open_mixer(2, 1, 1, 0);
    for (unsigned i = 0; i < N; i++) {
        in[0][i] = i % 2 ? 0.25f : -0.25f;
        in[1][i] = i % 2 ? 0.25f : -0.25f;
    }
    run(N);
    assert_true(fabsf(rig_get_f32(&g, LEVEL_DB) + 6.0206f) < 0.001f &&
                fabsf(rig_get_f32(&g, PEAK_DB) + 6.0206f) < 0.001f);
    set_gain(GAIN, 0x803);
    rig_set_u8(&g, SLOPE_UP, 0);
    run(N);
    uint8_t clipped[4];
    rig_get(&g, CLIPPED, clipped, 4);
    assert_int_equal(tw_get_le32(clipped), N);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_paths_all_inputs_go_straight),
        cmocka_unit_test(paths_add_mute_and_share_the_output_gain),
        cmocka_unit_test(each_direction_has_its_slope),
        cmocka_unit_test(a_changed_way_leaves_and_comes_on_ramps),
        cmocka_unit_test(what_does_not_fit_is_put_back_whole),
        cmocka_unit_test(thirty_two_channels_of_eight_inputs_have_room),
        cmocka_unit_test(the_meter_reads_what_goes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
