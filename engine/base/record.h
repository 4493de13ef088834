/* record.h - the bytes of a recording: header, chunks, records. Shared by engine, daemon and replay.
 *
 *   file   := header chunk*
 *   header := 64 bytes, IO rows, bank sizes
 *   chunk  := u32 magic, u32 number, u32 bytes, u32 CRC-32C (of number, bytes and payload), payload
 *   payload:= record*, each u16 kind, u16 0, u32 bytes, payload; not padded, never across chunks
 *
 * All numbers are little endian. See docs/REPLAY.md.
 */
#pragma once
#include "engine/base/bytes.h"

#define TW_RECORD_MAGIC "TWREC1\r\n"
#define TW_RECORD_CHUNK_MAGIC 0x4B435754u /* "TWCK" */
enum {
    TW_RECORD_MAJOR = 1,
    TW_RECORD_MINOR = 1,
    TW_RECORD_HEADER = 64,
    TW_RECORD_IO = 40,
    TW_RECORD_IOS_MAX = 1024,
    TW_RECORD_BANKS_MAX = 1024,
    TW_RECORD_CHUNK_HEAD = 16,
    TW_RECORD_CHUNK_MAX = 1 << 20, /* payload [bytes] */
    TW_RECORD_HEAD = 8,
    TW_RECORD_IMAGE_PIECE = 1 << 16,
    TW_RECORD_KEEPS_OUTPUTS = 1, /* flag */
    TW_RECORD_ACK_ALIGNED = 1,   /* flags of an ACK */
    TW_RECORD_ACK_IN_PLACE = 2,
};
/* Byte offsets in the header. */
enum {
    TW_RH_VERSION = 8, /* u16 major, u16 minor */
    TW_RH_BYTES = 12,
    TW_RH_FLAGS = 16,
    TW_RH_PLATFORM = 20,
    TW_RH_SERVICES = 24,
    TW_RH_GRAPH_BYTES = 28,
    TW_RH_IOS = 32,
    TW_RH_BANKS = 36,
    TW_RH_STARTED = 40, /* u64 microseconds since 1970, 0 not known */
    TW_RH_PROGRAM = 48, /* 12 bytes of text */
    TW_RH_CRC = 60,     /* of the whole header, this word 0 */
};

typedef enum tw_record_kind {
#define TW_RECORD(code, NAME, least, text) TW_REC_##NAME = (code),
#include "engine/base/record_kinds.def"
} tw_record_kind_t;

typedef enum tw_record_end { TW_RECORD_STOPPED = 0, TW_RECORD_FULL = 1, TW_RECORD_DISK = 2 } tw_record_end_t;
