/* manifest_platform.c - the top manifest and the processor and memory map: which files make a platform.
 *
 * The platform id is the CRC-32C of the canonical text of everything an image
 * depends on: memory map, IO rows and IO manifests. Node manifests are not part
 * of it: nodes are bound by hash and version.
 */
#include "engine/base/bytes.h"
#include "engine/base/crc.h"
#include "engine/board/manifest_lex.h"
#include <stdio.h>
#include <stdlib.h>

#define PATHS_MAX 16
#define IOS_MAX 256
#define NODES_MAX 1024

typedef struct reader {
    tw_platform_t *p;
    tw_text_t t; /* of the top manifest */
    const tw_text_source_t *src;
    tw_diags_t *d;
    char dir[256]; /* of the top manifest */
    char paths[PATHS_MAX][256];
    unsigned n_paths;
} reader_t;

static void crc_more(void *ctx, const char *p, size_t n)
{
    uint32_t *crc = ctx;
    *crc = tw_crc32c(*crc, p, n);
}

/* ---- processor and memory map ------------------------------------------------ */

static bool take_u(tw_text_t *t, const char *what, uint32_t hi, uint32_t *v)
{
    int64_t got;
    if (!tw_take_int(t, what, 0, hi, &got)) {
        return false;
    }
    *v = (uint32_t)got;
    return true;
}

static bool read_bank(tw_platform_t *p, tw_text_t *t)
{
    uint32_t id, vid, speed, type, priv, dma, prog;
    tw_bank_manifest_t b;
    tw_tok_t at;
    (void)tw_text_peek(t, &at);
    if (!take_u(t, "base offset ID", 15, &id) || !take_u(t, "VID", 254, &vid) || !take_u(t, "speed S", 3, &speed) ||
        !take_u(t, "type W", 2, &type) || !take_u(t, "private P", 1, &priv) || !take_u(t, "DMA H", 1, &dma) ||
        !take_u(t, "program D", 2, &prog) || !take_u(t, "size", 0xFFFFFFFFu, &b.bytes) ||
        !take_u(t, "offset", 0xFFFFFFFFu, &b.offset)) {
        return false;
    }
    b.id = (uint8_t)id;
    b.vid = (uint8_t)vid;
    b.speed = (uint8_t)speed;
    b.type = (uint8_t)(type == 2 ? 3 : type); /* text 2 retention, image 3 */
    b.is_private = (uint8_t)priv;
    b.dma = (uint8_t)dma;
    b.prog = (uint8_t)prog;
    for (unsigned i = 0; i < p->n_banks; i++) {
        if (p->banks[i].vid == b.vid) {
            tw_text_error(t, &at, "VID %u is declared twice", b.vid);
            return false;
        }
    }
    if (p->n_banks >= TW_COUNT(p->banks)) {
        tw_text_error(t, &at, "more than %zu memory banks", TW_COUNT(p->banks));
        return false;
    }
    p->banks[p->n_banks++] = b;
    return true;
}

static bool read_processor(tw_platform_t *p, tw_text_t *t)
{
    uint32_t id, is_main, services;
    tw_tok_t at;
    (void)tw_text_peek(t, &at);
    if (!take_u(t, "processor ID", 32, &id) || !take_u(t, "main processor", 1, &is_main) ||
        !take_u(t, "services", 0xFFFFFFFFu, &services)) {
        return false;
    }
    if (id == 0) {
        tw_text_error(t, &at, "processor IDs begin at 1");
        return false;
    }
    p->processors |= 1u << (id - 1);
    if (is_main) {
        p->services = services;
    }
    return true;
}

static bool next_line(tw_text_t *t, const char *what)
{
    if (!tw_text_line(t)) {
        tw_diag(t->diags, false, t->file, t->line, 0, "file ends, expected %s", what);
        return false;
    }
    return true;
}

bool tw_procmap_parse(tw_platform_t *p, tw_text_t *t)
{
    uint32_t archs, procs, banks;
    if (!next_line(t, "number of architectures, processors and banks") ||
        !take_u(t, "number of architectures", 16, &archs) || !take_u(t, "number of processors", 32, &procs) ||
        !take_u(t, "number of banks", 16, &banks)) {
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < banks; i++) {
        if (!next_line(t, "a memory bank")) {
            return false;
        }
        ok &= read_bank(p, t);
    }
    for (uint32_t i = 0; i < procs; i++) {
        if (!next_line(t, "a processor")) {
            return false;
        }
        ok &= read_processor(p, t);
    }
    return ok;
}

/* ---- top manifest -------------------------------------------------------------- */

/* Take "path-index file" and open that file. @return its text, or NULL after an error */
static char *open_named(reader_t *r, tw_text_t *text, char *path, size_t size)
{
    uint32_t index;
    tw_tok_t tok;
    char file[200];
    size_t n = 0;
    if (!take_u(&r->t, "path index", r->n_paths - 1, &index)) {
        return NULL;
    }
    if (!tw_text_tok(&r->t, &tok) || !tw_tok_copy(&tok, file, sizeof file)) {
        tw_text_error(&r->t, &tok, "expected a file name");
        return NULL;
    }
    char *body = tw_path_join(path, size, r->paths[index], file) ? r->src->read(r->src->ctx, path, &n) : NULL;
    if (body == NULL) {
        tw_text_error(&r->t, &tok, "cannot read '%s'", path);
        return NULL;
    }
    tw_text_open(text, path, body, n, r->d);
    return body;
}

static bool read_paths(reader_t *r)
{
    uint32_t n;
    if (!next_line(&r->t, "number of paths") || !take_u(&r->t, "number of paths", PATHS_MAX, &n)) {
        return false;
    }
    if (n == 0) {
        tw_text_error(&r->t, NULL, "there must be a path");
        return false;
    }
    for (; r->n_paths < n; r->n_paths++) {
        tw_tok_t tok;
        char text[200];
        if (!next_line(&r->t, "a path")) {
            return false;
        }
        (void)tw_text_tok(&r->t, &tok);
        if (!tw_tok_copy(&tok, text, sizeof text) ||
            !tw_path_join(r->paths[r->n_paths], sizeof r->paths[0], r->dir, text)) {
            tw_text_error(&r->t, &tok, "path too long");
            return false;
        }
    }
    return true;
}

static bool read_procmap(reader_t *r)
{
    char path[256];
    tw_text_t text;
    if (!next_line(&r->t, "processor and memory map")) {
        return false;
    }
    char *body = open_named(r, &text, path, sizeof path);
    if (body == NULL) {
        return false;
    }
    text.canon = crc_more;
    text.canon_ctx = &r->p->id;
    const bool ok = tw_procmap_parse(r->p, &text);
    free(body);
    return ok;
}

static bool read_io(reader_t *r, tw_io_manifest_t *io)
{
    char path[256];
    tw_text_t text;
    uint32_t hwid = 0, proc = 1, clock = 0;
    tw_tok_t at;
    char *body = open_named(r, &text, path, sizeof path);
    if (body == NULL) {
        return false;
    }
    (void)tw_text_peek(&r->t, &at);
    r->t.canon = text.canon = crc_more;
    r->t.canon_ctx = text.canon_ctx = &r->p->id;
    bool ok = take_u(&r->t, "IO index", 0xFFFF, &hwid) && take_u(&r->t, "processor mask", 0xFF, &proc) &&
              take_u(&r->t, "clock domain", 15, &clock);
    r->t.canon = NULL;
    ok &= tw_io_manifest_parse(io, &text);
    free(body);
    io->hwid = hwid;
    io->proc_mask = (uint8_t)proc;
    io->clock_domain = (uint8_t)clock;
    for (const tw_io_manifest_t *o = r->p->ios; ok && o < io; o++) {
        if (o->hwid == hwid) {
            tw_text_error(&r->t, &at, "IO index %u is used by '%s' already", hwid, o->name);
            ok = false;
        }
    }
    return ok;
}

static bool read_ios(reader_t *r)
{
    uint32_t n;
    if (!next_line(&r->t, "number of IOs") || !take_u(&r->t, "number of IOs", IOS_MAX, &n)) {
        return false;
    }
    r->p->ios = calloc(n > 0 ? n : 1, sizeof *r->p->ios);
    bool ok = r->p->ios != NULL;
    for (uint32_t i = 0; r->p->ios != NULL && i < n; i++) {
        if (!next_line(&r->t, "an IO manifest")) {
            return false;
        }
        ok &= read_io(r, &r->p->ios[i]);
        r->p->n_ios = i + 1;
    }
    return ok;
}

static bool read_nodes(reader_t *r)
{
    uint32_t n;
    if (!next_line(&r->t, "number of nodes") || !take_u(&r->t, "number of nodes", NODES_MAX, &n)) {
        return false;
    }
    r->p->nodes = calloc(n > 0 ? n : 1, sizeof *r->p->nodes);
    bool ok = r->p->nodes != NULL;
    for (uint32_t i = 0; r->p->nodes != NULL && i < n; i++) {
        char path[256];
        tw_text_t text;
        if (!next_line(&r->t, "a node manifest")) {
            return false;
        }
        char *body = open_named(r, &text, path, sizeof path);
        ok &= body != NULL && tw_node_manifest_parse(&r->p->nodes[i], &text);
        free(body);
        r->p->n_nodes = i + 1;
    }
    return ok;
}

bool tw_platform_read_from(tw_platform_t *p, const char *path, const tw_text_source_t *src, tw_diags_t *d)
{
    *p = (tw_platform_t){0};
    reader_t r = {.p = p, .src = src, .d = d};
    size_t n = 0;
    char *body = strlen(path) < sizeof p->path ? src->read(src->ctx, path, &n) : NULL;
    if (body == NULL) {
        tw_diag(d, false, path, 0, 0, "cannot read the top manifest '%s'", path);
        return false;
    }
    snprintf(p->path, sizeof p->path, "%s", path);
    tw_path_dir(r.dir, sizeof r.dir, path);
    tw_text_open(&r.t, p->path, body, n, d);
    const unsigned errors = d->errors;
    const bool ok = read_paths(&r) && read_procmap(&r) && read_ios(&r) && read_nodes(&r);
    free(body);
    if (!ok || d->errors != errors) {
        tw_platform_free(p);
        return false;
    }
    return true;
}

bool tw_platform_read(tw_platform_t *p, const char *path, tw_diags_t *d)
{
    return tw_platform_read_from(p, path, &tw_text_files, d);
}

void tw_platform_free(tw_platform_t *p)
{
    free(p->ios);
    free(p->nodes);
    *p = (tw_platform_t){0};
}
