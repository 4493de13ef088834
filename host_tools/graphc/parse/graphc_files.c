/* graphc_files.c - the files of a graph: found in their folder or where -I says, and each kept once. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdlib.h>

static bool keep(g_model_t *m, char *text, char *name, size_t size, uint32_t *map)
{
    const uint32_t n = m->n_texts;
    if ((n >= m->cap_texts && !g_grow(&m->texts, n, &m->cap_texts, sizeof *m->texts)) ||
        (n >= m->cap_names && !g_grow(&m->names, n, &m->cap_names, sizeof *m->names)) ||
        (n >= m->cap_sizes && !g_grow(&m->sizes, n, &m->cap_sizes, sizeof *m->sizes)) ||
        (n >= m->cap_line_maps && !g_grow(&m->line_maps, n, &m->cap_line_maps, sizeof *m->line_maps))) {
        return false;
    }
    m->texts[n] = text;
    m->names[n] = name;
    m->sizes[n] = size;
    m->line_maps[n] = map;
    m->n_texts++;
    return true;
}

static uint32_t find(const g_model_t *m, const char *path)
{
    for (uint32_t i = 0; i < m->n_texts; i++) {
        if (strcmp(m->names[i], path) == 0) {
            return i;
        }
    }
    return G_NONE;
}

uint32_t g_load_text(g_parser_t *p, const char *path)
{
    g_model_t *m = p->m;
    const size_t size = strlen(path) + 1;
    const uint32_t known = find(m, path);
    size_t n = 0;
    if (known != G_NONE) {
        return known;
    }
    uint32_t *map = NULL;
    char *text = p->src->read(p->src->ctx, path, &n);
    char *name = text != NULL ? malloc(size) : NULL;
    if (name != NULL) {
        memcpy(name, path, size);
        (void)g_translate(name, &text, &n, &map, m->diags);
    }
    if (name == NULL || !keep(m, text, name, n, map)) {
        free(text);
        free(name);
        free(map);
        return G_NONE;
    }
    return m->n_texts - 1;
}

/* In its own folder, then in each of -I. */
static uint32_t look_for(g_parser_t *p, const char *dir, const char *file)
{
    char path[256];
    uint32_t text = tw_path_join(path, sizeof path, dir, file) ? g_load_text(p, path) : G_NONE;
    for (unsigned i = 0; text == G_NONE && i < p->m->n_include_dirs; i++) {
        if (tw_path_join(path, sizeof path, p->m->include_dirs[i], file)) {
            text = g_load_text(p, path);
        }
    }
    return text;
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

uint32_t g_take_file(g_parser_t *p, tw_tok_t *tok)
{
    uint32_t i;
    char file[200], path[256];
    if (!g_take_u32(p, "path index", 0, (int64_t)TW_COUNT(p->paths) - 1, &i) || !g_take_word(p, "a file name", tok)) {
        return G_NONE;
    }
    if (p->m->syntax_only) {
        return 0;
    }
    if (i > 0 && !p->has_path[i]) {
        tw_text_error(p->t, tok, "path %u is not declared: set_file_path %u FOLDER", i, i);
        return G_NONE;
    }
    const char *dir = p->has_path[i] ? p->paths[i] : p->dir;
    if (!tw_tok_copy(tok, file, sizeof file) || !tw_path_join(path, sizeof path, dir, file)) {
        (void)g_fail(p, tok, "path too long");
        return G_NONE;
    }
    if (leaves_folder(file)) {
        (void)g_fail(p, tok, "a file name stays inside the folder its index names");
        return G_NONE;
    }
    if (p->m->n_texts >= G_TEXTS_MAX) {
        tw_text_error(p->t, tok, "more than %u files", G_TEXTS_MAX);
        return G_NONE;
    }
    const uint32_t text = look_for(p, dir, file);
    if (text == G_NONE) {
        char near[80];
        tw_text_error(p->t, tok, "cannot read '%s'%s", path, tw_text_near(p->src, path, near, sizeof near));
        for (unsigned k = 0; k < p->m->n_include_dirs; k++) {
            g_note(p->m, &(g_pos_t){.file = p->m->include_dirs[k]}, "nor in this folder");
        }
    }
    return text;
}
