/* graphc_io.c - graph IOs against their manifests: formats and settings words. Knows no arc. */
#include "host_tools/graphc/middle/graphc_middle.h"
#include <math.h>
#include <stdio.h>

bool g_offers(const tw_options_t *o, double v)
{
    for (unsigned i = 0; i < o->n; i++) {
        if (fabs(o->v[i] - v) <= 1e-6 * fabs(v)) {
            return true;
        }
    }
    return o->any;
}

void g_options_text(const tw_options_t *o, char *to, size_t size)
{
    size_t n = 0;
    to[0] = 0;
    for (unsigned i = 0; i < o->n && n < size; i++) {
        const int got = snprintf(to + n, size - n, "%s%g", i > 0 ? " " : "", o->v[i]);
        n += got > 0 ? (size_t)got : 0;
    }
}

/* After an error about the IO's format: who said otherwise. */
static bool refuse(g_model_t *m, const g_io_t *io)
{
    const g_format_t *f = &m->formats[io->format];
    g_note(m, &f->pos, "format %u is declared here", f->id);
    g_note(m, &(g_pos_t){io->manifest->file, 0, 0}, "the IO's manifest");
    return false;
}

static bool takes(g_model_t *m, const g_io_t *io, const char *what, const tw_options_t *o, double v)
{
    char list[100];
    if (g_offers(o, v)) {
        return true;
    }
    g_options_text(o, list, sizeof list);
    g_error(m, &io->pos, "%s takes %s %s, the format has %g", io->manifest->name, what, list, v);
    return refuse(m, io);
}

static bool check_stream(g_model_t *m, const g_io_t *io)
{
    static const char *const blocks[] = {"interleaved", "a block per channel"};
    const tw_io_manifest_t *x = io->manifest;
    const g_format_t *f = &m->formats[io->format];
    const bool raw_ok = x->raw_options.n > 0 ? g_offers(&x->raw_options, f->raw) : x->raw == 0 || x->raw == f->raw;
    if (!raw_ok) {
        g_error(m, &io->pos, "%s carries %s, format %u is %s", x->name, tw_raw_name(x->raw), f->id,
                tw_raw_name(f->raw));
        return refuse(m, io);
    }
    if (x->interleaving < 2 && f->interleave < 2 && x->interleaving != f->interleave && f->channels > 1) {
        g_error(m, &io->pos, "%s carries channels %s, format %u has them %s", x->name, blocks[x->interleaving], f->id,
                blocks[f->interleave]);
        return refuse(m, io);
    }
    if (x->unit != 0 && f->unit != 0 && x->unit != f->unit) {
        g_error(m, &io->pos, "%s carries %s, format %u is in %s", x->name, tw_unit_text(x->unit), f->id,
                tw_unit_text(f->unit));
        return refuse(m, io);
    }
    return true;
}

/* "its IOs are 4 io_microphone, 6 io_speaker" */
static void note_ios(g_model_t *m)
{
    const tw_platform_t *p = m->platform;
    char list[200] = "";
    size_t n = 0;
    for (unsigned i = 0; i < p->n_ios && n + 80 < sizeof list; i++) {
        const int got =
            snprintf(list + n, sizeof list - n, "%s%u %.64s", i > 0 ? ", " : "", p->ios[i].hwid, p->ios[i].name);
        n += got > 0 ? (size_t)got : 0;
    }
    g_note(m, &(g_pos_t){p->path, 0, 0}, "its IOs are %s%s", list, n + 80 < sizeof list ? "" : " ...");
}

/* ---- settings words ------------------------------------------------------------- */

/* What a set of options is about, when the format has a word in it. */
static bool format_says(const g_format_t *f, const char *tag, double *v)
{
    const struct {
        const char *tag;
        double v;
        bool said;
    } rows[] = {
        {"io_nb_channels", f->channels, true},
        {"io_raw_format", f->raw, true},
        {"io_frame_length", f->samples, true},
        {"io_frame_duration", f->rate > 0 ? 1000.0 * f->samples / f->rate : 0, f->rate > 0},
        {"io_sampling_rate", f->rate, f->rate > 0},
        {"io_sampling_period_s", f->rate > 0 ? 1.0 / f->rate : 0, f->rate > 0},
        {"io_sampling_period_day", f->rate > 0 ? 1.0 / (86400.0 * f->rate) : 0, f->rate > 0},
        {"io_time_stamp_format", f->ts, true},
        {"io_time_stamp_length", f->ts_size, f->ts != 0},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (rows[i].said && strcmp(rows[i].tag, tag) == 0) {
            *v = rows[i].v;
            return true;
        }
    }
    return false;
}

static int option_near(const tw_options_t *o, double v)
{
    for (unsigned i = 0; i < o->n; i++) {
        if (fabs(o->v[i] - v) <= 1e-6 * fabs(v)) {
            return (int)i;
        }
    }
    return -1;
}

/* Words the text gives are those of the options, and should not say otherwise than the format. */
static void check_settings(g_model_t *m, const g_io_t *io)
{
    const tw_io_manifest_t *x = io->manifest;
    const g_format_t *f = &m->formats[io->format];
    uint8_t index[TW_COUNT(x->settings)] = {0};
    if (tw_settings_unpack(x, io->setting, index) != TW_OK) {
        g_error(m, &io->pos, "settings %#x %#x %#x are none that the options of %s make", io->setting[0],
                io->setting[1], io->setting[2], x->name);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "its option sets fill %u word%s", tw_settings_words(x),
               tw_settings_words(x) == 1 ? "" : "s");
        return;
    }
    for (unsigned i = 0; i < x->n_settings; i++) {
        const tw_options_t *o = &x->settings[i].o;
        double v;
        if (o->n > 1 && format_says(f, x->settings[i].tag, &v) && option_near(o, v) >= 0 &&
            option_near(o, v) != index[i]) {
            g_warn(m, &io->pos, "the settings choose %s %g, the format says %g", x->settings[i].tag, o->v[index[i]], v);
            g_note(m, &f->pos, "format %u is declared here", f->id);
        }
    }
}

/* No words: the format's own choice among the options, and the defaults of the others. */
static void choose_settings(g_model_t *m, g_io_t *io)
{
    const tw_io_manifest_t *x = io->manifest;
    const g_format_t *f = &m->formats[io->format];
    uint8_t index[TW_COUNT(x->settings)] = {0};
    for (unsigned i = 0; i < x->n_settings; i++) {
        const tw_options_t *o = &x->settings[i].o;
        double v;
        const int at = format_says(f, x->settings[i].tag, &v) ? option_near(o, v) : -1;
        index[i] = at >= 0 ? (uint8_t)at : o->def;
    }
    if (tw_settings_pack(x, index, io->setting) != TW_OK) {
        g_error(m, &io->pos, "the option sets of %s need more than %u settings words", x->name, TW_SETTINGS_WORDS);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "the IO's manifest");
    }
}

static void settle_settings(g_model_t *m, g_io_t *io)
{
    if (!io->setting_given) {
        choose_settings(m, io);
    } else if (tw_settings_words(io->manifest) > 0) { /* else they are the back end's own */
        check_settings(m, io);
    }
}

void g_check_io(g_model_t *m, g_io_t *io)
{
    const tw_platform_t *p = m->platform;
    for (unsigned i = 0; i < p->n_ios && io->manifest == NULL; i++) {
        if (p->ios[i].hwid == io->hwid) {
            io->manifest = &p->ios[i];
        }
    }
    if (io->manifest == NULL) {
        g_error(m, &io->pos, "stream_io %u: the platform has no IO with hwid %u%s", io->id, io->hwid,
                io->hwid == 0 ? " (is stream_io_hwid missing?)" : "");
        note_ios(m);
        return;
    }
    if (m->n_formats == 0) {
        return;
    }
    const tw_io_manifest_t *x = io->manifest;
    const g_format_t *f = &m->formats[io->format];
    const bool ok =
        check_stream(m, io) && takes(m, io, "channels", &x->channels, f->channels) &&
        takes(m, io, "frames of samples", &x->frame_length, f->samples) &&
        (f->rate <= 0 || (takes(m, io, "rates [Hz]", &x->rate_hz, f->rate) &&
                          takes(m, io, "frames of [ms]", &x->frame_duration_ms, 1000.0 * f->samples / f->rate) &&
                          takes(m, io, "periods [s]", &x->period_s, 1.0 / f->rate) &&
                          takes(m, io, "periods [day]", &x->period_day, 1.0 / (86400.0 * f->rate))));
    if (ok) {
        settle_settings(m, io);
    }
}
