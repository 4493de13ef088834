/* twg1.h - the graph image, word by word.
 *
 * The compiler writes these words and the loader reads them; both include this
 * file and nothing else knows the layout. All words are 32-bit little endian,
 * offsets are bytes from the image start, sections start on multiples of 16.
 * The image is immutable: all run-time state lives elsewhere (engine/graph).
 * Specification with hex examples: docs/GRAPH_IMAGE.md.
 *
 * A field is named as TW_<RECORD><word>_<FIELD> and expands to "hi, lo" for
 * tw_bits(); TW_LO(...) gives its low bit for tw_put_bits().
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/config.h"

#define TW_LO_(hi, lo) (lo)
#define TW_LO(field) TW_LO_(field)
#define TW_FIELD_MAX_(hi, lo) ((hi) - (lo) == 31 ? 0xFFFFFFFFu : (1u << ((hi) - (lo) + 1)) - 1u)
/** Largest value a field holds. */
#define TW_FIELD_MAX(field) TW_FIELD_MAX_(field)

/** Word number `word` of the record at byte offset `at`; the caller has checked bounds. Records are aligned to 4 in the
 *  image, and where TW_ALIGNED_IMAGES is set, the image in memory. */
static inline uint32_t tw_img_word(const uint8_t *img, uint32_t at, uint32_t word)
{
#if TW_ALIGNED_IMAGES
    uint32_t w;
    memcpy(&w, __builtin_assume_aligned(img + at + 4u * word, 4), sizeof w);
    return w;
#endif
    return tw_get_le32(img + at + 4u * word);
}

/* ---- header: 32 words ---------------------------------------------------- */
#define TW_IMG_MAGIC 0x31475754u /* bytes 'T','W','G','1' */
#define TW_IMG_MAJOR 1u
#define TW_IMG_MINOR 0u
#define TW_IMG_HEADER_BYTES 128u
#define TW_IMG_ALIGN 16u

enum {
    TW_W_MAGIC = 0,
    TW_W_VERSION = 1,      /* [31:24] major, [23:16] minor, [15:0] header bytes */
    TW_W_TOTAL = 2,        /* [bytes], multiple of 16 */
    TW_W_HEADER_CRC = 3,   /* CRC-32C of words 0..31 with this word = 0 */
    TW_W_PAYLOAD_CRC = 4,  /* CRC-32C of bytes 128..total */
    TW_W_UID = 5,          /* first 32 bits (as LE bytes 0..3) of SHA-256 of the canonical text */
    TW_W_SEQUENCE = 6,     /* build sequence, host counter */
    TW_W_CONTROL = 7,      /* TW_W7_* */
    TW_W_PROCESSORS = 8,   /* bit (procID - 1) */
    TW_W_SERVICES = 9,     /* required services mask */
    TW_W_PLATFORM = 10,    /* CRC-32C of the canonical platform text; 0 = any platform */
    TW_W_CATALOGUE = 11,   /* tw_node_order_t.id; 0 = bind every node by hash */
    TW_W_COUNTS = 12,      /* [31:16] nodes, [15:0] arcs */
    TW_W_COUNTS2 = 13,     /* [31:24] formats, [23:16] IOs, [15:8] scripts, [7:0] banks */
    TW_W_COUNTS3 = 14,     /* [31:16] 64-bit debug registers, [15:0] sub-graph instances */
    TW_W_STATE_BYTES = 15, /* state RAM needed in VID 0 */
    TW_W_DIRECTORY = 16,   /* 8 x {offset, bytes} */
};

#define TW_W1_MAJOR 31, 24
#define TW_W1_MINOR 23, 16
#define TW_W1_HEADER 15, 0
#define TW_W7_LOCATION 1, 0
#define TW_W7_DEBUG_SCRIPT 6, 2
#define TW_W7_RETURN 9, 8
#define TW_W7_SYMBOLS 10, 10
#define TW_W7_SIGNED 11, 11
#define TW_W7_MP 12, 12
#define TW_W7_SCHEDULE 13, 13
#define TW_W7_WIDE 14, 14 /* node and arc numbers of 16 bits: the *W_* fields below */
#define TW_W7_ZERO 31, 15
#define TW_W12_NODES 31, 16
#define TW_W12_ARCS 15, 0
#define TW_W13_FORMATS 31, 24
#define TW_W13_IOS 23, 16
#define TW_W13_SCRIPTS 15, 8
#define TW_W13_BANKS 7, 0
#define TW_W14_REGISTERS 31, 16
#define TW_W14_SUBGRAPHS 15, 0

/* Section numbers: also tw_fault_t.section + 1 (0 = header) of loader refusals. */
typedef enum tw_section {
    TW_SEC_BANKS,
    TW_SEC_FORMATS,
    TW_SEC_IOS,
    TW_SEC_NODES,
    TW_SEC_ARCS,
    TW_SEC_SCRIPTS,
    TW_SEC_PARAMS,
    TW_SEC_EXT,
    TW_SEC_COUNT
} tw_section_t;

/* ---- BANK: 4 words ------------------------------------------------------- */
#define TW_BANK_WORDS 4u
#define TW_B0_VID 7, 0
#define TW_B0_ALIGN 11, 8 /* log2 */
#define TW_B0_SPEED 13, 12
#define TW_B0_TYPE 15, 14
#define TW_B0_PRIVATE 16, 16
#define TW_B0_DMA 17, 17
#define TW_B0_PROGRAM 18, 18
#define TW_B0_ZERO 31, 19
/* b1 bytes needed static, b2 bytes needed working (overlaid, placed after the static ones), b3 fill */

/* ---- FORMAT: 8 words ----------------------------------------------------- */
#define TW_FORMAT_WORDS 8u
/* f0 frame bytes: the whole multichannel frame including the time-stamp field */
#define TW_F1_CHANNELS 4, 0 /* minus 1 */
#define TW_F1_INTERLEAVE 6, 5
#define TW_F1_TS 8, 7
#define TW_F1_TS_SIZE 10, 9
#define TW_F1_RAW 16, 11
#define TW_F1_DOMAIN 20, 17
#define TW_F1_UNIT 28, 21
#define TW_F1_DIRECTION 29, 29
#define TW_F1_ZERO 31, 30
/* f2 FP32 Fs [Hz], 0 asynchronous; f3 mapping; f4 FP32 full scale; f5 FP32 offset;
 * f6 2-D border / extra; f7 samples per frame per channel */

/* ---- IO: 8 words --------------------------------------------------------- */
#define TW_IO_WORDS 8u
#define TW_I0_HWID 15, 0
#define TW_I0_TX 16, 16
#define TW_I0_SERVANT 17, 17
#define TW_I0_COPY 18, 18
#define TW_I0_BUFFER 19, 19
#define TW_I0_OWNER 23, 20
#define TW_I0_CLOCK 27, 24
#define TW_I0_POWER 29, 28
#define TW_I0_ZERO 31, 30
#define TW_I1_ARC 15, 0
#define TW_I1_FORMAT 23, 16
#define TW_I1_ZERO 31, 24
/* i2..i4 settings; i5 [7:0] VID; i6 offset; i7 bytes, 0 none: its buffer in the graph's memory */
#define TW_I5_VID 7, 0
#define TW_I5_ZERO 31, 8

/* ---- NODES: word table of record offsets (from image start), then records -- */
#define TW_N0_ENTRY 11, 0
#define TW_N0_PROC 15, 12
#define TW_N0_ARCH 18, 16
#define TW_N0_RTOS 20, 19
#define TW_N0_DEBUG 22, 21
#define TW_N0_CLEAR 23, 23
#define TW_N0_VERBOSE 24, 24
#define TW_N0_COMPACT 25, 25
#define TW_N0_PARAMS 26, 26
#define TW_N0_NO_MEMREQ 27, 27
#define TW_N0_PUSH_FORMAT 28, 28
#define TW_N0_KEY 29, 29
#define TW_N0_ISOLATE 30, 30
#define TW_N0_SAME_RATE 31, 31
#define TW_N1_RX 3, 0
#define TW_N1_TX 7, 4
#define TW_N1_BLOCKS 10, 8
#define TW_N1_DYNAMIC 11, 11
#define TW_N1_SCRIPT 18, 12 /* id + 1, 0 none */
#define TW_N1_PRESET 24, 19
#define TW_N1_RERUNS 27, 25
#define TW_N1_PRIORITY 31, 28
/* n2 FNV-1a-32 of "developer/name"; of a compact record there is only n0, n1 and the arcs */
#define TW_N3_VERSION 31, 16
#define TW_N3_TRACE 15, 8
#define TW_N3_META 7, 0
/* then arcs (halfwords, two a word, odd count padded), blocks (3 words), homes of staged blocks (1 word: the offset
 * in the bank of TW_NB_HOME), params (2 words) */
#define TW_NA_ARC 11, 0
#define TW_NA_TX 12, 12
#define TW_NA_HQOS 13, 13
#define TW_NA_PARAM 14, 14
#define TW_NA_LOCK 15, 15
/* in a wide image a word each, not a halfword */
#define TW_NAW_ARC 15, 0
#define TW_NAW_TX 16, 16
#define TW_NAW_HQOS 17, 17
#define TW_NAW_PARAM 18, 18
#define TW_NAW_LOCK 19, 19
#define TW_NAW_ZERO 31, 20
#define TW_NODE_BLOCK_WORDS 3u
#define TW_NB_VID 7, 0
#define TW_NB_SPEED 9, 8
#define TW_NB_TYPE 11, 10 /* 0 static, 1 working, 2 pseudo-working, 3 periodic backup */
#define TW_NB_RELOC 12, 12
#define TW_NB_PROG 13, 13
#define TW_NB_CLEAR 14, 14
#define TW_NB_SWAP 17, 15
/* the block is its bank's for good; it lies there, the same offset of its home is kept free; it is brought there for
 * each call and taken back; brought there, and taken back after calls that may change a constant */
enum { TW_NB_STAYS = 0, TW_NB_MOVED = 1, TW_NB_IN_OUT = 2, TW_NB_IN = 3 };
#define TW_NB_HOME 25, 18
#define TW_NB_ZERO 31, 26
/* params: {byte offset inside PARAMS}; {[8:0] tag (256 = all), [31:9] bytes} */
#define TW_NP_TAG 8, 0
#define TW_NP_BYTES 31, 9

/* ---- ARC: 8 words -------------------------------------------------------- */
#define TW_ARC_WORDS 8u
#define TW_A0_VID 7, 0
#define TW_A0_PRODUCER_FORMAT 15, 8
#define TW_A0_CONSUMER_FORMAT 23, 16
#define TW_A0_TYPE 25, 24 /* 0 linear, 1 realigned ring, 2 modulo ring, 3 constant */
#define TW_A0_HQOS 26, 26
#define TW_A0_FLUSH_DATA 27, 27
#define TW_A0_FLUSH_DESC 28, 28
#define TW_A0_PREFILL 29, 29
#define TW_A0_RUNTIME_BASE 30, 30
#define TW_A0_ZERO 31, 31
/* a1 buffer offset inside the bank, a2 buffer bytes; both 0 of a constant, which is read from PARAMS */
#define TW_A3_PRODUCER 11, 0  /* node, 0xFFF = IO */
#define TW_A3_CONSUMER 23, 12 /* node, 0xFFF = IO */
#define TW_A3_PRODUCER_PORT 27, 24
#define TW_A3_CONSUMER_PORT 31, 28
#define TW_ARC_IO 0xFFFu
/* in a wide image: the ports are in a7 */
#define TW_A3W_PRODUCER 15, 0  /* node, 0xFFFF = IO */
#define TW_A3W_CONSUMER 31, 16 /* node, 0xFFFF = IO */
#define TW_ARC_IO_WIDE 0xFFFFu
#define TW_A4_UNDERFLOW 1, 0
#define TW_A4_OVERFLOW 3, 2
#define TW_A4_CRUMB_IN 5, 4
#define TW_A4_CRUMB_OUT 7, 6
#define TW_A4_CRUMBS 8, 8
#define TW_A4_ALIGN 9, 9
#define TW_A4_DEBUG_CMD 15, 10
#define TW_A4_DEBUG_REG 23, 16
#define TW_A4_SCRIPT 30, 24 /* id + 1 */
#define TW_A4_ZERO 31, 31
/* a5 initial fill bytes, a6 PARAMS offset of the initial data, a7 [15:0] IO */
#define TW_A7_IO 15, 0
#define TW_A7_ZERO 31, 16
#define TW_A7W_PRODUCER_PORT 19, 16
#define TW_A7W_CONSUMER_PORT 23, 20
#define TW_A7W_ZERO 31, 24

/* ---- SCRIPTS: entries of 4 words, then code ------------------------------ */
#define TW_SCRIPT_WORDS 4u
#define TW_SCRIPT_MEM_UNIT 64u /* [bytes] */
/* s0 code offset from image start; code first, literal pool right after it (4-aligned start) */
#define TW_S1_CODE 15, 0      /* code bytes */
#define TW_S1_LITERALS 31, 16 /* literal pool bytes, after the code rounded up to 4 */
#define TW_S2_REGS 2, 0
#define TW_S2_PRIVILEGED 3, 3 /* may use `low`, where the device has it */
#define TW_S2_PTRS 7, 4
#define TW_S2_STACK 15, 8
#define TW_S2_SHARED 16, 16
#define TW_S2_PRIVATE 17, 17
#define TW_S2_MEM 23, 18 /* memory in units - 1; 0 when it has none */
#define TW_S2_VID 31, 24
#define TW_S3_CRC 15, 0     /* CRC-16 of code + padding + literals */
#define TW_S3_BUDGET 31, 16 /* max instructions / 256, 0 = default */

/* ---- EXT: TLV chain, each padded to 4 bytes ------------------------------ */
/* word 0 type (four characters, bytes in order), word 1 [31] critical, [30:0] payload bytes */
#define TW_EXT_SYMB 0x424D5953u /* 'S','Y','M','B': see docs/GRAPH_IMAGE.md "Symbols" */
#define TW_EXT_SCHD 0x44484353u
#define TW_EXT_INIT 0x54494E49u
#define TW_EXT_SIGN 0x4E474953u
#define TW_EXT_META 0x4154454Du
#define TW_EXT_CRITICAL 31, 31
#define TW_EXT_BYTES 30, 0
/* SYMB payload: entries {u8 kind, u8 length, u16 index, name bytes without NUL}, unpadded,
 * in rising (kind, index) order; names unique per kind, 1..31 bytes of [A-Za-z0-9_./-]. */
/* META payload: word 0, then that many tables: {FNV-1a of "developer/name"; TW_MT_ROWS, TW_MT_WORDS}, and per
 * parameter {TW_M0_*; TW_M1_*; FP64 min, max, default, step; name padded to 4}. Word 3 of a node record has the
 * number of its table, from 1; 0 = none. */
#define TW_MT_TABLES 15, 0
#define TW_MT_ZERO 31, 16
#define TW_MT_ROWS 15, 0
#define TW_MT_WORDS 31, 16 /* of the table, its first two included */
#define TW_META_TABLE_WORDS 2u
#define TW_META_ROW_WORDS 10u /* without the name */
#define TW_M0_INDEX 7, 0
#define TW_M0_RAW 15, 8
#define TW_M0_UNIT 23, 16
#define TW_M0_FLAGS 31, 24 /* 1 read-only, 2 smoothed, 4 not in the block of all */
#define TW_M1_COUNT 15, 0
#define TW_M1_NAME 23, 16
#define TW_M1_ZERO 31, 24
/* INIT payload: entries {[7:0] VID; offset; bytes; pattern}, applied in order at load, after the
 * banks were filled with their own pattern. */
#define TW_INIT_WORDS 4u
#define TW_INIT0_VID 7, 0
#define TW_INIT0_ZERO 31, 8
enum { TW_SYM_NODE = 1, TW_SYM_ARC = 2, TW_SYM_IO = 3, TW_SYM_SCRIPT = 4, TW_SYM_GRAPH = 5 };
#define TW_SYMBOL_MAX 31u
