/* graphc.h - the graph compiler: text and manifests to a TWG1 image. Host only.
 *
 * Language: docs/GRAPH_LANGUAGE.md. Image: docs/GRAPH_IMAGE.md. Nothing is
 * written when there is an error.
 */
#pragma once
#include "engine/board/manifest.h"

typedef struct tw_graphc_opts {
    const char *platform; /* top manifest; NULL: platform/top_manifest_computer.txt in or beside the text's folder */
    bool strict;          /* warnings are errors */
    uint32_t sequence;    /* build sequence word */
    const char *const *include_dirs; /* folders where files are looked for that are not in their own, in order */
    unsigned n_include_dirs;
    bool draw;        /* fill in out.dot */
    bool no_in_place; /* every arc has a buffer of its own, also where a node could work in place */
    bool compact;     /* nodes that need nothing else have compact records, and ask for their memory at load */
} tw_graphc_opts_t;

typedef struct tw_graphc_out {
    uint8_t *image; /* malloc'ed; tw_graphc_free() */
    uint32_t bytes;
    tw_diags_t diags;
    char *report; /* text report: memory per bank, arcs, insertions; malloc'ed */
    char *report_json;
    char *dot; /* the graph as Graphviz text; malloc'ed, when asked for */
} tw_graphc_out_t;

/** Compile the file. @return true when there were no errors. */
bool tw_graphc(const char *path, const tw_graphc_opts_t *opts, tw_graphc_out_t *out);
void tw_graphc_free(tw_graphc_out_t *out);

enum {
    TW_DECOMPILE_PLAIN = 1,    /* without places and sizes of memory: a plan may choose them again */
    TW_DECOMPILE_IDENTITY = 2, /* what the identity is the SHA-256 of: no build sequence, no columns */
};
/**
 * An image back to text. The text compiles to the same image, byte for byte, on the platform the image was made for.
 * @param platform  its manifests name the node types and number their ports; NULL: the node library of this program
 * @param text      malloc'ed, NUL-terminated; NULL after errors
 * @return true when there were no errors; warnings say what in the image has no tag in the language
 */
bool tw_decompile(const uint8_t *image, uint32_t bytes, const tw_platform_t *platform, unsigned flags, char **text,
                  tw_diags_t *diags);
/* ---- tunewire graph fmt ------------------------------------------------------------ */
typedef struct tw_graph_fmt {
    char *text; /* canonical, NUL-terminated, malloc'ed; NULL after errors */
    size_t n;
    tw_diags_t diags;
} tw_graph_fmt_t;

/**
 * Any graph text or manifest, of any era, in canonical form: printing it again changes nothing, and it
 * means what `text` means. Files it names are not read.
 * @param file  its name in diagnostics
 * @return true when there were no errors; tw_graph_fmt_free() either way
 */
bool tw_graph_fmt(const char *file, const char *text, size_t n, tw_graph_fmt_t *out);
void tw_graph_fmt_free(tw_graph_fmt_t *out);

/** Print diagnostics as graphc_diag.h says; the texts are read again from their files. */
void tw_diags_print(const tw_diags_t *d, void *file /* FILE* */, bool colour);
