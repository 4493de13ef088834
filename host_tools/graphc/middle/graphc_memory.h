/* graphc_memory.h - banks and parts of banks while they are filled. Knows no node and no arc.
 *
 * A bank as the device lays it out (offsets are what the image carries):
 *
 *   0                               b1                          b1 + b2
 *   | blocks, IO and arc buffers | working memory, overlaid |      b1 a multiple of 16 if b2 > 0
 *
 * Working memory is scratch during one run. Nodes of the same processor and thread never run at the
 * same time, so theirs begins at one base; each other thread has a base of its own. A part split off
 * with memory_mapping is laid out the same way inside its range and counts as static bytes of its bank.
 * Bytes that the text itself places are islands: nothing else is put on them.
 */
#pragma once
#include "host_tools/graphc/middle/graphc_middle.h"

#define MEM_THREADS 32u       /* processor 0..7 x rtos 0..3 */
#define MEM_ALONE MEM_THREADS /* could run anywhere at any time: shares nothing */

/* Bytes whose place the text gives. */
typedef struct mem_span {
    g_pos_t pos;
    uint64_t at, end;
    uint32_t thread; /* of working memory, else MEM_ALONE */
    uint8_t vid;     /* of the bank */
    char what[64];   /* "block 1 of filter.0" */
} mem_span_t;

/* A bank or a part of one. Sizes are 64-bit so that sums cannot wrap. */
typedef struct mem_region {
    const g_map_t *map; /* NULL: a whole bank */
    const tw_bank_manifest_t *bank;
    uint64_t base, limit, fixed;
    uint64_t thread[MEM_THREADS]; /* working bytes of each thread */
    uint64_t thread_base[MEM_THREADS];
    uint64_t end;                    /* of all that is in it, after mem_close() */
    const mem_span_t *spans;         /* places of the text, after mem_settle() */
    uint32_t island, island_end;     /* those of the bank not passed yet */
    uint64_t islands_top, fixed_top; /* ends of the furthest, and of the furthest that is not scratch */
    uint8_t log2_align;
    bool overflows;
    g_pos_t overflow_pos; /* of what did not fit first */
} mem_region_t;

typedef struct mem {
    g_model_t *m;
    mem_region_t *regions;
    mem_span_t *spans; /* by bank and place, after mem_open() */
    uint32_t n_regions, n_spans, cap_spans;
    uint8_t of_vid[256]; /* VID to region + 1, 0 none */
} mem_t;

/** Banks of the platform and parts of the text. @return false when memory is out */
bool mem_open(mem_t *p);
void mem_free(mem_t *p);
/** Region of a VID, or NULL after an error. */
mem_region_t *mem_region(mem_t *p, const g_pos_t *pos, uint8_t vid);
/** Say that the text places something; before mem_settle(). @return false after an error */
bool mem_place(mem_t *p, const mem_span_t *span, uint32_t align);
/** All places of the text are known: sorted, checked against one another. @return false after an error */
bool mem_settle(mem_t *p);
/** What comes from now on lies behind all that was placed and planned so far. */
void mem_behind(mem_region_t *r);
/** Bytes for good. @return offset from the bank's start */
uint32_t mem_fixed(mem_region_t *r, const g_pos_t *pos, uint64_t bytes, uint32_t align);
/** The same bytes in two banks, at one offset. */
uint32_t mem_fixed_both(mem_region_t *a, mem_region_t *b, const g_pos_t *pos, uint64_t bytes, uint32_t align);
/** Bytes in a thread's scratch, of which the node uses *used already. @return offset from the thread's base */
uint32_t mem_working(mem_region_t *r, const g_pos_t *pos, uint32_t thread, uint64_t *used, uint64_t bytes,
                     uint32_t align);
/** Would they fit? */
bool mem_fits_fixed(const mem_region_t *r, uint64_t bytes, uint32_t align);
bool mem_fits_working(const mem_region_t *r, uint32_t thread, uint64_t used, uint64_t bytes, uint32_t align);
/** All is in: bases of the threads, sums of the banks, m->banks. Errors name what is full. */
void mem_close(mem_t *p);
