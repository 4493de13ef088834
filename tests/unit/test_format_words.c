/* Packed stream formats of three generations: written, read back, refused where they do not fit. */
#include "engine/base/bytes.h"
#include "engine/base/format_words.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const tw_fmt_t mono = {.frame = 8, .raw = TW_RAW_S16, .channels = 1, .rate = 16000};

static tw_err_t export(tw_fmt_layout_t layout, const tw_fmt_t *f, uint32_t w[4])
{
    tw_fmt_field_t field;
    memset(w, 0, 4 * sizeof w[0]);
    return tw_fmt_words_export(layout, f, w, &field);
}

/* The listing beside the seed's text: 0x22000008 = raw 17, 8 bytes; 0x467A0000 = 16000.0. */
static void test_S0_L93_the_listing_has_three_words(void **state)
{
    (void)state;
    uint32_t w[4];
    assert_int_equal(tw_fmt_words(TW_FMT_LISTING), 3);
    assert_int_equal(export(TW_FMT_LISTING, &mono, w), TW_OK);
    assert_true(w[0] == 0x22000008 && w[1] == 0x467A0000 && w[2] == 0 && w[3] == 0);
    tw_fmt_t stereo = mono;
    stereo.channels = 2;
    stereo.domain = 4;
    assert_int_equal(export(TW_FMT_LISTING, &stereo, w), TW_OK);
    assert_true(w[1] == 0x467A0001 && w[2] == 4);
}

/* No bit order is stated: what is listed first is least significant. */
static void test_S0_L1657_fields_listed_first_are_least_significant(void **state)
{
    (void)state;
    const tw_fmt_t f = {.frame = 0x123456,
                        .interleaving = 2,
                        .raw = 17,
                        .channels = 8,
                        .rate = 48000,
                        .ts = 1,
                        .domain = 1,
                        .mapping = 5,
                        .direction = 1,
                        .extra = 0xCAFE};
    uint32_t w[4];
    assert_int_equal(export(TW_FMT_SEED, &f, w), TW_OK);
    assert_true(w[0] == (0x123456u | 2u << 24 | 17u << 26));
    assert_true(w[1] == (7u | 48000u << 5 | 1u << 26));
    assert_true(w[2] == (1u | 5u << 6 | 1u << 30));
    assert_int_equal(w[3], 0xCAFE);
}

static void e2_has_the_unit_and_the_size_of_stamps(void **state)
{
    (void)state;
    const tw_fmt_t f = {.frame = 160,
                        .interleaving = 1,
                        .raw = 27,
                        .channels = 2,
                        .rate = 44100,
                        .ts = 3,
                        .ts_size = 1,
                        .domain = 8,
                        .unit = 104,
                        .extra = 3};
    uint32_t w[4];
    assert_int_equal(export(TW_FMT_E2, &f, w), TW_OK);
    assert_true(w[0] == 160 && w[2] == 0x472C4400 && w[3] == 3);
    assert_true(w[1] == (1u | 1u << 5 | 3u << 6 | 1u << 8 | 8u << 10 | 104u << 15 | 27u << 23));
}

/* Mantissa 19 bits, exponents 0 -8 -16 -24: "from 1 week period up to 524 kHz, common rates with full accuracy". */
static void test_S0_L1679_rates_have_19_bits_and_four_exponents(void **state)
{
    (void)state;
    static const struct {
        double rate, back;
        uint32_t mantissa, e;
    } cases[] = {
        {0, 0, 0, 0}, /* asynchronous, or a servant */
        {8000, 8000, 8000, 0},
        {44100, 44100, 44100, 0},
        {524287, 524287, 524287, 0},
        {0.25, 0.25, 64, 1},
        {22050.5, 22051, 22051, 0}, /* nothing finer has room */
        {1000.5, 1000.5, 256128, 1},
        {1.0 / 604800, 28.0 / 16777216, 28, 3},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_fmt_t f = mono, back;
        uint32_t w[4];
        tw_fmt_field_t field;
        f.rate = cases[i].rate;
        assert_int_equal(export(TW_FMT_SEED, &f, w), TW_OK);
        assert_int_equal(tw_fmt_words_import(TW_FMT_SEED, w, &back, &field), TW_OK);
        if (tw_bits(w[1], 23, 5) != cases[i].mantissa || tw_bits(w[1], 25, 24) != cases[i].e ||
            back.rate != cases[i].back) {
            fail_msg("%g: %u e %u, %g", cases[i].rate, tw_bits(w[1], 23, 5), tw_bits(w[1], 25, 24), back.rate);
        }
    }
}

/* Frame 0 is any size; 24 bits of bytes. */
static void test_S0_L1665_frame_zero_is_any_size(void **state)
{
    (void)state;
    tw_fmt_t f = mono, back;
    uint32_t w[4];
    tw_fmt_field_t field;
    f.frame = 0;
    for (int layout = TW_FMT_SEED; layout <= TW_FMT_E2; layout++) {
        assert_int_equal(export((tw_fmt_layout_t)layout, &f, w), TW_OK);
        assert_int_equal(tw_fmt_words_import((tw_fmt_layout_t)layout, w, &back, &field), TW_OK);
        assert_int_equal(back.frame, 0);
    }
}

static void what_does_not_fit_is_named(void **state)
{
    (void)state;
    static const struct {
        tw_fmt_layout_t layout;
        tw_fmt_t f;
        tw_err_t err;
        tw_fmt_field_t field;
    } cases[] = {
        {TW_FMT_SEED, {.channels = 1, .frame = 1u << 24}, TW_E_RANGE, TW_FMT_FIELD_FRAME},
        {TW_FMT_LISTING, {.channels = 1, .frame = 1u << 22}, TW_E_RANGE, TW_FMT_FIELD_FRAME},
        {TW_FMT_E2, {.channels = 1, .frame = 1u << 22}, TW_E_RANGE, TW_FMT_FIELD_FRAME},
        {TW_FMT_SEED, {.channels = 1, .raw = 52}, TW_E_RANGE, TW_FMT_FIELD_RAW},
        {TW_FMT_SEED, {.channels = 1, .interleaving = 3}, TW_E_RANGE, TW_FMT_FIELD_INTERLEAVING},
        {TW_FMT_E2, {.channels = 1, .interleaving = 2}, TW_E_RANGE, TW_FMT_FIELD_INTERLEAVING},
        {TW_FMT_SEED, {.channels = 0}, TW_E_RANGE, TW_FMT_FIELD_CHANNELS},
        {TW_FMT_SEED, {.channels = 33}, TW_E_RANGE, TW_FMT_FIELD_CHANNELS},
        {TW_FMT_SEED, {.channels = 1, .rate = 524287.5}, TW_E_RANGE, TW_FMT_FIELD_RATE},
        {TW_FMT_SEED, {.channels = 1, .rate = -1}, TW_E_RANGE, TW_FMT_FIELD_RATE},
        {TW_FMT_E2, {.channels = 1, .rate = NAN}, TW_E_RANGE, TW_FMT_FIELD_RATE},
        {TW_FMT_E2, {.channels = 1, .rate = INFINITY}, TW_E_RANGE, TW_FMT_FIELD_RATE},
        {TW_FMT_E2, {.channels = 1, .rate = 1e39}, TW_E_RANGE, TW_FMT_FIELD_RATE},
        {TW_FMT_SEED, {.channels = 1, .ts = 4}, TW_E_RANGE, TW_FMT_FIELD_TS},
        {TW_FMT_SEED, {.channels = 1, .ts_size = 1}, TW_E_UNSUPPORTED, TW_FMT_FIELD_TS_SIZE},
        {TW_FMT_E2, {.channels = 1, .ts_size = 4}, TW_E_RANGE, TW_FMT_FIELD_TS_SIZE},
        {TW_FMT_SEED, {.channels = 1, .domain = 16}, TW_E_RANGE, TW_FMT_FIELD_DOMAIN},
        {TW_FMT_SEED, {.channels = 1, .unit = 1}, TW_E_UNSUPPORTED, TW_FMT_FIELD_UNIT},
        {TW_FMT_E2, {.channels = 1, .unit = 107}, TW_E_RANGE, TW_FMT_FIELD_UNIT},
        {TW_FMT_SEED, {.channels = 1, .mapping = 1u << 24}, TW_E_RANGE, TW_FMT_FIELD_MAPPING},
        {TW_FMT_LISTING, {.channels = 1, .mapping = 1}, TW_E_UNSUPPORTED, TW_FMT_FIELD_MAPPING},
        {TW_FMT_SEED, {.channels = 1, .direction = 2}, TW_E_RANGE, TW_FMT_FIELD_DIRECTION},
        {TW_FMT_E2, {.channels = 1, .direction = 1}, TW_E_UNSUPPORTED, TW_FMT_FIELD_DIRECTION},
        {TW_FMT_LISTING, {.channels = 1, .extra = 1}, TW_E_UNSUPPORTED, TW_FMT_FIELD_EXTRA},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint32_t w[4];
        tw_fmt_field_t field = TW_FMT_FIELD_NONE;
        const tw_err_t err = tw_fmt_words_export(cases[i].layout, &cases[i].f, w, &field);
        if (err != cases[i].err || field != cases[i].field) {
            fail_msg("case %zu: %s, %s", i, tw_err_name(err), tw_fmt_field_text(field));
        }
    }
    assert_string_equal(tw_fmt_field_text(TW_FMT_FIELD_SPARE), "spare bits");
    uint32_t w[4];
    tw_fmt_field_t field;
    assert_int_equal(tw_fmt_words_export((tw_fmt_layout_t)3, &mono, w, &field), TW_E_ARG);
}

static void foreign_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        tw_fmt_layout_t layout;
        uint32_t w[4];
        tw_fmt_field_t field;
    } cases[] = {
        {TW_FMT_SEED, {52u << 26, 0, 0, 0}, TW_FMT_FIELD_RAW},
        {TW_FMT_SEED, {3u << 24, 0, 0, 0}, TW_FMT_FIELD_INTERLEAVING},
        {TW_FMT_SEED, {0, 1u << 28, 0, 0}, TW_FMT_FIELD_SPARE},
        {TW_FMT_SEED, {0, 0, 16, 0}, TW_FMT_FIELD_DOMAIN},
        {TW_FMT_SEED, {0, 0, 1u << 31, 0}, TW_FMT_FIELD_SPARE},
        {TW_FMT_LISTING, {1u << 31, 0, 0, 0}, TW_FMT_FIELD_SPARE},
        {TW_FMT_LISTING, {52u << 25, 0, 0, 0}, TW_FMT_FIELD_RAW},
        {TW_FMT_LISTING, {0, 0x80000000, 0, 0}, TW_FMT_FIELD_RATE},
        {TW_FMT_LISTING, {0, 0x7F800000, 0, 0}, TW_FMT_FIELD_RATE},
        {TW_FMT_LISTING, {0, 0, 64, 0}, TW_FMT_FIELD_SPARE},
        {TW_FMT_E2, {1u << 22, 0, 0, 0}, TW_FMT_FIELD_SPARE},
        {TW_FMT_E2, {0, 1u << 29, 0, 0}, TW_FMT_FIELD_SPARE},
        {TW_FMT_E2, {0, 0, 0x7FC00000, 0}, TW_FMT_FIELD_RATE},
        {TW_FMT_E2, {0, 107u << 15, 0, 0}, TW_FMT_FIELD_UNIT},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_fmt_t f = mono;
        tw_fmt_field_t field = TW_FMT_FIELD_NONE;
        const tw_err_t err = tw_fmt_words_import(cases[i].layout, cases[i].w, &f, &field);
        if (err != TW_E_RANGE || field != cases[i].field || f.frame != mono.frame) {
            fail_msg("case %zu: %s, %s", i, tw_err_name(err), tw_fmt_field_text(field));
        }
    }
}

/* What can be read is written as the same words. */
static void words_read_are_written_the_same(void **state)
{
    (void)state;
    uint32_t seed = 12345, good = 0;
    for (unsigned i = 0; i < 200000; i++) {
        uint32_t w[4], again[4] = {0};
        tw_fmt_t f;
        tw_fmt_field_t field;
        const tw_fmt_layout_t layout = (tw_fmt_layout_t)(i % 3);
        for (unsigned k = 0; k < 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            w[k] = seed ^ seed >> 15;
        }
        w[1] &= layout == TW_FMT_SEED ? 0x0FFFFFFF : layout == TW_FMT_E2 ? 0x1FFFFFFF : 0x4FFFFFFF;
        w[0] &= layout == TW_FMT_E2 ? 0x3FFFFF : 0x7FFFFFFF;
        w[2] &= layout == TW_FMT_LISTING ? 15 : layout == TW_FMT_SEED ? 0x7FFFFFCF : 0x4FFFFFFF;
        w[3] &= layout == TW_FMT_LISTING ? 0 : 0xFFFFFFFF;
        if (tw_fmt_words_import(layout, w, &f, &field) != TW_OK) {
            continue;
        }
        good++;
        assert_int_equal(tw_fmt_words_export(layout, &f, again, &field), TW_OK);
        if (layout == TW_FMT_SEED) { /* one rate has several spellings */
            tw_fmt_t back;
            assert_int_equal(tw_fmt_words_import(layout, again, &back, &field), TW_OK);
            assert_true(back.rate == f.rate);
            again[1] = (again[1] & 0xFC00001F) | (w[1] & 0x03FFFFE0);
        }
        assert_memory_equal(w, again, sizeof w);
    }
    assert_true(good > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L93_the_listing_has_three_words),
        cmocka_unit_test(test_S0_L1657_fields_listed_first_are_least_significant),
        cmocka_unit_test(e2_has_the_unit_and_the_size_of_stamps),
        cmocka_unit_test(test_S0_L1679_rates_have_19_bits_and_four_exponents),
        cmocka_unit_test(test_S0_L1665_frame_zero_is_any_size),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(foreign_words_are_refused),
        cmocka_unit_test(words_read_are_written_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
