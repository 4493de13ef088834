/* graph.h - the graph core: verify an image, build its run-time state, run blocks.
 *
 * One thread at a time owns a graph. No rings, no queue, no second slot: a small
 * device may use this alone; engine.c adds those. The image is read-only; all
 * that changes lies in the arena given at load. What happens inside is told
 * through tw_graph_host_t, whose calls may be NULL.
 */
#pragma once
#include "engine/arc/arc.h"
#include "engine/base/arena.h"
#include "engine/base/port.h"
#include "engine/board/board.h"
#include "engine/graph/twg1.h"
#include "engine/node/node.h"
#include "engine/script/script.h"
#include "engine/script/script_compute.h"

/* Kinds of tw_graph_event_t: the numbers of tw_event_t (engine.h asserts it). */
enum {
    TW_GEV_SCRIPT_FAULT = 1,
    TW_GEV_SCRIPT_EVENT = 2,
    TW_GEV_TRACE = 3,
    TW_GEV_NODE_ERROR = 4,
    TW_GEV_FLOW = 5,
    TW_GEV_IO = 6,
    TW_GEV_APP = 7,
    TW_GEV_USE_CASE = 9, /* 8, 16 and 17: of traces alone, graph_debug.h */
};

typedef struct tw_graph_event {
    uint16_t kind;
    tw_err_t err;
    uint32_t at;
    int64_t value;
    const uint8_t *data; /* valid during the call */
    uint32_t bytes;
} tw_graph_event_t;

/** What a system call of a script brought in from outside the graph. */
typedef enum tw_answer_from {
    TW_FROM_GPIO = 1,
    TW_FROM_APP = 2,
    TW_FROM_LOW = 3,
    TW_FROM_NPU = 4,
} tw_answer_from_t;
typedef struct tw_answer {
    uint32_t from;   /* tw_answer_from_t */
    uint32_t status; /* 0 or the number of a tw_err_t */
    int64_t result;  /* r1 */
    uint8_t *data;   /* what was written for the script, NULL nothing */
    uint32_t bytes;  /* of it; in recall(): the room there is */
} tw_answer_t;

typedef struct tw_graph_host {
    void *ctx;
    void (*event)(void *ctx, const tw_graph_event_t *ev);
    /** `bytes` at `data` were written to an arc that has taps. */
    void (*tap)(void *ctx, void *taps, const uint8_t *data, uint32_t bytes);
    /** An answer came in: for recordings. */
    void (*answer)(void *ctx, const tw_answer_t *a);
    /** A replay: the answer of the recording, instead of asking. NULL: ask. @return false: there is none, ask */
    bool (*recall)(void *ctx, tw_answer_t *a);
} tw_graph_host_t;

/** What a script hands to the application, and what it gets back. */
typedef struct tw_app_call {
    uint32_t code;       /* 0..63 of `callapp`; any of the system call `app` */
    int64_t value;       /* callapp: r0; app: r1 */
    const uint8_t *data; /* r2 bytes of p0, NULL none */
    uint8_t *out;        /* the same place, to be written, NULL: it is read-only */
    uint32_t bytes;
    int64_t result; /* r1 of the script afterwards; 0 before */
} tw_app_call_t;
/** Engine thread, inside a block: takes a bounded time and does not block. @return the script's status */
typedef tw_err_t (*tw_app_fn)(void *ctx, tw_app_call_t *call);
enum { TW_APP_CODES = 64 };
/** Application callbacks of scripts, filled in by who integrates the engine. */
typedef struct tw_apps {
    void *ctx;
    tw_app_fn fn[TW_APP_CODES];
    tw_app_fn any; /* of codes without a function; NULL: they are events for the host (TW_GEV_APP) */
} tw_apps_t;

/** Where the parts of an image are while its graph runs: see tw_graph_place(). */
typedef struct tw_graph_image {
    const uint8_t *whole; /* all of it: where banks, formats and IOs are read */
    const uint8_t *nodes; /* where node records and all behind them are */
    const uint8_t *rest;  /* where arcs, scripts, parameters and extensions are */
    uint32_t ram;         /* [bytes] the copy takes */
} tw_graph_image_t;

/** What a graph needs from around it; outlives it. */
typedef struct tw_graph_env {
    const tw_port_t *port;
    const tw_port_t *ack_port; /* the clock acknowledgements are stamped by, maybe in an interrupt; NULL: `port` */
    const tw_board_t *board;
    tw_graph_host_t host;
    const tw_infer_t *infer; /* networks, NULL none */
    const tw_apps_t *apps;   /* application callbacks, NULL none: all are events */
    uint32_t npu_bytes;      /* for tensors and arenas of networks that scripts run; 0 = TW_SCRIPT_NPU_BYTES */
    const tw_board_t *kept;  /* a warm boot: what it restores is there before RESET (graph_state.h). NULL: a cold one */
    tw_graph_image_t image;  /* all NULL: the image given to tw_graph_load() is all there is */
} tw_graph_env_t;

/** One entry of a node's arc list. */
typedef struct tw_graph_ref {
    uint16_t arc;
    uint8_t hqos, lock, param;
} tw_graph_ref_t;

enum { TW_REF_NONE = 0xFFFF };

/** A node as the scheduler sees it. */
typedef struct tw_graph_node {
    const tw_node_desc_t *desc;
    void *inst;
    const tw_graph_ref_t *refs; /* rx receive arcs, then tx transmit arcs */
    const tw_format_t *fmt;     /* of its parameters */
    uint32_t record;            /* byte offset of its record in the image */
    uint32_t command;           /* trace id, ready to be or-ed with a command */
    uint8_t rx, tx;
    uint8_t reruns;               /* at most, 0 = none */
    uint8_t hqos;                 /* has a high QoS arc: runs when those are ready */
    int16_t script;               /* before and after script, -1 none */
    int16_t own_script;           /* code of a script node, -1 none */
    uint16_t pos;                 /* place in the schedule: its tw_graph_hot_t */
    uint8_t flow;                 /* bit tw_flow_t: control nodes ask it, see graph_control.c */
    bool failed;                  /* its first error was told */
    uint8_t places;               /* of its memory blocks that are in tw_graph_t.places, */
    uint8_t preset;               /* of its last RESET: the image's, or one set since */
    uint32_t place;               /* from here on */
    struct tw_graph_stage *stage; /* its memory is made ready for each call: graph_stage.c; NULL not */
    tw_gauge_t touched;           /* a script of this graph has set a parameter of it, or RESET it */
    tw_gauge_t errors;
    tw_gauge_t load_cycles; /* of a block, mean of the last TW_LOAD_BLOCKS */
} tw_graph_node_t;

/** A memory block with a life of its own. */
enum {
    TW_PLACE_BACKUP = 1, /* is saved and restored */
    TW_PLACE_MOVES = 2,  /* tw_graph_relocate() */
    TW_PLACE_IN_OUT = 4, /* is brought to `fast` for each call of its node, and back */
    TW_PLACE_IN = 8,     /* is brought to `fast` for each call: constants */
    TW_PLACE_CLEAR = 16, /* is zeros when a run begins */
    TW_PLACE_SHOWN = 32, /* of a node that runs behind the protection unit */
};
typedef struct tw_graph_place {
    uint8_t *at;   /* where it is between calls */
    uint8_t *fast; /* where it is during calls of its node; NULL there too */
    uint32_t bytes;
    uint16_t node;
    uint8_t block, flags;
} tw_graph_place_t;

/** Acknowledgements of one IO that may wait for the next scan; a power of two. */
#ifndef TW_IO_ACKS
#define TW_IO_ACKS 8u
#endif

typedef struct tw_graph_ack {
    const uint8_t *data; /* NULL: in the staging buffer */
    uint32_t bytes;      /* 0 a hole */
    uint64_t stamp_us;
} tw_graph_ack_t;

/** Counters of an IO; any thread may look. */
typedef struct tw_graph_io_stats {
    tw_gauge_t frames;         /* moved, whole ones */
    tw_gauge_t acks;           /* served */
    tw_gauge_t holes;          /* frames that were missing or acknowledgements of nothing */
    tw_gauge_t lost;           /* acknowledgements that found no place to wait */
    tw_gauge_t stray;          /* acknowledgements of a stopped IO */
    tw_gauge_t starts_refused; /* by the driver */
    tw_gauge_t stamp_errors;   /* time stamps out of order on the way out */
    tw_gauge_t moves;          /* buffers taken over without a copy */
} tw_graph_io_stats_t;

/** The driver's side of an IO that is moved by acknowledgements. */
typedef struct tw_graph_driver {
    tw_graph_ack_t ring[TW_IO_ACKS];
    _Atomic uint32_t put, taken; /* of acknowledgements: the driver moves put, the engine taken */
    _Atomic uint32_t staged;     /* bytes ever copied into `buffer`: driver */
    _Atomic uint32_t unstaged;   /* and taken out: engine */
    _Atomic bool running, stopped;
    uint8_t *buffer; /* in the graph's memory, NULL: the driver's own */
    uint32_t bytes;
    uint8_t *home;          /* the arc's own buffer */
    uint32_t served;        /* bytes of the first waiting acknowledgement that were served */
    uint32_t flight;        /* bytes START gave that are not acknowledged yet */
    uint32_t wait, backoff; /* scans until a START is tried again */
    uint32_t done;          /* bytes of the frame under way */
    uint32_t looks, heard;  /* for acknowledgements in this block; those that were seen so far */
    uint32_t heard_to;      /* where the bytes of the next one are in `buffer`, counted as `unstaged` */
    bool opened, ongoing, skip, servant;
} tw_graph_driver_t;
/** Loads of nodes are told over this many blocks. In one of them every run is timed: to look at the counter costs as
 *  much as a short node. A node of TW_TIMED_CYCLES or more on average is timed in every run. */
enum { TW_LOAD_BLOCKS = 32, TW_TIMED_CYCLES = 4096 };

/** What a run of a node touches besides its arcs and its memory: one cache line a node, in the order of the schedule.
 *  Whoever changes tw_graph_node_t.inst calls tw_graph_bind(). */
typedef struct tw_graph_hot {
    tw_node_fn run;
    void *inst;
    struct tw_arc *in, *out; /* of a `single` node */
    uint32_t command;        /* RUN, with the trace id */
    uint16_t node;           /* its index */
    uint16_t block_runs;     /* in this block */
    uint32_t load_cycles;    /* since its load was told */
    uint8_t reruns;
    bool plain;  /* stream arcs alone, no high QoS, no script of any kind: runs by the short path */
    bool single; /* plain, one arc in, one out */
    bool line;   /* the place behind goes on with what this node makes: see graph_sched.c */
    bool timed;  /* in every run */
    uint8_t key; /* of its level in the schedule: class, then priority; lower first */
    tw_gauge_t runs, cycles_last, cycles_max;
    tw_gauge_t cycles_avg16; /* of about the last 16 runs that were timed, in 1/16 cycle */
} tw_graph_hot_t;

enum { TW_IO_ASK_SET = 1, TW_IO_ASK_START = 2, TW_IO_ASK_STOP = 4 };
typedef struct tw_graph_io {
    uint32_t hwid;
    tw_arc_t *arc;
    uint32_t arc_index;
    uint32_t frame; /* [bytes] on the IO's side of the arc */
    bool tx, rated;
    bool copy;             /* of set0copy1 */
    bool halted;           /* a script has stopped it */
    uint8_t ask;           /* of scripts, behind the block: TW_IO_ASK_* */
    uint32_t asked[3];     /* settings */
    uint64_t step, period; /* of a block and of a frame, in one unit; due when the phase, stepped each block, reaches
                              the period. img_periods() */
    uint64_t phase;
    tw_gauge_t settings[3];
    /* time stamps in front of frames */
    uint8_t ts, ts_size;
    uint8_t stamp[8]; /* of the frame under way */
    uint64_t stamp_last;
    uint32_t stamp_count;
    tw_graph_io_stats_t stats;
    tw_graph_driver_t *driver; /* NULL: polled */
} tw_graph_io_t;

typedef struct tw_graph_script {
    tw_script_t code; /* installed now */
    tw_script_t boot; /* as in the image */
    uint16_t *labels; /* of the installed code */
    uint8_t *live;    /* TW_SCRIPT_LIVE_BYTES for a replacement, NULL none */
    void *fast;       /* fast_bytes for the translation of the installed code, NULL none */
    uint32_t fast_bytes;
    uint64_t calls;     /* scripts its code calls, or may call once what was put is installed: of who checks */
    uint64_t installed; /* scripts its installed code calls: of who installs */
    tw_gauge_t disabled, faults, runs, last_error, last_pc, bytes, crc;
} tw_graph_script_t;

/** A debug register: 64 bits that are never seen half written. */
typedef struct tw_graph_register {
    tw_gauge_t seq, lo, hi;
} tw_graph_register_t;

/** Ranges of nodes that may be under flow control at once. */
#ifndef TW_MAX_FLOWS
#define TW_MAX_FLOWS 16u
#endif
typedef struct tw_graph_flow {
    uint16_t owner, first, count; /* nodes; first is absolute */
    uint8_t slot, op;
} tw_graph_flow_t;
/** Of them, those that scripts ask for in one block while other instances run. */
enum { TW_LATE_FLOWS = 4 };

/** A script that runs later. */
typedef struct tw_graph_timer {
    uint64_t due_us; /* device time; `fresh`: from the begin of the next block */
    uint32_t order;  /* of the setting: those due at once run in this order */
    uint16_t script;
    bool on, fresh;
} tw_graph_timer_t;

/** What scripts asked for and the graph has not done yet, and what it keeps for them. RESET forgets all of it. */
typedef struct tw_graph_asks {
    int32_t node; /* whose script runs: before or after it, or as it; -1 no node's */
    uint16_t loop_first, loop_last;
    uint8_t loop_times; /* 0 none */
    int8_t use_case;    /* taken behind the block, -1 none */
    bool stop, ios;     /* behind the block: the graph stops; IOs have something to do */
    bool running;       /* a block has begun and not ended */
    uint8_t n_late;
    tw_graph_flow_t late[TW_LATE_FLOWS]; /* behind the block, where other instances are in it */
    uint32_t idle_next_ms;               /* least of this block, UINT32_MAX none */
    uint32_t idle_ms;                    /* of the block before */
    uint32_t n_timers, order;            /* set; settings so far */
    tw_graph_timer_t timers[TW_SCRIPT_TIMERS];
} tw_graph_asks_t;

/** Networks that scripts run: r1 of `poll`. */
typedef enum tw_npu_state { TW_NPU_IDLE = 0, TW_NPU_RUNNING = 1, TW_NPU_DONE = 2, TW_NPU_FAILED = 3 } tw_npu_state_t;
typedef struct tw_npu_run {
    uint32_t handle;
    uint8_t slot, state, n_out;
    uint32_t at, bytes; /* in tw_graph_npu_t.mem */
    const uint8_t *out[TW_INFER_TENSORS];
    uint32_t out_bytes[TW_INFER_TENSORS];
} tw_npu_run_t;
typedef struct tw_graph_npu {
    uint8_t *mem; /* NULL: no script names the call, or there is no backend */
    uint32_t bytes;
    tw_npu_run_t runs[TW_SCRIPT_NPU_RUNS];
} tw_graph_npu_t;

typedef struct tw_graph {
    tw_graph_env_t env;
    const uint8_t *img; /* env.image.rest */
    uint32_t n_nodes, n_arcs, n_ios, n_scripts, n_formats, n_banks;
    tw_format_t *formats;
    tw_graph_node_t *nodes;
    tw_graph_hot_t *hot; /* of each node, in the order they are looked at */
    tw_gauge_t *awake;   /* a bit for each place in `hot`: may be ready; a clear bit says it is not */
    uint32_t block;      /* blocks begun */
    uint32_t block_start, at, level, level_end; /* cycles; place, level and its end the pass has come to */
    uint32_t first_end;                         /* of the first level */
    bool in_block, moved;                       /* a block has begun and not ended; in this pass */
    uint8_t how;                                /* of the image: tw_run_how_t */
    struct tw_graph_mp *mp;                     /* several instances, see graph_mp.h; NULL one */
    bool timing;                                /* every run of this block is timed */
    tw_arc_t *arcs;
    tw_graph_io_t *ios;
    tw_graph_script_t *scripts;
    tw_graph_place_t *places; /* blocks that are backed up or may move, in the order of nodes and blocks */
    uint32_t n_places;
    bool restored;        /* a warm boot: what is backed up is there before the first RESET */
    uint8_t **banks;      /* base of each bank, in the image's order */
    struct grant *grants; /* memory nodes asked for at load, by node and block; NULL none */
    uint32_t n_grants;
    uint8_t *scratch; /* a frame nobody wants */
    tw_services_t svc;
    struct tw_shadow *shadows; /* doubles of nodes (graph_shadow.h), NULL none */
    uint32_t current;          /* node being called: whose script runs */
    tw_script_ctx_t *script_ctx;
    uint8_t *script_scratch; /* memory scripts share; NULL when none does */
    tw_script_host_t script_host;
#if TW_SCRIPT_DEBUG
    struct tw_graph_debug *debug; /* graph_debug.h; NULL: nobody debugs or traces */
#endif
    double period_s; /* of a block */
    uint64_t tick, now_us;
    tw_fault_t node_fault; /* first node that failed, and how */
    uint8_t debug_fields;
    bool in_script;
    /* flow control */
    tw_graph_flow_t flows[TW_MAX_FLOWS];
    uint32_t n_flows;
    uint8_t use_case, reload; /* reload: 0 nothing, 1 warm, 2 cold RESET behind this block */
    bool looping;
    /* scripts */
    tw_graph_asks_t asks;
    tw_script_compute_t compute;
    tw_graph_npu_t npu;
    bool untold;  /* a script faulted while nobody listened: at load */
    bool loading; /* nodes are RESET for the first time, not on the engine's thread: scripts reach nothing outside */
    /* debug tasks of arcs */
    tw_graph_register_t *registers;
    uint32_t n_registers, rewinds; /* arcs that are played again */
    tw_gauge_t last_error;
    tw_gauge_t load_cycles; /* smoothed cycles of a block */
} tw_graph_t;

/**
 * Verify an image completely, in the order of docs/GRAPH_IMAGE.md. Nothing is changed except free
 * memory of `scratch`, which is used for sorting and given back.
 * @return TW_OK or the first refusal; fault->section = TW_SEC_* + 1 (0 header), at = byte offset
 *         from the image start
 */
tw_err_t tw_graph_check(const uint8_t *img, uint32_t bytes, const tw_board_t *board, tw_arena_t *scratch,
                        tw_fault_t *fault);

/**
 * Copy to RAM what a verified image's graph_location (word 7 [1:0]) says, and find its parts.
 *
 *   0  all of it
 *   1  header, and from the node list on; banks, formats and IOs are read where they are
 *   2  header, and from the arc descriptors on; node records too are read where they are
 *   3  nothing: it is in RAM already, or runs in place
 *
 * @param stays  the image stays readable for as long as the graph is there (flash); otherwise all is copied
 * @return TW_OK; NOMEM: fault->at = bytes missing
 *
 * Source: S0:L208-211.
 */
tw_err_t tw_graph_place(const uint8_t *img, uint32_t bytes, bool stays, tw_arena_t *arena, tw_graph_image_t *out,
                        tw_fault_t *fault);
/**
 * Build the run-time state of a verified image from `arena`: banks placed and filled, tables
 * decoded, nodes RESET with preset and boot parameters. The image is borrowed.
 * @return TW_OK; NOMEM: fault->at = bytes it is short of (at least); what a node's RESET refused with,
 *         fault->at = its record. The arena is as it was then
 */
tw_err_t tw_graph_load(tw_graph_t *g, const uint8_t *img, const tw_graph_env_t *env, tw_arena_t *arena,
                       tw_fault_t *fault);
/** RESET every node again with its boot parameters, arcs as at load, scripts enabled. warm: nodes keep what the
 *  signal left behind. */
void tw_graph_reset(tw_graph_t *g, bool warm);
/** STOP every node: the graph will not run again. */
void tw_graph_stop(tw_graph_t *g);

/** STOP the drivers of a graph that will not run another block, or not soon; the next block starts them again. On the
 *  thread that runs blocks, or when none does. */
void tw_graph_ios_stop(tw_graph_t *g);
/** Acknowledge a transfer of IO `io`: see tw_io_ack_fn. Also NOT_FOUND: no such IO, or it is polled. */
tw_err_t tw_graph_io_ack(tw_graph_t *g, uint32_t io, const void *data, uint32_t bytes);
/**
 * Between two blocks: other settings for an IO. Decoded and checked by whoever makes the words.
 * @return TW_OK; NOT_FOUND; UNSUPPORTED the board does not take them, the old ones stay
 */
tw_err_t tw_graph_set_io(tw_graph_t *g, uint32_t io, const uint32_t settings[3]);

/** When tw_graph_run() comes back: the codes of `scheduler_return` (S0:L219). */
typedef enum tw_run_how {
    TW_RUN_IMAGE = 0,   /* as the image says */
    TW_RUN_NODE = 1,    /* after each node */
    TW_RUN_PARSE = 2,   /* after one pass over the nodes */
    TW_RUN_STARVED = 3, /* when nothing is ready any more: the block has ended */
} tw_run_how_t;

/**
 * Run one block: IOs in, nodes until nothing is ready, IOs out.
 *
 * Nodes are looked at by class (node_map_rtos: 1 low latency; 0 any and 2 middle; 3 background), in a class by
 * priority (15 first), then by number. Those of a later class or priority run when no earlier one is ready, and
 * after each of them the earlier ones are asked again.
 */
void tw_graph_block(tw_graph_t *g, uint64_t tick);
/** The same in parts: begin, then run until it returns false. One instance only. */
void tw_graph_begin(tw_graph_t *g, uint64_t tick);
/** @return true: the block goes on with the next call; false: it has ended, or none was begun */
bool tw_graph_run(tw_graph_t *g, tw_run_how_t how);

/** SET / READ a parameter between two blocks. The value was checked. */
tw_err_t tw_graph_set_param(tw_graph_t *g, uint32_t node, uint32_t tag, const uint8_t *value, uint32_t bytes);
tw_err_t tw_graph_get_param(tw_graph_t *g, uint32_t node, uint32_t tag, uint8_t *value, uint32_t *bytes);
/** The node's memory, function or arcs changed place: tell the scheduler. */
void tw_graph_bind(tw_graph_t *g, uint32_t node);
/**
 * Move a memory block of a node, between two blocks: its bytes are copied to `to`, which outlives the graph, and the
 * node is told. @param to  as many bytes; may overlap the old place
 * @return TW_OK; NOT_FOUND no such node or block; UNSUPPORTED its type keeps addresses into it, or the image does not
 *         say that it may move; ALIGN. Nothing has changed then
 */
tw_err_t tw_graph_relocate(tw_graph_t *g, uint32_t node, uint32_t block, void *to);
/** RESET one node; preset < 0 = the image's, with its boot parameters. */
void tw_graph_reset_node(tw_graph_t *g, uint32_t node, int preset, bool warm);

/** Run a script once. @return TW_OK, SCR_DISABLED, SCR_BUDGET, ...; *ctx valid until the next run */
tw_err_t tw_graph_run_script(tw_graph_t *g, uint32_t script, const int64_t *args, unsigned n_args, bool flag,
                             uint32_t budget, const tw_script_ctx_t **ctx);
/** Verify code for a script with the limits the image declares; also that calls stay acyclic. */
tw_err_t tw_graph_check_script(const tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes,
                               uint32_t pool_bytes, tw_fault_t *fault);
/**
 * Remember what checked code calls, for later checks: before it is handed to the thread that installs it.
 * Until tw_graph_settle_calls() both the old and the new code count, because a replacement may still be dropped.
 * @return SCR_DEPTH when with all that was handed over a script would reach itself; nothing changed
 */
tw_err_t tw_graph_note_calls(tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes);
/** Every replacement was installed or dropped: only what is installed counts. */
void tw_graph_settle_calls(tw_graph_t *g);
/** Append whole frames to an arc between two blocks, as far as it has room: no policy acts, nothing in it is lost.
 *  @return bytes taken */
uint32_t tw_graph_write_arc(tw_graph_t *g, uint32_t arc, const uint8_t *data, uint32_t bytes);
/** Install checked code, re-enable the script. Its private memory stays as it is. */
void tw_graph_set_script(tw_graph_t *g, uint32_t script, const uint8_t *code, uint32_t code_bytes, uint32_t pool_bytes);
void tw_graph_enable_script(tw_graph_t *g, uint32_t script, bool on);

/** Value of a debug register; any thread. Figures of samples are FP64 bits, all others counts. @return false: no such
 */
bool tw_graph_register(const tw_graph_t *g, uint32_t reg, uint64_t *value);

/** Symbol of an object, or NULL; *n its length, not NUL-terminated. */
const char *tw_graph_symbol(const uint8_t *img, uint32_t kind, uint32_t index, uint32_t *n);
/** Format index of an arc: the producer's or the consumer's. */
uint32_t tw_graph_arc_format(const tw_graph_t *g, uint32_t arc, bool consumer);
/** Node ids of an arc's ends; a graph IO is 0xFFF, 0xFFFF in a wide image. */
void tw_graph_arc_ends(const tw_graph_t *g, uint32_t arc, uint32_t *from, uint32_t *to);
