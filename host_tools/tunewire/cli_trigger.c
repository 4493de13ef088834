/* cli_trigger.c - see cli_trigger.h. */
#include "host_tools/tunewire/cli_trigger.h"
#include <math.h>
#include <stdlib.h>

/* "-20dB" is a level below full scale and of either sign; a plain number is in the arc's unit. */
static bool level(const char *text, double full_scale, double *out, bool *decibels, const char **end)
{
    char *e;
    *out = strtod(text, &e);
    *decibels = strncasecmp(e, "db", 2) == 0;
    if (*decibels) {
        *out = full_scale * pow(10, *out / 20);
        e += 2;
        e += strncasecmp(e, "fs", 2) == 0 ? 2 : 0;
    }
    *end = e;
    return e != text && isfinite(*out);
}

static bool fail(char why[120], const char *text)
{
    (void)snprintf(why, 120, "%s", text);
    return false;
}

static bool edge(const char *text, double full_scale, tunewire_v1_ProbeReq *q, char why[120])
{
    double v;
    bool db;
    const char *end;
    q->trigger = tunewire_v1_ProbeReq_Trigger_LEVEL;
    q->edge = text[0] == '>' ? tunewire_v1_ProbeReq_Edge_RISING : tunewire_v1_ProbeReq_Edge_FALLING;
    if (!level(text + 1, full_scale, &v, &db, &end) || *end != '\0') {
        return fail(why, "a level is a number in the arc's unit, or -20dB");
    }
    q->low = (float)v;
    q->magnitude = q->magnitude || db;
    return true;
}

static bool window(const char *text, double full_scale, tunewire_v1_ProbeReq *q, char why[120])
{
    double lo, hi;
    bool a, b;
    const char *end;
    q->trigger = tunewire_v1_ProbeReq_Trigger_LEVEL;
    if (!level(text, full_scale, &lo, &a, &end) || strncmp(end, "..", 2) != 0 ||
        !level(end + 2, full_scale, &hi, &b, &end) || *end != '\0' || lo > hi) {
        return fail(why, "a window is LOW..HIGH");
    }
    q->low = (float)lo;
    q->high = (float)hi;
    q->magnitude = q->magnitude || (a && b);
    return true;
}

static bool number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out <= max;
}

bool cli_trigger_parse(const char *text, double full_scale, tunewire_v1_ProbeReq *q, char why[120])
{
    uint64_t n;
    if (strncmp(text, "level", 5) == 0 && (text[5] == '>' || text[5] == '<')) {
        return edge(text + 5, full_scale, q, why);
    }
    if (strncmp(text, "enter:", 6) == 0 || strncmp(text, "leave:", 6) == 0) {
        q->edge = text[0] == 'e' ? tunewire_v1_ProbeReq_Edge_ENTER : tunewire_v1_ProbeReq_Edge_LEAVE;
        return window(text + 6, full_scale, q, why);
    }
    if (strcmp(text, "flow") == 0 || strcmp(text, "empty") == 0 || strcmp(text, "full") == 0) {
        q->trigger = tunewire_v1_ProbeReq_Trigger_FLOW;
        q->flow = strcmp(text, "empty") == 0 ? 1 : strcmp(text, "full") == 0 ? 2 : 0;
        return true;
    }
    if (strncmp(text, "tick:", 5) == 0 && number(text + 5, UINT64_MAX, &n)) {
        q->trigger = tunewire_v1_ProbeReq_Trigger_TICK;
        q->tick = n;
        return true;
    }
    if (strncmp(text, "script:", 7) == 0 && number(text + 7, UINT32_MAX, &n)) {
        q->trigger = tunewire_v1_ProbeReq_Trigger_SCRIPT;
        q->script = (uint32_t)n;
        return true;
    }
    if (strcmp(text, "now") == 0) {
        q->trigger = tunewire_v1_ProbeReq_Trigger_NOW;
        return true;
    }
    return fail(why, "level>L, level<L, enter:L..H, leave:L..H, flow, empty, full, tick:N, script:N or now");
}

bool cli_samples_of(const char *text, double rate_hz, uint32_t *out)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
    char *end;
    const double v = strtod(text, &end);
    double samples = *end == '\0' ? v : -1;
    for (size_t i = 0; i < TW_COUNT(units); i++) {
        if (strcmp(end, units[i].unit) == 0 && rate_hz > 0) {
            samples = v * units[i].seconds * rate_hz;
        }
    }
    if (end == text || !(samples >= 0) || samples > 1e9) {
        return false;
    }
    *out = (uint32_t)(samples + 0.5);
    return true;
}

static bool length(tw_cli_t *cli, const char *name, const char *dflt, double rate, uint32_t *out)
{
    const char *text = cli_option(cli, name);
    if (!cli_samples_of(text != NULL ? text : rate > 0 ? dflt : "256", rate, out)) {
        (void)cli_fail(cli, CLI_USAGE, name, "10ms, 0.5s or a number of samples; without a rate only that",
                       "'%s' is not a length", text != NULL ? text : dflt);
        return false;
    }
    return true;
}

static bool choice(tw_cli_t *cli, const char *option, const char *const *names, int n, int *out)
{
    const char *text = cli_option(cli, option);
    for (int i = 0; i < n; i++) {
        if (text == NULL || strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    (void)cli_fail(cli, CLI_USAGE, option, "tunewire help probe", "'%s' is none of its values", text);
    return false;
}

static bool numbers(tw_cli_t *cli, tunewire_v1_ProbeReq *q)
{
    double channel, hysteresis, every, rate;
    if (!cli_option_number(cli, "--channel", 0, 31, 0, &channel) ||
        !cli_option_number(cli, "--hysteresis", 0, 1e12, 0, &hysteresis) ||
        !cli_option_number(cli, "--every", 1, 65536, 1, &every) ||
        !cli_option_number(cli, "--max-rate", 0, 4e9, 0, &rate)) {
        return false;
    }
    q->channel = (uint32_t)channel;
    q->hysteresis = (float)hysteresis;
    q->every = (uint32_t)every;
    q->max_bytes_per_s = (uint32_t)rate;
    return true;
}

bool cli_probe_request(tw_cli_t *cli, const tunewire_v1_ArcInfo *arc, tunewire_v1_ProbeReq *q)
{
    static const char *const modes[] = {"single", "repeat", "auto"}, *const points[] = {"raw", "minmax", "rms"};
    const double rate = (double)arc->rate;
    const char *trigger = cli_option(cli, "--trigger");
    char why[120];
    int mode, kind;
    *q = (tunewire_v1_ProbeReq)tunewire_v1_ProbeReq_init_zero;
    q->arc = arc->arc;
    if (!numbers(cli, q) || !choice(cli, "--mode", modes, 3, &mode) || !choice(cli, "--points", points, 3, &kind) ||
        !length(cli, "--pre", "10ms", rate, &q->pre) || !length(cli, "--post", "50ms", rate, &q->post) ||
        !length(cli, "--hold-off", "0s", rate, &q->hold_off) ||
        !length(cli, "--auto-after", "500ms", rate, &q->auto_after)) {
        return false;
    }
    q->hold_off = cli_option(cli, "--hold-off") != NULL ? q->hold_off : 0;
    q->mode = (tunewire_v1_ProbeReq_Mode)mode;
    q->points = (tunewire_v1_ProbeReq_Points)kind;
    if (!cli_trigger_parse(trigger != NULL ? trigger : "now", 1.0, q, why)) {
        (void)cli_fail(cli, CLI_USAGE, "--trigger", why, "'%s' is no trigger", trigger);
        return false;
    }
    return true;
}
