/* graphc_translate_node.c - a positional node manifest, as its reader understood it, in tags.
 *
 * The comments of such a text explain the places of its numbers, which are no more: only those before the
 * first line and behind the two names are kept. What has its default is not said. */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdio.h>
#include <stdlib.h>

#define SET_TEXT 1600 /* characters of an option set */

/* ---- option sets -------------------------------------------------------------------- */

static const char *set_text(const tw_options_t *o, bool raw, char *to, size_t size)
{
    size_t n = (size_t)snprintf(to, size, "{%u", o->any ? 0u : o->def + 1u);
    for (unsigned i = 0; i < o->n && n < size; i++) {
        const char *name = raw ? tw_raw_name((uint32_t)o->v[i]) : NULL;
        n += name != NULL ? (size_t)snprintf(to + n, size - n, " %s", name)
                          : (size_t)snprintf(to + n, size - n, " %.10g", o->v[i]);
    }
    if (n < size) {
        (void)snprintf(to + n, size - n, "}");
    }
    return to;
}

static void put_set(g_trans_t *x, const char *tag, const tw_options_t *o, const tw_options_t *dflt, bool raw)
{
    char text[SET_TEXT];
    if (o->any != dflt->any || o->n != dflt->n || o->def != dflt->def ||
        memcmp(o->v, dflt->v, o->n * sizeof o->v[0]) != 0) {
        g_put(x, "%s %s", tag, set_text(o, raw, text, sizeof text));
    }
}

/* ---- parts ---------------------------------------------------------------------------- */

static void put_number(g_trans_t *x, const char *tag, double v, double dflt)
{
    if (v != dflt) {
        g_put(x, "%s %.10g", tag, v);
    }
}

static void put_version(g_trans_t *x, const char *tag, uint16_t version, uint16_t dflt)
{
    if (version != dflt) {
        g_put(x, "%s %u", tag, (version >> 8) * 100u + (version & 0xFFu));
    }
}

static void put_node(g_trans_t *x, const tw_node_manifest_t *m)
{
    g_put(x, "node_nb_arcs %u %u", m->rx, m->tx);
    put_number(x, "node_arc_parameter", m->arc_parameters, 0);
    put_number(x, "node_steady_stream", m->steady, 1);
    put_number(x, "node_same_data_rate", m->same_rate, 0);
    put_number(x, "node_use_dtcm", m->use_dtcm, 0);
    put_number(x, "node_use_arc_format", m->push_format, 1);
    put_number(x, "node_mask_library", m->services, 0);
    put_number(x, "node_architecture", m->arch, 0);
    put_number(x, "node_fpu_used", m->fpu, 0);
    put_version(x, "node_node_version", m->version, 1 << 8);
    if (m->stream_version == 0) {
        g_put(x, "node_stream_version 0"); /* none in particular; unsaid it is 100 */
    }
    put_version(x, "node_stream_version", m->stream_version, m->stream_version == 0 ? 0 : 1 << 8);
}

static void put_term(g_trans_t *x, const char *tag, double factor, uint8_t arc)
{
    if (factor > 0) {
        g_put(x, "%s %.10g %u", tag, factor, arc);
    }
}

/* The text's codes of types and speeds: 3 in the structure is retention, and 1 is normal memory. */
static const uint8_t types[] = {0, 1, 3, 2}, speeds[] = {0, 0, 1, 2};

/* Only the row in one line scales E. */
static void put_detail(g_trans_t *x, const tw_node_mem_manifest_t *b)
{
    g_put(x, "node_mem_alloc_detail %.10g %.10g %u %.10g %u %.10g %u %.10g %u %u %u %u %u", b->a, b->b, b->b_arc, b->c,
          b->c_arc, b->d, b->d_arc, b->e, b->align, types[b->type & 3], speeds[b->speed & 3], b->reloc, b->prog);
}

static void put_mem(g_trans_t *x, const tw_node_mem_manifest_t *b, unsigned i)
{
    if (b->speed == 1) {
        tw_diag(x->t.diags, true, x->t.file, 0, 0, "memory block %u asks for normal speed, said as any", i);
    }
    if (b->e != 1) {
        put_detail(x, b);
        return;
    }
    g_put(x, "node_mem %u", i);
    g_put(x, "node_mem_alloc %.10g", b->a);
    put_term(x, "node_mem_nbchan", b->b, b->b_arc);
    put_term(x, "node_mem_sampling_rate", b->c, b->c_arc);
    put_term(x, "node_mem_frame_size", b->d, b->d_arc);
    put_number(x, "node_mem_alignment", b->align, 4);
    put_number(x, "node_mem_retention", types[b->type & 3], 0);
    put_number(x, "node_mem_speed", speeds[b->speed & 3], 0);
    put_number(x, "node_mem_relocatable", b->reloc, 0);
    put_number(x, "node_mem_dataOprog1", b->prog, 0);
}

static void put_arc(g_trans_t *x, const tw_node_manifest_t *m, unsigned i)
{
    const tw_node_arc_manifest_t *a = &m->arcs[i];
    static const tw_options_t any = {.any = 1}, one = {.n = 1, .v = {1}}, s16 = {.n = 1, .v = {TW_RAW_S16}};
    g_put(x, "node_arc %u", i);
    put_number(x, "node_arc_rx0tx1", a->tx, i >= m->rx);
    put_set(x, "node_arc_raw_format", &a->raw, &s16, true);
    put_number(x, "node_arc_interleaving", a->interleaving, 0);
    put_set(x, "node_arc_nb_channels", &a->channels, &one, false);
    put_set(x, "node_arc_frame_length", &a->frame_length, &any, false);
    put_set(x, "node_arc_frame_duration", &a->frame_duration_ms, &any, false);
    put_set(x, "node_arc_sampling_rate", &a->rate_hz, &any, false);
    put_set(x, "node_arc_sampling_period_s", &a->period_s, &any, false);
    put_set(x, "node_arc_sampling_period_day", &a->period_day, &any, false);
    put_number(x, "node_arc_sampling_accuracy", (double)a->accuracy, 0);
    if (a->time_stamp > 0) {
        tw_diag(x->t.diags, true, x->t.file, 0, 0, "arc %u has time stamps, which tags of node manifests do not say",
                i);
    }
    if (a->in_place > 0 && a->in_place - 1u < i) {
        g_put(x, "node_arc_inPlaceProcessing %u %u", a->in_place - 1u, i);
    }
}

/* ---- the text ---------------------------------------------------------------------------- */

static void put_names(g_trans_t *x, const tw_node_manifest_t *m)
{
    const char *const names[] = {m->developer, m->name};
    for (unsigned i = 0; i < 2 && g_next_line(x); i++) {
        char rest[512] = "";
        tw_tok_t tok;
        (void)tw_text_tok(&x->t, &tok);
        if (strlen(names[i]) == tok.n && memcmp(names[i], tok.p, tok.n) == 0) {
            (void)g_rest(x, rest, sizeof rest);
        }
        g_put(x, "%s%s", names[i], rest);
    }
}

bool g_translate_node(g_trans_t *x)
{
    tw_node_manifest_t *m = calloc(1, sizeof *m);
    tw_text_t t = x->t;
    if (m == NULL) {
        return false;
    }
    const bool ok = tw_node_manifest_parse(m, &t);
    if (ok) {
        put_names(x, m);
        put_node(x, m);
        for (unsigned i = 0; i < m->n_mem; i++) {
            put_mem(x, &m->mem[i], i);
        }
        for (unsigned i = 0; i < TW_COUNT(m->arcs); i++) {
            if (m->arcs[i].set) {
                put_arc(x, m, i);
            }
        }
    }
    free(m);
    return ok;
}
