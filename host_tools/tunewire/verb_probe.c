/* verb_probe.c - tunewire probe: samples of an arc around a trigger, in a file, a picture or as numbers.
 *
 * Captures come in pieces; a whole one is written, drawn or printed. Several go to files numbered before the suffix.
 */
#include "engine/engine.h"
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_samples.h"
#include "host_tools/tunewire/cli_trigger.h"
#include <errno.h>
#include <math.h>
#include <pb_decode.h>
#include <stdlib.h>

enum { PLOT_LINES = 11, PLOT_COLUMNS = 100 };

typedef struct probe {
    tw_cli_t *cli;
    const tunewire_v1_ArcInfo *arc;
    tunewire_v1_ProbeReq req;
    tw_client_sink_t sink;
    tunewire_v1_ProbeBlock head; /* of the capture that is coming */
    tw_bytes_t points;
    const char *out;
    unsigned want, got;
    bool plot, failed;
} probe_t;

static const char *cause_name(uint32_t cause)
{
    static const char *const names[] = {"now", "level", "flow", "tick", "script", "host", "auto"};
    return cause < TW_COUNT(names) ? names[cause] : "?";
}

/* ---- what was captured ------------------------------------------------------------- */

static uint32_t raw_of(const probe_t *p)
{
    return p->head.format & 0xFF;
}

static uint32_t channels_of(const probe_t *p)
{
    return tw_max_u32(p->head.format >> 8 & 0xFF, 1);
}

/* Values of a point and channel: 2 for minmax. */
static uint32_t each_of(const probe_t *p)
{
    return (p->head.format >> 16 & 0xFF) == TW_POINTS_MINMAX ? 2 : 1;
}

static double value(const probe_t *p, uint32_t point, uint32_t ch, uint32_t k)
{
    const uint32_t size = tw_max_u32(tw_raw_bits(raw_of(p)) / 8, 1);
    const size_t at = (((size_t)point * channels_of(p) + ch) * each_of(p) + k) * size;
    return at + size <= p->points.n ? tw_raw_fraction(raw_of(p), p->points.data + at) : 0;
}

static double seconds_of(const probe_t *p, double samples)
{
    return p->arc->rate > 0 ? samples / (double)p->arc->rate : 0;
}

static json_t *capture_json(const probe_t *p)
{
    json_t *channels = json_array();
    for (uint32_t ch = 0; ch < channels_of(p); ch++) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < p->head.points; i++) {
            (void)json_array_append_new(list, each_of(p) == 2
                                                  ? json_pack("[f, f]", value(p, i, ch, 0), value(p, i, ch, 1))
                                                  : json_real(value(p, i, ch, 0)));
        }
        (void)json_array_append_new(channels, list);
    }
    const tunewire_v1_ProbeBlock *h = &p->head;
    return json_pack("{s:s, s:i, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:f, s:i, s:o}", "arc", p->arc->name, "capture",
                     (int)h->capture, "cause", cause_name(h->cause), "sample", (json_int_t)h->sample, "tick",
                     (json_int_t)h->tick, "tick_sample", (int)h->tick_sample, "before", (int)h->before, "points",
                     (int)h->points, "every", (int)h->every, "rate", (double)p->arc->rate, "missed", (int)h->missed,
                     "channels", channels);
}

/* ---- files ---------------------------------------------------------------------------- */

static void path_of(const probe_t *p, char *path, size_t cap)
{
    const char *dot = strrchr(p->out, '.');
    const int stem = dot != NULL ? (int)(dot - p->out) : (int)strlen(p->out);
    if (p->want == 1) {
        (void)snprintf(path, cap, "%s", p->out);
    } else {
        (void)snprintf(path, cap, "%.*s_%u%s", stem, p->out, p->head.capture, dot != NULL ? dot : "");
    }
}

static bool write_csv(const probe_t *p, FILE *f)
{
    for (uint32_t i = 0; i < p->head.points; i++) {
        const double from = ((double)i - p->head.before) * p->head.every;
        (void)fprintf(f, p->arc->rate > 0 ? "%.9g" : "%g", p->arc->rate > 0 ? seconds_of(p, from) : from);
        for (uint32_t ch = 0; ch < channels_of(p); ch++) {
            for (uint32_t k = 0; k < each_of(p); k++) {
                (void)fprintf(f, ",%.9g", value(p, i, ch, k));
            }
        }
        (void)fputc('\n', f);
    }
    return ferror(f) == 0;
}

static bool write_samples(const probe_t *p, FILE *f, const char *path)
{
    tw_sample_file_t s;
    const uint32_t rate = (uint32_t)((double)p->arc->rate / tw_max_u32(p->head.every, 1) + 0.5);
    return cli_samples_start(&s, f, cli_samples_kind(path), raw_of(p), channels_of(p) * each_of(p), rate) &&
           cli_samples_add(&s, p->points.data, p->points.n) && cli_samples_end(&s);
}

static bool write_file(probe_t *p)
{
    char path[600];
    path_of(p, path, sizeof path);
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL;
    if (ok && cli_has_suffix(path, ".json")) {
        json_t *doc = capture_json(p);
        ok = json_dumpf(doc, f, JSON_COMPACT) == 0;
        json_decref(doc);
    } else if (ok) {
        ok = cli_has_suffix(path, ".csv") ? write_csv(p, f) : write_samples(p, f, path);
    }
    ok = f != NULL && fclose(f) == 0 && ok;
    if (!ok) {
        (void)cli_fail(p->cli, CLI_INPUT, path, "check the folder, its rights and the space", "cannot write (%s)",
                       strerror(errno));
    }
    return ok;
}

/* ---- picture --------------------------------------------------------------------------- */

static double largest(const probe_t *p, uint32_t ch)
{
    double most = 1e-9;
    for (uint32_t i = 0; i < p->head.points; i++) {
        for (uint32_t k = 0; k < each_of(p); k++) {
            most = fmax(most, fabs(value(p, i, ch, k)));
        }
    }
    return most;
}

static void mark(char rows[PLOT_LINES][PLOT_COLUMNS + 1], unsigned column, double from, double to)
{
    const int mid = PLOT_LINES / 2;
    const int a = mid - (int)lround(fmax(from, to) * mid), b = mid - (int)lround(fmin(from, to) * mid);
    for (int line = a < 0 ? 0 : a; line <= b && line < PLOT_LINES; line++) {
        rows[line][column] = '#';
    }
}

static void draw(const probe_t *p, uint32_t ch)
{
    char rows[PLOT_LINES][PLOT_COLUMNS + 1];
    const unsigned columns = tw_min_u32(p->head.points, PLOT_COLUMNS);
    const unsigned trigger = (unsigned)((uint64_t)p->head.before * columns / p->head.points);
    const double top = largest(p, ch);
    for (int line = 0; line < PLOT_LINES; line++) {
        memset(rows[line], line == PLOT_LINES / 2 ? '-' : ' ', columns);
        rows[line][columns] = '\0';
        rows[line][trigger] = '|';
    }
    for (uint32_t i = 0; i < p->head.points; i++) {
        const double lo = value(p, i, ch, 0), hi = value(p, i, ch, each_of(p) - 1);
        mark(rows, (unsigned)((uint64_t)i * columns / p->head.points), lo / top, hi / top);
    }
    (void)fprintf(p->cli->out, "channel %u, +-%g\n", ch, top);
    for (int line = 0; line < PLOT_LINES; line++) {
        (void)fprintf(p->cli->out, "%s\n", rows[line]);
    }
}

static bool finish(probe_t *p)
{
    const tunewire_v1_ProbeBlock *h = &p->head;
    FILE *out = p->cli->out;
    p->got++;
    if (p->out != NULL && !write_file(p)) {
        return false;
    }
    if (p->cli->json && p->out == NULL) {
        cli_json_line(p->cli, capture_json(p));
        return true;
    }
    if (p->cli->json) {
        cli_json_line(p->cli, json_pack("{s:i, s:s, s:I, s:I, s:i, s:i}", "capture", (int)h->capture, "cause",
                                        cause_name(h->cause), "sample", (json_int_t)h->sample, "tick",
                                        (json_int_t)h->tick, "points", (int)h->points, "missed", (int)h->missed));
        return true;
    }
    (void)fprintf(out, "capture %u: %s at tick %llu + %u (sample %llu), %u points, %u before", h->capture,
                  cause_name(h->cause), (unsigned long long)h->tick, h->tick_sample, (unsigned long long)h->sample,
                  h->points, h->before);
    (void)fprintf(out, h->missed != 0 ? ", %u missed\n" : "\n", h->missed);
    for (uint32_t ch = 0; p->plot && ch < channels_of(p); ch++) {
        draw(p, ch);
    }
    (void)fflush(out);
    return true;
}

/* ---- pieces -------------------------------------------------------------------------------- */

typedef struct data {
    const uint8_t *p;
    uint32_t n;
} data_t;

static bool note_data(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    data_t *d = *arg;
    d->p = in->state;
    d->n = (uint32_t)in->bytes_left;
    return pb_read(in, NULL, in->bytes_left);
}

/* Lengths come from it: a device may say anything. */
static bool knows_format(uint32_t format)
{
    return tw_raw_bits(format & 0xFF) >= 8 && (format >> 8 & 0xFF) - 1 < TW_CAPTURE_CHANNELS && format >> 16 < 3;
}

static bool take_piece(void *ctx, const uint8_t *bytes, uint32_t n)
{
    probe_t *p = ctx;
    data_t d = {0};
    tunewire_v1_ProbeBlock m = {.data = {.funcs.decode = note_data, .arg = &d}};
    if (tw_rpc_decode(bytes, n, tunewire_v1_ProbeBlock_fields, &m) != TW_OK || m.points == 0) {
        return true;
    }
    if (m.at == 0) {
        if (m.before > m.points || !knows_format(m.format)) {
            return true; /* no capture of any device we know of */
        }
        p->head = m;
        p->points.n = 0;
    }
    if (p->head.points == 0 || m.capture != p->head.capture || !tw_bytes_add(&p->points, d.p, d.n)) {
        return true; /* its beginning was another graph's */
    }
    const uint32_t size = tw_raw_bits(raw_of(p)) / 8 * channels_of(p) * each_of(p);
    if (p->points.n < (size_t)p->head.points * size) {
        return true;
    }
    p->failed = !finish(p);
    return !p->failed && p->got < p->want;
}

static int run(probe_t *p)
{
    tw_cli_t *cli = p->cli;
    p->sink = (tw_client_sink_t){.data = take_piece, .ctx = p};
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Probe_Arm, .request = &p->req, .sink = &p->sink})) {
        return cli_fail_client(cli, p->arc->name);
    }
    bool alive = true;
    while (!p->sink.ended && alive) {
        if (cli->err_tty && !cli->json) {
            (void)fprintf(cli->err, "\r%s: armed, %u of %u", p->arc->name, p->got, p->want);
        }
        alive = tw_client_pump(cli->c, 200);
    }
    if (cli->err_tty && !cli->json) {
        (void)fprintf(cli->err, "\r\033[K");
    }
    const bool fine = p->got >= p->want || p->failed || cli_stopped(cli);
    const int code = fine ? CLI_OK : cli_fail_client(cli, p->arc->name);
    const tunewire_v1_ProbeRef ref = {.probe = p->sink.stream};
    tw_client_tidy(cli->c, TW_M_Probe_Disarm, &ref, &p->sink);
    return p->failed ? cli->exit : cli_stopped(cli) && p->got == 0 ? CLI_STOPPED : code;
}

int verb_probe(tw_cli_t *cli)
{
    double count;
    probe_t p = {.cli = cli, .arc = cli_find_arc(cli, cli->args[0])};
    if (p.arc == NULL || !cli_probe_request(cli, p.arc, &p.req) ||
        !cli_option_number(cli, "--count", 1, 1e6, 1, &count)) {
        return cli->exit;
    }
    p.want = (unsigned)count;
    p.out = cli_option(cli, "--out");
    p.plot = cli_option(cli, "--plot") != NULL;
    if (p.want > 1 && p.req.mode == tunewire_v1_ProbeReq_Mode_SINGLE) {
        p.req.mode = tunewire_v1_ProbeReq_Mode_REPEAT;
    }
    const int code = run(&p);
    free(p.points.data);
    return code;
}
