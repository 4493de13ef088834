/* graphc_device.c - what the device's node library says of a node: is it there, does it take these formats
 * together, how much memory do they ask for. Only this file and graphc_verify.c know the library.
 */
#include "engine/node/node.h"
#include "host_tools/graphc/middle/graphc_middle.h"
#include <stdio.h>
#include <stdlib.h>

tw_format_t g_device_format(const g_format_t *f)
{
    return (tw_format_t){
        .frame_bytes = f->frame_bytes,
        .samples = f->samples,
        .rate_hz = (float)f->rate,
        .raw = f->raw,
        .channels = f->channels,
        .interleave = f->interleave,
        .domain = f->domain,
        .unit = f->unit,
        .ts = f->ts,
        .ts_size = f->ts_size,
        .full_scale = 1.0f,
        .mapping = g_format_mapping(f),
    };
}

const tw_node_desc_t *g_device_type(const g_node_t *n)
{
    const tw_node_desc_t *d = tw_node_find(g_node_hash(n->manifest));
    return d != NULL && d->version == n->manifest->version ? d : NULL;
}

static const g_format_t *format_at(const g_model_t *m, const g_node_t *n, uint32_t slot)
{
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    return &m->formats[slot < n->rx ? a->to.format : a->from.format];
}

tw_err_t g_device_memory(const g_model_t *m, const g_node_t *n, uint32_t extra[TW_MAX_NODE_MEM], uint32_t *slot)
{
    const tw_node_desc_t *d = g_device_type(n);
    tw_format_t fmt[TW_MAX_NODE_ARCS];
    const tw_format_t *list[TW_MAX_NODE_ARCS];
    memset(extra, 0, TW_MAX_NODE_MEM * sizeof *extra);
    if (d == NULL || d->memreq == NULL) {
        return TW_OK;
    }
    for (uint32_t i = 0; i < (uint32_t)n->rx + n->tx; i++) {
        fmt[i] = g_device_format(format_at(m, n, i));
        list[i] = &fmt[i];
    }
    return d->memreq(list, n->rx, n->tx, extra, slot);
}

void g_verify_formats(g_model_t *m, const g_node_t *n)
{
    uint32_t extra[TW_MAX_NODE_MEM], slot = 0;
    const tw_err_t err = g_device_memory(m, n, extra, &slot);
    if (err == TW_OK) {
        return;
    }
    char why[96] = "";
    const bool differ = slot > 0 && g_differ(format_at(m, n, 0), format_at(m, n, slot), why, sizeof why);
    const g_arc_t *a = &m->arcs[n->arcs[slot]];
    g_error(m, &a->pos, "%s does not convert %s: %s", n->name, differ ? why : "these formats", tw_err_text(err));
    if (n->inserted) {
        g_note(m, &a->pos, "%s was inserted because the formats of this arc's ends differ", n->manifest->name);
    }
}

void g_verify_installed(g_model_t *m)
{
    bool *told = calloc(m->platform->n_nodes + 1, sizeof *told);
    for (uint32_t i = 0; told != NULL && i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        if (told[n->manifest_index] || tw_node_find(g_node_hash(n->manifest)) != NULL) {
            continue;
        }
        told[n->manifest_index] = true;
        g_warn(m, &n->pos, "%s is not installed in this version's device library", n->manifest->name);
        g_note(m, &n->pos, "a device refuses the graph until it is; %s describes the node", n->manifest->file);
    }
    free(told);
}
