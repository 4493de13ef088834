/* meaning.c - the readers' structures in words, positions left out. */
#include "tests/support/meaning.h"
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdlib.h>

/* ---- graphs ------------------------------------------------------------------------ */

static void say_bytes(g_text_t *to, const char *what, const uint8_t *p, uint32_t n)
{
    g_say(to, " %s=%u:", what, n);
    for (uint32_t i = 0; i < n; i++) {
        g_say(to, "%02x", p[i]);
    }
}

static void say_slice(g_text_t *to, const g_slice_t *s)
{
    say_bytes(to, "name", (const uint8_t *)s->p, s->n); /* bytes: a name may hold anything */
}

static void say_format(g_text_t *to, const g_format_t *f)
{
    g_say(to, "format %u: %u %u %u %u %u %u %u %u %u %u %u %u %u %.17g\n", f->id, f->frame_bytes, f->mapping, f->border,
          f->samples, f->height, f->width, f->raw, f->interleave, f->channels, f->ts, f->ts_size, f->unit, f->domain,
          f->rate);
}

static void say_io(g_text_t *to, const g_io_t *x)
{
    g_say(to, "io %u: %u %u %u %u %u %d %d %u %u %u %s\n", x->id, x->setting[0], x->setting[1], x->setting[2], x->hwid,
          x->format, x->has_hwid, x->placed, x->buffer_vid, x->buffer_at, x->buffer_bytes, x->symbol);
}

static void say_node(g_text_t *to, const g_model_t *m, const g_node_t *n)
{
    g_say(to, "node");
    say_slice(to, &n->type);
    g_say(to,
          " %u %s: %u %u %u %u %u %u script %u own %u copied %u swapped %u at %u vids %u placed %u sized %u trace %d "
          "verbose %d",
          n->inst, n->name, n->preset, n->proc, n->arch, n->rtos, n->verbose, n->trace, n->script, n->own_script,
          n->copied, n->swapped, n->copy_placed, n->vid_given, n->placed, n->sized, n->trace_given, n->verbose_given);
    for (unsigned i = 0; i < 6; i++) {
        g_say(to, " [%u %u %u %u %u]", n->vid[i], n->e[i], n->copy_vid[i], n->block_at[i], n->block_bytes[i]);
    }
    if (n->has_params) {
        g_say(to, " tag %u", n->tag);
        say_bytes(to, "params", n->params_bytes > 0 ? m->params + n->params_at : NULL, n->params_bytes);
    }
    g_say(to, "\n");
}

static void say_end(g_text_t *to, const g_end_t *e)
{
    say_slice(to, &e->type);
    g_say(to, " %u.%u f%u", e->inst, e->port, e->format);
}

static void say_arc(g_text_t *to, const g_model_t *m, const g_arc_t *a)
{
    g_say(to, "arc %d io %u", (int)a->kind, a->io);
    say_end(to, &a->from);
    say_end(to, &a->to);
    g_say(to, " %u %u %u %u %u %u %u %u %u %u", a->ring, a->debug_cmd, a->debug_reg, a->debug_page, a->flush, a->vid,
          a->underflow, a->overflow, a->crumb_in, a->crumb_out);
    g_say(to, " %d%d%d%d%d%d%d%d%d %u %u %u %.17g %u %u %s", a->by_domain, a->crumbs, a->hqos, a->set_buffer, a->lock,
          a->no_convert, a->vid_given, a->placed, a->sized, a->fill_pattern, a->delay, a->script, a->jitter, a->at,
          a->bytes, a->name);
    if (a->has_data) {
        say_bytes(to, "data", a->data_bytes > 0 ? m->aside + a->data_at : NULL, a->data_bytes);
    }
    g_say(to, "\n");
}

static void say_script(g_text_t *to, const g_script_t *s)
{
    g_say(to, "script %u of %u: %u %u %u %u %u %u %u", s->id, s->node, s->regs, s->ptrs, s->stack, s->shared, s->vid,
          s->budget, s->heap);
    say_slice(to, &s->name);
    const uint32_t padded = tw_round_up(s->code_bytes, 4);
    if (s->has_code) {
        say_bytes(to, "code", s->code, s->code_bytes);
        say_bytes(to, "literals", s->code + padded, s->literal_bytes);
    }
    g_say(to, "\n");
}

static void say_graph(g_text_t *to, const g_model_t *m)
{
    const g_control_t *c = &m->control;
    g_say(to, "graph %s: %u %u %u %u %u %u %u %u %u %u %u\n", c->name, c->location, c->debug_script, c->sched_return,
          c->map_vid, c->processors, c->subgraphs, c->trace_io, c->trace_level, c->debug_by, c->sequence, c->fill);
    for (uint32_t i = 0; i < m->n_formats; i++) {
        say_format(to, &m->formats[i]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        say_io(to, &m->ios[i]);
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        say_node(to, m, &m->nodes[i]);
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        say_arc(to, m, &m->arcs[i]);
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        say_script(to, &m->scripts[i]);
    }
    for (uint32_t i = 0; i < m->n_maps; i++) {
        g_say(to, "map %u %u %u %u\n", m->maps[i].orig, m->maps[i].vid, m->maps[i].start, m->maps[i].bytes);
    }
    for (uint32_t i = 0; i < m->n_sets; i++) {
        const g_set_t *s = &m->sets[i];
        g_say(to, "set %u tag %u", s->node, s->tag);
        say_bytes(to, "data", s->bytes > 0 ? m->aside + s->at : NULL, s->bytes);
        g_say(to, "\n");
    }
    for (uint32_t i = 0; i < m->n_plans; i++) {
        g_say(to, "plan %u %u %u\n", m->plans[i].vid, m->plans[i].fixed, m->plans[i].working);
    }
    for (uint32_t i = 1; i < m->n_scopes; i++) {
        g_say(to, "sub-graph %s\n", m->scopes[i].name);
    }
}

typedef struct input {
    const char *p;
    size_t n;
} input_t;

static char *read_input(void *ctx, const char *path, size_t *n)
{
    const input_t *in = ctx;
    char *copy = malloc(in->n + 1);
    (void)path;
    if (copy != NULL) {
        memcpy(copy, in->p, in->n);
        *n = in->n;
    }
    return copy;
}

static bool graph(g_text_t *to, const char *text, size_t n, tw_diags_t *d)
{
    input_t in = {text, n};
    const tw_text_source_t src = {&in, read_input};
    g_model_t *m = calloc(1, sizeof *m);
    bool ok = m != NULL;
    if (ok) {
        m->diags = d;
        m->syntax_only = true;
        ok = g_parse(m, "m.txt", &src) && d->errors == 0;
        say_graph(to, m);
        g_model_free(m);
    }
    free(m);
    return ok;
}

/* ---- manifests ------------------------------------------------------------------------ */

static void say_options(g_text_t *to, const tw_options_t *o)
{
    g_say(to, " {%u %u", o->any, o->def);
    for (unsigned i = 0; i < o->n; i++) {
        g_say(to, " %.17g", o->v[i]);
    }
    g_say(to, "}");
}

static void say_node_manifest(g_text_t *to, const tw_node_manifest_t *m)
{
    g_say(to, "%s/%s %s: %u %u %u %u %u", m->developer, m->name, m->short_name, m->rx, m->tx, m->rx_min, m->tx_min,
          m->arc_parameters);
    g_say(to, " %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u\n", m->same_rate, m->steady, m->push_format, m->arch,
          m->use_key, m->use_dtcm, m->fpu, m->unit, m->presets, m->reset_after_load, m->position_independent,
          m->version, m->stream_version, m->developer_id, m->preset_bytes, m->services);
    /* tags do not say normal speed nor time stamps of arcs: their loss is told, and left out here */
    for (unsigned i = 0; i < m->n_mem; i++) {
        const tw_node_mem_manifest_t *b = &m->mem[i];
        g_say(to, "mem %.17g %.17g %.17g %.17g %.17g %u %u %u %u %u %u %u %u\n", b->a, b->b, b->c, b->d, b->e, b->b_arc,
              b->c_arc, b->d_arc, b->align, b->type, b->speed == 1 ? 0 : b->speed, b->reloc, b->prog);
    }
    for (unsigned i = 0; i < TW_COUNT(m->arcs); i++) {
        const tw_node_arc_manifest_t *a = &m->arcs[i];
        g_say(to, "arc %u: %u %u %u %u %.9g", i, a->set, a->tx, a->interleaving, a->in_place, (double)a->accuracy);
        say_options(to, &a->channels);
        say_options(to, &a->raw);
        say_options(to, &a->rate_hz);
        say_options(to, &a->frame_length);
        say_options(to, &a->frame_duration_ms);
        say_options(to, &a->period_s);
        say_options(to, &a->period_day);
        g_say(to, "\n");
    }
}

static void say_io_manifest(g_text_t *to, const tw_io_manifest_t *m)
{
    const tw_options_t *sets[] = {&m->channels, &m->frame_length, &m->frame_duration_ms, &m->rate_hz,  &m->raw_options,
                                  &m->period_s, &m->period_day,   &m->ts_format,         &m->ts_length};
    g_say(to, "%s: %u %u %u %u %.9g %u %u %u %u %u %u %.9g", m->name, m->domain, m->direction, m->commander, m->hwid,
          (double)m->buffer_allocation, m->raw, m->interleaving, m->unit, m->n_units, m->power_mode, m->position_unit,
          (double)m->accuracy);
    g_say(to, " %u %u %u %u %d %d %.17g %.17g %.17g %u %u", m->units[0], m->units[1], m->units[2], m->units[3],
          m->has_position, m->has_rescale, m->analog_scale, m->rescale, m->rescale_offset, m->channel_mapping,
          m->motion_format);
    for (unsigned i = 0; i < 3; i++) {
        g_say(to, " %.9g %.9g", (double)m->position[i], (double)m->euler_deg[i]);
    }
    for (size_t i = 0; i < TW_COUNT(sets); i++) {
        say_options(to, sets[i]);
    }
    for (unsigned i = 0; i < m->n_settings; i++) {
        g_say(to, "\n%s %u %u", m->settings[i].tag, m->settings[i].unit, m->settings[i].bits);
        say_options(to, &m->settings[i].o);
    }
    for (unsigned i = 0; i < m->n_extra; i++) {
        g_say(to, "\n%s=%s", m->extra[i].key, m->extra[i].value);
    }
    g_say(to, "\n");
}

static void say_procmap(g_text_t *to, const tw_platform_t *p)
{
    g_say(to, "platform %u %u\n", p->processors, p->services);
    for (unsigned i = 0; i < p->n_banks; i++) {
        const tw_bank_manifest_t *b = &p->banks[i];
        g_say(to, "bank %u %u %u %u %u %u %u %u %u\n", b->vid, b->id, b->speed, b->type, b->is_private, b->dma, b->prog,
              b->bytes, b->offset);
    }
}

static bool manifest(g_text_t *to, tw_manifest_kind_t kind, const char *text, size_t n, tw_diags_t *d)
{
    static tw_node_manifest_t node;
    static tw_io_manifest_t io;
    static tw_platform_t platform;
    tw_text_t t;
    bool ok = false;
    tw_text_open(&t, "m.txt", text, n, d);
    if (kind == TW_KIND_NODE || kind == TW_KIND_NODE_POSITIONAL) {
        ok = tw_node_manifest_parse(&node, &t);
        say_node_manifest(to, &node);
    } else if (kind == TW_KIND_IO && !g_is_template(text, n)) { /* its prose is dropped, which is told */
        ok = tw_io_manifest_parse(&io, &t);
        say_io_manifest(to, &io);
    } else if (kind == TW_KIND_PROCMAP) {
        platform = (tw_platform_t){0};
        ok = tw_procmap_parse(&platform, &t);
        say_procmap(to, &platform);
    }
    return ok;
}

bool meaning_of(g_text_t *to, const char *text, size_t n)
{
    static tw_diags_t d;
    d = (tw_diags_t){0};
    const tw_manifest_kind_t kind = tw_manifest_detect(text, n);
    return kind <= TW_KIND_GRAPH ? graph(to, text, n, &d) : manifest(to, kind, text, n, &d);
}
