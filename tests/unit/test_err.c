/* Errors: numbers are ABI, every row has a text a person can read, unknown numbers are harmless. */
#include "engine/base/err.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    int code;
    const char *name, *text;
    int status;
} rows[] = {
#define TW_ERR(code, NAME, STATUS, text) {code, #NAME, text, TW_ST_##STATUS},
#include "engine/base/errors.def"
};

static void every_row_is_found_by_its_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const tw_err_t err = (tw_err_t)-rows[i].code;
        assert_string_equal(tw_err_name(err), rows[i].name);
        assert_string_equal(tw_err_text(err), rows[i].text);
        assert_int_equal(tw_err_status(err), rows[i].status);
    }
}

static void numbers_and_names_are_never_used_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        assert_in_range(rows[i].code, 1, 32767);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(rows[i].code, rows[k].code);
            assert_string_not_equal(rows[i].name, rows[k].name);
            assert_string_not_equal(rows[i].text, rows[k].text);
        }
    }
}

/* Released numbers, one of each family: a renumbered row fails here. */
static void released_numbers_stand(void **state)
{
    (void)state;
    assert_int_equal(TW_E_ARG, -1);
    assert_int_equal(TW_E_AUTH, -17);
    assert_int_equal(TW_E_FRAME_SYNC, -20);
    assert_int_equal(TW_E_MAC, -36);
    assert_int_equal(TW_E_IMG_MAGIC, -40);
    assert_int_equal(TW_E_IMG_RESERVED, -69);
    assert_int_equal(TW_E_SCR_BAD_OP, -80);
    assert_int_equal(TW_E_SCR_FAULT, -94);
    assert_int_equal(TW_E_PARAM_NODE, -110);
    assert_int_equal(TW_E_PARAM_PRESET, -118);
    assert_int_equal(TW_E_NO_GRAPH, -130);
    assert_int_equal(TW_E_QUEUE_FULL, -151);
}

static void a_failure_never_maps_to_ok_and_its_text_fits_a_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        assert_int_not_equal(rows[i].status, TW_ST_OK);
        assert_in_range(strlen(rows[i].text), 4, 60); /* of 96: the rest is for the place */
    }
}

static void an_unknown_number_is_named_so(void **state)
{
    (void)state;
    static const int unknown[] = {-18, -19, -32768, 1, 20, -1000};
    for (size_t i = 0; i < TW_COUNT(unknown); i++) {
        assert_string_equal(tw_err_text((tw_err_t)unknown[i]), "unknown error");
        assert_string_equal(tw_err_name((tw_err_t)unknown[i]), "UNKNOWN");
        assert_int_equal(tw_err_status((tw_err_t)unknown[i]), TW_ST_UNKNOWN);
    }
    assert_string_equal(tw_err_text(TW_OK), "ok");
    assert_string_equal(tw_err_name(TW_OK), "OK");
    assert_int_equal(tw_err_status(TW_OK), TW_ST_OK);
}

static void every_status_has_its_name(void **state)
{
    (void)state;
#define TW_STATUS(code, NAME) assert_string_equal(tw_status_name(code), #NAME);
#include "engine/base/status.def"
    assert_string_equal(tw_status_name(TW_ST_VERSION + 1), "?");
    assert_string_equal(tw_status_name(UINT32_MAX), "?");
}

static tw_err_t fails_at(int n, int *reached)
{
    for (int i = 0; i < 3; i++) {
        *reached = i;
        TW_TRY(i == n ? TW_E_RANGE : TW_OK);
    }
    return TW_OK;
}

static void try_returns_the_first_error_and_goes_no_further(void **state)
{
    (void)state;
    int reached;
    assert_int_equal(fails_at(1, &reached), TW_E_RANGE);
    assert_int_equal(reached, 1);
    assert_int_equal(fails_at(9, &reached), TW_OK);
    assert_int_equal(reached, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_its_number),
        cmocka_unit_test(numbers_and_names_are_never_used_twice),
        cmocka_unit_test(released_numbers_stand),
        cmocka_unit_test(a_failure_never_maps_to_ok_and_its_text_fits_a_status),
        cmocka_unit_test(an_unknown_number_is_named_so),
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(try_returns_the_first_error_and_goes_no_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
