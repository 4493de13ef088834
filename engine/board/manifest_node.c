/* manifest_node.c - reads one node manifest: arcs, memory formulas, services. Knows no file and no graph. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"
#include <stdio.h>

/* What is being declared: the block and the arc the next tag speaks of, -1 none yet. */
typedef struct reader {
    tw_node_manifest_t *m;
    tw_text_t *t;
    int mem, arc;
    unsigned nb_mem;   /* node_nb_mem_block, 0 not said */
    unsigned mem_line; /* where it was */
    bool has_node_mem, has_min;
    unsigned direction_line; /* of the last node_arc_rx0tx1, 0 none */
    bool has_arc_direction[16];
} reader_t;

typedef bool reader_fn(reader_t *r);
#define TW_NODE_FIELD(tag, field, lo, hi, dflt, text)
#define TW_NODE_CALL(tag, reader, args, dflt, text) static reader_fn read_##reader;
#include "engine/board/manifest_tags.def"

static const struct row {
    const char *tag;
    double lo, hi;
    size_t at;
    tw_field_kind_t kind;
    reader_fn *read; /* NULL: a field */
} rows[] = {
#define TW_NODE_FIELD(tag, field, lo, hi, dflt, text) \
    {#tag, lo, hi, offsetof(tw_node_manifest_t, field), TW_FIELD_KIND(tw_node_manifest_t, field), NULL},
#define TW_NODE_CALL(tag, reader, args, dflt, text) {#tag, 0, 0, 0, TW_FIELD_U8, read_##reader},
#include "engine/board/manifest_tags.def"
};

static bool take_name(reader_t *r, const char *what, char *to, size_t size)
{
    tw_tok_t tok;
    if (!tw_text_tok(r->t, &tok)) {
        tw_text_error(r->t, &tok, "expected %s", what);
        return false;
    }
    if (!tw_tok_copy(&tok, to, size)) {
        tw_text_error(r->t, &tok, "%s is longer than %zu characters", what, size - 1);
        return false;
    }
    return true;
}

static bool read_developer(reader_t *r)
{
    return take_name(r, "developer name", r->m->developer, sizeof r->m->developer);
}

static bool read_name(reader_t *r)
{
    return take_name(r, "node name", r->m->name, sizeof r->m->name);
}

static bool take_u8(reader_t *r, const char *what, uint8_t lo, uint8_t hi, uint8_t *to)
{
    return tw_take_u8(r->t, what, lo, hi, to);
}

static bool read_short_name(reader_t *r)
{
    return take_name(r, "short name", r->m->short_name, sizeof r->m->short_name);
}

static bool read_nb_arcs(reader_t *r)
{
    return take_u8(r, "number of receive arcs", 0, 15, &r->m->rx) &&
           take_u8(r, "number of transmit arcs", 0, 15, &r->m->tx);
}

static bool read_min_arcs(reader_t *r)
{
    r->has_min = true;
    return take_u8(r, "least number of receive arcs", 0, 15, &r->m->rx_min) &&
           take_u8(r, "least number of transmit arcs", 0, 15, &r->m->tx_min);
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

static bool read_nb_mem(reader_t *r)
{
    uint8_t n;
    if (!take_u8(r, "number of memory blocks", 0, TW_COUNT(r->m->mem), &n)) {
        return false;
    }
    r->nb_mem = n;
    r->mem_line = r->t->line;
    return true;
}

int tw_arch_find(const char *name, size_t n)
{
    static const char *const names[] = {"any",          "armv6-m",        "armv7-m", "armv7e-m",
                                        "armv8-m.main", "armv8.1-m.main", "armv8-a"};
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool read_architecture(reader_t *r)
{
    int64_t v;
    if (!tw_take_code(r->t, "architecture", tw_arch_find, 7, &v)) {
        return false;
    }
    r->m->arch = (uint8_t)v;
    return true;
}

/* The opposite of node_steady_stream. */
static bool read_variable_rate(reader_t *r)
{
    uint8_t variable;
    if (!take_u8(r, "variable data rate", 0, 1, &variable)) {
        return false;
    }
    r->m->steady = !variable;
    return true;
}

static bool take_version(reader_t *r, uint16_t *to)
{
    int64_t v;
    if (!tw_take_int(r->t, "version", 0, 25599, &v)) {
        return false;
    }
    *to = (uint16_t)(v / 100 << 8 | v % 100);
    return true;
}

static bool read_version(reader_t *r)
{
    return take_version(r, &r->m->version);
}

/* Public manifests say 001: a major of 0 asks for no scheduler in particular. */
static bool read_stream_version(reader_t *r)
{
    tw_tok_t at;
    (void)tw_text_peek(r->t, &at);
    if (!take_version(r, &r->m->stream_version)) {
        return false;
    }
    if (r->m->stream_version >> 8 > TW_STREAM_MAJOR) {
        tw_text_error(r->t, &at, "made for a scheduler of version %u, this one is %u", r->m->stream_version >> 8,
                      TW_STREAM_MAJOR);
        return false;
    }
    return true;
}

/* ---- memory blocks ----------------------------------------------------------- */

static bool start_mem(reader_t *r, const tw_tok_t *at, int64_t i)
{
    if (i != r->m->n_mem) {
        tw_text_error(r->t, at, "memory block %d, expected %u: blocks are numbered 0..5 in order", (int)i, r->m->n_mem);
        return false;
    }
    if (r->m->n_mem >= TW_COUNT(r->m->mem)) {
        tw_text_error(r->t, at, "more than %zu memory blocks", TW_COUNT(r->m->mem));
        return false;
    }
    r->mem = (int)r->m->n_mem++;
    r->m->mem[r->mem] = (tw_node_mem_manifest_t){.align = 4, .e = 1};
    return true;
}

static bool read_mem(reader_t *r)
{
    tw_tok_t at;
    int64_t i;
    r->has_node_mem = true;
    (void)tw_text_peek(r->t, &at);
    return tw_take_int(r->t, "memory block", 0, 255, &i) && start_mem(r, &at, i);
}

/* The block the tag speaks of, or NULL after an error. */
static tw_node_mem_manifest_t *mem(reader_t *r)
{
    if (r->mem < 0) {
        tw_text_error(r->t, NULL, "no memory block started: node_mem must come first");
        return NULL;
    }
    return &r->m->mem[r->mem];
}

#define ALLOC_MAX 4294967295.0
static bool take_term(reader_t *r, const char *what, double *factor, uint8_t *arc)
{
    tw_tok_t tok;
    if (!tw_take_num(r->t, what, 0, ALLOC_MAX, factor)) {
        return false;
    }
    return !tw_text_peek(r->t, &tok) || take_u8(r, "arc index", 0, 15, arc);
}

static bool set_align(reader_t *r, tw_node_mem_manifest_t *m)
{
    tw_tok_t at;
    uint8_t v;
    (void)tw_text_peek(r->t, &at);
    if (!take_u8(r, "alignment", 1, 128, &v)) {
        return false;
    }
    if ((v & (v - 1)) != 0) {
        tw_text_error(r->t, &at, "alignment %u is not a power of two", v);
        return false;
    }
    m->align = v;
    return true;
}

/* Text 0 static, 1 working, 2 retention, 3 pseudo-working; the image swaps the last two. */
static bool set_type(reader_t *r, tw_node_mem_manifest_t *m)
{
    static const uint8_t types[] = {0, 1, 3, 2};
    uint8_t v;
    if (!take_u8(r, "retention", 0, 3, &v)) {
        return false;
    }
    m->type = types[v];
    return true;
}

/* Text 0 any, 1 fast, 2 critical, and 3 in public manifests; the image has 1 for normal memory in between. */
static bool set_speed(reader_t *r, tw_node_mem_manifest_t *m)
{
    static const uint8_t speeds[] = {0, 2, 3, 3};
    uint8_t v;
    if (!take_u8(r, "speed", 0, 3, &v)) {
        return false;
    }
    m->speed = speeds[v];
    return true;
}

/* The older form, before any node_mem, declares a block with each line. */
static bool read_mem_alloc(reader_t *r)
{
    tw_tok_t tok;
    (void)tw_text_peek(r->t, &tok);
    const bool older = !r->has_node_mem;
    if (older && !start_mem(r, &tok, r->m->n_mem)) {
        return false;
    }
    tw_node_mem_manifest_t *m = mem(r);
    if (m == NULL || !tw_take_num(r->t, "bytes", 0, ALLOC_MAX, &m->a)) {
        return false;
    }
    if (older && tw_text_peek(r->t, &tok)) {
        return set_type(r, m) && (!tw_text_peek(r->t, &tok) || set_speed(r, m));
    }
    return true;
}

static bool read_mem_detail(reader_t *r)
{
    tw_tok_t tok;
    (void)tw_text_peek(r->t, &tok);
    if (!start_mem(r, &tok, r->m->n_mem)) {
        return false;
    }
    tw_node_mem_manifest_t *m = mem(r);
    if (!tw_take_num(r->t, "A", 0, ALLOC_MAX, &m->a) || !take_term(r, "B", &m->b, &m->b_arc) ||
        !take_term(r, "C", &m->c, &m->c_arc) || !take_term(r, "D", &m->d, &m->d_arc) ||
        !tw_take_num(r->t, "E", 0, ALLOC_MAX, &m->e)) {
        return false;
    }
    m->e = m->e > 0 ? m->e : 1; /* 0: nothing is expected of the graph; what it gives still counts in bytes */
    return set_align(r, m) && set_type(r, m) && set_speed(r, m) && take_u8(r, "relocatable", 0, 1, &m->reloc) &&
           (!tw_text_peek(r->t, &tok) || take_u8(r, "program memory", 0, 1, &m->prog));
}

static bool read_mem_nbchan(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && take_term(r, "bytes per channel", &m->b, &m->b_arc);
}

static bool read_mem_rate(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && take_term(r, "bytes per Hz", &m->c, &m->c_arc);
}

static bool read_mem_frame(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && take_term(r, "bytes per frame byte", &m->d, &m->d_arc);
}

static bool read_mem_align(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && set_align(r, m);
}

static bool read_mem_retention(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && set_type(r, m);
}

static bool read_mem_speed(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && set_speed(r, m);
}

static bool read_mem_reloc(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && take_u8(r, "relocatable", 0, 1, &m->reloc);
}

static bool read_mem_prog(reader_t *r)
{
    tw_node_mem_manifest_t *m = mem(r);
    return m != NULL && take_u8(r, "program memory", 0, 1, &m->prog);
}

/* ---- arcs ---------------------------------------------------------------------- */

static bool read_arc(reader_t *r)
{
    int64_t i;
    if (!tw_take_int(r->t, "arc index", 0, (int64_t)TW_COUNT(r->m->arcs) - 1, &i)) {
        return false;
    }
    r->arc = (int)i;
    r->m->arcs[i].set = 1;
    return true;
}

/* The arc a tag speaks of. In the older form, without node_arc, the line names it. */
static tw_node_arc_manifest_t *arc(reader_t *r)
{
    int64_t i = r->arc;
    tw_tok_t tok;
    if (i < 0) {
        i = 0;
        if (tw_text_peek(r->t, &tok) && !tw_tok_is(&tok, "{") &&
            !tw_take_int(r->t, "arc index", 0, (int64_t)TW_COUNT(r->m->arcs) - 1, &i)) {
            return NULL;
        }
    }
    r->m->arcs[i].set = 1;
    return &r->m->arcs[i];
}

static bool read_arc_rx0tx1(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    if (a == NULL || !take_u8(r, "direction", 0, 1, &a->tx)) {
        return false;
    }
    r->direction_line = r->t->line;
    r->has_arc_direction[a - r->m->arcs] = true;
    return true;
}

static bool read_arc_interleaving(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && take_u8(r, "interleaving", 0, 2, &a->interleaving);
}

static bool read_arc_channels(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && tw_take_options(r->t, "channels", NULL, 1, 32, &a->channels);
}

static bool read_arc_channels2(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && take_u8(r, "interleaving", 0, 2, &a->interleaving) &&
           tw_take_options(r->t, "channels", NULL, 1, 32, &a->channels);
}

static bool read_arc_raw(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && tw_take_options(r->t, "raw type", tw_raw_find, 0, TW_RAW_COUNT - 1, &a->raw);
}

/* The template's oldest form says "format accuracy {..}" after the arc: 0 Hz 1 s 2 days, percent. */
static bool skip_rate_format(reader_t *r)
{
    tw_text_t ahead = *r->t;
    tw_tok_t tok[3];
    int64_t format;
    double percent;
    ahead.canon = NULL;
    for (unsigned i = 0; i < 3; i++) {
        if (!tw_text_tok(&ahead, &tok[i])) {
            return true;
        }
    }
    if (r->arc >= 0 || tw_tok_is(&tok[0], "{") || !tw_tok_is(&tok[2], "{")) {
        return true;
    }
    return tw_take_int(r->t, "rate format", 0, 2, &format) && tw_take_num(r->t, "accuracy", 0, 100, &percent);
}

static bool read_arc_rate(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && skip_rate_format(r) && tw_take_options(r->t, "sampling rate", NULL, 0, 1e9, &a->rate_hz);
}

static bool read_arc_length(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && tw_take_options(r->t, "frame length", NULL, 1, 1e9, &a->frame_length);
}

static bool read_arc_duration(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && tw_take_options(r->t, "frame duration", NULL, 0, 1e9, &a->frame_duration_ms);
}

static bool read_arc_period_s(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && tw_take_options(r->t, "sampling period", NULL, 0, 1e9, &a->period_s);
}

static bool read_arc_period_day(reader_t *r)
{
    tw_node_arc_manifest_t *a = arc(r);
    return a != NULL && tw_take_options(r->t, "sampling period", NULL, 0, 1e6, &a->period_day);
}

static bool read_arc_accuracy(reader_t *r)
{
    tw_text_t ahead = *r->t;
    tw_tok_t tok;
    ahead.canon = NULL;
    /* alone on its line, in the older form too: the percentage */
    const bool alone = tw_text_tok(&ahead, &tok) && !tw_text_peek(&ahead, &tok);
    tw_node_arc_manifest_t *a = alone && r->arc < 0 ? &r->m->arcs[0] : arc(r);
    return a != NULL && tw_take_field(r->t, "accuracy", TW_FIELD_F32, 0, 100, &a->accuracy);
}

/* S0 L546 gives "1 0", output then input; the pair is told by the directions, known at the end. */
static bool read_arc_in_place(reader_t *r)
{
    uint8_t one = 0, other = 0;
    tw_tok_t at;
    (void)tw_text_peek(r->t, &at);
    if (!take_u8(r, "arc index", 0, TW_COUNT(r->m->arcs) - 1, &one) ||
        !take_u8(r, "arc index", 0, TW_COUNT(r->m->arcs) - 1, &other)) {
        return false;
    }
    if (one == other) {
        tw_text_error(r->t, &at, "arc %u cannot share a buffer with itself", one);
        return false;
    }
    r->m->arcs[one].in_place = (uint8_t)(other + 1);
    r->m->arcs[other].in_place = (uint8_t)(one + 1);
    return true;
}

/* ---- the file ------------------------------------------------------------------ */

static bool read_tag(reader_t *r, const tw_tok_t *tok)
{
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        if (tw_tok_is(tok, row->tag)) {
            return row->read != NULL
                       ? row->read(r)
                       : tw_take_field(r->t, row->tag, row->kind, row->lo, row->hi, (char *)r->m + row->at);
        }
    }
    const char *near = tw_nearest(tok, rows, TW_COUNT(rows), sizeof rows[0]);
    tw_text_error(r->t, tok, "unknown node manifest tag '%.*s'%s%s%s", (int)tok->n, tok->p,
                  near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return false;
}

static bool is_tag(const tw_tok_t *tok)
{
    return tok->n > 5 && memcmp(tok->p, "node_", 5) == 0;
}

static bool read_line(reader_t *r)
{
    tw_tok_t tok;
    (void)tw_text_peek(r->t, &tok);
    if (tw_tok_is_end(&tok)) {
        return true;
    }
    if (!is_tag(&tok) && r->m->developer[0] == 0) {
        return read_developer(r);
    }
    if (!is_tag(&tok) && r->m->name[0] == 0) {
        return read_name(r);
    }
    (void)tw_text_tok(r->t, &tok);
    if (!is_tag(&tok)) {
        tw_text_error(r->t, &tok, "expected a tag node_..., found '%.*s'", (int)tok.n, tok.p);
        return false;
    }
    return read_tag(r, &tok);
}

/* ---- what the whole must be ------------------------------------------------------ */

static void check_arcs(const reader_t *r)
{
    tw_node_manifest_t *m = r->m;
    const char *file = r->t->file;
    const unsigned n = (unsigned)m->rx + m->tx;
    unsigned tx = 0;
    if (n > TW_COUNT(m->arcs)) {
        tw_diag(r->t->diags, false, file, 0, 0, "node has %u arcs, at most %zu", n, TW_COUNT(m->arcs));
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        tx += m->arcs[i].tx;
    }
    if (tx != m->tx) {
        tw_diag(r->t->diags, false, file, r->direction_line, 0,
                "node_arc_rx0tx1 makes %u receive and %u transmit arcs, node_nb_arcs says %u and %u", n - tx, tx, m->rx,
                m->tx);
    }
    for (unsigned i = n; i < TW_COUNT(m->arcs); i++) {
        if (m->arcs[i].set) {
            tw_diag(r->t->diags, true, file, 0, 0, "arc %u is described, but the node has %u arcs", i, n);
        }
    }
    if (m->rx_min > m->rx || m->tx_min > m->tx) {
        tw_diag(r->t->diags, false, file, 0, 0, "node_min_arcs %d %d is more than node_nb_arcs %d %d", m->rx_min,
                m->tx_min, m->rx, m->tx);
    }
}

/* A pair is kept with its transmit arc, and must be one of each kind. */
static void check_in_place(const reader_t *r)
{
    tw_node_manifest_t *m = r->m;
    for (unsigned i = 0; i < TW_COUNT(m->arcs); i++) {
        const unsigned other = m->arcs[i].in_place;
        if (other > 0 && m->arcs[i].tx == m->arcs[other - 1].tx) {
            tw_diag(r->t->diags, false, r->t->file, 0, 0, "arcs %u and %u share a buffer, but both %s", i, other - 1,
                    m->arcs[i].tx ? "transmit" : "receive");
            return;
        }
    }
    for (unsigned i = 0; i < TW_COUNT(m->arcs); i++) {
        m->arcs[i].in_place = m->arcs[i].tx ? m->arcs[i].in_place : 0;
    }
}

static void check_mem(const reader_t *r)
{
    const tw_node_manifest_t *m = r->m;
    const unsigned n = (unsigned)m->rx + m->tx;
    if (r->nb_mem > 0 && r->nb_mem != m->n_mem) {
        tw_diag(r->t->diags, true, r->t->file, r->mem_line, 0, "node_nb_mem_block says %u, there are %u memory blocks",
                r->nb_mem, m->n_mem);
    }
    for (unsigned i = 0; i < m->n_mem; i++) {
        const tw_node_mem_manifest_t *x = &m->mem[i];
        if ((x->b > 0 && x->b_arc >= n) || (x->c > 0 && x->c_arc >= n) || (x->d > 0 && x->d_arc >= n)) {
            tw_diag(r->t->diags, false, r->t->file, 0, 0, "memory block %u depends on arc %u, but the node has %u arcs",
                    i,
                    x->b > 0 && x->b_arc >= n   ? x->b_arc
                    : x->c > 0 && x->c_arc >= n ? x->c_arc
                                                : x->d_arc,
                    n);
        }
    }
}

void tw_node_manifest_init(tw_node_manifest_t *m, const char *file)
{
    *m = (tw_node_manifest_t){
        .rx = 1, .tx = 1, .steady = 1, .push_format = 1, .version = 1 << 8, .stream_version = 1 << 8};
    snprintf(m->file, sizeof m->file, "%s", file);
    for (size_t i = 0; i < TW_COUNT(m->arcs); i++) {
        tw_node_arc_manifest_t *a = &m->arcs[i];
        a->channels = (tw_options_t){.n = 1, .v = {1}};
        a->raw = (tw_options_t){.n = 1, .v = {TW_RAW_S16}};
        a->rate_hz.any = a->frame_length.any = 1;
        a->frame_duration_ms.any = a->period_s.any = a->period_day.any = 1;
    }
}

static void finish(reader_t *r)
{
    tw_node_manifest_t *m = r->m;
    if (!r->has_min) {
        m->rx_min = m->rx;
        m->tx_min = m->tx;
    }
    check_arcs(r);
    check_in_place(r);
    check_mem(r);
}

static void read_tagged(reader_t *r)
{
    const unsigned errors = r->t->diags->errors;
    while (tw_text_line(r->t)) {
        (void)read_line(r);
    }
    if (r->t->diags->errors == errors && (r->m->name[0] == 0 || r->m->developer[0] == 0)) {
        tw_diag(r->t->diags, false, r->t->file, 0, 0,
                "a node manifest begins with the developer's and the node's name");
    }
    for (unsigned i = 0; i < TW_COUNT(r->m->arcs); i++) {
        if (!r->has_arc_direction[i]) {
            r->m->arcs[i].tx = i >= r->m->rx;
        }
    }
}

bool tw_node_manifest_parse(tw_node_manifest_t *m, tw_text_t *t)
{
    tw_node_manifest_init(m, t->file);
    reader_t r = {.m = m, .t = t, .mem = -1, .arc = -1};
    const unsigned errors = t->diags->errors;
    if (tw_manifest_detect(t->bol, (size_t)(t->end - t->bol)) == TW_KIND_NODE_POSITIONAL) {
        tw_node_positional(m, t);
    } else {
        read_tagged(&r);
    }
    if (t->diags->errors == errors) {
        finish(&r);
    }
    return t->diags->errors == errors;
}
