/* graphc_translate_io.c - a positional IO manifest, as its reader understood it, in tags.
 *
 * The comments between the rows explain the places of numbers, which are no more. What follows the rows
 * describes the device in words of its domain: it has no tags and is kept as comments. */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdlib.h>

#define ROWS 14u /* ten values and four lists; a value before them in texts of 2023 */

/* Name and domain, a line each. */
static void put_names(g_trans_t *x)
{
    for (unsigned i = 0; i < 2 && g_next_line(x); i++) {
        char rest[512];
        tw_tok_t tok;
        (void)tw_text_tok(&x->t, &tok);
        g_put(x, "%.*s%s", (int)tok.n, tok.p, g_rest(x, rest, sizeof rest));
    }
}

static void put_stream(g_trans_t *x, const tw_io_manifest_t *m)
{
    static const tw_options_t any = {.any = 1}, none = {.n = 1, .v = {0}};
    g_put_number(x, "io_commander0_servant1", m->commander, 1);
    g_put_number(x, "io_buffer_allocation", (double)m->buffer_allocation, 0);
    g_put(x, "io_direction_rx0tx1 %u", m->direction);
    g_put_set(x, "io_raw_format", &m->raw_options, &any, true);
    g_put_number(x, "io_interleaving", m->interleaving, 0);
    g_put_set(x, "io_nb_channels", &m->channels, &any, false);
    g_put_set(x, "io_frame_length", &m->frame_length, &any, false);
    g_put_set(x, "io_frame_duration", &m->frame_duration_ms, &any, false);
    g_put_set(x, "io_sampling_rate", &m->rate_hz, &any, false);
    g_put_set(x, "io_sampling_period_s", &m->period_s, &any, false);
    g_put_set(x, "io_sampling_period_day", &m->period_day, &any, false);
    g_put_number(x, "io_sampling_rate_accuracy", (double)m->accuracy, 0);
    g_put_set(x, "io_time_stamp_format", &m->ts_format, &none, false);
    if (m->proc_mask != 1) {
        g_put(x, "; processors %u: top manifests say this", m->proc_mask);
    }
}

static void put_rest(g_trans_t *x)
{
    const unsigned rows = ROWS + tw_io_begins_with_copy(&x->t);
    for (unsigned i = 0; i < rows; i++) {
        (void)tw_text_line(&x->t);
        if (rows > ROWS && i == 0) {
            g_put(x, "; %.*s", (int)(x->t.eol - x->t.p), x->t.p);
        }
    }
    while (g_next_line(x)) {
        tw_tok_t tok = {x->t.bol, 0, 0};
        (void)tw_text_peek(&x->t, &tok);
        if (!tw_tok_is_end(&tok) && !tw_tok_is(&tok, "_END_")) {
            g_put(x, "; %.*s", (int)(x->t.eol - tok.p), tok.p);
        }
    }
}

bool g_translate_io(g_trans_t *x)
{
    tw_io_manifest_t *m = calloc(1, sizeof *m);
    tw_text_t t = x->t;
    if (m == NULL) {
        return false;
    }
    const bool ok = tw_io_manifest_parse(m, &t);
    if (ok) {
        put_names(x);
        put_stream(x, m);
        put_rest(x);
    }
    free(m);
    return ok;
}
