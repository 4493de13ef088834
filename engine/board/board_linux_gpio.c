/* board_linux_gpio.c - general-purpose pins of the Linux board: words in memory, told to a log, to hosts and, where
 * there is a gpio chip, to its lines.
 *
 * The engine thread changes a word and leaves a record in a ring; it makes no system call. The control thread, in
 * service, takes the records, writes them to the log file, sets the lines and looks at those that are inputs. So a
 * line follows its pin by as long as the control thread takes, a few milliseconds at most.
 */
#include "engine/board/board_linux_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<linux/gpio.h>)
#include <linux/gpio.h>
#endif
#endif
#ifdef GPIO_V2_GET_LINE_IOCTL
#define HAVE_CHIP 1
#else
#define HAVE_CHIP 0
#endif

enum { RING_BYTES = 4096, TOLD = 64, PINS = 32 };

struct board_gpio {
    tw_board_gpio_t calls;
    _Atomic uint32_t levels, outputs;
    _Atomic bool missed; /* a change of the engine's found no room */
    tw_ring_t ring;      /* engine thread -> control thread: tw_gpio_change_t */
    _Alignas(8) uint8_t ring_memory[RING_BYTES];
    /* control thread */
    tw_gpio_change_t told[TOLD]; /* for tw_board_gpio_t.changed: [first, end) modulo TOLD */
    uint32_t first, end;
    FILE *log;
    int chip, lines;     /* file descriptors, -1 none */
    uint32_t chip_lines; /* pins that are lines of the chip */
    uint32_t directed;   /* outputs as the chip has them */
    bool chip_failed;
};

static uint64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* ---- any thread --------------------------------------------------------------------- */

static uint32_t levels(void *ctx)
{
    board_gpio_t *g = ctx;
    return atomic_load_explicit(&g->levels, memory_order_relaxed);
}

static uint32_t outputs(void *ctx)
{
    board_gpio_t *g = ctx;
    return atomic_load_explicit(&g->outputs, memory_order_relaxed);
}

/* The other thread may change other pins meanwhile. @return the word before */
static uint32_t change(_Atomic uint32_t *word, uint32_t mask, uint32_t to, uint32_t *now)
{
    uint32_t old = atomic_load_explicit(word, memory_order_relaxed);
    do {
        *now = (old & ~mask) | (to & mask);
    } while (!atomic_compare_exchange_weak_explicit(word, &old, *now, memory_order_relaxed, memory_order_relaxed));
    return old;
}

/* ---- what changed -------------------------------------------------------------------- */

/* Control thread. Whoever asks seldom misses the oldest. */
static void tell(board_gpio_t *g, uint64_t t_us, uint32_t now)
{
    g->first += g->end - g->first == TOLD;
    g->told[g->end++ % TOLD] = (tw_gpio_change_t){.t_us = t_us, .levels = now};
    if (g->log != NULL) {
        fprintf(g->log, "%llu %08x %08x\n", (unsigned long long)t_us, now, outputs(g));
        (void)fflush(g->log);
    }
}

/* Engine thread. */
static void leave_record(board_gpio_t *g, uint32_t now)
{
    tw_gpio_change_t *c = tw_ring_reserve(&g->ring, sizeof *c);
    if (c == NULL) {
        atomic_store_explicit(&g->missed, true, memory_order_release);
        return;
    }
    *c = (tw_gpio_change_t){.t_us = clock_us(), .levels = now};
    tw_ring_commit(&g->ring, sizeof *c);
}

static tw_err_t write_pins(void *ctx, uint32_t mask, uint32_t to, bool by_script)
{
    board_gpio_t *g = ctx;
    uint32_t now, unused;
    (void)change(&g->outputs, mask, mask, &unused);
    if (change(&g->levels, mask, to, &now) == now) {
        return TW_OK;
    }
    if (by_script) {
        leave_record(g, now);
    } else {
        tell(g, clock_us(), now);
    }
    return TW_OK;
}

static tw_err_t direct(void *ctx, uint32_t mask, uint32_t to)
{
    board_gpio_t *g = ctx;
    uint32_t unused;
    (void)change(&g->outputs, mask, to, &unused);
    return TW_OK;
}

static bool changed(void *ctx, tw_gpio_change_t *out)
{
    board_gpio_t *g = ctx;
    if (g->first == g->end) {
        return false;
    }
    *out = g->told[g->first++ % TOLD];
    return true;
}

/* ---- lines of a chip ------------------------------------------------------------------- */

#if HAVE_CHIP
static bool request(board_gpio_t *g, uint32_t wanted)
{
    struct gpio_v2_line_request q = {0};
    q.num_lines = PINS < g->chip_lines ? PINS : g->chip_lines;
    for (uint32_t i = 0; i < q.num_lines; i++) {
        q.offsets[i] = i;
    }
    (void)snprintf(q.consumer, sizeof q.consumer, "tunewired");
    q.config.flags = GPIO_V2_LINE_FLAG_INPUT;
    q.config.num_attrs = 1;
    q.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_FLAGS;
    q.config.attrs[0].attr.flags = GPIO_V2_LINE_FLAG_OUTPUT;
    q.config.attrs[0].mask = wanted;
    if (g->lines >= 0) {
        return ioctl(g->lines, GPIO_V2_LINE_SET_CONFIG_IOCTL, &q.config) == 0;
    }
    if (ioctl(g->chip, GPIO_V2_GET_LINE_IOCTL, &q) != 0) {
        return false;
    }
    g->lines = q.fd;
    return true;
}

static bool open_chip(board_gpio_t *g, const char *path)
{
    struct gpiochip_info info = {0};
    g->chip = open(path, O_RDWR | O_CLOEXEC);
    if (g->chip < 0 || ioctl(g->chip, GPIO_GET_CHIPINFO_IOCTL, &info) != 0) {
        return false;
    }
    g->chip_lines = info.lines;
    g->calls.pins = info.lines >= PINS ? UINT32_MAX : (1u << info.lines) - 1u;
    return request(g, 0);
}

/* Outputs to the lines, inputs from them. */
static bool exchange(board_gpio_t *g)
{
    const uint32_t wanted = outputs(g) & g->calls.pins;
    if (wanted != g->directed && !request(g, wanted)) {
        return false;
    }
    g->directed = wanted;
    struct gpio_v2_line_values v = {.bits = levels(g), .mask = wanted};
    if (wanted != 0 && ioctl(g->lines, GPIO_V2_LINE_SET_VALUES_IOCTL, &v) != 0) {
        return false;
    }
    uint32_t now;
    v = (struct gpio_v2_line_values){.mask = g->calls.pins & ~wanted};
    if (v.mask != 0 && ioctl(g->lines, GPIO_V2_LINE_GET_VALUES_IOCTL, &v) != 0) {
        return false;
    }
    if (change(&g->levels, (uint32_t)v.mask, (uint32_t)v.bits, &now) != now) {
        tell(g, clock_us(), now);
    }
    return true;
}
#else
static bool open_chip(board_gpio_t *g, const char *path)
{
    (void)g, (void)path;
    errno = ENOTSUP;
    return false;
}

static bool exchange(board_gpio_t *g)
{
    (void)g;
    return false;
}
#endif

/* ---- control thread ------------------------------------------------------------------------ */

bool board_gpio_open(tw_board_linux_t *b, char why[TW_BOARD_WHY])
{
    const tw_board_linux_cfg_t *cfg = &b->cfg;
    board_gpio_t *g = calloc(1, sizeof *g);
    if (g == NULL) {
        (void)snprintf(why, TW_BOARD_WHY, "not enough memory for pins");
        return false;
    }
    b->pins = g;
    g->chip = g->lines = -1;
    tw_ring_init(&g->ring, g->ring_memory, sizeof g->ring_memory);
    g->calls = (tw_board_gpio_t){.ctx = g,
                                 .pins = UINT32_MAX,
                                 .scripts = cfg->gpio_scripts_set ? cfg->gpio_scripts : UINT32_MAX,
                                 .hosts = UINT32_MAX,
                                 .levels = levels,
                                 .outputs = outputs,
                                 .write = write_pins,
                                 .direct = direct,
                                 .changed = changed};
    b->board.gpio = &g->calls;
    if (cfg->gpio_log != NULL && (g->log = fopen(cfg->gpio_log, "w")) == NULL) {
        (void)snprintf(why, TW_BOARD_WHY, "%s: %s", cfg->gpio_log, strerror(errno));
        return false;
    }
    if (cfg->gpio_chip != NULL && !open_chip(g, cfg->gpio_chip)) {
        (void)snprintf(why, TW_BOARD_WHY, "%s: no gpio lines: %s", cfg->gpio_chip, strerror(errno));
        return false;
    }
    g->calls.scripts &= g->calls.pins;
    g->calls.hosts &= g->calls.pins;
    return true;
}

bool board_gpio_service(tw_board_linux_t *b)
{
    board_gpio_t *g = b->pins;
    const tw_gpio_change_t *c;
    uint32_t bytes;
    bool any = false;
    while ((c = tw_ring_peek(&g->ring, &bytes)) != NULL) {
        tell(g, c->t_us, c->levels);
        tw_ring_pop(&g->ring);
        any = true;
    }
    if (atomic_exchange_explicit(&g->missed, false, memory_order_acquire)) {
        tell(g, clock_us(), levels(g));
        board_log(b, TW_BOARD_WARN, "gpio: pins changed faster than they were told");
    }
    if (g->lines >= 0 && !exchange(g) && !g->chip_failed) {
        g->chip_failed = true;
        board_log(b, TW_BOARD_ERROR, "%s: %s", b->cfg.gpio_chip, strerror(errno));
    }
    return any || g->lines >= 0;
}

void board_gpio_close(tw_board_linux_t *b)
{
    board_gpio_t *g = b->pins;
    if (g == NULL) {
        return;
    }
    (void)board_gpio_service(b);
    if (g->log != NULL) {
        (void)fclose(g->log);
    }
    if (g->lines >= 0) {
        (void)close(g->lines);
    }
    if (g->chip >= 0) {
        (void)close(g->chip);
    }
    free(g);
    b->pins = NULL;
}

void tw_board_linux_set_pins(tw_board_linux_t *b, uint32_t mask, uint32_t to)
{
    board_gpio_t *g = b->pins;
    uint32_t now;
    if (change(&g->levels, mask & ~outputs(g), to, &now) != now) {
        tell(g, clock_us(), now);
    }
}
