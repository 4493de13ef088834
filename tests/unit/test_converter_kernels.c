/* The converter's kernels: every word of every type against its definition, every rounding against the nearest
 * word there is, the resampler against sines and against its own definition in double precision. */
#include "engine/node/convert.h"
#include "engine/node/resample.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 0x9E3779B97F4A7C15u;

static uint64_t noise(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double load1(uint32_t raw, const void *p)
{
    double v = 0;
    tw_convert_load(raw, p, 0, 1, 1, &v);
    return v;
}

static uint64_t store1(uint32_t raw, double v, unsigned bytes)
{
    uint64_t w = 0;
    tw_convert_store(raw, (uint8_t *)&w, 0, 1, 1, &v);
    return bytes == 8 ? w : w & (((uint64_t)1 << 8 * bytes) - 1);
}

/* The table of convert.h once more, as a person would write it down. */
static const struct type {
    uint8_t raw, bytes, bits, is_signed;
    double one; /* the word of 1.0 */
} types[] = {
    {TW_RAW_S8, 1, 8, 1, 128},
    {TW_RAW_U8, 1, 8, 0, 256},
    {TW_RAW_Q7, 1, 8, 1, 128},
    {TW_RAW_CHAR, 1, 8, 0, 256},
    {TW_RAW_S16, 2, 16, 1, 32768},
    {TW_RAW_U16, 2, 16, 0, 65536},
    {TW_RAW_Q15, 2, 16, 1, 32768},
    {TW_RAW_Q23_32, 4, 24, 1, 8388608},
    {TW_RAW_S32, 4, 32, 1, 2147483648.0},
    {TW_RAW_U32, 4, 32, 0, 4294967296.0},
    {TW_RAW_Q31, 4, 32, 1, 2147483648.0},
    {TW_RAW_TIME16, 2, 16, 0, 4},
    {TW_RAW_TIME16D, 2, 16, 0, 32768},
    {TW_RAW_TIME32, 4, 32, 0, 16},
    {TW_RAW_TIME32D, 4, 32, 0, 32768},
    {TW_RAW_TIMESTMP, 4, 32, 0, 4096},
    {TW_RAW_TIME64, 8, 60, 0, 268435456.0},
    {TW_RAW_TIME64MS, 8, 42, 0, 1000},
};

static int64_t word_of(const struct type *t, uint64_t w)
{
    w &= t->bits == 64 ? UINT64_MAX : ((uint64_t)1 << t->bits) - 1;
    return t->is_signed && w >> (t->bits - 1) ? (int64_t)w - (int64_t)((uint64_t)1 << t->bits) : (int64_t)w;
}

/* A word in memory: value bits, and above them the sign or zeros. */
static uint64_t in_memory(const struct type *t, uint64_t w)
{
    const uint64_t v = (uint64_t)word_of(t, w);
    return t->bytes == 8 ? v : v & (((uint64_t)1 << 8 * t->bytes) - 1);
}

static void every_word_is_its_number_and_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        const struct type *t = &types[i];
        const uint64_t n = t->bits <= 16 ? (uint64_t)1 << t->bits : 40000;
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t w = in_memory(t, t->bits <= 16 ? k : noise() & noise());
            const long double want = (long double)word_of(t, w) / (long double)t->one;
            const double got = load1(t->raw, &w);
            if (fabsl((long double)got - want) > fabsl(want) * 2.3e-16L) {
                fail_msg("%s %llx is %.20g, not %.20Lg", tw_raw_name(t->raw), (unsigned long long)w, got, want);
            }
            if (t->bits <= 42 && (got != (double)want || store1(t->raw, got, t->bytes) != w)) {
                fail_msg("%s %llx comes back as %llx", tw_raw_name(t->raw), (unsigned long long)w,
                         (unsigned long long)store1(t->raw, got, t->bytes));
            }
        }
    }
}

/* Nearest word, ties to even, ends of the range beyond them. */
static uint64_t nearest_word(const struct type *t, double v)
{
    const long double top = (long double)(((uint64_t)1 << (t->bits - t->is_signed)) - 1);
    const long double bottom = t->is_signed ? -top - 1 : 0;
    /* milliseconds are no power of two: the product is a double's already */
    const long double scaled = t->one == 1000 ? (long double)(v * 1000) : (long double)v * (long double)t->one;
    const long double y = nearbyintl(scaled);
    const long double w = v != v ? 0 : y > top ? top : y < bottom ? bottom : y;
    return in_memory(t, (uint64_t)(int64_t)w);
}

static double some_number(const struct type *t)
{
    const double u = (double)(int64_t)noise() / 9223372036854775808.0;
    switch (noise() % 8) {
    case 0:
        return 1.0 + u / 100;
    case 1:
        return -1.0 + u / 100;
    case 2: /* a tie, or nearly */
        return ((double)(int64_t)(u * 300.0) + 0.5) / t->one * (noise() % 2 ? 1.0 : 1.0 + 1e-9);
    case 3:
        return u * 1e6;
    case 4:
        return u * 1e-6;
    case 5:
        return u * t->one;
    default:
        return u;
    }
}

static void numbers_go_to_the_nearest_word_ties_to_even(void **state)
{
    (void)state;
    static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e300, -1e300, 5e-324, 0.5, -0.5};
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        const struct type *t = &types[i];
        for (unsigned k = 0; k < 20000; k++) {
            const double v = k < TW_COUNT(special) ? special[k] : some_number(t);
            const uint64_t want = nearest_word(t, v), got = store1(t->raw, v, t->bytes);
            if (want != got) {
                fail_msg("%.20g as %s is %llx, nearest %llx", v, tw_raw_name(t->raw), (unsigned long long)got,
                         (unsigned long long)want);
            }
        }
    }
}

static void rounding_is_shown_by_a_few_words(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t raw, bytes;
        double v;
        uint64_t want;
    } cases[] = {
        {"tie to even, down", TW_RAW_S16, 2, 2.5 / 32768, 2},
        {"tie to even, up", TW_RAW_S16, 2, 3.5 / 32768, 4},
        {"negative tie", TW_RAW_S16, 2, -2.5 / 32768, 0xFFFE},
        {"one is beyond a fraction", TW_RAW_Q15, 2, 1.0, 0x7FFF},
        {"minus one is not", TW_RAW_Q15, 2, -1.0, 0x8000},
        {"unsigned has no negative", TW_RAW_U8, 1, -0.1, 0},
        {"NaN is 0", TW_RAW_S32, 4, NAN, 0},
        {"infinity is the end", TW_RAW_S32, 4, -INFINITY, 0x80000000u},
        {"24 bits in 32", TW_RAW_Q23_32, 4, -2.0, 0xFF800000u},
        {"half: largest", TW_RAW_FP16, 2, 1e9, 0x7BFF},
        {"half: infinity stays", TW_RAW_FP16, 2, INFINITY, 0x7C00},
        {"half: smallest", TW_RAW_FP16, 2, 5.9604644775390625e-8, 0x0001},
        {"half: tie of the smallest", TW_RAW_FP16, 2, 2.98023223876953125e-8, 0x0000},
        {"half: carries into the exponent", TW_RAW_FP16, 2, 2047.9, 0x6800},
        {"half: carries into the normal ones", TW_RAW_FP16, 2, 6.103515e-5, 0x0400},
        {"half: minus zero", TW_RAW_FP16, 2, -0.0, 0x8000},
        {"single: largest", TW_RAW_FP32, 4, -1e300, 0xFF7FFFFFu},
        {"single: infinity stays", TW_RAW_FP32, 4, INFINITY, 0x7F800000u},
        {"single: nearest", TW_RAW_FP32, 4, 0.1, 0x3DCCCCCDu},
        {"seconds of a quarter", TW_RAW_TIME16, 2, 2.75, 11},
        {"milliseconds", TW_RAW_TIME64MS, 8, 1.2345, 1234},
        {"a bit is over one half", TW_RAW_U1, 1, 0.51, 1},
        {"half is not over one half", TW_RAW_U1, 1, 0.5, 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const uint64_t got = store1(cases[i].raw, cases[i].v, cases[i].bytes);
        if (got != cases[i].want) {
            fail_msg("%s: %llx", cases[i].why, (unsigned long long)got);
        }
    }
}

/* From 64-bit time to fewer bits there is one rounding, not two. */
static void long_words_are_rounded_once(void **state)
{
    (void)state;
    static const struct type *const to = &types[13]; /* TIME32: 4 bits of fraction */
    assert_int_equal(to->raw, TW_RAW_TIME32);
    for (unsigned k = 0; k < 200000; k++) {
        /* within a few units of a tie at the fourth bit of fraction, large enough to lose bits on the way */
        const uint64_t tie = (noise() & 0x1FFFFFFu) << 32 | (noise() % 16) << 24 | 1u << 23;
        const uint64_t w = tie + noise() % 5 - 2;
        const uint64_t down = w >> 24, rest = w & 0xFFFFFFu, half = 1u << 23;
        const uint64_t near = down + (rest > half || (rest == half && down % 2 == 1));
        const uint64_t want = near > UINT32_MAX ? UINT32_MAX : near;
        assert_int_equal(store1(TW_RAW_TIME32, load1(TW_RAW_TIME64, &w), 4), want);
    }
}

static double half_value(uint32_t h)
{
    const int e = (int)(h >> 10 & 31u);
    const double m = (double)(h & 1023u);
    return (h >> 15 ? -1 : 1) * (e == 0 ? ldexp(m, -24) : ldexp(m + 1024, e - 25));
}

static void every_half_is_read_and_every_number_finds_its_nearest(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const uint16_t w = (uint16_t)h;
        if ((h >> 10 & 31u) == 31) {
            assert_true((h & 1023u) != 0 ? isnan(load1(TW_RAW_FP16, &w)) : isinf(load1(TW_RAW_FP16, &w)));
        } else {
            assert_true(load1(TW_RAW_FP16, &w) == half_value(h));
            assert_int_equal(store1(TW_RAW_FP16, half_value(h), 2), h);
        }
    }
    for (uint32_t h = 0; h < 0x7BFF; h++) { /* between two neighbours, at the middle and to its sides */
        const double a = half_value(h), b = half_value(h + 1), middle = (a + b) / 2;
        assert_int_equal(store1(TW_RAW_FP16, middle, 2), h % 2 == 0 ? h : h + 1);
        assert_int_equal(store1(TW_RAW_FP16, -nextafter(middle, 0), 2), h | 0x8000u);
        assert_int_equal(store1(TW_RAW_FP16, nextafter(middle, 1e9), 2), h + 1);
    }
    assert_int_equal(store1(TW_RAW_FP16, NAN, 2) & 0x7C00u, 0x7C00u);
    assert_true((store1(TW_RAW_FP16, NAN, 2) & 1023u) != 0);
}

static void floats_keep_what_they_are(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 100000; k++) {
        const uint64_t w64 = noise();
        const uint32_t w32 = (uint32_t)w64;
        double d;
        float f;
        memcpy(&d, &w64, 8);
        memcpy(&f, &w32, 4);
        if (!isnan(d)) {
            assert_true(store1(TW_RAW_FP64, load1(TW_RAW_FP64, &w64), 8) == w64);
        }
        if (!isnan(f)) {
            assert_true(load1(TW_RAW_FP32, &w32) == (double)f);
            assert_true(store1(TW_RAW_FP32, (double)f, 4) == w32);
        }
    }
}

static void strides_and_bits_touch_their_samples_alone(void **state)
{
    (void)state;
    for (uint32_t raw = 0; raw < TW_RAW_COUNT; raw++) {
        if (!tw_convert_numeric(raw)) {
            continue;
        }
        const unsigned bits = tw_raw_bits(raw);
        for (size_t step = 1; step <= 5; step++) {
            uint8_t data[512], before[512];
            double v[8], back[8];
            memset(data, 0xC3, sizeof data);
            memcpy(before, data, sizeof data);
            for (unsigned i = 0; i < 8; i++) {
                v[i] = raw == TW_RAW_U1 ? (double)(i % 3 == 0) : (double)(i + 1) / 16;
            }
            tw_convert_store(raw, data, 2, step, 8, v);
            tw_convert_load(raw, data, 2, step, 8, back);
            for (size_t bit = 0; bit < sizeof data * 8; bit++) {
                const size_t sample = bit / bits;
                const bool ours = sample >= 2 && (sample - 2) % step == 0 && (sample - 2) / step < 8;
                if (!ours && (data[bit / 8] >> bit % 8 & 1) != (before[bit / 8] >> bit % 8 & 1)) {
                    fail_msg("%s, step %zu: bit %zu changed", tw_raw_name(raw), step, bit);
                }
            }
            for (unsigned i = 0; i < 8; i++) {
                const double grain = raw == TW_RAW_TIME16 ? 0.125 : raw == TW_RAW_TIME32 ? 0.032 : 0.004;
                assert_true(fabs(back[i] - v[i]) <= grain);
            }
        }
    }
}

/* Any word of the one type, for the other through a number and straight. */
static void straight_way(uint32_t from, uint32_t to)
{
    const unsigned a = tw_raw_bits(from) / 8, b = tw_raw_bits(to) / 8;
    for (unsigned k = 0; k < 70000; k++) {
        uint64_t w = from == TW_RAW_S16 || from == TW_RAW_Q15 ? k : noise();
        float tie = ((float)(int32_t)(noise() % 70000) - 35000.0f) / 65536.0f; /* halves of a Q15 step, and beyond */
        if (from == TW_RAW_FP32 && k % 3 != 0) {
            memcpy(&w, &tie, 4);
        }
        double v = load1(from, &w);
        uint64_t got = 0;
        tw_convert_move(from, (const uint8_t *)&w, 1, to, (uint8_t *)&got, 1, 1);
        if (from == to || isnan(v)) { /* the word itself; NaN to an integer is 0 */
            assert_int_equal(got, from == to ? (a == 8 ? w : w & (((uint64_t)1 << 8 * a) - 1)) : 0);
        } else if (got != store1(to, v, b)) {
            fail_msg("%s to %s: %.9g is %llx", tw_raw_name(from), tw_raw_name(to), v, (unsigned long long)got);
        }
    }
}

static void the_straight_way_ends_where_the_other_does(void **state)
{
    (void)state;
    unsigned pairs = 0;
    for (uint32_t from = 0; from < TW_RAW_COUNT; from++) {
        for (uint32_t to = 0; to < TW_RAW_COUNT; to++) {
            if (tw_convert_direct(from, to) && tw_convert_numeric(from) && from != TW_RAW_FP64) {
                straight_way(from, to);
                pairs++;
            }
        }
    }
    assert_true(pairs > 20);
    assert_true(tw_convert_direct(TW_RAW_S16, TW_RAW_Q15) && tw_convert_direct(TW_RAW_FP32, TW_RAW_S16));
    assert_true(tw_convert_direct(TW_RAW_TIME64ISO, TW_RAW_TIME64ISO));
    assert_false(tw_convert_direct(TW_RAW_U1, TW_RAW_U1) || tw_convert_direct(TW_RAW_S16, TW_RAW_U16) ||
                 tw_convert_direct(TW_RAW_S16, TW_RAW_FP16) || tw_convert_direct(TW_RAW_FP16, TW_RAW_S16) ||
                 tw_convert_direct(TW_RAW_Q31, TW_RAW_FP32) || tw_convert_direct(TW_RAW_TIME64, TW_RAW_FP64));
}

/* ---- units -------------------------------------------------------------------------------- */

static void units_convert_by_their_exact_factor(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        double x, y;
    } cases[] = {
        {"mV", "V", 1500, 1.5},
        {"V", "mV", 1.5, 1500},
        {"mA", "A", 1, 0.001},
        {"km/h", "m/s", 36, 10},
        {"m/s", "km/h", 10, 36},
        {"mm/h", "m/h", 1000, 1},
        {"gravity", "m/s2", 1, 9.80665},
        {"dps", "1/s", 360, 1},
        {"Gauss", "T", 10000, 1},
        {"dBm", "dBW", 30, 0},
        {"dBW", "dBm", 0, 30},
        {"min", "h", 90, 1.5},
        {"KiB", "GB", 1e9, 1024},
        {"any", "V", 7, 7},
        {"V", "any", 7, 7},
        {"V", "V", 7, 7},
        {"Vrms", "mV", 1, 1414.2135623730951}, /* of a sine */
        {"cm", "km", 100000, 1},
        {"%", "%", 5, 5},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_affine_t a;
        const int from = tw_unit_find(cases[i].from, strlen(cases[i].from));
        const int to = tw_unit_find(cases[i].to, strlen(cases[i].to));
        assert_true(from >= 0 && to >= 0);
        if (!tw_convert_units((uint32_t)from, (uint32_t)to, &a) ||
            fabs(a.gain * cases[i].x + a.bias - cases[i].y) > 1e-15 * fabs(cases[i].y)) {
            fail_msg("%g %s is %.17g %s", cases[i].x, cases[i].from, a.gain * cases[i].x + a.bias, cases[i].to);
        }
    }
}

static void units_of_different_things_do_not_convert(void **state)
{
    (void)state;
    tw_affine_t a;
    assert_false(tw_convert_units(17, 5, &a));    /* V, A */
    assert_false(tw_convert_units(87, 88, &a));   /* mV, mA */
    assert_false(tw_convert_units(105, 103, &a)); /* mV/Gauss has no primary unit */
    assert_false(tw_convert_units(17, 250, &a));
    assert_true(tw_convert_units(105, 105, &a));
}

/* ---- the resampler -------------------------------------------------------------------------- */

static void ratios_are_the_smallest_numbers(void **state)
{
    (void)state;
    static const struct {
        float from, to;
        uint32_t up, down; /* 0: refused */
    } cases[] = {
        {16000, 48000, 3, 1},     {48000, 16000, 1, 3},      {44100, 48000, 160, 147},   {48000, 44100, 147, 160},
        {44100, 16000, 160, 441}, {11025, 96000, 1280, 147}, {16000, 16000, 1, 1},       {0.1f, 0.2f, 2, 1},
        {100.0f / 3, 100, 3, 1},  {8000, 44100, 441, 80},    {1e-6f, 1e9f, 0, 0},        {1, 2048, 2048, 1},
        {1, 2049, 0, 0},          {2049, 1, 0, 0},           {48000, 47999, 0, 0},       {0, 8000, 0, 0},
        {8000, -1, 0, 0},         {48000, 48000.004f, 1, 1}, {3.14159274f, 1, 113, 355}, {NAN, 8000, 0, 0},
        {INFINITY, 8000, 0, 0},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_resample_t r = {0};
        const bool ok = tw_resample_plan(&r, cases[i].from, cases[i].to);
        if (ok != (cases[i].up != 0) || (ok && (r.up != cases[i].up || r.down != cases[i].down))) {
            fail_msg("%g to %g Hz: %d, %u / %u", (double)cases[i].from, (double)cases[i].to, ok, r.up, r.down);
        }
    }
}

enum { OUTPUTS = 4096 };

typedef struct bench {
    tw_resample_t r;
    float *table, *x;
    double y[OUTPUTS];
    uint32_t inputs;
} bench_t;

static void open_bench(bench_t *b, float from, float to)
{
    assert_true(tw_resample_plan(&b->r, from, to));
    b->table = malloc(sizeof(float) * tw_resample_table(&b->r));
    tw_resample_design(&b->r, b->table);
    b->inputs = tw_resample_history(&b->r) + (OUTPUTS - 1) * b->r.down / b->r.up + 1;
    b->x = malloc(sizeof(float) * b->inputs);
}

static void close_bench(bench_t *b)
{
    free(b->table);
    free(b->x);
}

/* A sine of `f` cycles an input sample through the filter, x[i] being input i - history. */
static void play(bench_t *b, double f)
{
    for (uint32_t i = 0; i < b->inputs; i++) {
        b->x[i] = (float)(0.9 * sin(2 * M_PI * f * ((double)i - tw_resample_history(&b->r))));
    }
    tw_resample_run(&b->r, b->table, b->x, 0, b->y, OUTPUTS);
}

/* Against the sine that should come out, `half` input samples late. */
static double snr_db(const bench_t *b, double f)
{
    double signal = 0, error = 0;
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        const double t = (double)i * b->r.down / b->r.up - b->r.half;
        const double want = 0.9 * sin(2 * M_PI * f * t), e = b->y[i] - want;
        signal += want * want;
        error += e * e;
    }
    return 10 * log10(signal / error);
}

static double level_db(const bench_t *b)
{
    double sum = 0;
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        sum += b->y[i] * b->y[i];
    }
    return 10 * log10(sum / OUTPUTS / (0.9 * 0.9 / 2) + 1e-30);
}

static const float rates[][2] = {
    {16000, 48000}, {48000, 16000}, {44100, 48000}, {48000, 44100}, {8000, 44100},
    {44100, 8000},  {96000, 8000},  {8000, 96000},  {16000, 8000},  {11025, 16000},
};

static void sines_of_the_pass_band_keep_more_than_95_db(void **state)
{
    (void)state;
    double worst = 1000;
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        static bench_t b;
        open_bench(&b, rates[i][0], rates[i][1]);
        const double low = (double)fminf(rates[i][0], rates[i][1]) / (double)rates[i][0];
        for (double f = 0.01; f <= 0.4001; f += 0.03) {
            play(&b, f * low);
            const double snr = snr_db(&b, f * low);
            worst = snr < worst ? snr : worst;
            if (snr < 95) {
                fail_msg("%g to %g Hz, %.2f of the lower rate: %.1f dB", (double)rates[i][0], (double)rates[i][1], f,
                         snr);
            }
        }
        close_bench(&b);
    }
    print_message("resampler: worst signal to error ratio in the pass band %.1f dB\n", worst);
}

/* Downwards, what the lower rate cannot hold is gone. */
static void what_would_alias_is_95_db_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        if (rates[i][1] > rates[i][0]) {
            continue;
        }
        static bench_t b;
        open_bench(&b, rates[i][0], rates[i][1]);
        const double low = (double)rates[i][1] / (double)rates[i][0];
        for (double f = 0.502 * low; f < 0.5; f += 0.01) {
            play(&b, f);
            if (level_db(&b) > -95) {
                fail_msg("%g to %g Hz: %.3f of the input's rate passes at %.1f dB", (double)rates[i][0],
                         (double)rates[i][1], f, level_db(&b));
            }
        }
        close_bench(&b);
    }
}

static void a_constant_passes_unchanged_in_every_phase(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        static bench_t b;
        open_bench(&b, rates[i][0], rates[i][1]);
        for (uint32_t k = 0; k < b.inputs; k++) {
            b.x[k] = 0.75f;
        }
        tw_resample_run(&b.r, b.table, b.x, 0, b.y, OUTPUTS);
        for (uint32_t k = 0; k < OUTPUTS; k++) {
            assert_true(fabs(b.y[k] - 0.75) < 1e-6);
        }
        close_bench(&b);
    }
}

/* g(u) as resample.h says it, with a library's functions, in double precision and without a table. */
static double definition(const tw_resample_t *r, double u)
{
    const double low = r->down > r->up ? (double)r->up / r->down : 1, x = 2 * 0.45 * low * u;
    const double edge = u / r->half, arg = 10.06 * sqrt(edge * edge < 1 ? 1 - edge * edge : 0);
    double i0 = 1, term = 1;
    for (int k = 1; k < 60; k++) {
        term *= (arg / 2 / k) * (arg / 2 / k);
        i0 += term;
    }
    return (x == 0 ? 1 : sin(M_PI * x) / (M_PI * x)) * i0;
}

static void outputs_equal_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        static bench_t b;
        open_bench(&b, rates[i][0], rates[i][1]);
        for (uint32_t k = 0; k < b.inputs; k++) {
            b.x[k] = (float)(int64_t)noise() / 9.3e18f;
        }
        tw_resample_run(&b.r, b.table, b.x, 0, b.y, OUTPUTS);
        for (uint32_t q = 0; q < OUTPUTS; q += 37) {
            const uint32_t at = q * b.r.down, phase = at % b.r.up;
            const float *newest = b.x + at / b.r.up + tw_resample_history(&b.r);
            double sum = 0, scale = 0;
            for (uint32_t j = 0; j < 2 * b.r.half; j++) {
                const double g = definition(&b.r, j + (double)phase / b.r.up - b.r.half);
                sum += g * (double)newest[-(int64_t)j];
                scale += g;
            }
            assert_true(fabs(b.y[q] - sum / scale) < 2e-6);
        }
        close_bench(&b);
    }
}

/* Any bits, any number, any step: what the quick loops make is what the plain ones make. */
static void quick_loops_equal_the_plain_ones(void **state)
{
    (void)state;
    static const double odd[] = {NAN,
                                 -NAN,
                                 INFINITY,
                                 -INFINITY,
                                 0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 1e300,
                                 -1e300,
                                 0.5 / 32768,
                                 1.5 / 32768,
                                 -0.5 / 32768,
                                 32767.5 / 32768,
                                 -32768.5 / 32768,
                                 2147483647.5 / 2147483648.0,
                                 5e-324};
    for (uint32_t raw = 0; raw < TW_RAW_COUNT; raw++) {
        for (unsigned round = 0; tw_convert_numeric(raw) && round < 300; round++) {
            const uint32_t n = (uint32_t)(noise() % 70);
            const size_t step = 1 + noise() % 3, at = noise() % 5, bytes = (n * step + at + 1) * 8;
            uint8_t x[2][2000];
            double a[70], b[70];
            assert_true(bytes <= sizeof x[0]);
            for (size_t i = 0; i < bytes; i++) {
                x[0][i] = (uint8_t)noise();
            }
            tw_convert_load(raw, x[0], at, step, n, a);
            tw_convert_load_plain(raw, x[0], at, step, n, b);
            for (uint32_t i = 0; i < n; i++) { /* which NaN is the machine's choice */
                assert_true(memcmp(&a[i], &b[i], sizeof a[i]) == 0 || (isnan(a[i]) && isnan(b[i])));
                const double wide = (double)(int64_t)noise() / 9.2e18 * (noise() % 4 == 0 ? 1e3 : 1.1);
                a[i] = noise() % 8 == 0 ? odd[noise() % TW_COUNT(odd)] : wide;
                a[i] = raw == TW_RAW_FP32 && isnan(a[i]) ? 0 : a[i];
            }
            memcpy(x[1], x[0], bytes);
            tw_convert_store(raw, x[0], at, step, n, a);
            tw_convert_store_plain(raw, x[1], at, step, n, a);
            if (memcmp(x[0], x[1], bytes) != 0) {
                fail_msg("%s, step %zu", tw_raw_name(raw), step);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_loops_equal_the_plain_ones),
        cmocka_unit_test(every_word_is_its_number_and_comes_back),
        cmocka_unit_test(numbers_go_to_the_nearest_word_ties_to_even),
        cmocka_unit_test(rounding_is_shown_by_a_few_words),
        cmocka_unit_test(long_words_are_rounded_once),
        cmocka_unit_test(every_half_is_read_and_every_number_finds_its_nearest),
        cmocka_unit_test(floats_keep_what_they_are),
        cmocka_unit_test(strides_and_bits_touch_their_samples_alone),
        cmocka_unit_test(the_straight_way_ends_where_the_other_does),
        cmocka_unit_test(units_convert_by_their_exact_factor),
        cmocka_unit_test(units_of_different_things_do_not_convert),
        cmocka_unit_test(ratios_are_the_smallest_numbers),
        cmocka_unit_test(sines_of_the_pass_band_keep_more_than_95_db),
        cmocka_unit_test(what_would_alias_is_95_db_down),
        cmocka_unit_test(a_constant_passes_unchanged_in_every_phase),
        cmocka_unit_test(outputs_equal_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
