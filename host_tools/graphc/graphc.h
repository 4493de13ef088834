/* graphc.h - the graph compiler: text and manifests to a TWG1 image. Host only.
 *
 * Language: docs/GRAPH_LANGUAGE.md. Image: docs/GRAPH_IMAGE.md. Nothing is
 * written when there is an error.
 */
#pragma once
#include "engine/board/manifest.h"

typedef struct tw_graphc_opts {
    const char *platform; /* top manifest path; NULL: `platform` next to the graph's folder, see docs */
    bool strict;          /* warnings are errors */
    uint32_t sequence;    /* build sequence word */
} tw_graphc_opts_t;

typedef struct tw_graphc_out {
    uint8_t *image; /* malloc'ed; tw_graphc_free() */
    uint32_t bytes;
    tw_diags_t diags;
    char *report; /* text report: memory per bank, arcs, insertions; malloc'ed */
    char *report_json;
} tw_graphc_out_t;

/** Compile the file. @return true when there were no errors. */
bool tw_graphc(const char *path, const tw_graphc_opts_t *opts, tw_graphc_out_t *out);
void tw_graphc_free(tw_graphc_out_t *out);
/** Print diagnostics as graphc_diag.h says; the texts are read again from their files. */
void tw_diags_print(const tw_diags_t *d, void *file /* FILE* */, bool colour);
