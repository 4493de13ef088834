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
    if (code.n != code_bytes) {
        exit = cli_fail(cli, CLI_INPUT, path, "keep constants in movi, or put the script into the graph",
                        "a literal pool cannot be replaced while the graph runs");
    } else if (!tw_client_script_load(cli->c, index, code.data, code_bytes, &info)) {
        exit = cli_fail_client(cli, path);
    } else if (cli->json) {
        exit = cli_json(cli, json_pack("{s:i, s:s, s:i, s:I}", "script", (int)index, "name", info.name, "bytes",
                                       (int)info.size, "crc", (json_int_t)info.crc));
    } else {
        (void)fprintf(cli->out, "script %u: %u bytes installed\n", index, code_bytes);
        exit = CLI_OK;
    }
    free(code.data);
    return exit;
}
