/* bench_arcs.c - what 8 subscriptions deliver while the engine runs as fast as it can.
 *
 * Loss is allowed, silence about it is not: every frame must be the sample position expected, or later by no
 * more than `dropped` says. The input is noise computed from the sample's number, so positions can be told.
 */
#include "engine/board/board_linux_samples.h"
#include "tests/bench/bench_link.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { ARCS = 8, FRAME = 96, SAMPLES = FRAME / 2, SEARCH = 1 << 22 };

typedef struct arc {
    uint16_t stream;
    uint32_t owed, gaps, dropped;
    uint64_t seq, at, first; /* next block; next and first frame of the arc */
    bool known;
} arc_t;

static arc_t arcs[ARCS];
static size_t block_bytes;

int32_t tw_board_linux_ramp(uint64_t sample, uint32_t channel);

static bool is_at(const uint8_t *frame, uint64_t at)
{
    /* two samples of 16 bits: a false match is one in 2^32 */
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t want[2];
        tw_sample_put(TW_RAW_S16, want, tw_board_linux_ramp(at * SAMPLES + i, 0));
        if (memcmp(want, frame + 2 * i, 2) != 0) {
            return false;
        }
    }
    return true;
}

static void check_frame(arc_t *a, const uint8_t *frame)
{
    const uint32_t most = a->known ? a->dropped - a->gaps : SEARCH;
    for (uint32_t gap = 0; gap <= most; gap++) {
        if (is_at(frame, a->at + gap)) {
            a->at += gap + 1;
            a->gaps += a->known ? gap : 0;
            a->first = a->known ? a->first : a->at - 1;
            a->known = true;
            return;
        }
    }
    fprintf(stderr, "bench_arcs: stream %u lost frames in silence after frame %llu (%u gaps, %u dropped)\n", a->stream,
            (unsigned long long)a->at, a->gaps, a->dropped);
    exit(1);
}

static uint64_t varint(const uint8_t *p, uint32_t n, uint32_t *at)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *at < n && shift < 64; shift += 7) {
        const uint8_t b = p[(*at)++];
        v |= (uint64_t)(b & 127u) << shift;
        if (b < 128) {
            return v;
        }
    }
    die("ArcBlock");
}

/* @return bytes of samples in the block */
static uint32_t take_block(arc_t *a, const uint8_t *p, uint32_t n)
{
    uint64_t seq = 0, dropped = 0;
    const uint8_t *data = p;
    uint32_t len = 0;
    for (uint32_t at = 0; at < n;) {
        const uint64_t key = varint(p, n, &at), v = varint(p, n, &at);
        if ((key & 7) == 2) {
            data = p + at;
            len = (uint32_t)v;
            at += len;
        } else if (key >> 3 == tunewire_v1_ArcBlock_seq_tag) {
            seq = v;
        } else if (key >> 3 == tunewire_v1_ArcBlock_dropped_tag) {
            dropped = v;
        }
    }
    if (len == 0 || len % FRAME != 0 || (a->known && (seq < a->seq || dropped < a->dropped))) {
        die("ArcBlock out of order");
    }
    a->seq = seq + 1;
    a->dropped = (uint32_t)dropped;
    for (uint32_t at = 0; at < len; at += FRAME) {
        check_frame(a, data + at);
    }
    return len;
}

void arcs_start(tw_t *t)
{
    uint32_t ignored = 0;
    for (uint32_t i = 0; i < ARCS; i++) {
        tunewire_v1_SubReq q = tunewire_v1_SubReq_init_zero;
        q.arc = i;
        q.drop = tunewire_v1_SubReq_Drop_NEWEST;
        arcs[i].stream = call(t, TW_M_Arc_Subscribe, tunewire_v1_SubReq_fields, &q, 0, NULL, NULL, &ignored);
    }
}

static void grant(tw_t *t, arc_t *a, uint32_t n)
{
    uint8_t b[TW_FRAME_HEADER + 4];
    a->owed += n;
    if (a->owed >= t->window / 4) {
        tw_put_le32(b + TW_FRAME_HEADER, a->owed);
        send_all(t->fd, b, frame_at(b, TW_FT_CREDIT, a->stream, 0, 4));
        a->owed = 0;
    }
}

double arcs_slice(tw_t *t)
{
    const double start = now_s();
    uint64_t bytes = 0;
    do {
        const tw_frame_t f = next_frame(t);
        for (uint32_t i = 0; f.type == TW_FT_DATA && i < ARCS; i++) {
            if (arcs[i].stream == f.stream) {
                const uint32_t n = take_block(&arcs[i], f.payload, f.len);
                block_bytes = n > block_bytes ? n : block_bytes;
                bytes += n;
                grant(t, &arcs[i], f.len);
            }
        }
    } while (now_s() - start < SLICE_US * 1e-6);
    return (double)bytes / (now_s() - start);
}

double arcs_kept(void)
{
    double kept = 0, lost = 0;
    for (uint32_t i = 0; i < ARCS; i++) {
        kept += (double)(arcs[i].at - arcs[i].first - arcs[i].gaps);
        lost += arcs[i].dropped;
    }
    return kept / (kept + lost);
}

size_t arcs_block_bytes(void)
{
    return block_bytes;
}

double arcs_raw_slice(int fd)
{
    static uint8_t in[1 << 18];
    const double start = now_s();
    uint64_t bytes = 0;
    do {
        const ssize_t k = recv(fd, in, sizeof in, 0);
        if (k <= 0) {
            die("recv");
        }
        bytes += (uint64_t)k;
    } while (now_s() - start < SLICE_US * 1e-6);
    return (double)bytes / (now_s() - start);
}
