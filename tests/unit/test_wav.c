/* WAV files: what is written reads back, and what is broken is refused with the place. */
#include "engine/base/bytes.h"
#include "engine/board/wav.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/tw_wav_XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* 16-bit stereo, 48 kHz, two frames: 1 -1 32767 -32768. */
static const uint8_t good[52] = {'R', 'I', 'F', 'F',  44, 0, 0, 0,    'W',  'A',  'V',  'E',  'f',
                                 'm', 't', ' ', 16,   0,  0, 0, 1,    0,    2,    0,    0x80, 0xBB,
                                 0,   0,   0,   0xEE, 2,  0, 4, 0,    16,   0,    'd',  'a',  't',
                                 'a', 8,   0,   0,    0,  1, 0, 0xFF, 0xFF, 0xFF, 0x7F, 0,    0x80};

static const struct {
    const char *why;
    unsigned at, n; /* bytes replaced */
    uint8_t bytes[8];
    unsigned length; /* 0 = all */
    const char *says;
} broken[] = {
    {"empty", 0, 0, {0}, 1, "too few"},
    {"eleven bytes", 0, 0, {0}, 11, "too few"},
    {"RIFF header alone", 0, 0, {0}, 12, "no data chunk"},
    {"half a chunk header", 0, 0, {0}, 19, "no data chunk"},
    {"format chunk header alone", 0, 0, {0}, 20, "chunk at byte 12 has 16 bytes, the file ends after 0"},
    {"format cut", 0, 0, {0}, 35, "the file ends after 15"},
    {"no chunk after the format", 0, 0, {0}, 36, "no data chunk"},
    {"data header cut", 0, 0, {0}, 43, "no data chunk"},
    {"data missing", 0, 0, {0}, 44, "chunk at byte 36 has 8 bytes, the file ends after 0"},
    {"last byte missing", 0, 0, {0}, 51, "the file ends after 7"},
    {"not RIFF", 0, 1, {'X'}, 0, "not a WAV"},
    {"not WAVE", 8, 1, {'X'}, 0, "not a WAV"},
    {"big endian", 3, 1, {'X'}, 0, "big-endian"},
    {"64-bit sizes", 0, 4, {'R', 'F', '6', '4'}, 0, "64-bit"},
    {"format chunk of 0 bytes", 16, 1, {0}, 0, "format chunk of 0 bytes"},
    {"format chunk of 14 bytes", 16, 1, {14}, 0, "format chunk of 14 bytes"},
    {"format chunk of 4 GB", 16, 4, {255, 255, 255, 255}, 0, "has 4294967295 bytes"},
    {"format chunk past the end", 16, 1, {200}, 0, "has 200 bytes"},
    {"compressed", 20, 1, {2}, 0, "coding 2 at byte 20"},
    {"coding 0", 20, 1, {0}, 0, "coding 0"},
    {"extensible too short", 20, 2, {0xFE, 0xFF}, 0, "extensible format of 16 bytes"},
    {"no channels", 22, 1, {0}, 0, "0 channels at byte 22"},
    {"33 channels", 22, 1, {33}, 0, "33 channels"},
    {"65535 channels", 22, 2, {255, 255}, 0, "65535 channels"},
    {"rate 0", 24, 4, {0, 0, 0, 0}, 0, "rate 0 Hz at byte 24"},
    {"rate absurd", 24, 4, {255, 255, 255, 255}, 0, "rate 4294967295"},
    {"0 bits", 34, 1, {0}, 0, "0 bits at byte 34"},
    {"12 bits", 34, 1, {12}, 0, "12 bits"},
    {"64 bits", 34, 1, {64}, 0, "64 bits"},
    {"float of 16 bits", 20, 1, {3}, 0, "float samples of 16 bits"},
    {"block wrong", 32, 1, {3}, 0, "block of 3 bytes at byte 32, 2 channels of 16 bits need 4"},
    {"block 0", 32, 1, {0}, 0, "block of 0"},
    {"data before format", 12, 4, {'d', 'a', 't', 'a'}, 0, "before the format"},
    {"second format", 36, 4, {'f', 'm', 't', ' '}, 0, "second format chunk at byte 36"},
    {"no data", 40, 1, {0}, 0, "empty"},
    {"data not whole frames", 40, 1, {7}, 0, "7 data bytes at byte 44 are not whole frames of 4"},
    {"data past the end", 40, 1, {9}, 0, "has 9 bytes, the file ends after 8"},
    {"unfinished recording", 40, 4, {255, 255, 255, 255}, 0, "has 4294967295 bytes"},
    {"no data chunk", 36, 1, {'D'}, 0, "no data chunk"},
};

static void a_broken_header_is_refused_with_the_place(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TW_COUNT(broken); i++) {
        const unsigned length = broken[i].length != 0 ? broken[i].length : sizeof good;
        uint8_t *file = malloc(length); /* of this very length, so that a read past it is seen */
        memcpy(file, good, length);
        memcpy(file + broken[i].at, broken[i].bytes, broken[i].n);
        tw_wav_t w;
        char why[TW_WAV_WHY] = "";
        if (tw_wav_parse(&w, file, length, why) || strstr(why, broken[i].says) == NULL) {
            fail_msg("%s: \"%s\"", broken[i].why, why);
        }
        assert_int_equal(w.frames, 0);
        free(file);
    }
}

static void foreign_chunks_and_extensible_formats_are_read(void **state)
{
    (void)state;
    static const uint8_t ext[] = {'R',  'I',  'F',  'F', 80,  0,   0,   0,  'W',  'A',  'V',  'E',  'L',  'I',  'S',
                                  'T',  3,    0,    0,   0,   1,   2,   3,  0, /* odd: one byte of padding */
                                  'f',  'm',  't',  ' ', 40,  0,   0,   0,  0xFE, 0xFF, 1,    0,    0x40, 0x1F, 0,
                                  0,    0xC0, 0x5D, 0,   0,   3,   0,   24, 0,    22,   0,    24,   0,    4,    0,
                                  0,    0,    1,    0,   0,   0,   0,   0,  0x10, 0,    0x80, 0,    0,    0xAA, 0,
                                  0x38, 0x9B, 0x71, 'd', 'a', 't', 'a', 3,  0,    0,    0,    0x00, 0x00, 0xC0, 0};
    tw_wav_t w;
    char why[TW_WAV_WHY] = "";
    if (!tw_wav_parse(&w, ext, sizeof ext, why)) {
        fail_msg("%s", why);
    }
    assert_int_equal(w.rate_hz, 8000);
    assert_int_equal(w.bits, 24);
    assert_int_equal(w.frames, 1);
    assert_int_equal(tw_wav_q31(&w, 0, 0), -0x40000000);
    uint8_t alien[sizeof ext];
    memcpy(alien, ext, sizeof ext);
    alien[64] ^= 1; /* inside the sub-format's tail */
    assert_false(tw_wav_parse(&w, alien, sizeof alien, why));
    assert_non_null(strstr(why, "sub-format"));
}

static void each_width_gives_the_same_fraction(void **state)
{
    (void)state;
    static const struct {
        uint8_t bits, is_float, bytes[4];
        int32_t q31;
        float f;
    } cases[] = {
        {8, 0, {128}, 0, 0.0f},
        {8, 0, {0}, INT32_MIN, -1.0f},
        {8, 0, {192}, 0x40000000, 0.5f},
        {16, 0, {0, 0x40}, 0x40000000, 0.5f},
        {16, 0, {0, 0x80}, INT32_MIN, -1.0f},
        {24, 0, {1, 0, 0}, 256, 256.0f / 2147483648.0f},
        {24, 0, {0, 0, 0xC0}, -0x40000000, -0.5f},
        {32, 0, {1, 0, 0, 0}, 1, 1.0f / 2147483648.0f},
        {32, 1, {0, 0, 0, 0x3F}, 0x40000000, 0.5f},
        {32, 1, {0, 0, 0x80, 0xBF}, INT32_MIN, -1.0f},
        {32, 1, {0, 0, 0x80, 0x40}, INT32_MAX, 4.0f}, /* above full scale: saturates as fixed point */
        {32, 1, {0, 0, 0x80, 0xFF}, INT32_MIN, -INFINITY},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        const tw_wav_t w = {
            .channels = 1, .bits = cases[i].bits, .is_float = cases[i].is_float, .frames = 1, .data = cases[i].bytes};
        const float f = tw_wav_float(&w, 0, 0);
        if (tw_wav_q31(&w, 0, 0) != cases[i].q31 || memcmp(&f, &cases[i].f, sizeof f) != 0) {
            fail_msg("row %u: %d, %g", i, tw_wav_q31(&w, 0, 0), (double)f);
        }
    }
    const tw_wav_t nan = {.channels = 1, .bits = 32, .is_float = true, .data = (const uint8_t[]){0, 0, 0xC0, 0x7F}};
    assert_int_equal(tw_wav_q31(&nan, 0, 0), 0);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    static const struct {
        uint32_t rate, channels, bits;
        bool is_float;
    } cases[] = {{8000, 1, 16, false}, {44100, 3, 16, false}, {48000, 2, 32, false}, {192000, 32, 32, true}};
    char why[TW_WAV_WHY] = "";
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        const uint32_t block = cases[i].channels * cases[i].bits / 8, frames = 3001;
        uint8_t *bytes = malloc((size_t)block * frames);
        for (uint32_t k = 0; k < block * frames; k++) {
            bytes[k] = (uint8_t)(k * 40503u >> 7);
        }
        tw_wav_writer_t *out =
            tw_wav_create(path, cases[i].rate, cases[i].channels, cases[i].bits, cases[i].is_float, why);
        assert_non_null(out);
        for (uint32_t f = 0; f < frames; f += 17) {
            const uint32_t n = tw_min_u32(17, frames - f);
            assert_true(tw_wav_put(out, bytes + f * block, n * block, why));
        }
        assert_int_equal(tw_wav_frames(out), frames);
        assert_true(tw_wav_close(out, why));
        tw_wav_t in;
        if (!tw_wav_read(&in, path, why)) {
            fail_msg("%s", why);
        }
        assert_int_equal(in.rate_hz, cases[i].rate);
        assert_int_equal(in.channels, cases[i].channels);
        assert_int_equal(in.is_float, cases[i].is_float);
        assert_int_equal(in.frames, frames);
        assert_memory_equal(in.data, bytes, (size_t)block * frames);
        tw_wav_free(&in);
        free(bytes);
    }
}

static void a_killed_writer_leaves_a_valid_file(void **state)
{
    (void)state;
    char why[TW_WAV_WHY] = "";
    tw_wav_writer_t *out = tw_wav_create(path, 48000, 2, 16, false, why);
    assert_non_null(out);
    tw_wav_t in;
    const uint8_t frame[4] = {1, 2, 3, 4};
    assert_true(tw_wav_put(out, frame, 4, why));
    assert_true(tw_wav_sync(out, why));
    assert_true(tw_wav_read(&in, path, why)); /* the writer is still at it */
    assert_int_equal(in.frames, 1);
    tw_wav_free(&in);
    static const uint8_t bulk[200000];
    assert_true(tw_wav_put(out, bulk, sizeof bulk, why));
    if (!tw_wav_read(&in, path, why)) {
        fail_msg("%s", why);
    }
    assert_true(in.frames >= 32768); /* what filled the buffer is there without a sync */
    tw_wav_free(&in);
    assert_true(tw_wav_close(out, why));
    assert_true(tw_wav_read(&in, path, why));
    assert_int_equal(in.frames, 50001);
    tw_wav_free(&in);
}

static void files_that_cannot_be_are_named(void **state)
{
    (void)state;
    tw_wav_t in;
    char why[TW_WAV_WHY] = "";
    assert_false(tw_wav_read(&in, "/proc/none/x.wav", why));
    assert_non_null(strstr(why, "/proc/none/x.wav: No such file"));
    assert_false(tw_wav_read(&in, "/tmp", why));
    assert_non_null(strstr(why, "/tmp"));
    assert_false(tw_wav_read(&in, path, why)); /* empty */
    assert_non_null(strstr(why, path));
    assert_null(tw_wav_create("/proc/none/x.wav", 8000, 1, 16, false, why));
    assert_non_null(strstr(why, "No such file"));
    assert_null(tw_wav_create(path, 8000, 1, 24, false, why));
    assert_null(tw_wav_create(path, 8000, 33, 16, false, why));
    assert_null(tw_wav_create(path, 0, 1, 16, false, why));
}

static void a_full_disk_is_reported_and_the_header_stays_true(void **state)
{
    (void)state;
    char why[TW_WAV_WHY] = "";
    tw_wav_writer_t *out = tw_wav_create("/dev/full", 8000, 1, 16, false, why);
    assert_null(out);
    assert_non_null(strstr(why, "No space left"));
}

static void four_gigabytes_are_the_end(void **state)
{
    (void)state;
    char why[TW_WAV_WHY] = "";
    tw_wav_writer_t *out = tw_wav_create("/dev/null", 8000, 1, 16, false, why); /* takes all, keeps nothing */
    assert_non_null(out);
    static const uint8_t bulk[1 << 24];
    uint64_t put = 0;
    while (put < 5ull << 30 && tw_wav_put(out, bulk, sizeof bulk, why)) {
        put += sizeof bulk;
    }
    assert_int_equal(put, (4ull << 30) - sizeof bulk);
    assert_non_null(strstr(why, "4 GB"));
    assert_true(tw_wav_close(out, why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_header_is_refused_with_the_place),
        cmocka_unit_test(foreign_chunks_and_extensible_formats_are_read),
        cmocka_unit_test(each_width_gives_the_same_fraction),
        cmocka_unit_test_setup_teardown(what_is_written_reads_back, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_a_valid_file, make_path, remove_path),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_are_named, make_path, remove_path),
        cmocka_unit_test(a_full_disk_is_reported_and_the_header_stays_true),
        cmocka_unit_test(four_gigabytes_are_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
