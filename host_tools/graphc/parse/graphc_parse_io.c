/* graphc_parse_io.c - tags of the IOs of the graph. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

static g_io_t *add_io(g_parser_t *p)
{
    g_model_t *m = p->m;
    uint32_t id;
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    if (!g_take_u32(p, "IO index", 0, G_IOS_MAX - 1, &id)) {
        return NULL;
    }
    if (p->scope > 0) {
        tw_text_error(p->t, &at,
                      "a sub-graph has no IOs of its own: its interfaces 1, 2, .. are given where it is used");
        return NULL;
    }
    uint32_t *known = &g_local_here(p)->io_of[id];
    if (*known != G_NONE) {
        tw_text_error(p->t, &at, "stream_io %u is declared twice", id);
        g_note(m, &m->ios[*known].pos, "first declared here");
        return NULL;
    }
    if (m->n_ios >= m->cap_ios && !g_grow(&m->ios, m->cap_ios, &m->cap_ios, sizeof *m->ios)) {
        (void)g_fail(p, &at, "out of memory");
        return NULL;
    }
    *known = m->n_ios;
    g_io_t *io = &m->ios[m->n_ios++];
    *io = (g_io_t){.pos = g_here(p, &at), .id = id, .arc = G_NONE};
    return io;
}

bool g_read_stream_io(g_parser_t *p)
{
    if (add_io(p) == NULL) {
        return false;
    }
    p->in = IN_IO;
    return true;
}

static bool take_hwid(g_parser_t *p, g_io_t *io)
{
    uint32_t hwid;
    if (!g_take_u32(p, "IO index of the top manifest", 0, 0xFFFF, &hwid)) {
        return false;
    }
    io->hwid = (uint16_t)hwid;
    return true;
}

bool g_read_stream_io_graph(g_parser_t *p)
{
    g_io_t *io = add_io(p);
    p->in = io != NULL ? IN_IO : IN_TOP;
    return io != NULL && take_hwid(p, io);
}

bool g_read_io_setting(g_parser_t *p)
{
    g_io_t *io = &p->m->ios[p->m->n_ios - 1];
    io->setting_given = true;
    for (unsigned i = 0; i < 3 && (i == 0 || g_more_number(p)); i++) {
        if (!g_take_u32(p, "setting", 0, 0xFFFFFFFF, &io->setting[i])) {
            return false;
        }
    }
    return true;
}

bool g_read_interface_rows(g_parser_t *p)
{
    g_start(p, IN_TOP);
    p->lines = LINES_INTERFACE;
    return true;
}

bool g_interface_row(g_parser_t *p)
{
    g_io_t *io = add_io(p);
    uint32_t format_id;
    if (io == NULL || !g_take_u32(p, "format index", 0, 255, &format_id) || !take_hwid(p, io)) {
        return false;
    }
    io->format = (uint8_t)format_id;
    io->setting_given = g_more_number(p);
    return !io->setting_given || g_take_u32(p, "setting", 0, 0xFFFFFFFF, &io->setting[0]);
}
