/* graphc_report.c - what the compiler did, as a text for people. Changes nothing.
 *
 * Every section is a table with a heading, left out when it would be empty. Of nodes and arcs a text
 * shows the first ones: thousands of rows are for tools, which have the JSON report.
 */
#include "host_tools/graphc/report/graphc_report.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MAX = 200, ROWS_SHOWN = 100 }; /* of more rows so many are shown */
enum { OPTIONS_A_LINE = 4 };

static const char *const speeds[] = {"any", "normal", "fast", "critical"};

/* Rows of a list that are shown. */
static uint32_t shown(uint32_t n)
{
    return n <= ROWS_MAX ? n : ROWS_SHOWN;
}

static void say_rest(g_text_t *t, uint32_t n, const char *what)
{
    if (n > shown(n)) {
        g_say(t, "      .. and %u more %s: --json lists all\n", n - shown(n), what);
    }
}

static void say_head(g_text_t *t, const g_model_t *m, uint32_t image_bytes)
{
    g_say(t, "graph %s: %u bytes of image, %u of state, uid %08x, platform %08x\n", m->control.name, image_bytes,
          m->state_bytes, m->uid, m->platform->id);
    g_say(t, "%u nodes (%u inserted), %u arcs, %u IOs, %u formats, %u scripts, %u sub-graphs\n", m->n_nodes,
          m->n_insertions, m->n_arcs, m->n_ios, m->n_formats, m->n_scripts, m->n_scopes > 1 ? m->n_scopes - 1 : 0);
}

/* ---- memory ------------------------------------------------------------------------------- */

static void say_banks(g_text_t *t, const g_model_t *m)
{
    g_say(t, "\nmemory [bytes]; traffic is what passes through arcs and IO buffers\n");
    g_say(t, "bank  speed       blocks      arcs   buffers   padding   scratch     state      free        of  used"
             "  traffic [B/s]\n");
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const tw_bank_manifest_t *x = m->banks[i].manifest;
        const g_use_t u = g_bank_use(m, i);
        g_say(t, "%4u  %-8s  %8llu  %8llu  %8llu  %8llu  %8llu  %8llu  %8llu  %8u  %3.0f%%  %13.0f\n", x->vid,
              speeds[x->speed & 3u], (unsigned long long)(u.blocks + u.copies), (unsigned long long)u.arcs,
              (unsigned long long)u.ios, (unsigned long long)u.padding, (unsigned long long)u.scratch,
              (unsigned long long)u.state, (unsigned long long)u.free, x->bytes,
              x->bytes > 0 ? 100.0 * (double)u.used / x->bytes : 0.0, u.traffic);
        if (u.saved > 0) {
            g_say(t, "      %llu bytes of arcs saved by nodes that work in place\n", (unsigned long long)u.saved);
        }
    }
}

static void say_spills(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < shown(m->n_spills); i++) {
        const g_spill_t *s = &m->spills[i];
        g_say(t, "%s%4u  block %u of %s: %s\n", i == 0 ? "\nspilled\nbank\n" : "", s->vid, s->block,
              m->nodes[s->node].name, s->why);
    }
    say_rest(t, m->n_spills, "blocks");
}

/* Times a second a node runs: once a frame of its first arc with a rate. */
static double runs_of(const g_model_t *m, const g_node_t *n)
{
    double runs = 0;
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx && !(runs > 0); i++) {
        const g_arc_t *a = &m->arcs[n->arcs[i]];
        const g_format_t *f = &m->formats[i < n->rx ? a->to.format : a->from.format];
        runs = f->samples != 0 ? f->rate / f->samples : 0;
    }
    return runs;
}

static void say_copy(g_text_t *t, const g_model_t *m, const g_node_t *n, unsigned k)
{
    const bool swapped = (n->swapped >> k & 1u) != 0, staged = (n->staged >> k & 1u) != 0;
    g_say(t, "block %u of %s: %u bytes at %u of bank %u, %s bank %u", k, n->name, n->block_bytes[k],
          staged ? n->home_at[k] : n->block_at[k], n->block_home[k], swapped ? "swapped with" : "copied to",
          n->block_vid[k]);
    if (staged) {
        g_say(t, " at %u, %.0f bytes/s", n->block_at[k], (swapped ? 2 : 1) * runs_of(m, n) * n->block_bytes[k]);
    }
    g_say(t, "\n");
}

static void say_copies(g_text_t *t, const g_model_t *m)
{
    bool first = true;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        for (unsigned k = 0; k < n->manifest->n_mem; k++) {
            if ((n->copied >> k & 1u) != 0) {
                g_say(t, "%s", first ? "\ncopied\n" : "");
                say_copy(t, m, n, k);
                first = false;
            }
        }
    }
}

/* ---- what the text declares ------------------------------------------------------------------ */

static void say_formats(g_text_t *t, const g_model_t *m)
{
    g_say(t, "\nformat  raw       channels  rate [Hz]  frame [bytes]  samples  one channel [bytes]\n");
    for (uint32_t i = 0; i < m->n_formats; i++) {
        const g_format_t *f = &m->formats[i];
        g_say(t, "%6u  %-8s  %8u  %9g  %13u  %7u  %19u\n", i, tw_raw_name(f->raw), f->channels, f->rate, f->frame_bytes,
              f->samples, f->samples * tw_raw_bits(f->raw) / 8);
    }
}

/* What the words of an IO choose, below its line. */
static void say_options(g_text_t *t, const tw_io_manifest_t *x, const uint32_t *word)
{
    uint8_t index[TW_COUNT(x->settings)] = {0};
    if (tw_settings_words(x) == 0 || tw_settings_unpack(x, word, index) != TW_OK) {
        return;
    }
    unsigned said = 0;
    for (unsigned i = 0; i < x->n_settings; i++) {
        const tw_options_t *o = &x->settings[i].o;
        if (o->n > 1) {
            g_say(t, "%s%s %g", said % OPTIONS_A_LINE == 0 ? "            " : "  ", x->settings[i].tag, o->v[index[i]]);
            said++;
            g_say(t, "%s", said % OPTIONS_A_LINE == 0 ? "\n" : "");
        }
    }
    g_say(t, "%s", said % OPTIONS_A_LINE != 0 ? "\n" : "");
}

static void say_ios(g_text_t *t, const g_model_t *m)
{
    g_say(t, "%s", m->n_ios > 0 ? "\n  IO  hwid  name                             way  format  settings\n" : "");
    for (uint32_t i = 0; i < m->n_ios; i++) {
        const g_io_t *io = &m->ios[i];
        g_say(t, "%4u  %4u  %-31s  %-3s  %6u  %#x %#x %#x", i, io->hwid, io->symbol,
              io->manifest->direction ? "out" : "in", io->format, io->setting[0], io->setting[1], io->setting[2]);
        if (io->buffer_bytes > 0) {
            g_say(t, "  buffer of %u bytes at %u of bank %u", io->buffer_bytes, io->buffer_at, io->buffer_vid);
        }
        g_say(t, "\n");
        say_options(t, io->manifest, io->setting);
    }
}

static void say_scripts(g_text_t *t, const g_model_t *m)
{
    g_say(
        t, "%s",
        m->n_scripts > 0
            ? "\nscript  name                             code  literals  registers  pointers  stack  memory [bytes]\n"
            : "");
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        g_say(t, "%6u  %-31s  %4u  %8u  %9u  %8u  %5u  %6u%s\n", i, s->symbol, s->code_bytes, s->literal_bytes, s->regs,
              s->ptrs, s->stack, 4 * g_heap_words(s), s->shared ? " shared" : "");
    }
}

static void say_scopes(g_text_t *t, const g_model_t *m)
{
    g_say(t, "%s", m->n_scopes > 1 ? "\nsub-graph                        nodes  file\n" : "");
    for (uint32_t i = 1; i < m->n_scopes; i++) {
        const g_scope_t *s = &m->scopes[i];
        g_say(t, "%-31s  %5u  %s\n", s->name, g_scope_nodes(m, i), s->file != NULL ? s->file : "");
    }
}

/* ---- nodes and arcs ----------------------------------------------------------------------------- */

static void say_insertions(g_text_t *t, const g_model_t *m)
{
    g_say(t, "%s",
          m->n_insertions > 0 ? "\ninserted                         for arc                          line  why\n" : "");
    for (uint32_t i = 0; i < shown(m->n_insertions); i++) {
        const g_insertion_t *x = &m->insertions[i];
        g_say(t, "%-31s  %-31s  %4u  %s\n", m->nodes[x->node].name, m->arcs[x->arc].name, m->arcs[x->arc].pos.line,
              x->why);
    }
    say_rest(t, m->n_insertions, "nodes");
}

static void say_blocks(g_text_t *t, const g_node_t *n)
{
    static const char *const types[] = {"static", "working", "pseudo-working", "kept"};
    for (unsigned k = 0; k < n->manifest->n_mem; k++) {
        const tw_node_mem_manifest_t *x = &n->manifest->mem[k];
        g_say(t, "      block %u  bank %3u at %8u  %8u bytes  %s%s%s\n", k, n->block_vid[k], n->block_at[k],
              n->block_bytes[k], types[x->type & 3u], x->speed > 1 ? ", " : "",
              x->speed > 1 ? speeds[x->speed & 3u] : "");
    }
}

static void say_schedule(g_text_t *t, const g_model_t *m)
{
    g_say(t, "\nnode  name                             type                             processor  thread\n");
    for (uint32_t i = 0; i < shown(m->n_nodes); i++) {
        const g_node_t *n = &m->nodes[m->order[i]];
        g_say(t, "%4u  %-31s  %-31s  %9u  %6u%s\n", i, n->name, n->manifest->name, n->proc, n->rtos,
              n->inserted ? "  inserted" : "");
        say_blocks(t, n);
    }
    say_rest(t, m->n_nodes, "nodes");
}

/* A count for each type, where the nodes themselves are too many. */
static void say_types(g_text_t *t, const g_model_t *m)
{
    uint32_t *count = calloc(m->platform->n_nodes + 1u, sizeof *count);
    uint64_t *bytes = calloc(m->platform->n_nodes + 1u, sizeof *bytes);
    for (uint32_t i = 0; count != NULL && bytes != NULL && i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        count[n->manifest_index]++;
        for (unsigned k = 0; k < n->manifest->n_mem; k++) {
            bytes[n->manifest_index] += n->block_bytes[k];
        }
    }
    g_say(t, "\nnodes  of type                   memory [bytes]\n");
    for (unsigned i = 0; count != NULL && bytes != NULL && i < m->platform->n_nodes; i++) {
        if (count[i] > 0) {
            g_say(t, "%5u  %-24s  %14llu\n", count[i], m->platform->nodes[i].name, (unsigned long long)bytes[i]);
        }
    }
    free(count);
    free(bytes);
}

/* Most arcs are called after their ends, which the row has. */
static bool says_its_name(const g_model_t *m, const g_arc_t *a)
{
    char wanted[2 * TW_SYMBOL_MAX + 8];
    if (a->kind == G_ARC_NODES) {
        snprintf(wanted, sizeof wanted, "%s-%s", g_arc_end_name(m, a, false), g_arc_end_name(m, a, true));
    } else if (a->kind == G_ARC_CONSTANT) {
        snprintf(wanted, sizeof wanted, "const.%s", g_arc_end_name(m, a, true));
    } else {
        snprintf(wanted, sizeof wanted, "%s.%s", a->kind == G_ARC_IN ? "in" : "out", m->ios[a->io].symbol);
    }
    return strncmp(wanted, a->name, TW_SYMBOL_MAX) == 0;
}

static void say_arc_notes(g_text_t *t, const g_model_t *m, const g_arc_t *a)
{
    if (!says_its_name(m, a)) {
        g_say(t, "  %s", a->name);
    }
    const uint32_t from = m->formats[a->from.format].frame_bytes, to = m->formats[a->to.format].frame_bytes;
    if (a->lock) {
        g_say(t, "  lock");
    } else if (g_arc_lcm(m, a) > a->bytes && a->kind != G_ARC_CONSTANT) {
        g_say(t, "  %llu bytes would hold whole frames of %u and %u", (unsigned long long)g_arc_lcm(m, a), from, to);
    }
    if (a->fill_bytes > 0) {
        g_say(t, "  %u bytes of %s", a->fill_bytes, a->kind == G_ARC_CONSTANT ? "constants" : "delay");
    }
    const uint32_t shares = a->from.node != G_IO ? g_in_place(m, &m->nodes[a->from.node], a->from.slot) : G_NONE;
    if (a->shared != 0) {
        g_say(t, "  in the buffer of arc %u", a->shared - 1);
    } else if (shares != G_NONE) {
        g_say(t, "  could share the buffer of arc %u", shares);
    }
}

static void say_arcs(g_text_t *t, const g_model_t *m)
{
    g_say(t,
          "\n arc  from                             to                               bank        at     bytes  frames"
          "  formats at its ends  [B/s]\n");
    for (uint32_t i = 0; i < shown(m->n_arcs); i++) {
        const g_arc_t *a = &m->arcs[i];
        const uint32_t to = m->formats[a->to.format].frame_bytes;
        g_say(t, "%4u  %-31s  %-31s  %4u  %8u  %8u  %6.4g  %9u %9u", i, g_arc_end_name(m, a, false),
              g_arc_end_name(m, a, true), a->bank, a->at, a->bytes, (double)a->bytes / to, a->from.format,
              a->to.format);
        g_say(t, g_arc_rate(m, a) > 0 ? "  %.0f" : "  -", g_arc_rate(m, a));
        say_arc_notes(t, m, a);
        g_say(t, "\n");
    }
    say_rest(t, m->n_arcs, "arcs");
}

char *g_report(const g_model_t *m, uint32_t image_bytes)
{
    g_text_t t = {0};
    say_head(&t, m, image_bytes);
    say_banks(&t, m);
    say_spills(&t, m);
    say_copies(&t, m);
    say_ios(&t, m);
    say_formats(&t, m);
    say_scopes(&t, m);
    say_scripts(&t, m);
    say_insertions(&t, m);
    if (m->n_nodes > ROWS_MAX) {
        say_types(&t, m);
    }
    say_schedule(&t, m);
    say_arcs(&t, m);
    return g_text_take(&t);
}
