/* replay_run.c - see replay_run.h.
 *
 * One cursor reads commands and blocks; the others hand out times, inputs, acknowledgements and expected outputs as the
 * engine asks, each up to the end of the block that runs.
 */
#include "host_tools/tunewire/replay_run.h"
#include "engine/base/crc.h"
#include <stdio.h>
#include <stdlib.h>

enum { QUEUE = 1 << 23, REPLIES = 1 << 20, IMAGES_MAX = 64, IMAGE_MAX = 1 << 28, DRAIN_EVERY = 256, LENT = 16 };
_Static_assert(LENT > TW_IO_ACKS + 1, "all that wait, and the one an arc lies in");

/* What a driver was told, and what it lent the graph. */
typedef struct driver {
    tw_io_set_t set; /* ack NULL: stopped */
    uint8_t *lent[LENT];
    uint32_t next;
} driver_t;

typedef struct image {
    uint32_t id, bytes, got;
    uint8_t *data;
} image_t;

struct tw_replay {
    tw_replay_file_t file;
    const tw_replay_user_t *user;
    tw_replay_result_t *res;
    tw_engine_t *engine;
    void *mem;
    tw_port_t port;
    tw_board_t board;
    tw_board_io_t *ios;
    uint32_t *banks;
    uint64_t *frames;  /* written so far, each IO */
    driver_t *drivers; /* each IO */
    uint64_t ack_us;   /* the clock, while something is acknowledged */
    bool acking;
    tw_replay_cursor_t main, times, inputs, outputs, acks, starts, answers;
    size_t limit; /* records before this are part of the block that runs */
    uint64_t tick;
    bool in_tick, failed;
    image_t images[IMAGES_MAX];
    uint32_t n_images, put;
};

static bool fail(tw_replay_t *r, tw_replay_end_t end, size_t where, const char *text)
{
    if (!r->failed) {
        r->failed = true;
        r->res->end = end;
        r->res->where = where;
        (void)snprintf(r->res->text, sizeof r->res->text, "%s", text);
    }
    return false;
}

/* ---- what the engine sees ------------------------------------------------------------------ */

/* Next record of a kind before the limit. */
static bool next_of(tw_replay_t *r, tw_replay_cursor_t *c, uint16_t kind, tw_replay_record_t *rec)
{
    for (;;) {
        tw_replay_cursor_t ahead = *c;
        if (tw_replay_next(&r->file, &ahead, rec) != TW_REPLAY_RECORD || rec->at >= r->limit) {
            return false;
        }
        *c = ahead;
        if (rec->kind == kind) {
            return true;
        }
    }
}

static uint64_t now_us(void *ctx)
{
    tw_replay_t *r = ctx;
    tw_replay_record_t rec;
    if (!r->in_tick || r->acking) {
        return r->ack_us;
    }
    if (!next_of(r, &r->times, TW_REC_TIME, &rec)) {
        (void)fail(r, TW_REPLAY_DIVERGED, r->limit, "the graph asks for the time more often than it did");
        return 0;
    }
    return tw_get_le64(rec.p);
}

/* In the order of the calls, also of scripts that ran between two blocks. */
static bool recall(void *ctx, tw_answer_t *a)
{
    tw_replay_t *r = ctx;
    tw_replay_record_t rec;
    const size_t limit = r->limit;
    r->limit = SIZE_MAX;
    const bool there = next_of(r, &r->answers, TW_REC_ANSWER, &rec);
    r->limit = limit;
    if (!there || tw_get_le32(rec.p) != a->from || rec.n - 16 > a->bytes) {
        (void)fail(r, TW_REPLAY_DIVERGED, r->limit, "a script asks for something else outside the graph than it did");
        return false;
    }
    a->status = tw_get_le32(rec.p + 4);
    a->result = (int64_t)tw_get_le64(rec.p + 8);
    a->bytes = rec.n - 16;
    if (a->bytes != 0) {
        memcpy(a->data, rec.p + 16, a->bytes);
    }
    return true;
}

/* Images with privileged scripts are loaded; what the board told them is in the recording. */
static tw_err_t board_low(void *ctx, uint32_t op, uint64_t address, int64_t *value)
{
    (void)ctx, (void)op, (void)address, (void)value;
    return TW_E_UNSUPPORTED;
}

static uint32_t cycles(void *ctx)
{
    (void)ctx;
    return 0;
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    tw_replay_t *r = ctx;
    tw_replay_record_t rec;
    (void)tick;
    if (!next_of(r, &r->inputs, TW_REC_INPUT, &rec) || tw_get_le32(rec.p) != hwid || tw_get_le32(rec.p + 4) != bytes ||
        rec.n - 8 > bytes) {
        (void)fail(r, TW_REPLAY_DIVERGED, r->limit, "the graph asks for another input than it did");
        return 0;
    }
    memcpy(dst, rec.p + 8, rec.n - 8);
    r->res->inputs++;
    return rec.n - 8;
}

static uint32_t io_row(const tw_replay_t *r, uint32_t hwid)
{
    for (uint32_t i = 0; i < r->file.n_ios; i++) {
        if (r->ios[i].hwid == hwid) {
            return i;
        }
    }
    return 0;
}

static void compare(tw_replay_t *r, const tw_replay_record_t *rec, uint32_t row, uint64_t tick, const uint8_t *src,
                    uint32_t bytes)
{
    tw_replay_result_t *res = r->res;
    const uint32_t crc = tw_crc32c(0, src, bytes), want = tw_get_le32(rec->p + 12);
    if (crc == want) {
        return;
    }
    if (res->different++ == 0) {
        res->diff_tick = tick;
        res->diff_io = row;
        res->diff_frame = r->frames[row];
        res->want_crc = want;
        res->got_crc = crc;
        res->diff_byte = UINT32_MAX;
        for (uint32_t i = 0; rec->n == 16 + bytes && i < bytes; i++) {
            if (rec->p[16 + i] != src[i]) {
                res->diff_byte = i;
                break;
            }
        }
    }
}

/* Of the record of an OUTPUT, or of a START that took them. */
static void hear(tw_replay_t *r, const tw_replay_record_t *rec, uint32_t row, uint64_t tick, const void *src,
                 uint32_t bytes)
{
    compare(r, rec, row, tick, src, bytes);
    r->frames[row]++;
    r->res->outputs++;
    r->res->output_bytes += bytes;
    if (r->user->output != NULL && !r->user->output(r->user->ctx, row, src, bytes)) {
        (void)fail(r, TW_REPLAY_STOPPED, rec->at, "");
    }
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    tw_replay_t *r = ctx;
    tw_replay_record_t rec;
    if (!next_of(r, &r->outputs, TW_REC_OUTPUT, &rec) || tw_get_le32(rec.p) != hwid ||
        tw_get_le32(rec.p + 4) != bytes) {
        (void)fail(r, TW_REPLAY_DIVERGED, r->limit, "the graph writes another output than it did");
        return 0;
    }
    hear(r, &rec, io_row(r, hwid), tick, src, bytes);
    return tw_get_le32(rec.p + 8);
}

static tw_err_t board_accept(void *ctx, uint32_t hwid, uint32_t raw, uint32_t channels, float rate_hz,
                             uint32_t frame_bytes, const uint32_t settings[3])
{
    const tw_replay_t *r = ctx;
    (void)frame_bytes, (void)settings;
    if (r->user->format != NULL) {
        r->user->format(r->user->ctx, io_row(r, hwid), raw, channels, rate_hz);
    }
    return TW_OK;
}

/* ---- drivers ---------------------------------------------------------------------------------- */

static bool start(tw_replay_t *r, uint32_t hwid, const void *data, uint32_t bytes)
{
    tw_replay_record_t rec;
    const uint32_t row = io_row(r, hwid);
    if (!next_of(r, &r->starts, TW_REC_START, &rec) || tw_get_le32(rec.p) != hwid || tw_get_le32(rec.p + 4) != bytes) {
        return fail(r, TW_REPLAY_DIVERGED, r->limit, "the graph starts another transfer than it did");
    }
    const bool started = tw_get_le32(rec.p + 8) != 0;
    if (started && r->ios[row].direction != 0 && data != NULL) {
        hear(r, &rec, row, r->tick, data, bytes);
    }
    return started;
}

/* There is nothing to set, and what the settings did is in the inputs. */
static bool board_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    tw_replay_t *r = ctx;
    driver_t *d = &r->drivers[io_row(r, hwid)];
    switch (command) {
    case TW_IO_SET:
        d->set = *(const tw_io_set_t *)data;
        return true;
    case TW_IO_SET_BUFFER:
        return true;
    case TW_IO_START:
        return start(r, hwid, data, bytes);
    case TW_IO_STOP:
        d->set.ack = d->set.ctx == data ? NULL : d->set.ack;
        return true;
    }
    return false;
}

/* The bytes where the driver had them: in the graph's buffer, or in one of its own, which stays for a while. */
static const uint8_t *lend(driver_t *d, const tw_replay_record_t *rec)
{
    const uint32_t flags = tw_get_le32(rec->p + 20), n = rec->n - 24;
    if ((flags & TW_RECORD_ACK_IN_PLACE) != 0) {
        if (d->set.buffer == NULL || n > d->set.bytes) {
            return NULL;
        }
        memcpy(d->set.buffer, rec->p + 24, n);
        return d->set.buffer;
    }
    uint8_t **slot = &d->lent[d->next++ % LENT];
    const uint32_t off = (flags & TW_RECORD_ACK_ALIGNED) != 0 ? 0 : 1;
    free(*slot);
    *slot = malloc((size_t)n + off + 1);
    if (*slot == NULL) {
        return NULL;
    }
    memcpy(*slot + off, rec->p + 24, n);
    return *slot + off;
}

static bool acknowledge(tw_replay_t *r, uint32_t row, const tw_replay_record_t *rec)
{
    driver_t *d = &r->drivers[row];
    const uint32_t bytes = tw_get_le32(rec->p + 16);
    const bool in = r->ios[row].direction == 0 && bytes != 0;
    const uint8_t *data = in && bytes == rec->n - 24 && d->set.ack != NULL ? lend(d, rec) : NULL;
    if (d->set.ack == NULL || (in && data == NULL)) {
        return false;
    }
    r->acking = true;
    r->ack_us = tw_get_le64(rec->p + 8);
    const tw_err_t err = d->set.ack(d->set.ctx, d->set.io, data, bytes);
    r->acking = false;
    r->ack_us = 0;
    return err == TW_OK;
}

/* The drivers of a replay acknowledge when the graph looks, what it found there. */
static void board_look(void *ctx, uint32_t hwid, uint32_t look)
{
    tw_replay_t *r = ctx;
    for (;;) {
        tw_replay_cursor_t ahead = r->acks;
        tw_replay_record_t rec;
        if (!next_of(r, &ahead, TW_REC_ACK, &rec) || tw_get_le32(rec.p) != hwid || tw_get_le32(rec.p + 4) != look) {
            return;
        }
        r->acks = ahead;
        if (!acknowledge(r, io_row(r, hwid), &rec)) {
            (void)fail(r, TW_REPLAY_DIVERGED, rec.at, "the graph does not take an acknowledgement it took");
            return;
        }
    }
}

/* ---- set up ---------------------------------------------------------------------------------- */

static bool take_tables(tw_replay_t *r)
{
    const tw_replay_file_t *f = &r->file;
    r->ios = calloc(f->n_ios + 1, sizeof *r->ios);
    r->banks = calloc(f->n_banks + 1, sizeof *r->banks);
    r->frames = calloc(f->n_ios + 1, sizeof *r->frames);
    r->drivers = calloc(f->n_ios + 1, sizeof *r->drivers);
    if (r->ios == NULL || r->banks == NULL || r->frames == NULL || r->drivers == NULL) {
        return fail(r, TW_REPLAY_REFUSED, 0, "out of memory");
    }
    for (uint32_t i = 0; i < f->n_ios; i++) {
        const uint8_t *row = tw_replay_io(f, i);
        r->ios[i] = (tw_board_io_t){.hwid = tw_get_le16(row),
                                    .direction = row[2],
                                    .domain = row[3],
                                    .servant = row[4],
                                    .clock_domain = row[5],
                                    .acks = row[6] & 1};
        memcpy(r->ios[i].name, row + 8, sizeof r->ios[i].name - 1);
    }
    for (uint32_t i = 0; i < f->n_banks; i++) {
        r->banks[i] = tw_replay_bank(f, i);
    }
    return true;
}

static bool open_engine(tw_replay_t *r)
{
    const tw_replay_file_t *f = &r->file;
    r->port = (tw_port_t){.ctx = r, .now_us = now_us, .cycles = cycles, .cycles_per_us = 1};
    r->board = (tw_board_t){.ctx = r,
                            .platform_id = f->platform,
                            .services = f->services,
                            .ios = r->ios,
                            .n_ios = f->n_ios,
                            .bank_bytes = f->n_banks != 0 ? r->banks : NULL,
                            .n_banks = f->n_banks,
                            .read = board_read,
                            .write = board_write,
                            .accept = board_accept,
                            .io = board_io,
                            .look = board_look,
                            .low = board_low};
    if (f->graph_bytes < 256 || f->graph_bytes > TW_REPLAY_GRAPH_MAX) {
        return fail(r, TW_REPLAY_REFUSED, TW_RH_GRAPH_BYTES, "a graph memory no device has");
    }
    tw_engine_cfg_t cfg = {.port = &r->port,
                           .board = &r->board,
                           .queue_bytes = QUEUE,
                           .timed_bytes = 1 << 20,
                           .reply_bytes = REPLIES,
                           .graph_bytes = f->graph_bytes,
                           .recall = recall,
                           .recall_ctx = r};
    const size_t need = (tw_engine_need(&cfg) + 63) & ~(size_t)63;
    r->mem = aligned_alloc(64, need);
    if (r->mem == NULL || tw_engine_init(&r->engine, &cfg, r->mem, need) != TW_OK) {
        return fail(r, TW_REPLAY_REFUSED, 0, "not enough memory for the graphs of this recording");
    }
    r->main = r->times = r->inputs = r->outputs = r->acks = r->starts = r->answers = tw_replay_begin(f);
    return true;
}

static void close_replay(tw_replay_t *r)
{
    for (uint32_t i = 0; i < r->n_images; i++) {
        free(r->images[i].data);
    }
    for (uint32_t i = 0; r->drivers != NULL && i < r->file.n_ios; i++) {
        for (uint32_t k = 0; k < LENT; k++) {
            free(r->drivers[i].lent[k]);
        }
    }
    free(r->drivers);
    free(r->mem);
    free(r->ios);
    free(r->banks);
    free(r->frames);
}

/* ---- images ------------------------------------------------------------------------------------ */

static image_t *image_of(tw_replay_t *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->n_images; i++) {
        if (r->images[i].id == id) {
            return &r->images[i];
        }
    }
    return NULL;
}

/* Only the last ones are kept: a swap follows its image. */
static image_t *new_image(tw_replay_t *r, uint32_t id, uint32_t bytes)
{
    image_t *m = &r->images[r->n_images];
    if (r->n_images == IMAGES_MAX) {
        free(r->images[0].data);
        memmove(r->images, r->images + 1, sizeof r->images - sizeof r->images[0]);
        m = &r->images[IMAGES_MAX - 1];
    } else {
        r->n_images++;
    }
    *m = (image_t){.id = id, .bytes = bytes};
    return m;
}

/* Memory grows with what is there, not with what is promised. */
static bool take_image(tw_replay_t *r, const tw_replay_record_t *rec)
{
    const uint32_t id = tw_get_le32(rec->p), bytes = tw_get_le32(rec->p + 4), at = tw_get_le32(rec->p + 8);
    const uint32_t n = rec->n - 12;
    image_t *m = image_of(r, id);
    if (m == NULL && at == 0) {
        m = new_image(r, id, bytes);
    }
    if (m == NULL || m->bytes != bytes || m->got != at || n > bytes - at || bytes > IMAGE_MAX) {
        return fail(r, TW_REPLAY_REFUSED, rec->at, "pieces of a graph image do not fit together");
    }
    uint8_t *more = realloc(m->data, at + (size_t)n + 1);
    if (more == NULL) {
        return fail(r, TW_REPLAY_REFUSED, rec->at, "out of memory");
    }
    m->data = more;
    memcpy(m->data + at, rec->p + 12, n);
    m->got += n;
    return true;
}

/* ---- commands ------------------------------------------------------------------------------------ */

static void drain(tw_replay_t *r)
{
    tw_engine_reply_t x;
    while (tw_engine_reply(r->engine, &x)) {
        tw_engine_reply_done(r->engine);
    }
}

static bool tick(tw_replay_t *r)
{
    (void)tw_engine_publish(r->engine); /* all that applied at one boundary is one group */
    r->in_tick = true;
    const bool ran = tw_engine_tick(r->engine);
    r->in_tick = false;
    drain(r);
    return ran;
}

/* A boundary without a block: the device had one here, or what follows could not have been taken yet. */
static bool idle_tick(tw_replay_t *r, size_t at)
{
    r->limit = at;
    return !tick(r) || fail(r, TW_REPLAY_DIVERGED, at, "a block ran where the recording has none");
}

static bool refused(tw_replay_t *r, const tw_replay_record_t *rec, const char *what, tw_err_t err)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s refused: %s", what, tw_err_text(err));
    return fail(r, TW_REPLAY_REFUSED, rec->at, text);
}

static bool swap(tw_replay_t *r, const tw_replay_record_t *rec)
{
    tw_fault_t fault;
    const image_t *m = image_of(r, tw_get_le32(rec->p + 8));
    if (m == NULL || m->got != m->bytes || m->bytes == 0) {
        return fail(r, TW_REPLAY_REFUSED, rec->at, "the graph image of a swap is not in the recording");
    }
    tw_err_t err = tw_engine_prime(r->engine, m->data, m->bytes, false, &fault);
    if (err == TW_E_KEPT_ROOM && tw_engine_put_keep(r->engine, 0) == TW_OK) {
        err = TW_E_BUSY; /* the device had the room, maybe with shorter pointers; now that graph went there too */
    }
    if (err == TW_E_BUSY && idle_tick(r, rec->at)) {
        err = tw_engine_prime(r->engine, m->data, m->bytes, false, &fault);
    }
    if (err != TW_OK) {
        return refused(r, rec, "a graph", err);
    }
    const uint32_t flags = tw_get_le32(rec->p + 12);
    const tw_swap_t how = {.start = (flags & 1) != 0,
                           .confirm = (flags & 8) != 0,
                           .carry = (tw_carry_t)tw_min_u32(flags >> 1 & 3, TW_CARRY_PARAMS),
                           .fade_us = tw_get_le32(rec->p + 16)};
    err = tw_engine_put_swap_to(r->engine, 0, &how, &fault);
    return err == TW_OK || refused(r, rec, "a swap", err);
}

static tw_err_t put_param(tw_replay_t *r, uint32_t node, uint32_t index, const uint8_t *value, uint32_t n)
{
    tw_fault_t fault;
    TW_TRY(tw_engine_check_param(r->engine, node, index, 0, value, n, &fault));
    return tw_engine_put_param(r->engine, 0, node, index, value, n);
}

static tw_err_t put_script(tw_replay_t *r, const tw_replay_record_t *rec)
{
    const uint32_t script = tw_get_le32(rec->p + 8), code = tw_get_le32(rec->p + 12), pool = tw_get_le32(rec->p + 16);
    tw_fault_t fault;
    _Alignas(8) uint8_t copy[TW_SCRIPT_LIVE_BYTES];
    const uint64_t bytes = pool != 0 ? (((uint64_t)code + 3) & ~(uint64_t)3) + pool : code;
    if (bytes > rec->n - 20 || bytes > sizeof copy) {
        return TW_E_RANGE;
    }
    memcpy(copy, rec->p + 20, (size_t)bytes);
    TW_TRY(tw_engine_check_script(r->engine, script, copy, code, pool, &fault));
    return tw_engine_put_script(r->engine, 0, script, copy, code, pool);
}

static tw_err_t put_run(tw_replay_t *r, const tw_replay_record_t *rec)
{
    int64_t args[TW_SCRIPT_REGS];
    const uint32_t n = rec->n - 16;
    if (n > sizeof args || n % 8 != 0) {
        return TW_E_ARG;
    }
    memcpy(args, rec->p + 16, n);
    return tw_engine_put_run(r->engine, 0, tw_get_le32(rec->p + 8), args, n / 8, tw_get_le32(rec->p + 12));
}

static tw_err_t put_io(tw_replay_t *r, const tw_replay_record_t *rec)
{
    const uint32_t io = tw_get_le32(rec->p + 8);
    const uint32_t settings[3] = {tw_get_le32(rec->p + 16), tw_get_le32(rec->p + 20), tw_get_le32(rec->p + 24)};
    TW_TRY(tw_engine_check_io(r->engine, io, settings));
    return tw_engine_put_io(r->engine, 0, io, settings);
}

static tw_err_t put_control(tw_replay_t *r, uint32_t op, uint32_t steps)
{
    return op > TW_CTL_WARM ? TW_E_ARG : tw_engine_put_control(r->engine, 0, (tw_control_t)op, steps);
}

static tw_err_t put_command(tw_replay_t *r, const tw_replay_record_t *rec)
{
    const uint32_t a = rec->n >= 16 ? tw_get_le32(rec->p + 8) : 0, b = rec->n >= 16 ? tw_get_le32(rec->p + 12) : 0;
    switch ((tw_record_kind_t)rec->kind) {
    case TW_REC_UNLOAD:
        return tw_engine_put_unload(r->engine, 0);
    case TW_REC_CONTROL:
        return put_control(r, a, b);
    case TW_REC_PARAM:
        return put_param(r, a, b, rec->p + 16, rec->n - 16);
    case TW_REC_PRESET:
        return tw_engine_put_preset(r->engine, 0, a, b);
    case TW_REC_SCRIPT:
        return put_script(r, rec);
    case TW_REC_IO:
        return put_io(r, rec);
    case TW_REC_RUN:
        return put_run(r, rec);
    case TW_REC_SCRIPT_OFF:
        return tw_engine_put_script_off(r->engine, 0, a, b != 0);
    case TW_REC_ROLLBACK:
        return tw_engine_put_rollback(r->engine, 0, a);
    case TW_REC_KEEP:
        return tw_engine_put_keep(r->engine, 0);
    case TW_REC_ARM:
        return tw_engine_put_arm(r->engine, a);
    case TW_REC_ARMED:
        return tw_engine_put_armed(r->engine);
    case TW_REC_CONFIRM:
        return tw_engine_put_confirm(r->engine, 0, a);
    case TW_REC_REVERT:
        return tw_engine_put_revert(r->engine, 0, a);
    case TW_REC_ARC_WRITE:
        return tw_engine_put_arc_write(r->engine, 0, a, rec->p + 16, rec->n - 16, b != 0);
    default:
        return TW_E_INTERNAL;
    }
}

static bool command(tw_replay_t *r, const tw_replay_record_t *rec)
{
    if (r->res->commands++ == 0) {
        r->res->first_tick = tw_get_le64(rec->p);
        tw_engine_first_tick(r->engine, r->res->first_tick & (((uint64_t)1 << 40) - 1));
    }
    if (rec->kind == TW_REC_SWAP) {
        if (!swap(r, rec)) {
            return false;
        }
    } else {
        tw_err_t err = put_command(r, rec);
        if ((err == TW_E_QUEUE_FULL || err == TW_E_BUSY) && idle_tick(r, rec->at)) {
            err = put_command(r, rec);
        }
        if (err != TW_OK) {
            return refused(r, rec, "a command", err);
        }
    }
    return true;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* The block is played only when all of it is there. */
static tw_replay_step_t find_end(tw_replay_t *r, tw_replay_cursor_t ahead)
{
    tw_replay_record_t rec = {0};
    tw_replay_step_t step;
    do {
        step = tw_replay_next(&r->file, &ahead, &rec);
        r->limit = rec.at;
        if (step == TW_REPLAY_RECORD && rec.kind == TW_REC_BLOCK) {
            r->file.why = "a block begins inside another";
            r->file.where = rec.at;
            return TW_REPLAY_BAD;
        }
        if (step == TW_REPLAY_RECORD && rec.kind == TW_REC_OVERLOAD) {
            tw_engine_overload(r->engine);
        }
    } while (step == TW_REPLAY_RECORD && rec.kind != TW_REC_BLOCK_END);
    return step;
}

static bool all_used(tw_replay_t *r)
{
    tw_replay_record_t rec;
    return !next_of(r, &r->times, TW_REC_TIME, &rec) && !next_of(r, &r->inputs, TW_REC_INPUT, &rec) &&
           !next_of(r, &r->outputs, TW_REC_OUTPUT, &rec) && !next_of(r, &r->acks, TW_REC_ACK, &rec) &&
           !next_of(r, &r->starts, TW_REC_START, &rec) && !next_of(r, &r->answers, TW_REC_ANSWER, &rec);
}

static bool block(tw_replay_t *r, const tw_replay_record_t *rec)
{
    tw_engine_info_t info;
    tw_engine_info(r->engine, &info);
    if (info.tick != tw_get_le64(rec->p)) {
        return fail(r, TW_REPLAY_DIVERGED, rec->at, "the block's number is not the one that comes next");
    }
    r->tick = info.tick;
    if (!tick(r)) {
        return fail(r, TW_REPLAY_DIVERGED, rec->at, "no graph runs where the recording has a block");
    }
    if (!r->failed && !all_used(r)) {
        return fail(r, TW_REPLAY_DIVERGED, rec->at, "the block asked for less than it did, or wrote less");
    }
    r->res->blocks++;
    const tw_replay_user_t *u = r->user;
    if (u->progress != NULL && r->res->blocks % 64 == 0 && !u->progress(u->ctx, rec->at, r->file.n)) {
        return fail(r, TW_REPLAY_STOPPED, rec->at, "");
    }
    return !r->failed;
}

/* @return false: the replay is over */
static bool record(tw_replay_t *r, const tw_replay_record_t *rec)
{
    switch ((tw_record_kind_t)rec->kind) {
    case TW_REC_IMAGE:
        return take_image(r, rec);
    case TW_REC_BLOCK:
        switch (find_end(r, r->main)) {
        case TW_REPLAY_RECORD:
            return block(r, rec);
        case TW_REPLAY_BAD:
            return fail(r, TW_REPLAY_REFUSED, r->file.where, r->file.why);
        case TW_REPLAY_END:
        case TW_REPLAY_CUT:
            return fail(r, TW_REPLAY_TO_CUT, rec->at, "the recording was cut off here");
        }
        return false;
    case TW_REC_END:
        r->res->recorded_end = tw_get_le32(rec->p);
        return fail(r, TW_REPLAY_WHOLE, rec->at, "");
    case TW_REC_TIME:
    case TW_REC_INPUT:
    case TW_REC_OUTPUT:
    case TW_REC_ACK:
    case TW_REC_START:
    case TW_REC_ANSWER:
    case TW_REC_BLOCK_END:
    case TW_REC_OVERLOAD:
        return true; /* the other cursors' */
    default:
        return command(r, rec);
    }
}

static void play(tw_replay_t *r)
{
    tw_replay_record_t rec;
    for (;;) {
        switch (tw_replay_next(&r->file, &r->main, &rec)) {
        case TW_REPLAY_RECORD:
            if (!record(r, &rec)) {
                return;
            }
            break;
        case TW_REPLAY_END:
        case TW_REPLAY_CUT:
            (void)fail(r, TW_REPLAY_TO_CUT, r->file.n, "the recording was cut off here");
            return;
        case TW_REPLAY_BAD:
            (void)fail(r, TW_REPLAY_REFUSED, r->file.where, r->file.why);
            return;
        }
    }
}

void tw_replay_play(const uint8_t *bytes, size_t n, const tw_replay_user_t *user, tw_replay_result_t *out)
{
    static const tw_replay_user_t nobody;
    tw_replay_t r = {.user = user != NULL ? user : &nobody, .res = out};
    memset(out, 0, sizeof *out);
    out->recorded_end = UINT32_MAX;
    if (!tw_replay_open(&r.file, bytes, n)) {
        (void)fail(&r, TW_REPLAY_REFUSED, r.file.where, r.file.why);
    } else if (take_tables(&r) && open_engine(&r)) {
        play(&r);
    }
    close_replay(&r);
}
