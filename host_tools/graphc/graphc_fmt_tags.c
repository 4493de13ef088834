/* graphc_fmt_tags.c - the tables of tags as the formatter needs them: spelling, place, arguments. */
#include "host_tools/graphc/graphc_fmt.h"

enum {
    W_TOP = G_AT_TOP,
    W_MAIN = G_AT_TOP,
    W_FORMAT = G_AT_FORMAT,
    W_IO = G_AT_IO,
    W_NODE = G_AT_NODE,
    W_CODE = G_AT_CODE,
    W_ARC = G_AT_ARC,
    W_ANY = G_AT_ANY
};

static const g_fmt_row_t graph_rows[] = {
#define TW_GRAPH_INT(tag, where, field, lo, hi, dflt, text) {#tag, #tag, "number", W_##where, false},
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) {#tag, #tag, args, W_##where, false},
#define TW_GRAPH_SKIP(tag, where, args, dflt, text) {#tag, #tag, "", W_##where, true},
#define TW_GRAPH_ALIAS(alias, tag, text) {#alias, #tag, NULL, 0, false},
#include "host_tools/graphc/graph_tags.def"
};

static const g_fmt_row_t node_rows[] = {
#define TW_NODE_FIELD(tag, field, lo, hi, dflt, text) {#tag, #tag, "number", G_AT_TOP, false},
#define TW_NODE_CALL(tag, reader, args, dflt, text) {#tag, #tag, args, G_AT_TOP, false},
#define TW_NODE_SKIP(tag, args, dflt, text) {#tag, #tag, args, G_AT_TOP, true},
#include "engine/board/manifest_tags.def"
};

static const g_fmt_row_t io_rows[] = {
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text) {#tag, #tag, "number", G_AT_TOP, false},
#define TW_IO_CALL(tag, reader, args, dflt, text) {#tag, #tag, args, G_AT_TOP, false},
#include "engine/board/manifest_tags.def"
};

static const g_fmt_row_t *find(const g_fmt_row_t *rows, size_t count, const tw_tok_t *tok)
{
    for (size_t i = 0; i < count; i++) {
        if (tw_tok_is(tok, rows[i].tag)) {
            return &rows[i];
        }
    }
    return NULL;
}

const g_fmt_row_t *g_fmt_find(tw_manifest_kind_t kind, const g_slice_t *word)
{
    const tw_tok_t tok = {word->p, word->n, 0};
    if (kind != TW_KIND_GRAPH) {
        return kind == TW_KIND_NODE ? find(node_rows, TW_COUNT(node_rows), &tok)
               : kind == TW_KIND_IO ? find(io_rows, TW_COUNT(io_rows), &tok)
                                    : NULL;
    }
    const g_fmt_row_t *row = find(graph_rows, TW_COUNT(graph_rows), &tok);
    if (row == NULL || row->args != NULL) {
        return row;
    }
    const tw_tok_t same = {row->canonical, (uint32_t)strlen(row->canonical), 0};
    return find(graph_rows, TW_COUNT(graph_rows), &same);
}
