/* graphc_parse_control.c - tags of the graph itself: its location, paths and includes, banks. */
#include "host_tools/graphc/graphc_parse_priv.h"

bool g_read_nothing(g_parser_t *p)
{
    (void)p;
    return true;
}

bool g_read_arc_section(g_parser_t *p)
{
    p->in = IN_TOP;
    return true;
}

bool g_read_graph_name(g_parser_t *p)
{
    tw_tok_t tok;
    return g_take_symbol(p, &tok) && tw_tok_copy(&tok, p->m->control.name, sizeof p->m->control.name);
}

bool g_read_graph_locations(g_parser_t *p)
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

bool g_read_set_file_path(g_parser_t *p)
{
    uint32_t i;
    tw_tok_t tok;
    char text[200];
    if (!g_take_u32(p, "path index", 0, (int64_t)TW_COUNT(p->paths) - 1, &i) || !g_take_word(p, "a path", &tok)) {
        return false;
    }
    if (tok.p[0] == '/') {
        return g_fail(p, &tok, "a path is relative to the graph's folder");
    }
    if (!tw_tok_copy(&tok, text, sizeof text) || !tw_path_join(p->paths[i], sizeof p->paths[i], p->dir, text)) {
        return g_fail(p, &tok, "path too long");
    }
    p->has_path[i] = true;
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

bool g_read_include(g_parser_t *p)
{
    uint32_t i;
    tw_tok_t tok;
    char file[200], path[256];
    if (!g_take_u32(p, "path index", 0, (int64_t)TW_COUNT(p->paths) - 1, &i) || !g_take_word(p, "a file name", &tok)) {
        return false;
    }
    if (i > 0 && !p->has_path[i]) {
        tw_text_error(p->t, &tok, "path %u is not declared: set_file_path %u FOLDER", i, i);
        return false;
    }
    if (!tw_tok_copy(&tok, file, sizeof file) ||
        !tw_path_join(path, sizeof path, p->has_path[i] ? p->paths[i] : p->dir, file)) {
        return g_fail(p, &tok, "path too long");
    }
    if (leaves_folder(file)) {
        return g_fail(p, &tok, "a file name stays inside the folder its index names");
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
        return g_fail(p, &tok, "more than 256 files");
    }
    const tw_text_t *from = p->t;
    if (!g_open_text(p, path)) {
        tw_text_error(p->t, &tok, "cannot read '%s'", path);
        return false;
    }
    tw_diag_origin(p->m->diags, p->t->file, from->file, from->line, tok.col, "included here");
    return true;
}

bool g_read_memory_mapping(g_parser_t *p)
{
    g_model_t *m = p->m;
    uint32_t orig, vid;
    g_map_t map = {.pos = g_here(p, &p->tag)};
    if (!g_take_u32(p, "VID", 0, 254, &orig) || !g_take_u32(p, "new VID", 0, 254, &vid) ||
        !g_take_u32(p, "start", 0, 0xFFFFFFFF, &map.start) || !g_take_u32(p, "length", 1, 0xFFFFFFFF, &map.bytes)) {
        return false;
    }
    if (map.start % 4 != 0 || map.bytes % 4 != 0) {
        return g_fail(p, NULL, "start and length are multiples of 4");
    }
    if (m->n_maps >= m->cap_maps && !g_grow(&m->maps, m->cap_maps, &m->cap_maps, sizeof *m->maps)) {
        return g_fail(p, NULL, "out of memory");
    }
    map.orig = (uint8_t)orig;
    map.vid = (uint8_t)vid;
    m->maps[m->n_maps++] = map;
    return true;
}

bool g_read_subgraph(g_parser_t *p)
{
    g_start(p, IN_TOP);
    p->lines = LINES_IGNORED;
    return g_fail(p, NULL, "sub-graphs are not supported yet");
}
