/* test_cli_values.c - parameter values between text and wire bytes. */
#include "engine/base/formats.h"
#include "host_tools/client/value_text.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tunewire_v1_ParamDesc desc(uint32_t raw, uint32_t count, double min, double max, const char *unit)
{
    tunewire_v1_ParamDesc d = {.type = raw, .count = count, .min = min, .max = max};
    (void)snprintf(d.unit, sizeof d.unit, "%s", unit);
    return d;
}

static void text_becomes_the_bytes_of_the_parameter_or_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t raw, count;
        double min, max;
        const char *unit, *text;
        uint8_t bytes[12];
        uint32_t n; /* 0: refused */
    } cases[] = {
        {"u8", TW_RAW_U8, 1, 0, 15, "any", "7", {7}, 1},
        {"blanks", TW_RAW_U8, 1, 0, 15, "any", "  7 ", {7}, 1},
        {"hex", TW_RAW_U16, 1, 0, 4095, "any", "0x805", {5, 8}, 2},
        {"word for a switch", TW_RAW_U8, 1, 0, 1, "any", "on", {1}, 1},
        {"word elsewhere", TW_RAW_U8, 1, 0, 15, "any", "on", {0}, 0},
        {"above", TW_RAW_U8, 1, 0, 15, "any", "16", {0}, 0},
        {"below", TW_RAW_S8, 1, -3, 3, "any", "-4", {0}, 0},
        {"negative", TW_RAW_S8, 1, -3, 3, "any", "-3", {0xFD}, 1},
        {"no fractions", TW_RAW_U8, 1, 0, 15, "any", "1.5", {0}, 0},
        {"whole by exponent", TW_RAW_U16, 1, 0, 5000, "any", "1e3", {0xE8, 3}, 2},
        {"not a number", TW_RAW_U8, 1, 0, 15, "any", "x", {0}, 0},
        {"nan", TW_RAW_FP32, 1, 0, 0, "any", "nan", {0}, 0},
        {"infinity", TW_RAW_FP32, 1, 0, 0, "any", "inf", {0}, 0},
        {"overflows a float", TW_RAW_FP32, 1, 0, 0, "any", "1e39", {0}, 0},
        {"nothing", TW_RAW_U8, 1, 0, 15, "any", "", {0}, 0},
        {"array", TW_RAW_S16, 3, -32768, 32767, "any", "1,-2, 3", {1, 0, 0xFE, 0xFF, 3, 0}, 6},
        {"array too short", TW_RAW_S16, 3, -32768, 32767, "any", "1,2", {0}, 0},
        {"array too long", TW_RAW_S16, 3, -32768, 32767, "any", "1,2,3,4", {0}, 0},
        {"hole in an array", TW_RAW_S16, 3, -32768, 32767, "any", "1,,3", {0}, 0},
        {"same unit", TW_RAW_FP32, 1, -100, 36, "dB", "-6 dB", {0, 0, 0xC0, 0xC0}, 4},
        {"unit without blank", TW_RAW_FP32, 1, -100, 36, "dB", "-6dB", {0, 0, 0xC0, 0xC0}, 4},
        {"prefix", TW_RAW_U16, 1, 0, 24000, "Hz", "1 kHz", {0xE8, 3}, 2},
        {"listed multiple", TW_RAW_FP32, 1, 0, 10, "s", "500 ms", {0, 0, 0, 0x3F}, 4},
        {"to a multiple", TW_RAW_U16, 1, 0, 60000, "ms", "0.5 s", {0xF4, 1}, 2},
        {"converted beyond the limit", TW_RAW_U16, 1, 0, 24000, "Hz", "25 kHz", {0}, 0},
        {"another quantity", TW_RAW_FP32, 1, -100, 36, "dB", "3 Hz", {0}, 0},
        {"unknown unit", TW_RAW_FP32, 1, -100, 36, "dB", "3 bananas", {0}, 0},
        {"unit where there is none", TW_RAW_U8, 1, 0, 15, "any", "3 dB", {0}, 0},
        {"unit in an array", TW_RAW_U16, 2, 0, 24000, "Hz", "1 kHz,2 kHz", {0xE8, 3, 0xD0, 7}, 4},
        {"half", TW_RAW_FP16, 1, 0, 0, "any", "-1.5", {0x00, 0xBE}, 2},
        {"half too large", TW_RAW_FP16, 1, 0, 0, "any", "70000", {0}, 0},
        {"double", TW_RAW_FP64, 1, 0, 0, "any", "1", {0, 0, 0, 0, 0, 0, 0xF0, 0x3F}, 8},
        {"type without numbers", TW_RAW_CFP32, 1, 0, 0, "any", "1", {0}, 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tunewire_v1_ParamDesc d = desc(cases[i].raw, cases[i].count, cases[i].min, cases[i].max, cases[i].unit);
        uint8_t out[12] = {0};
        uint32_t n = 0;
        char why[160] = "";
        const bool ok = tw_value_parse(&d, cases[i].text, out, sizeof out, &n, why, sizeof why);
        if (ok != (cases[i].n != 0) || (ok && (n != cases[i].n || memcmp(out, cases[i].bytes, n) != 0)) ||
            (!ok && !why[0])) {
            fail_msg("%s: %d, %u bytes, %02x %02x %02x %02x, '%s'", cases[i].why, ok, n, out[0], out[1], out[2], out[3],
                     why);
        }
    }
}

static void what_is_written_reads_back_to_the_same_bytes(void **state)
{
    (void)state;
    static const uint32_t raws[] = {TW_RAW_S8,  TW_RAW_U8,  TW_RAW_Q15,  TW_RAW_U16,  TW_RAW_S32,
                                    TW_RAW_U32, TW_RAW_Q31, TW_RAW_FP16, TW_RAW_FP32, TW_RAW_FP64};
    uint64_t x = 88172645463325252u; /* xorshift: the same bits on every machine */
    for (size_t r = 0; r < TW_COUNT(raws); r++) {
        const tunewire_v1_ParamDesc d = desc(raws[r], 2, 0, 0, "any");
        const uint32_t n = tw_value_bytes(&d);
        for (unsigned k = 0; k < 2000; k++) {
            uint8_t in[16], out[16];
            char text[80], why[160];
            uint32_t got;
            for (uint32_t i = 0; i < n; i++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                in[i] = (uint8_t)(x >> 32);
            }
            if (!isfinite(tw_raw_read(raws[r], in)) || !isfinite(tw_raw_read(raws[r], in + n / 2))) {
                continue;
            }
            tw_value_format(&d, in, n, text, sizeof text);
            if (!tw_value_parse(&d, text, out, sizeof out, &got, why, sizeof why) || memcmp(in, out, n) != 0) {
                fail_msg("%s: '%s' does not read back", tw_raw_name(raws[r]), text);
            }
        }
    }
}

static void floats_are_written_as_short_as_they_can_be(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.1, "0.1"}, {-6, "-6"}, {1e-7, "1e-07"}, {16777216, "16777216"}, {0.333333343, "0.33333334"}};
    const tunewire_v1_ParamDesc d = desc(TW_RAW_FP32, 1, 0, 0, "any");
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t b[4];
        char text[40];
        assert_true(tw_raw_write(TW_RAW_FP32, cases[i].v, b));
        tw_value_format(&d, b, 4, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void a_long_value_is_cut_at_the_buffer_not_beyond(void **state)
{
    (void)state;
    uint8_t value[400];
    char text[50];
    memset(value, 0xFF, sizeof value);
    memset(text, 'x', sizeof text);
    const tunewire_v1_ParamDesc d = desc(TW_RAW_U16, 200, 0, 0, "any");
    tw_value_format(&d, value, sizeof value, text, 40);
    assert_true(strlen(text) < 40);
    assert_int_equal(text[45], 'x');
}

static void every_half_float_keeps_its_value(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        uint8_t in[2], out[2];
        tw_put_le16(in, (uint16_t)h);
        const double v = tw_raw_read(TW_RAW_FP16, in);
        if (isfinite(v) && (!tw_raw_write(TW_RAW_FP16, v, out) || memcmp(in, out, 2) != 0)) {
            fail_msg("half 0x%04x = %g became %02x%02x", h, v, out[1], out[0]);
        }
    }
}

static void every_listed_unit_converts_to_its_primary_and_back(void **state)
{
    (void)state;
    for (uint32_t u = 1; u < TW_UNIT_COUNT; u++) {
        double there, back;
        const char *unit = tw_unit_text(u);
        assert_true(tw_unit_convert(12.5, unit, unit, &there));
        assert_true(there == 12.5);
        for (uint32_t p = 1; p < TW_UNIT_COUNT; p++) {
            if (tw_unit_convert(12.5, unit, tw_unit_text(p), &there)) {
                assert_true(tw_unit_convert(there, tw_unit_text(p), unit, &back));
                assert_true(fabs(back - 12.5) < 1e-9);
            }
        }
    }
    double v;
    assert_true(tw_unit_convert(2, "MHz", "Hz", &v) && v == 2e6);
    assert_true(tw_unit_convert(30, "dBm", "dBW", &v) && fabs(v) < 1e-12);
    assert_false(tw_unit_convert(1, "s", "Hz", &v));
    assert_false(tw_unit_convert(1, "Hz", "any", &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_the_bytes_of_the_parameter_or_is_refused_with_a_reason),
        cmocka_unit_test(what_is_written_reads_back_to_the_same_bytes),
        cmocka_unit_test(floats_are_written_as_short_as_they_can_be),
        cmocka_unit_test(a_long_value_is_cut_at_the_buffer_not_beyond),
        cmocka_unit_test(every_half_float_keeps_its_value),
        cmocka_unit_test(every_listed_unit_converts_to_its_primary_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
