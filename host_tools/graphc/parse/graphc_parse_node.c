/* graphc_parse_node.c - tags of nodes, their memory and their boot parameters. */
#include "host_tools/graphc/parse/graphc_parse_priv.h"

static bool read_node_header(g_parser_t *p)
{
    g_model_t *m = p->m;
    tw_tok_t tok;
    uint32_t inst;
    if (!g_take_word(p, "a node type", &tok)) {
        return false;
    }
    const g_pos_t pos = g_here(p, &tok);
    if (!g_take_u32(p, "instance", 0, 0xFFFF, &inst)) {
        return false;
    }
    const g_slice_t type = {tok.p, tok.n};
    const uint32_t old = g_find_node(m, p->scope, &type, inst);
    if (old != G_NONE) {
        tw_text_error(p->t, &tok, "node %.*s %u is declared twice", (int)tok.n, tok.p, inst);
        g_note(m, &m->nodes[old].pos, "first declared here");
        return false;
    }
    if (m->n_nodes >= G_NODES_MAX) {
        tw_text_error(p->t, &tok, "more than %u nodes", G_NODES_MAX);
        return false;
    }
    if (m->n_nodes >= m->cap_nodes && !g_grow(&m->nodes, m->cap_nodes, &m->cap_nodes, sizeof *m->nodes)) {
        return g_fail(p, &tok, "out of memory");
    }
    g_node_t *n = &m->nodes[m->n_nodes++];
    *n = (g_node_t){.pos = pos, .type = type, .inst = inst, .scope = p->scope, .script = G_NONE, .own_script = G_NONE};
    for (unsigned i = 0; i < TW_COUNT(n->arcs); i++) {
        n->arcs[i] = G_NONE;
    }
    return g_enter_node(m, m->n_nodes - 1) || g_fail(p, &tok, "out of memory");
}

bool g_open_node(g_parser_t *p)
{
    const uint32_t before = p->m->n_nodes;
    const bool ok = read_node_header(p);
    p->lines = LINES_TAGS;
    p->in = p->m->n_nodes > before ? IN_NODE : IN_TOP;
    if (p->in == IN_TOP) {
        p->lines = LINES_IGNORED; /* its tags would only repeat the error */
    }
    return ok;
}

bool g_read_node(g_parser_t *p)
{
    g_start(p, IN_NODE);
    p->script = G_NONE;
    if (!g_more(p)) {
        p->in = IN_TOP;
        p->lines = LINES_NODE_NAME;
        return true;
    }
    return g_open_node(p);
}

g_node_t *g_node_here(g_parser_t *p)
{
    return &p->m->nodes[p->m->n_nodes - 1];
}

bool g_read_node_name(g_parser_t *p)
{
    return g_take_name_here(p, g_node_here(p)->name);
}

static void name_block(g_node_t *n, uint32_t block, const g_pos_t *pos)
{
    if (block + 1 > n->blocks_named) {
        n->blocks_named = block + 1;
        n->blocks_pos = *pos;
    }
}

bool g_take_block(g_parser_t *p, uint32_t *block)
{
    g_node_t *n = g_node_here(p);
    tw_tok_t tok;
    (void)tw_text_peek(p->t, &tok);
    const g_pos_t at = g_here(p, &tok);
    if (!g_take_u32(p, "memory block", 0, (int64_t)TW_COUNT(n->vid) - 1, block)) {
        return false;
    }
    name_block(n, *block, &at);
    return true;
}

bool g_read_malloc_e(g_parser_t *p)
{
    uint32_t e, block = 0;
    if (!g_take_u32(p, "bytes", 0, 0x7FFFFFFF, &e) || (g_more_number(p) && !g_take_block(p, &block))) {
        return false;
    }
    g_node_here(p)->e[block] = e;
    return true;
}

static void place_block(g_node_t *n, uint32_t block, uint8_t vid)
{
    n->vid[block] = vid;
    n->vid_given |= (uint8_t)(1u << block);
}

static void copy_block(g_node_t *n, uint32_t block, uint8_t vid)
{
    n->copy_vid[block] = vid;
    n->copied |= (uint8_t)(1u << block);
}

static void swap_block(g_node_t *n, uint32_t block, uint8_t vid)
{
    copy_block(n, block, vid);
    n->swapped |= (uint8_t)(1u << block);
}

/* Whole numbers of the rest of the line, as far as they go. */
static unsigned count_numbers(const g_parser_t *p, int64_t *top)
{
    tw_text_t ahead = *p->t;
    tw_tok_t tok;
    int64_t v;
    unsigned n = 0;
    ahead.canon = NULL;
    for (*top = 0; tw_text_tok(&ahead, &tok) && tw_tok_int(&tok, &v); n++) {
        *top = v > *top ? v : *top;
    }
    return n;
}

/* VID, or 1xxxyyy: swap from xxx to yyy, or 2xxxyyy: copy. */
static bool take_list_vid(g_parser_t *p, uint32_t block)
{
    g_node_t *n = g_node_here(p);
    tw_tok_t tok;
    int64_t v;
    uint8_t home, fast;
    if (!tw_text_peek(p->t, &tok) || !tw_tok_int(&tok, &v) || v < 1000000) {
        return g_take_vid(p, "VID", &home) && (place_block(n, block, home), true);
    }
    if (v > 2254254 || v / 1000 % 1000 > 254 || v % 1000 > 254) {
        return g_fail(p, &tok, "neither a VID nor 1xxxyyy (swap) nor 2xxxyyy (copy from VID xxx to VID yyy)");
    }
    (void)tw_text_tok(p->t, &tok);
    if (!g_vid_here(p, &tok, (uint32_t)(v / 1000 % 1000), &home) || !g_vid_here(p, &tok, (uint32_t)(v % 1000), &fast)) {
        return false;
    }
    place_block(n, block, home);
    if (v < 2000000) {
        swap_block(n, block, fast);
    } else {
        copy_block(n, block, fast);
    }
    return true;
}

/* VID0 VID1 .., the form of 2024: once, and not along with the other. */
static bool take_vid_list(g_parser_t *p, unsigned count)
{
    g_node_t *n = g_node_here(p);
    tw_tok_t tok;
    if (count > TW_COUNT(n->vid)) {
        return g_fail(p, NULL, "a node has at most 6 memory blocks");
    }
    if (n->vid_given != 0) {
        return g_fail(p, NULL, "a list of VIDs stands alone: node_map_hwblock placed a block of this node already");
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)tw_text_peek(p->t, &tok);
        const g_pos_t at = g_here(p, &tok);
        if (!take_list_vid(p, i)) {
            return false;
        }
        name_block(n, i, &at);
    }
    return true;
}

bool g_read_map_hwblock(g_parser_t *p)
{
    uint32_t block;
    uint8_t vid;
    int64_t top;
    const unsigned count = count_numbers(p, &top);
    if (count == 1 || count > 2 || top >= 1000000) {
        return take_vid_list(p, count);
    }
    if (!g_take_block(p, &block) || !g_take_vid(p, "VID", &vid)) {
        return false;
    }
    place_block(g_node_here(p), block, vid);
    return true;
}

/* Block, VID, and where in its bank, which is the compiler's to say unless the text does. */
static bool take_copy(g_parser_t *p, void (*put)(g_node_t *n, uint32_t block, uint8_t vid))
{
    g_node_t *n = g_node_here(p);
    uint32_t block, at;
    uint8_t vid;
    if (!g_take_block(p, &block) || !g_take_vid(p, "VID", &vid)) {
        return false;
    }
    put(n, block, vid);
    if (!g_more_number(p)) {
        return true;
    }
    if (!g_take_u32(p, "offset", 0, UINT32_MAX, &at)) {
        return false;
    }
    n->copy_at[block] = at;
    n->copy_placed |= (uint8_t)(1u << block);
    return true;
}

bool g_read_map_copy(g_parser_t *p)
{
    return take_copy(p, copy_block);
}

bool g_read_map_swap(g_parser_t *p)
{
    return take_copy(p, swap_block);
}

/* ---- where and how it runs ------------------------------------------------------------- */

static int find_arch(const char *name, size_t n)
{
    return n == 6 && memcmp(name, "script", n) == 0 ? 7 : tw_arch_find(name, n);
}

bool g_read_map_arch(g_parser_t *p)
{
    int64_t v;
    if (!tw_take_code(p->t, "architecture", find_arch, 7, &v)) {
        return false;
    }
    g_node_here(p)->arch = (uint8_t)v;
    return true;
}

bool g_read_map_verbose(g_parser_t *p)
{
    uint32_t v;
    if (!g_take_u32(p, "node_map_verbose", 0, 3, &v)) {
        return false;
    }
    g_node_here(p)->verbose = (uint8_t)v;
    g_node_here(p)->verbose_given = true;
    return true;
}

bool g_read_trace_id(g_parser_t *p)
{
    g_node_t *n = g_node_here(p);
    tw_tok_t at;
    uint32_t v;
    (void)tw_text_peek(p->t, &at);
    n->trace_pos = g_here(p, &at);
    if (!g_take_u32(p, "IO index", 0, 255, &v)) {
        return false;
    }
    n->trace = (uint8_t)v;
    n->trace_given = true;
    return true;
}

bool g_read_node_script(g_parser_t *p)
{
    tw_tok_t at;
    (void)tw_text_peek(p->t, &at);
    g_node_here(p)->script_pos = g_here(p, &at);
    return g_take_script_id(p, &g_node_here(p)->script);
}
