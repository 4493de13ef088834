/* board_linux_priv.h - one IO of the Linux board, and the calls of a back-end. */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/ring.h"
#include "engine/board/board_linux.h"
#include "engine/board/wav.h"

/* What a graph moves over an IO. Packed into one word, it crosses the threads without a lock. */
typedef struct io_format {
    uint32_t raw, channels, frame_bytes;
} io_format_t;

static inline uint64_t pack_format(const io_format_t *f)
{
    return (uint64_t)f->frame_bytes << 32 | (uint64_t)f->channels << 8 | f->raw;
}

static inline io_format_t unpack_format(uint64_t word)
{
    return (io_format_t){.raw = word & 0xFF, .channels = word >> 8 & 0xFF, .frame_bytes = (uint32_t)(word >> 32)};
}

struct backend;

typedef struct io {
    const struct backend *backend;
    tw_board_linux_t *board;
    const tw_board_io_t *as; /* hwid, direction, name */
    bool planar;             /* a frame is blocks of one channel each */
    bool loop;
    uint32_t rate_hz, channels, raw; /* the manifest's defaults */
    char file[512];
    uint8_t *ring_memory;
    tw_ring_t ring; /* WAV output: records of a format word and a frame */

    /* control thread writes, engine thread reads */
    _Atomic uint64_t wanted; /* format of the graph accepted last */
    _Atomic bool level;      /* gpio input */

    /* engine thread writes */
    uint64_t current;         /* format of the graph that runs */
    _Atomic uint64_t samples; /* passed, of one channel: an input's position */
    _Atomic uint64_t dropped; /* frames lost to a full ring */
    bool last_level;          /* gpio output */

    /* control thread */
    tw_wav_t wav;
    tw_wav_writer_t *out;
    uint64_t out_format; /* what the file holds; 0 = nobody has claimed it */
    uint32_t out_rate_hz;
    bool out_failed;
    uint64_t refused; /* frames that did not reach the file */
    uint64_t lost_told, tell_at_ms;
} io_t;

/* A change of a gpio output on its way to the log. */
typedef struct gpio_change {
    uint64_t tick;
    uint32_t index, value;
} gpio_change_t;

enum { GPIO_RING_BYTES = 65536, SERVICE_BYTES = 1 << 18, TELL_MS = 10000 };

typedef struct board_state board_state_t;
typedef struct board_gpio board_gpio_t;

struct tw_board_linux {
    tw_board_t board;
    tw_board_linux_cfg_t cfg;
    tw_board_io_t *table;
    io_t *ios;
    uint32_t n;
    uint32_t bank_bytes[256];
    uint8_t bank_proc[256];
    tw_ring_t gpio;
    _Atomic uint32_t gpio_lost;
    uint32_t gpio_lost_told;
    uint64_t synced_ms;
    board_state_t *state; /* NULL: nothing is kept */
    board_gpio_t *pins;
    bool adopts; /* engine thread: it says when an accepted graph takes over */
    _Alignas(8) uint8_t gpio_memory[GPIO_RING_BYTES];
};

/* NULL: nothing to do. open, accept, service, close: control thread; read, write: engine thread. */
typedef struct backend_calls {
    bool (*open)(io_t *io, char why[TW_BOARD_WHY]);
    tw_err_t (*accept)(io_t *io, const io_format_t *f, float rate_hz);
    uint32_t (*read)(io_t *io, const io_format_t *f, uint8_t *dst);
    uint32_t (*write)(io_t *io, const io_format_t *f, uint64_t tick, const uint8_t *src);
    bool (*service)(io_t *io, bool sync); /* true: more is waiting */
    void (*close)(io_t *io);
} backend_calls_t;

typedef struct backend {
    const char *name;
    bool rx, tx;
    const backend_calls_t *calls;
} backend_t;

#define TW_BACKEND(name, rx, tx, text) extern const backend_calls_t backend_##name;
#include "engine/board/board_linux_backends.def"

void board_log(const tw_board_linux_t *b, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* board_linux_state.c; store: engine thread, the others: control thread */
bool board_state_open(tw_board_linux_t *b, char why[TW_BOARD_WHY]);
bool board_state_store(void *ctx, const void *data, uint32_t bytes);
uint32_t board_state_restore(void *ctx, void *data, uint32_t room);
void board_state_service(tw_board_linux_t *b);
void board_state_close(tw_board_linux_t *b);

/* board_linux_gpio.c; control thread */
bool board_gpio_open(tw_board_linux_t *b, char why[TW_BOARD_WHY]);
/** @return look again soon */
bool board_gpio_service(tw_board_linux_t *b);
void board_gpio_close(tw_board_linux_t *b);

/* Samples of one channel in a frame; formats were checked to give whole ones. */
static inline uint32_t frame_samples(const io_format_t *f, uint32_t sample_bytes)
{
    return f->frame_bytes / (f->channels * sample_bytes);
}

/* Where channel `c` of sample `s` lies in a frame, counted in samples. */
static inline uint32_t sample_place(const io_t *io, const io_format_t *f, uint32_t samples, uint32_t s, uint32_t c)
{
    return io->planar ? c * samples + s : s * f->channels + c;
}

static inline uint64_t passed(const io_t *io)
{
    return atomic_load_explicit(&io->samples, memory_order_relaxed);
}

static inline void pass(io_t *io, uint32_t samples)
{
    atomic_store_explicit(&io->samples, passed(io) + samples, memory_order_relaxed);
}
