/* The 16 domains, other generations' names for them, loudspeaker places, motion sensors. */
#include "engine/base/bytes.h"
#include "engine/base/formats.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_S0_L238_domains_are_the_seeds_16(void **state)
{
    (void)state;
    static const struct {
        unsigned line; /* of seed 000 */
        const char *text;
    } domains[] = {
        {238, "general"},
        {239, "audio_in"},
        {240, "audio_out"},
        {241, "gpio_in"},
        {242, "gpio_out"},
        {243, "motion"},
        {244, "2d_in"},
        {245, "2d_out"},
        {246, "analog_in"},
        {247, "analog_out"},
        {248, "rtc"},
        {249, "user_interface_in"},
        {250, "user_interface_out"},
        {251, "platform_3"},
        {252, "platform_2"},
        {253, "platform_1"},
    };
    assert_int_equal(TW_COUNT(domains), TW_DOMAIN_COUNT);
    for (uint32_t i = 0; i < TW_COUNT(domains); i++) {
        if (strcmp(tw_domain_text(i), domains[i].text) != 0 ||
            tw_domain_find(domains[i].text, strlen(domains[i].text)) != (int)i) {
            fail_msg("S0 L%u: domain %u is %s", domains[i].line, i, tw_domain_text(i));
        }
    }
    assert_null(tw_domain_text(TW_DOMAIN_COUNT));
    assert_int_equal(tw_domain_find("radio", 5), -1);
}

/* Electrical, position, environmental, chemical sensors and codecs have no number: analog, or data. */
static void test_S1_L303_domains_without_a_number_are_analog_or_general(void **state)
{
    (void)state;
    static const struct {
        unsigned line; /* of seed 001, 0 the first generation's IO manifests */
        const char *text;
        int domain;
    } names[] = {
        {305, "electrical", 8},      {308, "position", 8},      {310, "environmental", 8}, {313, "chemical", 8},
        {318, "image_codec", 0},     {321, "audio_codec", 0},   {0, "data_in", 0},         {0, "data_out", 0},
        {0, "data_stream_in", 0},    {0, "data_stream_out", 0}, {0, "command_in", 0},      {0, "command_out", 0},
        {0, "storage_out", 0},       {0, "motion_in", 5},       {0, "analog_sensor", 8},   {0, "analog_sensor_in", 8},
        {0, "analog_transducer", 9}, {0, "rtc_in", 10},         {0, "rtc_out", 10},        {0, "platform_x", 15},
    };
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        if (tw_domain_find(names[i].text, strlen(names[i].text)) != names[i].domain) {
            fail_msg("%s is %d", names[i].text, tw_domain_find(names[i].text, strlen(names[i].text)));
        }
    }
}

static void test_S0_L757_channels_have_18_places(void **state)
{
    (void)state;
    static const struct {
        unsigned line; /* of seed 000 */
        const char *text;
    } places[] = {
        {757, "FL"},  {758, "FR"},  {759, "FC"},  {760, "LFE"}, {761, "BL"},  {762, "BR"},
        {763, "FLC"}, {764, "FRC"}, {765, "BC"},  {766, "SL"},  {767, "SR"},  {768, "TC"},
        {769, "TFL"}, {770, "TFC"}, {771, "TFR"}, {772, "TBL"}, {773, "TBC"}, {774, "TBR"},
    };
    assert_int_equal(TW_COUNT(places), TW_CHANNEL_COUNT);
    assert_true(TW_CHANNEL_COUNT <= TW_CHANNEL_BITS);
    for (uint32_t i = 0; i < TW_COUNT(places); i++) {
        if (strcmp(tw_channel_text(i), places[i].text) != 0 ||
            tw_channel_find(places[i].text, strlen(places[i].text)) != (int)i) {
            fail_msg("S0 L%u: bit %u is %s", places[i].line, i, tw_channel_text(i));
        }
    }
    assert_null(tw_channel_text(TW_CHANNEL_COUNT));
    assert_int_equal(tw_channel_find("FX", 2), -1);
}

/* "The code 0101b of a 2-channel stream means data for FrontLeft and FrontCenter." */
static void test_S1_L952_0101b_is_front_left_and_front_center(void **state)
{
    (void)state;
    assert_int_equal(1 << tw_channel_find("FL", 2) | 1 << tw_channel_find("FC", 2), 5);
}

static void test_S0_L808_motion_sensors_have_seven_kinds(void **state)
{
    (void)state;
    static const char *const kinds[] = {"aXg0m0", "a0gXm0", "a0g0mX", "aXgXm0", "aXg0mX", "a0gXmX", "aXgXmX"};
    for (uint32_t i = 0; i < TW_COUNT(kinds); i++) {
        assert_string_equal(tw_motion_text(i + 1), kinds[i]);
        assert_int_equal(tw_motion_find(kinds[i], 6), i + 1);
    }
    assert_null(tw_motion_text(0));
    assert_null(tw_motion_text(8));
    assert_int_equal(tw_motion_find("a0g0m0", 6), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L238_domains_are_the_seeds_16),
        cmocka_unit_test(test_S1_L303_domains_without_a_number_are_analog_or_general),
        cmocka_unit_test(test_S0_L757_channels_have_18_places),
        cmocka_unit_test(test_S1_L952_0101b_is_front_left_and_front_center),
        cmocka_unit_test(test_S0_L808_motion_sensors_have_seven_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
