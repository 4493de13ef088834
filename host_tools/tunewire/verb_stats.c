/* verb_stats.c - tunewire stats: the device's counters. */
#include "host_tools/tunewire/cli.h"
#include <inttypes.h>
#include <stdlib.h>

int verb_stats(tw_cli_t *cli)
{
    tw_counters_t s;
    if (!tw_client_stats(cli->c, &s)) {
        return cli_fail_client(cli, "stats");
    }
    if (cli->json) {
        json_t *o = json_object();
        for (uint32_t i = 0; i < s.n; i++) {
            (void)json_object_set_new(o, s.rows[i].name, json_integer((json_int_t)s.rows[i].value));
        }
        free(s.rows);
        char boot[20];
        (void)snprintf(boot, sizeof boot, "%016" PRIx64, s.boot_id);
        return cli_json(
            cli, json_pack("{s:s, s:I, s:o}", "boot_id", boot, "uptime_us", (json_int_t)s.uptime_us, "counters", o));
    }
    tw_table_t t = {.columns = 2, .right = 1 << 1};
    cli_cell(&t, "COUNTER");
    cli_cell(&t, "VALUE");
    cli_cell(&t, "uptime [s]");
    cli_cell(&t, "%.3f", (double)s.uptime_us / 1e6);
    for (uint32_t i = 0; i < s.n; i++) {
        cli_cell(&t, "%s", s.rows[i].name);
        cli_cell(&t, "%" PRIu64, s.rows[i].value);
    }
    cli_print_table(cli, &t);
    free(s.rows);
    return CLI_OK;
}
