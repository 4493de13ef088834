/* Keys: who may call, with which role, and what an attacker on the line can do with what he hears. */
#include "engine/base/crc.h"
#include "tests/unit/server_rig.h"

static bench_t b;
static wire_client_t *w;
static const uint8_t key[] = "correct horse battery staple";

static int open_bench(void **state)
{
    (void)state;
    tw_server_cfg_t cfg = bench_cfg();
    cfg.crypto = &tw_crypto_mbedtls;
    cfg.key = key;
    cfg.key_len = sizeof key - 1;
    cfg.key_id = "lab";
    bench_open_cfg(&b, cfg);
    w = bench_client(&b);
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_leave(w);
    bench_close(&b);
    return 0;
}

static void prove(const uint8_t *k, size_t k_len, const char *label, const uint8_t *x, const uint8_t *y, uint8_t role,
                  uint8_t out[32])
{
    uint8_t head[20], tail[17];
    memcpy(head, label, 4);
    memcpy(head + 4, x, 16);
    memcpy(tail, y, 16);
    tail[16] = role;
    tw_crypto_mbedtls.hmac(k, k_len, head, 20, tail, 17, out);
}

static const uint8_t nonce[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static tunewire_v1_AuthReq request(const uint8_t *k, size_t k_len, const char *key_id, uint8_t role)
{
    tunewire_v1_AuthReq q = tunewire_v1_AuthReq_init_zero;
    snprintf(q.key_id, sizeof q.key_id, "%s", key_id);
    q.client_nonce.size = 16;
    memcpy(q.client_nonce.bytes, nonce, 16);
    q.proof.size = 32;
    prove(k, k_len, "auth", w->hello.nonce.bytes, nonce, role, q.proof.bytes);
    q.role = role;
    return q;
}

/* Failed attempts are answered late: let time pass. */
static int auth(const tunewire_v1_AuthReq *q, tunewire_v1_AuthRep *rep)
{
    const uint32_t id = wire_send(w, TW_M_Session_Auth, PB(AuthReq), q);
    wire_pump(w);
    for (unsigned i = 0; i < 10 && wire_reply(w, id) == NULL; i++) {
        bench_later(&b, 50);
        wire_pump(w);
    }
    const int code = wire_wait(w, id);
    if (code == 0 && rep != NULL) {
        assert_int_equal(tw_rpc_decode(w->replies[id % 256].body, w->replies[id % 256].len, PB(AuthRep), rep), TW_OK);
    }
    return code;
}

static void log_in(uint8_t role)
{
    tunewire_v1_AuthReq q = request(key, sizeof key - 1, "lab", role);
    tunewire_v1_AuthRep rep;
    assert_int_equal(auth(&q, &rep), 0);
    uint8_t want[32];
    prove(key, sizeof key - 1, "serv", nonce, w->hello.nonce.bytes, role, want);
    assert_memory_equal(rep.proof.bytes, want, 32);
    prove(key, sizeof key - 1, "call", w->hello.nonce.bytes, nonce, role, w->call_key);
    w->crypto = &tw_crypto_mbedtls;
}

static void both_sides_prove_the_key_and_calls_carry_a_mac(void **state)
{
    (void)state;
    assert_true(w->hello.auth_required);
    log_in(TW_ROLE_ADMIN);
    tunewire_v1_GraphInfo info;
    const tunewire_v1_GraphRef q = tunewire_v1_GraphRef_init_zero;
    assert_int_equal(wire_call(w, TW_M_Graph_Info, PB(GraphRef), &q, PB(GraphInfo), &info), 0);
}

/* Ping, Schema and Bye: enough to learn how to ask for more, and to leave. */
static void before_auth_only_what_tells_nothing_is_heard(void **state)
{
    (void)state;
    static const uint32_t served[] = {
#define TW_HANDLER(Service, Method, name, ms) TW_M_##Service##_##Method,
#include "server/handlers.def"
    };
    for (size_t i = 0; i < TW_COUNT(served); i++) {
        const uint32_t m = served[i];
        const bool open = m == TW_M_Session_Ping || m == TW_M_Session_Schema;
        if (m == TW_M_Session_Bye || m == TW_M_Session_Auth) {
            continue;
        }
        const int code = wire_call(w, m, NULL, NULL, NULL, NULL);
        if (code != (open ? 0 : tunewire_v1_Code_UNAUTHENTICATED)) {
            fail_msg("method %04x: %d", (unsigned)m, code);
        }
    }
    assert_int_equal(wire_call(w, TW_M_Session_Bye, NULL, NULL, NULL, NULL), 0);
}

static void a_token_without_the_key_gets_nothing_of_its_session(void **state)
{
    (void)state;
    static uint8_t img[32768];
    tw_fault_t fault;
    assert_int_equal(tw_server_boot_graph(b.server, img, bench_image(img, sizeof img), &fault), TW_OK);
    bench_turn(&b);
    log_in(TW_ROLE_ADMIN);
    const tunewire_v1_SubReq sub = {.arc = 1};
    assert_int_equal(wire_call(w, TW_M_Arc_Subscribe, PB(SubReq), &sub, NULL, NULL), 0);
    const uint32_t stream = wire_last_stream(w);
    const tunewire_v1_ParamGet get = {.node = AMP, .index = GAIN_DB};
    const uint32_t asked = wire_send(w, TW_M_Param_Get, PB(ParamGet), &get);
    b.frozen = true; /* so that its answer comes when the client has gone */
    wire_pump(w);
    const uint32_t next = w->next_id;
    uint8_t token[16];
    memcpy(token, w->hello.session.bytes, sizeof token);
    wire_break(w);
    b.frozen = false;

    assert_true(wire_connect(w, &b.user, bench_turn, &b));
    assert_true(wire_hello(w, 1024, 4096, token));
    assert_memory_equal(w->hello.session.bytes, token, sizeof token);
    wire_pump_n(w, 50);
    assert_null(wire_reply(w, asked));
    const tunewire_v1_PingReq ping = tunewire_v1_PingReq_init_zero;
    (void)wire_send_id(w, asked - 1, TW_M_Session_Ping, PB(PingReq), &ping);
    assert_int_equal(wire_wait(w, asked - 1), tunewire_v1_Code_UNAUTHENTICATED); /* not the stored reply */
    assert_int_equal(w->c.bad_frames, 0);                                        /* nor a block */

    w->next_id = next;
    assert_int_equal(tw_conn_open(&w->c, (uint16_t)stream, false), stream);
    log_in(TW_ROLE_VIEW);
    assert_int_equal(wire_wait(w, asked), tunewire_v1_Code_CANCELLED); /* as disconnecting has it */
    const uint32_t before = w->c.frames_in;
    for (unsigned i = 0; i < 100; i++) {
        wire_pump(w);
        b.rig.us += 1000;
    }
    assert_true(w->c.frames_in > before + 3);
}

static void wrong_proofs_are_answered_late_and_the_third_closes(void **state)
{
    (void)state;
    static const uint8_t wrong[] = "wrong";
    const struct {
        const char *why;
        tunewire_v1_AuthReq q;
    } rows[] = {
        {"another key", request(wrong, 5, "lab", 2)},
        {"a key id not ours", request(key, sizeof key - 1, "home", 2)},
        {"a role above all", request(key, sizeof key - 1, "lab", 3)},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const uint64_t before = b.rig.us;
        const uint32_t id = wire_send(w, TW_M_Session_Auth, PB(AuthReq), &rows[i].q);
        wire_pump_n(w, 3);
        if (wire_reply(w, id) != NULL) {
            fail_msg("%s: answered at once", rows[i].why);
        }
        bench_later(&b, 250);
        if (wire_wait(w, id) != tunewire_v1_Code_UNAUTHENTICATED || b.rig.us - before < 200000) {
            fail_msg("%s: not refused", rows[i].why);
        }
    }
    wire_pump_n(w, 3);
    assert_true(w->goaway && w->closed);
}

static void a_proof_for_one_role_is_none_for_another(void **state)
{
    (void)state;
    tunewire_v1_AuthReq q = request(key, sizeof key - 1, "lab", TW_ROLE_VIEW);
    q.role = TW_ROLE_ADMIN;
    assert_int_equal(auth(&q, NULL), tunewire_v1_Code_UNAUTHENTICATED);
    log_in(TW_ROLE_VIEW);
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, 0);
    assert_int_equal(param_set(w, &set, NULL), tunewire_v1_Code_PERMISSION_DENIED);
}

static void a_proof_heard_on_another_connection_is_worthless(void **state)
{
    (void)state;
    const tunewire_v1_AuthReq q = request(key, sizeof key - 1, "lab", TW_ROLE_ADMIN);
    wire_client_t *heard = w;
    w = bench_client(&b);
    assert_int_equal(auth(&q, NULL), tunewire_v1_Code_UNAUTHENTICATED);
    bench_leave(heard);
}

static void a_call_without_its_mac_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    log_in(TW_ROLE_ADMIN);
    const tunewire_v1_PingReq q = tunewire_v1_PingReq_init_zero;
    w->call_key[5] ^= 1;
    assert_int_equal(wire_call(w, TW_M_Session_Ping, PB(PingReq), &q, NULL, NULL), tunewire_v1_Code_UNAUTHENTICATED);
    assert_int_equal(wire_status(w)->detail, -TW_E_MAC);
    w->call_key[5] ^= 1;
    w->crypto = NULL;
    assert_int_equal(wire_call(w, TW_M_Session_Ping, PB(PingReq), &q, NULL, NULL), tunewire_v1_Code_UNAUTHENTICATED);
    w->crypto = &tw_crypto_mbedtls;
    assert_int_equal(wire_call(w, TW_M_Session_Ping, PB(PingReq), &q, NULL, NULL), 0);
}

static uint32_t open_blob(bool sha)
{
    static uint8_t img[32768];
    const uint32_t n = bench_image(img, sizeof img);
    tunewire_v1_BlobOpen q = tunewire_v1_BlobOpen_init_zero;
    q.size = n;
    q.crc32c = tw_crc32c(0, img, n);
    if (sha) {
        tw_sha256_t h;
        q.sha256.size = 32;
        tw_crypto_mbedtls.sha256_start(&h);
        tw_crypto_mbedtls.sha256_add(&h, img, n);
        tw_crypto_mbedtls.sha256_end(&h, q.sha256.bytes);
    }
    tunewire_v1_BlobState st;
    if (wire_call(w, TW_M_Blob_Open, PB(BlobOpen), &q, PB(BlobState), &st) != 0) {
        return 0;
    }
    return st.blob;
}

static void uploads_need_a_sha256_when_there_is_a_key(void **state)
{
    (void)state;
    log_in(TW_ROLE_ADMIN);
    assert_int_equal(open_blob(false), 0);
    assert_int_equal(wire_status(w)->code, tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_not_equal(open_blob(true), 0);
}

static void a_recorded_set_cannot_be_played_again(void **state)
{
    (void)state;
    log_in(TW_ROLE_ADMIN);
    const tunewire_v1_PingReq q = tunewire_v1_PingReq_init_zero;
    const uint32_t id = wire_send(w, TW_M_Session_Ping, PB(PingReq), &q);
    uint8_t frame[256];
    const uint32_t n = tw_out_pending(&w->c.out);
    memcpy(frame, w->c.out.buf + w->c.out.at, n);
    assert_int_equal(wire_wait(w, id), 0);
    /* at once: the stored answer, nothing is done; later: too old */
    wire_bytes(w, frame, n);
    wire_pump(w);
    assert_int_equal(w->replies[id].count, 2);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(wire_call(w, TW_M_Session_Ping, PB(PingReq), &q, NULL, NULL), 0);
    }
    wire_bytes(w, frame, n);
    wire_pump(w);
    assert_int_equal(w->replies[id].h.status.detail, -TW_E_CALL_ID);
}

static void without_a_key_auth_says_so(void **state)
{
    (void)state;
    bench_t open;
    bench_open(&open);
    wire_client_t *c = bench_client(&open);
    const tunewire_v1_AuthReq q = tunewire_v1_AuthReq_init_zero;
    assert_int_equal(wire_call(c, TW_M_Session_Auth, PB(AuthReq), &q, NULL, NULL),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    bench_leave(c);
    bench_close(&open);
}

/* RFC 4231 test cases 1, 2 and 6 (a key longer than a block). */
static void the_hmac_is_that_of_the_standard(void **state)
{
    (void)state;
    uint8_t k1[20], k6[131];
    memset(k1, 0x0b, sizeof k1);
    memset(k6, 0xaa, sizeof k6);
    const struct {
        const uint8_t *k;
        size_t k_len;
        const char *data;
        uint8_t head[4];
    } rows[] = {
        {k1, 20, "Hi There", {0xb0, 0x34, 0x4c, 0x61}},
        {(const uint8_t *)"Jefe", 4, "what do ya want for nothing?", {0x5b, 0xdc, 0xc1, 0x46}},
        {k6, 131, "Test Using Larger Than Block-Size Key - Hash Key First", {0x60, 0xe4, 0x31, 0x59}},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        uint8_t out[32];
        const size_t n = strlen(rows[i].data);
        for (size_t cut = 0; cut <= n; cut += n) {
            tw_crypto_mbedtls.hmac(rows[i].k, rows[i].k_len, rows[i].data, cut, rows[i].data + cut, n - cut, out);
            assert_memory_equal(out, rows[i].head, 4);
        }
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(both_sides_prove_the_key_and_calls_carry_a_mac),
        T(before_auth_only_what_tells_nothing_is_heard),
        T(a_token_without_the_key_gets_nothing_of_its_session),
        T(wrong_proofs_are_answered_late_and_the_third_closes),
        T(a_proof_for_one_role_is_none_for_another),
        T(a_proof_heard_on_another_connection_is_worthless),
        T(a_call_without_its_mac_is_refused_and_changes_nothing),
        T(uploads_need_a_sha256_when_there_is_a_key),
        T(a_recorded_set_cannot_be_played_again),
        cmocka_unit_test(without_a_key_auth_says_so),
        cmocka_unit_test(the_hmac_is_that_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
