/* verb_arc_scope.c - tunewire arc scope: arcs watched live.
 *
 * On a terminal a picture redrawn in place; piped, a line per arc and half second; with --json a line per
 * block. raw draws samples from a zero crossing on; minmax and rms scroll.
 */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli.h"
#include "host_tools/tunewire/cli_scope.h"
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SCROLL_S 2.0   /* time across the screen */
#define ONCE_MAX_S 5.0 /* --once shows what there is then */
enum { ARCS_MAX = 8, CHANNELS_MAX = 8, REFRESH_MS = 50, LINE_MS = 500, ONCE_MS = 300, MARGIN = 2 };

typedef struct view {
    struct scope *scope;
    char label[CHANNELS_MAX][48]; /* "mic", or "mic[1]" where there are several channels */
    const tunewire_v1_ArcInfo *arc;
    tw_watch_t watch;
    unsigned channels;
    tw_trace_t trace[CHANNELS_MAX];
    uint32_t dropped;
    uint64_t blocks;
} view_t;

typedef struct scope {
    tw_cli_t *cli;
    tunewire_v1_SubReq_Mode mode;
    unsigned columns, lines; /* of the terminal, what we use of it */
    unsigned drawn;          /* lines of the last picture */
    bool utf8;
    view_t views[ARCS_MAX];
    int n;
} scope_t;

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What a value of the reduced stream is in parts of full scale: plain integers come as they are. */
static double full_scale(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_U8:
    case TW_RAW_S16:
    case TW_RAW_U16:
    case TW_RAW_S32:
    case TW_RAW_U32:
        return ldexp(1, (int)tw_raw_bits(raw) - 1);
    default:
        return 1;
    }
}

/* ---- blocks ------------------------------------------------------------------------ */

/* The range and mean square of point i, channel ch. @return false past the end */
static bool point(const view_t *v, const tw_block_t *b, uint32_t i, uint32_t ch, float *lo, float *hi, double *square)
{
    const uint32_t channels = tw_max_u32(v->arc->channels, 1), at = i * channels + ch;
    const tunewire_v1_SubReq_Mode mode = v->scope->mode;
    const uint32_t size = mode == tunewire_v1_SubReq_Mode_MINMAX ? 8
                          : mode == tunewire_v1_SubReq_Mode_RMS  ? 4
                                                                 : tw_raw_bits(v->arc->raw) / 8;
    if (size == 0 || (uint64_t)(at + 1) * size > b->n) {
        return false;
    }
    const uint8_t *p = b->data + (size_t)at * size;
    if (mode == tunewire_v1_SubReq_Mode_MINMAX) {
        const double by = 1 / full_scale(v->arc->raw);
        *lo = (float)((double)tw_get_f32(p) * by);
        *hi = (float)((double)tw_get_f32(p + 4) * by);
        *square = 0.5 * ((double)*lo * (double)*lo + (double)*hi * (double)*hi);
        return true;
    }
    const double value = mode == tunewire_v1_SubReq_Mode_RMS ? (double)tw_get_f32(p) / full_scale(v->arc->raw)
                                                             : tw_raw_fraction(v->arc->raw, p);
    *hi = (float)value;
    *lo = mode == tunewire_v1_SubReq_Mode_RMS ? -*hi : *hi;
    *square = value * value;
    return true;
}

static json_t *block_json(const view_t *v, const tw_block_t *b)
{
    json_t *channels = json_array();
    float lo, hi;
    double square;
    for (uint32_t ch = 0; ch < tw_max_u32(v->arc->channels, 1); ch++) {
        json_t *list = json_array();
        for (uint32_t i = 0; point(v, b, i, ch, &lo, &hi, &square); i++) {
            (void)json_array_append_new(list, v->scope->mode == tunewire_v1_SubReq_Mode_MINMAX
                                                  ? json_pack("[f, f]", (double)lo, (double)hi)
                                                  : json_real((double)hi));
        }
        (void)json_array_append_new(channels, list);
    }
    static const char *const modes[] = {"raw", "minmax", "rms", "raw"};
    return json_pack("{s:s, s:I, s:I, s:i, s:s, s:o}", "arc", v->arc->name, "seq", (json_int_t)b->seq, "t_us",
                     (json_int_t)b->t_us, "dropped", (int)b->dropped, "mode", modes[v->scope->mode & 3], "channels",
                     channels);
}

static bool take_block(void *ctx, const tw_block_t *b)
{
    view_t *v = ctx;
    float lo, hi;
    double square;
    v->dropped = b->dropped;
    v->blocks++;
    if (v->scope->cli->json) {
        cli_json_line(v->scope->cli, block_json(v, b));
        return ferror(v->scope->cli->out) == 0;
    }
    for (uint32_t ch = 0; ch < v->channels; ch++) {
        for (uint32_t i = 0; point(v, b, i, ch, &lo, &hi, &square); i++) {
            cli_trace_add(&v->trace[ch], lo, hi, square);
        }
    }
    return true;
}

/* ---- drawing ------------------------------------------------------------------------ */

static float scale_of(const tw_trace_t *t, unsigned first, unsigned points)
{
    float top = 1e-4f;
    for (unsigned i = 0; i < points; i++) {
        const unsigned k = (first + i) % SCOPE_POINTS;
        top = fmaxf(top, fmaxf(fabsf(t->lo[k]), fabsf(t->hi[k])));
    }
    float scale = 1;
    while (scale > top * 2 && scale > 1e-3f) {
        scale /= 2; /* steps, so that the picture does not breathe */
    }
    return top > 1 ? top : scale;
}

static void end_line(scope_t *s)
{
    (void)fprintf(s->cli->out, "%s\n", s->cli->out_tty ? "\033[K" : "");
    s->drawn++;
}

/* What the points allow to say: of minmax no mean, of rms no peak. */
static const struct {
    const char *level, *top;
} words[] = {
    [tunewire_v1_SubReq_Mode_RAW] = {"rms", "peak"},
    [tunewire_v1_SubReq_Mode_MINMAX] = {"peak", "hold"},
    [tunewire_v1_SubReq_Mode_RMS] = {"rms", "max"},
    [tunewire_v1_SubReq_Mode_LAST] = {"rms", "peak"},
};

static float level_of(const scope_t *s, const tw_trace_t *t)
{
    return cli_dbfs(s->mode == tunewire_v1_SubReq_Mode_MINMAX ? (double)t->peak : sqrt(t->power));
}

/* Name, meter and numbers in one line; never wider than the picture, or a terminal would wrap it. */
static void draw_head(scope_t *s, const view_t *v, unsigned ch, float level, float held, float scale)
{
    char meter[SCOPE_COLUMNS_MAX], numbers[80];
    const char *colour = held >= -0.1f ? "\033[31m" : held > -6 ? "\033[33m" : "\033[32m";
    int n = snprintf(numbers, sizeof numbers, " %s %6.1f %s %6.1f dBFS x%-4g", words[s->mode].level, (double)level,
                     words[s->mode].top, (double)held, 1 / (double)scale);
    if (v->dropped) {
        n += snprintf(numbers + n, sizeof numbers - (size_t)n, " %u dropped", v->dropped);
    }
    const int name = (int)tw_min_u32((uint32_t)strlen(v->label[ch]), s->columns / 3);
    const int width = (int)s->columns - name - n - 3;
    cli_meter(level, held, width > 4 ? (unsigned)width : 0, meter, sizeof meter);
    (void)fprintf(s->cli->out, "%s%.*s%s %s%s%s%.*s", cli_sgr(s->cli, "\033[1m"), name, v->label[ch],
                  cli_sgr(s->cli, "\033[0m"), cli_sgr(s->cli, colour), width > 4 ? meter : "",
                  cli_sgr(s->cli, "\033[0m"), (int)s->columns - name - 1, numbers);
    end_line(s);
}

static void draw_trace(scope_t *s, view_t *v, unsigned ch, double now)
{
    tw_trace_t *t = &v->trace[ch];
    char row[3 * SCOPE_COLUMNS_MAX + 1];
    const unsigned points = 2 * s->columns;
    const unsigned first = s->mode == tunewire_v1_SubReq_Mode_LAST ? cli_trace_trigger(t, points)
                                                                   : (t->at + SCOPE_POINTS - points) % SCOPE_POINTS;
    const float scale = scale_of(t, first, points);
    draw_head(s, v, ch, level_of(s, t), cli_trace_hold(t, now), scale);
    for (unsigned r = 0; r < SCOPE_ROWS; r++) {
        cli_trace_row(t, first, s->columns, r, scale, s->utf8, row);
        (void)fputs(row, s->cli->out);
        end_line(s);
    }
    cli_trace_mark(t);
}

/* As the C library decides, without its locales: in minimal systems they are not installed. */
static bool speaks_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        const char *v = getenv(names[i]);
        if (v && v[0]) {
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
        }
    }
    return false;
}

static void measure_terminal(scope_t *s)
{
    struct winsize w;
    const unsigned columns = s->columns, lines = s->lines;
    unsigned n = 80;
    s->lines = UINT32_MAX; /* paper has no end */
    if (s->cli->out_tty && ioctl(fileno(s->cli->out), TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row) {
        n = w.ws_col;
        s->lines = w.ws_row;
    }
    n = n > MARGIN + 20 ? n - MARGIN : 20;
    s->columns = n < SCOPE_COLUMNS_MAX / 2 ? n : SCOPE_COLUMNS_MAX / 2; /* the other half is for the trigger */
    if (s->drawn && (columns != s->columns || lines != s->lines)) {
        (void)fputs("\033[H\033[2J", s->cli->out); /* where the old lines are now nobody knows */
        s->drawn = 0;
    }
}

/* Traces that find no room are left out: a picture higher than the terminal cannot be redrawn in place. */
static void draw(scope_t *s, double now)
{
    measure_terminal(s);
    if (s->cli->out_tty && s->drawn) {
        (void)fprintf(s->cli->out, "\033[%uA", s->drawn);
    }
    s->drawn = 0;
    for (int i = 0; i < s->n; i++) {
        for (unsigned ch = 0; ch < s->views[i].channels; ch++) {
            if (s->drawn == 0 || s->drawn + 1 + SCOPE_ROWS < s->lines) {
                draw_trace(s, &s->views[i], ch, now);
            }
        }
    }
    (void)fflush(s->cli->out);
}

static void print_lines(scope_t *s, double start, double now)
{
    for (int i = 0; i < s->n; i++) {
        for (unsigned ch = 0; ch < s->views[i].channels; ch++) {
            tw_trace_t *t = &s->views[i].trace[ch];
            (void)fprintf(s->cli->out, "%.1f s  %s  %s %.1f dBFS  %s %.1f dBFS  dropped %u\n", now - start,
                          s->views[i].label[ch], words[s->mode].level, (double)level_of(s, t), words[s->mode].top,
                          (double)cli_trace_hold(t, now), s->views[i].dropped);
            cli_trace_mark(t);
        }
    }
    (void)fflush(s->cli->out);
}

/* ---- the verb --------------------------------------------------------------------------- */

static bool read_mode(tw_cli_t *cli, tunewire_v1_SubReq_Mode *mode)
{
    static const char *const names[] = {"raw", "minmax", "rms"};
    /* Samples are asked for one a point: those come interleaved whatever the arc's order is. */
    static const tunewire_v1_SubReq_Mode modes[] = {tunewire_v1_SubReq_Mode_LAST, tunewire_v1_SubReq_Mode_MINMAX,
                                                    tunewire_v1_SubReq_Mode_RMS};
    const char *text = cli_option(cli, "--mode");
    *mode = tunewire_v1_SubReq_Mode_MINMAX;
    for (size_t i = 0; i < TW_COUNT(names) && text; i++) {
        if (strcmp(text, names[i]) == 0) {
            *mode = modes[i];
            return true;
        }
    }
    if (text) {
        (void)cli_fail(cli, CLI_USAGE, text, "raw, minmax or rms", "no such mode");
    }
    return !text;
}

static uint32_t samples_per_point(const scope_t *s, const tunewire_v1_ArcInfo *arc)
{
    if (s->mode == tunewire_v1_SubReq_Mode_LAST) {
        return 1;
    }
    const double n = (double)arc->rate * SCROLL_S / (2.0 * s->columns);
    return n >= 1 ? (uint32_t)n : 1;
}

static bool open_views(scope_t *s)
{
    tw_cli_t *cli = s->cli;
    for (int i = 0; i < cli->n_args; i++) {
        view_t *v = &s->views[i];
        v->scope = s;
        v->arc = cli_find_arc(cli, cli->args[i]);
        if (!v->arc) {
            return false;
        }
        v->channels = tw_min_u32(tw_max_u32(v->arc->channels, 1), CHANNELS_MAX);
        for (unsigned ch = 0; ch < v->channels; ch++) {
            (void)snprintf(v->label[ch], sizeof v->label[ch], v->arc->channels > 1 ? "%s[%u]" : "%s", v->arc->name, ch);
        }
        v->watch = (tw_watch_t){.block = take_block, .ctx = v};
        const tunewire_v1_SubReq req = {.arc = v->arc->arc, .mode = s->mode, .decimate = samples_per_point(s, v->arc)};
        if (!tw_client_watch(cli->c, &req, &v->watch)) {
            (void)cli_fail_client(cli, v->arc->name);
            return false;
        }
        s->n++;
    }
    return true;
}

static bool all_ended(const scope_t *s)
{
    for (int i = 0; i < s->n; i++) {
        if (!s->views[i].watch.sink.ended) {
            return false;
        }
    }
    return true;
}

/* A first picture is complete when its points have come; mark() has not been called before it. */
static bool full_picture(const scope_t *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->cli->json ? s->views[i].blocks == 0 : s->views[i].trace[0].n < 2 * s->columns) {
            return false;
        }
    }
    return true;
}

/* @return true when the time, a signal or --once ended it, false when the device did */
static bool watch(scope_t *s, double seconds)
{
    tw_cli_t *cli = s->cli;
    const bool once = cli_option(cli, "--once") != NULL, live = cli->out_tty && !cli->json;
    const double start = now_s();
    double due = start + (once ? ONCE_MS : live ? REFRESH_MS : LINE_MS) / 1000.0;
    while (!all_ended(s)) {
        const bool alive = tw_client_pump(cli->c, REFRESH_MS / 2);
        const double now = now_s();
        if (cli_stopped(cli) || ferror(cli->out) || (seconds > 0 && now - start >= seconds)) {
            return true;
        }
        if (!alive) {
            return false;
        }
        if (now < due || (once && !full_picture(s) && now - start < ONCE_MAX_S)) {
            continue;
        }
        if (!cli->json && (once || live)) {
            draw(s, now);
        } else if (!cli->json) {
            print_lines(s, start, now);
        }
        if (once) {
            return true;
        }
        due = now + (live ? REFRESH_MS : LINE_MS) / 1000.0;
    }
    for (int i = 0; i < s->n; i++) {
        if (s->views[i].watch.sink.err.kind == TW_CLIENT_DEVICE) {
            (void)cli_fail(cli, CLI_DEVICE, s->views[i].arc->name, "", "%s", s->views[i].watch.sink.err.text);
        }
    }
    return false;
}

int verb_arc_scope(tw_cli_t *cli)
{
    double seconds;
    tunewire_v1_SubReq_Mode mode;
    if (!read_mode(cli, &mode) || !cli_option_number(cli, "--seconds", 0.01, 1e7, 0, &seconds)) {
        return cli->exit;
    }
    scope_t *s = calloc(1, sizeof *s);
    if (!s) {
        return cli_fail(cli, CLI_DEVICE, "scope", "", "out of memory");
    }
    s->cli = cli;
    s->mode = mode;
    s->utf8 = speaks_utf8();
    measure_terminal(s);
    const bool hide = cli->out_tty && !cli->json;
    int code = CLI_OK;
    if (!open_views(s)) {
        code = cli->exit;
    } else {
        (void)fputs(hide ? "\033[?25l" : "", cli->out);
        if (!watch(s, seconds)) {
            code = cli->exit ? cli->exit : cli_fail_client(cli, "scope");
        }
        (void)fputs(hide ? "\033[?25h" : "", cli->out);
    }
    for (int i = 0; i < s->n; i++) {
        tw_client_unwatch(cli->c, &s->views[i].watch);
    }
    free(s);
    return code;
}
