/* frame.c - headers out, frames in.
 *
 *            sync             16 bytes, CRC-16 holds             all of it
 *   HUNT ---------> HEADER -----------------------------> BODY ------------> frame or bad payload, HUNT
 *    ^                 | CRC-16 wrong: next sync byte
 *    +-----------------+
 *
 * No state word says where we are: bytes kept in `buf` always begin with a sync
 * byte, and 16 of them with a good CRC-16 mean BODY. Knows no connection.
 */
#include "protocol/frame.h"
#include "engine/base/crc.h"
#include "engine/base/port.h"

static uint16_t header_crc(const uint8_t *h)
{
    return tw_crc16(tw_crc16(TW_CRC16_INIT, h, 6), h + 8, 8);
}

void tw_frame_header(uint8_t out[TW_FRAME_HEADER], uint8_t type, uint8_t flags, uint16_t stream, const uint8_t *payload,
                     uint32_t len)
{
    out[0] = TW_FRAME_SYNC;
    out[1] = TW_FRAME_VERSION;
    out[2] = type;
    out[3] = flags;
    tw_put_le16(out + 4, stream);
    tw_put_le32(out + 8, len);
    tw_put_le32(out + 12, len != 0 ? tw_crc32c(0, payload, len) : 0);
    tw_put_le16(out + 6, header_crc(out));
}

void tw_deframer_init(tw_deframer_t *d, void *buf, uint32_t cap)
{
    TW_ASSERT(cap >= TW_MAX_FRAME_FLOOR);
    *d = (tw_deframer_t){.buf = buf, .cap = cap, .max_frame = TW_MAX_FRAME_FLOOR};
}

static bool header_holds(const uint8_t *h)
{
    return tw_get_le16(h + 6) == header_crc(h);
}

/* What a header with a good CRC may still be refused for. */
static tw_err_t check_header(const tw_deframer_t *d, const uint8_t *h)
{
    if (h[1] != TW_FRAME_VERSION) {
        return TW_E_FRAME_VERSION;
    }
    if ((h[3] & ~TW_FF_ALL) != 0) {
        return TW_E_FRAME_FLAGS;
    }
    const uint32_t longest = tw_min_u32(d->max_frame, d->cap) - TW_FRAME_HEADER;
    return tw_get_le32(h + 8) > longest ? TW_E_FRAME_TOO_LONG : TW_OK;
}

static tw_deframe_result_t finish(tw_deframer_t *d, const uint8_t *f, tw_frame_t *out)
{
    *out = (tw_frame_t){.type = f[2], .flags = f[3], .stream = tw_get_le16(f + 4), .len = tw_get_le32(f + 8)};
    if (tw_get_le32(f + 12) != (out->len != 0 ? tw_crc32c(0, f + TW_FRAME_HEADER, out->len) : 0)) {
        d->payload_crc++;
        return TW_DEFRAME_BAD_CRC;
    }
    out->payload = f + TW_FRAME_HEADER;
    return TW_DEFRAME_FRAME;
}

static size_t find_sync(const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] != TW_FRAME_SYNC) {
        i++;
    }
    return i;
}

/* The header kept in `buf` was damage: go on from the next sync byte behind it. */
static void drop_sync(tw_deframer_t *d)
{
    const uint32_t skip = 1 + (uint32_t)find_sync(d->buf + 1, d->used - 1);
    memmove(d->buf, d->buf + skip, d->used - skip);
    d->used -= skip;
    d->skipped_bytes += skip;
}

static size_t keep(tw_deframer_t *d, const uint8_t *in, size_t n, uint32_t want)
{
    const size_t take = n < want - d->used ? n : want - d->used;
    memcpy(d->buf + d->used, in, take);
    d->used += (uint32_t)take;
    return take;
}

/* Nothing kept: look at the input where it lies; keep what is not a whole frame. */
static tw_deframe_result_t from_input(tw_deframer_t *d, const uint8_t *in, size_t n, size_t *used, tw_frame_t *out,
                                      tw_err_t *err)
{
    size_t at = 0;
    for (;;) {
        const size_t skip = find_sync(in + at, n - at);
        at += skip;
        d->skipped_bytes += (uint32_t)skip;
        if (n - at < TW_FRAME_HEADER) {
            *used = at + (n > at ? keep(d, in + at, n - at, TW_FRAME_HEADER) : 0);
            return TW_DEFRAME_MORE;
        }
        if (header_holds(in + at)) {
            break;
        }
        d->header_crc++;
        d->skipped_bytes++;
        at++;
    }
    *err = check_header(d, in + at);
    if (*err != TW_OK) {
        *used = at + TW_FRAME_HEADER;
        return TW_DEFRAME_FATAL;
    }
    const uint32_t whole = TW_FRAME_HEADER + tw_get_le32(in + at + 8);
    if (n - at < whole) {
        *used = at + keep(d, in + at, n - at, whole);
        return TW_DEFRAME_MORE;
    }
    *used = at + whole;
    return finish(d, in + at, out);
}

/* Some of a frame is kept: complete its header, then its payload. */
static tw_deframe_result_t from_kept(tw_deframer_t *d, const uint8_t *in, size_t n, size_t *used, tw_frame_t *out,
                                     tw_err_t *err)
{
    size_t at = 0;
    while (d->used < TW_FRAME_HEADER || !header_holds(d->buf)) {
        if (d->used >= TW_FRAME_HEADER) {
            d->header_crc++;
            drop_sync(d);
            continue;
        }
        if (d->used == 0) { /* no sync byte among those kept: the input may be taken where it lies again */
            const tw_deframe_result_t r = from_input(d, in + at, n - at, used, out, err);
            *used += at;
            return r;
        }
        if (at == n) {
            *used = n;
            return TW_DEFRAME_MORE;
        }
        at += keep(d, in + at, n - at, TW_FRAME_HEADER);
    }
    *err = check_header(d, d->buf);
    if (*err != TW_OK) {
        d->used = 0;
        *used = at;
        return TW_DEFRAME_FATAL;
    }
    const uint32_t whole = TW_FRAME_HEADER + tw_get_le32(d->buf + 8);
    at += keep(d, in + at, n - at, whole);
    *used = at;
    if (d->used < whole) {
        return TW_DEFRAME_MORE;
    }
    d->used = 0;
    return finish(d, d->buf, out);
}

tw_deframe_result_t tw_deframe(tw_deframer_t *d, const uint8_t *in, size_t n, size_t *used, tw_frame_t *out,
                               tw_err_t *err)
{
    *err = TW_OK;
    *used = 0;
    if (n == 0) {
        return TW_DEFRAME_MORE;
    }
    return d->used == 0 ? from_input(d, in, n, used, out, err) : from_kept(d, in, n, used, out, err);
}
