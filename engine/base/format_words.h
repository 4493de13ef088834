/* format_words.h - the packed stream formats of other generations, read and written. Ours is in graph/twg1.h.
 *
 * The seeds name the fields of their words but no bit order: here what they list first is least significant.
 *
 *   SEED     [23:0] frame [25:24] interleaving [31:26] raw
 *            [4:0] channels - 1 [25:5] rate, 19 bits of mantissa, then 2 of exponent: * 2^0, -8, -16, -24
 *                  [27:26] time stamp [31:28] 0
 *            [5:0] domain [29:6] mapping [30] direction [31] 0
 *            hashing: not defined by the seeds, carried as it is
 *   LISTING  [21:0] frame [22] interleaving [24:23] time stamp [30:25] raw [31] 0
 *            rate as FP32, its 5 lowest bits channels - 1
 *            domain
 *   E2       [21:0] frame [31:22] 0
 *            [4:0] channels - 1 [5] interleaving [7:6] time stamp [9:8] its size [14:10] domain [22:15] unit
 *                  [28:23] raw [31:29] 0
 *            rate as FP32
 *            domain's own word, carried as it is
 */
#pragma once
#include "engine/base/formats.h"

typedef enum tw_fmt_layout { TW_FMT_SEED, TW_FMT_LISTING, TW_FMT_E2 } tw_fmt_layout_t;

typedef struct tw_fmt {
    uint32_t frame; /* [bytes], 0 any size */
    uint8_t raw;
    uint8_t interleaving; /* 0 interleaved, 1 a block per channel, 2 a pointer per channel */
    uint8_t channels;     /* 1..32 */
    uint8_t ts, ts_size;  /* ts: 0 none 1 absolute 2 relative 3 counter */
    uint8_t domain, unit, direction;
    uint32_t mapping; /* bits of channels.def */
    double rate;      /* [Hz], 0 asynchronous */
    uint32_t extra;   /* the word that is carried as it is */
} tw_fmt_t;

/** Fields, to say which one does not fit. */
typedef enum tw_fmt_field {
    TW_FMT_FIELD_NONE,
    TW_FMT_FIELD_FRAME,
    TW_FMT_FIELD_RAW,
    TW_FMT_FIELD_INTERLEAVING,
    TW_FMT_FIELD_CHANNELS,
    TW_FMT_FIELD_RATE,
    TW_FMT_FIELD_TS,
    TW_FMT_FIELD_TS_SIZE,
    TW_FMT_FIELD_DOMAIN,
    TW_FMT_FIELD_UNIT,
    TW_FMT_FIELD_MAPPING,
    TW_FMT_FIELD_DIRECTION,
    TW_FMT_FIELD_EXTRA,
    TW_FMT_FIELD_SPARE, /* bits that mean nothing are set */
    TW_FMT_FIELD_COUNT
} tw_fmt_field_t;
/** "frame", "raw type", .. */
const char *tw_fmt_field_text(tw_fmt_field_t field);

/** Words of a layout: 4, 3, 4. */
unsigned tw_fmt_words(tw_fmt_layout_t layout);

/**
 * @param field  what is out of range, on TW_E_RANGE; what the layout has no room for and is not at its default,
 *               on TW_E_UNSUPPORTED. A rate is rounded to the nearest the layout can say.
 */
tw_err_t tw_fmt_words_export(tw_fmt_layout_t layout, const tw_fmt_t *f, uint32_t w[4], tw_fmt_field_t *field);
/** @return TW_E_RANGE for a code that means nothing, or spare bits that are set; *f unchanged */
tw_err_t tw_fmt_words_import(tw_fmt_layout_t layout, const uint32_t w[4], tw_fmt_t *f, tw_fmt_field_t *field);

/* ---- arrays of raw type 0 --------------------------------------------------------- */

/** byte 0 = 0, byte 1 = raw type, bytes 2 and 3 = count, little endian. */
#define TW_ARRAY_HEAD_BYTES 4u
/** @return TW_E_RANGE when raw is no type or an array again, or count needs more than 16 bits */
tw_err_t tw_array_head_pack(uint32_t raw, uint32_t count, uint8_t head[TW_ARRAY_HEAD_BYTES]);
/** @param bytes [bytes] of the array: head and elements. @return TW_E_TRUNCATED when it has fewer than count says */
tw_err_t tw_array_head_unpack(const uint8_t *array, size_t bytes, uint32_t *raw, uint32_t *count);
