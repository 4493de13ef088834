/* board_linux_wav.c - WAV files as IOs: wav_in plays from memory, wav_out records through a ring. */
#include "engine/base/port.h"
#include "engine/board/board_linux_priv.h"
#include "engine/board/board_linux_samples.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_RING_BYTES = 4 << 20 };

/* ---- wav_in ---------------------------------------------------------------- */

static bool in_open(io_t *io, char why[TW_BOARD_WHY])
{
    char reason[TW_WAV_WHY];
    if (!tw_wav_read(&io->wav, io->file, reason)) {
        snprintf(why, TW_BOARD_WHY, "%s: %s", io->as->name, reason);
        return false;
    }
    return true;
}

static tw_err_t in_accept(io_t *io, const io_format_t *f, float rate_hz)
{
    if (tw_sample_bytes(f->raw) == 0) {
        board_log(io->board, TW_BOARD_ERROR, "%s: cannot play a WAV file as %s samples", io->as->name,
                  tw_raw_name(f->raw));
        return TW_E_UNSUPPORTED;
    }
    /* A rate of 0 is an asynchronous stream: it takes samples as they are. */
    if (rate_hz != 0.0f && rate_hz != (float)io->wav.rate_hz) {
        board_log(io->board, TW_BOARD_ERROR, "%s: the graph runs at %.9g Hz, %s has %u Hz: convert the file",
                  io->as->name, (double)rate_hz, io->file, io->wav.rate_hz);
        return TW_E_UNSUPPORTED;
    }
    if (io->wav.channels != f->channels && io->wav.channels != 1) {
        board_log(io->board, TW_BOARD_ERROR, "%s: the graph wants %u channels, %s has %u (equal or one is possible)",
                  io->as->name, f->channels, io->file, io->wav.channels);
        return TW_E_UNSUPPORTED;
    }
    return TW_OK;
}

static void convert_sample(const io_t *io, const io_format_t *f, uint64_t at, uint32_t channel, uint8_t *dst)
{
    const uint32_t from = io->wav.channels == 1 ? 0 : channel;
    if (io->wav.is_float) {
        tw_sample_put_float(f->raw, dst, tw_wav_float(&io->wav, at, from));
    } else {
        tw_sample_put(f->raw, dst, tw_wav_q31(&io->wav, at, from));
    }
}

/* File samples are the graph's samples, byte for byte: copy. */
static bool same_layout(const io_t *io, const io_format_t *f, uint32_t bytes)
{
    const bool same = io->wav.is_float ? f->raw == TW_RAW_FP32 : f->raw != TW_RAW_FP32 && bytes > 1;
    return same && io->wav.bits == 8 * bytes && io->wav.channels == f->channels && (!io->planar || f->channels == 1);
}

static void play(const io_t *io, const io_format_t *f, uint64_t at, uint32_t s, uint32_t n, uint8_t *dst)
{
    const uint32_t bytes = tw_sample_bytes(f->raw);
    const uint32_t samples = frame_samples(f, bytes);
    if (same_layout(io, f, bytes)) {
        const uint32_t block = bytes * f->channels;
        memcpy(dst + s * block, io->wav.data + at * block, (size_t)n * block);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t c = 0; c < f->channels; c++) {
            convert_sample(io, f, at + i, c, dst + sample_place(io, f, samples, s + i, c) * bytes);
        }
    }
}

static uint32_t in_read(io_t *io, const io_format_t *f, uint8_t *dst)
{
    const uint32_t samples = frame_samples(f, tw_sample_bytes(f->raw));
    uint64_t at = passed(io);
    uint32_t s = 0;
    memset(dst, 0, f->frame_bytes); /* silence after the end; zero is silence in every type converted to */
    while (s < samples) {
        const uint64_t in_file = io->loop ? (at + s) % io->wav.frames : at + s;
        if (in_file >= io->wav.frames) {
            break;
        }
        const uint64_t left = io->wav.frames - in_file;
        const uint32_t n = left < samples - s ? (uint32_t)left : samples - s;
        play(io, f, in_file, s, n, dst);
        s += n;
    }
    pass(io, samples);
    return f->frame_bytes;
}

static void in_close(io_t *io)
{
    tw_wav_free(&io->wav);
}

const backend_calls_t backend_wav_in = {.open = in_open, .accept = in_accept, .read = in_read, .close = in_close};

/* ---- wav_out --------------------------------------------------------------- */

static uint32_t file_bits(uint32_t raw)
{
    const uint32_t bytes = tw_sample_bytes(raw);
    return bytes > 1 ? 8 * bytes : 0;
}

/* (Re)create the file for a format: the header's rate, channels and width are the graph's. */
static bool claim(io_t *io, const io_format_t *f, uint32_t rate_hz, char why[TW_WAV_WHY])
{
    tw_wav_close(io->out, why);
    io->out = tw_wav_create(io->file, rate_hz, f->channels, file_bits(f->raw), f->raw == TW_RAW_FP32, why);
    io->out_failed = io->out == NULL;
    io->out_format = pack_format(f);
    io->out_rate_hz = rate_hz;
    return io->out != NULL;
}

/* The file exists from the start, so that a folder that is missing or read-only is known then. */
static bool out_open(io_t *io, char why[TW_BOARD_WHY])
{
    char reason[TW_WAV_WHY];
    const uint32_t bytes = io->board->cfg.ring_bytes != 0 ? io->board->cfg.ring_bytes : DEFAULT_RING_BYTES;
    const io_format_t f = {.raw = file_bits(io->raw) != 0 ? io->raw : TW_RAW_S16, .channels = io->channels};
    io->ring_memory = aligned_alloc(64, bytes);
    if (io->ring_memory == NULL) {
        snprintf(why, TW_BOARD_WHY, "%s: not enough memory for a ring of %u bytes", io->as->name, bytes);
        return false;
    }
    tw_ring_init(&io->ring, io->ring_memory, bytes);
    if (!claim(io, &f, io->rate_hz, reason)) {
        snprintf(why, TW_BOARD_WHY, "%s: cannot record: %s", io->as->name, reason);
        return false;
    }
    io->out_format = 0;
    return true;
}

/* To a file only the width of a sample matters: not the frame's size, nor whether S16 is read as Q15. */
static bool file_holds(const io_t *io, uint64_t format)
{
    const io_format_t a = unpack_format(io->out_format), b = unpack_format(format);
    return a.channels == b.channels && file_bits(a.raw) == file_bits(b.raw) &&
           (a.raw == TW_RAW_FP32) == (b.raw == TW_RAW_FP32);
}

static bool out_service(io_t *io, bool sync);

static tw_err_t out_accept(io_t *io, const io_format_t *f, float rate_hz)
{
    const uint32_t rate = (uint32_t)lroundf(rate_hz);
    if (file_bits(f->raw) == 0) {
        board_log(io->board, TW_BOARD_ERROR, "%s: a WAV file cannot hold %s samples", io->as->name,
                  tw_raw_name(f->raw));
        return TW_E_UNSUPPORTED;
    }
    if (rate < 1 || (float)rate != rate_hz) {
        board_log(io->board, TW_BOARD_ERROR, "%s: a WAV file cannot hold a stream of %.9g Hz", io->as->name,
                  (double)rate_hz);
        return TW_E_UNSUPPORTED;
    }
    if (sizeof(uint64_t) + f->frame_bytes > io->ring.size / 4) {
        board_log(io->board, TW_BOARD_ERROR, "%s: frames of %u bytes are too large to record", io->as->name,
                  f->frame_bytes);
        return TW_E_NOMEM;
    }
    while (out_service(io, false)) { /* so that the file's frames say what it holds */
    }
    if (io->out != NULL && tw_wav_frames(io->out) > 0) {
        if (file_holds(io, pack_format(f)) && io->out_rate_hz == rate) {
            return TW_OK;
        }
        const io_format_t has = unpack_format(io->out_format);
        board_log(io->board, TW_BOARD_ERROR,
                  "%s: %s already holds %u channels of %s at %u Hz, the graph has %u of %s "
                  "at %u Hz: restart with another file",
                  io->as->name, io->file, has.channels, tw_raw_name(has.raw), io->out_rate_hz, f->channels,
                  tw_raw_name(f->raw), rate);
        return TW_E_UNSUPPORTED;
    }
    char why[TW_WAV_WHY];
    if (!claim(io, f, rate, why)) {
        board_log(io->board, TW_BOARD_ERROR, "%s: cannot record: %s", io->as->name, why);
        return TW_E_IO;
    }
    return TW_OK;
}

static uint32_t out_write(io_t *io, const io_format_t *f, uint64_t tick, const uint8_t *src)
{
    (void)tick;
    uint8_t *record = tw_ring_reserve(&io->ring, (uint32_t)sizeof(uint64_t) + f->frame_bytes);
    if (record == NULL) {
        atomic_fetch_add_explicit(&io->dropped, 1, memory_order_relaxed);
        return 0;
    }
    tw_put_le64(record, pack_format(f));
    memcpy(record + sizeof(uint64_t), src, f->frame_bytes);
    tw_ring_commit(&io->ring, (uint32_t)sizeof(uint64_t) + f->frame_bytes);
    pass(io, frame_samples(f, tw_sample_bytes(f->raw)));
    return f->frame_bytes;
}

/* A frame of channel blocks, turned sample by sample: files are interleaved. */
static bool put_planar(io_t *io, const io_format_t *f, const uint8_t *frame, char why[TW_WAV_WHY])
{
    const uint32_t bytes = tw_sample_bytes(f->raw);
    const uint32_t samples = frame_samples(f, bytes);
    for (uint32_t s = 0; s < samples; s++) {
        for (uint32_t c = 0; c < f->channels; c++) {
            if (!tw_wav_put(io->out, frame + sample_place(io, f, samples, s, c) * bytes, bytes, why)) {
                return false;
            }
        }
    }
    return true;
}

static void record_frame(io_t *io, const uint8_t *record, uint32_t n)
{
    const uint64_t word = tw_get_le64(record);
    const io_format_t f = unpack_format(word);
    char why[TW_WAV_WHY];
    if (io->out_failed || !file_holds(io, word)) {
        io->refused++;
        return;
    }
    TW_ASSERT(n == sizeof word + f.frame_bytes);
    const bool ok = io->planar && f.channels > 1 ? put_planar(io, &f, record + sizeof word, why)
                                                 : tw_wav_put(io->out, record + sizeof word, f.frame_bytes, why);
    if (!ok) {
        io->out_failed = true;
        io->refused++;
        board_log(io->board, TW_BOARD_ERROR, "%s: recording ends: %s", io->as->name, why);
    }
}

/* The first at once, then what came together: a full disk must not fill a log too. */
static void tell_losses(io_t *io, bool last)
{
    const uint64_t now_ms = io->board->synced_ms;
    const uint64_t lost = atomic_load_explicit(&io->dropped, memory_order_relaxed) + io->refused;
    if (lost != io->lost_told && (last || now_ms >= io->tell_at_ms)) {
        board_log(io->board, TW_BOARD_WARN, "%s: %llu frames not recorded (%llu in all): %s", io->as->name,
                  (unsigned long long)(lost - io->lost_told), (unsigned long long)lost,
                  io->refused != 0 ? "the file does not take them" : "the disk is too slow");
        io->lost_told = lost;
        io->tell_at_ms = now_ms + TELL_MS;
    }
}

static bool out_service(io_t *io, bool sync)
{
    uint32_t n = 0, taken = 0;
    const uint8_t *record = NULL;
    while (taken < SERVICE_BYTES && (record = tw_ring_peek(&io->ring, &n)) != NULL) {
        record_frame(io, record, n);
        tw_ring_pop(&io->ring);
        taken += n;
    }
    char why[TW_WAV_WHY];
    if (sync) {
        tell_losses(io, false);
        if (!io->out_failed && !tw_wav_sync(io->out, why)) {
            io->out_failed = true;
            board_log(io->board, TW_BOARD_ERROR, "%s: recording ends: %s", io->as->name, why);
        }
    }
    return taken >= SERVICE_BYTES;
}

static void out_close(io_t *io)
{
    char why[TW_WAV_WHY];
    while (io->ring_memory != NULL && out_service(io, false)) {}
    if (!tw_wav_close(io->out, why) && !io->out_failed) {
        board_log(io->board, TW_BOARD_ERROR, "%s: %s", io->as->name, why);
    }
    io->out = NULL;
    tell_losses(io, true);
    free(io->ring_memory);
}

const backend_calls_t backend_wav_out = {
    .open = out_open, .accept = out_accept, .write = out_write, .service = out_service, .close = out_close};
