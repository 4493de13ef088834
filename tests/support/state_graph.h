/* state_graph.h - a graph with memory that is backed up: pictures of 8 x 8, 1 ms each -> detectors of changes against a
 * background that learns. */
#pragma once
#include "engine/graph/graph.h"
#include "tests/support/engine_rig.h"

enum { STATE_SIDE = 8, STATE_PIXELS = STATE_SIDE * STATE_SIDE, STATE_TILES = 4, STATE_PAST = 4 + 2 * STATE_PIXELS };

/** IO i -> detector i -> IO 4 + i, for up to 4 of them. @return bytes of the image */
uint32_t state_graph_image(tw_ib_t *b, uint32_t uid, unsigned detectors, uint8_t *out, uint32_t cap);
/** The same with all blocks brought elsewhere for each call: TW_NB_IN_OUT. */
uint32_t state_graph_swapped(tw_ib_t *b, uint32_t uid, unsigned detectors, uint32_t swap, uint8_t *out, uint32_t cap);
/** One loaded cold, on a board of engine_rig.h, in memory of its own; ends the one before. */
tw_graph_t *state_graph_open(unsigned detectors);
