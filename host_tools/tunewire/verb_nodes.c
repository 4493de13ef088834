/* verb_nodes.c - tunewire nodes. */
#include "host_tools/tunewire/cli.h"

static void arc_list(const pb_size_t n, const uint32_t *arcs, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = '\0';
    for (pb_size_t i = 0; i < n && used + 12 < cap; i++) {
        used += (size_t)snprintf(out + used, cap - used, "%s%u", i ? "," : "", arcs[i]);
    }
}

static json_t *arcs_json(pb_size_t n, const uint32_t *arcs)
{
    json_t *list = json_array();
    for (pb_size_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, json_integer(arcs[i]));
    }
    return list;
}

static json_t *node_json(const tunewire_v1_NodeInfo *r)
{
    return json_pack("{s:i, s:s, s:s, s:i, s:o, s:o, s:f, s:I, s:i, s:I, s:I, s:I}", "node", (int)r->node, "name",
                     r->name, "type", r->type, "params", (int)r->params, "in_arcs",
                     arcs_json(r->in_arcs_count, r->in_arcs), "out_arcs", arcs_json(r->out_arcs_count, r->out_arcs),
                     "load", r->load_permille / 1000.0, "runs", (json_int_t)r->runs, "errors", (int)r->errors,
                     "run_ns_last", (json_int_t)r->run_ns_last, "run_ns_avg", (json_int_t)r->run_ns_avg, "run_ns_max",
                     (json_int_t)r->run_ns_max);
}

static int print_json(tw_cli_t *cli)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        (void)json_array_append_new(list, node_json(&cli->nodes.rows[i]));
    }
    return cli_json(cli, json_pack("{s:o}", "nodes", list));
}

int verb_nodes(tw_cli_t *cli)
{
    static const char *const heads[] = {"NODE", "NAME", "TYPE", "PARAMS", "IN",    "OUT",
                                        "LOAD", "RUNS", "MEAN", "MAX",    "ERRORS"};
    tw_table_t t = {.columns = TW_COUNT(heads), .right = 1 << 0 | 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10};
    if (!cli_nodes(cli)) {
        return cli->exit;
    }
    if (cli->json) {
        return print_json(cli);
    }
    for (size_t i = 0; i < TW_COUNT(heads); i++) {
        cli_cell(&t, "%s", heads[i]);
    }
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        const tunewire_v1_NodeInfo *r = &cli->nodes.rows[i];
        char in[160], out[160];
        arc_list(r->in_arcs_count, r->in_arcs, in, sizeof in);
        arc_list(r->out_arcs_count, r->out_arcs, out, sizeof out);
        cli_cell(&t, "%u", r->node);
        cli_cell(&t, "%s", r->name);
        cli_cell(&t, "%s", r->type);
        cli_cell(&t, "%u", r->params);
        cli_cell(&t, "%s", in);
        cli_cell(&t, "%s", out);
        cli_cell(&t, "%.1f%%", r->load_permille / 10.0);
        cli_cell(&t, "%u", r->runs);
        cli_cell(&t, "%.2f us", r->run_ns_avg / 1000.0);
        cli_cell(&t, "%.2f us", r->run_ns_max / 1000.0);
        cli_cell(&t, "%u", r->errors);
    }
    cli_print_table(cli, &t);
    return CLI_OK;
}
