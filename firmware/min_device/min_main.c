/* min_main.c - the smallest device: verify an image in flash, run a recorded signal through it, say what it took. */
#include "firmware/min_device/min_device.h"
#include "engine/base/crc.h"
#include "engine/graph/graph_compact.h"
#include "engine/node/kernels.h"

/* What the graph of graph.txt needs, tables and buffers; the loader says when it is too little. */
#ifndef MIN_ARENA_BYTES
#define MIN_ARENA_BYTES 392
#endif

static struct {
    tw_compact_t graph;
    _Alignas(8) uint8_t arena[MIN_ARENA_BYTES];
    uint32_t at;  /* next sample of the signal */
    uint32_t crc; /* of what came out */
    uint32_t active;
} self;

static uint32_t read_microphone(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    memcpy(dst, min_signal + self.at, bytes);
    self.at += bytes / (uint32_t)sizeof min_signal[0];
    return bytes;
}

static uint32_t write_led(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    self.crc = tw_crc32c(self.crc, src, bytes);
    self.active += *(const uint8_t *)src != 0;
    return bytes;
}

static const tw_board_io_t ios[] = {
    {.hwid = 0, .direction = 0},
    {.hwid = 1, .direction = 1},
};

static const tw_board_t board = {
    .platform_id = MIN_PLATFORM,
    .services = 32,
    .ios = ios,
    .n_ios = TW_COUNT(ios),
    .read = read_microphone,
    .write = write_led,
};

static void print_number(const char *name, uint32_t v)
{
    char text[12], *p = text + sizeof text - 1;
    *p = 0;
    do {
        *--p = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    min_print(name);
    min_print(p);
}

static int refuse(const tw_fault_t *f)
{
    print_number("refused error=", (uint32_t)-f->err);
    print_number(" section=", f->section);
    print_number(" at=", f->at);
    min_print("\n");
    return 1;
}

static void run_signal(void)
{
    self.at = self.crc = self.active = 0;
    const tw_format_t *f = self.graph.formats;
    for (uint64_t tick = 0; self.at + f->samples <= min_signal_samples; tick++) {
        tw_compact_block(&self.graph, tick);
    }
}

int min_main(void)
{
    tw_fault_t fault;
    tw_arena_t arena = {.base = self.arena, .size = sizeof self.arena};
    if (tw_compact_load(&self.graph, min_image, min_image_bytes, &board, &tw_services_small, &arena, &fault) != TW_OK) {
        return refuse(&fault);
    }
    run_signal();
    const uint32_t first = self.crc;
    (void)tw_compact_reset(&self.graph, false);
    run_signal();
    print_number("min-device crc=", self.crc);
    print_number(" active=", self.active);
    print_number(" arena=", (uint32_t)arena.used);
    print_number(" static=", min_static_ram());
    print_number(" stack=", min_stack_used());
    min_print("\n");
    return first == self.crc && self.active != 0 ? 0 : 2;
}
