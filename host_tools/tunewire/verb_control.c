/* verb_control.c - tunewire start, stop, step, reset, unload: the graph's life in one call each. */
#include "host_tools/tunewire/cli.h"

static int control(tw_cli_t *cli, tunewire_v1_GraphCtl_Op op, uint32_t steps)
{
    tunewire_v1_GraphInfo g;
    if (!tw_client_control(cli->c, op, steps, &g)) {
        return cli_fail_client(cli, cli->verb->name);
    }
    if (cli->json) {
        return cli_json(cli, cli_graph_json(&g));
    }
    (void)fprintf(cli->out, "%s: %s at tick %llu\n", g.name, cli_state_name(g.state), (unsigned long long)g.ticks);
    return CLI_OK;
}

int verb_start(tw_cli_t *cli)
{
    return control(cli, tunewire_v1_GraphCtl_Op_START, 0);
}

int verb_stop(tw_cli_t *cli)
{
    return control(cli, tunewire_v1_GraphCtl_Op_STOP, 0);
}

int verb_reset(tw_cli_t *cli)
{
    const bool warm = cli_option(cli, "--warm") != NULL;
    return control(cli, warm ? tunewire_v1_GraphCtl_Op_WARM_RESET : tunewire_v1_GraphCtl_Op_RESET, 0);
}

int verb_step(tw_cli_t *cli)
{
    double n = 1;
    if (cli->n_args && !cli_number(cli, cli->args[0], "number of blocks", 1, 1e9, &n)) {
        return cli->exit;
    }
    return control(cli, tunewire_v1_GraphCtl_Op_STEP, (uint32_t)n);
}

int verb_unload(tw_cli_t *cli)
{
    const tunewire_v1_GraphRef ref = {0};
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Graph_Unload, .request = &ref})) {
        return cli_fail_client(cli, "unload");
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s}", "state", "empty"));
    }
    (void)fprintf(cli->out, "unloaded\n");
    return CLI_OK;
}
