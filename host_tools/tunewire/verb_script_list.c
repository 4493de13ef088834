/* verb_script_list.c - tunewire script list. */
#include "host_tools/tunewire/cli.h"
#include <inttypes.h>
#include <stdlib.h>

static const char *state_name(const tunewire_v1_ScriptInfo *s)
{
    return s->state == 0 ? "ready" : "disabled";
}

static const char *last_error(const tunewire_v1_ScriptInfo *s)
{
    return s->has_last_error && s->last_error.code != tunewire_v1_Code_OK ? s->last_error.text : "";
}

static json_t *to_json(const tw_scripts_t *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n; i++) {
        const tunewire_v1_ScriptInfo *r = &s->rows[i];
        (void)json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:I, s:s, s:i, s:i, s:s}", "script", (int)r->index,
                                                    "name", r->name, "bytes", (int)r->size, "crc", (json_int_t)r->crc,
                                                    "state", state_name(r), "runs", (int)r->runs, "faults",
                                                    (int)r->faults, "last_error", last_error(r)));
    }
    return json_pack("{s:o}", "scripts", list);
}

int verb_script_list(tw_cli_t *cli)
{
    static const char *const heads[] = {"SCRIPT", "NAME", "BYTES", "CRC", "STATE", "RUNS", "FAULTS", "LAST ERROR"};
    tw_table_t t = {.columns = TW_COUNT(heads), .right = 1 << 0 | 1 << 2 | 1 << 5 | 1 << 6};
    tw_scripts_t s;
    if (!tw_client_scripts(cli->c, &s)) {
        return cli_fail_client(cli, "scripts");
    }
    if (cli->json) {
        json_t *doc = to_json(&s);
        free(s.rows);
        return cli_json(cli, doc);
    }
    for (size_t i = 0; i < TW_COUNT(heads); i++) {
        cli_cell(&t, "%s", heads[i]);
    }
    for (uint32_t i = 0; i < s.n; i++) {
        const tunewire_v1_ScriptInfo *r = &s.rows[i];
        cli_cell(&t, "%u", r->index);
        cli_cell(&t, "%s", r->name);
        cli_cell(&t, "%u", r->size);
        cli_cell(&t, "%08" PRIx32, r->crc);
        cli_cell(&t, "%s", state_name(r));
        cli_cell(&t, "%u", r->runs);
        cli_cell(&t, "%u", r->faults);
        cli_cell(&t, "%s", last_error(r));
    }
    free(s.rows);
    cli_print_table(cli, &t);
    return CLI_OK;
}
