/* verb_params.c - tunewire params: what can be set, and within which limits. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

enum { READ_ONLY = 1, SMOOTHED = 2, NOT_IN_ALL = 4 };

static json_t *param_json(const tunewire_v1_NodeInfo *node, const tunewire_v1_ParamDesc *p)
{
    const char *raw = tw_raw_name(p->type);
    return json_pack("{s:s, s:s, s:i, s:s, s:i, s:f, s:f, s:f, s:s, s:b, s:b}", "node", node->name, "name", p->name,
                     "index", (int)p->index, "type", raw ? raw : "?", "count", (int)p->count, "min", p->min, "max",
                     p->max, "default", p->default_value, "unit", p->unit, "read_only", (p->flags & READ_ONLY) != 0,
                     "smoothed", (p->flags & SMOOTHED) != 0);
}

static void add_rows(tw_table_t *t, const tunewire_v1_NodeInfo *node, const tw_params_t *params)
{
    for (uint32_t i = 0; i < params->n; i++) {
        const tunewire_v1_ParamDesc *p = &params->rows[i];
        const char *raw = tw_raw_name(p->type);
        cli_cell(t, "%s.%s", node->name, p->name);
        cli_cell(t, "%u", p->index);
        cli_cell(t, p->count > 1 ? "%s[%u]" : "%s", raw ? raw : "?", p->count);
        cli_cell(t, "%g", p->min);
        cli_cell(t, "%g", p->max);
        cli_cell(t, "%g", p->default_value);
        cli_cell(t, "%s", strcmp(p->unit, "any") == 0 ? "" : p->unit);
        cli_cell(t, "%s%s", p->flags & READ_ONLY ? "read-only " : "", p->flags & SMOOTHED ? "smoothed" : "");
    }
}

static bool add_node(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, json_t *list, tw_table_t *t)
{
    tw_params_t params;
    if (!tw_client_params(cli->c, node->node, &params)) {
        (void)cli_fail_client(cli, node->name);
        return false;
    }
    for (uint32_t i = 0; i < params.n && list; i++) {
        (void)json_array_append_new(list, param_json(node, &params.rows[i]));
    }
    if (!list) {
        add_rows(t, node, &params);
    }
    free(params.rows);
    return true;
}

int verb_params(tw_cli_t *cli)
{
    static const char *const heads[] = {"PARAMETER", "INDEX", "TYPE", "MIN", "MAX", "DEFAULT", "UNIT", "FLAGS"};
    const tunewire_v1_NodeInfo *only = cli->n_args ? cli_find_node(cli, cli->args[0]) : NULL;
    if (cli->n_args ? !only : !cli_nodes(cli)) {
        return cli->exit;
    }
    json_t *list = cli->json ? json_array() : NULL;
    tw_table_t t = {.columns = TW_COUNT(heads), .right = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5};
    for (size_t i = 0; i < TW_COUNT(heads) && !list; i++) {
        cli_cell(&t, "%s", heads[i]);
    }
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        const tunewire_v1_NodeInfo *node = &cli->nodes.rows[i];
        if ((!only || node == only) && !add_node(cli, node, list, &t)) {
            json_decref(list);
            free(t.cells);
            return cli->exit;
        }
    }
    if (list) {
        return cli_json(cli, json_pack("{s:o}", "params", list));
    }
    cli_print_table(cli, &t);
    return CLI_OK;
}
