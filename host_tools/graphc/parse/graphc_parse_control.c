/* graphc_parse_control.c - tags of the graph itself: its location, paths and includes, banks. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

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
    g_local_here(p)->later = true;
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

bool g_read_include(g_parser_t *p)
{
    tw_tok_t tok;
    const uint32_t text = g_take_file(p, &tok);
    if (text == G_NONE || p->m->syntax_only) {
        p->has_tag = p->unread = true; /* as far as can be told */
        return text != G_NONE;
    }
    for (unsigned k = 0; k < p->depth; k++) {
        if (strcmp(p->stack[k].file, p->m->names[text]) == 0) {
            tw_text_error(p->t, &tok,
                          k + 1 == p->depth ? "'%s' includes itself" : "'%s' is included by itself, by way of others",
                          p->m->names[text]);
            return false;
        }
    }
    if (p->depth > G_INCLUDE_MAX) {
        tw_text_error(p->t, &tok, "more than %u includes inside one another", G_INCLUDE_MAX);
        return false;
    }
    const tw_text_t *from = p->t;
    if (!g_open_text(p, &tok, text, p->m->names[text])) {
        return false;
    }
    tw_diag_origin(p->m->diags, p->t->file, from->file, from->line, tok.col, "included here");
    return true;
}

bool g_read_debug_script(g_parser_t *p)
{
    return g_take_u32(p, "script", 0, G_SCRIPTS_MAX - 1, &p->m->control.debug_by);
}

bool g_read_dialect(g_parser_t *p)
{
    const g_model_t *m = p->m;
    g_local_t *l = g_local_here(p);
    uint32_t year;
    if (!g_take_u32(p, "graph_dialect", 2024, 2025, &year)) {
        return false;
    }
    if (m->n_formats > l->first_format) {
        (void)g_fail(p, NULL, "graph_dialect stands before the first format");
        g_note(p->m, &m->formats[l->first_format].pos, "this one was read already");
        return false;
    }
    l->dialect = year;
    return true;
}

#define MAPS_MAX 254u /* a VID each */

/* VID new-VID start bytes */
bool g_mapping_row(g_parser_t *p)
{
    g_model_t *m = p->m;
    uint32_t orig, vid;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    g_map_t map = {.pos = g_here(p, p->lines == LINES_MAPPING ? &at : &p->tag)};
    if (!g_take_u32(p, "VID", 0, 254, &orig) || !g_take_u32(p, "new VID", 0, 254, &vid) ||
        !g_take_u32(p, "start", 0, 0xFFFFFFFF, &map.start) || !g_take_u32(p, "length", 1, 0xFFFFFFFF, &map.bytes)) {
        return false;
    }
    if (map.start % 4 != 0 || map.bytes % 4 != 0) {
        g_error(m, &map.pos, "start and length are multiples of 4");
        return false;
    }
    if (m->n_maps >= MAPS_MAX) {
        g_error(m, &map.pos, "more than %u parts of banks", MAPS_MAX);
        return false;
    }
    if (m->n_maps >= m->cap_maps && !g_grow(&m->maps, m->cap_maps, &m->cap_maps, sizeof *m->maps)) {
        return g_fail(p, NULL, "out of memory");
    }
    map.orig = (uint8_t)orig;
    map.vid = (uint8_t)vid;
    m->maps[m->n_maps++] = map;
    return true;
}

bool g_read_memory_mapping(g_parser_t *p)
{
    return g_mapping_row(p);
}

bool g_read_mapping_rows(g_parser_t *p)
{
    g_start(p, IN_TOP);
    p->lines = LINES_MAPPING;
    return true;
}
