/* cli_main.c - from a command line to one verb's function, and the connection it may need. */
#include "engine/base/version.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>
#include <unistd.h>

bool cli_stopped(const tw_cli_t *cli)
{
    return cli->stop && *cli->stop;
}

bool cli_connect(tw_cli_t *cli)
{
    tw_key_t key = {.len = 0};
    double timeout;
    char why[160];
    const char *path = cli_option(cli, "--key");
    if (!cli_option_number(cli, "--timeout", 1, 3600000, 5000, &timeout)) {
        return false;
    }
    if (path && !tw_key_read(path, &key, why, sizeof why)) {
        (void)cli_fail(cli, CLI_INPUT, path, "a key file holds one line [ID:]HEX", "key not readable (%s)", why);
        return false;
    }
    const tw_client_cfg_t cfg = {.uri = cli_option(cli, "--target"),
                                 .key = path ? &key : NULL,
                                 .timeout_ms = (uint32_t)timeout,
                                 .stop = cli->stop};
    bool ok;
    cli->c = tw_client_open(&cfg, &ok);
    if (!cli->c) {
        (void)cli_fail(cli, CLI_CONNECT, "tunewire", "", "out of memory");
    } else if (!ok) {
        (void)cli_fail_client(cli, NULL);
    }
    return cli->c && ok;
}

static bool arguments_fit(tw_cli_t *cli)
{
    const tw_verb_t *v = cli->verb;
    if (cli->n_args >= v->min && (v->max < 0 || cli->n_args <= v->max)) {
        return true;
    }
    char usage[160];
    (void)snprintf(usage, sizeof usage, "usage: tunewire %s %s", v->name, v->args);
    (void)cli_fail(cli, CLI_USAGE, cli->n_args < v->min ? v->name : cli->args[v->max], usage,
                   cli->n_args < v->min ? "something is missing" : "more than was expected");
    return false;
}

static int run_verb(tw_cli_t *cli)
{
    if (cli_option(cli, "--version")) {
        (void)fprintf(cli->out, "tunewire %s\n", TW_VERSION);
        return CLI_OK;
    }
    if (!cli->verb || cli_option(cli, "--help")) {
        const bool asked = cli_option(cli, "--help") != NULL;
        cli_print_help(asked ? cli->out : cli->err, cli->verb);
        return asked ? CLI_OK : CLI_USAGE;
    }
    if (!arguments_fit(cli) || (cli->verb->online && !cli_connect(cli))) {
        return cli->exit;
    }
    return cli->verb->run(cli);
}

/* --json decides how a bad command line is reported, wherever it stands. */
static bool wants_json(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

int tw_cli_main(int argc, char *const *argv, FILE *out, FILE *err, const volatile sig_atomic_t *stop)
{
    tw_cli_t *cli = calloc(1, sizeof *cli);
    if (!cli) {
        return CLI_DEVICE;
    }
    cli->out = out;
    cli->err = err;
    cli->stop = stop;
    cli->json = wants_json(argc, argv);
    cli->out_tty = isatty(fileno(out)) == 1;
    cli->err_tty = isatty(fileno(err)) == 1;
    const char *no_colour = getenv("NO_COLOR");
    const bool colour = !no_colour || !no_colour[0];
    cli->colour = colour && cli->out_tty && !cli->json;
    cli->err_colour = colour && cli->err_tty;
    const int code = cli_parse(cli, argc, argv) ? run_verb(cli) : cli->exit;
    tw_client_close(cli->c);
    json_decref(cli->diagnostics);
    free(cli->nodes.rows);
    free(cli->arcs.rows);
    free(cli);
    const bool written = fflush(out) == 0 && !ferror(out);
    return written || code != CLI_OK ? code : CLI_INPUT;
}
