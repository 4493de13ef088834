/* verb_script_compile.c - tunewire script compile: the readable language to words. */
#include "host_tools/tunewire/cli_lang.h"
#include "host_tools/tunewire/cli_script.h"
#include <stdlib.h>

/* Names of --graph, or of the device when -t is given; none otherwise. */
static bool open_world(tw_cli_t *cli, cli_world_t *w, bool *any)
{
    const char *graph = cli_option(cli, "--graph");
    tw_bytes_t image = {0};
    *w = (cli_world_t){0};
    *any = graph != NULL || cli_option(cli, "--target") != NULL;
    if (graph == NULL) {
        return !*any || (cli_connect(cli) && cli_world_device(cli, w));
    }
    const bool read =
        cli_has_suffix(graph, ".txt") ? cli_compile(cli, graph, &image, NULL, NULL) : cli_read_file(cli, graph, &image);
    const bool ok = read && cli_world_image(cli, graph, &image, w);
    free(image.data);
    return ok;
}

/* What the graph declares for the script that is meant to be replaced, if it has it. */
static bool read_options(tw_cli_t *cli, const cli_world_t *w, tw_sl_opts_t *opts)
{
    double script = 0;
    const char *given = cli_option(cli, "--script");
    if (given != NULL && !cli_number(cli, given, "script number", 0, 255, &script)) {
        return false;
    }
    opts->script = (uint32_t)script;
    if (given != NULL && w->limits != NULL && opts->script < w->world.n[TW_SL_SCRIPT]) {
        const cli_script_limits_t *l = &w->limits[opts->script];
        opts->regs = l->regs;
        opts->ptrs = l->ptrs;
        opts->stack = l->stack;
        opts->shared = l->shared;
        opts->mem_bytes = l->mem_bytes;
    }
    return cli_lang_limits(cli, opts);
}

static bool write_map(tw_cli_t *cli, const char *path, const cli_lang_t *l)
{
    json_t *lines = json_array();
    for (uint32_t i = 0; i < l->out->n_lines; i++) {
        (void)json_array_append_new(
            lines, json_pack("{s:i, s:i}", "pc", (int)l->out->lines[i].pc, "line", (int)l->out->lines[i].line));
    }
    json_t *doc = json_pack("{s:s, s:o}", "file", cli->args[0], "lines", lines);
    char *text = doc ? json_dumps(doc, JSON_INDENT(1)) : NULL;
    const bool ok = text && cli_write_file(cli, path, text, strlen(text));
    if (!text) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
    }
    free(text);
    json_decref(doc);
    return ok;
}

static void print_cost(FILE *f, const tw_sl_out_t *o)
{
    if (o->bounded) {
        (void)fprintf(f, "at most %u instructions a call\n", o->cost);
    } else {
        (void)fprintf(f, "unbounded loop: the budget decides how long a call may take\n");
    }
}

static int print_result(tw_cli_t *cli, const char *to, const cli_lang_t *l, size_t bytes)
{
    const tw_sl_out_t *o = l->out;
    if (cli->json) {
        json_t *doc = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:b}", "file", to, "code_bytes",
                                (int)o->code_bytes, "bytes", (int)bytes, "registers", o->regs, "pointers", o->ptrs,
                                "stack", o->stack, "memory", (int)o->mem_bytes, "bounded", o->bounded);
        if (doc && o->bounded) {
            (void)json_object_set_new(doc, "instructions", json_integer(o->cost));
        }
        return cli_json(cli, cli_with_diags(cli, doc));
    }
    FILE *f = strcmp(to, "-") == 0 ? cli->err : cli->out;
    (void)fprintf(f, "%s: %u bytes of code, %zu in all; script_registers %u, script_pointers %u, script_stack %u", to,
                  o->code_bytes, bytes, o->regs, o->ptrs, o->stack);
    if (o->mem_bytes > 0) {
        (void)fprintf(f, ", script_heap %u", (o->mem_bytes + 3) / 4);
    }
    (void)fputc('\n', f);
    if (cli_option(cli, "--cost")) {
        print_cost(f, o);
    }
    return CLI_OK;
}

static int deliver(tw_cli_t *cli, const cli_lang_t *l)
{
    char path[4096];
    tw_bytes_t code;
    const char *given = cli_option(cli, "--output"), *map = cli_option(cli, "--map");
    if (cli_option(cli, "--asm")) {
        tw_script_listing(cli->out, l->out, l->text.n ? (const char *)l->text.data : "", l->text.n);
        return !map || write_map(cli, map, l) ? CLI_OK : cli->exit;
    }
    cli_with_suffix(cli->args[0], ".bin", path, sizeof path);
    const char *to = given ? given : path;
    if (!cli_lang_bytes(l, &code)) {
        free(code.data);
        return cli_fail(cli, CLI_INPUT, to, "", "out of memory");
    }
    const bool ok = cli_write_script(cli, to, &code, l->out->code_bytes) && (!map || write_map(cli, map, l));
    const int exit = ok ? print_result(cli, to, l, code.n) : cli->exit;
    free(code.data);
    return exit;
}

int verb_script_compile(tw_cli_t *cli)
{
    cli_world_t w;
    cli_lang_t l;
    bool any;
    tw_sl_opts_t opts = {0};
    if (!open_world(cli, &w, &any)) {
        return cli->exit;
    }
    opts.world = any ? &w.world : NULL;
    int exit = cli->exit;
    if (read_options(cli, &w, &opts) && cli_lang_compile(cli, cli->args[0], &opts, &l)) {
        exit = deliver(cli, &l);
        cli_lang_free(&l);
    } else {
        exit = cli->exit;
    }
    cli_world_free(&w);
    return exit;
}
