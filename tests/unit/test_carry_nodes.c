/* A swap that carries state is heard by nobody: every node type, each format pair it takes, each preset, given by the
 * image or chosen at run time. */
#include "tests/support/engine_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { BLOCKS = 24, CHOOSE_AT = 4, SWAP_AT = 11 };

/* What happens at block SWAP_AT. */
typedef enum what { NOTHING, SWAP_STATE, SWAP_PARAMS, BACK_BY_HAND, THERE_AND_BACK } what_t;

typedef struct shape {
    uint8_t raw, channels;
    uint32_t samples;
    float rate_hz;
    uint32_t mapping; /* of a picture: height << 16 | width */
} shape_t;

static const shape_t shapes[] = {
    {TW_RAW_S16, 1, 16, 16000, 0},       {TW_RAW_FP32, 1, 16, 16000, 0}, {TW_RAW_FP32, 2, 64, 48000, 0},
    {TW_RAW_S16, 1, 160, 16000, 0},      {TW_RAW_U8, 1, 16, 16000, 0},   {TW_RAW_S4, 1, 16, 16000, 0},
    {TW_RAW_U1, 1, 16, 16000, 0},        {TW_RAW_FP32, 1, 32, 32000, 0}, {TW_RAW_FP32, 1, 8, 8000, 0},
    {TW_RAW_U8, 1, 48, 0, 6 << 16 | 8u}, {TW_RAW_FP32, 1, 16, 0, 0},     {TW_RAW_S16, 1, 10, 0, 0},
};

/* A script is never carried; graph_control steers, and no sample goes through it (docs/NODES.md). */
static const char *const apart[] = {"arm_stream_script", "arm_stream_graph_control"};

static rig_t rig;
static tw_ib_t ib;
static uint8_t img[65536];
static uint64_t heard[2];
static uint32_t heard_bytes[2], raw_in, which;

/* Noise of half the range, the same from tick to tick whoever reads it. */
static uint32_t play(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx;
    uint32_t seed = (uint32_t)tick * 2654435761u + hwid + 1;
    uint8_t *p = dst;
    for (uint32_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (uint8_t)(seed >> 24);
    }
    for (uint32_t i = 0; raw_in == TW_RAW_FP32 && i + 4 <= bytes; i += 4) {
        tw_put_f32(p + i, (float)(int8_t)p[i] / 256.0f);
    }
    return bytes;
}

static uint32_t hear(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)tick;
    const uint8_t *p = src;
    for (uint32_t i = 0; i < bytes; i++) {
        heard[which] = (heard[which] ^ p[i] ^ hwid) * 1099511628211u;
    }
    heard_bytes[which] += bytes;
    return bytes;
}

static uint32_t add_format(const shape_t *s)
{
    const uint32_t f = tw_ib_format(&ib, s->raw, s->channels, s->samples, s->rate_hz);
    uint8_t *words = ib.sec[TW_SEC_FORMATS] + 4 * TW_FORMAT_WORDS * f;
    if (s->mapping != 0) {
        tw_put_le32(words + 4, tw_get_le32(words + 4) | 6u << 17);
        tw_put_le32(words + 12, s->mapping);
        ib.formats[f].domain = 6;
        ib.formats[f].mapping = s->mapping;
    }
    return f;
}

static uint32_t build(const tw_node_desc_t *d, const shape_t *in, const shape_t *out, uint32_t preset)
{
    tw_ib_init(&ib);
    const uint32_t fi = add_format(in), fo = add_format(out);
    const uint32_t rx = d->rx_min, tx = tw_max_u32(d->tx_min, 1);
    const uint32_t ib_in = ib.formats[fi].frame_bytes, ib_out = ib.formats[fo].frame_bytes;
    uint16_t arcs[TW_MAX_NODE_ARCS];
    for (uint32_t i = 0; i < rx + tx; i++) {
        arcs[i] = (uint16_t)(i < rx ? tw_ib_arc(&ib, TW_IB_IO, 0, 0, i, fi, fi, 2 * ib_in)
                                    : tw_ib_arc(&ib, 0, i, TW_IB_IO, 0, fo, fo, 4 * ib_out));
        tw_ib_io(&ib, i < rx ? i : 4 + i - rx, i >= rx, arcs[i], i < rx ? fi : fo);
    }
    tw_ib_node(&ib, d, rx, tx, arcs);
    uint8_t *word = ib.sec[TW_SEC_NODES] + ib.record[0] + 4;
    tw_put_le32(word, tw_get_le32(word) | tw_put_bits(preset, TW_LO(TW_N1_PRESET)));
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "it");
    return tw_ib_finish(&ib, img, sizeof img);
}

static void swap(uint32_t bytes, tw_carry_t carry)
{
    tw_fault_t fault;
    const tw_swap_t how = {.start = true, .carry = carry};
    assert_int_equal(tw_engine_prime(rig.engine, img, bytes, false, &fault), TW_OK);
    assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &how, &fault), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void choose(uint32_t preset)
{
    assert_int_equal(tw_engine_put_preset(rig.engine, 0, 0, preset), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

/* A preset that waits to be confirmed, and goes back before a block was heard of it. */
static void choose_and_revert(uint32_t preset)
{
    assert_int_equal(tw_engine_put_arm(rig.engine, 1), TW_OK);
    assert_int_equal(tw_engine_put_preset(rig.engine, 0, 0, preset), TW_OK);
    assert_int_equal(tw_engine_put_armed(rig.engine), TW_OK);
    assert_int_equal(tw_engine_put_revert(rig.engine, 0, 1), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void happen(what_t what, uint32_t bytes, uint32_t chosen, uint32_t other)
{
    switch (what) {
    case NOTHING:
        break;
    case SWAP_STATE:
        swap(bytes, TW_CARRY_STATE);
        break;
    case SWAP_PARAMS:
        swap(bytes, TW_CARRY_PARAMS);
        break;
    case BACK_BY_HAND:
        choose(other);
        choose(chosen);
        break;
    case THERE_AND_BACK:
        choose_and_revert(other);
        break;
    }
}

/* @param chosen  preset from block CHOOSE_AT on, UINT32_MAX the image's
 * @return false: the type does not take these formats */
static bool play_through(uint32_t bytes, uint32_t chosen, what_t what, uint32_t other)
{
    tw_fault_t fault;
    rig_board(&rig);
    rig.board.read = play; /* before the engine is made: it copies the board */
    rig.board.write = hear;
    const tw_engine_cfg_t cfg = {.port = &rig.port,
                                 .board = &rig.board,
                                 .queue_bytes = 4096,
                                 .timed_bytes = 4096,
                                 .reply_bytes = 8192,
                                 .graph_bytes = RIG_GRAPH_BYTES};
    const size_t need = (tw_engine_need(&cfg) + 63) & ~(size_t)63;
    rig.mem = aligned_alloc(64, need);
    assert_int_equal(tw_engine_init(&rig.engine, &cfg, rig.mem, need), TW_OK);
    if (tw_engine_prime(rig.engine, img, bytes, false, &fault) != TW_OK) {
        rig_close(&rig);
        return false;
    }
    which = what == SWAP_STATE || what == SWAP_PARAMS || what == THERE_AND_BACK;
    heard[which] = 14695981039346656037u;
    heard_bytes[which] = 0;
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    (void)tw_engine_publish(rig.engine);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (i == CHOOSE_AT && chosen != UINT32_MAX) {
            choose(chosen);
        }
        if (i == SWAP_AT) {
            happen(what, bytes, chosen, other);
        }
        rig.us = 1000u * i;
        assert_true(tw_engine_tick(rig.engine));
    }
    rig_close(&rig);
    return true;
}

/* @return presets that were heard */
static unsigned compare(const tw_node_desc_t *d, const shape_t *in, const shape_t *out)
{
    unsigned n = 0;
    raw_in = in->raw;
    for (uint32_t preset = 0; preset < 64; preset++) {
        const uint32_t bytes = build(d, in, out, preset);
        if ((preset != 0 && (d->presets >> preset & 1u) == 0) || !play_through(bytes, UINT32_MAX, NOTHING, 0)) {
            continue;
        }
        assert_true(play_through(bytes, UINT32_MAX, SWAP_STATE, 0));
        if (heard[0] != heard[1] || heard_bytes[0] != heard_bytes[1]) {
            fail_msg("%s, %s %u to %s %u, preset %u: the swap is heard", d->name, tw_raw_name(in->raw),
                     (unsigned)in->samples, tw_raw_name(out->raw), (unsigned)out->samples, (unsigned)preset);
        }
        n += heard_bytes[0] != 0;
    }
    return n;
}

static void a_swap_that_carries_state_is_not_heard(void **state)
{
    (void)state;
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        unsigned runs = 0;
        bool skips = false;
        for (size_t k = 0; k < TW_COUNT(apart); k++) {
            skips = skips || strstr(all[i]->name, apart[k] + 11) != NULL;
        }
        for (size_t k = 0; !skips && k < TW_COUNT(shapes) * TW_COUNT(shapes); k++) {
            runs += compare(all[i], &shapes[k / TW_COUNT(shapes)], &shapes[k % TW_COUNT(shapes)]);
        }
        print_message("%s: %u runs\n", all[i]->name, runs);
        assert_true(skips || runs != 0);
    }
}

/* @return presets that change what is heard: to check that something was looked at */
static unsigned compare_chosen(const tw_node_desc_t *d, const shape_t *in, const shape_t *out)
{
    unsigned n = 0;
    raw_in = in->raw;
    const uint32_t bytes = build(d, in, out, 0);
    if (!play_through(bytes, UINT32_MAX, NOTHING, 0)) {
        return 0;
    }
    const uint64_t image_heard = heard[0];
    for (uint32_t preset = 1; preset < 64; preset++) {
        if ((d->presets >> preset & 1u) == 0) {
            continue;
        }
        assert_true(play_through(bytes, preset, NOTHING, 0));
        n += heard[0] != image_heard;
        assert_true(play_through(bytes, preset, SWAP_PARAMS, 0));
        if (heard[0] != heard[1] || heard_bytes[0] != heard_bytes[1]) {
            fail_msg("%s, %s to %s: preset %u, chosen, is not carried", d->name, tw_raw_name(in->raw),
                     tw_raw_name(out->raw), (unsigned)preset);
        }
        assert_true(play_through(bytes, preset, BACK_BY_HAND, 0));
        assert_true(play_through(bytes, preset, THERE_AND_BACK, 0));
        if (heard[0] != heard[1] || heard_bytes[0] != heard_bytes[1]) {
            fail_msg("%s, %s to %s: preset %u, chosen, does not come back", d->name, tw_raw_name(in->raw),
                     tw_raw_name(out->raw), (unsigned)preset);
        }
    }
    return n;
}

static void a_preset_chosen_at_run_time_is_carried_and_comes_back(void **state)
{
    (void)state;
    uint32_t n;
    unsigned heard_of = 0;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        unsigned runs = 0;
        for (size_t k = 0; all[i]->presets > 1 && k < TW_COUNT(shapes) * TW_COUNT(shapes); k++) {
            runs += compare_chosen(all[i], &shapes[k / TW_COUNT(shapes)], &shapes[k % TW_COUNT(shapes)]);
        }
        print_message("%s: %u presets heard\n", all[i]->name, runs);
        heard_of += runs != 0;
    }
    assert_true(heard_of >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preset_chosen_at_run_time_is_carried_and_comes_back),
        cmocka_unit_test(a_swap_that_carries_state_is_not_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
