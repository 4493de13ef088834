/* cli_world.c - see cli_world.h. */
#include "host_tools/tunewire/cli_world.h"
#include "engine/base/formats.h"
#include "engine/graph/twg1_read.h"
#include <stdlib.h>

static const char *name_of(void *ctx, tw_sl_kind_t kind, uint32_t i)
{
    const cli_world_t *w = ctx;
    return w->names[kind][i];
}

static bool set_name(cli_world_t *w, tw_sl_kind_t kind, uint32_t i, const char *p, size_t n)
{
    char *copy = i < w->world.n[kind] && w->names[kind][i] == NULL ? malloc(n + 1) : NULL;
    if (copy == NULL) {
        return i >= w->world.n[kind];
    }
    memcpy(copy, p, n);
    copy[n] = '\0';
    w->names[kind][i] = copy;
    return true;
}

/* A parameter's name that lives as long as the world. */
static const char *keep(cli_world_t *w, const char *p, size_t n)
{
    if (w->n_texts == w->cap_texts) {
        const uint32_t cap = w->cap_texts != 0 ? 2 * w->cap_texts : 64;
        char **more = realloc(w->texts, cap * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        w->texts = more;
        w->cap_texts = cap;
    }
    char *copy = malloc(n + 1);
    if (copy != NULL) {
        memcpy(copy, p, n);
        copy[n] = '\0';
        w->texts[w->n_texts++] = copy;
    }
    return copy;
}

static bool open_world(cli_world_t *w, uint32_t nodes, uint32_t arcs, uint32_t scripts)
{
    const uint32_t n[3] = {nodes, arcs, scripts};
    w->world.ctx = w;
    w->world.name = name_of;
    for (unsigned k = 0; k < 3; k++) {
        w->world.n[k] = n[k];
        w->names[k] = calloc(n[k] + 1, sizeof *w->names[k]);
        if (w->names[k] == NULL) {
            return false;
        }
    }
    w->params = calloc(nodes + 1, sizeof *w->params);
    w->n_params = calloc(nodes + 1, sizeof *w->n_params);
    return w->params != NULL && w->n_params != NULL;
}

void cli_world_free(cli_world_t *w)
{
    for (unsigned k = 0; k < 3; k++) {
        for (uint32_t i = 0; w->names[k] != NULL && i < w->world.n[k]; i++) {
            free(w->names[k][i]);
        }
        free(w->names[k]);
    }
    for (uint32_t i = 0; w->params != NULL && i < w->world.n[TW_SL_NODE]; i++) {
        free(w->params[i]);
    }
    for (uint32_t i = 0; i < w->n_texts; i++) {
        free(w->texts[i]);
    }
    free(w->params);
    free(w->n_params);
    free(w->texts);
    free(w->limits);
    *w = (cli_world_t){0};
}

static bool no_memory(tw_cli_t *cli, const char *where, cli_world_t *w)
{
    cli_world_free(w);
    (void)cli_fail(cli, CLI_INPUT, where, "", "out of memory");
    return false;
}

/* ---- an image ------------------------------------------------------------------------------------ */

static uint32_t find_ext(const uint8_t *img, uint32_t wanted, uint32_t *bytes)
{
    const tw_img_section_t ext = tw_img_section(img, TW_SEC_EXT);
    uint32_t at = ext.at, type, payload;
    while (ext.bytes != 0 && tw_img_next_ext(img, &at, ext.at + ext.bytes, &type, &payload, bytes)) {
        if (type == wanted) {
            return payload;
        }
    }
    *bytes = 0;
    return 0;
}

static bool read_symbols(cli_world_t *w, const uint8_t *img)
{
    static const int8_t kinds[] = {
        [TW_SYM_NODE] = TW_SL_NODE, [TW_SYM_ARC] = TW_SL_ARC, [TW_SYM_SCRIPT] = TW_SL_SCRIPT};
    uint32_t bytes;
    const uint32_t at = find_ext(img, TW_EXT_SYMB, &bytes);
    for (uint32_t i = 0; i + 4 <= bytes && img[at + i] != 0; i += 4u + img[at + i + 1]) {
        const uint8_t *e = img + at + i;
        const bool wanted = e[0] == TW_SYM_NODE || e[0] == TW_SYM_ARC || e[0] == TW_SYM_SCRIPT;
        if (wanted && !set_name(w, (tw_sl_kind_t)kinds[e[0]], tw_get_le16(e + 2), (const char *)e + 4, e[1])) {
            return false;
        }
    }
    return true;
}

static double f64_at(const uint8_t *p)
{
    const uint64_t bits = tw_get_le64(p);
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Table `number` (from 1) of the metadata as rows of node `i`. */
static bool read_table(cli_world_t *w, const uint8_t *img, uint32_t i, uint32_t number)
{
    uint32_t bytes;
    uint32_t at = find_ext(img, TW_EXT_META, &bytes) + 4;
    if (number == 0 || bytes < 4) {
        return true;
    }
    for (; number > 1; number--) {
        at += 4 * tw_bits(tw_img_word(img, at, 1), TW_MT_WORDS);
    }
    const uint32_t n = tw_bits(tw_img_word(img, at, 1), TW_MT_ROWS);
    tw_sl_param_t *rows = calloc(n + 1, sizeof *rows);
    w->params[i] = rows;
    w->n_params[i] = n;
    at += 4 * TW_META_TABLE_WORDS;
    for (uint32_t k = 0; rows != NULL && k < n; k++) {
        const uint32_t m0 = tw_img_word(img, at, 0), m1 = tw_img_word(img, at, 1), len = tw_bits(m1, TW_M1_NAME);
        rows[k] = (tw_sl_param_t){
            .name = keep(w, (const char *)img + at + 4 * TW_META_ROW_WORDS, len),
            .tag = (uint16_t)tw_bits(m0, TW_M0_INDEX),
            .raw = (uint8_t)tw_bits(m0, TW_M0_RAW),
            .unit = (uint8_t)tw_bits(m0, TW_M0_UNIT),
            .count = tw_bits(m1, TW_M1_COUNT),
            .read_only = (tw_bits(m0, TW_M0_FLAGS) & 1u) != 0,
            .min = f64_at(img + at + 8),
            .max = f64_at(img + at + 16),
        };
        if (rows[k].name == NULL) {
            return false;
        }
        at += 4 * TW_META_ROW_WORDS + tw_round_up(len, 4);
    }
    return rows != NULL;
}

static bool read_limits(cli_world_t *w, const uint8_t *img)
{
    const uint32_t n = w->world.n[TW_SL_SCRIPT], at = tw_img_section(img, TW_SEC_SCRIPTS).at;
    w->limits = calloc(n + 1, sizeof *w->limits);
    for (uint32_t i = 0; w->limits != NULL && i < n; i++) {
        const uint32_t s2 = tw_img_word(img, at + 16 * i, 2);
        const bool memory = tw_bits(s2, TW_S2_SHARED) != 0 || tw_bits(s2, TW_S2_PRIVATE) != 0;
        w->limits[i] = (cli_script_limits_t){
            .regs = (uint8_t)tw_bits(s2, TW_S2_REGS),
            .ptrs = (uint8_t)tw_bits(s2, TW_S2_PTRS),
            .stack = (uint8_t)tw_bits(s2, TW_S2_STACK),
            .shared = tw_bits(s2, TW_S2_SHARED) != 0,
            .mem_bytes = memory ? TW_SCRIPT_MEM_UNIT * (tw_bits(s2, TW_S2_MEM) + 1u) : 0,
        };
    }
    return w->limits != NULL;
}

static const tw_sl_param_t *image_params(void *ctx, uint32_t i, uint32_t *n)
{
    const cli_world_t *w = ctx;
    *n = w->n_params[i];
    return w->params[i];
}

static tw_err_t check(const tw_bytes_t *image, tw_fault_t *fault)
{
    const size_t size = 5 * image->n + 4096;
    void *memory = malloc(size);
    tw_arena_t arena = {.base = memory, .size = size};
    if (memory == NULL) {
        return TW_E_NOMEM;
    }
    const tw_err_t err = tw_graph_check_structure(image->data, (uint32_t)image->n, &arena, fault);
    free(memory);
    return err;
}

bool cli_world_image(tw_cli_t *cli, const char *path, const tw_bytes_t *image, cli_world_t *w)
{
    tw_fault_t fault = {0};
    *w = (cli_world_t){0};
    const tw_err_t err = check(image, &fault);
    if (err != TW_OK) {
        (void)cli_fail(cli, CLI_INPUT, path, "give a .twg image, or a .txt graph to compile", "%s at byte %u",
                       tw_err_text(err), fault.at);
        return false;
    }
    const uint8_t *img = image->data;
    const tw_img_counts_t n = tw_img_counts(img);
    bool ok = open_world(w, n.nodes, n.arcs, n.scripts) && read_symbols(w, img) && read_limits(w, img);
    for (uint32_t i = 0; ok && i < n.nodes; i++) {
        ok = read_table(w, img, i, tw_bits(tw_img_node_n3(img, tw_img_node(img, i)), TW_N3_META));
    }
    w->world.params = image_params;
    return ok || no_memory(cli, path, w);
}

/* ---- a device ----------------------------------------------------------------------------------------- */

static const tw_sl_param_t *device_params(void *ctx, uint32_t i, uint32_t *n)
{
    cli_world_t *w = ctx;
    tw_params_t p;
    if (w->params[i] == NULL && tw_client_params(w->cli->c, i, &p)) {
        tw_sl_param_t *rows = calloc(p.n + 1, sizeof *rows);
        for (uint32_t k = 0; rows != NULL && k < p.n; k++) {
            const tunewire_v1_ParamDesc *d = &p.rows[k];
            const int unit = tw_unit_find(d->unit, strlen(d->unit));
            const char *name = keep(w, d->name, strlen(d->name));
            rows[k] = (tw_sl_param_t){.name = name != NULL ? name : "",
                                      .tag = (uint16_t)d->index,
                                      .raw = (uint8_t)d->type,
                                      .unit = (uint8_t)(unit > 0 ? unit : 0),
                                      .count = d->count,
                                      .read_only = (d->flags & 1u) != 0,
                                      .min = d->min,
                                      .max = d->max};
        }
        w->params[i] = rows;
        w->n_params[i] = rows != NULL ? p.n : 0;
        free(p.rows);
    }
    *n = w->n_params[i];
    return w->params[i];
}

bool cli_world_device(tw_cli_t *cli, cli_world_t *w)
{
    tw_scripts_t scripts = {0};
    *w = (cli_world_t){0};
    if (!cli_nodes(cli) || !cli_arcs(cli)) {
        return false;
    }
    if (!tw_client_scripts(cli->c, &scripts)) {
        (void)cli_fail_client(cli, "scripts");
        return false;
    }
    uint32_t n[3] = {0};
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        n[TW_SL_NODE] = tw_max_u32(n[TW_SL_NODE], cli->nodes.rows[i].node + 1);
    }
    for (uint32_t i = 0; i < cli->arcs.n; i++) {
        n[TW_SL_ARC] = tw_max_u32(n[TW_SL_ARC], cli->arcs.rows[i].arc + 1);
    }
    for (uint32_t i = 0; i < scripts.n; i++) {
        n[TW_SL_SCRIPT] = tw_max_u32(n[TW_SL_SCRIPT], scripts.rows[i].index + 1);
    }
    const bool sane = n[TW_SL_NODE] <= 65536 && n[TW_SL_ARC] <= 65536 && n[TW_SL_SCRIPT] <= 65536;
    bool ok = sane && open_world(w, n[TW_SL_NODE], n[TW_SL_ARC], n[TW_SL_SCRIPT]);
    w->cli = cli;
    w->world.params = device_params;
    for (uint32_t i = 0; ok && i < cli->nodes.n; i++) {
        const char *name = cli->nodes.rows[i].name;
        ok = set_name(w, TW_SL_NODE, cli->nodes.rows[i].node, name, strlen(name));
    }
    for (uint32_t i = 0; ok && i < cli->arcs.n; i++) {
        const char *name = cli->arcs.rows[i].name;
        ok = set_name(w, TW_SL_ARC, cli->arcs.rows[i].arc, name, strlen(name));
    }
    for (uint32_t i = 0; ok && i < scripts.n; i++) {
        ok = set_name(w, TW_SL_SCRIPT, scripts.rows[i].index, scripts.rows[i].name, strlen(scripts.rows[i].name));
    }
    free(scripts.rows);
    return ok || no_memory(cli, "names", w);
}
