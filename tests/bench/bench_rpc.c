/* bench_rpc - Tunewire over loopback TCP against raw sockets carrying the same bytes.
 *
 * bench_rpc HOST PORT NAME: prints one line "NAME value unit ratio spread" for
 *   rpc_setparam     Param.Set round trips, one in flight, against a ping-pong of equal sizes
 *   rpc_pipelined64  64 Param.Set in one write, against the same bytes coalesced
 *   blob_upload      4 MB with CRC and credit, against a raw 4 MB stream with one answer
 * The peer is a blocking echo process on the same core as everything else. Both sides alternate
 * in slices of at most 50 ms; a ratio is taken per pair of neighbouring slices and the median of
 * all pairs is reported, with the quartiles as spread, so drifts of the machine cancel.
 */
#include "engine/base/crc.h"
#include "protocol/rpc.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 41, SLICE_US = 40000, DEPTH = 64, BLOB = 4 << 20, FRAME_MAX = 65536 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench_rpc: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void send_all(int fd, const void *data, size_t n)
{
    for (const uint8_t *p = data; n > 0;) {
        const ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0) {
            die("send");
        }
        p += k;
        n -= (size_t)k;
    }
}

static void recv_all(int fd, void *data, size_t n)
{
    for (uint8_t *p = data; n > 0;) {
        const ssize_t k = recv(fd, p, n, 0);
        if (k <= 0) {
            die("recv");
        }
        p += k;
        n -= (size_t)k;
    }
}

static int dial(const char *host, int port)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int one = 1;
    inet_pton(AF_INET, host, &a.sin_addr);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        die("connect");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* ---- the raw peer: answers `rep` bytes for every `req` bytes ------------------- */

static void echo(int fd, size_t req, size_t rep)
{
    static uint8_t in[1 << 18], out[1 << 18];
    size_t have = 0;
    for (;;) {
        const ssize_t k = recv(fd, in, sizeof in, 0);
        if (k <= 0) {
            return;
        }
        have += (size_t)k;
        const size_t n = have / req;
        have -= n * req;
        for (size_t left = n * rep; left > 0;) {
            const size_t m = left < sizeof out ? left : sizeof out;
            send_all(fd, out, m);
            left -= m;
        }
    }
}

static int raw_peer(size_t req, size_t rep, pid_t *child)
{
    const int l = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    if (bind(l, (struct sockaddr *)&a, sizeof a) != 0 || listen(l, 1) != 0) {
        die("listen");
    }
    getsockname(l, (struct sockaddr *)&a, &n);
    *child = fork();
    if (*child == 0) {
        const int one = 1, fd = accept(l, NULL, NULL);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        echo(fd, req, rep);
        _exit(0);
    }
    close(l);
    return dial("127.0.0.1", ntohs(a.sin_port));
}

/* ---- Tunewire ------------------------------------------------------------------ */

typedef struct tw {
    int fd;
    tw_deframer_t in;
    uint8_t frame[FRAME_MAX], rx[1 << 18];
    size_t at, have;
    uint32_t call_id;
    uint32_t max_frame, window;
} tw_t;

/* Next frame; its payload is valid until the next call. */
static tw_frame_t next_frame(tw_t *t)
{
    for (;;) {
        tw_frame_t f;
        tw_err_t err = TW_OK;
        size_t used = 0;
        const tw_deframe_result_t r = tw_deframe(&t->in, t->rx + t->at, t->have - t->at, &used, &f, &err);
        t->at += used;
        if (r == TW_DEFRAME_FRAME) {
            return f;
        }
        if (r != TW_DEFRAME_MORE) {
            die("bad frame");
        }
        const ssize_t k = recv(t->fd, t->rx, sizeof t->rx, 0);
        if (k <= 0) {
            die("recv");
        }
        t->at = 0;
        t->have = (size_t)k;
    }
}

static uint32_t frame_at(uint8_t *p, uint8_t type, uint16_t stream, uint8_t flags, uint32_t len)
{
    tw_frame_header(p, type, flags, stream, p + TW_FRAME_HEADER, len);
    return TW_FRAME_HEADER + len;
}

static void hello(tw_t *t)
{
    uint8_t b[256];
    tw_err_t err;
    tunewire_v1_HelloReq q = tunewire_v1_HelloReq_init_zero;
    tunewire_v1_HelloRep h = tunewire_v1_HelloRep_init_zero;
    q.major = 1;
    q.max_frame = FRAME_MAX;
    q.window = 1 << 20;
    q.max_calls = DEPTH;
    const uint32_t n =
        tw_rpc_encode(b + TW_FRAME_HEADER, sizeof b - TW_FRAME_HEADER, tunewire_v1_HelloReq_fields, &q, &err);
    send_all(t->fd, b, frame_at(b, TW_FT_HELLO, 0, TW_FF_FIN, n));
    const tw_frame_t f = next_frame(t);
    if (f.type != TW_FT_HELLO || tw_rpc_decode(f.payload, f.len, tunewire_v1_HelloRep_fields, &h) != TW_OK) {
        die("hello");
    }
    t->max_frame = h.max_frame;
    t->window = h.window;
    t->in.max_frame = h.max_frame;
}

static uint32_t put_set(tw_t *t, uint8_t *p)
{
    uint8_t value[4];
    tw_put_f32(value, t->call_id & 1 ? -6.0f : -6.5f);
    const tw_hot_set_t s = {.call_id = ++t->call_id, .node = 1, .index = 6, .type = 27, .value = value, .value_len = 4};
    return frame_at(p, TW_FT_CALL, 0, TW_FF_FIN, tw_hot_put_set(p + TW_FRAME_HEADER, 256, &s));
}

static void check_reply(const tw_frame_t *f, uint32_t *bytes)
{
    tunewire_v1_ReplyHeader h;
    const uint8_t *r;
    uint32_t n;
    if (f->type != TW_FT_REPLY || tw_rpc_split_reply(f->payload, f->len, &h, &r, &n) != TW_OK || h.status.code != 0) {
        fprintf(stderr, "bench_rpc: the device refused: %s\n", f->type == TW_FT_REPLY ? h.status.text : "no reply");
        exit(1);
    }
    *bytes = TW_FRAME_HEADER + f->len;
}

static double slice_set(tw_t *t, unsigned depth, uint32_t *req, uint32_t *rep)
{
    static uint8_t out[DEPTH * 128];
    unsigned done = 0;
    const double start = now_s();
    do {
        uint32_t n = 0;
        for (unsigned i = 0; i < depth; i++) {
            *req = put_set(t, out + n);
            n += *req;
        }
        send_all(t->fd, out, n);
        for (unsigned i = 0; i < depth; i++) {
            const tw_frame_t f = next_frame(t);
            check_reply(&f, rep);
        }
        done += depth;
    } while (now_s() - start < SLICE_US * 1e-6);
    return done / (now_s() - start);
}

static double slice_raw(int fd, unsigned depth, uint32_t req, uint32_t rep)
{
    static uint8_t buf[DEPTH * 256];
    unsigned done = 0;
    const double start = now_s();
    do {
        send_all(fd, buf, depth * req);
        recv_all(fd, buf, depth * rep);
        done += depth;
    } while (now_s() - start < SLICE_US * 1e-6);
    return done / (now_s() - start);
}

/* ---- upload --------------------------------------------------------------------- */

static void call(tw_t *t, uint32_t method, const pb_msgdesc_t *fields, const void *msg, uint16_t stream,
                 const pb_msgdesc_t *rep_fields, void *rep, uint32_t *credit)
{
    static uint8_t b[2048];
    tunewire_v1_CallHeader h = tunewire_v1_CallHeader_init_zero;
    h.call_id = ++t->call_id;
    h.method = method;
    h.stream = stream;
    const uint32_t n = tw_rpc_put_call(b + TW_FRAME_HEADER, sizeof b - TW_FRAME_HEADER, &h, fields, msg);
    send_all(t->fd, b, frame_at(b, TW_FT_CALL, 0, TW_FF_FIN, n));
    for (;;) {
        const tw_frame_t f = next_frame(t);
        if (f.type == TW_FT_CREDIT && f.len == 4) {
            *credit += tw_get_le32(f.payload);
        } else if (f.type == TW_FT_REPLY) {
            tunewire_v1_ReplyHeader rh;
            const uint8_t *r;
            uint32_t rn;
            uint32_t ignored;
            check_reply(&f, &ignored);
            if (tw_rpc_split_reply(f.payload, f.len, &rh, &r, &rn) != TW_OK ||
                tw_rpc_decode(r, rn, rep_fields, rep) != TW_OK) {
                die("reply");
            }
            return;
        }
    }
}

static double upload(tw_t *t, const uint8_t *data)
{
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

static double raw_upload(int fd, const uint8_t *data)
{
    uint8_t ack;
    const double start = now_s();
    for (uint32_t at = 0; at < BLOB; at += 1 << 16) {
        send_all(fd, data + at, 1 << 16);
    }
    recv_all(fd, &ack, 1);
    return BLOB / (now_s() - start);
}

/* ---- report ------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double *ratio, double *value, const char *unit)
{
    qsort(ratio, PAIRS, sizeof *ratio, ascending);
    qsort(value, PAIRS, sizeof *value, ascending);
    printf("%s %.6g %s %.4f %.4f %.4f\n", name, value[PAIRS / 2], unit, ratio[PAIRS / 2], ratio[PAIRS / 4],
           ratio[PAIRS * 3 / 4]);
}

int main(int argc, char **argv)
{
    static tw_t t;
    static double ratio[PAIRS], value[PAIRS];
    if (argc != 4) {
        fprintf(stderr, "usage: bench_rpc HOST PORT rpc_setparam|rpc_pipelined64|blob_upload\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    t.fd = dial(argv[1], atoi(argv[2]));
    tw_deframer_init(&t.in, t.frame, sizeof t.frame);
    hello(&t);
    const char *name = argv[3];
    const unsigned depth = strcmp(name, "rpc_pipelined64") == 0 ? DEPTH : 1;
    pid_t child;
    uint32_t req = 0, rep = 0, now_req, now_rep;
    int raw;
    uint8_t *data = NULL;
    if (strcmp(name, "blob_upload") == 0) {
        data = malloc(BLOB);
        for (uint32_t i = 0; i < BLOB; i++) {
            data[i] = (uint8_t)(i * 2654435761u >> 24);
        }
        raw = raw_peer(BLOB, 1, &child);
    } else {
        while (t.call_id < 20000) { /* from here on call ids have their final width: warm, and the sizes are known */
            slice_set(&t, depth, &req, &rep);
        }
        raw = raw_peer(req, rep, &child);
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        const double r = data ? raw_upload(raw, data) : slice_raw(raw, depth, req, rep);
        value[i] = data ? upload(&t, data) : slice_set(&t, depth, &now_req, &now_rep);
        ratio[i] = value[i] / r;
    }
    report(name, ratio, value, data ? "B/s" : depth > 1 ? "call/s" : "rt/s");
    close(raw);
    close(t.fd);
    free(data);
    waitpid(child, NULL, 0);
    return 0;
}
