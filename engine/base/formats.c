#include "engine/base/formats.h"
#include <string.h>

static const struct {
    const char *name;
    bool computable;
} raws[] = {
#define TW_RAW(code, NAME, bits, computable) [code] = {#NAME, computable},
#include "engine/base/raw_types.def"
};

static const struct {
    const char *text;
    uint8_t raw;
} raw_aliases[] = {
#define TW_RAW_ALIAS(text, NAME) {text, TW_RAW_##NAME},
#include "engine/base/raw_types.def"
};

static const char *const units[] = {
#define TW_UNIT(code, text, NAME, primary, num, den, offset, kind) [code] = text,
#include "engine/base/units.def"
};
static const char *const unit_names[] = {
#define TW_UNIT(code, text, NAME, primary, num, den, offset, kind) [code] = #NAME,
#include "engine/base/units.def"
};
_Static_assert(TW_COUNT(units) == TW_UNIT_COUNT, "units.def and TW_UNIT_COUNT");

static const char *const domains[] = {
#define TW_DOMAIN(code, text) [code] = text,
#include "engine/base/domains.def"
};
_Static_assert(TW_COUNT(domains) == TW_DOMAIN_COUNT, "domains.def and TW_DOMAIN_COUNT");

static const struct {
    const char *text;
    uint8_t domain;
} domain_aliases[] = {
#define TW_DOMAIN_ALIAS(text, code) {text, code},
#include "engine/base/domains.def"
};

static const char *const channels[] = {
#define TW_CHANNEL(bit, text, name) [bit] = text,
#include "engine/base/channels.def"
};
_Static_assert(TW_COUNT(channels) == TW_CHANNEL_COUNT, "channels.def and TW_CHANNEL_COUNT");

/* X: present, 0: absent; a accelerometer, g gyroscope, m magnetometer */
static const char *const motions[] = {"aXg0m0", "a0gXm0", "a0g0mX", "aXgXm0", "aXg0mX", "a0gXmX", "aXgXmX"};

/* Names are compared with a counted string, so callers need no copy of a token. */
static bool same(const char *name, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (name[i] == 0 || name[i] != text[i]) {
            return false;
        }
    }
    return name[n] == 0;
}

static int find(const char *const *names, size_t count, const char *text, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        if (same(names[i], text, n)) {
            return (int)i;
        }
    }
    return -1;
}

const char *tw_raw_name(uint32_t raw)
{
    return raw < TW_COUNT(raws) ? raws[raw].name : NULL;
}

bool tw_raw_computable(uint32_t raw)
{
    return raw < TW_COUNT(raws) && raws[raw].computable;
}

/* Skip a prefix of the seeds' headers. */
static void skip_prefix(const char *prefix, size_t len, const char **text, size_t *n)
{
    if (*n > len && memcmp(*text, prefix, len) == 0) {
        *text += len;
        *n -= len;
    }
}

int tw_raw_find(const char *name, size_t n)
{
    skip_prefix("STREAM_", 7, &name, &n);
    for (size_t i = 0; i < TW_COUNT(raw_aliases); i++) {
        if (same(raw_aliases[i].text, name, n)) {
            return raw_aliases[i].raw;
        }
    }
    for (size_t i = 0; i < TW_COUNT(raws); i++) {
        if (same(raws[i].name, name, n)) {
            return (int)i;
        }
    }
    return -1;
}

const char *tw_unit_text(uint32_t unit)
{
    return unit < TW_COUNT(units) ? units[unit] : NULL;
}

int tw_unit_find(const char *text, size_t n)
{
    return find(units, TW_COUNT(units), text, n);
}

const char *tw_unit_name(uint32_t unit)
{
    return unit < TW_COUNT(unit_names) ? unit_names[unit] : NULL;
}

/* Lower case is for words only: "ms" and "MS" would be two units in one manifest. */
static bool same_name(const char *name, const char *text, size_t n)
{
    if (same(name, text, n)) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (name[i] == 0 || text[i] < 'a' || text[i] > 'z' || name[i] != text[i] - 'a' + 'A') {
            return false;
        }
    }
    return n >= 4 && name[n] == 0;
}

int tw_unit_find_name(const char *text, size_t n)
{
    const int code = tw_unit_find(text, n);
    if (code >= 0) {
        return code;
    }
    skip_prefix("STREAM_SUBT_ANA_", 16, &text, &n);
    for (size_t i = 0; i < TW_COUNT(unit_names); i++) {
        if (same_name(unit_names[i], text, n)) {
            return (int)i;
        }
    }
    return -1;
}

const char *tw_domain_text(uint32_t domain)
{
    return domain < TW_COUNT(domains) ? domains[domain] : NULL;
}

int tw_domain_find(const char *text, size_t n)
{
    const int code = find(domains, TW_COUNT(domains), text, n);
    for (size_t i = 0; code < 0 && i < TW_COUNT(domain_aliases); i++) {
        if (same(domain_aliases[i].text, text, n)) {
            return domain_aliases[i].domain;
        }
    }
    return code;
}

const char *tw_channel_text(uint32_t bit)
{
    return bit < TW_COUNT(channels) ? channels[bit] : NULL;
}

int tw_channel_find(const char *text, size_t n)
{
    return find(channels, TW_COUNT(channels), text, n);
}

const char *tw_motion_text(uint32_t code)
{
    return code >= 1 && code <= TW_COUNT(motions) ? motions[code - 1] : NULL;
}

int tw_motion_find(const char *text, size_t n)
{
    const int at = find(motions, TW_COUNT(motions), text, n);
    return at < 0 ? -1 : at + 1;
}

bool tw_raw_sampled(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_U8:
    case TW_RAW_Q7:
    case TW_RAW_S16:
    case TW_RAW_U16:
    case TW_RAW_Q15:
    case TW_RAW_S32:
    case TW_RAW_U32:
    case TW_RAW_Q31:
    case TW_RAW_FP32:
    case TW_RAW_FP64:
        return true;
    default:
        return false;
    }
}
