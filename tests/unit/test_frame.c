/* Frames against the bytes of docs/WIRE_PROTOCOL.md, and against every kind of damage a link can do. */
#include "engine/base/crc.h"
#include "protocol/frame.h"
#include "tests/support/golden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define DOC "docs/WIRE_PROTOCOL.md"

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Every frame a deframer gives for some bytes, with its payload copied out. */
typedef struct seen {
    unsigned frames, bad, fatal;
    tw_err_t err;
    tw_frame_t last;
    uint8_t payload[1024];
} seen_t;

/* Feed in steps of at most `step` bytes, each from memory of its own size so that a sanitizer sees overreads. */
static seen_t feed(tw_deframer_t *d, const uint8_t *bytes, size_t n, size_t step)
{
    seen_t s = {0};
    for (size_t at = 0; at < n && !s.fatal;) {
        const size_t part = n - at < step ? n - at : step;
        uint8_t *copy = test_malloc(part);
        memcpy(copy, bytes + at, part);
        for (size_t done = 0; done < part && !s.fatal;) {
            tw_frame_t f;
            tw_err_t err;
            size_t used;
            const tw_deframe_result_t r = tw_deframe(d, copy + done, part - done, &used, &f, &err);
            done += used;
            assert_true(done <= part);
            if (r == TW_DEFRAME_FRAME) {
                s.frames++;
                s.last = f;
                memcpy(s.payload, f.payload, f.len);
            }
            s.bad += r == TW_DEFRAME_BAD_CRC;
            s.fatal += r == TW_DEFRAME_FATAL;
            s.err = err;
            assert_true(r != TW_DEFRAME_MORE || done == part);
        }
        test_free(copy);
        at += part;
    }
    return s;
}

static seen_t feed_fresh(const uint8_t *bytes, size_t n, size_t step)
{
    static uint8_t buf[1024];
    tw_deframer_t d;
    tw_deframer_init(&d, buf, sizeof buf);
    return feed(&d, bytes, n, step);
}

static const struct {
    const char *name;
    uint8_t type, flags;
    uint16_t stream;
    uint8_t len;
    const char *payload;
} golden[] = {
    {"hello", TW_FT_HELLO, TW_FF_FIN, 0, 12, "\x08\x01\x18\x80\x08\x20\x80\x20\x2a\x02tw"},
    {"ping", TW_FT_CALL, TW_FF_FIN, 0, 11, "\x05\x08\x01\x10\x83\x02\x04\x0a\x02hi"},
    {"pong", TW_FT_REPLY, TW_FF_FIN, 0, 11, "\x02\x08\x01\x07\x0a\x02hi\x10\xe8\x07"},
    {"unimplemented", TW_FT_REPLY, TW_FF_FIN | TW_FF_ERR, 0, 8, "\x06\x08\x02\x12\x02\x08\x0c\x00"},
    {"credit", TW_FT_CREDIT, 0, 4, 4, "\x00\x10\x00\x00"},
    {"data", TW_FT_DATA, TW_FF_FIN, 4, 11, "\x00\x02\x00\x00\x00\x00\x00\x00\x01\x02\x03"},
};

static void frames_are_the_bytes_of_the_document(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(golden); i++) {
        uint8_t doc[64], ours[64];
        const size_t n = tw_golden(DOC, "golden", golden[i].name, doc, sizeof doc);
        assert_int_equal(n, TW_FRAME_HEADER + golden[i].len);
        memcpy(ours + TW_FRAME_HEADER, golden[i].payload, golden[i].len);
        tw_frame_header(ours, golden[i].type, golden[i].flags, golden[i].stream, ours + TW_FRAME_HEADER, golden[i].len);
        assert_memory_equal(ours, doc, n);
    }
}

static void the_bytes_of_the_document_are_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(golden); i++) {
        uint8_t doc[64];
        const size_t n = tw_golden(DOC, "golden", golden[i].name, doc, sizeof doc);
        for (size_t step = 1; step <= n; step++) {
            const seen_t s = feed_fresh(doc, n, step);
            assert_int_equal(s.frames, 1);
            assert_int_equal(s.last.type, golden[i].type);
            assert_int_equal(s.last.flags, golden[i].flags);
            assert_int_equal(s.last.stream, golden[i].stream);
            assert_int_equal(s.last.len, golden[i].len);
            assert_memory_equal(s.payload, golden[i].payload, golden[i].len);
        }
    }
}

static void every_row_of_the_document_is_one_frame_and_is_written_so(void **state)
{
    (void)state;
    char name[32];
    unsigned rows = 0;
    for (unsigned i = 0; tw_golden_name(DOC, "golden", i, name, sizeof name); i++) {
        uint8_t doc[256], plain[256], header[TW_FRAME_HEADER];
        size_t n = tw_golden(DOC, "golden", name, doc, sizeof doc);
        const uint8_t *bytes = doc;
        if (doc[0] != TW_FRAME_SYNC) { /* a COBS row: without its delimiter */
            n = tw_cobs_decode(doc, n - 1, plain, sizeof plain);
            bytes = plain;
        }
        const seen_t s = feed_fresh(bytes, n, n);
        if (s.frames != 1 || s.last.len != n - TW_FRAME_HEADER) {
            fail_msg("row %s: %u frames", name, s.frames);
        }
        tw_frame_header(header, s.last.type, s.last.flags, s.last.stream, s.payload, s.last.len);
        assert_memory_equal(header, bytes, sizeof header);
        rows++;
    }
    assert_true(rows >= 18);
}

static void every_single_bit_error_is_seen_and_the_next_frame_received(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(golden); i++) {
        uint8_t two[128];
        const size_t n = tw_golden(DOC, "golden", golden[i].name, two, 64);
        const size_t m = tw_golden(DOC, "golden", "data", two + n, 64);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            two[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            for (size_t step = 1; step <= n + m; step += 6) {
                const seen_t s = feed_fresh(two, n + m, step);
                if (s.frames != 1 || s.fatal != 0 || s.last.type != TW_FT_DATA || s.last.stream != 4) {
                    fail_msg("%s, bit %zu, step %zu: %u frames", golden[i].name, bit, step, s.frames);
                }
                assert_int_equal(s.bad, bit >= 8 * TW_FRAME_HEADER); /* payload: the header is still known */
            }
            two[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
    }
}

static void a_frame_cut_anywhere_gives_nothing_and_no_complaint(void **state)
{
    (void)state;
    uint8_t doc[64];
    const size_t n = tw_golden(DOC, "golden", "pong", doc, sizeof doc);
    for (size_t cut = 0; cut < n; cut++) {
        for (size_t step = 1; step <= n; step++) {
            const seen_t s = feed_fresh(doc, cut, step);
            assert_int_equal(s.frames + s.bad + s.fatal, 0);
        }
    }
}

static void two_frames_in_one_read_are_two_frames_and_not_copied(void **state)
{
    (void)state;
    uint8_t buf[256], two[128];
    const size_t n = tw_golden(DOC, "golden", "ping", two, 64);
    const size_t m = tw_golden(DOC, "golden", "credit", two + n, 64);
    tw_deframer_t d;
    tw_deframer_init(&d, buf, sizeof buf);
    tw_frame_t f;
    tw_err_t err;
    size_t used;
    assert_int_equal(tw_deframe(&d, two, n + m, &used, &f, &err), TW_DEFRAME_FRAME);
    assert_int_equal(used, n);
    assert_ptr_equal(f.payload, two + TW_FRAME_HEADER);
    assert_int_equal(tw_deframe(&d, two + n, m, &used, &f, &err), TW_DEFRAME_FRAME);
    assert_int_equal(used, m);
    assert_ptr_equal(f.payload, two + n + TW_FRAME_HEADER);
    assert_int_equal(tw_deframe(&d, two, 0, &used, &f, &err), TW_DEFRAME_MORE);
}

static size_t build(uint8_t *out, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        out[TW_FRAME_HEADER + i] = (uint8_t)(i * 7);
    }
    tw_frame_header(out, TW_FT_DATA, 0, 2, out + TW_FRAME_HEADER, len);
    return TW_FRAME_HEADER + len;
}

static void the_longest_frame_passes_and_one_byte_more_is_fatal_before_its_payload(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t max_frame, len;
        bool fatal;
    } cases[] = {
        {"empty", 256, 0, false},
        {"longest before hello", 256, 240, false},
        {"one more", 256, 241, true},
        {"longest of this buffer", 1024, 1008, false},
        {"one more than the buffer", 1024, 1009, true},
        {"max_frame above the buffer does not help", 4096, 1009, true},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t bytes[1100], buf[1024];
        const size_t n = build(bytes, cases[i].len);
        for (size_t step = 1; step <= n; step += step < 40 ? 1 : 300) {
            tw_deframer_t d;
            tw_deframer_init(&d, buf, sizeof buf);
            d.max_frame = cases[i].max_frame;
            const seen_t s = feed(&d, bytes, cases[i].fatal ? TW_FRAME_HEADER : n, step);
            if (s.fatal != cases[i].fatal || s.frames == s.fatal) {
                fail_msg("%s, step %zu: fatal %u, frames %u", cases[i].why, step, s.fatal, s.frames);
            }
            assert_int_equal(s.err, cases[i].fatal ? TW_E_FRAME_TOO_LONG : TW_OK);
        }
    }
}

/* A header whose CRC holds but which says what cannot be. */
static void a_sound_header_of_another_protocol_is_fatal(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t version, flags;
        uint32_t len;
        tw_err_t err;
    } cases[] = {
        {"frame version 2", 2, 0, 0, TW_E_FRAME_VERSION},
        {"frame version 0", 0, 0, 0, TW_E_FRAME_VERSION},
        {"reserved flag", 1, 0x08, 0, TW_E_FRAME_FLAGS},
        {"highest reserved flag", 1, 0x81, 0, TW_E_FRAME_FLAGS},
        {"length of 4 GiB", 1, 0, 0xFFFFFFFF, TW_E_FRAME_TOO_LONG},
        {"version is looked at first", 3, 0xFF, 0xFFFFFFFF, TW_E_FRAME_VERSION},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint8_t h[TW_FRAME_HEADER] = {TW_FRAME_SYNC, cases[i].version, 0, cases[i].flags};
        tw_put_le32(h + 8, cases[i].len);
        tw_put_le16(h + 6, tw_crc16(tw_crc16(TW_CRC16_INIT, h, 6), h + 8, 8));
        for (size_t step = 1; step <= sizeof h; step++) {
            const seen_t s = feed_fresh(h, sizeof h, step);
            if (s.err != cases[i].err || s.fatal != 1) {
                fail_msg("%s: %s", cases[i].why, tw_err_name(s.err));
            }
        }
    }
}

static void noise_between_frames_costs_no_frame(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t bytes[512];
        size_t n = 0;
        unsigned want = 0;
        while (n < 300) {
            const uint32_t noise = random_next(&seed) % 40;
            for (uint32_t i = 0; i < noise; i++) {
                const uint32_t r = random_next(&seed);
                bytes[n++] = r % 4 == 0 ? TW_FRAME_SYNC : (uint8_t)(r >> 8);
            }
            /* a sync byte right before a frame must not hide it */
            n += build(bytes + n, random_next(&seed) % 60);
            want++;
        }
        const seen_t s = feed_fresh(bytes, n, 1 + random_next(&seed) % 100);
        if (s.fatal == 0) { /* 1 in 65536 false headers may hold */
            assert_int_equal(s.frames, want);
        }
    }
}

static void skipped_bytes_and_bad_checksums_are_counted(void **state)
{
    (void)state;
    uint8_t buf[256], bytes[128] = {1, 2, 3};
    const size_t n = tw_golden(DOC, "golden", "ping", bytes + 3, 64);
    tw_deframer_t d;
    tw_deframer_init(&d, buf, sizeof buf);
    assert_int_equal(feed(&d, bytes, n + 3, 128).frames, 1);
    assert_int_equal(d.skipped_bytes, 3);
    assert_int_equal(d.header_crc + d.payload_crc, 0);
    bytes[3 + TW_FRAME_HEADER] ^= 1;
    assert_int_equal(feed(&d, bytes + 3, n, 5).bad, 1);
    assert_int_equal(d.payload_crc, 1);
    bytes[3 + 6] ^= 1;
    assert_int_equal(feed(&d, bytes + 3, n, 5).frames, 0);
    assert_int_equal(d.header_crc, 1);
    assert_int_equal(d.skipped_bytes, 3 + n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_the_bytes_of_the_document),
        cmocka_unit_test(the_bytes_of_the_document_are_frames),
        cmocka_unit_test(every_row_of_the_document_is_one_frame_and_is_written_so),
        cmocka_unit_test(every_single_bit_error_is_seen_and_the_next_frame_received),
        cmocka_unit_test(a_frame_cut_anywhere_gives_nothing_and_no_complaint),
        cmocka_unit_test(two_frames_in_one_read_are_two_frames_and_not_copied),
        cmocka_unit_test(the_longest_frame_passes_and_one_byte_more_is_fatal_before_its_payload),
        cmocka_unit_test(a_sound_header_of_another_protocol_is_fatal),
        cmocka_unit_test(noise_between_frames_costs_no_frame),
        cmocka_unit_test(skipped_bytes_and_bad_checksums_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
