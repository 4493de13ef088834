/* tw_seed_api.h - the entry points of the two seeds, as thin wrappers over tw_graph_*.
 *
 * The seeds disagree about names and parameters (S0:L70-73 and S0:L1528, S1:L95-100): both pairs are here and do the
 * same. They return nothing, so what happened is in the instance. New code calls tw_graph_* itself.
 *
 * An instance is the caller's memory. Set the first five fields, zero the rest, then RESET; one context at a time may
 * use it, but acknowledgements may come from any, interrupts included.
 */
#pragma once
#include "engine/graph/graph.h"

/* Commands, [7:0] of the command word; [8] warm, [23:15] tag of a parameter (256 = all). The numbers are those of the
 * graph commands. */
enum {
    STREAM_RESET = 1,          /* the first: verify and load; later: as tw_graph_reset(), warm with bit 8 */
    STREAM_SET_PARAMETER = 2,  /* data = node (32 bits little endian), then the value */
    STREAM_READ_PARAMETER = 3, /* data = node, then room; on return the value stands behind the node */
    STREAM_RUN = 4,            /* one block, or as much of it as the image's scheduler_return says, or the byte at data
                                  when there is one (tw_run_how_t); see goes_on */
    STREAM_STOP = 5,           /* STOP every node and IO; the next RESET loads again */
    STREAM_END = STREAM_STOP,
    STREAM_FIFO_STATUS = 7, /* data = room: for each IO, in the image's order, bytes waiting and bytes free, 32 bits */
    STREAM_MEMREQ = 10,     /* data = room for 32 bits: bytes of memory the graph needs; with NOMEM, at least */
};

typedef uintptr_t PTR_INT;

/** The seed's memory for one graph. */
typedef struct arm_stream_instance {
    /* given */
    const uint8_t *graph; /* the image, aligned to 4; it stays where it is */
    uint32_t graph_bytes;
    const tw_graph_env_t *env; /* clock, board, what hears of events */
    uint8_t *memory;           /* aligned to 16 */
    uint32_t memory_bytes;
    /* told */
    tw_err_t err;     /* of the last command */
    tw_fault_t fault; /* where, when an image was refused */
    uint32_t bytes;   /* of the value that was read */
    bool goes_on;     /* RUN came back inside a block: the next one goes on with it */
    /* inside */
    tw_graph_t g;
    uint64_t tick;
    bool loaded;
    struct arm_stream_instance *next; /* those that are loaded, for acknowledgements */
} arm_stream_instance_t;

/**
 * One command. What happened is in instance->err: TW_OK; RESET what tw_graph_check() and tw_graph_load() refuse with;
 * STATE the graph is not loaded; ARG data too short, or no such command; PARAM_* as tw_param_check().
 * @param command   see above
 * @param size      bytes at data
 * Source: S0:L70, S1:L95.
 */
void arm_graph_interpreter(uint32_t command, arm_stream_instance_t *instance, uint8_t *data, uint32_t size);

/**
 * Data were moved at the IO with this number of the top manifest: see tw_io_ack_fn in board.h. It goes to the loaded
 * instance that has the IO; without one it is dropped. Callable from an interrupt, not while instances are loaded or
 * stopped.
 * Source: S0:L73.
 */
void arm_graph_interpreter_io_ack(uint8_t fw_io_idx, uint8_t *data, uint32_t size);

/** The same as arm_graph_interpreter(): ptr1 the instance, ptr2 data, ptr3 bytes. Source: S0:L1528. */
void arm_stream(uint32_t command, PTR_INT ptr1, PTR_INT ptr2, PTR_INT ptr3);
/** The same as arm_graph_interpreter_io_ack(). Source: S0:L1528. */
void arm_stream_io(uint32_t fw_io_idx, void *data, uint32_t length);
