/* board.h - the machine around the engine: the IOs a graph may use.
 *
 * A board is a table of IOs and a few calls. The engine calls them on its own
 * thread between two runs, so they must neither block, lock nor allocate:
 * back-ends that reach files or sockets hand over through rings. Files and
 * devices themselves are the back-end's business (board_linux.c).
 *
 * An IO is moved in one of two ways. Polled: read() and write() carry a frame
 * when the graph's time says so. By acknowledgements (S1:L450-522, S0:L712):
 *
 *   SET ----> START ----> ack, ack, ... ----> STOP ----> ack (NULL, 0)
 *               ^            |
 *               +------------+   a servant is asked for each transfer, a commander acknowledges by itself
 *
 * The driver acknowledges from wherever it is, an interrupt included.
 */
#pragma once
#include "engine/base/formats.h"

typedef struct tw_board_io {
    uint16_t hwid;     /* IO_AL_idx of the top manifest */
    uint8_t direction; /* 0 rx: into the graph, 1 tx: out of it */
    uint8_t domain;    /* domains.def */
    uint8_t servant;   /* 0 commander, 1 servant (waits to be asked) */
    uint8_t clock_domain;
    uint8_t acks;  /* 1: moved by acknowledgements, see tw_board_t.io */
    char name[32]; /* "io_platform_audio_in_0" */
} tw_board_io_t;

/** What the engine asks of a driver; the numbers of the graph commands (S0:L712). */
typedef enum tw_io_command {
    TW_IO_SET = 2,  /* data = tw_io_set_t: once before START, and when settings change */
    TW_IO_STOP = 5, /* data = the ctx of SET: end transfers, then acknowledge with (NULL, 0). A driver that another
                       graph has SET meanwhile goes on for that one */
    TW_IO_SET_BUFFER = 6, /* data, bytes: the buffer of an arc that is the driver's to use: no copies are made */
    TW_IO_START = 8,      /* RX: there is room for `bytes`, at `data` unless it is NULL;
                             TX: `bytes` at `data` are to be sent. They stay until they are acknowledged where the IO
                             has a buffer in the graph or no copies are made, else only during the call */
} tw_io_command_t;

/**
 * Acknowledge a transfer. Lock-free and bounded; one context per IO at a time, which may be an interrupt.
 * RX: `bytes` arrived at `data`. Copied before this returns where the IO has a buffer in the graph; otherwise they
 * must stay until the next START of this IO (a commander: until as many acknowledgements later as it has buffers).
 * TX: `bytes` of what START gave went out; `data` is a buffer to fill next, NULL the same.
 * bytes 0: a hole in the stream; after STOP, with data NULL: stopped.
 * @return TW_OK; STATE the IO is not running, counted; BUSY too many are waiting to be served, this one is counted
 *         as lost
 */
typedef tw_err_t (*tw_io_ack_fn)(void *ctx, uint32_t io, const void *data, uint32_t bytes);

typedef struct tw_io_set {
    const uint32_t *settings; /* three words of the image: options of the IO manifest, valid during the call */
    void *buffer;             /* proposed, in the graph's memory; NULL: the driver has its own */
    uint32_t bytes;           /* of it, or of a frame */
    tw_io_ack_fn ack;         /* valid until STOP was acknowledged */
    void *ctx;
    uint32_t io;
} tw_io_set_t;

/** A moment at which a pin changed. */
typedef struct tw_gpio_change {
    uint64_t t_us;
    uint32_t levels; /* of all pins, afterwards */
} tw_gpio_change_t;

/**
 * General-purpose pins: port 0, pins 0..31. Levels are read and written from two threads, the engine's (scripts) and
 * the control thread (hosts), which never wait for one another.
 */
typedef struct tw_board_gpio {
    void *ctx;
    uint32_t pins;    /* that exist */
    uint32_t scripts; /* of them, those that scripts may write */
    uint32_t hosts;   /* those that a host on the wire may write */
    /** Any thread; neither blocks nor allocates. */
    uint32_t (*levels)(void *ctx);
    uint32_t (*outputs)(void *ctx); /* direction: bit set = output */
    /** Pins of `mask` become outputs at the levels of `levels`. by_script: engine thread, else control thread.
     *  @return TW_OK; IO the device refused, some may be written */
    tw_err_t (*write)(void *ctx, uint32_t mask, uint32_t levels, bool by_script);
    /** Control thread: pins of `mask` become inputs or outputs. @return TW_OK, UNSUPPORTED, IO */
    tw_err_t (*direct)(void *ctx, uint32_t mask, uint32_t outputs);
    /** Control thread: the next change nobody was told of. Changes that came too fast are left out, the last never is.
     *  @return false: there is none */
    bool (*changed)(void *ctx, tw_gpio_change_t *out);
} tw_board_gpio_t;

/** An acknowledgement as the graph found it. */
typedef struct tw_io_heard {
    uint32_t look;  /* how often the graph had looked for those of this IO in this block, 0 the first time */
    uint32_t bytes; /* 0 a hole */
    uint64_t stamp_us;
    const uint8_t *part[2]; /* RX: the bytes, in one or two pieces */
    uint32_t part_bytes[2];
    bool aligned, in_place; /* they begin at a multiple of 4; they are in the buffer SET proposed */
} tw_io_heard_t;

/** Bytes a protected node may touch. */
typedef struct tw_region {
    void *at;
    uint32_t bytes;
    bool writes;
} tw_region_t;

typedef struct tw_board {
    void *ctx;
    uint32_t platform_id; /* CRC-32C of the canonical platform text; images carry it */
    uint32_t services;    /* mask */
    const tw_board_io_t *ios;
    uint32_t n_ios;
    const uint32_t *bank_bytes; /* [vid], 0 = no such bank; NULL = no limit but the arena */
    uint32_t n_banks;
    const uint8_t *bank_proc; /* [vid] processor a private bank is of, 0 shared; n_banks of them, NULL all are shared */
    /**
     * Fetch `bytes` (one frame) of IO `hwid` for tick `tick`.
     * @return bytes written to dst: `bytes`, or less when the source has a hole (counted)
     */
    uint32_t (*read)(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes);
    /** Deliver one frame. @return bytes taken. */
    uint32_t (*write)(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes);
    /**
     * Tell a back-end the format the graph uses, from the control thread before the graph's first
     * tick. @return TW_OK or why the back-end cannot; the graph is refused then, nothing changed.
     */
    tw_err_t (*accept)(void *ctx, uint32_t hwid, uint32_t raw, uint32_t channels, float rate_hz, uint32_t frame_bytes,
                       const uint32_t settings[3]);
    /**
     * Engine thread, at the boundary where the graph that was accepted last takes over: its formats
     * count from here. Until then reads and writes are the old graph's. NULL = nothing to switch.
     */
    void (*adopt)(void *ctx);
    /**
     * Engine thread: a command to the driver of IO `hwid`; to rows without `acks` only SET, when settings change.
     * NULL = no such rows, and no settings at run time.
     * @return START: the transfer is possible (false: asked again, less and less often); SET: the settings are taken
     */
    bool (*io)(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes);
    /** Engine thread: the graph looks whether IO `hwid` was acknowledged, for the time `look` in this block. A driver
     *  without interrupts may acknowledge inside the call. NULL = none of them needs to know */
    void (*look)(void *ctx, uint32_t hwid, uint32_t look);
    /** Engine thread: the look found this one; valid during the call. In order, each once. NULL = nobody listens */
    void (*heard)(void *ctx, uint32_t hwid, const tw_io_heard_t *ack);
    /**
     * Any thread, changes nothing: may SET bring these settings to IO `hwid`, which has those of `now`? NULL = io()
     * alone decides, when it is told.
     * @return TW_OK; RANGE: no options make these words; UNSUPPORTED: the format would change, which is the graph's
     */
    tw_err_t (*settings)(void *ctx, uint32_t hwid, const uint32_t now[3], const uint32_t settings[3]);
    /**
     * Caches, for arcs that ask for it (arc_flush). wrote: `bytes` at `at` are to reach memory; else they are to be
     * read from there. Engine thread; NULL = caches are coherent.
     */
    void (*flush)(void *ctx, const void *at, uint32_t bytes, bool wrote);
    /**
     * Keep `bytes` at `data` over a loss of power (graph_state.h). Engine thread, between two blocks: copies what it
     * needs and returns. @return false: not now, asked again before the next block. NULL = nothing is kept
     */
    bool (*store)(void *ctx, const void *data, uint32_t bytes);
    /** What was kept last, before the power went; control thread. @return its bytes, at most `room`; 0 nothing */
    uint32_t (*restore)(void *ctx, void *data, uint32_t room);
    /**
     * Protection unit, for nodes that ask for it (isolate): until the call with n = 0 the calling thread may touch
     * these regions only, beside its stack and what is read-only. One pair of calls around each run, never nested.
     * NULL = there is none, and a graph with such a node is refused (IMG_SERVICE).
     */
    void (*isolate)(void *ctx, const tw_region_t *regions, uint32_t n);
    uint32_t processors;         /* bit (procID - 1): there are instances that play it; 0 = TW_PROCESSOR alone */
    const tw_board_gpio_t *gpio; /* NULL: no pins */
    /**
     * System call `low` of a script that the image calls privileged; engine thread. What the numbers mean is the
     * board's. NULL: privileged scripts are refused at load.
     * @param value  in: r2, out: r1
     */
    tw_err_t (*low)(void *ctx, uint32_t op, uint64_t address, int64_t *value);
} tw_board_t;

#ifndef TW_PROCESSOR
#define TW_PROCESSOR 1u /* number of a device's only processor */
#endif
static inline uint32_t tw_board_processors(const tw_board_t *b)
{
    return b->processors != 0 ? b->processors : 1u << (TW_PROCESSOR - 1u);
}
