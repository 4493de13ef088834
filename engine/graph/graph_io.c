/* graph_io.c - data entering and leaving the graph: its IOs, served at the boundary of a block. */
#include "engine/graph/graph_priv.h"

static uint32_t board_read(tw_graph_t *g, const tw_graph_io_t *io, uint8_t *dst)
{
    const tw_board_t *b = g->env.board;
    return b->read == NULL ? 0 : tw_min_u32(b->read(b->ctx, io->hwid, g->tick, dst, io->frame), io->frame);
}

/* A frame is fetched even when the arc is full: the source's time goes on. */
static void rated_in(tw_graph_t *g, const tw_graph_io_t *io)
{
    uint8_t *room = flow_room(g, io->arc_index);
    uint8_t *dst = room != NULL ? room : g->scratch;
    const uint32_t got = board_read(g, io, dst);
    if (got < io->frame) {
        flow_underflow(g, io->arc_index);
        flow_conceal(g, io->arc_index, dst, got);
    } else {
        io->arc->underflow_series = false;
    }
    if (room != NULL) {
        flow_wrote(g, io->arc, room, io->frame);
    } else {
        flow_fade_in(g, io->arc_index, dst);
    }
}

/* Without a rate there are no holes: what came is appended, a full arc is not asked for. */
static void asynchronous_in(tw_graph_t *g, const tw_graph_io_t *io)
{
    uint8_t *room = tw_arc_room(io->arc, io->frame);
    if (room != NULL) {
        flow_wrote(g, io->arc, room, board_read(g, io, room));
    }
}

void flow_ios_in(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_ios; i++) {
        tw_graph_io_t *io = &g->ios[i];
        io->phase += io->step;
        if (io->tx) {
            /* what was not used stays, as far as two frames: output may come late and in pairs */
            const double most = io->step + 2 * io->period;
            io->phase = io->phase < most ? io->phase : most;
        } else if (!io->rated) {
            asynchronous_in(g, io);
        } else if (io->phase >= io->period) {
            io->phase -= io->period;
            rated_in(g, io);
        }
    }
}

static void frame_out(tw_graph_t *g, const tw_graph_io_t *io)
{
    const tw_board_t *b = g->env.board;
    const uint32_t took = b->write == NULL ? 0 : b->write(b->ctx, io->hwid, g->tick, tw_arc_data(io->arc), io->frame);
    tw_arc_consume(io->arc, io->frame);
    sched_consumed(g, io->arc);
    if (took >= io->frame) {
        io->arc->overflow_series = false;
    } else {
        flow_overflow(g, io->arc_index);
    }
}

/* A rated output takes no more than its rate: what a source node writes into must push back. */
bool flow_ios_out(tw_graph_t *g)
{
    bool moved = false;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        tw_graph_io_t *io = &g->ios[i];
        while (io->tx && tw_arc_fill(io->arc) >= io->frame && (!io->rated || io->phase >= io->period)) {
            io->phase -= io->rated ? io->period : 0;
            frame_out(g, io);
            moved = true;
        }
    }
    return moved;
}
