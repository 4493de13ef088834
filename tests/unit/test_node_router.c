/* The router: moves, sums, changes under way. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { FADE_MS = 40, N = 64 };

static void open_router(rig_t *g, tw_format_t in, tw_format_t out, uint8_t rx, uint8_t tx)
{
    rig_prepare_arcs(g, "router", in, out, rx, tx);
    assert_int_equal(rig_reset(g, false, 0), 0);
}

static tw_err_t set_move(rig_t *g, uint32_t k, int from, int from_ch, int to, int to_ch)
{
    const int v[4] = {from, from_ch, to, to_ch};
    uint8_t wire[8];
    for (unsigned i = 0; i < 4; i++) {
        tw_put_le16(wire + 2 * i, (uint16_t)v[i]);
    }
    return rig_set(g, 2 + k, wire, sizeof wire);
}

/* One RUN of two mono FP32 arcs holding a and b to one. */
static uint32_t run_two(rig_t *g, float a, float b, float *out)
{
    static float in[2][N];
    for (unsigned i = 0; i < N; i++) {
        in[0][i] = a, in[1][i] = b;
    }
    tw_xdm_t data[3] = {{in[0], sizeof in[0]}, {in[1], sizeof in[1]}, {out, N * sizeof *out}};
    const uint32_t err = rig_command(g, TW_CMD_RUN, 0, data);
    assert_int_equal(data[2].bytes, N * sizeof *out);
    return err;
}

static void any_type_of_whole_bytes_is_copied_word_for_word(void **state)
{
    (void)state;
    for (uint32_t raw = TW_RAW_S8; raw < TW_RAW_COUNT; raw++) {
        const uint32_t size = tw_raw_bits(raw) / 8;
        for (unsigned blocks = 0; blocks < 2; blocks++) {
            rig_t g;
            const tw_format_t in = rig_format((tw_raw_t)raw, 2, blocks, 3), out = rig_format((tw_raw_t)raw, 1, 0, 3);
            open_router(&g, in, out, 1, 2);
            set_move(&g, 1, 0, 0, 2, 0);
            set_move(&g, 2, 0, 1, 1, 0);
            uint8_t x[6 * 32], y[2][3 * 32];
            for (uint32_t i = 0; i < 6 * size; i++) {
                x[i] = (uint8_t)(37 * i + raw);
            }
            tw_xdm_t data[3] = {{x, 6 * size}, {y[0], 3 * size}, {y[1], 3 * size}};
            assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
            for (uint32_t i = 0; i < 6; i++) {
                const uint32_t t = blocks ? i % 3 : i / 2, c = blocks ? i / 3 : i % 2;
                if (memcmp(y[1 - c] + t * size, x + i * size, size) != 0) {
                    fail_msg("%s, blocks %u, sample %u", tw_raw_name(raw), blocks, i);
                }
            }
            rig_close(&g);
        }
    }
}

static void moves_to_one_channel_add_and_saturate(void **state)
{
    (void)state;
    static const struct {
        tw_raw_t raw;
        uint32_t a, b, want;
    } cases[] = {
        {TW_RAW_S16, 0x7000, 0x7000, 0x7FFF},
        {TW_RAW_Q15, 0x8000, 0xFFFF, 0x8000},
        {TW_RAW_S16, 5, 0xFFF9, 0xFFFE},
        {TW_RAW_U8, 200, 100, 255},
        {TW_RAW_S8, 0x40, 0x40, 0x7F},
        {TW_RAW_U16, 1, 2, 3},
        {TW_RAW_Q31, 0x7FFFFFFF, 1, 0x7FFFFFFF},
        {TW_RAW_S32, 0x7FFFFFF0, 0xFFFFFFFF, 0x7FFFFFEF},
        {TW_RAW_FP32, 0x3F800000, 0x40000000, 0x40400000}, /* 1 + 2 */
        {TW_RAW_FP16, 0x3C00, 0x4000, 0x4200},
        {TW_RAW_CQ15, 0x00017FFF, 0x00020001, 0x00037FFF}, /* both parts by themselves */
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_format_t f = rig_format(cases[i].raw, 1, 0, 1);
        const uint32_t size = tw_raw_bits(cases[i].raw) / 8;
        rig_t g;
        open_router(&g, f, f, 2, 1);
        set_move(&g, 1, 0, 0, 2, 0);
        set_move(&g, 2, 1, 0, 2, 0);
        uint32_t a = cases[i].a, b = cases[i].b, y = 0;
        tw_xdm_t data[3] = {{&a, size}, {&b, size}, {&y, size}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        if (y != cases[i].want) {
            fail_msg("%s: %x + %x = %x", tw_raw_name(cases[i].raw), cases[i].a, cases[i].b, y);
        }
        rig_close(&g);
    }
}

static void what_does_not_fit_is_put_back_whole(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        int move[4];
    } cases[] = {
        {"no such receive arc", {2, 0, 2, 0}},          {"no such channel of it", {0, 1, 2, 0}},
        {"a receive arc as destination", {0, 0, 1, 0}}, {"no such transmit arc", {0, 0, 3, 0}},
        {"no such channel there", {0, 0, 2, 1}},
    };
    const tw_format_t f = rig_format(TW_RAW_FP32, 1, 0, 1);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        float y[N];
        uint8_t was[8], now[8];
        open_router(&g, f, f, 2, 1);
        set_move(&g, 1, 1, 0, 2, 0);
        assert_int_equal(run_two(&g, 1, 2, y), 0);
        rig_get(&g, 3, was, sizeof was);
        set_move(&g, 1, cases[i].move[0], cases[i].move[1], cases[i].move[2], cases[i].move[3]);
        if (run_two(&g, 1, 2, y) != (uint32_t)-TW_E_PARAM_MATCH || y[N - 1] != 2.0f) {
            fail_msg("%s", cases[i].why);
        }
        rig_get(&g, 3, now, sizeof now);
        assert_memory_equal(was, now, sizeof was);
        assert_int_equal(run_two(&g, 1, 2, y), 0);
        rig_close(&g);
    }
}

static void words_without_a_number_cannot_be_added(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_S64, 1, 0, 1);
    rig_t g;
    open_router(&g, f, f, 2, 1);
    set_move(&g, 1, 0, 0, 2, 0);
    set_move(&g, 2, 1, 0, 2, 0);
    uint64_t a = 1, b = 2, y = 99;
    tw_xdm_t data[3] = {{&a, 8}, {&b, 8}, {&y, 8}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), -TW_E_PARAM_MATCH);
    assert_true(y == 0); /* no move was there before */
    rig_close(&g);
}

static void a_change_never_steps_further_than_its_fade(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_FP32, 1, 0, 1);
    rig_t g;
    float y[N], last = 1;
    open_router(&g, f, f, 2, 1);
    set_move(&g, 1, 0, 0, 2, 0);
    run_two(&g, 1, -1, y);
    rig_set_f32(&g, FADE_MS, 5); /* 80 instants of 16 kHz: from 1 to -1 in steps of 1/40 */
    for (unsigned k = 0; k < 30; k++) {
        if (k % 3 == 0) {
            set_move(&g, 1, (k / 3 + 1) % 2, 0, 2, 0);
        } else if (k == 10) {
            set_move(&g, 1, -1, -1, -1, -1);
        }
        run_two(&g, 1, -1, y);
        for (unsigned i = 0; i < N; i++) {
            assert_true(fabsf(y[i] - last) <= 1.0f / 40 + 1e-6f);
            last = y[i];
        }
    }
    rig_close(&g);
}

static void a_block_is_a_whole_table(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_FP32, 1, 0, 1);
    rig_t g;
    float y[N];
    open_router(&g, f, f, 2, 1);
    const uint8_t both[18] = {2, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
    assert_int_equal(rig_set(&g, TW_TAG_ALL, both, sizeof both), TW_OK);
    run_two(&g, 1, 2, y);
    assert_true(y[0] == 3.0f);
    assert_int_equal(rig_set(&g, TW_TAG_ALL, both, 10), TW_OK); /* the second move goes */
    run_two(&g, 1, 2, y);
    run_two(&g, 1, 2, y);
    assert_true(y[N - 1] == 1.0f);
    rig_close(&g);
}

static void arcs_must_agree(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 5; k++) {
        rig_t g;
        const tw_format_t f = rig_format(TW_RAW_S16, 2, 0, 8);
        tw_err_t want = TW_E_IMG_ARC_FORMAT;
        rig_prepare_arcs(&g, "router", f, f, 3, k == 4 ? 6 : 2);
        switch (k) {
        case 0:
            g.fmt[2].rate_hz = 8000;
            break;
        case 1:
            g.fmt[4].raw = TW_RAW_U16;
            break;
        case 2:
            g.fmt[1].samples = 4;
            break;
        case 3:
            g.fmt[0].ts = 1, want = TW_E_IMG_FORMAT;
            break;
        case 4:
            want = TW_E_IMG_NODE; /* nine arcs */
            break;
        }
        uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
        assert_int_equal(rig_reset(&g, false, 0), -want);
        assert_int_equal(g.d->memreq(g.reset.fmt, g.reset.rx, g.reset.tx, extra, &arc), want);
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_type_of_whole_bytes_is_copied_word_for_word),
        cmocka_unit_test(moves_to_one_channel_add_and_saturate),
        cmocka_unit_test(what_does_not_fit_is_put_back_whole),
        cmocka_unit_test(words_without_a_number_cannot_be_added),
        cmocka_unit_test(a_change_never_steps_further_than_its_fade),
        cmocka_unit_test(a_block_is_a_whole_table),
        cmocka_unit_test(arcs_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
