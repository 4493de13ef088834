/* graph_driver.c - IOs moved by acknowledgements: SET, START, ack, STOP (S1:L450-522, S0:L712-746).
 *
 * An acknowledgement comes from wherever the driver is and waits in a small ring; the engine serves it at the boundary
 * of a block. Only then do arcs change, so that nothing in the graph knows of interrupts.
 *
 *   copies, buffer in the graph      RX copied into that buffer at the acknowledgement, TX out of it
 *   copies, driver's buffer          RX copied at the boundary, TX during START
 *   no copies (SET_BUFFER)           RX the arc moves to the driver's buffer when it is empty, TX is sent from the arc
 */
#include "engine/graph/graph_priv.h"

enum { BACKOFF_MAX = 64 }; /* scans */

static bool call(const tw_graph_t *g, const tw_graph_io_t *io, tw_io_command_t command, const void *data,
                 uint32_t bytes)
{
    const tw_board_t *b = g->env.board;
    return b->io != NULL && b->io(b->ctx, io->hwid, command, data, bytes);
}

/* ---- the driver's context ------------------------------------------------------- */

/* Positions of the ring of bytes in the graph's memory go round twice its size: full differs from empty. */
static uint32_t ahead(const tw_graph_driver_t *d, uint32_t at, uint32_t bytes)
{
    const uint32_t left = 2 * d->bytes - at;
    return bytes < left ? at + bytes : bytes - left;
}

static uint32_t folded(const tw_graph_driver_t *d, uint32_t at)
{
    return at < d->bytes ? at : at - d->bytes;
}

/* @return false: no room */
static bool stage(tw_graph_driver_t *d, const uint8_t *data, uint32_t bytes)
{
    const uint32_t put = atomic_load_explicit(&d->staged, memory_order_relaxed),
                   taken = atomic_load_explicit(&d->unstaged, memory_order_acquire);
    const uint32_t used = put >= taken ? put - taken : 2 * d->bytes - taken + put;
    if (bytes > d->bytes - used) {
        return false;
    }
    const uint32_t at = folded(d, put), first = tw_min_u32(bytes, d->bytes - at);
    memcpy(d->buffer + at, data, first);
    memcpy(d->buffer, data + first, bytes - first);
    atomic_store_explicit(&d->staged, ahead(d, put, bytes), memory_order_release);
    return true;
}

tw_err_t tw_graph_io_ack(tw_graph_t *g, uint32_t index, const void *data, uint32_t bytes)
{
    if (index >= g->n_ios || g->ios[index].driver == NULL) {
        return TW_E_NOT_FOUND;
    }
    tw_graph_io_t *io = &g->ios[index];
    tw_graph_driver_t *d = io->driver;
    if (!atomic_load_explicit(&d->running, memory_order_acquire)) {
        if (data == NULL && bytes == 0) {
            atomic_store_explicit(&d->stopped, true, memory_order_release);
            return TW_OK;
        }
        tw_gauge_add(&io->stats.stray, 1);
        return TW_E_STATE;
    }
    const uint32_t put = atomic_load_explicit(&d->put, memory_order_relaxed);
    const bool full = put - atomic_load_explicit(&d->taken, memory_order_acquire) >= TW_IO_ACKS;
    const bool staged = !io->tx && io->copy && d->buffer != NULL && data != d->buffer && bytes != 0;
    if (full || (!io->tx && data == NULL && bytes != 0) || (staged && !stage(d, data, bytes))) {
        tw_gauge_add(&io->stats.lost, 1);
        return TW_E_BUSY;
    }
    const tw_port_t *clock = g->env.ack_port != NULL ? g->env.ack_port : g->env.port;
    d->ring[put % TW_IO_ACKS] =
        (tw_graph_ack_t){.data = staged ? NULL : data, .bytes = bytes, .stamp_us = clock->now_us(clock->ctx)};
    atomic_store_explicit(&d->put, put + 1, memory_order_release);
    return TW_OK;
}

/* ---- the engine's side ------------------------------------------------------------ */

static void unstage(tw_graph_driver_t *d, uint32_t bytes)
{
    const uint32_t at = atomic_load_explicit(&d->unstaged, memory_order_relaxed);
    atomic_store_explicit(&d->unstaged, ahead(d, at, bytes), memory_order_release);
}

static tw_err_t on_ack(void *ctx, uint32_t io, const void *data, uint32_t bytes)
{
    return tw_graph_io_ack(ctx, io, data, bytes);
}

static bool set(tw_graph_t *g, tw_graph_io_t *io, const uint32_t settings[3])
{
    const tw_graph_driver_t *d = io->driver;
    const tw_io_set_t s = {.settings = settings,
                           .buffer = d != NULL ? d->buffer : NULL,
                           .bytes = d != NULL && d->buffer != NULL ? d->bytes : io->frame,
                           .ack = on_ack,
                           .ctx = g,
                           .io = (uint32_t)(io - g->ios)};
    return call(g, io, TW_IO_SET, &s, sizeof s);
}

/* One by one: while one that arrives meanwhile has its bytes in the buffer, it need not be counted yet. */
static void drop_waiting(tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    uint32_t taken = atomic_load_explicit(&d->taken, memory_order_relaxed);
    const uint32_t put = atomic_load_explicit(&d->put, memory_order_acquire);
    for (; taken != put; taken++) {
        const tw_graph_ack_t *k = &d->ring[taken % TW_IO_ACKS];
        if (!io->tx && k->data == NULL && k->bytes != 0) {
            unstage(d, k->bytes - d->served);
        }
        d->served = 0;
        atomic_store_explicit(&d->taken, taken + 1, memory_order_release);
    }
    d->heard = put;
    d->heard_to = atomic_load_explicit(&d->unstaged, memory_order_relaxed);
}

static void open_driver(tw_graph_t *g, tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    d->opened = true;
    drop_waiting(io); /* of the time before STOP: their buffers are the driver's again, what was under way is gone */
    d->flight = 0;
    d->done = io->tx ? 0 : d->done;
    atomic_store_explicit(&d->stopped, false, memory_order_relaxed);
    atomic_store_explicit(&d->running, true, memory_order_release);
    const uint32_t settings[3] = {tw_gauge_get(&io->settings[0]), tw_gauge_get(&io->settings[1]),
                                  tw_gauge_get(&io->settings[2])};
    (void)set(g, io, settings);
    if (!io->copy) {
        (void)call(g, io, TW_IO_SET_BUFFER, io->arc->buf, io->arc->size);
    }
}

/* Less and less often, so that a driver that cannot is not asked at every block. @return the driver starts */
static bool start(tw_graph_t *g, tw_graph_io_t *io, const void *data, uint32_t bytes)
{
    tw_graph_driver_t *d = io->driver;
    d->ongoing = true; /* the driver may acknowledge inside the call */
    if (call(g, io, TW_IO_START, data, bytes)) {
        d->backoff = 0;
        return true;
    }
    d->ongoing = false;
    d->backoff = tw_min_u32(tw_max_u32(2 * d->backoff, 1), BACKOFF_MAX);
    d->wait = d->backoff;
    tw_gauge_add(&io->stats.starts_refused, 1);
    return false;
}

static void home(tw_graph_io_t *io)
{
    tw_arc_t *a = io->arc;
    if (a->buf != io->driver->home) {
        a->buf = io->driver->home;
        a->cap = a->size;
        tw_arc_clear(a);
    }
    a->pinned = false;
    a->special = a->shares != NULL;
}

/* A driver's buffer becomes the arc's: nothing is in the arc, whole frames are in the buffer. */
static bool move_base(tw_graph_t *g, tw_graph_io_t *io, const tw_graph_ack_t *k)
{
    tw_arc_t *a = io->arc;
    const bool fits = !io->copy && !io->driver->guest && io->driver->served == 0 && io->driver->done == 0 &&
                      !a->special && a->type < TW_ARC_MODULO && a->out_frame == io->frame &&
                      k->bytes % io->frame == 0 && ((uintptr_t)k->data & 3u) == 0;
    if (!fits || tw_arc_fill(a) != 0) {
        return false;
    }
    tw_arc_clear(a);
    a->buf = (uint8_t *)(uintptr_t)k->data;
    a->cap = k->bytes;
    for (uint32_t at = 0; at < k->bytes; at += io->frame) {
        io_stamp(io, k->stamp_us);
        io_stamp_into(io, a->buf + at, 0, io->frame);
        flow_wrote(g, a, a->buf + at, io->frame);
        tw_gauge_add(&io->stats.frames, 1);
    }
    tw_gauge_add(&io->stats.moves, 1);
    return true;
}

/* Part of a frame, or all of it. A frame that finds no room is skipped whole: channels stay in step. */
static void part_in(tw_graph_t *g, tw_graph_io_t *io, const uint8_t *src, uint32_t bytes, uint64_t now_us)
{
    tw_graph_driver_t *d = io->driver;
    if (d->done == 0) {
        d->skip = flow_room(g, io->arc_index) == NULL;
        io_stamp(io, now_us);
        if (d->skip && bytes == io->frame) {
            flow_fade_in(g, io->arc_index, src);
        }
    }
    uint8_t *room = d->skip ? NULL : tw_arc_room(io->arc, bytes);
    if (room != NULL) {
        memcpy(room, src, bytes);
        io_stamp_into(io, room, d->done, d->done + bytes);
        flow_wrote(g, io->arc, room, bytes);
    }
    d->skip = room == NULL;
    d->done = d->done + bytes < io->frame ? d->done + bytes : 0;
    if (d->done == 0) {
        tw_gauge_add(&io->stats.frames, 1);
        io->arc->underflow_series = false;
    }
}

/* @return served whole; false: its buffer must wait until the arc is empty */
static bool serve_rx(tw_graph_t *g, tw_graph_io_t *io, const tw_graph_ack_t *k)
{
    tw_graph_driver_t *d = io->driver;
    if (k->bytes == 0) {
        if (d->done == 0) {
            io_hole(g, io, flow_room(g, io->arc_index), 0);
            io_stamp(io, k->stamp_us);
        } else {
            tw_gauge_add(&io->stats.holes, 1); /* inside a frame: the rest of it comes later */
        }
        return true;
    }
    if (k->data != NULL && move_base(g, io, k)) {
        return true;
    }
    if (io->arc->buf != d->home) {
        if (tw_arc_fill(io->arc) != 0) {
            return false;
        }
        home(io);
    }
    while (d->served < k->bytes) {
        uint32_t n = tw_min_u32(io->frame - d->done, k->bytes - d->served);
        const uint8_t *src = k->data != NULL ? k->data + d->served : NULL;
        if (src == NULL) {
            const uint32_t at = folded(d, atomic_load_explicit(&d->unstaged, memory_order_relaxed));
            n = tw_min_u32(n, d->bytes - at);
            src = d->buffer + at;
        }
        part_in(g, io, src, n, k->stamp_us);
        d->served += n;
        if (k->data == NULL) {
            unstage(d, n);
        }
    }
    return true;
}

static void serve_tx(tw_graph_t *g, tw_graph_io_t *io, const tw_graph_ack_t *k)
{
    tw_graph_driver_t *d = io->driver;
    const uint32_t sent = tw_min_u32(k->bytes, d->flight);
    if (k->bytes == 0) {
        tw_gauge_add(&io->stats.holes, 1);
    }
    d->flight -= sent;
    d->done += sent;
    const uint32_t frames = d->done / io->frame;
    d->done -= frames * io->frame;
    if (io->arc->pinned) { /* whole frames: what is written behind them is to stay in its place */
        tw_arc_consume(io->arc, frames * io->frame);
        io->arc->pinned = d->flight != 0;
        io->arc->special = io->arc->pinned;
        sched_consumed(g, io->arc);
    }
    tw_gauge_add(&io->stats.frames, frames);
}

/* What a look found, for who records it, and for a graph that fades in. */
static void tell_heard(const tw_graph_t *g, const tw_graph_io_t *io, const tw_graph_ack_t *k, uint32_t number)
{
    tw_graph_driver_t *d = io->driver;
    const tw_board_t *b = g->env.board;
    tw_io_heard_t h = {.look = number, .bytes = k->bytes, .stamp_us = k->stamp_us};
    if (!io->tx && k->bytes != 0) {
        const bool staged = k->data == NULL;
        const uint32_t at = staged ? folded(d, d->heard_to) : 0;
        h.part[0] = staged ? d->buffer + at : k->data;
        h.part[1] = d->buffer;
        h.part_bytes[0] = staged ? tw_min_u32(k->bytes, d->bytes - at) : k->bytes;
        h.part_bytes[1] = k->bytes - h.part_bytes[0];
        h.aligned = ((uintptr_t)k->data & 3u) == 0;
        h.in_place = !staged && k->data == d->buffer;
        d->heard_to = staged ? ahead(d, d->heard_to, k->bytes) : d->heard_to;
    }
    if (b->heard != NULL) {
        b->heard(b->ctx, io->hwid, &h);
    }
}

static uint32_t hear_all(const tw_graph_t *g, const tw_graph_io_t *io, uint32_t number)
{
    tw_graph_driver_t *d = io->driver;
    const uint32_t put = atomic_load_explicit(&d->put, memory_order_acquire);
    for (; d->heard != put; d->heard++) {
        tell_heard(g, io, &d->ring[d->heard % TW_IO_ACKS], number);
    }
    return put;
}

/* Everything the graph learns of its driver it learns here. @return the acknowledgements there are so far */
static uint32_t look(const tw_graph_t *g, const tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    const tw_board_t *b = g->env.board;
    if (b->look != NULL) {
        b->look(b->ctx, io->hwid, d->looks);
    }
    return hear_all(g, io, d->looks++);
}

/* What was acknowledged since the last look, in order. A transfer that was only in part ends with its last part. */
static void serve(tw_graph_t *g, tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    uint32_t taken = atomic_load_explicit(&d->taken, memory_order_relaxed);
    const uint32_t put = look(g, io);
    for (; taken != put; taken++) {
        const tw_graph_ack_t k = d->ring[taken % TW_IO_ACKS];
        if (io->tx) {
            serve_tx(g, io, &k);
        } else if (!serve_rx(g, io, &k)) {
            break;
        }
        d->served = 0;
        d->ongoing = io->tx ? d->flight != 0 : !d->servant;
        tw_gauge_add(&io->stats.acks, 1);
        atomic_store_explicit(&d->taken, taken + 1, memory_order_release);
    }
}

/* Room for a transfer: at the boundary, or as soon as the graph has made it. */
static void ask(tw_graph_t *g, tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    const bool waits = atomic_load_explicit(&d->taken, memory_order_relaxed) != d->heard;
    if (!d->ongoing && d->wait == 0 && !waits && tw_arc_free(io->arc) >= io->frame) {
        (void)start(g, io, d->buffer, d->buffer != NULL ? d->bytes - d->bytes % io->frame : io->frame);
    }
}

void driver_in(tw_graph_t *g, tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    if (!d->opened) {
        open_driver(g, io);
    }
    d->wait -= d->wait != 0;
    d->looks = 0;
    serve(g, io);
    if (!io->tx) {
        ask(g, io);
    }
}

/* The next frames, as one transfer. @return the driver has them */
static bool send(tw_graph_t *g, tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    tw_arc_t *a = io->arc;
    const uint32_t there = flow_open(g, a), room = d->buffer != NULL ? d->bytes - d->bytes % io->frame : there;
    const uint32_t bytes = tw_min_u32(there, room);
    for (uint32_t at = 0; at < bytes; at += io->frame) {
        io_stamp_check(io, tw_arc_data(a) + at);
    }
    const uint8_t *from = tw_arc_data(a);
    if (io->copy && d->buffer != NULL) {
        memcpy(d->buffer, from, bytes);
        from = d->buffer;
    }
    a->pinned = !io->copy && !a->special;
    a->special = a->special || a->pinned;
    d->flight = bytes;
    if (!start(g, io, from, bytes)) {
        d->flight = 0;
        a->special = a->shares != NULL;
        a->pinned = false;
        return false;
    }
    if (!a->pinned) {
        tw_arc_consume(a, bytes);
        sched_consumed(g, a);
    }
    return true;
}

bool driver_out(tw_graph_t *g, tw_graph_io_t *io)
{
    const tw_graph_driver_t *d = io->driver;
    bool moved = false;
    if (!io->tx) {
        ask(g, io);
    }
    while (io->tx && d->opened && d->wait == 0) {
        serve(g, io);
        if (d->flight != 0 || !tw_arc_readable(io->arc) || !send(g, io)) {
            break;
        }
        moved = true;
    }
    return moved;
}

/* ---- a driver of two graphs: the old one has it, the new one is its guest -------------- */

#if !TW_SMALL
static void hear_frames(tw_graph_t *g, tw_graph_io_t *io, const tw_io_heard_t *ack)
{
    for (uint32_t i = 0; i < 2; i++) {
        const tw_graph_ack_t k = {.data = ack->part[i], .bytes = ack->part_bytes[i], .stamp_us = ack->stamp_us};
        io->driver->served = 0;
        if (k.bytes != 0) {
            (void)serve_rx(g, io, &k);
        }
    }
}

void tw_graph_io_hear(tw_graph_t *g, uint32_t index, const tw_io_heard_t *ack)
{
    tw_graph_io_t *io = &g->ios[index];
    tw_graph_driver_t *d = io->driver;
    const tw_graph_ack_t none = {.bytes = ack->bytes, .stamp_us = ack->stamp_us};
    if (io->halted) {
        return;
    }
    d->guest = true;
    if (io->tx) {
        serve_tx(g, io, &none);
    } else if (ack->bytes == 0) {
        (void)serve_rx(g, io, &none);
    } else {
        hear_frames(g, io, ack);
    }
    d->guest = false;
    d->served = 0;
    d->ongoing = io->tx ? d->flight != 0 : !d->servant;
    tw_gauge_add(&io->stats.acks, 1);
}

void tw_graph_io_look(tw_graph_t *g, uint32_t index)
{
    (void)look(g, &g->ios[index]);
}

bool tw_graph_io_take(tw_graph_t *g, uint32_t index, const tw_graph_t *from, uint32_t theirs)
{
    tw_graph_io_t *io = &g->ios[index];
    const tw_graph_io_t *was = &from->ios[theirs];
    const uint32_t settings[3] = {tw_gauge_get(&io->settings[0]), tw_gauge_get(&io->settings[1]),
                                  tw_gauge_get(&io->settings[2])};
    if (io->halted || !io->driver->opened) {
        return false;
    }
    (void)set(g, io, settings);
    if (!io->copy) {
        (void)call(g, io, TW_IO_SET_BUFFER, io->arc->buf, io->arc->size);
    }
    (void)hear_all(from, was, was->driver->looks - 1); /* from between the look and SET: before those that come now */
    io->driver->ongoing = io->tx && io->driver->flight != 0;
    if (!io->tx) {
        ask(g, io);
    }
    return true;
}

void tw_graph_io_close(tw_graph_t *g, uint32_t index)
{
    driver_halt(g, &g->ios[index]);
}
#endif

/* ---- RESET and STOP ------------------------------------------------------------------ */

/* What waits is of the time before. */
void driver_reset(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_ios; i++) {
        tw_graph_io_t *io = &g->ios[i];
        tw_graph_driver_t *d = io->driver;
        io->stamp_count = 0;
        io->halted = false;
        io->ask = 0;
        if (d != NULL) {
            home(io);
            drop_waiting(io);
            d->flight = d->done = d->wait = d->backoff = 0;
            d->ongoing = d->ongoing && !io->tx;
        }
    }
}

void driver_halt(tw_graph_t *g, tw_graph_io_t *io)
{
    tw_graph_driver_t *d = io->driver;
    if (d != NULL && d->opened) {
        atomic_store_explicit(&d->running, false, memory_order_release);
        (void)call(g, io, TW_IO_STOP, g, 0);
        d->opened = d->ongoing = false;
        home(io);
    }
}

void tw_graph_ios_stop(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_ios; i++) {
        driver_halt(g, &g->ios[i]);
    }
}

tw_err_t tw_graph_set_io(tw_graph_t *g, uint32_t index, const uint32_t settings[3])
{
    if (index >= g->n_ios) {
        return TW_E_NOT_FOUND;
    }
    tw_graph_io_t *io = &g->ios[index];
    const bool open = io->driver == NULL || io->driver->opened;
    if (open && !set(g, io, settings)) {
        return TW_E_UNSUPPORTED;
    }
    for (unsigned i = 0; i < 3; i++) {
        tw_gauge_set(&io->settings[i], settings[i]);
    }
    return TW_OK;
}
