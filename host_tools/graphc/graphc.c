/* graphc.c - the compiler as its users call it: passes in order, graph identity. */
#include "host_tools/graphc/graphc_priv.h"
#include <mbedtls/md.h>
#include <stdio.h>
#include <stdlib.h>

static void hash_more(void *ctx, const char *p, size_t n)
{
    (void)mbedtls_md_update(ctx, (const unsigned char *)p, n);
}

static bool parse_and_hash(g_model_t *m, const char *path, const tw_text_source_t *src)
{
    mbedtls_md_context_t md;
    uint8_t digest[32];
    mbedtls_md_init(&md);
    bool ok =
        mbedtls_md_setup(&md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 0) == 0 && mbedtls_md_starts(&md) == 0;
    m->canon = hash_more;
    /* cppcheck-suppress autoVariables ; taken back below, before md goes */
    m->canon_ctx = &md;
    if (!ok) {
        tw_diag(m->diags, false, path, 0, 0, "SHA-256 is not available");
    } else {
        ok = g_parse(m, path, src) && mbedtls_md_finish(&md, digest) == 0;
        m->uid = ok ? tw_get_le32(digest) : 0;
    }
    m->canon = NULL;
    m->canon_ctx = NULL;
    mbedtls_md_free(&md);
    return ok;
}

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
    if (parse_and_hash(m, path, src) && g_resolve(m) && g_insert(m) && g_names(m) && g_verify(m) && g_plan(m) &&
        strict_enough(opts, m->diags)) {
        out->image = g_emit(m, opts->sequence, &out->bytes);
        if (out->image != NULL) {
            out->report = g_report(m, out->bytes);
            out->report_json = g_report_json(m, out->bytes);
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
    *out = (tw_graphc_out_t){0};
}
