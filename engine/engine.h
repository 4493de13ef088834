/* engine.h - the engine as the server sees it: graphs, commands, replies.
 *
 * Two threads meet here and nowhere else. The *control* side (one thread: the
 * server) verifies, stages and publishes; the *engine* side (one thread, the
 * real-time one) calls tw_engine_tick() once a block and touches everything that
 * runs. Between them are rings: no lock, no wait, no allocation on the engine
 * side. On a device with one thread both sides are called in turn.
 *
 *   control:  check -> put, put, put -> publish ----> [queue] ----> boundary of tick t
 *   engine :                       replies, events <---- [replies] <---- run block t
 *
 * Everything put before one publish takes effect at one frame boundary, before
 * block t runs, and publish() says which t: it and the engine's boundary are
 * both read-modify-writes of one word, so the answer is exact and nobody waits.
 *
 * A tick is the number of a block since start-up; it never goes back, also
 * not when graphs are swapped, and stands still while no graph runs.
 */
#pragma once
#include "engine/arc/capture.h"
#include "engine/base/arena.h"
#include "engine/base/port.h"
#include "engine/base/ring.h"
#include "engine/board/board.h"
#include "engine/graph/graph_debug.h"
#include "engine/graph/graph_shadow.h"
#include "engine/node/node.h"
#include "engine/script/script.h"

typedef struct tw_engine tw_engine_t;

typedef struct tw_engine_cfg {
    const tw_port_t *port;
    const tw_board_t *board;
    uint32_t queue_bytes;  /* commands to the engine, power of two */
    uint32_t timed_bytes;  /* commands for a named tick, power of two */
    uint32_t reply_bytes;  /* replies and events, power of two */
    uint32_t graph_bytes;  /* each of the two graph slots: image, state, buffers */
    uint32_t undo_bytes;   /* old values of a transaction that waits to be confirmed; 0 = as timed_bytes */
    uint32_t shadow_bytes; /* pool of the shadows, 0 = none; multiple of 64 */
    uint32_t threads;      /* instances that share a graph, at most TW_MAX_INSTANCES; 0 = 1, the engine's thread alone.
                              The board's processors are dealt out among them in turn */
    const tw_infer_t *infer; /* networks nodes may run, NULL none; called from the engine's thread, and from the control
                                thread while a graph is primed (describe, n_models) */
    uint32_t trace_bytes;    /* ring of traces of scripts, power of two; 0: no traces */
    const tw_apps_t *apps;   /* application callbacks of scripts, NULL none */
    uint32_t npu_bytes;      /* of each graph, for networks its scripts run; 0 = TW_SCRIPT_NPU_BYTES */
    /** A replay: what scripts were told by pins, application, board and networks. NULL: they are asked. */
    bool (*recall)(void *ctx, tw_answer_t *a);
    void *recall_ctx;
    /* How an instance with nothing to do sleeps and is woken: tw_crew_t in graph_mp.h; both or NULL, it spins then */
    void (*wait)(void *ctx, uint32_t k);
    void (*wake)(void *ctx, uint32_t k);
    void *wait_ctx;
} tw_engine_cfg_t;

/** Memory tw_engine_init() takes for this configuration [bytes], alignment 64. */
size_t tw_engine_need(const tw_engine_cfg_t *cfg);
/**
 * Build an engine in `mem`; no graph, state EMPTY. `cfg` targets must outlive it.
 * @return TW_E_NOMEM when `bytes` < tw_engine_need(), TW_E_ARG for a bad configuration
 */
tw_err_t tw_engine_init(tw_engine_t **out, const tw_engine_cfg_t *cfg, void *mem, size_t bytes);

/* ---- control side: graphs -------------------------------------------------- */

typedef enum tw_graph_state { TW_GRAPH_EMPTY = 0, TW_GRAPH_STOPPED = 1, TW_GRAPH_RUNNING = 2 } tw_graph_state_t;

/* What the new graph takes over from the old at the boundary, for nodes that are the same in both (graph_carry.h). */
typedef enum tw_carry {
    TW_CARRY_NONE = 0,   /* nothing: every node as RESET left it */
    TW_CARRY_STATE = 1,  /* what the signal left behind; parameters are those of the new image */
    TW_CARRY_PARAMS = 2, /* the same, and parameters as they are in the old graph win over the new image's; settings of
                            IOs that were changed since its load go along */
} tw_carry_t;

typedef struct tw_swap {
    bool start;   /* else the new graph is left STOPPED, without a fade */
    bool confirm; /* watched: overload or NaN in an output rolls back by itself, until put_keep or put_rollback */
    tw_carry_t carry;
    uint32_t fade_us; /* both graphs run and their outputs are mixed for so long, in whole blocks; 0: at once */
} tw_swap_t;

/**
 * Verify an image completely and prime it in the spare slot: memory placed, nodes RESET, boot
 * parameters set, scripts verified. The running graph is not touched.
 * @param in_place  image stays where it is (flash) and outlives the graph: its graph_location says what of it is
 *                  copied to RAM all the same (tw_graph_place()); false: all of it is
 * @return TW_OK: the slot waits for tw_engine_put_swap() or tw_engine_unprime()
 *         TW_E_BUSY: the spare slot still waits for the engine to leave it (one block, or a fade)
 *         TW_E_UNCONFIRMED: the spare slot holds the graph an unconfirmed swap would go back to
 *         TW_E_KEPT_ROOM: the spare slot holds the graph one can go back to, and there is not room behind it to try
 *         this one: fault->at = bytes it is short of, at least; tw_engine_put_keep() gives that graph up
 *         IMG_*, SCR_*, PARAM_*, NOMEM: fault says section (TW_SEC_* + 1, 0 header) and place
 *         After a refusal everything is as it was; after TW_OK there is nothing to go back to until the next swap
 */
tw_err_t tw_engine_prime(tw_engine_t *e, const uint8_t *image, uint32_t bytes, bool in_place, tw_fault_t *fault);
/** The same for a swap to come, whose errors are told here: then the graph one can go back to is still there. */
tw_err_t tw_engine_prime_for(tw_engine_t *e, const uint8_t *image, uint32_t bytes, bool in_place, const tw_swap_t *how,
                             tw_fault_t *fault);
/** Forget a primed graph that was not swapped in. What could be rolled back to before the prime is gone. */
void tw_engine_unprime(tw_engine_t *e);

typedef struct tw_engine_info {
    tw_graph_state_t state;
    uint32_t generation; /* bumped at every swap and unload; 0 = never loaded */
    uint32_t nodes, arcs, ios, scripts;
    uint32_t crc;           /* header CRC of the image: its identity */
    uint32_t uid;           /* word 5 of the image */
    uint32_t image_ram;     /* [bytes] of the slot that hold parts of the image, as its graph_location says */
    uint64_t tick;          /* next block to run */
    uint32_t load_permille; /* engine time of recent blocks / block period */
    uint32_t late_blocks;   /* blocks started late (port reports them, tw_engine_late()) */
    tw_err_t last_error;    /* of the running graph: last script fault etc. */
    char name[32];
    uint64_t functions; /* bit per id of engine/node/services.def: what this device offers its nodes */
} tw_engine_info_t;
void tw_engine_info(tw_engine_t *e, tw_engine_info_t *out);

typedef struct tw_engine_node {
    const tw_node_desc_t *desc;
    const tw_format_t *fmt; /* format its parameters are typed by: first receive arc, else first transmit arc */
    char name[32];          /* symbol, else "<type>.<n>" */
    uint8_t rx, tx;
    uint16_t arcs[TW_MAX_NODE_ARCS];
    uint32_t runs, errors;
    uint32_t cycles_last, cycles_max; /* of a run */
    uint32_t cycles_avg;              /* of about the last 16 runs that were timed */
    uint32_t ns_last, ns_max, ns_avg; /* the same as time */
    uint32_t load_permille;
    uint32_t version; /* bumped by each SET that reached the queue */
    int script;       /* id of its script, -1 none */
} tw_engine_node_t;
/** @return TW_OK, NO_GRAPH, PARAM_NODE */
tw_err_t tw_engine_node(tw_engine_t *e, uint32_t node, tw_engine_node_t *out);
/** Its `version` alone; 0 when there is no such node. */
uint32_t tw_engine_version(tw_engine_t *e, uint32_t node);

typedef struct tw_engine_arc {
    uint32_t from_node, to_node; /* a graph IO: 0xFFF, 0xFFFF in a wide image */
    uint32_t bytes, read, write, overflows, underflows, max_fill, realigns;
    tw_format_t fmt; /* producer's */
    char name[32];   /* symbol, else "arc.<n>" */
    /* debug task: code in [3:0] of cmd, 0 none; value is FP64 bits for codes 10..14 */
    uint32_t debug_cmd, debug_reg;
    uint64_t debug_value;
    /* of the graph IO at one of its ends; counters as in tw_graph_io_stats_t */
    bool has_io;
    struct {
        uint32_t hwid, frames, acks, holes, lost, stray, starts_refused, stamp_errors, moves;
    } io;
} tw_engine_arc_t;
/** @return TW_OK, NO_GRAPH, ARC_NONE */
tw_err_t tw_engine_arc(tw_engine_t *e, uint32_t arc, tw_engine_arc_t *out);

typedef struct tw_engine_script {
    uint32_t bytes, crc; /* code + literals as installed now, CRC-32C */
    bool disabled;
    uint32_t faults, runs;
    tw_err_t last_error;
    uint32_t last_pc;
    char name[32];
} tw_engine_script_t;
/** @return TW_OK, NO_GRAPH, SCRIPT_NONE */
tw_err_t tw_engine_script(tw_engine_t *e, uint32_t script, tw_engine_script_t *out);

typedef struct tw_engine_io {
    uint32_t hwid, arc;
    bool tx;
    uint32_t settings[3]; /* as they are now: options of the IO's manifest */
    char name[32];        /* the board's */
} tw_engine_io_t;
/** Its counters are its arc's (tw_engine_arc). @return TW_OK, NO_GRAPH, NOT_FOUND */
tw_err_t tw_engine_io(tw_engine_t *e, uint32_t io, tw_engine_io_t *out);

/** Pins of the board, NULL none; writes of the control side are its own business, in no group. */
const tw_board_gpio_t *tw_engine_gpio(const tw_engine_t *e);

/* ---- control side: checks before put --------------------------------------- */

/** As tw_param_check() for a node of the current graph; also NO_GRAPH, PARAM_NODE. Type 0 = not given. */
tw_err_t tw_engine_check_param(tw_engine_t *e, uint32_t node, uint32_t index, uint32_t type, const uint8_t *value,
                               uint32_t bytes, tw_fault_t *fault);
/**
 * Verify replacement code for script `script` (limits as declared in the image).
 * @param pool_bytes  literals, at code + round_up(code_bytes, 4); 0 none
 * @return SCR_*, NOMEM: larger than reserved
 */
tw_err_t tw_engine_check_script(tw_engine_t *e, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                                uint32_t pool_bytes, tw_fault_t *fault);

/**
 * Other settings for IO `io` of the current graph.
 * @return NO_GRAPH; NOT_FOUND; UNSUPPORTED: its board takes none at run time; RANGE: no options make these words
 */
tw_err_t tw_engine_check_io(tw_engine_t *e, uint32_t io, const uint32_t settings[3]);

/* ---- control side: commands ------------------------------------------------ */
/* Each put appends to the open group and returns TW_OK or TW_E_QUEUE_FULL (also when the reply
 * it asks for might not fit); the group stays as it was then. `token` != 0 asks for a reply
 * carrying it; put_read, put_run, put_arc_read, put_arc_write always reply. Values must have
 * passed their check against the current graph (or, after put_swap in the same group, the new). */

tw_err_t tw_engine_put_param(tw_engine_t *e, uint32_t token, uint32_t node, uint32_t index, const uint8_t *value,
                             uint32_t bytes);
tw_err_t tw_engine_put_preset(tw_engine_t *e, uint32_t token, uint32_t node, uint32_t preset);
tw_err_t tw_engine_put_read(tw_engine_t *e, uint32_t token, uint32_t node, uint32_t index);
/** Reply: UNSUPPORTED when the driver refuses after all, also told as TW_EV_IO; the old settings stay then. */
tw_err_t tw_engine_put_io(tw_engine_t *e, uint32_t token, uint32_t io, const uint32_t settings[3]);

/**
 * Make the primed graph the current one. The old one stays in its slot to go back to, until the next prime, put_keep
 * or put_unload. The reply comes when the new graph takes over (a fade begins there); its value: blocks of the fade.
 * @return STATE: nothing primed; FADE_FORMAT: fault->at = hwid of an IO the graphs use with two formats, 0xFFFFFFFF
 *         when their blocks differ in length; FADE_DRIVER: of one they use through its driver; NOMEM: fault->at = bytes
 * the slot is short of for fading or carrying; RANGE: a fade of more than 2^20 blocks. The graph stays primed
 */
tw_err_t tw_engine_put_swap_to(tw_engine_t *e, uint32_t token, const tw_swap_t *how, tw_fault_t *fault);
/** The same, at once and with nothing carried over. */
tw_err_t tw_engine_put_swap(tw_engine_t *e, uint32_t token, bool start);
/**
 * Go back to the graph before the last swap, with the parameters it had; it takes the time `fade_us`, 0 one block.
 * With a fade, and where that swap carried state over, the signal's state comes along, so that nothing is heard but the
 * fade; at once, the graph is as it was when it stopped: levels do not glide back. A fade that still runs is turned
 * round where it is. Going back once more comes forward again.
 * @return NO_ROLLBACK, BUSY: a swap is on its way; the reply may say GENERATION: the engine went back by itself
 */
tw_err_t tw_engine_put_rollback(tw_engine_t *e, uint32_t token, uint32_t fade_us);
/** Give up the graph one could go back to; an unconfirmed swap is confirmed. @return as put_rollback */
tw_err_t tw_engine_put_keep(tw_engine_t *e, uint32_t token);

/* ---- changes that wait to be confirmed ---- */

/**
 * The group's put_param, put_preset, put_script and put_io between arm and armed remember what they replace, before the
 * first of them is applied to its node. From then on overload or NaN in an output puts all of it back, and put_revert
 * does.
 * @param id  the caller's name for it, told by tw_engine_guard(); not 0
 * @return UNCONFIRMED: something else waits; the puts in between may say TXN_FULL: the old values find no room
 */
tw_err_t tw_engine_put_arm(tw_engine_t *e, uint32_t id);
tw_err_t tw_engine_put_armed(tw_engine_t *e);
/** Keep the new values. The reply says REVERTED when they are gone already. */
tw_err_t tw_engine_put_confirm(tw_engine_t *e, uint32_t token, uint32_t id);
/** Put the old values back, all at one boundary, which the reply names; REVERTED as above. */
tw_err_t tw_engine_put_revert(tw_engine_t *e, uint32_t token, uint32_t id);

typedef enum tw_waits { TW_WAITS_NOTHING = 0, TW_WAITS_SWAP = 1, TW_WAITS_VALUES = 2 } tw_waits_t;
typedef enum tw_revert { TW_REVERT_NONE = 0, TW_REVERT_OVERLOAD = 1, TW_REVERT_NAN = 2 } tw_revert_t;
typedef struct tw_engine_guard {
    tw_waits_t armed;  /* what waits to be confirmed */
    uint32_t id;       /* of armed values */
    bool fading, kept; /* a fade runs; there is a graph to go back to */
    uint32_t reverts;  /* how often the engine went back by itself; of the last time: */
    tw_revert_t reason;
    uint32_t at;   /* NAN: hwid of the output; OVERLOAD: load in permille */
    uint64_t tick; /* block before which it happened */
} tw_engine_guard_t;
void tw_engine_guard(tw_engine_t *e, tw_engine_guard_t *out);
tw_err_t tw_engine_put_unload(tw_engine_t *e, uint32_t token);

typedef enum tw_control {
    TW_CTL_START = 0,
    TW_CTL_STOP = 1,
    TW_CTL_STEP = 2,
    TW_CTL_RESET = 3,
    TW_CTL_WARM = 4
} tw_control_t;
tw_err_t tw_engine_put_control(tw_engine_t *e, uint32_t token, tw_control_t op, uint32_t steps);
/**
 * Replace a script's code and literals (checked before); also re-enables a disabled script.
 * @return also SCR_DEPTH: with others put since their check, scripts would call one another in a circle
 */
tw_err_t tw_engine_put_script(tw_engine_t *e, uint32_t token, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                              uint32_t pool_bytes);
/** Run a script once at the boundary; reply data: 8 x i64 = r0..r5, T, instructions used. */
tw_err_t tw_engine_put_run(tw_engine_t *e, uint32_t token, uint32_t script, const int64_t *args, unsigned n_args,
                           uint32_t budget);
/** Disable (true) or enable a script. */
tw_err_t tw_engine_put_script_off(tw_engine_t *e, uint32_t token, uint32_t script, bool off);
/** Latest bytes of an arc, at most `limit` (<= 4096), whole frames; does not consume. */
tw_err_t tw_engine_put_arc_read(tw_engine_t *e, uint32_t token, uint32_t arc, uint32_t limit);
/**
 * Append whole frames to an arc: all, or with `partial` those it has room for. The reply's value holds the bytes
 * taken in its upper 32 bits and the bytes still free in the lower; BUSY: no room for all, nothing was written.
 * @return RANGE: not whole frames of the arc's producer
 */
tw_err_t tw_engine_put_arc_write(tw_engine_t *e, uint32_t token, uint32_t arc, const uint8_t *data, uint32_t bytes,
                                 bool partial);

/** A tap on an arc: the engine copies every frame written to the arc into `ring`, or captures it around a trigger. */
typedef struct tw_probe {
    tw_ring_t ring;           /* records: u64 tick, u32 dropped so far, u32 0, then the bytes */
    _Atomic uint32_t dropped; /* frames that did not fit */
    uint32_t arc;
    tw_capture_t *capture; /* not NULL: feed this instead of the ring */
    uint32_t script; /* cause SCRIPT: runs after each block that wrote to the arc, r0 = arc, r1 = bytes; T fires */
    _Atomic uint32_t script_error; /* number of the error its last run ended with, 0 none */
    /* the engine's */
    struct tw_probe *next, *next_watch;
    uint32_t fed; /* bytes in this block */
} tw_probe_t;
#define TW_PROBE_HEADER 16u
/**
 * Attach; the probe belongs to the engine until the reply of put_unprobe (or of a swap, unload).
 * @return also SCRIPT_NONE
 */
tw_err_t tw_engine_put_probe(tw_engine_t *e, uint32_t token, tw_probe_t *probe);
tw_err_t tw_engine_put_unprobe(tw_engine_t *e, uint32_t token, tw_probe_t *probe);

/* ---- control side: shadows of nodes -------------------------------------------------- */

/**
 * Begin a shadow of a node (graph_shadow.h) at the group's boundary, in memory of the pool cfg.shadow_bytes. Publish
 * the group: there is no way back but drop.
 * @param skip    samples that are not compared at first
 * @param shadow  out: its number, 0..TW_MAX_SHADOWS - 1
 * @param bytes   out: memory it takes; NOMEM: bytes the pool is short of
 * @return NO_GRAPH, PARAM_NODE, UNSUPPORTED, SHADOW_NONE (all are in use), NOMEM, QUEUE_FULL; the reply may say what
 *         RESET refused, or GENERATION
 */
tw_err_t tw_engine_put_shadow(tw_engine_t *e, uint32_t token, uint32_t node, uint64_t skip, uint32_t *shadow,
                              uint32_t *bytes);
/** Set one of its parameters; checked as one of its node's. @return SHADOW_NONE */
tw_err_t tw_engine_put_shadow_param(tw_engine_t *e, uint32_t token, uint32_t shadow, uint32_t index,
                                    const uint8_t *value, uint32_t bytes);
/** Reply data: a tw_shadow_sums_t. @param restart  count anew from here */
tw_err_t tw_engine_put_shadow_read(tw_engine_t *e, uint32_t token, uint32_t shadow, bool restart);
/** Its number is free once the engine has it: publish the group. @return SHADOW_NONE, also when it was dropped before
 */
tw_err_t tw_engine_put_shadow_drop(tw_engine_t *e, uint32_t token, uint32_t shadow);
/** Largest piece of the pool that is free [bytes]. A swap, rollback or unload frees all shadows. */
uint32_t tw_engine_shadow_room(tw_engine_t *e);

/* ---- control side: debugging scripts ---------------------------------------------- */

/**
 * A command to the debugger of the graph's scripts (graph_debug.h), at the group's boundary. A swap, rollback or unload
 * detaches it. Reply data: as tw_debug_command() says; its err also BUSY: what is recorded could not be replayed.
 * @return NO_GRAPH, SCRIPT_NONE, RANGE (more data than fits), UNSUPPORTED (built without), QUEUE_FULL
 */
tw_err_t tw_engine_put_debug(tw_engine_t *e, uint32_t token, const tw_debug_cmd_t *q);
/** Changes when a script is held, ends or cannot go on: ask for the state then. Any thread. */
uint32_t tw_engine_debug_stops(tw_engine_t *e);
/** Next record of the trace with its data, until tw_engine_trace_done(); NULL when there is none. One thread. */
const tw_trace_t *tw_engine_trace(tw_engine_t *e, const uint8_t **data);
void tw_engine_trace_done(tw_engine_t *e);
/** Records that found no room. */
uint32_t tw_engine_trace_lost(tw_engine_t *e);

/* ---- control side: recording -------------------------------------------------------- */

typedef enum tw_recorder_state {
    TW_RECORDER_WAITING = 0, /* for a graph that is primed after tw_engine_record() and swapped in, without a fade from
                                one that runs and with nothing carried over */
    TW_RECORDER_ON = 1,
    TW_RECORDER_FULL = 2,  /* the ring took no more: the recording ends here, the graph goes on */
    TW_RECORDER_ENDED = 3, /* as asked, or before going back to a graph of before the recording */
} tw_recorder_state_t;

/**
 * Everything a graph hears and says, for a bit-exact replay: commands as they apply, inputs, times, checksums of the
 * outputs. The engine writes the ring, one record of engine/base/record.h each, and never waits for its reader.
 */
typedef struct tw_recorder {
    tw_ring_t ring;
    bool outputs; /* keep whole output frames, not their checksums alone */
    /** Control thread: image `id` was primed; records name it. Valid during the call. */
    void (*image)(void *ctx, uint32_t id, const uint8_t *image, uint32_t bytes);
    void *ctx;
    _Atomic uint32_t state; /* tw_recorder_state_t; FULL and ENDED: the engine is done with it */
    _Atomic uint32_t stop;  /* control: 1 = end before the next block */
    uint32_t first_image;   /* the engine's */
} tw_recorder_t;
/** Record from the next graph that is primed on, one recorder at a time; its fields before `state` are set. NULL: none,
 *  once the one there was is FULL or ENDED. @return BUSY: another one records */
tw_err_t tw_engine_record(tw_engine_t *e, tw_recorder_t *r);
/** The number of the first block, for a replay; before the first graph. */
void tw_engine_first_tick(tw_engine_t *e, uint64_t tick);
/** Let the next block count as the one that took too long, for a replay: nothing takes time there. */
void tw_engine_overload(tw_engine_t *e);

/**
 * Look at the open group as a whole: the values each node will have once it is applied, all together, for node types
 * that look at relations (tw_node_desc_t.validate with index 256). A node whose values are not all known, because a
 * script sets them, passes.
 * @return TW_OK, or what validate refused with: *node, and fault->at = parameter index; the group stays open
 */
tw_err_t tw_engine_check_group(tw_engine_t *e, uint32_t *node, tw_fault_t *fault);

/** Bytes a group may still take. */
uint32_t tw_engine_room(tw_engine_t *e);
/** Hand the group over. @return the tick whose block is the first to run with it. */
uint64_t tw_engine_publish(tw_engine_t *e);
enum { TW_TICK_AHEAD_MAX = (1 << 29) - 1 }; /* blocks: six days at a millisecond each */
/**
 * Hand the group over for tick `tick`, one such group at a time (TW_E_BUSY otherwise). Only
 * put_param, put_preset, put_script, put_io. A reply with token `token` names the tick it happened.
 * @return TXN_TICK when `tick` is not at least 2 ahead, RANGE when more than TW_TICK_AHEAD_MAX, TXN_METHOD for
 *         other commands; the group stays open.
 *         A graph swapped in before the tick turns every reply of the group into GENERATION, a
 *         hand-over that came too late into TXN_TICK; nothing was applied then
 */
tw_err_t tw_engine_publish_at(tw_engine_t *e, uint64_t tick, uint32_t token);
/**
 * Take back the group that waits for its tick under `token` (not 0). The versions it raised stay as they are.
 * @return false: there is none, or the engine has it already and answers within a block
 */
bool tw_engine_withdraw(tw_engine_t *e, uint32_t token);
/** Forget the open group. */
void tw_engine_drop(tw_engine_t *e);

/* ---- control side: replies and events --------------------------------------- */

typedef enum tw_reply_kind {
    TW_REPLY_DONE = 0,  /* to a token; data as the put says */
    TW_REPLY_EVENT = 1, /* token 0: see tw_event_t */
} tw_reply_kind_t;

typedef enum tw_event {
    TW_EV_SCRIPT_FAULT = 1, /* at = script, value = pc, err = reason; script disabled */
    TW_EV_SCRIPT_EVENT = 2, /* at = tag, value = r1, data = bytes of p0 */
    TW_EV_TRACE = 3,        /* at = format id, value = r1 */
    TW_EV_NODE_ERROR = 4,   /* at = node, first time only */
    TW_EV_FLOW = 5,         /* at = arc, value = 0 underflow, 1 overflow; first of a series */
    TW_EV_IO = 6,           /* at = hwid, value: back-end's; err: settings it refused */
    TW_EV_APP = 7,          /* at = callapp code, value = r0 */
    TW_EV_USE_CASE = 9,     /* a script asked for use case `at`: the graph has it from here on; value = before */
    TW_EV_DEBUG = 8,        /* a debugger holds a script: at = script, value = pc */
} tw_event_t;

typedef struct tw_engine_reply {
    uint32_t token;
    uint16_t kind, event;
    tw_err_t err;
    uint32_t at;
    int64_t value;
    uint64_t tick;       /* block before which it happened */
    const uint8_t *data; /* valid until tw_engine_reply_done() */
    uint32_t bytes;
} tw_engine_reply_t;
/** Next reply or event; false when there is none. Drain often: events that do not fit are counted. */
bool tw_engine_reply(tw_engine_t *e, tw_engine_reply_t *out);
void tw_engine_reply_done(tw_engine_t *e);
/** Events lost because nobody drained. */
uint32_t tw_engine_events_lost(tw_engine_t *e);

/* ---- engine side --------------------------------------------------------------- */

/** One frame boundary and, while RUNNING, one block. Never blocks. @return true when a block ran. */
bool tw_engine_tick(tw_engine_t *e);
/**
 * Thread k of cfg.threads, from 1: run what is ready in the block that is open, once through. Never blocks; it may be
 * called at any time by one thread for each k. @return something ran: ask again at once
 */
bool tw_engine_help(tw_engine_t *e, uint32_t k);
/** Thread k has asked in vain for a while: it sleeps in cfg.wait as long as there is nothing for it. */
void tw_engine_doze(tw_engine_t *e, uint32_t k);
/** A block is open: a helper should rather spin than sleep. */
bool tw_engine_busy(const tw_engine_t *e);
/**
 * What the scripts of the block before said about a pause (`idle`): until then nothing urgent comes, so a port may
 * sleep longer. Engine side only. @return [ms] the shortest of them; UINT32_MAX: none said anything
 */
uint32_t tw_engine_idle_ms(const tw_engine_t *e);
/** Seconds of one block of the graph that runs; 0.001 without a graph. Engine side only. */
double tw_engine_period_s(const tw_engine_t *e);
/**
 * Save now what outlives a loss of power (graph_state.h), on the engine's thread or once that has ended. A running
 * engine does so every 15 s of block time, and at STOP and unload.
 * @return false: nothing to save, or the board has no room yet
 */
bool tw_engine_save_state(tw_engine_t *e);
/** The port started a block late (missed its time); counted. */
void tw_engine_late(tw_engine_t *e);
