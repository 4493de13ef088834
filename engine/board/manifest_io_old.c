/* manifest_io_old.c - IO manifests of the first generation: after name and domain a value, or a row, on every line.
 *
 *   commander, frames of buffer, kind of RAM, processors, rx0tx1, raw, time stamp, length format, rate format,
 *   accuracy, then four lists with their default entry from 0: interleaving, channels, frame, rate
 *
 * Texts of 2023 begin with one value more, "1 set0_copy1": arcs say this now, so it is read and forgotten.
 *
 * What follows describes the device in words of its domain. It is not read, and a warning says so.
 */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"

/* Rates given as periods in manifests that mean Hz: no stream has a sample every 1000 seconds and more. */
#define PERIOD_MAX_S 1000.0

typedef struct reader {
    tw_row_t row;
    tw_io_manifest_t *m;
    uint8_t in_samples, rate_format;
} reader_t;

static bool read_buffer(reader_t *r)
{
    if (!tw_row_take(&r->row, "frames of buffer", 1)) {
        return false;
    }
    if (r->row.v[0] < 0 || r->row.v[0] > 64) {
        tw_text_error(r->row.t, &r->row.at, "frames of buffer is %g, allowed 0..64", r->row.v[0]);
        return false;
    }
    r->m->buffer_allocation = (float)r->row.v[0];
    return true;
}

static bool read_raw(reader_t *r)
{
    if (!tw_row_one(&r->row, "raw type", TW_RAW_COUNT - 1, &r->m->raw)) {
        return false;
    }
    if (r->m->raw == 6) {
        tw_text_warn(r->row.t, &r->row.at, "raw type 6 of this form is S16, not S4 as in tagged manifests");
        r->m->raw = TW_RAW_S16;
    }
    r->m->raw_options = (tw_options_t){.n = 1, .v = {r->m->raw}};
    return true;
}

static bool read_head(reader_t *r)
{
    uint8_t ram, ts;
    tw_io_manifest_t *m = r->m;
    if (!tw_row_one(&r->row, "commander 0 or servant 1", 1, &m->commander) || !read_buffer(r) ||
        !tw_row_one(&r->row, "kind of RAM", 1, &ram) || !tw_row_one(&r->row, "processors", 255, &m->proc_mask) ||
        !tw_row_one(&r->row, "direction", 1, &m->direction) || !read_raw(r) ||
        !tw_row_one(&r->row, "time stamp", 3, &ts) || !tw_row_one(&r->row, "frame length format", 1, &r->in_samples) ||
        !tw_row_one(&r->row, "rate format", 2, &r->rate_format) || !tw_row_take(&r->row, "accuracy", 1)) {
        return false;
    }
    m->ts_format = (tw_options_t){.n = 1, .v = {ts}};
    if (r->row.v[0] < 0 || r->row.v[0] > 100) {
        tw_text_error(r->row.t, &r->row.at, "accuracy is %g, allowed 0..100 percent", r->row.v[0]);
        return false;
    }
    m->accuracy = (float)r->row.v[0];
    return true;
}

static bool keep(reader_t *r, const char *tag, const tw_options_t *o)
{
    if (r->m->n_settings < TW_COUNT(r->m->settings)) {
        r->m->settings[r->m->n_settings++] = (tw_setting_t){.tag = tag, .o = *o};
    }
    return true;
}

static bool read_rates(reader_t *r)
{
    tw_options_t o;
    tw_io_manifest_t *m = r->m;
    if (!tw_row_list(&r->row, "sampling rate", 0, 1e9, &o)) {
        return false;
    }
    if (r->rate_format > 0 && o.n > 0 && o.v[o.def] > PERIOD_MAX_S) {
        tw_text_warn(r->row.t, &r->row.at, "said to be periods, but %g is taken as Hz", o.v[o.def]);
        r->rate_format = 0;
    }
    *(r->rate_format == 0 ? &m->rate_hz : r->rate_format == 1 ? &m->period_s : &m->period_day) = o;
    return keep(r,
                r->rate_format == 0   ? "io_sampling_rate"
                : r->rate_format == 1 ? "io_sampling_period_s"
                                      : "io_sampling_period_day",
                &o);
}

static bool read_lists(reader_t *r)
{
    tw_options_t interleaving;
    tw_io_manifest_t *m = r->m;
    tw_options_t *frame = r->in_samples ? &m->frame_length : &m->frame_duration_ms;
    if (!tw_row_list(&r->row, "interleaving", 0, 2, &interleaving) ||
        !tw_row_list(&r->row, "channels", 1, 32, &m->channels) || !keep(r, "io_nb_channels", &m->channels) ||
        !tw_row_list(&r->row, "frame", 0, 1e9, frame) ||
        !keep(r, r->in_samples ? "io_frame_length" : "io_frame_duration", frame)) {
        return false;
    }
    m->interleaving = (uint8_t)(interleaving.n > 0 ? interleaving.v[interleaving.def] : 0);
    return read_rates(r);
}

bool tw_io_begins_with_copy(const tw_text_t *t)
{
    tw_text_t ahead = *t;
    tw_tok_t tok;
    ahead.canon = NULL;
    return tw_text_line(&ahead) && tw_text_tok(&ahead, &tok) && tw_text_tok(&ahead, &tok) && tok.n > 4 &&
           memcmp(tok.p, "set0", 4) == 0;
}

void tw_io_positional(tw_io_manifest_t *m, tw_text_t *t)
{
    reader_t r = {.m = m, .row = {.t = t, .from_zero = true}};
    tw_tok_t tok;
    uint8_t copy;
    if (tw_io_begins_with_copy(t) && !tw_row_one(&r.row, "set 0 or copy 1", 1, &copy)) {
        return;
    }
    if (read_head(&r) && read_lists(&r) && tw_text_line(t)) {
        (void)tw_text_peek(t, &tok);
        if (!tw_tok_is_end(&tok) && !tw_tok_is(&tok, "_END_")) {
            tw_text_warn(t, &tok, "from here the device is described in words of its domain, which are not read");
        }
        t->p = t->eol = t->end;
    }
}
