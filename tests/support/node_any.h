/* node_any.h - any use of any node type, in any order, drawn from a source of bytes.
 *
 * One run of it opens a node with formats and arcs its type may accept, in memory exactly as large as its formulas
 * ask, and gives it the commands an engine would: checked parameters, RESETs, RUNs with any data. What must hold
 * whatever comes ends the program when it does not, with a line that says where: no byte beyond what was given
 * (the address sanitizer looks), nothing used beyond what was there, errors only from the parameters' family,
 * read values inside their range.
 */
#pragma once
#include "engine/node/node.h"

/** Bytes to draw from; behind their end, numbers made from `seed` (0: zeros). */
typedef struct any_source {
    const uint8_t *data;
    size_t n, at;
    uint32_t seed;
} any_source_t;

/**
 * Open a node of one type and use it.
 * @param type   entry of the catalogue, modulo its length
 * @param turns  commands at most; ends earlier where `data` do, when there is no seed
 * @return false when the drawn formats were refused: by memreq or RESET, both with the same code
 */
bool any_node(any_source_t *s, uint32_t type, uint32_t turns);

/**
 * Open a node of one type and hold it to the rules of node.h: commands it does not know, values that are SET and READ,
 * presets cold, warm and after STOP, blocks that move. A violation ends the program with a line that says which.
 * @return as any_node()
 */
bool any_node_abi(any_source_t *s, uint32_t type);
