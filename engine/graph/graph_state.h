/* graph_state.h - memory that outlives a loss of power: the blocks of kind "periodic backup" as one row of bytes.
 *
 *   0  u32 'TWGS'   4  u16 version  6  u16 bytes in front of the blocks   8  u32 bytes of all
 *   12 u32 uid of the image   16 u32 CRC-32C of the layout   20 u32 number   24 u64 tick
 *   32 the blocks in the order of nodes and blocks, each filled up to 4 bytes with zeros
 *   then CRC-32C of everything before
 *
 * The layout is {node, hash of its type, block, bytes} of each, 12 bytes: u16 node, u16 block, u32 hash, u32 bytes.
 * Little endian. A cold RESET clears such a block, a warm one leaves it; nodes never clear it, and look at what they
 * find: zeros are a cold start. Nothing here knows where the bytes are kept: tw_board_t.store and .restore do.
 * Source: S0:L510-513, S1:L960-1027 (type 3, about every 15 s, restored at a warm boot).
 */
#pragma once
#include "engine/graph/graph.h"

enum { TW_STATE_MAGIC = 0x53475754, TW_STATE_VERSION = 1, TW_STATE_HEAD = 32, TW_STATE_TAIL = 4 };
/** Block time between two backups [s]. */
enum { TW_STATE_PERIOD_S = 15 };

/** Bytes tw_graph_state_save() writes; 0: the graph has nothing to keep. */
uint32_t tw_graph_state_bytes(const tw_graph_t *g);
/**
 * Between two blocks. Takes as long as it takes to copy and sum up at most TW_STATE_MAX bytes.
 * @param to      tw_graph_state_bytes() of them
 * @param number  counts backups
 */
void tw_graph_state_save(const tw_graph_t *g, uint32_t number, uint8_t *to);
/**
 * Put saved bytes into the blocks, before RESET. They come from outside and are checked whole first.
 * @return TW_OK, TRUNCATED, STATE_DATA (magic, sizes or checksum), STATE_VERSION, STATE_GRAPH (another uid),
 *         STATE_LAYOUT; fault->at = byte offset. Nothing was changed then
 */
tw_err_t tw_graph_state_restore(tw_graph_t *g, const uint8_t *from, uint32_t bytes, tw_fault_t *fault);
