/* verb_get.c - tunewire get: parameters read back from the device. */
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

static void print_value(tw_cli_t *cli, const char *node, const tunewire_v1_ParamDesc *d, const tw_bytes_t *v)
{
    char text[4096];
    const bool unit = d->unit[0] && strcmp(d->unit, "any") != 0;
    tw_value_format(d, v->data, (uint32_t)v->n, text, sizeof text);
    (void)fprintf(cli->out, "%s.%s = %s%s%s\n", node, d->name, text, unit ? " " : "", unit ? d->unit : "");
}

static bool get_one(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, const tunewire_v1_ParamDesc *d, json_t *list)
{
    tw_bytes_t v;
    uint32_t version = 0;
    char where[80];
    (void)snprintf(where, sizeof where, "%s.%s", node->name, d->name);
    if (!tw_client_get(cli->c, node->node, d->index, &v, NULL, &version)) {
        (void)cli_fail_client(cli, where);
        return false;
    }
    if (list) {
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s, s:i, s:o, s:s, s:i}", "node", node->name, "param", d->name,
                                              "index", (int)d->index, "value", cli_value_json(d, v.data, (uint32_t)v.n),
                                              "unit", d->unit, "version", (int)version));
    } else {
        print_value(cli, node->name, d, &v);
    }
    free(v.data);
    return true;
}

/* The block of all parameters as bytes: what a set of NODE.all takes. */
static bool get_block(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, json_t *list)
{
    tw_bytes_t v;
    if (!tw_client_get(cli->c, node->node, TW_CLIENT_ALL, &v, NULL, NULL)) {
        (void)cli_fail_client(cli, node->name);
        return false;
    }
    char *hex = calloc(v.n + 1, 2);
    for (size_t i = 0; hex && i < v.n; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", v.data[i]);
    }
    if (list) {
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s}", "node", node->name, "param", "all", "index",
                                                    TW_CLIENT_ALL, "hex", hex ? hex : ""));
    } else {
        (void)fprintf(cli->out, "%s.all = hex:%s\n", node->name, hex ? hex : "");
    }
    free(hex);
    free(v.data);
    return true;
}

static bool get_named(tw_cli_t *cli, const char *name, json_t *list)
{
    const char *param;
    tw_params_t p;
    const tunewire_v1_NodeInfo *node = cli_split_name(cli, name, &param);
    if (!node) {
        return false;
    }
    if (param && strcmp(param, "all") == 0) {
        return get_block(cli, node, list);
    }
    if (!tw_client_params(cli->c, node->node, &p)) {
        (void)cli_fail_client(cli, node->name);
        return false;
    }
    const tunewire_v1_ParamDesc *only = param ? cli_find_param(cli, node, &p, param) : NULL;
    bool ok = !param || only;
    for (uint32_t i = 0; i < p.n && ok; i++) {
        ok = (only && only != &p.rows[i]) || get_one(cli, node, &p.rows[i], list);
    }
    free(p.rows);
    return ok;
}

int verb_get(tw_cli_t *cli)
{
    json_t *list = cli->json ? json_array() : NULL;
    for (int i = 0; i < cli->n_args; i++) {
        if (!get_named(cli, cli->args[i], list)) {
            json_decref(list);
            return cli->exit;
        }
    }
    return list ? cli_json(cli, json_pack("{s:o}", "params", list)) : CLI_OK;
}
