/* The filter: right sums, any layout of channels, no click when tuned, never an unstable mixture. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { STAGES = 1, POST_SHIFT, BIQUAD0, BIQUAD1, DELAY, N = 1000 };

/* 1450..1900 Hz band-pass at 16 kHz, elliptic, post_shift 1, pole radii 0.96 and 0.97. */
static const int16_t band_pass[10] = {681, 422, 681, 23853, -15161, 681, -1342, 681, 26261, -15331};

static void put_q15(uint8_t *wire, const int16_t *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        tw_put_le16(wire + 2 * i, (uint16_t)v[i]);
    }
}

static tw_err_t set_q15(rig_t *g, uint8_t stages, int8_t post_shift, const int16_t *coef)
{
    uint8_t wire[22] = {stages, (uint8_t)post_shift};
    put_q15(wire + 2, coef, 5u * stages);
    return rig_set(g, TW_TAG_ALL, wire, 2 + 10u * stages);
}

static tw_err_t set_f32(rig_t *g, uint8_t stages, const float *coef)
{
    uint8_t wire[42] = {stages, 0};
    for (unsigned i = 0; i < 5u * stages; i++) {
        tw_put_f32(wire + 2 + 4 * i, coef[i]);
    }
    return rig_set(g, TW_TAG_ALL, wire, 2 + 20u * stages);
}

static tw_err_t set_biquad(rig_t *g, uint32_t index, const int16_t *coef)
{
    uint8_t wire[10];
    put_q15(wire, coef, 5);
    return rig_set(g, index, wire, 10);
}

static void open_mono(rig_t *g, tw_raw_t raw, uint32_t preset)
{
    const tw_format_t fmt = rig_format(raw, 1, 0, 16);
    rig_open(g, "filter", fmt, fmt, preset);
}

/* The cascade in double precision. */
static void oracle(const double *coef, unsigned stages, const double *in, double *out, unsigned n)
{
    memcpy(out, in, n * sizeof *in);
    for (unsigned k = 0; k < stages; k++) {
        const double *c = coef + 5 * k;
        double x1 = 0, x2 = 0, y1 = 0, y2 = 0;
        for (unsigned i = 0; i < n; i++) {
            const double x = out[i];
            const double y = c[0] * x + c[1] * x1 + c[2] * x2 + c[3] * y1 + c[4] * y2;
            x2 = x1;
            x1 = x;
            y2 = y1;
            y1 = y;
            out[i] = y;
        }
    }
}

static double snr_db(const double *want, const double *got, unsigned n)
{
    double s = 0, e = 1e-30;
    for (unsigned i = 0; i < n; i++) {
        s += want[i] * want[i];
        e += (want[i] - got[i]) * (want[i] - got[i]);
    }
    return 10 * log10(s / e);
}

/* In-band sine plus an out-of-band one of the same size. */
static double tones(unsigned i)
{
    return 0.3 * sin(2 * M_PI * 1675 / 16000 * i) + 0.3 * sin(2 * M_PI * 5000 / 16000 * i);
}

static void q15_band_pass_follows_double_precision(void **state)
{
    (void)state;
    double coef[10], in[N], want[N], got[N];
    for (unsigned i = 0; i < 10; i++) {
        coef[i] = band_pass[i] / 16384.0;
    }
    int16_t x[N];
    for (unsigned i = 0; i < N; i++) {
        x[i] = (int16_t)lrint(32768 * tones(i));
        in[i] = x[i] / 32768.0;
    }
    oracle(coef, 2, in, want, N);
    rig_t g;
    open_mono(&g, TW_RAW_S16, 0);
    assert_int_equal(set_q15(&g, 2, 1, band_pass), TW_OK);
    assert_int_equal(rig_run(&g, x, N, x, N), 0); /* two halves, in place */
    assert_int_equal(rig_run(&g, x + N / 2, N, x + N / 2, N), 0);
    for (unsigned i = 0; i < N; i++) {
        got[i] = x[i] / 32768.0;
    }
    const double snr = snr_db(want, got, N);
    printf("q15 band-pass: %.1f dB\n", snr);
    assert_true(snr > 45); /* 16-bit state, truncated: about 20 LSB */
    rig_close(&g);
}

static void f32_band_pass_follows_double_precision(void **state)
{
    (void)state;
    double coef[10], in[N], want[N], got[N];
    float c[10], x[N];
    for (unsigned i = 0; i < 10; i++) {
        c[i] = (float)band_pass[i] / 16384.0f;
        coef[i] = c[i];
    }
    for (unsigned i = 0; i < N; i++) {
        x[i] = (float)tones(i);
        in[i] = x[i];
    }
    oracle(coef, 2, in, want, N);
    rig_t g;
    open_mono(&g, TW_RAW_FP32, 0);
    assert_int_equal(set_f32(&g, 2, c), TW_OK);
    assert_int_equal(rig_run(&g, x, 2 * N, x, 2 * N), 0);
    assert_int_equal(rig_run(&g, x + N / 2, 2 * N, x + N / 2, 2 * N), 0);
    for (unsigned i = 0; i < N; i++) {
        got[i] = x[i];
    }
    const double snr = snr_db(want, got, N);
    printf("f32 band-pass: %.1f dB\n", snr);
    assert_true(snr > 110);
    rig_close(&g);
}

static void bypass_is_bit_exact(void **state)
{
    (void)state;
    for (uint32_t preset = 0; preset <= 1; preset++) {
        int16_t x[5] = {-32768, 32767, 1, -1, 0}, y[5];
        float a[3] = {0.1f, -3e-20f, 1e9f}, b[3];
        rig_t g;
        open_mono(&g, TW_RAW_Q15, preset);
        rig_run(&g, x, sizeof x, y, sizeof y);
        assert_memory_equal(x, y, sizeof x);
        rig_close(&g);
        open_mono(&g, TW_RAW_FP32, preset);
        rig_run(&g, a, sizeof a, b, sizeof b);
        assert_memory_equal(a, b, sizeof a);
        rig_close(&g);
    }
}

/* Settled output for a constant and for an alternating input of size 16384 (0.5). */
static void response(tw_raw_t raw, uint32_t preset, double *dc, double *nyquist)
{
    rig_t g;
    double last[2];
    for (int alternate = 0; alternate < 2; alternate++) {
        open_mono(&g, raw, preset);
        for (int k = 0; k < 4096; k++) {
            const int sign = alternate && k % 2 ? -1 : 1;
            int16_t q = (int16_t)(16384 * sign);
            float f = 0.5f * (float)sign;
            if (raw == TW_RAW_FP32) {
                rig_run(&g, &f, 4, &f, 4);
            } else {
                rig_run(&g, &q, 2, &q, 2);
            }
            last[alternate] = (raw == TW_RAW_FP32 ? (double)f : q / 32768.0) * sign;
        }
        rig_close(&g);
    }
    *dc = last[0] / 0.5;
    *nyquist = last[1] / 0.5;
}

static void low_pass_and_dc_presets_have_their_response(void **state)
{
    (void)state;
    const tw_raw_t raws[] = {TW_RAW_S16, TW_RAW_FP32};
    for (int i = 0; i < 2; i++) {
        const double lsb = i == 0 ? 2.0 / 32768 : 1e-6;
        double dc, nyquist;
        response(raws[i], 2, &dc, &nyquist);
        assert_true(fabs(dc - 1) <= 2 * lsb && fabs(nyquist) <= 2 * lsb);
        response(raws[i], 3, &dc, &nyquist);
        const double drift = i == 0 ? 128 * lsb : 1e-5; /* what rounding builds up behind a pole at 1 - 1/128 */
        if (fabs(dc) > drift || fabs(nyquist - 1) > drift) {
            fail_msg("no-DC preset, type %d: gain %g at 0 Hz, %g at Fs/2", i, dc, nyquist);
        }
    }
}

static void low_pass_is_3_db_down_at_a_quarter_of_the_rate(void **state)
{
    (void)state;
    rig_t g;
    open_mono(&g, TW_RAW_FP32, 2);
    float x[64];
    double power = 0;
    for (int k = 0; k < 64; k++) {
        x[k] = (float)sin(M_PI / 2 * k + 0.3);
    }
    rig_run(&g, x, sizeof x, x, sizeof x);
    for (int k = 32; k < 64; k++) {
        power += (double)x[k] * x[k] / 32;
    }
    assert_true(fabs(10 * log10(power / 0.5) + 3.0103) < 0.01);
    rig_close(&g);
}

/* Sample `i` of channel `c` in a buffer of frames of `frame` samples. */
static size_t place(unsigned channels, unsigned interleave, uint32_t frame, uint32_t i, uint32_t c)
{
    return interleave == 0 ? (size_t)i * channels + c : (size_t)(i - i % frame) * channels + c * frame + i % frame;
}

static void delay_presets_delay_every_channel_of_every_layout(void **state)
{
    (void)state;
    const unsigned channels[] = {1, 2, 3, 32};
    for (uint32_t d = 1; d <= 32; d++) {
        for (unsigned k = 0; k < 16; k++) {
            const unsigned nch = channels[k % 4], blocks = k / 4 % 2;
            const tw_raw_t raw = k / 8 ? TW_RAW_FP32 : TW_RAW_S16;
            enum { FRAME = 37, FRAMES = 4 };
            const uint32_t frame_bytes = FRAME * nch * (raw == TW_RAW_FP32 ? 4u : 2u);
            static union {
                int16_t q[FRAME * FRAMES * 32];
                float f[FRAME * FRAMES * 32];
                uint8_t raw[FRAME * FRAMES * 32 * 4];
            } b;
            for (uint32_t i = 0; i < FRAME * FRAMES; i++) {
                for (uint32_t c = 0; c < nch; c++) {
                    const int v = (int)(i * 32 + c + 1);
                    const size_t at = place(nch, blocks, FRAME, i, c);
                    if (raw == TW_RAW_FP32) {
                        b.f[at] = (float)v;
                    } else {
                        b.q[at] = (int16_t)v;
                    }
                }
            }
            const tw_format_t fmt = rig_format(raw, nch, blocks, FRAME);
            rig_t g;
            rig_open(&g, "filter", fmt, fmt, 10 + d);
            for (uint32_t f = 0; f < FRAMES; f++) {
                rig_run(&g, b.raw + f * frame_bytes, frame_bytes, b.raw + f * frame_bytes, frame_bytes);
            }
            for (uint32_t i = 0; i < FRAME * FRAMES; i++) {
                for (uint32_t c = 0; c < nch; c++) {
                    const size_t at = place(nch, blocks, FRAME, i, c);
                    const int want = i < d ? 0 : (int)((i - d) * 32 + c + 1);
                    const int got = raw == TW_RAW_FP32 ? (int)b.f[at] : b.q[at];
                    if (got != want) {
                        fail_msg("delay %u, %u channels, layout %u: sample %u channel %u is %d", d, nch, blocks, i, c,
                                 got);
                    }
                }
            }
            rig_close(&g);
        }
    }
}

static void each_channel_is_filtered_as_if_alone(void **state)
{
    (void)state;
    enum { CH = 5, FRAME = 101 };
    int16_t mono[CH][FRAME], all[CH * FRAME];
    uint32_t seed = 99;
    for (unsigned blocks = 0; blocks < 2; blocks++) {
        rig_t g;
        for (unsigned c = 0; c < CH; c++) {
            for (unsigned i = 0; i < FRAME; i++) {
                mono[c][i] = (int16_t)rig_noise(&seed);
                all[place(CH, blocks, FRAME, i, c)] = mono[c][i];
            }
            open_mono(&g, TW_RAW_S16, 0);
            set_q15(&g, 2, 1, band_pass);
            rig_run(&g, mono[c], sizeof mono[c], mono[c], sizeof mono[c]);
            rig_close(&g);
        }
        const tw_format_t fmt = rig_format(TW_RAW_S16, CH, blocks, FRAME);
        rig_open(&g, "filter", fmt, fmt, 0);
        set_q15(&g, 2, 1, band_pass);
        rig_run(&g, all, sizeof all, all, sizeof all);
        for (unsigned c = 0; c < CH; c++) {
            for (unsigned i = 0; i < FRAME; i++) {
                assert_int_equal(all[place(CH, blocks, FRAME, i, c)], mono[c][i]);
            }
        }
        rig_close(&g);
    }
}

static void how_a_stream_is_cut_does_not_matter(void **state)
{
    (void)state;
    int16_t whole[600], cut[600];
    uint32_t seed = 5;
    for (unsigned i = 0; i < 600; i++) {
        whole[i] = cut[i] = (int16_t)rig_noise(&seed);
    }
    for (unsigned channels = 1; channels <= 2; channels++) {
        for (uint8_t delay = 0; delay <= 7; delay += 7) {
            const tw_format_t fmt = rig_format(TW_RAW_S16, channels, 0, 16);
            const uint32_t parts[] = {1, 2, 3, 63, 1, 130, 64, 36};
            rig_t g;
            for (int k = 0; k < 2; k++) {
                rig_open(&g, "filter", fmt, fmt, 0);
                set_q15(&g, 2, 1, band_pass);
                rig_set_u8(&g, DELAY, delay);
                if (k == 0) {
                    rig_run(&g, whole, 600 * channels, whole, 600 * channels);
                }
                for (uint32_t i = 0, at = 0; k == 1 && i < TW_COUNT(parts); at += parts[i++]) {
                    const uint32_t bytes = parts[i] * channels * 2;
                    rig_run(&g, cut + at * channels, bytes, cut + at * channels, bytes);
                }
                rig_close(&g);
            }
            assert_memory_equal(whole, cut, 600 * channels);
        }
    }
}

static void only_whole_instants_that_fit_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        unsigned interleave;
        uint32_t in, out, used;
    } cases[] = {
        {"odd byte left", 0, 7, 100, 4},
        {"less room than data", 0, 40, 8, 8},
        {"nothing in", 0, 0, 100, 0},
        {"no room", 0, 100, 0, 0},
        {"blocks: one frame of two", 1, 63, 64, 32},
        {"blocks: less than a frame", 1, 31, 64, 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_format_t fmt = rig_format(TW_RAW_S16, 2, cases[i].interleave, 8);
        int16_t in[64] = {1, 2, 3, 4}, out[64] = {0};
        rig_t g;
        rig_open(&g, "filter", fmt, fmt, 1);
        tw_xdm_t data[2] = {{in, cases[i].in}, {out, cases[i].out}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        if (data[0].bytes != cases[i].used || data[1].bytes != cases[i].used) {
            fail_msg("%s: %u in, %u out", cases[i].why, data[0].bytes, data[1].bytes);
        }
        rig_close(&g);
    }
}

/* ---- stability ------------------------------------------------------------------ */

static void what_no_post_shift_could_save_is_refused_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        int16_t a1, a2;
        tw_err_t err;
    } cases[] = {
        {"no feedback", 0, 0, TW_OK},
        {"one pole just inside", 32767, 0, TW_OK},
        {"pole on the circle at -1", -32768, 0, TW_E_PARAM_UNSTABLE},
        {"pair just inside", 0, -32767, TW_OK},
        {"pair on the circle", 0, -32768, TW_E_PARAM_UNSTABLE},
        {"real poles, one on the circle", 16384, 16384, TW_E_PARAM_UNSTABLE},
        {"real poles, just inside", 16383, 16384, TW_OK},
        {"real poles, one outside, a1 negative", -16385, 16384, TW_E_PARAM_UNSTABLE},
        {"double pole near 1", 32767, -8192, TW_OK},
    };
    rig_t g;
    open_mono(&g, TW_RAW_S16, 0);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t wire[10];
        put_q15(wire, (int16_t[]){32767, 0, 0, cases[i].a1, cases[i].a2}, 5);
        for (uint32_t index = BIQUAD0; index <= BIQUAD1; index++) {
            tw_fault_t fault = {0};
            const tw_err_t err = tw_param_check(g.d, &g.fmt[0], index, 0, wire, 10, &fault);
            if (err != cases[i].err || (err != TW_OK && fault.at != index)) {
                fail_msg("%s: %s at %u", cases[i].why, tw_err_name(err), fault.at);
            }
        }
    }
    rig_close(&g);
}

static void f32_biquads_are_judged_to_the_last_bit(void **state)
{
    (void)state;
    static const struct {
        float a1, a2;
        tw_err_t err;
    } cases[] = {
        {1.9999f, -0.99995f, TW_OK},
        {2.0f, -1.0f, TW_E_PARAM_UNSTABLE},
        {0.99999994f, 0.0f, TW_OK},
        {1.0f, 0.0f, TW_E_PARAM_UNSTABLE},
        {0.0f, -0.99999994f, TW_OK},
        {0.0f, -1.0f, TW_E_PARAM_UNSTABLE},
        {0.0f, 1.0f, TW_E_PARAM_UNSTABLE},
        {7.0f, 7.0f, TW_E_PARAM_UNSTABLE},
        {9.0f, 0.0f, TW_E_PARAM_RANGE},
        {NAN, 0.0f, TW_E_PARAM_RANGE},
        {1.0f, -1.0e-30f, TW_E_PARAM_UNSTABLE},
    };
    rig_t g;
    open_mono(&g, TW_RAW_FP32, 0);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const float c[10] = {1, 0, 0, 0, 0, 1, 0, 0, cases[i].a1, cases[i].a2};
        const tw_err_t err = set_f32(&g, 2, c);
        if (err != cases[i].err) {
            fail_msg("a1 %g, a2 %g: %s", (double)cases[i].a1, (double)cases[i].a2, tw_err_name(err));
        }
    }
    rig_close(&g);
}

/* The coefficients of the published sample graph: post_shift 1 puts a pole pair at radius 1.27. */
static void test_S0_L166_sample_filter_is_refused_as_written(void **state)
{
    (void)state;
    const int16_t sample[10] = {9315, 14928, 9315, 25576, -11147, 9315, 5736, 9315, 9328, -26591};
    rig_t g;
    open_mono(&g, TW_RAW_S16, 0);
    uint8_t wire[22] = {2, 1};
    put_q15(wire + 2, sample, 10);
    tw_fault_t fault = {0};
    assert_int_equal(tw_param_check(g.d, &g.fmt[0], TW_TAG_ALL, 0, wire, 22, &fault), TW_E_PARAM_UNSTABLE);
    assert_int_equal(fault.at, BIQUAD1);
    assert_int_equal(set_q15(&g, 2, 0, sample), TW_OK);
    rig_close(&g);
}

static void a_block_is_judged_as_far_as_it_reaches_and_stages_are_used(void **state)
{
    (void)state;
    const int16_t bad_second[10] = {32767, 0, 0, 0, 0, 32767, 0, 0, 0, -32768};
    rig_t g;
    open_mono(&g, TW_RAW_S16, 0);
    assert_int_equal(set_q15(&g, 2, 0, bad_second), TW_E_PARAM_UNSTABLE);
    assert_int_equal(set_q15(&g, 1, 0, bad_second), TW_OK);
    uint8_t wire[22] = {1, 0};
    put_q15(wire + 2, bad_second, 10);
    assert_int_equal(rig_set(&g, TW_TAG_ALL, wire, 22), TW_OK); /* second biquad not in use */
    assert_int_equal(rig_set(&g, TW_TAG_ALL, wire, 2), TW_OK);
    assert_int_equal(rig_set(&g, TW_TAG_ALL, wire, 1), TW_OK);
    rig_close(&g);
}

/* From a filter at post_shift 0 to one at post_shift 1 by single SETs, in every order: some orders pass
 * through unstable mixtures, none of which may run. */
static void single_sets_of_one_commit_may_come_in_any_order(void **state)
{
    (void)state;
    const int16_t sharp[5] = {300, 0, 0, 31000, -14000}; /* fine at 0, unstable at 1 */
    for (unsigned order = 0; order < 6; order++) {
        rig_t g;
        open_mono(&g, TW_RAW_S16, 0);
        assert_int_equal(set_q15(&g, 1, 0, sharp), TW_OK);
        int16_t x[8] = {1000}, y[8];
        assert_int_equal(rig_run(&g, x, 16, y, 16), 0);
        const unsigned first = order % 3, second = (first + 1 + order / 3) % 3;
        const unsigned turns[3] = {first, second, 3 - first - second};
        for (unsigned i = 0; i < 3; i++) {
            const tw_err_t err = turns[i] == 0   ? rig_set_u8(&g, POST_SHIFT, 1)
                                 : turns[i] == 1 ? set_biquad(&g, BIQUAD0, band_pass)
                                                 : rig_set_u8(&g, STAGES, 1);
            assert_int_equal(err, TW_OK);
        }
        assert_int_equal(rig_run(&g, x, 16, y, 16), 0);
        uint8_t wire[22];
        assert_int_equal(rig_get(&g, TW_TAG_ALL, wire, sizeof wire), 22);
        assert_int_equal(wire[1], 1);
        assert_int_equal((int16_t)tw_get_le16(wire + 2), band_pass[0]);
        rig_close(&g);
    }
}

static void an_unstable_mixture_is_put_back_whole_and_reported_once(void **state)
{
    (void)state;
    const int16_t sharp[5] = {300, 0, 0, 31000, -14000};
    rig_t g, twin;
    open_mono(&g, TW_RAW_S16, 0);
    open_mono(&twin, TW_RAW_S16, 0);
    set_q15(&g, 1, 0, sharp);
    set_q15(&twin, 1, 0, sharp);
    int16_t x[8] = {1000, 2000, -3000}, y[8], z[8];
    rig_run(&g, x, 16, y, 16);
    rig_run(&twin, x, 16, z, 16);
    assert_int_equal(rig_set_u8(&g, DELAY, 3), TW_OK); /* sound by itself, but part of the same commit */
    assert_int_equal(rig_set_u8(&g, POST_SHIFT, 1), TW_OK);
    assert_int_equal(rig_run(&g, x, 16, y, 16), -TW_E_PARAM_UNSTABLE);
    rig_run(&twin, x, 16, z, 16);
    assert_memory_equal(y, z, sizeof y);
    uint8_t v;
    rig_get(&g, POST_SHIFT, &v, 1);
    assert_int_equal(v, 0);
    rig_get(&g, DELAY, &v, 1);
    assert_int_equal(v, 0);
    assert_int_equal(rig_run(&g, x, 16, y, 16), 0);
    rig_close(&g);
    rig_close(&twin);
}

/* ---- no clicks, warm and cold ------------------------------------------------------ */

static void a_second_stage_joins_without_a_click(void **state)
{
    (void)state;
    const float low_pass[10] = {0.29289323f, 0.58578646f, 0.29289323f, 0, -0.17157287f,
                                0.29289323f, 0.58578646f, 0.29289323f, 0, -0.17157287f};
    rig_t g;
    open_mono(&g, TW_RAW_FP32, 0);
    assert_int_equal(set_f32(&g, 2, low_pass), TW_OK);
    rig_set_u8(&g, STAGES, 1);
    float x[64];
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 64; i++) {
            x[i] = 0.5f;
        }
        rig_run(&g, x, sizeof x, x, sizeof x);
        rig_set_u8(&g, STAGES, 2);
    }
    for (int i = 0; i < 64; i++) { /* a constant stays constant through the change */
        assert_true(fabsf(x[i] - 0.5f) < 1e-5f);
    }
    rig_close(&g);
}

static void new_coefficients_keep_the_signal_going(void **state)
{
    (void)state;
    rig_t g;
    open_mono(&g, TW_RAW_FP32, 2);
    float x[64], before = 0;
    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < 64; i++) {
            x[i] = 0.5f;
        }
        rig_run(&g, x, sizeof x, x, sizeof x);
        if (turn > 0) {
            assert_true(fabsf(x[0] - before) < 1e-5f);
        }
        before = x[63];
        const float c[2][5] = {{1, 0, 0, 0, 0}, {0.29289323f, 0.58578646f, 0.29289323f, 0, -0.17157287f}};
        set_f32(&g, 1, c[turn % 2]);
    }
    rig_close(&g);
}

static void a_delay_that_is_switched_on_knows_what_went_before(void **state)
{
    (void)state;
    for (uint32_t piece = 1; piece <= 40; piece += 13) {
        rig_t g;
        open_mono(&g, TW_RAW_S16, 1);
        int16_t x[40], y[40];
        for (uint32_t i = 0; i < 5 * piece; i++) {
            x[i % piece] = (int16_t)i;
            if (i % piece == piece - 1) {
                rig_run(&g, x, 2 * piece, y, 2 * piece);
            }
        }
        assert_int_equal(rig_set_u8(&g, DELAY, 32), TW_OK);
        const int16_t next[2] = {1000, 1001};
        rig_run(&g, next, 4, y, 4);
        for (int i = 0; i < 2; i++) {
            const int was = (int)(5 * piece) - 32 + i;
            assert_int_equal(y[i], was < 0 ? 0 : was);
        }
        rig_close(&g);
    }
}

static void warm_reset_keeps_the_signal_and_cold_reset_forgets_it(void **state)
{
    (void)state;
    const int16_t in[16] = {20000, -20000, 20000, 5000};
    const int16_t silence[16] = {0};
    int16_t fresh[16], kept[16], again[16];
    rig_t g;
    open_mono(&g, TW_RAW_S16, 3);
    rig_run(&g, in, 32, fresh, 32);
    assert_int_equal(rig_reset(&g, true, 3), 0);
    rig_run(&g, silence, 32, kept, 32);
    assert_true(kept[0] != 0); /* the high-pass is still recovering */
    assert_int_equal(rig_reset(&g, false, 3), 0);
    rig_run(&g, in, 32, again, 32);
    assert_memory_equal(fresh, again, 32);
    rig_close(&g);
}

static void warm_reset_of_unknown_memory_is_a_cold_one(void **state)
{
    (void)state;
    const tw_format_t fmt = rig_format(TW_RAW_S16, 3, 0, 4);
    rig_t g;
    rig_prepare(&g, "filter", fmt, fmt);
    assert_int_equal(rig_reset(&g, true, 1), 0);
    int16_t x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y[12];
    rig_run(&g, x, sizeof x, y, sizeof y);
    assert_memory_equal(x, y, sizeof x);
    g.fmt[0].raw = g.fmt[1].raw = TW_RAW_FP32; /* the same memory for other streams */
    g.fmt[0].channels = g.fmt[1].channels = 1;
    assert_int_equal(rig_reset(&g, true, 2), 0);
    float z = 0;
    rig_run(&g, &z, 4, &z, 4);
    assert_true(z == 0.0f);
    rig_close(&g);
}

static void reset_refuses_what_it_cannot_run(void **state)
{
    (void)state;
    const tw_format_t ok = rig_format(TW_RAW_S16, 2, 0, 8);
    for (unsigned k = 0; k < 12; k++) {
        rig_t g;
        uint32_t preset = 0;
        tw_err_t want = TW_E_IMG_FORMAT;
        rig_prepare(&g, "filter", ok, ok);
        switch (k) {
        case 0:
            g.fmt[0].raw = g.fmt[1].raw = TW_RAW_S32, want = TW_E_IMG_RAW;
            break;
        case 1:
            g.fmt[0].raw = 255, want = TW_E_IMG_RAW;
            break;
        case 2:
            g.fmt[0].channels = 0;
            break;
        case 3:
            g.fmt[0].channels = 33;
            break;
        case 4:
            g.fmt[1].interleave = 2;
            break;
        case 5:
            g.fmt[0].ts = 1;
            break;
        case 6:
            g.fmt[1].raw = TW_RAW_FP32, want = TW_E_IMG_ARC_FORMAT;
            break;
        case 7:
            g.fmt[1].interleave = 1, want = TW_E_IMG_ARC_FORMAT;
            break;
        case 8:
            g.reset.mem_bytes[0] = 100, want = TW_E_IMG_MEM;
            break;
        case 9:
            g.reset.mem_bytes[1] = 10, want = TW_E_IMG_MEM;
            break;
        case 10:
            g.svc.biquad_q15 = NULL, want = TW_E_IMG_SERVICE;
            break;
        case 11:
            preset = 4, want = TW_E_PARAM_PRESET;
            break;
        }
        const uint32_t err = rig_reset(&g, false, preset);
        if (err != (uint32_t)-want) {
            fail_msg("case %u: %s", k, tw_err_name((tw_err_t) - (int)err));
        }
        rig_close(&g);
    }
}

static void commands_of_no_use_here_are_answered(void **state)
{
    (void)state;
    rig_t g;
    open_mono(&g, TW_RAW_S16, 0);
    assert_int_equal(rig_command(&g, TW_CMD_STOP, 0, NULL), 0);
    assert_int_equal(rig_command(&g, TW_CMD_MEMREQ, 0, NULL), -TW_E_UNSUPPORTED);
    assert_int_equal(rig_command(&g, 77, 0, NULL), -TW_E_UNSUPPORTED);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q15_band_pass_follows_double_precision),
        cmocka_unit_test(f32_band_pass_follows_double_precision),
        cmocka_unit_test(bypass_is_bit_exact),
        cmocka_unit_test(low_pass_and_dc_presets_have_their_response),
        cmocka_unit_test(low_pass_is_3_db_down_at_a_quarter_of_the_rate),
        cmocka_unit_test(delay_presets_delay_every_channel_of_every_layout),
        cmocka_unit_test(each_channel_is_filtered_as_if_alone),
        cmocka_unit_test(how_a_stream_is_cut_does_not_matter),
        cmocka_unit_test(only_whole_instants_that_fit_are_taken),
        cmocka_unit_test(what_no_post_shift_could_save_is_refused_at_once),
        cmocka_unit_test(f32_biquads_are_judged_to_the_last_bit),
        cmocka_unit_test(test_S0_L166_sample_filter_is_refused_as_written),
        cmocka_unit_test(a_block_is_judged_as_far_as_it_reaches_and_stages_are_used),
        cmocka_unit_test(single_sets_of_one_commit_may_come_in_any_order),
        cmocka_unit_test(an_unstable_mixture_is_put_back_whole_and_reported_once),
        cmocka_unit_test(a_second_stage_joins_without_a_click),
        cmocka_unit_test(new_coefficients_keep_the_signal_going),
        cmocka_unit_test(a_delay_that_is_switched_on_knows_what_went_before),
        cmocka_unit_test(warm_reset_keeps_the_signal_and_cold_reset_forgets_it),
        cmocka_unit_test(warm_reset_of_unknown_memory_is_a_cold_one),
        cmocka_unit_test(reset_refuses_what_it_cannot_run),
        cmocka_unit_test(commands_of_no_use_here_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
