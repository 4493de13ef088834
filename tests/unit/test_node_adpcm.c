/* IMA ADPCM as nodes: what is heard of it, what a lost block costs, what hostile bytes do. That the codes are those
 * of others is the golden files' claim, made there by a second implementation and by Python's audioop. */
#include "engine/node/ima_adpcm.h"
#include "tests/unit/node_rig.h"
#include <math.h>

enum { SAMPLES = 40 * 505 };

static uint32_t seed = 99;

/* A voice: a pitch with harmonics, loud and soft by turns. */
static void fill_voice(int16_t *x, uint32_t n, uint32_t step)
{
    for (uint32_t t = 0; t < n; t++) {
        double y = 0;
        for (unsigned h = 1; h <= 8; h++) {
            y += sin(2 * M_PI * 140 / 16000 * h * t) / h;
        }
        x[(size_t)t * step] = (int16_t)(9000 * y * (0.3 + 0.7 * pow(sin(t / 3000.0), 2)));
    }
}

static double snr_db(const int16_t *x, const int16_t *y, uint32_t n)
{
    double signal = 0, error = 0;
    for (uint32_t i = 0; i < n; i++) {
        signal += (double)x[i] * x[i];
        error += (double)(x[i] - y[i]) * (x[i] - y[i]);
    }
    return 10 * log10(signal / error);
}

static void a_voice_keeps_30_db(void **state)
{
    (void)state;
    static int16_t x[SAMPLES], y[SAMPLES];
    static uint8_t code[SAMPLES / 2];
    rig_t e, d;
    fill_voice(x, SAMPLES, 1);
    rig_open(&e, "compressor", rig_format(TW_RAW_S16, 1, 0, 20), rig_format(TW_RAW_U8, 1, 0, 10), 1);
    rig_open(&d, "decompressor", rig_format(TW_RAW_U8, 1, 0, 10), rig_format(TW_RAW_S16, 1, 0, 20), 1);
    rig_run(&e, x, sizeof x, code, sizeof code);
    rig_run(&d, code, sizeof code, y, sizeof y);
    const double db = snr_db(x, y, SAMPLES);
    print_message("IMA ADPCM, voice at 16 kHz: %.1f dB\n", db);
    assert_true(db >= 30);
    assert_true(fabs((double)rig_get_f32(&e, 16) - db) < 0.01); /* the encoder knows what the decoder hears */
    rig_close(&e);
    rig_close(&d);
}

static void a_voice_by_cvsd_at_64_khz_keeps_15_db(void **state)
{
    (void)state;
    static int16_t x[SAMPLES], y[SAMPLES];
    static uint8_t code[SAMPLES / 8];
    rig_t e, d;
    fill_voice(x, SAMPLES / 4, 4); /* four times each: 64 kHz, straight between */
    for (uint32_t i = 0; i + 4 < SAMPLES; i++) {
        x[i] = (int16_t)((x[i / 4 * 4] * (int32_t)(4 - i % 4) + x[i / 4 * 4 + 4] * (int32_t)(i % 4)) / 4);
    }
    rig_open(&e, "compressor", rig_format(TW_RAW_S16, 1, 0, 40), rig_format(TW_RAW_U8, 1, 0, 5), 3);
    rig_open(&d, "decompressor", rig_format(TW_RAW_U8, 1, 0, 5), rig_format(TW_RAW_S16, 1, 0, 40), 4);
    rig_run(&e, x, sizeof x, code, sizeof code);
    rig_run(&d, code, sizeof code, y, sizeof y);
    const double db = snr_db(x, y, SAMPLES);
    print_message("CVSD, voice at 64 kHz: %.1f dB\n", db);
    assert_true(db >= 15);
    assert_true(fabs((double)rig_get_f32(&e, 16) - db) < 0.05);
    rig_close(&e);
    rig_close(&d);
}

/* In pieces of any size, through arcs that hold one frame, the stream is the same. */
static void pieces_make_the_same_stream(void **state)
{
    (void)state;
    static int16_t x[3 * 700];
    static uint8_t whole[3 * 1050], parts[3 * 1050];
    fill_voice(x, 2100, 1);
    for (unsigned preset = 1; preset <= 16; preset += 15) {
        rig_t g;
        rig_open(&g, "compressor", rig_format(TW_RAW_S16, 3, 0, 7), rig_format(TW_RAW_U8, 1, 0, 35), preset);
        tw_xdm_t all[2] = {{x, sizeof x}, {whole, sizeof whole}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, all), 0);
        assert_int_equal(all[0].bytes, sizeof x);
        assert_int_equal(rig_reset(&g, false, preset), 0);
        uint32_t made = 0;
        for (uint32_t used = 0, turn = 0; used < sizeof x; turn++) {
            tw_xdm_t data[2] = {{(uint8_t *)x + used, 42}, {parts + made, turn % 3 == 0 ? 0 : 35}};
            assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
            assert_true(data[0].bytes % 42 == 0 && data[1].bytes % 35 == 0);
            used += data[0].bytes;
            made += data[1].bytes;
        }
        assert_true(made + 35 >= all[1].bytes && made > 0);
        assert_memory_equal(parts, whole, made);
        rig_close(&g);
    }
}

static void a_lost_block_costs_its_own_samples_only(void **state)
{
    (void)state;
    enum { BLOCK = 256, N = 505, BLOCKS = 40 };
    static int16_t x[SAMPLES], y[SAMPLES], z[SAMPLES];
    static uint8_t code[BLOCKS * BLOCK];
    rig_t e, d;
    fill_voice(x, SAMPLES, 1);
    rig_open(&e, "compressor", rig_format(TW_RAW_S16, 1, 0, N), rig_format(TW_RAW_U8, 1, 0, BLOCK), 16);
    rig_open(&d, "decompressor", rig_format(TW_RAW_U8, 1, 0, BLOCK), rig_format(TW_RAW_S16, 1, 0, N), 16);
    rig_run(&e, x, sizeof x, code, sizeof code);
    rig_run(&d, code, sizeof code, y, sizeof y);
    assert_true(snr_db(x, y, SAMPLES) >= 24);
    for (uint32_t k = 0; k < BLOCK; k++) {
        code[7 * BLOCK + k] = (uint8_t)rig_noise(&seed);
    }
    memmove(code + 20 * BLOCK, code + 21 * BLOCK, (BLOCKS - 21) * BLOCK);
    assert_int_equal(rig_reset(&d, false, 16), 0);
    rig_run(&d, code, (BLOCKS - 1) * BLOCK, z, (BLOCKS - 1) * N * sizeof *z);
    for (uint32_t b = 0; b < BLOCKS - 1; b++) {
        const bool same = memcmp(z + b * N, y + (b < 20 ? b : b + 1) * N, N * sizeof *z) == 0;
        assert_true(same == (b != 7));
    }
    rig_close(&e);
    rig_close(&d);
}

static void hostile_bytes_are_a_noise_and_nothing_worse(void **state)
{
    (void)state;
    for (unsigned preset = 1; preset <= 16; preset += 15) {
        static uint8_t code[4000];
        static int16_t y[2 * 8000];
        rig_t d;
        rig_open(&d, "decompressor", rig_format(TW_RAW_U8, 1, 0, 40), rig_format(TW_RAW_Q15, 2, 1, 11), preset);
        for (unsigned round = 0; round < 200; round++) {
            for (uint32_t k = 0; k < sizeof code; k++) {
                code[k] = (uint8_t)(round == 0 ? 0x77 : round == 1 ? 0xFF : rig_noise(&seed));
            }
            tw_xdm_t data[2] = {{code, sizeof code}, {y, sizeof y}};
            assert_int_equal(rig_command(&d, TW_CMD_RUN, 0, data), 0);
        }
        uint8_t wire[4];
        assert_int_equal(rig_get(&d, 16, wire, 4), 4);
        assert_true((tw_get_le32(wire) != 0) == (preset == 16)); /* indexes above 88 are counted */
        rig_close(&d);
    }
}

static void off_is_silence_behind_a_ramp(void **state)
{
    (void)state;
    static int16_t x[2000], on[2000], y[2000];
    static uint8_t code[1000];
    rig_t e, d;
    fill_voice(x, 2000, 1);
    rig_open(&e, "compressor", rig_format(TW_RAW_S16, 1, 0, 2), rig_format(TW_RAW_U8, 1, 0, 1), 0);
    rig_open(&d, "decompressor", rig_format(TW_RAW_U8, 1, 0, 1), rig_format(TW_RAW_S16, 1, 0, 2), 0);
    rig_run(&e, x, sizeof x, code, sizeof code);
    rig_run(&d, code, sizeof code, on, sizeof on);
    assert_int_equal(rig_reset(&d, false, 0), 0);
    rig_run(&d, code, 400, y, 1600);
    assert_int_equal(rig_set_u8(&d, 1, 0), TW_OK);
    rig_run(&d, code + 400, 200, y + 800, 800);
    assert_int_equal(rig_set_u8(&d, 1, 1), TW_OK);
    rig_run(&d, code + 600, 400, y + 1200, 1600);
    for (uint32_t i = 0; i < 2000; i++) {
        const uint32_t gain = i < 800 ? 256 : i < 1056 ? 1056 - i : i < 1200 ? 0 : i < 1456 ? i - 1200 : 256;
        assert_int_equal(y[i], on[i] * (int32_t)gain / 256);
    }
    rig_close(&e);
    rig_close(&d);
}

static void a_warm_reset_keeps_the_predictor(void **state)
{
    (void)state;
    static int16_t x[400];
    for (unsigned warm = 0; warm < 2; warm++) {
        uint8_t code[200], again[200];
        rig_t e;
        fill_voice(x, 400, 1);
        rig_open(&e, "compressor", rig_format(TW_RAW_S16, 1, 0, 2), rig_format(TW_RAW_U8, 1, 0, 1), 0);
        rig_run(&e, x, sizeof x, code, sizeof code);
        assert_int_equal(rig_reset(&e, warm != 0, 0), 0);
        rig_run(&e, x, sizeof x, again, sizeof again);
        assert_true((memcmp(code, again, sizeof code) == 0) == (warm == 0));
        rig_close(&e);
    }
}

static void what_is_no_adpcm_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t in, out;
        uint32_t coded; /* [bytes] a frame */
        uint32_t preset;
        tw_err_t err;
    } cases[] = {
        {"a stream", TW_RAW_S16, TW_RAW_U8, 1, 0, TW_OK},
        {"its name in the list", TW_RAW_Q15, TW_RAW_HEXBINARY, 1, 1, TW_OK},
        {"the shortest block", TW_RAW_S16, TW_RAW_U8, 16, 16, TW_OK},
        {"no group in a block", TW_RAW_S16, TW_RAW_U8, 15, 16, TW_E_IMG_FORMAT},
        {"LPC", TW_RAW_S16, TW_RAW_U8, 16, 2, TW_E_PARAM_PRESET},
        {"SBC", TW_RAW_S16, TW_RAW_U8, 16, 5, TW_E_PARAM_PRESET},
        {"codes that are samples", TW_RAW_S16, TW_RAW_S16, 16, 1, TW_E_IMG_RAW},
        {"samples that are codes", TW_RAW_U8, TW_RAW_U8, 16, 1, TW_E_IMG_RAW},
    };
    for (size_t i = 0; i < 2 * TW_COUNT(cases); i++) {
        const bool back = i >= TW_COUNT(cases);
        const size_t k = i % TW_COUNT(cases);
        const tw_format_t pcm = rig_format((tw_raw_t)cases[k].in, 2, 0, 8);
        tw_format_t coded = rig_format((tw_raw_t)cases[k].out, 1, 0, 16);
        coded.frame_bytes = cases[k].coded;
        rig_t g;
        rig_prepare(&g, back ? "decompressor" : "compressor", back ? coded : pcm, back ? pcm : coded);
        if (rig_reset(&g, false, cases[k].preset) != (uint32_t)-cases[k].err) {
            fail_msg("%s, %s", g.d->name, cases[k].why);
        }
        if (cases[k].err == TW_OK) {
            g.reset.mem_bytes[0] -= 4;
            assert_int_equal(rig_reset(&g, false, cases[k].preset), -TW_E_IMG_MEM);
        }
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_voice_keeps_30_db),
        cmocka_unit_test(a_voice_by_cvsd_at_64_khz_keeps_15_db),
        cmocka_unit_test(pieces_make_the_same_stream),
        cmocka_unit_test(a_lost_block_costs_its_own_samples_only),
        cmocka_unit_test(hostile_bytes_are_a_noise_and_nothing_worse),
        cmocka_unit_test(off_is_silence_behind_a_ramp),
        cmocka_unit_test(a_warm_reset_keeps_the_predictor),
        cmocka_unit_test(what_is_no_adpcm_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
