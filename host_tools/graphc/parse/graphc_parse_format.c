/* graphc_parse_format.c - tags of stream formats. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

static g_format_t *add_format(g_parser_t *p, const tw_tok_t *at, uint32_t id)
{
    g_model_t *m = p->m;
    uint32_t *known = &g_local_here(p)->format_of[id];
    if (*known != G_NONE) {
        tw_text_error(p->t, at, "format %u is declared twice", id);
        g_note(m, &m->formats[*known].pos, "first declared here");
        return NULL;
    }
    if (m->n_formats >= m->cap_formats && !g_grow(&m->formats, m->cap_formats, &m->cap_formats, sizeof *m->formats)) {
        (void)g_fail(p, at, "out of memory");
        return NULL;
    }
    *known = m->n_formats;
    g_format_t *f = &m->formats[m->n_formats++];
    *f = (g_format_t){.pos = g_here(p, at), .id = id, .frame_bytes = 1, .raw = TW_RAW_S16, .channels = 1};
    return f;
}

bool g_read_format(g_parser_t *p)
{
    uint32_t id;
    tw_tok_t at;
    if (!tw_text_peek(p->t, &at)) {
        g_start(p, IN_TOP);
        p->lines = LINES_FORMATS;
        return true;
    }
    if (!g_take_u32(p, "format index", 0, G_FORMATS_MAX - 1, &id) || add_format(p, &at, id) == NULL) {
        return false;
    }
    p->in = IN_FORMAT;
    return true;
}

g_format_t *g_format_here(g_parser_t *p)
{
    return &p->m->formats[p->m->n_formats - 1];
}

/* The raw types that the later texts number otherwise, and that are certain. */
static const struct {
    uint8_t code, raw;
} later_codes[] = {{1, TW_RAW_FP32}, {2, TW_RAW_FP64}, {3, TW_RAW_S16}, {4, TW_RAW_S32}, {12, TW_RAW_U8}};

static bool take_later_raw(g_parser_t *p, const tw_tok_t *tok, int64_t code, uint8_t *raw)
{
    for (size_t i = 0; i < TW_COUNT(later_codes); i++) {
        if (later_codes[i].code == code) {
            *raw = later_codes[i].raw;
            return true;
        }
    }
    tw_text_error(p->t, tok, "raw type %.*s: of the later texts' codes 1, 2, 3, 4 and 12 are certain: write the name",
                  (int)tok->n, tok->p);
    return false;
}

/* A number is one of the seed's unless the text says graph_dialect 2025. */
static bool take_raw(g_parser_t *p, g_format_t *f)
{
    tw_tok_t tok;
    int64_t v, code = -1;
    const bool numeric = tw_text_peek(p->t, &tok) && tw_tok_int(&tok, &code);
    f->raw_pos = numeric ? g_here(p, &tok) : (g_pos_t){0};
    if (numeric && g_local_here(p)->dialect == 2025) {
        (void)tw_text_tok(p->t, &tok);
        return take_later_raw(p, &tok, code, &f->raw);
    }
    if (!tw_take_code(p->t, "raw type", tw_raw_find, TW_RAW_COUNT - 1, &v)) {
        return false;
    }
    f->raw = (uint8_t)v;
    return true;
}

bool g_read_format_raw(g_parser_t *p)
{
    return take_raw(p, g_format_here(p));
}

static int find_name(const char *const *names, size_t count, const char *name, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Bit 0 first, S0:L756-774. */
static int find_speaker(const char *name, size_t n)
{
    static const char *const names[] = {"FL", "FR", "FC", "LFE", "BL",  "BR",  "FLC", "FRC", "BC",
                                        "SL", "SR", "TC", "TFL", "TFC", "TFR", "TBL", "TBC", "TBR"};
    return find_name(names, TW_COUNT(names), name, n);
}

static int find_motion(const char *name, size_t n)
{
    static const char *const names[] = {"none", "aXg0m0", "a0gXm0", "a0g0mX", "aXgXm0", "aXg0mX", "a0gXmX", "aXgXmX"};
    return find_name(names, TW_COUNT(names), name, n);
}

bool g_read_audio_mapping(g_parser_t *p)
{
    g_format_t *f = g_format_here(p);
    tw_tok_t tok;
    int64_t v;
    if (!tw_text_peek(p->t, &tok) || tw_tok_int(&tok, &v)) {
        return g_take_u32(p, "format_audio_mapping", 0, (1 << 18) - 1, &f->mapping);
    }
    f->mapping = 0;
    do {
        if (!tw_take_code(p->t, "loudspeaker position", find_speaker, 17, &v)) {
            return false;
        }
        f->mapping |= 1u << v;
    } while (tw_text_peek(p->t, &tok) && find_speaker(tok.p, tok.n) >= 0);
    return true;
}

bool g_read_motion_mapping(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "motion sensors", find_motion, 15, &v)) {
        return false;
    }
    g_format_here(p)->mapping = (uint32_t)v;
    return true;
}

bool g_read_format_unit(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "unit", tw_unit_find_name, TW_UNIT_COUNT - 1, &v)) {
        return false;
    }
    g_format_here(p)->unit = (uint8_t)v;
    return true;
}

bool g_read_format_domain(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "domain", tw_domain_find, TW_DOMAIN_COUNT - 1, &v)) {
        return false;
    }
    g_format_here(p)->domain = (uint8_t)v;
    return true;
}

bool g_read_format_period(g_parser_t *p)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}, {"day", 86400}};
    tw_tok_t tok;
    double v;
    if (!g_take_word(p, "a unit of time", &tok)) {
        return false;
    }
    for (size_t i = 0; i < TW_COUNT(units); i++) {
        if (tw_tok_is(&tok, units[i].unit)) {
            if (!tw_take_num(p->t, "period", 1e-9, 1e9, &v)) {
                return false;
            }
            g_format_here(p)->rate = 1.0 / (v * units[i].s);
            return true;
        }
    }
    return g_fail(p, &tok, "a period is given in s, ms, min, h or day");
}

/* ID FRAME RAW CHANNELS INTERLEAVING TIMESTAMP SIZE DOMAIN UNIT [RATE [MAPPING]], frame of one channel. */
bool g_format_row(g_parser_t *p)
{
    uint32_t id, frame, v[6];
    g_format_t raw = {0};
    static const char *const names[] = {"channels", "interleaving", "time stamp", "time stamp size", "domain", "unit"};
    static const uint8_t top[] = {32, 1, 3, 3, TW_DOMAIN_COUNT - 1, TW_UNIT_COUNT - 1};
    tw_tok_t at;
    int64_t test;
    (void)tw_text_peek(p->t, &at);
    if (!tw_tok_int(&at, &test)) {
        tw_text_skip(p->t); /* column headings */
        return true;
    }
    if (!g_take_u32(p, "format index", 0, G_FORMATS_MAX - 1, &id) ||
        !g_take_u32(p, "frame bytes of a channel", 1, 1 << 19, &frame) || !take_raw(p, &raw)) {
        return false;
    }
    for (size_t i = 0; i < TW_COUNT(v); i++) {
        if (!g_take_u32(p, names[i], i == 0, top[i], &v[i])) {
            return false;
        }
    }
    g_format_t *f = add_format(p, &at, id);
    if (f == NULL) {
        return false;
    }
    f->raw = raw.raw;
    f->raw_pos = raw.raw_pos;
    f->channels = (uint8_t)v[0];
    f->frame_bytes = frame * v[0];
    f->interleave = (uint8_t)v[1];
    f->ts = (uint8_t)v[2];
    f->ts_size = (uint8_t)v[3];
    f->domain = (uint8_t)v[4];
    f->unit = (uint8_t)v[5];
    return !g_more_number(p) || (tw_take_num(p->t, "sampling rate", 0, 1e9, &f->rate) &&
                                 (!g_more_number(p) || g_take_u32(p, "channel mapping", 0, 0xFFFFFF, &f->mapping)));
}
