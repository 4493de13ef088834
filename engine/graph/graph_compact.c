/* graph_compact.c - one block of a graph on the compact core: IOs in, nodes until nothing moves, IOs out. */
#include "engine/graph/graph_compact_priv.h"
#include "engine/graph/graph_priv.h"

static uint32_t fill_of(const compact_arc_t *a)
{
    return a->state[ARC_WRITE] - a->state[ARC_READ];
}

/* The error counters stop at their end: a wrapped one would say that all is well. */
__attribute__((noinline)) static void count(const compact_arc_t *a, uint32_t one)
{
    uint32_t *errors = &a->state[ARC_ERRORS];
    const uint32_t now = one == 1 ? *errors & 0xFFFFu : *errors >> 16;
    *errors += now < 0xFFFFu ? one : 0;
}
enum { AN_OVERFLOW = 1, AN_UNDERFLOW = 0x10000 };

/* Contiguous room of `bytes` behind the data, which move to the start when they must; NULL: the arc is too full. */
static uint8_t *room_in(compact_arc_t *a, uint32_t bytes)
{
    const uint32_t fill = fill_of(a);
    if (a->size - fill < bytes) {
        return NULL;
    }
    if (a->size - a->state[ARC_WRITE] < bytes) {
        memmove(a->buf, a->buf + a->state[ARC_READ], fill);
        a->state[ARC_READ] = 0;
        a->state[ARC_WRITE] = fill;
    }
    return a->buf + a->state[ARC_WRITE];
}

static void wrote(const tw_compact_t *c, compact_arc_t *a, uint32_t bytes)
{
    a->state[ARC_WRITE] += bytes;
    a->state[ARC_LAST] = tw_bits(c->state[4], TW_S4_HEARTBEAT);
}

/* ---- IOs -------------------------------------------------------------------- */

typedef struct io {
    uint32_t hwid;
    bool tx;
    uint32_t frame; /* [bytes] */
    compact_arc_t arc;
    uint8_t *credit;
} io_t;

enum { UNRATED = COMPACT_UNRATED };

static io_t io_of(tw_compact_t *c, uint32_t i)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, i, TW_IO_WORDS);
    const uint32_t i0 = tw_img_word(c->img, at, 0), i1 = tw_img_word(c->img, at, 1);
    return (io_t){
        .hwid = tw_bits(i0, TW_I0_HWID),
        .tx = tw_bits(i0, TW_I0_TX),
        .frame = c->formats[tw_bits(i1, TW_I1_FORMAT)].frame_bytes,
        .arc = compact_arc(c, tw_bits(i1, TW_I1_ARC)),
        .credit = &c->credit[i],
    };
}

/* A frame is fetched even when the arc is full: the source's time goes on. Without a rate there are no holes: what
 * came is appended, and a full arc is not asked for. */
static void frame_in(tw_compact_t *c, io_t *io, uint64_t tick)
{
    uint8_t *room = room_in(&io->arc, io->frame);
    const bool rated = *io->credit != UNRATED;
    if (room == NULL && !rated) {
        return;
    }
    uint8_t *to = room != NULL ? room : c->scratch;
    const tw_board_t *b = c->board;
    uint32_t got = b->read == NULL ? 0 : tw_min_u32(b->read(b->ctx, io->hwid, tick, to, io->frame), io->frame);
    if (rated && got < io->frame) {
        count(&io->arc, AN_UNDERFLOW);
        memset(to + got, 0, io->frame - got);
        got = io->frame;
    }
    if (room != NULL) {
        wrote(c, &io->arc, got);
    } else {
        count(&io->arc, AN_OVERFLOW);
    }
}

/* Every rated IO moves a frame a block. What an output did not use stays, as far as two frames: output may come late
 * and in pairs. */
static void ios_in(tw_compact_t *c, uint64_t tick)
{
    for (uint32_t i = 0; i < compact_ios(c); i++) {
        io_t io = io_of(c, i);
        if (!io.tx) {
            frame_in(c, &io, tick);
        } else if (*io.credit < 3) {
            ++*io.credit;
        }
    }
}

/* A rated output takes no more than its rate: what a source node writes into must push back. */
static bool ios_out(tw_compact_t *c, uint64_t tick)
{
    bool moved = false;
    for (uint32_t i = 0; i < compact_ios(c); i++) {
        io_t io = io_of(c, i);
        while (io.tx && fill_of(&io.arc) >= io.frame && *io.credit != 0) {
            const tw_board_t *b = c->board;
            const uint8_t *from = io.arc.buf + io.arc.state[ARC_READ];
            const uint32_t took = b->write == NULL ? 0 : b->write(b->ctx, io.hwid, tick, from, io.frame);
            io.arc.state[ARC_READ] += io.frame;
            *io.credit = (uint8_t)(*io.credit - (*io.credit != UNRATED));
            if (took < io.frame) {
                count(&io.arc, AN_OVERFLOW);
            }
            moved = true;
        }
    }
    return moved;
}

/* ---- nodes ------------------------------------------------------------------- */

typedef struct node {
    uint32_t index;
    tw_img_node_parts_t parts;
} node_t;

/* Every stream arc has what a RUN needs; a node with nothing but lock arcs runs once a block. */
static bool ready(const tw_compact_t *c, const node_t *n)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < n->parts.rx + n->parts.tx; i++) {
        const tw_img_ref_t ref = tw_img_ref(c->img, &n->parts, i);
        if (ref.lock) {
            continue;
        }
        const compact_arc_t a = compact_arc(c, ref.arc);
        const uint32_t fill = fill_of(&a);
        if (i < n->parts.rx ? fill < a.out_frame : a.size - fill < a.in_frame) {
            return false;
        }
        most = TW_MAX_BLOCK_RUNS;
    }
    return tw_bits(tw_compact_node_words(c, n->index)[NODE_STATUS], TW_SN0_BLOCK_RUNS) < most;
}

/* Transmit arcs first: making room may move data, also of an arc that comes back to this node. */
static void gather(tw_compact_t *c, const node_t *n, tw_xdm_t *x)
{
    for (uint32_t i = n->parts.rx + n->parts.tx; i-- > 0;) {
        const tw_img_ref_t ref = tw_img_ref(c->img, &n->parts, i);
        compact_arc_t a = compact_arc(c, ref.arc);
        if (ref.lock) {
            x[i] = (tw_xdm_t){a.buf, 0};
        } else if (i >= n->parts.rx) {
            x[i].ptr = room_in(&a, a.in_frame);
            x[i].bytes = a.size - a.state[ARC_WRITE];
            x[i].bytes -= x[i].bytes % a.in_frame;
        } else {
            x[i] = (tw_xdm_t){a.buf + a.state[ARC_READ], fill_of(&a)};
            x[i].bytes -= x[i].bytes % a.out_frame;
        }
    }
}

/* Move the indexes by what the node says it used, never by more than it got. @return bytes moved */
static uint32_t scatter(tw_compact_t *c, const node_t *n, const uint32_t *given, const tw_xdm_t *x)
{
    uint32_t moved = 0;
    for (uint32_t i = 0; i < n->parts.rx + n->parts.tx; i++) {
        compact_arc_t a = compact_arc(c, tw_img_ref(c->img, &n->parts, i).arc);
        const uint32_t bytes = tw_min_u32(x[i].bytes, given[i]);
        if (i < n->parts.rx) {
            a.state[ARC_READ] += bytes;
        } else if (bytes != 0) {
            wrote(c, &a, bytes);
        }
        moved += bytes;
    }
    return moved;
}

/* @return bytes moved */
static uint32_t run_node(tw_compact_t *c, const node_t *n)
{
    uint32_t moved = 0, left = 1u + img_reruns(c->img, tw_img_node(c->img, n->index)), state = TW_NODE_RERUN;
    uint32_t *words = tw_compact_node_words(c, n->index);
    compact_status(c, n->index, TW_COMPACT_NODE_ACTIVE);
    do {
        tw_xdm_t x[TW_MAX_NODE_ARCS];
        uint32_t given[TW_MAX_NODE_ARCS];
        gather(c, n, x);
        for (uint32_t i = 0; i < n->parts.rx + n->parts.tx; i++) {
            given[i] = x[i].bytes;
        }
        state = TW_NODE_DONE;
        (void)compact_call(c, n->index, TW_CMD_RUN, x, &state);
        words[NODE_RUNS]++;
        words[NODE_STATUS] += 1u << TW_LO(TW_SN0_BLOCK_RUNS);
        moved += scatter(c, n, given, x);
    } while (state == TW_NODE_RERUN && --left != 0 && ready(c, n));
    compact_status(c, n->index, state == TW_NODE_RERUN ? TW_COMPACT_NODE_RERUN : TW_COMPACT_NODE_IDLE);
    return moved;
}

/* One look at every node, in their order. */
static bool pass(tw_compact_t *c)
{
    bool moved = false;
    for (uint32_t i = 0; i < compact_nodes(c); i++) {
        const node_t n = {i, tw_img_node_parts(c->img, tw_img_node(c->img, i))};
        if (ready(c, &n)) {
            moved |= run_node(c, &n) != 0;
        }
    }
    return moved;
}

void tw_compact_block(tw_compact_t *c, uint64_t tick)
{
    if (c->state[3] == TW_COMPACT_STOPPED) {
        return;
    }
    c->state[3] = TW_COMPACT_RUNNING;
    c->state[4] += 1u << TW_LO(TW_S4_HEARTBEAT);
    for (uint32_t i = 0; i < compact_nodes(c); i++) {
        tw_compact_node_words(c, i)[NODE_STATUS] &= 0xFFFFu;
    }
    ios_in(c, tick);
    bool moved = true;
    while (moved) {
        moved = pass(c);
        moved |= ios_out(c, tick);
    }
}
