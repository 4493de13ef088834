/* manifest_settings.c - settings words of IOs: which option of each set is meant, as one number. Pure functions. */
#include "engine/base/bytes.h"
#include "engine/board/manifest.h"

/* Values the set's digit takes. A set without a choice has one and needs no room. */
static uint64_t radix(const tw_setting_t *s)
{
    return s->bits > 0 ? 1ull << s->bits : s->o.n > 0 ? s->o.n : 1;
}

/* Where a digit stands: in which word, and what it counts there. */
typedef struct place {
    unsigned word;
    uint64_t weight;
} place_t;

/* Place of the next set; `next` is 1 after the last word is full. */
static place_t place_of(place_t *next, const tw_setting_t *s)
{
    const uint64_t r = radix(s);
    if (next->weight * r > 1ull << 32) {
        *next = (place_t){next->word + 1, 1};
    }
    const place_t here = *next;
    next->weight *= r;
    return here;
}

unsigned tw_settings_words(const tw_io_manifest_t *io)
{
    place_t next = {0, 1};
    unsigned words = 0;
    for (unsigned i = 0; i < io->n_settings; i++) {
        const place_t p = place_of(&next, &io->settings[i]);
        words = radix(&io->settings[i]) > 1 ? p.word + 1 : words;
    }
    return words;
}

tw_err_t tw_settings_pack(const tw_io_manifest_t *io, const uint8_t *index, uint32_t word[TW_SETTINGS_WORDS])
{
    uint64_t sum[TW_SETTINGS_WORDS] = {0};
    place_t next = {0, 1};
    if (tw_settings_words(io) > TW_SETTINGS_WORDS) {
        return TW_E_UNSUPPORTED;
    }
    for (unsigned i = 0; i < io->n_settings; i++) {
        const tw_setting_t *s = &io->settings[i];
        const uint8_t at = index != NULL ? index[i] : s->o.def;
        const place_t p = place_of(&next, s);
        if (at >= (s->o.n > 0 ? s->o.n : 1)) {
            return TW_E_RANGE;
        }
        if (radix(s) > 1) {
            sum[p.word] += at * p.weight;
        }
    }
    for (unsigned i = 0; i < TW_SETTINGS_WORDS; i++) {
        word[i] = (uint32_t)sum[i];
    }
    return TW_OK;
}

tw_err_t tw_settings_unpack(const tw_io_manifest_t *io, const uint32_t word[TW_SETTINGS_WORDS], uint8_t *index)
{
    uint32_t again[TW_SETTINGS_WORDS];
    place_t next = {0, 1};
    if (tw_settings_words(io) > TW_SETTINGS_WORDS) {
        return TW_E_UNSUPPORTED;
    }
    for (unsigned i = 0; i < io->n_settings; i++) {
        const tw_setting_t *s = &io->settings[i];
        const place_t p = place_of(&next, s);
        index[i] = (uint8_t)(radix(s) > 1 ? word[p.word] / p.weight % radix(s) : 0);
    }
    /* a digit beyond its options, or bits above the last set, do not come back */
    TW_TRY(tw_settings_pack(io, index, again));
    return memcmp(again, word, sizeof again) == 0 ? TW_OK : TW_E_RANGE;
}

int tw_setting_find(const tw_io_manifest_t *io, const char *tag, size_t n)
{
    for (unsigned i = 0; i < io->n_settings; i++) {
        if (strlen(io->settings[i].tag) == n && memcmp(io->settings[i].tag, tag, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int tw_option_find(const tw_options_t *o, double v)
{
    for (unsigned i = 0; i < o->n; i++) {
        if (o->v[i] == v) {
            return (int)i;
        }
    }
    return -1;
}
