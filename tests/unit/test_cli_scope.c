/* test_cli_scope.c - the drawing of a waveform, its meter, and the files samples go to. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_samples.h"
#include "host_tools/tunewire/cli_scope.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* Dots of all rows, one bit per dot, from the UTF-8 text. */
static unsigned dots_of(const tw_trace_t *t, unsigned first, unsigned columns, unsigned px)
{
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    char row[3 * SCOPE_COLUMNS_MAX + 1];
    unsigned dots = 0;
    for (unsigned r = 0; r < SCOPE_ROWS; r++) {
        cli_trace_row(t, first, columns, r, 1, true, row);
        assert_int_equal(strlen(row), 3 * columns);
        const uint8_t *c = (const uint8_t *)row + 3 * (px / 2);
        const unsigned code = (c[0] & 15u) << 12 | (c[1] & 63u) << 6 | (c[2] & 63u);
        assert_in_range(code, 0x2800, 0x28FF);
        for (unsigned y = 0; y < 4; y++) {
            dots |= code & bits[y][px % 2] ? 1u << (4 * r + y) : 0;
        }
    }
    return dots;
}

static void a_point_covers_the_dots_of_its_range(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        float lo, hi;
        unsigned dots; /* bit 0 on top */
    } cases[] = {
        {"zero", 0, 0, 1u << 8},
        {"full scale up", 1, 1, 1u << 0},
        {"full scale down", -1, -1, 1u << 15},
        {"beyond is clipped", 5, 5, 1u << 0},
        {"half up", 0.5f, 0.5f, 1u << 4},
        {"everything", -1, 1, 0xFFFF},
        {"lower half", -1, 0, 0xFF00},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_trace_t t = {0};
        cli_trace_add(&t, cases[i].lo, cases[i].hi, 0);
        const unsigned dots = dots_of(&t, 0, 1, 0);
        if (dots != cases[i].dots) {
            fail_msg("%s: %04x instead of %04x", cases[i].why, dots, cases[i].dots);
        }
    }
}

static void without_utf8_a_row_is_ascii_of_the_same_width(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        float lo, hi;
        const char *cells; /* one a row */
    } cases[] = {
        {"upper half of the second row", 0.3f, 0.4f, " '  "},
        {"lower half of the third row", -0.4f, -0.3f, "  . "},
        {"everything", -1, 1, "::::"},
        {"full scale up", 1, 1, "'   "},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_trace_t t = {0};
        cli_trace_add(&t, cases[i].lo, cases[i].hi, 0);
        cli_trace_add(&t, cases[i].lo, cases[i].hi, 0);
        for (unsigned r = 0; r < SCOPE_ROWS; r++) {
            char row[3 * SCOPE_COLUMNS_MAX + 1];
            cli_trace_row(&t, 0, 1, r, 1, false, row);
            if (strlen(row) != 1 || row[0] != cases[i].cells[r]) {
                fail_msg("%s: row %u is '%s'", cases[i].why, r, row);
            }
        }
    }
}

static void the_picture_stands_at_a_rising_zero_crossing(void **state)
{
    (void)state;
    tw_trace_t t = {0};
    for (unsigned i = 0; i < 3 * SCOPE_POINTS; i++) {
        const float v = sinf((float)i * 0.1f + 1.0f);
        cli_trace_add(&t, v, v, 0);
    }
    const unsigned first = cli_trace_trigger(&t, 160);
    assert_true(t.hi[first] >= 0 && t.hi[(first + SCOPE_POINTS - 1) % SCOPE_POINTS] < 0);
    tw_trace_t flat = {0};
    for (unsigned i = 0; i < SCOPE_POINTS; i++) {
        cli_trace_add(&flat, 0.5f, 0.5f, 0);
    }
    assert_int_equal(cli_trace_trigger(&flat, 160), (flat.at + SCOPE_POINTS - 160) % SCOPE_POINTS);
}

static void level_and_peak_are_those_of_the_points(void **state)
{
    (void)state;
    tw_trace_t t = {0};
    for (unsigned i = 0; i < 4800; i++) {
        const float v = 0.5f * sinf((float)i * 0.1f);
        cli_trace_add(&t, v, v, (double)v * (double)v);
    }
    assert_true(fabs((double)cli_dbfs(sqrt(t.power)) + 9.03) < 0.05);
    assert_true(fabs((double)cli_dbfs((double)t.peak) + 6.02) < 0.01);
    assert_true(cli_dbfs(0) == -120.0f);
}

static void a_peak_is_held_then_falls(void **state)
{
    (void)state;
    tw_trace_t t = {0};
    cli_trace_add(&t, 1, 1, 1);
    assert_true(fabsf(cli_trace_hold(&t, 10)) < 0.01f);
    cli_trace_mark(&t);
    cli_trace_add(&t, 0.001f, 0.001f, 0);
    assert_true(fabsf(cli_trace_hold(&t, 11)) < 0.01f);
    assert_true(fabsf(cli_trace_hold(&t, 12.5) + 20) < 0.01f);
    assert_true(fabsf(cli_trace_hold(&t, 20) + 60) < 0.01f); /* down to what there is */
}

static void the_meter_is_as_long_as_the_level(void **state)
{
    (void)state;
    static const struct {
        float level, held;
        const char *text;
    } cases[] = {
        {-120, -120, "[          ]"}, {0, 0, "[##########]"},     {-30, -30, "[#####     ]"},
        {-30, -6, "[#####   | ]"},    {-60, -54, "[|         ]"}, {12, 12, "[##########]"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char out[20];
        cli_meter(cases[i].level, cases[i].held, 10, out, sizeof out);
        assert_string_equal(out, cases[i].text);
    }
}

/* ---- files -------------------------------------------------------------------------- */

static size_t write_file(tw_sample_file_kind_t kind, uint32_t raw, uint32_t channels, const void *data, size_t n,
                         uint8_t *out, size_t cap)
{
    tw_sample_file_t s;
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_true(cli_samples_start(&s, f, kind, raw, channels, 48000));
    assert_true(cli_samples_add(&s, data, n / 2));
    assert_true(cli_samples_add(&s, (const uint8_t *)data + n / 2, n - n / 2));
    assert_true(cli_samples_end(&s));
    rewind(f);
    const size_t got = fread(out, 1, cap, f);
    (void)fclose(f);
    return got;
}

static void a_wav_file_says_what_is_in_it(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t raw, channels, tag, bits, header;
        size_t n;
    } cases[] = {
        {"16 bits, stereo", TW_RAW_S16, 2, 1, 16, 44, 8}, {"Q31", TW_RAW_Q31, 1, 1, 32, 44, 8},
        {"float", TW_RAW_FP32, 2, 3, 32, 58, 16},         {"double", TW_RAW_FP64, 1, 3, 64, 58, 16},
        {"bytes, odd length", TW_RAW_S8, 1, 1, 8, 44, 5},
    };
    static const uint8_t data[16] = {0x00, 0x7F, 0x80, 0xFF, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t w[128];
        const size_t n = write_file(SAMPLES_WAV, cases[i].raw, cases[i].channels, data, cases[i].n, w, sizeof w);
        const uint32_t frame = cases[i].bits / 8 * cases[i].channels;
        const bool head = memcmp(w, "RIFF", 4) == 0 && memcmp(w + 8, "WAVEfmt ", 8) == 0 &&
                          tw_get_le32(w + 4) == n - 8 && tw_get_le16(w + 20) == cases[i].tag &&
                          tw_get_le16(w + 22) == cases[i].channels && tw_get_le32(w + 24) == 48000 &&
                          tw_get_le32(w + 28) == 48000 * frame && tw_get_le16(w + 32) == frame &&
                          tw_get_le16(w + 34) == cases[i].bits;
        const uint8_t *chunk = w + cases[i].header - 8;
        const bool body = n == cases[i].header + (cases[i].n + 1) / 2 * 2 && memcmp(chunk, "data", 4) == 0 &&
                          tw_get_le32(chunk + 4) == cases[i].n;
        if (!head || !body) {
            fail_msg("%s: header %d, body %d, %zu bytes", cases[i].why, head, body, n);
        }
        const uint8_t sign = cases[i].raw == TW_RAW_S8 ? 0x80 : 0; /* 8-bit WAV is offset binary */
        for (size_t k = 0; k < cases[i].n; k++) {
            assert_int_equal(w[cases[i].header + k], data[k] ^ sign);
        }
    }
}

static void a_csv_file_has_one_line_per_instant(void **state)
{
    (void)state;
    static const uint8_t data[8] = {1, 0, 0xFF, 0xFF, 0, 0x80, 2, 0};
    uint8_t text[64] = {0};
    (void)write_file(SAMPLES_CSV, TW_RAW_S16, 2, data, sizeof data, text, sizeof text - 1);
    assert_string_equal((const char *)text, "1,-1\n-32768,2\n");
}

static void what_wav_cannot_hold_is_refused_before_anything_is_written(void **state)
{
    (void)state;
    tw_sample_file_t s;
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_false(cli_samples_start(&s, f, SAMPLES_WAV, TW_RAW_U1, 1, 48000));
    assert_int_equal(ftell(f), 0);
    (void)fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_covers_the_dots_of_its_range),
        cmocka_unit_test(without_utf8_a_row_is_ascii_of_the_same_width),
        cmocka_unit_test(the_picture_stands_at_a_rising_zero_crossing),
        cmocka_unit_test(level_and_peak_are_those_of_the_points),
        cmocka_unit_test(a_peak_is_held_then_falls),
        cmocka_unit_test(the_meter_is_as_long_as_the_level),
        cmocka_unit_test(a_wav_file_says_what_is_in_it),
        cmocka_unit_test(a_csv_file_has_one_line_per_instant),
        cmocka_unit_test(what_wav_cannot_hold_is_refused_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
