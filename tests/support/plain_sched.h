/* plain_sched.h - the scheduler as a sentence: each pass asks every node in order, until a pass moves nothing.
 *
 * What tw_graph_block() does with fewer questions and a shorter way to the node; tests compare both.
 */
#pragma once
#include "engine/graph/graph.h"

void plain_block(tw_graph_t *g, uint64_t tick);
