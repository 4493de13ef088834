/* legacy_decode.h - reads the compiled listings of the older graph formats. Host only, and it only reads.
 *
 * Those formats have no magic, no version and no check sum, and every generation moved its fields. What is
 * understood is told with the index of its word; every other word is told as it is. Nothing is guessed
 * without saying so: a listing that was cut or scanned badly yields warnings, and the rest of it stays raw.
 *
 *   header  7 words: destination, {script words 20, IOs 7, formats 5}, words of the node list, arcs,
 *           processors, two of memory use. An earlier build has 4 of which two are understood.
 *   IOs     2 words each; all ones: not used. [10:0] arc (7FF none), [11] tx, [12] servant, [13] copy
 *   formats 3 words: [31:25] raw type, [24:0] frame bytes | FP32 rate, its low 5 bits channels - 1 | domain
 *   scripts first word their number, then indexes and 8-bit codes
 *   nodes   {[9:0] catalogue index, [11:10] arcs} | arcs, two a word: [10:0] index, [11] tx |
 *           memory, one or two words a block | parameters: [15:0] their words, this one included; 3FF ends
 *   arcs    4 words: [26:0] base, [31:27] producer format | [26:0] bytes, [31:27] consumer format | two of state
 *
 * Word 0 is the first one behind the number of words, as the listings' own comments count.
 */
#pragma once
#include "engine/board/manifest.h"

#define TW_LEGACY_WORDS_MAX 65536u

typedef enum tw_legacy_layout {
    TW_LEGACY_UNKNOWN, /* nothing but words */
    TW_LEGACY_EARLY,   /* 4-word header */
    TW_LEGACY_FULL     /* 7-word header */
} tw_legacy_layout_t;

typedef struct tw_legacy_io {
    uint32_t word, number; /* of its first word; among the IOs */
    uint32_t arc;          /* 0x7FF none */
    bool used, tx, copy, servant;
    uint32_t rest, setting; /* bits 14.. that are not understood; second word */
} tw_legacy_io_t;

typedef struct tw_legacy_format {
    uint32_t word, raw, frame_bytes, channels, specific;
    float rate_hz;
} tw_legacy_format_t;

typedef struct tw_legacy_node {
    uint32_t word, index, rest; /* catalogue index; bits 12.. */
    char name[32];              /* from the comment beside it, "" none */
    uint32_t n_arcs;
    struct {
        uint32_t arc, rest;
        bool tx;
    } arcs[4];
    uint32_t memory, n_memory, memory_words; /* first word, blocks, words a block */
    uint32_t params, n_params;               /* first word, words */
} tw_legacy_node_t;

typedef struct tw_legacy_arc {
    uint32_t word, base, bytes, producer, consumer, state[2];
} tw_legacy_arc_t;

typedef struct tw_legacy {
    uint32_t *w; /* words behind the number of words */
    uint32_t n, announced;
    tw_legacy_layout_t layout;
    uint32_t script_words, n_ios, n_formats, list_words, n_arcs, n_nodes; /* n_nodes: those understood */
    uint32_t ios_at, formats_at, scripts_at, nodes_at, arcs_at, rest_at;  /* 0: not in this layout */
    uint32_t nodes_end;                                                   /* first word of the list not understood */
    tw_legacy_io_t ios[127];
    tw_legacy_format_t formats[31];
    tw_legacy_node_t *nodes;
    tw_legacy_arc_t *arcs;
} tw_legacy_t;

/** Word `at`, 0 behind the last one. */
static inline uint32_t tw_legacy_word(const tw_legacy_t *l, uint32_t at)
{
    return at < l->n ? l->w[at] : 0;
}

/**
 * Take the 8-digit words "0x........" of a text, whatever stands around them; what follows "//" is comment.
 * @return false after an error in *d (no words, too many, a word of another length); *l is empty then
 */
bool tw_legacy_decode(tw_legacy_t *l, const char *file, const char *text, size_t n, tw_diags_t *d);
void tw_legacy_free(tw_legacy_t *l);
/** All of it for people, or as JSON; malloc'ed, NULL when memory is out. */
char *tw_legacy_text(const tw_legacy_t *l);
char *tw_legacy_json(const tw_legacy_t *l);
