/* Record: what a host may ask for, and what it is told. */
#include "tests/unit/server_rig.h"
#include <stdio.h>

static bench_t b;
static struct {
    char name[80];
    bool outputs;
    unsigned starts, stops;
    tw_err_t answer;
    tw_record_state_t state;
} rec;

static tw_err_t on_start(void *ctx, const char *name, bool outputs, const char **why)
{
    (void)ctx;
    snprintf(rec.name, sizeof rec.name, "%s", name);
    rec.outputs = outputs;
    rec.starts++;
    *why = "the disk is full";
    return rec.answer;
}

static tw_err_t on_stop(void *ctx)
{
    (void)ctx;
    rec.stops++;
    return rec.answer;
}

static void on_state(void *ctx, tw_record_state_t *out)
{
    (void)ctx;
    *out = rec.state;
}

static wire_client_t *open_bench(bool records)
{
    static const tw_record_calls_t calls = {.start = on_start, .stop = on_stop, .state = on_state};
    tw_server_cfg_t cfg = bench_cfg();
    cfg.record = records ? &calls : NULL;
    memset(&rec, 0, sizeof rec);
    bench_open_cfg(&b, cfg);
    return bench_client(&b);
}

static int start(wire_client_t *w, const char *name, tunewire_v1_RecordState *s)
{
    tunewire_v1_RecordReq q = {.outputs = true};
    snprintf(q.name, sizeof q.name, "%s", name);
    return wire_call(w, TW_M_Record_Start, PB(RecordReq), &q, PB(RecordState), s);
}

static void a_name_is_a_name_and_no_place(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     ".",   "..", "../up", "a/b",   "/abs", ".hidden",  "a b",      "a\\b",
                                      "a\nb", "a:b", "a*", "~x",    "$HOME", "a%00", "\xC3\xA9", "name\x7F", "\x01"};
    tunewire_v1_RecordState s;
    wire_client_t *w = open_bench(true);
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        if (start(w, bad[i], &s) != tunewire_v1_Code_INVALID_ARGUMENT || rec.starts != 0) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
    rec.state = (tw_record_state_t){.phase = TW_RECORD_WAITS, .name = "Mon-day_1.twrec"};
    assert_int_equal(start(w, "Mon-day_1.twrec", &s), 0);
    assert_string_equal(rec.name, "Mon-day_1.twrec");
    assert_true(rec.outputs && s.phase == tunewire_v1_RecordState_Phase_WAITS && !s.complete);
    bench_leave(w);
    bench_close(&b);
}

static void every_refusal_says_what_to_do(void **state)
{
    (void)state;
    static const struct {
        tw_err_t answer;
        int code;
        const char *says;
    } rows[] = {
        {TW_E_UNSUPPORTED, tunewire_v1_Code_UNIMPLEMENTED, "--record-dir"},
        {TW_E_BUSY, tunewire_v1_Code_BUSY, "Record.Stop"},
        {TW_E_EXISTS, tunewire_v1_Code_ALREADY_EXISTS, "choose another"},
        {TW_E_RECORD_FILE, tunewire_v1_Code_FAILED_PRECONDITION, "the disk is full"},
    };
    tunewire_v1_RecordState s;
    wire_client_t *w = open_bench(true);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        rec.answer = rows[i].answer;
        assert_int_equal(start(w, "x", &s), rows[i].code);
        assert_non_null(strstr(wire_status(w)->text, rows[i].says));
    }
    rec.answer = TW_E_STATE;
    assert_int_equal(wire_call(w, TW_M_Record_Stop, NULL, NULL, PB(RecordState), &s),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    bench_leave(w);
    bench_close(&b);
    w = open_bench(false);
    assert_int_equal(start(w, "x", &s), tunewire_v1_Code_UNIMPLEMENTED);
    bench_leave(w);
    bench_close(&b);
}

static void an_end_is_complete_unless_there_is_a_reason(void **state)
{
    (void)state;
    tunewire_v1_RecordState s;
    wire_client_t *w = open_bench(true);
    for (unsigned why = 0; why < 2; why++) {
        rec.state = (tw_record_state_t){.phase = TW_RECORD_ENDED,
                                        .name = "n",
                                        .bytes = 5000000000u,
                                        .why = why ? "the disk could not follow" : NULL};
        assert_int_equal(wire_call(w, TW_M_Record_State, NULL, NULL, PB(RecordState), &s), 0);
        assert_true(s.complete == (why == 0) && s.bytes == 5000000000u && (s.text[0] != '\0') == (why != 0));
    }
    assert_int_equal(wire_call(w, TW_M_Record_Stop, NULL, NULL, PB(RecordState), &s), 0);
    assert_int_equal(rec.stops, 1);
    bench_leave(w);
    bench_close(&b);
}

static void only_an_admin_writes_files(void **state)
{
    (void)state;
    tunewire_v1_RecordState s;
    static const tw_record_calls_t calls = {.start = on_start, .stop = on_stop, .state = on_state};
    tw_server_cfg_t cfg = bench_cfg();
    cfg.record = &calls;
    cfg.open_role = TW_ROLE_TUNE;
    memset(&rec, 0, sizeof rec);
    bench_open_cfg(&b, cfg);
    wire_client_t *w = bench_client(&b);
    assert_int_equal(start(w, "x", &s), tunewire_v1_Code_PERMISSION_DENIED);
    assert_int_equal(wire_call(w, TW_M_Record_Stop, NULL, NULL, PB(RecordState), &s),
                     tunewire_v1_Code_PERMISSION_DENIED);
    assert_int_equal(wire_call(w, TW_M_Record_State, NULL, NULL, PB(RecordState), &s), 0);
    assert_int_equal(rec.starts + rec.stops, 0);
    bench_leave(w);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_a_name_and_no_place),
        cmocka_unit_test(every_refusal_says_what_to_do),
        cmocka_unit_test(an_end_is_complete_unless_there_is_a_reason),
        cmocka_unit_test(only_an_admin_writes_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
