/* engine_priv.h - the engine's inside: who owns which field.
 *
 * `c` belongs to the control thread, `e` to the engine thread; what is in neither is handed over
 * through rings, gauges or the word.
 */
#pragma once
#include "engine/engine.h"
#include "engine/engine_fade.h"
#include "engine/engine_word.h"
#include "engine/graph/graph.h"
#include "engine/graph/graph_mp.h"
#include "engine/graph/graph_carry.h"

typedef enum tw_op {
    OP_PAD = 0, /* only its first 8 bytes exist */
    OP_PARAM,
    OP_PRESET,
    OP_READ,
    OP_SWAP,
    OP_UNLOAD,
    OP_CONTROL,
    OP_SCRIPT,
    OP_RUN,
    OP_SCRIPT_OFF,
    OP_ARC_READ,
    OP_ARC_WRITE,
    OP_PROBE,
    OP_UNPROBE,
    OP_ROLLBACK,
    OP_KEEP,
    OP_ARM,
    OP_ARMED,
    OP_CONFIRM,
    OP_REVERT,
    OP_SHADOW,
    OP_SHADOW_SET,
    OP_SHADOW_READ,
    OP_SHADOW_DROP,
    OP_IO,
    OP_DEBUG,
} tw_op_t;

/* A command as it lies in the queue; `n` bytes of data follow. */
typedef struct cmd {
    uint32_t bytes; /* of the whole record, multiple of 8 */
    uint16_t op;
    uint16_t generation; /* of the graph it was checked against, lower half */
    uint32_t token;
    uint32_t room; /* reply ring bytes promised to it */
    uint32_t a, b;
    uint32_t n, more;
} cmd_t;

/* A reply or event as it lies in its ring; `bytes` of data follow. */
typedef struct reply {
    uint32_t token;
    uint16_t kind, event;
    int32_t err;
    uint32_t at;
    int64_t value;
    uint64_t tick;
    uint32_t room;
    uint32_t bytes;
} reply_t;

/* engine_values.c: parameters as the control side knows them */
enum { DRAFT_UNKNOWN = 1, DRAFT_KNOWN = 2 };
typedef struct values {
    uint32_t *at;                  /* of each node's block, NULL: no memory for any of it */
    uint8_t *now, *draft, *before; /* published; with the open group; before the armed group */
    uint8_t *known, *drafted;      /* per node */
} values_t;

typedef struct slot {
    uint8_t *mem;
    tw_graph_t graph;
    uint32_t *versions; /* of each node's parameters; control side */
    uint32_t image;     /* number of the image primed in it, for recordings */
    uint32_t *asked,
        *noted;     /* number of the last armed group that touched the node: counted by control, saved by engine */
    uint8_t *value; /* two saved nodes: for putting parameters back */
    uint32_t value_bytes;
    bool live; /* its nodes were RESET and not yet STOPped */
    values_t values;
    fade_side_t side;
    uint8_t *state; /* room for a backup, NULL: the graph has nothing to keep, or the board keeps nothing */
    uint32_t state_bytes, state_blocks; /* blocks since the last one */
    bool state_due;
    tw_arena_t rest;       /* what the graph left of the slot */
    size_t rest_mark;      /* of it, without the plan of a swap */
    tw_graph_carry_t plan; /* what it takes over from the graph before */
} slot_t;

#define OP_SWAP_CARRY 2, 1 /* of cmd_t.b: tw_carry_t */

/* What the engine knows of its slots, in one word for the control side. */
#define WHERE_CURRENT 1, 0 /* slot + 1, 0 none */
#define WHERE_KEPT 3, 2
#define WHERE_FADING 4, 4
#define WHERE_ARMED 6, 5 /* tw_waits_t */

/* Old values of an armed group, in the order they were replaced. Engine side. */
typedef struct undo {
    uint8_t *buf;
    uint32_t size, used;
    uint32_t number; /* of the armed group, for slot_t.noted */
    bool recording;
} undo_t;

/* A shadow and its piece of the pool. */
typedef struct shadow_slot {
    tw_shadow_t shadow; /* the engine's while `used` and not `gone` */
    bool used;          /* control */
    bool leaves;        /* control: its drop was put */
    uint32_t at, bytes; /* in the pool */
    _Atomic uint32_t gone;
} shadow_slot_t;

#define TW_ARC_READ_MAX 4096u
enum { NO_SLOT = -1 };
/* State of the timed group in bits 1..0; PENDING has its tick above, so that the engine, between looking and taking,
 * cannot mistake a later group for the one it saw. Ticks are compared modulo 2^30: TW_TICK_AHEAD_MAX is less than half
 * of that. */
enum { TIMED_IDLE = 0, TIMED_PENDING = 1, TIMED_TAKEN = 2, TIMED_STATE = 3 };
static inline uint32_t timed_pending(uint64_t tick)
{
    return (uint32_t)tick << 2 | TIMED_PENDING;
}

typedef struct timed {
    uint8_t *buf;
    uint32_t size;
    _Atomic uint32_t state; /* IDLE: control owns the rest; PENDING and TAKEN: engine does */
    uint32_t bytes, token, room, promised, generation;
    uint64_t tick;
} timed_t;

struct tw_engine {
    tw_engine_cfg_t cfg;
    tw_crew_t crew;                      /* instances that share the graph that runs */
    uint32_t reach[TW_MAX_INSTANCES][8]; /* banks of each: bit VID */
    slot_t slots[2];
    timed_t timed;
    uint8_t *queue;
    uint32_t queue_size;
    _Alignas(64) tw_word_t word;
    _Alignas(64) _Atomic uint32_t taken; /* queue position the engine has applied up to */
    _Atomic uint32_t moves_done;         /* swaps, rollbacks, keeps and unloads applied or refused */
    _Atomic uint32_t where;              /* WHERE_*: stored before `generation` */
    _Atomic uint32_t generation;         /* swaps, rollbacks and unloads that happened */
    tw_gauge_t revert_reason, revert_at, revert_tick[2], armed_id;
    _Atomic uint32_t reverts;      /* by themselves: stored after the four above */
    _Atomic uint32_t scripts_done; /* replacements of scripts applied or refused */
    tw_gauge_t state, late, events_lost;
    shadow_slot_t shadows[TW_MAX_SHADOWS];
    uint8_t *shadow_pool;
    tw_ring_t replies, events, trace;
    tw_gauge_t trace_lost;
    uint64_t trace_seq; /* the engine's */
    tw_graph_debug_t debug;
    tw_recorder_t *_Atomic recorder; /* control sets it, the engine looks once a tick */
    struct {
        uint32_t start, put; /* queue positions: open group is [start, put) */
        uint32_t promised;   /* reply bytes of published commands and the open group */
        uint32_t group_promised;
        int view;       /* slot of the graph as published */
        int group_view; /* as seen by further commands of the open group */
        int primed;
        int group_primed;              /* primed slot the open group swaps in */
        uint32_t generation;           /* = what it will be once all that was published happened */
        uint32_t group_generation;     /* as seen by further commands of the open group */
        uint32_t moves;                /* published */
        uint32_t arm_number, arm_need; /* of the open group: 0 not armed; bytes its undo takes */
        uint32_t arms;
        uint32_t reverts; /* of the engine, followed so far */
        uint32_t images;  /* primed so far */
        uint32_t scripts; /* replacements of scripts published */
        bool kept_gone;   /* a prime wrote over the graph the engine kept, until the next swap */
        bool from_events; /* where the reply handed out came from */
        bool overload;    /* a replay says so */
    } c;
    struct {
        tw_graph_t *graph;
        uint64_t tick;
        uint32_t generation, steps;
        int slot, kept;      /* of `graph`, and of the one to go back to */
        bool fading;         /* `kept` (or, when that was given up, the other slot) runs too */
        uint8_t armed;       /* tw_waits_t */
        uint32_t hot;        /* blocks in a row that took too long */
        tw_probe_t *watches; /* probes that a script fires */
        tw_recorder_t *rec;  /* that records now, NULL none */
        uint32_t states;     /* backups so far */
        tw_port_t rec_port;  /* what graphs see instead of cfg.port and cfg.board */
        tw_board_t rec_board;
    } e;
    undo_t undo;
};

static inline uint32_t cmd_distance(uint32_t from, uint32_t to)
{
    return (to - from) & TW_WORD_POS_MASK;
}

/** Graph further commands of the open group are about, or NULL. */
static inline tw_graph_t *engine_view(tw_engine_t *e)
{
    return e->c.group_view == NO_SLOT ? NULL : &e->slots[e->c.group_view].graph;
}

/** Control: STOP the nodes of a graph the engine has left. */
void engine_reclaim(tw_engine_t *e);
/** Control: slot of the graph one can go back to, NO_SLOT when there is none. */
int engine_kept(const tw_engine_t *e);
/** Control: catch up with what the engine did by itself. */
void engine_sync(tw_engine_t *e);
/** True when the engine has applied every published swap, rollback, keep and unload. */
bool engine_settled(tw_engine_t *e);
/** Control: what the swap to `s` needs to know of both graphs, in the memory the new one left. @param blocks  of its
 *  fade; errors as tw_engine_put_swap_to() */
tw_err_t swap_plan(tw_engine_t *e, slot_t *s, const tw_swap_t *how, uint32_t *blocks, tw_fault_t *fault);
/** Record at a queue position. */
static inline cmd_t *cmd_at(tw_engine_t *e, uint32_t pos)
{
    return (cmd_t *)(void *)(e->queue + (pos & (e->queue_size - 1)));
}

/* engine_apply.c: engine side */
void engine_apply(tw_engine_t *e, const cmd_t *c, tw_err_t refused);
tw_err_t engine_control(tw_engine_t *e, tw_control_t op, uint32_t steps);

/* engine_swap.c: engine side */
void swap_apply(tw_engine_t *e, const cmd_t *c);
void swap_run_block(tw_engine_t *e);
/** The new graph is alone from here on: the old one's slot is free to be primed, or to be gone back to. */
void swap_end_fade(tw_engine_t *e);
/** Nothing waits to be confirmed any more. */
void swap_disarm(tw_engine_t *e);

/* engine_undo.c: engine side */
void undo_arm(tw_engine_t *e, const cmd_t *c);
void undo_armed(tw_engine_t *e);
/** Save what the command is about to replace. */
void undo_note(tw_engine_t *e, const cmd_t *c);
/** Forget the old values. */
void undo_forget(tw_engine_t *e);
/** Put every old value back. */
void undo_revert(tw_engine_t *e);
/** Tell the control side what it may know. */
void engine_tell_where(tw_engine_t *e);
/** Control: bytes the undo of a command takes more; 0 when the open group is not armed. */
uint32_t undo_need(tw_engine_t *e, const cmd_t *c);
/** Control: the command was put. */
void undo_count(tw_engine_t *e, const cmd_t *c, uint32_t need);

/* engine_values.c: control side */
void values_build(slot_t *s, tw_arena_t *arena);
/** Parameters go over to the graph swapped in, as its plan says. */
void values_carry(slot_t *s, const slot_t *old);
/** A command was put into the open group. */
void values_put(tw_engine_t *e, const cmd_t *c, const uint8_t *value);
/** The group was published (keep), or dropped. */
void values_settle(slot_t *s, const cmd_t *c, bool armed, bool keep);
/** A command that was published does not happen: its node's values are not known any more. */
void values_forget(slot_t *s, const cmd_t *c);
/** The armed group of this number goes back. */
void values_revert(slot_t *s, uint32_t number);

/* engine_queue.c */
#define NO_REPLY UINT32_MAX
/** Append a command. `reply`: bytes of data its reply carries, or NO_REPLY. */
tw_err_t engine_put(tw_engine_t *e, const cmd_t *head, const void *data, uint32_t reply);
static inline uint32_t on_token(uint32_t token)
{
    return token != 0 ? 0 : NO_REPLY;
}
/* engine_probe.c: engine side */
void probe_attach(tw_engine_t *e, tw_probe_t *p);
void probe_detach(tw_engine_t *e, tw_probe_t *p);
/** tw_graph_host_t.tap */
void probe_tap(void *ctx, void *taps, const uint8_t *data, uint32_t bytes);
/** An arc of the graph that runs went empty or full. */
void probe_flow(tw_engine_t *e, uint32_t arc, int64_t full);
/** Run the scripts that fire probes; after a block. */
void probe_scripts(tw_engine_t *e);

/* engine_state.c */
/** Control: room for the backups of a graph. @return false: NOMEM */
bool state_take(tw_engine_t *e, slot_t *s, tw_arena_t *arena, tw_fault_t *fault);
/** Engine: the graph stopped; save as soon as the board takes it. */
void state_due(tw_engine_t *e);
/** Engine: after commands and, if one ran, the block. */
void state_look(tw_engine_t *e, bool ran);

/* engine_io.c: engine side */
/** Settings of an IO as they are, and other ones: three words, little endian. @return UNSUPPORTED: the old ones stay */
void io_save(const tw_graph_t *g, uint32_t io, uint8_t words[12]);
tw_err_t io_apply(tw_engine_t *e, uint32_t io, const uint8_t words[12]);
/** The graph that took over from `old`: IOs both have go on with settings changed since `old` was loaded. */
void io_carry(tw_engine_t *e, const tw_graph_t *old);
/** The graph that came back after `from`: its IOs have its settings again. */
void io_back(tw_engine_t *e, const tw_graph_t *from);
/** Control: a graph the board took is to come back; what was looked at since does not count. */
void io_accept_again(tw_engine_t *e, const tw_graph_t *g);

/* engine_shadow.c: engine side */
void shadow_apply(tw_engine_t *e, const cmd_t *c);
/** It never began: its graph went. */
void shadow_refused(tw_engine_t *e, const cmd_t *c);
/** All of a graph end. */
void shadow_leave(tw_engine_t *e, tw_graph_t *g);

/* engine_debug.c: engine side */
void debug_init(tw_engine_t *e);
void debug_apply(tw_engine_t *e, const cmd_t *c);
/** Before the block: a held call goes on. */
void debug_before(tw_engine_t *e);
/** After what ran scripts: a script that is held may stop the graph. */
void debug_after(tw_engine_t *e);
/** What a script raised, for who traces. */
void debug_event(tw_engine_t *e, const tw_graph_event_t *ev);
void debug_leaves(tw_engine_t *e, tw_graph_t *g);

/* engine_record.c: engine side */
/** Before commands apply: begin or end what was asked for. */
void record_look(tw_engine_t *e);
/** A command is about to apply. */
void record_command(tw_engine_t *e, const cmd_t *c);
/** Port and board for graphs, which note what passes while something is recorded. */
void record_init(tw_engine_t *e);
/** The engine is about to go back: to a graph of before the recording, and that ends here. */
void record_back(tw_engine_t *e);
void record_block(tw_engine_t *e);
void record_block_end(tw_engine_t *e);
/** The block took too long and what waits to be confirmed is taken back. */
void record_overload(tw_engine_t *e, uint32_t permille);
/** tw_graph_host_t.answer */
void record_answer(void *ctx, const tw_answer_t *a);
/** A script ran for a probe, after the block. */
void record_run(tw_engine_t *e, uint32_t script, const int64_t *args, uint32_t n);

/* engine_reply.c */
/** Control: reply ring bytes for a reply with `bytes` of data; false: not now. */
bool reply_promise(tw_engine_t *e, uint32_t bytes, uint32_t *room);
/** Largest data a single reply may carry. */
uint32_t reply_limit(const tw_engine_t *e);
/** Engine: place a reply to a command; data is filled in by the caller before reply_send(). */
reply_t *reply_begin(tw_engine_t *e, const cmd_t *c, tw_err_t err, uint32_t bytes);
void reply_send(tw_engine_t *e, reply_t *r);
static inline uint8_t *reply_data(reply_t *r)
{
    return (uint8_t *)(r + 1);
}
/** Host callbacks of a graph that runs. */
tw_graph_host_t engine_host(tw_engine_t *e);
