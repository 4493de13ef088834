/* verb_preset.c - tunewire preset NODE N. */
#include "host_tools/tunewire/cli.h"

int verb_preset(tw_cli_t *cli)
{
    double n;
    const tunewire_v1_NodeInfo *node = cli_find_node(cli, cli->args[0]);
    if (!node || !cli_number(cli, cli->args[1], "preset", 0, 63, &n)) {
        return cli->exit;
    }
    const tunewire_v1_PresetReq req = {.node = node->node, .preset = (uint32_t)n};
    tunewire_v1_ParamAck ack = tunewire_v1_ParamAck_init_zero;
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Param_Preset, .request = &req, .response = &ack})) {
        return cli_fail_client(cli, node->name);
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:i, s:I}", "node", node->name, "preset", (int)n, "applied_tick",
                                       (json_int_t)ack.applied_tick));
    }
    (void)fprintf(cli->out, "%s: preset %d (tick %llu)\n", node->name, (int)n, (unsigned long long)ack.applied_tick);
    return CLI_OK;
}
