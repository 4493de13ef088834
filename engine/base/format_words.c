/* format_words.c - packed stream formats of other generations. Layouts: format_words.h. */
#include "engine/base/format_words.h"
#include "engine/base/bytes.h"

const char *tw_fmt_field_text(tw_fmt_field_t field)
{
    static const char *const texts[] = {"none",    "frame",      "raw type",        "interleaving", "channels",
                                        "rate",    "time stamp", "time-stamp size", "domain",       "unit",
                                        "mapping", "direction",  "domain word",     "spare bits"};
    _Static_assert(TW_COUNT(texts) == TW_FMT_FIELD_COUNT, "a text for every field");
    return (unsigned)field < TW_COUNT(texts) ? texts[field] : texts[0];
}

unsigned tw_fmt_words(tw_fmt_layout_t layout)
{
    return layout == TW_FMT_LISTING ? 3 : 4;
}

static tw_err_t refuse(tw_fmt_field_t *field, tw_fmt_field_t which, tw_err_t err)
{
    *field = which;
    return err;
}

/* ---- rates -------------------------------------------------------------------------- */

#define MANTISSA_MAX 0x7FFFFu

/* The exponent of least size that says the rate exactly, else the most precise one that has room. */
static bool to_seed_rate(double rate, uint32_t *code)
{
    bool fits = false;
    for (uint32_t e = 0; e < 4; e++) {
        const double scaled = rate * (double)(1u << (8 * e));
        if (!(scaled < MANTISSA_MAX + 0.5)) {
            break;
        }
        const uint32_t m = (uint32_t)(scaled + 0.5);
        *code = m | e << 19;
        fits = true;
        if ((double)m == scaled) {
            break;
        }
    }
    return fits;
}

static double from_seed_rate(uint32_t code)
{
    return (double)(code & MANTISSA_MAX) / (double)(1u << (8 * (code >> 19)));
}

static uint32_t float_bits(double v)
{
    const float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Infinities, numbers that are none and negative ones are no rates. */
static bool is_float_rate(uint32_t bits, double *rate)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    *rate = (double)f;
    return bits >> 31 == 0 && (bits >> 23 & 0xFF) != 0xFF;
}

/* ---- writing -------------------------------------------------------------------------- */

typedef struct limits {
    uint32_t frame, interleaving, ts_size, domain, unit, mapping, direction, extra;
} limits_t;

/* Largest value of each field; 0: the layout has no such field. */
static const limits_t limits[] = {
    [TW_FMT_SEED] = {0xFFFFFF, 2, 0, 15, 0, 0xFFFFFF, 1, 0xFFFFFFFF},
    [TW_FMT_LISTING] = {0x3FFFFF, 1, 0, 15, 0, 0, 0, 0},
    [TW_FMT_E2] = {0x3FFFFF, 1, 3, 15, TW_UNIT_COUNT - 1, 0, 0, 0xFFFFFFFF},
};

static tw_err_t check(const limits_t *l, const tw_fmt_t *f, tw_fmt_field_t *field)
{
    const struct {
        uint32_t v, most;
        tw_fmt_field_t field;
    } fields[] = {
        {f->frame, l->frame, TW_FMT_FIELD_FRAME},
        {f->raw, TW_RAW_COUNT - 1, TW_FMT_FIELD_RAW},
        {f->interleaving, l->interleaving, TW_FMT_FIELD_INTERLEAVING},
        {f->channels - 1u, 31, TW_FMT_FIELD_CHANNELS},
        {f->ts, 3, TW_FMT_FIELD_TS},
        {f->ts_size, l->ts_size, TW_FMT_FIELD_TS_SIZE},
        {f->domain, l->domain, TW_FMT_FIELD_DOMAIN},
        {f->unit, l->unit, TW_FMT_FIELD_UNIT},
        {f->mapping, l->mapping, TW_FMT_FIELD_MAPPING},
        {f->direction, l->direction, TW_FMT_FIELD_DIRECTION},
        {f->extra, l->extra, TW_FMT_FIELD_EXTRA},
    };
    for (size_t i = 0; i < TW_COUNT(fields); i++) {
        if (fields[i].v > fields[i].most) {
            return refuse(field, fields[i].field, fields[i].most == 0 ? TW_E_UNSUPPORTED : TW_E_RANGE);
        }
    }
    *field = TW_FMT_FIELD_NONE;
    return f->rate >= 0 && f->rate < 3.4e38 ? TW_OK : refuse(field, TW_FMT_FIELD_RATE, TW_E_RANGE);
}

static tw_err_t export_seed(const tw_fmt_t *f, uint32_t w[4], tw_fmt_field_t *field)
{
    uint32_t rate;
    if (!to_seed_rate(f->rate, &rate)) {
        return refuse(field, TW_FMT_FIELD_RATE, TW_E_RANGE);
    }
    w[0] = f->frame | tw_put_bits(f->interleaving, 24) | tw_put_bits(f->raw, 26);
    w[1] = (f->channels - 1u) | tw_put_bits(rate, 5) | tw_put_bits(f->ts, 26);
    w[2] = f->domain | tw_put_bits(f->mapping, 6) | tw_put_bits(f->direction, 30);
    w[3] = f->extra;
    return TW_OK;
}

static void export_listing(const tw_fmt_t *f, uint32_t w[4])
{
    w[0] = f->frame | tw_put_bits(f->interleaving, 22) | tw_put_bits(f->ts, 23) | tw_put_bits(f->raw, 25);
    w[1] = (float_bits(f->rate) & ~31u) | (f->channels - 1u);
    w[2] = f->domain;
    w[3] = 0;
}

static void export_e2(const tw_fmt_t *f, uint32_t w[4])
{
    w[0] = f->frame;
    w[1] = (f->channels - 1u) | tw_put_bits(f->interleaving, 5) | tw_put_bits(f->ts, 6) | tw_put_bits(f->ts_size, 8) |
           tw_put_bits(f->domain, 10) | tw_put_bits(f->unit, 15) | tw_put_bits(f->raw, 23);
    w[2] = float_bits(f->rate);
    w[3] = f->extra;
}

tw_err_t tw_fmt_words_export(tw_fmt_layout_t layout, const tw_fmt_t *f, uint32_t w[4], tw_fmt_field_t *field)
{
    if ((unsigned)layout >= TW_COUNT(limits)) {
        return TW_E_ARG;
    }
    TW_TRY(check(&limits[layout], f, field));
    switch (layout) {
    case TW_FMT_SEED:
        return export_seed(f, w, field);
    case TW_FMT_LISTING:
        export_listing(f, w);
        return TW_OK;
    case TW_FMT_E2:
        export_e2(f, w);
        return TW_OK;
    }
    return TW_E_ARG;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* @return false when spare bits are set */
static bool import_seed(const uint32_t w[4], tw_fmt_t *f)
{
    f->frame = tw_bits(w[0], 23, 0);
    f->interleaving = (uint8_t)tw_bits(w[0], 25, 24);
    f->raw = (uint8_t)tw_bits(w[0], 31, 26);
    f->channels = (uint8_t)(tw_bits(w[1], 4, 0) + 1);
    f->rate = from_seed_rate(tw_bits(w[1], 25, 5));
    f->ts = (uint8_t)tw_bits(w[1], 27, 26);
    f->domain = (uint8_t)tw_bits(w[2], 5, 0);
    f->mapping = tw_bits(w[2], 29, 6);
    f->direction = (uint8_t)tw_bits(w[2], 30, 30);
    f->extra = w[3];
    return tw_bits(w[1], 31, 28) == 0 && w[2] >> 31 == 0;
}

static bool import_listing(const uint32_t w[4], tw_fmt_t *f, bool *rate)
{
    f->frame = tw_bits(w[0], 21, 0);
    f->interleaving = (uint8_t)tw_bits(w[0], 22, 22);
    f->ts = (uint8_t)tw_bits(w[0], 24, 23);
    f->raw = (uint8_t)tw_bits(w[0], 30, 25);
    f->channels = (uint8_t)(tw_bits(w[1], 4, 0) + 1);
    *rate = is_float_rate(w[1] & ~31u, &f->rate);
    f->domain = (uint8_t)tw_bits(w[2], 5, 0);
    return w[0] >> 31 == 0 && w[2] >> 6 == 0;
}

static bool import_e2(const uint32_t w[4], tw_fmt_t *f, bool *rate)
{
    f->frame = tw_bits(w[0], 21, 0);
    f->channels = (uint8_t)(tw_bits(w[1], 4, 0) + 1);
    f->interleaving = (uint8_t)tw_bits(w[1], 5, 5);
    f->ts = (uint8_t)tw_bits(w[1], 7, 6);
    f->ts_size = (uint8_t)tw_bits(w[1], 9, 8);
    f->domain = (uint8_t)tw_bits(w[1], 14, 10);
    f->unit = (uint8_t)tw_bits(w[1], 22, 15);
    f->raw = (uint8_t)tw_bits(w[1], 28, 23);
    *rate = is_float_rate(w[2], &f->rate);
    f->extra = w[3];
    return w[0] >> 22 == 0 && w[1] >> 29 == 0;
}

tw_err_t tw_fmt_words_import(tw_fmt_layout_t layout, const uint32_t w[4], tw_fmt_t *f, tw_fmt_field_t *field)
{
    tw_fmt_t got = {0};
    bool rate = true;
    if ((unsigned)layout >= TW_COUNT(limits)) {
        return TW_E_ARG;
    }
    const bool spare = layout == TW_FMT_SEED      ? import_seed(w, &got)
                       : layout == TW_FMT_LISTING ? import_listing(w, &got, &rate)
                                                  : import_e2(w, &got, &rate);
    TW_TRY(check(&limits[layout], &got, field));
    if (!rate) {
        return refuse(field, TW_FMT_FIELD_RATE, TW_E_RANGE);
    }
    if (!spare) {
        return refuse(field, TW_FMT_FIELD_SPARE, TW_E_RANGE);
    }
    *f = got;
    return TW_OK;
}

/* ---- arrays ------------------------------------------------------------------------------- */

tw_err_t tw_array_head_pack(uint32_t raw, uint32_t count, uint8_t head[TW_ARRAY_HEAD_BYTES])
{
    if (raw == TW_RAW_DATA_ARRAY || raw >= TW_RAW_COUNT || count > 0xFFFF) {
        return TW_E_RANGE;
    }
    head[0] = 0;
    head[1] = (uint8_t)raw;
    tw_put_le16(head + 2, (uint16_t)count);
    return TW_OK;
}

tw_err_t tw_array_head_unpack(const uint8_t *array, size_t bytes, uint32_t *raw, uint32_t *count)
{
    if (bytes < TW_ARRAY_HEAD_BYTES) {
        return TW_E_TRUNCATED;
    }
    const uint32_t n = tw_get_le16(array + 2);
    if (array[0] != 0 || array[1] == TW_RAW_DATA_ARRAY || array[1] >= TW_RAW_COUNT) {
        return TW_E_RANGE;
    }
    if (((uint64_t)n * tw_raw_bits(array[1]) + 7) / 8 > bytes - TW_ARRAY_HEAD_BYTES) {
        return TW_E_TRUNCATED;
    }
    *raw = array[1];
    *count = n;
    return TW_OK;
}
