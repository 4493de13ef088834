/* cli_compile.c - a graph text compiled, for `compile` and `load`. */
#include "host_tools/graphc/graphc.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

static char *take(char **text)
{
    char *t = *text;
    *text = NULL;
    return t;
}

bool cli_compile(tw_cli_t *cli, const char *path, tw_bytes_t *image, char **report, char **report_json)
{
    const char *dirs[32];
    const tw_graphc_opts_t opts = {.platform = cli_option(cli, "--platform"),
                                   .strict = cli_option(cli, "--strict") != NULL,
                                   .no_in_place = cli_option(cli, "--no-in-place") != NULL,
                                   .compact = cli_option(cli, "--compact") != NULL,
                                   .include_dirs = dirs,
                                   .n_include_dirs = cli_option_each(cli, "--include", dirs, TW_COUNT(dirs))};
    tw_graphc_out_t *out = calloc(1, sizeof *out);
    *image = (tw_bytes_t){0};
    if (!out) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        return false;
    }
    const bool ok = tw_graphc(path, &opts, out);
    if (!ok) {
        (void)cli_fail_diags(cli, path, &out->diags, NULL);
    } else {
        cli_diags(cli, &out->diags, NULL);
    }
    if (ok && !tw_bytes_add(image, out->image, out->bytes)) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
    }
    if (report) {
        *report = ok ? take(&out->report) : NULL;
        *report_json = ok ? take(&out->report_json) : NULL;
    }
    tw_graphc_free(out);
    free(out);
    return image->data != NULL;
}
