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

/* ---- --debug ------------------------------------------------------------------------- */

static const char *task_name(uint32_t cmd)
{
    static const char *const names[16] = {"",     "count", "clear", "set",  "increment", "",        "call",     "call",
                                          "rate", "time",  "peak",  "mean", "min",       "abs min", "abs mean", "loop"};
    return names[cmd & 15u];
}

static bool of_samples(uint32_t cmd)
{
    return (cmd & 15u) >= 10 && (cmd & 15u) <= 14;
}

static double number_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool state_of(tw_cli_t *cli, const tunewire_v1_ArcInfo *a, tunewire_v1_ArcState *st)
{
    const tunewire_v1_ArcRef ref = {.arc = a->arc};
    *st = (tunewire_v1_ArcState)tunewire_v1_ArcState_init_zero;
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Arc_State, .request = &ref, .response = st})) {
        (void)cli_fail_client(cli, a->name);
        return false;
    }
    return true;
}

static json_t *state_json(const tunewire_v1_ArcInfo *a, const tunewire_v1_ArcState *st)
{
    json_t *o = json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "arc", (int)a->arc, "name", a->name, "bytes",
                          (json_int_t)st->size, "fill", (json_int_t)st->fill, "max_fill", (json_int_t)st->max_fill,
                          "overflows", (json_int_t)st->overflow, "underflows", (json_int_t)st->underflow, "realigns",
                          (json_int_t)st->realigns);
    if (st->debug_cmd != 0) {
        json_t *value = of_samples(st->debug_cmd) ? json_real(number_of(st->debug_value))
                                                  : json_integer((json_int_t)st->debug_value);
        (void)json_object_set_new(o, "debug",
                                  json_pack("{s:s, s:i, s:o}", "task", task_name(st->debug_cmd), "register",
                                            (int)st->debug_reg, "value", value));
    }
    if (st->has_io) {
        const tunewire_v1_IoState *io = &st->io;
        (void)json_object_set_new(o, "io",
                                  json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hwid",
                                            (json_int_t)io->hwid, "frames", (json_int_t)io->frames, "acks",
                                            (json_int_t)io->acks, "holes", (json_int_t)io->holes, "lost",
                                            (json_int_t)io->lost, "stray", (json_int_t)io->stray, "starts_refused",
                                            (json_int_t)io->starts_refused, "stamp_errors",
                                            (json_int_t)io->stamp_errors, "moves", (json_int_t)io->moves));
    }
    return o;
}

static void state_cells(tw_table_t *t, const tunewire_v1_ArcInfo *a, const tunewire_v1_ArcState *st)
{
    const tunewire_v1_IoState *io = &st->io;
    cli_cell(t, "%u", a->arc);
    cli_cell(t, "%s", a->name);
    cli_cell(t, "%u", st->fill);
    cli_cell(t, "%u", st->max_fill);
    cli_cell(t, "%u B", st->size);
    cli_cell(t, "%u", st->overflow);
    cli_cell(t, "%u", st->underflow);
    cli_cell(t, "%u", st->realigns);
    if (st->debug_cmd == 0) {
        cli_cell(t, "-");
    } else if (of_samples(st->debug_cmd)) {
        cli_cell(t, "r%u %s %.6g", st->debug_reg, task_name(st->debug_cmd), number_of(st->debug_value));
    } else {
        cli_cell(t, "r%u %s %llu", st->debug_reg, task_name(st->debug_cmd), (unsigned long long)st->debug_value);
    }
    if (st->has_io) {
        cli_cell(t, "%u frames, %u holes, %u lost", io->frames, io->holes, io->lost + io->stray);
    } else {
        cli_cell(t, "-");
    }
}

static int debug(tw_cli_t *cli)
{
    static const char *const heads[] = {"ARC",  "NAME",  "FILL",    "MOST",  "BUFFER",
                                        "OVER", "UNDER", "ALIGNED", "DEBUG", "IO"};
    tw_table_t t = {.columns = TW_COUNT(heads), .right = 1 << 0 | 0xFC};
    json_t *list = json_array();
    for (size_t i = 0; i < TW_COUNT(heads); i++) {
        cli_cell(&t, "%s", heads[i]);
    }
    for (uint32_t i = 0; i < cli->arcs.n; i++) {
        tunewire_v1_ArcState st;
        if (!state_of(cli, &cli->arcs.rows[i], &st)) {
            json_decref(list);
            return cli->exit;
        }
        (void)json_array_append_new(list, state_json(&cli->arcs.rows[i], &st));
        state_cells(&t, &cli->arcs.rows[i], &st);
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:o}", "arcs", list));
    }
    json_decref(list);
    cli_print_table(cli, &t);
    return CLI_OK;
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
    if (cli_option(cli, "--debug") != NULL) {
        return debug(cli);
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
