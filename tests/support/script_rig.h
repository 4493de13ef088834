/* script_rig.h - a graph with scripts on a pretend board: pins, an application, a listening host.
 *
 * node 0 script (own script 0, a lock arc), IO 0 -> node 1 amplifier -> node 2 amplifier -> IO 4; arcs 0 lock, 1, 2, 3
 * of two frames. Each script has 6 registers, 6 pointers, a stack of 8 and, in p5, 1 KB of memory of its own.
 */
#pragma once
#include "engine/graph/graph.h"
#include "tests/support/engine_rig.h"

enum { SCRIPT_RIG_EVENTS = 64, SCRIPT_RIG_MEMORY = 1024, SCRIPT_RIG_DATA = 128 };

typedef struct script_rig_event {
    tw_graph_event_t ev;
    uint8_t data[SCRIPT_RIG_DATA];
} script_rig_event_t;

typedef struct script_rig {
    rig_t rig;
    tw_ib_t ib;
    tw_graph_t graph;
    tw_board_gpio_t gpio;
    tw_apps_t apps;
    const tw_infer_t *infer;
    uint32_t own;                                 /* script of node 0 */
    uint32_t levels, outputs;                     /* of the pins */
    tw_err_t gpio_fails;                          /* what the next writes answer */
    script_rig_event_t events[SCRIPT_RIG_EVENTS]; /* the first ones since script_rig_load() */
    uint32_t n_events;
    tw_answer_t answers[SCRIPT_RIG_EVENTS]; /* told to the host, without data */
    uint32_t n_answers;
    uint8_t img[65536], memory[1 << 18];
    tw_arena_t arena;
    uint64_t tick;
} script_rig_t;

/** What is changed between open and load (ib, board) goes into the graph. */
void script_rig_open(script_rig_t *r);
/** Assemble; @return its number. Ends the test with the assembler's words when it cannot. */
uint32_t script_rig_add(script_rig_t *r, const char *text);
/** Check and load; @return what either refuses with */
tw_err_t script_rig_load(script_rig_t *r, tw_fault_t *fault);
/** open, add, load: a graph with these scripts; texts end with NULL. */
void script_rig_start(script_rig_t *r, const char *const *texts);
void script_rig_blocks(script_rig_t *r, uint32_t n);
/** Run a script as a host does, r0.. = args. @return its context; NULL: it faulted or is disabled */
const tw_script_ctx_t *script_rig_run(script_rig_t *r, uint32_t script, const int64_t *args, unsigned n);
/** Memory of a script. */
uint8_t *script_rig_memory(script_rig_t *r, uint32_t script);
/** Events of a kind so far; *last the newest of them. */
uint32_t script_rig_count(const script_rig_t *r, uint16_t kind, const script_rig_event_t **last);
