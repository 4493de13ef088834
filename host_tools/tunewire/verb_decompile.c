/* verb_decompile.c - tunewire decompile: image to graph text. */
#include "host_tools/graphc/graphc.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

/* What is wrong with an image is said of its file. */
static void name_file(tw_diags_t *d, const char *path)
{
    for (unsigned i = 0; i < d->n; i++) {
        if (strcmp(d->rows[i].file, "image") == 0) {
            (void)snprintf(d->rows[i].file, sizeof d->rows[i].file, "%s", path);
        }
    }
}

static int write_text(tw_cli_t *cli, const char *text)
{
    const char *to = cli_option(cli, "--output");
    if (cli->json) {
        return cli_json(cli, cli_with_diags(cli, json_pack("{s:s, s:s}", "image", cli->args[0], "text", text)));
    }
    return cli_write_file(cli, to ? to : "-", text, strlen(text)) ? CLI_OK : cli->exit;
}

static int decompile(tw_cli_t *cli, const tw_bytes_t *image, const tw_platform_t *platform, tw_diags_t *d)
{
    const unsigned flags = (cli_option(cli, "--plain") ? TW_DECOMPILE_PLAIN : 0u) |
                           (cli_option(cli, "--identity") ? TW_DECOMPILE_IDENTITY : 0u);
    char *text = NULL;
    const bool ok = tw_decompile(image->data, (uint32_t)image->n, platform, flags, &text, d);
    name_file(d, cli->args[0]);
    if (!ok) {
        return cli_fail_diags(cli, cli->args[0], d, NULL);
    }
    cli_diags(cli, d, NULL);
    const int code = write_text(cli, text);
    free(text);
    return code;
}

int verb_decompile(tw_cli_t *cli)
{
    const char *top = cli_option(cli, "--platform");
    tw_bytes_t image;
    tw_platform_t platform;
    if (!cli_read_file(cli, cli->args[0], &image)) {
        return cli->exit;
    }
    tw_diags_t *d = calloc(1, sizeof *d);
    int code = CLI_INPUT;
    if (!d) {
        code = cli_fail(cli, CLI_INPUT, cli->args[0], "", "out of memory");
    } else if (image.n > UINT32_MAX / 8) {
        code = cli_fail(cli, CLI_INPUT, cli->args[0], "", "%zu bytes are no graph image", image.n);
    } else if (top && !tw_platform_read(&platform, top, d)) {
        code = cli_fail_diags(cli, top, d, NULL);
    } else {
        code = decompile(cli, &image, top ? &platform : NULL, d);
        if (top) {
            tw_platform_free(&platform);
        }
    }
    free(d);
    free(image.data);
    return code;
}
