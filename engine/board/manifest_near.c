/* manifest_near.c - the file that a person meant by a name that is none. Host only. */
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
