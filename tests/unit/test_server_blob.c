/* Blobs: broken at every chunk and resumed, wrong sums, limits, time to live, reading back. */
#include "engine/base/crc.h"
#include "tests/unit/server_rig.h"

static bench_t b;
static wire_client_t *w;
enum { SIZE = 5000 };
static uint8_t data[SIZE];

static int open_bench(void **state)
{
    (void)state;
    tw_server_cfg_t cfg = bench_cfg();
    cfg.crypto = &tw_crypto_mbedtls;
    bench_open_cfg(&b, cfg);
    w = bench_client(&b);
    for (uint32_t i = 0; i < SIZE; i++) {
        data[i] = (uint8_t)(i * 7 + i / 256);
    }
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_leave(w);
    bench_close(&b);
    return 0;
}

static tunewire_v1_BlobOpen request(void)
{
    tunewire_v1_BlobOpen q = tunewire_v1_BlobOpen_init_zero;
    q.size = SIZE;
    q.crc32c = tw_crc32c(0, data, SIZE);
    q.chunk = 500;
    return q;
}

static int open_blob(const tunewire_v1_BlobOpen *q, tunewire_v1_BlobState *st)
{
    const int code = wire_call(w, TW_M_Blob_Open, PB(BlobOpen), q, PB(BlobState), st);
    if (code == 0 && st->stream != 0) {
        assert_int_equal(tw_conn_open(&w->c, (uint16_t)st->stream, true), st->stream);
    }
    return code;
}

static int commit(uint32_t blob, tunewire_v1_BlobState *st)
{
    const tunewire_v1_BlobRef ref = {.blob = blob};
    return wire_call(w, TW_M_Blob_Commit, PB(BlobRef), &ref, st != NULL ? PB(BlobState) : NULL, st);
}

/* Chunks from `at` on, at most `chunks` of them. @return the offset reached */
static uint32_t upload(const tunewire_v1_BlobState *st, uint32_t at, unsigned chunks)
{
    for (unsigned turns = 0; at < SIZE && chunks > 0 && turns < WIRE_TURNS; turns++) {
        const uint32_t n = tw_min_u32(st->chunk, SIZE - at);
        if (wire_data(w, (uint16_t)st->stream, at, data + at, n, 0)) {
            at += n;
            chunks--;
        }
        wire_pump(w);
    }
    return at;
}

static void reconnect(const uint8_t *token)
{
    const uint32_t next = w->next_id; /* ids go on: the session, if it is resumed, knows the old ones */
    wire_break(w);
    assert_true(wire_connect(w, &b.user, bench_turn, &b));
    assert_true(wire_hello(w, 1024, 4096, token));
    w->next_id = next;
}

static void an_upload_is_committed_and_read_back(void **state)
{
    (void)state;
    tunewire_v1_BlobOpen q = request();
    tw_sha256_t h;
    tw_crypto_mbedtls.sha256_start(&h);
    tw_crypto_mbedtls.sha256_add(&h, data, SIZE);
    q.sha256.size = 32;
    tw_crypto_mbedtls.sha256_end(&h, q.sha256.bytes);
    tunewire_v1_BlobState st;
    assert_int_equal(open_blob(&q, &st), 0);
    assert_int_equal(st.chunk, 500);
    assert_int_equal(st.stream & 1, 0);
    const tunewire_v1_BlobRead early = {.blob = st.blob};
    assert_int_equal(wire_call(w, TW_M_Blob_Read, PB(BlobRead), &early, NULL, NULL),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(upload(&st, 0, 100), SIZE);
    assert_int_equal(commit(st.blob, &st), 0);
    assert_true(st.complete);
    assert_int_equal(commit(st.blob, &st), 0); /* again: nothing more to do */

    static const struct {
        uint64_t offset, length;
        uint32_t at, n;
    } reads[] = {
        {0, 0, 0, SIZE}, {10, 0, 10, SIZE - 10}, {4999, 1, 4999, 1}, {1000, 3000, 1000, 3000}, {SIZE, 0, 0, 0}};
    for (size_t i = 0; i < TW_COUNT(reads); i++) {
        const tunewire_v1_BlobRead r = {.blob = st.blob, .offset = reads[i].offset, .length = reads[i].length};
        assert_int_equal(wire_call(w, TW_M_Blob_Read, PB(BlobRead), &r, NULL, NULL), 0);
        wire_stream_t *s = wire_stream(w, wire_last_stream(w));
        s->next_offset = reads[i].offset;
        s->gap = false;
        for (unsigned k = 0; k < WIRE_TURNS && !s->fin; k++) {
            wire_pump(w);
        }
        assert_true(s->fin && !s->err);
        assert_int_equal(s->bytes, reads[i].n);
        assert_memory_equal(s->data, data + reads[i].at, reads[i].n);
    }
    const tunewire_v1_BlobRead past = {.blob = st.blob, .offset = 4000, .length = 1001};
    assert_int_equal(wire_call(w, TW_M_Blob_Read, PB(BlobRead), &past, NULL, NULL), tunewire_v1_Code_OUT_OF_RANGE);
}

static void an_upload_broken_after_any_chunk_goes_on_where_it_was(void **state)
{
    (void)state;
    for (unsigned cut = 0; cut <= 10; cut++) {
        for (unsigned resumed = 0; resumed < 2; resumed++) { /* as the same session, and as a stranger with the token */
            const tunewire_v1_BlobOpen q = request();
            tunewire_v1_BlobState st;
            assert_int_equal(open_blob(&q, &st), 0);
            uint8_t session[16];
            memcpy(session, w->hello.session.bytes, 16);
            const uint32_t at = upload(&st, 0, cut);
            reconnect(resumed ? session : NULL);
            tunewire_v1_BlobOpen again = tunewire_v1_BlobOpen_init_zero;
            again.token.size = 16;
            memcpy(again.token.bytes, st.token.bytes, 16);
            tunewire_v1_BlobState st2;
            assert_int_equal(open_blob(&again, &st2), 0);
            assert_int_equal(st2.blob, st.blob);
            assert_int_equal(st2.next_offset, at);
            assert_int_equal(st2.crc_so_far, tw_crc32c(0, data, at));
            assert_int_equal(upload(&st2, at, 100), SIZE);
            assert_int_equal(commit(st.blob, NULL), 0);
            const tunewire_v1_BlobRef ref = {.blob = st.blob};
            assert_int_equal(wire_call(w, TW_M_Blob_Abort, PB(BlobRef), &ref, NULL, NULL), 0);
            wire_pump(w);
        }
    }
}

static void a_client_may_resume_from_before_what_is_held(void **state)
{
    (void)state;
    const tunewire_v1_BlobOpen q = request();
    tunewire_v1_BlobState st, st2;
    assert_int_equal(open_blob(&q, &st), 0);
    assert_int_equal(upload(&st, 0, 4), 2000);
    tunewire_v1_BlobOpen again = tunewire_v1_BlobOpen_init_zero;
    again.token.size = 16;
    memcpy(again.token.bytes, st.token.bytes, 16);
    again.resume_from = 700;
    assert_int_equal(open_blob(&again, &st2), 0);
    assert_int_equal(st2.next_offset, 700);
    assert_int_equal(st2.crc_so_far, tw_crc32c(0, data, 700));
    assert_int_equal(upload(&st2, 700, 100), SIZE);
    assert_int_equal(commit(st.blob, NULL), 0);
}

static void gaps_and_overlaps_end_the_stream_but_not_the_blob(void **state)
{
    (void)state;
    static const uint64_t wrong[] = {501, 499, 0, 4000};
    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        const tunewire_v1_BlobOpen q = request();
        tunewire_v1_BlobState st;
        assert_int_equal(open_blob(&q, &st), 0);
        (void)upload(&st, 0, 1);
        assert_true(wire_data(w, (uint16_t)st.stream, wrong[i], data, 100, 0));
        assert_true(wire_data(w, (uint16_t)st.stream, 500, data + 500, 100, 0)); /* right, but too late */
        wire_pump_n(w, 2);
        const tunewire_v1_BlobRef ref = {.blob = st.blob};
        tunewire_v1_BlobState now;
        assert_int_equal(wire_call(w, TW_M_Blob_Stat, PB(BlobRef), &ref, PB(BlobState), &now), 0);
        assert_int_equal(now.next_offset, 500);
        assert_int_equal(now.stream, 0);
        assert_int_equal(wire_call(w, TW_M_Blob_Abort, PB(BlobRef), &ref, NULL, NULL), 0);
    }
}

static void data_without_credit_is_fatal(void **state)
{
    (void)state;
    const tunewire_v1_BlobOpen q = request();
    tunewire_v1_BlobState st;
    assert_int_equal(open_blob(&q, &st), 0);
    static uint8_t payload[5000];
    assert_true(wire_raw(w, TW_FT_DATA, (uint16_t)st.stream, 0, payload, 4097)); /* in fragments: one byte too many */
    wire_pump_n(w, 3);
    assert_true(w->goaway && w->closed);
    assert_int_equal(w->goaway_status.detail, -TW_E_NO_CREDIT);
}

static void a_sum_that_does_not_fit_keeps_the_blob_unusable(void **state)
{
    (void)state;
    tunewire_v1_BlobOpen q = request();
    tunewire_v1_BlobState st;
    assert_int_equal(open_blob(&q, &st), 0);
    assert_int_equal(upload(&st, 0, 3), 1500);
    assert_int_equal(commit(st.blob, NULL), tunewire_v1_Code_FAILED_PRECONDITION);
    assert_int_equal(wire_status(w)->where, 1500);
    assert_non_null(strstr(wire_status(w)->text, "1500 of 5000 bytes are here"));
    q.crc32c ^= 1;
    assert_int_equal(open_blob(&q, &st), 0);
    assert_int_equal(upload(&st, 0, 100), SIZE);
    assert_int_equal(commit(st.blob, NULL), tunewire_v1_Code_CHECKSUM);
    assert_int_equal(wire_status(w)->detail, -TW_E_BLOB_CRC);
    const tunewire_v1_GraphLoad load = {.blob = st.blob};
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &load, NULL, NULL),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    q.crc32c ^= 1;
    q.sha256.size = 32;
    assert_int_equal(open_blob(&q, &st), 0);
    assert_int_equal(upload(&st, 0, 100), SIZE);
    assert_int_equal(commit(st.blob, NULL), tunewire_v1_Code_CHECKSUM);
    assert_int_equal(wire_status(w)->detail, -TW_E_BLOB_SHA);
}

static void memory_is_promised_at_open_or_not_at_all(void **state)
{
    (void)state;
    const struct {
        const char *why;
        uint64_t size;
        int code;
    } rows[] = {
        {"nothing", 0, 3},           {"all there is", 1 << 16, 0},
        {"one byte more", 1, 8},     {"more than there ever is", (1 << 16) + 1, 8},
        {"far more", UINT64_MAX, 8},
    };
    tunewire_v1_BlobState st;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const tunewire_v1_BlobOpen q = {.size = rows[i].size};
        const int code = wire_call(w, TW_M_Blob_Open, PB(BlobOpen), &q, NULL, NULL);
        if (code != rows[i].code) {
            fail_msg("%s: %d", rows[i].why, code);
        }
    }
    assert_non_null(strstr(wire_status(w)->text, "of 65536 free"));
    const tunewire_v1_BlobRef first = {.blob = 1};
    assert_int_equal(wire_call(w, TW_M_Blob_Abort, PB(BlobRef), &first, NULL, NULL), 0);
    for (unsigned i = 0; i < TW_MAX_BLOBS; i++) {
        const tunewire_v1_BlobOpen q = {.size = 100};
        assert_int_equal(wire_call(w, TW_M_Blob_Open, PB(BlobOpen), &q, PB(BlobState), &st), 0);
    }
    const tunewire_v1_BlobOpen q = {.size = 100};
    assert_int_equal(wire_call(w, TW_M_Blob_Open, PB(BlobOpen), &q, NULL, NULL), tunewire_v1_Code_RESOURCE_EXHAUSTED);
}

static bool known(uint32_t blob, const uint8_t *token)
{
    tunewire_v1_BlobRef ref = {.blob = blob};
    if (token != NULL) {
        ref.token.size = 16;
        memcpy(ref.token.bytes, token, 16);
    }
    return wire_call(w, TW_M_Blob_Stat, PB(BlobRef), &ref, NULL, NULL) == 0;
}

static void blobs_end_with_their_time_or_their_session(void **state)
{
    (void)state;
    const tunewire_v1_BlobOpen timed = {.size = 100, .ttl_s = 5}, plain = {.size = 100};
    tunewire_v1_BlobState a, p;
    assert_int_equal(open_blob(&timed, &a), 0);
    assert_int_equal(open_blob(&plain, &p), 0);
    bench_later(&b, 4000);
    assert_true(known(a.blob, NULL)); /* being asked for counts as use */
    bench_later(&b, 4000);
    assert_true(known(a.blob, NULL) && known(p.blob, NULL));
    reconnect(NULL); /* a fresh session; the old one ends after a second */
    assert_false(known(a.blob, NULL));
    bench_later(&b, 2000);
    assert_true(known(a.blob, a.token.bytes));
    assert_false(known(p.blob, p.token.bytes));
    bench_later(&b, 5001);
    assert_false(known(a.blob, a.token.bytes));
}

static void nobody_uses_the_blob_of_another_without_its_token(void **state)
{
    (void)state;
    const uint32_t blob = wire_blob(w, data, SIZE);
    wire_client_t *mine = w;
    w = bench_client(&b);
    assert_false(known(blob, NULL));
    uint8_t guess[16] = {0};
    assert_false(known(blob, guess));
    const tunewire_v1_GraphLoad load = {.blob = blob};
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &load, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    bench_leave(w);
    w = mine;
    assert_true(known(blob, NULL));
}

static void an_upload_on_a_stream_of_the_client_needs_no_round_trip(void **state)
{
    (void)state;
    tunewire_v1_BlobOpen q = request();
    w->stream = wire_open_stream(w, 0);
    const uint16_t stream = (uint16_t)w->stream;
    const uint32_t id = wire_send(w, TW_M_Blob_Open, PB(BlobOpen), &q);
    w->stream = 0;
    assert_true(wire_data(w, stream, 0, data, 500, 0));
    assert_int_equal(wire_wait(w, id), 0);
    tunewire_v1_BlobState st;
    assert_int_equal(tw_rpc_decode(w->replies[id].body, w->replies[id].len, PB(BlobState), &st), TW_OK);
    assert_int_equal(st.stream, stream);
    assert_int_equal(upload(&st, 500, 100), SIZE);
    assert_int_equal(commit(st.blob, NULL), 0);
}

static void a_client_that_vanishes_in_an_upload_leaves_no_trace(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        const tunewire_v1_BlobOpen q = {.size = 60000};
        tunewire_v1_BlobState st;
        assert_int_equal(open_blob(&q, &st), 0);
        (void)upload(&st, 0, 3);
        reconnect(NULL);
        bench_later(&b, 1100);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_upload_is_committed_and_read_back),
        T(an_upload_broken_after_any_chunk_goes_on_where_it_was),
        T(a_client_may_resume_from_before_what_is_held),
        T(gaps_and_overlaps_end_the_stream_but_not_the_blob),
        T(data_without_credit_is_fatal),
        T(a_sum_that_does_not_fit_keeps_the_blob_unusable),
        T(memory_is_promised_at_open_or_not_at_all),
        T(blobs_end_with_their_time_or_their_session),
        T(nobody_uses_the_blob_of_another_without_its_token),
        T(an_upload_on_a_stream_of_the_client_needs_no_round_trip),
        T(a_client_that_vanishes_in_an_upload_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
