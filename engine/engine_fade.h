/* engine_fade.h - two graphs on one board: what was read goes to both, what both write is mixed.
 *
 * Each graph sees a board of its own (a *side*). Alone, a side passes every call on. While a swap fades, the old
 * graph runs first in each block: what it reads is kept for the new one, what it writes is kept until the new one
 * writes the same IO; the board gets the mixture. Neither graph nor board knows. Engine thread, but for init and
 * checks; nothing here allocates.
 *
 *   sample k of a fade over L samples:  y = old + (new - old) * k / L
 *
 * Types that hold no amplitude (bits, text, times, frames with a time stamp) change over in the middle. An IO that
 * only one of the graphs has fades to, or from, silence.
 *
 * An IO that its driver moves stays the old graph's: what that one hears of it the new one hears, too. What both START
 * to send is kept until the block is over, and the mixture is sent as one transfer.
 *
 *   both fade --------> old asks for nothing more --------> SET new, START --------> STOP old
 *      |        over                             idle
 *      +--> rollback, STOP, a driver or a graph that gives nothing: STOP old, SET new as without a fade
 */
#pragma once
#include "engine/graph/graph.h"

enum { TW_FADE_BLOCKS_MAX = 1 << 20 };

typedef enum fade_role { FADE_ALONE, FADE_OLD, FADE_NEW } fade_role_t;

typedef struct fade_io {
    const tw_format_t *fmt;
    uint32_t hwid, frame;
    bool tx, mixes;
    uint8_t *buf;         /* rx: the frame read last; tx: frames waiting for the other graph's */
    uint32_t cap, fill;   /* tx: frames */
    uint64_t tick;        /* rx: of the frame in `buf` */
    uint32_t got;         /* rx: its bytes */
    bool fresh;           /* rx: the other graph may still take it */
    struct fade_io *peer; /* the same IO of the other graph, NULL none */
    uint64_t at, length;  /* tx: samples faded, and of the whole fade; length 0: by blocks */
    bool driven, servant;
    uint8_t *sent;      /* driven tx, the old graph's: the mixture that is under way */
    uint32_t flight;    /* its bytes that were not acknowledged yet */
    bool both;          /* there are frames of both graphs in it */
    bool begun;         /* the new graph's: a transfer had frames of it */
    bool asked;         /* driven rx, the old graph's: START was not answered yet */
    bool taken;         /* the new graph's: the driver is its own */
    uint32_t unmatched; /* blocks in a row in which frames waited, for the driver or the other graph's */
    uint32_t patience;  /* so many of them: a transfer of all there is room for, and some */
} fade_io_t;

typedef struct fade_side {
    tw_board_t board; /* what the graph sees */
    const tw_board_t *real;
    fade_io_t *ios; /* as in the graph; NULL: no memory was left for them */
    uint32_t n;
    uint8_t *mixed;    /* the largest frame */
    uint32_t short_by; /* bytes missing when `ios` is NULL */
    fade_role_t role;
    uint32_t done, blocks; /* of the fade */
    bool watch;            /* look for NaN and infinity in what is written, and keep it from the board */
    bool broken;           /* there was one */
    bool closing;          /* faded: drivers change hands as soon as nothing is under way */
    tw_graph_t *graph;
    struct fade_side *other; /* of the fade */
    uint32_t broken_hwid;
} fade_side_t;

/** The board a graph is to be loaded with. */
void fade_init(fade_side_t *s, const tw_board_t *real);
/** Control, after the load: buffers from `arena`, as far as there is room. */
void fade_prepare(fade_side_t *s, tw_graph_t *g, tw_arena_t *arena);
/**
 * Control: can these two fade?
 * @return TW_OK; NOMEM: at = bytes missing in one of the slots; FADE_FORMAT: at = hwid of an IO they use with two
 *         formats, or 0xFFFFFFFF when their blocks differ in length; FADE_DRIVER: at = hwid of one that one
 *         of them asks for each transfer and the other does not, or whose transfers are shorter than a block
 */
tw_err_t fade_check(const fade_side_t *old, const tw_graph_t *og, const fade_side_t *now, const tw_graph_t *ng,
                    tw_fault_t *fault);
/** Engine, at the boundary of the first block of a fade of `blocks` blocks. */
void fade_begin(fade_side_t *old, fade_side_t *now, uint32_t blocks, double period_s);
/** Some IO's driver moves for both graphs: the fade cannot turn round. */
bool fade_driven(const fade_side_t *now);
/** Engine: turn a fade that runs round; what was `old` becomes the new one, from where the mixture is. */
void fade_turn(fade_side_t *old, fade_side_t *now);
/** Engine, after both graphs ran a block. @return false: the fade is over, `now` is alone */
bool fade_block_done(fade_side_t *old, fade_side_t *now, uint64_t tick);
/** Engine: leave the fade at once; who calls STOPs the drivers of the graph that goes. */
void fade_end(fade_side_t *a, fade_side_t *b);
