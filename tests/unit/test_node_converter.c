/* The converter against a plain model of it: whole streams as exact numbers, converted in one go, compared to
 * the byte with what the node makes of them in pieces of any size. */
#include "engine/node/convert.h"
#include "tests/unit/node_rig.h"
#include <math.h>

enum { STREAM = 1 << 16 };

static uint32_t seed = 4711;

static uint32_t below(uint32_t n)
{
    return rig_noise(&seed) % n;
}

static uint32_t stamp_bytes(const tw_format_t *f)
{
    static const uint8_t bytes[4] = {2, 4, 8, 8};
    return f->ts != 0 ? bytes[f->ts_size] : 0;
}

static tw_format_t format(tw_raw_t raw, unsigned channels, unsigned interleave, uint32_t samples, unsigned ts,
                          unsigned ts_size)
{
    tw_format_t f = rig_format(raw, channels, interleave, samples);
    f.ts = (uint8_t)ts;
    f.ts_size = (uint8_t)ts_size;
    f.frame_bytes += stamp_bytes(&f);
    return f;
}

/* ---- the model ------------------------------------------------------------------------- */

static bool is_complex(uint32_t raw)
{
    return raw == TW_RAW_CQ15 || raw == TW_RAW_CFP32;
}

static uint32_t part_raw(uint32_t raw)
{
    return raw == TW_RAW_CQ15 ? TW_RAW_Q15 : raw == TW_RAW_CFP32 ? TW_RAW_FP32 : raw;
}

/* Byte of the frame where a sample's part starts; bits: index of the bit. */
static size_t place(const tw_format_t *f, uint32_t t, uint32_t c)
{
    return f->interleave ? (size_t)c * f->samples + t : (size_t)t * f->channels + c;
}

/* Kernels are proved elsewhere; here they are used for one sample at a time. */
static double get(const tw_format_t *f, const uint8_t *stream, uint32_t t, uint32_t c, uint32_t part)
{
    const uint8_t *frame = stream + (size_t)(t / f->samples) * f->frame_bytes + stamp_bytes(f);
    const uint32_t parts = is_complex(f->raw) ? 2 : 1;
    double v;
    tw_convert_load(part_raw(f->raw), frame, place(f, t % f->samples, c) * parts + part, 1, 1, &v);
    return v;
}

static void put(const tw_format_t *f, uint8_t *stream, uint32_t t, uint32_t c, uint32_t part, double v)
{
    uint8_t *frame = stream + (size_t)(t / f->samples) * f->frame_bytes + stamp_bytes(f);
    const uint32_t parts = is_complex(f->raw) ? 2 : 1;
    tw_convert_store(part_raw(f->raw), frame, place(f, t % f->samples, c) * parts + part, 1, 1, &v);
}

static double channel_of(const tw_format_t *in, const tw_format_t *out, const uint8_t *x, uint32_t t, uint32_t c,
                         uint32_t part)
{
    if (part == 1 && !is_complex(in->raw)) {
        return 0;
    }
    if (in->channels == 1) {
        return get(in, x, t, 0, part);
    }
    if (out->channels == 1) {
        double sum = 0;
        for (uint32_t k = 0; k < in->channels; k++) {
            sum += get(in, x, t, k, part);
        }
        return sum / in->channels;
    }
    return c < in->channels ? get(in, x, t, c, part) : 0;
}

static uint64_t stamp_of(const tw_format_t *f, const uint8_t *frame)
{
    uint64_t v = 0;
    memcpy(&v, frame, stamp_bytes(f));
    return v;
}

static void write_stamps(const tw_format_t *in, const tw_format_t *out, const uint8_t *x, uint8_t *y, uint32_t frames)
{
    const bool one_to_one = in->samples == out->samples;
    for (uint32_t k = 0; k < frames; k++) {
        uint64_t v = out->ts == 3 ? k : 0;
        if (in->ts == out->ts && (one_to_one || out->ts == 1)) {
            v = stamp_of(in, x + (size_t)(k * out->samples / in->samples) * in->frame_bytes);
        }
        memcpy(y + (size_t)k * out->frame_bytes, &v, stamp_bytes(out));
    }
}

/* All whole output frames of `samples` samples in. @return bytes */
static uint32_t model(const tw_format_t *in, const tw_format_t *out, const uint8_t *x, uint32_t samples, uint8_t *y)
{
    const uint32_t frames = samples / out->samples;
    memset(y, 0, (size_t)frames * out->frame_bytes);
    for (uint32_t t = 0; t < frames * out->samples; t++) {
        for (uint32_t c = 0; c < out->channels; c++) {
            for (uint32_t part = 0; part < (is_complex(out->raw) ? 2u : 1u); part++) {
                put(out, y, t, c, part, channel_of(in, out, x, t, c, part));
            }
        }
    }
    write_stamps(in, out, x, y, frames);
    return frames * out->frame_bytes;
}

/* ---- streams -------------------------------------------------------------------------------- */

/* Any bits, but no NaN: which of them comes out of a float conversion is the machine's choice. Words as a number
 * holds them, for the model works with doubles; that they pass whole is another test's. */
static void fill(const tw_format_t *f, uint8_t *x, uint32_t frames)
{
    for (uint32_t i = 0; i < frames * f->frame_bytes; i++) {
        x[i] = (uint8_t)rig_noise(&seed);
    }
    if (f->raw == TW_RAW_Q23_32 || f->raw == TW_RAW_TIME64 || f->raw == TW_RAW_TIME64MS ||
        part_raw(f->raw) == TW_RAW_FP16 || part_raw(f->raw) == TW_RAW_FP32 || f->raw == TW_RAW_FP64) {
        for (uint32_t t = 0; t < frames * f->samples; t++) {
            for (uint32_t c = 0; c < f->channels; c++) {
                for (uint32_t part = 0; part < (is_complex(f->raw) ? 2u : 1u); part++) {
                    put(f, x, t, c, part, ((int32_t)rig_noise(&seed)) / (below(8) == 0 ? 1e8 : 2.2e9));
                }
            }
        }
    }
}

/* Feed the node all of x as an arc would, whole frames each time, with rooms of whole frames. Buffers are exactly
 * as large as told. @return bytes made */
static uint32_t feed(rig_t *g, const uint8_t *x, uint32_t bytes, uint8_t *y, uint32_t room)
{
    const uint32_t in = g->fmt[0].frame_bytes, out = g->fmt[1].frame_bytes;
    uint32_t used = 0, made = 0;
    for (unsigned turn = 0; turn < 100000; turn++) {
        const uint32_t give = tw_min_u32((1 + below(4)) * in, bytes - used);
        const uint32_t take = tw_min_u32((1 + below(4)) * out, room - made);
        if (give < in || take < out) {
            break;
        }
        uint8_t *from = malloc(give), *to = malloc(take);
        memcpy(from, x + used, give);
        memset(to, 0xEE, take);
        tw_xdm_t data[2] = {{from, give}, {to, take}};
        assert_int_equal(rig_command(g, TW_CMD_RUN, 0, data), 0);
        assert_true(data[0].bytes <= give && data[1].bytes <= take);
        assert_true(data[0].bytes != 0 || data[1].bytes != 0); /* with a frame and room for one it gets on */
        memcpy(y + made, to, data[1].bytes);
        used += data[0].bytes;
        made += data[1].bytes;
        free(from);
        free(to);
    }
    return made;
}

static void describe(char *text, size_t size, const tw_format_t *f)
{
    snprintf(text, size, "%s, %u channels, layout %u, frames of %u, stamps %u/%u", tw_raw_name(f->raw), f->channels,
             f->interleave, f->samples, f->ts, f->ts_size);
}

static void compare_with_model(tw_format_t in, tw_format_t out)
{
    static uint8_t x[STREAM], want[STREAM * 8], got[STREAM * 8];
    const uint32_t frames = tw_min_u32(40, STREAM / 64 / in.frame_bytes) + 2;
    char a[80], b[80];
    rig_t g;
    describe(a, sizeof a, &in);
    describe(b, sizeof b, &out);
    fill(&in, x, frames);
    const uint32_t n = model(&in, &out, x, frames * in.samples, want);
    rig_open(&g, "converter", in, out, 0);
    const uint32_t made = feed(&g, x, frames * in.frame_bytes, got, sizeof got);
    rig_close(&g);
    /* the end of the last input frame may wait for room */
    if (made + (in.samples / out.samples + 1) * out.frame_bytes < n || made > n + out.frame_bytes) {
        fail_msg("%s to %s: %u bytes of %u", a, b, made, n);
    }
    for (uint32_t i = 0; i < tw_min_u32(made, n); i++) {
        if (want[i] != got[i]) {
            fail_msg("%s to %s: byte %u is %02x, model %02x", a, b, i, got[i], want[i]);
        }
    }
}

static const uint8_t raws[] = {
    TW_RAW_U1,      TW_RAW_S8,     TW_RAW_U8,      TW_RAW_Q7,       TW_RAW_CHAR,   TW_RAW_S16,
    TW_RAW_U16,     TW_RAW_Q15,    TW_RAW_FP16,    TW_RAW_Q23_32,   TW_RAW_S32,    TW_RAW_U32,
    TW_RAW_Q31,     TW_RAW_FP32,   TW_RAW_CQ15,    TW_RAW_FP64,     TW_RAW_CFP32,  TW_RAW_TIME16,
    TW_RAW_TIME16D, TW_RAW_TIME32, TW_RAW_TIME32D, TW_RAW_TIMESTMP, TW_RAW_TIME64, TW_RAW_TIME64MS,
};

static void every_pair_of_types_equals_the_model(void **state)
{
    (void)state;
    for (size_t a = 0; a < TW_COUNT(raws); a++) {
        for (size_t b = 0; b < TW_COUNT(raws); b++) {
            compare_with_model(format(raws[a], 2, 0, 8, 0, 0), format(raws[b], 2, 0, 8, 0, 0));
        }
    }
}

static tw_format_t any_format(void)
{
    const uint8_t raw = raws[below(TW_COUNT(raws))];
    const uint32_t samples = raw == TW_RAW_U1 ? 8 * (1 + below(12)) : 1 + below(90);
    return format(raw, 1 + (below(10) == 0 ? 31 : below(5)), below(2), samples, below(4), below(4));
}

static void any_two_formats_equal_the_model(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 1500; round++) {
        compare_with_model(any_format(), any_format());
    }
}

static void the_same_format_is_a_copy_to_the_bit(void **state)
{
    (void)state;
    static uint8_t x[STREAM], y[STREAM];
    for (size_t i = 0; i < TW_COUNT(raws); i++) {
        const tw_format_t f = format(raws[i], 3, i % 2, 16, i % 4, 1);
        const uint32_t bytes = 20 * f.frame_bytes;
        rig_t g;
        fill(&f, x, 20);
        for (uint32_t k = 0; k < bytes && (f.raw == TW_RAW_TIME64 || f.raw == TW_RAW_TIME64MS); k++) {
            x[k] = (uint8_t)rig_noise(&seed); /* words a double does not hold */
        }
        rig_open(&g, "converter", f, f, 0);
        assert_int_equal(rig_run(&g, x, bytes, y, bytes), 0);
        if (memcmp(x, y, bytes) != 0) {
            fail_msg("%s", tw_raw_name(f.raw));
        }
        rig_close(&g);
    }
    const tw_format_t iso = rig_format(TW_RAW_TIME64ISO, 1, 0, 2);
    rig_t g;
    rig_open(&g, "converter", iso, rig_format(TW_RAW_TIME64ISO, 2, 1, 2), 0);
    assert_int_equal(rig_run(&g, "abcdefghABCDEFGH", 16, y, 32), 0);
    assert_memory_equal(y, "abcdefghABCDEFGHabcdefghABCDEFGH", 32);
    rig_close(&g);
}

/* Types nothing computes on still change their layout, their stamps and their frames. */
static void words_without_a_number_are_moved(void **state)
{
    (void)state;
    for (uint32_t raw = 1; raw < TW_RAW_COUNT; raw++) {
        const uint32_t size = tw_raw_bits(raw) / 8;
        if (tw_raw_bits(raw) % 8 != 0) {
            continue;
        }
        const tw_format_t in = format((tw_raw_t)raw, 2, 0, 3, 0, 0), out = format((tw_raw_t)raw, 3, 1, 2, 3, 1);
        uint8_t x[6 * 6 * 32], y[3 * 200];
        for (uint32_t i = 0; i < sizeof x; i++) {
            x[i] = (uint8_t)(1 + rig_noise(&seed) % 255);
        }
        rig_t g;
        rig_open(&g, "converter", in, out, 0);
        memset(y, 0xEE, sizeof y);
        assert_int_equal(rig_run(&g, x, 2 * in.frame_bytes, y, 3 * out.frame_bytes), 0);
        rig_close(&g);
        for (uint32_t t = 0; t < 6; t++) {
            const uint8_t *frame = y + t / 2 * out.frame_bytes;
            assert_int_equal(frame[0], t / 2);
            for (uint32_t c = 0; c < 3; c++) {
                static const uint8_t zero[32];
                const uint8_t *want = c < 2 ? x + (2 * t + c) * size : zero;
                if (memcmp(frame + 4 + (2 * c + t % 2) * size, want, size) != 0) {
                    fail_msg("%s, sample %u of channel %u", tw_raw_name(raw), t, c);
                }
            }
        }
    }
}

/* ---- units ------------------------------------------------------------------------------------ */

static void units_of_the_same_thing_are_scaled(void **state)
{
    (void)state;
    static const struct {
        uint8_t from, to;
        float x, y;
    } cases[] = {
        {87, 17, 1500, 1.5f},                  /* mV to V */
        {17, 87, 1.5f, 1500},                  /* V to mV */
        {100, 34, 36, 10},                     /* km/h to m/s */
        {101, 35, 1, 9.80665f},                /* gravity to m/s2 */
        {89, 46, 33, 3},                       /* dBm to dBW */
        {0, 17, 3, 3},          {17, 0, 3, 3}, /* any */
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_format_t in = rig_format(TW_RAW_FP32, 1, 0, 4), out = in;
        in.unit = cases[i].from;
        out.unit = cases[i].to;
        const float x[4] = {cases[i].x, cases[i].x, cases[i].x, cases[i].x};
        float y[4];
        rig_t g;
        rig_open(&g, "converter", in, out, 0);
        rig_run(&g, x, sizeof x, y, sizeof y);
        if (y[0] != cases[i].y || y[3] != y[0]) {
            fail_msg("%s to %s: %g", tw_unit_text(cases[i].from), tw_unit_text(cases[i].to), (double)y[0]);
        }
        rig_close(&g);
    }
}

static void full_scale_and_offset_say_what_a_number_means(void **state)
{
    (void)state;
    tw_format_t in = rig_format(TW_RAW_S16, 1, 0, 2), out = rig_format(TW_RAW_FP32, 1, 0, 2);
    in.unit = 87; /* mV, 2000 at full scale from -500 on */
    in.full_scale = 2000;
    in.offset = -500;
    out.unit = 17; /* V */
    out.full_scale = 1;
    const int16_t x[2] = {16384, 0};
    float y[2];
    rig_t g;
    rig_open(&g, "converter", in, out, 0);
    rig_run(&g, x, sizeof x, y, sizeof y);
    assert_true(y[0] == 0.5f && y[1] == -0.5f);
    rig_close(&g);
}

/* ---- loudspeaker places -------------------------------------------------------------------------- */

static void audio_channels_go_to_their_place(void **state)
{
    (void)state;
    enum { FL = 1, FR = 2, FC = 4, LFE = 8, BL = 16, BR = 32 };
    static const struct {
        const char *why;
        uint32_t in, out;
        uint8_t domain, n_in, n_out;
        int8_t from[8]; /* the input's channel of each of the output's, -1 silence */
    } cases[] = {
        {"5.1 to stereo", FL | FR | FC | LFE | BL | BR, FL | FR, 1, 6, 2, {0, 1}},
        {"5.1 to the back", FL | FR | FC | LFE | BL | BR, BL | BR, 2, 6, 2, {4, 5}},
        {"stereo to quadro", FL | FR, FL | FR | BL | BR, 2, 2, 4, {0, 1, -1, -1}},
        {"centre and left to right, left, centre", FL | FC, FL | FR | FC, 1, 2, 3, {0, -1, 1}},
        {"nothing in common: by order", FL | FR, BL | BR | FC, 1, 2, 3, {0, 1, -1}},
        {"no audio: by order", FL | FC, FL | FR | FC, 5, 2, 3, {0, 1, -1}},
        {"places that are not all named: by order", FC, FL | FR | FC, 1, 2, 3, {0, 1, -1}},
        {"from mono: everywhere", FC, FL | FR, 1, 1, 2, {0, 0}},
    };
    for (size_t i = 0; i < 4 * TW_COUNT(cases); i++) {
        const size_t k = i % TW_COUNT(cases);
        const bool words = i / TW_COUNT(cases) % 2 != 0, slow = i / TW_COUNT(cases) / 2 != 0;
        tw_format_t in = rig_format(TW_RAW_S16, cases[k].n_in, words, 4);
        tw_format_t out = rig_format(words ? TW_RAW_S16 : TW_RAW_FP32, cases[k].n_out, !words, slow ? 3 : 4);
        int16_t x[6 * 12], y16[4 * 12];
        float y32[4 * 12];
        rig_t g;
        in.domain = out.domain = cases[k].domain;
        in.mapping = cases[k].in;
        out.mapping = cases[k].out;
        for (uint32_t t = 0; t < 12; t++) {
            for (uint32_t c = 0; c < in.channels; c++) {
                x[t / 4 * 4 * in.channels + place(&in, t % 4, c)] = (int16_t)(100 * t + c + 1);
            }
        }
        rig_open(&g, "converter", in, out, 0);
        memset(y16, 0xEE, sizeof y16);
        memset(y32, 0xEE, sizeof y32);
        rig_run(&g, x, 3 * in.frame_bytes, words ? (void *)y16 : (void *)y32, 12 / out.samples * out.frame_bytes);
        for (uint32_t t = 0; t < 12; t++) {
            for (uint32_t c = 0; c < out.channels; c++) {
                const size_t at = t / out.samples * out.samples * out.channels + place(&out, t % out.samples, c);
                const int got = words ? y16[at] : (int)lrintf(y32[at] * 32768), from = cases[k].from[c];
                if (got != (from < 0 ? 0 : (int)(100 * t) + from + 1)) {
                    fail_msg("%s: channel %u is %d", cases[k].why, c, got);
                }
            }
        }
        rig_close(&g);
    }
}

/* ---- sampling rates ------------------------------------------------------------------------------ */

static const float rates[][2] = {
    {16000, 48000}, {48000, 16000}, {44100, 48000}, {48000, 44100}, {8000, 44100}, {44100, 16000}, {16000, 8000},
};

/* A sine through the node in pieces. @return signal to error [dB], against the sine `half` samples late */
static double sine_db(tw_format_t in, tw_format_t out, double hz)
{
    static uint8_t x[1 << 20], y[1 << 21];
    const double ratio = (double)out.rate_hz / (double)in.rate_hz, low = ratio < 1 ? ratio : 1;
    const uint32_t n = 6000 / in.samples * in.samples;
    memset(x, 0, sizeof x);
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t c = 0; c < in.channels; c++) {
            put(&in, x, t, c, 0, 0.9 * sin(2 * M_PI * hz / (double)in.rate_hz * t + c));
        }
    }
    rig_t g;
    rig_open(&g, "converter", in, out, 0);
    const uint32_t made = feed(&g, x, n / in.samples * in.frame_bytes, y, sizeof y) / out.frame_bytes * out.samples;
    rig_close(&g);
    assert_true(fabs(made - n * ratio) < 4 * (out.samples + in.samples * ratio) + 2);
    const double late = ceil(32 / low);
    double signal = 0, error = 0;
    for (uint32_t t = (uint32_t)(3 * late * ratio); t < made; t++) {
        for (uint32_t c = 0; c < out.channels; c++) {
            const double want = 0.9 * sin(2 * M_PI * hz / (double)in.rate_hz * (t / ratio - late) + c);
            const double e = get(&out, y, t, c, 0) - want;
            signal += want * want;
            error += e * e;
        }
    }
    return 10 * log10(signal / error);
}

static void a_resampled_sine_keeps_95_db_in_fp32(void **state)
{
    (void)state;
    double worst = 1000;
    for (size_t i = 0; i < TW_COUNT(rates); i++) {
        tw_format_t in = rig_format(TW_RAW_FP32, 1, 0, 48), out = rig_format(TW_RAW_FP32, 1, 0, 40);
        in.rate_hz = rates[i][0];
        out.rate_hz = rates[i][1];
        const double low = (double)fminf(rates[i][0], rates[i][1]);
        const double db[2] = {sine_db(in, out, 0.0567 * low), sine_db(in, out, 0.39 * low)};
        worst = fmin(worst, fmin(db[0], db[1]));
        if (!(db[0] >= 95 && db[1] >= 95)) {
            fail_msg("%g to %g Hz: %.1f and %.1f dB", (double)rates[i][0], (double)rates[i][1], db[0], db[1]);
        }
    }
    print_message("converter: a resampled FP32 sine has %.1f dB at least\n", worst);
}

/* Blocks, stamps, channels, other types: the same samples whatever the frames. S16 is limited by its own steps. */
static void resampling_goes_through_any_layout(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        const float *r = rates[round % TW_COUNT(rates)];
        const tw_raw_t raw = round % 3 == 0 ? TW_RAW_FP32 : round % 3 == 1 ? TW_RAW_S16 : TW_RAW_Q31;
        tw_format_t in = format(raw, 1 + below(3), below(2), 1 + below(60), below(4), 1);
        tw_format_t out = format(TW_RAW_FP32, in.channels, below(2), 1 + below(60), below(4), 1);
        in.rate_hz = r[0];
        out.rate_hz = r[1];
        const double db = sine_db(in, out, 0.2 * (double)fminf(r[0], r[1]));
        if (!(db >= (raw == TW_RAW_S16 ? 90 : 95))) {
            char a[80];
            describe(a, sizeof a, &in);
            fail_msg("round %u, %s: %.1f dB", round, a, db);
        }
    }
}

static void a_bad_sample_leaves_the_resampler(void **state)
{
    (void)state;
    tw_format_t in = rig_format(TW_RAW_FP32, 1, 0, 100), out = rig_format(TW_RAW_FP32, 1, 0, 50);
    in.rate_hz = 16000;
    out.rate_hz = 8000;
    float x[300] = {0}, y[150];
    x[5] = NAN;
    x[6] = INFINITY;
    x[7] = 3e38f;
    x[8] = -3e38f;
    for (unsigned i = 100; i < 300; i++) {
        x[i] = 0.25f;
    }
    rig_t g;
    rig_open(&g, "converter", in, out, 0);
    rig_run(&g, x, sizeof x, y, sizeof y);
    for (unsigned i = 0; i < 150; i++) {
        assert_true(isfinite(y[i]));
    }
    assert_true(fabsf(y[149] - 0.25f) < 1e-6f);
    rig_close(&g);
}

static void a_warm_reset_keeps_the_past_of_the_signal(void **state)
{
    (void)state;
    for (unsigned warm = 0; warm < 2; warm++) {
        tw_format_t in = rig_format(TW_RAW_FP32, 1, 0, 200), out = rig_format(TW_RAW_FP32, 1, 0, 100);
        in.rate_hz = 16000;
        out.rate_hz = 8000;
        float x[200], y[100];
        for (unsigned i = 0; i < 200; i++) {
            x[i] = 0.5f;
        }
        rig_t g;
        rig_open(&g, "converter", in, out, 0);
        rig_run(&g, x, sizeof x, y, sizeof y);
        assert_int_equal(rig_reset(&g, warm != 0, 0), 0);
        rig_run(&g, x, sizeof x, y, sizeof y);
        assert_true((fabsf(y[0] - 0.5f) < 1e-6f) == (warm != 0));
        rig_close(&g);
    }
}

/* ---- refusals --------------------------------------------------------------------------------------- */

static void what_cannot_be_converted_is_foretold(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t in_raw, out_raw, in_unit, out_unit;
        float in_rate, out_rate;
        tw_err_t err;
    } cases[] = {
        {"plain", TW_RAW_S16, TW_RAW_FP32, 0, 0, 16000, 16000, TW_OK},
        {"asynchronous input", TW_RAW_S16, TW_RAW_FP32, 0, 0, 0, 16000, TW_OK},
        {"transport only", TW_RAW_S16, TW_RAW_BF16, 0, 0, 16000, 16000, TW_E_IMG_RAW},
        {"transport only", TW_RAW_Q23, TW_RAW_S16, 0, 0, 16000, 16000, TW_E_IMG_RAW},
        {"array", TW_RAW_DATA_ARRAY, TW_RAW_S16, 0, 0, 16000, 16000, TW_E_IMG_RAW},
        {"ISO time", TW_RAW_TIME64ISO, TW_RAW_TIME64, 0, 0, 16000, 16000, TW_E_IMG_RAW},
        {"ISO time resampled", TW_RAW_TIME64ISO, TW_RAW_TIME64ISO, 0, 0, 16000, 8000, TW_E_IMG_RAW},
        {"volts to amperes", TW_RAW_S16, TW_RAW_S16, 17, 5, 16000, 16000, TW_E_IMG_FORMAT},
        {"no small ratio", TW_RAW_S16, TW_RAW_S16, 0, 0, 48000, 47999, TW_E_IMG_FORMAT},
        {"ratio too large", TW_RAW_S16, TW_RAW_S16, 0, 0, 1, 96000, TW_E_IMG_FORMAT},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_format_t in = {.frame_bytes = 16, .samples = 8, .rate_hz = cases[i].in_rate, .channels = 1};
        tw_format_t out = in;
        in.raw = cases[i].in_raw;
        in.unit = cases[i].in_unit;
        out.raw = cases[i].out_raw;
        out.unit = cases[i].out_unit;
        out.rate_hz = cases[i].out_rate;
        rig_t g;
        rig_prepare(&g, "converter", in, out);
        uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 9;
        const tw_err_t foretold = g.d->memreq(g.reset.fmt, 1, 1, extra, &arc);
        const uint32_t reset = rig_reset(&g, false, 0);
        if (foretold != cases[i].err || reset != (uint32_t)-cases[i].err || arc > 1) {
            fail_msg("%s: foretold %d, reset %u", cases[i].why, foretold, reset);
        }
        rig_close(&g);
    }
}

static void memory_is_what_the_formats_need_and_no_less(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        float to_hz;
        uint32_t samples, channels, want;
    } cases[] = {
        {"frames pass through", 48000, 48, 2, 0},
        {"a frame is put together", 48000, 40, 2, 2 * 40 * 4},
        {"a third of the rate: 2 rows of 96, 255 of the past", 16000, 16, 2, 4 * (2 * 16 + 2 * 96 + 2 * 255)},
        {"44.1 kHz: 148 rows of 35, 133 of the past", 44100, 44, 1, 4 * (44 + 148 * 35 + 133)},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_format_t in = rig_format(TW_RAW_FP32, cases[i].channels, 0, 48), out = in;
        in.rate_hz = 48000;
        out = rig_format(TW_RAW_FP32, cases[i].channels, 0, cases[i].samples);
        out.rate_hz = cases[i].to_hz;
        rig_t g;
        rig_prepare(&g, "converter", in, out);
        assert_int_equal(rig_reset(&g, false, 0), 0);
        if (g.reset.mem_bytes[0] - g.d->mem[0].a != cases[i].want) {
            fail_msg("%s: %u bytes", cases[i].why, g.reset.mem_bytes[0] - g.d->mem[0].a);
        }
        g.reset.mem_bytes[0]--;
        assert_int_equal(rig_reset(&g, false, 0), -TW_E_IMG_MEM);
        g.reset.mem_bytes[0]++;
        g.reset.mem_bytes[1]--;
        assert_int_equal(rig_reset(&g, false, 0), -TW_E_IMG_MEM);
        rig_close(&g);
    }
}

static void it_has_no_parameters_and_one_preset(void **state)
{
    (void)state;
    rig_t g;
    rig_open(&g, "converter", rig_format(TW_RAW_S16, 1, 0, 4), rig_format(TW_RAW_FP32, 1, 0, 4), 0);
    uint8_t byte = 0;
    tw_xdm_t data = {&byte, 1};
    tw_fault_t fault = {0};
    assert_int_equal(tw_param_check(g.d, &g.fmt[0], 1, 0, &byte, 1, &fault), TW_E_PARAM_INDEX);
    assert_int_equal(rig_command(&g, TW_CMD_SET_PARAMETER, 1, &data), -TW_E_PARAM_INDEX);
    assert_int_equal(rig_reset(&g, false, 1), -TW_E_PARAM_PRESET);
    assert_int_equal(rig_command(&g, TW_CMD_STOP, 0, &data), 0);
    assert_int_equal(rig_command(&g, TW_CMD_MEMREQ, 0, &data), -TW_E_UNSUPPORTED);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_types_equals_the_model),
        cmocka_unit_test(any_two_formats_equal_the_model),
        cmocka_unit_test(the_same_format_is_a_copy_to_the_bit),
        cmocka_unit_test(words_without_a_number_are_moved),
        cmocka_unit_test(units_of_the_same_thing_are_scaled),
        cmocka_unit_test(full_scale_and_offset_say_what_a_number_means),
        cmocka_unit_test(audio_channels_go_to_their_place),
        cmocka_unit_test(a_resampled_sine_keeps_95_db_in_fp32),
        cmocka_unit_test(resampling_goes_through_any_layout),
        cmocka_unit_test(a_bad_sample_leaves_the_resampler),
        cmocka_unit_test(a_warm_reset_keeps_the_past_of_the_signal),
        cmocka_unit_test(what_cannot_be_converted_is_foretold),
        cmocka_unit_test(memory_is_what_the_formats_need_and_no_less),
        cmocka_unit_test(it_has_no_parameters_and_one_preset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
