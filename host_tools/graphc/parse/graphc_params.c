/* graphc_params.c - several node_parameters blocks of one node become the one that the image has. */
#include "engine/node/node.h"
#include "host_tools/graphc/graphc_priv.h"

/* What a node's parameters depend on. */
static tw_format_t format_of(const g_model_t *m, const g_node_t *n)
{
    const g_arc_t *a = &m->arcs[n->arcs[0]];
    const g_format_t *f = &m->formats[n->manifest->rx != 0 ? a->to.format : a->from.format];
    return (tw_format_t){
        .frame_bytes = f->frame_bytes,
        .samples = f->samples,
        .rate_hz = (float)f->rate,
        .raw = f->raw,
        .channels = f->channels,
        .interleave = f->interleave,
        .domain = f->domain,
        .unit = f->unit,
        .full_scale = 1.0f,
        .mapping = g_format_mapping(f),
    };
}

/* Byte of parameter `index` inside the block of all, or G_NONE. */
static uint32_t offset_of(const tw_node_desc_t *d, const tw_format_t *f, uint32_t index)
{
    uint32_t count = 0, at = 0;
    const tw_param_desc_t *p = d->params != NULL ? d->params(f, &count) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        if ((p[i].flags & TW_PARAM_NOT_IN_ALL) != 0) {
            continue;
        }
        if (p[i].index == index) {
            return at;
        }
        at += tw_param_bytes(d, f, p[i].index);
    }
    return G_NONE;
}

static void refuse(g_model_t *m, const g_set_t *s, const g_node_t *n, const char *why)
{
    g_error(m, &s->pos, "a further block of boot parameters%s", why);
    g_note(m, &n->params_pos, "the first block is here");
}

static void put_over(g_model_t *m, const g_set_t *s)
{
    g_node_t *n = &m->nodes[s->node];
    const tw_node_desc_t *d = tw_node_find(g_node_hash(n->manifest));
    if (d == NULL || d->version != n->manifest->version) {
        refuse(m, s, n, ": only for the node types that this compiler knows");
        return;
    }
    const tw_format_t f = format_of(m, n);
    const uint32_t at = offset_of(d, &f, s->tag);
    if (n->tag != 256 || s->tag == 256) {
        refuse(m, s, n, ": the first has TAG 0, all parameters, and each further one that of a single parameter");
    } else if (at == G_NONE) {
        g_error(m, &s->pos, "%s has no parameter %u in its block of all", n->manifest->name, s->tag);
    } else if (s->bytes != tw_param_bytes(d, &f, s->tag)) {
        g_error(m, &s->pos, "parameter %u of %s takes %u bytes, not %u", s->tag, n->manifest->name,
                tw_param_bytes(d, &f, s->tag), s->bytes);
    } else if (at + s->bytes > n->params_bytes) {
        refuse(m, s, n, ", but the first ends before this parameter");
    } else {
        memcpy(m->params + n->params_at + at, m->aside + s->at, s->bytes);
    }
}

bool g_merge_params(g_model_t *m)
{
    const unsigned errors = m->diags->errors;
    for (uint32_t i = 0; i < m->n_sets; i++) {
        put_over(m, &m->sets[i]);
    }
    return m->diags->errors == errors;
}
