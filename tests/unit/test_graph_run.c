/* The scheduler: data moves as the kernels say, whatever the frames, rates, scripts and holes. */
#include "engine/node/kernels.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
}

static int16_t out_sample(uint32_t io, uint32_t i)
{
    return (int16_t)tw_get_le16(rig.out[io] + 2 * i);
}

static void start(void)
{
    rig_open(&rig, 4096, 16384);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

static uint32_t add_script(const char *text, uint32_t regs, uint32_t ptrs, uint32_t stack)
{
    static tw_asm_out_t out;
    uint16_t words[64];
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%u: %s", out.diags[0].line, out.diags[0].text);
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    return tw_ib_script(&ib, words, out.code_bytes / 2, regs, ptrs, stack);
}

static void a_chain_passes_every_frame_in_its_own_block(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    start();
    for (uint64_t t = 0; t < 50; t++) {
        ticks(1);
        assert_int_equal(rig.out_bytes[4], (t + 1) * RIG_FRAME);
        assert_int_equal(rig.write_tick[4], t);
    }
    for (uint32_t i = 0; i < rig.out_bytes[4] / 2; i++) {
        assert_int_equal(out_sample(4, i), (int16_t)i);
    }
    rig_close(&rig);
}

/* stages 2, post_shift 1, the elliptic band-pass of the filter's own tests */
static const int16_t coef[2][5] = {{681, 422, 681, 23853, -15161}, {681, -1342, 681, 26261, -15331}};

/* "(W-R) == Size-1" is full would never let a frame into a buffer of one: W may equal the size. */
static void test_S0_L1641_full_rule(void **state)
{
    (void)state;
    tw_engine_arc_t a;
    rig_chain_open(&ib);
    start();
    ticks(10);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(tw_engine_arc(rig.engine, i, &a), TW_OK);
        assert_int_equal(a.bytes, RIG_FRAME);
        assert_int_equal(a.max_fill, RIG_FRAME);
        assert_int_equal(a.overflows + a.underflows, 0);
    }
    assert_int_equal(rig.out_bytes[4], 10 * RIG_FRAME);
    rig_close(&rig);
}

static void a_graph_gives_the_samples_of_its_kernels(void **state)
{
    (void)state;
    uint8_t params[22] = {2, 1};
    for (unsigned i = 0; i < 10; i++) {
        tw_put_le16(params + 2 + 2 * i, (uint16_t)coef[i / 5][i % 5]);
    }
    uint8_t gain[2];
    tw_put_le16(gain, 0x0806); /* -6.02 dB */
    rig_chain_open(&ib);
    tw_ib_node_params(&ib, 0, 256, params, sizeof params);
    tw_ib_node_params(&ib, 1, 2, gain, sizeof gain);
    start();
    rig.next[0] = 30000; /* the ramp wraps: full-scale steps */
    ticks(500);
    tw_services_t svc;
    int16_t history[8] = {0};
    tw_services_default(&svc);
    for (uint32_t t = 0; t < 500; t++) {
        int16_t x[RIG_SAMPLES];
        for (uint32_t i = 0; i < RIG_SAMPLES; i++) {
            x[i] = (int16_t)(uint16_t)(30000 + t * RIG_SAMPLES + i);
        }
        svc.biquad_q15(&coef[0][0], 2, 1, history, x, x, RIG_SAMPLES);
        for (uint32_t i = 0; i < RIG_SAMPLES; i++) {
            const int halved = x[i] < 0 ? (x[i] - 1) / 2 : (x[i] + 1) / 2;
            assert_int_equal(out_sample(4, t * RIG_SAMPLES + i), halved);
        }
    }
    rig_close(&rig);
}

static void frames_may_differ_along_the_chain(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t a, b, c; /* samples: IO and filter in, filter out to amplifier, amplifier out */
    } rows[] = {
        {"shorter", 16, 8, 4},
        {"longer, several blocks a frame", 16, 48, 96},
        {"neither divides the other", 16, 12, 20},
    };
    for (uint32_t r = 0; r < TW_COUNT(rows); r++) {
        tw_ib_init(&ib);
        const uint32_t a = tw_ib_format(&ib, TW_RAW_S16, 1, rows[r].a, 16000.0f);
        const uint32_t b = tw_ib_format(&ib, TW_RAW_S16, 1, rows[r].b, 16000.0f);
        const uint32_t c = tw_ib_format(&ib, TW_RAW_S16, 1, rows[r].c, 16000.0f);
        const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, a, b, 2 * (rows[r].a + rows[r].b));
        const uint16_t mid = (uint16_t)tw_ib_arc(&ib, 0, 1, 1, 0, b, c, 2 * (rows[r].b + rows[r].c));
        const uint16_t out = (uint16_t)tw_ib_arc(&ib, 1, 1, TW_IB_IO, 0, c, c, 2 * rows[r].c);
        tw_ib_io(&ib, 0, false, in, a);
        tw_ib_io(&ib, 4, true, out, c);
        tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){in, mid});
        tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){mid, out});
        start();
        ticks(60);
        const uint32_t n = rig.out_bytes[4] / 2, most = rows[r].a + rows[r].b + rows[r].c;
        if (n + most < 60 * 16) {
            fail_msg("%s: only %u samples came out", rows[r].why, (unsigned)n);
        }
        for (uint32_t i = 0; i < n; i++) {
            if (out_sample(4, i) != (int16_t)i) {
                fail_msg("%s: sample %u is %d", rows[r].why, (unsigned)i, out_sample(4, i));
            }
        }
        rig_close(&rig);
    }
}

/* Two independent chains: 1 ms at 16 kHz, and 3 ms at 8 kHz. */
static void an_io_of_longer_frames_is_due_less_often(void **state)
{
    (void)state;
    tw_ib_init(&ib);
    const uint32_t fast = tw_ib_format(&ib, TW_RAW_S16, 1, 16, 16000.0f),
                   slow = tw_ib_format(&ib, TW_RAW_S16, 1, 24, 8000.0f);
    const uint16_t a = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, fast, fast, 32);
    const uint16_t b = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, fast, fast, 32);
    const uint16_t c = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 1, 0, slow, slow, 48);
    const uint16_t d = (uint16_t)tw_ib_arc(&ib, 1, 1, TW_IB_IO, 0, slow, slow, 48);
    tw_ib_io(&ib, 0, false, a, fast);
    tw_ib_io(&ib, 4, true, b, fast);
    tw_ib_io(&ib, 1, false, c, slow);
    tw_ib_io(&ib, 5, true, d, slow);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){a, b});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){c, d});
    start();
    ticks(3001);
    assert_true(tw_engine_period_s(rig.engine) == 0.001);
    assert_int_equal(rig.reads[0], 3001);
    assert_int_equal(rig.reads[1], 1001); /* blocks 0, 3, 6, .. 3000: no drift */
    rig_close(&rig);
}

static void holes_are_filled_by_policy_and_counted(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t policy;
        int16_t first, last; /* samples of the concealed frame; the frame before was 32..47 */
    } rows[] = {
        {"zeroes", 0, 0, 0},
        {"repeat the frame", 1, 32, 47},
        {"go on, ever more slowly", 2, 48, 53}, /* 47 + 7/8, and never more than 47 + 7 */
    };
    for (uint32_t r = 0; r < TW_COUNT(rows); r++) {
        rig_chain_open(&ib);
        tw_ib_arc_policy(&ib, 0, rows[r].policy, 0);
        start();
        rig.hole_from = 3;
        rig.hole_to = 5;
        ticks(8);
        tw_engine_arc_t arc;
        tw_engine_reply_t ev;
        assert_int_equal(tw_engine_arc(rig.engine, 0, &arc), TW_OK);
        const bool frame_ok = out_sample(4, 48) == rows[r].first && out_sample(4, 63) == rows[r].last;
        if (!frame_ok || arc.underflows != 2 || out_sample(4, 80) != 48) {
            fail_msg("%s: %d..%d, %u underflows", rows[r].why, out_sample(4, 48), out_sample(4, 63),
                     (unsigned)arc.underflows);
        }
        assert_int_equal(rig_events(&rig, TW_EV_FLOW, &ev), 1); /* the first of the series */
        assert_int_equal(ev.at, 0);
        assert_int_equal(ev.tick, 3);
        rig_close(&rig);
    }
}

/* A high QoS output makes the amplifier a source: it does not wait for input. */
static void a_source_runs_at_the_rate_of_its_output(void **state)
{
    (void)state;
    for (uint32_t frames = 1; frames <= 4; frames++) {
        tw_ib_init(&ib);
        const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f),
                       g = tw_ib_format(&ib, TW_RAW_S16, 1, 4, 16000.0f);
        const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, RIG_FRAME);
        const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, g, RIG_FRAME * frames);
        tw_ib_io(&ib, 0, false, in, f);
        tw_ib_io(&ib, 4, true, out, g);
        tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, (uint16_t)(out | 1u << 13)});
        start();
        ticks(100);
        assert_in_range(rig.out_bytes[4], 100 * RIG_FRAME - 8, 100 * RIG_FRAME + 8);
        rig_close(&rig);
    }
}

static void a_frame_without_room_fades_into_the_newest(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    tw_ib_arc_policy(&ib, 0, 0, 1);
    tw_ib_node_script(&ib, 0, add_script("eqk r0 9\nret\n", 2, 1, 0));
    start();
    ticks(2); /* 0..15 waits in the arc, 16..31 came on top */
    assert_int_equal(tw_engine_put_script_off(rig.engine, 0, 0, true), TW_OK);
    assert_int_equal(tw_engine_put_arc_read(rig.engine, 9, 0, 4096), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    tw_engine_reply_t reply;
    uint8_t data[RIG_FRAME];
    assert_true(rig_reply(&rig, 9, &reply, data, sizeof data));
    for (int i = 0; i < RIG_SAMPLES; i++) {
        assert_int_equal((int16_t)tw_get_le16(data + 2 * i), i + (i + 1)); /* i (1-w) + (i+16) w, w = (i+1)/16 */
    }
    rig_close(&rig);
}

/* The node is kept from running by its script, so its input arc (two frames) overflows. */
static void full_arcs_lose_what_their_policy_says(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t policy;
        int16_t first; /* sample that is left at the front */
    } rows[] = {{"drop the newest", 0, 0}, {"drop the oldest", 2, 3 * 16}};
    for (uint32_t r = 0; r < TW_COUNT(rows); r++) {
        tw_ib_init(&ib);
        const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
        const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, 2 * RIG_FRAME);
        const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, 2 * RIG_FRAME);
        tw_ib_io(&ib, 0, false, in, f);
        tw_ib_io(&ib, 4, true, out, f);
        tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
        tw_ib_arc_policy(&ib, in, 0, rows[r].policy);
        tw_ib_node_script(&ib, 0, add_script("eqk r0 9\nret\n", 2, 1, 0));
        start();
        ticks(5);
        assert_int_equal(rig.out_bytes[4], 0);
        assert_int_equal(tw_engine_put_script_off(rig.engine, 0, 0, true), TW_OK);
        assert_int_equal(tw_engine_put_arc_read(rig.engine, 9, in, 4096), TW_OK);
        (void)tw_engine_publish(rig.engine);
        ticks(1);
        tw_engine_reply_t reply;
        uint8_t data[256];
        assert_true(rig_reply(&rig, 9, &reply, data, sizeof data));
        assert_int_equal(reply.bytes, 2 * RIG_FRAME);
        if ((int16_t)tw_get_le16(data) != rows[r].first) {
            fail_msg("%s: front is %d", rows[r].why, (int16_t)tw_get_le16(data));
        }
        tw_engine_arc_t arc;
        assert_int_equal(tw_engine_arc(rig.engine, in, &arc), TW_OK);
        assert_int_equal(arc.overflows, 4); /* blocks 2..5; the script is off from block 5 on */
        assert_true(rig.out_bytes[4] != 0); /* disabled: the node runs again */
        rig_close(&rig);
    }
}

static void scripts_run_before_and_after_their_node(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    /* tag = phase; before: T stays 1 after the call, so the node runs */
    tw_ib_node_script(&ib, 0, add_script("cals event\nret\n", 2, 1, 0));
    start();
    ticks(3);
    tw_engine_reply_t x;
    for (unsigned i = 0; i < 6; i++) {
        assert_true(tw_engine_reply(rig.engine, &x));
        assert_int_equal(x.event, TW_EV_SCRIPT_EVENT);
        assert_int_equal(x.at, i % 2 == 0 ? 1 : 2);
        assert_int_equal(x.tick, i / 2);
        tw_engine_reply_done(rig.engine);
    }
    assert_false(tw_engine_reply(rig.engine, &x));
    assert_int_equal(rig.out_bytes[4], 3 * RIG_FRAME);
    rig_close(&rig);
}

static void a_script_sets_parameters_as_a_host_would(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    const uint32_t s = add_script(
        "movi int16 r1 1\nstore *p0 r1\nmovi int16 r0 3\nmovi int16 r2 1\npshc int8 1\ncals setparam\nret\n", 3, 1, 2);
    tw_ib_script_memory(&ib, s, false);
    start();
    ticks(2);
    assert_int_equal(tw_engine_put_run(rig.engine, 5, s, NULL, 0, 0), TW_OK);
    assert_int_equal(tw_engine_put_read(rig.engine, 6, 1, 3), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    tw_engine_reply_t x;
    uint8_t mute[4];
    uint8_t regs[64];
    while (tw_engine_reply(rig.engine, &x)) {
        assert_int_equal(x.err, TW_OK);
        memcpy(x.token == 5 ? regs : mute, x.data, x.bytes);
        tw_engine_reply_done(rig.engine);
    }
    assert_int_equal(tw_get_le64(regs), 0);      /* status */
    assert_int_equal(tw_get_le64(regs + 48), 1); /* T */
    assert_int_equal(mute[0], 1);
    rig_close(&rig);
}

/* The last of `words` int32 of the script's memory is written, the one after it faults. */
static tw_err_t write_at(uint32_t script, int64_t word)
{
    tw_engine_reply_t x;
    assert_int_equal(tw_engine_put_script_off(rig.engine, 0, script, false), TW_OK);
    assert_int_equal(tw_engine_put_run(rig.engine, 5, script, &word, 1, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_true(rig_reply(&rig, 5, &x, NULL, 0));
    return x.err;
}

static void a_script_has_the_memory_the_image_gives_it(void **state)
{
    (void)state;
    static const char text[] = "pbase p0 r0\nstore *p0 r1\nret\n";
    static const struct {
        bool shared;
        uint32_t units, words; /* shared scratch is as large as the largest asks, each sees its own part */
    } rows[] = {{false, 1, 16}, {false, 3, 48}, {false, 64, 1024}, {true, 2, 32}, {true, 5, 80}};
    rig_chain_open(&ib);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const uint32_t s = add_script(text, 2, 1, 0);
        tw_ib_script_memory(&ib, s, rows[i].shared);
        tw_ib_script_units(&ib, s, rows[i].units);
    }
    start();
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        assert_int_equal(write_at(i, rows[i].words - 1), TW_OK);
        assert_int_equal(write_at(i, rows[i].words), TW_E_SCR_FAULT);
    }
    rig_close(&rig);
}

static void a_script_that_never_ends_is_isolated_and_the_graph_goes_on(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    tw_ib_node_script(&ib, 0, add_script("labl #1\njmp #1\n", 2, 1, 0));
    start();
    ticks(20);
    tw_engine_reply_t ev;
    tw_engine_script_t s;
    tw_engine_info_t info;
    assert_int_equal(rig.out_bytes[4], 20 * RIG_FRAME);
    assert_int_equal(tw_engine_script(rig.engine, 0, &s), TW_OK);
    assert_true(s.disabled);
    assert_int_equal(s.faults, 1);
    assert_int_equal(s.last_error, TW_E_SCR_BUDGET);
    assert_int_equal(rig_events(&rig, TW_EV_SCRIPT_FAULT, &ev), 1);
    assert_int_equal(ev.err, TW_E_SCR_BUDGET);
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.last_error, TW_E_SCR_BUDGET);
    /* RESET enables it again, and it faults again */
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_RESET, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(2);
    assert_int_equal(tw_engine_script(rig.engine, 0, &s), TW_OK);
    assert_int_equal(s.faults, 2);
    rig_close(&rig);
}

/* Behind the chain, with its lock arc. */
static uint32_t add_script_node(uint32_t script)
{
    const uint32_t f = tw_ib_format(&ib, TW_RAW_U8, 1, 4, 0.0f);
    const uint16_t lock = (uint16_t)tw_ib_arc(&ib, 2, 0, 2, 0, f, f, 8);
    const uint32_t node =
        tw_ib_node(&ib, rig_type("ARM/arm_stream_script"), 0, 1, (uint16_t[]){(uint16_t)(lock | 1u << 15)});
    tw_ib_node_script(&ib, node, script);
    return node;
}

static void a_script_node_runs_once_a_block_and_once_at_reset(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    const uint32_t node = add_script_node(add_script("cals event\nret\n", 2, 1, 0));
    start();
    ticks(7);
    tw_engine_node_t n;
    tw_engine_script_t s;
    assert_int_equal(tw_engine_node(rig.engine, node, &n), TW_OK);
    assert_int_equal(n.runs, 7);
    assert_int_equal(n.errors, 0);
    assert_int_equal(n.script, 0);
    assert_int_equal(tw_engine_script(rig.engine, 0, &s), TW_OK);
    assert_int_equal(s.runs, 8);
    rig_close(&rig);
}

static uint32_t seed_script(void)
{
    static const uint16_t words[] = {0x2002, 0x0001, 0xE810, 0x0381, 0xC000};
    return tw_ib_script(&ib, words, TW_COUNT(words), 2, 2, 0);
}

static uint32_t runs_of(uint32_t script)
{
    tw_engine_script_t s;
    assert_int_equal(tw_engine_script(rig.engine, script, &s), TW_OK);
    assert_int_equal(s.faults, 0);
    assert_false(s.disabled);
    return s.runs;
}

/* movi int16 r0 1; equ r1 r0; ccallsys 1; ret: r1 is 0, so T = 0, nothing is called, and before a node
 * that says: not in this block. The graph goes on and loses the input it has no room for, counted. */
static void test_S0_L133_script_holds_back_the_node_that_names_it(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    tw_ib_node_script(&ib, 0, seed_script());
    start();
    ticks(5);
    tw_engine_node_t n;
    tw_engine_arc_t a;
    assert_int_equal(runs_of(0), 6);
    assert_int_equal(tw_engine_node(rig.engine, 0, &n), TW_OK);
    assert_int_equal(n.runs, 0);
    assert_int_equal(n.errors, 0);
    assert_int_equal(tw_engine_arc(rig.engine, 0, &a), TW_OK);
    assert_int_equal(a.overflows, 4);
    assert_int_equal(rig.out_bytes[4], 0);
    rig_close(&rig);
}

static void test_S0_L355_script_node_runs_beside_the_others(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    (void)add_script_node(seed_script());
    start();
    ticks(5);
    assert_int_equal(runs_of(0), 6);
    assert_int_equal(rig.out_bytes[4], 5 * RIG_FRAME);
    rig_close(&rig);
}

/* With r1 = 1 the comparison holds and the node call is made: command 1 (RESET) to node 1. */
static void test_S0_L143_node_call_is_made_when_the_comparison_holds(void **state)
{
    (void)state;
    const int64_t args[2] = {0, 1};
    tw_engine_reply_t x;
    uint8_t data[64];
    rig_chain_open(&ib);
    (void)seed_script();
    start();
    assert_int_equal(tw_engine_put_run(rig.engine, 5, 0, args, 2, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    assert_true(rig_reply(&rig, 5, &x, data, sizeof data));
    assert_int_equal(x.err, TW_OK);
    assert_int_equal(tw_get_le64(data), 0);      /* status: done */
    assert_int_equal(tw_get_le64(data + 48), 1); /* T */
    assert_int_equal(tw_get_le64(data + 56), 4); /* instructions */
    rig_close(&rig);
}

static void debug_scripts_serve_the_fields_asked_for(void **state)
{
    (void)state;
    rig_chain_open(&ib);
    ib.control = tw_put_bits(8 | 16, TW_LO(TW_W7_DEBUG_SCRIPT));
    (void)add_script("cals event\nret\n", 2, 1, 0);
    start();
    ticks(1);
    tw_engine_reply_t x;
    for (unsigned bit = 8; bit <= 16; bit *= 2) {
        assert_true(tw_engine_reply(rig.engine, &x));
        assert_int_equal(x.at, bit);
        tw_engine_reply_done(rig.engine);
    }
    assert_false(tw_engine_reply(rig.engine, &x));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_passes_every_frame_in_its_own_block),
        cmocka_unit_test(test_S0_L1641_full_rule),
        cmocka_unit_test(a_graph_gives_the_samples_of_its_kernels),
        cmocka_unit_test(frames_may_differ_along_the_chain),
        cmocka_unit_test(an_io_of_longer_frames_is_due_less_often),
        cmocka_unit_test(holes_are_filled_by_policy_and_counted),
        cmocka_unit_test(a_source_runs_at_the_rate_of_its_output),
        cmocka_unit_test(a_frame_without_room_fades_into_the_newest),
        cmocka_unit_test(full_arcs_lose_what_their_policy_says),
        cmocka_unit_test(scripts_run_before_and_after_their_node),
        cmocka_unit_test(a_script_sets_parameters_as_a_host_would),
        cmocka_unit_test(a_script_has_the_memory_the_image_gives_it),
        cmocka_unit_test(a_script_that_never_ends_is_isolated_and_the_graph_goes_on),
        cmocka_unit_test(a_script_node_runs_once_a_block_and_once_at_reset),
        cmocka_unit_test(test_S0_L133_script_holds_back_the_node_that_names_it),
        cmocka_unit_test(test_S0_L355_script_node_runs_beside_the_others),
        cmocka_unit_test(test_S0_L143_node_call_is_made_when_the_comparison_holds),
        cmocka_unit_test(debug_scripts_serve_the_fields_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
