/* A server and a client end, driven by a program: frames good and bad, cuts, calls of their own interface.
 * Whatever comes, buffers keep their caps, dead stays dead, and what they send is sound. */
#include "engine/base/port.h"
#include "protocol/conn.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IN = 512, OUT = 700, MSG = 600 };

typedef struct end {
    tw_conn_t c;
    uint8_t in[IN], out[OUT], msg[MSG], check_buf[IN];
    tw_deframer_t check; /* what a faultless peer would see of our bytes */
    bool was_dead;
} end_t;

static end_t ends[2];

typedef struct program {
    const uint8_t *p;
    size_t n;
} program_t;

static uint8_t op(program_t *in)
{
    if (in->n == 0) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

static void start(end_t *e, bool client)
{
    tw_conn_init(&e->c, client, e->in, IN, e->out, OUT, e->msg, MSG);
    tw_deframer_init(&e->check, e->check_buf, IN);
    e->check.max_frame = IN;
    e->was_dead = false;
}

static void check(const end_t *e)
{
    const tw_conn_t *c = &e->c;
    TW_ASSERT(c->in.used <= IN && c->msg_used <= MSG);
    TW_ASSERT(c->out.at <= c->out.used && c->out.used <= OUT);
    TW_ASSERT(!e->was_dead || c->state == TW_CONN_DEAD);
    TW_ASSERT(c->state != TW_CONN_OPEN || (c->max_frame >= 256 && c->max_frame <= IN));
    for (size_t i = 0; i < TW_CONN_STREAMS; i++) {
        TW_ASSERT(c->streams[i].credit <= 0x7FFFFFFFu);
        for (size_t k = 0; c->streams[i].id != 0 && k < i; k++) {
            TW_ASSERT(c->streams[k].id != c->streams[i].id);
        }
    }
}

static uint32_t digest;

static void on_event(end_t *e, const tw_conn_event_t *ev)
{
    TW_ASSERT(ev->len <= MSG || ev->len <= IN);
    for (uint32_t i = 0; i < ev->len; i++) {
        digest = digest * 31 + ev->data[i]; /* touches every byte */
    }
    switch (ev->kind) {
    case TW_CE_HELLO:
        TW_ASSERT(e->c.state == TW_CONN_WAIT_HELLO);
        tw_conn_agree(&e->c, ev->len > 1 ? ev->data[0] * 4u : 1024, ev->len > 1 ? ev->data[1] * 16u : 300);
        break;
    case TW_CE_CALL:
        TW_ASSERT(!e->c.client && ev->stream == 0);
        (void)tw_conn_send(&e->c, TW_FT_REPLY, 0, TW_FF_FIN, ev->data, ev->len);
        break;
    case TW_CE_REPLY:
        TW_ASSERT(e->c.client && ev->stream == 0);
        break;
    case TW_CE_DATA:
        (void)tw_conn_grant(&e->c, ev->stream, ev->len);
        break;
    case TW_CE_GOAWAY:
    case TW_CE_FATAL:
        TW_ASSERT(e->c.state == TW_CONN_DEAD && e->c.fatal != TW_OK);
        break;
    case TW_CE_NONE:
    case TW_CE_CREDIT:
    case TW_CE_CANCEL:
    case TW_CE_BAD_CRC:
        break;
    }
}

static void feed(end_t *e, const uint8_t *bytes, size_t n, size_t cut)
{
    for (size_t at = 0; at < n;) {
        const size_t part = n - at < cut ? n - at : cut;
        uint8_t *read = malloc(part);
        memcpy(read, bytes + at, part);
        for (size_t done = 0;;) {
            tw_conn_event_t ev;
            size_t used;
            tw_conn_feed(&e->c, read + done, part - done, &used, &ev);
            done += used;
            TW_ASSERT(done <= part);
            on_event(e, &ev);
            check(e);
            if (ev.kind == TW_CE_NONE) {
                TW_ASSERT(done == part);
                break;
            }
        }
        free(read);
        at += part;
    }
    e->was_dead = e->c.state == TW_CONN_DEAD;
}

/* Our bytes must be frames to the last one, nothing skipped. */
static void drain(end_t *e, end_t *peer, size_t n, size_t cut)
{
    n = n < tw_out_pending(&e->c.out) ? n : tw_out_pending(&e->c.out);
    uint8_t bytes[OUT];
    memcpy(bytes, e->c.out.buf + e->c.out.at, n);
    tw_out_drained(&e->c.out, (uint32_t)n);
    for (size_t at = 0; at < n;) {
        tw_frame_t f;
        tw_err_t err;
        size_t used;
        const tw_deframe_result_t r = tw_deframe(&e->check, bytes + at, n - at, &used, &f, &err);
        TW_ASSERT((r == TW_DEFRAME_FRAME || r == TW_DEFRAME_MORE) && e->check.skipped_bytes == 0);
        at += used;
    }
    feed(peer, bytes, n, cut);
}

/* A frame with good checksums, or nearly. */
static void hand_made(end_t *e, program_t *in)
{
    uint8_t f[TW_FRAME_HEADER + 4 * 255];
    const uint8_t type = op(in), flags = op(in), stream = op(in), len4 = op(in), damage = op(in);
    const uint32_t len = tw_min_u32(len4 * 4u, (uint32_t)in->n);
    memcpy(f + TW_FRAME_HEADER, in->p, len);
    in->p += len;
    in->n -= len;
    tw_frame_header(f, type % 9, flags & (flags & 0x80 ? 0xFF : TW_FF_ALL), stream % 12, f + TW_FRAME_HEADER, len);
    if (damage & 1) {
        f[damage % (TW_FRAME_HEADER + len)] ^= (uint8_t)(damage >> 1 | 1);
    }
    feed(e, f, TW_FRAME_HEADER + len, 1 + damage);
}

static void send_data(tw_conn_t *c, uint16_t id, uint32_t len, uint8_t flags)
{
    uint8_t bytes[OUT] = {0};
    len = tw_min_u32(len, tw_conn_credit(c, id));
    if (len != 0 && tw_conn_send(c, TW_FT_DATA, id, flags & TW_FF_FIN, bytes, len)) {
        tw_conn_spend(c, id, len);
        if (flags & TW_FF_FIN) {
            tw_conn_close(c, id);
        }
    }
}

static void step(program_t *in)
{
    const uint8_t what = op(in), a = op(in), b = op(in);
    end_t *e = &ends[what & 1], *peer = &ends[~what & 1];
    switch (what >> 1 & 15) {
    case 0:
        hand_made(e, in);
        break;
    case 1: {
        const size_t n = in->n < a ? in->n : a;
        feed(e, in->p, n, 1 + b % 64);
        in->p += n;
        in->n -= n;
        break;
    }
    case 2:
        (void)tw_conn_send(&e->c, TW_FT_HELLO, 0, TW_FF_FIN, &a, 1);
        break;
    case 3:
        drain(e, peer, a * 4u, 1 + b);
        break;
    case 4:
        drain(e, peer, OUT, OUT);
        break;
    case 5:
        (void)tw_conn_open(&e->c, a % 12, b & 1);
        break;
    case 6:
        tw_conn_close(&e->c, a % 12);
        break;
    case 7:
        (void)tw_conn_grant(&e->c, a % 12, b & 1 ? UINT32_MAX : b * 8u);
        break;
    case 8:
        send_data(&e->c, a % 12, b * 2u, what >> 6);
        break;
    case 9: {
        const uint32_t want = tw_min_u32(a * 4u, tw_conn_room(&e->c));
        uint8_t *p = tw_conn_begin(&e->c, e->c.client ? TW_FT_CALL : TW_FT_REPLY, 0, want);
        if (p != NULL) {
            const uint32_t len = b & 1 ? want : want / 2;
            memset(p, b, len);
            tw_conn_end(&e->c, len, TW_FF_FIN);
        }
        break;
    }
    case 10:
        tw_conn_goaway(&e->c, (tw_err_t) - (int)a);
        e->was_dead = true;
        break;
    default: /* both open, without hello */
        if (e->c.state == TW_CONN_WAIT_HELLO && peer->c.state == TW_CONN_WAIT_HELLO) {
            tw_conn_agree(&e->c, 256 + a, b * 8u);
            tw_conn_agree(&peer->c, 256 + a, b * 8u);
        }
        break;
    }
    check(e);
    check(peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    program_t in = {data, size < 4096 ? size : 4096};
    start(&ends[0], false);
    start(&ends[1], true);
    while (in.n > 0) {
        step(&in);
    }
    return 0;
}
