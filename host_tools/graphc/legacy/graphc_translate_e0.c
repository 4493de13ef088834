/* graphc_translate_e0.c - comma-separated texts of Feb 2023, long and compacted.
 *
 *   h, 2 in, 2 out          then a row per IO: platform IO, setting, ring, command, processor, architecture
 *   format, ID raw interleaving frame channels rate time-stamp
 *   ring, ID format size offset register alignment crumbs underflow overflow crumb-in crumb-out W5
 *   arc, ID format size offset compute register
 *   xtension, ID quality debug task pointer
 *   graph, type NAME, instance processor architecture preset debug clear verbose priority, 4 arcs
 *   param, type preset n {tag type value}
 *   script .. endscript     ENDGRAPH
 *
 * A line is read as its numbers; words between them are for people. A node does not say which of its arcs
 * it writes: the last one is taken for that, as in the published graph. */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 256, NAME = 48, FIELDS = 12, ARCS = 4 };

typedef struct e0_node {
    unsigned type;
    double field[FIELDS]; /* instance .. 4 arcs */
    char name[NAME];
} e0_node_t;

typedef struct e0_io {
    unsigned ring;
    bool input;
} e0_io_t;

typedef struct e0 {
    g_trans_t *x;
    e0_node_t nodes[MOST];
    unsigned n_nodes;
    e0_io_t ios[MOST];
    unsigned n_ios, n_inputs;
    struct {
        unsigned id, format;
    } rings[MOST]; /* rings and arcs */
    unsigned n_rings;
    struct {
        unsigned type;
        tw_text_t at; /* behind the word param */
    } params[MOST];
    unsigned n_params;
    unsigned io, arcs; /* rows of the header and arcs so far */
} e0_t;

typedef enum kind { OTHER, HEADER, FORMAT, RING, ARC, EXTENSION, NODE, PARAM, SCRIPT, SCRIPT_END, END, ROW } kind_t;

static kind_t kind_of(const tw_tok_t *tok)
{
    static const struct {
        const char *word, *letter;
        kind_t kind;
    } words[] = {{"h", "h", HEADER},    {"format", "f", FORMAT},      {"ring", "r", RING},
                 {"arc", "a", ARC},     {"xtension", "x", EXTENSION}, {"graph", "g", NODE},
                 {"param", "p", PARAM}, {"script", "s", SCRIPT},      {"endscript", "e", SCRIPT_END},
                 {"ENDGRAPH", "E", END}};
    double v;
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        if (tw_tok_is(tok, words[i].word) || tw_tok_is(tok, words[i].letter)) {
            return words[i].kind;
        }
    }
    return tw_tok_num(tok, &v) ? ROW : OTHER;
}

/* ---- numbers of a line ------------------------------------------------------------- */

/* The first `most` numbers among the words that are left. @return how many */
static unsigned numbers(tw_text_t *t, double *v, unsigned most)
{
    tw_tok_t tok;
    unsigned n = 0;
    for (unsigned i = 0; i < most; i++) {
        v[i] = 0;
    }
    while (n < most && tw_text_tok(t, &tok)) {
        n += tw_tok_num(&tok, &v[n]);
    }
    return n;
}

static bool need(e0_t *e, const char *what, double *v, unsigned least, unsigned most)
{
    const unsigned n = numbers(&e->x->t, v, most);
    if (n < least) {
        tw_text_error(&e->x->t, NULL, "expected %s: at least %u numbers, found %u", what, least, n);
    }
    for (unsigned i = 0; i < n; i++) {
        if (v[i] < -1e9 || v[i] > 1e9) {
            tw_text_error(&e->x->t, NULL, "number %u of %s is %g", i + 1, what, v[i]);
            return false;
        }
    }
    return n >= least;
}

/* These texts are small: a bound keeps the search for the ends of arcs short. */
static bool few(e0_t *e, unsigned n, const char *what)
{
    if (n > MOST) {
        tw_text_error(&e->x->t, NULL, "more than %d %s", MOST, what);
    }
    return n <= MOST;
}

static unsigned id_of(double v)
{
    return v >= 0 && v < 65536 ? (unsigned)v : 65536u;
}

/* ---- what must be known first -------------------------------------------------------- */

/* Words after the type, up to the comma, are the node's name; a type without one is "swc_N". */
static void note_node(e0_t *e, tw_text_t *t)
{
    double v;
    tw_tok_t tok;
    if (e->n_nodes >= MOST || !tw_text_tok(t, &tok) || !tw_tok_num(&tok, &v)) {
        return;
    }
    e0_node_t *n = &e->nodes[e->n_nodes++];
    size_t used = 0;
    *n = (e0_node_t){.type = id_of(v)};
    const char *comma = memchr(t->p, ',', (size_t)(t->eol - t->p));
    while (comma != NULL && tw_text_peek(t, &tok) && tok.p < comma) {
        (void)tw_text_tok(t, &tok);
        used += (size_t)snprintf(n->name + used, used < NAME ? NAME - used : 0, "%s%.*s", used > 0 ? "_" : "",
                                 (int)tw_min_u32(tok.n, 24), tok.p);
        used = tw_min_u32((uint32_t)used, NAME - 1);
    }
    if (used == 0) {
        (void)snprintf(n->name, NAME, "swc_%u", n->type);
    }
    (void)numbers(t, n->field, FIELDS);
}

static void note_row(e0_t *e, const tw_text_t *line)
{
    double v[3];
    tw_text_t t = *line;
    if (e->n_ios < MOST && numbers(&t, v, 3) == 3) {
        e->ios[e->n_ios] = (e0_io_t){id_of(v[2]), e->n_ios < e->n_inputs};
        e->n_ios++;
    }
}

static void note_ring(e0_t *e, tw_text_t *t)
{
    double v[2];
    if (e->n_rings < MOST && numbers(t, v, 2) == 2) {
        e->rings[e->n_rings].id = id_of(v[0]);
        e->rings[e->n_rings++].format = id_of(v[1]);
    }
}

static void note_param(e0_t *e, const tw_text_t *line)
{
    double v;
    tw_text_t t = *line;
    if (e->n_params < MOST && numbers(&t, &v, 1) == 1) {
        e->params[e->n_params].type = id_of(v);
        e->params[e->n_params++].at = *line;
    }
}

static void look_ahead(e0_t *e)
{
    tw_text_t t = e->x->t;
    tw_tok_t tok;
    double v;
    bool header = false;
    while (tw_text_line(&t)) {
        (void)tw_text_peek(&t, &tok);
        const kind_t kind = kind_of(&tok);
        if (header && kind == ROW) {
            note_row(e, &t);
        }
        header = kind == HEADER || (header && kind == ROW);
        (void)tw_text_tok(&t, &tok);
        if (kind == HEADER && numbers(&t, &v, 1) == 1) {
            e->n_inputs = id_of(v);
        } else if (kind == NODE) {
            note_node(e, &t);
        } else if (kind == RING || kind == ARC) {
            note_ring(e, &t);
        } else if (kind == PARAM) {
            note_param(e, &t);
        } else if (kind == END) {
            return;
        }
    }
}

static bool has_ring(const e0_t *e, unsigned id)
{
    for (unsigned i = 0; i < e->n_rings; i++) {
        if (e->rings[i].id == id) {
            return true;
        }
    }
    return false;
}

/* The header counts rings from 1 where their lines count from 2. */
static unsigned ring_of(const e0_t *e, unsigned io)
{
    const unsigned id = e->ios[io].ring;
    return has_ring(e, id) ? id : id + 1;
}

/* ---- header, formats ------------------------------------------------------------------ */

static void put_io(e0_t *e)
{
    double v[6];
    char rest[512];
    const unsigned io = e->io++;
    if (!few(e, e->io, "IOs") || !need(e, "an IO: platform IO, setting, ring, command", v, 3, 6)) {
        return;
    }
    g_put(e->x, "stream_io %u%s", io, g_rest(e->x, rest, sizeof rest));
    g_put(e->x, "stream_io_hwid %u", id_of(v[0]));
    for (unsigned i = 0; io < e->n_ios && i < e->n_rings; i++) {
        if (e->rings[i].id == ring_of(e, io)) {
            g_put(e->x, "stream_io_format %u", e->rings[i].format);
        }
    }
    if (v[1] > 0) {
        g_put(e->x, "stream_io_setting1 %.0f", v[1]);
    }
}

/* Its raw type by the name beside the code; the codes alone are of an enumeration that was renumbered. */
static int raw_of(const e0_t *e, double code)
{
    tw_text_t t = e->x->t;
    tw_tok_t tok;
    t.p = t.bol;
    while (tw_text_tok(&t, &tok)) {
        char name[16] = "";
        for (uint32_t i = 0; i < tok.n && i + 1 < sizeof name; i++) {
            name[i] = (char)(tok.p[i] >= 'a' && tok.p[i] <= 'z' ? tok.p[i] - 'a' + 'A' : tok.p[i]);
        }
        const int raw = tw_raw_find(name, strlen(name));
        if (raw >= 0) {
            return raw;
        }
    }
    return code == 18 ? TW_RAW_Q15 : -1;
}

static void put_format(e0_t *e)
{
    double v[7];
    char rest[512];
    if (!need(e, "a format: index, raw type, interleaving, frame, channels, rate", v, 5, 7)) {
        return;
    }
    const int raw = raw_of(e, v[1]);
    const char *name = raw >= 0 ? tw_raw_name((uint32_t)raw) : NULL;
    if (name == NULL) {
        tw_text_warn(&e->x->t, NULL, "raw type %.0f has no name here: taken as of today's numbering", v[1]);
    }
    g_put(e->x, "format %u%s", id_of(v[0]), g_rest(e->x, rest, sizeof rest));
    if (name != NULL) {
        g_put(e->x, "format_raw_data %s", name);
    } else {
        g_put(e->x, "format_raw_data %.0f", v[1]);
    }
    g_put(e->x, "format_frame_length %.0f", v[3] * (v[4] > 1 ? v[4] : 1));
    g_put(e->x, "format_nbchan %.0f", v[4] > 0 ? v[4] : 1);
    g_put(e->x, "format_interleaving %d", v[2] == 2 ? 1 : v[2] == 3 ? 2 : 0);
    if (v[5] > 0) {
        g_put(e->x, "format_sampling_rate %.10g", v[5]);
    }
    if (v[6] > 0) {
        g_put(e->x, "format_time_stamp %.0f", v[6]);
    }
}

/* ---- arcs --------------------------------------------------------------------------------- */

typedef struct end {
    const e0_node_t *node;
    unsigned port;
} end_t;

/* Arcs of a node, 0 is none; the last one is written. */
static unsigned arcs_of(const e0_node_t *n)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ARCS; i++) {
        count = n->field[8 + i] > 0 ? i + 1 : count;
    }
    return count;
}

static end_t find_end(const e0_t *e, unsigned ring, bool writes)
{
    for (unsigned i = 0; i < e->n_nodes; i++) {
        const unsigned count = arcs_of(&e->nodes[i]);
        for (unsigned k = 0; k < count; k++) {
            if (id_of(e->nodes[i].field[8 + k]) == ring && (k + 1 == count) == writes) {
                return (end_t){&e->nodes[i], k};
            }
        }
    }
    return (end_t){NULL, 0};
}

static int find_io(const e0_t *e, unsigned ring, bool input)
{
    for (unsigned i = 0; i < e->n_ios; i++) {
        if (ring_of(e, i) == ring && e->ios[i].input == input) {
            return (int)i;
        }
    }
    return -1;
}

/* @return false when an end is missing: then it is a comment */
static bool put_ends(e0_t *e, unsigned ring, unsigned format, const char *rest)
{
    const end_t from = find_end(e, ring, true), to = find_end(e, ring, false);
    const int in = find_io(e, ring, true), out = find_io(e, ring, false);
    if (from.node != NULL && to.node != NULL) {
        g_put(e->x, "arc %s %u %u %u %s %u %u %u%s", from.node->name, id_of(from.node->field[0]), from.port, format,
              to.node->name, id_of(to.node->field[0]), to.port, format, rest);
    } else if (in >= 0 && to.node != NULL) {
        g_put(e->x, "arc_input %d %s %u %u %u%s", in, to.node->name, id_of(to.node->field[0]), to.port, format, rest);
    } else if (out >= 0 && from.node != NULL) {
        g_put(e->x, "arc_output %d %s %u %u %u%s", out, from.node->name, id_of(from.node->field[0]), from.port, format,
              rest);
    } else {
        tw_text_warn(&e->x->t, NULL, "arc %u has no %s, kept as a comment", ring,
                     from.node != NULL ? "reader"
                     : to.node != NULL ? "writer"
                                       : "node at either end");
        g_put(e->x, "; arc %u, format %u%s", ring, format, rest);
        return false;
    }
    return true;
}

static void put_ring(e0_t *e)
{
    double v[12];
    char rest[512];
    if (!few(e, ++e->arcs, "rings and arcs") ||
        !need(e, "a ring: index, format, size, offset, register, alignment", v, 3, 12)) {
        return;
    }
    if (put_ends(e, id_of(v[0]), id_of(v[1]), g_rest(e->x, rest, sizeof rest))) {
        if (v[7] > 0 || v[8] > 0) {
            g_put(e->x, "arc_flow_error %.0f %.0f", v[7], v[8]);
        }
        if (v[6] > 0) {
            g_put(e->x, "arc_crumbs %.0f %.0f", v[9], v[10]);
        }
        if (v[4] > 0) {
            g_put(e->x, "arc_debug_reg %.0f", v[4]);
        }
    }
    g_put(e->x, "; arc %u: %.0f bytes, offset %.0f, alignment %.0f", id_of(v[0]), v[2], v[3], v[5]);
}

static void put_arc(e0_t *e)
{
    double v[6];
    char rest[512];
    if (!few(e, ++e->arcs, "rings and arcs") || !need(e, "an arc: index, format, size, offset", v, 3, 6)) {
        return;
    }
    if (put_ends(e, id_of(v[0]), id_of(v[1]), g_rest(e->x, rest, sizeof rest)) && v[5] > 0) {
        g_put(e->x, "arc_debug_reg %.0f", v[5]);
    }
    g_put(e->x, "; arc %u: %.0f bytes, offset %.0f", id_of(v[0]), v[2], v[3]);
}

static void put_comment(e0_t *e)
{
    g_put(e->x, "; %.*s", (int)(e->x->t.eol - e->x->t.bol), e->x->t.bol);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* {tag type value}: "i2" is i16, "f4" f32. @return false after an error */
static bool put_value(e0_t *e, tw_text_t *t, unsigned line)
{
    double tag;
    tw_tok_t tok, value;
    if (numbers(t, &tag, 1) != 1 || !tw_text_tok(t, &tok) || !tw_text_tok(t, &value)) {
        return false;
    }
    const int bytes = tok.n == 2 ? tok.p[1] - '0' : tok.n == 1 && tok.p[0] == 'c' ? 1 : 0;
    const char type = tok.p[0] == 'c' ? 'u' : tok.p[0];
    if ((type != 'i' && type != 'f' && type != 'u') || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
        return false;
    }
    g_put_at(e->x, line, "1 %c%d; %.*s", type, 8 * bytes, (int)value.n, value.p);
    return true;
}

static void put_block(e0_t *e, tw_text_t t)
{
    double v[3], tag;
    const unsigned n = numbers(&t, v, 3);
    tw_text_t first = t;
    const bool one = n == 3 && v[2] == 1 && numbers(&first, &tag, 1) == 1;
    g_put_at(e->x, t.line, "node_parameters");
    g_put_at(e->x, t.line, "1 u8; %.0f", one ? tag : 0);
    for (unsigned i = 0; n == 3 && i < v[2]; i++) {
        if (!put_value(e, &t, t.line)) {
            tw_text_error(&t, NULL, "expected %g parameters: tag, type and value, found %u", v[2], i);
            break;
        }
    }
    g_put_at(e->x, t.line, "_end_");
}

/* The parameters of a type stand behind all nodes; the first node of the type has them. */
static void put_parameters(e0_t *e, unsigned type)
{
    for (unsigned i = 0; i < e->n_params; i++) {
        if (e->params[i].type == type) {
            put_block(e, e->params[i].at);
            return;
        }
    }
}

static void put_node(e0_t *e, unsigned at)
{
    const e0_node_t *n = &e->nodes[at];
    static const char *const tags[] = {NULL, "node_map_proc",    "node_map_arch", "node_preset", NULL,
                                       NULL, "node_map_verbose", "node_map_rtos"};
    bool first = true;
    g_put(e->x, "node %s %u", n->name, id_of(n->field[0]));
    for (unsigned i = 0; i < TW_COUNT(tags); i++) {
        if (tags[i] != NULL && n->field[i] > 0) {
            g_put(e->x, "%s %.0f", tags[i], n->field[i]);
        }
    }
    if (n->field[4] > 0 || n->field[5] > 0) {
        tw_text_warn(&e->x->t, NULL, "debug and clear bits of a node have no counterpart");
    }
    for (unsigned i = 0; i < at; i++) {
        first &= e->nodes[i].type != n->type;
    }
    if (first) {
        put_parameters(e, n->type);
    }
    g_put(e->x, "_end_");
}

static void put_script(e0_t *e)
{
    double v[2];
    tw_tok_t tok;
    if (!need(e, "a script: index", v, 1, 2)) {
        return;
    }
    tw_text_warn(&e->x->t, NULL, "the script language of this text has no translation: it only returns");
    g_put(e->x, "script %u", id_of(v[0]));
    g_put(e->x, "script_code");
    while (g_next_line(e->x) && tw_text_peek(&e->x->t, &tok) && kind_of(&tok) != SCRIPT_END) {
        put_comment(e);
    }
    g_put(e->x, "1 h16; C000 ; ret");
    g_put(e->x, "_end_");
    g_put(e->x, "_end_");
}

/* ---- the text ---------------------------------------------------------------------------------- */

static void put_line(e0_t *e, kind_t kind, unsigned *node)
{
    switch (kind) {
    case HEADER:
    case PARAM: /* in its node */
    case SCRIPT_END:
        break;
    case ROW:
        put_io(e);
        break;
    case FORMAT:
        put_format(e);
        break;
    case RING:
        put_ring(e);
        break;
    case ARC:
        put_arc(e);
        break;
    case EXTENSION:
        tw_text_warn(&e->x->t, NULL, "xtension has no counterpart, kept as a comment");
        put_comment(e);
        break;
    case NODE:
        if (*node < e->n_nodes) {
            put_node(e, (*node)++);
        } else {
            tw_text_error(&e->x->t, NULL, "expected a node of at most %d: type, name, instance", MOST);
        }
        break;
    case SCRIPT:
        put_script(e);
        break;
    case OTHER:
        tw_text_error(&e->x->t, NULL, "expected h, format, ring, arc, xtension, graph, param, script or ENDGRAPH");
        break;
    case END:
        break;
    }
}

bool g_translate_e0(g_trans_t *x)
{
    e0_t *e = calloc(1, sizeof *e);
    tw_tok_t tok;
    unsigned node = 0;
    if (e == NULL) {
        return false;
    }
    e->x = x;
    look_ahead(e);
    while (g_next_line(x)) {
        (void)tw_text_peek(&x->t, &tok);
        const kind_t kind = kind_of(&tok);
        if (kind == END) {
            break;
        }
        if (kind != ROW) {
            (void)tw_text_tok(&x->t, &tok);
        }
        put_line(e, kind, &node);
    }
    while (g_next_line(x)) {
        put_comment(e);
    }
    free(e);
    return true;
}
