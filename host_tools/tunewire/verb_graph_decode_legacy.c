/* verb_graph_decode_legacy.c - tunewire graph decode-legacy: the words of an older graph format explained. */
#include "host_tools/graphc/graphc_diag.h"
#include "host_tools/graphc/legacy/legacy_decode.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

static int print_listing(tw_cli_t *cli, const tw_legacy_t *l)
{
    char *text = cli->json ? tw_legacy_json(l) : tw_legacy_text(l);
    if (!text) {
        return cli_fail(cli, CLI_INPUT, cli->args[0], "", "out of memory");
    }
    int code = CLI_OK;
    if (cli->json) {
        code = cli_json(cli, cli_with_diags(cli, json_loads(text, 0, NULL)));
    } else {
        (void)fputs(text, cli->out);
    }
    free(text);
    return code;
}

int verb_graph_decode_legacy(tw_cli_t *cli)
{
    const char *path = cli->args[0];
    tw_bytes_t file;
    if (!cli_read_file(cli, path, &file)) {
        return cli->exit;
    }
    tw_legacy_t *l = calloc(1, sizeof *l);
    tw_diags_t *d = calloc(1, sizeof *d);
    int code;
    if (!l || !d) {
        code = cli_fail(cli, CLI_INPUT, path, "", "out of memory");
    } else if (!tw_legacy_decode(l, path, file.n ? (const char *)file.data : "", file.n, d)) {
        code = cli_fail_diags(cli, path, d, NULL);
    } else {
        cli_diags(cli, d, NULL);
        code = print_listing(cli, l);
        tw_legacy_free(l);
    }
    free(l);
    free(d);
    free(file.data);
    return code;
}
