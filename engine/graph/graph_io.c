/* graph_io.c - data entering and leaving the graph: its IOs, served at the boundary of a block.
 *
 * Polled IOs are read and written when their time has come. The others are in graph_driver.c. Both end here: a frame
 * enters with its time stamp and the arc's policies, and leaves with its stamp checked.
 */
#include "engine/base/time_stamps.h"
#include "engine/graph/graph_priv.h"

enum { TS_NONE, TS_ABSOLUTE, TS_RELATIVE, TS_COUNTER };
enum { TS_16, TS_32 }; /* sizes; the others are 64 bits */

/* ---- time stamps ---------------------------------------------------------------- */

static tw_time_t time_of(uint64_t us)
{
    return (tw_time_t){.s = us / 1000000u, .frac = (uint32_t)(((us % 1000000u) << 32) / 1000000u)};
}

/* The time, or the time since the frame before, in the bits there are; a value too large for them loses its top. */
static uint64_t time_word(const tw_graph_io_t *io, uint64_t us)
{
    const bool relative = io->ts == TS_RELATIVE;
    const tw_time_t t = time_of(us);
    uint64_t word = 0;
    uint32_t word32 = 0;
    if (io->ts_size == TS_16) {
        const tw_time_t low = {.s = relative ? t.s & 1u : t.s & 0x3FFFu, .frac = t.frac};
        (void)tw_time_pack(relative ? TW_RAW_TIME16D : TW_RAW_TIME16, low, &word);
    } else if (io->ts_size == TS_32) {
        const tw_time_t low = {.s = relative ? t.s & 0x3FFFu : t.s & 0x3FFFFFFFu, .frac = t.frac};
        (void)tw_stamp_rel_pack(relative ? TW_STAMP_INTERVAL_U14 : TW_STAMP_SINCE_RESET, low, &word32);
        word = word32;
    } else {
        const tw_stamp_abs_t a = {.ms = us / 1000u & 0xFFFFFFFFFFu, .frac = (uint16_t)((us % 1000u << 16) / 1000u)};
        (void)tw_stamp_abs_pack(&a, &word);
    }
    return word;
}

/* A frame begins: its stamp. */
void io_stamp(tw_graph_io_t *io, uint64_t now_us)
{
    const uint64_t since = io->stamp_count == 0 ? 0 : now_us - io->stamp_last;
    const uint64_t word = io->ts == TS_COUNTER    ? io->stamp_count
                          : io->ts == TS_RELATIVE ? time_word(io, since)
                                                  : time_word(io, now_us);
    tw_put_le64(io->stamp, word);
    io->stamp_last = now_us;
    io->stamp_count++;
}

static uint32_t stamp_bytes(const tw_graph_io_t *io)
{
    return io->ts == TS_NONE ? 0 : io->ts_size == TS_16 ? 2u : io->ts_size == TS_32 ? 4u : 8u;
}

/* Bytes `from` to `to` of the frame were written at `at`: those of the stamp are ours. */
void io_stamp_into(const tw_graph_io_t *io, uint8_t *at, uint32_t from, uint32_t to)
{
    const uint32_t end = tw_min_u32(to, stamp_bytes(io));
    if (from < end) {
        memcpy(at, io->stamp + from, end - from);
    }
}

/* Counters count, moments do not go back. Intervals are what they are. */
void io_stamp_check(tw_graph_io_t *io, const uint8_t *frame)
{
    const uint32_t bytes = stamp_bytes(io);
    uint8_t word[8] = {0};
    memcpy(word, frame, bytes);
    const uint64_t now = tw_get_le64(word), mask = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1;
    const bool wrong = io->ts == TS_COUNTER    ? now != ((io->stamp_last + 1) & mask)
                       : io->ts == TS_ABSOLUTE ? now < io->stamp_last
                                               : false;
    if (bytes != 0 && io->stamp_count != 0 && wrong) {
        tw_gauge_add(&io->stats.stamp_errors, 1);
    }
    io->stamp_last = now;
    io->stamp_count += bytes != 0;
}

/* ---- frames that arrive --------------------------------------------------------- */

/* A frame is missing, or but `got` of its bytes came to `room` (NULL: the arc is full). */
void io_hole(tw_graph_t *g, tw_graph_io_t *io, uint8_t *room, uint32_t got)
{
    tw_gauge_add(&io->stats.holes, 1);
    if (flow_hole(g, io->arc_index)) {
        return;
    }
    uint8_t *now = tw_arc_room(io->arc, io->frame); /* its script may have moved things */
    uint8_t *dst = now != NULL ? now : g->scratch;
    flow_conceal(g, io->arc_index, dst, now == room ? got : 0);
    io_stamp_into(io, dst, 0, io->frame);
    if (now != NULL) {
        flow_wrote(g, io->arc, now, io->frame);
    } else {
        flow_fade_in(g, io->arc_index, dst);
    }
}

static uint32_t board_read(tw_graph_t *g, const tw_graph_io_t *io, uint8_t *dst)
{
    const tw_board_t *b = g->env.board;
    return b->read == NULL ? 0 : tw_min_u32(b->read(b->ctx, io->hwid, g->tick, dst, io->frame), io->frame);
}

/* A frame is fetched even when the arc is full: the source's time goes on. */
static void rated_in(tw_graph_t *g, tw_graph_io_t *io)
{
    uint8_t *room = flow_room(g, io->arc_index);
    uint8_t *dst = room != NULL ? room : g->scratch;
    const uint32_t got = board_read(g, io, dst);
    io_stamp(io, g->now_us);
    if (got < io->frame) {
        io_hole(g, io, room, got);
        return;
    }
    io->arc->underflow_series = false;
    io_stamp_into(io, dst, 0, io->frame);
    tw_gauge_add(&io->stats.frames, 1);
    if (room != NULL) {
        flow_wrote(g, io->arc, room, io->frame);
    } else {
        flow_fade_in(g, io->arc_index, dst);
    }
}

/* Without a rate there are no holes: what came is appended, a full arc is not asked for. */
static void asynchronous_in(tw_graph_t *g, tw_graph_io_t *io)
{
    uint8_t *room = tw_arc_room(io->arc, io->frame);
    const uint32_t got = room != NULL ? board_read(g, io, room) : 0;
    if (got != 0) {
        io_stamp(io, g->now_us);
        io_stamp_into(io, room, 0, got);
        tw_gauge_add(&io->stats.frames, got == io->frame);
        flow_wrote(g, io->arc, room, got);
    }
}

void flow_ios_in(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_ios; i++) {
        tw_graph_io_t *io = &g->ios[i];
        if (io->driver != NULL && !io->halted) {
            driver_in(g, io);
            continue;
        }
        io->phase += io->step;
        if (io->halted) {
            io->phase = io->phase < io->period ? io->phase : io->period; /* what passed meanwhile is gone */
            continue;
        }
        if (io->tx) {
            /* what was not used stays, as far as two frames: output may come late and in pairs */
            const uint64_t most = io->step + 2 * io->period;
            io->phase = io->phase < most ? io->phase : most;
        } else if (!io->rated) {
            asynchronous_in(g, io);
        } else if (io->phase >= io->period) {
            io->phase -= io->period;
            rated_in(g, io);
        }
    }
}

/* ---- frames that leave ---------------------------------------------------------- */

static void frame_out(tw_graph_t *g, tw_graph_io_t *io)
{
    const tw_board_t *b = g->env.board;
    (void)flow_open(g, io->arc);
    io_stamp_check(io, tw_arc_data(io->arc));
    const uint32_t took = b->write == NULL ? 0 : b->write(b->ctx, io->hwid, g->tick, tw_arc_data(io->arc), io->frame);
    tw_arc_consume(io->arc, io->frame);
    sched_consumed(g, io->arc);
    if (took >= io->frame) {
        io->arc->overflow_series = false;
        tw_gauge_add(&io->stats.frames, 1);
    } else {
        tw_gauge_add(&io->stats.holes, 1);
        flow_overflow(g, io->arc_index);
    }
}

/* A rated output takes no more than its rate: what a source node writes into must push back. */
bool flow_ios_out(tw_graph_t *g)
{
    bool moved = false;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        tw_graph_io_t *io = &g->ios[i];
        if (io->halted) {
            continue;
        }
        if (io->driver != NULL) {
            moved |= driver_out(g, io);
            continue;
        }
        while (io->tx && tw_arc_readable(io->arc) && (!io->rated || io->phase >= io->period)) {
            io->phase -= io->rated ? io->period : 0;
            frame_out(g, io);
            moved = true;
        }
    }
    return moved;
}
