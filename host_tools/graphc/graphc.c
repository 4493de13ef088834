/* graphc.c - the compiler as its users call it: passes in order, graph identity. */
#include "host_tools/graphc/graphc_priv.h"
#include <stdio.h>
#include <stdlib.h>

static bool strict_enough(const tw_graphc_opts_t *opts, tw_diags_t *d)
{
    for (unsigned i = 0; opts->strict && i < d->n; i++) {
        d->rows[i].warning = false;
    }
    if (opts->strict) {
        d->errors += d->warnings;
        d->warnings = 0;
    }
    return d->errors == 0;
}

bool g_compile(const char *path, const tw_graphc_opts_t *opts, const tw_platform_t *platform,
               const tw_text_source_t *src, tw_graphc_out_t *out)
{
    g_model_t *m = calloc(1, sizeof *m);
    if (m == NULL) {
        tw_diag(&out->diags, false, path, 0, 0, "out of memory");
        return false;
    }
    m->platform = platform;
    m->diags = &out->diags;
    m->include_dirs = opts->include_dirs;
    m->n_include_dirs = opts->n_include_dirs;
    m->no_in_place = opts->no_in_place;
    m->want_compact = opts->compact;
    if (g_parse(m, path, src) && g_resolve(m) && g_insert(m) && g_names(m) && g_compile_scripts(m) &&
        g_merge_params(m) && g_verify(m) && g_plan(m) && strict_enough(opts, m->diags) && g_canon(m)) {
        out->image = g_emit(m, opts->sequence != 0 ? opts->sequence : m->control.sequence, &out->bytes);
        if (out->image != NULL && !g_identify(m, out->image, out->bytes)) {
            free(out->image);
            out->image = NULL;
        }
        if (out->image != NULL) {
            out->report = g_report(m, out->bytes);
            out->report_json = g_report_json(m, out->bytes);
            out->dot = opts->draw ? g_draw(m) : NULL;
        }
    }
    tw_diag_origins_end(m->diags);
    g_model_free(m);
    free(m);
    return out->image != NULL;
}

/* The platform of a graph without one: platform/top_manifest_computer.txt in or beside the graph's folder. */
static bool find_platform(const char *path, char *out, size_t size)
{
    static const char *const places[] = {"platform/top_manifest_computer.txt", "../platform/top_manifest_computer.txt"};
    char dir[256];
    tw_path_dir(dir, sizeof dir, path);
    for (size_t i = 0; i < TW_COUNT(places); i++) {
        FILE *f = tw_path_join(out, size, dir, places[i]) ? fopen(out, "rb") : NULL;
        if (f != NULL) {
            fclose(f);
            return true;
        }
    }
    return false;
}

bool tw_graphc(const char *path, const tw_graphc_opts_t *opts, tw_graphc_out_t *out)
{
    static const tw_graphc_opts_t none;
    const tw_graphc_opts_t *o = opts != NULL ? opts : &none;
    char found[256];
    tw_platform_t platform;
    *out = (tw_graphc_out_t){.diags.strict = o->strict};
    const char *top = o->platform != NULL ? o->platform : find_platform(path, found, sizeof found) ? found : NULL;
    if (top == NULL) {
        tw_diag(&out->diags, false, path, 0, 0,
                "no platform/top_manifest_computer.txt in or beside its folder: name one with --platform TOP");
        return false;
    }
    if (!tw_platform_read(&platform, top, &out->diags)) {
        return false;
    }
    const bool ok = g_compile(path, o, &platform, &tw_text_files, out);
    tw_platform_free(&platform);
    return ok;
}

void tw_graphc_free(tw_graphc_out_t *out)
{
    free(out->image);
    free(out->report);
    free(out->report_json);
    free(out->dot);
    *out = (tw_graphc_out_t){0};
}
