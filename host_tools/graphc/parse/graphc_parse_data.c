/* graphc_parse_data.c - blocks of data lines that are the image's own: boot parameters of nodes, contents of arcs. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"
#include <stdlib.h>

/* Where the block being read grows: a buffer of the model, and the record's place and size in it. */
typedef struct grows {
    uint8_t **data;
    uint32_t *n, *cap, *bytes;
    uint16_t *tag; /* NULL: data have none */
} grows_t;

static grows_t block_here(g_parser_t *p)
{
    g_model_t *m = p->m;
    if (p->in == IN_ARC) {
        return (grows_t){&m->aside, &m->n_aside, &m->cap_aside, &g_arc_here(p)->data_bytes, NULL};
    }
    if (p->set != G_NONE) {
        g_set_t *s = &m->sets[p->set];
        return (grows_t){&m->aside, &m->n_aside, &m->cap_aside, &s->bytes, &s->tag};
    }
    g_node_t *n = g_node_here(p);
    return (grows_t){&m->params, &m->n_params, &m->cap_params, &n->params_bytes, &n->tag};
}

static void open_block(g_parser_t *p)
{
    g_start(p, p->in);
    p->lines = LINES_DATA;
    p->has_tag = false;
    p->set = G_NONE;
}

/* A node's first block; any other is for one parameter, and goes over it. */
static bool add_set(g_parser_t *p)
{
    g_model_t *m = p->m;
    if (m->n_sets >= G_NODES_MAX) {
        p->lines = LINES_IGNORED;
        tw_text_error(p->t, &p->tag, "more than %u further blocks of boot parameters", G_NODES_MAX);
        return false;
    }
    if (m->n_sets >= m->cap_sets && !g_grow(&m->sets, m->n_sets, &m->cap_sets, sizeof *m->sets)) {
        p->lines = LINES_IGNORED;
        return g_fail(p, NULL, "out of memory");
    }
    m->sets[m->n_sets] = (g_set_t){.pos = p->block, .node = m->n_nodes - 1, .at = m->n_aside};
    p->set = m->n_sets++;
    return true;
}

/* Parameters of a script are data for its code. */
static bool is_script(g_parser_t *p)
{
    static const char script[] = "arm_stream_script";
    const g_node_t *n = p->in == IN_NODE ? g_node_here(p) : NULL;
    return n == NULL || n->own_script != G_NONE ||
           (n->type.n == sizeof script - 1 && memcmp(n->type.p, script, n->type.n) == 0);
}

bool g_read_parameters(g_parser_t *p)
{
    g_model_t *m = p->m;
    open_block(p);
    if (is_script(p)) {
        return g_script_data_open(p);
    }
    g_node_t *n = g_node_here(p);
    if (g_more(p)) {
        tw_text_warn(p->t, NULL, "a label is for the code of a script: it has no use here");
    }
    if (n->has_params) {
        return add_set(p);
    }
    m->n_params = tw_round_up(m->n_params, 8);
    n->has_params = true;
    n->params_pos = p->block;
    n->params_at = m->n_params;
    return true;
}

bool g_read_arc_parameters(g_parser_t *p)
{
    g_arc_t *a = g_arc_here(p);
    open_block(p);
    if (a->has_data) {
        p->lines = LINES_IGNORED;
        (void)g_fail(p, NULL, "the contents of this arc are given already");
        g_note(p->m, &a->data_pos, "here");
        return false;
    }
    a->has_data = true;
    a->data_pos = p->block;
    a->data_at = p->m->n_aside;
    return true;
}

/* The TAG byte selects the parameter and is not part of its value. */
static bool first_line(g_parser_t *p, const grows_t *b)
{
    uint8_t *first = NULL;
    uint32_t bytes = 0, cap = 0;
    bool ok = g_take_data(p, &first, &bytes, &cap) != NULL;
    if (ok) {
        *b->tag = first[0] != 0 ? first[0] : 256;
        ok = g_append(p, b->data, b->n, b->cap, first + 1, bytes - 1);
        *b->bytes += ok ? bytes - 1 : 0;
    }
    free(first);
    return ok;
}

bool g_data_line(g_parser_t *p)
{
    const grows_t b = block_here(p);
    const uint32_t before = *b.n;
    if (!p->has_tag && b.tag != NULL) {
        p->has_tag = true;
        return first_line(p, &b);
    }
    p->has_tag = true;
    const bool ok = g_take_data(p, b.data, b.n, b.cap) != NULL;
    *b.bytes += *b.n - before;
    return ok;
}

bool g_data_end(g_parser_t *p)
{
    if (!p->has_tag) {
        g_error(p->m, &p->block, p->in == IN_ARC ? "arc_parameters without data" : "parameters without data");
    }
    return p->has_tag;
}
