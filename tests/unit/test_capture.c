/* Captures: an oracle that keeps every sample says what each must hold; random streams, requests and readers. */
#include "engine/arc/capture.h"
#include "engine/base/bytes.h"
#include "engine/base/formats.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONG = 6000, MEM = 1 << 16 };
static int16_t stream[LONG * 2];
static uint8_t mem[MEM];
static tw_capture_t cap;

static uint32_t seed = 1;
static uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static tw_capture_cfg_t basic(void)
{
    return (tw_capture_cfg_t){.raw = TW_RAW_S16, .channels = 1, .samples = 16, .pre = 10, .post = 20};
}

static void arm(const tw_capture_cfg_t *cfg)
{
    uint32_t missing;
    assert_int_equal(tw_capture_init(&cap, cfg, mem, sizeof mem, &missing), TW_OK);
}

static void feed(uint64_t tick, uint32_t from, uint32_t n)
{
    tw_capture_feed(&cap, tick, (const uint8_t *)(stream + from * cap.cfg.channels), n * 2 * cap.cfg.channels);
}

static void ramp(void)
{
    for (int i = 0; i < 2 * LONG; i++) {
        stream[i] = (int16_t)(i % 1000);
    }
}

/* Point k of the capture as a S16 value. */
static int16_t point(const tw_capture_seg_t *s, uint32_t k)
{
    uint8_t out[64];
    assert_int_equal(tw_capture_copy(&cap, s, k, 1, out), cap.point_bytes);
    return (int16_t)tw_get_le16(out);
}

static void a_rising_edge_is_found_at_its_sample_with_what_came_before(void **state)
{
    (void)state;
    ramp();
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.low = 99.5f / 32768;
    arm(&q);
    for (uint32_t i = 0; i < 20; i++) {
        feed(i, 16 * i, 16);
    }
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_non_null(s);
    assert_int_equal(s->sample, 100);
    assert_int_equal(s->tick, 6);
    assert_int_equal(s->offset, 4);
    assert_int_equal(s->cause, TW_CAUSE_LEVEL);
    assert_int_equal(s->before, 10);
    assert_int_equal(s->points, 30);
    for (uint32_t k = 0; k < 30; k++) {
        assert_int_equal(point(s, k), 90 + k);
    }
    assert_int_equal(cap.state, TW_CAPTURE_DONE);
}

static void unsigned_samples_count_from_0_to_1(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        stream[i] = (int16_t)(uint16_t)(32768u + (uint16_t)(i * 16)); /* 0.5 and rising */
    }
    tw_capture_cfg_t q = basic();
    q.raw = TW_RAW_U16;
    q.cause = TW_CAUSE_LEVEL;
    q.low = (32768.0f + 40 * 16 - 8) / 65536;
    arm(&q);
    feed(0, 0, 100);
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_non_null(s);
    assert_int_equal(s->sample, 40);
}

static void hysteresis_keeps_noise_at_the_level_from_firing_twice(void **state)
{
    (void)state;
    for (int i = 0; i < LONG; i++) {
        stream[i] = i < 100 ? 0 : (int16_t)(i % 2 ? 110 : 90); /* around 100 */
    }
    stream[900] = 40;
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.mode = TW_CAPTURE_REPEAT;
    q.low = 100.0f / 32768;
    q.hysteresis = 50.0f / 32768;
    arm(&q);
    feed(0, 0, 2000);
    assert_int_equal(cap.captures, 2);
    assert_int_equal(tw_capture_read(&cap)->sample, 101);
    tw_capture_free(&cap);
    assert_int_equal(tw_capture_read(&cap)->sample, 901);
}

static void windows_fire_on_entering_and_on_leaving(void **state)
{
    (void)state;
    static const int16_t v[] = {0, 300, 150, 150, 260, 220, 150, 90, 0};
    memset(stream, 0, sizeof stream);
    memcpy(stream + 40, v, sizeof v);
    for (unsigned edge = TW_EDGE_ENTER; edge <= TW_EDGE_LEAVE; edge++) {
        tw_capture_cfg_t q = basic();
        q.cause = TW_CAUSE_LEVEL;
        q.edge = (uint8_t)edge;
        q.low = 100.0f / 32768;
        q.high = 200.0f / 32768;
        q.hysteresis = 30.0f / 32768;
        arm(&q);
        feed(3, 0, 200);
        /* enters at the first 150; 260 leaves after 150 had been inside */
        assert_int_equal(tw_capture_read(&cap)->sample, edge == TW_EDGE_ENTER ? 42 : 44);
    }
}

static void a_magnitude_fires_on_either_sign(void **state)
{
    (void)state;
    memset(stream, 0, sizeof stream);
    stream[70] = -20000;
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.magnitude = true;
    q.low = 0.5f;
    arm(&q);
    feed(0, 0, 200);
    assert_int_equal(tw_capture_read(&cap)->sample, 70);
}

static void the_level_is_in_the_arcs_unit(void **state)
{
    (void)state;
    ramp();
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.scale = 32768.0f * 0.5f; /* half a volt a step */
    q.shift = 10.0f;
    q.low = 30.25f;
    arm(&q);
    feed(0, 0, 200);
    assert_int_equal(tw_capture_read(&cap)->sample, 41);
}

static void flow_and_tick_take_what_there_is_before_them(void **state)
{
    (void)state;
    ramp();
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_FLOW;
    q.flow_mask = TW_CAPTURE_FLOW_FULL;
    arm(&q);
    feed(0, 0, 3);
    tw_capture_flow(&cap, TW_CAPTURE_FLOW_EMPTY);
    feed(1, 3, 3);
    tw_capture_flow(&cap, TW_CAPTURE_FLOW_FULL);
    feed(2, 6, 50);
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_int_equal(s->sample, 6);
    assert_int_equal(s->before, 6);
    assert_int_equal(s->tick, 2);
    q.cause = TW_CAUSE_TICK;
    q.tick = 4;
    arm(&q);
    feed(3, 0, 5);
    feed(4, 5, 50);
    s = tw_capture_read(&cap);
    assert_int_equal(s->sample, 5);
    assert_int_equal(s->tick, 4);
}

static void a_host_that_fires_waits_for_the_part_before(void **state)
{
    (void)state;
    ramp();
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_HOST;
    arm(&q);
    tw_capture_want(&cap);
    feed(0, 0, 9);
    assert_int_equal(cap.state, TW_CAPTURE_FILLING);
    feed(1, 9, 40);
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_int_equal(s->sample, 10);
    assert_int_equal(s->cause, TW_CAUSE_HOST);
    assert_int_equal(s->before, 10);
}

static void auto_goes_on_without_a_trigger(void **state)
{
    (void)state;
    memset(stream, 0, sizeof stream);
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.low = 0.5f;
    q.mode = TW_CAPTURE_AUTO;
    q.auto_after = 100;
    arm(&q);
    feed(0, 0, 1000);
    assert_true(cap.captures >= 4);
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    assert_int_equal(s->cause, TW_CAUSE_AUTO);
    assert_in_range(s->sample, 105, 115);
}

static void hold_off_counts_from_the_trigger(void **state)
{
    (void)state;
    for (int i = 0; i < LONG; i++) {
        stream[i] = (int16_t)(i % 50 == 49 ? 1000 : 0); /* an edge every 50 samples */
    }
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.mode = TW_CAPTURE_REPEAT;
    q.low = 0.01f;
    q.hold_off = 120;
    arm(&q);
    uint64_t last = 0;
    for (uint32_t i = 0; i < 3000; i += 10) {
        feed(i, i, 10);
        for (const tw_capture_seg_t *s; (s = tw_capture_read(&cap)) != NULL; tw_capture_free(&cap)) {
            assert_int_equal(s->sample, last == 0 ? 49 : last + 150);
            last = s->sample;
        }
    }
    assert_true(last > 2500);
    assert_int_equal(cap.missed, 0);
}

static void with_every_segment_full_triggers_are_counted_and_nothing_is_overwritten(void **state)
{
    (void)state;
    for (int i = 0; i < LONG; i++) {
        stream[i] = (int16_t)(i % 50 == 49 ? 1000 + i / 50 : 0);
    }
    tw_capture_cfg_t q = basic();
    q.cause = TW_CAUSE_LEVEL;
    q.mode = TW_CAPTURE_REPEAT;
    q.low = 0.01f;
    arm(&q);
    feed(0, 0, 1000); /* 20 edges, 4 segments */
    assert_int_equal(cap.captures, 4);
    assert_int_equal(cap.missed, 16);
    for (uint32_t k = 0; k < 4; k++) {
        const tw_capture_seg_t *s = tw_capture_read(&cap);
        assert_int_equal(s->number, k);
        assert_int_equal(point(s, s->before), 1000 + k);
        tw_capture_free(&cap);
    }
    assert_null(tw_capture_read(&cap));
    feed(1, 1000, 200);
    assert_int_equal(tw_capture_read(&cap)->missed, 16);
    assert_int_equal(tw_capture_read(&cap)->number, 4);
}

static void requests_that_cannot_be_are_refused(void **state)
{
    (void)state;
    uint32_t missing;
    struct {
        tw_err_t err;
        tw_capture_cfg_t q;
    } rows[12];
    for (unsigned i = 0; i < TW_COUNT(rows); i++) {
        rows[i].q = basic();
        rows[i].err = TW_E_ARG;
    }
    rows[0].q.mode = 3;
    rows[1].q.cause = TW_CAUSE_AUTO;
    rows[2].q.edge = 4;
    rows[3].q.points = 3;
    rows[4].q.channels = 0;
    rows[5].q.channel = 1;
    rows[6].q.channels = 33;
    rows[7].q.low = NAN;
    rows[8].q.every = TW_CAPTURE_EVERY_MAX + 1;
    rows[9].q.hysteresis = -1;
    rows[7].err = rows[8].err = rows[9].err = TW_E_RANGE;
    rows[10].q.raw = 0;
    rows[10].err = TW_E_UNSUPPORTED;
    rows[11].q.pre = UINT32_MAX;
    rows[11].err = TW_E_NOMEM;
    for (unsigned i = 0; i < TW_COUNT(rows); i++) {
        assert_int_equal(tw_capture_init(&cap, &rows[i].q, mem, sizeof mem, &missing), rows[i].err);
    }
    tw_capture_cfg_t q = basic();
    assert_int_equal(tw_capture_init(&cap, &q, mem, 59, &missing), TW_E_NOMEM);
    assert_int_equal(missing, 1);
}

/* ---- against the oracle -------------------------------------------------------------- */

/* Value of sample i, channel ch, from the stream as it lies. */
static int16_t truth(const tw_capture_cfg_t *q, uint64_t i, uint32_t ch)
{
    if (!q->blocks) {
        return stream[i * q->channels + ch];
    }
    const uint64_t frame = i / q->samples;
    return stream[frame * q->samples * q->channels + ch * q->samples + i % q->samples];
}

static void expect_points(const tw_capture_cfg_t *q, const tw_capture_seg_t *s)
{
    const uint32_t every = q->every != 0 ? q->every : 1;
    const uint64_t first = s->sample / every - s->before;
    static uint8_t out[MEM];
    const uint32_t half = s->points / 2;
    uint32_t n = tw_capture_copy(&cap, s, 0, half, out);
    n += tw_capture_copy(&cap, s, half, UINT32_MAX, out + n);
    assert_int_equal(n, s->points * cap.point_bytes);
    for (uint32_t k = 0; k < s->points; k++) {
        for (uint32_t ch = 0; ch < q->channels; ch++) {
            const uint64_t at = (first + k) * every;
            float lo = 1e9f, hi = -1e9f;
            double sum = 0;
            for (uint32_t j = 0; j < every; j++) {
                const float v = (float)truth(q, at + j, ch) / 32768.0f;
                lo = fminf(lo, v);
                hi = fmaxf(hi, v);
                sum += (double)v * (double)v;
            }
            const uint8_t *p = out + (size_t)k * cap.point_bytes;
            if (q->points == TW_POINTS_RAW) {
                assert_int_equal((int16_t)tw_get_le16(p + 2 * ch), truth(q, at, ch));
            } else if (q->points == TW_POINTS_MINMAX) {
                assert_true(tw_get_f32(p + 8 * ch) == lo && tw_get_f32(p + 8 * ch + 4) == hi);
            } else {
                assert_true(fabs((double)tw_get_f32(p + 4 * ch) - sqrt(sum / every)) <= 1e-6);
            }
        }
    }
}

/* Is sample i an edge, looked at alone: does the level rise through it without hysteresis? */
static bool is_edge(const tw_capture_cfg_t *q, uint64_t i)
{
    const float now = (float)truth(q, i, q->channel) / 32768.0f;
    for (uint64_t k = i; k-- > 0;) {
        const float v = (float)truth(q, k, q->channel) / 32768.0f;
        if (v <= q->low - q->hysteresis) {
            return now > q->low;
        }
        if (v > q->low) {
            return false;
        }
    }
    return false;
}

static void random_round(void)
{
    tw_capture_cfg_t q = {.raw = TW_RAW_S16,
                          .channels = (uint8_t)(1 + rnd(2)),
                          .blocks = rnd(2),
                          .samples = 1 + rnd(20),
                          .mode = TW_CAPTURE_REPEAT,
                          .cause = TW_CAUSE_LEVEL,
                          .points = (uint8_t)rnd(3),
                          .low = ((float)rnd(200) - 100) / 400.0f,
                          .hysteresis = (float)rnd(3) / 20.0f,
                          .every = rnd(4) == 0 ? 1 + rnd(9) : rnd(2),
                          .pre = rnd(40),
                          .post = 1 + rnd(60),
                          .hold_off = rnd(3) == 0 ? rnd(100) : 0};
    q.channel = (uint8_t)rnd(q.channels);
    const uint32_t total = LONG / q.samples * q.samples;
    float level = 0;
    for (int i = 0; i < 2 * LONG; i++) {
        level = level * 0.9f + ((float)rnd(2001) - 1000) / 4000.0f;
        stream[i] = (int16_t)(fmaxf(-1, fminf(level, 0.999f)) * 32767);
    }
    arm(&q);
    uint64_t last = 0;
    uint32_t taken = 0, tick = 0;
    for (uint32_t at = 0; at < total;) {
        uint32_t n = q.samples * (1 + rnd(3));
        n = n < total - at ? n : total - at;
        feed(tick++, at, n);
        at += n;
        for (const tw_capture_seg_t *s; rnd(3) != 0 && (s = tw_capture_read(&cap)) != NULL; tw_capture_free(&cap)) {
            assert_int_equal(s->number, taken);
            assert_true(is_edge(&q, s->sample));
            assert_true(taken == 0 || s->sample >= last + q.hold_off);
            assert_int_equal(s->before, q.pre);
            expect_points(&q, s);
            last = s->sample;
            taken++;
        }
    }
}

static void random_requests_agree_with_the_oracle(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 150; i++) {
        random_round();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rising_edge_is_found_at_its_sample_with_what_came_before),
        cmocka_unit_test(unsigned_samples_count_from_0_to_1),
        cmocka_unit_test(hysteresis_keeps_noise_at_the_level_from_firing_twice),
        cmocka_unit_test(windows_fire_on_entering_and_on_leaving),
        cmocka_unit_test(a_magnitude_fires_on_either_sign),
        cmocka_unit_test(the_level_is_in_the_arcs_unit),
        cmocka_unit_test(flow_and_tick_take_what_there_is_before_them),
        cmocka_unit_test(a_host_that_fires_waits_for_the_part_before),
        cmocka_unit_test(auto_goes_on_without_a_trigger),
        cmocka_unit_test(hold_off_counts_from_the_trigger),
        cmocka_unit_test(with_every_segment_full_triggers_are_counted_and_nothing_is_overwritten),
        cmocka_unit_test(requests_that_cannot_be_are_refused),
        cmocka_unit_test(random_requests_agree_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
