/* frame.h - one frame of the wire: 16-byte header, payload, two checksums.
 *
 *  0      1        2     3      4        6            8               12
 *  +------+--------+-----+------+--------+------------+---------------+---------------+
 *  | 0xA5 | ver. 1 | type| flags| stream | CRC-16 hdr | payload bytes | CRC-32C paylod|
 *  +------+--------+-----+------+--------+------------+---------------+---------------+
 *
 * The same bytes on every transport; COBS-encoded with a 0x00 delimiter on UART
 * and SPI. Knows no connection, no message and no transport.
 * Specification: docs/WIRE_PROTOCOL.md "Frame".
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/config.h"

#define TW_FRAME_SYNC 0xA5u
#define TW_FRAME_VERSION 1u
#define TW_FRAME_HEADER 16u

typedef enum tw_frame_type {
    TW_FT_CALL = 0,
    TW_FT_REPLY = 1,
    TW_FT_DATA = 2,
    TW_FT_CREDIT = 3,
    TW_FT_CANCEL = 4,
    TW_FT_HELLO = 5,
    TW_FT_GOAWAY = 6,
} tw_frame_type_t;

enum { TW_FF_FIN = 1, TW_FF_ERR = 2, TW_FF_MORE = 4, TW_FF_ALL = 7 };

typedef struct tw_frame {
    uint8_t type, flags;
    uint16_t stream;
    uint32_t len;           /* payload [bytes] */
    const uint8_t *payload; /* into the input or the deframer's buffer; until the next call */
} tw_frame_t;

/** Write the header for `len` payload bytes at `payload` (may be NULL when len is 0). */
void tw_frame_header(uint8_t out[TW_FRAME_HEADER], uint8_t type, uint8_t flags, uint16_t stream, const uint8_t *payload,
                     uint32_t len);

/** Receiver of a byte stream. Buffers at most one frame; complete frames in one read are not copied. */
typedef struct tw_deframer {
    uint8_t *buf;       /* borrowed, `cap` bytes */
    uint32_t cap;       /* >= max_frame */
    uint32_t max_frame; /* longest frame accepted now, header included */
    uint32_t used;
    /* counters, never reset */
    uint32_t skipped_bytes, header_crc, payload_crc;
} tw_deframer_t;

void tw_deframer_init(tw_deframer_t *d, void *buf, uint32_t cap);

typedef enum tw_deframe_result {
    TW_DEFRAME_MORE = 0, /* everything consumed, no frame yet */
    TW_DEFRAME_FRAME,    /* *out is a frame with good checksums */
    TW_DEFRAME_BAD_CRC,  /* *out has a good header, payload NULL: the payload was damaged and dropped */
    TW_DEFRAME_FATAL,    /* *err: FRAME_VERSION, FRAME_TOO_LONG, FRAME_FLAGS; close the connection */
} tw_deframe_result_t;

/**
 * Take bytes, give frames. Call again with the rest until it says MORE.
 * Damage: hunts for a sync byte whose header CRC holds; bytes skipped are counted. Only a header
 * whose CRC holds can be fatal.
 * @param used  out, bytes of `in` consumed (<= n)
 */
tw_deframe_result_t tw_deframe(tw_deframer_t *d, const uint8_t *in, size_t n, size_t *used, tw_frame_t *out,
                               tw_err_t *err);

/** COBS, without delimiter. @return bytes written (<= n + n/254 + 1), 0 when `cap` is too small. */
size_t tw_cobs_encode(const uint8_t *in, size_t n, uint8_t *out, size_t cap);
/** Inverse. @return bytes written; 0 when malformed (a zero inside, a run past the end) or cap too small. */
size_t tw_cobs_decode(const uint8_t *in, size_t n, uint8_t *out, size_t cap);
