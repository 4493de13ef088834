/* Rated IOs over a long time: each has moved exactly the frames its rate says, whatever the others' rates are. */
#include "engine/graph/graph_priv.h"
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { KINDS = 4, FIRST = 2000, TICKS = 10000000 };

/* The last is no whole number, and its ratio to the others has many digits. The first is the block. */
static const struct {
    uint32_t samples;
    float rate;
} kinds[KINDS] = {{48, 48000.0f}, {441, 44100.0f}, {32, 16000.0f}, {160, 44099.9921875f}};

static tw_ib_t ib;
static uint8_t img[16384];
static rig_t rig;
static tw_graph_t g;
static uint64_t memory[1 << 13];

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick, (void)dst;
    return bytes;
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick, (void)src;
    return bytes;
}

static void load(void)
{
    enum { FRAMES = 4 };
    tw_ib_init(&ib);
    for (uint32_t i = 0; i < KINDS; i++) {
        const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, kinds[i].samples, kinds[i].rate);
        const uint32_t bytes = 2 * FRAMES * kinds[i].samples;
        const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, i, 0, f, f, bytes);
        const uint16_t out = (uint16_t)tw_ib_arc(&ib, i, 1, TW_IB_IO, 0, f, f, bytes);
        tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
        tw_ib_io(&ib, i, false, in, f);
        tw_ib_io(&ib, 4 + i, true, out, f);
    }
    const uint32_t bytes = tw_ib_finish(&ib, img, sizeof img);
    rig_board(&rig);
    rig.board.read = board_read;
    rig.board.write = board_write;
    tw_arena_t arena = {.base = (uint8_t *)memory, .size = sizeof memory};
    const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
    tw_fault_t fault;
    assert_int_equal(tw_graph_check(img, bytes, &rig.board, &arena, &fault), TW_OK);
    assert_int_equal(tw_graph_load(&g, img, &env, &arena, &fault), TW_OK);
}

/* The edge alone: inputs are emptied, outputs always have more than they may send. */
static void tick(void)
{
    flow_ios_in(&g);
    for (uint32_t i = 0; i < g.n_ios; i++) {
        tw_arc_t *a = g.ios[i].arc;
        tw_gauge_set(&a->read, 0);
        tw_gauge_set(&a->write, g.ios[i].tx ? a->cap : 0);
    }
    (void)flow_ios_out(&g);
}

/* Frames in n blocks: a frame is due in the first, and whenever its time has come since. All rates are whole in 1/128
 * Hz, so this is exact. */
static uint32_t frames_due(uint32_t kind, uint64_t n)
{
    const uint64_t unit = 128;
    const __uint128_t step = (__uint128_t)kinds[0].samples * (uint64_t)(kinds[kind].rate * (float)unit);
    const __uint128_t period = (__uint128_t)kinds[kind].samples * (uint64_t)(kinds[0].rate * (float)unit);
    const __uint128_t first = period > step ? period - step : 0;
    return (uint32_t)((first + n * step) / period);
}

static void expect_frames(uint64_t n)
{
    for (uint32_t i = 0; i < g.n_ios; i++) {
        const uint32_t moved = tw_gauge_get(&g.ios[i].stats.frames), due = frames_due(i / 2, n);
        if (moved != due) {
            fail_msg("%g Hz, %s: %u frames in %llu blocks, %u are due", (double)kinds[i / 2].rate,
                     g.ios[i].tx ? "out" : "in", moved, (unsigned long long)n, due);
        }
    }
}

static void rates_that_share_no_block_never_drift(void **state)
{
    (void)state;
    load();
    for (uint64_t n = 1; n <= TICKS; n++) {
        tick();
        if (n <= FIRST || n % (TICKS / 100) == 0) {
            expect_frames(n);
        }
    }
    print_message("%u blocks: %u, %u, %u and %u frames\n", (unsigned)TICKS, tw_gauge_get(&g.ios[0].stats.frames),
                  tw_gauge_get(&g.ios[2].stats.frames), tw_gauge_get(&g.ios[4].stats.frames),
                  tw_gauge_get(&g.ios[6].stats.frames));
}

/* Any rate a format may have: the two periods are in the ratio of samples times rates, and fit. */
static void periods_are_exact_for_any_two_rates(void **state)
{
    (void)state;
    static const float rates[] = {8000, 11025, 16000, 22050, 44100, 44099.9921875f, 47999.5f, 48000, 96000, 192000};
    static const uint32_t samples[] = {1, 16, 48, 441, 1024, 65535};
    for (size_t i = 0; i < TW_COUNT(rates) * TW_COUNT(samples); i++) {
        const tw_format_t a = {.samples = samples[i % TW_COUNT(samples)], .rate_hz = rates[i / TW_COUNT(samples)]};
        for (size_t k = 0; k < TW_COUNT(rates); k++) {
            const tw_format_t b = {.samples = 160, .rate_hz = rates[k]};
            uint64_t pa, pb;
            img_periods(&a, &b, &pa, &pb);
            const uint64_t x = a.samples * (uint64_t)(b.rate_hz * 128.0f),
                           y = b.samples * (uint64_t)(a.rate_hz * 128.0f);
            assert_true(pa != 0 && pb != 0 && pa < (uint64_t)1 << 62 && pb < (uint64_t)1 << 62);
            assert_true((__uint128_t)pa * y == (__uint128_t)pb * x);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_that_share_no_block_never_drift),
        cmocka_unit_test(periods_are_exact_for_any_two_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
