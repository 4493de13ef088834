/* twg1_read.h - the parts of a TWG1 image, of both kinds, for whoever reads one: checker, loader, decompiler.
 *
 * An image is wide when it has more nodes or arcs than 12 bits number; then node and arc numbers have 16 bits
 * and stand elsewhere. Only these functions know the difference: what they return is the same for both. None of
 * them checks bounds; tw_graph_check() and tw_graph_check_structure() do, in the order that makes it safe.
 */
#pragma once
#include "engine/base/arena.h"
#include "engine/graph/twg1.h"

/* In the small profile the larger of these functions exist once, in graph_image.c, which defines TW_IMG_HOME. */
#if TW_SMALL && !defined TW_IMG_HOME
#define TW_IMG_OUTLINE 1
#else
#define TW_IMG_OUTLINE 0
#endif
/* A structure of two words, handed over in memory, costs more than the loads that make it. */
#define TW_ALWAYS __attribute__((always_inline))
#if TW_SMALL
#define TW_IMG_INLINE
#else
#define TW_IMG_INLINE static inline
#endif

/** Nodes and arcs an image that is not wide can number. */
#define TW_IMG_NARROW_NODES 4095u
#define TW_IMG_NARROW_ARCS 4096u
/** The same of a wide one: 65535 says "the graph's IO", and names have 16 bits for an index. */
#define TW_IMG_WIDE_NODES 65535u
#define TW_IMG_WIDE_ARCS 65535u
/** An end of an arc that is the graph's IO, whatever the kind of image. */
#if TW_WIDE_IMAGES
#define TW_IMG_IO TW_ARC_IO_WIDE
#else
#define TW_IMG_IO TW_ARC_IO
#endif

typedef struct tw_img_section {
    uint32_t at, bytes;
} tw_img_section_t;

TW_ALWAYS static inline tw_img_section_t tw_img_section(const uint8_t *img, tw_section_t s)
{
    return (tw_img_section_t){tw_img_word(img, 0, TW_W_DIRECTORY + 2u * (uint32_t)s),
                              tw_img_word(img, 0, TW_W_DIRECTORY + 2u * (uint32_t)s + 1)};
}

/** Byte offset of record i of a section of fixed-size records. */
static inline uint32_t tw_img_record(const uint8_t *img, tw_section_t s, uint32_t i, uint32_t words)
{
    return tw_img_section(img, s).at + 4u * words * i;
}

/** Byte offset of a node's record. */
static inline uint32_t tw_img_node(const uint8_t *img, uint32_t node)
{
    return tw_img_word(img, tw_img_section(img, TW_SEC_NODES).at, node);
}

static inline uint32_t tw_img_arc(const uint8_t *img, uint32_t arc)
{
    return tw_img_record(img, TW_SEC_ARCS, arc, TW_ARC_WORDS);
}

typedef struct tw_img_counts {
    uint32_t nodes, arcs, formats, ios, scripts, banks;
} tw_img_counts_t;

#if TW_SMALL
tw_img_counts_t tw_img_counts(const uint8_t *img);
#endif
#if !TW_IMG_OUTLINE
TW_IMG_INLINE tw_img_counts_t tw_img_counts(const uint8_t *img)
{
    const uint32_t a = tw_img_word(img, 0, TW_W_COUNTS), b = tw_img_word(img, 0, TW_W_COUNTS2);
    return (tw_img_counts_t){
        .nodes = tw_bits(a, TW_W12_NODES),
        .arcs = tw_bits(a, TW_W12_ARCS),
        .formats = tw_bits(b, TW_W13_FORMATS),
        .ios = tw_bits(b, TW_W13_IOS),
        .scripts = tw_bits(b, TW_W13_SCRIPTS),
        .banks = tw_bits(b, TW_W13_BANKS),
    };
}
#endif

static inline bool tw_img_wide(const uint8_t *img)
{
    return TW_WIDE_IMAGES && tw_bits(tw_img_word(img, 0, TW_W_CONTROL), TW_W7_WIDE) != 0;
}

/** A record of n0, n1 and arcs alone: its type is an entry of the catalogue, and nothing else is in it. */
static inline bool tw_img_is_compact(const uint8_t *img, uint32_t record)
{
    return TW_COMPACT_RECORDS && tw_bits(tw_img_word(img, record, 0), TW_N0_COMPACT) != 0;
}

/** The node is asked for its memory when the graph is loaded: it has no blocks in the image. */
static inline bool tw_img_is_dynamic(const uint8_t *img, uint32_t record)
{
    return TW_COMPACT_RECORDS && tw_bits(tw_img_word(img, record, 1), TW_N1_DYNAMIC) != 0;
}

/** Word n3, 0 of a compact record. */
static inline uint32_t tw_img_node_n3(const uint8_t *img, uint32_t record)
{
    return tw_img_is_compact(img, record) ? 0 : tw_img_word(img, record, 3);
}

/** Word 0 of a memory block: it is brought to another bank for each call of its node. */
static inline bool tw_img_is_staged(uint32_t block)
{
    return !TW_SMALL && tw_bits(block, TW_NB_SWAP) >= TW_NB_IN_OUT;
}

/** Byte offsets of the parts of a node record, which vary in size. */
typedef struct tw_img_node_parts {
    bool wide;
    uint32_t rx, tx, blocks;
    uint32_t arcs_at, blocks_at, params_at, end; /* params_at 0: none */
#if !TW_SMALL
    uint32_t homes_at; /* a word for each block whose swap is TW_NB_IN_OUT or TW_NB_IN */
#endif
} tw_img_node_parts_t;

#if TW_SMALL
tw_img_node_parts_t tw_img_node_parts(const uint8_t *img, uint32_t record);
#endif
#if !TW_IMG_OUTLINE
TW_IMG_INLINE tw_img_node_parts_t tw_img_node_parts(const uint8_t *img, uint32_t record)
{
    const uint32_t n0 = tw_img_word(img, record, 0), n1 = tw_img_word(img, record, 1);
    tw_img_node_parts_t p = {
        .wide = tw_img_wide(img),
        .rx = tw_bits(n1, TW_N1_RX),
        .tx = tw_bits(n1, TW_N1_TX),
        .blocks = tw_bits(n1, TW_N1_BLOCKS),
        .arcs_at = record + (tw_img_is_compact(img, record) ? 8u : 16u),
    };
    p.blocks_at = p.arcs_at + 4u * (p.wide ? p.rx + p.tx : (p.rx + p.tx + 1u) / 2u);
    p.end = p.blocks_at + 4u * TW_NODE_BLOCK_WORDS * p.blocks;
#if !TW_SMALL
    p.homes_at = p.end;
    for (uint32_t m = 0; m < p.blocks; m++) {
        p.end += tw_img_is_staged(tw_img_word(img, p.blocks_at, TW_NODE_BLOCK_WORDS * m)) ? 4u : 0u;
    }
#endif
    if (tw_bits(n0, TW_N0_PARAMS)) {
        p.params_at = p.end;
        p.end += 8;
    }
    return p;
}
#endif

#if !TW_SMALL
/** Byte offset of the word with the home of a staged block: its offset in the bank of [25:18]. */
static inline uint32_t tw_img_home_at(const uint8_t *img, const tw_img_node_parts_t *p, uint32_t block)
{
    uint32_t at = p->homes_at;
    for (uint32_t m = 0; m < block; m++) {
        at += tw_img_is_staged(tw_img_word(img, p->blocks_at, TW_NODE_BLOCK_WORDS * m)) ? 4u : 0u;
    }
    return at;
}
#endif

/** One entry of a node's arc list. In the small profile it is the halfword itself: one load. */
#if TW_WIDE_IMAGES
typedef struct tw_img_ref {
    uint32_t arc;
    bool tx, hqos, param, lock;
    bool reserved; /* a bit that must be 0 is not */
} tw_img_ref_t;
#else
typedef struct tw_img_ref {
    uint32_t arc : 12, tx : 1, hqos : 1, param : 1, lock : 1, reserved : 1;
} tw_img_ref_t;
#endif

/** Byte offset of entry i. */
static inline uint32_t tw_img_ref_at(const tw_img_node_parts_t *p, uint32_t i)
{
    return p->arcs_at + (TW_WIDE_IMAGES && p->wide ? 4u : 2u) * i;
}

static inline tw_img_ref_t tw_img_ref(const uint8_t *img, const tw_img_node_parts_t *p, uint32_t i)
{
#if TW_WIDE_IMAGES
    const uint32_t at = tw_img_ref_at(p, i), w = p->wide ? tw_get_le32(img + at) : tw_get_le16(img + at);
    if (p->wide) {
        return (tw_img_ref_t){
            .arc = tw_bits(w, TW_NAW_ARC),
            .tx = tw_bits(w, TW_NAW_TX) != 0,
            .hqos = tw_bits(w, TW_NAW_HQOS) != 0,
            .param = tw_bits(w, TW_NAW_PARAM) != 0,
            .lock = tw_bits(w, TW_NAW_LOCK) != 0,
            .reserved = tw_bits(w, TW_NAW_ZERO) != 0,
        };
    }
    return (tw_img_ref_t){
        .arc = tw_bits(w, TW_NA_ARC),
        .tx = tw_bits(w, TW_NA_TX) != 0,
        .hqos = tw_bits(w, TW_NA_HQOS) != 0,
        .param = tw_bits(w, TW_NA_PARAM) != 0,
        .lock = tw_bits(w, TW_NA_LOCK) != 0,
    };
#else
    uint16_t half;
    memcpy(&half, __builtin_assume_aligned(img + p->arcs_at + 2u * i, 2), sizeof half);
    const uint32_t w = half;
    tw_img_ref_t ref;
    memcpy(&ref, &w, sizeof ref);
    return ref;
#endif
}

/** Producer and consumer of an arc: nodes, or TW_IMG_IO. In the small profile it is word 3 itself. */
#if TW_WIDE_IMAGES
typedef struct tw_img_ends {
    uint32_t from, to, from_port, to_port;
    uint32_t io; /* as tw_img_arc_io() */
} tw_img_ends_t;
#else
typedef struct tw_img_ends {
    uint32_t from : 12, to : 12, from_port : 4, to_port : 4;
} tw_img_ends_t;
#endif

/** Graph IO at an end of an arc; meaningful where an end is TW_IMG_IO. */
static inline uint32_t tw_img_arc_io(const uint8_t *img, uint32_t arc)
{
    return tw_bits(tw_img_word(img, tw_img_arc(img, arc), 7), TW_A7_IO);
}

/** Bits of an arc's word 7 that must be 0. */
static inline uint32_t tw_img_arc_reserved(const uint8_t *img, uint32_t arc)
{
    const uint32_t a7 = tw_img_word(img, tw_img_arc(img, arc), 7);
    return tw_img_wide(img) ? tw_bits(a7, TW_A7W_ZERO) : tw_bits(a7, TW_A7_ZERO);
}

static inline tw_img_ends_t tw_img_ends(const uint8_t *img, uint32_t arc)
{
    const uint32_t at = tw_img_arc(img, arc), a3 = tw_img_word(img, at, 3);
#if TW_WIDE_IMAGES
    if (tw_img_wide(img)) {
        const uint32_t a7 = tw_img_word(img, at, 7);
        return (tw_img_ends_t){
            .from = tw_bits(a3, TW_A3W_PRODUCER),
            .to = tw_bits(a3, TW_A3W_CONSUMER),
            .from_port = tw_bits(a7, TW_A7W_PRODUCER_PORT),
            .to_port = tw_bits(a7, TW_A7W_CONSUMER_PORT),
            .io = tw_bits(a7, TW_A7_IO),
        };
    }
    const uint32_t from = tw_bits(a3, TW_A3_PRODUCER), to = tw_bits(a3, TW_A3_CONSUMER);
    return (tw_img_ends_t){
        .from = from == TW_ARC_IO ? TW_IMG_IO : from,
        .to = to == TW_ARC_IO ? TW_IMG_IO : to,
        .from_port = tw_bits(a3, TW_A3_PRODUCER_PORT),
        .to_port = tw_bits(a3, TW_A3_CONSUMER_PORT),
        .io = tw_img_arc_io(img, arc),
    };
#else
    tw_img_ends_t e;
    memcpy(&e, &a3, sizeof e);
    return e;
#endif
}

/** Format index of an arc as its producer or its consumer sees it. */
#if TW_SMALL
uint32_t tw_img_arc_format(const uint8_t *img, uint32_t arc, bool consumer);
#endif
#if !TW_IMG_OUTLINE
TW_IMG_INLINE uint32_t tw_img_arc_format(const uint8_t *img, uint32_t arc, bool consumer)
{
    const uint32_t a0 = tw_img_word(img, tw_img_arc(img, arc), 0);
    return consumer ? tw_bits(a0, TW_A0_CONSUMER_FORMAT) : tw_bits(a0, TW_A0_PRODUCER_FORMAT);
}
#endif

/** Node and port of a lock arc: both ends are one port. The ports' entries are not looked at. */
static inline bool tw_img_same_port(const tw_img_ends_t *e)
{
    return e->from != TW_IMG_IO && e->from == e->to && e->from_port == e->to_port;
}

/** The next TLV of an extension chain at *at, which moves on; false at the end. */
static inline bool tw_img_next_ext(const uint8_t *img, uint32_t *at, uint32_t end, uint32_t *type, uint32_t *payload,
                                   uint32_t *bytes)
{
    if (*at + 8 > end || tw_img_word(img, *at, 0) == 0) {
        return false;
    }
    *type = tw_img_word(img, *at, 0);
    *bytes = tw_bits(tw_img_word(img, *at, 1), TW_EXT_BYTES);
    *payload = *at + 8;
    *at = *payload + tw_round_up(*bytes, 4);
    return true;
}

/**
 * What can be checked without a device: checksums, bounds, cross references, memory, loops and scripts, in the
 * order of docs/GRAPH_IMAGE.md. Node types, the platform and the values of parameters are not looked at.
 * @param scratch  free memory is used for sorting and given back: at most 5 * bytes + 4096
 * @return TW_OK or the first refusal; fault->section = TW_SEC_* + 1 (0 header), at = byte offset
 */
tw_err_t tw_graph_check_structure(const uint8_t *img, uint32_t bytes, tw_arena_t *scratch, tw_fault_t *fault);
