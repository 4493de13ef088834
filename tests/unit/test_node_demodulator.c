/* Bits through the modulator, noise, and the demodulator: how many come out wrong at which signal to noise ratio. */
#include "engine/node/signal.h"
#include "tests/unit/node_rig.h"
#include <math.h>

enum { AMPLITUDE = 1, SNR, MODE, FRAMING, PARITY, INVERT, BAUD, CARRIER, DEVIATION, SQUELCH, RECEIVED = 16, ERRORS };
enum { BITS_MAX = 24000, SAMPLES_MAX = 2000000 };

static uint32_t seed = 2024;
static uint8_t sent[BITS_MAX];
static float line[SAMPLES_MAX];

static tw_format_t format(tw_raw_t raw, uint32_t samples, float rate)
{
    tw_format_t f = rig_format(raw, 1, 0, samples);
    f.rate_hz = rate;
    return f;
}

static double gauss(void)
{
    double s = 0;
    for (unsigned i = 0; i < 12; i++) {
        s += rig_noise(&seed) / 4294967296.0;
    }
    return s - 6;
}

/* One way to send: what the modulator is told, and the demodulator. */
typedef struct way {
    const char *name;
    uint8_t wave, modulation, mode, invert;
    float carrier, deviation, baud, rate;
    int16_t a, b;
} way_t;

static const way_t level_9600 = {"level", 8, 0, 0, 0, 0, 0, 9600, 96000, 16384, 0};
static const way_t infrared = {"keyed", 1, 0, 1, 0, 38000, 0, 1785.7f, 192000, 16384, 16384};
static const way_t bell_202 = {"shifted", 1, 2, 2, 1, 1700, 500, 1200, 48000, -13653, 0};

/* Bits of `sent` through the modulator, times a half. @return samples */
static uint32_t modulate(const way_t *w, uint32_t bits)
{
    const uint32_t n = (uint32_t)((float)bits * w->rate / w->baud);
    uint8_t packed[BITS_MAX / 8] = {0}, index[4];
    rig_t g;
    assert_true(n < SAMPLES_MAX);
    for (uint32_t i = 0; i < bits; i++) {
        packed[i / 8] |= (uint8_t)(sent[i] << i % 8);
    }
    rig_open(&g, "modulator", format(TW_RAW_U1, BITS_MAX, 0), format(TW_RAW_FP32, 1, w->rate), w->wave);
    tw_put_le16(index, (uint16_t)w->a);
    tw_put_le16(index + 2, (uint16_t)w->b);
    assert_int_equal(rig_set_u16(&g, 2, 32768), TW_OK);
    assert_int_equal(rig_set_f32(&g, 4, w->carrier), TW_OK);
    assert_int_equal(rig_set_u8(&g, 6, w->modulation), TW_OK);
    assert_int_equal(rig_set_u8(&g, 7, w->wave == 8 ? 0 : 1), TW_OK);
    assert_int_equal(rig_set(&g, 8, index, 4), TW_OK);
    assert_int_equal(rig_set_f32(&g, 9, w->baud), TW_OK);
    tw_xdm_t data[2] = {{packed, BITS_MAX / 8}, {line, n * 4}};
    assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
    assert_int_equal(data[1].bytes, n * 4);
    rig_close(&g);
    return n;
}

/* Noise beside the signal. @param db  power of the one over the other, over all of the band */
static void add_noise(uint32_t n, double db)
{
    double power = 0;
    for (uint32_t i = 0; i < n; i++) {
        power += (double)line[i] * (double)line[i] / n;
    }
    const double sigma = sqrt(power / pow(10, db / 10));
    for (uint32_t i = 0; i < n; i++) {
        line[i] += (float)(sigma * gauss());
    }
}

static void listen(rig_t *g, const way_t *w, tw_raw_t out, uint8_t framing)
{
    rig_open(g, "demodulator", format(TW_RAW_FP32, 1, w->rate), format(out, 1, 0), 0);
    assert_int_equal(rig_set_u8(g, MODE, w->mode), TW_OK);
    assert_int_equal(rig_set_u8(g, FRAMING, framing), TW_OK);
    assert_int_equal(rig_set_u8(g, INVERT, w->invert), TW_OK);
    assert_int_equal(rig_set_f32(g, BAUD, w->baud), TW_OK);
    assert_int_equal(rig_set_f32(g, CARRIER, w->carrier), TW_OK);
    assert_int_equal(rig_set_f32(g, DEVIATION, w->deviation), TW_OK);
}

/* The line in pieces. @return units out */
static uint32_t demodulate(rig_t *g, uint32_t n, uint8_t *out, uint32_t room)
{
    uint32_t used = 0, made = 0;
    while (used < n) {
        const uint32_t give = tw_min_u32(1 + rig_noise(&seed) % 1000, n - used);
        tw_xdm_t data[2] = {{line + used, 4 * give}, {out + made, room - made}};
        assert_int_equal(rig_command(g, TW_CMD_RUN, 0, data), 0);
        used += data[0].bytes / 4;
        made += data[1].bytes;
        assert_true(data[0].bytes != 0);
    }
    return made;
}

/* Bytes as a UART sends them, some rest between. @return bits */
static uint32_t as_uart(const uint8_t *bytes, uint32_t n, unsigned parity)
{
    uint32_t k = 0;
    for (unsigned i = 0; i < 30; i++) {
        sent[k++] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t ones = 0;
        sent[k++] = 0;
        for (unsigned b = 0; b < 8; b++) {
            ones += sent[k++] = bytes[i] >> b & 1;
        }
        if (parity != 0) {
            sent[k++] = (uint8_t)((ones + parity - 1) % 2);
        }
        for (unsigned rest = rig_noise(&seed) % 4 == 0 ? 5 : 1; rest > 0; rest--) {
            sent[k++] = 1;
        }
    }
    for (unsigned i = 0; i < 12; i++) {
        sent[k++] = 1;
    }
    assert_true(k <= BITS_MAX);
    return k;
}

static void bytes_come_through_20_db_of_noise_and_2_percent_of_baud(void **state)
{
    (void)state;
    static const way_t *const ways[] = {&level_9600, &infrared, &bell_202};
    for (size_t i = 0; i < TW_COUNT(ways); i++) {
        for (unsigned parity = 0; parity <= 2; parity++) {
            uint8_t bytes[200], got[400], wire[4];
            rig_t g;
            for (unsigned k = 0; k < sizeof bytes; k++) {
                bytes[k] = (uint8_t)rig_noise(&seed);
            }
            const uint32_t n = modulate(ways[i], as_uart(bytes, sizeof bytes, parity));
            add_noise(n, 20);
            listen(&g, ways[i], TW_RAW_U8, 1);
            const float wrong = parity == 0 ? 1.0f : parity == 1 ? 1.02f : 0.98f; /* the two clocks' rates */
            assert_int_equal(rig_set_f32(&g, BAUD, ways[i]->baud * wrong), TW_OK);
            assert_int_equal(rig_set_u8(&g, PARITY, (uint8_t)parity), TW_OK);
            const uint32_t made = demodulate(&g, n, got, sizeof got);
            if (made != sizeof bytes || memcmp(bytes, got, sizeof bytes) != 0) {
                fail_msg("%s, parity %u: %u bytes", ways[i]->name, parity, made);
            }
            assert_int_equal(rig_get(&g, RECEIVED, wire, 4), 4);
            assert_int_equal(tw_get_le32(wire), sizeof bytes);
            assert_int_equal(rig_get(&g, ERRORS, wire, 4), 4);
            assert_int_equal(tw_get_le32(wire), 0);
            assert_true(fabsf(rig_get_f32(&g, AMPLITUDE) - 0.5f) < 0.2f);
            rig_close(&g);
        }
    }
}

/* Bits wrong of those sent, the two streams laid over one another where they fit best; a slip of the clock counts. */
static double bit_errors(const uint8_t *got, uint32_t n_got, uint32_t n_sent)
{
    uint32_t best = n_sent;
    for (uint32_t shift = 0; shift < 24; shift++) { /* 8: none */
        uint32_t wrong = 0;
        for (uint32_t i = 8; i + shift < n_sent + 8; i++) {
            wrong += i >= n_got || got[i] != sent[i + shift - 8];
        }
        best = wrong < best ? wrong : best;
    }
    return (double)best / n_sent;
}

static void bits_go_wrong_no_more_often_than_stated(void **state)
{
    (void)state;
    static const struct {
        const way_t *way;
        double snr_db, rate;
    } cases[] = {
        {&level_9600, 6, 0}, {&level_9600, 0, 0.01}, /* 10 samples a bit */
        {&infrared, 0, 0},   {&infrared, -6, 0.01},  /* 108 a bit */
        {&bell_202, 3, 0},   {&bell_202, -2, 0.01},  /* 40 a bit */
    };
    static uint8_t got[BITS_MAX];
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        enum { N = 8000 };
        rig_t g;
        for (uint32_t k = 0; k < N; k++) {
            sent[k] = (uint8_t)(k < 16 ? k % 2 : k % 13 == 0 ? !sent[k - 1] : rig_noise(&seed) >> 9 & 1); /* edges */
        }
        const uint32_t n = modulate(cases[i].way, N);
        add_noise(n, cases[i].snr_db);
        listen(&g, cases[i].way, TW_RAW_U8, 0);
        const uint32_t made = demodulate(&g, n, got, sizeof got);
        const double rate = bit_errors(got, made, N - 2);
        print_message("%s at %g dB: %.5f of %u bits wrong, soft bits %.1f dB\n", cases[i].way->name, cases[i].snr_db,
                      rate, N, (double)rig_get_f32(&g, SNR));
        assert_true(rate <= cases[i].rate);
        rig_close(&g);
    }
}

static void noise_alone_is_no_signal(void **state)
{
    (void)state;
    static const way_t *const ways[] = {&level_9600, &infrared, &bell_202};
    for (size_t i = 0; i < TW_COUNT(ways); i++) {
        uint8_t got[16];
        rig_t g;
        for (uint32_t k = 0; k < 200000; k++) {
            line[k] = (float)(0.01 * gauss());
        }
        listen(&g, ways[i], TW_RAW_U8, 1);
        assert_int_equal(rig_set_f32(&g, SQUELCH, 0.05f), TW_OK);
        assert_int_equal(demodulate(&g, 200000, got, sizeof got), 0);
        rig_close(&g);
    }
}

static void a_broken_byte_is_counted_and_dropped(void **state)
{
    (void)state;
    const uint8_t bytes[3] = {0x55, 0x0F, 0xA3};
    uint8_t got[8], wire[4];
    rig_t g;
    const uint32_t bits = as_uart(bytes, 3, 1);
    const uint32_t n = modulate(&level_9600, bits);
    listen(&g, &level_9600, TW_RAW_U8, 1);
    assert_int_equal(rig_set_u8(&g, PARITY, 2), TW_OK);
    assert_int_equal(demodulate(&g, n, got, sizeof got), 0);
    assert_int_equal(rig_get(&g, ERRORS, wire, 4), 4);
    assert_int_equal(tw_get_le32(wire), 3);
    rig_close(&g);
}

static void outputs_are_bits_bytes_or_soft_bits(void **state)
{
    (void)state;
    const uint8_t bytes[4] = {0xC5, 0x3A, 0x00, 0xFF};
    uint8_t got[64];
    int16_t soft[64];
    rig_t g;
    uint32_t n = modulate(&level_9600, as_uart(bytes, 4, 0));
    listen(&g, &level_9600, TW_RAW_U1, 1);
    rig_close(&g);
    rig_open(&g, "demodulator", format(TW_RAW_FP32, 1, 96000), format(TW_RAW_U1, 8, 0), 1);
    assert_int_equal(demodulate(&g, n, got, sizeof got), 4);
    assert_memory_equal(got, bytes, 4);
    rig_close(&g);
    listen(&g, &level_9600, TW_RAW_S16, 1);
    assert_int_equal(demodulate(&g, n, (uint8_t *)soft, sizeof soft), 8);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(soft[i], bytes[i]);
    }
    rig_close(&g);
    for (uint32_t k = 0; k < 40; k++) {
        sent[k] = (uint8_t)(k % 2);
    }
    n = modulate(&level_9600, 40);
    listen(&g, &level_9600, TW_RAW_S16, 0);
    const uint32_t made = demodulate(&g, n, (uint8_t *)soft, sizeof soft) / 2;
    assert_true(made >= 36);
    for (uint32_t k = 2; k + 2 < made; k++) {
        assert_true(abs(soft[k]) > 26000 && (soft[k] > 0) != (soft[k - 1] > 0));
    }
    rig_close(&g);
}

static void bits_shorter_than_eight_samples_are_refused(void **state)
{
    (void)state;
    rig_t g;
    uint8_t all[8] = {0, 1, 0, 0};
    rig_open(&g, "demodulator", format(TW_RAW_S16, 8, 48000), format(TW_RAW_U8, 1, 0), 0);
    assert_int_equal(rig_set_f32(&g, BAUD, 6000), TW_OK);
    assert_int_equal(rig_set_f32(&g, BAUD, 6001), TW_E_PARAM_RANGE);
    tw_put_f32(all + 4, 6001);
    assert_int_equal(rig_set(&g, 256, all, 4), TW_OK);
    assert_int_equal(rig_set(&g, 256, all, 8), TW_E_PARAM_RANGE);
    tw_put_f32(all + 4, 600);
    assert_int_equal(rig_set(&g, 256, all, 8), TW_OK);
    assert_true(rig_get_f32(&g, BAUD) == 600);
    assert_int_equal(rig_set_f32(&g, AMPLITUDE, 1), TW_E_PARAM_READ_ONLY);
    assert_int_equal(rig_reset(&g, false, 5), -TW_E_PARAM_PRESET);
    rig_close(&g);
    rig_prepare(&g, "demodulator", format(TW_RAW_S16, 8, 0), format(TW_RAW_U8, 1, 0));
    assert_int_equal(rig_reset(&g, false, 0), -TW_E_IMG_FORMAT);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_through_20_db_of_noise_and_2_percent_of_baud),
        cmocka_unit_test(bits_go_wrong_no_more_often_than_stated),
        cmocka_unit_test(noise_alone_is_no_signal),
        cmocka_unit_test(a_broken_byte_is_counted_and_dropped),
        cmocka_unit_test(outputs_are_bits_bytes_or_soft_bits),
        cmocka_unit_test(bits_shorter_than_eight_samples_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
