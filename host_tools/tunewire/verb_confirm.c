/* verb_confirm.c - tunewire confirm, revert, rollback: the last word on a change, or a step back.
 *
 * Who changed something with --confirm stays connected and waits here: a lost connection takes the change back, as
 * does Ctrl-C. Another terminal confirms.
 */
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

enum { LOOK_MS = 100 };

bool cli_confirm_ms(tw_cli_t *cli, uint32_t *ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"", 1000}};
    const char *text = cli_option(cli, "--confirm");
    *ms = 0;
    if (!text) {
        return true;
    }
    char *end;
    const double v = strtod(text, &end);
    for (size_t i = 0; i < TW_COUNT(units); i++) {
        if (end != text && strcmp(end, units[i].unit) == 0 && v * units[i].ms >= 1 && v * units[i].ms <= 600000) {
            *ms = (uint32_t)(v * units[i].ms);
            return true;
        }
    }
    (void)cli_fail(cli, CLI_USAGE, "--confirm", "say 10s, 500ms or 2m, at most 10m", "'%s' is no such time", text);
    return false;
}

int cli_wait_confirm(tw_cli_t *cli, const char *where)
{
    tunewire_v1_GraphInfo g;
    if (!tw_client_graph_info(cli->c, &g)) {
        return cli->exit = cli_fail_client(cli, where);
    }
    const uint32_t reverts = g.reverts;
    if (g.confirm_ms) {
        (void)fprintf(cli->err, "%s: confirm within %.1f s with 'tunewire confirm'; Ctrl-C takes it back\n", where,
                      g.confirm_ms / 1000.0);
    }
    while (g.confirm_ms && g.reverts == reverts) {
        if (cli_stopped(cli)) {
            return cli->exit = CLI_STOPPED;
        }
        if (!tw_client_pump(cli->c, LOOK_MS) || !tw_client_graph_info(cli->c, &g)) {
            return cli->exit = cli_fail_client(cli, where);
        }
    }
    if (g.reverts != reverts) {
        return cli->exit = cli_fail(cli, CLI_DEVICE, where, "", "taken back at tick %llu: %s",
                                    (unsigned long long)g.revert_tick, g.revert_text);
    }
    return CLI_OK;
}

static int last_word(tw_cli_t *cli, bool keep)
{
    tunewire_v1_GraphInfo g;
    uint64_t tick;
    if (!tw_client_graph_info(cli->c, &g)) {
        return cli_fail_client(cli, NULL);
    }
    if (!g.confirm_ms) {
        return cli_fail(cli, CLI_DEVICE, cli->verb->name,
                        g.reverts ? "it went back already: see 'tunewire log'" : "set or load with --confirm first",
                        "nothing waits to be confirmed");
    }
    if (!tw_client_confirm(cli->c, &g, keep, &tick)) {
        return cli_fail_client(cli, cli->verb->name);
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:s, s:I}", "what", g.confirm_txn ? "values" : "graph", "now",
                                       keep ? "kept" : "reverted", "tick", (json_int_t)tick));
    }
    (void)fprintf(cli->out, "%s %s (tick %llu)\n", g.confirm_txn ? "the values are" : "the graph is",
                  keep ? "kept" : "taken back", (unsigned long long)tick);
    return CLI_OK;
}

int verb_confirm(tw_cli_t *cli)
{
    return last_word(cli, true);
}

int verb_revert(tw_cli_t *cli)
{
    return last_word(cli, false);
}

static int give_up(tw_cli_t *cli)
{
    tunewire_v1_GraphInfo g = {0};
    uint64_t tick;
    if (!tw_client_confirm(cli->c, &g, true, &tick) || !tw_client_graph_info(cli->c, &g)) {
        return cli_fail_client(cli, "rollback --give-up");
    }
    if (cli->json) {
        return cli_json(cli, cli_graph_json(&g));
    }
    (void)fprintf(cli->out, "%s: stays, there is nothing to go back to\n", g.name);
    return CLI_OK;
}

int verb_rollback(tw_cli_t *cli)
{
    double fade;
    tunewire_v1_GraphInfo g;
    if (cli_option(cli, "--give-up")) {
        return give_up(cli);
    }
    if (!cli_option_number(cli, "--fade", 0, 60000, 0, &fade)) {
        return cli->exit;
    }
    if (!tw_client_rollback(cli->c, (uint32_t)fade, &g)) {
        return cli_fail_client(cli, "rollback");
    }
    if (cli->json) {
        return cli_json(cli, cli_graph_json(&g));
    }
    (void)fprintf(cli->out, "%s: back, %s, generation %u\n", g.name, cli_state_name(g.state), g.generation);
    return CLI_OK;
}
