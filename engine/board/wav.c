#include "engine/board/wav.h"
#include "engine/base/bytes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TAG_PCM = 1,
    TAG_FLOAT = 3,
    TAG_EXTENSIBLE = 0xFFFE,
    RIFF_BYTES = 12,
    CHUNK_BYTES = 8,
    FMT_PCM_BYTES = 16,
    FMT_EXTENSIBLE_BYTES = 40,
    HEADER_BYTES = RIFF_BYTES + CHUNK_BYTES + FMT_PCM_BYTES + CHUNK_BYTES, /* of the files written here */
    MAX_CHANNELS = 32,
    STAGE_BYTES = 65536,
};
#define MAX_FILE 0xFFFFFFFFull
#define MAX_RATE_HZ 10000000u

static bool no(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool no(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TW_WAV_WHY, format, args);
    va_end(args);
    return false;
}

/* ---- reading --------------------------------------------------------------- */

/* The last 14 bytes of a sub-format that stands for a classic tag (KSDATAFORMAT_SUBTYPE_*). */
static const uint8_t guid_tail[14] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71};

static bool read_tag(uint32_t *tag, const uint8_t *fmt, uint32_t n, uint32_t at, char *why)
{
    *tag = tw_get_le16(fmt);
    if (*tag != TAG_EXTENSIBLE) {
        return true;
    }
    if (n < FMT_EXTENSIBLE_BYTES) {
        return no(why, "extensible format of %u bytes at byte %u, needs %d", n, at, FMT_EXTENSIBLE_BYTES);
    }
    if (memcmp(fmt + 26, guid_tail, sizeof guid_tail) != 0) {
        return no(why, "sub-format at byte %u is neither PCM nor float", at + 24);
    }
    *tag = tw_get_le16(fmt + 24);
    return true;
}

static bool read_fmt(tw_wav_t *w, const uint8_t *fmt, uint32_t n, uint32_t at, char *why)
{
    if (n < FMT_PCM_BYTES) {
        return no(why, "format chunk of %u bytes at byte %u, needs %d", n, at, FMT_PCM_BYTES);
    }
    uint32_t tag;
    if (!read_tag(&tag, fmt, n, at, why)) {
        return false;
    }
    w->channels = tw_get_le16(fmt + 2);
    w->rate_hz = tw_get_le32(fmt + 4);
    w->bits = tw_get_le16(fmt + 14);
    w->is_float = tag == TAG_FLOAT;
    const uint32_t block = tw_get_le16(fmt + 12);
    if (tag != TAG_PCM && tag != TAG_FLOAT) {
        return no(why, "coding %u at byte %u is neither PCM (1) nor float (3)", tag, at);
    }
    if (w->channels < 1 || w->channels > MAX_CHANNELS) {
        return no(why, "%u channels at byte %u, 1 to %d are possible", w->channels, at + 2, MAX_CHANNELS);
    }
    if (w->rate_hz < 1 || w->rate_hz > MAX_RATE_HZ) {
        return no(why, "sample rate %u Hz at byte %u", w->rate_hz, at + 4);
    }
    const bool pcm_bits = w->bits == 8 || w->bits == 16 || w->bits == 24 || w->bits == 32;
    if (w->is_float ? w->bits != 32 : !pcm_bits) {
        return no(why, "%s samples of %u bits at byte %u", w->is_float ? "float" : "PCM", w->bits, at + 14);
    }
    if (block != w->channels * w->bits / 8) {
        return no(why, "block of %u bytes at byte %u, %u channels of %u bits need %u", block, at + 12, w->channels,
                  w->bits, w->channels * w->bits / 8);
    }
    return true;
}

static bool read_data(tw_wav_t *w, const uint8_t *bytes, uint32_t n, uint32_t at, char *why)
{
    if (w->channels == 0) {
        return no(why, "data at byte %u before the format", at);
    }
    const uint32_t block = w->channels * w->bits / 8;
    if (n == 0) {
        return no(why, "no samples: the data chunk at byte %u is empty", at);
    }
    if (n % block != 0) {
        return no(why, "%u data bytes at byte %u are not whole frames of %u bytes", n, at, block);
    }
    w->data = bytes + at;
    w->frames = n / block;
    return true;
}

/* Walk the chunks until the samples; what follows them is of no interest. */
static bool read_chunks(tw_wav_t *w, const uint8_t *bytes, uint32_t n, char *why)
{
    uint64_t at = RIFF_BYTES;
    while (tw_inside(at, CHUNK_BYTES, n)) {
        const uint8_t *name = bytes + at;
        const uint32_t len = tw_get_le32(name + 4);
        const uint32_t body = (uint32_t)at + CHUNK_BYTES;
        if (!tw_inside(body, len, n)) {
            return no(why, "chunk at byte %u has %u bytes, the file ends after %u", (uint32_t)at, len, n - body);
        }
        if (memcmp(name, "fmt ", 4) == 0) {
            if (w->channels != 0) {
                return no(why, "second format chunk at byte %u", (uint32_t)at);
            }
            if (!read_fmt(w, bytes + body, len, body, why)) {
                return false;
            }
        } else if (memcmp(name, "data", 4) == 0) {
            return read_data(w, bytes, len, body, why);
        }
        at = (uint64_t)body + len + (len & 1u);
    }
    return no(why, "no data chunk up to the end at byte %u", n);
}

bool tw_wav_parse(tw_wav_t *w, const uint8_t *bytes, size_t n, char why[TW_WAV_WHY])
{
    *w = (tw_wav_t){0};
    if (n > MAX_FILE) {
        return no(why, "larger than 4 GB: cut it, the format's sizes have 32 bits");
    }
    if (n < RIFF_BYTES) {
        return no(why, "%zu bytes are too few for a WAV file", n);
    }
    if (memcmp(bytes, "RIFX", 4) == 0) {
        return no(why, "big-endian WAV (RIFX) is not supported");
    }
    if (memcmp(bytes, "RF64", 4) == 0) {
        return no(why, "64-bit WAV (RF64) is not supported");
    }
    if (memcmp(bytes, "RIFF", 4) != 0 || memcmp(bytes + 8, "WAVE", 4) != 0) {
        return no(why, "not a WAV file: RIFF and WAVE are missing at byte 0 and 8");
    }
    if (!read_chunks(w, bytes, (uint32_t)n, why)) {
        *w = (tw_wav_t){0};
        return false;
    }
    return true;
}

static bool load(const char *path, uint8_t **bytes, size_t *n, char *why)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return no(why, "%s: %s", path, strerror(errno));
    }
    struct stat st;
    bool ok = fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
    if (!ok) {
        no(why, "%s: not a regular file", path);
    } else if ((uint64_t)st.st_size > MAX_FILE) {
        ok = no(why, "%s: larger than 4 GB: cut it, the format's sizes have 32 bits", path);
    } else {
        *n = (size_t)st.st_size;
        *bytes = malloc(*n + 1);
        ok = *bytes != NULL || no(why, "%s: not enough memory for its %zu bytes", path, *n);
        ok = ok && (fread(*bytes, 1, *n, f) == *n || no(why, "%s: reading failed", path));
    }
    fclose(f);
    return ok;
}

bool tw_wav_read(tw_wav_t *w, const char *path, char why[TW_WAV_WHY])
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    char inner[TW_WAV_WHY] = "";
    *w = (tw_wav_t){0};
    if (!load(path, &bytes, &n, why)) {
        free(bytes);
        return false;
    }
    if (!tw_wav_parse(w, bytes, n, inner)) {
        free(bytes);
        return no(why, "%.150s: %.160s", path, inner);
    }
    w->file = bytes;
    return true;
}

void tw_wav_free(tw_wav_t *w)
{
    free(w->file);
    *w = (tw_wav_t){0};
}

static const uint8_t *sample_at(const tw_wav_t *w, uint64_t frame, uint32_t channel)
{
    return w->data + (frame * w->channels + channel) * (w->bits / 8);
}

static int32_t float_to_q31(float v)
{
    const double scaled = (double)v * 2147483648.0;
    if (!(scaled > -2147483648.0)) {
        return v < 0 ? INT32_MIN : 0; /* 0: not a number */
    }
    return scaled >= 2147483647.0 ? INT32_MAX : (int32_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
}

int32_t tw_wav_q31(const tw_wav_t *w, uint64_t frame, uint32_t channel)
{
    const uint8_t *p = sample_at(w, frame, channel);
    switch (w->bits) {
    case 8: /* the one unsigned width: silence is 128 */
        return (int32_t)((uint32_t)(p[0] ^ 0x80u) << 24);
    case 16:
        return (int32_t)((uint32_t)tw_get_le16(p) << 16);
    case 24:
        return (int32_t)((uint32_t)p[0] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 24);
    default:
        return w->is_float ? float_to_q31(tw_get_f32(p)) : (int32_t)tw_get_le32(p);
    }
}

float tw_wav_float(const tw_wav_t *w, uint64_t frame, uint32_t channel)
{
    if (w->is_float) {
        return tw_get_f32(sample_at(w, frame, channel));
    }
    return (float)tw_wav_q31(w, frame, channel) * (1.0f / 2147483648.0f);
}

/* ---- writing --------------------------------------------------------------- */

struct tw_wav_writer {
    char path[256];
    int fd;
    uint32_t rate_hz, channels, bits;
    bool is_float;
    bool torn;        /* a write failed half way: the header keeps to what was whole */
    uint64_t written; /* data bytes in the file */
    uint32_t staged;
    uint8_t stage[STAGE_BYTES];
};

static void put_header(uint8_t h[HEADER_BYTES], const tw_wav_writer_t *w)
{
    const uint32_t block = w->channels * w->bits / 8;
    memcpy(h, "RIFF", 4);
    tw_put_le32(h + 4, (uint32_t)(w->written + HEADER_BYTES - 8));
    memcpy(h + 8, "WAVEfmt ", 8);
    tw_put_le32(h + 16, FMT_PCM_BYTES);
    tw_put_le16(h + 20, w->is_float ? TAG_FLOAT : TAG_PCM);
    tw_put_le16(h + 22, (uint16_t)w->channels);
    tw_put_le32(h + 24, w->rate_hz);
    tw_put_le32(h + 28, w->rate_hz * block);
    tw_put_le16(h + 32, (uint16_t)block);
    tw_put_le16(h + 34, (uint16_t)w->bits);
    memcpy(h + 36, "data", 4);
    tw_put_le32(h + 40, (uint32_t)w->written);
}

static bool write_at(const tw_wav_writer_t *w, const uint8_t *bytes, size_t n, uint64_t at)
{
    while (n > 0) {
        const ssize_t done = pwrite(w->fd, bytes, n, (off_t)at);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        bytes += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return true;
}

static bool write_header(tw_wav_writer_t *w, char *why)
{
    uint8_t header[HEADER_BYTES];
    put_header(header, w);
    return write_at(w, header, sizeof header, 0) || no(why, "%s: %s", w->path, strerror(errno));
}

tw_wav_writer_t *tw_wav_create(const char *path, uint32_t rate_hz, uint32_t channels, uint32_t bits, bool is_float,
                               char why[TW_WAV_WHY])
{
    const bool known = is_float ? bits == 32 : bits == 16 || bits == 32;
    if (!known || channels < 1 || channels > MAX_CHANNELS || rate_hz < 1 || rate_hz > MAX_RATE_HZ) {
        no(why, "%s: cannot hold %u channels of %u bits at %u Hz", path, channels, bits, rate_hz);
        return NULL;
    }
    tw_wav_writer_t *w = malloc(sizeof *w);
    if (w == NULL || strlen(path) >= sizeof w->path) {
        no(why, "%.200s: %s", path, w == NULL ? "not enough memory" : "the path is too long");
        free(w);
        return NULL;
    }
    w->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        no(why, "%s: %s", path, strerror(errno));
        free(w);
        return NULL;
    }
    snprintf(w->path, sizeof w->path, "%s", path);
    w->rate_hz = rate_hz;
    w->channels = channels;
    w->bits = bits;
    w->is_float = is_float;
    w->torn = false;
    w->written = 0;
    w->staged = 0;
    if (!write_header(w, why)) {
        close(w->fd);
        free(w);
        return NULL;
    }
    return w;
}

static bool write_stage(tw_wav_writer_t *w, char *why)
{
    if (w->staged == 0) {
        return true;
    }
    if (!write_at(w, w->stage, w->staged, HEADER_BYTES + w->written)) {
        w->torn = true;
        w->staged = 0;
        return no(why, "%s: %s", w->path, strerror(errno));
    }
    w->written += w->staged;
    w->staged = 0;
    return true;
}

bool tw_wav_put(tw_wav_writer_t *w, const void *bytes, uint32_t n, char why[TW_WAV_WHY])
{
    if (w->torn) {
        return no(why, "%s: closed after an earlier write error", w->path);
    }
    if (w->written + w->staged + n + HEADER_BYTES > MAX_FILE) {
        return no(why, "%s: full at 4 GB", w->path);
    }
    const uint8_t *from = bytes;
    while (n > 0) {
        const uint32_t take = tw_min_u32(n, STAGE_BYTES - w->staged);
        memcpy(w->stage + w->staged, from, take);
        w->staged += take;
        from += take;
        n -= take;
        if (w->staged == STAGE_BYTES && !(write_stage(w, why) && write_header(w, why))) {
            return false;
        }
    }
    return true;
}

bool tw_wav_sync(tw_wav_writer_t *w, char why[TW_WAV_WHY])
{
    return write_stage(w, why) && write_header(w, why);
}

uint64_t tw_wav_frames(const tw_wav_writer_t *w)
{
    return (w->written + w->staged) / (w->channels * w->bits / 8);
}

bool tw_wav_close(tw_wav_writer_t *w, char why[TW_WAV_WHY])
{
    if (w == NULL) {
        return true;
    }
    bool ok = tw_wav_sync(w, why);
    if (close(w->fd) != 0 && ok) {
        ok = no(why, "%s: %s", w->path, strerror(errno));
    }
    free(w);
    return ok;
}
