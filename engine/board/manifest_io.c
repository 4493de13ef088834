/* manifest_io.c - reads one IO manifest: domain, direction, option sets, extra tags. Knows no file and no board. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"
#include <stdio.h>

typedef struct reader {
    tw_io_manifest_t *m;
    tw_text_t *t;
    const char *tag;               /* of the line being read, as its row spells it */
    unsigned bare;                 /* bare lines seen: name, domain */
    bool has_direction, is_output; /* said by io_direction_rx0tx1, else by the domain's name */
} reader_t;

typedef bool reader_fn(reader_t *r);
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text)
#define TW_IO_CALL(tag, reader, args, dflt, text) static reader_fn read_##reader;
#include "engine/board/manifest_tags.def"

/* ---- words for numbers --------------------------------------------------------- */

static int word_index(const char *const *words, size_t count, const char *text, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) == n && memcmp(words[i], text, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

#define NAMES(which, ...)                                   \
    static int names_##which(const char *text, size_t n)    \
    {                                                       \
        static const char *const words[] = {__VA_ARGS__};   \
        return word_index(words, TW_COUNT(words), text, n); \
    }
NAMES(router, "AMIC", "DMIC", "HS", "LINE", "BT", "LOOP")
NAMES(pixels, "RGB16", "GREY", "YUV422")
NAMES(modes, "portrait", "landscape", "barcode", "night")
NAMES(mosaic, "RGGB", "BGGR", "GRBG", "GBRG")
NAMES(flip, "portrait", "panoramic")
NAMES(levels, "low", "medium", "high")
#define names_none NULL

enum { FIELD, CALL, SET, SWITCH, PROSE, TEXT, ALIAS };
static const struct row {
    const char *tag;
    int what;
    double lo, hi;
    size_t at;
    tw_field_kind_t kind;
    reader_fn *read;
    tw_name_fn names;
    const char *unit; /* ALIAS: the tag it stands for */
} rows[] = {
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text) \
    {#tag, FIELD, lo, hi, offsetof(tw_io_manifest_t, field), TW_FIELD_KIND(tw_io_manifest_t, field), NULL, NULL, NULL},
#define TW_IO_CALL(tag, reader, args, dflt, text) {#tag, CALL, 0, 0, 0, TW_FIELD_U8, read_##reader, NULL, NULL},
#define TW_IO_SET(tag, names, lo, hi, unit, dflt, text) {tag, SET, lo, hi, 0, TW_FIELD_U8, NULL, names_##names, unit},
#define TW_IO_SWITCH(tag, text) {tag, SWITCH, 0, 1, 0, TW_FIELD_U8, NULL, NULL, ""},
#define TW_IO_PROSE(tag, names, lo, hi, unit, dflt, text) \
    {tag, PROSE, lo, hi, 0, TW_FIELD_U8, NULL, names_##names, unit},
#define TW_IO_TEXT(tag, args, dflt, text) {tag, TEXT, 0, 0, 0, TW_FIELD_U8, NULL, NULL, NULL},
#define TW_IO_ALIAS(alias, tag) {alias, ALIAS, 0, 0, 0, TW_FIELD_U8, NULL, NULL, tag},
#include "engine/board/manifest_tags.def"
};

/* ---- option sets ------------------------------------------------------------------ */

/* Keep the set as a setting; given again, the later one counts at the place of the first. */
static bool add_setting(reader_t *r, const char *unit, const tw_options_t *o)
{
    tw_io_manifest_t *m = r->m;
    const int known = tw_setting_find(m, r->tag, strlen(r->tag));
    const int code = tw_unit_find(unit, strlen(unit));
    if (known < 0 && m->n_settings >= TW_COUNT(m->settings)) {
        tw_text_error(r->t, NULL, "more than %zu option sets", TW_COUNT(m->settings));
        return false;
    }
    tw_setting_t *s = &m->settings[known >= 0 ? (unsigned)known : m->n_settings++];
    *s = (tw_setting_t){.tag = r->tag, .unit = (uint8_t)(code > 0 ? code : 0), .bits = s->bits, .o = *o};
    return true;
}

static bool take_set(reader_t *r, const char *what, tw_name_fn names, double lo, double hi, const char *unit,
                     tw_options_t *o)
{
    return tw_take_options(r->t, what, names, lo, hi, o) && add_setting(r, unit, o);
}

static bool read_raw(reader_t *r)
{
    tw_options_t *o = &r->m->raw_options;
    if (!take_set(r, "raw type", tw_raw_find, 0, TW_RAW_COUNT - 1, "", o)) {
        return false;
    }
    r->m->raw = (uint8_t)(o->n > 0 ? o->v[o->def] : 0);
    return true;
}

/* A number before the braces is a setting of the older form. */
static bool take_prefix(reader_t *r, const char *what, int64_t hi, int64_t *v)
{
    tw_text_t ahead = *r->t;
    tw_tok_t tok;
    ahead.canon = NULL;
    if (tw_text_tok(&ahead, &tok) && !tw_tok_is(&tok, "{") && tw_text_peek(&ahead, &tok) && tw_tok_is(&tok, "{")) {
        return tw_take_int(r->t, what, 0, hi, v);
    }
    return true;
}

static bool read_channels(reader_t *r)
{
    int64_t interleaving = r->m->interleaving;
    if (!take_prefix(r, "interleaving", 2, &interleaving)) {
        return false;
    }
    r->m->interleaving = (uint8_t)interleaving;
    return take_set(r, "channels", NULL, 1, 32, "", &r->m->channels);
}

static bool read_duration(reader_t *r)
{
    return take_set(r, "frame duration", NULL, 0, 1e9, "ms", &r->m->frame_duration_ms);
}

static bool read_length(reader_t *r)
{
    int64_t samples = 1;
    if (!take_prefix(r, "frame length in samples (1) or ms (0)", 1, &samples)) {
        return false;
    }
    if (!samples) {
        r->tag = "io_frame_duration";
        return read_duration(r);
    }
    return take_set(r, "frame length", NULL, 0, 1e9, "", &r->m->frame_length);
}

/* Later manifests name the unit before the options; only the tag's own is accepted. */
static bool skip_unit(reader_t *r, const char *unit)
{
    tw_tok_t tok;
    const bool more = tw_text_peek(r->t, &tok);
    if (more && (tw_tok_is(&tok, unit) || (strcmp(unit, "Hz") == 0 && tw_tok_is(&tok, "hertz")))) {
        (void)tw_text_tok(r->t, &tok);
    }
    return true;
}

static bool read_rate(reader_t *r)
{
    return skip_unit(r, "Hz") && take_set(r, "sampling rate", NULL, 0, 1e9, "Hz", &r->m->rate_hz);
}

static bool read_period_s(reader_t *r)
{
    return take_set(r, "sampling period", NULL, 0, 1e9, "s", &r->m->period_s);
}

static bool read_period_day(reader_t *r)
{
    return take_set(r, "sampling period", NULL, 0, 1e6, "", &r->m->period_day);
}

static bool read_ts_format(reader_t *r)
{
    return take_set(r, "time-stamp format", NULL, 0, 3, "", &r->m->ts_format);
}

static bool read_ts_length(reader_t *r)
{
    return take_set(r, "time-stamp length", NULL, 0, 3, "", &r->m->ts_length);
}

static bool read_setting_bits(reader_t *r)
{
    char tag[64];
    size_t n = 0;
    tw_tok_t tok, at;
    int64_t bits;
    (void)tw_text_peek(r->t, &at);
    while (tw_text_peek(r->t, &tok) && !tw_tok_int(&tok, &bits)) {
        (void)tw_text_tok(r->t, &tok);
        n += n < sizeof tag ? (size_t)snprintf(tag + n, sizeof tag - n, "%s%.*s", n > 0 ? " " : "", (int)tok.n, tok.p)
                            : 0;
    }
    const int i = n > 0 && n < sizeof tag ? tw_setting_find(r->m, tag, n) : -1;
    if (i < 0) {
        tw_text_error(r->t, &at, "expected the tag of an option set above this line");
        return false;
    }
    (void)tw_text_peek(r->t, &at);
    if (!tw_take_int(r->t, "bits", 1, 16, &bits)) {
        return false;
    }
    tw_setting_t *s = &r->m->settings[i];
    if (s->o.n > 1u << bits) {
        tw_text_error(r->t, &at, "%s has %u options, %d bits hold %u", s->tag, s->o.n, (int)bits, 1u << bits);
        return false;
    }
    s->bits = (uint8_t)bits;
    return true;
}

/* ---- single values ------------------------------------------------------------------- */

static bool take_unit(reader_t *r, uint8_t *to)
{
    int64_t v;
    if (!tw_take_code(r->t, "unit", tw_unit_find_name, TW_UNIT_COUNT - 1, &v)) {
        return false;
    }
    *to = (uint8_t)v;
    return true;
}

static bool read_unit(reader_t *r)
{
    return take_unit(r, &r->m->unit);
}

static bool read_units(reader_t *r)
{
    tw_tok_t tok;
    bool braces = false;
    r->m->n_units = 0;
    while (tw_text_peek(r->t, &tok)) {
        if (tw_tok_is(&tok, "{") || tw_tok_is(&tok, "}")) {
            (void)tw_text_tok(r->t, &tok);
            braces |= *tok.p == '{';
            if (*tok.p == '}') {
                break;
            }
        } else if (r->m->n_units >= TW_COUNT(r->m->units)) {
            tw_text_error(r->t, &tok, "more than %zu units", TW_COUNT(r->m->units));
            return false;
        } else if (!take_unit(r, &r->m->units[r->m->n_units])) {
            return false;
        } else {
            r->m->n_units++;
        }
    }
    if (r->m->n_units == 0) {
        tw_text_error(r->t, &tok, "expected units%s", braces ? " between the braces" : "");
        return false;
    }
    return true;
}

static bool take_three(reader_t *r, const char *const what[3], double most, float to[3])
{
    for (unsigned i = 0; i < 3; i++) {
        if (!tw_take_field(r->t, what[i], TW_FIELD_F32, -most, most, &to[i])) {
            return false;
        }
    }
    return true;
}

static bool read_position(reader_t *r)
{
    static const char *const what[] = {"x", "y", "z"};
    r->m->has_position = true;
    return take_unit(r, &r->m->position_unit) && take_three(r, what, 1e12, r->m->position);
}

static bool read_euler(reader_t *r)
{
    static const char *const what[] = {"first angle", "second angle", "third angle"};
    return take_three(r, what, 360, r->m->euler_deg);
}

static bool read_rescale(reader_t *r)
{
    r->m->has_rescale = true;
    return tw_take_num(r->t, "factor", -1e12, 1e12, &r->m->rescale) &&
           tw_take_num(r->t, "offset", -1e12, 1e12, &r->m->rescale_offset);
}

/* A number is the bits themselves; names add theirs. */
static bool read_mapping(reader_t *r)
{
    tw_tok_t tok;
    int64_t bits;
    if (!tw_text_peek(r->t, &tok) || tw_tok_int(&tok, &bits)) {
        if (!tw_take_int(r->t, "channel mapping", 0, (1 << TW_CHANNEL_BITS) - 1, &bits)) {
            return false;
        }
        r->m->channel_mapping = (uint32_t)bits;
        return true;
    }
    r->m->channel_mapping = 0;
    while (tw_text_tok(r->t, &tok)) {
        const int bit = tw_channel_find(tok.p, tok.n);
        if (bit < 0) {
            tw_text_error(r->t, &tok, "unknown channel '%.*s', expected FL FR FC LFE BL BR ..", (int)tok.n, tok.p);
            return false;
        }
        r->m->channel_mapping |= 1u << bit;
    }
    return true;
}

static bool read_motion_format(reader_t *r)
{
    tw_tok_t at;
    int64_t v;
    (void)tw_text_peek(r->t, &at);
    if (!tw_take_code(r->t, "motion format", tw_motion_find, 7, &v)) {
        return false;
    }
    if (v == 0) {
        tw_text_error(r->t, &at, "motion format is 0, allowed 1..7");
        return false;
    }
    r->m->motion_format = (uint8_t)v;
    return true;
}

/* "0", "1", "0 /1" as the seeds have it, or nothing: both can be chosen, the first is the default. */
static bool read_switch(reader_t *r)
{
    tw_options_t o = {.n = 2, .v = {0, 1}};
    tw_tok_t tok;
    int64_t v = 0;
    if (tw_text_peek(r->t, &tok) && tw_tok_is(&tok, "{")) {
        return take_set(r, r->tag, NULL, 0, 1, "", &o);
    }
    if (tw_text_peek(r->t, &tok) && !tw_take_int(r->t, r->tag, 0, 1, &v)) {
        return false;
    }
    o.def = (uint8_t)v;
    return add_setting(r, "", &o);
}

/* ---- tags kept as text ----------------------------------------------------------------- */

/* Settings of the machine at hand, not of the platform: another WAV file must not make images foreign. */
static bool is_backend(const char *tag)
{
    return strcmp(tag, "io_backend") == 0 || strcmp(tag, "io_file") == 0 || strcmp(tag, "io_loop") == 0;
}

/* The rest of the line is the value of `key`. */
static bool keep_text(reader_t *r, const char *key)
{
    tw_io_manifest_t *m = r->m;
    tw_tok_t tok = {.col = 0};
    size_t n = 0;
    if (m->n_extra >= TW_COUNT(m->extra)) {
        tw_text_error(r->t, NULL, "more than %zu extra tags", TW_COUNT(m->extra));
        return false;
    }
    char *value = m->extra[m->n_extra].value;
    const size_t size = sizeof m->extra[0].value;
    bool fits = strlen(key) < sizeof m->extra[0].key;
    value[0] = 0;
    while (fits && tw_text_tok(r->t, &tok)) {
        fits = n + (n > 0) + tok.n < size;
        if (fits) {
            n += (size_t)snprintf(value + n, size - n, "%s%.*s", n > 0 ? " " : "", (int)tok.n, tok.p);
        }
    }
    if (!fits) {
        tw_text_error(r->t, &tok, "extra tag or value too long");
        return false;
    }
    snprintf(m->extra[m->n_extra++].key, sizeof m->extra[0].key, "%s", key);
    return true;
}

static void take_words(tw_text_t *t, unsigned words)
{
    for (tw_tok_t tok; words > 0; words--) {
        (void)tw_text_tok(t, &tok);
    }
}

static bool keep_unknown(reader_t *r, const tw_tok_t *tok)
{
    char key[64];
    const char *near = tw_nearest(tok, rows, TW_COUNT(rows), sizeof rows[0]);
    if (r->t->diags->strict) {
        tw_text_error(r->t, tok, "unknown IO manifest tag '%.*s'%s%s%s", (int)tok->n, tok->p,
                      near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
        return false;
    }
    if (near != NULL) {
        tw_text_warn(r->t, tok, "unknown IO manifest tag '%.*s', did you mean '%s'? It is kept as text", (int)tok->n,
                     tok->p, near);
    }
    take_words(r->t, 1);
    if (!tw_tok_copy(tok, key, sizeof key)) {
        tw_text_error(r->t, tok, "extra tag or value too long");
        return false;
    }
    return keep_text(r, key);
}

/* What begins neither a number nor a brace is a description: the seeds give no more. */
static bool is_prose(const tw_text_t *t)
{
    tw_tok_t tok;
    double v;
    return !tw_text_peek(t, &tok) || !(tw_tok_is(&tok, "{") || tw_tok_num(&tok, &v));
}

static bool keep_backend(reader_t *r)
{
    void (*const canon)(void *, const char *, size_t) = r->t->canon;
    r->t->canon = NULL;
    const bool ok = keep_text(r, r->tag);
    r->t->canon = canon;
    return ok;
}

/* ---- the file ---------------------------------------------------------------------------- */

/* Words of the line that `tag` is made of, 0 when it is another tag. */
static unsigned words_matched(const tw_text_t *t, const char *tag)
{
    tw_text_t ahead = *t;
    tw_tok_t tok;
    unsigned words = 0;
    ahead.canon = NULL;
    while (*tag != 0) {
        const size_t n = strcspn(tag, " ");
        if (!tw_text_tok(&ahead, &tok) || tok.n != n || memcmp(tok.p, tag, n) != 0) {
            return 0;
        }
        words++;
        tag += n + (tag[n] == ' ');
    }
    return words;
}

static const struct row *find_row(const char *tag)
{
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (strcmp(rows[i].tag, tag) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Row of the line's tag, its words counted; the longest when several fit, NULL when none does. */
static const struct row *row_of_line(const tw_text_t *t, unsigned *words)
{
    const struct row *best = NULL;
    *words = 0;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const unsigned n = words_matched(t, rows[i].tag);
        if (n > *words) {
            *words = n;
            best = rows[i].what == ALIAS ? find_row(rows[i].unit) : &rows[i];
        }
    }
    return best;
}

/* Words of a backend's tag are no part of the platform's identity; the others are taken as written. */
static void take_tag(reader_t *r, const struct row *row, unsigned words)
{
    void (*const canon)(void *, const char *, size_t) = r->t->canon;
    r->t->canon = is_backend(row->tag) ? NULL : canon;
    take_words(r->t, words);
    r->t->canon = canon;
}

static bool read_row(reader_t *r, const struct row *row)
{
    tw_options_t o;
    r->tag = row->tag;
    switch (row->what) {
    case FIELD:
        return tw_take_field(r->t, row->tag, row->kind, row->lo, row->hi, (char *)r->m + row->at);
    case CALL:
        return row->read(r);
    case SWITCH:
        return read_switch(r);
    case PROSE:
        if (is_prose(r->t)) {
            return keep_text(r, row->tag);
        }
        return take_set(r, row->tag, row->names, row->lo, row->hi, row->unit, &o);
    case SET:
        return take_set(r, row->tag, row->names, row->lo, row->hi, row->unit, &o);
    default:
        return is_backend(row->tag) ? keep_backend(r) : keep_text(r, row->tag);
    }
}

static bool read_header(reader_t *r)
{
    tw_tok_t tok;
    (void)tw_text_tok(r->t, &tok);
    if (r->bare++ == 0) {
        if (!tw_tok_copy(&tok, r->m->name, sizeof r->m->name)) {
            tw_text_error(r->t, &tok, "name longer than %zu characters", sizeof r->m->name - 1);
            return false;
        }
        return true;
    }
    const int domain = tw_domain_find(tok.p, tok.n);
    r->is_output = tok.n > 4 && memcmp(tok.p + tok.n - 4, "_out", 4) == 0;
    if (domain < 0) {
        char text[32];
        const char *near = tw_near_code(&tok, tw_domain_find, text, sizeof text);
        tw_text_error(r->t, &tok, "unknown domain '%.*s'%s%s%s", (int)tok.n, tok.p, near ? ", did you mean '" : "",
                      near ? near : "", near ? "'?" : "");
        return false;
    }
    r->m->domain = (uint8_t)domain;
    return true;
}

static bool read_line(reader_t *r)
{
    tw_tok_t tok;
    unsigned words;
    (void)tw_text_peek(r->t, &tok);
    const bool is_tag = tok.n > 3 && memcmp(tok.p, "io_", 3) == 0;
    if (r->bare < 2 && !(is_tag && r->bare == 1)) {
        return read_header(r);
    }
    if (!is_tag) {
        if (!tw_tok_is_end(&tok)) {
            tw_text_error(r->t, &tok, "expected a tag io_..., found '%.*s'", (int)tok.n, tok.p);
        }
        return false;
    }
    const struct row *row = row_of_line(r->t, &words);
    if (row == NULL) {
        return keep_unknown(r, &tok);
    }
    r->has_direction |= tw_tok_is(&tok, "io_direction_rx0tx1");
    take_tag(r, row, words);
    return read_row(r, row);
}

static void check(reader_t *r)
{
    if (r->bare < 2) {
        tw_diag(r->t->diags, false, r->t->file, 0, 0, "an IO manifest begins with a name and a domain");
    }
    if (tw_settings_words(r->m) > TW_SETTINGS_WORDS) {
        tw_diag(r->t->diags, false, r->t->file, 0, 0, "the option sets need %u settings words, an IO has %u",
                tw_settings_words(r->m), TW_SETTINGS_WORDS);
    }
}

bool tw_io_manifest_parse(tw_io_manifest_t *m, tw_text_t *t)
{
    *m = (tw_io_manifest_t){.commander = 1, .proc_mask = 1};
    snprintf(m->file, sizeof m->file, "%s", t->file);
    m->channels.any = m->frame_length.any = m->frame_duration_ms.any = m->rate_hz.any = 1;
    m->raw_options.any = m->period_s.any = m->period_day.any = 1;
    m->ts_format = (tw_options_t){.n = 1};
    m->ts_length = (tw_options_t){.n = 1, .v = {1}};
    reader_t r = {.m = m, .t = t};
    const unsigned errors = t->diags->errors;
    const bool rows_only = tw_manifest_detect(t->bol, (size_t)(t->end - t->bol)) == TW_KIND_IO_POSITIONAL;
    while (tw_text_line(t)) {
        (void)read_line(&r);
        if (rows_only && r.bare == 2) {
            r.has_direction = true;
            tw_io_positional(m, t);
            break;
        }
    }
    if (t->diags->errors == errors) {
        check(&r);
    }
    if (!r.has_direction) {
        m->direction = r.is_output;
    }
    return t->diags->errors == errors;
}

const char *tw_io_extra(const tw_io_manifest_t *io, const char *key)
{
    for (unsigned i = 0; i < io->n_extra; i++) {
        if (strcmp(io->extra[i].key, key) == 0) {
            return io->extra[i].value;
        }
    }
    return NULL;
}
