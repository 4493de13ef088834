/* graphc_report.c - what the compiler did, for people (text) and for tools (JSON). Changes nothing. */
#include "host_tools/graphc/graphc_priv.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct text {
    char *v;
    uint32_t n, cap;
} text_t;

__attribute__((format(printf, 2, 3))) static void say(text_t *t, const char *fmt, ...)
{
    for (;;) {
        va_list ap;
        va_start(ap, fmt);
        const int n = vsnprintf(t->v != NULL ? t->v + t->n : NULL, t->cap - t->n, fmt, ap);
        va_end(ap);
        if (n >= 0 && t->n + (uint32_t)n < t->cap) {
            t->n += (uint32_t)n;
            return;
        }
        if (n < 0 || !g_grow(&t->v, t->cap, &t->cap, 1)) {
            return;
        }
    }
}

static const char *end_name(const g_model_t *m, const g_arc_t *a, const g_end_t *e)
{
    return e->node == G_IO ? m->ios[a->io].symbol : m->nodes[e->node].name;
}

/* Frames of different length meet again after their least common multiple: the size that never waits. */
static uint64_t lcm(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y != 0) {
        const uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > 0 ? a / x * b : 0;
}

static void say_formats(text_t *t, const g_model_t *m)
{
    say(t, "\nformat  raw       channels  rate [Hz]  frame [bytes]  samples  frame of one channel [bytes]\n");
    for (uint32_t i = 0; i < m->n_formats; i++) {
        const g_format_t *f = &m->formats[i];
        say(t, "%6u  %-8s  %8u  %9g  %13u  %7u  %u\n", i, tw_raw_name(f->raw), f->channels, f->rate, f->frame_bytes,
            f->samples, f->samples * tw_raw_bits(f->raw) / 8);
    }
}

static void say_arcs(text_t *t, const g_model_t *m)
{
    say(t, "\narc  name                             from -> to\n");
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        const uint32_t from = m->formats[a->from.format].frame_bytes, to = m->formats[a->to.format].frame_bytes;
        say(t, "%3u  %-31s  %s -> %s, bank %u at %u, %u bytes", i, a->name, end_name(m, a, &a->from),
            end_name(m, a, &a->to), a->bank, a->at, a->bytes);
        if (a->lock) {
            say(t, " (lock)");
        } else if (lcm(from, to) > a->bytes) {
            say(t, " (frames of %u and %u bytes: %llu bytes would hold whole ones of both)", from, to,
                (unsigned long long)lcm(from, to));
        }
        say(t, "\n");
    }
}

static void say_nodes(text_t *t, const g_model_t *m)
{
    say(t, "\nnode  name                             type\n");
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[m->order[i]];
        say(t, "%4u  %-31s  %s\n", i, n->name, n->manifest->name);
        for (unsigned k = 0; k < n->manifest->n_mem; k++) {
            say(t, "      block %u: bank %u at %u, %u bytes%s\n", k, n->block_vid[k], n->block_at[k], n->block_bytes[k],
                n->manifest->mem[k].type == 1 ? ", working" : "");
        }
    }
}

char *g_report(const g_model_t *m, uint32_t image_bytes)
{
    text_t t = {0};
    say(&t, "graph %s: %u bytes of image, %u of state, uid %08x, platform %08x\n", m->control.name, image_bytes,
        m->state_bytes, m->uid, m->platform->id);
    say(&t, "%u nodes, %u arcs, %u IOs, %u formats, %u scripts\n", m->n_nodes, m->n_arcs, m->n_ios, m->n_formats,
        m->n_scripts);
    say(&t, "\nbank    static   working         of\n");
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const g_bank_t *b = &m->banks[i];
        say(&t, "%4u  %8u  %8u  %9u\n", b->manifest->vid, b->fixed, b->working, b->manifest->bytes);
    }
    say_formats(&t, m);
    say_nodes(&t, m);
    say_arcs(&t, m);
    return t.v;
}

/* Names hold [A-Za-z0-9_./-] only, so nothing needs escaping. */
char *g_report_json(const g_model_t *m, uint32_t image_bytes)
{
    text_t t = {0};
    say(&t, "{\"graph\":\"%s\",\"image_bytes\":%u,\"state_bytes\":%u,\"uid\":%u,\"platform\":%u,\"banks\":[",
        m->control.name, image_bytes, m->state_bytes, m->uid, m->platform->id);
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const g_bank_t *b = &m->banks[i];
        say(&t, "%s{\"vid\":%u,\"static\":%u,\"working\":%u,\"bytes\":%u}", i > 0 ? "," : "", b->manifest->vid,
            b->fixed, b->working, b->manifest->bytes);
    }
    say(&t, "],\"nodes\":[");
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[m->order[i]];
        say(&t, "%s{\"name\":\"%s\",\"type\":\"%s\",\"blocks\":[", i > 0 ? "," : "", n->name, n->manifest->name);
        for (unsigned k = 0; k < n->manifest->n_mem; k++) {
            say(&t, "%s{\"vid\":%u,\"at\":%u,\"bytes\":%u,\"working\":%s}", k > 0 ? "," : "", n->block_vid[k],
                n->block_at[k], n->block_bytes[k], n->manifest->mem[k].type == 1 ? "true" : "false");
        }
        say(&t, "]}");
    }
    say(&t, "],\"arcs\":[");
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        say(&t, "%s{\"name\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"vid\":%u,\"at\":%u,\"bytes\":%u,\"lock\":%s}",
            i > 0 ? "," : "", a->name, end_name(m, a, &a->from), end_name(m, a, &a->to), a->bank, a->at, a->bytes,
            a->lock ? "true" : "false");
    }
    say(&t, "]}\n");
    return t.v;
}
