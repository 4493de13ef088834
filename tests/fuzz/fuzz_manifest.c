/* The manifest reader against any text: no crash, no hang, bounded memory; and what it reads keeps its promises.
 *
 * Input: a text, then after a line "%%NAME" the text of file NAME. The first is read as the top manifest of all
 * of them, and alone as a node manifest, an IO manifest, and both kinds of processor maps. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const char *p;
    size_t n;
} input_t;

/* Text between the line "%%path" and the next such line; "top" is what comes before the first. */
static char *read_input(void *ctx, const char *path, size_t *n)
{
    const input_t *in = ctx;
    const char *end = in->p + in->n, *at = in->p;
    const size_t len = strlen(path);
    bool found = strcmp(path, "p/top") == 0;
    for (const char *p = at; p <= end;) {
        const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        const char *eol = nl != NULL ? nl : end;
        if (eol - p >= 2 && p[0] == '%' && p[1] == '%') {
            if (found) {
                end = p;
                break;
            }
            found = len > 2 && (size_t)(eol - p) == len && memcmp(p + 2, path + 2, len - 2) == 0;
            at = nl != NULL ? eol + 1 : end;
        }
        p = eol + 1;
    }
    char *text = found ? malloc(end > at ? (size_t)(end - at) : 1) : NULL; /* exact: a read past the end is seen */
    if (text != NULL) {
        *n = (size_t)(end - at);
        if (*n > 0) {
            memcpy(text, at, *n);
        }
    }
    return text;
}

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_options(const tw_options_t *o)
{
    must(o->n <= TW_OPTIONS_MAX && o->def < (o->n > 0 ? o->n : 1) && (o->n > 0 || o->any));
}

static void check_io(const tw_io_manifest_t *io)
{
    uint32_t word[TW_SETTINGS_WORDS];
    uint8_t index[TW_COUNT(io->settings)];
    must(io->domain < TW_DOMAIN_COUNT && io->raw < TW_RAW_COUNT && io->unit < TW_UNIT_COUNT && io->direction <= 1);
    must(io->n_settings <= TW_COUNT(io->settings) && io->n_extra <= TW_COUNT(io->extra));
    for (unsigned i = 0; i < io->n_settings; i++) {
        check_options(&io->settings[i].o);
    }
    must(tw_settings_pack(io, NULL, word) == TW_OK && tw_settings_unpack(io, word, index) == TW_OK);
    for (unsigned i = 0; i < io->n_settings; i++) {
        must(io->settings[i].o.n == 0 || index[i] == io->settings[i].o.def);
    }
}

static void check_node(const tw_node_manifest_t *m)
{
    const unsigned n = (unsigned)m->rx + m->tx;
    unsigned tx = 0;
    must(n <= TW_COUNT(m->arcs) && m->rx_min <= m->rx && m->tx_min <= m->tx && m->n_mem <= TW_COUNT(m->mem));
    for (unsigned i = 0; i < n; i++) {
        const tw_node_arc_manifest_t *a = &m->arcs[i];
        tx += a->tx;
        check_options(&a->channels);
        check_options(&a->raw);
        check_options(&a->rate_hz);
        check_options(&a->frame_length);
        must(a->in_place <= TW_COUNT(m->arcs) && (a->in_place == 0 || a->tx));
    }
    must(tx == m->tx);
    for (unsigned i = 0; i < m->n_mem; i++) {
        const tw_node_mem_manifest_t *x = &m->mem[i];
        must(x->align >= 1 && (x->align & (x->align - 1)) == 0 && x->type <= 3 && x->speed <= 3 && x->e > 0);
        must(x->a >= 0 && x->b >= 0 && x->c >= 0 && x->d >= 0);
    }
}

static void read_alone(const input_t *in, bool strict)
{
    static tw_node_manifest_t node;
    static tw_io_manifest_t io;
    static tw_platform_t map;
    tw_diags_t d = {.strict = strict};
    tw_text_t t;
    size_t n = 0;
    char *text = read_input((void *)in, "p/top", &n);
    (void)tw_manifest_kind_text(tw_manifest_detect(text, n));
    tw_text_open(&t, "node", text, n, &d);
    if (tw_node_manifest_parse(&node, &t)) {
        check_node(&node);
    }
    tw_text_open(&t, "io", text, n, &d);
    if (tw_io_manifest_parse(&io, &t)) {
        check_io(&io);
    }
    map = (tw_platform_t){0};
    tw_text_open(&t, "map", text, n, &d);
    (void)tw_procmap_parse(&map, &t);
    map = (tw_platform_t){0};
    tw_text_open(&t, "map", text, n, &d);
    (void)tw_platform_manifest_parse(&map, &t);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {(const char *)data, size};
    const tw_text_source_t src = {&in, read_input};
    static tw_platform_t p;
    tw_diags_t d = {.strict = size % 2 == 1};
    if (size > 1u << 14) {
        return 0;
    }
    const bool ok = tw_platform_read_from(&p, "p/top", &src, &d);
    must(ok == (d.errors == 0));
    must(ok || (p.ios == NULL && p.nodes == NULL && p.n_banks == 0));
    for (unsigned i = 0; i < p.n_ios; i++) {
        check_io(&p.ios[i]);
    }
    for (unsigned i = 0; i < p.n_nodes; i++) {
        check_node(&p.nodes[i]);
    }
    tw_platform_free(&p);
    read_alone(&in, d.strict);
    return 0;
}
