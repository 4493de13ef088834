/* manifest_text.c - a node type as text: arcs, types, memory, parameters.
 *
 * Made from the type's descriptor, line by line, so no copy of it is kept: a
 * reader asks for a window of the text and the lines before it are made again.
 */
#include "server/server_priv.h"

typedef struct window {
    uint8_t *out;
    uint32_t from, to; /* bytes of the text that are wanted */
    uint32_t at;       /* bytes made so far */
} window_t;

static void put(window_t *w, char c)
{
    if (w->at >= w->from && w->at < w->to) {
        w->out[w->at - w->from] = (uint8_t)c;
    }
    w->at++;
}

static void emit(window_t *w, tw_text_t *line)
{
    for (uint32_t i = 0; i < line->used; i++) {
        put(w, line->p[i]);
    }
    put(w, '\n');
    tw_text_init(line, line->p, line->cap);
}

static void range(tw_text_t *t, const char *what, uint32_t lo, uint32_t hi)
{
    tw_text_str(t, what);
    tw_text_int(t, lo);
    tw_text_str(t, " ");
    tw_text_int(t, hi);
}

static void head(window_t *w, tw_text_t *t, const tw_node_desc_t *d)
{
    tw_text_str(t, "node ");
    tw_text_str(t, d->developer);
    tw_text_str(t, "/");
    tw_text_str(t, d->name);
    emit(w, t);
    tw_text_str(t, "version ");
    tw_text_int(t, d->version >> 8);
    tw_text_str(t, ".");
    tw_text_int(t, d->version & 0xFF);
    emit(w, t);
    tw_text_str(t, "hash ");
    tw_text_hex(t, d->hash);
    emit(w, t);
    range(t, "rx ", d->rx_min, d->rx_max);
    emit(w, t);
    range(t, "tx ", d->tx_min, d->tx_max);
    emit(w, t);
}

static void raw_types(window_t *w, tw_text_t *t, const tw_node_desc_t *d)
{
    for (uint32_t raw = 0; raw < TW_RAW_COUNT; raw++) {
        if ((d->raw_mask >> raw & 1u) != 0) {
            tw_text_str(t, "raw ");
            tw_text_str(t, tw_raw_name(raw));
            emit(w, t);
        }
    }
}

static void presets(window_t *w, tw_text_t *t, const tw_node_desc_t *d)
{
    for (uint32_t i = 0; i < 64; i++) {
        if ((d->presets >> i & 1u) != 0) {
            tw_text_str(t, "preset ");
            tw_text_int(t, i);
            emit(w, t);
        }
    }
}

static void number(tw_text_t *t, const char *what, double v)
{
    tw_text_str(t, what);
    tw_text_num(t, v);
}

static void param(window_t *w, tw_text_t *t, const tw_param_desc_t *p)
{
    tw_text_str(t, "param ");
    tw_text_int(t, p->index);
    tw_text_str(t, " ");
    tw_text_str(t, p->name);
    tw_text_str(t, " ");
    const char *raw = tw_raw_name(p->raw);
    tw_text_str(t, raw != NULL ? raw : "?");
    tw_text_str(t, " ");
    tw_text_int(t, p->count);
    number(t, " min ", p->min);
    number(t, " max ", p->max);
    number(t, " default ", p->dflt);
    const char *unit = tw_unit_text(p->unit);
    tw_text_str(t, " unit ");
    tw_text_str(t, unit != NULL ? unit : "any");
    tw_text_str(t, (p->flags & TW_PARAM_READ_ONLY) != 0 ? " read_only" : "");
    tw_text_str(t, (p->flags & TW_PARAM_SMOOTHED) != 0 ? " smoothed" : "");
    tw_text_str(t, (p->flags & TW_PARAM_NOT_IN_ALL) != 0 ? " not_in_all" : "");
    emit(w, t);
}

uint32_t tw_manifest_text(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t at, uint8_t *out, uint32_t n)
{
    char buf[192];
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    window_t w = {.out = out, .from = at, .to = at + n};
    head(&w, &t, d);
    raw_types(&w, &t, d);
    presets(&w, &t, d);
    uint32_t count;
    const tw_param_desc_t *params = tw_node_params(d, fmt, &count);
    for (uint32_t i = 0; params != NULL && i < count; i++) {
        param(&w, &t, &params[i]);
    }
    return w.at;
}
