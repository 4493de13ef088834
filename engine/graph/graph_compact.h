/* graph_compact.h - the graph core for devices with a kilobyte of RAM: the same images, the same verification, the
 * same nodes; all that changes lies in one small state block.
 *
 * Nothing is decoded into tables: what an arc or a node is, is read in the image each time, which therefore wants
 * memory that is read as fast as RAM, such as a microcontroller's flash. One thread, one graph, no wire, no scripts.
 * Frames, readiness and counters follow the rules of graph.h; the output is the same, bit for bit.
 *
 * State block, 32-bit words in the machine's byte order, rebuilt at every cold RESET:
 *
 *   0 magic 'TWGS'   1 uid of the image   2 generation: RESETs so far   3 tw_compact_state_t
 *   4 [7:0] owner, the processor that runs it   [31:8] heartbeat: blocks run
 *   node, 4 words: [7:0] lock (0 here) [10:8] tw_compact_node_t [31:16] runs in this block; runs;
 *                  0 (times of runs: nobody here measures them); errors
 *   arc, 4 words:  write; read [bytes from the buffer's start]; [15:0] overflows [31:16] underflows, both stop at
 *                  65535; heartbeat of the last write
 *
 * Refused here, though a larger device takes it: scripts, high QoS arcs, flow-error policies other than "zeros" and
 * "drop the newest", rated IOs whose frames do not all last equally long, memory copied or swapped.
 */
#pragma once
#include "engine/base/arena.h"
#include "engine/base/port.h"
#include "engine/board/board.h"
#include "engine/graph/twg1_read.h"
#include "engine/node/node.h"

#define TW_STATE_MAGIC 0x53475754u /* bytes 'T','W','G','S' */
#define TW_STATE_HEADER_WORDS 5u
#define TW_STATE_NODE_WORDS 4u
#define TW_STATE_ARC_WORDS 4u
#define TW_S4_OWNER 7, 0
#define TW_S4_HEARTBEAT 31, 8
#define TW_SN0_LOCK 7, 0
#define TW_SN0_STATUS 10, 8
#define TW_SN0_BLOCK_RUNS 31, 16
#define TW_SA2_OVERFLOWS 15, 0
#define TW_SA2_UNDERFLOWS 31, 16

typedef enum tw_compact_state {
    TW_COMPACT_BOOT = 0,    /* before the first RESET */
    TW_COMPACT_READY = 1,   /* nodes RESET, no block yet */
    TW_COMPACT_RUNNING = 2, /* blocks run */
    TW_COMPACT_STOPPED = 3  /* nodes STOPped */
} tw_compact_state_t;

typedef enum tw_compact_node {
    TW_COMPACT_NODE_BOOT = 0,
    TW_COMPACT_NODE_RESET = 1,
    TW_COMPACT_NODE_IDLE = 2,
    TW_COMPACT_NODE_ACTIVE = 3,
    TW_COMPACT_NODE_RERUN = 4,
    TW_COMPACT_NODE_STOPPED = 5
} tw_compact_node_t;

typedef struct tw_compact {
    const uint8_t *img;
    const tw_board_t *board;
    uint32_t *state; /* see above */
    uint32_t *arcs;  /* its first arc */
    tw_format_t *formats;
    uint8_t **banks;  /* in the image's order */
    uint8_t *credit;  /* of each IO: frames it may move now; 0xFF without a rate: any */
    uint8_t *scratch; /* a frame nobody wants */
    const tw_services_t *svc;
    tw_fault_t fault; /* first node that failed since RESET, and how */
} tw_compact_t;

/** Bytes of the state block of an image with so many nodes and arcs. */
static inline uint32_t tw_compact_state_bytes(uint32_t nodes, uint32_t arcs)
{
    return 4u * (TW_STATE_HEADER_WORDS + TW_STATE_NODE_WORDS * nodes + TW_STATE_ARC_WORDS * arcs);
}

/**
 * Verify an image completely (tw_graph_check()), build its state from `arena`, RESET the nodes with their boot
 * parameters. The image stays where it is and must be aligned to 4; board and services outlive the graph.
 * @return TW_OK, ALIGN; any refusal of tw_graph_check(); IMG_SCRIPT, IMG_ARC or IMG_IO for what is not for this core;
 *         NOMEM: fault->at = bytes it is short of; what a node's RESET refused with, fault->at = its record.
 *         After a refusal the arena is as it was
 */
tw_err_t tw_compact_load(tw_compact_t *c, const uint8_t *img, uint32_t bytes, const tw_board_t *board,
                         const tw_services_t *svc, tw_arena_t *arena, tw_fault_t *fault);
/** RESET every node again with its boot parameters, arcs as at load. warm: nodes keep what the signal left behind.
 *  @return the first node's refusal */
tw_err_t tw_compact_reset(tw_compact_t *c, bool warm);
/** STOP every node. Only a RESET makes the graph run again. */
void tw_compact_stop(tw_compact_t *c);
/** Run one block: IOs in, nodes until nothing is ready, IOs out. */
void tw_compact_block(tw_compact_t *c, uint64_t tick);

/** State words of a node and of an arc. */
static inline uint32_t *tw_compact_node_words(const tw_compact_t *c, uint32_t node)
{
    return c->state + TW_STATE_HEADER_WORDS + TW_STATE_NODE_WORDS * node;
}
static inline uint32_t *tw_compact_arc_words(const tw_compact_t *c, uint32_t arc)
{
    return c->arcs + TW_STATE_ARC_WORDS * arc;
}
