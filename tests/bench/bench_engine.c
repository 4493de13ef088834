/* bench_engine PLATFORM ROUNDS: what the scheduler costs beside the kernels it calls.
 *
 *   engine_vs_direct    a block of 20 biquads in a chain, 64 samples FP32, over 20 direct calls of the same kernel
 *   engine_vs_direct_8  the same at 8 samples
 *   node_cost_flat      time per node of a chain of 5,000 small nodes over that of a chain of 10
 *
 * Both sides of a ratio are run in turn in each round, every other round the other way round, on buffers of one size;
 * the clock is the processor's. Prints a line each: name, then median and quartiles of the ratio over the rounds,
 * then nanoseconds per node of both sides.
 */
#include "engine/graph/graph.h"
#include "engine/node/kernels.h"
#include "host_tools/graphc/graphc_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BIQUADS = 20, FRAME_MAX = 64, ROUNDS_MAX = 199, SMALL = 10, LARGE = 5000, TARGET_NS = 2000000 };

static tw_platform_t platform;
static tw_board_io_t ios[64];
static uint32_t bank_bytes[256];
static float source[FRAME_MAX], sink[FRAME_MAX];

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench_engine: %s\n", what);
    exit(1);
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    memcpy(dst, source, bytes);
    return bytes;
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    memcpy(sink, src, bytes);
    return bytes;
}

static uint64_t now_us(void *ctx)
{
    (void)ctx;
    return 0;
}

/* As the daemon counts, see server/main_port.c. */
static uint32_t cycles(void *ctx)
{
    (void)ctx;
#if defined(__x86_64__) || defined(__i386__)
    return (uint32_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return (uint32_t)count;
#else
    return 0;
#endif
}

static const tw_port_t port = {NULL, now_us, cycles, 1};
static tw_board_t board = {
    .ios = ios, .bank_bytes = bank_bytes, .n_banks = 256, .read = board_read, .write = board_write};

static void open_board(const char *path)
{
    static tw_diags_t d;
    if (!tw_platform_read(&platform, path, &d)) {
        tw_diags_print(&d, stderr, false);
        exit(1);
    }
    for (unsigned i = 0; i < platform.n_ios; i++) {
        ios[i] = (tw_board_io_t){.hwid = (uint16_t)platform.ios[i].hwid, .direction = platform.ios[i].direction};
    }
    for (unsigned i = 0; i < platform.n_banks; i++) {
        bank_bytes[platform.banks[i].vid] = platform.banks[i].bytes;
    }
    board.platform_id = platform.id;
    board.services = platform.services;
    board.n_ios = platform.n_ios;
}

/* ---- graphs ------------------------------------------------------------------------- */

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n + 1);
    memcpy(copy, ctx, *n);
    return copy;
}

/* audio_in_0 -> n nodes of one type in series -> line_out_0. */
static char *chain_text(const char *type, unsigned preset, unsigned n, unsigned samples)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    fprintf(f,
            "format 0\nformat_raw_data FP32\nformat_frame_length %u\nformat_nbchan 1\nformat_sampling_rate 48000\n"
            "stream_io 0\nstream_io_hwid 4\nstream_io_format 0\nstream_io 1\nstream_io_hwid 6\nstream_io_format 0\n",
            4 * samples);
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "node %s %u\nnode_preset %u\n_end_\n", type, i, preset);
    }
    fprintf(f, "arc_section\narc_input 0 %s 0 0 0\n", type);
    for (unsigned i = 0; i + 1 < n; i++) {
        fprintf(f, "arc %s %u 1 0 %s %u 0 0\n", type, i, type, i + 1);
    }
    fprintf(f, "arc_output 1 %s %u 1 0\n", type, n - 1);
    fclose(f);
    return text;
}

typedef struct bench_graph {
    tw_graph_t g;
    uint32_t nodes;
    uint64_t tick;
} bench_graph_t;

static bench_graph_t *load_chain(const char *type, unsigned preset, unsigned n, unsigned samples)
{
    char *text = chain_text(type, preset, n, samples);
    const tw_text_source_t src = {text, read_text};
    static tw_graphc_out_t out;
    if (!g_compile("chain", &(tw_graphc_opts_t){0}, &platform, &src, &out)) {
        tw_diags_print(&out.diags, stderr, false);
        exit(1);
    }
    bench_graph_t *b = calloc(1, sizeof *b);
    const size_t room = (size_t)64 << 20;
    tw_arena_t arena = {.base = aligned_alloc(64, room), .size = room};
    const tw_graph_env_t env = {.port = &port, .board = &board};
    tw_fault_t fault = {0};
    if (tw_graph_check(out.image, out.bytes, &board, &arena, &fault) != TW_OK ||
        tw_graph_load(&b->g, out.image, &env, &arena, &fault) != TW_OK) {
        fail(tw_err_name(fault.err));
    }
    b->nodes = n;
    free(text);
    return b;
}

static void run_blocks(void *ctx, unsigned n)
{
    bench_graph_t *b = ctx;
    for (unsigned i = 0; i < n; i++) {
        tw_graph_block(&b->g, b->tick++);
    }
}

/* ---- the same by hand ----------------------------------------------------------------- */

typedef struct direct {
    tw_services_t svc;
    uint32_t samples;
    float coef[5];
    float state[BIQUADS][4], buf[BIQUADS + 1][FRAME_MAX];
} direct_t;

static void run_direct(void *ctx, unsigned n)
{
    direct_t *d = ctx;
    for (unsigned i = 0; i < n; i++) {
        (void)board_read(NULL, 0, 0, d->buf[0], 4 * d->samples);
        for (unsigned k = 0; k < BIQUADS; k++) {
            d->svc.biquad_f32(d->coef, 1, d->state[k], d->buf[k], d->buf[k + 1], d->samples);
        }
        (void)board_write(NULL, 0, 0, d->buf[BIQUADS], 4 * d->samples);
    }
}

/* ---- measuring -------------------------------------------------------------------------- */

typedef struct side {
    void (*run)(void *ctx, unsigned n);
    void *ctx;
    unsigned times, nodes;
    double ns[ROUNDS_MAX]; /* per node */
} side_t;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run_side(const side_t *s)
{
    const double start = now_ns();
    s->run(s->ctx, s->times);
    return (now_ns() - start) / s->times / s->nodes;
}

/* As many blocks as make a slice long enough to time and short enough to share its conditions with the other's. */
static void choose_times(side_t *s)
{
    s->times = 16;
    (void)run_side(s);
    const double block = run_side(s) * s->nodes;
    s->times = (unsigned)(TARGET_NS / block) + 1;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const char *name, side_t *a, side_t *b, unsigned rounds)
{
    static double ratio[ROUNDS_MAX];
    choose_times(a);
    choose_times(b);
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 2 != 0) {
            a->ns[i] = run_side(a);
        }
        b->ns[i] = run_side(b);
        if (i % 2 == 0) {
            a->ns[i] = run_side(a);
        }
        ratio[i] = a->ns[i] / b->ns[i];
    }
    qsort(ratio, rounds, sizeof *ratio, rising);
    qsort(a->ns, rounds, sizeof *a->ns, rising);
    qsort(b->ns, rounds, sizeof *b->ns, rising);
    printf("%s %.4f %.4f %.4f %.2f %.2f\n", name, ratio[rounds / 2], ratio[rounds / 4], ratio[rounds - 1 - rounds / 4],
           a->ns[rounds / 2], b->ns[rounds / 2]);
}

/* Both compute the same: a ratio of different work would say nothing. */
static void vs_direct(const char *name, unsigned samples, unsigned rounds)
{
    enum { LOW_PASS = 2 };
    static direct_t d;
    static side_t engine, direct;
    static float want[FRAME_MAX];
    bench_graph_t *b = load_chain("arm_stream_filter", LOW_PASS, BIQUADS, samples);
    d = (direct_t){.samples = samples, .coef = {0.29289323f, 0.58578646f, 0.29289323f, 0, -0.17157287f}};
    tw_services_default(&d.svc);
    for (unsigned i = 0; i < 100; i++) {
        run_direct(&d, 1);
        memcpy(want, sink, sizeof want);
        run_blocks(b, 1);
        if (memcmp(want, sink, 4 * samples) != 0) {
            fail("engine and direct calls differ");
        }
    }
    engine = (side_t){.run = run_blocks, .ctx = b, .nodes = BIQUADS};
    direct = (side_t){.run = run_direct, .ctx = &d, .nodes = BIQUADS};
    compare(name, &engine, &direct, rounds);
}

static void cost_flat(unsigned rounds)
{
    static side_t small, large;
    small = (side_t){.run = run_blocks, .ctx = load_chain("arm_stream_amplifier", 0, SMALL, 8), .nodes = SMALL};
    large = (side_t){.run = run_blocks, .ctx = load_chain("arm_stream_amplifier", 0, LARGE, 8), .nodes = LARGE};
    compare("node_cost_flat", &large, &small, rounds);
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (rounds < 5 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_engine PLATFORM ROUNDS (5..%u)\n", (unsigned)ROUNDS_MAX);
        return 2;
    }
    open_board(argv[1]);
    uint32_t seed = 1;
    for (unsigned i = 0; i < FRAME_MAX; i++) {
        seed = seed * 1664525u + 1013904223u;
        source[i] = (float)(int32_t)seed * 0x1p-32f;
    }
    vs_direct("engine_vs_direct", 64, rounds);
    vs_direct("engine_vs_direct_8", 8, rounds);
    cost_flat(rounds);
    return 0;
}
