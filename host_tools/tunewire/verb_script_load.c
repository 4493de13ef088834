/* verb_script_load.c - tunewire script load: replace a script while the graph runs. */
#include "host_tools/tunewire/cli_lang.h"
#include "host_tools/tunewire/cli_script.h"
#include <stdlib.h>

static int print_result(tw_cli_t *cli, uint32_t index, const tunewire_v1_ScriptInfo *info, size_t bytes)
{
    if (cli->json) {
        return cli_json(cli, json_pack("{s:i, s:s, s:i, s:I}", "script", (int)index, "name", info->name, "bytes",
                                       (int)info->size, "crc", (json_int_t)info->crc));
    }
    (void)fprintf(cli->out, "script %u: %zu bytes installed\n", index, bytes);
    return CLI_OK;
}

static int load(tw_cli_t *cli, uint32_t index, const tw_bytes_t *code, uint32_t code_bytes)
{
    tunewire_v1_ScriptInfo info;
    if (!tw_client_script_load(cli->c, index, code->data, (uint32_t)code->n, code_bytes, &info)) {
        return cli_fail_client(cli, cli->args[1]);
    }
    return print_result(cli, index, &info, code->n);
}

/* A device does not say what the script was declared with. Its last pointer shows the memory: try which one it is. */
static bool wants_other_pointer(const tw_cli_t *cli, const tw_sl_opts_t *opts)
{
    const tw_client_error_t *e = tw_client_error(cli->c);
    return !cli_option(cli, "--pointers") && opts->ptrs < 6 && e->kind == TW_CLIENT_DEVICE &&
           e->detail == (uint32_t) - (int32_t)TW_E_SCR_BAD_PTR;
}

static int compile_and_load(tw_cli_t *cli, uint32_t index)
{
    cli_world_t w;
    tw_sl_opts_t opts = {.ptrs = 2, .code_bytes = 512, .script = index};
    tunewire_v1_ScriptInfo info;
    int exit;
    if (!cli_lang_limits(cli, &opts) || !cli_world_device(cli, &w)) {
        return cli->exit;
    }
    opts.world = &w.world;
    for (bool again = true; again; opts.ptrs++) {
        cli_lang_t l;
        tw_bytes_t code = {0};
        again = false;
        if (!cli_lang_compile(cli, cli->args[1], &opts, &l)) {
            exit = cli->exit;
        } else if (!cli_lang_bytes(&l, &code)) {
            exit = cli_fail(cli, CLI_INPUT, cli->args[1], "", "out of memory");
        } else if (tw_client_script_load(cli->c, index, code.data, (uint32_t)code.n, l.out->code_bytes, &info)) {
            exit = print_result(cli, index, &info, code.n);
        } else {
            again = wants_other_pointer(cli, &opts);
            exit = again ? CLI_OK : cli_fail_client(cli, cli->args[1]);
        }
        free(code.data);
        cli_lang_free(&l);
    }
    cli_world_free(&w);
    return exit;
}

int verb_script_load(tw_cli_t *cli)
{
    tw_bytes_t code;
    uint32_t index, code_bytes;
    if (!cli_script_index(cli, &index)) {
        return cli->exit;
    }
    if (cli_has_suffix(cli->args[1], ".tws")) {
        return compile_and_load(cli, index);
    }
    if (!cli_read_script(cli, cli->args[1], &code, &code_bytes)) {
        return cli->exit;
    }
    const int exit = load(cli, index, &code, code_bytes);
    free(code.data);
    return exit;
}
