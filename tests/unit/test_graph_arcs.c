/* What arcs do to data at their ends: policies of every type, scripts, crumbs, constants, debug tasks, time stamps. */
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"
#include "engine/base/time_stamps.h"
#include "engine/node/convert.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/engine_rig.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { SAMPLES = 8, IN = 0, OUT = 4 };

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static tw_graph_t g;
static uint64_t memory[1 << 15];
static uint64_t tick;

/* Both are polled: a frame for each block, or a hole; what leaves is kept. */
static struct {
    const tw_format_t *f;
    double in[64][2]; /* sample of block and channel, of all instants a ramp with `slope` */
    double slope;
    uint32_t hole_from, hole_to, got, reads;
    uint8_t out[1 << 14];
    uint32_t n_out;
    bool takes;
} io;

static uint32_t place(uint32_t channel, uint32_t k)
{
    return io.f->interleave != 0 ? channel * io.f->samples + k : k * io.f->channels + channel;
}

static uint32_t read_io(void *ctx, uint32_t hwid, uint64_t t, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)t;
    const uint32_t n = io.reads++, stamp = bytes - io.f->samples * io.f->channels * tw_raw_bits(io.f->raw) / 8;
    uint8_t frame[1024];
    memset(frame, 0xEE, bytes);
    for (uint32_t k = 0; k < io.f->samples; k++) {
        for (uint32_t c = 0; c < io.f->channels; c++) {
            const double v = io.slope * (n * io.f->samples + k) * (c == 0 ? 1 : -1);
            tw_convert_store(io.f->raw, frame + stamp, place(c, k), 1, 1, &v);
        }
    }
    const bool hole = n >= io.hole_from && n < io.hole_to;
    memcpy(dst, frame, hole ? io.got : bytes);
    return hole ? io.got : bytes;
}

static uint32_t write_io(void *ctx, uint32_t hwid, uint64_t t, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)t;
    assert_true(io.n_out + bytes <= sizeof io.out);
    memcpy(io.out + io.n_out, src, io.takes ? bytes : 0);
    io.n_out += io.takes ? bytes : 0;
    return bytes;
}

static double out_value(uint32_t frame, uint32_t channel, uint32_t k)
{
    double v = 0;
    const uint32_t stamp = io.f->frame_bytes - io.f->samples * io.f->channels * tw_raw_bits(io.f->raw) / 8;
    tw_convert_load(io.f->raw, io.out + frame * io.f->frame_bytes + stamp, place(channel, k), 1, 1, &v);
    return v;
}

/* IO -> split -> IO: any raw type passes. */
static void build_stamped(uint32_t raw, uint32_t channels, uint32_t interleave, uint32_t frames, uint32_t ts,
                          uint32_t ts_size)
{
    static const uint32_t stamp_bytes[] = {2, 4, 8, 8};
    memset(&io, 0, sizeof io);
    io.takes = true;
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, raw, channels, SAMPLES, 16000.0f);
    uint8_t *w = ib.sec[TW_SEC_FORMATS];
    const uint32_t bytes = tw_get_le32(w) + (ts != 0 ? stamp_bytes[ts_size] : 0);
    tw_put_le32(w, bytes);
    tw_put_le32(w + 4, tw_get_le32(w + 4) | tw_put_bits(interleave, TW_LO(TW_F1_INTERLEAVE)) |
                           tw_put_bits(ts, TW_LO(TW_F1_TS)) | tw_put_bits(ts_size, TW_LO(TW_F1_TS_SIZE)));
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, frames * bytes);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, frames * bytes);
    tw_ib_io(&ib, IN, false, in, f);
    tw_ib_io(&ib, OUT, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_split"), 1, 1, (uint16_t[]){in, out});
}

static void build(uint32_t raw, uint32_t channels, uint32_t interleave, uint32_t frames)
{
    build_stamped(raw, channels, interleave, frames, 0, 0);
}

static tw_err_t load(uint32_t bytes)
{
    tw_image_fix(img, bytes);
    rig_board(&rig);
    rig.board.read = read_io;
    rig.board.write = write_io;
    const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
    tw_arena_t arena = {(uint8_t *)memory, sizeof memory, 0};
    tw_fault_t fault;
    TW_TRY(tw_graph_check(img, bytes, &rig.board, &arena, &fault));
    TW_TRY(tw_graph_load(&g, img, &env, &arena, &fault));
    io.f = &g.formats[0];
    tick = 0;
    return TW_OK;
}

static void blocks(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tw_graph_block(&g, tick++);
    }
}

static uint32_t arc_word(uint32_t arc, uint32_t word)
{
    return tw_image_section(img, TW_SEC_ARCS) + 4 * (TW_ARC_WORDS * arc + word);
}

static uint32_t add_script(const char *text)
{
    static tw_asm_out_t out;
    uint16_t words[64];
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%u: %s", out.diags[0].line, out.diags[0].text);
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    return tw_ib_script(&ib, words, out.code_bytes / 2, 3, 1, 2);
}

/* ---- policies ---------------------------------------------------------------------------- */

static const uint32_t numbers[] = {TW_RAW_S8,     TW_RAW_Q7,  TW_RAW_S16, TW_RAW_Q15,  TW_RAW_FP16,
                                   TW_RAW_Q23_32, TW_RAW_S32, TW_RAW_Q31, TW_RAW_FP32, TW_RAW_FP64};

/* After a ramp of slope s the missing samples go on by 7/8 s, 49/64 s and so on, in each channel by itself. */
static void a_hole_is_bridged_in_every_type_and_layout(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TW_COUNT(numbers); i++) {
        for (uint32_t layout = 0; layout < 3; layout++) {
            const double slope = 1.0 / 64; /* exact in 7 bits; 3 frames of 8 stay below 1 */
            build(numbers[i], layout == 0 ? 1 : 2, layout == 2, 2);
            tw_ib_arc_policy(&ib, 0, 2, 0);
            assert_int_equal(load(tw_ib_finish(&ib, img, sizeof img)), TW_OK);
            io.slope = slope;
            io.hole_from = 2;
            io.hole_to = 3;
            blocks(4);
            assert_int_equal(io.n_out, 4 * io.f->frame_bytes);
            double want = slope * 15, step = slope;
            for (uint32_t k = 0; k < SAMPLES; k++) {
                step *= 0.875;
                want += step;
                for (uint32_t c = 0; c < io.f->channels; c++) {
                    const double got = out_value(2, c, k) * (c == 0 ? 1 : -1);
                    if (fabs(got - want) > 0.02 || got < slope * 15) {
                        fail_msg("%s, layout %u, sample %u of %u: %g, not %g", tw_raw_name(numbers[i]), layout, k, c,
                                 got, want);
                    }
                }
            }
            assert_true(out_value(3, 0, 0) > out_value(1, 0, 7)); /* the stream goes on */
        }
    }
}

static void a_hole_may_begin_inside_a_frame(void **state)
{
    (void)state;
    for (uint32_t layout = 0; layout < 2; layout++) {
        build(TW_RAW_FP32, 2, layout, 2);
        tw_ib_arc_policy(&ib, 0, 2, 0);
        assert_int_equal(load(tw_ib_finish(&ib, img, sizeof img)), TW_OK);
        io.slope = 1;
        io.hole_from = 1;
        io.hole_to = 2;
        io.got = 4 * 6 + 3; /* six samples and a bit: three of each, or six of the first channel */
        blocks(2);
        const uint32_t first = layout == 0 ? 3 : 6, second = layout == 0 ? 3 : 0;
        for (uint32_t k = 0; k < SAMPLES; k++) {
            assert_true((out_value(1, 0, k) == 8 + k) == (k < first));
            assert_true((out_value(1, 1, k) == -8.0 - k) == (k < second));
        }
        assert_true(out_value(1, 0, first) == 8 + first - 1 + 0.875);
        assert_true(out_value(1, 1, second) == -8.0 - second + 1 - 0.875);
    }
}

static void what_is_no_number_is_repeated(void **state)
{
    (void)state;
    build(TW_RAW_HEXBINARY, 1, 0, 2);
    tw_ib_arc_policy(&ib, 0, 2, 1);
    assert_int_equal(load(tw_ib_finish(&ib, img, sizeof img)), TW_OK);
    io.hole_from = 1;
    io.hole_to = 2;
    blocks(2);
    assert_int_equal(io.n_out, 2 * io.f->frame_bytes);
    assert_memory_equal(io.out, io.out + io.f->frame_bytes, io.f->frame_bytes);
}

/* From the newest frame to the one without room, in every type: no step larger than the fade's own. */
static void an_overflow_fades_in_every_type_and_layout(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TW_COUNT(numbers); i++) {
        for (uint32_t layout = 0; layout < 3; layout++) {
            build(numbers[i], layout == 0 ? 1 : 2, layout == 2, 1);
            tw_ib_arc_policy(&ib, 0, 0, 1);
            tw_ib_node_script(&ib, 0, add_script("eqk r0 9\nret\n")); /* never runs */
            assert_int_equal(load(tw_ib_finish(&ib, img, sizeof img)), TW_OK);
            io.slope = 1.0 / 64;
            blocks(2);
            assert_int_equal(tw_gauge_get(&g.arcs[0].overflows), 1);
            memcpy(io.out, g.arcs[0].buf, io.f->frame_bytes);
            for (uint32_t k = 0; k < SAMPLES; k++) {
                for (uint32_t c = 0; c < io.f->channels; c++) {
                    const double want = (k + (k + 1.0)) / 64, got = out_value(0, c, k) * (c == 0 ? 1 : -1);
                    if (fabs(got - want) > 0.01) {
                        fail_msg("%s, layout %u, sample %u of %u: %g, not %g", tw_raw_name(numbers[i]), layout, k, c,
                                 got, want);
                    }
                }
            }
        }
    }
}

/* ---- scripts ------------------------------------------------------------------------------ */

/* r0 = arc, r1 = 0 a hole, 1 no room. The script's T says whether it has dealt with it. */
static void a_script_of_flow_errors_decides(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text;
        bool over;
        uint32_t frames; /* that leave in the block of the error */
        uint32_t overflows;
    } rows[] = {
        {"does nothing about a hole", "eqk r0 9\nret\n", false, 1, 0},
        {"takes a hole as done: nothing comes", "eqk r0 0\nret\n", false, 0, 0},
        {"does nothing about an overflow", "eqk r0 9\nret\n", true, 1, 1},
        /* cals arc with r0 = 4 (clear), r1 = the arc: room for the frame that had none */
        {"clears an arc without room", "movi int16 r0 4\nmovi int16 r1 0\ncals arc\neqk r0 0\nret\n", true, 1, 1},
    };
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        build(TW_RAW_S16, 1, 0, 1);
        tw_ib_arc_policy(&ib, 0, rows[i].over ? 0 : 3, rows[i].over ? 3 : 0);
        const uint32_t policy = add_script(rows[i].text), stop = add_script("eqk r0 9\nret\n");
        if (rows[i].over) {
            tw_ib_node_script(&ib, 0, stop);
        }
        const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
        tw_image_poke(img, arc_word(0, 4), TW_A4_SCRIPT, policy + 1);
        assert_int_equal(load(bytes), TW_OK);
        io.slope = 1.0 / 32768;
        io.hole_from = rows[i].over ? 99 : 1;
        io.hole_to = 2;
        blocks(rows[i].over ? 2 : 1);
        tw_graph_enable_script(&g, stop, false);
        io.hole_from = rows[i].over ? 2 : 1;
        io.hole_to = 3;
        const uint32_t before = io.n_out;
        if (!rows[i].over) {
            blocks(1);
            if (io.n_out - before != rows[i].frames * io.f->frame_bytes) {
                fail_msg("%s: %u bytes", rows[i].why, io.n_out - before);
            }
            continue;
        }
        const int16_t front = (int16_t)tw_get_le16(tw_arc_data(&g.arcs[0]));
        if (tw_gauge_get(&g.arcs[0].overflows) != rows[i].overflows || front != (i == 2 ? 0 : SAMPLES)) {
            fail_msg("%s: %u overflows, front %d", rows[i].why, tw_gauge_get(&g.arcs[0].overflows), front);
        }
    }
}

/* ---- readiness ----------------------------------------------------------------------------- */

/* Codes 0..3: the consumer runs at a half to a sixteenth of the buffer, but never below its frame. */
static void test_S0_L1643_crumbs_make_ready_at_parts_of_the_buffer(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 4; code++) {
        build(TW_RAW_S16, 1, 0, 16);
        const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
        tw_image_poke(img, arc_word(0, 4), TW_A4_CRUMBS, 1);
        tw_image_poke(img, arc_word(0, 4), TW_A4_CRUMB_IN, code);
        assert_int_equal(load(bytes), TW_OK);
        const uint32_t frames = 8u >> code;
        blocks(frames - 1);
        assert_int_equal(tw_gauge_get(&g.hot[0].runs), 0);
        blocks(1);
        assert_int_equal(tw_gauge_get(&g.hot[0].runs), 1);
        blocks(10 * frames);
        assert_int_equal(tw_gauge_get(&g.hot[0].runs), 11);
    }
}

/* ---- debug tasks ----------------------------------------------------------------------------- */

static uint64_t reg(uint32_t i)
{
    uint64_t v = 0;
    assert_true(tw_graph_register(&g, i, &v));
    return v;
}

static double reg_number(uint32_t i)
{
    const uint64_t bits = reg(i);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void load_task(uint32_t cmd, uint32_t raw, uint32_t n_reg)
{
    build(raw, 1, 0, 2);
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    tw_image_poke(img, 4 * TW_W_COUNTS3, TW_W14_REGISTERS, n_reg);
    tw_image_poke(img, arc_word(0, 4), TW_A4_DEBUG_CMD, cmd);
    tw_image_poke(img, arc_word(0, 4), TW_A4_DEBUG_REG, n_reg - 1);
    assert_int_equal(load(bytes), TW_OK);
}

static void test_S0_L1629_debug_tasks_count_and_time(void **state)
{
    (void)state;
    static const struct {
        uint32_t cmd;
        uint64_t after_5;
    } rows[] = {{1, 5 * SAMPLES}, {2, 0}, {3, 1}, {3 + 16 * 2, 4}, {4, 5}, {5, 0}, {6, 5}, {7, 5}};
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        load_task(rows[i].cmd, TW_RAW_S16, 18); /* the second register of page 1 */
        blocks(5);
        if (reg(17) != rows[i].after_5 || reg(16) != 0) {
            fail_msg("task %u: %llu", rows[i].cmd, (unsigned long long)reg(17));
        }
    }
    load_task(9, TW_RAW_S16, 1);
    blocks(3);
    assert_int_equal(reg(0), g.arcs[0].stamp_us);
    uint64_t none;
    assert_false(tw_graph_register(&g, 1, &none));
}

static void test_S0_L1629_debug_tasks_measure_samples(void **state)
{
    (void)state;
    /* block n holds -n/64 .. from slope -1/64: after 2 blocks 0, -1/64, .. -15/64 */
    static const struct {
        uint32_t cmd;
        double after_2;
    } rows[] = {{10, 15.0 / 64}, {11, -11.5 / 64}, {12, -15.0 / 64}, {13, 0}, {14, 11.5 / 64}};
    static const uint32_t raws[] = {TW_RAW_S16, TW_RAW_Q31, TW_RAW_FP32, TW_RAW_FP64};
    for (uint32_t r = 0; r < TW_COUNT(raws); r++) {
        for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
            load_task(rows[i].cmd, raws[r], 1);
            io.slope = -1.0 / 64;
            blocks(2);
            if (fabs(reg_number(0) - rows[i].after_2) > 1e-9) {
                fail_msg("task %u of %s: %g", rows[i].cmd, tw_raw_name(raws[r]), reg_number(0));
            }
        }
    }
    load_task(10 + 16, TW_RAW_FP32, 1); /* forgets a 16th at each write */
    io.slope = 1.0;
    io.hole_from = 1;
    io.hole_to = 99;
    blocks(3);
    assert_true(fabs(reg_number(0) - 7.0 * 15 / 16 * 15 / 16) < 1e-6);
}

static void the_rate_is_bytes_a_second(void **state)
{
    (void)state;
    load_task(8, TW_RAW_S16, 1);
    uint64_t us = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        rig.us = us += 500; /* a frame of 16 bytes each */
        blocks(1);
    }
    assert_in_range(reg(0), 31000, 33000);
}

static void a_rewound_arc_is_played_again_once_a_block(void **state)
{
    (void)state;
    build(TW_RAW_S16, 1, 0, 2);
    tw_ib_arc_fill(&ib, 0, 2 * SAMPLES * 2);
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    tw_image_poke(img, 4 * TW_W_COUNTS3, TW_W14_REGISTERS, 1);
    tw_image_poke(img, arc_word(0, 4), TW_A4_DEBUG_CMD, 15);
    assert_int_equal(load(bytes), TW_OK);
    io.hole_from = 0;
    io.hole_to = 1000;
    tw_graph_io_t *in = &g.ios[0];
    in->rated = false; /* nothing comes */
    for (uint32_t i = 0; i < 32; i++) {
        g.arcs[0].buf[i] = (uint8_t)i;
    }
    blocks(10);
    assert_in_range(io.n_out, 9 * 16, 20 * 16);
    assert_in_range(reg(0), 4, 10);
    for (uint32_t i = 0; i < io.n_out; i++) {
        assert_int_equal(io.out[i], i % 32);
    }
}

/* ---- constants, time stamps --------------------------------------------------------------------- */

static void a_constant_arc_feeds_its_consumer_at_every_run(void **state)
{
    (void)state;
    memset(&io, 0, sizeof io);
    io.takes = true;
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, 0);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, 32);
    tw_ib_io(&ib, OUT, true, out, f);
    const uint32_t node = tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
    tw_ib_node_params(&ib, node, 3, (uint8_t[]){0}, 1); /* PARAMS has 8 bytes before the data */
    uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    /* PARAMS is made longer where it lies: the data go behind the image */
    const uint32_t data = tw_round_up(bytes, 16);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        tw_put_le16(img + data + 2 * i, (uint16_t)(100 + i));
    }
    bytes = data + 2 * SAMPLES;
    const uint32_t params = tw_image_section(img, TW_SEC_PARAMS);
    tw_image_poke(img, arc_word(in, 0), TW_A0_TYPE, 3);
    tw_image_poke(img, arc_word(in, 0), TW_A0_PREFILL, 1);
    tw_image_poke(img, arc_word(in, 1), 31, 0, 0);
    tw_image_poke(img, arc_word(in, 5), 31, 0, 2 * SAMPLES);
    tw_image_poke(img, arc_word(in, 6), 31, 0, 0);
    /* a section of its own at the end: nothing else may lie in it, so the boot parameters move too */
    memmove(img + data + 2 * SAMPLES, img + params, 8);
    bytes += 16;
    tw_image_poke(img, 4 * (TW_W_DIRECTORY + 2 * TW_SEC_PARAMS), 31, 0, data);
    tw_image_poke(img, 4 * (TW_W_DIRECTORY + 2 * TW_SEC_PARAMS) + 4, 31, 0, 2 * SAMPLES + 8);
    const uint32_t record = tw_image_node(img, node);
    const tw_img_node_parts_t p = tw_img_node_parts(img, record);
    tw_image_poke(img, p.params_at, 31, 0, 2 * SAMPLES);
    tw_image_poke(img, 4 * TW_W_TOTAL, 31, 0, bytes);
    assert_int_equal(load(bytes), TW_OK);
    blocks(10);
    assert_true(io.n_out >= 9 * 2 * SAMPLES);
    for (uint32_t i = 0; i < io.n_out / 2; i++) {
        assert_int_equal(tw_get_le16(io.out + 2 * i), 100 + i % SAMPLES);
    }
}

/* S0:L734: absolute, relative to the frame before, a counter; in front of the frame, written as it arrives. */
static void test_S0_L734_frames_carry_the_time_of_their_transfer(void **state)
{
    (void)state;
    static const uint32_t bytes_of[] = {2, 4, 8};
    for (uint32_t ts = 1; ts < 4; ts++) {
        for (uint32_t size = 0; size < 3; size++) {
            build_stamped(TW_RAW_S16, 1, 0, 2, ts, size);
            assert_int_equal(load(tw_ib_finish(&ib, img, sizeof img)), TW_OK);
            uint64_t us = 0;
            for (uint32_t i = 0; i < 4; i++) {
                rig.us = us += 250000;
                blocks(1);
            }
            for (uint32_t i = 0; i < 4; i++) {
                uint8_t word[8] = {0};
                memcpy(word, io.out + i * io.f->frame_bytes, bytes_of[size]);
                const uint64_t now = tw_get_le64(word);
                if (ts == 3) {
                    assert_int_equal(now, i);
                } else if (size == 2) {
                    tw_stamp_abs_t a;
                    assert_int_equal(tw_stamp_abs_unpack(now, &a), TW_OK);
                    assert_in_range(a.ms, ts == 1 ? 250 * (i + 1) : i == 0 ? 0 : 249, ts == 1 ? 250 * (i + 1) : 250);
                }
            }
            assert_int_equal(tw_gauge_get(&g.ios[1].stats.stamp_errors), 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hole_is_bridged_in_every_type_and_layout),
        cmocka_unit_test(a_hole_may_begin_inside_a_frame),
        cmocka_unit_test(what_is_no_number_is_repeated),
        cmocka_unit_test(an_overflow_fades_in_every_type_and_layout),
        cmocka_unit_test(a_script_of_flow_errors_decides),
        cmocka_unit_test(test_S0_L1643_crumbs_make_ready_at_parts_of_the_buffer),
        cmocka_unit_test(test_S0_L1629_debug_tasks_count_and_time),
        cmocka_unit_test(test_S0_L1629_debug_tasks_measure_samples),
        cmocka_unit_test(the_rate_is_bytes_a_second),
        cmocka_unit_test(a_rewound_arc_is_played_again_once_a_block),
        cmocka_unit_test(a_constant_arc_feeds_its_consumer_at_every_run),
        cmocka_unit_test(test_S0_L734_frames_carry_the_time_of_their_transfer),
    };
    return cmocka_run_group_tests_name("graph_arcs", tests, NULL, NULL);
}
