/* time_stamps.h - the time formats of streams: raw types TIME16..TIME64ISO and the stamps in front of frames.
 *
 * Pure functions between bits and seconds. It reads no clock and knows no time zone but the one a value carries.
 */
#pragma once
#include "engine/base/formats.h"

/** Seconds and 2^-32 of a second. */
typedef struct tw_time {
    uint64_t s;
    uint32_t frac;
} tw_time_t;

/**
 * A time as a word of one of the raw types TIME16 .. TIME64MS, rounded to the nearest step.
 *
 *     TIME16    14 bits of seconds, 2 of fraction        TIME16D   1 bit, 15
 *     TIME32    28, 4                                    TIME32D   17, 15
 *     TIMESTMP  20, 12                                   TIME64    32, 28, the upper 4 bits 0
 *     TIME64MS  42 bits of milliseconds, the upper 22 bits 0
 *
 * @return TW_OK, TW_E_ARG another raw type, TW_E_RANGE the time needs more bits; *word unchanged unless TW_OK
 */
tw_err_t tw_time_pack(tw_raw_t raw, tw_time_t t, uint64_t *word);
/** The reverse, exact but for TIME64MS. @return TW_E_RANGE when bits outside the format are set */
tw_err_t tw_time_unpack(tw_raw_t raw, uint64_t word, tw_time_t *t);

/** A moment of TIME64ISO, "2024-05-04T21:12:02+07:00". */
typedef struct tw_iso_time {
    uint16_t year; /* 0..9999 */
    uint8_t month, day, hour, minute, second;
    int8_t quarters; /* from UTC, quarters of an hour, -48..56; the time above is local */
} tw_iso_time_t;

/**
 * TIME64ISO word: [63:61] 0, [60:45] year, [44:37] month, [36:29] day, [28:21] second, all decimal digits of
 * four bits, [20:12] signed quarters of an hour from UTC, [11:0] minute of the day.
 *
 * @return TW_E_RANGE for what is on no calendar
 */
tw_err_t tw_iso_pack(const tw_iso_time_t *t, uint64_t *word);
tw_err_t tw_iso_unpack(uint64_t word, tw_iso_time_t *t);
/** Seconds since 1970-01-01 UTC of a moment. */
tw_err_t tw_iso_to_unix(const tw_iso_time_t *t, int64_t *s);
/** The moment, as seen `quarters` from UTC. @return TW_E_RANGE outside the years 0..9999 */
tw_err_t tw_iso_from_unix(int64_t s, int8_t quarters, tw_iso_time_t *t);

/** Absolute stamp, 64 bits: [63:62] format, [61:56] 0, [55:16] milliseconds, [15:0] 2^-16 of one. */
typedef struct tw_stamp_abs {
    uint8_t format;
    uint64_t ms; /* below 2^40 */
    uint16_t frac;
} tw_stamp_abs_t;
tw_err_t tw_stamp_abs_pack(const tw_stamp_abs_t *t, uint64_t *word);
tw_err_t tw_stamp_abs_unpack(uint64_t word, tw_stamp_abs_t *t);

typedef enum tw_stamp_rel_format {
    TW_STAMP_SINCE_RESET,  /* seconds */
    TW_STAMP_SINCE_2023,   /* seconds from 2023-01-01 */
    TW_STAMP_INTERVAL_U14, /* U14.16 seconds */
    TW_STAMP_INTERVAL_U24, /* U24.4 seconds; bits 29 and 28 are 0 */
} tw_stamp_rel_format_t;
/** Unix time of 2023-01-01T00:00:00Z. */
#define TW_STAMP_2023_UNIX 1672531200

/** Relative stamp, 32 bits: [31:30] format, [29:0] the value; rounded to its step. */
tw_err_t tw_stamp_rel_pack(tw_stamp_rel_format_t format, tw_time_t t, uint32_t *word);
tw_err_t tw_stamp_rel_unpack(uint32_t word, tw_stamp_rel_format_t *format, tw_time_t *t);
