/* COBS: the runs where stuffing goes wrong, and that nothing malformed decodes. */
#include "protocol/frame.h"
#include "tests/support/golden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX = 1200 };

static size_t worst(size_t n)
{
    return n + n / 254 + 1;
}

static void the_document_s_ping_is_the_stuffed_ping(void **state)
{
    (void)state;
    uint8_t plain[64], stuffed[64], out[64];
    const size_t n = tw_golden("docs/WIRE_PROTOCOL.md", "golden", "ping", plain, sizeof plain);
    const size_t m = tw_golden("docs/WIRE_PROTOCOL.md", "golden", "ping-cobs", stuffed, sizeof stuffed);
    assert_int_equal(stuffed[m - 1], 0); /* the delimiter is not COBS's */
    assert_int_equal(tw_cobs_encode(plain, n, out, sizeof out), m - 1);
    assert_memory_equal(out, stuffed, m - 1);
    assert_int_equal(tw_cobs_decode(stuffed, m - 1, out, sizeof out), n);
    assert_memory_equal(out, plain, n);
}

/* Runs of `run` non-zero bytes, `zeros` zeros before and `after` behind. */
static const struct {
    const char *why;
    size_t zeros, run, after, encoded;
} cases[] = {
    {"nothing is one byte", 0, 0, 0, 1},
    {"one byte", 0, 1, 0, 2},
    {"one zero", 1, 0, 0, 2},
    {"leading zeros", 5, 3, 0, 9},
    {"trailing zeros", 0, 3, 5, 9},
    {"longest run short of full", 0, 253, 0, 254},
    {"a full run ends the text without another code", 0, 254, 0, 255},
    {"a full run and one byte", 0, 255, 0, 257},
    {"a full run, then a zero", 0, 254, 1, 257},
    {"zero, then a full run", 1, 254, 0, 256},
    {"two full runs", 0, 508, 0, 510},
    {"two full runs between zeros", 2, 508, 2, 515},
};

static size_t fill(size_t i, uint8_t *plain)
{
    size_t n = 0;
    for (size_t k = 0; k < cases[i].zeros; k++) {
        plain[n++] = 0;
    }
    for (size_t k = 0; k < cases[i].run; k++) {
        plain[n++] = (uint8_t)(1 + k % 255);
    }
    for (size_t k = 0; k < cases[i].after; k++) {
        plain[n++] = 0;
    }
    return n;
}

static void runs_and_zeros_survive_in_the_least_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t plain[MAX], out[MAX], back[MAX];
        const size_t n = fill(i, plain);
        const size_t m = tw_cobs_encode(plain, n, out, cases[i].encoded);
        if (m != cases[i].encoded || m > worst(n)) {
            fail_msg("%s: %zu bytes became %zu", cases[i].why, n, m);
        }
        for (size_t k = 0; k < m; k++) {
            assert_int_not_equal(out[k], 0);
        }
        assert_int_equal(tw_cobs_encode(plain, n, out, m - 1), 0);
        assert_int_equal(tw_cobs_encode(plain, n, out, MAX), m);
        if (tw_cobs_decode(out, m, back, n) != n || memcmp(back, plain, n) != 0) {
            fail_msg("%s: not what it was", cases[i].why);
        }
        assert_int_equal(n > 0 ? tw_cobs_decode(out, m, back, n - 1) : 0, 0);
    }
}

static void malformed_text_decodes_to_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t in[4];
        size_t n;
    } bad[] = {
        {"empty", {0}, 0},
        {"a zero as code", {0}, 1},
        {"a zero as code behind a run", {2, 'a', 0}, 3},
        {"a zero inside a run", {3, 'a', 0}, 3},
        {"a run past the end", {4, 'a', 'b'}, 3},
        {"a run past the end by all", {255}, 1},
        {"the second run past the end", {2, 'a', 3, 'b'}, 4},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        uint8_t out[16];
        uint8_t *in = test_malloc(bad[i].n + 1);
        memcpy(in + 1, bad[i].in, bad[i].n);
        if (tw_cobs_decode(in + 1, bad[i].n, out, sizeof out) != 0) {
            fail_msg("%s decoded", bad[i].why);
        }
        test_free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_s_ping_is_the_stuffed_ping),
        cmocka_unit_test(runs_and_zeros_survive_in_the_least_room),
        cmocka_unit_test(malformed_text_decodes_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
