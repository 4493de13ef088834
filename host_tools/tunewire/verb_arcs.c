/* verb_arcs.c - tunewire arcs, tunewire arc list. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli.h"

#define GRAPH_IO 0xFFFu /* an end of an arc that is no node */

static const char *end_name(const tw_cli_t *cli, uint32_t node, char *out, size_t cap)
{
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        if (cli->nodes.rows[i].node == node) {
            return cli->nodes.rows[i].name;
        }
    }
    (void)snprintf(out, cap, node == GRAPH_IO ? "(io)" : "%u", node);
    return out;
}

static const char *raw_name(uint32_t raw)
{
    const char *name = tw_raw_name(raw);
    return name ? name : "?";
}

static json_t *arc_json(const tw_cli_t *cli, const tunewire_v1_ArcInfo *a)
{
    char from[16], to[16];
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:f, s:i, s:i, s:i, s:i, s:I, s:I, s:I}", "arc", (int)a->arc,
                     "name", a->name, "from", end_name(cli, a->from_node, from, sizeof from), "to",
                     end_name(cli, a->to_node, to, sizeof to), "raw", raw_name(a->raw), "channels", (int)a->channels,
                     "rate", (double)a->rate, "frame_bytes", (int)a->frame_bytes, "bytes", (int)a->bytes, "fill",
                     (int)a->fill, "max_fill", (int)a->max_fill, "overflows", (json_int_t)a->overflows, "underflows",
                     (json_int_t)a->underflows, "realigns", (json_int_t)a->realigns);
}

static int print_json(tw_cli_t *cli)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < cli->arcs.n; i++) {
        (void)json_array_append_new(list, arc_json(cli, &cli->arcs.rows[i]));
    }
    return cli_json(cli, json_pack("{s:o}", "arcs", list));
}

int verb_arcs(tw_cli_t *cli)
{
    static const char *const heads[] = {"ARC",  "NAME",  "FROM",   "TO",  "TYPE", "CH",
                                        "RATE", "FRAME", "BUFFER", "MAX", "LOST", "HOLES"};
    tw_table_t t = {.columns = TW_COUNT(heads),
                    .right = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11};
    if (!cli_nodes(cli) || !cli_arcs(cli)) {
        return cli->exit;
    }
    if (cli->json) {
        return print_json(cli);
    }
    for (size_t i = 0; i < TW_COUNT(heads); i++) {
        cli_cell(&t, "%s", heads[i]);
    }
    for (uint32_t i = 0; i < cli->arcs.n; i++) {
        const tunewire_v1_ArcInfo *a = &cli->arcs.rows[i];
        char from[16], to[16];
        cli_cell(&t, "%u", a->arc);
        cli_cell(&t, "%s", a->name);
        cli_cell(&t, "%s", end_name(cli, a->from_node, from, sizeof from));
        cli_cell(&t, "%s", end_name(cli, a->to_node, to, sizeof to));
        cli_cell(&t, "%s", raw_name(a->raw));
        cli_cell(&t, "%u", a->channels);
        cli_cell(&t, "%g Hz", (double)a->rate);
        cli_cell(&t, "%u B", a->frame_bytes);
        cli_cell(&t, "%u B", a->bytes);
        cli_cell(&t, "%u B", a->max_fill);
        cli_cell(&t, "%u", a->overflows);
        cli_cell(&t, "%u", a->underflows);
    }
    cli_print_table(cli, &t);
    return CLI_OK;
}
