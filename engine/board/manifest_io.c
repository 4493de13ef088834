/* manifest_io.c - reads one IO manifest: domain, direction, option sets, extra tags. Knows no file and no board. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <stdio.h>

typedef struct reader {
    tw_io_manifest_t *m;
    tw_text_t *t;
    unsigned bare;                 /* bare lines seen: name, domain */
    bool has_direction, is_output; /* said by io_direction_rx0tx1, else by the domain's name */
} reader_t;

typedef bool reader_fn(reader_t *r);
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text)
#define TW_IO_CALL(tag, reader, args, dflt, text) static reader_fn read_##reader;
#include "engine/board/manifest_tags.def"

static const struct row {
    const char *tag;
    double lo, hi;
    size_t at;
    tw_field_kind_t kind;
    reader_fn *read; /* NULL: a field */
} rows[] = {
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text) \
    {#tag, lo, hi, offsetof(tw_io_manifest_t, field), TW_FIELD_KIND(tw_io_manifest_t, field), NULL},
#define TW_IO_CALL(tag, reader, args, dflt, text) {#tag, 0, 0, 0, TW_FIELD_U8, read_##reader},
#include "engine/board/manifest_tags.def"
};

static bool read_raw(reader_t *r)
{
    tw_options_t o;
    if (!tw_take_options(r->t, "raw type", tw_raw_find, 0, TW_RAW_COUNT - 1, &o)) {
        return false;
    }
    r->m->raw = (uint8_t)(o.n > 0 ? o.v[o.def] : 0);
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
    return tw_take_options(r->t, "channels", NULL, 1, 32, &r->m->channels);
}

static bool read_length(reader_t *r)
{
    int64_t samples = 1;
    if (!take_prefix(r, "frame length in samples (1) or ms (0)", 1, &samples)) {
        return false;
    }
    return tw_take_options(r->t, "frame length", NULL, 0, 1e9,
                           samples ? &r->m->frame_length : &r->m->frame_duration_ms);
}

static bool read_duration(reader_t *r)
{
    return tw_take_options(r->t, "frame duration", NULL, 0, 1e9, &r->m->frame_duration_ms);
}

static bool read_rate(reader_t *r)
{
    return tw_take_options(r->t, "sampling rate", NULL, 0, 1e9, &r->m->rate_hz);
}

static bool read_unit(reader_t *r)
{
    int64_t v;
    if (!tw_take_code(r->t, "unit", tw_unit_find_name, TW_UNIT_COUNT - 1, &v)) {
        return false;
    }
    r->m->unit = (uint8_t)v;
    return true;
}

/* Settings of the machine at hand, not of the platform: another WAV file must not make images foreign. */
static bool is_backend(const tw_tok_t *tok)
{
    return tw_tok_is(tok, "io_backend") || tw_tok_is(tok, "io_file") || tw_tok_is(tok, "io_loop");
}

static bool keep_extra(reader_t *r)
{
    tw_io_manifest_t *m = r->m;
    tw_tok_t tok;
    (void)tw_text_tok(r->t, &tok);
    if (m->n_extra >= TW_COUNT(m->extra)) {
        tw_text_error(r->t, &tok, "more than %zu extra tags", TW_COUNT(m->extra));
        return false;
    }
    char *value = m->extra[m->n_extra].value;
    const size_t size = sizeof m->extra[0].value;
    size_t n = 0;
    bool fits = tw_tok_copy(&tok, m->extra[m->n_extra].key, sizeof m->extra[0].key);
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
    m->n_extra++;
    return true;
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
    /* public manifests also call the general domain by its direction */
    const bool data = tw_tok_is(&tok, "data_in") || tw_tok_is(&tok, "data_out");
    const int domain = data ? 0 : tw_domain_find(tok.p, tok.n);
    r->is_output = tok.n > 4 && memcmp(tok.p + tok.n - 4, "_out", 4) == 0;
    if (domain < 0) {
        tw_text_error(r->t, &tok, "unknown domain '%.*s'", (int)tok.n, tok.p);
        return false;
    }
    r->m->domain = (uint8_t)domain;
    return true;
}

static bool read_line(reader_t *r)
{
    tw_tok_t tok;
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
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (tw_tok_is(&tok, rows[i].tag)) {
            (void)tw_text_tok(r->t, &tok);
            r->has_direction |= tw_tok_is(&tok, "io_direction_rx0tx1");
            return rows[i].read != NULL ? rows[i].read(r)
                                        : tw_take_field(r->t, rows[i].tag, rows[i].kind, rows[i].lo, rows[i].hi,
                                                        (char *)r->m + rows[i].at);
        }
    }
    void (*const canon)(void *, const char *, size_t) = r->t->canon;
    if (is_backend(&tok)) {
        r->t->canon = NULL;
    }
    const bool ok = keep_extra(r);
    r->t->canon = canon;
    return ok;
}

bool tw_io_manifest_parse(tw_io_manifest_t *m, tw_text_t *t)
{
    *m = (tw_io_manifest_t){.commander = 1, .proc_mask = 1};
    snprintf(m->file, sizeof m->file, "%s", t->file);
    m->channels.any = m->frame_length.any = m->frame_duration_ms.any = m->rate_hz.any = 1;
    reader_t r = {.m = m, .t = t};
    const unsigned errors = t->diags->errors;
    while (tw_text_line(t)) {
        (void)read_line(&r);
    }
    if (t->diags->errors == errors && r.bare < 2) {
        tw_diag(t->diags, false, t->file, 0, 0, "an IO manifest begins with a name and a domain");
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
