/* Settings words of IOs: option indexes as one number, mixed radix or fixed bits, and back. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_io_manifest_t io;
static tw_diags_t d;

static bool parse(const char *tags)
{
    char text[4000];
    tw_text_t t;
    d = (tw_diags_t){0};
    const int n = snprintf(text, sizeof text, "mic\naudio_in\n%s", tags);
    assert_true(n > 0 && (size_t)n < sizeof text);
    tw_text_open(&t, "io.txt", text, (size_t)n, &d);
    return tw_io_manifest_parse(&io, &t);
}

static uint32_t pack(const uint8_t *index)
{
    uint32_t word[TW_SETTINGS_WORDS];
    assert_int_equal(tw_settings_pack(&io, index, word), TW_OK);
    assert_int_equal(word[1] | word[2], 0);
    return word[0];
}

/* "the combination of index gives the second word": the first set is the least significant digit. */
static void test_S0_L668_indexes_combine_as_mixed_radix(void **state)
{
    (void)state;
    assert_true(parse("io_nb_channels {1 1 2 8}\nio_sampling_rate {2 16000 48000}\nio_analog_gain {1 0 12 24}\n"));
    assert_int_equal(io.n_settings, 3);
    assert_int_equal(pack((const uint8_t[]){0, 0, 0}), 0);
    assert_int_equal(pack((const uint8_t[]){2, 0, 0}), 2);
    assert_int_equal(pack((const uint8_t[]){0, 1, 0}), 3);
    assert_int_equal(pack((const uint8_t[]){0, 0, 1}), 6);
    assert_int_equal(pack((const uint8_t[]){2, 1, 2}), 2 + 3 + 12);
    assert_int_equal(pack(NULL), 3); /* default entry of the second set is its second */
    const uint32_t not_made[] = {18, 0, 0};
    uint8_t index[48];
    assert_int_equal(tw_settings_unpack(&io, not_made, index), TW_E_RANGE);
    uint32_t word[TW_SETTINGS_WORDS];
    assert_int_equal(tw_settings_pack(&io, (const uint8_t[]){3, 0, 0}, word), TW_E_RANGE);
}

#define S1_EXAMPLE                                                                      \
    "io_nb_channels {1 1 2 8}\nio_setting_bits io_nb_channels 3\n"                      \
    "io_sampling_rate {1 16000 48000}\nio_setting_bits io_sampling_rate 4\n"            \
    "io_frame_duration {1 10 16}\nio_setting_bits io_frame_duration 2\n"                \
    "io_analog_gain 0\nio_setting_bits io_analog_gain 4\nio_hp_filter {1 20}\n"         \
    "io_setting_bits io_hp_filter 2\nio_agc 0\nio_setting_bits io_agc 1\nio_router 0\n" \
    "io_setting_bits io_router 2\n"

/* The example of the seed: 3 bits of channels on the LSB, 4 of rate, 2 of frame size; 14 bits remain of 32. */
static void test_S1_L360_fixed_bits_override_the_radix(void **state)
{
    (void)state;
    assert_true(parse(S1_EXAMPLE));
    assert_int_equal(io.n_settings, 7);
    assert_int_equal(pack((const uint8_t[]){2, 0, 0, 0, 0, 0, 0}), 2);
    assert_int_equal(pack((const uint8_t[]){0, 1, 0, 0, 0, 0, 0}), 1 << 3);
    assert_int_equal(pack((const uint8_t[]){0, 0, 1, 0, 0, 0, 0}), 1 << 7);
    assert_int_equal(pack((const uint8_t[]){2, 1, 1, 0, 0, 0, 0}), 2 | 1 << 3 | 1 << 7);
    assert_int_equal(tw_settings_words(&io), 1);
    uint8_t index[48];
    const uint32_t bit18[] = {1u << 18, 0, 0}, agc_on[] = {1u << 15, 0, 0}, good[] = {1 | 1 << 7, 0, 0};
    assert_int_equal(tw_settings_unpack(&io, bit18, index), TW_E_RANGE);
    assert_int_equal(tw_settings_unpack(&io, agc_on, index), TW_E_RANGE); /* "0 option": nothing to choose */
    assert_int_equal(tw_settings_unpack(&io, good, index), TW_OK);
    assert_true(index[0] == 1 && index[1] == 0 && index[2] == 1 && index[6] == 0);
}

/* The figures of docs/GRAPH_LANGUAGE.md. */
static void the_manuals_example_is_right(void **state)
{
    (void)state;
    assert_true(parse("io_nb_channels {1 1 2 8}\nio_sampling_rate {2 16000 48000}\n"));
    assert_int_equal(pack((const uint8_t[]){2, 1}), 5);
    assert_int_equal(pack(NULL), 3);
}

static void every_choice_comes_back(void **state)
{
    (void)state;
    assert_true(parse("io_nb_channels {1 1 2 8}\nio_sampling_rate {1 8000 16000 44100 48000 96000}\n"
                      "io_setting_bits io_sampling_rate 3\nio_digital_gain {-1 -12 1 12}\nio_high_pass\n"));
    unsigned tried = 0;
    for (uint8_t a = 0; a < 3; a++) {
        for (uint8_t b = 0; b < 5; b++) {
            for (uint8_t c = 0; c < 25; c++) {
                for (uint8_t e = 0; e < 2; e++) {
                    const uint8_t index[] = {a, b, c, e};
                    uint8_t back[48];
                    const uint32_t word[TW_SETTINGS_WORDS] = {pack(index)};
                    assert_int_equal(tw_settings_unpack(&io, word, back), TW_OK);
                    assert_memory_equal(index, back, sizeof index);
                    tried++;
                }
            }
        }
    }
    assert_int_equal(tried, 750);
}

static void what_does_not_fit_a_word_begins_the_next(void **state)
{
    (void)state;
    /* 16 + 16 bits fill the first word, 2 options need the second */
    assert_true(parse("io_nb_channels {1 1 2}\nio_setting_bits io_nb_channels 16\nio_sampling_rate {1 8000 16000}\n"
                      "io_setting_bits io_sampling_rate 16\nio_agc {1 0 1}\n"));
    uint32_t word[TW_SETTINGS_WORDS];
    assert_int_equal(tw_settings_words(&io), 2);
    assert_int_equal(tw_settings_pack(&io, (const uint8_t[]){1, 1, 1}, word), TW_OK);
    assert_true(word[0] == 0x10001 && word[1] == 1 && word[2] == 0);
    uint8_t index[48];
    assert_int_equal(tw_settings_unpack(&io, word, index), TW_OK);
    assert_true(index[0] == 1 && index[1] == 1 && index[2] == 1);
}

static void more_than_three_words_are_refused(void **state)
{
    (void)state;
    static const char *const tags[] = {"io_nb_channels",  "io_sampling_rate", "io_analog_gain",   "io_digital_gain",
                                       "io_frame_length", "io_hp_filter",     "io_frame_duration"};
    char text[1000];
    size_t n = 0;
    for (size_t i = 0; i < TW_COUNT(tags); i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s {1 1 2}\nio_setting_bits %s 16\n", tags[i], tags[i]);
    }
    assert_false(parse(text));
    assert_string_equal(d.rows[0].text, "the option sets need 4 settings words, an IO has 3");
    uint32_t word[TW_SETTINGS_WORDS];
    uint8_t index[48];
    assert_int_equal(tw_settings_pack(&io, NULL, word), TW_E_UNSUPPORTED);
    assert_int_equal(tw_settings_unpack(&io, word, index), TW_E_UNSUPPORTED);
}

static void a_width_names_a_set_it_can_hold(void **state)
{
    (void)state;
    static const struct {
        const char *tags;
        unsigned line, col;
        const char *says;
    } cases[] = {
        {"io_setting_bits io_agc 1\n", 3, 17, "expected the tag of an option set above this line"},
        {"io_setting_bits 4\n", 3, 17, "expected the tag of an option set above this line"},
        {"io_agc {1 0 1}\nio_setting_bits io_agc\n", 4, 23, "expected a value for bits"},
        {"io_agc {1 0 1}\nio_setting_bits io_agc 17\n", 4, 24, "bits is 17, allowed 1..16"},
        {"io_analog_gain {1 0 12 24}\nio_setting_bits io_analog_gain 1\n", 4, 32,
         "io_analog_gain has 3 options, 1 bits hold 2"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_diag_t *r = &d.rows[0];
        if (parse(cases[i].tags) || r->line != cases[i].line || r->col != cases[i].col ||
            strcmp(r->text, cases[i].says) != 0) {
            fail_msg("case %zu: %u:%u %s", i, r->line, r->col, r->text);
        }
    }
}

static void sets_and_options_are_found_by_name_and_value(void **state)
{
    (void)state;
    assert_true(parse("io_motion_averaging acc 1 1 4 16 32\nio_motion_averaging gyro {2 1 4}\n"));
    assert_int_equal(tw_setting_find(&io, "io_motion_averaging gyro", 24), 1);
    assert_int_equal(tw_setting_find(&io, "io_motion_averaging", 19), -1);
    assert_int_equal(tw_option_find(&io.settings[0].o, 16), 2);
    assert_int_equal(tw_option_find(&io.settings[0].o, 17), -1);
    assert_true(parse("io_setting_bits io_agc 1\n") == false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L668_indexes_combine_as_mixed_radix),
        cmocka_unit_test(test_S1_L360_fixed_bits_override_the_radix),
        cmocka_unit_test(the_manuals_example_is_right),
        cmocka_unit_test(every_choice_comes_back),
        cmocka_unit_test(what_does_not_fit_a_word_begins_the_next),
        cmocka_unit_test(more_than_three_words_are_refused),
        cmocka_unit_test(a_width_names_a_set_it_can_hold),
        cmocka_unit_test(sets_and_options_are_found_by_name_and_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
