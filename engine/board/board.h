/* board.h - the machine around the engine: the IOs a graph may use.
 *
 * A board is a table of IOs and three calls. The engine calls them on its own
 * thread between two runs, so they must neither block, lock nor allocate:
 * back-ends that reach files or sockets hand over through rings. Files and
 * devices themselves are the back-end's business (board_linux.c).
 */
#pragma once
#include "engine/base/formats.h"

typedef struct tw_board_io {
    uint16_t hwid;     /* IO_AL_idx of the top manifest */
    uint8_t direction; /* 0 rx: into the graph, 1 tx: out of it */
    uint8_t domain;    /* domains.def */
    uint8_t servant;   /* 0 commander, 1 servant (waits to be asked) */
    uint8_t clock_domain;
    char name[32]; /* "io_platform_audio_in_0" */
} tw_board_io_t;

typedef struct tw_board {
    void *ctx;
    uint32_t platform_id; /* CRC-32C of the canonical platform text; images carry it */
    uint32_t services;    /* mask */
    const tw_board_io_t *ios;
    uint32_t n_ios;
    const uint32_t *bank_bytes; /* [vid], 0 = no such bank; NULL = no limit but the arena */
    uint32_t n_banks;
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
    uint32_t processors; /* bit (procID - 1): there are instances that play it; 0 = TW_PROCESSOR alone */
} tw_board_t;

#ifndef TW_PROCESSOR
#define TW_PROCESSOR 1u /* number of a device's only processor */
#endif
static inline uint32_t tw_board_processors(const tw_board_t *b)
{
    return b->processors != 0 ? b->processors : 1u << (TW_PROCESSOR - 1u);
}
