/* sl_names.c - what names mean: symbols of the text, objects of the graph, and the nearest of a wrong one. */
#include "host_tools/scriptlang/sl_check_priv.h"
#include <stdio.h>

static bool same(const char *a, uint32_t n, const char *b, uint32_t m)
{
    return n == m && memcmp(a, b, n) == 0;
}

/* ---- the nearest -------------------------------------------------------------------------------- */

typedef struct near {
    const char *p;
    uint32_t n;
    char best[NAME_CHARS + 1];
    unsigned distance;
} near_t;

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Insertions, deletions and replacements from one name to the other. */
static unsigned edits(const char *a, uint32_t n, const char *b, uint32_t m)
{
    unsigned row[NAME_CHARS + 1];
    for (unsigned j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            const unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[m];
}

static void consider(near_t *near, const char *p, uint32_t n)
{
    if (n == 0 || n > NAME_CHARS || near->n > NAME_CHARS || n >= near->n + near->distance ||
        near->n >= n + near->distance) {
        return;
    }
    const unsigned d = edits(near->p, near->n, p, n);
    if (d < near->distance && 2 * d <= near->n) {
        near->distance = d;
        (void)snprintf(near->best, sizeof near->best, "%.*s", (int)n, p);
    }
}

static void consider_objects(compiler_t *c, near_t *near, tw_sl_kind_t kind)
{
    const tw_sl_world_t *w = c->opts->world;
    for (uint32_t i = 0; w != NULL && i < w->n[kind]; i++) {
        const char *name = w->name(w->ctx, kind, i);
        if (name != NULL) {
            consider(near, name, (uint32_t)strlen(name));
        }
    }
}

static void tell(compiler_t *c, const char *what, const near_t *near, pos_t pos)
{
    const int n = (int)tw_min_u32(near->n, NAME_CHARS);
    if (near->best[0] != 0) {
        sl_error(c, pos, "unknown %s '%.*s', did you mean '%s'?", what, n, near->p, near->best);
    } else {
        sl_error(c, pos, "unknown %s '%.*s'", what, n, near->p);
    }
}

void sl_unknown(compiler_t *c, const char *what, const char *p, uint32_t n, pos_t pos, bool functions)
{
    static const char *const values[] = {"true", "false", "on", "off", "pi"};
    near_t near = {.p = p, .n = n, .distance = 3};
    for (const symbol_t *s = c->scope; s != NULL; s = s->outer) {
        if ((s->kind == SYM_FUNC) == functions) {
            consider(&near, s->name, s->n);
        }
    }
    for (size_t i = 0; !functions && i < TW_COUNT(values); i++) {
        consider(&near, values[i], (uint32_t)strlen(values[i]));
    }
    for (size_t i = 0; functions && sl_builtin_name(i) != NULL; i++) {
        consider(&near, sl_builtin_name(i), (uint32_t)strlen(sl_builtin_name(i)));
    }
    tell(c, what, &near, pos);
}

/* ---- symbols ----------------------------------------------------------------------------------------- */

symbol_t *sl_lookup(compiler_t *c, const char *p, uint32_t n)
{
    for (symbol_t *s = c->scope; s != NULL; s = s->outer) {
        if (same(s->name, s->n, p, n)) {
            return s;
        }
    }
    return NULL;
}

symbol_t *sl_declare(compiler_t *c, symbol_kind_t kind, const node_t *at)
{
    const symbol_t *old = sl_lookup(c, at->text, at->n);
    if (old != NULL) {
        sl_error(c, at->pos, "'%.*s' is declared already", (int)at->n, at->text);
        sl_note(c, old->pos, "first declared here");
        return NULL;
    }
    if (++c->n_symbols > SYMBOLS_MAX) {
        sl_error(c, at->pos, "more than %d names", SYMBOLS_MAX);
        c->failed = true;
        return NULL;
    }
    symbol_t *s = sl_take(c, sizeof *s);
    if (s != NULL) {
        *s = (symbol_t){.outer = c->scope,
                        .name = at->text,
                        .n = at->n,
                        .pos = at->pos,
                        .kind = (uint8_t)kind,
                        .unit = UNIT_NONE,
                        .length = 1,
                        .function = c->function};
        c->scope = s;
    }
    return s;
}

/* ---- objects of the graph ------------------------------------------------------------------------------ */

static const char *const kind_name[] = {"node", "arc", "script"};

static bool whole_number(const char *p, uint32_t n, int64_t *v)
{
    *v = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || i > 8) {
            return false;
        }
        *v = *v * 10 + (p[i] - '0');
    }
    return n > 0;
}

/* "in.audio_in_0" does for "in.io_platform_audio_in_0": arcs of IOs have the name of a manifest in theirs. */
static bool same_short(const char *name, const char *p, uint32_t n)
{
    static const char prefix[] = "io_platform_";
    const char *cut = strstr(name, prefix);
    if (cut == NULL) {
        return false;
    }
    const uint32_t head = (uint32_t)(cut - name);
    const char *tail = cut + sizeof prefix - 1;
    return n > head && memcmp(name, p, head) == 0 && same(tail, (uint32_t)strlen(tail), p + head, n - head);
}

static int64_t find(const compiler_t *c, tw_sl_kind_t kind, const char *p, uint32_t n)
{
    const tw_sl_world_t *w = c->opts->world;
    for (uint32_t i = 0; w != NULL && i < w->n[kind]; i++) {
        const char *name = w->name(w->ctx, kind, i);
        if (name != NULL && same(name, (uint32_t)strlen(name), p, n)) {
            return i;
        }
    }
    return -1;
}

int64_t sl_object(compiler_t *c, tw_sl_kind_t kind, const char *p, uint32_t n, pos_t pos)
{
    const tw_sl_world_t *w = c->opts->world;
    int64_t i;
    if (whole_number(p, n, &i)) {
        if (w != NULL && i >= w->n[kind]) {
            sl_error(c, pos, "the graph has no %s %d, it has %u", kind_name[kind], (int)i, w->n[kind]);
            return -1;
        }
        if (i > 65535) {
            sl_error(c, pos, "%s numbers are 0..65535", kind_name[kind]);
            return -1;
        }
        return i;
    }
    if (w == NULL) {
        sl_error(c, pos, "the name of %s %s needs a graph: compile with --graph FILE or -t URI, or give its number",
                 kind == TW_SL_ARC ? "an" : "a", kind_name[kind]);
        return -1;
    }
    i = find(c, kind, p, n);
    for (uint32_t k = 0; kind == TW_SL_ARC && i < 0 && k < w->n[kind]; k++) {
        const char *name = w->name(w->ctx, kind, k);
        i = name != NULL && same_short(name, p, n) ? (int64_t)k : i;
    }
    if (i < 0) {
        near_t near = {.p = p, .n = n, .distance = 3};
        consider_objects(c, &near, kind);
        tell(c, kind_name[kind], &near, pos);
    }
    return i;
}

/* ---- parameters ------------------------------------------------------------------------------------------ */

static const char *split(const node_t *n)
{
    const char *dot = n->text + n->n;
    while (dot > n->text && dot[-1] != '.') {
        dot--;
    }
    return dot > n->text ? dot - 1 : NULL;
}

/* A prefix of a generated name that is one node's alone: "filter" of "filter.0". */
static int64_t find_node(compiler_t *c, const char *p, uint32_t n)
{
    const tw_sl_world_t *w = c->opts->world;
    int64_t only = find(c, TW_SL_NODE, p, n);
    for (uint32_t i = 0; only < 0 && i < w->n[TW_SL_NODE]; i++) {
        const char *name = w->name(w->ctx, TW_SL_NODE, i);
        const bool starts = name != NULL && strncmp(name, p, n) == 0 && name[n] == '.';
        if (starts && only == -1) {
            only = -2 - (int64_t)i;
        } else if (starts) {
            return -1;
        }
    }
    return only <= -2 ? -2 - only : only;
}

static void no_parameter(compiler_t *c, const node_t *n, const char *p, uint32_t len, const tw_sl_param_t *rows,
                         uint32_t count)
{
    near_t near = {.p = p, .n = len, .distance = 4};
    for (uint32_t i = 0; i < count; i++) {
        consider(&near, rows[i].name, (uint32_t)strlen(rows[i].name));
    }
    tell(c, "parameter", &near, (pos_t){n->pos.line, n->pos.col + (unsigned)(p - n->text)});
}

bool sl_parameter(compiler_t *c, node_t *n)
{
    const tw_sl_world_t *w = c->opts->world;
    const char *dot = split(n);
    if (dot == NULL) {
        return false;
    }
    const uint32_t node_n = (uint32_t)(dot - n->text);
    const uint32_t param_n = n->n - node_n - 1;
    if (w == NULL) {
        sl_error(c, n->pos, "'%.*s' needs a graph: compile with --graph FILE or -t URI", (int)n->n, n->text);
        return false;
    }
    const int64_t node = find_node(c, n->text, node_n);
    if (node < 0) {
        near_t near = {.p = n->text, .n = node_n, .distance = 3};
        consider_objects(c, &near, TW_SL_NODE);
        tell(c, "node", &near, n->pos);
        return false;
    }
    uint32_t count = 0;
    const tw_sl_param_t *rows = w->params(w->ctx, (uint32_t)node, &count);
    for (uint32_t i = 0; rows != NULL && i < count; i++) {
        if (same(rows[i].name, (uint32_t)strlen(rows[i].name), dot + 1, param_n)) {
            n->kind = N_PARAM;
            n->param = &rows[i];
            n->tag = rows[i].tag;
            n->index = (uint16_t)node;
            return true;
        }
    }
    no_parameter(c, n, dot + 1, param_n, rows, rows != NULL ? count : 0);
    return false;
}
