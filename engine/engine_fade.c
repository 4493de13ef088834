/* engine_fade.c - see engine_fade.h. */
#include "engine/engine_fade.h"
#include "engine/node/convert.h"

enum { CHUNK = 32, FIFO_BLOCKS = 2 };

/* ---- mixing ------------------------------------------------------------------------- */

/* Complex samples are two of their half; times count moments, no amplitude. */
static uint32_t number_of(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_CQ15:
        return TW_RAW_Q15;
    case TW_RAW_CFP32:
        return TW_RAW_FP32;
    default:
        return raw;
    }
}

static bool mixable(const tw_format_t *f)
{
    const uint32_t raw = number_of(f->raw);
    const bool amplitude = tw_convert_numeric(raw) && tw_raw_bits(raw) % 8 == 0 && raw < TW_RAW_TIME16;
    const uint32_t sample = tw_raw_bits(f->raw) / 8 * f->channels;
    return amplitude && f->ts == 0 && sample != 0 && f->frame_bytes % sample == 0;
}

/* Sample i of a frame belongs to this instant of the frame. */
static uint32_t instants(const tw_format_t *f)
{
    return f->frame_bytes / (tw_raw_bits(f->raw) / 8 * f->channels);
}

/* Beyond this an old graph's output is no signal (NaN too): a fade away from it begins with silence. */
#define HUGE 1e300

typedef struct ramp {
    uint64_t at, length; /* weight of the new graph: min(at + k, length) / length for instant k */
} ramp_t;

static double weight(const ramp_t *r, uint32_t k)
{
    const uint64_t at = r->at + k;
    return at < r->length ? (double)at / (double)r->length : 1.0;
}

/* One channel: n samples, `step` apart. `old` or `now` may be NULL: silence. */
static void mix_channel(uint32_t raw, const uint8_t *old, const uint8_t *now, uint8_t *to, size_t at, size_t step,
                        uint32_t n, const ramp_t *r)
{
    double a[CHUNK], b[CHUNK];
    for (uint32_t k = 0; k < n; k += CHUNK) {
        const uint32_t m = tw_min_u32(CHUNK, n - k);
        const size_t first = at + k * step;
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        if (old != NULL) {
            tw_convert_load(raw, old, first, step, m, a);
        }
        if (now != NULL) {
            tw_convert_load(raw, now, first, step, m, b);
        }
        for (uint32_t i = 0; i < m; i++) {
            const double w = weight(r, k + i), from = a[i] > -HUGE && a[i] < HUGE ? a[i] : 0.0;
            a[i] = w < 1.0 ? from + (b[i] - from) * w : b[i];
        }
        tw_convert_store(raw, to, first, step, m, a);
    }
}

static void mix(const tw_format_t *f, const uint8_t *old, const uint8_t *now, uint8_t *to, const ramp_t *r)
{
    const uint32_t raw = number_of(f->raw), parts = raw != f->raw ? 2 : 1, n = instants(f);
    for (uint32_t c = 0; c < f->channels * parts; c++) {
        const bool blocks = f->interleave != 0 && f->channels > 1;
        const size_t at = blocks ? (size_t)(c / parts) * n * parts + c % parts : c;
        mix_channel(raw, old, now, to, at, blocks ? parts : (size_t)f->channels * parts, n, r);
    }
}

/* ---- NaN and infinity --------------------------------------------------------------------- */

static bool floating(uint32_t raw)
{
    return raw == TW_RAW_FP32 || raw == TW_RAW_CFP32;
}

static bool finite_bits(uint32_t word)
{
    return (word & 0x7F800000u) != 0x7F800000u;
}

/* @return the frame, or a copy in which such samples are silence */
static const uint8_t *without_nan(fade_side_t *s, const fade_io_t *io, const uint8_t *src)
{
    if (!floating(io->fmt->raw) || io->fmt->ts != 0) {
        return src;
    }
    bool clean = true;
    for (uint32_t i = 0; i + 4 <= io->frame; i += 4) {
        uint32_t w;
        memcpy(&w, src + i, sizeof w);
        clean = clean && finite_bits(w);
    }
    if (clean) {
        return src;
    }
    s->broken_hwid = s->broken ? s->broken_hwid : io->hwid;
    s->broken = true;
    for (uint32_t i = 0; i + 4 <= io->frame; i += 4) {
        uint32_t w;
        memcpy(&w, src + i, sizeof w);
        w = finite_bits(w) ? w : 0;
        memcpy(s->mixed + i, &w, sizeof w);
    }
    return s->mixed;
}

/* ---- what a graph calls ---------------------------------------------------------------------- */

static fade_io_t *io_of(const fade_side_t *s, uint32_t hwid, bool tx)
{
    for (uint32_t i = 0; s->ios != NULL && i < s->n; i++) {
        if (s->ios[i].hwid == hwid && s->ios[i].tx == tx) {
            return &s->ios[i];
        }
    }
    return NULL;
}

static uint32_t real_read(const fade_side_t *s, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    return s->real->read != NULL ? s->real->read(s->real->ctx, hwid, tick, dst, bytes) : 0;
}

static uint32_t real_write(const fade_side_t *s, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    return s->real->write != NULL ? s->real->write(s->real->ctx, hwid, tick, src, bytes) : 0;
}

/* The old graph comes first; what it did not ask for, the new one may. */
static uint32_t side_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    fade_side_t *s = ctx;
    fade_io_t *io = s->role == FADE_ALONE ? NULL : io_of(s, hwid, false);
    if (io == NULL || io->peer == NULL) {
        return real_read(s, hwid, tick, dst, bytes);
    }
    if (s->role == FADE_NEW && io->peer->fresh && io->peer->tick == tick) {
        io->peer->fresh = false;
        memcpy(dst, io->peer->buf, io->peer->got);
        return io->peer->got;
    }
    const uint32_t got = tw_min_u32(real_read(s, hwid, tick, dst, bytes), bytes);
    if (s->role == FADE_OLD) {
        memcpy(io->buf, dst, got);
        io->got = got;
        io->tick = tick;
        io->fresh = true;
    }
    return got;
}

static bool second_half(const fade_side_t *s)
{
    return 2 * (uint64_t)s->done >= s->blocks;
}

static bool fades(const fade_io_t *io)
{
    return io->mixes && io->length != 0;
}

/* Deliver one frame of each graph (NULL: it has none) as one. `io` is the new graph's, or the only one there is. */
static uint32_t deliver(fade_side_t *s, fade_io_t *io, uint64_t tick, const uint8_t *old, const uint8_t *now)
{
    const ramp_t r = {io->at, io->length};
    if (io->at >= io->length && now != NULL) {
        return real_write(s, io->hwid, tick, now, io->frame);
    }
    mix(io->fmt, old, now, s->mixed, &r);
    io->at += instants(io->fmt);
    return real_write(s, io->hwid, tick, s->mixed, io->frame);
}

static void drop(fade_io_t *io, uint32_t frames)
{
    io->fill -= frames;
    memmove(io->buf, io->buf + (size_t)frames * io->frame, (size_t)io->fill * io->frame);
}

static void drop_first(fade_io_t *io)
{
    drop(io, 1);
}

/* Frames wait for their counterpart. Until the new graph has delivered anything, they pass. */
static uint32_t write_old(fade_side_t *s, fade_io_t *io, uint64_t tick, const uint8_t *src)
{
    if (io->peer == NULL) {
        return deliver(s, io, tick, src, NULL);
    }
    if (io->fill == io->cap) {
        if (io->peer->at == 0) {
            (void)real_write(s, io->hwid, tick, io->buf, io->frame);
        }
        drop_first(io);
    }
    memcpy(io->buf + (size_t)io->fill * io->frame, src, io->frame);
    io->fill++;
    return io->frame;
}

static uint32_t write_new(fade_side_t *s, fade_io_t *io, uint64_t tick, const uint8_t *src)
{
    fade_io_t *old = io->peer;
    const bool pair = old != NULL && old->fill != 0;
    const uint32_t took = deliver(s, io, tick, pair ? old->buf : NULL, src);
    if (pair) {
        drop_first(old);
    }
    return took;
}

static uint32_t side_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    fade_side_t *s = ctx;
    fade_io_t *io = s->role == FADE_ALONE && !s->watch ? NULL : io_of(s, hwid, true);
    if (io == NULL || bytes != io->frame) {
        return real_write(s, hwid, tick, src, bytes);
    }
    if (s->watch) {
        src = without_nan(s, io, src);
    }
    const bool silent = s->role == (second_half(s) ? FADE_OLD : FADE_NEW);
    if (s->role != FADE_ALONE && !fades(io)) {
        return silent ? bytes : real_write(s, hwid, tick, src, bytes);
    }
    switch (s->role) {
    case FADE_OLD:
        return write_old(s, io, tick, src);
    case FADE_NEW:
        return write_new(s, io, tick, src);
    case FADE_ALONE:
        break;
    }
    return real_write(s, hwid, tick, src, bytes);
}

/* ---- IOs that drivers move ---------------------------------------------------------------------- */

/* Such an IO of both graphs while they fade, else NULL. */
static fade_io_t *driven_of(const fade_side_t *s, uint32_t hwid)
{
    for (uint32_t i = 0; s->role != FADE_ALONE && i < s->n; i++) {
        if (s->ios[i].hwid == hwid && s->ios[i].driven && s->ios[i].peer != NULL) {
            return &s->ios[i];
        }
    }
    return NULL;
}

static bool real_io(const fade_side_t *s, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    return s->real->io(s->real->ctx, hwid, command, data, bytes);
}

/* A transfer waits to be mixed. It is acknowledged when its frames are, so there is never more than one. */
static bool keep_frames(fade_io_t *io, const void *data, uint32_t bytes)
{
    const uint32_t n = bytes / io->frame;
    if (bytes % io->frame != 0 || n > io->cap - io->fill) {
        return false;
    }
    memcpy(io->buf + (size_t)io->fill * io->frame, data, bytes);
    io->fill += n;
    return true;
}

static bool old_io(fade_side_t *s, fade_io_t *io, tw_io_command_t command, const void *data, uint32_t bytes)
{
    if (command == TW_IO_STOP) { /* by a script, or because the driver has changed hands */
        io->fill = io->flight = 0;
        io->asked = false;
    } else if (io->peer->taken) {
        return false;
    } else if (command == TW_IO_START && io->tx) {
        return keep_frames(io, data, bytes);
    } else if (command == TW_IO_START && s->closing && io->servant) {
        return false;
    }
    const bool ok = real_io(s, io->hwid, command, data, bytes);
    io->asked = command == TW_IO_START ? ok : io->asked;
    return ok;
}

static bool new_io(fade_side_t *s, fade_io_t *io, tw_io_command_t command, const void *data, uint32_t bytes)
{
    if (io->taken) {
        return real_io(s, io->hwid, command, data, bytes);
    }
    io->fill = command == TW_IO_STOP ? 0 : io->fill;
    return command == TW_IO_START && io->tx ? keep_frames(io, data, bytes) : true;
}

static bool side_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    fade_side_t *s = ctx;
    fade_io_t *io = driven_of(s, hwid);
    if (io == NULL) {
        return real_io(s, hwid, command, data, bytes);
    }
    return s->role == FADE_OLD ? old_io(s, io, command, data, bytes) : new_io(s, io, command, data, bytes);
}

static void side_flush(void *ctx, const void *at, uint32_t bytes, bool wrote)
{
    const fade_side_t *s = ctx;
    s->real->flush(s->real->ctx, at, bytes, wrote);
}

static void side_look(void *ctx, uint32_t hwid, uint32_t look)
{
    const fade_side_t *s = ctx;
    const fade_io_t *io = driven_of(s, hwid);
    if (io == NULL || (s->role == FADE_NEW ? io->taken : !io->peer->taken)) {
        s->real->look(s->real->ctx, hwid, look);
    }
}

/* The old graph found an acknowledgement: the new one finds the same, as far as it has a part in it. */
static void pass_on(fade_io_t *io, const fade_side_t *now, const tw_io_heard_t *ack)
{
    const bool concerns = !io->tx || io->both;
    io->flight -= tw_min_u32(ack->bytes, io->flight);
    io->both = io->both && io->flight != 0;
    io->asked = false;
    io->peer->unmatched = ack->bytes != 0 ? 0 : io->peer->unmatched;
    if (concerns) {
        tw_graph_io_hear(now->graph, (uint32_t)(io->peer - now->ios), ack);
    }
}

static void side_heard(void *ctx, uint32_t hwid, const tw_io_heard_t *ack)
{
    const fade_side_t *s = ctx;
    fade_io_t *io = s->role == FADE_OLD ? driven_of(s, hwid) : NULL;
    if (s->real->heard != NULL) {
        s->real->heard(s->real->ctx, hwid, ack);
    }
    if (io != NULL) {
        pass_on(io, s->other, ack);
    }
}

void fade_init(fade_side_t *s, const tw_board_t *real)
{
    *s = (fade_side_t){.board = *real, .real = real};
    s->board.ctx = s;
    s->board.io = real->io != NULL ? side_io : NULL;
    s->board.flush = real->flush != NULL ? side_flush : NULL;
    s->board.look = real->look != NULL ? side_look : NULL;
    s->board.heard = side_heard;
    s->board.read = side_read;
    s->board.write = side_write;
}

/* ---- before -------------------------------------------------------------------------------------- */

static const tw_format_t *format_of(const tw_graph_t *g, uint32_t i)
{
    return &g->formats[tw_graph_arc_format(g, g->ios[i].arc_index, g->ios[i].tx)];
}

/* The longest transfer START may bring. */
static uint32_t transfer_frames(const tw_graph_io_t *io)
{
    return (io->driver->buffer != NULL ? io->driver->bytes : io->arc->size) / io->frame;
}

static uint32_t frames_kept(const tw_graph_io_t *io)
{
    return !io->tx ? 1 : io->driver != NULL ? transfer_frames(io) : FIFO_BLOCKS * (io->arc->size / io->frame) + 1;
}

void fade_prepare(fade_side_t *s, tw_graph_t *g, tw_arena_t *arena)
{
    const size_t mark = arena->used;
    s->graph = g;
    size_t largest = 0, all = g->n_ios * sizeof *s->ios;
    s->n = g->n_ios;
    s->ios = tw_arena_take(arena, g->n_ios * sizeof *s->ios, _Alignof(fade_io_t));
    bool ok = s->ios != NULL;
    for (uint32_t i = 0; i < g->n_ios; i++) {
        const tw_graph_io_t *io = &g->ios[i];
        const bool sends = io->tx && io->driver != NULL;
        const size_t bytes = (size_t)frames_kept(io) * io->frame * (sends ? 2 : 1);
        uint8_t *buf = ok ? tw_arena_take(arena, bytes, 8) : NULL;
        ok = ok && buf != NULL;
        all += bytes + 8;
        largest = io->frame > largest ? io->frame : largest;
        if (ok) {
            s->ios[i] = (fade_io_t){.fmt = format_of(g, i),
                                    .hwid = io->hwid,
                                    .frame = io->frame,
                                    .tx = io->tx,
                                    .mixes = mixable(format_of(g, i)),
                                    .driven = io->driver != NULL,
                                    .servant = io->driver != NULL && io->driver->servant,
                                    .sent = sends ? buf + bytes / 2 : NULL,
                                    .buf = buf,
                                    .cap = frames_kept(io)};
        }
    }
    s->mixed = ok ? tw_arena_take(arena, largest, 8) : NULL;
    if (s->mixed == NULL) {
        s->short_by = (uint32_t)(all + largest + 8 - tw_min_u32((uint32_t)(arena->size - mark), (uint32_t)all));
        s->ios = NULL;
        arena->used = mark;
    }
}

/* One transfer a block is all a fade sends. */
static bool driver_fits(const tw_graph_io_t *a, const tw_graph_io_t *b)
{
    const bool driven = a->driver != NULL && b->driver != NULL;
    if (!driven || a->driver->servant != b->driver->servant) {
        return !driven && a->driver == b->driver;
    }
    const uint64_t room = tw_min_u32(transfer_frames(a), transfer_frames(b));
    return !a->tx || (room != 0 && (!b->rated || b->step <= room * b->period));
}

tw_err_t fade_check(const fade_side_t *old, const tw_graph_t *og, const fade_side_t *now, const tw_graph_t *ng,
                    tw_fault_t *fault)
{
    if (old->ios == NULL || now->ios == NULL) {
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = now->ios == NULL ? now->short_by : old->short_by};
        return TW_E_NOMEM;
    }
    const double d = og->period_s - ng->period_s;
    if (d < 0 || d > 0) {
        *fault = (tw_fault_t){.err = TW_E_FADE_FORMAT, .at = UINT32_MAX};
        return TW_E_FADE_FORMAT;
    }
    for (uint32_t i = 0; i < now->n; i++) {
        const fade_io_t *io = &now->ios[i], *was = io_of(old, io->hwid, io->tx);
        if (was != NULL && !driver_fits(&og->ios[was - old->ios], &ng->ios[i])) {
            *fault = (tw_fault_t){.err = TW_E_FADE_DRIVER, .at = io->hwid};
            return TW_E_FADE_DRIVER;
        }
        if (was != NULL && (was->fmt->raw != io->fmt->raw || was->frame != io->frame ||
                            was->fmt->channels != io->fmt->channels || was->fmt->interleave != io->fmt->interleave ||
                            was->fmt->rate_hz < io->fmt->rate_hz || was->fmt->rate_hz > io->fmt->rate_hz)) {
            *fault = (tw_fault_t){.err = TW_E_FADE_FORMAT, .at = io->hwid};
            return TW_E_FADE_FORMAT;
        }
    }
    return TW_OK;
}

/* ---- the fade ---------------------------------------------------------------------------------------- */

/* A graph or a driver that does not do all it should must not keep the old graph alive. */
enum { PATIENCE = 16 };

/* What the old graph has under way when the fade begins is its own. */
static void ready_driver(fade_io_t *io, const tw_graph_io_t *of, fade_role_t role)
{
    const tw_graph_driver_t *d = of->driver;
    const uint64_t frame = of->rated && of->step != 0 ? of->period / of->step + 1 : 1; /* [blocks] */
    io->patience = PATIENCE + (uint32_t)(frame < 1024 ? io->cap * frame : 1024);
    io->flight = role == FADE_OLD && io->tx ? d->flight : 0;
    io->asked = role == FADE_OLD && !io->tx && d->ongoing;
    io->both = io->begun = io->taken = false;
    io->unmatched = 0;
}

static void ready_side(fade_side_t *s, fade_side_t *other, fade_role_t role, uint32_t blocks, double period_s)
{
    s->role = role;
    s->other = other;
    s->closing = false;
    s->done = 0;
    s->blocks = blocks;
    for (uint32_t i = 0; i < s->n; i++) {
        fade_io_t *io = &s->ios[i];
        io->peer = io_of(other, io->hwid, io->tx);
        io->fill = 0;
        io->at = 0;
        io->fresh = false;
        io->length = (uint64_t)(period_s * blocks * (double)io->fmt->rate_hz + 0.5);
        if (io->driven) {
            ready_driver(io, &s->graph->ios[i], role);
        }
    }
}

void fade_begin(fade_side_t *old, fade_side_t *now, uint32_t blocks, double period_s)
{
    ready_side(old, now, FADE_OLD, blocks, period_s);
    ready_side(now, old, FADE_NEW, blocks, period_s);
}

static void turn_ios(fade_side_t *s, fade_role_t role)
{
    for (uint32_t i = 0; i < s->n; i++) {
        fade_io_t *io = &s->ios[i];
        const uint64_t at = io->peer != NULL && role == FADE_NEW ? io->peer->at : io->at;
        io->fill = 0;
        io->fresh = false;
        io->at = at < io->length ? io->length - at : 0;
    }
    s->role = role;
    s->done = s->blocks - tw_min_u32(s->done, s->blocks);
}

void fade_turn(fade_side_t *old, fade_side_t *now)
{
    turn_ios(old, FADE_NEW); /* takes the place its counterpart has reached, so before that one turns */
    turn_ios(now, FADE_OLD);
}

/* What the new graph has not answered: it passes as long as the new one has not begun, and waits afterwards. */
static void pass_old(fade_side_t *old, uint64_t tick)
{
    for (uint32_t i = 0; i < old->n; i++) {
        fade_io_t *io = &old->ios[i];
        while (io->tx && !io->driven && io->fill != 0 && io->peer->at == 0) {
            (void)real_write(old, io->hwid, tick, io->buf, io->frame);
            drop_first(io);
        }
    }
}

static bool all_faded(const fade_side_t *now)
{
    for (uint32_t i = 0; i < now->n; i++) {
        const fade_io_t *io = &now->ios[i];
        if (io->tx && fades(io) && io->at < io->length && (!io->driven || io->peer != NULL)) {
            return false;
        }
    }
    return true;
}

/* ---- drivers: one transfer a block, then they change hands -------------------------------------------- */

static void blend(const fade_side_t *now, fade_io_t *io, const uint8_t *old, const uint8_t *frame, uint8_t *to)
{
    const ramp_t r = {io->at, io->length};
    if (!fades(io)) {
        memcpy(to, second_half(now) ? frame : old, io->frame);
    } else if (io->at >= io->length) {
        memcpy(to, frame, io->frame);
    } else {
        mix(io->fmt, old, frame, to, &r);
        io->at += instants(io->fmt);
    }
}

/* What both have; until the new graph has any, what the old one has. A transfer that is refused is tried again. */
static void send(fade_side_t *old, const fade_side_t *now, fade_io_t *io)
{
    fade_io_t *was = io->peer;
    const uint64_t at = io->at;
    const uint32_t pairs = tw_min_u32(was->fill, io->fill), n = pairs != 0 || io->begun ? pairs : was->fill;
    if (was->flight != 0) {
        io->unmatched++;
        return;
    }
    io->unmatched = n == 0 && was->fill + io->fill != 0 ? io->unmatched + 1 : 0;
    if (n == 0) {
        return;
    }
    memcpy(was->sent, was->buf, (size_t)n * was->frame);
    for (uint32_t i = 0; i < pairs; i++) {
        const size_t place = (size_t)i * io->frame;
        blend(now, io, was->buf + place, io->buf + place, was->sent + place);
    }
    was->flight = n * was->frame;
    was->both = pairs != 0;
    if (!real_io(old, was->hwid, TW_IO_START, was->sent, was->flight)) {
        was->flight = 0;
        was->both = false;
        io->at = at;
        return;
    }
    io->begun = io->begun || pairs != 0;
    drop(was, n);
    drop(io, pairs);
}

/* The new graph's from here on. What it wants to send is sent as it is. @return there is nothing left to do */
static bool hand_over(fade_side_t *old, fade_side_t *now, fade_io_t *io)
{
    const fade_io_t *was = io->peer;
    const uint32_t mine = (uint32_t)(io - now->ios), theirs = (uint32_t)(was - old->ios);
    if (!io->taken) {
        if (was->flight != 0 || (was->servant && was->asked)) {
            return false;
        }
        if (!io->tx) {
            tw_graph_io_look(old->graph, theirs);
        }
        io->taken = true;
        (void)tw_graph_io_take(now->graph, mine, old->graph, theirs);
    }
    if (io->fill != 0 && real_io(now, io->hwid, TW_IO_START, io->buf, io->fill * io->frame)) {
        io->fill = 0;
    }
    return io->fill == 0;
}

static bool serve_drivers(fade_side_t *old, fade_side_t *now)
{
    bool done = true;
    for (uint32_t i = 0; i < now->n; i++) {
        fade_io_t *io = &now->ios[i];
        if (io->driven && io->peer != NULL) {
            if (!now->closing && io->tx) {
                send(old, now, io);
            }
            done = now->closing && hand_over(old, now, io) && done;
        }
    }
    return done;
}

static bool one_gives_nothing(const fade_side_t *now)
{
    bool nothing = false;
    for (uint32_t i = 0; i < now->n; i++) {
        nothing = nothing || now->ios[i].unmatched > now->ios[i].patience;
    }
    return nothing;
}

bool fade_driven(const fade_side_t *now)
{
    bool driven = false;
    for (uint32_t i = 0; i < now->n; i++) {
        driven = driven || (now->ios[i].driven && now->ios[i].peer != NULL);
    }
    return driven;
}

bool fade_block_done(fade_side_t *old, fade_side_t *now, uint64_t tick)
{
    pass_old(old, tick);
    old->done = ++now->done;
    const bool late = now->done >= 2 * now->blocks + PATIENCE || one_gives_nothing(now);
    const bool over = now->done >= now->blocks && (all_faded(now) || late);
    const bool drivers = serve_drivers(old, now) || !fade_driven(now);
    now->closing = old->closing = over;
    const bool end = (over && drivers) || (fade_driven(now) && now->done >= 2 * now->blocks + 2 * PATIENCE) ||
                     one_gives_nothing(now);
    if (end) {
        fade_end(old, now);
    }
    return !end;
}

/* Drivers the new graph does not have yet it opens in its next block. */
static void close_guests(fade_side_t *s)
{
    for (uint32_t i = 0; s->role == FADE_NEW && i < s->n; i++) {
        const fade_io_t *io = &s->ios[i];
        if (io->driven && io->peer != NULL && (!io->taken || io->fill != 0)) {
            tw_graph_io_close(s->graph, i);
        }
    }
}

void fade_end(fade_side_t *a, fade_side_t *b)
{
    close_guests(a);
    close_guests(b);
    a->role = b->role = FADE_ALONE;
}
