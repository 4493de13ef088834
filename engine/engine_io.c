/* engine_io.c - settings of a graph's IOs: told, checked, put; they reach a driver at a frame boundary. */
#include "engine/engine_priv.h"
#include "engine/graph/twg1_read.h"

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

static const tw_format_t *format_of(const tw_graph_t *g, uint32_t io)
{
    return &g->formats[tw_graph_arc_format(g, g->ios[io].arc_index, g->ios[io].tx)];
}

void io_accept_again(tw_engine_t *e, const tw_graph_t *g)
{
    const tw_board_t *b = e->cfg.board;
    for (uint32_t i = 0; b->accept != NULL && i < g->n_ios; i++) {
        const tw_format_t *f = format_of(g, i);
        const uint32_t now[WORDS] = {tw_gauge_get(&g->ios[i].settings[0]), tw_gauge_get(&g->ios[i].settings[1]),
                                     tw_gauge_get(&g->ios[i].settings[2])};
        (void)b->accept(b->ctx, g->ios[i].hwid, f->raw, f->channels, f->rate_hz, f->frame_bytes, now);
    }
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

/* ---- another graph takes over ------------------------------------------------------------ */

/* The same IO of another graph, with the same format; its number, or UINT32_MAX. */
static uint32_t same_io(const tw_graph_t *g, const tw_graph_t *other, uint32_t io)
{
    for (uint32_t i = 0; i < other->n_ios; i++) {
        if (other->ios[i].hwid == g->ios[io].hwid && other->ios[i].tx == g->ios[io].tx) {
            return tw_format_same(format_of(g, io), format_of(other, i)) ? i : UINT32_MAX;
        }
    }
    return UINT32_MAX;
}

static void words_of_image(const tw_graph_t *g, uint32_t io, uint8_t words[12])
{
    const uint8_t *img = g->env.image.whole;
    const uint32_t at = tw_img_record(img, TW_SEC_IOS, io, TW_IO_WORDS);
    for (uint32_t i = 0; i < WORDS; i++) {
        tw_put_le32(words + 4 * i, tw_img_word(img, at, 2 + i));
    }
}

void io_carry(tw_engine_t *e, const tw_graph_t *old)
{
    const tw_graph_t *now = e->e.graph;
    for (uint32_t i = 0; i < now->n_ios; i++) {
        const uint32_t from = same_io(now, old, i);
        uint8_t words[4 * WORDS], image[4 * WORDS];
        if (from == UINT32_MAX) {
            continue;
        }
        io_save(old, from, words);
        words_of_image(old, from, image);
        if (memcmp(words, image, sizeof words) != 0) {
            (void)io_apply(e, i, words);
        }
    }
}

void io_back(tw_engine_t *e, const tw_graph_t *from)
{
    const tw_graph_t *now = e->e.graph;
    for (uint32_t i = 0; i < now->n_ios; i++) {
        const uint32_t other = same_io(now, from, i);
        uint8_t words[4 * WORDS], others[4 * WORDS];
        io_save(now, i, words);
        if (other != UINT32_MAX) {
            io_save(from, other, others);
        }
        if (other != UINT32_MAX && memcmp(words, others, sizeof words) != 0) {
            (void)io_apply(e, i, words);
        }
    }
}
