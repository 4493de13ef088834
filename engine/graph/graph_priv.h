/* graph_priv.h - reading verified and unverified images; shared by the files of this folder. */
#pragma once
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"

/** Runs of one node in one block: a loop of arcs with delay would otherwise never end. */
#ifndef TW_MAX_BLOCK_RUNS
#define TW_MAX_BLOCK_RUNS 64u
#endif
/** Arrays start on this alignment; banks on theirs if it is larger. */
#define TW_BANK_ALIGN 16u

/** Byte offset of the payload of the first extension of a type, 0 when there is none. The chain in front of it was
 *  checked. */
uint32_t img_ext(const uint8_t *img, uint32_t type, uint32_t *bytes);
/** Index of the bank with this VID, or -1. */
int img_bank(const uint8_t *img, uint32_t vid);
void img_format(const uint8_t *img, uint32_t index, tw_format_t *out);
void img_script(const uint8_t *img, uint32_t index, tw_script_t *out);
/** Bytes a node type asks for block m, without the graph's own extra. */
uint64_t img_mem_need(const tw_node_desc_t *d, uint32_t m, const tw_format_t *const *fmt, uint32_t n_fmt);
/** The format has a rate and frames of a known length. */
bool img_rated(const tw_format_t *f);
/**
 * Frame periods of two formats in a common unit, exact for rates whose ratio is below 2^7 or which have few digits, and
 * to 10 digits for any others: counting with them, nothing ever drifts. Integers, so that devices without
 * floating point count alike.
 * @param a, b  rated
 * @param pa, pb  out: below 2^62
 */
void img_periods(const tw_format_t *a, const tw_format_t *b, uint64_t *pa, uint64_t *pb);
/** Times a node may be run again at once. */
uint32_t img_reruns(const uint8_t *img, uint32_t record);
/** Fill with the bytes of a word, from its first byte on. */
void img_fill(uint8_t *to, uint32_t bytes, uint32_t word);
/** Format of entry i of a node's arc list, as that node sees it. */
uint32_t img_ref_format(const uint8_t *img, const tw_img_node_parts_t *p, uint32_t i);

#if TW_COMPACT_RECORDS
/** Type of a node, NULL when it is not installed, or an entry of another catalogue. */
const tw_node_desc_t *img_type(const uint8_t *img, const tw_node_order_t *order, uint32_t record);

/** A block of memory a node asked for at load. */
typedef struct grant {
    uint32_t node, block, bank, at, bytes;
} grant_t;
/**
 * Grant what the dynamic nodes of a verified image ask for, in the nodes' order, block 0 first: each from the first
 * bank that is aligned enough and has room behind all that lies in its static bytes.
 * @param end    room for a word a bank
 * @param out    grants, or NULL: only count
 * @return TW_OK; NOMEM: fault->section NODES, at = bytes missing; what a node refuses its formats with
 */
tw_err_t grants_make(const uint8_t *img, const tw_node_order_t *order, uint32_t *end, grant_t *out, uint32_t *n,
                     tw_fault_t *fault);
#endif

/** Processor and class a node runs on, below TW_THREADS; its record from there on of a node that several processors
 *  may run. Nodes of one thread never run at the same time: these may share memory. */
enum { TW_THREADS = 64 };
uint32_t img_thread(const uint8_t *img, uint32_t record);

/** The other arc of the same buffer behind or before a node that works in place, or the arc itself. */
uint32_t img_shares(const uint8_t *img, uint32_t arc);

/** No script reaches itself. @param calls  mask of each of the first n (<= 64) scripts */
bool graph_calls_acyclic(const uint64_t *calls, uint32_t n);

/* graph_check_nodes.c, graph_check_arcs.c: steps of tw_graph_check() */
typedef struct check {
    const uint8_t *img;
    uint32_t bytes;
    tw_img_counts_t n;
    const tw_board_t *board; /* NULL: structure alone, see tw_graph_check_structure() */
#if TW_COMPACT_RECORDS
    tw_node_order_t *order; /* of this device */
#endif
    tw_arena_t *scratch;
    tw_fault_t *fault;
} check_t;

/** @param number  -err: a positive constant is one instruction less in each of sixty places */
tw_err_t check_refused(const check_t *c, uint32_t number, uint32_t section, uint32_t at);
static inline tw_err_t check_refuse(const check_t *c, tw_err_t err, uint32_t section, uint32_t at)
{
    return check_refused(c, (uint32_t) - (int32_t)err, section, at);
}
/** Type of a node, NULL when only structure is looked at. */
const tw_node_desc_t *check_type_of(const check_t *c, uint32_t record);
#if TW_COMPACT_RECORDS
/** Memory of nodes that ask for it at load has room. */
tw_err_t check_grants(const check_t *c);
#endif
tw_err_t check_ext(const check_t *c);
/** Metadata a node record names. */
tw_err_t check_meta_of(const check_t *c, uint32_t record);
/** Fills of INIT inside their banks; banks are checked. */
tw_err_t check_fills(const check_t *c);
tw_err_t check_nodes(const check_t *c);
tw_err_t check_memory(const check_t *c);
tw_err_t check_arcs(const check_t *c);
tw_err_t check_loops(const check_t *c);
tw_err_t check_scripts(const check_t *c);
tw_err_t check_boot_params(const check_t *c);
#define SEC(name) ((uint32_t)TW_SEC_##name + 1u)

/* graph_flow.c: what happens to data at the arcs */
void flow_event(tw_graph_t *g, uint16_t kind, uint32_t at, int64_t value, tw_err_t err);
void flow_wrote(tw_graph_t *g, tw_arc_t *a, uint8_t *data, uint32_t bytes);
void flow_underflow(tw_graph_t *g, uint32_t arc);
void flow_overflow(tw_graph_t *g, uint32_t arc);
uint8_t *flow_room(tw_graph_t *g, uint32_t arc);
/** A frame is missing: count it, and let the arc's script act where that is the policy. It may move what the arc
 *  holds: no room taken before is good afterwards. @return true: the script has dealt with it */
bool flow_hole(tw_graph_t *g, uint32_t arc);
/** Fill a producer frame of which `got` bytes are there, by the arc's underflow policy. */
void flow_conceal(tw_graph_t *g, uint32_t arc, uint8_t *frame, uint32_t got);
/** Bytes a consumer gets at tw_arc_data(): whole frames. */
uint32_t flow_open(tw_graph_t *g, tw_arc_t *a);
uint32_t flow_write(tw_graph_t *g, uint32_t arc, const uint8_t *data, uint32_t bytes);
/** A frame that found no room, where the arc's policy is to cross-fade. */
void flow_fade_in(tw_graph_t *g, uint32_t arc, const uint8_t *frame);

/* graph_conceal.c: the numbers */
/** Go on from the last two samples, ever more slowly; what is no number is repeated. */
void conceal_extrapolate(const tw_format_t *f, const uint8_t *last, uint8_t *frame, uint32_t got);
/** From `newest` to `frame` in the length of a frame, in `newest`. @return false: not numbers, nothing changed */
bool conceal_fade(const tw_format_t *f, uint8_t *newest, const uint8_t *frame);
/** Bytes of the time stamp in front of each frame. */
static inline uint32_t tw_format_stamp(const tw_format_t *f)
{
    return f->ts == 0 ? 0 : f->ts_size == 0 ? 2u : f->ts_size == 1 ? 4u : 8u;
}

/* graph_task.c: debug tasks of arcs */
/** @return false: out of memory */
bool task_take(tw_graph_t *g, tw_arena_t *arena, uint64_t *missing);
void task_reset(tw_graph_t *g);
void task_wrote(tw_graph_t *g, tw_arc_t *a, const uint8_t *data, uint32_t bytes);
void task_block(tw_graph_t *g);
void task_register_put(tw_graph_t *g, uint32_t reg, uint64_t value);
/** The register holds a figure of samples: FP64 bits. */
bool task_register_real(const tw_graph_t *g, uint32_t reg);

/* graph_io.c: the graph's boundary */
void io_stamp(tw_graph_io_t *io, uint64_t now_us);
void io_stamp_into(const tw_graph_io_t *io, uint8_t *at, uint32_t from, uint32_t to);
void io_stamp_check(tw_graph_io_t *io, const uint8_t *frame);
void io_hole(tw_graph_t *g, tw_graph_io_t *io, uint8_t *room, uint32_t got);
/* graph_driver.c: IOs moved by acknowledgements */
void driver_in(tw_graph_t *g, tw_graph_io_t *io);
bool driver_out(tw_graph_t *g, tw_graph_io_t *io);
void driver_reset(tw_graph_t *g);
/** STOP one; it starts again with the next block, unless it is halted. */
void driver_halt(tw_graph_t *g, tw_graph_io_t *io);
void flow_ios_in(tw_graph_t *g);
/** @return true when a frame went out */
bool flow_ios_out(tw_graph_t *g);

/* graph_load.c */
/** RESET, warm, of a node whose memory was copied from another graph; goes_on: what its arcs hold was, too. */
void graph_reset_carried(tw_graph_t *g, uint32_t node, bool goes_on);
/** Of the memory a node asked for at load; its grants follow one another. */
uint32_t first_grant(const tw_graph_t *g, uint32_t node);
/** What RESET hands a node, but its memory is where it lasts: a staged block is at home. */
void node_memory(const tw_graph_t *g, uint32_t node, tw_node_reset_t *r);

/* graph_stage.c: memory made ready for each call of a node */
typedef struct tw_graph_stage tw_graph_stage_t;
/** After the places. @return false: out of memory */
bool stage_take(tw_graph_t *g, tw_arena_t *arena, uint64_t *missing);
/** A tw_node_fn whose `inst` is the stage. */
uint32_t stage_call(uint32_t cmd, void *stage, tw_xdm_t *data, uint32_t *state);
/** Any command but RUN, whose way is the hot record's. */
static inline uint32_t call_node(const tw_graph_node_t *n, uint32_t cmd, tw_xdm_t *data, uint32_t *state)
{
    return n->stage != NULL ? stage_call(cmd, n->stage, data, state) : n->desc->run(cmd, n->inst, data, state);
}

/* graph_run.c: one node */
void node_error(tw_graph_t *g, uint32_t node, uint32_t err);
bool node_ready(tw_graph_t *g, const tw_graph_hot_t *h);
/** Run a ready node with all that belongs to it: scripts, reruns. @return bytes moved */
uint32_t node_run(tw_graph_t *g, tw_graph_hot_t *h);

/* graph_control.c: flow control by nodes */
#if TW_NODE_TEXTS
static inline bool node_is(const tw_node_desc_t *d, const char *name)
{
    const char *own = d->name;
    for (; *own != 0 && *own == *name; own++) {
        name++;
    }
    return *own == *name;
}
#endif
/** A node that acts on the graph or on the world, not on its arcs alone. graph_shadow.c */
bool node_has_effects(const tw_node_desc_t *d);
/** It steers others: nobody else is to run meanwhile. */
bool control_steers(const tw_node_desc_t *d);
void control_init(tw_graph_t *g);
/** Nothing is under control; the use case stays. */
void control_reset(tw_graph_t *g);
/** A node's hot record was made anew: put it under control again. */
void control_bind(tw_graph_t *g, uint32_t node);
/** What was asked for the end of the block. */
void control_end_block(tw_graph_t *g);
/** A range of nodes for a script; first is absolute, count 0 takes it back. @return PARAM_MATCH, BUSY */
tw_err_t control_put(tw_graph_t *g, const tw_graph_flow_t *want);
/** Behind the turn of a node: the loop its script asked for. */
void control_take_loop(tw_graph_t *g);

/* graph_sys_*.c, graph_timer.c: what scripts asked for */
void asks_reset(tw_graph_t *g);
void io_take_asks(tw_graph_t *g);
void compute_init(tw_graph_t *g);
/** Memory for networks that scripts run; scripts are taken. @return false: out of memory */
bool npu_take(tw_graph_t *g, tw_arena_t *arena, uint64_t *missing);
/** Runs under way are cancelled, results given up. */
void npu_reset(tw_graph_t *g);
/** A block begins: run the scripts whose time has come. */
void timers_run(tw_graph_t *g);

/* graph_sched.c: which node next */
/** Places in the schedule, everybody awake; tables are taken, nodes and arcs decoded. */
void sched_init(tw_graph_t *g);
static inline uint32_t sched_words(uint32_t nodes)
{
    return (nodes + 31) / 32;
}
/** The node at this place may be ready now; one instance. */
static inline void sched_wake_alone(tw_graph_t *g, uint32_t pos)
{
    if (pos != TW_ARC_NOBODY) {
        tw_gauge_t *w = &g->awake[pos / 32];
        tw_gauge_set(w, tw_gauge_get(w) | 1u << pos % 32);
    }
}
/** Several instances: what was written before is seen by whoever takes the bit. */
static inline void sched_wake_shared(tw_graph_t *g, uint32_t pos)
{
    if (pos != TW_ARC_NOBODY) {
        /* in one order with who goes to sleep, see rouse() */
        atomic_fetch_or_explicit(&g->awake[pos / 32], 1u << pos % 32, memory_order_seq_cst);
    }
}
static inline void sched_wake(tw_graph_t *g, uint32_t pos)
{
    if (g->mp != NULL) {
        sched_wake_shared(g, pos);
    } else {
        sched_wake_alone(g, pos);
    }
}
/** Data of an arc were used: its producer goes on, if that is what it waits for. Among several instances it is
 *  always woken: its word and ours could miss one another. */
static inline void sched_consumed(tw_graph_t *g, tw_arc_t *a)
{
    for (tw_arc_t *k = a; k != NULL; k = k == a ? a->shares : NULL) {
        if (g->mp != NULL) {
            sched_wake_shared(g, k->from);
        } else if (k->blocked) {
            k->blocked = false;
            sched_wake_alone(g, k->from);
        }
    }
}
/** Begin of a block on every way: counters, IOs in. End: loads. */
void sched_begin(tw_graph_t *g, uint64_t tick);
void sched_end(tw_graph_t *g);
/* debug_script_fields, and what script 0 finds in r0; in r1 the node of the first two, else NO_NODE */
enum { DBG_BEFORE = 1, DBG_AFTER = 2, DBG_LOOP = 4, DBG_START = 8, DBG_RETURN = 16 };
enum { NO_NODE = -1 };
void sched_debug_script(tw_graph_t *g, uint32_t bit, int32_t node);
/** RUN, counted and, when it is its turn, timed. @return what the node returns */
uint32_t sched_call(tw_graph_t *g, tw_graph_hot_t *h, tw_xdm_t *x, uint32_t *state);

/* graph_mp.c */
enum { MAIN_ID = 1 };
typedef struct tw_graph_mp tw_graph_mp_t;
void mp_block(tw_graph_t *g, uint64_t tick);
/** Main has the node at this place, and with `memory` what it shares with others of its thread, to itself until
 *  mp_drop(); with one instance always. @return MP_BUSY: not now; else what is to be given to mp_drop() */
enum { MP_LOCK = 1, MP_AREA = 2, MP_BUSY = 4 };
uint32_t mp_hold(tw_graph_t *g, uint32_t pos, bool memory);
/** @param held  what mp_hold() returned; nothing happens with MP_BUSY */
void mp_drop(tw_graph_t *g, uint32_t pos, uint32_t held);
/** A node's `flow` has changed, while main has the graph alone: who may run it now? */
void mp_flow(tw_graph_t *g, uint32_t node);
/** Main may run the node at this place. */
bool mp_may(const tw_graph_t *g, uint32_t pos);
/** Main, inside a block: a turn of the node at this place, when it is ready and nobody is at it. @return it moved data
 */
bool mp_run_again(tw_graph_t *g, uint32_t pos);

/* graph_script.c */
enum {
    PHASE_RESET = 0,
    PHASE_BEFORE = 1,
    PHASE_AFTER = 2,
    PHASE_TIMER = 3
}; /* r0 of the scripts of nodes, and timers */
/** `code` runs from the next call on; code and literals must stay where they are. */
void script_install(tw_graph_script_t *s, const tw_script_t *code);
/** Room for the fast machine, if it is there without want elsewhere; scripts run without, too. */
void script_speed_up(tw_graph_t *g, tw_arena_t *arena);
void script_init(tw_graph_t *g);
/** Faults of the time before anybody listened. */
void script_tell_faults(tw_graph_t *g);
/** A script failed: it is disabled, counted and told about. */
void script_isolate(tw_graph_t *g, uint32_t script, tw_err_t err, uint32_t pc);

/* graph_debug.c: with a debugger or a trace */
typedef struct tw_script_start {
    const int64_t *args;
    unsigned n_args;
    bool flag;
    uint32_t budget;
} tw_script_start_t;
/** A run of a script. @return also SCR_HELD: *ctx is the held call, or NULL: it was held before. */
tw_err_t debug_call(tw_graph_t *g, uint32_t script, const tw_script_start_t *start, const tw_script_ctx_t **ctx);
/** The script (or all) is not what it was; `why`: tw_debug_stop_t. */
#if TW_SCRIPT_DEBUG
void debug_gone(tw_graph_t *g, uint32_t script, bool all, unsigned why);
#else
static inline void debug_gone(tw_graph_t *g, uint32_t script, bool all, unsigned why)
{
    (void)g, (void)script, (void)all, (void)why;
}
#endif
uint32_t script_call_node(void *ctx, uint32_t script, uint32_t phase);
/** Run a script on behalf of a node. */
tw_err_t script_run_for(tw_graph_t *g, uint32_t node, uint32_t script, const int64_t *args, unsigned n_args, bool flag,
                        const tw_script_ctx_t **ctx);
