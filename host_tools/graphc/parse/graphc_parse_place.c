/* graphc_parse_place.c - tags of a text that was decompiled: places, sizes and names that a plan would choose. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

/* VID and offset; *bytes when a third number stands there. */
static bool take_place(g_parser_t *p, uint8_t *vid, uint32_t *at, uint32_t *bytes, bool *sized)
{
    if (!g_take_vid(p, "VID", vid) || !g_take_u32(p, "offset", 0, 0x7FFFFFFF, at)) {
        return false;
    }
    *sized = bytes != NULL && g_more_number(p);
    return !*sized || g_take_u32(p, "bytes", 0, 0x7FFFFFFF, bytes);
}

bool g_read_node_map_at(g_parser_t *p)
{
    g_node_t *n = g_node_here(p);
    uint32_t block;
    bool sized;
    if (!g_take_block(p, &block) ||
        !take_place(p, &n->vid[block], &n->block_at[block], &n->block_bytes[block], &sized)) {
        return false;
    }
    n->vid_given |= (uint8_t)(1u << block);
    n->placed |= (uint8_t)(1u << block);
    n->sized |= (uint8_t)((unsigned)sized << block);
    return true;
}

bool g_read_arc_map_at(g_parser_t *p)
{
    g_arc_t *a = g_arc_here(p);
    a->placed = a->vid_given = take_place(p, &a->vid, &a->at, &a->bytes, &a->sized);
    return a->placed;
}

bool g_read_stream_io_map_at(g_parser_t *p)
{
    g_io_t *io = &p->m->ios[p->m->n_ios - 1];
    bool sized;
    io->placed = take_place(p, &io->buffer_vid, &io->buffer_at, NULL, &sized);
    return io->placed;
}

bool g_read_memory_plan(g_parser_t *p)
{
    g_model_t *m = p->m;
    g_bank_plan_t room = {.pos = g_here(p, &p->tag)};
    uint32_t vid;
    if (!g_take_u32(p, "VID", 0, 254, &vid) || !g_take_u32(p, "static bytes", 0, 0x7FFFFFFF, &room.fixed) ||
        !g_take_u32(p, "working bytes", 0, 0x7FFFFFFF, &room.working)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_plans; i++) {
        if (m->plans[i].vid == vid) {
            tw_text_error(p->t, &p->tag, "memory_plan of bank %u is given twice", vid);
            g_note(m, &m->plans[i].pos, "first given here");
            return false;
        }
    }
    if (m->n_plans >= m->cap_plans && !g_grow(&m->plans, m->n_plans, &m->cap_plans, sizeof *m->plans)) {
        return g_fail(p, NULL, "out of memory");
    }
    room.vid = (uint8_t)vid;
    m->plans[m->n_plans++] = room;
    return true;
}

bool g_read_arc_name(g_parser_t *p)
{
    return g_take_name_here(p, g_arc_here(p)->name);
}

bool g_read_stream_io_name(g_parser_t *p)
{
    g_io_t *io = &p->m->ios[p->m->n_ios - 1];
    tw_tok_t tok;
    return g_take_symbol(p, &tok) && tw_tok_copy(&tok, io->symbol, sizeof io->symbol);
}
