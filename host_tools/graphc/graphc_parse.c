/* graphc_parse.c - graph text to model: one reader per tag of graph_tags.def. Knows no manifest and no address. */
#include "host_tools/graphc/graphc_priv.h"
#include <stdio.h>
#include <stdlib.h>

typedef bool reader_fn(g_parser_t *p);
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) static reader_fn read_##reader;
#include "host_tools/graphc/graph_tags.def"

/* Where a tag may stand, and the record its TW_GRAPH_INT fields are in. */
enum { W_TOP, W_FORMAT, W_IO, W_NODE, W_CODE, W_ARC, W_ANY };
typedef g_control_t rec_TOP;
typedef g_format_t rec_FORMAT;
typedef g_io_t rec_IO;
typedef g_node_t rec_NODE;
typedef g_script_t rec_CODE;
typedef g_arc_t rec_ARC;

enum { INT, CALL, SKIPPED, ALIAS };
static const struct row {
    const char *tag;
    uint8_t what, where;
    double lo, hi;
    size_t at;
    tw_field_kind_t kind;
    reader_fn *read;
    const char *same; /* ALIAS */
} rows[] = {
#define TW_GRAPH_INT(tag, where, field, lo, hi, dflt, text) \
    {#tag, INT, W_##where, lo, hi, offsetof(rec_##where, field), TW_FIELD_KIND(rec_##where, field), NULL, NULL},
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) \
    {#tag, CALL, W_##where, 0, 0, 0, TW_FIELD_U8, read_##reader, NULL},
#define TW_GRAPH_SKIP(tag, where, args, dflt, text) {#tag, SKIPPED, W_##where, 0, 0, 0, TW_FIELD_U8, NULL, NULL},
#define TW_GRAPH_ALIAS(alias, tag, text) {#alias, ALIAS, 0, 0, 0, 0, TW_FIELD_U8, NULL, #tag},
#include "host_tools/graphc/graph_tags.def"
};

g_pos_t g_here(const g_parser_t *p, const tw_tok_t *tok)
{
    return (g_pos_t){p->t->file, p->t->line, tok != NULL ? tok->col : 0};
}

/* At a token, or at the line's tag. */
static bool fail(g_parser_t *p, const tw_tok_t *tok, const char *what)
{
    tw_text_error(p->t, tok != NULL ? tok : &p->tag, "%s", what);
    return false;
}

static bool take_u32(g_parser_t *p, const char *what, int64_t lo, int64_t hi, uint32_t *v)
{
    int64_t got;
    if (!tw_take_int(p->t, what, lo, hi, &got)) {
        return false;
    }
    *v = (uint32_t)got;
    return true;
}

static bool take_word(g_parser_t *p, const char *what, tw_tok_t *tok)
{
    if (!tw_text_tok(p->t, tok)) {
        tw_text_error(p->t, tok, "expected %s", what);
        return false;
    }
    return true;
}

/* Symbols travel in 31 bytes and are typed by people. */
static bool take_symbol(g_parser_t *p, tw_tok_t *tok)
{
    if (!take_word(p, "a name", tok)) {
        return false;
    }
    for (uint32_t i = 0; i < tok->n; i++) {
        const char c = tok->p[i];
        const bool ok = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
                        c == '.' || c == '/' || c == '-';
        if (!ok || tok->n > TW_SYMBOL_MAX) {
            return fail(p, tok, "a name has 1..31 characters of A-Z a-z 0-9 _ . / -");
        }
    }
    return true;
}

static bool more(g_parser_t *p)
{
    tw_tok_t tok;
    return tw_text_peek(p->t, &tok);
}

/* ---- blocks ---------------------------------------------------------------------- */

static void start(g_parser_t *p, g_in_t in)
{
    p->in = in;
    p->lines = LINES_TAGS;
    p->block = g_here(p, &p->tag);
}

/* A node or script ends where the next record begins; only nodes were meant to have an _end_. */
static void close_record(g_parser_t *p, bool by_end)
{
    if (p->in == IN_NODE && !by_end) {
        g_warn(p->m, &p->block, "node without _end_, closed here");
    }
    p->in = IN_TOP;
    p->script = G_NONE;
}

static bool end_block(g_parser_t *p)
{
    const g_lines_t lines = p->lines;
    p->lines = LINES_TAGS;
    switch (lines) {
    case LINES_TAGS:
        if (p->in == IN_NODE || p->in == IN_SCRIPT) {
            close_record(p, true);
        }
        return true;
    case LINES_DATA:
        if (!p->has_tag) {
            g_error(p->m, &p->block, "parameters without data");
            return false;
        }
        return true;
    case LINES_CODE:
        return g_code_end(p);
    case LINES_ASM:
        return g_asm_end(p);
    case LINES_FORMATS:
    case LINES_INTERFACE:
    case LINES_NODE_NAME:
    case LINES_IGNORED:
        return true;
    }
    return true;
}

/* ---- control --------------------------------------------------------------------- */

static bool read_nothing(g_parser_t *p)
{
    (void)p;
    return true;
}

static bool read_arc_section(g_parser_t *p)
{
    p->in = IN_TOP;
    return true;
}

static bool read_graph_name(g_parser_t *p)
{
    tw_tok_t tok;
    return take_symbol(p, &tok) && tw_tok_copy(&tok, p->m->control.name, sizeof p->m->control.name);
}

static bool read_graph_locations(g_parser_t *p)
{
    int64_t v;
    bool in_place = true;
    for (int i = 0; i < 7; i++) {
        if (!tw_take_int(p->t, "graph location", -1, 3, &v)) {
            return false;
        }
        in_place &= v == -1;
    }
    p->m->control.location = in_place ? 3 : 0;
    if (!in_place) {
        tw_text_warn(p->t, NULL, "graph_locations other than -1: graph_location 0 is used");
    }
    return true;
}

static bool read_set_file_path(g_parser_t *p)
{
    uint32_t i;
    tw_tok_t tok;
    char text[200];
    if (!take_u32(p, "path index", 0, (int64_t)TW_COUNT(p->paths) - 1, &i) || !take_word(p, "a path", &tok)) {
        return false;
    }
    if (tok.p[0] == '/') {
        return fail(p, &tok, "a path is relative to the graph's folder");
    }
    if (!tw_tok_copy(&tok, text, sizeof text) || !tw_path_join(p->paths[i], sizeof p->paths[i], p->dir, text)) {
        return fail(p, &tok, "path too long");
    }
    p->has_path[i] = true;
    return true;
}

static bool keep_text(g_model_t *m, char *text, char *name)
{
    if (m->n_texts >= m->cap_texts && !g_grow(&m->texts, m->cap_texts, &m->cap_texts, sizeof *m->texts)) {
        return false;
    }
    if (m->n_texts >= m->cap_names && !g_grow(&m->names, m->cap_names, &m->cap_names, sizeof *m->names)) {
        return false;
    }
    m->texts[m->n_texts] = text;
    m->names[m->n_texts++] = name;
    return true;
}

/* Open a text on top of the stack. @return false when it cannot be read */
static bool open_text(g_parser_t *p, const char *path)
{
    size_t n = 0, size = strlen(path) + 1;
    char *text = p->src->read(p->src->ctx, path, &n);
    char *name = malloc(size);
    if (text == NULL || name == NULL || !keep_text(p->m, text, name)) {
        free(text);
        free(name);
        return false;
    }
    memcpy(name, path, size);
    p->t = &p->stack[p->depth++];
    tw_text_open(p->t, name, text, n, p->m->diags);
    p->t->canon = p->m->canon;
    p->t->canon_ctx = p->m->canon_ctx;
    return true;
}

static bool leaves_folder(const char *file)
{
    for (const char *at = file; (at = strstr(at, "..")) != NULL; at += 2) {
        if ((at == file || at[-1] == '/') && (at[2] == 0 || at[2] == '/')) {
            return true;
        }
    }
    return file[0] == '/';
}

static bool read_include(g_parser_t *p)
{
    uint32_t i;
    tw_tok_t tok;
    char file[200], path[256];
    if (!take_u32(p, "path index", 0, (int64_t)TW_COUNT(p->paths) - 1, &i) || !take_word(p, "a file name", &tok)) {
        return false;
    }
    if (i > 0 && !p->has_path[i]) {
        tw_text_error(p->t, &tok, "path %u is not declared: set_file_path %u FOLDER", i, i);
        return false;
    }
    if (!tw_tok_copy(&tok, file, sizeof file) ||
        !tw_path_join(path, sizeof path, p->has_path[i] ? p->paths[i] : p->dir, file)) {
        return fail(p, &tok, "path too long");
    }
    if (leaves_folder(file)) {
        return fail(p, &tok, "a file name stays inside the folder its index names");
    }
    for (unsigned k = 0; k < p->depth; k++) {
        if (strcmp(p->stack[k].file, path) == 0) {
            tw_text_error(p->t, &tok, "'%s' includes itself", path);
            return false;
        }
    }
    if (p->depth > G_INCLUDE_MAX) {
        tw_text_error(p->t, &tok, "more than %u includes inside one another", G_INCLUDE_MAX);
        return false;
    }
    if (p->m->n_texts >= 256) {
        return fail(p, &tok, "more than 256 files");
    }
    if (!open_text(p, path)) {
        tw_text_error(p->t, &tok, "cannot read '%s'", path);
        return false;
    }
    return true;
}

static bool read_memory_mapping(g_parser_t *p)
{
    g_model_t *m = p->m;
    uint32_t orig, vid;
    g_map_t map = {.pos = g_here(p, &p->tag)};
    if (!take_u32(p, "VID", 0, 254, &orig) || !take_u32(p, "new VID", 0, 254, &vid) ||
        !take_u32(p, "start", 0, 0xFFFFFFFF, &map.start) || !take_u32(p, "length", 1, 0xFFFFFFFF, &map.bytes)) {
        return false;
    }
    if (map.start % 4 != 0 || map.bytes % 4 != 0) {
        return fail(p, NULL, "start and length are multiples of 4");
    }
    if (m->n_maps >= m->cap_maps && !g_grow(&m->maps, m->cap_maps, &m->cap_maps, sizeof *m->maps)) {
        return fail(p, NULL, "out of memory");
    }
    map.orig = (uint8_t)orig;
    map.vid = (uint8_t)vid;
    m->maps[m->n_maps++] = map;
    return true;
}

static bool read_subgraph(g_parser_t *p)
{
    start(p, IN_TOP);
    p->lines = LINES_IGNORED;
    return fail(p, NULL, "sub-graphs are not supported yet");
}

/* ---- formats ----------------------------------------------------------------------- */

static g_format_t *add_format(g_parser_t *p, const tw_tok_t *at, uint32_t id)
{
    g_model_t *m = p->m;
    if (m->format_of[id] != G_NONE) {
        tw_text_error(p->t, at, "format %u is declared twice, first in line %u", id,
                      m->formats[m->format_of[id]].pos.line);
        return NULL;
    }
    if (m->n_formats >= m->cap_formats && !g_grow(&m->formats, m->cap_formats, &m->cap_formats, sizeof *m->formats)) {
        (void)fail(p, at, "out of memory");
        return NULL;
    }
    m->format_of[id] = m->n_formats;
    g_format_t *f = &m->formats[m->n_formats++];
    *f = (g_format_t){.pos = g_here(p, at), .id = id, .frame_bytes = 1, .raw = TW_RAW_S16, .channels = 1};
    return f;
}

static bool read_format(g_parser_t *p)
{
    uint32_t id;
    tw_tok_t at;
    if (!tw_text_peek(p->t, &at)) {
        start(p, IN_TOP);
        p->lines = LINES_FORMATS;
        return true;
    }
    if (!take_u32(p, "format index", 0, G_FORMATS_MAX - 1, &id) || add_format(p, &at, id) == NULL) {
        return false;
    }
    p->in = IN_FORMAT;
    return true;
}

static g_format_t *format(g_parser_t *p)
{
    return &p->m->formats[p->m->n_formats - 1];
}

static bool read_format_raw(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "raw type", tw_raw_find, TW_RAW_COUNT - 1, &v)) {
        return false;
    }
    format(p)->raw = (uint8_t)v;
    return true;
}

static bool read_format_unit(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "unit", tw_unit_find_name, TW_UNIT_COUNT - 1, &v)) {
        return false;
    }
    format(p)->unit = (uint8_t)v;
    return true;
}

static bool read_format_domain(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "domain", tw_domain_find, TW_DOMAIN_COUNT - 1, &v)) {
        return false;
    }
    format(p)->domain = (uint8_t)v;
    return true;
}

static bool read_format_period(g_parser_t *p)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}, {"day", 86400}};
    tw_tok_t tok;
    double v;
    if (!take_word(p, "a unit of time", &tok)) {
        return false;
    }
    for (size_t i = 0; i < TW_COUNT(units); i++) {
        if (tw_tok_is(&tok, units[i].unit)) {
            if (!tw_take_num(p->t, "period", 1e-9, 1e9, &v)) {
                return false;
            }
            format(p)->rate = 1.0 / (v * units[i].s);
            return true;
        }
    }
    return fail(p, &tok, "a period is given in s, ms, min, h or day");
}

/* ID FRAME RAW CHANNELS INTERLEAVING TIMESTAMP SIZE DOMAIN UNIT [RATE [MAPPING]], frame of one channel. */
static bool read_format_row(g_parser_t *p)
{
    uint32_t id, frame, v[7];
    static const char *const names[] = {"raw type",        "channels", "interleaving", "time stamp",
                                        "time stamp size", "domain",   "unit"};
    static const uint8_t top[] = {TW_RAW_COUNT - 1, 32, 1, 3, 3, TW_DOMAIN_COUNT - 1, TW_UNIT_COUNT - 1};
    tw_tok_t at;
    int64_t test;
    (void)tw_text_peek(p->t, &at);
    if (!tw_tok_int(&at, &test)) {
        tw_text_skip(p->t); /* column headings */
        return true;
    }
    if (!take_u32(p, "format index", 0, G_FORMATS_MAX - 1, &id) ||
        !take_u32(p, "frame bytes of a channel", 1, 1 << 19, &frame)) {
        return false;
    }
    for (size_t i = 0; i < TW_COUNT(v); i++) {
        if (!take_u32(p, names[i], i == 1, top[i], &v[i])) {
            return false;
        }
    }
    g_format_t *f = add_format(p, &at, id);
    if (f == NULL) {
        return false;
    }
    f->raw = (uint8_t)v[0];
    f->channels = (uint8_t)v[1];
    f->frame_bytes = frame * v[1];
    f->interleave = (uint8_t)v[2];
    f->ts = (uint8_t)v[3];
    f->ts_size = (uint8_t)v[4];
    f->domain = (uint8_t)v[5];
    f->unit = (uint8_t)v[6];
    return !more(p) || (tw_take_num(p->t, "sampling rate", 0, 1e9, &f->rate) &&
                        (!more(p) || take_u32(p, "channel mapping", 0, 0xFFFFFF, &f->mapping)));
}

/* ---- graph IOs ----------------------------------------------------------------------- */

static g_io_t *add_io(g_parser_t *p)
{
    g_model_t *m = p->m;
    uint32_t id;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    if (!take_u32(p, "IO index", 0, G_IOS_MAX - 1, &id)) {
        return NULL;
    }
    if (m->io_of[id] != G_NONE) {
        tw_text_error(p->t, &at, "stream_io %u is declared twice, first in line %u", id, m->ios[m->io_of[id]].pos.line);
        return NULL;
    }
    if (m->n_ios >= m->cap_ios && !g_grow(&m->ios, m->cap_ios, &m->cap_ios, sizeof *m->ios)) {
        (void)fail(p, &at, "out of memory");
        return NULL;
    }
    m->io_of[id] = m->n_ios;
    g_io_t *io = &m->ios[m->n_ios++];
    *io = (g_io_t){.pos = g_here(p, &at), .id = id, .arc = G_NONE};
    return io;
}

static bool read_stream_io(g_parser_t *p)
{
    if (add_io(p) == NULL) {
        return false;
    }
    p->in = IN_IO;
    return true;
}

static bool take_hwid(g_parser_t *p, g_io_t *io)
{
    uint32_t hwid;
    if (!take_u32(p, "IO index of the top manifest", 0, 0xFFFF, &hwid)) {
        return false;
    }
    io->hwid = (uint16_t)hwid;
    return true;
}

static bool read_stream_io_graph(g_parser_t *p)
{
    g_io_t *io = add_io(p);
    p->in = io != NULL ? IN_IO : IN_TOP;
    return io != NULL && take_hwid(p, io);
}

static bool read_io_setting(g_parser_t *p)
{
    g_io_t *io = &p->m->ios[p->m->n_ios - 1];
    for (unsigned i = 0; i < 3 && (i == 0 || more(p)); i++) {
        if (!take_u32(p, "setting", 0, 0xFFFFFFFF, &io->setting[i])) {
            return false;
        }
    }
    return true;
}

static bool read_interface_rows(g_parser_t *p)
{
    start(p, IN_TOP);
    p->lines = LINES_INTERFACE;
    return true;
}

static bool read_interface_row(g_parser_t *p)
{
    g_io_t *io = add_io(p);
    uint32_t format_id;
    if (io == NULL || !take_u32(p, "format index", 0, 255, &format_id) || !take_hwid(p, io)) {
        return false;
    }
    io->format = (uint8_t)format_id;
    return !more(p) || take_u32(p, "setting", 0, 0xFFFFFFFF, &io->setting[0]);
}

/* ---- nodes ------------------------------------------------------------------------------ */

static bool read_node_header(g_parser_t *p)
{
    g_model_t *m = p->m;
    tw_tok_t tok;
    uint32_t inst;
    if (!take_word(p, "a node type", &tok)) {
        return false;
    }
    const g_pos_t pos = g_here(p, &tok);
    if (!take_u32(p, "instance", 0, 0xFFFF, &inst)) {
        return false;
    }
    const uint32_t old = g_find_node(m, tok.p, tok.n, inst);
    if (old != G_NONE) {
        tw_text_error(p->t, &tok, "node %.*s %u is declared twice, first in line %u", (int)tok.n, tok.p, inst,
                      m->nodes[old].pos.line);
        return false;
    }
    if (m->n_nodes >= G_NODES_MAX) {
        tw_text_error(p->t, &tok, "more than %u nodes", G_NODES_MAX);
        return false;
    }
    if (m->n_nodes >= m->cap_nodes && !g_grow(&m->nodes, m->cap_nodes, &m->cap_nodes, sizeof *m->nodes)) {
        return fail(p, &tok, "out of memory");
    }
    g_node_t *n = &m->nodes[m->n_nodes++];
    *n = (g_node_t){.pos = pos, .type = {tok.p, tok.n}, .inst = inst, .script = G_NONE, .own_script = G_NONE};
    for (unsigned i = 0; i < TW_COUNT(n->arcs); i++) {
        n->arcs[i] = G_NONE;
    }
    return g_enter_node(m, m->n_nodes - 1) || fail(p, &tok, "out of memory");
}

static bool open_node(g_parser_t *p)
{
    const uint32_t before = p->m->n_nodes;
    const bool ok = read_node_header(p);
    p->lines = LINES_TAGS;
    p->in = p->m->n_nodes > before ? IN_NODE : IN_TOP;
    if (p->in == IN_TOP) {
        p->lines = LINES_IGNORED; /* its tags would only repeat the error */
    }
    return ok;
}

static bool read_node(g_parser_t *p)
{
    start(p, IN_NODE);
    p->script = G_NONE;
    if (!more(p)) {
        p->in = IN_TOP;
        p->lines = LINES_NODE_NAME;
        return true;
    }
    return open_node(p);
}

static g_node_t *node(g_parser_t *p)
{
    return &p->m->nodes[p->m->n_nodes - 1];
}

static bool read_node_name(g_parser_t *p)
{
    tw_tok_t tok;
    return take_symbol(p, &tok) && tw_tok_copy(&tok, node(p)->name, sizeof node(p)->name);
}

static bool take_block(g_parser_t *p, uint32_t *block)
{
    g_node_t *n = node(p);
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    if (!take_u32(p, "memory block", 0, (int64_t)TW_COUNT(n->vid) - 1, block)) {
        return false;
    }
    if (*block + 1 > n->blocks_named) {
        n->blocks_named = *block + 1;
        n->blocks_pos = g_here(p, &at);
    }
    return true;
}

static bool read_malloc_e(g_parser_t *p)
{
    uint32_t e, block = 0;
    if (!take_u32(p, "bytes", 0, 0x7FFFFFFF, &e) || (more(p) && !take_block(p, &block))) {
        return false;
    }
    node(p)->e[block] = e;
    return true;
}

static bool read_map_hwblock(g_parser_t *p)
{
    uint32_t block, vid;
    if (!take_block(p, &block) || !take_u32(p, "VID", 0, 254, &vid)) {
        return false;
    }
    node(p)->vid[block] = (uint8_t)vid;
    return true;
}

static bool read_map_refused(g_parser_t *p)
{
    return fail(p, NULL, "copied and swapped memory is refused in this version: place the block with node_map_hwblock");
}

/* Bits of the image hold the id + 1 in 7 bits, so 127 of the seed text does not fit. */
static bool take_script_id(g_parser_t *p, uint32_t *id)
{
    int64_t v;
    if (!tw_take_int(p->t, "script", -1, (int64_t)G_SCRIPTS_MAX - 1, &v)) {
        return false;
    }
    *id = v < 0 ? G_NONE : (uint32_t)v;
    return true;
}

static bool read_node_script(g_parser_t *p)
{
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    node(p)->script_pos = g_here(p, &at);
    return take_script_id(p, &node(p)->script);
}

static bool read_parameters(g_parser_t *p)
{
    start(p, p->in);
    p->lines = LINES_DATA;
    p->has_tag = false;
    if (p->in == IN_SCRIPT) {
        p->lines = LINES_IGNORED;
        return fail(p, NULL, "parameters of a script: write them as literals of script_code or of the assembler");
    }
    g_node_t *n = node(p);
    if (n->has_params) {
        p->lines = LINES_IGNORED;
        return fail(p, NULL, "a node has one block of boot parameters");
    }
    n->has_params = true;
    n->params_pos = p->block;
    n->params_at = p->m->n_params = tw_round_up(p->m->n_params, 8);
    return true;
}

static bool read_data_line(g_parser_t *p)
{
    g_model_t *m = p->m;
    g_node_t *n = node(p);
    uint32_t used = n->params_at + n->params_bytes;
    if (!p->has_tag) {
        uint8_t *first = NULL;
        uint32_t bytes = 0, cap = 0;
        const bool ok = g_take_data(p, &first, &bytes, &cap) != NULL;
        /* the TAG byte selects the parameter and is not part of its value */
        n->tag = ok && first[0] != 0 ? first[0] : 256;
        p->has_tag = true;
        while (ok && m->cap_params < used + bytes) {
            if (!g_grow(&m->params, m->cap_params, &m->cap_params, 1)) {
                break;
            }
        }
        if (ok && m->cap_params >= used + bytes && bytes > 1) {
            memcpy(m->params + used, first + 1, bytes - 1);
            used += bytes - 1;
        }
        free(first);
        n->params_bytes = used - n->params_at;
        m->n_params = used;
        return ok;
    }
    const bool ok = g_take_data(p, &m->params, &used, &m->cap_params) != NULL;
    n->params_bytes = used - n->params_at;
    m->n_params = used;
    return ok;
}

/* ---- scripts -------------------------------------------------------------------------------- */

static g_script_t *add_script(g_parser_t *p, uint32_t id, uint32_t owner)
{
    g_model_t *m = p->m;
    if (m->n_scripts >= G_SCRIPTS_MAX) {
        tw_text_error(p->t, NULL, "more than %u scripts", G_SCRIPTS_MAX);
        return NULL;
    }
    if (m->n_scripts >= m->cap_scripts && !g_grow(&m->scripts, m->cap_scripts, &m->cap_scripts, sizeof *m->scripts)) {
        (void)fail(p, NULL, "out of memory");
        return NULL;
    }
    p->script = m->n_scripts;
    g_script_t *s = &m->scripts[m->n_scripts++];
    *s = (g_script_t){.pos = p->block, .id = id, .node = owner, .regs = 2, .ptrs = 2};
    return s;
}

g_script_t *g_script_here(g_parser_t *p)
{
    if (p->in == IN_NODE && node(p)->own_script != G_NONE) {
        p->script = node(p)->own_script;
    }
    if (p->script != G_NONE) {
        return &p->m->scripts[p->script];
    }
    g_script_t *s = add_script(p, G_NONE, p->m->n_nodes - 1);
    if (s != NULL) {
        node(p)->own_script = p->script;
    }
    return s;
}

static bool read_script(g_parser_t *p)
{
    uint32_t id;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    start(p, IN_TOP);
    p->lines = LINES_IGNORED;
    if (!take_u32(p, "script", 0, G_SCRIPTS_MAX - 1, &id)) {
        return false;
    }
    if (p->m->script_of[id] != G_NONE) {
        tw_text_error(p->t, &at, "script %u is declared twice, first in line %u", id,
                      p->m->scripts[p->m->script_of[id]].pos.line);
        return false;
    }
    if (add_script(p, id, G_NONE) == NULL) {
        return false;
    }
    p->m->script_of[id] = p->script;
    p->in = IN_SCRIPT;
    p->lines = LINES_TAGS;
    return true;
}

static bool read_script_name(g_parser_t *p)
{
    g_script_t *s = g_script_here(p);
    tw_tok_t tok;
    if (s == NULL || !take_symbol(p, &tok)) {
        return false;
    }
    s->name = (g_slice_t){tok.p, tok.n};
    return true;
}

static bool read_script_minimum(g_parser_t *p)
{
    g_script_t *s = g_script_here(p);
    uint32_t v;
    if (s == NULL || !take_u32(p, "script_minimum", 0, 1, &v)) {
        return false;
    }
    s->regs = v ? 2 : s->regs;
    s->ptrs = v ? 1 : s->ptrs;
    return true;
}

static bool open_code(g_parser_t *p, g_lines_t lines)
{
    start(p, p->in);
    p->lines = lines;
    p->data_bytes = p->literal_bytes = p->n_literals = p->asm_bytes = p->asm_lines = 0;
    return g_script_here(p) != NULL;
}

static bool read_script_code(g_parser_t *p)
{
    return open_code(p, LINES_CODE);
}

static bool read_script_assembler(g_parser_t *p)
{
    return open_code(p, LINES_ASM);
}

/* ---- arcs --------------------------------------------------------------------------------------- */

static bool take_end(g_parser_t *p, g_end_t *e)
{
    tw_tok_t tok;
    if (!take_word(p, "a node", &tok)) {
        return false;
    }
    e->pos = g_here(p, &tok);
    e->type = (g_slice_t){tok.p, tok.n};
    return take_u32(p, "instance", 0, 0xFFFF, &e->inst) && take_u32(p, "port", 0, 15, &e->port) &&
           take_u32(p, "format index", 0, 255, &e->format);
}

static bool take_quality(g_parser_t *p, g_arc_t *a)
{
    tw_tok_t tok;
    if (tw_text_peek(p->t, &tok) && tw_tok_is(&tok, "H")) {
        (void)tw_text_tok(p->t, &tok);
        a->hqos = true;
    }
    if (tw_text_peek(p->t, &tok)) {
        tw_text_warn(p->t, &tok, "'%.*s' after the arc is taken as a comment", (int)tok.n, tok.p);
    }
    return true;
}

static bool add_arc(g_parser_t *p, const g_arc_t *a)
{
    g_model_t *m = p->m;
    if (m->n_arcs >= G_ARCS_MAX) {
        tw_text_error(p->t, NULL, "more than %u arcs", G_ARCS_MAX);
        return false;
    }
    if (m->n_arcs >= m->cap_arcs && !g_grow(&m->arcs, m->cap_arcs, &m->cap_arcs, sizeof *m->arcs)) {
        return fail(p, NULL, "out of memory");
    }
    m->arcs[m->n_arcs++] = *a;
    p->in = IN_ARC;
    return true;
}

static g_arc_t new_arc(g_parser_t *p, g_arc_kind_t kind)
{
    p->in = IN_TOP;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    return (g_arc_t){.pos = g_here(p, &at), .kind = kind, .jitter = 1.0, .script = G_NONE, .io = G_NONE};
}

/* io node instance port format [set0copy1 format-of-the-IO] [H] */
static bool take_io_arc(g_parser_t *p, g_arc_kind_t kind)
{
    g_arc_t a = new_arc(p, kind);
    tw_tok_t tok;
    int64_t test;
    uint32_t copy = 1, other;
    g_end_t *end = kind == G_ARC_IN ? &a.to : &a.from;
    if (!take_u32(p, "IO index", 0, 255, &a.io) || !take_end(p, end)) {
        return false;
    }
    if (tw_text_peek(p->t, &tok) && tw_tok_int(&tok, &test) &&
        (!take_u32(p, "set (0) or copy (1)", 0, 1, &copy) || !take_u32(p, "format index", 0, 255, &other))) {
        return false;
    }
    a.set_buffer = copy == 0;
    return take_quality(p, &a) && add_arc(p, &a);
}

static bool read_arc_input(g_parser_t *p)
{
    return take_io_arc(p, G_ARC_IN);
}

static bool read_arc_output(g_parser_t *p)
{
    return take_io_arc(p, G_ARC_OUT);
}

static bool read_arc(g_parser_t *p)
{
    g_arc_t a = new_arc(p, G_ARC_NODES);
    return take_end(p, &a.from) && take_end(p, &a.to) && take_quality(p, &a) && add_arc(p, &a);
}

static g_arc_t *arc(g_parser_t *p)
{
    return &p->m->arcs[p->m->n_arcs - 1];
}

static bool read_flow_error(g_parser_t *p)
{
    uint32_t u, o;
    if (!take_u32(p, "underflow", 0, 3, &u)) {
        return false;
    }
    arc(p)->by_domain = false;
    if (more(p)) {
        if (!take_u32(p, "overflow", 0, 3, &o)) {
            return false;
        }
        arc(p)->underflow = (uint8_t)u;
        arc(p)->overflow = (uint8_t)o;
        return true;
    }
    arc(p)->by_domain = u == 1;
    return u <= 1 || fail(p, NULL, "one value is 0 or 1 (by domain); two are underflow and overflow, 0..3");
}

static bool read_crumbs(g_parser_t *p)
{
    uint32_t in, out;
    if (!take_u32(p, "crumb in", 0, 3, &in) || !take_u32(p, "crumb out", 0, 3, &out)) {
        return false;
    }
    arc(p)->crumb_in = (uint8_t)in;
    arc(p)->crumb_out = (uint8_t)out;
    arc(p)->crumbs = true;
    return true;
}

static bool read_arc_script(g_parser_t *p)
{
    return take_script_id(p, &arc(p)->script);
}

/* ---- lines ---------------------------------------------------------------------------------------- */

static const struct row *find_row(const tw_tok_t *tok)
{
    const char *same = NULL;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (tw_tok_is(tok, rows[i].tag)) {
            if (rows[i].what != ALIAS) {
                return &rows[i];
            }
            same = rows[i].same;
            break;
        }
    }
    for (size_t i = 0; same != NULL && i < TW_COUNT(rows); i++) {
        if (rows[i].what != ALIAS && strcmp(rows[i].tag, same) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* The record a row's field is in, or NULL when the tag may not stand here. */
static void *record(g_parser_t *p, uint8_t where)
{
    g_model_t *m = p->m;
    switch (where) {
    case W_TOP:
    case W_ANY:
        return &m->control;
    case W_FORMAT:
        return p->in == IN_FORMAT ? format(p) : NULL;
    case W_IO:
        return p->in == IN_IO ? &m->ios[m->n_ios - 1] : NULL;
    case W_NODE:
        return p->in == IN_NODE ? node(p) : NULL;
    case W_CODE:
        return p->in == IN_NODE || p->in == IN_SCRIPT ? &m->control : NULL;
    case W_ARC:
        return p->in == IN_ARC ? arc(p) : NULL;
    default:
        return NULL;
    }
}

/* What follows a value is comment, but 44,1 was meant as one number. */
static bool one_value(g_parser_t *p)
{
    const char *q = p->t->p;
    if (p->t->eol - q < 2 || q[0] != ',' || q[1] < '0' || q[1] > '9') {
        return true;
    }
    tw_tok_t tok;
    (void)tw_text_peek(p->t, &tok);
    tw_text_error(p->t, &tok, "%.*s takes one value, and decimals begin with a point", (int)p->tag.n, p->tag.p);
    return false;
}

static bool read_tag_row(g_parser_t *p, const tw_tok_t *tok, const struct row *row)
{
    static const char *const owner[] = {"", "a format", "a stream_io", "a node", "a node or script", "an arc", ""};
    if (row->where == W_TOP && (p->in == IN_NODE || p->in == IN_SCRIPT)) {
        close_record(p, false);
    }
    void *at = record(p, row->where);
    if (at == NULL) {
        tw_text_error(p->t, tok, "%s belongs to %s, and none is open here", row->tag, owner[row->where]);
        return false;
    }
    if (row->what == INT) {
        if (row->where == W_CODE && (at = g_script_here(p)) == NULL) {
            return false;
        }
        return tw_take_field(p->t, row->tag, row->kind, row->lo, row->hi, (char *)at + row->at) && one_value(p);
    }
    if (row->what == SKIPPED) {
        tw_text_warn(p->t, tok, "%s has no effect in this version", row->tag);
        return true;
    }
    return row->read(p);
}

static bool read_tag(g_parser_t *p)
{
    tw_tok_t tok;
    (void)tw_text_tok(p->t, &tok);
    p->tag = tok;
    const struct row *row = find_row(&tok);
    if (row == NULL) {
        const char *near = tw_nearest(&tok, rows, TW_COUNT(rows), sizeof rows[0]);
        const bool comment = tok.p[0] == '#' || (tok.n > 1 && memcmp(tok.p, "//", 2) == 0);
        tw_text_error(p->t, &tok, "unknown tag '%.*s'%s%s%s%s", (int)tok.n, tok.p, near ? ", did you mean '" : "",
                      near ? near : "", near ? "'?" : "", comment ? ": a comment begins with ';'" : "");
        return false;
    }
    return read_tag_row(p, &tok, row);
}

static bool is_end(const tw_tok_t *tok)
{
    return tw_tok_is_end(tok) || tw_tok_is(tok, "_endgraph_");
}

/* Bars of dashes and equal signs are drawn without a ';' too. */
static bool is_rule(const tw_tok_t *tok)
{
    for (uint32_t i = 0; i < tok->n; i++) {
        if (tok->p[i] != '-' && tok->p[i] != '=') {
            return false;
        }
    }
    return true;
}

static bool read_line(g_parser_t *p)
{
    tw_tok_t tok;
    (void)tw_text_peek(p->t, &tok);
    if (is_end(&tok)) {
        (void)tw_text_tok(p->t, &tok);
        return end_block(p);
    }
    const bool is_include = tw_tok_is(&tok, "include") || tw_tok_is(&tok, "_include");
    switch (p->lines) {
    case LINES_TAGS:
        break;
    case LINES_DATA:
    case LINES_CODE:
        if (is_include) {
            break;
        }
        if (!g_is_data(p->t)) {
            tw_text_error(p->t, &tok, "expected a data line 'N type; values' or _end_, found '%.*s'", (int)tok.n,
                          tok.p);
            p->has_tag = true;
            return false;
        }
        return p->lines == LINES_DATA ? read_data_line(p) : g_code_line(p);
    case LINES_ASM:
        return g_asm_line(p);
    case LINES_FORMATS:
        return read_format_row(p);
    case LINES_INTERFACE:
        return read_interface_row(p);
    case LINES_NODE_NAME:
        return open_node(p);
    case LINES_IGNORED:
        if (find_row(&tok) == NULL || find_row(&tok)->where != W_TOP) {
            tw_text_skip(p->t);
            return true;
        }
        p->lines = LINES_TAGS;
        break;
    }
    return is_rule(&tok) || read_tag(p);
}

static void read_all(g_parser_t *p)
{
    while (p->depth > 0) {
        p->t = &p->stack[p->depth - 1];
        if (!tw_text_line(p->t)) {
            p->depth--;
            continue;
        }
        (void)read_line(p);
        if (p->m->diags->errors >= TW_COUNT(p->m->diags->rows)) {
            tw_diag(p->m->diags, false, p->t->file, p->t->line, 0, "too many errors, the rest was not read");
            return;
        }
    }
    p->t = &p->stack[0];
    if (p->lines != LINES_TAGS && p->lines != LINES_IGNORED) {
        g_error(p->m, &p->block, "block without _end_");
    } else if (p->in == IN_NODE || p->in == IN_SCRIPT) {
        close_record(p, false);
    }
}

bool g_parse(g_model_t *m, const char *path, const tw_text_source_t *src)
{
    const unsigned errors = m->diags->errors;
    g_parser_t p = {.m = m, .src = src, .script = G_NONE};
    memset(m->format_of, 0xFF, sizeof m->format_of);
    memset(m->io_of, 0xFF, sizeof m->io_of);
    memset(m->script_of, 0xFF, sizeof m->script_of);
    m->control = (g_control_t){.sched_return = 3, .processors = 1};
    tw_path_dir(p.dir, sizeof p.dir, path);
    if (strlen(path) >= sizeof p.dir || !open_text(&p, path)) {
        tw_diag(m->diags, false, path, 0, 0, "cannot read the graph '%s'", path);
        return false;
    }
    read_all(&p);
    free(p.asm_text);
    free(p.data);
    free(p.literals);
    return m->diags->errors == errors;
}
