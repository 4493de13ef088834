/* time_stamps.c - bits of the time formats. Layouts: time_stamps.h. */
#include "engine/base/time_stamps.h"
#include "engine/base/bytes.h"

/* ---- fixed point ------------------------------------------------------------------ */

/* Nearest multiple of 2^-frac seconds, below 2^whole seconds. */
static tw_err_t to_fixed(tw_time_t t, unsigned whole, unsigned frac, uint64_t *word)
{
    const uint64_t step = 1ull << (32 - frac), half = step >> 1;
    const uint64_t fraction = (t.frac + half) / step; /* 2^frac when it rounds up to a second */
    const uint64_t s = t.s + (fraction >> frac);
    if (t.s > 1ull << 48 || s >> whole != 0) {
        return TW_E_RANGE;
    }
    *word = s << frac | (fraction & ((1ull << frac) - 1));
    return TW_OK;
}

static tw_err_t from_fixed(uint64_t word, unsigned whole, unsigned frac, tw_time_t *t)
{
    if (whole + frac < 64 && word >> (whole + frac) != 0) {
        return TW_E_RANGE;
    }
    *t = (tw_time_t){word >> frac, (uint32_t)(word << (32 - frac))};
    return TW_OK;
}

static const struct {
    uint8_t raw, whole, frac;
} fixed[] = {
    {TW_RAW_TIME16, 14, 2},   {TW_RAW_TIME16D, 1, 15},   {TW_RAW_TIME32, 28, 4},
    {TW_RAW_TIME32D, 17, 15}, {TW_RAW_TIMESTMP, 20, 12}, {TW_RAW_TIME64, 32, 28},
};

#define MS_BITS 42u

static tw_err_t pack_ms(tw_time_t t, uint64_t *word)
{
    const uint64_t ms = ((uint64_t)t.frac * 1000 + (1ull << 31)) >> 32;
    if (t.s > 1ull << MS_BITS || (t.s * 1000 + ms) >> MS_BITS != 0) {
        return TW_E_RANGE;
    }
    *word = t.s * 1000 + ms;
    return TW_OK;
}

static tw_err_t unpack_ms(uint64_t word, tw_time_t *t)
{
    if (word >> MS_BITS != 0) {
        return TW_E_RANGE;
    }
    *t = (tw_time_t){word / 1000, (uint32_t)(((word % 1000 << 32) + 500) / 1000)};
    return TW_OK;
}

tw_err_t tw_time_pack(tw_raw_t raw, tw_time_t t, uint64_t *word)
{
    for (size_t i = 0; i < TW_COUNT(fixed); i++) {
        if (fixed[i].raw == raw) {
            return to_fixed(t, fixed[i].whole, fixed[i].frac, word);
        }
    }
    return raw == TW_RAW_TIME64MS ? pack_ms(t, word) : TW_E_ARG;
}

tw_err_t tw_time_unpack(tw_raw_t raw, uint64_t word, tw_time_t *t)
{
    for (size_t i = 0; i < TW_COUNT(fixed); i++) {
        if (fixed[i].raw == raw) {
            return from_fixed(word, fixed[i].whole, fixed[i].frac, t);
        }
    }
    return raw == TW_RAW_TIME64MS ? unpack_ms(word, t) : TW_E_ARG;
}

/* ---- calendar ----------------------------------------------------------------------- */

#define DAY_S 86400
#define QUARTER_S 900
#define QUARTERS_MIN (-48)
#define QUARTERS_MAX 56

static bool is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_of_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Days from 0000-01-01 to the first of January of a year. */
static int64_t days_before(unsigned year)
{
    const int64_t past = (int64_t)year - 1;
    return year == 0 ? 0 : 366 + past * 365 + past / 4 - past / 100 + past / 400;
}

#define DAYS_TO_1970 719528

static bool is_moment(const tw_iso_time_t *t)
{
    return t->year <= 9999 && t->month >= 1 && t->month <= 12 && t->day >= 1 &&
           t->day <= days_of_month(t->year, t->month) && t->hour < 24 && t->minute < 60 && t->second < 60 &&
           t->quarters >= QUARTERS_MIN && t->quarters <= QUARTERS_MAX;
}

tw_err_t tw_iso_to_unix(const tw_iso_time_t *t, int64_t *s)
{
    if (!is_moment(t)) {
        return TW_E_RANGE;
    }
    int64_t days = days_before(t->year) - DAYS_TO_1970 + t->day - 1;
    for (unsigned m = 1; m < t->month; m++) {
        days += days_of_month(t->year, m);
    }
    *s = days * DAY_S + t->hour * 3600 + t->minute * 60 + t->second - t->quarters * QUARTER_S;
    return TW_OK;
}

tw_err_t tw_iso_from_unix(int64_t s, int8_t quarters, tw_iso_time_t *t)
{
    const int64_t limit = 400000000000; /* beyond year 9999: keeps the sums below small */
    if (s > limit || s < -limit || quarters < QUARTERS_MIN || quarters > QUARTERS_MAX) {
        return TW_E_RANGE;
    }
    const int64_t local = s + quarters * QUARTER_S + (int64_t)DAYS_TO_1970 * DAY_S;
    if (local < 0) {
        return TW_E_RANGE;
    }
    int64_t days = local / DAY_S;
    const unsigned of_day = (unsigned)(local % DAY_S);
    unsigned year = (unsigned)(days / 366); /* never beyond the year, and at most 21 before it */
    while (days_before(year + 1) <= days) {
        year++;
    }
    if (year > 9999) {
        return TW_E_RANGE;
    }
    days -= days_before(year);
    unsigned month = 1;
    for (; days >= days_of_month(year, month); month++) {
        days -= days_of_month(year, month);
    }
    *t = (tw_iso_time_t){(uint16_t)year,
                         (uint8_t)month,
                         (uint8_t)(days + 1),
                         (uint8_t)(of_day / 3600),
                         (uint8_t)(of_day / 60 % 60),
                         (uint8_t)(of_day % 60),
                         quarters};
    return TW_OK;
}

/* Decimal digits, four bits each. */
static uint64_t to_digits(unsigned v)
{
    return v % 10 | v / 10 % 10 << 4 | v / 100 % 10 << 8 | v / 1000 % 10 << 12;
}

/* -1 when a digit is above 9 */
static int from_digits(uint64_t word, unsigned at, unsigned digits)
{
    int v = 0;
    for (unsigned i = digits; i-- > 0;) {
        const unsigned digit = (unsigned)(word >> (at + 4 * i)) & 15;
        if (digit > 9) {
            return -1;
        }
        v = v * 10 + (int)digit;
    }
    return v;
}

tw_err_t tw_iso_pack(const tw_iso_time_t *t, uint64_t *word)
{
    if (!is_moment(t)) {
        return TW_E_RANGE;
    }
    const uint64_t quarters = (uint64_t)(t->quarters & 0x1FF);
    *word = to_digits(t->year) << 45 | to_digits(t->month) << 37 | to_digits(t->day) << 29 |
            to_digits(t->second) << 21 | quarters << 12 | (uint64_t)(t->hour * 60 + t->minute);
    return TW_OK;
}

tw_err_t tw_iso_unpack(uint64_t word, tw_iso_time_t *t)
{
    const int year = from_digits(word, 45, 4), month = from_digits(word, 37, 2), day = from_digits(word, 29, 2);
    const int second = from_digits(word, 21, 2), minute = (int)(word & 0xFFF);
    const int raw = (int)(word >> 12 & 0x1FF), quarters = raw >= 256 ? raw - 512 : raw;
    if (word >> 61 != 0 || year < 0 || month < 0 || day < 0 || second < 0 || minute >= 1440 ||
        quarters < QUARTERS_MIN || quarters > QUARTERS_MAX) {
        return TW_E_RANGE;
    }
    const tw_iso_time_t got = {(uint16_t)year,         (uint8_t)month,  (uint8_t)day,    (uint8_t)(minute / 60),
                               (uint8_t)(minute % 60), (uint8_t)second, (int8_t)quarters};
    if (!is_moment(&got)) {
        return TW_E_RANGE;
    }
    *t = got;
    return TW_OK;
}

/* ---- stamps of frames ------------------------------------------------------------------ */

tw_err_t tw_stamp_abs_pack(const tw_stamp_abs_t *t, uint64_t *word)
{
    if (t->format > 3 || t->ms >> 40 != 0) {
        return TW_E_RANGE;
    }
    *word = (uint64_t)t->format << 62 | t->ms << 16 | t->frac;
    return TW_OK;
}

tw_err_t tw_stamp_abs_unpack(uint64_t word, tw_stamp_abs_t *t)
{
    if ((word >> 56 & 0x3F) != 0) {
        return TW_E_RANGE;
    }
    *t = (tw_stamp_abs_t){(uint8_t)(word >> 62), word >> 16 & ((1ull << 40) - 1), (uint16_t)word};
    return TW_OK;
}

static const struct {
    uint8_t whole, frac;
} relative[] = {{30, 0}, {30, 0}, {14, 16}, {24, 4}};

tw_err_t tw_stamp_rel_pack(tw_stamp_rel_format_t format, tw_time_t t, uint32_t *word)
{
    uint64_t value;
    if ((unsigned)format >= TW_COUNT(relative)) {
        return TW_E_ARG;
    }
    TW_TRY(to_fixed(t, relative[format].whole, relative[format].frac, &value));
    *word = (uint32_t)format << 30 | (uint32_t)value;
    return TW_OK;
}

tw_err_t tw_stamp_rel_unpack(uint32_t word, tw_stamp_rel_format_t *format, tw_time_t *t)
{
    const unsigned f = word >> 30;
    TW_TRY(from_fixed(word & 0x3FFFFFFF, relative[f].whole, relative[f].frac, t));
    *format = (tw_stamp_rel_format_t)f;
    return TW_OK;
}
