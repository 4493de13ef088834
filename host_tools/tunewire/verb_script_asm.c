/* verb_script_asm.c - tunewire script asm: text to words. */
#include "host_tools/tunewire/cli_script.h"
#include <stdlib.h>

int verb_script_asm(tw_cli_t *cli)
{
    tw_bytes_t code;
    uint32_t code_bytes;
    char path[4096];
    const char *given = cli_option(cli, "--output");
    if (!cli_read_script(cli, cli->args[0], &code, &code_bytes)) {
        return cli->exit;
    }
    cli_with_suffix(cli->args[0], ".bin", path, sizeof path);
    const char *to = given ? given : path;
    int exit = CLI_OK;
    if (!cli_write_script(cli, to, &code, code_bytes)) {
        exit = cli->exit;
    } else if (cli->json) {
        json_t *doc = json_pack("{s:s, s:i, s:i}", "file", to, "code_bytes", (int)code_bytes, "bytes", (int)code.n);
        exit = cli_json(cli, cli_with_diags(cli, doc));
    } else {
        (void)fprintf(strcmp(to, "-") == 0 ? cli->err : cli->out, "%s: %u bytes of code, %zu in all\n", to, code_bytes,
                      code.n);
    }
    free(code.data);
    return exit;
}
