/* graph_mp.h - several instances on one graph: who may run which node, and how they keep out of each other's way.
 *
 *   main     begin | open ............ scan, IOs out, scan ........ quiet? close | end
 *   helper           help: scan       help: nothing    help: scan          out
 *
 * An instance is a processor or a thread with a mask of processors it plays, an architecture and a mask of classes.
 * The *main* one (0) calls tw_graph_block(); the others call tw_graph_help() as often as they like: between blocks it
 * does nothing. No call waits for a lock: a node somebody else has is not ready now.
 *
 * A node is run under its lock, a word of its own. Its arcs need no lock: the producer stores `write`, the consumer
 * `read`. Only moving data to the start of the buffer takes the consumer's lock too. A wake bit is set after the index
 * was stored and cleared before indexes are read, both read-modify-write of one word, so that none is lost. A block
 * ends when no bit is set that anybody may run and no instance holds a lock; then main has the graph alone: IOs in,
 * parameters, swaps and scripts from outside need no lock.
 *
 * Scripts and what asks for them (script nodes, nodes with scripts, debug scripts) are main's. A node with high QoS
 * arcs conceals what is missing when it is asked, so what it puts out depends on when that was: keep it on one
 * instance. All else gives the same streams however many help.
 */
#pragma once
#include "engine/graph/graph.h"

typedef struct tw_instance_cfg {
    uint32_t processors; /* bit (procID - 1) of each it plays; nodes of any processor run where the graph allows one */
    const uint32_t *banks; /* bit VID of each bank it reaches, 8 words that outlive the crew; NULL all */
    uint32_t ios;          /* bit hwid of each IO it is wired to, 0 all. Main moves them, so only its own count */
    uint8_t arch;          /* 1..6 what it can execute, 0 anything */
    uint8_t classes;       /* bit 0 "any", 1 low latency, 2 middle, 3 background; 0 = all. Background alone: main
                              does not wait for what it has not begun */
} tw_instance_cfg_t;

enum { TW_INSTANCE_EVENTS = 16 };

typedef struct tw_instance {
    _Alignas(64) _Atomic uint32_t seq; /* odd: it is in the graph */
    _Atomic uint32_t work;             /* odd: it may hold locks and set bits */
    _Atomic uint32_t dead;             /* taken for dead by main: it may not touch the graph again */
    tw_gauge_t beat;                   /* counts while it lives */
    tw_gauge_t current;                /* node it runs + 1, 0 none */
    tw_gauge_t runs;
    tw_instance_cfg_t cfg;
    uint32_t id; /* 1.. as locks name their owner */
    /* main's, of the watchdog */
    uint32_t beat_seen;
    uint64_t beat_us;
    /* its own */
    tw_graph_host_t host; /* the graph's */
    tw_graph_t view;      /* the graph with what is this instance's: scratch, host */
    /* filled by it in a block, emptied by main after */
    uint32_t n_events, lost_events;
    tw_graph_event_t events[TW_INSTANCE_EVENTS];
} tw_instance_t;

/** The instances; they outlive the graphs they run. */
typedef struct tw_crew {
    _Alignas(64) tw_graph_t *_Atomic open; /* the graph whose block is open, NULL: helpers stay out */
    uint32_t n;
    uint32_t
        watchdog_us; /* a helper that shows no life for so long while it is waited for is dead; 0 = wait for ever */
    /* How an instance with nothing to do lets others run; NULL: it spins. relax: for a moment. wait: instance k, until
     * wake() or for about a millisecond, whichever comes first; a wake() before it counts. Any instance calls wake().
     */
    void (*relax)(void *ctx);
    void (*wait)(void *ctx, uint32_t k);
    void (*wake)(void *ctx, uint32_t k);
    void *relax_ctx;
    _Atomic uint32_t asleep; /* bit k */
    tw_gauge_t takeovers;    /* helpers taken for dead */
    tw_instance_t instances[TW_MAX_INSTANCES];
} tw_crew_t;

/**
 * A crew of `n` instances, cfg[0] main's.
 * @return TW_E_ARG: none or more than TW_MAX_INSTANCES, or two that play one processor share a class (working memory
 *         is laid over within a processor and class); nothing changed
 */
tw_err_t tw_crew_init(tw_crew_t *c, const tw_instance_cfg_t *cfg, uint32_t n);

/**
 * Let a loaded graph be run by the crew from its next block on; before its first. With one instance nothing changes.
 * @param arena  4 bytes a node, a bit a node and instance, and the largest frame an instance stay taken
 * @return NOMEM: fault->at = bytes short; the arena is as it was
 *         IMG_NODE_ARCH: no instance may run the node, fault->at = its record
 *         IMG_REACH: those that might do not reach its memory; section and at are the block (NODES), the arc (ARCS) or
 *         the IO that main does not reach
 *         IMG_MP: the program is built for one instance (TW_MULTIPROCESSOR 0)
 */
tw_err_t tw_graph_share(tw_graph_t *g, tw_crew_t *crew, tw_arena_t *arena, tw_fault_t *fault);

/** Instance k > 0, its own thread: run what is ready and allowed, once through. @return something ran */
bool tw_graph_help(tw_crew_t *crew, uint32_t k);
/** Instance k > 0, its own thread, has asked in vain for a while: sleep as long as there is nothing for it. With a
 *  wait() in the crew it costs nothing while it sleeps, and is there within the time of a wake-up. */
void tw_graph_doze(tw_crew_t *crew, uint32_t k);
/** A block is open: worth asking again soon. */
static inline bool tw_crew_busy(const tw_crew_t *crew)
{
    return atomic_load_explicit(&crew->open, memory_order_relaxed) != NULL;
}
