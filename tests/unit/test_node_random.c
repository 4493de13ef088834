/* Any accepted use, in any order: no byte too far, nothing undefined, no value that is no number. */
#include "tests/support/node_any.h"
#include "tests/unit/node_rig.h"
#include <math.h>

enum { TURNS = 1500, SAMPLES = 512 };

static uint32_t seed = 2463534242u;

static uint32_t below(uint32_t n)
{
    return rig_noise(&seed) % n;
}

static double between(double lo, double hi)
{
    return lo + (hi - lo) * (rig_noise(&seed) / 4294967295.0);
}

/* A value inside the table's range; validate may still refuse it. */
static void set_something(rig_t *g)
{
    uint32_t count;
    const tw_param_desc_t *p = &g->d->params(&g->fmt[0], &count)[0];
    p += below(count);
    uint8_t wire[64];
    const uint32_t size = tw_raw_bits(p->raw) / 8;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->raw == TW_RAW_FP32) {
            tw_put_f32(wire + i * size, (float)between(p->min, p->max));
        } else {
            tw_put_le32(wire + i * size, (uint32_t)(int64_t)between(p->min, p->max + 0.999));
        }
    }
    const tw_err_t err = rig_set(g, p->index, wire, p->count * size);
    assert_true(err == TW_OK || (err == TW_E_PARAM_READ_ONLY && p->flags & TW_PARAM_READ_ONLY) ||
                (err == TW_E_PARAM_UNSTABLE && p->count == 5) || (err == TW_E_PARAM_RANGE && g->d->validate != NULL));
}

static void read_everything(rig_t *g)
{
    uint32_t count;
    const tw_param_desc_t *p = g->d->params(&g->fmt[0], &count);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t wire[64];
        const uint32_t bytes = rig_get(g, p[i].index, wire, sizeof wire);
        for (uint32_t k = 0; p[i].raw == TW_RAW_FP32 && k < bytes; k += 4) {
            const double v = (double)tw_get_f32(wire + k);
            if (!(v >= p[i].min && v <= p[i].max)) {
                fail_msg("%s.%s reads %g", g->d->name, p[i].name, v);
            }
        }
    }
}

/* The arc's buffers are exactly as large as told. */
static void run_something(rig_t *g)
{
    const bool f32_in = g->fmt[0].raw == TW_RAW_FP32;
    const uint32_t room_in = below(SAMPLES), room_out = below(SAMPLES);
    uint8_t *in = malloc(room_in + 1), *out = malloc(room_out + 1);
    for (uint32_t i = 0; i + 4 <= room_in; i += 4) {
        const float f = (float)between(-1.5, 1.5);
        const uint32_t q = rig_noise(&seed);
        memcpy(in + i, f32_in ? (const void *)&f : (const void *)&q, 4);
    }
    for (uint32_t i = room_in & ~3u; i < room_in; i++) {
        in[i] = 0;
    }
    tw_xdm_t data[2] = {{in, room_in}, {out, room_out}};
    const uint32_t err = rig_command(g, TW_CMD_RUN, 0, data);
    assert_true(err == 0 || err == (uint32_t)-TW_E_PARAM_UNSTABLE);
    assert_true(data[0].bytes <= room_in && data[1].bytes <= room_out);
    for (uint32_t i = 0; g->fmt[1].raw == TW_RAW_FP32 && i < data[1].bytes; i += 4) {
        float f;
        memcpy(&f, out + i, 4);
        assert_true(isfinite(f));
    }
    free(in);
    free(out);
}

static uint32_t some_preset(const rig_t *g)
{
    uint32_t p = below(64);
    while ((g->d->presets >> p & 1) == 0) {
        p = below(64);
    }
    return p;
}

/* Types a node takes on each side; what has nothing on the other goes out as it came in. `mono` side: 1 channel. */
static const struct kind {
    const char *name;
    uint8_t in[4], out[4]; /* up to the first 0 */
    bool in_mono, out_mono;
} kinds[] = {
    {"amplifier", {TW_RAW_S16, TW_RAW_Q15, TW_RAW_FP32}, {0}, false, false},
    {"filter", {TW_RAW_S16, TW_RAW_Q15, TW_RAW_FP32}, {0}, false, false},
    {"detector", {TW_RAW_S16, TW_RAW_Q15, TW_RAW_FP32}, {0}, false, false},
    {"compressor", {TW_RAW_S16, TW_RAW_Q15}, {TW_RAW_U8, TW_RAW_HEXBINARY}, false, true},
    {"decompressor", {TW_RAW_U8, TW_RAW_S8}, {TW_RAW_S16, TW_RAW_Q15}, true, false},
    {"modulator", {TW_RAW_U8, TW_RAW_Q15, TW_RAW_FP32}, {TW_RAW_S16, TW_RAW_Q31, TW_RAW_FP32}, true, false},
    {"resampler", {TW_RAW_S16, TW_RAW_Q31, TW_RAW_FP32}, {TW_RAW_S16, TW_RAW_Q31, TW_RAW_FP32}, false, false},
    {"demodulator", {TW_RAW_S16, TW_RAW_Q31, TW_RAW_FP32}, {TW_RAW_U8, TW_RAW_U1, TW_RAW_S16}, true, true},
};

static tw_raw_t any_of(const uint8_t raws[4])
{
    uint32_t n = 0;
    while (n < 4 && raws[n] != 0) {
        n++;
    }
    return (tw_raw_t)raws[below(n)];
}

static void open_something(rig_t *g, const struct kind *k, unsigned channels)
{
    const tw_format_t in = rig_format(any_of(k->in), k->in_mono ? 1 : channels, below(2), 1 + below(20));
    const bool coded = k->in_mono != k->out_mono;
    tw_format_t out = in;
    if (k->out[0] != 0) {
        out = rig_format(any_of(k->out), k->out_mono ? 1 : channels, below(2),
                         1 + below(20) + (coded ? 8 * channels : 0));
    }
    if (strcmp(k->name, "resampler") == 0) {
        out.rate_hz = (float)between(4000, 48000);
    }
    rig_prepare(g, k->name, in, out);
    assert_int_equal(rig_reset(g, false, 0), 0);
}

static void any_accepted_use_stays_in_its_memory(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 20 * TW_COUNT(kinds); round++) {
        const unsigned channels = 1 + (round % 4 == 3 ? 31 : below(6));
        rig_t g;
        open_something(&g, &kinds[round % TW_COUNT(kinds)], channels);
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            switch (below(16)) {
            case 0: {
                const uint32_t err = rig_reset(&g, below(4) != 0, some_preset(&g));
                if (err != 0) { /* formats that a preset does not take: back to one that does */
                    assert_int_equal(err, (uint32_t)-TW_E_IMG_FORMAT);
                    assert_int_equal(rig_reset(&g, false, 0), 0);
                }
                break;
            }
            case 1:
                read_everything(&g);
                break;
            case 2:
            case 3:
            case 4:
                set_something(&g);
                break;
            default:
                run_something(&g);
            }
        }
        rig_close(&g);
    }
}

/* Types that come and go are met as the catalogue has them. */
static void any_type_of_the_catalogue_stays_in_its_memory(void **state)
{
    (void)state;
    uint32_t types;
    const tw_node_desc_t *const *all = tw_node_catalogue(&types);
    for (uint32_t type = 0; type < types; type++) {
        unsigned opened = 0;
        for (uint32_t round = 0; round < 2000 && opened < 80; round++) {
            any_source_t s = {.seed = rig_noise(&seed)};
            opened += any_node(&s, type, 150);
        }
        if (opened < 10) {
            fail_msg("%s: formats drawn were accepted %u times only", all[type]->name, opened);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_accepted_use_stays_in_its_memory),
        cmocka_unit_test(any_type_of_the_catalogue_stays_in_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
