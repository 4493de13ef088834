/* The Linux board: what graphs read and write, and what files and logs say of it. */
#include "engine/base/bytes.h"
#include "engine/board/board_linux.h"
#include "engine/board/board_linux_samples.h"
#include "engine/board/wav.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { IN = 4, OUT = 6, LINE = 7, BUTTON = 8, OTHER_OUT = 9, N_IOS = 5 };

static char folder[64], log_text[4096];
static tw_io_manifest_t ios[N_IOS];
static tw_platform_t platform;

static void keep_log(void *ctx, uint32_t level, const char *text)
{
    (void)ctx, (void)level;
    const size_t n = strlen(log_text);
    snprintf(log_text + n, sizeof log_text - n, "%s\n", text);
}

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void tag(tw_io_manifest_t *io, const char *key, const char *value)
{
    snprintf(io->extra[io->n_extra].key, sizeof io->extra[0].key, "%s", key);
    snprintf(io->extra[io->n_extra].value, sizeof io->extra[0].value, "%s", value);
    io->n_extra++;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tw_board_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    static const struct {
        const char *name;
        uint8_t hwid, direction, domain;
    } rows[N_IOS] = {{"io_platform_audio_in_0", IN, 0, 1},
                     {"io_platform_line_out_0", OUT, 1, 2},
                     {"io_platform_gpio_out_0", LINE, 1, 4},
                     {"io_platform_gpio_in_0", BUTTON, 0, 3},
                     {"data_out", OTHER_OUT, 1, 0}};
    memset(ios, 0, sizeof ios);
    for (unsigned i = 0; i < N_IOS; i++) {
        snprintf(ios[i].name, sizeof ios[i].name, "%s", rows[i].name);
        snprintf(ios[i].file, sizeof ios[i].file, "%s/io.txt", folder);
        ios[i].hwid = rows[i].hwid;
        ios[i].direction = rows[i].direction;
        ios[i].domain = rows[i].domain;
    }
    platform = (tw_platform_t){.ios = ios, .n_ios = N_IOS, .id = 0x1234, .services = 6, .n_banks = 2};
    platform.banks[0] = (tw_bank_manifest_t){.vid = 0, .bytes = 1000};
    platform.banks[1] = (tw_bank_manifest_t){.vid = 20, .bytes = 2000};
    log_text[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const names[] = {"in.wav", "out.wav", "other.wav", "state"};
    for (unsigned i = 0; i < TW_COUNT(names); i++) {
        unlink(in_folder(names[i]));
    }
    return rmdir(folder);
}

/* A mono or stereo file whose sample i of channel c is 100 * i + c + 1. */
static void make_wav(const char *name, uint32_t rate, uint32_t channels, uint32_t frames)
{
    char why[TW_WAV_WHY];
    tw_wav_writer_t *w = tw_wav_create(in_folder(name), rate, channels, 16, false, why);
    assert_non_null(w);
    for (uint32_t i = 0; i < frames; i++) {
        for (uint32_t c = 0; c < channels; c++) {
            uint8_t b[2];
            tw_put_le16(b, (uint16_t)(100 * i + c + 1));
            assert_true(tw_wav_put(w, b, 2, why));
        }
    }
    assert_true(tw_wav_close(w, why));
}

static tw_board_linux_t *open_with(const char *a, const char *b)
{
    const char *overrides[] = {a, b};
    const tw_board_linux_cfg_t cfg = {.platform = &platform,
                                      .overrides = overrides,
                                      .n_overrides = (a != NULL) + (b != NULL),
                                      .ring_bytes = 4096,
                                      .log = keep_log};
    char why[TW_BOARD_WHY] = "";
    tw_board_linux_t *board = tw_board_linux_open(&cfg, why);
    if (board == NULL) {
        fail_msg("%s", why);
    }
    return board;
}

static tw_err_t accept(tw_board_linux_t *b, uint32_t hwid, uint32_t raw, uint32_t channels, float rate, uint32_t bytes)
{
    static const uint32_t settings[3];
    const tw_board_t *board = tw_board_linux_board(b);
    return board->accept(board->ctx, hwid, raw, channels, rate, bytes, settings);
}

static void settings_are_options_of_the_manifest_or_refused(void **state)
{
    (void)state;
    ios[0].settings[0] = (tw_setting_t){.tag = "io_analog_gain", .o = {.n = 3, .def = 0, .v = {0, 12, 24}}};
    ios[0].n_settings = 1;
    tw_board_linux_t *b = open_with("audio_in_0=ramp", NULL);
    const tw_board_t *board = tw_board_linux_board(b);
    static const struct {
        uint32_t word;
        tw_err_t err;
        const char *says;
    } rows[] = {{0, TW_OK, ""},
                {1, TW_OK, "io_analog_gain 12"},
                {2, TW_OK, "io_analog_gain 24"},
                {3, TW_E_RANGE, "settings 0x3"}};
    for (unsigned i = 0; i < TW_COUNT(rows); i++) {
        log_text[0] = 0;
        const tw_err_t err = board->accept(board->ctx, IN, TW_RAW_S16, 1, 48000, 8, (uint32_t[]){rows[i].word, 0, 0});
        if (err != rows[i].err || strstr(log_text, rows[i].says) == NULL || (i == 0 && log_text[0] != 0)) {
            fail_msg("%u: %s, %s", rows[i].word, tw_err_name(err), log_text);
        }
    }
    tw_board_linux_close(b);
    ios[0].n_settings = 0;
}

static uint32_t read_io(tw_board_linux_t *b, uint32_t hwid, void *dst, uint32_t bytes)
{
    const tw_board_t *board = tw_board_linux_board(b);
    return board->read(board->ctx, hwid, 0, dst, bytes);
}

static uint32_t write_io(tw_board_linux_t *b, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    const tw_board_t *board = tw_board_linux_board(b);
    return board->write(board->ctx, hwid, tick, src, bytes);
}

static char *override_of(const char *name, const char *file)
{
    static char texts[4][160];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s%s", name, in_folder(file));
    return text;
}

static void the_platform_is_described(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with(NULL, NULL);
    const tw_board_t *board = tw_board_linux_board(b);
    assert_int_equal(board->platform_id, 0x1234);
    assert_int_equal(board->services, 6);
    assert_int_equal(board->n_ios, N_IOS);
    assert_string_equal(board->ios[1].name, "io_platform_line_out_0");
    assert_int_equal(board->ios[1].hwid, OUT);
    assert_int_equal(board->ios[1].direction, 1);
    assert_true(board->n_banks > 20);
    assert_int_equal(board->bank_bytes[0], 1000);
    assert_int_equal(board->bank_bytes[1], 0);
    assert_int_equal(board->bank_bytes[20], 2000);
    tw_board_linux_stats_t s;
    static const char *const defaults[N_IOS] = {"null", "null", "gpio", "gpio", "null"};
    for (unsigned i = 0; i < N_IOS; i++) {
        assert_true(tw_board_linux_stats(b, i, &s));
        assert_string_equal(s.backend, defaults[i]);
    }
    assert_false(tw_board_linux_stats(b, N_IOS, &s));
    tw_board_linux_close(b);
}

static void a_file_is_read_to_its_end_and_then_is_silence(void **state)
{
    (void)state;
    make_wav("in.wav", 48000, 1, 10);
    tw_board_linux_t *b = open_with(override_of("audio_in_0=", "in.wav"), NULL);
    assert_int_equal(accept(b, IN, TW_RAW_S16, 1, 48000, 8), TW_OK);
    int16_t f[4];
    for (unsigned block = 0; block < 4; block++) {
        memset(f, 0x55, sizeof f);
        assert_int_equal(read_io(b, IN, f, 8), 8);
        for (unsigned i = 0; i < 4; i++) {
            const unsigned at = 4 * block + i;
            assert_int_equal(f[i], at < 10 ? 100 * at + 1 : 0);
        }
    }
    tw_board_linux_close(b);
}

static void a_loop_is_the_file_modulo_its_length_whatever_the_frame(void **state)
{
    (void)state;
    make_wav("in.wav", 48000, 2, 7);
    static const uint32_t frame_samples[] = {1, 3, 7, 20}; /* 20: the file more than twice in one frame */
    tag(&ios[0], "io_backend", "wav_in");
    tag(&ios[0], "io_file", "in.wav"); /* beside the manifest */
    tag(&ios[0], "io_loop", "1");
    tw_board_linux_t *b = open_with(NULL, NULL);
    uint32_t at = 0;
    for (unsigned k = 0; k < TW_COUNT(frame_samples); k++) {
        const uint32_t n = frame_samples[k];
        assert_int_equal(accept(b, IN, TW_RAW_S16, 2, 48000, 4 * n), TW_OK); /* the next graph */
        for (unsigned block = 0; block < 3; block++) {
            int16_t f[40];
            assert_int_equal(read_io(b, IN, f, 4 * n), 4 * n);
            for (uint32_t i = 0; i < n; i++, at++) {
                assert_int_equal(f[2 * i], 100 * (at % 7) + 1);
                assert_int_equal(f[2 * i + 1], 100 * (at % 7) + 2);
            }
        }
    }
    tw_board_linux_close(b);
}

static void an_override_keeps_the_manifests_loop_unless_it_says_otherwise(void **state)
{
    (void)state;
    make_wav("in.wav", 48000, 1, 2);
    tag(&ios[0], "io_loop", "1");
    static const struct {
        const char *what;
        int16_t third;
    } cases[] = {{"audio_in_0=", 1}, {"audio_in_0=once:", 0}, {"audio_in_0=loop:", 1}};
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        tw_board_linux_t *b = open_with(override_of(cases[i].what, "in.wav"), NULL);
        int16_t f[3];
        assert_int_equal(accept(b, IN, TW_RAW_S16, 1, 48000, sizeof f), TW_OK);
        assert_int_equal(read_io(b, IN, f, sizeof f), sizeof f);
        assert_int_equal(f[2], cases[i].third);
        tw_board_linux_close(b);
    }
}

static void samples_are_converted_to_what_the_graph_wants(void **state)
{
    (void)state;
    make_wav("in.wav", 8000, 1, 4); /* 1 101 201 301 */
    ios[0].interleaving = 1;
    tw_board_linux_t *b = open_with(override_of("io_platform_audio_in_0=loop:", "in.wav"), NULL);
    float f[8];
    assert_int_equal(accept(b, IN, TW_RAW_FP32, 2, 8000, sizeof f), TW_OK);
    assert_int_equal(read_io(b, IN, f, sizeof f), sizeof f);
    for (unsigned i = 0; i < 4; i++) { /* mono to both channels, in blocks */
        assert_true(f[i] == (float)(100 * i + 1) / 32768.0f);
        assert_true(f[4 + i] == f[i]);
    }
    int32_t q[4];
    assert_int_equal(accept(b, IN, TW_RAW_Q31, 1, 8000, sizeof q), TW_OK);
    assert_int_equal(read_io(b, IN, q, sizeof q), sizeof q);
    assert_int_equal(q[1], 101 << 16);
    int8_t s[8];
    assert_int_equal(accept(b, IN, TW_RAW_S8, 2, 0, sizeof s), TW_OK); /* asynchronous: any file */
    assert_int_equal(read_io(b, IN, s, sizeof s), sizeof s);
    assert_int_equal(s[3], 1); /* 301 / 256 rounds to 1 */
    assert_int_equal(s[1], 0);
    tw_board_linux_close(b);
}

static void narrowing_rounds_and_saturates(void **state)
{
    (void)state;
    static const struct {
        uint32_t raw;
        int32_t q31, want;
    } cases[] = {
        {TW_RAW_S16, INT32_MAX, 32767}, {TW_RAW_Q15, INT32_MIN, -32768}, {TW_RAW_S16, 0x8000, 1},
        {TW_RAW_S16, 0x7FFF, 0},        {TW_RAW_S16, -0x8000, 0},        {TW_RAW_S16, -0x8001, -1},
        {TW_RAW_S8, INT32_MAX, 127},    {TW_RAW_Q7, INT32_MIN, -128},    {TW_RAW_S32, -5, -5},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        uint8_t b[4] = {0};
        tw_sample_put(cases[i].raw, b, cases[i].q31);
        const uint32_t n = tw_sample_bytes(cases[i].raw);
        const int32_t got = n == 1 ? (int8_t)b[0] : n == 2 ? (int16_t)tw_get_le16(b) : (int32_t)tw_get_le32(b);
        if (got != cases[i].want) {
            fail_msg("row %u: %d, not %d", i, got, cases[i].want);
        }
    }
    uint8_t b[4];
    tw_sample_put_float(TW_RAW_S16, b, 2.0f);
    assert_int_equal((int16_t)tw_get_le16(b), 32767);
    tw_sample_put_float(TW_RAW_S16, b, -2.0f);
    assert_int_equal((int16_t)tw_get_le16(b), -32768);
    const uint8_t not_a_number[4] = {0, 0, 0xC0, 0x7F};
    tw_sample_put_float(TW_RAW_S16, b, tw_get_f32(not_a_number));
    assert_int_equal((int16_t)tw_get_le16(b), 0);
}

static void a_stream_a_file_cannot_give_is_refused_with_both_numbers(void **state)
{
    (void)state;
    make_wav("in.wav", 44100, 2, 4);
    tw_board_linux_t *b = open_with(override_of("audio_in_0=", "in.wav"), override_of("line_out_0=", "out.wav"));
    static const struct {
        const char *why;
        uint32_t hwid, raw, channels;
        float rate;
        uint32_t bytes;
        tw_err_t err;
        const char *says[2];
    } cases[] = {
        {"rate", IN, TW_RAW_S16, 2, 48000, 64, TW_E_UNSUPPORTED, {"48000", "44100"}},
        {"rate, a little", IN, TW_RAW_S16, 2, 44100.5f, 64, TW_E_UNSUPPORTED, {"44100.5", "44100 Hz"}},
        {"channels", IN, TW_RAW_S16, 1, 44100, 64, TW_E_UNSUPPORTED, {"1 channels", "has 2"}},
        {"more channels", IN, TW_RAW_S16, 4, 44100, 64, TW_E_UNSUPPORTED, {"4 channels", "has 2"}},
        {"raw type", IN, TW_RAW_FP64, 2, 44100, 64, TW_E_UNSUPPORTED, {"FP64", "WAV"}},
        {"half a sample", IN, TW_RAW_S16, 2, 44100, 63, TW_E_UNSUPPORTED, {"63 bytes", "S16"}},
        {"nothing", IN, TW_RAW_S16, 2, 44100, 0, TW_E_UNSUPPORTED, {"0 bytes", ""}},
        {"raw code", IN, 63, 2, 44100, 64, TW_E_UNSUPPORTED, {"?", ""}},
        {"33 channels", IN, TW_RAW_S16, 33, 44100, 66, TW_E_UNSUPPORTED, {"33 channels", ""}},
        {"no such IO", 99, TW_RAW_S16, 2, 44100, 64, TW_E_NOT_FOUND, {"IO 99", ""}},
        {"output without rate", OUT, TW_RAW_S16, 2, 0, 64, TW_E_UNSUPPORTED, {"0 Hz", ""}},
        {"output of bytes", OUT, TW_RAW_S8, 2, 8000, 64, TW_E_UNSUPPORTED, {"S8", ""}},
        {"frame larger than the ring", OUT, TW_RAW_S16, 2, 8000, 4096, TW_E_NOMEM, {"too large", ""}},
        {"line of doubles", LINE, TW_RAW_FP64, 1, 0, 8, TW_E_UNSUPPORTED, {"FP64", ""}},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        log_text[0] = '\0';
        const tw_err_t err = accept(b, cases[i].hwid, cases[i].raw, cases[i].channels, cases[i].rate, cases[i].bytes);
        if (err != cases[i].err || strstr(log_text, cases[i].says[0]) == NULL ||
            strstr(log_text, cases[i].says[1]) == NULL) {
            fail_msg("%s: %s, %s", cases[i].why, tw_err_name(err), log_text);
        }
    }
    assert_int_equal(accept(b, IN, TW_RAW_S16, 2, 44100, 64), TW_OK);
    tw_board_linux_close(b);
}

static void a_recording_is_what_was_written(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with(override_of("line_out_0=", "out.wav"), NULL);
    assert_int_equal(accept(b, OUT, TW_RAW_Q15, 2, 16000, 40), TW_OK);
    uint8_t frame[40], all[100 * 40];
    for (unsigned i = 0; i < 100; i++) {
        for (unsigned k = 0; k < sizeof frame; k++) {
            frame[k] = all[40 * i + k] = (uint8_t)(i * 31 + k * 7);
        }
        assert_int_equal(write_io(b, OUT, i, frame, sizeof frame), sizeof frame);
        if (i % 10 == 9) {
            (void)tw_board_linux_service(b);
        }
    }
    tw_board_linux_close(b);
    tw_wav_t w;
    char why[TW_WAV_WHY];
    assert_true(tw_wav_read(&w, in_folder("out.wav"), why));
    assert_int_equal(w.rate_hz, 16000);
    assert_int_equal(w.channels, 2);
    assert_int_equal(w.bits, 16);
    assert_int_equal(w.frames, 1000);
    assert_memory_equal(w.data, all, sizeof all);
    tw_wav_free(&w);
    assert_string_equal(log_text, "");
}

static void channel_blocks_become_an_interleaved_file(void **state)
{
    (void)state;
    ios[1].interleaving = 1;
    tw_board_linux_t *b = open_with(override_of("line_out_0=", "out.wav"), NULL);
    assert_int_equal(accept(b, OUT, TW_RAW_S16, 2, 16000, 12), TW_OK);
    const int16_t frame[6] = {1, 2, 3, 11, 12, 13}, want[6] = {1, 11, 2, 12, 3, 13};
    assert_int_equal(write_io(b, OUT, 0, frame, sizeof frame), sizeof frame);
    tw_board_linux_close(b);
    tw_wav_t w;
    char why[TW_WAV_WHY];
    assert_true(tw_wav_read(&w, in_folder("out.wav"), why));
    assert_memory_equal(w.data, want, sizeof want);
    tw_wav_free(&w);
}

static void a_full_ring_loses_frames_loudly_and_nothing_else(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with(override_of("line_out_0=", "out.wav"), NULL);
    assert_int_equal(accept(b, OUT, TW_RAW_S16, 1, 16000, 400), TW_OK);
    uint8_t frame[400] = {0};
    unsigned taken = 0;
    assert_false(tw_board_linux_behind(b));
    for (unsigned i = 0; i < 50; i++) {
        taken += write_io(b, OUT, i, frame, sizeof frame) == sizeof frame;
    }
    assert_in_range(taken, 5, 12);
    assert_true(tw_board_linux_behind(b));
    tw_board_linux_stats_t s;
    assert_true(tw_board_linux_stats(b, 1, &s));
    assert_int_equal(s.dropped, 50 - taken);
    while (tw_board_linux_service(b) == 0) {}
    assert_false(tw_board_linux_behind(b));
    assert_int_equal(write_io(b, OUT, 50, frame, sizeof frame), sizeof frame);
    tw_board_linux_close(b);
    assert_non_null(strstr(log_text, "not recorded"));
    tw_wav_t w;
    char why[TW_WAV_WHY];
    assert_true(tw_wav_read(&w, in_folder("out.wav"), why));
    assert_int_equal(w.frames, 200 * (taken + 1));
    tw_wav_free(&w);
}

static void a_recording_never_mixes_two_formats(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with(override_of("line_out_0=", "out.wav"), NULL);
    const uint8_t frame[64] = {0};
    assert_int_equal(accept(b, OUT, TW_RAW_FP32, 1, 8000, 64), TW_OK); /* never ran: no claim on the file */
    assert_int_equal(accept(b, OUT, TW_RAW_S16, 2, 48000, 64), TW_OK);
    assert_int_equal(write_io(b, OUT, 0, frame, 64), 64);
    assert_int_equal(accept(b, OUT, TW_RAW_S16, 2, 44100, 64), TW_E_UNSUPPORTED);
    assert_non_null(strstr(log_text, "48000"));
    assert_non_null(strstr(log_text, "44100"));
    assert_int_equal(accept(b, OUT, TW_RAW_FP32, 2, 48000, 64), TW_E_UNSUPPORTED);
    assert_int_equal(accept(b, OUT, TW_RAW_Q15, 2, 48000, 32), TW_OK); /* same samples, other frame */
    assert_int_equal(write_io(b, OUT, 1, frame, 32), 32);
    tw_board_linux_close(b);
    tw_wav_t w;
    char why[TW_WAV_WHY];
    assert_true(tw_wav_read(&w, in_folder("out.wav"), why));
    assert_int_equal(w.frames, 24);
    tw_wav_free(&w);
}

static void an_accepted_graph_that_does_not_run_changes_nothing_for_the_running_one(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with("audio_in_0=ramp", NULL);
    const tw_board_t *board = tw_board_linux_board(b);
    assert_int_equal(accept(b, IN, TW_RAW_S16, 2, 48000, 8), TW_OK);
    board->adopt(board->ctx);
    assert_int_equal(accept(b, IN, TW_RAW_FP32, 1, 48000, 8), TW_OK); /* as many bytes, other samples */
    uint8_t f[8];
    assert_int_equal(read_io(b, IN, f, 8), 8);
    assert_int_equal((int16_t)tw_get_le16(f), (tw_board_linux_ramp(0, 0) + 0x8000) >> 16);
    board->adopt(board->ctx);
    assert_int_equal(read_io(b, IN, f, 8), 8);
    assert_true(tw_get_f32(f) == (float)tw_board_linux_ramp(2, 0) / 2147483648.0f);
    board->back(board->ctx); /* to the one before, and it again */
    assert_int_equal(read_io(b, IN, f, 8), 8);
    assert_int_equal((int16_t)tw_get_le16(f), (tw_board_linux_ramp(4, 0) + 0x8000) >> 16);
    board->back(board->ctx);
    assert_int_equal(read_io(b, IN, f, 8), 8);
    assert_true(tw_get_f32(f) == (float)tw_board_linux_ramp(6, 0) / 2147483648.0f);
    assert_int_equal(read_io(b, IN, f, 4), 0); /* a frame nobody announced */
    assert_int_equal(read_io(b, 99, f, 8), 0);
    assert_int_equal(write_io(b, IN, 0, f, 8), 0); /* an input takes nothing */
    tw_board_linux_close(b);
}

static void an_engine_that_never_says_adopt_gets_what_was_accepted_last(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with("audio_in_0=ramp", NULL);
    uint8_t f[8];
    assert_int_equal(accept(b, IN, TW_RAW_S16, 2, 48000, 8), TW_OK);
    assert_int_equal(read_io(b, IN, f, 8), 8);
    assert_int_equal(accept(b, IN, TW_RAW_FP32, 1, 48000, 8), TW_OK); /* as many bytes, other samples */
    assert_int_equal(read_io(b, IN, f, 8), 8);
    assert_true(tw_get_f32(f) == (float)tw_board_linux_ramp(2, 0) / 2147483648.0f);
    tw_board_linux_close(b);
}

static void the_ramp_depends_on_the_sample_number_alone(void **state)
{
    (void)state;
    /* golden: splitmix64 finaliser of 32 * sample + channel + 0x9E3779B97F4A7C15, upper half, halved */
    assert_int_equal(tw_board_linux_ramp(0, 0), (int32_t)0xE220A839 / 2); /* splitmix64's first value for seed 0 */
    tw_board_linux_t *a = open_with("audio_in_0=ramp", NULL), *b = open_with("audio_in_0=ramp", NULL);
    int16_t one[30], other[30];
    assert_int_equal(accept(a, IN, TW_RAW_S16, 1, 48000, 60), TW_OK);
    assert_int_equal(accept(b, IN, TW_RAW_S16, 1, 48000, 20), TW_OK);
    assert_int_equal(read_io(a, IN, one, 60), 60);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(read_io(b, IN, other + 10 * i, 20), 20);
    }
    assert_memory_equal(one, other, sizeof one);
    int64_t sum = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        const int32_t v = tw_board_linux_ramp(i, i % 3);
        assert_in_range((int64_t)v + 0x40000000, 0, 0x80000000u);
        sum += v;
    }
    assert_in_range(sum / 100000 + 0x800000, 0, 0x1000000); /* no offset to speak of */
    tw_board_linux_close(a);
    tw_board_linux_close(b);
}

static void changes_of_a_line_are_logged_with_their_tick(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with(NULL, NULL);
    assert_int_equal(accept(b, LINE, TW_RAW_S16, 1, 1000, 8), TW_OK);
    static const int16_t frames[][4] = {
        {0, 0, 0, 0}, {0, 16384, 0, 0}, {0, 0, 16385, 0}, {32767, 0, 0, 0}, {-32768, 0, 0, 0}};
    for (unsigned i = 0; i < TW_COUNT(frames); i++) {
        assert_int_equal(write_io(b, LINE, 100 + i, frames[i], 8), 8);
    }
    (void)tw_board_linux_service(b);
    assert_string_equal(log_text, "gpio io_platform_gpio_out_0 = 1 at tick 102\n"
                                  "gpio io_platform_gpio_out_0 = 0 at tick 104\n");
    tw_board_linux_close(b);
}

static void a_line_is_high_above_half_scale_in_every_type(void **state)
{
    (void)state;
    static const struct {
        uint32_t raw;
        uint8_t low[4], high[4];
    } cases[] = {
        {TW_RAW_U1, {0}, {0, 0, 0, 8}},
        {TW_RAW_S8, {64, 0x80, 0, 0}, {0, 0, 65, 0}},
        {TW_RAW_U8, {128, 0, 0, 0}, {0, 129, 0, 0}},
        {TW_RAW_U16, {0, 0x80, 0, 0}, {0, 0, 1, 0x80}},
        {TW_RAW_S32, {0, 0, 0, 0x40}, {1, 0, 0, 0x40}},
        {TW_RAW_U32, {0, 0, 0, 0x80}, {1, 0, 0, 0x80}},
        {TW_RAW_FP32, {0, 0, 0, 0x3F}, {0, 0, 0x40, 0x3F}},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        if (tw_samples_above_half(cases[i].raw, cases[i].low, 4) ||
            !tw_samples_above_half(cases[i].raw, cases[i].high, 4)) {
            fail_msg("%s", tw_raw_name(cases[i].raw));
        }
    }
}

static void a_line_in_is_what_the_program_sets(void **state)
{
    (void)state;
    tw_board_linux_t *b = open_with(NULL, NULL);
    assert_int_equal(accept(b, BUTTON, TW_RAW_Q15, 1, 0, 4), TW_OK);
    int16_t f[2] = {1, 1};
    assert_int_equal(read_io(b, BUTTON, f, 4), 4);
    assert_int_equal(f[0] | f[1], 0);
    assert_true(tw_board_linux_set_line(b, BUTTON, true));
    assert_int_equal(read_io(b, BUTTON, f, 4), 4);
    assert_int_equal(f[0], 32767);
    assert_int_equal(f[1], 32767);
    assert_false(tw_board_linux_set_line(b, LINE, true));
    assert_false(tw_board_linux_set_line(b, IN, true));
    tw_board_linux_close(b);
}

static void wrong_connections_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *says;
    } cases[] = {
        {"audio_in_0", NULL, "is not NAME=FILE"},
        {"=x.wav", NULL, "is not NAME=FILE"},
        {"audio_in_0=", NULL, "is not NAME=FILE"},
        {"audio_in=ramp", NULL, "no IO named 'audio_in'; there are: io_platform_audio_in_0"},
        {"line_out_0=ramp", NULL, "is an output: ramp"},
        {"audio_in_0=/proc/none/x.wav", NULL, "io_platform_audio_in_0: /proc/none/x.wav: No such file"},
        {"line_out_0=/proc/none/x.wav", NULL, "io_platform_line_out_0: cannot record: /proc/none/x.wav"},
        {"line_out_0=/tmp/x.wav", "data_out=/tmp/x.wav", "would share /tmp/x.wav"},
        {"audio_in_0=/tmp/x.wav", "line_out_0=/tmp/x.wav", "would share /tmp/x.wav"},
        {"audio_in_0=wav_in", NULL, "wav_in"}, /* a file of that name, which does not exist */
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        const char *overrides[] = {cases[i].a, cases[i].b};
        const tw_board_linux_cfg_t cfg = {
            .platform = &platform, .overrides = overrides, .n_overrides = 1u + (cases[i].b != NULL)};
        char why[TW_BOARD_WHY] = "";
        if (tw_board_linux_open(&cfg, why) != NULL || strstr(why, cases[i].says) == NULL) {
            fail_msg("row %u: %s", i, why);
        }
    }
    const tw_board_linux_cfg_t plain = {.platform = &platform};
    char why[TW_BOARD_WHY] = "";
    tag(&ios[0], "io_backend", "wav_in");
    assert_null(tw_board_linux_open(&plain, why));
    assert_non_null(strstr(why, "needs a file"));
    ios[0].n_extra = 0;
    tag(&ios[0], "io_backend", "alsa");
    assert_null(tw_board_linux_open(&plain, why));
    assert_non_null(strstr(why, "io_backend 'alsa' is unknown"));
    ios[0].n_extra = 0;
    memset(ios[0].name, 'x', sizeof ios[0].name - 1);
    assert_null(tw_board_linux_open(&plain, why));
    assert_non_null(strstr(why, "longer than 31"));
    platform.n_ios = 33;
    assert_null(tw_board_linux_open(&plain, why));
    assert_non_null(strstr(why, "at most 32"));
}

static const char STATE_ONE[] = "the first state", STATE_TWO[] = "another";

static void what_is_stored_is_there_when_the_board_is_opened_again(void **state)
{
    (void)state;
    const char *file = in_folder("state");
    const tw_board_linux_cfg_t cfg = {.platform = &platform, .state = file};
    char why[TW_BOARD_WHY] = "", got[64] = "";
    tw_board_linux_t *board = tw_board_linux_open(&cfg, why);
    assert_non_null(board);
    const tw_board_t *b = tw_board_linux_board(board);
    assert_int_equal(b->restore(b->ctx, got, sizeof got), 0);
    assert_true(b->store(b->ctx, STATE_ONE, sizeof STATE_ONE));
    assert_false(b->store(b->ctx, STATE_TWO, sizeof STATE_TWO)); /* the first is not written yet */
    (void)tw_board_linux_service(board);
    assert_true(b->store(b->ctx, STATE_TWO, sizeof STATE_TWO));
    assert_null(tw_board_linux_open(&cfg, why));
    assert_non_null(strstr(why, "another tunewired keeps its state there"));
    tw_board_linux_close(board);

    board = tw_board_linux_open(&cfg, why);
    b = tw_board_linux_board(board);
    assert_int_equal(b->restore(b->ctx, got, sizeof got), sizeof STATE_TWO);
    assert_string_equal(got, STATE_TWO);
    tw_board_linux_close(board);
    const tw_board_linux_cfg_t bad = {.platform = &platform, .state = "/proc/none/state"};
    assert_null(tw_board_linux_open(&bad, why));
    assert_non_null(strstr(why, "/proc/none/state: No such file"));
}

int main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(what_is_stored_is_there_when_the_board_is_opened_again),
        CLAIM(settings_are_options_of_the_manifest_or_refused),
        CLAIM(the_platform_is_described),
        CLAIM(a_file_is_read_to_its_end_and_then_is_silence),
        CLAIM(a_loop_is_the_file_modulo_its_length_whatever_the_frame),
        CLAIM(an_override_keeps_the_manifests_loop_unless_it_says_otherwise),
        CLAIM(samples_are_converted_to_what_the_graph_wants),
        CLAIM(narrowing_rounds_and_saturates),
        CLAIM(a_stream_a_file_cannot_give_is_refused_with_both_numbers),
        CLAIM(a_recording_is_what_was_written),
        CLAIM(channel_blocks_become_an_interleaved_file),
        CLAIM(a_full_ring_loses_frames_loudly_and_nothing_else),
        CLAIM(a_recording_never_mixes_two_formats),
        CLAIM(an_accepted_graph_that_does_not_run_changes_nothing_for_the_running_one),
        CLAIM(an_engine_that_never_says_adopt_gets_what_was_accepted_last),
        CLAIM(the_ramp_depends_on_the_sample_number_alone),
        CLAIM(changes_of_a_line_are_logged_with_their_tick),
        CLAIM(a_line_is_high_above_half_scale_in_every_type),
        CLAIM(a_line_in_is_what_the_program_sets),
        CLAIM(wrong_connections_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
