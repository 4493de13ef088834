/* graphc_parse.c - graph text to model: lines and blocks, and the reader of each tag of graph_tags.def. Knows no
 * manifest and no address. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <stdlib.h>

/* Where a tag may stand, and the record its TW_GRAPH_INT fields are in. */
enum { W_TOP, W_MAIN, W_FORMAT, W_IO, W_NODE, W_CODE, W_ARC, W_ANY };
typedef g_control_t rec_TOP;
typedef g_control_t rec_MAIN;
typedef g_format_t rec_FORMAT;
typedef g_io_t rec_IO;
typedef g_node_t rec_NODE;
typedef g_script_t rec_CODE;
typedef g_arc_t rec_ARC;

enum { INT, CALL, ALIAS };
static const struct row {
    const char *tag;
    uint8_t what, where;
    double lo, hi;
    size_t at;
    tw_field_kind_t kind;
    g_reader_fn *read;
    const char *same; /* ALIAS */
} rows[] = {
#define TW_GRAPH_INT(tag, where, field, lo, hi, dflt, text) \
    {#tag, INT, W_##where, lo, hi, offsetof(rec_##where, field), TW_FIELD_KIND(rec_##where, field), NULL, NULL},
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) \
    {#tag, CALL, W_##where, 0, 0, 0, TW_FIELD_U8, g_read_##reader, NULL},
#define TW_GRAPH_ALIAS(alias, tag, text) {#alias, ALIAS, 0, 0, 0, 0, TW_FIELD_U8, NULL, #tag},
#include "host_tools/graphc/graph_tags.def"
};

/* ---- blocks ---------------------------------------------------------------------- */

void g_start(g_parser_t *p, g_in_t in)
{
    p->in = in;
    p->lines = LINES_TAGS;
    p->block = g_here(p, &p->tag);
}

/* A node or script ends where the next record begins; only nodes were meant to have an _end_. */
static void close_record(g_parser_t *p, bool by_end)
{
    if (p->in == IN_NODE && !by_end) {
        g_warn(p->m, &g_node_here(p)->pos, "this node has no _end_: it is taken to end before line %u", p->t->line);
    }
    (void)g_script_end(p);
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
        return g_data_end(p);
    case LINES_SCRIPT:
        if (!p->has_tag) {
            g_error(p->m, &p->block, "parameters without data");
        }
        return p->has_tag;
    case LINES_POOL:
        p->has_pool = true;
        return true;
    case LINES_CODE:
    case LINES_ASM:
    case LINES_SOURCE:
    case LINES_SUBGRAPH:
        return g_subgraph_end(p);
    case LINES_FORMATS:
    case LINES_INTERFACE:
    case LINES_MAPPING:
    case LINES_TRACE:
    case LINES_NODE_NAME:
    case LINES_IGNORED:
        return true;
    }
    return true;
}

bool g_open_text(g_parser_t *p, const tw_tok_t *at, uint32_t index, const char *name)
{
    const g_model_t *m = p->m;
    p->opened_bytes += m->sizes[index];
    if (++p->opened > G_OPENED_MAX || p->opened_bytes > G_OPENED_BYTES_MAX) {
        const g_pos_t pos = p->depth > 0 ? g_here(p, at) : m->scopes[p->scope].pos;
        g_error(p->m, &pos, "files are used %u times, %zu bytes in all: at most %u times, %u bytes", p->opened,
                p->opened_bytes, G_OPENED_MAX, G_OPENED_BYTES_MAX);
        return false;
    }
    p->t = &p->stack[p->depth++];
    tw_text_open(p->t, name, m->texts[index], m->sizes[index], m->diags);
    p->t->map = m->line_maps[index];
    p->t->canon = m->canon;
    p->t->canon_ctx = m->canon_ctx;
    return true;
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

/* Has graph_tags.def a row of that name, aliases too? */
static bool is_tag(const tw_tok_t *tok)
{
    return find_row(tok) != NULL;
}

/* The record a row's field is in, or NULL when the tag may not stand here. */
static void *record(g_parser_t *p, uint8_t where)
{
    g_model_t *m = p->m;
    switch (where) {
    case W_TOP:
    case W_MAIN:
    case W_ANY:
        return &m->control;
    case W_FORMAT:
        return p->in == IN_FORMAT ? g_format_here(p) : NULL;
    case W_IO:
        return p->in == IN_IO ? &m->ios[m->n_ios - 1] : NULL;
    case W_NODE:
        return p->in == IN_NODE ? g_node_here(p) : NULL;
    case W_CODE:
        return p->in == IN_NODE || p->in == IN_SCRIPT ? &m->control : NULL;
    case W_ARC:
        return p->in == IN_ARC ? g_arc_here(p) : NULL;
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
    static const char *const owner[] = {"", "", "a format", "a stream_io", "a node", "a node or script", "an arc", ""};
    const bool top = row->where == W_TOP || row->where == W_MAIN;
    if (top && (p->in == IN_NODE || p->in == IN_SCRIPT)) {
        close_record(p, false);
    }
    if (row->where == W_MAIN && p->scope > 0) {
        tw_text_warn(p->t, tok, "%s is the whole graph's, and has no effect in a sub-graph", row->tag);
        tw_text_skip(p->t);
        p->in = IN_TOP;
        p->lines = LINES_IGNORED; /* with the rows it may have */
        return true;
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
    if (!row->read(p)) {
        p->lines = row->where == W_TOP && p->lines == LINES_TAGS ? LINES_IGNORED : p->lines; /* its tags have no home */
        return false;
    }
    return true;
}

static bool read_tag(g_parser_t *p)
{
    tw_tok_t tok;
    (void)tw_text_tok(p->t, &tok);
    p->tag = tok;
    const struct row *row = find_row(&tok);
    p->unknown = row == NULL;
    if (row == NULL) {
        const char *near = tw_nearest(&tok, rows, TW_COUNT(rows), sizeof rows[0]);
        const bool comment = tok.p[0] == '#' || (tok.n > 1 && memcmp(tok.p, "//", 2) == 0);
        tw_text_error(p->t, &tok, "unknown tag '%.*s'%s%s%s%s", (int)tok.n, tok.p, near ? ", did you mean '" : "",
                      near ? near : "", near ? "'?" : "", comment ? ": a comment begins with ';'" : "");
        const tw_tok_t meant = {.p = near, .n = near != NULL ? (uint32_t)strlen(near) : 0};
        const struct row *opens = near != NULL ? find_row(&meant) : NULL;
        if (opens != NULL && opens->where == W_TOP && opens->what == CALL) {
            close_record(p, true);
            p->lines = LINES_IGNORED; /* what would be inside it */
        }
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

static bool opens_data(const tw_tok_t *tok)
{
    const struct row *row = find_row(tok);
    return row != NULL && row->read == g_read_parameters;
}

static bool data_line(g_parser_t *p)
{
    if (p->lines == LINES_DATA) {
        return g_data_line(p);
    }
    if (p->lines == LINES_SCRIPT) {
        return g_script_data_line(p);
    }
    const bool ok = p->lines == LINES_CODE ? g_code_line(p) : g_pool_line(p);
    p->code = ok || p->code == CODE_NONE ? p->code : CODE_REFUSED; /* what is left would only repeat the error */
    return ok;
}

static bool read_line(g_parser_t *p)
{
    tw_tok_t tok;
    (void)tw_text_peek(p->t, &tok);
    if (is_end(&tok) && (p->lines != LINES_SOURCE || tok.p[0] == '_')) { /* blocks of statements close with `end` */
        (void)tw_text_tok(p->t, &tok);
        return end_block(p);
    }
    if (p->lines != LINES_IGNORED && (tw_tok_is(&tok, "include") || tw_tok_is(&tok, "_include"))) {
        return read_tag(p);
    }
    switch (p->lines) {
    case LINES_TAGS:
        if (p->unknown && g_is_data(p->t)) {
            p->lines = LINES_IGNORED; /* up to its _end_ */
            tw_text_skip(p->t);
            return true;
        }
        break;
    case LINES_DATA:
    case LINES_SCRIPT:
    case LINES_CODE:
    case LINES_POOL:
        if ((p->lines == LINES_DATA || p->lines == LINES_SCRIPT) && opens_data(&tok)) { /* S0:L378-384 */
            g_warn(p->m, &p->block, "block without _end_, closed where the next begins");
            (void)end_block(p);
            break;
        }
        if (!g_is_data(p->t)) {
            tw_text_error(p->t, &tok, "expected a data line 'N type; values' or _end_, found '%.*s'", (int)tok.n,
                          tok.p);
            p->has_tag = true;
            return false;
        }
        return data_line(p);
    case LINES_ASM:
    case LINES_SOURCE:
        return g_asm_line(p);
    case LINES_FORMATS:
        return g_format_row(p);
    case LINES_INTERFACE:
        return g_interface_row(p);
    case LINES_MAPPING:
        return g_mapping_row(p);
    case LINES_TRACE:
        return g_trace_row(p);
    case LINES_NODE_NAME:
        return g_open_node(p);
    case LINES_SUBGRAPH:
        if (p->sub_lines < 2 || !is_tag(&tok)) {
            return g_subgraph_line(p);
        }
        p->lines = LINES_TAGS; /* the older text has no end there */
        break;
    case LINES_IGNORED:
        if (find_row(&tok) == NULL || find_row(&tok)->where > W_MAIN) {
            tw_text_skip(p->t);
            return true;
        }
        p->lines = LINES_TAGS;
        break;
    }
    return is_rule(&tok) || read_tag(p);
}

static bool too_many(const g_parser_t *p)
{
    return p->m->diags->errors >= TW_COUNT(p->m->diags->rows);
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
        if (too_many(p)) {
            tw_diag(p->m->diags, false, p->t->file, p->t->line, 0, "too many errors, the rest was not read");
            return;
        }
    }
    p->t = &p->stack[0];
    if (p->lines == LINES_SUBGRAPH) {
        (void)g_subgraph_end(p);
    } else if (p->lines != LINES_TAGS && p->lines != LINES_IGNORED) {
        g_error(p->m, &p->block, "block without _end_");
    } else if (p->in == IN_NODE || p->in == IN_SCRIPT) {
        close_record(p, false);
    }
}

/* ---- scopes ---------------------------------------------------------------------------------------- */

static bool refused_before(const g_parser_t *p, uint32_t scope)
{
    for (uint32_t i = 0; i < scope; i++) {
        if (p->locals[i].refused && p->locals[i].text == p->locals[scope].text) {
            return true;
        }
    }
    return false;
}

/* One text, with all it includes. The sub-graphs it names are added behind it and read in their turn. */
static void read_scope(g_parser_t *p, uint32_t scope)
{
    g_model_t *m = p->m;
    const unsigned errors = m->diags->errors;
    g_local_t *l = &p->locals[scope];
    p->scope = scope;
    p->in = IN_TOP;
    p->lines = LINES_TAGS;
    p->script = G_NONE;
    p->depth = 0;
    memset(p->has_path, 0, sizeof p->has_path);
    l->first_format = m->n_formats;
    l->first_node = m->n_nodes;
    l->first_arc = m->n_arcs;
    l->first_script = m->n_scripts;
    tw_path_dir(p->dir, sizeof p->dir, m->scopes[scope].file);
    if (!refused_before(p, scope) && g_open_text(p, NULL, p->locals[scope].text, m->scopes[scope].file)) {
        read_all(p);
    }
    g_close_scope(p);
    p->locals[scope].refused = m->diags->errors > errors; /* `l` may have moved */
}

static void free_parser(g_parser_t *p)
{
    free(p->locals);
    free(p->traces);
    free(p->script_data);
    free(p->script_bytes);
    free(p->asm_pos);
    free(p->asm_text);
    free(p->data);
    free(p->literals);
}

bool g_parse(g_model_t *m, const char *path, const tw_text_source_t *src)
{
    const unsigned errors = m->diags->errors;
    g_parser_t p = {.m = m, .src = src, .script = G_NONE};
    m->control = (g_control_t){.sched_return = 3, .processors = 1, .trace_io = G_NONE};
    const uint32_t text = strlen(path) < sizeof p.dir ? g_load_text(&p, path) : G_NONE;
    if (text == G_NONE || g_add_scope(&p, 0, text, &(g_pos_t){.file = path}) == G_NONE) {
        char near[80];
        tw_diag(m->diags, false, path, 0, 0, "cannot read the graph '%s'%s", path,
                tw_text_near(src, path, near, sizeof near));
        free_parser(&p);
        return false;
    }
    for (uint32_t i = 0; i < m->n_scopes && !too_many(&p); i++) {
        read_scope(&p, i);
        if (m->syntax_only) {
            free_parser(&p);
            return m->diags->errors == errors;
        }
    }
    bool ok = m->diags->errors == errors;
    if (ok) {
        g_look_up(&p);
    }
    if (m->diags->errors == errors) {
        g_join(&p);
        g_apply_trace(&p);
    }
    /* sub-graphs that were not joined are no graph for the passes that follow */
    ok = ok && (m->n_scopes == 1 || m->diags->errors == errors);
    free_parser(&p);
    return ok;
}
