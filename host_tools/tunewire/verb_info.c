/* verb_info.c - tunewire info: who the device is and what it runs. */
#include "host_tools/tunewire/cli.h"
#include <inttypes.h>

static const char *role_name(uint32_t role)
{
    static const char *const names[] = {"view", "tune", "admin"};
    return role < TW_COUNT(names) ? names[role] : "?";
}

static json_t *device_json(const tunewire_v1_HelloRep *h)
{
    char boot[20]; /* 64 bits do not fit a JSON number everywhere */
    (void)snprintf(boot, sizeof boot, "%016" PRIx64, h->boot_id);
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:s, s:b}", "server", h->server, "build", h->build,
                     "major", (int)h->major, "minor", (int)h->minor, "max_frame", (int)h->max_frame, "window",
                     (int)h->window, "max_calls", (int)h->max_calls, "features", (json_int_t)h->features, "schema_crc",
                     (json_int_t)h->schema_crc, "boot_id", boot, "auth_required", (int)h->auth_required);
}

static void print_graph(tw_cli_t *cli, const tunewire_v1_GraphInfo *g)
{
    (void)fprintf(cli->out, "graph    %s, %s, generation %u, crc %08" PRIx32 "\n", g->name, cli_state_name(g->state),
                  g->generation, g->crc);
    (void)fprintf(cli->out, "         %u nodes, %u arcs, %u scripts\n", g->nodes, g->arcs, g->scripts);
    (void)fprintf(cli->out, "         tick %" PRIu64 ", block %g us, load %.1f %%, %u late\n", g->ticks,
                  g->block_ns / 1000.0, g->load_permille / 10.0, g->late_blocks);
    if (g->has_last_error && g->last_error.code != tunewire_v1_Code_OK) {
        (void)fprintf(cli->out, "         last error: %s (at %u)\n", g->last_error.text, g->last_error.where);
    }
}

int verb_info(tw_cli_t *cli)
{
    const tunewire_v1_HelloRep *h = tw_client_hello(cli->c);
    tunewire_v1_GraphInfo g;
    const bool loaded = tw_client_graph_info(cli->c, &g);
    if (!loaded && tw_client_error(cli->c)->detail != (uint32_t)-TW_E_NO_GRAPH) {
        return cli_fail_client(cli, "info");
    }
    const bool empty = !loaded || g.state == 0;
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:s, s:o, s:o}", "target", tw_client_peer(cli->c), "role",
                                       role_name(tw_client_role(cli->c)), "device", device_json(h), "graph",
                                       empty ? json_null() : cli_graph_json(&g)));
    }
    (void)fprintf(cli->out, "device   %s %s at %s, protocol %u.%u%s\n", h->server, h->build, tw_client_peer(cli->c),
                  h->major, h->minor, h->auth_required ? ", key required" : "");
    (void)fprintf(cli->out, "         frames %u bytes, window %u bytes, %u calls at once\n", h->max_frame, h->window,
                  h->max_calls);
    if (empty) {
        (void)fprintf(cli->out, "graph    none (tunewire load FILE)\n");
    } else {
        print_graph(cli, &g);
    }
    return CLI_OK;
}
