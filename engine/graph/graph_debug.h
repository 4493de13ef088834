/* graph_debug.h - one debugger of a graph's scripts: breakpoints, a held call, steps, a trace.
 *
 * A call that reaches a breakpoint is *held*: its machine state stays where it is, the graph gets another one for the
 * scripts to come and goes on as if this script were absent (T = 1). Calls that would run it meanwhile are counted.
 * Steps and the rest of the call are run between two blocks, TW_DEBUG_PORTION instructions each time at most, so that
 * the block is never late. One call is held at a time; while it is, others pass their breakpoints, which is counted.
 *
 *             breakpoint, watch, brk, asked           step, continue, ...
 *    FREE ----------------------------------> HELD <----------------------> GOING
 *     ^ ^                                      |       stop                  |  |
 *     | +----- drop, replaced, disabled, reset-+-----------------------------+  | fault
 *     +------------------------------------------------------- call ended ------+----> DEAD (to be looked at)
 *
 * All calls are of the thread that runs the blocks, between two blocks. With no debugger a run of a script costs one
 * test of a pointer; with one, scripts without breakpoints that call none with breakpoints run at full speed.
 * Meaning of each command: docs/SCRIPT_DEBUG.md.
 */
#pragma once
#include "engine/graph/graph.h"
#include "engine/script/script_debug.h"

enum {
    TW_DEBUG_BREAKS = 16,
    TW_DEBUG_PORTION = 256,   /* instructions of a held call between two blocks: what a call has by default */
    TW_DEBUG_TOP = 8,         /* stack entries in a state */
    TW_DEBUG_DATA = 64,       /* bytes of one poke */
    TW_DEBUG_PEEK_MAX = 512,  /* bytes of one peek */
    TW_DEBUG_SCRIPTS = 256,   /* of a graph: what an image can hold */
    TW_DEBUG_NOBODY = 0xFFFF, /* no script */
    TW_TRACE_DATA = 128,      /* bytes of a trace record */
};

typedef enum tw_debug_state_code {
    TW_DEBUG_OFF = 0,
    TW_DEBUG_FREE = 1,
    TW_DEBUG_HELD = 2,
    TW_DEBUG_GOING = 3,
    TW_DEBUG_DEAD = 4,
} tw_debug_state_code_t;

typedef enum tw_debug_stop {
#define TW_DEBUG_STOP(code, NAME, holds, text) TW_STOP_##NAME = (code),
#include "engine/graph/debug_stops.def"
} tw_debug_stop_t;

/* ---- breakpoints ---------------------------------------------------------------- */

typedef enum tw_break_kind {
    TW_BREAK_NONE = 0,
    TW_BREAK_PC = 1,     /* before the instruction at `at` */
    TW_BREAK_VALUE = 2,  /* register `what` (TW_LOOK_*) is another one after an instruction of the script */
    TW_BREAK_MEMORY = 3, /* `bytes` (1, 2, 4, 8) of the script's memory at `at` are others */
} tw_break_kind_t;
enum { TW_BREAK_ONCE = 1, TW_BREAK_OFF = 2 }; /* flags */
typedef enum tw_break_op { TW_IF_ALWAYS, TW_IF_EQ, TW_IF_NE, TW_IF_LT, TW_IF_LE, TW_IF_GT, TW_IF_GE } tw_break_op_t;

typedef struct tw_debug_break {
    uint8_t kind, flags;
    uint8_t what, bytes;
    uint8_t if_what, if_op; /* holds only if register if_what compares so with if_bits, a value of if_type */
    uint8_t if_type;
    uint8_t old_type; /* of a watch: the engine's, as `old` */
    uint16_t script;
    uint16_t number; /* its own, 1..TW_DEBUG_BREAKS; 0 when set: the first that is free */
    uint32_t at;
    uint32_t skip; /* hits that do not hold */
    uint32_t hits; /* with the condition true */
    uint64_t if_bits, old;
} tw_debug_break_t;

/* ---- commands --------------------------------------------------------------------- */

typedef enum tw_debug_op {
    TW_DBG_ATTACH, /* flags; also changes them */
    TW_DBG_DETACH, /* a: 0 the held call goes on to its end at once, 1 it is dropped */
    TW_DBG_STATE,
    TW_DBG_BREAK_SET,   /* brk; reply: one tw_debug_break_t */
    TW_DBG_BREAK_CLEAR, /* a: number, 0 all */
    TW_DBG_BREAK_LIST,  /* reply: tw_debug_break_t each */
    TW_DBG_CONTINUE,    /* this and the next four: b: stops known, 0 any; a call held since then does not go on */
    TW_DBG_STEP,        /* a: instructions, 0 one */
    TW_DBG_NEXT,        /* over calls */
    TW_DBG_FINISH,      /* out of the routine or script */
    TW_DBG_UNTIL,       /* script, a: pc */
    TW_DBG_HOLD,        /* what goes: before its next instruction; nothing held: `script` where it is called next */
    TW_DBG_DROP,        /* the held call */
    TW_DBG_PEEK,        /* space, script or pointer, a: byte, b: bytes; reply: bytes */
    TW_DBG_POKE,        /* the same, b bytes of data */
    TW_DBG_SET,         /* a: TW_LOOK_*, b: type, bits */
    TW_DBG_TRACE,       /* a: TW_TRACE_* kinds, mask: scripts; no debugger needed */
} tw_debug_op_t;

enum {
    TW_DEBUG_STOPS_GRAPH = 1, /* flags of ATTACH: the graph is stopped where a script is held, CONTINUE starts it */
    TW_DEBUG_FAULTS = 2,      /* a call that faults is kept to be looked at */
};

typedef enum tw_debug_space {
    TW_SPACE_MEMORY = 1,  /* of script `script` */
    TW_SPACE_CODE = 2,    /* its code, zeros to a multiple of 4, literals; read only */
    TW_SPACE_POINTER = 3, /* window of p0..p5 (`script` = 0..5) of the held call, from its start */
    TW_SPACE_STACK = 4,   /* of the held call, lowest first: u8 type, u64 bits; read only */
} tw_debug_space_t;

typedef struct tw_debug_cmd {
    uint8_t op, flags, space;
    uint16_t script;
    uint32_t a, b;
    uint64_t bits;
    tw_debug_break_t brk;
    uint64_t mask[TW_DEBUG_SCRIPTS / 64];
    uint8_t data[TW_DEBUG_DATA];
} tw_debug_cmd_t;

/* ---- what there is to see ---------------------------------------------------------- */

typedef struct tw_debug_value {
    uint64_t bits;
    uint8_t type;
} tw_debug_value_t;

typedef struct tw_debug_frame {
    uint16_t script;
    uint16_t callscript; /* entered by callscript */
    uint32_t pc;         /* where it goes on; of frame 0: the next instruction */
} tw_debug_frame_t;

typedef struct tw_debug_state {
    uint8_t state, flags;
    uint8_t why;        /* tw_debug_stop_t of the last stop */
    uint8_t held_graph; /* the graph was stopped by the debugger */
    uint32_t number;    /* breakpoint, k of brk, number of the error */
    uint32_t stops;     /* so far, from 1: another one says that something happened */
    uint64_t tick;      /* of the last stop */
    uint16_t entry;     /* script that was called; TW_DEBUG_NOBODY: nothing is held */
    uint32_t missed;    /* calls of scripts of the held call since it is held */
    uint32_t passed;    /* breakpoints passed because another call was held */
    /* of the held call */
    uint32_t used, budget, errors;
    uint16_t lc, sp;
    uint8_t flag, n_top, n_frames;
    tw_debug_value_t r[TW_SCRIPT_REGS], top[TW_DEBUG_TOP]; /* top[0] is s0; those of this routine */
    struct {
        uint8_t space, type;
        uint32_t size, offset; /* [bytes], [elements] */
    } p[TW_SCRIPT_PTRS];
    tw_debug_frame_t frames[TW_SCRIPT_CALL_DEPTH + 1];
} tw_debug_state_t;

/* Kinds of trace records: those of tw_graph_event_t and beyond; as bits of TW_DBG_TRACE and Script.Trace 1 << kind. */
enum { TW_TRACE_STOP = 8, TW_TRACE_INSTRUCTION = 16, TW_TRACE_CALL = 17 };

typedef struct tw_trace {
    uint64_t seq; /* counts also those that were lost */
    uint64_t tick;
    uint16_t kind, script; /* script TW_DEBUG_NOBODY: not of a script */
    uint32_t at;           /* pc; of events as in tw_graph_event_t */
    uint32_t number;       /* error, breakpoint, k; of an instruction: T, and 2 + register << 1 of the one it changed */
    uint32_t type;         /* of `value`, when an instruction changed a register */
    int64_t value;
    uint32_t bytes; /* that follow: the words of an instruction, data of an event */
    uint32_t unused;
} tw_trace_t;

/* ---- the debugger -------------------------------------------------------------------- */

typedef struct tw_graph_debug {
    tw_graph_t *graph; /* NULL: of no graph */
    /** Somebody listens to the trace; may be NULL. */
    void (*trace)(void *ctx, const tw_trace_t *t, const uint8_t *data);
    void *ctx;
    bool attached;
    uint8_t flags, state, why;
    bool wants_stop, held_graph; /* the engine's: stop the graph; it did */
    uint32_t number, missed, passed;
    _Atomic uint32_t stops;
    uint64_t stop_tick, tick; /* of the last stop; of the next block: who runs blocks sets it */
    tw_debug_break_t breaks[TW_DEBUG_BREAKS];
    uint32_t n_breaks;                       /* highest in use */
    uint64_t checked[TW_DEBUG_SCRIPTS / 64]; /* scripts that run instruction by instruction */
    uint64_t traced[TW_DEBUG_SCRIPTS / 64];
    uint32_t trace_kinds;
    uint16_t hold_next; /* script to be held at its next call */
    uint16_t entry;
    bool broke;   /* the host's brk was called */
    bool turning; /* the held call runs, between two blocks */
    bool fresh;   /* its next instruction was not looked at for breakpoints */
    struct {
        uint8_t op;
        uint8_t depth;
        uint16_t script;
        uint32_t n, pc;
    } goal;
    uint32_t slow;             /* instructions run one by one */
    uint32_t told;             /* stops the log knows: the engine's */
    tw_script_ctx_t *ctx_held; /* of the held call */
    tw_script_ctx_t *home;     /* the graph's own */
    tw_script_ctx_t spare;
} tw_graph_debug_t;

/** Before anything else; `d` outlives what it is attached to. */
void tw_debug_init(tw_graph_debug_t *d);
/**
 * A command, between two blocks.
 * @param out    reply bytes: tw_debug_state_t, or as the command says
 * @param bytes  in: room, out: bytes of the reply
 * @return TW_OK; STATE: no debugger is attached, or no call is held; SCRIPT_NONE; SCR_BAD_TARGET: no instruction begins
 *         there; SCR_BAD_REG; SCR_BAD_TYPE; SCR_BAD_PTR: no such window, read only; RANGE; NOMEM: all breakpoints are
 *         in use; NOT_FOUND: no such breakpoint; ARG. Nothing changed then
 */
tw_err_t tw_debug_command(tw_graph_debug_t *d, tw_graph_t *g, const tw_debug_cmd_t *q, void *out, uint32_t *bytes);
/** Bytes a reply to this command may have. */
uint32_t tw_debug_reply_bytes(const tw_debug_cmd_t *q);
/** Between two blocks: a portion of a call that goes on. */
void tw_debug_turn(tw_graph_debug_t *d);
/** Its graph leaves: detached, and a held call dropped. */
void tw_debug_leave(tw_graph_debug_t *d, tw_graph_t *g);
/** What a tw_debug_stop_t says to people. */
const char *tw_debug_stop_text(unsigned why);
/** The script whose instruction runs just now, TW_DEBUG_NOBODY when none does. */
uint16_t tw_debug_running(const tw_graph_t *g);
