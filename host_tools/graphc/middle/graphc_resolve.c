/* graphc_resolve.c - nodes of the text to node types of the platform, and the order in which all that needs a manifest
 * is checked. Knows no address.
 */
#include "host_tools/graphc/middle/graphc_middle.h"

/* "amplifier" of "arm_stream_amplifier", or NULL. */
static const char *named_in_full(const tw_tok_t *tok, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(names[i]);
        if (n > tok->n && names[i][n - tok->n - 1] == '_' && memcmp(names[i] + n - tok->n, tok->p, tok->n) == 0) {
            return names[i];
        }
    }
    return NULL;
}

/* What a type that the platform has not was meant to be, or NULL. */
static const char *nearest_type(const g_model_t *m, const g_slice_t *type)
{
    const tw_platform_t *p = m->platform;
    const char *names[256];
    size_t count = 0;
    for (; count < p->n_nodes && count < TW_COUNT(names); count++) {
        names[count] = p->nodes[count].name;
    }
    const tw_tok_t tok = {.p = type->p, .n = type->n};
    const char *near = named_in_full(&tok, names, count);
    return near != NULL ? near : tw_nearest(&tok, names, count, sizeof names[0]);
}

static const tw_node_manifest_t *find_manifest(g_model_t *m, g_node_t *n)
{
    const tw_node_manifest_t *x = g_find_type(m, n->type.p, n->type.n);
    if (x != NULL) {
        n->manifest_index = (uint32_t)(x - m->platform->nodes);
        return x;
    }
    const bool shown = m->diags->n < TW_COUNT(m->diags->rows); /* else it is only counted */
    const char *near = shown ? nearest_type(m, &n->type) : NULL;
    g_error(m, &n->pos, "the platform has no node '%.*s'%s%s%s", (int)n->type.n, n->type.p,
            near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return NULL;
}

/* What a text may do with a node type: blocks, scripts, parameters. */
static void check_use(g_model_t *m, const g_node_t *n, const tw_node_manifest_t *x)
{
    if (n->blocks_named > x->n_mem) {
        g_error(m, &n->blocks_pos, "%s has %u memory block%s, this speaks of block %u", x->name, x->n_mem,
                x->n_mem == 1 ? "" : "s", n->blocks_named - 1);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "the node's manifest");
    }
    if (n->own_script != G_NONE && x->rx > 0) {
        g_error(m, &n->pos, "%s is no script node: a shared script is declared with 'script n'", x->name);
    }
    if (n->own_script != G_NONE && n->has_params) {
        g_error(m, &n->pos, "parameters of a script node: write them as literals of its script");
    }
    if (n->own_script == G_NONE && strcmp(x->name, "arm_stream_script") == 0) {
        g_error(m, &n->pos, "a script node needs script_code, script_assembler or script_source");
    }
}

/* A type that one processor has binds its nodes to it. */
static void check_installed(g_model_t *m, g_node_t *n, const tw_node_manifest_t *x)
{
    if (x->on_proc == 0 || m->platform->n_procs < 2) {
        return;
    }
    if (n->proc != 0 && n->proc != x->on_proc) {
        g_error(m, &n->pos, "node_map_proc %u: %s is installed on processor %u", n->proc, x->name, x->on_proc);
        g_note(m, &(g_pos_t){m->platform->path, 0, 0}, "the top manifest says where node types are");
    }
    n->proc = n->proc != 0 ? n->proc : x->on_proc;
}

/* Where it may run. */
static void check_place(g_model_t *m, const g_node_t *n, const tw_node_manifest_t *x)
{
    const uint32_t bit = n->proc != 0 ? 1u << (n->proc - 1u) : 0;
    if ((bit & ~m->platform->processors) != 0) {
        g_error(m, &n->pos, "node_map_proc %u: the platform has no such processor", n->proc);
    } else if ((bit & ~m->control.processors) != 0) {
        g_error(m, &n->pos, "node_map_proc %u: allowed_processors %u leaves it out", n->proc, m->control.processors);
    }
    if (x->arch != 0 && n->arch != 0 && n->arch != x->arch) {
        g_error(m, &n->pos, "node_map_arch %u: %s is made for architecture %u", n->arch, x->name, x->arch);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "the node's manifest");
    }
}

static void check_node(g_model_t *m, g_node_t *n)
{
    n->manifest = find_manifest(m, n);
    const tw_node_manifest_t *x = n->manifest;
    if (x == NULL) {
        return;
    }
    n->rx = x->rx;
    n->tx = x->tx;
    m->services |= x->services;
    if (x->use_key) {
        g_error(m, &n->pos, "%s wants a key exchange, which is refused", x->name);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "the node's manifest");
    }
    if ((x->services & ~m->platform->services) != 0) {
        g_error(m, &n->pos, "%s needs services %#x, the platform has %#x", x->name, x->services, m->platform->services);
        g_note(m, &(g_pos_t){x->file, 0, 0}, "the node's manifest");
    }
    check_use(m, n, x);
    check_installed(m, n, x);
    check_place(m, n, x);
}

static void check_manifest_arcs(g_model_t *m, const tw_node_manifest_t *x)
{
    int tx = 0;
    for (int i = 0; i < x->rx + x->tx; i++) {
        tx += x->arcs[i].tx;
    }
    if (tx != x->tx || x->tx == 0) {
        tw_diag(m->diags, false, x->file, 0, 0,
                x->tx == 0 ? "%s has no transmit arc, which every node needs for its lock"
                           : "%s: node_nb_arcs and the directions of the arcs disagree",
                x->name);
    }
}

static void check_ios(g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_ios; i++) {
        g_io_t *io = &m->ios[i];
        g_check_io(m, io);
        for (uint32_t k = 0; k < i && io->manifest != NULL; k++) {
            if (m->ios[k].hwid == io->hwid) {
                g_error(m, &io->pos, "hwid %u is used by stream_io %u already", io->hwid, m->ios[k].id);
                g_note(m, &m->ios[k].pos, "first used here");
            }
        }
    }
}

bool g_resolve(g_model_t *m)
{
    for (unsigned i = 0; i < m->platform->n_nodes; i++) {
        check_manifest_arcs(m, &m->platform->nodes[i]);
    }
    for (uint32_t i = 0; i < m->n_formats; i++) {
        (void)g_check_format(m, &m->formats[i]);
    }
    check_ios(m);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        check_node(m, &m->nodes[i]);
    }
    if (m->control.debug_script != 0 && m->n_shared == 0) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "debug_script_fields calls script 0, which is not declared");
    }
    if (m->n_nodes == 0) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "the graph has no node");
    }
    g_connect(m);
    if (m->diags->errors == 0) { /* what follows would only repeat it */
        g_check_connected(m);
    }
    return m->diags->errors == 0;
}
