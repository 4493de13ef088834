/* verb_script_stop.c - tunewire script stop: disable a script; loading it enables it again. */
#include "host_tools/tunewire/cli_script.h"

int verb_script_stop(tw_cli_t *cli)
{
    tunewire_v1_ScriptRef ref = {0};
    if (!cli_script_index(cli, &ref.index)) {
        return cli->exit;
    }
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Script_Stop, .request = &ref})) {
        return cli_fail_client(cli, cli->args[0]);
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:i, s:s}", "script", (int)ref.index, "state", "disabled"));
    }
    (void)fprintf(cli->out, "script %u: disabled\n", ref.index);
    return CLI_OK;
}
