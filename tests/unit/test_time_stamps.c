/* Time formats of streams: raw types TIME16..TIME64ISO, absolute and relative stamps of frames. */
#include "engine/base/bytes.h"
#include "engine/base/time_stamps.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define HALF 0x80000000u
#define QUARTER 0x40000000u

static void times_become_words_and_come_back(void **state)
{
    (void)state;
    static const struct {
        tw_raw_t raw;
        uint64_t s;
        uint32_t frac;
        uint64_t word;
    } cases[] = {
        {TW_RAW_TIME16, 0, 0, 0},
        {TW_RAW_TIME16, 1, QUARTER, 5},
        {TW_RAW_TIME16, 16383, HALF + QUARTER, 0xFFFF},
        {TW_RAW_TIME16D, 0, HALF, 0x4000},
        {TW_RAW_TIME16D, 1, 0, 0x8000},
        {TW_RAW_TIME32, 3, HALF, 0x38},
        {TW_RAW_TIME32, (1u << 28) - 1, 0, 0xFFFFFFF0},
        {TW_RAW_TIME32D, 2, QUARTER, 0x12000},
        {TW_RAW_TIMESTMP, 1, HALF, 0x1800},
        {TW_RAW_TIMESTMP, (1u << 20) - 1, 0xFFF00000, 0xFFFFFFFF},
        {TW_RAW_TIME64, 1, HALF, 0x18000000},
        {TW_RAW_TIME64, 0xFFFFFFFF, 0xFFFFFFF0, 0x0FFFFFFFFFFFFFFF},
        {TW_RAW_TIME64MS, 2, HALF, 2500},
        {TW_RAW_TIME64MS, 4398046511, 0, 4398046511000},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint64_t word = 0;
        tw_time_t t = {0};
        const tw_time_t in = {cases[i].s, cases[i].frac};
        if (tw_time_pack(cases[i].raw, in, &word) != TW_OK || word != cases[i].word ||
            tw_time_unpack(cases[i].raw, word, &t) != TW_OK || t.s != in.s || t.frac != in.frac) {
            fail_msg("case %zu: word %llx, %llu + %x", i, (unsigned long long)word, (unsigned long long)t.s, t.frac);
        }
    }
}

static void times_round_to_the_nearest_step(void **state)
{
    (void)state;
    uint64_t word;
    assert_int_equal(tw_time_pack(TW_RAW_TIME16, (tw_time_t){1, 0x1FFFFFFF}, &word), TW_OK);
    assert_int_equal(word, 4);
    assert_int_equal(tw_time_pack(TW_RAW_TIME16, (tw_time_t){1, 0x20000000}, &word), TW_OK);
    assert_int_equal(word, 5);
    assert_int_equal(tw_time_pack(TW_RAW_TIME16, (tw_time_t){1, 0xFFFFFFFF}, &word), TW_OK);
    assert_int_equal(word, 8); /* up to the next second */
    assert_int_equal(tw_time_pack(TW_RAW_TIME64MS, (tw_time_t){0, 0xFFFFFFFF}, &word), TW_OK);
    assert_int_equal(word, 1000);
}

static void what_needs_more_bits_is_refused(void **state)
{
    (void)state;
    static const struct {
        tw_raw_t raw;
        uint64_t s;
        uint32_t frac;
        tw_err_t err;
    } cases[] = {
        {TW_RAW_TIME16, 16384, 0, TW_E_RANGE},
        {TW_RAW_TIME16, 16383, 0xFFFFFFFF, TW_E_RANGE}, /* it would round up to 16384 */
        {TW_RAW_TIME16D, 2, 0, TW_E_RANGE},
        {TW_RAW_TIME32, 1u << 28, 0, TW_E_RANGE},
        {TW_RAW_TIME32D, 1u << 17, 0, TW_E_RANGE},
        {TW_RAW_TIMESTMP, 1u << 20, 0, TW_E_RANGE},
        {TW_RAW_TIME64, 1ull << 32, 0, TW_E_RANGE},
        {TW_RAW_TIME64, UINT64_MAX, 0, TW_E_RANGE},
        {TW_RAW_TIME64MS, 4398046512, 0, TW_E_RANGE},
        {TW_RAW_TIME64MS, UINT64_MAX, 0, TW_E_RANGE},
        {TW_RAW_S16, 0, 0, TW_E_ARG},
        {TW_RAW_TIME64ISO, 0, 0, TW_E_ARG}, /* a calendar, not a number of seconds */
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint64_t word = 77;
        const tw_err_t err = tw_time_pack(cases[i].raw, (tw_time_t){cases[i].s, cases[i].frac}, &word);
        if (err != cases[i].err || word != 77) {
            fail_msg("case %zu: %s", i, tw_err_name(err));
        }
    }
    tw_time_t t;
    assert_int_equal(tw_time_unpack(TW_RAW_TIME64, 1ull << 60, &t), TW_E_RANGE);
    assert_int_equal(tw_time_unpack(TW_RAW_TIME64MS, 1ull << 42, &t), TW_E_RANGE);
    assert_int_equal(tw_time_unpack(TW_RAW_TIME16, 1u << 16, &t), TW_E_RANGE);
    assert_int_equal(tw_time_unpack(TW_RAW_FP32, 0, &t), TW_E_ARG);
}

/* The seed calls TIME16 q14.2 and draws 12 bits of seconds with 4 of fraction; the name counts. */
static void test_S0_L989_time16_is_q14_2(void **state)
{
    (void)state;
    tw_time_t t;
    assert_int_equal(tw_time_unpack(TW_RAW_TIME16, 6, &t), TW_OK);
    assert_true(t.s == 1 && t.frac == HALF);
}

/* ---- calendar ---------------------------------------------------------------------- */

/* The example beside TIME64ISO: 2024-05-04T21:12:02+07:00. */
static void test_S0_L998_an_iso_time_keeps_its_offset(void **state)
{
    (void)state;
    const tw_iso_time_t t = {2024, 5, 4, 21, 12, 2, 28};
    tw_iso_time_t back;
    uint64_t word;
    int64_t s;
    assert_int_equal(tw_iso_pack(&t, &word), TW_OK);
    assert_true(word == (0x2024ull << 45 | 0x05ull << 37 | 0x04ull << 29 | 0x02ull << 21 | 28ull << 12 | 1272));
    assert_int_equal(tw_iso_unpack(word, &back), TW_OK);
    assert_memory_equal(&t, &back, sizeof t);
    assert_int_equal(tw_iso_to_unix(&t, &s), TW_OK);
    assert_int_equal(s, 1714831922);
    assert_int_equal(tw_iso_from_unix(s, 28, &back), TW_OK);
    assert_memory_equal(&t, &back, sizeof t);
    assert_int_equal(tw_iso_from_unix(s, -20, &back), TW_OK);
    assert_true(back.hour == 9 && back.day == 4 && back.quarters == -20);
}

static void unix_times_are_the_calendars(void **state)
{
    (void)state;
    static const struct {
        tw_iso_time_t t;
        int64_t s;
    } cases[] = {
        {{1970, 1, 1, 0, 0, 0, 0}, 0},
        {{1969, 12, 31, 23, 59, 59, 0}, -1},
        {{2000, 2, 29, 0, 0, 0, 0}, 951782400},
        {{1900, 3, 1, 0, 0, 0, 0}, -2203891200},
        {{2023, 1, 1, 0, 0, 0, 0}, TW_STAMP_2023_UNIX},
        {{2038, 1, 19, 3, 14, 8, 0}, 2147483648},
        {{0, 1, 1, 0, 0, 0, 0}, -62167219200},
        {{9999, 12, 31, 23, 59, 59, 0}, 253402300799},
        {{1970, 1, 1, 0, 0, 0, 56}, -50400},
        {{1970, 1, 1, 0, 0, 0, -48}, 43200},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        int64_t s = 0;
        tw_iso_time_t back = {0};
        if (tw_iso_to_unix(&cases[i].t, &s) != TW_OK || s != cases[i].s ||
            tw_iso_from_unix(s, cases[i].t.quarters, &back) != TW_OK || memcmp(&back, &cases[i].t, sizeof back) != 0) {
            fail_msg("case %zu: %lld, year %u", i, (long long)s, back.year);
        }
    }
}

static void every_day_of_four_centuries_follows_the_one_before(void **state)
{
    (void)state;
    for (int64_t day = -135140; day < 146097 - 135140; day++) { /* 400 years from 1600-01-01 */
        tw_iso_time_t t;
        uint64_t word;
        int64_t s;
        assert_int_equal(tw_iso_from_unix(day * 86400 + 3600, 0, &t), TW_OK);
        assert_int_equal(tw_iso_to_unix(&t, &s), TW_OK);
        assert_true(s == day * 86400 + 3600);
        assert_int_equal(tw_iso_pack(&t, &word), TW_OK);
    }
}

static void what_is_on_no_calendar_is_refused(void **state)
{
    (void)state;
    static const tw_iso_time_t wrong[] = {
        {10000, 1, 1, 0, 0, 0, 0},  {2024, 0, 1, 0, 0, 0, 0},  {2024, 13, 1, 0, 0, 0, 0}, {2024, 1, 0, 0, 0, 0, 0},
        {2024, 1, 32, 0, 0, 0, 0},  {2023, 2, 29, 0, 0, 0, 0}, {1900, 2, 29, 0, 0, 0, 0}, {2024, 4, 31, 0, 0, 0, 0},
        {2024, 1, 1, 24, 0, 0, 0},  {2024, 1, 1, 0, 60, 0, 0}, {2024, 1, 1, 0, 0, 60, 0}, {2024, 1, 1, 0, 0, 0, 57},
        {2024, 1, 1, 0, 0, 0, -49},
    };
    uint64_t word = 5;
    int64_t s = 6;
    tw_iso_time_t t;
    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        assert_int_equal(tw_iso_pack(&wrong[i], &word), TW_E_RANGE);
        assert_int_equal(tw_iso_to_unix(&wrong[i], &s), TW_E_RANGE);
    }
    assert_true(word == 5 && s == 6);
    static const uint64_t words[] = {
        0,
        1ull << 61 | 0x2024ull << 45 | 0x05ull << 37 | 0x04ull << 29,
        0x202Aull << 45 | 0x05ull << 37 | 0x04ull << 29,
        0x2024ull << 45 | 0x05ull << 37 | 0x04ull << 29 | 1440,
        0x2024ull << 45 | 0x05ull << 37 | 0x04ull << 29 | 57ull << 12,
        0x2023ull << 45 | 0x02ull << 37 | 0x29ull << 29,
    };
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        assert_int_equal(tw_iso_unpack(words[i], &t), TW_E_RANGE);
    }
    assert_int_equal(tw_iso_from_unix(253402300800, 0, &t), TW_E_RANGE);
    assert_int_equal(tw_iso_from_unix(-62167219201, 0, &t), TW_E_RANGE);
    assert_int_equal(tw_iso_from_unix(INT64_MAX, 0, &t), TW_E_RANGE);
    assert_int_equal(tw_iso_from_unix(0, 57, &t), TW_E_RANGE);
}

/* ---- stamps of frames ------------------------------------------------------------------ */

/* 2 MSB of format, 40 bits of milliseconds, 16 of fraction: 58 of 64 bits, the gap is zero. */
static void test_S1_L932_an_absolute_stamp_has_58_bits(void **state)
{
    (void)state;
    const tw_stamp_abs_t t = {2, 0x123456789A, 0xBCDE};
    tw_stamp_abs_t back;
    uint64_t word;
    assert_int_equal(tw_stamp_abs_pack(&t, &word), TW_OK);
    assert_true(word == 0x80123456789ABCDE);
    assert_int_equal(tw_stamp_abs_unpack(word, &back), TW_OK);
    assert_true(back.format == 2 && back.ms == t.ms && back.frac == t.frac);
    assert_int_equal(tw_stamp_abs_unpack(1ull << 56, &back), TW_E_RANGE);
    assert_int_equal(tw_stamp_abs_unpack(1ull << 61, &back), TW_E_RANGE);
    assert_int_equal(tw_stamp_abs_pack(&(tw_stamp_abs_t){4, 0, 0}, &word), TW_E_RANGE);
    assert_int_equal(tw_stamp_abs_pack(&(tw_stamp_abs_t){0, 1ull << 40, 0}, &word), TW_E_RANGE);
}

static void test_S1_L936_a_relative_stamp_has_four_formats(void **state)
{
    (void)state;
    static const struct {
        tw_stamp_rel_format_t format;
        tw_time_t t;
        uint32_t word;
    } cases[] = {
        {TW_STAMP_SINCE_RESET, {5, 0}, 5},
        {TW_STAMP_SINCE_2023, {0x3FFFFFFF, 0}, 0x7FFFFFFF},
        {TW_STAMP_INTERVAL_U14, {1, HALF}, 0x80018000},
        {TW_STAMP_INTERVAL_U14, {16383, 0xFFFF0000}, 0xBFFFFFFF},
        {TW_STAMP_INTERVAL_U24, {1, HALF}, 0xC0000018},
        {TW_STAMP_INTERVAL_U24, {0xFFFFFF, 0xF0000000}, 0xCFFFFFFF},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint32_t word = 0;
        tw_stamp_rel_format_t format;
        tw_time_t t;
        if (tw_stamp_rel_pack(cases[i].format, cases[i].t, &word) != TW_OK || word != cases[i].word ||
            tw_stamp_rel_unpack(word, &format, &t) != TW_OK || format != cases[i].format || t.s != cases[i].t.s ||
            t.frac != cases[i].t.frac) {
            fail_msg("case %zu: %x", i, word);
        }
    }
    uint32_t word;
    tw_stamp_rel_format_t format;
    tw_time_t t;
    assert_int_equal(tw_stamp_rel_pack(TW_STAMP_SINCE_RESET, (tw_time_t){1u << 30, 0}, &word), TW_E_RANGE);
    assert_int_equal(tw_stamp_rel_pack(TW_STAMP_INTERVAL_U14, (tw_time_t){16384, 0}, &word), TW_E_RANGE);
    assert_int_equal(tw_stamp_rel_pack((tw_stamp_rel_format_t)4, (tw_time_t){0, 0}, &word), TW_E_ARG);
    assert_int_equal(tw_stamp_rel_unpack(0xD0000000, &format, &t), TW_E_RANGE); /* U24.4 has 28 bits of the 30 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_become_words_and_come_back),
        cmocka_unit_test(times_round_to_the_nearest_step),
        cmocka_unit_test(what_needs_more_bits_is_refused),
        cmocka_unit_test(test_S0_L989_time16_is_q14_2),
        cmocka_unit_test(test_S0_L998_an_iso_time_keeps_its_offset),
        cmocka_unit_test(unix_times_are_the_calendars),
        cmocka_unit_test(every_day_of_four_centuries_follows_the_one_before),
        cmocka_unit_test(what_is_on_no_calendar_is_refused),
        cmocka_unit_test(test_S1_L932_an_absolute_stamp_has_58_bits),
        cmocka_unit_test(test_S1_L936_a_relative_stamp_has_four_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
