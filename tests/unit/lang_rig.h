/* lang_rig.h - graph texts in memory, what the parser makes of them in words, and what the compiler says. */
#pragma once
#include "host_tools/graphc/graphc_priv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"

typedef struct file {
    const char *path, *text;
} file_t;

static inline char *read_memory(void *ctx, const char *path, size_t *n)
{
    for (const file_t *f = ctx; f->path != NULL; f++) {
        if (strcmp(f->path, path) == 0) {
            *n = strlen(f->text);
            char *copy = malloc(*n + 1); /* exact but for malloc(0) */
            memcpy(copy, f->text, *n);
            return copy;
        }
    }
    return NULL;
}

typedef struct say {
    char v[65536];
    size_t n;
} say_t;

__attribute__((format(printf, 2, 3))) static inline void say(say_t *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(s->v + s->n, sizeof s->v - s->n, fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && (size_t)n < sizeof s->v - s->n);
    s->n += (size_t)n;
}

static inline void say_diags(say_t *s, const tw_diags_t *d)
{
    for (unsigned i = 0; i < d->n; i++) {
        const tw_diag_t *r = &d->rows[i];
        for (uint8_t o = r->note ? 0 : r->origin; o != 0; o = d->origins[o - 1].origin) {
            const tw_diag_origin_t *from = &d->origins[o - 1];
            say(s, "%s:%u:%u %s: ", from->file, from->line, from->col, from->text);
        }
        say(s, "%s:%u:%u %s: %s\n", r->file, r->line, r->col,
            r->note      ? "note"
            : r->warning ? "warning"
                         : "error",
            r->text);
    }
}

/* Every word the parser left in the model, one record a line. */
static inline void say_format(say_t *s, uint32_t i, const g_format_t *f)
{
    say(s, "format %u: id=%u frame=%u raw=%s interleave=%u channels=%u ts=%u/%u unit=%u domain=%u rate=%g mapping=%#x",
        i, f->id, f->frame_bytes, tw_raw_name(f->raw), f->interleave, f->channels, f->ts, f->ts_size, f->unit,
        f->domain, f->rate, f->mapping);
    say(s, " 2d=%ux%u+%u\n", f->width, f->height, f->border);
}

static inline void say_node(say_t *s, const g_model_t *m, uint32_t i)
{
    const g_node_t *n = &m->nodes[i];
    say(s, "node %u: %.*s %u scope=%s name=%s preset=%u proc=%u arch=%u rtos=%u verbose=%u trace=%u script=%d own=%d",
        i, (int)n->type.n, n->type.p, n->inst, m->scopes[n->scope].name, n->name, n->preset, n->proc, n->arch, n->rtos,
        n->verbose, n->trace, (int)n->script, (int)n->own_script);
    for (unsigned k = 0; k < 6; k++) {
        if (n->e[k] != 0 || (n->vid_given >> k & 1u) != 0 || (n->copied >> k & 1u) != 0 || (n->placed >> k & 1u) != 0) {
            say(s, " block%u=E%u", k, n->e[k]);
        }
        if ((n->vid_given >> k & 1u) != 0) {
            say(s, "@%u", n->vid[k]);
        }
        if ((n->copied >> k & 1u) != 0) {
            say(s, "%s>%u", (n->swapped >> k & 1u) != 0 ? "<" : "", n->copy_vid[k]);
        }
        if ((n->copy_placed >> k & 1u) != 0) {
            say(s, "+%u", n->copy_at[k]);
        }
        if ((n->placed >> k & 1u) != 0) {
            say(s, "+%u", n->block_at[k]);
        }
    }
    if (n->has_params) {
        say(s, " tag=%u params=", n->tag);
        for (uint32_t k = 0; k < n->params_bytes; k++) {
            say(s, "%02x", m->params[n->params_at + k]);
        }
    }
    say(s, "\n");
}

static inline void say_end(say_t *s, const g_model_t *m, const g_arc_t *a, const g_end_t *e)
{
    if (e->node == G_IO) {
        say(s, "io%d", (int)a->io);
    } else {
        say(s, "node%d.%u", (int)e->node, e->port);
    }
    say(s, " f%u", e->format);
    (void)m;
}

static inline void say_arc(say_t *s, const g_model_t *m, uint32_t i)
{
    const g_arc_t *a = &m->arcs[i];
    say(s, "arc %u: %s%s", i, a->name, a->name[0] != 0 ? ": " : "");
    say_end(s, m, a, &a->from);
    say(s, " > ");
    say_end(s, m, a, &a->to);
    say(s, " flow=%u/%u%s debug=%u:%u/%u flush=%u vid=%u%s jitter=%g delay=%u script=%d", a->underflow, a->overflow,
        a->by_domain ? "d" : "", a->debug_cmd, a->debug_reg, a->debug_page, a->flush, a->vid, a->vid_given ? "!" : "",
        a->jitter, a->delay, (int)a->script);
    say(s, " crumbs=%d:%u/%u%s%s%s", a->crumbs, a->crumb_in, a->crumb_out, a->hqos ? " hqos" : "",
        a->set_buffer ? " set" : "", a->no_convert ? " plain" : "");
    if (a->ring != 0) {
        say(s, " ring=%u", a->ring);
    }
    if (a->placed) {
        say(s, " at=%u", a->at);
    }
    if (a->fill_pattern != 0) {
        say(s, " pattern=%#x", a->fill_pattern);
    }
    if (a->has_data) {
        say(s, " data=");
        for (uint32_t k = 0; k < a->data_bytes; k++) {
            say(s, "%02x", m->aside[a->data_at + k]);
        }
    }
    say(s, "\n");
}

static inline void say_script(say_t *s, const g_model_t *m, uint32_t i)
{
    const g_script_t *x = &m->scripts[i];
    say(s,
        "script %u: id=%d node=%d scope=%s name=%.*s regs=%u ptrs=%u stack=%u shared=%u vid=%u budget=%u heap=%u code=",
        i, (int)x->id, (int)x->node, m->scopes[x->scope].name, (int)x->name.n, x->name.p, x->regs, x->ptrs, x->stack,
        x->shared, x->vid, x->budget, x->heap);
    for (uint32_t k = 0; k < x->code_bytes; k++) {
        say(s, "%02x", x->code[k]);
    }
    say(s, " literals=");
    for (uint32_t k = 0; k < x->literal_bytes; k++) {
        say(s, "%02x", x->code[tw_round_up(x->code_bytes, 4) + k]);
    }
    if (x->privileged != 0) {
        say(s, " privileged=%u", x->privileged);
    }
    if (x->source != NULL) {
        say(s, " source=");
    }
    for (uint32_t k = 0; k < x->source_bytes; k++) { /* indentation means nothing */
        const bool leads = x->source[k] == ' ' && (k == 0 || x->source[k - 1] == '\n' || x->source[k - 1] == ' ');
        say(s, "%.*s", leads ? 0 : 1, x->source + k);
    }
    say(s, "\n");
}

static inline void say_model(say_t *s, const g_model_t *m)
{
    const g_control_t *c = &m->control;
    say(s, "graph: name=%s location=%u debug=%u return=%u map=%u processors=%#x subgraphs=%u fill=%#x sequence=%u\n",
        c->name, c->location, c->debug_script, c->sched_return, c->map_vid, c->processors, c->subgraphs, c->fill,
        c->sequence);
    for (uint32_t i = 0; i < m->n_plans; i++) {
        say(s, "plan %u: %u %u %u\n", i, m->plans[i].vid, m->plans[i].fixed, m->plans[i].working);
    }
    for (uint32_t i = 0; i < m->n_maps; i++) {
        say(s, "map %u: %u>%u %u+%u\n", i, m->maps[i].orig, m->maps[i].vid, m->maps[i].start, m->maps[i].bytes);
    }
    for (uint32_t i = 0; i < m->n_formats; i++) {
        say_format(s, i, &m->formats[i]);
    }
    for (uint32_t i = 0; i < m->n_ios; i++) {
        const g_io_t *x = &m->ios[i];
        say(s, "io %u: id=%u f%u hwid=%u set=%#x,%#x,%#x at=%u+%u name=%s\n", i, x->id, x->format, x->hwid,
            x->setting[0], x->setting[1], x->setting[2], x->buffer_vid, x->buffer_at, x->symbol);
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        say_node(s, m, i);
    }
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        say_script(s, m, i);
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        say_arc(s, m, i);
    }
}

/* Parse alone: the model in words, then the diagnostics. */
static inline bool parse_files(const file_t *files, say_t *s)
{
    static tw_diags_t d;
    g_model_t m = {.diags = &d};
    d = (tw_diags_t){0};
    const tw_text_source_t src = {(void *)(uintptr_t)files, read_memory};
    const bool ok = g_parse(&m, files[0].path, &src) && d.errors == 0;
    tw_diag_origins_end(&d);
    s->n = 0;
    s->v[0] = 0;
    if (ok) {
        say_model(s, &m);
    }
    say_diags(s, &d);
    g_model_free(&m);
    return ok;
}

static inline bool parse_text(const char *text, say_t *s)
{
    const file_t files[] = {{"g.txt", text}, {NULL, NULL}};
    return parse_files(files, s);
}

/* Compile on the platform of the examples. */
static inline bool compile_files(const file_t *files, tw_graphc_out_t *out)
{
    static tw_platform_t platform;
    const tw_text_source_t src = {(void *)(uintptr_t)files, read_memory};
    const tw_graphc_opts_t opts = {0};
    *out = (tw_graphc_out_t){0};
    if (platform.n_nodes == 0) {
        tw_diags_t d = {0};
        assert_true(tw_platform_read(&platform, PLATFORM, &d));
    }
    return g_compile(files[0].path, &opts, &platform, &src, out);
}

static inline void want(const char *why, const say_t *got, const char *part)
{
    if (strstr(got->v, part) == NULL) {
        fail_msg("%s\n  wanted: %s\n  got:\n%s", why, part, got->v);
    }
}

static inline void want_not(const char *why, const say_t *got, const char *part)
{
    if (strstr(got->v, part) != NULL) {
        fail_msg("%s\n  not wanted: %s\n  got:\n%s", why, part, got->v);
    }
}

static inline void must(const char *why, bool ok, const say_t *got)
{
    if (!ok) {
        fail_msg("%s\n%s", why, got->v);
    }
}
