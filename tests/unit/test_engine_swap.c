/* Hot swap under a sine: no click, nothing lost, and back again. */
#include "tests/support/engine_rig.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { GAIN_DB = 6, MUTE = 3, DELAY = 5, SAMPLES = 16, CHANNELS_MAX = 2, KEEP = 1 << 15 };
static const double RATE = 16000, PI = 3.14159265358979323846, AMPLITUDE = 0.45;

static rig_t rig;
static tw_ib_t ib;
static uint8_t img[2][32768];
static uint32_t img_bytes[2];
static struct {
    uint32_t raw, channels;
    uint64_t in; /* instants read */
    double out[KEEP][CHANNELS_MAX];
    uint32_t n;
    bool poison; /* the input holds NaN */
    uint32_t block_cycles;
} sound;

static uint32_t sample_bytes(void)
{
    return sound.raw == TW_RAW_FP32 ? 4 : 2;
}

static double sine(uint64_t instant, uint32_t channel)
{
    return AMPLITUDE * sin(2 * PI * 1000 * (double)instant / RATE + channel);
}

static uint32_t play(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    uint8_t *p = dst;
    for (uint32_t at = 0; at < bytes; sound.in++) {
        for (uint32_t c = 0; c < sound.channels; c++, at += sample_bytes()) {
            const double v = sound.poison ? (double)NAN : sine(sound.in, c);
            if (sound.raw == TW_RAW_FP32) {
                tw_put_f32(p + at, (float)v);
            } else {
                tw_put_le16(p + at, (uint16_t)(int16_t)lrint(v * 32768));
            }
        }
    }
    return bytes;
}

static uint32_t hear(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    const uint8_t *p = src;
    for (uint32_t at = 0; at < bytes && sound.n < KEEP; sound.n++) {
        for (uint32_t c = 0; c < sound.channels; c++, at += sample_bytes()) {
            sound.out[sound.n][c] =
                sound.raw == TW_RAW_FP32 ? (double)tw_get_f32(p + at) : (int16_t)tw_get_le16(p + at) / 32768.0;
        }
    }
    return bytes;
}

/* IO 0 -> eq -> amp -> IO 4, at a gain and a delay. */
static uint32_t build(uint8_t *to, double gain_db, uint8_t delay, bool named)
{
    const uint32_t bytes = SAMPLES * sound.channels * sample_bytes();
    uint8_t value[4];
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, sound.raw, sound.channels, SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, bytes);
    const uint16_t mid = (uint16_t)tw_ib_arc(&ib, 0, 1, 1, 0, f, f, bytes);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 1, 1, TW_IB_IO, 0, f, f, bytes);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){in, mid});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){mid, out});
    tw_ib_node_params(&ib, 0, DELAY, &delay, 1);
    tw_put_f32(value, (float)gain_db);
    tw_ib_node_params(&ib, 1, GAIN_DB, value, 4);
    if (named) {
        tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
        tw_ib_symbol(&ib, TW_SYM_NODE, 1, "amp");
    }
    return tw_ib_finish(&ib, to, 32768);
}

static void open_sound(uint32_t raw, uint32_t channels)
{
    memset(&sound, 0, sizeof sound);
    sound.raw = raw;
    sound.channels = channels;
    rig_open(&rig, 4096, 8192);
    rig.board.read = play;
    rig.board.write = hear;
}

static void run(unsigned blocks)
{
    for (unsigned i = 0; i < blocks; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
}

static void prime(const uint8_t *image, uint32_t bytes)
{
    tw_fault_t fault;
    assert_int_equal(tw_engine_prime(rig.engine, image, bytes, false, &fault), TW_OK);
}

static void swap_to(const tw_swap_t *how)
{
    tw_fault_t fault;
    assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, how, &fault), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static tw_err_t roll_back(uint32_t fade_us)
{
    const tw_err_t err = tw_engine_put_rollback(rig.engine, 0, fade_us);
    if (err == TW_OK) {
        (void)tw_engine_publish(rig.engine);
    }
    return err;
}

static double worst_step(uint32_t from)
{
    double worst = 0;
    for (uint32_t i = from + 1; i < sound.n; i++) {
        for (uint32_t c = 0; c < sound.channels; c++) {
            const double d = fabs(sound.out[i][c] - sound.out[i - 1][c]);
            worst = d > worst ? d : worst;
        }
    }
    return worst;
}

static uint32_t seed;
static uint32_t dice(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % n;
}

static bool fading(void)
{
    tw_engine_guard_t g;
    tw_engine_guard(rig.engine, &g);
    return g.fading;
}

/* A swap of either kind, or a way back, in the middle of a fade too. */
static void random_move(uint32_t fade_us)
{
    static const double gains[] = {0, -1, -6, -20, -100};
    if (dice(3) == 0 || fading()) {
        const tw_err_t err = roll_back(fade_us);
        assert_true(err == TW_OK || err == TW_E_NO_ROLLBACK);
        return;
    }
    img_bytes[0] = build(img[0], gains[dice(5)], (uint8_t)dice(20), true);
    prime(img[0], img_bytes[0]);
    swap_to(&(tw_swap_t){.start = true, .carry = TW_CARRY_STATE, .fade_us = fade_us});
}

static void no_step_is_larger_than_the_sine_and_the_fade_allow(void **state)
{
    (void)state;
    static const struct {
        uint32_t raw, channels;
    } streams[] = {{TW_RAW_S16, 1}, {TW_RAW_S16, 2}, {TW_RAW_FP32, 1}, {TW_RAW_FP32, 2}};
    enum { FADE_US = 8000, FADE = 128 };
    const double slope = AMPLITUDE * 2 * PI * 1000 / RATE, fade = 2 * AMPLITUDE / FADE, lsb = 3.0 / 32768;
    for (size_t i = 0; i < TW_COUNT(streams); i++) {
        open_sound(streams[i].raw, streams[i].channels);
        rig_load(&rig, img[0], build(img[0], 0, 0, true));
        seed = (uint32_t)i;
        run(8);
        for (unsigned k = 0; k < 60; k++) {
            random_move(FADE_US);
            run(1 + dice(24));
        }
        const double worst = worst_step(64);
        if (worst > slope + fade + lsb) {
            fail_msg("stream %zu: a step of %.5f, allowed %.5f", i, worst, slope + fade + lsb);
        }
        assert_int_equal(sound.n, sound.in); /* every sample read was played once */
        rig_close(&rig);
    }
}

static void the_same_graph_goes_on_to_the_bit(void **state)
{
    (void)state;
    static double before[KEEP][CHANNELS_MAX];
    static const tw_swap_t ways[] = {{.start = true, .carry = TW_CARRY_PARAMS},
                                     {.start = true, .carry = TW_CARRY_STATE},
                                     {.start = true, .carry = TW_CARRY_PARAMS, .fade_us = 5000}};
    for (size_t way = 0; way <= TW_COUNT(ways); way++) {
        open_sound(TW_RAW_FP32, 2);
        img_bytes[0] = build(img[0], -3, 17, true);
        rig_load(&rig, img[0], img_bytes[0]);
        run(2);
        for (unsigned k = 0; k < 20; k++) {
            if (way != 0) {
                prime(img[0], img_bytes[0]);
                swap_to(&ways[way - 1]);
            }
            run(7);
        }
        if (way == 0) {
            memcpy(before, sound.out, sizeof before);
        }
        assert_memory_equal(before, sound.out, sizeof before);
        rig_close(&rig);
    }
}

static float gain_now(void)
{
    tw_engine_reply_t r;
    uint8_t v[4];
    assert_int_equal(tw_engine_put_read(rig.engine, 77, 1, GAIN_DB), TW_OK);
    (void)tw_engine_publish(rig.engine);
    run(1);
    assert_true(rig_reply(&rig, 77, &r, v, sizeof v));
    assert_int_equal(r.err, TW_OK);
    return tw_get_f32(v);
}

static void set_gain(float db)
{
    uint8_t v[4];
    tw_put_f32(v, db);
    assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, GAIN_DB, v, 4), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void which_parameters_win_is_what_carry_says(void **state)
{
    (void)state;
    static const struct {
        tw_carry_t carry;
        bool named;
        float gain;
        const char *why;
    } rows[] = {
        {TW_CARRY_NONE, true, -12, "a new graph has its own values"},
        {TW_CARRY_STATE, true, -12, "state is no parameter"},
        {TW_CARRY_PARAMS, true, -7, "what was tuned goes along"},
        {TW_CARRY_PARAMS, false, -12, "nodes without a name are never the same"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        open_sound(TW_RAW_S16, 1);
        rig_load(&rig, img[0], build(img[0], 0, 0, rows[i].named));
        run(2);
        set_gain(-7);
        run(2);
        prime(img[1], build(img[1], -12, 0, rows[i].named));
        swap_to(&(tw_swap_t){.start = true, .carry = rows[i].carry});
        run(1);
        if (fabsf(gain_now() - rows[i].gain) > 0.01f) {
            fail_msg("%s: gain %g", rows[i].why, (double)gain_now());
        }
        assert_int_equal(roll_back(0), TW_OK);
        run(1);
        assert_true(fabsf(gain_now() + 7.0f) < 0.01f); /* the old graph has what it had */
        rig_close(&rig);
    }
}

static void set_io(uint32_t io, uint32_t word)
{
    const uint32_t words[3] = {word, 0, 0};
    assert_int_equal(tw_engine_put_io(rig.engine, 0, io, words), TW_OK);
    (void)tw_engine_publish(rig.engine);
    run(1);
}

/* Settings of IO `io` of the graph, and those its driver was told last. */
static void expect_io(const char *why, uint32_t io, uint32_t word, uint32_t told)
{
    tw_engine_io_t now;
    assert_int_equal(tw_engine_io(rig.engine, io, &now), TW_OK);
    if (now.settings[0] != word || rig.settings[now.hwid][0] != told) {
        fail_msg("%s, IO %u: settings %u, told %u", why, (unsigned)io, (unsigned)now.settings[0],
                 (unsigned)rig.settings[now.hwid][0]);
    }
}

static void settings_changed_since_the_load_go_where_parameters_go(void **state)
{
    (void)state;
    static const struct {
        tw_carry_t carry;
        uint32_t channels, word, told;
        const char *why;
    } rows[] = {
        {TW_CARRY_PARAMS, 2, 7, 7, "what was set goes along"},
        {TW_CARRY_STATE, 2, 0, 7, "settings are no state"},
        {TW_CARRY_NONE, 2, 0, 7, "a new graph has its own"},
        {TW_CARRY_PARAMS, 1, 0, 7, "another format is another IO"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        open_sound(TW_RAW_S16, 2);
        rig_load(&rig, img[0], build(img[0], 0, 0, true));
        run(2);
        set_io(0, 7);
        expect_io(rows[i].why, 0, 7, 7);
        sound.channels = rows[i].channels;
        prime(img[1], build(img[1], -6, 0, true));
        swap_to(&(tw_swap_t){.start = true, .carry = rows[i].carry});
        run(1);
        expect_io(rows[i].why, 0, rows[i].word, rows[i].told);
        expect_io(rows[i].why, 1, 0, 0);
        set_io(0, 9);
        assert_int_equal(roll_back(0), TW_OK); /* the old graph has what it had, and so has the driver */
        run(1);
        expect_io(rows[i].why, 0, 7, rows[i].channels == 2 ? 7 : 9);
        rig_close(&rig);
    }
}

static void a_rollback_takes_one_block(void **state)
{
    (void)state;
    open_sound(TW_RAW_S16, 1);
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(4);
    assert_int_equal(roll_back(0), TW_E_NO_ROLLBACK);
    prime(img[1], build(img[1], -100, 0, true));
    assert_int_equal(roll_back(0), TW_E_NO_ROLLBACK);
    swap_to(&(tw_swap_t){.start = true});
    run(3);
    assert_true(fabs(sound.out[sound.n - 4][0]) < 0.01);
    assert_int_equal(roll_back(0), TW_OK);
    assert_int_equal(roll_back(0), TW_E_BUSY); /* one at a time */
    run(1);
    for (uint32_t i = sound.n - SAMPLES; i < sound.n; i++) {
        assert_true(fabs(sound.out[i][0] - sine(i, 0)) < 1.0 / 8192);
    }
    assert_int_equal(roll_back(0), TW_OK); /* and forward again */
    run(1);
    assert_true(fabs(sound.out[sound.n - 4][0]) < 0.01);
    assert_int_equal(tw_engine_put_keep(rig.engine, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    run(1);
    assert_int_equal(roll_back(0), TW_E_NO_ROLLBACK);
    rig_close(&rig);
}

static void graphs_that_cannot_fade_are_told_apart(void **state)
{
    (void)state;
    tw_fault_t fault;
    open_sound(TW_RAW_S16, 2);
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(2);
    sound.channels = 1;
    prime(img[1], build(img[1], 0, 0, true));
    sound.channels = 2;
    const tw_swap_t fade = {.start = true, .fade_us = 3000}, at_once = {.start = true};
    assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &fade, &fault), TW_E_FADE_FORMAT);
    assert_int_equal(fault.at, 0); /* the IO */
    run(2);
    assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &at_once, &fault), TW_OK);
    tw_engine_drop(rig.engine);
    tw_engine_unprime(rig.engine);
    rig_close(&rig);
}

static void nan_takes_an_unconfirmed_swap_back(void **state)
{
    (void)state;
    tw_engine_guard_t g;
    open_sound(TW_RAW_FP32, 1);
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(4);
    prime(img[1], build(img[1], -6, 0, true));
    swap_to(&(tw_swap_t){.start = true, .confirm = true});
    run(2);
    tw_engine_guard(rig.engine, &g);
    assert_int_equal(g.armed, TW_WAITS_SWAP);
    tw_fault_t fault;
    assert_int_equal(tw_engine_prime(rig.engine, img[1], tw_get_le32(img[1] + 8), false, &fault), TW_E_UNCONFIRMED);
    sound.poison = true;
    run(1);
    sound.poison = false;
    tw_engine_guard(rig.engine, &g);
    assert_int_equal(g.reverts, 1);
    assert_int_equal(g.reason, TW_REVERT_NAN);
    assert_int_equal(g.at, 4);
    assert_int_equal(g.tick, 7);
    assert_int_equal(g.armed, TW_WAITS_NOTHING);
    run(4);
    for (uint32_t i = 0; i < sound.n; i++) {
        assert_true(isfinite(sound.out[i][0])); /* the board never saw it */
    }
    assert_true(fabs(sound.out[sound.n - 1][0] - sine(sound.n - 1, 0)) < 1e-6);
    assert_true(fabsf(gain_now()) < 0.01f);
    rig_close(&rig);
}

static uint32_t slow_cycles(void *ctx)
{
    rig_t *r = ctx;
    return r->cycles += sound.block_cycles;
}

static void overload_takes_an_unconfirmed_swap_back(void **state)
{
    (void)state;
    tw_engine_guard_t g;
    open_sound(TW_RAW_S16, 1);
    rig.port.cycles = slow_cycles;
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(4);
    prime(img[1], build(img[1], -6, 0, true));
    swap_to(&(tw_swap_t){.start = true, .confirm = true});
    sound.block_cycles = 100000; /* a block is 1 ms of 100 cycles/us */
    run(7);
    tw_engine_guard(rig.engine, &g);
    assert_int_equal(g.reverts, 0);
    run(1);
    tw_engine_guard(rig.engine, &g);
    assert_int_equal(g.reverts, 1);
    assert_int_equal(g.reason, TW_REVERT_OVERLOAD);
    tw_engine_info_t info;
    tw_engine_info(rig.engine, &info);
    assert_int_equal(info.generation, 3);
    run(30); /* who does not wait for a word is not watched */
    tw_engine_guard(rig.engine, &g);
    assert_int_equal(g.reverts, 1);
    rig_close(&rig);
}

/* ---- IOs that drivers move --------------------------------------------------------------------- */

typedef struct driven {
    bool servant, no_copies, in_graph;
    const char *why;
} driven_t;

/* A driver that does what it should: a frame in and what there is out between two blocks. */
static struct {
    tw_io_set_t set[RIG_IOS];
    bool on[RIG_IOS], asked, hung; /* hung: what it was to send it never acknowledged, so all comes to a stand */
    uint32_t flight, twice, sets, stops_before_set;
    uint8_t buffer[4][64];
    uint32_t next;
} drv;

static bool drive_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    switch (command) {
    case TW_IO_SET:
        drv.sets++;
        drv.set[hwid] = *(const tw_io_set_t *)data;
        drv.on[hwid] = true;
        return true;
    case TW_IO_STOP:
        if (drv.set[hwid].ctx == data) { /* nobody has SET it meanwhile: the stream is interrupted */
            drv.stops_before_set += drv.on[hwid];
            drv.on[hwid] = false;
            drv.asked = drv.asked && hwid != 0;
            drv.flight = hwid == 4 ? 0 : drv.flight;
        }
        return true;
    case TW_IO_SET_BUFFER:
        return true;
    case TW_IO_START:
        break;
    }
    if (hwid == 0) {
        drv.twice += rig.ios[0].servant && drv.asked;
        drv.asked = true;
        return true;
    }
    drv.twice += drv.flight != 0;
    drv.flight = bytes;
    return hear(ctx, hwid, 0, data, bytes) == bytes;
}

static void run_driven(unsigned blocks)
{
    for (unsigned i = 0; i < blocks; i++) {
        if (drv.on[0] && drv.asked) {
            uint8_t *to = drv.buffer[drv.next++ % 4];
            drv.asked = !rig.ios[0].servant;
            (void)play(NULL, 0, 0, to, SAMPLES * sample_bytes());
            const tw_err_t err = drv.set[0].ack(drv.set[0].ctx, drv.set[0].io, to, SAMPLES * sample_bytes());
            assert_true(err == TW_OK || (err == TW_E_BUSY && drv.hung));
        }
        if (drv.on[4] && drv.flight != 0) {
            const uint32_t sent = drv.flight;
            drv.flight = 0;
            assert_int_equal(drv.set[4].ack(drv.set[4].ctx, drv.set[4].io, NULL, sent), TW_OK);
        }
        run(1);
    }
}

static uint32_t build_driven(uint8_t *to, double gain_db, const driven_t *how)
{
    const uint32_t room = 4 * SAMPLES * sample_bytes();
    (void)build(to, gain_db, 0, true);
    const uint32_t place = tw_round_up(ib.fixed, 16);
    ib.fixed = place + 2 * room;
    const uint32_t bytes = tw_ib_finish(&ib, to, 32768);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = tw_image_section(to, TW_SEC_IOS) + 4 * TW_IO_WORDS * i;
        tw_image_poke(to, at, TW_I0_SERVANT, how->servant);
        tw_image_poke(to, at, TW_I0_COPY, !how->no_copies);
        tw_image_poke(to, at + 24, 31, 0, place + room * i);
        tw_image_poke(to, at + 28, 31, 0, how->in_graph ? room : 0);
    }
    tw_image_fix(to, bytes);
    return bytes;
}

static void open_driven(const driven_t *how)
{
    memset(&drv, 0, sizeof drv);
    open_sound(TW_RAW_S16, 1);
    rig.ios[0].acks = rig.ios[4].acks = 1;
    rig.ios[0].servant = how->servant;
    rig.board.io = drive_io;
    rig_load(&rig, img[0], build_driven(img[0], 0, how));
    run_driven(8);
}

static const driven_t driven_ways[] = {
    {.servant = true, .why = "servant"},
    {.servant = true, .in_graph = true, .why = "servant, buffer in the graph"},
    {.servant = true, .no_copies = true, .why = "servant, no copies"},
    {.why = "commander"},
    {.in_graph = true, .why = "commander, buffer in the graph"},
    {.no_copies = true, .why = "commander, no copies"},
};

/* Every sample once and in its place: both graphs do the same, so the mixture is the signal. */
static void a_fade_through_drivers_loses_and_doubles_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(driven_ways); i++) {
        const driven_t *how = &driven_ways[i];
        open_driven(how);
        for (uint32_t k = 0; k < 5; k++) {
            const uint32_t sets = drv.sets;
            prime(img[1], build_driven(img[1], 0, how));
            swap_to(&(tw_swap_t){.start = true, .carry = TW_CARRY_STATE, .fade_us = 1000 + 3000 * k});
            run_driven(1);
            assert_int_equal(drv.sets, sets); /* the old graph has its drivers while both play */
            run_driven(40);
            if (fading() || drv.sets != sets + 2 || drv.stops_before_set != 0 || drv.twice != 0) {
                fail_msg("%s, fade %u: fading %d, %u SET, %u interrupted, %u doubled", how->why, (unsigned)k, fading(),
                         (unsigned)(drv.sets - sets), (unsigned)drv.stops_before_set, (unsigned)drv.twice);
            }
        }
        for (uint32_t s = 0; s < sound.n; s++) {
            if (fabs(sound.out[s][0] - sine(s, 0)) > 3.0 / 32768) {
                fail_msg("%s: sample %u is %g, not %g", how->why, (unsigned)s, sound.out[s][0], sine(s, 0));
            }
        }
        if (sound.n + 2 * SAMPLES < sound.in) {
            fail_msg("%s: %u of %u samples", how->why, (unsigned)sound.n, (unsigned)sound.in);
        }
        rig_close(&rig);
    }
}

static void a_fade_through_drivers_makes_no_step(void **state)
{
    (void)state;
    const double slope = AMPLITUDE * 2 * PI * 1000 / RATE, fade = 2 * AMPLITUDE / 128, lsb = 3.0 / 32768;
    for (size_t i = 0; i < TW_COUNT(driven_ways); i++) {
        open_driven(&driven_ways[i]);
        static const double gains[] = {-20, 0, -100, -6};
        for (uint32_t k = 0; k < TW_COUNT(gains); k++) {
            prime(img[1], build_driven(img[1], gains[k], &driven_ways[i]));
            swap_to(&(tw_swap_t){.start = true, .fade_us = 8000});
            run_driven(30);
            assert_int_equal(roll_back(8000), TW_OK); /* and back, as softly */
            run_driven(30);
            assert_false(fading());
        }
        if (worst_step(64) > slope + fade + lsb) {
            fail_msg("%s: a step of %.5f, allowed %.5f", driven_ways[i].why, worst_step(64), slope + fade + lsb);
        }
        assert_true(sound.n + 2 * SAMPLES >= sound.in);
        rig_close(&rig);
    }
}

static void a_driver_asked_in_two_ways_serves_no_fade(void **state)
{
    (void)state;
    tw_fault_t fault;
    open_driven(&driven_ways[0]);
    prime(img[1], build_driven(img[1], 0, &driven_ways[3]));
    const tw_swap_t fade = {.start = true, .fade_us = 3000};
    assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &fade, &fault), TW_E_FADE_DRIVER);
    assert_int_equal(fault.at, 0); /* the IO */
    tw_engine_drop(rig.engine);
    tw_engine_unprime(rig.engine);
    rig_close(&rig);
}

/* Going back, a STOP, a driver that hangs: the graph that stays has its drivers in the next block. */
static void a_fade_through_drivers_that_is_cut_goes_on_with_the_graph_that_stays(void **state)
{
    (void)state;
    static const char *const rows[] = {"rollback", "rollback without a fade", "stop", "a driver that hangs"};
    for (size_t i = 0; i < TW_COUNT(driven_ways) * TW_COUNT(rows); i++) {
        const size_t row = i % TW_COUNT(rows);
        const driven_t *how = &driven_ways[i / TW_COUNT(rows)];
        open_driven(how);
        prime(img[1], build_driven(img[1], row < 2 ? -100 : 0, how));
        swap_to(&(tw_swap_t){.start = true, .fade_us = 20000});
        run_driven(5);
        assert_true(fading());
        if (row < 2) {
            assert_int_equal(roll_back(row == 0 ? 20000 : 0), TW_OK);
        } else if (row == 2) {
            assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STOP, 0), TW_OK);
            (void)tw_engine_publish(rig.engine);
            assert_false(tw_engine_tick(rig.engine));
            assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_START, 0), TW_OK);
            (void)tw_engine_publish(rig.engine);
        } else {
            drv.flight = 0;
            drv.hung = true;
            run_driven(40);
            drv.hung = false;
        }
        const uint32_t sets = drv.sets;
        run_driven(1);
        assert_true(row == 3 || drv.sets == sets + 2);
        run_driven(3);
        assert_false(fading());
        const uint32_t heard = sound.n;
        const uint64_t played = sound.in;
        run_driven(20);
        double power = 0;
        for (uint32_t s = heard; s < sound.n; s++) {
            power += sound.out[s][0] * sound.out[s][0] / (20 * SAMPLES);
        }
        if (sound.n - heard != 20 * SAMPLES || sound.in - played != 20 * SAMPLES || power < 0.09 || drv.twice != 0) {
            fail_msg("%s, %s: %u out, power %g, %u doubled", how->why, rows[row], (unsigned)(sound.n - heard), power,
                     (unsigned)drv.twice);
        }
        rig_close(&rig);
    }
}

/* ---- formats ------------------------------------------------------------------------------------- */

/* A board that moves frames of the format it knows, and no others: what was accepted last, what counts, and before. */
static struct {
    uint32_t wanted, current, before; /* channels */
    uint32_t refused;                 /* frames of another format */
} formats;

static tw_err_t take_format(void *ctx, uint32_t hwid, uint32_t raw, uint32_t channels, float rate_hz,
                            uint32_t frame_bytes, const uint32_t settings[3])
{
    (void)ctx, (void)hwid, (void)raw, (void)rate_hz, (void)frame_bytes, (void)settings;
    formats.wanted = channels;
    return TW_OK;
}

static void adopt_formats(void *ctx)
{
    (void)ctx;
    formats.before = formats.current;
    formats.current = formats.wanted;
}

static void formats_before(void *ctx)
{
    (void)ctx;
    const uint32_t left = formats.current;
    formats.current = formats.before;
    formats.before = left;
}

static bool known(uint32_t bytes)
{
    const bool ours = bytes == SAMPLES * sample_bytes() * formats.current;
    sound.channels = formats.current;
    formats.refused += !ours;
    return ours;
}

static uint32_t play_known(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    return known(bytes) ? play(ctx, hwid, tick, dst, bytes) : 0;
}

static uint32_t hear_known(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    return known(bytes) ? hear(ctx, hwid, tick, src, bytes) : 0;
}

static void swap_channels(uint32_t channels, bool confirm)
{
    sound.channels = channels;
    prime(img[1], build(img[1], -6, 0, true));
    swap_to(&(tw_swap_t){.start = true, .confirm = confirm});
}

static void whoever_goes_back_the_board_moves_the_formats_of_the_graph_that_runs(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        bool nan, overload;
    } rows[] = {{"asked", false, false}, {"NaN", true, false}, {"overload", false, true}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        open_sound(TW_RAW_FP32, 2);
        memset(&formats, 0, sizeof formats);
        rig.board.accept = take_format;
        rig.board.adopt = adopt_formats;
        rig.board.back = formats_before;
        rig.board.read = play_known;
        rig.board.write = hear_known;
        rig.port.cycles = slow_cycles;
        rig_load(&rig, img[0], build(img[0], 0, 0, true));
        run(4);
        swap_channels(1, rows[i].nan || rows[i].overload);
        run(4);
        assert_int_equal(formats.current, 1);
        sound.poison = rows[i].nan;
        sound.block_cycles = rows[i].overload ? 100000 : 0; /* a block is 1 ms of 100 cycles/us */
        if (!rows[i].nan && !rows[i].overload) {
            assert_int_equal(roll_back(0), TW_OK);
        }
        run(rows[i].overload ? 8 : 1);
        sound.poison = false;
        sound.block_cycles = 0;
        const uint32_t heard = sound.n;
        run(10);
        if (formats.current != 2 || sound.n != heard + 10 * SAMPLES || formats.refused != 0) {
            fail_msg("%s: %u channels, %u of %d instants, %u refused", rows[i].why, (unsigned)formats.current,
                     (unsigned)(sound.n - heard), 10 * SAMPLES, (unsigned)formats.refused);
        }
        assert_int_equal(roll_back(0), TW_OK); /* and forward again, to what was left */
        run(4);
        assert_int_equal(formats.current, 1);
        swap_channels(2, false); /* what was left plays no part in what comes */
        run(4);
        assert_int_equal(formats.current, 2);
        assert_int_equal(formats.refused, 0);
        rig_close(&rig);
    }
}

static void armed_values_go_back_at_one_boundary(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        bool revert, confirm, nan;
    } rows[] = {{"asked", true, false, false}, {"confirmed", false, true, false}, {"NaN", false, false, true}};
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const uint8_t delay = 9;
        uint8_t v[4];
        tw_engine_reply_t r;
        open_sound(TW_RAW_FP32, 1);
        rig_load(&rig, img[0], build(img[0], -2, 3, true));
        run(2);
        tw_put_f32(v, -40);
        assert_int_equal(tw_engine_put_arm(rig.engine, 5), TW_OK);
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, GAIN_DB, v, 4), TW_OK);
        assert_int_equal(tw_engine_put_preset(rig.engine, 0, 1, 2), TW_OK); /* muted */
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 0, DELAY, &delay, 1), TW_OK);
        assert_int_equal(tw_engine_put_armed(rig.engine), TW_OK);
        (void)tw_engine_publish(rig.engine);
        run(3);
        assert_int_equal(tw_engine_put_arm(rig.engine, 6), TW_E_UNCONFIRMED);
        if (rows[i].nan) {
            sound.poison = true;
            run(1);
            sound.poison = false;
        } else if (rows[i].revert) {
            assert_int_equal(tw_engine_put_revert(rig.engine, 9, 5), TW_OK);
        } else {
            assert_int_equal(tw_engine_put_confirm(rig.engine, 9, 5), TW_OK);
        }
        (void)tw_engine_publish(rig.engine);
        run(1);
        assert_int_equal(rig_reply(&rig, 9, &r, NULL, 0), !rows[i].nan);
        const float gain = gain_now();
        if (fabsf(gain - (rows[i].confirm ? 0.0f : -2.0f)) > 0.01f) {
            fail_msg("%s: gain %g", rows[i].why, (double)gain);
        }
        assert_int_equal(tw_engine_put_confirm(rig.engine, 9, 5), TW_OK);
        (void)tw_engine_publish(rig.engine);
        run(30);
        assert_true(rig_reply(&rig, 9, &r, NULL, 0));
        assert_int_equal(r.err, TW_E_REVERTED); /* nothing waits any more */
        if (!rows[i].confirm) {
            const double want = sine(sound.n - 1 - 3, 0) * pow(10, -2 / 20.0);
            assert_true(fabs(sound.out[sound.n - 1][0] - want) < 1e-3);
        }
        rig_close(&rig);
    }
}

static void a_stop_leaves_no_gap_in_the_ticks(void **state)
{
    (void)state;
    open_sound(TW_RAW_S16, 1);
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(3);
    assert_int_equal(tw_engine_put_control(rig.engine, 1, TW_CTL_STOP, 0), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    assert_false(tw_engine_tick(rig.engine));
    assert_false(tw_engine_tick(rig.engine));
    assert_int_equal(tw_engine_put_control(rig.engine, 1, TW_CTL_START, 0), TW_OK);
    assert_int_equal(tw_engine_publish(rig.engine), 3);
    run(1);
    rig_close(&rig);
}

/* As large as the rig's slots allow, and no more than half of one. */
static uint32_t build_large(uint8_t *to, double gain_db)
{
    build(to, gain_db, 0, true);
    ib.fixed += RIG_GRAPH_BYTES / 2;
    return tw_ib_finish(&ib, to, 32768);
}

static void a_load_without_room_beside_the_kept_graph_says_what_frees_it(void **state)
{
    (void)state;
    tw_fault_t fault;
    open_sound(TW_RAW_S16, 1);
    rig_load(&rig, img[0], build_large(img[0], 0));
    run(2);
    img_bytes[1] = build_large(img[1], -100);
    prime(img[1], img_bytes[1]);
    swap_to(&(tw_swap_t){.start = true});
    run(2);
    assert_int_equal(tw_engine_prime(rig.engine, img[1], img_bytes[1], false, &fault), TW_E_KEPT_ROOM);
    assert_true(fault.at > 0 && fault.at < RIG_GRAPH_BYTES);
    assert_int_equal(roll_back(0), TW_OK);
    run(1);
    for (uint32_t i = sound.n - SAMPLES; i < sound.n; i++) {
        assert_true(fabs(sound.out[i][0] - sine(i, 0)) < 1.0 / 8192);
    }
    assert_int_equal(tw_engine_put_keep(rig.engine, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    run(1);
    prime(img[1], img_bytes[1]);
    swap_to(&(tw_swap_t){.start = true});
    run(1);
    rig_close(&rig);
}

static void a_load_that_was_refused_leaves_the_graph_to_go_back_to(void **state)
{
    (void)state;
    tw_fault_t fault;
    open_sound(TW_RAW_S16, 1);
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(2);
    img_bytes[1] = build(img[1], -6, 0, true);
    prime(img[1], img_bytes[1]);
    swap_to(&(tw_swap_t){.start = true});
    run(2);
    for (uint32_t at = 0; at < img_bytes[1]; at += 4) { /* whatever it is refused for, and wherever that is seen */
        img[1][at] ^= 1;
        assert_int_not_equal(tw_engine_prime(rig.engine, img[1], img_bytes[1], false, &fault), TW_OK);
        img[1][at] ^= 1;
        tw_engine_guard_t g;
        tw_engine_guard(rig.engine, &g);
        assert_true(g.kept);
    }
    rig.refuse = TW_E_UNSUPPORTED; /* by the board */
    assert_int_equal(tw_engine_prime(rig.engine, img[1], img_bytes[1], false, &fault), TW_E_UNSUPPORTED);
    rig.refuse = TW_OK;
    sound.channels = 2; /* and for how it is to come */
    img_bytes[1] = build(img[1], -6, 0, true);
    sound.channels = 1;
    const tw_swap_t fade = {.start = true, .fade_us = 3000};
    assert_int_equal(tw_engine_prime_for(rig.engine, img[1], img_bytes[1], false, &fade, &fault), TW_E_FADE_FORMAT);
    run(1);
    assert_int_equal(roll_back(0), TW_OK);
    run(1);
    for (uint32_t i = sound.n - SAMPLES; i < sound.n; i++) {
        assert_true(fabs(sound.out[i][0] - sine(i, 0)) < 1.0 / 8192);
    }
    img_bytes[1] = build(img[1], -6, 0, true);
    prime(img[1], img_bytes[1]);
    tw_engine_unprime(rig.engine);
    assert_int_equal(roll_back(0), TW_E_NO_ROLLBACK);
    run(4);
    prime(img[1], img_bytes[1]);
    swap_to(&(tw_swap_t){.start = true});
    run(1);
    assert_int_equal(roll_back(0), TW_OK); /* the next swap keeps one again */
    run(1);
    rig_close(&rig);
}

static void a_stop_ends_a_fade_and_frees_the_way_for_a_load(void **state)
{
    (void)state;
    open_sound(TW_RAW_S16, 1);
    rig_load(&rig, img[0], build(img[0], 0, 0, true));
    run(2);
    img_bytes[1] = build(img[1], -6, 0, true);
    prime(img[1], img_bytes[1]);
    swap_to(&(tw_swap_t){.start = true, .fade_us = 1000000});
    run(2);
    assert_true(fading());
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STOP, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    assert_false(tw_engine_tick(rig.engine));
    assert_false(fading());
    prime(img[1], img_bytes[1]);
    swap_to(&(tw_swap_t){.start = true});
    run(2);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_was_refused_leaves_the_graph_to_go_back_to),
        cmocka_unit_test(a_load_without_room_beside_the_kept_graph_says_what_frees_it),
        cmocka_unit_test(a_stop_ends_a_fade_and_frees_the_way_for_a_load),
        cmocka_unit_test(no_step_is_larger_than_the_sine_and_the_fade_allow),
        cmocka_unit_test(the_same_graph_goes_on_to_the_bit),
        cmocka_unit_test(which_parameters_win_is_what_carry_says),
        cmocka_unit_test(settings_changed_since_the_load_go_where_parameters_go),
        cmocka_unit_test(a_rollback_takes_one_block),
        cmocka_unit_test(graphs_that_cannot_fade_are_told_apart),
        cmocka_unit_test(nan_takes_an_unconfirmed_swap_back),
        cmocka_unit_test(overload_takes_an_unconfirmed_swap_back),
        cmocka_unit_test(whoever_goes_back_the_board_moves_the_formats_of_the_graph_that_runs),
        cmocka_unit_test(a_fade_through_drivers_loses_and_doubles_nothing),
        cmocka_unit_test(a_fade_through_drivers_makes_no_step),
        cmocka_unit_test(a_driver_asked_in_two_ways_serves_no_fade),
        cmocka_unit_test(a_fade_through_drivers_that_is_cut_goes_on_with_the_graph_that_stays),
        cmocka_unit_test(armed_values_go_back_at_one_boundary),
        cmocka_unit_test(a_stop_leaves_no_gap_in_the_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
