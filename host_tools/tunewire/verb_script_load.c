/* verb_script_load.c - tunewire script load: replace a script while the graph runs. */
#include "host_tools/tunewire/cli_script.h"
#include <stdlib.h>

int verb_script_load(tw_cli_t *cli)
{
    tw_bytes_t code;
    uint32_t index, code_bytes;
    tunewire_v1_ScriptInfo info;
    const char *path = cli->args[1];
    if (!cli_script_index(cli, &index) || !cli_read_script(cli, path, &code, &code_bytes)) {
        return cli->exit;
    }
    int exit;
    if (!tw_client_script_load(cli->c, index, code.data, (uint32_t)code.n, code_bytes, &info)) {
        exit = cli_fail_client(cli, path);
    } else if (cli->json) {
        exit = cli_json(cli, json_pack("{s:i, s:s, s:i, s:I}", "script", (int)index, "name", info.name, "bytes",
                                       (int)info.size, "crc", (json_int_t)info.crc));
    } else {
        (void)fprintf(cli->out, "script %u: %zu bytes installed\n", index, code.n);
        exit = CLI_OK;
    }
    free(code.data);
    return exit;
}
