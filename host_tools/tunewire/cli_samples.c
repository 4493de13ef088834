/* cli_samples.c - see cli_samples.h. WAV: RIFF, "fmt " with tag 1 (PCM) or 3 (IEEE float), "fact" for floats. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_samples.h"

enum { PCM = 1, IEEE_FLOAT = 3, HEADER_MAX = 58 };

tw_sample_file_kind_t cli_samples_kind(const char *path)
{
    return cli_has_suffix(path, ".wav") ? SAMPLES_WAV : cli_has_suffix(path, ".csv") ? SAMPLES_CSV : SAMPLES_RAW;
}

bool cli_wav_holds(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
    case TW_RAW_Q7:
    case TW_RAW_U8:
    case TW_RAW_S16:
    case TW_RAW_Q15:
    case TW_RAW_S32:
    case TW_RAW_Q31:
    case TW_RAW_FP32:
    case TW_RAW_FP64:
        return true;
    default:
        return false;
    }
}

static uint32_t frame_bytes(const tw_sample_file_t *s)
{
    return tw_raw_bits(s->raw) / 8 * s->channels;
}

/* A length beyond 4 GiB is written as the largest there is: players then read to the end of the file. */
static uint32_t length32(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static size_t wav_header(const tw_sample_file_t *s, uint8_t h[HEADER_MAX])
{
    const bool fp = s->raw == TW_RAW_FP32 || s->raw == TW_RAW_FP64;
    const uint32_t fmt = fp ? 18 : 16;
    const size_t n = 20 + fmt + (fp ? 12 : 0) + 8;
    uint8_t *p = h;
    memcpy(p, "RIFF", 4);
    tw_put_le32(p + 4, length32(n - 8 + s->bytes + (s->bytes & 1)));
    memcpy(p + 8, "WAVEfmt ", 8);
    tw_put_le32(p + 16, fmt);
    tw_put_le16(p + 20, fp ? IEEE_FLOAT : PCM);
    tw_put_le16(p + 22, (uint16_t)s->channels);
    tw_put_le32(p + 24, s->rate_hz);
    tw_put_le32(p + 28, s->rate_hz * frame_bytes(s));
    tw_put_le16(p + 32, (uint16_t)frame_bytes(s));
    tw_put_le16(p + 34, (uint16_t)tw_raw_bits(s->raw));
    p += 36;
    if (fp) {
        tw_put_le16(p, 0); /* no extension */
        memcpy(p + 2, "fact", 4);
        tw_put_le32(p + 6, 4);
        tw_put_le32(p + 10, length32(s->bytes / frame_bytes(s)));
        p += 14;
    }
    memcpy(p, "data", 4);
    tw_put_le32(p + 4, length32(s->bytes));
    return n;
}

bool cli_samples_start(tw_sample_file_t *s, FILE *f, tw_sample_file_kind_t kind, uint32_t raw, uint32_t channels,
                       uint32_t rate_hz)
{
    uint8_t h[HEADER_MAX];
    *s = (tw_sample_file_t){.f = f, .kind = kind, .raw = raw, .channels = channels ? channels : 1, .rate_hz = rate_hz};
    if (kind == SAMPLES_CSV) {
        return tw_raw_bits(raw) >= 8 && tw_raw_bits(raw) <= 64;
    }
    if (kind != SAMPLES_WAV) {
        return true;
    }
    if (!cli_wav_holds(raw)) {
        return false;
    }
    const size_t n = wav_header(s, h);
    return fwrite(h, 1, n, f) == n;
}

static bool add_csv(tw_sample_file_t *s, const uint8_t *data, size_t n)
{
    const uint32_t size = tw_raw_bits(s->raw) / 8;
    const tunewire_v1_ParamDesc one = {.type = s->raw, .count = 1};
    for (size_t i = 0; (i + 1) * size <= n; i++) {
        char text[48];
        tw_value_format(&one, data + i * size, size, text, sizeof text);
        if (fprintf(s->f, "%s%c", text, (i + 1) % s->channels ? ',' : '\n') < 0) {
            return false;
        }
    }
    return true;
}

/* 8-bit WAV is offset binary. */
static bool add_signed_bytes(tw_sample_file_t *s, const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fputc(data[i] ^ 0x80, s->f) == EOF) {
            return false;
        }
    }
    return true;
}

bool cli_samples_add(tw_sample_file_t *s, const uint8_t *data, size_t n)
{
    s->bytes += n;
    if (s->kind == SAMPLES_CSV) {
        return add_csv(s, data, n);
    }
    if (s->kind == SAMPLES_WAV && (s->raw == TW_RAW_S8 || s->raw == TW_RAW_Q7)) {
        return add_signed_bytes(s, data, n);
    }
    return fwrite(data, 1, n, s->f) == n;
}

bool cli_samples_end(tw_sample_file_t *s)
{
    uint8_t h[HEADER_MAX];
    if (s->kind != SAMPLES_WAV) {
        return fflush(s->f) == 0;
    }
    if (s->bytes & 1 && fputc(0, s->f) == EOF) { /* chunks are even */
        return false;
    }
    const size_t n = wav_header(s, h);
    return fseek(s->f, 0, SEEK_SET) == 0 && fwrite(h, 1, n, s->f) == n && fflush(s->f) == 0;
}
