/* The 52 raw types: codes, widths, names, what nodes may compute on; the array that holds any of them. */
#include "engine/base/bytes.h"
#include "engine/base/format_words.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Kept beside raw_types.def: a code, a width or a name that changes there is seen here. */
static const struct {
    unsigned line; /* of seed 000 */
    uint32_t code;
    const char *name;
    unsigned bits;
    bool computable;
} types[] = {
    /* clang-format off */
    {900, 0, "DATA_ARRAY", 0, false},
    {900, 1, "S1", 1, false},
    {903, 2, "U1", 1, true},
    {904, 3, "S2", 2, false},
    {905, 4, "U2", 2, false},
    {909, 5, "Q1", 2, false},
    {910, 6, "S4", 4, false},
    {915, 7, "U4", 4, false},
    {916, 8, "Q3", 4, false},
    {917, 9, "FP4_E2M1", 4, false},
    {918, 10, "FP4_E3M0", 4, false},
    {919, 11, "S8", 8, true},
    {928, 12, "U8", 8, true},
    {929, 13, "Q7", 8, true},
    {930, 14, "CHAR", 8, true},
    {941, 15, "FP8_E4M3", 8, false},
    {931, 16, "FP8_E5M2", 8, false},
    {933, 17, "S16", 16, true},
    {933, 18, "U16", 16, true},
    {935, 19, "Q15", 16, true},
    {946, 20, "FP16", 16, true},
    {947, 21, "BF16", 16, false},
    {948, 22, "Q23", 24, false},
    {949, 23, "Q23_32", 32, true},
    {950, 24, "S32", 32, true},
    {951, 25, "U32", 32, true},
    {959, 26, "Q31", 32, true},
    {960, 27, "FP32", 32, true},
    {961, 28, "CQ15", 32, true},
    {962, 29, "CFP16", 32, false},
    {963, 30, "S64", 64, false},
    {971, 31, "U64", 64, false},
    {972, 32, "Q63", 64, false},
    {973, 33, "CQ31", 64, false},
    {974, 34, "FP64", 64, true},
    {978, 35, "CFP32", 64, true},
    {979, 36, "FP128", 128, false},
    {980, 37, "CFP64", 128, false},
    {981, 38, "FP256", 256, false},
    {989, 39, "TIME16", 16, true},
    {989, 40, "TIME16D", 16, true},
    {990, 41, "TIME32", 32, true},
    {991, 42, "TIME32D", 32, true},
    {993, 43, "TIMESTMP", 32, true},
    {994, 44, "TIME64", 64, true},
    {995, 45, "TIME64MS", 64, true},
    {998, 46, "TIME64ISO", 64, true},
    {999, 47, "WGS84", 64, false},
    {1000, 48, "HEXBINARY", 8, false},
    {1001, 49, "BASE64", 8, false},
    {1003, 50, "STRING8", 8, false},
    {1006, 51, "STRING16", 16, false},
    /* clang-format on */
};

static void test_S0_L899_raw_types_are_the_seeds_52(void **state)
{
    (void)state;
    assert_int_equal(TW_RAW_COUNT, 52);
    assert_int_equal(TW_COUNT(types), TW_RAW_COUNT);
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        const char *name = tw_raw_name(types[i].code);
        if (types[i].code != i || name == NULL || strcmp(name, types[i].name) != 0 ||
            tw_raw_bits(types[i].code) != types[i].bits || tw_raw_computable(types[i].code) != types[i].computable) {
            fail_msg("S0 L%u: code %u is %s of %u bits", types[i].line, types[i].code, name,
                     tw_raw_bits(types[i].code));
        }
        assert_int_equal(tw_raw_find(name, strlen(name)), types[i].code);
        assert_true(types[i].line >= 899 && types[i].line <= 1008);
    }
}

static void test_S0_L1674_codes_fit_six_bits(void **state)
{
    (void)state;
    assert_true(TW_RAW_COUNT <= 64);
    for (uint32_t code = TW_RAW_COUNT; code < 64; code++) {
        assert_null(tw_raw_name(code));
        assert_int_equal(tw_raw_bits(code), 0);
        assert_false(tw_raw_computable(code));
    }
}

/* S0 L720 and L539 write S16, 17 and STREAM_S16 for the same type; data lines and later manifests i16. */
static void test_S0_L539_a_type_has_a_name_a_code_and_a_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
    } names[] = {
        {"S16", TW_RAW_S16},
        {"STREAM_S16", TW_RAW_S16},
        {"i16", TW_RAW_S16},
        {"u16", TW_RAW_U16},
        {"i8", TW_RAW_S8},
        {"u8", TW_RAW_U8},
        {"i32", TW_RAW_S32},
        {"u32", TW_RAW_U32},
        {"i64", TW_RAW_S64},
        {"u64", TW_RAW_U64},
        {"q15", TW_RAW_Q15},
        {"q31", TW_RAW_Q31},
        {"f16", TW_RAW_FP16},
        {"f32", TW_RAW_FP32},
        {"f64", TW_RAW_FP64},
        {"s16", -1},
        {"STREAM_", -1},
        {"", -1},
        {"S1", TW_RAW_S1},
        {"S160", -1},
        {"STREAM_f32", TW_RAW_FP32},
    };
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        if (tw_raw_find(names[i].text, strlen(names[i].text)) != names[i].code) {
            fail_msg("%s is %d", names[i].text, tw_raw_find(names[i].text, strlen(names[i].text)));
        }
    }
}

/* Other lists give 39 and up to pixel formats; the seed with the numbers has the times there. */
static void test_S0_L989_codes_39_to_46_are_times(void **state)
{
    (void)state;
    for (uint32_t code = 39; code <= 46; code++) {
        assert_memory_equal(tw_raw_name(code), "TIME", 4);
        assert_true(tw_raw_computable(code));
    }
}

/* "the next byte is the raw data type and the next 2 bytes are the number": sixteen bits, little endian. */
static void test_S0_L1655_an_array_begins_with_type_and_count(void **state)
{
    (void)state;
    uint8_t a[16] = {0};
    uint32_t raw, count;
    assert_int_equal(tw_array_head_pack(TW_RAW_S16, 0x0201, a), TW_OK);
    assert_memory_equal(a, ((uint8_t[]){0, 17, 0x01, 0x02}), 4);
    assert_int_equal(tw_array_head_pack(TW_RAW_S16, 6, a), TW_OK);
    assert_int_equal(tw_array_head_unpack(a, sizeof a, &raw, &count), TW_OK);
    assert_true(raw == TW_RAW_S16 && count == 6);
    assert_int_equal(tw_array_head_unpack(a, 15, &raw, &count), TW_E_TRUNCATED);
    assert_int_equal(tw_array_head_unpack(a, 3, &raw, &count), TW_E_TRUNCATED);
    assert_int_equal(tw_array_head_pack(TW_RAW_U1, 65535, a), TW_OK);
    assert_int_equal(tw_array_head_unpack(a, 4 + 8192, &raw, &count), TW_OK); /* bits are rounded up to bytes */
    assert_int_equal(tw_array_head_unpack(a, 4 + 8191, &raw, &count), TW_E_TRUNCATED);
    assert_int_equal(tw_array_head_pack(TW_RAW_S16, 65536, a), TW_E_RANGE);
    assert_int_equal(tw_array_head_pack(TW_RAW_DATA_ARRAY, 1, a), TW_E_RANGE); /* no array in an array */
    assert_int_equal(tw_array_head_pack(TW_RAW_COUNT, 1, a), TW_E_RANGE);
    const uint8_t nested[] = {0, 0, 0, 0}, foreign[] = {0, 52, 0, 0}, no_array[] = {1, 17, 0, 0};
    assert_int_equal(tw_array_head_unpack(nested, 4, &raw, &count), TW_E_RANGE);
    assert_int_equal(tw_array_head_unpack(foreign, 4, &raw, &count), TW_E_RANGE);
    assert_int_equal(tw_array_head_unpack(no_array, 4, &raw, &count), TW_E_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L899_raw_types_are_the_seeds_52),
        cmocka_unit_test(test_S0_L1674_codes_fit_six_bits),
        cmocka_unit_test(test_S0_L539_a_type_has_a_name_a_code_and_a_prefix),
        cmocka_unit_test(test_S0_L989_codes_39_to_46_are_times),
        cmocka_unit_test(test_S0_L1655_an_array_begins_with_type_and_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
