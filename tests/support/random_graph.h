/* random_graph.h - images for tests of the scheduler: trees of nodes with one way in and up to four out.
 *
 * IO 0 feeds the tree, its ends go to IO 4 and up; nodes are numbered in any order. A seed names one graph for ever.
 */
#pragma once
#include "tests/support/image_builder.h"

enum { RG_NODES_MAX = 60, RG_SIZES = 6 };

typedef struct rg_kind {
    uint32_t nodes; /* at most */
    uint32_t sizes; /* 1: all frames of 16 samples; up to RG_SIZES others */
    bool hqos, scripts;
    bool apart;     /* working memory: nodes may run at once */
    uint32_t least; /* nodes */
    uint32_t swap;  /* TW_NB_IN_OUT: all blocks of all nodes are brought elsewhere for each call */
} rg_kind_t;

uint32_t rg_below(uint32_t *seed, uint32_t n);
/** @return bytes of the image; the seed goes on */
uint32_t rg_make(tw_ib_t *ib, uint8_t *img, uint32_t cap, const rg_kind_t *kind, uint32_t *seed);
