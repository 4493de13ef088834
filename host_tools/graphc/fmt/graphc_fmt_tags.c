/* graphc_fmt_tags.c - the tables of tags as the formatter needs them: spelling, place, arguments. */
#include "host_tools/graphc/fmt/graphc_fmt.h"

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
#define TW_GRAPH_INT(tag, where, field, lo, hi, dflt, text) {#tag, #tag, "number", NULL, W_##where, false},
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) {#tag, #tag, args, NULL, W_##where, false},
#define TW_GRAPH_ALIAS(alias, tag, text) {#alias, #tag, NULL, NULL, 0, false},
#include "host_tools/graphc/graph_tags.def"
};

static const g_fmt_row_t node_rows[] = {
#define TW_NODE_FIELD(tag, field, lo, hi, dflt, text) {#tag, #tag, "number", NULL, G_AT_TOP, false},
#define TW_NODE_CALL(tag, reader, args, dflt, text) {#tag, #tag, args, #reader, G_AT_TOP, false},
#include "engine/board/manifest_tags.def"
};

/* A value of a PROSE row that is no option set is text. */
static const g_fmt_row_t io_rows[] = {
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text) {#tag, #tag, "number", NULL, G_AT_TOP, false},
#define TW_IO_CALL(tag, reader, args, dflt, text) {#tag, #tag, args, #reader, G_AT_TOP, false},
#define TW_IO_SET(tag, names, lo, hi, unit, dflt, text) {tag, tag, "options", NULL, G_AT_TOP, false},
#define TW_IO_SWITCH(tag, text) {tag, tag, "number", NULL, G_AT_TOP, false},
#define TW_IO_PROSE(tag, names, lo, hi, unit, dflt, text) {tag, tag, "options or text", NULL, G_AT_TOP, false},
#define TW_IO_TEXT(tag, args, dflt, text) {tag, tag, "...", NULL, G_AT_TOP, true},
#define TW_IO_ALIAS(alias, tag) {alias, tag, NULL, NULL, G_AT_TOP, false},
#include "engine/board/manifest_tags.def"
};

/* Words of `tag` when the line begins with them, else 0. */
static uint32_t words_of(const char *tag, const g_slice_t *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const size_t len = strcspn(tag, " ");
        if (len != w[i].n || memcmp(tag, w[i].p, len) != 0) {
            return 0;
        }
        if (tag[len] == 0) {
            return i + 1;
        }
        tag += len + 1;
    }
    return 0;
}

/* The row of most words; an alias gives the row it stands for. */
static const g_fmt_row_t *find(const g_fmt_row_t *rows, size_t count, const g_slice_t *w, uint32_t n, uint32_t *used)
{
    const g_fmt_row_t *best = NULL;
    *used = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t words = words_of(rows[i].tag, w, n);
        if (words > *used) {
            *used = words;
            best = &rows[i];
        }
    }
    for (size_t i = 0; best != NULL && best->args == NULL && i < count; i++) {
        if (rows[i].args != NULL && strcmp(rows[i].tag, best->canonical) == 0) {
            best = &rows[i];
        }
    }
    for (size_t i = 0; best != NULL && best->reader != NULL && i < count; i++) {
        if (rows[i].reader != NULL && strcmp(rows[i].reader, best->reader) == 0) {
            return &rows[i];
        }
    }
    return best;
}

const g_fmt_row_t *g_fmt_find(tw_manifest_kind_t kind, const g_slice_t *w, uint32_t n, uint32_t *used)
{
    *used = 0;
    return kind == TW_KIND_GRAPH  ? find(graph_rows, TW_COUNT(graph_rows), w, n, used)
           : kind == TW_KIND_NODE ? find(node_rows, TW_COUNT(node_rows), w, n, used)
           : kind == TW_KIND_IO   ? find(io_rows, TW_COUNT(io_rows), w, n, used)
                                  : NULL;
}
