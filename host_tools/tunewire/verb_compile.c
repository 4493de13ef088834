/* verb_compile.c - tunewire compile: graph text to image. */
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

static int print_result(tw_cli_t *cli, const char *path, size_t bytes, const char *report, const char *report_json)
{
    if (cli->json) {
        json_t *detail = report_json ? json_loads(report_json, 0, NULL) : NULL;
        json_t *doc = json_pack("{s:s, s:I, s:o}", "image", path, "bytes", (json_int_t)bytes, "report",
                                detail ? detail : json_null());
        return cli_json(cli, cli_with_diags(cli, doc));
    }
    if (cli_option(cli, "--report") && report) {
        (void)fprintf(cli->out, "%s", report);
    }
    (void)fprintf(strcmp(path, "-") == 0 ? cli->err : cli->out, "%s: %zu bytes\n", path, bytes);
    return CLI_OK;
}

int verb_compile(tw_cli_t *cli)
{
    char path[4096];
    tw_bytes_t image;
    char *report = NULL, *report_json = NULL;
    if (!cli_compile(cli, cli->args[0], &image, &report, &report_json)) {
        return cli->exit;
    }
    const char *given = cli_option(cli, "--output");
    cli_with_suffix(cli->args[0], ".twg", path, sizeof path);
    const char *to = given ? given : path;
    const int code =
        cli_write_file(cli, to, image.data, image.n) ? print_result(cli, to, image.n, report, report_json) : cli->exit;
    free(report);
    free(report_json);
    free(image.data);
    return code;
}
