/* graphc_stream.c - formats as streams: is a frame whole, do two ends of an arc carry the same. Knows no manifest. */
#include "host_tools/graphc/middle/graphc_middle.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static uint32_t stamp_bytes(const g_format_t *f)
{
    static const uint8_t bytes[] = {2, 4, 8, 8};
    return f->ts != 0 ? bytes[f->ts_size & 3u] : 0;
}

bool g_check_format(g_model_t *m, g_format_t *f)
{
    const uint32_t stamp = stamp_bytes(f), raw_bits = tw_raw_bits(f->raw), bits = raw_bits * f->channels;
    if (stamp >= f->frame_bytes && stamp > 0) {
        g_error(m, &f->pos, "format %u: a frame of %u bytes has no room after its %u-byte time stamp", f->id,
                f->frame_bytes, stamp);
        return false;
    }
    if (bits == 0) {
        f->samples = f->frame_bytes - stamp; /* self-describing array: counted in bytes */
        return true;
    }
    const uint64_t payload = (uint64_t)(f->frame_bytes - stamp) * 8;
    if (payload % bits != 0) {
        g_error(m, &f->pos,
                "format %u: %u frame bytes are no whole number of samples: %u channel(s) of %s take %u bits", f->id,
                f->frame_bytes - stamp, f->channels, tw_raw_name(f->raw), bits);
        return false;
    }
    const uint32_t align = raw_bits % 32 == 0 ? 4 : raw_bits == 16 ? 2 : 1;
    if (f->frame_bytes % align != 0) {
        g_error(m, &f->pos, "format %u: frames of %u bytes would not keep %s samples aligned to %u", f->id,
                f->frame_bytes, tw_raw_name(f->raw), align);
        return false;
    }
    f->samples = (uint32_t)(payload / bits);
    return true;
}

bool g_can_cut(const g_format_t *f)
{
    return f->ts == 0 && (f->interleave == 0 || f->channels == 1);
}

/* Differences so far, with a comma between them. */
typedef struct list {
    char *text;
    size_t n, size;
} list_t;

__attribute__((format(printf, 2, 3))) static void item(list_t *l, const char *fmt, ...)
{
    if (l->n > 0 && l->n + 2 < l->size) {
        memcpy(l->text + l->n, ", ", 3);
        l->n += 2;
    }
    va_list ap;
    va_start(ap, fmt);
    const int got = vsnprintf(l->text + l->n, l->size - l->n, fmt, ap);
    va_end(ap);
    l->n = got < 0 ? l->n : l->n + (size_t)got < l->size ? l->n + (size_t)got : l->size - 1;
}

static void differ_in_time_stamp(list_t *l, const g_format_t *a, const g_format_t *b)
{
    static const char *const kinds[] = {"no", "absolute", "relative", "counter"};
    static const char *const sizes[] = {"16-bit", "32-bit", "64-bit", "64-bit ISO"};
    if (a->ts != b->ts) {
        item(l, "%s to %s time stamp", kinds[a->ts & 3u], kinds[b->ts & 3u]);
    } else if (a->ts != 0 && a->ts_size != b->ts_size) {
        item(l, "%s to %s time stamp", sizes[a->ts_size & 3u], sizes[b->ts_size & 3u]);
    }
}

bool g_differ(const g_format_t *a, const g_format_t *b, char *why, size_t size)
{
    static const char *const blocks[] = {"interleaved", "a block per channel", "a buffer per channel", "?"};
    list_t l = {why, 0, size};
    why[0] = 0;
    if (a->raw != b->raw) {
        item(&l, "%s to %s", tw_raw_name(a->raw), tw_raw_name(b->raw));
    }
    if (a->channels != b->channels) {
        item(&l, "%u to %u channels", a->channels, b->channels);
    }
    if (a->interleave != b->interleave && (a->channels > 1 || b->channels > 1)) {
        item(&l, "%s to %s", blocks[a->interleave & 3u], blocks[b->interleave & 3u]);
    }
    if ((float)a->rate != (float)b->rate) { /* as the image holds them */
        item(&l, "%g to %g Hz", a->rate, b->rate);
    }
    if (a->unit != b->unit && a->unit != 0 && b->unit != 0) {
        item(&l, "%s to %s", tw_unit_text(a->unit), tw_unit_text(b->unit));
    }
    differ_in_time_stamp(&l, a, b);
    if (l.n == 0 && a->frame_bytes != b->frame_bytes && !(g_can_cut(a) && g_can_cut(b))) {
        item(&l, "frames of %u to %u bytes, which cannot be cut", a->frame_bytes, b->frame_bytes);
    }
    return l.n > 0;
}

static bool alike(const g_format_t *a, const g_format_t *b)
{
    char why[8];
    return a->frame_bytes == b->frame_bytes && a->interleave == b->interleave && a->unit == b->unit &&
           a->domain == b->domain && a->mapping == b->mapping && a->width == b->width && a->height == b->height &&
           a->border == b->border && !g_differ(a, b, why, sizeof why);
}

uint32_t g_format_like(g_model_t *m, const g_pos_t *pos, const g_format_t *f)
{
    for (uint32_t i = 0; i < m->n_formats; i++) {
        if (alike(&m->formats[i], f)) {
            return i;
        }
    }
    const bool room =
        m->n_formats < m->cap_formats || g_grow(&m->formats, m->cap_formats, &m->cap_formats, sizeof *m->formats);
    if (m->n_formats >= G_FORMATS_MAX || !room) {
        g_error(m, pos, "no room for one more format: the graph has %u", m->n_formats);
        return G_NONE;
    }
    m->formats[m->n_formats] = *f;
    m->formats[m->n_formats].id = G_NONE;
    return m->n_formats++;
}
