/* bench_rpc - Tunewire over loopback TCP against raw sockets carrying the same bytes.
 *
 * bench_rpc HOST PORT NAME [PID]: prints "NAME value unit ratio quartile quartile pairs req rep kept" for
 *   rpc_setparam     Param.Set round trips, one in flight, against a ping-pong of equal sizes
 *   rpc_pipelined64  64 Param.Set in one write, against the same bytes coalesced
 *   txn_1000         Begin, 1,000 blocks of 5 floats, Commit: against the same bytes in the same turns
 *   blob_upload      4 MB with CRC and credit, against a raw 4 MB stream with one answer
 *   arc_stream       8 subscriptions of an engine at full pace, against a raw stream of blocks as long
 *
 * The raw peer is a blocking process; everything shares one core. Both sides alternate in slices of about 40 ms,
 * every other pair the other way round; a ratio is taken per pair, and the median of all pairs is reported with
 * the quartiles. One pair before the first warms up. While the raw side of arc_stream is measured the device (PID)
 * is stopped, for its engine would take the core. When calls or replies change their length, so does the raw side.
 */
#include "engine/base/crc.h"
#include "tests/bench/bench_link.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOB = 4 << 20, TXN_SETS = 1000, TXN_TURN = 50, FIVE_FLOATS = 20, FIRST_ID = 1 << 21 /* ids of one width */ };

typedef struct run {
    const char *name, *unit;
    tw_t t;
    int raw;
    pid_t child, device;
    uint32_t req, rep;         /* bytes of one call and of its reply, as the raw side carries them */
    uint32_t now_req, now_rep; /* as the last slice had them */
    uint8_t *data;
} run_t;

/* ---- calls ------------------------------------------------------------------- */

static uint32_t put_set(tw_t *t, uint8_t *p)
{
    uint8_t value[4];
    tw_put_f32(value, t->call_id & 1 ? -6.0f : -6.5f);
    const tw_hot_set_t s = {.call_id = ++t->call_id, .node = 1, .index = 6, .type = 27, .value = value, .value_len = 4};
    return frame_at(p, TW_FT_CALL, 0, TW_FF_FIN, tw_hot_put_set(p + TW_FRAME_HEADER, 256, &s));
}

static double slice_set(run_t *r, unsigned depth)
{
    static uint8_t out[DEPTH * 128];
    tw_t *t = &r->t;
    unsigned done = 0;
    const double start = now_s();
    do {
        uint32_t n = 0;
        for (unsigned i = 0; i < depth; i++) {
            r->now_req = put_set(t, out + n);
            n += r->now_req;
        }
        send_all(t->fd, out, n);
        for (unsigned i = 0; i < depth; i++) {
            const tw_frame_t f = next_frame(t);
            check_reply(&f, &r->now_rep);
        }
        done += depth;
    } while (now_s() - start < SLICE_US * 1e-6);
    return done / (now_s() - start);
}

/* One turn of the raw side: as many requests at once, as many answers. */
static void raw_turn(const run_t *r, unsigned depth)
{
    static uint8_t buf[DEPTH * 256];
    send_all(r->raw, buf, depth * r->req);
    recv_all(r->raw, buf, depth * r->rep);
}

static double raw_set(run_t *r, unsigned depth)
{
    unsigned done = 0;
    const double start = now_s();
    do {
        raw_turn(r, depth);
        done += depth;
    } while (now_s() - start < SLICE_US * 1e-6);
    return done / (now_s() - start);
}

static double set_one(run_t *r)
{
    return slice_set(r, 1);
}

static double raw_one(run_t *r)
{
    return raw_set(r, 1);
}

static double set_many(run_t *r)
{
    return slice_set(r, DEPTH);
}

static double raw_many(run_t *r)
{
    return raw_set(r, DEPTH);
}

/* ---- transaction --------------------------------------------------------------- */

/* Blocks of 5 floats: both stages of 500 filters; b0 tells one transaction from the next. */
static uint32_t put_biquad(tw_t *t, uint8_t *p, uint32_t txn, uint32_t i)
{
    uint8_t value[FIVE_FLOATS] = {0};
    tw_put_f32(value, t->call_id & 1 ? 1.0f : 0.5f);
    const tw_hot_set_t s = {.call_id = ++t->call_id,
                            .txn = txn,
                            .node = i / 2,
                            .index = 3 + i % 2,
                            .type = 27,
                            .value = value,
                            .value_len = sizeof value};
    return frame_at(p, TW_FT_CALL, 0, TW_FF_FIN, tw_hot_put_set(p + TW_FRAME_HEADER, 256, &s));
}

static void stage(run_t *r, uint32_t txn)
{
    static uint8_t out[TXN_TURN * 128];
    uint32_t sent = 0, got = 0;
    for (uint32_t i = 0; i < TXN_SETS; i += TXN_TURN) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < TXN_TURN; k++) {
            n += put_biquad(&r->t, out + n, txn, i + k);
        }
        send_all(r->t.fd, out, n);
        sent += n;
        for (uint32_t k = 0; k < TXN_TURN; k++) {
            uint32_t bytes;
            const tw_frame_t f = next_frame(&r->t);
            check_reply(&f, &bytes);
            got += bytes;
        }
    }
    r->now_req = sent / TXN_SETS; /* node numbers differ in width */
    r->now_rep = got / TXN_SETS;
}

static double txn(run_t *r)
{
    unsigned done = 0;
    uint32_t ignored = 0;
    double spent = 0;
    do {
        tunewire_v1_TxnBegin q = tunewire_v1_TxnBegin_init_zero;
        tunewire_v1_TxnRep rep = tunewire_v1_TxnRep_init_zero;
        const double start = now_s();
        q.lease_ms = 5000;
        call(&r->t, TW_M_Txn_Begin, tunewire_v1_TxnBegin_fields, &q, 0, tunewire_v1_TxnRep_fields, &rep, &ignored);
        stage(r, rep.txn);
        const tunewire_v1_TxnRef ref = {.txn = rep.txn};
        call(&r->t, TW_M_Txn_Commit, tunewire_v1_TxnRef_fields, &ref, 0, tunewire_v1_TxnRep_fields, &rep, &ignored);
        spent += now_s() - start;
        if (rep.ops != TXN_SETS) {
            die("commit");
        }
        usleep(2000); /* the engine takes them over at its next block; not measured on either side */
        done++;
    } while (spent < SLICE_US * 1e-6);
    return done / spent;
}

/* Begin and Commit are taken as one turn each of a set's size: less than they have. */
static double raw_txn(run_t *r)
{
    unsigned done = 0;
    double spent = 0;
    do {
        const double start = now_s();
        raw_turn(r, 1);
        for (uint32_t i = 0; i < TXN_SETS; i += TXN_TURN) {
            raw_turn(r, TXN_TURN);
        }
        raw_turn(r, 1);
        spent += now_s() - start;
        usleep(2000);
        done++;
    } while (spent < SLICE_US * 1e-6);
    return done / spent;
}

/* ---- upload --------------------------------------------------------------------- */

static double upload(run_t *run)
{
    tw_t *t = &run->t;
    const uint8_t *data = run->data;
    static uint8_t b[FRAME_MAX];
    static uint16_t next = 1;
    tunewire_v1_BlobOpen q = tunewire_v1_BlobOpen_init_zero;
    tunewire_v1_BlobState s = tunewire_v1_BlobState_init_zero;
    tunewire_v1_BlobRef r = tunewire_v1_BlobRef_init_zero;
    tunewire_v1_Empty none = tunewire_v1_Empty_init_zero;
    const double start = now_s();
    const uint16_t stream = next;
    next = (uint16_t)(next + 2);
    uint32_t credit = t->window;
    q.kind = 8;
    q.size = BLOB;
    q.crc32c = tw_crc32c(0, data, BLOB);
    call(t, TW_M_Blob_Open, tunewire_v1_BlobOpen_fields, &q, stream, tunewire_v1_BlobState_fields, &s, &credit);
    const uint16_t to = s.stream ? (uint16_t)s.stream : stream;
    const uint32_t room = t->max_frame - TW_FRAME_HEADER - 8;
    for (uint32_t at = 0; at < BLOB;) {
        const uint32_t n = tw_min_u32(room, BLOB - at);
        while (credit < n + 8) {
            const tw_frame_t f = next_frame(t);
            if (f.type == TW_FT_CREDIT && f.stream == to && f.len == 4) {
                credit += tw_get_le32(f.payload);
            } else if (f.type != TW_FT_CREDIT) {
                die("upload refused");
            }
        }
        tw_put_le64(b + TW_FRAME_HEADER, at);
        memcpy(b + TW_FRAME_HEADER + 8, data + at, n);
        credit -= n + 8;
        at += n;
        send_all(t->fd, b, frame_at(b, TW_FT_DATA, to, at == BLOB ? TW_FF_FIN : 0, n + 8));
    }
    r.blob = s.blob;
    call(t, TW_M_Blob_Commit, tunewire_v1_BlobRef_fields, &r, 0, tunewire_v1_BlobState_fields, &s, &credit);
    const double took = now_s() - start;
    call(t, TW_M_Blob_Abort, tunewire_v1_BlobRef_fields, &r, 0, tunewire_v1_Empty_fields, &none, &credit);
    return BLOB / took;
}

static double raw_upload(run_t *r)
{
    uint8_t ack;
    const double start = now_s();
    for (uint32_t at = 0; at < BLOB; at += 1 << 16) {
        send_all(r->raw, r->data + at, 1 << 16);
    }
    recv_all(r->raw, &ack, 1);
    return BLOB / (now_s() - start);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- arcs ---------------------------------------------------------------------- */

static double stream(run_t *r)
{
    return arcs_slice(&r->t);
}

static double raw_stream(run_t *r)
{
    kill(r->device, SIGSTOP);
    const double rate = arcs_raw_slice(r->raw);
    kill(r->device, SIGCONT);
    return rate;
}

/* ---- figures ------------------------------------------------------------------- */

typedef double slice_fn(run_t *r);

static const struct figure {
    const char *name, *unit;
    slice_fn *ours, *raw;
    unsigned pairs;
} figures[] = {
    {"rpc_setparam", "rt/s", set_one, raw_one, 41}, {"rpc_pipelined64", "call/s", set_many, raw_many, 41},
    {"txn_1000", "txn/s", txn, raw_txn, 41},        {"blob_upload", "B/s", upload, raw_upload, 41},
    {"arc_stream", "B/s", stream, raw_stream, 41},
};

static void drop_peer(run_t *r)
{
    close(r->raw);
    kill(r->child, SIGTERM);
    waitpid(r->child, NULL, 0);
}

/* Versions, ticks and times in replies grow by a byte now and then; the raw side then carries as much. */
static void follow_sizes(run_t *r)
{
    if (r->req == r->now_req && r->rep == r->now_rep) {
        return;
    }
    if (r->child != 0) {
        drop_peer(r);
    }
    r->req = r->now_req;
    r->rep = r->now_rep;
    r->raw = raw_peer(r->req, r->rep, &r->child);
}

static void prepare(run_t *r, const struct figure *f)
{
    if (f->ours == upload) {
        r->data = malloc(BLOB);
        for (uint32_t i = 0; i < BLOB; i++) {
            r->data[i] = (uint8_t)(i * 2654435761u >> 24);
        }
        r->raw = raw_peer(BLOB, 1, &r->child);
        return;
    }
    if (f->ours == stream) {
        arcs_start(&r->t);
        for (unsigned i = 0; i < 10; i++) {
            (void)arcs_slice(&r->t);
        }
        r->raw = raw_peer(0, arcs_block_bytes(), &r->child);
        return;
    }
    r->t.call_id = FIRST_ID;
    (void)f->ours(r);
    follow_sizes(r);
}

static double pair(run_t *r, const struct figure *f, bool raw_first, double *value)
{
    double raw = raw_first ? f->raw(r) : 0;
    *value = f->ours(r);
    raw = raw_first ? raw : f->raw(r);
    return *value / raw;
}

static void measure(run_t *r, const struct figure *f)
{
    static double ratio[PAIRS_MAX], value[PAIRS_MAX];
    prepare(r, f);
    (void)pair(r, f, true, &value[0]);
    for (unsigned i = 0; i < f->pairs; i++) {
        ratio[i] = pair(r, f, i % 2 == 0, &value[i]);
        follow_sizes(r);
    }
    qsort(ratio, f->pairs, sizeof *ratio, ascending);
    qsort(value, f->pairs, sizeof *value, ascending);
    printf("%s %.6g %s %.4f %.4f %.4f %u %u %u %.4f\n", f->name, value[f->pairs / 2], f->unit, ratio[f->pairs / 2],
           ratio[f->pairs / 4], ratio[f->pairs * 3 / 4], f->pairs, r->req, r->rep,
           f->ours == stream ? arcs_kept() : 1.0);
}

int main(int argc, char **argv)
{
    static run_t r;
    const struct figure *f = NULL;
    for (size_t i = 0; argc >= 4 && i < sizeof figures / sizeof *figures; i++) {
        f = strcmp(figures[i].name, argv[3]) == 0 ? &figures[i] : f;
    }
    if (f == NULL) {
        fprintf(stderr, "usage: bench_rpc HOST PORT FIGURE [PID of the device]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    r.device = argc > 4 ? (pid_t)atoi(argv[4]) : 0;
    if (f->ours == stream && r.device <= 0) {
        fprintf(stderr, "bench_rpc: arc_stream needs the PID of the device\n");
        return 2;
    }
    tw_open(&r.t, argv[1], atoi(argv[2]));
    measure(&r, f);
    drop_peer(&r);
    close(r.t.fd);
    free(r.data);
    return 0;
}
