/* Bytes as a saved state: restored into a graph of two detectors at a warm boot, and run. Byte 0, bit 0: head and
 * checksum are made right first, so that searching gets into the blocks; bit 1: the rest is a slot device's content
 * instead. It may be refused or taken; what is refused changes nothing, and what is taken is what is saved again. */
#include "engine/base/crc.h"
#include "engine/board/state_slots.h"
#include "engine/graph/graph_state.h"
#include "tests/support/state_graph.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_IN = 8192, BLOCKS = 8 };

#define REQUIRE(cond)  \
    do {               \
        if (!(cond)) { \
            abort();   \
        }              \
    } while (0)

typedef struct bytes {
    const uint8_t *data;
    uint32_t n;
} bytes_t;

static bool slot_read(void *ctx, uint32_t at, void *to, uint32_t n)
{
    const bytes_t *b = ctx;
    const bool there = tw_inside32(at, n, b->n);
    if (there) {
        memcpy(to, b->data + at, n);
    }
    return there;
}

static bool slot_write(void *ctx, uint32_t at, const void *from, uint32_t n)
{
    (void)ctx, (void)at, (void)from, (void)n;
    return false;
}

static void slots(const uint8_t *data, uint32_t n)
{
    bytes_t b = {data, n};
    const tw_state_device_t device = {&b, tw_max_u32(n / 2, TW_STATE_SLOT_HEAD), slot_read, slot_write};
    tw_state_slots_t s;
    uint8_t *to = malloc(n + 1u);
    tw_state_slots_open(&s, &device);
    REQUIRE(tw_state_slots_get(&s, to, n) <= n);
    free(to);
}

static void repair(const tw_graph_t *g, uint8_t *bytes, uint32_t n)
{
    uint8_t head[1024];
    if (n < TW_STATE_HEAD + TW_STATE_TAIL || tw_graph_state_bytes(g) > sizeof head) {
        return;
    }
    tw_graph_state_save(g, 1, head);
    memcpy(bytes, head, TW_STATE_HEAD);
    tw_put_le32(bytes + 8, n);
    tw_put_le32(bytes + n - TW_STATE_TAIL, tw_crc32c(0, bytes, n - TW_STATE_TAIL));
}

static void state(uint8_t *bytes, uint32_t n, bool repaired)
{
    tw_graph_t *g = state_graph_open(2);
    const uint32_t all = tw_graph_state_bytes(g);
    uint8_t before[1024], after[1024];
    tw_fault_t fault;
    REQUIRE(all <= sizeof before);
    if (repaired) {
        repair(g, bytes, n);
    }
    tw_graph_state_save(g, 2, before);
    const tw_err_t err = tw_graph_state_restore(g, bytes, n, &fault);
    tw_graph_state_save(g, 2, after);
    const uint32_t end = all - TW_STATE_TAIL;
    if (err == TW_OK) {
        REQUIRE(n == all && memcmp(after + TW_STATE_HEAD, bytes + TW_STATE_HEAD, 4) == 0);
    } else {
        REQUIRE(memcmp(before, after, end) == 0 && fault.err == err);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (i == BLOCKS / 2) {
            tw_graph_reset(g, true);
        }
        tw_graph_block(g, i);
    }
    REQUIRE(tw_gauge_get(&g->nodes[0].errors) == 0 && tw_gauge_get(&g->nodes[1].errors) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > SIZE_MAX_IN) {
        return 0;
    }
    const uint32_t n = (uint32_t)size - 1;
    uint8_t *bytes = malloc(n + 1u);
    memcpy(bytes, data + 1, n);
    if ((data[0] & 2) != 0) {
        slots(bytes, n);
    } else {
        state(bytes, n, (data[0] & 1) != 0);
    }
    free(bytes);
    return 0;
}
