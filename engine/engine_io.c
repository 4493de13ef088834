/* engine_io.c - settings of a graph's IOs: told, checked, put; they reach a driver at a frame boundary. */
#include "engine/engine_priv.h"

enum { WORDS = 3 };

/* ---- control side ---------------------------------------------------------------------- */

static void name_of(const tw_board_t *b, const tw_graph_io_t *io, char name[32])
{
    memset(name, 0, 32);
    for (uint32_t i = 0; i < b->n_ios; i++) {
        if (b->ios[i].hwid == io->hwid) {
            memcpy(name, b->ios[i].name, 31);
        }
    }
}

const tw_board_gpio_t *tw_engine_gpio(const tw_engine_t *e)
{
    return e->cfg.board->gpio;
}

tw_err_t tw_engine_io(tw_engine_t *e, uint32_t io, tw_engine_io_t *out)
{
    const tw_graph_t *g = engine_view(e);
    if (g == NULL || io >= g->n_ios) {
        return g == NULL ? TW_E_NO_GRAPH : TW_E_NOT_FOUND;
    }
    const tw_graph_io_t *from = &g->ios[io];
    *out = (tw_engine_io_t){.hwid = from->hwid, .arc = from->arc_index, .tx = from->tx};
    for (unsigned i = 0; i < WORDS; i++) {
        out->settings[i] = tw_gauge_get(&from->settings[i]);
    }
    name_of(e->cfg.board, from, out->name);
    return TW_OK;
}

tw_err_t tw_engine_check_io(tw_engine_t *e, uint32_t io, const uint32_t settings[3])
{
    const tw_graph_t *g = engine_view(e);
    const tw_board_t *b = e->cfg.board;
    if (g == NULL || io >= g->n_ios) {
        return g == NULL ? TW_E_NO_GRAPH : TW_E_NOT_FOUND;
    }
    if (b->io == NULL) {
        return TW_E_UNSUPPORTED;
    }
    const tw_graph_io_t *at = &g->ios[io];
    const uint32_t now[WORDS] = {tw_gauge_get(&at->settings[0]), tw_gauge_get(&at->settings[1]),
                                 tw_gauge_get(&at->settings[2])};
    return b->settings != NULL ? b->settings(b->ctx, at->hwid, now, settings) : TW_OK;
}

tw_err_t tw_engine_put_io(tw_engine_t *e, uint32_t token, uint32_t io, const uint32_t settings[3])
{
    const tw_graph_t *g = engine_view(e);
    uint8_t words[4 * WORDS];
    if (g == NULL || io >= g->n_ios) {
        return g == NULL ? TW_E_NO_GRAPH : TW_E_NOT_FOUND;
    }
    for (unsigned i = 0; i < WORDS; i++) {
        tw_put_le32(words + 4 * i, settings[i]);
    }
    const cmd_t c = {.op = OP_IO, .token = token, .a = io, .n = sizeof words};
    return engine_put(e, &c, words, on_token(token));
}

/* ---- engine side ------------------------------------------------------------------------- */

void io_save(const tw_graph_t *g, uint32_t io, uint8_t words[12])
{
    for (unsigned i = 0; i < WORDS; i++) {
        tw_put_le32(words + 4 * i, tw_gauge_get(&g->ios[io].settings[i]));
    }
}

tw_err_t io_apply(tw_engine_t *e, uint32_t io, const uint8_t words[12])
{
    uint32_t settings[WORDS];
    for (unsigned i = 0; i < WORDS; i++) {
        settings[i] = tw_get_le32(words + 4 * i);
    }
    const tw_err_t err = tw_graph_set_io(e->e.graph, io, settings);
    if (err != TW_OK) { /* the driver changed its mind: whoever set it without asking for a reply sees it in the log */
        const tw_graph_host_t host = engine_host(e);
        const tw_graph_event_t ev = {.kind = TW_GEV_IO, .err = err, .at = e->e.graph->ios[io].hwid};
        host.event(host.ctx, &ev);
    }
    return err;
}
