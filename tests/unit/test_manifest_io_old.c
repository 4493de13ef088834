/* IO manifests of the first generation: rows of numbers after name and domain. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_io_manifest_t io;
static tw_diags_t d;

static bool parse(const char *text)
{
    tw_text_t t;
    d = (tw_diags_t){0};
    tw_text_open(&t, "io.txt", text, strlen(text), &d);
    return tw_io_manifest_parse(&io, &t);
}

#define HEAD "mic name\naudio_in domain name\n0 commander\n2.5 frames\n0 RAM\n3 processors\n1 rx0tx1\n"

static void rows_stand_for_tags(void **state)
{
    (void)state;
    assert_true(parse(HEAD "17 raw\n1 time stamp\n1 in samples\n0 Hz\n3 percent\n1 0 1 interleaving\n1 1 2 8\n"
                           "2 1 2 4\n0 16000 44100 48000\n"));
    assert_int_equal(d.n, 0);
    assert_true(io.commander == 0 && io.buffer_allocation == 2.5f && io.proc_mask == 3 && io.direction == 1);
    assert_true(io.raw == TW_RAW_S16 && io.ts_format.v[0] == 1 && io.accuracy == 3.0f && io.interleaving == 1);
    assert_true(io.channels.n == 3 && io.channels.def == 1); /* default entries count from 0 */
    assert_true(io.frame_length.def == 2 && io.frame_length.v[2] == 4 && io.frame_duration_ms.any);
    assert_true(io.rate_hz.n == 3 && io.rate_hz.def == 0 && io.rate_hz.v[0] == 16000);
    assert_int_equal(io.n_settings, 3);
    uint32_t word[TW_SETTINGS_WORDS];
    assert_int_equal(tw_settings_pack(&io, NULL, word), TW_OK);
    assert_int_equal(word[0], 1 + 3 * 2);
}

static void what_the_old_form_says_otherwise_is_warned_of(void **state)
{
    (void)state;
    assert_true(parse(HEAD "6 raw\n0\n0 in ms\n1 seconds\n3\n0 0\n0 1\n0 10 20\n1 16000 44100\n"
                           "1 c; FL mono\n3 f32; 0 12 24\n"));
    assert_int_equal(d.n, 3);
    assert_string_equal(d.rows[0].text, "raw type 6 of this form is S16, not S4 as in tagged manifests");
    assert_string_equal(d.rows[1].text, "said to be periods, but 44100 is taken as Hz");
    assert_string_equal(d.rows[2].text, "from here the device is described in words of its domain, which are not read");
    assert_true(io.raw == TW_RAW_S16 && io.rate_hz.def == 1 && io.frame_duration_ms.v[0] == 10);
    assert_true(parse(HEAD "17\n0\n1\n1 seconds\n3\n0 0\n0 1\n0\n0 60 120\n"));
    assert_true(io.period_s.n == 2 && io.rate_hz.any && io.frame_length.any && d.n == 0);
}

static void rows_may_begin_with_set_or_copy(void **state)
{
    (void)state;
    assert_true(parse("mic name\naudio_in domain\n1 set0_copy1 data\n0 commander\n0 buffer\n0 RAM\n1 processors\n"
                      "0 rx0tx1\n17 raw\n0\n1 in samples\n0 Hz\n3\n0 0\n0 1\n0 1 2 4\n1 8000 16000\n"));
    assert_true(d.n == 0 && io.commander == 0 && io.proc_mask == 1 && io.raw == TW_RAW_S16);
    assert_true(io.frame_length.n == 3 && io.rate_hz.def == 1);
    assert_false(parse("mic name\naudio_in domain\n2 set0_copy1 data\n"));
    assert_string_equal(d.rows[0].text, "set 0 or copy 1 is 2, allowed 0..1");
}

static void wrong_rows_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line, col;
        const char *says;
    } cases[] = {
        {"m\naudio_in\n2\n", 3, 1, "commander 0 or servant 1 is 2, allowed 0..1"},
        {"m\naudio_in\n1\n65\n", 4, 1, "frames of buffer is 65, allowed 0..64"},
        {"m\naudio_in\n1\n0\n0\nx\n", 6, 1, "expected processors (1 number), found 0"},
        {HEAD "52\n", 8, 1, "raw type is 52, allowed 0..51"},
        {HEAD "17\n0\n1\n0\n101\n", 12, 1, "accuracy is 101, allowed 0..100 percent"},
        {HEAD "17\n0\n1\n0\n3\n0 0\n0 33\n", 14, 1, "channels option 33, allowed 1..32"},
        {HEAD "17\n0\n1\n0\n3\n0 0\n0 1\n5 1 2\n", 15, 1, "default entry 6 of frame, but there are 2"},
        {HEAD "17\n0\n1\n0\n3\n0 0\n0 1\n0 1 2\n", 16, 0, "file ends, expected sampling rate"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_diag_t *r = &d.rows[0];
        if (parse(cases[i].text) || r->line != cases[i].line || r->col != cases[i].col ||
            strcmp(r->text, cases[i].says) != 0) {
            fail_msg("case %zu: %u:%u %s", i, r->line, r->col, r->text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_for_tags),
        cmocka_unit_test(what_the_old_form_says_otherwise_is_warned_of),
        cmocka_unit_test(rows_may_begin_with_set_or_copy),
        cmocka_unit_test(wrong_rows_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
