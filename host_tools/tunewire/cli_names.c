/* cli_names.c - nodes, arcs and parameters by the names people use. */
#include "host_tools/tunewire/cli.h"
#include <ctype.h>
#include <stdlib.h>

enum { NAME_MAX_LEN = 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits from a to b, transpositions counted as one; names longer than NAME_MAX_LEN are far from everything. */
static unsigned distance(const char *a, const char *b)
{
    const size_t na = strlen(a), nb = strlen(b);
    unsigned row[3][NAME_MAX_LEN + 1];
    if (na > NAME_MAX_LEN || nb > NAME_MAX_LEN) {
        return NAME_MAX_LEN;
    }
    for (size_t j = 0; j <= nb; j++) {
        row[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= na; i++) {
        unsigned *now = row[i % 3];
        const unsigned *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = least(least(up[j], now[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = least(now[j], up2[j - 2] + 1);
            }
        }
    }
    return row[na % 3][nb];
}

const char *cli_nearest(const char *text, const char *const *names, size_t n)
{
    const char *best = NULL;
    const size_t len = strlen(text);
    unsigned best_d = len <= 3 ? 2 : len <= 8 ? 3 : 4; /* first distance that is too far */
    for (size_t i = 0; i < n; i++) {
        const unsigned d = distance(text, names[i]);
        if (d < best_d) {
            best_d = d;
            best = names[i];
        }
    }
    for (size_t i = 0; i < n && !best && len >= 2; i++) {
        if (strncmp(names[i], text, len) == 0 || strstr(names[i], text)) {
            best = names[i];
        }
    }
    return best;
}

bool cli_nodes(tw_cli_t *cli)
{
    if (!cli->have_nodes && !tw_client_nodes(cli->c, &cli->nodes)) {
        (void)cli_fail_client(cli, "nodes");
        return false;
    }
    return cli->have_nodes = true;
}

bool cli_arcs(tw_cli_t *cli)
{
    if (!cli->have_arcs && !tw_client_arcs(cli->c, &cli->arcs)) {
        (void)cli_fail_client(cli, "arcs");
        return false;
    }
    return cli->have_arcs = true;
}

/* An index is digits only. */
static bool is_index(const char *text, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    *out = (uint32_t)strtoul(text, &end, 10);
    return *end == '\0';
}

static void not_found(tw_cli_t *cli, const char *what, const char *text, const char *const *names, size_t n,
                      const char *list)
{
    const char *near = cli_nearest(text, names, n);
    char hint[120];
    if (n == 0) {
        (void)snprintf(hint, sizeof hint, "there is none; is a graph loaded (tunewire load FILE)?");
    } else if (near) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    } else {
        (void)snprintf(hint, sizeof hint, "%s lists what there is", list);
    }
    (void)cli_fail(cli, CLI_USAGE, text, hint, "no such %s", what);
}

/* Exact name or index; "filter" does for "filter.0" when there is no other. */
static const tunewire_v1_NodeInfo *look_up_node(const tw_cli_t *cli, const char *name, size_t len)
{
    const tunewire_v1_NodeInfo *alike = NULL;
    unsigned n_alike = 0;
    uint32_t index;
    char text[NAME_MAX_LEN];
    if (len >= sizeof text) {
        return NULL;
    }
    memcpy(text, name, len);
    text[len] = '\0';
    const bool number = is_index(text, &index);
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        const tunewire_v1_NodeInfo *row = &cli->nodes.rows[i];
        if (strcmp(row->name, text) == 0 || (number && row->node == index)) {
            return row;
        }
        if (strncmp(row->name, text, len) == 0 && row->name[len] == '.') {
            alike = row;
            n_alike++;
        }
    }
    return n_alike == 1 ? alike : NULL;
}

static void node_not_found(tw_cli_t *cli, const char *text)
{
    const char **names = calloc(cli->nodes.n + 1, sizeof *names);
    for (uint32_t i = 0; names && i < cli->nodes.n; i++) {
        names[i] = cli->nodes.rows[i].name;
    }
    not_found(cli, "node", text, names, names ? cli->nodes.n : 0, "tunewire nodes");
    free(names);
}

const tunewire_v1_NodeInfo *cli_find_node(tw_cli_t *cli, const char *name)
{
    if (!cli_nodes(cli)) {
        return NULL;
    }
    const tunewire_v1_NodeInfo *row = look_up_node(cli, name, strlen(name));
    if (!row) {
        node_not_found(cli, name);
    }
    return row;
}

const tunewire_v1_NodeInfo *cli_split_name(tw_cli_t *cli, const char *text, const char **param)
{
    *param = NULL;
    if (!cli_nodes(cli)) {
        return NULL;
    }
    const tunewire_v1_NodeInfo *row = look_up_node(cli, text, strlen(text));
    const char *dot = strrchr(text, '.');
    if (row || !dot) {
        if (!row) {
            node_not_found(cli, text);
        }
        return row;
    }
    row = look_up_node(cli, text, (size_t)(dot - text));
    if (!row) {
        char node[NAME_MAX_LEN];
        (void)snprintf(node, sizeof node, "%.*s", (int)(dot - text), text);
        node_not_found(cli, node);
        return NULL;
    }
    *param = dot + 1;
    return row;
}

const tunewire_v1_ArcInfo *cli_find_arc(tw_cli_t *cli, const char *name)
{
    uint32_t index;
    if (!cli_arcs(cli)) {
        return NULL;
    }
    const bool number = is_index(name, &index);
    const char **names = calloc(cli->arcs.n + 1, sizeof *names);
    for (uint32_t i = 0; names && i < cli->arcs.n; i++) {
        const tunewire_v1_ArcInfo *row = &cli->arcs.rows[i];
        if (strcmp(row->name, name) == 0 || (number && row->arc == index)) {
            free(names);
            return row;
        }
        names[i] = row->name;
    }
    not_found(cli, "arc", name, names, names ? cli->arcs.n : 0, "tunewire arcs");
    free(names);
    return NULL;
}

const tunewire_v1_ParamDesc *cli_find_param(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, const tw_params_t *p,
                                            const char *name)
{
    uint32_t index;
    const bool number = is_index(name, &index);
    const char **names = calloc(p->n + 1, sizeof *names);
    for (uint32_t i = 0; names && i < p->n; i++) {
        if (strcmp(p->rows[i].name, name) == 0 || (number && p->rows[i].index == index)) {
            free(names);
            return &p->rows[i];
        }
        names[i] = p->rows[i].name;
    }
    char what[64], list[64];
    (void)snprintf(what, sizeof what, "parameter of %s", node->name);
    (void)snprintf(list, sizeof list, "tunewire params %s", node->name);
    not_found(cli, what, name, names, names ? p->n : 0, list);
    free(names);
    return NULL;
}
