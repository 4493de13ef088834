/* board_linux.h - a board made of files: a platform's IOs on a Linux machine.
 *
 * The engine thread calls the tw_board_t; files are touched by one other thread,
 * the control thread, in open, accept, service and close. Between them are
 * lock-free rings: read and write make no system call and take no lock. Knows
 * no server; logs through a callback.
 */
#pragma once
#include "engine/board/board.h"
#include "engine/board/manifest.h"

typedef struct tw_board_linux tw_board_linux_t;

enum { TW_BOARD_ERROR = 1, TW_BOARD_WARN = 2, TW_BOARD_INFO = 3, TW_BOARD_DEBUG = 4 }; /* as log levels on the wire */
enum { TW_BOARD_WHY = 512 };

typedef struct tw_board_linux_cfg {
    const tw_platform_t *platform; /* must outlive the board */
    /**
     * "NAME=WHAT", stronger than the manifest. NAME: the IO's name, with or without "io_platform_".
     * WHAT: ramp, null, gpio, or a WAV file, played or created by the IO's direction. An input repeats
     * it as the manifest's `io_loop` says, or as loop:FILE or once:FILE say.
     */
    const char *const *overrides;
    unsigned n_overrides;
    uint32_t threads;      /* that run the graph: processors 1 to this are there, besides the platform's */
    const char *state;     /* file for what outlives a loss of power, made when it is missing; NULL: nothing is kept */
    uint32_t gpio_scripts; /* pins that scripts may write, */
    bool gpio_scripts_set; /* false: all */
    const char *gpio_log;  /* file with a line for each change of a pin: time [us], levels, directions; NULL none */
    const char *gpio_chip; /* "/dev/gpiochipN": pins are its lines; NULL: they are in memory alone */
    uint32_t ring_bytes;   /* of each WAV output, power of two; 0 = 4 MB */
    void (*log)(void *ctx, uint32_t level, const char *text); /* control thread only; may be NULL */
    void *log_ctx;
} tw_board_linux_cfg_t;

/**
 * Connect every IO. IOs without `io_backend` are gpio in the gpio domains and null elsewhere.
 * @param why  out: what is wrong with which IO
 * @return NULL on failure; output files named before the fault exist then, empty
 */
tw_board_linux_t *tw_board_linux_open(const tw_board_linux_cfg_t *cfg, char why[TW_BOARD_WHY]);

/** What the engine uses; lives as long as the board. */
const tw_board_t *tw_board_linux_board(const tw_board_linux_t *b);

/** Control thread: rings to files and log. @return microseconds until it is due again, 0 = at once. */
uint32_t tw_board_linux_service(tw_board_linux_t *b);

/** Engine thread: true while outputs wait for the disk. Who runs faster than real time waits then. */
bool tw_board_linux_behind(tw_board_linux_t *b);

/** Set a gpio input. @return false when `hwid` is none. Any thread. */
bool tw_board_linux_set_line(tw_board_linux_t *b, uint32_t hwid, bool level);

/** Levels of pins that are no outputs, as if from outside. Control thread. */
void tw_board_linux_set_pins(tw_board_linux_t *b, uint32_t mask, uint32_t levels);

typedef struct tw_board_linux_stats {
    const char *name, *backend, *file; /* file "" when there is none */
    uint64_t frames;                   /* samples of one channel that passed */
    uint64_t dropped;                  /* frames (as the graph counts them) lost to a full ring or disk */
} tw_board_linux_stats_t;
/** @return false when there is no IO `index` (0..n_ios-1). Exact once the engine thread is gone. */
bool tw_board_linux_stats(const tw_board_linux_t *b, unsigned index, tw_board_linux_stats_t *out);

/** Write out what the rings hold, finish the files, free all. The engine must not run any more. NULL is allowed. */
void tw_board_linux_close(tw_board_linux_t *b);

/** The ramp back-end's sample: fixed point, full scale 2^31, at most half of it in size. */
int32_t tw_board_linux_ramp(uint64_t sample, uint32_t channel);
