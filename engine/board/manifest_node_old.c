/* manifest_node_old.c - node manifests without tags: a value, or a row of values, on every line.
 *
 *   header                                        | memory row                 | arcs
 *   "S rx tx"                                     | none                       | none, all defaults
 *   "X rx tx param same push libs banks"          | 13 numbers, speed 0..2     | 9 lines, default index from 1
 *   "rx tx param sync same push delivery libs"    | 13 numbers, speed 0..3     | 11 lines, default index from 0
 *   number of arcs, then the name, ten lines      | 12 or 13 numbers           | 10 lines, default index from 0
 *   data lines "1 c; ARM"                         | hexadecimal, four lines    | words: "0 rx0tx1; int16 raw format"
 *
 * Words after the numbers of a line are remarks. Arcs that are not described keep the defaults.
 */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"
#include <stdio.h>

typedef struct reader {
    tw_row_t row;
    tw_node_manifest_t *m;
    bool four_speeds; /* any, normal, fast, critical; else any, fast, critical */
    bool rate_format; /* arcs say whether rates are Hz, seconds or days */
    bool raw_warned;
    unsigned banks;
} reader_t;

static bool row(reader_t *r, const char *what, unsigned least)
{
    return tw_row_take(&r->row, what, least);
}

static bool whole(reader_t *r, unsigned i, const char *what, unsigned hi, uint8_t *to)
{
    return tw_row_u8(&r->row, i, what, hi, to);
}

static bool one(reader_t *r, const char *what, unsigned hi, uint8_t *to)
{
    return tw_row_one(&r->row, what, hi, to);
}

static bool read_list(reader_t *r, const char *what, double lo, double hi, tw_options_t *o)
{
    return tw_row_list(&r->row, what, lo, hi, o);
}

static bool is_end(const tw_tok_t *tok)
{
    return tw_tok_is_end(tok) || tw_tok_is(tok, "END") || tw_tok_is(tok, "_END_");
}

static bool take_word(tw_text_t *t, const char *what, char *to, size_t size)
{
    tw_tok_t tok;
    if (!tw_text_tok(t, &tok) || !tw_tok_copy(&tok, to, size)) {
        tw_text_error(t, &tok, "expected %s of at most %zu characters", what, size - 1);
        return false;
    }
    return true;
}

static bool word_line(reader_t *r, const char *what, char *to, size_t size)
{
    if (!tw_text_line(r->row.t)) {
        tw_diag(r->row.t->diags, false, r->row.t->file, r->row.t->line, 0, "file ends, expected %s", what);
        return false;
    }
    return take_word(r->row.t, what, to, size);
}

/* ---- memory --------------------------------------------------------------------- */

static bool align_of(reader_t *r, double v, uint8_t *to)
{
    const unsigned a = v >= 1 && v <= 128 ? (unsigned)v : 0;
    if (a == 0 || (a & (a - 1)) != 0 || v != a) {
        tw_text_error(r->row.t, &r->row.at, "alignment %g is not a power of two up to 128", v);
        return false;
    }
    *to = (uint8_t)a;
    return true;
}

/* v: A D64 B C D E  i j k  align type speed relocatable */
static bool set_block(reader_t *r, const double *v)
{
    static const uint8_t types[] = {0, 1, 3}, speeds[] = {0, 2, 3, 3};
    tw_node_manifest_t *m = r->m;
    tw_node_mem_manifest_t x = {.a = v[0], .b = v[2], .c = v[3], .d = v[4], .e = v[5] > 0 ? v[5] : 1};
    if (m->n_mem >= TW_COUNT(m->mem)) {
        tw_text_error(r->row.t, &r->row.at, "more than %zu memory blocks", TW_COUNT(m->mem));
        return false;
    }
    for (unsigned i = 0; i < 13; i++) {
        const double most = i < 6 ? 4294967295.0 : i < 9 ? 15 : i == 9 ? 128 : i == 10 ? 2 : i == 11 ? 3 : 1;
        if (v[i] < 0 || v[i] > most) {
            tw_text_error(r->row.t, &r->row.at, "number %u of the memory block is %g, allowed 0..%g", i + 1, v[i],
                          most);
            return false;
        }
    }
    x.b_arc = (uint8_t)v[6];
    x.c_arc = (uint8_t)v[7];
    x.d_arc = (uint8_t)v[8];
    x.type = types[(unsigned)v[10]];
    x.speed = r->four_speeds ? (uint8_t)v[11] : speeds[(unsigned)v[11]];
    x.reloc = (uint8_t)v[12];
    if (!align_of(r, v[9], &x.align)) {
        return false;
    }
    m->mem[m->n_mem++] = x;
    return true;
}

static bool read_blocks(reader_t *r)
{
    for (unsigned i = 0; i < r->banks; i++) {
        double v[13] = {0};
        if (!row(r, "a memory block", 12)) {
            return false;
        }
        /* without D64, the older rows have one number less */
        const unsigned skip = r->row.n == 12;
        v[0] = r->row.v[0];
        memcpy(v + 1 + skip, r->row.v + 1, (12 - skip) * sizeof v[0]);
        if (!set_block(r, v)) {
            return false;
        }
    }
    return true;
}

/* ---- arcs ------------------------------------------------------------------------ */

/* The rows of default index 0 are older than the raw types of today: their 6 is 16 bits signed. */
static bool read_raw(reader_t *r, tw_node_arc_manifest_t *a)
{
    uint8_t raw;
    if (!one(r, "raw type", TW_RAW_COUNT - 1, &raw)) {
        return false;
    }
    if (r->row.from_zero && raw == 6) {
        if (!r->raw_warned) {
            tw_text_warn(r->row.t, &r->row.at, "raw type 6 of this form is S16, not S4 as in tagged manifests");
        }
        r->raw_warned = true;
        raw = TW_RAW_S16;
    }
    a->raw = (tw_options_t){.n = 1, .v = {raw}};
    return true;
}

static bool read_length(reader_t *r, uint8_t in_samples, tw_node_arc_manifest_t *a)
{
    return in_samples ? read_list(r, "frame length", 1, 1e9, &a->frame_length)
                      : read_list(r, "frame duration", 0, 1e9, &a->frame_duration_ms);
}

static bool read_rate(reader_t *r, uint8_t format, tw_node_arc_manifest_t *a)
{
    return format == 0   ? read_list(r, "sampling rate", 0, 1e9, &a->rate_hz)
           : format == 1 ? read_list(r, "sampling period", 0, 1e9, &a->period_s)
                         : read_list(r, "sampling period", 0, 1e6, &a->period_day);
}

static bool set_accuracy(reader_t *r, unsigned i, tw_node_arc_manifest_t *a)
{
    if (r->row.v[i] < 0 || r->row.v[i] > 100) {
        tw_text_error(r->row.t, &r->row.at, "accuracy is %g, allowed 0..100 percent", r->row.v[i]);
        return false;
    }
    a->accuracy = (float)r->row.v[i];
    return true;
}

/* "X": rx0tx1, raw, time stamp, deinterleaved, channels, length format, length, rate format + accuracy, rates */
static bool read_arc_x(reader_t *r, tw_node_arc_manifest_t *a)
{
    uint8_t samples, format;
    a->set = 1;
    if (!one(r, "direction", 1, &a->tx) || !read_raw(r, a) || !one(r, "time stamp", 3, &a->time_stamp) ||
        !one(r, "interleaving", 2, &a->interleaving) || !read_list(r, "channels", 1, 32, &a->channels) ||
        !one(r, "frame length format", 1, &samples) || !read_length(r, samples, a) ||
        !row(r, "rate format and accuracy", 2) || !whole(r, 0, "rate format", 2, &format)) {
        return false;
    }
    return set_accuracy(r, 1, a) && read_rate(r, format, a);
}

/* own index or the arc it shares with, rx0tx1, raw, time stamp, formats, accuracy, four lists */
static bool read_arc_e1(reader_t *r, unsigned i, tw_node_arc_manifest_t *a)
{
    uint8_t own, samples, format = 0;
    tw_options_t interleaving;
    a->set = 1;
    if (!one(r, "arc index", 30, &own) || !one(r, "direction", 1, &a->tx) || !read_raw(r, a) ||
        !one(r, "time stamp", 3, &a->time_stamp) || !one(r, "frame length format", 1, &samples) ||
        (r->rate_format && !one(r, "rate format", 2, &format)) || !row(r, "accuracy", 1) || !set_accuracy(r, 0, a) ||
        !read_list(r, "interleaving", 0, 2, &interleaving) || !read_list(r, "channels", 1, 32, &a->channels)) {
        return false;
    }
    const unsigned n = (unsigned)r->m->rx + r->m->tx;
    a->interleaving = (uint8_t)(interleaving.n > 0 ? interleaving.v[interleaving.def] : 0);
    a->in_place = own >= n && own - n != i && own - n < n ? (uint8_t)(own - n + 1) : 0;
    return read_length(r, samples, a) && read_rate(r, format, a);
}

/* What may follow the arcs: the arc that shares a buffer with the last one; nothing else. */
static void read_tail(reader_t *r)
{
    while (tw_text_line(r->row.t)) {
        tw_tok_t tok;
        int64_t i;
        const unsigned last = (unsigned)r->m->rx + r->m->tx - 1u;
        (void)tw_text_tok(r->row.t, &tok);
        if (is_end(&tok)) {
            return;
        }
        if (!tw_tok_int(&tok, &i) || i < 0 || i > (int64_t)last) {
            tw_text_warn(r->row.t, &tok, "'%.*s' follows the last arc and is ignored", (int)tok.n, tok.p);
            return;
        }
        r->m->arcs[last].in_place = (uint8_t)(i == (int64_t)last ? 0 : i + 1);
    }
}

/* ---- headers ---------------------------------------------------------------------- */

/* Receive arcs first, unless the description of an arc says otherwise. */
static bool set_arcs(reader_t *r, unsigned at)
{
    tw_node_manifest_t *m = r->m;
    if (!whole(r, at, "number of receive arcs", 15, &m->rx) ||
        !whole(r, at + 1, "number of transmit arcs", 15, &m->tx)) {
        return false;
    }
    if (m->rx + m->tx > (int)TW_COUNT(m->arcs) || m->rx + m->tx == 0) {
        tw_text_error(r->row.t, &r->row.at, "node has %d arcs, allowed 1..%zu", m->rx + m->tx, TW_COUNT(m->arcs));
        return false;
    }
    for (unsigned i = 0; i < TW_COUNT(m->arcs); i++) {
        m->arcs[i].tx = i >= m->rx;
    }
    return true;
}

static bool set_services(reader_t *r, unsigned at)
{
    uint8_t v;
    if (!whole(r, at, "services", 255, &v)) {
        return false;
    }
    r->m->services = v;
    return true;
}

static uint16_t version_of(double v)
{
    const unsigned n = v >= 0 && v <= 25599 ? (unsigned)v : 100;
    return n == 0 ? 1 << 8 : (uint16_t)(n / 100 << 8 | n % 100);
}

/* number of options, then a row "arch FPU" for each: the first is what it is built for */
static bool read_architectures(reader_t *r)
{
    uint8_t n, arch, fpu;
    if (!one(r, "number of architectures", 16, &n)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!row(r, "architecture and FPU", 2) || !whole(r, 0, "architecture", 7, &arch) ||
            !whole(r, 1, "FPU", 15, &fpu)) {
            return false;
        }
        r->m->arch = i == 0 ? arch : r->m->arch;
        r->m->fpu = i == 0 ? fpu : r->m->fpu;
    }
    return true;
}

static bool read_banks(reader_t *r)
{
    uint8_t n;
    if (!one(r, "number of memory blocks", TW_COUNT(r->m->mem), &n)) {
        return false;
    }
    r->banks = n;
    return true;
}

/* architectures, "version scheduler", memory */
static bool read_versions(reader_t *r)
{
    if (!read_architectures(r) || !row(r, "version and version of the scheduler", 2)) {
        return false;
    }
    r->m->version = version_of(r->row.v[0]);
    r->m->stream_version = r->row.v[1] >= 100 ? version_of(r->row.v[1]) : 0; /* 001 and 1 name none in particular */
    return true;
}

static bool read_x(reader_t *r)
{
    uint8_t banks;
    if (r->row.n < 7) {
        tw_text_error(r->row.t, &r->row.at, "expected X and 7 numbers, found %u", r->row.n);
        return false;
    }
    if (!set_arcs(r, 0) || !whole(r, 2, "parameter arcs", 15, &r->m->arc_parameters) ||
        !whole(r, 3, "same rate", 1, &r->m->same_rate) || !whole(r, 4, "use of formats", 1, &r->m->push_format) ||
        !set_services(r, 5) || !whole(r, 6, "memory blocks", TW_COUNT(r->m->mem), &banks)) {
        return false;
    }
    r->banks = banks;
    return read_versions(r) && read_blocks(r);
}

static bool read_eight(reader_t *r)
{
    uint8_t same;
    r->row.from_zero = r->four_speeds = r->rate_format = true;
    if (!set_arcs(r, 0) || !whole(r, 2, "parameter arcs", 15, &r->m->arc_parameters) ||
        !whole(r, 4, "same rate", 3, &same) || !whole(r, 5, "use of formats", 1, &r->m->push_format) ||
        !set_services(r, 7) || !row(r, "kind of syntax", 1)) {
        return false;
    }
    r->m->same_rate = same & 1;
    r->m->use_dtcm = same >> 1;
    return read_versions(r) && read_banks(r) && read_blocks(r);
}

/* The name follows the number of arcs. */
static bool read_ten(reader_t *r)
{
    r->row.from_zero = r->four_speeds = true;
    if (!word_line(r, "node name", r->m->name, sizeof r->m->name) || !row(r, "receive, transmit, parameter arcs", 3) ||
        !set_arcs(r, 0) || !whole(r, 2, "parameter arcs", 15, &r->m->arc_parameters) ||
        !row(r, "arc for synchronisation", 1) || !read_architectures(r) || !row(r, "libraries", 1)) {
        return false;
    }
    for (unsigned i = 0; i < r->row.n; i++) {
        r->m->services |= r->row.v[i] > 0 ? 1u << i : 0u;
    }
    if (!row(r, "version and sub-version", 2)) {
        return false;
    }
    r->m->version = version_of(r->row.v[0] * 100 + r->row.v[1]);
    r->m->stream_version = 0;
    return row(r, "version of the scheduler", 1) && read_banks(r) && read_blocks(r) &&
           row(r, "same frame size, use of formats", 2) && whole(r, 0, "same frame size", 1, &r->m->same_rate) &&
           whole(r, 1, "use of formats", 1, &r->m->push_format);
}

/* ---- data lines -------------------------------------------------------------------- */

/* "N type; v1 .. vN": the semicolon begins no remark here. Hexadecimal under an h type. */
static bool data(reader_t *r, const char *what, unsigned least)
{
    tw_tok_t count, type, tok;
    uint64_t u;
    r->row.n = 0;
    if (!tw_text_line(r->row.t)) {
        tw_diag(r->row.t->diags, false, r->row.t->file, r->row.t->line, 0, "file ends, expected %s", what);
        return false;
    }
    (void)tw_text_peek(r->row.t, &r->row.at);
    if (!tw_text_tok(r->row.t, &count) || !tw_text_tok(r->row.t, &type)) {
        tw_text_error(r->row.t, &count, "expected a data line with %s", what);
        return false;
    }
    const char *semi = memchr(r->row.t->p, ';', (size_t)(r->row.t->eol - r->row.t->p));
    r->row.t->p = semi != NULL ? semi + 1 : r->row.t->p;
    while (r->row.n < TW_ROW_NUMBERS && tw_text_peek(r->row.t, &tok) &&
           (type.p[0] == 'h' ? tw_tok_hex(&tok, &u) : tw_tok_num(&tok, &r->row.v[r->row.n]))) {
        r->row.v[r->row.n] = type.p[0] == 'h' ? (double)u : r->row.v[r->row.n];
        (void)tw_text_tok(r->row.t, &tok);
        r->row.n++;
    }
    if (r->row.n < least) {
        tw_text_error(r->row.t, &type, "expected %s (%u numbers), found %u", what, least, r->row.n);
        return false;
    }
    return true;
}

static bool data_word(reader_t *r, const char *what, char *to, size_t size)
{
    return data(r, what, 0) && take_word(r->row.t, what, to, size);
}

static bool data_blocks(reader_t *r)
{
    for (unsigned i = 0; i < r->banks; i++) {
        double v[13] = {0};
        if (!data(r, "A B C D E", 5)) {
            return false;
        }
        v[0] = r->row.v[0];
        memcpy(v + 2, r->row.v + 1, 4 * sizeof v[0]);
        if (!data(r, "indexes i j k", 3)) {
            return false;
        }
        memcpy(v + 6, r->row.v, 3 * sizeof v[0]);
        static const char *const what[] = {"alignment", "kind of memory", "speed", "relocatable"};
        for (unsigned k = 0; k < 4; k++) {
            if (!data(r, what[k], 1)) {
                return false;
            }
            v[9 + k] = r->row.v[0];
        }
        if (!set_block(r, v)) {
            return false;
        }
    }
    return true;
}

/* "0 rx0tx1; input" begins an arc, "int16 raw format; .." tells its raw type; the other lines are remarks. */
static bool data_arcs(reader_t *r)
{
    static const struct {
        const char *name;
        uint8_t raw;
    } raws[] = {{"int8", TW_RAW_S8}, {"int16", TW_RAW_S16}, {"int32", TW_RAW_S32}, {"float", TW_RAW_FP32}};
    unsigned rx = 0, tx_seen = r->m->rx;
    tw_node_arc_manifest_t *arc = NULL;
    while (tw_text_line(r->row.t)) {
        tw_tok_t one_tok, two;
        int64_t tx;
        (void)tw_text_tok(r->row.t, &one_tok);
        const bool pair = tw_text_tok(r->row.t, &two);
        if (is_end(&one_tok)) {
            break;
        }
        if (pair && tw_tok_is(&two, "rx0tx1") && tw_tok_int(&one_tok, &tx)) {
            const unsigned at = tx != 0 ? tx_seen++ : rx++;
            if (tx < 0 || tx > 1 || rx > r->m->rx || at >= (unsigned)r->m->rx + r->m->tx) {
                tw_text_error(r->row.t, &one_tok, "more arcs of this direction than the header says");
                return false;
            }
            arc = &r->m->arcs[at];
            arc->set = 1;
        }
        for (size_t i = 0; arc != NULL && i < TW_COUNT(raws); i++) {
            if (tw_tok_is(&one_tok, raws[i].name)) {
                arc->raw = (tw_options_t){.n = 1, .v = {raws[i].raw}};
            }
        }
    }
    return true;
}

static bool read_data(reader_t *r)
{
    r->four_speeds = true;
    if (!data(r, "number of arcs", 1) || !data_word(r, "node name", r->m->name, sizeof r->m->name) ||
        !data(r, "receive, transmit, parameter arcs", 3) || !set_arcs(r, 0) ||
        !whole(r, 2, "parameter arcs", 15, &r->m->arc_parameters) || !data(r, "architectures", 2)) {
        return false;
    }
    if (r->row.n > 2 && !data(r, "architectures", 2)) { /* the arcs used for synchronisation stood first */
        return false;
    }
    if (!whole(r, 0, "architecture", 7, &r->m->arch) || !data(r, "FPU", 1) || !whole(r, 0, "FPU", 15, &r->m->fpu) ||
        !data(r, "libraries", 1) || !data(r, "version", 1) || !data(r, "version of the scheduler", 1) ||
        !data(r, "kind of delivery", 1) || !data(r, "number of memory blocks", 1)) {
        return false;
    }
    uint8_t banks;
    if (!whole(r, 0, "memory blocks", TW_COUNT(r->m->mem), &banks)) {
        return false;
    }
    r->banks = banks;
    return data_blocks(r) && data_arcs(r);
}

/* ---- the file ------------------------------------------------------------------------ */

static bool read_arcs(reader_t *r)
{
    const unsigned n = (unsigned)r->m->rx + r->m->tx;
    for (unsigned i = 0; i < n; i++) {
        if (!(r->row.from_zero ? read_arc_e1(r, i, &r->m->arcs[i]) : read_arc_x(r, &r->m->arcs[i]))) {
            return false;
        }
    }
    read_tail(r);
    return true;
}

/* After the developer's name: which header is it? */
static bool read_header(reader_t *r)
{
    tw_tok_t tok;
    if (!tw_text_line(r->row.t)) {
        tw_diag(r->row.t->diags, false, r->row.t->file, r->row.t->line, 0, "file ends, expected the node's name");
        return false;
    }
    double v;
    (void)tw_text_peek(r->row.t, &tok);
    if (tw_tok_num(&tok, &v)) {
        return read_ten(r) && read_arcs(r);
    }
    if (!take_word(r->row.t, "node name", r->m->name, sizeof r->m->name)) {
        return false;
    }
    tw_text_t ahead = *r->row.t;
    ahead.canon = NULL;
    const bool letter = tw_text_line(&ahead) && tw_text_tok(&ahead, &tok) && (*tok.p == 'X' || *tok.p == 'S');
    if (!letter) {
        return row(r, "arcs and flags of the node", 8) && read_eight(r) && read_arcs(r);
    }
    (void)tw_text_line(r->row.t);
    (void)tw_text_tok(r->row.t, &tok);
    r->row.at = tok;
    while (r->row.n < TW_ROW_NUMBERS && tw_text_tok(r->row.t, &tok) && tw_tok_num(&tok, &r->row.v[r->row.n])) {
        r->row.n++;
    }
    if (*r->row.at.p == 'X') {
        return read_x(r) && read_arcs(r);
    }
    if (r->row.n < 2) {
        tw_text_error(r->row.t, &r->row.at, "expected S and the numbers of receive and transmit arcs");
        return false;
    }
    return set_arcs(r, 0);
}

static bool read_all(reader_t *r)
{
    tw_text_t ahead = *r->row.t;
    tw_tok_t tok;
    ahead.canon = NULL;
    double v;
    if (tw_text_line(&ahead) && tw_text_tok(&ahead, &tok) && tw_tok_num(&tok, &v)) {
        return data_word(r, "developer name", r->m->developer, sizeof r->m->developer) && read_data(r);
    }
    return word_line(r, "developer name", r->m->developer, sizeof r->m->developer) && read_header(r);
}

void tw_node_positional(tw_node_manifest_t *m, tw_text_t *t)
{
    reader_t r = {.m = m, .row.t = t};
    (void)read_all(&r);
}
