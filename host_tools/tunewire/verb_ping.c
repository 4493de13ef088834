/* verb_ping.c - tunewire ping: round trips, as the protocol sees them. */
#include "host_tools/tunewire/cli.h"
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool ping_once(tw_cli_t *cli, int seq, double *us)
{
    tunewire_v1_PingReq req = {.payload = {.size = 4}};
    tunewire_v1_PingRep rep = tunewire_v1_PingRep_init_zero;
    tw_put_le32(req.payload.bytes, (uint32_t)seq);
    const double start = now_us();
    const bool ok =
        tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Session_Ping, .request = &req, .response = &rep});
    *us = now_us() - start;
    if (ok && (rep.payload.size != 4 || tw_get_le32(rep.payload.bytes) != (uint32_t)seq)) {
        (void)cli_fail(cli, CLI_DEVICE, tw_client_peer(cli->c), "is this a Tunewire device?", "other bytes came back");
        return false;
    }
    if (!ok) {
        (void)cli_fail_client(cli, NULL);
        return false;
    }
    if (cli->json) {
        cli_json_line(cli, json_pack("{s:i, s:f, s:I}", "seq", seq, "us", *us, "t_us", (json_int_t)rep.t_us));
    } else {
        (void)fprintf(cli->out, "%s: seq %d, %.0f us\n", tw_client_peer(cli->c), seq, *us);
        (void)fflush(cli->out);
    }
    return true;
}

int verb_ping(tw_cli_t *cli)
{
    double count, pause, us, sum = 0, low = 0, high = 0;
    int n = 0;
    if (!cli_option_number(cli, "--count", 1, 1e9, 4, &count) ||
        !cli_option_number(cli, "--interval", 0, 3.6e6, 200, &pause)) {
        return cli->exit;
    }
    while (n < (int)count && !cli_stopped(cli)) {
        if (!ping_once(cli, n, &us)) {
            return cli->exit;
        }
        sum += us;
        low = n == 0 || us < low ? us : low;
        high = us > high ? us : high;
        n++;
        if (n < (int)count && !tw_client_pump(cli->c, (uint32_t)pause) && !cli_stopped(cli)) {
            return cli_fail_client(cli, NULL);
        }
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:i, s:f, s:f, s:f}", "count", n, "min_us", low, "mean_us", n ? sum / n : 0,
                                       "max_us", high));
    }
    (void)fprintf(cli->out, "%d round trips: min %.0f, mean %.0f, max %.0f us\n", n, low, n ? sum / n : 0, high);
    return CLI_OK;
}
