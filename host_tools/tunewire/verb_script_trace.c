/* verb_script_trace.c - tunewire script trace: what scripts do, as it happens. */
#include "host_tools/tunewire/cli_script.h"
#include "host_tools/tunewire/debug_priv.h"

static bool on_event(void *ctx, const uint8_t *p, uint32_t n)
{
    debug_t *d = ctx;
    d->wait_ms--;
    return debug_print_event(d->cli, p, n) && d->wait_ms != 0;
}

int verb_script_trace(tw_cli_t *cli)
{
    tunewire_v1_ScriptTrace q = {.all = cli->n_args == 0};
    double count;
    debug_t d = {.cli = cli};
    tw_client_sink_t sink = {.data = on_event, .ctx = &d};
    if ((cli->n_args != 0 && !cli_script_index(cli, &q.index)) ||
        !cli_option_number(cli, "--count", 1, 1e9, 0, &count)) {
        return cli->exit;
    }
    d.wait_ms = (uint32_t)count; /* 0: wraps round, for ever */
    q.kinds = cli_option(cli, "--instructions") ? UINT32_MAX : 0;
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Script_Trace, .request = &q, .sink = &sink})) {
        return cli_fail_client(cli, cli->n_args ? cli->args[0] : "trace");
    }
    while (!sink.ended && tw_client_pump(cli->c, 1000)) {}
    const bool by_hand = cli_stopped(cli) || ferror(cli->out) || sink.err.kind == TW_CLIENT_STOPPED;
    const bool lost = sink.ended && sink.err.kind != TW_CLIENT_OK;
    tw_client_drop(cli->c, &sink);
    return by_hand || !lost ? CLI_OK : cli_fail_client(cli, "trace");
}
