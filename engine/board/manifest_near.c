/* manifest_near.c - what a person meant by a name that is none: a file, or a word of a table. Host only. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <dirent.h>
#include <stdio.h>

enum { NAMES_MAX = 512, NAME_BYTES = 41 }; /* tw_nearest() compares no longer ones */

typedef struct names {
    const char *rows[NAMES_MAX];
    char text[NAMES_MAX][NAME_BYTES];
    size_t n;
} names_t;

/* A name that fits; longer ones are not near to anything. */
static void keep(names_t *names, const char *name)
{
    const size_t n = strlen(name);
    if (names->n < NAMES_MAX && n < NAME_BYTES && name[0] != '.') {
        memcpy(names->text[names->n], name, n + 1);
        names->rows[names->n] = names->text[names->n];
        names->n++;
    }
}

const char *tw_text_near(const tw_text_source_t *src, const char *path, char *out, size_t size)
{
    char dir[256];
    out[0] = 0;
    if (src->read != tw_text_files.read || strlen(path) >= sizeof dir) {
        return out; /* only folders of the disk can be listed */
    }
    tw_path_dir(dir, sizeof dir, path);
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    DIR *d = opendir(dir);
    if (d == NULL) {
        snprintf(out, size, ": there is no folder '%s'", dir);
        return out;
    }
    static names_t names; /* large, and one thread compiles */
    names.n = 0;
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        keep(&names, e->d_name);
    }
    closedir(d);
    const tw_tok_t tok = {.p = name, .n = (uint32_t)strlen(name)};
    const char *near = tw_nearest(&tok, names.rows, names.n, sizeof names.rows[0]);
    if (near != NULL && strcmp(near, name) != 0) {
        snprintf(out, size, ", did you mean '%s'?", near);
    } else if (near == NULL) {
        snprintf(out, size, ": there is no such file");
    }
    return out;
}

const char *tw_nearest_name(const tw_tok_t *tok, tw_name_fn names)
{
    const char *words[2 * TW_UNIT_COUNT];
    size_t n = 0;
    for (uint32_t i = 0; i < TW_UNIT_COUNT; i++) {
        const char *text = names == tw_raw_find                                  ? tw_raw_name(i)
                           : names == tw_domain_find                             ? tw_domain_text(i)
                           : names == tw_unit_find || names == tw_unit_find_name ? tw_unit_text(i)
                                                                                 : NULL;
        if (text != NULL) {
            words[n++] = text;
        }
        if (names == tw_unit_find_name) {
            words[n++] = tw_unit_name(i);
        }
    }
    return n > 0 && tok->n > 2 ? tw_nearest(tok, words, n, sizeof words[0]) : NULL;
}
