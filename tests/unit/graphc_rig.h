/* graphc_rig.h - a small platform and graph texts in memory, and the compiler's passes one after the other.
 *
 * Node types: gain (1 in 1 out, S16), gain32 (FP32), mix (up to 4 in, 1 must be), any (1 in 1 out, any raw type), the
 * converter and the split. IOs: 0..2 inputs, 5..7 outputs, which take anything. Banks: see RIG_BANKS.
 */
#pragma once
#include "host_tools/graphc/middle/graphc_middle.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct rig_file {
    const char *path, *text;
} rig_file_t;

/* ID VID S W P H D bytes offset */
#define RIG_BANKS                                                                                \
    "1 2 7\n0 0 1 0 0 1 0 67108864 0\n0 1 2 0 0 1 0 4096 0\n0 3 2 1 0 0 0 2048 4096\n"           \
    "2 5 3 1 1 0 0 1024 0\n1 10 0 2 0 0 0 512 0\n3 20 0 0 0 0 2 65536 0\n2 8 3 0 0 0 1 1024 0\n" \
    "1 1 255\n2 0 255\n"
#define RIG_ARC(i, tx, raw) \
    "node_arc " #i "\nnode_arc_rx0tx1 " #tx "\nnode_arc_nb_channels 0\nnode_arc_raw_format " raw "\n"
#define RIG_IO(name, dir) "io_" name "\ngeneral\nio_direction_rx0tx1 " #dir "\n"

static const rig_file_t rig_files[] = {
    {"top.txt", "1\n./\n0 map.txt\n6\n0 in0.txt 0 1 0\n0 in1.txt 1 1 0\n0 in2.txt 2 1 0\n0 out0.txt 5 1 0\n"
                "0 out1.txt 6 1 0\n0 out2.txt 7 1 0\n6\n0 gain.txt\n0 gain32.txt\n0 mix.txt\n0 any.txt\n"
                "0 converter.txt\n0 split.txt\n"},
    {"map.txt", RIG_BANKS},
    {"in0.txt", RIG_IO("in0", 0)},
    {"in1.txt", RIG_IO("in1", 0)},
    {"in2.txt", RIG_IO("in2", 0)},
    {"out0.txt", RIG_IO("out0", 1)},
    {"out1.txt", RIG_IO("out1", 1)},
    {"out2.txt", RIG_IO("out2", 1)},
    {"gain.txt", "rig\ngain\nnode_nb_arcs 1 1\nnode_mem 0\nnode_mem_alloc 64\n" RIG_ARC(0, 0, "{1 S16 Q15}")
                     RIG_ARC(1, 1, "{1 S16 Q15}")},
    {"gain32.txt", "rig\ngain32\nnode_nb_arcs 1 1\nnode_mem 0\nnode_mem_alloc 64\nnode_mem 1\nnode_mem_alloc 256\n"
                   "node_mem_retention 1\n" RIG_ARC(0, 0, "FP32") RIG_ARC(1, 1, "FP32")},
    {"mix.txt",
     "rig\nmix\nnode_nb_arcs 4 1\nnode_min_arcs 1 1\nnode_mem 0\nnode_mem_alloc 32\nnode_mem_frame_size 1 3\n" RIG_ARC(
         0, 0, "S16") RIG_ARC(1, 0, "S16") RIG_ARC(2, 0, "S16") RIG_ARC(3, 0, "S16") RIG_ARC(4, 1, "S16")},
    {"any.txt", "rig\nany\nnode_nb_arcs 1 1\nnode_mem 0\nnode_mem_alloc 16\n" RIG_ARC(0, 0, "0") RIG_ARC(1, 1, "0")},
    {"converter.txt", "rig\narm_stream_converter\nnode_nb_arcs 1 1\nnode_mem 0\nnode_mem_alloc 128\n" RIG_ARC(0, 0, "0")
                          RIG_ARC(1, 1, "0")},
    {"split.txt",
     "rig\narm_stream_split\nnode_nb_arcs 1 15\nnode_min_arcs 1 1\nnode_mem 0\nnode_mem_alloc 32\n" RIG_ARC(0, 0, "0")
         RIG_ARC(1, 1, "0") RIG_ARC(2, 1, "0") RIG_ARC(3, 1, "0") RIG_ARC(4, 1, "0") RIG_ARC(5, 1, "0")
             RIG_ARC(6, 1, "0") RIG_ARC(7, 1, "0") RIG_ARC(8, 1, "0") RIG_ARC(9, 1, "0") RIG_ARC(10, 1, "0")
                 RIG_ARC(11, 1, "0") RIG_ARC(12, 1, "0") RIG_ARC(13, 1, "0") RIG_ARC(14, 1, "0") RIG_ARC(15, 1, "0")},
    {NULL, NULL},
};

/* Files that a test puts before those of the platform. */
static const rig_file_t *rig_more;

static inline char *rig_read(void *ctx, const char *path, size_t *n)
{
    (void)ctx;
    for (int k = 0; k < 2; k++) {
        for (const rig_file_t *f = k == 0 ? rig_more : rig_files; f != NULL && f->path != NULL; f++) {
            if (strcmp(f->path, path) == 0) {
                *n = strlen(f->text);
                char *copy = malloc(*n + 1);
                memcpy(copy, f->text, *n);
                return copy;
            }
        }
    }
    return NULL;
}

static const tw_text_source_t rig_source = {NULL, rig_read};

typedef struct rig {
    tw_platform_t platform;
    tw_diags_t diags;
    g_model_t m;
} rig_t;

static inline void rig_platform(rig_t *r)
{
    *r = (rig_t){0};
    if (!tw_platform_read_from(&r->platform, "top.txt", &rig_source, &r->diags)) {
        tw_diags_print(&r->diags, stderr, false);
        fail_msg("the platform is wrong");
    }
}

/* All passes before emit. @return true when none found an error */
static inline bool rig_compile(rig_t *r, const char *text)
{
    const rig_file_t *const more = rig_more;
    const rig_file_t files[] = {{"g.txt", text}, {NULL, NULL}};
    rig_platform(r);
    rig_more = files;
    r->m.platform = &r->platform;
    r->m.diags = &r->diags;
    const bool ok =
        g_parse(&r->m, "g.txt", &rig_source) && g_resolve(&r->m) && g_insert(&r->m) && g_names(&r->m) && g_plan(&r->m);
    rig_more = more;
    return ok && r->diags.errors == 0;
}

static inline void rig_must(rig_t *r, const char *why, const char *text)
{
    if (!rig_compile(r, text)) {
        tw_diags_print(&r->diags, stderr, false);
        fail_msg("%s: does not compile", why);
    }
}

static inline void rig_free(rig_t *r)
{
    g_model_free(&r->m);
    tw_platform_free(&r->platform);
}

/* "line:col error: text" lines of what was said. */
static inline const char *rig_said(const rig_t *r)
{
    static char text[8192];
    size_t n = 0;
    text[0] = 0;
    for (unsigned i = 0; i < r->diags.n && n < sizeof text; i++) {
        const tw_diag_t *d = &r->diags.rows[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%u:%u %s: %s\n", d->line, d->col,
                              d->note      ? "note"
                              : d->warning ? "warning"
                                           : "error",
                              d->text);
    }
    return text;
}
