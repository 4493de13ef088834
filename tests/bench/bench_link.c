/* bench_link.c - sockets, raw peers, and a Tunewire connection bare enough to measure with. */
#include "tests/bench/bench_link.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

_Noreturn void die(const char *what)
{
    fprintf(stderr, "bench_rpc: %s: %s\n", what, strerror(errno));
    exit(1);
}

void send_all(int fd, const void *data, size_t n)
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

void recv_all(int fd, void *data, size_t n)
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

int dial(const char *host, int port)
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

/* The reader sets the pace, and the end. */
static void pour(int fd, size_t block)
{
    static uint8_t out[FRAME_MAX];
    for (size_t at = 0;;) {
        const ssize_t k = send(fd, out + at, block - at, MSG_NOSIGNAL);
        if (k <= 0) {
            return;
        }
        at = (at + (size_t)k) % block;
    }
}

int raw_peer(size_t req, size_t rep, pid_t *child)
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
        if (req != 0) {
            echo(fd, req, rep);
        } else {
            pour(fd, rep);
        }
        _exit(0);
    }
    close(l);
    return dial("127.0.0.1", ntohs(a.sin_port));
}

/* ---- Tunewire ------------------------------------------------------------------ */

/* Next frame; its payload is valid until the next call. */
tw_frame_t next_frame(tw_t *t)
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

uint32_t frame_at(uint8_t *p, uint8_t type, uint16_t stream, uint8_t flags, uint32_t len)
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

void check_reply(const tw_frame_t *f, uint32_t *bytes)
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

uint16_t call(tw_t *t, uint32_t method, const pb_msgdesc_t *fields, const void *msg, uint16_t stream,
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
                (rep != NULL && tw_rpc_decode(r, rn, rep_fields, rep) != TW_OK)) {
                die("reply");
            }
            return (uint16_t)rh.stream;
        }
    }
}

void tw_open(tw_t *t, const char *host, int port)
{
    t->fd = dial(host, port);
    tw_deframer_init(&t->in, t->frame, sizeof t->frame);
    hello(t);
}
