/* Pictures against the plainest loops there are. */
#include "tests/unit/node_rig.h"
#include <math.h>

static uint32_t seed = 88675123u;

static tw_format_t picture(tw_raw_t raw, unsigned channels, unsigned planes, uint32_t w, uint32_t h)
{
    tw_format_t f = rig_format(raw, channels, planes, w * h);
    f.domain = 6;
    f.mapping = h << 16 | w;
    return f;
}

static double value(tw_raw_t raw, const void *p, uint32_t i)
{
    switch (raw) {
    case TW_RAW_U8:
        return ((const uint8_t *)p)[i];
    case TW_RAW_S8:
        return ((const int8_t *)p)[i];
    case TW_RAW_U16:
        return ((const uint16_t *)p)[i];
    default:
        return ((const int16_t *)p)[i];
    }
}

static uint32_t place(uint32_t w, uint32_t h, uint32_t channels, bool planes, uint32_t x, uint32_t y, uint32_t c)
{
    return planes ? c * w * h + y * w + x : (y * w + x) * channels + c;
}

/* What lies at (x, y), also beyond the edges. */
static double beyond(tw_raw_t raw, const void *p, uint32_t w, uint32_t h, uint32_t ch, bool planes, int x, int y,
                     uint32_t c, unsigned border)
{
    const int last[2] = {(int)w - 1, (int)h - 1};
    int at[2] = {x, y};
    for (unsigned k = 0; k < 2; k++) {
        if (at[k] >= 0 && at[k] <= last[k]) {
            continue;
        }
        if (border == 1) {
            return 0;
        }
        const int mirrored = at[k] < 0 ? -at[k] : 2 * last[k] - at[k], edge = at[k] < 0 ? 0 : last[k];
        at[k] = border == 2 && mirrored >= 0 && mirrored <= last[k] ? mirrored : edge;
    }
    return value(raw, p, place(w, h, ch, planes, (uint32_t)at[0], (uint32_t)at[1], c));
}

static const struct {
    tw_raw_t raw;
    double low, high;
} raws[] = {{TW_RAW_U8, 0, 255}, {TW_RAW_S8, -128, 127}, {TW_RAW_U16, 0, 65535}, {TW_RAW_S16, -32768, 32767}};

static double saturated(unsigned r, double v)
{
    v = v < raws[r].low ? raws[r].low : v > raws[r].high ? raws[r].high : v;
    return v < 0 ? -floor(-v + 0.5) : floor(v + 0.5);
}

static void a_kernel_is_its_sum_at_every_pixel_and_border(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 240; round++) {
        const unsigned r = round % 4, side = 1 + 2 * (round / 4 % 3), mode = round / 12 % 3, border = round / 36 % 3;
        const uint32_t w = 1 + rig_noise(&seed) % 9, h = 1 + rig_noise(&seed) % 9, ch = 1 + round % 3;
        const bool planes = ch > 1 && round % 2 != 0;
        const tw_format_t f = picture(raws[r].raw, ch, planes, w, h);
        rig_t g;
        rig_open(&g, "filter2D", f, f, 0);
        double kernel[25] = {0};
        uint8_t wire[100];
        for (unsigned i = 0; i < 25; i++) { /* eighths: sums are exact in single precision */
            kernel[i] = (double)((int)(rig_noise(&seed) % 17) - 8) / 8;
            tw_put_f32(wire + 4 * i, (float)kernel[i]);
        }
        assert_int_equal(rig_set_u8(&g, 1, (uint8_t)side), TW_OK);
        assert_int_equal(rig_set(&g, 2, wire, 100), TW_OK);
        assert_int_equal(rig_set_f32(&g, 3, 3), TW_OK);
        assert_int_equal(rig_set_u8(&g, 4, (uint8_t)mode), TW_OK);
        assert_int_equal(rig_set_u8(&g, 5, (uint8_t)border), TW_OK);
        uint8_t *in = malloc(f.frame_bytes), *out = malloc(f.frame_bytes);
        for (uint32_t i = 0; i < f.frame_bytes; i++) {
            in[i] = (uint8_t)rig_noise(&seed);
        }
        assert_int_equal(rig_run(&g, in, f.frame_bytes, out, f.frame_bytes), 0);
        for (uint32_t i = 0; i < w * h * ch; i++) {
            const uint32_t c = i % ch, x = i / ch % w, y = i / ch / w;
            double a = 0, b = 0;
            for (unsigned k = 0; k < side * side; k++) {
                const int dx = (int)(k % side) - (int)side / 2, dy = (int)(k / side) - (int)side / 2;
                const double v = beyond(raws[r].raw, in, w, h, ch, planes, (int)x + dx, (int)y + dy, c, border);
                a += kernel[k] * v;
                b += kernel[k % side * side + k / side] * v;
            }
            const double want = saturated(r, 3 + (mode == 0 ? a : mode == 1 ? fabs(a) : fabs(a) + fabs(b)));
            const double got = value(raws[r].raw, out, place(w, h, ch, planes, x, y, c));
            if (want < got || want > got) {
                fail_msg("round %u, %ux%u, (%u %u) channel %u: %g, sum %g", round, w, h, x, y, c, got, want);
            }
        }
        assert_int_equal(rig_run(&g, in, f.frame_bytes, in, f.frame_bytes), 0); /* in place */
        assert_memory_equal(in, out, f.frame_bytes);
        free(in);
        free(out);
        rig_close(&g);
    }
}

static void presets_do_what_they_are_called(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t preset, middle, beside;
    } cases[] = {
        {"copy", 1, 90, 0}, {"box", 2, 10, 10}, {"Gauss", 3, 13, 8}, {"sharpen", 4, 255, 0}, {"Laplace", 6, 255, 90},
    };
    uint8_t in[49] = {0}, out[49];
    in[24] = 90;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_format_t f = picture(TW_RAW_U8, 1, 0, 7, 7);
        rig_t g;
        rig_open(&g, "filter2D", f, f, cases[i].preset);
        assert_int_equal(rig_run(&g, in, 49, out, 49), 0);
        if (out[24] != cases[i].middle || out[25] != cases[i].beside || out[0] != 0) {
            fail_msg("%s: %u, beside %u", cases[i].why, out[24], out[25]);
        }
        rig_close(&g);
    }
    const tw_format_t f = picture(TW_RAW_S16, 1, 0, 7, 7);
    rig_t g;
    int16_t step[49], edges[49];
    for (unsigned k = 0; k < 49; k++) {
        step[k] = k % 7 < 3 ? 0 : 100;
    }
    rig_open(&g, "filter2D", f, f, 5); /* Sobel: four times the step on both sides of the edge, nothing elsewhere */
    assert_int_equal(rig_run(&g, step, 98, edges, 98), 0);
    for (unsigned k = 0; k < 49; k++) {
        assert_int_equal(edges[k], k % 7 == 2 || k % 7 == 3 ? 400 : 0);
    }
    rig_close(&g);
}

static void quarter_turns_are_clockwise(void **state)
{
    (void)state;
    static const uint8_t in[6] = {1, 2, 3, 4, 5, 6}; /* 3 wide, 2 high */
    static const uint8_t want[4][6] = {{1, 2, 3, 4, 5, 6}, {4, 1, 5, 2, 6, 3}, {6, 5, 4, 3, 2, 1}, {3, 6, 2, 5, 1, 4}};
    for (unsigned turn = 0; turn < 4; turn++) {
        rig_t g;
        uint8_t out[6];
        rig_open(&g, "filter2D", picture(TW_RAW_U8, 1, 0, 3, 2),
                 picture(TW_RAW_U8, 1, 0, turn % 2 != 0 ? 2 : 3, turn % 2 != 0 ? 3 : 2), turn == 0 ? 1 : 6 + turn);
        for (uint8_t scaling = 0; scaling < 2; scaling++) { /* same size: both are exact */
            assert_int_equal(rig_set_u8(&g, 7, scaling), TW_OK);
            assert_int_equal(rig_run(&g, in, 6, out, 6), 0);
            assert_memory_equal(out, want[turn], 6);
        }
        rig_close(&g);
    }
}

static void other_sizes_are_nearest_or_bilinear(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        const uint32_t w = 1 + rig_noise(&seed) % 9, h = 1 + rig_noise(&seed) % 9, ow = 1 + rig_noise(&seed) % 20,
                       oh = 1 + rig_noise(&seed) % 20;
        uint8_t in[81 * 3], out[400 * 3];
        rig_t g;
        rig_open(&g, "filter2D", picture(TW_RAW_U8, 3, 0, w, h), picture(TW_RAW_U8, 3, 0, ow, oh),
                 round % 2 != 0 ? 10 : 1);
        for (uint32_t i = 0; i < w * h * 3; i++) {
            in[i] = (uint8_t)rig_noise(&seed);
        }
        assert_int_equal(rig_run(&g, in, w * h * 3, out, ow * oh * 3), 0);
        for (uint32_t i = 0; i < ow * oh * 3; i++) {
            const uint32_t c = i % 3;
            const double fx = (i / 3 % ow + 0.5) * w / ow, fy = (i / 3 / ow + 0.5) * h / oh;
            double want;
            if (round % 2 == 0) {
                want = in[((uint32_t)fy * w + (uint32_t)fx) * 3 + c];
            } else {
                const double x = fmax(fx - 0.5, 0), y = fmax(fy - 0.5, 0);
                const uint32_t x0 = (uint32_t)x, y0 = (uint32_t)y, x1 = x0 + 1 < w ? x0 + 1 : x0,
                               y1 = y0 + 1 < h ? y0 + 1 : y0;
                const double a = in[(y0 * w + x0) * 3 + c], b = in[(y0 * w + x1) * 3 + c];
                const double d = in[(y1 * w + x0) * 3 + c], e = in[(y1 * w + x1) * 3 + c];
                want = (a + (b - a) * (x - x0)) * (1 - (y - y0)) + (d + (e - d) * (x - x0)) * (y - y0);
            }
            assert_true(fabs(want - out[i]) <= 0.51);
        }
        rig_close(&g);
    }
}

static void what_is_no_picture_is_refused(void **state)
{
    (void)state;
    tw_format_t good = picture(TW_RAW_U8, 1, 0, 8, 6), sound = good, border = good, wide = good,
                rgb = picture(TW_RAW_U8, 3, 0, 8, 6);
    sound.domain = 1;
    border.samples = 10 * 8;
    border.frame_bytes = 80;
    wide.mapping = 1u << 16 | 5000;
    wide.samples = 5000;
    const struct {
        const char *node;
        tw_format_t in, out;
        tw_err_t want;
    } cases[] = {
        {"filter2D", sound, good, TW_E_IMG_FORMAT},
        {"filter2D", good, border, TW_E_IMG_FORMAT},
        {"filter2D", wide, good, TW_E_IMG_FORMAT},
        {"filter2D", good, rgb, TW_E_IMG_ARC_FORMAT},
        {"filter2D", good, picture(TW_RAW_S8, 1, 0, 8, 6), TW_E_IMG_ARC_FORMAT},
        {"filter2D", picture(TW_RAW_FP32, 1, 0, 8, 6), good, TW_E_IMG_RAW},
        {"detector2D", good, picture(TW_RAW_U8, 1, 0, 9, 6), TW_E_IMG_FORMAT},
        {"detector2D", good, rgb, TW_E_IMG_FORMAT},
        {"detector2D", good, picture(TW_RAW_U16, 1, 0, 4, 3), TW_E_IMG_RAW},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t g;
        rig_prepare_n(&g, cases[i].node, cases[i].in, cases[i].out, 1);
        if (rig_reset(&g, false, 0) != (uint32_t)-cases[i].want) {
            fail_msg("case %zu", i);
        }
        rig_close(&g);
    }
    rig_t g;
    rig_open(&g, "filter2D", good, good, 0);
    assert_int_equal(rig_set_u8(&g, 1, 2), TW_E_PARAM_RANGE); /* a kernel has a middle */
    assert_int_equal(rig_set_u8(&g, 1, 7), TW_E_PARAM_RANGE);
    rig_close(&g);
}

/* ---- motion ------------------------------------------------------------------------------- */

enum { W = 16, H = 12, MW = 4, MH = 3 };

static void open_motion(rig_t *g, uint32_t preset, uint8_t tx)
{
    rig_prepare_n(g, "detector2D", picture(TW_RAW_U8, 1, 0, W, H), picture(TW_RAW_U8, 1, 0, MW, MH), 1);
    g->fmt[2] = g->fmt[0];
    g->reset.tx = tx;
    assert_int_equal(rig_reset(g, false, preset), 0);
}

/* A frame of 100 with tile (x, y) brighter by `by`. */
static const uint8_t *scene(unsigned x, unsigned y, unsigned by)
{
    static uint8_t frame[W * H];
    for (unsigned i = 0; i < W * H; i++) {
        frame[i] = (uint8_t)(100 + (i % W / (W / MW) == x && i / W / (H / MH) == y ? by : 0));
    }
    return frame;
}

static void only_the_tile_that_changes_is_active(void **state)
{
    (void)state;
    rig_t g;
    uint8_t map[MW * MH], wire[8];
    open_motion(&g, 1, 1);
    assert_int_equal(rig_run(&g, scene(9, 9, 0), W * H, map, sizeof map), 0);
    for (unsigned i = 0; i < MW * MH; i++) {
        assert_int_equal(map[i], 0); /* the first frame is the background */
    }
    assert_int_equal(rig_run(&g, scene(2, 1, 51), W * H, map, sizeof map), 0);
    for (unsigned i = 0; i < MW * MH; i++) {
        assert_int_equal(map[i], i == 1 * MW + 2 ? 255 : 0);
    }
    assert_true(fabs((double)rig_get_f32(&g, 17) - 0.2) < 1e-4);
    assert_int_equal(rig_get(&g, 18, wire, 8), 8);
    assert_true(tw_get_f32(wire) == 2.5f / MW && tw_get_f32(wire + 4) == 1.5f / MH);
    rig_close(&g);
}

static void threshold_release_and_hold_bound_a_motion(void **state)
{
    (void)state;
    rig_t g;
    open_motion(&g, 1, 1); /* on at 0.05, off below 0.025, held for 2 frames */
    static const struct {
        unsigned by, active;
        const char *why;
    } steps[] = {
        {0, 0, "background"}, {11, 0, "0.043 is below"}, {26, 1, "0.059 is above"}, {36, 1, "0.039 keeps it"},
        {36, 1, "held"},      {36, 1, "held"},           {36, 0, "over"},           {28, 0, "0.031 starts none"},
    };
    for (size_t i = 0; i < TW_COUNT(steps); i++) {
        uint8_t map[MW * MH], n[2];
        assert_int_equal(rig_run(&g, scene(0, 0, steps[i].by), W * H, map, sizeof map), 0);
        assert_int_equal(rig_get(&g, 16, n, 2), 2);
        if ((map[0] != 0) != steps[i].active || tw_get_le16(n) != steps[i].active) {
            fail_msg("step %zu (%s): %u", i, steps[i].why, map[0]);
        }
    }
    rig_close(&g);
}

static void a_slow_background_sees_what_stays(void **state)
{
    (void)state;
    rig_t g;
    uint8_t map[MW * MH];
    open_motion(&g, 2, 1);
    assert_int_equal(rig_run(&g, scene(9, 9, 0), W * H, map, sizeof map), 0);
    unsigned active = 0;
    for (unsigned i = 0; i < 200; i++) { /* 0.2 falls below 0.015 after ln(13.3) x 32 frames; 8 are held */
        assert_int_equal(rig_run(&g, scene(1, 1, 51), W * H, map, sizeof map), 0);
        active += map[1 * MW + 1] != 0;
    }
    assert_in_range(active, 80, 100);
    rig_close(&g);
}

static void levels_and_the_picture_itself_come_out(void **state)
{
    (void)state;
    rig_t g;
    uint8_t map[MW * MH], copy[W * H];
    open_motion(&g, 3, 2);
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *frame = scene(3, 2, 102 * i);
        tw_xdm_t data[3] = {{(void *)(uintptr_t)frame, W * H}, {map, sizeof map}, {copy, sizeof copy}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        assert_true(data[0].bytes == W * H && data[1].bytes == sizeof map && data[2].bytes == sizeof copy);
        assert_memory_equal(copy, frame, W * H);
    }
    assert_int_equal(map[2 * MW + 3], 102);
    assert_int_equal(map[0], 0);
    rig_close(&g);
}

/* One scale for all types and layouts: the same picture gives the same map. */
static void types_and_layouts_agree(void **state)
{
    (void)state;
    uint8_t want[MW * MH];
    for (unsigned r = 0; r < 4; r++) {
        for (unsigned planes = 0; planes < 2; planes++) {
            rig_t g;
            const tw_format_t f = picture(raws[r].raw, 3, planes, W, H);
            uint8_t map[MW * MH];
            int16_t wide[W * H * 3];
            uint8_t narrow[W * H * 3];
            rig_prepare_n(&g, "detector2D", f, picture(TW_RAW_U8, 1, 0, MW, MH), 1);
            assert_int_equal(rig_reset(&g, false, 3), 0);
            for (unsigned k = 0; k < 2; k++) {
                for (uint32_t i = 0; i < W * H * 3; i++) {
                    const uint32_t x = (planes ? i : i / 3) % W, y = (planes ? i % (W * H) : i / 3) / W;
                    const unsigned v = (x * 5 + y * 7 + k * x * y) % 256;
                    narrow[i] = (uint8_t)(v - (raws[r].low < 0 ? 128 : 0));
                    wide[i] = (int16_t)(v * 257 - (raws[r].low < 0 ? 32768 : 0));
                }
                const bool big = raws[r].high > 255;
                assert_int_equal(rig_run(&g, big ? (void *)wide : (void *)narrow, f.frame_bytes, map, sizeof map), 0);
            }
            if (r == 0 && planes == 0) {
                memcpy(want, map, sizeof map);
                assert_true(want[MW * MH - 1] > 20);
            }
            assert_memory_equal(map, want, sizeof map);
            rig_close(&g);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_its_sum_at_every_pixel_and_border),
        cmocka_unit_test(presets_do_what_they_are_called),
        cmocka_unit_test(quarter_turns_are_clockwise),
        cmocka_unit_test(other_sizes_are_nearest_or_bilinear),
        cmocka_unit_test(what_is_no_picture_is_refused),
        cmocka_unit_test(only_the_tile_that_changes_is_active),
        cmocka_unit_test(threshold_release_and_hold_bound_a_motion),
        cmocka_unit_test(a_slow_background_sees_what_stays),
        cmocka_unit_test(levels_and_the_picture_itself_come_out),
        cmocka_unit_test(types_and_layouts_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
