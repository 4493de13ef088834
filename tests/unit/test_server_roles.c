/* Every method under every role: allowed exactly from the role its row names. */
#include "tests/unit/server_rig.h"

static bench_t b;

static void each_method_needs_the_role_of_its_row(void **state)
{
    (void)state;
    uint32_t n;
    const tw_method_t *all = tw_method_table(&n);
    assert_true(n > 60);
    for (uint8_t role = TW_ROLE_VIEW; role <= TW_ROLE_ADMIN; role++) {
        tw_server_cfg_t cfg = bench_cfg();
        cfg.open_role = role;
        bench_open_cfg(&b, cfg);
        for (uint32_t i = 0; i < n; i++) {
            wire_client_t *w = bench_client(&b);
            const int code = wire_call(w, all[i].id, NULL, NULL, NULL, NULL);
            const bool denied = code == tunewire_v1_Code_PERMISSION_DENIED;
            const bool served = code != tunewire_v1_Code_UNIMPLEMENTED;
            if (code < 0 || (served && denied != (role < all[i].role))) {
                fail_msg("%s as role %u: code %d '%s'", all[i].name, role, code, wire_status(w)->text);
            }
            wire_break(w);
            free(w);
            b.rig.us += 2000000;
            bench_turn(&b);
        }
        bench_close(&b);
    }
}

static void a_denial_says_what_is_needed(void **state)
{
    (void)state;
    tw_server_cfg_t cfg = bench_cfg();
    cfg.open_role = TW_ROLE_VIEW;
    bench_open_cfg(&b, cfg);
    wire_client_t *w = bench_client(&b);
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, 0);
    assert_int_equal(param_set(w, &q, NULL), tunewire_v1_Code_PERMISSION_DENIED);
    assert_non_null(strstr(wire_status(w)->text, "Param.Set needs role tune, this session has view"));
    bench_leave(w);
    bench_close(&b);
}

static tw_err_t no_start(void *ctx, const char *name, bool outputs, const char **why)
{
    (void)ctx, (void)name, (void)outputs, (void)why;
    return TW_E_BUSY;
}

static tw_err_t no_stop(void *ctx)
{
    (void)ctx;
    return TW_E_STATE;
}

static void no_state(void *ctx, tw_record_state_t *out)
{
    (void)ctx;
    *out = (tw_record_state_t){0};
}

static uint32_t no_level(void *ctx)
{
    (void)ctx;
    return 0;
}

static bool no_change(void *ctx, tw_gpio_change_t *out)
{
    (void)ctx, (void)out;
    return false;
}

/* What no device of this kind has answers UNIMPLEMENTED; the list shrinks as services come. */
static void the_rest_is_unimplemented(void **state)
{
    (void)state;
    static const tw_record_calls_t recorder = {.start = no_start, .stop = no_stop, .state = no_state};
    static const tw_board_gpio_t pins = {.pins = 1, .levels = no_level, .outputs = no_level, .changed = no_change};
    tw_server_cfg_t cfg = bench_cfg();
    cfg.record = &recorder;
    bench_open_cfg(&b, cfg);
    b.rig.board.gpio = &pins;
    uint32_t n, served = 0;
    const tw_method_t *all = tw_method_table(&n);
    for (uint32_t i = 0; i < n; i++) {
        wire_client_t *w = bench_client(&b);
        served += wire_call(w, all[i].id, NULL, NULL, NULL, NULL) != tunewire_v1_Code_UNIMPLEMENTED;
        wire_break(w);
        free(w);
        b.rig.us += 2000000;
        bench_turn(&b);
    }
    uint32_t handlers = 0;
#define TW_HANDLER(Service, Method, name, deadline_ms) handlers++;
#include "server/handlers.def"
    assert_int_equal(served, handlers);
    bench_close(&b);
}

static void a_bad_configuration_is_refused(void **state)
{
    (void)state;
    bench_open(&b);
    static const struct {
        const char *why;
        size_t at;
        uint32_t value;
    } rows[] = {
        {"frames too small", offsetof(tw_server_cfg_t, max_frame), 255},
        {"frames too large", offsetof(tw_server_cfg_t, max_frame), 65537},
        {"no window", offsetof(tw_server_cfg_t, window), 0},
        {"no calls", offsetof(tw_server_cfg_t, max_calls), 0},
        {"too many calls", offsetof(tw_server_cfg_t, max_calls), TW_MAX_CALLS + 1},
        {"no sessions", offsetof(tw_server_cfg_t, max_sessions), 0},
        {"too many sessions", offsetof(tw_server_cfg_t, max_sessions), TW_MAX_SESSIONS + 1},
        {"send buffer below two frames", offsetof(tw_server_cfg_t, out_bytes), 2047},
        {"message buffer below a frame", offsetof(tw_server_cfg_t, msg_bytes), 1023},
        {"ring not a power of two", offsetof(tw_server_cfg_t, probe_bytes), 3000},
        {"too many subscriptions", offsetof(tw_server_cfg_t, max_subs), TW_MAX_SUBS + 1},
    };
    tw_server_t *s;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        tw_server_cfg_t cfg = b.cfg;
        memcpy((uint8_t *)&cfg + rows[i].at, &rows[i].value, 4);
        if (tw_server_init(&s, &cfg, b.mem, SIZE_MAX / 2) != TW_E_ARG) {
            fail_msg("%s: accepted", rows[i].why);
        }
    }
    tw_server_cfg_t cfg = b.cfg;
    cfg.key = (const uint8_t *)"k"; /* a key without ciphers would protect nothing */
    assert_int_equal(tw_server_init(&s, &cfg, b.mem, SIZE_MAX / 2), TW_E_ARG);
    assert_int_equal(tw_server_init(&s, &b.cfg, b.mem, tw_server_need(&b.cfg) - 128), TW_E_NOMEM);
    bench_close(&b);
}

/* A device of the smallest kind still serves. */
static void the_smallest_server_fits_in_little_memory_and_works(void **state)
{
    (void)state;
    tw_server_cfg_t cfg = bench_cfg();
    cfg.max_frame = 256;
    cfg.window = 256;
    cfg.max_calls = 4;
    cfg.max_sessions = 1;
    cfg.out_bytes = 512;
    cfg.msg_bytes = 256;
    cfg.blob_bytes = 8192;
    cfg.max_subs = 1;
    cfg.probe_bytes = 512;
    cfg.txn_bytes = 256;
    bench_open_cfg(&b, cfg);
    wire_client_t *w = bench_client(&b);
    bench_chain(w);
    tunewire_v1_ParamAck ack;
    const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -6.0f);
    assert_int_equal(param_set(w, &q, &ack), 0);
    assert_true(get_f32(w, AMP, GAIN_DB) == -6.0f);
    const tunewire_v1_SubReq sub = {.arc = 1};
    assert_int_equal(wire_call(w, TW_M_Arc_Subscribe, PB(SubReq), &sub, NULL, NULL), 0);
    const wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    for (unsigned i = 0; i < 200; i++) {
        wire_pump(w);
        b.rig.us += 1000;
    }
    assert_true(s->frames > 5);
    assert_int_equal(wire_call(w, TW_M_Session_Stats, NULL, NULL, NULL, NULL), 0);
    const tunewire_v1_GraphRef all = {.graph = 1};
    assert_int_equal(wire_call(w, TW_M_Graph_Nodes, PB(GraphRef), &all, NULL, NULL), 0);
    printf("smallest server: %u bytes\n", (unsigned)tw_server_need(&cfg));
    bench_leave(w);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_method_needs_the_role_of_its_row),
        cmocka_unit_test(a_denial_says_what_is_needed),
        cmocka_unit_test(the_rest_is_unimplemented),
        cmocka_unit_test(a_bad_configuration_is_refused),
        cmocka_unit_test(the_smallest_server_fits_in_little_memory_and_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
