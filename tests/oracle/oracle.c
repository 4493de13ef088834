/* oracle.c - kernels and nodes for tests in other languages: raw bytes in, raw bytes out.
 *
 *   oracle biquad_q15 STAGES SHIFT         stdin: coefficients, then samples; as the kernel takes them
 *   oracle biquad_f32 STAGES
 *   oracle channels STAGES CHANNELS        biquad_f32_channels
 *   oracle rfft N | cfft N                 stdin: one transform's samples
 *   oracle window KIND N
 *   oracle math NAME                       stdin: doubles; pow and atan2 take pairs
 *   oracle node NAME PRESET RATE IN OUT [INDEX=HEX]..
 *        IN, OUT: RAW,CHANNELS,SAMPLES[,WIDTH,HEIGHT]. stdin: whole input frames; each is given to the node as often as
 *        it takes something, and all that comes out is written.
 */
#include "engine/base/crc.h"
#include "engine/node/kernels.h"
#include <stdio.h>
#include <stdlib.h>

static uint8_t *in;
static size_t in_bytes;
static tw_services_t svc;

static void fail(const char *what)
{
    fprintf(stderr, "oracle: %s\n", what);
    exit(1);
}

static void *room(size_t bytes)
{
    void *p = calloc(1, (bytes + 31) / 16 * 16);
    if (p == NULL) {
        fail("no memory");
    }
    return p;
}

static void read_all(void)
{
    size_t size = 1u << 16;
    in = room(size);
    for (size_t n; (n = fread(in + in_bytes, 1, size - in_bytes, stdin)) > 0;) {
        in_bytes += n;
        if (in_bytes == size) {
            in = realloc(in, size *= 2);
        }
        if (in == NULL) {
            fail("no memory");
        }
    }
}

static void put(const void *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, stdout) != bytes) {
        fail("cannot write");
    }
}

/* Samples behind the coefficients. */
static uint32_t behind(size_t coef_bytes, size_t sample)
{
    if (in_bytes < coef_bytes) {
        fail("coefficients are missing");
    }
    return (uint32_t)((in_bytes - coef_bytes) / sample);
}

static void biquads(const char *kind, unsigned stages, unsigned more)
{
    if (kind[0] == 'c') { /* channels */
        const uint32_t n = behind(20u * stages, 4 * more);
        float *x = (float *)(void *)in + 5 * stages;
        svc.biquad_f32_channels((float *)(void *)in, stages, room(16u * stages * more), 4 * stages, x, x, n, more);
        put(x, 4u * n * more);
    } else if (kind[7] == 'q') {
        const uint32_t n = behind(10u * stages, 2);
        int16_t *x = (int16_t *)(void *)in + 5 * stages;
        svc.biquad_q15((int16_t *)(void *)in, stages, (int)more, room(8u * stages), x, x, n);
        put(x, 2u * n);
    } else {
        const uint32_t n = behind(20u * stages, 4);
        float *x = (float *)(void *)in + 5 * stages;
        svc.biquad_f32((float *)(void *)in, stages, room(16u * stages), x, x, n);
        put(x, 4u * n);
    }
}

static void transform(bool real, uint32_t n)
{
    const uint32_t bytes = real ? svc.lib->rfft_bytes(n) : svc.lib->cfft_bytes(n);
    void *plan = room(bytes);
    float *out = room(8u * n + 8);
    if (bytes == 0 || in_bytes < (real ? 4u : 8u) * n) {
        fail("no such transform");
    }
    if (real && svc.lib->rfft_plan(plan, bytes, n, false)) {
        svc.lib->rfft(plan, (float *)(void *)in, out);
    } else if (!real && svc.lib->cfft_plan(plan, bytes, n, false)) {
        svc.lib->cfft(plan, (float *)(void *)in, out);
    }
    put(out, real ? 4u * (n + 2) : 8u * n);
}

static void math(const char *name)
{
    const tw_library_t *l = svc.lib;
    const double *x = (const double *)(const void *)in;
    const bool two = strcmp(name, "pow") == 0 || strcmp(name, "atan2") == 0;
    for (size_t i = 0; i < in_bytes / 8; i += two ? 2 : 1) {
        const double y = two ? (name[0] == 'p' ? l->pow(x[i], x[i + 1]) : l->atan2(x[i], x[i + 1]))
                         : strcmp(name, "sqrt") == 0 ? l->sqrt(x[i])
                         : strcmp(name, "log") == 0  ? l->log(x[i])
                         : strcmp(name, "exp") == 0  ? l->exp(x[i])
                         : strcmp(name, "sin") == 0  ? l->sin(x[i])
                                                     : l->cos(x[i]);
        put(&y, 8);
    }
}

/* ---- nodes ------------------------------------------------------------------------------ */

static tw_format_t format(const char *text, float rate)
{
    char raw[16];
    unsigned channels = 0, samples = 0, w = 0, h = 0;
    if (sscanf(text, "%15[^,],%u,%u,%u,%u", raw, &channels, &samples, &w, &h) < 3) {
        fail("a format is RAW,CHANNELS,SAMPLES[,WIDTH,HEIGHT]");
    }
    const int code = tw_raw_find(raw, strlen(raw));
    if (code <= 0) {
        fail("no such raw type");
    }
    return (tw_format_t){
        .frame_bytes = samples * channels * tw_raw_bits((uint32_t)code) / 8,
        .samples = samples,
        .rate_hz = rate,
        .raw = (uint8_t)code,
        .channels = (uint8_t)channels,
        .domain = w != 0 ? 6 : 0,
        .mapping = h << 16 | w,
    };
}

static void set(const tw_node_desc_t *d, void *inst, const tw_format_t *fmt, const char *text)
{
    uint8_t value[512];
    uint32_t bytes = 0, state = 0;
    char *hex;
    tw_fault_t fault;
    const uint32_t index = (uint32_t)strtoul(text, &hex, 10);
    for (unsigned v; bytes < sizeof value && *hex != 0 && sscanf(hex + 1 + 2 * bytes, "%2x", &v) == 1;) {
        value[bytes++] = (uint8_t)v;
    }
    if (tw_param_check(d, fmt, index, 0, value, bytes, &fault) != TW_OK) {
        fail("value refused");
    }
    tw_xdm_t data = {value, bytes};
    (void)d->run(TW_CMD_SET_PARAMETER | index << 15, inst, &data, &state);
}

static void run(const tw_node_desc_t *d, void *inst, const tw_format_t fmt[2])
{
    const uint32_t out_bytes = fmt[1].frame_bytes * 4;
    uint8_t *out = room(out_bytes);
    for (size_t at = 0; at + fmt[0].frame_bytes <= in_bytes; at += fmt[0].frame_bytes) {
        for (uint32_t used = 0, last = 1; used < fmt[0].frame_bytes && last != 0; used += last) {
            uint32_t state = 0;
            tw_xdm_t data[2] = {{in + at + used, fmt[0].frame_bytes - used}, {out, out_bytes}};
            if (d->run(TW_CMD_RUN, inst, data, &state) != 0) {
                fail("RUN failed");
            }
            put(out, data[1].bytes);
            last = data[0].bytes;
        }
    }
}

static void node(int argc, char **argv)
{
    char full[64];
    snprintf(full, sizeof full, "ARM/arm_stream_%s", argv[2]);
    const tw_node_desc_t *d = tw_node_find(tw_fnv1a(full));
    const float rate = (float)atof(argv[4]);
    const tw_format_t fmt[2] = {format(argv[5], rate), format(argv[6], rate)};
    if (d == NULL) {
        fail("no such node");
    }
    tw_node_reset_t r = {.svc = &svc, .fmt = {&fmt[0], &fmt[1]}, .rx = 1, .tx = 1, .script = -1};
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0, state = 0;
    if (d->memreq != NULL && d->memreq(r.fmt, 1, 1, extra, &arc) != TW_OK) {
        fail("formats refused");
    }
    for (unsigned i = 0; i < d->n_mem; i++) {
        r.mem_bytes[i] = d->mem[i].a + (uint32_t)(d->mem[i].b * (float)fmt[0].channels) + extra[i];
        r.mem[i] = room(r.mem_bytes[i]);
        memset(r.mem[i], 0, r.mem_bytes[i]);
    }
    tw_xdm_t data = {&r, sizeof r};
    if (d->run(TW_CMD_RESET | (uint32_t)atoi(argv[3]) << 9, r.mem[0], &data, &state) != 0) {
        fail("RESET refused");
    }
    for (int i = 7; i < argc; i++) {
        set(d, r.mem[0], &fmt[0], argv[i]);
    }
    run(d, r.mem[0], fmt);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    const uint32_t a = argc > 2 ? (uint32_t)atoi(argv[2]) : 0, b = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
    tw_services_default(&svc);
    read_all();
    if (strcmp(what, "node") == 0 && argc >= 7) {
        node(argc, argv);
    } else if (strcmp(what, "math") == 0) {
        math(argv[2]);
    } else if (strcmp(what, "rfft") == 0 || strcmp(what, "cfft") == 0) {
        transform(what[0] == 'r', a);
    } else if (strcmp(what, "window") == 0) {
        float *w = room(4u * b);
        (void)svc.lib->window(a, w, b);
        put(w, 4u * b);
    } else if (strncmp(what, "biquad_", 7) == 0 || strcmp(what, "channels") == 0) {
        biquads(what, a, b);
    } else {
        fail("see the head of oracle.c");
    }
    return 0;
}
