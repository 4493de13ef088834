/* verb_log.c - tunewire log: what the device noted, and what it notes from now on. */
#include "host_tools/tunewire/cli.h"

static const char *const levels[] = {"", "error", "warn", "info", "debug"};
static const char *const sources[] = {"", "server", "session", "graph", "script", "io", "phy"};

static bool print_line(void *ctx, const tunewire_v1_LogLine *l)
{
    tw_cli_t *cli = ctx;
    const char *level = l->level < TW_COUNT(levels) ? levels[l->level] : "?";
    const char *src = l->src < TW_COUNT(sources) ? sources[l->src] : "?";
    if (cli->json) {
        cli_json_line(cli, json_pack("{s:I, s:I, s:s, s:s, s:s}", "seq", (json_int_t)l->seq, "t_us",
                                     (json_int_t)l->t_us, "level", level, "src", src, "text", l->text));
        return true;
    }
    const char *sgr = l->level == 1 ? "\033[31m" : l->level == 2 ? "\033[33m" : "";
    (void)fprintf(cli->out, "%11.6f %s%-5s%s %-7s %s\n", (double)l->t_us / 1e6, cli_sgr(cli, sgr), level,
                  cli_sgr(cli, "\033[0m"), src, l->text);
    (void)fflush(cli->out);
    return ferror(cli->out) == 0;
}

static bool read_level(tw_cli_t *cli, uint32_t *level)
{
    const char *text = cli_option(cli, "--level");
    *level = 3;
    for (uint32_t i = 1; i < TW_COUNT(levels) && text; i++) {
        if (strcmp(text, levels[i]) == 0) {
            *level = i;
            return true;
        }
    }
    if (text) {
        const char *near = cli_nearest(text, levels + 1, TW_COUNT(levels) - 1);
        char hint[60];
        (void)snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "error, warn, info or debug", near);
        (void)cli_fail(cli, CLI_USAGE, text, hint, "no such level");
    }
    return !text;
}

int verb_log(tw_cli_t *cli)
{
    tw_log_t log = {.line = print_line, .ctx = cli};
    uint32_t level;
    if (!read_level(cli, &level)) {
        return cli->exit;
    }
    if (!cli_option(cli, "--follow")) {
        return tw_client_log_read(cli->c, level, 0, &log) ? CLI_OK : cli_fail_client(cli, "log");
    }
    if (!tw_client_log_follow(cli->c, level, &log)) {
        return cli_fail_client(cli, "log");
    }
    while (!log.sink.ended && tw_client_pump(cli->c, 1000)) {}
    const bool by_hand = cli_stopped(cli) || ferror(cli->out);
    const bool lost = log.sink.ended && log.sink.err.kind != TW_CLIENT_OK && log.sink.err.kind != TW_CLIENT_STOPPED;
    tw_client_drop(cli->c, &log.sink);
    return by_hand || !lost ? CLI_OK : cli_fail_client(cli, "log");
}
