/* verb_shadow.c - tunewire shadow: parameters tried on a double of a node, measured against the node that runs. */
#include "host_tools/tunewire/cli.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { SHOW_MS = 500, VALUE_MAX = 512 };

typedef struct shadow {
    tw_cli_t *cli;
    const tunewire_v1_NodeInfo *node;
    tunewire_v1_ShadowInfo info;
} shadow_t;

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double decibels(double v)
{
    return v > 1e-10 ? 20 * log10(v) : -200;
}

/* "PARAM=VALUE" to the shadow. */
static bool set_one(shadow_t *s, const tw_params_t *params, const char *word)
{
    tunewire_v1_ShadowSet q = tunewire_v1_ShadowSet_init_zero;
    char name[80], why[160];
    const char *equals = strchr(word, '=');
    uint32_t n;
    (void)snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word) : 0, word);
    if (!equals) {
        (void)cli_fail(s->cli, CLI_USAGE, word, "write PARAM=VALUE", "no value");
        return false;
    }
    const tunewire_v1_ParamDesc *d = cli_find_param(s->cli, s->node, params, name);
    if (!d) {
        return false;
    }
    if (!tw_value_parse(d, equals + 1, q.value.bytes, VALUE_MAX, &n, why, sizeof why)) {
        (void)cli_fail(s->cli, CLI_USAGE, word, "tunewire params shows what it takes", "%s", why);
        return false;
    }
    q.shadow = s->info.shadow;
    q.index = d->index;
    q.type = d->type;
    q.value.size = (pb_size_t)n;
    if (!tw_client_call(s->cli->c,
                        &(tw_client_call_t){.method = TW_M_Shadow_Set, .request = &q, .response = &s->info})) {
        (void)cli_fail_client(s->cli, word);
        return false;
    }
    return true;
}

static bool set_all(shadow_t *s)
{
    tw_params_t params;
    if (!tw_client_params(s->cli->c, s->node->node, &params)) {
        (void)cli_fail_client(s->cli, s->node->name);
        return false;
    }
    bool ok = true;
    for (int i = 1; ok && i < s->cli->n_args; i++) {
        ok = set_one(s, &params, s->cli->args[i]);
    }
    free(params.rows);
    return ok;
}

static bool metrics(shadow_t *s, bool restart, tunewire_v1_ShadowMetrics *m)
{
    const tunewire_v1_ShadowRef q = {.shadow = s->info.shadow, .restart = restart};
    *m = (tunewire_v1_ShadowMetrics)tunewire_v1_ShadowMetrics_init_zero;
    return tw_client_call(s->cli->c,
                          &(tw_client_call_t){.method = TW_M_Shadow_Metrics, .request = &q, .response = m}) ||
           (cli_fail_client(s->cli, s->node->name), false);
}

static void show(const shadow_t *s, const tunewire_v1_ShadowMetrics *m)
{
    (void)fprintf(s->cli->err, "\r\033[K%llu samples: difference %.1f dB rms, %.1f dB peak, correlation %.6f",
                  (unsigned long long)m->samples, decibels(m->diff_rms), decibels(m->diff_max), m->correlation);
}

static bool watch(shadow_t *s, double seconds, tunewire_v1_ShadowMetrics *m)
{
    const double end = now_s() + seconds;
    bool ok = metrics(s, true, m); /* what came before the last value was set does not count */
    while (ok && !cli_stopped(s->cli) && now_s() < end) {
        const double left = (end - now_s()) * 1000;
        ok = tw_client_pump(s->cli->c, (uint32_t)fmin(fmax(left, 1), SHOW_MS)) && metrics(s, false, m);
        if (ok && s->cli->err_tty && !s->cli->json) {
            show(s, m);
        }
    }
    if (s->cli->err_tty && !s->cli->json) {
        (void)fprintf(s->cli->err, "\r\033[K");
    }
    return ok;
}

static int print_result(const shadow_t *s, const tunewire_v1_ShadowMetrics *m, bool promoted, uint64_t tick)
{
    if (s->cli->json) {
        return cli_json(s->cli,
                        json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:b, s:I}", "node",
                                  s->node->name, "samples", (json_int_t)m->samples, "diff_rms_db",
                                  decibels(m->diff_rms), "diff_max", m->diff_max, "node_rms_db", decibels(m->node_rms),
                                  "shadow_rms_db", decibels(m->shadow_rms), "node_peak", m->node_peak, "shadow_peak",
                                  m->shadow_peak, "correlation", m->correlation, "runs", (int)m->runs, "unequal",
                                  (int)m->unequal, "errors", (int)m->errors, "not_numbers", (int)m->not_numbers,
                                  "promoted", promoted, "applied_tick", (json_int_t)tick));
    }
    (void)fprintf(s->cli->out,
                  "%s: %llu samples in %u runs\n"
                  "  node    %8.2f dB rms, %8.2f dB peak\n  shadow  %8.2f dB rms, %8.2f dB peak\n"
                  "  difference %.2f dB rms, at most %.6g; correlation %.6f\n",
                  s->node->name, (unsigned long long)m->samples, m->runs, decibels(m->node_rms), decibels(m->node_peak),
                  decibels(m->shadow_rms), decibels(m->shadow_peak), decibels(m->diff_rms), m->diff_max,
                  m->correlation);
    if (m->unequal + m->errors + m->not_numbers != 0) {
        (void)fprintf(s->cli->out, "  %u runs out of step, %u errors, %u samples not numbers\n", m->unequal, m->errors,
                      m->not_numbers);
    }
    if (promoted) {
        (void)fprintf(s->cli->out, "promoted at tick %llu\n", (unsigned long long)tick);
    }
    return CLI_OK;
}

static int promote(shadow_t *s, const tunewire_v1_ShadowMetrics *m)
{
    const tunewire_v1_ShadowRef q = {.shadow = s->info.shadow, .expect_version = s->info.version};
    tunewire_v1_ParamAck ack = tunewire_v1_ParamAck_init_zero;
    if (!tw_client_call(s->cli->c,
                        &(tw_client_call_t){.method = TW_M_Shadow_Promote, .request = &q, .response = &ack})) {
        return cli_fail_client(s->cli, "not promoted");
    }
    s->info.shadow = 0;
    return print_result(s, m, true, ack.applied_tick);
}

int verb_shadow(tw_cli_t *cli)
{
    double seconds, skip;
    tunewire_v1_ShadowMetrics m;
    shadow_t s = {.cli = cli, .node = cli_find_node(cli, cli->args[0])};
    if (!s.node || !cli_option_number(cli, "--seconds", 0.01, 1e6, 2, &seconds) ||
        !cli_option_number(cli, "--skip", 0, 4e9, 0, &skip)) {
        return cli->exit;
    }
    const tunewire_v1_ShadowReq q = {.node = s.node->node, .skip = (uint32_t)skip};
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Shadow_Start, .request = &q, .response = &s.info})) {
        return cli_fail_client(cli, s.node->name);
    }
    int code = CLI_STOPPED;
    if (!set_all(&s) || !watch(&s, seconds, &m)) {
        code = cli->exit;
    } else if (!cli_stopped(cli)) {
        code = cli_option(cli, "--promote") != NULL ? promote(&s, &m) : print_result(&s, &m, false, 0);
    }
    if (s.info.shadow != 0) {
        const tunewire_v1_ShadowRef ref = {.shadow = s.info.shadow};
        tw_client_tidy(cli->c, TW_M_Shadow_Drop, &ref, NULL);
    }
    return code;
}
