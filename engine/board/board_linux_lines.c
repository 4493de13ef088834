/* board_linux_lines.c - IOs without a file: gpio lines, silence, pseudo-noise. */
#include "engine/board/board_linux_priv.h"
#include "engine/board/board_linux_samples.h"

/* ---- gpio ------------------------------------------------------------------ */

static tw_err_t gpio_accept(io_t *io, const io_format_t *f, float rate_hz)
{
    (void)rate_hz;
    if (!tw_sample_is_level(f->raw)) {
        board_log(io->board, TW_BOARD_ERROR, "%s: a line has no meaning as %s samples", io->as->name,
                  tw_raw_name(f->raw));
        return TW_E_UNSUPPORTED;
    }
    return TW_OK;
}

static uint32_t gpio_read(io_t *io, const io_format_t *f, uint8_t *dst)
{
    tw_samples_fill_level(f->raw, dst, f->frame_bytes, atomic_load_explicit(&io->level, memory_order_relaxed));
    return f->frame_bytes;
}

static uint32_t gpio_write(io_t *io, const io_format_t *f, uint64_t tick, const uint8_t *src)
{
    const bool level = tw_samples_above_half(f->raw, src, f->frame_bytes);
    if (level != io->last_level) {
        gpio_change_t *change = tw_ring_reserve(&io->board->gpio, sizeof *change);
        if (change != NULL) {
            *change = (gpio_change_t){.tick = tick, .index = (uint32_t)(io - io->board->ios), .value = level};
            tw_ring_commit(&io->board->gpio, sizeof *change);
        } else {
            atomic_fetch_add_explicit(&io->board->gpio_lost, 1, memory_order_relaxed);
        }
        io->last_level = level;
    }
    return f->frame_bytes;
}

const backend_calls_t backend_gpio = {.accept = gpio_accept, .read = gpio_read, .write = gpio_write};

/* ---- null ------------------------------------------------------------------ */

static uint32_t null_read(io_t *io, const io_format_t *f, uint8_t *dst)
{
    (void)io;
    memset(dst, 0, f->frame_bytes);
    return f->frame_bytes;
}

static uint32_t null_write(io_t *io, const io_format_t *f, uint64_t tick, const uint8_t *src)
{
    (void)io, (void)tick, (void)src;
    return f->frame_bytes;
}

const backend_calls_t backend_null = {.read = null_read, .write = null_write};

/* ---- ramp ------------------------------------------------------------------ */

/* splitmix64's finaliser over the sample's number: no state, so any sample can be told from its number. */
int32_t tw_board_linux_ramp(uint64_t sample, uint32_t channel)
{
    uint64_t z = sample * 32u + channel + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (int32_t)(uint32_t)(z >> 32) / 2;
}

static tw_err_t ramp_accept(io_t *io, const io_format_t *f, float rate_hz)
{
    (void)rate_hz;
    if (tw_sample_bytes(f->raw) == 0) {
        board_log(io->board, TW_BOARD_ERROR, "%s: cannot make noise of %s samples", io->as->name, tw_raw_name(f->raw));
        return TW_E_UNSUPPORTED;
    }
    return TW_OK;
}

static uint32_t ramp_read(io_t *io, const io_format_t *f, uint8_t *dst)
{
    const uint32_t bytes = tw_sample_bytes(f->raw);
    const uint32_t samples = frame_samples(f, bytes);
    const uint64_t at = passed(io);
    for (uint32_t s = 0; s < samples; s++) {
        for (uint32_t c = 0; c < f->channels; c++) {
            tw_sample_put(f->raw, dst + sample_place(io, f, samples, s, c) * bytes, tw_board_linux_ramp(at + s, c));
        }
    }
    pass(io, samples);
    return f->frame_bytes;
}

const backend_calls_t backend_ramp = {.accept = ramp_accept, .read = ramp_read};
