/* manifest_platform.c - the top manifest: which files make a platform. Four layouts:
 *
 *   paths, processor and memory map, IOs, number of nodes, nodes
 *   the same without a number of nodes: rows to the end
 *   paths, processors and shared memory, then of each processor its memory and IOs, then nodes to the end
 *   the first generation's list of files: paths, platform manifest, IOs, nodes, IO of each domain
 *
 * The platform id is the CRC-32C of the canonical text of everything an image
 * depends on: memory map, IO rows and IO manifests. Node manifests are not part
 * of it: nodes are bound by hash and version.
 */
#include "engine/base/bytes.h"
#include "engine/base/crc.h"
#include "engine/board/manifest_priv.h"
#include <stdio.h>
#include <stdlib.h>

#define PATHS_MAX 16
#define IOS_MAX 256
#define NODES_MAX 1024
#define UP_MAX 6u /* folders above the manifest's that a path of another root is tried in */

typedef struct reader {
    tw_platform_t *p;
    tw_text_t t; /* of the top manifest */
    const tw_text_source_t *src;
    tw_diags_t *d;
    char dir[256];              /* of the top manifest */
    char paths[PATHS_MAX][200]; /* as written */
    unsigned path_line[PATHS_MAX];
    unsigned n_paths;
    unsigned cap_ios, cap_nodes;
    bool lenient; /* IO manifests may be missing */
    bool root_said;
} reader_t;

static void crc_more(void *ctx, const char *p, size_t n)
{
    uint32_t *crc = ctx;
    *crc = tw_crc32c(*crc, p, n);
}

/* Words of this row are part of the platform's identity from here to the end of the line. */
static void hash_row(reader_t *r, bool on)
{
    r->t.canon = on ? crc_more : NULL;
    r->t.canon_ctx = &r->p->id;
}

/* Room for one more row of an array that starts empty; its new part is zero. */
static void *grown(void *array, unsigned n, unsigned *cap, unsigned most, size_t size)
{
    if (n < *cap) {
        return array;
    }
    const unsigned room = *cap > 0 ? *cap * 2 : 8;
    if (n >= most) {
        return NULL;
    }
    char *more = realloc(array, room * size);
    if (more != NULL) {
        memset(more + n * size, 0, (room - n) * size);
        *cap = room;
    }
    return more;
}

/* ---- files ------------------------------------------------------------------------- */

/* Public manifests write paths from the folder they are built in: try the folders above the manifest's. */
static char *read_above(reader_t *r, const char *path, const char *file, char *full, size_t size, size_t *n)
{
    char up[256], dir[480];
    const char *rest = path;
    while (strncmp(rest, "../", 3) == 0) {
        rest += 3;
    }
    snprintf(up, sizeof up, "%s", r->dir);
    for (unsigned i = 0; rest != path && i < UP_MAX; i++) {
        char next[256];
        if (!tw_path_join(next, sizeof next, up, "..") || !tw_path_join(dir, sizeof dir, next, rest) ||
            !tw_path_join(full, size, dir, file)) {
            break;
        }
        char *body = r->src->read(r->src->ctx, full, n);
        if (body != NULL) {
            return body;
        }
        snprintf(up, sizeof up, "%s", next);
    }
    return NULL;
}

static char *read_path(reader_t *r, const char *path, const char *file, char *full, size_t size, size_t *n)
{
    char dir[480], first[256];
    if (!tw_path_join(dir, sizeof dir, r->dir, path) || !tw_path_join(first, sizeof first, dir, file)) {
        return NULL;
    }
    snprintf(full, size, "%s", first);
    char *body = r->src->read(r->src->ctx, full, n);
    if (body == NULL) {
        body = read_above(r, path, file, full, size, n);
        if (body != NULL && !r->root_said) {
            tw_text_warn(&r->t, NULL, "paths do not begin at this file's folder: '%s' is read from '%s'", file, full);
            r->root_said = true;
        }
    }
    if (body == NULL) {
        snprintf(full, size, "%s", first);
    }
    return body;
}

/* Take "path-index file" and open that file. What cannot be read is an error, or a warning that says what follows
 * from it. @return its text, or NULL after either */
static char *open_named(reader_t *r, tw_text_t *text, char *path, size_t size, const char *without)
{
    uint32_t index;
    tw_tok_t tok;
    char file[200];
    size_t n = 0;
    path[0] = 0;
    if (!tw_take_u32(&r->t, "path index", r->n_paths - 1, &index)) {
        return NULL;
    }
    if (!tw_text_tok(&r->t, &tok) || !tw_tok_copy(&tok, file, sizeof file)) {
        tw_text_error(&r->t, &tok, "expected a file name");
        return NULL;
    }
    char *body = read_path(r, r->paths[index], file, path, size, &n);
    char near[80];
    const char *meant = body == NULL ? tw_text_near(r->src, path, near, sizeof near) : "";
    if (body == NULL && without == NULL) {
        tw_text_error(&r->t, &tok, "cannot read '%s'%s", path, meant);
    } else if (body == NULL) {
        tw_text_warn(&r->t, &tok, "cannot read '%s'%s; %s", path, meant, without);
    }
    if (body == NULL) {
        tw_diag_note(r->d, r->t.file, r->path_line[index], 0, "path %u is '%s'", index, r->paths[index]);
    }
    if (body != NULL) {
        tw_text_open(text, path, body, n, r->d);
    }
    return body;
}

/* "path", or "index path" */
static bool read_path_row(reader_t *r, uint32_t n)
{
    tw_tok_t tok, next;
    uint64_t index = r->n_paths;
    if (!tw_text_need_line(&r->t, "a path")) {
        return false;
    }
    (void)tw_text_tok(&r->t, &tok);
    if (tw_tok_uint(&tok, &index) && tw_text_peek(&r->t, &next)) {
        (void)tw_text_tok(&r->t, &next);
        if (index >= n || r->path_line[index] != 0) {
            tw_text_error(&r->t, &tok, "path index %.*s, expected one of 0..%u that has no path yet", (int)tok.n, tok.p,
                          n - 1);
            return false;
        }
        tok = next;
    } else {
        index = r->n_paths;
    }
    if (!tw_tok_copy(&tok, r->paths[index], sizeof r->paths[0])) {
        tw_text_error(&r->t, &tok, "path too long");
        return false;
    }
    r->path_line[index] = r->t.line;
    r->n_paths++;
    return true;
}

static bool read_paths(reader_t *r)
{
    uint32_t n;
    if (!tw_text_need_line(&r->t, "number of paths") || !tw_take_u32(&r->t, "number of paths", PATHS_MAX, &n)) {
        return false;
    }
    if (n == 0) {
        tw_text_error(&r->t, NULL, "there must be a path");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!read_path_row(r, n)) {
            return false;
        }
    }
    return true;
}

static bool read_map(reader_t *r, bool (*parse)(tw_platform_t *, tw_text_t *))
{
    char path[256];
    tw_text_t text;
    if (!tw_text_need_line(&r->t, "processor and memory map")) {
        return false;
    }
    char *body = open_named(r, &text, path, sizeof path, NULL);
    if (body == NULL) {
        return false;
    }
    text.canon = crc_more;
    text.canon_ctx = &r->p->id;
    const bool ok = parse(r->p, &text);
    free(body);
    return ok;
}

/* ---- IOs ----------------------------------------------------------------------------- */

/* What the name of a missing manifest tells: "path/io_platform_line_out_0.txt". */
static bool io_from_name(tw_io_manifest_t *io, const char *path, tw_diags_t *d)
{
    const char *slash = strrchr(path, '/');
    const char *stem = slash != NULL ? slash + 1 : path;
    char text[200];
    tw_text_t t;
    const uint32_t len = tw_min_u32((uint32_t)strcspn(stem, "."), 60);
    const int n = snprintf(text, sizeof text, "%.*s\n%s\n", (int)len, stem,
                           strstr(stem, "_out") != NULL ? "data_out" : "data_in");
    tw_text_open(&t, path, text, (size_t)n, d);
    return tw_io_manifest_parse(io, &t);
}

typedef struct io_row {
    uint32_t hwid, procs, clock;
    tw_tok_t at;
} io_row_t;

/* After path and file: "index processors clock", or the index alone. */
static bool take_io_row(reader_t *r, bool full, io_row_t *row)
{
    (void)tw_text_peek(&r->t, &row->at);
    hash_row(r, true);
    const bool ok = tw_take_u32(&r->t, "IO index", 0xFFFF, &row->hwid) &&
                    (!full || (tw_take_u32(&r->t, "processor mask", 0xFF, &row->procs) &&
                               tw_take_u32(&r->t, "clock domain", 15, &row->clock)));
    hash_row(r, false);
    return ok;
}

static bool is_new_index(reader_t *r, const io_row_t *row)
{
    for (unsigned i = 0; i < r->p->n_ios; i++) {
        if (r->p->ios[i].hwid == row->hwid) {
            tw_text_error(&r->t, &row->at, "IO index %u is used by '%s' already", row->hwid, r->p->ios[i].name);
            tw_diag_note(r->d, r->t.file, r->p->ios[i].row_line, 0, "first used here");
            return false;
        }
    }
    return true;
}

static bool read_io(reader_t *r, bool full, uint32_t procs)
{
    char path[256];
    tw_text_t text;
    io_row_t row = {.procs = procs};
    tw_platform_t *p = r->p;
    const unsigned errors = r->d->errors;
    char *body =
        open_named(r, &text, path, sizeof path, r->lenient ? "nothing is known of this IO but its name" : NULL);
    if (r->d->errors != errors) {
        return false;
    }
    bool ok = take_io_row(r, full, &row) && is_new_index(r, &row);
    tw_io_manifest_t *ios = grown(p->ios, p->n_ios, &r->cap_ios, IOS_MAX, sizeof *p->ios);
    if (ios == NULL) {
        tw_text_error(&r->t, NULL, "no room for more than %u IOs", p->n_ios);
        free(body);
        return false;
    }
    p->ios = ios;
    tw_io_manifest_t *io = &ios[p->n_ios];
    if (body != NULL) {
        text.canon = crc_more;
        text.canon_ctx = &p->id;
        ok &= tw_io_manifest_parse(io, &text);
    } else {
        ok &= io_from_name(io, path, r->d);
    }
    free(body);
    io->hwid = row.hwid;
    io->row_line = r->t.line;
    io->proc_mask = (uint8_t)row.procs;
    io->clock_domain = (uint8_t)row.clock;
    p->n_ios++;
    return ok;
}

static bool read_ios(reader_t *r, uint32_t n, bool full, uint32_t procs)
{
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!tw_text_need_line(&r->t, "an IO manifest")) {
            return false;
        }
        ok &= read_io(r, full, procs);
    }
    return ok;
}

/* A row that is none, or the end of the text: the number before it may be wrong. @return false */
static bool note_count(reader_t *r, unsigned line, uint32_t n, const char *what)
{
    tw_text_t row = r->t;
    tw_tok_t tok;
    row.p = row.bol;
    row.canon = NULL;
    if (!tw_text_tok(&row, &tok) || !tw_text_peek(&row, &tok)) {
        tw_diag_note(r->d, r->t.file, line, 0, "%u %s are announced here", n, what);
    }
    return false;
}

/* What follows the last row that was announced. */
static void warn_of_more(reader_t *r, unsigned line, const char *what)
{
    tw_tok_t tok;
    if (tw_text_line(&r->t)) {
        (void)tw_text_peek(&r->t, &tok);
        tw_text_warn(&r->t, &tok, "this line and what follows are not read: the %s announced end here", what);
        tw_diag_note(r->d, r->t.file, line, 0, "their number is announced here");
    }
}

static bool read_counted_ios(reader_t *r, bool full)
{
    uint32_t n;
    if (!tw_text_need_line(&r->t, "number of IOs") || !tw_take_u32(&r->t, "number of IOs", IOS_MAX, &n)) {
        return false;
    }
    const unsigned line = r->t.line;
    return read_ios(r, n, full, 1) || note_count(r, line, n, "IOs");
}

/* ---- nodes --------------------------------------------------------------------------- */

/* Where it is installed: "PROC ARCH ID" after the file, in the layout with processors. */
static bool take_place(reader_t *r, tw_node_manifest_t *m)
{
    uint32_t id;
    if (!tw_take_u8(&r->t, "processor of the node", 0, 32, &m->on_proc) ||
        !tw_take_u8(&r->t, "architecture of the node", 0, 15, &m->on_arch) ||
        !tw_take_u32(&r->t, "number of the node", 0xFFFF, &id)) {
        return false;
    }
    m->type_id = (uint16_t)id;
    return true;
}

static bool read_node(reader_t *r, bool placed)
{
    char path[256];
    tw_text_t text;
    tw_platform_t *p = r->p;
    const unsigned errors = r->d->errors;
    char *body = open_named(r, &text, path, sizeof path, "graphs cannot use this node");
    tw_node_manifest_t *nodes =
        body != NULL ? grown(p->nodes, p->n_nodes, &r->cap_nodes, NODES_MAX, sizeof *nodes) : NULL;
    if (body == NULL || nodes == NULL) {
        if (body != NULL) {
            tw_text_error(&r->t, NULL, "no room for more than %u nodes", p->n_nodes);
        }
        free(body);
        tw_text_skip(&r->t);
        return body == NULL && r->d->errors == errors; /* a file that is not there is a node less */
    }
    p->nodes = nodes;
    const bool ok = tw_node_manifest_parse(&nodes[p->n_nodes], &text);
    free(body);
    return (!placed || take_place(r, &nodes[p->n_nodes])) && (p->n_nodes++, ok);
}

/* Rows to the end of the text or of the block. */
static bool read_nodes_to_end(reader_t *r, bool placed)
{
    tw_tok_t tok;
    bool ok = true;
    while (tw_text_line(&r->t)) {
        (void)tw_text_peek(&r->t, &tok);
        if (tw_tok_is_end(&tok)) {
            break;
        }
        ok &= read_node(r, placed);
    }
    return ok;
}

/* "19 nodes", or at once "2 folder/file.txt"? */
static bool is_node_row(const tw_text_t *t)
{
    tw_text_t ahead = *t;
    tw_tok_t tok;
    return tw_text_tok(&ahead, &tok) && tw_text_tok(&ahead, &tok) && memchr(tok.p, '.', tok.n) != NULL;
}

static bool read_nodes(reader_t *r)
{
    uint32_t n;
    bool ok = true;
    if (!tw_text_need_line(&r->t, "number of nodes")) {
        return false;
    }
    if (is_node_row(&r->t)) {
        ok = read_node(r, false);
        return read_nodes_to_end(r, false) && ok; /* the rest is read for its errors */
    }
    if (!tw_take_u32(&r->t, "number of nodes", NODES_MAX, &n)) {
        return false;
    }
    const unsigned line = r->t.line;
    for (uint32_t i = 0; i < n; i++) {
        if (!tw_text_need_line(&r->t, "a node manifest")) {
            return note_count(r, line, n, "nodes");
        }
        ok &= read_node(r, false);
    }
    if (!r->lenient) { /* there, more follows */
        warn_of_more(r, line, "nodes");
    }
    return ok;
}

/* ---- layout with processors ------------------------------------------------------------ */

/* MEMID SIZE A S T [SWAP] */
static bool read_memory(reader_t *r, uint8_t proc)
{
    static const uint8_t types[] = {0, 3, 1}, speeds[] = {1, 2, 3};
    tw_bank_manifest_t b = {.swap = 255, .is_private = proc > 0, .proc = proc};
    uint8_t access, speed, type;
    int64_t swap = -1;
    tw_tok_t at, tok;
    if (!tw_text_need_line(&r->t, "a memory: MEMID SIZE A S T")) {
        return false;
    }
    (void)tw_text_peek(&r->t, &at);
    const bool has_swap = tw_text_numbers(&r->t) >= 6;
    hash_row(r, true);
    bool ok = tw_take_u8(&r->t, "MEMID", 0, 254, &b.vid) && tw_take_u32(&r->t, "SIZE", 0xFFFFFFFFu, &b.bytes) &&
              tw_take_u8(&r->t, "access A", 0, 4, &access) && tw_take_u8(&r->t, "speed S", 0, 2, &speed);
    (void)tw_text_peek(&r->t, &tok);
    ok = ok && tw_take_u8(&r->t, "type T", 0, 2, &type) && (!has_swap || tw_take_int(&r->t, "SWAP", -1, 254, &swap));
    hash_row(r, false);
    if (!ok) {
        return false;
    }
    if (b.vid == 0 && type == 1) {
        tw_text_warn(&r->t, &tok, "bank 0 holds the graph: kept over a restart, it is used as static memory too");
        type = 0;
    }
    b.type = types[type];
    b.speed = speeds[speed];
    b.prog = (uint8_t)(access == 0 ? 2 : access == 3 ? 1 : 0);
    b.swap = (uint8_t)(swap < 0 ? 255 : swap);
    return tw_platform_add_bank(r->p, &r->t, &at, &b);
}

/* proc arch main memories services IOs, then the rows of its memories and IOs */
static bool read_processor(reader_t *r)
{
    tw_processor_manifest_t x = {0};
    uint32_t memories, ios;
    tw_tok_t at;
    if (!tw_text_need_line(&r->t, "a processor")) {
        return false;
    }
    (void)tw_text_peek(&r->t, &at);
    hash_row(r, true);
    bool ok = tw_take_u8(&r->t, "processor ID", 1, 32, &x.id) && tw_take_u8(&r->t, "architecture", 1, 15, &x.arch) &&
              tw_take_u8(&r->t, "main processor", 0, 1, &x.is_main) &&
              tw_take_u32(&r->t, "number of memories", 16, &memories) &&
              tw_take_u32(&r->t, "services", 0xFFFFFFFFu, &x.services) &&
              tw_take_u32(&r->t, "number of IOs", IOS_MAX, &ios);
    hash_row(r, false);
    ok = ok && tw_platform_add_processor(r->p, &r->t, &at, &x);
    for (uint32_t i = 0; ok && i < memories; i++) {
        ok = read_memory(r, x.id);
    }
    return ok && read_ios(r, ios, false, x.id <= 8 ? 1u << (x.id - 1) : 0);
}

static bool read_with_processors(reader_t *r)
{
    uint32_t procs, memories;
    bool ok = tw_text_need_line(&r->t, "number of processors") &&
              tw_take_u32(&r->t, "number of processors", 32, &procs) &&
              tw_text_need_line(&r->t, "number of shared memories") &&
              tw_take_u32(&r->t, "number of shared memories", 16, &memories);
    for (uint32_t i = 0; ok && i < memories; i++) {
        ok = read_memory(r, 0);
    }
    for (uint32_t i = 0; ok && i < procs; i++) {
        ok = read_processor(r);
    }
    return ok && read_nodes_to_end(r, true);
}

/* ---- the first generation ---------------------------------------------------------------- */

/* 30 numbers: the IO that serves each domain a graph may ask for. */
static bool read_domains(reader_t *r)
{
    for (unsigned i = 1; tw_text_line(&r->t);) {
        while (i < TW_COUNT(r->p->io_of_domain) && tw_text_numbers(&r->t) > 0) {
            if (!tw_take_u8(&r->t, "IO of a domain", 0, 255, &r->p->io_of_domain[i++])) {
                return false;
            }
        }
    }
    return true;
}

static bool read_files(reader_t *r)
{
    r->lenient = true;
    return read_map(r, tw_platform_manifest_parse) && read_counted_ios(r, false) && read_nodes(r) && read_domains(r);
}

/* ---- the platform -------------------------------------------------------------------------- */

static bool read_layout(reader_t *r, tw_manifest_kind_t kind)
{
    if (!read_paths(r)) {
        return false;
    }
    switch (kind) {
    case TW_KIND_TOP_PROCESSORS:
        return read_with_processors(r);
    case TW_KIND_FILES:
        return read_files(r);
    default:
        return read_map(r, tw_procmap_parse) && read_counted_ios(r, true) && read_nodes(r);
    }
}

bool tw_platform_read_from(tw_platform_t *p, const char *path, const tw_text_source_t *src, tw_diags_t *d)
{
    *p = (tw_platform_t){0};
    reader_t r = {.p = p, .src = src, .d = d};
    size_t n = 0;
    char *body = strlen(path) < sizeof p->path ? src->read(src->ctx, path, &n) : NULL;
    if (body == NULL) {
        char near[80];
        tw_diag(d, false, path, 0, 0, "cannot read the top manifest '%s'%s", path,
                tw_text_near(src, path, near, sizeof near));
        return false;
    }
    snprintf(p->path, sizeof p->path, "%s", path);
    tw_path_dir(r.dir, sizeof r.dir, path);
    tw_text_open(&r.t, p->path, body, n, d);
    const unsigned errors = d->errors;
    const bool ok = read_layout(&r, tw_manifest_detect(body, n));
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
