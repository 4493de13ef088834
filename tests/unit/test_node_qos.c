/* The qos node: the reference sets the pace, the others follow. */
#include "tests/unit/node_rig.h"

enum { CONCEAL = 1, SLACK, MADE = 16, DROPPED, MADE_OF, DROPPED_OF, EMPTY, ZERO = 0, HOLD, STRETCH, N = 64 };

static rig_t g;

static void open_qos(tw_format_t f, uint8_t streams, uint16_t hqos)
{
    rig_prepare_arcs(&g, "qos", f, f, streams, streams);
    g.reset.hqos = hqos;
    assert_int_equal(rig_reset(&g, false, 0), 0);
}

static uint32_t count(uint32_t index, uint32_t element)
{
    uint8_t wire[32];
    rig_get(&g, index, wire, sizeof wire);
    return tw_get_le32(wire + 4 * element);
}

/* Two mono S16 streams with so many instants each and this room. @return instants out */
static uint32_t run(uint32_t a, uint32_t b, uint32_t room, int16_t *out_b, uint32_t *used_b)
{
    static int16_t in[2][N], out[N];
    for (int16_t i = 0; i < N; i++) {
        in[0][i] = i, in[1][i] = (int16_t)(100 + i);
    }
    tw_xdm_t data[4] = {{in[0], 2 * a}, {in[1], 2 * b}, {out, 2 * room}, {out_b, 2 * room}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_int_equal(data[2].bytes, data[3].bytes);
    assert_int_equal(data[0].bytes, data[2].bytes); /* the reference loses nothing and waits for nobody */
    assert_memory_equal(in[0], out, data[2].bytes);
    *used_b = data[1].bytes / 2;
    return data[2].bytes / 2;
}

static void the_reference_sets_the_pace(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t a, b, room, slack, out, used, made, dropped;
        int16_t first;
    } cases[] = {
        {"equal", 8, 8, 8, 0, 8, 8, 0, 0, 100},
        {"the other has less", 8, 4, 8, 0, 8, 4, 4, 0, 100},
        {"the other has nothing", 8, 0, 8, 0, 8, 0, 8, 0, 0},
        {"the other has more", 4, 12, 8, 0, 4, 12, 0, 8, 108},
        {"more, within the slack", 4, 12, 8, 8, 4, 4, 0, 0, 100},
        {"more than the slack", 4, 16, 8, 8, 4, 8, 0, 4, 104},
        {"little room: both wait", 8, 8, 4, 0, 4, 4, 0, 0, 100},
        {"no reference", 0, 8, 8, 0, 0, 0, 0, 0, 77},
        {"no room", 8, 8, 0, 0, 0, 0, 0, 0, 77},
        {"whole frames", 7, 7, 7, 0, 4, 4, 0, 0, 100},
        {"slack in frames", 4, 16, 8, 5, 4, 8, 0, 4, 104},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        open_qos(rig_format(TW_RAW_S16, 1, 0, 4), 2, 1);
        uint8_t wire[4];
        tw_put_le32(wire, cases[i].slack);
        rig_set(&g, SLACK, wire, 4);
        int16_t y[N] = {77};
        uint32_t used;
        const uint32_t out = run(cases[i].a, cases[i].b, cases[i].room, y, &used);
        if (out != cases[i].out || used != cases[i].used || count(MADE, 0) != cases[i].made ||
            count(DROPPED, 0) != cases[i].dropped || y[0] != cases[i].first) {
            fail_msg("%s: %u out, %u used, %u made, %u dropped, %d", cases[i].why, out, used, count(MADE, 0),
                     count(DROPPED, 0), y[0]);
        }
        assert_true(count(MADE_OF, 1) == cases[i].made && count(DROPPED_OF, 1) == cases[i].dropped);
        assert_true(count(MADE_OF, 0) == 0 && count(DROPPED_OF, 0) == 0);
        rig_close(&g);
    }
}

static void what_is_missing_is_made_as_asked(void **state)
{
    (void)state;
    static const struct {
        uint8_t conceal;
        int16_t second[8];
    } cases[] = {
        {ZERO, {100, 101, 102, 103, 0, 0, 0, 0}},
        {HOLD, {100, 101, 102, 103, 103, 103, 103, 103}},
        {STRETCH,
         {102, 100, 100, 101, 102, 102, 102, 103}}, /* from 103, the last one, in steps of a half, ties to even */
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        int16_t y[N];
        uint32_t used;
        open_qos(rig_format(TW_RAW_S16, 1, 0, 4), 2, 1);
        rig_set_u8(&g, CONCEAL, cases[i].conceal);
        run(4, 4, 4, y, &used);
        run(8, 4, 8, y, &used);
        for (unsigned t = 0; t < 8; t++) {
            if (y[t] != cases[i].second[t]) {
                fail_msg("%u: instant %u is %d", cases[i].conceal, t, y[t]);
            }
        }
        run(4, 0, 4, y, &used);
        assert_int_equal(y[3], cases[i].conceal == ZERO ? 0 : 103);
        assert_int_equal(count(EMPTY, 0), 1);
        rig_close(&g);
    }
}

static void the_high_qos_input_is_the_reference_wherever_it_is(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_U8, 1, 0, 1);
    open_qos(f, 3, 4);
    uint8_t in[3][4] = {{1}, {2, 3, 4, 5}, {6, 7}}, out[3][4];
    tw_xdm_t data[6] = {{in[0], 1}, {in[1], 4}, {in[2], 2}, {out[0], 4}, {out[1], 4}, {out[2], 4}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_true(data[3].bytes == 2 && out[0][0] == 1 && out[0][1] == 1);
    assert_true(data[1].bytes == 4 && out[1][0] == 4 && out[1][1] == 5 && out[2][1] == 7);
    rig_close(&g);
}

static void streams_must_agree(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        const tw_format_t f = rig_format(TW_RAW_S16, 2, 0, 8);
        tw_err_t want = TW_E_IMG_ARC_FORMAT;
        rig_prepare_arcs(&g, "qos", f, f, 2, k == 3 ? 1 : 2);
        switch (k) {
        case 0:
            g.fmt[1].rate_hz = 8000;
            break;
        case 1:
            g.fmt[2].channels = 1;
            break;
        case 2:
            g.fmt[3].raw = TW_RAW_U16;
            break;
        default:
            want = TW_E_IMG_NODE; /* two in, one out */
        }
        assert_int_equal(rig_reset(&g, false, 0), -want);
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_sets_the_pace),
        cmocka_unit_test(what_is_missing_is_made_as_asked),
        cmocka_unit_test(the_high_qos_input_is_the_reference_wherever_it_is),
        cmocka_unit_test(streams_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
