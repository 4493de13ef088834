/* The checksums: published check values, and every version equal to the table's. */
#include "engine/base/crc.h"
#include "engine/base/err.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint32_t seed = 3;

static uint32_t random_next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static void the_published_check_values_hold(void **state)
{
    (void)state;
    assert_int_equal(tw_crc16(TW_CRC16_INIT, "123456789", 9), 0x29B1);
    assert_int_equal(tw_crc32c(0, "123456789", 9), 0xE3069283);
    assert_int_equal(tw_crc32c_table(0, "123456789", 9), 0xE3069283);
    assert_int_equal(tw_fnv1a(""), 0x811C9DC5);
    assert_int_equal(tw_fnv1a("a"), 0xE40C292C);
    assert_int_equal(tw_fnv1a("foobar"), 0xBF9CF968);
}

/* RFC 3720, B.4: 32 bytes each. */
static void the_vectors_of_iscsi_hold(void **state)
{
    (void)state;
    uint8_t b[32];
    memset(b, 0, sizeof b);
    assert_int_equal(tw_crc32c(0, b, sizeof b), 0x8A9136AA);
    memset(b, 0xFF, sizeof b);
    assert_int_equal(tw_crc32c(0, b, sizeof b), 0x62A8AB43);
    for (uint8_t i = 0; i < sizeof b; i++) {
        b[i] = i;
    }
    assert_int_equal(tw_crc32c(0, b, sizeof b), 0x46DD794E);
    for (uint8_t i = 0; i < sizeof b; i++) {
        b[i] = (uint8_t)(31 - i);
    }
    assert_int_equal(tw_crc32c(0, b, sizeof b), 0x113FDB5C);
}

static void nothing_leaves_a_crc_as_it_was(void **state)
{
    (void)state;
    assert_int_equal(tw_crc32c(0, "", 0), 0);
    assert_int_equal(tw_crc32c(0x12345678, "", 0), 0x12345678);
    assert_int_equal(tw_crc32c_table(0x12345678, "", 0), 0x12345678);
    assert_int_equal(tw_crc16(0x1234, "", 0), 0x1234);
}

static void the_hardware_agrees_with_the_table_at_any_length_and_alignment(void **state)
{
    (void)state;
    static uint8_t data[4200];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)random_next();
    }
    for (size_t offset = 0; offset < 16; offset++) {
        for (size_t len = 0; len < 80; len++) {
            assert_int_equal(tw_crc32c(0, data + offset, len), tw_crc32c_table(0, data + offset, len));
        }
    }
    for (unsigned i = 0; i < 2000; i++) {
        const size_t at = random_next() % 64, len = random_next() % 4096;
        const uint32_t start = random_next();
        assert_int_equal(tw_crc32c(start, data + at, len), tw_crc32c_table(start, data + at, len));
    }
}

static void a_crc_in_pieces_is_the_crc_of_the_whole(void **state)
{
    (void)state;
    uint8_t data[257];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)random_next();
    }
    const uint32_t whole32 = tw_crc32c(0, data, sizeof data);
    const uint16_t whole16 = tw_crc16(TW_CRC16_INIT, data, sizeof data);
    for (size_t cut = 0; cut <= sizeof data; cut++) {
        assert_int_equal(tw_crc32c(tw_crc32c(0, data, cut), data + cut, sizeof data - cut), whole32);
        assert_int_equal(tw_crc16(tw_crc16(TW_CRC16_INIT, data, cut), data + cut, sizeof data - cut), whole16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_check_values_hold),
        cmocka_unit_test(the_vectors_of_iscsi_hold),
        cmocka_unit_test(nothing_leaves_a_crc_as_it_was),
        cmocka_unit_test(the_hardware_agrees_with_the_table_at_any_length_and_alignment),
        cmocka_unit_test(a_crc_in_pieces_is_the_crc_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
