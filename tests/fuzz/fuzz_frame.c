/* Deframer and COBS: any bytes, any cuts. However a stream is cut into reads, the same frames come out. */
#include "engine/base/port.h"
#include "protocol/frame.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CAP = 1024, STREAM_MAX = 1 << 16 };

/* All that a deframer said, condensed: equal sums, equal stories. */
typedef struct story {
    uint64_t sum;
    unsigned frames;
    bool fatal;
    tw_deframer_t d;
} story_t;

static void add(story_t *s, const void *p, size_t n)
{
    const uint8_t *b = p;
    for (size_t i = 0; i < n; i++) {
        s->sum = (s->sum ^ b[i]) * 0x100000001B3u;
    }
}

static void add_frame(story_t *s, tw_deframe_result_t r, const tw_frame_t *f, tw_err_t err)
{
    const uint32_t facts[] = {r, r == TW_DEFRAME_FATAL ? (uint32_t)err : 0, f->type, f->flags, f->stream, f->len};
    if (r == TW_DEFRAME_FATAL) {
        TW_ASSERT(err == TW_E_FRAME_VERSION || err == TW_E_FRAME_FLAGS || err == TW_E_FRAME_TOO_LONG);
        add(s, facts, 8);
        s->fatal = true;
        return;
    }
    add(s, facts, sizeof facts);
    if (r == TW_DEFRAME_FRAME) {
        uint8_t header[TW_FRAME_HEADER];
        tw_frame_header(header, f->type, f->flags, f->stream, f->payload, f->len);
        TW_ASSERT(memcmp(header, f->payload - TW_FRAME_HEADER, TW_FRAME_HEADER) == 0);
        add(s, f->payload, f->len);
        s->frames++;
    }
}

/* Feed in reads of 1..`cut` bytes, each in memory of its own. */
static story_t tell(const uint8_t *bytes, size_t n, size_t cut, uint32_t max_frame)
{
    static uint8_t buf[CAP];
    story_t s = {.sum = 0xCBF29CE484222325u};
    tw_deframer_init(&s.d, buf, sizeof buf);
    s.d.max_frame = max_frame;
    for (size_t at = 0; at < n && !s.fatal;) {
        const size_t part = n - at < cut ? n - at : cut;
        uint8_t *read = malloc(part);
        memcpy(read, bytes + at, part);
        for (size_t done = 0; done < part && !s.fatal;) {
            tw_frame_t f = {0};
            tw_err_t err;
            size_t used;
            const tw_deframe_result_t r = tw_deframe(&s.d, read + done, part - done, &used, &f, &err);
            done += used;
            TW_ASSERT(done <= part && s.d.used <= sizeof buf);
            TW_ASSERT(r != TW_DEFRAME_MORE || done == part);
            if (r != TW_DEFRAME_MORE) {
                TW_ASSERT(f.len <= max_frame - TW_FRAME_HEADER);
                add_frame(&s, r, &f, err);
            }
        }
        free(read);
        at += part;
    }
    return s;
}

/* Input as a plan: frames with good checksums, bits flipped here and there, noise between. */
static size_t build(const uint8_t *plan, size_t n, uint8_t *out)
{
    size_t w = 0;
    while (n >= 6 && w + TW_FRAME_HEADER + 512 < STREAM_MAX) {
        const uint32_t len = tw_min_u32((uint32_t)plan[3] * 2, (uint32_t)n - 6);
        memcpy(out + w + TW_FRAME_HEADER, plan + 6, len);
        tw_frame_header(out + w, plan[0], plan[1], plan[2], out + w + TW_FRAME_HEADER, len);
        if (plan[4] & 0x80) {
            out[w + plan[4] % (TW_FRAME_HEADER + len)] ^= (uint8_t)(1u << (plan[5] & 7));
        }
        w += TW_FRAME_HEADER + len;
        if (plan[5] & 0x80) {
            out[w++] = TW_FRAME_SYNC;
        }
        plan += 6 + len;
        n -= 6 + len;
    }
    return w;
}

static void check_deframer(const uint8_t *bytes, size_t n, size_t cut, uint32_t max_frame)
{
    const story_t whole = tell(bytes, n, n != 0 ? n : 1, max_frame);
    const story_t cuts = tell(bytes, n, cut, max_frame);
    TW_ASSERT(whole.sum == cuts.sum && whole.frames == cuts.frames && whole.fatal == cuts.fatal);
    TW_ASSERT(whole.d.payload_crc == cuts.d.payload_crc);
    TW_ASSERT(whole.fatal || (whole.d.skipped_bytes == cuts.d.skipped_bytes &&
                              whole.d.header_crc == cuts.d.header_crc && whole.d.used == cuts.d.used));
}

static void check_cobs(const uint8_t *data, size_t n)
{
    const size_t most = n + n / 254 + 1;
    uint8_t *stuffed = malloc(most), *plain = malloc(n + 1);
    const size_t m = tw_cobs_encode(data, n, stuffed, most);
    TW_ASSERT(m > 0 && m <= most);
    for (size_t i = 0; i < m; i++) {
        TW_ASSERT(stuffed[i] != 0);
    }
    TW_ASSERT(tw_cobs_decode(stuffed, m, plain, n) == n && (n == 0 || memcmp(plain, data, n) == 0));
    TW_ASSERT(tw_cobs_encode(data, n, stuffed, m - 1) == 0);
    free(stuffed);
    const size_t d = tw_cobs_decode(data, n, plain, n);
    TW_ASSERT(d <= n);
    free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > STREAM_MAX / 2) {
        return 0;
    }
    static uint8_t built[STREAM_MAX];
    const uint32_t max_frame = TW_MAX_FRAME_FLOOR + (uint32_t)data[0] * 3;
    const size_t cut = 1 + data[1];
    if (data[2] & 1) {
        check_deframer(data + 3, size - 3, cut, max_frame);
    } else {
        check_deframer(built, build(data + 3, size - 3, built), cut, max_frame);
    }
    check_cobs(data + 3, size - 3);
    return 0;
}
