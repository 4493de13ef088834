/* value_text.c - see value_text.h. */
#include "host_tools/client/value_text.h"
#include "engine/base/formats.h"
#include "engine/base/units.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How an element is kept. */
typedef enum kind { NO_NUMBER, SIGNED, UNSIGNED, HALF, SINGLE, DOUBLE } kind_t;

static kind_t kind_of(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
    case TW_RAW_S16:
    case TW_RAW_Q15:
    case TW_RAW_S32:
    case TW_RAW_Q23_32:
    case TW_RAW_Q31:
    case TW_RAW_S64:
    case TW_RAW_Q63:
        return SIGNED;
    case TW_RAW_U8:
    case TW_RAW_CHAR:
    case TW_RAW_U16:
    case TW_RAW_U32:
    case TW_RAW_U64:
    case TW_RAW_TIME16:
    case TW_RAW_TIME16D:
    case TW_RAW_TIME32:
    case TW_RAW_TIME32D:
    case TW_RAW_TIMESTMP:
    case TW_RAW_TIME64:
    case TW_RAW_TIME64MS:
    case TW_RAW_TIME64ISO:
        return UNSIGNED;
    case TW_RAW_FP16:
        return HALF;
    case TW_RAW_FP32:
        return SINGLE;
    case TW_RAW_FP64:
        return DOUBLE;
    default:
        return NO_NUMBER;
    }
}

static uint64_t get_le(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = bytes; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

static void put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

static double half_to_double(uint16_t h)
{
    const int e = h >> 10 & 31, m = h & 0x3FF;
    const double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

/* Round to nearest even; false when it would be infinite. */
static bool double_to_half(double v, uint16_t *h)
{
    int e;
    const double a = fabs(v);
    (void)frexp(a, &e);
    const int shift = e > -13 ? 11 - e : 24; /* 11 significant bits, fewer for subnormals */
    const double m = nearbyint(ldexp(a, shift));
    const double rounded = ldexp(m, -shift);
    if (!(rounded <= 65504.0)) {
        return false;
    }
    (void)frexp(rounded, &e);
    const int bits =
        rounded < ldexp(1, -14) ? (int)ldexp(rounded, 24) : (e + 14) << 10 | ((int)ldexp(rounded, 11 - e) & 0x3FF);
    *h = (uint16_t)(bits | (signbit(v) ? 0x8000 : 0));
    return true;
}

double tw_raw_read(uint32_t raw, const uint8_t *p)
{
    const unsigned bits = tw_raw_bits(raw), bytes = bits / 8;
    double d;
    switch (kind_of(raw)) {
    case SIGNED: {
        const uint64_t u = get_le(p, bytes) << (64 - bits);
        return (double)((int64_t)u >> (64 - bits));
    }
    case UNSIGNED:
        return (double)get_le(p, bytes);
    case HALF:
        return half_to_double(tw_get_le16(p));
    case SINGLE:
        return (double)tw_get_f32(p);
    case DOUBLE: {
        const uint64_t u = tw_get_le64(p);
        memcpy(&d, &u, sizeof d);
        return d;
    }
    case NO_NUMBER:
        break;
    }
    return 0;
}

static bool write_whole(double v, unsigned bits, bool is_signed, uint8_t *p)
{
    const double r = nearbyint(v);
    const double low = is_signed ? -ldexp(1, (int)bits - 1) : 0;
    const double high = ldexp(1, (int)bits - (is_signed ? 1 : 0)); /* first that does not fit */
    if (!(r >= low && r < high)) {
        return false;
    }
    put_le(p, is_signed ? (uint64_t)(int64_t)r : (uint64_t)r, bits / 8);
    return true;
}

bool tw_raw_write(uint32_t raw, double v, uint8_t *p)
{
    const unsigned bits = tw_raw_bits(raw);
    uint16_t h;
    switch (kind_of(raw)) {
    case SIGNED:
        return write_whole(v, bits, true, p);
    case UNSIGNED:
        return write_whole(v, bits, false, p);
    case HALF:
        if (!double_to_half(v, &h)) {
            return false;
        }
        tw_put_le16(p, h);
        return true;
    case SINGLE:
        tw_put_f32(p, (float)v);
        return isfinite((float)v);
    case DOUBLE: {
        uint64_t u;
        memcpy(&u, &v, sizeof u);
        tw_put_le64(p, u);
        return isfinite(v);
    }
    case NO_NUMBER:
        break;
    }
    return false;
}

bool tw_raw_whole(uint32_t raw)
{
    const kind_t k = kind_of(raw);
    return k == SIGNED || k == UNSIGNED;
}

double tw_raw_fraction(uint32_t raw, const uint8_t *p)
{
    const double v = tw_raw_read(raw, p);
    const int bits = (int)tw_raw_bits(raw);
    switch (kind_of(raw)) {
    case SIGNED:
        return ldexp(v, raw == TW_RAW_Q23_32 ? -23 : 1 - bits);
    case UNSIGNED:
        return ldexp(v, 1 - bits) - 1; /* offset binary */
    case HALF:
    case SINGLE:
    case DOUBLE:
    case NO_NUMBER:
        break;
    }
    return v;
}

/* ---- units -------------------------------------------------------------------- */

typedef struct unit {
    uint32_t primary;
    double num, den, offset;
} unit_t;

static bool find_unit(const char *text, unit_t *u)
{
    static const struct {
        char c;
        double by;
    } prefixes[] = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}};
    const size_t n = strlen(text);
    int code = tw_unit_find(text, n);
    if (code >= 0) {
        const tw_unit_scale_t *row = tw_unit_scale((uint32_t)code);
        *u = (unit_t){row->primary, row->num, row->den, row->offset};
        return true;
    }
    code = n > 1 ? tw_unit_find(text + 1, n - 1) : -1;
    for (size_t i = 0; i < TW_COUNT(prefixes) && code > 0; i++) {
        if (prefixes[i].c == text[0] && tw_unit_scale((uint32_t)code)->primary == (uint32_t)code) {
            *u = (unit_t){(uint32_t)code, prefixes[i].by, 1, 0};
            return true;
        }
    }
    return false;
}

bool tw_unit_convert(double v, const char *from, const char *to, double *out)
{
    unit_t f, t;
    *out = v;
    if (strcmp(from, to) == 0) {
        return true;
    }
    if (!find_unit(from, &f) || !find_unit(to, &t) || f.primary != t.primary || f.primary == 0) {
        return false;
    }
    *out = ((v * f.num / f.den + f.offset) - t.offset) * t.den / t.num;
    return true;
}

/* ---- reading -------------------------------------------------------------------- */

uint32_t tw_value_bytes(const tunewire_v1_ParamDesc *d)
{
    return tw_raw_bits(d->type) / 8 * (d->count ? d->count : 1);
}

static bool refuse(char *why, size_t why_n, const char *what, const char *text)
{
    (void)snprintf(why, why_n, "%s: '%.60s'", what, text);
    return false;
}

/* Words for what only takes 0 and 1. */
static bool read_word(const tunewire_v1_ParamDesc *d, const char *text, double *v)
{
    static const struct {
        const char *word;
        int v;
    } words[] = {{"on", 1}, {"off", 0}, {"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0}};
    for (size_t i = 0; i < TW_COUNT(words) && d->min == 0 && d->max == 1; i++) {
        if (strcmp(text, words[i].word) == 0) {
            *v = words[i].v;
            return true;
        }
    }
    return false;
}

static bool has_unit(const tunewire_v1_ParamDesc *d)
{
    return d->unit[0] && strcmp(d->unit, "any") != 0;
}

static bool read_number(const tunewire_v1_ParamDesc *d, const char *text, double *v, char *why, size_t why_n)
{
    if (read_word(d, text, v)) {
        return true;
    }
    char *end;
    *v = strtod(text, &end);
    if (end == text || !isfinite(*v)) {
        return refuse(why, why_n, "not a number", text);
    }
    while (isspace((unsigned char)*end)) {
        end++;
    }
    if (*end == '\0') {
        return true;
    }
    if (!has_unit(d)) {
        return refuse(why, why_n, "takes a number without a unit", text);
    }
    if (!tw_unit_convert(*v, end, d->unit, v)) {
        (void)snprintf(why, why_n, "unit '%.20s' is not one of %s", end, d->unit);
        return false;
    }
    return true;
}

static bool read_element(const tunewire_v1_ParamDesc *d, const char *text, uint8_t *out, char *why, size_t why_n)
{
    double v;
    if (!read_number(d, text, &v, why, why_n)) {
        return false;
    }
    if (tw_raw_whole(d->type) && fabs(v - nearbyint(v)) > 1e-6) {
        return refuse(why, why_n, "takes whole numbers", text);
    }
    if (d->min < d->max && !(v >= d->min - 1e-9 * fabs(d->min) && v <= d->max + 1e-9 * fabs(d->max))) {
        (void)snprintf(why, why_n, "%.40s is not within %g..%g%s%s", text, d->min, d->max, has_unit(d) ? " " : "",
                       has_unit(d) ? d->unit : "");
        return false;
    }
    if (!tw_raw_write(d->type, v, out)) {
        return refuse(why, why_n, "does not fit the parameter's type", text);
    }
    return true;
}

/* The next element of a list, blanks around it removed. @return false at the end */
static bool next_item(const char **at, char *item, size_t cap)
{
    if (!*at) {
        return false;
    }
    const char *comma = strchr(*at, ',');
    const char *start = *at, *end = comma ? comma : *at + strlen(*at);
    *at = comma ? comma + 1 : NULL;
    while (start < end && isspace((unsigned char)*start)) {
        start++;
    }
    while (end > start && isspace((unsigned char)end[-1])) {
        end--;
    }
    (void)snprintf(item, cap, "%.*s", (int)(end - start), start);
    return true;
}

bool tw_value_parse(const tunewire_v1_ParamDesc *d, const char *text, uint8_t *out, uint32_t cap, uint32_t *n,
                    char *why, size_t why_n)
{
    const uint32_t size = tw_raw_bits(d->type) / 8, count = d->count ? d->count : 1;
    char item[80];
    uint32_t i = 0;
    *n = 0;
    if (kind_of(d->type) == NO_NUMBER || size * count > cap) {
        (void)snprintf(why, why_n, "type %u cannot be written as text", d->type);
        return false;
    }
    for (const char *at = text; next_item(&at, item, sizeof item); i++) {
        if (i < count && !read_element(d, item, out + i * size, why, why_n)) {
            return false;
        }
    }
    if (i != count) {
        (void)snprintf(why, why_n, "takes %u value%s, got %u", count, count == 1 ? "" : "s", i);
        return false;
    }
    *n = size * count;
    return true;
}

/* ---- writing ---------------------------------------------------------------------- */

/* The shortest text that reads back to the same element. */
static void element_text(uint32_t raw, const uint8_t *p, unsigned size, char *out, size_t cap)
{
    const double v = tw_raw_read(raw, p);
    uint8_t back[8];
    for (int digits = tw_raw_whole(raw) ? 20 : 3; digits <= 20; digits++) {
        (void)snprintf(out, cap, "%.*g", digits, v);
        if (!isfinite(v) || (tw_raw_write(raw, strtod(out, NULL), back) && memcmp(back, p, size) == 0)) {
            return;
        }
    }
}

void tw_value_format(const tunewire_v1_ParamDesc *d, const uint8_t *value, uint32_t n, char *out, size_t cap)
{
    const uint32_t size = tw_raw_bits(d->type) / 8;
    size_t used = 0;
    if (cap) {
        out[0] = '\0';
    }
    for (uint32_t i = 0; size && (i + 1) * size <= n; i++) {
        char one[48];
        element_text(d->type, value + i * size, size, one, sizeof one);
        if (used + strlen(one) + 2 > cap) {
            return; /* whole elements only */
        }
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i ? "," : "", one);
    }
}
