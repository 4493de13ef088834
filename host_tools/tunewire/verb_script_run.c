/* verb_script_run.c - tunewire script run: one call of a script, and its registers. */
#include "host_tools/tunewire/cli_script.h"
#include <errno.h>
#include <stdlib.h>

enum { REGISTERS = 6 }; /* r0..r5, then the flag T */

static bool read_args(tw_cli_t *cli, tunewire_v1_ScriptRun *req)
{
    for (int i = 1; i < cli->n_args; i++) {
        char *end;
        errno = 0;
        const long long v = strtoll(cli->args[i], &end, 0);
        if (errno || end == cli->args[i] || *end) {
            (void)cli_fail(cli, CLI_USAGE, cli->args[i], "give whole numbers", "not an argument");
            return false;
        }
        req->args[req->args_count++] = v;
    }
    return true;
}

static int print_result(tw_cli_t *cli, uint32_t index, const tunewire_v1_ScriptResult *r)
{
    if (cli->json) {
        json_t *regs = json_array();
        for (pb_size_t i = 0; i < r->regs_count; i++) {
            (void)json_array_append_new(regs, json_integer(r->regs[i]));
        }
        return cli_json(cli, json_pack("{s:i, s:o, s:i}", "script", (int)index, "regs", regs, "used", (int)r->used));
    }
    for (pb_size_t i = 0; i < r->regs_count; i++) {
        if (i < REGISTERS) {
            (void)fprintf(cli->out, "r%u=%lld ", (unsigned)i, (long long)r->regs[i]);
        } else if (i == REGISTERS) {
            (void)fprintf(cli->out, "T=%lld ", (long long)r->regs[i]);
        }
    }
    (void)fprintf(cli->out, "(%u instructions)\n", r->used);
    return CLI_OK;
}

int verb_script_run(tw_cli_t *cli)
{
    tunewire_v1_ScriptRun req = tunewire_v1_ScriptRun_init_zero;
    tunewire_v1_ScriptResult rep = tunewire_v1_ScriptResult_init_zero;
    double budget;
    if (!cli_script_index(cli, &req.index) || !read_args(cli, &req) ||
        !cli_option_number(cli, "--budget", 1, 65536, 0, &budget)) {
        return cli->exit;
    }
    req.budget = (uint32_t)budget;
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Script_Run, .request = &req, .response = &rep})) {
        return cli_fail_client(cli, cli->args[0]);
    }
    if (rep.has_status && rep.status.code != tunewire_v1_Code_OK) {
        return cli_fail(cli, CLI_DEVICE, cli->args[0], tw_client_hint((uint32_t)rep.status.code, rep.status.detail),
                        "%s (at byte %u, after %u instructions)", rep.status.text, rep.status.where, rep.used);
    }
    return print_result(cli, req.index, &rep);
}
